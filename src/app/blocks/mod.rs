//! A component a block kind of a report.

mod chart;
mod facts;
mod findings;
mod note;
mod table;

pub use chart::ChartBlock;
pub use facts::{FactsBlock, Judgements};
pub use findings::FindingsBlock;
pub use note::NoteBlock;
pub use table::TableBlock;

//! A component a block kind of a report.

mod chart;
mod facts;
mod findings;
mod flame;
mod note;
mod table;

pub use chart::ChartBlock;
pub use facts::{FactsBlock, Judgements};
pub use findings::FindingsBlock;
pub use flame::FlameBlock;
pub use note::NoteBlock;
pub use table::TableBlock;

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
pub use flame::FlameDrawing;
pub use note::NoteBlock;
pub use table::TableBlock;

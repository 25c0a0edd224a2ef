//! A component a block kind of a report.

mod chart;
mod facts;
mod findings;
mod flame;
mod in_reports;
mod note;
mod table;

pub use chart::ChartBlock;
pub use facts::{FactsBlock, Judgements};
pub use findings::FindingsBlock;
pub use flame::FlameDrawing;
pub use in_reports::InReports;
pub use note::NoteBlock;
pub use table::TableBlock;

//! A component a block kind of a report.

mod cells;
mod chart;
mod facts;
mod note;
mod table;

pub use chart::ChartBlock;
pub use facts::FactsBlock;
pub use note::NoteBlock;
pub use table::TableBlock;

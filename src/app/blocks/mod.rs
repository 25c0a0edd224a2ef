//! A component a block kind of a report.

mod cells;
mod facts;
mod note;
mod table;

pub use facts::FactsBlock;
pub use note::NoteBlock;
pub use table::TableBlock;

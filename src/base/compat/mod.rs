//! What other tools' output is made of, so that a report can equal theirs byte for byte: Python's number and text formatting,
//! tables of the Python library rich.

pub mod python;
pub mod rich_table;

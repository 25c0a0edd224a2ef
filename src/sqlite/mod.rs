//! SQLite databases, read only: tables by full scans, over ranges of a file.
//!
//! File format: <https://www.sqlite.org/fileformat2.html>. In goes random access to the bytes ([`Source`]), out come the tables of
//! the schema ([`Database::tables`]), the pages of a table ([`Database::leaves`]) and the rows of a page ([`leaf`], [`Record`]).
//!
//! Only what the B-tree of a table reaches is read: free pages and deleted cells hold old data. Damaged parts are skipped and
//! counted. Not read: indexes, views, virtual tables, tables `WITHOUT ROWID`, and what is only in a write-ahead log.

mod database;
mod header;
pub mod leaf;
mod record;
mod schema;

pub use crate::base::source::Source;
pub use database::{Database, Leaves};
pub use header::{Encoding, Header, MAGIC};
pub use leaf::Cell;
pub use record::{Record, Value, value_at};
pub use schema::{Column, Table};

/// Number of a page, from 1.
pub type PageNumber = u32;

/// Reason why a database cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The bytes could not be read.
    Unreadable(String),
    /// The bytes violate the format, in this part.
    Damaged(&'static str),
    /// The file uses this unsupported feature.
    Unsupported(&'static str),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Unreadable(why) => f.write_str(why),
            Error::Damaged(what) => write!(f, "the SQLite database is damaged or encrypted ({what})"),
            Error::Unsupported(what) => write!(f, "unsupported in this SQLite database: {what}"),
        }
    }
}

impl std::error::Error for Error {}

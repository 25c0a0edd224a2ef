//! Parquet files with flat columns, for reading by row group and column, and for writing.
//!
//! Only what traces need: columns of numbers and texts without nesting. Reading supports all compressions in common use (none,
//! Snappy, gzip, Brotli, both LZ4 layouts, zstd), both page layouts, and all encodings of numbers and texts except bit-packed
//! levels, deprecated in 2013. Writing uses zstd, version 1 pages and statistics. Pure Rust: the `parquet` crate uses a C
//! zstd, which does not run on the page, and nearly all files use zstd. Never allocates from a size the file claims until that
//! many bytes were read. Format definition: apache/parquet-format, `parquet.thrift`, `Encodings.md`, `Compression.md`.

mod codec;
mod column;
mod delta;
mod file;
mod hybrid;
mod metadata;
mod page;
mod plain;
mod thrift;
mod values;
mod write;

pub use crate::base::source::Source;
pub use file::ParquetFile;
pub use metadata::{ColumnInfo, Kind};
pub use values::{Column, Memory, Values};
pub use write::{ColumnSpec, Writer};

/// First and last bytes of every file.
pub const MAGIC: &[u8; 4] = b"PAR1";

/// Reason why a file or column cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The bytes could not be read.
    Unreadable(String),
    /// The bytes violate the format, in this part.
    Damaged(&'static str),
    /// The file uses this unsupported feature.
    Unsupported(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Unreadable(why) => f.write_str(why),
            Error::Damaged(what) => write!(f, "the Parquet file is damaged ({what})"),
            Error::Unsupported(what) => write!(f, "unsupported in this Parquet file: {what}"),
        }
    }
}

impl std::error::Error for Error {}

//! Parquet files with flat columns: read by row group and column, and written.
//!
//! Only what traces need: columns of numbers and texts without nesting. All compressions that writers of such files use are
//! read (none, Snappy, gzip, Brotli, LZ4 in both layouts, zstd), both layouts of pages, and all encodings of numbers and
//! texts but the bit-packed levels that were given up in 2013. Written are zstd, pages of version 1 and statistics.
//! The whole is pure Rust: in the `parquet` crate zstd comes with C code, which has no place on a page, and hardly any
//! column is written without zstd. Nothing is set aside on the word of a file before as much of it has been seen.
//! Definition of the format: apache/parquet-format, `parquet.thrift`, `Encodings.md`, `Compression.md`.

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

pub use file::{ParquetFile, Source};
pub use metadata::{ColumnInfo, Kind};
pub use values::{Column, Memory, Values};
pub use write::{ColumnSpec, Writer};

/// First and last bytes of every file.
pub const MAGIC: &[u8; 4] = b"PAR1";

/// Why a file, or a column of it, can not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The bytes could not be had.
    Unreadable(String),
    /// They are not what the format allows; what was being read.
    Damaged(&'static str),
    /// They are something that is not read here.
    Unsupported(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Unreadable(why) => f.write_str(why),
            Error::Damaged(what) => write!(f, "the Parquet file is damaged ({what})"),
            Error::Unsupported(what) => write!(f, "the Parquet file uses {what}, which is not read"),
        }
    }
}

impl std::error::Error for Error {}

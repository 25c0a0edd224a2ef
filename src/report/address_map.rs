//! Blocks of memory by address and time, for a picture.
//!
//! ```text
//! address  ┌──────────────┬───────────┐
//!  band 1  │      A       │░░░░▒▒▒▒░░░│   A, B: blocks with a rectangle of their own
//!          ├──────────────┴───────────┤   ░▒: cells with the coverage of all others
//!          └──────────────────────────┘
//!  band 0  │░░░│           B          │
//!          └──────────────────────────┘ time
//! ```
//!
//! A band is an address range, and has equal rows; all bands have the same columns. A picture is small whatever its number of
//! blocks, because a block below a cell in height or length has no rectangle.

use super::chart::{Over, Tone};
use serde::{Deserialize, Serialize};

/// The picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AddressMap {
    pub over: Over,
    /// Ends of the x axis, as in [`super::chart::Line::points`].
    pub start: i64,
    pub end: i64,
    /// Number of columns; see [`AddressMap::column_start`].
    pub n_columns: u32,
    /// The lowest one first.
    pub bands: Vec<Band>,
    /// Meaning of colors.
    pub legend: Vec<(String, Tone)>,
    /// Names of blocks and frames of stacks, each once: `forward (model.py:10)`.
    pub texts: Vec<String>,
    /// Innermost frame first, as indexes into `texts`.
    pub stacks: Vec<Vec<u32>>,
    /// Blocks with a rectangle of their own; rectangles may lie over cells.
    pub blocks: Vec<MapBlock>,
    /// Cells with other blocks, by band, row and column.
    pub cells: Vec<MapCell>,
    pub moments: Vec<Moment>,
}

/// An address range.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Band {
    pub label: String,
    pub bytes: u64,
    /// At least 1. Row `r` of `n` starts at byte `r * bytes / n`, rounded down.
    pub n_rows: u32,
    /// When its parts were reserved from the driver.
    pub reserved: Vec<Reserved>,
}

/// A part of a band, while it was reserved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reserved {
    pub start: i64,
    pub end: i64,
    /// In bytes from the start of the band.
    pub low: u64,
    pub high: u64,
}

/// A block from its allocation until the allocator has it again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MapBlock {
    /// Index into [`AddressMap::bands`].
    pub band: u32,
    /// In bytes from the start of the band.
    pub low: u64,
    pub address: i64,
    pub bytes: u64,
    pub start: i64,
    pub end: i64,
    /// It was there before the first event, and after the last one.
    pub is_open: (bool, bool),
    /// What allocated it, as an index into [`AddressMap::texts`].
    pub name: u32,
    pub tone: Tone,
    /// Index into [`AddressMap::stacks`].
    pub stack: u32,
}

/// The blocks in a cell that have no rectangle.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MapCell {
    pub band: u32,
    /// From the lowest address.
    pub row: u32,
    pub column: u32,
    /// Of the code with the most bytes × time.
    pub tone: Tone,
    /// Share of bytes × time, from 0 to 1.
    pub share: f64,
    /// Blocks that touch the cell.
    pub n: u64,
    /// The largest of them.
    pub largest: MapBlock,
}

/// Something to mark at a time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Moment {
    pub at: i64,
    /// A word or two.
    pub name: String,
    /// A sentence with numbers.
    pub text: String,
    pub is_bad: bool,
}

impl AddressMap {
    /// What allocated a block.
    pub fn name_of(&self, block: &MapBlock) -> &str {
        self.texts.get(block.name as usize).map_or("", String::as_str)
    }

    /// Start of a column; that of the last one plus one is the end of the axis.
    pub fn column_start(&self, column: u32) -> i64 {
        edge(self.start, self.end, column, self.n_columns)
    }
}

impl Band {
    /// Start of a row in bytes from the start of the band; that of the last one plus one is the size of the band.
    pub fn row_start(&self, row: u32) -> u64 {
        (u128::from(self.bytes) * u128::from(row) / u128::from(self.n_rows.max(1))) as u64
    }
}

/// Start of part `at` of `n` equal parts of a range.
pub fn edge(start: i64, end: i64, at: u32, n: u32) -> i64 {
    let length = i128::from(end) - i128::from(start);
    // Between two numbers of 64 bits.
    (i128::from(start) + length * i128::from(at.min(n)) / i128::from(n.max(1))) as i64
}

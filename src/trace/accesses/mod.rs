//! Loads and stores, sampled by a memory profiler or recorded by an allocation tracer.
//!
//! There can be hundreds of millions of them, so full blocks of rows are packed column by column with [`bitpack`]: some 6 to 12
//! bytes per row, and next to nothing for constant columns. Clones share blocks. Reading goes front to back, block by block.

mod block;
mod blocks;
mod columns;
mod model;
mod packing;
mod table;
#[cfg(test)]
mod tests;
mod wire;

pub use blocks::{Blocks, Rows, Wanted};
pub use columns::{AccessColumns, Numbers};
pub use model::{Access, Op, Optional, PAGE_BITS, RegionType};
pub use table::AccessTable;

#[cfg(doc)]
use crate::base::bitpack;

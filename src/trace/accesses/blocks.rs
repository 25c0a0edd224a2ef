//! Reading a table block by block.

use super::block::unpack_lanes;
use super::model::{Access, Op, Optional};
use super::packing::{
    ADDRESSES, BLOCK_ROWS, KINDS, LANES, OPTIONAL, PRESENT, REGION_IDS, TIMES, lanes_of, op_of, row_of,
};
use super::table::AccessTable;

/// Set of lanes to unpack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted(u32);

impl Wanted {
    /// Time, address and kind.
    pub const TOUCHES: Wanted = Wanted(1 << KINDS | 1 << TIMES | 1 << ADDRESSES);
    /// Only times.
    pub const TIMES: Wanted = Wanted(1 << TIMES);
    /// Only whether each optional value is present.
    pub const PRESENCE: Wanted = Wanted(1 << PRESENT);
    /// All lanes.
    pub const ALL: Wanted = Wanted((1 << LANES) - 1);

    /// Kind, time, address, region as stated by the source, presence of optional values, and the given optional values.
    pub fn with(optional: &[Optional]) -> Wanted {
        let bits = optional.iter().map(|which| 1 << (OPTIONAL + *which as usize));
        Wanted(bits.fold(Wanted::TOUCHES.0 | 1 << PRESENT | 1 << REGION_IDS, |all, bit| all | bit))
    }
}

/// An unpacked block of rows.
pub struct Rows {
    lanes: Box<[[i64; BLOCK_ROWS]; LANES]>,
    n_rows: usize,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.n_rows
    }

    pub fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// Times in nanoseconds.
    pub fn times(&self) -> &[i64] {
        &self.lanes[TIMES][..self.n_rows]
    }

    /// Addresses, as signed numbers of the same bits.
    pub fn addresses(&self) -> &[i64] {
        &self.lanes[ADDRESSES][..self.n_rows]
    }

    /// Operation of a row.
    #[inline]
    pub fn op(&self, row: usize) -> Op {
        op_of(self.lanes[KINDS][row % BLOCK_ROWS])
    }

    /// Whether any row has that value.
    pub fn has_any(&self, which: Optional) -> bool {
        self.lanes[PRESENT][..self.n_rows].iter().any(|there| there >> which as usize & 1 == 1)
    }

    /// One row; values that were not unpacked read as 0 if present.
    #[inline]
    pub fn access(&self, row: usize) -> Access {
        row_of(|lane| self.lanes[lane][row % BLOCK_ROWS])
    }
}

impl AccessTable {
    /// Iterates over blocks and unpacks only what is `wanted`: much faster than row by row.
    pub fn blocks(&self, wanted: Wanted) -> Blocks<'_> {
        let lanes: Box<[_]> = vec![[0; BLOCK_ROWS]; LANES].into();
        let lanes = lanes.try_into().unwrap_or_else(|_| Box::new([[0; BLOCK_ROWS]; LANES]));
        Blocks { table: self, wanted, next: 0, rows: Rows { lanes, n_rows: 0 } }
    }
}

/// Iterator over the blocks of a table, which reuses memory.
pub struct Blocks<'a> {
    table: &'a AccessTable,
    wanted: Wanted,
    next: usize,
    rows: Rows,
}

impl Blocks<'_> {
    /// Moves to a block, counted from 0.
    pub fn go_to(&mut self, block: usize) {
        self.next = block;
    }

    /// Next up to 1024 rows; `None` after the last ones.
    pub fn next_rows(&mut self) -> Option<&Rows> {
        let at = self.next;
        self.next += 1;
        let Rows { lanes, n_rows } = &mut self.rows;
        if let Some(block) = self.table.blocks.get(at) {
            *n_rows = block.n_rows();
            // Blocks are made here, or validated when received.
            if !unpack_lanes(block, self.wanted.0, lanes) {
                lanes.iter_mut().for_each(|lane| lane.fill(0));
            }
            return Some(&self.rows);
        }
        let open = &self.table.open;
        if at > self.table.blocks.len() || open.is_empty() {
            return None;
        }
        *n_rows = open.len().min(BLOCK_ROWS);
        for (at, row) in open.iter().enumerate().take(BLOCK_ROWS) {
            for (lane, value) in lanes.iter_mut().zip(lanes_of(row)) {
                lane[at] = value;
            }
        }
        Some(&self.rows)
    }
}

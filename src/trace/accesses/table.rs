//! Table of accesses.

use super::block::{Block, Bytes, Remap, remap_row, unpack};
use super::columns::AccessColumns;
use super::model::Access;
use super::packing::{BLOCK_ROWS, TIMES, pack, row_of};
use crate::base::strings::StringId;
use crate::base::threads::{self, n_threads};
use std::sync::Arc;

/// Minimum number of rows for a block of their own.
const MIN_BLOCK_ROWS: usize = BLOCK_ROWS / 2;

/// Minimum number of blocks per thread.
const MIN_BLOCKS_PER_THREAD: usize = 8;

/// Tables with fewer rows are appended row by row, to avoid tiny blocks.
pub(super) const MIN_APPENDED_ROWS: usize = 8 * BLOCK_ROWS;

/// Accesses in file order.
#[derive(Clone, Default)]
pub struct AccessTable {
    /// Blocks of [`BLOCK_ROWS`] rows, or fewer where another table was appended.
    pub(super) blocks: Vec<Block>,
    n_packed: usize,
    /// Last rows, not packed yet.
    pub(super) open: Vec<Access>,
    pub(super) is_labelled: bool,
    pub(super) is_expected: bool,
    has_given_positions: bool,
    /// Earliest and latest time, times of the first and last row, and whether rows are out of time order.
    pub(super) span: Option<(i64, i64)>,
    pub(super) first_ts: Option<i64>,
    pub(super) last_ts: Option<i64>,
    pub(super) is_unordered: bool,
    n_bytes: usize,
    /// Maximum number of rows and packed bytes.
    limit: Option<(usize, usize)>,
    n_left_out: u64,
}

impl AccessTable {
    pub fn len(&self) -> usize {
        self.n_packed + self.open.len()
    }

    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.open.is_empty()
    }

    /// Bytes of packed rows.
    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Caps rows and packed bytes (¾ of the bytes if unsorted, since sorting repacks). The rest is counted.
    pub fn set_limits(&mut self, max_rows: usize, max_bytes: usize) {
        self.limit = Some((max_rows, max_bytes));
    }

    /// Lowers the limits by the rows and bytes of others.
    pub fn reserve_for_others(&mut self, n_rows: usize, n_bytes: usize) {
        self.limit = self.limit.map(|(max_rows, max_bytes)| {
            (max_rows.saturating_sub(n_rows), max_bytes.saturating_sub(n_bytes))
        });
    }

    /// Number of rows that still fit.
    fn room(&self) -> usize {
        match self.limit {
            None => usize::MAX,
            Some((_, max_bytes)) if self.is_unordered && self.n_bytes >= max_bytes / 4 * 3 => 0,
            Some((_, max_bytes)) if self.n_bytes >= max_bytes => 0,
            Some((max_rows, _)) => max_rows.saturating_sub(self.len()),
        }
    }

    /// Number of rows that did not fit.
    pub fn n_left_out(&self) -> u64 {
        self.n_left_out
    }

    /// Number of rows seen.
    pub fn n_seen(&self) -> u64 {
        self.len() as u64 + self.n_left_out
    }

    pub fn push(&mut self, access: &Access) {
        if self.limit.is_some() && self.room() == 0 {
            self.n_left_out += 1;
            return;
        }
        self.see(access.ts);
        self.open.push(*access);
        if self.open.len() == BLOCK_ROWS {
            self.pack_open();
        }
    }

    /// Packs the last rows into a block.
    fn pack_open(&mut self) {
        if !self.open.is_empty() {
            self.add_block(Bytes::Own(pack(&self.open).into()), self.open.len(), None);
            self.open.clear();
        }
    }

    /// Appends rows: like [`AccessTable::push`] of each, but much faster; the limit in bytes is checked once.
    pub fn push_columns(&mut self, columns: &AccessColumns) {
        let n_rows = columns.n_rows;
        let mut at = 0;
        let mut times = [0; BLOCK_ROWS];
        if n_rows >= MIN_APPENDED_ROWS {
            self.pack_open();
        }
        while at < n_rows {
            let room = self.room();
            if room == 0 {
                self.n_left_out += (n_rows - at) as u64;
                return;
            }
            // The rest makes a shorter block.
            let n = if self.open.is_empty() { (n_rows - at).min(room) } else { 0 };
            let n_blocks = n / BLOCK_ROWS + usize::from(n % BLOCK_ROWS >= MIN_BLOCK_ROWS);
            if n_blocks == 0 {
                self.push(&row_of(|lane| columns.get(lane, at)));
                at += 1;
                continue;
            }
            let rows_of = |number: usize| BLOCK_ROWS.min(n - number * BLOCK_ROWS);
            let n_threads = n_threads().min(n_blocks / MIN_BLOCKS_PER_THREAD).max(1);
            let mut rooms = vec![Vec::new(); n_threads];
            let start = at;
            let pack =
                |number, room: &mut Vec<u8>| columns.pack(start + number * BLOCK_ROWS, rows_of(number), room);
            for (number, block) in threads::map(n_blocks, &mut rooms, pack).into_iter().enumerate() {
                let n = rows_of(number);
                match columns.fill(TIMES, at, &mut times[..n]) {
                    Some(ts) => self.see_all(&[ts]),
                    None => self.see_all(&times[..n]),
                }
                self.add_block(Bytes::Own(block), n, None);
                at += n;
            }
        }
    }

    pub(super) fn add_block(&mut self, packed: Bytes, n_rows: usize, remap: Option<Arc<Remap>>) {
        self.n_bytes += packed.len();
        let n_rows = n_rows.min(BLOCK_ROWS);
        self.blocks.push(Block { packed, start: self.n_packed, n_rows: n_rows as u16, remap });
        self.n_packed += n_rows;
    }

    /// Records the times of the next rows.
    pub(super) fn see_all(&mut self, times: &[i64]) {
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return };
        let is_earlier = times.array_windows().fold(false, |any, [before, after]| any | (before > after));
        let range = |(min, max): (i64, i64), ts: &i64| (min.min(*ts), max.max(*ts));
        let ends = [*first, *last];
        let ends = if is_earlier { times } else { &ends };
        self.span = Some(ends.iter().fold(self.span.unwrap_or((*first, *first)), range));
        self.is_unordered |= is_earlier || self.last_ts.is_some_and(|last| last > *first);
        self.first_ts = self.first_ts.or(Some(*first));
        self.last_ts = Some(*last);
    }

    /// Records the time of the next row.
    fn see(&mut self, ts: i64) {
        let (first, last) = self.span.unwrap_or((ts, ts));
        self.span = Some((first.min(ts), last.max(ts)));
        self.is_unordered |= self.last_ts.is_some_and(|last| last > ts);
        self.first_ts = self.first_ts.or(Some(ts));
        self.last_ts = Some(ts);
    }

    /// Row by position; `None` past the end. Unpacks a block each time; use [`AccessTable::iter`] for many rows.
    pub fn get(&self, at: usize) -> Option<Access> {
        if let Some(at) = at.checked_sub(self.n_packed) {
            return self.open.get(at).copied();
        }
        let block = self.blocks.get(self.blocks.partition_point(|block| block.start <= at) - 1)?;
        let mut values = Vec::new();
        let (n, at) = (block.n_rows(), at - block.start);
        unpack(&block.packed, n, block.remap.as_deref(), &mut values)
            .then(|| row_of(|lane| values.get(lane * n + at).copied().unwrap_or(0)))
    }

    pub fn iter(&self) -> impl Iterator<Item = Access> + '_ {
        let mut values = Vec::new();
        let (mut next, mut at, mut n) = (0, 0, 0);
        let packed = (0..self.n_packed).map(move |_| {
            if at == n {
                let block = self.blocks.get(next);
                n = block.map_or(0, Block::n_rows);
                // Blocks are made here, or validated when received.
                let is_sound = |block: &Block| unpack(&block.packed, n, block.remap.as_deref(), &mut values);
                if !block.is_some_and(is_sound) {
                    values.fill(0);
                }
                (next, at) = (next + 1, 0);
            }
            at += 1;
            row_of(|lane| values.get(lane * n + at - 1).copied().unwrap_or(0))
        });
        packed.chain(self.open.iter().copied())
    }

    /// Number of blocks of [`AccessTable::blocks`].
    pub fn n_blocks(&self) -> usize {
        self.blocks.len() + usize::from(!self.open.is_empty())
    }

    /// Whether the source states the region of each row, so that no labelling is needed.
    pub fn is_labelled(&self) -> bool {
        self.is_labelled
    }

    /// Marks region types and numbers as given by the source.
    pub fn set_labelled(&mut self, is_labelled: bool) {
        self.is_labelled = is_labelled;
    }

    /// Whether the source records memory accesses, even if there are none.
    pub fn is_expected(&self) -> bool {
        self.is_expected || !self.is_empty()
    }

    /// Marks the source as one of memory accesses.
    pub fn set_expected(&mut self) {
        self.is_expected = true;
    }

    /// Marks [`Access::sample`] as given by the source, so that appending keeps it.
    pub fn set_given_positions(&mut self) {
        self.has_given_positions = true;
    }

    /// Earliest and latest time in nanoseconds.
    pub fn span(&self) -> Option<(i64, i64)> {
        self.span
    }

    /// Whether rows are in time order.
    pub fn is_in_time_order(&self) -> bool {
        !self.is_unordered
    }

    /// Appends the rows of another table; `texts` maps its text ids to ids here. Positions continue, or stay if given by the
    /// source.
    pub fn append(&mut self, other: &AccessTable, texts: &[StringId]) {
        let n_before = if self.has_given_positions { 0 } else { self.len() as u64 };
        self.is_labelled |= other.is_labelled;
        self.is_expected |= other.is_expected;
        self.n_left_out += other.n_left_out;
        let room = self.room();
        if room == 0 {
            self.n_left_out += other.len() as u64;
            return;
        }
        if other.len() < MIN_APPENDED_ROWS || other.len() > room {
            other.iter().for_each(|row| self.push(&remap_row(row, n_before, texts)));
            return;
        }
        self.pack_open();
        let is_same = texts.iter().enumerate().all(|(at, id)| id.0 as usize == at);
        let remap = Remap { n_before, texts: (!is_same).then(|| texts.to_vec()) };
        let remap = Some(Arc::new(remap)).filter(|remap| n_before > 0 || remap.texts.is_some());
        for block in &other.blocks {
            // Earlier pending changes are applied first.
            let packed = block.remapped();
            self.add_block(packed, block.n_rows(), remap.clone());
        }
        if let Some((first, last)) = other.span {
            let (min, max) = self.span.unwrap_or((first, last));
            self.span = Some((min.min(first), max.max(last)));
        }
        self.is_unordered |= other.is_unordered;
        self.is_unordered |= self.last_ts.zip(other.first_ts).is_some_and(|(last, first)| last > first);
        self.first_ts = self.first_ts.or(other.first_ts);
        self.last_ts = other.last_ts.or(self.last_ts);
        self.open.extend(other.open.iter().map(|row| remap_row(*row, n_before, texts)));
    }

    /// Whether all text ids are below `n_strings`.
    pub fn texts_are_below(&self, n_strings: usize) -> bool {
        self.iter().all(|row| {
            let texts = [row.op_text, row.phase, row.symbol, row.dso, row.region_text, row.cache_level];
            texts.into_iter().flatten().all(|id| (id.0 as usize) < n_strings)
        })
    }
}

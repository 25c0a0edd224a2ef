//! Loads and stores, sampled by a memory profiler or recorded by an allocation tracer.
//!
//! There can be hundreds of millions of them, so full blocks of rows are packed column by column with [`tight`]: some 6 to 12
//! bytes per row, and next to nothing for constant columns. Clones share blocks. Reading goes front to back, block by block.

use crate::base::strings::StringId;
use crate::base::threads::{self, n_threads};
use crate::base::tight;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Accesses are counted by pages of 4096 bytes.
pub const PAGE_BITS: u32 = 12;

/// Kind of access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Op {
    #[default]
    Load,
    Store,
    /// Another text, which files may contain; see [`Access::op_text`].
    Other,
}

impl Op {
    /// All kinds, in order.
    pub const ALL: [Op; 3] = [Op::Load, Op::Store, Op::Other];
}

/// Kind of memory of an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum RegionType {
    Activation,
    KvCache,
    Runtime,
    #[default]
    Unknown,
    Weight,
    /// Another text, which files may contain, or none if they name other rows; see [`Access::region_text`].
    Other,
}

impl RegionType {
    /// All kinds, in order.
    pub const ALL: [RegionType; 6] = [
        RegionType::Activation,
        RegionType::KvCache,
        RegionType::Runtime,
        RegionType::Unknown,
        RegionType::Weight,
        RegionType::Other,
    ];

    /// Name in files; `None` for [`RegionType::Other`].
    pub fn name(self) -> Option<&'static str> {
        match self {
            RegionType::Activation => Some("activation"),
            RegionType::KvCache => Some("kv_cache"),
            RegionType::Runtime => Some("runtime"),
            RegionType::Unknown => Some("unknown"),
            RegionType::Weight => Some("weight"),
            RegionType::Other => None,
        }
    }

    /// Type by name; [`RegionType::Other`] if unknown.
    pub fn of_name(name: &str) -> RegionType {
        let found = RegionType::ALL.into_iter().find(|region| region.name() == Some(name));
        found.unwrap_or(RegionType::Other)
    }
}

/// One load or store: a row of [`AccessTable`]. `None` is what the source does not state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// Position among the rows of the reader, from 0.
    pub sample: u64,
    /// Nanoseconds on the clock of the capture.
    pub ts: i64,
    /// Address of the data.
    pub address: u64,
    pub op: Op,
    /// Operation as written, if it is [`Op::Other`].
    pub op_text: Option<StringId>,
    pub phase: Option<StringId>,
    /// Function that made the access, without offset.
    pub symbol: Option<StringId>,
    /// Object file of that function.
    pub dso: Option<StringId>,
    pub region: RegionType,
    /// Region type as written, if it is [`RegionType::Other`]; `None` if nothing is written.
    pub region_text: Option<StringId>,
    /// Number of the region within the trace.
    pub region_id: u32,
    /// perf's weight: CPU cycles, though files name the column after nanoseconds.
    pub latency: Option<u64>,
    /// `L1`, `L2`, `L3`, `L4`, `LFB` or `DRAM`.
    pub cache_level: Option<StringId>,
    /// perf's remote bit, 0 or 1, if stated; files name the column after NUMA nodes.
    pub remote: Option<u32>,
    pub cpu: Option<u32>,
    pub thread: Option<i64>,
    pub token_index: Option<i64>,
    pub context_tokens: Option<i64>,
}

impl Access {
    /// Page of the address.
    pub fn page(&self) -> u64 {
        self.address >> PAGE_BITS
    }
}

/// Rows of a packed block.
const BLOCK_ROWS: usize = tight::BLOCK;

/// Minimum number of rows for a block of their own.
const MIN_BLOCK_ROWS: usize = BLOCK_ROWS / 2;

/// Minimum number of blocks per thread.
const MIN_BLOCKS_PER_THREAD: usize = 8;

/// Numbers per row.
const LANES: usize = 18;

/// A row as numbers: kinds, which values are present, and the values (0 if missing).
fn lanes_of(row: &Access) -> [i64; LANES] {
    let text = |id: Option<StringId>| (id.is_some(), id.map_or(0, |id| i64::from(id.0)));
    let optional = [
        text(row.op_text),
        text(row.phase),
        text(row.symbol),
        text(row.dso),
        text(row.region_text),
        (row.latency.is_some(), row.latency.unwrap_or(0) as i64),
        text(row.cache_level),
        (row.remote.is_some(), row.remote.unwrap_or(0).into()),
        (row.cpu.is_some(), row.cpu.unwrap_or(0).into()),
        (row.thread.is_some(), row.thread.unwrap_or(0)),
        (row.token_index.is_some(), row.token_index.unwrap_or(0)),
        (row.context_tokens.is_some(), row.context_tokens.unwrap_or(0)),
    ];
    let mut lanes = [0; LANES];
    lanes[0] = row.op as i64 | (row.region as i64) << 2;
    lanes[2] = row.sample as i64;
    lanes[3] = row.ts;
    lanes[4] = row.address as i64;
    lanes[5] = row.region_id.into();
    for (i, (is_there, value)) in optional.into_iter().enumerate() {
        lanes[1] |= i64::from(is_there) << i;
        lanes[6 + i] = value;
    }
    lanes
}

/// Inverse of [`lanes_of`]; invalid numbers read as missing, or as 0.
#[inline]
fn row_of(lane: impl Fn(usize) -> i64) -> Access {
    let (kinds, there) = (lane(0), lane(1));
    let value = |i: usize| (there >> i & 1 == 1).then(|| lane(6 + i));
    let text = |i: usize| value(i).map(|id| StringId(id as u32));
    let small = |i: usize| value(i).and_then(|value| u32::try_from(value).ok());
    Access {
        sample: lane(2) as u64,
        ts: lane(3),
        address: lane(4) as u64,
        op: op_of(kinds),
        op_text: text(0),
        phase: text(1),
        symbol: text(2),
        dso: text(3),
        region: RegionType::ALL.get((kinds >> 2 & 7) as usize).copied().unwrap_or_default(),
        region_text: text(4),
        region_id: u32::try_from(lane(5)).unwrap_or(0),
        latency: value(5).map(|value| value as u64),
        cache_level: text(6),
        remote: small(7),
        cpu: small(8),
        thread: value(9),
        token_index: value(10),
        context_tokens: value(11),
    }
}

/// Packs rows, at most a block.
fn pack(rows: &[Access]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut values = vec![[0i64; LANES]; rows.len()];
    for (lanes, row) in values.iter_mut().zip(rows) {
        *lanes = lanes_of(row);
    }
    let mut column = [0; BLOCK_ROWS];
    for lane in 0..LANES {
        for (cell, lanes) in column.iter_mut().zip(&values) {
            *cell = lanes[lane];
        }
        tight::write_block(&column[..rows.len().min(BLOCK_ROWS)], &mut out);
    }
    out
}

/// One number per row.
#[derive(Clone, Debug)]
pub enum Numbers {
    /// The same for all rows.
    Same(i64),
    Each(Vec<i64>),
    /// Index of each row into distinct values.
    Codes(Vec<u32>, Vec<i64>),
    /// Like `Codes`, where values are ids of texts.
    Texts(Vec<StringId>, Vec<i64>),
}

impl Numbers {
    /// Number of a row; 0 past the end.
    pub fn get(&self, row: usize) -> i64 {
        match self {
            Numbers::Same(value) => Some(*value),
            Numbers::Each(values) => values.get(row).copied(),
            Numbers::Codes(..) | Numbers::Texts(..) => {
                self.coded().and_then(|(codes, meanings)| meanings.get(*codes.get(row)? as usize).copied())
            }
        }
        .unwrap_or(0)
    }

    /// Indexes and distinct values, if in that form.
    fn coded(&self) -> Option<(&[u32], &[i64])> {
        match self {
            Numbers::Same(_) | Numbers::Each(_) => None,
            Numbers::Codes(codes, meanings) => Some((codes, meanings)),
            Numbers::Texts(codes, meanings) => Some((bytemuck::must_cast_slice(codes), meanings)),
        }
    }

    /// Fills `out` with the numbers from row `start` on. Returns the common number instead if all are equal, else `None`.
    fn fill(&self, start: usize, out: &mut [i64]) -> Option<i64> {
        match self {
            Numbers::Same(value) => return Some(*value),
            Numbers::Each(values) => {
                match values.get(start..).and_then(|values| values.get(..out.len())) {
                    Some(values) => out.copy_from_slice(values),
                    // Cannot happen, since each row has a number.
                    None => out.fill(0),
                }
                return None;
            }
            Numbers::Codes(..) | Numbers::Texts(..) => {}
        }
        let (codes, meanings) = self.coded().unwrap_or_default();
        let codes = codes.get(start..).and_then(|codes| codes.get(..out.len())).unwrap_or_default();
        let first = codes.first().copied().unwrap_or(0);
        let (mut is_same, mut is_row) = (0, 0);
        for (at, code) in codes.iter().enumerate() {
            is_same |= code ^ first;
            is_row |= code ^ first.wrapping_add(at as u32);
        }
        if is_same == 0 {
            return Some(meanings.get(first as usize).copied().unwrap_or(0));
        }
        if is_row == 0
            && let Some(meanings) = meanings.get(first as usize..).and_then(|rest| rest.get(..out.len()))
        {
            // Distinct values in order of appearance.
            out.copy_from_slice(meanings);
            return None;
        }
        for (out, code) in out.iter_mut().zip(codes) {
            *out = meanings.get(*code as usize).copied().unwrap_or(0);
        }
        None
    }
}

/// Index into few distinct values that differ only in their lowest bits.
#[derive(Clone, Debug)]
struct Few {
    /// Common high bits.
    high: i64,
    /// Low bits, by the lowest eight bits of the index.
    low: Box<[u8; 256]>,
}

impl Few {
    fn of(numbers: &Numbers) -> Option<Few> {
        let (_, meanings) = numbers.coded()?;
        let mut low = Box::new([0; 256]);
        let high = meanings.first()? & !i64::from(tight::MAX_FEW);
        let above = |value: &i64| u8::try_from(value ^ high).ok().filter(|above| *above <= tight::MAX_FEW);
        // Any index may occur here, also one that no row has.
        for (low, value) in low.get_mut(..meanings.len())?.iter_mut().zip(meanings) {
            *low = above(value)?;
        }
        Some(Few { high, low })
    }

    /// Fills `out` with the low bits from row `start` on; `None` if there are not enough rows.
    fn fill(&self, numbers: &Numbers, start: usize, out: &mut [u8]) -> Option<()> {
        let codes = numbers.coded()?.0.get(start..)?.get(..out.len())?;
        out.iter_mut().zip(codes).for_each(|(out, code)| *out = self.low[usize::from(*code as u8)]);
        Some(())
    }
}

/// An optional number per row.
#[derive(Clone, Debug)]
struct Lane {
    numbers: Numbers,
    /// Rows that have a number, the others being 0; `None` if all have.
    valid: Option<Vec<bool>>,
    /// The numbers in compact form, if all rows have one and they allow it.
    few: Option<Few>,
}

impl Lane {
    const ZEROS: Lane = Lane { numbers: Numbers::Same(0), valid: None, few: None };

    fn new(numbers: Numbers, valid: Option<Vec<bool>>) -> Lane {
        let few = if valid.is_none() { Few::of(&numbers) } else { None };
        Lane { numbers, valid, few }
    }

    fn get(&self, row: usize) -> i64 {
        if self.is_valid(row) { self.numbers.get(row) } else { 0 }
    }

    fn is_valid(&self, row: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid.get(row).copied().unwrap_or(false))
    }

    /// See [`Numbers::fill`].
    fn fill(&self, start: usize, out: &mut [i64]) -> Option<i64> {
        let same = self.numbers.fill(start, out);
        let Some(valid) = &self.valid else { return same };
        if let Some(value) = same {
            out.fill(value);
        }
        for (out, is_valid) in out.iter_mut().zip(valid.get(start..).unwrap_or_default()) {
            *out &= -i64::from(*is_valid);
        }
        None
    }
}

/// Optional values of a row, by lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Optional {
    OpText = 0,
    Phase = 1,
    Symbol = 2,
    Dso = 3,
    RegionText = 4,
    Latency = 5,
    CacheLevel = 6,
    Remote = 7,
    Cpu = 8,
    Thread = 9,
    TokenIndex = 10,
    ContextTokens = 11,
}

/// Rows in columns, for readers that have them so; see [`Access`] for the meaning.
#[derive(Clone, Debug)]
pub struct AccessColumns {
    n_rows: usize,
    /// The first lane is the operation.
    lanes: [Lane; LANES],
    regions: Lane,
    /// Bits, as in [`lanes_of`], of values present in all rows.
    in_all: i64,
}

impl AccessColumns {
    /// Creates rows of times, addresses and kinds, given as indexes of [`Op`] and [`RegionType`]. Positions, region numbers
    /// and all optional values are 0 or missing until set.
    pub fn new(
        n_rows: usize,
        ts: Numbers,
        addresses: Numbers,
        ops: Numbers,
        regions: Numbers,
    ) -> AccessColumns {
        let mut lanes = [const { Lane::ZEROS }; LANES];
        for (lane, numbers) in [(0, ops), (3, ts), (4, addresses)] {
            lanes[lane] = Lane::new(numbers, None);
        }
        AccessColumns { n_rows, lanes, regions: Lane::new(regions, None), in_all: 0 }
    }

    pub fn set_samples(&mut self, samples: Numbers) {
        self.lanes[2] = Lane::new(samples, None);
    }

    /// Sets region numbers; 0 for rows that `valid` excludes.
    pub fn set_region_ids(&mut self, ids: Numbers, valid: Option<Vec<bool>>) {
        self.lanes[5] = Lane::new(ids, valid);
    }

    /// Sets an optional value; `valid` says which rows have it, all if `None`. Texts are given by id.
    pub fn set(&mut self, which: Optional, numbers: Numbers, valid: Option<Vec<bool>>) {
        let bit = which as usize;
        self.in_all |= i64::from(valid.is_none()) << bit;
        self.lanes[6 + bit] = Lane::new(numbers, valid);
    }

    /// Returns the number buffers for reuse.
    pub fn into_numbers(self) -> impl Iterator<Item = Numbers> {
        self.lanes.into_iter().chain([self.regions]).map(|lane| lane.numbers)
    }

    /// Optional values that only some rows have.
    fn partly_there(&self) -> impl Iterator<Item = (usize, &[bool])> {
        self.lanes[6..].iter().enumerate().filter_map(|(bit, lane)| Some((bit, lane.valid.as_deref()?)))
    }

    fn get(&self, lane: usize, row: usize) -> i64 {
        match lane {
            0 => self.lanes[0].get(row) | self.regions.get(row) << 2,
            1 => self.lanes[6..].iter().enumerate().fold(self.in_all, |there, (bit, lane)| {
                there | i64::from(lane.valid.is_some() && lane.is_valid(row)) << bit
            }),
            _ => self.lanes[lane].get(row),
        }
    }

    /// See [`Numbers::fill`].
    fn fill(&self, lane: usize, start: usize, out: &mut [i64]) -> Option<i64> {
        match lane {
            0 => {
                let mut regions = [0; BLOCK_ROWS];
                let regions = &mut regions[..out.len().min(BLOCK_ROWS)];
                match (self.lanes[0].fill(start, out), self.regions.fill(start, regions)) {
                    (Some(op), Some(region)) => return Some(op | region << 2),
                    (None, Some(region)) => out.iter_mut().for_each(|op| *op |= region << 2),
                    (op, None) => {
                        if let Some(op) = op {
                            out.fill(op);
                        }
                        out.iter_mut().zip(regions).for_each(|(op, region)| *op |= *region << 2);
                    }
                }
                None
            }
            1 => {
                if self.partly_there().next().is_none() {
                    return Some(self.in_all);
                }
                out.fill(self.in_all);
                for (bit, valid) in self.partly_there() {
                    for (out, is_valid) in out.iter_mut().zip(valid.get(start..).unwrap_or_default()) {
                        *out |= i64::from(*is_valid) << bit;
                    }
                }
                None
            }
            _ => self.lanes[lane].fill(start, out),
        }
    }

    /// Like [`AccessColumns::fill`], as common high bits and the low bits of each row, if the numbers are in that form.
    fn fill_few(&self, lane: usize, start: usize, out: &mut [u8]) -> Option<i64> {
        let of = &self.lanes[lane];
        let few = of.few.as_ref()?;
        few.fill(&of.numbers, start, out)?;
        if lane > 0 {
            return Some(few.high);
        }
        match (&self.regions.few, &self.regions.numbers) {
            // Operations and regions use separate bits.
            (_, Numbers::Same(region)) => {
                let region = u8::try_from(region << 2).ok().filter(|region| *region <= tight::MAX_FEW)?;
                out.iter_mut().for_each(|op| *op |= region);
                Some(few.high)
            }
            (Some(regions), numbers) => {
                let mut low = [0; BLOCK_ROWS];
                let low = &mut low[..out.len().min(BLOCK_ROWS)];
                regions.fill(numbers, start, low)?;
                out.iter_mut().zip(low).for_each(|(op, region)| *op |= *region << 2);
                Some(few.high | regions.high << 2)
            }
            _ => None,
        }
    }

    /// Packs the `n` rows of a block from `start` on.
    fn pack(&self, start: usize, n: usize, packed: &mut Vec<u8>) -> Arc<[u8]> {
        packed.clear();
        let n = n.min(BLOCK_ROWS);
        let (mut values, mut low) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
        for lane in 0..LANES {
            if let Some(high) = self.fill_few(lane, start, &mut low[..n]) {
                tight::write_few(high, &low[..n], packed);
                continue;
            }
            match self.fill(lane, start, &mut values[..n]) {
                Some(value) => tight::write_same(value, packed),
                None => tight::write_block(&values[..n], packed),
            }
        }
        packed.as_slice().into()
    }
}

/// Unpacks `n` rows into `values`, lane by lane. False if `bytes` are invalid.
fn unpack(mut bytes: &[u8], n: usize, moved: Option<&Moved>, values: &mut Vec<i64>) -> bool {
    values.clear();
    values.resize(n * LANES, 0);
    for (number, lane) in values.chunks_mut(n.max(1)).enumerate() {
        let Some(rest) = tight::read_block(bytes, lane) else { return false };
        if let Some(moved) = moved {
            moved.apply(number, lane);
        }
        bytes = rest;
    }
    bytes.is_empty()
}

/// Unpacks the lanes of a block that `wanted` has a bit for; the others stay as they are. False if the block is invalid.
fn unpack_lanes(block: &Block, wanted: u32, lanes: &mut [[i64; BLOCK_ROWS]; LANES]) -> bool {
    let (mut bytes, n_rows): (&[u8], _) = (&block.packed, block.n_rows());
    // Later lanes are not wanted.
    let n_lanes = (u32::BITS - wanted.leading_zeros()) as usize;
    for (number, lane) in lanes.iter_mut().enumerate().take(n_lanes) {
        let lane = &mut lane[..n_rows.min(BLOCK_ROWS)];
        let rest = match wanted >> number & 1 {
            1 => tight::read_block(bytes, lane),
            _ => tight::skip_block(bytes, n_rows),
        };
        let Some(rest) = rest else { return false };
        if let Some(moved) = block.moved.as_deref().filter(|_| wanted >> number & 1 == 1) {
            moved.apply(number, lane);
        }
        bytes = rest;
    }
    true
}

/// Set of lanes to unpack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted(u32);

impl Wanted {
    /// Time, address and kind.
    pub const TOUCHES: Wanted = Wanted(1 | 1 << 3 | 1 << 4);
    /// Only whether each optional value is present.
    pub const PRESENCE: Wanted = Wanted(1 << 1);
    /// All lanes.
    pub const ALL: Wanted = Wanted((1 << LANES) - 1);

    /// Kind, time, address, region as stated by the source, presence of optional values, and the given optional values.
    pub fn with(optional: &[Optional]) -> Wanted {
        let bits = optional.iter().map(|which| 1 << (6 + *which as u32));
        Wanted(bits.fold(Wanted::TOUCHES.0 | 1 << 1 | 1 << 5, |all, bit| all | bit))
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
        &self.lanes[3][..self.n_rows]
    }

    /// Addresses, as signed numbers of the same bits.
    pub fn addresses(&self) -> &[i64] {
        &self.lanes[4][..self.n_rows]
    }

    /// Operation of a row.
    #[inline]
    pub fn op(&self, row: usize) -> Op {
        op_of(self.lanes[0][row % BLOCK_ROWS])
    }

    /// Whether any row has that value.
    pub fn has_any(&self, which: Optional) -> bool {
        self.lanes[1][..self.n_rows].iter().any(|there| there >> which as usize & 1 == 1)
    }

    /// One row; values that were not unpacked read as 0 if present.
    #[inline]
    pub fn access(&self, row: usize) -> Access {
        row_of(|lane| self.lanes[lane][row % BLOCK_ROWS])
    }
}

/// Operation from the kinds of a row.
fn op_of(kinds: i64) -> Op {
    match kinds & 3 {
        1 => Op::Store,
        2 => Op::Other,
        _ => Op::Load,
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

/// Block of packed rows.
#[derive(Clone, PartialEq, Debug)]
struct Block {
    packed: Bytes,
    /// Number of rows before the block.
    start: usize,
    n_rows: u16,
    /// Pending change of the packed rows.
    moved: Option<Arc<Moved>>,
}

impl Block {
    /// At most [`BLOCK_ROWS`].
    fn n_rows(&self) -> usize {
        self.n_rows.into()
    }
}

/// Pending change of the rows of an appended table. Joining tables is nearly free, since the change is applied on reading.
#[derive(PartialEq, Debug)]
struct Moved {
    /// Offset added to positions.
    n_before: u64,
    /// New id of each text of the appended table; `None` if unchanged.
    texts: Option<Vec<StringId>>,
}

impl Moved {
    /// Applies the change to a lane.
    fn apply(&self, lane: usize, values: &mut [i64]) {
        if lane == POSITIONS && self.n_before > 0 {
            values.iter_mut().for_each(|at| *at = (*at as u64).wrapping_add(self.n_before) as i64);
        } else if TEXT_LANES.contains(&lane)
            && let Some(texts) = &self.texts
        {
            // Texts are mostly equal to that of the previous row.
            let mut known = (0, i64::from(text_of(texts, 0).0));
            for value in values {
                if known.0 != *value {
                    known = (*value, i64::from(text_of(texts, *value as u32).0));
                }
                *value = known.1;
            }
        }
    }
}

/// New id of a text.
fn text_of(texts: &[StringId], id: u32) -> StringId {
    texts.get(id as usize).copied().unwrap_or(StringId::NONE)
}

/// Tables with fewer rows are appended row by row, to avoid tiny blocks.
const MIN_APPENDED_ROWS: usize = 8 * BLOCK_ROWS;

/// Accesses in file order.
#[derive(Clone, Default)]
pub struct AccessTable {
    /// Blocks of [`BLOCK_ROWS`] rows, or fewer where another table was appended.
    blocks: Vec<Block>,
    n_packed: usize,
    /// Last rows, not packed yet.
    open: Vec<Access>,
    is_labelled: bool,
    is_expected: bool,
    has_given_positions: bool,
    /// Earliest and latest time, times of the first and last row, and whether rows are out of time order.
    span: Option<(i64, i64)>,
    first_ts: Option<i64>,
    last_ts: Option<i64>,
    is_unordered: bool,
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
    pub fn take_at_most(&mut self, max_rows: usize, max_bytes: usize) {
        self.limit = Some((max_rows, max_bytes));
    }

    /// Lowers the limits by the rows and bytes of others.
    pub fn leave_room_for(&mut self, n_rows: usize, n_bytes: usize) {
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
                match columns.fill(3, at, &mut times[..n]) {
                    Some(ts) => self.see_all(&[ts]),
                    None => self.see_all(&times[..n]),
                }
                self.add_block(Bytes::Own(block), n, None);
                at += n;
            }
        }
    }

    fn add_block(&mut self, packed: Bytes, n_rows: usize, moved: Option<Arc<Moved>>) {
        self.n_bytes += packed.len();
        let n_rows = n_rows.min(BLOCK_ROWS);
        self.blocks.push(Block { packed, start: self.n_packed, n_rows: n_rows as u16, moved });
        self.n_packed += n_rows;
    }

    /// Records the times of the next rows.
    fn see_all(&mut self, times: &[i64]) {
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
        unpack(&block.packed, n, block.moved.as_deref(), &mut values)
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
                let is_sound = |block: &Block| unpack(&block.packed, n, block.moved.as_deref(), &mut values);
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

    /// Iterates over blocks and unpacks only what is `wanted`: much faster than row by row.
    pub fn blocks(&self, wanted: Wanted) -> Blocks<'_> {
        let lanes: Box<[_]> = vec![[0; BLOCK_ROWS]; LANES].into();
        let lanes = lanes.try_into().unwrap_or_else(|_| Box::new([[0; BLOCK_ROWS]; LANES]));
        Blocks { table: self, wanted, next: 0, rows: Rows { lanes, n_rows: 0 } }
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
            other.iter().for_each(|row| self.push(&moved(row, n_before, texts)));
            return;
        }
        self.pack_open();
        let is_same = texts.iter().enumerate().all(|(at, id)| id.0 as usize == at);
        let moving = Moved { n_before, texts: (!is_same).then(|| texts.to_vec()) };
        let moving = Some(Arc::new(moving)).filter(|moving| n_before > 0 || moving.texts.is_some());
        for block in &other.blocks {
            // Earlier pending changes are applied first.
            let packed = settled(block);
            self.add_block(packed, block.n_rows(), moving.clone());
        }
        if let Some((first, last)) = other.span {
            let (min, max) = self.span.unwrap_or((first, last));
            self.span = Some((min.min(first), max.max(last)));
        }
        self.is_unordered |= other.is_unordered;
        self.is_unordered |= self.last_ts.zip(other.first_ts).is_some_and(|(last, first)| last > first);
        self.first_ts = self.first_ts.or(other.first_ts);
        self.last_ts = other.last_ts.or(self.last_ts);
        self.open.extend(other.open.iter().map(|row| moved(*row, n_before, texts)));
    }

    /// Whether all text ids are below `n_strings`.
    pub fn texts_are_below(&self, n_strings: usize) -> bool {
        self.iter().all(|row| {
            let texts = [row.op_text, row.phase, row.symbol, row.dso, row.region_text, row.cache_level];
            texts.into_iter().flatten().all(|id| (id.0 as usize) < n_strings)
        })
    }
}

/// Lane of positions.
const POSITIONS: usize = 2;

/// Lanes of text ids.
const TEXT_LANES: [usize; 6] = [
    6 + Optional::OpText as usize,
    6 + Optional::Phase as usize,
    6 + Optional::Symbol as usize,
    6 + Optional::Dso as usize,
    6 + Optional::RegionText as usize,
    6 + Optional::CacheLevel as usize,
];

/// A row moved by `n_before` rows, with mapped text ids.
fn moved(mut row: Access, n_before: u64, texts: &[StringId]) -> Access {
    row.sample = row.sample.wrapping_add(n_before);
    for id in [
        &mut row.op_text,
        &mut row.phase,
        &mut row.symbol,
        &mut row.dso,
        &mut row.region_text,
        &mut row.cache_level,
    ]
    .into_iter()
    .flatten()
    {
        *id = text_of(texts, id.0);
    }
    row
}

/// Bytes of a block with its pending change applied; unchanged lanes are copied.
fn settled(block: &Block) -> Bytes {
    let Some(moved) = &block.moved else { return block.packed.clone() };
    let mut values = [0; BLOCK_ROWS];
    let values = &mut values[..block.n_rows().min(BLOCK_ROWS)];
    let mut bytes: &[u8] = &block.packed;
    let mut out = Vec::with_capacity(bytes.len() + 64);
    for lane in 0..LANES {
        let is_moved =
            lane == POSITIONS && moved.n_before > 0 || TEXT_LANES.contains(&lane) && moved.texts.is_some();
        let rest = match is_moved {
            true => tight::read_block(bytes, values),
            false => tight::skip_block(bytes, block.n_rows()),
        };
        // Cannot happen: blocks are made here, or validated when received.
        let Some(rest) = rest else {
            return Bytes::Own(pack(&vec![Access::default(); block.n_rows()]).into());
        };
        if is_moved {
            moved.apply(lane, values);
            tight::write_block(values, &mut out);
        } else {
            out.extend_from_slice(&bytes[..bytes.len() - rest.len()]);
        }
        bytes = rest;
    }
    Bytes::Own(out.into())
}

/// Unpacks the times of a block. `None` if `bytes` are invalid.
fn times_of(mut bytes: &[u8], times: &mut [i64]) -> Option<()> {
    for lane in 0..LANES {
        bytes = match lane {
            3 => tight::read_block(bytes, times)?,
            _ => tight::skip_block(bytes, times.len())?,
        };
    }
    bytes.is_empty().then_some(())
}

/// Bytes of a block: its own, or part of a received buffer.
#[derive(Clone)]
enum Bytes {
    Own(Arc<[u8]>),
    Within(Arc<Vec<u8>>, Range<usize>),
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Own(bytes) => bytes,
            Bytes::Within(bytes, range) => bytes.get(range.clone()).unwrap_or_default(),
        }
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Bytes) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Serialized form of a table.
#[derive(Serialize, Deserialize)]
#[serde(bound(serialize = "B: AsRef<[u8]>", deserialize = "Whole<B>: Deserialize<'de>"))]
struct Packed<B> {
    is_labelled: bool,
    is_expected: bool,
    /// Rows of each block, and its packed bytes.
    blocks: Vec<(u16, Whole<B>)>,
    n_last: u32,
    last: Vec<u8>,
}

/// Bytes serialized in one go: the same output as byte by byte, but faster.
struct Whole<B>(B);

impl<B: AsRef<[u8]>> Serialize for Whole<B> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0.as_ref())
    }
}

impl<'de> Deserialize<'de> for Whole<&'de [u8]> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Whole<&'de [u8]>, D::Error> {
        Deserialize::deserialize(deserializer).map(Whole)
    }
}

impl Serialize for AccessTable {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Packed {
            is_labelled: self.is_labelled,
            is_expected: self.is_expected,
            blocks: self.blocks.iter().map(|block| (block.n_rows, Whole(settled(block)))).collect(),
            n_last: self.open.len() as u32,
            last: pack(&self.open),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AccessTable {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<AccessTable, D::Error> {
        let table = Packed::deserialize(deserializer)?.unpacked(|block| Bytes::Own(block.into()));
        table.ok_or_else(|| serde::de::Error::custom("no table of accesses"))
    }
}

impl Packed<&[u8]> {
    /// Builds the table, making blocks with `keep`. All blocks are validated, so that later reads cannot fail; `None` if
    /// invalid.
    fn unpacked(self, keep: impl Fn(&[u8]) -> Bytes) -> Option<AccessTable> {
        let mut table = AccessTable::default();
        let mut values = Vec::new();
        let mut times = [0; BLOCK_ROWS];
        for (n_rows, Whole(block)) in self.blocks {
            let times = times.get_mut(..n_rows.into()).filter(|times| !times.is_empty())?;
            times_of(block, times)?;
            table.see_all(times);
            table.add_block(keep(block), n_rows.into(), None);
        }
        let n = self.n_last as usize;
        if n > BLOCK_ROWS || !(n == 0 && self.last.is_empty() || unpack(&self.last, n, None, &mut values)) {
            return None;
        }
        for at in 0..n {
            table.push(&row_of(|lane| values.get(lane * n + at).copied().unwrap_or(0)));
        }
        (table.is_labelled, table.is_expected) = (self.is_labelled, self.is_expected);
        Some(table)
    }
}

impl AccessTable {
    /// Table serialized in a range of `bytes`, which it keeps, so that no block is copied. `None` if invalid.
    pub fn within(bytes: &Arc<Vec<u8>>, range: Range<usize>) -> Option<AccessTable> {
        let packed: Packed<&[u8]> = postcard::from_bytes(bytes.get(range.clone())?).ok()?;
        // A small table does not keep a large buffer alive.
        if range.len() < bytes.len() / 2 {
            return packed.unpacked(|block| Bytes::Own(block.into()));
        }
        packed.unpacked(|block| {
            let start = block.as_ptr().addr() - bytes.as_ptr().addr();
            Bytes::Within(bytes.clone(), start..start + block.len())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(i: u64) -> Access {
        Access {
            sample: i,
            ts: 1000 + i as i64 * 7,
            address: u64::MAX - i * 64,
            op: Op::ALL[(i % 3) as usize],
            op_text: (i % 3 == 2).then_some(StringId(9)),
            symbol: (!i.is_multiple_of(5)).then_some(StringId(i as u32 % 40)),
            region: RegionType::ALL[(i % 6) as usize],
            region_id: i as u32,
            latency: i.is_multiple_of(7).then_some(u64::MAX),
            thread: Some(-(i as i64)),
            cpu: Some(3),
            ..Access::default()
        }
    }

    #[test]
    fn columns_are_rows() {
        const ALL: [Optional; 12] = [
            Optional::OpText,
            Optional::Phase,
            Optional::Symbol,
            Optional::Dso,
            Optional::RegionText,
            Optional::Latency,
            Optional::CacheLevel,
            Optional::Remote,
            Optional::Cpu,
            Optional::Thread,
            Optional::TokenIndex,
            Optional::ContextTokens,
        ];
        for n_before in [0, 5] {
            for n in [0, 3, 1024, 5001, 8701] {
                let rows: Vec<Access> = (0..n).map(row).collect();
                let (mut one_by_one, mut at_once) = (AccessTable::default(), AccessTable::default());
                for table in [&mut one_by_one, &mut at_once] {
                    (0..n_before).for_each(|i| table.push(&row(i)));
                }
                rows.iter().for_each(|row| one_by_one.push(row));
                let lane = |lane: usize| rows.iter().map(|row| lanes_of(row)[lane]).collect::<Vec<i64>>();
                let each = |lane_number: usize| Numbers::Each(lane(lane_number));
                // The same by indexes into distinct values.
                let codes = |lane_number: usize| {
                    let mut distinct = lane(lane_number);
                    distinct.sort_unstable();
                    distinct.dedup();
                    let code = |value: &i64| distinct.binary_search(value).unwrap() as u32;
                    Numbers::Codes(lane(lane_number).iter().map(code).collect(), distinct)
                };
                let op = |row: &Access| row.op as u32;
                let ops = match n % 2 {
                    0 => Numbers::Each(rows.iter().map(|row| op(row).into()).collect()),
                    _ => Numbers::Codes(rows.iter().map(op).collect(), vec![0, 1, 2]),
                };
                let region = |row: &Access| StringId(row.region as u32);
                let regions = Numbers::Texts(rows.iter().map(region).collect(), (0..6).collect());
                let mut columns = AccessColumns::new(rows.len(), codes(3), each(4), ops, regions);
                columns.set_samples(each(2));
                columns.set_region_ids(codes(5), None);
                for which in ALL {
                    let valid: Vec<bool> =
                        lane(1).iter().map(|there| there >> which as usize & 1 == 1).collect();
                    if valid.iter().any(|valid| *valid) {
                        let number = 6 + which as usize;
                        let numbers = if number.is_multiple_of(2) { each(number) } else { codes(number) };
                        columns.set(which, numbers, Some(valid).filter(|valid| valid.contains(&false)));
                    }
                }
                at_once.push_columns(&columns);
                assert!(at_once.iter().eq(one_by_one.iter()), "{n}");
                // Other blocks may be shorter, after which many rows start a block of their own.
                let whole = at_once.blocks.iter().filter(|block| block.n_rows() == BLOCK_ROWS);
                assert!(
                    n_before > 0 && n as usize >= MIN_APPENDED_ROWS || whole.eq(&one_by_one.blocks),
                    "{n}"
                );
                assert_eq!((at_once.span, at_once.is_unordered), (one_by_one.span, one_by_one.is_unordered));
            }
        }
    }

    #[test]
    fn rows_come_back_and_travel() {
        for n in [0, 1, 1023, 1024, 1025, 3000] {
            let mut table = AccessTable::default();
            (0..n).for_each(|i| table.push(&row(i)));
            assert_eq!(table.len() as u64, n);
            assert!(table.iter().eq((0..n).map(row)), "{n}");
            let mut n_seen = 0;
            for wanted in [Wanted::TOUCHES, Wanted::with(&[Optional::Symbol]), Wanted::ALL] {
                let mut blocks = table.blocks(wanted);
                while let Some(rows) = blocks.next_rows() {
                    for at in 0..rows.len() {
                        let (own, whole) = (rows.access(at), row(n_seen));
                        assert_eq!((own.ts, own.address, own.op), (whole.ts, whole.address, whole.op));
                        assert_eq!((rows.times()[at], rows.op(at)), (whole.ts, whole.op));
                        assert_eq!(rows.addresses()[at] as u64, whole.address);
                        assert!(wanted == Wanted::TOUCHES || own.symbol == whole.symbol);
                        assert!(wanted != Wanted::ALL || own == whole);
                        n_seen += 1;
                    }
                }
                assert_eq!(std::mem::take(&mut n_seen), n);
            }
            assert_eq!(table.get(n as usize), None);
            assert_eq!(table.get(n as usize / 2), (n > 0).then(|| row(n / 2)));
            let bytes = postcard::to_allocvec(&table).unwrap();
            let back: AccessTable = postcard::from_bytes(&bytes).unwrap();
            let (mut around, n_bytes) = (vec![7; 3], bytes.len());
            around.extend(bytes);
            around.push(7);
            let within = AccessTable::within(&Arc::new(around), 3..3 + n_bytes).unwrap();
            assert!(within.blocks == back.blocks && within.iter().eq(back.iter()));
            assert!(back.iter().eq(table.iter()));
            assert_eq!(back.span(), table.span());
            assert!(table.texts_are_below(40) && (n < 40 || !table.texts_are_below(39)));
            let mut twice = table.clone();
            twice.append(&back, &(0..64).map(StringId).collect::<Vec<_>>());
            assert_eq!(twice.get(n as usize), (n > 0).then(|| Access { sample: n, ..row(0) }));
        }
    }

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let whole: Vec<Access> = (0..20_000).map(row).collect();
        let part = |rows: &[Access]| {
            let mut table = AccessTable::default();
            rows.iter().for_each(|row| table.push(row));
            table
        };
        for max_rows in [0, 1, 5_000, 12_345, 19_999, 20_000, 30_000] {
            let mut by_rows = AccessTable::default();
            by_rows.take_at_most(max_rows, usize::MAX);
            whole.iter().for_each(|row| by_rows.push(row));
            let mut by_parts = AccessTable::default();
            by_parts.take_at_most(max_rows, usize::MAX);
            by_parts.set_given_positions();
            for rows in whole.chunks(9_000) {
                by_parts.append(&part(rows), &(0..64).map(StringId).collect::<Vec<_>>());
            }
            for table in [by_rows, by_parts] {
                assert!(table.iter().eq(whole.iter().copied().take(max_rows)), "{max_rows}");
                assert_eq!(
                    (table.n_left_out(), table.n_seen()),
                    (20_000u64.saturating_sub(max_rows as u64), 20_000)
                );
            }
        }
        let mut by_bytes = AccessTable::default();
        by_bytes.take_at_most(usize::MAX, 1);
        whole.iter().for_each(|row| by_bytes.push(row));
        assert_eq!((by_bytes.len(), by_bytes.n_seen()), (BLOCK_ROWS, 20_000));
    }

    #[test]
    fn tables_that_are_appended_are_one() {
        let texts: Vec<StringId> = [0].into_iter().chain(8..80).map(StringId).collect();
        let (mut whole, mut joined) = (AccessTable::default(), AccessTable::default());
        for (n, first) in [(3, 0), (9000, 5000), (20_000, 700), (0, 0), (100, 1), (8192, 30_000)] {
            let mut part = AccessTable::default();
            (first..first + n)
                .map(row)
                .for_each(|row| part.push(&Access { sample: row.sample - first, ..row }));
            let n_before = whole.len() as u64;
            part.iter().for_each(|row| whole.push(&moved(row, n_before, &texts)));
            joined.append(&part, &texts);
            assert!(joined.iter().eq(whole.iter()), "{n}");
        }
        assert!(joined.blocks.iter().any(|block| block.n_rows() < BLOCK_ROWS));
        let bytes = postcard::to_allocvec(&joined).unwrap();
        let back: AccessTable = postcard::from_bytes(&bytes).unwrap();
        for table in [&joined, &back] {
            assert!(table.iter().eq(whole.iter()));
            let mut again = AccessTable::default();
            again.append(table, &(0..99).map(StringId).collect::<Vec<_>>());
            assert!(again.iter().eq(whole.iter()));
            let about =
                |table: &AccessTable| (table.span(), table.last_ts, table.first_ts, table.is_unordered);
            assert_eq!(about(table), about(&whole));
            for at in [0, 2, 3, 1026, 1027, 9003, 9004, 29_100, 37_294] {
                assert_eq!(table.get(at), whole.get(at), "{at}");
            }
            let mut rows = Vec::new();
            let mut blocks = table.blocks(Wanted::ALL);
            while let Some(block) = blocks.next_rows() {
                rows.extend((0..block.len()).map(|at| block.access(at)));
            }
            assert!(whole.iter().eq(rows));
        }
    }
}

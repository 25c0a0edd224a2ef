//! Loads and stores to memory, as a profiler of memory accesses or a tracer of allocations has seen them.

use crate::base::strings::StringId;

/// Pages are of 4096 bytes wherever accesses are counted by page.
pub const PAGE_BITS: u32 = 12;

/// What was done to memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Op {
    #[default]
    Load,
    Store,
    /// Some other text, which files may hold; see [`Access::op_text`].
    Other,
}

/// Kind of memory that an address belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum RegionType {
    Activation,
    KvCache,
    Runtime,
    #[default]
    Unknown,
    Weight,
    /// Some other text, which files may hold; see [`Access::region_text`].
    Other,
}

/// One sampled load or store: a row of [`AccessTable`]. `None` is what the source does not say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// Position among the rows that the reader took, from 0.
    pub sample: u64,
    /// Nanoseconds on the clock of the capture.
    pub ts: i64,
    /// Address of the data.
    pub address: u64,
    pub op: Op,
    /// The operation as written, where it is [`Op::Other`].
    pub op_text: Option<StringId>,
    pub phase: Option<StringId>,
    /// Function that made the access, without an offset.
    pub symbol: Option<StringId>,
    /// Object file of that function.
    pub dso: Option<StringId>,
    pub region: RegionType,
    /// The region type as written, where it is [`RegionType::Other`].
    pub region_text: Option<StringId>,
    /// Number of the region within the trace.
    pub region_id: u32,
    /// What perf calls weight: cycles of the processor, though files name the column after nanoseconds.
    pub latency: Option<u64>,
    /// `L1`, `L2`, `L3`, `L4`, `LFB` or `DRAM`.
    pub cache_level: Option<StringId>,
    /// 0 or 1 (the remote bit) where perf has said it; files name the column after NUMA nodes.
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

/// Accesses in the order of the file.
#[derive(Clone, Default)]
pub struct AccessTable {
    rows: Vec<Access>,
}

impl AccessTable {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn push(&mut self, access: &Access) {
        self.rows.push(*access);
    }

    /// Row by position; `None` past the end.
    pub fn get(&self, at: usize) -> Option<Access> {
        self.rows.get(at).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = Access> + '_ {
        self.rows.iter().copied()
    }
}

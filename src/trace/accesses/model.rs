//! One load or store.

use crate::base::strings::StringId;

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

/// One load or store: a row of [`AccessTable`](super::AccessTable). `None` is what the source does not state.
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

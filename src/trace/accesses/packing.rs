//! A row as numbers, one per lane, and rows as packed bytes, one lane after the other.

use super::model::{Access, Op, Optional, RegionType};
use crate::base::bitpack;
use crate::base::strings::StringId;

/// Rows of a packed block.
pub const BLOCK_ROWS: usize = bitpack::BLOCK;

/// Numbers per row.
pub const LANES: usize = OPTIONAL + 12;

/// Lane of operations, and of region types from bit [`REGION_SHIFT`] on.
pub const KINDS: usize = 0;
/// First bit of the region type in the lane of kinds.
pub const REGION_SHIFT: u32 = 2;
/// Lane that says which optional values are present, a bit each.
pub const PRESENT: usize = 1;
/// Lane of positions.
pub const POSITIONS: usize = 2;
/// Lane of times.
pub const TIMES: usize = 3;
/// Lane of addresses.
pub const ADDRESSES: usize = 4;
/// Lane of region numbers.
pub const REGION_IDS: usize = 5;
/// First lane of the optional values, which are in the order of [`Optional`].
pub const OPTIONAL: usize = 6;

/// Lanes of text ids.
pub const TEXT_LANES: [usize; 6] = [
    OPTIONAL + Optional::OpText as usize,
    OPTIONAL + Optional::Phase as usize,
    OPTIONAL + Optional::Symbol as usize,
    OPTIONAL + Optional::Dso as usize,
    OPTIONAL + Optional::RegionText as usize,
    OPTIONAL + Optional::CacheLevel as usize,
];

/// A row as numbers: kinds, which values are present, and the values (0 if missing).
pub fn lanes_of(row: &Access) -> [i64; LANES] {
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
    lanes[KINDS] = row.op as i64 | (row.region as i64) << REGION_SHIFT;
    lanes[POSITIONS] = row.sample as i64;
    lanes[TIMES] = row.ts;
    lanes[ADDRESSES] = row.address as i64;
    lanes[REGION_IDS] = row.region_id.into();
    for (i, (is_there, value)) in optional.into_iter().enumerate() {
        lanes[PRESENT] |= i64::from(is_there) << i;
        lanes[OPTIONAL + i] = value;
    }
    lanes
}

/// Inverse of [`lanes_of`]; invalid numbers read as missing, or as 0.
#[inline]
pub fn row_of(lane: impl Fn(usize) -> i64) -> Access {
    let (kinds, there) = (lane(KINDS), lane(PRESENT));
    let value = |i: usize| (there >> i & 1 == 1).then(|| lane(OPTIONAL + i));
    let text = |i: usize| value(i).map(|id| StringId(id as u32));
    let small = |i: usize| value(i).and_then(|value| u32::try_from(value).ok());
    Access {
        sample: lane(POSITIONS) as u64,
        ts: lane(TIMES),
        address: lane(ADDRESSES) as u64,
        op: op_of(kinds),
        op_text: text(0),
        phase: text(1),
        symbol: text(2),
        dso: text(3),
        region: RegionType::ALL.get((kinds >> REGION_SHIFT & 7) as usize).copied().unwrap_or_default(),
        region_text: text(4),
        region_id: u32::try_from(lane(REGION_IDS)).unwrap_or(0),
        latency: value(5).map(|value| value as u64),
        cache_level: text(6),
        remote: small(7),
        cpu: small(8),
        thread: value(9),
        token_index: value(10),
        context_tokens: value(11),
    }
}

/// Operation from the kinds of a row.
pub fn op_of(kinds: i64) -> Op {
    match kinds & 3 {
        1 => Op::Store,
        2 => Op::Other,
        _ => Op::Load,
    }
}

/// Packs rows, at most a block.
pub fn pack(rows: &[Access]) -> Vec<u8> {
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
        bitpack::write_block(&column[..rows.len().min(BLOCK_ROWS)], &mut out);
    }
    out
}

/// Unpacks the times of a block. `None` if `bytes` are invalid.
pub fn times_of(mut bytes: &[u8], times: &mut [i64]) -> Option<()> {
    for lane in 0..LANES {
        bytes = match lane {
            TIMES => bitpack::read_block(bytes, times)?,
            _ => bitpack::skip_block(bytes, times.len())?,
        };
    }
    bytes.is_empty().then_some(())
}

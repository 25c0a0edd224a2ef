//! Packed blocks of rows, which clones and joined tables share.

use super::model::Access;
use super::packing::{BLOCK_ROWS, LANES, POSITIONS, TEXT_LANES, pack};
use crate::base::bitpack;
use crate::base::strings::StringId;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Block of packed rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    pub packed: Bytes,
    /// Number of rows before the block.
    pub start: usize,
    pub n_rows: u16,
    /// Pending change of the packed rows.
    pub remap: Option<Arc<Remap>>,
}

impl Block {
    /// At most [`BLOCK_ROWS`].
    pub fn n_rows(&self) -> usize {
        self.n_rows.into()
    }

    /// Bytes with the pending change applied; unchanged lanes are copied.
    pub fn remapped(&self) -> Bytes {
        let Some(remap) = &self.remap else { return self.packed.clone() };
        let mut values = [0; BLOCK_ROWS];
        let values = &mut values[..self.n_rows().min(BLOCK_ROWS)];
        let mut bytes: &[u8] = &self.packed;
        let mut out = Vec::with_capacity(bytes.len() + 64);
        for lane in 0..LANES {
            let is_changed = lane == POSITIONS && remap.n_before > 0
                || TEXT_LANES.contains(&lane) && remap.texts.is_some();
            let rest = match is_changed {
                true => bitpack::read_block(bytes, values),
                false => bitpack::skip_block(bytes, self.n_rows()),
            };
            // Cannot happen: blocks are made here, or validated when received.
            let Some(rest) = rest else {
                return Bytes::Own(pack(&vec![Access::default(); self.n_rows()]).into());
            };
            if is_changed {
                remap.apply(lane, values);
                bitpack::write_block(values, &mut out);
            } else {
                out.extend_from_slice(&bytes[..bytes.len() - rest.len()]);
            }
            bytes = rest;
        }
        Bytes::Own(out.into())
    }
}

/// Pending change of the rows of an appended table. Joining tables is nearly free, since the change is applied on reading.
#[derive(PartialEq, Debug)]
pub struct Remap {
    /// Offset added to positions.
    pub n_before: u64,
    /// New id of each text of the appended table; `None` if unchanged.
    pub texts: Option<Vec<StringId>>,
}

impl Remap {
    /// Applies the change to a lane.
    pub fn apply(&self, lane: usize, values: &mut [i64]) {
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

/// Unpacks `n` rows into `values`, lane by lane. False if `bytes` are invalid.
pub fn unpack(mut bytes: &[u8], n: usize, remap: Option<&Remap>, values: &mut Vec<i64>) -> bool {
    values.clear();
    values.resize(n * LANES, 0);
    for (number, lane) in values.chunks_mut(n.max(1)).enumerate() {
        let Some(rest) = bitpack::read_block(bytes, lane) else { return false };
        if let Some(remap) = remap {
            remap.apply(number, lane);
        }
        bytes = rest;
    }
    bytes.is_empty()
}

/// Unpacks the lanes of a block that `wanted` has a bit for; the others stay as they are. False if the block is invalid.
pub fn unpack_lanes(block: &Block, wanted: u32, lanes: &mut [[i64; BLOCK_ROWS]; LANES]) -> bool {
    let (mut bytes, n_rows): (&[u8], _) = (&block.packed, block.n_rows());
    // Later lanes are not wanted.
    let n_lanes = (u32::BITS - wanted.leading_zeros()) as usize;
    for (number, lane) in lanes.iter_mut().enumerate().take(n_lanes) {
        let lane = &mut lane[..n_rows.min(BLOCK_ROWS)];
        let rest = match wanted >> number & 1 {
            1 => bitpack::read_block(bytes, lane),
            _ => bitpack::skip_block(bytes, n_rows),
        };
        let Some(rest) = rest else { return false };
        if let Some(remap) = block.remap.as_deref().filter(|_| wanted >> number & 1 == 1) {
            remap.apply(number, lane);
        }
        bytes = rest;
    }
    true
}

/// New id of a text.
fn text_of(texts: &[StringId], id: u32) -> StringId {
    texts.get(id as usize).copied().unwrap_or(StringId::NONE)
}

/// A row that is `n_before` rows further on, with mapped text ids.
pub fn remap_row(mut row: Access, n_before: u64, texts: &[StringId]) -> Access {
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

/// Bytes of a block: its own, or part of a received buffer.
#[derive(Clone)]
pub enum Bytes {
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

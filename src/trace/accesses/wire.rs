//! Tables as bytes.

use super::block::{Bytes, unpack};
use super::packing::{BLOCK_ROWS, pack, row_of, times_of};
use super::table::AccessTable;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

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
            blocks: self.blocks.iter().map(|block| (block.n_rows, Whole(block.remapped()))).collect(),
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

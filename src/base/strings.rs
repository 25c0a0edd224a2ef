//! Interned text: each distinct string is stored once, tables hold its number.
//!
//! Takes `&str` or raw bytes, gives [`StringId`]s that stay valid for the life of the table.
//! It never forgets a string and does not count uses.

use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::sync::Arc;

/// Number of a string in a [`StringTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StringId(pub u32);

impl StringId {
    /// The empty string, present in every table.
    pub const EMPTY: StringId = StringId(0);
    /// Stands for "no text given", which is not the same as the empty text.
    pub const NONE: StringId = StringId(u32::MAX);

    /// `None` for [`StringId::NONE`].
    pub fn some(self) -> Option<StringId> {
        (self != StringId::NONE).then_some(self)
    }

    pub fn is_none(self) -> bool {
        self == StringId::NONE
    }
}

/// Size of an arena block. Blocks are never moved, so growing costs no copy of what is there.
const BLOCK_BYTES: usize = 1 << 20;

/// Where a string lies: block, offset, length.
#[derive(Clone, Copy)]
struct Span {
    block: u32,
    start: u32,
    len: u32,
}

/// One arena of UTF-8 text and an open-addressing index over it.
///
/// A clone shares the text: partial reports are made from clones while reading goes on.
#[derive(Clone)]
pub struct StringTable {
    /// Only a block that no clone shares is written to.
    blocks: Vec<Arc<Vec<u8>>>,
    spans: Vec<Span>,
    hashes: Vec<u32>,
    /// Slots hold id + 1; 0 is free. Invariant: a power of two long, at most 3/4 full.
    slots: Vec<u32>,
}

impl Default for StringTable {
    fn default() -> Self {
        let mut table =
            StringTable { blocks: Vec::new(), spans: Vec::new(), hashes: Vec::new(), slots: vec![0; 64] };
        table.intern("");
        table
    }
}

impl StringTable {
    /// The id of `text`, added if new.
    #[inline]
    pub fn intern(&mut self, text: &str) -> StringId {
        let hash = hash_of(text.as_bytes());
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return self.add(text, hash, slot),
                id => {
                    let index = (id - 1) as usize;
                    if self.hashes[index] == hash && self.bytes(index) == text.as_bytes() {
                        return StringId(id - 1);
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The id of `bytes`, bad UTF-8 replaced by U+FFFD.
    #[inline]
    pub fn intern_bytes(&mut self, bytes: &[u8]) -> StringId {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.intern(text),
            Err(_) => self.intern(&String::from_utf8_lossy(bytes)),
        }
    }

    /// The id of `text` if it is there.
    pub fn find(&self, text: &str) -> Option<StringId> {
        let hash = hash_of(text.as_bytes());
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return None,
                id => {
                    let index = (id - 1) as usize;
                    if self.hashes[index] == hash && self.bytes(index) == text.as_bytes() {
                        return Some(StringId(id - 1));
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The text of `id`; [`StringId::NONE`] reads as the empty string.
    #[inline]
    pub fn get(&self, id: StringId) -> &str {
        if id.is_none() {
            return "";
        }
        // Only whole `&str` go in, so this never replaces anything; checking beats an `unsafe` here.
        std::str::from_utf8(self.bytes(id.0 as usize)).unwrap_or("\u{fffd}")
    }

    /// Whether the text of `id` is exactly `bytes`; cheaper than getting it. Never for [`StringId::NONE`].
    #[inline]
    pub fn is(&self, id: StringId, bytes: &[u8]) -> bool {
        self.spans
            .get(id.0 as usize)
            .is_some_and(|span| span.len as usize == bytes.len() && self.bytes(id.0 as usize) == bytes)
    }

    /// `None` for [`StringId::NONE`].
    pub fn get_opt(&self, id: StringId) -> Option<&str> {
        id.some().map(|id| self.get(id))
    }

    /// Number of distinct strings.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Always false: the empty string is always there.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Bytes of text held.
    pub fn n_bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.len()).sum()
    }

    #[inline]
    fn bytes(&self, index: usize) -> &[u8] {
        let Span { block, start, len } = self.spans[index];
        &self.blocks[block as usize][start as usize..start as usize + len as usize]
    }

    fn add(&mut self, text: &str, hash: u32, slot: usize) -> StringId {
        let (block, start) = self.append(text.as_bytes());
        let id = self.spans.len() as u32;
        self.spans.push(Span { block, start, len: text.len() as u32 });
        self.hashes.push(hash);
        self.slots[slot] = id + 1;
        if self.spans.len() * 4 > self.slots.len() * 3 {
            self.grow();
        }
        StringId(id)
    }

    /// Block and offset of the copied bytes.
    fn append(&mut self, bytes: &[u8]) -> (u32, u32) {
        let last = self.blocks.len().wrapping_sub(1) as u32;
        if let Some(block) = self.blocks.last_mut().and_then(Arc::get_mut)
            && block.capacity() - block.len() >= bytes.len()
        {
            let start = block.len() as u32;
            block.extend_from_slice(bytes);
            return (last, start);
        }
        let mut block = Vec::with_capacity(bytes.len().max(BLOCK_BYTES));
        block.extend_from_slice(bytes);
        self.blocks.push(Arc::new(block));
        (last.wrapping_add(1), 0)
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let mut slots = vec![0; mask + 1];
        for (index, hash) in self.hashes.iter().enumerate() {
            let mut slot = *hash as usize & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = index as u32 + 1;
        }
        self.slots = slots;
    }
}

#[inline]
fn hash_of(bytes: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    let hash = hasher.finish();
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_text_same_id() {
        let mut table = StringTable::default();
        let ids: Vec<StringId> = (0..10_000).map(|i| table.intern(&format!("name {i}"))).collect();
        for (i, id) in ids.iter().enumerate() {
            assert_eq!(table.get(*id), format!("name {i}"));
            assert_eq!(table.intern(&format!("name {i}")), *id);
        }
        assert_eq!(table.intern(""), StringId::EMPTY);
        assert_eq!(table.find("nothing"), None);
        assert_eq!(table.get(StringId::NONE), "");
    }

    #[test]
    fn bad_utf8_is_replaced() {
        let mut table = StringTable::default();
        let id = table.intern_bytes(b"a\xffb");
        assert_eq!(table.get(id), "a\u{fffd}b");
    }
}

//! Interned strings: each distinct text is stored once, and tables store its id.
//!
//! Takes `&str` or raw bytes and returns [`StringId`]s that are valid for the life of the table. Strings are never dropped,
//! and uses are not counted.

use super::hash::{HashMap, Secret};
use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Id of a string in a [`StringTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct StringId(pub u32);

impl StringId {
    /// The empty string, present in every table.
    pub const EMPTY: StringId = StringId(0);
    /// No text, which differs from the empty text.
    pub const NONE: StringId = StringId(u32::MAX);

    /// `None` for [`StringId::NONE`].
    pub fn some(self) -> Option<StringId> {
        (self != StringId::NONE).then_some(self)
    }

    pub fn is_none(self) -> bool {
        self == StringId::NONE
    }
}

/// Size of an arena block. Blocks never move, so growing copies nothing.
const BLOCK_BYTES: usize = 1 << 20;

/// Block, offset and length of a string.
#[derive(Clone, Copy)]
struct Span {
    block: u32,
    start: u32,
    len: u32,
}

/// Length up to which strings are compared within the index.
const SHORT: usize = 16;

/// Slot of the string index. A short string needs only one memory access: with many strings, waiting for memory is the entire
/// cost of a lookup.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// Text if it is short, zero-padded. Longer texts are compared in the arena.
    short: [u64; 2],
    /// Id + 1; 0 is free.
    id: u32,
    /// See [`StringTable::hash_of`].
    hash: u32,
}

/// Arena of UTF-8 text with an open-addressing index.
///
/// Clones share the text: partial reports are made from clones while reading continues.
#[derive(Clone)]
pub struct StringTable {
    /// Only blocks not shared with a clone are written to.
    blocks: Vec<Arc<Vec<u8>>>,
    spans: Vec<Span>,
    /// Invariant: the length is a power of two, at most 3/4 full.
    slots: Vec<Slot>,
    /// Texts come from files, which must not be able to choose colliding ones.
    secret: Secret,
}

impl Default for StringTable {
    fn default() -> Self {
        let mut table = StringTable {
            blocks: Vec::new(),
            spans: Vec::new(),
            slots: vec![Slot::default(); 64],
            secret: Secret::default(),
        };
        table.intern("");
        table
    }
}

impl StringTable {
    /// Id of `text`, added if new.
    #[inline]
    pub fn intern(&mut self, text: &str) -> StringId {
        let hash = self.hash_of(text.as_bytes());
        match self.probe(text.as_bytes(), hash) {
            Ok(id) => id,
            Err(slot) => self.add(text, hash, slot),
        }
    }

    /// Hash with the length of the text in its lowest bits.
    #[inline]
    fn hash_of(&self, bytes: &[u8]) -> u32 {
        let len = bytes.len().min(SHORT + 1) as u32;
        self.secret.hash_bytes(bytes) as u32 & !LEN_BITS | len
    }

    /// Id of the text, or the free slot for it.
    #[inline]
    fn probe(&self, text: &[u8], hash: u32) -> Result<StringId, usize> {
        let mask = self.slots.len() - 1;
        let mut at = place_of(hash) & mask;
        let short = short_text(text);
        loop {
            let slot = &self.slots[at];
            if slot.id == 0 {
                return Err(at);
            }
            // Equal hashes imply equal lengths if the text is short.
            if slot.hash == hash {
                let id = slot.id - 1;
                let same = match short {
                    Some(short) => slot.short == short,
                    None => same_bytes(self.bytes(id as usize), text),
                };
                if same {
                    return Ok(StringId(id));
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// Id of `bytes`, with bad UTF-8 replaced by U+FFFD.
    #[inline]
    pub fn intern_bytes(&mut self, bytes: &[u8]) -> StringId {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.intern(text),
            Err(_) => self.intern(&String::from_utf8_lossy(bytes)),
        }
    }

    /// Id of `text` if present.
    pub fn find(&self, text: &str) -> Option<StringId> {
        self.probe(text.as_bytes(), self.hash_of(text.as_bytes())).ok()
    }

    /// Text of `id`; empty for [`StringId::NONE`].
    #[inline]
    pub fn get(&self, id: StringId) -> &str {
        if id.is_none() {
            return "";
        }
        // Only whole `&str` are added, so this never replaces anything; checking avoids an `unsafe`.
        std::str::from_utf8(self.bytes(id.0 as usize)).unwrap_or("\u{fffd}")
    }

    /// Whether the text of `id` equals `bytes`; cheaper than getting it. False for [`StringId::NONE`].
    #[inline]
    pub fn is(&self, id: StringId, bytes: &[u8]) -> bool {
        self.spans.get(id.0 as usize).is_some_and(|_| same_bytes(self.bytes(id.0 as usize), bytes))
    }

    /// `None` for [`StringId::NONE`].
    pub fn get_opt(&self, id: StringId) -> Option<&str> {
        id.some().map(|id| self.get(id))
    }

    /// All strings in order of id.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        (0..self.spans.len() as u32).map(|id| self.get(StringId(id)))
    }

    /// Replaces the texts of some ids. None of the new texts may be present already, or one text would have two ids. The old
    /// texts are freed.
    pub fn replace(&mut self, others: &[(StringId, String)]) {
        let others: HashMap<StringId, &str> = others.iter().map(|(id, text)| (*id, text.as_str())).collect();
        let mut table = StringTable::default();
        for id in 1..self.len() as u32 {
            let text = others.get(&StringId(id)).copied().unwrap_or_else(|| self.get(StringId(id)));
            let mut text = Cow::Borrowed(text);
            let (hash, slot) = loop {
                let hash = table.hash_of(text.as_bytes());
                match table.probe(text.as_bytes(), hash) {
                    Err(slot) => break (hash, slot),
                    // Ids must not change.
                    Ok(_) => text.to_mut().push(' '),
                }
            };
            table.add(&text, hash, slot);
        }
        *self = table;
    }

    /// Number of distinct strings.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Always false: the empty string is always there.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Bytes of text stored.
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
        let short = short_text(text.as_bytes()).unwrap_or_default();
        self.slots[slot] = Slot { id: id + 1, hash, short };
        if self.spans.len() * 4 > self.slots.len() * 3 {
            self.grow();
        }
        StringId(id)
    }

    /// Copies bytes to the arena; returns their block and offset.
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
        let mut slots = vec![Slot::default(); mask + 1];
        for found in self.slots.iter().filter(|found| found.id != 0) {
            let mut at = place_of(found.hash) & mask;
            while slots[at].id != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = *found;
        }
        self.slots = slots;
    }
}

/// Short text as two words, zero-padded; `None` if it is longer.
#[inline]
fn short_text(text: &[u8]) -> Option<[u64; 2]> {
    if text.len() > SHORT {
        return None;
    }
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    Some(match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        // The last eight bytes, without those among the first.
        (Some(first), Some(last)) => match text.len() {
            8 => [word(first), 0],
            len => [word(first), word(last) >> (8 * (SHORT - len))],
        },
        _ => [text.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0],
    })
}

/// Slots of [`RecentStrings`]; a power of two.
const RECENT_SLOTS: usize = 2048;

/// Cache in front of a [`StringTable`], for columns with few distinct texts.
///
/// It belongs to one table, whose ids it stores.
#[derive(Clone)]
pub struct RecentStrings {
    slots: Vec<StringId>,
}

impl Default for RecentStrings {
    fn default() -> Self {
        RecentStrings { slots: vec![StringId::NONE; RECENT_SLOTS] }
    }
}

impl RecentStrings {
    /// Id of `text`, added if new.
    #[inline]
    pub fn intern(&mut self, text: &str, strings: &mut StringTable) -> StringId {
        let slot = &mut self.slots[recent_slot(text.as_bytes())];
        if !strings.is(*slot, text.as_bytes()) {
            *slot = strings.intern(text);
        }
        *slot
    }

    /// Id of raw bytes; `None` if they are not UTF-8. Cached bytes were checked when they came first.
    #[inline]
    pub fn intern_bytes(&mut self, bytes: &[u8], strings: &mut StringTable) -> Option<StringId> {
        let slot = &mut self.slots[recent_slot(bytes)];
        if !strings.is(*slot, bytes) {
            *slot = strings.intern(std::str::from_utf8(bytes).ok()?);
        }
        Some(*slot)
    }
}

/// Cheap hash of the length and both ends, which differ most.
#[inline]
fn recent_slot(bytes: &[u8]) -> usize {
    let (head, tail) = match bytes {
        [a, .., b] if bytes.len() < 8 => (u64::from(*a), u64::from(*b)),
        [a] => (u64::from(*a), 0),
        _ => (
            bytes.first_chunk::<8>().map_or(0, |head| u64::from_le_bytes(*head)),
            bytes.last_chunk::<8>().map_or(0, |tail| u64::from_le_bytes(*tail)),
        ),
    };
    let mixed =
        (head.rotate_left(25) ^ tail).wrapping_add(bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as usize & (RECENT_SLOTS - 1)
}

/// `a == b` by words: names are short, and the comparison built into wasm goes byte by byte.
#[inline]
pub fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match (a.first_chunk::<8>(), b.first_chunk::<8>(), a.last_chunk::<8>(), b.last_chunk::<8>()) {
        (Some(a_first), Some(b_first), Some(a_last), Some(b_last)) => {
            // The last word overlaps the one before it.
            a_first == b_first
                && a_last == b_last
                && a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0).all(|(a, b)| a == b)
        }
        _ => a.iter().zip(b).all(|(a, b)| a == b),
    }
}

/// Bits of a hash for the length of a text; [`SHORT`] + 1 stands for all longer ones.
const LEN_BITS: u32 = 31;

/// First slot to check for a hash.
#[inline]
fn place_of(hash: u32) -> usize {
    (hash / (LEN_BITS + 1)) as usize
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
    fn texts_of_all_lengths_are_told_apart() {
        let mut table = StringTable::default();
        let long = "abcdefghijklmnopqrstuvwxyz";
        let mut texts: Vec<&str> = (1..=long.len()).map(|len| &long[..len]).collect();
        texts.extend((1..long.len()).map(|start| &long[start..]));
        texts.extend(["\0", "\0\0", "a\0", "abcdefgh\0", "abcdefgh\0\0"]);
        let ids: Vec<StringId> = texts.iter().map(|text| table.intern(text)).collect();
        for (i, (text, id)) in texts.iter().zip(&ids).enumerate() {
            assert_eq!(table.get(*id), *text);
            assert_eq!(table.find(text), Some(*id));
            assert!(ids[..i].iter().all(|other| other != id), "{text}");
        }
    }

    #[test]
    fn bad_utf8_is_replaced() {
        let mut table = StringTable::default();
        let id = table.intern_bytes(b"a\xffb");
        assert_eq!(table.get(id), "a\u{fffd}b");
    }
}

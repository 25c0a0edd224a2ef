//! JSON objects in a fraction of their size.
//!
//! Arguments of events repeat: the same keys, and values that are small numbers or one of a few texts. So an object is stored as
//! the number of its shape and the values of its slots. What comes out is what went in, byte by byte.
//!
//! ```text
//! {"device":0,"grid":[8, 1, 1],"name":"gemm"}    shape: {"device":#,"grid":[#, #, #],"name":"@"}
//!                                                slots: 0, 8, 1, 1, number of "gemm"
//! ```

use crate::base::protobuf::{push_varint, varint};
use crate::base::strings::{StringId, StringTable};
use memchr::memchr2;
use std::io::Write;
use std::sync::Arc;

/// Slot of an integer: a varint of its zigzag form.
const INTEGER: u8 = 1;
/// Slot of a text without its quotes: a varint of its number in [`PackedObjects::texts`].
const TEXT: u8 = 2;
/// Slot of anything else: a varint of its length, then its bytes.
const PLAIN: u8 = 3;

/// Longer objects are not packed.
const MAX_BYTES: usize = 1 << 16;
const BLOCK_BYTES: usize = 1 << 18;
/// Most objects that are looked through to find one.
const GROUP: usize = 16;
/// Most shapes and texts that are numbered; others are stored as they are.
const MAX_SHAPES: usize = 1 << 12;
const MAX_TEXTS: usize = 1 << 16;
/// Longest text that is numbered.
const MAX_TEXT_BYTES: usize = 256;

/// Raw JSON objects in ascending order of their offsets in the content.
///
/// Each is four varints, which are the distance to the offset before it in its group, the number of its shape, the length of its
/// slots, and the slots. Shape 0 is none: what follows is the object itself.
///
/// Clones share the objects: partial reports are made from clones while reading continues.
#[derive(Clone, Default)]
pub struct PackedObjects {
    shapes: StringTable,
    texts: StringTable,
    /// Only blocks not shared with a clone are written to.
    blocks: Vec<Arc<Vec<u8>>>,
    groups: Groups,
    /// Objects in the last group.
    n_in_last: usize,
    /// Offset of the last object.
    last: u64,
    n_bytes: usize,
    shape: Vec<u8>,
    slots: Vec<u8>,
    /// Shape of the last object: that of the next one, mostly.
    last_shape: Option<StringId>,
}

/// Objects that follow each other in a block, by group.
#[derive(Clone, Default)]
pub struct Groups {
    /// Offset of the first object in the content.
    pub offset: Vec<u64>,
    pub block: Vec<u32>,
    /// Where the first object is in the block.
    pub start: Vec<u32>,
}

impl PackedObjects {
    /// Adds the object `raw` at `offset`. False if it is too long, or comes before others.
    pub fn push(&mut self, offset: u64, raw: &[u8]) -> bool {
        let is_first = self.groups.offset.is_empty();
        if raw.len() > MAX_BYTES || (!is_first && offset <= self.last) {
            return false;
        }
        let shape = self.split(raw);
        if shape == StringId::EMPTY {
            self.slots.clear();
            self.slots.extend_from_slice(raw);
        }
        let block = self.block_for(self.slots.len() + 32);
        if is_first || self.n_in_last == GROUP || self.groups.block.last() != Some(&block) {
            self.groups.offset.push(offset);
            self.groups.block.push(block);
            self.groups.start.push(self.blocks[block as usize].len() as u32);
            self.n_in_last = 0;
            self.last = offset;
        }
        if let Some(bytes) = Arc::get_mut(&mut self.blocks[block as usize]) {
            let n_before = bytes.len();
            push_varint(offset - self.last, bytes);
            push_varint(u64::from(shape.0), bytes);
            push_varint(self.slots.len() as u64, bytes);
            bytes.extend_from_slice(&self.slots);
            self.n_bytes += bytes.len() - n_before;
        }
        self.last = offset;
        self.n_in_last += 1;
        true
    }

    /// A block with room for `n_bytes`.
    fn block_for(&mut self, n_bytes: usize) -> u32 {
        let last = self.blocks.last_mut().and_then(Arc::get_mut);
        if last.is_none_or(|block| block.capacity() - block.len() < n_bytes) {
            self.blocks.push(Arc::new(Vec::with_capacity(n_bytes.max(BLOCK_BYTES))));
        }
        self.blocks.len() as u32 - 1
    }

    /// Divides an object into its shape and slots; [`StringId::EMPTY`] if it has none.
    fn split(&mut self, raw: &[u8]) -> StringId {
        let (shape, slots) = (&mut self.shape, &mut self.slots);
        shape.clear();
        slots.clear();
        let mut at = 0;
        while let Some(byte) = raw.get(at) {
            at = match byte {
                b'"' => {
                    let Some(end) = end_of_text(raw, at + 1) else { return StringId::EMPTY };
                    let text = &raw[at + 1..end];
                    shape.push(b'"');
                    let is_key = raw[end + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
                    if is_key == Some(&b':') {
                        if text.iter().any(|byte| *byte <= PLAIN) {
                            return StringId::EMPTY;
                        }
                        shape.extend_from_slice(text);
                    } else {
                        shape.push(push_text(text, &mut self.texts, slots));
                    }
                    shape.push(b'"');
                    end + 1
                }
                b'-' | b'0'..=b'9' => {
                    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E');
                    let len = raw[at..].iter().take_while(|byte| is_part(byte)).count();
                    let number = &raw[at..at + len];
                    shape.push(match integer(number) {
                        Some(value) => {
                            push_varint((value << 1 ^ value >> 63) as u64, slots);
                            INTEGER
                        }
                        None => push_plain(number, slots),
                    });
                    at + len
                }
                0..=PLAIN => return StringId::EMPTY,
                byte => {
                    shape.push(*byte);
                    at + 1
                }
            };
        }
        if let Some(last) = self.last_shape.filter(|last| self.shapes.is(*last, shape)) {
            return last;
        }
        let id = match std::str::from_utf8(shape) {
            Ok(shape) if self.shapes.len() < MAX_SHAPES => self.shapes.intern(shape),
            Ok(shape) => self.shapes.find(shape).unwrap_or(StringId::EMPTY),
            Err(_) => StringId::EMPTY,
        };
        self.last_shape = Some(id);
        id
    }

    /// The object at `offset`.
    pub fn get(&self, offset: u64) -> Option<Vec<u8>> {
        let group = self.groups.offset.partition_point(|first| *first <= offset).checked_sub(1)?;
        let (_, shape, slots) = self.objects(group).find(|(own, ..)| *own == offset)?;
        self.joined(shape, slots)
    }

    /// Whether there is an object at `offset`.
    pub fn contains(&self, offset: u64) -> bool {
        let group = self.groups.offset.partition_point(|first| *first <= offset).checked_sub(1);
        group.is_some_and(|group| self.objects(group).any(|(own, ..)| own == offset))
    }

    /// All objects with their offsets, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        (0..self.groups.offset.len())
            .flat_map(|group| self.objects(group))
            .filter_map(|(offset, shape, slots)| Some((offset, self.joined(shape, slots)?)))
    }

    /// Shapes and texts.
    pub fn dictionaries(&self) -> [&StringTable; 2] {
        [&self.shapes, &self.texts]
    }

    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    pub fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        self.blocks.iter().map(|block| block.as_slice())
    }

    /// What was once packed; `None` if its groups are none. Damaged objects are not found later.
    pub fn of(
        [shapes, texts]: [StringTable; 2],
        groups: Groups,
        blocks: Vec<Vec<u8>>,
    ) -> Option<PackedObjects> {
        let Groups { offset, block, start } = &groups;
        if block.len() != offset.len() || start.len() != offset.len() || !offset.is_sorted() {
            return None;
        }
        let n_bytes = blocks.iter().map(Vec::len).sum();
        let blocks = blocks.into_iter().map(Arc::new).collect();
        let n_in_last = GROUP;
        let mut packed =
            PackedObjects { shapes, texts, blocks, groups, n_in_last, n_bytes, ..PackedObjects::default() };
        let last = packed.groups.offset.len().checked_sub(1);
        packed.last = last.and_then(|last| packed.objects(last).last()).map_or(0, |(offset, ..)| offset);
        Some(packed)
    }

    /// Bytes in memory, without shapes and texts.
    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Offset, shape and slots of the objects of a group.
    fn objects(&self, group: usize) -> impl Iterator<Item = (u64, StringId, &[u8])> {
        let Groups { offset, block, start } = &self.groups;
        let (block, start) = (block[group], start[group] as usize);
        let is_next_here = self.groups.block.get(group + 1) == Some(&block);
        let end = self.groups.start.get(group + 1).filter(|_| is_next_here).map(|end| *end as usize);
        let bytes = self.blocks.get(block as usize).map_or(&[][..], |bytes| bytes);
        let bytes = bytes.get(start..end.unwrap_or(bytes.len())).unwrap_or_default();
        let (mut offset, mut at) = (offset[group], 0);
        std::iter::from_fn(move || {
            offset = offset.checked_add(varint(bytes, &mut at)?)?;
            let shape = StringId(u32::try_from(varint(bytes, &mut at)?).ok()?);
            Some((offset, shape, take(bytes, &mut at)?))
        })
    }

    /// The object of a shape and its slots.
    fn joined(&self, shape: StringId, slots: &[u8]) -> Option<Vec<u8>> {
        if shape == StringId::EMPTY {
            return Some(slots.to_vec());
        }
        let shape = self.shapes.get_opt(shape)?.as_bytes();
        let mut raw = Vec::with_capacity(2 * shape.len());
        let (mut from, mut at) = (0, 0);
        for (to, slot) in shape.iter().enumerate().filter(|(_, byte)| **byte <= PLAIN) {
            raw.extend_from_slice(&shape[from..to]);
            from = to + 1;
            match *slot {
                INTEGER => {
                    let value = varint(slots, &mut at)?;
                    let value = (value >> 1) as i64 ^ -((value & 1) as i64);
                    // Writing to memory cannot fail.
                    let _ = write!(raw, "{value}");
                }
                TEXT => {
                    let text = StringId(u32::try_from(varint(slots, &mut at)?).ok()?);
                    raw.extend_from_slice(self.texts.get_opt(text)?.as_bytes());
                }
                _ => raw.extend_from_slice(take(slots, &mut at)?),
            }
        }
        raw.extend_from_slice(&shape[from..]);
        Some(raw)
    }
}

/// Bytes with their length before them.
fn take<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let len = usize::try_from(varint(bytes, at)?).ok()?;
    let taken = bytes.get(*at..)?.get(..len)?;
    *at += len;
    Some(taken)
}

/// Index of the quote that ends a text from `at` on.
fn end_of_text(raw: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let found = at + memchr2(b'"', b'\\', raw.get(at..)?)?;
        if raw[found] == b'"' {
            return Some(found);
        }
        at = found + 2;
    }
}

/// Adds a text as a slot; returns the kind of the slot.
fn push_text(text: &[u8], texts: &mut StringTable, slots: &mut Vec<u8>) -> u8 {
    let id = std::str::from_utf8(text).ok().filter(|text| text.len() <= MAX_TEXT_BYTES);
    let id = id.and_then(|text| match texts.len() < MAX_TEXTS {
        true => Some(texts.intern(text)),
        false => texts.find(text),
    });
    match id {
        Some(id) => {
            push_varint(u64::from(id.0), slots);
            TEXT
        }
        None => push_plain(text, slots),
    }
}

fn push_plain(bytes: &[u8], slots: &mut Vec<u8>) -> u8 {
    push_varint(bytes.len() as u64, slots);
    slots.extend_from_slice(bytes);
    PLAIN
}

/// The integer of digits as they would be written again.
fn integer(digits: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match digits {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    // 18 digits fit.
    if digits.is_empty() || digits.len() > 18 || (digits[0] == b'0' && (is_negative || digits.len() > 1)) {
        return None;
    }
    let mut value = 0;
    for digit in digits {
        value = value * 10 + i64::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    Some(if is_negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(objects: &[(u64, Vec<u8>)]) {
        let mut packed = PackedObjects::default();
        let mut kept = Vec::new();
        for (at, (offset, raw)) in objects.iter().enumerate() {
            if packed.push(*offset, raw) {
                kept.push((*offset, raw.clone()));
            }
            // A clone from while it grew.
            if at == objects.len() / 2 {
                let clone = packed.clone();
                assert!(clone.iter().eq(kept.iter().cloned()));
            }
        }
        assert!(packed.iter().eq(kept.iter().cloned()));
        for (offset, raw) in &kept {
            assert_eq!(packed.get(*offset).as_ref(), Some(raw), "{}", String::from_utf8_lossy(raw));
            assert!(packed.contains(*offset));
        }
        for gap in kept.windows(2).filter(|pair| pair[1].0 > pair[0].0 + 1) {
            assert!(packed.get(gap[0].0 + 1).is_none() && !packed.contains(gap[0].0 + 1));
        }
    }

    #[test]
    fn objects_come_back_byte_by_byte() {
        let objects = [
            r#"{"device":0,"grid":[8, 1, 1],"name":"gemm"}"#,
            r#"{"device":-1,"grid":[ 128,1,1],"name":"gemm \"x\" \\"}"#,
            r#"{"a" : "b", "": "", "c":[], "d":{}}"#,
            r#"{"n":[00, -0, 0, 1.50, -1e5, 123456789012345678, 1234567890123456789, -99999999999999999999]}"#,
            r#"{"n":1-2,"x":nan,"y":true,"z":null}"#,
            "{\"ctl\":\"a\u{1}b\u{2}\",\"k\u{3}\":1}",
            "{\"open\":\"",
            "{\"open\\",
            "\u{1}",
            "",
        ];
        check(
            &(0u64..).map(|at| at * 7).zip(objects.map(|text| text.as_bytes().to_vec())).collect::<Vec<_>>(),
        );
        check(&[(3, b"{\"bad\":\"\xff\xfe\", \"\xff\":1}".to_vec()), (u64::MAX, b"{}".to_vec())]);
        check(&[(0, vec![b' '; MAX_BYTES + 1]), (1, vec![b'1'; MAX_BYTES])]);
    }

    #[test]
    fn many_texts_and_shapes_are_kept_as_they_are() {
        let of = |i: u64| format!("{{\"key {}\":\"text {i}\",\"n\":{i}}}", i % 6000).into_bytes();
        check(&(0..80_000).map(|i| (i * 3, of(i))).collect::<Vec<_>>());
    }

    #[test]
    fn arguments_of_kernels_take_a_tenth() {
        let mut packed = PackedObjects::default();
        let mut n_bytes = 0;
        for i in 0..10_000u64 {
            let raw = format!(
                "{{\"device\":0,\"context\":1,\"stream\":7,\"correlation\":{},\"grid\":[{}, 1, 1],\"block\":[128, 1, 1],\
                 \"registers per thread\":32,\"shared memory\":0,\"short name\":\"kernel {}\"}}",
                i + 10_000,
                i % 1000,
                i % 50
            );
            n_bytes += raw.len();
            assert!(packed.push(i * 100, raw.as_bytes()));
        }
        assert!(packed.n_bytes() * 8 < n_bytes, "{} of {n_bytes}", packed.n_bytes());
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(
            objects in prop::collection::vec((0..40u64, "[\\[\\]{}\":,0-9eE.\\-\\\\ ab\u{1}\u{3}]{0,40}"), 1..60)
        ) {
            let mut offset = 0;
            let objects: Vec<(u64, Vec<u8>)> = objects
                .into_iter()
                .map(|(step, text)| {
                    offset += step;
                    (offset, text.into_bytes())
                })
                .collect();
            check(&objects);
        }
    }
}

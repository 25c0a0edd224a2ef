//! Arguments of events as raw JSON, decoded on demand.
//!
//! In most traces arguments are most of the bytes, and hardly any are ever looked at. So tables store their places, and they
//! stay in the content if it can be read again ([`Content`]). Only arguments needed for pairing (counter values, process
//! names) are kept in memory, or all of them if the content cannot be read again, because it is compressed or came through a
//! pipe, or because it has other forms than JSON. What is kept is packed: [`packed`].

pub mod packed;

use self::packed::PackedObjects;
use crate::base::secrets::hide_json;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// Place of the arguments of an event in the decompressed content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ArgsPlace {
    /// Offset of the opening bracket.
    pub offset: u64,
    /// Bytes including the closing bracket; 0 if there are no arguments.
    pub len: u32,
}

impl ArgsPlace {
    /// The event has no arguments.
    pub const NONE: ArgsPlace = ArgsPlace { offset: 0, len: 0 };

    pub fn is_none(self) -> bool {
        self.len == 0
    }
}

/// Content with random access.
pub trait Content {
    /// Fills `out` with the bytes from `offset` on. An error if there are not enough, or they cannot be read.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Total bytes of content.
    fn n_bytes(&self) -> u64;
}

/// Content entirely in memory.
impl Content for Vec<u8> {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let part = self.get(start..).and_then(|rest| rest.get(..out.len()));
        out.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn n_bytes(&self) -> u64 {
        self.len() as u64
    }
}

const BLOCK_BYTES: usize = 1 << 22;

/// Maximum size of arguments that are kept because reports need them.
pub const MAX_MARKED_BYTES: usize = 1 << 16;

/// Place of an object that is not packed.
#[derive(Clone, Copy)]
struct Loose {
    block: u32,
    start: u32,
    len: u32,
}

/// Raw JSON objects, from `{` to `}`, with the bytes of the file (so not always valid UTF-8).
///
/// Clones share the text: partial reports are made from clones while reading continues.
#[derive(Clone, Default)]
pub struct ArgsTable {
    packed: PackedObjects,
    /// Objects that are too long to be packed, came out of order, or replace packed ones, by their offset in the content.
    loose: BTreeMap<u64, Loose>,
    /// Text of `loose`. Only blocks not shared with a clone are written to.
    blocks: Vec<Arc<Vec<u8>>>,
    /// Bytes of `loose`.
    n_loose_bytes: usize,
    content: Option<Rc<ReadBack>>,
    /// Arguments that need not be kept are dropped, although this table cannot read them: it is for a part of a file, to be
    /// joined to the rest.
    is_part: bool,
    /// See [`ArgsTable::are_missing`].
    is_missing: bool,
    /// Transformation applied before arguments are returned.
    rewrite: Option<Rewrite>,
    /// Secrets are hidden in what [`ArgsTable::get`] returns; counts them.
    hides: Option<Rc<Cell<u64>>>,
    /// Kept arguments without secrets, computed on demand; `None` if there are no secrets in them.
    kept_without: OnceCell<Option<Rc<ArgsTable>>>,
}

/// Transformation of raw JSON.
pub type Rewrite = Rc<dyn Fn(&[u8]) -> Vec<u8>>;

impl ArgsTable {
    /// Sets the content to read from what is not kept.
    pub fn set_content(&mut self, content: Rc<dyn Content>) {
        self.content = Some(Rc::new(ReadBack::new(content)));
    }

    /// Marks arguments that are not kept as unavailable.
    pub fn set_missing(&mut self) {
        self.is_missing = true;
    }

    /// Whether arguments that are not kept are unavailable: the trace comes from an index, without its file.
    pub fn are_missing(&self) -> bool {
        self.is_missing
    }

    /// Creates a table for a part of a file that can be read again, to be absorbed by the table of the whole.
    pub fn of_part() -> ArgsTable {
        ArgsTable { is_part: true, ..ArgsTable::default() }
    }

    /// Whether all arguments must be kept, since they cannot be read again.
    pub fn keeps_all(&self) -> bool {
        self.content.is_none() && !self.is_part && !self.is_missing
    }

    /// Kept arguments with their offsets in the content, in file order.
    pub fn all_kept(&self) -> impl Iterator<Item = (u64, Cow<'_, [u8]>)> {
        let mut packed = self.packed.iter().filter(|(offset, _)| !self.loose.contains_key(offset)).peekable();
        let mut loose = self.all_loose().peekable();
        std::iter::from_fn(move || {
            let is_loose_next = match (packed.peek(), loose.peek()) {
                (Some((packed, _)), Some((loose, _))) => loose < packed,
                (_, loose) => loose.is_some(),
            };
            match is_loose_next {
                true => loose.next().map(|(offset, raw)| (offset, Cow::Borrowed(raw))),
                false => packed.next().map(|(offset, raw)| (offset, Cow::Owned(raw))),
            }
        })
    }

    /// Kept arguments that are not packed, with their offsets in the content, in file order. They replace packed ones.
    pub fn all_loose(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.loose.iter().map(|(offset, loose)| (*offset, self.text_of(*loose)))
    }

    /// Kept arguments that are packed.
    pub fn packed(&self) -> &PackedObjects {
        &self.packed
    }

    /// Sets the arguments that are packed; nothing may be kept so far.
    pub fn set_packed(&mut self, packed: PackedObjects) {
        self.packed = packed;
    }

    /// Bytes of memory that kept arguments take.
    pub fn n_kept_bytes(&self) -> usize {
        self.packed.n_bytes() + self.n_loose_bytes
    }

    /// Bytes of kept arguments that are not packed.
    pub fn n_loose_bytes(&self) -> usize {
        self.n_loose_bytes
    }

    fn text_of(&self, loose: Loose) -> &[u8] {
        &self.blocks[loose.block as usize][loose.start as usize..loose.start as usize + loose.len as usize]
    }

    /// Keeps the object `raw` that starts at `offset` in the content. Offsets should be (nearly) ascending.
    pub fn keep(&mut self, offset: u64, raw: &[u8]) {
        // Two parts of one event may come in reverse order.
        if !self.packed.push(offset, raw) {
            self.keep_loose(offset, raw);
        }
    }

    /// Keeps the object `raw` as it is, in place of what is kept for `offset`.
    pub fn keep_loose(&mut self, offset: u64, raw: &[u8]) {
        let last = self.blocks.len().wrapping_sub(1) as u32;
        let (block, start) = match self.blocks.last_mut().and_then(Arc::get_mut) {
            Some(block) if block.capacity() - block.len() >= raw.len() => {
                let start = block.len() as u32;
                block.extend_from_slice(raw);
                (last, start)
            }
            _ => {
                let mut block = Vec::with_capacity(raw.len().max(BLOCK_BYTES));
                block.extend_from_slice(raw);
                self.blocks.push(Arc::new(block));
                (last.wrapping_add(1), 0)
            }
        };
        let before = self.loose.insert(offset, Loose { block, start, len: raw.len() as u32 });
        self.n_loose_bytes += raw.len();
        self.n_loose_bytes -= before.map_or(0, |before| before.len as usize);
    }

    /// Replaces a kept object; returns its place with the new length.
    pub fn replace(&mut self, place: ArgsPlace, raw: &[u8]) -> ArgsPlace {
        if !self.is_kept(place) {
            return place;
        }
        self.keep_loose(place.offset, raw);
        ArgsPlace { len: raw.len() as u32, ..place }
    }

    /// Raw JSON object, if kept.
    pub fn kept(&self, place: ArgsPlace) -> Option<Cow<'_, [u8]>> {
        if place.is_none() {
            return None;
        }
        match self.loose.get(&place.offset) {
            Some(loose) => Some(Cow::Borrowed(self.text_of(*loose))),
            None => self.packed.get(place.offset).map(Cow::Owned),
        }
    }

    fn is_kept(&self, place: ArgsPlace) -> bool {
        !place.is_none() && (self.loose.contains_key(&place.offset) || self.packed.contains(place.offset))
    }

    /// Raw JSON object, read from the content if needed. `None` for [`ArgsPlace::NONE`], and if it cannot be read any more;
    /// [`ArgsTable::take_problem`] then has the reason, and nothing more is read until it is called.
    pub fn get(&self, place: ArgsPlace) -> Option<Cow<'_, [u8]>> {
        if place.is_none() {
            return None;
        }
        let raw = match self.kept(place) {
            Some(raw) => raw,
            None => Cow::Owned(self.content.as_ref()?.read(place)?),
        };
        let raw = match &self.hides {
            Some(n_hidden) => match hide_json(&raw) {
                Some((without, n)) => {
                    n_hidden.set(n_hidden.get() + n);
                    Cow::Owned(without)
                }
                None => raw,
            },
            None => raw,
        };
        Some(match &self.rewrite {
            Some(rewrite) => Cow::Owned(rewrite(&raw)),
            None => raw,
        })
    }

    /// Sets whether passwords, tokens and keys in arguments are hidden.
    pub fn hide_secrets(&mut self, are_hidden: bool) {
        self.hides = are_hidden.then(Rc::default);
        self.kept_without = OnceCell::new();
    }

    /// Number of secrets hidden since the last call.
    pub fn take_n_hidden(&self) -> u64 {
        self.hides.as_ref().map_or(0, |n_hidden| n_hidden.take())
    }

    /// Does something without counting the secrets hidden in what it reads, since none of that is written anywhere.
    pub fn without_counting<T>(&self, act: impl FnOnce() -> T) -> T {
        let n_hidden = self.hides.as_ref().map(|n_hidden| (n_hidden, n_hidden.get()));
        let result = act();
        if let Some((hides, n_hidden)) = n_hidden {
            hides.set(n_hidden);
        }
        result
    }

    /// Kept arguments for export: without secrets if those are hidden.
    pub fn outgoing(&self) -> &ArgsTable {
        if self.hides.is_none() {
            return self;
        }
        let without = self.kept_without.get_or_init(|| {
            if !self.all_kept().any(|(_, raw)| hide_json(&raw).is_some()) {
                return None;
            }
            let mut table = ArgsTable::default();
            for (offset, raw) in self.all_kept() {
                match hide_json(&raw) {
                    Some((without, _)) => table.keep(offset, &without),
                    None => table.keep(offset, &raw),
                }
            }
            Some(Rc::new(table))
        });
        without.as_deref().unwrap_or(self)
    }

    /// Like [`ArgsTable::get`], for arguments that the reader keeps if a report needs them (see [`MAX_MARKED_BYTES`]): if they
    /// are not kept, they do not contain what is needed.
    pub fn get_marked(&self, place: ArgsPlace) -> Option<Cow<'_, [u8]>> {
        let may_be_elsewhere = place.len as usize > MAX_MARKED_BYTES;
        (may_be_elsewhere || self.is_kept(place)).then(|| self.get(place))?
    }

    /// Makes [`ArgsTable::get`] return `rewrite` of the arguments.
    pub fn rewrite_with(&mut self, rewrite: Rewrite) {
        self.rewrite = Some(rewrite);
    }

    /// Reason why arguments could not be read, if that happened since the last call.
    pub fn take_problem(&self) -> Option<String> {
        self.content.as_ref()?.problem.borrow_mut().take()
    }

    /// Whether arguments could not be read.
    pub fn has_problem(&self) -> bool {
        self.content.as_ref().is_some_and(|content| content.problem.borrow().is_some())
    }
}

/// Bytes read at a place without cached neighbors; cached parts start at multiples of it.
const SMALL_READ: u64 = 64 << 10;
/// Bytes read if the part before it is cached.
const LONG_READ: u64 = 1 << 20;
/// Number of cached parts. Exports read several places of a file at once, each moving forward.
const MAX_PARTS: usize = 24;

/// Cached part of the content.
struct Part {
    start: u64,
    bytes: Vec<u8>,
}

impl Part {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

/// Cache in front of the content.
struct ReadBack {
    content: Rc<dyn Content>,
    /// Most recently used last.
    parts: RefCell<Vec<Part>>,
    problem: RefCell<Option<String>>,
}

impl ReadBack {
    fn new(content: Rc<dyn Content>) -> ReadBack {
        ReadBack { content, parts: RefCell::default(), problem: RefCell::default() }
    }

    fn read(&self, place: ArgsPlace) -> Option<Vec<u8>> {
        // One failure is enough: trying each event of a missing file takes minutes in a browser.
        if self.problem.borrow().is_some() {
            return None;
        }
        let problem = match self.try_read(place) {
            // A rewritten file has something else there.
            Ok(raw) if matches!((raw.first(), raw.last()), (Some(b'{' | b'['), Some(b'}' | b']'))) => {
                return Some(raw);
            }
            Ok(_) => CHANGED.to_string(),
            Err(error) => error.to_string(),
        };
        self.problem.borrow_mut().get_or_insert(problem);
        None
    }

    fn try_read(&self, place: ArgsPlace) -> io::Result<Vec<u8>> {
        let end = place.offset + u64::from(place.len);
        if end > self.content.n_bytes() {
            return Err(io::Error::other(CHANGED));
        }
        if u64::from(place.len) > LONG_READ {
            let mut raw = vec![0; place.len as usize];
            self.content.read_at(place.offset, &mut raw)?;
            return Ok(raw);
        }
        let mut raw = Vec::with_capacity(place.len as usize);
        let mut at = place.offset;
        while at < end {
            let mut parts = self.parts.borrow_mut();
            let part = match parts.iter().rposition(|part| (part.start..part.end()).contains(&at)) {
                Some(found) => parts.remove(found),
                None => self.read_part(at, &mut parts)?,
            };
            let bytes = part.bytes.get((at - part.start) as usize..).unwrap_or_default();
            let bytes = &bytes[..bytes.len().min((end - at) as usize)];
            if bytes.is_empty() {
                return Err(io::Error::other(CHANGED));
            }
            raw.extend_from_slice(bytes);
            at += bytes.len() as u64;
            parts.push(part);
        }
        Ok(raw)
    }

    /// Reads the part around `at`, which is in none of `parts`.
    fn read_part(&self, at: u64, parts: &mut Vec<Part>) -> io::Result<Part> {
        let start = at / SMALL_READ * SMALL_READ;
        let goes_on = parts.iter().any(|part| part.end() == start);
        let len = if goes_on { LONG_READ } else { SMALL_READ };
        let len = len.min(self.content.n_bytes().saturating_sub(start));
        let mut bytes = if parts.len() < MAX_PARTS { Vec::new() } else { parts.remove(0).bytes };
        bytes.resize(len as usize, 0);
        self.content.read_at(start, &mut bytes)?;
        Ok(Part { start, bytes })
    }
}

/// Error text for content that was modified.
pub const CHANGED: &str = "the file has changed since it was read";

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Objects of many sizes, also across pages and longer than one, and their places.
    fn objects() -> (Vec<u8>, Vec<ArgsPlace>) {
        let mut bytes = Vec::new();
        let mut places = Vec::new();
        for i in 0..400usize {
            bytes.extend_from_slice(b", ");
            let offset = bytes.len() as u64;
            let len = if i == 200 { 3 << 20 } else { i * 97 % 50_000 };
            bytes.extend_from_slice(format!("{{\"{i}\":\"{}\"}}", "x".repeat(len)).as_bytes());
            places.push(ArgsPlace { offset, len: (bytes.len() as u64 - offset) as u32 });
        }
        (bytes, places)
    }

    #[test]
    fn what_is_not_kept_is_read_again() {
        let (bytes, places) = objects();
        let mut table = ArgsTable::default();
        table.set_content(Rc::new(bytes.clone()));
        let of = |place: &ArgsPlace| &bytes[place.offset as usize..][..place.len as usize];
        table.keep(places[7].offset, of(&places[7]));
        // Forward, and from both ends at once.
        let mixed = places.iter().zip(places.iter().rev()).flat_map(|(a, b)| [a, b]);
        for place in places.iter().chain(mixed) {
            assert_eq!(table.get(*place).as_deref(), Some(of(place)));
        }
        assert_eq!(table.kept(places[7]).as_deref(), Some(of(&places[7])));
        assert_eq!(table.get(ArgsPlace::NONE), None);
        assert_eq!(table.take_problem(), None);
    }

    #[test]
    fn kept_objects_come_in_file_order_however_they_came() {
        let mut table = ArgsTable::default();
        let long = format!("{{\"long\":\"{}\"}}", "x".repeat(1 << 17));
        for (offset, raw) in [(10, "{\"a\":1}"), (30, "{\"b\":2}"), (20, "{\"c\":3}"), (40, long.as_str())] {
            table.keep(offset, raw.as_bytes());
        }
        let place = ArgsPlace { offset: 10, len: 7 };
        assert_eq!(table.replace(place, b"{\"a\":100}"), ArgsPlace { offset: 10, len: 9 });
        let missing = ArgsPlace { offset: 11, len: 7 };
        assert_eq!(table.replace(missing, b"{}"), missing);
        let all: Vec<(u64, String)> = table
            .clone()
            .all_kept()
            .map(|(offset, raw)| (offset, String::from_utf8_lossy(&raw).into_owned()))
            .collect();
        let wanted = [(10, "{\"a\":100}"), (20, "{\"c\":3}"), (30, "{\"b\":2}"), (40, &long)];
        assert_eq!(all, wanted.map(|(offset, raw)| (offset, raw.to_string())));
    }

    /// A file deleted after it was read: each read takes time and fails.
    struct Gone(Cell<u32>);

    impl Content for Gone {
        fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
            self.0.set(self.0.get() + 1);
            Err(io::Error::other("it is gone"))
        }

        fn n_bytes(&self) -> u64 {
            u64::MAX
        }
    }

    #[test]
    fn content_that_is_gone_is_tried_once() {
        let (_, places) = objects();
        let gone = Rc::new(Gone(Cell::new(0)));
        let mut table = ArgsTable::default();
        table.set_content(gone.clone());
        for n_tries in 1..3 {
            assert!(places.iter().all(|place| table.get(*place).is_none()));
            assert_eq!(gone.0.get(), n_tries);
            // It may be back at the next call.
            assert_eq!(table.take_problem().as_deref(), Some("it is gone"));
        }
    }

    #[test]
    fn content_that_changed_is_noticed() {
        let (bytes, places) = objects();
        for changed in [bytes[..1000].to_vec(), vec![b' '; bytes.len()], Vec::new()] {
            let mut table = ArgsTable::default();
            table.set_content(Rc::new(changed));
            assert_eq!(table.get(places[399]), None);
            assert!(table.has_problem() && table.take_problem().is_some() && !table.has_problem());
        }
    }
}

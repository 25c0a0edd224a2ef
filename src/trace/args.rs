//! Arguments of events as the raw JSON text they came in, decoded when someone looks.
//!
//! In most traces they are most of the bytes, and hardly any are ever looked at. So tables hold where they are, and
//! where the content can be read again ([`Content`]) they stay in it. Only what pairing itself needs (values of
//! counters, names of processes) is kept here, or everything if the content can not be read again: it was packed, or
//! came through a pipe.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// Where the arguments of an event lie in the decompressed content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ArgsPlace {
    /// First byte, the opening bracket.
    pub offset: u64,
    /// Bytes up to and with the closing bracket; 0 if there are none.
    pub len: u32,
}

impl ArgsPlace {
    /// The event has no arguments.
    pub const NONE: ArgsPlace = ArgsPlace { offset: 0, len: 0 };

    pub fn is_none(self) -> bool {
        self.len == 0
    }
}

/// Content that can be read again at any place.
pub trait Content {
    /// Fills `out` with the bytes from `offset` on. An error if there are not so many, or they can not be read.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Bytes of content in all.
    fn n_bytes(&self) -> u64;
}

const BLOCK_BYTES: usize = 1 << 22;

/// Where a kept object is.
#[derive(Clone, Copy)]
struct Kept {
    /// In the content.
    offset: u64,
    block: u32,
    start: u32,
    len: u32,
}

/// Raw JSON objects, from `{` to `}`, bytes as in the file (so not always valid UTF-8).
///
/// A clone shares the text: partial reports are made from clones while reading goes on.
#[derive(Clone, Default)]
pub struct ArgsTable {
    /// Only a block that no clone shares is written to.
    blocks: Vec<Arc<Vec<u8>>>,
    /// Invariant: ascending offsets.
    kept: Vec<Kept>,
    content: Option<Rc<ReadBack>>,
}

impl ArgsTable {
    /// From here on what is not kept is read from `content`.
    pub fn set_content(&mut self, content: Rc<dyn Content>) {
        self.content = Some(Rc::new(ReadBack::new(content)));
    }

    /// Whether all arguments have to be kept, as they can not be read again.
    pub fn keeps_all(&self) -> bool {
        self.content.is_none()
    }

    /// Keeps the object `raw` that starts at `offset` in the content. Offsets should ascend, or nearly so.
    pub fn keep(&mut self, offset: u64, raw: &[u8]) {
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
        let kept = Kept { offset, block, start, len: raw.len() as u32 };
        if self.kept.last().is_none_or(|last| last.offset < offset) {
            self.kept.push(kept);
        } else {
            // Two parts of one event, in the other order.
            let at = self.kept.partition_point(|other| other.offset < offset);
            self.kept.insert(at, kept);
        }
    }

    /// The raw JSON object if it is kept.
    pub fn kept(&self, place: ArgsPlace) -> Option<&[u8]> {
        if place.is_none() {
            return None;
        }
        let at = self.kept.binary_search_by_key(&place.offset, |kept| kept.offset).ok()?;
        let Kept { block, start, len, .. } = self.kept[at];
        Some(&self.blocks[block as usize][start as usize..start as usize + len as usize])
    }

    /// The raw JSON object, read from the content if need be. `None` for [`ArgsPlace::NONE`], and if it can not be
    /// read any more; [`ArgsTable::problem`] then says why.
    pub fn get(&self, place: ArgsPlace) -> Option<Cow<'_, [u8]>> {
        if place.is_none() {
            return None;
        }
        if let Some(raw) = self.kept(place) {
            return Some(Cow::Borrowed(raw));
        }
        self.content.as_ref()?.read(place).map(Cow::Owned)
    }

    /// Why arguments could not be read from the content, if that has happened.
    pub fn problem(&self) -> Option<String> {
        self.content.as_ref()?.problem.borrow().clone()
    }
}

const PAGE_BYTES: u64 = 1 << 20;
/// Pages held. Exports go through several places of a file at once, forward in each.
const MAX_PAGES: usize = 16;

/// Content with a cache of pages in front of it.
struct ReadBack {
    content: Rc<dyn Content>,
    /// Number and bytes of pages, the one used last at the end.
    pages: RefCell<Vec<(u64, Vec<u8>)>>,
    problem: RefCell<Option<String>>,
}

impl ReadBack {
    fn new(content: Rc<dyn Content>) -> ReadBack {
        ReadBack { content, pages: RefCell::default(), problem: RefCell::default() }
    }

    fn read(&self, place: ArgsPlace) -> Option<Vec<u8>> {
        let mut raw = Vec::with_capacity(place.len as usize);
        let end = place.offset + u64::from(place.len);
        let result = if u64::from(place.len) > PAGE_BYTES {
            raw.resize(place.len as usize, 0);
            self.content.read_at(place.offset, &mut raw)
        } else {
            (place.offset / PAGE_BYTES..=(end - 1) / PAGE_BYTES).try_for_each(|page| {
                let start = page * PAGE_BYTES;
                self.with_page(page, |bytes| {
                    let from = place.offset.saturating_sub(start) as usize;
                    let to = (end - start).min(PAGE_BYTES) as usize;
                    raw.extend_from_slice(bytes.get(from..to).unwrap_or_default());
                })
            })
        };
        // A file that was written anew has something else there.
        let is_whole = raw.len() == place.len as usize
            && matches!((raw.first(), raw.last()), (Some(b'{' | b'['), Some(b'}' | b']')));
        let problem = match result {
            Err(error) => error.to_string(),
            Ok(()) if !is_whole => "the file has changed since it was read".to_string(),
            Ok(()) => return Some(raw),
        };
        self.problem.borrow_mut().get_or_insert(problem);
        None
    }

    fn with_page(&self, page: u64, take: impl FnOnce(&[u8])) -> io::Result<()> {
        let mut pages = self.pages.borrow_mut();
        match pages.iter().rposition(|(number, _)| *number == page) {
            Some(at) if at + 1 == pages.len() => {}
            Some(at) => {
                let found = pages.remove(at);
                pages.push(found);
            }
            None => {
                let mut bytes = if pages.len() < MAX_PAGES { Vec::new() } else { pages.remove(0).1 };
                let len = self.content.n_bytes().saturating_sub(page * PAGE_BYTES).min(PAGE_BYTES);
                bytes.resize(len as usize, 0);
                self.content.read_at(page * PAGE_BYTES, &mut bytes)?;
                pages.push((page, bytes));
            }
        }
        if let Some((_, bytes)) = pages.last() {
            take(bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(RefCell<Vec<u8>>);

    impl Content for Bytes {
        fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            let bytes = self.0.borrow();
            let range = bytes.get(offset as usize..offset as usize + out.len());
            out.copy_from_slice(range.ok_or_else(|| io::Error::other("too short"))?);
            Ok(())
        }

        fn n_bytes(&self) -> u64 {
            self.0.borrow().len() as u64
        }
    }

    /// Objects of many lengths, also across pages and longer than one; and the places of them.
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
        table.set_content(Rc::new(Bytes(RefCell::new(bytes.clone()))));
        let of = |place: &ArgsPlace| &bytes[place.offset as usize..][..place.len as usize];
        table.keep(places[7].offset, of(&places[7]));
        // Forward, and from both ends at once.
        let mixed = places.iter().zip(places.iter().rev()).flat_map(|(a, b)| [a, b]);
        for place in places.iter().chain(mixed) {
            assert_eq!(table.get(*place).as_deref(), Some(of(place)));
        }
        assert_eq!(table.kept(places[7]), Some(of(&places[7])));
        assert_eq!(table.get(ArgsPlace::NONE), None);
        assert_eq!(table.problem(), None);
    }

    #[test]
    fn content_that_changed_is_noticed() {
        let (bytes, places) = objects();
        for changed in [bytes[..1000].to_vec(), vec![b' '; bytes.len()], Vec::new()] {
            let mut table = ArgsTable::default();
            table.set_content(Rc::new(Bytes(RefCell::new(changed))));
            assert_eq!(table.get(places[399]), None);
            assert!(table.problem().is_some());
        }
    }
}

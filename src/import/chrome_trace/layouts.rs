//! The scanner for files in which one event is laid out like the next, as in all that programs write.
//!
//! What stands between two values (comma, white space, the key, the colon) is learned as a run of bytes with the
//! member it leads to, in a tree of all orders of members that were met. The next event is compared with these runs
//! eight bytes at a time instead of being taken apart again:
//!
//! ```text
//! {"ph":"X","ts":17,"dur":5}
//! ======   ======  =======    runs; the values between them are read as ever
//! ```
//! What follows no known run is scanned the plain way and learned. So a layout never decides what an event means: the
//! result is that of the plain scanner, always.

use super::scanner::{Field, RawEvent, Scan, Stop};
use crate::base::json::JsonError;

/// Longest run that is learned, in bytes.
const MAX_RUN: usize = 32;
const WORDS: usize = MAX_RUN / 8;
/// Runs that may follow one place; a file with more variety there is scanned the plain way from it.
const MAX_BRANCHES: usize = 8;
/// Places known at most, which bounds the memory.
const MAX_NODES: usize = 1024;

/// A run and where it leads.
#[derive(Clone, Copy)]
struct Branch {
    words: [u64; WORDS],
    masks: [u64; WORDS],
    len: u8,
    /// The member whose value comes next; `None` for the end of the event.
    field: Option<Field>,
    node: u16,
}

impl Branch {
    fn new(run: &[u8], field: Option<Field>, node: u16) -> Option<Branch> {
        if run.len() > MAX_RUN {
            return None;
        }
        let mut bytes = [0u8; MAX_RUN];
        let mut mask = [0u8; MAX_RUN];
        bytes[..run.len()].copy_from_slice(run);
        mask[..run.len()].fill(u8::MAX);
        let words = |bytes: &[u8; MAX_RUN]| {
            let mut words = [0u64; WORDS];
            for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*chunk);
            }
            words
        };
        Some(Branch { words: words(&bytes), masks: words(&mask), len: run.len() as u8, field, node })
    }

    #[inline(always)]
    fn starts(&self, window: &[u8; MAX_RUN]) -> bool {
        let differs = |i: usize| {
            let word = window.as_chunks::<8>().0.get(i).map_or(0, |word| u64::from_le_bytes(*word));
            (word ^ self.words[i]) & self.masks[i] != 0
        };
        // Most runs are of one or two words.
        if differs(0) || differs(1) {
            return false;
        }
        self.len <= 16 || !(differs(2) || differs(3))
    }
}

/// Layouts learned so far.
#[derive(Clone)]
pub struct Layouts {
    /// What may follow each place, the likeliest first. The first place is the start of an event.
    nodes: Vec<Vec<Branch>>,
}

impl Default for Layouts {
    fn default() -> Self {
        Layouts { nodes: vec![Vec::new()] }
    }
}

impl Layouts {
    /// Reads the object whose `{` is at `start` into `event`, which must be new; gives the place after its `}`.
    #[inline]
    pub fn scan<'a>(
        &mut self,
        bytes: &'a [u8],
        start: usize,
        event: &mut RawEvent<'a>,
    ) -> Result<usize, JsonError> {
        let mut scan = Scan::new(bytes, start);
        match self.scan_members(&mut scan, event) {
            Ok(()) => Ok(scan.at),
            Err(stop) => Err(scan.error(stop)),
        }
    }

    #[inline]
    fn scan_members<'a>(&mut self, scan: &mut Scan<'a>, event: &mut RawEvent<'a>) -> Result<(), Stop> {
        let (bytes, start) = (scan.bytes, scan.at);
        let mut node = Some(0usize);
        loop {
            if let Some(place) = node
                && let Some((len, field, next)) = self.follow(place, bytes, scan.at)
            {
                scan.at += len;
                let Some(field) = field else { return Ok(()) };
                scan.value(field, event)?;
                node = Some(next);
                continue;
            }
            let from = scan.at;
            let field = plain_step(scan, from == start)?;
            if let Some(place) = node {
                node = self.learn(place, &bytes[from..scan.at], field);
            }
            let Some(field) = field else { return Ok(()) };
            scan.value(field, event)?;
        }
    }

    /// Length, member and next place of the branch at `place` that the bytes at `at` follow. It moves forward among
    /// its likes, so that what is frequent is tried first.
    #[inline(always)]
    fn follow(&mut self, place: usize, bytes: &[u8], at: usize) -> Option<(usize, Option<Field>, usize)> {
        let window = bytes.get(at..)?.first_chunk::<MAX_RUN>()?;
        let branches = self.nodes.get_mut(place)?;
        let first = branches.first()?;
        let branch = if first.starts(window) {
            first
        } else {
            let found = 1 + branches[1..].iter().position(|branch| branch.starts(window))?;
            branches.swap(found, found - 1);
            &branches[found - 1]
        };
        Some((usize::from(branch.len), branch.field, usize::from(branch.node)))
    }

    /// Remembers that `run` leads from `place` to `field`; gives the place after its value.
    #[cold]
    fn learn(&mut self, place: usize, run: &[u8], field: Option<Field>) -> Option<usize> {
        let next = self.nodes.len();
        let branches = self.nodes.get_mut(place)?;
        let node = if field.is_some() { u16::try_from(next).ok()? } else { 0 };
        let branch = Branch::new(run, field, node)?;
        // Near the end of a chunk, where there is no whole window to compare with, a known run comes by again.
        let known = branches.iter().find(|other| other.words == branch.words && other.masks == branch.masks);
        if let Some(known) = known {
            return known.field.map(|_| usize::from(known.node));
        }
        if branches.len() >= MAX_BRANCHES || next >= MAX_NODES {
            return None;
        }
        branches.push(branch);
        field?;
        self.nodes.push(Vec::new());
        Some(next)
    }
}

/// From the end of a value (or the start of the event) to the start of the next one, which belongs to the member
/// given; `None` at the end of the event.
fn plain_step(scan: &mut Scan<'_>, is_first: bool) -> Result<Option<Field>, Stop> {
    if is_first {
        scan.at += 1;
    } else {
        match scan.next()? {
            b',' => scan.at += 1,
            b'}' => {
                scan.at += 1;
                return Ok(None);
            }
            _ => return scan.syntax("',' or '}'"),
        }
    }
    // One comma too many before the end does no harm.
    if scan.next()? == b'}' {
        scan.at += 1;
        return Ok(None);
    }
    let key = scan.key()?;
    scan.next()?;
    Ok(Some(Field::of(key)))
}

#[cfg(test)]
mod tests {
    use super::super::scanner::scan_event;
    use super::*;
    use proptest::prelude::*;

    /// Both scanners must give the same of `text`, from its start and cut anywhere.
    fn agree(layouts: &mut Layouts, text: &str) {
        for len in (1..=text.len()).rev() {
            let bytes = &text.as_bytes()[..len];
            let mut event = RawEvent::default();
            let learned = layouts.scan(bytes, 0, &mut event).map(|end| (format!("{event:?}"), end));
            let plain = scan_event(bytes, 0).map(|(event, end)| (format!("{event:?}"), end));
            assert_eq!(learned, plain, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn learned_layouts_change_nothing() {
        let mut layouts = Layouts::default();
        let events = [
            r#"{"name":"a","cat":"c","ph":"X","ts":1.5,"dur":2,"pid":1,"tid":2,"args":{"x":1}}"#,
            r#"{"name":"bb","cat":"c","ph":"X","ts":2.25,"dur":-2,"pid":1,"tid":2,"args":{"x":[1,"}"]}}"#,
            r#"{"name":"bb","ph":"B","ts":"7","pid":"p","tid":-2}"#,
            r#"{"name":"bb","ph":"B","ts":"7","pid":"p","tid":-2,}"#,
            r#"{"name":"bb","ph":"E","ts":1e3 , "pid":1.5,"\u0074id":3}"#,
            r#"{"name" "ph"}"#,
            r#"{}"#,
            r#"{ }"#,
            r#"{,}"#,
            r#"{"name":}"#,
            r#"{"ts":1x}"#,
            r#"{"a very long key that is longer than any run of bytes that is learned":1,"ph":"X"}"#,
        ];
        for _ in 0..2 {
            for event in events {
                agree(&mut layouts, &format!("{event}, and what comes after, long enough for a window"));
                agree(&mut layouts, event);
            }
        }
    }

    proptest! {
        #[test]
        fn like_the_plain_scanner(
            events in proptest::collection::vec(
                proptest::collection::vec(
                    (
                        prop_oneof!["name|ph|ts|dur|pid|tid|cat|id|bp|s|args|id2|sf|stack|other", "[a-z\\\\\"]{0,40}"],
                        "( |\n  )?",
                        prop_oneof![
                            "-?[0-9]{1,20}(\\.[0-9]{1,4})?(e[0-9])?",
                            "\"[a-zX\\\\\"]{0,12}\"",
                            "[\\[{][a\\[\\]{}\",:]{0,20}[\\]}]",
                            "true|null|x",
                        ],
                    ),
                    0..8,
                ),
                1..6,
            ),
        ) {
            let mut layouts = Layouts::default();
            for members in events {
                let members: Vec<String> =
                    members.iter().map(|(key, space, value)| format!("{space}\"{key}\":{space}{value}")).collect();
                agree(&mut layouts, &format!("{{{}}}{}", members.join(","), " ".repeat(40)));
            }
        }
    }
}

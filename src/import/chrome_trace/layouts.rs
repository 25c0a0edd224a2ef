//! Fast scanner for files whose events have similar layouts, as programs write them.
//!
//! The bytes between two values (comma, white space, key, colon) are learned as a run that leads to a member, in a tree of all
//! member orders seen. Values that rarely change (phase, category, process, thread) become part of the run. The next event is
//! compared with these runs word by word instead of being tokenized:
//!
//! ```text
//! {"ph":"X","cat":"op","ts":17,"pid":7,"tid":1,"dur":5}
//! ==========================  =======================      runs; the values between them are read as ever
//! ```
//! Bytes that match no known run are scanned by the general scanner and learned. So a layout never decides what an event
//! means: the result always equals that of the general scanner. If a value turns out to change, the node forgets its runs and
//! learns shorter ones that end before it.
//!
//! # Before you change this
//!
//! - [`scan_event`](super::scanner::scan_event) says what an event means. Whatever is learned must have exactly its effect, on
//!   every field of [`RawEvent`], also on errors and cuts: the property test `like_the_plain_scanner` cuts events at every byte.
//! - A value becomes part of a run only if its bytes alone decide its meaning ([`Known::add`]). An invalid value, an escaped
//!   text or an odd id never does, since it has to be noticed in every event.
//! - Runs are compared in a window of [`MAX_RUN`] bytes. Near the end of a chunk there is none, so the general scanner reads on,
//!   and may learn a run that is known already.
//! - Nodes and branches are bounded, because the file decides how many there could be.
//! - `scan` and `follow` take most of the time of reading. Measure with `cargo bench --bench readers` before and after.

use super::event::{Field, RawEvent, RawId};

use super::scanner::{Scan, Stop};
use crate::base::json::{JsonError, RawStr};

/// Longest run, in bytes.
const MAX_RUN: usize = 96;
const WORDS: usize = MAX_RUN / 8;
/// Maximum number of runs per node. Beyond it, values are not part of runs; if there are still too many, the node always uses
/// the general scanner.
const MAX_BRANCHES: usize = 12;
/// Maximum number of nodes, which bounds memory.
const MAX_NODES: usize = 4096;

/// Members whose values are part of a run.
#[derive(Clone, Copy, Default)]
struct Known {
    phase: Option<u8>,
    /// Range of the text within the run.
    category: Option<(u8, u8)>,
    /// Number of the run, from 1.
    number: u16,
    pid: Option<i64>,
    tid: Option<i64>,
    n_keys: u8,
    /// As in [`RawEvent::seen`], and whether a member is duplicated.
    seen: u32,
    repeated: bool,
    /// The last keys in the low bits, as in [`RawEvent::key_order`].
    key_order: u64,
}

impl Known {
    /// Adds the member just read, which starts at `from` in a run that starts at `start`. `false` if its value is not of a
    /// kind that is learned.
    fn add(&mut self, field: Field, event: &RawEvent<'_>, bytes: &[u8], start: usize, from: usize) -> bool {
        match (field, bytes.get(from)) {
            (Field::Phase, Some(b'"')) => self.phase = Some(event.phase),
            (Field::Category, Some(b'"')) => match event.cat {
                Some(RawStr { bytes, escaped: false }) if from - start + bytes.len() < MAX_RUN => {
                    let at = (from - start + 1) as u8;
                    self.category = Some((at, at + bytes.len() as u8));
                }
                _ => return false,
            },
            (Field::Pid, Some(b'0'..=b'9' | b'-')) => match event.pid {
                RawId::Int(pid) => self.pid = Some(pid),
                _ => return false,
            },
            (Field::Tid, Some(b'0'..=b'9' | b'-')) => match event.tid {
                RawId::Int(tid) => self.tid = Some(tid),
                _ => return false,
            },
            _ => return false,
        }
        self.repeated |= self.seen & field.bit() != 0;
        self.seen |= field.bit();
        self.n_keys += 1;
        self.key_order = self.key_order << 4 | event.key_order & 15;
        true
    }

    /// Has the effect of reading the members of the run, which starts at `start`.
    #[inline(always)]
    fn apply<'a>(&self, event: &mut RawEvent<'a>, bytes: &'a [u8], start: usize) {
        if let Some(phase) = self.phase {
            event.phase = phase;
        }
        if let Some((from, to)) = self.category {
            let text = bytes.get(start + usize::from(from)..start + usize::from(to));
            event.cat = text.map(|bytes| RawStr { bytes, escaped: false });
            event.cat_number = self.number;
        }
        if let Some(pid) = self.pid {
            event.pid = RawId::Int(pid);
        }
        if let Some(tid) = self.tid {
            event.tid = RawId::Int(tid);
        }
        event.n_keys += u32::from(self.n_keys);
        event.repeated |= self.repeated || event.seen & self.seen != 0;
        event.seen |= self.seen;
        event.key_order = event.key_order << (4 * self.n_keys) | self.key_order;
    }
}

/// A run and the node it leads to.
#[derive(Clone, Copy)]
struct Branch {
    /// The whole words of the run, eight bytes each.
    words: [u64; WORDS],
    n_words: u8,
    len: u8,
    /// The last eight bytes of the run, or all if there are fewer; their start, and a mask of the relevant bits.
    last: u64,
    last_at: u8,
    last_mask: u64,
    /// Member whose value comes next; `None` at the end of the event.
    field: Option<Field>,
    node: u16,
    known: Known,
}

impl Branch {
    fn new(run: &[u8], known: Known, field: Option<Field>, node: u16) -> Option<Branch> {
        if run.len() > MAX_RUN {
            return None;
        }
        let (whole, _) = run.as_chunks::<8>();
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(whole) {
            *word = u64::from_le_bytes(*bytes);
        }
        let last_at = run.len().saturating_sub(8);
        let (mut last, mut mask) = ([0; 8], [0; 8]);
        for (i, byte) in run[last_at..].iter().enumerate() {
            (last[i], mask[i]) = (*byte, u8::MAX);
        }
        Some(Branch {
            words,
            n_words: whole.len() as u8,
            len: run.len() as u8,
            last: u64::from_le_bytes(last),
            last_at: last_at as u8,
            last_mask: u64::from_le_bytes(mask),
            field,
            node,
            known,
        })
    }

    #[inline(always)]
    fn starts(&self, window: &[u8; MAX_RUN]) -> bool {
        let (words, _) = window.as_chunks::<8>();
        for (word, bytes) in self.words.iter().zip(words).take(usize::from(self.n_words)) {
            if *word != u64::from_le_bytes(*bytes) {
                return false;
            }
        }
        let last = window.get(usize::from(self.last_at)..).and_then(|rest| rest.first_chunk::<8>());
        last.is_some_and(|last| u64::from_le_bytes(*last) & self.last_mask == self.last)
    }

    fn is_run(&self, other: &Branch) -> bool {
        (self.words, self.len, self.last) == (other.words, other.len, other.last)
    }
}

/// Node: a position between two values.
#[derive(Clone)]
struct Node {
    /// Branches, most likely first: indexes into [`Layouts::branches`].
    branches: [u16; MAX_BRANCHES],
    n_branches: u8,
    /// Runs from here may include values.
    takes_values: bool,
}

impl Node {
    fn new() -> Node {
        Node { branches: [0; MAX_BRANCHES], n_branches: 0, takes_values: true }
    }

    fn branches(&self) -> &[u16] {
        &self.branches[..usize::from(self.n_branches)]
    }
}

/// Layouts learned so far.
#[derive(Clone)]
pub struct Layouts {
    /// Nodes; the first one is the start of an event.
    nodes: Vec<Node>,
    branches: Vec<Branch>,
    /// See [`Scan::time_digits`].
    time_digits: usize,
}

impl Default for Layouts {
    fn default() -> Self {
        Layouts { nodes: vec![Node::new()], branches: Vec::new(), time_digits: 0 }
    }
}

impl Layouts {
    /// Scans the object whose `{` is at `start` into `event`, which must be new; returns the offset after its `}`.
    #[inline]
    pub fn scan<'a>(
        &mut self,
        bytes: &'a [u8],
        start: usize,
        event: &mut RawEvent<'a>,
    ) -> Result<usize, JsonError> {
        let mut scan = Scan::new(bytes, start);
        scan.time_digits = self.time_digits;
        match self.scan_members(&mut scan, event) {
            Ok(()) => {
                self.time_digits = scan.time_digits;
                (event.odd_id, event.has_brackets) = (scan.odd_id, scan.has_brackets);
                Ok(scan.at)
            }
            Err(stop) => Err(scan.error(stop)),
        }
    }

    #[inline]
    fn scan_members<'a>(&mut self, scan: &mut Scan<'a>, event: &mut RawEvent<'a>) -> Result<(), Stop> {
        let (bytes, start) = (scan.bytes, scan.at);
        let mut node = Some(0usize);
        loop {
            if let Some(place) = node
                && let Some(branch) = self.follow(place, bytes, scan.at)
            {
                if branch.known.n_keys > 0 {
                    branch.known.apply(event, bytes, scan.at);
                }
                scan.at += usize::from(branch.len);
                let next = usize::from(branch.node);
                let Some(field) = branch.field else { return Ok(()) };
                scan.value(field, event)?;
                node = Some(next);
                continue;
            }
            let is_first = scan.at == start;
            node = match self.step(scan, event, node, is_first)? {
                Some(next) => next,
                None => return Ok(()),
            };
        }
    }

    /// Branch of `place` that matches the bytes at `at`. It moves forward among its siblings, so that frequent ones are tried
    /// first.
    #[inline(always)]
    fn follow(&mut self, place: usize, bytes: &[u8], at: usize) -> Option<&Branch> {
        let window = bytes.get(at..)?.first_chunk::<MAX_RUN>()?;
        let node = self.nodes.get_mut(place)?;
        for place in 0..usize::from(node.n_branches) {
            let index = *node.branches.get(place)?;
            let branch = self.branches.get(usize::from(index))?;
            if branch.starts(window) {
                if place > 0 {
                    node.branches.swap(place, place - 1);
                }
                return Some(branch);
            }
        }
        None
    }

    /// Uses the general scanner up to the end of a value that is not part of a run, and learns the run before it. Returns the
    /// node after it, if known; `None` at the end of the event.
    #[cold]
    fn step<'a>(
        &mut self,
        scan: &mut Scan<'a>,
        event: &mut RawEvent<'a>,
        place: Option<usize>,
        is_first: bool,
    ) -> Result<Option<Option<usize>>, Stop> {
        let (bytes, start) = (scan.bytes, scan.at);
        let takes_values =
            place.and_then(|place| self.nodes.get(place)).is_some_and(|node| node.takes_values);
        let mut known = Known::default();
        let mut field = plain_step(scan, is_first)?;
        while takes_values && let Some(member) = field {
            let (from, before) = (scan.at, known);
            scan.value(member, event)?;
            // An invalid value has to be noticed every time.
            let fits = !scan.odd_id && known.add(member, event, bytes, start, from);
            if fits {
                field = plain_step(scan, false)?;
                if scan.at - start <= MAX_RUN {
                    continue;
                }
            }
            // The run ends before this value. If the value was part of a run that became too long, the next event learns what
            // follows.
            let next = place.and_then(|place| self.learn(place, &bytes[start..from], before, Some(member)));
            if !fits {
                return Ok(Some(next));
            }
            let Some(member) = field else { return Ok(None) };
            scan.value(member, event)?;
            return Ok(Some(None));
        }
        let next = place.and_then(|place| self.learn(place, &bytes[start..scan.at], known, field));
        let Some(member) = field else { return Ok(None) };
        scan.value(member, event)?;
        Ok(Some(next))
    }

    /// Learns that `run` leads from `place` to `field`; returns the node after its value.
    fn learn(&mut self, place: usize, run: &[u8], known: Known, field: Option<Field>) -> Option<usize> {
        let next = self.nodes.len();
        let at = self.nodes.get_mut(place)?;
        let node = if field.is_some() { u16::try_from(next).ok()? } else { 0 };
        let known = Known { number: u16::try_from(self.branches.len() + 1).ok()?, ..known };
        let branch = Branch::new(run, known, field, node)?;
        // Near the end of a chunk there is no full window to compare, so a known run may come again.
        let known = at.branches().iter().filter_map(|index| self.branches.get(usize::from(*index)));
        if let Some(same) = known.into_iter().find(|other| other.is_run(&branch)) {
            return same.field.map(|_| usize::from(same.node));
        }
        if at.branches().len() >= MAX_BRANCHES && at.takes_values {
            // A value changes after all.
            at.takes_values = false;
            at.n_branches = 0;
            return None;
        }
        let index = u16::try_from(self.branches.len()).ok().filter(|_| next < MAX_NODES)?;
        *at.branches.get_mut(usize::from(at.n_branches))? = index;
        at.n_branches += 1;
        self.branches.push(branch);
        field?;
        self.nodes.push(Node::new());
        Some(next)
    }
}

/// Moves from the end of a value (or the start of the event) to the start of the next one and returns its member; `None` at
/// the end of the event.
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
    // A trailing comma is accepted.
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

    #[test]
    fn values_that_vary_after_all() {
        let mut layouts = Layouts::default();
        let mut texts: Vec<Option<String>> = Vec::new();
        let mut random = 7u64;
        let mut below = |n: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % n
        };
        for i in 0..6_000u64 {
            // Few values at first, then more than a node has room for.
            let n = if i < 500 { 3 } else { 40 };
            let (phase, cat, pid) = (["X", "B", "i"][below(3) as usize], below(n), below(n));
            let tid = match below(20) {
                0 => format!("{}.5", below(n)),
                1 => format!("\"t{}\"", below(n)),
                _ => below(n).to_string(),
            };
            let event = match below(3) {
                0 => format!(
                    r#"{{"ph":"{phase}","cat":"c{cat}","name":"n","pid":{pid},"tid":{tid},"ts":{i}.125}}"#
                ),
                1 => format!(r#"{{"name": "n", "cat": "c{cat}", "tid": {tid}, "ph": "{phase}", "ts": {i}}}"#),
                _ => format!(
                    r#"{{"pid":{pid},"pid":{pid},"tid":{tid},"cat":"c{cat}\n","ph":"{phase}","ts":{i}}}"#
                ),
            };
            let bytes = format!("{event}{}", " ".repeat(100)).into_bytes();
            let mut learned = RawEvent::default();
            let end = layouts.scan(&bytes, 0, &mut learned).unwrap();
            let number = usize::from(std::mem::take(&mut learned.cat_number));
            if number > 0 {
                let text = String::from_utf8(learned.cat.unwrap().bytes.to_vec()).unwrap();
                texts.resize(texts.len().max(number + 1), None);
                assert_eq!(texts[number].get_or_insert_with(|| text.clone()), &text, "{event}");
            }
            let (plain, plain_end) = scan_event(&bytes, 0).unwrap();
            assert_eq!((format!("{learned:?}"), end), (format!("{plain:?}"), plain_end), "{event}");
        }
        assert!(texts.iter().flatten().count() > 3);
    }

    /// Both scanners must agree on `text`, from its start and cut anywhere.
    fn agree(layouts: &mut Layouts, text: &str) {
        for len in (1..=text.len()).rev() {
            let bytes = &text.as_bytes()[..len];
            let mut event = RawEvent::default();
            let learned = layouts.scan(bytes, 0, &mut event);
            // Only learned categories are numbered.
            event.cat_number = 0;
            let learned = learned.map(|end| (format!("{event:?}"), end));
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
                agree(
                    &mut layouts,
                    &format!("{event}, and what comes after, long enough for a window: {}", " ".repeat(80)),
                );
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
                agree(&mut layouts, &format!("{{{}}}{}", members.join(","), " ".repeat(100)));
            }
        }
    }
}

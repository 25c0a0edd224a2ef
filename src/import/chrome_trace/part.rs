//! A part of the list of events, read by itself. See [`crate::import::parts`].
//!
//! Only what is regular is read: events with one comma between them, or, where the file has no brackets around them, with
//! nothing but white space. At anything else the part ends, and the reader of the whole, which knows what to do then, goes on
//! from there.

use super::container::{Carry, LONG_LINE_BYTES, frame, skip_space};
use super::layouts::Layouts;
use super::rows::{Place, Rows, Seen};
use super::salvage::{may_be_open, swallowed};
use super::scanner::RawEvent;
use crate::base::json::JsonError;
use crate::import::parts::{Part, PartReader, PartRows};
use crate::trace::TraceBuilder;
use crate::trace::args::ArgsTable;
use memchr::memchr2;
use serde::{Deserialize, Serialize};

/// What looks like an event but does not end within so many bytes is not taken for one.
const MAX_GUESS_BYTES: usize = 1 << 20;
/// The first event of a stretch is looked for so far behind its end, at most.
const MAX_CUT_BYTES: u64 = 2 * MAX_GUESS_BYTES as u64;
/// A part in which more than this was looked through in vain is left to the reader of the whole.
const MAX_VAIN_BYTES: usize = 16 << 20;
/// Longer events are left to it as well, which looks at some of them for lines that they have swallowed.
const MAX_EVENT_BYTES: usize = LONG_LINE_BYTES;

/// What the reader of the whole has to know of a part besides its rows.
#[derive(Serialize, Deserialize)]
pub struct Notes {
    /// The part ended in front of an event that is not its own.
    pub at_event: bool,
    /// A comma was the last thing that was read.
    pub after_comma: bool,
    /// There are no commas between the events.
    pub are_lines: bool,
    n_by_phase: Vec<(u8, u64)>,
    only_ferrum_like: bool,
    n_elements: u64,
}

impl Notes {
    /// `None` if `bytes` are something else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Notes> {
        postcard::from_bytes(bytes).ok()
    }

    /// Adds the part's counts to those of the whole.
    pub fn add_to(&self, seen: &mut Seen) {
        for (phase, n) in &self.n_by_phase {
            seen.n_by_phase[usize::from(*phase)] += n;
        }
        seen.only_ferrum_like &= self.only_ferrum_like;
        seen.n_elements += self.n_elements;
    }
}

/// Where a part starts in which no event was found: at no place where anyone will ever stand.
const NOWHERE: u64 = u64::MAX;

/// More bytes have to be seen to tell.
struct Cut;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Looking for the start of an event.
    Seeking,
    Reading,
    Over,
}

/// Reads parts of a list of events.
pub struct ChromePart {
    state: State,
    /// Byte of the file of the start of `head` or `carry`.
    offset: u64,
    until: u64,
    start: u64,
    /// Bytes in which no event has been found yet, and up to where they were looked through.
    head: Vec<u8>,
    sought: usize,
    /// Bytes of what turned out to be no event.
    vain: usize,
    carry: Carry,
    after_comma: bool,
    are_lines: bool,
    at_event: bool,
    layouts: Layouts,
    rows: Rows,
    out: TraceBuilder,
}

impl Default for ChromePart {
    fn default() -> Self {
        ChromePart {
            state: State::Over,
            offset: 0,
            until: 0,
            start: 0,
            head: Vec::new(),
            sought: 0,
            vain: 0,
            carry: Carry::default(),
            after_comma: false,
            are_lines: false,
            at_event: false,
            layouts: Layouts::default(),
            rows: Rows::default(),
            out: TraceBuilder::default(),
        }
    }
}

impl PartReader for ChromePart {
    fn start(&mut self, from: u64, until: u64) {
        let mut out = TraceBuilder::default();
        out.trace.args = ArgsTable::of_part();
        *self = ChromePart {
            state: State::Seeking,
            offset: from,
            until,
            start: NOWHERE,
            // What was learned of the writer's ways holds for the next part too.
            layouts: std::mem::take(&mut self.layouts),
            out,
            ..ChromePart::default()
        };
    }

    fn feed(&mut self, bytes: &[u8]) -> bool {
        match self.state {
            State::Seeking => self.seek(bytes),
            State::Reading => self.read(bytes),
            State::Over => {}
        }
        self.state != State::Over
    }

    fn finish(&mut self) -> Part {
        self.state = State::Over;
        let seen = &self.rows.seen;
        let phases = seen.n_by_phase.iter().enumerate().filter(|(_, n)| **n > 0);
        let notes = Notes {
            at_event: self.at_event,
            after_comma: self.after_comma,
            are_lines: self.are_lines,
            n_by_phase: phases.map(|(phase, n)| (phase as u8, *n)).collect(),
            only_ferrum_like: seen.only_ferrum_like,
            n_elements: seen.n_elements,
        };
        Part {
            start: self.start,
            end: if self.start == NOWHERE { NOWHERE } else { self.offset },
            rows: PartRows::Tables(Box::new(std::mem::take(&mut self.out))),
            // Writing into memory has no way to fail.
            notes: postcard::to_allocvec(&notes).unwrap_or_default(),
        }
    }
}

impl ChromePart {
    /// Looks for the start of an event: a whole object that says what phase it is of, behind a comma, or at the start of a line.
    /// That it is none inside a string or an argument shows later.
    fn seek(&mut self, bytes: &[u8]) {
        self.head.extend_from_slice(bytes);
        let head = std::mem::take(&mut self.head);
        while let Some(found) = head.get(self.sought..).and_then(|rest| memchr2(b',', b'\n', rest)) {
            let mark = self.sought + found;
            if self.offset + mark as u64 >= self.until || self.vain > MAX_VAIN_BYTES {
                self.state = State::Over;
                return;
            }
            match self.event_behind(&head, mark) {
                Ok(Some((at, are_lines))) => {
                    self.state = State::Reading;
                    self.start = self.offset + at as u64;
                    self.offset = self.start;
                    self.are_lines = are_lines;
                    self.after_comma = !are_lines;
                    self.read(&head[at..]);
                    return;
                }
                // Whatever else stands in the blanks in between leads there, too.
                Ok(None) => self.sought = skip_space(&head, mark + 1),
                // There is no end to the blanks.
                Err(Cut) if self.offset + head.len() as u64 >= self.until.saturating_add(MAX_CUT_BYTES) => {
                    self.state = State::Over;
                    return;
                }
                Err(Cut) => {
                    self.sought = mark;
                    self.head = head;
                    return;
                }
            }
        }
        // No event can start in what has been looked through.
        self.offset += head.len() as u64;
        self.sought = 0;
        if self.offset >= self.until {
            self.state = State::Over;
        }
    }

    /// Where the event behind the comma or LF at `mark` starts, and whether there are no commas between events; `None` if there
    /// is no event.
    fn event_behind(&mut self, head: &[u8], mark: usize) -> Result<Option<(usize, bool)>, Cut> {
        let at = skip_space(head, mark + 1);
        match head.get(at) {
            None => return Err(Cut),
            Some(b'{') => {}
            Some(_) => return Ok(None),
        }
        let limit = head.len().min(at + MAX_GUESS_BYTES);
        let mut event = RawEvent::default();
        let end = match self.layouts.scan(&head[..limit], at, &mut event) {
            Ok(end) => end,
            Err(JsonError::Cut) if limit == head.len() => return Err(Cut),
            Err(_) => {
                self.vain += limit - at;
                return Ok(None);
            }
        };
        if event.phase == 0 {
            self.vain += end - at;
            return Ok(None);
        }
        if head.get(mark) == Some(&b',') {
            return Ok(Some((at, false)));
        }
        // What follows tells whether a comma comes before the line.
        match head.get(skip_space(head, end)) {
            None => Err(Cut),
            Some(b'{') => Ok(Some((at, true))),
            Some(b',') => Ok(Some((at, false))),
            Some(_) => {
                self.vain += end - at;
                Ok(None)
            }
        }
    }

    fn read(&mut self, bytes: &[u8]) {
        let mut carry = std::mem::take(&mut self.carry);
        carry.feed(
            bytes,
            false,
            |bytes| if self.state == State::Over { bytes.len() } else { self.run(bytes) },
        );
        self.carry = carry;
    }

    /// Reads as far as it can; gives the number of bytes used.
    fn run(&mut self, bytes: &[u8]) -> usize {
        let start = self.offset;
        let mut at = 0;
        let mut event = RawEvent::default();
        loop {
            let before = at;
            at = skip_space(bytes, at);
            frame(before, at, &mut self.out);
            match bytes.get(at) {
                None => break,
                Some(b',') if !self.after_comma && !self.are_lines => {
                    frame(at, at + 1, &mut self.out);
                    self.after_comma = true;
                    at += 1;
                }
                Some(b'{') if self.after_comma || self.are_lines => {
                    if start + at as u64 >= self.until {
                        self.at_event = true;
                        self.state = State::Over;
                        break;
                    }
                    event.clear();
                    match self.layouts.scan(bytes, at, &mut event) {
                        Ok(end)
                            if end - at <= MAX_EVENT_BYTES
                                && swallowed(&event, &bytes[at..end]).is_none()
                                && !may_be_open(&bytes[at..end]) =>
                        {
                            let place = Place { offset: start + at as u64, bytes: &bytes[at..end] };
                            self.rows.add(&event, place, &mut self.out);
                            self.after_comma = false;
                            at = end;
                        }
                        Err(JsonError::Cut) if bytes.len() - at <= MAX_EVENT_BYTES => break,
                        _ => {
                            self.state = State::Over;
                            break;
                        }
                    }
                }
                Some(_) => {
                    self.state = State::Over;
                    break;
                }
            }
        }
        self.offset = start + at as u64;
        at
    }
}

//! Parts of the event list, read independently. See [`crate::import::parts`].
//!
//! A part only reads regular input: events separated by one comma, or by white space if the file has no brackets around them.
//! It ends at anything else, which is left to the reader of the whole file.

use super::carry::Carry;
use super::cursor::{frame, skip_space};
use super::event::RawEvent;
use super::layouts::Layouts;
use super::part_notes::PartNotes;
use super::rows::{Place, Rows};
use super::salvage::{LONG_LINE_BYTES, may_be_open, swallowed};
use crate::base::json::JsonError;
use crate::import::parts::{Part, PartReader, PartRows};
use crate::trace::TraceBuilder;
use crate::trace::args::ArgsTable;
use memchr::memchr2;

/// Maximum size of a guessed event.
const MAX_GUESS_BYTES: usize = 1 << 20;
/// Maximum distance past the end of a range at which its first event is looked for.
const MAX_CUT_BYTES: u64 = 2 * MAX_GUESS_BYTES as u64;
/// Bytes searched in vain after which a part is left to the reader of the whole file.
const MAX_VAIN_BYTES: usize = 16 << 20;
/// Longer events are left to the reader of the whole file, which checks some of them for swallowed lines.
const MAX_EVENT_BYTES: usize = LONG_LINE_BYTES;

/// Start of a part without events: an offset that is never reached.
const NOWHERE: u64 = u64::MAX;

/// More bytes are needed to decide.
struct Cut;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Looking for the start of an event.
    Seeking,
    Reading,
    Over,
}

/// Reader of parts of an event list.
pub struct ChromePart {
    state: State,
    /// File offset of the start of `head` or `carry`.
    offset: u64,
    until: u64,
    start: u64,
    /// Bytes without an event so far, and the offset up to which they were searched.
    head: Vec<u8>,
    sought: usize,
    /// Bytes that turned out not to be an event.
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
            // Learned layouts are reused for the next part.
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
        let notes = PartNotes::new(self.at_event, self.after_comma, self.are_lines, &self.rows.seen);
        Part {
            start: self.start,
            end: if self.start == NOWHERE { NOWHERE } else { self.offset },
            rows: PartRows::Tables(Box::new(std::mem::take(&mut self.out))),
            notes: notes.to_bytes(),
        }
    }
}

impl ChromePart {
    /// Looks for the start of an event: a complete object with a phase, after a comma or at the start of a line. Whether it is
    /// inside a string or an argument shows later.
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
                // Anything else between the blanks leads there too.
                Ok(None) => self.sought = skip_space(&head, mark + 1),
                // The blanks do not end.
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
        // No event can start in what was searched.
        self.offset += head.len() as u64;
        self.sought = 0;
        if self.offset >= self.until {
            self.state = State::Over;
        }
    }

    /// Start of the event after the comma or LF at `mark`, and whether events have no commas between them; `None` if there is
    /// no event.
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
        // What follows shows whether a comma precedes the line.
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

    /// Reads as far as possible; returns the number of bytes used.
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

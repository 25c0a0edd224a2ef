//! Text around events: brackets, top-level members, lines, and recovery from broken syntax.
//!
//! Takes chunks cut anywhere and finds the elements in them; [`Layouts`] scans an element once it is complete, and [`Rows`]
//! interprets it.
//!
//! ```text
//! Start ─┬─ [ ───────────────────────────── List ── ] ── End
//!        ├─ { ── Object ─┬─ "traceEvents":[  List ── ] ─┐
//!        │        ↑      ├─ "samples":[      List ── ] ─┤
//!        │        │      ├─ "stackFrames":{  Frames  } ─┤
//!        │        │      └─ any other: a fact ──────────┤
//!        │        └─────────────────────────────────────┘  } ── End
//!        └─ {"ph":…} newline {"ph":…} ── Lines
//! ```
//!
//! # Before you change this
//!
//! - A step either decides, or asks for more bytes and changes nothing: it is repeated with more bytes at the same place. What
//!   it files before it asks is filed twice. Where the bytes end must never show, so ask in every case that more bytes could
//!   decide otherwise, and at the end of the file (`eof`) never.
//! - Each byte is counted once: as framing, as left out, or with the record it belongs to. A forgotten byte is the issue
//!   `bytes-unaccounted` in `tests/accounting.rs`.
//! - Sound JSON of up to 4 MB per element is read as JSON has it, whatever it looks like. Search for swallowed events only
//!   in elements that are broken or too long.
//! - Every search is charged to the budget ([`SearchBudget`]), or a file of broken events takes quadratic time.
//! - [`ChromePart`](super::part) reads regular input like this reader, and leaves the rest to it. What becomes irregular here
//!   must end a part there.
//! - `list` and `lines` are the hot loops. State is written back only where a step may end, and an element is scanned into one
//!   [`RawEvent`] that is reused.

mod after_end;
mod finish;
mod list;
mod object;
mod recovery;
mod skip;
mod state;
#[cfg(test)]
mod tests;

use super::carry::Carry;
use super::cursor::{Cursor, frame, skip_space};
use super::facts::Facts;
use super::issues::*;
use super::layouts::Layouts;
use super::part_notes::PartNotes;
use super::rows::{Place, Rows};
use super::salvage::ListKind;
use super::sniff;
use crate::trace::TraceBuilder;
use crate::trace::ledger::{IssueKind, Position};
use object::Members;
use recovery::SearchBudget;
use state::{Comma, List, State, Step};

#[cfg(doc)]
use super::event::RawEvent;

/// Largest element or value held in memory; larger ones are skipped.
const MAX_ELEMENT_BYTES: usize = 256 << 20;
/// Bytes needed to distinguish an event from the top-level object.
const HEAD_BYTES: usize = 64 << 10;
/// Maximum length of an issue's example.
const MAX_EXAMPLE_BYTES: usize = 100;

pub struct Container {
    state: State,
    carry: Carry,
    /// File offset of the start of `carry`, or of the next chunk.
    offset: u64,
    /// Events that start at or after this offset are not read.
    pub limit: u64,
    /// Reading stands before such an event, or where a part ended.
    at_limit: bool,
    max_element: usize,
    layouts: Layouts,
    pub rows: Rows,
    pub facts: Facts,
    members: Members,
    budget: SearchBudget,
    /// Start of the event being abandoned.
    broken_example: Vec<u8>,
    /// Offset of a `]` that no event has followed yet.
    closed_at: Option<u64>,
    /// Offset and value of the first non-blank byte after the end, until it is reported.
    after_end: Option<(u64, u8)>,
    /// End of the stray text that was reported last.
    stray_end: Option<u64>,
}

impl Container {
    pub fn new() -> Container {
        Container::with_max_element(MAX_ELEMENT_BYTES)
    }

    pub fn with_max_element(max_element: usize) -> Container {
        Container {
            state: State::Start,
            carry: Carry::default(),
            offset: 0,
            limit: u64::MAX,
            at_limit: false,
            max_element,
            layouts: Layouts::default(),
            rows: Rows::default(),
            facts: Facts::default(),
            members: Members::default(),
            budget: SearchBudget::default(),
            broken_example: Vec::new(),
            closed_at: None,
            after_end: None,
            stray_end: None,
        }
    }

    /// Feeds the next chunk, up to the limit.
    pub fn feed(&mut self, chunk: &[u8], out: &mut TraceBuilder) {
        if self.at_limit && self.offset >= self.limit {
            return;
        }
        self.at_limit = false;
        let mut carry = std::mem::take(&mut self.carry);
        // Whether an event starts at the limit has to be decided now.
        let at_once = self.offset + (carry.len() + chunk.len()) as u64 > self.limit;
        carry.feed(
            chunk,
            at_once,
            |bytes| {
                if self.at_limit { bytes.len() } else { self.run(bytes, false, out) }
            },
        );
        if self.at_limit {
            carry = Carry::default();
        }
        self.carry = carry;
    }

    /// Offset of the byte to feed next.
    pub fn wants(&self) -> u64 {
        self.offset + self.carry.len() as u64
    }

    /// Whether others can read parts of the rest.
    pub fn is_among_events(&self) -> bool {
        matches!(self.state, State::List(List { kind: ListKind::Events, .. }) | State::Lines)
    }

    /// Current offset, if it is before an event and nothing else is open.
    pub fn merge_point(&self) -> Option<u64> {
        self.at_limit.then_some(self.offset)
    }

    /// Whether a part that starts here made the right assumptions. Between lines, commas make no difference.
    pub fn fits(&self, notes: &PartNotes) -> bool {
        match self.state {
            State::Lines => true,
            _ => !notes.are_lines,
        }
    }

    /// Skips what a part has read, starting here.
    pub fn continue_after_part(&mut self, end: u64, notes: &PartNotes) {
        if let State::List(list) = &mut self.state {
            list.comma = if notes.after_comma { Comma::One } else { Comma::None };
        }
        self.offset = end;
        self.at_limit = notes.at_event;
        notes.add_to(&mut self.rows.seen);
    }

    /// Reads as far as possible; returns the number of bytes used.
    fn run(&mut self, bytes: &[u8], eof: bool, out: &mut TraceBuilder) -> usize {
        let mut cursor = Cursor { bytes, at: 0, eof };
        loop {
            let step = match self.state {
                State::Start => self.start(cursor, out),
                State::List(list) => self.list(cursor, list, out),
                State::Lines => self.lines(cursor, out),
                State::Object => self.object(cursor, out),
                State::Frames => self.frames(cursor, out),
                State::Skipping(skipping) => self.skipping(cursor, skipping, out),
                State::Resync(resync) => self.resync(cursor, resync, out),
                State::End(after) => self.end(cursor, after, out),
            };
            match step {
                Step::At(next) => cursor.at = next,
                Step::NeedMore(next) => {
                    self.offset += next as u64;
                    return next;
                }
            }
        }
    }

    /// The start of the file: a list, the top-level object, or events in lines.
    fn start(&mut self, cursor: Cursor<'_>, out: &mut TraceBuilder) -> Step {
        const BOM_BYTES: &[u8] = b"\xef\xbb\xbf";
        let Cursor { bytes, at, eof } = cursor;
        if self.offset_of(at) == 0 {
            if bytes.starts_with(BOM_BYTES) {
                out.trace.ledger.file(&BOM, Position::default(), b"");
                frame(0, BOM_BYTES.len(), out);
                return Step::At(BOM_BYTES.len());
            }
            if BOM_BYTES.starts_with(bytes) && !eof {
                return Step::NeedMore(0);
            }
        }
        let cursor = self.skip_space(cursor, out);
        let at = cursor.at;
        match cursor.peek() {
            None => Step::NeedMore(at),
            Some(b'[') => {
                frame(at, at + 1, out);
                self.members.n_event_lists += 1;
                self.facts.is_bare_list = true;
                let kind = ListKind::Events;
                self.state = State::List(List { kind, in_object: false, comma: Comma::AtStart });
                Step::At(at + 1)
            }
            Some(b'{') => {
                let window = cursor.window(HEAD_BYTES);
                let complete = eof || window.len() == HEAD_BYTES;
                match sniff::is_event(window, complete) {
                    None => Step::NeedMore(at),
                    Some(true) => {
                        self.state = State::Lines;
                        Step::At(at)
                    }
                    Some(false) => {
                        frame(at, at + 1, out);
                        self.state = State::Object;
                        Step::At(at + 1)
                    }
                }
            }
            Some(_) => self.stray(cursor, out),
        }
    }

    /// File offset of the byte at `at`.
    fn offset_of(&self, at: usize) -> u64 {
        self.offset + at as u64
    }

    /// Position of the byte at `at`, for an issue.
    fn position_of(&self, at: usize) -> Position {
        Position { byte: self.offset_of(at), line: None }
    }

    fn place<'a>(&self, bytes: &'a [u8], from: usize, to: usize) -> Place<'a> {
        Place { offset: self.offset_of(from), bytes: &bytes[from..to] }
    }

    /// Reports an issue at `at`; `example` starts there.
    fn file(&self, kind: &'static IssueKind, at: usize, example: &[u8], out: &mut TraceBuilder) {
        let example = &example[..example.len().min(MAX_EXAMPLE_BYTES)];
        out.trace.ledger.file(kind, self.position_of(at), example);
    }

    /// Reports stray text, once per run of it, and skips one byte.
    fn stray(&mut self, cursor: Cursor<'_>, out: &mut TraceBuilder) -> Step {
        let at = cursor.at;
        let byte = self.offset_of(at);
        if self.stray_end != Some(byte) {
            // Chunk boundaries must not show, so the example is this byte only.
            self.file(&STRAY_TEXT, at, cursor.window(1), out);
        }
        self.stray_end = Some(byte + 1);
        out.trace.ledger.leave_out(1);
        Step::At(at + 1)
    }

    /// Skips blanks, which are framing and do not end a run of stray text.
    fn skip_space<'a>(&mut self, cursor: Cursor<'a>, out: &mut TraceBuilder) -> Cursor<'a> {
        let next = skip_space(cursor.bytes, cursor.at);
        frame(cursor.at, next, out);
        if self.stray_end == Some(self.offset_of(cursor.at)) {
            self.stray_end = Some(self.offset_of(next));
        }
        cursor.to(next)
    }
}

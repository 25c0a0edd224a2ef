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

use super::facts::Facts;
use super::issues::*;
use super::layouts::Layouts;
use super::part::Notes;
use super::rows::{Place, Rows};
use super::salvage::{
    ListKind, MAX_FOUND_BYTES, MAX_INTACT_BYTES, NEAR_BYTES, first_of, is_event_at, is_key_of_event,
    is_member_at, kind_at, may_be_open, next_event, next_member, swallowed, swallowed_near,
};
use super::scanner::{RawEvent, scan_headless, skip_value};
use super::sniff;
use crate::base::json::{JsonError, RawStr, unescape_to_string};
use crate::base::text;
use crate::base::units::counted;
use crate::import::ImportError;
use crate::trace::TraceBuilder;
use crate::trace::builder::add_named_frame;
use crate::trace::ledger::{IssueKind, Position};
use memchr::{memchr, memmem};

/// Largest element or value held in memory; larger ones are skipped.
const MAX_ELEMENT_BYTES: usize = 256 << 20;
/// Range in which brackets are matched to find the end of a broken element.
const RECOVERY_BYTES: usize = 64 << 10;
/// Bytes that may be searched for ends of broken elements, beyond those read so far.
const FREE_SEARCH_BYTES: u64 = 16 << 20;
/// Line length from which a line of an event-per-line file is checked for swallowed lines.
pub const LONG_LINE_BYTES: usize = 1 << 20;
/// Bytes kept of a broken event, as the example.
const EXAMPLE_BYTES: usize = 200;
/// Bytes needed to distinguish an event from the top-level object.
const HEAD_BYTES: usize = 64 << 10;
/// Minimum bytes added to an incomplete element before it is retried.
const MIN_CARRY_STEP: usize = 16 << 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Start,
    /// Between `[` and `]`.
    List {
        kind: ListKind,
        in_object: bool,
        comma: Comma,
    },
    /// Events in a row without brackets.
    Lines,
    /// In the top-level object.
    Object,
    /// In `stackFrames`.
    Frames,
    /// Skipping a value that is too large.
    Skipping {
        scan: SkipScan,
        start: u64,
        back: Back,
    },
    /// After broken syntax in an element that started at `start`, looking for the next element.
    Resync {
        start: u64,
        /// An event may start at the next `{`.
        ready: bool,
        back: Back,
    },
    /// After the end of the list or the top-level object.
    End(Behind),
}

/// Text after the end. An event there means that the list was closed too early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Behind {
    /// An event may start here.
    Element,
    /// In a line of text.
    Text,
    /// More JSON, which is ignored.
    Json,
}

/// Text since the last element of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comma {
    AtStart,
    None,
    One,
    /// Stray text.
    Stray,
}

/// State to return to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Back {
    List { kind: ListKind, in_object: bool },
    Lines,
    Object,
    Frames,
}

impl Back {
    /// The same state, before an event that is read whatever precedes it.
    fn at_event(self) -> State {
        match self {
            Back::List { kind, in_object } => State::List { kind, in_object, comma: Comma::One },
            other => other.state(),
        }
    }

    fn state(self) -> State {
        match self {
            Back::List { kind, in_object } => State::List { kind, in_object, comma: Comma::None },
            Back::Lines => State::Lines,
            Back::Object => State::Object,
            Back::Frames => State::Frames,
        }
    }
}

/// Finds the end of a value piece by piece.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct SkipScan {
    depth: u64,
    in_string: bool,
    after_backslash: bool,
}

impl SkipScan {
    /// Takes the next piece; returns the end of the value if it is in it.
    fn feed(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            if self.in_string {
                if self.after_backslash {
                    self.after_backslash = false;
                    continue;
                }
                match byte {
                    b'\\' => self.after_backslash = true,
                    b'"' => self.in_string = false,
                    _ => continue,
                }
                if !self.in_string && self.depth == 0 {
                    return Some(at + 1);
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                // Without brackets, only a bare word can be here.
                b',' if self.depth == 0 => return Some(at),
                _ => {}
            }
        }
        None
    }
}

/// Bytes that could not be read yet because they are incomplete.
#[derive(Default)]
pub struct Carry {
    bytes: Vec<u8>,
    /// Length at which a retry makes sense.
    retry_at: usize,
}

impl Carry {
    /// Number of waiting bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Calls `run` on the waiting bytes, then on `chunk`; it returns how many bytes it used. `at_once` retries even if that
    /// seems premature.
    pub fn feed(&mut self, chunk: &[u8], at_once: bool, mut run: impl FnMut(&[u8]) -> usize) {
        let mut rest = chunk;
        while !self.bytes.is_empty() && !rest.is_empty() {
            // Copies only as much of the chunk as the first element may need.
            let old_len = self.bytes.len();
            let wanted = self.retry_at.saturating_sub(old_len).max(MIN_CARRY_STEP);
            let take = if at_once { rest.len() } else { wanted.min(rest.len()) };
            self.bytes.extend_from_slice(&rest[..take]);
            rest = &rest[take..];
            if self.bytes.len() < self.retry_at && !at_once {
                return;
            }
            let used = run(&self.bytes);
            if used >= old_len {
                // The rest is entirely in the chunk.
                let back = self.bytes.len() - used;
                rest = &chunk[chunk.len() - rest.len() - back..];
                self.bytes.clear();
            } else {
                self.bytes.drain(..used);
                self.retry_at = self.bytes.len().saturating_mul(2);
            }
        }
        if rest.is_empty() {
            return;
        }
        let used = run(rest);
        self.bytes.clear();
        self.bytes.extend_from_slice(&rest[used..]);
        self.retry_at = self.bytes.len().saturating_mul(2);
    }
}

/// Result of a step.
enum Step {
    /// Continue at this offset of the slice.
    At(usize),
    /// More bytes are needed from this offset on.
    NeedMore(usize),
}

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
    /// Offset of a `]` that no event has followed yet.
    closed_at: Option<u64>,
    /// Offset and value of the first non-blank byte after the end, until it is reported.
    behind_end: Option<(u64, u8)>,
    stray_filed_at: Option<u64>,
    n_lists: u32,
    events_not_a_list: bool,
    foreign_key: bool,
    /// Bytes searched for ends of broken events.
    searched_bytes: u64,
    /// The file has a broken event, so others may be broken too.
    is_hurt: bool,
    /// Bytes of elements checked since, some several times.
    looked_at_bytes: u64,
    /// Start of the event being abandoned.
    broken_example: Vec<u8>,
    /// The top-level object has a member with trace data.
    has_rows: bool,
    /// Lists seen in the top-level object, by [`ListKind`].
    has_list: [bool; 2],
    /// First top-level members, for the error if none has trace data.
    first_keys: Vec<String>,
}

/// Maximum number of members in the error.
const MAX_LISTED_KEYS: usize = 4;

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
            closed_at: None,
            behind_end: None,
            stray_filed_at: None,
            n_lists: 0,
            events_not_a_list: false,
            foreign_key: false,
            searched_bytes: 0,
            is_hurt: false,
            looked_at_bytes: 0,
            broken_example: Vec::new(),
            has_rows: false,
            has_list: [false; 2],
            first_keys: Vec::new(),
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
        matches!(self.state, State::List { kind: ListKind::Events, .. } | State::Lines)
    }

    /// Current offset, if it is before an event and nothing else is open.
    pub fn joint(&self) -> Option<u64> {
        self.at_limit.then_some(self.offset)
    }

    /// Whether a part that starts here made the right assumptions. Between lines, commas make no difference.
    pub fn fits(&self, notes: &Notes) -> bool {
        match self.state {
            State::Lines => true,
            _ => !notes.are_lines,
        }
    }

    /// Skips what a part has read, starting here.
    pub fn go_on_behind(&mut self, end: u64, notes: &Notes) {
        if let State::List { comma, .. } = &mut self.state {
            *comma = if notes.after_comma { Comma::One } else { Comma::None };
        }
        self.offset = end;
        self.at_limit = notes.at_event;
        notes.add_to(&mut self.rows.seen);
    }

    /// Ends the content.
    pub fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        self.limit = u64::MAX;
        let carry = std::mem::take(&mut self.carry).bytes;
        let used = self.run(&carry, true, out);
        let rest = carry.get(used..).unwrap_or(&[]);
        let at = Position { byte: self.offset, line: None };
        let end = Position { byte: self.offset + rest.len() as u64, line: None };
        let blank = rest.iter().all(u8::is_ascii_whitespace);
        self.file_behind_end(out);
        let ledger = &mut out.trace.ledger;
        match self.state {
            State::Start
            | State::List { .. }
            | State::Lines
            | State::Object
            | State::Frames
            | State::End(_)
                if blank =>
            {
                ledger.frame(rest.len() as u64);
            }
            State::List { .. } | State::Lines => {
                self.rows.seen.n_elements += 1;
                ledger.skip_record(&CUT_EVENT, at, rest.len() as u64, rest);
            }
            State::Skipping { start, back: Back::List { .. } | Back::Lines, .. } => {
                self.rows.seen.n_elements += 1;
                ledger.skip_record(&HUGE_EVENT, Position { byte: start, line: None }, end.byte - start, rest);
            }
            State::Resync { start, .. } => {
                self.rows.seen.n_elements += 1;
                ledger.skip_record(
                    &BROKEN_EVENT,
                    Position { byte: start, line: None },
                    end.byte - start,
                    &self.broken_example,
                );
            }
            State::Skipping { start, .. } => {
                ledger.leave_out(end.byte - start);
                ledger.file(&HUGE_MEMBER, Position { byte: start, line: None }, b"");
            }
            State::Object | State::Frames => {
                ledger.leave_out(rest.len() as u64);
                ledger.file(&CUT_MEMBER, at, rest);
            }
            State::Start | State::End(_) => ledger.leave_out(rest.len() as u64),
        }
        let in_list = |state: &State| match state {
            State::List { in_object, .. } => Some(*in_object),
            State::Skipping { back: Back::List { in_object, .. }, .. }
            | State::Resync { back: Back::List { in_object, .. }, .. } => Some(*in_object),
            State::Object | State::Frames => Some(true),
            State::Skipping { back: Back::Object | Back::Frames, .. } => Some(true),
            _ => None,
        };
        match in_list(&self.state) {
            Some(true) => ledger.file(&OBJECT_UNCLOSED, end, b""),
            Some(false) => ledger.file(&ARRAY_UNCLOSED, end, b""),
            None => {}
        }
        self.offset += rest.len() as u64;
        if self.n_lists == 0 && self.rows.seen.n_elements == 0 {
            if self.events_not_a_list {
                return Err(ImportError {
                    code: "unsupported",
                    what: "traceEvents is not a list".to_string(),
                    hint: "check the tool that wrote the file".to_string(),
                });
            }
            if self.foreign_key {
                return Err(ImportError {
                    code: "unsupported",
                    what: "this JSON contains distributed-tracing spans, not Chrome trace events".to_string(),
                    hint: "export it as Chrome trace JSON with a traceEvents list".to_string(),
                });
            }
            if !self.has_rows && in_list(&self.state) == Some(true) {
                return Err(ImportError {
                    code: "no-events",
                    what: format!(
                        "the file is truncated: it ends after {}, before the event list (traceEvents)",
                        counted(self.offset, "byte", "bytes")
                    ),
                    hint: "copy the file again, or wait until the tool has finished writing it".to_string(),
                });
            }
            if !self.has_rows && !self.first_keys.is_empty() {
                return Err(ImportError {
                    code: "no-events",
                    what: format!(
                        "this JSON is not a trace: it has no traceEvents; it starts with members {}",
                        self.first_keys.join(", ")
                    ),
                    hint: "see the supported formats, on the start page or with `tracedrop formats`"
                        .to_string(),
                });
            }
        }
        Ok(())
    }

    /// Reads as far as possible; returns the number of bytes used.
    fn run(&mut self, bytes: &[u8], eof: bool, out: &mut TraceBuilder) -> usize {
        let mut at = 0;
        let start = self.offset;
        loop {
            let step = match self.state {
                State::Start => self.start(bytes, at, eof, out),
                State::List { kind, in_object, comma } => {
                    self.list(bytes, at, eof, kind, in_object, comma, out)
                }
                State::Lines => self.lines(bytes, at, eof, out),
                State::Object => self.object(bytes, at, eof, out),
                State::Frames => self.frames(bytes, at, eof, out),
                State::Skipping { scan, start, back } => self.skipping(bytes, at, scan, start, back, out),
                State::Resync { start, ready, back } => self.resync(bytes, at, eof, start, ready, back, out),
                State::End(behind) => self.end(bytes, at, eof, behind, out),
            };
            match step {
                Step::At(next) => at = next,
                Step::NeedMore(next) => {
                    self.offset = start + next as u64;
                    return next;
                }
            }
            self.offset = start;
        }
    }

    fn place<'a>(&self, bytes: &'a [u8], from: usize, to: usize) -> Place<'a> {
        Place { offset: self.offset + from as u64, bytes: &bytes[from..to] }
    }

    fn file(&self, kind: &'static IssueKind, bytes: &[u8], at: usize, out: &mut TraceBuilder) {
        let example = &bytes[at..bytes.len().min(at + 100)];
        out.trace.ledger.file(kind, Position { byte: self.offset + at as u64, line: None }, example);
    }

    /// Reports stray text, once per run of it, and skips one byte.
    fn stray(&mut self, bytes: &[u8], at: usize, out: &mut TraceBuilder) -> Step {
        let byte = self.offset + at as u64;
        if self.stray_filed_at != Some(byte) {
            // Chunk boundaries must not show, so the example is this byte only.
            let example = &bytes[at..at + 1];
            out.trace.ledger.file(&STRAY_TEXT, Position { byte, line: None }, example);
        }
        self.stray_filed_at = Some(byte + 1);
        out.trace.ledger.leave_out(1);
        Step::At(at + 1)
    }

    /// Skips blanks, which are framing and do not end a run of stray text.
    fn skip_space(&mut self, bytes: &[u8], at: usize, out: &mut TraceBuilder) -> usize {
        let next = skip_space(bytes, at);
        frame(at, next, out);
        if self.stray_filed_at == Some(self.offset + at as u64) {
            self.stray_filed_at = Some(self.offset + next as u64);
        }
        next
    }

    /// Whether so much was searched for ends of broken events that only near ones are still considered.
    fn is_out_of_patience(&self, at: usize) -> bool {
        self.searched_bytes > self.offset + at as u64 + FREE_SEARCH_BYTES
    }

    /// Reads the element at `at`. If others were broken, its start alone is checked first, in case it shows there that this
    /// one is broken too.
    #[inline]
    fn scan<'a>(&mut self, bytes: &'a [u8], at: usize, event: &mut RawEvent<'a>) -> Result<usize, JsonError> {
        event.clear();
        if self.is_hurt { self.scan_warily(bytes, at, event) } else { self.layouts.scan(bytes, at, event) }
    }

    #[cold]
    fn scan_warily<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        event: &mut RawEvent<'a>,
    ) -> Result<usize, JsonError> {
        for len in NEAR_BYTES {
            let Some(window) = bytes.get(..at + len) else { break };
            self.looked_at_bytes += len as u64;
            match self.layouts.scan(window, at, event) {
                Err(JsonError::Cut) if swallowed_near(&window[at..]).is_some() => return Err(JsonError::Cut),
                Err(JsonError::Cut) => event.clear(),
                result => return result,
            }
        }
        if self.is_out_of_patience(at) && may_be_open(&bytes[at..]) {
            return Err(JsonError::Cut);
        }
        let result = self.layouts.scan(bytes, at, event);
        self.looked_at_bytes += (result.as_ref().map_or(bytes.len(), |end| *end) - at) as u64;
        result
    }

    /// Start of an event near the start of the element at `at`, which is broken before it; elements that end near are not
    /// checked. `Err` if more bytes are needed to decide.
    fn event_near(&mut self, bytes: &[u8], at: usize, eof: bool) -> Result<Option<usize>, JsonError> {
        for len in NEAR_BYTES {
            let window = &bytes[at..bytes.len().min(at + len)];
            match self.layouts.scan(window, 0, &mut RawEvent::default()) {
                Err(JsonError::Cut) if window.len() < len && !eof => return Err(JsonError::Cut),
                Err(JsonError::Cut) => {}
                _ => return Ok(None),
            }
            if let Some(next) = swallowed_near(window) {
                self.is_hurt = true;
                return Ok(Some(at + next));
            }
        }
        Ok(None)
    }

    fn start(&mut self, bytes: &[u8], at: usize, eof: bool, out: &mut TraceBuilder) -> Step {
        const BOM_BYTES: &[u8] = b"\xef\xbb\xbf";
        if self.offset + at as u64 == 0 {
            if bytes.starts_with(BOM_BYTES) {
                out.trace.ledger.file(&BOM, Position::default(), b"");
                frame(0, BOM_BYTES.len(), out);
                return Step::At(BOM_BYTES.len());
            }
            if BOM_BYTES.starts_with(bytes) && !eof {
                return Step::NeedMore(0);
            }
        }
        let at = self.skip_space(bytes, at, out);
        match bytes.get(at) {
            None => Step::NeedMore(at),
            Some(b'[') => {
                frame(at, at + 1, out);
                self.n_lists += 1;
                self.facts.is_bare_list = true;
                self.state = State::List { kind: ListKind::Events, in_object: false, comma: Comma::AtStart };
                Step::At(at + 1)
            }
            Some(b'{') => {
                let window = &bytes[at..bytes.len().min(at + HEAD_BYTES)];
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
            Some(_) => self.stray(bytes, at, out),
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of the state, taken apart by the caller")]
    fn list(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        eof: bool,
        kind: ListKind,
        in_object: bool,
        mut comma: Comma,
        out: &mut TraceBuilder,
    ) -> Step {
        let back = Back::List { kind, in_object };
        let mut event = RawEvent::default();
        loop {
            let before = at;
            at = skip_space(bytes, at);
            frame(before, at, out);
            self.state = State::List { kind, in_object, comma };
            match bytes.get(at) {
                None => return Step::NeedMore(at),
                Some(b',') => {
                    if matches!(comma, Comma::AtStart | Comma::One) {
                        self.file(&EXTRA_COMMA, &bytes[..at + 1], at, out);
                    }
                    comma = Comma::One;
                    frame(at, at + 1, out);
                    at += 1;
                }
                Some(b']') => {
                    frame(at, at + 1, out);
                    if kind == ListKind::Events {
                        self.closed_at = Some(self.offset + at as u64);
                    }
                    self.state = if in_object { State::Object } else { State::End(Behind::Element) };
                    return Step::At(at + 1);
                }
                Some(b'{') => {
                    if comma == Comma::None {
                        self.file(&MISSING_COMMA, &bytes[..at + 1], at, out);
                    }
                    // Reported once, even if the element is retried.
                    comma = Comma::One;
                    self.state = State::List { kind, in_object, comma };
                    if self.offset + at as u64 >= self.limit && kind == ListKind::Events {
                        self.at_limit = true;
                        return Step::NeedMore(at);
                    }
                    match self.scan(bytes, at, &mut event) {
                        Ok(end) if end - at <= self.max_element => {
                            if kind == ListKind::Events
                                && let Some(len) = swallowed(&event, &bytes[at..end])
                            {
                                return self.go_to_event(bytes, at, at + len, back, out);
                            }
                            let place = self.place(bytes, at, end);
                            match kind {
                                ListKind::Events => self.rows.add(&event, place, out),
                                ListKind::Samples => {
                                    self.rows.seen.n_elements += 1;
                                    self.rows.add_sample(&event, place, out);
                                }
                            }
                            at = end;
                            comma = Comma::None;
                        }
                        problem => {
                            if kind == ListKind::Events {
                                match self.event_near(bytes, at, eof) {
                                    Ok(Some(next)) => return self.go_to_event(bytes, at, next, back, out),
                                    Ok(None) => {}
                                    Err(_) => return Step::NeedMore(at),
                                }
                            }
                            return self.bad_element(bytes, at, eof, problem.err(), back, out);
                        }
                    }
                }
                Some(_) if comma == Comma::Stray => {
                    self.stray_filed_at = Some(self.offset + at as u64);
                    return self.other_element(bytes, at, eof, back, true, out);
                }
                Some(_) => return self.other_element(bytes, at, eof, back, false, out),
            }
        }
    }

    fn lines(&mut self, bytes: &[u8], mut at: usize, eof: bool, out: &mut TraceBuilder) -> Step {
        let mut event = RawEvent::default();
        loop {
            let before = at;
            at = skip_space(bytes, at);
            frame(before, at, out);
            match bytes.get(at) {
                None => return Step::NeedMore(at),
                Some(b',') => {
                    frame(at, at + 1, out);
                    at += 1;
                }
                Some(b'{') => {
                    if self.offset + at as u64 >= self.limit {
                        self.at_limit = true;
                        return Step::NeedMore(at);
                    }
                    match self.scan(bytes, at, &mut event) {
                        Ok(end) if end - at <= LONG_LINE_BYTES.min(self.max_element) => {
                            if let Some(len) = swallowed(&event, &bytes[at..end]) {
                                return self.go_to_event(bytes, at, at + len, Back::Lines, out);
                            }
                            let place = self.place(bytes, at, end);
                            self.rows.add(&event, place, out);
                            at = end;
                        }
                        problem => {
                            match self.event_near(bytes, at, eof) {
                                Ok(Some(next)) => return self.go_to_event(bytes, at, next, Back::Lines, out),
                                Ok(None) => {}
                                Err(_) => return Step::NeedMore(at),
                            }
                            // Brackets left open by a truncated line would swallow all lines after it.
                            let is_long = bytes.len() - at > LONG_LINE_BYTES;
                            let is_open = matches!(problem, Ok(_) | Err(JsonError::Cut));
                            if is_open && (is_long || eof) {
                                let head = &bytes[at..bytes.len().min(at + LONG_LINE_BYTES)];
                                if let Some(len) = memmem::find(head, b"\n{") {
                                    return self.lose_sync(bytes, at, at + len, Back::Lines);
                                }
                            }
                            match problem {
                                Ok(end) if end - at <= self.max_element => {
                                    let place = self.place(bytes, at, end);
                                    self.rows.add(&event, place, out);
                                    at = end;
                                }
                                problem => {
                                    return self.bad_element(bytes, at, eof, problem.err(), Back::Lines, out);
                                }
                            }
                        }
                    }
                }
                Some(_) => return self.other_element(bytes, at, eof, Back::Lines, false, out),
            }
        }
    }

    /// Handles an object that is truncated, broken, or too large (`None`).
    fn bad_element(
        &mut self,
        bytes: &[u8],
        at: usize,
        eof: bool,
        problem: Option<JsonError>,
        back: Back,
        out: &mut TraceBuilder,
    ) -> Step {
        match problem {
            None => self.skip_long(at, back),
            Some(JsonError::Cut) => {
                if let Some(next) = self.event_in_open(bytes, at, eof) {
                    return self.go_to_event(bytes, at, next, back, out);
                }
                if bytes.len() - at > self.max_element {
                    self.skip_long(at, back)
                } else {
                    Step::NeedMore(at)
                }
            }
            Some(JsonError::Syntax { at: error_at, .. }) => {
                // The cost of searching for ends of broken events stays proportional to the file.
                if back == Back::Lines || self.is_out_of_patience(at) {
                    return self.lose_sync(bytes, at, error_at, back);
                }
                let limit = bytes.len().min(error_at + RECOVERY_BYTES);
                let is_whole = eof || limit == error_at + RECOVERY_BYTES;
                let end = skip_value(&bytes[..limit], at);
                let is_end = match end {
                    Ok(end) => may_follow(&bytes[..limit], end),
                    Err(JsonError::Cut) => None,
                    Err(JsonError::Syntax { .. }) => Some(false),
                };
                if is_end != Some(true) && !is_whole {
                    return Step::NeedMore(at);
                }
                self.charge(end.as_ref().map_or(limit, |end| *end) - at);
                let end = end.ok().filter(|_| is_end.unwrap_or(limit == bytes.len()));
                // A stray quote changes the meaning of brackets, so the end may be after other events, or inside one.
                let next = next_event(&bytes[..end.unwrap_or(limit)], at + 1);
                match (next, end) {
                    (Some(next), _) => self.go_to_event(bytes, at, next, back, out),
                    (None, Some(end)) => self.skip_broken(bytes, at, end, back, out),
                    (None, None) => self.lose_sync(bytes, at, error_at, back),
                }
            }
        }
    }

    /// Start of the first event in a value that should have ended by now but has not.
    fn event_in_open(&mut self, bytes: &[u8], at: usize, eof: bool) -> Option<usize> {
        let max_bytes = if self.is_out_of_patience(at) { NEAR_BYTES[1] } else { MAX_INTACT_BYTES };
        let limit = bytes.len().min(at + max_bytes);
        if !eof && limit < at + max_bytes {
            return None;
        }
        let next = next_event(&bytes[..limit], at + 1);
        if next.is_some() {
            self.charge(limit - at);
        }
        next
    }

    /// Adds to the bytes searched for the end of an element.
    fn charge(&mut self, n_bytes: usize) {
        self.is_hurt = true;
        self.searched_bytes += n_bytes as u64;
        self.looked_at_bytes += n_bytes as u64;
    }

    /// Skips the element at `at`, since another event starts in it at `next`.
    fn go_to_event(
        &mut self,
        bytes: &[u8],
        at: usize,
        next: usize,
        back: Back,
        out: &mut TraceBuilder,
    ) -> Step {
        let step = self.skip_broken(bytes, at, next, back, out);
        self.state = back.at_event();
        step
    }

    /// Handles an element at `at` that is broken at `error_at` and whose end is unknown.
    fn lose_sync(&mut self, bytes: &[u8], at: usize, error_at: usize, back: Back) -> Step {
        let start = self.offset + at as u64;
        self.broken_example.clear();
        self.broken_example.extend_from_slice(&bytes[at..error_at.clamp(at + 1, at + EXAMPLE_BYTES)]);
        // The byte that shows the error may be in the next element.
        let before = bytes[at..error_at.max(at)].iter().rev().find(|byte| !byte.is_ascii_whitespace());
        let ready = matches!(back, Back::List { .. }) && before == Some(&b',');
        self.state = State::Resync { start, ready, back };
        // A line may have ended long before the error shows.
        Step::At(if back == Back::Lines { at + 1 } else { error_at.max(at + 1) })
    }

    fn skip_broken(
        &mut self,
        bytes: &[u8],
        at: usize,
        end: usize,
        back: Back,
        out: &mut TraceBuilder,
    ) -> Step {
        let place = self.place(bytes, at, end);
        self.rows.seen.n_elements += 1;
        let position = Position { byte: place.offset, line: None };
        out.trace.ledger.skip_record(&BROKEN_EVENT, position, place.len(), place.bytes);
        self.state = back.state();
        Step::At(end)
    }

    fn skip_long(&mut self, at: usize, back: Back) -> Step {
        self.state = State::Skipping { scan: SkipScan::default(), start: self.offset + at as u64, back };
        Step::At(at)
    }

    /// Handles a list element that is not an object.
    fn other_element(
        &mut self,
        bytes: &[u8],
        at: usize,
        eof: bool,
        back: Back,
        in_stray: bool,
        out: &mut TraceBuilder,
    ) -> Step {
        if !in_stray && is_key_of_event(&bytes[at..]) {
            // An event whose opening bracket is missing.
            let window = &bytes[..bytes.len().min(at + RECOVERY_BYTES)];
            match scan_headless(window, at) {
                Ok((_, end)) => match next_event(&bytes[..end], at) {
                    Some(next) => return self.go_to_event(bytes, at, next, back, out),
                    None => return self.skip_broken(bytes, at, end, back, out),
                },
                Err(JsonError::Cut) if !eof && window.len() < at + RECOVERY_BYTES => {
                    return Step::NeedMore(at);
                }
                Err(_) => {}
            }
        }
        if bytes[at] == b'"' && matches!(back, Back::List { in_object: true, .. }) {
            match is_member_at(bytes, at, eof) {
                None => return Step::NeedMore(at),
                Some(true) => {
                    self.file(&LIST_UNCLOSED, bytes, at, out);
                    self.closed_at.get_or_insert(self.offset + at as u64);
                    self.state = State::Object;
                    return Step::At(at);
                }
                Some(false) => {}
            }
        }
        if bytes[at] == b'[' && self.is_out_of_patience(at) && may_be_open(&bytes[at..]) {
            let window = &bytes[at..at + NEAR_BYTES[1]];
            if skip_value(window, 0).is_err() {
                return self.stray_in(bytes, at, back, out);
            }
        }
        let end = skip_value(bytes, at);
        if let Some(b'"' | b'[') = bytes.get(at) {
            // Stray quotes and brackets end where others start.
            let is_stray = match end {
                Ok(end) => match ends_element(bytes, end, eof) {
                    None => return Step::NeedMore(at),
                    Some(is_end) => {
                        let is_stray = !is_end
                            && (in_stray || bytes[at] == b'"' || next_event(&bytes[..end], at + 1).is_some());
                        if is_stray && bytes[at] == b'[' {
                            self.charge(end - at);
                        }
                        is_stray
                    }
                },
                Err(_) => self.event_in_open(bytes, at, eof).is_some(),
            };
            if is_stray {
                return self.stray_in(bytes, at, back, out);
            }
        }
        match end {
            Ok(_) if in_stray && !matches!(bytes[at], b'"' | b'[') => self.stray_in(bytes, at, back, out),
            Ok(end) if end - at <= self.max_element => {
                let place = self.place(bytes, at, end);
                self.rows.seen.n_elements += 1;
                let position = Position { byte: place.offset, line: None };
                out.trace.ledger.skip_record(&NOT_AN_OBJECT, position, place.len(), place.bytes);
                self.state = back.state();
                Step::At(end)
            }
            Ok(_) => self.skip_long(at, back),
            Err(JsonError::Cut) if bytes.len() - at > self.max_element => self.skip_long(at, back),
            Err(JsonError::Cut) => Step::NeedMore(at),
            Err(JsonError::Syntax { .. }) => self.stray_in(bytes, at, back, out),
        }
    }

    /// Handles stray text between elements.
    fn stray_in(&mut self, bytes: &[u8], at: usize, back: Back, out: &mut TraceBuilder) -> Step {
        if let Back::List { kind, in_object } = back {
            self.state = State::List { kind, in_object, comma: Comma::Stray };
        }
        self.stray(bytes, at, out)
    }

    fn object(&mut self, bytes: &[u8], at: usize, eof: bool, out: &mut TraceBuilder) -> Step {
        let at = self.skip_space(bytes, at, out);
        match bytes.get(at) {
            None => Step::NeedMore(at),
            Some(b',') => {
                frame(at, at + 1, out);
                Step::At(at + 1)
            }
            Some(b'}') => {
                frame(at, at + 1, out);
                self.state = State::End(Behind::Element);
                Step::At(at + 1)
            }
            Some(b'{') if self.closed_at.is_some() => match self.is_event_behind(bytes, at, eof) {
                None => Step::NeedMore(at),
                Some(true) => self.go_back_into_list(at, out),
                Some(false) => self.stray(bytes, at, out),
            },
            Some(b'{' | b'[') => match self.list_at(bytes, at, eof) {
                None => Step::NeedMore(at),
                Some(Some(kind)) => {
                    self.file(&LIST_UNNAMED, bytes, at, out);
                    self.go_into_list(bytes, at, kind, out)
                }
                Some(None) => {
                    self.charge(MAX_FOUND_BYTES.min(bytes.len() - at));
                    self.stray(bytes, at, out)
                }
            },
            Some(b'"') => match key_and_value(bytes, at) {
                Err(JsonError::Cut) if bytes.len() - at > self.max_element => {
                    self.skip_long(at, Back::Object)
                }
                Err(JsonError::Cut) => Step::NeedMore(at),
                Err(JsonError::Syntax { .. }) => self.stray(bytes, at, out),
                Ok((key, value)) => self.top_member(bytes, at, eof, key, value, out),
            },
            Some(_) => self.stray(bytes, at, out),
        }
    }

    /// Kind of the list that starts at `at`, or whose element starts there without a bracket before it; `None` if undecided.
    fn list_at(&self, bytes: &[u8], at: usize, eof: bool) -> Option<Option<ListKind>> {
        if self.is_out_of_patience(at) {
            return Some(None);
        }
        let first = if bytes.get(at) == Some(&b'[') { skip_space(bytes, at + 1) } else { at };
        match bytes.get(first) {
            None if !eof && first < at + MAX_FOUND_BYTES => return None,
            Some(b'{') => {}
            _ => return Some(None),
        }
        kind_at(bytes, first, eof)
    }

    /// Enters the list at `at`, with or without its bracket.
    fn go_into_list(&mut self, bytes: &[u8], at: usize, kind: ListKind, out: &mut TraceBuilder) -> Step {
        let n_brackets = usize::from(bytes.get(at) == Some(&b'['));
        frame(at, at + n_brackets, out);
        (self.has_rows, self.has_list[kind as usize]) = (true, true);
        self.n_lists += u32::from(kind == ListKind::Events);
        self.state = State::List { kind, in_object: true, comma: Comma::AtStart };
        Step::At(at + n_brackets)
    }

    /// Skips the broken member at `at`; another one starts at `next`.
    fn lose_member(&mut self, bytes: &[u8], at: usize, next: usize, out: &mut TraceBuilder) -> Step {
        self.file(&BROKEN_MEMBER, bytes, at, out);
        out.trace.ledger.leave_out((next - at) as u64);
        self.is_hurt = true;
        self.state = State::Object;
        Step::At(next)
    }

    /// Start of another member in a value that should have ended by now but has not.
    fn member_in_open(bytes: &[u8], value: usize, eof: bool) -> Option<usize> {
        let limit = bytes.len().min(value + MAX_INTACT_BYTES);
        if !eof && limit < value + MAX_INTACT_BYTES {
            return None;
        }
        next_member(&bytes[..limit], value)
    }

    /// Handles a top-level member; its key starts at `at`, its value at `value`.
    fn top_member(
        &mut self,
        bytes: &[u8],
        at: usize,
        eof: bool,
        key: RawStr<'_>,
        value: usize,
        out: &mut TraceBuilder,
    ) -> Step {
        let written = unescape_to_string(key);
        let known = written.as_bytes();
        self.has_rows |= matches!(known, b"traceEvents" | b"samples" | b"stackFrames");
        if self.first_keys.len() < MAX_LISTED_KEYS {
            let name = text::example(key.bytes, 24);
            // An incomplete member comes again.
            if self.first_keys.last() != Some(&name) {
                self.first_keys.push(name);
            }
        }
        let list = match known {
            b"traceEvents" => Some(ListKind::Events),
            b"samples" => Some(ListKind::Samples),
            _ => None,
        };
        let mut is_list_left_out = false;
        match (list, bytes.get(value)) {
            (Some(kind), Some(b'[')) => {
                frame(at, value, out);
                return self.go_into_list(bytes, value, kind, out);
            }
            (Some(kind), Some(b'{')) => match self.list_at(bytes, value, eof) {
                None => return Step::NeedMore(at),
                Some(found) if found == Some(kind) => {
                    self.file(&LIST_UNOPENED, bytes, value, out);
                    frame(at, value, out);
                    return self.go_into_list(bytes, value, kind, out);
                }
                Some(_) => {}
            },
            (None, Some(b'{')) if known == b"stackFrames" => {
                frame(at, value + 1, out);
                self.state = State::Frames;
                return Step::At(value + 1);
            }
            (None, Some(b'[')) => match self.list_at(bytes, value, eof) {
                None => return Step::NeedMore(at),
                Some(None) => {}
                // A second list may repeat the first.
                Some(Some(kind)) if self.has_list[kind as usize] => is_list_left_out = true,
                Some(Some(kind)) => {
                    self.file(&LIST_OF_OTHER_NAME, bytes, at, out);
                    frame(at, value, out);
                    return self.go_into_list(bytes, value, kind, out);
                }
            },
            _ => {}
        }
        let end = skip_value(bytes, value);
        // A stray or missing quote joins several members into one value.
        let next = match &end {
            Ok(end) if bytes.get(value) == Some(&b'"') => match is_member_at(bytes, end - 1, eof) {
                None => return Step::NeedMore(at),
                Some(is_next) => is_next.then_some(end - 1),
            },
            Ok(end) => next_member(&bytes[..*end.min(&(value + MAX_INTACT_BYTES))], value),
            Err(JsonError::Cut) => Self::member_in_open(bytes, value, eof),
            Err(JsonError::Syntax { .. }) => None,
        };
        if let Some(next) = next {
            return self.lose_member(bytes, at, next, out);
        }
        match end {
            // A bare word or number may continue in the next chunk, which only the scanner knows.
            Ok(end) if end - at <= self.max_element => {
                if list.is_some() {
                    self.events_not_a_list |= list == Some(ListKind::Events);
                    self.file(&NOT_AN_ARRAY, &bytes[..end], value, out);
                    out.trace.ledger.leave_out((end - at) as u64);
                } else if is_list_left_out {
                    self.file(&SECOND_LIST, &bytes[..end], at, out);
                    out.trace.ledger.leave_out((end - at) as u64);
                } else {
                    frame(at, end, out);
                    self.foreign_key |=
                        matches!(known, b"traces" | b"spans" | b"projectId" | b"resourceSpans");
                    let position = Position { byte: self.offset + value as u64, line: None };
                    self.facts.member(key, &bytes[value..end], position, out);
                }
                Step::At(end)
            }
            Ok(_) => self.skip_long_member(at, value, Back::Object, out),
            Err(JsonError::Cut) if bytes.len() - value > self.max_element => {
                self.skip_long_member(at, value, Back::Object, out)
            }
            Err(JsonError::Cut) => Step::NeedMore(at),
            Err(JsonError::Syntax { .. }) => {
                out.trace.ledger.leave_out((value - at) as u64);
                self.stray(bytes, value, out)
            }
        }
    }

    /// Skips the value of a member that starts at `at`.
    fn skip_long_member(&mut self, at: usize, value: usize, back: Back, out: &mut TraceBuilder) -> Step {
        frame(at, value, out);
        self.skip_long(value, back)
    }

    fn frames(&mut self, bytes: &[u8], at: usize, eof: bool, out: &mut TraceBuilder) -> Step {
        let before = at;
        let at = skip_space(bytes, at);
        frame(before, at, out);
        match bytes.get(at) {
            None => Step::NeedMore(at),
            Some(b',') => {
                frame(at, at + 1, out);
                Step::At(at + 1)
            }
            Some(b'}') => {
                frame(at, at + 1, out);
                self.state = State::Object;
                Step::At(at + 1)
            }
            Some(b'"') if is_member_at(bytes, at, true) == Some(true) => {
                self.file(&LIST_UNCLOSED, bytes, at, out);
                self.state = State::Object;
                Step::At(at)
            }
            Some(b'"') => match key_and_value(bytes, at) {
                Ok((key, value)) => match skip_value(bytes, value) {
                    Ok(end) if end - at <= self.max_element => {
                        if let Some(next) = next_member(&bytes[..end], value) {
                            return self.lose_member(bytes, at, next, out);
                        }
                        frame(at, end, out);
                        add_named_frame(out, &unescape_to_string(key), &bytes[value..end]);
                        Step::At(end)
                    }
                    Ok(_) => self.skip_long_member(at, value, Back::Frames, out),
                    Err(JsonError::Cut) => match Self::member_in_open(bytes, value, eof) {
                        Some(next) => self.lose_member(bytes, at, next, out),
                        None if bytes.len() - value > self.max_element => {
                            self.skip_long_member(at, value, Back::Frames, out)
                        }
                        None => Step::NeedMore(at),
                    },
                    Err(JsonError::Syntax { .. }) => {
                        out.trace.ledger.leave_out((value - at) as u64);
                        self.stray(bytes, value, out)
                    }
                },
                Err(JsonError::Cut) if bytes.len() - at > self.max_element => {
                    self.skip_long(at, Back::Frames)
                }
                Err(JsonError::Cut) => Step::NeedMore(at),
                Err(JsonError::Syntax { .. }) => self.stray(bytes, at, out),
            },
            Some(_) => self.stray(bytes, at, out),
        }
    }

    fn skipping(
        &mut self,
        bytes: &[u8],
        at: usize,
        mut scan: SkipScan,
        start: u64,
        back: Back,
        out: &mut TraceBuilder,
    ) -> Step {
        match scan.feed(&bytes[at..]) {
            None => {
                self.state = State::Skipping { scan, start, back };
                Step::NeedMore(bytes.len())
            }
            Some(len) => {
                let end = at + len;
                let position = Position { byte: start, line: None };
                if matches!(back, Back::List { .. } | Back::Lines) {
                    self.rows.seen.n_elements += 1;
                    out.trace.ledger.skip_record(
                        &HUGE_EVENT,
                        position,
                        self.offset + end as u64 - start,
                        b"",
                    );
                } else {
                    out.trace.ledger.leave_out(self.offset + end as u64 - start);
                    out.trace.ledger.file(&HUGE_MEMBER, position, b"");
                }
                self.state = back.state();
                Step::At(end)
            }
        }
    }

    /// After broken syntax, moves to the next `{` after a comma, or to the next line if events are lines.
    #[allow(clippy::too_many_arguments, reason = "the parts of the state, taken apart by the caller")]
    fn resync(
        &mut self,
        bytes: &[u8],
        at: usize,
        eof: bool,
        start: u64,
        mut ready: bool,
        back: Back,
        out: &mut TraceBuilder,
    ) -> Step {
        for (index, byte) in bytes.iter().enumerate().skip(at) {
            match byte {
                b'{' if ready => {
                    let end = self.offset + index as u64;
                    self.rows.seen.n_elements += 1;
                    let position = Position { byte: start, line: None };
                    out.trace.ledger.skip_record(&BROKEN_EVENT, position, end - start, &self.broken_example);
                    self.state = back.at_event();
                    return Step::At(index);
                }
                b'"' if ready && matches!(back, Back::List { in_object: true, .. }) => {
                    match is_member_at(bytes, index, eof) {
                        None => {
                            self.state = State::Resync { start, ready, back };
                            return Step::NeedMore(index);
                        }
                        Some(true) => {
                            let end = self.offset + index as u64;
                            self.rows.seen.n_elements += 1;
                            let position = Position { byte: start, line: None };
                            let example = &self.broken_example;
                            out.trace.ledger.skip_record(&BROKEN_EVENT, position, end - start, example);
                            self.state = State::Object;
                            return Step::At(index);
                        }
                        Some(false) => ready = false,
                    }
                }
                b'\n' if back == Back::Lines => ready = true,
                b',' if back != Back::Lines => ready = true,
                byte if byte.is_ascii_whitespace() => {}
                _ => ready = false,
            }
        }
        self.state = State::Resync { start, ready, back };
        Step::NeedMore(bytes.len())
    }

    /// Whether an event starts at `at`, after the end of the list; `None` if undecided.
    fn is_event_behind(&mut self, bytes: &[u8], at: usize, eof: bool) -> Option<bool> {
        if self.closed_at.is_none() || self.is_out_of_patience(at) {
            return Some(false);
        }
        let is_event = is_event_at(bytes, at, eof)?;
        if !is_event {
            self.charge(MAX_FOUND_BYTES.min(bytes.len() - at));
        }
        Some(is_event)
    }

    /// Handles an event at `at` after the end of the list, which was closed too early.
    fn go_back_into_list(&mut self, at: usize, out: &mut TraceBuilder) -> Step {
        let ledger = &mut out.trace.ledger;
        let closed_at = self.closed_at.take().unwrap_or(self.offset + at as u64);
        ledger.file(&CLOSED_EARLY, Position { byte: closed_at, line: None }, b"]");
        if let Some((byte, example)) = self.behind_end.take() {
            ledger.file(&STRAY_TEXT, Position { byte, line: None }, &[example]);
        }
        let in_object = !self.facts.is_bare_list;
        self.state = State::List { kind: ListKind::Events, in_object, comma: Comma::One };
        Step::At(at)
    }

    fn end(&mut self, bytes: &[u8], at: usize, eof: bool, behind: Behind, out: &mut TraceBuilder) -> Step {
        // Continues at `end` and counts the bytes before it as unused.
        let leave_out = |end: usize, out: &mut TraceBuilder| out.trace.ledger.leave_out((end - at) as u64);
        match behind {
            Behind::Json => {
                leave_out(bytes.len(), out);
                return Step::NeedMore(bytes.len());
            }
            Behind::Text => {
                let Some(len) = memchr(b'\n', &bytes[at..]) else {
                    leave_out(bytes.len(), out);
                    return Step::NeedMore(bytes.len());
                };
                leave_out(at + len, out);
                self.state = State::End(Behind::Element);
                return Step::At(at + len);
            }
            Behind::Element => {}
        }
        let before = at;
        let at = skip_space(bytes, at);
        frame(before, at, out);
        let Some(byte) = bytes.get(at) else { return Step::NeedMore(at) };
        let next = match byte {
            // The object was closed too early.
            b'"' if !self.facts.is_bare_list => match is_member_at(bytes, at, eof) {
                None => return Step::NeedMore(at),
                Some(true) => {
                    self.file_behind_end(out);
                    self.file(&MEMBER_BEHIND_END, bytes, at, out);
                    self.state = State::Object;
                    return Step::At(at);
                }
                Some(false) => Behind::Text,
            },
            // An object without events may be the first of several lines.
            b'{' if self.n_lists == 0 && !self.events_not_a_list => {
                self.state = State::Start;
                return Step::At(at);
            }
            b'{' | b'[' => {
                let window = &bytes[at + 1..bytes.len().min(at + MAX_FOUND_BYTES)];
                let first = first_of(window);
                if first.is_none() && !eof && window.len() + 1 < MAX_FOUND_BYTES {
                    return Step::NeedMore(at);
                }
                if *byte == b'{' {
                    match self.is_event_behind(bytes, at, eof) {
                        None => return Step::NeedMore(at),
                        Some(true) => return self.go_back_into_list(at, out),
                        Some(false) => {}
                    }
                }
                match (byte, first) {
                    (_, None) | (b'{', Some(b'"' | b'}')) | (b'[', Some(b'{' | b']')) => Behind::Json,
                    _ => Behind::Text,
                }
            }
            b',' | b']' | b'}' => Behind::Element,
            _ => Behind::Text,
        };
        self.behind_end.get_or_insert((self.offset + at as u64, *byte));
        if next == Behind::Json {
            self.file_behind_end(out);
        }
        out.trace.ledger.leave_out(1);
        self.state = State::End(next);
        Step::At(at + 1)
    }

    /// Reports text after the end as not part of the trace.
    fn file_behind_end(&mut self, out: &mut TraceBuilder) {
        if let Some((byte, example)) = self.behind_end.take() {
            out.trace.ledger.file(&TEXT_AFTER_END, Position { byte, line: None }, &[example]);
        }
    }
}

/// Counts the bytes between two offsets as framing.
#[inline]
pub fn frame(from: usize, to: usize, out: &mut TraceBuilder) {
    out.trace.ledger.frame((to - from) as u64);
}

#[inline]
pub fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Whether the text at `at` may follow an event in a list; `None` if undecided.
fn may_follow(bytes: &[u8], at: usize) -> Option<bool> {
    let at = skip_space(bytes, at);
    let next = if *bytes.get(at)? == b',' { skip_space(bytes, at + 1) } else { at };
    match *bytes.get(next)? {
        b']' => Some(true),
        b'{' => Some(matches!(*bytes.get(skip_space(bytes, next + 1))?, b'"' | b'}')),
        _ => Some(false),
    }
}

/// Whether a list element may end before `at`; `None` if undecided.
fn ends_element(bytes: &[u8], at: usize, eof: bool) -> Option<bool> {
    let at = skip_space(bytes, at);
    match bytes.get(at) {
        None => eof.then_some(false),
        Some(b',') => match bytes.get(skip_space(bytes, at + 1)) {
            None => eof.then_some(true),
            // A key would belong to the object around the list.
            Some(byte) => Some(*byte != b'"' || !is_key(bytes, skip_space(bytes, at + 1), eof)?),
        },
        Some(byte) => Some(*byte == b']'),
    }
}

/// Whether the text at `at` is a key; `None` if undecided.
fn is_key(bytes: &[u8], at: usize, eof: bool) -> Option<bool> {
    match key_and_value(bytes, at) {
        Ok(_) => Some(true),
        Err(JsonError::Cut) => eof.then_some(false),
        Err(JsonError::Syntax { .. }) => Some(false),
    }
}

/// The key that starts at `at`, and the start of its value.
fn key_and_value(bytes: &[u8], at: usize) -> Result<(RawStr<'_>, usize), JsonError> {
    let end = skip_value(bytes, at)?;
    let colon = skip_space(bytes, end);
    match bytes.get(colon) {
        None => Err(JsonError::Cut),
        Some(b':') => {
            let value = skip_space(bytes, colon + 1);
            if value == bytes.len() {
                return Err(JsonError::Cut);
            }
            let raw = &bytes[at + 1..end - 1];
            Ok((RawStr { bytes: raw, escaped: raw.contains(&b'\\') }, value))
        }
        Some(_) => Err(JsonError::Syntax { at: colon, expected: "':'" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records kept and skipped, and the issue codes.
    fn read(text: &[u8], max_element: usize, step: usize) -> (u64, u64, Vec<&'static str>) {
        let mut container = Container::with_max_element(max_element);
        let mut out = TraceBuilder::default();
        for chunk in text.chunks(step) {
            container.feed(chunk, &mut out);
        }
        container.finish(&mut out).unwrap();
        let ledger = &out.trace.ledger;
        let codes = ledger.issues.iter().map(|issue| issue.kind.code).collect();
        (ledger.kept.records, ledger.skipped.records, codes)
    }

    #[test]
    fn long_values_are_stepped_over_wherever_they_are_cut() {
        let long = format!(r#"{{"a":["{}\"]",{{}}]}}"#, "x".repeat(500));
        let event = r#"{"name":"n","ph":"X","ts":1,"dur":1}"#;
        let text = format!(
            r#"{{"big":{long},"traceEvents":[{event},{long},"{{]",{event}],"stackFrames":{{"1":{long}}}}}"#
        );
        for step in 1..text.len() {
            let (kept, skipped, codes) = read(text.as_bytes(), 100, step);
            assert_eq!((kept, skipped), (2, 2), "{step}");
            assert_eq!(codes, ["huge-member", "huge-event", "element-not-object"], "{step}");
        }
    }

    #[test]
    fn broken_syntax_costs_little() {
        let event = r#"{"name":"n","ph":"X","ts":1,"dur":1}"#;
        for (broken, n_skipped) in [
            (r#"{"name":"q" "ph":"X","args":{"a":[{},{}]}}"#, 1),
            (r#"{"name":"q","ph":"X","ts":1,"dur":1]"#, 1),
            (r#"{"name":"q"""#, 1),
        ] {
            let text = format!("[{event},{broken},{event},{event}]");
            for step in 1..text.len() {
                assert_eq!(read(text.as_bytes(), 1 << 20, step).0, 3, "{broken} {step}");
                assert_eq!(read(text.as_bytes(), 1 << 20, step).1, n_skipped, "{broken} {step}");
            }
        }
    }
    #[test]
    fn what_is_swallowed_comes_out_again() {
        let event = r#"{"name":"n","ph":"X","ts":1,"dur":1,"args":{"a":"],[","b":[{},{"c":1}]}}"#;
        let long = "x".repeat(2000);
        for (broken, n_skipped) in [
            // A stray quote.
            (r#"{"name":"q","ph":"X","ts":1,"args":{"a":"b"c"}}"#.to_string(), 1),
            (r#"{"name":"q"r","ph":"X","ts":1,"args":{"a":"],["}}"#.to_string(), 1),
            (format!(r#"{{"name":"q","ph":"X","ts":1,"args":{{"a":"b"{long}"}}}}"#), 1),
            (
                format!(
                    r#"{{"name":"q","ph":"X","ts":1,"args":{{"a":"b"{long}"}}}},{{"name":"q","ph":"X","ts":1,"args":{{"a":"b"c"}}}}"#
                ),
                2,
            ),
            // A missing bracket.
            (r#"{"name":"q","ph":"X","ts":1,"args":{"a":1"#.to_string(), 1),
            (r#"{"name":"q","ph":"X","ts":1,"args":{"a":[1"#.to_string(), 1),
            (r#"{"name":"q","ph":"X","ts":1,"args":{"a":{"b":2}"#.to_string(), 1),
            // Stray text.
            (r#"""#.to_string(), 0),
            (r#"["#.to_string(), 0),
        ] {
            for text in [
                format!("[\n{event},\n{event},\n{broken},\n{event},{event},\n{event}\n]"),
                format!(
                    r#"{{"traceEvents":[{event},{event},{broken},{event},{event},{event}],"otherData":{{"a":1}}}}"#
                ),
                format!("[{event},{event},{broken},{event},{event},{event}"),
            ] {
                let whole = read(text.as_bytes(), 1 << 20, text.len());
                assert_eq!((whole.0, whole.1), (5, n_skipped), "{text}: {whole:?}");
                for step in (1..text.len()).step_by(1 + text.len() / 300) {
                    assert_eq!(read(text.as_bytes(), 1 << 20, step), whole, "{text} {step}");
                }
            }
        }
    }

    #[test]
    fn what_is_sound_swallows_nothing() {
        let event = r#"{"name":"n","ph":"X","ts":1,"dur":1}"#;
        let many = format!("{event},\n").repeat(100);
        for sound in [
            format!(r#"{{"name":"q","ph":"i","ts":1,"args":{{"a":[{many}{event}]}}}}"#),
            format!(r#"[{many}{event}]"#),
            format!(r#""{}""#, many.replace('"', "\\\"")),
        ] {
            let text = format!("[{event},{sound},{event}]");
            for step in [1, 7, 1000, text.len()] {
                let (kept, skipped, _) = read(text.as_bytes(), 1 << 20, step);
                assert_eq!(kept + skipped, 3, "{sound} {step}");
            }
        }
    }

    #[test]
    fn a_line_that_was_cut_costs_no_other_line() {
        let event = r#"{"name":"n","ph":"X","ts":1,"dur":1}"#;
        for broken in [
            r#"{"name":"n","ph":"X","ts":1,"na"#,
            r#"{"name":"n","ph":"X","args":{"a":[1,2"#,
            r#"{"name":"n","ph":"X","ts""#,
            r#"{"name":"n","ph":"X",,"#,
        ] {
            let text = format!("{event}\n{broken}\n{event}\n{event}\n");
            for step in 1..text.len() {
                assert_eq!(read(text.as_bytes(), 1 << 24, step).0, 3, "{broken} {step}");
                assert_eq!(read(text.as_bytes(), 1 << 24, step).1, 1, "{broken} {step}");
            }
        }
        // Also if more follows than fits for one event.
        let text = format!("{event}\n{{\"args\":{{\"a\":[\n{}", format!("{event}\n").repeat(60_000));
        for step in [1000, text.len()] {
            assert_eq!(read(text.as_bytes(), 1 << 24, step).0, 60_001, "{step}");
        }
    }

    #[test]
    fn a_list_that_is_closed_too_early_goes_on() {
        let event = r#"{"name":"n","ph":"X","ts":1,"dur":1,"args":{"a":"],[","b":[{},{"c":1}]}}"#;
        let log = r#"W0722 14:03 cuda.cpp:77] Warning: "foo" {bar}, [x]"#;
        for (hurt, n_lost) in [
            (format!("{event},\n],{event}"), 0),
            (format!("{event}]\n,\n{event}"), 0),
            (format!("{event},]{event}"), 0),
            (format!("{event}]}},{event}"), 0),
            (format!("{event}]}}\n{event}"), 0),
            (format!("{event},\nW0722 14:03 cuda.cpp:77] Warning\n{event}"), 0),
            (format!("{event},\n{log}\n{event}"), 0),
            (format!("{event},\n{log}\n{log}\n{event}"), 0),
        ] {
            for text in [
                format!("[\n{event},\n{hurt},\n{event}\n]"),
                format!(r#"{{"a":1,"traceEvents":[{event},{hurt},{event}],"b":{{"c":1}}}}"#),
            ] {
                let whole = read(text.as_bytes(), 1 << 20, text.len());
                assert!(whole.0 >= 4 - n_lost, "{text}: {whole:?}");
                assert!(whole.1 <= n_lost, "{text}: {whole:?}");
                assert!(whole.2.contains(&"list-closed-early"), "{text}: {whole:?}");
                for step in 1..text.len() {
                    assert_eq!(read(text.as_bytes(), 1 << 20, step), whole, "{text} {step}");
                }
            }
        }
        // Text that is not part of the trace is not read as such.
        for behind in [
            format!("[{event},\n{event}]"),
            format!("\n{{\"traceEvents\":[\n{event},\n{event}]}}"),
            format!("{{}}\n{event}"),
            "\0\0\0".to_string(),
        ] {
            let text = format!("[{event},{event}]{behind}");
            for step in 1..text.len() {
                let expected = (2, 0, vec!["text-after-end"]);
                assert_eq!(read(text.as_bytes(), 1 << 20, step), expected, "{text} {step}");
            }
        }
    }

    #[test]
    fn an_event_without_its_first_bracket_is_one_record() {
        let event = r#"{"name":"n","ph":"X","ts":1,"dur":1,"args":{"a":1}}"#;
        for separator in [",", ",\n"] {
            let events = [event, &event[1..], event, event].join(separator);
            for text in [format!("[{events}]"), format!(r#"{{"traceEvents":[{events}],"a":"b"}}"#)] {
                for step in 1..text.len() {
                    let expected = (3, 1, vec!["broken-event"]);
                    assert_eq!(read(text.as_bytes(), 1 << 20, step), expected, "{text} {step}");
                }
            }
        }
    }

    #[test]
    fn text_that_is_not_used_is_counted_apart() {
        let event = r#"{"name":"n","ph":"X","ts":1,"dur":1}"#;
        for (text, unused_bytes) in [
            (format!("[{event},\n{event}\n]\n"), 0),
            (format!("[{event},\0\0\0\0{event}]"), 4),
            (format!("[{event},stray text\n{event}]"), 9),
            (format!("[{event},{event}]\n\0\0\0\0\n"), 4),
            (format!("[{event},{event}][{event}]"), event.len() as u64 + 2),
            (format!(r#"{{"traceEvents":[{event},{event}]; "a":1}}"#), 1),
        ] {
            for step in 1..text.len() {
                let mut container = Container::new();
                let mut out = TraceBuilder::default();
                text.as_bytes().chunks(step).for_each(|chunk| container.feed(chunk, &mut out));
                container.finish(&mut out).unwrap();
                assert_eq!(out.trace.ledger.kept.records, 2, "{text} {step}");
                assert_eq!(out.trace.ledger.unused_bytes, unused_bytes, "{text} {step}");
            }
        }
    }

    /// If many events are broken, the others are still found, and each costs one look at its neighborhood.
    #[test]
    fn many_broken_events_take_no_quadratic_time() {
        let text = format!("[{}", r#"{"a" [,"#.repeat(300_000));
        assert_eq!(read(text.as_bytes(), 1 << 20, text.len()), read(text.as_bytes(), 1 << 20, 1 << 16));
        let sound = r#"{"name":"n","ph":"X","ts":1,"dur":1,"args":{"a":{"b":"c"}}}"#;
        let line = |text: &str| format!("{text}\n");
        let element = |text: &str| format!("{text},\n");
        let cut = |n: usize| sound[..sound.len() - n].to_string();
        const N: usize = 40_000;
        for (start, pair, kept) in [
            ("[", element(&cut(2)) + &element(sound), N),
            ("[", element(&cut(1)) + &element(sound), N),
            ("[", element(&cut(25)) + &element(sound), N - 1),
            ("[", format!("[{}", element(sound).repeat(2)), 2 * N),
            ("[", element(&sound.replace("{\"b\":\"c\"}", "[1")) + &element(sound), N),
            ("", line(&cut(2)) + &line(sound), N),
            ("", line(&cut(1)) + &line(sound), N),
            ("", line(&cut(25)) + &line(sound), N - 1),
            ("", line(&cut(2)), 0),
        ] {
            let text = format!("{start}{}{}", element(sound), pair.repeat(N));
            let mut results = Vec::new();
            for step in [1 << 20, text.len()] {
                let mut container = Container::with_max_element(1 << 24);
                let mut out = TraceBuilder::default();
                text.as_bytes().chunks(step).for_each(|chunk| container.feed(chunk, &mut out));
                container.finish(&mut out).unwrap();
                let most = 40 * text.len() as u64 + 16 * FREE_SEARCH_BYTES;
                assert!(container.looked_at_bytes < most, "{pair}: {}", container.looked_at_bytes);
                let ledger = &out.trace.ledger;
                results.push((ledger.kept.records, ledger.skipped.records));
            }
            assert!(results[0].0 > kept as u64, "{pair}: {results:?}");
            assert_eq!(results[0], results[1], "{pair}");
        }
    }
}

//! Elements that are broken, unclosed or too large: their end, and the element after them.

use super::Container;
use super::skip::SkipScan;
use super::state::{Enclosing, Resync, Skipping, State, Step};
use crate::base::json::JsonError;
use crate::import::chrome_trace::cursor::{Cursor, may_follow};
use crate::import::chrome_trace::event::RawEvent;
use crate::import::chrome_trace::issues::*;
use crate::import::chrome_trace::salvage::{
    MAX_INTACT_BYTES, NEAR_BYTES, is_member_at, may_be_open, next_event, swallowed_near,
};
use crate::import::chrome_trace::scanner::skip_value;
use crate::trace::TraceBuilder;
use crate::trace::ledger::{IssueKind, Position};

/// Range in which brackets are matched to find the end of a broken element.
pub const RECOVERY_BYTES: usize = 64 << 10;
/// Bytes that may be searched for ends of broken elements, beyond those read so far.
pub const FREE_SEARCH_BYTES: u64 = 16 << 20;
/// Bytes kept of a broken event, as the example.
const EXAMPLE_BYTES: usize = 200;

/// Bytes spent on broken elements, so that they cost no more than the file is long.
#[derive(Default)]
pub struct SearchBudget {
    /// Bytes searched for ends of broken events.
    searched_bytes: u64,
    /// The file has a broken event, so others may be broken too.
    pub has_broken: bool,
    /// Bytes of elements checked since, some several times.
    pub looked_at_bytes: u64,
}

impl Container {
    /// Reads the element at `at`. If others were broken, its start alone is checked first, in case it shows there that this
    /// one is broken too.
    #[inline]
    pub(super) fn scan<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        event: &mut RawEvent<'a>,
    ) -> Result<usize, JsonError> {
        event.clear();
        if self.budget.has_broken {
            self.scan_warily(bytes, at, event)
        } else {
            self.layouts.scan(bytes, at, event)
        }
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
            self.budget.looked_at_bytes += len as u64;
            match self.layouts.scan(window, at, event) {
                Err(JsonError::Cut) if swallowed_near(&window[at..]).is_some() => return Err(JsonError::Cut),
                Err(JsonError::Cut) => event.clear(),
                result => return result,
            }
        }
        if self.is_budget_spent(at) && may_be_open(&bytes[at..]) {
            return Err(JsonError::Cut);
        }
        let result = self.layouts.scan(bytes, at, event);
        self.budget.looked_at_bytes += (result.as_ref().map_or(bytes.len(), |end| *end) - at) as u64;
        result
    }

    /// Adds to the bytes searched for the end of an element.
    pub(super) fn charge(&mut self, n_bytes: usize) {
        self.budget.has_broken = true;
        self.budget.searched_bytes += n_bytes as u64;
        self.budget.looked_at_bytes += n_bytes as u64;
    }

    /// Whether so much was searched for ends of broken events that only near ones are still considered.
    pub(super) fn is_budget_spent(&self, at: usize) -> bool {
        self.budget.searched_bytes > self.offset_of(at) + FREE_SEARCH_BYTES
    }

    /// Start of an event near the start of the element here, which is broken before it; elements that end near are not
    /// checked. `Err` if more bytes are needed to decide.
    pub(super) fn event_near(&mut self, cursor: Cursor<'_>) -> Result<Option<usize>, JsonError> {
        for len in NEAR_BYTES {
            let window = cursor.window(len);
            match self.layouts.scan(window, 0, &mut RawEvent::default()) {
                Err(JsonError::Cut) if window.len() < len && !cursor.eof => return Err(JsonError::Cut),
                Err(JsonError::Cut) => {}
                _ => return Ok(None),
            }
            if let Some(next) = swallowed_near(window) {
                self.budget.has_broken = true;
                return Ok(Some(cursor.at + next));
            }
        }
        Ok(None)
    }

    /// Start of the first event in a value that should have ended by now but has not.
    pub(super) fn event_in_unclosed(&mut self, cursor: Cursor<'_>) -> Option<usize> {
        let Cursor { bytes, at, eof } = cursor;
        let max_bytes = if self.is_budget_spent(at) { NEAR_BYTES[1] } else { MAX_INTACT_BYTES };
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

    /// Handles an object that is truncated, broken, or too large (`None`), and swallows no event near its start.
    pub(super) fn broken_at(
        &mut self,
        cursor: Cursor<'_>,
        problem: Option<JsonError>,
        enclosing: Enclosing,
        out: &mut TraceBuilder,
    ) -> Step {
        let Cursor { bytes, at, eof } = cursor;
        let error_at = match problem {
            None => return self.skip_oversized(at, enclosing),
            Some(JsonError::Cut) => {
                return match self.event_in_unclosed(cursor) {
                    Some(next) => self.go_to_event(cursor, next, enclosing, out),
                    None if bytes.len() - at > self.max_element => self.skip_oversized(at, enclosing),
                    None => Step::NeedMore(at),
                };
            }
            Some(JsonError::Syntax { at: error_at, .. }) => error_at,
        };
        // The cost of searching for ends of broken events stays proportional to the file.
        if enclosing == Enclosing::Lines || self.is_budget_spent(at) {
            return self.lose_sync(cursor, error_at, enclosing);
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
            (Some(next), _) => self.go_to_event(cursor, next, enclosing, out),
            (None, Some(end)) => self.skip_element(&BROKEN_EVENT, cursor, end, enclosing, out),
            (None, None) => self.lose_sync(cursor, error_at, enclosing),
        }
    }

    /// Skips the element here, since another event starts in it at `next`.
    pub(super) fn go_to_event(
        &mut self,
        cursor: Cursor<'_>,
        next: usize,
        enclosing: Enclosing,
        out: &mut TraceBuilder,
    ) -> Step {
        let step = self.skip_element(&BROKEN_EVENT, cursor, next, enclosing, out);
        self.state = enclosing.before_event();
        step
    }

    /// Skips the element from here to `end`.
    pub(super) fn skip_element(
        &mut self,
        kind: &'static IssueKind,
        cursor: Cursor<'_>,
        end: usize,
        enclosing: Enclosing,
        out: &mut TraceBuilder,
    ) -> Step {
        let place = self.place(cursor.bytes, cursor.at, end);
        self.rows.seen.n_elements += 1;
        out.trace.ledger.skip_record(kind, self.position_of(cursor.at), place.len(), place.bytes);
        self.state = enclosing.after_element();
        Step::At(end)
    }

    /// Leaves the element here, which is broken at `error_at` and whose end is unknown.
    pub(super) fn lose_sync(&mut self, cursor: Cursor<'_>, error_at: usize, enclosing: Enclosing) -> Step {
        let Cursor { bytes, at, .. } = cursor;
        self.broken_example.clear();
        self.broken_example.extend_from_slice(&bytes[at..error_at.clamp(at + 1, at + EXAMPLE_BYTES)]);
        // The byte that shows the error may be in the next element.
        let before = bytes[at..error_at.max(at)].iter().rev().find(|byte| !byte.is_ascii_whitespace());
        let ready = matches!(enclosing, Enclosing::List { .. }) && before == Some(&b',');
        self.state = State::Resync(Resync { start: self.offset_of(at), ready, enclosing });
        // A line may have ended long before the error shows.
        Step::At(if enclosing == Enclosing::Lines { at + 1 } else { error_at.max(at + 1) })
    }

    /// After broken syntax, moves to the next `{` after a comma, or to the next line if events are lines.
    pub(super) fn resync(&mut self, cursor: Cursor<'_>, resync: Resync, out: &mut TraceBuilder) -> Step {
        let Resync { start, mut ready, enclosing } = resync;
        for (index, byte) in cursor.bytes.iter().enumerate().skip(cursor.at) {
            match byte {
                b'{' if ready => {
                    self.skip_abandoned(start, index, out);
                    self.state = enclosing.before_event();
                    return Step::At(index);
                }
                b'"' if ready && enclosing.is_list_in_object() => {
                    match is_member_at(cursor.bytes, index, cursor.eof) {
                        None => {
                            self.state = State::Resync(Resync { ready, ..resync });
                            return Step::NeedMore(index);
                        }
                        Some(true) => {
                            self.skip_abandoned(start, index, out);
                            self.state = State::Object;
                            return Step::At(index);
                        }
                        Some(false) => ready = false,
                    }
                }
                b'\n' if enclosing == Enclosing::Lines => ready = true,
                b',' if enclosing != Enclosing::Lines => ready = true,
                byte if byte.is_ascii_whitespace() => {}
                _ => ready = false,
            }
        }
        self.state = State::Resync(Resync { ready, ..resync });
        Step::NeedMore(cursor.bytes.len())
    }

    /// Counts the abandoned element that started at `start` and ends at `end`.
    pub(super) fn skip_abandoned(&mut self, start: u64, end: usize, out: &mut TraceBuilder) {
        self.rows.seen.n_elements += 1;
        let position = Position { byte: start, line: None };
        let n_bytes = self.offset_of(end) - start;
        out.trace.ledger.skip_record(&BROKEN_EVENT, position, n_bytes, &self.broken_example);
    }

    /// Skips the value at `at`, which is too large.
    pub(super) fn skip_oversized(&mut self, at: usize, enclosing: Enclosing) -> Step {
        let scan = SkipScan::default();
        self.state = State::Skipping(Skipping { scan, start: self.offset_of(at), enclosing });
        Step::At(at)
    }

    /// Moves to the end of a value that is too large.
    pub(super) fn skipping(
        &mut self,
        cursor: Cursor<'_>,
        mut skipping: Skipping,
        out: &mut TraceBuilder,
    ) -> Step {
        let Some(len) = skipping.scan.feed(cursor.rest()) else {
            self.state = State::Skipping(skipping);
            return Step::NeedMore(cursor.bytes.len());
        };
        let end = cursor.at + len;
        let Skipping { start, enclosing, .. } = skipping;
        let position = Position { byte: start, line: None };
        let n_bytes = self.offset_of(end) - start;
        if enclosing.has_elements() {
            self.rows.seen.n_elements += 1;
            out.trace.ledger.skip_record(&HUGE_EVENT, position, n_bytes, b"");
        } else {
            out.trace.ledger.leave_out(n_bytes);
            out.trace.ledger.file(&HUGE_MEMBER, position, b"");
        }
        self.state = enclosing.after_element();
        Step::At(end)
    }
}

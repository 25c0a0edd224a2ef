//! Text after the end of the list or of the top-level object.

use super::Container;
use super::state::{AfterEnd, Comma, List, State, Step};
use crate::import::chrome_trace::cursor::{Cursor, first_of, frame, skip_space};
use crate::import::chrome_trace::issues::*;
use crate::import::chrome_trace::salvage::{ListKind, MAX_FOUND_BYTES, is_event_at, is_member_at};
use crate::trace::TraceBuilder;
use crate::trace::ledger::Position;
use memchr::memchr;

impl Container {
    /// Ignores text after the end, unless an event or a member shows that the end came too early.
    pub(super) fn end(&mut self, cursor: Cursor<'_>, after: AfterEnd, out: &mut TraceBuilder) -> Step {
        let Cursor { bytes, at, .. } = cursor;
        match after {
            AfterEnd::Json => {
                out.trace.ledger.leave_out(cursor.rest().len() as u64);
                Step::NeedMore(bytes.len())
            }
            AfterEnd::Text => {
                let Some(len) = memchr(b'\n', cursor.rest()) else {
                    out.trace.ledger.leave_out(cursor.rest().len() as u64);
                    return Step::NeedMore(bytes.len());
                };
                out.trace.ledger.leave_out(len as u64);
                self.state = State::End(AfterEnd::Element);
                Step::At(at + len)
            }
            AfterEnd::Element => {
                let next = skip_space(bytes, at);
                frame(at, next, out);
                self.element_after_end(cursor.to(next), out)
            }
        }
    }

    /// Looks at the first byte of an element or text after the end.
    fn element_after_end(&mut self, cursor: Cursor<'_>, out: &mut TraceBuilder) -> Step {
        let Cursor { bytes, at, eof } = cursor;
        let Some(byte) = cursor.peek() else { return Step::NeedMore(at) };
        let next = match byte {
            // The object was closed too early.
            b'"' if !self.facts.is_bare_list => match is_member_at(bytes, at, eof) {
                None => return Step::NeedMore(at),
                Some(true) => {
                    self.file_text_after_end(out);
                    self.file(&MEMBER_BEHIND_END, at, cursor.rest(), out);
                    self.state = State::Object;
                    return Step::At(at);
                }
                Some(false) => AfterEnd::Text,
            },
            // An object without events may be the first of several lines.
            b'{' if self.members.n_event_lists == 0 && !self.members.events_not_a_list => {
                self.state = State::Start;
                return Step::At(at);
            }
            b'{' | b'[' => {
                let window = cursor.window(MAX_FOUND_BYTES);
                let first = first_of(&window[1..]);
                if first.is_none() && !eof && window.len() < MAX_FOUND_BYTES {
                    return Step::NeedMore(at);
                }
                if byte == b'{' {
                    match self.is_event_after_end(cursor) {
                        None => return Step::NeedMore(at),
                        Some(true) => return self.reopen_list(at, out),
                        Some(false) => {}
                    }
                }
                match (byte, first) {
                    (_, None) | (b'{', Some(b'"' | b'}')) | (b'[', Some(b'{' | b']')) => AfterEnd::Json,
                    _ => AfterEnd::Text,
                }
            }
            b',' | b']' | b'}' => AfterEnd::Element,
            _ => AfterEnd::Text,
        };
        self.after_end.get_or_insert((self.offset + at as u64, byte));
        if next == AfterEnd::Json {
            self.file_text_after_end(out);
        }
        out.trace.ledger.leave_out(1);
        self.state = State::End(next);
        Step::At(at + 1)
    }

    /// Whether an event starts here, after the end of the list; `None` if undecided.
    pub(super) fn is_event_after_end(&mut self, cursor: Cursor<'_>) -> Option<bool> {
        let Cursor { bytes, at, eof } = cursor;
        if self.closed_at.is_none() || self.is_budget_spent(at) {
            return Some(false);
        }
        let is_event = is_event_at(bytes, at, eof)?;
        if !is_event {
            self.charge(MAX_FOUND_BYTES.min(bytes.len() - at));
        }
        Some(is_event)
    }

    /// Returns to the list, which was closed too early: an event starts at `at`.
    pub(super) fn reopen_list(&mut self, at: usize, out: &mut TraceBuilder) -> Step {
        let ledger = &mut out.trace.ledger;
        let closed_at = self.closed_at.take().unwrap_or(self.offset_of(at));
        ledger.file(&CLOSED_EARLY, Position { byte: closed_at, line: None }, b"]");
        if let Some((byte, example)) = self.after_end.take() {
            ledger.file(&STRAY_TEXT, Position { byte, line: None }, &[example]);
        }
        let in_object = !self.facts.is_bare_list;
        self.state = State::List(List { kind: ListKind::Events, in_object, comma: Comma::One });
        Step::At(at)
    }

    /// Reports text after the end as not part of the trace.
    pub(super) fn file_text_after_end(&mut self, out: &mut TraceBuilder) {
        if let Some((byte, example)) = self.after_end.take() {
            out.trace.ledger.file(&TEXT_AFTER_END, Position { byte, line: None }, &[example]);
        }
    }
}

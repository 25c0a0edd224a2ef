//! Elements of lists, and events in lines.

use super::state::{AfterEnd, Comma, Enclosing, List, State, Step};
use super::{Container, recovery::RECOVERY_BYTES};
use crate::base::json::JsonError;
use crate::import::chrome_trace::cursor::{Cursor, frame, skip_space};
use crate::import::chrome_trace::event::RawEvent;
use crate::import::chrome_trace::issues::*;
use crate::import::chrome_trace::salvage::{
    LONG_LINE_BYTES, ListKind, NEAR_BYTES, is_key_of_event, is_member_at, may_be_open, next_event, swallowed,
};
use crate::import::chrome_trace::scanner::{scan_headless, skip_value};
use crate::trace::TraceBuilder;
use memchr::memmem;

impl Container {
    /// Reads elements up to the end of the list, or to one that is no sound object.
    pub(super) fn list(&mut self, cursor: Cursor<'_>, list: List, out: &mut TraceBuilder) -> Step {
        let Cursor { bytes, mut at, .. } = cursor;
        let List { kind, in_object, mut comma } = list;
        let enclosing = Enclosing::List { kind, in_object };
        let mut event = RawEvent::default();
        loop {
            let before = at;
            at = skip_space(bytes, at);
            frame(before, at, out);
            self.state = State::List(List { kind, in_object, comma });
            match bytes.get(at) {
                None => return Step::NeedMore(at),
                Some(b',') => {
                    if matches!(comma, Comma::AtStart | Comma::One) {
                        self.file(&EXTRA_COMMA, at, b",", out);
                    }
                    comma = Comma::One;
                    frame(at, at + 1, out);
                    at += 1;
                }
                Some(b']') => {
                    frame(at, at + 1, out);
                    if kind == ListKind::Events {
                        self.closed_at = Some(self.offset_of(at));
                    }
                    self.state = if in_object { State::Object } else { State::End(AfterEnd::Element) };
                    return Step::At(at + 1);
                }
                Some(b'{') => {
                    if comma == Comma::None {
                        self.file(&MISSING_COMMA, at, b"{", out);
                    }
                    // Reported once, even if the element is retried.
                    comma = Comma::One;
                    self.state = State::List(List { kind, in_object, comma });
                    if self.offset_of(at) >= self.limit && kind == ListKind::Events {
                        self.at_limit = true;
                        return Step::NeedMore(at);
                    }
                    match self.scan(bytes, at, &mut event) {
                        Ok(end) if end - at <= self.max_element => {
                            if kind == ListKind::Events
                                && let Some(len) = swallowed(&event, &bytes[at..end])
                            {
                                return self.go_to_event(cursor.to(at), at + len, enclosing, out);
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
                        problem => return self.broken_element(cursor.to(at), problem.err(), enclosing, out),
                    }
                }
                Some(_) if comma == Comma::Stray => {
                    self.stray_end = Some(self.offset_of(at));
                    return self.other_element(cursor.to(at), enclosing, true, out);
                }
                Some(_) => return self.other_element(cursor.to(at), enclosing, false, out),
            }
        }
    }

    /// Reads events without brackets around them, one a line as a rule.
    pub(super) fn lines(&mut self, cursor: Cursor<'_>, out: &mut TraceBuilder) -> Step {
        let Cursor { bytes, mut at, .. } = cursor;
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
                    if self.offset_of(at) >= self.limit {
                        self.at_limit = true;
                        return Step::NeedMore(at);
                    }
                    match self.scan(bytes, at, &mut event) {
                        Ok(end) if end - at <= LONG_LINE_BYTES.min(self.max_element) => {
                            if let Some(len) = swallowed(&event, &bytes[at..end]) {
                                return self.go_to_event(cursor.to(at), at + len, Enclosing::Lines, out);
                            }
                            let place = self.place(bytes, at, end);
                            self.rows.add(&event, place, out);
                            at = end;
                        }
                        scanned => return self.odd_line(cursor.to(at), &event, scanned, out),
                    }
                }
                Some(_) => return self.other_element(cursor.to(at), Enclosing::Lines, false, out),
            }
        }
    }

    /// Handles a line that is broken, long, or not complete.
    fn odd_line(
        &mut self,
        cursor: Cursor<'_>,
        event: &RawEvent<'_>,
        scanned: Result<usize, JsonError>,
        out: &mut TraceBuilder,
    ) -> Step {
        let at = cursor.at;
        match self.event_near(cursor) {
            Ok(Some(next)) => return self.go_to_event(cursor, next, Enclosing::Lines, out),
            Ok(None) => {}
            Err(_) => return Step::NeedMore(at),
        }
        // Brackets left open by a truncated line would swallow all lines after it.
        let is_long = cursor.rest().len() > LONG_LINE_BYTES;
        let is_open = matches!(scanned, Ok(_) | Err(JsonError::Cut));
        if is_open
            && (is_long || cursor.eof)
            && let Some(len) = memmem::find(cursor.window(LONG_LINE_BYTES), b"\n{")
        {
            return self.lose_sync(cursor, at + len, Enclosing::Lines);
        }
        match scanned {
            Ok(end) if end - at <= self.max_element => {
                self.rows.add(event, self.place(cursor.bytes, at, end), out);
                Step::At(end)
            }
            problem => self.broken_at(cursor, problem.err(), Enclosing::Lines, out),
        }
    }

    /// Handles an element of a list that is truncated, broken, or too large (`None`).
    fn broken_element(
        &mut self,
        cursor: Cursor<'_>,
        problem: Option<JsonError>,
        enclosing: Enclosing,
        out: &mut TraceBuilder,
    ) -> Step {
        if matches!(enclosing, Enclosing::List { kind: ListKind::Events, .. }) {
            match self.event_near(cursor) {
                Ok(Some(next)) => return self.go_to_event(cursor, next, enclosing, out),
                Ok(None) => {}
                Err(_) => return Step::NeedMore(cursor.at),
            }
        }
        self.broken_at(cursor, problem, enclosing, out)
    }

    /// Handles a list element that is not an object. `in_stray`: stray text comes before it.
    fn other_element(
        &mut self,
        cursor: Cursor<'_>,
        enclosing: Enclosing,
        in_stray: bool,
        out: &mut TraceBuilder,
    ) -> Step {
        let Cursor { bytes, at, eof } = cursor;
        if !in_stray
            && is_key_of_event(cursor.rest())
            && let Some(step) = self.headless_event(cursor, enclosing, out)
        {
            return step;
        }
        if bytes[at] == b'"' && enclosing.is_list_in_object() {
            match is_member_at(bytes, at, eof) {
                None => return Step::NeedMore(at),
                Some(true) => {
                    self.file(&LIST_UNCLOSED, at, cursor.rest(), out);
                    self.closed_at.get_or_insert(self.offset + at as u64);
                    self.state = State::Object;
                    return Step::At(at);
                }
                Some(false) => {}
            }
        }
        if bytes[at] == b'[' && self.is_budget_spent(at) && may_be_open(cursor.rest()) {
            let window = cursor.window(NEAR_BYTES[1]);
            if skip_value(window, 0).is_err() {
                return self.stray_between(cursor, enclosing, out);
            }
        }
        let end = skip_value(bytes, at);
        if matches!(bytes[at], b'"' | b'[') {
            match self.is_stray_bracket(cursor, &end, in_stray) {
                None => return Step::NeedMore(at),
                Some(true) => return self.stray_between(cursor, enclosing, out),
                Some(false) => {}
            }
        }
        match end {
            Ok(_) if in_stray && !matches!(bytes[at], b'"' | b'[') => {
                self.stray_between(cursor, enclosing, out)
            }
            Ok(end) if end - at <= self.max_element => {
                self.skip_element(&NOT_AN_OBJECT, cursor, end, enclosing, out)
            }
            Ok(_) => self.skip_oversized(at, enclosing),
            Err(JsonError::Cut) if bytes.len() - at > self.max_element => self.skip_oversized(at, enclosing),
            Err(JsonError::Cut) => Step::NeedMore(at),
            Err(JsonError::Syntax { .. }) => self.stray_between(cursor, enclosing, out),
        }
    }

    /// Skips an event whose opening bracket is missing; `None` if it is something else.
    fn headless_event(
        &mut self,
        cursor: Cursor<'_>,
        enclosing: Enclosing,
        out: &mut TraceBuilder,
    ) -> Option<Step> {
        let Cursor { bytes, at, eof } = cursor;
        let window = &bytes[..bytes.len().min(at + RECOVERY_BYTES)];
        match scan_headless(window, at) {
            Ok((_, end)) => Some(match next_event(&bytes[..end], at) {
                Some(next) => self.go_to_event(cursor, next, enclosing, out),
                None => self.skip_element(&BROKEN_EVENT, cursor, end, enclosing, out),
            }),
            Err(JsonError::Cut) if !eof && window.len() < at + RECOVERY_BYTES => Some(Step::NeedMore(at)),
            Err(_) => None,
        }
    }

    /// Whether the quote or bracket here is stray: such ones end where others start. `end` is the end of the value that they
    /// open. `None` if undecided.
    fn is_stray_bracket(
        &mut self,
        cursor: Cursor<'_>,
        end: &Result<usize, JsonError>,
        in_stray: bool,
    ) -> Option<bool> {
        let Cursor { bytes, at, .. } = cursor;
        let Ok(end) = *end else { return Some(self.event_in_unclosed(cursor).is_some()) };
        let is_end = cursor.to(end).ends_element()?;
        let is_stray =
            !is_end && (in_stray || bytes[at] == b'"' || next_event(&bytes[..end], at + 1).is_some());
        if is_stray && bytes[at] == b'[' {
            self.charge(end - at);
        }
        Some(is_stray)
    }

    /// Handles stray text between elements.
    fn stray_between(&mut self, cursor: Cursor<'_>, enclosing: Enclosing, out: &mut TraceBuilder) -> Step {
        if let Enclosing::List { kind, in_object } = enclosing {
            self.state = State::List(List { kind, in_object, comma: Comma::Stray });
        }
        self.stray(cursor, out)
    }
}

//! Members of the top-level object.

use super::Container;
use super::state::{AfterEnd, Comma, Enclosing, List, State, Step};
use crate::base::json::{JsonError, RawStr, unescape_to_string};
use crate::base::text;
use crate::import::chrome_trace::cursor::{Cursor, frame, skip_space};
use crate::import::chrome_trace::issues::*;
use crate::import::chrome_trace::salvage::{
    ListKind, MAX_FOUND_BYTES, MAX_INTACT_BYTES, is_member_at, kind_at, next_member,
};
use crate::import::chrome_trace::scanner::skip_value;
use crate::trace::TraceBuilder;
use crate::trace::builder::add_named_frame;

/// Maximum number of members named in the error if none has trace data.
const MAX_LISTED_KEYS: usize = 4;
/// Maximum length of such a name.
const MAX_LISTED_KEY_BYTES: usize = 24;

/// Members seen so far.
#[derive(Default)]
pub struct Members {
    /// One has trace data.
    pub has_rows: bool,
    /// Lists, by [`ListKind`].
    has_list: [bool; 2],
    /// Event lists, including one that is the whole file.
    pub n_event_lists: u32,
    pub events_not_a_list: bool,
    /// One belongs to another format.
    pub foreign_key: bool,
    /// The first ones, for the error if none has trace data.
    pub first_keys: Vec<String>,
}

/// A member of the top-level object.
#[derive(Clone, Copy)]
struct Member<'a> {
    key: RawStr<'a>,
    /// The key, unescaped.
    name: &'a [u8],
    /// Start of the value.
    value: usize,
}

impl Member<'_> {
    /// Kind of list that its value should be.
    fn list_kind(self) -> Option<ListKind> {
        match self.name {
            b"traceEvents" => Some(ListKind::Events),
            b"samples" => Some(ListKind::Samples),
            _ => None,
        }
    }
}

/// Use of a member's value.
enum Use {
    /// It contains rows, or more bytes are needed to decide.
    Rows(Step),
    /// It should be a list of this kind, but is not.
    NotAList(ListKind),
    /// A second list of a kind, which may repeat the first.
    SecondList,
    /// Metadata.
    Fact,
}

impl Container {
    /// Reads the next token of the top-level object.
    pub(super) fn object(&mut self, cursor: Cursor<'_>, out: &mut TraceBuilder) -> Step {
        let cursor = self.skip_space(cursor, out);
        let Cursor { bytes, at, .. } = cursor;
        match cursor.peek() {
            None => Step::NeedMore(at),
            Some(b',') => {
                frame(at, at + 1, out);
                Step::At(at + 1)
            }
            Some(b'}') => {
                frame(at, at + 1, out);
                self.state = State::End(AfterEnd::Element);
                Step::At(at + 1)
            }
            Some(b'{') if self.closed_at.is_some() => match self.is_event_after_end(cursor) {
                None => Step::NeedMore(at),
                Some(true) => self.reopen_list(at, out),
                Some(false) => self.stray(cursor, out),
            },
            Some(b'{' | b'[') => match self.list_at(cursor) {
                None => Step::NeedMore(at),
                Some(Some(kind)) => {
                    self.file(&LIST_UNNAMED, at, cursor.rest(), out);
                    self.enter_list(cursor, kind, out)
                }
                Some(None) => {
                    self.charge(MAX_FOUND_BYTES.min(bytes.len() - at));
                    self.stray(cursor, out)
                }
            },
            Some(b'"') => match cursor.key_and_value() {
                Err(JsonError::Cut) if bytes.len() - at > self.max_element => {
                    self.skip_oversized(at, Enclosing::Object)
                }
                Err(JsonError::Cut) => Step::NeedMore(at),
                Err(JsonError::Syntax { .. }) => self.stray(cursor, out),
                Ok((key, value)) => {
                    let name = unescape_to_string(key);
                    self.member(cursor, Member { key, name: name.as_bytes(), value }, out)
                }
            },
            Some(_) => self.stray(cursor, out),
        }
    }

    /// Kind of the list that starts here, or whose element starts here without a bracket before it; `None` if undecided.
    fn list_at(&self, cursor: Cursor<'_>) -> Option<Option<ListKind>> {
        let Cursor { bytes, at, eof } = cursor;
        if self.is_budget_spent(at) {
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

    /// Enters the list here, with or without its bracket.
    fn enter_list(&mut self, cursor: Cursor<'_>, kind: ListKind, out: &mut TraceBuilder) -> Step {
        let at = cursor.at;
        let n_brackets = usize::from(cursor.peek() == Some(b'['));
        frame(at, at + n_brackets, out);
        self.members.has_rows = true;
        self.members.has_list[kind as usize] = true;
        self.members.n_event_lists += u32::from(kind == ListKind::Events);
        self.state = State::List(List { kind, in_object: true, comma: Comma::AtStart });
        Step::At(at + n_brackets)
    }

    /// Skips the broken member here; another one starts at `next`.
    fn skip_broken_member(&mut self, cursor: Cursor<'_>, next: usize, out: &mut TraceBuilder) -> Step {
        self.file(&BROKEN_MEMBER, cursor.at, cursor.rest(), out);
        out.trace.ledger.leave_out((next - cursor.at) as u64);
        self.budget.has_broken = true;
        self.state = State::Object;
        Step::At(next)
    }

    /// Start of another member in a value that should have ended by now but has not.
    fn member_in_unclosed(value: Cursor<'_>) -> Option<usize> {
        let Cursor { bytes, at, eof } = value;
        let limit = bytes.len().min(at + MAX_INTACT_BYTES);
        if !eof && limit < at + MAX_INTACT_BYTES {
            return None;
        }
        next_member(&bytes[..limit], at)
    }

    /// Handles a member whose key starts here.
    fn member(&mut self, cursor: Cursor<'_>, member: Member<'_>, out: &mut TraceBuilder) -> Step {
        let Cursor { bytes, at, eof } = cursor;
        let value = member.value;
        self.note_member(member);
        let usage = match self.use_of(cursor, member, out) {
            Use::Rows(step) => return step,
            usage => usage,
        };
        let end = skip_value(bytes, value);
        // A stray or missing quote joins several members into one value.
        let next = match &end {
            Ok(end) if bytes.get(value) == Some(&b'"') => match is_member_at(bytes, end - 1, eof) {
                None => return Step::NeedMore(at),
                Some(is_next) => is_next.then_some(end - 1),
            },
            Ok(end) => next_member(&bytes[..*end.min(&(value + MAX_INTACT_BYTES))], value),
            Err(JsonError::Cut) => Self::member_in_unclosed(cursor.to(value)),
            Err(JsonError::Syntax { .. }) => None,
        };
        if let Some(next) = next {
            return self.skip_broken_member(cursor, next, out);
        }
        match end {
            // A bare word or number may continue in the next chunk, which only the scanner knows.
            Ok(end) if end - at <= self.max_element => {
                self.close_member(cursor, member, end, usage, out);
                Step::At(end)
            }
            Ok(_) => self.skip_oversized_value(at, value, Enclosing::Object, out),
            Err(JsonError::Cut) if bytes.len() - value > self.max_element => {
                self.skip_oversized_value(at, value, Enclosing::Object, out)
            }
            Err(JsonError::Cut) => Step::NeedMore(at),
            Err(JsonError::Syntax { .. }) => self.stray_value(cursor, value, out),
        }
    }

    /// Remembers that the file has this member.
    fn note_member(&mut self, member: Member<'_>) {
        self.members.has_rows |= matches!(member.name, b"traceEvents" | b"samples" | b"stackFrames");
        if self.members.first_keys.len() < MAX_LISTED_KEYS {
            let name = text::example(member.key.bytes, MAX_LISTED_KEY_BYTES);
            // An incomplete member comes again.
            if self.members.first_keys.last() != Some(&name) {
                self.members.first_keys.push(name);
            }
        }
    }

    /// Decides what the value of a member is for, and enters it if it contains rows.
    fn use_of(&mut self, cursor: Cursor<'_>, member: Member<'_>, out: &mut TraceBuilder) -> Use {
        let Cursor { bytes, at, .. } = cursor;
        let Member { name, value, .. } = member;
        let value_cursor = cursor.to(value);
        match (member.list_kind(), bytes.get(value)) {
            (Some(kind), Some(b'[')) => {
                frame(at, value, out);
                Use::Rows(self.enter_list(value_cursor, kind, out))
            }
            (Some(kind), Some(b'{')) => match self.list_at(value_cursor) {
                None => Use::Rows(Step::NeedMore(at)),
                Some(found) if found == Some(kind) => {
                    self.file(&LIST_UNOPENED, value, value_cursor.rest(), out);
                    frame(at, value, out);
                    Use::Rows(self.enter_list(value_cursor, kind, out))
                }
                Some(_) => Use::NotAList(kind),
            },
            (Some(kind), _) => Use::NotAList(kind),
            (None, Some(b'{')) if name == b"stackFrames" => {
                frame(at, value + 1, out);
                self.state = State::Frames;
                Use::Rows(Step::At(value + 1))
            }
            (None, Some(b'[')) => match self.list_at(value_cursor) {
                None => Use::Rows(Step::NeedMore(at)),
                Some(None) => Use::Fact,
                Some(Some(kind)) if self.members.has_list[kind as usize] => Use::SecondList,
                Some(Some(kind)) => {
                    self.file(&LIST_OF_OTHER_NAME, at, cursor.rest(), out);
                    frame(at, value, out);
                    Use::Rows(self.enter_list(value_cursor, kind, out))
                }
            },
            (None, _) => Use::Fact,
        }
    }

    /// Counts a whole member without rows, up to `end`.
    fn close_member(
        &mut self,
        cursor: Cursor<'_>,
        member: Member<'_>,
        end: usize,
        usage: Use,
        out: &mut TraceBuilder,
    ) {
        let Cursor { bytes, at, .. } = cursor;
        let Member { key, name, value } = member;
        match usage {
            Use::NotAList(kind) => {
                self.members.events_not_a_list |= kind == ListKind::Events;
                self.file(&NOT_AN_ARRAY, value, &bytes[value..end], out);
                out.trace.ledger.leave_out((end - at) as u64);
            }
            Use::SecondList => {
                self.file(&SECOND_LIST, at, &bytes[at..end], out);
                out.trace.ledger.leave_out((end - at) as u64);
            }
            Use::Fact | Use::Rows(_) => {
                self.members.foreign_key |=
                    matches!(name, b"traces" | b"spans" | b"projectId" | b"resourceSpans");
                match self.facts.member(key, &bytes[value..end], self.position_of(value), out) {
                    true => frame(at, end, out),
                    false => out.trace.ledger.leave_out((end - at) as u64),
                }
            }
        }
    }

    /// Skips the value of a member that starts at `at`.
    fn skip_oversized_value(
        &mut self,
        at: usize,
        value: usize,
        enclosing: Enclosing,
        out: &mut TraceBuilder,
    ) -> Step {
        frame(at, value, out);
        self.skip_oversized(value, enclosing)
    }

    /// Leaves out the key here, since there is no value at `value`.
    fn stray_value(&mut self, cursor: Cursor<'_>, value: usize, out: &mut TraceBuilder) -> Step {
        out.trace.ledger.leave_out((value - cursor.at) as u64);
        self.stray(cursor.to(value), out)
    }

    /// Reads the next token of `stackFrames`.
    pub(super) fn frames(&mut self, cursor: Cursor<'_>, out: &mut TraceBuilder) -> Step {
        let Cursor { bytes, at: before, .. } = cursor;
        let at = skip_space(bytes, before);
        frame(before, at, out);
        let cursor = cursor.to(at);
        match cursor.peek() {
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
                self.file(&LIST_UNCLOSED, at, cursor.rest(), out);
                self.state = State::Object;
                Step::At(at)
            }
            Some(b'"') => match cursor.key_and_value() {
                Ok((key, value)) => self.stack_frame(cursor, key, value, out),
                Err(JsonError::Cut) if bytes.len() - at > self.max_element => {
                    self.skip_oversized(at, Enclosing::Frames)
                }
                Err(JsonError::Cut) => Step::NeedMore(at),
                Err(JsonError::Syntax { .. }) => self.stray(cursor, out),
            },
            Some(_) => self.stray(cursor, out),
        }
    }

    /// Handles a stack frame whose key starts here.
    fn stack_frame(
        &mut self,
        cursor: Cursor<'_>,
        key: RawStr<'_>,
        value: usize,
        out: &mut TraceBuilder,
    ) -> Step {
        let Cursor { bytes, at, .. } = cursor;
        match skip_value(bytes, value) {
            Ok(end) if end - at <= self.max_element => {
                if let Some(next) = next_member(&bytes[..end], value) {
                    return self.skip_broken_member(cursor, next, out);
                }
                frame(at, end, out);
                add_named_frame(out, &unescape_to_string(key), &bytes[value..end]);
                Step::At(end)
            }
            Ok(_) => self.skip_oversized_value(at, value, Enclosing::Frames, out),
            Err(JsonError::Cut) => match Self::member_in_unclosed(cursor.to(value)) {
                Some(next) => self.skip_broken_member(cursor, next, out),
                None if bytes.len() - value > self.max_element => {
                    self.skip_oversized_value(at, value, Enclosing::Frames, out)
                }
                None => Step::NeedMore(at),
            },
            Err(JsonError::Syntax { .. }) => self.stray_value(cursor, value, out),
        }
    }
}

//! Recovery of events swallowed by a broken one.
//!
//! A stray quote swaps the inside and outside of all later texts, and a missing bracket makes what follows part of the open
//! value. So an event may seem to end far too late, or never. The sign is whole events inside it: objects after a comma or at
//! the start of a line, with the members of events.
//!
//! The scanner skips values by brackets and strings alone ([`skip_value`]). Here, brackets are not to be trusted, so
//! [`first_error`] and [`is_sound`] check the syntax as well, which is slower. They only see elements that look broken.

use super::cursor::{first_of, skip_space};
use super::event::{Field, RawEvent};
use super::scanner::{scan_event, skip_value};
use crate::base::json::JsonError;
use memchr::{memchr_iter, memmem};
use std::sync::LazyLock;

/// Element size from which its bytes are searched for events.
pub const MAX_INTACT_BYTES: usize = 4 << 20;
/// Sizes of the windows at the start of a long element that are checked first, since most elements that swallow others turn
/// out to be invalid JSON there. This is the cost of each broken event if there are many.
pub const NEAR_BYTES: [usize; 2] = [1 << 10, 16 << 10];
/// Line length from which a line of an event-per-line file is checked for swallowed lines.
pub const LONG_LINE_BYTES: usize = 1 << 20;
/// Range in which the phase of a broken event is looked for.
const HEAD_BYTES: usize = 512;
/// Largest event that is found.
pub const MAX_FOUND_BYTES: usize = 64 << 10;
/// Bytes searched for events per element, some several times.
const MAX_SEARCHED_BYTES: usize = 8 << 20;

/// Members an event has at least one of, besides its phase.
const OF_EVENTS: u32 = Field::Name.bit() | Field::Ts.bit() | Field::Pid.bit() | Field::Tid.bit();

/// Members of a sample, besides weight or frame.
const OF_SAMPLES: u32 = Field::Ts.bit() | Field::Tid.bit();

/// Start of the first event swallowed by an element that was read as `event`; `None` if there is none. A valid element is one
/// event, whatever is in it.
///
/// Only a skipped container can swallow an event, since the text after a string is always checked, and the event brings
/// brackets of its own.
#[inline]
pub fn swallowed(event: &RawEvent<'_>, element: &[u8]) -> Option<usize> {
    if !event.has_brackets {
        return None;
    }
    if element.len() > NEAR_BYTES[0]
        && let Some(next) = near_windows(element).find_map(swallowed_near)
    {
        return Some(next);
    }
    PHASES.find_iter(element).nth(usize::from(event.phase != 0))?;
    swallowed_by(element)
}

/// Key that all events have.
const PHASE: &[u8] = b"\"ph\"";

/// Built once, since that takes about as long as searching the arguments of an event.
static PHASES: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(PHASE));

/// Windows at the start of an element that continues after them.
fn near_windows(element: &[u8]) -> impl Iterator<Item = &[u8]> {
    NEAR_BYTES.into_iter().filter_map(|len| element.get(..len).filter(|window| window.len() < element.len()))
}

/// Start of an event in `window`, the start of an element, after a place that shows it is not valid JSON.
pub fn swallowed_near(window: &[u8]) -> Option<usize> {
    PHASES.find_iter(window).nth(1)?;
    let error_at = first_error(window)?;
    places(window, error_at).find(|at| is_head_of_event(window, *at))
}

/// Whether a long element may be unclosed: its start contains whole events.
#[inline]
pub fn may_be_open(element: &[u8]) -> bool {
    element.len() > NEAR_BYTES[1] && next_event(&element[..NEAR_BYTES[1]], 1).is_some()
}

/// Whether the object at `at` is an event, or the start of one that is broken or continues after the window.
fn is_head_of_event(window: &[u8], at: usize) -> bool {
    match scan_event(window, at) {
        Ok((event, _)) => is_event(&event),
        Err(_) => {
            let head = &window[at..window.len().min(at + HEAD_BYTES)];
            has_key_of_event(window, at) && PHASES.find(head).is_some()
        }
    }
}

fn is_event(event: &RawEvent<'_>) -> bool {
    let is_phase = event.phase.is_ascii_alphabetic() || matches!(event.phase, b'(' | b')' | b'=');
    is_phase && event.seen & OF_EVENTS != 0
}

/// Kind of list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListKind {
    Events,
    Samples,
}

/// Kind of list that the complete object at `at` belongs to, if any; `None` if undecided.
pub fn kind_at(bytes: &[u8], at: usize, eof: bool) -> Option<Option<ListKind>> {
    let window = &bytes[..bytes.len().min(at + MAX_FOUND_BYTES)];
    match scan_event(window, at) {
        Ok((event, _)) if is_event(&event) => Some(Some(ListKind::Events)),
        Ok((event, _)) => {
            let is_sample = event.phase == 0
                && event.seen & OF_SAMPLES == OF_SAMPLES
                && event.seen & (Field::Weight.bit() | Field::StartFrame.bit()) != 0;
            Some(is_sample.then_some(ListKind::Samples))
        }
        Err(JsonError::Cut) if !eof && window.len() < at + MAX_FOUND_BYTES => None,
        Err(_) => Some(None),
    }
}

/// Whether a complete event starts at `at`; `None` if undecided.
pub fn is_event_at(bytes: &[u8], at: usize, eof: bool) -> Option<bool> {
    kind_at(bytes, at, eof).map(|kind| kind == Some(ListKind::Events))
}

/// Token that may come next in JSON.
#[derive(Clone, Copy)]
enum Expected {
    Value,
    Key,
    Colon,
    /// A comma, or the end of the open container.
    CommaOrEnd,
}

/// First invalid position in the JSON value at the start. Trailing commas and any bare words are accepted. In a list, whose
/// end may be missing, it is the start of the list.
fn first_error(bytes: &[u8]) -> Option<usize> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
    let mut open = Vec::new();
    let mut expected = Expected::Value;
    let mut at = 0;
    loop {
        at = skip_space(bytes, at);
        let byte = *bytes.get(at)?;
        let end = if byte == b'"' { skip_value(bytes, at).ok()? } else { at + 1 };
        expected = match (expected, byte) {
            (Expected::Key, b'"') => Expected::Colon,
            (Expected::Colon, b':') => Expected::Value,
            (Expected::Value, b'"') => Expected::CommaOrEnd,
            (Expected::Value, b'{') => {
                open.push((b'}', at));
                Expected::Key
            }
            (Expected::Value, b'[') => {
                open.push((b']', at));
                Expected::Value
            }
            (Expected::Value, byte) if is_word(&byte) => {
                at += bytes[at..].iter().take_while(|byte| is_word(byte)).count();
                expected = Expected::CommaOrEnd;
                continue;
            }
            (Expected::CommaOrEnd, b',') => match open.last()? {
                (b'}', _) => Expected::Key,
                _ => Expected::Value,
            },
            (Expected::CommaOrEnd | Expected::Key, b'}') | (Expected::CommaOrEnd | Expected::Value, b']')
                if open.last().is_some_and(|(end, _)| *end == byte) =>
            {
                open.pop();
                Expected::CommaOrEnd
            }
            // Text after the value is not part of it.
            _ => return open.last().map(|(end, start)| if *end == b']' { *start } else { at }),
        };
        at = end;
    }
}

#[cold]
fn swallowed_by(element: &[u8]) -> Option<usize> {
    if is_sound(element) {
        return None;
    }
    // The swallowed events may be broken themselves.
    next_event(element, 1).or_else(|| places(element, 1).find(|at| has_key_of_event(element, *at)))
}

/// Whether the first key of the object at `at` is a usual first key of events.
fn has_key_of_event(bytes: &[u8], at: usize) -> bool {
    is_key_of_event(bytes[at + 1..].trim_ascii_start())
}

/// Whether the bytes start with a usual first key of events.
pub fn is_key_of_event(rest: &[u8]) -> bool {
    [PHASE, b"\"name\"", b"\"cat\"", b"\"ts\"", b"\"pid\"", b"\"tid\""]
        .iter()
        .any(|key| rest.starts_with(key))
}

/// Whether brackets match and each text is followed by a valid token.
fn is_sound(element: &[u8]) -> bool {
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(byte) = element.get(at) {
        match byte {
            b'"' => {
                let Ok(end) = skip_value(element, at) else { return false };
                at = end;
                if !matches!(first_of(&element[at..]), Some(b',' | b':' | b'}' | b']')) {
                    return false;
                }
                continue;
            }
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' if open.pop() != Some(*byte) => return false,
            _ => {}
        }
        at += 1;
    }
    open.is_empty()
}

/// Start of the first complete event from `from` on, after a comma or at the start of a line. At the end of `bytes` anything
/// may follow.
pub fn next_event(bytes: &[u8], from: usize) -> Option<usize> {
    let mut n_searched = 0;
    for at in places(bytes, from) {
        let window = &bytes[..bytes.len().min(at + MAX_FOUND_BYTES)];
        match scan_event(window, at) {
            Ok((event, end)) => {
                n_searched += end - at;
                let follows = first_of(&bytes[end..]);
                if is_event(&event) && matches!(follows, None | Some(b',' | b']' | b'}' | b'{')) {
                    return Some(at);
                }
            }
            Err(_) => n_searched += window.len() - at,
        }
        if n_searched > MAX_SEARCHED_BYTES {
            return None;
        }
    }
    None
}

/// Possible starts of elements from `from` on.
fn places(bytes: &[u8], from: usize) -> impl Iterator<Item = usize> {
    let rest = bytes.get(from..).unwrap_or_default();
    let starts = memchr_iter(b'{', rest).map(move |at| from + at);
    starts.filter(|at| is_behind_event(&bytes[..*at]) && first_of(&bytes[at + 1..]) == Some(b'"'))
}

/// Whether another event may start after these bytes.
fn is_behind_event(bytes: &[u8]) -> bool {
    let mut before = bytes.iter().rev();
    let last = before.find(|byte| **byte == b'\n' || !byte.is_ascii_whitespace());
    matches!(last, Some(b'\n' | b','))
}

/// Top-level members with trace data.
const MEMBERS: [&[u8]; 3] = [b"\"traceEvents\"", b"\"samples\"", b"\"stackFrames\""];

/// Whether a top-level member with trace data starts at `at`: its key and a bracket. `None` if undecided.
pub fn is_member_at(bytes: &[u8], at: usize, eof: bool) -> Option<bool> {
    let rest = bytes.get(at..).unwrap_or_default();
    for key in MEMBERS {
        if rest.len() < key.len() && key.starts_with(rest) {
            return eof.then_some(false);
        }
        if rest.starts_with(key) {
            let colon = skip_space(bytes, at + key.len());
            return match bytes.get(colon) {
                None => eof.then_some(false),
                Some(b':') => match bytes.get(skip_space(bytes, colon + 1)) {
                    None => eof.then_some(false),
                    Some(byte) => Some(matches!(byte, b'[' | b'{')),
                },
                Some(_) => Some(false),
            };
        }
    }
    Some(false)
}

/// Start of the next top-level member with trace data, in a value from `at` on that is broken before it.
pub fn next_member(bytes: &[u8], at: usize) -> Option<usize> {
    let value = bytes.get(at..)?;
    let places = MEMBERS.iter().filter_map(|key| {
        let mut places = memmem::find_iter(value, key).map(|place| at + place);
        places.find(|place| is_member_at(bytes, *place, true) == Some(true)).map(|place| (place, key.len()))
    });
    let (place, len) = places.min()?;
    // In valid JSON, a list of that name is part of the value.
    first_error(&bytes[at..place + len + 1]).map(|_| place)
}

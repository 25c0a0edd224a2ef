//! Finding the events that a broken one has swallowed.
//!
//! A quote too many turns texts inside out from there on, and a bracket too few lets what follows be part of the value that was
//! left open. So an event may seem to end far behind its end, or nowhere. What tells is that there are whole events in it: objects
//! behind a comma or at the start of a line, with the members that events have.

use super::container::skip_space;
use super::scanner::{Field, RawEvent, scan_event, skip_value};
use crate::base::json::JsonError;
use memchr::{memchr_iter, memmem};
use std::sync::LazyLock;

/// Where an element does not end within so many bytes, events are looked for in these.
pub const MAX_INTACT_BYTES: usize = 4 << 20;
/// An element that goes on behind so many bytes is looked at in these first, as most that swallow others show there that they are
/// no JSON. Where many events of a file are broken, this is what each of them costs.
pub const NEAR_BYTES: [usize; 2] = [1 << 10, 16 << 10];
/// In an event that is broken itself, the phase is looked for within so many bytes.
const HEAD_BYTES: usize = 512;
/// Events longer than this are not found.
pub const MAX_FOUND_BYTES: usize = 64 << 10;
/// So much is looked through for events in one element, some of it several times.
const MAX_SEARCHED_BYTES: usize = 8 << 20;

/// What stands in the members of an event at the least, besides its phase.
const OF_EVENTS: u32 = Field::Name.bit() | Field::Ts.bit() | Field::Pid.bit() | Field::Tid.bit();

/// What stands in the members of a sample, besides its weight or its frame.
const OF_SAMPLES: u32 = Field::Ts.bit() | Field::Tid.bit();

/// Where the first event starts that an element, which was read as `event`, has swallowed; `None` if it has swallowed none. What is
/// sound is one event, whatever is in it.
///
/// An event can only be swallowed by a container that is stepped over: what comes behind a text is always looked at. And it comes with
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

/// The key that all events have.
const PHASE: &[u8] = b"\"ph\"";

/// Made once, as that takes about as long as looking through the arguments of an event.
static PHASES: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(PHASE));

/// The beginnings of an element that goes on behind them.
fn near_windows(element: &[u8]) -> impl Iterator<Item = &[u8]> {
    NEAR_BYTES.into_iter().filter_map(|len| element.get(..len).filter(|window| window.len() < element.len()))
}

/// Where an event starts in what an element begins with, behind a place that shows that the element is no JSON.
pub fn swallowed_near(window: &[u8]) -> Option<usize> {
    PHASES.find_iter(window).nth(1)?;
    let error_at = first_error(window)?;
    places(window, error_at).find(|at| is_head_of_event(window, *at))
}

/// Whether a long element may be one that was left open: there are whole events in what it begins with.
#[inline]
pub fn may_be_open(element: &[u8]) -> bool {
    element.len() > NEAR_BYTES[1] && next_event(&element[..NEAR_BYTES[1]], 1).is_some()
}

/// Whether the object at `at` is an event, or the beginning of one that is broken or goes on behind the window.
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

/// What lists hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListKind {
    Events,
    Samples,
}

/// What a whole object at `at` is an element of, if it is one; `None` if that is not to be told yet.
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

/// Whether a whole event starts at `at`; `None` if that is not to be told yet.
pub fn is_event_at(bytes: &[u8], at: usize, eof: bool) -> Option<bool> {
    kind_at(bytes, at, eof).map(|kind| kind == Some(ListKind::Events))
}

/// What may come next in JSON.
#[derive(Clone, Copy)]
enum Expected {
    Value,
    Key,
    Colon,
    /// A comma, or the end of what is open.
    CommaOrEnd,
}

/// The first place in the value at the start that can not be in JSON. Commas before a closing bracket and words of any kind may.
/// In a list, whose end may be what is missing, that is the start of the list.
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
            // What comes behind the value is no part of it.
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
    // Those that are swallowed may be broken themselves.
    next_event(element, 1).or_else(|| places(element, 1).find(|at| has_key_of_event(element, *at)))
}

/// Whether the first key of the object at `at` is one that events begin with.
fn has_key_of_event(bytes: &[u8], at: usize) -> bool {
    is_key_of_event(bytes[at + 1..].trim_ascii_start())
}

/// Whether these bytes start with a key that events begin with.
pub fn is_key_of_event(rest: &[u8]) -> bool {
    [PHASE, b"\"name\"", b"\"cat\"", b"\"ts\"", b"\"pid\"", b"\"tid\""]
        .iter()
        .any(|key| rest.starts_with(key))
}

/// Whether brackets close those of their kind, and behind each text comes what may.
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

/// Where the first whole event from `from` on starts, that is behind a comma or at the start of a line. Bytes behind the last are
/// taken for what may follow an event.
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

/// Where objects may start that are elements, from `from` on.
fn places(bytes: &[u8], from: usize) -> impl Iterator<Item = usize> {
    let rest = bytes.get(from..).unwrap_or_default();
    let starts = memchr_iter(b'{', rest).map(move |at| from + at);
    starts.filter(|at| is_behind_event(&bytes[..*at]) && first_of(&bytes[at + 1..]) == Some(b'"'))
}

/// Whether another event may start behind these bytes.
fn is_behind_event(bytes: &[u8]) -> bool {
    let mut before = bytes.iter().rev();
    let last = before.find(|byte| **byte == b'\n' || !byte.is_ascii_whitespace());
    matches!(last, Some(b'\n' | b','))
}

/// Members of the file's object that a trace is made of.
const MEMBERS: [&[u8]; 3] = [b"\"traceEvents\"", b"\"samples\"", b"\"stackFrames\""];

/// Whether a member that a trace is made of starts at `at`: its key, and a bracket. `None` if that is not to be told yet.
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

/// Where the next member of the file's object starts that a trace is made of, in a value from `at` on that is broken before that.
pub fn next_member(bytes: &[u8], at: usize) -> Option<usize> {
    let value = bytes.get(at..)?;
    let places = MEMBERS.iter().filter_map(|key| {
        let mut places = memmem::find_iter(value, key).map(|place| at + place);
        places.find(|place| is_member_at(bytes, *place, true) == Some(true)).map(|place| (place, key.len()))
    });
    let (place, len) = places.min()?;
    // In JSON that is sound, a list of that name is a part of the value.
    first_error(&bytes[at..place + len + 1]).map(|_| place)
}

/// The first byte that is not blank.
pub fn first_of(bytes: &[u8]) -> Option<u8> {
    bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

//! Finding the events that a broken one has swallowed.
//!
//! A quote too many turns texts inside out from there on, and a bracket too few lets what follows be part of the value that was
//! left open. So an event may seem to end far behind its end, or nowhere. What tells is that there are whole events in it: objects
//! behind a comma or at the start of a line, with the members that events have.

use super::scanner::{Field, RawEvent, scan_event, skip_value};
use memchr::{memchr_iter, memmem};
use std::sync::LazyLock;

/// Arguments and elements that are shorter have hardly swallowed an event.
const MIN_ARGS_BYTES: usize = 1 << 8;
const MIN_ELEMENT_BYTES: usize = 1 << 10;
/// Where an element does not end within so many bytes, events are looked for in these.
pub const MAX_INTACT_BYTES: usize = 4 << 20;
/// Events longer than this are not found.
const MAX_FOUND_BYTES: usize = 64 << 10;
/// So much is looked through for events in one element, some of it several times.
const MAX_SEARCHED_BYTES: usize = 8 << 20;

/// What stands in the members of an event at the least, besides its phase.
const OF_EVENTS: u32 = Field::Name.bit() | Field::Ts.bit() | Field::Pid.bit() | Field::Tid.bit();

/// Where the first event starts that an element, which was read as `event`, has swallowed; `None` if it has swallowed none. What is
/// sound is one event, whatever is in it.
#[inline]
pub fn swallowed(event: &RawEvent<'_>, element: &[u8]) -> Option<usize> {
    let in_args = event.args.filter(|args| args.len() >= MIN_ARGS_BYTES);
    if in_args.is_none() && element.len() < MIN_ELEMENT_BYTES {
        return None;
    }
    let n_expected = usize::from(in_args.is_none());
    PHASES.find_iter(in_args.unwrap_or(element)).nth(n_expected)?;
    swallowed_by(element)
}

/// The key that all events have.
const PHASE: &[u8] = b"\"ph\"";

/// Made once, as that takes about as long as looking through the arguments of an event.
static PHASES: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(PHASE));

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
    let rest = bytes[at + 1..].trim_ascii_start();
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
                if event.phase.is_ascii_alphabetic()
                    && event.seen & OF_EVENTS != 0
                    && matches!(follows, None | Some(b',' | b']' | b'}' | b'{'))
                {
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

/// The first byte that is not blank.
fn first_of(bytes: &[u8]) -> Option<u8> {
    bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

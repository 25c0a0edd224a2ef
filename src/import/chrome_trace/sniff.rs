//! Format detection by the start of the file.

use super::cursor::skip_space;
use super::scanner::skip_value;
use crate::base::json::{JsonError, RawStr, unescape_to_string};
use crate::import::Confidence;
use memchr::memmem;

/// Maximum number of list elements checked.
const MAX_ELEMENTS: usize = 8;

/// Keys found in an object.
#[derive(Default)]
struct Keys {
    n: usize,
    has_phase: bool,
    /// `ts`, `dur`, `pid`, `tid`, `name` or `cat`.
    n_event_keys: usize,
    /// One of the first four.
    has_place: bool,
    has_args: bool,
    has_trace_events: bool,
    /// A member is a list that starts with an event, under any name.
    has_event_list: bool,
    /// A top-level key that belongs with `traceEvents`.
    has_container_key: bool,
    has_foreign_key: bool,
    /// End of the object, if found.
    end: Option<Result<usize, JsonError>>,
}

/// Reads the keys of the object at `at` up to its end, an error, or a decisive key.
fn keys_of(bytes: &[u8], at: usize) -> Keys {
    let mut keys = Keys::default();
    keys.end = walk(bytes, at + 1, &mut keys, false).transpose();
    keys
}

/// Like [`keys_of`], also looking for an event list under another name.
fn keys_and_lists_of(bytes: &[u8], at: usize) -> Keys {
    let mut keys = Keys::default();
    keys.end = walk(bytes, at + 1, &mut keys, true).transpose();
    keys
}

/// Whether the value at `at` is a list that starts with an event.
fn is_event_list(bytes: &[u8], at: usize) -> bool {
    let first = skip_space(bytes, at + 1);
    bytes.get(at) == Some(&b'[') && bytes.get(first) == Some(&b'{') && keys_of(bytes, first).end.is_none()
}

/// Returns `None` if decided before the end.
fn walk(
    bytes: &[u8],
    mut at: usize,
    keys: &mut Keys,
    looks_for_lists: bool,
) -> Result<Option<usize>, JsonError> {
    loop {
        at = skip_space(bytes, at);
        match bytes.get(at) {
            None => return Err(JsonError::Cut),
            Some(b'}') => return Ok(Some(at + 1)),
            Some(b',') if keys.n > 0 => at = skip_space(bytes, at + 1),
            Some(_) if keys.n > 0 => return Err(JsonError::Syntax { at, expected: "','" }),
            Some(_) => {}
        }
        match bytes.get(at) {
            None => return Err(JsonError::Cut),
            Some(b'"') => {}
            Some(b'}') => continue,
            Some(_) => return Err(JsonError::Syntax { at, expected: "a key" }),
        }
        let end = skip_value(bytes, at)?;
        let key = RawStr { bytes: &bytes[at + 1..end - 1], escaped: bytes[at..end].contains(&b'\\') };
        let key = unescape_to_string(key);
        at = skip_space(bytes, end);
        match bytes.get(at) {
            None => return Err(JsonError::Cut),
            Some(b':') => {}
            Some(_) => return Err(JsonError::Syntax { at, expected: "':'" }),
        }
        keys.n += 1;
        match key.as_bytes() {
            b"traceEvents" => {
                keys.has_trace_events = true;
                return Ok(None);
            }
            b"ph" => keys.has_phase = true,
            b"ts" | b"pid" | b"tid" | b"dur" => {
                keys.has_place = true;
                keys.n_event_keys += 1;
            }
            b"name" | b"cat" => keys.n_event_keys += 1,
            b"args" => keys.has_args = true,
            key if is_container_key(key) => keys.has_container_key = true,
            b"traces" | b"spans" | b"projectId" | b"resourceSpans" => keys.has_foreign_key = true,
            _ => {}
        }
        if keys.has_phase && keys.n_event_keys > 0 {
            return Ok(None);
        }
        let value = skip_space(bytes, at + 1);
        if looks_for_lists && is_event_list(bytes, value) {
            keys.has_event_list = true;
            return Ok(None);
        }
        at = skip_value(bytes, value)?;
    }
}

/// Whether a top-level member belongs with `traceEvents` and occurs in no other kind of file.
pub fn is_container_key(key: &[u8]) -> bool {
    matches!(
        key,
        b"schemaVersion"
            | b"deviceProperties"
            | b"displayTimeUnit"
            | b"stackFrames"
            | b"systemTraceEvents"
            | b"otherData"
            | b"distributedInfo"
            | b"controllerTraceDataKey"
    )
}

/// Whether the object at the start of `window` is an event rather than the top-level object; `None` if more bytes are needed
/// to decide. `complete`: there are no more.
pub fn is_event(window: &[u8], complete: bool) -> Option<bool> {
    let keys = keys_and_lists_of(window, 0);
    if keys.has_trace_events || keys.has_event_list {
        return Some(false);
    }
    match keys.end {
        None => Some(true),
        // An event without a phase is counted as such.
        Some(Ok(_)) => {
            Some(keys.has_phase || (keys.n_event_keys > 1 && keys.has_place && !keys.has_container_key))
        }
        // Long arguments may come first.
        Some(Err(JsonError::Cut)) => {
            complete.then_some(keys.has_phase || (keys.has_args && !keys.has_container_key))
        }
        // Broken: take it for an event if it looks like one.
        Some(Err(JsonError::Syntax { .. })) => {
            complete.then(|| looks_like_events(window) && !is_around_events(window))
        }
    }
}

/// Whether the first phase is in an object that is the first element of a list, and not in the object at the start.
fn is_around_events(window: &[u8]) -> bool {
    let Some(phase) = memmem::find(window, b"\"ph\"") else { return false };
    let before = &window[..phase];
    let Some(brace) = memchr::memrchr2(b'{', b'}', before) else { return false };
    before[brace] == b'{' && before[..brace].trim_ascii_end().ends_with(b"[")
}

fn looks_like_events(bytes: &[u8]) -> bool {
    memmem::find(bytes, b"\"ph\"").is_some() && memmem::find(bytes, b"\"traceEvents\"").is_none()
}

/// Rates the start of a file.
pub fn sniff(head: &[u8]) -> Confidence {
    let bytes = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let at = skip_space(bytes, 0);
    match bytes.get(at) {
        Some(b'[') => sniff_list(bytes, at + 1),
        Some(b'{') => sniff_object(bytes, at),
        _ => sniff_behind_text(bytes),
    }
}

/// Maximum number of lines checked.
const MAX_LINES: usize = 64;

/// Programs print messages and traces to the same file, and servers put a line before JSON: the first line of a trace counts,
/// wherever it is.
fn sniff_behind_text(bytes: &[u8]) -> Confidence {
    let starts = memchr::memchr2_iter(b'\n', 0, bytes).map(|end| end + 1).take(MAX_LINES);
    let kinds = starts.map(|at| match bytes.get(at) {
        Some(b'[') => sniff_list(bytes, at + 1),
        Some(b'{') => sniff_object(bytes, at),
        _ => Confidence::No,
    });
    let is_trace = |kind: Confidence| matches!(kind, Confidence::Certain | Confidence::Likely);
    // Other formats that accept the text have precedence.
    if kinds.into_iter().any(is_trace) { Confidence::Possible } else { Confidence::No }
}

fn sniff_object(bytes: &[u8], at: usize) -> Confidence {
    let keys = keys_and_lists_of(bytes, at);
    if keys.has_trace_events {
        return Confidence::Certain;
    }
    if keys.has_event_list {
        return Confidence::Likely;
    }
    match keys.end {
        None => Confidence::Certain,
        Some(Ok(_)) if keys.n == 0 => Confidence::Possible,
        Some(Ok(_)) if keys.has_container_key => Confidence::Likely,
        Some(Ok(_)) if keys.has_foreign_key => Confidence::Possible,
        Some(Ok(end)) => {
            // The first of several lines may not be an event.
            let next = skip_space(bytes, end);
            if bytes.get(next) == Some(&b'{') && keys_of(bytes, next).end.is_none() {
                Confidence::Likely
            } else {
                Confidence::No
            }
        }
        Some(Err(JsonError::Cut)) if keys.has_container_key || keys.has_phase => Confidence::Likely,
        Some(Err(JsonError::Cut)) if keys.n == 0 => Confidence::Possible,
        Some(Err(_)) if memmem::find(bytes, b"\"traceEvents\"").is_some() => Confidence::Likely,
        Some(Err(JsonError::Syntax { .. })) if looks_like_events(bytes) => Confidence::Likely,
        // Long values may come before the events.
        Some(Err(JsonError::Cut)) if keys.has_foreign_key || keys.n > 0 => Confidence::Possible,
        Some(Err(_)) => Confidence::No,
    }
}

fn sniff_list(bytes: &[u8], mut at: usize) -> Confidence {
    let mut all_empty = true;
    for _ in 0..MAX_ELEMENTS {
        at = skip_space(bytes, at);
        while bytes.get(at) == Some(&b',') {
            at = skip_space(bytes, at + 1);
        }
        match bytes.get(at) {
            None | Some(b']') => break,
            Some(b'{') => {
                let keys = keys_of(bytes, at);
                if keys.end.is_none() && !keys.has_trace_events {
                    return Confidence::Certain;
                }
                all_empty &= keys.n == 0;
                match keys.end {
                    Some(Ok(end)) => at = end,
                    Some(Err(JsonError::Cut)) if keys.has_phase => return Confidence::Likely,
                    Some(Err(JsonError::Cut)) if keys.n == 0 => break,
                    Some(Err(JsonError::Cut)) if keys.has_args => return Confidence::Possible,
                    _ if looks_like_events(bytes) => return Confidence::Likely,
                    _ => return Confidence::No,
                }
            }
            Some(_) => {
                all_empty = false;
                match skip_value(bytes, at) {
                    Ok(end) => at = end,
                    Err(_) => break,
                }
            }
        }
    }
    if all_empty { Confidence::Possible } else { Confidence::No }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_traces_from_other_json() {
        for (text, confidence) in [
            ("[]", Confidence::Possible),
            (" {} ", Confidence::Possible),
            ("[", Confidence::Possible),
            ("[{}]", Confidence::Possible),
            (r#"{"traceEvents":{"name":"x"}}"#, Confidence::Certain),
            (r#"{"metadata":{"traceEvents":1},"traceEvents":[]}"#, Confidence::Certain),
            (r#"[{"name":"a","ph":"X"}]"#, Confidence::Certain),
            (r#"[7,{"name":"a","ph":"X"}]"#, Confidence::Certain),
            (r#"{"name":"a","ph":"X","ts":1}"#, Confidence::Certain),
            (r#"{"displayTimeUnit":"ns"}"#, Confidence::Likely),
            (r#"[{"name":"q" "ph":"X"},"#, Confidence::Likely),
            (r#"[{"args":{"a":[1,"#, Confidence::Possible),
            (r#"{"trac\u0065Events":[]}"#, Confidence::Certain),
            (r#"{"ts":1.5,"op":"x","hit":true}"#, Confidence::No),
            (r#"[{"a":1}]"#, Confidence::No),
            ("started\n{\"traceEvents\":[]}", Confidence::Possible),
            (")]}'\n[{\"name\":\"a\",\"ph\":\"X\",\"ts\":1}]", Confidence::Possible),
            ("started {\"traceEvents\":[]}", Confidence::No),
            ("started\n{\"a\":1}\n[1]\n", Confidence::No),
            ("[1,2,3]", Confidence::No),
            (r#"{"a":[1]}"#, Confidence::No),
            ("text", Confidence::No),
            ("", Confidence::No),
        ] {
            assert_eq!(sniff(text.as_bytes()), confidence, "{text}");
        }
    }
}

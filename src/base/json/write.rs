//! Strict JSON from text and raw values: UTF-8 unescaped, only `"`, `\` and C0 controls escaped.
//!
//! Takes text, or a raw value that a lenient reader accepted; writes JSON that any parser accepts: no surrogate escapes, no
//! bare `NaN`, no invalid UTF-8, no blanks between tokens. Rewriting its own output changes nothing.

use super::{Dialect, JsonError, Parser, RawStr, Token, unescape};

/// Appends `text` as a JSON string, quotes included.
pub fn push_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut from = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte >= 0x20 && *byte != b'"' && *byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[from..at]);
        from = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
        }
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

/// Appends `value` as a JSON number with the shortest digits that round-trip, integers without fraction; `null` if it is not
/// finite.
pub fn push_f64(value: f64, out: &mut Vec<u8>) {
    use std::io::Write;
    if !value.is_finite() {
        out.extend_from_slice(b"null");
    } else if value == value.trunc() && value.abs() < 1e15 && (value != 0.0 || value.is_sign_positive()) {
        let _ = write!(out, "{}", value as i64);
    } else {
        let _ = write!(out, "{value:?}");
    }
}

/// Appends the raw value as strict JSON. If it is not even lenient JSON, its text is kept: `{"raw":"…"}`.
///
/// Number literals stay as they are; `NaN` and infinities become strings.
pub fn push_value(raw: &[u8], out: &mut Vec<u8>) {
    push_with(raw, None, out);
}

/// Like [`push_value`], replacing texts: `text` gets the key of each text (that of the list, in lists; empty if there is none)
/// and the text, including keys. Numbers stay.
pub fn push_value_with(raw: &[u8], text: &mut dyn FnMut(&str, &str) -> String, out: &mut Vec<u8>) {
    push_with(raw, Some(text), out);
}

/// Replacement of texts; see [`push_value_with`].
type Rewrite<'a> = &'a mut dyn FnMut(&str, &str) -> String;

/// Appends the raw value as strict JSON; nothing, and `false`, if it is not even lenient JSON.
pub fn push_if_json(raw: &[u8], out: &mut Vec<u8>) -> bool {
    push_whole(raw, &mut None, out)
}

fn push_whole(raw: &[u8], text: &mut Option<Rewrite<'_>>, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let mut parser = Parser::new(raw, Dialect::Lenient);
    let is_whole = rewrite(&mut parser, text, out).is_ok() && parser.peek().is_none();
    if !is_whole {
        out.truncate(start);
    }
    is_whole
}

fn push_with(raw: &[u8], mut text: Option<Rewrite<'_>>, out: &mut Vec<u8>) {
    if !push_whole(raw, &mut text, out) {
        out.extend_from_slice(b"{\"raw\":");
        let raw = String::from_utf8_lossy(raw);
        match text {
            Some(text) => push_string(&text("", &raw), out),
            None => push_string(&raw, out),
        }
        out.push(b'}');
    }
}

/// Object levels at which members are merged; deeper, `end` wins as a whole.
const MERGED_LEVELS: u32 = 32;

/// Appends the members of the objects `begin` and `end` as one object. For equal keys `end` wins, but two objects are merged.
///
/// A value that is not an object is written by [`push_value`], `begin` first.
pub fn push_merged(begin: &[u8], end: &[u8], out: &mut Vec<u8>) {
    push_merged_level(begin, end, MERGED_LEVELS, out);
}

fn push_merged_level(begin: &[u8], end: &[u8], levels: u32, out: &mut Vec<u8>) {
    let (Some(first), Some(second)) = (members(begin), members(end)) else {
        return push_value(if members(end).is_some() { end } else { begin }, out);
    };
    // Key, value, and the value in `end` for the same key. The last of duplicate keys wins, as everywhere.
    type Row<'a> = (&'a str, &'a [u8], Option<&'a [u8]>);
    let mut rows: Vec<Row<'_>> = Vec::with_capacity(first.len() + second.len());
    let mut places: crate::base::hash::HashMap<&str, usize> = Default::default();
    for (members, is_end) in [(&first, false), (&second, true)] {
        for (key, value) in members {
            let place = *places.entry(key).or_insert(rows.len());
            match rows.get_mut(place) {
                None => rows.push((key, value, None)),
                Some(row) if is_end => row.2 = Some(value),
                Some(row) => row.1 = value,
            }
        }
    }
    out.push(b'{');
    for (i, (key, value, after)) in rows.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_string(key, out);
        out.push(b':');
        let is_object = |raw: &[u8]| raw.trim_ascii_start().first() == Some(&b'{');
        match after {
            Some(after) if levels > 0 && is_object(value) && is_object(after) => {
                push_merged_level(value, after, levels - 1, out);
            }
            after => push_value(after.unwrap_or(value), out),
        }
    }
    out.push(b'}');
}

/// Appends `second` as continuing `first`: a list behind a list, objects merged that way, texts of objects like objects, anything
/// else alone. Both are strict JSON.
pub fn push_continued(first: &[u8], second: &[u8], out: &mut Vec<u8>) {
    push_continued_level(first, second, MERGED_LEVELS, out);
}

fn push_continued_level(first: &[u8], second: &[u8], levels: u32, out: &mut Vec<u8>) {
    match (first, second) {
        ([b'[', b']'], _) | (_, [b'[', b']']) if first.first() == second.first() => {
            out.extend_from_slice(if first.len() > 2 { first } else { second });
        }
        ([b'[', .., b']'], [b'[', .., b']']) => {
            out.extend_from_slice(&first[..first.len() - 1]);
            out.push(b',');
            out.extend_from_slice(&second[1..]);
        }
        ([b'{', ..], [b'{', ..]) if levels > 0 => {
            let (Some(before), Some(members)) = (members(first), members(second)) else {
                return out.extend_from_slice(second);
            };
            let added: crate::base::hash::HashMap<&str, &[u8]> =
                members.iter().map(|(key, value)| (key.as_str(), *value)).collect();
            let known: crate::base::hash::HashSet<&str> =
                before.iter().map(|(key, _)| key.as_str()).collect();
            let new = members.iter().filter(|(key, _)| !known.contains(key.as_str()));
            out.push(b'{');
            for (i, (key, value)) in before.iter().chain(new).enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                push_string(key, out);
                out.push(b':');
                match added.get(key.as_str()).filter(|_| i < before.len()) {
                    Some(more) => push_continued_level(value, more, levels - 1, out),
                    None => out.extend_from_slice(value),
                }
            }
            out.push(b'}');
        }
        ([b'"', b'{', ..], [b'"', b'{', ..]) if levels > 0 => {
            let text = |raw: &[u8]| {
                let raw = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
                super::unescape_to_string(RawStr { bytes: raw, escaped: raw.contains(&b'\\') })
            };
            let mut strict = [Vec::new(), Vec::new()];
            push_value(text(first).as_bytes(), &mut strict[0]);
            push_value(text(second).as_bytes(), &mut strict[1]);
            let mut joined = Vec::new();
            push_continued_level(&strict[0], &strict[1], levels - 1, &mut joined);
            push_string(&String::from_utf8_lossy(&joined), out);
        }
        _ => out.extend_from_slice(second),
    }
}

/// Appends the object `end` with what `begin` has under the same keys before it, as [`push_continued`]. False, and nothing is
/// appended, if that is `end` itself.
pub fn push_joined(begin: &[u8], end: &[u8], out: &mut Vec<u8>) -> bool {
    let (Some(first), Some(second)) = (members(begin), members(end)) else { return false };
    let first: crate::base::hash::HashMap<String, &[u8]> = first.into_iter().collect();
    if !second.iter().any(|(key, _)| first.contains_key(key)) {
        return false;
    }
    out.push(b'{');
    for (i, (key, value)) in second.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_string(key, out);
        out.push(b':');
        match first.get(key) {
            Some(before) => push_continued_level(before, value, MERGED_LEVELS, out),
            None => out.extend_from_slice(value),
        }
    }
    out.push(b'}');
    true
}

/// Keys and raw values of an object; `None` if it is not an object.
fn members(raw: &[u8]) -> Option<Vec<(String, &[u8])>> {
    let mut parser = Parser::new(raw, Dialect::Lenient);
    if parser.token() != Ok(Token::Object) {
        return None;
    }
    let mut members = Vec::new();
    let mut first = true;
    while let Some(key) = parser.next_key(&mut first).ok()? {
        members.push((super::unescape_to_string(key), parser.skip_value().ok()?));
    }
    Some(members)
}

/// One open container.
struct Open {
    object: bool,
    first: bool,
    /// Current key of an object, or the key of a list; empty if not needed.
    key: String,
}

/// Rewrites one value with an explicit stack, so that depth costs memory and not call stack.
fn rewrite(
    parser: &mut Parser<'_>,
    text: &mut Option<Rewrite<'_>>,
    out: &mut Vec<u8>,
) -> Result<(), JsonError> {
    let mut open: Vec<Open> = Vec::new();
    let mut scratch = String::new();
    loop {
        match parser.token()? {
            Token::Object => {
                out.push(b'{');
                open.push(Open { object: true, first: true, key: String::new() });
            }
            Token::Array => {
                out.push(b'[');
                let key = open.last().map(|around| around.key.clone()).unwrap_or_default();
                open.push(Open { object: false, first: true, key });
            }
            Token::String(raw) => match text {
                Some(text) => {
                    let key = open.last().map_or("", |around| around.key.as_str());
                    push_string(&text(key, &super::unescape_to_string(raw)), out);
                }
                None => push_raw_string(raw, &mut scratch, out),
            },
            Token::Number(literal) => out.extend_from_slice(literal),
            Token::True => out.extend_from_slice(b"true"),
            Token::False => out.extend_from_slice(b"false"),
            Token::Null => out.extend_from_slice(b"null"),
            Token::NonFinite(value) if value.is_nan() => out.extend_from_slice(b"\"NaN\""),
            Token::NonFinite(value) if value > 0.0 => out.extend_from_slice(b"\"Infinity\""),
            Token::NonFinite(_) => out.extend_from_slice(b"\"-Infinity\""),
        }
        // Closes finished containers and moves to the next value.
        loop {
            let Some(top) = open.last_mut() else { return Ok(()) };
            let comma = !top.first;
            if top.object {
                if let Some(key) = parser.next_key(&mut top.first)? {
                    if comma {
                        out.push(b',');
                    }
                    match text {
                        Some(text) => {
                            top.key = super::unescape_to_string(key);
                            push_string(&text("", &top.key), out);
                        }
                        None => push_raw_string(key, &mut scratch, out),
                    }
                    out.push(b':');
                    break;
                }
                out.push(b'}');
            } else {
                if parser.next_element(&mut top.first)? {
                    if comma {
                        out.push(b',');
                    }
                    break;
                }
                out.push(b']');
            }
            open.pop();
        }
    }
}

fn push_raw_string(raw: RawStr<'_>, scratch: &mut String, out: &mut Vec<u8>) {
    if !raw.escaped
        && let Ok(text) = std::str::from_utf8(raw.bytes)
    {
        return push_string(text, out);
    }
    scratch.clear();
    unescape(raw, scratch);
    push_string(scratch, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(raw: &[u8]) -> String {
        let mut out = Vec::new();
        push_value(raw, &mut out);
        let text = String::from_utf8(out).unwrap();
        let mut again = Vec::new();
        push_value(text.as_bytes(), &mut again);
        assert_eq!(text.as_bytes(), again, "writing what was written changes nothing");
        text
    }

    #[test]
    fn any_value_becomes_strict() {
        assert_eq!(
            value(br#" { "a" : [ 1.50 , -0 , NaN,{} ] , "b":"x\ud83d\ude00\u0041\/" } "#),
            "{\"a\":[1.50,-0,\"NaN\",{}],\"b\":\"x😀A/\"}"
        );
        assert_eq!(
            value(b"[-Infinity,inf,-inf,nan,true,null,]"),
            "[\"-Infinity\",\"Infinity\",\"-Infinity\",\"NaN\",true,null]"
        );
        assert_eq!(value(b"{\"a\":\"\x01\xff\\x\"}"), "{\"a\":\"\\u0001\u{fffd}\\\\x\"}");
        assert_eq!(value(b"{\"a\" 1}"), "{\"raw\":\"{\\\"a\\\" 1}\"}");
        assert_eq!(value(b"{} x"), "{\"raw\":\"{} x\"}");
    }

    #[test]
    fn deep_values_need_no_stack() {
        let deep = [vec![b'['; 300_000], vec![b']'; 300_000]].concat();
        assert_eq!(value(&deep).as_bytes(), deep);
    }

    #[test]
    fn the_end_wins() {
        let mut out = Vec::new();
        push_merged(br#"{"a":1,"b":2}"#, br#"{"b":3,"c":[]}"#, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), r#"{"a":1,"b":3,"c":[]}"#);
    }

    #[test]
    fn numbers() {
        let text = |value| {
            let mut out = Vec::new();
            push_f64(value, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            [text(5.0), text(-0.0), text(0.1), text(1e300), text(f64::NAN)],
            ["5", "-0.0", "0.1", "1e300", "null"]
        );
    }
}

//! Values parsed and formatted as in Python: `float(text)`, `int(text)`, `repr`, `str.strip`, `json.dumps`.
//!
//! Tools written in Python use these rules, so reading their files and matching their output byte for byte needs them.

use crate::base::json::{Dialect, JsonError, Parser, RawStr, Token, Unescape, unescape};
use std::fmt::Write;

/// Maximum digits of an integer that Python converts.
pub const MAX_INT_DIGITS: usize = 4300;

/// Whether `str.isspace` holds: Unicode white space and the four ASCII separators.
#[inline]
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// `text.strip()`.
#[inline]
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Code points of the zeros of Unicode's decimal digits (category Nd, Unicode 17); nine more digits follow each.
const ZEROS: [u32; 77] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50,
    0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40,
    0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x10d40,
    0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x116d0, 0x116da,
    0x11730, 0x118e0, 0x11950, 0x11bf0, 0x11c50, 0x11d50, 0x11da0, 0x11de0, 0x11f50, 0x16130, 0x16a60,
    0x16ac0, 0x16b50, 0x16d70, 0x1ccf0, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0,
    0x1e4f0, 0x1e5f1, 0x1e950, 0x1fbf0,
];

/// Value of a decimal digit of any script.
pub fn decimal_digit(c: char) -> Option<u8> {
    let after = ZEROS.partition_point(|zero| *zero <= c as u32);
    let distance = c as u32 - ZEROS[after.checked_sub(1)?];
    (distance < 10).then_some(distance as u8)
}

/// Text as `float` and `int` see it: digits of all scripts as ASCII, trimmed.
///
/// `None` if it has another non-ASCII character. The ASCII separators U+001C to U+001F do not count as white space here.
fn numeric_text(text: &str) -> Option<String> {
    let space = |c: char| matches!(c, '\t'..='\r' | ' ') || (c > '\u{7f}' && is_space(c));
    text.trim_matches(space)
        .chars()
        .map(|c| match c {
            '\0'..='\u{7f}' => Some(c),
            c => decimal_digit(c).map(|digit| char::from(b'0' + digit)),
        })
        .collect()
}

/// Removes single underscores between digits; `None` if one is elsewhere.
fn drop_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let allowed = |at: usize| at > 0 && is_digit(at - 1) && is_digit(at + 1);
    if (0..bytes.len()).any(|at| bytes[at] == b'_' && !allowed(at)) {
        return None;
    }
    Some(text.replace('_', ""))
}

/// `float(text)`; `None` where Python raises `ValueError`.
pub fn parse_float(text: &str) -> Option<f64> {
    let text = drop_underscores(&numeric_text(text)?)?;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    match unsigned.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => return Some(sign * f64::INFINITY),
        "nan" => return Some(f64::NAN),
        _ => {}
    }
    // With these characters only, Rust accepts exactly what Python accepts.
    if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) {
        return None;
    }
    text.parse().ok()
}

/// `str(int(text))`; `None` where Python raises `ValueError`.
pub fn parse_int(text: &str) -> Option<String> {
    let text = drop_underscores(&numeric_text(text)?)?;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let valid = (1..=MAX_INT_DIGITS).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    valid.then(|| plain_int(digits, text.starts_with('-')))
}

/// Decimal text of an integer: no leading zeros, no sign on zero.
pub fn plain_int(digits: &str, negative: bool) -> String {
    match digits.trim_start_matches('0') {
        "" => "0".to_string(),
        digits if negative => format!("-{digits}"),
        digits => digits.to_string(),
    }
}

/// `repr` of a float: the fewest digits that round-trip.
pub fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_string();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_string();
    }
    let text = shortest_digits(value);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        return plain_notation(mantissa, exponent);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// Fewest digits that round-trip, in scientific notation.
///
/// Between two equally near texts Rust takes the upper and Python the even one (`1000000000000000.25` allows both `.2` and
/// `.3`), so the last digit is rounded again.
fn shortest_digits(value: f64) -> String {
    let text = format!("{value:e}");
    let n_digits = text.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    let rounded = format!("{:.*e}", n_digits.saturating_sub(1), value);
    if rounded.parse() == Ok(value) { rounded } else { text }
}

/// `mantissa × 10^exponent` without an exponent, always with a decimal point.
fn plain_notation(mantissa: &str, exponent: i32) -> String {
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let digits = mantissa.replace('.', "");
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
    }
    let n_whole = exponent as usize + 1;
    match digits.split_at_checked(n_whole) {
        Some((whole, fraction)) if !fraction.is_empty() => format!("{sign}{whole}.{fraction}"),
        _ => format!("{sign}{digits:0<n_whole$}.0"),
    }
}

/// Float as in `json.dumps`: `NaN`, `Infinity` and `-Infinity` are bare words.
pub fn float_json(value: f64) -> String {
    match value {
        value if value.is_nan() => "NaN".to_string(),
        f64::INFINITY => "Infinity".to_string(),
        f64::NEG_INFINITY => "-Infinity".to_string(),
        value => float_repr(value),
    }
}

/// `format(value, ".2f")` and the like.
pub fn format_fixed(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:.decimals$}") } else { float_repr(value) }
}

/// `format(value, ".1%")`.
pub fn format_percent(value: f64) -> String {
    format_fixed(value * 100.0, 1) + "%"
}

/// String as in `json.dumps`: ASCII only, in double quotes.
pub fn push_json_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='\u{7f}' => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// `str.isprintable` of one character.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    // The standard library's debug escaping uses the same categories, except that it also escapes combining marks at the start
    // of a string.
    let mut text = String::from("a");
    text.push(c);
    text.escape_debug().eq(text.chars())
}

/// `repr` of a string.
pub fn push_str_repr(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if is_printable(c) => out.push(c),
            c => {
                let _ = match c as u32 {
                    code @ ..0x100 => write!(out, "\\x{code:02x}"),
                    code @ ..0x10000 => write!(out, "\\u{code:04x}"),
                    code => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}

/// `repr` of a JSON number literal.
pub fn push_number_repr(literal: &str, out: &mut String) {
    if literal.contains(['.', 'e', 'E']) {
        out.push_str(&float_repr(literal.parse().unwrap_or(f64::NAN)));
    } else {
        let digits = literal.strip_prefix('-').unwrap_or(literal);
        out.push_str(&plain_int(digits, literal.starts_with('-')));
    }
}

/// Value of a JSON text in reading order. Positions are byte offsets.
#[derive(Clone, Copy)]
struct Node {
    start: u32,
    /// Offset after the value.
    end: u32,
    /// Index of the node after this value and everything in it.
    next: u32,
}

/// A container being written.
struct Open {
    is_object: bool,
    /// Node of each value, in output order; keys as text.
    items: Vec<(Option<String>, u32)>,
    written: usize,
}

/// `repr` of a JSON container as Python reads it. `json` must be exactly one valid value.
///
/// Uses an explicit stack, so nesting costs memory in proportion to the text and no call depth. `odd` collects irregularities
/// of strings.
pub fn push_container_repr(json: &str, out: &mut String, odd: &mut Unescape) -> Result<(), JsonError> {
    let nodes = scan_nodes(json)?;
    let mut open: Vec<Open> = Vec::new();
    let mut node = 0u32;
    loop {
        let start = nodes.get(node as usize).map_or(0, |node| node.start as usize);
        let mut parser = Parser::at(json.as_bytes(), start, Dialect::Python);
        match parser.token()? {
            Token::String(raw) => push_str_repr(&text_of(raw, odd), out),
            Token::Number(literal) => push_number_repr(str::from_utf8(literal).unwrap_or("0"), out),
            Token::NonFinite(value) => out.push_str(&float_repr(value)),
            Token::True => out.push_str("True"),
            Token::False => out.push_str("False"),
            Token::Null => out.push_str("None"),
            token => {
                let is_object = token == Token::Object;
                out.push(if is_object { '{' } else { '[' });
                let items = list_items(json, &nodes, node, is_object, odd)?;
                open.push(Open { is_object, items, written: 0 });
            }
        }
        loop {
            let Some(top) = open.last_mut() else { return Ok(()) };
            if let Some((key, value)) = top.items.get(top.written) {
                if top.written > 0 {
                    out.push_str(", ");
                }
                if let Some(key) = key {
                    push_str_repr(key, out);
                    out.push_str(": ");
                }
                node = *value;
                top.written += 1;
                break;
            }
            out.push(if top.is_object { '}' } else { ']' });
            open.pop();
        }
    }
}

/// All values of `json`, outer before inner.
fn scan_nodes(json: &str) -> Result<Vec<Node>, JsonError> {
    let mut parser = Parser::new(json.as_bytes(), Dialect::Python);
    let mut nodes: Vec<Node> = Vec::new();
    // Node, whether it is an object, and whether its first item is still to come.
    let mut open: Vec<(usize, bool, bool)> = Vec::new();
    loop {
        parser.skip_space();
        let index = nodes.len();
        let start = parser.position() as u32;
        let token = parser.token()?;
        nodes.push(Node { start, end: parser.position() as u32, next: index as u32 + 1 });
        match token {
            Token::Object => open.push((index, true, true)),
            Token::Array => open.push((index, false, true)),
            _ => {}
        }
        loop {
            let Some((container, is_object, first)) = open.last_mut() else { return Ok(nodes) };
            let more =
                if *is_object { parser.next_key(first)?.is_some() } else { parser.next_element(first)? };
            if more {
                break;
            }
            let next = nodes.len() as u32;
            let end = parser.position() as u32;
            nodes[*container] = Node { end, next, ..nodes[*container] };
            open.pop();
        }
    }
}

/// Direct items of a container. A duplicate key keeps its first position and gets its last value.
fn list_items(
    json: &str,
    nodes: &[Node],
    container: u32,
    is_object: bool,
    odd: &mut Unescape,
) -> Result<Vec<(Option<String>, u32)>, JsonError> {
    let mut items: Vec<(Option<String>, u32)> = Vec::new();
    let mut places = crate::base::hash::HashMap::default();
    let end = nodes[container as usize].next;
    let mut node = container + 1;
    let mut after = nodes[container as usize].start as usize + 1;
    while node < end {
        let next = nodes[node as usize].next;
        if is_object {
            // The key is between the previous value and this one, possibly after a comma.
            let mut parser = Parser::at(json.as_bytes(), after, Dialect::Python);
            parser.eat(b',');
            parser.skip_space();
            let key = text_of(parser.string()?, odd);
            match places.get(&key) {
                Some(place) => {
                    let item: &mut (Option<String>, u32) = &mut items[*place];
                    item.1 = node;
                }
                None => {
                    places.insert(key.clone(), items.len());
                    items.push((Some(key), node));
                }
            }
        } else {
            items.push((None, node));
        }
        after = nodes[node as usize].end as usize;
        node = next;
    }
    Ok(items)
}

fn text_of(raw: RawStr<'_>, odd: &mut Unescape) -> String {
    let mut text = String::with_capacity(raw.bytes.len());
    let here = unescape(raw, &mut text);
    odd.lone_surrogate |= here.lone_surrogate;
    odd.bad_utf8 |= here.bad_utf8;
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_all_scripts() {
        assert!(ZEROS.is_sorted());
        for zero in ZEROS {
            for digit in 0..10 {
                let c = char::from_u32(zero + digit).unwrap();
                assert!(c.is_numeric(), "U+{:04X}", c as u32);
                assert_eq!(decimal_digit(c), Some(digit as u8));
            }
        }
        assert_eq!((decimal_digit('/'), decimal_digit(':'), decimal_digit('²')), (None, None, None));
    }

    #[test]
    fn floats_from_text() {
        for (text, value) in [
            ("1e3", 1000.0),
            (" 8.25 ", 8.25),
            ("1_0.5", 10.5),
            ("1_0e1_0", 10e10),
            ("+8.75", 8.75),
            (".5", 0.5),
            ("5.", 5.0),
            ("iNfinity", f64::INFINITY),
            ("-inf", f64::NEG_INFINITY),
            ("1e999", f64::INFINITY),
            ("\u{663}.\u{665}", 3.5),
            ("\u{ff11}\u{ff12}", 12.0),
            ("\u{85}1\u{2003}", 1.0),
            ("\u{b}1\u{c}", 1.0),
        ] {
            assert_eq!(parse_float(text), Some(value), "{text:?}");
        }
        assert!(parse_float("+NaN").is_some_and(f64::is_nan));
        for bad in [
            "", " ", "8,5", "0x1p3", "1__0", "_1", "1_", "1e_1", "1_.5", "1._5", "in_f", ".", "e5", "5e",
            "--1", "1\0", "\u{1c}1", "- 1", "infin", "1 2", "²",
        ] {
            assert_eq!(parse_float(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn integers_from_text() {
        for (text, value) in [
            ("12", "12"),
            (" 12\n", "12"),
            ("1_000", "1000"),
            ("-0", "0"),
            ("+007", "7"),
            ("-\u{663}", "-3"),
            ("99999999999999999999", "99999999999999999999"),
        ] {
            assert_eq!(parse_int(text).as_deref(), Some(value), "{text:?}");
        }
        for bad in ["", "12.0", "0x10", "1__0", "_1", "1_", "+", "- 1", "1e3", "\u{1c}1"] {
            assert_eq!(parse_int(bad), None, "{bad:?}");
        }
        assert!(parse_int(&"0".repeat(4300)).is_some());
        assert!(parse_int(&"0".repeat(4301)).is_none());
    }

    #[test]
    fn floats_to_text() {
        for (value, text) in [
            (100.0, "100.0"),
            (0.1, "0.1"),
            (-0.0, "-0.0"),
            (1e15, "1000000000000000.0"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (1e16, "1e+16"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (5e-324, "5e-324"),
            (1e100, "1e+100"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(float_repr(value), text);
        }
        assert_eq!(float_json(f64::NEG_INFINITY), "-Infinity");
        assert_eq!(format_fixed(-0.0, 2), "-0.00");
        assert_eq!(format_fixed(f64::NAN, 2), "nan");
        assert_eq!(format_percent(0.125), "12.5%");
    }

    #[test]
    fn containers_to_text() {
        for (json, text) in [
            (r#"[1, "a", null]"#, "[1, 'a', None]"),
            (r#"{"k": 1.5, "t": false}"#, "{'k': 1.5, 't': False}"),
            (r#"[]"#, "[]"),
            (
                r#"[{}, [ ], -0, -0.0, 1e5, NaN, -Infinity, true]"#,
                "[{}, [], 0, -0.0, 100000.0, nan, -inf, True]",
            ),
            (r#"["it's", "\"", "it's \""]"#, r#"["it's", '"', 'it\'s "']"#),
            (
                r#"["\n\t\\\u001f\u00e9\u0301\u200b\u00a0\ue000\ud83d\ude00"]"#,
                "['\\n\\t\\\\\\x1fé\u{301}\\u200b\\xa0\\ue000😀']",
            ),
            (r#"{"a": 1, "b": 2, "a": {"x": 1, "x": [2]}}"#, "{'a': {'x': [2]}, 'b': 2}"),
        ] {
            let mut out = String::new();
            push_container_repr(json, &mut out, &mut Unescape::default()).unwrap();
            assert_eq!(out, text);
        }
    }

    #[test]
    fn deep_containers_cost_no_stack() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let mut out = String::new();
        push_container_repr(&deep, &mut out, &mut Unescape::default()).unwrap();
        assert!(out == deep);
    }
}

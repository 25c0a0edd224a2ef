//! One line to one call, by the rules of dlm-sway's reader.
//!
//! Two parsers with the same result: [`parse_usual`] for lines exactly as the writer emits them, without allocation, and
//! [`parse_any`] for everything else the reference accepts.

use crate::base::compat::python;
use crate::base::json::{Dialect, JsonError, Parser, RawStr, Token, Unescape, unescape};
use crate::base::strings::same_bytes;
use crate::trace::scoring_calls::ProbeKind;
use std::borrow::Cow;
use wide::u8x16;

/// Maximum nesting that is parsed. The reference fails somewhere below 100,000 levels.
pub const MAX_DEPTH: usize = 50_000;

/// Values of one line.
#[derive(Clone, PartialEq, Debug)]
pub struct Call<'a> {
    pub ts: f64,
    pub probe_kind: ProbeKind,
    /// As in [`crate::trace::scoring_calls::ScoringCallTable::probe`]; empty for no probe.
    pub probe: Cow<'a, str>,
    pub view_id: Cow<'a, str>,
    pub prompt_hash: Cow<'a, str>,
    pub top_k: TopK,
    pub op: Cow<'a, str>,
    pub wall_ms: f64,
    pub hit: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TopK {
    Small(i64),
    /// Decimal digits of a number outside of `i64`.
    Wide(String),
}

impl TopK {
    /// Parses `decimal`, the plain text of an integer.
    fn from_decimal(decimal: String) -> TopK {
        decimal.parse().map_or(TopK::Wide(decimal), TopK::Small)
    }
}

/// Reason why a line is not a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    NotJson,
    /// The line ends inside a value.
    Cut,
    ByteOrderMark,
    NotAnObject,
    TooDeep,
    IntegerTooLong,
    BadTs,
    BadWallMs,
    BadTopK,
    BadProbe,
    /// An integer too large for a double as a time, or an infinite `top_k`.
    OutOfRange,
}

impl From<JsonError> for Refusal {
    fn from(error: JsonError) -> Refusal {
        match error {
            JsonError::Cut => Refusal::Cut,
            JsonError::Syntax { .. } => Refusal::NotJson,
        }
    }
}

/// Issues of a line that was kept.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LineIssues {
    pub missing_field: bool,
    pub unknown_field: bool,
    pub repeated_field: bool,
    /// A value had the wrong type and was converted.
    pub converted: bool,
    pub lone_surrogate: bool,
}

/// Parses a line as the writer emits it: keys in its order and spacing, plain ASCII without escapes.
///
/// `None` only means that [`parse_any`] has to parse it.
pub fn parse_usual(line: &[u8]) -> Option<Call<'_>> {
    // One pass, vectorized by the compiler: no control characters, nothing beyond ASCII, no backslash.
    if !line.iter().fold(true, |plain, byte| plain & (*byte >= b' ') & (*byte < 0x80) & (*byte != b'\\')) {
        return None;
    }
    let line = str::from_utf8(line).ok()?;
    let (ts, rest) = usual_float(after(line, b"{\"ts\": ")?)?;
    let rest = after(rest, b", \"probe\": ")?;
    let (probe_kind, probe, rest) = match after(rest, b"null") {
        Some(rest) => (ProbeKind::Null, "", rest),
        None => {
            let (probe, rest) = usual_string(rest)?;
            (ProbeKind::Text, probe, rest)
        }
    };
    let (view_id, rest) = usual_string(after(rest, b", \"view_id\": ")?)?;
    let (prompt_hash, rest) = usual_string(after(rest, b", \"prompt_hash\": ")?)?;
    let (top_k, rest) = usual_int(after(rest, b", \"top_k\": ")?)?;
    let (op, rest) = usual_string(after(rest, b", \"op\": ")?)?;
    let (wall_ms, rest) = usual_float(after(rest, b", \"wall_ms\": ")?)?;
    let hit = match after(rest, b", \"hit\": ")? {
        "true}" => true,
        "false}" => false,
        _ => return None,
    };
    Some(Call {
        ts,
        probe_kind,
        probe: Cow::Borrowed(probe),
        view_id: Cow::Borrowed(view_id),
        prompt_hash: Cow::Borrowed(prompt_hash),
        top_k: TopK::Small(top_k),
        op: Cow::Borrowed(op),
        wall_ms,
        hit,
    })
}

/// Rest of the text after `prefix`.
#[inline(always)]
fn after<'a, const N: usize>(text: &'a str, prefix: &[u8; N]) -> Option<&'a str> {
    let start = text.as_bytes().first_chunk::<N>()?;
    if same_bytes(start, prefix) { text.get(N..) } else { None }
}

/// Position of the first `byte` in the first 48 bytes.
#[inline(always)]
fn find_near(text: &[u8], byte: u8) -> Option<usize> {
    let (blocks, rest) = text.as_chunks::<16>();
    for (i, block) in blocks.iter().take(3).enumerate() {
        let found = u8x16::new(*block).simd_eq(u8x16::splat(byte)).to_bitmask();
        if found != 0 {
            return Some(16 * i + found.trailing_zeros() as usize);
        }
    }
    if blocks.len() >= 3 {
        return None;
    }
    rest.iter().position(|other| *other == byte).map(|at| 16 * blocks.len() + at)
}

#[inline(always)]
fn usual_string(text: &str) -> Option<(&str, &str)> {
    let text = after(text, b"\"")?;
    let end = find_near(text.as_bytes(), b'"').or_else(|| memchr::memchr(b'"', text.as_bytes()))?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// Splits off a JSON number short enough not to overflow; what is not checked here is rejected by the parsers of the standard
/// library.
#[inline(always)]
fn usual_literal(text: &str) -> Option<(&str, &str)> {
    let end = find_near(text.as_bytes(), b',').filter(|end| *end <= 40)?;
    let (literal, rest) = text.split_at_checked(end)?;
    let bytes = literal.strip_prefix('-').unwrap_or(literal).as_bytes();
    // The standard library also accepts a plus sign, words, and points and zeros that JSON does not.
    let starts_well = match bytes {
        [b'0', next, ..] => !next.is_ascii_digit(),
        [b'0'..=b'9', ..] => true,
        _ => false,
    };
    let point = bytes.iter().position(|byte| *byte == b'.');
    let goes_on = point.is_none_or(|point| bytes.get(point + 1).is_some_and(u8::is_ascii_digit));
    (starts_well && goes_on && bytes.last().is_some_and(u8::is_ascii_digit)).then_some((literal, rest))
}

#[inline(always)]
fn usual_float(text: &str) -> Option<(f64, &str)> {
    let (literal, rest) = usual_literal(text)?;
    let value: f64 = literal.parse().ok()?;
    // The integer zero has no sign; the double has.
    Some((if literal == "-0" { 0.0 } else { value }, rest))
}

#[inline(always)]
fn usual_int(text: &str) -> Option<(i64, &str)> {
    let (literal, rest) = usual_literal(text)?;
    Some((literal.parse().ok()?, rest))
}

/// The fields in the writer's order.
const FIELDS: [&str; 8] = ["ts", "probe", "view_id", "prompt_hash", "top_k", "op", "wall_ms", "hit"];

/// Value of a field as in the line.
#[derive(Clone, Copy)]
enum Raw<'a> {
    Missing,
    Null,
    Bool(bool),
    /// A literal without fraction and exponent.
    Integer(&'a str),
    Float(f64),
    String(RawStr<'a>),
    /// The text of an array or object.
    Container(&'a str),
}

/// Parses any line, trimmed.
pub fn parse_any(line: &str) -> Result<(Call<'_>, LineIssues), Refusal> {
    if line.starts_with('\u{feff}') {
        return Err(Refusal::ByteOrderMark);
    }
    let mut parser = Parser::new(line.as_bytes(), Dialect::Python);
    let token = parser.token()?;
    if token != Token::Object {
        finish_value(&mut parser, token, 0)?;
        expect_end(&mut parser)?;
        return Err(Refusal::NotAnObject);
    }
    let mut fields = [Raw::Missing; FIELDS.len()];
    let mut odd = LineIssues::default();
    let mut first = true;
    let mut key_text = String::new();
    while let Some(key) = parser.next_key(&mut first)? {
        let field = find_field(key, &mut key_text);
        parser.skip_space();
        let start = parser.position();
        let token = parser.token()?;
        finish_value(&mut parser, token, 1)?;
        let raw = match token {
            Token::Null => Raw::Null,
            Token::True => Raw::Bool(true),
            Token::False => Raw::Bool(false),
            Token::NonFinite(value) => Raw::Float(value),
            Token::String(raw) => Raw::String(raw),
            Token::Number(literal) => number(str::from_utf8(literal).map_err(|_| Refusal::NotJson)?),
            Token::Object | Token::Array => Raw::Container(line.get(start..parser.position()).unwrap_or("")),
        };
        match field {
            Some(field) => {
                odd.repeated_field |= !matches!(fields[field], Raw::Missing);
                fields[field] = raw;
            }
            None => odd.unknown_field = true,
        }
    }
    expect_end(&mut parser)?;
    odd.missing_field = fields.iter().any(|raw| matches!(raw, Raw::Missing));
    let call = convert(fields, &mut odd)?;
    Ok((call, odd))
}

/// Whether a line is an object, and which of the writer's fields and of `others` it has at the top level.
pub fn find_keys(line: &str, others: &[&str]) -> Option<([bool; FIELDS.len()], bool)> {
    let mut parser = Parser::new(line.as_bytes(), Dialect::Python);
    if parser.token() != Ok(Token::Object) {
        return None;
    }
    let (mut seen, mut other) = ([false; FIELDS.len()], false);
    let mut first = true;
    let mut key_text = String::new();
    while let Some(key) = parser.next_key(&mut first).ok()? {
        match find_field(key, &mut key_text) {
            Some(field) => seen[field] = true,
            None => other |= others.contains(&key_text.as_str()),
        }
        let token = parser.token().ok()?;
        finish_value(&mut parser, token, 1).ok()?;
    }
    expect_end(&mut parser).ok()?;
    Some((seen, other))
}

/// Leaves the key in `text`.
fn find_field(key: RawStr<'_>, text: &mut String) -> Option<usize> {
    text.clear();
    unescape(key, text);
    FIELDS.iter().position(|field| field == text)
}

fn number(literal: &str) -> Raw<'_> {
    if is_integer(literal) { Raw::Integer(literal) } else { Raw::Float(literal.parse().unwrap_or(f64::NAN)) }
}

fn is_integer(literal: &str) -> bool {
    !literal.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}

fn expect_end(parser: &mut Parser<'_>) -> Result<(), Refusal> {
    if parser.peek().is_none() { Ok(()) } else { Err(Refusal::NotJson) }
}

/// Consumes and checks the rest of the value that starts with `token`; `depth` containers are open.
fn finish_value<'a>(parser: &mut Parser<'a>, mut token: Token<'a>, depth: usize) -> Result<(), Refusal> {
    // For each open container: whether it is an object, and whether its first item is still to come.
    let mut open: Vec<(bool, bool)> = Vec::new();
    loop {
        match token {
            Token::Object | Token::Array => open.push((token == Token::Object, true)),
            Token::Number(literal) if literal.len() > python::MAX_INT_DIGITS => {
                let digits = literal.strip_prefix(b"-").unwrap_or(literal);
                if digits.len() > python::MAX_INT_DIGITS && digits.iter().all(u8::is_ascii_digit) {
                    return Err(Refusal::IntegerTooLong);
                }
            }
            _ => {}
        }
        if open.len() + depth > MAX_DEPTH {
            return Err(Refusal::TooDeep);
        }
        loop {
            let Some((is_object, first)) = open.last_mut() else { return Ok(()) };
            let more =
                if *is_object { parser.next_key(first)?.is_some() } else { parser.next_element(first)? };
            if more {
                break;
            }
            open.pop();
        }
        token = parser.token()?;
    }
}

fn convert<'a>(fields: [Raw<'a>; FIELDS.len()], odd: &mut LineIssues) -> Result<Call<'a>, Refusal> {
    let [ts, probe, view_id, prompt_hash, top_k, op, wall_ms, hit] = fields;
    let ts = to_float(ts, Refusal::BadTs, odd)?;
    let (probe_kind, probe) = to_probe(probe, odd)?;
    Ok(Call {
        ts,
        probe_kind,
        probe,
        view_id: to_text(view_id, odd)?,
        prompt_hash: to_text(prompt_hash, odd)?,
        top_k: to_int(top_k, odd)?,
        op: to_text(op, odd)?,
        wall_ms: to_float(wall_ms, Refusal::BadWallMs, odd)?,
        hit: to_bool(hit, odd),
    })
}

fn to_float(raw: Raw<'_>, refusal: Refusal, odd: &mut LineIssues) -> Result<f64, Refusal> {
    odd.converted |= matches!(raw, Raw::Bool(_) | Raw::String(_));
    match raw {
        Raw::Missing => Ok(0.0),
        Raw::Integer(literal) => match literal.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(if value == 0.0 { 0.0 } else { value }),
            _ => Err(Refusal::OutOfRange),
        },
        Raw::Float(value) => Ok(value),
        Raw::Bool(value) => Ok(f64::from(u8::from(value))),
        Raw::String(text) => python::parse_float(&to_string(text, odd)).ok_or(refusal),
        Raw::Null | Raw::Container(_) => Err(refusal),
    }
}

fn to_int(raw: Raw<'_>, odd: &mut LineIssues) -> Result<TopK, Refusal> {
    odd.converted |= matches!(raw, Raw::Bool(_) | Raw::String(_) | Raw::Float(_));
    match raw {
        Raw::Missing => Ok(TopK::Small(0)),
        Raw::Integer(literal) => Ok(TopK::from_decimal(plain_int(literal))),
        Raw::Float(value) if value.is_nan() => Err(Refusal::BadTopK),
        Raw::Float(value) if value.is_infinite() => Err(Refusal::OutOfRange),
        // Prints every digit of the double.
        Raw::Float(value) => Ok(TopK::from_decimal(plain_int(&format!("{:.0}", value.trunc())))),
        Raw::Bool(value) => Ok(TopK::Small(i64::from(value))),
        Raw::String(text) => {
            python::parse_int(&to_string(text, odd)).map(TopK::from_decimal).ok_or(Refusal::BadTopK)
        }
        Raw::Null | Raw::Container(_) => Err(Refusal::BadTopK),
    }
}

/// Drops the sign of zero.
fn plain_int(literal: &str) -> String {
    python::plain_int(literal.strip_prefix('-').unwrap_or(literal), literal.starts_with('-'))
}

fn to_text<'a>(raw: Raw<'a>, odd: &mut LineIssues) -> Result<Cow<'a, str>, Refusal> {
    odd.converted |= !matches!(raw, Raw::Missing | Raw::String(_));
    Ok(match raw {
        Raw::Missing => Cow::Borrowed(""),
        Raw::String(text) => to_string(text, odd),
        Raw::Null => Cow::Borrowed("None"),
        Raw::Bool(true) => Cow::Borrowed("True"),
        Raw::Bool(false) => Cow::Borrowed("False"),
        Raw::Integer(literal) => Cow::Owned(plain_int(literal)),
        Raw::Float(value) => Cow::Owned(python::float_repr(value)),
        Raw::Container(json) => {
            let mut text = String::new();
            let mut strings = Unescape::default();
            python::push_container_repr(json, &mut text, &mut strings)?;
            odd.lone_surrogate |= strings.lone_surrogate;
            Cow::Owned(text)
        }
    })
}

fn to_probe<'a>(raw: Raw<'a>, odd: &mut LineIssues) -> Result<(ProbeKind, Cow<'a, str>), Refusal> {
    let kind = match raw {
        Raw::Missing | Raw::Null => return Ok((ProbeKind::Null, Cow::Borrowed(""))),
        Raw::Container(_) => return Err(Refusal::BadProbe),
        Raw::String(_) => ProbeKind::Text,
        Raw::Integer(_) => ProbeKind::Integer,
        Raw::Float(_) => ProbeKind::Float,
        Raw::Bool(_) => ProbeKind::Bool,
    };
    Ok((kind, to_text(raw, odd)?))
}

fn to_bool(raw: Raw<'_>, odd: &mut LineIssues) -> bool {
    odd.converted |= !matches!(raw, Raw::Missing | Raw::Bool(_));
    match raw {
        Raw::Missing | Raw::Null => false,
        Raw::Bool(value) => value,
        Raw::Integer(literal) => plain_int(literal) != "0",
        Raw::Float(value) => value != 0.0,
        Raw::String(text) => !text.bytes.is_empty(),
        Raw::Container(json) => {
            json.get(1..json.len().saturating_sub(1)).is_some_and(|inside| !inside.trim().is_empty())
        }
    }
}

fn to_string<'a>(raw: RawStr<'a>, odd: &mut LineIssues) -> Cow<'a, str> {
    if !raw.escaped
        && let Ok(text) = str::from_utf8(raw.bytes)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(raw.bytes.len());
    odd.lone_surrogate |= unescape(raw, &mut text).lone_surrogate;
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Both parsers must agree wherever the first one answers; NaN never comes from it.
    fn check_both(line: &str) {
        if let Some(call) = parse_usual(line.as_bytes()) {
            assert_eq!(parse_any(line), Ok((call, LineIssues::default())), "{line}");
        }
    }

    #[test]
    fn usual_lines_take_the_short_way() {
        let line = r#"{"ts": 1795252179.9499438, "probe": null, "view_id": "base", "prompt_hash": "b648df64f46f", "top_k": 8, "op": "next_token_dist", "wall_ms": 1.1007630000676727, "hit": false}"#;
        assert!(parse_usual(line.as_bytes()).is_some());
        check_both(line);
        assert!(parse_usual(line.replace("base", r"b\u0061se").as_bytes()).is_none());
        // An integer zero has no sign, so the fast path must not keep one.
        check_both(&line.replace("1.1007630000676727", "-0"));
    }

    fn scalar() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(python::float_repr),
            any::<i64>().prop_map(|value| value.to_string()),
            "-?[0-9]{1,42}(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?",
            "\"[ -~é]{0,12}\"",
            Just("null".to_string()),
            Just("true".to_string()),
            Just("false".to_string()),
            Just("NaN".to_string()),
            Just("[1]".to_string()),
        ]
    }

    fn plain_float() -> impl Strategy<Value = String> {
        any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(python::float_repr)
    }

    proptest! {
        #[test]
        fn both_ways_agree_on_odd_lines(values in proptest::collection::vec(scalar(), 8)) {
            let fields: Vec<String> =
                FIELDS.iter().zip(&values).map(|(field, value)| format!("\"{field}\": {value}")).collect();
            check_both(&format!("{{{}}}", fields.join(", ")));
        }

        #[test]
        fn both_ways_agree_on_usual_lines(
            ts in plain_float(), probe in "[ !#-\\[\\]-~]{0,9}", top_k in any::<i64>(), wall in plain_float(), hit: bool,
        ) {
            let line = format!(
                "{{\"ts\": {ts}, \"probe\": \"{probe}\", \"view_id\": \"v\", \"prompt_hash\": \"h\", \
                 \"top_k\": {top_k}, \"op\": \"o\", \"wall_ms\": {wall}, \"hit\": {hit}}}"
            );
            prop_assert!(parse_usual(line.as_bytes()).is_some());
            check_both(&line);
        }

        #[test]
        fn nothing_panics(line in "[\\[\\]{}\":,0-9a-z\\\\ .eE+-]{0,60}") {
            let _ = parse_any(&line);
            let _ = parse_usual(line.as_bytes());
        }
    }
}

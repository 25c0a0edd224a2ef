//! One line to one record, in any order of keys.
//!
//! Takes the bytes of a line and fills buffers that are reused for the next one. They are valid only after [`Record::parse`]
//! has accepted the whole line as a JSON object: a later key may replace an earlier one, and a truncated line is not used at
//! all. Other records are not known here; ids are not resolved.

use super::canonical;
use crate::base::json::{Dialect, JsonError, Number, Parser, RawStr, Token, unescape, unescape_to_string};
use std::ops::Range;

/// The `type` of a record.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum RecordType {
    Meta,
    StringTable,
    FrameTable,
    Agg,
    End,
    /// Unknown or missing type.
    #[default]
    Other,
}

impl RecordType {
    fn parse(name: &[u8]) -> RecordType {
        match name {
            b"meta" => RecordType::Meta,
            b"string_table" => RecordType::StringTable,
            b"frame_table" => RecordType::FrameTable,
            b"agg" => RecordType::Agg,
            b"end" => RecordType::End,
            _ => RecordType::Other,
        }
    }
}

/// An entry of `strings`.
#[derive(Clone)]
pub(super) struct StringEntry {
    pub id: u64,
    /// Range of [`Record::text`].
    pub text: Range<usize>,
    /// Some of it was replaced by U+FFFD.
    pub replaced: bool,
}

/// An entry of `frames`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FrameEntry {
    pub id: u64,
    pub path: u64,
    pub func: u64,
    pub line: i128,
    pub end_line: Option<i128>,
    pub col: Option<i128>,
    pub end_col: Option<i128>,
}

/// An entry of `entries`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AggEntry {
    pub frame: u64,
    pub self_samples: u64,
    pub cumulative: u64,
}

/// Entries that were skipped.
#[derive(Clone, Default)]
pub(super) struct SkippedEntries {
    pub n: u64,
    /// Range of the first one in the line.
    pub first: Option<Range<usize>>,
}

/// Known fields of one record; the last of duplicate keys wins.
#[derive(Clone, Default)]
pub(super) struct Record {
    pub kind: RecordType,
    pub run_id: String,
    /// `run_id` is present and is text.
    pub has_run_id: bool,
    pub has_version: bool,
    /// Range of the version in the line, if unsupported.
    pub unsupported: Option<Range<usize>>,
    pub interval_us: Option<u64>,
    pub mode: Option<String>,
    /// `kind` is `frame`.
    pub counts_frames: bool,
    /// `scope` is `final`.
    pub is_final: bool,
    pub samples_total: Option<u64>,
    pub text: String,
    pub strings: Vec<StringEntry>,
    pub frames: Vec<FrameEntry>,
    pub entries: Vec<AggEntry>,
    /// Skipped entries of each list.
    pub skipped_strings: SkippedEntries,
    pub skipped_frames: SkippedEntries,
    pub skipped_entries: SkippedEntries,
    scratch: Scratch,
}

/// Buffers of the parser.
#[derive(Clone, Default)]
struct Scratch {
    /// Open brackets around the value being skipped: true for an object.
    open: Vec<bool>,
    key: String,
}

impl Record {
    /// Parses one line. An error says where it stops being a JSON object.
    pub fn parse(&mut self, line: &[u8]) -> Result<(), JsonError> {
        self.clear();
        let mut parser = Parser::new(line, Dialect::Python);
        self.fields(&mut parser, line)?;
        match parser.peek() {
            None => Ok(()),
            Some(_) => Err(JsonError::Syntax { at: parser.position(), expected: "the end of the line" }),
        }
    }

    /// Parses as many fields as the line has, which may be cut off.
    pub fn parse_head(&mut self, line: &[u8]) -> Result<(), JsonError> {
        self.clear();
        self.fields(&mut Parser::new(line, Dialect::Python), line)
    }

    /// Whether it is a header of a supported version.
    pub fn is_meta_read(&self) -> bool {
        self.kind == RecordType::Meta && self.unsupported.is_none()
    }

    /// Clears the record but keeps its buffers.
    fn clear(&mut self) {
        self.kind = RecordType::Other;
        self.run_id.clear();
        self.has_run_id = false;
        self.has_version = false;
        self.unsupported = None;
        self.interval_us = None;
        self.mode = None;
        self.counts_frames = false;
        self.is_final = false;
        self.samples_total = None;
        self.text.clear();
        self.strings.clear();
        self.frames.clear();
        self.entries.clear();
        self.skipped_strings = SkippedEntries::default();
        self.skipped_frames = SkippedEntries::default();
        self.skipped_entries = SkippedEntries::default();
    }

    fn fields(&mut self, parser: &mut Parser<'_>, line: &[u8]) -> Result<(), JsonError> {
        parser.expect(b'{', "an object")?;
        let mut first = true;
        while let Some(key) = parser.next_key(&mut first)? {
            match self.scratch.name(key) {
                b"type" => {
                    let value = self.scratch.value(parser)?;
                    self.kind = self.scratch.text_of(value).map_or(RecordType::Other, RecordType::parse);
                }
                b"v" => {
                    parser.skip_space();
                    let start = parser.position();
                    let value = self.scratch.value(parser)?;
                    self.has_version = true;
                    self.unsupported = (!is_zero(value)).then_some(start..parser.position());
                }
                b"run_id" => {
                    self.run_id.clear();
                    self.has_run_id = false;
                    if let Token::String(text) = self.scratch.value(parser)? {
                        self.has_run_id = true;
                        unescape(text, &mut self.run_id);
                    }
                }
                b"sample_interval_usec" => self.interval_us = id(self.scratch.value(parser)?),
                b"mode" => {
                    self.mode = match self.scratch.value(parser)? {
                        Token::String(text) => Some(unescape_to_string(text)),
                        _ => None,
                    };
                }
                b"kind" => {
                    let value = self.scratch.value(parser)?;
                    self.counts_frames = self.scratch.text_of(value) == Some(b"frame");
                }
                b"scope" => {
                    let value = self.scratch.value(parser)?;
                    self.is_final = self.scratch.text_of(value) == Some(b"final");
                }
                b"samples_total" => self.samples_total = id(self.scratch.value(parser)?),
                b"strings" => {
                    self.text.clear();
                    self.strings.clear();
                    let Record { text, strings, scratch, skipped_strings, .. } = self;
                    list(parser, scratch, skipped_strings, |parser, scratch, _| {
                        let entry = string_entry(parser, scratch, text)?;
                        Ok(entry.map(|entry| strings.push(entry)).is_some())
                    })?;
                }
                b"frames" => {
                    self.frames.clear();
                    let Record { frames, scratch, skipped_frames, .. } = self;
                    list(parser, scratch, skipped_frames, |parser, scratch, start| {
                        let entry = match canonical::frame(line, start) {
                            Some((entry, end)) => {
                                parser.set_position(end);
                                Some(entry)
                            }
                            None => frame_entry(parser, scratch)?,
                        };
                        Ok(entry.map(|entry| frames.push(entry)).is_some())
                    })?;
                }
                b"entries" => {
                    self.entries.clear();
                    let Record { entries, scratch, skipped_entries, .. } = self;
                    list(parser, scratch, skipped_entries, |parser, scratch, start| {
                        let entry = match canonical::agg(line, start) {
                            Some((entry, end)) => {
                                parser.set_position(end);
                                Some(entry)
                            }
                            None => agg_entry(parser, scratch)?,
                        };
                        Ok(entry.map(|entry| entries.push(entry)).is_some())
                    })?;
                }
                _ => {
                    self.scratch.value(parser)?;
                }
            }
        }
        Ok(())
    }
}

/// Parses a list of objects. `entry` starts after the `{`, gets its offset, and returns whether the entry is valid.
///
/// A value that is not a list has no entries.
fn list(
    parser: &mut Parser<'_>,
    scratch: &mut Scratch,
    skipped: &mut SkippedEntries,
    mut entry: impl FnMut(&mut Parser<'_>, &mut Scratch, usize) -> Result<bool, JsonError>,
) -> Result<(), JsonError> {
    *skipped = SkippedEntries::default();
    if parser.peek() != Some(b'[') {
        scratch.value(parser)?;
        return Ok(());
    }
    parser.eat(b'[');
    let mut first = true;
    while parser.next_element(&mut first)? {
        parser.skip_space();
        let start = parser.position();
        let usable = if parser.eat(b'{') {
            entry(parser, scratch, start)?
        } else {
            scratch.value(parser)?;
            false
        };
        if !usable {
            skipped.n += 1;
            skipped.first.get_or_insert(start..parser.position());
        }
    }
    Ok(())
}

fn string_entry(
    parser: &mut Parser<'_>,
    scratch: &mut Scratch,
    text: &mut String,
) -> Result<Option<StringEntry>, JsonError> {
    let (mut str_id, mut value) = (None, None);
    let mut first = true;
    while let Some(key) = parser.next_key(&mut first)? {
        match scratch.name(key) {
            b"str_id" => str_id = id(scratch.value(parser)?),
            b"value" => {
                value = match scratch.value(parser)? {
                    Token::String(raw) => Some(raw),
                    _ => None,
                };
            }
            _ => {
                scratch.value(parser)?;
            }
        }
    }
    let (Some(id), Some(raw)) = (str_id, value) else { return Ok(None) };
    let start = text.len();
    let odd = unescape(raw, text);
    Ok(Some(StringEntry { id, text: start..text.len(), replaced: !odd.is_clean() }))
}

/// An id that no string has, since ids count from 0.
const NO_STRING: u64 = u64::MAX;

fn frame_entry(parser: &mut Parser<'_>, scratch: &mut Scratch) -> Result<Option<FrameEntry>, JsonError> {
    let (mut frame_id, mut path, mut func) = (None, None, None);
    let (mut line, mut end_line, mut col, mut end_col) = (None, None, None, None);
    let mut first = true;
    while let Some(key) = parser.next_key(&mut first)? {
        match scratch.name(key) {
            b"frame_id" => frame_id = id(scratch.value(parser)?),
            b"path_str_id" => path = string_id(scratch.value(parser)?),
            b"func_str_id" => func = string_id(scratch.value(parser)?),
            b"line" => line = integer(scratch.value(parser)?),
            b"end_line" => end_line = integer(scratch.value(parser)?),
            b"col" => col = integer(scratch.value(parser)?),
            b"end_col" => end_col = integer(scratch.value(parser)?),
            _ => {
                scratch.value(parser)?;
            }
        }
    }
    let (Some(id), Some(path), Some(func)) = (frame_id, path, func) else { return Ok(None) };
    Ok(Some(FrameEntry { id, path, func, line: line.unwrap_or(0), end_line, col, end_col }))
}

fn agg_entry(parser: &mut Parser<'_>, scratch: &mut Scratch) -> Result<Option<AggEntry>, JsonError> {
    let (mut frame, mut self_samples, mut cumulative) = (None, None, None);
    let mut first = true;
    while let Some(key) = parser.next_key(&mut first)? {
        match scratch.name(key) {
            b"frame_id" => frame = id(scratch.value(parser)?),
            b"self" => self_samples = id(scratch.value(parser)?),
            b"cumulative" => cumulative = id(scratch.value(parser)?),
            _ => {
                scratch.value(parser)?;
            }
        }
    }
    let (Some(frame), Some(self_samples), Some(cumulative)) = (frame, self_samples, cumulative) else {
        return Ok(None);
    };
    Ok(Some(AggEntry { frame, self_samples, cumulative }))
}

impl Scratch {
    /// Field name of a key.
    #[inline]
    fn name<'a>(&'a mut self, key: RawStr<'a>) -> &'a [u8] {
        if !key.escaped {
            return key.bytes;
        }
        self.key.clear();
        unescape(key, &mut self.key);
        self.key.as_bytes()
    }

    /// Text of a string value.
    fn text_of<'a>(&'a mut self, value: Token<'a>) -> Option<&'a [u8]> {
        match value {
            Token::String(text) => Some(self.name(text)),
            _ => None,
        }
    }

    /// Consumes and checks the next value; of a container only the bracket is returned.
    #[inline]
    fn value<'a>(&mut self, parser: &mut Parser<'a>) -> Result<Token<'a>, JsonError> {
        let token = parser.token()?;
        match token {
            Token::Object | Token::Array => self.skip_rest(parser, token == Token::Object)?,
            _ => {}
        }
        Ok(token)
    }

    /// Consumes and checks the rest of a container after its bracket. Nesting costs one byte per level.
    fn skip_rest(&mut self, parser: &mut Parser<'_>, is_object: bool) -> Result<(), JsonError> {
        self.open.clear();
        self.open.push(is_object);
        let mut first = true;
        while let Some(in_object) = self.open.last() {
            let more = if *in_object {
                parser.next_key(&mut first)?.is_some()
            } else {
                parser.next_element(&mut first)?
            };
            if !more {
                self.open.pop();
                first = false;
                continue;
            }
            match parser.token()? {
                token @ (Token::Object | Token::Array) => {
                    self.open.push(token == Token::Object);
                    first = true;
                }
                _ => first = false,
            }
        }
        Ok(())
    }
}

/// Whether a number is zero, in any notation.
fn is_zero(value: Token<'_>) -> bool {
    match value {
        Token::Number(b"0") => true,
        Token::Number(literal) => Number::as_f64(literal) == Some(0.0),
        _ => false,
    }
}

/// Integer in 0..2^64, possibly written as a float.
#[inline]
fn id(value: Token<'_>) -> Option<u64> {
    u64::try_from(integer(value)?).ok()
}

/// Id of a string. Negative ids mean that the frame has no such name.
#[inline]
fn string_id(value: Token<'_>) -> Option<u64> {
    integer(value).map(|id| u64::try_from(id).unwrap_or(NO_STRING))
}

/// Integer of at most 64 bits, signed or not, possibly written as a float.
#[inline]
fn integer(value: Token<'_>) -> Option<i128> {
    let Token::Number(literal) = value else { return None };
    // Nineteen digits cannot overflow, and nearly all numbers are shorter.
    if literal.len() < 20 && literal.iter().all(u8::is_ascii_digit) {
        let value = literal.iter().fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0'));
        return Some(i128::from(value));
    }
    integer_of_any_form(literal)
}

fn integer_of_any_form(literal: &[u8]) -> Option<i128> {
    let number = Number::parse(literal)?;
    let n_zeros = number.digits.iter().rev().take_while(|digit| **digit == 0).count();
    let digits = &number.digits[..number.digits.len() - n_zeros];
    if digits.is_empty() {
        return Some(0);
    }
    let exponent = number.exponent.saturating_add(n_zeros as i64);
    // More than twenty digits exceed 64 bits; 128 bits are enough for all shorter ones.
    if !(0..=20).contains(&exponent) || digits.len() as i64 + exponent > 20 {
        return None;
    }
    let value = digits.iter().fold(0i128, |value, digit| value * 10 + i128::from(*digit))
        * 10i128.pow(exponent as u32);
    let value = if number.negative { -value } else { value };
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_in_every_form() {
        let number = |literal: &str| integer(Token::Number(literal.as_bytes()));
        for (literal, value) in [
            ("0", Some(0)),
            ("-0", Some(0)),
            ("-0.0", Some(0)),
            ("12.0", Some(12)),
            ("1.2e1", Some(12)),
            ("1200e-2", Some(12)),
            ("1.25e1", None),
            ("9007199254740993", Some((1 << 53) + 1)),
            ("9007199254740993.0", Some((1 << 53) + 1)),
            ("18446744073709551615", Some(i128::from(u64::MAX))),
            ("18446744073709551616", None),
            ("-9223372036854775808", Some(i128::from(i64::MIN))),
            ("-9223372036854775809", None),
            ("1e19", Some(10_000_000_000_000_000_000)),
            ("1e400", None),
            ("0e999999999999", Some(0)),
        ] {
            assert_eq!(number(literal), value, "{literal}");
        }
    }

    #[test]
    fn the_last_of_equal_keys_wins() {
        let mut record = Record::default();
        let line = br#"{"entries":[{"frame_id":1,"self":1,"cumulative":1},7],"\u0074ype":"meta","v":1,
            "v":0.0,"type":"agg","run_id":"a","run_id":7,"entries":[{"self":2,"self":3,"cumulative":4,"frame_id":5}]}"#;
        record.parse(line).unwrap();
        assert_eq!(record.kind, RecordType::Agg);
        assert_eq!(record.entries, [AggEntry { frame: 5, self_samples: 3, cumulative: 4 }]);
        assert!(record.skipped_entries.n == 0 && record.unsupported.is_none() && !record.has_run_id);
    }

    /// The fast path must give exactly what the general one gives.
    #[test]
    fn the_short_way_equals_the_plain_way() {
        let mut n_short = 0;
        let numbers =
            ["0", "7", "00", "1.0", "1e1", "-1", "9999999999999999999", "18446744073709551615", "", "true"];
        let tails = ["", ",\"end_line\":8", ",\"col\":3", ",\"end_col\":4", ",\"x\":1", ",\"line\":5", " "];
        for number in numbers {
            for tail in tails {
                for last in tails {
                    let entry = format!(
                        "{{\"frame_id\":{number},\"path_str_id\":1,\"func_str_id\":2,\"line\":{number}{tail}{last}}}"
                    );
                    let plain = frame_entry(
                        &mut Parser::at(entry.as_bytes(), 1, Dialect::Python),
                        &mut Scratch::default(),
                    );
                    if let Some((short, end)) = canonical::frame(entry.as_bytes(), 0) {
                        assert_eq!((Ok(Some(short)), end), (plain, entry.len()), "{entry}");
                        n_short += 1;
                    }
                    let entry =
                        format!("{{\"frame_id\":{number},\"self\":{number},\"cumulative\":{number}{tail}}}");
                    let plain = agg_entry(
                        &mut Parser::at(entry.as_bytes(), 1, Dialect::Python),
                        &mut Scratch::default(),
                    );
                    if let Some((short, end)) = canonical::agg(entry.as_bytes(), 0) {
                        assert_eq!((Ok(Some(short)), end), (plain, entry.len()), "{entry}");
                        n_short += 1;
                    }
                }
            }
        }
        assert!(n_short > 40, "{n_short}");
    }

    #[test]
    fn a_line_is_valid_as_a_whole_or_not_at_all() {
        let mut record = Record::default();
        for bad in [
            r#"{"type":"end","x":[1 2]}"#,
            r#"{"type":"end","x":{"a":1,}}"#,
            r#"{"type":"end"} {}"#,
            r#"{"type":"end""#,
            r#"{"type":"end","x":[}]}"#,
            r#"{"frames":[{"frame_id":01}]}"#,
            r#"["type"]"#,
            "null",
        ] {
            assert!(record.parse(bad.as_bytes()).is_err(), "{bad}");
        }
        record.parse(br#" {"type":"end","x":[[],{},{"a":[NaN,-Infinity,"\udcff"]}]} "#).unwrap();
        let deep = format!(r#"{{"x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        record.parse(deep.as_bytes()).unwrap();
    }
}

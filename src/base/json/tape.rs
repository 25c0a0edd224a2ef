//! A whole JSON value in compact form, built from chunks cut anywhere, for documents whose members come in any order.
//!
//! The value is a row of 32-bit words: small integers, texts and `null` take one, other numbers three, a list or object one more
//! than its content. Texts are stored once. A value that ends too early is closed where it ends: a number or text that the end may
//! have cut is dropped, with its key. There is no recursion, so depth does not matter.

use super::{Dialect, JsonError, Parser, Token, unescape};
use crate::base::strings::{StringId, StringTable};

/// Kinds of words, in their lowest bits; the other bits are the payload.
const NULL: u32 = 0;
const BOOL: u32 = 1;
const SMALL: u32 = 2;
/// Payload: exponent; the digits are in the next two words.
const NUMBER: u32 = 3;
/// Payload: text of the literal, which has more digits than [`NUMBER`] takes.
const LITERAL: u32 = 4;
const TEXT: u32 = 5;
const OBJECT: u32 = 6;
const ARRAY: u32 = 7;

const KIND_BITS: u32 = 3;
const KIND: u32 = (1 << KIND_BITS) - 1;
/// Largest payload; as the length of a container it means that the length is in `long`.
const MAX_PAYLOAD: u32 = u32::MAX >> KIND_BITS;
/// Added to exponents, which are between -400 and 400.
const BIAS: i32 = 1 << 12;

/// Largest exponent; numbers beyond are of another kind, like `NaN`.
const MAX_EXPONENT: i32 = 400;
/// Payload of [`BOOL`] for `NaN`, infinities, and numbers that are too large.
const NO_NUMBER: u32 = 2;

/// Most words: less than memory on a page has.
const MAX_WORDS: usize = if usize::BITS == 32 { 400 << 20 } else { u32::MAX as usize };

/// How reading ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// After a whole value.
    Whole,
    /// Inside the value; this many bytes at the end belong to something that was dropped.
    Cut { n_dropped: u64 },
    /// At this offset is something else than JSON has there.
    Broken { at: u64 },
    /// At this offset, memory for the value was used up.
    Full { at: u64 },
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Expect {
    #[default]
    Value,
    /// A value, or the end of the list.
    ValueOrEnd,
    /// A key, or the end of the object.
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    Nothing,
}

/// A JSON value that is being read, or is complete.
#[derive(Default)]
pub struct Tape {
    words: Vec<u32>,
    /// Starts and lengths of very long containers.
    long: Vec<(u32, u32)>,
    strings: StringTable,
    /// Starts of the open containers.
    open: Vec<u32>,
    expect: Expect,
    /// Bytes that are not used yet.
    rest: Vec<u8>,
    /// Length of `rest` from which reading on is worth it.
    wanted: usize,
    /// Offset behind the last byte used.
    at: u64,
    ending: Option<Ending>,
    text: String,
    /// A text had bytes that are not UTF-8.
    pub has_bad_utf8: bool,
    /// Offset behind the value, and of the first byte after it that is no white space.
    pub end: u64,
    pub trailing: Option<u64>,
}

impl Tape {
    /// Takes the next chunk.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.rest.is_empty() {
            let n_used = self.read(bytes, false);
            self.rest.extend_from_slice(&bytes[n_used..]);
        } else {
            self.rest.extend_from_slice(bytes);
            if self.rest.len() < self.wanted {
                return;
            }
            let rest = std::mem::take(&mut self.rest);
            let n_used = self.read(&rest, false);
            self.rest = rest;
            self.rest.drain(..n_used);
        }
        self.wanted = self.rest.len() * 2;
    }

    /// Ends the value.
    pub fn finish(&mut self) -> Ending {
        let rest = std::mem::take(&mut self.rest);
        let n_used = self.read(&rest, true);
        if self.ending.is_some_and(|ending| ending != Ending::Whole) {
            self.close();
        } else if self.expect != Expect::Nothing {
            self.ending = Some(Ending::Cut { n_dropped: (rest.len() - n_used) as u64 });
            self.close();
        }
        self.ending.unwrap_or(Ending::Whole)
    }

    /// Closes what is open, as it is.
    fn close(&mut self) {
        let is_object = self.open.last().is_some_and(|start| self.words[*start as usize] & KIND == OBJECT);
        if is_object && matches!(self.expect, Expect::Colon | Expect::Value) {
            self.words.pop();
        }
        while !self.open.is_empty() {
            self.close_one();
        }
        if self.words.is_empty() {
            self.words.push(NULL);
        }
    }

    fn close_one(&mut self) {
        let Some(start) = self.open.pop() else { return };
        let len = (self.words.len() - start as usize - 1) as u32;
        let word = &mut self.words[start as usize];
        *word = *word & KIND | len.min(MAX_PAYLOAD) << KIND_BITS;
        if len >= MAX_PAYLOAD {
            let at = self.long.partition_point(|(other, _)| *other < start);
            self.long.insert(at, (start, len));
        }
    }

    /// Reads from bytes that follow those read before. Returns how many are used.
    fn read(&mut self, bytes: &[u8], is_last: bool) -> usize {
        let mut n_used = 0;
        while self.ending.is_none_or(|ending| ending == Ending::Whole) {
            match self.step(bytes, n_used, is_last) {
                Ok(to) if to == n_used => break,
                Ok(to) => n_used = to,
                Err(ending) => self.ending = Some(ending),
            }
            if self.words.len() > MAX_WORDS || self.strings.len() as u32 >= MAX_PAYLOAD {
                self.ending = Some(Ending::Full { at: self.at + n_used as u64 });
            }
        }
        // What follows a failure is not read.
        let n_used =
            if self.ending.is_some_and(|ending| ending != Ending::Whole) { bytes.len() } else { n_used };
        self.at += n_used as u64;
        n_used
    }

    /// Reads one token at `at`; returns the offset behind it, or `at` if more bytes are needed.
    fn step(&mut self, bytes: &[u8], at: usize, is_last: bool) -> Result<usize, Ending> {
        let mut parser = Parser::at(bytes, at, Dialect::Lenient);
        parser.skip_space();
        let start = parser.position();
        let Some(next) = bytes.get(start) else { return Ok(start) };
        let broken = |at: usize| Err(Ending::Broken { at: self.at + at as u64 });
        match (self.expect, next) {
            (Expect::Nothing, _) => {
                self.trailing.get_or_insert(self.at + start as u64);
                return Ok(bytes.len());
            }
            (Expect::Colon, b':') => {
                self.expect = Expect::Value;
                return Ok(start + 1);
            }
            (Expect::CommaOrEnd, b',') => {
                self.expect = match self.open.last() {
                    Some(open) if self.words[*open as usize] & KIND == OBJECT => Expect::KeyOrEnd,
                    _ => Expect::ValueOrEnd,
                };
                return Ok(start + 1);
            }
            (Expect::KeyOrEnd | Expect::ValueOrEnd | Expect::CommaOrEnd, b'}' | b']') => {
                let kind = self.open.last().map_or(NULL, |open| self.words[*open as usize] & KIND);
                if kind != if *next == b'}' { OBJECT } else { ARRAY } {
                    return broken(start);
                }
                self.close_one();
                self.value_ends(start + 1);
                return Ok(start + 1);
            }
            (Expect::KeyOrEnd, b'"') => {}
            (Expect::Value | Expect::ValueOrEnd, _) => {}
            _ => return broken(start),
        }
        let token = match parser.token() {
            Ok(token) => token,
            Err(JsonError::Cut) => return Ok(at),
            Err(JsonError::Syntax { at, .. }) => return broken(at),
        };
        let end = parser.position();
        match token {
            Token::Object | Token::Array => {
                self.open.push(self.words.len() as u32);
                let is_object = token == Token::Object;
                self.words.push(if is_object { OBJECT } else { ARRAY });
                self.expect = if is_object { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
                return Ok(end);
            }
            Token::Number(literal) => {
                // More digits may follow, or would have.
                if end == bytes.len() && (!is_last || !self.open.is_empty()) {
                    return Ok(at);
                }
                self.push_number(literal);
            }
            Token::String(raw) => {
                let id = if raw.escaped || std::str::from_utf8(raw.bytes).is_err() {
                    self.text.clear();
                    self.has_bad_utf8 |= unescape(raw, &mut self.text).bad_utf8;
                    self.strings.intern(&self.text)
                } else {
                    self.strings.intern_bytes(raw.bytes)
                };
                self.words.push(TEXT | id.0 << KIND_BITS);
                if self.expect == Expect::KeyOrEnd {
                    self.expect = Expect::Colon;
                    return Ok(end);
                }
            }
            Token::True => self.words.push(BOOL | 1 << KIND_BITS),
            Token::False => self.words.push(BOOL),
            Token::Null => self.words.push(NULL),
            Token::NonFinite(_) => self.words.push(BOOL | NO_NUMBER << KIND_BITS),
        }
        self.value_ends(end);
        Ok(end)
    }

    fn value_ends(&mut self, end: usize) {
        if self.open.is_empty() {
            self.expect = Expect::Nothing;
            self.ending = Some(Ending::Whole);
            self.end = self.at + end as u64;
        } else {
            self.expect = Expect::CommaOrEnd;
        }
    }

    fn push_number(&mut self, literal: &[u8]) {
        match digits_of(literal) {
            Some((digits, 0)) if (-(1 << 28)..1 << 28).contains(&digits) => {
                self.words.push(SMALL | (digits as u32) << KIND_BITS);
            }
            Some((digits, exponent)) => {
                self.words.push(NUMBER | ((exponent + BIAS) as u32) << KIND_BITS);
                self.words.push(digits as u32);
                self.words.push((digits >> 32) as u32);
            }
            None if exponent_of(literal).is_some_and(|exponent| exponent.abs() <= MAX_EXPONENT) => {
                let id = self.strings.intern_bytes(literal);
                self.words.push(LITERAL | id.0 << KIND_BITS);
            }
            None => self.words.push(BOOL | NO_NUMBER << KIND_BITS),
        }
    }

    /// The value, once it is complete.
    pub fn root(&self) -> Item<'_> {
        Item { tape: self, at: 0 }
    }

    /// Number of distinct texts.
    pub fn n_texts(&self) -> usize {
        self.strings.len()
    }

    fn word(&self, at: u32) -> u32 {
        self.words.get(at as usize).copied().unwrap_or(NULL)
    }

    /// Position behind the value at `at`.
    fn after(&self, at: u32) -> u32 {
        let word = self.word(at);
        match word & KIND {
            NUMBER => at + 3,
            OBJECT | ARRAY => at + 1 + self.content_len(at, word),
            _ => at + 1,
        }
    }

    fn content_len(&self, at: u32, word: u32) -> u32 {
        match word >> KIND_BITS {
            MAX_PAYLOAD => match self.long.binary_search_by_key(&at, |(start, _)| *start) {
                Ok(found) => self.long[found].1,
                Err(_) => MAX_PAYLOAD,
            },
            len => len,
        }
    }
}

/// Exponent as written, if it is not out of all bounds; 0 without one.
fn exponent_of(literal: &[u8]) -> Option<i32> {
    let Some(at) = literal.iter().position(|byte| matches!(byte, b'e' | b'E')) else { return Some(0) };
    std::str::from_utf8(&literal[at + 1..]).ok()?.parse().ok()
}

/// All digits of a literal as one number, and its exponent; `None` if there are too many, or the exponent is out of bounds.
fn digits_of(literal: &[u8]) -> Option<(i64, i32)> {
    let exponent = exponent_of(literal).filter(|exponent| exponent.abs() <= MAX_EXPONENT)?;
    let (mut digits, mut n_places, mut after_point) = (0i64, 0i32, false);
    for byte in literal {
        match byte {
            b'0'..=b'9' => {
                digits = digits.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                n_places += i32::from(after_point);
            }
            b'.' => after_point = true,
            b'e' | b'E' => break,
            _ => {}
        }
    }
    let digits = if literal.first() == Some(&b'-') { -digits } else { digits };
    let exponent = exponent - n_places;
    (exponent > -BIAS).then_some((digits, exponent))
}

/// A value in a [`Tape`].
#[derive(Clone, Copy)]
pub struct Item<'a> {
    tape: &'a Tape,
    at: u32,
}

impl<'a> Item<'a> {
    fn kind(self) -> u32 {
        self.tape.word(self.at) & KIND
    }

    fn payload(self) -> u32 {
        self.tape.word(self.at) >> KIND_BITS
    }

    pub fn is_null(self) -> bool {
        self.kind() == NULL
    }

    pub fn is_object(self) -> bool {
        self.kind() == OBJECT
    }

    pub fn is_array(self) -> bool {
        self.kind() == ARRAY
    }

    /// Text, and its number among all texts of the document.
    pub fn text_and_number(self) -> Option<(&'a str, usize)> {
        if self.kind() != TEXT {
            return None;
        }
        let id = StringId(self.payload());
        Some((self.tape.strings.get(id), id.0 as usize))
    }

    pub fn text(self) -> Option<&'a str> {
        self.text_and_number().map(|(text, _)| text)
    }

    /// Digits and exponent of a number of up to 18 digits.
    fn digits(self) -> Option<(i64, i32)> {
        match self.kind() {
            SMALL => Some((i64::from((self.tape.word(self.at) as i32) >> KIND_BITS), 0)),
            NUMBER => {
                let (low, high) = (self.tape.word(self.at + 1), self.tape.word(self.at + 2));
                Some((i64::from(high as i32) << 32 | i64::from(low), self.payload() as i32 - BIAS))
            }
            _ => None,
        }
    }

    /// A whole number, however it is written; none beyond 64 bits.
    pub fn whole(self) -> Option<i64> {
        let (mut digits, mut exponent) = match self.digits() {
            Some(number) => number,
            None => return self.literal()?.parse().ok(),
        };
        while exponent < 0 && digits % 10 == 0 && digits != 0 {
            digits /= 10;
            exponent += 1;
        }
        match exponent {
            _ if digits == 0 => Some(0),
            0 => Some(digits),
            1..=18 => digits.checked_mul(10i64.pow(exponent as u32)),
            _ => None,
        }
    }

    /// Literal of a number with many digits.
    fn literal(self) -> Option<&'a str> {
        (self.kind() == LITERAL).then(|| self.tape.strings.get(StringId(self.payload())))
    }

    /// A number: its digits and decimal exponent, or its literal if it has too many digits.
    pub fn number(self) -> Option<Result<(i64, i32), &'a str>> {
        self.digits().map(Ok).or_else(|| self.literal().map(Err))
    }

    /// Elements of a list; none of anything else.
    pub fn items(self) -> impl Iterator<Item = Item<'a>> + use<'a> {
        let (mut at, end) = self.content(ARRAY);
        let tape = self.tape;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let item = Item { tape, at };
                at = tape.after(at);
                item
            })
        })
    }

    /// Members of an object; none of anything else.
    pub fn members(self) -> impl Iterator<Item = (&'a str, Item<'a>)> + use<'a> {
        let (mut at, end) = self.content(OBJECT);
        let tape = self.tape;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let key = Item { tape, at }.text().unwrap_or_default();
                let item = Item { tape, at: at + 1 };
                at = tape.after(at + 1);
                (key, item)
            })
        })
    }

    fn content(self, kind: u32) -> (u32, u32) {
        let start = self.at + 1;
        if self.kind() == kind { (start, self.tape.after(self.at)) } else { (start, start) }
    }

    /// Member of that name; the last one, if there are several.
    pub fn get(self, key: &str) -> Option<Item<'a>> {
        self.members().filter(|(name, _)| *name == key).last().map(|(_, item)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::json::Json;

    /// The value as JSON text, by recursion.
    fn written(item: Item<'_>) -> String {
        match item.kind() {
            NULL => "null".to_string(),
            BOOL => ["false", "true", "NaN"][item.payload() as usize].to_string(),
            TEXT => format!("{:?}", item.text().unwrap()),
            OBJECT => {
                let members: Vec<_> =
                    item.members().map(|(key, item)| format!("{key:?}:{}", written(item))).collect();
                format!("{{{}}}", members.join(","))
            }
            ARRAY => format!("[{}]", item.items().map(written).collect::<Vec<_>>().join(",")),
            _ => match item.number().unwrap() {
                Ok((digits, 0)) => digits.to_string(),
                Ok((digits, exponent)) => format!("{digits}e{exponent}"),
                Err(literal) => literal.to_string(),
            },
        }
    }

    fn read(text: &[u8], size: usize) -> (String, Ending, Option<u64>) {
        let mut tape = Tape::default();
        text.chunks(size).for_each(|chunk| tape.feed(chunk));
        let ending = tape.finish();
        (written(tape.root()), ending, tape.trailing)
    }

    #[test]
    fn values_are_kept_however_they_are_cut() {
        let text = r#" {"a":[1,-2,268435455,268435456,1.50,-0.25e2,12345678901234567890,1e999,NaN],"größe\n":{},"b":[[],{"c":null}, true ,false],"a":"x"} "#;
        let wanted = r#"{"a":[1,-2,268435455,268435456,150e-2,-25e0,12345678901234567890,NaN,NaN],"größe\n":{},"b":[[],{"c":null},true,false],"a":"x"}"#.replace("-25e0", "-25");
        for size in 1..text.len() {
            assert_eq!(read(text.as_bytes(), size), (wanted.clone(), Ending::Whole, None), "{size}");
        }
    }

    #[test]
    fn what_is_whole_before_a_cut_is_kept() {
        for (text, wanted, n_dropped) in [
            (r#"{"a":[1,2"#, r#"{"a":[1]}"#, 1),
            (r#"{"a":[1,2,"#, r#"{"a":[1,2]}"#, 0),
            (r#"{"a":1,"b""#, r#"{"a":1}"#, 0),
            (r#"{"a":1,"b":"#, r#"{"a":1}"#, 0),
            (r#"{"a":1,"b":"te"#, r#"{"a":1}"#, 3),
            (r#"{"a":1,"b":{"c":7"#, r#"{"a":1,"b":{}}"#, 1),
            (r#"[{"a":null"#, r#"[{"a":null}]"#, 0),
            ("", "null", 0),
        ] {
            for size in [1, 2, 100] {
                assert_eq!(
                    read(text.as_bytes(), size),
                    (wanted.into(), Ending::Cut { n_dropped }, None),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_json_ends_the_value() {
        for size in [1, 3, 100] {
            assert_eq!(
                read(b"[1,{\"a\":2 3}]", size),
                ("[1,{\"a\":2}]".into(), Ending::Broken { at: 10 }, None)
            );
            assert_eq!(read(b"[1}", size), ("[1]".into(), Ending::Broken { at: 2 }, None));
            assert_eq!(read(b"[1] \n x", size), ("[1]".into(), Ending::Whole, Some(6)));
        }
        assert!(Json::parse(b"[1]").is_some());
    }

    #[test]
    fn depth_does_not_matter() {
        let text = "[".repeat(300_000) + &"]".repeat(300_000);
        let mut tape = Tape::default();
        tape.feed(text.as_bytes());
        assert_eq!(tape.finish(), Ending::Whole);
        assert_eq!(tape.root().items().count(), 1);
    }

    #[test]
    fn whole_numbers_may_have_a_point() {
        let mut tape = Tape::default();
        tape.feed(br#"[1.0, 1.5, 2e3, 9223372036854775807, 9223372036854775808, 0.0, "1", 1e30]"#);
        tape.finish();
        let read: Vec<_> = tape.root().items().map(Item::whole).collect();
        assert_eq!(read, [Some(1), None, Some(2000), Some(i64::MAX), None, Some(0), None, None]);
    }
}

//! One event object out of contiguous bytes.
//!
//! Takes a slice and the place of a `{`; gives the members a trace needs, borrowed from the slice, and where the
//! object ends. It keeps no state and knows nothing of what lies around the object, so that parts of a file can be
//! scanned apart. Members it does not know are stepped over; `args` is not looked into.

use crate::base::json::{JsonError, RawStr, unescape_to_string};
use crate::base::time::parse_ns;
use memchr::memchr2;

/// A time member, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Time {
    #[default]
    Absent,
    /// There, but no number of microseconds that fits.
    Bad,
    Ns(i64),
}

/// An id as written. Other types than these count as absent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RawId<'a> {
    #[default]
    Absent,
    /// Values from 2^63 up wrap around; a fraction is cut off.
    Int(i64),
    Text(RawStr<'a>),
}

impl RawId<'_> {
    pub fn is_absent(self) -> bool {
        self == RawId::Absent
    }
}

/// Scope of an instant, from `s`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Scope {
    #[default]
    Thread,
    Process,
    Global,
}

/// The members of one event. Of equal keys the last one counts.
#[derive(Clone, Default, Debug)]
pub struct RawEvent<'a> {
    /// First byte of `ph`; 0 if absent, empty or not a text.
    pub phase: u8,
    pub instant_scope: Scope,
    /// `bp` is `"e"`.
    pub bind_enclosing: bool,
    pub flow_in: bool,
    pub flow_out: bool,
    pub ts: Time,
    pub dur: Time,
    pub tts: Time,
    pub tdur: Time,
    pub pid: RawId<'a>,
    pub tid: RawId<'a>,
    pub name: Option<RawStr<'a>>,
    pub cat: Option<RawStr<'a>>,
    pub id: RawId<'a>,
    pub id2_global: RawId<'a>,
    pub id2_local: RawId<'a>,
    pub bind_id: RawId<'a>,
    pub scope: Option<RawStr<'a>>,
    /// From `{` to `}`; `None` if absent or not an object.
    pub args: Option<&'a [u8]>,
    pub sf: RawId<'a>,
    pub esf: RawId<'a>,
    /// Raw JSON array.
    pub stack: Option<&'a [u8]>,
    /// Only samples have it.
    pub weight: Option<&'a [u8]>,
    pub n_keys: u32,
    /// Codes of the keys in the order in which they stand, four bits each; tells writers apart.
    pub key_order: u64,
}

/// [`RawEvent::key_order`] of `name cat ph ts dur pid tid`.
pub const ORDER_NAME_CAT_PH_TS_DUR_PID_TID: u64 = 0x0123_4567;
/// The same with `args` at the end.
pub const ORDER_NAME_CAT_PH_TS_DUR_PID_TID_ARGS: u64 = 0x1234_5678;

/// Reads the object whose `{` is at `start`; gives it and the place after its `}`.
pub fn scan_event(bytes: &[u8], start: usize) -> Result<(RawEvent<'_>, usize), JsonError> {
    let mut scan = Scan { bytes, at: start + 1 };
    let mut event = RawEvent::default();
    if scan.next()? == b'}' {
        return Ok((event, scan.at + 1));
    }
    loop {
        let key = scan.key()?;
        event.n_keys += 1;
        if key.escaped {
            let text = unescape_to_string(key);
            scan.member(text.as_bytes(), &mut event)?;
        } else {
            scan.member(key.bytes, &mut event)?;
        }
        match scan.next()? {
            b',' => {
                scan.at += 1;
                // One comma too many before the end does no harm.
                if scan.next()? == b'}' {
                    return Ok((event, scan.at + 1));
                }
            }
            b'}' => return Ok((event, scan.at + 1)),
            _ => return scan.syntax("',' or '}'"),
        }
    }
}

/// The end of the value that starts at `at` (no white space before it), however deep; strings are respected.
pub fn skip_value(bytes: &[u8], at: usize) -> Result<usize, JsonError> {
    let mut scan = Scan { bytes, at };
    scan.skip()?;
    Ok(scan.at)
}

/// What a byte means between the brackets of a skipped value.
const PLAIN: u8 = 0;
const QUOTE: u8 = 1;
const OPEN: u8 = 2;
const CLOSE: u8 = 3;

const CLASS: [u8; 256] = {
    let mut class = [PLAIN; 256];
    class[b'"' as usize] = QUOTE;
    class[b'{' as usize] = OPEN;
    class[b'[' as usize] = OPEN;
    class[b'}' as usize] = CLOSE;
    class[b']' as usize] = CLOSE;
    class
};

/// Words of eight bytes in which the end of a string is looked for before a wider search.
const SHORT_WORDS: usize = 5;

/// The high bit of every byte that is a quote or a backslash, at least up to the first such byte.
#[inline(always)]
fn quotes_in(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    zeros(word ^ (ONES * b'"' as u64)) | zeros(word ^ (ONES * b'\\' as u64))
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn syntax<T>(&self, expected: &'static str) -> Result<T, JsonError> {
        Err(JsonError::Syntax { at: self.at, expected })
    }

    /// The next byte that is not white space, not consumed.
    #[inline(always)]
    fn next(&mut self) -> Result<u8, JsonError> {
        loop {
            match self.bytes.get(self.at) {
                Some(byte) if *byte > b' ' => return Ok(*byte),
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(byte) => return Ok(*byte),
                None => return Err(JsonError::Cut),
            }
        }
    }

    /// A key and the colon after it.
    #[inline(always)]
    fn key(&mut self) -> Result<RawStr<'a>, JsonError> {
        if self.next()? != b'"' {
            return self.syntax("a key");
        }
        let key = self.text()?;
        if self.next()? != b':' {
            return self.syntax("':'");
        }
        self.at += 1;
        Ok(key)
    }

    /// A string whose opening quote is at the current place.
    #[inline(always)]
    fn text(&mut self) -> Result<RawStr<'a>, JsonError> {
        let start = self.at + 1;
        // Most strings are short: looking at eight bytes a time beats the set-up of a wider search.
        let mut at = start;
        for _ in 0..SHORT_WORDS {
            let Some(word) = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) else { break };
            let found = quotes_in(u64::from_le_bytes(*word));
            if found != 0 {
                at += found.trailing_zeros() as usize / 8;
                if self.bytes[at] == b'"' {
                    self.at = at + 1;
                    return Ok(RawStr { bytes: &self.bytes[start..at], escaped: false });
                }
                break;
            }
            at += 8;
        }
        self.long_text(start, at)
    }

    /// The rest of a string from `at` on.
    fn long_text(&mut self, start: usize, mut at: usize) -> Result<RawStr<'a>, JsonError> {
        let mut escaped = false;
        loop {
            let Some(found) = self.bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) else {
                return Err(JsonError::Cut);
            };
            at += found;
            if self.bytes[at] == b'"' {
                self.at = at + 1;
                return Ok(RawStr { bytes: &self.bytes[start..at], escaped });
            }
            escaped = true;
            at += 2;
        }
    }

    /// A number or a bare word, up to what ends it.
    #[inline]
    fn literal(&mut self) -> Result<&'a [u8], JsonError> {
        let start = self.at;
        let mut at = start;
        loop {
            match self.bytes.get(at) {
                Some(b'0'..=b'9' | b'.' | b'-' | b'+' | b'a'..=b'z' | b'A'..=b'Z') => at += 1,
                Some(_) if at == start => return self.syntax("a value"),
                Some(_) => break,
                None => return Err(JsonError::Cut),
            }
        }
        let literal = &self.bytes[start..at];
        let word = matches!(literal, b"true" | b"false" | b"null" | b"NaN" | b"Infinity" | b"-Infinity");
        if !word && !matches!(literal[0], b'0'..=b'9' | b'-') {
            return self.syntax("a value");
        }
        self.at = at;
        Ok(literal)
    }

    /// Steps over any value.
    fn skip(&mut self) -> Result<(), JsonError> {
        match self.next()? {
            b'"' => self.text().map(drop),
            b'{' | b'[' => self.skip_container().map(drop),
            _ => self.literal().map(drop),
        }
    }

    /// Steps over a container, however deep. Only brackets and strings are looked at.
    fn skip_container(&mut self) -> Result<&'a [u8], JsonError> {
        let start = self.at;
        let bytes = self.bytes;
        let mut at = start;
        let mut depth = 0u32;
        loop {
            let Some(byte) = bytes.get(at) else { return Err(JsonError::Cut) };
            match CLASS[*byte as usize] {
                PLAIN => at += 1,
                QUOTE => {
                    self.at = at;
                    self.text()?;
                    at = self.at;
                }
                OPEN => {
                    depth += 1;
                    at += 1;
                }
                _ => {
                    at += 1;
                    depth -= 1;
                    if depth == 0 {
                        self.at = at;
                        return Ok(&bytes[start..at]);
                    }
                }
            }
        }
    }

    /// A text; `None` for a value of another type.
    #[inline]
    fn text_value(&mut self) -> Result<Option<RawStr<'a>>, JsonError> {
        if self.next()? == b'"' {
            return self.text().map(Some);
        }
        self.skip()?;
        Ok(None)
    }

    /// Microseconds as a number, or a text that holds one.
    #[inline]
    fn time(&mut self) -> Result<Time, JsonError> {
        let literal = match self.next()? {
            b'"' => self.text()?.bytes,
            b'{' | b'[' => {
                self.skip_container()?;
                return Ok(Time::Bad);
            }
            _ => self.literal()?,
        };
        Ok(parse_ns(literal, 6).map_or(Time::Bad, Time::Ns))
    }

    #[inline]
    fn id(&mut self) -> Result<RawId<'a>, JsonError> {
        match self.next()? {
            b'"' => self.text().map(RawId::Text),
            b'{' | b'[' => self.skip_container().map(|_| RawId::Absent),
            _ => Ok(parse_int(self.literal()?).map_or(RawId::Absent, RawId::Int)),
        }
    }

    fn flag(&mut self) -> Result<bool, JsonError> {
        match self.next()? {
            b't' => Ok(self.literal()? == b"true"),
            _ => self.skip().map(|()| false),
        }
    }

    fn id2(&mut self, event: &mut RawEvent<'a>) -> Result<(), JsonError> {
        if self.next()? != b'{' {
            return self.skip();
        }
        self.at += 1;
        (event.id2_global, event.id2_local) = (RawId::Absent, RawId::Absent);
        while self.next()? != b'}' {
            match self.key()?.bytes {
                b"global" => event.id2_global = self.id()?,
                b"local" => event.id2_local = self.id()?,
                _ => self.skip()?,
            }
            match self.next()? {
                b',' => self.at += 1,
                b'}' => {}
                _ => return self.syntax("',' or '}'"),
            }
        }
        self.at += 1;
        Ok(())
    }

    #[inline(always)]
    fn member(&mut self, key: &[u8], event: &mut RawEvent<'a>) -> Result<(), JsonError> {
        let code = match key {
            b"name" => {
                event.name = self.text_value()?;
                1
            }
            b"ph" => {
                event.phase = self.text_value()?.and_then(|text| text.bytes.first().copied()).unwrap_or(0);
                3
            }
            b"ts" => {
                event.ts = self.time()?;
                4
            }
            b"dur" => {
                event.dur = self.time()?;
                5
            }
            b"pid" => {
                event.pid = self.id()?;
                6
            }
            b"tid" => {
                event.tid = self.id()?;
                7
            }
            b"cat" => {
                event.cat = self.text_value()?;
                2
            }
            b"args" => {
                event.args = match self.next()? {
                    b'{' => Some(self.skip_container()?),
                    _ => {
                        self.skip()?;
                        None
                    }
                };
                8
            }
            b"id" => {
                event.id = self.id()?;
                9
            }
            b"tts" => {
                event.tts = self.time()?;
                10
            }
            b"tdur" => {
                event.tdur = self.time()?;
                11
            }
            _ => {
                self.rare_member(key, event)?;
                15
            }
        };
        event.key_order = event.key_order << 4 | code;
        Ok(())
    }

    fn rare_member(&mut self, key: &[u8], event: &mut RawEvent<'a>) -> Result<(), JsonError> {
        match key {
            b"s" => {
                event.instant_scope = match self.text_value()?.map(|text| text.bytes) {
                    Some(b"p") => Scope::Process,
                    Some(b"g") => Scope::Global,
                    _ => Scope::Thread,
                };
            }
            b"bp" => event.bind_enclosing = self.text_value()?.is_some_and(|text| text.bytes == b"e"),
            b"id2" => self.id2(event)?,
            b"bind_id" => event.bind_id = self.id()?,
            b"scope" => event.scope = self.text_value()?,
            b"flow_in" => event.flow_in = self.flag()?,
            b"flow_out" => event.flow_out = self.flag()?,
            b"sf" => event.sf = self.id()?,
            b"esf" => event.esf = self.id()?,
            b"stack" => {
                event.stack = match self.next()? {
                    b'[' => Some(self.skip_container()?),
                    _ => {
                        self.skip()?;
                        None
                    }
                };
            }
            b"weight" => {
                event.weight = match self.next()? {
                    b'"' => Some(self.text()?.bytes),
                    b'{' | b'[' => self.skip_container().map(|_| None)?,
                    _ => Some(self.literal()?),
                };
            }
            _ => self.skip()?,
        }
        Ok(())
    }
}

/// An integer, or a number with a fraction cut off; `None` for other words.
fn parse_int(literal: &[u8]) -> Option<i64> {
    if literal.len() <= 18 && literal.iter().all(u8::is_ascii_digit) {
        return Some(literal.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')));
    }
    let text = std::str::from_utf8(literal).ok()?;
    if let Ok(value) = text.parse::<i64>() {
        return Some(value);
    }
    if let Ok(value) = text.parse::<u64>() {
        return Some(value as i64);
    }
    crate::base::json::Number::as_f64(literal).map(|value| value as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_anywhere_is_cut() {
        let text = br#"{"name":"a\"b","ph":"X","ts":1.5,"dur":"2","pid":-7,"tid":"t","args":{"a":[1,{"}":"]"}]},"id2":{"local":"0x1"},"x":NaN,"k":[[]],}"#;
        let (event, end) = scan_event(text, 0).unwrap();
        assert_eq!(end, text.len());
        assert_eq!((event.ts, event.dur), (Time::Ns(1500), Time::Ns(2000)));
        assert_eq!(event.pid, RawId::Int(-7));
        assert_eq!(event.args, Some(&br#"{"a":[1,{"}":"]"}]}"#[..]));
        for len in 1..text.len() {
            assert_eq!(scan_event(&text[..len], 0).err(), Some(JsonError::Cut), "{len}");
        }
    }

    #[test]
    fn broken_syntax_is_told_from_a_cut() {
        for bad in
            [&br#"{"a" 1}"#[..], br#"{"a":1 "b":2}"#, b"{7:1}", br#"{"a":}"#, br#"{"ts":]}"#, br#"{,"a":1}"#]
        {
            assert!(
                matches!(scan_event(bad, 0), Err(JsonError::Syntax { .. })),
                "{}",
                String::from_utf8_lossy(bad)
            );
        }
    }

    #[test]
    fn integers() {
        for (text, value) in [("7", 7), ("-3", -3), ("7.9", 7), ("1e3", 1000), ("18446744073709551615", -1)] {
            assert_eq!(parse_int(text.as_bytes()), Some(value));
        }
        assert_eq!(parse_int(b"null"), None);
    }
}

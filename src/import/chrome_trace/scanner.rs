//! Scanner of one event object in contiguous bytes.
//!
//! Takes a slice and the offset of a `{`; returns the members a trace needs, borrowed from the slice, and the end of the
//! object. It is stateless and knows nothing about the text around the object, so parts of a file can be scanned
//! independently. Unknown members are skipped; `args` is not parsed.

use super::digits::{POWERS_OF_TEN, all_digits, eight_digits, leading_digits};
use super::event::{Field, RawEvent, RawId, Scope, Time};
use crate::base::json::{JsonError, Number, RawStr, skip_and_watch, unescape_to_string};
use crate::base::time::parse_ns;
use memchr::memchr2;
use wide::u8x16;

/// Scans the object whose `{` is at `start`; returns it and the offset after its `}`.
pub fn scan_event(bytes: &[u8], start: usize) -> Result<(RawEvent<'_>, usize), JsonError> {
    scan_headless(bytes, start + 1)
}

/// Scans an object whose `{` is missing before `at`.
pub fn scan_headless(bytes: &[u8], at: usize) -> Result<(RawEvent<'_>, usize), JsonError> {
    let mut scan = Scan::new(bytes, at);
    let mut event = RawEvent::default();
    match scan_members(&mut scan, &mut event) {
        Ok(()) => {
            (event.odd_id, event.has_brackets) = (scan.odd_id, scan.has_brackets);
            Ok((event, scan.at))
        }
        Err(stop) => Err(scan.error(stop)),
    }
}

fn scan_members<'a>(scan: &mut Scan<'a>, event: &mut RawEvent<'a>) -> Result<(), Stop> {
    let mut last = scan.next()?;
    while last != b'}' {
        let key = scan.key()?;
        scan.value(Field::of(key), event)?;
        last = scan.next()?;
        if last == b',' {
            scan.at += 1;
            // A trailing comma is accepted.
            last = scan.next()?;
        } else if last != b'}' {
            return scan.syntax("',' or '}'");
        }
    }
    scan.at += 1;
    Ok(())
}

/// End of the value that starts at `at` (without leading white space), at any depth; strings are respected.
pub fn skip_value(bytes: &[u8], at: usize) -> Result<usize, JsonError> {
    let mut scan = Scan::new(bytes, at);
    match scan.skip() {
        Ok(()) => Ok(scan.at),
        Err(stop) => Err(scan.error(stop)),
    }
}

/// Number of 16-byte blocks searched for the end of a string before a wider search.
const SHORT_BLOCKS: usize = 6;

/// Bit mask of the bytes that are a quote or a backslash, first byte lowest.
#[inline(always)]
fn quotes_in(block: &[u8; 16]) -> u32 {
    let block = u8x16::new(*block);
    (block.simd_eq(u8x16::splat(b'"')) | block.simd_eq(u8x16::splat(b'\\'))).to_bitmask()
}

/// Reason why scanning ended. One byte, since every call returns it; [`Scan::error`] has details.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    Cut,
    Syntax,
}

/// Position in the bytes of an event.
pub(super) struct Scan<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
    /// Digits before the point of the last `ts`; the next one probably has as many.
    pub time_digits: usize,
    /// See [`RawEvent::odd_id`].
    pub odd_id: bool,
    /// See [`RawEvent::has_brackets`].
    pub has_brackets: bool,
    /// Token missing at [`Stop::Syntax`].
    expected: &'static str,
}

impl<'a> Scan<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Scan<'a> {
        Scan { bytes, at, time_digits: 0, odd_id: false, has_brackets: false, expected: "" }
    }

    /// Error for `stop` at the current position.
    #[cold]
    pub(super) fn error(&self, stop: Stop) -> JsonError {
        match stop {
            Stop::Cut => JsonError::Cut,
            Stop::Syntax => JsonError::Syntax { at: self.at, expected: self.expected },
        }
    }

    #[cold]
    pub(super) fn syntax<T>(&mut self, expected: &'static str) -> Result<T, Stop> {
        self.expected = expected;
        Err(Stop::Syntax)
    }

    /// Peeks at the next byte that is not white space.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Result<u8, Stop> {
        loop {
            match self.bytes.get(self.at) {
                Some(byte) if *byte > b' ' => return Ok(*byte),
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(byte) => return Ok(*byte),
                None => return Err(Stop::Cut),
            }
        }
    }

    /// Reads a key and the colon after it.
    #[inline(always)]
    pub(super) fn key(&mut self) -> Result<RawStr<'a>, Stop> {
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

    /// Reads a string whose opening quote is at the current position.
    #[inline(always)]
    fn text(&mut self) -> Result<RawStr<'a>, Stop> {
        let start = self.at + 1;
        // Most strings are short, so setting up a wider search does not pay.
        let mut at = start;
        for _ in 0..SHORT_BLOCKS {
            let Some(block) = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) else { break };
            let found = quotes_in(block);
            if found != 0 {
                at += found.trailing_zeros() as usize;
                if self.bytes[at] == b'"' {
                    self.at = at + 1;
                    return Ok(RawStr { bytes: &self.bytes[start..at], escaped: false });
                }
                break;
            }
            at += 16;
        }
        self.long_text(start, at)
    }

    /// Reads the rest of a string from `at` on.
    fn long_text(&mut self, start: usize, mut at: usize) -> Result<RawStr<'a>, Stop> {
        let mut escaped = false;
        loop {
            let Some(found) = self.bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) else {
                return Err(Stop::Cut);
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

    /// Reads a number or a bare word.
    #[inline]
    fn literal(&mut self) -> Result<&'a [u8], Stop> {
        let start = self.at;
        let mut at = start;
        loop {
            match self.bytes.get(at) {
                Some(b'0'..=b'9' | b'.' | b'-' | b'+' | b'a'..=b'z' | b'A'..=b'Z') => at += 1,
                Some(_) if at == start => return self.syntax("a value"),
                Some(_) => break,
                None => return Err(Stop::Cut),
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

    /// Skips any value.
    fn skip(&mut self) -> Result<(), Stop> {
        match self.next()? {
            b'"' => self.text().map(drop),
            b'{' | b'[' => self.skip_container().map(drop),
            _ => self.literal().map(drop),
        }
    }

    /// Skips a container of any depth, looking only at brackets and strings.
    fn skip_container(&mut self) -> Result<&'a [u8], Stop> {
        let start = self.at;
        let skipped = skip_and_watch(self.bytes, start).map_err(|_| Stop::Cut)?;
        self.at = skipped.end;
        self.has_brackets |= skipped.has_brackets;
        Ok(&self.bytes[start..self.at])
    }

    /// Skips an object. If a square bracket ends it, a bracket is missing inside, and what follows belongs to it.
    #[inline(always)]
    fn object(&mut self) -> Result<&'a [u8], Stop> {
        let start = self.at;
        let object = self.skip_container()?;
        if object.last() != Some(&b'}') {
            self.at = start;
            return self.syntax("'}'");
        }
        Ok(object)
    }

    /// Reads a text; `None` for a value of another type.
    #[inline(always)]
    fn text_value(&mut self) -> Result<Option<RawStr<'a>>, Stop> {
        if self.next()? == b'"' {
            return self.text().map(Some);
        }
        self.skip()?;
        Ok(None)
    }

    /// Reads a text into a field; returns whether the type was wrong.
    #[inline]
    fn text_into(&mut self, out: &mut Option<RawStr<'a>>) -> Result<bool, Stop> {
        let first = self.next()?;
        *out = self.text_value()?;
        Ok(first != b'"' && first != b'n')
    }

    #[inline]
    fn time_into(&mut self, out: &mut Time) -> Result<(), Stop> {
        *out = self.time()?;
        Ok(())
    }

    #[inline]
    fn id_into(&mut self, out: &mut RawId<'a>) -> Result<(), Stop> {
        *out = self.id()?;
        Ok(())
    }

    /// Reads microseconds as a number, or as a text with a number.
    #[inline(always)]
    fn time(&mut self) -> Result<Time, Stop> {
        let literal = match self.next()? {
            b'0'..=b'9' => {
                if let Some(ns) = self.plain_microseconds() {
                    return Ok(Time::Ns(ns));
                }
                self.literal()?
            }
            b'"' => self.text()?.bytes,
            b'{' | b'[' => {
                self.skip_container()?;
                return Ok(Time::Bad);
            }
            _ => self.literal()?,
        };
        Ok(parse_ns(literal, 6).map_or(Time::Bad, Time::Ns))
    }

    /// Number made of the digits at `at`, and how many there are. More than 19 digits wrap around.
    #[inline(always)]
    fn digits(&self, mut at: usize) -> (u64, usize) {
        let start = at;
        let mut value = 0u64;
        // Eight at a time, while there are enough bytes.
        while let Some(word) = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let (part, n) = leading_digits(u64::from_le_bytes(*word));
            value = value.wrapping_mul(POWERS_OF_TEN[n]).wrapping_add(part);
            at += n;
            if n < 8 {
                return (value, at - start);
            }
        }
        while let Some(digit @ b'0'..=b'9') = self.bytes.get(at) {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            at += 1;
        }
        (value, at - start)
    }

    /// Whether the byte at `at` ends a number.
    #[inline(always)]
    fn ends_number(&self, at: usize) -> bool {
        matches!(self.bytes.get(at), Some(b',' | b'}' | b' ' | b'\n' | b'\r' | b'\t'))
    }

    /// Reads `digits` or `digits.digits` with at most three decimals, as in nearly all times; `None` for others.
    #[inline(always)]
    fn plain_microseconds(&mut self) -> Option<i64> {
        let (whole, n_whole) = self.digits(self.at);
        let mut end = self.at + n_whole;
        let mut ns = whole.wrapping_mul(1000);
        if self.bytes.get(end) == Some(&b'.') {
            let (fraction, n_fraction) = self.digits(end + 1);
            ns = ns.wrapping_add(fraction.wrapping_mul(*[0, 100, 10, 1].get(n_fraction)?));
            end += 1 + n_fraction;
            if n_fraction == 0 {
                return None;
            }
        }
        // Fifteen digits of microseconds are less than 2^63 nanoseconds.
        self.time_digits = n_whole;
        if n_whole > 15 || !self.ends_number(end) || (n_whole > 1 && self.bytes[self.at] == b'0') {
            return None;
        }
        self.at = end;
        Some(ns as i64)
    }

    /// Reads microseconds with three decimals and as many digits before the point as the last time had, without searching.
    #[inline(always)]
    fn expected_microseconds(&mut self) -> Option<i64> {
        let n = self.time_digits;
        let window = self.bytes.get(self.at..)?.first_chunk::<24>()?;
        let word = |at: usize| {
            window.get(at..).and_then(|rest| rest.first_chunk()).map(|word| u64::from_le_bytes(*word))
        };
        if !(9..=15).contains(&n) || window[n] != b'.' || window[0] == b'0' {
            return None;
        }
        let first = eight_digits(all_digits(word(0)?)?);
        // The last eight digits before the point, overlapping the first ones.
        let shift = 8 * (16 - n);
        let rest = eight_digits(all_digits(word(n - 8)?)? >> shift << shift);
        let fraction = window[n + 1..n + 4].iter().map(|digit| u64::from(digit.wrapping_sub(b'0')));
        let fraction = fraction.fold(0, |sum, digit| if digit > 9 { 10_000 } else { sum * 10 + digit });
        if fraction > 999 || !self.ends_number(self.at + n + 4) {
            return None;
        }
        self.at += n + 4;
        Some((first * POWERS_OF_TEN[n - 8] + rest) as i64 * 1000 + fraction as i64)
    }

    #[inline(always)]
    fn id(&mut self) -> Result<RawId<'a>, Stop> {
        match self.next()? {
            b'0'..=b'9' => {
                let (value, n_digits) = self.digits(self.at);
                if n_digits <= 18 && self.ends_number(self.at + n_digits) {
                    self.at += n_digits;
                    return Ok(RawId::Int(value as i64));
                }
                self.odd_number()
            }
            b'"' => self.text().map(RawId::Text),
            b'{' | b'[' => {
                self.odd_id = true;
                self.skip_container().map(|_| RawId::Absent)
            }
            _ => self.odd_number(),
        }
    }

    /// Reads an id that is not a plain integer.
    #[cold]
    fn odd_number(&mut self) -> Result<RawId<'a>, Stop> {
        let literal = self.literal()?;
        let id = number_id(literal);
        self.odd_id |= literal != b"null" && id.is_absent();
        Ok(id)
    }

    fn flag(&mut self) -> Result<bool, Stop> {
        match self.next()? {
            b't' => Ok(self.literal()? == b"true"),
            _ => self.skip().map(|()| false),
        }
    }

    fn id2(&mut self, event: &mut RawEvent<'a>) -> Result<(), Stop> {
        if self.next()? != b'{' {
            return self.skip();
        }
        self.at += 1;
        (event.rare.id2_global, event.rare.id2_local) = (RawId::Absent, RawId::Absent);
        while self.next()? != b'}' {
            match self.key()?.bytes {
                b"global" => event.rare.id2_global = self.id()?,
                b"local" => event.rare.id2_local = self.id()?,
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

    /// Reads the value of `field`, from the white space before it to its end.
    #[inline(always)]
    pub(super) fn value(&mut self, field: Field, event: &mut RawEvent<'a>) -> Result<(), Stop> {
        match field {
            Field::Name => event.wrong_type |= self.text_into(&mut event.name)?,
            Field::Phase => {
                // Nearly always one letter in quotes.
                if let Some([b'"', phase, b'"']) =
                    self.bytes.get(self.at..).and_then(|rest| rest.first_chunk())
                    && !matches!(phase, b'"' | b'\\')
                {
                    event.phase = *phase;
                    self.at += 3;
                } else {
                    event.phase = self.text_value()?.map_or(0, first_byte);
                }
            }
            Field::Ts => {
                if let Some(ns) = self.expected_microseconds() {
                    event.ts = Time::Ns(ns);
                } else {
                    self.time_into(&mut event.ts)?;
                }
            }
            Field::Dur => {
                let expected = self.time_digits;
                self.time_into(&mut event.dur)?;
                self.time_digits = expected;
            }
            Field::Pid => self.id_into(&mut event.pid)?,
            Field::Tid => self.id_into(&mut event.tid)?,
            Field::Category => {
                event.cat_number = 0;
                event.wrong_type |= self.text_into(&mut event.cat)?;
            }
            Field::Args => {
                event.args = match self.next()? {
                    b'{' => Some(self.object()?),
                    first => {
                        event.wrong_type |= first != b'n';
                        self.skip()?;
                        None
                    }
                };
            }
            Field::Id => self.id_into(&mut event.id)?,
            _ => self.rare_value(field, event)?,
        }
        event.n_keys += 1;
        event.repeated |= event.seen & field.bit() != 0;
        event.seen |= field.bit();
        event.key_order = event.key_order << 4 | field.order_code();
        Ok(())
    }

    fn rare_value(&mut self, field: Field, event: &mut RawEvent<'a>) -> Result<(), Stop> {
        event.has_rare = true;
        match field {
            Field::InstantScope => {
                event.rare.instant_scope = match self.text_value()?.map(|text| text.bytes) {
                    Some(b"p") => Scope::Process,
                    Some(b"g") => Scope::Global,
                    _ => Scope::Thread,
                };
            }
            Field::BindPoint => {
                event.rare.bind_enclosing = self.text_value()?.is_some_and(|text| text.bytes == b"e");
            }
            Field::Tts => self.time_into(&mut event.rare.tts)?,
            Field::Tdur => self.time_into(&mut event.rare.tdur)?,
            Field::Id2 => self.id2(event)?,
            Field::BindId => event.rare.bind_id = self.id()?,
            Field::IdScope => event.rare.scope = self.text_value()?,
            Field::FlowIn => event.rare.flow_in = self.flag()?,
            Field::FlowOut => event.rare.flow_out = self.flag()?,
            Field::Unfinished => event.rare.unfinished = self.flag()?,
            Field::StartFrame => event.rare.sf = self.id()?,
            Field::EndFrame => event.rare.esf = self.id()?,
            Field::Stack => {
                event.rare.stack = match self.next()? {
                    b'[' => Some(self.skip_container()?),
                    first => {
                        event.wrong_type |= first != b'n';
                        self.skip()?;
                        None
                    }
                };
            }
            Field::Weight => {
                event.rare.weight = match self.next()? {
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

/// First byte of a text; 0 if empty.
fn first_byte(text: RawStr<'_>) -> u8 {
    let first =
        if text.escaped { unescape_to_string(text).bytes().next() } else { text.bytes.first().copied() };
    first.unwrap_or(0)
}

/// Number as an id; absent for other words.
fn number_id(literal: &[u8]) -> RawId<'_> {
    if let Some(value) = std::str::from_utf8(literal).ok().and_then(|text| text.parse::<i64>().ok()) {
        return RawId::Int(value);
    }
    // Doubles beyond this do not fit in 64 bits.
    const LIMIT: f64 = (1u64 << 63) as f64;
    match Number::as_f64(literal) {
        // Plain digits that were not taken above do not fit, even if the nearest double does.
        Some(value)
            if (-LIMIT..LIMIT).contains(&value)
                && value.fract() == 0.0
                && literal.iter().any(|byte| b".eE".contains(byte)) =>
        {
            RawId::Int(value as i64)
        }
        Some(_) => RawId::Digits(RawStr { bytes: literal, escaped: false }),
        None => RawId::Absent,
    }
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
    fn digits_eight_at_a_time() {
        for text in [
            "",
            "7",
            "07",
            "12345678",
            "123456789",
            "1234567890123456789",
            "9999999.5",
            "12a45678",
            "\u{80}1",
        ] {
            for tail in ["", ",", ":", "/", "x and more", "\u{ff}\u{ff}\u{ff}"] {
                let whole = format!("{text}{tail}");
                let n = whole.bytes().take_while(u8::is_ascii_digit).count();
                let value = whole[..n].parse().unwrap_or(0);
                assert_eq!(Scan::new(whole.as_bytes(), 0).digits(0), (value, n), "{whole}");
            }
        }
    }

    #[test]
    fn times_of_the_expected_length() {
        for digits in 0..20 {
            for text in [
                "1700000000003.610,",
                "1700000000003.610 ",
                "1700000000003.61,",
                "1700000000003.6100,",
                "1700000000003,",
                "170000000000.999}",
                "999999999.000,",
                "99999999.000,",
                "123456789012345.678,",
                "1234567890123456.678,",
                "0123456789.678,",
                "12345678x0.678,",
                "1234567890.6x8,",
                "1234567890.678e3,",
                "-123456789.678,",
            ] {
                let bytes = format!("{text}{}", " ".repeat(24)).into_bytes();
                let mut expected = Scan::new(&bytes, 0);
                expected.time_digits = digits;
                let mut plain = Scan::new(&bytes, 0);
                if let Some(ns) = expected.expected_microseconds() {
                    assert_eq!(plain.time().map_err(|_| ()), Ok(Time::Ns(ns)), "{text}");
                    assert_eq!(expected.at, plain.at, "{text}");
                    assert!(text.starts_with(|first: char| ('1'..='9').contains(&first)), "{text}");
                }
            }
        }
        let bytes = b"1700000000003.610,                ";
        let mut scan = Scan { time_digits: 13, ..Scan::new(bytes, 0) };
        assert_eq!(scan.expected_microseconds(), Some(1_700_000_000_003_610));
    }

    #[test]
    fn integers() {
        let largest = (i64::MAX, i64::MIN);
        for (text, value) in [
            ("7", 7),
            ("-3", -3),
            ("7.0", 7),
            ("1e3", 1000),
            ("9223372036854775807", largest.0),
            ("-9223372036854775808", largest.1),
            ("-9223372036854775808.0", largest.1),
        ] {
            assert_eq!(number_id(text.as_bytes()), RawId::Int(value));
        }
        for text in [
            "9223372036854775808",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775809",
            "1e19",
            "1.2",
            "-0.5",
        ] {
            assert_eq!(
                number_id(text.as_bytes()),
                RawId::Digits(RawStr { bytes: text.as_bytes(), escaped: false })
            );
        }
        assert_eq!(number_id(b"null"), RawId::Absent);
    }
}

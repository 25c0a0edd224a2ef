//! Pull parser for JSON bytes: no tree, no allocation, no recursion.
//!
//! Takes a byte slice that may end in the middle of a value; returns tokens that borrow from it. [`JsonError::Cut`] means that
//! the slice ended, so a streaming reader provides more bytes. Text and numbers are decoded on demand by [`unescape`] and
//! [`Number`].

mod member;
mod number;
mod skip;
pub mod tape;
mod tree;
pub mod typed;
mod unescape;
pub mod write;

pub use member::{PlainMember, plain_member};
pub use number::{Number, is_number};
pub use skip::{skip_and_watch, skip_container};
pub use tree::Json;
pub use unescape::{Unescape, unescape, unescape_to_string};

use memchr::memchr2;

/// Strictness of the parser.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// As Python's `json` module: RFC 8259, plus the bare literals `NaN`, `Infinity`, `-Infinity`.
    Python,
    /// Everything trace viewers have been seen to accept: also raw control characters and unknown escapes in strings, and the
    /// bare literals `nan`, `inf`, `-inf`.
    Lenient,
}

/// Reason why a token could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonError {
    /// The bytes end inside a value.
    Cut,
    /// Invalid JSON at this offset.
    Syntax {
        /// Offset in the slice.
        at: usize,
        /// Expected token, for the message.
        expected: &'static str,
    },
}

/// String without its quotes, with its escapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawStr<'a> {
    pub bytes: &'a [u8],
    /// Contains at least one backslash.
    pub escaped: bool,
}

/// One value or the start of a container.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Token<'a> {
    /// `{`
    Object,
    /// `[`
    Array,
    String(RawStr<'a>),
    /// Literal as written; see [`Number`].
    Number(&'a [u8]),
    True,
    False,
    Null,
    /// `NaN`, `Infinity` or `-Infinity`, which are invalid JSON but written by Python and others.
    NonFinite(f64),
}

/// Parser of a slice.
#[derive(Clone)]
pub struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    dialect: Dialect,
}

impl<'a> Parser<'a> {
    pub fn new(bytes: &'a [u8], dialect: Dialect) -> Parser<'a> {
        Parser { bytes, at: 0, dialect }
    }

    /// Starts at an offset of `bytes`.
    pub fn at(bytes: &'a [u8], at: usize, dialect: Dialect) -> Parser<'a> {
        Parser { bytes, at, dialect }
    }

    /// Offset of the next byte.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    #[inline]
    pub fn set_position(&mut self, at: usize) {
        self.at = at;
    }

    #[inline]
    pub fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// Peeks at the next byte that is not white space.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.bytes.get(self.at).copied()
    }

    /// Consumes `byte` if it comes next.
    #[inline]
    pub fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn syntax<T>(&self, expected: &'static str) -> Result<T, JsonError> {
        Err(if self.at >= self.bytes.len() {
            JsonError::Cut
        } else {
            JsonError::Syntax { at: self.at, expected }
        })
    }

    /// Consumes `byte` or fails.
    #[inline]
    pub fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), JsonError> {
        if self.eat(byte) { Ok(()) } else { self.syntax(expected) }
    }

    /// Reads the next value; of a container only the opening bracket is consumed.
    #[inline]
    pub fn token(&mut self) -> Result<Token<'a>, JsonError> {
        match self.peek() {
            Some(b'"') => self.string().map(Token::String),
            Some(b'{') => {
                self.at += 1;
                Ok(Token::Object)
            }
            Some(b'[') => {
                self.at += 1;
                Ok(Token::Array)
            }
            Some(b'0'..=b'9') => self.number().map(Token::Number),
            Some(b'-') => match self.bytes.get(self.at + 1) {
                Some(b'I') => self.word(b"-Infinity", Token::NonFinite(f64::NEG_INFINITY)),
                Some(b'i') if self.is_lenient() => self.word(b"-inf", Token::NonFinite(f64::NEG_INFINITY)),
                _ => self.number().map(Token::Number),
            },
            Some(b't') => self.word(b"true", Token::True),
            Some(b'f') => self.word(b"false", Token::False),
            // As printed by C++.
            Some(b'n') if self.is_lenient() && self.bytes.get(self.at + 1) == Some(&b'a') => {
                self.word(b"nan", Token::NonFinite(f64::NAN))
            }
            Some(b'i') if self.is_lenient() => self.word(b"inf", Token::NonFinite(f64::INFINITY)),
            Some(b'n') => self.word(b"null", Token::Null),
            Some(b'N') => self.word(b"NaN", Token::NonFinite(f64::NAN)),
            Some(b'I') => self.word(b"Infinity", Token::NonFinite(f64::INFINITY)),
            _ => self.syntax("a value"),
        }
    }

    fn is_lenient(&self) -> bool {
        self.dialect == Dialect::Lenient
    }

    fn word(&mut self, word: &[u8], token: Token<'a>) -> Result<Token<'a>, JsonError> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word) {
            self.at += word.len();
            Ok(token)
        } else if word.starts_with(rest) {
            Err(JsonError::Cut)
        } else {
            self.syntax("a value")
        }
    }

    /// Reads a string whose opening quote is next.
    #[inline]
    pub fn string(&mut self) -> Result<RawStr<'a>, JsonError> {
        self.expect(b'"', "a string")?;
        let start = self.at;
        let mut escaped = false;
        let mut from = start;
        loop {
            let Some(found) = memchr2(b'"', b'\\', &self.bytes[from..]) else {
                return Err(JsonError::Cut);
            };
            let at = from + found;
            if self.bytes[at] == b'"' {
                let bytes = &self.bytes[start..at];
                if self.dialect == Dialect::Python {
                    self.check_strict(bytes, start, escaped)?;
                }
                self.at = at + 1;
                return Ok(RawStr { bytes, escaped });
            }
            escaped = true;
            from = at + 2;
            if from > self.bytes.len() {
                return Err(JsonError::Cut);
            }
        }
    }

    /// Rejects raw control characters and unknown escapes.
    fn check_strict(&self, bytes: &[u8], start: usize, escaped: bool) -> Result<(), JsonError> {
        if let Some(at) = bytes.iter().position(|byte| *byte < 0x20) {
            return Err(JsonError::Syntax { at: start + at, expected: "an escaped control character" });
        }
        let mut at = 0;
        while escaped && at < bytes.len() {
            if bytes[at] != b'\\' {
                at += 1;
                continue;
            }
            at += match bytes.get(at + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                Some(b'u') if unescape::hex4(bytes, at + 2).is_some() => 6,
                _ => return Err(JsonError::Syntax { at: start + at, expected: "a known escape" }),
            };
        }
        Ok(())
    }

    /// Reads a number as written. At the end of the slice the literal may be incomplete: `Cut` unless it cannot continue.
    #[inline]
    pub fn number(&mut self) -> Result<&'a [u8], JsonError> {
        let start = self.at;
        let mut at = start;
        while let Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') = self.bytes.get(at) {
            at += 1;
        }
        let literal = &self.bytes[start..at];
        if !is_number(literal) {
            return if at == self.bytes.len() { Err(JsonError::Cut) } else { self.syntax("a number") };
        }
        self.at = at;
        Ok(literal)
    }

    /// Skips one whole value of any depth, and returns its bytes.
    ///
    /// Inside containers only brackets and strings are looked at, so their content need not be valid.
    #[inline]
    pub fn skip_value(&mut self) -> Result<&'a [u8], JsonError> {
        self.skip_space();
        let start = self.at;
        match self.bytes.get(self.at) {
            Some(b'{' | b'[') => {}
            _ => {
                self.token()?;
                return Ok(&self.bytes[start..self.at]);
            }
        }
        let mut depth = 0usize;
        let mut at = self.at;
        let bytes = self.bytes;
        loop {
            match bytes.get(at) {
                None => return Err(JsonError::Cut),
                Some(b'"') => {
                    self.at = at;
                    self.string()?;
                    at = self.at;
                    continue;
                }
                Some(b'{' | b'[') => depth += 1,
                Some(b'}' | b']') => {
                    depth -= 1;
                    if depth == 0 {
                        self.at = at + 1;
                        return Ok(&bytes[start..self.at]);
                    }
                }
                Some(_) => {}
            }
            at += 1;
        }
    }

    /// Iterates over an object whose `{` was consumed: the next key, or `None` at `}`.
    ///
    /// `first` is true before the first key. The value is next on the parser.
    #[inline]
    pub fn next_key(&mut self, first: &mut bool) -> Result<Option<RawStr<'a>>, JsonError> {
        match self.peek() {
            Some(b'}') => {
                self.at += 1;
                return Ok(None);
            }
            Some(b',') if !*first => {
                self.at += 1;
                if self.dialect == Dialect::Lenient && self.peek() == Some(b'}') {
                    self.at += 1;
                    return Ok(None);
                }
            }
            Some(b'"') if *first => {}
            _ => return self.syntax("',' or '}'"),
        }
        *first = false;
        self.skip_space();
        let key = self.string()?;
        self.expect(b':', "':'")?;
        Ok(Some(key))
    }

    /// Iterates over an array whose `[` was consumed: whether another element follows.
    #[inline]
    pub fn next_element(&mut self, first: &mut bool) -> Result<bool, JsonError> {
        match self.peek() {
            Some(b']') => {
                self.at += 1;
                return Ok(false);
            }
            Some(b',') if !*first => {
                self.at += 1;
                if self.dialect == Dialect::Lenient && self.peek() == Some(b']') {
                    self.at += 1;
                    return Ok(false);
                }
            }
            Some(_) if *first => {}
            _ => return self.syntax("',' or ']'"),
        }
        *first = false;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_an_object() {
        let mut parser = Parser::new(br#" {"a": 1, "b\n": [true, null], "c": {"d": "]"}} "#, Dialect::Python);
        assert_eq!(parser.token(), Ok(Token::Object));
        let mut first = true;
        let mut keys = Vec::new();
        while let Some(key) = parser.next_key(&mut first).unwrap() {
            keys.push((key.bytes, parser.skip_value().unwrap()));
        }
        assert_eq!(
            keys,
            [
                (&b"a"[..], &b"1"[..]),
                (&br"b\n"[..], &b"[true, null]"[..]),
                (&b"c"[..], &br#"{"d": "]"}"#[..])
            ]
        );
        assert_eq!(parser.peek(), None);
    }

    #[test]
    fn cut_anywhere_is_cut_not_wrong() {
        let text = br#"{"a":[1.5e3,"x\"y",null,{"b":true}],"c":-Infinity}"#;
        for len in 1..text.len() {
            let mut parser = Parser::new(&text[..len], Dialect::Python);
            assert_eq!(parser.skip_value(), Err(JsonError::Cut), "{len}");
        }
    }

    #[test]
    fn deep_nesting_needs_no_stack() {
        let deep = [vec![b'['; 1_000_000], vec![b']'; 1_000_000]].concat();
        assert_eq!(Parser::new(&deep, Dialect::Lenient).skip_value().map(<[u8]>::len), Ok(2_000_000));
    }

    #[test]
    fn python_is_strict() {
        for bad in [&b"\"a\tb\""[..], br#""\x""#, br#""\u12g4""#] {
            assert!(matches!(Parser::new(bad, Dialect::Python).token(), Err(JsonError::Syntax { .. })));
            assert!(matches!(Parser::new(bad, Dialect::Lenient).token(), Ok(Token::String(_))));
        }
    }
}

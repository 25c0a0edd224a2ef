//! A place in bytes that may go on in the next chunk, and the tokens around elements.
//!
//! Answers that more bytes could change are `None`, or [`JsonError::Cut`]. At the end of the file there are no more, so
//! everything is decided.

use super::scanner::skip_value;
use crate::base::json::{JsonError, RawStr};
use crate::trace::TraceBuilder;

/// A place in bytes that may continue in the next chunk.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
    /// The file ends with `bytes`.
    pub eof: bool,
}

impl<'a> Cursor<'a> {
    /// The same bytes, at another place.
    pub fn to(self, at: usize) -> Cursor<'a> {
        Cursor { at, ..self }
    }

    /// Next byte.
    pub fn peek(self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Bytes from here on.
    pub fn rest(self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// The next `len` bytes, or fewer if there are no more.
    pub fn window(self, len: usize) -> &'a [u8] {
        &self.bytes[self.at..self.bytes.len().min(self.at + len)]
    }

    /// Whether a list element may end here; `None` if undecided.
    pub fn ends_element(self) -> Option<bool> {
        let at = skip_space(self.bytes, self.at);
        match self.bytes.get(at) {
            None => self.eof.then_some(false),
            Some(b',') => {
                let next = self.to(skip_space(self.bytes, at + 1));
                match next.peek() {
                    None => self.eof.then_some(true),
                    // A key would belong to the object around the list.
                    Some(byte) => Some(byte != b'"' || !next.is_key()?),
                }
            }
            Some(byte) => Some(*byte == b']'),
        }
    }

    /// Whether there is a key here; `None` if undecided.
    fn is_key(self) -> Option<bool> {
        match self.key_and_value() {
            Ok(_) => Some(true),
            Err(JsonError::Cut) => self.eof.then_some(false),
            Err(JsonError::Syntax { .. }) => Some(false),
        }
    }

    /// The key that starts here, and the start of its value.
    pub fn key_and_value(self) -> Result<(RawStr<'a>, usize), JsonError> {
        let Cursor { bytes, at, .. } = self;
        let end = skip_value(bytes, at)?;
        let colon = skip_space(bytes, end);
        match bytes.get(colon) {
            None => Err(JsonError::Cut),
            Some(b':') => {
                let value = skip_space(bytes, colon + 1);
                if value == bytes.len() {
                    return Err(JsonError::Cut);
                }
                let raw = &bytes[at + 1..end - 1];
                Ok((RawStr { bytes: raw, escaped: raw.contains(&b'\\') }, value))
            }
            Some(_) => Err(JsonError::Syntax { at: colon, expected: "':'" }),
        }
    }
}

/// Whether the text at `at` may follow an event in a list; `None` if undecided.
pub fn may_follow(bytes: &[u8], at: usize) -> Option<bool> {
    let at = skip_space(bytes, at);
    let next = if *bytes.get(at)? == b',' { skip_space(bytes, at + 1) } else { at };
    match *bytes.get(next)? {
        b']' => Some(true),
        b'{' => Some(matches!(*bytes.get(skip_space(bytes, next + 1))?, b'"' | b'}')),
        _ => Some(false),
    }
}

/// Offset of the first byte from `at` on that is not JSON white space.
#[inline]
pub fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// First byte that is not white space.
pub fn first_of(bytes: &[u8]) -> Option<u8> {
    bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

/// Counts the bytes between two offsets as framing.
#[inline]
pub fn frame(from: usize, to: usize, out: &mut TraceBuilder) {
    out.trace.ledger.frame((to - from) as u64);
}

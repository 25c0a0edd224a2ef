//! Fast path for object members as nearly all programs write them, read in a few comparisons each.
//!
//! Anything else is left to [`super::Parser`], which must agree.

use super::skip::skip_container;
use wide::u8x16;

/// A member, and the offset of what follows.
pub struct PlainMember<'a> {
    /// Without quotes and without escapes.
    pub key: &'a [u8],
    /// As written.
    pub value: &'a [u8],
    pub end: usize,
}

/// Reads the member at `at`: after the opening bracket if it is the `first`, else after a comma. `None` if there is none, or
/// if it needs the parser: escapes in key or text, words, numbers with exponents, errors.
#[inline]
pub fn plain_member(bytes: &[u8], at: usize, first: bool) -> Option<PlainMember<'_>> {
    let mut at = at;
    if !first {
        if bytes.get(at) != Some(&b',') {
            return None;
        }
        at += 1;
    }
    at = behind_space(bytes, at);
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let key_start = at + 1;
    let key_end = end_of_text(bytes, key_start)?;
    at = behind_space(bytes, key_end + 1);
    if bytes.get(at) != Some(&b':') {
        return None;
    }
    let value_start = behind_space(bytes, at + 1);
    let value_end = match bytes.get(value_start)? {
        b'"' => end_of_text(bytes, value_start + 1)? + 1,
        b'{' | b'[' => skip_container(bytes, value_start).ok()?,
        b'0'..=b'9' | b'-' => end_of_number(bytes, value_start)?,
        _ => return None,
    };
    Some(PlainMember {
        key: &bytes[key_start..key_end],
        value: &bytes[value_start..value_end],
        end: behind_space(bytes, value_end),
    })
}

#[inline]
fn behind_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Closing quote of a text that starts at `at`. `None` if a backslash or the end comes first.
#[inline]
fn end_of_text(bytes: &[u8], mut at: usize) -> Option<usize> {
    while let Some(part) = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        let part = u8x16::new(*part);
        let quotes = part.simd_eq(u8x16::splat(b'"')).to_bitmask();
        let backslashes = part.simd_eq(u8x16::splat(b'\\')).to_bitmask();
        let found = (quotes | backslashes).trailing_zeros();
        if found < 16 {
            return (quotes >> found & 1 == 1).then_some(at + found as usize);
        }
        at += 16;
    }
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => return None,
            _ => at += 1,
        }
    }
}

/// End of a number of digits and at most one point.
#[inline]
fn end_of_number(bytes: &[u8], start: usize) -> Option<usize> {
    let digits = |mut at: usize| {
        let start = at;
        while let Some(b'0'..=b'9') = bytes.get(at) {
            at += 1;
        }
        (at > start).then_some(at)
    };
    let whole = start + usize::from(bytes[start] == b'-');
    let mut at = digits(whole)?;
    if bytes[whole] == b'0' && at > whole + 1 {
        return None;
    }
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    (!matches!(bytes.get(at), Some(b'-' | b'+' | b'.' | b'e' | b'E'))).then_some(at)
}

//! Fast path for table entries exactly as the profiler writes them, read without parsing keys one by one.
//!
//! Nearly all bytes of a file are such entries. Anything else (other keys, another order, blanks, floats) is left to
//! [`record`](super::record), which gives the same result for what is accepted here.

use super::record::{AggEntry, FrameEntry};

/// Parses an entry of `frames` at `at`; returns it and its end.
#[inline]
pub(super) fn frame(line: &[u8], at: usize) -> Option<(FrameEntry, usize)> {
    let mut rest = Rest { bytes: line.get(at..)? };
    let id = rest.number_after(b"{\"frame_id\":")?;
    let path = rest.number_after(b",\"path_str_id\":")?;
    let func = rest.number_after(b",\"func_str_id\":")?;
    let source_line = i128::from(rest.number_after(b",\"line\":")?);
    let mut optional = |key: &[u8]| rest.number_after(key).map(i128::from);
    let (end_line, col) = (optional(b",\"end_line\":"), optional(b",\"col\":"));
    let end_col = optional(b",\"end_col\":");
    let end = rest.end(line)?;
    Some((FrameEntry { id, path, func, line: source_line, end_line, col, end_col }, end))
}

/// Parses an entry of `entries` at `at`; returns it and its end.
#[inline]
pub(super) fn agg(line: &[u8], at: usize) -> Option<(AggEntry, usize)> {
    let mut rest = Rest { bytes: line.get(at..)? };
    let frame = rest.number_after(b"{\"frame_id\":")?;
    let self_samples = rest.number_after(b",\"self\":")?;
    let cumulative = rest.number_after(b",\"cumulative\":")?;
    let end = rest.end(line)?;
    Some((AggEntry { frame, self_samples, cumulative }, end))
}

/// Rest of the line.
struct Rest<'a> {
    bytes: &'a [u8],
}

impl Rest<'_> {
    /// Consumes `key` and an integer of up to 19 digits; consumes nothing if they are not there.
    ///
    /// A literal that continues (fraction, exponent) is caught by the text expected next.
    #[inline]
    fn number_after(&mut self, key: &[u8]) -> Option<u64> {
        let digits = self.bytes.strip_prefix(key)?;
        let mut value = 0u64;
        let mut n = 0;
        while let Some(digit @ b'0'..=b'9') = digits.get(n) {
            if n == 19 {
                return None;
            }
            value = value * 10 + u64::from(digit - b'0');
            n += 1;
        }
        if n == 0 || (n > 1 && digits[0] == b'0') {
            return None;
        }
        self.bytes = &digits[n..];
        Some(value)
    }

    /// Offset in `line` after the closing bracket.
    #[inline]
    fn end(&self, line: &[u8]) -> Option<usize> {
        (self.bytes.first() == Some(&b'}')).then(|| line.len() - self.bytes.len() + 1)
    }
}

//! Content of a line, and its numbers.

/// One sample as in its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sample<'a> {
    /// Nanoseconds on the clock of the capture.
    pub ts: i64,
    pub address: u64,
    pub is_store: bool,
    pub symbol: &'a [u8],
    pub dso: &'a [u8],
    pub cpu: Option<u32>,
    pub thread: Option<i64>,
    /// The thread id is negative.
    pub is_negative_thread: bool,
    /// Weight, in cycles.
    pub latency: Option<u64>,
    pub cache_level: Option<&'static str>,
    /// The remote bit of the data source.
    pub remote: Option<u32>,
}

/// Reason why a line that looks like a sample is not one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Problem {
    OutOfRange,
}

/// ASCII white space, as in Python's byte patterns.
#[inline]
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Nanoseconds from digits of seconds and of their fraction, which is truncated. `None` if there are too many digits.
#[inline]
pub fn nanoseconds(seconds: &[u8], fraction: &[u8]) -> Option<i64> {
    let mut whole = 0i64;
    for digit in seconds {
        whole = whole.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
    }
    let mut nanos = 0;
    for at in 0..9 {
        nanos = nanos * 10 + fraction.get(at).map_or(0, |digit| i64::from(digit - b'0'));
    }
    whole.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// Number from hexadecimal digits; `None` if there are too many.
#[inline]
pub fn address_of(digits: &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for digit in digits {
        if value >> 60 != 0 {
            return None;
        }
        let low = match digit {
            b'0'..=b'9' => digit - b'0',
            _ => (digit | 0x20) - b'a' + 10,
        };
        value = value << 4 | u64::from(low);
    }
    Some(value)
}

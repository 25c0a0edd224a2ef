//! What a line says, and the numbers in it.

/// One sample as it stands in its line.
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
    /// The thread's number is below 0.
    pub is_negative_thread: bool,
    /// Weight, in cycles.
    pub latency: Option<u64>,
    pub cache_level: Option<&'static str>,
    /// The remote bit of the data source.
    pub remote: Option<u32>,
}

/// Why a line that looks like a sample is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Problem {
    OutOfRange,
}

/// White space of ASCII, as Python's patterns understand it.
#[inline]
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Digits of seconds and of their fraction as nanoseconds, further digits cut off. `None` if they are too many.
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

/// Hexadecimal digits as a number; `None` if they are too many.
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

//! JSON number literals: recognition and lossless decomposition.

/// Decomposed number literal: sign, `digits` read as one integer, times 10^`exponent`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Number {
    pub negative: bool,
    /// Values 0 to 9, no leading zeros; empty for zero.
    pub digits: Vec<u8>,
    /// Power of ten of the last digit.
    pub exponent: i64,
    /// Written without fraction and exponent.
    pub is_integer_literal: bool,
}

impl Number {
    /// Parses a literal; `None` if it is not a JSON number.
    pub fn parse(literal: &[u8]) -> Option<Number> {
        if !is_number(literal) {
            return None;
        }
        let negative = literal[0] == b'-';
        let body = &literal[usize::from(negative)..];
        let (mantissa, power) = match body.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            Some(at) => (&body[..at], parse_exponent(&body[at + 1..])),
            None => (body, 0),
        };
        let mut digits = Vec::with_capacity(mantissa.len());
        let mut exponent = power;
        let mut in_fraction = false;
        for byte in mantissa {
            if *byte == b'.' {
                in_fraction = true;
                continue;
            }
            exponent = exponent.saturating_sub(i64::from(in_fraction));
            if *byte != b'0' || !digits.is_empty() {
                digits.push(byte - b'0');
            }
        }
        let is_integer_literal = mantissa.len() == body.len() && !in_fraction;
        Some(Number { negative, digits, exponent, is_integer_literal })
    }

    /// Value if the literal is an integer that fits.
    pub fn as_i64(literal: &[u8]) -> Option<i64> {
        let text = std::str::from_utf8(literal).ok()?;
        if !is_number(literal) {
            return None;
        }
        text.parse().ok()
    }

    /// Like [`Number::as_i64`], also for a text of digits, as some programs write numbers.
    pub fn as_i64_or_text(value: &[u8]) -> Option<i64> {
        match value {
            [b'"', inside @ .., b'"'] => Number::as_i64(inside),
            bare => Number::as_i64(bare),
        }
    }

    /// Value if the literal is a non-negative integer that fits.
    pub fn as_u64(literal: &[u8]) -> Option<u64> {
        let text = std::str::from_utf8(literal).ok()?;
        if !is_number(literal) {
            return None;
        }
        text.parse().ok()
    }

    /// Nearest double; infinite if out of range. `None` if `literal` is not a JSON number.
    pub fn as_f64(literal: &[u8]) -> Option<f64> {
        if !is_number(literal) {
            return None;
        }
        std::str::from_utf8(literal).ok()?.parse().ok()
    }
}

/// Parses an exponent; saturates far beyond any relevant value.
fn parse_exponent(bytes: &[u8]) -> i64 {
    let (negative, digits) = match bytes.first() {
        Some(b'-') => (true, &bytes[1..]),
        Some(b'+') => (false, &bytes[1..]),
        _ => (false, bytes),
    };
    let mut value: i64 = 0;
    for digit in digits {
        value = (value * 10 + i64::from(digit - b'0')).min(1 << 40);
    }
    if negative { -value } else { value }
}

/// Whether all of `literal` is a number by RFC 8259.
#[inline]
pub fn is_number(literal: &[u8]) -> bool {
    let mut at = usize::from(literal.first() == Some(&b'-'));
    let digits = |mut at: usize| {
        let start = at;
        while let Some(b'0'..=b'9') = literal.get(at) {
            at += 1;
        }
        (at, at - start)
    };
    let whole = at;
    let n;
    (at, n) = digits(at);
    if n == 0 || (n > 1 && literal[whole] == b'0') {
        return false;
    }
    if literal.get(at) == Some(&b'.') {
        let n;
        (at, n) = digits(at + 1);
        if n == 0 {
            return false;
        }
    }
    if let Some(b'e' | b'E') = literal.get(at) {
        at += 1;
        at += usize::from(matches!(literal.get(at), Some(b'+' | b'-')));
        let n;
        (at, n) = digits(at);
        if n == 0 {
            return false;
        }
    }
    at == literal.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_literals_apart() {
        let number = |text: &str| Number::parse(text.as_bytes()).unwrap();
        assert_eq!(
            number("-012".trim_start_matches("-0")),
            Number { negative: false, digits: vec![1, 2], exponent: 0, is_integer_literal: true }
        );
        assert_eq!(
            number("-1.250e-3"),
            Number { negative: true, digits: vec![1, 2, 5, 0], exponent: -6, is_integer_literal: false }
        );
        assert!(number("0.000").digits.is_empty());
        for bad in ["", "-", "01", ".5", "5.", "1e", "1e+", "+1", "0x1", "1_0", " 1"] {
            assert!(!is_number(bad.as_bytes()), "{bad}");
        }
        assert_eq!(Number::as_u64(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(Number::as_i64(b"-9223372036854775808"), Some(i64::MIN));
    }
}

//! Times as integer nanoseconds, parsed from decimal digits.
//!
//! A decimal literal becomes `i64` nanoseconds without going through `f64`, so epoch times with fractions keep every digit.

/// Parses a JSON number literal in units of `10^-scale` seconds (6 for microseconds, 3 for milliseconds) as nanoseconds,
/// rounded half away from zero.
///
/// `None` if it is not a JSON number or does not fit in `i64` nanoseconds.
#[inline]
pub fn parse_ns(literal: &[u8], scale: i32) -> Option<i64> {
    // Nearly every timestamp is `digits` or `digits.digits` with at most 18 digits.
    let mut value: u64 = 0;
    let mut at = 0;
    let negative = literal.first() == Some(&b'-');
    at += usize::from(negative);
    let first = at;
    while let Some(digit @ b'0'..=b'9') = literal.get(at) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
    let whole_digits = at - first;
    let mut fraction_digits = 0;
    if literal.get(at) == Some(&b'.') {
        at += 1;
        while let Some(digit @ b'0'..=b'9') = literal.get(at) {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            at += 1;
            fraction_digits += 1;
        }
        if fraction_digits == 0 {
            return None;
        }
    }
    if at == literal.len() && whole_digits > 0 && whole_digits + fraction_digits <= 18 {
        if whole_digits > 1 && literal[first] == b'0' {
            return None;
        }
        return scale_ns(value, 9 - scale - fraction_digits as i32, negative);
    }
    parse_ns_slow(literal, scale)
}

/// `value × 10^power`, rounded half away from zero.
#[inline]
fn scale_ns(value: u64, power: i32, negative: bool) -> Option<i64> {
    const POWERS: [u64; 20] = {
        let mut powers = [1u64; 20];
        let mut i = 1;
        while i < 20 {
            powers[i] = powers[i - 1] * 10;
            i += 1;
        }
        powers
    };
    let ns = if power >= 0 {
        let factor = *POWERS.get(power as usize)?;
        i64::try_from(u128::from(value) * u128::from(factor)).ok()?
    } else {
        match POWERS.get(-power as usize) {
            Some(divisor) => (value / divisor + u64::from(value % divisor >= divisor.div_ceil(2))) as i64,
            None => 0,
        }
    };
    Some(if negative { -ns } else { ns })
}

/// Handles exponents and very long literals.
#[cold]
fn parse_ns_slow(literal: &[u8], scale: i32) -> Option<i64> {
    let number = crate::base::json::Number::parse(literal)?;
    let power = number.exponent.checked_add(i64::from(9 - scale))?;
    // Digits before the decimal point of the result in nanoseconds.
    let digits = number.digits;
    let n_whole = digits.len() as i64 + power;
    if digits.is_empty() || n_whole < 0 {
        return Some(0);
    }
    if n_whole > 19 {
        return None;
    }
    let mut ns: u128 = 0;
    for i in 0..n_whole as usize {
        ns = ns * 10 + u128::from(digits.get(i).copied().unwrap_or(0));
    }
    if digits.get(n_whole as usize).is_some_and(|digit| *digit >= 5) {
        ns += 1;
    }
    let ns = i64::try_from(ns).ok()?;
    Some(if number.negative { -ns } else { ns })
}

/// ISO 8601 text in UTC with microseconds, as Python's `isoformat` writes it, of milliseconds since the Unix epoch.
pub fn utc_text(ms: u64) -> String {
    let (days, ms_of_day) = (ms / 86_400_000, ms % 86_400_000);
    // Days from 1 March of year 0, in eras of 400 years (Howard Hinnant, `civil_from_days`).
    let day = days + 719_468;
    let (era, day_of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let seconds = ms_of_day / 1000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let micros = ms_of_day % 1000 * 1000;
    format!("{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}+00:00")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds() {
        let us = |text: &str| parse_ns(text.as_bytes(), 6);
        assert_eq!(us("0"), Some(0));
        assert_eq!(us("1"), Some(1000));
        assert_eq!(us("-3"), Some(-3000));
        assert_eq!(us("1.5"), Some(1500));
        assert_eq!(us("0.0004"), Some(0));
        assert_eq!(us("0.0005"), Some(1));
        assert_eq!(us("-0.0005"), Some(-1));
        assert_eq!(us("1787270400123456.789"), Some(1_787_270_400_123_456_789));
        assert_eq!(us("1e3"), Some(1_000_000));
        assert_eq!(us("1.25E-2"), Some(13));
        assert_eq!(us("12345e-400"), Some(0));
        assert_eq!(us("9223372036854775"), Some(9_223_372_036_854_775_000));
        assert_eq!(us("9223372036854776"), None);
        assert_eq!(us("1e300"), None);
        assert_eq!(us("0e99999999999999999999"), Some(0));
        assert_eq!(us("1787270400123456.7894999999999999999999"), Some(1_787_270_400_123_456_789));
        for bad in ["", "-", ".5", "5.", "1e", "01", "1 ", "0x10", "NaN", "--1", "1.e3", "+1"] {
            assert_eq!(us(bad), None, "{bad}");
        }
    }

    #[test]
    fn moments() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000000+00:00"),
            (951_782_399_123, "2000-02-28T23:59:59.123000+00:00"),
            (951_782_400_000, "2000-02-29T00:00:00.000000+00:00"),
            (1_795_252_616_060, "2026-11-21T09:16:56.060000+00:00"),
        ] {
            assert_eq!(utc_text(ms), text);
        }
    }
}

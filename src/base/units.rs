//! Units of report values and how a value is written for people.
//!
//! Takes a number and its [`Unit`], gives short text. Exports that machines read use the plain number instead.

use serde::{Deserialize, Serialize};

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Unit {
    /// Nothing to say: text, identifiers.
    None,
    /// Things; written with thousands separators.
    Count,
    /// A number that is a name: line numbers, ids. Written without separators.
    Id,
    /// Bytes; written with binary prefixes.
    Bytes,
    /// Nanoseconds of duration.
    Ns,
    /// Nanoseconds since the trace's start.
    NsOffset,
    /// Milliseconds, fractional.
    Ms,
    /// Profiler samples.
    Samples,
    /// A share: 1 is written `100.0%`.
    Ratio,
    /// Seconds since the Unix epoch, fractional.
    UnixSeconds,
    /// A number whose unit the file does not say.
    Plain,
}

impl Unit {
    /// Short name for headers of machine-read exports; empty where the number needs none.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::None | Unit::Count | Unit::Id | Unit::Plain => "",
            Unit::Bytes => "bytes",
            Unit::Ns | Unit::NsOffset => "ns",
            Unit::Ms => "ms",
            Unit::Samples => "samples",
            Unit::Ratio => "ratio",
            Unit::UnixSeconds => "unix_s",
        }
    }
}

/// An integer with a comma every three digits.
pub fn group_digits(value: i128) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3 + 1);
    if value < 0 {
        out.push('-');
    }
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A double with `decimals` places and a comma every three integer digits; `nan`, `inf`, `-inf` as they are.
pub fn group_decimal(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return non_finite(value);
    }
    let text = format!("{:.*}", decimals, value.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::with_capacity(text.len() * 4 / 3 + 1);
    if value.is_sign_negative() {
        out.push('-');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(fraction);
    out
}

fn non_finite(value: f64) -> String {
    let text = if value.is_nan() {
        "nan"
    } else if value > 0.0 {
        "inf"
    } else {
        "-inf"
    };
    text.to_string()
}

/// Integer nanoseconds with a unit that keeps four significant digits: `950 ns`, `12.35 µs`, `1.204 s`.
pub fn format_ns(ns: i64) -> String {
    let size = ns.unsigned_abs();
    let (divisor, unit) = match size {
        0..=999 => return format!("{ns} ns"),
        1_000..=999_999 => (1e3, "µs"),
        1_000_000..=999_999_999 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let value = ns as f64 / divisor;
    let decimals = match value.abs() {
        v if v < 9.9995 => 3,
        v if v < 99.995 => 2,
        v if v < 999.95 => 1,
        _ => 0,
    };
    format!("{} {unit}", group_decimal(value, decimals))
}

/// Bytes with a binary prefix: `812 B`, `1.21 KiB`, `3.4 GiB`.
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = if value < 9.995 { 2 } else { 1 };
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// An integer in its unit, for people.
pub fn format_integer(value: i128, unit: Unit) -> String {
    match unit {
        Unit::Ns | Unit::NsOffset => match i64::try_from(value) {
            Ok(ns) => format_ns(ns),
            Err(_) => format!("{} s", group_digits(value / 1_000_000_000)),
        },
        Unit::Bytes if value >= 0 => format_bytes(u64::try_from(value).unwrap_or(u64::MAX)),
        Unit::Id | Unit::None => value.to_string(),
        Unit::Ratio => format_ratio(value as f64),
        _ => group_digits(value),
    }
}

/// A double in its unit, for people.
pub fn format_float(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return non_finite(value);
    }
    match unit {
        Unit::Ratio => format_ratio(value),
        Unit::Ns | Unit::NsOffset if value.abs() < 9e18 => format_ns(value.round() as i64),
        Unit::Bytes if (0.0..1.8e19).contains(&value) => format_bytes(value as u64),
        Unit::Ms => group_decimal(value, 1),
        Unit::UnixSeconds => format!("{value:.3}"),
        _ => format_plain(value),
    }
}

/// A share as percent with one decimal: the value times 100 in double arithmetic, then rounded.
pub fn format_ratio(value: f64) -> String {
    format!("{:.1}%", value * 100.0)
}

/// A double of unknown unit: whole numbers grouped, others with up to six significant digits.
fn format_plain(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        return group_digits(value as i128);
    }
    let magnitude = value.abs().log10().floor();
    if !(-4.0..15.0).contains(&magnitude) {
        return format!("{value:.5e}");
    }
    let decimals = (5.0 - magnitude).clamp(0.0, 9.0) as usize;
    let text = group_decimal(value, decimals);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_for_people() {
        assert_eq!(group_digits(-1_234_567), "-1,234,567");
        assert_eq!(group_decimal(-0.0, 1), "-0.0");
        assert_eq!(group_decimal(999.95, 1), "1,000.0");
        assert_eq!(group_decimal(1e22, 1), "10,000,000,000,000,000,000,000.0");
        assert_eq!(format_ns(999), "999 ns");
        assert_eq!(format_ns(12_345), "12.35 µs");
        assert_eq!(format_ns(-1_204_000_000), "-1.204 s");
        assert_eq!(format_ns(7_200_000_000_000), "7,200 s");
        assert_eq!(format_ns(999_999), "1,000 µs");
        assert_eq!(format_bytes(1023), "1023 B");
        assert_eq!(format_bytes(1 << 20), "1.00 MiB");
        assert_eq!(format_float(0.271, Unit::Ratio), "27.1%");
        assert_eq!(format_float(8.333333, Unit::Plain), "8.33333");
        assert_eq!(format_float(250.0, Unit::Plain), "250");
        assert_eq!(format_float(1.5e-7, Unit::Plain), "1.50000e-7");
    }
}

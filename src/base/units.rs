//! Units of report values, and their formatting for people.
//!
//! Takes a number and its [`Unit`] and returns short text. Machine-readable exports use the plain number instead.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Unit of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Unit {
    /// No unit: text, identifiers.
    None,
    /// Count; written with thousands separators.
    Count,
    /// Number used as a name: line numbers, ids. Written without separators.
    Id,
    /// Memory address or page number; written in hexadecimal.
    Address,
    /// Bytes; written with binary prefixes.
    Bytes,
    /// Nanoseconds of duration.
    Ns,
    /// Nanoseconds since the trace's start.
    NsOffset,
    /// Nanoseconds on the clock of the capture; written like `perf script`, `12345.000120 s`, or as a date.
    NsClock,
    /// Milliseconds, fractional.
    Ms,
    /// Seconds of duration, fractional.
    Seconds,
    /// Profiler samples.
    Samples,
    /// A share: 1 is written `100.0%`.
    Ratio,
    /// Seconds since the Unix epoch, fractional.
    UnixSeconds,
    /// A number whose unit the file does not say.
    Plain,
    /// Bytes a second; written with decimal prefixes, as vendors do: `3.35 TB/s`.
    BytesPerSecond,
    /// Floating-point operations; written with decimal prefixes.
    Flops,
    /// Floating-point operations a second; written with decimal prefixes: `989 TFLOP/s`.
    FlopsPerSecond,
}

impl Unit {
    /// Short name for headers of machine-read exports; empty where the number needs none.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::None | Unit::Count | Unit::Id | Unit::Address | Unit::Plain => "",
            Unit::Bytes => "bytes",
            Unit::Ns | Unit::NsOffset | Unit::NsClock => "ns",
            Unit::Ms => "ms",
            Unit::Seconds => "s",
            Unit::Samples => "samples",
            Unit::Ratio => "ratio",
            Unit::UnixSeconds => "unix_s",
            Unit::BytesPerSecond => "bytes/s",
            Unit::Flops => "flop",
            Unit::FlopsPerSecond => "flop/s",
        }
    }

    /// Heading of a column of numbers in machine-read exports: its id, with the unit unless the id already implies it: `total_ns`,
    /// `total_per_step_ns`, `read_bytes_per_step`.
    pub fn with_symbol(self, id: &str) -> Cow<'_, str> {
        let symbol = self.symbol();
        let stem = id.strip_suffix(PER_STEP).unwrap_or(id);
        // A word for a ratio anywhere in the id implies the unit: `write_once_ratio_mean`.
        let tells_ratio = |word: &str| matches!(word, "ratio" | "fraction" | "frac");
        let has_unit = symbol.is_empty()
            || stem.strip_suffix(symbol).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
            || self == Unit::Ratio && id.split('_').any(tells_ratio);
        if has_unit { Cow::Borrowed(id) } else { Cow::Owned(format!("{id}_{symbol}")) }
    }
}

/// End of the ids of columns whose values are divided by the number of steps.
pub const PER_STEP: &str = "_per_step";

/// A number as it stands in a sentence, with the word for what is counted: `12 samples`.
pub fn in_words(value: f64, unit: Unit) -> String {
    with_noun(format_float(value, unit), value == 1.0, unit)
}

/// A formatted number with that word.
pub fn with_noun(number: String, is_one: bool, unit: Unit) -> String {
    match unit {
        Unit::Samples if is_one => format!("{number} sample"),
        Unit::Samples => format!("{number} samples"),
        _ => number,
    }
}

/// Minus sign (U+2212) of numbers that people read.
pub const MINUS: char = '−';

/// An integer with a comma every three digits.
pub fn group_digits(value: i128) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3 + 1);
    if value < 0 {
        out.push(MINUS);
    }
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A double with `decimals` places and a comma every three integer digits, as Python writes it: with an ASCII minus, and `nan`,
/// `inf`, `-inf` as they are.
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

/// [`group_decimal`] for people, with [`MINUS`].
fn decimal(value: f64, decimals: usize) -> String {
    let text = group_decimal(value, decimals);
    if value < 0.0 { text.replace('-', "−") } else { text }
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

/// [`format_ns`] of a difference, with its sign (U+2212 for minus).
pub fn format_signed_ns(ns: i64) -> String {
    match ns {
        0 => "±0 ns".to_string(),
        ns if ns > 0 => format!("+{}", format_ns(ns)),
        ns => format!("−{}", format_ns(ns.saturating_neg())),
    }
}

/// Integer nanoseconds in a unit that keeps four significant digits: `950 ns`, `12.35 µs`, `1.204 s`.
pub fn format_ns(ns: i64) -> String {
    let size = ns.unsigned_abs();
    let (divisor, unit) = match size {
        0..=999 => return format!("{} ns", group_digits(ns.into())),
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
    format!("{} {unit}", decimal(value, decimals))
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

/// A number with a decimal prefix and up to four significant digits: `3.35 TB/s`.
pub fn format_decimal_prefix(value: f64, unit: &str) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let mut value = value;
    let mut prefix = 0;
    while value.abs() >= 999.95 && prefix + 1 < PREFIXES.len() {
        value /= 1e3;
        prefix += 1;
    }
    let decimals = match value.abs() {
        v if v == v.trunc() && prefix == 0 => 0,
        v if v < 9.9995 => 3,
        v if v < 99.995 => 2,
        _ => 1,
    };
    format!("{} {}{unit}", decimal(value, decimals), PREFIXES[prefix])
}

/// Formats an integer in its unit, for people.
pub fn format_integer(value: i128, unit: Unit) -> String {
    match unit {
        Unit::Ns | Unit::NsOffset => match i64::try_from(value) {
            Ok(ns) => format_ns(ns),
            Err(_) => format!("{} s", group_digits(value / 1_000_000_000)),
        },
        Unit::NsClock => format_clock(value),
        Unit::Address => {
            let sign = if value < 0 { "−" } else { "" };
            format!("{sign}{:#x}", value.unsigned_abs())
        }
        Unit::Bytes => {
            let sign = if value < 0 { "−" } else { "" };
            format!("{sign}{}", format_bytes(u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX)))
        }
        Unit::Id | Unit::None => value.to_string(),
        Unit::Ratio => format_ratio(value as f64),
        Unit::BytesPerSecond | Unit::Flops | Unit::FlopsPerSecond => format_float(value as f64, unit),
        _ => group_digits(value),
    }
}

/// Formats a double in its unit, for people.
pub fn format_float(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return non_finite(value);
    }
    // No minus before a zero.
    let value = if value == 0.0 { 0.0 } else { value };
    match unit {
        Unit::Ratio => format_ratio(value),
        Unit::Ns | Unit::NsOffset => format_integer(value.round() as i128, unit),
        Unit::NsClock if value.abs() < 9e18 => format_clock(value.round() as i128),
        Unit::Address if value.abs() < 1.8e19 => format_integer(value as i128, unit),
        Unit::Bytes if value.abs() < 1.8e19 => format_integer(value.round() as i128, unit),
        Unit::Bytes => format!("{} EiB", format_plain(value / 2f64.powi(60))),
        Unit::Ms => decimal(value, 1),
        Unit::Seconds if value.abs() < 9e9 => format_ns((value * 1e9).round() as i64),
        Unit::UnixSeconds => format_unix_seconds(value),
        Unit::BytesPerSecond => format_decimal_prefix(value, "B/s"),
        Unit::Flops => format_decimal_prefix(value, "FLOP"),
        Unit::FlopsPerSecond => format_decimal_prefix(value, "FLOP/s"),
        _ => format_plain(value),
    }
}

/// Seconds since 1970 as date and time of day in UTC, to the millisecond: `2026-11-21 13:29:39.950Z`.
///
/// Seconds of a program's own clock would look like a day in 1970; these and invalid dates stay numbers.
fn format_unix_seconds(value: f64) -> String {
    const YEAR: i64 = 31_556_952;
    if !((YEAR as f64)..(8_000 * YEAR) as f64).contains(&value) {
        return format!("{value:.3}");
    }
    let ms = (value * 1e3).round() as i64;
    format!("{}.{:03}Z", date_and_time(ms.div_euclid(1000)), ms.rem_euclid(1000))
}

/// Date and time of day in UTC of seconds since 1970: `2026-11-21 13:29:39`.
fn date_and_time(seconds: i64) -> String {
    const DAY: i64 = 86_400;
    let (year, month, day) = date_of(seconds.div_euclid(DAY));
    let in_day = seconds.rem_euclid(DAY);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", in_day / 3600, in_day / 60 % 60, in_day % 60)
}

/// Time on an unknown clock, in nanoseconds: seconds with six decimals, or nine if it is not whole microseconds. Values beyond
/// any uptime are shown as date and time of day in UTC.
fn format_clock(ns: i128) -> String {
    const TWENTY_YEARS: i128 = 20 * 31_556_952;
    const LAST_SECOND_OF_NS: i128 = i64::MAX as i128 / 1_000_000_000;
    let (seconds, rest) = (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
    let fraction = match rest % 1_000 {
        0 => format!("{:06}", rest / 1_000),
        _ => format!("{rest:09}"),
    };
    match i64::try_from(seconds) {
        Ok(whole) if (TWENTY_YEARS..LAST_SECOND_OF_NS).contains(&seconds) => {
            format!("{}.{fraction}Z", date_and_time(whole))
        }
        // The fraction counts up from whole seconds, so times before 0 are negated first.
        _ if ns < 0 => format!("{MINUS}{}", format_clock(ns.saturating_neg())),
        _ => format!("{seconds}.{fraction} s"),
    }
}

/// Year, month and day of the `days`-th day after 1970-01-01, in the Gregorian calendar.
///
/// Years start in March, so that the leap day is the last day of its year and month lengths repeat every five months; 400 such
/// years have 146,097 days.
fn date_of(days: i64) -> (i64, i64, i64) {
    const DAYS_0000_03_01_TO_1970: i64 = 719_468;
    let days = days + DAYS_0000_03_01_TO_1970;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// A count with its noun: `1 slice`, `1,450 slices`.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", group_digits(i128::from(n)), if n == 1 { one } else { many })
}

/// A count of records by the plural of their noun: `1 entry` and `1 event` of `entries` and `events`.
pub fn counted_records(n: u64, many: &str) -> String {
    let one = many.strip_suffix("ies").map(|stem| format!("{stem}y"));
    counted(n, one.as_deref().or(many.strip_suffix('s')).unwrap_or(many), many)
}

/// [`counted_records`] where none is missing: `all 4,190 events`, `1 event`.
pub fn all_records(n: u64, many: &str) -> String {
    let all = if n > 1 { "all " } else { "" };
    format!("{all}{}", counted_records(n, many))
}

/// A share as a percentage with one decimal: the value times 100 in double arithmetic, then rounded.
pub fn format_ratio(value: f64) -> String {
    match value * 100.0 {
        percent if percent < 0.0 => format!("{MINUS}{:.1}%", percent.abs()),
        percent => format!("{:.1}%", percent.abs()),
    }
}

/// A double of unknown unit: integers grouped, others with four significant digits, or one decimal from 1,000 on.
fn format_plain(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        return group_digits(value as i128);
    }
    let magnitude = value.abs().log10().floor();
    if !(-4.0..15.0).contains(&magnitude) {
        return format!("{value:.3e}").replace('-', "−");
    }
    let decimals = if magnitude < 3.0 { (3.0 - magnitude) as usize } else { 1 };
    let text = decimal(value, decimals);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// Units of times, and their nanoseconds. Order: a unit comes before its suffixes.
const TIME_UNITS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// A time from the start of a trace as someone writes it, in nanoseconds: `1.5s`, `300` (milliseconds). An error, in words, if it is
/// none.
pub fn nanoseconds(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let with_unit = TIME_UNITS.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, *ns)));
    let (digits, ns) = with_unit.unwrap_or((text, 1e6));
    let value: f64 = digits.trim().parse().map_err(|_| format!("'{text}' is not a time"))?;
    if !value.is_finite() || value < 0.0 {
        return Err(format!("'{text}' is not a time after the start of the trace"));
    }
    // The cast saturates.
    Ok((value * ns).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_follow_their_counts() {
        assert_eq!(counted_records(1, "entries"), "1 entry");
        assert_eq!(counted_records(1, "events"), "1 event");
        assert_eq!(counted_records(0, "entries"), "0 entries");
        assert_eq!(counted_records(1450, "lines"), "1,450 lines");
    }

    #[test]
    fn written_for_people() {
        assert_eq!(group_digits(-1_234_567), "−1,234,567");
        assert_eq!(group_decimal(-0.0, 1), "-0.0");
        assert_eq!(group_decimal(999.95, 1), "1,000.0");
        assert_eq!(group_decimal(1e22, 1), "10,000,000,000,000,000,000,000.0");
        assert_eq!(format_ns(999), "999 ns");
        assert_eq!(format_ns(12_345), "12.35 µs");
        assert_eq!(format_ns(-1_204_000_000), "−1.204 s");
        assert_eq!(format_ns(7_200_000_000_000), "7,200 s");
        assert_eq!(format_ns(999_999), "1,000 µs");
        assert_eq!(format_bytes(1023), "1023 B");
        assert_eq!(format_bytes(1 << 20), "1.00 MiB");
        assert_eq!(format_float(1.5, Unit::Bytes), "2 B");
        assert_eq!(format_float(-6.5, Unit::Bytes), "−7 B");
        assert_eq!(format_float(-0.4, Unit::Bytes), "0 B");
        assert_eq!(format_float(-0.0, Unit::Ms), "0.0");
        assert_eq!(format_float(951_868_799.999_6, Unit::UnixSeconds), "2000-03-01 00:00:00.000Z");
        assert_eq!(format_float(1_795_252_179.95, Unit::UnixSeconds), "2026-11-21 09:09:39.950Z");
        assert_eq!(format_float(4_107_542_399.0, Unit::UnixSeconds), "2100-02-28 23:59:59.000Z");
        assert_eq!(format_float(12.5, Unit::UnixSeconds), "12.500");
        assert_eq!(format_integer(12_345_000_120_000, Unit::NsClock), "12345.000120 s");
        assert_eq!(format_integer(12_345_000_120_007, Unit::NsClock), "12345.000120007 s");
        assert_eq!(format_integer(-1_500_000_000, Unit::NsClock), "−1.500000 s");
        assert_eq!(format_integer(0, Unit::NsClock), "0.000000 s");
        assert_eq!(format_integer(1_795_252_637_146_000_000, Unit::NsClock), "2026-11-21 09:17:17.146000Z");
        assert_eq!(format_float(-1.5e9, Unit::NsClock), "−1.500000 s");
        assert_eq!(format_integer(i128::MIN, Unit::NsClock).chars().next(), Some(MINUS));
        assert_eq!(format_integer(0x7f39_00f0_6000, Unit::Address), "0x7f3900f06000");
        assert_eq!(counted(1, "slice", "slices"), "1 slice");
        assert_eq!(format_float(0.271, Unit::Ratio), "27.1%");
        assert_eq!(format_float(8.333333, Unit::Plain), "8.333");
        assert_eq!(format_float(0.000657523, Unit::Plain), "0.0006575");
        assert_eq!(format_float(12_345.67, Unit::Plain), "12,345.7");
        assert_eq!(format_float(250.0, Unit::Plain), "250");
        assert_eq!(format_float(1.5e-7, Unit::Plain), "1.500e−7");
        assert_eq!(format_float(3.35e12, Unit::BytesPerSecond), "3.350 TB/s");
        assert_eq!(format_float(999_960.0, Unit::BytesPerSecond), "1.000 MB/s");
        assert_eq!(format_integer(12, Unit::Flops), "12 FLOP");
    }
}

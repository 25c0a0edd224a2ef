//! Numbers with units, to compare cells with.

use super::CellRef;
use crate::base::units::Unit;
use std::cmp::Ordering;

/// A number in the unit of its column.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Operand {
    value: f64,
    /// The same exactly, where it is whole: large counts and addresses do not pass through a double.
    whole: Option<i128>,
}

/// Why a text is no number for a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Why {
    NoNumber(String),
    /// A number without a unit, in the text, where it could be any of several.
    NeedsUnit(String),
    BadUnit {
        unit: String,
        is_of: &'static str,
        known: &'static str,
    },
    AboveWhole(String),
    /// A number with a comma that doesn't group three digits, as it is written.
    Comma(String),
}

impl Why {
    /// Whether the number has a unit that may be right for another column of that name.
    pub fn is_of_other_kind(&self) -> bool {
        let Why::BadUnit { unit, .. } = self else { return false };
        let unit = unit.trim_end_matches("/s");
        unit == "%" || [TIME, BYTES, FLOPS, COUNT].into_iter().any(|units| size_of(units, unit).is_some())
    }

    /// A sentence for a test of the column `name` with the sign `op`.
    pub fn sentence(&self, name: &str, op: &str) -> String {
        match self {
            Why::NoNumber(text) => format!("“{text}” is not a number."),
            Why::NeedsUnit(number) => {
                format!("{number} needs a unit: {name}{op}{number}ms, {name}{op}{number}us.")
            }
            Why::BadUnit { unit, is_of: "", .. } => format!("“{unit}” after the number is not a unit here."),
            Why::BadUnit { unit, is_of, known } => format!("“{unit}” is not a unit of {is_of}: use {known}."),
            Why::AboveWhole(number) => {
                format!("{number} is more than 100%: for {number}%, write {name}{op}{number}%.")
            }
            Why::Comma(number) if number.matches([',', '.']).count() == 1 => format!(
                "{number} has a comma that doesn't group three digits: write decimals with a point, {}.",
                number.replace(',', ".")
            ),
            Why::Comma(number) => {
                format!(
                    "{number} has commas that don't group three digits: write decimals with a point, 1,000.5."
                )
            }
        }
    }
}

/// Whether someone who wrote it meant a number.
pub(super) fn starts_as_number(text: &str) -> bool {
    text.trim_start_matches(['-', '+', '\u{2212}']).starts_with(|letter: char| letter.is_ascii_digit())
}

/// Whether a word is a unit that may follow this number, which has none, in a column of that unit.
pub(super) fn is_unit_of(word: &str, number: &str, unit: Unit) -> bool {
    number.chars().all(is_of_number)
        && !word.starts_with(is_of_number)
        && Operand::parse(&format!("{number}{word}"), unit).is_ok()
}

fn is_of_number(letter: char) -> bool {
    letter.is_ascii_digit() || matches!(letter, '.' | ',' | '_' | '-' | '+' | '\u{2212}')
}

/// Whether commas stand only where tables have them: every three digits before the point, `1,024`. Some languages write decimals
/// with a comma, `0,3`.
fn groups_digits(number: &str) -> bool {
    let number = number.trim_start_matches(['-', '+', '\u{2212}']);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let is_first = (1..=3).contains(&first.len()) && !first.starts_with('0');
    !fraction.contains(',') && (!whole.contains(',') || is_first && groups.all(|group| group.len() == 3))
}

/// Units by their names, each with its size in the smallest one.
type Units = &'static [(&'static str, f64)];

const TIME: Units = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("μs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
];
const BYTES: Units = &[
    ("b", 1.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
    ("tib", 1_099_511_627_776.0),
];
const COUNT: Units = &[("k", 1e3), ("m", 1e6), ("g", 1e9), ("b", 1e9), ("t", 1e12)];
const FLOPS: Units =
    &[("flop", 1.0), ("kflop", 1e3), ("mflop", 1e6), ("gflop", 1e9), ("tflop", 1e12), ("pflop", 1e15)];

impl Operand {
    /// Reads a number for a column of that unit.
    pub fn parse(text: &str, unit: Unit) -> Result<Operand, Why> {
        if let Some(hex) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
            let whole = i128::from_str_radix(hex, 16).map_err(|_| Why::NoNumber(text.to_string()))?;
            return Ok(Operand { value: whole as f64, whole: Some(whole) });
        }
        let end = text.find(|letter| !is_of_number(letter)).unwrap_or(text.len());
        let (shown, suffix) = (&text[..end], text[end..].trim());
        if starts_as_number(shown) && !groups_digits(shown) {
            return Err(Why::Comma(shown.to_string()));
        }
        // Digits may be in groups, as tables show them.
        let digits: String = shown.replace([',', '_'], "").replace('\u{2212}', "-");
        let value: f64 = match digits.parse() {
            Ok(value) if starts_as_number(shown) => value,
            _ => return Err(Why::NoNumber(text.to_string())),
        };
        let scaled = match scale_of(suffix, shown, value, unit)? {
            Scale::Times(scale) => value * scale,
            Scale::By(scale) => value / scale,
        };
        let whole = digits.parse::<i128>().ok().filter(|_| scaled == value);
        let is_whole = scaled.fract() == 0.0 && scaled.abs() < 9e15;
        Ok(Operand { value: scaled, whole: whole.or(is_whole.then_some(scaled as i128)) })
    }

    pub fn value(&self) -> f64 {
        self.value
    }

    /// How a cell compares with it; `None` for a cell without a number.
    pub fn ordering(&self, cell: CellRef<'_>) -> Option<Ordering> {
        let cell = match cell {
            CellRef::Address(address) => CellRef::Whole(address.into()),
            cell => cell,
        };
        match (cell, self.whole) {
            (CellRef::Whole(value), Some(whole)) => Some(value.cmp(&whole)),
            (CellRef::Whole(value), None) => (value as f64).partial_cmp(&self.value),
            (CellRef::Float(value), _) => value.partial_cmp(&self.value),
            _ => None,
        }
    }
}

/// From the unit of a number to that of its column. Divided where the factor is a fraction that no double has.
enum Scale {
    Times(f64),
    By(f64),
}

fn size_of(units: Units, name: &str) -> Option<f64> {
    let lower = name.to_lowercase();
    units.iter().find(|(name, _)| *name == lower).map(|(_, size)| *size)
}

/// How a number with that suffix becomes one of its column.
fn scale_of(suffix: &str, number: &str, value: f64, unit: Unit) -> Result<Scale, Why> {
    use Scale::{By, Times};
    let bad = |is_of, known| Err(Why::BadUnit { unit: suffix.to_string(), is_of, known });
    let lower = suffix.to_lowercase();
    match unit {
        Unit::Ns | Unit::NsOffset | Unit::NsClock | Unit::Ms | Unit::Seconds => {
            let in_column = match unit {
                Unit::Ms => 1e6,
                Unit::Seconds => 1e9,
                _ => 1.0,
            };
            match size_of(TIME, suffix) {
                Some(size) if size >= in_column => Ok(Times(size / in_column)),
                Some(size) => Ok(By(in_column / size)),
                None if suffix.is_empty() && value == 0.0 => Ok(Times(1.0)),
                None if suffix.is_empty() => Err(Why::NeedsUnit(number.to_string())),
                None => bad("time", "ns, us, ms, s, min or h"),
            }
        }
        Unit::Bytes | Unit::BytesPerSecond => {
            let bytes = lower.strip_suffix("/s").filter(|_| unit == Unit::BytesPerSecond).unwrap_or(&lower);
            match size_of(BYTES, bytes) {
                Some(size) => Ok(Times(size)),
                None if suffix.is_empty() => Ok(Times(1.0)),
                None => bad("size", "B, kB, MB, GB, KiB, MiB or GiB"),
            }
        }
        Unit::Flops | Unit::FlopsPerSecond => {
            let flops = lower.strip_suffix("/s").filter(|_| unit == Unit::FlopsPerSecond).unwrap_or(&lower);
            match size_of(FLOPS, flops.strip_suffix('s').unwrap_or(flops)) {
                Some(size) => Ok(Times(size)),
                None if suffix.is_empty() => Ok(Times(1.0)),
                None => bad("work", "GFLOP or TFLOP"),
            }
        }
        Unit::Ratio => match suffix {
            "%" => Ok(By(100.0)),
            "" if value.abs() > 1.0 => Err(Why::AboveWhole(number.to_string())),
            "" => Ok(Times(1.0)),
            _ => bad("share", "%"),
        },
        // Seconds since 1970, which tables show as dates.
        Unit::UnixSeconds => match suffix {
            "" | "s" => Ok(Times(1.0)),
            _ => bad("time since 1970", "s"),
        },
        Unit::None | Unit::Count | Unit::Id | Unit::Address | Unit::Samples | Unit::Plain => {
            match size_of(COUNT, suffix) {
                Some(size) => Ok(Times(size)),
                None if suffix.is_empty() => Ok(Times(1.0)),
                None if starts_as_number(suffix) || unit == Unit::None => bad("", ""),
                None => bad("count", "k, M or G"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str, unit: Unit) -> Result<f64, Why> {
        Operand::parse(text, unit).map(|operand| operand.value)
    }

    #[test]
    fn units_of_columns() {
        assert_eq!(number("1.5ms", Unit::Ns), Ok(1_500_000.0));
        assert_eq!(number("1.5ms", Unit::Ms), Ok(1.5));
        assert_eq!(number("1700000001s", Unit::UnixSeconds), Ok(1_700_000_001.0));
        assert_eq!(number("1700000001", Unit::UnixSeconds), Ok(1_700_000_001.0));
        assert_eq!(
            number("5ms", Unit::UnixSeconds).map_err(|why| why.sentence("ts", ">")),
            Err("“ms” is not a unit of time since 1970: use s.".to_string())
        );
        assert_eq!(number("250us", Unit::Ms), Ok(0.25));
        assert_eq!(number("2µs", Unit::NsOffset), Ok(2000.0));
        assert_eq!(number("90s", Unit::Seconds), Ok(90.0));
        assert_eq!(number("2min", Unit::Seconds), Ok(120.0));
        assert_eq!(number("0", Unit::Ns), Ok(0.0));
        assert_eq!(number("1,024", Unit::Bytes), Ok(1024.0));
        assert_eq!(number("3.35TB/s", Unit::BytesPerSecond), Ok(3.35e12));
        assert_eq!(number("989 TFLOP/s", Unit::FlopsPerSecond), Ok(989e12));
        assert_eq!(number("12.5%", Unit::Ratio), Ok(0.125));
        assert_eq!(number("70%", Unit::Ratio), Ok(0.7));
        assert_eq!(number("9us", Unit::Ms), Ok(0.009));
        assert_eq!(number("−3", Unit::Count), Ok(-3.0));
        assert_eq!(number("0x1f", Unit::Address), Ok(31.0));
        assert!(number("1kg", Unit::Count).is_err());
        assert!(number(".", Unit::Count).is_err());
        assert_eq!(number("12,345,678.5", Unit::Plain), Ok(12_345_678.5));
        assert_eq!(number("−1,024", Unit::Count), Ok(-1024.0));
        for decimals in ["0,3", "1,5", "0,300", "1,0245", "1234,567", "1.000,5", "1,,024", "1,024,5"] {
            assert_eq!(number(decimals, Unit::Count), Err(Why::Comma(decimals.to_string())), "{decimals}");
        }
    }

    #[test]
    fn whole_numbers_are_exact() {
        let most = Operand::parse("18446744073709551615", Unit::Id).unwrap();
        assert_eq!(most.ordering(CellRef::Whole(i128::from(u64::MAX))), Some(Ordering::Equal));
        assert_eq!(most.ordering(CellRef::Whole(i128::from(u64::MAX) - 1)), Some(Ordering::Less));
        // 0.3 s has no double of its own, but 300 ms are whole nanoseconds.
        let third = Operand::parse("0.3s", Unit::Ns).unwrap();
        assert_eq!(third.ordering(CellRef::Whole(300_000_000)), Some(Ordering::Equal));
        assert_eq!(third.ordering(CellRef::Missing), None);
    }
}

//! Weighted stacks: what profilers write that sum up where time, memory or anything else went.
//!
//! A profile is one list of samples (of a thread, of a kind of weight), each with a stack of [`super::Trace::stacks`], a weight,
//! and a time if the file has times. Weights and times are exact decimals in the unit of the file.

use super::samples::StackId;
use crate::base::hash::HashMap;
use crate::base::strings::{StringId, StringTable};
use serde::{Deserialize, Serialize};

/// Most decimal places that are kept of a number; further ones are rounded.
pub const MAX_PLACES: u8 = 18;

/// 10^this nanoseconds are one of that unit of time; `None` if it is none.
pub fn nanoseconds_exponent(unit: &str) -> Option<u8> {
    match unit {
        "nanoseconds" => Some(0),
        "microseconds" => Some(3),
        "milliseconds" => Some(6),
        "seconds" => Some(9),
        _ => None,
    }
}

/// Name of the frame for samples without a stack, where they need one: in flame graphs and in folded differences.
pub const NO_STACK: &str = "(no stack)";

/// What a Firefox profile has beside stacks, in [`super::SourceInfo::metadata`], by name.
pub mod firefox_facts {
    /// Names, each with its number: `GCMajor (12)`.
    pub const MARKERS: &str = "markers";
    /// Names: `malloc, processCPU`.
    pub const COUNTERS: &str = "counters";

    /// What Tracedrop's exports say in [`super::super::SourceInfo::producer`].
    pub const OWN_PRODUCER: &str = "Tracedrop";
    /// In them, the process id of threads without one. That of several files has the number of the file and a hyphen before it.
    pub const NO_PROCESS: &str = "none";
    /// In them, the thread ids of profiles without one begin like this; a number follows.
    pub const NO_THREAD: &str = "profile-";

    /// Whether an id in an export of Tracedrop only stands for a missing one.
    pub fn is_stand_in(id: &str) -> bool {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        id.strip_prefix(NO_THREAD).is_some_and(is_number)
            || id
                .strip_suffix(NO_PROCESS)
                .is_some_and(|file| file.is_empty() || file.strip_suffix('-').is_some_and(is_number))
    }
}

/// Facts of a pprof profile about itself in [`super::SourceInfo::metadata`], by name.
pub mod pprof_facts {
    /// Start of the recording in nanoseconds since the Unix epoch.
    pub const TIME: &str = "time_nanos";
    /// In nanoseconds.
    pub const DURATION: &str = "duration_nanos";
    /// Between two samples, in the unit of [`PERIOD_TYPE`].
    pub const PERIOD: &str = "period";
    /// Name and unit: `cpu (nanoseconds)`.
    pub const PERIOD_TYPE: &str = "period_type";
    /// Keys, each with its number of values: `thread (2 values)`.
    pub const LABELS: &str = "labels";
    pub const COMMENT: &str = "comment";

    /// The parts of a [`PERIOD_TYPE`].
    pub fn name_and_unit(period_type: &str) -> Option<(&str, &str)> {
        period_type.strip_suffix(')')?.rsplit_once(" (")
    }
}

/// An exact decimal number: `digits` / 10^`places`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Amount {
    pub digits: i128,
    pub places: u8,
}

/// 10^`places`; `None` if that is too large.
fn power(places: u32) -> Option<i128> {
    10i128.checked_pow(places)
}

/// `value` / `divisor`, rounded half away from zero.
fn rounded(value: i128, divisor: i128) -> i128 {
    let (whole, rest) = (value / divisor, value % divisor);
    let up = i128::from(rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs());
    whole + if value < 0 { -up } else { up }
}

/// Whole numbers up to this one are exact as doubles, and so are powers of ten up to [`MAX_PLACES`].
const EXACT_DIGITS: u128 = 1 << 53;

impl Amount {
    pub const ZERO: Amount = Amount { digits: 0, places: 0 };
    pub const ONE: Amount = Amount { digits: 1, places: 0 };

    pub fn whole(value: impl Into<i128>) -> Amount {
        Amount { digits: value.into(), places: 0 }
    }

    /// `digits` · 10^`exponent`, with at most [`MAX_PLACES`] places. `None` if it is too large.
    pub fn with_exponent(digits: i128, exponent: i32) -> Option<Amount> {
        if digits == 0 {
            return Some(Amount::ZERO);
        }
        if let Ok(up) = u32::try_from(exponent) {
            return Some(Amount::whole(digits.checked_mul(power(up)?)?));
        }
        let places = exponent.unsigned_abs();
        if places <= u32::from(MAX_PLACES) {
            return Some(Amount { digits, places: places as u8 }.trimmed());
        }
        let digits = power(places - u32::from(MAX_PLACES)).map_or(0, |divisor| rounded(digits, divisor));
        Some(Amount { digits, places: MAX_PLACES }.trimmed())
    }

    /// Number from its decimal digits, with sign, point and exponent as in JSON; a point may also be last. `None` if it is none,
    /// or too large.
    pub fn parse(literal: &[u8]) -> Option<Amount> {
        // Most are short and whole.
        if (1..=18).contains(&literal.len()) && literal.iter().all(u8::is_ascii_digit) {
            let digits = literal.iter().fold(0i64, |digits, byte| digits * 10 + i64::from(byte - b'0'));
            return Some(Amount::whole(digits));
        }
        let (negative, mut rest) = match literal {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, literal),
        };
        let (mut digits, mut exponent, mut n_digits, mut after_point) = (0i128, 0i32, 0u32, false);
        while let [byte, after @ ..] = rest {
            match byte {
                b'0'..=b'9' => {
                    n_digits += 1;
                    let more =
                        digits.checked_mul(10).and_then(|digits| digits.checked_add(i128::from(byte - b'0')));
                    match more {
                        Some(more) => {
                            digits = more;
                            exponent = exponent.saturating_sub(i32::from(after_point));
                        }
                        // Places that no sum keeps; whole digits count on.
                        None => exponent = exponent.saturating_add(i32::from(!after_point)),
                    }
                }
                b'.' if !after_point && n_digits > 0 => after_point = true,
                b'e' | b'E' if n_digits > 0 => {
                    let text = std::str::from_utf8(after).ok()?;
                    let digits_only = text.strip_prefix(['+', '-']).unwrap_or(text);
                    if digits_only.is_empty() || !digits_only.bytes().all(|byte| byte.is_ascii_digit()) {
                        return None;
                    }
                    exponent = exponent.checked_add(text.parse().ok()?)?;
                    break;
                }
                _ => return None,
            }
            rest = after;
        }
        if n_digits == 0 {
            return None;
        }
        Amount::with_exponent(if negative { -digits } else { digits }, exponent)
    }

    /// Without zeros at the end of the places.
    fn trimmed(mut self) -> Amount {
        while self.places > 0 && self.digits % 10 == 0 {
            self.digits /= 10;
            self.places -= 1;
        }
        self
    }

    /// `digits` if it had `places`; `None` if that is too large.
    pub fn at(self, places: u8) -> Option<i128> {
        match places.checked_sub(self.places) {
            Some(more) => self.digits.checked_mul(power(u32::from(more))?),
            None => Some(rounded(self.digits, power(u32::from(self.places - places))?)),
        }
    }

    /// `ns` nanoseconds in a unit as long as 10^`exponent` of them.
    pub fn of_nanoseconds(ns: i64, exponent: u8) -> Amount {
        // The digits are those of the unit with that number of places.
        Amount { digits: i128::from(ns), places: exponent }.trimmed()
    }

    /// In whole nanoseconds, if 10^`exponent` of them are one. `None` if that is too large.
    pub fn nanoseconds(self, exponent: u8) -> Option<i64> {
        i64::try_from(self.at(exponent)?).ok()
    }

    /// Sum; saturates.
    pub fn plus(self, other: Amount) -> Amount {
        let places = self.places.max(other.places);
        match (self.at(places), other.at(places)) {
            (Some(a), Some(b)) => Amount { digits: a.saturating_add(b), places }.trimmed(),
            (a, b) => {
                // One is so large that the places of the other do not count.
                let places = self.places.min(other.places);
                let sum = match (a, b) {
                    (None, _) => self.digits.saturating_add(other.at(places).unwrap_or(0)),
                    _ => other.digits.saturating_add(self.at(places).unwrap_or(0)),
                };
                Amount { digits: sum, places }
            }
        }
    }

    pub fn minus(self, other: Amount) -> Amount {
        self.plus(Amount { digits: -other.digits, ..other })
    }

    pub fn is_negative(self) -> bool {
        self.digits < 0
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        // Both numbers are exact as doubles, so their quotient is rounded once.
        if self.digits.unsigned_abs() <= EXACT_DIGITS {
            return self.digits as f64 / 10f64.powi(i32::from(self.places));
        }
        // Parsing the digits rounds once.
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// The number times 10^`exponent` as a whole one; `None` if it is none, or too large.
    pub fn whole_times(self, exponent: u8) -> Option<i64> {
        let trimmed = self.trimmed();
        let up = exponent.checked_sub(trimmed.places)?;
        i64::try_from(trimmed.digits.checked_mul(power(u32::from(up))?)?).ok()
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Amount) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Amount) -> std::cmp::Ordering {
        self.minus(*other).digits.cmp(&0)
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.digits < 0 { "-" } else { "" };
        let digits = self.digits.unsigned_abs().to_string();
        let places = usize::from(self.places);
        if places == 0 {
            return write!(f, "{sign}{digits}");
        }
        let digits = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        write!(f, "{sign}{whole}.{fraction}")
    }
}

/// A column of exact numbers with common decimal places; some may be missing.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Amounts {
    /// Decimal places of all rows.
    places: u8,
    /// Digits; [`WIDE`] for those in `wide`, [`MISSING`] for none.
    digits: Vec<i64>,
    /// Sparse, sorted by row.
    wide: Vec<(u32, i128)>,
}

const WIDE: i64 = i64::MIN;
const MISSING: i64 = i64::MAX;

impl Amounts {
    pub fn len(&self) -> usize {
        self.digits.len()
    }

    pub fn is_empty(&self) -> bool {
        self.digits.is_empty()
    }

    pub fn places(&self) -> u8 {
        self.places
    }

    #[inline]
    pub fn push(&mut self, amount: Amount) {
        if amount.places > self.places {
            self.widen(amount.places);
        }
        let digits = amount.at(self.places).unwrap_or(if amount.digits < 0 { i128::MIN } else { i128::MAX });
        self.push_digits(digits);
    }

    pub fn push_missing(&mut self) {
        self.digits.push(MISSING);
    }

    #[inline]
    fn push_digits(&mut self, digits: i128) {
        match i64::try_from(digits) {
            Ok(short) if short != WIDE && short != MISSING => self.digits.push(short),
            _ => {
                self.wide.push((self.digits.len() as u32, digits));
                self.digits.push(WIDE);
            }
        }
    }

    /// Gives all rows more places; they keep fewer if one of them would become too large.
    fn widen(&mut self, places: u8) {
        let old = std::mem::take(self);
        let fits = |more: u8| {
            let factor = power(u32::from(more)).unwrap_or(i128::MAX);
            old.wide.iter().all(|(_, digits)| digits.checked_mul(factor).is_some())
        };
        let more = (0..=places - old.places).rev().find(|more| fits(*more)).unwrap_or(0);
        let factor = power(u32::from(more)).unwrap_or(1);
        self.places = old.places + more;
        self.digits.reserve(old.len() + 1);
        for row in 0..old.len() {
            match old.digits_at(row) {
                Some(digits) => self.push_digits(digits.saturating_mul(factor)),
                None => self.push_missing(),
            }
        }
    }

    /// Digits of a row at [`Amounts::places`]; `None` if the row is missing.
    #[inline]
    pub fn digits_at(&self, row: usize) -> Option<i128> {
        match *self.digits.get(row)? {
            MISSING => None,
            WIDE => {
                let at = self.wide.binary_search_by_key(&(row as u32), |(row, _)| *row).ok()?;
                Some(self.wide[at].1)
            }
            short => Some(i128::from(short)),
        }
    }

    pub fn get(&self, row: usize) -> Option<Amount> {
        Some(Amount { digits: self.digits_at(row)?, places: self.places }.trimmed())
    }

    /// A row in whole nanoseconds, if 10^`exponent` of them are one. `None` if it is missing, or too large.
    pub fn nanoseconds_at(&self, row: usize, exponent: u8) -> Option<i64> {
        Amount { digits: self.digits_at(row)?, places: self.places }.nanoseconds(exponent)
    }

    /// Whether no row refers to a number that is not there, which a file of tables could claim.
    fn is_sound(&self) -> bool {
        self.places <= MAX_PLACES
    }
}

/// By profile: the number of those before it that have its name, weight and event, where no ids say that they are one thread.
pub fn namesakes<'a>(profiles: impl Iterator<Item = &'a StackProfile>) -> Vec<u32> {
    let mut n_of: HashMap<_, u32> = HashMap::default();
    let number = |it: &StackProfile| {
        if !it.process_id.is_none() || !it.thread_id.is_none() {
            return 0;
        }
        let n = n_of.entry((it.thread, it.name, it.kind, it.event, it.measure, it.unit)).or_insert(0);
        *n += 1;
        *n - 1
    };
    profiles.map(number).collect()
}

/// Samples of one thread, or of one kind of weight.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StackProfile {
    /// Name in the file; [`StringId::NONE`] if it has none.
    pub name: StringId,
    /// What the format calls this kind of profile: `sampled`, `period`, `nativeAllocations`; [`StringId::NONE`] if it has one
    /// kind only.
    pub kind: StringId,
    /// What made the profiler take a sample, where that is said: `cycles`.
    pub event: StringId,
    /// What is weighed, if the file has several weights of each stack: `alloc_space`, `period`, `before`.
    pub measure: StringId,
    /// The file says that this profile is the one to show.
    pub is_default: bool,
    /// Name of the thread.
    pub thread: StringId,
    pub process_id: StringId,
    pub thread_id: StringId,
    /// Unit of the weights, in lower case: `samples`, `bytes`, `nanoseconds`, or whatever the file says.
    pub unit: StringId,
    /// Unit of the times; [`StringId::NONE`] without times.
    pub time_unit: StringId,
    /// Stack of each sample, in file order; [`StackId::NONE`] if it has none.
    pub stack: Vec<StackId>,
    pub weight: Amounts,
    /// Time of each sample; empty if the file has none.
    pub time: Amounts,
    /// Time at which the profile starts and ends, as the file has it.
    pub span: Option<(Amount, Amount)>,
    /// What to add to its times to have them on one axis with the other profiles of the file, in their unit.
    pub offset: Amount,
}

/// Number of samples. One with several weights is in as many profiles in a row, and counts once.
pub fn n_samples(profiles: &[StackProfile]) -> usize {
    let are_same = |a: &StackProfile, b: &StackProfile| {
        (a.process_id, a.thread_id, a.thread, a.event) == (b.process_id, b.thread_id, b.thread, b.event)
            && a.measure != b.measure
    };
    // Samples that last may be split where a part of the trace ends, so one of the profiles may have more.
    profiles.chunk_by(are_same).filter_map(|same| same.iter().map(StackProfile::len).max()).sum()
}

impl StackProfile {
    /// An empty profile with weights in `unit`.
    pub fn new(unit: StringId) -> StackProfile {
        let none = StringId::NONE;
        StackProfile {
            name: none,
            kind: none,
            event: none,
            measure: none,
            is_default: false,
            thread: none,
            process_id: none,
            thread_id: none,
            unit,
            time_unit: none,
            stack: Vec::new(),
            weight: Amounts::default(),
            time: Amounts::default(),
            span: None,
            offset: Amount::ZERO,
        }
    }

    pub fn len(&self) -> usize {
        self.stack.len()
    }

    pub fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    pub fn push(&mut self, stack: StackId, weight: Amount) {
        self.stack.push(stack);
        self.weight.push(weight);
    }

    /// Adds a sample with its time, or without.
    pub fn push_at(&mut self, stack: StackId, weight: Amount, time: Option<Amount>) {
        self.push(stack, weight);
        match time {
            Some(time) => self.time.push(time),
            None => self.time.push_missing(),
        }
    }

    /// 10^this nanoseconds are one in the unit of its times; `None` without times in a known unit.
    pub fn time_exponent(&self, strings: &StringTable) -> Option<u8> {
        if self.time.is_empty() {
            return None;
        }
        nanoseconds_exponent(strings.get_opt(self.time_unit)?)
    }

    /// The [`StackProfile::time_exponent`], if its stacks can be drawn over time. They cannot without times, and where weights
    /// are no times or samples, such as allocated bytes. Of profiles of one event, only the first is drawn.
    pub fn exponent_of_times(&self, strings: &StringTable) -> Option<u8> {
        let text = |id: StringId| strings.get_opt(id).unwrap_or_default();
        let is_of_time = text(self.unit) == "samples" || nanoseconds_exponent(text(self.unit)).is_some();
        let is_first = matches!(text(self.measure), "" | "samples");
        if !is_of_time || !is_first {
            return None;
        }
        self.time_exponent(strings)
    }

    /// Time of a sample on the axis of all profiles of the file; `None` if it is missing.
    pub fn time_of(&self, row: usize) -> Option<Amount> {
        let time = self.time.get(row)?;
        Some(if self.offset == Amount::ZERO { time } else { time.plus(self.offset) })
    }

    /// The same in whole nanoseconds, if 10^`exponent` of them are one in its unit.
    pub fn nanoseconds_of(&self, row: usize, exponent: u8) -> Option<i64> {
        let ns = self.time.nanoseconds_at(row, exponent)?;
        Some(if self.offset == Amount::ZERO { ns } else { self.time_of(row)?.nanoseconds(exponent)? })
    }

    /// Start and end on the axis of all profiles of the file.
    pub fn span_of_file(&self) -> Option<(Amount, Amount)> {
        let (start, end) = self.span?;
        Some((start.plus(self.offset), end.plus(self.offset)))
    }

    /// Sets the span to the least and the greatest time.
    pub fn span_of_times(&mut self) {
        let times = (0..self.time.len()).filter_map(|row| self.time.digits_at(row));
        let (least, greatest) = times.fold((i128::MAX, i128::MIN), |(a, b), time| (a.min(time), b.max(time)));
        let amount = |digits| Amount { digits, places: self.time.places }.trimmed();
        self.span = (least <= greatest).then(|| (amount(least), amount(greatest)));
    }

    /// Texts of the profile: names, then identifiers, then units.
    pub fn texts_mut(&mut self) -> [&mut StringId; 9] {
        [
            &mut self.name,
            &mut self.thread,
            &mut self.event,
            &mut self.measure,
            &mut self.kind,
            &mut self.process_id,
            &mut self.thread_id,
            &mut self.unit,
            &mut self.time_unit,
        ]
    }

    pub fn texts(&self) -> [StringId; 9] {
        [
            self.name,
            self.thread,
            self.event,
            self.measure,
            self.kind,
            self.process_id,
            self.thread_id,
            self.unit,
            self.time_unit,
        ]
    }

    /// Whether the columns are of one length, and stacks are below `n_stacks`; they may come from untrusted data.
    pub fn is_sound(&self, n_stacks: usize) -> bool {
        let n_rows = self.len();
        self.weight.len() == n_rows
            && (self.time.is_empty() || self.time.len() == n_rows)
            && self.weight.is_sound()
            && self.time.is_sound()
            && self.stack.iter().all(|id| *id == StackId::NONE || (id.0 as usize) < n_stacks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        for (literal, wanted) in [
            ("0", "0"),
            ("-4", "-4"),
            ("1.50", "1.5"),
            ("3.", "3"),
            ("0.1", "0.1"),
            ("1e3", "1000"),
            ("12.5E-1", "1.25"),
            ("18446744073709551616", "18446744073709551616"),
            ("0.0000000000000000014", "0.000000000000000001"),
            ("1e-300", "0"),
            ("0e999", "0"),
            ("-0.0000000000000000015", "-0.000000000000000002"),
        ] {
            assert_eq!(
                Amount::parse(literal.as_bytes()).map(|n| n.to_string()).as_deref(),
                Some(wanted),
                "{literal}"
            );
        }
        for literal in ["", "-", ".5", "+1", "1e", "1e+", "1x", "1..2", "1e99", "1e9999999999"] {
            assert_eq!(Amount::parse(literal.as_bytes()), None, "{literal}");
        }
    }

    #[test]
    fn columns_keep_all_places() {
        let mut column = Amounts::default();
        let literals = ["7", "9223372036854775807", "0.25", "-9223372036854775808", "1.125"];
        for literal in literals {
            column.push(Amount::parse(literal.as_bytes()).unwrap());
        }
        column.push_missing();
        let read: Vec<_> = (0..6).map(|row| column.get(row).map(|n| n.to_string())).collect();
        assert_eq!(read[..5], literals.map(|text| Some(text.to_string())));
        assert_eq!(read[5], None);
        assert_eq!(column.places(), 3);
    }

    #[test]
    fn sums_and_order() {
        let parse = |text: &str| Amount::parse(text.as_bytes()).unwrap();
        assert_eq!(parse("0.1").plus(parse("0.2")), parse("0.3"));
        assert!(parse("0.10") < parse("0.2") && parse("-1") < Amount::ZERO);
        assert_eq!(parse("12.5").whole_times(9), Some(12_500_000_000));
        assert_eq!(parse("0.0000000001").whole_times(9), None);
    }
}

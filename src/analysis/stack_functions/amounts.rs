//! Weights in the units of reports.

use crate::base::units::Unit;
use crate::report::{Column, Value};
use crate::trace::stack_profiles::{Amount, nanoseconds_exponent};

/// Whether weights in a unit are times, or samples in time.
pub fn is_of_time(unit: Unit) -> bool {
    matches!(unit, Unit::Ns | Unit::Samples)
}

/// How weights of a file's unit are shown.
pub struct Measure {
    pub unit: Unit,
    /// Decimal places of the weights.
    places: u8,
    /// Times are shown in nanoseconds: 10^this of them are one of the file's unit.
    exponent: u8,
    /// Weights are shown as doubles: they have places, and their unit is none that has a smaller one.
    is_fractional: bool,
}

impl Measure {
    pub fn of(unit: &str, places: u8) -> Measure {
        let exponent = nanoseconds_exponent(unit);
        let shown = match unit {
            _ if exponent.is_some() => Unit::Ns,
            "samples" => Unit::Samples,
            "bytes" => Unit::Bytes,
            "count" | "events" => Unit::Count,
            _ => Unit::Plain,
        };
        let is_fractional = exponent.is_none() && places > 0;
        Measure { unit: shown, places, exponent: exponent.unwrap_or(0), is_fractional }
    }

    /// A weight as an integer of the unit shown; `None` if it is too large, or a fraction.
    fn whole(&self, digits: i128) -> Option<i64> {
        if self.is_fractional {
            return None;
        }
        let amount = Amount { digits, places: self.places };
        amount.whole_times(self.exponent)
    }

    /// A weight as a double of the unit shown.
    pub fn double(&self, digits: i128) -> f64 {
        let amount = Amount { digits, places: self.places };
        amount.to_f64() * 10f64.powi(i32::from(self.exponent))
    }

    pub fn value(&self, digits: i128) -> Value {
        match self.whole(digits) {
            Some(whole) => Value::Integer(whole),
            None => Value::Float(self.double(digits)),
        }
    }

    /// A weight in a sentence.
    pub fn display(&self, digits: i128) -> String {
        let number = self.number(digits);
        match self.unit {
            Unit::Samples if self.whole(digits) == Some(1) => format!("{number} sample"),
            Unit::Samples => format!("{number} samples"),
            _ => number,
        }
    }

    /// The same, before another of its kind.
    pub fn number(&self, digits: i128) -> String {
        let unit = if self.unit == Unit::Samples { Unit::Count } else { self.unit };
        self.value(digits).display(unit)
    }

    /// Weights, as integers if all of them are.
    pub fn column(&self, id: &'static str, label: &str, weights: &[i128]) -> Column {
        let whole: Option<Vec<i64>> = weights.iter().map(|digits| self.whole(*digits)).collect();
        match whole {
            Some(whole) => Column::integer(id, label, self.unit, whole.into_iter().map(Some).collect()),
            None => {
                let doubles = weights.iter().map(|digits| Some(self.double(*digits))).collect();
                Column::float(id, label, self.unit, doubles)
            }
        }
    }
}

/// Share of a whole; `None` if that is nothing.
pub fn ratio(part: i128, whole: i128) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}

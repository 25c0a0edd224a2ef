//! Typed values of reports; integers are never converted to doubles.

use crate::base::units::{self, Unit};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A cell or a fact.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Value {
    /// Unknown or not applicable; shown as `–`.
    Missing,
    Text(String),
    Unsigned(u64),
    Integer(i64),
    Float(f64),
    Bool(bool),
}

/// Display text of a missing value.
pub const MISSING: &str = "–";

impl Value {
    /// Display text with separators and unit.
    pub fn display(&self, unit: Unit) -> String {
        match self {
            Value::Missing => MISSING.to_string(),
            Value::Text(text) => text.clone(),
            Value::Unsigned(value) => units::format_integer(i128::from(*value), unit),
            Value::Integer(value) => units::format_integer(i128::from(*value), unit),
            Value::Float(value) => units::format_float(*value, unit),
            Value::Bool(value) => if *value { "yes" } else { "no" }.to_string(),
        }
    }

    /// Machine-readable text: no separators, no unit, shortest digits that round-trip; empty if missing.
    pub fn plain(&self) -> String {
        match self {
            Value::Missing => String::new(),
            Value::Text(text) => text.clone(),
            Value::Unsigned(value) => value.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Float(value) => value.to_string(),
            Value::Bool(value) => value.to_string(),
        }
    }

    /// Value as a double, for bars and shares only.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Unsigned(value) => Some(*value as f64),
            Value::Integer(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// Ascending order within a column; missing values and NaN come last.
    pub fn compare(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::Unsigned(a), Value::Unsigned(b)) => a.cmp(b),
            (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => compare_f64(*a, *b),
            (Value::Missing, Value::Missing) => Ordering::Equal,
            (Value::Missing, _) => Ordering::Greater,
            (_, Value::Missing) => Ordering::Less,
            (a, b) => match (a.as_f64(), b.as_f64()) {
                (Some(a), Some(b)) => compare_f64(a, b),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => Ordering::Equal,
            },
        }
    }

    /// Missing or not a number: sorts last in either direction.
    pub fn sorts_last(&self) -> bool {
        matches!(self, Value::Missing) || matches!(self, Value::Float(value) if value.is_nan())
    }
}

fn compare_f64(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_string())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Value {
        Value::Unsigned(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Float(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Missing, Into::into)
    }
}

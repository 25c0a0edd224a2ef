//! Incremental JSON writer, without whitespace.

use crate::base::json::write::{push_f64, push_string};
use crate::report::Value;

/// Incremental JSON writer.
#[derive(Default)]
pub struct JsonWriter {
    out: Vec<u8>,
}

impl JsonWriter {
    /// Output so far.
    pub fn into_text(self) -> String {
        String::from_utf8(self.out).unwrap_or_default()
    }

    fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes a comma, unless a list or object was just opened.
    fn separate(&mut self) {
        if !matches!(self.out.last(), None | Some(b'{' | b'[' | b':')) {
            self.out.push(b',');
        }
    }

    /// Writes a key; its value follows.
    pub fn key(&mut self, key: &str) {
        self.separate();
        push_string(key, &mut self.out);
        self.out.push(b':');
    }

    /// Writes a string value.
    pub fn text(&mut self, text: &str) {
        self.separate();
        push_string(text, &mut self.out);
    }

    /// Writes a string member, unless it is empty.
    pub fn member(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.key(key);
            self.text(text);
        }
    }

    /// Writes a value in its display form.
    pub fn number(&mut self, value: impl std::fmt::Display) {
        self.separate();
        self.raw(&value.to_string());
    }

    /// Writes a value that is JSON already.
    pub fn json(&mut self, json: &str) {
        self.separate();
        self.raw(json);
    }

    /// Writes a list; `write` writes each of `items`.
    pub fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut write: impl FnMut(T, &mut JsonWriter)) {
        self.separate();
        self.raw("[");
        for item in items {
            write(item, self);
        }
        self.raw("]");
    }

    /// Writes an object; `write` writes its members.
    pub fn object(&mut self, write: impl FnOnce(&mut JsonWriter)) {
        self.separate();
        self.raw("{");
        write(self);
        self.raw("}");
    }

    /// Writes a report value; doubles with nine digits.
    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Missing => {
                self.separate();
                self.raw("null");
            }
            Value::Text(text) => self.text(text),
            Value::Unsigned(value) => self.number(value),
            Value::Integer(value) => self.number(value),
            Value::Float(value) if value.is_finite() => {
                self.separate();
                push_f64(rounded(*value), &mut self.out);
            }
            Value::Float(value) if value.is_nan() => self.text("NaN"),
            Value::Float(value) => self.text(if *value > 0.0 { "Infinity" } else { "-Infinity" }),
            Value::Bool(value) => self.number(value),
        }
    }
}

/// Formats a number with nine digits, or three decimals if it is large. That exceeds the displayed precision; more digits
/// would dominate the link.
fn rounded(value: f64) -> f64 {
    let text = if value.abs() < 1e5 { format!("{value:.8e}") } else { format!("{value:.3}") };
    text.parse().unwrap_or(value)
}

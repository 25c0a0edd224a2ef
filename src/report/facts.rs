//! A short list of named values.

use super::table::Content;
use super::value::Value;
use crate::base::units::{Unit, format_ns};
use serde::{Deserialize, Serialize};

/// Milliseconds from this number on do not fit into nanoseconds.
const MAX_MS: f64 = 9e12;

/// One named value.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Fact {
    /// Stable name in snake case, for exports.
    pub id: String,
    pub label: String,
    pub value: Value,
    pub unit: Unit,
    /// Meaning or origin; may be empty.
    pub hint: String,
    /// `None` for a value without a verdict.
    pub mark: Option<Mark>,
    /// Meaning of a text, which decides how it is redacted together with the id.
    pub content: Content,
}

/// Verdict of a value, shown as a color and a sign. The hint is then shown as its reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Mark {
    Good,
    /// Acceptable with caveats.
    Fair,
    Bad,
    /// Neither good nor bad.
    Plain,
}

impl Mark {
    pub fn name(self) -> &'static str {
        match self {
            Mark::Good => "good",
            Mark::Fair => "fair",
            Mark::Bad => "bad",
            Mark::Plain => "plain",
        }
    }

    /// Sign for text output.
    pub fn sign(self) -> &'static str {
        match self {
            Mark::Good => "✓",
            Mark::Fair => "!",
            Mark::Bad => "✗",
            Mark::Plain => "–",
        }
    }
}

/// Named values in display order; the first few are shown large.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    pub title: String,
    pub facts: Vec<Fact>,
}

impl Facts {
    pub fn new(title: impl Into<String>) -> Facts {
        Facts { title: title.into(), facts: Vec::new() }
    }

    pub fn push(&mut self, id: &str, label: &str, value: impl Into<Value>, unit: Unit) -> &mut Fact {
        self.facts.push(Fact {
            id: id.to_string(),
            label: label.to_string(),
            value: value.into(),
            unit,
            hint: String::new(),
            mark: None,
            content: Content::Plain,
        });
        let last = self.facts.len() - 1;
        &mut self.facts[last]
    }
}

impl Fact {
    /// Display text with separators and unit. The unit is always included, as there is no column label; milliseconds are shown
    /// like any other time.
    pub fn display(&self) -> String {
        let text = self.value.display(self.unit);
        match (&self.value, self.unit) {
            (Value::Missing | Value::Text(_), _) => text,
            (value, Unit::Ms) => match value.as_f64().filter(|ms| ms.abs() < MAX_MS) {
                Some(ms) => format_ns((ms * 1e6).round() as i64),
                None => format!("{text} {}", self.unit.symbol()),
            },
            // `Samples: 24`, `Total: 24 samples`.
            (_, Unit::Samples) if self.label.to_lowercase().ends_with("samples") => text,
            (value, Unit::Samples) if value.as_f64() == Some(1.0) => format!("{text} sample"),
            (_, Unit::Samples) => format!("{text} {}", self.unit.symbol()),
            _ => text,
        }
    }

    pub fn hint(&mut self, hint: impl Into<String>) -> &mut Fact {
        self.hint = hint.into();
        self
    }

    pub fn content(&mut self, content: Content) -> &mut Fact {
        self.content = content;
        self
    }

    pub fn mark(&mut self, mark: impl Into<Option<Mark>>) -> &mut Fact {
        self.mark = mark.into();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_named_once() {
        let mut facts = Facts::new("");
        facts.push("samples", "Samples", 15_828u64, Unit::Samples);
        facts.push("total", "Total", 15_828u64, Unit::Samples);
        facts.push("one", "Total", 1u64, Unit::Samples);
        let shown: Vec<String> = facts.facts.iter().map(Fact::display).collect();
        assert_eq!(shown, ["15,828", "15,828 samples", "1 sample"]);
    }
}

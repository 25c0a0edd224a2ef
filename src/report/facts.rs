//! A short list of named values.

use super::table::Content;
use super::value::Value;
use crate::base::units::{Unit, counted, format_ns, with_noun};
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
            (value, unit) => with_noun(text, value.as_f64() == Some(1.0), unit),
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

/// Files up to this many are listed one by one.
const MAX_LISTED: usize = 3;

/// Facts on files, for people: those of many files that differ in nothing but their name are one list, `16 files`.
pub fn merged_files(files: &[Facts]) -> Vec<Facts> {
    fn others(file: &Facts) -> impl Iterator<Item = &Fact> {
        file.facts.iter().filter(|fact| fact.id != "file_name")
    }
    let mut groups: Vec<Vec<&Facts>> = Vec::new();
    for file in files {
        let is_like = |group: &&mut Vec<&Facts>| group.iter().take(1).all(|one| others(one).eq(others(file)));
        match groups.iter_mut().find(is_like) {
            Some(group) => group.push(file),
            None => groups.push(vec![file]),
        }
    }
    let merged = |group: Vec<&Facts>| match &group[..] {
        [first, .., last] if group.len() > MAX_LISTED => {
            let mut facts = Facts::new(counted(group.len() as u64, "file", "files"));
            facts.push("file_name", "Files", format!("{} … {}", first.title, last.title), Unit::None);
            facts.facts.extend(others(first).cloned());
            vec![facts]
        }
        _ => group.into_iter().cloned().collect(),
    };
    groups.into_iter().flat_map(merged).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_of_a_kind_are_one_list() {
        let file = |name: &str, format: &str| {
            let mut facts = Facts::new(name);
            facts.push("file_name", "File", name, Unit::None);
            facts.push("format", "Format", format, Unit::None);
            facts
        };
        let mut files: Vec<Facts> = (0..3).map(|at| file(&format!("rank{at}"), "Chrome trace")).collect();
        assert_eq!(merged_files(&files), files);
        files.insert(1, file("notes", "Tracedrop"));
        files.push(file("rank3", "Chrome trace"));
        let merged = merged_files(&files);
        let shown = |facts: &Facts| facts.facts.iter().map(Fact::display).collect::<Vec<_>>();
        assert_eq!(merged.iter().map(|facts| &*facts.title).collect::<Vec<_>>(), ["4 files", "notes"]);
        assert_eq!(shown(&merged[0]), ["rank0 … rank3", "Chrome trace"]);
    }

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

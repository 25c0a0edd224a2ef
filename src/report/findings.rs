//! Findings: the most important results as sentences, with their evidence.

use super::facts::Fact;
use crate::base::units::{format_ns, format_signed_ns};
use serde::{Deserialize, Serialize};

/// Rows of a table of the same document.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RowsOf {
    /// `id` of the report.
    pub report: String,
    /// `id` of the table in it.
    pub table: String,
    /// Filter of the table; empty for all rows.
    pub filter: String,
    /// Display text: titles of the report and the table.
    pub label: String,
}

/// One finding.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Stable kebab-case name of the kind of finding, for programs.
    pub id: String,
    /// One or two sentences.
    pub text: String,
    /// Nanoseconds, with the meaning given by [`Findings::stakes`]; `None` if unknown.
    pub time: Option<i64>,
    /// The same as a fraction of total time.
    pub share: Option<f64>,
    /// Supporting numbers.
    pub evidence: Vec<Fact>,
    /// Table rows with those numbers.
    pub rows: Option<RowsOf>,
}

/// Findings, most time first.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Findings {
    pub title: String,
    /// Explanation; may be empty.
    pub caption: String,
    /// Text if there are none.
    pub empty: String,
    pub stakes: Stakes,
    pub findings: Vec<Finding>,
}

/// Meaning of the time of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Stakes {
    /// Upper bound of the possible savings.
    #[default]
    Gain,
    /// Additional time of B compared with A, possibly negative; fractions are relative to A.
    Difference,
    /// Time that was spent, which may be needed.
    Spent,
    /// The same; fractions are of the self time of all threads, which together take longer than the trace.
    SelfTime,
    /// The same; fractions are of the samples that were counted.
    Samples,
}

impl Finding {
    /// The supporting numbers that neither the sentence nor the time beside it, in nanoseconds, says already. A difference is not the
    /// value of a side, however equal.
    pub fn further_evidence(&self, beside: Option<i64>) -> impl Iterator<Item = &Fact> {
        let is_said = move |fact: &&Fact| {
            let shown = fact.display();
            beside.is_some_and(|ns| shown == format_ns(ns)) || says(&self.text, &shown)
        };
        self.evidence.iter().filter(move |fact| !is_said(fact))
    }
}

/// Whether a sentence has a value as a whole word: `12` is not in `112 kernels`.
fn says(sentence: &str, value: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric());
    sentence.match_indices(value).any(|(at, _)| {
        let before = sentence[..at].chars().next_back();
        let behind = &sentence[at + value.len()..];
        let next = behind.chars().next();
        // A comma between digits, or a point before one, is part of the number.
        let goes_on = |text: &str| {
            let mut letters = text.chars();
            matches!(letters.next(), Some('.' | ','))
                && letters.next().is_some_and(|digit| digit.is_ascii_digit())
        };
        // A signed value is a difference.
        let is_other = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | ',' | '+' | '−');
        let starts = before.is_none_or(|letter| !is_other(letter));
        starts && !is_part(next) && !goes_on(behind)
    })
}

impl Findings {
    /// A finding in one line: `+4.100 ms Attention (same kernel count, 2.70× longer each)` for differences, else its text.
    pub fn line(&self, finding: &Finding) -> String {
        match (self.stakes, finding.time) {
            (Stakes::Difference, Some(ns)) => format!("{} {}", format_signed_ns(ns), finding.text),
            _ => finding.text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::Unit;
    use crate::report::Facts;

    #[test]
    fn evidence_does_not_say_again_what_the_sentence_says() {
        let mut facts = Facts::default();
        facts.push("time", "GPU time", 13_530_000i64, Unit::Ns);
        facts.push("kernels", "kernels", 668u64, Unit::Count);
        facts.push("calls", "calls", 12u64, Unit::Count);
        facts.push("share", "overlapped", 0.516, Unit::Ratio);
        let finding = Finding {
            id: "few-blocks".to_string(),
            text: "668 kernels of 112 take 51.6% of the time, p50 12.5 µs.".to_string(),
            time: Some(13_530_000),
            share: None,
            evidence: facts.facts,
            rows: None,
        };
        let left = |beside: Option<i64>| -> Vec<&str> {
            finding.further_evidence(beside).map(|fact| &*fact.label).collect()
        };
        assert_eq!(left(finding.time), ["calls"]);
        assert_eq!(left(None), ["GPU time", "calls"]);
        // A has as much as the difference.
        assert!(!says("+12 samples work", "12 samples") && says("work: 12 samples", "12 samples"));
    }
}

//! Findings: the most important results as sentences, with their evidence.

use super::facts::Fact;
use crate::base::units::format_signed_ns;
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

//! What to look at first, in plain words, each with the numbers it rests on.

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
    /// What the table is to be filtered by; empty for all of it.
    pub filter: String,
    /// For people: titles of the report and the table.
    pub label: String,
}

/// One thing that was found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Stable name in kebab case of what is found, for programs.
    pub id: String,
    /// One or two sentences.
    pub text: String,
    /// Nanoseconds, of what [`Findings::stakes`] says; `None` where nobody can tell.
    pub time: Option<i64>,
    /// The same as a share of all time, 1 being all of it.
    pub share: Option<f64>,
    /// The numbers it rests on.
    pub evidence: Vec<Fact>,
    /// Where those numbers stand.
    pub rows: Option<RowsOf>,
}

/// Findings, the one with the most time at stake first.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Findings {
    pub title: String,
    /// How to read them; may be empty.
    pub caption: String,
    /// What to say if there are none.
    pub empty: String,
    pub stakes: Stakes,
    pub findings: Vec<Finding>,
}

/// What the time of a finding is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Stakes {
    /// What would be gained at most if it were otherwise.
    #[default]
    Gain,
    /// How much more B takes than A, which may be less than nothing; shares are of A's.
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

//! What to look at first, in plain words, each with the numbers it rests on.

use super::facts::Fact;
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
    /// Nanoseconds that would be gained at most if it were otherwise; `None` where nobody can tell.
    pub time: Option<i64>,
    /// The same as a share of all time, 0 to 1.
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
    pub findings: Vec<Finding>,
}

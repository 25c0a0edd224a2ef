//! The complete output for one run: source files, parsing details, reports.

use super::{Facts, Report};

/// Input of exports.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// Names of the files.
    pub title: String,
    /// One list per file: name, format, producer.
    pub source: Vec<Facts>,
    /// Parsing details.
    pub ledger: Report,
    pub reports: &'a [Report],
}

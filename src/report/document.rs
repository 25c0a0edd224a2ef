//! All that is said of one run: the files, the account of reading them, the reports.

use super::{Facts, Report};

/// What exports write.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// Names of the files.
    pub title: String,
    /// One list a file: name, format, producer.
    pub source: Vec<Facts>,
    /// What was read and what became of it.
    pub ledger: Report,
    pub reports: &'a [Report],
}

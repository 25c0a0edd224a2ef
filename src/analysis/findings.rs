//! Helpers shared by the findings of several reports: threshold, quoting of names, and the block that lists them.

use super::TableHandle;
use crate::base::text::{IN_A_SENTENCE, shortened, visible};
use crate::filter::exactly;
use crate::report::{Finding, Findings, RowsOf, Stakes};

/// Smallest share that makes a finding, whatever rule found it.
pub const LEAST: f64 = 0.01;

/// Caption of a block whose times are possible savings.
pub const UPPER_BOUNDS: &str = "Upper bounds: fixing one wait often exposes another.";

/// A name from a trace, quoted for use in a sentence.
pub fn quoted(name: &str) -> String {
    format!("\u{201c}{}\u{201d}", visible(&shortened(name, IN_A_SENTENCE)))
}

/// Link to the rows of a table; an empty filter means all rows.
pub fn rows_of(table: TableHandle, filter: &str) -> RowsOf {
    RowsOf {
        report: table.report.id.to_string(),
        table: table.id.to_string(),
        filter: exactly(filter),
        label: table.report.title.to_string(),
    }
}

/// Findings above [`LEAST`], in the order given; `None` if there are none.
pub fn block(caption: &str, mut findings: Vec<Finding>) -> Option<Findings> {
    findings.retain(|finding| finding.share.is_some_and(|share| share >= LEAST));
    (!findings.is_empty()).then(|| Findings {
        title: if caption == UPPER_BOUNDS { "Top opportunities" } else { "Findings" }.to_string(),
        caption: caption.to_string(),
        empty: String::new(),
        stakes: Stakes::Gain,
        findings,
    })
}

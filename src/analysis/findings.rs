//! What findings of several reports share: when one is worth a sentence, how names are quoted in it, and the block they stand in.

use super::AnalysisInfo;
use crate::base::text::{IN_A_SENTENCE, shortened, visible};
use crate::filter::exactly;
use crate::report::{Finding, Findings, RowsOf, Stakes};

/// A finding of less than this share is none, whatever rule made it.
pub const LEAST: f64 = 0.01;

/// Caption where times are what could be saved.
pub const UPPER_BOUNDS: &str = "Times are upper bounds: the most that fixing one could save.";

/// A name out of a trace, as sentences have it.
pub fn quoted(name: &str) -> String {
    format!("\u{201c}{}\u{201d}", visible(&shortened(name, IN_A_SENTENCE)))
}

/// Rows of a table of a report, by the `id` of the table; an empty filter for all of them.
pub fn rows_of(report: &AnalysisInfo, table: &str, filter: &str) -> RowsOf {
    RowsOf {
        report: report.id.to_string(),
        table: table.to_string(),
        filter: exactly(filter),
        label: report.title.to_string(),
    }
}

/// Those that are worth a sentence, in the order given; `None` if there are none.
pub fn block(caption: &str, mut findings: Vec<Finding>) -> Option<Findings> {
    findings.retain(|finding| finding.share.is_some_and(|share| share >= LEAST));
    (!findings.is_empty()).then(|| Findings {
        title: "Findings".to_string(),
        caption: caption.to_string(),
        empty: String::new(),
        stakes: Stakes::Gain,
        findings,
    })
}

//! Helpers shared by the findings of several reports: threshold, quoting of names, and the block that lists them.

use super::TableHandle;
use crate::base::text::{IN_A_SENTENCE, cut_in_middle, visible};
use crate::filter;
use crate::report::{Finding, Findings, RowsOf, Stakes};

/// Smallest share that makes a finding, whatever rule found it.
pub const LEAST: f64 = 0.01;

/// Title and caption of a block whose times are spent, and may be needed.
const WHERE_IT_GOES: (&str, &str) =
    ("Where the time goes", "The largest consumers, whether they can be avoided or not.");

/// Title and caption of a block whose times are possible savings.
const OPPORTUNITIES: (&str, &str) =
    ("Top opportunities", "Upper bounds: fixing one wait often exposes another.");

/// A name from a trace, quoted for use in a sentence.
pub fn quoted(name: &str) -> String {
    format!("\u{201c}{}\u{201d}", visible(&cut_in_middle(name, IN_A_SENTENCE)))
}

/// Link to the rows of a table in which a column is exactly this text; to all rows for an empty text.
pub fn rows_of(table: TableHandle, column: &str, text: &str) -> RowsOf {
    RowsOf {
        report: table.report.id.to_string(),
        table: table.id.to_string(),
        filter: filter::is(column, text),
        label: table.report.title.to_string(),
    }
}

/// What takes the most time, in the order given.
pub fn consumers(findings: Vec<Finding>) -> Findings {
    block(WHERE_IT_GOES, Stakes::Spent, findings)
}

/// The names with the most self time, in the order given. Threads run beside each other, so shares are of their sum.
pub fn consumers_of_self_time(findings: Vec<Finding>) -> Findings {
    Findings { stakes: Stakes::SelfTime, ..consumers(findings) }
}

/// What most samples are of, in the order given.
pub fn consumers_of_samples(findings: Vec<Finding>) -> Findings {
    Findings { stakes: Stakes::Samples, ..consumers(findings) }
}

/// What could be saved, in the order given.
pub fn opportunities(findings: Vec<Finding>) -> Findings {
    block(OPPORTUNITIES, Stakes::Gain, findings)
}

fn block((title, caption): (&str, &str), stakes: Stakes, findings: Vec<Finding>) -> Findings {
    // Where nothing is found there is nothing to explain.
    let caption = if findings.is_empty() { String::new() } else { caption.to_string() };
    let title = title.to_string();
    Findings { title, caption, empty: String::new(), stakes, findings }
}

/// The blocks with a finding of at least [`LEAST`], without the smaller ones.
pub fn worth_saying(blocks: impl IntoIterator<Item = Findings>) -> Vec<Findings> {
    let large = |mut block: Findings| {
        block.findings.retain(|finding| finding.share.is_some_and(|share| share >= LEAST));
        (!block.findings.is_empty()).then_some(block)
    };
    blocks.into_iter().filter_map(large).collect()
}

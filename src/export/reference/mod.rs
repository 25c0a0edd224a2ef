//! Output of other tools, byte for byte.
//!
//! Where a report exists in another tool, an export of the whole run is that tool's text alone.

pub mod sway_trace;

use super::Input;
use crate::analysis::{AnalysisInfo, Query, sway_summary};
use crate::trace::Run;

/// Output formats of reference tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextFormat {
    Terminal {
        /// Columns of the terminal.
        width: usize,
    },
    Markdown,
    Json,
}

/// Layout of another tool.
struct ReferenceLayout {
    /// Report that the tool has as well.
    report: &'static AnalysisInfo,
    write: fn(&Run, &Query, TextFormat) -> String,
}

const LAYOUTS: &[ReferenceLayout] =
    &[ReferenceLayout { report: &sway_summary::INFO, write: sway_trace::write }];

/// Text of the tool whose report is in the document, if there is one.
pub fn text(input: &Input<'_>, format: TextFormat) -> Option<String> {
    let is_in_document =
        |info: &AnalysisInfo| input.document.reports.iter().any(|report| report.id == info.id);
    let applies =
        |layout: &&ReferenceLayout| (layout.report.applies)(input.run) && is_in_document(layout.report);
    let layout = LAYOUTS.iter().find(applies)?;
    Some((layout.write)(input.run, input.query, format))
}

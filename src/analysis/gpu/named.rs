//! Ids and titles of tables when several traces are open together.

use super::model::GpuTrace;
use crate::analysis::several::{name_notes, numbered};
use crate::report::{Report, of_file};
use std::borrow::Cow;

/// A trace, and its number if there are several: its tables have the number in their ids and the file name in their titles.
pub struct NamedTrace<'a, 'b> {
    pub gpu: &'a GpuTrace<'b>,
    number: Option<usize>,
}

impl<'a, 'b> NamedTrace<'a, 'b> {
    /// All of `traces`.
    pub fn all(traces: &'a [GpuTrace<'b>]) -> impl Iterator<Item = NamedTrace<'a, 'b>> {
        let several = traces.len() > 1;
        traces
            .iter()
            .enumerate()
            .map(move |(number, gpu)| NamedTrace { gpu, number: several.then_some(number) })
    }

    /// Calls `add` for each trace. The summary comes from the first trace that sets it, prefixed with its file name if there are
    /// several.
    pub fn each(
        traces: &'a [GpuTrace<'b>],
        report: &mut Report,
        mut add: impl FnMut(&NamedTrace<'a, 'b>, &mut Report),
    ) {
        for named in NamedTrace::all(traces) {
            let is_first_word = report.summary.is_empty();
            let n_before = report.blocks.len();
            add(&named, report);
            name_notes(report, n_before, named.gpu.trace, traces.len());
            if is_first_word && named.number.is_some() && !report.summary.is_empty() {
                report.summary = of_file::noted(&report.summary, &named.gpu.trace.source.file_name);
            }
        }
    }

    /// The id of a table of this trace.
    pub fn id(&self, id: &'static str) -> Cow<'static, str> {
        numbered(id, self.number.unwrap_or(0))
    }

    /// The title of a table of this trace.
    pub fn title(&self, title: &str) -> String {
        match self.number {
            None => title.to_string(),
            Some(_) => of_file::titled(title, &self.gpu.trace.source.file_name),
        }
    }
}

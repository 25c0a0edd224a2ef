//! Names of what a report says of one of several traces.

use crate::report::{Block, Report, of_file};
use crate::trace::Trace;
use std::borrow::Cow;

/// The ID of a table or chart of the trace with that number, counted from 0: the first has none in its IDs.
pub fn numbered(id: &str, number: usize) -> Cow<'_, str> {
    match number {
        0 => id.into(),
        number => format!("{id}_{}", number + 1).into(),
    }
}

/// The title of a table or chart of one of `n_traces`: with the name of its file if there are several.
pub fn titled(title: &str, trace: &Trace, n_traces: usize) -> String {
    match n_traces {
        1 => title.to_string(),
        _ => of_file::titled(title, &trace.source.file_name),
    }
}

/// Puts the name of its file before the notes that a report of `n_traces` has on a trace: those from its block number `since` on.
pub fn name_notes(report: &mut Report, since: usize, trace: &Trace, n_traces: usize) {
    if n_traces == 1 {
        return;
    }
    for block in report.blocks.iter_mut().skip(since) {
        if let Block::Note(note) = block {
            note.text = of_file::noted(&note.text, &trace.source.file_name);
        }
    }
}

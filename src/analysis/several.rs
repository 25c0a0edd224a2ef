//! Names of what a report says of one of several traces.

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
        _ => format!("{title}: {}", trace.source.file_name),
    }
}

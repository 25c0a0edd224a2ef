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

/// A row that stands for events of a name.
pub struct Inspected {
    /// `id` of the report it stands in.
    pub report: String,
    pub table: Arc<TableView>,
    pub values: Vec<Value>,
    /// Search in the timeline that finds its events.
    pub text: String,
}

impl Tab {
    /// Looks closely at a row, if it stands for events. With `only_first`, not if another one of its report is looked at already.
    pub fn inspect(self, report: String, table: Arc<TableView>, values: &[Value], only_first: bool) {
        let is_other = self.inspected.with_untracked(|it| it.as_ref().is_none_or(|it| it.report != report));
        let is_small =
            || self.document.with_untracked(|it| it.as_ref().is_some_and(|it| it.file.bytes <= MAX_BYTES));
        if only_first && !(is_other && is_small()) || !browser::is_wide() || !self.has_own_timeline() {
            return;
        }
        let text = search_for_rows(&table.columns, &[values.to_vec()]);
        if !text.is_empty() {
            self.inspected.set(Some(Arc::new(Inspected { report, table, values: values.to_vec(), text })));
        }
    }

    /// Whether all of it is parsed, and it has a timeline that is not of two others.
    fn has_own_timeline(self) -> bool {
        let has =
            |it: &DocumentView| it.has_timeline && it.link.is_none() && it.sides.is_none() && !it.partial;
        self.document.with_untracked(|it| it.as_deref().is_some_and(has))
    }
}

//! The row of a table whose events show beside the reports once it is chosen, where the window is wide.

use super::Tab;
use super::timeline::search_for_rows;
use crate::app::browser;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::engine::protocol::{BlockView, DocumentView, TableView};
use tracedrop::report::Value;

/// A row that stands for events of a name.
pub struct Inspected {
    /// `id` of the report it stands in.
    pub report: String,
    /// Revision of its document.
    revision: u32,
    pub table: Arc<TableView>,
    pub values: Vec<Value>,
    /// Search in the timeline that finds its events.
    pub text: String,
}

impl Tab {
    /// Looks closely at a row, if it stands for events.
    pub fn inspect(self, report: String, table: Arc<TableView>, values: &[Value]) {
        let Some(document) = self.document.get_untracked() else { return };
        if !browser::is_wide() || !has_own_timeline(&document) {
            return;
        }
        let text = search_for_rows(&table.columns, &[values.to_vec()]);
        if !text.is_empty() {
            let (revision, values) = (document.revision, values.to_vec());
            self.inspected.set(Some(Arc::new(Inspected { report, revision, table, values, text })));
        }
    }

    /// The row of a report that is looked at. Another revision has other numbers.
    pub fn inspected_of(self, report: &str) -> Option<Arc<Inspected>> {
        let revision = self.document.with(|it| it.as_ref().map(|it| it.revision))?;
        self.inspected.get().filter(|it| it.report == report && it.revision == revision)
    }

    /// Whether a report has a table whose rows may stand for events.
    pub fn can_inspect(self, report: &str) -> bool {
        self.document.with(|document| {
            let Some(document) = document.as_ref().filter(|it| has_own_timeline(it)) else { return false };
            let blocks = document.reports.iter().filter(|it| it.id == report).flat_map(|it| &it.blocks);
            blocks.into_iter().any(|block| {
                matches!(block, BlockView::Table(table) if table.columns.iter().any(|column| column.is_symbol))
            })
        })
    }
}

/// Whether all of it is parsed, and it has a timeline that is not of two others.
fn has_own_timeline(document: &DocumentView) -> bool {
    document.has_timeline && document.link.is_none() && document.sides.is_none() && !document.partial
}

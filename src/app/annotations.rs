//! Notes: what they are attached to, as text and as rows of tables.

use super::screens::Way;
use super::state::Tab;
use super::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::base::text;
use tracedrop::base::units::Unit;
use tracedrop::engine::protocol::{BlockView, ColumnView, DocumentView, TableView};
use tracedrop::report::notes::{KeyColumn, MAX_NOTES, TableWords, row_event, row_key};
use tracedrop::report::{Anchor, Notes, Remark, RowsOf, Value};

/// Content of the note dialog.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Writing {
    /// Title of the trace.
    Title,
    /// New note on one of these, or on anything that is not a row.
    New(Vec<Anchor>),
    /// Existing note, by its number.
    Old(usize),
}

/// Column of tables in which an event can be found.
const START: &str = "start";

/// Identity of a table row.
pub struct RowAnchors {
    pub row: Anchor,
    /// Its event, if the row is one.
    pub event: Option<(String, i64)>,
}

/// Identity of a row with these values.
pub fn row_anchors(report: &str, table: &str, columns: &[ColumnView], values: &[Value]) -> RowAnchors {
    let keys: Vec<KeyColumn<'_>> = columns
        .iter()
        .map(|column| KeyColumn { id: &column.id, unit: column.unit, is_key: column.key })
        .collect();
    let value = |at: usize| values.get(at).cloned().unwrap_or(Value::Missing);
    let key = row_key(&keys, &value);
    let row = Anchor::Row { report: report.to_string(), table: table.to_string(), key };
    RowAnchors { row, event: row_event(&keys, &value) }
}

impl RowAnchors {
    /// Possible anchors of a note on the row.
    pub fn all(self) -> Vec<Anchor> {
        let event = self.event.map(|(name, at_ns)| Anchor::Event { name, at_ns });
        [Some(self.row), event].into_iter().flatten().collect()
    }
}

fn tables(document: &DocumentView) -> impl Iterator<Item = (&str, &TableView)> {
    document.reports.iter().flat_map(|report| {
        report.blocks.iter().filter_map(move |block| match block {
            BlockView::Table(table) => Some((report.id.as_str(), table)),
            _ => None,
        })
    })
}

fn find<'a>(document: &'a DocumentView, report: &str, table: &str) -> Option<&'a TableView> {
    tables(document).find(|(id, known)| *id == report && known.id == table).map(|(_, table)| table)
}

/// Anchor of a note, for display.
pub fn words_of(document: Option<&Arc<DocumentView>>, anchor: &Anchor) -> String {
    let words = anchor.words(&|report, table| {
        let table = find(document?, report, table)?;
        let units = table.columns.iter().map(|column| (column.id.clone(), column.unit));
        Some(TableWords { title: table.title.clone(), units: units.collect() })
    });
    text::visible(&words)
}

/// Rows that a note belongs to; `None` if it is not in a table.
fn rows_of(document: &DocumentView, anchor: &Anchor) -> Option<RowsOf> {
    let (report, table) = match anchor {
        Anchor::Row { report, table, .. } => (report.as_str(), find(document, report, table)?),
        Anchor::Event { name, at_ns } => {
            let is_start = |column: &ColumnView| column.id == START && column.unit == Unit::NsOffset;
            let has_events = |table: &TableView| table.columns.iter().any(is_start);
            let of_events = || tables(document).filter(|(_, table)| has_events(table));
            let is_it = |table: &TableView| {
                let event = |row: &Vec<Value>| row_anchors("", &table.id, &table.columns, row).event;
                table
                    .first
                    .rows
                    .iter()
                    .any(|row| event(row).is_some_and(|it| it.0 == *name && it.1 == *at_ns))
            };
            of_events().find(|(_, table)| is_it(table)).or_else(|| of_events().next())?
        }
        Anchor::Whole | Anchor::Range { .. } => return None,
    };
    let is_searched =
        |id: &str| table.columns.iter().any(|column| column.id == id && (column.key || !column.numeric));
    Some(RowsOf {
        report: report.to_string(),
        table: table.id.clone(),
        filter: anchor.filter(&is_searched),
        label: String::new(),
    })
}

/// Whether the page can navigate to the anchor of a note.
pub fn leads_somewhere(document: Option<&Arc<DocumentView>>, anchor: &Anchor) -> bool {
    document.is_some_and(|document| match anchor {
        Anchor::Range { .. } => document.exporters.iter().any(|exporter| exporter.opens_in_perfetto),
        _ => rows_of(document, anchor).is_some(),
    })
}

impl Tab {
    /// Navigates to the anchor of a note: its row, or for a time range the dialog to open it in Perfetto.
    pub fn lead_to_anchor(self, anchor: &Anchor) {
        if let Anchor::Range { from_ns, to_ns } = anchor {
            self.window.set_value(Some((*from_ns, *to_ns)));
            return self.share.set(Some(Way::Perfetto));
        }
        let rows = self.document.with_untracked(|document| rows_of(document.as_deref()?, anchor));
        if let Some(rows) = rows {
            self.lead_to(rows);
        }
    }

    /// Stores a note; `number` is that of the note it replaces.
    pub fn put_note(self, number: Option<usize>, note: Remark) {
        self.notes.update(|notes| {
            match number.and_then(|number| notes.list.get_mut(number)) {
                Some(old) => *old = note,
                None => notes.list.push(note),
            }
            *notes = std::mem::take(notes).tidied();
        });
    }

    /// Adds notes from a file or a link.
    pub fn take_in_notes(self, notes: &Notes) {
        let n_left_out = self.notes.try_update(|own| own.take_in(notes)).unwrap_or_default();
        self.mark_saved(notes);
        if n_left_out > 0 {
            self.app.alert((words().notes.left_out)(n_left_out as u64, MAX_NOTES as u64));
        }
    }

    /// Marks these notes as saved in a file or a link.
    pub fn mark_saved(self, notes: &Notes) {
        self.saved_notes.update(|saved| {
            let (n_new, is_other_title) = notes.beyond(saved);
            if n_new > 0 {
                saved.list.extend(notes.list.iter().cloned());
            }
            if is_other_title {
                saved.title.clone_from(&notes.title);
            }
        });
    }

    /// Number of unsaved notes, and whether the title is unsaved.
    pub fn unsaved_notes(self) -> (usize, bool) {
        self.notes.with(|notes| self.saved_notes.with(|saved| notes.beyond(saved)))
    }

    /// Whether closing the tab would lose notes or a title.
    pub fn would_lose_notes(self) -> bool {
        self.unsaved_notes() != (0, false) || self.half_written.get()
    }

    pub fn delete_note(self, number: usize) {
        self.notes.update(|notes| {
            if number < notes.list.len() {
                notes.list.remove(number);
            }
        });
    }
}

//! State of a table: its query, its loaded rows, and what changes them.

use super::columns::{Room, next_sort};
use crate::app::annotations::{RowAnchors, Writing, row_anchors};
use crate::app::browser::Spot;
use crate::app::client::Answer;
use crate::app::state::Tab;
use crate::app::view_state::{Action, RowSet, TableName};
use leptos::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use tracedrop::base::text;
use tracedrop::engine::protocol::{ColumnView, Request, TableAsk, TableId, TableView};
use tracedrop::report::amounts::{Amounts, Scale};
use tracedrop::report::scroll::Scroll;
use tracedrop::report::view::{TableQuery, TableRows, WrongFilter};
use tracedrop::report::{Anchor, Sort, Value};

/// Rows that are offered to write on.
const MAX_OFFERED: usize = 60;
/// Rows asked for when it is not known how many match.
const BLIND_ROWS: u64 = 300;

/// What the worker said of the filter.
#[derive(Clone, PartialEq, Eq)]
pub enum FilterState {
    /// The last filter that could be used. That of the query may have no answer yet.
    Usable(String),
    /// `filter` cannot be used, so the rows are those of `before`.
    Wrong { filter: String, problem: WrongFilter, before: String },
}

impl FilterState {
    pub fn problem(&self) -> Option<&WrongFilter> {
        match self {
            FilterState::Usable(_) => None,
            FilterState::Wrong { problem, .. } => Some(problem),
        }
    }

    pub fn is_wrong(&self) -> bool {
        self.problem().is_some()
    }
}

/// State of a table: its query and the loaded rows.
#[derive(Clone, Copy)]
pub struct State {
    pub tab: Tab,
    /// `id` of the report it stands in.
    pub report: StoredValue<String>,
    /// Names of A and B in a comparison.
    pub sides: Memo<Option<[String; 2]>>,
    pub table: Memo<Option<Arc<TableView>>>,
    pub query: Memo<TableQuery>,
    /// What stands in the field for filtering; it becomes part of the query after a pause.
    pub typed: RwSignal<String>,
    /// Loaded rows; those of the previous query while a request is pending.
    pub rows: RwSignal<Arc<TableRows>>,
    pub scroll: RwSignal<Scroll>,
    /// Rows for the query are on their way and what shows is of another one.
    pub stale: RwSignal<bool>,
    pub filter: RwSignal<FilterState>,
    /// All rows are wanted in a high box, whose rows the wheel moves.
    pub is_open: RwSignal<bool>,
    pub room: RwSignal<Room>,
    /// Places of the columns that show.
    pub visible: Memo<Vec<usize>>,
    /// How amounts are shown, the number of steps, and from these how each column is shown.
    pub amounts: Memo<Amounts>,
    pub n_steps: Memo<Option<u64>>,
    pub scales: Memo<Vec<Scale>>,
    /// Selected rows, by position among those that match.
    pub selected: Memo<RowSet>,
    /// The row that arrow keys move from.
    pub current: RwSignal<u64>,
    /// Where a range of selected rows starts: the row that was selected last without Shift.
    pub range_start: RwSignal<u64>,
    /// The row whose menu is open, and where.
    pub menu: RwSignal<Option<(u64, Spot)>>,
    /// One request at a time: a worker that is busy does not get a queue of what nobody wants any more.
    pub asked: StoredValue<Option<TableQuery>>,
    /// The answer under way is out of date.
    pub again: StoredValue<bool>,
    /// The filter that led here.
    pub landing: RwSignal<Option<String>>,
}

impl State {
    /// The side of a comparison that a column is of, which the end of its id says: the class of its colour, and its name.
    pub fn side_of(self, column: &str) -> Option<(&'static str, String)> {
        let (class, letter, at) = match column.rsplit('_').next()? {
            "a" => ("side-a", 'A', 0),
            "b" => ("side-b", 'B', 1),
            _ => return None,
        };
        let sides = self.sides.get_untracked()?;
        Some((class, format!("{letter}: {}", text::visible(&sides[at]))))
    }

    /// A question about this table. `None` once it is gone.
    pub fn asking(self, query: TableQuery) -> Option<TableAsk> {
        let table = self.table.try_get_untracked().flatten()?;
        let sort_by = query.sort.and_then(|sort| Some(table.columns.get(sort.column as usize)?.id.clone()));
        let table = TableId { report: self.report.try_get_value()?, table: table.id.clone() };
        Some(TableAsk { table, query, sort_by })
    }

    /// The query, with the last filter that could be used while there is something wrong with the one that is typed.
    pub fn usable_query(self) -> TableQuery {
        let query = self.query.get_untracked();
        match self.filter.get_untracked() {
            FilterState::Wrong { before, .. } => TableQuery { filter: before, ..query },
            FilterState::Usable(_) => query,
        }
    }

    pub fn have(self) -> Range<u64> {
        self.rows.with_untracked(|rows| rows.offset..rows.offset + rows.rows.len() as u64)
    }

    /// Requests visible rows that are not loaded, or all visible rows.
    pub fn ask(self, all: bool) {
        if self.asked.with_value(Option::is_some) {
            if all {
                self.again.set_value(true);
            }
            return;
        }
        let query = self.query.get_untracked();
        let Some(ask) = self.asking(self.usable_query()) else { return };
        let have = if all { 0..0 } else { self.have() };
        let wanted = match self.scroll.with_untracked(|scroll| scroll.wanted(&have)) {
            Some(wanted) => wanted,
            None if all => 0..BLIND_ROWS,
            None => return,
        };
        self.asked.set_value(Some(query));
        self.tab.ask(
            move |ticket| Request::Rows {
                ticket,
                ask,
                offset: wanted.start,
                limit: (wanted.end - wanted.start).max(BLIND_ROWS),
            },
            move |answer| {
                match answer {
                    Answer::Rows { revision, rows } => self.take(revision, rows),
                    // Whoever looks at other rows asks again.
                    _ => drop(self.asked.try_set_value(None)),
                }
            },
        );
    }

    pub fn take(self, revision: u32, rows: TableRows) {
        // The table may be gone by the time its rows come.
        let Some(Some(asked)) = self.asked.try_update_value(Option::take) else { return };
        let again = self.again.get_value();
        self.again.set_value(false);
        if self.query.with_untracked(|query| *query != asked) || again {
            return self.ask(true);
        }
        // Rows of a document that has yet to come may have other columns; they are asked for again once it is here.
        if self.revision() != Some(revision) {
            return self.stale.set(true);
        }
        if let Some(problem) = rows.wrong {
            self.filter.update(|state| {
                *state = match std::mem::replace(state, FilterState::Usable(String::new())) {
                    FilterState::Usable(before) => {
                        FilterState::Wrong { filter: asked.filter, problem, before }
                    }
                    // The filter before it names columns that have gone since.
                    FilterState::Wrong { filter, problem, .. } => {
                        FilterState::Wrong { filter, problem, before: String::new() }
                    }
                };
            });
            // Once more, with the filter before it.
            return self.ask(true);
        }
        let is_news = self
            .filter
            .with_untracked(|state| matches!(state, FilterState::Usable(before) if *before != asked.filter));
        if is_news {
            self.filter.set(FilterState::Usable(asked.filter));
        }
        self.show(Arc::new(rows));
        self.ask(false);
    }

    /// Calls `found` with the only row that matches `filter`, and not at all if another number of rows does.
    pub fn ask_for_only(self, filter: String, found: impl Fn(&[Value]) + 'static) {
        let query = TableQuery { filter, ..self.query.get_untracked() };
        let Some(ask) = self.asking(query) else { return };
        self.tab.ask(
            move |ticket| Request::Rows { ticket, ask, offset: 0, limit: 1 },
            move |answer| {
                if let Answer::Rows { rows, .. } = answer
                    && let ([row], 1, None) = (rows.rows.as_slice(), rows.n_matching, &rows.wrong)
                {
                    found(row);
                }
            },
        );
    }

    /// Revision of the newest document.
    pub fn revision(self) -> Option<u32> {
        self.tab.document.with_untracked(|document| document.as_ref().map(|document| document.revision))
    }

    /// Keeps the sort on the same column where columns were added or left out; without it the table is in its own order.
    pub fn move_sort(self, before: &[ColumnView], now: &[ColumnView]) {
        let Some(sort) = self.query.with_untracked(|query| query.sort) else { return };
        let id = before.get(sort.column as usize).map(|column| &column.id);
        let at = now.iter().position(|column| Some(&column.id) == id);
        let sort = at.map(|at| Sort { column: at as u32, ..sort });
        self.act(|tab, table| Action::MoveSort { tab, table, sort });
    }

    pub fn show(self, rows: Arc<TableRows>) {
        let n_rows = rows.n_matching;
        self.rows.set(rows);
        self.stale.set(false);
        self.scroll.update(|scroll| {
            let screen_px = scroll.screen_px();
            scroll.resize(n_rows, screen_px);
        });
    }

    /// The numbers are others, or someone wants to see other rows.
    pub fn refresh(self, table: &TableView, query: &TableQuery) {
        let own_order = *query == TableQuery::default();
        let drawn = self.scroll.with_untracked(|scroll| scroll.drawn());
        let first = table.first.rows.len() as u64;
        if own_order && (first == table.n_rows || drawn.end <= first) {
            self.show(Arc::new(table.first.clone()));
            self.again.set_value(self.asked.with_value(Option::is_some));
            self.ask(false);
        } else {
            self.stale.set(true);
            self.ask(true);
        }
    }

    /// Number and text of the first note on a row with these values.
    pub fn notes_on(self, columns: &[ColumnView], values: &[Value]) -> Option<(usize, String)> {
        let table = self.table.with(|table| table.as_ref().map(|table| table.id.clone()))?;
        self.tab.notes.with(|notes| {
            self.report.with_value(|report| {
                if !notes.may_be_in(report, &table) {
                    return None;
                }
                let RowAnchors { row, event } = row_anchors(report, &table, columns, values);
                let Anchor::Row { key, .. } = &row else { return None };
                let number = *notes.on_row(report, &table, key, event.as_ref()).first()?;
                notes.list.get(number).map(|note| (number, note.text.clone()))
            })
        })
    }

    /// Opens the note dialog for that row, or for one of the loaded rows.
    pub fn write_on(self, row: Option<u64>) {
        let Some(table) = self.table.get_untracked() else { return };
        let report = self.report.get_value();
        let anchors = self.rows.with_untracked(|rows| {
            let numbered = rows.rows.iter().enumerate().map(|(at, values)| (rows.offset + at as u64, values));
            let of_row = |values: &Vec<Value>| row_anchors(&report, &table.id, &table.columns, values);
            match row {
                Some(row) => {
                    let values = numbered.into_iter().find(|(at, _)| *at == row).map(|(_, values)| values);
                    values.map(|values| of_row(values).all()).unwrap_or_default()
                }
                None => {
                    let drawn = self.scroll.with_untracked(Scroll::drawn);
                    let shown = numbered.filter(|(at, _)| drawn.contains(at));
                    shown.take(MAX_OFFERED).map(|(_, values)| of_row(values).row).collect::<Vec<Anchor>>()
                }
            }
        });
        self.tab.writing.set(Some(Writing::New(anchors)));
    }

    /// Shows a column, or no longer.
    pub fn toggle_column(self, id: &str) {
        let visible = self.visible.get_untracked();
        let Some(table) = self.table.get_untracked() else { return };
        let mut chosen: Vec<String> = visible.iter().map(|at| table.columns[*at].id.clone()).collect();
        match chosen.iter().position(|known| known == id) {
            // One is left.
            Some(at) if chosen.len() > 1 => drop(chosen.remove(at)),
            Some(_) => return,
            None => chosen.push(id.to_string()),
        }
        self.act(|tab, table| Action::ChooseColumns { tab, table, columns: Some(chosen) });
    }

    pub fn sort_by(self, column: u32) {
        let own = self.table.with_untracked(|table| table.as_ref().and_then(|table| table.sort));
        let numeric = self.table.with_untracked(|table| {
            table.as_ref().and_then(|table| table.columns.get(column as usize).map(|column| column.numeric))
        });
        let now = self.query.with_untracked(|query| query.sort);
        let sort = next_sort(now, own, column, numeric.unwrap_or(false));
        self.act(|tab, table| Action::Sort { tab, table, sort });
    }

    /// Changes how the table is looked at. Nothing happens once it is gone.
    pub fn act(self, action: impl FnOnce(u32, TableName) -> Action) {
        let id = self.table.with_untracked(|table| table.as_ref().map(|table| table.id.clone()));
        if let Some(id) = id {
            self.tab.app.act(action(self.tab.id, TableName::new(self.report.get_value(), id)));
        }
    }

    pub fn select(self, rows: RowSet) {
        self.act(|tab, table| Action::SelectRows { tab, table, rows });
    }

    /// Selects a row as a click does: it alone, or with those that are selected, or all from where the range starts.
    pub fn select_row(self, row: u64, adds: bool, extends: bool) {
        let mut rows = self.selected.get_untracked();
        let from = self.range_start.get_untracked();
        self.current.set(row);
        if extends && rows.contains(from) {
            rows.insert(from.min(row)..from.max(row) + 1);
            return self.select(rows);
        }
        self.range_start.set(row);
        if extends {
            rows.insert(row..row + 1);
        } else if adds || rows == RowSet::of(row..row + 1) {
            rows.toggle(row);
        } else {
            rows = RowSet::of(row..row + 1);
        }
        self.select(rows);
    }

    /// Selects from one row to the next one, as Shift with an arrow key does.
    pub fn select_on_the_way(self, from: u64, to: u64) {
        let mut rows = self.selected.get_untracked();
        if !rows.contains(self.range_start.get_untracked()) {
            self.range_start.set(from);
        }
        rows.insert(from.min(to)..from.max(to) + 1);
        self.select(rows);
    }

    /// Values of a row that is loaded.
    pub fn values_of(self, row: u64) -> Option<Vec<Value>> {
        self.rows.with_untracked(|rows| {
            let at = usize::try_from(row.checked_sub(rows.offset)?).ok()?;
            rows.rows.get(at).cloned()
        })
    }

    /// Looks closely at a row.
    pub fn inspect(self, row: u64) {
        if let (Some(table), Some(values)) = (self.table.get_untracked(), self.values_of(row)) {
            self.tab.inspect(self.report.get_value(), table, &values);
        }
    }

    /// Values as they show.
    pub fn shown_values(self, values: &[Value]) -> Vec<Value> {
        let scales = self.scales.get_untracked();
        let scale = |at: usize| scales.get(at).copied().unwrap_or(Scale::AsIs);
        values.iter().enumerate().map(|(at, value)| scale(at).value(value)).collect()
    }

    pub fn show_amounts(self, amounts: Amounts) {
        self.act(|tab, table| Action::ShowAmounts { tab, table, amounts });
    }

    pub fn filter_by(self, filter: String) {
        self.act(|tab, table| Action::Filter { tab, table, filter });
    }
}

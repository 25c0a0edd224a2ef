//! A table of any length: asks the worker for the rows that show, sorted and filtered there.

use super::cells::{cell_view, column_chars, column_width, growing_column};
use super::row_menu::RowMenu;
use super::selected_rows::SelectedRows;
use crate::app::annotations::{RowAnchors, Writing, row_anchors};
use crate::app::browser::{self, Local, Resizing, Spot};
use crate::app::client::Answer;
use crate::app::state::{FULL_ROWS, Tab, Tip, app};
use crate::app::view_state::{Action, RowSet, TableName};
use crate::app::widgets::{Icon, Menu, MenuItem, Shape};
use crate::app::words::words;
use leptos::ev::KeyboardEvent;
use leptos::html;
use leptos::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use tracedrop::base::text;
use tracedrop::engine::protocol::{ColumnView, CopyFormat, Request, TableAsk, TableId, TableView};
use tracedrop::report::scroll::Scroll;
use tracedrop::report::view::{TableQuery, TableRows, WrongFilter};
use tracedrop::report::{Anchor, Sort, Value};

/// Height of a row, as `--row` in the style sheets.
const ROW_REM: f64 = 1.875;
/// Typing pauses this long before rows are filtered.
const TYPING_MS: u32 = 140;
/// Rows that are offered to write on.
const MAX_OFFERED: usize = 60;
/// Rows asked for when it is not known how many match.
const BLIND_ROWS: u64 = 300;

/// What the worker said of the filter.
#[derive(Clone, PartialEq, Eq)]
enum FilterState {
    /// The last filter that could be used. That of the query may have no answer yet.
    Usable(String),
    /// `filter` cannot be used, so the rows are those of `before`.
    Wrong { filter: String, problem: WrongFilter, before: String },
}

impl FilterState {
    fn problem(&self) -> Option<&WrongFilter> {
        match self {
            FilterState::Usable(_) => None,
            FilterState::Wrong { problem, .. } => Some(problem),
        }
    }

    fn is_wrong(&self) -> bool {
        self.problem().is_some()
    }
}

/// State of a table: its query and the loaded rows.
#[derive(Clone, Copy)]
struct State {
    tab: Tab,
    /// `id` of the report it stands in.
    report: StoredValue<String>,
    /// Names of A and B in a comparison.
    sides: Memo<Option<[String; 2]>>,
    table: Memo<Option<Arc<TableView>>>,
    query: Memo<TableQuery>,
    /// What stands in the field for filtering; it becomes part of the query after a pause.
    typed: RwSignal<String>,
    /// Loaded rows; those of the previous query while a request is pending.
    rows: RwSignal<Arc<TableRows>>,
    scroll: RwSignal<Scroll>,
    /// Rows for the query are on their way and what shows is of another one.
    stale: RwSignal<bool>,
    filter: RwSignal<FilterState>,
    /// All rows are wanted in a high box, whose rows the wheel moves.
    is_open: RwSignal<bool>,
    /// Width of the box in pixels; 0 until it is laid out.
    room_px: RwSignal<f64>,
    /// Places of the columns that show.
    visible: Memo<Vec<usize>>,
    /// Selected rows, by position among those that match.
    selected: Memo<RowSet>,
    /// The row that arrow keys move from, and where ranges start.
    current: RwSignal<u64>,
    /// The row whose menu is open, and where.
    menu: RwSignal<Option<(u64, Spot)>>,
    /// One request at a time: a worker that is busy does not get a queue of what nobody wants any more.
    asked: StoredValue<Option<TableQuery>>,
    /// The answer under way is out of date.
    again: StoredValue<bool>,
}

impl State {
    /// The side of a comparison that a column is of, which the end of its id says: the class of its colour, and its name.
    fn side_of(self, column: &str) -> Option<(&'static str, String)> {
        let (class, letter, at) = match column.rsplit('_').next()? {
            "a" => ("side-a", 'A', 0),
            "b" => ("side-b", 'B', 1),
            _ => return None,
        };
        let sides = self.sides.get_untracked()?;
        Some((class, format!("{letter}: {}", text::visible(&sides[at]))))
    }

    /// A question about this table. `None` once it is gone.
    fn asking(self, query: TableQuery) -> Option<TableAsk> {
        let table = self.table.try_get_untracked().flatten()?;
        let sort_by = query.sort.and_then(|sort| Some(table.columns.get(sort.column as usize)?.id.clone()));
        let table = TableId { report: self.report.try_get_value()?, table: table.id.clone() };
        Some(TableAsk { table, query, sort_by })
    }

    /// The query, with the last filter that could be used while there is something wrong with the one that is typed.
    fn usable_query(self) -> TableQuery {
        let query = self.query.get_untracked();
        match self.filter.get_untracked() {
            FilterState::Wrong { before, .. } => TableQuery { filter: before, ..query },
            FilterState::Usable(_) => query,
        }
    }

    fn have(self) -> Range<u64> {
        self.rows.with_untracked(|rows| rows.offset..rows.offset + rows.rows.len() as u64)
    }

    /// Requests visible rows that are not loaded, or all visible rows.
    fn ask(self, all: bool) {
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

    fn take(self, revision: u32, rows: TableRows) {
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

    /// Revision of the newest document.
    fn revision(self) -> Option<u32> {
        self.tab.document.with_untracked(|document| document.as_ref().map(|document| document.revision))
    }

    /// Keeps the sort on the same column where columns were added or left out; without it the table is in its own order.
    fn move_sort(self, before: &[ColumnView], now: &[ColumnView]) {
        let Some(sort) = self.query.with_untracked(|query| query.sort) else { return };
        let id = before.get(sort.column as usize).map(|column| &column.id);
        let at = now.iter().position(|column| Some(&column.id) == id);
        let sort = at.map(|at| Sort { column: at as u32, ..sort });
        self.act(|tab, table| Action::MoveSort { tab, table, sort });
    }

    fn show(self, rows: Arc<TableRows>) {
        let n_rows = rows.n_matching;
        self.rows.set(rows);
        self.stale.set(false);
        self.scroll.update(|scroll| {
            let screen_px = scroll.screen_px();
            scroll.resize(n_rows, screen_px);
        });
    }

    /// The numbers are others, or someone wants to see other rows.
    fn refresh(self, table: &TableView, query: &TableQuery) {
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
    fn notes_on(self, columns: &[ColumnView], values: &[Value]) -> Option<(usize, String)> {
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
    fn write_on(self, row: Option<u64>) {
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
    fn toggle_column(self, id: &str) {
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

    fn sort_by(self, column: u32) {
        let own = self.table.with_untracked(|table| table.as_ref().and_then(|table| table.sort));
        let numeric = self.table.with_untracked(|table| {
            table.as_ref().and_then(|table| table.columns.get(column as usize).map(|column| column.numeric))
        });
        let now = self.query.with_untracked(|query| query.sort);
        let sort = next_sort(now, own, column, numeric.unwrap_or(false));
        self.act(|tab, table| Action::Sort { tab, table, sort });
    }

    /// Changes how the table is looked at. Nothing happens once it is gone.
    fn act(self, action: impl FnOnce(u32, TableName) -> Action) {
        let id = self.table.with_untracked(|table| table.as_ref().map(|table| table.id.clone()));
        if let Some(id) = id {
            self.tab.app.act(action(self.tab.id, TableName::new(self.report.get_value(), id)));
        }
    }

    fn select(self, rows: RowSet) {
        self.act(|tab, table| Action::SelectRows { tab, table, rows });
    }

    /// Selects a row as a click does: it alone, or with those that are selected, or all from the current one.
    fn select_row(self, row: u64, adds: bool, extends: bool) {
        let mut rows = self.selected.get_untracked();
        if extends {
            let from = self.current.get_untracked();
            rows.insert(from.min(row)..from.max(row) + 1);
        } else if adds || rows == RowSet::of(row..row + 1) {
            rows.toggle(row);
        } else {
            rows = RowSet::of(row..row + 1);
        }
        self.current.set(row);
        self.select(rows);
    }

    /// Values of a row that is loaded.
    fn values_of(self, row: u64) -> Option<Vec<Value>> {
        self.rows.with_untracked(|rows| {
            let at = usize::try_from(row.checked_sub(rows.offset)?).ok()?;
            rows.rows.get(at).cloned()
        })
    }

    fn filter_by(self, filter: String) {
        self.act(|tab, table| Action::Filter { tab, table, filter });
    }
}

/// Width of the column with the menus of rows.
const ACTIONS_REM: f64 = 2.0;
/// Width of a digit in pixels, of the padding of a cell, and the least that a growing column takes in characters.
const CHAR_PX: f64 = 7.8;
const CELL_PX: f64 = 26.0;
const LEAST_GROWN_CHARS: usize = 30;
/// Columns of a table in its own order that show however narrow it is; it scrolls sideways then.
const MIN_COLUMNS: usize = 3;
/// Pixels of 1 rem, about.
const PX_PER_REM: f64 = 16.0;

/// Places of the columns that fit into `room_px`, in their order, with that of the sort among them.
fn fitting(columns: &[ColumnView], chars: &[usize], sorted: Option<u32>, room_px: f64) -> Vec<usize> {
    let width = |at: usize| {
        let most = if columns[at].numeric { usize::MAX } else { LEAST_GROWN_CHARS };
        chars.get(at).copied().unwrap_or(0).min(most) as f64 * CHAR_PX + CELL_PX
    };
    let mut left = room_px - ACTIONS_REM * PX_PER_REM;
    let sorted = sorted.map(|at| at as usize).filter(|at| *at < columns.len());
    if let Some(at) = sorted {
        left -= width(at);
    }
    // With the sorted column beside the first one, a narrow table says what matters.
    let n_always = if sorted.is_some_and(|at| at > 0) { 1 } else { MIN_COLUMNS };
    let mut is_full = false;
    let fits = |at: &usize| {
        if Some(*at) == sorted {
            return true;
        }
        left -= width(*at);
        is_full |= left < 0.0 && *at >= n_always;
        !is_full
    };
    (0..columns.len()).filter(fits).collect()
}

/// Places of the columns that show: those that are chosen, else those that fit into `room_px`.
fn visible_columns(
    table: &TableView,
    chosen: Option<&[String]>,
    sort: Option<Sort>,
    room_px: f64,
) -> Vec<usize> {
    let all = 0..table.columns.len();
    match chosen {
        Some(chosen) => all.filter(|at| chosen.contains(&table.columns[*at].id)).collect(),
        None if room_px > 0.0 => {
            let sorted = sort.or(table.sort).map(|sort| sort.column);
            fitting(&table.columns, &column_chars(table), sorted, room_px)
        }
        None => all.collect(),
    }
}

fn same_columns(a: &[ColumnView], b: &[ColumnView]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.id == b.id)
}

/// Where a click on a column's header leads: one direction, the other one, the table's own order.
/// Numbers start with the largest, text with the first of the alphabet.
fn next_sort(now: Option<Sort>, own: Option<Sort>, column: u32, numeric: bool) -> Option<Sort> {
    let shown = now.or(own).filter(|sort| sort.column == column);
    match (now, shown) {
        // In the table's own order already: turn it.
        (None, Some(own)) => Some(Sort { column, descending: !own.descending }),
        (Some(now), Some(_)) if now.descending == numeric && own.is_none_or(|own| own.column != column) => {
            Some(Sort { column, descending: !now.descending })
        }
        (Some(_), Some(_)) => None,
        (_, None) => Some(Sort { column, descending: numeric }),
    }
}

#[component]
pub fn TableBlock(
    tab: Tab,
    /// `id` of the report it stands in.
    report: StoredValue<String>,
    table: Memo<Option<Arc<TableView>>>,
) -> impl IntoView {
    let first = table.get_untracked();
    let n_first = first.as_ref().map_or(0, |table| table.n_rows);
    let row_px = ROW_REM * browser::root_font_px();
    let sides = Memo::new(move |_| {
        tab.document.with(|document| {
            let sides = document.as_ref()?.sides.as_ref()?;
            Some([sides.a.label.clone(), sides.b.label.clone()])
        })
    });
    let look = Memo::new(move |_| {
        let id = table.with(|table| table.as_ref().map(|table| table.id.clone()))?;
        tab.app.view.with(|view| report.with_value(|report| view.tab(tab.id)?.look(report, &id).cloned()))
    });
    let query = Memo::new(move |_| {
        look.with(|look| look.as_ref().map(|look| look.query.clone()).unwrap_or_default())
    });
    let chosen = Memo::new(move |_| look.with(|look| look.as_ref().and_then(|look| look.columns.clone())));
    let typed = RwSignal::new(query.with_untracked(|query| query.filter.clone()));
    let room_px = RwSignal::new(0.0);
    let visible = Memo::new(move |_| {
        let sort = query.with(|query| query.sort);
        table.with(|table| {
            let of = |table: &Arc<TableView>| {
                chosen.with(|chosen| visible_columns(table, chosen.as_deref(), sort, room_px.get()))
            };
            table.as_ref().map(of).unwrap_or_default()
        })
    });
    let state = State {
        tab,
        report,
        sides,
        table,
        typed,
        query,
        rows: RwSignal::new(Arc::new(first.map_or_else(TableRows::default, |table| table.first.clone()))),
        scroll: RwSignal::new(Scroll::new(n_first, row_px, FULL_ROWS as f64 * row_px)),
        stale: RwSignal::new(false),
        filter: RwSignal::new(FilterState::Usable(String::new())),
        is_open: RwSignal::new(false),
        room_px,
        visible,
        selected: Memo::new(move |_| {
            look.with(|look| look.as_ref().map(|look| look.rows.clone()).unwrap_or_default())
        }),
        current: RwSignal::new(0),
        menu: RwSignal::new(None),
        asked: StoredValue::new(None),
        again: StoredValue::new(false),
    };
    Effect::new(move |before: Option<Option<Arc<TableView>>>| {
        let now = table.get();
        if let (Some(Some(before)), Some(now)) = (&before, &now)
            && !same_columns(&before.columns, &now.columns)
        {
            state.move_sort(&before.columns, &now.columns);
        }
        // Positions are of the rows that were there.
        if let (Some(Some(before)), Some(now)) = (&before, &now)
            && before != now
            && before.n_rows != now.n_rows
        {
            state.select(RowSet::default());
        }
        let query = state.query.get();
        // A filter is judged anew once it is another one.
        if let FilterState::Wrong { filter, before, .. } = state.filter.get_untracked()
            && filter != query.filter
        {
            state.filter.set(FilterState::Usable(before));
        }
        if let Some(table) = &now {
            state.refresh(table, &query);
        }
        now
    });
    // Rows that came before their document.
    let revision =
        Memo::new(move |_| tab.document.with(|document| document.as_ref().map(|document| document.revision)));
    Effect::new(move |_| {
        revision.track();
        if state.stale.get_untracked() {
            state.ask(true);
        }
    });
    // Back and Forward, and what leads to rows, change the filter as well.
    Effect::new(move |_| {
        let filter = query.with(|query| query.filter.clone());
        if typed.with_untracked(|typed| *typed != filter) {
            typed.set(filter);
        }
    });
    let n_rows = Memo::new(move |_| table.with(|table| table.as_ref().map_or(0, |table| table.n_rows)));
    let long = Memo::new(move |_| n_rows.get() > FULL_ROWS);
    let head = NodeRef::<html::H3>::new();
    Effect::new(move |_| {
        // Its filter is set already, see [`Tab::lead_to`].
        let is_meant = tab.led_to.with(|rows| {
            rows.as_ref().is_some_and(|rows| {
                let is_this = |table: &Arc<TableView>| table.id == rows.table;
                report.with_value(|report| *report == rows.report)
                    && table.with_untracked(|table| table.as_ref().is_some_and(is_this))
            })
        });
        if let (true, Some(head)) = (is_meant, head.get()) {
            tab.led_to.set(None);
            browser::lead_to(&head);
        }
    });
    let text = move |of: fn(&TableView) -> &String| {
        table.with(|table| table.as_ref().map(|table| of(table).clone()).unwrap_or_default())
    };
    let title = Memo::new(move |_| text(|table| &table.title));
    let caption = Memo::new(move |_| text(|table| &table.caption));
    let empty = Memo::new(move |_| text(|table| &table.empty));
    let left_out = Memo::new(move |_| table.with(|table| table.as_ref().map_or(0, |table| table.n_left_out)));
    view! {
        <section class="table">
            <div class="table-head">
                <div class="table-titles">
                    <h3 node_ref=head tabindex="-1">
                        {title}
                    </h3>
                    <Show when=move || caption.with(|caption| !caption.is_empty())>
                        <p class="table-caption">{caption}</p>
                    </Show>
                </div>
                <Show when=move || n_rows.get() != 0>
                    <TableTools state n_rows long title />
                </Show>
            </div>
            <Show
                when=move || n_rows.get() != 0
                fallback=move || {
                    view! {
                        <p class="empty">
                            {move || empty.with(|text| if text.is_empty() { words().table.no_rows.to_string() } else { text.clone() })}
                        </p>
                    }
                }
            >
                <Rows state long title />
                <SelectedRows tab table selected=state.selected ask=Callback::new(move |()| state.asking(state.usable_query())) />
            </Show>
            <Show when=move || left_out.get() != 0>
                <p class="table-left-out">{move || (words().table.rows_left_out)(left_out.get())}</p>
            </Show>
        </section>
    }
}

/// Filter, count and copy.
#[component]
fn TableTools(state: State, n_rows: Memo<u64>, long: Memo<bool>, title: Memo<String>) -> impl IntoView {
    let typed = state.typed;
    let field = NodeRef::<html::Input>::new();
    let pause = browser::Pause::new();
    let filter = move |text: String| {
        typed.set(text.clone());
        pause.start(TYPING_MS, move || state.filter_by(text));
    };
    let filtered = Memo::new(move |_| state.query.with(|query| !query.filter.trim().is_empty()));
    let n_matching = Memo::new(move |_| state.rows.with(|rows| rows.n_matching));
    let copy = Callback::new(move |format: String| {
        let format = match format.as_str() {
            "markdown" => CopyFormat::Markdown,
            "csv" => CopyFormat::Csv,
            _ => CopyFormat::Tsv,
        };
        let Some(ask) = state.asking(state.usable_query()) else { return };
        let app = app();
        state.tab.ask(
            move |ticket| Request::Copy { ticket, ask, format },
            move |answer| match answer {
                Answer::Copied { text, n_rows } => browser::copy_text(text, move |copied| match copied {
                    true => app.say((words().table.copied)(n_rows)),
                    false => app.alert(words().table.not_copied.to_string()),
                }),
                Answer::Refused(failure) => app.alert((words().export.refused)(&failure.what, &failure.hint)),
                _ => {}
            },
        );
    });
    let n_columns =
        Memo::new(move |_| state.table.with(|table| table.as_ref().map_or(0, |table| table.columns.len())));
    let columns = Signal::derive(move || {
        let visible = state.visible.get();
        state.table.with(|table| {
            let columns = table.iter().flat_map(|table| table.columns.iter().enumerate());
            let item = |(at, column): (usize, &ColumnView)| MenuItem {
                id: column.id.clone(),
                label: column.label.clone(),
                checked: Some(visible.contains(&at)),
                ..MenuItem::default()
            };
            columns.map(item).collect::<Vec<_>>()
        })
    });
    let formats = words().table.copy_formats.map(|(id, label, detail)| MenuItem {
        id: id.to_string(),
        label: label.to_string(),
        detail: detail.to_string(),
        ..MenuItem::default()
    });
    view! {
        <div class="table-tools">
            <p class="table-count" role="status">
                {move || (words().table.rows_of)(filtered.get().then(|| n_matching.get()), n_rows.get())}
            </p>
            <Show when=move || long.get()>
                <label class="field" class:field-wrong=move || state.filter.with(FilterState::is_wrong)>
                    <Icon shape=Shape::Search />
                    <input
                        type="search"
                        placeholder=words().table.filter
                        aria-label=move || (words().table.filter_table)(&title.get())
                        autocomplete="off"
                        spellcheck="false"
                        data-key="/"
                        node_ref=field
                        aria-invalid=move || state.filter.with(|filter| filter.is_wrong().then_some("true"))
                        prop:value=typed
                        on:input:target=move |event| filter(event.target().value())
                        on:keydown=move |event| {
                            if event.key() == "Escape" {
                                if typed.with_untracked(String::is_empty) {
                                    browser::blur();
                                } else {
                                    filter(String::new());
                                }
                                event.prevent_default();
                                event.stop_propagation();
                            }
                        }
                    />
                    <kbd class="field-key" aria-hidden="true">
                        "/"
                    </kbd>
                </label>
            </Show>
            <Show when=move || state.tab.app.embed.is_none()>
                <button
                    type="button"
                    class="button button-icon"
                    aria-label=move || (words().notes.write_on_table)(&title.get())
                    title=move || (words().notes.write_on_table)(&title.get())
                    on:click=move |_| state.write_on(None)
                >
                    <Icon shape=Shape::Note />
                </button>
            </Show>
            <Show when=move || { n_columns.get() > 1 }>
                <Menu
                    label=Signal::derive(move || (words().table.choose_columns)(&title.get()))
                    shape=Shape::Columns
                    icon_only=true
                    is_choice_of_many=true
                    items=columns
                    on_pick=Callback::new(move |id: String| state.toggle_column(&id))
                />
            </Show>
            <Menu
                label=Signal::derive(move || (words().table.copy_table)(&title.get()))
                shape=Shape::Copy
                icon_only=true
                items=Signal::stored(formats.to_vec())
                on_pick=copy
            />
            <Show when=move || long.get()>
                <FilterHelp state field filter=Callback::new(filter) />
            </Show>
        </div>
    }
}

/// Columns that the last word begins, each with what the whole filter would be.
fn suggestions(state: State, typed: &str) -> Vec<(String, String)> {
    let start = typed.rfind([' ', '|']).map_or(0, |at| at + 1);
    let (before, word) = typed.split_at(start);
    let (sign, word) = if let Some(rest) = word.strip_prefix('-') { ("-", rest) } else { ("", word) };
    if word.is_empty() || word.contains([':', '<', '>', '=', '"', '/']) {
        return Vec::new();
    }
    let word = word.to_lowercase();
    let is_it = |column: &&ColumnView| {
        column.id.to_lowercase().starts_with(&word) || column.label.to_lowercase().starts_with(&word)
    };
    state.table.with(|table| {
        let columns = table.iter().flat_map(|table| &table.columns).filter(is_it);
        let whole = |column: &ColumnView| {
            let test = format!("{}{}", column.id, if column.numeric { ">" } else { ":" });
            (test.clone(), format!("{before}{sign}{test}"))
        };
        columns.map(whole).collect()
    })
}

/// What is wrong with the filter, below its box.
#[component]
fn FilterHelp(state: State, field: NodeRef<html::Input>, filter: Callback<String>) -> impl IntoView {
    let choose = move |text: String| {
        filter.run(text);
        if let Some(field) = field.get_untracked() {
            let _ = field.focus();
        }
    };
    let wrong = move || {
        state.filter.with(|filter| filter.problem().cloned()).map(|WrongFilter { from, to, what }| {
            let typed = state.query.with_untracked(|query| query.filter.clone());
            let part = typed.get(from as usize..to as usize).unwrap_or_default().to_string();
            view! {
                <Icon shape=Shape::Alert />
                <span>
                    <code><bdi>{part}</bdi></code> " " {what} " "
                    <button type="button" class="link" on:click=move |_| choose(String::new())>
                        {words().table.clear_filter}
                    </button>
                </span>
            }
        })
    };
    let offered = Memo::new(move |_| suggestions(state, &state.typed.get()));
    view! {
        <p class="filter-wrong" role="status">{wrong}</p>
        <Show when=move || offered.with(|offered| !offered.is_empty())>
            <p class="filter-offers">
                <span class="off-screen">{words().table.filter_columns}</span>
                {move || {
                    offered
                        .get()
                        .into_iter()
                        .map(|(label, text)| {
                            view! { <button type="button" class="chip" on:click=move |_| choose(text.clone())>{label}</button> }
                        })
                        .collect_view()
                }}
            </p>
        </Show>
    }
}

/// The box with the rows.
#[component]
fn Rows(state: State, long: Memo<bool>, title: Memo<String>) -> impl IntoView {
    let frame = NodeRef::<html::Div>::new();
    let head = NodeRef::<html::Thead>::new();
    let resizing: Local<Option<Resizing>> = StoredValue::new_local(None);
    // There are columns beyond the right edge.
    let has_more = RwSignal::new(false);
    let look_right = move || {
        let more = frame.try_get_untracked().flatten().is_some_and(|frame| browser::has_more_right(&frame));
        if has_more.try_get_untracked().is_some_and(|before| before != more) {
            has_more.set(more);
        }
    };
    let measure = move || {
        if let Some(frame) = frame.try_get_untracked().flatten() {
            let room = browser::width_of(&frame);
            // A hidden one has no width.
            if room > 0.0
                && state.room_px.try_get_untracked().is_some_and(|before| (before - room).abs() >= 1.0)
            {
                state.room_px.set(room);
            }
        }
        look_right();
        let (Some(frame), Some(head)) =
            (frame.try_get_untracked().flatten(), head.try_get_untracked().flatten())
        else {
            return;
        };
        // A table that stands in full is as high as its rows.
        let screen_px = browser::size_of(&frame) - browser::size_of(&head);
        if long.get_untracked() && screen_px > 0.0 {
            state.scroll.update(|scroll| {
                let n_rows = scroll.n_rows();
                scroll.resize(n_rows, screen_px);
            });
            state.ask(false);
        }
    };
    frame.on_load(move |frame| {
        // It is measured as soon as it has been laid out.
        resizing.set_value(Some(browser::on_resize(&frame, measure)));
    });
    // Another order or filter starts at the top.
    Effect::new(move |before: Option<()>| {
        state.query.track();
        if let (Some(()), Some(frame)) = (before, frame.get_untracked()) {
            browser::scroll_to(&frame, 0.0);
        }
    });
    let drawn = Memo::new(move |_| match long.get() {
        true => state.scroll.with(Scroll::drawn),
        false => 0..state.rows.with(|rows| rows.n_matching),
    });
    let n_matching = Memo::new(move |_| state.rows.with(|rows| rows.n_matching));
    let columns = Memo::new(move |_| {
        state.table.with(|table| table.as_ref().map(|table| table.columns.clone()).unwrap_or_default())
    });
    let visible = state.visible;
    let numbered = move || {
        // Sides that swap leave the columns as they are.
        state.sides.track();
        columns.with(|columns| {
            visible
                .get()
                .into_iter()
                .filter_map(|at| Some((at, columns.get(at)?.clone())))
                .collect::<Vec<_>>()
        })
    };
    // As wide as the first rows of the first report need it: columns do not jump while numbers come in.
    let widths = Memo::new(move |before: Option<&(Vec<usize>, Option<usize>)>| {
        state.table.with(|table| {
            let Some(table) = table else { return Default::default() };
            let mut chars = column_chars(table);
            if let Some((before, _)) = before.filter(|(before, _)| before.len() == chars.len()) {
                chars.iter_mut().zip(before).for_each(|(chars, before)| *chars = (*chars).max(*before));
            }
            let growing = growing_column(table, &chars);
            (chars, growing)
        })
    });
    // The width of each column in CSS, and whether it grows.
    let css_widths = Memo::new(move |_| {
        widths.with(|(chars, growing)| {
            columns.with(|columns| {
                let column = |(at, (chars, column)): (usize, (&usize, &ColumnView))| {
                    let grows = *growing == Some(at);
                    (column_width(at, *chars, column.numeric, grows), grows)
                };
                let all = chars.iter().zip(columns).enumerate();
                all.filter(|(at, _)| visible.with(|visible| visible.contains(at)))
                    .map(column)
                    .collect::<Vec<_>>()
            })
        })
    });
    Effect::new(move |_| {
        css_widths.track();
        browser::with_next_frame(look_right);
    });
    // The row by which Tab gets in among the rows.
    let is_way_in = move |row: u64| {
        let current = state.current.get();
        drawn.with(|drawn| if drawn.contains(&current) { row == current } else { row == drawn.start })
    };
    let open_all = move || {
        state.is_open.update(|is_open| *is_open = !*is_open);
        browser::after(0, move || {
            measure();
            if let Some(frame) = frame.try_get_untracked().flatten() {
                let _ = frame.focus();
            }
        });
    };
    let total = move || {
        css_widths.with(|widths| {
            let widths: Vec<&str> = widths.iter().map(|(width, _)| width.as_str()).collect();
            format!("calc({} + {ACTIONS_REM}rem)", widths.join(" + "))
        })
    };
    view! {
        <div
            class="table-frame"
            class:table-long=move || long.get()
            class:table-more=move || has_more.get()
            class:table-open=move || state.is_open.get()
            class:table-stale=move || state.stale.get()
            role="region"
            tabindex="0"
            aria-label=move || (words().table.rows_region)(&title.get())
            node_ref=frame
            on:scroll=move |_| {
                app().tip.set(None);
                look_right();
                if let (true, Some(frame)) = (long.get_untracked(), frame.get_untracked()) {
                    let top = browser::scroll_top_of(&frame);
                    state.scroll.update(|scroll| scroll.move_to(top));
                    // A row with the focus that scrolls away is removed.
                    let is_gone = !state.scroll.with_untracked(Scroll::drawn).contains(&state.current.get_untracked());
                    if is_gone && browser::focused_inside_as(&frame, "tr") {
                        let _ = frame.focus();
                    }
                    state.ask(false);
                }
            }
        >
            <div
                class="table-space"
                style:min-width=total
                style=(
                    "--rows-height",
                    move || if long.get() { format!("{}px", state.scroll.with(Scroll::space_px)) } else { String::new() },
                )
            >
                <table
                    role="grid"
                    aria-multiselectable="true"
                    aria-rowcount=move || (n_matching.get() + 1).to_string()
                    aria-colcount=move || columns.with(Vec::len).to_string()
                    aria-label=move || title.get()
                    aria-busy=move || state.stale.get().to_string()
                    style:top=move || {
                        match long.get() {
                            true => format!("{}px", state.scroll.with(|scroll| scroll.row_px(drawn.get().start))),
                            false => String::new(),
                        }
                    }
                >
                    <colgroup>
                        {move || {
                            css_widths
                                .get()
                                .into_iter()
                                .map(|(width, grows)| {
                                    view! { <col style:width=if grows { "auto".to_string() } else { width } /> }
                                })
                                .collect_view()
                        }}
                        <col style:width=format!("{ACTIONS_REM}rem") />
                    </colgroup>
                    <thead node_ref=head>
                        <tr aria-rowindex="1">
                            <For
                                each=numbered
                                key=move |(at, column)| (*at, column.id.clone(), column.label.clone(), state.side_of(&column.id))
                                children=move |(at, column)| {
                                    let side = state.side_of(&column.id);
                                    let hint = match &side {
                                        Some((_, name)) if column.hint.is_empty() => name.clone(),
                                        _ => column.hint,
                                    };
                                    view! {
                                        <HeaderCell
                                            state
                                            at=at as u32
                                            label=column.label
                                            hint
                                            numeric=column.numeric
                                            side=side.map(|(class, _)| class)
                                        />
                                    }
                                }
                            />
                            <td class="row-actions"></td>
                        </tr>
                    </thead>
                    <tbody>
                        <For each=move || drawn.get() key=|row| *row let:row>
                            <tr
                                aria-rowindex=(row + 2).to_string()
                                aria-selected=move || state.selected.with(|rows| rows.contains(row)).to_string()
                                class:row-odd=row % 2 == 1
                                tabindex=move || if is_way_in(row) { "0" } else { "-1" }
                                on:focus=move |_| state.current.set(row)
                                on:mousedown=move |event| {
                                    // Not text from there to here.
                                    if event.shift_key() {
                                        event.prevent_default();
                                    }
                                }
                                on:click=move |event| {
                                    if !browser::is_on_control(&event) && !browser::has_selected_text() {
                                        state.select_row(row, event.ctrl_key() || event.meta_key(), event.shift_key());
                                    }
                                }
                                on:contextmenu=move |event| {
                                    if !browser::has_selected_text() {
                                        event.prevent_default();
                                        state.menu.set(Some((row, browser::spot_of(&event))));
                                    }
                                }
                                on:keydown=move |event| {
                                    if !browser::is_on_control(&event) && press_on_row(state, frame, row, &event) {
                                        event.prevent_default();
                                        event.stop_propagation();
                                    }
                                }
                            >
                                {move || row_view(state, &columns, &visible, row)}
                                <td class="row-actions">
                                    <button
                                        type="button"
                                        class="row-actions-open"
                                        tabindex="-1"
                                        aria-haspopup="menu"
                                        aria-label=words().table.row_menu
                                        title=words().table.row_menu
                                        on:click=move |event| state.menu.set(Some((row, browser::spot_of(&event))))
                                    >
                                        "⋯"
                                    </button>
                                </td>
                            </tr>
                        </For>
                    </tbody>
                </table>
            </div>
            <Show when=move || n_matching.get() == 0>
                <p class="empty table-none">{words().table.nothing_matches}</p>
            </Show>
        </div>
        <RowMenu
            open=state.menu
            items=Signal::derive(move || row_actions(state, long.get()))
            on_pick=Callback::new(move |(row, id)| act_on_row(state, row, id))
            on_leave=Callback::new(move |row| focus_row(frame, row))
        />
        <Show when=move || long.get() && (n_matching.get() > FULL_ROWS || state.is_open.get())>
            <button type="button" class="link table-all" aria-expanded=move || state.is_open.get().to_string() on:click=move |_| open_all()>
                {move || match state.is_open.get() {
                    true => words().table.show_fewer.to_string(),
                    false => (words().table.show_all)(n_matching.get()),
                }}
            </button>
        </Show>
    }
}

fn focus_row(frame: NodeRef<html::Div>, row: u64) {
    if let Some(frame) = frame.get_untracked() {
        browser::focus_inside(&frame, &format!("tr[aria-rowindex='{}']", row + 2));
    }
}

/// What a key does on a row that has the focus; false if nothing.
fn press_on_row(state: State, frame: NodeRef<html::Div>, row: u64, event: &KeyboardEvent) -> bool {
    if event.alt_key() || event.ctrl_key() || event.meta_key() {
        return false;
    }
    let n_rows = state.rows.with_untracked(|rows| rows.n_matching);
    let to = match event.key().as_str() {
        "ArrowDown" => (row + 1).min(n_rows.saturating_sub(1)),
        "ArrowUp" => row.saturating_sub(1),
        " " => {
            state.select_row(row, true, event.shift_key());
            return true;
        }
        "Enter" => {
            let at =
                frame.get_untracked().and_then(|frame| browser::spot_of_focus(&frame)).unwrap_or_default();
            state.menu.set(Some((row, at)));
            return true;
        }
        "Escape" if state.selected.with_untracked(|rows| !rows.is_empty()) => {
            state.select(RowSet::default());
            return true;
        }
        _ => return false,
    };
    if event.shift_key() {
        let mut rows = state.selected.get_untracked();
        rows.insert(row.min(to)..row.max(to) + 1);
        state.select(rows);
    }
    focus_row(frame, to);
    true
}

/// Actions of the menu of a row.
const COPY_ROW: &str = "copy-row";
const COPY_NAME: &str = "copy-name";
const FILTER: &str = "filter";
const NOTE: &str = "note";

/// What can be done with a row.
fn row_actions(state: State, can_filter: bool) -> Vec<(&'static str, &'static str)> {
    let words = &words().table;
    let mut items = vec![(COPY_ROW, words.copy_row), (COPY_NAME, words.copy_name)];
    if can_filter {
        items.push((FILTER, words.filter_by_row));
    }
    if state.tab.app.embed.is_none() {
        items.push((NOTE, words.note_on_row));
    }
    items
}

fn act_on_row(state: State, row: u64, action: &str) {
    let (Some(table), Some(values)) = (state.table.get_untracked(), state.values_of(row)) else { return };
    let app = state.tab.app;
    let copy = move |text: String| {
        browser::copy_text(text, move |copied| match copied {
            true => app.say((words().table.copied)(1)),
            false => app.alert(words().table.not_copied.to_string()),
        });
    };
    match action {
        COPY_ROW => {
            let cells: Vec<String> =
                values.iter().map(|value| value.plain().replace(['\t', '\n', '\r'], " ")).collect();
            copy(cells.join("\t"));
        }
        COPY_NAME => {
            let at = table.columns.iter().position(|column| column.key).unwrap_or(0);
            copy(values.get(at).map(Value::plain).unwrap_or_default());
        }
        FILTER => {
            let anchors = row_anchors(&state.report.get_value(), &table.id, &table.columns, &values);
            let is_searched = |id: &str| {
                table.columns.iter().any(|column| column.id == id && (column.key || !column.numeric))
            };
            state.filter_by(anchors.row.filter(&is_searched));
        }
        _ => state.write_on(Some(row)),
    }
}

fn row_view(state: State, columns: &Memo<Vec<ColumnView>>, visible: &Memo<Vec<usize>>, row: u64) -> AnyView {
    state.rows.with(|rows| {
        let values = row.checked_sub(rows.offset).and_then(|at| rows.rows.get(usize::try_from(at).ok()?));
        let visible = visible.get();
        columns.with(|columns| match values {
            Some(values) => visible
                .iter()
                .filter_map(|at| Some((*at, columns.get(*at)?)))
                .map(|(at, column)| {
                    let mark = (Some(&at) == visible.first())
                        .then(|| mark_view(state, columns, values, row))
                        .flatten();
                    let max = rows.column_max.get(at).copied().unwrap_or(0.0);
                    cell_view(at, column, values.get(at), max, mark)
                })
                .collect_view()
                .into_any(),
            // On its way.
            None => visible
                .iter()
                .map(|at| {
                    view! { <td class="cell-waiting" aria-colindex=(at + 1).to_string()><span></span></td> }
                })
                .collect_view()
                .into_any(),
        })
    })
}

/// The mark of a row that someone wrote on, which leads to the note; else a place to press in order to write one. Keys have the
/// button above the table.
fn mark_view(state: State, columns: &[ColumnView], values: &[Value], row: u64) -> Option<AnyView> {
    if state.tab.app.embed.is_some() {
        return None;
    }
    match state.notes_on(columns, values) {
        Some((number, text)) => {
            let label = (words().notes.mark)(&text::visible(&text));
            let title = label.clone();
            Some(
                view! {
                    <button
                        type="button"
                        class="row-note row-note-on"
                        aria-label=label
                        title=title
                        on:click=move |_| state.tab.writing.set(Some(Writing::Old(number)))
                    >
                        <Icon shape=Shape::Note />
                    </button>
                }
                .into_any(),
            )
        }
        None => Some(
            view! {
                <span
                    class="row-note"
                    aria-hidden="true"
                    title=words().notes.write_on_row
                    on:click=move |_| state.write_on(Some(row))
                >
                    <Icon shape=Shape::Note />
                </span>
            }
            .into_any(),
        ),
    }
}

#[component]
fn HeaderCell(
    state: State,
    at: u32,
    label: String,
    hint: String,
    numeric: bool,
    /// The colour of the side that the column is of.
    side: Option<&'static str>,
) -> impl IntoView {
    let own = move || state.table.with(|table| table.as_ref().and_then(|table| table.sort));
    let order = Memo::new(move |_| {
        let sort = state.query.with(|query| query.sort).or_else(own);
        sort.filter(|sort| sort.column == at).map(|sort| sort.descending)
    });
    let button = NodeRef::<html::Button>::new();
    let has_hint = !hint.is_empty();
    let shown_hint = hint.clone();
    let explain = move || {
        if let (true, Some(button)) = (has_hint, button.get_untracked()) {
            app().tip.set(Some(Tip { text: shown_hint.clone(), at: browser::spot_below(&button) }));
        }
    };
    let explain_too = explain.clone();
    let hush = move || app().tip.set(None);
    view! {
        <th
            scope="col"
            aria-colindex=(at + 1).to_string()
            class=side.unwrap_or_default()
            class:cell-number=numeric
            aria-sort=move || match order.get() {
                Some(true) => "descending",
                Some(false) => "ascending",
                None => "none",
            }
        >
            <button
                type="button"
                class="sort"
                class:sort-hint=has_hint
                aria-description=has_hint.then(|| hint.clone())
                node_ref=button
                on:click=move |_| state.sort_by(at)
                on:mouseenter=move |_| explain()
                on:focus=move |_| explain_too()
                on:mouseleave=move |_| hush()
                on:blur=move |_| hush()
            >
                <span class="sort-label">{label}</span>
                {move || {
                    let shape = match order.get() {
                        Some(true) => Shape::Descending,
                        Some(false) => Shape::Ascending,
                        None => Shape::Sort,
                    };
                    view! { <span class="sort-arrow" class:sort-on=order.get().is_some()><Icon shape /></span> }
                }}
            </button>
        </th>
    }
}

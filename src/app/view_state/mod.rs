//! What one looks at: which tab and report show, how tables are sorted and filtered, what is searched for.
//!
//! [`ViewState`] is all of it, an [`Action`] is one change, [`reduce`] applies it, and [`Place`] is the part that the address
//! stands for. [`Log`] says which changes are steps that Back walks. Everything else about a tab is elsewhere: its worker and
//! progress, its document, its notes.
//!
//! Pure: it knows neither the browser nor signals, so `tests/view_state.rs` runs it natively.

mod action;
mod address;
mod flame_look;
mod log;
mod rows;

pub use action::{Action, reduce};
pub use flame_look::usual_libraries;
pub use log::{Entry, Log};
pub use rows::RowSet;

use tracedrop::engine::protocol::{ColorBy, FlameQuery, TableSpot};
use tracedrop::report::Amounts;
use tracedrop::report::view::TableQuery;

/// What one looks at, on the whole page.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ViewState {
    /// The tab in front; `None` for the start screen.
    pub active: Option<u32>,
    /// The privacy screen is shown instead of the start screen.
    pub is_privacy: bool,
    /// Text of the search over everything; `None` while it is closed.
    pub search: Option<String>,
    /// Tabs that were looked at in another way than by default.
    pub tabs: Vec<TabView>,
}

/// What one looks at in a tab.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct TabView {
    pub id: u32,
    /// `id` of the report; `None` for the first one.
    pub report: Option<String>,
    /// Name of the file whose parts of reports show, where they have parts of several; empty for all files, `None` for as many as are
    /// not too much.
    pub file: Option<String>,
    /// Invariant: ordered by name, one for each table, none that is as by default.
    pub tables: Vec<TableLook>,
    /// Of the timeline; `None` for all of it.
    pub timeline: Option<TimelineLook>,
    /// Of the flame graph.
    pub flame: FlameQuery,
}

/// How the timeline is looked at. Times are nanoseconds from its start.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct TimelineLook {
    /// First and last time in view.
    pub view: (u64, u64),
    /// The selected event: its part of the timeline, and its number there.
    pub selected: Option<(u32, u32)>,
    /// Selected stretch of time.
    pub stretch: Option<(u64, u64)>,
    /// Text that is searched for.
    pub search: String,
    /// Only tracks with this text in their names show.
    pub tracks: String,
    /// Numbers of the tracks at the top, in order.
    pub pinned: Vec<u32>,
    pub color_by: ColorBy,
    /// Numbers of the tracks that are folded though they start open, or open though they start folded.
    pub folds: Vec<u32>,
}

/// A table by `id` of its report and itself.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TableName {
    pub report: String,
    pub table: String,
}

/// How a table is looked at.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct TableLook {
    pub name: TableName,
    pub query: TableQuery,
    /// `id`s of the columns that are chosen; `None` for those that fit.
    pub columns: Option<Vec<String>>,
    /// Selected rows, by position among those that match the filter, in the order of the query.
    pub rows: RowSet,
    /// How amounts are shown.
    pub amounts: Amounts,
}

/// What shows: the part of the state that an address stands for.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Place {
    pub is_privacy: bool,
    pub search: Option<String>,
    /// The tab in front.
    pub tab: Option<TabView>,
}

impl ViewState {
    /// `None` while everything in it is as by default.
    pub fn tab(&self, id: u32) -> Option<&TabView> {
        self.tabs.iter().find(|tab| tab.id == id)
    }

    pub fn place(&self) -> Place {
        let tab = self.active.map(|id| match self.tab(id) {
            Some(tab) => tab.clone(),
            None => TabView::new(id),
        });
        Place { is_privacy: self.is_privacy, search: self.search.clone(), tab }
    }

    fn tab_mut(&mut self, id: u32) -> &mut TabView {
        let at = self.tabs.iter().position(|tab| tab.id == id).unwrap_or_else(|| {
            self.tabs.push(TabView::new(id));
            self.tabs.len() - 1
        });
        &mut self.tabs[at]
    }
}

impl TabView {
    /// Everything as by default.
    pub fn new(id: u32) -> TabView {
        TabView { id, ..TabView::default() }
    }

    /// With the tables as in a link or a Tracedrop file.
    pub fn as_sent(id: u32, report: Option<String>, tables: &[TableSpot]) -> TabView {
        let mut view = TabView { id, report, ..TabView::default() };
        view.set_queries(tables);
        view
    }

    /// `None` if the table shows as by default.
    pub fn look(&self, report: &str, table: &str) -> Option<&TableLook> {
        self.tables.iter().find(|look| look.name.report == report && look.name.table == table)
    }

    /// Sort order and filter of each table, as far as they differ from the default.
    pub fn queries(&self) -> Vec<TableSpot> {
        let tables = self.tables.iter().filter(|look| look.query != TableQuery::default());
        let spot = |look: &TableLook| TableSpot {
            report: look.name.report.clone(),
            table: look.name.table.clone(),
            query: look.query.clone(),
            chosen: None,
        };
        tables.map(spot).collect()
    }

    /// Whether it differs from another only in what neither a link nor a Tracedrop file says.
    pub fn is_as_sent(&self, report: &Option<String>, tables: &[TableSpot]) -> bool {
        let is_as_usual = |look: &TableLook| {
            look.columns.is_none() && look.rows.is_empty() && look.amounts == Amounts::Absolute
        };
        self.report == *report
            && *self == TabView::as_sent(self.id, report.clone(), tables)
            && self.tables.iter().all(is_as_usual)
    }

    /// Changes how a table is looked at.
    fn change(&mut self, name: &TableName, change: impl FnOnce(&mut TableLook)) {
        let at = self.tables.binary_search_by(|look| look.name.cmp(name));
        let mut look = match at {
            Ok(at) => self.tables.remove(at),
            Err(_) => TableLook { name: name.clone(), ..TableLook::default() },
        };
        change(&mut look);
        if look != (TableLook { name: name.clone(), ..TableLook::default() }) {
            let (Ok(at) | Err(at)) = at;
            self.tables.insert(at, look);
        }
    }

    /// Sets sort order and filter of all tables; columns and amounts stay.
    fn set_queries(&mut self, tables: &[TableSpot]) {
        let known: Vec<TableName> = self.tables.iter().map(|look| look.name.clone()).collect();
        for name in known {
            self.change(&name, |look| {
                look.query = TableQuery::default();
                look.rows = RowSet::default();
            });
        }
        for spot in tables {
            let name = TableName { report: spot.report.clone(), table: spot.table.clone() };
            self.change(&name, |look| look.query = spot.query.clone());
        }
    }
}

impl TableName {
    pub fn new(report: impl Into<String>, table: impl Into<String>) -> TableName {
        TableName { report: report.into(), table: table.into() }
    }
}

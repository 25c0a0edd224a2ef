//! Changes of what one looks at.

use super::{Place, RowSet, TabView, TableLook, TableName, TimelineLook, ViewState};
use tracedrop::engine::protocol::{FlameQuery, TableSpot};
use tracedrop::report::{Amounts, Sort};

/// One change of what one looks at. `tab` is the `id` of a tab.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Show a tab, or the start screen.
    ShowTab(Option<u32>),
    ShowPrivacy,
    /// Search for this text over everything; `None` closes the search.
    Search(Option<String>),
    /// `None` for the first report.
    ShowReport {
        tab: u32,
        report: Option<String>,
    },
    /// Show the parts of a file in reports on several; empty for all.
    ShowFile {
        tab: u32,
        file: Option<String>,
    },
    Sort {
        tab: u32,
        table: TableName,
        sort: Option<Sort>,
    },
    /// The columns of a table are others, so that of the sort is elsewhere.
    MoveSort {
        tab: u32,
        table: TableName,
        sort: Option<Sort>,
    },
    Filter {
        tab: u32,
        table: TableName,
        filter: String,
    },
    /// Choose columns by `id`; `None` for those that fit.
    ChooseColumns {
        tab: u32,
        table: TableName,
        columns: Option<Vec<String>>,
    },
    /// Show amounts as they are, as percent, or per step.
    ShowAmounts {
        tab: u32,
        table: TableName,
        amounts: Amounts,
    },
    SelectRows {
        tab: u32,
        table: TableName,
        rows: RowSet,
    },
    /// Show the rows of a table that match `filter`; `None` for a table that shows in full.
    LeadTo {
        tab: u32,
        table: TableName,
        filter: Option<String>,
    },
    /// Look at the timeline; `is_step` if that is more than zooming and panning.
    LookAtTime {
        tab: u32,
        look: Option<TimelineLook>,
        is_step: bool,
    },
    /// Look at the timeline at what the step before has led to.
    ArriveAtTime {
        tab: u32,
        look: Option<TimelineLook>,
    },
    /// Look at the flame graph; `is_step` if that is more than another letter of a search.
    LookAtFlame {
        tab: u32,
        look: Box<FlameQuery>,
        is_step: bool,
    },
    /// Show a report and tables as a sender saw them.
    LookAs {
        tab: u32,
        report: Option<String>,
        tables: Vec<TableSpot>,
    },
    /// Show a tab as it was before it was closed.
    Restore(TabView),
    /// The tab is closed.
    Close(u32),
    /// Show the place of an entry of the browser's history.
    GoTo(Place),
}

/// The state after an action.
pub fn reduce(mut state: ViewState, action: Action) -> ViewState {
    match action {
        Action::ShowTab(id) => {
            state.active = id;
            state.is_privacy = false;
        }
        Action::ShowPrivacy => {
            state.active = None;
            state.is_privacy = true;
        }
        Action::Search(text) => state.search = text,
        Action::ShowReport { tab, report } => state.tab_mut(tab).report = report,
        Action::ShowFile { tab, file } => state.tab_mut(tab).file = file,
        Action::Sort { tab, table, sort } => state.tab_mut(tab).change(&table, |look| {
            look.query.sort = sort;
            look.rows = RowSet::default();
        }),
        Action::MoveSort { tab, table, sort } => {
            state.tab_mut(tab).change(&table, |look| look.query.sort = sort);
        }
        Action::Filter { tab, table, filter } => {
            state.tab_mut(tab).change(&table, |look| set_filter(look, filter));
        }
        Action::ChooseColumns { tab, table, columns } => {
            state.tab_mut(tab).change(&table, |look| look.columns = columns);
        }
        Action::ShowAmounts { tab, table, amounts } => {
            state.tab_mut(tab).change(&table, |look| look.amounts = amounts);
        }
        Action::SelectRows { tab, table, rows } => {
            state.tab_mut(tab).change(&table, |look| look.rows = rows);
        }
        Action::LeadTo { tab, table, filter } => {
            let view = state.tab_mut(tab);
            if let Some(filter) = filter {
                view.change(&table, |look| set_filter(look, filter));
            }
            view.report = Some(table.report);
        }
        Action::LookAtTime { tab, look, is_step: _ } | Action::ArriveAtTime { tab, look } => {
            state.tab_mut(tab).timeline = look;
        }
        Action::LookAtFlame { tab, look, is_step: _ } => state.tab_mut(tab).flame = *look,
        Action::LookAs { tab, report, tables } => {
            let view = state.tab_mut(tab);
            view.report = report;
            view.set_queries(&tables);
        }
        Action::Restore(view) => put(&mut state, view),
        Action::Close(id) => {
            state.tabs.retain(|tab| tab.id != id);
            state.active = state.active.filter(|active| *active != id);
        }
        Action::GoTo(Place { is_privacy, search, tab }) => {
            state.is_privacy = is_privacy;
            state.search = search;
            state.active = tab.as_ref().map(|tab| tab.id);
            if let Some(tab) = tab {
                put(&mut state, tab);
            }
        }
    }
    state
}

fn put(state: &mut ViewState, view: TabView) {
    let id = view.id;
    *state.tab_mut(id) = view;
}

/// Other rows match another filter, so none of them is selected.
fn set_filter(look: &mut TableLook, filter: String) {
    if look.query.filter != filter {
        look.query.filter = filter;
        look.rows = RowSet::default();
    }
}

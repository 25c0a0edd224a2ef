//! What one looks at, as signals, and its way into the address: Back and Forward lead through it.
//!
//! Each step is an entry of the browser's history. The address of a tab that is closed, or of an earlier load of the page, leads to
//! the start screen.

use super::{App, FULL_ROWS, Source, Tab};
use crate::app::browser;
use crate::app::erased::{effect_again, memo};
use crate::app::view_state::{Action, Entry, Place, TabView, TableName, ViewState, reduce};
use leptos::prelude::*;
use tracedrop::engine::protocol::{BlockView, TableSpot};
use tracedrop::report::RowsOf;
use tracedrop::report::view::TableQuery;

impl App {
    /// Changes what one looks at.
    pub fn act(self, action: Action) {
        let before = self.view.get_untracked();
        let after = reduce(before.clone(), action.clone());
        if after != before {
            self.log.update_value(|log| log.note(&action));
            self.view.set(after);
        }
    }

    pub fn open_search(self) {
        if !self.search.get_untracked() {
            self.act(Action::Search(Some(String::new())));
        }
    }

    pub fn close_search(self) {
        self.act(Action::Search(None));
    }

    /// The address of a place: that of a link as long as the report shows as it came.
    fn address_of(self, place: &Place) -> String {
        let view = place.tab.as_ref().filter(|_| place.search.is_none());
        let link = view.and_then(|view| {
            let tab = self.tab(view.id)?;
            let (report, tables) = tab.as_sent.get_value().unwrap_or_default();
            let is_as_sent = view.is_as_sent(&report, &tables);
            tab.source.with_value(|source| match source {
                Some(Source::Link(fragment)) if is_as_sent => Some(fragment.clone()),
                _ => None,
            })
        });
        link.unwrap_or_else(|| place.fragment(&browser::load_id()))
    }

    /// Keeps the address in step with what shows, and what shows in step with the address.
    pub fn follow_history(self) {
        let shown = memo(move || self.view.with(ViewState::place));
        effect_again(move |again| {
            let place = shown.get();
            let entry = self.log.try_update_value(|log| log.settle(&place, browser::now_ms()));
            if !again {
                return;
            }
            let address = self.address_of(&place);
            match entry {
                _ if address == browser::fragment() => {}
                Some(Entry::Push) => browser::push_fragment(&address),
                Some(Entry::Replace) => browser::replace_fragment(&address),
                Some(Entry::None) | None => {}
            }
        });
        browser::on_history(move || {
            if let Some(place) = self.place_in_address() {
                self.show(place.tab.as_ref().map(|tab| tab.id));
                self.act(Action::GoTo(place));
                let place = self.view.with_untracked(ViewState::place);
                self.log.update_value(|log| log.went_to(place));
            }
        });
    }

    /// `None` where the address names a part of the page.
    fn place_in_address(self) -> Option<Place> {
        let fragment = browser::fragment();
        let place = match self.tab_of_link(&fragment) {
            Some(id) => {
                let as_sent = self.tab(id).and_then(|tab| tab.as_sent.get_value());
                let (report, tables) = as_sent.unwrap_or_default();
                Place { tab: Some(TabView::as_sent(id, report, &tables)), ..Place::default() }
            }
            None => Place::parse(&fragment, &browser::load_id())?,
        };
        let is_closed = place.tab.as_ref().is_some_and(|tab| self.tab(tab.id).is_none());
        Some(if is_closed { Place::default() } else { place })
    }

    /// The open tab with the report of a link.
    pub fn tab_of_link(self, fragment: &str) -> Option<u32> {
        let is_it = |source: &Option<Source>| matches!(source, Some(Source::Link(link)) if link == fragment);
        self.tabs
            .with_untracked(|tabs| tabs.iter().find(|tab| tab.source.with_value(is_it)).map(|tab| tab.id))
    }
}

impl Tab {
    /// `None` for the first report.
    pub fn show_report(self, report: Option<String>) {
        self.app.act(Action::ShowReport { tab: self.id, report });
    }

    /// Shows the parts of a file in reports on several; empty for all.
    pub fn show_file(self, file: Option<String>) {
        self.app.act(Action::ShowFile { tab: self.id, file });
    }

    /// Shows a report and orders and filters of tables as a sender saw them.
    pub fn look_as(self, report: Option<String>, mut tables: Vec<TableSpot>) {
        tables.retain(|spot| spot.query != TableQuery::default());
        self.as_sent.set_value(Some((report.clone(), tables.clone())));
        if !self.is_reopened.get_value() {
            self.app.act(Action::LookAs { tab: self.id, report, tables });
        }
    }

    /// Shows rows of a table of some report.
    pub fn lead_to(self, rows: RowsOf) {
        // A table that is shown in full takes no filter.
        let takes_filter = self.document.with_untracked(|document| {
            let reports = document.iter().flat_map(|document| &document.reports);
            let blocks = reports.filter(|report| report.id == rows.report).flat_map(|report| &report.blocks);
            blocks.into_iter().any(|block| {
                matches!(block, BlockView::Table(table) if table.id == rows.table && table.n_rows > FULL_ROWS)
            })
        });
        let table = TableName::new(&rows.report, &rows.table);
        let filter = takes_filter.then(|| rows.filter.clone());
        self.app.act(Action::LeadTo { tab: self.id, table, filter });
        self.led_to.set(Some(rows));
    }
}

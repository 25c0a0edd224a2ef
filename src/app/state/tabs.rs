//! Tabs come, go and come back.

use super::{App, Phase, SHOWN_TAB, Source, Tab};
use crate::app::browser::{self, Ranges};
use crate::app::custom_rules::CustomRules;
use crate::app::view_state::{Action, TabView};
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::analysis::Query;
use tracedrop::engine::protocol::KeptView;
use tracedrop::report::Notes;

/// Closed tabs that can be opened again.
const MAX_CLOSED: usize = 10;

/// A tab that was closed.
pub struct Closed {
    id: u32,
    source: Source,
    query: Option<Query>,
    ranges: Option<Ranges>,
    drafts: Vec<(CustomRules, String)>,
    format: Option<&'static str>,
    only: Option<(i64, i64)>,
    view: TabView,
    notes: Notes,
}

impl App {
    /// Opens a file by its handle, or else from its index, without the file.
    pub fn open_kept(self, entry: KeptView) {
        let name = entry.file_name.clone();
        if !self.services.recent_files.reopenable.with_untracked(|names| names.contains(&name)) {
            self.open_tab(Source::Kept(entry));
            return;
        }
        self.services.recent_files.reopen(name, move |file| {
            self.open_tab(file.map_or(Source::Kept(entry), Source::File));
        });
    }

    /// Opens a file that was open before: by its handle, from its index, or by asking for it.
    pub fn open_again(self, name: String, kept: Option<KeptView>) {
        match kept {
            Some(entry) => self.open_kept(entry),
            None => self.services.recent_files.reopen(name, move |file| match file {
                Some(file) => self.open(vec![file]),
                None => self.choose_files(),
            }),
        }
    }

    /// Opens a tab, shows it and parses its source.
    pub fn open_tab(self, source: Source) -> Tab {
        let tab = self.add_tab(source);
        self.show(Some(tab.id));
        tab
    }

    /// Adds a tab that parses its source when shown.
    pub fn add_tab(self, source: Source) -> Tab {
        let tab = self.owner.with_value(|owner| owner.with(|| Tab::new(self, source)));
        self.look_as_before_reload(tab);
        self.tabs.update(|tabs| tabs.push(tab));
        tab
    }

    /// Shows a tab, or the start screen, as it was left.
    pub fn show(self, id: Option<u32>) {
        if let Some(tab) = self.active_tab() {
            tab.top_px.set_value(browser::window_top());
            tab.run.seen_ms.set_value(browser::now_ms());
        }
        self.tip.set(None);
        let is_other = self.active.get_untracked() != id;
        if is_other {
            // The next screen may be shorter than where this one is scrolled to, and would jump.
            browser::scroll_window_to(0.0);
        }
        self.act(Action::ShowTab(id));
        if is_other {
            let top = id.and_then(|id| self.tab(id)).map_or(0.0, |tab| tab.top_px.get_value());
            browser::after(0, move || {
                browser::catch_focus(&[SHOWN_TAB, ".brand"]);
                browser::scroll_window_to(top);
            });
        }
        if let Some(tab) = self.active_tab().filter(|tab| tab.run.phase.get_untracked() == Phase::Waiting) {
            tab.start();
        }
    }

    /// Shows the privacy screen.
    pub fn show_privacy(self) {
        self.show(None);
        self.act(Action::ShowPrivacy);
        browser::after(0, || {
            browser::scroll_window_to(0.0);
            browser::focus_first("#main");
        });
    }

    /// Shows the tab at a place of the strip.
    pub fn show_at(self, at: usize) -> bool {
        let id = self.tabs.with_untracked(|tabs| tabs.get(at).map(|tab| tab.id));
        if id.is_some() {
            self.show(id);
        }
        id.is_some()
    }

    /// Shows the tab `step` places further, wrapping around.
    pub fn step(self, step: isize) -> bool {
        let n_tabs = self.tabs.with_untracked(Vec::len);
        if n_tabs == 0 {
            return false;
        }
        let at = self.place(self.active.get_untracked());
        let to = match at {
            Some(at) => (at as isize + step).rem_euclid(n_tabs as isize) as usize,
            None if step < 0 => n_tabs - 1,
            None => 0,
        };
        self.show_at(to)
    }

    fn place(self, id: Option<u32>) -> Option<usize> {
        self.tabs.with_untracked(|tabs| tabs.iter().position(|tab| Some(tab.id) == id))
    }

    /// Closes a tab; asks first if notes would be lost with it.
    pub fn close(self, id: u32) {
        match self.tab(id).filter(|tab| tab.would_lose_notes()) {
            Some(tab) => self.closing.set(Some(tab)),
            None => self.close_unasked(id),
        }
    }

    /// Closes a tab without asking.
    pub fn close_unasked(self, id: u32) {
        let Some(at) = self.place(Some(id)) else { return };
        let tab = self.tabs.with_untracked(|tabs| tabs[at]);
        if self.active.get_untracked() == Some(id) {
            let next = self.tabs.with_untracked(|tabs| {
                tabs.get(at + 1)
                    .or_else(|| at.checked_sub(1).and_then(|before| tabs.get(before)))
                    .map(|tab| tab.id)
            });
            self.show(next);
        }
        self.tabs.update(|tabs| tabs.retain(|tab| tab.id != id));
        self.remember_closed(tab);
        self.act(Action::Close(id));
        tab.drop_contents();
        self.settled(tab);
    }

    /// Keeps what it takes to open a tab again, and offers to.
    fn remember_closed(self, tab: Tab) {
        // A comparison needs the tabs of its sides, which may be closed next.
        let source = tab.source.get_value().filter(|source| !matches!(source, Source::Sides(_)));
        let Some(source) = source.filter(|_| self.embed.is_none()) else { return };
        let id = tab.id;
        let closed = Closed {
            id,
            source,
            query: tab.document.with_untracked(|document| Some(document.as_ref()?.query.clone())),
            ranges: tab.ranges.get_untracked(),
            drafts: tab.drafts.get_value(),
            format: tab.format.get_value(),
            only: tab.only.get_value(),
            view: self.view.with_untracked(|view| view.tab(id).cloned()).unwrap_or_default(),
            notes: tab.notes.get_untracked(),
        };
        self.closed.update_value(|list| {
            list.push(closed);
            if list.len() > MAX_CLOSED {
                list.remove(0);
            }
        });
        self.toast((words().header.tab_closed)(&tab.name.get_untracked()), false, Some(id));
    }

    /// Opens a closed tab again as it was left: the one that had this id, else the one closed last.
    pub fn reopen(self, id: Option<u32>) {
        let closed = self.closed.try_update_value(|list| {
            let at = match id {
                Some(id) => list.iter().position(|closed| closed.id == id),
                None => list.len().checked_sub(1),
            };
            at.map(|at| list.remove(at))
        });
        let Some(Closed { source, query, ranges, drafts, format, only, view, notes, .. }) = closed.flatten()
        else {
            return;
        };
        let tab = self.add_tab(source);
        tab.format.set_value(format);
        tab.only.set_value(only);
        tab.asked.set_value(query);
        tab.ranges.set(ranges);
        tab.drafts.set_value(drafts);
        tab.notes.set(notes);
        self.act(Action::Restore(TabView { id: tab.id, ..view }));
        tab.is_reopened.set_value(true);
        self.show(Some(tab.id));
    }

    /// Continues what waited for a tab to be parsed or to fail.
    pub fn settled(self, tab: Tab) {
        self.look_at_batch(tab);
        self.compare_what_is_read();
        self.let_idle_rest();
    }
}

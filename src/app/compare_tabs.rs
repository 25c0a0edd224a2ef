//! Comparisons: which tabs can be compared, and when.

use super::browser::{self, Picked};
use super::client::Answer;
use super::state::{App, Phase, Source, Tab};
use super::widgets::MenuItem;
use super::words::words;
use leptos::prelude::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tracedrop::base::text;
use tracedrop::compare::{CompareQuery, PhaseFilter};
use tracedrop::engine::protocol::{DocumentView, Failure, Request, STALE, SidesView};

/// Prefixes of the ids of menu items.
const WITH: &str = "with:";
const FILE: &str = "file";

/// Data from the workers of two tabs, A first. Independent of those tabs from then on.
#[derive(Clone)]
pub struct Sides {
    /// Ids of the two tabs.
    of: [u32; 2],
    names: [String; 2],
    read: Rc<[Vec<u8>; 2]>,
}

impl Sides {
    pub fn name(&self) -> String {
        (words().compare.sides_name)(&self.names[0], &self.names[1])
    }

    /// Ids of the two tabs, in the order in which they were compared first.
    pub fn of(&self) -> [u32; 2] {
        self.of
    }

    pub fn n_bytes(&self) -> u64 {
        self.read.iter().map(|side| side.len() as u64).sum()
    }

    pub fn request(&self) -> Request {
        Request::Compare { sides: (*self.read).clone(), query: CompareQuery::default() }
    }
}

/// Name of a comparison's tab; `None` for other sources.
pub fn name_of(document: &DocumentView) -> Option<String> {
    let SidesView { a, b, .. } = document.sides.as_ref()?;
    Some((words().compare.sides_name)(&text::visible(&a.label), &text::visible(&b.label)))
}

impl App {
    /// The visible tab, if it can be compared.
    pub fn may_be_side(self) -> Option<Tab> {
        self.active_tab().filter(|tab| tab.may_be_side())
    }

    /// Compares `tabs`, A first, as soon as both are parsed.
    pub fn compare_when_read(self, tabs: [Tab; 2]) {
        self.to_compare.update_value(|waiting| waiting.push(tabs.map(|tab| tab.id)));
        self.compare_what_is_read();
    }

    /// Opens files as B of a comparison with `a`; several are combined.
    pub fn open_against(self, a: Tab, mut files: Vec<Picked>) {
        let b = match files.len() {
            0 => return,
            1 => files.pop().map(|file| self.open_tab(Source::File(file))),
            _ => Some(self.open_together(files)),
        };
        if let Some(b) = b {
            self.compare_when_read([a, b]);
        }
    }

    /// Starts the comparisons that are ready.
    pub fn compare_what_is_read(self) {
        let waiting = self.to_compare.try_update_value(std::mem::take).unwrap_or_default();
        let (ready, still): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|ids| {
            // A closed or failed tab will never be ready.
            ids.iter().all(|id| self.tab(*id).is_none_or(Tab::is_settled))
        });
        self.to_compare.update_value(|waiting| waiting.extend(still));
        for ids in ready {
            match ids.map(|id| self.tab(id).filter(|tab| tab.may_be_side())) {
                [Some(a), Some(b)] => self.compare([a, b]),
                // Closed, stopped or unreadable: its own tab shows which.
                _ => self.alert(words().drop.nothing_to_compare_with.to_string()),
            }
        }
    }

    /// Requests the data for a comparison from both tabs, and shows it once both have answered.
    fn compare(self, tabs: [Tab; 2]) {
        let names = tabs.map(|tab| untrack(|| tab.label()));
        let got: Rc<RefCell<[Option<Vec<u8>>; 2]>> = Rc::default();
        let is_put_off: Rc<Cell<bool>> = Rc::default();
        for (at, tab) in tabs.into_iter().enumerate() {
            let (got, names, is_put_off) = (got.clone(), names.clone(), is_put_off.clone());
            let put_off = move || {
                if !is_put_off.replace(true) {
                    browser::after(0, move || self.compare_when_read(tabs));
                }
            };
            tab.ask(
                |ticket| Request::Side { ticket },
                move |answer| match answer {
                    Answer::Side(side) => {
                        let mut got = got.borrow_mut();
                        got[at] = Some(side);
                        if let [Some(a), Some(b)] = &mut *got {
                            let read = Rc::new([std::mem::take(a), std::mem::take(b)]);
                            let of = tabs.map(|tab| tab.id);
                            self.open_tab(Source::Sides(Sides { of, names: names.clone(), read }));
                        }
                    }
                    // The page parses the file again on its own; the comparison follows.
                    Answer::Refused(failure) if failure.code == STALE && tab.can_be_read_again() => {
                        put_off();
                    }
                    Answer::Refused(failure) => self.refuse(&failure),
                    _ => {}
                },
            );
        }
    }

    /// Repeats comparisons that used a stale index of a tab's file, as soon as that tab has parsed the file.
    pub fn compare_anew(self, stale: u32) {
        let made_of_it: Vec<(u32, [u32; 2])> = self.tabs.with_untracked(|tabs| {
            let of = |tab: &Tab| {
                tab.source.with_value(|source| match source {
                    Some(Source::Sides(sides)) if sides.of.contains(&stale) => Some((tab.id, sides.of)),
                    _ => None,
                })
            };
            tabs.iter().filter_map(of).collect()
        });
        for (comparison, of) in made_of_it {
            // Without the other tab it cannot be repeated, and notes would be lost: it stays as it is.
            let has_notes = self.tab(comparison).is_some_and(|tab| tab.would_lose_notes());
            if !has_notes && of.iter().all(|id| self.tab(*id).is_some()) {
                self.close_unasked(comparison);
                self.to_compare.update_value(|waiting| waiting.push(of));
            }
        }
    }

    fn refuse(self, failure: &Failure) {
        self.alert((words().export.refused)(&failure.what, &failure.hint));
    }

    /// Menu items to compare `tab` with: other tabs, or a file to choose.
    pub fn ways_to_compare(self, tab: Tab) -> Vec<MenuItem> {
        let others = self.tabs.get().into_iter().filter(|other| other.id != tab.id);
        let mut items: Vec<MenuItem> = others
            .filter(|other| {
                other.document.track();
                other.may_be_side()
            })
            .map(|other| MenuItem {
                id: format!("{WITH}{}", other.id),
                label: words().compare.compare_with.to_string(),
                detail: other.label(),
                ..MenuItem::default()
            })
            .collect();
        items.push(MenuItem {
            id: FILE.to_string(),
            label: words().compare.compare_with_file.to_string(),
            detail: String::new(),
            ..MenuItem::default()
        });
        items
    }

    /// Runs the item of [`App::ways_to_compare`] with that id; `choose_file` opens the file dialog.
    pub fn compare_by(self, tab: Tab, id: &str, choose_file: impl FnOnce()) {
        if id == FILE {
            choose_file();
        } else if let Some(Ok(other)) = id.strip_prefix(WITH).map(str::parse)
            && let Some(other) = self.tab(other)
        {
            self.compare_when_read([tab, other]);
        }
    }
}

impl Tab {
    /// Whether it is fully parsed, and not a comparison itself.
    pub fn may_be_side(self) -> bool {
        self.run.phase.with_untracked(|phase| *phase == Phase::Done)
            && !self.is_comparison()
            && !self.is_link()
    }

    /// Whether it is a report from a link, without a trace.
    pub fn is_link(self) -> bool {
        self.source.with_value(|source| matches!(source, Some(Source::Link(_))))
    }

    /// Whether it compares two other tabs.
    pub fn is_comparison(self) -> bool {
        self.source.with_value(|source| matches!(source, Some(Source::Sides(_))))
    }

    /// The open tabs of a comparison; `None` if it is none.
    pub fn side_tabs(self) -> Option<Vec<Tab>> {
        let of = self.source.with_value(|source| match source {
            Some(Source::Sides(sides)) => Some(sides.of),
            _ => None,
        })?;
        Some(of.into_iter().filter_map(|id| self.app.tab(id)).collect())
    }

    fn is_settled(self) -> bool {
        self.run
            .phase
            .with_untracked(|phase| !matches!(phase, Phase::Reading | Phase::Stopping | Phase::Waiting))
    }

    /// Swaps A and B.
    pub fn swap_sides(self, phase: PhaseFilter) {
        self.compare_again(phase, true);
    }

    /// Compares only steps of that phase.
    pub fn compare_phase(self, phase: PhaseFilter) {
        self.compare_again(phase, false);
    }

    fn compare_again(self, phase: PhaseFilter, is_swapped: bool) {
        let app = self.app;
        self.ask(
            move |ticket| Request::CompareAgain { ticket, query: CompareQuery { phase }, is_swapped },
            move |answer| {
                if let Answer::Refused(failure) = answer {
                    app.refuse(&failure);
                }
            },
        );
    }
}

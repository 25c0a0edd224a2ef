//! Reports that were handed on, and the files that they are of: whoever opens such a file sees what the sender saw.

use super::browser;
use super::own_table::first_query;
use super::state::{App, Source, Tab};
use super::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::analysis::Query;
use tracedrop::base::text;
use tracedrop::engine::protocol::{DocumentView, LinkView, LinkedFile, Request, SentView};

/// What the part behind `#` of a link starts with; the number says which version.
fn is_link(fragment: &str) -> bool {
    let digits = fragment.strip_prefix('r').and_then(|rest| rest.split_once('=')).map(|(digits, _)| digits);
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Where a file that is being read belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Landing {
    link: LinkView,
    file: LinkedFile,
    top: u32,
}

impl Landing {
    /// What the link tells is of this file alone, and of no others beside it.
    fn is_alone(&self) -> bool {
        self.link.files.len() == 1
    }
}

/// How the files of a link lie in a comparison, or among those that were read together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lie {
    InOrder,
    /// A is B and B is A.
    Swapped,
    Elsewhere,
}

/// By their sizes.
fn lie_of(link: &LinkView, document: &DocumentView) -> Lie {
    let linked = || link.files.iter().map(|file| file.bytes);
    let read = || document.files.iter().map(|account| account.file.bytes);
    // Of the same two files there may be a comparison and what they say together.
    let has_report = document.reports.iter().any(|report| report.id == link.show);
    match &document.sides {
        _ if !has_report || link.files.len() != document.files.len() => Lie::Elsewhere,
        _ if linked().eq(read()) => Lie::InOrder,
        Some(_) if linked().len() == 2 && linked().rev().eq(read()) => Lie::Swapped,
        Some(_) => Lie::Elsewhere,
        None => {
            // Files that are read together have an order of their own.
            let sorted = |sizes: Vec<u64>| {
                let mut sizes = sizes;
                sizes.sort_unstable();
                sizes
            };
            if sorted(linked().collect()) == sorted(read().collect()) { Lie::InOrder } else { Lie::Elsewhere }
        }
    }
}

impl App {
    /// Opens the report that the page's address has with it, now and when it gets another one.
    pub fn open_links(self) {
        let open = move || {
            let fragment = browser::fragment();
            if is_link(&fragment) {
                self.open_tab(Source::Link(fragment));
            }
        };
        open();
        browser::on_fragment(open);
    }

    /// A file was read, or two were compared. If an open link may be of it, its SHA-256 is to decide.
    pub fn land(self, tab: Tab) {
        let links: Vec<(LinkView, u32)> = self.tabs.with_untracked(|tabs| {
            let documents = tabs.iter().filter_map(|tab| tab.document.get_untracked());
            documents.filter_map(|document| Some((document.link.clone()?, document.query.top))).collect()
        });
        let Some(n_bytes) = tab.file_bytes().filter(|_| !tab.was_handed_on()) else {
            return tab.land_together(&links);
        };
        let landing = links.iter().find_map(|(link, top)| {
            let file = link.files.iter().find(|file| file.bytes == n_bytes)?;
            Some(Landing { link: link.clone(), file: file.clone(), top: *top })
        });
        match landing {
            Some(landing) if landing.file.sha256.is_some() => {
                tab.landing.set_value(Some(landing));
                match tab.digest.get_untracked() {
                    Some(digest) => tab.check_landing(&digest),
                    None => tab.send(&Request::WantDigest),
                }
            }
            Some(landing) => {
                tab.land_at(&landing, (words().sharing.landed_by_size)(&text::visible(&landing.file.name)))
            }
            None => {
                if let Some(file) = links.iter().flat_map(|(link, _)| &link.files).next() {
                    let name = text::visible(&file.name);
                    self.alert((words().sharing.other_file)(&tab.name.get_untracked(), &name, file.bytes));
                }
            }
        }
    }
}

impl Tab {
    /// The SHA-256 of the file is known.
    pub fn check_landing(self, digest: &str) {
        let Some(landing) = self.landing.try_update_value(Option::take).flatten() else { return };
        // Several files of a link may have the same size.
        let same = landing.link.files.iter().find(|file| file.sha256.as_deref() == Some(digest));
        let name = text::visible(&same.unwrap_or(&landing.file).name);
        if same.is_some() {
            let words = &words().sharing;
            let message = if landing.is_alone() { words.landed } else { words.landed_among };
            self.land_at(&landing, message(&name));
        } else {
            self.app.alert((words().sharing.other_digest)(&self.name.get_untracked(), &name));
        }
    }

    /// Several files were read together, or two sides are compared: the files of a link may be those. Each file that has a tab
    /// of its own has been held against the SHA-256 there.
    fn land_together(self, links: &[(LinkView, u32)]) {
        let Some(document) = self.document.get_untracked().filter(|it| it.files.len() > 1) else { return };
        if self.was_handed_on() {
            return;
        }
        let lies = links.iter().map(|(link, top)| (link, *top, lie_of(link, &document)));
        let Some((link, top, lie)) = lies.into_iter().find(|(.., lie)| *lie != Lie::Elsewhere) else {
            return;
        };
        match &document.sides {
            Some(sides) if lie == Lie::Swapped => self.swap_sides(sides.phase),
            Some(_) => {}
            None => {
                self.ask_for_top(top);
                self.app.say((words().sharing.landed_together)(link.files.len()));
            }
        }
        self.look_as_in(link);
    }

    /// Shows the report, the order and the filters of the link, if it is of this file alone.
    fn land_at(self, landing: &Landing, message: String) {
        if landing.is_alone() {
            self.ask_for_top(landing.top);
            self.look_as_in(&landing.link);
        }
        self.app.say(message);
    }

    fn look_as_in(self, link: &LinkView) {
        self.report.set(Some(link.show.clone()));
        self.spots.set(link.tables.clone());
        self.take_in_notes(&link.notes);
    }

    /// Has lists as long as those of the link.
    fn ask_for_top(self, top: u32) {
        let is_other_top =
            self.document.with_untracked(|document| document.as_ref().is_some_and(|it| it.query.top != top));
        if is_other_top {
            self.set_query(Query { top, ..first_query() });
        }
    }

    /// Whether it is what someone handed on, and no trace that was read here.
    pub fn was_handed_on(self) -> bool {
        let is_handed_on = |document: &Arc<DocumentView>| document.link.is_some() || document.sent.is_some();
        self.document.with_untracked(|document| document.as_ref().is_some_and(is_handed_on))
    }

    /// A report was handed on: shows it as its sender saw it, with what they wrote.
    pub fn show_as_sent(self, document: &Arc<DocumentView>) {
        if let Some(LinkView { show, tables, notes, is_file, .. }) = &document.link {
            if *is_file {
                // The tables of a link have their order and no other rows.
                self.spots.set(tables.clone());
            } else {
                self.name.set((words().sharing.link_name)(&text::visible(&document.file.name)));
            }
            self.report.set(Some(show.clone()));
            self.take_in_notes(notes);
        }
        if let Some(SentView { show, tables, notes, .. }) = &document.sent {
            self.report.set(Some(show.clone()));
            self.spots.set(tables.clone());
            self.take_in_notes(notes);
        }
    }
}

//! Shared reports and their files: opening such a file restores the view of the sender.

use super::browser::{self, Picked};
use super::custom_rules::first_query;
use super::state::{App, Source, Tab};
use super::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::analysis::Query;
use tracedrop::base::sort;
use tracedrop::base::text;
use tracedrop::engine::folder;
use tracedrop::engine::protocol::{DocumentView, LinkView, LinkedFile, LinkedSide, Request, SentView};

/// Start of the fragment of a link; the number is the version.
fn is_link(fragment: &str) -> bool {
    let digits = fragment.strip_prefix('r').and_then(|rest| rest.split_once('=')).map(|(digits, _)| digits);
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Link that the files being parsed may belong to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkMatch {
    link: LinkView,
    /// Files of the link with the same sizes.
    files: Vec<LinkedFile>,
    top: u32,
}

impl LinkMatch {
    /// The link covers exactly these files.
    fn is_all(&self) -> bool {
        self.link.files.len() == self.files.len()
    }
}

/// Order of the files of a link in a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SideOrder {
    InOrder,
    /// A and B are swapped.
    Swapped,
    /// Depends on their SHA-256, which is not known yet.
    Open,
    Elsewhere,
}

/// Decides by SHA-256 if all are known; otherwise by size, and by name if A and B have the same sizes.
/// The order of files within A or B does not matter.
fn side_order(link: &LinkView, document: &DocumentView, digests: Option<&[Option<String>]>) -> SideOrder {
    let has_report = document.reports.iter().any(|report| report.id == link.show);
    let is_as_many = link.files.len() == document.files.len();
    let Some(sides) = document.sides.as_ref().filter(|_| has_report && is_as_many) else {
        return SideOrder::Elsewhere;
    };
    let n_of_a = sides.a.n_files as usize;
    let has_digests = !link.files.is_empty() && link.files.iter().all(|file| file.sha256.is_some());
    if let Some(digests) = digests.filter(|_| has_digests) {
        return match matches_in_order(link, |file| &file.sha256, digests.iter(), n_of_a) {
            [true, _] => SideOrder::InOrder,
            [false, true] => SideOrder::Swapped,
            [false, false] => SideOrder::Elsewhere,
        };
    }
    let files = || document.files.iter().map(|account| &account.file);
    let by_size = matches_in_order(link, |file| &file.bytes, files().map(|file| &file.bytes), n_of_a);
    let by_name = matches_in_order(link, |file| &file.name, files().map(|file| &file.name), n_of_a);
    match (by_size, by_name) {
        ([true, true], [true, true]) if has_digests => SideOrder::Open,
        ([true, true], [false, true]) | ([false, true], _) => SideOrder::Swapped,
        ([true, _], _) => SideOrder::InOrder,
        ([false, false], _) => SideOrder::Elsewhere,
    }
}

/// Number of files of a link that belong to A; `None` if it does not state them.
fn n_of_a(files: &[LinkedFile]) -> Option<usize> {
    let is_told = !files.is_empty() && files.iter().all(|file| file.side.is_some());
    is_told.then(|| files.iter().filter(|file| file.side == Some(LinkedSide::A)).count())
}

fn sorted<'a, T: Ord>(some: &[&'a T]) -> Vec<&'a T> {
    let mut some = some.to_vec();
    sort::by(&mut some, Ord::cmp);
    some
}

/// Whether the parsed files match the link, as they are and with A and B swapped. The first `n_read_a` are A.
fn matches_in_order<'a, T: Ord + 'a>(
    link: &'a LinkView,
    of: impl Fn(&'a LinkedFile) -> &'a T,
    read: impl Iterator<Item = &'a T>,
    n_read_a: usize,
) -> [bool; 2] {
    let (linked, read): (Vec<&T>, Vec<&T>) = (link.files.iter().map(of).collect(), read.collect());
    let (a, b) = read.split_at(n_read_a.min(read.len()));
    let are_same = |first: &[&T], then: &[&T]| {
        let (linked_a, linked_b) =
            linked.split_at(n_of_a(&link.files).unwrap_or(first.len()).min(linked.len()));
        sorted(linked_a) == sorted(first) && sorted(linked_b) == sorted(then)
    };
    [are_same(a, b), are_same(b, a)]
}

impl App {
    /// Opens the report in the page's address, now and whenever the address changes.
    pub fn open_links(self) {
        let open = move || {
            let fragment = browser::fragment();
            // One that was open before comes back by going back.
            if is_link(&fragment) && self.tab_of_link(&fragment).is_none() {
                self.open_tab(Source::Link(fragment));
            }
        };
        open();
        browser::on_fragment(open);
    }

    /// Opens a pasted link, or its fragment; false if the text is no link.
    pub fn open_pasted_link(self, text: &str) -> bool {
        let fragment = text.trim().split_once('#').map(|(_, fragment)| fragment);
        match fragment.filter(|fragment| is_link(fragment) && !fragment.contains(char::is_whitespace)) {
            Some(fragment) => {
                self.open_tab(Source::Link(fragment.to_string()));
                true
            }
            None => false,
        }
    }

    /// Opens files as A and B of the comparison in an open link; false, opening nothing, if there is no such link.
    pub fn open_as_sides(self, files: Vec<Picked>) -> bool {
        let sides = self.tabs.with_untracked(|tabs| {
            let list: Vec<(&str, u64)> =
                files.iter().map(|file| (file.path.as_str(), file.n_bytes())).collect();
            let documents = tabs.iter().filter_map(|tab| tab.document.get_untracked());
            documents.filter_map(|it| folder::sides_among(&it.link.as_ref()?.files, &list)).next()
        });
        let Some(sides) = sides else { return false };
        let (a, b): (Vec<_>, Vec<_>) =
            files.into_iter().zip(sides).partition(|(_, side)| *side == LinkedSide::A);
        let [a, b] = [a, b].map(|side| {
            let mut files: Vec<Picked> = side.into_iter().map(|(file, _)| file).collect();
            match (files.len(), files.pop()) {
                (1, Some(file)) => self.open_tab(Source::File(file)),
                (_, last) => {
                    files.extend(last);
                    self.open_together(files)
                }
            }
        });
        self.compare_when_read([a, b]);
        true
    }

    /// Continues comparisons that waited for the SHA-256 of the files of `side`.
    pub fn match_links_compared_with(self, side: Tab) {
        let waits = |tab: &Tab| {
            tab.awaits_digests.get_value()
                && tab.side_tabs().is_some_and(|sides| sides.iter().any(|it| it.id == side.id))
        };
        let waiting: Vec<Tab> = self.tabs.with_untracked(|tabs| tabs.iter().copied().filter(waits).collect());
        waiting.into_iter().for_each(|tab| self.match_links(tab));
    }

    /// After parsing or comparing: if an open link may be for these files, requests their SHA-256 to decide.
    pub fn match_links(self, tab: Tab) {
        let links: Vec<(LinkView, u32)> = self.tabs.with_untracked(|tabs| {
            let documents = tabs.iter().filter_map(|tab| tab.document.get_untracked());
            documents.filter_map(|document| Some((document.link.clone()?, document.query.top))).collect()
        });
        let Some(document) = tab.document.get_untracked().filter(|_| !tab.was_handed_on()) else { return };
        if document.sides.is_some() {
            return tab.match_compared(&links, &document);
        }
        let sizes = match tab.file_bytes() {
            Some(n_bytes) => vec![n_bytes],
            None => document.files.iter().map(|account| account.file.bytes).collect(),
        };
        let found = links.iter().find_map(|(link, top)| {
            let files = among(&link.files, &sizes, |file, n_bytes| file.bytes == *n_bytes)?;
            Some(LinkMatch { files: files.into_iter().cloned().collect(), link: link.clone(), top: *top })
        });
        match found.filter(|found| !found.files.is_empty()) {
            Some(found) if found.files.iter().all(|file| file.sha256.is_some()) => {
                tab.link_match.set_value(Some(found));
                match tab.digests.get_untracked() {
                    Some(digests) => tab.check_link_match(&digests),
                    None => tab.send(&Request::WantDigests),
                }
            }
            Some(found) => match &found.files[..] {
                [file] => {
                    tab.look_as_matched(&found, (words().sharing.landed_by_size)(&text::visible(&file.name)));
                }
                files if found.is_all() => {
                    tab.look_as_matched(&found, (words().sharing.landed_together)(files.len(), false));
                }
                _ => {}
            },
            None => {
                if let (Some(_), Some(file)) =
                    (tab.file_bytes(), links.iter().flat_map(|(link, _)| &link.files).next())
                {
                    let name = text::visible(&file.name);
                    self.alert((words().sharing.other_file)(&tab.name.get_untracked(), &name, file.bytes));
                }
            }
        }
    }
}

/// A file for each of `wanted`, in any order; `None` if one is missing.
fn among<'a, T>(
    files: &'a [LinkedFile],
    wanted: &[T],
    is_it: impl Fn(&LinkedFile, &T) -> bool,
) -> Option<Vec<&'a LinkedFile>> {
    let mut left: Vec<&LinkedFile> = files.iter().collect();
    let take = |wanted: &T| left.iter().position(|file| is_it(file, wanted)).map(|at| left.remove(at));
    wanted.iter().map(take).collect()
}

impl Tab {
    /// Called once the SHA-256 of the files is known.
    pub fn check_link_match(self, digests: &[Option<String>]) {
        let Some(found) = self.link_match.try_update_value(Option::take).flatten() else { return };
        let words = &words().sharing;
        let is_it = |file: &LinkedFile, digest: &Option<String>| file.sha256 == *digest;
        // Several files of a link may have the same size.
        let same = among(&found.link.files, digests, is_it).filter(|_| digests.iter().all(Option::is_some));
        match (same, &found.files[..]) {
            (Some(_), [_, _, ..]) if found.is_all() => {
                self.look_as_matched(&found, (words.landed_together)(digests.len(), true));
            }
            (Some(same), _) => {
                let names: Vec<String> = same.iter().map(|file| text::visible(&file.name)).collect();
                let message = match (&names[..], found.is_all()) {
                    ([name], true) => (words.landed)(name),
                    _ => (words.landed_among)(&names),
                };
                self.look_as_matched(&found, message);
            }
            (None, [file]) => {
                let name = text::visible(&file.name);
                self.app.alert((words.other_digest)(&self.name.get_untracked(), &name));
            }
            (None, files) => {
                let is_other = |digest: &&Option<String>| {
                    digest.is_none() || !found.link.files.iter().any(|file| is_it(file, digest))
                };
                // If a file was chosen twice, both match the link.
                let n_others = digests.iter().filter(is_other).count().max(1);
                self.app.alert((words.other_digests)(n_others, files.len()));
            }
        }
    }

    /// After comparing: checks whether the files of a link are these. Each tab has checked its own SHA-256.
    fn match_compared(self, links: &[(LinkView, u32)], document: &DocumentView) {
        let digests = self.digests_of_sides(document);
        let orders = links.iter().map(|(link, _)| (link, side_order(link, document, digests.as_deref())));
        let found = orders.into_iter().find(|(_, order)| *order != SideOrder::Elsewhere);
        self.awaits_digests.set_value(false);
        match (found, &document.sides) {
            (Some((_, SideOrder::Open)), _) if self.want_digests_of_sides() => {
                self.awaits_digests.set_value(true);
            }
            (Some((link, SideOrder::Swapped)), Some(sides)) => {
                self.swap_sides(sides.phase);
                self.look_as_in(link);
            }
            (Some((link, _)), _) => self.look_as_in(link),
            (None, _) => {}
        }
    }

    /// SHA-256 of the files of a comparison, in the order of its document; `None` until all are computed, or if a tab that has
    /// them was closed.
    fn digests_of_sides(self, document: &DocumentView) -> Option<Vec<Option<String>>> {
        let mut sides = self.side_tabs().filter(|sides| sides.len() == 2)?;
        if document.sides.as_ref()?.is_swapped {
            sides.reverse();
        }
        let digests: Option<Vec<_>> = sides.iter().map(|side| side.digests.get_untracked()).collect();
        digests.map(|digests| digests.concat()).filter(|digests| digests.len() == document.files.len())
    }

    /// Requests them; false if a tab with them is closed or has computed them already.
    fn want_digests_of_sides(self) -> bool {
        let sides = self.side_tabs().filter(|sides| sides.len() == 2).unwrap_or_default();
        let without = || sides.iter().filter(|side| side.digests.with_untracked(Option::is_none));
        without().for_each(|side| side.send(&Request::WantDigests));
        without().count() > 0
    }

    /// Shows the report, order and filters of the link, if it covers exactly the parsed files.
    fn look_as_matched(self, found: &LinkMatch, message: String) {
        let has_report =
            |it: &Arc<DocumentView>| it.reports.iter().any(|report| report.id == found.link.show);
        // Two files may be open both as a comparison and as one run.
        let has_its_place = found.files.len() == 1
            || self.document.with_untracked(|document| document.as_ref().is_some_and(has_report));
        if found.is_all() && has_its_place {
            self.ask_for_top(found.top);
            self.look_as_in(&found.link);
        }
        self.app.say(message);
    }

    fn look_as_in(self, link: &LinkView) {
        self.look_as(Some(link.show.clone()), link.tables.clone());
        self.take_in_notes(&link.notes);
    }

    /// Sets the list length of the link.
    fn ask_for_top(self, top: u32) {
        let is_other_top =
            self.document.with_untracked(|document| document.as_ref().is_some_and(|it| it.query.top != top));
        if is_other_top {
            self.set_query(Query { top, ..first_query() });
        }
    }

    /// Whether it is a shared report, not a trace parsed here.
    pub fn was_handed_on(self) -> bool {
        let is_handed_on = |document: &Arc<DocumentView>| document.link.is_some() || document.sent.is_some();
        self.document.with_untracked(|document| document.as_ref().is_some_and(is_handed_on))
    }

    /// Shows a shared report as its sender saw it, with their notes.
    pub fn show_as_sent(self, document: &Arc<DocumentView>) {
        if let Some(LinkView { show, tables, notes, is_file, .. }) = &document.link {
            // The tables of a link are already in order and have no other rows.
            let tables = if *is_file { tables.clone() } else { Vec::new() };
            if !*is_file {
                self.name.set((words().sharing.link_name)(&text::visible(&document.file.name)));
            }
            self.look_as(Some(show.clone()), tables);
            self.take_in_notes(notes);
        }
        if let Some(SentView { show, tables, notes, .. }) = &document.sent {
            self.look_as(Some(show.clone()), tables.clone());
            self.take_in_notes(notes);
        }
    }
}

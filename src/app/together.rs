//! Which files are read together: those that evidently belong to one run without being asked, others when somebody wants it.

use super::browser::{Dropped, Folder, Half, Picked};
use super::state::{App, Phase, Source, Tab};
use super::widgets::MenuItem;
use super::words::words;
use leptos::prelude::*;
use std::collections::BTreeSet;
use tracedrop::base::text;
use tracedrop::engine::folder::{
    REPORT_ON_RUNS, RunIn, archive_stem, are_ranks_of_one_run, is_run, may_be_archive, may_be_trace,
    name_in_run, runs_among, without_tables_of_runs,
};
use tracedrop::engine::protocol::{DocumentView, FileView};

/// Of more files that are read together there are no tabs beside that of all.
const MAX_TABS: usize = 32;

/// The menu names so many files that the one that shows may be read together with, at most.
const MAX_PAIRS: usize = 12;

/// Names that a message lists, at most.
const MAX_NAMES: usize = 8;

/// Entries of the menu, by what their ids start with.
const FOLDER: &str = "folder";
const KIND: &str = "kind:";
const WITH: &str = "with:";

/// What files that are read together are to each other.
#[derive(Clone, Copy)]
pub enum Fellows {
    Files,
    /// Ranks of one run.
    Ranks,
    /// Directories of runs.
    Runs,
}

/// What a tab of `files` is called before they are read.
pub fn name(files: &[Picked]) -> String {
    let fellows = match are_ranks_of_one_run(files.iter().map(|file| file.name.as_str())) {
        true => Fellows::Ranks,
        false => Fellows::Files,
    };
    (words().together_name)(files.len() as u64, fellows)
}

/// What the tab of files that were read together is called, if they turn out to be more than files. `None` if it keeps its name.
pub fn name_of_fellows(document: &DocumentView) -> Option<String> {
    let n_files = document.files.len();
    let are_runs = n_files > 1 && document.reports.iter().any(|report| report.id == REPORT_ON_RUNS);
    let fellows = match are_ranks(document.files.iter().map(|account| &account.file)) {
        true => Fellows::Ranks,
        false if are_runs => Fellows::Runs,
        false => return None,
    };
    Some((words().together_name)(n_files as u64, fellows))
}

/// Whether files say that they are of different ranks of one run.
fn are_ranks<'a>(files: impl Iterator<Item = &'a FileView>) -> bool {
    let mut ranks = BTreeSet::new();
    let mut sizes = BTreeSet::new();
    let mut n_files = 0;
    for file in files {
        n_files += 1;
        let Some(rank) = file.rank else { return false };
        ranks.insert(rank.rank);
        sizes.insert(rank.world_size);
    }
    n_files > 1 && ranks.len() == n_files && sizes.len() == 1
}

impl App {
    /// Opens what was let go over the page or chosen, archives as the folders that they hold, and says what was not opened.
    pub fn take(self, dropped: Dropped) {
        if dropped.folders.is_empty() && dropped.files.is_empty() {
            self.alert(words().nothing_to_open.to_string());
        }
        self.with_archives_opened(dropped, move |dropped| {
            self.with_ranges_taken(dropped, move |dropped| self.take_opened(dropped));
        });
    }

    fn take_opened(self, dropped: Dropped) {
        if dropped.half == Half::Lower
            && let Some(a) = self.may_be_side()
        {
            return self.open_dropped_against(a, dropped);
        }
        let mut single = dropped.files;
        let mut folders: Vec<Vec<Picked>> = Vec::new();
        for folder in dropped.folders {
            let mut files = self.wanted(folder);
            match files.len() {
                0 | 1 => single.append(&mut files),
                _ => folders.push(files),
            }
        }
        // What a link says of them counts for more than how they lie.
        let all = folders.iter().flatten().chain(&single).cloned().collect();
        if self.open_as_sides(all) {
            return;
        }
        let runs: Vec<Tab> = folders.into_iter().map(|files| self.open_together(files)).collect();
        if let ([a, b], true) = (&runs[..], single.is_empty()) {
            self.compare_when_read([*a, *b]);
        }
        self.open(with_loose_run(single));
    }

    /// Opens what was let go as side B of a comparison with `a`.
    pub fn open_dropped_against(self, a: Tab, dropped: Dropped) {
        let in_folders = dropped.folders.into_iter().flat_map(|folder| self.wanted(folder));
        let files = dropped.files.into_iter().chain(in_folders).collect();
        self.open_against(a, files);
    }

    /// Opens the traces in a folder.
    pub fn open_folder(self, folder: Folder) {
        self.take(Dropped { folders: vec![folder], ..Dropped::default() });
    }

    /// Files of a folder that may be traces; says which others there are.
    fn wanted(self, folder: Folder) -> Vec<Picked> {
        let Folder { name, files, unreadable, is_cut } = folder;
        let (runs, files) = runs_of(files);
        let formats = self.formats.get_untracked();
        let (files, tables) = without_tables_of_runs(files, |file| &file.path);
        // What is not known yet can not be a reason.
        let (files, mut skipped): (Vec<Picked>, Vec<Picked>) =
            files.into_iter().partition(|file| formats.is_empty() || may_be_trace(&file.name, &formats));
        skipped.extend(tables);
        let skipped: Vec<String> =
            skipped.iter().map(|file| file.path.as_str()).map(|path| inside(path, &name)).collect();
        let unreadable: Vec<String> = unreadable.iter().map(|path| inside(path, &name)).collect();
        let shown = text::visible(&name);
        let name = if may_be_archive(&name) { shown } else { (words().the_folder)(&shown) };
        if files.is_empty() && runs.is_empty() {
            self.alert((words().no_traces_in_folder)(&name));
        }
        if !skipped.is_empty() {
            self.alert((words().skipped_in_folder)(&name, &listed(&skipped)));
        }
        if !unreadable.is_empty() {
            self.alert((words().unreadable_in_folder)(&name, &listed(&unreadable)));
        }
        if is_cut {
            self.alert((words().folder_is_cut)(&name));
        }
        runs.into_iter().chain(files).collect()
    }

    /// Opens each file in a tab; those that are evidently of one run are read together.
    pub fn open(self, files: Vec<Picked>) {
        if let [file] = &files[..]
            && let Some(tab) =
                self.tabs.with_untracked(|tabs| tabs.iter().find(|tab| tab.misses(file)).copied())
        {
            self.show(Some(tab.id));
            tab.take_file(file.clone());
            return;
        }
        if are_ranks_of_one_run(files.iter().map(|file| file.name.as_str())) {
            self.open_together(files);
            return;
        }
        let tabs: Vec<Tab> = files.into_iter().map(|file| self.open_tab(Source::File(file))).collect();
        if tabs.len() > 1 {
            let batch: Vec<u32> = tabs.iter().map(|tab| tab.id).collect();
            tabs.iter().for_each(|tab| tab.batch.set_value(batch.clone()));
        }
    }

    /// Opens a tab of all `files`, and one of each that is read when somebody wants to see it.
    pub fn open_together(self, mut files: Vec<Picked>) -> Tab {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        name_apart(&mut files);
        let all = self.open_tab(Source::Together(files.clone()));
        if files.len() <= MAX_TABS {
            let tabs: Vec<Tab> = files.into_iter().map(|file| self.add_tab(Source::File(file))).collect();
            let ids: Vec<u32> = tabs.iter().map(|tab| tab.id).collect();
            tabs.iter().for_each(|tab| tab.fellows.set(ids.clone()));
        }
        all
    }

    /// Once all files are read that were opened at once with that of `tab`, or can not be: reads those together that say
    /// they are of one run, and offers it for others of one kind.
    pub fn look_at_batch(self, tab: Tab) {
        let batch = tab.batch.get_value();
        let tabs: Vec<Tab> = batch.iter().filter_map(|id| self.tab(*id)).collect();
        let is_read = |tab: &Tab| !matches!(tab.phase.get_untracked(), Phase::Reading | Phase::Stopping);
        if batch.is_empty() || !tabs.iter().all(is_read) {
            return;
        }
        tabs.iter().for_each(|tab| tab.batch.set_value(Vec::new()));
        for tabs in by_kind(&tabs) {
            let ids: Vec<u32> = tabs.iter().map(|tab| tab.id).collect();
            tabs.iter().for_each(|tab| tab.fellows.set(ids.clone()));
            let documents: Vec<_> = tabs.iter().filter_map(|tab| tab.document.get_untracked()).collect();
            if are_ranks(documents.iter().map(|document| &document.file)) {
                let files = files_of(&tabs);
                self.say((words().read_together_now)(files.len() as u64));
                // Who looks at one of them already is left there.
                self.add_tab(Source::Together(files)).start();
            } else if let ([a, b], 2) = (&tabs[..], batch.len()) {
                self.compare_when_read([*a, *b]);
            }
        }
    }

    /// Shows the tab of these tabs' files together; opens it if there is none.
    pub fn read_together(self, ids: &[u32]) {
        let files = files_of(&ids.iter().filter_map(|id| self.tab(*id)).collect::<Vec<_>>());
        let is_of_these = |tab: &&Tab| {
            tab.source.with_value(|source| match source {
                Some(Source::Together(others)) => {
                    let same = |(a, b): (&Picked, &Picked)| a.blob == b.blob;
                    others.len() == files.len() && others.iter().zip(&files).all(same)
                }
                _ => false,
            })
        };
        let open = self.tabs.with_untracked(|tabs| tabs.iter().find(is_of_these).map(|tab| tab.id));
        match open {
            Some(id) => self.show(Some(id)),
            None if files.len() > 1 => drop(self.open_tab(Source::Together(files))),
            None => {}
        }
    }

    /// Further ways to open: a folder, and what is open already together.
    pub fn ways_to_open(self) -> Vec<MenuItem> {
        let item =
            |id: String, label: String, detail: String| MenuItem { id, label, detail, ..MenuItem::default() };
        let mut items = vec![item(FOLDER.to_string(), words().open_folder.to_string(), String::new())];
        let tabs = self.tabs.get();
        tabs.iter().for_each(|tab| tab.document.track());
        let active = self.active.get();
        for kind in by_kind(&tabs) {
            let Some(file) = kind.first().and_then(file_view) else { continue };
            let all = (words().read_all_together)(kind.len() as u64);
            items.push(item(format!("{KIND}{}", file.format_id), all, file.format_title));
            if kind.len() > 2 && kind.iter().any(|tab| Some(tab.id) == active) {
                let others = kind.iter().filter(|tab| Some(tab.id) != active).take(MAX_PAIRS);
                items.extend(others.map(|tab| {
                    item(format!("{WITH}{}", tab.id), words().read_together_with.to_string(), tab.label())
                }));
            }
        }
        items
    }

    /// Does what the entry of [`App::ways_to_open`] with that id says.
    pub fn open_by(self, id: &str) {
        if id == FOLDER {
            self.choose_folder();
        } else if let Some(format) = id.strip_prefix(KIND) {
            let tabs = self.tabs.get_untracked();
            let is_it = |kind: &&Vec<Tab>| {
                kind.first().and_then(file_view).is_some_and(|file| file.format_id == format)
            };
            if let Some(kind) = by_kind(&tabs).iter().find(is_it) {
                self.read_together(&kind.iter().map(|tab| tab.id).collect::<Vec<_>>());
            }
        } else if let Some(Ok(other)) = id.strip_prefix(WITH).map(str::parse)
            && let Some(active) = self.active.get_untracked()
        {
            self.read_together(&[active, other]);
        }
    }
}

/// The file of a tab that is read to its end and has a file.
fn file_view(tab: &Tab) -> Option<FileView> {
    let is_file = tab.source.with_value(|source| matches!(source, Some(Source::File(_))));
    let document = tab.document.get_untracked().filter(|document| is_file && !document.partial)?;
    Some(document.file.clone())
}

/// Tabs of files of one format that are read, where there are several.
fn by_kind(tabs: &[Tab]) -> Vec<Vec<Tab>> {
    let mut kinds: Vec<(String, Vec<Tab>)> = Vec::new();
    for tab in tabs {
        let Some(FileView { format_id, .. }) = file_view(tab) else { continue };
        match kinds.iter_mut().find(|(known, _)| *known == format_id) {
            Some((_, tabs)) => tabs.push(*tab),
            None => kinds.push((format_id, vec![*tab])),
        }
    }
    kinds.into_iter().map(|(_, tabs)| tabs).filter(|tabs| tabs.len() > 1).collect()
}

/// The files behind tabs, in order of path.
fn files_of(tabs: &[Tab]) -> Vec<Picked> {
    let file = |tab: &Tab| match tab.source.with_value(Clone::clone) {
        Some(Source::File(file)) => Some(file),
        _ => None,
    };
    let mut files: Vec<Picked> = tabs.iter().filter_map(file).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// The files of a run's directory that came one by one, as that run.
fn with_loose_run(files: Vec<Picked>) -> Vec<Picked> {
    let is_loose = |file: &&Picked| !file.path.contains('/') && file.beside.is_empty();
    if !is_run(files.iter().filter(is_loose).map(|file| file.name.as_str())) {
        return files;
    }
    let (runs, others) = runs_of(files);
    runs.into_iter().chain(others).collect()
}

/// Directories of runs among `files`: their traces, called as their directories, each with the files beside it. And all
/// other files.
fn runs_of(files: Vec<Picked>) -> (Vec<Picked>, Vec<Picked>) {
    let (runs, others) = runs_among(files, |file| &file.path);
    let run = |RunIn { folder, mut trace, mut beside }: RunIn<Picked>| {
        if !folder.is_empty() {
            trace.name = archive_stem(folder.rsplit('/').next().unwrap_or(&folder)).to_string();
        }
        for file in &mut beside {
            file.name = name_in_run(&file.path, &folder).to_string();
        }
        trace.beside = beside;
        trace
    };
    (runs.into_iter().map(run).collect(), others)
}

/// Where files of several folders have the same name, their paths tell them apart: `rank0/trace.json`.
fn name_apart(files: &mut [Picked]) {
    let names: BTreeSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
    if names.len() < files.len() {
        for file in files {
            let folder = file.path.split('/').next().unwrap_or_default().to_string();
            file.name = without_folder(&file.path, &folder).to_string();
        }
    }
}

/// The path without the folder's own name.
fn without_folder<'a>(path: &'a str, folder: &str) -> &'a str {
    path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path)
}

/// The same for people.
fn inside(path: &str, folder: &str) -> String {
    text::visible(without_folder(path, folder))
}

/// The first of the names, and how many more there are.
pub fn listed(names: &[String]) -> String {
    let some = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => some,
        n => (words().and_more)(&some, n as u64),
    }
}

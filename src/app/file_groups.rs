//! Combining files into one run: automatically if they evidently belong to one run, otherwise on request.

use super::browser::{Dropped, Folder, Half, Picked};
use super::state::{App, Phase, Source, Tab};
use super::widgets::MenuItem;
use super::words::words;
use leptos::prelude::*;
use std::collections::BTreeSet;
use tracedrop::base::sort;
use tracedrop::base::text;
use tracedrop::engine::folder::{
    REPORT_ON_RUNS, RunIn, TableFolder, archive_stem, are_ranks_of_one_run, is_run, may_be_archive,
    may_be_trace, name_in_dataset, name_in_run, runs_among, table_folders_among, without_tables_of_runs,
};
use tracedrop::engine::protocol::{DocumentView, FileView};

/// Maximum number of files in the menu to combine with the visible one.
const MAX_PAIRS: usize = 12;

/// Maximum number of names in a message.
const MAX_NAMES: usize = 8;

/// Prefixes of the ids of menu items.
const FOLDER: &str = "folder";
const KIND: &str = "kind:";
const WITH: &str = "with:";

/// Relation of combined files.
#[derive(Clone, Copy)]
pub enum Fellows {
    Files,
    /// Ranks of one run.
    Ranks,
    /// Run directories.
    Runs,
}

/// Name of a tab of `files` before they are parsed.
pub fn name(files: &[Picked]) -> String {
    let fellows = match are_ranks_of_one_run(files.iter().map(|file| file.name.as_str())) {
        true => Fellows::Ranks,
        false => Fellows::Files,
    };
    (words().files.together_name)(files.len() as u64, fellows)
}

/// Name of the tab of combined files, if they turn out to be ranks or runs. `None` if it keeps its name.
pub fn name_of_fellows(document: &DocumentView) -> Option<String> {
    let n_files = document.files.len();
    let are_runs = n_files > 1 && document.reports.iter().any(|report| report.id == REPORT_ON_RUNS);
    let fellows = match are_ranks(document.files.iter().map(|account| &account.file)) {
        true => Fellows::Ranks,
        false if are_runs => Fellows::Runs,
        false => return None,
    };
    Some((words().files.together_name)(n_files as u64, fellows))
}

/// Whether the metadata of files names different ranks of one run.
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
    /// Opens dropped or chosen files, archives as folders, and reports what was not opened.
    pub fn take(self, mut dropped: Dropped) {
        let handles = std::mem::take(&mut dropped.handles);
        // A frame keeps nothing: what it shows belongs to its host.
        if self.embed.is_none() {
            self.services.recent_files.keep_handles(handles);
        }
        if dropped.folders.is_empty() && dropped.files.is_empty() {
            self.alert(words().opening.nothing_to_open.to_string());
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
        // A link takes precedence over the folder structure.
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

    /// Opens dropped files as B of a comparison with `a`.
    pub fn open_dropped_against(self, a: Tab, dropped: Dropped) {
        let in_folders = dropped.folders.into_iter().flat_map(|folder| self.wanted(folder));
        let files = dropped.files.into_iter().chain(in_folders).collect();
        self.open_against(a, files);
    }

    /// Opens the traces in a folder.
    pub fn open_folder(self, folder: Folder) {
        self.take(Dropped { folders: vec![folder], ..Dropped::default() });
    }

    /// Files of a folder that may be traces; reports the others.
    fn wanted(self, folder: Folder) -> Vec<Picked> {
        let Folder { name, files, unreadable, is_cut } = folder;
        let (exports, files) = exports_of(files);
        let (runs, files) = runs_of(files);
        let formats = self.formats.get_untracked();
        let (mut files, tables) = without_tables_of_runs(files, |file| &file.path);
        for file in &mut files {
            if let Some(name) = name_in_dataset(&file.path) {
                file.name = name.to_string();
            }
        }
        // The formats may not be known yet.
        let (files, mut skipped): (Vec<Picked>, Vec<Picked>) =
            files.into_iter().partition(|file| formats.is_empty() || may_be_trace(&file.name, &formats));
        skipped.extend(tables);
        let skipped: Vec<String> =
            skipped.iter().map(|file| file.path.as_str()).map(|path| inside(path, &name)).collect();
        let unreadable: Vec<String> = unreadable.iter().map(|path| inside(path, &name)).collect();
        let shown = text::visible(&name);
        let name = if may_be_archive(&name) { shown } else { (words().opening.the_folder)(&shown) };
        if files.is_empty() && runs.is_empty() && exports.is_empty() {
            self.alert((words().opening.no_traces_in_folder)(&name));
        }
        if !skipped.is_empty() {
            self.alert((words().opening.skipped_in_folder)(&name, &listed(&skipped)));
        }
        if !unreadable.is_empty() {
            self.alert((words().opening.unreadable_in_folder)(&name, &listed(&unreadable)));
        }
        if is_cut {
            self.alert((words().opening.folder_is_cut)(&name));
        }
        runs.into_iter().chain(exports).chain(files).collect()
    }

    /// Opens each file in a tab; combines those that evidently belong to one run.
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

    /// Opens one tab for all `files`.
    pub fn open_together(self, mut files: Vec<Picked>) -> Tab {
        sort::by(&mut files, |a, b| a.path.cmp(&b.path));
        name_apart(&mut files);
        self.open_tab(Source::Together(files))
    }

    /// Opens one of the files of `tab` in a tab of its own, or shows that tab.
    pub fn open_alone(self, tab: Tab, name: &str) {
        let file = tab.source.with_value(|source| match source {
            Some(Source::Together(files)) => files.iter().find(|file| file.name == name).cloned(),
            _ => None,
        });
        let Some(file) = file else { return };
        let is_of_it = |tab: &&Tab| {
            tab.source
                .with_value(|source| matches!(source, Some(Source::File(other)) if other.blob == file.blob))
        };
        match self.tabs.with_untracked(|tabs| tabs.iter().find(is_of_it).map(|tab| tab.id)) {
            Some(id) => self.show(Some(id)),
            None => drop(self.open_tab(Source::File(file))),
        }
    }

    /// Once all files opened together with that of `tab` are parsed or have failed: combines those whose metadata names one run,
    /// and offers it for others of one kind.
    pub fn look_at_batch(self, tab: Tab) {
        let batch = tab.batch.get_value();
        let tabs: Vec<Tab> = batch.iter().filter_map(|id| self.tab(*id)).collect();
        let is_read = |tab: &Tab| !matches!(tab.run.phase.get_untracked(), Phase::Reading | Phase::Stopping);
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
                self.say((words().files.read_together_now)(files.len() as u64));
                // Do not switch away from a tab that is already visible.
                self.add_tab(Source::Together(files)).start();
            } else if let ([a, b], 2) = (&tabs[..], batch.len()) {
                self.compare_when_read([*a, *b]);
            }
        }
    }

    /// Shows the combined tab of these tabs' files; opens it if there is none.
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

    /// Further ways to open: a folder, or open files combined.
    pub fn ways_to_open(self) -> Vec<MenuItem> {
        let item =
            |id: String, label: String, detail: String| MenuItem { id, label, detail, ..MenuItem::default() };
        let mut items = vec![item(FOLDER.to_string(), words().files.open_folder.to_string(), String::new())];
        let tabs = self.tabs.get();
        tabs.iter().for_each(|tab| tab.document.track());
        let active = self.active.get();
        for kind in by_kind(&tabs) {
            let Some(file) = kind.first().and_then(file_view) else { continue };
            let all = (words().files.read_all_together)(kind.len() as u64);
            items.push(item(format!("{KIND}{}", file.format_id), all, file.format_title));
            if kind.len() > 2 && kind.iter().any(|tab| Some(tab.id) == active) {
                let others = kind.iter().filter(|tab| Some(tab.id) != active).take(MAX_PAIRS);
                items.extend(others.map(|tab| {
                    item(
                        format!("{WITH}{}", tab.id),
                        words().files.read_together_with.to_string(),
                        tab.label(),
                    )
                }));
            }
        }
        items
    }

    /// Runs the item of [`App::ways_to_open`] with that id.
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

/// File of a fully parsed tab.
fn file_view(tab: &Tab) -> Option<FileView> {
    let is_file = tab.source.with_value(|source| matches!(source, Some(Source::File(_))));
    let document = tab.document.get_untracked().filter(|document| is_file && !document.partial)?;
    Some(document.file.clone())
}

/// Groups of parsed tabs of the same format.
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

/// Files of tabs, ordered by path.
fn files_of(tabs: &[Tab]) -> Vec<Picked> {
    let file = |tab: &Tab| match tab.source.with_value(Clone::clone) {
        Some(Source::File(file)) => Some(file),
        _ => None,
    };
    let mut files: Vec<Picked> = tabs.iter().filter_map(file).collect();
    sort::by(&mut files, |a, b| a.path.cmp(&b.path));
    files
}

/// Run made from the files of a run directory that were opened one by one.
fn with_loose_run(files: Vec<Picked>) -> Vec<Picked> {
    let is_loose = |file: &&Picked| !file.path.contains('/') && file.beside.is_empty();
    if !is_run(files.iter().filter(is_loose).map(|file| file.name.as_str())) {
        return files;
    }
    let (runs, others) = runs_of(files);
    runs.into_iter().chain(others).collect()
}

/// Run directories among `files`: their traces, named like the directories, each with its other files. And all other files.
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

/// Exports of tables among `files`, each as one file named like its folder. And all other files.
fn exports_of(files: Vec<Picked>) -> (Vec<Picked>, Vec<Picked>) {
    let (exports, others) = table_folders_among(files, |file| &file.path);
    let export = |TableFolder { folder, tables }: TableFolder<Picked>| {
        let name = archive_stem(folder.rsplit('/').next().unwrap_or(&folder)).to_string();
        Some(Picked { path: folder, ..Picked::tar(name, tables)? })
    };
    (exports.into_iter().filter_map(export).collect(), others)
}

/// Uses paths instead of names where files of several folders have the same name: `rank0/trace.json`.
fn name_apart(files: &mut [Picked]) {
    let mut names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    sort::by(&mut names, Ord::cmp);
    names.dedup();
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

/// The same, for display.
fn inside(path: &str, folder: &str) -> String {
    text::visible(without_folder(path, folder))
}

/// The first names, and how many more there are.
pub fn listed(names: &[String]) -> String {
    let some = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => some,
        n => (words().opening.and_more)(&some, n as u64),
    }
}

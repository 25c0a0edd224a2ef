//! SHA-256 of the files behind a report, which a link or a Tracedrop file names.

use crate::app::state::Phase;
use crate::app::state::Tab;
use leptos::prelude::*;
use std::iter;
use std::sync::Arc;
use tracedrop::engine::protocol::DocumentView;
use tracedrop::engine::protocol::FileView;
use tracedrop::engine::protocol::LinkOptions;
use tracedrop::engine::protocol::LinkedFile;
use tracedrop::engine::protocol::Request;

/// Whether there are SHA-256: only of files that were read, as an index is another file than its trace.
pub fn has_digests(tab: Tab, read: &DocumentView) -> bool {
    let is_read = match tab.file_bytes() {
        Some(bytes) => bytes == read.file.bytes,
        None => tab.is_of_several(),
    };
    is_read && !tab.was_handed_on()
}

/// The files whose SHA-256 goes along, with the tab that has them computed: those that were read, or those of both sides of a
/// comparison while their tabs are open.
pub struct Digests {
    of: Vec<(Tab, Vec<LinkedFile>)>,
    n_files: usize,
}

impl Digests {
    pub fn of(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> StoredValue<Digests> {
        let linked = |FileView { name, bytes, .. }: &FileView| LinkedFile {
            name: name.clone(),
            bytes: *bytes,
            sha256: None,
            side: None,
        };
        let with_files = |tab: Tab, document: Option<Arc<DocumentView>>| {
            let document = document.filter(|it| has_digests(tab, it))?;
            let files = match document.files.is_empty() {
                true => vec![linked(&document.file)],
                false => document.files.iter().map(|account| linked(&account.file)).collect(),
            };
            Some((tab, files))
        };
        let of: Vec<(Tab, Vec<LinkedFile>)> = match tab.side_tabs() {
            // A first: order distinguishes files of the same name and size.
            Some(mut sides) => {
                if document.with_untracked(|it| it.as_ref()?.sides.as_ref().map(|it| it.is_swapped))
                    == Some(true)
                {
                    sides.reverse();
                }
                sides
                    .into_iter()
                    .filter(|side| side.run.phase.with_untracked(|phase| *phase == Phase::Done))
                    .filter_map(|side| with_files(side, side.document.get_untracked()))
                    .collect()
            }
            None => with_files(tab, document.get_untracked()).into_iter().collect(),
        };
        for (tab, _) in &of {
            // Computed once.
            if tab.digests.with_untracked(Option::is_none) {
                tab.send(&Request::WantDigests);
            }
        }
        let n_files = document.with_untracked(|it| it.as_ref().map_or(0, |it| it.files.len().max(1)));
        StoredValue::new(Digests { of, n_files })
    }

    /// Whether every file has one.
    pub fn are_all(&self) -> bool {
        let are_known = |files: &Vec<LinkedFile>| files.iter().all(|file| file.sha256.is_some());
        self.known().is_some_and(|files| files.len() == self.n_files && are_known(&files))
    }

    /// The files with their SHA-256; `None` until all are computed. Those of a tab that was closed meanwhile stay behind.
    pub fn known(&self) -> Option<Vec<LinkedFile>> {
        let with_digests = |(tab, files): &(Tab, Vec<LinkedFile>)| {
            let digests = tab.digests.try_get()?;
            Some(digests.map(|digests| {
                let digests = digests.into_iter().chain(iter::repeat(None));
                let with_digest = |(file, sha256): (&LinkedFile, _)| LinkedFile { sha256, ..file.clone() };
                files.iter().zip(digests).map(with_digest).collect::<Vec<_>>()
            }))
        };
        let known: Option<Vec<Vec<LinkedFile>>> = self.of.iter().filter_map(with_digests).collect();
        known.map(|files| files.concat())
    }

    /// How many bytes there are to read.
    pub fn n_bytes(&self) -> u64 {
        self.of.iter().flat_map(|(_, files)| files).map(|file| file.bytes).fold(0, u64::saturating_add)
    }
}

/// File information of a link. For a comparison it includes names, because there is no single run with all files.
pub fn of_files(tab: Tab, files: Vec<LinkedFile>) -> LinkOptions {
    match tab.is_comparison() {
        true => LinkOptions { files, ..LinkOptions::default() },
        false => LinkOptions {
            sha256: files.into_iter().map(|file| file.sha256).collect(),
            ..LinkOptions::default()
        },
    }
}

/// Whether what was handed on has the SHA-256 of its files with it.
pub fn files_have_digests(document: &DocumentView) -> bool {
    let files = document.link.as_ref().map(|link| &link.files);
    let files = files.or(document.sent.as_ref().map(|sent| &sent.files));
    files.is_some_and(|files| !files.is_empty() && files.iter().all(|file| file.sha256.is_some()))
}

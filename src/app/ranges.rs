//! Lists of address ranges among opened files: not traces, but settings for a trace of memory accesses.

use super::browser::{self, Dropped, Picked, Ranges};
use super::custom_rules::CustomRules;
use super::state::{App, Phase, Tab};
use super::words::words;
use leptos::prelude::*;
use tracedrop::base::text;
use tracedrop::engine::folder::{TRACE_OF_RUN, may_be_ranges, starts_ranges};

/// Bytes needed to recognize one.
const HEAD_BYTES: u32 = 4096;

/// Report that uses them.
const MEMORY: &str = "mrm";

impl App {
    /// Takes lists of address ranges out of the dropped files and applies them to the files next to them, or to the visible trace.
    /// Calls `then` with the rest; a list without a trace stays, and is shown as what it is.
    pub fn with_ranges_taken(self, dropped: Dropped, then: impl FnOnce(Dropped) + 'static) {
        let lists = [&dropped.files].into_iter().chain(dropped.folders.iter().map(|folder| &folder.files));
        let candidates: Vec<Picked> = lists.flat_map(|files| candidates(files)).cloned().collect();
        if candidates.is_empty() {
            return then(dropped);
        }
        let blobs = candidates.iter().map(|file| file.blob.clone()).collect();
        browser::heads_of_blobs(blobs, HEAD_BYTES, move |heads| {
            let found = candidates.into_iter().zip(heads).filter(|(_, head)| starts_ranges(head));
            let found: Vec<Picked> = found.map(|(file, _)| file).collect();
            self.take_ranges(dropped, found, then);
        });
    }

    fn take_ranges(self, mut dropped: Dropped, mut found: Vec<Picked>, then: impl FnOnce(Dropped) + 'static) {
        let Some(file) = found.pop() else { return then(dropped) };
        let text = file.blob.clone();
        browser::text_of_blob(&text, move |text| {
            if let Some(text) = text {
                self.place_ranges(&mut dropped, &file, Ranges { name: file.name.clone(), text });
            }
            self.take_ranges(dropped, found, then);
        });
    }

    /// Applies ranges to the files in the same folder, else to the visible trace, and removes their file from the list. Does
    /// nothing if there is neither.
    fn place_ranges(self, dropped: &mut Dropped, file: &Picked, ranges: Ranges) {
        let lists = [&mut dropped.files]
            .into_iter()
            .chain(dropped.folders.iter_mut().map(|folder| &mut folder.files));
        let mut lists = lists.filter(|files| files.iter().any(|other| is_same(other, file)));
        let Some(files) = lists.next() else { return };
        let name = text::visible(&ranges.name);
        if files.len() > 1 {
            files.retain(|other| !is_same(other, file));
            files.iter_mut().for_each(|other| other.ranges = Some(ranges.clone()));
            self.say((words().reports.ranges_taken_with)(&name));
        } else if let Some(tab) = self.active_tab().filter(|tab| tab.is_of_memory()) {
            files.clear();
            tab.use_ranges(ranges);
            self.say((words().reports.ranges_taken)(&name, &text::visible(&tab.title())));
        }
    }
}

impl Tab {
    /// Whether it shows a trace of memory accesses that can be queried.
    fn is_of_memory(self) -> bool {
        let is_memory = |document: &tracedrop::engine::protocol::DocumentView| {
            document.link.is_none()
                && document.sides.is_none()
                && document.reports.iter().any(|report| report.id == MEMORY)
        };
        self.run.phase.with_untracked(|phase| *phase == Phase::Done)
            && self.document.with_untracked(|document| document.as_deref().is_some_and(is_memory))
    }

    fn use_ranges(self, ranges: Ranges) {
        let query =
            self.document.with_untracked(|document| document.as_ref().map(|document| document.query.clone()));
        if let Some(query) = query {
            let query = CustomRules::MemoryRanges.put(query, ranges.text.clone());
            self.ranges.set(Some(ranges));
            self.set_query(query);
        }
    }
}

/// Files that may contain ranges. Those in a run directory are found when that is parsed.
fn candidates(files: &[Picked]) -> impl Iterator<Item = &Picked> {
    let folder = |file: &Picked| file.path.len() - file.path.rsplit('/').next().unwrap_or_default().len();
    files.iter().filter(move |file| {
        let is_beside_run = |other: &Picked| {
            other.path.ends_with(TRACE_OF_RUN)
                && folder(other) == folder(file)
                && other.path[..folder(other)] == file.path[..folder(file)]
        };
        // Compressed files cannot be inspected here.
        file.unpacked_bytes.is_none()
            && may_be_ranges(&file.name, file.n_bytes())
            && !files.iter().any(is_beside_run)
    })
}

fn is_same(a: &Picked, b: &Picked) -> bool {
    a.path == b.path && a.blob == b.blob
}

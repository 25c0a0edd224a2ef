//! Traces that a report names, such as those of the ranks of a fleet: the user is asked for them, and they show at a moment.

use super::{App, Source, Tab};
use crate::app::words::words;
use leptos::prelude::*;

/// A trace that the user was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    file: String,
    /// Time to show, in nanoseconds from its start, and how long it is.
    time: Option<(i64, i64)>,
}

/// The name without the ending of a compression, which may be gone meanwhile.
fn plain(name: &str) -> &str {
    [".gz", ".zst", ".lz4"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

impl Wanted {
    fn is(&self, tab: Tab) -> bool {
        tab.source.with_value(|source| match source {
            Some(source @ (Source::File(_) | Source::Kept(_))) => plain(&source.name()) == plain(&self.file),
            _ => false,
        })
    }
}

impl App {
    /// Shows the trace with that file name at a time; asks for the file if it isn't open.
    pub fn want_trace(self, file: String, time: Option<(i64, i64)>) {
        let wanted = Wanted { file, time };
        let open = self.tabs.with_untracked(|tabs| tabs.iter().copied().find(|tab| wanted.is(*tab)));
        let name = wanted.file.clone();
        self.wanted.set_value(Some(wanted));
        if let Some(tab) = open {
            self.show(Some(tab.id));
            if tab.document.with_untracked(|it| it.as_ref().is_some_and(|it| !it.partial)) {
                self.show_if_wanted(tab);
            }
            return;
        }
        // Only the user can give the page a file.
        self.say((words().table.choose_trace)(&name));
        self.choose_files();
    }

    /// Shows the time for which the user was asked for the trace of a tab, which has been read.
    pub fn show_if_wanted(self, tab: Tab) {
        let take = |wanted: &mut Option<Wanted>| wanted.take_if(|wanted| wanted.is(tab));
        let Some(wanted) = self.wanted.try_update_value(take).flatten() else { return };
        if let Some((start, dur)) = wanted.time.filter(|_| untrack(|| tab.has_timeline())) {
            tab.show_time(start as f64, start.saturating_add(dur) as f64);
        }
    }
}

//! What a tab is made from: files, a cached index, two other tabs, a link.

use super::Tab;
use crate::app::browser::{Picked, Ranges};
use crate::app::compare_tabs::Sides;
use crate::app::file_groups;
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::engine::protocol::KeptView;

/// Kind of a tab, for its labels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shows {
    File,
    Files,
    Comparison,
    Link,
}

/// Source of a tab.
#[derive(Clone)]
pub enum Source {
    File(Picked),
    /// Several files as one run, in this order.
    Together(Vec<Picked>),
    /// A cached index, without its file.
    Kept(KeptView),
    /// A comparison of two other tabs.
    Sides(Sides),
    /// The fragment of a link.
    Link(String),
}

impl Source {
    pub fn name(&self) -> String {
        match self {
            Source::File(file) => file.name.clone(),
            Source::Together(files) => file_groups::name(files),
            Source::Kept(entry) => entry.file_name.clone(),
            Source::Sides(sides) => sides.name(),
            Source::Link(_) => words().sharing.link.to_string(),
        }
    }

    /// Address ranges opened with it.
    pub fn ranges(&self) -> Option<Ranges> {
        match self {
            Source::File(file) => file.ranges.clone(),
            Source::Together(files) => files.iter().find_map(|file| file.ranges.clone()),
            Source::Kept(_) | Source::Sides(_) | Source::Link(_) => None,
        }
    }

    pub fn file_bytes(&self) -> u64 {
        match self {
            Source::File(file) => file.blob.size() as u64,
            Source::Together(files) => files.iter().map(|file| file.blob.size() as u64).sum(),
            Source::Kept(entry) => entry.file_bytes,
            Source::Sides(sides) => sides.n_bytes(),
            Source::Link(_) => 0,
        }
    }
}

impl Tab {
    /// Whether it shows a cached index for a file of that name and size, without the file.
    pub fn misses(self, file: &Picked) -> bool {
        self.source.with_value(|source| match source {
            Some(Source::Kept(entry)) => {
                (entry.file_name.as_str(), entry.file_bytes) == (file.name.as_str(), file.blob.size() as u64)
            }
            _ => false,
        })
    }

    /// Adds the file to a tab opened from its index, keeping the notes. Opens it from the index, or parses it if it differs.
    pub fn take_file(self, file: Picked) {
        self.source.set_value(Some(Source::File(file)));
        self.start();
        self.app.say((words().file.file_at_hand)(&self.name.get_untracked()));
    }

    /// Whether it shows a cached index, without the file.
    pub fn lacks_file(self) -> bool {
        self.source.with_value(|source| matches!(source, Some(Source::Kept(_))))
    }

    /// Size of the only file; `None` for anything else.
    pub fn file_bytes(self) -> Option<u64> {
        self.source.with_value(|source| match source {
            Some(Source::File(file)) => Some(file.blob.size() as u64),
            _ => None,
        })
    }

    /// Kind of the tab, for labels.
    pub fn shows(self) -> Shows {
        self.source.with_value(|source| match source {
            Some(Source::Together(_)) => Shows::Files,
            Some(Source::Sides(_)) => Shows::Comparison,
            Some(Source::Link(_)) => Shows::Link,
            Some(Source::File(_) | Source::Kept(_)) | None => Shows::File,
        })
    }

    /// Whether it combines several files.
    pub fn is_of_several(self) -> bool {
        self.source.with_value(|source| matches!(source, Some(Source::Together(_))))
    }

    /// Whether its file is available.
    pub fn can_be_read_again(self) -> bool {
        self.source.with_value(|source| matches!(source, Some(Source::File(_))))
    }
}

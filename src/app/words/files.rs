//! Texts on several files.

use super::{number, sentence};
use crate::app::file_groups::Fellows;
use tracedrop::base::units::counted;

/// Texts on several files.
pub struct FilesWords {
    pub open_menu: &'static str,
    pub open_folder: &'static str,
    pub folder_hint: &'static str,
    /// Number of files, and what they are: files, ranks or runs.
    pub together_name: fn(u64, Fellows) -> String,
    pub read_all_together: fn(u64) -> String,
    pub read_together_with: &'static str,
    pub read_together_now: fn(u64) -> String,
    pub fellows: fn(u64) -> String,
    pub read_them_together: &'static str,
    pub file_number: fn(u32, u32) -> String,
    pub left_out_title: &'static str,
    pub left_out: fn(&str, &str, &str) -> String,
    pub files_title: &'static str,
    pub open_alone: &'static str,
}

pub const ENGLISH: FilesWords = FilesWords {
    open_menu: "More ways to open",
    open_folder: "Open a folder",
    folder_hint: "to analyze its traces together, such as the ranks of a distributed run",
    together_name: |n, fellows| match fellows {
        Fellows::Files => counted(n, "file", "files"),
        Fellows::Ranks => counted(n, "rank", "ranks"),
        Fellows::Runs => counted(n, "run", "runs"),
    },
    read_all_together: |n| format!("Open all {} as one run", number(n)),
    read_together_with: "Open as one run with",
    read_together_now: |n| {
        format!("These {} belong to one run and were also opened together.", counted(n, "file", "files"))
    },
    fellows: |n| format!("Opened {} of this kind.", counted(n, "file", "files")),
    read_them_together: "Open as one run",
    file_number: |number, n| format!("File {number} of {n}"),
    left_out_title: "Skipped files",
    left_out: |name, what, hint| match hint {
        "" => format!("{name} was skipped: {what}."),
        hint => format!("{name} was skipped: {what}. {}", sentence(hint)),
    },
    files_title: "Files",
    open_alone: "Open alone",
};

//! Texts on files that are opened.

use super::number;
use tracedrop::base::units::counted;

/// Texts on files that are opened.
pub struct OpeningWords {
    pub pasted_name: &'static str,
    pub nothing_pasted: &'static str,
    pub nothing_to_open: &'static str,
    pub the_folder: fn(&str) -> String,
    pub no_traces_in_folder: fn(&str) -> String,
    pub skipped_in_folder: fn(&str, &str) -> String,
    pub unreadable_in_folder: fn(&str, &str) -> String,
    pub folder_is_cut: fn(&str) -> String,
    pub opening_archive: fn(&str) -> String,
    pub left_out_of_archive: fn(&str, &str) -> String,
    pub archive_refused: fn(&str, &str) -> String,
    pub archive_died: fn(&str) -> String,
    pub and_more: fn(&str, u64) -> String,
    /// Reason why files given at the start of the page are missing.
    pub not_given: fn(&str) -> String,
    pub not_launched: fn(u64) -> String,
}

pub const ENGLISH: OpeningWords = OpeningWords {
    pasted_name: "pasted.txt",
    nothing_pasted: "The clipboard contains no text and no file.",
    nothing_to_open: "Nothing to open: the drop contained no file.",
    the_folder: |name| format!("folder {name}"),
    no_traces_in_folder: |folder| format!("No traces found in {folder}."),
    skipped_in_folder: |folder, names| format!("Skipped in {folder} (not named like traces): {names}."),
    unreadable_in_folder: |folder, names| format!("The browser could not read from {folder}: {names}."),
    folder_is_cut: |folder| format!("Too many files in {folder}; some were not opened."),
    opening_archive: |name| format!("Opening {name}…"),
    left_out_of_archive: |name, files| format!("Skipped in {name}: {files}."),
    archive_refused: |name, why| format!("Cannot open {name}: {why}."),
    archive_died: |why| match why {
        "" => "Cannot open the archive: the worker crashed. Unpack it and open the folder.".to_string(),
        why => format!("Cannot open the archive: {why}."),
    },
    and_more: |names, n| format!("{names} and {} more", number(n)),
    not_given: |why| {
        format!(
            "The file that was shared with this page or named in its address could not be opened: {why}. Open the file itself instead."
        )
    },
    not_launched: |n| {
        let them = if n == 1 { "it" } else { "them" };
        format!(
            "The browser could not read {} opened with Tracedrop. Drop {them} on the page instead.",
            counted(n, "file", "files")
        )
    },
};

//! Texts of the question before notes are lost.

use tracedrop::base::units::counted;

/// Texts of the question before notes are lost.
pub struct ClosingWords {
    /// Name of the tab to close.
    pub closing_title: fn(&str) -> String,
    /// Number of notes that would be lost, and whether a title would be.
    pub closing_about: fn(u64, bool) -> String,
    pub closing_lose: &'static str,
    pub closing_stay: &'static str,
}

pub const ENGLISH: ClosingWords = ClosingWords {
    closing_title: |name| format!("Close {name}?"),
    closing_about: |n_notes, has_title| {
        let what = match (n_notes, has_title) {
            (0, true) => "The title".to_string(),
            (n, true) => format!("{} and the title", counted(n, "note", "notes")),
            (n, false) => counted(n, "note", "notes"),
        };
        let is_one = n_notes + u64::from(has_title) == 1;
        let (are_not, them) = if is_one { ("isn't", "it") } else { ("aren't", "them") };
        format!("{what} {are_not} saved in any file or link. Closing discards {them}.")
    },
    closing_lose: "Close without saving",
    closing_stay: "Keep open",
};

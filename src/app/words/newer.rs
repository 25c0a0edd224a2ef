//! Texts on a newer version of the page.

use tracedrop::base::units::counted;

/// Texts on a newer version of the page.
pub struct NewerWords {
    pub newer_title: &'static str,
    /// Number of open files.
    pub newer_about: fn(usize) -> String,
    pub newer_take: &'static str,
    pub newer_later: &'static str,
}

pub const ENGLISH: NewerWords = NewerWords {
    newer_title: "A new version of Tracedrop is ready.",
    newer_about: |n| match n {
        0 => String::new(),
        n => format!("Reloading closes {}.", counted(n as u64, "open file", "open files")),
    },
    newer_take: "Reload",
    newer_later: "Later",
};

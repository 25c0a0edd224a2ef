//! Texts of the start screen.

use tracedrop::base::units::counted;
use tracedrop::base::units::format_bytes;
use tracedrop::engine::protocol::KeptView;

/// Texts of the start screen.
pub struct StartWords {
    pub headline: &'static str,
    pub lead: &'static str,
    pub drop_here: &'static str,
    pub drop_hint: &'static str,
    pub stays_here: &'static str,
    pub why_it_stays: &'static str,
    pub samples_title: &'static str,
    pub formats_title: &'static str,
    pub version: fn(&str) -> String,
    pub kept_title: &'static str,
    pub kept_about: fn(&KeptView, &str) -> String,
    /// Time at which the file was last modified.
    pub kept_changed: fn(&str) -> String,
    pub forget: fn(&str) -> String,
    pub forget_all: &'static str,
    pub forget_all_of: fn(usize) -> String,
    pub keep_them: &'static str,
    pub forgotten: fn(usize) -> String,
    pub keep: &'static str,
    pub keep_hint: &'static str,
    pub lost_title: &'static str,
    pub lost_open: &'static str,
    pub lost_choose: &'static str,
    pub lost_again: &'static str,
}

pub const ENGLISH: StartWords = StartWords {
    headline: "Drop a trace. See what's slow.",
    lead: "Tracedrop parses a trace as it streams in, shows where the time went, and reports anything it couldn't read.",
    drop_here: "Drop trace files here",
    drop_hint: "or a folder, or click to choose files, or paste",
    stays_here: "Nothing leaves this page.",
    why_it_stays: "Files are read in your browser, which blocks all network access from this page.",
    samples_title: "Try a sample",
    formats_title: "Supported formats",
    version: |version| format!("Tracedrop {version}"),
    kept_title: "Recent files",
    kept_about: |entry, when| {
        format!(
            "{}, {}; opened {when}, {} cached",
            format_bytes(entry.file_bytes),
            entry.format_title,
            format_bytes(entry.index_bytes)
        )
    },
    kept_changed: |when| format!("file modified {when}"),
    forget: |name| format!("Remove {name} from the cache"),
    forget_all: "Clear all",
    forget_all_of: |n| format!("Remove {}", counted(n as u64, "cached file", "cached files")),
    keep_them: "Keep",
    forgotten: |n| format!("Removed {} from the cache.", counted(n as u64, "file", "files")),
    keep: "Cache large files (over 4 MB) in this browser so they reopen instantly.",
    keep_hint: "The browser also remembers dropped files, and asks before one is opened again. None of this leaves the browser; turning it off deletes all of it.",
    lost_title: "Open before the reload",
    lost_open: "Open",
    lost_choose: "Choose",
    lost_again: "again",
};

//! Texts of the search.

use super::number;

/// Texts of the search.
pub struct SearchWords {
    pub open: &'static str,
    pub key: &'static str,
    pub title: &'static str,
    pub placeholder: &'static str,
    pub hits: &'static str,
    pub nothing: &'static str,
    pub reports: &'static str,
    pub findings: &'static str,
    pub files: &'static str,
    pub commands: &'static str,
    pub all_rows: fn(u64) -> String,
}

pub const ENGLISH: SearchWords = SearchWords {
    open: "Search",
    key: "Ctrl K",
    title: "Search",
    placeholder: "Kernels, functions, reports, commands",
    hits: "Search results",
    nothing: "No results",
    reports: "Reports",
    findings: "Findings",
    files: "Open files",
    commands: "Commands",
    all_rows: |n| format!("All {} rows", number(n)),
};

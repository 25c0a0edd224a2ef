//! Texts while files are dragged over the page.

/// Texts while files are dragged over the page.
pub struct DropWords {
    pub let_go: &'static str,
    pub let_go_to_compare: &'static str,
    pub nothing_to_compare_with: &'static str,
    pub compared_with: fn(&str) -> String,
}

pub const ENGLISH: DropWords = DropWords {
    let_go: "Drop to open",
    let_go_to_compare: "Drop to compare",
    nothing_to_compare_with: "Nothing to compare: one of the two files was closed or could not be read.",
    compared_with: |name| format!("as B (A is {name})"),
};

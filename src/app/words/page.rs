//! Texts of the page as a whole.

/// Texts of the page as a whole.
pub struct PageWords {
    pub page_title: fn(Option<&str>) -> String,
    pub skip_to_content: &'static str,
}

pub const ENGLISH: PageWords = PageWords {
    page_title: |file| match file {
        Some(file) => format!("{file} – Tracedrop"),
        None => "Tracedrop".to_string(),
    },
    skip_to_content: "Skip to content",
};

//! Texts on files that could not be read.

use tracedrop::base::text;
use tracedrop::engine::protocol::FileProgress;

/// Texts on files that could not be read.
pub struct ProblemWords {
    pub failed_title: &'static str,
    pub died_title: &'static str,
    pub failed_compare_title: &'static str,
    pub failed_link_title: &'static str,
    pub failed_together_title: &'static str,
    pub died_what: &'static str,
    /// File that was being parsed.
    pub died_together_what: fn(&FileProgress) -> String,
    pub died_together_hint: &'static str,
    pub died_hint: &'static str,
    pub formats_below: &'static str,
    pub problem_code: &'static str,
    pub start_again: &'static str,
}

pub const ENGLISH: ProblemWords = ProblemWords {
    failed_title: "This file could not be read",
    died_title: "The worker crashed",
    failed_compare_title: "Cannot compare these traces",
    failed_link_title: "This link could not be read",
    failed_together_title: "These files could not be read",
    died_what: "The worker that parses this file stopped unexpectedly. Other open files are not affected.",
    died_together_what: |file| {
        format!(
            "The worker that parses these files stopped unexpectedly at file {} of {}: {}. Other open files are not affected.",
            file.number,
            file.n_files,
            text::visible(&file.name)
        )
    },
    died_together_hint: "Together, the files may need more memory than the browser gives to a page. Open fewer at once, or run \
                         `tracedrop report --together`, which can use all of the computer's memory.",
    died_hint: "Start again to parse the file from the beginning. If it crashes again, the file may need more memory than the browser gives to a page; use the `tracedrop` command instead.",
    formats_below: "See the supported formats below.",
    problem_code: "Details:",
    start_again: "Start again",
};

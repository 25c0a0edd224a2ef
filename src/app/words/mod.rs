//! Texts of the page, a file for each screen. Texts of reports and errors come from the library.
//!
//! To add a language, add a constant of each type, one of [`Words`], and a choice in [`words`].

mod closing;
mod compare;
mod drop;
mod export;
mod file;
mod files;
mod flame;
mod frame;
mod header;
mod keys;
mod newer;
mod notes;
mod opening;
mod page;
mod privacy;
mod problem;
mod range;
mod reading;
mod reports;
mod search;
mod share;
mod start;
mod table;
mod timeline;

pub use keys::KeyGroup;

use tracedrop::base::units::{counted_records, group_digits};

/// Keyboard shortcuts of one group: the keys and what they do.
pub type Keys = &'static [(&'static [&'static str], &'static str)];

/// Records that were kept, repaired and skipped.
pub type Counts = (u64, u64, u64);

/// All texts of the page.
pub struct Words {
    pub closing: closing::ClosingWords,
    pub compare: compare::CompareWords,
    pub drop: drop::DropWords,
    pub export: export::ExportWords,
    pub file: file::FileWords,
    pub files: files::FilesWords,
    pub flame: flame::FlameWords,
    pub frame: frame::FrameWords,
    pub header: header::HeaderWords,
    pub keys: keys::KeysWords,
    pub newer: newer::NewerWords,
    pub notes: notes::NoteWords,
    pub opening: opening::OpeningWords,
    pub page: page::PageWords,
    pub privacy: privacy::PrivacyWords,
    pub problem: problem::ProblemWords,
    pub range: range::RangeWords,
    pub reading: reading::ReadingWords,
    pub reports: reports::ReportsWords,
    pub search: search::SearchWords,
    pub sharing: share::ShareWords,
    pub start: start::StartWords,
    pub table: table::TableWords,
    pub timeline: timeline::TimelineWords,
}

/// Texts in the language of the page.
pub fn words() -> &'static Words {
    &ENGLISH
}

static ENGLISH: Words = Words {
    closing: closing::ENGLISH,
    compare: compare::ENGLISH,
    drop: drop::ENGLISH,
    export: export::ENGLISH,
    file: file::ENGLISH,
    files: files::ENGLISH,
    flame: flame::ENGLISH,
    frame: frame::ENGLISH,
    header: header::ENGLISH,
    keys: keys::ENGLISH,
    newer: newer::ENGLISH,
    notes: notes::ENGLISH,
    opening: opening::ENGLISH,
    page: page::ENGLISH,
    privacy: privacy::ENGLISH,
    problem: problem::ENGLISH,
    range: range::ENGLISH,
    reading: reading::ENGLISH,
    reports: reports::ENGLISH,
    search: search::ENGLISH,
    sharing: share::ENGLISH,
    start: start::ENGLISH,
    table: table::ENGLISH,
    timeline: timeline::ENGLISH,
};

/// The records of a file: how many were kept, repaired and skipped.
fn records_told((kept, repaired, skipped): Counts, noun: &str) -> String {
    let mut parts = vec![format!("{} kept", number(kept))];
    if repaired > 0 {
        parts.push(format!("{} repaired", number(repaired)));
    }
    if skipped > 0 {
        parts.push(format!("{} skipped", number(skipped)));
    }
    format!("Parsed {}: {}", counted_records(kept + repaired + skipped, noun), parts.join(", "))
}

fn number(n: u64) -> String {
    group_digits(i128::from(n))
}

/// Whole seconds below a minute, then minutes, then hours.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "under 1 s".to_string(),
        s if s < 90.0 => format!("about {s:.0} s"),
        s if s < 5400.0 => format!("about {:.0} min", s / 60.0),
        s => format!("about {:.1} h", s / 3600.0),
    }
}

/// Sentence on what an export lacks, with a leading space; empty if it lacks nothing.
fn not_in_it(left_out: &[String]) -> String {
    if left_out.is_empty() { String::new() } else { format!(" Not included: {}.", left_out.join("; ")) }
}

/// Sentence from a message of the library, which starts in lower case and has no final period.
pub fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    match chars.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), chars.as_str().trim_end_matches('.')),
        None => String::new(),
    }
}

//! Texts of the card of a file.

use super::{Counts, number, records_told, sentence};
use tracedrop::base::text;
use tracedrop::base::units::format_bytes;
use tracedrop::base::units::{all_records, counted, counted_records};
use tracedrop::engine::protocol::IndexView;

/// Texts of the card of a file.
pub struct FileWords {
    pub file_card: &'static str,
    pub so_far: &'static str,
    pub format: &'static str,
    pub size: &'static str,
    pub written_by: &'static str,
    pub compression: &'static str,
    pub digest: &'static str,
    /// Name of the trace, its index, and when the index was made.
    pub from_index: fn(&str, &IndexView, Option<&str>) -> String,
    pub n_warnings: fn(u64) -> String,
    pub read_again: &'static str,
    pub choose_trace: &'static str,
    pub file_at_hand: fn(&str) -> String,
    pub read_again_because: fn(&str) -> String,
    /// The same in two words, with the number of what is named.
    pub short_left_out: fn(u64) -> String,
    pub short_skipped: fn(u64) -> String,
    pub short_repaired: fn(u64) -> String,
    pub short_notes: fn(u64) -> String,
    pub short_unreadable: &'static str,
    pub short_partly: &'static str,
    pub short_truncated: &'static str,
    pub short_damaged: &'static str,
    pub short_unused: &'static str,
    pub verdict_clean: fn(u64, &str) -> String,
    pub verdict_notes: fn(u64, &str, u64) -> String,
    pub verdict_counts: fn(Counts, &str) -> String,
    /// Counts, noun of the records, and the issues that made bytes outside of records unusable.
    pub verdict_unused: fn(Counts, &str, &[&str]) -> String,
    pub verdict_unreadable: &'static str,
    pub verdict_stopped: fn(u64, u64, u64, &str) -> String,
    /// Parsed files, all files, records, noun of the records.
    pub verdict_left_out: fn(u64, u64, u64, &str) -> String,
    pub verdict_so_far: fn(u64, &str) -> String,
    /// The same while only a time range is kept.
    pub verdict_held_so_far: fn(u64, &str) -> String,
    pub show_account: &'static str,
    pub show_secrets: &'static str,
    pub hide_account: &'static str,
    pub account_title: &'static str,
    pub kept: &'static str,
    pub repaired: &'static str,
    pub skipped: &'static str,
    pub note: &'static str,
    pub between: &'static str,
    pub not_used: &'static str,
    pub read: &'static str,
    pub not_read: &'static str,
    pub unpacked_from: &'static str,
    pub share: &'static str,
    pub bytes: &'static str,
    pub issues_title: &'static str,
    pub times: fn(u64) -> String,
    pub first_at: fn(Option<u64>, u64) -> String,
}

pub const ENGLISH: FileWords = FileWords {
    file_card: "File",
    so_far: "so far",
    format: "Format",
    size: "Size",
    written_by: "Producer",
    compression: "Compression",
    digest: "SHA-256 of the file:",
    from_index: |file, index, when| {
        let when = when.map(|when| format!(" (made {when})")).unwrap_or_default();
        let mut text = match index.is_alone {
            true => format!(
                "Opened from the index of {}{when}, without the trace. Arguments are available only for the slices listed here; \
                 open the trace to get the rest.",
                text::visible(file)
            ),
            false => format!("Opened from its index{when}, without parsing the file again."),
        };
        if index.is_of_other_version {
            text.push_str(
                " Another version of Tracedrop made the index, so the reports were recomputed from it.",
            );
        }
        text
    },
    n_warnings: |n| counted(n, "warning", "warnings"),
    read_again: "Parse the whole file",
    choose_trace: "Open the trace",
    file_at_hand: |name| format!("Opened {name}; all arguments are available now."),
    read_again_because: |what| format!("{} Parsing it again.", sentence(what)),
    short_left_out: |n| counted(n, "file left out", "files left out"),
    short_skipped: |n| format!("{} skipped", number(n)),
    short_repaired: |n| format!("{} repaired", number(n)),
    short_notes: |n| counted(n, "note", "notes"),
    short_unreadable: "not parsed",
    short_partly: "partly read",
    short_truncated: "truncated",
    short_damaged: "damaged",
    short_unused: "bytes unused",
    verdict_clean: |records, noun| format!("Parsed {}", all_records(records, noun)),
    verdict_notes: |records, noun, n_notes| {
        format!("Parsed {}, with {}", counted_records(records, noun), counted(n_notes, "note", "notes"))
    },
    verdict_counts: records_told,
    verdict_unused: |counts, noun, unused| {
        let (told, rest) = unused.split_at(unused.len().min(3));
        let more = if rest.is_empty() { "" } else { "; and more" };
        format!("Part of the file was ignored: {}{more}. {}", told.join("; "), records_told(counts, noun))
    },
    verdict_unreadable: "The trace could not be parsed. The reports cover only the other files of the run.",
    verdict_stopped: |read, total, records, noun| {
        format!(
            "Stopped at {} of {}: parsed {}",
            format_bytes(read),
            format_bytes(total),
            counted_records(records, noun)
        )
    },
    verdict_left_out: |n_read, n_files, records, noun| {
        format!(
            "Parsed {} of {}: {}",
            number(n_read),
            counted(n_files, "file", "files"),
            counted_records(records, noun)
        )
    },
    verdict_so_far: |records, noun| {
        format!("{} so far. The numbers below cover only these.", counted_records(records, noun))
    },
    verdict_held_so_far: |records, noun| {
        format!(
            "{} so far. The numbers below cover only the selected time range.",
            counted_records(records, noun)
        )
    },
    show_account: "Parsing details",
    show_secrets: "Show passwords, tokens and keys in this tab's reports and exports",
    hide_account: "Hide parsing details",
    account_title: "Bytes parsed",
    kept: "Kept",
    repaired: "Repaired",
    skipped: "Skipped",
    note: "Note",
    between: "Between records",
    not_used: "Ignored (stray or trailing text)",
    read: "Total read",
    not_read: "Not read",
    unpacked_from: "Compressed size",
    share: "Share",
    bytes: "Bytes",
    issues_title: "Parsing issues",
    times: |n| if n == 1 { "once".to_string() } else { format!("{} times", number(n)) },
    first_at: |line, byte| match line {
        Some(line) => format!("first at line {}, byte {}", number(line), number(byte)),
        None => format!("first at byte {}", number(byte)),
    },
};

//! Texts of the export and share dialogs.

use super::{not_in_it, number};
use tracedrop::base::secrets::hidden_text;
use tracedrop::base::units::counted;
use tracedrop::base::units::format_bytes;
use tracedrop::engine::protocol::TextSort;

/// Texts of the export and share dialogs.
pub struct ShareWords {
    pub share: &'static str,
    pub open_in_perfetto: &'static str,
    pub perfetto_title: &'static str,
    pub perfetto_about: &'static str,
    pub part: fn(&str) -> String,
    pub from: &'static str,
    pub to: &'static str,
    pub pack: &'static str,
    pub depth: &'static str,
    pub beyond: fn(&str) -> String,
    pub bad_depth: &'static str,
    pub is_large: fn(u64) -> String,
    pub packing: fn(u64) -> String,
    pub goes_out: fn(&str, u64, &str, &[String]) -> String,
    pub open_perfetto: &'static str,
    pub download_instead: &'static str,
    pub calling: &'static str,
    pub call_off: &'static str,
    pub handed_over: fn(u64) -> String,
    pub window_blocked: &'static str,
    pub no_answer: &'static str,
    pub copy_link: &'static str,
    pub link_title: &'static str,
    pub link_about: &'static str,
    pub link_on_disk: &'static str,
    pub link_rows: &'static str,
    pub link_all: &'static str,
    pub link_short: &'static str,
    pub link_making: &'static str,
    /// Bytes of all files to hash.
    pub digests_making: fn(u64) -> String,
    /// Characters, title of the report (empty: all reports), whether SHA-256 hashes are included.
    pub link_length: fn(u64, &str, bool) -> String,
    pub link_copy_now: &'static str,
    pub link_copied: &'static str,
    pub link: &'static str,
    pub link_name: fn(&str) -> String,
    pub from_link: fn(usize) -> String,
    pub drop_file: fn(&str, u64) -> String,
    pub own_tables: &'static str,
    pub made_by: fn(&str) -> String,
    pub landed: fn(&str) -> String,
    pub landed_among: fn(&[String]) -> String,
    /// Number of files, whether SHA-256 was compared and matches.
    pub landed_together: fn(usize, bool) -> String,
    /// Number of files that differ, number of files.
    pub other_digests: fn(usize, usize) -> String,
    pub landed_by_size: fn(&str) -> String,
    pub other_digest: fn(&str, &str) -> String,
    pub other_file: fn(&str, &str, u64) -> String,
    pub with_less: &'static str,
    pub file_title: &'static str,
    pub file_about: &'static str,
    pub file_format: &'static str,
    pub file_export: &'static str,
    pub take_out: &'static str,
    /// Id of the class, label, explanation.
    pub classes: [(&'static str, &'static str, &'static str); 5],
    pub preview: &'static str,
    pub preview_about: &'static str,
    pub preview_search: &'static str,
    pub previewing: &'static str,
    /// Number of texts beyond the limit of the preview.
    pub preview_untold: fn(u64) -> String,
    pub preview_more: &'static str,
    pub preview_save: &'static str,
    /// File name.
    pub preview_name: &'static str,
    /// Texts shown, texts that match the search, texts beyond the limit of the preview.
    pub preview_count: fn(u64, u64, u64) -> String,
    pub sort: fn(TextSort) -> &'static str,
    pub not_handed_over: &'static str,
    pub hand_on: &'static str,
    pub hand_on_title: &'static str,
    pub hand_on_about: &'static str,
    /// Size of the file with the trace data, once known.
    pub everything: fn(Option<u64>) -> String,
    pub everything_about: &'static str,
    pub everything_not: &'static str,
    /// Name of the file, its bytes, number of notes.
    pub hand_on_ready: fn(&str, u64, u64) -> String,
    pub hand_on_save: &'static str,
    pub from_file: fn(usize) -> String,
    pub no_index: fn(&str) -> String,
    pub secrets_hidden: fn(u64) -> String,
}

pub const ENGLISH: ShareWords = ShareWords {
    share: "Share",
    open_in_perfetto: "Open in Perfetto…",
    perfetto_title: "Open in Perfetto",
    perfetto_about: "Perfetto is another site. It opens the trace in your browser, but this page cannot control what it does with it. \
                     Nothing is passed on until you press the button below.",
    part: |length| format!("Time range in ms; the whole trace is 0 to {length}"),
    from: "from",
    to: "to",
    pack: "Pack this range",
    depth: "maximum depth",
    beyond: |length| format!("The trace ends at {length} ms."),
    bad_depth: "Enter a depth of 1 or more, or leave it empty to keep all levels.",
    is_large: |bytes| {
        format!(
            "The file has {}. Perfetto may not be able to load all of it, so only the first part is selected.",
            format_bytes(bytes)
        )
    },
    packing: |bytes| match bytes {
        0 => "Packing…".to_string(),
        bytes => format!("Packing… {}", format_bytes(bytes)),
    },
    goes_out: |name, bytes, to, left_out| {
        format!("{} will be passed to {to} as {name}.{}", format_bytes(bytes), not_in_it(left_out))
    },
    open_perfetto: "Open in Perfetto",
    download_instead: "Download instead",
    calling: "Waiting for Perfetto to start…",
    call_off: "Cancel",
    handed_over: |bytes| format!("Passed {} to Perfetto.", format_bytes(bytes)),
    window_blocked: "The browser blocked the new window. Allow pop-ups for this page, or download the trace and open it in Perfetto.",
    no_answer: "Perfetto did not answer: it may be unreachable, or its window was closed. Download the trace and open it there.",
    copy_link: "Copy link to the results…",
    link_title: "Copy link",
    link_about: "The link contains the report's numbers, after the #, which browsers never send to a server. Anyone with the link sees \
                 them, without the file. Anyone who has the file can drop it to see everything. The link includes names in the report, your notes and your title.",
    link_on_disk: "This page was opened from disk, so the link has no address and starts with #. Paste it into any Tracedrop page, or append it to the address of one.",
    link_rows: "Rows per table",
    link_all: "All reports",
    link_short: "Short, for mail and chat: drops explanations, extra columns and tables to stay under 2,000 characters",
    link_making: "Creating the link…",
    digests_making: |bytes| {
        format!("Computing SHA-256 of {}, so the link recognizes the same files…", format_bytes(bytes))
    },
    link_length: |letters, report, has_digest| {
        let what =
            if report.is_empty() { "all reports".to_string() } else { format!("the report “{report}”") };
        let digest =
            if has_digest { ", and file names, sizes and SHA-256" } else { ", and file names and sizes" };
        let long = if letters > 2000 { " Some mail and chat programs cut links this long." } else { "" };
        format!(
            "{}. Contains {what}, table order and filters{digest}.{long}",
            counted(letters, "character", "characters")
        )
    },
    link_copy_now: "Copy link",
    link_copied: "Link copied.",
    link: "Link",
    link_name: |name| format!("{name} (from a link)"),
    from_link: |n_files| {
        let drop = if n_files > 1 { "Drop the files together" } else { "Drop the file" };
        format!(
            "These numbers came with the link. No file was read, so they are not verified. {drop} to see everything:"
        )
    },
    drop_file: |name, bytes| match bytes {
        0 => name.to_string(),
        bytes => format!("{name} ({})", format_bytes(bytes)),
    },
    own_tables: "The sender's custom rules or tables affected these numbers; the link does not include them.",
    made_by: |by| if by.is_empty() { String::new() } else { format!("Made by {by}.") },
    landed: |name| format!("{name} is the link's file: size and SHA-256 match."),
    landed_among: |names| match names {
        [name] => format!("{name} is one of the link's files: size and SHA-256 match."),
        names => {
            format!(
                "{} are among the link's files: sizes and SHA-256 match.",
                crate::app::file_groups::listed(names)
            )
        }
    },
    landed_together: |n, by_digest| match by_digest {
        true => format!("These are the link's {n} files: sizes and SHA-256 match."),
        false => {
            format!("These have the sizes of the link's {n} files; the link has no SHA-256 to verify them.")
        }
    },
    other_digests: |n_others, n| {
        let differ = if n_others == 1 { "differs" } else { "differ" };
        format!("{n_others} of these {n} files {differ} from the link's: same size, different SHA-256.")
    },
    landed_by_size: |name| {
        format!("This has the size of {name}, the link's file; the link has no SHA-256 to verify it.")
    },
    other_digest: |name, linked| {
        format!("{name} is not {linked}, the link's file: same size, different SHA-256.")
    },
    other_file: |name, linked, bytes| {
        format!("{name} is not the link's file, which is {linked} ({}).", format_bytes(bytes))
    },
    with_less: "Export redacted…",
    file_title: "Export redacted",
    file_about: "Replaces text with tokens; the same text always becomes the same token. Check the preview: not everything confidential can be recognized. A trace can also be limited to a time range and depth.",
    file_format: "Format",
    file_export: "Export",
    take_out: "Redact",
    classes: [
        ("paths", "paths", "files and folders, anywhere in a text"),
        ("hosts", "hosts", "names and addresses of computers and people"),
        ("symbols", "symbols", "names of functions, kernels and other slices"),
        ("arguments", "arguments", "all event arguments, and excerpts of broken records"),
        ("prompts", "prompts", "long texts, and anything named prompt or message"),
    ],
    preview: "Preview exported text",
    preview_about: "Every text in the export, read back from its bytes. Numbers are exported too.",
    preview_search: "Search these texts",
    previewing: "Scanning…",
    preview_untold: |n| format!("{} not listed: too many.", counted(n, "more text", "more texts")),
    preview_more: "Show more",
    preview_save: "Save list",
    preview_name: "exported-text.tsv",
    preview_count: |shown, matching, more| {
        let further = match more {
            0 => String::new(),
            n => format!(" {} not listed: too many.", counted(n, "more text", "more texts")),
        };
        format!("Showing {} of {}.{further}", number(shown), counted(matching, "text", "texts"))
    },
    sort: |sort| match sort {
        TextSort::Token => "redacted",
        TextSort::Path => "path",
        TextSort::Host => "host",
        TextSort::Prompt => "long text",
        TextSort::Other => "text",
        TextSort::Key => "key",
    },
    not_handed_over: "The trace could not be passed to Perfetto. Download it and open it there.",
    hand_on: "Save as a Tracedrop file…",
    hand_on_title: "Save as a Tracedrop file",
    hand_on_about: "One file with all reports, your notes, and table order and filters. Anyone who opens it here sees what you see. It is a \
                    zip archive of Parquet tables, for DuckDB, Polars and pandas.",
    everything: |bytes| match bytes {
        Some(bytes) => format!("Include all trace data ({})", format_bytes(bytes)),
        None => "Include all trace data".to_string(),
    },
    everything_about: "The file then works without the trace, with all settings. Event arguments are included only if the trace is compressed.",
    everything_not: "Trace data would still contain the redacted text, so it is not included.",
    hand_on_ready: |name, bytes, n_notes| {
        let notes = match n_notes {
            0 => String::new(),
            n => format!(", with {}", counted(n, "note", "notes")),
        };
        format!("{name}: {}{notes}", format_bytes(bytes))
    },
    hand_on_save: "Save",
    from_file: |n_files| {
        let (traces_were, drop) = match n_files {
            0 | 1 => ("trace was", "Drop the trace"),
            _ => ("traces were", "Drop the traces together"),
        };
        format!(
            "These numbers were saved in this file. The {traces_were} not read, so they are not verified. {drop} to see everything:"
        )
    },
    no_index: |why| format!("The trace data in this file cannot be used: {why}."),
    secrets_hidden: hidden_text,
};

//! All words of the page. What a file or a report says comes from the library.
//!
//! Another language is another constant of [`Words`], and a choice in [`words`].

use super::browser::{Outcome, Theme, WayOut};
use super::state::Shows;
use super::together::Fellows;
use tracedrop::base::text;
use tracedrop::base::units::{Unit, counted, format_bytes, group_digits};
use tracedrop::compare::PhaseFilter;
use tracedrop::engine::protocol::{FileProgress, IndexView, KeptView, TextSort};
use tracedrop::report::Value;

/// Keys of one subject: their names and what they do.
pub type Keys = &'static [(&'static [&'static str], &'static str)];

/// Records that were kept, repaired and skipped.
pub type Counts = (u64, u64, u64);

/// Everything the page says by itself.
pub struct Words {
    pub page_title: fn(Option<&str>) -> String,
    pub skip_to_content: &'static str,

    pub headline: &'static str,
    pub lead: &'static str,
    pub drop_here: &'static str,
    pub drop_hint: &'static str,
    pub stays_here: &'static str,
    pub why_it_stays: &'static str,
    pub let_go: &'static str,
    pub let_go_to_compare: &'static str,
    pub nothing_to_compare_with: &'static str,
    pub compared_with: fn(&str) -> String,
    pub samples_title: &'static str,
    pub formats_title: &'static str,
    pub version: fn(&str) -> String,
    pub kept_title: &'static str,
    pub kept_about: fn(&KeptView, &str) -> String,
    /// When the file itself was changed last.
    pub kept_changed: fn(&str) -> String,
    pub forget: fn(&str) -> String,
    pub forget_all: &'static str,
    pub forget_all_of: fn(usize) -> String,
    pub keep_them: &'static str,
    pub numbered: fn(&str, usize) -> String,
    pub forgotten: fn(usize) -> String,
    pub keep: &'static str,
    pub keep_hint: &'static str,

    pub open: &'static str,
    pub open_files: &'static str,
    pub open_another: &'static str,
    pub to_start: &'static str,
    pub close: &'static str,
    pub close_tab: fn(Shows) -> &'static str,
    pub dismiss: &'static str,
    /// Name of what is to be closed.
    pub closing_title: fn(&str) -> String,
    /// Notes that would be lost, and whether a title would be.
    pub closing_about: fn(u64, bool) -> String,
    pub closing_lose: &'static str,
    pub closing_stay: &'static str,
    pub tab_reading: &'static str,
    pub tab_problem: &'static str,
    pub theme_menu: &'static str,
    pub theme: fn(Theme) -> &'static str,
    pub theme_is: fn(Theme) -> String,

    pub pasted_name: &'static str,
    pub nothing_pasted: &'static str,
    pub nothing_to_open: &'static str,
    pub the_folder: fn(&str) -> String,
    pub no_traces_in_folder: fn(&str) -> String,
    pub skipped_in_folder: fn(&str, &str) -> String,
    pub unreadable_in_folder: fn(&str, &str) -> String,
    pub folder_is_cut: fn(&str) -> String,
    pub opening_archive: fn(&str) -> String,
    pub left_out_of_archive: fn(&str, &str) -> String,
    pub archive_refused: fn(&str, &str) -> String,
    pub archive_died: fn(&str) -> String,
    pub and_more: fn(&str, u64) -> String,

    pub open_menu: &'static str,
    pub open_folder: &'static str,
    pub folder_hint: &'static str,
    /// Number of files, and whether each is of another rank.
    pub together_name: fn(u64, Fellows) -> String,
    pub read_all_together: fn(u64) -> String,
    pub read_together_with: &'static str,
    pub read_together_now: fn(u64) -> String,
    pub fellows: fn(u64) -> String,
    pub read_them_together: &'static str,
    pub file_number: fn(u32, u32) -> String,
    pub left_out_title: &'static str,
    pub left_out: fn(&str, &str, &str) -> String,
    pub files_title: &'static str,

    pub compare: &'static str,
    pub compare_with: &'static str,
    pub compare_with_file: &'static str,
    /// What a tab of two sides is called.
    pub sides_name: fn(&str, &str) -> String,
    pub sides_card: &'static str,
    pub sides_title: &'static str,
    pub swap: &'static str,
    pub swap_hint: &'static str,
    pub phase_label: &'static str,
    pub phase: fn(PhaseFilter) -> &'static str,
    /// Files of a side, and files that are missing.
    pub files_of_side: fn(u64, u64) -> String,
    /// Share of A's time.
    pub of_side_a: fn(f64) -> String,
    pub failed_compare_title: &'static str,
    pub rank: fn(i64) -> String,

    pub reading: &'static str,
    pub making_reports: &'static str,
    /// Percent of the reports that are made.
    pub making_percent: fn(u8) -> String,
    /// They are made again for another question.
    pub making_again: &'static str,
    pub making_again_percent: fn(u8) -> String,
    pub stopping: &'static str,
    pub stop: &'static str,
    pub discard: &'static str,
    pub read_so_far: &'static str,
    pub bytes_of: fn(u64, u64) -> String,
    pub speed: &'static str,
    pub bytes_per_second: fn(f64) -> String,
    pub time_left: &'static str,
    pub seconds_left: fn(f64) -> String,
    pub records: &'static str,
    pub count: fn(u64) -> String,
    pub format_unknown_yet: &'static str,
    pub spoken_progress: fn(u64) -> String,

    pub range: RangeWords,

    pub file_card: &'static str,
    pub so_far: &'static str,
    pub format: &'static str,
    pub size: &'static str,
    pub written_by: &'static str,
    pub compression: &'static str,
    pub digest: &'static str,
    /// Name of the trace, its index, and when that was made.
    pub from_index: fn(&str, &IndexView, Option<&str>) -> String,
    pub n_warnings: fn(u64) -> String,
    pub export_needs: fn(&str) -> String,
    pub read_again: &'static str,
    pub choose_trace: &'static str,
    pub file_at_hand: fn(&str) -> String,
    pub read_again_because: fn(&str) -> String,
    pub verdict_clean: fn(u64, &str) -> String,
    pub verdict_notes: fn(u64, &str) -> String,
    pub verdict_counts: fn(Counts, &str) -> String,
    /// Kept, repaired and skipped; what they are called; why there is more that is not among them.
    pub verdict_unused: fn(Counts, &str, &[&str]) -> String,
    pub verdict_unreadable: &'static str,
    pub verdict_stopped: fn(u64, u64, u64, &str) -> String,
    /// Files that were read, and all of them.
    pub verdict_left_out: fn(u64, u64, u64, &str) -> String,
    pub verdict_so_far: fn(u64, &str) -> String,
    /// The same while only a stretch of time is held.
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

    pub reports: &'static str,
    pub no_reports: &'static str,
    pub no_reports_yet: &'static str,
    pub empty_report: &'static str,
    pub note_warning: &'static str,
    /// Share of all time, 0 to 1.
    pub of_the_time: fn(f64) -> String,
    pub top_label: &'static str,
    pub own_rules_title: &'static str,
    pub own_rules_explanation: &'static str,
    pub own_peaks_title: &'static str,
    pub own_peaks_explanation: &'static str,
    pub memory_settings: &'static str,
    pub memory_rules_title: &'static str,
    pub memory_rules_explanation: &'static str,
    pub memory_thresholds_title: &'static str,
    pub memory_thresholds_explanation: &'static str,
    pub memory_phases_title: &'static str,
    pub memory_phases_explanation: &'static str,
    pub memory_ranges_title: &'static str,
    pub ranges_from: fn(&str) -> String,
    pub ranges_taken_with: fn(&str) -> String,
    /// Of the file, and of the trace.
    pub ranges_taken: fn(&str, &str) -> String,
    pub memory_ranges_explanation: &'static str,
    pub path_of_title: &'static str,
    pub save_svg: &'static str,
    pub path_of_explanation: &'static str,
    pub unknown_label: &'static str,
    /// Names of the library, and what they do.
    pub unknown_policies: [(&'static str, &'static str); 4],
    pub perf_grammar_label: &'static str,
    pub perf_grammars: [&'static str; 2],
    pub memray_clock_label: &'static str,
    pub memray_clocks: [&'static str; 2],
    pub validity_label: &'static str,
    pub validity_rules: [(&'static str, &'static str); 2],
    pub own_apply: &'static str,
    pub own_clear: &'static str,
    pub own_start_from_builtin: &'static str,

    pub no_rows: &'static str,
    pub nothing_matches: &'static str,
    pub rows_of: fn(Option<u64>, u64) -> String,
    pub rows_region: fn(&str) -> String,
    pub rows_left_out: fn(u64) -> String,
    pub filter: &'static str,
    pub filter_table: fn(&str) -> String,
    pub copy_table: fn(&str) -> String,
    /// Id, name, what it is good for.
    pub copy_formats: [(&'static str, &'static str, &'static str); 3],
    pub copied: fn(u64) -> String,
    pub not_copied: &'static str,

    pub export: &'static str,
    pub exporting: fn(&str, u64) -> String,
    pub exported: fn(&str, u64, &[String]) -> String,
    pub refused: fn(&str, &str) -> String,

    pub failed_title: &'static str,
    pub died_title: &'static str,
    pub failed_link_title: &'static str,
    pub failed_together_title: &'static str,
    pub died_what: &'static str,
    /// The file that was being read.
    pub died_together_what: fn(&FileProgress) -> String,
    pub died_together_hint: &'static str,
    pub died_hint: &'static str,
    pub problem_code: &'static str,
    pub start_again: &'static str,

    pub sharing: ShareWords,
    pub notes: NoteWords,

    pub keys_title: &'static str,
    pub keys: &'static [(&'static str, Keys)],

    /// Why files that came with the start of the page are missing.
    pub not_given: fn(&str) -> String,
    pub not_launched: fn(u64) -> String,
    /// Id of a report.
    pub no_such_report: fn(&str) -> String,
    pub frame_waits: &'static str,
    pub budget_kept: fn(usize) -> String,
    /// Limits that are not kept, and all of them.
    pub budget_passed: fn(usize, usize) -> String,
    pub budget_empty: &'static str,
    pub limit_kept: &'static str,
    pub limit_passed: &'static str,
    pub limit_unknown: &'static str,
    pub newer_title: &'static str,
    /// Number of files that are open.
    pub newer_about: fn(usize) -> String,
    pub newer_take: &'static str,
    pub newer_later: &'static str,
    pub privacy: PrivacyWords,
}

/// What the page on privacy says.
pub struct RangeWords {
    pub title: &'static str,
    pub what: fn(&str) -> String,
    pub what_again: fn(&str) -> String,
    pub far_away: &'static str,
    pub without_far_away: &'static str,
    pub from: &'static str,
    pub to: &'static str,
    pub hold: &'static str,
    pub wrong: &'static str,
    pub holding: fn(&str, &str) -> String,
    pub held: fn(&str, &str) -> String,
}

pub struct PrivacyWords {
    pub link: &'static str,
    pub see_for_yourself: &'static str,
    /// The first digits of the build.
    pub build: fn(&str) -> String,
    pub works_offline: &'static str,

    pub title: &'static str,
    pub lead: &'static str,
    pub address: &'static str,
    pub address_hint: &'static str,
    pub no_address: &'static str,
    pub try_all: &'static str,
    pub try_again: &'static str,
    /// Attempts made, and all of them.
    pub trying: fn(usize, usize) -> String,
    /// Attempts refused, and all of them.
    pub result: fn(usize, usize) -> String,
    pub table: &'static str,
    pub way: &'static str,
    pub own_server: &'static str,
    /// Host of the other address.
    pub elsewhere: fn(&str) -> String,
    /// Name, and how it is tried.
    pub ways: fn(WayOut) -> (&'static str, &'static str),
    pub not_tried: &'static str,
    pub refused: &'static str,
    pub absent: &'static str,
    pub failed: &'static str,
    pub through: &'static str,
    /// What the browser said.
    pub said: fn(&Outcome) -> String,
    pub not_blocked_title: &'static str,
    pub not_blocked: &'static [&'static str],
    pub before_title: &'static str,
    pub before: &'static [&'static str],
    pub check_title: &'static str,
    pub check: &'static [&'static str],
    pub this_build: &'static str,
}

/// The words in the language of the page.
pub fn words() -> &'static Words {
    &ENGLISH
}

/// What became of the records that were read.
fn records_told((kept, repaired, skipped): (u64, u64, u64), noun: &str) -> String {
    let mut parts = vec![format!("{} kept", number(kept))];
    if repaired > 0 {
        parts.push(format!("{} repaired", number(repaired)));
    }
    if skipped > 0 {
        parts.push(format!("{} skipped", number(skipped)));
    }
    format!("{} {noun} read = {}", number(kept + repaired + skipped), parts.join(" + "))
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

static ENGLISH: Words = Words {
    page_title: |file| match file {
        Some(file) => format!("{file} – Tracedrop"),
        None => "Tracedrop".to_string(),
    },
    skip_to_content: "Skip to content",

    headline: "Drop a trace, read what is slow",
    lead: "Tracedrop reads a trace as it streams in, says what the time went into, and accounts for every byte it read.",
    drop_here: "Drop trace files here",
    drop_hint: "or a folder of them, or choose files, or paste",
    stays_here: "Nothing leaves this page.",
    why_it_stays: "Files are read here, in your browser, which has been told to refuse this page any connection.",
    let_go: "Let go to open",
    let_go_to_compare: "Let go to compare",
    nothing_to_compare_with: "Nothing was compared: one of the two files was closed or could not be read.",
    compared_with: |name| format!("as B, with {name} as A"),
    samples_title: "Try a sample",
    formats_title: "What can be read",
    version: |version| format!("Tracedrop {version}"),
    kept_title: "Opened before",
    kept_about: |entry, when| {
        format!(
            "{}, {}; read on {when}, {} kept",
            format_bytes(entry.file_bytes),
            entry.format_title,
            format_bytes(entry.index_bytes)
        )
    },
    kept_changed: |when| format!("as the file was on {when}"),
    forget: |name| format!("Forget {name}"),
    forget_all: "Forget all",
    forget_all_of: |n| format!("Forget {}", counted(n as u64, "file", "files")),
    keep_them: "Keep",
    numbered: |name, number| format!("{name} ({number})"),
    forgotten: |n| format!("Forgot {}.", counted(n as u64, "file", "files")),
    keep: "Keep what was read of large files.",
    keep_hint: "From 4 MB on they open at once the next time. What is kept stays in this browser; switching this off deletes it.",

    open: "Open",
    open_files: "Open files",
    open_another: "Open another file",
    to_start: "Start screen",
    close: "Close",
    close_tab: |shows| match shows {
        Shows::File => "Close this file",
        Shows::Files => "Close these files",
        Shows::Comparison => "Close this comparison",
        Shows::Link => "Close this link",
    },
    dismiss: "Dismiss",
    closing_title: |name| format!("Close {name}?"),
    closing_about: |n_notes, has_title| {
        let what = match (n_notes, has_title) {
            (0, true) => "The title".to_string(),
            (n, true) => format!("{} and the title", counted(n, "note", "notes")),
            (n, false) => counted(n, "note", "notes"),
        };
        let is_one = n_notes + u64::from(has_title) == 1;
        let (was, is, them) = if is_one { ("was", "is", "it") } else { ("were", "are", "them") };
        format!("{what} {was} written here and {is} in no file and no link yet. Closing loses {them}.")
    },
    closing_lose: "Close without saving",
    closing_stay: "Keep it open",
    tab_reading: "reading",
    tab_problem: "problem",
    theme_menu: "Theme",
    theme: theme_name,
    theme_is: |theme| format!("Theme: {}", theme_name(theme)),

    pasted_name: "pasted.txt",
    nothing_pasted: "There is no text and no file on the clipboard.",
    nothing_to_open: "There was no file in what you dropped.",
    the_folder: |name| format!("the folder {name}"),
    no_traces_in_folder: |folder| format!("There is no trace in {folder}."),
    skipped_in_folder: |folder, names| {
        format!("Not opened from {folder}, as their names are not those of traces: {names}.")
    },
    unreadable_in_folder: |folder, names| format!("The browser could not read this in {folder}: {names}."),
    folder_is_cut: |folder| {
        format!("There are more files in {folder} than are opened at once; some were left out.")
    },
    opening_archive: |name| format!("Looking into {name} …"),
    left_out_of_archive: |name, files| format!("Left out of {name}: {files}."),
    archive_refused: |name, why| format!("{name} can not be opened: {why}."),
    archive_died: |why| match why {
        "" => {
            "The archive could not be opened: the browser ended the program that looks into it.".to_string()
        }
        why => format!("The archive could not be opened: {why}."),
    },
    and_more: |names, n| format!("{names} and {} more", number(n)),

    open_menu: "More ways to open",
    open_folder: "Open a folder",
    folder_hint: "to read the traces in it together, as on the ranks of a distributed run",
    together_name: |n, fellows| match fellows {
        Fellows::Files => counted(n, "file", "files"),
        Fellows::Ranks => counted(n, "rank", "ranks"),
        Fellows::Runs => counted(n, "run", "runs"),
    },
    read_all_together: |n| format!("Read all {} as one run", number(n)),
    read_together_with: "Read as one run with",
    read_together_now: |n| {
        format!("These {} are of one run and are also read together.", counted(n, "file", "files"))
    },
    fellows: |n| format!("{} of this kind were opened at once.", counted(n, "file", "files")),
    read_them_together: "Read them as one run",
    file_number: |number, n| format!("File {number} of {n}"),
    left_out_title: "Files that are left out",
    left_out: |name, what, hint| match hint {
        "" => format!("{name} is left out: {what}."),
        hint => format!("{name} is left out: {what}. {}", sentence(hint)),
    },
    files_title: "The files",

    compare: "Compare",
    compare_with: "Compare with",
    compare_with_file: "Compare with another file…",
    sides_name: |a, b| format!("{a} ↔ {b}"),
    sides_card: "The two sides",
    sides_title: "B against A",
    swap: "Swap",
    swap_hint: "Make A of B and B of A",
    phase_label: "Steps",
    phase: |phase| match phase {
        PhaseFilter::All => "all, each phase with itself",
        PhaseFilter::Prefill => "prefill only",
        PhaseFilter::Decode => "decode only",
    },
    files_of_side: |n, n_left_out| match (n, n_left_out) {
        (1, 0) => String::new(),
        (n, 0) => format!("{} read together.", counted(n, "file", "files")),
        (n, left_out) => {
            format!("{} read together, {} left out.", counted(n, "file", "files"), number(left_out))
        }
    },
    of_side_a: |share| format!("{:+.1} % of A’s time", 100.0 * share).replace('-', "−"),
    failed_compare_title: "These can not be compared",
    rank: |rank| format!("rank {rank}"),

    reading: "Reading",
    making_reports: "All is read; making the reports",
    making_percent: |percent| format!("All is read; {percent} % of the reports made"),
    making_again: "Making the reports again",
    making_again_percent: |percent| format!("Making the reports again: {percent} %"),
    stopping: "Stopping; what was read is kept",
    stop: "Stop",
    discard: "Discard",
    read_so_far: "Read",
    bytes_of: |read, total| match total {
        0 => format_bytes(read),
        total => format!("{} of {}", format_bytes(read), format_bytes(total)),
    },
    speed: "Speed",
    bytes_per_second: |rate| format!("{}/s", format_bytes(rate as u64)),
    time_left: "Time left",
    seconds_left: duration,
    records: "Records",
    count: number,
    format_unknown_yet: "finding out",
    spoken_progress: |percent| format!("{percent} percent read"),

    range: RangeWords {
        title: "Report on a time range",
        what: |span| {
            format!(
                "Keeps only what overlaps this range, which saves memory. Milliseconds from the start of the trace; {span} ms read so far."
            )
        },
        what_again: |span| {
            format!(
                "Reads the file again and keeps only what overlaps this range. Milliseconds from the start of the trace, which takes {span} ms."
            )
        },
        from: "From",
        to: "to",
        hold: "Keep only this range",
        wrong: "\u{201c}From\u{201d} must be before \u{201c}to\u{201d}.",
        holding: |from, to| format!("Keeping {from} to {to} ms; reading goes on to the end of the file."),
        held: |from, to| {
            format!(
                "These reports cover {from} to {to} ms only. Slices that reach into the range are kept whole."
            )
        },
        far_away: "A few events lie hours or more away from all others and stretch every number that depends on the span.",
        without_far_away: "Report without them",
    },

    file_card: "The file",
    so_far: "so far",
    format: "Format",
    size: "Size",
    written_by: "Written by",
    compression: "Compression",
    digest: "SHA-256 of the file:",
    from_index: |file, index, when| {
        let when = when.map(|when| format!(" of {when}")).unwrap_or_default();
        let mut text = match index.is_alone {
            true => format!(
                "Opened from the index{when} of {}; the trace itself is not at hand. Of the slices listed here the index has the \
                 arguments; all others are only in the trace.",
                text::visible(file)
            ),
            false => format!("Opened from its index{when}, without reading the file again."),
        };
        if index.is_of_other_version {
            text.push_str(
                " Another version of Tracedrop made the index; the reports were computed anew from it.",
            );
        }
        text
    },
    n_warnings: |n| counted(n, "warning", "warnings"),
    export_needs: |needs| format!("needs {needs}"),
    read_again: "Read the file again",
    choose_trace: "Choose the trace",
    file_at_hand: |name| format!("{name} is at hand now."),
    read_again_because: |what| format!("{} It is read again.", sentence(what)),
    verdict_clean: |records, noun| {
        format!("Everything was read: {} {noun}, nothing skipped, nothing changed.", number(records))
    },
    verdict_notes: |records, noun| format!("Everything was read: {} {noun}, with remarks.", number(records)),
    verdict_unreadable: "It could not be read. The reports are on what lies beside it.",
    verdict_counts: records_told,
    verdict_unused: |counts, noun, unused| {
        let (told, rest) = unused.split_at(unused.len().min(3));
        let more = if rest.is_empty() { "" } else { "; and more" };
        format!("Not everything was used: {}{more}. {}.", told.join("; "), records_told(counts, noun))
    },
    verdict_stopped: |read, total, records, noun| {
        format!(
            "Reading ended at {} of {}: {} {noun}.",
            format_bytes(read),
            format_bytes(total),
            number(records)
        )
    },
    verdict_left_out: |n_read, n_files, records, noun| {
        format!(
            "{} of {} were read: {} {noun}.",
            number(n_read),
            counted(n_files, "file", "files"),
            number(records)
        )
    },
    verdict_held_so_far: |records, noun| {
        format!(
            "{} {noun} so far. The numbers below are of those in the stretch of time that is held.",
            number(records)
        )
    },
    verdict_so_far: |records, noun| {
        format!("{} {noun} so far. All numbers below are of these.", number(records))
    },
    show_account: "Show the account",
    show_secrets: "Show passwords, tokens and keys in the reports and exports of this tab",
    hide_account: "Hide the account",
    account_title: "What became of each byte",
    kept: "Kept",
    repaired: "Repaired",
    skipped: "Skipped",
    note: "Note",
    between: "Between records",
    not_used: "Not used: stray text, text after the end",
    read: "Read",
    not_read: "Not read",
    unpacked_from: "Unpacked from",
    share: "Share",
    bytes: "Bytes",
    issues_title: "Oddities",
    times: |n| if n == 1 { "once".to_string() } else { format!("{} times", number(n)) },
    first_at: |line, byte| match line {
        Some(line) => format!("first on line {}, byte {}", number(line), number(byte)),
        None => format!("first at byte {}", number(byte)),
    },

    reports: "Reports",
    no_reports: "The file was read, but no report fits what is in it.",
    no_reports_yet: "Reports appear here while the file is read.",
    empty_report: "There is nothing to report on.",
    note_warning: "Mind:",
    of_the_time: |share| format!("{:.1} % of the time", 100.0 * share),
    top_label: "Rows per list",
    own_rules_title: "Classify kernels yourself",
    own_rules_explanation: "One rule a line, before those that come along: operation | family | library | conditions. Conditions are such as \
                            “base starts my_kernel_” (the function), “space has my_lib” (its namespaces), “args has …”, with “&” between them. \
                            Kept in this browser.",
    own_peaks_title: "Say what your GPU can do",
    own_peaks_explanation: "A heading and one line a GPU, with tabs between the fields: gpu, mem_gb_s (GB/s), and TFLOP/s as matrix_bf16, matrix_fp8, \
                            vector_fp32 and so on. They come before those of the data sheets. Kept in this browser.",
    memory_settings: "How accesses are labelled and judged",
    memory_rules_title: "Label accesses by your own rules",
    memory_rules_explanation: "JSON, a list of rules of which the first that fits counts, in place of those that come along: region_type, and if wanted phase, op_type, symbol_re, dso_re. Rows that the file has labelled keep their labels. Kept in this browser.",
    memory_thresholds_title: "Move the thresholds of suitability",
    memory_thresholds_explanation: "Four numbers: share written once and p99 in seconds for high, share and p50 for medium. Kept in this browser.",
    memory_phases_title: "Say when which phase was",
    memory_phases_explanation: "JSON, a list of phase, start_ns and end_ns on the clock of the trace, or of an engine's events (event, wall_ns, mono_ns). By another clock: an object with offset_ns (what is to be added to get the trace's time), clock (wall or monotonic) and phases or events. The report says under Accesses which offset was used. For this file only.",
    memory_ranges_title: "Say what lies at which addresses",
    ranges_from: |name| format!("From the file {name}."),
    ranges_taken_with: |name| format!("{name} is taken as the address ranges of what was opened with it."),
    ranges_taken: |name, trace| format!("{name} is taken as the address ranges of {trace}."),
    memory_ranges_explanation: "JSON, a list of addr_start, addr_end and region_type, as in kv_ranges.json; addresses are numbers, or texts in hexadecimal. For this file only.",
    save_svg: "Save this picture as SVG",
    path_of_title: "Choose the range that the path is of",
    path_of_explanation: "A part of the name of a range, and which of them, counted from 0: ProfilerStep @ 2, or ProfilerStep @ 2..4 for several. Without it the path is that of the longest step. For this file only.",
    unknown_label: "Accesses of no known kind",
    unknown_policies: [
        ("", "are kept as unknown"),
        ("skip", "are left out"),
        ("error", "end the labelling"),
        ("runtime", "are of the runtime"),
    ],
    perf_grammar_label: "Lines of perf script are read (reads the file again)",
    perf_grammars: ["whichever fields they have", "as by mrm-trace 0.1.0"],
    memray_clock_label: "Times of allocations (reads the file again)",
    memray_clocks: ["of the last measurement before them", "all 0, as by mrm-trace 0.1.0"],
    validity_label: "Runs are judged as by mrm-trace",
    validity_rules: [("seed", "0.1.0"), ("later", "0.1.23")],
    own_apply: "Apply",
    own_clear: "Remove",
    own_start_from_builtin: "Start from the built-in rules",

    no_rows: "There are no rows.",
    nothing_matches: "No row holds these words.",
    rows_of: |matching, total| match matching {
        Some(matching) => format!("{} of {}", number(matching), counted(total, "row", "rows")),
        None => counted(total, "row", "rows"),
    },
    rows_region: |title| format!("{title}, rows"),
    rows_left_out: |n| {
        format!(
            "{} left out of this table; exports of the trace hold all.",
            counted(n, "more row is", "more rows are")
        )
    },
    filter: "Filter",
    filter_table: |title| format!("Filter {title}"),
    copy_table: |title| format!("Copy {title}"),
    copy_formats: [
        ("markdown", "Markdown", "for issues and notes"),
        ("csv", "CSV", "for scripts"),
        ("tsv", "TSV", "for spreadsheets"),
    ],
    copied: |n| format!("Copied {}.", counted(n, "row", "rows")),
    not_copied: "The browser did not allow copying. Try an export instead.",

    export: "Export",
    exporting: |title, bytes| match bytes {
        0 => format!("Writing {title} …"),
        bytes => format!("Writing {title}: {} …", format_bytes(bytes)),
    },
    exported: |name, bytes, left_out| {
        format!("Saved {name}, {}.{}", Value::Unsigned(bytes).display(Unit::Bytes), not_in_it(left_out))
    },
    refused: |what, hint| {
        if hint.is_empty() { sentence(what) } else { format!("{} {}", sentence(what), sentence(hint)) }
    },

    failed_title: "This file could not be read",
    failed_link_title: "This link could not be read",
    failed_together_title: "These files could not be read",
    died_title: "The reader stopped",
    died_what: "The part of the page that reads this file ended unexpectedly. Other open files are not affected.",
    died_together_what: |file| {
        format!(
            "The part of the page that reads these files ended unexpectedly, at file {} of {}: {}. Other open files are not affected.",
            file.number,
            file.n_files,
            text::visible(&file.name)
        )
    },
    died_together_hint: "All files together may need more memory than the browser gives to a page. Read fewer of them together, or use \
                         tracedrop report --together, which may use all memory of the computer.",
    died_hint: "Start again to read the file from its beginning. If it happens again, the file may need more memory than the browser gives to a page.",
    problem_code: "Details:",
    start_again: "Start again",

    sharing: ShareWords {
        open_in_perfetto: "Open in Perfetto…",
        perfetto_title: "Open in Perfetto",
        perfetto_about: "Perfetto is another page. It reads the trace in your browser, but what it does with it is up to that page and no \
                         longer to this one. Nothing is handed over before you press the button below.",
        part: |length| format!("Part of the trace, in ms; all of it is 0 to {length}"),
        from: "from",
        to: "to",
        pack: "Pack this part",
        depth: "slices inside each other, at most",
        beyond: |length| format!("The trace is over after {length} ms."),
        bad_depth: "Slices inside each other are counted from 1; leave it empty for all of them.",
        is_large: |bytes| {
            format!(
                "The file has {}. Perfetto may have no room for all of it, so a first part is proposed.",
                format_bytes(bytes)
            )
        },
        packing: |bytes| match bytes {
            0 => "Packing…".to_string(),
            bytes => format!("Packing… {}", format_bytes(bytes)),
        },
        goes_out: |name, bytes, to, left_out| {
            format!("{} go to {to}, as {name}.{}", format_bytes(bytes), not_in_it(left_out))
        },
        open_perfetto: "Hand it over",
        download_instead: "Download instead",
        calling: "Waiting for Perfetto to start…",
        call_off: "Cancel",
        handed_over: |bytes| format!("{} were handed over.", format_bytes(bytes)),
        window_blocked: "The browser allowed no new window. Allow it for this page, or download the trace and open it in Perfetto yourself.",
        no_answer: "Perfetto did not answer: it may not be reachable, or its window was closed. Download the trace and open it there yourself.",
        copy_link: "Copy link with the numbers…",
        link_title: "Copy link",
        link_about: "The link has the numbers of the report in itself, behind the #, which browsers send to no server. Whoever gets the link reads \
                     them without the file; whoever has the file drops it there and sees everything. Names in the report go along with the numbers, and so do your notes and the title you gave.",
        link_on_disk: "This page lies on a disk, where nobody else finds it. So what is copied begins with #: whoever gets it pastes it into Tracedrop, wherever they have it, or puts it behind its address.",
        link_rows: "Rows of each table",
        link_all: "All reports",
        link_short: "Short, for mail and chat: explanations, further columns and tables stay behind where it would have more than 2,000 letters",
        link_making: "Making the link…",
        digests_making: |bytes| {
            format!(
                "Computing SHA-256 over {}, so that whoever has the same lands here…",
                format_bytes(bytes)
            )
        },
        link_length: |letters, report, has_digest| {
            let what = if report.is_empty() {
                "all reports".to_string()
            } else {
                format!("the report “{report}”")
            };
            let digest = if has_digest {
                ", and name, size and SHA-256 of what was read"
            } else {
                ", and names and sizes of the files"
            };
            let long =
                if letters > 2000 { " Some mail and chat programs cut links of that length." } else { "" };
            format!(
                "The link has {} letters. It carries {what}, order and filters of tables{digest}.{long}",
                group_digits(i128::from(letters))
            )
        },
        link_copy_now: "Copy link",
        link_copied: "The link is on the clipboard.",
        link: "Link",
        link_name: |name| format!("{name} (from a link)"),
        from_link: |n_files| {
            let drop = if n_files > 1 { "Drop the files together" } else { "Drop the file" };
            format!(
                "These numbers were sent with the link. No file was read, and nothing checks them. {drop} to see everything:"
            )
        },
        drop_file: |name, bytes| match bytes {
            0 => name.to_string(),
            bytes => format!("{name} ({})", format_bytes(bytes)),
        },
        own_tables: "Rules or tables of the sender's own took part in these numbers; they are not in the link.",
        made_by: |by| if by.is_empty() { String::new() } else { format!("Made by {by}.") },
        landed: |name| format!("This is {name}, the file of the link: size and SHA-256 are the same."),
        landed_among: |names| match names {
            [name] => format!("This is {name}, one of the files of the link: size and SHA-256 are the same."),
            names => format!(
                "{} are files of the link: sizes and SHA-256 are the same.",
                super::together::listed(names)
            ),
        },
        landed_together: |n, by_digest| match by_digest {
            true => format!("These are the {n} files of the link: sizes and SHA-256 are the same."),
            false => format!("These have the sizes of the {n} files that the link is of."),
        },
        other_digests: |n_others, n| {
            let are = if n_others == 1 { "is another" } else { "are others" };
            format!(
                "{n_others} of these {n} files {are} than in the link: the sizes are the same, the SHA-256 is not."
            )
        },
        landed_by_size: |name| {
            format!(
                "This has the size of {name}, which the link is of; the link has no SHA-256 to make sure."
            )
        },
        other_digest: |name, linked| {
            format!(
                "{name} is another file than {linked}, which the link is of: the size is the same, the SHA-256 is not."
            )
        },
        other_file: |name, linked, bytes| {
            format!(
                "{name} is another file than the link is of, which is {linked} with {}.",
                format_bytes(bytes)
            )
        },
        with_less: "Export with less in it…",
        file_title: "Export with less in it",
        file_about: "A trace can be cut to a part of its time and depth. What is taken out leaves a token, the same one wherever the same text stood. Look through what is left: not everything can be told by its form.",
        file_format: "Format",
        file_export: "Export",
        take_out: "Take out",
        classes: [
            ("paths", "paths", "files and folders, wherever they stand in a text"),
            ("hosts", "hosts", "names and addresses of computers and people"),
            ("symbols", "symbols", "names of functions, kernels and other slices"),
            ("arguments", "arguments", "all arguments of events, and examples of broken records"),
            ("prompts", "prompts", "long texts, and what is called prompt or message"),
        ],
        preview: "Texts that go out",
        preview_about: "Every text of what is written, read off its bytes. Numbers go out as well.",
        preview_search: "Search these texts",
        previewing: "Looking through it…",
        preview_untold: |n| format!("{} further texts were too many to be told apart.", number(n)),
        preview_more: "Show more",
        preview_save: "Save the list",
        preview_name: "texts-that-go-out.tsv",
        preview_count: |shown, matching, more| {
            let further = match more {
                0 => String::new(),
                n => format!(" {} further texts were too many to be told apart.", number(n)),
            };
            let hidden = match matching.saturating_sub(shown) {
                0 => String::new(),
                n => format!(" {} not shown.", counted(n, "is", "are")),
            };
            format!("{} of {} texts are shown.{hidden}{further}", number(shown), number(matching))
        },
        sort: |sort| match sort {
            TextSort::Token => "taken out",
            TextSort::Path => "path",
            TextSort::Host => "host",
            TextSort::Prompt => "long text",
            TextSort::Other => "text",
            TextSort::Key => "name of a member",
        },
        not_handed_over: "The trace could not be handed over. Download it and open it in Perfetto yourself.",
        hand_on: "Save as a Tracedrop file…",
        hand_on_title: "Save as a Tracedrop file",
        hand_on_about: "One file with all reports, your notes, and the order and filters of tables. Whoever opens it here sees what you see. It is a \
                        zip archive whose tables are Parquet, for DuckDB, Polars and pandas.",
        everything: |bytes| match bytes {
            Some(bytes) => format!("with everything that was read ({})", format_bytes(bytes)),
            None => "with everything that was read".to_string(),
        },
        everything_about: "Then it opens without the trace and answers every question. The arguments of events go along only where the trace is packed.",
        everything_not: "What is taken out would still be in what was read, so that does not go along.",
        hand_on_ready: |name, bytes, n_notes| {
            let notes = match n_notes {
                0 => String::new(),
                n => format!(", with {}", counted(n, "note", "notes")),
            };
            format!("{name} has {}{notes}.", format_bytes(bytes))
        },
        hand_on_save: "Save",
        from_file: |n_files| {
            let (traces_were, drop) = match n_files {
                0 | 1 => ("trace was", "Drop the trace"),
                _ => ("traces were", "Drop the traces together"),
            };
            format!(
                "These numbers were saved by someone in this file. The {traces_were} not read, and nothing checks them. {drop} to see everything:"
            )
        },
        no_index: |why| format!("What was read of the trace is in the file, and can not be used: {why}."),
    },
    notes: NoteWords {
        title: "Notes",
        region: "Title and notes",
        write: "Write a note",
        write_on_row: "Write a note on this row",
        write_on_table: |table| format!("Write a note on a row of {table}"),
        give_title: "Give it a title",
        change_title: "Change the title",
        title_label: "Title of the trace",
        title_hint: "Leave it empty to call the trace by the name of its file.",
        new: "New note",
        old: "Change the note",
        on: "On",
        whole: "all of it",
        range: "a stretch of time",
        event: "an event",
        from: "from, in ms",
        to: "to, in ms",
        name: "name of the event",
        at: "start, in ms",
        text: "Note",
        save: "Save",
        not_saved: "What you wrote is not saved.",
        go_on: "Go on writing",
        drop: "Discard it",
        cancel: "Cancel",
        edit: "Change",
        edit_of: |n| format!("Change note {n}"),
        delete: "Delete",
        delete_of: |n| format!("Delete note {n}"),
        mark: |text| format!("Note: {text}"),
        length: |length| format!("Times are counted from the start of the trace, which is {length} ms long."),
        bad_time: "Write times as milliseconds since the start of the trace, such as 12.5.",
        bad_range: "The first time has to be before the second.",
        no_name: "The event needs a name.",
        too_many: "There is no room for more notes.",
        left_out: |n, most| {
            format!(
                "{} left out: there is room for {} in one tab.",
                counted(n, "note that came along was", "notes that came along were"),
                number(most)
            )
        },
        kept_where: "Notes are kept as long as this tab is open. To keep them, save a Tracedrop file, a web page or a link from the export menu.",
        on_what: |words| format!("On {words}"),
    },

    keys_title: "Keys",
    keys: &[
        (
            "Files",
            &[
                (&["o"], "open files"),
                (&["f"], "open a folder"),
                (&["s"], "start screen and samples"),
                (&["1 – 9"], "show an open file"),
                (&["[", "]"], "file before, file after"),
                (&["w"], "close the file"),
                (&["e"], "export"),
                (&["c"], "compare with another trace"),
                (&["x"], "swap the sides of a comparison"),
            ],
        ),
        (
            "Reports",
            &[
                (&["j", "k"], "next report, report before"),
                (&["/"], "filter the first table"),
                (&["Enter"], "on a column: change the order"),
                (&["↑", "↓"], "in a table: scroll"),
                (&["Home", "End"], "in a table: first, last row"),
            ],
        ),
        (
            "Page",
            &[
                (&["t"], "change the theme"),
                (&["?"], "show these keys"),
                (&["Esc"], "close what is open, clear a filter"),
                (&["Delete"], "on a file's tab: close it"),
            ],
        ),
    ],

    not_given: |why| {
        format!(
            "What was shared with this page, or named in its address, could not be opened: {why}. Open the file itself instead."
        )
    },
    not_launched: |n| {
        format!(
            "The browser could not read {} that it was asked to open with Tracedrop. Drop them on the page instead.",
            counted(n, "file", "files")
        )
    },
    no_such_report: |id| format!("this trace has no report {id}; the first one is shown"),
    frame_waits: "Waiting for a trace from the page around this one.",
    budget_kept: |n| format!("Within budget: {}", counted(n as u64, "limit is kept", "limits are kept")),
    budget_passed: |n, all| {
        format!("Over budget: {n} of {} not kept", counted(all as u64, "limit is", "limits are"))
    },
    budget_empty: "There is no limit in what was given as limits.",
    limit_kept: "kept",
    limit_passed: "passed",
    limit_unknown: "can not be told",
    newer_title: "A new version of Tracedrop is ready.",
    newer_about: |n| match n {
        0 => String::new(),
        n => format!("Loading it closes {}.", counted(n as u64, "open file", "open files")),
    },
    newer_take: "Reload",
    newer_later: "Later",
    privacy: PRIVACY,
};

const PRIVACY: PrivacyWords = PrivacyWords {
    link: "What leaves this page",
    see_for_yourself: "See for yourself",
    build: |digits| format!("build {digits}"),
    works_offline: ", kept for use without a network",

    title: "What leaves this page: nothing. Try it",
    lead: "Your browser has been told to refuse this page every connection, also to its own server. Here the page does its best to \
           send a few words out, in every way it has, and shows what the browser made of it.",
    address: "Another address to try",
    address_hint: "Put in one of your own if you wish to watch its log.",
    no_address: "This is not an address on the web. Try one that starts with https:// or http://",
    try_all: "Try every way out",
    try_again: "Try again",
    trying: |done, all| format!("Trying: {done} of {all}"),
    result: |refused, all| match all - refused {
        0 => format!("All {all} attempts were refused."),
        n => format!(
            "{n} of {all} attempts were not refused. Please do not open anything confidential here, and tell us which browser this is."
        ),
    },
    table: "Ways out",
    way: "Way",
    own_server: "To this page's own server",
    elsewhere: |host| format!("To {host}"),
    ways: |way| match way {
        WayOut::Fetch => ("fetch", "a request with a body"),
        WayOut::Xhr => ("XMLHttpRequest", "the older way to make one"),
        WayOut::WebSocket => ("WebSocket", "an open line"),
        WayOut::EventSource => ("EventSource", "a stream from a server"),
        WayOut::Beacon => ("Beacon", "sent even when the page is left"),
        WayOut::Image => ("Image", "its address would say something"),
        WayOut::Frame => ("Frame", "a page inside this one"),
        WayOut::Form => ("Form", "sent off without a click"),
        WayOut::Script => ("Script", "loaded late"),
        WayOut::Style => ("Style sheet", "loaded late"),
        WayOut::Font => ("Font", "loaded late"),
        WayOut::Worker => ("Worker", "started from an address"),
        WayOut::FetchInWorker => ("fetch in a worker", "where traces are read"),
        WayOut::Wasm => ("WebAssembly", "a module that is given fetch"),
        WayOut::WebRtc => ("WebRTC", "calls between browsers"),
        WayOut::ServiceWorker => ("Service worker", "which may use the network"),
        WayOut::Window => ("New window", "opened by the page"),
    },
    not_tried: "Not tried yet",
    refused: "Refused",
    absent: "Not there",
    failed: "Not refused",
    through: "Got through",
    said: |outcome| match outcome {
        Outcome::Policy(directive) => format!("by {directive}"),
        Outcome::Thrown(words) => words.clone(),
        Outcome::Absent => "taken off this page".to_string(),
        Outcome::Failed(words) if words.is_empty() => "it failed for another reason".to_string(),
        Outcome::Failed(words) => format!("it failed for another reason: {words}"),
        Outcome::Through => "nothing stopped it".to_string(),
    },
    not_blocked_title: "What a browser can not block",
    not_blocked: &[
        "Links that you click, and addresses that you type: the browser goes there, and the address could say something. No link of \
         this page is made from a trace.",
        "What you take out yourself: exports that you save, rows and links that you copy, a trace that you hand over to Perfetto.",
        "Extensions that you have installed: they may read every page.",
        "A page that goes somewhere by itself. This one stops itself from doing so; a policy has no word for it. The same holds for \
         WebRTC, new windows and the service worker, which are taken off the page before a trace can be opened.",
    ],
    before_title: "What happened before",
    before: &[
        "The page fetched its own files from its own server: programs, styles, samples. Then it was locked, and only then it started.",
        "A service worker keeps these files for use without a network. From time to time the browser asks the server whether \
         there is a newer version, and sends nothing of the page with it. The worker fetches the files of the site, and takes no other order.",
        "Traces are read in this browser. It keeps what was read of large ones on this computer, if you let it.",
    ],
    check_title: "How to check it without trusting this page",
    check: &[
        "Open the developer tools of your browser (F12), look at the network, and open a trace: no request is made.",
        "Switch the network off after the page has loaded: everything works.",
        "Compare the build below with the one that you get from the sources, or with what is published beside a release: node tools/build-hash.mjs dist.",
    ],
    this_build: "This build",
};

/// What is said before anything leaves.
pub struct ShareWords {
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
    /// Bytes of all files.
    pub digests_making: fn(u64) -> String,
    /// Letters, title of the one report that goes along, whether there is a SHA-256.
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
    /// How many files, whether their SHA-256 are the same.
    pub landed_together: fn(usize, bool) -> String,
    /// How many of how many files are others.
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
    /// Class, its name, what it is.
    pub classes: [(&'static str, &'static str, &'static str); 5],
    pub preview: &'static str,
    pub preview_about: &'static str,
    pub preview_search: &'static str,
    pub previewing: &'static str,
    /// Texts that there was no room to tell apart.
    pub preview_untold: fn(u64) -> String,
    pub preview_more: &'static str,
    pub preview_save: &'static str,
    /// Name of the file.
    pub preview_name: &'static str,
    /// Texts on the page, those that match, those that are not told apart.
    pub preview_count: fn(u64, u64, u64) -> String,
    pub sort: fn(TextSort) -> &'static str,
    pub not_handed_over: &'static str,
    pub hand_on: &'static str,
    pub hand_on_title: &'static str,
    pub hand_on_about: &'static str,
    /// Bytes of the file then, once that is known.
    pub everything: fn(Option<u64>) -> String,
    pub everything_about: &'static str,
    pub everything_not: &'static str,
    /// Name of the file, its bytes, number of notes.
    pub hand_on_ready: fn(&str, u64, u64) -> String,
    pub hand_on_save: &'static str,
    pub from_file: fn(usize) -> String,
    pub no_index: fn(&str) -> String,
}

/// What is said where people write.
pub struct NoteWords {
    pub title: &'static str,
    pub region: &'static str,
    pub write: &'static str,
    pub write_on_row: &'static str,
    pub write_on_table: fn(&str) -> String,
    pub give_title: &'static str,
    pub change_title: &'static str,
    pub title_label: &'static str,
    pub title_hint: &'static str,
    pub new: &'static str,
    pub old: &'static str,
    pub on: &'static str,
    pub whole: &'static str,
    pub range: &'static str,
    pub event: &'static str,
    pub from: &'static str,
    pub to: &'static str,
    pub name: &'static str,
    pub at: &'static str,
    pub text: &'static str,
    pub save: &'static str,
    pub not_saved: &'static str,
    pub go_on: &'static str,
    pub drop: &'static str,
    pub cancel: &'static str,
    pub edit: &'static str,
    pub edit_of: fn(usize) -> String,
    pub delete: &'static str,
    pub delete_of: fn(usize) -> String,
    pub mark: fn(&str) -> String,
    pub bad_time: &'static str,
    /// Length of the trace.
    pub length: fn(&str) -> String,
    pub bad_range: &'static str,
    pub no_name: &'static str,
    pub too_many: &'static str,
    /// Notes that there was no room for, and those that there is room for.
    pub left_out: fn(u64, u64) -> String,
    pub kept_where: &'static str,
    pub on_what: fn(&str) -> String,
}

fn theme_name(theme: Theme) -> &'static str {
    match theme {
        Theme::System => "System",
        Theme::Light => "Light",
        Theme::Dark => "Dark",
        Theme::Contrast => "High contrast",
    }
}

/// What a written file is without, as a sentence behind others; nothing if that is nothing.
fn not_in_it(left_out: &[String]) -> String {
    if left_out.is_empty() { String::new() } else { format!(" Not in it: {}.", left_out.join("; ")) }
}

/// Messages of the library start small and have no final dot.
fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    match chars.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), chars.as_str().trim_end_matches('.')),
        None => String::new(),
    }
}

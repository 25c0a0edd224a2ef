//! Texts of the page. Texts of reports and errors come from the library.
//!
//! To add a language, add a constant of [`Words`] and a choice in [`words`].

use super::browser::{Outcome, Theme, WayOut};
use super::file_groups::Fellows;
use super::state::Shows;
use tracedrop::analysis::Group;
use tracedrop::base::text;
use tracedrop::base::units::{Unit, counted, format_bytes, group_digits};
use tracedrop::compare::PhaseFilter;
use tracedrop::engine::protocol::{FileProgress, IndexView, KeptView, TextSort};
use tracedrop::report::Value;

/// Keyboard shortcuts of one group: the keys and what they do.
pub type Keys = &'static [(&'static [&'static str], &'static str)];

/// Records that were kept, repaired and skipped.
pub type Counts = (u64, u64, u64);

/// All texts of the page.
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
    /// Time at which the file was last modified.
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
    /// Name of the tab to close.
    pub closing_title: fn(&str) -> String,
    /// Number of notes that would be lost, and whether a title would be.
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
    /// Number of files, and what they are: files, ranks or runs.
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
    /// Name of a comparison tab, from the names of A and B.
    pub sides_name: fn(&str, &str) -> String,
    pub sides_card: &'static str,
    pub sides_title: &'static str,
    pub swap: &'static str,
    pub swap_hint: &'static str,
    pub phase_label: &'static str,
    pub phase: fn(PhaseFilter) -> &'static str,
    /// Number of files of A or B, and of skipped files.
    pub files_of_side: fn(u64, u64) -> String,
    /// Difference as a share of A's time; 0.01 is 1%.
    pub of_side_a: fn(f64) -> String,
    pub failed_compare_title: &'static str,
    pub rank: fn(i64) -> String,

    pub reading: &'static str,
    pub making_reports: &'static str,
    /// Percentage of the reports that are built.
    pub making_percent: fn(u8) -> String,
    /// Reports are rebuilt after a setting was changed.
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

    pub search: SearchWords,
    pub range: RangeWords,

    pub file_card: &'static str,
    pub so_far: &'static str,
    pub format: &'static str,
    pub size: &'static str,
    pub written_by: &'static str,
    pub compression: &'static str,
    pub digest: &'static str,
    /// Name of the trace, its index, and when the index was made.
    pub from_index: fn(&str, &IndexView, Option<&str>) -> String,
    pub tab_closed: fn(&str) -> String,
    pub reopen: &'static str,
    pub lost_title: &'static str,
    pub lost_open: &'static str,
    pub lost_choose: &'static str,
    pub n_warnings: fn(u64) -> String,
    pub export_needs: fn(&str) -> String,
    pub read_again: &'static str,
    pub choose_trace: &'static str,
    pub file_at_hand: fn(&str) -> String,
    pub read_again_because: fn(&str) -> String,
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

    pub reports: &'static str,
    pub report_group: fn(Group) -> &'static str,
    pub no_reports: &'static str,
    pub no_reports_yet: &'static str,
    pub empty_report: &'static str,
    pub note_warning: &'static str,
    /// Share of the time, 0 to 1.
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
    /// Name of the file with the ranges, and of the trace.
    pub ranges_taken: fn(&str, &str) -> String,
    pub memory_ranges_explanation: &'static str,
    pub path_of_title: &'static str,
    pub save_svg: &'static str,
    pub path_of_explanation: &'static str,
    pub unknown_label: &'static str,
    /// Name in the library, label.
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
    pub show_all: fn(u64) -> String,
    pub show_fewer: &'static str,
    pub choose_columns: fn(&str) -> String,
    pub clear_filter: &'static str,
    pub filter_columns: &'static str,
    pub filter: &'static str,
    pub filter_table: fn(&str) -> String,
    pub copy_table: fn(&str) -> String,
    /// Id, name, purpose.
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
    /// File that was being parsed.
    pub died_together_what: fn(&FileProgress) -> String,
    pub died_together_hint: &'static str,
    pub died_hint: &'static str,
    pub problem_code: &'static str,
    pub start_again: &'static str,

    pub sharing: ShareWords,
    pub notes: NoteWords,

    pub keys_title: &'static str,
    pub keys: &'static [(&'static str, Keys)],

    /// Reason why files given at the start of the page are missing.
    pub not_given: fn(&str) -> String,
    pub not_launched: fn(u64) -> String,
    /// Id of a report.
    pub no_such_report: fn(&str) -> String,
    pub frame_waits: &'static str,
    pub budget_kept: fn(usize) -> String,
    /// Limits not met, all limits.
    pub budget_passed: fn(usize, usize) -> String,
    pub budget_empty: &'static str,
    pub limit_kept: &'static str,
    pub limit_passed: &'static str,
    pub limit_unknown: &'static str,
    pub newer_title: &'static str,
    /// Number of open files.
    pub newer_about: fn(usize) -> String,
    pub newer_take: &'static str,
    pub newer_later: &'static str,
    pub privacy: PrivacyWords,
}

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

/// Texts of the time range form.
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

/// Texts of the privacy screen.
pub struct PrivacyWords {
    pub link: &'static str,
    pub see_for_yourself: &'static str,
    /// First digits of the build hash.
    pub build: fn(&str) -> String,
    pub works_offline: &'static str,

    pub title: &'static str,
    pub lead: &'static str,
    pub address: &'static str,
    pub address_hint: &'static str,
    pub no_address: &'static str,
    pub try_all: &'static str,
    pub try_again: &'static str,
    /// Attempts made, all attempts.
    pub trying: fn(usize, usize) -> String,
    /// Attempts blocked, all attempts.
    pub result: fn(usize, usize) -> String,
    pub table: &'static str,
    pub way: &'static str,
    pub own_server: &'static str,
    /// Host of the other address.
    pub elsewhere: fn(&str) -> String,
    /// Name, and how it works.
    pub ways: fn(WayOut) -> (&'static str, &'static str),
    pub not_tried: &'static str,
    pub refused: &'static str,
    pub absent: &'static str,
    pub failed: &'static str,
    pub through: &'static str,
    /// Explanation of an outcome.
    pub said: fn(&Outcome) -> String,
    pub not_blocked_title: &'static str,
    pub not_blocked: &'static [&'static str],
    pub before_title: &'static str,
    pub before: &'static [&'static str],
    pub check_title: &'static str,
    pub check: &'static [&'static str],
    pub this_build: &'static str,
}

/// Texts in the language of the page.
pub fn words() -> &'static Words {
    &ENGLISH
}

/// A count of records. `noun` is plural: "events", "lines".
fn records_named(n: u64, noun: &str) -> String {
    counted(n, noun.strip_suffix('s').unwrap_or(noun), noun)
}

/// The records of a file: how many were kept, repaired and skipped.
fn records_told((kept, repaired, skipped): Counts, noun: &str) -> String {
    let mut parts = vec![format!("{} kept", number(kept))];
    if repaired > 0 {
        parts.push(format!("{} repaired", number(repaired)));
    }
    if skipped > 0 {
        parts.push(format!("{} skipped", number(skipped)));
    }
    format!("Parsed {}: {}", records_named(kept + repaired + skipped, noun), parts.join(", "))
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

    headline: "Drop a trace. See what's slow.",
    lead: "Tracedrop parses a trace as it streams in, shows where the time went, and reports anything it couldn't read.",
    drop_here: "Drop trace files here",
    drop_hint: "or a folder, or click to choose files, or paste",
    stays_here: "Nothing leaves this page.",
    why_it_stays: "Files are read in your browser, which blocks all network access from this page.",
    let_go: "Drop to open",
    let_go_to_compare: "Drop to compare",
    nothing_to_compare_with: "Nothing to compare: one of the two files was closed or could not be read.",
    compared_with: |name| format!("as B (A is {name})"),
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
    numbered: |name, number| format!("{name} ({number})"),
    forgotten: |n| format!("Removed {} from the cache.", counted(n as u64, "file", "files")),
    keep: "Cache large files (over 4 MB) in this browser so they reopen instantly.",
    keep_hint: "The cache never leaves this browser. Turning this off deletes it.",

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
        let (are_not, them) = if is_one { ("isn't", "it") } else { ("aren't", "them") };
        format!("{what} {are_not} saved in any file or link. Closing discards {them}.")
    },
    closing_lose: "Close without saving",
    closing_stay: "Keep open",
    tab_reading: "parsing",
    tab_problem: "error",
    theme_menu: "Theme",
    theme: theme_name,
    theme_is: |theme| format!("Theme: {}", theme_name(theme)),

    pasted_name: "pasted.txt",
    nothing_pasted: "The clipboard contains no text and no file.",
    nothing_to_open: "Nothing to open: the drop contained no file.",
    the_folder: |name| format!("folder {name}"),
    no_traces_in_folder: |folder| format!("No traces found in {folder}."),
    skipped_in_folder: |folder, names| format!("Skipped in {folder} (not named like traces): {names}."),
    unreadable_in_folder: |folder, names| format!("The browser could not read from {folder}: {names}."),
    folder_is_cut: |folder| format!("Too many files in {folder}; some were not opened."),
    opening_archive: |name| format!("Opening {name}…"),
    left_out_of_archive: |name, files| format!("Skipped in {name}: {files}."),
    archive_refused: |name, why| format!("Cannot open {name}: {why}."),
    archive_died: |why| match why {
        "" => "Cannot open the archive: the worker crashed. Unpack it and open the folder.".to_string(),
        why => format!("Cannot open the archive: {why}."),
    },
    and_more: |names, n| format!("{names} and {} more", number(n)),

    open_menu: "More ways to open",
    open_folder: "Open a folder",
    folder_hint: "to analyze its traces together, such as the ranks of a distributed run",
    together_name: |n, fellows| match fellows {
        Fellows::Files => counted(n, "file", "files"),
        Fellows::Ranks => counted(n, "rank", "ranks"),
        Fellows::Runs => counted(n, "run", "runs"),
    },
    read_all_together: |n| format!("Open all {} as one run", number(n)),
    read_together_with: "Open as one run with",
    read_together_now: |n| {
        format!("These {} belong to one run and were also opened together.", counted(n, "file", "files"))
    },
    fellows: |n| format!("Opened {} of this kind.", counted(n, "file", "files")),
    read_them_together: "Open as one run",
    file_number: |number, n| format!("File {number} of {n}"),
    left_out_title: "Skipped files",
    left_out: |name, what, hint| match hint {
        "" => format!("{name} was skipped: {what}."),
        hint => format!("{name} was skipped: {what}. {}", sentence(hint)),
    },
    files_title: "Files",

    compare: "Compare",
    compare_with: "Compare with",
    compare_with_file: "Compare with another file…",
    sides_name: |a, b| format!("{a} ↔ {b}"),
    sides_card: "A and B",
    sides_title: "B vs A",
    swap: "Swap",
    swap_hint: "Swap A and B",
    phase_label: "Steps",
    phase: |phase| match phase {
        PhaseFilter::All => "all, phase by phase",
        PhaseFilter::Prefill => "prefill only",
        PhaseFilter::Decode => "decode only",
    },
    files_of_side: |n, n_left_out| match (n, n_left_out) {
        (1, 0) => String::new(),
        (n, 0) => format!("{}.", counted(n, "file", "files")),
        (n, left_out) => format!("{}, {} skipped.", counted(n, "file", "files"), number(left_out)),
    },
    of_side_a: |share| format!("{:+.1}% of A’s time", 100.0 * share).replace('-', "−"),
    failed_compare_title: "Cannot compare these traces",
    rank: |rank| format!("rank {rank}"),

    reading: "Parsing",
    making_reports: "Building reports",
    making_percent: |percent| format!("Building reports: {percent}%"),
    making_again: "Rebuilding reports",
    making_again_percent: |percent| format!("Rebuilding reports: {percent}%"),
    stopping: "Stopping; keeping what was parsed",
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
    format_unknown_yet: "detecting…",
    spoken_progress: |percent| format!("{percent}% read"),

    search: SearchWords {
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
    },
    range: RangeWords {
        title: "Report on a time range",
        what: |span| {
            format!(
                "Keeps only what overlaps this range, which saves memory. Milliseconds from the start of the trace; {span} ms parsed so far."
            )
        },
        what_again: |span| {
            format!(
                "Parses the file again and keeps only what overlaps this range. Milliseconds from the start of the trace, which is {span} ms long."
            )
        },
        from: "From",
        to: "to",
        hold: "Keep only this range",
        wrong: "\u{201c}From\u{201d} must be before \u{201c}to\u{201d}.",
        holding: |from, to| format!("Keeping {from} to {to} ms; parsing continues to the end of the file."),
        held: |from, to| {
            format!(
                "These reports cover {from} to {to} ms only. Slices that overlap the range are kept whole."
            )
        },
        far_away: "A few events are hours or more away from all others and distort every number that depends on the trace duration.",
        without_far_away: "Report without them",
    },

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
    tab_closed: |name| format!("Closed {name}"),
    reopen: "Reopen",
    lost_title: "Open before the reload",
    lost_open: "Open",
    lost_choose: "Choose",
    n_warnings: |n| counted(n, "warning", "warnings"),
    export_needs: |needs| format!("needs {needs}"),
    read_again: "Parse the whole file",
    choose_trace: "Open the trace",
    file_at_hand: |name| format!("Opened {name}; all arguments are available now."),
    read_again_because: |what| format!("{} Parsing it again.", sentence(what)),
    verdict_clean: |records, noun| format!("Parsed {}, no problems", records_named(records, noun)),
    verdict_notes: |records, noun, n_notes| {
        format!("Parsed {}, with {}", records_named(records, noun), counted(n_notes, "note", "notes"))
    },
    verdict_unreadable: "The trace could not be parsed. The reports cover only the other files of the run.",
    verdict_counts: records_told,
    verdict_unused: |counts, noun, unused| {
        let (told, rest) = unused.split_at(unused.len().min(3));
        let more = if rest.is_empty() { "" } else { "; and more" };
        format!("Part of the file was ignored: {}{more}. {}", told.join("; "), records_told(counts, noun))
    },
    verdict_stopped: |read, total, records, noun| {
        format!(
            "Stopped at {} of {}: parsed {}",
            format_bytes(read),
            format_bytes(total),
            records_named(records, noun)
        )
    },
    verdict_left_out: |n_read, n_files, records, noun| {
        format!(
            "Parsed {} of {}: {}",
            number(n_read),
            counted(n_files, "file", "files"),
            records_named(records, noun)
        )
    },
    verdict_held_so_far: |records, noun| {
        format!(
            "{} so far. The numbers below cover only the selected time range.",
            records_named(records, noun)
        )
    },
    verdict_so_far: |records, noun| {
        format!("{} so far. The numbers below cover only these.", records_named(records, noun))
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

    reports: "Reports",
    report_group: |group| match group {
        Group::Summary => "Summary",
        Group::Gpu => "GPU",
        Group::Memory => "Memory",
        Group::Trace => "Trace",
    },
    no_reports: "Parsed, but no report applies to this file.",
    no_reports_yet: "Reports appear here while the file is parsed.",
    empty_report: "Nothing to report.",
    note_warning: "Warning:",
    of_the_time: |share| format!("{:.1}% of the time", 100.0 * share),
    top_label: "Rows per list",
    own_rules_title: "Custom kernel rules",
    own_rules_explanation: "One rule per line, matched before the built-in rules: operation | family | library | conditions. Conditions are \
                            “base starts my_kernel_” (function), “space has my_lib” (namespaces) or “args has …”, joined by “&”. \
                            Saved in this browser.",
    own_peaks_title: "Set peak FLOP/s and bandwidth",
    own_peaks_explanation: "A header line and one line per GPU, tab-separated: gpu, mem_gb_s (GB/s), and TFLOP/s as matrix_bf16, matrix_fp8, \
                            vector_fp32 and so on. They override the data sheet values. Saved in this browser.",
    memory_settings: "Labeling and validity",
    memory_rules_title: "Custom labeling rules",
    memory_rules_explanation: "JSON list of rules that replaces the built-in one; the first match wins. Members: region_type, and optionally phase, op_type, symbol_re, dso_re. Rows already labeled in the file keep their labels. Saved in this browser.",
    memory_thresholds_title: "Suitability thresholds",
    memory_thresholds_explanation: "Four numbers: written-once share and p99 (s) for high, share and p50 (s) for medium. Saved in this browser.",
    memory_phases_title: "Phase times",
    memory_phases_explanation: "JSON list of phase, start_ns and end_ns in trace time, or of engine events (event, wall_ns, mono_ns). For another clock: an object with offset_ns (added to get trace time), clock (wall or monotonic), and phases or events. The report shows the offset under Accesses. This file only.",
    memory_ranges_title: "Address ranges",
    ranges_from: |name| format!("From {name}."),
    ranges_taken_with: |name| format!("Using {name} as the address ranges of the trace opened with it."),
    ranges_taken: |name, trace| format!("Using {name} as the address ranges of {trace}."),
    memory_ranges_explanation: "JSON list of addr_start, addr_end and region_type, as in kv_ranges.json. Addresses are numbers or hexadecimal strings. This file only.",
    save_svg: "Save as SVG",
    path_of_title: "Analyze another range",
    path_of_explanation: "Part of a range's name and its index, counted from 0: ProfilerStep @ 2, or ProfilerStep @ 2..4 for several. Default: the longest step. This file only.",
    unknown_label: "Unclassified accesses",
    unknown_policies: [
        ("", "keep as unknown"),
        ("skip", "skip"),
        ("error", "stop labeling"),
        ("runtime", "label as runtime"),
    ],
    perf_grammar_label: "perf script fields (parses the file again)",
    perf_grammars: ["all that are present", "as mrm-trace 0.1.0"],
    memray_clock_label: "Allocation times (parses the file again)",
    memray_clocks: ["from the last measurement before", "all 0, as mrm-trace 0.1.0"],
    validity_label: "Validity rules of mrm-trace",
    validity_rules: [("seed", "0.1.0"), ("later", "0.1.23")],
    own_apply: "Apply",
    own_clear: "Remove",
    own_start_from_builtin: "Start from the built-in rules",

    no_rows: "No rows",
    nothing_matches: "No matching rows",
    rows_of: |matching, total| match matching {
        Some(matching) => format!("{} of {}", number(matching), counted(total, "row", "rows")),
        None => counted(total, "row", "rows"),
    },
    rows_region: |title| format!("{title}, rows"),
    rows_left_out: |n| {
        format!("{} not shown here; exports of the trace include all.", counted(n, "more row", "more rows"))
    },
    show_all: |n| format!("Show all {} rows", number(n)),
    show_fewer: "Show fewer rows",
    choose_columns: |title| format!("Columns of {title}"),
    clear_filter: "Clear filter",
    filter_columns: "Columns",
    filter: "Filter",
    filter_table: |title| format!("Filter {title}"),
    copy_table: |title| format!("Copy {title}"),
    copy_formats: [
        ("markdown", "Markdown", "for issues and notes"),
        ("csv", "CSV", "for scripts"),
        ("tsv", "TSV", "for spreadsheets"),
    ],
    copied: |n| format!("Copied {}.", counted(n, "row", "rows")),
    not_copied: "The browser blocked copying. Export the data instead.",

    export: "Export",
    exporting: |title, bytes| match bytes {
        0 => format!("Writing {title}…"),
        bytes => format!("Writing {title}: {}…", format_bytes(bytes)),
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
    died_title: "The worker crashed",
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
                         tracedrop report --together, which can use all memory of the computer.",
    died_hint: "Start again to parse the file from the beginning. If it crashes again, the file may need more memory than the browser gives to a page; use the tracedrop command instead.",
    problem_code: "Details:",
    start_again: "Start again",

    sharing: ShareWords {
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
                     them without the file. With the file, they drop it to see everything. Names in the report, your notes and your title are included.",
        link_on_disk: "This page was opened from disk, so the link has no address and starts with #. Paste it into any Tracedrop, or append it to its address.",
        link_rows: "Rows per table",
        link_all: "All reports",
        link_short: "Short, for mail and chat: drops explanations, extra columns and tables to stay under 2,000 characters",
        link_making: "Creating the link…",
        digests_making: |bytes| {
            format!("Computing SHA-256 of {}, so the link recognizes the same files…", format_bytes(bytes))
        },
        link_length: |letters, report, has_digest| {
            let what = if report.is_empty() {
                "all reports".to_string()
            } else {
                format!("the report “{report}”")
            };
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
                    super::file_groups::listed(names)
                )
            }
        },
        landed_together: |n, by_digest| match by_digest {
            true => format!("These are the link's {n} files: sizes and SHA-256 match."),
            false => format!(
                "These have the sizes of the link's {n} files; the link has no SHA-256 to verify them."
            ),
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
        file_about: "You can also limit a trace to a time range and depth. Redacted text is replaced by tokens: the same text always becomes the same token. Check the preview: not everything confidential can be recognized.",
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
    },
    notes: NoteWords {
        title: "Notes",
        region: "Title and notes",
        write: "Add a note",
        write_on_row: "Add a note to this row",
        write_on_table: |table| format!("Add a note to a row of {table}"),
        rename: "Rename",
        give_title: "Rename",
        change_title: "Rename",
        title_label: "Title of the trace",
        title_hint: "Leave it empty to use the file name.",
        new: "New note",
        old: "Edit note",
        on: "Attach to",
        whole: "the whole trace",
        range: "a time range",
        event: "an event",
        from: "from (ms)",
        to: "to (ms)",
        name: "event name",
        at: "start (ms)",
        text: "Note",
        save: "Save",
        not_saved: "Your changes are not saved.",
        go_on: "Keep editing",
        drop: "Discard",
        cancel: "Cancel",
        edit: "Edit",
        edit_of: |n| format!("Edit note {n}"),
        delete: "Delete",
        delete_of: |n| format!("Delete note {n}"),
        mark: |text| format!("Note: {text}"),
        length: |length| format!("Times count from the start of the trace, which is {length} ms long."),
        bad_time: "Enter milliseconds from the start of the trace, such as 12.5.",
        bad_range: "\u{201c}From\u{201d} must be before \u{201c}to\u{201d}.",
        no_name: "Enter the name of the event.",
        too_many: "This tab cannot have more notes. Delete one first.",
        left_out: |n, most| {
            format!(
                "Skipped {}: a tab can have at most {}.",
                counted(n, "received note", "received notes"),
                number(most)
            )
        },
        kept_where: "Notes last until this tab is closed. To keep them, export a Tracedrop file, a web page or a link.",
        on_what: |words| format!("On {words}"),
    },

    keys_title: "Keyboard shortcuts",
    keys: &[
        (
            "Files",
            &[
                (&["o"], "open files"),
                (&["f"], "open a folder"),
                (&["s"], "start screen and samples"),
                (&["1 – 9"], "show an open file"),
                (&["[", "]"], "previous, next file"),
                (&["w"], "close the file"),
                (&["u"], "reopen the file closed last"),
                (&["e"], "export"),
                (&["c"], "compare with another trace"),
                (&["x"], "swap A and B"),
            ],
        ),
        (
            "Reports",
            &[
                (&["j", "k"], "next, previous report"),
                (&["/"], "filter the first table"),
                (&["Enter"], "on a column header: sort"),
                (&["↑", "↓"], "in a table: scroll"),
                (&["Home", "End"], "in a table: first, last row"),
            ],
        ),
        (
            "Page",
            &[
                (&["t"], "change the theme"),
                (&["?"], "show these shortcuts"),
                (&["Ctrl K"], "search names, reports and commands"),
                (&["Esc"], "close a dialog or menu, clear a filter"),
                (&["Delete"], "on a file's tab: close it"),
            ],
        ),
    ],

    not_given: |why| {
        format!(
            "The file that was shared with this page or named in its address could not be opened: {why}. Open the file itself instead."
        )
    },
    not_launched: |n| {
        let them = if n == 1 { "it" } else { "them" };
        format!(
            "The browser could not read {} opened with Tracedrop. Drop {them} on the page instead.",
            counted(n, "file", "files")
        )
    },
    no_such_report: |id| format!("this trace has no report {id}; showing the first one"),
    frame_waits: "Waiting for a trace from the embedding page.",
    budget_kept: |n| format!("Within budget: {} met", counted(n as u64, "limit", "limits")),
    budget_passed: |n, all| format!("Over budget: {n} of {} not met", counted(all as u64, "limit", "limits")),
    budget_empty: "The limits file contains no limits.",
    limit_kept: "met",
    limit_passed: "exceeded",
    limit_unknown: "not measured",
    newer_title: "A new version of Tracedrop is ready.",
    newer_about: |n| match n {
        0 => String::new(),
        n => format!("Reloading closes {}.", counted(n as u64, "open file", "open files")),
    },
    newer_take: "Reload",
    newer_later: "Later",
    privacy: PRIVACY,
};

const PRIVACY: PrivacyWords = PrivacyWords {
    link: "What leaves this page",
    see_for_yourself: "Verify it",
    build: |digits| format!("build {digits}"),
    works_offline: ", works offline",

    title: "What leaves this page: nothing. Try it.",
    lead: "Your browser blocks every connection from this page, even to its own server. Here the page tries to send a few words out \
           in every way it knows, and shows what the browser did.",
    address: "Another address to try",
    address_hint: "Enter an address of your own to watch its log.",
    no_address: "This is not a web address. Enter one that starts with https:// or http://",
    try_all: "Try every way out",
    try_again: "Try again",
    trying: |done, all| format!("Trying: {done} of {all}"),
    result: |refused, all| match all - refused {
        0 => format!("All {all} attempts were blocked."),
        n => format!(
            "{n} of {all} attempts were not blocked. Do not open anything confidential here, and tell us which browser you use."
        ),
    },
    table: "Ways out",
    way: "Way",
    own_server: "To this page's own server",
    elsewhere: |host| format!("To {host}"),
    ways: |way| match way {
        WayOut::Fetch => ("fetch", "a request with a body"),
        WayOut::Xhr => ("XMLHttpRequest", "the older request API"),
        WayOut::WebSocket => ("WebSocket", "a permanent connection"),
        WayOut::EventSource => ("EventSource", "a stream from a server"),
        WayOut::Beacon => ("Beacon", "sent even when the page is left"),
        WayOut::Image => ("Image", "data in its address"),
        WayOut::Frame => ("Frame", "a page inside this one"),
        WayOut::Form => ("Form", "submitted without a click"),
        WayOut::Script => ("Script", "loaded late"),
        WayOut::Style => ("Style sheet", "loaded late"),
        WayOut::Font => ("Font", "loaded late"),
        WayOut::Worker => ("Worker", "started from an address"),
        WayOut::FetchInWorker => ("fetch in a worker", "where traces are parsed"),
        WayOut::Wasm => ("WebAssembly", "a module that imports fetch"),
        WayOut::WebRtc => ("WebRTC", "calls between browsers"),
        WayOut::ServiceWorker => ("Service worker", "can use the network"),
        WayOut::Window => ("New window", "opened by the page"),
    },
    not_tried: "Not tried yet",
    refused: "Blocked",
    absent: "Not available",
    failed: "Not blocked",
    through: "Got through",
    said: |outcome| match outcome {
        Outcome::Policy(directive) => format!("by {directive}"),
        Outcome::Thrown(words) => words.clone(),
        Outcome::Absent => "removed from this page".to_string(),
        Outcome::Failed(words) if words.is_empty() => "failed for another reason".to_string(),
        Outcome::Failed(words) => format!("failed for another reason: {words}"),
        Outcome::Through => "nothing stopped it".to_string(),
    },
    not_blocked_title: "What a browser cannot block",
    not_blocked: &[
        "Links you click and addresses you type: the browser goes there, and the address could contain data. No link on this page is \
         made from a trace.",
        "What you take out yourself: saved exports, copied rows and links, a trace you open in Perfetto.",
        "Extensions you installed: they may read every page.",
        "A page that navigates away by itself. This page prevents that in code, because no policy covers it. The same goes for WebRTC, \
         new windows and the service worker: the page removes them before a trace can be opened.",
    ],
    before_title: "What happened while loading",
    before: &[
        "The page fetched its own files from its own server: programs, styles, samples. Then it was locked, and only then did it start.",
        "A service worker caches these files for offline use. From time to time the browser asks the server for a newer version, \
         without sending anything from the page. The worker fetches only the files of the site, and the page cannot make it fetch anything else.",
        "Traces are parsed in this browser. It caches large ones on this computer, if you allow it.",
    ],
    check_title: "How to verify it without trusting this page",
    check: &[
        "Open your browser's developer tools (F12), select Network, and open a trace: there are no requests.",
        "Go offline after the page has loaded: everything still works.",
        "Compare the build below with your own build from source, or with the one published with a release: node tools/build-hash.mjs dist.",
    ],
    this_build: "This build",
};

/// Texts of the export and share dialogs.
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
}

/// Texts of notes.
pub struct NoteWords {
    pub title: &'static str,
    pub region: &'static str,
    pub write: &'static str,
    pub write_on_row: &'static str,
    pub write_on_table: fn(&str) -> String,
    pub rename: &'static str,
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
    /// Duration of the trace, in ms.
    pub length: fn(&str) -> String,
    pub bad_range: &'static str,
    pub no_name: &'static str,
    pub too_many: &'static str,
    /// Skipped notes, maximum number of notes.
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

/// Sentence on what an export lacks, with a leading space; empty if it lacks nothing.
fn not_in_it(left_out: &[String]) -> String {
    if left_out.is_empty() { String::new() } else { format!(" Not included: {}.", left_out.join("; ")) }
}

/// Sentence from a message of the library, which starts in lower case and has no final period.
fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    match chars.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), chars.as_str().trim_end_matches('.')),
        None => String::new(),
    }
}

//! Parsing issues of `profiling.sampling` JSONL.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    BAD_LINE = "profile-bad-line", Skipped,
        "line is not a JSON object", "if it is the last line, the file was truncated: copy it again";
    LINE_TOO_LONG = "profile-line-too-long", Skipped,
        "line is longer than 64 MiB",
        "the profiler writes at most 256 entries per line; check the tool that wrote the file";
    IGNORED_RECORD = "profile-ignored-record", Skipped,
        "record of an unknown type", "the file may come from a newer profiler; try a newer Tracedrop";
    UNSUPPORTED_VERSION = "profile-unsupported-version", Skipped,
        "record of a newer format version",
        "the file comes from a newer profiler; try a newer Tracedrop";
    TOO_MANY_RUNS = "profile-too-many-runs", Skipped,
        "record of a run beyond the limit of 65,536 runs", "split the file by run_id";
    DUPLICATE_META = "profile-duplicate-meta", Skipped, "second header of a run", "";
    IGNORED_AGG = "profile-ignored-counts", Skipped, "counts that are not final per-frame counts", "";
    SKIPPED_ENTRY = "profile-skipped-entry", Skipped,
        "table entry with a missing or invalid id, value or count", "";
    REPLACED_TEXT = "profile-replaced-text", Repaired,
        "name is not valid Unicode; invalid parts replaced by U+FFFD",
        "file names that are not UTF-8 cause this";
    BAD_TOTAL = "profile-bad-total", Note,
        "samples_total is missing or not a count; the total is unchanged", "";
    DANGLING_STRING = "profile-dangling-string", Note,
        "frame refers to an undefined name; shown as missing", "part of the file may be missing; copy it again";
    DANGLING_FRAME = "profile-dangling-frame", Note,
        "counts of an undefined frame; shown by its number", "part of the file may be missing; copy it again";
    FRAME_WITHOUT_COUNTS = "profile-frame-without-counts", Note,
        "frame without counts; shown with 0 samples", "part of the file may be missing; copy it again";
    INCOMPLETE_RUN = "profile-incomplete-run", Note,
        "run has no closing record; the reports cover what was recorded",
        "let the profiler finish, or copy the file again";
    SELF_NOT_TOTAL = "profile-self-not-total", Note,
        "self counts do not add up to the number of samples; shown unchanged", "part of the file may be missing; copy it again";
    TOTALS_DIFFER = "profile-totals-differ", Note,
        "counts and closing record disagree on the number of samples; the closing record was used", "";
    SELF_OVER_CUMULATIVE = "profile-self-over-cumulative", Note,
        "frame has more self samples than total samples; shown unchanged", "";
    CUMULATIVE_OVER_TOTAL = "profile-cumulative-over-total", Note,
        "frame has more samples than the run; shown unchanged", "";
}

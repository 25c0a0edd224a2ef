//! Oddities of this format.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    BAD_LINE = "profile-bad-line", Skipped,
        "line is not a JSON object, skipped", "if it is the last line, the file was cut off";
    LINE_TOO_LONG = "profile-line-too-long", Skipped,
        "line is longer than 64 MiB, skipped",
        "the profiler writes at most 256 entries to a line; check what produced the file";
    IGNORED_RECORD = "profile-ignored-record", Skipped,
        "record of an unknown type, skipped", "a newer profiler may write more than is read here";
    UNSUPPORTED_VERSION = "profile-unsupported-version", Skipped,
        "record of a newer format version, skipped",
        "the file is from a newer profiler than this program knows; look for a newer release";
    TOO_MANY_RUNS = "profile-too-many-runs", Skipped,
        "record of yet another run after 65,536 of them, skipped", "split the file by run_id";
    DUPLICATE_META = "profile-duplicate-meta", Skipped, "the run has a header already, this one was skipped", "";
    IGNORED_AGG = "profile-ignored-counts", Skipped, "counts of another kind than final ones of frames, skipped", "";
    SKIPPED_ENTRY = "profile-skipped-entry", Skipped,
        "table entry with a missing or unusable id, value or count, skipped", "";
    REPLACED_TEXT = "profile-replaced-text", Repaired,
        "name is not valid Unicode; what is wrong in it was replaced by U+FFFD",
        "such names come from file names that are not UTF-8";
    BAD_TOTAL = "profile-bad-total", Note,
        "samples_total is missing or not a count; the record does not change the total", "";
    DANGLING_STRING = "profile-dangling-string", Note,
        "frame refers to a name that the file does not define; shown as missing", "part of the file may be lost";
    DANGLING_FRAME = "profile-dangling-frame", Note,
        "counts of a frame that the file does not describe; shown by its number", "part of the file may be lost";
    FRAME_WITHOUT_COUNTS = "profile-frame-without-counts", Note,
        "frame without counts; shown with 0 samples", "part of the file may be lost";
    INCOMPLETE_RUN = "profile-incomplete-run", Note,
        "the run has no closing record; what there is of it is shown",
        "let the profiler finish, or copy the file again";
    SELF_NOT_TOTAL = "profile-self-not-total", Note,
        "the self counts do not add up to the number of samples; nothing was changed", "part of the file may be lost";
    TOTALS_DIFFER = "profile-totals-differ", Note,
        "counts and closing record disagree on the number of samples; the closing record is used", "";
    SELF_OVER_CUMULATIVE = "profile-self-over-cumulative", Note,
        "frame was the leaf more often than it was on the stack; nothing was changed", "";
    CUMULATIVE_OVER_TOTAL = "profile-cumulative-over-total", Note,
        "frame was on more stacks than were counted; nothing was changed", "";
}

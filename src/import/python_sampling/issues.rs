//! Oddities of this format.

use crate::trace::{IssueKind, Severity};

pub static BAD_LINE: IssueKind = IssueKind {
    code: "profile-bad-line",
    severity: Severity::Skipped,
    what: "line is not a JSON object, skipped",
    hint: "if it is the last line, the file was cut off",
};

pub static LINE_TOO_LONG: IssueKind = IssueKind {
    code: "profile-line-too-long",
    severity: Severity::Skipped,
    what: "line is longer than 64 MiB, skipped",
    hint: "the profiler writes at most 256 entries to a line; check what produced the file",
};

pub static IGNORED_RECORD: IssueKind = IssueKind {
    code: "profile-ignored-record",
    severity: Severity::Skipped,
    what: "record of an unknown type, skipped",
    hint: "a newer profiler may write more than is read here",
};

pub static UNSUPPORTED_VERSION: IssueKind = IssueKind {
    code: "profile-unsupported-version",
    severity: Severity::Skipped,
    what: "record of a newer format version, skipped",
    hint: "the file is from a newer profiler than this program knows; look for a newer release",
};

pub static TOO_MANY_RUNS: IssueKind = IssueKind {
    code: "profile-too-many-runs",
    severity: Severity::Skipped,
    what: "record of yet another run after 65,536 of them, skipped",
    hint: "split the file by run_id",
};

pub static DUPLICATE_META: IssueKind = IssueKind {
    code: "profile-duplicate-meta",
    severity: Severity::Skipped,
    what: "the run has a header already, this one was skipped",
    hint: "",
};

pub static IGNORED_AGG: IssueKind = IssueKind {
    code: "profile-ignored-counts",
    severity: Severity::Skipped,
    what: "counts of another kind than final ones of frames, skipped",
    hint: "",
};

pub static SKIPPED_ENTRY: IssueKind = IssueKind {
    code: "profile-skipped-entry",
    severity: Severity::Skipped,
    what: "table entry with a missing or unusable id, value or count, skipped",
    hint: "",
};

pub static REPLACED_TEXT: IssueKind = IssueKind {
    code: "profile-replaced-text",
    severity: Severity::Repaired,
    what: "name is not valid Unicode; what is wrong in it was replaced by U+FFFD",
    hint: "such names come from file names that are not UTF-8",
};

pub static BAD_TOTAL: IssueKind = IssueKind {
    code: "profile-bad-total",
    severity: Severity::Note,
    what: "samples_total is missing or not a count; the record does not change the total",
    hint: "",
};

pub static DANGLING_STRING: IssueKind = IssueKind {
    code: "profile-dangling-string",
    severity: Severity::Note,
    what: "frame refers to a name that the file does not define; shown as missing",
    hint: "part of the file may be lost",
};

pub static DANGLING_FRAME: IssueKind = IssueKind {
    code: "profile-dangling-frame",
    severity: Severity::Note,
    what: "counts of a frame that the file does not describe; shown by its number",
    hint: "part of the file may be lost",
};

pub static FRAME_WITHOUT_COUNTS: IssueKind = IssueKind {
    code: "profile-frame-without-counts",
    severity: Severity::Note,
    what: "frame without counts; shown with 0 samples",
    hint: "part of the file may be lost",
};

pub static INCOMPLETE_RUN: IssueKind = IssueKind {
    code: "profile-incomplete-run",
    severity: Severity::Note,
    what: "the run has no closing record; what there is of it is shown",
    hint: "let the profiler finish, or copy the file again",
};

pub static SELF_NOT_TOTAL: IssueKind = IssueKind {
    code: "profile-self-not-total",
    severity: Severity::Note,
    what: "the self counts do not add up to the number of samples; nothing was changed",
    hint: "part of the file may be lost",
};

pub static TOTALS_DIFFER: IssueKind = IssueKind {
    code: "profile-totals-differ",
    severity: Severity::Note,
    what: "counts and closing record disagree on the number of samples; the closing record is used",
    hint: "",
};

pub static SELF_OVER_CUMULATIVE: IssueKind = IssueKind {
    code: "profile-self-over-cumulative",
    severity: Severity::Note,
    what: "frame was the leaf more often than it was on the stack; nothing was changed",
    hint: "",
};

pub static CUMULATIVE_OVER_TOTAL: IssueKind = IssueKind {
    code: "profile-cumulative-over-total",
    severity: Severity::Note,
    what: "frame was on more stacks than were counted; nothing was changed",
    hint: "",
};

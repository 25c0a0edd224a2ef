//! Parsing issues of `perf script` text.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    NOT_A_SAMPLE = "perf-not-a-sample", Skipped,
        "line is not a sample with a data address",
        "record with a data address and print it: perf record -d, perf script -F +addr", 5;
    TOO_LONG = "perf-line-too-long", Skipped,
        "line is longer than 1 MiB", "check that lines end with LF, CRLF or CR";
    OUT_OF_RANGE = "perf-out-of-range", Skipped,
        "time or address needs more than 64 bits, line skipped", "", 5;
    SEVERAL_SAMPLES = "perf-several-samples", Repaired,
        "line contains several samples (a line end was lost); all were read", "", 5;
    SEVERAL_UNCLEAR = "perf-several-unclear", Skipped,
        "line contains several samples and cannot be split unambiguously", "", 5;
    COMMENT = "perf-comment", Note, "perf header lines, ignored", "";
    CALL_CHAIN = "perf-call-chain", Note,
        "call chains, ignored; only the sample above each was read", "";
    NEGATIVE_THREAD = "perf-negative-thread", Note,
        "negative thread id; the access is not attributed to a thread", "perf prints -1 for samples it could not attribute";
}

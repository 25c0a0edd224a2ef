//! Oddities of this format.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    NOT_A_SAMPLE = "perf-not-a-sample", Skipped,
        "line is no sample with a data address, skipped",
        "record with a data address and print it: perf record -d, perf script -F +addr", 5;
    TOO_LONG = "perf-line-too-long", Skipped,
        "line is longer than 1 MiB, skipped", "check that lines end with LF, CRLF or CR";
    OUT_OF_RANGE = "perf-out-of-range", Skipped,
        "time or address needs more than 64 bits, line skipped", "", 5;
    SEVERAL_SAMPLES = "perf-several-samples", Repaired,
        "line holds several samples, as a line end before one was lost; each is read", "", 5;
    SEVERAL_UNCLEAR = "perf-several-unclear", Skipped,
        "line holds several samples, and where the second starts is ambiguous; skipped", "", 5;
    COMMENT = "perf-comment", Note, "header lines of perf are not read", "";
    CALL_CHAIN = "perf-call-chain", Note,
        "frames of call chains are not read, only the sample above them", "";
    NEGATIVE_THREAD = "perf-negative-thread", Note,
        "thread number is negative, so the access is of no thread", "perf prints -1 for samples that it could not assign";
}

//! Parsing issues of memory snapshots.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    CUT = "memory-snapshot-cut", Skipped,
        "the snapshot is truncated: it ends inside a value; everything complete before it was read",
        "check that the file was copied completely and that the program was not killed while it wrote it";
    DAMAGED = "memory-snapshot-damaged", Skipped,
        "invalid pickle; reading stopped there", "copy the file again, or dump a new snapshot";
    TRAILING = "memory-snapshot-trailing", Note, "bytes after the end of the snapshot, ignored", "";
    NOT_AN_EVENT = "memory-snapshot-not-an-event", Skipped,
        "entry is not an event, or has no action; skipped", "", 3;
    BAD_VALUE = "memory-snapshot-bad-value", Skipped,
        "event without a valid address or size, skipped", "", 3;
    NOT_A_SEGMENT = "memory-snapshot-not-a-segment", Skipped,
        "entry is not a segment, or names no device; skipped", "", 3;
    NOT_AN_ANNOTATION = "memory-snapshot-not-an-annotation", Skipped,
        "entry is not an annotation with a name, skipped", "", 3;
    UNKNOWN_ACTION = "memory-snapshot-unknown-action", Note,
        "event with an unknown action, counted only", "", 3;
    UNKNOWN_STATE = "memory-snapshot-unknown-state", Note,
        "block with an unknown state, counted as inactive", "", 3;
    ALLOC_OVER_LIVE = "memory-snapshot-alloc-over-live", Note,
        "memory allocated at an address that is still live; the earlier allocation ends there", "";
    FREE_OF_UNKNOWN = "memory-snapshot-free-of-unknown", Note,
        "free of memory that was freed already, ignored", "";
    OPAQUE = "memory-snapshot-opaque", Note,
        "instance of a Python class; pickles are never executed, so its value is unknown", "";
}

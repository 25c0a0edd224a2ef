//! Oddities of this format.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    APPROXIMATE_CLOCK = "memray-approximate-clock", Note,
        "records have no time of their own; each took that of the last measurement of memory before it, so times are approximate (10 ms)",
        "";
    CUT = "memray-cut", Skipped,
        "the capture ends in the middle of a record; everything before it was read",
        "the program was killed, or is still running";
    NO_TRAILER = "memray-no-trailer", Note,
        "the capture was not closed; all records in it were read", "the program was killed, or is still running";
    DAMAGED = "memray-damaged", Skipped,
        "bytes that are no record; reading stopped there", "record the capture again, or copy it again";
    TRAILING = "memray-trailing", Note, "bytes after the end of the capture were ignored", "";
    UNKNOWN_FRAME = "memray-unknown-frame", Note,
        "a frame refers to code that the capture has not described; its function is left empty", "";
    UNDERFLOW = "memray-pop-of-nothing", Note,
        "more frames were left than had been entered; the stack counts as empty", "";
}

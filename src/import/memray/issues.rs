//! Parsing issues of memray captures.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    APPROXIMATE_CLOCK = "memray-approximate-clock", Note,
        "records have no timestamps; each has the time of the preceding memory sample, accurate to about 10 ms",
        "";
    CUT = "memray-cut", Skipped,
        "the capture ends inside a record; everything before it was read",
        "the program was killed or is still running";
    NO_TRAILER = "memray-no-trailer", Note,
        "the capture has no closing record; all its records were read", "the program was killed or is still running";
    DAMAGED = "memray-damaged", Skipped,
        "invalid record; reading stopped there", "copy the file again, or record a new capture";
    TRAILING = "memray-trailing", Note, "bytes after the end of the capture, ignored", "";
    UNKNOWN_FRAME = "memray-unknown-frame", Note,
        "frame refers to code that the capture does not define; its function is left empty", "";
    UNDERFLOW = "memray-pop-of-nothing", Note,
        "more frames popped than pushed; the stack counts as empty", "";
}

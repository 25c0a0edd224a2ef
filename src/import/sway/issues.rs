//! Oddities of this format.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    NOT_JSON = "sway-not-json", Skipped,
        "line is not JSON, skipped",
        "the reference reader skips it too, without a word; look for other output mixed into the file";
    CUT = "sway-cut", Skipped,
        "the last line ends in the middle, skipped",
        "the writer was stopped or had not finished; open the file again when the run is over";
    BYTE_ORDER_MARK = "sway-byte-order-mark", Skipped,
        "line starts with a byte order mark, skipped as the reference does",
        "save the file as UTF-8 without a byte order mark to get this call back";
    NOT_AN_OBJECT = "sway-not-an-object", Skipped,
        "line is JSON but not an object, skipped", "the reference reader stops at such a line; remove it there";
    TOO_DEEP = "sway-too-deep", Skipped,
        "line nests more than 50,000 levels deep, skipped",
        "the reference reader stops at such a line; remove it there";
    TOO_LONG = "sway-line-too-long", Skipped,
        "line is longer than 16 MiB, skipped", "check that lines end with LF, CRLF or CR";
    INTEGER_TOO_LONG = "sway-integer-too-long", Skipped,
        "integer of more than 4300 digits, line skipped", "the reference reader stops at such a line; remove it there";
    OUT_OF_RANGE = "sway-out-of-range", Skipped,
        "number too large for its field, line skipped", "the reference reader stops at such a line; remove it there";
    BAD_TS = "sway-bad-ts", Skipped, "ts is not a number, line skipped", "";
    BAD_WALL_MS = "sway-bad-wall-ms", Skipped, "wall_ms is not a number, line skipped", "";
    BAD_TOP_K = "sway-bad-top-k", Skipped, "top_k is not an integer, line skipped", "";
    BAD_PROBE = "sway-bad-probe", Skipped,
        "probe is an array or object, line skipped", "the reference reports stop at such a line; remove it there";
    BAD_UTF8 = "sway-bad-utf8", Repaired,
        "bytes that are not UTF-8 were read as U+FFFD", "the reference reader stops at such bytes";
    LONE_SURROGATE = "sway-lone-surrogate", Repaired, "half of a surrogate pair was read as U+FFFD", "";
    MISSING_FIELD = "sway-missing-field", Note, "a field is missing and took its default", "";
    UNKNOWN_FIELD = "sway-unknown-field", Note,
        "a field that the writer does not have was ignored", "a newer version of the writer may have added it";
    REPEATED_FIELD = "sway-repeated-field", Note, "a field is there more than once; its last value counts", "";
    CONVERTED = "sway-converted", Note,
        "a value of another type was converted as the reference does",
        "note that any text that is not empty counts as true for hit, also the text false";
}

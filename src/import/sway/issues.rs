//! Parsing issues of forward-pass logs.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    NOT_JSON = "sway-not-json", Skipped,
        "line is not JSON",
        "dlm-sway skips it silently; look for other output mixed into the file";
    CUT = "sway-cut", Skipped,
        "the last line is truncated",
        "the writer was stopped or is still running; reopen the file when the run is over";
    BYTE_ORDER_MARK = "sway-byte-order-mark", Skipped,
        "line starts with a byte order mark, skipped as in dlm-sway",
        "save the file as UTF-8 without a byte order mark to keep this call";
    NOT_AN_OBJECT = "sway-not-an-object", Skipped,
        "line is JSON but not an object", "dlm-sway stops at such a line; remove it to use the file there";
    TOO_DEEP = "sway-too-deep", Skipped,
        "line nests more than 50,000 levels deep",
        "dlm-sway stops at such a line; remove it to use the file there";
    TOO_LONG = "sway-line-too-long", Skipped,
        "line is longer than 16 MiB", "check that lines end with LF, CRLF or CR";
    INTEGER_TOO_LONG = "sway-integer-too-long", Skipped,
        "integer with more than 4,300 digits, line skipped", "dlm-sway stops at such a line; remove it to use the file there";
    OUT_OF_RANGE = "sway-out-of-range", Skipped,
        "number is too large for its field, line skipped", "dlm-sway stops at such a line; remove it to use the file there";
    BAD_TS = "sway-bad-ts", Skipped, "ts is not a number, line skipped", "";
    BAD_WALL_MS = "sway-bad-wall-ms", Skipped, "wall_ms is not a number, line skipped", "";
    BAD_TOP_K = "sway-bad-top-k", Skipped, "top_k is not an integer, line skipped", "";
    BAD_PROBE = "sway-bad-probe", Skipped,
        "probe is an array or object, line skipped", "dlm-sway stops at such a line; remove it to use the file there";
    BAD_UTF8 = "sway-bad-utf8", Repaired,
        "invalid UTF-8 replaced by U+FFFD", "dlm-sway stops at such bytes";
    LONE_SURROGATE = "sway-lone-surrogate", Repaired, "lone surrogate replaced by U+FFFD", "";
    MISSING_FIELD = "sway-missing-field", Note, "missing field, default used", "";
    UNKNOWN_FIELD = "sway-unknown-field", Note,
        "unknown field, ignored", "a newer writer may have added it";
    REPEATED_FIELD = "sway-repeated-field", Note, "duplicate field; the last value was used", "";
    CONVERTED = "sway-converted", Note,
        "value of the wrong type, converted as in dlm-sway",
        "any non-empty text counts as true for hit, even the text false";
}

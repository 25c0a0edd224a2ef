//! Parsing issues of stack profiles, of all formats.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    BAD_LINE = "stacks-bad-line", Skipped,
        "line is neither a stack nor anything else of the format", "";
    LINE_TOO_LONG = "stacks-line-too-long", Skipped,
        "line is longer than 64 MiB", "check the tool that wrote the file";
    NO_COUNTS = "stacks-no-counts", Note,
        "no line has a count; each stack counts once", "";
    ONE_FRAME = "stacks-one-frame", Note,
        "no stack has more than one frame; the file may not be folded stacks",
        "folded stacks are lines such as `main;parse;token 12`";
    EMPTY_FRAME = "stacks-empty-frame", Note,
        "stack ends with frames without a name; these are left out", "";
    UTF16 = "stacks-utf16", Note, "the text is UTF-16", "";
    BYTE_ORDER_MARK = "stacks-bom", Note, "the text starts with a byte order mark", "";
    BAD_UTF8 = "stacks-bad-utf8", Repaired,
        "text is not valid UTF-8; invalid parts replaced by U+FFFD", "";
    TRUNCATED = "stacks-truncated", Skipped,
        "the file ends inside a value; what is whole before it was read", "copy the file again";
    BROKEN = "stacks-broken", Skipped,
        "the file is not valid from here on; what is whole before it was read", "copy the file again";
    TRAILING_DATA = "stacks-trailing-data", Skipped, "text after the profile; ignored", "";
    TOO_LARGE = "stacks-too-large", Skipped,
        "the profile is larger than Tracedrop can keep; what is before it was read", "split the file";
    DANGLING_ID = "stacks-dangling-id", Note,
        "reference to a frame, function, text or stack that is not in the file; shown as missing",
        "part of the file may be missing; copy it again";
    CYCLE = "stacks-cycle", Note,
        "stacks refer to each other in a circle; each is read up to where it repeats", "";
    NEGATIVE_WEIGHT = "stacks-negative-weight", Note,
        "weight below zero; kept and added", "differences and freed memory have such weights";
    BAD_VALUE = "stacks-bad-value", Skipped,
        "value is missing or of another type; what it belongs to is left out", "";
    IGNORED_VALUE = "stacks-ignored-value", Note, "value of another type; ignored", "";
    BAD_TIME = "stacks-bad-time", Note, "time is missing or not a number; the sample is kept without", "";
    NON_MONOTONIC = "stacks-non-monotonic", Note,
        "times go back; samples keep the order of the file", "";
    LENGTH_MISMATCH = "stacks-length-mismatch", Note,
        "lists that belong together differ in length; read as far as all go", "";
    UNKNOWN_UNIT = "stacks-unknown-unit", Note, "unit that the format does not have; shown as it is", "";
    UNKNOWN_TYPE = "stacks-unknown-type", Note,
        "profile of a type that the format does not have; not read", "the file may come from a newer tool";
    UNKNOWN_VERSION = "stacks-unknown-version", Note,
        "format version that Tracedrop does not know; read as the newest known one", "";
    UNBALANCED = "stacks-unbalanced", Note,
        "a frame ends that is not innermost, or not open; frames above it end too", "";
    UNCLOSED = "stacks-unclosed", Note, "a frame has no end; it lasts to the end of the profile", "";
    END_BEFORE_LAST = "stacks-end-before-last", Note,
        "the profile ends before its last sample; the sample counts as the end", "";
    DUPLICATE_ID = "stacks-duplicate-id", Note, "two entries have the same id; the last one counts", "";
    TWO_PARENTS = "stacks-two-parents", Note, "a node is the child of two others; the first one counts", "";
    NO_SAMPLES = "stacks-no-samples", Note, "no samples; the hits of each node are counted instead", "";
    NO_TIMES = "stacks-no-times", Note, "no times; samples are spread evenly", "";
    COUNTED = "stacks-counted", Note, "no times; each sample counts once", "";
    NO_PERIOD = "stacks-no-period", Note,
        "some threads have no periods, so weights by period miss them; sample counts are shown first", "";
    DUPLICATE_TYPE = "stacks-duplicate-type", Note,
        "two kinds of values have the same name and unit; each is shown apart", "";
    NO_STRINGS = "stacks-no-strings", Note,
        "the texts are missing, so functions have no names", "the file is probably cut off: copy it again";
    NO_SAMPLE_TYPE = "stacks-no-sample-type", Note, "the file does not say what its values are", "";
    DROPPED_FRAMES = "stacks-dropped-frames", Note,
        "frames left out, as the file asks (drop_frames, keep_frames)", "";
}

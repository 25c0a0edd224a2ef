//! Parsing issues of Chrome traces.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    // Around the events.
    BOM = "byte-order-mark", Note, "the file starts with a byte order mark", "";
    ARRAY_UNCLOSED = "array-not-closed", Note,
        "event list is not closed, as in traces that are still being written", "";
    OBJECT_UNCLOSED = "object-not-closed", Repaired, "the file ends before its closing brace; everything up to there was read",
        "copy the file again, or wait until the tool has finished writing it";
    TEXT_AFTER_END = "text-after-end", Skipped, "text after the end of the trace, ignored", "";
    CLOSED_EARLY = "list-closed-early", Repaired,
        "event list closed before its last event; the events after it were read too", "";
    MISSING_COMMA = "missing-comma", Note, "no comma between two events", "";
    EXTRA_COMMA = "extra-comma", Note, "extra comma in a list", "";
    STRAY_TEXT = "stray-text", Skipped, "stray text outside any member of the file's object", "";
    BROKEN_MEMBER = "broken-member", Skipped,
        "a top-level member is not valid JSON, skipped up to the next list", "";
    CUT_MEMBER = "cut-member", Skipped, "the file ends inside a top-level member, which is lost", "";
    MEMBER_BEHIND_END = "member-after-end", Repaired,
        "the file's object closed before its last member; the members after it were read too", "";
    LIST_UNCLOSED = "list-not-closed", Repaired, "a list has no closing bracket, closed where the next list starts", "";
    LIST_UNOPENED = "list-not-opened", Repaired, "event or sample list without an opening bracket, read anyway", "";
    LIST_UNNAMED = "list-without-name", Repaired, "event or sample list without a valid name, read anyway", "";
    LIST_OF_OTHER_NAME = "list-of-other-name", Repaired, "event or sample list not called traceEvents or samples, read anyway",
        "check the tool that wrote the file";
    SECOND_LIST = "second-list", Skipped,
        "a second event or sample list under another name was skipped: it may repeat the first",
        "to read it, move it to its own file as traceEvents";
    NOT_AN_ARRAY = "not-an-array", Skipped, "member is not a list", "";
    LONG_VALUE = "long-metadata", Note, "very long metadata value, truncated", "";
    HUGE_MEMBER = "huge-member", Skipped, "value is too large for memory", "";
    FTRACE_TEXT = "ftrace-text", Skipped, "systemTraceEvents contains ftrace text, which is not supported",
        "open the trace in Perfetto to see these events";
    // Elements.
    NOT_AN_OBJECT = "element-not-object", Skipped, "list element is not an object", "";
    BROKEN_EVENT = "broken-event", Skipped, "event is not valid JSON, skipped up to the next one", "";
    CUT_EVENT = "cut-event", Skipped, "the file ends inside an event, which is lost", "";
    HUGE_EVENT = "huge-event", Skipped, "event is too large for memory", "";
    EMPTY_EVENT = "empty-event", Skipped, "empty event", "";
    NO_PHASE = "no-phase", Skipped, "event without a phase (ph)", "";
    NO_TIME = "no-time", Skipped, "event without a timestamp (ts)", "";
    BAD_TIME = "bad-time", Skipped, "timestamp (ts) is not a number or out of range, event skipped", "";
    UNTIMED_WORK = "untimed-gpu-work", Repaired,
        "kernel or copy with start and duration 0: the driver could not time it; only its launch is kept",
        "durations, means and the time span exclude it; record again, or count it by name in the GPU reports", 4;
    NO_DURATION = "no-duration", Repaired, "complete event without a duration (dur), kept with 0", "";
    BAD_DURATION = "bad-duration", Skipped, "duration (dur) is not a number or out of range, event skipped", "";
    NEGATIVE_DURATION = "negative-duration", Repaired, "negative duration, event kept with 0", "";
    BAD_THREAD_TIME = "bad-thread-time", Repaired, "thread time (tts or tdur) is not a number, member dropped", "";
    NOT_USED = "phase-not-used", Skipped, "event of an unsupported phase", "";
    WRONG_TYPE = "wrong-type", Repaired, "name, cat, args or stack has the wrong type, member dropped", "";
    BAD_TEXT = "bad-text", Repaired,
        "invalid UTF-8 in a name, category or id replaced by U+FFFD; unknown escapes were kept", "";
    ODD_ID = "odd-id", Repaired,
        "an id (pid, tid, id, …) is neither a number nor text and counts as missing", "";
    REPEATED_MEMBER = "repeated-member", Note, "duplicate member in an event; the last value was used", "";
    BAD_SAMPLE = "bad-sample", Skipped, "sample without a timestamp or thread", "";
}

//! What can be wrong with a file of events.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    // Around the events.
    BOM = "byte-order-mark", Note, "the file starts with a byte order mark", "";
    ARRAY_UNCLOSED = "array-not-closed", Note,
        "the list of events is not closed, as tools leave it that write to the last moment", "";
    OBJECT_UNCLOSED = "object-not-closed", Repaired, "the file ends before its closing brace, read to there",
        "the file may have been copied before it was complete";
    TEXT_AFTER_END = "text-after-end", Skipped, "there is more text after the end of the trace, not read", "";
    CLOSED_EARLY = "list-closed-early", Repaired,
        "the list of events was closed before its last event, read on behind that", "";
    MISSING_COMMA = "missing-comma", Note, "no comma between two events", "";
    EXTRA_COMMA = "extra-comma", Note, "more commas than events", "";
    STRAY_TEXT = "stray-text", Skipped, "text that belongs to no member of the file's object, skipped", "";
    BROKEN_MEMBER = "broken-member", Skipped,
        "a member of the file's object is not valid JSON; skipped up to the next list", "";
    CUT_MEMBER = "cut-member", Skipped, "the file ends inside a member of its object, which is lost", "";
    MEMBER_BEHIND_END = "member-after-end", Repaired,
        "the file's object was closed before its last member, read on after that", "";
    LIST_UNCLOSED = "list-not-closed", Repaired, "a list has no closing bracket before the next one, closed there", "";
    LIST_UNOPENED = "list-not-opened", Repaired, "a list of events or samples has no opening bracket, read all the same", "";
    LIST_UNNAMED = "list-without-name", Repaired, "a list of events or samples has no valid name, read all the same", "";
    LIST_OF_OTHER_NAME = "list-of-other-name", Repaired, "a list of events or samples is not called traceEvents or samples, read all the same",
        "check the tool that wrote the file";
    SECOND_LIST = "second-list", Skipped,
        "a further list of events or samples has another name and was not read, as it may repeat the first",
        "rename it to traceEvents in a file of its own to read it";
    NOT_AN_ARRAY = "not-an-array", Skipped, "the member should be a list but is none, skipped", "";
    LONG_VALUE = "long-metadata", Note, "metadata value is very long, only its beginning kept", "";
    HUGE_MEMBER = "huge-member", Skipped, "value is too long to be held in memory, skipped", "";
    FTRACE_TEXT = "ftrace-text", Skipped, "systemTraceEvents holds ftrace text, which is not read", "";
    // Elements.
    NOT_AN_OBJECT = "element-not-object", Skipped, "list element is not an object, skipped", "";
    BROKEN_EVENT = "broken-event", Skipped, "event is not JSON, skipped up to the next one", "";
    CUT_EVENT = "cut-event", Skipped, "the file ends inside an event, which is lost", "";
    HUGE_EVENT = "huge-event", Skipped, "event is too long to be held in memory, skipped", "";
    EMPTY_EVENT = "empty-event", Skipped, "event without members, skipped", "";
    NO_PHASE = "no-phase", Skipped, "event without a phase (ph), skipped", "";
    NO_TIME = "no-time", Skipped, "event without a time (ts), skipped", "";
    BAD_TIME = "bad-time", Skipped, "time (ts) is no number of microseconds in range, event skipped", "";
    UNTIMED_WORK = "untimed-gpu-work", Repaired,
        "GPU work whose start and duration are 0: the driver could not time it; its launch is kept, it is on no timeline and in no mean",
        "durations, means and the span are without it; record again, or count it by name in the GPU reports", 4;
    NO_DURATION = "no-duration", Repaired, "complete event without a duration (dur), kept with 0", "";
    BAD_DURATION = "bad-duration", Skipped, "duration (dur) is no number of microseconds in range, event skipped", "";
    NEGATIVE_DURATION = "negative-duration", Repaired, "negative duration, event kept with 0", "";
    BAD_THREAD_TIME = "bad-thread-time", Repaired, "thread time (tts or tdur) is no number, that member dropped", "";
    NOT_USED = "phase-not-used", Skipped, "event of a phase that means nothing here, skipped", "";
    WRONG_TYPE = "wrong-type", Repaired, "name, cat, args or stack has a value of a type it can not have, that member dropped", "";
    BAD_TEXT = "bad-text", Repaired, "a name, category or id has bad UTF-8, shown with replacement characters, or unknown escapes, kept as they are", "";
    ODD_ID = "odd-id", Repaired, "an id (pid, tid, id and the like) is no whole number and no text; a fraction is cut off, other values count as absent", "";
    REPEATED_MEMBER = "repeated-member", Note, "an event has a member more than once; its last value counts", "";
    BAD_SAMPLE = "bad-sample", Skipped, "sample without a time or a thread, skipped", "";
}

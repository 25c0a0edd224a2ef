//! Parsing issues of XPlane profiles.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    TRUNCATED = "xplane-truncated", Skipped, "the file ends inside a message; everything before it was read",
        "check that the file was copied completely";
    DAMAGED = "xplane-damaged", Skipped, "bytes that are not fields of a message; the rest of the plane or line is lost",
        "copy or record the profile again", 5;
    DAMAGED_EVENT = "xplane-damaged-event", Note, "event that is damaged; it was read as far as it goes", "", 5;
    TOO_LARGE = "xplane-field-too-large", Skipped, "field larger than 64 MiB", "", 5;
    OTHER_FIELD = "xplane-other-field", Note, "fields of the file that are not planes, errors, warnings or host names", "";
    ROUNDED = "xplane-picoseconds", Note,
        "times are picoseconds, rounded once to nanoseconds; exact ones are in the arguments offset_ps and duration_ps", "";
    AGGREGATED = "xplane-aggregated", Skipped,
        "aggregated event, which has a count and no time; not drawn, but listed under aggregated_events", "", 5;
    AGGREGATED_MORE = "xplane-aggregated-more", Note, "names of aggregated events that are not listed", "";
    BYTES = "xplane-bytes", Note, "values of bytes (such as HLO modules), which are not read", "", 10;
    MISSING = "xplane-missing-name", Note, "id that has no name in its plane; shown as (missing)", "", 3;
    BAD_TIME = "xplane-bad-time", Skipped, "event whose time is beyond the range of nanoseconds", "";
    NEGATIVE = "xplane-negative-duration", Skipped, "event that ends before it starts", "";
    LATE_LINE = "xplane-late-line", Note,
        "start or name of a line comes after its events had been read without it", "";
    FILE_ERROR = "xplane-error", Note, "the profiler reports an error", "", 10;
    FILE_WARNING = "xplane-warning", Note, "the profiler reports a warning", "", 10;
    NO_ROOM = "xplane-no-room", Note, "arguments of events that don't fit in memory; not shown",
        "open the file with the tracedrop command";
}

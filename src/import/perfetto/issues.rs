//! Parsing issues of Perfetto traces.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    BAD_PACKET = "perfetto-bad-packet", Skipped, "packet is not a valid message", "";
    OTHER_FIELD = "perfetto-other-field", Skipped, "field of the trace that is not a packet", "";
    TOO_LARGE = "perfetto-packet-too-large", Skipped, "packet is larger than 64 MiB", "";
    CORRUPT = "perfetto-corrupt", Skipped,
        "bytes that are not packets; reading went on at the next synchronization marker, if there is one",
        "copy or record the trace again";
    TRUNCATED = "perfetto-truncated", Skipped, "the trace ends inside a packet; everything before it was read",
        "check that the file was copied completely";
    NESTED_COMPRESSED = "perfetto-nested-compressed", Skipped, "compressed packets inside compressed packets", "";
    BAD_COMPRESSED = "perfetto-bad-compressed", Skipped,
        "compressed packets that do not decompress; what came out before the damage was read", "";
    NO_SEQUENCE = "perfetto-no-sequence", Skipped, "event without a sequence id", "";
    NO_TIMESTAMP = "perfetto-no-timestamp", Skipped, "event without a timestamp", "";
    BAD_TIMESTAMP = "perfetto-bad-timestamp", Skipped, "timestamp is negative or too large", "";
    UNKNOWN_CLOCK = "perfetto-unknown-clock", Skipped,
        "timestamp of a clock that no clock snapshot relates to the clock of the trace",
        "the packets with clock snapshots may be lost";
    NO_REFERENCE = "perfetto-delta-without-reference", Skipped,
        "timestamp relative to a thread descriptor that is missing", "";
    LOST_STATE = "perfetto-needs-lost-state", Skipped,
        "packet refers to names or defaults in packets that were lost",
        "the recording overwrote or dropped them; use a larger buffer";
    PACKETS_LOST = "perfetto-packets-lost", Note, "packets of a sequence were lost while recording",
        "use a larger buffer";
    MISSING_INTERNED = "perfetto-missing-interned", Note,
        "name or text that was not in the trace; shown as (missing)", "";
    UNDESCRIBED_TRACK = "perfetto-undescribed-track", Note, "track without a descriptor, shown by its number", "";
    TRACK_CYCLE = "perfetto-track-cycle", Note, "tracks are each other's parents; cut", "";
    COUNTER_ELSEWHERE = "perfetto-counter-on-other-track", Skipped,
        "counter value on a track that is not a counter", "";
    COUNTER_WITHOUT_VALUE = "perfetto-counter-without-value", Skipped, "counter event without a value", "";
    BAD_COUNTER_VALUE = "perfetto-bad-counter-value", Skipped, "counter value is not a finite number", "";
    STATE_ELSEWHERE = "perfetto-state-on-other-track", Skipped, "state on a track that does not have states", "";
    OWN_NOTE = "perfetto-own-note", Note,
        "note that Tracedrop wrote when it exported the trace; not shown as an event", "";
    UNKNOWN_EVENT = "perfetto-unknown-event", Skipped, "event of an unknown type", "";
    UNKNOWN_FIELDS = "perfetto-unknown-arguments", Note,
        "arguments of a form that only their writer knows; not shown", "";
    TOO_DEEP = "perfetto-nested-arguments", Note, "arguments nested more than 64 deep; not shown from there on", "";
    FTRACE = "perfetto-ftrace", Skipped, "kernel events (ftrace) without task switches; not shown",
        "open the trace in Perfetto to see them";
    OTHER_FTRACE = "perfetto-other-ftrace", Note,
        "packets whose kernel events (ftrace) other than task switches are not shown", "";
    FTRACE_LOST = "perfetto-ftrace-lost", Note, "the kernel lost events (ftrace) while recording",
        "use a larger buffer";
    PROCESS_INFO = "perfetto-process-info", Skipped, "statistics of processes and of the system; not shown", "";
    SAMPLES = "perfetto-samples", Skipped, "heap graphs or stack samples of a newer kind; not shown",
        "open the trace in Perfetto to see them";
    NO_SAMPLES = "perfetto-no-samples", Skipped, "packet of CPU samples without a sample", "";
    LOST_SAMPLES = "perfetto-lost-samples", Skipped, "CPU samples that the profiler lost or skipped while recording",
        "sample less often";
    MANY_SAMPLES = "perfetto-many-samples", Skipped, "more CPU samples than fit into memory; the rest is left out",
        "use the command `tracedrop`";
    HEAP_CUT = "perfetto-heap-cut", Note, "heap profile that is incomplete: its process overran the buffer or was not profiled to the end",
        "";
    GPU_PACKETS = "perfetto-gpu", Skipped, "GPU counters or render stages; not shown", "";
    LOGS = "perfetto-logs", Skipped, "log messages; not shown", "";
    OTHER_PACKETS = "perfetto-other-packets", Skipped, "packets of other data sources; not shown", "";
}

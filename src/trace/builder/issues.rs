//! Issues that show only once the events of a trace are joined.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    /// An `E` that closes nothing.
    STRAY_END = "stray-end", Skipped, "end without a matching begin on its thread",
        "recording probably started inside the slice";
    /// An `E` of another name than the slice it closes.
    END_NAME = "end-name-differs", Note, "end has another name than the slice it closes (the innermost open one)", "";
    /// A `B` without `E`.
    UNFINISHED_SLICE = "unfinished-slice", Note,
        "begin without an end, drawn to the end of the trace",
        "recording probably stopped inside the slice";
    /// An end before its begin, where both are known by their places in the file.
    NEGATIVE_SLICE = "end-before-begin", Repaired,
        "slice ends before it begins; kept with a duration of 0", "";
    /// A begin cut at the end of its finished parent.
    MISPLACED_END = "misplaced-end", Repaired,
        "slice still open when its parent ended, cut at the parent's end", "";
    /// A partial overlap.
    OVERLAP = "overlapping-slice", Note,
        "slice partially overlaps another one, moved to an overflow lane",
        "rounded timestamps or several threads under one thread id cause this";
    /// More events than fit in memory.
    SPILLED = "too-many-to-hold", Note,
        "more events than fit in memory: totals include all, but only the longest slices were kept, without arrows and stacks",
        "open a time range of the trace to see every slice in it";
    /// More memory accesses than fit in memory.
    ACCESSES_LEFT_OUT = "too-many-accesses", Skipped,
        "more memory accesses than fit in memory; the reports cover the first ones",
        "open the file with the tracedrop command, which can use all of the computer's memory";
    /// Events outside the chosen time range.
    OUTSIDE_RANGE = "outside-range", Note,
        "events, samples and forward passes outside the chosen time range are in no report; what reaches into it keeps its full duration, but slices only their self time within it",
        "reopen the file to see all of it";
    /// Files of a run directory that differ from its manifest.
    MANIFEST_DIFFERS = "manifest-differs", Note,
        "files of the run directory are missing or differ from its manifest; read as they are",
        "copy the directory again, or check what changed it";
    /// The run was disturbed while it was measured.
    RUN_CONTAMINATED = "run-contaminated", Note,
        "the run is contaminated: it was disturbed while measuring, so its numbers are not valid", "repeat the run";
    STRAY_ASYNC_END = "stray-async-end", Skipped,
        "async end without a matching begin", "recording probably started inside the slice";
    UNFINISHED_ASYNC = "unfinished-async", Note,
        "async begin without an end, drawn to the end of the trace",
        "recording probably stopped inside the slice";
    ASYNC_WITHOUT_ID = "async-without-id", Skipped, "async event without an id", "";
    ASYNC_WITHOUT_PID = "async-without-pid", Skipped, "async event without a process id", "";
    LEGACY_ASYNC = "legacy-async", Note, "async event in the legacy form (S, T, p, F)", "";
    LEGACY_WITHOUT_START = "legacy-without-start", Skipped,
        "legacy async step or finish without its start", "";
    INSTANT_WITHOUT_TID = "instant-without-tid", Skipped, "thread instant without a thread id", "";
    INSTANT_WITHOUT_PID = "instant-without-pid", Skipped, "process instant without a process id", "";
    COUNTER_WITHOUT_ARGS = "counter-without-args", Skipped, "counter without arguments", "";
    COUNTER_VALUE = "bad-counter-value", Note, "counter value is not a finite number, value dropped", "";
    FLOW_NO_ID = "flow-without-id", Skipped, "flow event without an id", "";
    FLOW_ID = "bad-flow-id", Note, "flow id is neither a number nor hexadecimal of up to 64 bits; matched as text", "";
    FLOW_DIRECTION = "flow-without-direction", Note, "bind_id without flow_in or flow_out, arrow dropped", "";
    FLOW_NO_SLICE = "flow-without-slice", Skipped, "flow event outside any slice on its thread", "";
    FLOW_NO_START = "flow-without-start", Note, "flow step or end without an earlier start, arrow dropped",
        "the flow started before the recording, or the call started nothing";
    FLOW_NO_END = "flow-without-end", Skipped, "flow end without a later slice on its thread", "";
    FLOW_DUPLICATE = "duplicate-flow-start", Skipped, "duplicate start of a flow", "";
    BIND_ID = "bad-bind-id", Note, "bind_id is neither a number nor hexadecimal of up to 64 bits; matched as text", "";
    BIND_NO_START = "bound-flow-without-start", Repaired,
        "slice ends an arrow that never started; slice kept without the arrow", "";
    BIND_DUPLICATE = "duplicate-bound-flow", Repaired,
        "duplicate start of an arrow; slice kept without the arrow", "";
    METADATA_VALUE = "bad-metadata", Skipped, "metadata event without a valid value", "";
    UNKNOWN_FRAME = "unknown-frame", Note, "stack frame is not in the file, stack truncated there", "";
    PROFILE_NODE = "profile-node-without-parent", Note, "profile node without its parent in the file, dropped", "";
    PROFILE_SAMPLE = "profile-sample-without-node", Note, "profile sample without its node in the file, dropped", "";
    PROFILE_START = "profile-without-start", Skipped, "profile chunk whose profile has no start time", "";
}

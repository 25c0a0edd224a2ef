//! What can be wrong with events once they are put together.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    /// An `E` that closes nothing.
    STRAY_END = "stray-end", Skipped, "end without a matching begin on its thread, skipped",
        "recording probably started inside the slice";
    /// An `E` of another name than the slice it closes.
    END_NAME = "end-name-differs", Note, "end closes the innermost open slice, which has another name", "";
    /// A `B` without `E`.
    UNFINISHED_SLICE = "unfinished-slice", Note,
        "begin without an end, drawn to the end of the trace",
        "recording probably stopped inside the slice";
    /// A begin cut at the end of its finished parent.
    MISPLACED_END = "misplaced-end", Repaired,
        "slice was still open when its parent had ended, cut at the parent's end", "";
    /// A partial overlap.
    OVERLAP = "overlapping-slice", Note,
        "slice starts inside another one and ends after it, moved to an overflow lane",
        "rounded times or work of several threads under one thread id cause this";
    /// There were more events than are held.
    FOLDED = "too-many-to-hold", Note,
        "more events than are held at once: all were added up, but of single slices only the longest were kept, and arrows and stacks were not",
        "cut the trace to the time of interest to see single slices";
    /// There were more memory accesses than are held.
    ACCESSES_LEFT_OUT = "too-many-accesses", Skipped,
        "more memory accesses than there is memory for: reports are on those before",
        "read the file with the tracedrop command, which may use all memory of the computer";
    /// Events that nobody asked for.
    OUTSIDE_RANGE = "outside-range", Note,
        "events outside of the stretch of time that was chosen while the file was read: read, and in no report",
        "open the file again for all of it";
    /// Files beside a trace are others than its manifest lists.
    MANIFEST_DIFFERS = "manifest-differs", Repaired,
        "files of the run directory that differ from its manifest, or are missing: read as they are",
        "copy the directory again, or find out who changed it";
    /// The run was disturbed while it was measured.
    RUN_CONTAMINATED = "run-contaminated", Repaired,
        "the run was disturbed while it was measured, so its numbers don't count as valid", "measure it again";
    STRAY_ASYNC_END = "stray-async-end", Skipped,
        "asynchronous end without a matching begin, skipped", "recording probably started inside the slice";
    UNFINISHED_ASYNC = "unfinished-async", Note,
        "asynchronous begin without an end, drawn to the end of the trace",
        "recording probably stopped inside the slice";
    ASYNC_WITHOUT_ID = "async-without-id", Skipped, "asynchronous event without an id, skipped", "";
    ASYNC_WITHOUT_PID = "async-without-pid", Skipped, "asynchronous event without a process id, skipped", "";
    LEGACY_ASYNC = "legacy-async", Note, "asynchronous event in the older form (S, T, p, F)", "";
    LEGACY_WITHOUT_START = "legacy-without-start", Skipped,
        "step or finish of an older asynchronous form without its start, skipped", "";
    INSTANT_WITHOUT_TID = "instant-without-tid", Skipped, "instant of a thread without a thread id, skipped", "";
    INSTANT_WITHOUT_PID = "instant-without-pid", Skipped, "instant of a process without a process id, skipped", "";
    COUNTER_WITHOUT_ARGS = "counter-without-args", Skipped, "counter without arguments, skipped", "";
    COUNTER_VALUE = "bad-counter-value", Note, "counter value is not a finite number, that value dropped", "";
    FLOW_NO_ID = "flow-without-id", Skipped, "flow event without an id, skipped", "";
    FLOW_ID = "bad-flow-id", Note, "flow id is neither a number nor hexadecimal text, joined by the text", "";
    FLOW_DIRECTION = "flow-without-direction", Note, "bind_id without flow_in or flow_out, no arrow drawn", "";
    FLOW_NO_SLICE = "flow-without-slice", Skipped, "no slice around the flow event on its thread, skipped", "";
    FLOW_NO_START = "flow-without-start", Note, "flow step or end without a start before it, no arrow drawn",
        "its start lies before the recording, or nothing came of the call";
    FLOW_NO_END = "flow-without-end", Skipped, "flow end without a later slice on its thread, skipped", "";
    FLOW_DUPLICATE = "duplicate-flow-start", Skipped, "second start of a flow that exists, skipped", "";
    BIND_ID = "bad-bind-id", Note, "bind_id is neither a number nor hexadecimal text, joined by the text", "";
    BIND_NO_START = "bound-flow-without-start", Repaired,
        "arrow of a slice ends here but started nowhere before, slice kept without it", "";
    BIND_DUPLICATE = "duplicate-bound-flow", Repaired,
        "second start of an arrow that exists, slice kept without it", "";
    METADATA_VALUE = "bad-metadata", Skipped, "metadata event without a usable value, skipped", "";
    UNKNOWN_FRAME = "unknown-frame", Note, "stack frame is not in the file, stack cut there", "";
    PROFILE_NODE = "profile-node-without-parent", Note, "profile node whose parent is not in the file, dropped", "";
    PROFILE_SAMPLE = "profile-sample-without-node", Note, "profile sample of a node that is not in the file, dropped", "";
    PROFILE_START = "profile-without-start", Skipped, "profile chunk whose profile has no start time, skipped", "";
}

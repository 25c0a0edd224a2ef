//! Parsing issues of SQLite captures.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    TRUNCATED = "sqlite-truncated", Skipped, "the file is shorter than its header states; rows behind its end are lost",
        "copy or export it again";
    DAMAGED_PAGE = "sqlite-damaged-page", Skipped,
        "page of a table that is missing, damaged or used twice; its rows are lost", "copy or export the file again", 5;
    DAMAGED_ROW = "sqlite-damaged-row", Skipped, "row that is damaged", "copy or export the file again", 5;
    WAL = "sqlite-wal", Note,
        "the file was written in WAL mode; a -wal file next to it may hold more rows and is not read",
        "run `sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'`, then open it again";
    UNREAD_TABLE = "sqlite-unread-table", Skipped, "table of a kind that is not read (virtual, or without row ids)", "", 5;
    TRUNCATED_FOLDER = "capture-truncated", Skipped, "the archive of tables ends inside a file; tables after it are lost",
        "copy or export it again";
    DAMAGED_TABLE = "capture-damaged-table", Skipped, "Parquet table that could not be opened",
        "copy or export it again", 5;
    DAMAGED_COLUMN = "capture-damaged-column", Note,
        "columns of a Parquet table that could not be decoded; their values count as missing", "copy or export it again", 5;
    OTHER_TABLE = "capture-other-table", Skipped, "table of data that is not shown", "", 20;
    NO_TIME = "capture-no-time", Skipped, "event without a start or an end", "";
    NEGATIVE = "capture-negative-duration", Skipped, "event that ends before it starts", "";
    MISSING_NAME = "capture-missing-name", Note, "name that is not in the file; shown as (missing)", "";
    NO_PROCESS = "capture-no-process", Note,
        "kernel or copy without the process that launched it (globalPid), so it is not linked to its launch",
        "export again with a current version of nsys";
    NO_DEVICE = "capture-no-device", Note, "kernel or copy without the number of its GPU; shown on an unknown GPU", "";
    NO_AGENT = "capture-no-agent", Note, "kernel or copy whose agent is not in the capture; shown on an unknown GPU", "";
    WHOLE_GRAPH = "capture-whole-graph", Note,
        "CUDA graph recorded as a whole; the kernels in it were not recorded",
        "record with `nsys profile --cuda-graph-trace=node`";
    NO_VALUE = "capture-no-value", Skipped, "sample of a metric without a time, a metric or a value", "";
    TOO_MANY_VALUES = "capture-too-many-values", Skipped, "samples of metrics that don't fit in memory; not shown",
        "open the file with the tracedrop command";
    TOO_MANY_FRAMES = "capture-too-many-frames", Note, "call chain of a CPU sample that doesn't fit in memory; not shown",
        "open the file with the tracedrop command";
    TOO_MANY_SAMPLES = "capture-too-many-samples", Skipped, "CPU samples that don't fit in memory; not shown",
        "open the file with the tracedrop command";
    COMPRESSED = "capture-compressed", Skipped, "text stored as a compressed blob; not read",
        "write the database without compression";
    NO_ROOM = "capture-no-room", Note, "arguments of events that don't fit in memory; not shown",
        "open the file with the tracedrop command";
}

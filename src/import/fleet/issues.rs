//! Parsing issues of fleet datasets.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    NOT_SHOWN = "fleet-table-not-shown", Note,
        "no report shows this table of a fleet; its rows were not read", "query it with tracedrop fleet sql";
    MISSING_COLUMNS = "fleet-missing-columns", Note, "columns are missing and count as empty", "";
    WITHOUT_STEP = "fleet-step-without-time", Skipped, "steps without a name or GPU time", "";
    DAMAGED_GROUP = "fleet-damaged-group", Skipped, "row group could not be read", "copy the file again";
}

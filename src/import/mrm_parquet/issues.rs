//! Parsing issues of Parquet files with memory accesses.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    MISSING_COLUMNS = "mrm-missing-columns", Note,
        "required columns are missing and count as empty",
        "mrm-trace rejects such a file";
    EXTRA_COLUMNS = "mrm-extra-columns", Note, "unknown columns, ignored", "";
    ODD_COLUMNS = "mrm-odd-columns", Note,
        "columns have the wrong type and count as missing; numeric operations count as neither load nor store",
        "write numbers as numbers, and operations as the text load or store";
    OUT_OF_RANGE = "mrm-out-of-range", Note,
        "numbers that are negative or too large for their column count as missing", "";
    OTHER_OPERATION = "mrm-other-operation", Note,
        "operations other than load and store count as neither reads nor writes",
        "write load and store in lower case";
    WITHOUT_ADDRESS = "mrm-row-without-address", Skipped,
        "rows without a timestamp, address or operation", "";
    DAMAGED_GROUP = "mrm-damaged-group", Skipped,
        "row group could not be read", "copy the file again";
    SEVERAL_RUNS = "mrm-several-runs", Note,
        "the file contains several runs; they are shown as one", "write each run to its own file";
}

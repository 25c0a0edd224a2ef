//! Oddities of this format.

use crate::trace::ledger::issue_kinds;

issue_kinds! {
    MISSING_COLUMNS = "mrm-missing-columns", Note,
        "columns that the format asks for are missing and count as empty",
        "the reference refuses such a file";
    EXTRA_COLUMNS = "mrm-extra-columns", Note, "columns that the format does not have were ignored", "";
    ODD_COLUMNS = "mrm-odd-columns", Note,
        "columns hold values of another type than the format's: they count as missing, numbers for operations as operations that are neither load nor store",
        "write numbers as numbers, and load or store as text";
    OUT_OF_RANGE = "mrm-out-of-range", Note,
        "row groups have numbers that are negative or too large for their column, which count as missing", "";
    OTHER_OPERATION = "mrm-other-operation", Note,
        "row groups have operations that are neither load nor store, which count as no reads and no writes",
        "write load and store, in lower case";
    WITHOUT_ADDRESS = "mrm-row-without-address", Skipped,
        "rows without a time, an address or an operation, skipped", "";
    DAMAGED_GROUP = "mrm-damaged-group", Skipped,
        "a row group could not be read and was left out", "copy the file again";
    SEVERAL_RUNS = "mrm-several-runs", Note,
        "rows belong to several runs; they are shown as one", "keep the runs in files of their own";
}

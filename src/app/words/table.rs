//! Texts of tables.

use super::number;
use tracedrop::base::units::counted;
use tracedrop::report::Amounts;

/// Texts of tables.
pub struct TableWords {
    pub no_rows: &'static str,
    pub nothing_matches: &'static str,
    pub rows_of: fn(Option<u64>, u64) -> String,
    pub rows_region: fn(&str) -> String,
    pub rows_left_out: fn(u64) -> String,
    pub show_all: fn(u64) -> String,
    pub show_fewer: &'static str,
    pub choose_columns: fn(&str) -> String,
    pub clear_filter: &'static str,
    pub filter_columns: &'static str,
    pub filter: &'static str,
    pub filter_table: fn(&str) -> String,
    pub amounts: fn(&str) -> String,
    /// Label and explanation.
    pub amounts_as: fn(Amounts) -> (&'static str, &'static str),
    pub copy_table: fn(&str) -> String,
    /// Id, name, purpose.
    pub copy_formats: [(&'static str, &'static str, &'static str); 3],
    pub copied: fn(u64) -> String,
    pub not_copied: &'static str,
    pub row_menu: &'static str,
    pub copy_row: &'static str,
    pub copy_name: &'static str,
    pub filter_by_row: &'static str,
    pub note_on_row: &'static str,
    /// Of a row that names a file.
    pub open_trace: &'static str,
    pub choose_trace: fn(&str) -> String,
    pub show_in_timeline: &'static str,
    /// Name that no event has.
    pub not_in_timeline: fn(&str) -> String,
    /// Label of a column, sum and mean.
    pub sum_of: fn(&str, &str, &str) -> String,
    /// Number of rows, texts of `sum_of`.
    pub selected: fn(u64, &[String]) -> String,
}

pub const ENGLISH: TableWords = TableWords {
    no_rows: "No rows",
    nothing_matches: "No matching rows",
    rows_of: |matching, total| match matching {
        Some(matching) => format!("{} of {}", number(matching), counted(total, "row", "rows")),
        None => counted(total, "row", "rows"),
    },
    rows_region: |title| format!("{title}, rows"),
    rows_left_out: |n| {
        format!("{} not shown here; exports of the trace include all.", counted(n, "more row", "more rows"))
    },
    show_all: |n| format!("Show all {} rows", number(n)),
    show_fewer: "Show fewer rows",
    choose_columns: |title| format!("Columns of {title}"),
    clear_filter: "Clear filter",
    filter_columns: "Columns",
    filter: "Filter",
    filter_table: |title| format!("Filter {title}"),
    amounts: |title| format!("Amounts in {title}"),
    amounts_as: |amounts| match amounts {
        Amounts::Absolute => ("Absolute", "Values as they are"),
        Amounts::Percent => ("%", "Percent of the column's total"),
        Amounts::PerStep => ("Per step", "Divided by the number of steps"),
    },
    copy_table: |title| format!("Copy {title}"),
    copy_formats: [
        ("markdown", "Markdown", "for issues and notes"),
        ("csv", "CSV", "for scripts"),
        ("tsv", "TSV", "for spreadsheets"),
    ],
    copied: |n| format!("Copied {}.", counted(n, "row", "rows")),
    not_copied: "The browser blocked copying. Export the data instead.",
    row_menu: "Row actions",
    copy_row: "Copy row",
    copy_name: "Copy name",
    filter_by_row: "Filter by this",
    note_on_row: "Add a note",
    open_trace: "Open this trace…",
    choose_trace: |name| format!("Choose {name}."),
    show_in_timeline: "Show in the timeline",
    not_in_timeline: |name| format!("No event is named {name}."),
    sum_of: |column, sum, mean| format!("{column}: {sum}, mean {mean}"),
    selected: |n, sums| {
        let rows = format!("{} selected", counted(n, "row", "rows"));
        if sums.is_empty() { rows } else { format!("{rows} · {}", sums.join(" · ")) }
    },
};

//! Tables of finished reports, read by the names of their columns.

use crate::analysis::gpu::gaps::{NO_DEVICE_RECORD, UNKNOWN};
use crate::analysis::gpu::model::Ambiguous;
use crate::analysis::gpu::stats::SumNs;
use crate::analysis::several::numbered;
use crate::analysis::{TableHandle, gpu_breakdown, gpu_idle};
use crate::filter;
use crate::report::{Report, RowsOf, Table, Value};

/// Share of idle time, or of kernel time, that must be known to speak of causes.
const ENOUGH: f64 = 0.5;

/// The reports of one trace among those of a run.
pub struct Reader<'a> {
    reports: &'a [Report],
    /// Which trace of the run.
    number: usize,
}

/// A table and its report.
#[derive(Clone, Copy)]
pub struct TableOf<'a> {
    report: &'a Report,
    table: &'a Table,
}

/// A row of a table.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    of: TableOf<'a>,
    row: usize,
}

impl<'a> Reader<'a> {
    pub fn new(reports: &'a [Report], number: usize) -> Reader<'a> {
        Reader { reports, number }
    }

    /// A table of the trace.
    pub fn table(&self, handle: TableHandle) -> Option<TableOf<'a>> {
        let report = self.reports.iter().find(|candidate| candidate.id == handle.report.id)?;
        let id = numbered(handle.id, self.number);
        let table = report.tables().find(|table| table.id == id)?;
        Some(TableOf { report, table })
    }

    /// Number of GPUs with activity.
    pub fn n_gpus(&self) -> usize {
        let rows = self.table(gpu_breakdown::BREAKDOWN).into_iter().flat_map(TableOf::rows);
        let mut names: Vec<String> = rows.map(|row| row.text("device")).collect();
        names.dedup();
        names.len()
    }

    /// Share of kernel time that has `what` recorded, from the coverage table; 0 if unknown.
    pub fn coverage(&self, what: &str) -> f64 {
        let table = self.table(gpu_breakdown::COVERAGE);
        let row = table.and_then(|table| table.rows().find(|row| row.text("what") == what));
        row.and_then(|row| row.float("coverage")).unwrap_or(0.0)
    }
}

impl Reader<'_> {
    /// Whether the causes of most idle time are known; without any, whether most kernel time has a recorded launch.
    pub fn knows_launches(&self) -> bool {
        let rows = || self.table(gpu_idle::IDLE).into_iter().flat_map(TableOf::rows);
        let sum = |is: &dyn Fn(&str) -> bool| {
            rows().filter(|row| is(&row.text("cause"))).filter_map(|row| row.integer("time")).sum_ns()
        };
        match sum(&|cause| cause != NO_DEVICE_RECORD) {
            idle @ 1.. => sum(&|cause| cause == UNKNOWN) as f64 <= (1.0 - ENOUGH) * idle as f64,
            _ => self.coverage(gpu_breakdown::LAUNCHES) >= ENOUGH,
        }
    }

    /// Why launches are unknown although they are recorded; `None` if they aren't.
    pub fn ambiguous_launches(&self) -> Option<String> {
        let table = self.table(gpu_breakdown::COVERAGE)?;
        let row = table.rows().find(|row| row.text("what") == gpu_breakdown::LAUNCHES)?;
        Some(row.text("note")).filter(|note| note.contains(Ambiguous::WORD))
    }
}

impl<'a> TableOf<'a> {
    pub fn rows(self) -> impl Iterator<Item = Row<'a>> {
        (0..self.table.n_rows()).map(move |row| Row { of: self, row })
    }

    /// What readers see of a column; empty without it.
    pub fn label(self, column: &str) -> &'a str {
        self.table.column(column).map_or("", |column| &column.label)
    }

    /// Sum of a column of integers; missing cells count as 0.
    pub fn sum(self, column: &str) -> i64 {
        self.rows().filter_map(|row| row.integer(column)).fold(0, i64::saturating_add)
    }

    /// Link to all its rows.
    pub fn all_rows(self) -> RowsOf {
        self.rows_where(&[])
    }

    /// Link to the rows in which these columns are exactly these texts; an empty text means any.
    pub fn rows_where(self, cells: &[(&str, &str)]) -> RowsOf {
        let tests: Vec<String> = cells.iter().map(|(column, text)| filter::is(column, text)).collect();
        let tests: Vec<&str> = tests.iter().map(String::as_str).filter(|test| !test.is_empty()).collect();
        self.filtered(tests.join(" "))
    }

    /// Link to the rows in which a column is exactly one of these texts.
    pub fn rows_of_any(self, column: &str, texts: &[String]) -> RowsOf {
        let tests: Vec<String> = texts.iter().map(|text| filter::is(column, text)).collect();
        self.filtered(tests.join("|"))
    }

    fn filtered(self, filter: String) -> RowsOf {
        RowsOf {
            report: self.report.id.to_string(),
            table: self.table.id.to_string(),
            filter,
            label: format!("{}: {}", self.report.title, self.table.title),
        }
    }
}

impl<'a> Row<'a> {
    fn value(self, column: &str) -> Value {
        self.of.table.column(column).map_or(Value::Missing, |column| column.cells.get(self.row))
    }

    /// Empty if the cell is missing or not a text.
    pub fn text(self, column: &str) -> String {
        match self.value(column) {
            Value::Text(text) => text,
            _ => String::new(),
        }
    }

    pub fn integer(self, column: &str) -> Option<i64> {
        match self.value(column) {
            Value::Integer(value) => Some(value),
            Value::Unsigned(value) => i64::try_from(value).ok(),
            _ => None,
        }
    }

    /// `None` if the cell is not a boolean.
    pub fn flag(self, column: &str) -> Option<bool> {
        match self.value(column) {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    pub fn float(self, column: &str) -> Option<f64> {
        match self.value(column) {
            Value::Float(value) => Some(value),
            _ => None,
        }
    }
}

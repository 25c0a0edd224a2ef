//! Common interface of documents: a trace, a comparison, or a shared report.

use super::ExportSource;
use super::protocol::{CopyFormat, DocumentView, Failure, SearchHits, TableAsk, TableId};
use crate::analysis::flame::{FlameQuery, FlameView};
use crate::analysis::gpu_breakdown;
use crate::base::steps;
use crate::compare::AlignedStep;
use crate::export::redact::Outgoing;
use crate::export::{self, EXPORTERS, ExporterInfo, LeftOut, Options};
use crate::filter::{self, FilterError};
use crate::report::amounts::{self, ReportBases};
use crate::report::view::{self, ColumnSum, TableQuery, TableRows, WrongFilter};
use crate::report::{Amounts, Cells, Column, Report, Sort, Table};
use crate::trace::Run;
use std::io::{self, Write};
use std::ops::Range;

/// The failure about a pattern, in the words of its parser.
pub(super) fn wrong_pattern(what: String) -> Failure {
    let hint = "between slashes stands a regular expression; without them, part of a name".to_string();
    Failure { code: "pattern".to_string(), what, hint }
}

/// Rows of one table that a search gives.
const ROWS_FOUND: usize = 5;
/// Cells that name a row in the list of hits.
const NAMES_OF_HIT: usize = 3;

/// A document that can be shown, queried for rows, and exported.
pub trait Shown {
    /// View for the page. `None` while empty.
    fn document(&self) -> Option<DocumentView>;

    /// Of a comparison: typical steps of A and B, aligned kernel by kernel.
    fn aligned_steps(&self) -> Vec<AlignedStep> {
        Vec::new()
    }

    /// Reports, in order.
    fn reports(&self) -> &[Report];

    /// Reports, and the row order of their tables. A caller that changes them calls [`RowOrder::changed`].
    fn reports_mut(&mut self) -> (&mut Vec<Report>, &mut RowOrder);

    /// Current [`DocumentView::revision`].
    fn revision(&self) -> u32;

    /// What an export is made from, now. An error of kind [`io::ErrorKind::InvalidData`] if the data is no longer available, and
    /// [`io::ErrorKind::Unsupported`] if there is nothing to write in this format.
    fn export_source(&mut self, exporter: &ExporterInfo, options: &Options) -> io::Result<ExportSource>;

    /// An error of kind [`io::ErrorKind::Unsupported`], with the reason, if an exporter has nothing to write of `run`.
    fn check_exporter(&self, exporter: &ExporterInfo, run: &Run) -> io::Result<()> {
        match (exporter.applies)(run) {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::Unsupported, self.why_not_exported(exporter))),
        }
    }

    /// Exports the reports or the trace, chunk by chunk; see [`ExportSource::write`].
    fn export(
        &mut self,
        exporter: &ExporterInfo,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<LeftOut> {
        steps::run(self.export_source(exporter, options)?.write(exporter, out))
    }

    /// Texts of such an export. Errors are those of [`Shown::export`].
    fn outgoing(&mut self, exporter: &ExporterInfo, options: &Options) -> io::Result<Outgoing> {
        steps::run(self.export_source(exporter, options)?.outgoing(exporter))
    }

    /// The requested table, with its rows in the requested order. `None` if there is no such table.
    fn table(&mut self, ask: &TableAsk) -> Option<TableRef<'_>> {
        let (reports, order) = self.reports_mut();
        order.table(reports, ask)
    }

    /// A flame graph. `None` if there are no stacks. An error if a pattern is none, or the data is gone.
    fn flame(&mut self, _: &FlameQuery) -> Result<Option<FlameView>, Failure> {
        Ok(None)
    }

    /// Rows of all tables that match `text`; see [`search_report`].
    fn search(&self, text: &str) -> Vec<SearchHits> {
        self.reports().iter().flat_map(|report| search_report(report, text)).collect()
    }

    /// Leaves only rows that match a filter in all tables; see [`view::keep_rows`].
    fn keep_rows(&mut self, filter: &str) -> Result<Vec<String>, FilterError> {
        let (reports, order) = self.reports_mut();
        order.changed();
        view::keep_rows(reports, filter)
    }

    /// Number of steps of the trace, if it has several.
    fn n_steps(&self) -> Option<u64> {
        gpu_breakdown::n_steps(self.reports())
    }

    /// What the amounts of all tables relate to, as they are now.
    fn bases(&self) -> ReportBases {
        ReportBases::new(self.reports(), self.n_steps())
    }

    /// Shows the amounts of all tables like that.
    fn show_amounts(&mut self, amounts: Amounts, bases: &ReportBases) {
        let (reports, order) = self.reports_mut();
        order.changed();
        bases.show(reports, amounts);
    }

    /// Drops reports that are not wanted, by id.
    fn keep_reports(&mut self, is_wanted: &dyn Fn(&str) -> bool) {
        let (reports, order) = self.reports_mut();
        reports.retain(|report| is_wanted(&report.id));
        order.changed();
    }

    /// Reason why it shows less than requested, as a sentence fragment: no usable content, or an unclassified access that was
    /// requested to be an error.
    fn shortfall(&self) -> Option<String> {
        None
    }

    /// Available exporters: without a trace, those of reports.
    fn exporters(&self) -> Vec<&'static ExporterInfo> {
        let run = Run::default();
        EXPORTERS.iter().copied().filter(|exporter| (exporter.applies)(&run)).collect()
    }

    /// Reason why an exporter is unavailable.
    fn why_not_exported(&self, exporter: &ExporterInfo) -> String {
        let needs = if exporter.needs.is_empty() { "something to write" } else { exporter.needs };
        format!("{} needs {needs}, which is missing", exporter.title)
    }

    /// Table by id, from the first report that has it.
    fn table_by_id(&self, id: &str) -> Option<&Table> {
        self.reports().iter().flat_map(Report::tables).find(|table| table.id == id)
    }

    /// Suggested file name of an export.
    fn export_file_name(&self, exporter: &ExporterInfo) -> String;

    /// A window of rows; empty if there is no such table.
    fn rows(&mut self, ask: &TableAsk, offset: u64, limit: u64) -> TableRows {
        match self.table(ask) {
            Some(TableRef { table, order, wrong }) => {
                TableRows { wrong: wrong.cloned(), ..view::window(table, order, offset, limit) }
            }
            None => TableRows::default(),
        }
    }

    /// Sums over matching rows, by position; empty if there is no such table.
    fn sums(&mut self, ask: &TableAsk, rows: &[Range<u64>]) -> Vec<ColumnSum> {
        self.table(ask).map(|it| view::column_sums(it.table, it.order, rows)).unwrap_or_default()
    }

    /// All matching rows as text, and their number. `None` if there is no such table, or the filter is wrong.
    fn copy(&mut self, ask: &TableAsk, format: CopyFormat, amounts: Amounts) -> Option<(String, u64)> {
        let n_steps = self.n_steps();
        let TableRef { table, order, .. } = self.table(ask).filter(|found| found.wrong.is_none())?;
        let table = &amounts::in_table(table, amounts, &amounts::bases(table, n_steps));
        let text = match format {
            CopyFormat::Markdown => export::markdown::table_markdown(table, order),
            CopyFormat::Csv => export::csv::table_csv(table, order),
            CopyFormat::Tsv => export::csv::table_tsv(table, order),
        };
        Some((text, order.len() as u64))
    }
}

/// Rows of all tables of a report that match `text`, of each table the first few. None if the text is empty or no filter.
pub fn search_report(report: &Report, text: &str) -> Vec<SearchHits> {
    let mut hits = Vec::new();
    for table in report.tables() {
        let query = TableQuery { sort: None, filter: text.to_string() };
        let Some(order) = view::row_order(table, &query).ok().filter(|_| !text.trim().is_empty()) else {
            continue;
        };
        if order.is_empty() {
            continue;
        }
        // By what rows are known; the text that was searched for may be in another column.
        let is_name = |column: &&Column| column.key || matches!(column.cells, Cells::Text(_));
        let has_keys = table.columns.iter().any(|column| column.key);
        let names = || table.columns.iter().filter(is_name).filter(|column| column.key || !has_keys);
        let row = |row: &u32| {
            let cells = || names().map(|column| column.cells.get(*row as usize).display(column.unit));
            let label: Vec<String> = cells().filter(|cell| !cell.is_empty()).take(NAMES_OF_HIT).collect();
            let text_cells = names().filter(|column| matches!(column.cells, Cells::Text(_)));
            let name = text_cells.map(|column| column.cells.get(*row as usize).plain()).next();
            let name = name.map(|name| filter::exactly(&name)).unwrap_or_default();
            (label.join(", "), format!("{} {name}", text.trim()).trim().to_string())
        };
        hits.push(SearchHits {
            report: report.id.to_string(),
            report_title: report.title.clone(),
            table: table.id.to_string(),
            table_title: table.title.clone(),
            n_matching: order.len() as u64,
            rows: order.iter().take(ROWS_FOUND).map(row).collect(),
        });
    }
    hits
}

/// A table of the current document.
pub struct TableRef<'a> {
    pub table: &'a Table,
    pub order: &'a [u32],
    /// Why the filter cannot be used; `order` has all rows then.
    pub wrong: Option<&'a WrongFilter>,
}

/// Cached row order of the last table, so that scrolling does not sort again, with its revision of the reports.
#[derive(Default)]
pub struct RowOrder {
    revision: u32,
    last: Option<(TableId, TableQuery, Vec<u32>, Option<WrongFilter>)>,
}

impl RowOrder {
    /// Invalidates the order after the reports have changed.
    pub fn changed(&mut self) {
        self.revision = self.revision.wrapping_add(1);
        self.last = None;
    }

    pub fn revision(&self) -> u32 {
        self.revision
    }

    /// Table of that name in `reports`, which must be unchanged since [`RowOrder::changed`].
    pub fn table<'a>(&'a mut self, reports: &'a [Report], ask: &TableAsk) -> Option<TableRef<'a>> {
        let TableAsk { table: id, query, sort_by } = ask;
        let report = reports.iter().find(|report| report.id == id.report)?;
        let table = report.tables().find(|table| table.id == id.table)?;
        let mut query = query.clone();
        if let (Some(sort), Some(id)) = (query.sort, sort_by) {
            let at = table.columns.iter().position(|column| column.id == *id);
            query.sort = at.map(|at| Sort { column: at as u32, ..sort });
        }
        let known = self.last.as_ref().is_some_and(|(of, with, ..)| of == id && *with == query);
        if !known {
            let (order, wrong) = match view::row_order(table, &query) {
                Ok(order) => (order, None),
                Err(error) => (view::row_order_or_all(table, &query), Some(error.into())),
            };
            self.last = Some((id.clone(), query, order, wrong));
        }
        let (_, _, order, wrong) = self.last.as_ref()?;
        Some(TableRef { table, order, wrong: wrong.as_ref() })
    }
}

//! What answers of a document are made from: a trace, or two sides held against each other.

use super::protocol::{CopyFormat, DocumentView, TableAsk, TableId};
use crate::export::redact::Outgoing;
use crate::export::{self, ExporterInfo, LeftOut, Options};
use crate::filter::FilterError;
use crate::report::view::{self, TableQuery, TableRows, WrongFilter};
use crate::report::{Report, Sort, Table};
use std::io::{self, Write};

/// A document that a page shows, asks for rows of, and exports.
pub trait Shown {
    /// What the page shows. `None` before there is anything.
    fn document(&self) -> Option<DocumentView>;

    /// The table that is asked for, with its rows in the order asked for. `None` if there is no such table.
    fn table(&mut self, ask: &TableAsk) -> Option<TableRef<'_>>;

    /// [`DocumentView::revision`] of the document as it is now.
    fn revision(&self) -> u32;

    /// Writes the reports or the trace in an exporter's format, chunk by chunk, and says what is not in it.
    /// An error of `out` is passed on; [`io::ErrorKind::InvalidData`] if what is to be written can not be had any more,
    /// [`io::ErrorKind::Unsupported`] if there is nothing to write in this format.
    fn export(
        &mut self,
        exporter: &ExporterInfo,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<LeftOut>;

    /// The texts that such an export would have in it. Errors are those of [`Shown::export`].
    fn outgoing(&mut self, exporter: &ExporterInfo, options: &Options) -> io::Result<Outgoing>;

    /// The reports, in their order.
    fn reports(&self) -> &[Report];

    /// Leaves only rows that match a filter in all tables; see [`view::keep_rows`].
    fn keep_rows(&mut self, filter: &str) -> Result<(), FilterError>;

    /// Lets go of reports that nobody asked for, by their ids.
    fn keep_reports(&mut self, is_wanted: &dyn Fn(&str) -> bool);

    /// Why it shows less than was asked for, as a sentence fragment: nothing in the file could be used, or there is what was not to be
    /// there.
    fn shortfall(&self) -> Option<String> {
        None
    }

    /// Exporters that have something to write.
    fn exporters(&self) -> Vec<&'static ExporterInfo>;

    /// Why an exporter has nothing to write.
    fn why_not_exported(&self, exporter: &ExporterInfo) -> String {
        let needs = if exporter.needs.is_empty() { "something to write" } else { exporter.needs };
        format!("{} needs {needs}, and there is none", exporter.title)
    }

    /// The table of that id, in the first report that has one, as CSV in its own order.
    fn table_csv(&self, id: &str) -> Option<String> {
        let table = self.reports().iter().flat_map(Report::tables).find(|table| table.id == id)?;
        let order: Vec<u32> = (0..table.n_rows() as u32).collect();
        Some(export::csv::table_csv(table, &order))
    }

    /// Proposed name of the file that an export goes into.
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

    /// All rows that match, as text, and their number. `None` if there is no such table, or the filter cannot be used.
    fn copy(&mut self, ask: &TableAsk, format: CopyFormat) -> Option<(String, u64)> {
        let TableRef { table, order, .. } = self.table(ask).filter(|found| found.wrong.is_none())?;
        let text = match format {
            CopyFormat::Markdown => export::markdown::table_markdown(table, order),
            CopyFormat::Csv => export::csv::table_csv(table, order),
            CopyFormat::Tsv => export::csv::table_tsv(table, order),
        };
        Some((text, order.len() as u64))
    }
}

/// A table of the current document.
pub struct TableRef<'a> {
    pub table: &'a Table,
    pub order: &'a [u32],
    /// Why the filter cannot be used; `order` has all rows then.
    pub wrong: Option<&'a WrongFilter>,
}

/// Row order of the table looked at last, so that scrolling does not sort again, and which revision of the reports it is of.
#[derive(Default)]
pub(super) struct RowOrder {
    revision: u32,
    last: Option<(TableId, TableQuery, Vec<u32>, Option<WrongFilter>)>,
}

impl RowOrder {
    /// The reports are no longer the same.
    pub fn changed(&mut self) {
        self.revision = self.revision.wrapping_add(1);
        self.last = None;
    }

    pub fn revision(&self) -> u32 {
        self.revision
    }

    /// The table of that name in `reports`, which are the same since [`RowOrder::changed`].
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

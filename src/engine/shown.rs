//! What answers of a document are made from: a trace, or two sides held against each other.

use super::protocol::{CopyFormat, DocumentView, TableId};
use crate::export::redact::Outgoing;
use crate::export::{self, ExporterInfo, LeftOut, Options};
use crate::report::view::{self, TableQuery, TableRows};
use crate::report::{Block, Report, Table};
use std::io::{self, Write};

/// A document that a page shows, asks for rows of, and exports.
pub trait Shown {
    /// What the page shows. `None` before there is anything.
    fn document(&self) -> Option<DocumentView>;

    /// A table with its rows in the order of `query`. `None` if there is no such table.
    fn table(&mut self, id: TableId, query: &TableQuery) -> Option<TableRef<'_>>;

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
    fn rows(&mut self, id: TableId, query: &TableQuery, offset: u64, limit: u64) -> TableRows {
        match self.table(id, query) {
            Some(TableRef { table, order }) => view::window(table, order, offset, limit),
            None => TableRows::default(),
        }
    }

    /// All rows that match, as text, and their number.
    fn copy(&mut self, id: TableId, query: &TableQuery, format: CopyFormat) -> (String, u64) {
        let Some(TableRef { table, order }) = self.table(id, query) else { return (String::new(), 0) };
        let text = match format {
            CopyFormat::Markdown => export::markdown::table_markdown(table, order),
            CopyFormat::Csv => export::csv::table_csv(table, order),
            CopyFormat::Tsv => export::csv::table_tsv(table, order),
        };
        (text, order.len() as u64)
    }
}

/// A table of the current document.
pub struct TableRef<'a> {
    pub table: &'a Table,
    pub order: &'a [u32],
}

/// Row order of the table looked at last, so that scrolling does not sort again.
#[derive(Default)]
pub(super) struct RowOrder(Option<(TableId, TableQuery, Vec<u32>)>);

impl RowOrder {
    /// The table at that place of `reports`, which are the same as the last time.
    pub fn table<'a>(
        &'a mut self,
        reports: &'a [Report],
        id: TableId,
        query: &TableQuery,
    ) -> Option<TableRef<'a>> {
        let report = reports.get(id.report as usize)?;
        let Block::Table(table) = report.blocks.get(id.block as usize)? else { return None };
        let known = self.0.as_ref().is_some_and(|(of, with, _)| *of == id && with == query);
        if !known {
            self.0 = Some((id, query.clone(), view::row_order(table, query)));
        }
        let (_, _, order) = self.0.as_ref()?;
        Some(TableRef { table, order })
    }
}

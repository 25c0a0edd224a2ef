//! A report that came with a link: read, sorted, filtered and exported as others, with nothing behind it.

use super::protocol::{DocumentView, FileView, LedgerView, LinkView, TableId};
use super::shown::{RowOrder, Shown, TableRef};
use super::views::{exporter_views, report_view, stem_of};
use crate::analysis::Query;
use crate::base::units::Unit;
use crate::export::link::{self, LinkedReport, Refusal};
use crate::export::redact::Outgoing;
use crate::export::{self, EXPORTERS, ExporterInfo, Input, Options};
use crate::report::view::TableQuery;
use crate::report::{Document, Facts, Report};
use crate::trace::Run;
use std::io::{self, Write};

/// What a link holds.
pub struct Linked {
    report: LinkedReport,
    order: RowOrder,
}

impl Linked {
    /// Reads the part of a link behind `#`.
    pub fn open(fragment: &str) -> Result<Linked, Refusal> {
        Ok(Linked { report: link::read(fragment)?, order: RowOrder::default() })
    }

    /// What is in it.
    pub fn report(&self) -> &LinkedReport {
        &self.report
    }

    /// As exports write it: it says where it comes from, and has no account of any reading.
    pub fn written(&self) -> Document<'_> {
        let source = self.report.files.iter().map(|file| {
            let mut facts = Facts::new(&file.name);
            facts.push("bytes", "Size", file.bytes, Unit::Bytes);
            if let Some(digest) = &file.sha256 {
                facts.push("sha256", "SHA-256", digest.as_str(), Unit::None);
            }
            facts
        });
        let mut ledger = Report::new("ledger", "What was read");
        ledger.info("These numbers came with a link; no file was read.");
        Document {
            title: self.report.title.clone(),
            source: source.collect(),
            ledger,
            reports: &self.report.reports,
        }
    }

    fn query(&self) -> Query {
        Query { top: self.report.top, ..Query::default() }
    }

    fn exporters(&self) -> Vec<&'static ExporterInfo> {
        let run = Run::default();
        let is_of_reports = |exporter: &&ExporterInfo| (exporter.applies)(&run) && exporter.in_menu;
        EXPORTERS.iter().copied().filter(is_of_reports).collect()
    }
}

impl Shown for Linked {
    fn document(&self) -> Option<DocumentView> {
        let LinkedReport { by, title, files, show, tables, own_tables, reports, .. } = &self.report;
        let file = FileView {
            name: title.clone(),
            bytes: files.iter().map(|file| file.bytes).fold(0, u64::saturating_add),
            format_id: String::new(),
            format_title: String::new(),
            producer: None,
            compression: Vec::new(),
            rank: None,
            index: None,
        };
        Some(DocumentView {
            file,
            ledger: LedgerView::default(),
            files: Vec::new(),
            left_out: Vec::new(),
            sides: None,
            reports: reports.iter().map(report_view).collect(),
            query: self.query(),
            partial: false,
            exporters: exporter_views(&self.exporters()),
            span_ns: None,
            link: Some(LinkView {
                by: by.clone(),
                files: files.clone(),
                show: show.clone(),
                tables: tables.clone(),
                own_tables: *own_tables,
            }),
        })
    }

    fn table(&mut self, id: TableId, query: &TableQuery) -> Option<TableRef<'_>> {
        self.order.table(&self.report.reports, id, query)
    }

    fn outgoing(&mut self, exporter: &ExporterInfo, options: &Options) -> io::Result<Outgoing> {
        let (run, query, document) = (Run::default(), self.query(), self.written());
        let input = Input { run: &run, document: &document, query: &query, options };
        export::redact::outgoing(exporter, &input)
    }

    fn export(&mut self, exporter: &ExporterInfo, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let (run, query, document) = (Run::default(), self.query(), self.written());
        if !(exporter.applies)(&run) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "a link holds a report and no trace"));
        }
        export::render(exporter, &Input { run: &run, document: &document, query: &query, options }, out)
    }

    fn export_file_name(&self, exporter: &ExporterInfo) -> String {
        let names = self.report.files.iter().map(|file| file.name.as_str());
        format!("{}.{}", stem_of(names), exporter.extension)
    }
}

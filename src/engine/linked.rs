//! A report from a link, or from a file without its trace: can be sorted, filtered and exported, but not recomputed.

use super::ExportSource;
use super::protocol::{DocumentView, FileView, LedgerView, LinkView, RangeView};
use super::shown::{RowOrder, Shown};
use super::views::{exporter_views, not_exported, report_view, stem_of};
use crate::analysis::Query;
use crate::base::secrets::hidden_text;
use crate::base::units::Unit;
use crate::export::link::{self, LinkedReport, Refusal};
use crate::export::redact::Redacted;
use crate::export::{ExporterInfo, Options};
use crate::report::{Document, Facts, Report};
use crate::trace::Run;
use std::io;

/// Content of a link, or of a shared file without the trace.
pub struct Linked {
    report: LinkedReport,
    /// From a file.
    is_file: bool,
    /// Reason why the index in the file is unusable.
    problem: Option<String>,
    /// Passwords, tokens and keys that were hidden.
    n_secrets: u64,
    order: RowOrder,
}

impl Linked {
    /// Parses the fragment of a link, and hides its passwords, tokens and keys.
    pub fn open(fragment: &str) -> Result<Linked, Refusal> {
        Ok(Linked::of(link::read(fragment)?, false, None, false))
    }

    /// Content of a file; `problem` says why its index is unusable, if there is one.
    pub(super) fn of_file(report: LinkedReport, problem: Option<String>, shows_secrets: bool) -> Linked {
        Linked::of(report, true, problem, shows_secrets)
    }

    fn of(report: LinkedReport, is_file: bool, problem: Option<String>, shows_secrets: bool) -> Linked {
        let mut linked = Linked { report, is_file, problem, n_secrets: 0, order: RowOrder::default() };
        if !shows_secrets {
            linked.hide_secrets();
        }
        linked
    }

    /// Whoever wrote the report may have left them in.
    fn hide_secrets(&mut self) {
        let (redacted, n_secrets) = Redacted::without_secrets(&self.written(), &self.report.notes);
        if n_secrets > 0 {
            (self.report.reports, self.report.notes) = redacted.into_reports();
            self.n_secrets = n_secrets;
        }
    }

    /// Its report.
    pub fn report(&self) -> &LinkedReport {
        &self.report
    }

    /// Reason why the index in the file is unusable; `None` also if there is no index.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Document for exports: states its origin instead of parsing details.
    pub fn written(&self) -> Document<'_> {
        let source = self.report.files.iter().map(|file| {
            let mut facts = Facts::new(&file.name);
            facts.push("bytes", "Size", file.bytes, Unit::Bytes);
            if let Some(digest) = &file.sha256 {
                facts.push("sha256", "SHA-256", digest.as_str(), Unit::None);
            }
            facts
        });
        let mut ledger = Report::new("ledger", "Parsing details");
        ledger.info(match self.is_file {
            true => "These numbers came with a Tracedrop file; the trace was not parsed.",
            false => "These numbers came with a link; no file was parsed.",
        });
        if let Some(parsed) = self.parsed() {
            ledger.warning(parsed);
        }
        if self.n_secrets > 0 {
            ledger.info(hidden_text(self.n_secrets));
        }
        Document {
            title: self.report.title.clone(),
            source: source.collect(),
            ledger,
            reports: &self.report.reports,
        }
    }

    /// How many records are missing from the numbers, if any.
    fn parsed(&self) -> Option<String> {
        (!self.report.parsed.is_empty()).then(|| format!("When the report was made: {}", self.report.parsed))
    }

    fn query(&self) -> Query {
        Query { top: self.report.top, ..Query::default() }
    }

    /// Uses the files of the link, and its notes unless others are given.
    fn options(&self, options: &Options) -> Options {
        let mut options = options.clone();
        options.notes.get_or_insert_with(|| self.report.notes.clone());
        options.link.files = self.report.files.clone();
        options.link.own_tables |= self.report.own_tables;
        options.link.parsed = self.report.parsed.clone();
        options
    }
}

impl Shown for Linked {
    fn document(&self) -> Option<DocumentView> {
        let LinkedReport { by, title, files, show, tables, own_tables, notes, reports, .. } = &self.report;
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
            revision: self.order.revision(),
            file,
            ledger: LedgerView::default(),
            files: Vec::new(),
            left_out: Vec::new(),
            sides: None,
            reports: reports.iter().map(report_view).collect(),
            query: self.query(),
            partial: false,
            is_read: true,
            exporters: exporter_views(&self.exporters()),
            not_exported: not_exported(&self.exporters()),
            span_ns: None,
            n_steps: self.n_steps(),
            range: RangeView::default(),
            link: Some(LinkView {
                by: by.clone(),
                files: files.clone(),
                show: show.clone(),
                tables: tables.clone(),
                own_tables: *own_tables,
                notes: notes.clone(),
                is_file: self.is_file,
                parsed: self.parsed(),
                problem: self.problem.clone(),
                n_secrets: self.n_secrets,
            }),
            sent: None,
            has_timeline: false,
            has_stacks: false,
        })
    }

    fn reports(&self) -> &[Report] {
        &self.report.reports
    }

    fn reports_mut(&mut self) -> (&mut Vec<Report>, &mut RowOrder) {
        (&mut self.report.reports, &mut self.order)
    }

    fn revision(&self) -> u32 {
        self.order.revision()
    }

    fn export_source(&mut self, exporter: &ExporterInfo, options: &Options) -> io::Result<ExportSource> {
        self.check_exporter(exporter, &Run::default())?;
        Ok(ExportSource::without_trace(self.written(), self.query(), self.options(options)))
    }

    fn why_not_exported(&self, exporter: &ExporterInfo) -> String {
        format!("{} needs a trace, and this report comes without one", exporter.title)
    }

    fn export_file_name(&self, exporter: &ExporterInfo) -> String {
        let names = self.report.files.iter().map(|file| file.name.as_str());
        format!("{}.{}", stem_of(names), exporter.extension)
    }
}

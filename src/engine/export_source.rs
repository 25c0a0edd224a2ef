//! What an export is made from.

use crate::analysis::{Query, flame, tracks};
use crate::base::steps;
use crate::export::redact::{self, Outgoing};
use crate::export::{self, ExporterInfo, Input, LeftOut, Options};
use crate::report::{Document, Facts, Report};
use crate::stacks::graph::StackGraph;
use crate::trace::Run;
use std::borrow::Cow;
use std::io::{self, Write};
use std::rc::Rc;

/// A document as it was when its export was requested. It may change while the export is written in steps.
pub struct ExportSource {
    /// Held until the export is over, so that changing the traces meanwhile copies them.
    pub(super) run: Rc<Run>,
    pub(super) reports: Rc<Vec<Report>>,
    pub(super) title: String,
    pub(super) source: Vec<Facts>,
    pub(super) ledger: Report,
    pub(super) query: Query,
    pub(super) options: Options,
    /// Write Markdown as a short comment on a pull request.
    pub(super) is_comment: bool,
    /// Draw the timeline as well.
    pub(super) has_timeline: bool,
}

impl ExportSource {
    /// Source of a document without traces.
    pub(super) fn without_trace(document: Document<'_>, query: Query, options: Options) -> ExportSource {
        let Document { title, source, ledger, reports } = document;
        let (run, reports) = (Rc::new(Run::default()), Rc::new(reports.to_vec()));
        ExportSource {
            run,
            reports,
            title,
            source,
            ledger,
            query,
            options,
            is_comment: false,
            has_timeline: false,
        }
    }

    /// Writes the export in steps, as far as the exporter has any; returns what is missing. Errors: those of `out`;
    /// [`io::ErrorKind::InvalidData`] if the data is no longer available; [`io::ErrorKind::Unsupported`] if there is nothing to
    /// write in this format.
    pub async fn write(&self, exporter: &ExporterInfo, out: &mut dyn Write) -> io::Result<LeftOut> {
        let reports = self.all_reports().await;
        let document = self.document(&reports);
        if self.is_comment {
            return export::comment::write(&document, out).map(LeftOut::nothing);
        }
        let input = Input::new(&self.run, &document, &self.query, &self.options);
        export::render_in_steps(exporter, &input, out).await
    }

    /// [`ExportSource::write`] at once.
    pub fn write_all(&self, exporter: &ExporterInfo, out: &mut dyn Write) -> io::Result<LeftOut> {
        steps::run(self.write(exporter, out))
    }

    /// Parsing details.
    pub fn ledger(&self) -> &Report {
        &self.ledger
    }

    /// Texts of the export.
    pub async fn outgoing(&self, exporter: &ExporterInfo) -> io::Result<Outgoing> {
        let reports = self.all_reports().await;
        let document = self.document(&reports);
        let input = Input::new(&self.run, &document, &self.query, &self.options);
        redact::outgoing_in_steps(exporter, &input).await
    }

    /// The reports and the timeline, which stands before the flame graph, as on the page.
    async fn all_reports(&self) -> Cow<'_, [Report]> {
        let made = match self.has_timeline {
            true => tracks::in_steps(&self.run, &self.query).await,
            false => None,
        };
        let Some(timeline) = made else { return Cow::Borrowed(&self.reports) };
        let mut reports = self.reports.to_vec();
        let at = reports.iter().position(|report| report.id == flame::INFO.id).unwrap_or(reports.len());
        reports.insert(at, timeline);
        Cow::Owned(reports)
    }

    fn document<'a>(&self, reports: &'a [Report]) -> Document<'a> {
        Document {
            title: self.title.clone(),
            source: self.source.clone(),
            ledger: self.ledger.clone(),
            reports,
        }
    }
}

/// Makes a report of graphs; `None` without any.
type MakeReport = fn(&[StackGraph]) -> Option<Report>;

/// What makes the report with flame graphs for an export, as they are made on demand: pictures in HTML reports and in Tracedrop files
/// without the trace, and tables with the top of each in links that show them. `None` for other exports.
pub(super) fn flame_report(exporter: &ExporterInfo, options: &Options) -> Option<MakeReport> {
    let is = |info: &ExporterInfo| exporter.id == info.id;
    let is_linked = options.link.all_reports || options.link.report.as_deref() == Some(flame::INFO.id);
    if is(&export::html::INFO) || is(&export::tracedrop_file::INFO) && !options.with_index {
        Some(flame::report_beside_others)
    } else if is(&export::link::INFO) && is_linked {
        Some(flame::report_of_tops)
    } else {
        None
    }
}

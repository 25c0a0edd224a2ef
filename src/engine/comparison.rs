//! Comparison of A and B as one document: reports on changes, exports, limits.

use super::protocol::{
    DocumentView, Failure, FileAccount, FileView, LeftOutView, RangeView, SideView, SidesView,
};
use super::shown::{RowOrder, Shown};
use super::views::{exporter_views, not_exported, report_view, stem_of, together};
use super::{ExportSource, export_source};
use crate::analysis::Query;
use crate::analysis::flame::{self, FlameQuery, FlameView};
use crate::analysis::tracks::Drawn;
use crate::compare::{self, AlignedStep, CompareQuery, Comparison, Digest, PhaseFilter, Problem, timelines};
use crate::export::link::{LinkOptions, LinkedFile, LinkedSide};
use crate::export::{self, ExporterInfo, LeftOut, Options};
use crate::report::{Document, Report};
use crate::stacks::graph::StackGraph;
use crate::trace::Run;
use serde::{Deserialize, Serialize};
use std::io;
use std::rc::Rc;

/// Data of A or B for a comparison. It is plain data, so that A and B can be parsed in different workers;
/// see [`super::Session::side`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Side {
    pub digest: Digest,
    /// Each of its files.
    pub accounts: Vec<FileAccount>,
    /// Skipped files.
    pub left_out: Vec<LeftOutView>,
    /// Graphs of its stacks.
    pub graphs: Vec<StackGraph>,
    /// What is drawn of its timeline, for exports; `None` until someone asks for it, see [`Compared::set_drawn`].
    pub drawn: Option<Drawn>,
}

/// A, B and the changes between them.
pub struct Compared {
    a: Side,
    b: Side,
    /// A and B were swapped since it was made.
    is_swapped: bool,
    query: CompareQuery,
    comparison: Comparison,
    order: RowOrder,
    /// Differences of the stacks, made when someone first asks.
    differences: Option<(Vec<StackGraph>, flame::Cache)>,
    /// Someone chose from the reports.
    is_narrowed: bool,
}

impl Compared {
    /// Compares B with A. An error if they cannot be compared.
    pub fn new(a: Side, b: Side, query: &CompareQuery) -> Result<Compared, Problem> {
        let comparison = compare::compare(&a.digest, &b.digest, query)?;
        Ok(Compared {
            a,
            b,
            is_swapped: false,
            query: query.clone(),
            comparison,
            order: RowOrder::default(),
            differences: None,
            is_narrowed: false,
        })
    }

    /// Compares again: with another query, or with A and B swapped. On an error nothing changes.
    pub fn again(&mut self, query: &CompareQuery, is_swapped: bool) -> Result<(), Problem> {
        let (a, b) = if is_swapped { (&self.b, &self.a) } else { (&self.a, &self.b) };
        self.comparison = compare::compare(&a.digest, &b.digest, query)?;
        if is_swapped {
            std::mem::swap(&mut self.a, &mut self.b);
            self.is_swapped = !self.is_swapped;
            self.differences = None;
        }
        self.query = query.clone();
        self.order.changed();
        Ok(())
    }

    /// Sets what is drawn of the timelines of A and B. Whether that is something else than before.
    pub fn set_drawn(&mut self, sides: [Option<Drawn>; 2]) -> bool {
        let before = [&mut self.a.drawn, &mut self.b.drawn];
        let mut is_other = false;
        for (before, drawn) in before.into_iter().zip(sides) {
            is_other |= *before != drawn;
            *before = drawn;
        }
        is_other
    }

    /// Timelines of A and B as a report. `None` if there is nothing to draw.
    fn timelines(&self) -> Option<Report> {
        timelines::report(&self.aligned_steps(), [self.a.drawn.as_ref(), self.b.drawn.as_ref()])
    }

    /// Adds the report with the timelines.
    pub fn add_timelines(&mut self) {
        self.comparison.reports.extend(self.timelines());
        self.order.changed();
    }

    fn has_differences(&self) -> bool {
        self.b.graphs.iter().any(|b| self.a.graphs.iter().any(|a| flame::is_like(a, b)))
    }

    /// Differences of the stacks that both sides have.
    fn differences(&mut self) -> &mut (Vec<StackGraph>, flame::Cache) {
        let made = || (flame::differences(&self.a.graphs, &self.b.graphs), flame::Cache::default());
        self.differences.get_or_insert_with(made)
    }

    /// Adds the report with the differences of the stacks.
    pub fn add_flame_graphs(&mut self) {
        self.differences();
        let differences = self.differences.as_ref().map_or(&[][..], |(graphs, _)| graphs);
        let report = flame::report_of_differences(differences, &self.a.graphs, &self.b.graphs);
        self.comparison.reports.push(report);
        self.order.changed();
    }

    /// Writes the difference of the first stacks that both sides have, as folded stacks with two weights, those of A and of B.
    /// Returns the titles of all such stacks, and what is missing of those written; without any, nothing is written. Errors are those
    /// of `out`.
    pub fn write_folded(&mut self, out: &mut dyn io::Write) -> io::Result<(Vec<String>, LeftOut)> {
        let graphs = &self.differences().0;
        let left_out = match graphs.first() {
            Some(first) => export::stacks::collapsed::write_difference(first, out)?,
            None => LeftOut::default(),
        };
        Ok((graphs.iter().map(|graph| graph.title.clone()).collect(), left_out))
    }

    /// Reports, and metrics for limits.
    pub fn comparison(&self) -> &Comparison {
        &self.comparison
    }

    /// A, B and the changes, for exports.
    pub fn written(&self) -> Document<'_> {
        compare::document(&self.a.digest, &self.b.digest, &self.comparison)
    }

    /// Files of A, then of B, with the SHA-256 known to the caller. Needed because there is no run with all of them.
    fn link_options(&self, options: &Options) -> LinkOptions {
        let mut files: Vec<LinkedFile> = Vec::new();
        let accounts = || self.a.accounts.iter().chain(&self.b.accounts);
        for (number, FileAccount { file: FileView { name, bytes, .. }, .. }) in accounts().enumerate() {
            let is_it = |file: &&LinkedFile| file.name == *name && file.bytes == *bytes;
            let known: Vec<&LinkedFile> = options.link.files.iter().filter(is_it).collect();
            // Order distinguishes files of the same name and size, if none is missing.
            let n_such = accounts().filter(|it| it.file.name == *name && it.file.bytes == *bytes).count();
            let at = if known.len() == n_such { files.iter().filter(is_it).count() } else { known.len() };
            let sha256 = known.get(at).and_then(|file| file.sha256.clone());
            let side = if number < self.a.accounts.len() { LinkedSide::A } else { LinkedSide::B };
            files.push(LinkedFile { name: name.clone(), bytes: *bytes, sha256, side: Some(side) });
        }
        LinkOptions { files, sha256: Vec::new(), ..options.link.clone() }
    }
}

impl Shown for Compared {
    fn aligned_steps(&self) -> Vec<AlignedStep> {
        compare::aligned_steps(&self.a.digest, &self.b.digest, self.query.phase)
    }

    fn flame(&mut self, query: &FlameQuery) -> Result<Option<FlameView>, Failure> {
        let (graphs, cache) = self.differences();
        flame::view(graphs, query, cache).map_err(super::shown::wrong_pattern)
    }

    fn document(&self) -> Option<DocumentView> {
        let files: Vec<FileAccount> = self.a.accounts.iter().chain(&self.b.accounts).cloned().collect();
        let all = together(&files)?;
        let is_there =
            |phase: &PhaseFilter| [&self.a, &self.b].iter().any(|side| side.digest.has_steps_of(*phase));
        let phases = [PhaseFilter::All, PhaseFilter::Prefill, PhaseFilter::Decode];
        Some(DocumentView {
            revision: self.order.revision(),
            file: all.file,
            ledger: all.ledger,
            files,
            left_out: self.a.left_out.iter().chain(&self.b.left_out).cloned().collect(),
            sides: Some(SidesView {
                a: side_view(&self.a)?,
                b: side_view(&self.b)?,
                is_swapped: self.is_swapped,
                phase: self.query.phase,
                phases: phases.into_iter().filter(is_there).collect(),
            }),
            reports: self.comparison.reports.iter().map(report_view).collect(),
            query: Query::default(),
            partial: false,
            is_read: true,
            exporters: exporter_views(&self.exporters()),
            not_exported: not_exported(&self.exporters()),
            span_ns: None,
            n_steps: None,
            range: RangeView::default(),
            link: None,
            sent: None,
            has_timeline: false,
            has_stacks: self.has_differences(),
        })
    }

    fn reports(&self) -> &[Report] {
        &self.comparison.reports
    }

    fn reports_mut(&mut self) -> (&mut Vec<Report>, &mut RowOrder) {
        (&mut self.comparison.reports, &mut self.order)
    }

    fn revision(&self) -> u32 {
        self.order.revision()
    }

    /// Markdown is short, with collapsed tables, for comments on pull requests; with notes it is complete.
    fn export_source(&mut self, exporter: &ExporterInfo, options: &Options) -> io::Result<ExportSource> {
        self.check_exporter(exporter, &Run::default())?;
        let has_notes = options.notes.as_ref().is_some_and(|notes| !notes.is_empty());
        let is_comment = exporter.id == export::markdown::INFO.id && options.redact.is_none() && !has_notes;
        let options = Options { link: self.link_options(options), ..options.clone() };
        let is_html = exporter.id == export::html::INFO.id && !self.is_narrowed;
        let timelines = if is_html { self.timelines() } else { None };
        let make_flame = export_source::flame_report(exporter, &options).filter(|_| !self.is_narrowed);
        let flame = make_flame.and_then(|make| make(&self.differences().0));
        let mut source = ExportSource::without_trace(self.written(), Query::default(), options);
        Rc::make_mut(&mut source.reports).extend(timelines.into_iter().chain(flame));
        Ok(ExportSource { is_comment, ..source })
    }

    fn keep_reports(&mut self, is_wanted: &dyn Fn(&str) -> bool) {
        self.comparison.reports.retain(|report| is_wanted(&report.id));
        self.is_narrowed = true;
        self.order.changed();
    }

    fn why_not_exported(&self, _: &ExporterInfo) -> String {
        "this format can contain only one trace, not a comparison".to_string()
    }

    fn export_file_name(&self, exporter: &ExporterInfo) -> String {
        let stem = |side: &Side| stem_of(side.digest.files.iter().map(String::as_str));
        format!("{}-against-{}.{}", stem(&self.a), stem(&self.b), exporter.extension)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        let (code, hint) = match &problem {
            Problem::Unlike(..) => ("unlike", "compare traces of the same kind"),
            Problem::UnlikeModes(..) => ("unlike-modes", "profile A and B in the same mode"),
            Problem::NoSuchPhase(..) => ("no-such-phase", "compare all steps instead"),
        };
        Failure { code: code.to_string(), what: problem.to_string(), hint: hint.to_string() }
    }
}

fn side_view(side: &Side) -> Option<SideView> {
    Some(SideView {
        label: side.digest.label(),
        all: together(&side.accounts)?,
        n_files: side.accounts.len() as u64,
        n_left_out: side.left_out.len() as u64,
    })
}

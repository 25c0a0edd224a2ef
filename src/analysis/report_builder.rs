//! Reports on a run, one by one, in steps short enough that other work can be done in between.
//!
//! The cheap reports come first, the late ones after them, and the conclusions from all of them last. Labelling memory accesses
//! takes longest, so it has steps of its own; the reports that need labels are made after it.

use super::{
    AnalysisCache, AnalysisInfo, CONCLUSIONS, ConclusionInfo, Context, MEMORY_SHARE, ON_REQUEST, Query,
    applying, is_labelled, label,
};
use crate::base::progress;
use crate::base::steps::{self, Steps};
use crate::memory::Measured;
use crate::report::Report;
use crate::trace::Run;
use std::collections::VecDeque;
use std::rc::Rc;

/// Reports being made. It holds the traces, so they must not change meanwhile.
pub struct ReportBuilder {
    run: Rc<Run>,
    query: Query,
    /// Ids of the requested reports; all if `None`.
    wanted: Option<Vec<String>>,
    /// Reports to make, the cheap ones first.
    waiting: VecDeque<&'static AnalysisInfo>,
    conclusions: VecDeque<&'static ConclusionInfo>,
    labelling: Option<Steps<'static, Vec<Measured>>>,
    found: AnalysisCache,
    n_made: usize,
}

/// Result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Built {
    /// No report yet.
    Nothing,
    /// A report at this position.
    Report(usize),
    /// There are no more.
    All,
}

impl ReportBuilder {
    /// All reports on `run`, or those whose ids are `wanted`. Unwanted reports are only made if a wanted one is derived from them.
    pub fn new(run: Rc<Run>, query: Query, wanted: Option<Vec<String>>) -> ReportBuilder {
        let is_wanted = |id: &str| wanted.as_ref().is_none_or(|wanted| wanted.iter().any(|it| it == id));
        let conclusions: VecDeque<_> = CONCLUSIONS.iter().copied().filter(|it| is_wanted(it.id)).collect();
        let all = applying(&run).filter(|analysis| !conclusions.is_empty() || is_wanted(analysis.id));
        let (late, early): (Vec<_>, Vec<_>) = all.partition(|analysis| analysis.is_late);
        let asked = |analysis: &&'static AnalysisInfo| {
            (analysis.applies)(&run) && wanted.is_some() && is_wanted(analysis.id)
        };
        let on_request = ON_REQUEST.iter().copied().filter(asked);
        let waiting = early.into_iter().chain(late).chain(on_request).collect();
        let (labelling, found) = (None, AnalysisCache::default());
        ReportBuilder { run, query, wanted, waiting, conclusions, labelling, found, n_made: 0 }
    }

    /// Whether all cheap reports are made.
    pub fn has_all_early(&self) -> bool {
        self.waiting.front().is_none_or(|analysis| analysis.is_late)
    }

    /// Number of late reports to make.
    pub fn n_late(&self) -> usize {
        self.waiting.iter().filter(|analysis| analysis.is_late).count()
    }

    /// Leaves out the late reports that are not made yet.
    pub fn skip_late(&mut self) {
        self.waiting.retain(|analysis| !analysis.is_late);
    }

    /// Settings that the reports are made with.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Intermediate results so far.
    pub fn found(&self) -> &AnalysisCache {
        &self.found
    }

    /// The settings, and the intermediate results, for a comparison.
    pub fn into_results(self) -> (Query, AnalysisCache) {
        (self.query, self.found)
    }

    /// Makes the next report, or a part of what it needs. `reports` are those of the steps before.
    pub fn step(&mut self, reports: &mut Vec<Report>) -> Built {
        if self.waiting.front().is_some_and(|analysis| is_labelled(analysis.id)) && self.lacks_labels() {
            let labelling = self.labelling.get_or_insert_with(|| {
                let (run, query) = (self.run.clone(), self.query.memory.clone());
                Steps::new(steps::within(0.0, MEMORY_SHARE, async move { label(&run, &query).await }))
            });
            if let Some(measured) = labelling.step() {
                self.labelling = None;
                self.found.memory = measured;
            }
            return Built::Nothing;
        }
        if let Some(analysis) = self.waiting.pop_front() {
            self.n_made += 1;
            self.tell();
            let context = Context::from_cache(&self.run, &self.query, std::mem::take(&mut self.found));
            let report = analysis.make(&context);
            self.found = context.into_cache();
            let Some(report) = report else { return Built::Nothing };
            let is_behind = |id: &str| {
                let mut behind = applying(&self.run).skip_while(|other| other.id != analysis.id).skip(1);
                behind.any(|other| other.id == id)
            };
            let place = reports.iter().position(|report| is_behind(&report.id)).unwrap_or(reports.len());
            reports.insert(place, report);
            return Built::Report(place);
        }
        while let Some(conclusion) = self.conclusions.pop_front() {
            if let Some(report) = (conclusion.run)(&self.run, reports) {
                let is_behind = |report: &Report| conclusion.before.iter().any(|info| info.id == report.id);
                let place = reports.iter().position(is_behind).unwrap_or(0);
                reports.insert(place, report);
                return Built::Report(place);
            }
        }
        if let Some(wanted) = &self.wanted {
            reports.retain(|report| wanted.iter().any(|wanted| *wanted == report.id));
        }
        Built::All
    }

    fn lacks_labels(&self) -> bool {
        self.found.memory.is_empty() && self.run.traces.iter().any(|trace| trace.accesses.is_expected())
    }

    /// Reports progress, if labelling did: without it, nothing takes long enough.
    fn tell(&self) {
        if !self.found.memory.is_empty() {
            let made = self.n_made as f64 / (self.n_made + self.waiting.len() + 1) as f64;
            progress::tell(MEMORY_SHARE + (1.0 - MEMORY_SHARE) * made);
        }
    }
}

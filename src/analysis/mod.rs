//! Traces to reports.
//!
//! An analysis is a plain function from a [`Run`] and a [`Query`] (in a [`Context`]) to a [`Report`]. It does not fail: if its
//! data is missing, its `applies` returns false.
//!
//! Adding a report: a folder with `INFO` and a function, and two lines here (its `mod`, its place in [`ANALYSES`]).

pub mod address_ranges;
pub mod counters;
mod findings;
pub mod flame;
pub mod fleet;
pub mod gpu;
pub mod gpu_breakdown;
pub mod gpu_communication;
pub mod gpu_cpu;
pub mod gpu_critical_path;
pub mod gpu_findings;
pub mod gpu_idle;
pub mod gpu_kernels;
pub mod gpu_layers;
pub mod gpu_memory;
pub mod gpu_ops;
pub mod gpu_place;
pub mod gpu_ranks;
pub mod hot_frames;
pub mod ledger;
pub mod longest;
pub mod memory_addresses;
pub mod memory_query;
pub mod memory_snapshot;
pub mod memory_timeline;
pub mod memray;
pub mod mrm;
pub mod mrm_config;
pub mod mrm_kv;
pub mod mrm_run;
pub mod mrm_time;
pub mod overview;
pub mod report_builder;
pub mod run_files;
pub mod several;
pub mod slices;
pub mod stack_functions;
pub mod sway_summary;
pub mod timeline;
pub mod timeline_groups;
pub mod tracks;

use crate::base::sort;
use crate::base::{progress, steps};
use crate::memory::labeller::Unclassified;
use crate::memory::labelling::Stopped;
use crate::memory::{LabelledTrace, Measured};
use crate::report::{Block, Document, Note, NoteLevel, Report, of_file};
use crate::trace::{Run, Trace, losses};
use memory_query::MemoryQuery;
use std::cell::OnceCell;

/// The reports, in display order.
pub const ANALYSES: &[&AnalysisInfo] = &[
    &sway_summary::INFO,
    &hot_frames::INFO,
    &memray::INFO,
    &memory_snapshot::INFO,
    &memory_addresses::INFO,
    &stack_functions::INFO,
    &fleet::INFO,
    &mrm::INFO,
    &mrm_kv::INFO,
    &mrm_time::INFO,
    &mrm_run::INFO,
    &mrm_config::INFO,
    &address_ranges::INFO,
    &gpu_ranks::INFO,
    &gpu_breakdown::INFO,
    &gpu_kernels::INFO,
    &gpu_ops::INFO,
    &gpu_layers::INFO,
    &gpu_idle::INFO,
    &gpu_cpu::INFO,
    &gpu_critical_path::INFO,
    &gpu_communication::INFO,
    &gpu_memory::INFO,
    &overview::INFO,
    &slices::INFO,
    &longest::INFO,
    &counters::INFO,
];

/// Reports that are made only if someone asks for them by id.
pub const ON_REQUEST: &[&AnalysisInfo] = &[&tracks::INFO, &flame::INFO];

/// Where a report stands in a list of many.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, serde::Deserialize,
)]
pub enum Group {
    /// What someone reads first.
    #[default]
    Summary,
    Gpu,
    Memory,
    /// Slices, threads and counters as the trace has them.
    Trace,
    /// What there is to see on a time axis.
    Timeline,
}

/// The group of the report with that id; one of a comparison is in the same as that of one trace.
pub fn group_of(id: &str) -> Group {
    let id = id.strip_prefix("compare-").unwrap_or(id);
    ANALYSES.iter().chain(ON_REQUEST).find(|info| info.id == id).map_or(Group::Summary, |info| info.group)
}

/// Description of a report, known without computing it.
pub struct AnalysisInfo {
    /// Stable name in kebab case.
    pub id: &'static str,
    pub title: &'static str,
    /// Whether the run contains the tables the report reads.
    pub applies: fn(&Run) -> bool,
    pub run: fn(&Context<'_>) -> Report,
    pub group: Group,
    /// The report is slow compared with parsing, so it is computed after parsing and after the fast ones.
    pub is_late: bool,
}

impl AnalysisInfo {
    /// The report, with its warnings first. `None` if the run turns out to have nothing for it, which some reports only find out
    /// on the way. Summaries say so instead.
    fn make(&self, context: &Context<'_>) -> Option<Report> {
        let mut report = (self.run)(context);
        let losses = losses::sentences(context.run);
        if !losses.is_empty() && self.tells_losses(context.run) {
            let warn = |text| Block::Note(Note { level: NoteLevel::Warning, text });
            report.blocks.splice(0..0, losses.into_iter().map(warn));
        }
        let files: Vec<&str> =
            context.run.traces.iter().map(|trace| trace.source.file_name.as_str()).collect();
        if files.len() > 1 {
            of_file::join_notes(&mut report.blocks, &files);
        }
        report.lead_with_warnings();
        report.name_own_tables();
        (self.group == Group::Summary || report.has_content()).then_some(report)
    }

    /// Whether the report says which parts of the files were not read: the first report does, and the one that the findings on
    /// GPUs take their headline and warnings from.
    fn tells_losses(&self, run: &Run) -> bool {
        let is_first = || applying(run).next().is_some_and(|first| first.id == self.id);
        self.id == gpu_breakdown::INFO.id || is_first()
    }
}

/// A table that other code looks up or links to. It is declared beside the code that builds it, so a table that is renamed or
/// removed doesn't compile.
#[derive(Clone, Copy)]
pub struct TableHandle {
    pub report: &'static AnalysisInfo,
    /// `id` of the table; those of further traces end with a number, see [`gpu::NamedTrace`].
    pub id: &'static str,
}

/// The reports of labelled memory accesses. The first one of a run labels them, which takes most of the time.
pub const LABELLED: [&AnalysisInfo; 4] = [&mrm::INFO, &mrm_kv::INFO, &mrm_time::INFO, &mrm_run::INFO];

/// Whether the report with that id is one of [`LABELLED`].
pub fn is_labelled(id: &str) -> bool {
    LABELLED.iter().any(|info| info.id == id)
}

/// Reports derived from finished reports, in order of computation.
pub const CONCLUSIONS: &[&ConclusionInfo] = &[&gpu_findings::INFO];

/// Description of a report that is derived from other reports.
pub struct ConclusionInfo {
    /// Stable name in kebab case.
    pub id: &'static str,
    pub title: &'static str,
    /// The report is shown before the first of these.
    pub before: &'static [&'static AnalysisInfo],
    /// Returns `None` where there is nothing to report.
    pub run: fn(&Run, &[Report]) -> Option<Report>,
}

/// Settings of the user.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Query {
    /// Length of lists of the slowest, the longest, the hottest.
    pub top: u32,
    /// Custom kernel rules, applied before the built-in ones; see [`crate::gpu::kernels`]. Usually empty.
    pub kernel_rules: String,
    /// Custom GPU peaks, applied before the built-in ones; see [`crate::gpu::peaks`]. Usually empty.
    pub peaks: String,
    /// How accesses to memory are labelled and judged.
    pub memory: MemoryQuery,
    /// Range of the critical path, see [`gpu_critical_path::Wanted`]; usually empty, which selects the longest step.
    pub path: String,
    /// Shows passwords, tokens and keys unredacted.
    pub show_secrets: bool,
    /// Moment at which the memory of GPU memory snapshots is listed, in nanoseconds since the start; see [`memory_snapshot`].
    pub memory_at: Option<i64>,
}

impl Query {
    /// All free-text settings.
    pub fn texts(&self) -> [&str; 8] {
        let MemoryQuery { phases, rules, ranges, unknown, thresholds, validity_rules: _ } = &self.memory;
        [&self.kernel_rules, &self.peaks, &self.path, phases, rules, ranges, unknown, thresholds]
    }
}

impl Default for Query {
    fn default() -> Query {
        Query {
            top: 10,
            kernel_rules: String::new(),
            peaks: String::new(),
            memory: Default::default(),
            path: String::new(),
            show_secrets: false,
            memory_at: None,
        }
    }
}

/// Input of an analysis: the traces, the settings, and intermediate results shared by several reports, computed on first
/// use.
pub struct Context<'a> {
    /// The traces.
    pub run: &'a Run,
    /// Settings of the user.
    pub query: &'a Query,
    sums: OnceCell<slices::SliceSums<'a>>,
    gpu: OnceCell<Vec<gpu::GpuTrace<'a>>>,
    memory: OnceCell<Vec<LabelledTrace<'a>>>,
}

impl<'a> Context<'a> {
    /// Creates a context with nothing computed yet.
    pub fn new(run: &'a Run, query: &'a Query) -> Context<'a> {
        Context { run, query, sums: OnceCell::new(), gpu: OnceCell::new(), memory: OnceCell::new() }
    }

    /// Creates a context with results of an earlier one.
    pub fn from_cache(run: &'a Run, query: &'a Query, cache: AnalysisCache) -> Context<'a> {
        let mut context = Context::new(run, query);
        if !cache.gpu.is_empty() {
            let from_cache = |(trace, model)| gpu::GpuTrace::from_cache(trace, model);
            context.gpu = OnceCell::from(context.of_gpu().zip(cache.gpu).map(from_cache).collect::<Vec<_>>());
        }
        if !cache.memory.is_empty() {
            let from_cache = |(trace, measured)| LabelledTrace::from_cache(trace, measured);
            context.memory =
                OnceCell::from(context.of_memory().zip(cache.memory).map(from_cache).collect::<Vec<_>>());
        }
        context
    }

    /// Keeps the results that another context can reuse.
    pub fn into_cache(self) -> AnalysisCache {
        AnalysisCache {
            gpu: self.gpu.into_inner().into_iter().flatten().map(gpu::GpuTrace::into_model).collect(),
            memory: self
                .memory
                .into_inner()
                .into_iter()
                .flatten()
                .map(LabelledTrace::into_measured)
                .collect(),
        }
    }

    /// GPU activity by trace; only of traces with a GPU.
    pub fn gpu(&self) -> &[gpu::GpuTrace<'a>] {
        self.gpu.get_or_init(|| {
            let rules = &self.query.kernel_rules;
            self.of_gpu().map(|trace| gpu::GpuTrace::with_rules(trace, rules)).collect()
        })
    }

    fn of_gpu(&self) -> impl Iterator<Item = &'a Trace> + use<'a> {
        self.run.traces.iter().filter(|trace| gpu::is_of_gpu(trace))
    }

    /// Memory accesses with labels and metrics by trace; only of traces of memory accesses.
    pub fn memory(&self) -> &[LabelledTrace<'a>] {
        self.memory.get_or_init(|| {
            let measured = steps::run(label(self.run, &self.query.memory));
            self.of_memory()
                .zip(measured)
                .map(|(trace, measured)| LabelledTrace::from_cache(trace, measured))
                .collect()
        })
    }

    fn of_memory(&self) -> impl Iterator<Item = &'a Trace> + use<'a> {
        of_memory(self.run)
    }

    /// Slice times by name.
    pub fn sums(&self) -> &slices::SliceSums<'a> {
        self.sums.get_or_init(|| slices::SliceSums::new(self.run))
    }
}

/// Ids and titles of all reports, in display order.
pub fn listed() -> Vec<(&'static str, &'static str)> {
    let mut listed = Vec::new();
    let mut conclusions: Vec<&ConclusionInfo> = CONCLUSIONS.to_vec();
    for analysis in ANALYSES {
        let is_before =
            |conclusion: &&ConclusionInfo| conclusion.before.iter().any(|info| info.id == analysis.id);
        while let Some(at) = conclusions.iter().position(is_before) {
            let conclusion = conclusions.remove(at);
            listed.push((conclusion.id, conclusion.title));
        }
        listed.push((analysis.id, analysis.title));
    }
    listed.extend(ON_REQUEST.iter().map(|info| (info.id, info.title)));
    listed
}

/// All reports that `run` has data for.
pub fn reports(run: &Run, query: &Query) -> Vec<Report> {
    let reports = make(&Context::new(run, query), applying(run));
    with_conclusions(run, reports)
}

/// The reports that are cheap compared with parsing, shown during parsing; and their intermediate results.
pub fn early_reports(run: &Run, query: &Query) -> (Vec<Report>, AnalysisCache) {
    let context = Context::new(run, query);
    let reports = make(&context, applying(run).filter(|analysis| !analysis.is_late));
    (reports, context.into_cache())
}

fn of_memory(run: &Run) -> impl Iterator<Item = &Trace> {
    run.traces.iter().filter(|trace| trace.accesses.is_expected())
}

/// Labels and measures the accesses of each trace that has some, in steps.
async fn label(run: &Run, query: &MemoryQuery) -> Vec<Measured> {
    let n = of_memory(run).count() as f64;
    let mut all = Vec::new();
    for (at, trace) in of_memory(run).enumerate() {
        let at = at as f64;
        let view = steps::within(at / n, (at + 1.0) / n, run_files::view_in_steps(trace, query)).await;
        all.push(view.into_measured());
    }
    all
}

/// Approximate share of the time of memory reports that goes to labelling and measuring accesses.
const MEMORY_SHARE: f64 = 0.85;

/// Makes reports. Reports progress only while accesses to memory are labelled; nothing else takes long enough.
fn make(context: &Context<'_>, analyses: impl Iterator<Item = &'static AnalysisInfo>) -> Vec<Report> {
    let analyses: Vec<_> = analyses.collect();
    let Some(labels) = analyses.iter().position(|analysis| is_labelled(analysis.id)) else {
        return analyses.iter().filter_map(|analysis| analysis.make(context)).collect();
    };
    let share = |at: usize| match at == labels {
        true => MEMORY_SHARE,
        false => (1.0 - MEMORY_SHARE) / (analyses.len() - 1) as f64,
    };
    let mut done = 0.0;
    let make = |(at, analysis): (usize, &&AnalysisInfo)| {
        let from = done;
        done += share(at);
        progress::within(from, done, || analysis.make(context))
    };
    analyses.iter().enumerate().filter_map(make).collect()
}

/// Adds the reports that are derived from `reports`.
fn with_conclusions(run: &Run, mut reports: Vec<Report>) -> Vec<Report> {
    for conclusion in CONCLUSIONS {
        if let Some(report) = (conclusion.run)(run, &reports) {
            let is_behind = |report: &Report| conclusion.before.iter().any(|info| info.id == report.id);
            let at = reports.iter().position(is_behind).unwrap_or(0);
            reports.insert(at, report);
        }
    }
    reports
}

/// The analyses that apply to `run`, in display order. With several runs, the report that compares them comes
/// first.
fn applying(run: &Run) -> impl Iterator<Item = &'static AnalysisInfo> + use<> {
    let mut analyses: Vec<_> = ANALYSES.iter().copied().filter(|analysis| (analysis.applies)(run)).collect();
    if mrm_run::has_several(run) {
        sort::by_key(&mut analyses, |analysis| analysis.id != mrm_run::INFO.id);
    } else if !gpu_breakdown::has_work(run) {
        // Without GPU activity, general reports come before those made for GPUs.
        sort::by_key(&mut analyses, |analysis| analysis.group == Group::Gpu);
    }
    analyses.into_iter()
}

/// Expensive results of a [`Context`], valid for the same run and query only.
#[derive(Default)]
pub struct AnalysisCache {
    gpu: Vec<gpu::GpuModel>,
    memory: Vec<Measured>,
}

impl AnalysisCache {
    /// The same with labels of memory accesses, which are made unless they are known.
    async fn with_labels(mut self, run: &Run, query: &Query) -> AnalysisCache {
        if self.memory.is_empty() {
            self.memory = label(run, &query.memory).await;
        }
        self
    }

    /// The access of unknown kind at which labelling stopped, if the policy is to stop.
    pub fn unclassified(&self) -> Option<&Unclassified> {
        self.memory.iter().find_map(|measured| match &measured.stopped {
            Some(Stopped::Unclassified(unclassified)) => Some(unclassified),
            _ => None,
        })
    }
}

/// How to get what a trace lacks that has more events than are kept, in an infinitive without “to”: the page has a limit of its own,
/// the command only the one that it is given.
pub const TO_HOLD_MORE: &str = if cfg!(target_family = "wasm") {
    "use the native command, which is limited only by memory"
} else {
    "raise --hold"
};

/// Whether `run` has reports besides the early ones.
pub fn has_late_reports(run: &Run) -> bool {
    applying(run).any(|analysis| analysis.is_late)
}

/// The complete document on `run`: sources, parsing details and reports.
///
/// `format_title` returns the display name of a format id.
pub fn document<'a>(run: &Run, reports: &'a [Report], format_title: &dyn Fn(&str) -> String) -> Document<'a> {
    let names: Vec<&str> = run.traces.iter().map(|trace| trace.source.file_name.as_str()).collect();
    Document {
        title: names.join(", "),
        source: ledger::source_facts(run, format_title),
        ledger: ledger::report(run),
        reports,
    }
}

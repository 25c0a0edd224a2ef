//! The critical path of a step: the longest chain of operators, calls and work of the GPU in which each had to wait for the
//! one before. Making anything else faster does not make the step faster.
//!
//! ```text
//! CPU     [op [call]   ]─0─[op [call]  ]────0────[op      [wait]   ]     ─0─  dependency
//!              └launch┐         └──┐                         ↑
//! stream 7            [kernel  ]─between─[kernel          ]─0┘           wait
//! ```
//! The definition is that of HolisticTraceAnalysis 0.5 (`critical_path_analysis.py`):
//!
//! - Time in operators and calls counts, whatever they call; time between outermost operators does not.
//! - Calls that only wait count for nothing: the path goes through what they waited for.
//! - A kernel comes after its launch if its stream was idle then, else after the work before it on the stream.
//! - What waits for what is known from `cuda_sync` events only.
//!
//! Times are whole nanoseconds, not rounded inwards to microseconds as by HTA. Other differences: all kernels of
//! a graph are in it, streams of different devices are told apart, calls of ROCm that wait are known, a stream may wait
//! for several others at once, and time that would be counted twice (where an edge leads back in time) is taken off.

mod choice;
mod cpu;
mod device;
mod graph;
mod longest;
mod path;
mod sync;
mod tables;

pub use choice::Wanted;
pub use graph::EdgeKind;
pub use path::{Bound, CriticalPath, Segment};

use super::gpu::spans::Span;
use super::gpu::stats::share;
use super::gpu::{GpuTrace, Named};
use super::gpu_kernels;
use super::{AnalysisInfo, Context};
use crate::base::text::{IN_A_SENTENCE, shortened, visible};
use crate::base::units::{format_ns, group_digits};
use crate::report::Report;

/// The report "Critical path".
pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "gpu-critical-path",
    title: "Critical path",
    applies: gpu_kernels::applies,
    run,
    reference: None,
    is_late: true,
};

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    Named::each(context.gpu(), &mut report, |named, report| add(named, &context.query.path, report));
    report
}

fn add(named: &Named<'_, '_>, wanted: &str, report: &mut Report) {
    let (what, path) = wanted_path(named.gpu, wanted, report).unwrap_or_else(|| choose(named.gpu));
    let path = path.split_at_launches(named.gpu);
    if report.summary.is_empty() {
        report.summary = summary(&what, &path);
    }
    report.facts(tables::facts(named, &path));
    report.table(tables::bounds(named, &what, &path));
    report.table(tables::names(named, &path));
    report.table(tables::segments(named, &path));
    caveats(named.gpu, &path, report);
}

/// The path of what was asked for, if anything was, and it is there.
fn wanted_path(gpu: &GpuTrace<'_>, wanted: &str, report: &mut Report) -> Option<(String, CriticalPath)> {
    let wanted = Wanted::parse(wanted)?;
    match wanted.window(gpu) {
        Ok((window, n)) => {
            let name = visible(&shortened(&wanted.name, IN_A_SENTENCE));
            let what = match wanted.instances {
                _ if n == 1 => format!("the only \"{name}\""),
                (first, last) if first == last => format!("\"{name}\" {first} (of 0 to {})", n - 1),
                (first, last) => format!("\"{name}\" {first} to {} (of 0 to {})", last.min(n - 1), n - 1),
            };
            Some((what, CriticalPath::new(gpu, window)))
        }
        Err(problem) => {
            report.warning(format!("The critical path is not of what was asked for: {problem}."));
            None
        }
    }
}

/// The path of the longest step (the first of such), or of the whole trace where no step is marked or nothing is in it.
fn choose(gpu: &GpuTrace<'_>) -> (String, CriticalPath) {
    let mut longest: Option<(i64, usize)> = None;
    for (i, step) in gpu.steps.steps.iter().enumerate() {
        let ns = step.end.saturating_sub(step.start);
        if longest.is_none_or(|(longest, _)| ns > longest) {
            longest = Some((ns, i));
        }
    }
    if let Some(step) = longest.and_then(|(_, i)| gpu.steps.steps.get(i)) {
        let path = CriticalPath::new(gpu, (step.start, step.end));
        if !path.segments.is_empty() {
            let name = visible(gpu.trace.strings.get_opt(step.name).unwrap_or(""));
            let what = match gpu.steps.len() {
                1 => format!("the only step ({name})"),
                n => format!("the longest of {n} steps ({name})"),
            };
            return (what, path);
        }
    }
    let window: Span = gpu.trace.span().unwrap_or((0, 0));
    ("the whole trace".to_string(), CriticalPath::new(gpu, window))
}

fn summary(what: &str, path: &CriticalPath) -> String {
    let largest = Bound::ALL
        .into_iter()
        .map(|bound| (path.sum(|segment| segment.bound == bound).0, bound))
        .reduce(|a, b| if b.0 > a.0 { b } else { a });
    match largest.and_then(|(ns, bound)| Some((bound, share(ns, path.length)?))) {
        Some((bound, share)) => format!(
            "The critical path of {what} takes {}; {:.1} % of it are {}.",
            format_ns(path.length),
            100.0 * share,
            bound.phrase()
        ),
        None => "No path through operators and work of the GPU was found.".to_string(),
    }
}

fn caveats(gpu: &GpuTrace<'_>, path: &CriticalPath, report: &mut Report) {
    if !path.has_sync {
        report.warning(
            "The trace has no events of synchronisation (cuda_sync), so what waited for what across streams, and which \
             work the host waited for, is not known: where the path goes from one to another is a guess. PyTorch records \
             them with enable_cuda_sync_events in the profiler's experimental configuration.",
        );
    }
    if path.n_circular > 0 {
        report.warning(format!(
            "{} dependencies contradict others and were left out: the clocks of CPU and GPU may differ.",
            path.n_circular
        ));
    }
    let n_unknown = gpu.work.iter().filter(|work| work.launch == super::gpu::model::NONE).count();
    if n_unknown > 0 {
        report.warning(format!(
            "{} kernels, copies and fills are left out, as their launches are not recorded.",
            group_digits(n_unknown as i128)
        ));
    }
    report.info(
        "Making what is on the path faster makes the step faster only until another path is the longest. Dependencies that \
         the profiler does not record are missing: locks, threads that wait for each other, other ranks. Time between \
         outermost operators counts for nothing, though Python may well be what takes it. Copies on the CPU side \
         (cudaMemcpyAsync) count as waiting.",
    );
}

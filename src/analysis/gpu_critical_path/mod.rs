//! Critical path of a step: the longest chain of operators, calls, kernels and copies in which each had to wait for the one
//! before. Speeding up anything else does not make the step faster.
//!
//! ```text
//! CPU     [op [call]   ]─0─[op [call]  ]────0────[op      [wait]   ]     ─0─  dependency
//!              └launch┐         └──┐                         ↑
//! stream 7            [kernel  ]─between─[kernel          ]─0┘           wait
//! ```
//! The definition is that of HolisticTraceAnalysis 0.5 (`critical_path_analysis.py`):
//!
//! - Time in operators and calls counts, whatever they call; time between outermost operators does not.
//! - Calls that only wait have weight 0: the path goes through what they waited for.
//! - A kernel depends on its launch if its stream was idle then, else on the kernel before it on the stream.
//! - Synchronization is known from `cuda_sync` events only.
//!
//! Times are whole nanoseconds, not rounded inwards to microseconds as in HTA. Other differences: all kernels of a graph are
//! included, streams of different devices are distinct, blocking ROCm calls are known, a stream may wait for several others at
//! once, and time that would count twice (where an edge leads back in time) is subtracted.

mod build;
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
pub use path::{Bound, CriticalPath, MAX_EVENTS, Segment};

use super::gpu::spans::Span;
use super::gpu::stats::{percent, share};
use super::gpu::steps::Step;
use super::gpu::{GpuTrace, Lack, NamedTrace};
use super::gpu_kernels;
use super::{AnalysisInfo, Context, Group};
use crate::base::text::{IN_A_SENTENCE, shortened, visible};
use crate::base::units::{counted, format_ns, group_digits};
use crate::report::Report;

/// The report "Critical path".
pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "gpu-critical-path",
    title: "Critical path",
    applies: gpu_kernels::applies,
    run,
    group: Group::Gpu,
    is_late: true,
};

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    NamedTrace::each(context.gpu(), &mut report, |named, report| add(named, &context.query.path, report));
    report
}

fn add(named: &NamedTrace<'_, '_>, wanted: &str, report: &mut Report) {
    let (what, window, path) = wanted_path(named.gpu, wanted, report).unwrap_or_else(|| choose(named.gpu));
    let path = path.split_at_launches(named.gpu);
    let what = if path.n_left_out > 0 { format!("the first part of {what}") } else { what };
    if report.summary.is_empty() {
        report.summary = summary(&what, window, &path);
    }
    report.facts(tables::facts(named, &path));
    report.table(tables::bounds(named, &what, &path));
    report.table(tables::names(named, &path));
    report.table(tables::segments(named, &path));
    caveats(named.gpu, &path, report);
}

/// What is looked at where a time range of the trace is.
const IN_RANGE: &str = "the slices that reach into the chosen time range";

/// Words for a range, the range, and its path.
type Chosen = (String, Span, CriticalPath);

/// Path of the range chosen by the user, if any was chosen and exists.
fn wanted_path(gpu: &GpuTrace<'_>, wanted: &str, report: &mut Report) -> Option<Chosen> {
    let wanted = Wanted::parse(wanted)?;
    match wanted.window(gpu) {
        Ok((window, n)) => {
            let name = visible(&shortened(&wanted.name, IN_A_SENTENCE));
            let what = match wanted.instances {
                _ if n == 1 => format!("the only \"{name}\""),
                (first, last) if first == last => format!("\"{name}\" {first} (of 0–{})", n - 1),
                (first, last) => format!("\"{name}\" {first}–{} (of 0–{})", last.min(n - 1), n - 1),
            };
            Some((what, window, CriticalPath::new(gpu, window)))
        }
        Err(problem) => {
            report.warning(format!(
                "Cannot analyze the chosen range: {problem}. Showing the default range instead."
            ));
            None
        }
    }
}

/// Path of the longest step (the first at equal length) whose length is known, or of the whole trace if there are no steps or the
/// step is empty.
fn choose(gpu: &GpuTrace<'_>) -> Chosen {
    let mut longest: Option<(i64, usize)> = None;
    let of_known_length = |(_, step): &(usize, &Step)| gpu.steps.len() == 1 || !step.is_open;
    for (i, step) in gpu.steps.steps.iter().enumerate().filter(of_known_length) {
        let ns = step.end.saturating_sub(step.start);
        if longest.is_none_or(|(longest, _)| ns > longest) {
            longest = Some((ns, i));
        }
    }
    if let Some(step) = longest.and_then(|(_, i)| gpu.steps.steps.get(i)) {
        let path = CriticalPath::new(gpu, (step.start, step.end));
        if !path.segments.is_empty() {
            let name = visible(gpu.group_text(step.name).unwrap_or(""));
            let what = match gpu.steps.len() {
                1 => format!("the only step ({name})"),
                // Its kernels may take longer or shorter than others.
                n if gpu.steps.is_on_cpu(step) => {
                    format!("the longest of {n} steps on the CPU ({name})")
                }
                n => format!("the longest of {n} steps ({name})"),
            };
            return (what, (step.start, step.end), path);
        }
    }
    let window: Span = gpu.trace.extent().unwrap_or((0, 0));
    // Slices count as a whole, so the path may be longer than the range.
    let what = if gpu.trace.part.is_some() { IN_RANGE } else { "the whole trace" };
    (what.to_string(), window, CriticalPath::new(gpu, window))
}

/// Share of the range from which the path counts as all of it.
const MOST: f64 = 0.9;

fn summary(what: &str, (start, end): Span, path: &CriticalPath) -> String {
    let largest = Bound::ALL
        .into_iter()
        .map(|bound| (path.sum(|segment| segment.bound == bound).0, bound))
        .reduce(|a, b| if b.0 > a.0 { b } else { a });
    match largest.and_then(|(ns, bound)| Some((bound, share(ns, path.length)?))) {
        Some((bound, of_path)) => {
            let whole = end.saturating_sub(start);
            // Of a range whose path is cut off, or that is none, it says nothing.
            let is_of_all = path.n_left_out == 0 && what != IN_RANGE;
            let covered = share(path.length, whole).filter(|covered| *covered < MOST && is_of_all);
            let (of_whole, rest) = match covered {
                Some(covered) => (
                    format!(", {} of its {}", percent(covered), format_ns(whole)),
                    format!(" of the path. {}", of_rest(whole, path.length, path.passed().unwrap_or(0))),
                ),
                None => (String::new(), ".".to_string()),
            };
            format!(
                "The critical path of {what} takes {}{of_whole}; {} {} for {}{rest}",
                format_ns(path.length),
                bound.phrase(),
                bound.accounts(),
                percent(of_path),
            )
        }
        None => "No path through operators and kernels found.".to_string(),
    }
}

/// Where the time of a range of `whole` nanoseconds is that its path of `length` doesn't count: between operators while the path
/// passed, and before and after it.
fn of_rest(whole: i64, length: i64, passed: i64) -> String {
    let between = passed.saturating_sub(length).clamp(0, whole.saturating_sub(length).max(0));
    let outside = whole.saturating_sub(length).saturating_sub(between);
    match (between, outside) {
        (_, ..=0) => "The rest is time between operators, which the path doesn't count.".to_string(),
        (0, _) => "The rest is before or after the path.".to_string(),
        _ => format!(
            "Of the rest, {} is between operators, which the path doesn't count, and {} before or after the path.",
            format_ns(between),
            format_ns(outside)
        ),
    }
}

fn caveats(gpu: &GpuTrace<'_>, path: &CriticalPath, report: &mut Report) {
    if path.n_left_out > 0 {
        report.warning(format!(
            "The range has too many operators and calls for one path: only the first {} are analyzed, and {} left out. Choose a \
             shorter range, such as one step.",
            group_digits(MAX_EVENTS as i128),
            counted(path.n_left_out, "later one is", "later ones are")
        ));
    }
    if !path.has_sync {
        report.warning(format!(
            "No synchronization events in this trace, so dependencies across streams and between GPU and host are guesses.{}",
            gpu.advice(Lack::Syncs)
        ));
    }
    if path.n_circular > 0 {
        report.warning(format!(
            "{} cyclic and left out: CPU and GPU clocks may disagree.",
            counted(path.n_circular, "dependency is", "dependencies are")
        ));
    }
    let n_unknown = gpu.work.iter().filter(|work| work.launch == super::gpu::model::NONE).count();
    if n_unknown > 0 {
        report.warning(format!(
            "{} left out because the launch is not {}.",
            counted(n_unknown as u64, "kernel, copy or fill is", "kernels, copies and fills are"),
            if gpu.ambiguous.n() > 0 { "known" } else { "recorded" }
        ));
    }
    report.info(
        "Speeding up the path helps only until another path is the longest. Dependencies that the profiler doesn't record are \
         missing: locks, waits between threads, other ranks. Time between outermost operators is not counted, though it may be \
         Python. Copy calls on the CPU (cudaMemcpyAsync) count as waiting.",
    );
}

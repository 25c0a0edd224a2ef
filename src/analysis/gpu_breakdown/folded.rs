//! GPU time of a trace whose slices were dropped. Busy times are kept, so the time breakdown is exact. Steps, phases and coverage
//! need launches and are missing.

use super::super::gpu::class::Classes;
use super::super::gpu::facts::RunFacts;
use super::super::gpu::kind::Kind;
use super::super::gpu::parts::Activity;
use super::super::gpu::scope::gpu_number;
use super::{
    BREAKDOWN, BREAKDOWN_TITLE, DeviceTime, Missing, breakdown, charts, push_rank, push_times, summary,
};
use crate::base::sort;
use crate::base::units::Unit;
use crate::report::{Facts, Report};
use crate::trace::Trace;
use crate::trace::aggregated::WorkSpans;
use crate::trace::labels::gpu_label;
use crate::trace::tracks::ProcessId;

/// Whether a trace has dropped slices of GPU activity.
pub fn has_work(trace: &Trace) -> bool {
    work_of(trace).is_some()
}

fn work_of(trace: &Trace) -> Option<&WorkSpans> {
    trace.aggregated.as_ref().map(|folded| &folded.work).filter(|work| !work.start.is_empty())
}

/// Adds the total time of each GPU and its breakdown.
pub fn add(trace: &Trace, kernel_rules: &str, report: &mut Report) {
    let Some(work) = work_of(trace) else { return };
    let mut order: Vec<u32> = (0..work.start.len() as u32).collect();
    sort::rows(&mut order, |a, b| work.start[a as usize].cmp(&work.start[b as usize]));
    let mut classes = Classes::new(kernel_rules);
    let kind = |at: usize| trace.strings.get_opt(work.category[at]).map_or(Kind::Other, Kind::of);
    // Classes are resolved first, since lookups borrow them immutably.
    let class: Vec<u32> =
        (0..work.start.len()).map(|at| classes.of(trace, work.name[at], kind(at))).collect();
    let mut processes: Vec<ProcessId> = Vec::new();
    for at in &order {
        let process = work.process[*at as usize];
        if !processes.contains(&process) {
            processes.push(process);
        }
    }
    let of_process = |process: &ProcessId| {
        let own = order.iter().map(|at| *at as usize).filter(|at| work.process[*at] == *process);
        let activity =
            Activity::of(own.map(|at| ((work.start[at], work.end[at]), kind(at), classes.get(class[at]))));
        let parts = activity.parts(activity.window?);
        Some(DeviceTime { label: gpu_label(trace, *process), parts, steps: Vec::new() })
    };
    let devices: Vec<DeviceTime> = processes.iter().filter_map(of_process).collect();
    if report.summary.is_empty() {
        report.summary = summary(&devices, &Missing::Unknown);
    }
    let mut facts = Facts::new("GPU");
    push_times(&mut facts, &devices);
    let n_kernels = (0..work.start.len()).filter(|at| kind(*at) == Kind::Kernel).count();
    facts.push("kernels", "Kernels", n_kernels as u64, Unit::Count);
    let run = RunFacts::new(trace);
    let models = processes.iter().filter_map(|process| run.gpu_of(gpu_number(trace, *process)?));
    let mut names: Vec<&str> = models.map(|gpu| gpu.name.as_str()).filter(|name| !name.is_empty()).collect();
    names.dedup();
    if !names.is_empty() {
        facts.push("gpu", "Model", names.join(", "), Unit::None);
    }
    push_rank(&mut facts, &run);
    report.facts(facts);
    report.info(
        "This trace has too many events to keep them all in memory. GPU busy times cover the whole trace and are exact. Steps, \
         phases and missing device records need launches, which were dropped, so idle time may include kernels that were not \
         recorded.",
    );
    report.chart(charts::devices("breakdown_chart".into(), charts::DEVICES.to_string(), &devices));
    report.table(breakdown(BREAKDOWN.id, BREAKDOWN_TITLE.to_string(), &devices));
}

//! The same of a trace that has let go of its slices: when GPUs did something is held, so how their time divides is exact. What
//! needs launches is not there: steps, phases, and what the trace can tell of links.

use super::super::gpu::class::Classes;
use super::super::gpu::facts::RunFacts;
use super::super::gpu::kind::Kind;
use super::super::gpu::parts::Activity;
use super::super::gpu::scope::{gpu_label, gpu_number};
use super::{BREAKDOWN, DeviceTime, breakdown, charts, push_rank, push_times, summary};
use crate::base::units::Unit;
use crate::report::{Facts, Report};
use crate::trace::Trace;
use crate::trace::folded::WorkSpans;
use crate::trace::tracks::ProcessId;

/// Whether a trace has let go of work of a GPU.
pub fn has_work(trace: &Trace) -> bool {
    work_of(trace).is_some()
}

fn work_of(trace: &Trace) -> Option<&WorkSpans> {
    trace.folded.as_ref().map(|folded| &folded.work).filter(|work| !work.start.is_empty())
}

/// Adds the whole time of each GPU, and how it divides.
pub fn add(trace: &Trace, kernel_rules: &str, report: &mut Report) {
    let Some(work) = work_of(trace) else { return };
    let mut order: Vec<u32> = (0..work.start.len() as u32).collect();
    order.sort_by_key(|at| work.start[*at as usize]);
    let mut classes = Classes::new(kernel_rules);
    let kind = |at: usize| trace.strings.get_opt(work.category[at]).map_or(Kind::Other, Kind::of);
    // Found before they are looked at, as that can not change them.
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
        report.summary = summary(&devices, "");
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
        "The trace has more events than are held at once. When GPUs were busy is known of all of it, so these times are exact; steps and \
         their phases need the launches of the work, which are not held. So it is not known either whether each launch has a device record: idle time may \
         hold work that was not recorded.",
    );
    report.chart(charts::devices("breakdown_chart".into(), charts::DEVICES.to_string(), &devices));
    report.table(breakdown("breakdown", BREAKDOWN.to_string(), &devices));
}

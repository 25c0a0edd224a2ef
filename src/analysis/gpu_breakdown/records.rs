//! Texts on launches without a device record: unrecorded activity must not count as idle.

use crate::analysis::gpu::facts::Vendor;
use crate::analysis::gpu::model::Ambiguous;
use crate::analysis::gpu::{GpuTrace, Tool};
use crate::base::hash::{HashMap, HashSet};
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::text::first_names;
use crate::base::units::{counted, format_ns, group_digits};
use crate::report::Report;
use crate::trace::links::LinkTable;

/// Effect of launches without a device record, and what to try. `hide_idle` says whether any may have run in a gap.
pub fn consequence(hide_idle: bool, gpu: &GpuTrace<'_>) -> String {
    if hide_idle {
        return "Idle time, step time and time per token are left out where these may have run. Record a shorter window, raise the \
         profiler's buffer size, and synchronize the GPU before recording stops."
            .to_string();
    }
    let has_cuda = gpu.vendor != Vendor::Unknown;
    let how = match Tool::of(gpu.trace) {
        Tool::PyTorch if has_cuda => {
            "Call torch.cuda.synchronize() before stopping the profiler to record them."
        }
        _ => "Synchronize the GPU before recording stops to record them.",
    };
    format!(
        "Kernels run in launch order, so none of these ran in a gap between recorded kernels: all times end with the last \
         recorded kernel. {how}"
    )
}

/// Number of names listed.
const N_NAMES: usize = 4;

/// Text such as `38 of 40 launches have no device record (cudaGraphLaunch 38)`. `None` if all launches have one.
pub fn missing(gpu: &GpuTrace<'_>) -> Option<String> {
    let n_missing = gpu.silent.iter().filter(|silent| silent.hides_work()).count() as u64;
    if n_missing == 0 {
        return None;
    }
    let mut by_name: HashMap<&str, u64> = HashMap::default();
    for silent in gpu.silent.iter().filter(|silent| silent.hides_work()) {
        *by_name.entry(gpu.name(silent.slice)).or_default() += 1;
    }
    let mut by_name: Vec<(&str, u64)> = by_name.into_iter().collect();
    sort::by(&mut by_name, |a, b| (b.1, a.0).cmp(&(a.1, b.0)));
    let names: Vec<String> =
        by_name.iter().map(|(name, n)| format!("{name} {}", group_digits(i128::from(*n)))).collect();
    Some(format!(
        "{} of {} kernel and graph launches have no timed device record ({})",
        group_digits(i128::from(n_missing)),
        group_digits(i128::from(gpu.recorded.n_launches)),
        first_names(&names, N_NAMES)
    ))
}

/// Names of kernels and how many there are of each, the most frequent first.
fn names(gpu: &GpuTrace<'_>, all: &[StringId]) -> String {
    let mut by_name: HashMap<&str, u64> = HashMap::default();
    for name in all {
        *by_name.entry(gpu.shown_name(*name).unwrap_or("")).or_default() += 1;
    }
    let mut by_name: Vec<(&str, u64)> = by_name.into_iter().collect();
    sort::by(&mut by_name, |a, b| (b.1, a.0).cmp(&(a.1, b.0)));
    let names: Vec<String> = by_name.iter().map(|(name, n)| format!("{name} ({n})")).collect();
    first_names(&names, N_NAMES)
}

/// Number of records that repeat another one: name, stream, start, end and correlation id are equal.
fn n_repeated(gpu: &GpuTrace<'_>) -> u64 {
    let slices = &gpu.trace.slices;
    let mut n = 0;
    for at_once in gpu.work.chunk_by(|a, b| a.start == b.start).filter(|at_once| at_once.len() > 1) {
        let mut known = HashSet::default();
        // Rounded times of different ones may be equal if they are very short.
        for work in at_once.iter().filter(|work| work.dur() > 0) {
            let correlation = gpu.link_of(work).map_or(LinkTable::NONE, |link| link.correlation);
            let key = (slices.name[work.slice as usize], work.stream, work.end, correlation);
            n += u64::from(correlation != LinkTable::NONE && !known.insert(key));
        }
    }
    n
}

/// Adds warnings on untimed kernels, kernels without an end, clock skew, repeated records and ambiguous correlation ids.
pub fn say_more(gpu: &GpuTrace<'_>, report: &mut Report) {
    let slices = &gpu.trace.slices;
    let untimed: Vec<StringId> = gpu.trace.links.untimed.iter().map(|(_, name)| *name).collect();
    if !untimed.is_empty() {
        report.warning(format!(
            "{} no timestamps (start and duration 0): {}. Not timed by the driver, so excluded from means, counts and the time range.",
            counted(untimed.len() as u64, "kernel or copy has", "kernels and copies have"),
            names(gpu, &untimed),
        ));
    }
    let unfinished: Vec<StringId> = gpu.unfinished.iter().map(|it| slices.name[it.slice as usize]).collect();
    if !unfinished.is_empty() {
        report.warning(format!(
            "{} no end in this file: {}. Without durations, they are excluded from counts, means, busy and idle time.",
            counted(unfinished.len() as u64, "kernel or copy has", "kernels and copies have"),
            names(gpu, &unfinished),
        ));
    }
    let before: Vec<i64> = gpu
        .work
        .iter()
        .filter(|work| work.is_before_launch)
        .map(|work| slices.ts[work.launch as usize].saturating_sub(work.start))
        .collect();
    if let Some(most) = before.iter().max() {
        report.warning(format!(
            "{} before the launch call, by up to {}: CPU and GPU clocks disagree. Launch delays, idle causes and queues exclude \
             such pairs.",
            counted(before.len() as u64, "kernel or copy starts", "kernels and copies start"),
            format_ns(*most),
        ));
    }
    let n_repeated = n_repeated(gpu);
    if n_repeated > 0 {
        report.warning(format!(
            "{} another one, with equal times on one stream. Counts and kernel time count each record; busy and idle time don't.",
            counted(n_repeated, "record of a kernel or copy repeats", "records of kernels and copies repeat"),
        ));
    }
    for told in gpu.ambiguous.told() {
        let advice = match told.contains(Ambiguous::SEVERAL) {
            true => " If this file was merged from those of several ranks, open these instead.",
            false => "",
        };
        report.warning(format!("{told}, so launch, operator and step are unknown.{advice}"));
    }
}

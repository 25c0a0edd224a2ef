//! What boxes of the timeline are colored by: operations of kernels, and phases of steps, as in the GPU reports.

use super::gpu::annotation::{Annotation, Phase, unknown_word};
use super::gpu::class::{Classes, rules_with};
use super::gpu::kind::{Kind, Kinds};
use super::gpu::{GpuTrace, is_of_gpu};
use super::{AnalysisCache, Context, Query};
use crate::base::hash::HashSet;
use crate::base::steps;
use crate::base::strings::StringId;
use crate::timeline::colors::{GroupId, Groups};
use crate::trace::tracks::{ProcessId, ThreadId};
use crate::trace::{Run, Trace, emit_nvtx};

/// Slices after which others may go on.
const PAUSE_EVERY: usize = 1 << 16;

/// Operations that are often in one trace, so that their colors differ.
const COMMON_OPERATIONS: [&str; 10] = [
    "All-reduce",
    "Attention",
    "GEMM",
    "Elementwise",
    "Normalisation",
    "Activation",
    "Reduction",
    "Copy/Memory",
    "Indexing",
    "All-gather",
];

/// Operations of kernels, copies and fills; each name is classified once.
pub async fn operations(run: &Run, kernel_rules: &str) -> Groups {
    let mut groups = Groups::new(run.traces.len());
    for (number, trace) in run.traces.iter().enumerate().filter(|(_, trace)| is_of_gpu(trace)) {
        let slices = &trace.slices;
        let kinds = Kinds::of(trace);
        let mut classes = Classes::new(kernel_rules);
        let mut of_class: Vec<GroupId> = Vec::new();
        let mut of: Vec<GroupId> = Vec::with_capacity(slices.len());
        for slice in 0..slices.len() {
            if slice % PAUSE_EVERY == 0 {
                steps::pause().await;
            }
            let kind = kinds.get(slices.category[slice]);
            if !kind.is_gpu_work() {
                of.push(0);
                continue;
            }
            let class = classes.of(trace, slices.name[slice], kind);
            while let Some(class) = classes.all().get(of_class.len()) {
                of_class.push(groups.id(&class.operation, number_of(&class.operation)));
            }
            of.push(of_class[class as usize]);
        }
        groups.set(number, of);
    }
    groups
}

fn number_of(operation: &str) -> Option<usize> {
    // What a copy engine does looks like what kernels copy.
    let operation = if operation == "Memcpy" { "Copy/Memory" } else { operation };
    COMMON_OPERATIONS.iter().position(|common| *common == operation)
}

/// Phases of steps: that in which a slice starts, and of GPU work that of its launch. Returns the results that were lent, too.
pub async fn phases(run: &Run, query: &Query, cache: AnalysisCache) -> (Groups, AnalysisCache) {
    let context = Context::from_cache(run, query, cache);
    let mut groups = Groups::new(run.traces.len());
    for gpu in context.gpu() {
        let number = run.traces.iter().position(|trace| std::ptr::eq(trace, gpu.trace));
        if let Some(number) = number.filter(|_| !gpu.steps.is_empty()) {
            let of = phases_of(gpu, &mut groups).await;
            groups.set(number, of);
        }
    }
    (groups, context.into_cache())
}

async fn phases_of(gpu: &GpuTrace<'_>, groups: &mut Groups) -> Vec<GroupId> {
    let trace = gpu.trace;
    let number = |phase: Phase| Phase::ALL.iter().position(|known| *known == phase);
    let of_step: Vec<GroupId> = (gpu.steps.steps.iter())
        .map(|step| {
            let text = step.phase(trace);
            // A word of its own has a color of its own.
            groups.id(text, number(step.what.phase).filter(|_| text == step.what.phase.name()))
        })
        .collect();
    let of = |step: u32| of_step.get(step as usize).copied().unwrap_or(0);
    // Steps are times of the CPU; what runs on a GPU meanwhile may belong to an earlier one.
    let process_of =
        |thread: &Option<ThreadId>| trace.threads.process.get(thread.as_ref()?.0 as usize).copied();
    let processes: Vec<Option<ProcessId>> = trace.tracks.thread.iter().map(process_of).collect();
    let is_on_gpu: Vec<bool> = (processes.iter())
        .map(|process| gpu.devices.iter().any(|device| Some(device.process) == *process))
        .collect();
    let slices = &trace.slices;
    let mut groups_of: Vec<GroupId> = Vec::with_capacity(slices.len());
    for slice in 0..slices.len() {
        if slice % PAUSE_EVERY == 0 {
            steps::pause().await;
        }
        let track = slices.track[slice].0 as usize;
        groups_of.push(match is_on_gpu[track] {
            true => 0,
            false => of(gpu.steps.at(slices.ts[slice], processes[track], Some(slices.track[slice]))),
        });
    }
    for work in &gpu.work {
        groups_of[work.slice as usize] = of(work.step);
    }
    groups_of
}

/// Whether a step of a run has a phase, or a word for one.
pub fn has_phases(run: &Run, kernel_rules: &str) -> bool {
    let (rules, _) = rules_with(kernel_rules);
    let is_phase = |name: &str| {
        let name = emit_nvtx::operator(name).unwrap_or(name);
        let step = Annotation::parse(name, rules.phases());
        step.is_some_and(|step| step.phase != Phase::Unknown || unknown_word(name).is_some())
    };
    let has = |trace: &Trace| {
        let strings = trace.strings.all().zip(0..);
        let names: HashSet<StringId> =
            strings.filter(|(name, _)| is_phase(name)).map(|(_, id)| StringId(id)).collect();
        if names.is_empty() {
            return false;
        }
        let slices = &trace.slices;
        let kinds = Kinds::of(trace);
        let mut both = slices.name.iter().zip(&slices.category);
        both.any(|(name, category)| kinds.get(*category) == Kind::Annotation && names.contains(name))
    };
    run.traces.iter().any(|trace| is_of_gpu(trace) && has(trace))
}

//! Input of the GPU comparison from one side: sums by phase and name, steps, and a typical step kernel by kernel.

use super::super::PhaseFilter;
use crate::analysis::gpu::annotation::{Phase, unknown_word};
use crate::analysis::gpu::facts::Vendor;
use crate::analysis::gpu::gaps::{self, Cause, Gap};
use crate::analysis::gpu::model::NONE;
use crate::analysis::gpu::parts::{Activity, Parts, StepWindow, step_windows, window_at};
use crate::analysis::gpu::stats::SumNs;
use crate::analysis::gpu::steps::NO_STEP;
use crate::analysis::gpu::{GpuTrace, Kind, Work};
use crate::analysis::gpu_layers;
use crate::analysis::gpu_ranks::files::rank_in_name;
use crate::base::hash::{HashMap, HashSet};
use crate::base::sort;
use serde::{Deserialize, Serialize};

/// Phase of a range of GPU time; only equal phases are compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Slot {
    Prefill,
    Decode,
    Mixed,
    Idle,
    /// A step without a known phase.
    #[default]
    Step,
    /// Outside steps, in a trace with steps.
    Outside,
    /// A trace without steps; one range per GPU.
    Whole,
}

impl Slot {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Slot::Prefill => "prefill",
            Slot::Decode => "decode",
            Slot::Mixed => "mixed",
            Slot::Idle => "idle step",
            Slot::Step => "step",
            Slot::Outside => "in no step",
            Slot::Whole => "whole trace",
        }
    }

    /// One sample of it, for sentences: `decode step`.
    pub fn one(self) -> &'static str {
        match self {
            Slot::Prefill => "prefill step",
            Slot::Decode => "decode step",
            Slot::Mixed => "mixed step",
            Slot::Idle => "idle step",
            Slot::Step => "step",
            Slot::Outside => "GPU (outside steps)",
            Slot::Whole => "GPU (whole trace)",
        }
    }

    fn of(phase: Phase) -> Slot {
        match phase {
            Phase::Prefill => Slot::Prefill,
            Phase::Decode => Slot::Decode,
            Phase::Mixed => Slot::Mixed,
            Phase::Idle => Slot::Idle,
            Phase::Unknown => Slot::Step,
        }
    }

    /// Whether it passes a filter.
    pub fn passes(self, filter: PhaseFilter) -> bool {
        match filter {
            PhaseFilter::All => true,
            PhaseFilter::Prefill => self == Slot::Prefill,
            PhaseFilter::Decode => self == Slot::Decode,
        }
    }
}

/// Kernels, copies or fills of one name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Name {
    /// As in the trace.
    pub text: String,
    /// Index into [`GpuSide::operations`].
    pub operation: u32,
    /// Family; empty if unknown.
    pub family: String,
    pub is_kernel: bool,
    pub is_communication: bool,
    pub is_unknown: bool,
    /// Operator with the most launches, and its innermost Python frame; empty if unknown.
    pub cpu_op: String,
    pub frame: String,
}

/// Total duration of one name in one phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sum {
    pub slot: Slot,
    /// Index into [`GpuSide::names`].
    pub name: u32,
    pub count: u64,
    /// Nanoseconds.
    pub total: i64,
    /// Those of [`Sum::count`] and [`Sum::total`] in steps that are cut off: [`Stretch::is_cut`].
    pub cut: (u64, i64),
}

impl Sum {
    /// Count and total of the steps that numbers per step are of: all, or as [`GpuSide::leaves_out_cut`] says.
    pub fn per_step(&self, leaves_out_cut: bool) -> (u64, i64) {
        let (n, ns) = if leaves_out_cut { self.cut } else { (0, 0) };
        (self.count - n, self.total.saturating_sub(ns))
    }
}

/// Index into [`GpuSide::operations`], nanoseconds, count.
pub type OfOperation = (u32, i64, u64);

/// Time of one GPU from the start of a step to that of the next ([`step_windows`]), or all of it without steps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stretch {
    pub slot: Slot,
    /// GPU of the side, over all its files.
    pub device: u32,
    /// Word of the annotation, if it has one: `DRAFT` of `step[DRAFT bs=4]`. Steps of a phase that have different words do different
    /// things.
    pub word: String,
    /// From the annotation.
    pub tokens: Option<u64>,
    pub time: Time,
    /// Whether it is the last step of the GPU, so that idle time at its end is missing.
    pub is_cut: bool,
    /// Kernels and copies launched in the step: nanoseconds and count by operation.
    pub by_operation: Vec<OfOperation>,
}

/// Parts of the time in nanoseconds, as in [`Parts`]; the first four add up to the total.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Time {
    pub computation: i64,
    pub exposed_communication: i64,
    pub exposed_copies: i64,
    pub idle: i64,
    /// The host-bound part of [`Time::idle`]: the next kernel was not launched yet.
    pub idle_for_host: i64,
    /// The part of [`Time::idle`] with an unknown cause: the launch of the next kernel is not recorded, or clocks disagree.
    pub idle_unknown: i64,
    /// Communication and copies, overlapped or not.
    pub communication: i64,
    pub copies: i64,
    /// The part of the busy time in which only kernels ran that were launched outside steps.
    pub outside: i64,
}

impl Time {
    /// Total.
    pub fn wall(&self) -> i64 {
        self.busy().saturating_add(self.idle)
    }

    /// Time in which anything ran.
    pub fn busy(&self) -> i64 {
        self.computation.saturating_add(self.exposed_communication).saturating_add(self.exposed_copies)
    }

    /// Adds another time.
    pub fn add(&mut self, other: &Time) {
        for (sum, more) in [
            (&mut self.computation, other.computation),
            (&mut self.exposed_communication, other.exposed_communication),
            (&mut self.exposed_copies, other.exposed_copies),
            (&mut self.idle, other.idle),
            (&mut self.idle_for_host, other.idle_for_host),
            (&mut self.idle_unknown, other.idle_unknown),
            (&mut self.communication, other.communication),
            (&mut self.copies, other.copies),
            (&mut self.outside, other.outside),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

    /// The part of [`Time::idle`] before kernels that were launched in time: between kernels, stalled after launch, or before a page
    /// migration.
    pub fn idle_queued(&self) -> i64 {
        self.idle.saturating_sub(self.idle_for_host).saturating_sub(self.idle_unknown)
    }

    fn of(parts: &Parts, [idle_for_host, idle_unknown]: [i64; 2], outside: i64) -> Time {
        Time {
            computation: parts.computation,
            exposed_communication: parts.exposed_communication,
            exposed_copies: parts.exposed_copies,
            idle: parts.idle,
            idle_for_host,
            idle_unknown,
            communication: parts.communication,
            copies: parts.copies,
            outside,
        }
    }
}

impl Stretch {
    /// Total duration of its kernels and copies.
    pub fn work(&self) -> i64 {
        self.by_operation.iter().map(|(_, ns, _)| *ns).sum_ns()
    }

    /// Number of kernels and copies.
    pub fn launches(&self) -> u64 {
        self.by_operation.iter().map(|(_, _, n)| n).sum()
    }

    /// Steps of one kind do the same.
    pub fn kind(&self) -> (&str, Option<u64>) {
        (&self.word, self.tokens)
    }
}

/// Steps for numbers per step: without those that are cut off, unless there are no others.
pub fn whole<'a>(
    steps: impl Iterator<Item = &'a Stretch> + Clone,
) -> impl Iterator<Item = &'a Stretch> + Clone {
    let is_any_whole = steps.clone().any(|step| !step.is_cut);
    steps.filter(move |step| !(is_any_whole && step.is_cut))
}

/// A kernel or copy of a typical step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Piece {
    /// Index into [`GpuSide::names`].
    pub name: u32,
    /// Nanoseconds.
    pub dur: i64,
    /// Nanoseconds from the start of its trace.
    pub start: i64,
}

/// A typical step of a phase, or all of a GPU without steps, in launch order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sequence {
    pub slot: Slot,
    pub pieces: Vec<Piece>,
    /// Number of kernels beyond the maximum.
    pub n_left_out: u64,
    /// Whether launches of the step have no device record, so that it may have run more kernels.
    pub is_partial: bool,
}

/// A layer of the model, over all steps of a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Layer {
    pub slot: Slot,
    pub number: u32,
    /// Steps that have it, each as often as it has GPUs.
    pub steps: u64,
    /// Busy time over those steps, in nanoseconds.
    pub busy: i64,
    pub kernels: u64,
}

/// Maximum kernels kept of a typical step.
pub const MAX_PIECES: usize = 200_000;

/// One side.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct GpuSide {
    /// GPU models, or the vendor.
    pub gpus: String,
    /// Whether the models of all GPUs are known.
    pub has_models: bool,
    pub is_amd: bool,
    /// Number of GPUs with activity, over all files.
    pub n_devices: u32,
    /// Ranks of the files, with the number of ranks of their run, where these are known: in order.
    pub ranks: Vec<(i64, Option<i64>)>,
    pub operations: Vec<String>,
    pub names: Vec<Name>,
    pub sums: Vec<Sum>,
    pub stretches: Vec<Stretch>,
    pub sequences: Vec<Sequence>,
    pub layers: Vec<Layer>,
    /// Kernels, copies and fills without a recorded launch.
    pub n_unlinked: u64,
    /// Kernel and graph launches, and those without a timed device record.
    pub n_launches: u64,
    pub n_missing: u64,
    /// Kernels and copies without an end.
    pub n_unfinished: u64,
    /// Steps affected by missing records, which are excluded.
    pub n_left_out_steps: u64,
    /// Phases in which all steps were excluded, in order.
    pub left_out_slots: Vec<Slot>,
    /// What was recorded in the excluded steps: whole traces have it.
    left_out: LeftOut,
    /// Whether too many steps are affected, so idle time is unknown and only busy time is compared.
    pub is_busy_only: bool,
    /// Whether Python frames are recorded.
    pub has_frames: bool,
    /// Whether a trace has steps, but no kernel or copy that is known to belong to one.
    pub has_unlinked_steps: bool,
}

/// Recorded work of steps that lack records, so no step time can be told.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
struct LeftOut {
    sums: Vec<Sum>,
    stretches: Vec<Stretch>,
}

impl GpuSide {
    /// Builds the side from its traces; `None` without GPU traces.
    pub fn of(traces: &[GpuTrace<'_>]) -> Option<GpuSide> {
        if traces.is_empty() {
            return None;
        }
        let mut builder = Builder::default();
        let mut labels: Vec<String> = Vec::new();
        let mut has_models = true;
        for gpu in traces {
            builder.add(gpu);
            let models = gpu_models(gpu);
            has_models &= !models.is_empty()
                && gpu.devices.iter().all(|device| !model_of(gpu, device.number).is_empty());
            let label = if models.is_empty() { format!("{} GPU", gpu.vendor.name()) } else { models };
            if !labels.contains(&label) {
                labels.push(label);
            }
            builder.side.is_amd |= gpu.vendor == Vendor::Amd;
        }
        let mut side = builder.finish();
        let rank = |gpu: &GpuTrace<'_>| gpu.facts.rank.or_else(|| rank_in_name(&gpu.trace.source.file_name));
        side.ranks = traces.iter().filter_map(|gpu| Some((rank(gpu)?, gpu.facts.world_size))).collect();
        sort::by(&mut side.ranks, Ord::cmp);
        side.ranks.dedup();
        // The order of files says nothing.
        sort::by(&mut labels, Ord::cmp);
        side.gpus = labels.join(", ");
        side.has_models = has_models;
        Some(side)
    }

    /// A copy without idle time in those phases.
    pub fn busy_only(&self, is_in: impl Fn(Slot) -> bool) -> GpuSide {
        let mut side = self.clone();
        for stretch in side.stretches.iter_mut().filter(|stretch| is_in(stretch.slot)) {
            let time = &mut stretch.time;
            (time.idle, time.idle_for_host, time.idle_unknown) = (0, 0, 0);
        }
        side
    }

    /// Whether a phase has steps, but none that another step ends: [`Stretch::is_cut`].
    pub fn is_endless(&self, slot: Slot) -> bool {
        let mut steps = self.of_slot(slot).peekable();
        steps.peek().is_some() && steps.all(|step| step.is_cut)
    }

    /// Whether numbers per step of a phase leave out steps that are cut off: [`whole`].
    pub fn leaves_out_cut(&self, slot: Slot) -> bool {
        self.of_slot(slot).any(|step| step.is_cut) && !self.is_endless(slot)
    }

    /// Total duration of kernels and copies in phases that pass the filter.
    pub fn work(&self, filter: PhaseFilter) -> i64 {
        self.sums.iter().filter(|sum| sum.slot.passes(filter)).map(|sum| sum.total).sum_ns()
    }

    /// Phases with activity or steps, in order.
    pub fn slots(&self) -> Vec<Slot> {
        let mut slots: Vec<Slot> = self.sums.iter().map(|sum| sum.slot).collect();
        slots.extend(self.stretches.iter().map(|stretch| stretch.slot));
        sort::by(&mut slots, Ord::cmp);
        slots.dedup();
        slots
    }

    /// Steps of a phase.
    pub fn of_slot(&self, slot: Slot) -> impl Iterator<Item = &Stretch> + Clone {
        self.stretches.iter().filter(move |stretch| stretch.slot == slot)
    }

    /// A copy as if the trace had no steps. What excluded steps lack is then lacking in the whole, so only busy time is compared.
    pub fn as_a_whole(&self) -> GpuSide {
        let mut by_device: Vec<Option<Stretch>> = vec![None; self.n_devices as usize];
        for stretch in self.stretches.iter().chain(&self.left_out.stretches) {
            let Some(place) = by_device.get_mut(stretch.device as usize) else { continue };
            let whole = place.get_or_insert_with(|| Stretch {
                slot: Slot::Whole,
                word: String::new(),
                tokens: None,
                time: Time::default(),
                is_cut: false,
                by_operation: Vec::new(),
                device: stretch.device,
            });
            whole.time.add(&stretch.time);
            // Nothing is outside of the whole.
            whole.time.outside = 0;
            for (operation, ns, n) in &stretch.by_operation {
                add_operation(&mut whole.by_operation, *operation, *ns, *n);
            }
        }
        let mut sums: HashMap<u32, Sum> = HashMap::default();
        for sum in self.sums.iter().chain(&self.left_out.sums) {
            let none = Sum { slot: Slot::Whole, count: 0, total: 0, cut: (0, 0), ..*sum };
            let whole = sums.entry(sum.name).or_insert(none);
            whole.count += sum.count;
            whole.total = whole.total.saturating_add(sum.total);
        }
        let mut sums: Vec<Sum> = sums.into_values().collect();
        sort::by_key(&mut sums, |sum| sum.name);
        // A typical step is no whole trace, and its kernels would seem to be all that ran.
        let is_whole = |sequence: &&Sequence| sequence.slot == Slot::Whole;
        GpuSide {
            sums,
            stretches: by_device.into_iter().flatten().collect(),
            sequences: self.sequences.iter().filter(is_whole).cloned().collect(),
            layers: Vec::new(),
            n_left_out_steps: 0,
            left_out_slots: Vec::new(),
            left_out: LeftOut::default(),
            is_busy_only: self.is_busy_only || self.n_left_out_steps > 0,
            ..self.clone()
        }
    }
}

/// GPU models of a trace; empty if none is known.
fn gpu_models(gpu: &GpuTrace<'_>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for device in &gpu.devices {
        let name = model_of(gpu, device.number);
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    sort::by(&mut names, Ord::cmp);
    names.join(", ")
}

/// Model of a device; empty if unknown.
fn model_of<'a>(gpu: &'a GpuTrace<'_>, number: Option<i64>) -> &'a str {
    number.and_then(|number| gpu.facts.gpu_of(number)).map_or("", |gpu| &gpu.name)
}

fn add_operation(list: &mut Vec<OfOperation>, operation: u32, ns: i64, n: u64) {
    match list.iter_mut().find(|(known, ..)| *known == operation) {
        Some(known) => (known.1, known.2) = (known.1.saturating_add(ns), known.2 + n),
        None => list.push((operation, ns, n)),
    }
}

#[derive(Default)]
struct Builder {
    side: GpuSide,
    names: HashMap<(String, bool), u32>,
    operations: HashMap<String, u32>,
    sums: HashMap<(Slot, u32), Sum>,
    /// Of steps that are left out.
    left_out_sums: HashMap<(Slot, u32), Sum>,
    layers: HashMap<(Slot, u32), Layer>,
    /// By name: how often each operator and frame launched it.
    launchers: HashMap<u32, HashMap<(String, String), u64>>,
}

impl Builder {
    fn add(&mut self, gpu: &GpuTrace<'_>) {
        let has_steps = gpu.work.iter().any(|work| work.step != NO_STEP);
        self.side.has_unlinked_steps |= !gpu.steps.is_empty() && !gpu.work.is_empty() && !has_steps;
        let slot_of = |step: u32| match gpu.annotation(step) {
            _ if !has_steps => Slot::Whole,
            Some(what) => Slot::of(what.phase),
            None => Slot::Outside,
        };
        let names = self.names_of(gpu);
        self.side.n_launches += gpu.recorded.n_launches;
        self.side.n_missing += gpu.silent.iter().filter(|silent| silent.hides_work()).count() as u64;
        self.side.n_unfinished += gpu.unfinished.len() as u64;
        let left_out = self.steps_left_out(gpu);
        self.side.n_left_out_steps += left_out.len() as u64;
        self.side.left_out_slots.extend(left_out.iter().map(|step| slot_of(*step)));
        let activities: Vec<Activity> =
            (0..gpu.devices.len() as u32).map(|device| Activity::new(gpu, device)).collect();
        let windows: Vec<Vec<StepWindow>> = (activities.iter().zip(0..))
            .map(|(activity, device)| activity.window.map_or(Vec::new(), |of| step_windows(gpu, device, of)))
            .collect();
        // A device has at most one, its last.
        let cut: Vec<u32> =
            windows.iter().map(|all| all.iter().find(|of| of.is_cut).map_or(NO_STEP, |of| of.step)).collect();
        // Of unknown launch: the step in which it runs, as in the report on GPU time.
        let step_of = |work: &Work| {
            if !has_steps || work.step != NO_STEP || gpu.is_outside_steps(work) {
                return work.step;
            }
            let of_device = &windows[gpu.streams[work.stream as usize].device as usize];
            window_at(of_device, work.start).map_or(NO_STEP, |of| of.step)
        };
        let mut by_step: HashMap<(u32, u32), Vec<OfOperation>> = HashMap::default();
        for (work, name) in gpu.work.iter().zip(&names) {
            let step = step_of(work);
            let is_left_out = left_out.contains(&step);
            let slot = slot_of(step);
            let device = gpu.streams[work.stream as usize].device;
            let none = Sum { slot, name: *name, count: 0, total: 0, cut: (0, 0) };
            let sums = if is_left_out { &mut self.left_out_sums } else { &mut self.sums };
            let sum = sums.entry((slot, *name)).or_insert(none);
            (sum.count, sum.total) = (sum.count + 1, sum.total.saturating_add(work.dur()));
            if step != NO_STEP && step == cut[device as usize] {
                sum.cut = (sum.cut.0 + 1, sum.cut.1.saturating_add(work.dur()));
            }
            let operation = self.side.names[*name as usize].operation;
            add_operation(by_step.entry((device, step)).or_default(), operation, work.dur(), 1);
            self.side.n_unlinked += u64::from(work.launch == NONE && !gpu.is_migration(work) && !is_left_out);
        }
        let gaps = gaps::of_devices(gpu);
        for (device, (activity, mut windows)) in (0..).zip(activities.iter().zip(windows)) {
            let Some(whole) = activity.window else { continue };
            let number = self.side.n_devices;
            self.side.n_devices += 1;
            let has_outside = windows.first().is_some_and(|first| first.step == NO_STEP);
            // Activity outside steps may run at any time, so it gets a range of its own, possibly empty.
            if windows.is_empty() || (!has_outside && by_step.contains_key(&(device, NO_STEP))) {
                let window = if windows.is_empty() { whole } else { (whole.0, whole.0) };
                windows.push(StepWindow::whole(NO_STEP, device, window));
            }
            let apart = Activity::in_steps_and_outside(gpu, device).filter(|_| has_steps);
            let waits = [
                gaps_of(gpu, &gaps, device, |cause| cause == Cause::Host),
                gaps_of(gpu, &gaps, device, |cause| matches!(cause, Cause::Unknown | Cause::Clocks)),
            ];
            for window in windows {
                let is_left_out = left_out.contains(&window.step);
                let (start, end) = window.window;
                let parts = activity.parts(window.window);
                self.side.is_busy_only |= parts.unrecorded > 0 && !is_left_out;
                let idle = [0, 1].map(|cause: usize| {
                    let from = waits[cause].partition_point(|wait| wait.0 < start);
                    let within = waits[cause][from..].iter().take_while(|wait| wait.0 < end);
                    within.map(|wait| wait.1).sum_ns()
                });
                let outside = match &apart {
                    Some([inside, outside]) if window.step != NO_STEP => {
                        inside.parts_beside(outside, window.window)[1].total
                    }
                    _ => 0,
                };
                let stretches = match is_left_out {
                    true => &mut self.side.left_out.stretches,
                    false => &mut self.side.stretches,
                };
                stretches.push(Stretch {
                    slot: slot_of(window.step),
                    device: number,
                    word: gpu
                        .step(window.step)
                        .and_then(|step| unknown_word(gpu.name(step.slice)))
                        .map_or(String::new(), str::to_string),
                    tokens: gpu.annotation(window.step).and_then(|what| what.tokens()),
                    time: Time::of(&parts, idle, outside),
                    is_cut: window.is_cut,
                    by_operation: by_step.remove(&(device, window.step)).unwrap_or_default(),
                });
            }
        }
        self.sequences(gpu, &names, &slot_of, &left_out);
        let layers = gpu_layers::by_attention(gpu);
        for layer in layers.iter().filter(|layer| !left_out.contains(&layer.step)) {
            let of = self.layers.entry((slot_of(layer.step), layer.number)).or_insert(Layer {
                slot: slot_of(layer.step),
                number: layer.number,
                steps: 0,
                busy: 0,
                kernels: 0,
            });
            of.steps += 1;
            of.busy = of.busy.saturating_add(layer.busy(gpu));
            of.kernels += layer.work.len() as u64;
        }
    }

    /// Steps to exclude: those with missing records, unless no others ran anything, and those whose duration is therefore unknown,
    /// unless fewer than half of the rest would remain. What is not excluded is compared by busy time only.
    fn steps_left_out(&mut self, gpu: &GpuTrace<'_>) -> HashSet<u32> {
        if !gpu.hides_work() {
            return HashSet::default();
        }
        let mut left_out: HashSet<u32> =
            (0..gpu.steps.len() as u32).filter(|step| is_partial(gpu, *step)).collect();
        let mut windows: Vec<StepWindow> = (0..gpu.devices.len() as u32)
            .filter_map(|device| Some(step_windows(gpu, device, Activity::new(gpu, device).window?)))
            .flatten()
            .filter(|window| gpu.step(window.step).is_some())
            .collect();
        if windows.iter().all(|window| left_out.contains(&window.step)) {
            self.side.is_busy_only |= !windows.is_empty();
            left_out.clear();
            return left_out;
        }
        windows.retain(|window| !left_out.contains(&window.step));
        let incomplete = || windows.iter().filter(|window| !window.is_complete);
        if 2 * incomplete().count() <= windows.len() {
            left_out.extend(incomplete().map(|window| window.step));
        } else {
            self.side.is_busy_only = true;
        }
        left_out
    }

    /// Name index of each kernel or copy.
    fn names_of(&mut self, gpu: &GpuTrace<'_>) -> Vec<u32> {
        let mut known: HashMap<(u32, u32, bool), u32> = HashMap::default();
        let mut around: HashMap<(u32, u32), (String, String)> = HashMap::default();
        let mut out = Vec::with_capacity(gpu.work.len());
        for work in &gpu.work {
            let is_kernel = work.kind == Kind::Kernel;
            let text = gpu.trace.slices.name[work.slice as usize];
            let number = match known.get(&(text.0, work.class, is_kernel)) {
                Some(number) => *number,
                None => {
                    let number = self.name(gpu, work, is_kernel);
                    known.insert((text.0, work.class, is_kernel), number);
                    number
                }
            };
            if work.launch != NONE || work.op != NONE {
                let of_launch = around.entry((work.launch, work.op)).or_insert_with(|| launcher(gpu, work));
                self.side.has_frames |= !of_launch.1.is_empty();
                let launchers = self.launchers.entry(number).or_default();
                match launchers.get_mut(of_launch) {
                    Some(n) => *n += 1,
                    None => _ = launchers.insert(of_launch.clone(), 1),
                }
            }
            out.push(number);
        }
        out
    }

    fn name(&mut self, gpu: &GpuTrace<'_>, work: &Work, is_kernel: bool) -> u32 {
        let text = gpu.name(work.slice);
        let next = self.side.names.len() as u32;
        let number = *self.names.entry((text.to_string(), is_kernel)).or_insert(next);
        if number == next {
            let class = gpu.class(work);
            let n_operations = self.side.operations.len() as u32;
            let operation = *self.operations.entry(class.operation.clone()).or_insert(n_operations);
            if operation == n_operations {
                self.side.operations.push(class.operation.clone());
            }
            self.side.names.push(Name {
                text: text.to_string(),
                operation,
                family: class.family.clone(),
                is_kernel,
                is_communication: class.is_communication,
                is_unknown: class.is_unknown,
                cpu_op: String::new(),
                frame: String::new(),
            });
        }
        number
    }

    /// Adds a typical step of each phase: of those that are not excluded, the one with the median total duration.
    fn sequences(
        &mut self,
        gpu: &GpuTrace<'_>,
        names: &[u32],
        slot_of: &dyn Fn(u32) -> Slot,
        left_out: &HashSet<u32>,
    ) {
        let mut by_slot: HashMap<Slot, Vec<(i64, u32, u32)>> = HashMap::default();
        let mut lengths: HashMap<(u32, u32), i64> = HashMap::default();
        for work in gpu.work.iter().filter(|work| !left_out.contains(&work.step)) {
            let device = gpu.streams[work.stream as usize].device;
            let length = lengths.entry((device, work.step)).or_default();
            *length = length.saturating_add(work.dur());
        }
        let mut lengths: Vec<((u32, u32), i64)> = lengths.into_iter().collect();
        sort::by(&mut lengths, Ord::cmp);
        for ((device, step), ns) in lengths {
            by_slot.entry(slot_of(step)).or_default().push((ns, step, device));
        }
        let mut chosen: Vec<(Slot, u32, u32)> = Vec::new();
        for (slot, mut steps) in by_slot {
            // The first file with steps of a phase represents the side.
            let is_known = self.side.sequences.iter().any(|sequence| sequence.slot == slot);
            if slot == Slot::Outside || is_known {
                continue;
            }
            sort::by(&mut steps, Ord::cmp);
            let middle = (steps.len() - 1) / 2;
            if let Some((_, step, device)) = steps.get(middle) {
                chosen.push((slot, *step, *device));
            }
        }
        sort::by(&mut chosen, Ord::cmp);
        let trace_start = gpu.trace.span().map_or(0, |(start, _)| start);
        for (slot, step, device) in chosen {
            let is_of = |work: &Work| work.step == step && gpu.streams[work.stream as usize].device == device;
            // Launch order does not depend on overlap.
            let mut pieces: Vec<(i64, u32, i64, Piece)> = gpu
                .work
                .iter()
                .zip(names)
                .filter(|(work, _)| is_of(work))
                .map(|(work, name)| {
                    let launched = match work.launch {
                        NONE => work.start,
                        launch => gpu.trace.slices.ts[launch as usize],
                    };
                    let start = work.start.saturating_sub(trace_start);
                    (launched, work.stream, work.start, Piece { name: *name, dur: work.dur(), start })
                })
                .collect();
            sort::by_key(&mut pieces, |(launched, stream, start, _)| (*launched, *stream, *start));
            let n_left_out = pieces.len().saturating_sub(MAX_PIECES) as u64;
            pieces.truncate(MAX_PIECES);
            let pieces = pieces.into_iter().map(|(.., piece)| piece).collect();
            let is_partial = is_partial(gpu, step);
            self.side.sequences.push(Sequence { slot, pieces, n_left_out, is_partial });
        }
    }

    fn finish(mut self) -> GpuSide {
        let in_order = |sums: HashMap<(Slot, u32), Sum>| {
            let mut sums: Vec<Sum> = sums.into_values().collect();
            sort::by_key(&mut sums, |sum| (sum.slot, sum.name));
            sums
        };
        self.side.left_out.sums = in_order(self.left_out_sums);
        let sums = in_order(self.sums);
        let is_left = |slot: &Slot| sums.iter().all(|sum| sum.slot != *slot);
        self.side.left_out_slots.retain(is_left);
        sort::by(&mut self.side.left_out_slots, Ord::cmp);
        self.side.left_out_slots.dedup();
        self.side.sums = sums;
        let mut layers: Vec<Layer> = self.layers.into_values().collect();
        sort::by_key(&mut layers, |layer| (layer.slot, layer.number));
        self.side.layers = layers;
        for (number, launchers) in self.launchers {
            let most = launchers.into_iter().max_by(|a, b| (a.1, &b.0).cmp(&(b.1, &a.0)));
            if let (Some(((op, frame), _)), Some(name)) = (most, self.side.names.get_mut(number as usize)) {
                (name.cpu_op, name.frame) = (op, frame);
            }
        }
        self.side
    }
}

/// Whether a step has launches without a device record; in a trace without steps, whether the trace has.
fn is_partial(gpu: &GpuTrace<'_>, step: u32) -> bool {
    let Some(of) = gpu.step(step) else { return step == NO_STEP && gpu.hides_work() };
    let within = gpu.silent.partition_point(|silent| silent.ts < of.start);
    let rest = gpu.silent[within..].iter().take_while(|silent| silent.ts <= of.end);
    rest.into_iter().any(|silent| {
        silent.hides_work()
            && of.process.is_none_or(|process| gpu.hosts.get(usize::from(silent.host)) == Some(&process))
    })
}

/// Gaps of a device with such a cause: start and duration, in order. No step starts inside one, since a step starts with a kernel.
fn gaps_of(
    gpu: &GpuTrace<'_>,
    gaps: &[Vec<Gap>],
    device: u32,
    is: impl Fn(Cause) -> bool,
) -> Vec<(i64, i64)> {
    let of_device = gaps[device as usize].iter().flat_map(|gap| gap.stretches(gpu));
    let chosen = of_device.filter(|stretch| is(stretch.cause));
    chosen.map(|stretch| (stretch.span.0, stretch.ns())).collect()
}

/// The operator and the innermost frame around a launch; the call itself without a recorded operator.
fn launcher(gpu: &GpuTrace<'_>, work: &Work) -> (String, String) {
    let op = if work.op != NONE { work.op } else { work.launch };
    let frame = if work.launch != NONE { gpu.frame_of(work.launch) } else { gpu.frame_of(work.op) };
    (gpu.name(op).to_string(), frame.map_or(String::new(), |frame| gpu.name(frame).to_string()))
}

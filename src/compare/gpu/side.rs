//! What one side gives to the comparison of GPUs: sums by phase and name, its steps, a typical step kernel by kernel.

use super::super::PhaseFilter;
use crate::analysis::gpu::annotation::Phase;
use crate::analysis::gpu::facts::Vendor;
use crate::analysis::gpu::gaps::{self, Cause, Gap};
use crate::analysis::gpu::model::NONE;
use crate::analysis::gpu::parts::{Activity, Parts, StepWindow, step_windows};
use crate::analysis::gpu::stats::SumNs;
use crate::analysis::gpu::steps::NO_STEP;
use crate::analysis::gpu::{GpuTrace, Kind, Work};
use crate::analysis::gpu_layers;
use crate::base::hash::{HashMap, HashSet};
use serde::{Deserialize, Serialize};

/// What a stretch of GPU time was for; only equal ones are compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Slot {
    Prefill,
    Decode,
    Mixed,
    Idle,
    /// A step that does not say what it did.
    Step,
    /// In no step, though the trace has steps.
    Outside,
    /// The trace has no steps; one stretch for each GPU.
    Whole,
}

impl Slot {
    /// What it is called.
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

    /// One of it: `decode step`, `recording`.
    pub fn one(self) -> &'static str {
        match self {
            Slot::Prefill => "prefill step",
            Slot::Decode => "decode step",
            Slot::Mixed => "mixed step",
            Slot::Idle => "idle step",
            Slot::Step => "step",
            Slot::Outside => "GPU, outside of steps",
            Slot::Whole => "GPU and recording",
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

    /// Whether a filter lets it through.
    pub fn passes(self, filter: PhaseFilter) -> bool {
        match filter {
            PhaseFilter::All => true,
            PhaseFilter::Prefill => self == Slot::Prefill,
            PhaseFilter::Decode => self == Slot::Decode,
        }
    }
}

/// Work of one name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Name {
    /// As in the trace.
    pub text: String,
    /// Index into [`GpuSide::operations`].
    pub operation: u32,
    /// Family and library, as far as they are known.
    pub family: String,
    pub is_kernel: bool,
    pub is_communication: bool,
    pub is_unknown: bool,
    /// The operator that launched most of it, and the innermost Python frame around that; empty if not known.
    pub cpu_op: String,
    pub frame: String,
}

/// Durations of work of one name in one phase, added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sum {
    pub slot: Slot,
    /// Index into [`GpuSide::names`].
    pub name: u32,
    pub count: u64,
    /// Nanoseconds.
    pub total: i64,
}

/// An operation, by its number in [`GpuSide::operations`]: nanoseconds, pieces.
pub type OfOperation = (u32, i64, u64);

/// Time of one GPU from the first work of a step to the first of the next, or all of it where there are no steps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stretch {
    pub slot: Slot,
    /// GPU of the side, over all its files.
    pub device: u32,
    /// As the annotation says.
    pub tokens: Option<u64>,
    pub time: Time,
    /// Work launched in the step: nanoseconds and pieces by operation, indices into [`GpuSide::operations`].
    pub by_operation: Vec<OfOperation>,
}

/// Parts of a stretch in nanoseconds; the first four of them are all of it. As [`Parts`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Time {
    pub computation: i64,
    pub exposed_communication: i64,
    pub exposed_copies: i64,
    pub idle: i64,
    /// The part of [`Time::idle`] in which the next work had not been launched yet when the GPU ran out of work.
    pub idle_for_host: i64,
    pub communication: i64,
}

impl Time {
    /// All of the stretch.
    pub fn wall(&self) -> i64 {
        self.busy().saturating_add(self.idle)
    }

    /// Where anything ran.
    pub fn busy(&self) -> i64 {
        self.computation.saturating_add(self.exposed_communication).saturating_add(self.exposed_copies)
    }

    /// Adds another stretch.
    pub fn add(&mut self, other: &Time) {
        for (sum, more) in [
            (&mut self.computation, other.computation),
            (&mut self.exposed_communication, other.exposed_communication),
            (&mut self.exposed_copies, other.exposed_copies),
            (&mut self.idle, other.idle),
            (&mut self.idle_for_host, other.idle_for_host),
            (&mut self.communication, other.communication),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

    fn of(parts: &Parts, idle_for_host: i64) -> Time {
        Time {
            computation: parts.computation,
            exposed_communication: parts.exposed_communication,
            exposed_copies: parts.exposed_copies,
            idle: parts.idle,
            idle_for_host,
            communication: parts.communication,
        }
    }
}

impl Stretch {
    /// Durations of its work added up.
    pub fn work(&self) -> i64 {
        self.by_operation.iter().map(|(_, ns, _)| *ns).sum_ns()
    }

    /// Pieces of work.
    pub fn launches(&self) -> u64 {
        self.by_operation.iter().map(|(_, _, n)| n).sum()
    }
}

/// A piece of work of a typical step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Piece {
    /// Index into [`GpuSide::names`].
    pub name: u32,
    /// Nanoseconds.
    pub dur: i64,
}

/// A typical step of a phase in the order in which its work was launched.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sequence {
    pub slot: Slot,
    pub pieces: Vec<Piece>,
    /// Pieces behind those, which were too many.
    pub n_left_out: u64,
}

/// A layer of the model, over all steps of a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Layer {
    pub slot: Slot,
    pub number: u32,
    pub steps: u64,
    /// Time in which any of its work ran, over those steps, in nanoseconds.
    pub busy: i64,
    pub kernels: u64,
}

/// Work of a typical step that is kept.
pub const MAX_PIECES: usize = 200_000;

/// One side.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct GpuSide {
    /// Models of the GPUs, or their maker.
    pub gpus: String,
    pub is_amd: bool,
    /// GPUs that did something, over all files.
    pub n_devices: u32,
    pub operations: Vec<String>,
    pub names: Vec<Name>,
    pub sums: Vec<Sum>,
    pub stretches: Vec<Stretch>,
    pub sequences: Vec<Sequence>,
    pub layers: Vec<Layer>,
    /// Kernels, copies and fills that are linked to no call.
    pub n_unlinked: u64,
    /// Launches of kernels and graphs, and those of them without a timed device record.
    pub n_launches: u64,
    pub n_missing: u64,
    /// Steps that such launches touch; they are in no number.
    pub n_left_out_steps: u64,
    /// Too many of them: nothing is known of idle time, and steps are as long as their recorded work.
    pub is_busy_only: bool,
    /// Whether Python frames are recorded.
    pub has_frames: bool,
}

impl GpuSide {
    /// Of the traces of a side; `None` if none has to do with a GPU.
    pub fn of(traces: &[GpuTrace<'_>]) -> Option<GpuSide> {
        if traces.is_empty() {
            return None;
        }
        let mut builder = Builder::default();
        let mut vendors: Vec<String> = Vec::new();
        for gpu in traces {
            builder.add(gpu);
            let label = gpu_label(gpu);
            if !vendors.contains(&label) {
                vendors.push(label);
            }
            builder.side.is_amd |= gpu.vendor == Vendor::Amd;
        }
        let mut side = builder.finish();
        side.gpus = vendors.join(", ");
        Some(side)
    }

    /// The same without idle time: what is left is time in which recorded work ran.
    pub fn busy_only(&self) -> GpuSide {
        let mut side = self.clone();
        for stretch in &mut side.stretches {
            (stretch.time.idle, stretch.time.idle_for_host) = (0, 0);
        }
        side
    }

    /// Durations of all work of the phases that pass.
    pub fn work(&self, filter: PhaseFilter) -> i64 {
        self.sums.iter().filter(|sum| sum.slot.passes(filter)).map(|sum| sum.total).sum_ns()
    }

    /// Phases with work or steps, in order.
    pub fn slots(&self) -> Vec<Slot> {
        let mut slots: Vec<Slot> = self.sums.iter().map(|sum| sum.slot).collect();
        slots.extend(self.stretches.iter().map(|stretch| stretch.slot));
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// Stretches of a phase.
    pub fn of_slot(&self, slot: Slot) -> impl Iterator<Item = &Stretch> {
        self.stretches.iter().filter(move |stretch| stretch.slot == slot)
    }

    /// The same side as if its steps had not been marked.
    pub fn as_a_whole(&self) -> GpuSide {
        let mut by_device: Vec<Option<Stretch>> = vec![None; self.n_devices as usize];
        for stretch in &self.stretches {
            let Some(place) = by_device.get_mut(stretch.device as usize) else { continue };
            let whole = place.get_or_insert_with(|| Stretch {
                slot: Slot::Whole,
                tokens: None,
                time: Time::default(),
                by_operation: Vec::new(),
                device: stretch.device,
            });
            whole.time.add(&stretch.time);
            for (operation, ns, n) in &stretch.by_operation {
                add_operation(&mut whole.by_operation, *operation, *ns, *n);
            }
        }
        let mut sums: HashMap<u32, Sum> = HashMap::default();
        for sum in &self.sums {
            let whole = sums.entry(sum.name).or_insert(Sum { slot: Slot::Whole, count: 0, total: 0, ..*sum });
            whole.count += sum.count;
            whole.total = whole.total.saturating_add(sum.total);
        }
        let mut sums: Vec<Sum> = sums.into_values().collect();
        sums.sort_unstable_by_key(|sum| sum.name);
        let largest = self.sequences.iter().max_by_key(|sequence| sequence.pieces.len());
        GpuSide {
            sums,
            stretches: by_device.into_iter().flatten().collect(),
            sequences: largest
                .map(|sequence| Sequence { slot: Slot::Whole, ..sequence.clone() })
                .into_iter()
                .collect(),
            layers: Vec::new(),
            ..self.clone()
        }
    }
}

fn gpu_label(gpu: &GpuTrace<'_>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for device in &gpu.devices {
        let name = device.number.and_then(|number| gpu.facts.gpu_of(number)).map_or("", |gpu| &gpu.name);
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() { format!("{} GPU", gpu.vendor.name()) } else { names.join(", ") }
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
    sums: HashMap<(Slot, u32), (u64, i64)>,
    layers: HashMap<(Slot, u32), Layer>,
    /// By name: how often each operator and frame launched it.
    launchers: HashMap<u32, HashMap<(String, String), u64>>,
}

impl Builder {
    fn add(&mut self, gpu: &GpuTrace<'_>) {
        let has_steps = gpu.work.iter().any(|work| work.step != NO_STEP);
        let slot_of = |step: u32| match gpu.annotation(step) {
            _ if !has_steps => Slot::Whole,
            Some(what) => Slot::of(what.phase),
            None => Slot::Outside,
        };
        let names = self.names_of(gpu);
        self.side.n_launches += gpu.recorded.n_launches;
        self.side.n_missing += gpu.silent.iter().filter(|silent| silent.hides_work()).count() as u64;
        let left_out = self.steps_left_out(gpu);
        self.side.n_left_out_steps += left_out.len() as u64;
        let mut by_step: HashMap<(u32, u32), Vec<OfOperation>> = HashMap::default();
        for (work, name) in gpu.work.iter().zip(&names).filter(|(work, _)| !left_out.contains(&work.step)) {
            let slot = slot_of(work.step);
            let sum = self.sums.entry((slot, *name)).or_default();
            *sum = (sum.0 + 1, sum.1.saturating_add(work.dur()));
            let device = gpu.streams[work.stream as usize].device;
            let operation = self.side.names[*name as usize].operation;
            add_operation(by_step.entry((device, work.step)).or_default(), operation, work.dur(), 1);
            self.side.n_unlinked += u64::from(work.launch == NONE);
        }
        let gaps = gaps::of_devices(gpu);
        for device in 0..gpu.devices.len() as u32 {
            let activity = Activity::new(gpu, device);
            let Some(whole) = activity.window else { continue };
            let number = self.side.n_devices;
            self.side.n_devices += 1;
            let mut windows = step_windows(gpu, device, whole);
            let has_outside = windows.first().is_some_and(|first| first.step == NO_STEP);
            // Work of no step may run at any time; it has a stretch of its own, if only of no length.
            if windows.is_empty() || (!has_outside && by_step.contains_key(&(device, NO_STEP))) {
                let window = if windows.is_empty() { whole } else { (whole.0, whole.0) };
                windows.push(StepWindow::whole(NO_STEP, device, window));
            }
            let waits = waits_for_host(gpu, &gaps, device);
            for window in windows.into_iter().filter(|window| !left_out.contains(&window.step)) {
                let (start, end) = window.window;
                let parts = activity.parts(window.window);
                self.side.is_busy_only |= parts.unrecorded > 0;
                let from = waits.partition_point(|wait| wait.0 < start);
                let idle_for_host =
                    waits[from..].iter().take_while(|wait| wait.0 < end).map(|wait| wait.1).sum_ns();
                self.side.stretches.push(Stretch {
                    slot: slot_of(window.step),
                    device: number,
                    tokens: gpu.annotation(window.step).and_then(|what| what.tokens()),
                    time: Time::of(&parts, idle_for_host),
                    by_operation: by_step.remove(&(device, window.step)).unwrap_or_default(),
                });
            }
        }
        self.sequences(gpu, &names, &slot_of);
        for layer in gpu_layers::by_attention(gpu) {
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

    /// Steps that are in no number: those of which some work is missing, and of the others those whose length is not known for it,
    /// unless that would leave less than half of them.
    fn steps_left_out(&mut self, gpu: &GpuTrace<'_>) -> HashSet<u32> {
        let mut left_out: HashSet<u32> =
            (0..gpu.steps.len() as u32).filter(|step| is_partial(gpu, *step)).collect();
        if gpu.silent.iter().all(|silent| !silent.hides_work()) {
            return left_out;
        }
        let windows: Vec<StepWindow> = (0..gpu.devices.len() as u32)
            .filter_map(|device| Some(step_windows(gpu, device, Activity::new(gpu, device).window?)))
            .flatten()
            .filter(|window| gpu.step(window.step).is_some() && !left_out.contains(&window.step))
            .collect();
        let incomplete = || windows.iter().filter(|window| !window.is_complete);
        if 2 * incomplete().count() <= windows.len() {
            left_out.extend(incomplete().map(|window| window.step));
        } else {
            self.side.is_busy_only = true;
        }
        left_out
    }

    /// The number of the name of each piece of work.
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

    /// A typical step of each phase: that of the median length among those of one GPU.
    fn sequences(&mut self, gpu: &GpuTrace<'_>, names: &[u32], slot_of: &dyn Fn(u32) -> Slot) {
        let mut by_slot: HashMap<Slot, Vec<(i64, u32, u32)>> = HashMap::default();
        let mut lengths: HashMap<(u32, u32), i64> = HashMap::default();
        for work in &gpu.work {
            let device = gpu.streams[work.stream as usize].device;
            let length = lengths.entry((device, work.step)).or_default();
            *length = length.saturating_add(work.dur());
        }
        let mut lengths: Vec<((u32, u32), i64)> = lengths.into_iter().collect();
        lengths.sort_unstable();
        for ((device, step), ns) in lengths {
            by_slot.entry(slot_of(step)).or_default().push((ns, step, device));
        }
        let mut chosen: Vec<(Slot, u32, u32)> = Vec::new();
        for (slot, mut steps) in by_slot {
            // The first file that has steps of a phase stands for the side.
            let is_known = self.side.sequences.iter().any(|sequence| sequence.slot == slot);
            if slot == Slot::Outside || is_known {
                continue;
            }
            steps.sort_unstable();
            let middle = (steps.len() - 1) / 2;
            if let Some((_, step, device)) = steps.get(middle) {
                chosen.push((slot, *step, *device));
            }
        }
        chosen.sort_unstable();
        for (slot, step, device) in chosen {
            let is_of = |work: &Work| work.step == step && gpu.streams[work.stream as usize].device == device;
            // In the order of launches, which does not depend on what runs beside what.
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
                    (launched, work.stream, work.start, Piece { name: *name, dur: work.dur() })
                })
                .collect();
            pieces.sort_by_key(|(launched, stream, start, _)| (*launched, *stream, *start));
            let n_left_out = pieces.len().saturating_sub(MAX_PIECES) as u64;
            pieces.truncate(MAX_PIECES);
            let pieces = pieces.into_iter().map(|(.., piece)| piece).collect();
            self.side.sequences.push(Sequence { slot, pieces, n_left_out });
        }
    }

    fn finish(mut self) -> GpuSide {
        let mut sums: Vec<Sum> = self
            .sums
            .into_iter()
            .map(|((slot, name), (count, total))| Sum { slot, name, count, total })
            .collect();
        sums.sort_unstable_by_key(|sum| (sum.slot, sum.name));
        self.side.sums = sums;
        let mut layers: Vec<Layer> = self.layers.into_values().collect();
        layers.sort_unstable_by_key(|layer| (layer.slot, layer.number));
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

/// Whether something was launched in a step of which there is no record.
fn is_partial(gpu: &GpuTrace<'_>, step: u32) -> bool {
    let Some(of) = gpu.step(step) else { return false };
    let within = gpu.silent.partition_point(|silent| silent.ts < of.start);
    let rest = gpu.silent[within..].iter().take_while(|silent| silent.ts <= of.end);
    rest.into_iter().any(|silent| {
        silent.hides_work()
            && of.process.is_none_or(|process| gpu.hosts.get(usize::from(silent.host)) == Some(&process))
    })
}

/// Stretches in which a device had nothing to do, and in which what it did next was launched only after it had run out of
/// work: starts and lengths, in order. No step of a device starts inside of one, as that would be work.
fn waits_for_host(gpu: &GpuTrace<'_>, gaps: &[Vec<Gap>], device: u32) -> Vec<(i64, i64)> {
    let of_device = gaps[device as usize].iter().flat_map(|gap| gap.stretches(gpu));
    let waits = of_device.filter(|stretch| stretch.cause == Cause::Host);
    waits.map(|stretch| (stretch.span.0, stretch.ns())).collect()
}

/// The operator and the innermost frame around a launch; the call itself where no operator is recorded.
fn launcher(gpu: &GpuTrace<'_>, work: &Work) -> (String, String) {
    let op = if work.op != NONE { work.op } else { work.launch };
    let frame = if work.launch != NONE { gpu.frame_of(work.launch) } else { gpu.frame_of(work.op) };
    (gpu.name(op).to_string(), frame.map_or(String::new(), |frame| gpu.name(frame).to_string()))
}

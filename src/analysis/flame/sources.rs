//! The graphs of a trace: kernel time and GPU time by what launched it, stack profiles, samples, and threads by their slices.

use crate::analysis::Context;
use crate::analysis::gpu::GpuTrace;
use crate::analysis::gpu::gaps::{self, Cause};
use crate::analysis::gpu::kind::{Kind, Kinds};
use crate::analysis::gpu::model::NONE;
use crate::analysis::gpu::parts;
use crate::analysis::gpu::steps::NO_STEP;
use crate::analysis::hot_frames::places;
use crate::analysis::memory_snapshot;
use crate::analysis::stack_functions::amounts::Measure;
use crate::analysis::stack_functions::{NO_UNIT, Weight};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::{Unit, format_ns};
use crate::stacks::NO_STACK;
use crate::stacks::graph::{
    FrameClass, GraphBuilder, GraphFrame, MAX_ORDERED, NO_LINE, NO_TEXT, NodeId, ROOT, StackGraph,
};
use crate::trace::Trace;
use crate::trace::emit_nvtx;
use crate::trace::labels::{shown, thread_label};
use crate::trace::samples::{self, FrameId, StackId};
use crate::trace::slices::{Class, SliceId};
use crate::trace::stack_profiles::StackProfile;
use crate::trace::tracks::Place;
use std::collections::BTreeSet;

/// Kinds of weights of a profile with graphs of their own.
const MAX_WEIGHTS: usize = 8;
/// Kinds of weights of an export. Each takes a value in every sample.
const MAX_EXPORTED: usize = 64;

/// GPUs with graphs of their memory at a moment.
const MAX_MOMENTS: usize = 32;

/// Slices beyond which those of threads are not merged: each takes memory.
pub(super) const MAX_SLICES: usize = 20_000_000;

/// What graphs have of the weights.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// As boxes show them: samples without a stack below a frame that says so.
    Drawn,
    /// As other programs read them: all weights of profiles, and samples without a stack end in [`ROOT`].
    Whole,
}

/// All graphs of a run with weight in them, each of one file.
pub fn graphs(context: &Context<'_>) -> Vec<StackGraph> {
    of_files(context, Extent::Drawn)
}

/// [`graphs`] for an export: with all weights of profiles; samples without a stack end in [`ROOT`].
pub fn whole_graphs(context: &Context<'_>) -> Vec<StackGraph> {
    of_files(context, Extent::Whole)
}

fn of_files(context: &Context<'_>, extent: Extent) -> Vec<StackGraph> {
    let several = context.run.traces.len() > 1;
    let mut graphs = Vec::new();
    for (trace, of_file) in context.run.traces.iter().zip(by_file(context, extent)) {
        for mut graph in of_file {
            if several {
                graph.title = format!("{} · {}", graph.title, trace.source.file_name);
            }
            graphs.push(graph);
        }
    }
    graphs
}

/// Nodes of a graph for a comparison, which goes from worker to worker.
const MAX_COMPARED: usize = 100_000;

/// The graphs of a run for a comparison: those of one kind of all files as one, without times.
pub fn compared_graphs(context: &Context<'_>) -> Vec<StackGraph> {
    let all: Vec<StackGraph> = by_file(context, Extent::Drawn).into_iter().flatten().collect();
    let mut kinds: Vec<Vec<&StackGraph>> = Vec::new();
    for graph in &all {
        match kinds.iter_mut().find(|kind| super::is_like(kind[0], graph)) {
            Some(kind) => kind.push(graph),
            None => kinds.push(vec![graph]),
        }
    }
    let whole = kinds.iter().filter_map(|kind| StackGraph::sum(kind));
    whole.map(|graph| graph.reduced(MAX_COMPARED)).collect()
}

fn by_file(context: &Context<'_>, extent: Extent) -> Vec<Vec<StackGraph>> {
    let mut files = Vec::new();
    for trace in &context.run.traces {
        let of_trace = context.gpu().iter().find(|gpu| std::ptr::eq(gpu.trace, trace));
        let mut own: Vec<StackGraph> = of_trace.map(of_gpu).unwrap_or_default();
        let weights = Weight::all(trace);
        let n_kinds = if extent == Extent::Whole { MAX_EXPORTED } else { MAX_WEIGHTS };
        own.extend(Weight::of_first_kinds(&weights, n_kinds).map(|weight| of_profiles(weight, extent)));
        own.extend(context.query.memory_at.map(|moment| of_moment(trace, moment)).unwrap_or_default());
        own.extend(of_samples(trace, extent));
        own.extend(of_threads(trace));
        own.retain(|graph| match extent {
            Extent::Drawn => !graph.is_empty(),
            Extent::Whole => graph.own.iter().any(|own| own.weight != 0.0),
        });
        let seconds = span_ns(trace, &weights).map_or(0.0, |ns| ns as f64 / 1e9);
        // Bytes are those of a moment.
        for graph in own.iter_mut().filter(|graph| graph.unit != Unit::Bytes) {
            graph.seconds = (seconds, seconds);
        }
        files.push(own);
    }
    files
}

/// Nanoseconds from the first to the last time in a trace, whose weights these are; `None` without times.
fn span_ns(trace: &Trace, weights: &[Weight<'_>]) -> Option<i64> {
    let of_profiles = || weights.iter().filter_map(Weight::duration_ns).max();
    trace.reported().map(|(start, end)| end.saturating_sub(start)).or_else(of_profiles)
}

/// Nanoseconds from the first to the last time in a trace; `None` without times.
pub fn recorded_ns(trace: &Trace) -> Option<i64> {
    span_ns(trace, &Weight::all(trace))
}

fn text(trace: &Trace, name: StringId) -> &str {
    shown(trace.strings.get_opt(name))
}

/// Frames of a trace as frames of a graph.
struct Frames<'a> {
    trace: &'a Trace,
    /// By frame; `u32::MAX` for those not made yet.
    known: Vec<u32>,
}

impl<'a> Frames<'a> {
    fn new(trace: &'a Trace) -> Frames<'a> {
        Frames { trace, known: vec![u32::MAX; trace.frames.len()] }
    }

    fn get(&mut self, FrameId(frame): FrameId, builder: &mut GraphBuilder) -> u32 {
        if self.known[frame as usize] == u32::MAX {
            let it = self.trace.frames.get(FrameId(frame));
            let of = |id: StringId| self.trace.strings.get_opt(id).filter(|text| !text.is_empty());
            let file = of(it.file);
            // Without modules, the package that the path shows.
            let module = of(it.module).or_else(|| file.map(|file| places::package(Some(file))));
            let name = builder.text(shown(of(it.name)));
            let mut number = |text: Option<&str>| text.map_or(NO_TEXT, |text| builder.text(text));
            let (file_number, module_number) = (number(file), number(module));
            self.known[frame as usize] = builder.frame(GraphFrame {
                name,
                file: file_number,
                module: module_number,
                line: if it.line == samples::NO_LINE { NO_LINE } else { it.line },
                class: class_of_frame(shown(of(it.name)), file, of(it.module), of(it.category)),
            });
        }
        self.known[frame as usize]
    }
}

/// Class of a sampled frame by its category, file, module and name.
fn class_of_frame(
    name: &str,
    file: Option<&str>,
    module: Option<&str>,
    category: Option<&str>,
) -> FrameClass {
    let place = file.or(module).unwrap_or("");
    match category.unwrap_or("") {
        "kernel" | "Kernel" => return FrameClass::Kernel,
        "JavaScript" => return FrameClass::JavaScript,
        "native" | "Native" | "inlined" => return FrameClass::Native,
        "Python" | "python" => return FrameClass::Python,
        _ => {}
    }
    let ends = |ends: &[&str]| ends.iter().any(|end| place.ends_with(end));
    if matches!(name, "<GC>" | "(garbage collector)") {
        FrameClass::Gc
    } else if name == "<native>" {
        FrameClass::Native
    } else if place.starts_with("[kernel") || place.starts_with("[guest.kernel") || name.ends_with("_[k]") {
        FrameClass::Kernel
    } else if ends(&[".py", ".pyx", ".pxd"])
        || place.starts_with("<frozen ")
        || name.contains(".py:")
        || name.contains(".py(")
    {
        FrameClass::Python
    } else if ends(&[".js", ".mjs", ".cjs", ".ts", ".tsx"]) || place.starts_with("node:") {
        FrameClass::JavaScript
    } else if ends(&[
        ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".cu", ".rs", ".go", ".s", ".S", ".dylib", ".dll", ".exe",
    ]) || place.contains(".so")
        || module.is_some() && file.is_none()
    {
        FrameClass::Native
    } else {
        FrameClass::Other
    }
}

/// A weight of stack profiles, by thread.
fn of_profiles(weight: &Weight<'_>, extent: Extent) -> StackGraph {
    let trace = weight.trace;
    let places = weight.profiles.iter().map(|profile| profile.weight.places()).max().unwrap_or(0);
    let unit = Measure::of(weight.unit(), places).unit;
    let title = format!("Stacks by {}", weight.compared_name());
    let caption = "Width is the weight (time, samples, bytes); callers are above callees.";
    let mut builder = GraphBuilder::new(&title, caption, unit);
    if unit == Unit::Plain && weight.unit() != NO_UNIT {
        builder.set_other_unit(weight.unit());
    }
    let mut nodes = StackNodes::new(trace, extent);
    for thread in weight.threads() {
        let number = builder.thread(&thread.label());
        for profile in &thread.profiles {
            let measure = Measure::of(weight.unit(), profile.weight.places());
            let has_times = !profile.time.is_empty();
            let order = in_order_of_time(profile);
            for at in 0..profile.len() {
                let row = order.as_ref().map_or(at, |order| order[at] as usize);
                let node = nodes.get(profile.stack[row], &mut builder);
                let Some(digits) = profile.weight.digits_at(row) else { continue };
                let weight = measure.double(digits);
                if has_times {
                    builder.sample(node, number, weight)
                } else {
                    builder.add(node, number, weight)
                }
            }
        }
    }
    builder.finish()
}

/// Rows in order of time, if times go back, as those of several CPUs do; a sample without a time follows the one before it. `None` if
/// they are in order, or too many to keep it.
fn in_order_of_time(profile: &StackProfile) -> Option<Vec<u32>> {
    let mut latest = None;
    let goes_back = (0..profile.time.len()).any(|row| {
        let time = profile.time.digits_at(row);
        let is_before = time.is_some() && time < latest;
        latest = latest.max(time);
        is_before
    });
    if !goes_back || profile.len() > MAX_ORDERED {
        return None;
    }
    let mut last = i128::MIN;
    let of_row = |row| {
        last = profile.time.digits_at(row).unwrap_or(last);
        last
    };
    let times: Vec<i128> = (0..profile.len()).map(of_row).collect();
    let mut rows: Vec<u32> = (0..profile.len() as u32).collect();
    sort::rows(&mut rows, |a, b| times[a as usize].cmp(&times[b as usize]));
    Some(rows)
}

/// Memory of a snapshot that is active after the last event up to `moment`, in nanoseconds since the start, a graph for each GPU with
/// any. None without times.
fn of_moment(trace: &Trace, moment: i64) -> Vec<StackGraph> {
    let has_several = trace.memory_snapshot.as_ref().is_some_and(|it| it.has_several_devices());
    let of_device = |device: usize| {
        let what = format!("memory at {}", format_ns(moment));
        let title = match has_several {
            true => format!("Stacks by {}, {what}", memory_snapshot::label(device)),
            false => format!("Stacks by {what}"),
        };
        let caption = "Active memory, below the callers that allocated it.";
        (device, GraphBuilder::new(&title, caption, Unit::Bytes), StackNodes::new(trace, Extent::Drawn))
    };
    let mut graphs = Vec::new();
    // Allocations come by device.
    let mut now: Option<(usize, GraphBuilder, StackNodes<'_>)> = None;
    memory_snapshot::active_at(trace, moment, |device, stack, bytes| {
        if now.as_ref().is_none_or(|(own, ..)| *own != device) {
            graphs.extend(now.take().map(|(_, builder, _)| builder.finish()));
            now = (graphs.len() < MAX_MOMENTS).then(|| of_device(device));
        }
        let Some((_, builder, nodes)) = &mut now else { return };
        let node = nodes.get(stack, builder);
        let thread = builder.thread(&memory_snapshot::label(device));
        builder.add(node, thread, bytes as f64);
    });
    graphs.extend(now.map(|(_, builder, _)| builder.finish()));
    graphs
}

/// Nodes for the stacks of a trace.
struct StackNodes<'a> {
    extent: Extent,
    frames: Frames<'a>,
    /// By stack; [`ROOT`] for those not made yet.
    nodes: Vec<NodeId>,
    /// Stacks whose nodes are made next, from the innermost.
    path: Vec<StackId>,
}

impl<'a> StackNodes<'a> {
    fn new(trace: &'a Trace, extent: Extent) -> StackNodes<'a> {
        let nodes = vec![ROOT; trace.stacks.len()];
        StackNodes { extent, frames: Frames::new(trace), nodes, path: Vec::new() }
    }

    fn get(&mut self, stack: StackId, builder: &mut GraphBuilder) -> NodeId {
        if stack == StackId::NONE && self.extent == Extent::Whole {
            return ROOT;
        }
        if stack == StackId::NONE {
            let frame = builder.named(NO_STACK, FrameClass::Other);
            return builder.child(ROOT, frame);
        }
        let stacks = &self.frames.trace.stacks;
        let mut at = stack;
        while at != StackId::NONE && self.nodes[at.0 as usize] == ROOT {
            self.path.push(at);
            at = stacks.parent[at.0 as usize];
        }
        let mut node = if at == StackId::NONE { ROOT } else { self.nodes[at.0 as usize] };
        while let Some(StackId(stack)) = self.path.pop() {
            let frame = self.frames.get(stacks.frame[stack as usize], builder);
            // Few stacks of a trace are one here, such as those that differ in columns.
            node = builder.add_node(node, frame);
            self.nodes[stack as usize] = node;
        }
        node
    }
}

/// Samples by stack, each with its weight.
fn of_samples(trace: &Trace, extent: Extent) -> Option<StackGraph> {
    let table = &trace.samples;
    if table.is_empty() || trace.frames.is_empty() {
        return None;
    }
    let caption = "Weight of samples, below their callers.";
    let mut builder = GraphBuilder::new("Sampled stacks", caption, Unit::Samples);
    let mut nodes = StackNodes::new(trace, extent);
    let mut threads: HashMap<u32, u32> = HashMap::default();
    for row in 0..table.len() {
        let thread = table.thread[row].0;
        let number =
            *threads.entry(thread).or_insert_with(|| builder.thread(&thread_label(trace, thread as usize)));
        let node = nodes.get(table.stack[row], &mut builder);
        let weight = table.weight[row];
        if weight.is_finite() {
            builder.sample(node, number, weight);
        }
    }
    Some(builder.finish())
}

/// Names of slices as frames, with a class by their category.
struct SliceFrames<'a> {
    trace: &'a Trace,
    kinds: &'a Kinds,
    known: HashMap<(StringId, FrameClass), u32>,
}

impl SliceFrames<'_> {
    fn get(&mut self, slice: usize, builder: &mut GraphBuilder) -> u32 {
        let slices = &self.trace.slices;
        let (name, category) = (slices.name[slice], slices.category[slice]);
        let kind = self.kinds.get(category);
        let mut of = text(self.trace, name);
        let operator = (kind == Kind::Annotation).then(|| emit_nvtx::operator(of)).flatten();
        of = operator.unwrap_or(of);
        let class = match kind {
            Kind::Op => FrameClass::Operator,
            Kind::Annotation if operator.is_some() => FrameClass::Operator,
            Kind::Annotation | Kind::GpuAnnotation => FrameClass::Annotation,
            Kind::Python if of.starts_with("nn.Module: ") => FrameClass::Module,
            Kind::Python => FrameClass::Python,
            Kind::Call | Kind::Sync => FrameClass::Call,
            Kind::Kernel | Kind::Copy | Kind::Fill => FrameClass::Gpu,
            Kind::Overhead | Kind::Other => FrameClass::Other,
        };
        *self.known.entry((name, class)).or_insert_with(|| {
            // `torch/nn/modules/module.py(1511): _call_impl`: the file decides about libraries.
            let parts = (class == FrameClass::Python).then(|| python_frame(of)).flatten();
            let Some((file, line, function)) = parts else { return builder.named(of, class) };
            let (name, file_number) = (builder.text(function), builder.text(file));
            let module = builder.text(places::package(Some(file)));
            builder.frame(GraphFrame { name, file: file_number, module, line, class })
        })
    }
}

/// File, line and function of a frame as PyTorch names it: `path/file.py(12): function`.
fn python_frame(name: &str) -> Option<(&str, i64, &str)> {
    let (place, function) = name.split_once("): ")?;
    let (file, line) = place.rsplit_once('(')?;
    (!file.is_empty() && !function.is_empty()).then_some((file, line.parse().ok()?, function))
}

/// Two graphs: kernel time, the sum of durations of kernels, copies and fills, by the calls around each launch; and GPU time, busy
/// and idle, each moment once.
fn of_gpu(gpu: &GpuTrace<'_>) -> Vec<StackGraph> {
    let caption = "Duration of kernels, copies and fills, below the phase, Python frames, modules and operators that launched \
                   them. Overlapping kernels count multiple times.";
    let mut busy = Launched::new(gpu, GraphBuilder::new("Kernel time by caller", caption, Unit::Ns));
    for (number, work) in gpu.work.iter().enumerate() {
        let node = busy.node_of_work(number as u32);
        let thread = busy.thread_of(work.stream);
        busy.builder.add(node, thread, work.dur() as f64);
    }
    let caption = "Time of each GPU from its first kernel or copy to the end of its last. Overlap counts as compute, then \
                   communication, then copies. Idle time is below the next launch.";
    let mut wall =
        Launched::new(gpu, GraphBuilder::new("GPU time by caller, busy and idle", caption, Unit::Ns));
    for (number, ns) in exposed(gpu) {
        let node = wall.node_of_work(number);
        let thread = wall.thread_of(gpu.work[number as usize].stream);
        wall.builder.add(node, thread, ns as f64);
    }
    for gap in gaps::of_devices(gpu).into_iter().flatten() {
        let thread = wall.thread_of(gpu.work[gap.next as usize].stream);
        for stretch in gap.stretches(gpu) {
            let around = match stretch.cause {
                // It is unknown what it waited for.
                Cause::NotRecorded => ROOT,
                _ => wall.node_of_launch(gap.next),
            };
            let name = match stretch.cause {
                Cause::NotRecorded => format!("(GPU: {})", stretch.cause.name()),
                cause => format!("(GPU idle: {})", cause.name()),
            };
            let frame = wall.builder.named(&name, FrameClass::Idle);
            let node = wall.builder.child(around, frame);
            wall.builder.add(node, thread, stretch.ns() as f64);
        }
    }
    let n_steps = gpu.steps.len() as u64;
    [busy, wall]
        .into_iter()
        .map(|mut it| {
            it.builder.set_steps(n_steps);
            it.builder.finish()
        })
        .collect()
}

/// Nodes for launches and what they launched.
struct Launched<'a> {
    gpu: &'a GpuTrace<'a>,
    builder: GraphBuilder,
    frames: SliceFrames<'a>,
    /// Some steps say what they are.
    has_phases: bool,
    /// By process and phase around a slice, and the slice.
    nodes: HashMap<(NodeId, u32), NodeId>,
}

/// What [`Step::phase`] says of a step that does not say.
///
/// [`Step::phase`]: crate::analysis::gpu::steps::Step::phase
const UNKNOWN_PHASE: &str = "unknown";

impl<'a> Launched<'a> {
    fn new(gpu: &'a GpuTrace<'a>, builder: GraphBuilder) -> Launched<'a> {
        let frames = SliceFrames { trace: gpu.trace, kinds: &gpu.kinds, known: HashMap::default() };
        let has_phases = gpu.steps.steps.iter().any(|step| step.phase(gpu.trace) != UNKNOWN_PHASE);
        Launched { gpu, builder, frames, has_phases, nodes: HashMap::default() }
    }

    fn thread_of(&mut self, stream: u32) -> u32 {
        self.builder.thread(&self.gpu.stream_of_device_label(stream))
    }

    /// The node of the launch call of a work, below its phase.
    fn node_of_launch(&mut self, work: u32) -> NodeId {
        let gpu = self.gpu;
        let work = &gpu.work[work as usize];
        let mut root = ROOT;
        if gpu.devices.len() > 1 {
            let device = gpu.streams[work.stream as usize].device;
            let frame = self.builder.named(&gpu.device_label(device), FrameClass::Place);
            root = self.builder.child(root, frame);
        }
        if self.has_phases {
            let phase = match work.step {
                NO_STEP if gpu.is_outside_steps(work) => "(outside steps)",
                NO_STEP => "(step unknown)",
                step => match gpu.steps.steps[step as usize].phase(gpu.trace) {
                    UNKNOWN_PHASE => "(phase unknown)",
                    phase => phase,
                },
            };
            let frame = self.builder.named(phase, FrameClass::Phase);
            root = self.builder.child(root, frame);
        }
        if work.launch == NONE {
            let why = if gpu.is_migration(work) { "(page migration)" } else { "(launch not recorded)" };
            let frame = self.builder.named(why, FrameClass::Other);
            return self.builder.child(root, frame);
        }
        // From the call outward, as far as the calls are not known.
        let mut path: Vec<u32> = Vec::new();
        let mut node = root;
        let mut at = Some(work.launch);
        while let Some(slice) = at {
            if let Some(known) = self.nodes.get(&(root, slice)) {
                node = *known;
                break;
            }
            path.push(slice);
            at = gpu.parent_of(slice);
        }
        for slice in path.into_iter().rev() {
            let frame = self.frames.get(slice as usize, &mut self.builder);
            node = self.builder.child(node, frame);
            self.nodes.insert((root, slice), node);
        }
        node
    }

    fn node_of_work(&mut self, number: u32) -> NodeId {
        let around = self.node_of_launch(number);
        let frame = self.frames.get(self.gpu.work[number as usize].slice as usize, &mut self.builder);
        self.builder.child(around, frame)
    }
}

/// Nanoseconds of each work that count as its own: each moment of a device belongs to computation that runs, else to
/// communication, else to copies; among equals to what started first. They add up to the busy time of the devices.
fn exposed(gpu: &GpuTrace<'_>) -> Vec<(u32, i64)> {
    let mut out: Vec<i64> = vec![0; gpu.work.len()];
    for device in 0..gpu.devices.len() as u32 {
        // Ends before starts at the same moment; numbers are in order of start.
        let mut bounds: Vec<(i64, bool, u8, u32)> = Vec::new();
        for (number, work) in (0u32..).zip(&gpu.work) {
            if gpu.streams[work.stream as usize].device == device && work.end > work.start {
                let rank = parts::rank(gpu, work);
                bounds.push((work.start, true, rank, number));
                bounds.push((work.end, false, rank, number));
            }
        }
        bounds.sort_unstable();
        let mut running: BTreeSet<(u8, u32)> = BTreeSet::new();
        let mut since = i64::MIN;
        for (at, is_start, rank, number) in bounds {
            if let Some((_, owner)) = running.first() {
                out[*owner as usize] += at.saturating_sub(since);
            }
            since = at;
            if is_start {
                running.insert((rank, number))
            } else {
                running.remove(&(rank, number))
            };
        }
    }
    (0u32..).zip(out).filter(|(_, ns)| *ns > 0).collect()
}

/// Self time of slices by thread and the slices around them.
fn of_threads(trace: &Trace) -> Option<StackGraph> {
    let slices = &trace.slices;
    if slices.is_empty() || slices.len() > MAX_SLICES {
        return None;
    }
    let caption = "Self time of slices, below the slices around them.";
    let mut builder = GraphBuilder::new("Slices by thread", caption, Unit::Ns);
    let kinds = Kinds::of(trace);
    let mut frames = SliceFrames { trace, kinds: &kinds, known: HashMap::default() };
    // Node and thread of each slice.
    let mut nodes: Vec<(NodeId, u32)> = vec![(ROOT, 0); slices.len()];
    let mut roots: HashMap<u32, (NodeId, u32)> = HashMap::default();
    for slice in 0..slices.len() {
        let around = match slices.parent[slice].some() {
            Some(SliceId(parent)) => nodes[parent as usize],
            None => match trace.tracks.place(slices.track[slice]) {
                Place::Thread(thread) if Class::of(slices.kind[slice]) != Class::Instant => {
                    *roots.entry(thread.0).or_insert_with(|| {
                        let label = thread_label(trace, thread.0 as usize);
                        let frame = builder.named(&label, FrameClass::Place);
                        (builder.child(ROOT, frame), builder.thread(&label))
                    })
                }
                _ => continue,
            },
        };
        // Inside of what is on no thread.
        if around.0 == ROOT {
            continue;
        }
        let frame = frames.get(slice, &mut builder);
        let node = builder.child(around.0, frame);
        builder.add(node, around.1, slices.self_ns.get(slice) as f64);
        nodes[slice] = (node, around.1);
    }
    Some(builder.finish())
}

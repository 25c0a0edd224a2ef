//! Flame graphs: of GPU time by what launched it, of threads by their slices, and of sampled stacks.

mod tree;

use super::gpu::GpuTrace;
use super::gpu::model::NONE;
use super::stack_functions::Weight;
use super::stack_functions::amounts::Measure;
use super::{AnalysisInfo, Context, Group};
use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::base::units::{Unit, format_float};
use crate::report::chart::{Flame, Plot};
use crate::report::{Chart, Report};
use crate::stacks::{self, CallTree};
use crate::trace::labels::{shown, thread_label};
use crate::trace::samples::StackId;
use crate::trace::slices::{Class, SliceId};
use crate::trace::tracks::Place;
use crate::trace::{Run, Trace};
use tree::{NodeId, ROOT, Tree};

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "flame-graph",
    title: "Flame graph",
    applies,
    run,
    group: Group::Timeline,
    is_late: true,
};

/// Weights of a profile with graphs of their own.
const MAX_WEIGHTS: usize = 4;

/// Slices beyond which those of threads are not merged: each takes memory.
const MAX_SLICES: usize = 20_000_000;

/// Whether a run has stacks of any kind.
pub fn applies(run: &Run) -> bool {
    run.traces.iter().any(Trace::has_stacks)
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let several = context.run.traces.len() > 1;
    for (number, trace) in context.run.traces.iter().enumerate() {
        for (at, graph) in graphs(context, trace).into_iter().enumerate() {
            let of_file = if several { format!(" · {}", trace.source.file_name) } else { String::new() };
            let id = |what: &str| format!("flame_{what}_{}_{}_chart", number + 1, at + 1).into();
            if report.summary.is_empty() {
                report.summary = graph.summary.clone();
            }
            report.chart(Chart {
                id: id("down"),
                title: format!("{}{of_file}", graph.title),
                caption: graph.caption.to_string(),
                plot: Plot::Flame(graph.down),
            });
            report.chart(Chart {
                id: id("up"),
                title: format!("{}, from the last call{of_file}", graph.title),
                caption: "At the top what the weight ends in, below each its callers.".to_string(),
                plot: Plot::Flame(graph.up),
            });
        }
    }
    if report.summary.is_empty() {
        report.summary = "No stacks with any weight in this trace.".to_string();
    }
    if context.run.traces.iter().any(|trace| trace.aggregated.is_some()) {
        report.warning("The trace has more events than fit in memory: only the longest ones are here.");
    }
    report
}

/// A graph in both directions.
struct Graph {
    title: String,
    caption: &'static str,
    summary: String,
    down: Flame,
    up: Flame,
}

impl Graph {
    fn new<K: Copy + Eq + std::hash::Hash>(
        title: &str,
        caption: &'static str,
        tree: &Tree<K>,
        unit: Unit,
        name: impl Fn(K) -> String,
    ) -> Option<Graph> {
        if tree.is_empty() {
            return None;
        }
        let (down, up) = (tree.flame(unit, &name), tree.inverted().flame(unit, &name));
        let amount = |weight: f64| match unit {
            Unit::Samples => format!("{} samples", format_float(weight, unit)),
            _ => format_float(weight, unit),
        };
        let hottest = up.boxes.iter().find(|it| it.depth == 0 && !it.is_rest);
        let summary = match hottest {
            Some(hottest) => format!(
                "{} in all; most ends in {}: {}.",
                amount(down.total),
                hottest.name,
                amount(hottest.weight)
            ),
            None => format!("{} in all.", amount(down.total)),
        };
        Some(Graph { title: title.to_string(), caption, summary, down, up })
    }
}

fn graphs(context: &Context<'_>, trace: &Trace) -> Vec<Graph> {
    let of_trace = context.gpu().iter().find(|gpu| std::ptr::eq(gpu.trace, trace));
    let mut graphs: Vec<Graph> = of_trace.and_then(of_gpu).into_iter().collect();
    graphs.extend(Weight::all(trace).iter().take(MAX_WEIGHTS).filter_map(of_profiles));
    graphs.extend(of_samples(trace));
    graphs.extend(of_threads(trace));
    graphs
}

/// A weight of stack profiles, over all threads.
fn of_profiles(weight: &Weight<'_>) -> Option<Graph> {
    let trace = weight.trace;
    let merged = CallTree::new(trace, &weight.profiles);
    let measure = Measure::of(weight.unit(), merged.weights.places);
    let mut tree: Tree<u32> = Tree::new();
    let mut nodes: Vec<NodeId> = Vec::with_capacity(merged.len());
    for node in 0..merged.len() {
        let around = match merged.parent[node] {
            stacks::NodeId::NONE => ROOT,
            parent => nodes[parent.0 as usize],
        };
        let own = tree.child(around, merged.function[node]);
        tree.add(own, measure.double(merged.self_weight[node]));
        nodes.push(own);
    }
    let name = |function: u32| {
        let function = merged.functions.get(function as usize);
        function.map(|(name, _)| text(trace, *name)).unwrap_or_default()
    };
    let caption = "Weight of stacks over all threads, below their callers. A function is a name in a file.";
    let title = format!("Stacks by {}", weight.name());
    Graph::new(&title, caption, &tree, measure.unit, name)
}

/// GPU time by the calls around each launch: Python frames, modules, operators, then the kernel.
fn of_gpu(gpu: &GpuTrace<'_>) -> Option<Graph> {
    let trace = gpu.trace;
    let slices = &trace.slices;
    let mut tree: Tree<StringId> = Tree::new();
    let not_recorded = StringId::NONE;
    let mut of_slice: HashMap<u32, NodeId> = HashMap::default();
    for work in &gpu.work {
        // From the innermost call around the launch outward, as far as they are not known.
        let mut path: Vec<u32> = Vec::new();
        let mut node = ROOT;
        if work.launch == NONE {
            node = tree.child(ROOT, not_recorded);
        } else {
            let mut at = slices.parent[work.launch as usize];
            while let Some(SliceId(slice)) = at.some() {
                if let Some(known) = of_slice.get(&slice) {
                    node = *known;
                    break;
                }
                path.push(slice);
                at = slices.parent[slice as usize];
            }
        }
        for slice in path.into_iter().rev() {
            node = tree.child(node, slices.name[slice as usize]);
            of_slice.insert(slice, node);
        }
        let node = tree.child(node, slices.name[work.slice as usize]);
        tree.add(node, work.dur() as f64);
    }
    let name = |name: StringId| match name == not_recorded {
        true => "(launch not recorded)".to_string(),
        false => text(trace, name),
    };
    let caption = "Duration of kernels, copies and fills, below the Python frames, modules and operators that launched them. \
                   Overlapping kernels count multiple times.";
    Graph::new("GPU time by caller", caption, &tree, Unit::Ns, name)
}

fn text(trace: &Trace, name: StringId) -> String {
    shown(trace.strings.get_opt(name)).to_string()
}

/// Frame of a thread's graph: the thread, or a name in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ThreadFrame {
    Thread(u32),
    Name(StringId),
}

/// Self time of slices by thread and the slices around them.
fn of_threads(trace: &Trace) -> Option<Graph> {
    let slices = &trace.slices;
    if slices.is_empty() || slices.len() > MAX_SLICES {
        return None;
    }
    let mut tree: Tree<ThreadFrame> = Tree::new();
    let mut nodes: Vec<NodeId> = vec![ROOT; slices.len()];
    for slice in 0..slices.len() {
        let around = match slices.parent[slice].some() {
            Some(SliceId(parent)) => nodes[parent as usize],
            None => match trace.tracks.place(slices.track[slice]) {
                Place::Thread(thread) if Class::of(slices.kind[slice]) != Class::Instant => {
                    tree.child(ROOT, ThreadFrame::Thread(thread.0))
                }
                _ => continue,
            },
        };
        // Inside of what is on no thread.
        if around == ROOT {
            continue;
        }
        let node = tree.child(around, ThreadFrame::Name(slices.name[slice]));
        tree.add(node, slices.self_ns.get(slice) as f64);
        nodes[slice] = node;
    }
    let name = |frame: ThreadFrame| match frame {
        ThreadFrame::Thread(thread) => thread_label(trace, thread as usize),
        ThreadFrame::Name(name) => text(trace, name),
    };
    Graph::new(
        "Slices by thread",
        "Self time of slices, below the slices around them.",
        &tree,
        Unit::Ns,
        name,
    )
}

/// Samples by stack, each with its weight.
fn of_samples(trace: &Trace) -> Option<Graph> {
    let (samples, stacks) = (&trace.samples, &trace.stacks);
    let mut tree: Tree<StringId> = Tree::new();
    let mut nodes: Vec<NodeId> = Vec::with_capacity(stacks.len());
    for (frame, parent) in stacks.frame.iter().zip(&stacks.parent) {
        let around = if *parent == StackId::NONE { ROOT } else { nodes[parent.0 as usize] };
        let node = tree.child(around, trace.frames.name[frame.0 as usize]);
        nodes.push(node);
    }
    for (stack, weight) in samples.stack.iter().zip(&samples.weight) {
        if let Some(node) = nodes.get(stack.0 as usize) {
            tree.add(*node, *weight);
        }
    }
    let caption = "Weight of samples, below their callers.";
    Graph::new("Sampled stacks", caption, &tree, Unit::Count, |name| text(trace, name))
}

//! The path as a list of segments in time, with the resource of each.

use super::build::build;
use super::graph::{EdgeKind, EventId, Graph};
use super::longest::longest;
use crate::analysis::gpu::model::NONE;
use crate::analysis::gpu::spans::Span;
use crate::analysis::gpu::{GpuTrace, Kind};

/// Most operators and calls that a path is searched in; with what they launched, each takes some 130 bytes meanwhile. Steps have
/// far fewer.
pub const MAX_EVENTS: usize = 1 << 20;

/// Resource that bounds a segment; HTA's `bound_by`, with copies and fills separate from "compute".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Bound {
    /// Operators and calls: HTA's `cpu_bound`.
    Cpu,
    /// Kernels: HTA's `gpu_compute_bound`.
    Compute,
    /// Collectives: HTA's `gpu_communication_bound`.
    Communication,
    /// Copies and fills; HTA counts them as `gpu_compute_bound`.
    Memory,
    /// Between a launch call and its kernel: HTA's `gpu_kernel_launch_overhead`.
    Launch,
    /// Between kernels of one stream: HTA's `gpu_kernel_kernel_overhead`.
    BetweenWork,
    /// Dependencies and waits, which take no time; HTA has no name for them.
    Link,
}

impl Bound {
    /// All of them, in the order of the report.
    pub const ALL: [Bound; 7] = [
        Bound::Cpu,
        Bound::Compute,
        Bound::Communication,
        Bound::Memory,
        Bound::Launch,
        Bound::BetweenWork,
        Bound::Link,
    ];

    /// Name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Cpu => "CPU",
            Bound::Compute => "GPU: computation",
            Bound::Communication => "GPU: communication",
            Bound::Memory => "GPU: copies and fills",
            Bound::Launch => "launch",
            Bound::BetweenWork => "GPU: gaps between kernels",
            Bound::Link => "dependencies and waits",
        }
    }
}

/// A segment of the path: one per edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Nanoseconds on the trace's clock. Segments of weight 0 end where they start.
    pub start: i64,
    pub end: i64,
    pub kind: EdgeKind,
    pub bound: Bound,
    /// The slice that the time belongs to; for a launch, a gap or a wait, the slice after it.
    pub slice: u32,
}

impl Segment {
    /// Nanoseconds.
    pub fn dur(&self) -> i64 {
        self.end.saturating_sub(self.start)
    }
}

/// The critical path of a window.
#[derive(Clone, Default, Debug)]
pub struct CriticalPath {
    /// In order. If one doesn't start at the end of the previous one, it or the next has weight 0.
    pub segments: Vec<Segment>,
    /// Sum of all segments, in nanoseconds.
    pub length: i64,
    /// From the first start to the last end in the graph.
    pub extent: Option<Span>,
    /// Size of the whole graph.
    pub n_nodes: usize,
    pub n_edges: usize,
    /// Edges left out because they close a cycle.
    pub n_circular: u64,
    /// Whether the trace has synchronization events.
    pub has_sync: bool,
    /// Operators and calls of the window that were left out, since they are too many. They come after all others.
    pub n_left_out: u64,
}

impl CriticalPath {
    /// Path of the CPU events that start in `window` (nanoseconds on the trace's clock, inclusive) and the kernels they launched.
    /// There are at most [`MAX_EVENTS`] CPU events.
    pub fn new(gpu: &GpuTrace<'_>, window: Span) -> CriticalPath {
        CriticalPath::of_first(gpu, window, MAX_EVENTS)
    }

    /// The same, of the first `max_cpu` CPU events.
    pub fn of_first(gpu: &GpuTrace<'_>, window: Span, max_cpu: usize) -> CriticalPath {
        let graph = build(gpu, window, max_cpu);
        let longest = longest(&graph);
        let mut path = CriticalPath {
            length: longest.length,
            extent: graph
                .events
                .iter()
                .map(|event| (event.start, event.end))
                .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
            n_nodes: graph.n_nodes(),
            n_edges: graph.edges.len(),
            n_circular: longest.n_circular,
            has_sync: graph.has_sync,
            n_left_out: graph.n_left_out,
            segments: Vec::with_capacity(longest.edges.len()),
        };
        for edge in longest.edges {
            path.push(gpu, &graph, edge);
        }
        path
    }

    /// Time from the start of the path to its end, in nanoseconds; `None` if it is empty.
    pub fn passed(&self) -> Option<i64> {
        Some(self.segments.last()?.end.saturating_sub(self.segments.first()?.start))
    }

    fn push(&mut self, gpu: &GpuTrace<'_>, graph: &Graph, edge: u32) {
        let edge = &graph.edges[edge as usize];
        let weight = graph.weight(edge);
        let to = graph.time(edge.to);
        let start = graph.time(edge.from).min(to);
        if weight < 0 {
            self.cut_back(to, weight.saturating_neg());
        }
        self.segments.push(Segment {
            start,
            end: start.saturating_add(weight.max(0)),
            kind: edge.kind,
            bound: bound(gpu, graph, edge.kind, edge.owner),
            slice: graph.events[edge.owner as usize].slice,
        });
    }

    /// Removes the last `ns` nanoseconds, which would count twice as the path goes back to `ts`.
    fn cut_back(&mut self, ts: i64, mut ns: i64) {
        for segment in self.segments.iter_mut().rev() {
            if ns <= 0 && segment.end <= ts {
                return;
            }
            let part = ns.clamp(0, segment.dur());
            ns -= part;
            segment.end -= part;
            if segment.dur() == 0 {
                segment.start = segment.start.min(ts);
                segment.end = segment.start;
            }
        }
    }

    /// The same path with each launch split at the end of its call, as in [`crate::analysis::gpu::gaps`]: the first part is CPU
    /// time. HTA counts all of it as launch.
    pub fn split_at_launches(mut self, gpu: &GpuTrace<'_>) -> CriticalPath {
        let mut segments = Vec::with_capacity(self.segments.len());
        for segment in self.segments {
            let call = (segment.kind == EdgeKind::Launch).then(|| launch_of(gpu, segment.slice)).flatten();
            let Some(call) = call else {
                segments.push(segment);
                continue;
            };
            let at = gpu.end_of(call).clamp(segment.start, segment.end);
            let in_call =
                Segment { end: at, kind: EdgeKind::Inside, bound: Bound::Cpu, slice: call, ..segment };
            let delay = Segment { start: at, ..segment };
            segments.extend([in_call, delay].into_iter().filter(|part| part.dur() > 0));
        }
        self.segments = segments;
        self
    }

    /// Time and number of the segments for which `is` holds.
    pub fn sum(&self, is: impl Fn(&Segment) -> bool) -> (i64, u64) {
        let some = self.segments.iter().filter(|segment| is(segment));
        some.fold((0, 0), |(ns, n), segment| (ns.saturating_add(segment.dur()), n + 1))
    }
}

/// The call that launched the kernel or copy of a slice.
fn launch_of(gpu: &GpuTrace<'_>, slice: u32) -> Option<u32> {
    let at = gpu.work.binary_search_by_key(&slice, |work| work.slice).ok()?;
    Some(gpu.work[at].launch).filter(|launch| *launch != NONE)
}

fn bound(gpu: &GpuTrace<'_>, graph: &Graph, kind: EdgeKind, owner: EventId) -> Bound {
    match kind {
        EdgeKind::Dependency | EdgeKind::Sync => return Bound::Link,
        EdgeKind::Launch => return Bound::Launch,
        EdgeKind::BetweenWork => return Bound::BetweenWork,
        EdgeKind::Inside => {}
    }
    let Some(work) =
        graph.work.get((owner as usize).wrapping_sub(graph.n_cpu)).filter(|_| graph.is_gpu(owner))
    else {
        return Bound::Cpu;
    };
    let work = &gpu.work[*work as usize];
    if gpu.is_copy(work) || work.kind == Kind::Fill {
        Bound::Memory
    } else if gpu.is_communication(work) {
        Bound::Communication
    } else {
        Bound::Compute
    }
}

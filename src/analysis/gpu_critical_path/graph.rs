//! The graph: a node at each start and each end, an edge for what had to come before what.

use crate::analysis::gpu::GpuTrace;
use crate::analysis::gpu::spans::Span;

/// An operator, a call, or a piece of work of the GPU.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub slice: u32,
    /// Nanoseconds on the trace's clock.
    pub start: i64,
    pub end: i64,
}

/// Number of an event in [`Graph::events`]; its start is the node of twice the number, its end the one behind.
pub type EventId = u32;

/// Number of a node.
pub type Node = u32;

/// Why one node comes after another; HTA's `CPEdgeType`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeKind {
    /// Time in an operator, a call, or work of the GPU: HTA's "operator".
    Inside,
    /// From the end of an outermost operator to the start of the next on its thread; weighs nothing.
    Dependency,
    /// From the start of the call to that of its work, where the stream had nothing else to do.
    Launch,
    /// From the end of work to the start of the next on its stream.
    BetweenWork,
    /// From the end of work to what waited for it: a call on the CPU, or work on another stream. Weighs nothing.
    Sync,
}

/// An edge.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub from: Node,
    pub to: Node,
    pub kind: EdgeKind,
    /// The event that its time is spent in, or for: of a wait what comes after it.
    pub owner: EventId,
    /// Its time counts for nothing: the end of a call that only waits.
    pub is_free: bool,
}

/// Events of a window and their edges.
#[derive(Default, Debug)]
pub struct Graph {
    /// Those of the CPU in order of their slices, then those of the GPU in order of start.
    pub events: Vec<Event>,
    /// How many of them are of the CPU.
    pub n_cpu: usize,
    /// For each event of the GPU its place in [`GpuModel::work`]; ascending.
    pub work: Vec<u32>,
    pub edges: Vec<Edge>,
    /// Whether the trace says what waited for what.
    pub has_sync: bool,
}

impl Graph {
    /// Of what starts on the CPU in `window`, both ends included, and of the work launched in it. Takes time by the
    /// number of events of the trace, memory by those of the window and the launches of the trace.
    pub fn new(gpu: &GpuTrace<'_>, window: Span) -> Graph {
        let mut graph = Graph::default();
        super::cpu::add(&mut graph, gpu, window);
        super::device::add(&mut graph, gpu);
        graph
    }

    /// Nodes: two of each event.
    pub fn n_nodes(&self) -> usize {
        2 * self.events.len()
    }

    /// When a node is, in nanoseconds on the trace's clock.
    pub fn time(&self, node: Node) -> i64 {
        let event = &self.events[(node / 2) as usize];
        if node.is_multiple_of(2) { event.start } else { event.end }
    }

    /// What an edge adds to a path, in nanoseconds. It never is more than the time that goes by, so that no path is longer
    /// than the window; where an edge leads back in time (clocks of CPU and GPU differ a little, work of one
    /// stream may overlap) it is what was counted twice, and negative.
    pub fn weight(&self, edge: &Edge) -> i64 {
        let time = self.time(edge.to).saturating_sub(self.time(edge.from));
        let is_free = edge.is_free || matches!(edge.kind, EdgeKind::Dependency | EdgeKind::Sync);
        if is_free { time.min(0) } else { time }
    }

    /// Whether an event is work of the GPU.
    pub fn is_gpu(&self, event: EventId) -> bool {
        event as usize >= self.n_cpu
    }

    /// The event of a slice on the CPU.
    pub fn cpu_event(&self, slice: u32) -> Option<EventId> {
        let cpu = &self.events[..self.n_cpu];
        cpu.binary_search_by_key(&slice, |event| event.slice).ok().map(|at| at as EventId)
    }

    /// The event of work, by its place in [`GpuModel::work`].
    pub fn gpu_event(&self, work: u32) -> Option<EventId> {
        self.work.binary_search(&work).ok().map(|at| (self.n_cpu + at) as EventId)
    }

    /// Adds an edge whose time counts.
    pub fn connect(&mut self, from: Node, to: Node, kind: EdgeKind, owner: EventId) {
        self.edges.push(Edge { from, to, kind, owner, is_free: false });
    }
}

/// The node at which an event starts.
pub fn start_of(event: EventId) -> Node {
    2 * event
}

/// The node at which it ends.
pub fn end_of(event: EventId) -> Node {
    2 * event + 1
}

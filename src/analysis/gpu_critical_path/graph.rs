//! Dependency graph: a node per start and end, an edge per dependency.

/// An operator, a call, or a kernel or copy.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub slice: u32,
    /// Nanoseconds on the trace's clock.
    pub start: i64,
    pub end: i64,
}

/// Index of an event in [`Graph::events`]. Event `n` starts at node `2n` and ends at node `2n + 1`.
pub type EventId = u32;

/// Index of a node.
pub type Node = u32;

/// Kind of dependency; HTA's `CPEdgeType`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeKind {
    /// Time in an operator, a call, a kernel or a copy: HTA's "operator".
    Inside,
    /// From the end of an outermost operator to the start of the next on its thread; weight 0.
    Dependency,
    /// From the start of a launch call to the start of its kernel, if the stream was idle.
    Launch,
    /// From the end of a kernel to the start of the next on its stream.
    BetweenWork,
    /// From the end of a kernel to what waited for it: a call on the CPU, or a kernel on another stream. Weight 0.
    Sync,
}

/// An edge.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub from: Node,
    pub to: Node,
    pub kind: EdgeKind,
    /// The event that the time belongs to; for a wait, the event after it.
    pub owner: EventId,
    /// Has weight 0: the end of a call that only waits.
    pub is_free: bool,
}

/// Events of a window and their edges.
#[derive(Default, Debug)]
pub struct Graph {
    /// CPU events in order of their slices, then GPU events in order of start.
    pub events: Vec<Event>,
    /// Number of CPU events.
    pub n_cpu: usize,
    /// For each GPU event its index in [`GpuModel::work`]; ascending.
    pub work: Vec<u32>,
    pub edges: Vec<Edge>,
    /// Whether the trace has synchronization events.
    pub has_sync: bool,
    /// CPU events of the window that are not here, since there would be too many.
    pub n_left_out: u64,
}

impl Graph {
    /// Number of nodes: two per event.
    pub fn n_nodes(&self) -> usize {
        2 * self.events.len()
    }

    /// Time of a node, in nanoseconds on the trace's clock.
    pub fn time(&self, node: Node) -> i64 {
        let event = &self.events[(node / 2) as usize];
        if node.is_multiple_of(2) { event.start } else { event.end }
    }

    /// Weight of an edge, in nanoseconds. Never more than the elapsed time, so no path is longer than the window. An edge that
    /// leads back in time (clock skew, overlapping kernels of one stream) has negative weight: the time that was counted twice.
    pub fn weight(&self, edge: &Edge) -> i64 {
        let time = self.time(edge.to).saturating_sub(self.time(edge.from));
        let is_free = edge.is_free || matches!(edge.kind, EdgeKind::Dependency | EdgeKind::Sync);
        if is_free { time.min(0) } else { time }
    }

    /// Whether an event is on the GPU.
    pub fn is_gpu(&self, event: EventId) -> bool {
        event as usize >= self.n_cpu
    }

    /// The event of a slice on the CPU.
    pub fn cpu_event(&self, slice: u32) -> Option<EventId> {
        let cpu = &self.events[..self.n_cpu];
        cpu.binary_search_by_key(&slice, |event| event.slice).ok().map(|at| at as EventId)
    }

    /// The event of a kernel or copy, by its index in [`GpuModel::work`].
    pub fn gpu_event(&self, work: u32) -> Option<EventId> {
        self.work.binary_search(&work).ok().map(|at| (self.n_cpu + at) as EventId)
    }

    /// Adds an edge with its full weight.
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

//! Operators and calls of each thread: nesting and order.

use super::graph::{Edge, EdgeKind, Event, EventId, Graph, Node, end_of, start_of};
use crate::analysis::gpu::spans::Span;
use crate::analysis::gpu::{GpuTrace, Kind};
use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::trace::slices::Class;
use crate::trace::tracks::TrackId;

/// Calls that may only wait, so their self time belongs to what they wait for: HTA's `BLOCKING_SYNC_CALLS` and the equivalents of
/// ROCm and of the Unified Runtime (Intel GPUs).
const BLOCKING: &[&str] = &[
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaEventQuery",
    "cudaEventSynchronize",
    "cudaMemcpy",
    "cudaMemcpyAsync",
    "hipDeviceSynchronize",
    "hipStreamSynchronize",
    "hipEventQuery",
    "hipEventSynchronize",
    "hipMemcpy",
    "hipMemcpyAsync",
    "hipMemcpyWithStream",
    "urEventWait",
    "urQueueFinish",
];

/// State of one thread during the walk.
#[derive(Default)]
struct Thread {
    /// Open events, outermost first.
    open: Vec<EventId>,
    /// Previous node, while any event is open.
    last: Option<Node>,
    /// End of the last outermost event.
    last_outer: Option<Node>,
}

/// Adds the first `max_events` events of all threads, and their edges. Events without duration are left out, as HTA does.
pub fn add(graph: &mut Graph, gpu: &GpuTrace<'_>, window: Span, max_events: usize) {
    let slices = &gpu.trace.slices;
    let from = slices.ts.partition_point(|ts| *ts < window.0);
    let to = slices.ts.partition_point(|ts| *ts <= window.1);
    let is_of_graph = |slice: &usize| {
        let is_thread = Class::of(slices.kind[*slice]) == Class::Thread;
        is_thread && matches!(gpu.kind_of(*slice), Kind::Op | Kind::Call) && slices.dur.get(*slice) > 0
    };
    let mut rest = (from..to).filter(is_of_graph);
    let n_events = rest.by_ref().take(max_events).count();
    let first_left_out = rest.next();
    graph.n_left_out = first_left_out.map_or(0, |_| 1 + rest.count() as u64);
    let to = first_left_out.unwrap_or(to);
    graph.events.reserve_exact(n_events);
    // One into the start of each, one into its end.
    graph.edges.reserve_exact(2 * n_events);
    let mut blocking: HashMap<StringId, bool> = HashMap::default();
    let mut numbers: HashMap<TrackId, usize> = HashMap::default();
    let mut threads: Vec<Thread> = Vec::new();
    let mut is_blocking: Vec<bool> = Vec::new();
    // By slice from `from` on: whether it is an event, and the nearest event around it.
    let mut is_event = vec![false; to.saturating_sub(from)];
    let mut around = vec![NO_EVENT; to.saturating_sub(from)];
    for i in from..to {
        // Parents have smaller indices.
        if let Some(parent) =
            slices.parent[i].some().map(|parent| parent.0 as usize).filter(|at| *at >= from && *at < i)
        {
            around[i - from] = if is_event[parent - from] { parent as u32 } else { around[parent - from] };
        }
        if !is_of_graph(&i) {
            continue;
        }
        let event = graph.events.len() as EventId;
        let (start, end) = (slices.ts[i], slices.ts[i].saturating_add(slices.dur.get(i)));
        graph.events.push(Event { slice: i as u32, start, end });
        is_event[i - from] = true;
        let name = slices.name[i];
        is_blocking.push(*blocking.entry(name).or_insert_with(|| {
            gpu.kind_of(i) == Kind::Call
                && gpu.trace.strings.get_opt(name).is_some_and(|name| BLOCKING.contains(&name))
        }));
        let number = *numbers.entry(slices.track[i]).or_insert(threads.len());
        if number == threads.len() {
            threads.push(Thread::default());
        }
        threads[number].close(graph, &is_blocking, start, |outer| {
            let mut at = around[i - from];
            while at != NO_EVENT && at > outer {
                at = around[at as usize - from];
            }
            at == outer
        });
        threads[number].enter(graph, event);
    }
    for thread in &mut threads {
        thread.close(graph, &is_blocking, i64::MAX, |_| false);
    }
    graph.n_cpu = graph.events.len();
}

/// No event.
const NO_EVENT: u32 = u32::MAX;

impl Thread {
    fn enter(&mut self, graph: &mut Graph, event: EventId) {
        let start = start_of(event);
        match (self.open.last(), self.last, self.last_outer) {
            // Time between two inner events, or before the first, belongs to the outer one.
            (Some(outer), Some(last), _) => graph.connect(last, start, EdgeKind::Inside, *outer),
            (None, _, Some(outer)) => graph.connect(outer, start, EdgeKind::Dependency, event),
            _ => {}
        }
        self.open.push(event);
        self.last = Some(start);
    }

    /// Closes events that have ended at `now`, and those not around the slice that starts then: through rounding, an event may
    /// appear to end slightly after the next one starts.
    fn close(&mut self, graph: &mut Graph, is_blocking: &[bool], now: i64, is_around: impl Fn(u32) -> bool) {
        let has_ended = |graph: &Graph, event: EventId| {
            let event = &graph.events[event as usize];
            event.end <= now || !is_around(event.slice)
        };
        while let Some(event) = self.open.pop_if(|event| has_ended(graph, *event)) {
            let end = end_of(event);
            if let Some(from) = self.last {
                let is_free = is_blocking[event as usize];
                graph.edges.push(Edge { from, to: end, kind: EdgeKind::Inside, owner: event, is_free });
            }
            self.last = Some(end);
            if self.open.is_empty() {
                self.last = None;
                self.last_outer = Some(end);
            }
        }
    }
}

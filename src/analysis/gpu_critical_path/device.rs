//! Kernels and copies: edges to the launch, the predecessor on the stream, and synchronization in both directions.

use super::graph::{EdgeKind, Event, EventId, Graph, end_of, start_of};
use super::sync::{HostWait, Waits, WaitsFor};
use crate::analysis::gpu::model::NONE;
use crate::analysis::gpu::{GpuTrace, Work};
use crate::base::hash::HashSet;

/// Adds the kernels and copies launched by calls of the graph, and their edges. CPU events must already be in the graph.
pub fn add(graph: &mut Graph, gpu: &GpuTrace<'_>) {
    let launched = gpu.work.iter().enumerate();
    let launched = launched.filter(|(_, work)| work.launch != NONE && graph.cpu_event(work.launch).is_some());
    graph.work = launched.map(|(i, _)| i as u32).collect();
    graph.events.reserve_exact(graph.work.len());
    graph.events.extend(graph.work.iter().map(|i| {
        let work = &gpu.work[*i as usize];
        Event { slice: work.slice, start: work.start, end: work.end }
    }));
    // Its own, and mostly one from the launch or from what was before it.
    graph.edges.reserve_exact(2 * graph.work.len());
    let waits = Waits::new(graph, gpu);
    graph.has_sync = waits.are_recorded;
    let mut streams = Streams { queues: Queues::new(gpu), last: vec![None; gpu.streams.len()] };
    let mut host = waits.host.iter().peekable();
    for event in graph.n_cpu as EventId..graph.events.len() as EventId {
        let start = graph.events[event as usize].start;
        // A wait covers kernels that started before it ended.
        while let Some(wait) = host.next_if(|wait| wait.end <= start) {
            streams.join_host(graph, gpu, wait);
        }
        streams.join(graph, gpu, &waits, event);
    }
    for wait in host {
        streams.join_host(graph, gpu, wait);
    }
}

/// State of all streams during the walk.
struct Streams {
    queues: Queues,
    /// Last kernel or copy of each stream.
    last: Vec<Option<EventId>>,
}

impl Streams {
    /// Adds a kernel or copy: HTA's `_construct_graph_from_kernels`.
    fn join(&mut self, graph: &mut Graph, gpu: &GpuTrace<'_>, waits: &Waits, event: EventId) {
        let number = graph.work[event as usize - graph.n_cpu];
        let work = &gpu.work[number as usize];
        let end = |graph: &Graph, event: EventId| graph.events[event as usize].end;
        graph.connect(start_of(event), end_of(event), EdgeKind::Inside, event);
        let mut waited: Option<i64> = None;
        for source in waits.of_work(number) {
            graph.connect(end_of(source), start_of(event), EdgeKind::Sync, event);
            waited = waited.max(Some(end(graph, source)));
        }
        let last = self.last[work.stream as usize].replace(event);
        let last_end = last.map(|last| end(graph, last));
        let called = gpu.trace.slices.ts[work.launch as usize];
        let is_before = |ts: Option<i64>| ts.is_none_or(|ts| ts < called);
        if self.queues.is_alone(gpu, number) && is_before(last_end) && is_before(waited) {
            // A launch recorded after its kernel (clock skew) is no dependency.
            if let Some(call) = graph.cpu_event(work.launch).filter(|_| !work.is_before_launch) {
                graph.connect(start_of(call), start_of(event), EdgeKind::Launch, event);
            }
        } else if let Some(last) = last
            && waited.is_none_or(|waited| Some(waited) < last_end)
        {
            graph.connect(end_of(last), start_of(event), EdgeKind::BetweenWork, event);
        }
    }

    /// Adds the wait of a call for the last kernel or copy.
    fn join_host(&self, graph: &mut Graph, gpu: &GpuTrace<'_>, wait: &HostWait) {
        let sources: Vec<EventId> = match wait.waits_for {
            WaitsFor::Event(event) => vec![event],
            WaitsFor::Stream(stream) => self.last[stream as usize].into_iter().collect(),
            WaitsFor::Device(device) => {
                let of_device = |stream: &usize| gpu.streams[*stream].device == device;
                (0..self.last.len()).filter(of_device).filter_map(|stream| self.last[stream]).collect()
            }
        };
        for source in sources {
            graph.connect(end_of(source), end_of(wait.call), EdgeKind::Sync, wait.call);
        }
    }
}

/// Queue of each stream over time: launched but not started.
struct Queues {
    /// Starts of launch calls and of their kernels, each ascending.
    streams: Vec<(Vec<i64>, Vec<i64>)>,
    /// Kernels that are not the first of their launch on the stream: only the first kernel of a graph waits for the call.
    later: HashSet<u32>,
}

impl Queues {
    fn new(gpu: &GpuTrace<'_>) -> Queues {
        let mut queues =
            Queues { streams: vec![Default::default(); gpu.streams.len()], later: HashSet::default() };
        let mut seen_graphs: HashSet<(u32, u32)> = HashSet::default();
        for (i, work) in gpu.work.iter().enumerate().filter(|(_, work)| work.launch != NONE) {
            if gpu.is_graph_launch(work.launch) && !seen_graphs.insert((work.stream, work.launch)) {
                queues.later.insert(i as u32);
                continue;
            }
            let (calls, starts) = &mut queues.streams[work.stream as usize];
            calls.push(call_of(gpu, work));
            starts.push(work.start);
        }
        for (calls, _) in &mut queues.streams {
            calls.sort_unstable();
        }
        queues
    }

    /// Whether nothing else was queued on its stream at its launch and at its start. At equal times, the call comes before the
    /// start.
    fn is_alone(&self, gpu: &GpuTrace<'_>, number: u32) -> bool {
        let work = &gpu.work[number as usize];
        let (calls, starts) = &self.streams[work.stream as usize];
        let called = call_of(gpu, work);
        let n_called = |ts: i64| calls.partition_point(|call| *call <= ts);
        let n_started_before = starts.partition_point(|start| *start < called);
        let n_started = starts.partition_point(|start| *start <= work.start);
        !self.later.contains(&number)
            && n_called(called) == n_started_before + 1
            && n_called(work.start) == n_started
    }
}

/// Time of the launch, capped at the start of the kernel in case of clock skew.
fn call_of(gpu: &GpuTrace<'_>, work: &Work) -> i64 {
    gpu.trace.slices.ts[work.launch as usize].min(work.start)
}

//! Synchronization, from `cuda_sync` events.
//!
//! A wait for a CUDA event names the call that recorded the event, and the stream it was recorded on. It waits for the last
//! kernel or copy launched on that stream before that call. A waiting stream delays the next kernel or copy that the same thread
//! launches on it.

use super::graph::{EventId, Graph};
use crate::analysis::gpu::facts::integer;
use crate::analysis::gpu::model::{NONE, Stream, stream_number};
use crate::analysis::gpu::{GpuTrace, Kind};
use crate::base::sort;
use crate::trace::builder::for_each_member;
use crate::trace::links::LinkTable;
use crate::trace::tracks::TrackId;

/// Target of a wait on the CPU.
#[derive(Clone, Copy, Debug)]
pub enum WaitsFor {
    /// A kernel or copy.
    Event(EventId),
    /// The last kernel or copy of a stream, by its index in [`GpuModel::streams`].
    Stream(u32),
    /// The last kernel or copy of every stream of a device, by its index in [`GpuModel::devices`].
    Device(u32),
}

/// A call on the CPU that waits.
#[derive(Clone, Copy, Debug)]
pub struct HostWait {
    /// When the wait ended, in nanoseconds on the trace's clock.
    pub end: i64,
    pub call: EventId,
    pub waits_for: WaitsFor,
}

/// All waits that involve events of a graph.
#[derive(Default, Debug)]
pub struct Waits {
    /// In order of their ends.
    pub host: Vec<HostWait>,
    /// Index into [`GpuModel::work`] and the event it waits for; ascending.
    pub streams: Vec<(u32, EventId)>,
    /// Whether the trace has any wait at all.
    pub are_recorded: bool,
}

/// A `cuda_sync` event.
#[derive(Clone, Copy)]
struct Row {
    end: i64,
    device: Option<u32>,
    stream: Option<u32>,
    /// The call that waited or made the stream wait.
    call: Option<u32>,
    /// The call that recorded the event waited for, and the stream it was recorded on.
    record: Option<u32>,
    recorded_on: Option<u32>,
}

impl Waits {
    /// Waits between events of `graph`, which has no GPU edges yet.
    pub fn new(graph: &Graph, gpu: &GpuTrace<'_>) -> Waits {
        let mut waits = Waits { are_recorded: gpu.kinds.has(|kind| kind == Kind::Sync), ..Waits::default() };
        let span = graph.events.iter().map(|event| (event.start, event.end));
        let Some((first, last)) = span.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { return waits };
        if !waits.are_recorded {
            return waits;
        }
        let slices = &gpu.trace.slices;
        let mut launches = None;
        for i in 0..slices.ts.partition_point(|ts| *ts <= last) {
            if gpu.kinds.get(slices.category[i]) == Kind::Sync
                && slices.ts[i].saturating_add(slices.dur.get(i).max(0)) >= first
            {
                let launches = launches.get_or_insert_with(|| Launches::new(gpu));
                waits.add(graph, gpu, launches, i as u32);
            }
        }
        sort::by_key(&mut waits.host, |wait| wait.end);
        sort::by(&mut waits.streams, Ord::cmp);
        waits.streams.dedup();
        waits
    }

    fn add(&mut self, graph: &Graph, gpu: &GpuTrace<'_>, launches: &Launches, slice: u32) {
        let Some(row) = Row::read(gpu, slice) else { return };
        let call = row.call.and_then(|call| graph.cpu_event(call));
        let waits_for = match gpu.name(slice) {
            "Stream Wait Event" => return self.add_stream(graph, gpu, launches, &row),
            "Event Sync" => row.source(graph, gpu, launches).map(WaitsFor::Event),
            "Stream Sync" => row.stream.map(WaitsFor::Stream),
            "Context Sync" => row.device.map(WaitsFor::Device),
            _ => None,
        };
        if let (Some(call), Some(waits_for)) = (call, waits_for) {
            self.host.push(HostWait { end: row.end, call, waits_for });
        }
    }

    fn add_stream(&mut self, graph: &Graph, gpu: &GpuTrace<'_>, launches: &Launches, row: &Row) {
        let (Some(call), Some(stream)) = (row.call, row.stream) else { return };
        // Kernels of one stream are ordered anyway.
        if row.recorded_on == row.stream {
            return;
        }
        if let Some(held) = launches.next(gpu, stream, call)
            && graph.gpu_event(held).is_some()
            && let Some(source) = row.source(graph, gpu, launches)
        {
            self.streams.push((held, source));
        }
    }

    /// Events that a kernel or copy waits for.
    pub fn of_work(&self, work: u32) -> impl Iterator<Item = EventId> {
        let from = self.streams.partition_point(|(held, _)| *held < work);
        self.streams[from..].iter().take_while(move |(held, _)| *held == work).map(|(_, source)| *source)
    }
}

impl Row {
    fn read(gpu: &GpuTrace<'_>, slice: u32) -> Option<Row> {
        let i = slice as usize;
        let slices = &gpu.trace.slices;
        let (mut stream, mut call, mut record, mut recorded_on) = (None, None, None, None);
        if gpu.is_marked(i) {
            let link = gpu.trace.links.get(gpu.trace.links.find(slices.offset(i), 0)?);
            stream = (link.stream != LinkTable::NO_STREAM).then(|| i64::from(link.stream));
            call = Some(link.correlation).filter(|id| *id != LinkTable::NONE);
        }
        if let Some(raw) = gpu.marked_args(i) {
            for_each_member(&raw, |key, value| match key.bytes {
                b"stream" => stream = integer(value),
                b"correlation" => call = integer(value),
                b"wait_on_cuda_event_record_corr_id" => record = integer(value),
                b"wait_on_stream" => recorded_on = integer(value),
                _ => {}
            });
        }
        let (process, key) = gpu.thread_of(i)?;
        let (_, alike) = stream_number(gpu.trace, key);
        let device = gpu.devices.iter().position(|device| device.process == process).map(|at| at as u32);
        let stream_of = |number: Option<i64>| {
            let is = |stream: &Stream| {
                Some(stream.device) == device
                    && stream.number.is_some()
                    && (stream.number, stream.alike) == (number, alike)
            };
            gpu.streams.iter().position(is).map(|at| at as u32)
        };
        Some(Row {
            end: slices.ts[i].saturating_add(slices.dur.get(i).max(0)),
            device,
            stream: stream_of(stream),
            call: call.and_then(|correlation| gpu.call(device, correlation)),
            record: record.and_then(|correlation| gpu.call(device, correlation)),
            recorded_on: stream_of(recorded_on),
        })
    }

    /// The kernel or copy that the CUDA event marks.
    fn source(&self, graph: &Graph, gpu: &GpuTrace<'_>, launches: &Launches) -> Option<EventId> {
        let recorded = gpu.trace.slices.ts[self.record? as usize];
        graph.gpu_event(launches.previous(self.recorded_on?, recorded)?)
    }
}

/// Launches of all kernels and copies, in order of their calls.
struct Launches {
    /// Stream, start of the call, and index in [`GpuModel::work`].
    by_stream: Vec<(u32, i64, u32)>,
    /// The same with the thread of the call.
    by_thread: Vec<(u32, TrackId, i64, u32)>,
}

impl Launches {
    fn new(gpu: &GpuTrace<'_>) -> Launches {
        let slices = &gpu.trace.slices;
        let launched = || gpu.work.iter().zip(0..).filter(|(work, _)| work.launch != NONE);
        let ts = |launch: u32| slices.ts[launch as usize];
        let mut by_stream: Vec<_> = launched().map(|(work, i)| (work.stream, ts(work.launch), i)).collect();
        by_stream.sort_unstable();
        let mut by_thread: Vec<_> = launched()
            .map(|(work, i)| (work.stream, slices.track[work.launch as usize], ts(work.launch), i))
            .collect();
        by_thread.sort_unstable();
        Launches { by_stream, by_thread }
    }

    /// The last kernel or copy launched on `stream` before `ts`; for a graph, its last.
    fn previous(&self, stream: u32, ts: i64) -> Option<u32> {
        let behind = self.by_stream.partition_point(|(of, at, _)| (*of, *at) < (stream, ts));
        let (of, _, work) = *self.by_stream.get(behind.checked_sub(1)?)?;
        (of == stream).then_some(work)
    }

    /// The next kernel or copy that the thread of `call` launched on `stream` after it; for a graph, its first.
    fn next(&self, gpu: &GpuTrace<'_>, stream: u32, call: u32) -> Option<u32> {
        let slices = &gpu.trace.slices;
        let (track, ts) = (slices.track[call as usize], slices.ts[call as usize]);
        let at =
            self.by_thread.partition_point(|(of, thread, at, _)| (*of, *thread, *at) < (stream, track, ts));
        let (of, thread, _, work) = *self.by_thread.get(at)?;
        (of == stream && thread == track).then_some(work)
    }
}

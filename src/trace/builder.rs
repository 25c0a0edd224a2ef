//! Turns rows as in the file into a finished [`Trace`].
//!
//! Takes events in file order, with separate begins and ends; produces sorted, paired and nested tables. Unusable events are
//! reported in the ledger with their places. It reads no file format.

mod asyncs;
mod counters;
mod flows;
pub mod issues;
mod joined;
mod members;
mod metadata;
mod nesting;
mod order;
mod pairing;
mod range;
mod renumbered;
mod samples;
mod slice_events;
mod spill;
mod streams;

use super::event_table::EventTable;
use super::events::{ListedSample, NamedFrame};
use super::slices::SliceKind;
use super::tracks::{Key, ProcessId, ThreadId, TrackKind};
use super::{Position, SourceInfo, Trace};
use crate::base::hash::HashMap;
use crate::base::strings::StringId;

pub use members::{find_member, for_each_element, for_each_member};
pub use metadata::{
    ASYNC_TRACK, INSTANTS_TRACK, LOCAL_ASYNC_TRACK, METADATA_EVENT, OVERLAP_EVENT, OWN_NOTES, OWN_TRACK,
    SERIES_TRACK, STATES_TRACK, UNFINISHED_STATE,
};
pub(super) use nesting::compute_self_times;
pub use range::TimeRange;
pub use renumbered::{OWN_FACT, OriginalId, Renumbered};
pub use samples::{add_named_frame, add_named_frames};

/// Maximum number of events to reserve memory for in advance.
const MAX_RESERVED_EVENTS: usize = 1 << 24;

/// Dialect of a writer, for joining events.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Ways {
    /// The Trace Event Format, as Perfetto reads it.
    #[default]
    Format,
    /// The PyTorch profiler (Kineto): times are rounded, so a child may outlast its parent by a microsecond (a nanosecond if
    /// times have decimals); an end closes the innermost slice, whatever its name; a flow ends in the enclosing slice.
    Kineto,
    /// Perfetto's track events: each track is a thread here. A begin and its end are joined by place in the file where a writer
    /// writes all begins of a group and then all ends; else an end closes the innermost slice of its name and category, and
    /// those above it stay open. Slices without an end last to the end of the trace. Arrows are chains: see
    /// [`Chained`](super::event_table::Chained).
    Tracks,
}

/// What a track is that is no thread, though its events have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherTrack {
    pub kind: TrackKind,
    /// [`StringId::NONE`] for instants.
    pub name: StringId,
    /// `None` for instants of the whole trace.
    pub process: Option<ProcessId>,
}

impl OtherTrack {
    /// Kind of a slice on it that would be of `kind` on a thread.
    pub(crate) fn kind_of(self, kind: SliceKind) -> SliceKind {
        match (self.kind, kind) {
            (TrackKind::ProcessInstants | TrackKind::GlobalInstants, kind) => kind,
            (_, SliceKind::Instant) => SliceKind::AsyncInstant,
            _ => SliceKind::Async,
        }
    }
}

/// Builder that readers add rows to.
#[derive(Default)]
pub struct TraceBuilder {
    /// Tables whose rows need no further processing are filled in place.
    pub trace: Trace,
    /// Timeline events, to be sorted and paired.
    pub events: EventTable,
    /// Stack frames by their names in the file.
    pub named_frames: HashMap<StringId, NamedFrame>,
    /// Dialect of the file: see [`Ways`].
    pub ways: Ways,
    /// Tracks that events name like threads, and what they are.
    pub other_tracks: HashMap<ThreadId, OtherTrack>,
    /// Samples that are not events.
    pub listed_samples: Vec<ListedSample>,
    /// Maximum number of events in memory; beyond it events are aggregated.
    pub max_rows: Option<usize>,
    spilled: Option<Box<spill::SpilledEvents>>,
    /// Time range to keep, if not all.
    range: Option<range::Held>,
    /// Of dropped events from before it.
    earlier_counters: counters::EarlierCounters,
    /// Nanoseconds by which rounding may have moved slice ends, if known from elsewhere.
    tolerance: Option<i64>,
    interner: samples::StackInterner,
    process_ids: HashMap<Key, ProcessId>,
    thread_ids: HashMap<(ProcessId, Key), ThreadId>,
}

impl TraceBuilder {
    pub fn new(source: SourceInfo) -> TraceBuilder {
        TraceBuilder { trace: Trace { source, ..Trace::default() }, ..TraceBuilder::default() }
    }

    /// Process of `key`, added if new. A text key is its name until the file gives another.
    pub fn process(&mut self, key: Key) -> ProcessId {
        if let Some(id) = self.process_ids.get(&key) {
            return *id;
        }
        let id = self.trace.processes.push(key);
        if let Key::Text(text) = key
            && text != StringId::EMPTY
        {
            self.trace.processes.name[id.0 as usize] = text;
        }
        self.process_ids.insert(key, id);
        id
    }

    /// Thread of `key` in `process`, added if new. A text key is its name until the file gives another.
    pub fn thread(&mut self, process: ProcessId, key: Key) -> ThreadId {
        if let Some(id) = self.thread_ids.get(&(process, key)) {
            return *id;
        }
        let id = self.trace.threads.push(process, key);
        // The main thread of a process with a text key has the same key, which does not name the thread.
        let is_main = self.trace.processes.key.get(process.0 as usize) == Some(&key);
        if let Key::Text(text) = key
            && text != StringId::EMPTY
            && !is_main
        {
            self.trace.threads.name[id.0 as usize] = text;
        }
        self.thread_ids.insert((process, key), id);
        id
    }

    /// Reserves memory for the events of the whole file, after `read_bytes` of `file_bytes` were read. Growing step by step
    /// would copy every column repeatedly.
    pub fn reserve_for(&mut self, read_bytes: u64, file_bytes: u64) {
        let n_events = self.events.n_events() as u64;
        if read_bytes > 0 && file_bytes > read_bytes {
            let rest = u128::from(n_events) * u128::from(file_bytes - read_bytes) / u128::from(read_bytes);
            // With some slack, but bounded, in case the estimate is wrong.
            let rest = usize::try_from(rest + rest / 32).unwrap_or(usize::MAX).min(MAX_RESERVED_EVENTS);
            let rest = rest.min(self.max_rows.unwrap_or(usize::MAX));
            self.events.reserve_exact(rest);
        }
    }

    /// Trace of what is here so far; `reader` adds what it has not handed over yet (no events). Events, which are most of the
    /// data, are only copied where streams must be taken apart.
    pub fn snapshot(&self, reader: impl FnOnce(&mut TraceBuilder)) -> Trace {
        let mut so_far = self.copy();
        reader(&mut so_far);
        so_far.put_together(|so_far| pairing::pair(so_far, &self.events));
        so_far.trace
    }

    /// Copies everything but the events.
    fn copy(&self) -> TraceBuilder {
        TraceBuilder {
            trace: self.trace.clone(),
            events: EventTable::default(),
            named_frames: self.named_frames.clone(),
            ways: self.ways,
            other_tracks: self.other_tracks.clone(),
            listed_samples: self.listed_samples.clone(),
            max_rows: self.max_rows,
            spilled: None,
            range: self.range,
            earlier_counters: self.earlier_counters.clone(),
            tolerance: self.tolerance,
            interner: self.interner.clone(),
            process_ids: self.process_ids.clone(),
            thread_ids: self.thread_ids.clone(),
        }
    }

    /// Sorts, pairs and nests.
    pub fn finish(mut self) -> Trace {
        if self.is_spilling() {
            return self.put_together_spilled();
        }
        self.trace.links.shrink_to_fit();
        self.trace.signatures.shrink_to_fit();
        let events = std::mem::take(&mut self.events);
        self.put_together(|all| pairing::pair_up(all, events));
        self.trace
    }

    /// Counts memory accesses that did not fit.
    fn leave_out_accesses(&mut self) {
        let Trace { accesses, ledger, .. } = &mut self.trace;
        let n = accesses.n_left_out();
        if n == 0 {
            return;
        }
        // All accesses have about the same size.
        let n_bytes = u128::from(ledger.kept.bytes) * u128::from(n) / u128::from(ledger.kept.records.max(n));
        let n_bytes = n_bytes as u64;
        let at = Position { byte: ledger.kept.bytes.saturating_sub(n_bytes), line: None };
        ledger.kept_to_skipped_records(&issues::ACCESSES_LEFT_OUT, n, n_bytes, at);
    }

    fn put_together(&mut self, pair: impl FnOnce(&mut TraceBuilder)) {
        pair(self);
        self.trace.counters.sort();
        samples::finish(self);
        nesting::compute_self_times(&mut self.trace);
        renumbered::undo(self);
        self.leave_out_accesses();
        self.leave_out_rest();
    }
}

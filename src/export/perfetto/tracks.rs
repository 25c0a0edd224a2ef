//! Tracks of the file: processes, threads, and lanes for what overlaps.

use super::sequence::{Sequence, packet};
use crate::base::hash::HashSet;
use crate::base::protobuf::PushFields;
use crate::export::chrome_trace::RenumberedNotes;
use crate::trace::builder::{
    ASYNC_TRACK, INSTANTS_TRACK, LOCAL_ASYNC_TRACK, OVERLAP_EVENT, Renumbered, SERIES_TRACK, STATES_TRACK,
};
use crate::trace::slices::{SliceId, UNFINISHED};
use crate::trace::tracks::{Key, ThreadId, TrackId, TrackKind};
use crate::trace::{Run, Trace};

/// Order of children by their ranks.
const EXPLICIT: u64 = 1;
/// Siblings are one row in Perfetto if they have one key, or never.
const MERGE_BY_KEY: u64 = 3;
const MERGE_NEVER: u64 = 2;

/// Open slices of a track beyond which Perfetto drops more.
const MAX_LEVELS: usize = 512;

/// Fields of a track descriptor.
mod field {
    pub const STATE: u64 = 18;
    pub const UUID: u64 = 1;
    pub const NAME: u64 = 2;
    pub const PROCESS: u64 = 3;
    pub const THREAD: u64 = 4;
    pub const PARENT: u64 = 5;
    pub const COUNTER: u64 = 8;
    pub const RANK: u64 = 12;
    pub const MERGING: u64 = 15;
    pub const MERGE_KEY: u64 = 16;
    pub const PROCESS_ORDER: u64 = 19;
    pub const THREAD_ORDER: u64 = 20;
}

/// Numbers in use, over all traces.
#[derive(Default)]
pub struct Numbers {
    n_tracks: u64,
    n_sequences: u64,
    /// Pids of the traces, which no other process gets.
    reserved: HashSet<i64>,
    pids: HashSet<i64>,
    last_pid: i64,
    last_tid: i64,
    /// Ids that had to change.
    pub renumbered: RenumberedNotes,
}

/// The number of a key that can be a pid.
fn own_pid(key: Key) -> Option<i64> {
    match key {
        Key::Number(number @ 0..=0x7fff_ffff) => Some(number),
        _ => None,
    }
}

impl Numbers {
    /// Reserves the pids of all traces.
    pub fn reserve(run: &Run) -> Numbers {
        let keys = run.traces.iter().flat_map(|trace| &trace.processes.key);
        Numbers { reserved: keys.filter_map(|key| own_pid(*key)).collect(), ..Numbers::default() }
    }

    pub fn new_track(&mut self) -> u64 {
        self.n_tracks += 1;
        self.n_tracks
    }

    pub fn new_sequence(&mut self, track: u64) -> Sequence {
        self.n_sequences += 1;
        Sequence::new(self.n_sequences, track)
    }

    /// The pid of a process: its own, if it is a number that no other has.
    fn pid(&mut self, key: Key) -> i64 {
        if let Some(number) = own_pid(key)
            && self.pids.insert(number)
        {
            return number;
        }
        loop {
            self.last_pid += 1;
            if !self.reserved.contains(&self.last_pid) {
                return self.last_pid;
            }
        }
    }
}

/// A slice that is open on a lane.
struct Open {
    end: i64,
    slice: u32,
}

/// Slices within each other.
pub struct Lane {
    pub sequence: Sequence,
    open: Vec<Open>,
}

impl Lane {
    /// Forgets the slice that was just opened, which has no end of its own.
    pub fn drop_last(&mut self) {
        self.open.pop();
    }
}

/// Lanes of a track, and how further ones are described.
struct Track {
    lanes: Vec<Lane>,
    uuid: u64,
    name: String,
    /// Some slices have no end, so ends are named.
    has_open_ends: bool,
    /// Of states, which do not nest and last until the next one.
    is_state: bool,
}

/// Tracks of one trace.
pub struct Layout {
    /// Of each process, its track.
    processes: Vec<u64>,
    tracks: Vec<Track>,
    /// Time that slices without an end contain others up to.
    end: i64,
    /// Subtracted from all times.
    origin: i64,
}

/// Appends a descriptor.
fn describe(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.message(packet::PACKET, |out| out.message(packet::TRACK, write));
}

/// Appends a rank, which may be negative.
fn push_rank(rank: Option<i32>, out: &mut Vec<u8>) {
    if let Some(rank) = rank {
        out.number(field::RANK, i64::from(rank) as u64);
    }
}

/// Says that processes and threads are in the order of their ranks.
pub fn describe_root(out: &mut Vec<u8>) {
    describe(out, |out| {
        out.number(field::UUID, 0);
        out.number(field::PROCESS_ORDER, EXPLICIT);
        out.number(field::THREAD_ORDER, EXPLICIT);
    });
}

/// Describes a track outside of all processes.
pub fn describe_global(uuid: u64, name: &str, out: &mut Vec<u8>) {
    describe(out, |out| {
        out.number(field::UUID, uuid);
        out.bytes(field::NAME, name.as_bytes());
    });
}

/// Describes a track of Tracedrop's own. Siblings with the same key are one track in Perfetto.
pub fn describe_own(uuid: u64, parent: Option<u64>, name: &str, key: &str, out: &mut Vec<u8>) {
    describe(out, |out| {
        out.number(field::UUID, uuid);
        out.bytes(field::NAME, name.as_bytes());
        if let Some(parent) = parent {
            out.number(field::PARENT, parent);
        }
        out.number(field::MERGING, MERGE_BY_KEY);
        out.bytes(field::MERGE_KEY, key.as_bytes());
    });
}

impl Layout {
    /// Describes processes, threads and tracks.
    /// Names of processes contain the `rank`; `origin` is subtracted from all times.
    pub fn new(
        trace: &Trace,
        rank: Option<i64>,
        origin: i64,
        numbers: &mut Numbers,
        out: &mut Vec<u8>,
    ) -> Layout {
        let strings = &trace.strings;
        let key_text = |key: Key| match key {
            Key::Number(number) => number.to_string(),
            Key::Text(id) | Key::Digits(id) => strings.get(id).to_string(),
        };
        let was = Renumbered::of(&trace.source);
        let processes = &trace.processes;
        let mut uuids = Vec::with_capacity(processes.len());
        let mut pids = Vec::with_capacity(processes.len());
        for process in 0..processes.len() {
            let (uuid, key) = (numbers.new_track(), processes.key[process]);
            let pid = numbers.pid(key);
            numbers.renumbered.process(trace, key, pid, &was);
            let name = strings.get_opt(processes.name[process]).map(str::to_string);
            // A number that had to change is still told.
            let name = name.or_else(|| (key != Key::Number(pid)).then(|| key_text(key)));
            let name = match (rank, name) {
                (Some(rank), Some(name)) => Some(format!("Rank {rank}: {name}")),
                (Some(rank), None) => Some(format!("Rank {rank}")),
                (None, name) => name,
            };
            describe(out, |out| {
                out.number(field::UUID, uuid);
                out.message(field::PROCESS, |out| {
                    out.number(1, pid as u64);
                    if let Some(name) = &name {
                        out.bytes(6, name.as_bytes());
                    }
                    if let Some(labels) = strings.get_opt(processes.labels[process]) {
                        out.bytes(8, labels.as_bytes());
                    }
                });
                push_rank(processes.sort_index[process], out);
            });
            uuids.push(uuid);
            pids.push(pid);
        }
        let threads = &trace.threads;
        let mut of_threads = Vec::with_capacity(threads.len());
        let mut used: HashSet<(usize, i64)> = HashSet::default();
        let own = (0..threads.len()).filter_map(|thread| match threads.key[thread] {
            Key::Number(tid) => Some((threads.process[thread].0 as usize, tid)),
            _ => None,
        });
        used.extend(own);
        let mut given: HashSet<(usize, i64)> = HashSet::default();
        for (thread, is_stand_in) in trace.stand_ins(true).into_iter().enumerate().take(threads.len()) {
            if is_stand_in {
                // No track is of it.
                of_threads.push((0, String::new()));
                continue;
            }
            let (uuid, process) = (numbers.new_track(), threads.process[thread].0 as usize);
            let key = threads.key[thread];
            let own = match key {
                Key::Number(tid @ 0..=0xffff_ffff) => Some(tid),
                _ => None,
            };
            let tid = own.filter(|tid| given.insert((process, *tid))).unwrap_or_else(|| {
                loop {
                    numbers.last_tid += 1;
                    if used.insert((process, numbers.last_tid)) {
                        return numbers.last_tid;
                    }
                }
            });
            if let Some(pid) = pids.get(process) {
                numbers.renumbered.thread(trace, (processes.key[process], key), (*pid, tid), &was);
            }
            let name = strings.get_opt(threads.name[thread]).map(str::to_string);
            let name = name.or_else(|| (key != Key::Number(tid)).then(|| key_text(key)));
            describe(out, |out| {
                out.number(field::UUID, uuid);
                out.message(field::THREAD, |out| {
                    out.number(1, pids.get(process).copied().unwrap_or(0) as u64);
                    out.number(2, tid as u64);
                    if let Some(name) = &name {
                        out.bytes(5, name.as_bytes());
                    }
                });
                if let Some(parent) = uuids.get(process) {
                    out.number(field::PARENT, *parent);
                }
                push_rank(threads.sort_index[thread], out);
            });
            of_threads.push((uuid, name.unwrap_or_else(|| format!("Thread {tid}"))));
        }
        let mut layout = Layout {
            processes: uuids,
            tracks: Vec::new(),
            end: trace.span().map_or(0, |(_, end)| end),
            origin,
        };
        layout.add_tracks(trace, &of_threads, numbers, out);
        layout
    }

    fn add_tracks(
        &mut self,
        trace: &Trace,
        of_threads: &[(u64, String)],
        numbers: &mut Numbers,
        out: &mut Vec<u8>,
    ) {
        let (tracks, strings) = (&trace.tracks, &trace.strings);
        let mut n_lanes = vec![1u32; of_threads.len()];
        for track in 0..tracks.len() {
            let kind = tracks.kind[track];
            let thread = tracks.thread[track].map(|ThreadId(thread)| thread as usize);
            let of_thread = thread.and_then(|thread| of_threads.get(thread));
            let (uuid, name) = match (kind, of_thread) {
                (TrackKind::Thread, Some((uuid, name))) => (*uuid, name.clone()),
                (TrackKind::ThreadOverflow, Some((parent, name))) => {
                    let uuid = numbers.new_track();
                    let n = &mut n_lanes[thread.unwrap_or(0)];
                    *n += 1;
                    describe_lane(uuid, *parent, &format!("{name} (overlap {n})"), false, out);
                    (uuid, name.clone())
                }
                _ => {
                    let parent = match (kind, of_thread) {
                        (TrackKind::ThreadState, Some((uuid, _))) => Some(*uuid),
                        _ => tracks.process[track].and_then(|of| self.processes.get(of.0 as usize).copied()),
                    };
                    let name = match kind {
                        TrackKind::ThreadState => "State",
                        TrackKind::ProcessInstants | TrackKind::GlobalInstants => "Instants",
                        _ => strings.get_opt(tracks.name[track]).unwrap_or_default(),
                    };
                    let uuid = numbers.new_track();
                    // Siblings of one name are one row in Perfetto.
                    let key = match kind {
                        TrackKind::Thread | TrackKind::ThreadOverflow => None,
                        TrackKind::ThreadState => Some(STATES_TRACK.to_string()),
                        TrackKind::ProcessInstants | TrackKind::GlobalInstants => {
                            Some(INSTANTS_TRACK.to_string())
                        }
                        TrackKind::AsyncProcess => Some(format!("{LOCAL_ASYNC_TRACK}:{name}")),
                        TrackKind::AsyncGlobal | TrackKind::AsyncLegacy => {
                            Some(format!("{ASYNC_TRACK}:{name}"))
                        }
                    };
                    describe(out, |out| {
                        out.number(field::UUID, uuid);
                        out.bytes(field::NAME, name.as_bytes());
                        if let Some(parent) = parent {
                            out.number(field::PARENT, parent);
                        }
                        if let Some(key) = &key {
                            out.number(field::MERGING, MERGE_BY_KEY);
                            out.bytes(field::MERGE_KEY, key.as_bytes());
                        }
                        if kind == TrackKind::ThreadState {
                            out.bytes(field::STATE, b"");
                        }
                    });
                    (uuid, name.to_string())
                }
            };
            let lane = Lane { sequence: numbers.new_sequence(uuid), open: Vec::new() };
            let is_state = kind == TrackKind::ThreadState;
            self.tracks.push(Track { lanes: vec![lane], uuid, name, has_open_ends: false, is_state });
        }
        for slice in 0..trace.slices.len() {
            if trace.slices.dur.get(slice) == UNFINISHED
                && let Some(track) = self.tracks.get_mut(trace.slices.track[slice].0 as usize)
            {
                track.has_open_ends = true;
            }
        }
    }

    /// Track of a process.
    pub fn process(&self, process: usize) -> Option<u64> {
        self.processes.get(process).copied()
    }

    /// Whether a track is one of states.
    pub fn has_states(&self, TrackId(track): TrackId) -> bool {
        self.tracks.get(track as usize).is_some_and(|track| track.is_state)
    }

    /// Ends slices of a track that end before a slice starts, and opens that slice on the first lane where it nests, which is
    /// returned.
    pub fn open(
        &mut self,
        trace: &Trace,
        slice: SliceId,
        numbers: &mut Numbers,
        out: &mut Vec<u8>,
    ) -> &mut Lane {
        let i = slice.0 as usize;
        let (start, dur) = (trace.slices.ts[i], trace.slices.dur.get(i));
        let until = if dur == UNFINISHED { self.end.max(start) } else { start.saturating_add(dur) };
        let track = &mut self.tracks[trace.slices.track[i].0 as usize];
        let (ends, origin) = (Ends::of(track), self.origin);
        let max_levels = if track.is_state { 1 } else { MAX_LEVELS };
        let mut found = None;
        for (at, lane) in track.lanes.iter_mut().enumerate() {
            if track.is_state {
                // The next state ends it.
                lane.open.pop_if(|open| open.end == start);
            }
            close(trace, lane, (start, origin), ends, out);
            if lane.open.len() < max_levels && lane.open.last().is_none_or(|open| open.end >= until) {
                found = Some(at);
                break;
            }
        }
        let at = found.unwrap_or_else(|| {
            let uuid = numbers.new_track();
            let n = track.lanes.len() + 1;
            describe_lane(uuid, track.uuid, &format!("{} (overlap {n})", track.name), track.is_state, out);
            track.lanes.push(Lane { sequence: numbers.new_sequence(uuid), open: Vec::new() });
            track.lanes.len() - 1
        });
        let lane = &mut track.lanes[at];
        lane.open.push(Open { end: until, slice: slice.0 });
        lane
    }

    /// Ends all slices.
    pub fn close_all(&mut self, trace: &Trace, out: &mut Vec<u8>) {
        for track in &mut self.tracks {
            let ends = Ends::of(track);
            for lane in &mut track.lanes {
                close(trace, lane, (i64::MAX, self.origin), ends, out);
            }
        }
    }
}

/// How ends are written.
#[derive(Clone, Copy)]
enum Ends {
    Plain,
    Named,
    /// A state without a name.
    State,
}

impl Ends {
    fn of(track: &Track) -> Ends {
        match track {
            Track { is_state: true, .. } => Ends::State,
            Track { has_open_ends: true, .. } => Ends::Named,
            _ => Ends::Plain,
        }
    }
}

/// Ends slices that end by `ts`; `origin` is subtracted from times.
fn close(trace: &Trace, lane: &mut Lane, (ts, origin): (i64, i64), ends: Ends, out: &mut Vec<u8>) {
    while let Some(open) = lane.open.pop_if(|open| open.end <= ts) {
        if trace.slices.dur.get(open.slice as usize) == UNFINISHED {
            continue;
        }
        let end = open.end.saturating_sub(origin);
        match ends {
            Ends::State => super::push_state_end(&mut lane.sequence, end, out),
            Ends::Plain => super::push_end(&mut lane.sequence, None, end, out),
            Ends::Named => {
                let name = trace.slices.name[open.slice as usize];
                super::push_end(&mut lane.sequence, Some((name, trace.strings.get(name))), end, out);
            }
        }
    }
}

/// Describes a lane of a track for slices, or states, that overlap others there. Readers take the key as that.
fn describe_lane(uuid: u64, parent: u64, name: &str, is_state: bool, out: &mut Vec<u8>) {
    describe(out, |out| {
        out.number(field::UUID, uuid);
        out.bytes(field::NAME, name.as_bytes());
        out.number(field::PARENT, parent);
        out.number(field::MERGING, MERGE_BY_KEY);
        out.bytes(field::MERGE_KEY, OVERLAP_EVENT.as_bytes());
        if is_state {
            out.bytes(field::STATE, b"");
        }
    });
}

/// Describes a series of a counter, with the id of the counter.
pub fn describe_counter(
    uuid: u64,
    parent: Option<u64>,
    (name, id): (&str, Option<&str>),
    unit: &str,
    out: &mut Vec<u8>,
) {
    let (name, key) = match id {
        Some(id) => (format!("{name} [{id}]"), format!("{SERIES_TRACK}:{id}")),
        None => (name.to_string(), SERIES_TRACK.to_string()),
    };
    describe(out, |out| {
        out.number(field::UUID, uuid);
        out.bytes(field::NAME, name.as_bytes());
        if let Some(parent) = parent {
            out.number(field::PARENT, parent);
        }
        out.message(field::COUNTER, |out| out.bytes(6, unit.as_bytes()));
        out.number(field::MERGING, MERGE_NEVER);
        out.bytes(field::MERGE_KEY, key.as_bytes());
    });
}

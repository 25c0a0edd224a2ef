//! Tracks, and the processes and threads they stand for.
//!
//! Descriptors may come after events, so tracks get a thread when the first event comes, and their names and processes at the
//! end. Each track is a thread of its own, except that the tracks of one thread are one.

use super::gpu::{self, Role};
use super::issues::*;
use crate::base::hash::{HashMap, HashSet};
use crate::base::protobuf::{Fields, Value, key};
use crate::base::sort;
use crate::base::strings::StringId;
use crate::trace::builder::{
    ASYNC_TRACK, INSTANTS_TRACK, LOCAL_ASYNC_TRACK, OVERLAP_EVENT, OWN_NOTES, OWN_TRACK, OtherTrack,
    SERIES_TRACK, STATES_TRACK,
};
use crate::trace::tracks::{Key, ProcessId, ThreadId, TrackKind};
use crate::trace::{Position, Trace, TraceBuilder};

/// Name of the process of tracks that belong to none.
const NO_PROCESS: &str = "Global tracks";
/// Name of the track of events without one.
const DEFAULT_TRACK: &str = "Default Track";
/// Labels of a process that are kept.
const MAX_LABEL_BYTES: usize = 1 << 12;

/// Order of children by their ranks.
const EXPLICIT: u64 = 3;

/// Row of [`Tracks::rows`].
pub type TrackIndex = u32;
/// Row of [`Tracks::processes`].
type ProcessRow = u32;

/// What a descriptor says of its track.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
enum Kind {
    /// No descriptor so far.
    #[default]
    Undescribed,
    Plain,
    Process(ProcessRow),
    Thread(ProcessRow, i64),
    Counter,
    State,
}

/// Track that an export of Tracedrop added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// Steps or phases, which the reports find again.
    Steps,
    Notes,
}

/// What a track of an export of Tracedrop is, by its sibling merge key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// Slices of its parent that overlap others there.
    Lane,
    /// States of its parent.
    States,
    /// Async slices, by global ids or by those of a process.
    Async,
    LocalAsync,
    /// Instants of its process, or of the whole trace.
    Instants,
    /// A series of a counter, with the counter's id if it has one.
    Series(StringId),
}

impl Part {
    fn of(key: &[u8], out: &mut TraceBuilder) -> Option<Part> {
        let colon = key.iter().position(|byte| *byte == b':');
        let (kind, rest) = colon.map_or((key, None), |at| (&key[..at], Some(&key[at + 1..])));
        Some(match std::str::from_utf8(kind).ok()? {
            OVERLAP_EVENT => Part::Lane,
            STATES_TRACK => Part::States,
            ASYNC_TRACK => Part::Async,
            LOCAL_ASYNC_TRACK => Part::LocalAsync,
            INSTANTS_TRACK => Part::Instants,
            SERIES_TRACK => {
                let id = rest.map(|id| out.trace.strings.intern_bytes(id));
                Part::Series(id.unwrap_or(StringId::NONE))
            }
            _ => return None,
        })
    }
}

/// Unit of a counter, and how its values are meant.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    pub multiplier: f64,
    pub is_incremental: bool,
    unit: StringId,
    /// Name of counters that every writer means alike; [`StringId::NONE`] of others.
    name: StringId,
}

#[derive(Clone)]
struct Track {
    machine: u32,
    uuid: u64,
    kind: Kind,
    name: StringId,
    /// Name of its first event, for tracks without a name.
    event_name: StringId,
    parent: Option<u64>,
    counter: Option<Counter>,
    rank: Option<i32>,
    /// Its children are in the order of their ranks.
    ranks_children: bool,
    part: Option<Part>,
    own: Option<Own>,
    thread: Option<ThreadId>,
    /// Offset of the first packet with it, for the ledger.
    first: u64,
}

#[derive(Clone)]
struct Process {
    pid: i64,
    name: StringId,
    labels: StringId,
    rank: Option<i32>,
    /// The track that describes it.
    uuid: Option<u64>,
    id: Option<ProcessId>,
}

/// A thread of a process.
#[derive(Clone)]
struct Thread {
    name: StringId,
    rank: Option<i32>,
    id: Option<ThreadId>,
}

/// A thread as the kernel knows it.
#[derive(Clone, Default)]
struct KernelThread {
    /// It has events of the scheduler.
    id: Option<ThreadId>,
    name: Option<StringId>,
    process: Option<i64>,
}

/// All tracks so far.
#[derive(Clone, Default)]
pub struct Tracks {
    rows: Vec<Track>,
    by_uuid: HashMap<(u32, u64), TrackIndex>,
    processes: Vec<Process>,
    /// The last process of a pid.
    by_pid: HashMap<(u32, i64), ProcessRow>,
    threads: Vec<Thread>,
    /// The last thread of a tid, in a process.
    by_tid: HashMap<(ProcessRow, i64), u32>,
    /// Thread of each track that has one.
    of_track: HashMap<TrackIndex, u32>,
    no_process: Option<ProcessId>,
    /// Machines whose processes, and whose threads, are in the order of their ranks.
    ranked_processes: HashSet<u32>,
    ranked_threads: HashSet<u32>,
    /// Some track is [`Own`].
    has_own: bool,
    /// Threads that only the kernel named so far, by machine and id.
    of_kernel: HashMap<(u32, i64), KernelThread>,
    /// GPUs of rocprofv3, by machine and number.
    agents: HashMap<(u32, i64), ProcessRow>,
    /// Threads of tracks of rocprofv3 on each of its GPUs.
    on_agents: HashMap<(TrackIndex, i64), ThreadId>,
    /// That of the last event of such a track that began: rocprofv3 writes its end right behind.
    last_on_agent: HashMap<TrackIndex, ThreadId>,
    /// Thread ids that turned out to be those of others.
    aliases: Vec<(ThreadId, ThreadId)>,
}

/// A field that was given.
fn given(id: StringId) -> Option<StringId> {
    id.some().filter(|id| *id != StringId::EMPTY)
}

impl Tracks {
    /// Track of a uuid, added if new.
    pub fn track(&mut self, machine: u32, uuid: u64, offset: u64) -> TrackIndex {
        *self.by_uuid.entry((machine, uuid)).or_insert_with(|| {
            self.rows.push(Track {
                machine,
                uuid,
                kind: Kind::Undescribed,
                name: StringId::NONE,
                event_name: StringId::NONE,
                parent: None,
                counter: None,
                rank: None,
                ranks_children: false,
                part: None,
                own: None,
                thread: None,
                first: offset,
            });
            self.rows.len() as u32 - 1
        })
    }

    /// Process of a pid, described by the track `uuid`. Two that are described under different names are different ones: pids
    /// are used again, and GPUs may have the same.
    fn process(&mut self, machine: u32, pid: i64, described: Option<(u64, StringId)>) -> ProcessRow {
        if let Some(row) = self.by_pid.get(&(machine, pid)).copied() {
            let process = &mut self.processes[row as usize];
            let is_other = described.is_some_and(|(uuid, name)| {
                process.uuid.is_some_and(|own| own != uuid)
                    && given(name).is_some_and(|name| given(process.name).is_some_and(|own| own != name))
            });
            if !is_other {
                if let Some((uuid, name)) = described {
                    process.uuid.get_or_insert(uuid);
                    process.name = given(name).unwrap_or(process.name);
                }
                return row;
            }
        }
        let name = described.map_or(StringId::NONE, |(_, name)| name);
        let uuid = described.map(|(uuid, _)| uuid);
        self.processes.push(Process { pid, name, labels: StringId::NONE, rank: None, uuid, id: None });
        let row = self.processes.len() as u32 - 1;
        self.by_pid.insert((machine, pid), row);
        row
    }

    /// Thread of a tid. Two of one tid with different names are different ones.
    fn thread(&mut self, process: ProcessRow, tid: i64, name: StringId, is_new_track: bool) -> u32 {
        if let Some(row) = self.by_tid.get(&(process, tid)).copied() {
            let thread = &mut self.threads[row as usize];
            let is_other = is_new_track
                && given(name).is_some_and(|name| given(thread.name).is_some_and(|own| own != name));
            if !is_other {
                thread.name = given(name).unwrap_or(thread.name);
                return row;
            }
        }
        self.threads.push(Thread { name, rank: None, id: None });
        let row = self.threads.len() as u32 - 1;
        self.by_tid.insert((process, tid), row);
        row
    }

    /// Takes a `TrackDescriptor`. Returns pid and tid if it describes a thread.
    pub fn describe(
        &mut self,
        message: &[u8],
        machine: u32,
        offset: u64,
        out: &mut TraceBuilder,
    ) -> Option<(i64, i64)> {
        let (mut uuid, mut parent, mut name, mut rank) = (0, None, StringId::NONE, None);
        let (mut process, mut thread, mut counter, mut is_state) = (None, None, None, false);
        let (mut merge_key, mut own) = (None, None);
        let (mut are_ranked, mut rank_processes, mut rank_threads) = (None, false, false);
        let mut labels = StringId::NONE;
        let strings = &mut out.trace.strings;
        let mut fields = Fields::new(message);
        while let Some((field, value)) = fields.next_keyed() {
            match (field, value) {
                (key, Value::Number(number)) if key == key::varint(1) => uuid = number,
                (key, Value::Number(number)) if key == key::varint(5) => parent = Some(number),
                (key, Value::Number(number)) if key == key::varint(12) => rank = Some(number as i64 as i32),
                (key, Value::Number(number)) if key == key::varint(11) => {
                    are_ranked = Some(number == EXPLICIT)
                }
                (key, Value::Number(number)) if key == key::varint(19) => rank_processes = number == 1,
                (key, Value::Number(number)) if key == key::varint(20) => rank_threads = number == 1,
                (key, Value::Bytes(text))
                    if [key::bytes(2), key::bytes(10), key::bytes(13)].contains(&key) && !text.is_empty() =>
                {
                    name = strings.intern_bytes(text);
                }
                (key, Value::Bytes(message)) if key == key::bytes(3) => process = Some(message),
                (key, Value::Bytes(message)) if key == key::bytes(4) => thread = Some(message),
                (key, Value::Bytes(message)) if key == key::bytes(8) => counter = Some(message),
                (key, Value::Bytes(_)) if key == key::bytes(18) => is_state = true,
                (key, Value::Bytes(text)) if key == key::bytes(16) => {
                    merge_key = Some(text);
                    own = match text.starts_with(OWN_TRACK.as_bytes()) {
                        true if text == OWN_NOTES.as_bytes() => Some(Own::Notes),
                        true => Some(Own::Steps),
                        false => None,
                    };
                }
                _ => {}
            }
        }
        let part = merge_key.and_then(|key| Part::of(key, out));
        let index = self.track(machine, uuid, offset);
        if uuid == 0 && rank_processes {
            self.ranked_processes.insert(machine);
        }
        if uuid == 0 && rank_threads {
            self.ranked_threads.insert(machine);
        }
        let mut found = None;
        let mut kind = Kind::Plain;
        if let Some(message) = thread {
            let ThreadFields { pid, tid, name: own, rank: own_rank, .. } = ThreadFields::new(message, out);
            let before = self.rows[index as usize].kind;
            let of_parent = parent.and_then(|uuid| self.by_uuid.get(&(machine, uuid)));
            let of_parent = of_parent.and_then(|parent| match self.rows[*parent as usize].kind {
                Kind::Process(row) if self.processes[row as usize].pid == pid => Some(row),
                _ => None,
            });
            let row = of_parent.unwrap_or_else(|| self.process(machine, pid, None));
            let own = given(own).unwrap_or(name);
            let known = self.of_track.get(&index).copied().filter(|_| matches!(before, Kind::Thread(..)));
            let thread = match known {
                Some(known) => {
                    let thread = &mut self.threads[known as usize];
                    thread.name = given(own).unwrap_or(thread.name);
                    known
                }
                None => self.thread(row, tid, own, true),
            };
            self.threads[thread as usize].rank = own_rank
                .or(rank.filter(|_| self.ranked_threads.contains(&machine)))
                .or(self.threads[thread as usize].rank);
            self.of_track.insert(index, thread);
            kind = match (known, before) {
                (Some(_), before) => before,
                _ => Kind::Thread(row, tid),
            };
            found = Some((pid, tid));
        } else if let Some(message) = process {
            let (mut pid, mut own, mut own_rank) = (0, StringId::NONE, None);
            let mut fields = Fields::new(message);
            while let Some((field, value)) = fields.next_keyed() {
                let strings = &mut out.trace.strings;
                match (field, value) {
                    (key, Value::Number(number)) if key == key::varint(1) => pid = number as i64,
                    (key, Value::Number(number)) if key == key::varint(5) => {
                        own_rank = Some(number as i64 as i32).filter(|rank| *rank != 0);
                    }
                    (key, Value::Bytes(text)) if key == key::bytes(6) && !text.is_empty() => {
                        own = strings.intern_bytes(text);
                    }
                    (key, Value::Bytes(text)) if key == key::bytes(8) => {
                        let before = strings.get_opt(labels).unwrap_or_default();
                        if before.len() + text.len() < MAX_LABEL_BYTES {
                            let comma = if before.is_empty() { "" } else { ", " };
                            let both = format!("{before}{comma}{}", String::from_utf8_lossy(text));
                            labels = strings.intern(&both);
                        }
                    }
                    _ => {}
                }
            }
            let own = given(own).unwrap_or(name);
            let row = match self.rows[index as usize].kind {
                Kind::Process(row) if self.processes[row as usize].pid == pid => {
                    let process = &mut self.processes[row as usize];
                    process.name = given(own).unwrap_or(process.name);
                    row
                }
                _ => self.process(machine, pid, Some((uuid, own))),
            };
            let process = &mut self.processes[row as usize];
            process.labels = given(labels).unwrap_or(process.labels);
            let rank = rank.filter(|_| self.ranked_processes.contains(&machine));
            process.rank = own_rank.or(rank).or(process.rank);
            kind = Kind::Process(row);
        } else if counter.is_some() {
            kind = Kind::Counter;
        } else if is_state {
            kind = Kind::State;
        }
        let track = &mut self.rows[index as usize];
        // A later descriptor fills in what was missing.
        if matches!(track.kind, Kind::Undescribed | Kind::Plain) || kind != Kind::Plain {
            track.kind = kind;
        }
        track.name = given(name).unwrap_or(track.name);
        track.parent = parent.filter(|parent| *parent != uuid).or(track.parent);
        track.rank = rank.or(track.rank);
        track.part = part.or(track.part);
        track.own = own.or(track.own);
        self.has_own |= own.is_some();
        track.ranks_children = are_ranked.unwrap_or(track.ranks_children);
        if let Some(message) = counter {
            track.counter = Some(counter_of(message, out));
        }
        found
    }

    /// Takes a `ProcessDescriptor` of older writers.
    pub fn describe_process(&mut self, message: &[u8], machine: u32, out: &mut TraceBuilder) {
        let (mut pid, mut name) = (0, StringId::NONE);
        for (number, value) in Fields::new(message) {
            match (number, value) {
                (1, Value::Number(number)) => pid = number as i64,
                (6, Value::Bytes(text)) if !text.is_empty() => name = out.trace.strings.intern_bytes(text),
                _ => {}
            }
        }
        let row = self.process(machine, pid, None);
        let process = &mut self.processes[row as usize];
        process.name = given(name).unwrap_or(process.name);
    }

    /// Takes a `ThreadDescriptor` of older writers.
    pub fn describe_thread(&mut self, fields: &ThreadFields, machine: u32) {
        let process = self.process(machine, fields.pid, None);
        let thread = self.thread(process, fields.tid, fields.name, false) as usize;
        self.threads[thread].rank = fields.rank.or(self.threads[thread].rank);
    }

    /// Takes a `ProcessTree` of the kernel. Names that descriptors give stay.
    pub fn describe_tree(&mut self, message: &[u8], machine: u32, out: &mut TraceBuilder) {
        for (number, value) in Fields::new(message) {
            let Value::Bytes(entry) = value else { continue };
            let (mut id, mut name, mut group) = (0, StringId::NONE, None);
            for (field, value) in Fields::new(entry) {
                match (number, field, value) {
                    (1 | 2, 1, Value::Number(number)) => id = i64::from(number as i32),
                    // The program of a process, without its arguments.
                    (1, 3, Value::Bytes(text)) if name.is_none() => {
                        name = out.trace.strings.intern_bytes(text)
                    }
                    (2, 2, Value::Bytes(text)) => name = out.trace.strings.intern_bytes(text),
                    (2, 3, Value::Number(number)) => group = Some(i64::from(number as i32)),
                    _ => {}
                }
            }
            match number {
                1 => {
                    let row = self.process(machine, id, None);
                    let process = &mut self.processes[row as usize];
                    process.name = given(process.name).or(given(name)).unwrap_or(StringId::NONE);
                    self.of_kernel.entry((machine, id)).or_default().process = Some(id);
                }
                2 => {
                    let thread = self.of_kernel.entry((machine, id)).or_default();
                    thread.process = group.or(thread.process);
                    thread.name = given(name).or(thread.name);
                }
                _ => {}
            }
        }
    }

    /// The thread of an id of the kernel, whose process may be unknown.
    pub fn thread_of_kernel(
        &mut self,
        machine: u32,
        tid: i64,
        name: &[u8],
        out: &mut TraceBuilder,
    ) -> ThreadId {
        let known = self.of_kernel.entry((machine, tid)).or_default();
        if !name.is_empty() && known.name.is_none() {
            known.name = Some(out.trace.strings.intern_bytes(name));
        }
        if let Some(id) = known.id {
            return id;
        }
        let process = self.without_process(out);
        let id = out.trace.threads.push(process, Key::Number(tid));
        self.of_kernel.entry((machine, tid)).or_default().id = Some(id);
        id
    }

    /// Gives threads of the kernel their processes and names, and joins them with those that descriptors have.
    fn resolve_kernel(&mut self, out: &mut TraceBuilder) {
        let mut all: Vec<((u32, i64), KernelThread)> =
            self.of_kernel.iter().map(|(key, thread)| (*key, thread.clone())).collect();
        sort::by_key(&mut all, |(key, _)| *key);
        // The process of an id that descriptors name once.
        let mut described: HashMap<(u32, i64), Option<ProcessRow>> = HashMap::default();
        let machines: HashMap<ProcessRow, u32> =
            self.by_pid.iter().map(|((machine, _), row)| (*row, *machine)).collect();
        for (process, tid) in self.by_tid.keys() {
            if let Some(machine) = machines.get(process) {
                let row = described.entry((*machine, *tid)).or_insert(Some(*process));
                *row = row.filter(|row| row == process);
            }
        }
        for ((machine, tid), KernelThread { id, name, process }) in all {
            let Some(own) = id else {
                // Without task switches: a process tree names it.
                let process = process.and_then(|pid| self.by_pid.get(&(machine, pid)).copied());
                let process = process.or_else(|| described.get(&(machine, tid)).copied().flatten());
                let row = process.and_then(|process| self.by_tid.get(&(process, tid)).copied());
                if let Some(thread) = row.and_then(|row| self.threads.get_mut(row as usize)) {
                    thread.name = given(thread.name).or(name).unwrap_or(thread.name);
                }
                continue;
            };
            let of_tree = process.map(|pid| self.process(machine, pid, None));
            let process = of_tree.or_else(|| described.get(&(machine, tid)).copied().flatten());
            let mut named = own;
            if let Some(process) = process {
                let thread = self.thread(process, tid, StringId::NONE, false) as usize;
                match self.threads[thread].id {
                    Some(other) if other != own => {
                        self.aliases.push((own, other));
                        named = other;
                    }
                    _ => {
                        self.threads[thread].id = Some(own);
                        let process = self.process_id(process, out);
                        out.trace.threads.process[own.0 as usize] = process;
                    }
                }
            }
            let known = &mut out.trace.threads.name[named.0 as usize];
            *known = given(*known).or(name).unwrap_or(*known);
        }
    }

    /// Whether an export of Tracedrop added a track.
    pub fn own(&self, machine: u32, uuid: u64) -> Option<Own> {
        let track = self.has_own.then(|| self.by_uuid.get(&(machine, uuid)))??;
        self.rows[*track as usize].own
    }

    pub fn counter(&self, track: TrackIndex) -> Option<Counter> {
        self.rows[track as usize].counter
    }

    /// Whether states may be on a track; one without a descriptor may still get it.
    pub fn has_states(&self, track: TrackIndex) -> bool {
        matches!(self.rows[track as usize].kind, Kind::State | Kind::Undescribed)
    }

    /// The thread of an event of a track that begins, or ends, with the GPU of rocprofv3 where it begins on one: the track's own there.
    pub fn thread_of_event(
        &mut self,
        track: TrackIndex,
        agent: Option<i64>,
        is_end: bool,
        name: StringId,
        out: &mut TraceBuilder,
    ) -> ThreadId {
        if let Some(agent) = agent {
            let thread = self.thread_on_agent(track, agent, out);
            self.last_on_agent.insert(track, thread);
            return thread;
        }
        match self.last_on_agent.get(&track) {
            Some(thread) if is_end => *thread,
            _ => {
                // The next end is of this one.
                self.last_on_agent.remove(&track);
                self.thread_of(track, name, out)
            }
        }
    }

    /// The thread of a track, for an event of that name.
    pub fn thread_of(&mut self, track: TrackIndex, name: StringId, out: &mut TraceBuilder) -> ThreadId {
        let row = &mut self.rows[track as usize];
        row.event_name = row.event_name.some().unwrap_or(name);
        if let Some(thread) = row.thread {
            return thread;
        }
        let thread = match row.kind {
            Kind::Thread(process, tid) => self.thread_id(track, process, tid, out),
            _ => {
                let process = self.process_of(track, out);
                let key = self.key_of(track, out);
                out.trace.threads.push(process, key)
            }
        };
        self.rows[track as usize].thread = Some(thread);
        thread
    }

    fn thread_on_agent(&mut self, track: TrackIndex, agent: i64, out: &mut TraceBuilder) -> ThreadId {
        if let Some(thread) = self.on_agents.get(&(track, agent)) {
            return *thread;
        }
        let machine = self.rows[track as usize].machine;
        let process = *self.agents.entry((machine, agent)).or_insert_with(|| {
            let name = out.trace.strings.intern(&format!("GPU {agent}"));
            let labels = StringId::NONE;
            self.processes.push(Process { pid: agent, name, labels, rank: None, uuid: None, id: None });
            self.processes.len() as u32 - 1
        });
        let process = self.process_id(process, out);
        let key = self.key_of(track, out);
        let thread = out.trace.threads.push(process, key);
        self.on_agents.insert((track, agent), thread);
        thread
    }

    /// The thread of ids, for events of older writers without a track.
    pub fn thread_of_ids(&mut self, machine: u32, pid: i64, tid: i64, out: &mut TraceBuilder) -> ThreadId {
        let process = self.process(machine, pid, None);
        let thread = self.thread(process, tid, StringId::NONE, false);
        self.id_of(thread, process, tid, out)
    }

    fn thread_id(
        &mut self,
        track: TrackIndex,
        process: ProcessRow,
        tid: i64,
        out: &mut TraceBuilder,
    ) -> ThreadId {
        let thread = match self.of_track.get(&track) {
            Some(thread) => *thread,
            None => self.thread(process, tid, StringId::NONE, false),
        };
        self.id_of(thread, process, tid, out)
    }

    fn id_of(&mut self, thread: u32, process: ProcessRow, tid: i64, out: &mut TraceBuilder) -> ThreadId {
        if let Some(id) = self.threads[thread as usize].id {
            return id;
        }
        let process = self.process_id(process, out);
        let id = out.trace.threads.push(process, Key::Number(tid));
        self.threads[thread as usize].id = Some(id);
        id
    }

    fn process_id(&mut self, process: ProcessRow, out: &mut TraceBuilder) -> ProcessId {
        let row = &mut self.processes[process as usize];
        *row.id.get_or_insert_with(|| out.trace.processes.push(Key::Number(row.pid)))
    }

    fn key_of(&self, track: TrackIndex, out: &mut TraceBuilder) -> Key {
        let row = &self.rows[track as usize];
        let text = match row.uuid {
            0 => DEFAULT_TRACK.to_string(),
            uuid => format!("track {uuid}"),
        };
        Key::Text(out.trace.strings.intern(&text))
    }

    /// Parents of a track, the nearest first, without the track; ends where they go in a circle.
    fn parents(&self, track: TrackIndex) -> impl Iterator<Item = TrackIndex> {
        let mut seen: HashSet<TrackIndex> = HashSet::default();
        seen.insert(track);
        let parent = |track: &TrackIndex| {
            let row = &self.rows[*track as usize];
            self.by_uuid.get(&(row.machine, row.parent.filter(|uuid| *uuid != 0)?)).copied()
        };
        std::iter::successors(parent(&track), move |track| parent(track))
            .take_while(move |at| seen.insert(*at))
    }

    fn process_row(&self, track: TrackIndex) -> Option<ProcessRow> {
        std::iter::once(track).chain(self.parents(track)).find_map(|at| match self.rows[at as usize].kind {
            Kind::Process(row) | Kind::Thread(row, _) => Some(row),
            _ => None,
        })
    }

    /// The process of a track: its own, or that of its nearest parent with one.
    fn process_of(&mut self, track: TrackIndex, out: &mut TraceBuilder) -> ProcessId {
        match self.process_row(track) {
            Some(row) => self.process_id(row, out),
            // The thread that stands for instants of the whole trace can be of any.
            None if self.part_of(track).0 == Some(Part::Instants) && !self.processes.is_empty() => {
                self.process_id(0, out)
            }
            None => self.without_process(out),
        }
    }

    /// The process of what belongs to none.
    fn without_process(&mut self, out: &mut TraceBuilder) -> ProcessId {
        *self.no_process.get_or_insert_with(|| {
            let name = out.trace.strings.intern(NO_PROCESS);
            let id = out.trace.processes.push(Key::Text(name));
            out.trace.processes.name[id.0 as usize] = name;
            id
        })
    }

    /// What a track stands for in the layout of a GPU profiler.
    pub fn role(&self, track: TrackIndex, trace: &Trace) -> Role {
        let process = self.process_row(track).map(|row| &self.processes[row as usize]);
        let process = process.and_then(|process| trace.strings.get_opt(process.name)).unwrap_or_default();
        let row = &self.rows[track as usize];
        let thread = self.of_track.get(&track).map(|thread| self.threads[*thread as usize].name);
        let name = trace.strings.get_opt(thread.unwrap_or(row.name)).unwrap_or_default();
        gpu::role(process, name)
    }

    /// Whether a process is a GPU of PyTorch's layout.
    pub fn has_gpu(&self, trace: &Trace) -> bool {
        let is_agent = |row: usize| self.agents.values().any(|agent| *agent as usize == row);
        let is_gpu = |process: &Process| trace.strings.get_opt(process.name).and_then(gpu::number_of_gpu);
        self.processes.iter().enumerate().any(|(row, process)| is_gpu(process).is_some() && !is_agent(row))
    }

    /// Whether a track and its process have names.
    pub fn is_named(&self, track: TrackIndex) -> bool {
        let process = self.process_row(track).map(|row| self.processes[row as usize].name);
        self.rows[track as usize].kind != Kind::Undescribed && process.and_then(given).is_some()
    }

    /// Series of a counter: its process, name, a text that tells it from others of that name, and unit.
    pub fn series(
        &mut self,
        track: TrackIndex,
        taken: &mut HashSet<(ProcessId, StringId, StringId, StringId)>,
        out: &mut TraceBuilder,
    ) -> (ProcessId, StringId, StringId, StringId) {
        let process = self.process_of(track, out);
        let strings = &mut out.trace.strings;
        let row = &self.rows[track as usize];
        let known = row.counter.and_then(|counter| given(counter.name));
        let mut name =
            given(row.name).or(known).unwrap_or_else(|| strings.intern(&format!("track {}", row.uuid)));
        let unit = row.counter.map_or(StringId::NONE, |counter| counter.unit);
        let unit = given(unit).unwrap_or_else(|| strings.intern("value"));
        let of_thread = self.parents(track).find_map(|parent| self.of_track.get(&parent));
        let of_thread = of_thread.and_then(|thread| given(self.threads[*thread as usize].name));
        let mut id = of_thread.unwrap_or(StringId::NONE);
        // In exports of Tracedrop the id is in the name, and series of one counter differ in units only.
        let mut key = StringId::NONE;
        if let Some(Part::Series(own)) = row.part {
            key = unit;
            let end = strings.get_opt(own).map(|id| format!(" [{id}]"));
            if let Some(base) = end.and_then(|end| strings.get(name).strip_suffix(&end).map(str::to_string)) {
                (name, id) = (strings.intern(&base), own);
            }
        }
        if !taken.insert((process, name, id, key)) {
            id = strings.intern(&format!("track {}", row.uuid));
            taken.insert((process, name, id, key));
        }
        (process, name, id, unit)
    }

    /// Fills in names, order and processes, now that all is read, or so far. Reports what is missing if it `is_end`.
    pub fn resolve(&mut self, is_end: bool, out: &mut TraceBuilder) {
        if is_end {
            self.resolve_kernel(out);
        }
        for process in 0..self.processes.len() {
            let id = self.process_id(process as u32, out).0 as usize;
            let (row, processes) = (&self.processes[process], &mut out.trace.processes);
            processes.name[id] = given(row.name).unwrap_or(processes.name[id]);
            processes.labels[id] = given(row.labels).unwrap_or(processes.labels[id]);
            processes.sort_index[id] = row.rank.or(processes.sort_index[id]);
        }
        self.number_gpus(out);
        for ((track, _), thread) in &self.on_agents {
            out.trace.threads.name[thread.0 as usize] =
                given(self.rows[*track as usize].name).unwrap_or(StringId::NONE);
        }
        // Those of older writers have no track.
        for Thread { name, rank, id } in &self.threads {
            let Some(id) = id.map(|id| id.0 as usize) else { continue };
            let threads = &mut out.trace.threads;
            threads.name[id] = given(*name).unwrap_or(threads.name[id]);
            threads.sort_index[id] = rank.or(threads.sort_index[id]);
        }
        for track in 0..self.rows.len() as u32 {
            let row = &self.rows[track as usize];
            if is_end && row.parent.is_some() && self.is_in_circle(track) {
                out.trace.ledger.file(&TRACK_CYCLE, Position::NOWHERE, row.uuid.to_string().as_bytes());
            }
            let has_events = row.thread;
            if let Kind::Thread(process, tid) = row.kind {
                let id = self.thread_id(track, process, tid, out);
                if let Some(own) = has_events.filter(|own| *own != id) {
                    self.aliases.push((own, id));
                    self.rows[track as usize].thread = Some(id);
                }
                let name = self.of_track.get(&track).map(|row| &self.threads[*row as usize]);
                if let Some(thread) = name {
                    let threads = &mut out.trace.threads;
                    threads.name[id.0 as usize] = given(thread.name).unwrap_or(threads.name[id.0 as usize]);
                    threads.sort_index[id.0 as usize] = thread.rank;
                }
                continue;
            }
            if is_end && row.kind == Kind::Undescribed && row.uuid != 0 {
                let at = Position { byte: row.first, line: None };
                out.trace.ledger.file(&UNDESCRIBED_TRACK, at, row.uuid.to_string().as_bytes());
            }
            let Some(id) = has_events else { continue };
            let name = match row.kind {
                // Its name is that of the process.
                Kind::Process(_) => StringId::NONE,
                _ if row.uuid == 0 => StringId::NONE,
                Kind::Undescribed => given(row.name).unwrap_or(StringId::NONE),
                _ => given(row.name).or_else(|| given(row.event_name)).unwrap_or(StringId::NONE),
            };
            let (part, base) = self.part_of(track);
            let parent = self.parents(base).next();
            match part {
                Some(Part::Lane | Part::States) => {
                    if let Some((at, Kind::Thread(process, tid))) =
                        parent.map(|at| (at, self.rows[at as usize].kind))
                    {
                        let of = self.thread_id(at, process, tid, out);
                        out.trace.threads.overlap_of[id.0 as usize] = Some(of);
                    }
                }
                Some(part @ (Part::Async | Part::LocalAsync | Part::Instants)) => {
                    let process = match self.process_row(base) {
                        Some(row) => Some(self.process_id(row, out)),
                        None if part == Part::Instants => None,
                        None => Some(self.without_process(out)),
                    };
                    let (kind, name) = match (part, process) {
                        (Part::Instants, None) => (TrackKind::GlobalInstants, StringId::NONE),
                        (Part::Instants, _) => (TrackKind::ProcessInstants, StringId::NONE),
                        (Part::Async, _) => (TrackKind::AsyncGlobal, self.rows[base as usize].name),
                        _ => (TrackKind::AsyncProcess, self.rows[base as usize].name),
                    };
                    let name = given(name).unwrap_or(StringId::NONE);
                    out.other_tracks.insert(id, OtherTrack { kind, name, process });
                }
                Some(Part::Series(_)) | None => {}
            }
            let row = &self.rows[track as usize];
            // A name would make it a thread to be listed.
            let name = if part.is_none_or(|part| part == Part::Lane) { name } else { StringId::NONE };
            let is_ranked =
                self.parents(track).next().is_some_and(|at| self.rows[at as usize].ranks_children);
            let rank = row.rank.filter(|_| is_ranked);
            let process = self.process_of(track, out);
            let threads = &mut out.trace.threads;
            threads.process[id.0 as usize] = process;
            threads.sort_index[id.0 as usize] = rank;
            if !name.is_none() {
                threads.name[id.0 as usize] = name;
            }
        }
    }

    /// Gives processes that stand for GPUs the numbers of these, as in profiles of Kineto: PyTorch gives all the id 0. Where a program
    /// has that id, the name tells them apart.
    fn number_gpus(&self, out: &mut TraceBuilder) {
        let number_of =
            |process: &Process| out.trace.strings.get_opt(process.name).and_then(gpu::number_of_gpu);
        let numbers: Vec<Option<i64>> = self.processes.iter().map(number_of).collect();
        let programs = self.processes.iter().zip(&numbers).filter(|(_, number)| number.is_none());
        let pids: HashSet<i64> = programs.map(|(process, _)| process.pid).collect();
        for (process, number) in self.processes.iter().zip(&numbers) {
            if let (Some(id), Some(number)) = (process.id, number)
                && let Some(key) = out.trace.processes.key.get_mut(id.0 as usize)
            {
                *key = if pids.contains(number) { Key::Text(process.name) } else { Key::Number(*number) };
            }
        }
    }

    /// What a track of an export of Tracedrop is, and the track that says so: of a lane of what is no thread, that is its parent.
    fn part_of(&self, track: TrackIndex) -> (Option<Part>, TrackIndex) {
        let part = self.rows[track as usize].part;
        if part == Some(Part::Lane)
            && let Some(parent) = self.parents(track).next()
            && let Some(of_parent) = self.rows[parent as usize].part
        {
            return (Some(of_parent), parent);
        }
        (part, track)
    }

    fn is_in_circle(&self, track: TrackIndex) -> bool {
        let last = self.parents(track).last();
        last.is_some_and(|last| {
            let row = &self.rows[last as usize];
            let parent = row.parent.filter(|uuid| *uuid != 0);
            parent.is_some_and(|uuid| self.by_uuid.contains_key(&(row.machine, uuid)))
        })
    }

    /// Takes away the process of what belongs to none if nothing is left in it: tracks that were described after their first event
    /// began there. `aliases` are the threads that were replaced, and by which.
    pub fn drop_empty_process(&mut self, aliases: &HashMap<ThreadId, ThreadId>, out: &mut TraceBuilder) {
        let Some(empty) = self.no_process else { return };
        let of_threads = &mut out.trace.threads.process;
        for (replaced, by) in aliases {
            if let Some(process) = of_threads.get(by.0 as usize).copied()
                && let Some(own) = of_threads.get_mut(replaced.0 as usize)
            {
                *own = process;
                // Nothing is left of it, so that nothing takes it for the thread of that number.
                out.trace.threads.key[replaced.0 as usize] = Key::Text(StringId::EMPTY);
            }
        }
        let of_series = &mut out.trace.counter_series.process;
        let of_others = || out.other_tracks.values().filter_map(|it| it.process);
        if of_threads.contains(&empty) || of_series.contains(&empty) || of_others().any(|own| own == empty) {
            return;
        }
        self.no_process = None;
        out.trace.processes.remove(empty);
        let of_others = out.other_tracks.values_mut().filter_map(|it| it.process.as_mut());
        for process in of_threads.iter_mut().chain(of_series).chain(of_others) {
            process.0 -= u32::from(process.0 > empty.0);
        }
    }

    /// Threads of events that have to be replaced.
    pub fn take_aliases(&mut self) -> Vec<(ThreadId, ThreadId)> {
        std::mem::take(&mut self.aliases)
    }
}

/// Fields of a `ThreadDescriptor`.
pub struct ThreadFields {
    pub pid: i64,
    pub tid: i64,
    name: StringId,
    rank: Option<i32>,
    /// Microseconds that deltas of events are added to.
    pub reference_us: Option<i64>,
}

impl ThreadFields {
    pub fn new(message: &[u8], out: &mut TraceBuilder) -> ThreadFields {
        let mut found = ThreadFields { pid: 0, tid: 0, name: StringId::NONE, rank: None, reference_us: None };
        let mut fields = Fields::new(message);
        while let Some((field, value)) = fields.next_keyed() {
            match (field, value) {
                (key, Value::Number(number)) if key == key::varint(1) => found.pid = number as i64,
                (key, Value::Number(number)) if key == key::varint(2) => found.tid = number as i64,
                (key, Value::Number(number)) if key == key::varint(3) => {
                    found.rank = Some(number as i64 as i32).filter(|rank| *rank != 0);
                }
                (key, Value::Bytes(text)) if key == key::bytes(5) && !text.is_empty() => {
                    found.name = out.trace.strings.intern_bytes(text);
                }
                (key, Value::Number(number)) if key == key::varint(6) => {
                    found.reference_us = Some(number as i64);
                }
                _ => {}
            }
        }
        found
    }
}

fn counter_of(message: &[u8], out: &mut TraceBuilder) -> Counter {
    let strings = &mut out.trace.strings;
    let (mut unit, mut named) = (StringId::NONE, StringId::NONE);
    let (mut multiplier, mut is_incremental, mut name) = (1.0, false, StringId::NONE);
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next_keyed() {
        match (field, value) {
            (key, Value::Number(1)) if key == key::varint(1) => {
                name = strings.intern("thread_time");
                unit = unit.some().unwrap_or_else(|| strings.intern("ns"));
            }
            (key, Value::Number(2)) if key == key::varint(1) => {
                name = strings.intern("thread_instruction_count");
            }
            (key, Value::Number(number)) if key == key::varint(3) => {
                unit = match number {
                    1 => strings.intern("ns"),
                    2 => strings.intern("count"),
                    3 => strings.intern("bytes"),
                    _ => StringId::NONE,
                };
            }
            (key, Value::Number(number)) if key == key::varint(4) && number != 0 => {
                multiplier = number as i64 as f64;
            }
            (key, Value::Number(number)) if key == key::varint(5) => is_incremental = number != 0,
            (key, Value::Bytes(text)) if key == key::bytes(6) && !text.is_empty() => {
                named = strings.intern_bytes(text);
            }
            _ => {}
        }
    }
    Counter { multiplier, is_incremental, unit: given(named).unwrap_or(unit), name }
}

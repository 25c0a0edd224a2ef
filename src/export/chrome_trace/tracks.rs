//! Processes, threads and the events on their tracks.
//!
//! Thread slices are written by start, others track by track; within a track in an order that makes a reader that
//! replays them arrive at the same nesting:
//!
//! ```text
//! by start, then by depth: a parent comes before a child with the same start.
//! X  begin and duration; readers process all X of one time first, longer first
//! B  begin only: the slice has no end in the file
//! B+E  where a slice begins at the time of an instant or unfinished slice that is not inside it:
//!      as X it would be taken first and swallow it; and where a child ends after it
//! ```

use super::OwnFacts;
use super::ids::{Numbers, RenumberedNotes};
use super::writer::Writer;
use crate::base::hash::{HashMap, HashSet};
use crate::base::json::write::{push_merged, push_value};
use crate::base::strings::StringId;
use crate::trace::Trace;
use crate::trace::args::ArgsPlace;
use crate::trace::builder::{OVERLAP_EVENT, Renumbered};
use crate::trace::objects::ObjectEvent;
use crate::trace::samples::StackId;
use crate::trace::slices::{SliceId, SliceKind, UNFINISHED};
use crate::trace::tracks::{Key, TrackKind};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A trace with its numbers and its order of writing.
pub struct Layout<'a> {
    trace: &'a Trace,
    origin: i64,
    /// Number of the first stack in `stackFrames`, where stacks of all traces are numbered from 1.
    first_stack: u64,
    pids: Vec<u64>,
    tids: Vec<u64>,
    /// Threads process by process.
    thread_order: Vec<u32>,
    /// By process: its first thread; `u32::MAX` if none.
    main_threads: Vec<u32>,
    /// By thread: its overflow tracks with the tid each gets.
    lanes: Vec<Vec<(u32, u64)>>,
    /// The tid of slices that flows can bind to.
    tid_of_track: Vec<Option<u64>>,
    /// By thread: its own tracks, states first.
    own_tracks: Vec<Vec<u32>>,
    /// Slices outlived by a child: begin and end events can express that, a duration cannot.
    outlived: HashSet<u32>,
    /// Slices grouped by track, in order of writing.
    order: Vec<u32>,
    /// By track: start of its slices in `order`; one extra entry at the end.
    starts: Vec<u32>,
}

/// How a slice takes part in flows.
#[derive(Clone, Copy)]
struct End {
    /// Position in the order of writing.
    place: u32,
    /// Time at which the slice is the innermost one, given the children seen so far.
    bind: i64,
    /// Whether `bind` is before a child that has started.
    settled: bool,
}

/// Writing progress of one tid of a thread.
struct TrackWalk<'a> {
    /// Still to be written.
    slices: &'a [u32],
    pid: u64,
    tid: u64,
    /// Thread states, which are written in a special form.
    is_state: bool,
    /// Slices written as B whose E is pending, outermost first.
    open: Vec<usize>,
    /// Start of the last instant or unfinished slice written.
    loose_at: Option<i64>,
}

/// Flow marks on a slice.
#[derive(Clone, Copy, Default)]
struct Bound {
    id: u64,
    out: bool,
    inward: bool,
}

/// A flow as a pair of events.
struct Arrow {
    flow: usize,
    id: u64,
    from: i64,
    to: i64,
}

impl<'a> Layout<'a> {
    pub fn new(
        trace: &'a Trace,
        origin: i64,
        first_stack: u64,
        numbers: &mut Numbers,
        renumbered: &mut RenumberedNotes,
    ) -> Layout<'a> {
        let was = Renumbered::of(&trace.source);
        let pids = numbers.pids(trace, &was, renumbered);
        let (mut thread_order, overlaps): (Vec<u32>, Vec<u32>) = (0..trace.threads.len() as u32)
            .partition(|thread| trace.threads.overlap_of[*thread as usize].is_none());
        thread_order.sort_by_key(|thread| trace.threads.process[*thread as usize]);
        let all_threads = thread_order.iter().chain(&overlaps).map(|thread| *thread as usize);
        let tids = numbers.tids(trace, all_threads, &pids, &was, renumbered);
        let mut main_threads = vec![u32::MAX; pids.len()];
        for (thread, process) in trace.threads.process.iter().enumerate().rev() {
            if let Some(main) = main_threads.get_mut(process.0 as usize) {
                *main = thread as u32;
            }
        }
        let mut lanes = vec![Vec::new(); trace.threads.len()];
        let mut own_tracks = vec![Vec::new(); trace.threads.len()];
        let mut tid_of_track = vec![None; trace.tracks.len()];
        for (track, tid_of_track) in tid_of_track.iter_mut().enumerate() {
            let Some(thread) = trace.tracks.thread[track].map(|thread| thread.0 as usize) else { continue };
            match trace.tracks.kind[track] {
                TrackKind::ThreadOverflow if thread < lanes.len() => {
                    let known = trace.tracks.shown_as[track].and_then(|thread| tids.get(thread.0 as usize));
                    let tid = known.copied().unwrap_or_else(|| numbers.new_tid());
                    *tid_of_track = Some(tid);
                    lanes[thread].push((track as u32, tid));
                }
                TrackKind::ThreadState if thread < lanes.len() => own_tracks[thread].insert(0, track as u32),
                TrackKind::Thread if thread < lanes.len() => {
                    *tid_of_track = Some(tids[thread]);
                    own_tracks[thread].push(track as u32);
                }
                _ => {}
            }
        }
        let (starts, order) = order_by_track(trace);
        let outlived = outlived(trace);
        Layout {
            trace,
            origin,
            first_stack,
            pids,
            tids,
            thread_order,
            main_threads,
            lanes,
            own_tracks,
            tid_of_track,
            outlived,
            order,
            starts,
        }
    }

    fn text(&self, id: StringId) -> Option<&'a str> {
        self.trace.strings.get_opt(id)
    }

    fn pid(&self, process: usize) -> u64 {
        self.pids.get(process).or(self.pids.first()).copied().unwrap_or(1)
    }

    /// The first thread of a process, for events without a thread: without a tid, readers would invent
    /// a main thread.
    fn main_tid(&self, process: usize) -> Option<u64> {
        let thread = *self.main_threads.get(process).or(self.main_threads.first())?;
        self.tids.get(thread as usize).copied()
    }

    fn time(&self, ts: i64) -> i64 {
        ts.saturating_sub(self.origin)
    }

    fn process_of_thread(&self, thread: usize) -> usize {
        self.trace.threads.process.get(thread).map_or(usize::MAX, |process| process.0 as usize)
    }

    /// Process of a track, directly or through its thread.
    fn process_of(&self, track: usize) -> usize {
        let tracks = &self.trace.tracks;
        let thread = tracks.thread.get(track).copied().flatten();
        let process = tracks.process.get(track).copied().flatten();
        match (process, thread) {
            (Some(process), _) => process.0 as usize,
            (None, Some(thread)) => self.process_of_thread(thread.0 as usize),
            (None, None) => 0,
        }
    }

    /// Names and order of processes and threads, process by process.
    ///
    /// This also fixes the order in which a reader first sees processes and threads.
    pub fn write_names(&self, w: &mut Writer<'_>) {
        let (processes, threads) = (&self.trace.processes, &self.trace.threads);
        let mut rest = self.thread_order.iter().copied().peekable();
        let is_sorted = (
            processes.sort_index.iter().any(Option::is_some),
            threads.sort_index.iter().any(Option::is_some),
        );
        let mut position = 0;
        for process in 0..processes.len() {
            let name = self.name_or_key(processes.name[process], processes.key[process]);
            let index = processes.sort_index[process].unwrap_or(if is_sorted.0 { 0 } else { process as i32 });
            let main = self.main_tid(process);
            w.name_and_index(self.pids[process], None, main, name, i64::from(index));
            if let Some(labels) = self.text(processes.labels[process]) {
                w.metadata("process_labels", self.pids[process], main, "labels", &|w| w.string(labels));
            }
            while let Some(thread) =
                rest.next_if(|thread| self.process_of_thread(*thread as usize) == process)
            {
                self.write_thread_names(thread as usize, is_sorted.1, &mut position, w);
            }
        }
    }

    /// A thread and its overflow lanes. `position` counts them over the whole trace.
    fn write_thread_names(&self, thread: usize, is_sorted: bool, position: &mut i32, w: &mut Writer<'_>) {
        let threads = &self.trace.threads;
        let pid = self.pid(self.process_of_thread(thread));
        let tid = self.tids[thread];
        let process_key = self.trace.processes.key.get(self.process_of_thread(thread));
        // The main thread of a process with a text key shares that key, which is not a thread name.
        let name = match threads.key[thread] {
            key if Some(&key) == process_key => {
                self.text(threads.name[thread]).filter(|name| !name.is_empty())
            }
            key => self.name_or_key(threads.name[thread], key),
        };
        let mut index = |shown_as: usize| {
            *position += 1;
            i64::from(threads.sort_index[shown_as].unwrap_or(if is_sorted { 0 } else { *position - 1 }))
        };
        w.name_and_index(pid, Some(tid), None, name, index(thread));
        for (lane, (track, lane_tid)) in self.lanes[thread].iter().enumerate() {
            let name = match name {
                Some(name) => format!("{name} (overlap {})", lane + 2),
                None => format!("thread {tid} (overlap {})", lane + 2),
            };
            let shown_as = self.trace.tracks.shown_as[*track as usize].map_or(thread, |lane| lane.0 as usize);
            w.metadata(OVERLAP_EVENT, pid, Some(*lane_tid), "of", &|w| w.unsigned(tid));
            w.name_and_index(pid, Some(*lane_tid), None, Some(&name), index(shown_as));
        }
    }

    /// Text ids are often the only name.
    fn name_or_key(&self, name: StringId, key: Key) -> Option<&'a str> {
        match (self.text(name), key) {
            (None | Some(""), Key::Text(text)) => self.text(text),
            (name, _) => name,
        }
        // Readers treat an empty name as none.
        .filter(|name| !name.is_empty())
    }

    pub fn write_events(&self, w: &mut Writer<'_>, facts: &mut OwnFacts) {
        let (arrows, bound) = self.plan_flows(facts);
        self.write_threads(&bound, w);
        self.write_loose_instants(w);
        self.write_async(&bound, w);
        self.write_counters(w, facts);
        self.write_flows(&arrows, w);
        self.write_objects(w);
    }

    fn slices_of(&self, track: usize) -> &[u32] {
        let range = self.starts[track] as usize..self.starts[track + 1] as usize;
        &self.order[range]
    }

    /// Writes the slices and instants of all threads by start, which is close to file order, as arguments are read again
    /// from the file.
    fn write_threads(&self, bound: &HashMap<u32, Bound>, w: &mut Writer<'_>) {
        let mut walks: Vec<TrackWalk<'_>> = Vec::new();
        for thread in self.thread_order.iter().map(|thread| *thread as usize) {
            let pid = self.pid(self.process_of_thread(thread));
            let own = self.own_tracks[thread].iter().map(|track| (*track, self.tids[thread]));
            for (track, tid) in own.chain(self.lanes[thread].iter().copied()) {
                let (track, slices) = (track as usize, self.slices_of(track as usize));
                let is_state = self.trace.tracks.kind[track] == TrackKind::ThreadState;
                walks.push(TrackWalk { slices, pid, tid, is_state, open: Vec::new(), loose_at: None });
            }
        }
        let start =
            |walk: &TrackWalk<'_>| walk.slices.first().map(|slice| self.trace.slices.ts[*slice as usize]);
        let mut next: BinaryHeap<Reverse<(i64, usize)>> =
            walks.iter().enumerate().filter_map(|(i, walk)| Some(Reverse((start(walk)?, i)))).collect();
        while let Some(Reverse((_, i))) = next.pop() {
            let walk = &mut walks[i];
            let [slice, rest @ ..] = walk.slices else { continue };
            walk.slices = rest;
            if walk.is_state {
                self.write_state(*slice as usize, walk, w);
            } else {
                self.write_nested(*slice as usize, walk, bound, w);
            }
            next.extend(start(walk).map(|ts| Reverse((ts, i))));
        }
        for walk in &mut walks {
            while let Some(last) = walk.open.pop() {
                self.write_end(last, walk.pid, walk.tid, w);
            }
        }
    }

    fn write_state(&self, slice: usize, walk: &TrackWalk<'_>, w: &mut Writer<'_>) {
        self.open_slice(slice, "T", walk.pid, Some(walk.tid), w);
        self.duration(slice, w);
        self.write_args(slice, w);
        w.close();
    }

    /// Writes the next slice or instant of one tid, after the pending ends before it.
    fn write_nested(
        &self,
        slice: usize,
        walk: &mut TrackWalk<'_>,
        bound: &HashMap<u32, Bound>,
        w: &mut Writer<'_>,
    ) {
        let slices = &self.trace.slices;
        let (pid, tid, ts) = (walk.pid, walk.tid, slices.ts[slice]);
        while let Some(last) = walk.open.last().copied() {
            if slices.ts[last].saturating_add(slices.dur.get(last)) > ts {
                break;
            }
            self.write_end(last, pid, tid, w);
            walk.open.pop();
        }
        match (slices.kind[slice], slices.dur.get(slice)) {
            (SliceKind::Instant | SliceKind::AsyncInstant, _) => {
                self.open_slice(slice, "i", pid, Some(tid), w);
                w.raw(",\"s\":\"t\"");
                walk.loose_at = Some(ts);
            }
            (_, UNFINISHED) => {
                self.open_slice(slice, "B", pid, Some(tid), w);
                self.thread_time(slice, w);
                walk.loose_at = Some(ts);
            }
            (_, dur) if dur > 0 && (walk.loose_at == Some(ts) || self.outlived.contains(&(slice as u32))) => {
                self.open_slice(slice, "B", pid, Some(tid), w);
                self.thread_time(slice, w);
                self.write_stacks(slice, w);
                self.write_bound(slice, bound, w);
                self.write_begin_args(slice, w);
                w.close();
                walk.open.push(slice);
                return;
            }
            (_, dur) => {
                self.open_slice(slice, "X", pid, Some(tid), w);
                self.duration(slice, w);
                self.thread_time(slice, w);
                if dur == 0 {
                    walk.loose_at = Some(ts);
                }
            }
        }
        self.write_stacks(slice, w);
        self.write_bound(slice, bound, w);
        self.write_args(slice, w);
        w.close();
    }

    fn open_slice(&self, slice: usize, phase: &str, pid: u64, tid: Option<u64>, w: &mut Writer<'_>) {
        let slices = &self.trace.slices;
        w.open(self.trace.strings.get(slices.name[slice]), self.text(slices.category[slice]), phase);
        w.time(self.time(slices.ts[slice]));
        w.place(pid, tid);
    }

    fn write_end(&self, slice: usize, pid: u64, tid: u64, w: &mut Writer<'_>) {
        let slices = &self.trace.slices;
        w.open(self.trace.strings.get(slices.name[slice]), self.text(slices.category[slice]), "E");
        w.time(self.time(slices.ts[slice].saturating_add(slices.dur.get(slice))));
        w.place(pid, Some(tid));
        if let Some((ts, dur)) = self.thread_time_of(slice) {
            w.raw(",\"tts\":");
            w.micros(ts.saturating_add(dur));
        }
        self.write_end_args(slice, w);
        w.close();
    }

    /// States always have a duration, so an unfinished one gets duration 0.
    fn duration(&self, slice: usize, w: &mut Writer<'_>) {
        w.raw(",\"dur\":");
        w.micros(self.trace.slices.dur.get(slice).max(0));
    }

    fn thread_time_of(&self, slice: usize) -> Option<(i64, i64)> {
        let times = &self.trace.slices.thread_time;
        let at = times.binary_search_by_key(&(slice as u32), |(slice, ..)| slice.0).ok()?;
        Some((times[at].1, times[at].2))
    }

    fn thread_time(&self, slice: usize, w: &mut Writer<'_>) {
        if let Some((ts, dur)) = self.thread_time_of(slice) {
            w.raw(",\"tts\":");
            w.micros(ts);
            if self.trace.slices.dur.get(slice) != UNFINISHED {
                w.raw(",\"tdur\":");
                w.micros(dur);
            }
        }
    }

    /// Writes call stacks at start and end, by their numbers in `stackFrames`.
    fn write_stacks(&self, slice: usize, w: &mut Writer<'_>) {
        let stacks = &self.trace.slices.stacks;
        let Ok(at) = stacks.binary_search_by_key(&(slice as u32), |(slice, ..)| slice.0) else { return };
        for (key, stack) in [(",\"sf\":", stacks[at].1), (",\"esf\":", stacks[at].2)] {
            if stack != StackId::NONE {
                w.raw(key);
                w.unsigned(self.first_stack + u64::from(stack.0));
            }
        }
    }

    fn write_bound(&self, slice: usize, bound: &HashMap<u32, Bound>, w: &mut Writer<'_>) {
        let Some(bound) = bound.get(&(slice as u32)) else { return };
        w.raw(",\"bind_id\":");
        w.hex(bound.id);
        if bound.inward {
            w.raw(",\"flow_in\":true");
        }
        if bound.out {
            w.raw(",\"flow_out\":true");
        }
    }

    /// Writes the merged arguments of begin and end.
    fn write_args(&self, slice: usize, w: &mut Writer<'_>) {
        let begin = self.trace.args.get(self.trace.slices.args_of(slice));
        match (begin, self.trace.slice_end_args(slice)) {
            (None, None) => {}
            (Some(args), None) | (None, Some(args)) => {
                w.raw(",\"args\":");
                push_value(&args, &mut w.buffer);
            }
            (Some(begin), Some(end)) => {
                w.raw(",\"args\":");
                push_merged(&begin, &end, &mut w.buffer);
            }
        }
    }

    fn write_begin_args(&self, slice: usize, w: &mut Writer<'_>) {
        self.write_raw_args(self.trace.slices.args_of(slice), w);
    }

    fn write_end_args(&self, slice: usize, w: &mut Writer<'_>) {
        if let Some(args) = self.trace.slice_end_args(slice) {
            w.raw(",\"args\":");
            push_value(&args, &mut w.buffer);
        }
    }

    fn write_raw_args(&self, args: ArgsPlace, w: &mut Writer<'_>) {
        if let Some(args) = self.trace.args.get(args) {
            w.raw(",\"args\":");
            push_value(&args, &mut w.buffer);
        }
    }

    /// Writes process-wide and global instants.
    fn write_loose_instants(&self, w: &mut Writer<'_>) {
        for track in 0..self.trace.tracks.len() {
            let scope = match self.trace.tracks.kind[track] {
                TrackKind::ProcessInstants => ",\"s\":\"p\"",
                TrackKind::GlobalInstants => ",\"s\":\"g\"",
                _ => continue,
            };
            let pid = self.pid(self.process_of(track));
            let tid = self.main_tid(self.process_of(track));
            for slice in self.slices_of(track) {
                self.open_slice(*slice as usize, "i", pid, tid, w);
                w.raw(scope);
                self.write_args(*slice as usize, w);
                w.close();
            }
        }
    }

    /// Writes async slices: a top-level one and everything nested in it get a separate id.
    ///
    /// Tracks are lanes shared by identities that do not overlap, so an id cannot represent a whole track.
    fn write_async(&self, bound: &HashMap<u32, Bound>, w: &mut Writer<'_>) {
        let (slices, tracks) = (&self.trace.slices, &self.trace.tracks);
        let is_async =
            |kind| matches!(kind, TrackKind::AsyncGlobal | TrackKind::AsyncProcess | TrackKind::AsyncLegacy);
        let mut units: Vec<Unit> = Vec::new();
        let mut unit_of: HashMap<u32, usize> = HashMap::default();
        // Slices are numbered by start, then in file order, so that a reader of this output numbers them alike.
        for slice in 0..slices.len() {
            let track = slices.track[slice].0 as usize;
            let Some(kind) = tracks.kind.get(track).copied().filter(|kind| is_async(*kind)) else { continue };
            let around = slices.parent[slice].some().and_then(|parent| unit_of.get(&parent.0)).copied();
            let number = match around.filter(|unit| units[*unit].takes(self.trace, slice)) {
                Some(unit) => unit,
                None => {
                    units.push(Unit { is_local: kind == TrackKind::AsyncProcess, ..Unit::default() });
                    let unit = units.len() - 1;
                    units[unit].takes(self.trace, slice);
                    unit
                }
            };
            units[number].slices.push(slice as u32);
            unit_of.insert(slice as u32, number);
        }
        for (i, unit) in units.iter().enumerate() {
            let Some(top) = unit.slices.first().map(|top| *top as usize) else { continue };
            let process = self.process_of(slices.track[top].0 as usize);
            let identity = Identity {
                id: i as u64 + 1,
                local: unit.is_local,
                pid: self.pid(process),
                tid: self.main_tid(process),
                // The category is part of the identity, so it must be the same in all events.
                category: self.text(slices.category[top]),
            };
            self.write_identity(&unit.slices, &identity, bound, w);
        }
    }

    fn write_identity(
        &self,
        unit: &[u32],
        identity: &Identity<'_>,
        bound: &HashMap<u32, Bound>,
        w: &mut Writer<'_>,
    ) {
        let slices = &self.trace.slices;
        // Among slices with the same end, the last to start comes first.
        let mut open: BinaryHeap<(Reverse<i64>, u32)> = BinaryHeap::new();
        let end = |slice: usize, w: &mut Writer<'_>| {
            self.open_async(slice, "e", slices.ts[slice].saturating_add(slices.dur.get(slice)), identity, w);
            self.write_end_args(slice, w);
            w.close();
        };
        for slice in unit.iter().map(|slice| *slice as usize) {
            // Slices that don't enclose this one have ended by now, even if they end at exactly this time.
            while let Some((Reverse(at), last)) = open.peek().copied()
                && at <= slices.ts[slice]
                && !(at == slices.ts[slice] && self.lies_in(slice, last))
            {
                end(last as usize, w);
                open.pop();
            }
            let instant = matches!(slices.kind[slice], SliceKind::AsyncInstant | SliceKind::Instant);
            self.open_async(slice, if instant { "n" } else { "b" }, slices.ts[slice], identity, w);
            self.write_stacks(slice, w);
            self.write_bound(slice, bound, w);
            self.write_begin_args(slice, w);
            w.close();
            let dur = slices.dur.get(slice);
            if !instant && dur != UNFINISHED {
                open.push((Reverse(slices.ts[slice].saturating_add(dur)), slice as u32));
            }
        }
        while let Some((_, last)) = open.pop() {
            end(last as usize, w);
        }
    }

    /// Whether `outer` is an ancestor of `slice`.
    fn lies_in(&self, slice: usize, outer: u32) -> bool {
        let mut around = self.trace.slices.parent[slice].some();
        while let Some(parent) = around.filter(|parent| parent.0 > outer) {
            around = self.trace.slices.parent[parent.0 as usize].some();
        }
        around.is_some_and(|parent| parent.0 == outer)
    }

    fn open_async(&self, slice: usize, phase: &str, ts: i64, identity: &Identity<'_>, w: &mut Writer<'_>) {
        w.open(self.trace.strings.get(self.trace.slices.name[slice]), identity.category, phase);
        w.time(self.time(ts));
        w.place(identity.pid, identity.tid);
        if identity.local {
            w.raw(",\"id2\":{\"local\":");
            w.hex(identity.id);
            w.raw("}");
        } else {
            w.raw(",\"id\":");
            w.hex(identity.id);
        }
    }

    /// Writes one event for the points of one counter track at the same time.
    fn write_counters(&self, w: &mut Writer<'_>, facts: &mut OwnFacts) {
        let (points, series) = (&self.trace.counters, &self.trace.counter_series);
        let chart = |i: usize| {
            let at = points.series[i] as usize;
            (at < series.len()).then(|| (series.process[at], series.name[at], series.id[at]))
        };
        let mut keys: Vec<StringId> = Vec::new();
        let mut i = 0;
        while i < points.len() {
            let here = chart(i);
            let start = i;
            keys.clear();
            let mut is_open = false;
            while i < points.len() && points.ts[i] == points.ts[start] && chart(i) == here {
                let Some((process, name, id)) = here else { break };
                let key = series.key[points.series[i] as usize];
                if keys.contains(&key) || keys.len() >= MAX_SERIES {
                    break;
                }
                i += 1;
                if !points.value[i - 1].is_finite() {
                    facts.values_left_out += 1;
                    continue;
                }
                keys.push(key);
                if !is_open {
                    is_open = true;
                    w.open(self.trace.strings.get(name), None, "C");
                    w.time(self.time(points.ts[start]));
                    w.place(self.pid(process.0 as usize), self.main_tid(process.0 as usize));
                    if let Some(id) = self.text(id) {
                        w.raw(",\"id\":");
                        w.string(id);
                    }
                    w.raw(",\"args\":{");
                } else {
                    w.raw(",");
                }
                w.string(self.trace.strings.get(key));
                w.raw(":");
                w.float(points.value[i - 1]);
            }
            if is_open {
                w.raw("}");
                w.close();
            }
            if i == start {
                i += 1;
            }
        }
    }

    /// Finds the times at which a reader binds each flow to its slices.
    ///
    /// A start binds to the innermost slice open at its time, so the slice must have no open child at that
    /// time. If there is no such time, or the flow would point backwards, the slices are marked with
    /// `bind_id` instead; a slice can have only one.
    fn plan_flows(&self, facts: &mut OwnFacts) -> (Vec<Arrow>, HashMap<u32, Bound>) {
        let flows = &self.trace.flows;
        if flows.is_empty() {
            return (Vec::new(), HashMap::default());
        }
        let ends = self.flow_ends();
        let place = |slice: SliceId| ends.get(&slice.0).map_or(u32::MAX, |end| end.place);
        let mut order: Vec<usize> = (0..flows.len()).collect();
        // Sort flows, so that a file that is read back produces the same output.
        order.sort_by_cached_key(|flow| {
            let text = |id| self.text(id).map(str::to_string);
            (
                place(flows.from[*flow]),
                place(flows.to[*flow]),
                text(flows.name[*flow]),
                text(flows.category[*flow]),
            )
        });
        let mut arrows = Vec::new();
        let mut next_id = 0;
        let mut marks = Marks::default();
        for flow in order {
            let (from, to) = (flows.from[flow], flows.to[flow]);
            let times = match (self.bind_time(from, &ends), self.bind_time(to, &ends)) {
                (Some(start), Some(end)) if start <= end => Some((start, end)),
                _ => None,
            };
            // Flows without a name come from marks.
            let by_marks = times.is_none() || flows.name[flow].is_none();
            if by_marks && self.markable(from) && self.markable(to) && marks.join(from, to, &mut next_id) {
                continue;
            }
            let Some((from, to)) = times else {
                facts.flows_left_out += 1;
                continue;
            };
            next_id += 1;
            arrows.push(Arrow { flow, id: next_id, from, to });
        }
        (arrows, marks.bound)
    }

    /// Whether the event of a slice can carry a mark.
    fn markable(&self, slice: SliceId) -> bool {
        let kind = self.trace.slices.kind.get(slice.0 as usize);
        kind.is_some_and(|kind| !matches!(kind, SliceKind::Instant | SliceKind::State))
    }

    /// The slices at which flows start or end.
    fn flow_ends(&self) -> HashMap<u32, End> {
        let flows = &self.trace.flows;
        let slices = &self.trace.slices;
        let mut ends: HashMap<u32, End> = HashMap::default();
        for slice in flows.from.iter().chain(&flows.to) {
            if let Some(ts) = slices.ts.get(slice.0 as usize) {
                ends.insert(slice.0, End { place: 0, bind: *ts, settled: false });
            }
        }
        // Tracks in the order of writing, then those without a thread.
        let tracks = self.thread_order.iter().flat_map(|thread| {
            let lanes = self.lanes[*thread as usize].iter().map(|lane| lane.0);
            self.own_tracks[*thread as usize].iter().copied().chain(lanes)
        });
        let rest = (0..self.trace.tracks.len() as u32)
            .filter(|track| self.trace.tracks.thread[*track as usize].is_none());
        let slices_in_order = tracks.chain(rest).flat_map(|track| self.slices_of(track as usize));
        for (place, slice) in slices_in_order.enumerate() {
            if let Some(end) = ends.get_mut(slice) {
                end.place = place as u32;
            }
            let index = *slice as usize;
            // Readers process one tid at a time, and each lane has its own.
            let mut around = slices.parent[index].some();
            while let Some(parent) = around.filter(|it| slices.track[it.0 as usize] != slices.track[index]) {
                around = slices.parent[parent.0 as usize].some();
            }
            let Some(parent) = around.and_then(|parent| ends.get_mut(&parent.0)) else { continue };
            if slices.ts[index] > parent.bind {
                parent.settled = true;
            } else if !parent.settled {
                // After the end of this child, unless another has started by then.
                let after = match slices.dur.get(index) {
                    UNFINISHED => i64::MAX,
                    dur => slices.ts[index].saturating_add(dur).saturating_add(1),
                };
                parent.bind = parent.bind.max(after);
            }
        }
        ends
    }

    /// A time at which `slice` is the innermost one of its tid.
    fn bind_time(&self, slice: SliceId, ends: &HashMap<u32, End>) -> Option<i64> {
        let index = slice.0 as usize;
        let bind = ends.get(&slice.0)?.bind;
        let slices = &self.trace.slices;
        self.tid_of(slices.track.get(index)?.0 as usize)?;
        let inside = match slices.dur.get(index) {
            UNFINISHED => bind != i64::MAX,
            dur => bind == slices.ts[index] || bind < slices.ts[index].saturating_add(dur),
        };
        inside.then_some(bind)
    }

    /// The tid under which a track's slices are written, if it is a thread's.
    fn tid_of(&self, track: usize) -> Option<u64> {
        self.tid_of_track.get(track).copied().flatten()
    }

    fn write_flows(&self, arrows: &[Arrow], w: &mut Writer<'_>) {
        let flows = &self.trace.flows;
        for arrow in arrows {
            // Readers match both ends by name, category and id, so both get names even if the file only has marks.
            let name = self.text(flows.name[arrow.flow]).unwrap_or("flow");
            let category = self.text(flows.category[arrow.flow]).unwrap_or("flow");
            let ends = [(flows.from[arrow.flow], arrow.from, "s"), (flows.to[arrow.flow], arrow.to, "f")];
            for (slice, ts, phase) in ends {
                let track = self.trace.slices.track[slice.0 as usize].0 as usize;
                w.open(name, Some(category), phase);
                w.time(self.time(ts));
                w.place(self.pid(self.process_of(track)), self.tid_of(track));
                w.raw(",\"id\":");
                w.hex(arrow.id);
                if phase == "f" {
                    w.raw(",\"bp\":\"e\"");
                }
                w.close();
            }
        }
    }

    fn write_objects(&self, w: &mut Writer<'_>) {
        let objects = &self.trace.objects;
        for i in 0..objects.len() {
            let phase = match objects.event[i] {
                ObjectEvent::Created => "N",
                ObjectEvent::Snapshot => "O",
                ObjectEvent::Destroyed => "D",
                ObjectEvent::ProcessMemoryDump => "v",
                ObjectEvent::GlobalMemoryDump => "V",
                ObjectEvent::ClockSync => "c",
            };
            w.open(self.trace.strings.get(objects.name[i]), None, phase);
            w.time(self.time(objects.ts[i]));
            let process = objects.process[i].0 as usize;
            w.place(self.pid(process), self.main_tid(process));
            if let Some(id) = self.text(objects.id[i]) {
                w.raw(",\"id\":");
                w.string(id);
            }
            self.write_raw_args(objects.args[i], w);
            w.close();
        }
    }
}

/// Marked slices, joined as a reader would: each arrival of an id comes from the slice that last sent it.
#[derive(Default)]
struct Marks {
    bound: HashMap<u32, Bound>,
    /// By id: the slice that last sent it, and the one at which it last arrived.
    heads: HashMap<u64, (u32, u32)>,
}

impl Marks {
    /// Marks both ends of a flow; false if a reader would join other slices.
    fn join(&mut self, from: SliceId, to: SliceId, next_id: &mut u64) -> bool {
        if from == to || self.bound.contains_key(&to.0) {
            return false;
        }
        let id = match self.bound.get_mut(&from.0) {
            None => {
                *next_id += 1;
                self.bound.insert(from.0, Bound { id: *next_id, out: true, inward: false });
                *next_id
            }
            Some(mark) => {
                let Some((goes_on, arrived)) = self.heads.get(&mark.id).copied() else { return false };
                if goes_on != from.0 && arrived != from.0 {
                    return false;
                }
                mark.out = true;
                mark.id
            }
        };
        self.bound.insert(to.0, Bound { id, out: false, inward: true });
        self.heads.insert(id, (from.0, to.0));
        true
    }
}

/// Async slices written under one id.
#[derive(Default)]
struct Unit {
    slices: Vec<u32>,
    is_local: bool,
    /// The first slice has no name.
    is_unnamed: bool,
    /// By name: ends of the open slices, innermost last.
    open: HashMap<StringId, Vec<i64>>,
}

impl Unit {
    /// Whether ends still match their begins by name if the next slice is added: of two with the same name, the inner one
    /// must end first.
    fn takes(&mut self, trace: &Trace, slice: usize) -> bool {
        let slices = &trace.slices;
        let (ts, end) = match slices.dur.get(slice) {
            UNFINISHED => (slices.ts[slice], i64::MAX),
            dur => (slices.ts[slice], slices.ts[slice].saturating_add(dur)),
        };
        // The end of an unnamed slice matches any begin, so with those all slices must nest.
        let name = slices.name[slice];
        let is_new = self.slices.is_empty();
        self.is_unnamed |= is_new && name == StringId::EMPTY;
        if name == StringId::EMPTY && !self.is_unnamed {
            return false;
        }
        let open = self.open.entry(if self.is_unnamed { StringId::EMPTY } else { name }).or_default();
        while open.pop_if(|end| *end < ts || (*end == ts && *end != i64::MAX)).is_some() {}
        let fits = open.last().is_none_or(|around| *around >= end);
        if fits
            && matches!(slices.kind[slice], SliceKind::Async | SliceKind::LegacyAsync | SliceKind::LegacyStep)
        {
            open.push(end);
        }
        fits
    }
}

/// Common fields of the events of one async identity.
struct Identity<'a> {
    id: u64,
    /// Scoped to its process.
    local: bool,
    pid: u64,
    tid: Option<u64>,
    category: Option<&'a str>,
}

/// Limit on series in one counter event; the rest goes to further events.
const MAX_SERIES: usize = 256;

/// Slices outlasted by others on their track that start inside them; these are written as begin and end.
fn outlived(trace: &Trace) -> HashSet<u32> {
    let slices = &trace.slices;
    let mut found = HashSet::default();
    // By track: open slices and their ends. Outlasted slices are removed.
    let mut open: Vec<Vec<(u32, i64)>> = vec![Vec::new(); trace.tracks.len()];
    for slice in 0..slices.len() {
        let Some(open) = open.get_mut(slices.track[slice].0 as usize) else { continue };
        let ts = slices.ts[slice];
        while open.pop_if(|(_, end)| *end <= ts).is_some() {}
        let end = match slices.dur.get(slice) {
            UNFINISHED => i64::MAX,
            dur => ts.saturating_add(dur),
        };
        while let Some((around, _)) = open.pop_if(|(_, around)| *around < end && end != i64::MAX) {
            if slices.kind[around as usize] == SliceKind::BeginEnd {
                found.insert(around);
            }
        }
        open.push((slice as u32, end));
    }
    found
}

/// Slice numbers by track, each track in order of writing.
fn order_by_track(trace: &Trace) -> (Vec<u32>, Vec<u32>) {
    let slices = &trace.slices;
    let mut starts = vec![0u32; trace.tracks.len() + 1];
    for track in &slices.track {
        if let Some(n) = starts.get_mut(track.0 as usize + 1) {
            *n += 1;
        }
    }
    for track in 1..starts.len() {
        starts[track] += starts[track - 1];
    }
    let mut next = starts.clone();
    let mut order = vec![0u32; starts.last().copied().unwrap_or(0) as usize];
    for (slice, track) in slices.track.iter().enumerate() {
        if (track.0 as usize) < trace.tracks.len() {
            order[next[track.0 as usize] as usize] = slice as u32;
            next[track.0 as usize] += 1;
        }
    }
    let key = |slice: &u32| {
        let i = *slice as usize;
        (slices.ts[i], slices.depth.get(i), slices.dur.get(i) != 0, *slice)
    };
    for track in 0..trace.tracks.len() {
        order[starts[track] as usize..starts[track + 1] as usize].sort_by_key(key);
    }
    (starts, order)
}

/// Writes stacks and samples, which are separate from the events.
pub fn write_samples(layouts: &[Layout<'_>], w: &mut Writer<'_>) {
    if layouts.iter().all(|layout| layout.trace.stacks.is_empty() && layout.trace.samples.is_empty()) {
        return;
    }
    w.raw(",\n\"stackFrames\":{");
    let mut first = true;
    for layout in layouts {
        let (stacks, frames) = (&layout.trace.stacks, &layout.trace.frames);
        for stack in 0..stacks.len() {
            let frame = stacks.frame[stack].0 as usize;
            w.pass_on();
            w.raw(if std::mem::take(&mut first) { "\n\"" } else { ",\n\"" });
            w.unsigned(layout.first_stack + stack as u64);
            w.raw("\":{\"name\":");
            w.string(frames.name.get(frame).map_or("", |name| layout.trace.strings.get(*name)));
            if let Some(module) = frames.module.get(frame).and_then(|module| layout.text(*module)) {
                w.raw(",\"category\":");
                w.string(module);
            }
            if stacks.parent[stack] != StackId::NONE {
                w.raw(",\"parent\":\"");
                w.unsigned(layout.first_stack + u64::from(stacks.parent[stack].0));
                w.raw("\"");
            }
            w.raw("}");
        }
    }
    w.raw("\n},\n\"samples\":[");
    first = true;
    for layout in layouts {
        let samples = &layout.trace.samples;
        for i in 0..samples.len() {
            let Some(tid) = layout.tids.get(samples.thread[i].0 as usize) else { continue };
            w.pass_on();
            w.raw(if std::mem::take(&mut first) { "\n{" } else { ",\n{" });
            w.raw("\"ts\":");
            w.micros(layout.time(samples.ts[i]));
            w.raw(",\"tid\":");
            w.unsigned(*tid);
            if let Some(name) = layout.text(samples.name[i]) {
                w.raw(",\"name\":");
                w.string(name);
            }
            if samples.stack[i] != StackId::NONE {
                w.raw(",\"sf\":");
                w.unsigned(layout.first_stack + u64::from(samples.stack[i].0));
            }
            w.raw(",\"weight\":");
            w.float(samples.weight[i]);
            w.raw("}");
        }
    }
    w.raw("\n]");
}

//! One pass over all events in time order, which builds slices and dispatches other events.

use super::asyncs::{Asyncs, legacy_parts};
use super::counters::Counters;
use super::flows::Flows;
use super::issues::*;
use super::nesting::{Entry, Lane, Stack, find_parents};
use super::order::processing_order;
use super::samples::Sampler;
use super::slice_events::SliceEvents;
use super::{OtherTrack, TraceBuilder, Ways, joined, metadata, streams};
use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::trace::args::ArgsPlace;
use crate::trace::compact_columns::Places;
use crate::trace::event_table::{EventPlace, EventPlaces, EventRow, EventTable, IS_JOINED};
use crate::trace::events::{EventKey, Phase, flag};
use crate::trace::ledger::{IssueKind, Position};
use crate::trace::objects::ObjectEvent;
use crate::trace::samples::StackId;
use crate::trace::slices::{SliceId, SliceKind, UNFINISHED};
use crate::trace::tracks::{ProcessId, ThreadId, TrackId, TrackKind};
use crate::trace::{Ledger, Trace};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NS_PER_US: i64 = 1000;

/// Maximum number of overflow lanes of a thread in which slices may nest. Further lanes are filled one slice after the other,
/// so that a file in which everything overlaps takes no quadratic time.
const NESTING_LANES: usize = 32;

/// A thread's own stack and its overflow lanes.
#[derive(Default)]
struct ThreadLanes {
    /// Boxed, since it is taken out and put back for every event.
    main: Option<Box<Lane>>,
    overflow: Vec<Lane>,
    /// Lanes without nesting, by the time they are free.
    flat: BinaryHeap<Reverse<(i64, TrackId)>>,
    states: Option<TrackId>,
    /// A slice ended while others that it may not contain were open in it.
    has_late_end: bool,
}

/// State of the pass, shared by handlers of all kinds of events.
pub(super) struct Walk<'a> {
    pub builder: &'a mut TraceBuilder,
    pub events: &'a EventTable,
    threads: Vec<ThreadLanes>,
    process_instants: HashMap<ProcessId, Lane>,
    global_instants: Option<Lane>,
    /// Events of existing slices, and those that are still to come.
    slice_events: SliceEvents,
    made_of: MadeOf,
    cut: Vec<u32>,
    /// Nanoseconds by which a slice may outlast its parent.
    tolerance: i64,
    /// Time until which slices without an end last, if that is known.
    last: Option<i64>,
    /// Rows of `slices.thread_time` wait for the end event.
    has_pending_thread_time: bool,
    /// Boxed, since it is taken out and put back; `None` only meanwhile.
    flows: Option<Box<Flows>>,
}

/// Adds all events to the tables of `builder`.
pub(super) fn pair(builder: &mut TraceBuilder, events: &EventTable) {
    if builder.ways == Ways::Tracks {
        return pair_up(builder, events.clone());
    }
    let moves = streams::find(builder, events);
    if !moves.is_empty() {
        let mut events = events.clone();
        moves.apply(&mut events);
        return take_up(builder, events, None);
    }
    let made_of = walk(builder, events, None);
    let slices = &mut builder.trace.slices;
    slices.name = made_of.names(&events.rows.name);
    slices.ts = made_of.times(&events.rows.ts);
    find_parents(&mut builder.trace, &made_of.overlapping, made_of.tolerance, made_of.last);
    put_places(builder, &events.places, &made_of);
}

/// Like [`pair`], but consumes the events, which saves memory: each column is freed before the next one of slices is made.
pub(super) fn pair_up(builder: &mut TraceBuilder, mut events: EventTable) {
    let ends = (builder.ways == Ways::Tracks).then(|| joined::join(builder, &mut events));
    if ends.is_none() {
        streams::find(builder, &events).apply(&mut events);
    }
    take_up(builder, events, ends);
}

/// Pairs events that are on their threads and freed column by column. `ends` are those of track events.
fn take_up(builder: &mut TraceBuilder, events: EventTable, ends: Option<joined::Ends>) {
    let made_of = walk(builder, &events, ends.as_ref().and_then(|ends| ends.last));
    if let Some(ends) = ends {
        joined::link(builder, &events, &made_of.event, &ends);
    }
    let EventTable { rows, places, extras, thread_time, .. } = events;
    drop((extras, thread_time));
    let (times, names) = rows.into_times_and_names();
    let slices = &mut builder.trace.slices;
    slices.name = made_of.names(&names);
    drop(names);
    slices.ts = made_of.times(&times);
    drop(times);
    find_parents(&mut builder.trace, &made_of.overlapping, made_of.tolerance, made_of.last);
    put_places(builder, &places, &made_of);
}

/// Event that each slice was made of.
#[derive(Default)]
struct MadeOf {
    /// Event of each slice.
    event: Vec<u32>,
    /// Slices whose start or name differs from their event, in order.
    other: Vec<(u32, i64, StringId)>,
    /// By thread: whether slices of its own track may not nest.
    overlapping: Vec<bool>,
    /// Nanoseconds by which a slice may outlast its parent.
    tolerance: i64,
    /// See [`Walk::last`].
    last: Option<i64>,
}

impl MadeOf {
    /// Names of slices, from those of events.
    fn names(&self, of_events: &[StringId]) -> Vec<StringId> {
        self.column(of_events, |(_, _, name)| *name)
    }

    /// Start times of slices, from those of events.
    fn times(&self, of_events: &[i64]) -> Vec<i64> {
        self.column(of_events, |(_, ts, _)| *ts)
    }

    fn column<T: Copy>(&self, of_events: &[T], of_other: impl Fn(&(u32, i64, StringId)) -> T) -> Vec<T> {
        let mut column: Vec<T> = self.event.iter().map(|event| of_events[*event as usize]).collect();
        for other in &self.other {
            column[other.0 as usize] = of_other(other);
        }
        column
    }
}

/// Fills the columns for places and categories of slices.
fn put_places(builder: &mut TraceBuilder, places: &EventPlaces, made_of: &MadeOf) {
    let slices = &mut builder.trace.slices;
    slices.places = Places::with_capacity(made_of.event.len());
    slices.category.reserve_exact(made_of.event.len());
    for event in &made_of.event {
        let EventPlace { offset, args_at, args_len, category, .. } = places.get(*event);
        slices.places.push(offset, (args_at, args_len));
        slices.category.push(category);
    }
}

/// Fills all other tables; returns the event of each slice. Slices without an end contain others up to `last`, if given.
fn walk(builder: &mut TraceBuilder, events: &EventTable, last: Option<i64>) -> MadeOf {
    if events.n_events() == 0 {
        return MadeOf::default();
    }
    metadata::find_overlaps(builder, events);
    let tolerance = builder.tolerance.unwrap_or_else(|| {
        tolerance_of(builder.ways, || events.rows.iter().any(|row| has_decimals(row.phase, row.ts, row.dur)))
    });
    let order = processing_order(events, tolerance, builder);
    reserve(builder, events);
    let mut walk = Walk {
        events,
        threads: Vec::new(),
        process_instants: HashMap::default(),
        global_instants: None,
        slice_events: SliceEvents::default(),
        made_of: MadeOf { tolerance, last, ..MadeOf::default() },
        cut: Vec::new(),
        tolerance,
        last,
        has_pending_thread_time: false,
        flows: Some(Box::default()),
        builder,
    };
    walk.threads.resize_with(walk.builder.trace.threads.len(), ThreadLanes::default);
    let mut asyncs = Asyncs::new(&walk, &order);
    let mut counters = Counters::default();
    let mut sampler = Sampler::default();
    let legacy = legacy_parts(&mut walk, &order);
    let mut n_legacy = 0;
    walk.slice_events = SliceEvents::of_order(order);
    while let Some(i) = walk.slice_events.next_event() {
        while let Some(part) = legacy.get(n_legacy)
            && part.ts <= events.rows.ts[i as usize]
        {
            asyncs.legacy(&mut walk, part);
            n_legacy += 1;
        }
        match events.rows.phase(i) {
            Phase::Complete => walk.complete(i),
            Phase::Begin => walk.begin(i),
            Phase::End if walk.builder.ways == Ways::Tracks => {
                if events.rows.get(i).dur != IS_JOINED {
                    walk.drop_event(i, &STRAY_END);
                }
            }
            // Only ends the one before it.
            Phase::ThreadState
                if walk.builder.ways == Ways::Tracks && events.rows.get(i).name == StringId::EMPTY => {}
            Phase::End => walk.end(i),
            Phase::Instant => walk.instant(i),
            Phase::AsyncBegin | Phase::AsyncInstant | Phase::AsyncEnd => asyncs.event(&mut walk, i),
            // Already resolved.
            Phase::LegacyStart | Phase::LegacyStepInto | Phase::LegacyStepPast | Phase::LegacyFinish => {}
            Phase::ThreadState => walk.thread_state(i),
            Phase::Counter => counters.event(&mut walk, i),
            Phase::FlowStart | Phase::FlowStep | Phase::FlowEnd => walk.flow(i),
            Phase::Sample => sampler.event(&mut walk, i),
            Phase::Metadata => metadata::event(&mut walk, i),
            Phase::ObjectCreated => walk.object(i, ObjectEvent::Created),
            Phase::ObjectSnapshot => walk.object(i, ObjectEvent::Snapshot),
            Phase::ObjectDestroyed => walk.object(i, ObjectEvent::Destroyed),
            Phase::ProcessMemoryDump => walk.object(i, ObjectEvent::ProcessMemoryDump),
            Phase::GlobalMemoryDump => walk.object(i, ObjectEvent::GlobalMemoryDump),
            Phase::ClockSync => walk.object(i, ObjectEvent::ClockSync),
        }
    }
    for part in &legacy[n_legacy..] {
        asyncs.legacy(&mut walk, part);
    }
    walk.finish(&asyncs)
}

/// Nanoseconds by which rounding may have moved the end of a slice.
pub(super) fn tolerance_of(ways: Ways, has_decimals: impl FnOnce() -> bool) -> i64 {
    match ways {
        Ways::Format | Ways::Tracks => 0,
        Ways::Kineto if has_decimals() => 1,
        Ways::Kineto => NS_PER_US,
    }
}

/// Whether its times are not whole microseconds.
pub(super) fn has_decimals(phase: Phase, ts: i64, dur: i64) -> bool {
    ts % NS_PER_US != 0 || (phase == Phase::Complete && dur % NS_PER_US != 0)
}

fn reserve(builder: &mut TraceBuilder, events: &EventTable) {
    let n = events
        .rows
        .phases()
        .filter(|phase| matches!(phase, Phase::Complete | Phase::Begin | Phase::Instant | Phase::AsyncBegin))
        .count();
    let slices = &mut builder.trace.slices;
    slices.dur.reserve_exact(n);
    slices.track.reserve_exact(n);
    slices.kind.reserve_exact(n);
    slices.depth.reserve_exact(n);
    slices.parent.reserve_exact(n);
}

/// Whether the first of two enclosing slices is the closer one: it is shorter or, if an end is not known yet, started later.
fn is_closer(this: &Entry, other: &Entry) -> bool {
    if this.open || other.open {
        return this.start > other.start;
    }
    this.end.saturating_sub(this.start) < other.end.saturating_sub(other.start)
}

/// A slice before it has a number.
#[derive(Clone, Copy)]
pub(super) struct NewSlice {
    pub ts: i64,
    /// [`UNFINISHED`] while it is open.
    pub dur: i64,
    pub name: StringId,
    pub kind: SliceKind,
    pub track: TrackId,
    pub depth: u32,
    pub parent: SliceId,
}

impl<'a> Walk<'a> {
    /// Row of event `i`.
    #[inline(always)]
    pub fn event(&self, i: u32) -> EventRow {
        self.events.rows.get(i)
    }

    /// Place of event `i` in the file, and its category.
    #[inline(always)]
    pub fn place(&self, i: u32) -> EventPlace {
        self.events.places.get(i)
    }

    pub fn trace(&mut self) -> &mut Trace {
        &mut self.builder.trace
    }

    pub fn ledger(&mut self) -> &mut Ledger {
        &mut self.builder.trace.ledger
    }

    pub fn process_of(&self, i: u32) -> ProcessId {
        let thread = self.event(i).thread;
        self.builder.trace.threads.process.get(thread.0 as usize).copied().unwrap_or(ProcessId(0))
    }

    pub fn has(&self, i: u32, bit: u16) -> bool {
        self.event(i).flags & bit != 0
    }

    /// Reports an issue at the place of event `i`.
    pub fn note(&mut self, i: u32, kind: &'static IssueKind) {
        let event = self.event(i);
        let at = Position { byte: self.place(i).offset, line: None };
        let trace = &mut self.builder.trace;
        // The example is only made if it will be shown.
        let seen = trace.ledger.issue(kind.code).is_some_and(|issue| issue.first.byte <= at.byte);
        let example = if seen { "" } else { trace.strings.get(event.name) };
        trace.ledger.file(kind, at, example.as_bytes());
    }

    /// Drops event `i`.
    pub fn drop_event(&mut self, i: u32, kind: &'static IssueKind) {
        self.note(i, kind);
        self.uncount(i);
    }

    /// Moves the record of event `i` to the skipped ones.
    pub fn uncount(&mut self, i: u32) {
        let bytes = u64::from(self.place(i).len);
        if self.has(i, flag::REPAIRED) {
            self.ledger().repaired_to_skipped(bytes);
        } else {
            self.ledger().kept_to_skipped(bytes);
        }
    }

    /// Counts event `i` as repaired.
    pub fn repair_event(&mut self, i: u32, kind: &'static IssueKind) {
        self.note(i, kind);
        if !self.has(i, flag::REPAIRED) {
            let bytes = u64::from(self.place(i).len);
            self.ledger().kept_to_repaired(bytes);
        }
    }

    /// Event of a slice.
    fn event_of(&self, slice: u32) -> Option<u32> {
        self.slice_events.get(slice)
    }

    /// Start and name of a slice if they differ from its event.
    fn other_of(&self, slice: u32) -> Option<(i64, StringId)> {
        let other = &self.made_of.other;
        let at = other.binary_search_by_key(&slice, |row| row.0).ok()?;
        Some((other[at].1, other[at].2))
    }

    /// Name of a slice.
    pub fn name_of(&self, slice: u32) -> StringId {
        let of_event = || {
            let event = self.event_of(slice).and_then(|event| self.events.rows.name.get(event as usize));
            event.copied().unwrap_or(StringId::EMPTY)
        };
        self.other_of(slice).map_or_else(of_event, |other| other.1)
    }

    /// Start of a slice in nanoseconds.
    pub fn start_of(&self, slice: u32) -> i64 {
        let of_event = || {
            let event = self.event_of(slice).and_then(|event| self.events.rows.ts.get(event as usize));
            event.copied().unwrap_or(0)
        };
        self.other_of(slice).map_or_else(of_event, |other| other.0)
    }

    /// Adds a slice of event `i`.
    #[inline]
    pub fn push_slice(&mut self, i: u32, new: NewSlice) -> u32 {
        let row = self.event(i);
        let slices = &mut self.builder.trace.slices;
        let id = slices.dur.len() as u32;
        slices.dur.push(new.dur);
        slices.track.push(new.track);
        slices.kind.push(new.kind);
        slices.depth.push(new.depth);
        slices.parent.push(new.parent);
        self.slice_events.push(i);
        if new.ts != row.ts || new.name != row.name {
            self.made_of.other.push((id, new.ts, new.name));
        }
        if let Some(extra) = self.events.extra_of(i)
            && (!extra.start_frame.is_none() || !extra.end_frame.is_none() || extra.stack != ArgsPlace::NONE)
        {
            let start = if extra.stack == ArgsPlace::NONE {
                super::samples::stack_of_frame(self.builder, extra.start_frame)
            } else {
                super::samples::stack_of_list(self.builder, extra.stack)
            };
            let end = super::samples::stack_of_frame(self.builder, extra.end_frame);
            self.builder.trace.slices.stacks.push((SliceId(id), start, end));
        }
        id
    }

    /// Pushes event `i` as a slice on a stack, which must be closed up to its time.
    pub fn stack_slice(&mut self, i: u32, lane: &mut Lane, dur: i64, kind: SliceKind) -> u32 {
        let EventRow { ts, name, thread, .. } = self.event(i);
        let kind = self.other_track(thread).map_or(kind, |other| other.kind_of(kind));
        let parent = lane.stack.top().map_or(SliceId::NONE, |top| SliceId(top.slice));
        let depth = lane.stack.len() as u32;
        let slice = self.push_slice(i, NewSlice { ts, dur, name, kind, track: lane.track, depth, parent });
        // Exceeding the parent by rounding only does not count as open.
        let end = (dur != UNFINISHED || self.last.is_some()).then(|| {
            let end = self.end_of(ts, dur);
            if self.tolerance > 0 {
                lane.stack.end_around(ts).map_or(end, |around| end.min(around))
            } else {
                end
            }
        });
        // Only open slices are looked up by category.
        let category = if end.is_none() { self.place(i).category } else { StringId::NONE };
        lane.stack.push(slice, ts, end, name, category);
        slice
    }

    /// Removes ended slices from `stack`, and reports those that were cut.
    #[inline]
    pub fn close(&mut self, stack: &mut Stack, ts: i64, zero_length: bool) {
        stack.close(ts, zero_length, &mut self.builder.trace.slices, &mut self.cut);
        if !self.cut.is_empty() {
            for slice in std::mem::take(&mut self.cut) {
                if let Some(event) = self.event_of(slice) {
                    // Slices that began in it may now exceed it.
                    let thread = self.event(event).thread;
                    self.threads[thread.0 as usize].has_late_end = true;
                    self.repair_event(event, &MISPLACED_END);
                }
            }
        }
    }

    /// Takes out the stack of a thread; makes its track if it has none.
    fn take_lane(&mut self, thread: ThreadId) -> Box<Lane> {
        match self.threads[thread.0 as usize].main.take() {
            Some(lane) => lane,
            None => Box::new(Lane::new(self.new_thread_track(thread, TrackKind::Thread))),
        }
    }

    /// What the track of a thread is, if it is no thread.
    fn other_track(&self, thread: ThreadId) -> Option<OtherTrack> {
        self.builder.other_tracks.get(&thread).copied()
    }

    fn new_thread_track(&mut self, thread: ThreadId, kind: TrackKind) -> TrackId {
        let other = self.other_track(thread);
        let trace = &mut self.builder.trace;
        if let Some(OtherTrack { kind, name, process }) = other {
            return trace.tracks.push(kind, name, process, None);
        }
        let process = trace.threads.process.get(thread.0 as usize).copied();
        let Some(of) = trace.threads.overlap_of.get(thread.0 as usize).copied().flatten() else {
            return trace.tracks.push(kind, StringId::NONE, process, Some(thread));
        };
        let is_own = kind == TrackKind::Thread;
        let kind = if is_own { TrackKind::ThreadOverflow } else { kind };
        let track = trace.tracks.push(kind, StringId::NONE, process, Some(of));
        if is_own {
            trace.tracks.shown_as[track.0 as usize] = Some(thread);
        }
        track
    }

    /// Starts and ends arrows at a slice of `thread` that has started.
    #[inline]
    fn started(&mut self, i: u32, thread: ThreadId, slice: u32) {
        if self.flows.as_ref().is_some_and(|flows| flows.has_pending(thread)) {
            let mut flows = self.flows.take().unwrap_or_default();
            flows.slice_started(self, thread, slice);
            self.flows = Some(flows);
        }
        self.bind(i, slice);
    }

    /// Adds arrows given by the `bind_id` of a slice.
    #[inline]
    pub fn bind(&mut self, i: u32, slice: u32) {
        if let Some(extra) = self.events.extra_of(i)
            && extra.bind_id != EventKey::None
        {
            let bind_id = extra.bind_id;
            let mut flows = self.flows.take().unwrap_or_default();
            flows.bound(self, i, bind_id, slice);
            self.flows = Some(flows);
        }
    }

    /// End of a slice; without an end of its own, that of the trace.
    fn end_of(&self, ts: i64, dur: i64) -> i64 {
        match self.last.filter(|_| dur == UNFINISHED) {
            Some(last) => last.max(ts),
            None => ts.saturating_add(dur),
        }
    }

    fn complete(&mut self, i: u32) {
        let EventRow { ts, dur, thread, .. } = self.event(i);
        let end = self.end_of(ts, dur);
        let mut lane = self.take_lane(thread);
        self.close(&mut lane.stack, ts, end == ts && self.last.is_none());
        let fits = !lane.stack.sticks_out(ts, end, self.tolerance);
        if !fits {
            self.note(i, &OVERLAP);
        }
        let has_one_lane = self.threads[thread.0 as usize].overflow.is_empty();
        let slice = if fits && (has_one_lane || !self.belongs_beside(thread, &lane, ts, end, dur)) {
            self.stack_slice(i, &mut lane, dur, SliceKind::Complete)
        } else {
            self.overflow(i, thread, ts, end, dur)
        };
        if self.has(i, flag::NO_DURATION) {
            self.trace().slices.no_duration.push(SliceId(slice));
        }
        if dur == UNFINISHED {
            let is_other = self.other_track(thread).is_some();
            self.note(i, if is_other { &UNFINISHED_ASYNC } else { &UNFINISHED_SLICE });
        }
        if let Ok(at) = self.events.end_args.binary_search_by_key(&i, |row| row.0) {
            let args = self.events.end_args[at].1;
            self.trace().slices.end_args.push((SliceId(slice), args));
        }
        self.threads[thread.0 as usize].main = Some(lane);
        if let Some((tts, Some(tdur))) = self.events.thread_time_of(i) {
            self.trace().slices.thread_time.push((SliceId(slice), tts, tdur));
        }
        self.started(i, thread, slice);
    }

    /// Whether a slice that fits on the thread's own track `main` belongs on an overflow lane, because the slice that contains
    /// it more closely is there. On `main` it would be separated from its parent.
    fn belongs_beside(&mut self, thread: ThreadId, main: &Lane, ts: i64, end: i64, dur: i64) -> bool {
        let mut lanes = std::mem::take(&mut self.threads[thread.0 as usize].overflow);
        let beside = self.lane_around(&mut lanes, ts, end, dur).map(|(_, around)| around);
        self.threads[thread.0 as usize].overflow = lanes;
        let own = main.stack.around(end.saturating_sub(self.tolerance));
        beside.is_some_and(|beside| own.is_none_or(|own| is_closer(&beside, own)))
    }

    /// Lane on which a slice fits into another one, and that slice; the closest of several.
    fn lane_around(&mut self, lanes: &mut [Lane], ts: i64, end: i64, dur: i64) -> Option<(usize, Entry)> {
        let mut best: Option<(usize, Entry)> = None;
        for (at, lane) in lanes.iter_mut().enumerate().filter(|(_, lane)| !lane.stack.is_empty()) {
            self.close(&mut lane.stack, ts, dur == 0 && self.last.is_none());
            if !lane.stack.sticks_out(ts, end, self.tolerance)
                && let Some(around) = lane.stack.around(end.saturating_sub(self.tolerance))
                && best.as_ref().is_none_or(|(_, best)| is_closer(around, best))
            {
                best = Some((at, *around));
            }
        }
        best
    }

    /// Puts a slice that does not nest on an overflow lane: where a slice contains it, else on the first lane with room.
    fn overflow(&mut self, i: u32, thread: ThreadId, ts: i64, end: i64, dur: i64) -> u32 {
        let mut lanes = std::mem::take(&mut self.threads[thread.0 as usize].overflow);
        let around = self.lane_around(&mut lanes, ts, end, dur).map(|(at, _)| at);
        let has_room = |lane: &Lane| !lane.stack.sticks_out(ts, end, self.tolerance);
        let at = around.or_else(|| lanes.iter().position(has_room));
        if let Some(lane) = at.and_then(|at| lanes.get_mut(at)) {
            let slice = self.stack_slice(i, lane, dur, SliceKind::Complete);
            self.threads[thread.0 as usize].overflow = lanes;
            return slice;
        }
        let slice = if lanes.len() < NESTING_LANES {
            let mut lane = Lane::new(self.new_thread_track(thread, TrackKind::ThreadOverflow));
            let slice = self.stack_slice(i, &mut lane, dur, SliceKind::Complete);
            lanes.push(lane);
            slice
        } else {
            let flat = &mut self.threads[thread.0 as usize].flat;
            let track = match flat.peek() {
                Some(Reverse((free, track))) if *free <= ts => {
                    let track = *track;
                    flat.pop();
                    track
                }
                _ => self.new_thread_track(thread, TrackKind::ThreadOverflow),
            };
            self.threads[thread.0 as usize].flat.push(Reverse((end, track)));
            let name = self.event(i).name;
            let (kind, parent) = (SliceKind::Complete, SliceId::NONE);
            let kind = self.other_track(thread).map_or(kind, |other| other.kind_of(kind));
            self.push_slice(i, NewSlice { ts, dur, name, kind, track, depth: 0, parent })
        };
        self.threads[thread.0 as usize].overflow = lanes;
        slice
    }

    fn begin(&mut self, i: u32) {
        let EventRow { ts, thread, .. } = self.event(i);
        let mut lane = self.take_lane(thread);
        self.close(&mut lane.stack, ts, false);
        let slice = self.stack_slice(i, &mut lane, UNFINISHED, SliceKind::BeginEnd);
        self.threads[thread.0 as usize].main = Some(lane);
        if let Some((tts, _)) = self.events.thread_time_of(i) {
            self.trace().slices.thread_time.push((SliceId(slice), tts, UNFINISHED));
            self.has_pending_thread_time = true;
        }
        self.started(i, thread, slice);
    }

    fn end(&mut self, i: u32) {
        let EventRow { ts, thread, .. } = self.event(i);
        let mut lane = self.take_lane(thread);
        self.close(&mut lane.stack, ts, false);
        let n_open = lane.stack.len();
        let ended = self.end_slice(i, &mut lane.stack);
        // Nothing was popped: the slice that ended is further down.
        let is_late = ended.is_some() && lane.stack.len() == n_open;
        self.threads[thread.0 as usize].has_late_end |= is_late;
        self.threads[thread.0 as usize].main = Some(lane);
        let Some(slice) = ended else { return self.drop_event(i, &STRAY_END) };
        if let Some((tts, _)) = self.events.thread_time_of(i) {
            let times = &mut self.trace().slices.thread_time;
            if let Ok(at) = times.binary_search_by_key(&SliceId(slice), |row| row.0) {
                let row = &mut times[at];
                row.2 = tts.saturating_sub(row.1).max(0);
            }
        }
        if let Some(extra) = self.events.extra_of(i) {
            let frame = if extra.start_frame.is_none() { extra.end_frame } else { extra.start_frame };
            if !frame.is_none() {
                let stack = super::samples::stack_of_frame(self.builder, frame);
                let stacks = &mut self.trace().slices.stacks;
                match stacks.binary_search_by_key(&SliceId(slice), |row| row.0) {
                    Ok(at) => stacks[at].2 = stack,
                    Err(at) => stacks.insert(at, (SliceId(slice), StackId::NONE, stack)),
                }
            }
        }
    }

    /// Ends the slice that event `i` closes, and returns it.
    fn end_slice(&mut self, i: u32, stack: &mut Stack) -> Option<u32> {
        let event = self.event(i);
        let ts = event.ts;
        let name = Some(event.name).filter(|name| *name != StringId::EMPTY);
        let category = self.place(i).category.some();
        let is_innermost = self.builder.ways == Ways::Kineto;
        let (slice, start) = match is_innermost {
            true => stack.end(ts, None, None)?,
            false => stack.end(ts, name, category)?,
        };
        if is_innermost && name.is_some_and(|name| self.name_of(slice) != name) {
            self.note(i, &END_NAME);
        }
        let args = self.place(i).args();
        let slices = &mut self.trace().slices;
        slices.dur.set(slice as usize, ts.saturating_sub(start).max(0));
        if !args.is_none() {
            slices.end_args.push((SliceId(slice), args));
        }
        Some(slice)
    }

    fn instant(&mut self, i: u32) {
        let EventRow { ts, thread, .. } = self.event(i);
        if self.has(i, flag::GLOBAL_SCOPE) {
            let mut lane = match self.global_instants.take() {
                Some(lane) => lane,
                None => {
                    let kind = TrackKind::GlobalInstants;
                    Lane::new(self.trace().tracks.push(kind, StringId::NONE, None, None))
                }
            };
            self.close(&mut lane.stack, ts, self.last.is_none());
            let slice = self.stack_slice(i, &mut lane, 0, SliceKind::Instant);
            self.global_instants = Some(lane);
            self.bind(i, slice);
        } else if self.has(i, flag::PROCESS_SCOPE) {
            if !self.has(i, flag::HAS_PID) {
                return self.drop_event(i, &INSTANT_WITHOUT_PID);
            }
            let process = self.process_of(i);
            let mut lane = match self.process_instants.remove(&process) {
                Some(lane) => lane,
                None => {
                    let kind = TrackKind::ProcessInstants;
                    Lane::new(self.trace().tracks.push(kind, StringId::NONE, Some(process), None))
                }
            };
            self.close(&mut lane.stack, ts, self.last.is_none());
            let slice = self.stack_slice(i, &mut lane, 0, SliceKind::Instant);
            self.process_instants.insert(process, lane);
            self.bind(i, slice);
        } else {
            if !self.has(i, flag::HAS_TID) {
                return self.drop_event(i, &INSTANT_WITHOUT_TID);
            }
            let mut lane = self.take_lane(thread);
            self.close(&mut lane.stack, ts, self.last.is_none());
            let slice = self.stack_slice(i, &mut lane, 0, SliceKind::Instant);
            self.threads[thread.0 as usize].main = Some(lane);
            self.started(i, thread, slice);
        }
    }

    fn thread_state(&mut self, i: u32) {
        let EventRow { ts, dur, thread, .. } = self.event(i);
        let overlap_of = &self.builder.trace.threads.overlap_of;
        // All states of a thread are on one track, also those that the file has as another thread.
        let owner = overlap_of.get(thread.0 as usize).copied().flatten().unwrap_or(thread);
        let track = match self.threads[owner.0 as usize].states {
            Some(track) => track,
            None => self.new_thread_track(owner, TrackKind::ThreadState),
        };
        self.threads[owner.0 as usize].states = Some(track);
        let name = self.event(i).name;
        let (kind, parent) = (SliceKind::State, SliceId::NONE);
        self.push_slice(i, NewSlice { ts, dur, name, kind, track, depth: 0, parent });
    }

    fn flow(&mut self, i: u32) {
        let mut flows = self.flows.take().unwrap_or_default();
        flows.event(self, i);
        self.flows = Some(flows);
    }

    /// Slice on the thread of event `i` that the event refers to: one that starts with it, else the innermost that was last
    /// open.
    pub fn enclosing(&self, i: u32) -> Option<u32> {
        let ts = self.event(i).ts;
        let tops = || self.tops(i);
        let holds = |top: &&Entry| top.start <= ts && (top.open || ts <= top.end);
        let innermost = || tops().filter(holds).max_by_key(|top| top.start);
        let found = tops().find(|top| top.start == ts).or_else(innermost).or_else(|| tops().next());
        found.map(|top| top.slice)
    }

    /// Like [`Walk::enclosing`], if the slice reaches the event.
    pub fn around(&self, i: u32) -> Option<u32> {
        let ts = self.event(i).ts;
        let holds = |top: &&Entry| top.start <= ts && (top.open || ts <= top.end);
        Some(self.tops(i).filter(holds).max_by_key(|top| top.start)?.slice)
    }

    /// Tops of the stacks of the thread of event `i`, its own first.
    fn tops(&self, i: u32) -> impl Iterator<Item = &Entry> {
        let lanes = self.threads.get(self.event(i).thread.0 as usize).into_iter();
        lanes
            .flat_map(|lanes| lanes.main.as_deref().into_iter().chain(&lanes.overflow))
            .filter_map(|lane| lane.stack.top())
    }

    fn object(&mut self, i: u32, what: ObjectEvent) {
        let process = self.process_of(i);
        let (event, place) = (self.event(i), self.place(i));
        let id = self.events.id_of(i).key;
        let trace = &mut self.builder.trace;
        let id = match id {
            EventKey::None => StringId::NONE,
            EventKey::Int(value) => trace.strings.intern(&value.to_string()),
            EventKey::Text(text) | EventKey::Digits(text) => text,
        };
        let objects = &mut trace.objects;
        objects.event.push(what);
        objects.ts.push(event.ts);
        objects.process.push(process);
        objects.name.push(event.name);
        objects.id.push(id);
        objects.args.push(place.args());
    }

    /// Closes open slices and sorts sparse columns.
    fn finish(mut self, asyncs: &Asyncs) -> MadeOf {
        let mut flows = self.flows.take().unwrap_or_default();
        flows.finish(&mut self);
        let threads = std::mem::take(&mut self.threads);
        self.made_of.overlapping = threads.iter().map(|thread| thread.has_late_end).collect();
        for thread in threads {
            for slice in thread.main.iter().flat_map(|lane| lane.stack.open_slices()) {
                self.unfinished(slice, &UNFINISHED_SLICE);
            }
        }
        for slice in asyncs.unfinished() {
            self.unfinished(*slice, &UNFINISHED_ASYNC);
        }
        let slices = &mut self.builder.trace.slices;
        slices.end_args.sort_by_key(|row| row.0);
        if self.has_pending_thread_time {
            slices.thread_time.retain(|row| row.2 != UNFINISHED);
        }
        MadeOf { event: self.slice_events.into_events(), ..self.made_of }
    }

    fn unfinished(&mut self, slice: u32, kind: &'static IssueKind) {
        if let Some(event) = self.event_of(slice) {
            self.note(event, kind);
        }
    }
}

//! From packets to rows of the builder.

use super::arguments::{Arguments, Found};
use super::clocks::{Clock, Clocks, Converted, MONOTONIC};
use super::event::{Event, Legacy, Text, Type, id_scope};
use super::gpu::{self, Role};
use super::heap::Heaps;
use super::issues::*;
use super::packet::{Packet, data_kind};
use super::sampled::{Sampled, Samples};
use super::scheduling::{Running, state_name};
use super::sequence::{MISSING, Sequence};
use super::tracks::{Own, ThreadFields, TrackIndex, Tracks};
use crate::base::hash::{HashMap, HashSet};
use crate::base::json::write::push_string;
use crate::base::json::{RawStr, unescape_to_string};
use crate::base::protobuf::{Fields, Value};
use crate::base::strings::StringId;
use crate::import::chrome_trace::links::{Linked, LinkedCategories, taken_of};
use crate::trace::args::ArgsPlace;
use crate::trace::builder::{METADATA_EVENT, for_each_member};
use crate::trace::event_table::Chained;
use crate::trace::events::{Event as Row, EventExtra, EventKey, NO_EXTRA, Phase, flag};
use crate::trace::links::PROFILER_MEMBERS;
use crate::trace::slices::UNFINISHED;
use crate::trace::tracks::ThreadId;
use crate::trace::{IssueKind, Position, TraceBuilder};

const NS_PER_US: i64 = 1000;
/// Maximum number of metadata entries.
const MAX_FACTS: usize = 2000;
/// Shortest string of digits that no `i64` has.
const MAX_PLAIN_ID: u64 = i64::MAX as u64;

/// Place of a packet.
#[derive(Clone, Copy)]
pub struct Place {
    pub offset: u64,
    /// Bytes of the content; 0 inside of compressed packets.
    pub len: u64,
}

impl Place {
    pub fn position(&self) -> Position {
        Position { byte: self.offset, line: None }
    }
}

/// A value of a counter.
#[derive(Clone, Copy)]
struct Counted {
    ts: i64,
    track: TrackIndex,
    value: f64,
}

/// A value on a track that nothing says is a counter, so far.
struct Undecided {
    /// Its row of [`Rows::counters`].
    row: u32,
    /// The value instead, if the counter is incremental.
    sum: f64,
    place: Place,
    /// It is all that its event has.
    is_event: bool,
}

/// What a row is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Event,
    /// One of several events of a packet.
    State,
    Counter,
    /// A value that an event has beside its own.
    ExtraCounter,
}

/// A time on a clock that nothing relates to that of the trace, so far.
struct Untimed {
    clock: Clock,
    row: u32,
    of: Of,
    place: Place,
}

/// Profilers whose layout was recognized.
#[derive(Clone, Copy, Default)]
struct Layouts {
    is_torch: bool,
    /// An export of a Kineto profile, which has its categories.
    is_kineto: bool,
    is_rocprof: bool,
}

#[derive(Default)]
pub struct Rows {
    clocks: Clocks,
    tracks: Tracks,
    /// State of each writer, by machine and sequence id.
    sequences: HashMap<(u32, u32), Box<Sequence>>,
    counters: Vec<Counted>,
    undecided: Vec<Undecided>,
    untimed: Vec<Untimed>,
    layouts: Layouts,
    /// Role of each track with events, once looked up.
    roles: HashMap<TrackIndex, Role>,
    /// Events whose category is decided at the end, in file order.
    late: Vec<Late>,
    linked: LinkedCategories,
    samples: Samples,
    heaps: Heaps,
    running: Running,
    /// Packets by kind of data, in order of first appearance.
    kinds: Vec<(&'static str, u64)>,
    /// Buffer for arguments.
    json: Vec<u8>,
}

/// Place of an event.
#[derive(Clone, Copy)]
enum On {
    Track(TrackIndex),
    /// The thread of its ids, in older writers.
    Thread(ThreadId),
}

/// An event whose category depends on what may follow: descriptors, or the first event by which a layout is known.
struct Late {
    row: u32,
    of: LateOf,
}

enum LateOf {
    /// It has no category, and is on that track.
    Track(TrackIndex),
    /// Its category may be one of rocprofv3.
    Category(StringId),
}

impl Rows {
    /// Takes a packet, and counts it.
    pub fn packet(&mut self, packet: &Packet<'_>, place: Place, out: &mut TraceBuilder) {
        if let Err(kind) = self.try_packet(packet, place, out) {
            out.trace.ledger.skip_record(kind, place.position(), place.len, b"");
        }
    }

    fn count(&mut self, kind: &'static str) {
        self.count_of(kind, 1);
    }

    fn count_of(&mut self, kind: &'static str, more: u64) {
        match self.kinds.iter_mut().find(|(own, _)| *own == kind) {
            Some((_, n)) => *n += more,
            None if more > 0 => self.kinds.push((kind, more)),
            None => {}
        }
    }

    fn try_packet(
        &mut self,
        packet: &Packet<'_>,
        place: Place,
        out: &mut TraceBuilder,
    ) -> Result<(), &'static IssueKind> {
        let n_sequences = self.sequences.len() as u32;
        let key = (packet.machine, packet.sequence);
        // Taken out while the packet is read, so that it can be changed next to the rest.
        let mut sequence = match self.sequences.remove(&key) {
            Some(sequence) => sequence,
            None => Box::new(Sequence::new(n_sequences + 1)),
        };
        let result = self.with_sequence(packet, &mut sequence, place, out);
        self.sequences.insert(key, sequence);
        result
    }

    fn with_sequence(
        &mut self,
        packet: &Packet<'_>,
        sequence: &mut Sequence,
        place: Place,
        out: &mut TraceBuilder,
    ) -> Result<(), &'static IssueKind> {
        if packet.is_cleared {
            sequence.clear();
            self.clocks.clear(sequence.number);
        } else if packet.is_after_loss {
            sequence.is_valid = false;
            out.trace.ledger.file(&PACKETS_LOST, place.position(), b"");
        }
        if let Some(defaults) = &packet.defaults {
            sequence.set_defaults(defaults);
        }
        if let Some(interned) = &packet.interned {
            sequence.intern(interned, &mut out.trace.strings);
        }
        if let Some(snapshot) = &packet.snapshot {
            self.count("clock snapshots");
            self.clocks.snapshot(snapshot, sequence.number);
        }
        if packet.needs_state && !sequence.is_valid {
            return Err(&LOST_STATE);
        }
        // Also advances incremental clocks, whatever the packet has.
        let clock = packet
            .clock
            .filter(|clock| *clock != 0)
            .or(sequence.defaults.clock.filter(|_| packet.clock.is_none()));
        let clock = clock.map(|clock| Clock::new(clock, sequence.number));
        let time = packet.timestamp.map(|time| self.clocks.convert(time, clock));
        if let Some(track) = &packet.track {
            self.count("track descriptors");
            let ids = self.tracks.describe(track, packet.machine, place.offset, out);
            sequence.ids = ids.or(sequence.ids);
            self.roles.clear();
        }
        if let Some(process) = &packet.process {
            self.count("process descriptors");
            self.tracks.describe_process(process, packet.machine, out);
        }
        if let Some(thread) = &packet.thread {
            self.count("thread descriptors");
            let fields = ThreadFields::new(thread, out);
            self.tracks.describe_thread(&fields, packet.machine);
            sequence.ids = Some((fields.pid, fields.tid));
            sequence.has_thread_packet = true;
            sequence.reference_us = fields.reference_us.or(sequence.reference_us);
        }
        if let Some(event) = &packet.event {
            let event = Event::parse(event).ok_or(&BAD_PACKET)?;
            let track = event.track.or(sequence.defaults.track).unwrap_or(0);
            if let Some(own) = self.tracks.own(packet.machine, track) {
                self.own(own, &event, place, out);
                return Ok(());
            }
            self.count("track events");
            return self.event(&event, time, packet, sequence, place, out);
        }
        let machine = packet.machine;
        if let Some(message) = &packet.samples {
            self.count("streamed CPU samples");
            let sampled = Sampled { message, machine, place };
            self.samples.streamed(sampled, sequence, &mut self.clocks, &mut self.tracks, out)?;
        } else if let Some(message) = &packet.perf {
            self.count("CPU samples");
            let sampled = Sampled { message, machine, place };
            self.samples.perf(sampled, time, sequence, &mut self.tracks, out)?;
        } else if let Some(message) = &packet.heap {
            self.count("heap profiles");
            self.heaps.add(message, machine, sequence, place, out);
        } else if let Some(message) = &packet.kernel {
            self.count("ftrace bundles");
            self.kernel(message, machine, place, out)?;
        } else if let Some(message) = &packet.process_tree {
            self.count("process trees");
            self.tracks.describe_tree(message, machine, out);
        }
        let is_described = packet.track.is_some() || packet.process.is_some() || packet.thread.is_some();
        if let Some(other) = packet.other.filter(|_| !is_described && packet.snapshot.is_none()) {
            let (kind, why) = data_kind(other);
            self.count(kind);
            if let Some(why) = why {
                return Err(why);
            }
        }
        out.trace.ledger.keep(place.len);
        Ok(())
    }

    /// Takes the task switches of a bundle of kernel events: a thread has a state from each of its switches to the next one.
    fn kernel(
        &mut self,
        message: &[u8],
        machine: u32,
        place: Place,
        out: &mut TraceBuilder,
    ) -> Result<(), &'static IssueKind> {
        let bundle = self.running.read(message, machine);
        self.count_of("task switches", bundle.switches.len() as u64);
        self.count_of("other kernel events", bundle.n_others);
        if bundle.is_after_loss {
            out.trace.ledger.file(&FTRACE_LOST, place.position(), b"");
        }
        if bundle.switches.is_empty() {
            return if bundle.n_others > 0 { Err(&FTRACE) } else { Ok(()) };
        }
        if bundle.n_others > 0 {
            out.trace.ledger.file(&OTHER_FTRACE, place.position(), b"");
        }
        let running = out.trace.strings.intern("Running");
        let category = out.trace.strings.intern("sched");
        let clock = Clock::new(bundle.clock, 0);
        for (at, switch) in bundle.switches.iter().enumerate() {
            let (ts, late) = match self.clocks.convert_ns(switch.ts, clock).known() {
                Ok(time) => time,
                Err(kind) => {
                    out.trace.ledger.file(kind, place.position(), b"");
                    continue;
                }
            };
            let from = switch.from.map(|(tid, state)| {
                let name = out.trace.strings.intern(state_name(state));
                (tid, switch.from_name, name)
            });
            // 0 is the idle task of the CPU.
            for (tid, name, state) in from.into_iter().chain([(switch.to, switch.to_name, running)]) {
                if tid <= 0 {
                    continue;
                }
                let thread = self.tracks.thread_of_kernel(machine, tid, name, out);
                let row = Row {
                    ts,
                    dur: UNFINISHED,
                    // A place of its own in the packet.
                    offset: place.offset + at.min(message.len().saturating_sub(1)) as u64,
                    len: 0,
                    args_at: 0,
                    args_len: 0,
                    thread,
                    name: state,
                    category,
                    extra: NO_EXTRA,
                    phase: Phase::ThreadState,
                    unused: 0,
                    flags: flag::HAS_PID | flag::HAS_TID,
                };
                let row = out.events.push(row, None);
                if let Some(clock) = late {
                    let place = Place { len: 0, ..place };
                    self.untimed.push(Untimed { clock, row, of: Of::State, place });
                }
            }
        }
        Ok(())
    }

    /// Counts an event that an export of Tracedrop added to the trace. The reports find steps again; notes are named.
    fn own(&mut self, own: Own, event: &Event<'_>, place: Place, out: &mut TraceBuilder) {
        self.count("events of tracks added by Tracedrop");
        out.trace.ledger.keep(place.len);
        if let (Own::Notes, Some(Text::Given(text))) = (own, event.name) {
            out.trace.ledger.file(&OWN_NOTE, place.position(), text);
        }
    }

    fn event(
        &mut self,
        event: &Event<'_>,
        time: Option<Converted>,
        packet: &Packet<'_>,
        sequence: &mut Sequence,
        place: Place,
        out: &mut TraceBuilder,
    ) -> Result<(), &'static IssueKind> {
        if packet.sequence == 0 {
            return Err(&NO_SEQUENCE);
        }
        let (ts, late_clock) = self.time(event, time, sequence)?;
        let name = self.text(event.name, |sequence| &sequence.names, sequence, place, out);
        let phase = match event.kind {
            Type::Legacy => event.legacy.as_ref().map_or(0, |legacy| legacy.phase),
            _ => 0,
        };
        let machine = packet.machine;
        let track = event.track.or(sequence.defaults.track);
        self.extra_counters(event, (ts, late_clock), machine, sequence, place, out);
        if event.kind == Type::Counter {
            let value = event.value.ok_or(&COUNTER_WITHOUT_VALUE)?.as_f64();
            let track = self.tracks.track(machine, track.unwrap_or(0), place.offset);
            self.counter(track, value, (ts, late_clock), sequence, place, true)?;
            out.trace.ledger.keep(place.len);
            return Ok(());
        }
        if event.kind == Type::Instant && out.trace.strings.get_opt(name) == Some(METADATA_EVENT) {
            let args = self.arguments(event, Phase::Metadata, sequence, place, out);
            self.metadata(args, out);
            out.trace.ledger.keep(place.len);
            return Ok(());
        }
        let on = self.place(event, machine, sequence, place, out);
        let has_states = || matches!(on, On::Track(track) if self.tracks.has_states(track));
        if event.kind == Type::State && !has_states() {
            return Err(&STATE_ELSEWHERE);
        }
        let (phase, dur) = match (event.kind, phase) {
            (Type::Begin, _) | (_, b'B') => (Phase::Begin, 0),
            (Type::End, _) | (_, b'E') => (Phase::End, 0),
            (Type::Instant, _) | (_, b'i' | b'I' | b'R') => (Phase::Instant, 0),
            (Type::State, _) => (Phase::ThreadState, UNFINISHED),
            (_, b'X') => {
                let us = event.legacy.as_ref().and_then(|legacy| legacy.duration_us).unwrap_or(0);
                (Phase::Complete, us.saturating_mul(NS_PER_US).max(0))
            }
            // Perfetto nests the older form like the newer one.
            (_, b'b' | b'S') => (Phase::AsyncBegin, 0),
            (_, b'n' | b'T' | b'p') => (Phase::AsyncInstant, 0),
            (_, b'e' | b'F') => (Phase::AsyncEnd, 0),
            (_, b's') => (Phase::FlowStart, 0),
            (_, b't') => (Phase::FlowStep, 0),
            (_, b'f') => (Phase::FlowEnd, 0),
            (_, b'C') => (Phase::Counter, 0),
            (_, b'M') => (Phase::Metadata, 0),
            (_, b'P') => (Phase::Sample, 0),
            _ => return Err(&UNKNOWN_EVENT),
        };
        let args = self.arguments(event, phase, sequence, place, out);
        let (category, late) = self.category(event, on, name, sequence, place, out);
        let linked = self.linked.get(category, &out.trace.strings);
        let agent = (phase == Phase::Begin).then(|| self.agent(category, name, out)).flatten();
        let thread = match on {
            On::Track(track) => {
                let is_end = phase == Phase::End;
                self.tracks.thread_of_event(track, agent, is_end, name, out)
            }
            On::Thread(thread) => thread,
        };
        let mut flags = flag::HAS_PID | flag::HAS_TID;
        let legacy = event.legacy.as_ref().filter(|_| event.kind == Type::Legacy);
        let mut extra = None;
        if let Some(legacy) = legacy {
            extra = self.legacy(legacy, event, phase, &mut flags, out);
            if track.unwrap_or(0) == 0 && phase == Phase::Instant {
                match legacy.instant_scope {
                    1 => flags |= flag::GLOBAL_SCOPE,
                    2 => flags |= flag::PROCESS_SCOPE,
                    _ => {}
                }
            }
        }
        if let Some(stack) = self.stack(event, sequence, place, out) {
            extra.get_or_insert_default().stack = stack;
        }
        if matches!(phase, Phase::Begin | Phase::Complete)
            && linked != Linked::No
            && !args.is_none()
            && !out.is_spilling()
        {
            link(linked, self.layouts, &self.json, place.offset, out);
        }
        out.trace.ledger.keep(place.len);
        let row = Row {
            ts,
            dur,
            offset: place.offset,
            len: u32::try_from(place.len).unwrap_or(u32::MAX),
            args_at: u32::from(!args.is_none()),
            args_len: args.len,
            thread,
            name: name.some().unwrap_or(StringId::EMPTY),
            category,
            extra: NO_EXTRA,
            phase,
            unused: 0,
            flags,
        };
        let row = out.events.push(row, extra);
        if let Some(clock) = late_clock {
            self.untimed.push(Untimed { clock, row, of: Of::Event, place });
        }
        if out.is_spilling() {
            // Categories of what is packed away stay as they are.
            self.late = Vec::new();
        } else {
            self.late.extend(late.map(|of| Late { row, of }));
        }
        if matches!(phase, Phase::Begin | Phase::End)
            && out.events.writers.last().is_none_or(|(_, writer)| *writer != sequence.number)
        {
            out.events.writers.push((row, sequence.number));
        }
        let is_drawn =
            matches!(phase, Phase::Begin | Phase::End | Phase::Complete | Phase::Instant | Phase::AsyncBegin);
        if is_drawn {
            let chained =
                event.flows.iter().map(|(id, is_last)| Chained { event: row, id: *id, is_last: *is_last });
            out.events.chained.extend(chained);
        }
        Ok(())
    }

    /// Time of an event on the clock of the trace; or on another one, if nothing relates them so far.
    fn time(
        &mut self,
        event: &Event<'_>,
        time: Option<Converted>,
        sequence: &mut Sequence,
    ) -> Result<(i64, Option<Clock>), &'static IssueKind> {
        let us = match (event.delta_us, event.absolute_us) {
            (Some(delta), _) => {
                let reference = sequence.reference_us.as_mut().ok_or(&NO_REFERENCE)?;
                *reference = reference.saturating_add(delta);
                Some(*reference)
            }
            (None, absolute) => absolute,
        };
        let time = match us {
            Some(us) => {
                let ns = us.checked_mul(NS_PER_US).filter(|ns| *ns >= 0).ok_or(&BAD_TIMESTAMP)?;
                self.clocks.convert_ns(ns, Clock::new(MONOTONIC, 0))
            }
            None => time.ok_or(&NO_TIMESTAMP)?,
        };
        time.known()
    }

    /// Id of a text; [`StringId::NONE`] if there is none.
    fn text(
        &mut self,
        text: Option<Text<'_>>,
        table: impl Fn(&Sequence) -> &super::sequence::Interned<StringId>,
        sequence: &Sequence,
        place: Place,
        out: &mut TraceBuilder,
    ) -> StringId {
        match text {
            None => StringId::NONE,
            Some(Text::Given(bytes)) => out.trace.strings.intern_bytes(bytes),
            // 0 stands for none.
            Some(Text::Interned(0)) => StringId::NONE,
            Some(Text::Interned(iid)) => match table(sequence).get(iid) {
                Some(id) => *id,
                None => {
                    out.trace.ledger.file(&MISSING_INTERNED, place.position(), iid.to_string().as_bytes());
                    out.trace.strings.intern(MISSING)
                }
            },
        }
    }

    /// Where an event is.
    fn place(
        &mut self,
        event: &Event<'_>,
        machine: u32,
        sequence: &Sequence,
        place: Place,
        out: &mut TraceBuilder,
    ) -> On {
        let track = event.track.or(sequence.defaults.track);
        if track.unwrap_or(0) == 0 {
            let legacy = event.legacy.as_ref();
            // The track of uuid 0 is meant where it is named.
            let is_of_ids = sequence.has_thread_packet
                || track.is_none()
                || legacy.is_some_and(|legacy| {
                    event.kind == Type::Legacy || legacy.pid.is_some() || legacy.tid.is_some()
                });
            let pid = legacy.and_then(|legacy| legacy.pid).or(sequence.ids.map(|ids| ids.0));
            let tid = legacy.and_then(|legacy| legacy.tid).or(sequence.ids.map(|ids| ids.1)).or(pid);
            if let Some((pid, tid)) = pid.zip(tid).filter(|_| is_of_ids) {
                return On::Thread(self.tracks.thread_of_ids(machine, pid, tid, out));
            }
        }
        On::Track(self.tracks.track(machine, track.unwrap_or(0), place.offset))
    }

    /// Takes values of counters that an event has beside its own.
    fn extra_counters(
        &mut self,
        event: &Event<'_>,
        time: (i64, Option<Clock>),
        machine: u32,
        sequence: &mut Sequence,
        place: Place,
        out: &mut TraceBuilder,
    ) {
        if event.values.is_empty() && event.double_values.is_empty() {
            return;
        }
        let of = |given: &[u64], defaults: &[u64]| {
            if given.is_empty() { defaults.to_vec() } else { given.to_vec() }
        };
        let whole = of(&event.counters, &sequence.defaults.counters);
        let double = of(&event.double_counters, &sequence.defaults.double_counters);
        let whole = whole.into_iter().zip(event.values.iter().map(|value| *value as f64));
        let double = double.into_iter().zip(event.double_values.iter().copied());
        for (uuid, value) in whole.chain(double) {
            let track = self.tracks.track(machine, uuid, place.offset);
            if let Err(kind) = self.counter(track, value, time, sequence, place, false) {
                out.trace.ledger.file(kind, place.position(), uuid.to_string().as_bytes());
            }
        }
    }

    /// Takes a value of a counter.
    fn counter(
        &mut self,
        track: TrackIndex,
        value: f64,
        (ts, late): (i64, Option<Clock>),
        sequence: &mut Sequence,
        place: Place,
        is_event: bool,
    ) -> Result<(), &'static IssueKind> {
        if !value.is_finite() {
            return Err(&BAD_COUNTER_VALUE);
        }
        let counter = self.tracks.counter(track);
        let row = self.counters.len() as u32;
        let mut value = value;
        if counter.is_none_or(|counter| counter.is_incremental) {
            let sum = sequence.sums.entry(track).or_default();
            *sum += value;
            match counter {
                Some(_) => value = *sum,
                // Summed all the same: a descriptor may follow, and later values count from there.
                None => self.undecided.push(Undecided { row, sum: *sum, place, is_event }),
            }
        }
        if let Some(clock) = late {
            let of = if is_event { Of::Counter } else { Of::ExtraCounter };
            self.untimed.push(Untimed { clock, row, of, place });
        }
        let multiplier = counter.map_or(1.0, |counter| counter.multiplier);
        self.counters.push(Counted { ts, track, value: value * multiplier });
        Ok(())
    }

    /// Keeps the arguments of an event; returns their place.
    fn arguments(
        &mut self,
        event: &Event<'_>,
        phase: Phase,
        sequence: &Sequence,
        place: Place,
        out: &mut TraceBuilder,
    ) -> ArgsPlace {
        let at = place.position();
        if event.has_unknown {
            out.trace.ledger.file(&UNKNOWN_FIELDS, at, b"");
        }
        self.json.clear();
        if event.annotations.is_empty() && phase != Phase::Counter {
            return ArgsPlace::NONE;
        }
        let mut arguments = Arguments { sequence, strings: &out.trace.strings, found: Found::default() };
        arguments.push_object(event.annotations.iter().copied(), &mut self.json);
        let Found { n_missing, is_too_deep, has_unknown } = arguments.found;
        for _ in 0..n_missing {
            out.trace.ledger.file(&MISSING_INTERNED, at, b"");
        }
        if is_too_deep {
            out.trace.ledger.file(&TOO_DEEP, at, b"");
        }
        if has_unknown && !event.has_unknown {
            out.trace.ledger.file(&UNKNOWN_FIELDS, at, b"");
        }
        if out.is_spilling() && !phase.needs_args() {
            return ArgsPlace::NONE;
        }
        out.trace.args.keep(place.offset + 1, &self.json);
        ArgsPlace { offset: place.offset + 1, len: self.json.len() as u32 }
    }

    /// Category of an event, and what it depends on if it is decided at the end.
    fn category(
        &mut self,
        event: &Event<'_>,
        on: On,
        name: StringId,
        sequence: &Sequence,
        place: Place,
        out: &mut TraceBuilder,
    ) -> (StringId, Option<LateOf>) {
        let mut category = StringId::NONE;
        for text in &event.categories {
            let next = self.text(Some(*text), |sequence| &sequence.categories, sequence, place, out);
            let strings = &mut out.trace.strings;
            category = match (category.some(), next.some()) {
                (Some(before), Some(next)) => {
                    let both = format!("{},{}", strings.get(before), strings.get(next));
                    strings.intern(&both)
                }
                (before, next) => next.or(before).unwrap_or(StringId::NONE),
            };
        }
        if let Some(given) = category.some() {
            let known = gpu::category_of_rocprof(out.trace.strings.get(given));
            return match known {
                Some(known) if self.layouts.is_rocprof || self.is_rocprof(event, out, given) => {
                    (out.trace.strings.intern(known), None)
                }
                // Markers come before kernels, by whose arguments the layout is known. Ends are found by their category.
                Some(_) if matches!(event.kind, Type::Begin | Type::End) => {
                    (given, Some(LateOf::Category(given)))
                }
                _ => (given, None),
            };
        }
        let On::Track(track) = on else { return (StringId::NONE, None) };
        if !matches!(event.kind, Type::Begin | Type::Legacy) {
            return (StringId::NONE, None);
        }
        let role = *self.roles.entry(track).or_insert_with(|| self.tracks.role(track, &out.trace));
        self.layouts.is_torch |= matches!(role, Role::Stream | Role::Calls);
        let is_torch = self.layouts.is_torch || (role == Role::Thread && self.has_gpu(out));
        // Descriptors that make the track another one, or the trace one of PyTorch, may follow.
        let is_late = role == Role::Thread && !(is_torch && self.tracks.is_named(track));
        let category = if is_torch { category_of_torch(role, name, &self.json, out) } else { StringId::NONE };
        (category, is_late.then_some(LateOf::Track(track)))
    }

    /// Decides categories that depend on the whole file.
    fn decide_categories(&mut self, out: &mut TraceBuilder) {
        let late = std::mem::take(&mut self.late);
        // Packed away, where there are too many.
        if out.is_spilling() || late.is_empty() {
            return;
        }
        self.roles.clear();
        for Late { of, .. } in &late {
            if let LateOf::Track(track) = of {
                let role = self.roles.entry(*track).or_insert_with(|| self.tracks.role(*track, &out.trace));
                self.layouts.is_torch |= matches!(role, Role::Stream | Role::Calls);
            }
        }
        let is_torch = self.has_gpu(out);
        if !is_torch && !self.layouts.is_rocprof {
            return;
        }
        // What is found of their arguments goes between that of the others.
        let links = std::mem::take(&mut out.trace.links);
        let signatures = std::mem::take(&mut out.trace.signatures);
        for Late { row, of } in late {
            let at = out.events.places.get(row);
            let json = |out: &TraceBuilder| {
                out.trace.args.kept(at.args()).map(|json| json.into_owned()).unwrap_or_default()
            };
            let category = match of {
                LateOf::Track(track) if is_torch => {
                    let role = self.roles.get(&track).copied().unwrap_or_default();
                    category_of_torch(role, out.events.rows.name[row as usize], &json(out), out)
                }
                LateOf::Category(given) if self.layouts.is_rocprof => {
                    let known = gpu::category_of_rocprof(out.trace.strings.get(given));
                    known.map_or(given, |known| out.trace.strings.intern(known))
                }
                _ => continue,
            };
            if category == at.category {
                continue;
            }
            out.events.places.set_category(row, category);
            let linked = self.linked.get(category, &out.trace.strings);
            if linked != Linked::No && out.events.rows.phase(row) != Phase::End {
                let json = json(out);
                if !json.is_empty() {
                    link(linked, self.layouts, &json, at.offset, out);
                }
            }
        }
        out.trace.links.insert(links);
        out.trace.signatures.insert(signatures);
    }

    /// The GPU of a kernel or copy of rocprofv3, by its arguments: tracks of streams don't say which it is.
    fn agent(&self, category: StringId, name: StringId, out: &TraceBuilder) -> Option<i64> {
        let strings = &out.trace.strings;
        let of = match strings.get_opt(category).filter(|_| self.layouts.is_rocprof)? {
            "kernel" => "agent",
            "gpu_memcpy" => gpu::agent_of_copy(strings.get_opt(name)?)?,
            _ => return None,
        };
        let mut agent = None;
        for_each_member(&self.json, |key, value| {
            if key.bytes == of.as_bytes() {
                agent = gpu::agent(value);
            }
        });
        agent
    }

    /// Whether an event of that category is one of rocprofv3, by its arguments.
    fn is_rocprof(&mut self, event: &Event<'_>, out: &TraceBuilder, category: StringId) -> bool {
        let is_its = matches!(out.trace.strings.get(category), "kernel_dispatch" | "hip_api" | "memory_copy")
            || out.trace.strings.get(category).starts_with("hip_")
            || out.trace.strings.get(category).starts_with("hsa_");
        self.layouts.is_rocprof = is_its
            && event.kind == Type::Begin
            && [&b"\"corr_id\""[..], b"\"begin_ns\"", b"\"correlation_id\""]
                .iter()
                .any(|key| memchr::memmem::find(&self.json, key).is_some());
        self.layouts.is_rocprof
    }

    /// Whether tracks of GPUs in PyTorch's layout were described.
    fn has_gpu(&mut self, out: &TraceBuilder) -> bool {
        self.layouts.is_torch = self.layouts.is_torch || self.tracks.has_gpu(&out.trace);
        self.layouts.is_torch
    }

    /// Takes the metadata of an export of Tracedrop.
    fn metadata(&mut self, args: ArgsPlace, out: &mut TraceBuilder) {
        if args.is_none() {
            return;
        }
        let facts = &mut out.trace.source.metadata;
        for_each_member(&self.json, |key, value| {
            let value = value.get(1..value.len().saturating_sub(1)).unwrap_or_default();
            let value = unescape_to_string(RawStr { bytes: value, escaped: value.contains(&b'\\') });
            let key = unescape_to_string(key);
            // What an export states about itself comes last.
            if facts.len() < MAX_FACTS || key == crate::trace::builder::OWN_FACT {
                facts.push((key, value));
            }
        });
        let has = |name: &str| facts.iter().any(|(key, _)| key == name);
        self.layouts.is_kineto |=
            has("schemaVersion") && PROFILER_MEMBERS.iter().filter(|name| has(name)).count() > 1;
    }

    /// Members that only events in the form of Chrome traces have.
    fn legacy(
        &mut self,
        legacy: &Legacy,
        event: &Event<'_>,
        phase: Phase,
        flags: &mut u16,
        out: &mut TraceBuilder,
    ) -> Option<EventExtra> {
        let strings = &mut out.trace.strings;
        let mut key = |id: u64| match id {
            0..=MAX_PLAIN_ID => EventKey::Int(id as i64),
            _ => EventKey::Digits(strings.intern(&id.to_string())),
        };
        let mut extra = EventExtra::default();
        let uses_id = !matches!(
            phase,
            Phase::Begin
                | Phase::End
                | Phase::Complete
                | Phase::Instant
                | Phase::Metadata
                | Phase::ThreadState
        );
        let id = legacy.id.or(legacy.global_id).or(legacy.local_id);
        let mut is_used = false;
        if let Some(id) = id.filter(|_| uses_id) {
            extra.id = key(id);
            extra.id_is_local = legacy.id.is_none() && legacy.global_id.is_none();
            is_used = true;
        }
        if let Some(bind_id) = legacy.bind_id {
            extra.bind_id = key(bind_id);
            is_used = true;
            *flags |= if legacy.flow_direction & 1 != 0 { flag::FLOW_IN } else { 0 };
            *flags |= if legacy.flow_direction & 2 != 0 { flag::FLOW_OUT } else { 0 };
        }
        if is_used && let Some(scope) = id_scope(event.bytes) {
            extra.scope = strings.intern_bytes(scope);
        }
        *flags |= if legacy.binds_to_enclosing { flag::BIND_ENCLOSING } else { 0 };
        is_used.then_some(extra)
    }

    /// Keeps the call stack of an event as a list, leaf first; returns its place.
    fn stack(
        &mut self,
        event: &Event<'_>,
        sequence: &Sequence,
        place: Place,
        out: &mut TraceBuilder,
    ) -> Option<ArgsPlace> {
        if out.is_spilling() {
            return None;
        }
        let mut names: Vec<String> = Vec::new();
        if let Some(stack) = event.stack {
            let frames = Fields::new(stack).filter(|(number, _)| *number == 1);
            for frame in frames.filter_map(|(_, value)| value.bytes()) {
                let name = Fields::new(frame).find_map(|(number, value)| match (number, value) {
                    (1, Value::Bytes(name)) => Some(String::from_utf8_lossy(name).into_owned()),
                    _ => None,
                });
                names.push(name.unwrap_or_else(|| MISSING.to_string()));
            }
        } else {
            match sequence.stack(event.stack_iid?, &out.trace.strings) {
                Some(stack) => names.extend(stack.map(str::to_string)),
                None => out.trace.ledger.file(&MISSING_INTERNED, place.position(), b""),
            }
        }
        let mut json = Vec::new();
        for name in names.iter().rev() {
            json.push(if json.is_empty() { b'[' } else { b',' });
            push_string(name, &mut json);
        }
        if json.is_empty() {
            return None;
        }
        json.push(b']');
        out.trace.args.keep(place.offset + 2, &json);
        Some(ArgsPlace { offset: place.offset + 2, len: json.len() as u32 })
    }

    /// Adds what is known of the file so far, for a partial report.
    pub fn snapshot(&self, out: &mut TraceBuilder) {
        let mut tracks = self.tracks.clone();
        tracks.resolve(false, out);
        let is_undecided = |row: usize| {
            self.undecided.binary_search_by_key(&row, |undecided| undecided.row as usize).is_ok()
        };
        let decided = self.counters.iter().enumerate().filter(|(row, _)| !is_undecided(*row));
        put_counters(&mut tracks, decided.map(|(_, counted)| counted), out);
        self.heaps.put(out);
        self.put_facts(out);
    }

    fn put_facts(&self, out: &mut TraceBuilder) {
        let source = &mut out.trace.source;
        source.record_kinds = self.kinds.iter().map(|(kind, n)| ((*kind).to_string(), *n)).collect();
        source.producer = match self.layouts {
            Layouts { is_rocprof: true, .. } => Some("rocprofv3".to_string()),
            Layouts { is_torch: true, .. } | Layouts { is_kineto: true, .. } => {
                Some("PyTorch profiler".to_string())
            }
            _ => None,
        };
    }

    /// Decides what needed the whole file.
    pub fn finish(&mut self, out: &mut TraceBuilder) {
        self.decide_categories(out);
        let mut dropped = self.decide_counters(out);
        self.convert_late(&mut dropped, out);
        let mut row = 0;
        self.counters.retain(|_| {
            row += 1;
            !dropped.contains(&(row - 1))
        });
        let mut tracks = std::mem::take(&mut self.tracks);
        tracks.resolve(true, out);
        let aliases: HashMap<ThreadId, ThreadId> = tracks.take_aliases().into_iter().collect();
        if !aliases.is_empty() {
            out.events.rows.move_threads(&aliases);
        }
        self.samples.finish(&mut self.clocks, &aliases, out);
        self.heaps.put(out);
        let counters = std::mem::take(&mut self.counters);
        put_counters(&mut tracks, &counters, out);
        // What is packed away has been counted by process.
        if !out.is_spilling() {
            tracks.drop_empty_process(&aliases, out);
        }
        out.trace.counters.sort();
        self.put_facts(out);
    }

    /// Takes values of tracks that were described later, and skips the others. Returns the rows of those.
    fn decide_counters(&mut self, out: &mut TraceBuilder) -> HashSet<u32> {
        let mut dropped = HashSet::default();
        for Undecided { row, sum, place, is_event } in std::mem::take(&mut self.undecided) {
            let Some(counted) = self.counters.get_mut(row as usize) else { continue };
            let Some(counter) = self.tracks.counter(counted.track) else {
                dropped.insert(row);
                out.trace.ledger.file(&COUNTER_ELSEWHERE, place.position(), b"");
                if is_event {
                    out.trace.ledger.kept_to_skipped(place.len);
                }
                continue;
            };
            let value = if counter.is_incremental { sum } else { counted.value };
            counted.value = value * counter.multiplier;
        }
        dropped
    }

    /// Converts times of clocks that were unknown when they came, and skips what still is. `dropped` are rows of counter values that
    /// are skipped.
    fn convert_late(&mut self, dropped: &mut HashSet<u32>, out: &mut TraceBuilder) {
        for Untimed { clock, row, of, place } in std::mem::take(&mut self.untimed) {
            let time = match of {
                Of::Counter | Of::ExtraCounter if dropped.contains(&row) => continue,
                Of::Counter | Of::ExtraCounter => {
                    self.counters.get_mut(row as usize).map(|counted| &mut counted.ts)
                }
                // Packed away, where there are too many.
                _ if out.is_spilling() => continue,
                _ => out.events.rows.ts.get_mut(row as usize),
            };
            let Some(time) = time else { continue };
            match self.clocks.convert_late(*time, clock) {
                Converted::Time(converted) => *time = converted,
                _ => {
                    out.trace.ledger.file(&UNKNOWN_CLOCK, place.position(), b"");
                    if matches!(of, Of::Event | Of::Counter) {
                        out.trace.ledger.kept_to_skipped(place.len);
                    }
                    match of {
                        Of::Counter | Of::ExtraCounter => {
                            dropped.insert(row);
                        }
                        _ => out.events.leave_out(row),
                    }
                }
            }
        }
    }
}

/// Category of an event of PyTorch that has none, with its arguments.
fn category_of_torch(role: Role, name: StringId, json: &[u8], out: &mut TraceBuilder) -> StringId {
    let is_operator = || {
        [&b"\"Sequence number\""[..], b"\"Input Dims\"", b"\"Ev Idx\""]
            .iter()
            .any(|key| memchr::memmem::find(json, key).is_some())
    };
    let known = match gpu::category(role, out.trace.strings.get_opt(name).unwrap_or_default()) {
        Some("user_annotation") if is_operator() => Some("cpu_op"),
        known => known,
    };
    known.map_or(StringId::NONE, |known| out.trace.strings.intern(known))
}

/// Extracts what GPU reports need of the arguments of an event.
fn link(linked: Linked, layouts: Layouts, json: &[u8], offset: u64, out: &mut TraceBuilder) {
    let taken = match layouts.is_rocprof {
        true => taken_of(linked, &gpu::arguments_of_rocprof(json)),
        false => taken_of(linked, json),
    };
    if let Some(link) = taken.link {
        out.trace.links.push(offset, link);
    }
    if let Some(signature) = taken.signature {
        out.trace.signatures.push(offset, signature);
    }
}

fn put_counters<'a>(
    tracks: &mut Tracks,
    counters: impl IntoIterator<Item = &'a Counted>,
    out: &mut TraceBuilder,
) {
    let mut series: HashMap<TrackIndex, u32> = HashMap::default();
    let mut taken = HashSet::default();
    for Counted { ts, track, value } in counters {
        let series = *series.entry(*track).or_insert_with(|| {
            let (process, name, id, key) = tracks.series(*track, &mut taken, out);
            let table = &mut out.trace.counter_series;
            table.process.push(process);
            table.name.push(name);
            table.id.push(id);
            table.key.push(key);
            table.name.len() as u32 - 1
        });
        out.trace.counters.ts.push(*ts);
        out.trace.counters.series.push(series);
        out.trace.counters.value.push(*value);
    }
}

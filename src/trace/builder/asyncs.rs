//! Async slices, which move between threads: begin and end joined by an id.
//!
//! Within an id an end belongs to the last open begin of its name, and a slice may end before others that began in it:
//!
//! ```text
//! [root                          ]
//!    [fetch_a      ]                  several futures of one task
//!       [fetch_b                ]     on a lane of its own, its parent is root
//! ```
//! From its first begin until nothing of it is open, an id has its lanes to itself; ids of one name that do not overlap in
//! time share lanes.

use super::Ways;
use super::issues::*;
use super::members::{as_string, find_member};
use super::nesting::{Holders, OpenBegins};
use super::pairing::{NewSlice, Walk};
use crate::base::hash::HashMap;
use crate::base::json::unescape_to_string;
use crate::base::strings::StringId;
use crate::trace::args::ArgsPlace;
use crate::trace::event_table::EventRow;
use crate::trace::events::{EventId, EventKey, Phase, flag};
use crate::trace::slices::{SliceId, SliceKind, UNFINISHED};
use crate::trace::tracks::{ProcessId, TrackId, TrackKind};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Identity of async events.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Identity {
    category: StringId,
    scope: StringId,
    id: EventKey,
    /// Process of process-local ids.
    process: Option<ProcessId>,
    /// Name, which is part of the identity only in the legacy form.
    name: Option<StringId>,
}

impl Identity {
    fn new(walk: &Walk<'_>, i: u32, id: EventId, name: Option<StringId>) -> Identity {
        Identity {
            category: walk.place(i).category,
            scope: id.scope,
            id: id.key,
            process: id.is_local.then(|| walk.process_of(i)),
            name,
        }
    }
}

/// Lanes of one name in one process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Group {
    kind: TrackKind,
    process: ProcessId,
    name: StringId,
}

/// Unused lanes, oldest first.
type Idle = BinaryHeap<Reverse<TrackId>>;

/// Maximum number of lanes of an id in which slices may nest; see `pairing::NESTING_LANES`.
const NESTING_LANES: usize = 32;

/// Open slices of an id.
struct Open {
    group: Group,
    lanes: Vec<Lane>,
    /// Lanes without nesting, by the time they are free.
    flat: BinaryHeap<Reverse<(i64, TrackId)>>,
    /// A slice stays here until its end comes in the file, so that events at that time keep file order.
    holders: Holders,
    /// Slices by their end event, which has not come yet.
    ends: HashMap<u32, u32>,
    /// Slices without an end stay open.
    has_unfinished: bool,
}

/// A track with its open slices.
struct Lane {
    track: TrackId,
    /// End and duration of each, innermost last.
    open: Vec<(i64, i64)>,
}

/// End of a slice that has none.
const NEVER: i64 = i64::MAX;

impl Open {
    /// Track for a slice from `ts` to `end`: next to the shortest one that contains it, else the first with room.
    fn track_for(
        &mut self,
        (ts, end, dur): (i64, i64, i64),
        walk: &mut Walk<'_>,
        idle: &mut HashMap<Group, Idle>,
    ) -> TrackId {
        let mut best: Option<(i64, usize)> = None;
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            while lane.open.pop_if(|(end, _)| *end <= ts).is_some() {}
            let (around, length) = lane.open.last().copied().unwrap_or((NEVER, i64::MAX));
            let fits = lane.open.is_empty() || (around >= end && end != NEVER);
            if fits && best.is_none_or(|(shortest, _)| length < shortest) {
                best = Some((length, at));
            }
        }
        if let Some(lane) = best.and_then(|(_, at)| self.lanes.get_mut(at)) {
            lane.open.push((end, dur));
            return lane.track;
        }
        if self.lanes.len() < NESTING_LANES {
            let track = take_track(walk, idle, self.group);
            self.lanes.push(Lane { track, open: vec![(end, dur)] });
            return track;
        }
        let track = match self.flat.peek() {
            Some(Reverse((free, track))) if *free <= ts => {
                let track = *track;
                self.flat.pop();
                track
            }
            _ => take_track(walk, idle, self.group),
        };
        self.flat.push(Reverse((end, track)));
        track
    }

    /// Releases the lanes once nothing is open any more.
    fn release(&mut self, idle: &mut HashMap<Group, Idle>) {
        if self.has_unfinished || !self.ends.is_empty() {
            return;
        }
        let tracks = self.lanes.drain(..).map(|lane| lane.track);
        let tracks = tracks.chain(self.flat.drain().map(|Reverse((_, track))| track));
        idle.entry(self.group).or_default().extend(tracks.map(Reverse));
        self.holders = Holders::default();
    }
}

/// End of each begin that has one.
fn ends_of_begins(walk: &Walk<'_>, order: &[u32]) -> HashMap<u32, u32> {
    let mut ends = HashMap::default();
    if !walk.events.rows.phases().any(|phase| phase == Phase::AsyncEnd) {
        return ends;
    }
    let mut begins: HashMap<Identity, OpenBegins> = HashMap::default();
    for &i in order {
        let phase = walk.events.rows.phase(i);
        if !matches!(phase, Phase::AsyncBegin | Phase::AsyncEnd) {
            continue;
        }
        let id = walk.events.id_of(i);
        if id.key == EventKey::None || !walk.has(i, flag::HAS_PID) {
            continue;
        }
        let identity = Identity::new(walk, i, id, None);
        let name = walk.event(i).name;
        if phase == Phase::AsyncBegin {
            begins.entry(identity).or_default().push(i, name, identity.category);
            continue;
        }
        // The category is part of the identity.
        let name = Some(name).filter(|name| *name != StringId::EMPTY);
        if let Some(begin) = begins.get_mut(&identity).and_then(|begins| begins.take(name, None)) {
            ends.insert(begin, i);
        }
    }
    ends
}

/// Legacy slice whose end is already known.
pub(super) struct LegacyPart {
    pub ts: i64,
    dur: i64,
    name: StringId,
    event: u32,
    /// Number of the start it belongs to.
    session: u32,
    is_step: bool,
    end_args: ArgsPlace,
}

pub(super) struct Asyncs {
    /// End event by begin event.
    end_of: HashMap<u32, u32>,
    open: HashMap<Identity, Open>,
    idle: HashMap<Group, Idle>,
    /// Slices without an end, in order of start.
    unfinished: Vec<u32>,
    /// Track and slice of the whole, per legacy session.
    sessions: HashMap<u32, (TrackId, u32)>,
    /// Lanes of the legacy form, by the time they are free.
    legacy_lanes: HashMap<Group, BinaryHeap<Reverse<(i64, TrackId)>>>,
}

fn take_track(walk: &mut Walk<'_>, idle: &mut HashMap<Group, Idle>, group: Group) -> TrackId {
    if let Some(Reverse(track)) = idle.get_mut(&group).and_then(BinaryHeap::pop) {
        return track;
    }
    walk.trace().tracks.push(group.kind, group.name, Some(group.process), None)
}

impl Asyncs {
    pub fn new(walk: &Walk<'_>, order: &[u32]) -> Asyncs {
        Asyncs {
            end_of: ends_of_begins(walk, order),
            open: HashMap::default(),
            idle: HashMap::default(),
            unfinished: Vec::new(),
            sessions: HashMap::default(),
            legacy_lanes: HashMap::default(),
        }
    }

    /// Handles `b`, `n` or `e`.
    pub fn event(&mut self, walk: &mut Walk<'_>, i: u32) {
        let id = walk.events.id_of(i);
        if id.key == EventKey::None {
            return walk.drop_event(i, &ASYNC_WITHOUT_ID);
        }
        if !walk.has(i, flag::HAS_PID) {
            return walk.drop_event(i, &ASYNC_WITHOUT_PID);
        }
        let identity = Identity::new(walk, i, id, None);
        let EventRow { ts, name, phase, .. } = walk.event(i);
        if phase == Phase::AsyncEnd {
            let open = self.open.get_mut(&identity);
            let Some((open, slice)) = open.and_then(|open| open.ends.remove(&i).map(|slice| (open, slice)))
            else {
                return walk.drop_event(i, &STRAY_ASYNC_END);
            };
            open.holders.remove(ts, slice);
            open.release(&mut self.idle);
            return;
        }
        let kind = if id.is_local { TrackKind::AsyncProcess } else { TrackKind::AsyncGlobal };
        let open = self.open.entry(identity).or_insert_with(|| Open {
            group: Group { kind, process: walk.process_of(i), name },
            lanes: Vec::new(),
            flat: BinaryHeap::new(),
            holders: Holders::default(),
            ends: HashMap::default(),
            has_unfinished: false,
        });
        let is_instant = phase == Phase::AsyncInstant;
        let ended = self.end_of.remove(&i);
        let (dur, end) = match ended.map(|event| walk.event(event).ts) {
            _ if is_instant => (0, ts),
            Some(end) => (end.saturating_sub(ts).max(0), end.max(ts)),
            None => (UNFINISHED, NEVER),
        };
        open.holders.retire(ts.saturating_sub(1), false);
        // A slice without an end is drawn past the end of its parent.
        let parent = open.holders.around(if dur == UNFINISHED { ts } else { end });
        let parent = parent.map_or(SliceId::NONE, |(slice, _)| SliceId(slice));
        let length = if dur == UNFINISHED { i64::MAX } else { dur };
        let track = open.track_for((ts, end, length), walk, &mut self.idle);
        let depth = parent.some().map_or(0, |parent| walk.trace().slices.depth.get(parent.0 as usize) + 1);
        let kind = if is_instant { SliceKind::AsyncInstant } else { SliceKind::Async };
        let slice = walk.push_slice(i, NewSlice { ts, dur, name, kind, track, depth, parent });
        if !is_instant {
            open.holders.add(slice, end, length);
            match ended {
                Some(event) => {
                    open.ends.insert(event, slice);
                    let mut args = walk.place(event).args();
                    if walk.builder.ways == Ways::Tracks {
                        args = walk.builder.with_begin_args(walk.place(i).args(), args);
                    }
                    if !args.is_none() {
                        walk.trace().slices.end_args.push((SliceId(slice), args));
                    }
                }
                None => {
                    open.has_unfinished = true;
                    self.unfinished.push(slice);
                }
            }
        }
        walk.bind(i, slice);
    }

    /// Adds a part of the legacy form.
    pub fn legacy(&mut self, walk: &mut Walk<'_>, part: &LegacyPart) {
        let end = if part.dur == UNFINISHED { i64::MAX } else { part.ts.saturating_add(part.dur) };
        let (track, depth, parent) = if part.is_step {
            let Some((track, whole)) = self.sessions.get(&part.session).copied() else { return };
            (track, 1, SliceId(whole))
        } else {
            let process = walk.process_of(part.event);
            let group = Group { kind: TrackKind::AsyncLegacy, process, name: part.name };
            let lanes = self.legacy_lanes.entry(group).or_default();
            let track = match lanes.peek() {
                Some(Reverse((free, track))) if *free <= part.ts => {
                    let track = *track;
                    lanes.pop();
                    track
                }
                _ => walk.trace().tracks.push(group.kind, group.name, Some(process), None),
            };
            lanes.push(Reverse((end, track)));
            (track, 0, SliceId::NONE)
        };
        let kind = if part.is_step { SliceKind::LegacyStep } else { SliceKind::LegacyAsync };
        let (ts, dur, name) = (part.ts, part.dur, part.name);
        let slice = walk.push_slice(part.event, NewSlice { ts, dur, name, kind, track, depth, parent });
        if !part.end_args.is_none() {
            walk.trace().slices.end_args.push((SliceId(slice), part.end_args));
        }
        if !part.is_step {
            self.sessions.insert(part.session, (track, slice));
            if part.dur == UNFINISHED {
                walk.note(part.event, &UNFINISHED_ASYNC);
            }
        }
    }

    /// Slices without an end, in order of start.
    pub fn unfinished(&self) -> &[u32] {
        &self.unfinished
    }
}

/// Legacy start whose finish has not come yet.
struct Session {
    number: u32,
    start: u32,
    last_step_ts: i64,
    /// Part that runs until the next step or the finish.
    running: Option<usize>,
    /// Part for the whole.
    whole: usize,
}

/// Resolves the legacy form in advance: a step may begin before the event that reports it.
///
/// ```text
/// S───────────────F
/// [ p step ]p
///            T[   ]   a step lasts until the next one or the finish
/// ```
pub(super) fn legacy_parts(walk: &mut Walk<'_>, order: &[u32]) -> Vec<LegacyPart> {
    let mut parts: Vec<LegacyPart> = Vec::new();
    let mut sessions: HashMap<Identity, Session> = HashMap::default();
    let mut n_sessions = 0;
    for &i in order {
        let phase = walk.event(i).phase;
        let is_legacy = matches!(
            phase,
            Phase::LegacyStart | Phase::LegacyStepInto | Phase::LegacyStepPast | Phase::LegacyFinish
        );
        if !is_legacy {
            continue;
        }
        let id = walk.events.id_of(i);
        if id.key == EventKey::None {
            walk.drop_event(i, &ASYNC_WITHOUT_ID);
            continue;
        }
        let name = walk.event(i).name;
        let identity = Identity::new(walk, i, id, Some(name));
        let (ts, args) = (walk.event(i).ts, walk.place(i).args());
        if phase == Phase::LegacyStart {
            walk.note(i, &LEGACY_ASYNC);
            let whole = parts.len();
            let (number, dur, end_args) = (n_sessions, UNFINISHED, ArgsPlace::NONE);
            n_sessions += 1;
            parts.push(LegacyPart { ts, dur, name, event: i, session: number, is_step: false, end_args });
            let session = Session { number, start: i, last_step_ts: ts, running: None, whole };
            sessions.insert(identity, session);
            continue;
        }
        let Some(session) = sessions.get_mut(&identity) else {
            walk.drop_event(i, &LEGACY_WITHOUT_START);
            continue;
        };
        walk.note(i, &LEGACY_ASYNC);
        if let Some(running) = session.running.take() {
            let part = &mut parts[running];
            part.dur = ts.saturating_sub(part.ts).max(0);
        }
        let (number, end_args) = (session.number, ArgsPlace::NONE);
        match phase {
            Phase::LegacyFinish => {
                let whole = &mut parts[session.whole];
                whole.dur = ts.saturating_sub(walk.event(session.start).ts).max(0);
                whole.end_args = args;
                sessions.remove(&identity);
            }
            Phase::LegacyStepInto => {
                session.last_step_ts = ts;
                session.running = Some(parts.len());
                let (name, dur) = (step_name(walk, args).unwrap_or(name), UNFINISHED);
                parts.push(LegacyPart { ts, dur, name, event: i, session: number, is_step: true, end_args });
            }
            _ => {
                let start = session.last_step_ts;
                session.last_step_ts = ts;
                let (name, dur) = (step_name(walk, args).unwrap_or(name), ts.saturating_sub(start).max(0));
                parts.push(LegacyPart {
                    ts: start,
                    dur,
                    name,
                    event: i,
                    session: number,
                    is_step: true,
                    end_args,
                });
            }
        }
    }
    parts.sort_by_key(|part| (part.ts, part.is_step));
    parts
}

/// Text in `args.step`.
fn step_name(walk: &mut Walk<'_>, args: ArgsPlace) -> Option<StringId> {
    let trace = walk.trace();
    let raw = trace.args.kept(args)?;
    let text = unescape_to_string(as_string(find_member(&raw, "step")?)?);
    Some(trace.strings.intern(&text))
}

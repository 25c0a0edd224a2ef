//! Work that moves between threads: begin and end joined by an id.
//!
//! Slices of one identity form one stack. From its first begin until nothing of it is open it has a lane to itself;
//! identities of one name that do not overlap in time share lanes.

use super::issues::*;
use super::members::{as_string, find_member};
use super::nesting::{Lane, Stack};
use super::pairing::{NewSlice, Walk};
use crate::base::hash::HashMap;
use crate::base::json::unescape_to_string;
use crate::base::strings::StringId;
use crate::trace::args::ArgsPlace;
use crate::trace::events::{EventId, EventKey, Phase, flag};
use crate::trace::slices::{SliceId, SliceKind, UNFINISHED};
use crate::trace::tracks::{ProcessId, TrackId, TrackKind};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What joins the events of one identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Identity {
    category: StringId,
    scope: StringId,
    id: EventKey,
    /// For ids that count within their process.
    process: Option<ProcessId>,
    /// Only the older form tells identities apart by name.
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

/// Lanes that nobody uses, first made first.
type Idle = BinaryHeap<Reverse<TrackId>>;

struct Open {
    group: Group,
    stack: Stack,
    track: Option<TrackId>,
}

/// A slice of the older form, with its end already known.
pub(super) struct LegacyPart {
    pub ts: i64,
    dur: i64,
    name: StringId,
    event: u32,
    /// Number of the start this belongs to.
    session: u32,
    is_step: bool,
    end_args: ArgsPlace,
}

#[derive(Default)]
pub(super) struct Asyncs {
    open: HashMap<Identity, Open>,
    idle: HashMap<Group, Idle>,
    /// Per session of the older form: track and slice of its whole.
    sessions: HashMap<u32, (TrackId, u32)>,
    /// Lanes of the older form by the time they are free.
    legacy_lanes: HashMap<Group, BinaryHeap<Reverse<(i64, TrackId)>>>,
}

fn take_track(walk: &mut Walk<'_>, idle: &mut HashMap<Group, Idle>, group: Group) -> TrackId {
    if let Some(Reverse(track)) = idle.get_mut(&group).and_then(BinaryHeap::pop) {
        return track;
    }
    walk.trace().tracks.push(group.kind, group.name, Some(group.process), None)
}

impl Asyncs {
    /// `b`, `n` or `e`.
    pub fn event(&mut self, walk: &mut Walk<'_>, i: u32) {
        let id = walk.events.id_of(i);
        if id.key == EventKey::None {
            return walk.drop_event(i, &ASYNC_WITHOUT_ID);
        }
        if !walk.has(i, flag::HAS_PID) {
            return walk.drop_event(i, &ASYNC_WITHOUT_PID);
        }
        let identity = Identity::new(walk, i, id, None);
        let ts = walk.event(i).ts;
        let phase = walk.event(i).phase;
        if phase == Phase::AsyncEnd {
            let ended = self.open.get_mut(&identity).and_then(|open| {
                walk.close(&mut open.stack, ts, false);
                let slice = walk.end_slice(i, &mut open.stack);
                release(open, &mut self.idle);
                slice
            });
            if ended.is_none() {
                walk.drop_event(i, &STRAY_ASYNC_END);
            }
            return;
        }
        let kind = if id.is_local { TrackKind::AsyncProcess } else { TrackKind::AsyncGlobal };
        let open = self.open.entry(identity).or_insert_with(|| Open {
            group: Group { kind, process: walk.process_of(i), name: walk.event(i).name },
            stack: Stack::default(),
            track: None,
        });
        let is_instant = phase == Phase::AsyncInstant;
        walk.close(&mut open.stack, ts, is_instant);
        let track = match open.track {
            Some(track) => track,
            None => take_track(walk, &mut self.idle, open.group),
        };
        open.track = Some(track);
        let mut lane = Lane { track, stack: std::mem::take(&mut open.stack) };
        let slice = if is_instant {
            walk.stack_slice(i, &mut lane, 0, SliceKind::AsyncInstant)
        } else {
            walk.stack_slice(i, &mut lane, UNFINISHED, SliceKind::Async)
        };
        open.stack = lane.stack;
        walk.bind(i, slice);
    }

    /// A part of the older form.
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

    /// Slices without an end, in order of their start.
    pub fn unfinished(&self) -> Vec<u32> {
        let mut slices: Vec<u32> = self.open.values().flat_map(|open| open.stack.open_slices()).collect();
        slices.sort_unstable();
        slices
    }
}

/// Gives back the lane of an identity of which nothing is open any more.
fn release(open: &mut Open, idle: &mut HashMap<Group, Idle>) {
    if open.stack.is_empty()
        && let Some(track) = open.track.take()
    {
        idle.entry(open.group).or_default().push(Reverse(track));
    }
}

/// A start of the older form whose finish has not come yet.
struct Session {
    number: u32,
    start: u32,
    last_step_ts: i64,
    /// Part that runs until the next step or the finish.
    running: Option<usize>,
    /// Part of the whole.
    whole: usize,
}

/// Takes the older form apart beforehand: a step may begin before the event that tells of it.
///
/// ```text
/// S───────────────F
/// [ p step ]p
///            T[   ]   a step lasts to the next one or to the finish
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

/// The text in `args.step`.
fn step_name(walk: &mut Walk<'_>, args: ArgsPlace) -> Option<StringId> {
    let trace = walk.trace();
    let text = unescape_to_string(as_string(find_member(trace.args.kept(args)?, "step")?)?);
    Some(trace.strings.intern(&text))
}

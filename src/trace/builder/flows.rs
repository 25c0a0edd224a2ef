//! Flow arrows between slices, from flow events and from `bind_id`.

use super::Ways;
use super::issues::*;
use super::pairing::Walk;
use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::trace::events::{EventKey, Phase, flag};
use crate::trace::slices::SliceId;
use crate::trace::tracks::ThreadId;

/// Identity of a flow. Arrows given by `bind_id` have neither category nor name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FlowKey {
    id: FlowId,
    category: StringId,
    name: StringId,
    bound: bool,
}

/// Flow id: `"0x10"` and `16` are equal, other texts stand for themselves.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum FlowId {
    Number(u64),
    Negative(i64),
    /// A number beyond 64 bits, or with a fraction.
    Digits(StringId),
    Text(StringId),
}

#[derive(Default)]
pub(super) struct Flows {
    /// Slice the next arrow of a flow starts from.
    last: HashMap<FlowKey, u32>,
    /// Flow ends that wait for the next slice of their thread, with their events.
    pending: HashMap<ThreadId, Vec<(FlowKey, u32)>>,
}

impl Flows {
    #[inline]
    pub fn has_pending(&self, thread: ThreadId) -> bool {
        !self.pending.is_empty() && self.pending.contains_key(&thread)
    }

    /// Handles `s`, `t` or `f`.
    pub fn event(&mut self, walk: &mut Walk<'_>, i: u32) {
        let id = walk.events.id_of(i).key;
        let Some(id) = flow_id(walk, id) else { return walk.drop_event(i, &FLOW_NO_ID) };
        if matches!(id, FlowId::Text(_)) {
            walk.note(i, &FLOW_ID);
        }
        let (category, name) = (walk.place(i).category, walk.event(i).name);
        let key = FlowKey { id, category, name, bound: false };
        let thread = walk.event(i).thread;
        let phase = walk.event(i).phase;
        if phase == Phase::FlowEnd && !walk.has(i, flag::BIND_ENCLOSING) {
            match walk.around(i).filter(|_| walk.builder.ways == Ways::Kineto) {
                Some(slice) => self.arrive_or_note(walk, key, i, slice, false),
                None => self.pending.entry(thread).or_default().push((key, i)),
            }
            return;
        }
        let Some(slice) = walk.enclosing(i) else { return walk.drop_event(i, &FLOW_NO_SLICE) };
        match phase {
            Phase::FlowStart => {
                if !self.start(key, slice) {
                    walk.drop_event(i, &FLOW_DUPLICATE);
                }
            }
            _ => self.arrive_or_note(walk, key, i, slice, phase == Phase::FlowStep),
        }
    }

    fn arrive_or_note(&mut self, walk: &mut Walk<'_>, key: FlowKey, i: u32, slice: u32, goes_on: bool) {
        // The PyTorch profiler also ends flows of calls that launched nothing: most of its ends have no start.
        if !self.arrive(walk, key, slice, goes_on) && walk.builder.ways != Ways::Kineto {
            walk.note(i, &FLOW_NO_START);
        }
    }

    /// Handles a slice with a `bind_id`.
    pub fn bound(&mut self, walk: &mut Walk<'_>, i: u32, id: EventKey, slice: u32) {
        let Some(id) = flow_id(walk, id) else { return };
        if matches!(id, FlowId::Text(_)) {
            walk.note(i, &BIND_ID);
        }
        let key = FlowKey { id, category: StringId::NONE, name: StringId::NONE, bound: true };
        match (walk.has(i, flag::FLOW_IN), walk.has(i, flag::FLOW_OUT)) {
            (false, false) => walk.note(i, &FLOW_DIRECTION),
            (false, true) => {
                if !self.start(key, slice) {
                    walk.repair_event(i, &BIND_DUPLICATE);
                }
            }
            (true, goes_on) => {
                if !self.arrive(walk, key, slice, goes_on) {
                    walk.repair_event(i, &BIND_NO_START);
                }
            }
        }
    }

    /// Resolves flow ends that wait for a slice of this thread.
    pub fn slice_started(&mut self, walk: &mut Walk<'_>, thread: ThreadId, slice: u32) {
        for (key, event) in self.pending.remove(&thread).unwrap_or_default() {
            self.arrive_or_note(walk, key, event, slice, false);
        }
    }

    /// Reports flow ends that still wait.
    pub fn finish(&mut self, walk: &mut Walk<'_>) {
        let mut events: Vec<u32> = self.pending.values().flatten().map(|(_, event)| *event).collect();
        events.sort_unstable();
        for event in events {
            walk.drop_event(event, &FLOW_NO_END);
        }
        self.pending.clear();
    }

    /// Starts a flow; false if it exists.
    fn start(&mut self, key: FlowKey, slice: u32) -> bool {
        let mut is_new = false;
        self.last.entry(key).or_insert_with(|| {
            is_new = true;
            slice
        });
        is_new
    }

    /// Draws an arrow to `slice`; false if the flow has no start.
    fn arrive(&mut self, walk: &mut Walk<'_>, key: FlowKey, slice: u32, goes_on: bool) -> bool {
        let Some(last) = self.last.get_mut(&key) else { return false };
        let (mut from, mut to) = (*last, slice);
        if goes_on {
            *last = slice;
        }
        // Slices are numbered by start.
        if walk.start_of(from) > walk.start_of(to) {
            std::mem::swap(&mut from, &mut to);
        }
        let trace = walk.trace();
        trace.flows.from.push(SliceId(from));
        trace.flows.to.push(SliceId(to));
        trace.flows.name.push(key.name);
        trace.flows.category.push(key.category);
        true
    }
}

/// Flow id from decimal digits.
fn decimal(walk: &Walk<'_>, digits: StringId) -> FlowId {
    walk.builder.trace.strings.get(digits).parse().map_or(FlowId::Digits(digits), FlowId::Number)
}

/// Flow id from a number, hexadecimal text with or without `0x`, decimal text that is too long for that, or other text.
fn flow_id(walk: &Walk<'_>, id: EventKey) -> Option<FlowId> {
    match id {
        EventKey::None => None,
        EventKey::Int(value) => {
            let number = u64::try_from(value);
            Some(number.map_or(FlowId::Negative(value), FlowId::Number))
        }
        // Unsigned 64-bit numbers are common too.
        EventKey::Digits(id) => Some(decimal(walk, id)),
        EventKey::Text(id) => {
            let text = walk.builder.trace.strings.get(id);
            let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
            // `from_str_radix` would accept a sign.
            let number = match digits.starts_with(|c: char| c.is_ascii_hexdigit()) {
                true => u64::from_str_radix(digits, 16).ok(),
                false => None,
            };
            Some(match number {
                Some(number) => FlowId::Number(number),
                // Too long to be hexadecimal: Ascend's profiler writes nanoseconds since 1970.
                None if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                    decimal(walk, id)
                }
                None => FlowId::Text(id),
            })
        }
    }
}

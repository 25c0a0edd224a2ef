//! Flows: pairs of events, or marks on the slices they join.

use super::super::OwnFacts;
use super::super::writer::Writer;
use super::layout::Layout;
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::trace::slices::{SliceId, SliceKind, UNFINISHED};

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

/// Flow marks on a slice.
#[derive(Clone, Copy, Default)]
pub(super) struct Bound {
    pub(super) id: u64,
    pub(super) out: bool,
    pub(super) inward: bool,
}

/// A flow as a pair of events.
pub(super) struct Arrow {
    flow: usize,
    id: u64,
    from: i64,
    to: i64,
}

impl Layout<'_> {
    /// Finds the times at which a reader binds each flow to its slices.
    ///
    /// A start binds to the innermost slice open at its time, so the slice must have no open child at that
    /// time. If there is no such time, or the flow would point backwards, the slices are marked with
    /// `bind_id` instead; a slice can have only one.
    pub(super) fn plan_flows(&self, facts: &mut OwnFacts) -> (Vec<Arrow>, HashMap<u32, Bound>) {
        let flows = &self.trace.flows;
        if flows.is_empty() {
            return (Vec::new(), HashMap::default());
        }
        let ends = self.flow_ends();
        let place = |slice: SliceId| ends.get(&slice.0).map_or(u32::MAX, |end| end.place);
        let mut order: Vec<usize> = (0..flows.len()).collect();
        // Sort flows, so that a file that is read back produces the same output.
        sort::by_cached_key(&mut order, |flow| {
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

    pub(super) async fn write_flows(&self, arrows: &[Arrow], w: &mut Writer<'_>) {
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
            w.pause().await;
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

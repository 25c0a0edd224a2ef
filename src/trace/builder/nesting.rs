//! Stacks of open slices: depth, parent, overlap, and self time.
//!
//! ```text
//! [A                ]            finished: end known, stays until time passes it
//!    [B ...                      open: end not known yet
//!       [C   ]   [D       ]      D ends after A, in which it started: partial overlap
//! ```

use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::trace::Trace;
use crate::trace::compact_columns::{Depths, Durations};
use crate::trace::slices::{SliceId, SliceTable, UNFINISHED};
use crate::trace::sweep::Sweep;
use crate::trace::tracks::{TrackId, TrackKind};
use std::collections::{BTreeMap, BinaryHeap};

/// A slice on a stack.
#[derive(Clone, Copy)]
pub struct Entry {
    pub slice: u32,
    pub start: i64,
    /// Undefined while `open`.
    pub end: i64,
    pub open: bool,
    name: StringId,
    category: StringId,
}

/// Number of entries searched linearly before an index is built.
const PLAIN_SEARCH: usize = 64;

/// Name and category; `None` matches any.
type OpenKey = (Option<StringId>, Option<StringId>);

/// Positions of open entries by name and category. Closed ones are dropped lazily.
#[derive(Default)]
struct OpenIndex {
    /// Invariant: positions ascend; each has the slice that was there.
    by_key: HashMap<OpenKey, Vec<(u32, u32)>>,
}

impl OpenIndex {
    fn add(&mut self, position: u32, entry: &Entry) {
        let (name, category) = (Some(entry.name), Some(entry.category));
        for key in [(name, category), (name, None), (None, category), (None, None)] {
            self.by_key.entry(key).or_default().push((position, entry.slice));
        }
    }
}

/// Begins without their ends. Unlike a [`Stack`] it has no nesting: an end takes the matching begin.
#[derive(Default)]
pub struct OpenBegins {
    entries: Vec<Entry>,
    n_taken: usize,
    index: Option<OpenIndex>,
}

impl OpenBegins {
    /// Adds event `i`.
    pub fn push(&mut self, i: u32, name: StringId, category: StringId) {
        let entry = Entry { slice: i, start: 0, end: 0, open: true, name, category };
        if let Some(index) = &mut self.index {
            index.add(self.entries.len() as u32, &entry);
        }
        self.entries.push(entry);
    }

    /// Removes the last begin that matches, and returns its event. `None` for a name or category matches any.
    pub fn take(&mut self, name: Option<StringId>, category: Option<StringId>) -> Option<u32> {
        let position = find_open(&self.entries, &mut self.index, name, category)?;
        let entry = self.entries.get_mut(position)?;
        entry.open = false;
        let event = entry.slice;
        self.n_taken += 1;
        while self.entries.pop_if(|entry| !entry.open).is_some() {
            self.n_taken -= 1;
        }
        if self.n_taken > PLAIN_SEARCH && self.n_taken * 2 > self.entries.len() {
            self.entries.retain(|entry| entry.open);
            self.n_taken = 0;
            self.index = None;
        }
        Some(event)
    }
}

/// Position of the innermost open entry that matches. `None` for a name or category matches any.
fn find_open(
    entries: &[Entry],
    index: &mut Option<OpenIndex>,
    name: Option<StringId>,
    category: Option<StringId>,
) -> Option<usize> {
    let fits = |entry: &Entry| {
        entry.open
            && name.is_none_or(|name| name == entry.name)
            && category.is_none_or(|category| category == entry.category)
    };
    let searched = entries.len().min(PLAIN_SEARCH);
    if let Some(from_top) = entries.iter().rev().take(searched).position(fits) {
        return Some(entries.len() - 1 - from_top);
    }
    if searched == entries.len() {
        return None;
    }
    let index = index.get_or_insert_with(|| {
        let mut index = OpenIndex::default();
        for (position, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.open) {
            index.add(position as u32, entry);
        }
        index
    });
    let positions = index.by_key.get_mut(&(name, category))?;
    while let Some((position, slice)) = positions.last() {
        let entry = entries.get(*position as usize);
        if entry.is_some_and(|entry| entry.open && entry.slice == *slice) {
            return Some(*position as usize);
        }
        positions.pop();
    }
    None
}

/// Slices open on one track.
#[derive(Default)]
pub struct Stack {
    entries: Vec<Entry>,
    /// Positions of entries that were finished when pushed. Invariant: ascending.
    finished: Vec<u32>,
    /// Positions of entries that were finished later, with others above them.
    finished_late: BinaryHeap<u32>,
    /// Built once a linear search took too long.
    index: Option<OpenIndex>,
}

impl Stack {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn top(&self) -> Option<&Entry> {
        self.entries.last()
    }

    /// Open slices, innermost last.
    pub fn open_slices(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().filter(|entry| entry.open).map(|entry| entry.slice)
    }

    fn innermost_finished(&self) -> Option<u32> {
        let late = self.finished_late.peek().copied();
        // `None` is less than any position.
        self.finished.last().copied().max(late)
    }

    fn truncate(&mut self, len: usize) {
        self.entries.truncate(len);
        while self.finished.last().is_some_and(|position| *position as usize >= len) {
            self.finished.pop();
        }
        while self.finished_late.peek().is_some_and(|position| *position as usize >= len) {
            self.finished_late.pop();
        }
    }

    /// Removes slices that ended by `ts`. `zero_length` means that a zero-length slice comes next: other zero-length slices at
    /// the same time then stay below it.
    ///
    /// An open slice above a finished one is cut at that one's end, once time has passed it.
    #[inline]
    pub fn close(&mut self, ts: i64, zero_length: bool, slices: &mut SliceTable, cut: &mut Vec<u32>) {
        while let Some(position) = self.innermost_finished() {
            let Some(entry) = self.entries.get(position as usize).copied() else { return };
            if position as usize + 1 == self.entries.len() {
                let stays = entry.end == ts && zero_length && entry.start == entry.end;
                if entry.end > ts || stays {
                    return;
                }
                self.truncate(position as usize);
                continue;
            }
            // The top is open. Further down may be one that was finished late and ended before this one.
            let late = self.finished_late.peek().filter(|_| entry.end >= ts);
            let position = late.map_or(position, |late| *late) as usize;
            let Some(end) = self.entries.get(position).map(|entry| entry.end) else { return };
            if end >= ts {
                return;
            }
            for above in &self.entries[position + 1..] {
                if above.open {
                    slices.dur.set(above.slice as usize, end.saturating_sub(above.start).max(0));
                    cut.push(above.slice);
                }
            }
            self.truncate(position);
        }
    }

    /// Whether a slice from `ts` to `end` would outlast the innermost finished slice it starts in by more than `tolerance`
    /// (nanoseconds). Slices finished late have ended by now and contain nothing.
    #[inline]
    pub fn sticks_out(&self, ts: i64, end: i64, tolerance: i64) -> bool {
        self.end_around(ts).is_some_and(|around| end.saturating_sub(around) > tolerance)
    }

    /// End of the innermost finished slice around `ts`.
    #[inline]
    pub fn end_around(&self, ts: i64) -> Option<i64> {
        let around = self.finished.iter().rev().take(PLAIN_SEARCH);
        let mut ends =
            around.filter_map(|position| self.entries.get(*position as usize)).map(|entry| entry.end);
        ends.find(|around| *around > ts)
    }

    /// Innermost slice near the top that is known to end at or after `end`.
    pub fn around(&self, end: i64) -> Option<&Entry> {
        let near = self.entries.iter().rev().take(PLAIN_SEARCH);
        near.into_iter().find(|entry| entry.open || entry.end >= end)
    }

    /// Pushes a slice; without an `end` it is open.
    #[inline]
    pub fn push(&mut self, slice: u32, start: i64, end: Option<i64>, name: StringId, category: StringId) {
        let position = self.entries.len() as u32;
        let entry = Entry { slice, start, end: end.unwrap_or(i64::MAX), open: end.is_none(), name, category };
        if end.is_some() {
            self.finished.push(position);
        } else if let Some(index) = &mut self.index {
            index.add(position, &entry);
        }
        self.entries.push(entry);
    }

    /// Ends the innermost open slice that matches, and returns it with its start. `None` for a name or category matches any.
    pub fn end(&mut self, ts: i64, name: Option<StringId>, category: Option<StringId>) -> Option<(u32, i64)> {
        let position = find_open(&self.entries, &mut self.index, name, category)?;
        let is_top = position + 1 == self.entries.len();
        let entry = self.entries.get_mut(position)?;
        entry.open = false;
        entry.end = ts;
        let found = (entry.slice, entry.start);
        if is_top {
            self.truncate(position);
        } else {
            self.finished_late.push(position as u32);
        }
        Some(found)
    }
}

/// A stack and the track of its slices.
pub struct Lane {
    pub track: TrackId,
    pub stack: Stack,
}

impl Lane {
    pub fn new(track: TrackId) -> Lane {
        Lane { track, stack: Stack::default() }
    }
}

/// Number of entries up to which [`Holders`] uses a plain list, since inserting moves those above.
const FEW_HOLDERS: usize = 256;

/// Slices that may contain others, and the shortest of them around a time range. Slices come in order of start.
///
/// ```text
/// [A            ]          of two, the one that ends earlier and is no shorter is never the answer:
///    [B                ]   once C is here, A and B go, since C is shorter and ends later
///        [C             ]
/// ```
/// So the remaining slices get shorter as they end earlier. Each slice is added and removed once, which is `n log n` overall.
#[derive(Default)]
pub struct Holders {
    /// End (nanoseconds), duration, slice. Invariant: both decrease from first to last.
    few: Vec<(i64, i64, u32)>,
    /// The same by end, once there are more.
    many: BTreeMap<i64, (i64, u32)>,
}

impl Holders {
    /// Drops slices that ended by `ts`. Zero-length slices contain others at the same time.
    pub fn retire(&mut self, ts: i64, zero_length: bool) {
        let has_ended = |end: i64, dur: i64| end < ts || (end == ts && !(zero_length && dur == 0));
        while self.few.pop_if(|(end, dur, _)| has_ended(*end, *dur)).is_some() {}
        while let Some((end, (dur, _))) = self.many.first_key_value()
            && has_ended(*end, *dur)
        {
            self.many.pop_first();
        }
    }

    /// Removes a slice that ends at `end`.
    pub fn remove(&mut self, end: i64, slice: u32) {
        self.few.retain(|holder| holder.2 != slice);
        if self.many.get(&end).is_some_and(|holder| holder.1 == slice) {
            self.many.remove(&end);
        }
    }

    /// Shortest slice that ends at or after `end`, with its end; among equally long ones the last started.
    pub fn around(&self, end: i64) -> Option<(u32, i64)> {
        if self.many.is_empty() {
            let n = self.few.partition_point(|holder| holder.0 >= end);
            return self.few[..n].last().map(|(end, _, slice)| (*slice, *end));
        }
        self.many.range(end..).next().map(|(end, (_, slice))| (*slice, *end))
    }

    /// Adds a slice that starts no earlier than the existing ones.
    pub fn add(&mut self, slice: u32, end: i64, dur: i64) {
        if self.many.is_empty() {
            let at = self.few.partition_point(|holder| holder.0 > end);
            let is_shorter = |holder: Option<&(i64, i64, u32)>| holder.is_some_and(|holder| holder.1 < dur);
            let same_end = self.few.get(at).filter(|holder| holder.0 == end);
            if is_shorter(self.few[..at].last()) || is_shorter(same_end) {
                return;
            }
            let n_beaten = self.few[at..].iter().take_while(|holder| holder.1 >= dur).count();
            self.few.splice(at..at + n_beaten, [(end, dur, slice)]);
            if self.few.len() > FEW_HOLDERS {
                self.many = self.few.drain(..).map(|(end, dur, slice)| (end, (dur, slice))).collect();
            }
            return;
        }
        if self.many.range(end..).next().is_some_and(|(_, (other, _))| *other < dur) {
            return;
        }
        while let Some((at, _)) = self.many.range(..=end).next_back().filter(|(_, (other, _))| *other >= dur)
        {
            let at = *at;
            self.many.remove(&at);
        }
        self.many.insert(end, (dur, slice));
    }
}

/// Whether tracks of this kind have slices of threads.
fn is_of_thread(kind: TrackKind) -> bool {
    matches!(kind, TrackKind::Thread | TrackKind::ThreadOverflow)
}

/// Recomputes parents and depths where slices of a thread do not nest: the parent of a slice is the shortest slice of its
/// thread that contains it entirely, on any lane. A slice may exceed its parent by `tolerance` nanoseconds.
///
/// `overlapping` marks threads known to need it; those with more than one lane are checked in any case. Slices without an end
/// keep their parents.
///
/// With `last`, slices without an end last until then and contain others like those with an end, and what has no length contains
/// nothing.
pub fn find_parents(trace: &mut Trace, overlapping: &[bool], tolerance: i64, last: Option<i64>) {
    let tracks = &trace.tracks;
    let mut n_lanes = vec![0u32; trace.threads.len()];
    let thread_of = |track: usize| tracks.thread[track].filter(|_| is_of_thread(tracks.kind[track]));
    for thread in (0..tracks.len()).filter_map(thread_of) {
        if let Some(n) = n_lanes.get_mut(thread.0 as usize) {
            *n += 1;
        }
    }
    let does_overlap = |thread: usize| {
        n_lanes.get(thread).is_some_and(|n| *n > 1) || overlapping.get(thread).copied().unwrap_or(false)
    };
    if !(0..n_lanes.len()).any(does_overlap) {
        return;
    }
    let threads: Vec<Option<usize>> = (0..tracks.len())
        .map(|track| thread_of(track).map(|thread| thread.0 as usize).filter(|thread| does_overlap(*thread)))
        .collect();
    let mut holders: HashMap<usize, Holders> = HashMap::default();
    let slices = &mut trace.slices;
    let mut depth = Depths::default();
    depth.reserve_exact(slices.len());
    for i in 0..slices.len() {
        let Some(thread) = threads.get(slices.track[i].0 as usize).copied().flatten() else {
            depth.push(slices.depth.get(i));
            continue;
        };
        let holders = holders.entry(thread).or_default();
        let (ts, mut dur) = (slices.ts[i], slices.dur.get(i));
        if let Some(last) = last.filter(|_| dur == UNFINISHED) {
            dur = last.saturating_sub(ts).max(0);
        }
        holders.retire(ts, dur == 0 && last.is_none());
        if dur == UNFINISHED {
            holders.add(i as u32, i64::MAX, i64::MAX);
        } else {
            let end = ts.saturating_add(dur);
            let parent = holders.around(end.saturating_sub(tolerance).max(ts));
            // A slice open at the time of an instant contains it, even if it is cut or ended at that time later on.
            let before = slices.parent[i].some().map(|before| before.0 as usize).filter(|before| *before < i);
            let ends_here = |before: usize| slices.ts[before].saturating_add(slices.dur.get(before)) == ts;
            if dur != 0 || !before.is_some_and(ends_here) {
                slices.parent[i] = parent.map_or(SliceId::NONE, |(parent, _)| SliceId(parent));
            }
            // Exceeding the parent by rounding only does not count as open.
            holders.add(i as u32, parent.map_or(end, |(_, around)| end.min(around)), dur);
        }
        let parent = slices.parent[i].some().filter(|parent| (parent.0 as usize) < i);
        depth.push(parent.map_or(0, |parent| depth.get(parent.0 as usize) + 1));
    }
    slices.depth = depth;
}

/// Adds a run time to the self time of a slice.
#[inline]
fn ran(self_ns: &mut Durations) -> impl FnMut(u32, u64, u64) {
    |slice, from, to| {
        let sum = self_ns.get(slice as usize).saturating_add_unsigned(to.saturating_sub(from));
        self_ns.set(slice as usize, sum);
    }
}

/// Fills [`SliceTable::self_ns`].
///
/// On a thread this is the time in which the slice ran (see [`Sweep`]), so self times add up to the time in which anything is
/// open. Where slices nest, it is the time that no child covers; the same holds for async slices, which may run at the
/// same time.
/// several do run at once.
pub fn compute_self_times(trace: &mut Trace) {
    let end_of_trace = trace.span().map_or(0, |(_, end)| end);
    // Of a part of a trace, slices outside of its range are not there to take their time from those around them.
    let range = trace.part.map(|part| part.range);
    let within = |ts: i64, dur: i64| match range {
        Some((from, to)) => {
            let start = ts.max(from);
            (start, ts.saturating_add(dur).min(to).saturating_sub(start))
        }
        None => (ts, dur),
    };
    let tracks = &trace.tracks;
    let threads: Vec<u32> = (0..tracks.len())
        .map(|track| match tracks.thread[track] {
            Some(thread) if is_of_thread(tracks.kind[track]) => thread.0,
            _ => u32::MAX,
        })
        .collect();
    let n_threads = threads.iter().filter(|thread| **thread != u32::MAX).map(|thread| thread + 1).max();
    let mut sweeps: Vec<Sweep> = Vec::new();
    sweeps.resize_with(n_threads.unwrap_or(0) as usize, Sweep::default);
    let slices = &mut trace.slices;
    let n = slices.len();
    // Relative to the first start, so that no end overflows.
    let first = slices.ts.first().copied().unwrap_or(0);
    let mut self_ns = Durations::zeros(n);
    // By parent: time up to which children cover it. Allocated on first use.
    let mut covered: Vec<i64> = Vec::new();
    for i in 0..n {
        let (ts, dur) = within(slices.ts[i], slices.length(i, end_of_trace));
        if dur <= 0 {
            continue;
        }
        let thread = threads.get(slices.track[i].0 as usize).copied().unwrap_or(u32::MAX);
        if let Some(sweep) = sweeps.get_mut(thread as usize) {
            let start = ts.wrapping_sub(first) as u64;
            sweep.start(i as u32, start, start.saturating_add(dur as u64), ran(&mut self_ns));
            continue;
        }
        self_ns.set(i, dur);
        let Some(parent) = slices.parent[i].some().filter(|parent| (parent.0 as usize) < i) else { continue };
        let parent = parent.0 as usize;
        if covered.is_empty() {
            covered.resize(n, i64::MIN);
        }
        let start = ts.max(slices.ts[parent]).max(covered[parent]);
        let end = ts.saturating_add(dur).min(slices.end(parent, end_of_trace));
        let rest = self_ns.get(parent).saturating_sub(end.saturating_sub(start).max(0)).max(0);
        self_ns.set(parent, rest);
        covered[parent] = covered[parent].max(end);
    }
    for sweep in &mut sweeps {
        sweep.advance(u64::MAX, ran(&mut self_ns));
    }
    slices.self_ns = self_ns.into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Shortest slice around each, found by brute force.
    fn slowly(slices: &[(i64, i64)]) -> Vec<Option<usize>> {
        let holds = |(start, dur): (i64, i64), (ts, len): (i64, i64)| {
            let end = start + dur;
            let reaches = end > ts || (end == ts && dur == 0 && len == 0);
            start <= ts && reaches && end >= ts + len
        };
        let around = |i: usize| {
            let before = (0..i).filter(|j| holds(slices[*j], slices[i]));
            before.min_by_key(|j| (slices[*j].1, std::cmp::Reverse(*j)))
        };
        (0..slices.len()).map(around).collect()
    }

    fn check(mut slices: Vec<(i64, i64)>) {
        slices.sort_by_key(|(start, dur)| (*start, std::cmp::Reverse(*dur)));
        let mut holders = Holders::default();
        for (i, parent) in slowly(&slices).into_iter().enumerate() {
            let (ts, dur) = slices[i];
            holders.retire(ts, dur == 0);
            let found = holders.around(ts + dur).map(|(slice, _)| slice as usize);
            assert_eq!(found, parent, "slice {i} of {slices:?}");
            holders.add(i as u32, ts + dur, dur);
        }
    }

    proptest! {
        #[test]
        fn the_shortest_slice_around_is_the_parent(slices in prop::collection::vec((0..40_i64, 0..20_i64), 0..60)) {
            check(slices);
        }
    }

    #[test]
    fn many_open_slices_give_the_same_parents() {
        // Each ends later than the one before and is longer, so all of them stay.
        let mut slices: Vec<(i64, i64)> = (0..600).map(|i| (i, 2000 + 3 * i)).collect();
        slices.extend((0..600).map(|i| (700 + i, (i * 37) % 3000)));
        check(slices);
    }
}

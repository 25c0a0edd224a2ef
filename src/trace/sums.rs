//! Aggregates of slices, by name and by process and thread.

use super::Trace;
use super::slices::{Class, UNFINISHED};
use super::summaries::Summaries;
use super::tracks::TrackKind;
use crate::base::hash::HashMap;
use crate::base::strings::StringId;

/// Aggregates of a set of slices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sums {
    pub count: u64,
    /// Slices without an end in the file.
    pub unfinished: u64,
    /// Total duration in nanoseconds; `self_ns` excludes direct children, `min_ns` and `max_ns` are of single slices.
    pub total_ns: i64,
    pub self_ns: i64,
    pub min_ns: i64,
    pub max_ns: i64,
}

impl Default for Sums {
    fn default() -> Sums {
        Sums { count: 0, unfinished: 0, total_ns: 0, self_ns: 0, min_ns: i64::MAX, max_ns: 0 }
    }
}

impl Sums {
    /// Adds one slice.
    #[inline]
    pub fn add(&mut self, dur: i64, self_ns: i64, unfinished: bool) {
        self.count += 1;
        self.unfinished += u64::from(unfinished);
        self.total_ns = self.total_ns.saturating_add(dur);
        self.self_ns = self.self_ns.saturating_add(self_ns);
        self.min_ns = self.min_ns.min(dur);
        self.max_ns = self.max_ns.max(dur);
    }

    /// Adds other aggregates.
    pub fn absorb(&mut self, other: &Sums) {
        self.count += other.count;
        self.unfinished += other.unfinished;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// Duration in nanoseconds above which a slice spans nearly all of a trace with this span.
pub fn too_long(span: Option<(i64, i64)>) -> i64 {
    span.map_or(0, |(start, end)| end.saturating_sub(start)) / 10 * 9
}

/// Key of aggregation: name, category, class.
pub type NameKey = (StringId, StringId, Class);

/// All slices of one name, category and class.
#[derive(Clone, Copy, Debug)]
pub struct NameSums {
    pub key: NameKey,
    pub all: Sums,
    /// Aggregates without slices that say nothing about where time went: those without an end, drawn to the end of the trace,
    /// and those around nearly all of it.
    pub inner: Sums,
}

/// Aggregates by name, category and class, in order of first appearance.
#[derive(Clone, Default, Debug)]
pub struct SumsByName {
    pub rows: Vec<NameSums>,
    /// Slices of threads excluded from [`NameSums::inner`].
    pub n_outer: u64,
    by_key: HashMap<NameKey, u32>,
}

impl SumsByName {
    /// Adds all slices of `trace`; those longer than `too_long` nanoseconds are excluded from [`NameSums::inner`]. Calls
    /// `tell` with the row, number and duration of each slice.
    pub fn add(&mut self, trace: &Trace, too_long: i64, mut tell: impl FnMut(u32, usize, i64)) {
        let end = trace.span().map_or(0, |(_, end)| end);
        let slices = &trace.slices;
        let summaries = Summaries::of(trace);
        // Last key and row by name, so that nothing is hashed while a name keeps its category.
        let mut last: Vec<(NameKey, u32)> =
            vec![((StringId::NONE, StringId::NONE, Class::Thread), u32::MAX); trace.strings.len() + 1];
        for i in 0..slices.len() {
            let class = match Class::of(slices.kind[i]) {
                Class::Thread | Class::Async if summaries.has(slices.name[i], slices.track[i]) => {
                    Class::Summary
                }
                class => class,
            };
            let key = (slices.name[i], slices.category[i], class);
            let slot = (key.0.0 as usize).min(last.len() - 1);
            if last[slot].0 != key || last[slot].1 == u32::MAX {
                last[slot] = (key, self.row(key));
            }
            let number = last[slot].1;
            let dur = slices.length(i, end);
            tell(number, i, dur);
            let unfinished = slices.dur.get(i) == UNFINISHED;
            let row = &mut self.rows[number as usize];
            row.all.add(dur, slices.self_ns.get(i), unfinished);
            if unfinished || dur > too_long {
                self.n_outer += u64::from(key.2 == Class::Thread);
            } else {
                row.inner.add(dur, slices.self_ns.get(i), false);
            }
        }
    }

    fn row(&mut self, key: NameKey) -> u32 {
        let next = self.rows.len() as u32;
        let number = *self.by_key.entry(key).or_insert(next);
        if number == next {
            self.rows.push(NameSums { key, all: Sums::default(), inner: Sums::default() });
        }
        number
    }
}

/// Activity of one process or thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Activity {
    /// Including async slices.
    pub slices: u64,
    pub instants: u64,
    /// Maximum number of slices open at once.
    pub max_depth: u32,
    /// First and last time of anything; the extreme values if there is nothing.
    pub first: i64,
    pub last: i64,
    /// Nanoseconds in which at least one slice is open on a thread.
    pub busy_ns: i64,
    /// `busy_ns` is unknown, since its slices were processed in separate batches.
    pub busy_unknown: bool,
    /// End of the busy time counted so far. Slices come in order of start, so this suffices to compute a union.
    busy_until: i128,
}

impl Activity {
    const NONE: Activity = Activity {
        slices: 0,
        instants: 0,
        max_depth: 0,
        first: i64::MAX,
        last: i64::MIN,
        busy_ns: 0,
        busy_unknown: false,
        busy_until: i128::MIN,
    };

    /// Whether it has any slices or other activity.
    pub fn is_active(&self) -> bool {
        self.first != i64::MAX
    }

    #[inline]
    fn see(&mut self, ts: i64, end: i64) {
        self.first = self.first.min(ts);
        self.last = self.last.max(end);
    }

    #[inline]
    fn work(&mut self, ts: i64, length: i64) {
        // An end may exceed 64 bits.
        let (ts, end) = (i128::from(ts), i128::from(ts) + i128::from(length));
        if end > self.busy_until {
            let ns = end - ts.max(self.busy_until);
            self.busy_ns = self.busy_ns.saturating_add(i64::try_from(ns).unwrap_or(i64::MAX));
            self.busy_until = end;
        }
    }

    fn absorb(&mut self, other: &Activity) {
        self.slices += other.slices;
        self.instants += other.instants;
        self.max_depth = self.max_depth.max(other.max_depth);
        self.see(other.first, other.last);
        // Simultaneous activity would be counted twice.
        self.busy_unknown |= other.busy_unknown || (self.busy_ns > 0 && other.busy_ns > 0);
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
    }
}

/// Counts over one trace.
#[derive(Clone, Default, Debug)]
pub struct Counts {
    pub processes: Vec<Activity>,
    pub threads: Vec<Activity>,
    pub slices: u64,
    pub instants: u64,
    pub async_slices: u64,
    /// Async slices in the legacy form.
    pub legacy: u64,
    pub states: u64,
    /// Slices without an end in the file; states are counted apart.
    pub unfinished: u64,
    /// States without an end in the file, as the last one of a thread has none.
    pub open_states: u64,
    /// Slices that partially overlap another on their thread.
    pub overlapping: u64,
}

impl Counts {
    /// Counts the slices of `trace`; of a part, only the time within its range is busy.
    pub fn of(trace: &Trace) -> Counts {
        let trace_end = trace.span().map_or(0, |(_, end)| end);
        let range = trace.part.map(|part| part.range);
        let mut counts = Counts {
            processes: vec![Activity::NONE; trace.processes.len()],
            threads: vec![Activity::NONE; trace.threads.len()],
            ..Counts::default()
        };
        // Process and thread by track, computed once.
        let places: Vec<(TrackKind, usize, usize)> = (0..trace.tracks.len())
            .map(|track| {
                let thread = trace.tracks.thread[track].map_or(usize::MAX, |thread| thread.0 as usize);
                let process = trace.tracks.process[track]
                    .or_else(|| trace.threads.process.get(thread).copied())
                    .map_or(usize::MAX, |process| process.0 as usize);
                (trace.tracks.kind[track], process, thread)
            })
            .collect();
        let slices = &trace.slices;
        for i in 0..slices.len() {
            let Some((track, process, thread)) = places.get(slices.track[i].0 as usize).copied() else {
                continue;
            };
            let class = Class::of(slices.kind[i]);
            let (ts, end) = (slices.ts[i], slices.end(i, trace_end));
            let open = if class == Class::State { &mut counts.open_states } else { &mut counts.unfinished };
            *open += u64::from(slices.dur.get(i) == UNFINISHED);
            match class {
                Class::Thread | Class::Summary => counts.slices += 1,
                Class::Async => counts.async_slices += 1,
                Class::State => counts.states += 1,
                Class::Instant => counts.instants += 1,
            }
            // A slice in an overflow lane that is inside a slice nests there.
            let has_own_row = || {
                slices.parent[i]
                    .some()
                    .is_none_or(|parent| slices.track[parent.0 as usize] != slices.track[i])
            };
            counts.overlapping += u64::from(track == TrackKind::ThreadOverflow && has_own_row());
            counts.legacy += u64::from(track == TrackKind::AsyncLegacy);
            let on_thread = matches!(track, TrackKind::Thread | TrackKind::ThreadOverflow);
            for activity in
                [counts.processes.get_mut(process), counts.threads.get_mut(thread)].into_iter().flatten()
            {
                activity.see(ts, end);
                match class {
                    Class::Instant => activity.instants += 1,
                    Class::Thread | Class::Async | Class::Summary => activity.slices += 1,
                    Class::State => {}
                }
                if on_thread && class == Class::Thread {
                    activity.max_depth = activity.max_depth.max(slices.depth.get(i).saturating_add(1));
                    // Not only outermost slices: one without an end outlasts its parent.
                    match range {
                        Some((from, to)) => {
                            activity.work(ts.max(from), end.min(to).saturating_sub(ts.max(from)).max(0))
                        }
                        None => activity.work(ts, slices.length(i, trace_end)),
                    }
                }
            }
        }
        counts
    }

    /// Adds the counts of other slices of the same trace.
    pub fn absorb(&mut self, other: &Counts) {
        for (own, other) in [(&mut self.processes, &other.processes), (&mut self.threads, &other.threads)] {
            own.resize(own.len().max(other.len()), Activity::NONE);
            own.iter_mut().zip(other).for_each(|(own, other)| own.absorb(other));
        }
        self.slices += other.slices;
        self.instants += other.instants;
        self.async_slices += other.async_slices;
        self.legacy += other.legacy;
        self.states += other.states;
        self.unfinished += other.unfinished;
        self.open_states += other.open_states;
        self.overlapping += other.overlapping;
    }
}

/// Lower median of both together; 0 if empty. All of `large` are greater than all of `small`.
pub fn median(small: &mut [u32], large: &mut [i64]) -> i64 {
    let n = small.len() + large.len();
    if n == 0 {
        return 0;
    }
    let middle = (n - 1) / 2;
    match middle.checked_sub(small.len()) {
        None => i64::from(*small.select_nth_unstable(middle).1),
        Some(middle) => *large.select_nth_unstable(middle).1,
    }
}

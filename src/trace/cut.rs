//! Parts of a trace: a time range, or its outer slices.
//!
//! ```text
//! window      |-----------|
//! [A                  ]          kept whole: it reaches into the window
//!     [B]  [C    ]  [D        ]  B is dropped, and would be if it ended where the window starts
//! ```
//! Slices keep their own times, so that durations stay true. Self times are those within the window, as slices outside of it are not
//! there. Stack profiles are cut to their samples in the window; forward passes are kept whole, as slices are. Counters keep the
//! values that were set before the window, in exports of a window as points at its start.

pub mod profiles;

use super::builder::compute_self_times;
use super::slices::{SliceId, SliceTable};
use super::stack_profiles::{StackProfile, n_samples};
use super::{TimePart, Trace};
use serde::{Deserialize, Serialize};

/// Appends row `row` of `all` to each of the columns.
macro_rules! push_row {
    ($part:expr, $all:expr, $row:expr; $($column:ident),+) => { $( $part.$column.push($all.$column[$row]); )+ };
}

/// First and last time in nanoseconds of what is no event: samples of stack profiles and forward passes.
pub fn span_beside_events(trace: &Trace) -> Option<(i64, i64)> {
    let spans = profiles::span(trace).into_iter().chain(trace.scoring_calls.span());
    spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Whether what lasts from `start` to `end` belongs to a window, both in nanoseconds. What has a duration must reach into it, so that
/// it is not in two windows for ending where it starts; a point in time also belongs to it at its ends.
pub fn is_of_window(window: (i64, i64), start: i64, end: i64) -> bool {
    match start < end {
        true => start < window.1 && end > window.0,
        false => window.0 <= start && start <= window.1,
    }
}

/// Part of a trace to keep.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Cut {
    /// First and last nanosecond from the start of the trace; `None` for all of it.
    pub window: Option<(i64, i64)>,
    /// Keeps only slices inside fewer than this many others, and as many frames of stacks; `None` for all of them.
    pub max_depth: Option<u32>,
}

impl Cut {
    /// Whether it keeps everything.
    pub fn is_all(&self) -> bool {
        *self == Cut::default()
    }

    /// Part of `trace`. Tables that only reports use are left empty.
    pub fn of(&self, trace: &Trace) -> Trace {
        self.part_of(trace, true).0
    }

    /// Reduces `trace` to its part, including tables that reports use; returns how many slices, samples of profiles and forward passes
    /// were dropped.
    pub fn apply_to(&self, trace: &mut Trace) -> u64 {
        let (part, is_kept) = self.part_of(trace, false);
        let n_slices = is_kept.iter().filter(|number| **number == SliceId::NONE).count();
        let n_left_out = n_slices
            + n_samples(&trace.stack_profiles).saturating_sub(n_samples(&part.stack_profiles))
            + (trace.scoring_calls.len() - part.scoring_calls.len());
        let all = std::mem::replace(trace, part);
        trace.links = all.links;
        trace.signatures = all.signatures;
        trace.accesses = all.accesses;
        trace.sidecar_files = all.sidecar_files;
        trace.aggregated = all.aggregated;
        n_left_out as u64
    }

    /// The part, and the new number of each slice. An export has values of counters from before the window as points at its start,
    /// and no profiles without times.
    fn part_of(&self, trace: &Trace, is_export: bool) -> (Trace, Vec<SliceId>) {
        let whole = trace.span();
        let start =
            whole.map(|(start, _)| start).or_else(|| Some(trace.span_beside_events()?.0)).unwrap_or(0);
        let chosen = self.window.map(|(from, to)| (start.saturating_add(from), start.saturating_add(to)));
        // A part of a part is of the same whole.
        let time = match (chosen, trace.part) {
            (Some((from, to)), Some(part)) => {
                Some(TimePart { range: (from.max(part.range.0), to.min(part.range.1)), ..part })
            }
            (Some(range), None) => Some(TimePart { whole, range }),
            (None, part) => part,
        };
        let window = chosen.unwrap_or((i64::MIN, i64::MAX));
        let is_in = |ts: i64| window.0 <= ts && ts <= window.1;
        let mut part = Trace {
            source: trace.source.clone(),
            ledger: trace.ledger.clone(),
            strings: trace.strings.clone(),
            processes: trace.processes.clone(),
            threads: trace.threads.clone(),
            tracks: trace.tracks.clone(),
            counter_series: trace.counter_series.clone(),
            frames: trace.frames.clone(),
            stacks: trace.stacks.clone(),
            args: trace.args.clone(),
            scoring_calls: chosen
                .map_or_else(|| trace.scoring_calls.clone(), |it| trace.scoring_calls.within(it)),
            profiles: if is_export && chosen.is_some() { Vec::new() } else { trace.profiles.clone() },
            memory_snapshot: trace.memory_snapshot.clone(),
            fleet: trace.fleet.clone(),
            part: time,
            ..Trace::default()
        };
        let numbers = self.cut_slices(trace, window, &mut part.slices);
        let number = |slice: SliceId| numbers.get(slice.0 as usize).copied().and_then(SliceId::some);
        let flows = &trace.flows;
        for row in 0..flows.len() {
            if let (Some(from), Some(to)) = (number(flows.from[row]), number(flows.to[row])) {
                part.flows.from.push(from);
                part.flows.to.push(to);
                push_row!(part.flows, flows, row; name, category);
            }
        }
        if let Some((from, _)) = chosen {
            part.counter_series.held = held_at(trace, from);
        }
        if is_export && let Some((from, _)) = chosen {
            let held = std::mem::take(&mut part.counter_series.held);
            for (series, value) in held.into_iter().enumerate().filter(|(_, value)| value.is_finite()) {
                part.counters.ts.push(from);
                part.counters.series.push(series as u32);
                part.counters.value.push(value);
            }
        }
        for row in (0..trace.counters.len()).filter(|row| is_in(trace.counters.ts[*row])) {
            push_row!(part.counters, trace.counters, row; ts, series, value);
        }
        for row in (0..trace.samples.len()).filter(|row| is_in(trace.samples.ts[*row])) {
            push_row!(part.samples, trace.samples, row; ts, thread, stack, weight, name);
        }
        let of_profiles = trace.stack_profiles.iter();
        part.stack_profiles = match chosen {
            Some(_) => {
                // Reports have whole profiles where nothing says when their samples were.
                let without_times = |it: &StackProfile| (!is_export).then(|| it.clone());
                of_profiles
                    .filter_map(|it| profiles::within(trace, it, window).or_else(|| without_times(it)))
                    .collect()
            }
            None => of_profiles.cloned().collect(),
        };
        if let Some(max_depth) = self.max_depth {
            let outer = profiles::Outer::new(&trace.stacks, max_depth);
            let of_profiles = part.stack_profiles.iter_mut().flat_map(|profile| &mut profile.stack);
            of_profiles.chain(&mut part.samples.stack).for_each(|stack| *stack = outer.of(*stack));
        }
        for row in (0..trace.objects.len()).filter(|row| is_in(trace.objects.ts[*row])) {
            push_row!(part.objects, trace.objects, row; event, ts, process, name, id, args);
        }
        compute_self_times(&mut part);
        (part, numbers)
    }

    /// Keeps slices [of the window](is_of_window); returns the new number of each slice.
    fn cut_slices(&self, trace: &Trace, window: (i64, i64), part: &mut SliceTable) -> Vec<SliceId> {
        let all = &trace.slices;
        let end_of_trace = trace.span().map_or(0, |(_, end)| end);
        let max_depth = self.max_depth.unwrap_or(u32::MAX);
        let mut numbers = vec![SliceId::NONE; all.len()];
        for slice in 0..all.len() {
            let is_in = is_of_window(window, all.ts[slice], all.end(slice, end_of_trace));
            if !is_in || all.depth.get(slice) >= max_depth {
                continue;
            }
            numbers[slice] = SliceId(part.len() as u32);
            // A child may outlast its parent and be in the window alone.
            let mut parent = all.parent[slice].some();
            while let Some(around) = parent.filter(|around| numbers[around.0 as usize] == SliceId::NONE) {
                parent = all.parent[around.0 as usize].some();
            }
            let parent = parent.map_or(SliceId::NONE, |around| numbers[around.0 as usize]);
            part.depth.push(parent.some().map_or(0, |around| part.depth.get(around.0 as usize) + 1));
            part.parent.push(parent);
            part.self_ns.push(0);
            part.dur.push(all.dur.get(slice));
            push_row!(part, all, slice; ts, name, category, track, kind);
            let (offset, args) = all.places.get(slice);
            part.places.push(offset, args);
        }
        let kept = |slice: SliceId| numbers.get(slice.0 as usize).copied().and_then(SliceId::some);
        part.end_args =
            all.end_args.iter().filter_map(|(slice, args)| Some((kept(*slice)?, *args))).collect();
        part.stacks = all.stacks.iter().filter_map(|(slice, a, b)| Some((kept(*slice)?, *a, *b))).collect();
        part.no_duration = all.no_duration.iter().filter_map(|slice| kept(*slice)).collect();
        part.thread_time =
            all.thread_time.iter().filter_map(|(slice, ts, dur)| Some((kept(*slice)?, *ts, *dur))).collect();
        numbers
    }
}

/// By series: the value at `from` that was set before, NaN without one. See [`CounterSeriesTable::held`](super::counters::CounterSeriesTable::held).
fn held_at(trace: &Trace, from: i64) -> Vec<f64> {
    if trace.span().is_none_or(|(_, end)| from > end) {
        return Vec::new();
    }
    let all = &trace.counters;
    let mut held = trace.counter_series.held.clone();
    held.resize(trace.counter_series.len(), f64::NAN);
    let mut since = vec![i64::MIN; held.len()];
    // Points may not be sorted yet.
    for row in 0..all.len() {
        let (series, ts) = (all.series[row] as usize, all.ts[row]);
        if ts <= from && since.get(series).is_some_and(|since| ts >= *since) {
            since[series] = ts;
            held[series] = if ts < from { all.value[row] } else { f64::NAN };
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::strings::StringId;

    #[test]
    fn adjoining_windows_share_points_only() {
        let of = |start, end| [(0, 50), (50, 90)].map(|window| is_of_window(window, start, end));
        assert_eq!(of(10, 40), [true, false]);
        assert_eq!(of(10, 50), [true, false]);
        assert_eq!(of(50, 70), [false, true]);
        assert_eq!(of(49, 51), [true, true]);
        assert_eq!(of(50, 50), [true, true]);
        assert_eq!(of(90, 90), [false, true]);
        assert_eq!(of(91, 91), [false, false]);
    }

    #[test]
    fn counters_have_their_values_at_the_start_of_a_part() {
        let mut trace = Trace::default();
        let table = &mut trace.counter_series;
        for _ in 0..4 {
            table.process.push(crate::trace::tracks::ProcessId(0));
            table.name.push(StringId::EMPTY);
            table.id.push(StringId::NONE);
            table.key.push(StringId::EMPTY);
        }
        // 0 was set twice before 50, 1 is set at 50, 2 has no number then, 3 is set later only.
        let rows = [
            (10, 0, 1.0),
            (20, 0, 2.0),
            (20, 1, 3.0),
            (20, 2, 4.0),
            (30, 2, f64::NAN),
            (50, 1, 5.0),
            (60, 3, 6.0),
            (90, 0, 7.0),
        ];
        for (ts, series, value) in rows {
            trace.counters.ts.push(ts);
            trace.counters.series.push(series);
            trace.counters.value.push(value);
        }
        let of = |trace: &Trace| {
            let table = &trace.counters;
            (0..table.len())
                .map(|row| (table.ts[row], table.series[row], table.value[row]))
                .collect::<Vec<_>>()
        };
        // The trace starts at 10.
        let cut = Cut { window: Some((40, 70)), max_depth: None };
        let wanted = [(50, 0, 2.0), (50, 1, 5.0), (60, 3, 6.0)];
        assert_eq!(of(&cut.of(&trace)), wanted);
        // Nothing happens after the end.
        let after = Cut { window: Some((100, 200)), max_depth: None };
        assert!(after.of(&trace).counters.is_empty());
        // Reports count the points of the file, and know the values from before.
        cut.apply_to(&mut trace);
        assert_eq!(of(&trace), wanted[1..]);
        let held = |trace: &Trace| (0..4).map(|at| trace.counter_series.held(at)).collect::<Vec<_>>();
        assert_eq!(held(&trace), [Some(2.0), None, None, None]);
        // A part of the part, from 55 to 80: the clock is that of the whole.
        Cut { window: Some((45, 70)), max_depth: None }.apply_to(&mut trace);
        assert_eq!(held(&trace), [Some(2.0), Some(5.0), None, None]);
    }
}

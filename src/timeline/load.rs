//! How busy a run was over time: how many of its GPUs worked, or without one, when the busiest thread did, or else when anything was
//! recorded.

use super::answers::{DeviceBusy, Load, LoadSort};
use super::boxes::{BoxTable, SliceBoxes};
use super::sampled;
use super::tracks::{Clock, GroupNames};
use crate::trace::accesses::Wanted;
use crate::trace::links::WORK_CATEGORIES;
use crate::trace::slices::Class;
use crate::trace::tracks::ProcessId;
use crate::trace::{Run, Trace};
use std::collections::BTreeMap;
use std::ops::Range;

/// Stretches of time.
const N_STRETCHES: usize = 512;

/// The load of a run; `None` if nothing in it has a time. Needs no index.
pub fn load_of(run: &Run) -> Option<Load> {
    let clock = Clock::of(run)?;
    let of_all = |spans: fn(&Trace) -> Vec<Spans>| {
        let mut load = Stretches::new(clock.span_ns);
        let mut n_parts = 0;
        for (trace, start) in run.traces.iter().zip(&clock.starts) {
            for mut spans in spans(trace).into_iter().filter(|spans| !spans.is_empty()) {
                spans.sort_unstable();
                n_parts += 1;
                let from_start = |ns: i64| ns.wrapping_sub(*start) as u64;
                load.add_union(spans.into_iter().map(|(from, to)| (from_start(from), from_start(to))));
            }
        }
        (!load.is_empty()).then(|| load.shares(n_parts))
    };
    let of_sort = |sort: LoadSort| {
        let shares = match sort {
            LoadSort::Gpu => of_all(gpu_work),
            LoadSort::Calls => of_all(|trace| vec![calls(trace)]),
            LoadSort::Thread => of_all(|trace| vec![busiest_thread(trace)]),
            LoadSort::Events => density(run, &clock),
        };
        Some((sort, shares?))
    };
    let sorts = [LoadSort::Gpu, LoadSort::Calls, LoadSort::Thread, LoadSort::Events];
    let (sort, shares) =
        sorts.into_iter().find_map(of_sort).unwrap_or((LoadSort::Events, vec![0.0; N_STRETCHES]));
    Some(Load { sort, span_ns: clock.span_ns, shares })
}

/// Samples, points in time, counter values and memory accesses in each stretch, as a share of the largest number; `None` without any.
fn density(run: &Run, clock: &Clock) -> Option<Vec<f32>> {
    let mut n = Stretches::new(clock.span_ns);
    for (trace, start) in run.traces.iter().zip(&clock.starts) {
        for ts in [&trace.samples.ts, &trace.slices.ts, &trace.counters.ts] {
            ts.iter().for_each(|ts| n.count(ts.wrapping_sub(*start) as u64));
        }
        let mut accesses = trace.accesses.blocks(Wanted::TIMES);
        while let Some(rows) = accesses.next_rows() {
            rows.times().iter().for_each(|ts| n.count(ts.wrapping_sub(*start) as u64));
        }
    }
    n.shares_of_largest()
}

/// Starts and ends on the trace's clock.
type Spans = Vec<(i64, i64)>;

/// Kernels, copies and fills of each device that has any.
fn gpu_work(trace: &Trace) -> Vec<Spans> {
    let mut by_process: BTreeMap<Option<ProcessId>, Spans> = BTreeMap::new();
    let mut add = |process, span| by_process.entry(process).or_default().push(span);
    if let Some(aggregated) = &trace.aggregated {
        let work = &aggregated.work;
        let spans = work.start.iter().copied().zip(work.end.iter().copied());
        work.process.iter().zip(spans).for_each(|(process, span)| add(Some(*process), span));
    } else {
        let boxes = SliceBoxes::new(trace);
        for slice in work_slices(trace) {
            let process = trace.tracks.process_of(trace.slices.track[slice], &trace.threads);
            add(process, (boxes.start(slice), boxes.end(slice)));
        }
    }
    by_process.into_values().collect()
}

/// Slices that are kernels, copies or fills.
pub(super) fn work_slices(trace: &Trace) -> impl Iterator<Item = usize> {
    let is_work: Vec<bool> = trace.strings.all().map(|text| WORK_CATEGORIES.contains(&text)).collect();
    let of_work = trace.slices.category.iter().enumerate();
    let of_work = of_work.filter(move |(_, id)| is_work.get(id.0 as usize).copied().unwrap_or(false));
    of_work.map(|(slice, _)| slice)
}

/// How long each device of a run worked in a range of time, in nanoseconds from the start of the timeline. `starts` are those
/// of the traces. Traces that are kept only in part are left out, as are devices that never worked.
pub fn devices_in(run: &Run, starts: &[i64], range: Range<u64>) -> Vec<DeviceBusy> {
    let mut devices = Vec::new();
    let numbered = (0..).zip(run.traces.iter().zip(starts));
    let whole = numbered.filter(|(_, (trace, _))| trace.aggregated.is_none());
    for (number, (trace, origin)) in whole {
        let boxes = SliceBoxes::new(trace);
        let from_start = |ns: i64| (ns.wrapping_sub(*origin) as u64).clamp(range.start, range.end);
        let mut by_process: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        for slice in work_slices(trace) {
            let Some(process) = trace.tracks.process_of(trace.slices.track[slice], &trace.threads) else {
                continue;
            };
            let span = (from_start(boxes.start(slice)), from_start(boxes.end(slice)));
            by_process.entry(process.0).or_default().push(span);
        }
        let file = (run.traces.len() > 1).then_some(trace.source.file_name.as_str());
        let gpus = by_process.keys().map(|process| ProcessId(*process)).collect();
        let groups = GroupNames { trace, file, gpus };
        for (process, mut spans) in by_process {
            spans.sort_unstable();
            let mut covered_to = 0;
            let mut busy_ns = 0;
            for (from, to) in spans {
                busy_ns += to.saturating_sub(from.max(covered_to));
                covered_to = covered_to.max(to);
            }
            let name = groups.of(Some(ProcessId(process)));
            devices.push(DeviceBusy { name, trace: number, process, busy_ns, idle: Vec::new() });
        }
    }
    devices
}

/// Forward passes.
fn calls(trace: &Trace) -> Spans {
    (0..trace.scoring_calls.len()).filter_map(|row| trace.scoring_calls.span_of(row)).collect()
}

/// Outermost slices of the thread that has the most time in them, without points in time; without slices, when a stack profile has
/// a stack.
fn busiest_thread(trace: &Trace) -> Spans {
    let slices = &trace.slices;
    if slices.is_empty() {
        return sampled::busiest_of_profiles(trace);
    }
    let boxes = SliceBoxes::new(trace);
    let is_outer =
        |slice: &usize| slices.depth.get(*slice) == 0 && Class::of(slices.kind[*slice]) != Class::Instant;
    let mut ns = vec![0_i64; trace.tracks.len()];
    for slice in (0..slices.len()).filter(is_outer) {
        if let Some(ns) = ns.get_mut(slices.track[slice].0 as usize) {
            *ns = ns.saturating_add(boxes.length(slice));
        }
    }
    let busiest = ns.iter().enumerate().max_by_key(|(_, ns)| **ns).map(|(track, _)| track as u32);
    let of_busiest = |slice: &usize| Some(slices.track[*slice].0) == busiest;
    let outer = (0..slices.len()).filter(of_busiest).filter(is_outer);
    outer.map(|slice| (boxes.start(slice), boxes.end(slice))).collect()
}

/// Time in equal stretches.
struct Stretches {
    stretch_ns: f64,
    ns: Vec<f64>,
}

impl Stretches {
    fn new(span_ns: u64) -> Stretches {
        Stretches { stretch_ns: span_ns as f64 / N_STRETCHES as f64, ns: vec![0.0; N_STRETCHES] }
    }

    fn is_empty(&self) -> bool {
        self.ns.iter().all(|ns| *ns == 0.0)
    }

    /// Adds the time that any of the spans covers, which are in order of their starts.
    fn add_union(&mut self, spans: impl Iterator<Item = (u64, u64)>) {
        let mut covered_to = 0;
        for (from, to) in spans {
            let from = from.max(covered_to);
            if to > from {
                self.add(from as f64, to as f64);
                covered_to = to;
            }
        }
    }

    fn add(&mut self, from: f64, to: f64) {
        let at = |ns: f64| ((ns / self.stretch_ns) as usize).min(N_STRETCHES - 1);
        for stretch in at(from)..=at(to) {
            let start = stretch as f64 * self.stretch_ns;
            let covered = to.min(start + self.stretch_ns) - from.max(start);
            self.ns[stretch] += covered.max(0.0);
        }
    }

    /// Adds one event.
    fn count(&mut self, at: u64) {
        self.ns[((at as f64 / self.stretch_ns) as usize).min(N_STRETCHES - 1)] += 1.0;
    }

    fn shares_of_largest(self) -> Option<Vec<f32>> {
        let largest = self.ns.iter().copied().fold(0.0, f64::max);
        (largest > 0.0).then(|| self.ns.iter().map(|n| (n / largest) as f32).collect())
    }

    /// Of the mean of `n_parts` devices, threads or traces.
    fn shares(self, n_parts: usize) -> Vec<f32> {
        let whole = self.stretch_ns * n_parts.max(1) as f64;
        self.ns.into_iter().map(|ns| (ns / whole).clamp(0.0, 1.0) as f32).collect()
    }
}

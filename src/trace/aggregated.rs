//! Aggregates of slices that did not fit in memory, and the longest of them.

use super::Trace;
use super::activity::Activity;
use super::flows::FlowTable;
use super::links::WORK_CATEGORIES;
use super::slices::{Class, SliceId, SliceKind, SliceTable};
use super::sums::{Counts, SumsByName, median, too_long};
use super::tracks::{ProcessId, TrackId, TrackTable};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use std::cmp::Reverse;

/// Number of longest slices kept per class.
pub const N_LONGEST: usize = 10_000;

/// Durations from this many nanoseconds on are stored separately.
const LARGE: u32 = u32::MAX;

/// Aggregates of all slices of a trace that did not keep them. Its slice table has only the longest ones, and their tracks.
#[derive(Clone, Default, Debug)]
pub struct Aggregated {
    pub by_name: SumsByName,
    pub counts: Counts,
    /// Lower median of the durations by row of `by_name`, in nanoseconds; 0 for instants.
    pub medians: Vec<i64>,
    /// Number of flow events that were dropped.
    pub n_flow_events: u64,
    /// When GPUs were busy.
    pub work: WorkSpans,
    /// When there were slices at all.
    pub activity: Activity,
}

/// Time spans of all kernels and copies. The breakdown of a GPU's time needs all of them together.
#[derive(Clone, Default, Debug)]
pub struct WorkSpans {
    /// Nanoseconds on the trace's clock.
    pub start: Vec<i64>,
    pub end: Vec<i64>,
    pub name: Vec<StringId>,
    pub category: Vec<StringId>,
    /// Process that stands for the GPU.
    pub process: Vec<ProcessId>,
}

impl WorkSpans {
    /// Adds the kernels and copies of `trace`.
    fn add(&mut self, trace: &Trace) {
        let slices = &trace.slices;
        let mut is_work: HashMap<StringId, bool> = HashMap::default();
        for i in 0..slices.len() {
            let category = slices.category[i];
            let is_work = is_work.entry(category).or_insert_with(|| {
                trace.strings.get_opt(category).is_some_and(|text| WORK_CATEGORIES.contains(&text))
            });
            if !*is_work {
                continue;
            }
            let thread = trace.tracks.thread.get(slices.track[i].0 as usize).copied().flatten();
            let process = thread.and_then(|thread| trace.threads.process.get(thread.0 as usize));
            if let Some(process) = process {
                self.start.push(slices.ts[i]);
                self.end.push(slices.ts[i].saturating_add(slices.dur.get(i).max(0)));
                self.name.push(slices.name[i]);
                self.category.push(category);
                self.process.push(*process);
            }
        }
    }
}

/// Aggregates slices batch by batch.
///
/// A batch has the trace's own tables with the slices of some of its threads: no thread is in two batches.
#[derive(Default)]
pub struct Aggregator {
    aggregated: Aggregated,
    /// Durations by row of `by_name`; large ones separately.
    durations: Vec<(Vec<u32>, Vec<i64>)>,
    longest: SliceTable,
    tracks: TrackTable,
    /// Class of each of the longest slices.
    classes: Vec<Class>,
}

impl Aggregator {
    /// Aggregates the slices of `trace` and removes them.
    pub fn add(&mut self, trace: &mut Trace) {
        let too_long = too_long(trace.extent());
        let durations = &mut self.durations;
        let kinds = &trace.slices.kind;
        self.aggregated.by_name.add(trace, too_long, |row, i, dur| {
            if durations.len() <= row as usize {
                durations.resize_with(row as usize + 1, Default::default);
            }
            let (small, large) = &mut durations[row as usize];
            match u32::try_from(dur) {
                _ if Class::of(kinds[i]) == Class::Instant => {}
                Ok(dur) if dur < LARGE => small.push(dur),
                _ => large.push(dur),
            }
        });
        self.aggregated.counts.absorb(&Counts::of(trace));
        self.aggregated.work.add(trace);
        self.aggregated.activity.add_slices(&trace.slices);
        self.keep_longest(trace);
        trace.slices = SliceTable::default();
        trace.tracks = TrackTable::default();
    }

    fn keep_longest(&mut self, trace: &Trace) {
        let end = trace.span().map_or(0, |(_, end)| end);
        let slices = &trace.slices;
        let length = |i: u32| slices.end(i as usize, end).saturating_sub(slices.ts[i as usize]);
        for class in [Class::Thread, Class::Async, Class::State] {
            let of_class = |i: &u32| Class::of(slices.kind[*i as usize]) == class;
            let mut chosen: Vec<u32> = (0..slices.len() as u32).filter(of_class).collect();
            if chosen.len() > N_LONGEST {
                // At equal durations, the earlier ones.
                let by_length = |i: &u32| (Reverse(length(*i)), *i);
                chosen.select_nth_unstable_by_key(N_LONGEST, by_length);
                chosen.truncate(N_LONGEST);
                chosen.sort_unstable();
            }
            for i in chosen {
                self.push(trace, i as usize, class);
            }
        }
        for track in 0..trace.tracks.len() {
            let of = &trace.tracks;
            let id = self.tracks.push(of.kind[track], of.name[track], of.process[track], of.thread[track]);
            self.tracks.shown_as[id.0 as usize] = of.shown_as[track];
        }
    }

    fn push(&mut self, trace: &Trace, i: usize, class: Class) {
        let (from, to) = (&trace.slices, &mut self.longest);
        let id = SliceId(to.len() as u32);
        to.ts.push(from.ts[i]);
        to.dur.push(from.dur.get(i));
        to.self_ns.push(from.self_ns.get(i));
        to.name.push(from.name[i]);
        to.category.push(from.category[i]);
        // Tracks of this batch come after existing ones.
        to.track.push(TrackId(from.track[i].0 + self.tracks.len() as u32));
        to.kind.push(from.kind[i]);
        to.depth.push(from.depth.get(i));
        to.parent.push(SliceId::NONE);
        let (offset, args) = from.places.get(i);
        to.places.push(offset, args);
        let of_slice = from.end_args.binary_search_by_key(&(i as u32), |(slice, _)| slice.0);
        if let Ok(at) = of_slice {
            to.end_args.push((id, from.end_args[at].1));
        }
        self.classes.push(class);
    }

    /// Moves the result into `trace`.
    pub fn finish(mut self, trace: &mut Trace, n_flow_events: u64) {
        let n_rows = self.aggregated.by_name.rows.len();
        self.durations.resize_with(n_rows, Default::default);
        self.aggregated.medians =
            self.durations.iter_mut().map(|(small, large)| median(small, large)).collect();
        self.aggregated.n_flow_events = n_flow_events;
        trace.slices = self.sorted(trace);
        // Arrows and stacks belong to slices that are gone.
        trace.flows = FlowTable::default();
        trace.tracks = self.tracks;
        trace.aggregated = Some(Box::new(self.aggregated));
    }

    /// The longest slices of all batches, in order of start.
    fn sorted(&self, trace: &Trace) -> SliceTable {
        let end = trace.span().map_or(0, |(_, end)| end);
        let all = &self.longest;
        let length = |i: usize| all.length(i, end);
        // At equal times in the order of `builder::order`.
        let place = |i: usize| (all.ts[i], all.kind[i] != SliceKind::Complete, all.offset(i));
        let mut order: Vec<usize> = Vec::new();
        for class in [Class::Thread, Class::Async, Class::State] {
            let mut of_class: Vec<usize> = (0..all.len()).filter(|i| self.classes[*i] == class).collect();
            sort::by_key(&mut of_class, |i| (Reverse(length(*i)), place(*i)));
            of_class.truncate(N_LONGEST);
            order.extend(of_class);
        }
        sort::by_key(&mut order, |i| {
            let (ts, is_later, offset) = place(*i);
            (ts, is_later, Reverse(length(*i)), offset)
        });
        let mut sorted = SliceTable {
            ts: pick(&all.ts, &order),
            dur: order.iter().map(|i| all.dur.get(*i)).collect(),
            self_ns: order.iter().map(|i| all.self_ns.get(*i)).collect(),
            name: pick(&all.name, &order),
            category: pick(&all.category, &order),
            track: pick(&all.track, &order),
            kind: pick(&all.kind, &order),
            depth: order.iter().map(|i| all.depth.get(*i)).collect(),
            parent: pick(&all.parent, &order),
            ..SliceTable::default()
        };
        for (to, from) in order.into_iter().enumerate() {
            let (offset, args) = all.places.get(from);
            sorted.places.push(offset, args);
            if let Ok(at) = all.end_args.binary_search_by_key(&(from as u32), |(slice, _)| slice.0) {
                sorted.end_args.push((SliceId(to as u32), all.end_args[at].1));
            }
        }
        sorted
    }
}

fn pick<T: Copy>(column: &[T], order: &[usize]) -> Vec<T> {
    order.iter().map(|i| column[*i]).collect()
}

//! What regions are like: how long they keep data, how they are written and read, how large they are, how accesses step.
//!
//! One accumulator takes accesses one by one in the order of the file; what depends on their order in time is told in that order, so
//! it is sorted by whoever feeds it (see [`super::view`]), and what has to be known of each address comes from [`super::once`]. State is bounded by regions;
//! strides and intervals are packed, so that their quantiles are exact.

use super::index::Places;
use super::kinds::Kind;
use super::numbers::PairwiseSum;
use super::once::{Distinct, Pass};
use super::spread::Spread;
use crate::trace::accesses::{Op, PAGE_BITS};

/// An access with its label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Nanoseconds.
    pub ts: i64,
    pub address: u64,
    pub op: Op,
    pub kind: Kind,
    pub region_id: u32,
}

impl Row {
    pub fn is_store(&self) -> bool {
        self.op == Op::Store
    }
}

/// What one region is like.
#[derive(Clone, PartialEq, Debug)]
pub struct RegionMetrics {
    pub region_id: u32,
    /// Of its first access in the order of the file.
    pub kind: Kind,
    pub n_accesses: u64,
    /// Earliest store, else earliest access; nanoseconds.
    pub first_write_ns: i64,
    /// Latest load, else `first_write_ns`.
    pub last_read_ns: i64,
    pub has_stores: bool,
    pub has_loads: bool,
    pub reads: u64,
    pub writes: u64,
    /// Distinct addresses stored to.
    pub n_written_addresses: u64,
    /// Those of them that were stored to exactly once.
    pub n_write_once_addresses: u64,
    pub unique_pages: u64,
    /// Bytes between accesses that follow each other in time; 0 of one access.
    pub mean_stride_bytes: f64,
    pub median_stride_bytes: f64,
    /// Share of these pairs that lie on one page, from 0 to 1; 0 of one access.
    pub same_page_fraction: f64,
}

impl RegionMetrics {
    /// From the first write to the last read; nanoseconds, never negative.
    pub fn retention_ns(&self) -> i64 {
        self.last_read_ns.saturating_sub(self.first_write_ns).max(0)
    }

    pub fn retention_s(&self) -> f64 {
        self.retention_ns() as f64 / 1e9
    }

    /// Share of the addresses stored to that were so once; `None` without stores.
    pub fn write_once_ratio(&self) -> Option<f64> {
        let all = self.n_written_addresses;
        (all > 0).then(|| (self.n_write_once_addresses as f64 / all as f64).clamp(0.0, 1.0))
    }

    /// Share of loads among loads and stores; 0 if there are neither.
    pub fn read_fraction(&self) -> f64 {
        let all = self.reads + self.writes;
        if all == 0 { 0.0 } else { self.reads as f64 / all as f64 }
    }

    /// Loads by stores; 0 without stores, as the reference has it, though "no writes" would be infinite.
    pub fn reads_per_write(&self) -> f64 {
        if self.writes == 0 { 0.0 } else { self.reads as f64 / self.writes as f64 }
    }
}

/// The metrics of a trace.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Ascending by number.
    pub regions: Vec<RegionMetrics>,
    /// Nanoseconds between accesses to one address by a kind of memory, those above 0, ascending by kind; none is empty.
    pub intervals: Vec<(Kind, Spread)>,
    /// How far accesses to a region of a kind step, ascending by kind.
    pub strides: Vec<(Kind, Strides)>,
}

/// Steps from one access to the next in time within a region, counted by their length.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Strides {
    /// Steps of 0 bytes.
    pub n_none: u64,
    /// Steps to higher addresses: at n those of 2^n bytes and more, but less than twice as many.
    pub forward: [u64; 64],
    /// Steps to lower ones.
    pub backward: [u64; 64],
}

impl Default for Strides {
    fn default() -> Strides {
        Strides { n_none: 0, forward: [0; 64], backward: [0; 64] }
    }
}

impl Strides {
    fn add(&mut self, stride: i64) {
        match stride.unsigned_abs().checked_ilog2() {
            None => self.n_none += 1,
            // A power of a number of 64 bits is below 64.
            Some(power) if stride > 0 => self.forward[power as usize & 63] += 1,
            Some(power) => self.backward[power as usize & 63] += 1,
        }
    }

    /// All of them.
    pub fn len(&self) -> u64 {
        self.n_none + self.forward.iter().chain(&self.backward).sum::<u64>()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Metrics {
    /// Intervals of a kind; `None` if there are none.
    pub fn intervals_of(&self, kind: Kind) -> Option<&Spread> {
        let at = self.intervals.binary_search_by_key(&kind, |(kind, _)| *kind).ok()?;
        self.intervals.get(at).map(|(_, spread)| spread)
    }
}

struct RegionState {
    kind: Kind,
    region_id: u32,
    first_store: Option<i64>,
    first_any: i64,
    last_load: Option<i64>,
    reads: u64,
    writes: u64,
    n_accesses: u64,
    counts: Counts,
    last_address: Option<u64>,
    n_same_page: u64,
    /// Steps of 0 bytes before the first other one.
    n_still: u64,
    /// All of its steps, once one is not 0: regions of a single address have none.
    steps: Option<Box<Steps>>,
    /// Where its strides are counted with those of its kind.
    strides_at: usize,
}

struct Steps {
    strides: Spread,
    sum: PairwiseSum,
}

impl RegionState {
    /// Takes note of a step; the region has `n_accesses` in all, once they have come.
    fn step(&mut self, stride: u64, n_accesses: u64) {
        if stride == 0 && self.steps.is_none() {
            self.n_still += 1;
            return;
        }
        let n_still = self.n_still;
        let steps = self.steps.get_or_insert_with(|| {
            let sum = PairwiseSum::new(n_accesses.saturating_sub(1));
            let mut steps = Box::new(Steps { strides: Spread::default(), sum });
            (0..n_still).for_each(|_| steps.add(0));
            steps
        });
        steps.add(stride);
    }
}

impl Steps {
    fn add(&mut self, stride: u64) {
        self.strides.add(stride);
        self.sum.add(stride as f64);
    }
}

/// What is distinct in a region.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Addresses stored to.
    pub n_written: u64,
    /// Those of them that were stored to again.
    pub n_overwritten: u64,
    pub n_pages: u64,
}

/// Takes accesses one by one.
#[derive(Default)]
pub struct Accumulator {
    regions: Vec<RegionState>,
    places: Places,
    /// By number of the kind.
    intervals: Vec<Spread>,
    strides: Vec<(Kind, Strides)>,
}

impl Accumulator {
    /// Takes note of what does not depend on order in time.
    #[inline]
    pub fn add(&mut self, row: &Row) {
        let (at, is_new) = self.places.get_or_add(row.region_id);
        if is_new {
            self.add_region(row);
        }
        let Some(region) = self.regions.get_mut(at as usize) else { return };
        region.n_accesses += 1;
        region.first_any = region.first_any.min(row.ts);
        match row.op {
            Op::Load => {
                region.reads += 1;
                region.last_load = Some(region.last_load.map_or(row.ts, |last| last.max(row.ts)));
            }
            Op::Store => {
                region.writes += 1;
                region.first_store = Some(region.first_store.map_or(row.ts, |first| first.min(row.ts)));
            }
            Op::Other => {}
        }
    }

    /// Takes note of what depends on order in time: rows have to come in that order, those of one time in the order of the file, once
    /// [`Accumulator::add`] has been told of all of them.
    #[inline]
    pub fn add_in_time(&mut self, row: &Row) {
        let Some(at) = self.places.get(row.region_id) else { return };
        let Some(region) = self.regions.get_mut(at as usize) else { return };
        if let Some(last) = region.last_address.replace(row.address) {
            // As signed numbers, so that addresses of the kernel are negative ones.
            let step = (row.address as i64).wrapping_sub(last as i64);
            if let Some((_, strides)) = self.strides.get_mut(region.strides_at) {
                strides.add(step);
            }
            region.step(step.unsigned_abs(), region.n_accesses);
            region.n_same_page += u64::from(last >> PAGE_BITS == row.address >> PAGE_BITS);
        }
    }

    /// Distinct things of the region of a row that has been added.
    pub fn counts_of(&mut self, row: &Row) -> Option<&mut Counts> {
        let at = self.places.get(row.region_id)?;
        Some(&mut self.regions.get_mut(at as usize)?.counts)
    }

    /// Takes note of the time between two accesses to an address, nanoseconds, above 0.
    #[inline]
    pub fn add_interval(&mut self, kind: Kind, interval: u64) {
        let at = kind.0 as usize;
        if self.intervals.len() <= at {
            self.intervals.resize_with(at + 1, Spread::default);
        }
        self.intervals[at].add(interval);
    }

    fn add_region(&mut self, row: &Row) {
        let strides_at = self.strides.iter().position(|(kind, _)| *kind == row.kind).unwrap_or_else(|| {
            self.strides.push((row.kind, Strides::default()));
            self.strides.len() - 1
        });
        self.regions.push(RegionState {
            kind: row.kind,
            region_id: row.region_id,
            first_store: None,
            first_any: row.ts,
            last_load: None,
            reads: 0,
            writes: 0,
            n_accesses: 0,
            counts: Counts::default(),
            last_address: None,
            n_same_page: 0,
            n_still: 0,
            steps: None,
            strides_at,
        });
    }

    pub fn finish(self) -> Metrics {
        let mut regions: Vec<RegionMetrics> = self.regions.into_iter().map(RegionState::finish).collect();
        regions.sort_unstable_by_key(|region| region.region_id);
        let intervals =
            (0..).map(Kind).zip(self.intervals).filter(|(_, spread)| !spread.is_empty()).collect();
        let mut strides = self.strides;
        strides.retain(|(_, strides)| !strides.is_empty());
        strides.sort_unstable_by_key(|(kind, _)| *kind);
        Metrics { regions, intervals, strides }
    }
}

impl RegionState {
    fn finish(self) -> RegionMetrics {
        let first_write_ns = self.first_store.unwrap_or(self.first_any);
        let n_strides = self.n_accesses.saturating_sub(1);
        let share = |value: f64| if n_strides == 0 { 0.0 } else { value / n_strides as f64 };
        RegionMetrics {
            region_id: self.region_id,
            kind: self.kind,
            n_accesses: self.n_accesses,
            first_write_ns,
            last_read_ns: self.last_load.unwrap_or(first_write_ns),
            has_stores: self.first_store.is_some(),
            has_loads: self.last_load.is_some(),
            reads: self.reads,
            writes: self.writes,
            n_written_addresses: self.counts.n_written,
            n_write_once_addresses: self.counts.n_written - self.counts.n_overwritten,
            unique_pages: self.counts.n_pages,
            mean_stride_bytes: share(self.steps.as_ref().map_or(0.0, |steps| steps.sum.total())),
            median_stride_bytes: self.steps.and_then(|steps| steps.strides.median()).unwrap_or(0.0),
            same_page_fraction: share(self.n_same_page as f64),
        }
    }
}

/// Labelled rows that can be gone through as often as it takes.
pub trait RowSource {
    /// Tells `each` of all rows, some of them at a time, always in the same order.
    fn for_each_block(&self, each: &mut dyn FnMut(&[Row]));
}

/// Adds what depends on order in time: `rows` come in that order, those of one time in the order of the file, and [`Accumulator::add`] has been
/// told of all of them. `distinct` is how many addresses they are to, about.
pub fn measure_in_time(rows: &impl RowSource, distinct: Distinct, out: &mut Accumulator) {
    let n = distinct.n_passes();
    for number in 0..n {
        let mut pass = Pass::new(number, n);
        rows.for_each_block(&mut |rows| {
            if number == 0 {
                rows.iter().for_each(|row| out.add_in_time(row));
            }
            rows.iter().for_each(|row| pass.add(row, out));
        });
        pass.finish(out);
    }
}

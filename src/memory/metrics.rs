//! What regions are like: how long they keep data, how they are written and read, how large they are, how accesses step.
//!
//! One accumulator takes accesses one by one in the order of the file; what depends on their order in time is told in that order, so
//! it is sorted by whoever feeds it (see [`super::view`]). State is bounded by distinct addresses and pages of
//! regions; strides and intervals are packed, so that their quantiles are exact.

use super::kinds::Kind;
use super::numbers::PairwiseSum;
use super::spread::Spread;
use crate::trace::accesses::{Op, PAGE_BITS};
use rustc_hash::{FxHashMap, FxHashSet};

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
    n_written: u64,
    n_overwritten: u64,
    n_pages: u64,
    last_address: Option<u64>,
    n_same_page: u64,
    strides: Spread,
    stride_sum: PairwiseSum,
    /// Where its strides are counted with those of its kind.
    strides_at: usize,
}

/// Takes accesses one by one.
#[derive(Default)]
pub struct Accumulator {
    regions: Vec<RegionState>,
    by_id: FxHashMap<u32, u32>,
    last: Option<(u32, u32)>,
    pages: FxHashSet<(u32, u64)>,
    /// Whether an address of a region was stored to more than once.
    stored: FxHashMap<(u32, u64), bool>,
    /// Latest access to an address by kind.
    touched: FxHashMap<(u64, Kind), i64>,
    intervals: FxHashMap<Kind, Spread>,
    strides: Vec<(Kind, Strides)>,
}

impl Accumulator {
    /// Takes note of what does not depend on order in time. `n_accesses` is how many accesses to the region there are in all,
    /// which the mean of strides has to know.
    pub fn add(&mut self, row: &Row, n_accesses: u64) {
        let at = self.region_at(row, n_accesses);
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
                match self.stored.get_mut(&(at, row.address)) {
                    None => {
                        region.n_written += 1;
                        self.stored.insert((at, row.address), false);
                    }
                    Some(is_overwritten) => {
                        region.n_overwritten += u64::from(!*is_overwritten);
                        *is_overwritten = true;
                    }
                }
            }
            Op::Other => {}
        }
        let page = row.address >> PAGE_BITS;
        // Mostly it is the page of the access before.
        if region.last_address.map(|last| last >> PAGE_BITS) != Some(page) {
            region.n_pages += u64::from(self.pages.insert((at, page)));
        }
    }

    /// Takes note of what depends on order in time: rows have to come in that order, those of one time in the order of the file.
    pub fn add_in_time(&mut self, row: &Row) {
        let Some(at) = self.find(row.region_id) else { return };
        let Some(region) = self.regions.get_mut(at as usize) else { return };
        if let Some(last) = region.last_address.replace(row.address) {
            // As signed numbers, so that addresses of the kernel are negative ones.
            let step = (row.address as i64).wrapping_sub(last as i64);
            if let Some((_, strides)) = self.strides.get_mut(region.strides_at) {
                strides.add(step);
            }
            let stride = step.unsigned_abs();
            region.strides.add(stride);
            region.stride_sum.add(stride as f64);
            region.n_same_page += u64::from(last >> PAGE_BITS == row.address >> PAGE_BITS);
        }
        if let Some(before) = self.touched.insert((row.address, row.kind), row.ts) {
            let interval = row.ts.saturating_sub(before);
            if interval > 0 {
                self.intervals.entry(row.kind).or_default().add(interval as u64);
            }
        }
    }

    fn find(&mut self, id: u32) -> Option<u32> {
        match self.last {
            Some((last, at)) if last == id => Some(at),
            _ => {
                let at = *self.by_id.get(&id)?;
                self.last = Some((id, at));
                Some(at)
            }
        }
    }

    fn region_at(&mut self, row: &Row, n_accesses: u64) -> u32 {
        if let Some(at) = self.find(row.region_id) {
            return at;
        }
        let at = self.regions.len() as u32;
        self.by_id.insert(row.region_id, at);
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
            n_written: 0,
            n_overwritten: 0,
            n_pages: 0,
            last_address: None,
            n_same_page: 0,
            strides: Spread::default(),
            stride_sum: PairwiseSum::new(n_accesses.saturating_sub(1)),
            strides_at,
        });
        at
    }

    pub fn finish(self) -> Metrics {
        let mut regions: Vec<RegionMetrics> = self
            .regions
            .into_iter()
            .map(|region| {
                let first_write_ns = region.first_store.unwrap_or(region.first_any);
                let n_strides = region.strides.len();
                let share = |value: f64| if n_strides == 0 { 0.0 } else { value / n_strides as f64 };
                RegionMetrics {
                    region_id: region.region_id,
                    kind: region.kind,
                    n_accesses: region.n_accesses,
                    first_write_ns,
                    last_read_ns: region.last_load.unwrap_or(first_write_ns),
                    has_stores: region.first_store.is_some(),
                    has_loads: region.last_load.is_some(),
                    reads: region.reads,
                    writes: region.writes,
                    n_written_addresses: region.n_written,
                    n_write_once_addresses: region.n_written - region.n_overwritten,
                    unique_pages: region.n_pages,
                    mean_stride_bytes: share(region.stride_sum.total()),
                    median_stride_bytes: region.strides.median().unwrap_or(0.0),
                    same_page_fraction: share(region.n_same_page as f64),
                }
            })
            .collect();
        regions.sort_unstable_by_key(|region| region.region_id);
        let mut intervals: Vec<(Kind, Spread)> = self.intervals.into_iter().collect();
        intervals.sort_unstable_by_key(|(kind, _)| *kind);
        let mut strides = self.strides;
        strides.retain(|(_, strides)| !strides.is_empty());
        strides.sort_unstable_by_key(|(kind, _)| *kind);
        Metrics { regions, intervals, strides }
    }
}

/// The metrics of rows in memory, in any order of time.
pub fn of_rows(rows: &[Row]) -> Metrics {
    let mut accumulator = Accumulator::default();
    let mut counts: FxHashMap<u32, u64> = FxHashMap::default();
    rows.iter().for_each(|row| *counts.entry(row.region_id).or_default() += 1);
    for row in rows {
        accumulator.add(row, counts.get(&row.region_id).copied().unwrap_or(0));
    }
    let mut in_time = rows.to_vec();
    in_time.sort_by_key(|row| row.ts);
    in_time.iter().for_each(|row| accumulator.add_in_time(row));
    accumulator.finish()
}

//! Region metrics: retention, reads and writes, size, strides.
//!
//! An [`Accumulator`] takes accesses in file order. Metrics that depend on time order get accesses sorted by the caller
//! (see [`super::view`]), and per-address metrics come from [`super::distinct_addresses`]. State is bounded by the number of regions;
//! strides and intervals are stored packed, so that their quantiles are exact.

use super::distinct_addresses::{Distinct, Pass};
use super::exact_quantiles::Spread;
use super::index::Places;
use super::kinds::Kind;
use super::labeller::Region;
use super::numbers::IntegerSum;
use crate::base::steps;
use crate::base::threads::n_threads;
use crate::trace::accesses::{Op, PAGE_BITS};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

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

/// Metrics of one region.
#[derive(Clone, PartialEq, Debug)]
pub struct RegionMetrics {
    pub region_id: u32,
    /// Kind of its first access in file order that has one.
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
    /// Addresses stored to exactly once.
    pub n_write_once_addresses: u64,
    pub unique_pages: u64,
    /// Bytes between consecutive accesses in time; 0 for a single access.
    pub mean_stride_bytes: f64,
    pub median_stride_bytes: f64,
    /// Fraction of consecutive accesses on the same page; 0 for a single access.
    pub same_page_fraction: f64,
}

impl RegionMetrics {
    /// From the first write to the last read; nanoseconds, never negative.
    pub fn retention_ns(&self) -> i64 {
        self.last_read_ns.saturating_sub(self.first_write_ns).max(0)
    }

    /// From the first write to the last read; `None` if there is no read after it, where [`RegionMetrics::retention_ns`] is 0.
    pub fn kept_ns(&self) -> Option<i64> {
        let is_read = self.has_loads && self.last_read_ns >= self.first_write_ns;
        is_read.then(|| self.retention_ns())
    }

    pub fn retention_s(&self) -> f64 {
        self.retention_ns() as f64 / 1e9
    }

    /// Fraction of stored addresses that were written once; `None` without stores.
    pub fn write_once_ratio(&self) -> Option<f64> {
        let all = self.n_written_addresses;
        (all > 0).then(|| (self.n_write_once_addresses as f64 / all as f64).clamp(0.0, 1.0))
    }

    /// Fraction of loads among loads and stores; 0 without either.
    pub fn read_fraction(&self) -> f64 {
        let all = self.reads + self.writes;
        if all == 0 { 0.0 } else { self.reads as f64 / all as f64 }
    }

    /// Loads per store; 0 without stores, as in the reference, although infinity would be correct.
    pub fn reads_per_write(&self) -> f64 {
        if self.writes == 0 { 0.0 } else { self.reads as f64 / self.writes as f64 }
    }
}

/// The metrics of a trace.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Ascending by region number.
    pub regions: Vec<RegionMetrics>,
    /// Inter-access intervals in nanoseconds by kind, without zeros and without empty kinds, ascending by kind.
    pub intervals: Vec<(Kind, Spread)>,
    /// Strides within regions by kind, ascending by kind.
    pub strides: Vec<(Kind, Strides)>,
}

/// Histogram of strides between consecutive accesses to a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Strides {
    /// Strides of 0 bytes.
    pub n_none: u64,
    /// Forward strides: index n counts those from 2^n to less than 2^(n+1) bytes.
    pub forward: [u64; 64],
    /// Backward strides, likewise.
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
            // The logarithm of a 64-bit number is below 64.
            Some(power) if stride > 0 => self.forward[power as usize & 63] += 1,
            Some(power) => self.backward[power as usize & 63] += 1,
        }
    }

    /// Total count.
    pub fn len(&self) -> u64 {
        self.n_none + self.forward.iter().chain(&self.backward).sum::<u64>()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Metrics {
    /// Intervals of a kind; `None` without any.
    pub fn intervals_of(&self, kind: Kind) -> Option<&Spread> {
        let at = self.intervals.binary_search_by_key(&kind, |(kind, _)| *kind).ok()?;
        self.intervals.get(at).map(|(_, spread)| spread)
    }
}

/// Metrics independent of time order. It fits one CPU cache line, as there can be millions of them with random access;
/// so does [`Walk`].
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Touches {
    /// Earliest store, if `writes` is not 0.
    first_store: i64,
    first_any: i64,
    last_any: i64,
    /// Latest load, if `reads` is not 0.
    last_load: i64,
    reads: u64,
    writes: u64,
    n_accesses: u64,
    kind: Kind,
    region_id: u32,
}

impl Touches {
    fn none(region_id: u32) -> Touches {
        Touches {
            first_store: 0,
            first_any: i64::MAX,
            last_any: i64::MIN,
            last_load: 0,
            reads: 0,
            writes: 0,
            n_accesses: 0,
            kind: Kind::UNKNOWN,
            region_id,
        }
    }
}

/// Stride state of a region.
#[repr(align(64))]
#[derive(Default)]
struct Walk {
    last_address: u64,
    /// Accesses so far.
    n_accesses: u64,
    n_same_page: u64,
    /// Strides of 0 bytes before the first other one.
    n_still: u64,
    /// All strides, once one is not 0: single-address regions never need them.
    steps: Option<Box<Steps>>,
}

struct Steps {
    strides: Spread,
    /// Results of the strides after the last access; the strides themselves are then dropped.
    median: Option<f64>,
    sum: IntegerSum,
}

impl Walk {
    /// Records a stride; `n_accesses` is the final number of accesses to the region.
    fn step(&mut self, stride: u64, n_accesses: impl FnOnce() -> u64) {
        if stride == 0 && self.steps.is_none() {
            self.n_still += 1;
            return;
        }
        let n_still = self.n_still;
        let steps = self.steps.get_or_insert_with(|| {
            let sum = IntegerSum::new(n_accesses().saturating_sub(1));
            let mut steps = Box::new(Steps { strides: Spread::default(), median: None, sum });
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

    /// Computes the stride results and drops the strides.
    fn settle(&mut self) {
        if !self.strides.is_empty() {
            self.median = std::mem::take(&mut self.strides).median();
        }
    }
}

/// Counts of distinct things in a region.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Addresses stored to.
    pub n_written: u64,
    /// Addresses stored to more than once.
    pub n_overwritten: u64,
    pub n_pages: u64,
}

/// Origin of region numbers, and what it implies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Numbering {
    /// The source: arbitrary numbers, without implications.
    #[default]
    Source,
    /// [`super::labeller::Labeller`]: numbers count from 0. From [`Region::FIRST`] on, each region has one page, and one address in
    /// the key/value cache.
    Own {
        /// Whether rows are in time order.
        is_in_time_order: bool,
    },
}

impl Numbering {
    /// Whether [`Accumulator::add`] alone yields the per-address metrics of a kind.
    #[inline]
    pub fn knows_addresses_of(self, kind: Kind) -> bool {
        kind == Kind::KV_CACHE && self == Numbering::Own { is_in_time_order: true }
    }

    /// Whether regions of a kind have one address each, and so no strides.
    #[inline]
    pub fn is_still(self, kind: Kind) -> bool {
        kind == Kind::KV_CACHE && self != Numbering::Source
    }
}

/// Accumulates accesses in file order.
#[derive(Default)]
pub struct Accumulator {
    numbering: Numbering,
    regions: Vec<Touches>,
    /// Index for region numbers from the source.
    places: Places,
    /// Distinct pages of the regions with several pages, counted by the labeller: unknown kind, weights.
    n_pages: [u64; Region::FIRST as usize],
    /// Intervals between accesses to a key/value cache address, if they are tracked here.
    kv_intervals: Spread,
}

impl Accumulator {
    pub fn new(numbering: Numbering) -> Accumulator {
        Accumulator { numbering, ..Accumulator::default() }
    }

    /// Adds a row to the metrics independent of time order.
    #[inline]
    pub fn add(&mut self, row: &Row) {
        let at = match self.numbering {
            Numbering::Own { .. } => row.region_id as usize,
            Numbering::Source => self.places.get_or_add(row.region_id).0 as usize,
        };
        if at >= self.regions.len() {
            // The weights region can appear late among the labeller's numbers.
            (self.regions.len()..=at).for_each(|_| self.regions.push(Touches::none(row.region_id)));
        }
        let Some(region) = self.regions.get_mut(at) else { return };
        if region.n_accesses == 0 {
            (region.kind, region.region_id) = (row.kind, row.region_id);
        } else if row.kind == Kind::KV_CACHE
            && self.numbering == (Numbering::Own { is_in_time_order: true })
            && row.ts > region.last_any
        {
            self.kv_intervals.add(row.ts.saturating_sub(region.last_any) as u64);
        } else if region.kind == Kind::NONE {
            region.kind = row.kind;
        }
        region.n_accesses += 1;
        region.first_any = region.first_any.min(row.ts);
        region.last_any = region.last_any.max(row.ts);
        match row.op {
            Op::Load => {
                region.last_load = if region.reads > 0 { region.last_load.max(row.ts) } else { row.ts };
                region.reads += 1;
            }
            Op::Store => {
                region.first_store = if region.writes > 0 { region.first_store.min(row.ts) } else { row.ts };
                region.writes += 1;
            }
            Op::Other => {}
        }
    }

    /// Whether per-address metrics of such rows are tracked here.
    #[inline]
    pub fn knows_addresses_of(&self, kind: Kind) -> bool {
        self.numbering.knows_addresses_of(kind)
    }

    /// Whether regions of a kind have one address each, and so no strides.
    #[inline]
    pub fn is_still(&self, kind: Kind) -> bool {
        self.numbering.is_still(kind)
    }

    /// Whether pages of regions must be counted from addresses.
    #[inline]
    pub fn counts_pages(&self) -> bool {
        self.numbering == Numbering::Source
    }

    /// Sets the number of distinct pages of unknown kind and of weights.
    pub fn set_pages(&mut self, unknown: u64, weights: u64) {
        self.n_pages = [unknown, weights];
    }

    /// Prefetches a region, like [`super::labeller::Labeller::see`].
    #[inline]
    pub fn see(&self, region_id: u32) -> u32 {
        let region = self.place_of(region_id).and_then(|at| self.regions.get(at));
        region.map_or(0, |region| region.n_accesses as u32)
    }

    /// Index of a region that has rows.
    #[inline]
    pub fn place_of(&self, region_id: u32) -> Option<usize> {
        match self.numbering {
            Numbering::Own { .. } => Some(region_id as usize),
            Numbering::Source => self.places.get(region_id).map(|at| at as usize),
        }
    }

    /// Kind of the first access to a region, time of the latest one, and number of accesses.
    pub fn touches_of(&self, region_id: u32) -> Option<(Kind, i64, u64)> {
        let region = self.regions.get(self.place_of(region_id)?)?;
        (region.n_accesses > 0).then_some((region.kind, region.last_any, region.n_accesses))
    }

    /// The final metrics, once `walks` and `found` have seen all rows.
    pub fn finish(mut self, mut walks: Walks, mut found: Found) -> Metrics {
        walks.settle();
        self.add_what_follows(&mut walks, &mut found);
        let (numbering, n_pages) = (self.numbering, self.n_pages);
        let mut regions = Vec::with_capacity(self.regions.len());
        while !self.regions.is_empty() {
            // Convert in chunks, as input and output take about the same memory.
            let start = self.regions.len().saturating_sub(REGIONS_AT_A_TIME);
            let touched = self.regions.split_off(start);
            self.regions.shrink_to_fit();
            for (at, touches) in (start..).zip(touched) {
                let mut walk = walks.walks.get_mut(at).map(std::mem::take).unwrap_or_default();
                let mut counts = found.counts.get(at).copied().unwrap_or_default();
                if numbering != Numbering::Source {
                    counts.n_pages = n_pages.get(at).copied().unwrap_or(1);
                    if numbering.knows_addresses_of(touches.kind) {
                        counts.n_written = u64::from(touches.writes > 0);
                        counts.n_overwritten = u64::from(touches.writes > 1);
                    }
                    if numbering.is_still(touches.kind) {
                        walk.n_same_page = touches.n_accesses.saturating_sub(1);
                    }
                }
                if touches.n_accesses > 0 {
                    regions.push(finish(touches, walk, counts));
                }
            }
        }
        regions.sort_unstable_by_key(|region| region.region_id);
        let intervals =
            (0..).map(Kind).zip(found.intervals).filter(|(_, spread)| !spread.is_empty()).collect();
        let strides = (0..).map(Kind).zip(walks.strides).filter(|(_, strides)| !strides.is_empty()).collect();
        Metrics { regions, intervals, strides }
    }

    /// Strides and intervals of the key/value cache implied by the labeller's regions.
    fn add_what_follows(&mut self, walks: &mut Walks, found: &mut Found) {
        let still = self.regions.iter().filter(|region| self.is_still(region.kind));
        let n_still: u64 = still.map(|region| region.n_accesses.saturating_sub(1)).sum();
        if n_still > 0 {
            walks.strides_of(Kind::KV_CACHE).n_none += n_still;
        }
        found.intervals_of(Kind::KV_CACHE.0 as usize).absorb(std::mem::take(&mut self.kv_intervals));
    }
}

/// Regions finished per chunk.
const REGIONS_AT_A_TIME: usize = 1 << 18;

fn finish(touches: Touches, walk: Walk, counts: Counts) -> RegionMetrics {
    let Touches { first_store, first_any, last_load, reads, writes, n_accesses, kind, region_id, .. } =
        touches;
    let first_write_ns = if writes > 0 { first_store } else { first_any };
    let n_strides = n_accesses.saturating_sub(1);
    let share = |value: f64| if n_strides == 0 { 0.0 } else { value / n_strides as f64 };
    RegionMetrics {
        region_id,
        kind,
        n_accesses,
        first_write_ns,
        last_read_ns: if reads > 0 { last_load } else { first_write_ns },
        has_stores: writes > 0,
        has_loads: reads > 0,
        reads,
        writes,
        n_written_addresses: counts.n_written,
        n_write_once_addresses: counts.n_written - counts.n_overwritten,
        unique_pages: counts.n_pages,
        mean_stride_bytes: share(walk.steps.as_ref().map_or(0.0, |steps| steps.sum.total())),
        median_stride_bytes: walk.steps.and_then(|steps| steps.median).unwrap_or(0.0),
        same_page_fraction: share(walk.n_same_page as f64),
    }
}

/// Strides by region.
#[derive(Default)]
pub struct Walks {
    /// By region index.
    walks: Vec<Walk>,
    /// By kind number.
    strides: Vec<Strides>,
}

impl Walks {
    /// Adds rows in time order (file order for ties); `all` must have seen all rows.
    pub fn add(&mut self, rows: &[Row], all: &Accumulator) {
        // Prefetch all of them with independent reads.
        let mut seen = 0;
        let rows = || rows.iter().filter(|row| !all.is_still(row.kind));
        for row in rows() {
            let walk = all.place_of(row.region_id).and_then(|at| self.walks.get(at));
            seen ^= walk.map_or(0, |walk| walk.last_address);
        }
        black_box(seen);
        rows().for_each(|row| self.add_row(row, all));
    }

    #[inline]
    fn add_row(&mut self, row: &Row, all: &Accumulator) {
        let Some(at) = all.place_of(row.region_id) else { return };
        if self.walks.len() <= at {
            // Key/value cache regions, often the majority, usually have no strides.
            self.walks.resize_with(at + 1, Walk::default);
        }
        let Some((walk, region)) = self.walks.get_mut(at).zip(all.regions.get(at)) else { return };
        let last = std::mem::replace(&mut walk.last_address, row.address);
        walk.n_accesses += 1;
        if walk.n_accesses == 1 {
            return;
        }
        // As signed numbers, so kernel addresses are negative.
        let step = (row.address as i64).wrapping_sub(last as i64);
        walk.step(step.unsigned_abs(), || region.n_accesses);
        walk.n_same_page += u64::from(last >> PAGE_BITS == row.address >> PAGE_BITS);
        // The region has the kind of its first row.
        self.strides_of(region.kind).add(step);
    }

    /// Finishes after the last row.
    pub fn settle(&mut self) {
        self.walks.iter_mut().filter_map(|walk| walk.steps.as_mut()).for_each(|steps| steps.settle());
    }

    fn strides_of(&mut self, kind: Kind) -> &mut Strides {
        let kind = kind.0 as usize;
        if self.strides.len() <= kind {
            self.strides.resize_with(kind + 1, Strides::default);
        }
        &mut self.strides[kind]
    }
}

/// Per-address results, for all addresses or a share of them.
#[derive(Default)]
pub struct Found {
    /// By region index.
    counts: Vec<Counts>,
    /// By kind number.
    intervals: Vec<Spread>,
}

impl Found {
    /// Distinct counts of the region with that index.
    pub fn counts_at(&mut self, at: usize) -> &mut Counts {
        if self.counts.len() <= at {
            self.counts.resize(at + 1, Counts::default());
        }
        &mut self.counts[at]
    }

    /// Records an interval between two accesses to an address, in nanoseconds, above 0.
    #[inline]
    pub fn add_interval(&mut self, kind: Kind, interval: u64) {
        self.intervals_of(kind.0 as usize).add(interval);
    }

    fn intervals_of(&mut self, kind: usize) -> &mut Spread {
        if self.intervals.len() <= kind {
            self.intervals.resize_with(kind + 1, Spread::default);
        }
        &mut self.intervals[kind]
    }

    /// Merges the results of other addresses.
    pub fn absorb(&mut self, other: Found) {
        for (at, counts) in other.counts.into_iter().enumerate() {
            let all = self.counts_at(at);
            all.n_written += counts.n_written;
            all.n_overwritten += counts.n_overwritten;
            all.n_pages += counts.n_pages;
        }
        for (kind, intervals) in other.intervals.into_iter().enumerate() {
            self.intervals_of(kind).absorb(intervals);
        }
    }
}

/// Labelled rows that can be iterated repeatedly.
pub trait RowSource {
    /// Calls `each` with chunks of rows, always in the same order. A step is a chunk.
    fn for_each_block(&self, each: &mut dyn FnMut(&[Row])) -> impl Future<Output = ()>;

    /// Upper bound of the number of rows.
    fn n_rows(&self) -> usize;
}

/// Metrics that depend on time order: `rows` are in time order (file order for ties), and `all` has seen
/// all of them. `distinct` is the approximate number of addresses.
///
/// Shares of the addresses are independent of each other and of the strides, so with threads, several passes over the rows
/// run in parallel. With one, a step is a block.
pub async fn measure_in_time(
    rows: &(impl RowSource + Sync),
    distinct: &Distinct,
    all: &Accumulator,
) -> (Walks, Found) {
    let n_threads = if rows.n_rows() < MIN_ROWS_FOR_THREADS { 1 } else { n_threads() };
    // One thread computes strides for about as long as the others need for their first shares.
    let n = distinct.n_passes(n_threads.saturating_sub(1) as u64);
    let look = async |number: u64| {
        let (mut pass, mut found) =
            (Pass::new(number, n, distinct.n_addresses(), distinct.mix()), Found::default());
        rows.for_each_block(&mut |rows| rows.iter().for_each(|row| pass.add(row, all, &mut found))).await;
        pass.finish(all, &mut found);
        found
    };
    let mut found = Found::default();
    let mut walks = Walks::default();
    if n_threads == 1 {
        // Unpacking rows takes about as long as processing them.
        let is_one_look = rows.n_rows() <= MAX_ROWS_FOR_ONE_LOOK;
        // Each thread visits all rows; a pass takes about as long as the strides.
        let n_looks = n + u64::from(!is_one_look);
        let part = |number: u64| number as f64 / n_looks as f64;
        let mut first = is_one_look.then(|| Pass::new(0, n, distinct.n_addresses(), distinct.mix()));
        let mut each = |rows: &[Row]| {
            walks.add(rows, all);
            if let Some(pass) = &mut first {
                rows.iter().for_each(|row| pass.add(row, all, &mut found));
            }
        };
        steps::within(0.0, part(1), rows.for_each_block(&mut each)).await;
        if let Some(pass) = first {
            pass.finish(all, &mut found);
        }
        walks.settle();
        for number in u64::from(is_one_look)..n {
            let at = number + n_looks - n;
            found.absorb(steps::within(part(at), part(at + 1), look(number)).await);
        }
        return (walks, found);
    }
    let next = AtomicU64::new(0);
    let shared = Mutex::new(&mut found);
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= n {
            return;
        }
        let of_share = steps::run(look(number));
        // A thread that panics would end the program.
        shared.lock().unwrap_or_else(PoisonError::into_inner).absorb(of_share);
    };
    std::thread::scope(|scope| {
        for _ in 1..n_threads {
            // If a thread cannot be started, the others do its work.
            drop(std::thread::Builder::new().spawn_scoped(scope, work));
        }
        steps::run(rows.for_each_block(&mut |rows| walks.add(rows, all)));
        walks.settle();
        work();
    });
    (walks, found)
}

/// Row limit, beyond which stored strides would need too much memory in addition to addresses.
const MAX_ROWS_FOR_ONE_LOOK: usize = 1 << 25;

/// Minimum number of rows that justify a thread.
pub const MIN_ROWS_FOR_THREADS: usize = 1 << 18;

//! A trace with its labels, as input of the reports.
//!
//! Takes several passes over the accesses, block by block. The first one labels them in file order (labels are packed, a few
//! bytes per row) and computes metrics independent of time order; the others compute the rest. If rows are not in time order, the
//! latter use a sorted copy, which is packed as well. Data per row is packed; everything else grows
//! with pages, regions and key/value blocks.

use super::distinct_addresses::Distinct;
use super::index::PageSet;
use super::kinds::{Kind, Kinds};
use super::kv::{KvBlocks, KvPages};
use super::labeller::{Births, Label, Labeller, Region, RegionMap, UnknownPolicy};
use super::labelling::{self, Labelling, Stopped, Tables};
use super::metrics::{
    Accumulator, MIN_ROWS_FOR_THREADS, Metrics, Numbering, Row, RowSource, measure_in_time,
};
use super::phases::{Phases, PhasesByTime};
use super::quality::Coverage;
use super::ranges::AddressRange;
use super::row_table;
use super::rules::Rules;
use crate::base::bitpack;
use crate::base::progress;
use crate::base::steps::{self, pause};
use crate::base::strings::{StringId, StringTable};
use crate::base::threads::n_threads;
use crate::trace::Trace;
use crate::trace::accesses::{Access, AccessTable, Blocks, Wanted};
use std::ops::Deref;

/// User settings.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Phase boundaries; rows with their own phase keep it.
    pub phases: Phases,
    /// Replacement for the built-in rules.
    pub rules: Option<Rules>,
    pub unknown: UnknownPolicy,
    /// Address ranges of known kind.
    pub ranges: Vec<AddressRange>,
    /// Region limit at which labelling stops; `None` for the available memory.
    pub max_regions: Option<usize>,
    /// Whether to relabel a labelled source. Kinds in the source are kept, but regions get new numbers.
    pub is_anew: bool,
}

/// Default region limit of a 32-bit program: each region takes about 300 bytes.
const MAX_REGIONS_32_BIT: usize = 4_000_000;

/// Labels of rows in order, in the same blocks as the accesses.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    blocks: Vec<LabelBlock>,
    n: usize,
}

/// Packed labels of a block of rows: kinds, then regions. Most rows of a block usually share a region (the weights), so regions are
/// stored as a flag per row for exceptions, the majority region, then the region of each exception.
#[derive(Clone, Debug)]
struct LabelBlock {
    packed: Box<[u8]>,
    n: u16,
}

/// Marker for a skipped row.
const LEFT_OUT: i64 = -1;

/// The majority value, if there is one; else any value.
fn most_common(values: &[i64]) -> i64 {
    let (mut found, mut n) = (0, 0u32);
    for value in values {
        match n {
            0 => (found, n) = (*value, 1),
            _ if *value == found => n += 1,
            _ => n -= 1,
        }
    }
    found
}

impl Labels {
    /// Appends the labels of the next block, at most [`bitpack::BLOCK`]; does nothing if empty.
    pub fn push_block(&mut self, labels: impl Iterator<Item = Option<Label>>) {
        let (mut kinds, mut regions) = ([0; bitpack::BLOCK], [0; bitpack::BLOCK]);
        let mut n = 0;
        for label in labels.take(bitpack::BLOCK) {
            kinds[n] = label.map_or(LEFT_OUT, |label| i64::from(label.kind.0));
            regions[n] = label.map_or(0, |label| i64::from(label.region_id));
            n += 1;
        }
        let (kinds, regions) = (&kinds[..n], &regions[..n]);
        if n == 0 {
            return;
        }
        let common = most_common(regions);
        let (mut is_other, mut others, mut n_others) = ([0; bitpack::BLOCK], [0; bitpack::BLOCK], 0);
        for (is_other, region) in is_other.iter_mut().zip(regions) {
            others[n_others] = *region;
            *is_other = i64::from(*region != common);
            n_others += usize::from(*region != common);
        }
        let mut packed = Vec::new();
        for lane in [kinds, &is_other[..n], &[common], &others[..n_others]] {
            bitpack::write_block(lane, &mut packed);
        }
        self.blocks.push(LabelBlock { packed: packed.into(), n: n as u16 });
        self.n += n;
    }

    /// Number of rows labelled or skipped.
    pub fn len(&self) -> usize {
        self.n
    }

    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Iterates labels; `None` for skipped rows.
    pub fn iter(&self) -> impl Iterator<Item = Option<Label>> + '_ {
        let mut blocks = self.blocks();
        let (mut at, mut n_labels) = (0, 0);
        (0..self.n).map(move |_| {
            if at == n_labels {
                (at, n_labels) = (0, blocks.next_labels().1);
            }
            at += 1;
            label_of(&blocks.lanes, at - 1)
        })
    }

    fn blocks(&self) -> LabelBlocks<'_> {
        LabelBlocks { blocks: self.blocks.iter(), lanes: [[0; bitpack::BLOCK]; 2] }
    }
}

fn label_of(lanes: &[[i64; bitpack::BLOCK]; 2], at: usize) -> Option<Label> {
    let at = at % bitpack::BLOCK;
    u32::try_from(lanes[0][at]).ok().map(|kind| Label { kind: Kind(kind), region_id: lanes[1][at] as u32 })
}

impl LabelBlock {
    /// Unpacks kinds and regions. Never returns `None`, as blocks are written here.
    fn unpack(&self, [kinds, regions]: &mut [[i64; bitpack::BLOCK]; 2]) -> Option<()> {
        let n = usize::from(self.n).min(bitpack::BLOCK);
        let rest = bitpack::read_block(&self.packed, &mut kinds[..n])?;
        let rest = bitpack::read_block(rest, &mut regions[..n])?;
        let mut common = [0];
        let rest = bitpack::read_block(rest, &mut common)?;
        let n_others = regions[..n].iter().sum::<i64>() as usize;
        let mut others = [0; bitpack::BLOCK];
        if n_others > 0 {
            bitpack::read_block(rest, others.get_mut(..n_others)?)?;
        }
        let mut at = 0;
        for region in &mut regions[..n] {
            let is_other = *region == 1;
            *region = if is_other { others[at % bitpack::BLOCK] } else { common[0] };
            at += usize::from(is_other);
        }
        Some(())
    }
}

/// Iterator over labels by block.
struct LabelBlocks<'a> {
    blocks: std::slice::Iter<'a, LabelBlock>,
    lanes: [[i64; bitpack::BLOCK]; 2],
}

impl LabelBlocks<'_> {
    /// Loads the next block; returns the number of its labels, 0 at the end.
    fn next_labels(&mut self) -> (&[[i64; bitpack::BLOCK]; 2], usize) {
        let n_labels = self.blocks.next().map_or(0, |block| {
            block.unpack(&mut self.lanes).map_or(0, |()| usize::from(block.n).min(bitpack::BLOCK))
        });
        (&self.lanes, n_labels)
    }
}

/// Iterator over labelled rows by block.
struct RowBlocks<'a> {
    accesses: Blocks<'a>,
    labels: LabelBlocks<'a>,
    rows: Vec<Row>,
}

impl RowBlocks<'_> {
    /// The next rows, without skipped ones; `None` at the end.
    fn next_rows(&mut self) -> Option<&[Row]> {
        let accesses = self.accesses.next_rows()?;
        let (lanes, n_labels) = self.labels.next_labels();
        self.rows.clear();
        let touches = accesses.times().iter().zip(accesses.addresses());
        for (at, (ts, address)) in touches.enumerate().take(n_labels) {
            if let Some(Label { kind, region_id }) = label_of(lanes, at) {
                self.rows.push(Row {
                    ts: *ts,
                    address: *address as u64,
                    op: accesses.op(at),
                    kind,
                    region_id,
                });
            }
        }
        // Labels end early if labelling has stopped.
        (n_labels > 0).then_some(&self.rows)
    }
}

/// A trace with its labels.
pub struct LabelledTrace<'a> {
    pub trace: &'a Trace,
    measured: Measured,
}

/// Results of labelling a trace.
#[derive(Default)]
pub struct Measured {
    pub kinds: Kinds,
    pub labels: Labels,
    pub phases: Phases,
    /// In order of first access.
    pub regions: RegionMap,
    pub kv_pages: KvPages,
    pub kv_blocks: KvBlocks,
    /// Skipped rows of unknown kind.
    pub n_left_out: u64,
    /// Reason why labelling stopped early.
    pub stopped: Option<Stopped>,
    /// Whether labels come from the source.
    pub has_labels_of_source: bool,
    /// Pages in given address ranges.
    pub n_registered_pages: u64,
    pub coverage: Coverage,
    /// Distinct pages accessed.
    pub pages: PageSet,
    pub metrics: Metrics,
}

impl Deref for LabelledTrace<'_> {
    type Target = Measured;

    fn deref(&self) -> &Measured {
        &self.measured
    }
}

/// Phases of rows: their own, else the given ones. Rows are usually in the phase of the previous one.
pub struct PhaseOf<'p> {
    phases: &'p Phases,
    by_time: PhasesByTime,
    known: (Option<usize>, i64, i64),
    /// The last phase recorded in a row.
    own: Option<(StringId, &'p str)>,
}

impl<'p> PhaseOf<'p> {
    pub fn new(phases: &'p Phases) -> PhaseOf<'p> {
        PhaseOf { phases, by_time: phases.by_time(), known: (None, 0, 0), own: None }
    }

    #[inline]
    pub fn get(&mut self, row: &Access, strings: &'p StringTable) -> Option<&'p str> {
        if let Some(id) = row.phase {
            if let Some((known, text)) = self.own
                && known == id
            {
                return Some(text);
            }
            let text = strings.get(id);
            self.own = Some((id, text));
            return Some(text);
        }
        if self.phases.is_empty() {
            return None;
        }
        let (_, from, until) = self.known;
        if row.ts < from || row.ts >= until {
            self.known = self.by_time.at_and_until(row.ts);
        }
        self.known.0.and_then(|at| self.phases.name(at))
    }
}

/// Approximate share of labelling in the time for a view, of sorting rows in the rest, and where block lifetimes end then.
const LABELLING_SHARE: f64 = 0.3;
const SORTING_SHARE: f64 = 0.4;
const LIVES_SHARE: f64 = 0.5;

impl<'a> LabelledTrace<'a> {
    pub fn new(trace: &'a Trace, options: &Options) -> LabelledTrace<'a> {
        steps::run(LabelledTrace::in_steps(trace, options))
    }

    /// [`LabelledTrace::new`] in steps.
    pub async fn in_steps(trace: &'a Trace, options: &Options) -> LabelledTrace<'a> {
        let measured = Measured { phases: options.phases.clone(), ..Measured::default() };
        let mut view = LabelledTrace { trace, measured };
        let (accumulator, distinct, births) = steps::within(0.0, LABELLING_SHARE, view.label(options)).await;
        let measure = async {
            let rows = view.rows();
            if view.is_in_time_order() {
                (Box::pin(measure_in_time(&rows, &distinct, &accumulator)).await, None)
            } else {
                let sorted = steps::within(0.0, SORTING_SHARE, row_table::in_time_order(&rows)).await;
                let lives = steps::within(SORTING_SHARE, LIVES_SHARE, KvBlocks::in_time(&sorted)).await;
                let measure = measure_in_time(&sorted, &distinct, &accumulator);
                (steps::within(LIVES_SHARE, 1.0, measure).await, Some(lives))
            }
        };
        let ((walks, found), lives) = steps::within(LABELLING_SHARE, 1.0, measure).await;
        if let Some(lives) = lives {
            view.measured.kv_blocks = lives;
        }
        if let Some(births) = births {
            view.measured.regions = births.into_regions(&accumulator);
        }
        view.measured.metrics = accumulator.finish(walks, found);
        view
    }

    /// Recreates the view of a trace from earlier results.
    pub fn from_cache(trace: &'a Trace, measured: Measured) -> LabelledTrace<'a> {
        LabelledTrace { trace, measured }
    }

    /// Extracts the results, for another view of the same trace.
    pub fn into_measured(self) -> Measured {
        self.measured
    }

    /// Labels all rows, and computes the metrics independent of time order.
    ///
    /// Labels in the source usually equal those computed here, which allows the optimizations based on the labeller's regions.
    /// So labels are computed here as well, and only if one differs, those of the source are used as they are.
    async fn label(&mut self, options: &Options) -> (Accumulator, Distinct, Option<Births>) {
        let is_labelled = self.trace.accesses.is_labelled() && !options.is_anew;
        let own = Numbering::Own { is_in_time_order: self.is_in_time_order() };
        let labelled = Box::pin(self.label_as(own, options, is_labelled)).await;
        self.measured.has_labels_of_source = is_labelled;
        match labelled {
            Some(labelled) => labelled,
            // Without a comparison with the source, nothing differs.
            None => Box::pin(self.label_as(Numbering::Source, options, false)).await.unwrap_or_default(),
        }
    }

    /// Labels with region numbers from the labeller or the source; `None` if labels must match the source but don't.
    async fn label_as(
        &mut self,
        numbering: Numbering,
        options: &Options,
        is_held_against_source: bool,
    ) -> Option<(Accumulator, Distinct, Option<Births>)> {
        let trace = self.trace;
        let measured = &mut self.measured;
        let mut kinds = Kinds::default();
        let mut labeller = None;
        if numbering != Numbering::Source {
            let mut own = Labeller::new(options.rules.clone().unwrap_or_default(), options.unknown);
            measured.n_registered_pages = own.register(&options.ranges, &mut kinds);
            labeller = Some(own);
        }
        let mut labelling = Labelling {
            strings: &trace.strings,
            labeller,
            kinds,
            phase_of: PhaseOf::new(&options.phases),
            n_left_out: 0,
            is_held_against_source,
            differs_from_source: false,
            max_regions: options.max_regions.unwrap_or(match usize::BITS {
                32 => MAX_REGIONS_32_BIT,
                _ => usize::MAX,
            }),
            stopped: None,
        };
        let mut tables = Tables::new(numbering, trace.accesses.is_in_time_order());
        let n_threads = if trace.accesses.len() < MIN_ROWS_FOR_THREADS { 1 } else { n_threads() };
        labelling::label_all(&trace.accesses, &mut labelling, &mut tables, n_threads).await;
        let Labelling { labeller, kinds, n_left_out, differs_from_source, stopped, .. } = labelling;
        if differs_from_source {
            return None;
        }
        // Without implied results, nothing is missing.
        let is_all = tables.labels.len() == trace.accesses.len();
        let stopped = stopped.filter(|stopped| *stopped != Stopped::Full || !is_all);
        (measured.kinds, measured.n_left_out, measured.stopped) = (kinds, n_left_out, stopped);
        let Tables { labels, mut accumulator, regions, cache, coverage, pages, distinct, .. } = tables;
        (measured.labels, measured.coverage, measured.pages, measured.regions) =
            (labels, coverage, pages, regions);
        (measured.kv_pages, measured.kv_blocks) = (cache.pages, cache.blocks);
        measured.kv_blocks.settle();
        let births = labeller.map(|labeller| {
            accumulator.set_pages(measured.pages.len(), labeller.n_weight_pages());
            measured.pages.absorb(labeller.pages());
            labeller.into_births()
        });
        Some((accumulator, distinct, births))
    }

    /// Whether no row is earlier than the one before it.
    fn is_in_time_order(&self) -> bool {
        self.trace.accesses.is_in_time_order()
    }

    /// Calls `each` for labelled rows in time order (file order for ties), without skipped ones.
    pub fn for_each_in_time(&self, mut each: impl FnMut(Row)) {
        let mut each = |rows: &[Row]| rows.iter().for_each(|row| each(*row));
        if self.is_in_time_order() {
            steps::run(self.rows().for_each_block(&mut each));
        } else {
            let rows = self.rows();
            let in_order = row_table::in_time_order(&rows);
            let sorted = steps::run(steps::within(0.0, SORTING_SHARE, in_order));
            steps::run(steps::within(SORTING_SHARE, 1.0, sorted.for_each_block(&mut each)));
        }
    }

    /// Labelled rows in file order with all fields, without skipped ones.
    pub fn accesses(&self) -> impl Iterator<Item = (Access, Label)> + '_ {
        self.trace
            .accesses
            .iter()
            .zip(self.labels.iter())
            .filter_map(|(access, label)| Some((access, label?)))
    }

    /// Labelled rows with their phases.
    pub fn in_phases(&self) -> impl Iterator<Item = (Access, Label, Option<&str>)> + '_ {
        let mut phase_of = PhaseOf::new(&self.phases);
        self.accesses()
            .map(move |(access, label)| (access, label, phase_of.get(&access, &self.trace.strings)))
    }

    /// Phase of each labelled row, parallel to [`LabelledTrace::accesses`].
    pub fn phase_names(&self) -> impl Iterator<Item = Option<&str>> + '_ {
        self.in_phases().map(|(_, _, phase)| phase)
    }

    /// Labelled rows with the fields needed for metrics.
    fn rows(&self) -> Labelled<'_> {
        Labelled { accesses: &self.trace.accesses, labels: &self.labels }
    }

    /// The region with that number.
    pub fn region(&self, id: u32) -> Option<&Region> {
        self.regions.get(id)
    }
}

/// Labelled rows in file order.
struct Labelled<'a> {
    accesses: &'a AccessTable,
    labels: &'a Labels,
}

impl RowSource for Labelled<'_> {
    async fn for_each_block(&self, each: &mut dyn FnMut(&[Row])) {
        // In a box, as it lives on while paused.
        let mut blocks = Box::new(RowBlocks {
            accesses: self.accesses.blocks(Wanted::TOUCHES),
            labels: self.labels.blocks(),
            rows: Vec::with_capacity(bitpack::BLOCK),
        });
        let mut n_told = 0;
        while let Some(rows) = blocks.next_rows() {
            each(rows);
            n_told += rows.len();
            progress::tell(n_told as f64 / self.n_rows() as f64);
            pause().await;
        }
    }

    fn n_rows(&self) -> usize {
        self.labels.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::distinct_addresses::Pass;
    use super::super::exact_quantiles::Spread;
    use super::super::index::Addresses;
    use super::super::metrics::{Found, Walks};
    use super::*;
    use crate::trace::accesses::{Op, PAGE_BITS, RegionType};
    use proptest::prelude::*;

    const SYMBOLS: [&str; 6] =
        ["", "model_load", "llama_kv_get", "ggml_vec_dot_f16", "ggml_silu", "nobody_knows"];
    const REGIONS: [RegionType; 4] =
        [RegionType::Unknown, RegionType::Weight, RegionType::KvCache, RegionType::Activation];

    fn numbers_of(spread: &Spread) -> Vec<u64> {
        spread.at_places(&(0..spread.len()).collect::<Vec<u64>>())
    }

    fn numbers_of_all(intervals: &[(Kind, Spread)]) -> Vec<(Kind, Vec<u64>)> {
        intervals.iter().map(|(kind, spread)| (*kind, numbers_of(spread))).collect()
    }

    /// Labels with the kind numbers of a view.
    fn of_view(view: &LabelledTrace<'_>, labels: &[(Access, Label)]) -> Vec<(Access, Label)> {
        let mut kinds = view.kinds.clone();
        let of_row = |(access, label): &(Access, Label)| {
            (*access, Label { kind: kinds.of_row(access, &view.trace.strings), ..*label })
        };
        labels.iter().map(of_row).collect()
    }

    /// Compares the results of a view with a naive pass over each access, as if the regions had external numbers.
    fn check_each_by_itself(
        view: &LabelledTrace<'_>,
        labels: &[(Access, Label)],
    ) -> Result<(), TestCaseError> {
        prop_assert!(view.accesses().eq(labels.iter().copied()));
        let (mut all, mut regions) = (Accumulator::default(), RegionMap::default());
        let (mut lives, mut known) = (KvBlocks::default(), Addresses::default());
        let mut rows = Vec::new();
        for (access, Label { kind, region_id }) in labels.iter().copied() {
            let Access { ts, address, op, .. } = access;
            if kind != Kind::UNKNOWN {
                regions.count(region_id, kind, access.page(), ts);
            }
            rows.push(Row { ts, address, op, kind, region_id });
            all.add(&rows[rows.len() - 1]);
        }
        rows.sort_by_key(|row| row.ts);
        for row in rows.iter().filter(|row| row.kind == Kind::KV_CACHE) {
            let life = known.entry(row.address);
            lives.add(life, row.region_id, row.address, row.op == Op::Store, row.ts);
        }
        let (mut walks, mut found, mut pass) =
            (Walks::default(), Found::default(), Pass::new(0, 1, 0, Default::default()));
        walks.add(&rows, &all);
        rows.iter().for_each(|row| pass.add(row, &all, &mut found));
        pass.finish(&all, &mut found);
        let metrics = all.finish(walks, found);
        prop_assert_eq!(view.regions.regions(), regions.regions());
        prop_assert!(view.kv_blocks.lives().eq(lives.lives()));
        prop_assert_eq!(&view.metrics.regions, &metrics.regions);
        prop_assert_eq!(&view.metrics.strides, &metrics.strides);
        prop_assert_eq!(numbers_of_all(&view.metrics.intervals), numbers_of_all(&metrics.intervals));
        Ok(())
    }

    /// With outlying region numbers, table sizes follow the number of regions, not the numbers.
    #[test]
    fn a_wild_number_of_a_region_costs_no_memory() {
        for (wild, region) in [(1u32 << 31 | 5, 7), (u32::MAX, 1), (1 << 31, 0)] {
            let mut trace = Trace::default();
            for at in 0..40u64 {
                let region_id = if at == region || at == region + 20 { wild } else { 2 + at as u32 % 9 };
                trace.accesses.push(&Access {
                    ts: at as i64,
                    address: at % 9 * 4096,
                    op: Op::Store,
                    region: RegionType::KvCache,
                    region_id,
                    ..Access::default()
                });
            }
            trace.accesses.set_labelled(true);
            let view = LabelledTrace::new(&trace, &Options::default());
            assert!(view.accesses().all(|(access, label)| access.region_id == label.region_id));
            assert_eq!(view.regions.regions().len(), 10);
            assert_eq!(view.metrics.regions.len(), 10);
            // In an order that differs from the labeller's, so that the source labels are used.
            let view = LabelledTrace::new(&trace, &Options { is_anew: true, ..Options::default() });
            assert_eq!(view.stopped, None);
        }
    }

    proptest! {
        /// Results implied by the labeller's regions equal those of a naive pass over each access.
        #[test]
        fn shortcuts_change_nothing(
            rows in prop::collection::vec((-1..4i64, 0..60u64, 0..3usize, 0..6usize, 0..12usize), 0..2500),
            is_ordered: bool,
            marked in prop::collection::vec((0..16u64, 0..5usize), 0..3),
            unknown in 0..4usize,
        ) {
            let mut trace = Trace::default();
            let mut ts = 0;
            for (step, place, op, symbol, region) in rows {
                ts += if is_ordered { step.max(0) } else { step };
                let symbol = trace.strings.intern(SYMBOLS[symbol]);
                trace.accesses.push(&Access {
                    ts,
                    address: place * 1000,
                    op: Op::ALL[op],
                    symbol: Some(symbol),
                    region: REGIONS.get(region).copied().unwrap_or_default(),
                    ..Access::default()
                });
            }
            let names = ["weight", "kv_cache", "activation", "unknown", "mine"];
            let range = |(page, name): &(u64, usize)| AddressRange {
                addr_start: page << PAGE_BITS,
                addr_end: (page + 2) << PAGE_BITS,
                region_type: names[*name].to_string(),
            };
            let policies =
                [UnknownPolicy::Keep, UnknownPolicy::Skip, UnknownPolicy::Error, UnknownPolicy::Runtime];
            let options = Options {
                unknown: policies[unknown],
                ranges: marked.iter().map(range).collect(),
                ..Options::default()
            };
            let view = LabelledTrace::new(&trace, &options);

            // Each label separately, without prefetched state.
            let (mut labeller, mut kinds) = (Labeller::new(Rules::default(), options.unknown), Kinds::default());
            labeller.register(&options.ranges, &mut kinds);
            let labels = trace.accesses.iter().map_while(|row| {
                let label = labeller.label(&row, None, &trace.strings, &mut kinds).ok()?;
                Some((row, label))
            });
            let mut labels: Vec<(Access, Label)> =
                labels.filter_map(|(row, label)| Some((row, label?))).collect();
            prop_assert!(view.accesses().eq(labels.iter().copied()));

            check_each_by_itself(&view, &labels)?;
            // The same rows with these labels from a file; then with labels that the labeller would not assign.
            let mut stored = Trace::default();
            stored.strings = trace.strings.clone();
            for (access, label) in &mut labels {
                (access.region, access.region_text) = (RegionType::of_name(kinds.name(label.kind)), None);
                if access.region == RegionType::Other {
                    access.region_text = Some(stored.strings.intern(kinds.name(label.kind)));
                }
                access.region_id = label.region_id;
                stored.accesses.push(access);
            }
            stored.accesses.set_labelled(true);
            let view = LabelledTrace::new(&stored, &Options::default());
            prop_assert!(view.has_labels_of_source);
            check_each_by_itself(&view, &of_view(&view, &labels))?;
            let mut odd = Trace::default();
            odd.strings = stored.strings.clone();
            for (at, (access, label)) in labels.iter_mut().enumerate() {
                if at % 7 == 6 {
                    label.region_id = 3 + at as u32 % 5;
                }
                access.region_id = label.region_id;
                odd.accesses.push(access);
            }
            odd.accesses.set_labelled(true);
            let view = LabelledTrace::new(&odd, &Options::default());
            check_each_by_itself(&view, &of_view(&view, &labels))?;
        }
    }
}

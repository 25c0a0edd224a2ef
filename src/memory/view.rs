//! A trace with its labels: what reports look at.
//!
//! Several passes over the accesses, a block of them at a time. The first one labels them in the order of the file (labels are kept packed, some bytes a
//! row) and counts what does not depend on time; the others feed the rest of the metrics. Where rows are not in order of time, what depends on that is told a sorted copy of them, which is packed
//! as well. What grows with the number of rows is packed; the rest grows
//! with pages, regions and key/value blocks.

use super::index::{Addresses, PageSet};
use super::kinds::{Kind, Kinds};
use super::kv::{KvBlocks, KvPages};
use super::labeller::{Label, Labeller, Region, RegionMap, Seen, Unclassified, UnknownPolicy};
use super::metrics::{Accumulator, Metrics, Numbering, Row, RowSource, measure_in_time};
use super::once::Distinct;
use super::phases::{Phases, PhasesByTime};
use super::quality::Coverage;
use super::ranges::AddressRange;
use super::row_table;
use super::rules::Rules;
use crate::base::strings::StringId;
use crate::base::tight;
use crate::trace::Trace;
use crate::trace::accesses::{Access, AccessTable, Blocks, Op, Optional, PAGE_BITS, Wanted};
use std::hint::black_box;

/// What the person gave.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// When which phase was; rows that have a phase of their own keep it.
    pub phases: Phases,
    /// In place of the rules that come along.
    pub rules: Option<Rules>,
    pub unknown: UnknownPolicy,
    /// What is known of addresses beforehand.
    pub ranges: Vec<AddressRange>,
}

/// Labels of rows, in their order, by blocks that are those of the accesses.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    packed: Vec<u8>,
    /// Labels of each block.
    sizes: Vec<u16>,
    /// Kinds and regions of the last rows, which are no block yet.
    open: [Vec<i64>; 2],
    n: usize,
}

/// Stands for a row that is left out.
const LEFT_OUT: i64 = -1;

impl Labels {
    /// The next label; at most [`tight::BLOCK`] until the block ends.
    fn push(&mut self, label: Option<Label>) {
        let [kinds, regions] = &mut self.open;
        kinds.push(label.map_or(LEFT_OUT, |label| i64::from(label.kind.0)));
        regions.push(label.map_or(0, |label| i64::from(label.region_id)));
        self.n += 1;
    }

    /// Packs the labels since the last block.
    fn end_block(&mut self) {
        self.sizes.push(self.open[0].len() as u16);
        for lane in &mut self.open {
            tight::write_block(lane, &mut self.packed);
            lane.clear();
        }
    }

    /// Number of rows that were labelled or left out.
    pub fn len(&self) -> usize {
        self.n
    }

    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// One by one; `None` for rows that are left out.
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
        LabelBlocks { sizes: self.sizes.iter(), rest: &self.packed, lanes: [[0; tight::BLOCK]; 2] }
    }
}

fn label_of(lanes: &[[i64; tight::BLOCK]; 2], at: usize) -> Option<Label> {
    let at = at % tight::BLOCK;
    u32::try_from(lanes[0][at]).ok().map(|kind| Label { kind: Kind(kind), region_id: lanes[1][at] as u32 })
}

/// Labels a block at a time.
struct LabelBlocks<'a> {
    sizes: std::slice::Iter<'a, u16>,
    rest: &'a [u8],
    lanes: [[i64; tight::BLOCK]; 2],
}

impl LabelBlocks<'_> {
    /// The next block with the number of its labels; 0 behind the last one.
    fn next_labels(&mut self) -> (&[[i64; tight::BLOCK]; 2], usize) {
        let n_labels = self.sizes.next().map_or(0, |n| usize::from(*n).min(tight::BLOCK));
        if n_labels > 0 {
            for lane in &mut self.lanes {
                self.rest = tight::read_block(self.rest, &mut lane[..n_labels]).unwrap_or_default();
            }
        }
        (&self.lanes, n_labels)
    }
}

/// Labelled rows a block at a time.
struct RowBlocks<'a> {
    accesses: Blocks<'a>,
    labels: LabelBlocks<'a>,
    rows: Vec<Row>,
}

impl RowBlocks<'_> {
    /// The next rows, without those that were left out; `None` behind the last ones.
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
        // Labels end early where labelling has stopped.
        (n_labels > 0).then_some(&self.rows)
    }
}

/// A trace with its labels.
pub struct View<'a> {
    pub trace: &'a Trace,
    pub kinds: Kinds,
    pub labels: Labels,
    pub phases: Phases,
    /// In order of appearance.
    pub regions: RegionMap,
    pub kv_pages: KvPages,
    pub kv_blocks: KvBlocks,
    /// Rows of no known kind that were left out.
    pub n_left_out: u64,
    /// Why labelling stopped before the end.
    pub stopped: Option<Unclassified>,
    /// Pages that were known beforehand.
    pub n_registered_pages: u64,
    pub coverage: Coverage,
    /// Distinct pages that rows touch.
    pub pages: PageSet,
    pub metrics: Metrics,
}

/// Phases of rows: their own, else those of the person. Rows mostly are in the phase of the one before.
struct PhaseOf<'p> {
    phases: &'p Phases,
    by_time: PhasesByTime,
    known: (Option<usize>, i64, i64),
    /// The latest one that a row had of its own.
    own: Option<(StringId, &'p str)>,
}

impl<'p> PhaseOf<'p> {
    fn new(phases: &'p Phases) -> PhaseOf<'p> {
        PhaseOf { phases, by_time: phases.by_time(), known: (None, 0, 0), own: None }
    }

    #[inline]
    fn get(&mut self, row: &Access, trace: &'p Trace) -> Option<&'p str> {
        if let Some(id) = row.phase {
            if let Some((known, text)) = self.own
                && known == id
            {
                return Some(text);
            }
            let text = trace.strings.get(id);
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

impl<'a> View<'a> {
    pub fn new(trace: &'a Trace, options: &Options) -> View<'a> {
        let mut view = View {
            trace,
            kinds: Kinds::default(),
            labels: Labels::default(),
            phases: options.phases.clone(),
            regions: RegionMap::default(),
            kv_pages: KvPages::default(),
            kv_blocks: KvBlocks::default(),
            n_left_out: 0,
            stopped: None,
            n_registered_pages: 0,
            coverage: Coverage::default(),
            pages: PageSet::default(),
            metrics: Metrics::default(),
        };
        let (accumulator, distinct) = view.label(options);
        let (walks, found) = if view.is_in_time_order() {
            measure_in_time(&view.rows(), &distinct, &accumulator)
        } else {
            let sorted = row_table::in_time_order(&view.rows());
            measure_in_time(&sorted, &distinct, &accumulator)
        };
        view.metrics = accumulator.finish(walks, found);
        view
    }

    /// Labels all rows, and counts what does not depend on their order in time.
    fn label(&mut self, options: &Options) -> (Accumulator, Distinct) {
        let trace = self.trace;
        let mut labeller = Labeller::new(options.rules.clone().unwrap_or_default(), options.unknown);
        self.n_registered_pages = labeller.register(&options.ranges, &mut self.kinds);
        let mut phase_of = PhaseOf::new(&options.phases);
        let is_labelled = trace.accesses.is_labelled();
        let numbering = match is_labelled {
            true => Numbering::Source,
            false => Numbering::Own { is_in_time_order: self.is_in_time_order() },
        };
        let (mut accumulator, mut distinct) = (Accumulator::new(numbering), Distinct::default());
        // Where nothing is to be labelled, nobody else knows addresses.
        let mut kv_addresses = Addresses::default();
        let wanted = Wanted::with(&[
            Optional::OpText,
            Optional::Phase,
            Optional::Symbol,
            Optional::Dso,
            Optional::RegionText,
        ]);
        let mut blocks = trace.accesses.blocks(wanted);
        let mut seen = [Seen::NOTHING; tight::BLOCK];
        'blocks: while let Some(rows) = blocks.next_rows() {
            if !is_labelled {
                self.see(rows.addresses(), &labeller, &accumulator, &mut seen);
            }
            for (at, seen) in seen.iter().enumerate().take(rows.len()) {
                let row = rows.access(at);
                let given = self.kinds.of_row(&row, &trace.strings);
                let label = if is_labelled {
                    if given != Kind::UNKNOWN {
                        self.regions.count(row.region_id, given, row.page(), row.ts);
                    }
                    Ok(Some(Label { kind: given, region_id: row.region_id }))
                } else if let Some(label) = labeller.label_seen(seen, given, row.address, row.ts) {
                    Ok(Some(label))
                } else {
                    let phase = phase_of.get(&row, trace);
                    labeller.label(&row, phase, &trace.strings, &mut self.kinds)
                };
                let label = match label {
                    Ok(label) => label,
                    Err(unclassified) => {
                        self.stopped = Some(unclassified);
                        break 'blocks;
                    }
                };
                self.labels.push(label);
                let Some(label) = label else {
                    self.n_left_out += 1;
                    continue;
                };
                // Pages of known kinds are known to who labels.
                if is_labelled || label.kind == Kind::UNKNOWN {
                    self.pages.insert(row.page());
                }
                let has_symbol = row.symbol.is_some_and(|id| id != StringId::EMPTY);
                self.coverage.add(row.latency.is_some(), row.cache_level.is_some(), has_symbol, label.kind);
                if label.kind == Kind::KV_CACHE {
                    let is_store = row.op == Op::Store;
                    self.kv_pages.add(label.region_id, row.address, row.page(), is_store, row.ts);
                    let life = match is_labelled {
                        true => Some(&mut kv_addresses.entry(row.address).1.life),
                        false => labeller.kv_life(),
                    };
                    if let Some(life) = life {
                        self.kv_blocks.add(life, label.region_id, row.address, is_store, row.ts);
                    }
                }
                let Label { kind, region_id } = label;
                accumulator.add(&Row { ts: row.ts, address: row.address, op: row.op, kind, region_id });
                if !accumulator.knows_addresses_of(kind) {
                    distinct.see(row.address);
                }
            }
            self.labels.end_block();
        }
        self.labels.end_block();
        if !is_labelled {
            accumulator.set_pages(self.pages.len(), labeller.n_weight_pages());
            self.pages.absorb(labeller.pages());
            self.regions = labeller.into_regions(&accumulator);
        }
        (accumulator, distinct)
    }

    /// Finds out what is known of the next addresses, each by itself, so that no look into memory waits for another; what is known of
    /// their regions is only looked at, to be near the processor when they are labelled.
    fn see(&self, addresses: &[i64], labeller: &Labeller, accumulator: &Accumulator, seen: &mut [Seen]) {
        for (seen, address) in seen.iter_mut().zip(addresses) {
            *seen = labeller.see(*address as u64);
        }
        let mut looks = 0;
        for (seen, address) in seen.iter().zip(addresses) {
            looks ^= accumulator.see(seen.region_id());
            if seen.life > 0 {
                let page = *address as u64 >> PAGE_BITS;
                looks ^= self.kv_blocks.see(seen.life) ^ self.kv_pages.see(page);
            }
        }
        black_box(looks);
    }

    /// Whether no row is earlier than the one before it.
    fn is_in_time_order(&self) -> bool {
        self.trace.accesses.is_in_time_order()
    }

    /// Tells `each` of labelled rows in order of time, those of one time in the order of the file, without those that were left out.
    pub fn for_each_in_time(&self, mut each: impl FnMut(Row)) {
        let mut each = |rows: &[Row]| rows.iter().for_each(|row| each(*row));
        if self.is_in_time_order() {
            self.rows().for_each_block(&mut each);
        } else {
            row_table::in_time_order(&self.rows()).for_each_block(&mut each);
        }
    }

    /// Labelled rows in the order of the file, without those that were left out, with everything that is known of them.
    pub fn accesses(&self) -> impl Iterator<Item = (Access, Label)> + '_ {
        self.trace
            .accesses
            .iter()
            .zip(self.labels.iter())
            .filter_map(|(access, label)| Some((access, label?)))
    }

    /// The same with the phase of each.
    pub fn in_phases(&self) -> impl Iterator<Item = (Access, Label, Option<&str>)> + '_ {
        let mut phase_of = PhaseOf::new(&self.phases);
        self.accesses().map(move |(access, label)| (access, label, phase_of.get(&access, self.trace)))
    }

    /// Phase of each labelled row, beside [`View::accesses`].
    pub fn phase_names(&self) -> impl Iterator<Item = Option<&str>> + '_ {
        self.in_phases().map(|(_, _, phase)| phase)
    }

    /// Labelled rows by the numbers that metrics are made of.
    fn rows(&self) -> Labelled<'_> {
        Labelled { accesses: &self.trace.accesses, labels: &self.labels }
    }

    /// The region with that number.
    pub fn region(&self, id: u32) -> Option<&Region> {
        self.regions.get(id)
    }
}

/// Labelled rows in the order of the file.
struct Labelled<'a> {
    accesses: &'a AccessTable,
    labels: &'a Labels,
}

impl RowSource for Labelled<'_> {
    fn for_each_block(&self, each: &mut dyn FnMut(&[Row])) {
        let mut blocks = RowBlocks {
            accesses: self.accesses.blocks(Wanted::TOUCHES),
            labels: self.labels.blocks(),
            rows: Vec::with_capacity(tight::BLOCK),
        };
        while let Some(rows) = blocks.next_rows() {
            each(rows);
        }
    }

    fn n_rows(&self) -> usize {
        self.labels.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::metrics::{Found, Walks};
    use super::super::once::Pass;
    use super::super::spread::Spread;
    use super::*;
    use crate::trace::accesses::RegionType;
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

    proptest! {
        /// What is known of regions because of how they are made is what looking at each access finds.
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
            let view = View::new(&trace, &options);

            // Each label by itself, without anything known beforehand.
            let (mut labeller, mut kinds) = (Labeller::new(Rules::default(), options.unknown), Kinds::default());
            labeller.register(&options.ranges, &mut kinds);
            let labels = trace.accesses.iter().map_while(|row| {
                let label = labeller.label(&row, None, &trace.strings, &mut kinds).ok()?;
                Some((row, label))
            });
            let labels: Vec<(Access, Label)> =
                labels.filter_map(|(row, label)| Some((row, label?))).collect();
            prop_assert!(view.accesses().eq(labels.iter().copied()));

            // Each access by itself, as if somebody else had numbered the regions.
            let (mut all, mut regions) = (Accumulator::default(), RegionMap::default());
            let (mut lives, mut known) = (KvBlocks::default(), Addresses::default());
            let mut rows = Vec::new();
            for (access, Label { kind, region_id }) in labels {
                let Access { ts, address, op, .. } = access;
                if kind != Kind::UNKNOWN {
                    regions.count(region_id, kind, access.page(), ts);
                }
                if kind == Kind::KV_CACHE {
                    let life = &mut known.entry(address).1.life;
                    lives.add(life, region_id, address, op == Op::Store, ts);
                }
                rows.push(Row { ts, address, op, kind, region_id });
                all.add(&rows[rows.len() - 1]);
            }
            rows.sort_by_key(|row| row.ts);
            let (mut walks, mut found, mut pass) = (Walks::default(), Found::default(), Pass::new(0, 1, 0));
            walks.add(&rows, &all);
            rows.iter().for_each(|row| pass.add(row, &all, &mut found));
            pass.finish(&all, &mut found);
            let metrics = all.finish(walks, found);
            prop_assert_eq!(view.regions.regions(), regions.regions());
            prop_assert_eq!(view.kv_blocks.lives(), lives.lives());
            prop_assert_eq!(&view.metrics.regions, &metrics.regions);
            prop_assert_eq!(&view.metrics.strides, &metrics.strides);
            prop_assert_eq!(numbers_of_all(&view.metrics.intervals), numbers_of_all(&metrics.intervals));
        }
    }
}

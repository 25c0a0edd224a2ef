//! A trace with its labels: what reports look at.
//!
//! Several passes over the accesses. The first one labels them in the order of the file (labels are kept packed, some bytes a
//! row); the others feed the metrics. Where rows are not in order of time, what depends on that is told a sorted copy of them, which is packed
//! as well. What grows with the number of rows is packed; the rest grows
//! with pages, regions and key/value blocks.

use super::index::PageSet;
use super::kinds::{Kind, Kinds};
use super::kv::{KvBlocks, KvPages};
use super::labeller::{Label, Labeller, Region, RegionMap, Unclassified, UnknownPolicy};
use super::metrics::{self, Metrics, Row};
use super::phases::{Phases, PhasesByTime};
use super::quality::Coverage;
use super::ranges::AddressRange;
use super::row_table;
use super::rules::Rules;
use crate::base::tight;
use crate::trace::Trace;
use crate::trace::accesses::{Access, Op};

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

/// Labels of rows, in their order.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    packed: Vec<u8>,
    open: Vec<Option<Label>>,
    n: usize,
}

/// Stands for a row that is left out.
const LEFT_OUT: i64 = -1;

impl Labels {
    fn push(&mut self, label: Option<Label>) {
        self.open.push(label);
        self.n += 1;
        if self.open.len() == tight::BLOCK {
            let lanes: [fn(&Option<Label>) -> i64; 2] = [
                |label| label.map_or(LEFT_OUT, |label| i64::from(label.kind.0)),
                |label| label.map_or(0, |label| i64::from(label.region_id)),
            ];
            for lane in lanes {
                let mut values = [0; tight::BLOCK];
                values.iter_mut().zip(&self.open).for_each(|(value, label)| *value = lane(label));
                tight::write_block(&values, &mut self.packed);
            }
            self.open.clear();
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
        let mut rest = self.packed.as_slice();
        let mut lanes = [[0i64; tight::BLOCK]; 2];
        let packed = (0..self.n - self.open.len()).map(move |at| {
            let at = at % tight::BLOCK;
            if at == 0 {
                for lane in &mut lanes {
                    rest = tight::read_block(rest, lane).unwrap_or_default();
                }
            }
            u32::try_from(lanes[0][at])
                .ok()
                .map(|kind| Label { kind: Kind(kind), region_id: lanes[1][at] as u32 })
        });
        packed.chain(self.open.iter().copied())
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
}

impl<'p> PhaseOf<'p> {
    fn new(phases: &'p Phases) -> PhaseOf<'p> {
        PhaseOf { phases, by_time: phases.by_time(), known: (None, 0, 0) }
    }

    fn get<'r>(&mut self, row: &Access, trace: &'r Trace) -> Option<&'r str>
    where
        'p: 'r,
    {
        if let Some(own) = row.phase {
            return Some(trace.strings.get(own));
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
        view.label(options);
        view.metrics = metrics::of_rows(|| view.rows(), view.coverage.n_rows, view.is_in_time_order());
        view
    }

    /// Labels all rows.
    fn label(&mut self, options: &Options) {
        let trace = self.trace;
        let mut labeller = Labeller::new(options.rules.clone().unwrap_or_default(), options.unknown);
        self.n_registered_pages = labeller.register(&options.ranges, &mut self.kinds);
        let mut phase_of = PhaseOf::new(&options.phases);
        for row in trace.accesses.iter() {
            let label = if trace.accesses.is_labelled() {
                let kind = self.kinds.of_row(&row, &trace.strings);
                if kind != Kind::UNKNOWN {
                    self.regions.count(row.region_id, kind, row.page(), row.ts);
                }
                Ok(Some(Label { kind, region_id: row.region_id }))
            } else {
                let phase = phase_of.get(&row, trace);
                labeller.label(&row, phase, &trace.strings, &mut self.kinds)
            };
            let label = match label {
                Ok(label) => label,
                Err(unclassified) => {
                    self.stopped = Some(unclassified);
                    break;
                }
            };
            self.labels.push(label);
            let Some(label) = label else {
                self.n_left_out += 1;
                continue;
            };
            self.pages.insert(row.page());
            let has_symbol = row.symbol.is_some_and(|id| !trace.strings.get(id).is_empty());
            self.coverage.add(row.latency.is_some(), row.cache_level.is_some(), has_symbol, label.kind);
            if label.kind == Kind::KV_CACHE {
                let is_store = row.op == Op::Store;
                self.kv_pages.add(label.region_id, row.address, row.page(), is_store, row.ts);
                self.kv_blocks.add(label.region_id, row.address, is_store, row.ts);
            }
        }
        if !trace.accesses.is_labelled() {
            self.regions = labeller.into_regions();
        }
    }

    /// Whether no row is earlier than the one before it.
    fn is_in_time_order(&self) -> bool {
        self.trace.accesses.is_in_time_order()
    }

    /// Labelled rows in the order of the file, without those that were left out.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        self.trace.accesses.touches().zip(self.labels.iter()).filter_map(|(touch, label)| {
            let Label { kind, region_id } = label?;
            Some(Row { ts: touch.ts, address: touch.address, op: touch.op, kind, region_id })
        })
    }

    /// Tells `each` of the same rows in order of time, those of one time in the order of the file.
    pub fn for_each_in_time(&self, each: impl FnMut(Row)) {
        if self.is_in_time_order() {
            self.rows().for_each(each);
        } else {
            row_table::in_time_order(|| self.rows(), self.coverage.n_rows).iter().for_each(each);
        }
    }

    /// The same with everything that is known of them.
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

    /// The region with that number.
    pub fn region(&self, id: u32) -> Option<&Region> {
        self.regions.get(id)
    }
}

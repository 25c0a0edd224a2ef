//! Labels all rows of a trace in batches of blocks.
//!
//! Each batch takes three steps. Pages and addresses are looked up, independently for each row. Then rows are labelled
//! sequentially, as each can affect the following ones. Labelled rows then update independent
//! tables (regions, block lifetimes, pages, stored labels), each in file order.
//!
//! With threads, lookups run in parallel by block, and while a batch is labelled, the tables process the previous one. The
//! results don't depend on threads or batch sizes.

use super::distinct_addresses::Distinct;
use super::index::{Addresses, PageSet};
use super::kinds::{Kind, Kinds};
use super::kv::{KvBlocks, KvPages};
use super::labeller::{Label, Labeller, RegionMap, Seen, Unclassified};
use super::metrics::{Accumulator, Numbering, Row};
use super::quality::Coverage;
use super::view::{Labels, PhaseOf};
use crate::base::progress;
use crate::base::steps::pause;
use crate::base::strings::{StringId, StringTable};
use crate::base::threads::{self, Task};
use crate::trace::accesses::{Access, AccessTable, Blocks, Op, Optional, PAGE_BITS, Wanted};
use std::hint::black_box;

/// Blocks per batch: enough to be worth starting threads, few enough to stay in the CPU cache of a single thread.
const BATCH_BLOCKS: usize = 64;
const BATCH_BLOCKS_OF_ONE: usize = 4;

/// Flags of a row.
const HAS_LATENCY: u8 = 1;
const HAS_LEVEL: u8 = 2;
const HAS_SYMBOL: u8 = 4;
/// The row is skipped.
const IS_LEFT_OUT: u8 = 8;

/// A block of rows in the pipeline.
#[derive(Default)]
struct Block {
    /// Rows with kind and region from the source, until they are labelled.
    rows: Vec<Row>,
    flags: Vec<u8>,
    /// Prefetched state of each row; empty if the source has labels.
    seen: Vec<Seen>,
    /// Rows that may need full data for classification, with their indexes, ascending.
    whole: Vec<(usize, Access)>,
}

impl Block {
    fn clear(&mut self) {
        self.rows.clear();
        self.flags.clear();
        self.seen.clear();
        self.whole.clear();
    }

    /// Loads the next rows of `blocks`, with prefetched state if they need labels.
    fn fill(&mut self, blocks: &mut Blocks<'_>, labeller: Option<&Labeller>) {
        self.clear();
        let Some(rows) = blocks.next_rows() else { return };
        if let Some(labeller) = labeller {
            self.seen.extend(rows.addresses().iter().map(|address| labeller.see(*address as u64)));
        }
        for at in 0..rows.len() {
            let row = rows.access(at);
            let given = Kind::of_region(row.region);
            let is_told = match self.seen.get(at) {
                Some(seen) => given.is_some_and(|given| seen.tells(given)),
                None => given.is_some(),
            };
            if !is_told {
                self.whole.push((at, row));
            }
            let has_symbol = row.symbol.is_some_and(|id| id != StringId::EMPTY);
            let flag = |is_there, flag| if is_there { flag } else { 0 };
            self.flags.push(
                flag(row.latency.is_some(), HAS_LATENCY)
                    | flag(row.cache_level.is_some(), HAS_LEVEL)
                    | flag(has_symbol, HAS_SYMBOL),
            );
            let Access { ts, address, op, region_id, .. } = row;
            self.rows.push(Row { ts, address, op, kind: given.unwrap_or(Kind::UNKNOWN), region_id });
        }
    }

    /// Rows that are not skipped, once labelled.
    fn labelled(&self) -> impl Iterator<Item = (&Row, u8)> {
        let rows = self.rows.iter().zip(self.flags.iter().copied());
        rows.filter(|(_, flags)| flags & IS_LEFT_OUT == 0)
    }

    fn labels(&self) -> impl Iterator<Item = Option<Label>> {
        self.rows.iter().zip(&self.flags).map(|(row, flags)| {
            let Row { kind, region_id, .. } = *row;
            (flags & IS_LEFT_OUT == 0).then_some(Label { kind, region_id })
        })
    }
}

/// Sequential labelling of rows.
pub struct Labelling<'a> {
    pub strings: &'a StringTable,
    /// `None` if the source has labelled all rows.
    pub labeller: Option<Labeller>,
    pub kinds: Kinds,
    pub phase_of: PhaseOf<'a>,
    pub n_left_out: u64,
    /// Whether labels must match those of the source, and whether one differs, at which labelling stops.
    pub is_held_against_source: bool,
    pub differs_from_source: bool,
    /// Limit on regions.
    pub max_regions: usize,
    /// Reason why labelling stopped early.
    pub stopped: Option<Stopped>,
}

/// Reason why labelling stopped early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// An access of unknown kind, under the `error` policy.
    Unclassified(Unclassified),
    /// The region limit is reached.
    Full,
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stopped::Unclassified(unclassified) => unclassified.fmt(f),
            Stopped::Full => f.write_str("out of memory for regions"),
        }
    }
}

impl Labelling<'_> {
    /// Whether labelling has stopped.
    fn is_over(&self) -> bool {
        self.stopped.is_some() || self.differs_from_source
    }

    /// Labels the rows of a batch; drops the rest if it stops.
    fn label(&mut self, batch: &mut [Block]) {
        for block in batch {
            if self.is_over() {
                block.clear();
                continue;
            }
            match self.labeller.is_some() {
                true => self.label_block(block),
                false => self.name_kinds(block),
            }
        }
    }

    /// Kinds of a labelled source, by name.
    fn name_kinds(&mut self, block: &mut Block) {
        for (at, whole) in &block.whole {
            if let Some(row) = block.rows.get_mut(*at) {
                row.kind = self.kinds.of_row(whole, self.strings);
            }
        }
    }

    fn label_block(&mut self, block: &mut Block) {
        let Some(labeller) = &mut self.labeller else { return };
        let strings = self.strings;
        let mut whole = block.whole.iter().peekable();
        let rows = block.rows.iter_mut().zip(&mut block.flags).zip(&block.seen);
        for (at, ((row, flags), seen)) in rows.enumerate() {
            let mut given = row.kind;
            let label = match whole.next_if(|(place, _)| *place == at) {
                Some((_, whole)) => {
                    given = self.kinds.of_row(whole, strings);
                    let phase = self.phase_of.get(whole, strings);
                    labeller.label_given(whole, given, phase, strings, &mut self.kinds)
                }
                None => match labeller.label_seen(seen, given, row.address, row.ts) {
                    Some(label) => Ok(Some(label)),
                    // The kind of the page is known, so it decides.
                    None => {
                        let Row { ts, address, op, .. } = *row;
                        let access = Access { ts, address, op, ..Access::default() };
                        labeller.label_given(&access, given, None, strings, &mut self.kinds)
                    }
                },
            };
            match label {
                Ok(Some(label)) => {
                    if self.is_held_against_source && (label.kind, label.region_id) != (given, row.region_id)
                    {
                        self.differs_from_source = true;
                        // Rows from here on have region numbers from the file, which must not be used as indexes.
                        block.rows.truncate(at);
                        block.flags.truncate(at);
                        return;
                    }
                    (row.kind, row.region_id) = (label.kind, label.region_id);
                    if labeller.n_regions() >= self.max_regions {
                        self.stopped = Some(Stopped::Full);
                        block.rows.truncate(at + 1);
                        block.flags.truncate(at + 1);
                        return;
                    }
                }
                Ok(None) => {
                    *flags |= IS_LEFT_OUT;
                    self.n_left_out += 1;
                }
                Err(unclassified) => {
                    self.stopped = Some(Stopped::Unclassified(unclassified));
                    block.rows.truncate(at);
                    block.flags.truncate(at);
                    return;
                }
            }
        }
    }
}

/// State of the key/value cache.
#[derive(Default)]
pub struct Cache {
    pub pages: KvPages,
    /// Empty unless the rows are in time order; see [`KvBlocks::in_time`].
    pub blocks: KvBlocks,
    has_blocks: bool,
    /// Current lifetimes, counted from 1: by address if regions can have several, else by region.
    by_address: Addresses,
    by_region: Vec<u32>,
}

impl Cache {
    fn add(&mut self, block: &Block, numbering: Numbering) {
        let rows = || block.labelled().map(|(row, _)| row).filter(|row| row.kind == Kind::KV_CACHE);
        // Prefetch all of them with independent reads.
        let mut seen = 0;
        for row in rows() {
            seen ^= self.pages.see(row.address >> PAGE_BITS);
            if !self.has_blocks {
                continue;
            }
            let life = match numbering {
                Numbering::Source => self.by_address.get(row.address),
                Numbering::Own { .. } => self.by_region.get(row.region_id as usize).copied().unwrap_or(0),
            };
            seen ^= self.blocks.see(life);
        }
        black_box(seen);
        for row in rows() {
            let Row { ts, address, region_id, .. } = *row;
            let is_store = row.op == Op::Store;
            self.pages.add(region_id, address, address >> PAGE_BITS, is_store, ts);
            if !self.has_blocks {
                continue;
            }
            let life = match numbering {
                Numbering::Source => self.by_address.entry(address),
                Numbering::Own { .. } => {
                    let at = region_id as usize;
                    if self.by_region.len() <= at {
                        self.by_region.resize(at + 1, 0);
                    }
                    &mut self.by_region[at]
                }
            };
            self.blocks.add(life, region_id, address, is_store, ts);
        }
    }
}

/// Tables updated from labelled rows, independent of each other.
pub struct Tables {
    pub numbering: Numbering,
    pub labels: Labels,
    pub accumulator: Accumulator,
    /// Regions of a labelled source; otherwise they follow from the labeller.
    pub regions: RegionMap,
    pub cache: Cache,
    pub coverage: Coverage,
    /// Pages of rows that no other table tracks.
    pub pages: PageSet,
    pub distinct: Distinct,
}

impl Tables {
    /// `is_in_time_order`: whether the rows are, so that block lifetimes can be counted as they come.
    pub fn new(numbering: Numbering, is_in_time_order: bool) -> Tables {
        Tables {
            numbering,
            labels: Labels::default(),
            accumulator: Accumulator::new(numbering),
            regions: RegionMap::default(),
            cache: Cache { has_blocks: is_in_time_order, ..Cache::default() },
            coverage: Coverage::default(),
            pages: PageSet::default(),
            distinct: Distinct::default(),
        }
    }

    /// Tasks for a labelled batch, longest first.
    fn tasks<'b>(&'b mut self, batch: &'b [Block]) -> Vec<Task<'b>> {
        let Tables { numbering, labels, accumulator, regions, cache, coverage, pages, distinct } = self;
        let numbering = *numbering;
        let mut tasks: Vec<Task<'b>> = vec![
            Box::new(move || batch.iter().for_each(|block| accumulate(block, accumulator))),
            Box::new(move || batch.iter().for_each(|block| cache.add(block, numbering))),
            Box::new(move || batch.iter().for_each(|block| see_pages(block, numbering, pages, distinct))),
            Box::new(move || batch.iter().for_each(|block| cover(block, coverage))),
            Box::new(move || batch.iter().for_each(|block| labels.push_block(block.labels()))),
        ];
        if numbering == Numbering::Source {
            tasks.push(Box::new(move || batch.iter().for_each(|block| count_regions(block, regions))));
        }
        tasks
    }
}

fn accumulate(block: &Block, accumulator: &mut Accumulator) {
    // As in `Cache::add`.
    black_box(block.rows.iter().fold(0, |seen, row| seen ^ accumulator.see(row.region_id)));
    block.labelled().for_each(|(row, _)| accumulator.add(row));
}

fn see_pages(block: &Block, numbering: Numbering, pages: &mut PageSet, distinct: &mut Distinct) {
    for (row, _) in block.labelled() {
        // The labeller tracks pages of known kinds.
        if numbering == Numbering::Source || row.kind == Kind::UNKNOWN {
            pages.insert(row.address >> PAGE_BITS);
        }
        if !numbering.knows_addresses_of(row.kind) {
            distinct.see(row.address);
        }
    }
}

fn cover(block: &Block, coverage: &mut Coverage) {
    for (row, flags) in block.labelled() {
        let has = |flag: u8| flags & flag > 0;
        coverage.add(has(HAS_LATENCY), has(HAS_LEVEL), has(HAS_SYMBOL), row.kind);
    }
}

fn count_regions(block: &Block, regions: &mut RegionMap) {
    for (row, _) in block.labelled().filter(|(row, _)| row.kind != Kind::UNKNOWN) {
        regions.count(row.region_id, row.kind, row.address >> PAGE_BITS, row.ts);
    }
}

/// Labels all rows, or those before labelling stops, on at most `n_threads` threads. A step is a batch.
pub async fn label_all(
    accesses: &AccessTable,
    labelling: &mut Labelling<'_>,
    tables: &mut Tables,
    n_threads: usize,
) {
    let wanted = Wanted::with(&[
        Optional::OpText,
        Optional::Phase,
        Optional::Symbol,
        Optional::Dso,
        Optional::RegionText,
    ]);
    let n_blocks = accesses.n_blocks();
    let n_of_batch = if n_threads == 1 { BATCH_BLOCKS_OF_ONE } else { BATCH_BLOCKS };
    let batch = || (0..n_of_batch).map(|_| Block::default()).collect::<Vec<Block>>();
    let (mut next, mut labelled) = (batch(), batch());
    let mut readers: Vec<Blocks<'_>> = (0..n_threads.max(1)).map(|_| accesses.blocks(wanted)).collect();
    for start in (0..n_blocks).step_by(n_of_batch) {
        progress::tell(start as f64 / n_blocks as f64);
        let labeller = labelling.labeller.as_ref();
        let n_of_reader = n_of_batch.div_ceil(readers.len());
        let parts = readers.iter_mut().zip(next.chunks_mut(n_of_reader)).enumerate();
        let fill = |(number, (reader, blocks)): (usize, (&mut Blocks<'_>, &mut [Block]))| {
            reader.go_to(start + number * n_of_reader);
            blocks.iter_mut().for_each(|block| block.fill(reader, labeller));
        };
        threads::run(n_threads, parts.map(|part| Box::new(move || fill(part)) as Task<'_>).collect());
        let mut tasks: Vec<Task<'_>> = vec![Box::new(|| labelling.label(&mut next))];
        tasks.extend(tables.tasks(&labelled));
        threads::run(n_threads, tasks);
        std::mem::swap(&mut next, &mut labelled);
        if tables.regions.regions().len() >= labelling.max_regions {
            labelling.stopped = Some(Stopped::Full);
        }
        if labelling.is_over() {
            break;
        }
        pause().await;
    }
    threads::run(n_threads, tables.tasks(&labelled));
}

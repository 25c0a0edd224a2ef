//! Block lifetimes in the key/value cache.
//!
//! [`KvPages`] is the table in run directories, with one entry per page. So a store to a neighboring block on the page
//! counts as eviction, later reads still count, and a block that was only read starts at
//! time 0. It is in file order. [`KvBlocks`] is more accurate: one entry per address, a new lifetime with each store
//! after a read, and rows in time order.

use super::index::{Addresses, PageTable};
use super::kinds::Kind;
use super::metrics::RowSource;
use crate::base::bitpack;
use crate::trace::accesses::Op;
use std::borrow::Cow;

/// One page, counted as in the reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KvPage {
    /// Region of the first access.
    pub block_id: u32,
    /// Address of the first access.
    pub address: u64,
    pub page: u64,
    /// Time of the first store, 0 without one.
    pub write_ns: i64,
    /// Time of the last read, 0 without one.
    pub last_read_ns: i64,
    /// Time of the second store, if different from the first.
    pub evict_ns: Option<i64>,
    pub total_reads: u64,
    /// Whether there was a store, possibly at time 0.
    pub is_stored: bool,
}

impl KvPage {
    /// Nanoseconds from the store to the eviction, else to the last read.
    pub fn lifetime_ns(&self) -> i64 {
        let ends = [self.evict_ns.unwrap_or(0), self.last_read_ns, self.write_ns];
        let end = ends.into_iter().find(|end| *end != 0).unwrap_or(0);
        end.saturating_sub(self.write_ns).max(0)
    }
}

/// Pages in order of first access.
#[derive(Clone, Debug, Default)]
pub struct KvPages {
    pages: Vec<KvPage>,
    /// Index of each page plus one.
    by_page: PageTable<u32>,
}

impl KvPages {
    /// Adds an access to the cache; a store or anything else.
    pub fn add(&mut self, block_id: u32, address: u64, page: u64, is_store: bool, ts: i64) {
        let at = self.by_page.entry(page);
        if *at == 0 {
            self.pages.push(KvPage {
                block_id,
                address,
                page,
                write_ns: 0,
                last_read_ns: 0,
                evict_ns: None,
                total_reads: 0,
                is_stored: false,
            });
            *at = self.pages.len() as u32;
        }
        let Some(entry) = self.pages.get_mut(*at as usize - 1) else { return };
        if !is_store {
            entry.total_reads += 1;
            entry.last_read_ns = entry.last_read_ns.max(ts);
        } else if !entry.is_stored {
            entry.is_stored = true;
            entry.write_ns = ts;
        } else if ts != entry.write_ns && entry.evict_ns.is_none() {
            entry.evict_ns = Some(ts);
        }
    }

    /// Prefetches a page, like [`super::labeller::Labeller::see`].
    #[inline]
    pub fn see(&self, page: u64) -> u32 {
        let at = self.by_page.see(page).checked_sub(1);
        at.and_then(|at| self.pages.get(at as usize)).map_or(0, |page| page.total_reads as u32)
    }

    pub fn pages(&self) -> &[KvPage] {
        &self.pages
    }
}

/// One lifetime of the block at an address: from its first store to the store that overwrites it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KvLife {
    pub block_id: u32,
    pub address: u64,
    /// Number of this lifetime at the address, from 0.
    pub generation: u32,
    /// Time of the first store; `None` if it was before the trace.
    pub write_ns: Option<i64>,
    /// Stores before the first read; 1 for data written once.
    pub writes: u64,
    pub last_read_ns: Option<i64>,
    /// Time of the overwriting store; `None` without one.
    pub evict_ns: Option<i64>,
    pub reads: u64,
}

impl KvLife {
    /// Nanoseconds from the first store to the last read; `None` without reads, or if the store was before the trace.
    pub fn lifetime_ns(&self) -> Option<i64> {
        Some(self.last_read_ns?.saturating_sub(self.write_ns?).max(0))
    }
}

/// A compact [`KvLife`] that can still change.
#[derive(Clone, Copy, Debug)]
struct Life {
    address: u64,
    /// Valid if `writes` is not 0.
    write_ns: i64,
    writes: u64,
    /// Valid if `reads` is not 0.
    last_read_ns: i64,
    reads: u64,
    /// Valid once it has ended.
    evict_ns: i64,
    block_id: u32,
    /// Twice the generation, plus one once it has ended.
    tag: u32,
}

/// Integer fields of a lifetime.
const LANES: usize = 8;

impl Life {
    fn count(&mut self, is_store: bool, ts: i64) {
        if is_store {
            self.write_ns = if self.writes == 0 { ts } else { self.write_ns };
            self.writes += 1;
        } else {
            self.last_read_ns = if self.reads == 0 { ts } else { self.last_read_ns.max(ts) };
            self.reads += 1;
        }
    }

    fn end(&mut self, ts: i64) {
        self.evict_ns = ts;
        self.tag |= 1;
    }

    fn generation(&self) -> u32 {
        self.tag >> 1
    }

    fn lanes(&self) -> [i64; LANES] {
        [
            self.address as i64,
            self.write_ns,
            self.writes as i64,
            self.last_read_ns,
            self.reads as i64,
            self.evict_ns,
            self.block_id.into(),
            self.tag.into(),
        ]
    }

    fn of_lanes(lane: impl Fn(usize) -> i64) -> Life {
        Life {
            address: lane(0) as u64,
            write_ns: lane(1),
            writes: lane(2) as u64,
            last_read_ns: lane(3),
            reads: lane(4) as u64,
            evict_ns: lane(5),
            block_id: lane(6) as u32,
            tag: lane(7) as u32,
        }
    }

    fn told(&self) -> KvLife {
        KvLife {
            block_id: self.block_id,
            address: self.address,
            generation: self.generation(),
            write_ns: (self.writes > 0).then_some(self.write_ns),
            writes: self.writes,
            last_read_ns: (self.reads > 0).then_some(self.last_read_ns),
            evict_ns: (self.tag & 1 == 1).then_some(self.evict_ns),
            reads: self.reads,
        }
    }
}

/// A chunk of consecutive lifetimes, at most [`bitpack::BLOCK`].
#[derive(Clone, Debug)]
enum Chunk {
    /// Some can still change; the number that have ended.
    Open(Vec<Life>, usize),
    /// All final; their number.
    Packed(Box<[u8]>, usize),
}

impl Chunk {
    /// One of the lifetimes that can still change.
    #[inline]
    fn get_mut(&mut self, at: usize) -> Option<&mut Life> {
        match self {
            Chunk::Open(lives, _) => lives.get_mut(at),
            Chunk::Packed(..) => None,
        }
    }

    /// Ends a lifetime.
    fn end(&mut self, at: usize, ts: i64) {
        let Chunk::Open(lives, n_ended) = self else { return };
        let Some(life) = lives.get_mut(at) else { return };
        life.end(ts);
        *n_ended += 1;
        if *n_ended == bitpack::BLOCK {
            self.pack();
        }
    }

    /// Packs the chunk once all of it is final.
    fn pack(&mut self) {
        let Chunk::Open(lives, _) = self else { return };
        let mut packed = Vec::new();
        let mut values = [0; bitpack::BLOCK];
        for lane in 0..LANES {
            values.iter_mut().zip(&*lives).for_each(|(value, life)| *value = life.lanes()[lane]);
            bitpack::write_block(&values[..lives.len().min(bitpack::BLOCK)], &mut packed);
        }
        *self = Chunk::Packed(packed.into(), lives.len());
    }

    /// All lifetimes.
    fn lives(&self) -> Cow<'_, [Life]> {
        let (mut rest, n): (&[u8], usize) = match self {
            Chunk::Open(lives, _) => return Cow::Borrowed(lives),
            Chunk::Packed(packed, n) => (packed, (*n).min(bitpack::BLOCK)),
        };
        let mut lanes = vec![[0; bitpack::BLOCK]; LANES];
        for lane in &mut lanes {
            rest = bitpack::read_block(rest, &mut lane[..n]).unwrap_or_default();
        }
        (0..n).map(|at| Life::of_lanes(|lane| lanes[lane][at])).collect()
    }
}

/// Lifetimes in order of start. Chunks are packed once all their lifetimes have ended, so that a cache that
/// is overwritten repeatedly needs memory for its blocks, plus a few bytes per lifetime.
#[derive(Clone, Debug, Default)]
pub struct KvBlocks {
    /// All chunks except the last are full.
    chunks: Vec<Chunk>,
    n: usize,
}

/// Chunk of a lifetime (counted from 1), and its position in the chunk.
#[inline]
fn place_of(life: u32) -> Option<(usize, usize)> {
    let at = life.checked_sub(1)? as usize;
    Some((at / bitpack::BLOCK, at % bitpack::BLOCK))
}

impl KvBlocks {
    /// Lifetimes from labelled rows in time order. A step is a chunk of rows.
    pub async fn in_time(rows: &impl RowSource) -> KvBlocks {
        let (mut blocks, mut current) = (KvBlocks::default(), Addresses::default());
        rows.for_each_block(&mut |rows| {
            for row in rows.iter().filter(|row| row.kind == Kind::KV_CACHE) {
                let life = current.entry(row.address);
                blocks.add(life, row.region_id, row.address, row.op == Op::Store, row.ts);
            }
        })
        .await;
        blocks.settle();
        blocks
    }

    /// Adds an access to the cache; a store or a read. `current` is the address's current lifetime, from 1; 0 before the first.
    pub fn add(&mut self, current: &mut u32, block_id: u32, address: u64, is_store: bool, ts: i64) {
        let mut tag = 0;
        if let Some((chunk, at)) = place_of(*current)
            && let Some(chunk) = self.chunks.get_mut(chunk)
            && let Some(now) = chunk.get_mut(at)
        {
            if !is_store || now.reads == 0 {
                now.count(is_store, ts);
                return;
            }
            // Start the next generation.
            tag = (now.tag | 1).saturating_add(1);
            chunk.end(at, ts);
        }
        let mut life =
            Life { address, write_ns: 0, writes: 0, last_read_ns: 0, reads: 0, evict_ns: 0, block_id, tag };
        life.count(is_store, ts);
        if self.n.is_multiple_of(bitpack::BLOCK) {
            self.chunks.push(Chunk::Open(Vec::new(), 0));
        }
        if let Some(Chunk::Open(lives, _)) = self.chunks.last_mut() {
            lives.push(life);
        }
        self.n += 1;
        *current = self.n as u32;
    }

    /// Finishes after the last access.
    pub fn settle(&mut self) {
        self.chunks.iter_mut().for_each(Chunk::pack);
    }

    /// Prefetches a current lifetime, like [`super::labeller::Labeller::see`].
    #[inline]
    pub fn see(&self, life: u32) -> u32 {
        match place_of(life).and_then(|(chunk, at)| Some((self.chunks.get(chunk)?, at))) {
            Some((Chunk::Open(lives, _), at)) => lives.get(at).map_or(0, |life| life.reads as u32),
            _ => 0,
        }
    }

    pub fn lives(&self) -> impl Iterator<Item = KvLife> + '_ {
        self.chunks.iter().flat_map(|chunk| {
            let lives = chunk.lives();
            (0..lives.len()).filter_map(move |at| lives.get(at).map(Life::told))
        })
    }

    pub fn len(&self) -> usize {
        self.n
    }

    pub fn is_empty(&self) -> bool {
        self.n == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_store_after_reads_begins_a_new_life() {
        let mut blocks = KvBlocks::default();
        let mut current = [0; 2];
        for (address, is_store, ts) in
            [(1, true, 0), (1, true, 5), (1, false, 10), (2, false, 11), (1, true, 20), (1, false, 26)]
        {
            blocks.add(&mut current[address as usize - 1], 7, address, is_store, ts);
        }
        let lives: Vec<_> = blocks
            .lives()
            .map(|life| (life.address, life.generation, life.evict_ns, life.lifetime_ns()))
            .collect();
        assert_eq!(lives, [(1, 0, Some(20), Some(10)), (2, 0, None, None), (1, 1, None, Some(6))]);
    }
    /// Reference model of lifetimes, updated access by access.
    fn plainly(touches: &[(u64, bool, i64)]) -> Vec<KvLife> {
        let mut lives: Vec<KvLife> = Vec::new();
        for (address, is_store, ts) in touches.iter().copied() {
            let latest = lives.iter().rposition(|life| life.address == address);
            let begins = latest.is_none_or(|at| is_store && lives[at].reads > 0);
            if begins {
                let generation = latest.map_or(0, |at| lives[at].generation + 1);
                latest.into_iter().for_each(|at| lives[at].evict_ns = Some(ts));
                let (write_ns, last_read_ns, evict_ns) = (None, None, None);
                lives.push(KvLife {
                    block_id: 7,
                    address,
                    generation,
                    write_ns,
                    writes: 0,
                    last_read_ns,
                    evict_ns,
                    reads: 0,
                });
            }
            let at = lives.iter().rposition(|life| life.address == address).unwrap_or(0);
            let life = &mut lives[at];
            if is_store {
                life.write_ns = life.write_ns.or(Some(ts));
                life.writes += 1;
            } else {
                life.last_read_ns = life.last_read_ns.max(Some(ts));
                life.reads += 1;
            }
        }
        lives
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn lives_that_are_packed_are_the_same(
            touches in prop::collection::vec((0..4u64, any::<bool>(), -9..9i64), 0..7000),
        ) {
            // An address that is never stored to again keeps its chunk from being packed.
            let mut touches = touches;
            touches.insert(0, (9, true, 3));
            let mut blocks = KvBlocks::default();
            let mut current = [0; 10];
            for (address, is_store, ts) in touches.iter().copied() {
                blocks.add(&mut current[address as usize], 7, address, is_store, ts);
            }
            prop_assert_eq!(blocks.lives().collect::<Vec<_>>(), plainly(&touches));
            prop_assert_eq!(blocks.lives().count(), blocks.len());
            blocks.settle();
            prop_assert_eq!(blocks.lives().collect::<Vec<_>>(), plainly(&touches));
        }
    }
}

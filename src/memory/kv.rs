//! Lives of blocks of the key/value cache.
//!
//! [`KvPages`] is the table that run directories hold: one entry a page, whatever lies on it, so that a store to a neighbour
//! counts as the end of a block, reads after that still count to it, and a block that was only ever read seems to live since
//! time 0. [`KvBlocks`] is what is meant: one entry an address, and a new life with each store that
//! comes after a read.

use super::index::PageTable;

/// One page, as the reference counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KvPage {
    /// Region of the first access.
    pub block_id: u32,
    /// Address of the first access.
    pub address: u64,
    pub page: u64,
    /// Time of the first store, 0 without one.
    pub write_ns: i64,
    /// Time of the latest read, 0 without one.
    pub last_read_ns: i64,
    /// Time of the second store, if at another time than the first.
    pub evict_ns: Option<i64>,
    pub total_reads: u64,
    /// A store was seen, be it at time 0.
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

/// Pages in the order in which they appear.
#[derive(Clone, Debug, Default)]
pub struct KvPages {
    pages: Vec<KvPage>,
    /// One more than the place of a page.
    by_page: PageTable<u32>,
}

impl KvPages {
    /// An access to the cache; `is_store` or anything else.
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

    /// Looks at a page, as [`super::labeller::Labeller::see`] does.
    #[inline]
    pub fn see(&self, page: u64) -> u32 {
        let at = self.by_page.see(page).checked_sub(1);
        at.and_then(|at| self.pages.get(at as usize)).map_or(0, |page| page.total_reads as u32)
    }

    pub fn pages(&self) -> &[KvPage] {
        &self.pages
    }
}

/// One life of what lies at an address: from its first store to the store that overwrites it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KvLife {
    pub block_id: u32,
    pub address: u64,
    /// Which life of the address it is, from 0.
    pub generation: u32,
    /// Time of the first store; `None` if what was read had been stored before the trace began.
    pub write_ns: Option<i64>,
    /// Stores before the first read; 1 where data is written once.
    pub writes: u64,
    pub last_read_ns: Option<i64>,
    /// Time of the store that ended it; `None` if nothing did.
    pub evict_ns: Option<i64>,
    pub reads: u64,
}

impl KvLife {
    /// Nanoseconds from the first store to the last read, 0 if there was none; `None` if the store was not seen.
    pub fn lifetime_ns(&self) -> Option<i64> {
        let write = self.write_ns?;
        Some(self.last_read_ns.map_or(0, |read| read.saturating_sub(write).max(0)))
    }
}

/// Lives in the order in which they begin.
#[derive(Clone, Debug, Default)]
pub struct KvBlocks {
    lives: Vec<KvLife>,
}

impl KvBlocks {
    /// An access to the cache; `is_store` or a read. `current` is the current life of the address, counted from 1; 0 before the first.
    pub fn add(&mut self, current: &mut u32, block_id: u32, address: u64, is_store: bool, ts: i64) {
        let mut life = KvLife {
            block_id,
            address,
            generation: 0,
            write_ns: None,
            writes: 0,
            last_read_ns: None,
            evict_ns: None,
            reads: 0,
        };
        if let Some(now) = self.lives.get_mut((*current as usize).wrapping_sub(1)) {
            if !is_store || now.reads == 0 {
                count(now, is_store, ts);
                return;
            }
            now.evict_ns = Some(ts);
            life.generation = now.generation + 1;
        }
        count(&mut life, is_store, ts);
        self.lives.push(life);
        *current = self.lives.len() as u32;
    }

    /// Looks at a life, as [`super::labeller::Labeller::see`] does.
    #[inline]
    pub fn see(&self, life: u32) -> u32 {
        self.lives.get((life as usize).wrapping_sub(1)).map_or(0, |life| life.reads as u32)
    }

    pub fn lives(&self) -> &[KvLife] {
        &self.lives
    }
}

fn count(life: &mut KvLife, is_store: bool, ts: i64) {
    if is_store {
        life.writes += 1;
        life.write_ns = life.write_ns.or(Some(ts));
    } else {
        life.reads += 1;
        life.last_read_ns = Some(life.last_read_ns.map_or(ts, |last| last.max(ts)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            .iter()
            .map(|life| (life.address, life.generation, life.evict_ns, life.lifetime_ns()))
            .collect();
        assert_eq!(lives, [(1, 0, Some(20), Some(10)), (2, 0, None, None), (1, 1, None, Some(6))]);
    }
}

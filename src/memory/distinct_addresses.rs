//! Tracks last access and store count per distinct address, in several passes so the tables stay under 270 MB.
//!
//! There can be as many addresses as accesses, so they are processed in shares: the caller iterates all rows once per
//! [`Pass`], and each pass takes the rows of its pages. Rows are bucketed by page first, so that the address table
//! in use fits the CPU cache. The number of shares follows from the number of addresses
//! ([`Distinct`]), so a trace with few distinct addresses needs a single pass.

use super::index::Mix;
use super::kinds::Kind;
use super::metrics::{Accumulator, Found, Row};
use crate::base::hash::{HashMap, HashSet};
use crate::trace::accesses::PAGE_BITS;
use std::hint::black_box;

/// Approximate number of addresses in memory at a time: 24 bytes each at 70% load, so 270 MB.
const ADDRESSES_AT_A_TIME: u64 = 8_000_000;
/// Address tables per pass.
const N_BUCKETS: usize = 512;
/// Rows buffered per table: 32 bytes each.
const BUCKET_ROWS: usize = 1 << 11;

/// Estimates the number of distinct addresses from 1/1024 of the hash space. The error is a few percent for millions of them.
#[derive(Clone, Debug, Default)]
pub struct Distinct {
    sample: HashSet<u64>,
    mix: Mix,
}

/// Sampling factor: one in this many addresses is counted.
const SAMPLED: u64 = 1 << 10;

impl Distinct {
    /// Adds an access to an address.
    #[inline]
    pub fn see(&mut self, address: u64) {
        if self.mix.of(address) >> 54 == 0 {
            self.sample.insert(address);
        }
    }

    /// Hash function for shares and slots, common to all passes.
    pub fn mix(&self) -> Mix {
        self.mix
    }

    /// Approximate count.
    pub fn n_addresses(&self) -> u64 {
        self.sample.len() as u64 * SAMPLED
    }

    /// Number of shares if `n_at_a_time` of them are in memory at once, one per thread.
    pub fn n_passes(&self, n_at_a_time: u64) -> u64 {
        let n_rounds = self.n_addresses().div_ceil(ADDRESSES_AT_A_TIME).max(1);
        n_rounds * n_at_a_time.max(1)
    }
}

/// Latest access to an address, and stores to it, for its first kind and region.
#[derive(Clone, Copy, Default)]
struct Place {
    address: u64,
    ts: i64,
    region_id: u32,
    /// Bit field: kind number, stores (up to two), and whether the slot is in use.
    tag: u32,
}

const USED_BITS: u32 = 1;
const STORE_BITS: u32 = 2;

impl Place {
    fn new(row: &Row) -> Place {
        let Row { ts, address, kind, region_id, .. } = *row;
        let tag = (kind.0 << STORE_BITS | u32::from(row.is_store())) << USED_BITS | 1;
        Place { address, ts, region_id, tag }
    }

    #[inline]
    fn is_used(&self) -> bool {
        self.tag != 0
    }

    #[inline]
    fn kind(&self) -> Kind {
        Kind(self.tag >> (STORE_BITS + USED_BITS))
    }

    fn n_stores(&self) -> u32 {
        self.tag >> USED_BITS & ((1 << STORE_BITS) - 1)
    }

    fn add_store(&mut self) {
        self.tag += 1 << USED_BITS;
    }
}

/// A share of the addresses.
#[derive(Default)]
struct Bucket {
    rows: Vec<Row>,
    /// Separate slots, once those in [`Pass::places`] are too few. The load is at most 80% in both cases, with linear probing
    /// from a position hashed from the address.
    own_places: Vec<Place>,
    n_used: usize,
    /// Pages of regions, unless counted elsewhere.
    pages: HashSet<(u32, u64)>,
    /// Latest accesses of addresses with several kinds, for kinds after the first.
    other_kinds: HashMap<(u64, Kind), i64>,
    /// Stores of addresses in several regions, for regions after the first.
    other_regions: HashMap<(u32, u64), u8>,
}

/// One pass over all rows in time order, which processes one share.
pub struct Pass {
    number: u64,
    n: u64,
    buckets: Vec<Bucket>,
    /// Slots of all buckets in a single allocation, as small allocations would not be returned to the system.
    places: Vec<Place>,
    mix: Mix,
}

impl Pass {
    /// Pass for share `number` of `n`, with a common `mix`; sized for the approximate total number of addresses.
    pub fn new(number: u64, n: u64, n_addresses: u64, mix: Mix) -> Pass {
        // With few addresses, most buckets are empty.
        let n_of_bucket = n_addresses / n.max(1) / N_BUCKETS as u64;
        let n_places = if n_of_bucket < 64 { 0 } else { n_of_bucket as usize * 10 / 7 };
        let buckets = (0..N_BUCKETS).map(|_| Bucket::default()).collect();
        Pass { number, n, buckets, places: vec![Place::default(); n_places * N_BUCKETS], mix }
    }

    /// Adds the next row. Results go to `out`; `all` must have seen all rows.
    #[inline]
    pub fn add(&mut self, row: &Row, all: &Accumulator, out: &mut Found) {
        if all.knows_addresses_of(row.kind) {
            return;
        }
        let mixed = self.mix.of(row.address >> PAGE_BITS);
        if self.n > 1 && ((mixed >> 32) * self.n) >> 32 != self.number {
            return;
        }
        let number = (mixed >> 16) as usize % N_BUCKETS;
        let bucket = &mut self.buckets[number];
        bucket.rows.push(*row);
        if bucket.rows.len() >= BUCKET_ROWS {
            self.take(number, all, out);
        }
    }

    /// Processes the buffered rows of a bucket.
    fn take(&mut self, number: usize, all: &Accumulator, out: &mut Found) {
        let n_places = self.places.len() / N_BUCKETS;
        let shared = self.places.get_mut(number * n_places..(number + 1) * n_places).unwrap_or_default();
        self.buckets[number].take(self.mix, shared, all, out);
    }

    /// Finishes after the last row.
    pub fn finish(mut self, all: &Accumulator, out: &mut Found) {
        (0..N_BUCKETS).for_each(|number| self.take(number, all, out));
    }
}

/// First slot to probe for an address.
#[inline]
fn first_place(mix: Mix, address: u64, n_places: usize) -> usize {
    let upper = mix.of(address) >> 32;
    ((upper * n_places as u64) >> 32) as usize
}

/// Slot of an address, or a free slot for it. The table must have free slots.
#[inline]
fn place_of(mix: Mix, places: &[Place], address: u64) -> usize {
    let mut at = first_place(mix, address, places.len());
    loop {
        let place = &places[at];
        if !place.is_used() || place.address == address {
            return at;
        }
        at = if at + 1 == places.len() { 0 } else { at + 1 };
    }
}

/// Grows the table.
#[cold]
fn grown(mix: Mix, places: &[Place]) -> Vec<Place> {
    let mut more = vec![Place::default(); (places.len() * 5 / 4).max(64)];
    for place in places.iter().filter(|place| place.is_used()) {
        let at = place_of(mix, &more, place.address);
        more[at] = *place;
    }
    more
}

impl Bucket {
    /// Processes the buffered rows; `shared` is its part of the common slots.
    fn take(&mut self, mix: Mix, shared: &mut [Place], all: &Accumulator, out: &mut Found) {
        let mut rows = std::mem::take(&mut self.rows);
        let places = if self.own_places.is_empty() { &*shared } else { &self.own_places };
        // Prefetch all of them with independent reads.
        let first = |row: &Row| places.get(first_place(mix, row.address, places.len()));
        black_box(rows.iter().fold(0, |seen, row| seen ^ first(row).map_or(0, |place| place.tag)));
        rows.iter().for_each(|row| self.add(mix, row, shared, all, out));
        rows.clear();
        self.rows = rows;
    }

    #[inline]
    fn add(&mut self, mix: Mix, row: &Row, shared: &mut [Place], all: &Accumulator, out: &mut Found) {
        let n_places = if self.own_places.is_empty() { shared.len() } else { self.own_places.len() };
        if self.n_used * 5 >= n_places * 4 {
            self.own_places =
                if self.own_places.is_empty() { grown(mix, shared) } else { grown(mix, &self.own_places) };
        }
        let places = if self.own_places.is_empty() { shared } else { &mut self.own_places[..] };
        let at = place_of(mix, places, row.address);
        let place = &mut places[at];
        if !place.is_used() {
            *place = Place::new(row);
            self.n_used += 1;
            let Row { address, region_id, .. } = *row;
            let n_stores = place.n_stores();
            let is_new_page = all.counts_pages() && self.pages.insert((region_id, address >> PAGE_BITS));
            if (is_new_page || n_stores > 0)
                && let Some(at) = all.place_of(row.region_id)
            {
                let counts = out.counts_at(at);
                counts.n_pages += u64::from(is_new_page);
                counts.n_written += u64::from(n_stores);
            }
            return;
        }
        // If the address was seen in this region, so was its page.
        let is_first_region = place.region_id == row.region_id;
        if !is_first_region
            && all.counts_pages()
            && self.pages.insert((row.region_id, row.address >> PAGE_BITS))
            && let Some(at) = all.place_of(row.region_id)
        {
            out.counts_at(at).n_pages += 1;
        }
        if row.is_store() {
            let n_stores = if is_first_region {
                let n = place.n_stores();
                if n < 2 {
                    place.add_store();
                }
                n
            } else {
                let n = self.other_regions.entry((row.region_id, row.address)).or_default();
                let before = *n;
                *n = (before + 1).min(2);
                before.into()
            };
            if n_stores < 2
                && let Some(at) = all.place_of(row.region_id)
            {
                let counts = out.counts_at(at);
                counts.n_written += u64::from(n_stores == 0);
                counts.n_overwritten += u64::from(n_stores == 1);
            }
        }
        let before = if place.kind() == row.kind {
            Some(std::mem::replace(&mut place.ts, row.ts))
        } else {
            self.other_kinds.insert((row.address, row.kind), row.ts)
        };
        let interval = before.map_or(0, |before| row.ts.saturating_sub(before));
        if interval > 0 {
            out.add_interval(row.kind, interval as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::metrics::Walks;
    use crate::trace::accesses::Op;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Stored, overwritten and page counts by region; intervals by kind, ascending.
    type ByMaps = (BTreeMap<u32, [u64; 3]>, BTreeMap<Kind, Vec<u64>>);

    fn by_maps(rows: &[Row]) -> ByMaps {
        let (mut stores, mut pages) = (BTreeMap::<(u32, u64), u64>::new(), BTreeSet::new());
        let (mut latest, mut found) = (BTreeMap::new(), ByMaps::default());
        for row in rows {
            *stores.entry((row.region_id, row.address)).or_default() += u64::from(row.is_store());
            pages.insert((row.region_id, row.address >> PAGE_BITS));
            if let Some(before) = latest.insert((row.address, row.kind), row.ts)
                && row.ts > before
            {
                found.1.entry(row.kind).or_default().push((row.ts - before) as u64);
            }
        }
        for ((region, _), n) in stores {
            let counts = found.0.entry(region).or_default();
            counts[0] += u64::from(n > 0);
            counts[1] += u64::from(n > 1);
        }
        pages.into_iter().for_each(|(region, _)| found.0.entry(region).or_default()[2] += 1);
        found.1.values_mut().for_each(|intervals| intervals.sort_unstable());
        found
    }

    proptest! {
        #[test]
        fn shares_are_the_whole(
            rows in prop::collection::vec((0..3i64, 0..40u64, 0..6u32, 0..3u32, 0..3usize), 0..600),
            n in 1..6u64,
        ) {
            let mut ts = 0;
            let rows: Vec<Row> = rows
                .into_iter()
                .map(|(step, place, region_id, kind, op)| {
                    ts += step;
                    Row { ts, address: place * 1500, op: Op::ALL[op], kind: Kind(kind), region_id }
                })
                .collect();
            let mut all = Accumulator::default();
            rows.iter().for_each(|row| all.add(row));
            let (mut out, mix) = (Found::default(), Mix::default());
            for number in 0..n {
                let (mut pass, mut found) = (Pass::new(number, n, 40_000 * number, mix), Found::default());
                rows.iter().for_each(|row| pass.add(row, &all, &mut found));
                pass.finish(&all, &mut found);
                out.absorb(found);
            }
            let metrics = all.finish(Walks::default(), out);
            let (regions, intervals) = by_maps(&rows);
            let found = metrics.regions.iter().map(|region| {
                let n_again = region.n_written_addresses - region.n_write_once_addresses;
                (region.region_id, [region.n_written_addresses, n_again, region.unique_pages])
            });
            prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), regions);
            let found = metrics.intervals.iter().map(|(kind, spread)| {
                let places: Vec<u64> = (0..spread.len()).collect();
                (*kind, spread.at_places(&places))
            });
            prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), intervals);
        }
    }
}

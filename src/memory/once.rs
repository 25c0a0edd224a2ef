//! What has to be known of each distinct address: its latest access, and how often it was stored to.
//!
//! There may be as many addresses as accesses, so they are looked at a share at a time: whoever has the rows gives them once for
//! each [`pass`], and a pass takes those of its pages. Rows are put into buckets by page first, so that a table of addresses
//! that is looked things up in is small enough to be near the processor.

use super::kinds::Kind;
use super::metrics::{Accumulator, Row};
use crate::trace::accesses::PAGE_BITS;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;

/// Accesses of one pass, about: about 70 to 100 bytes of memory each, where no two are to the same address.
const ROWS_OF_PASS: u64 = 1 << 23;
/// Tables that addresses of one pass are shared out to.
const N_BUCKETS: usize = 256;
/// Rows that wait for their table.
const BUCKET_ROWS: usize = 1 << 12;

/// How often rows have to be given.
pub fn n_passes(n_rows: u64) -> u64 {
    n_rows.div_ceil(ROWS_OF_PASS)
}

/// Spreads pages evenly over 64 bits.
fn mixed(page: u64) -> u64 {
    page.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The latest access to an address, and stores to it, by the first kind and region that it has.
struct Place {
    ts: i64,
    kind: Kind,
    /// Place of the region among all.
    region: u32,
    /// Up to two.
    n_stores: u8,
}

/// A share of the addresses.
#[derive(Default)]
struct Bucket {
    rows: Vec<Row>,
    places: FxHashMap<u64, Place>,
    pages: FxHashSet<(u32, u64)>,
    /// Of addresses that are of several kinds, by those after the first.
    other_kinds: FxHashMap<(u64, Kind), i64>,
    /// Of addresses in several regions, by those after the first.
    other_regions: FxHashMap<(u32, u64), u8>,
}

/// One look at all rows, in order of time, which takes those of pass `number` of `n`. What comes of it goes to `out`, which must have seen all rows.
pub fn pass(rows: impl Iterator<Item = Row>, number: u64, n: u64, out: &mut Accumulator) {
    let mut buckets: Vec<Bucket> = (0..N_BUCKETS).map(|_| Bucket::default()).collect();
    for row in rows {
        let mixed = mixed(row.address >> PAGE_BITS);
        if n > 1 && ((u128::from(mixed) * u128::from(n)) >> 64) as u64 != number {
            continue;
        }
        let bucket = &mut buckets[(mixed >> 40) as usize % N_BUCKETS];
        bucket.rows.push(row);
        if bucket.rows.len() == BUCKET_ROWS {
            bucket.take(out);
        }
    }
    buckets.iter_mut().for_each(|bucket| bucket.take(out));
}

impl Bucket {
    fn take(&mut self, out: &mut Accumulator) {
        let mut rows = std::mem::take(&mut self.rows);
        rows.drain(..).for_each(|row| self.add(&row, out));
        self.rows = rows;
    }

    fn add(&mut self, row: &Row, out: &mut Accumulator) {
        let Some((region, counts)) = out.counts_of(row) else { return };
        if self.pages.insert((region, row.address >> PAGE_BITS)) {
            counts.n_pages += 1;
        }
        let n_new = u8::from(row.is_store());
        let place = match self.places.entry(row.address) {
            Entry::Vacant(vacant) => {
                counts.n_written += u64::from(n_new);
                vacant.insert(Place { ts: row.ts, kind: row.kind, region, n_stores: n_new });
                return;
            }
            Entry::Occupied(place) => place.into_mut(),
        };
        if row.is_store() {
            let n_stores = if place.region == region {
                &mut place.n_stores
            } else {
                self.other_regions.entry((region, row.address)).or_default()
            };
            counts.n_written += u64::from(*n_stores == 0);
            counts.n_overwritten += u64::from(*n_stores == 1);
            *n_stores = (*n_stores + 1).min(2);
        }
        let before = if place.kind == row.kind {
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
    use crate::trace::accesses::Op;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Written, overwritten and pages by region; intervals by kind, ascending.
    type Found = (BTreeMap<u32, [u64; 3]>, BTreeMap<Kind, Vec<u64>>);

    fn by_maps(rows: &[Row]) -> Found {
        let (mut stores, mut pages) = (BTreeMap::<(u32, u64), u64>::new(), BTreeSet::new());
        let (mut latest, mut found) = (BTreeMap::new(), Found::default());
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
            let mut out = Accumulator::default();
            rows.iter().for_each(|row| out.add(row));
            (0..n).for_each(|number| pass(rows.iter().copied(), number, n, &mut out));
            let metrics = out.finish();
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

//! Looking things up by page and by number of region, for tables with millions of them.
//!
//! Pages that are touched lie together, so a hash is made of each stretch of pages only, and what is known of a page lies
//! beside what is known of its neighbours. Numbers of regions mostly count up, so they are places in a list.

use rustc_hash::FxHashMap;

/// Pages of a stretch.
const STRETCH: usize = 32;

/// Something of each page; what nothing was said of is `T::default()`.
#[derive(Clone, Debug)]
pub struct PageTable<T> {
    stretches: FxHashMap<u64, u32>,
    values: Vec<[T; STRETCH]>,
}

impl<T> Default for PageTable<T> {
    fn default() -> PageTable<T> {
        PageTable { stretches: FxHashMap::default(), values: Vec::new() }
    }
}

impl<T: Copy + Default> PageTable<T> {
    /// What is known of a page, to be changed.
    pub fn entry(&mut self, page: u64) -> &mut T {
        let next = self.values.len() as u32;
        let at = *self.stretches.entry(page / STRETCH as u64).or_insert(next) as usize;
        if at == self.values.len() {
            self.values.push([T::default(); STRETCH]);
        }
        &mut self.values[at][(page % STRETCH as u64) as usize]
    }
}

/// Distinct pages.
#[derive(Clone, Debug, Default)]
pub struct PageSet {
    /// A bit a page, by stretches of 64.
    words: FxHashMap<u64, u64>,
    len: u64,
}

impl PageSet {
    /// False if it is in there already.
    pub fn insert(&mut self, page: u64) -> bool {
        let word = self.words.entry(page / 64).or_default();
        let bit = 1 << (page % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        self.len += u64::from(is_new);
        is_new
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn clear(&mut self) {
        self.words.clear();
        self.len = 0;
    }

    /// Ascending.
    pub fn to_sorted(&self) -> Vec<u64> {
        let mut words: Vec<(u64, u64)> = self.words.iter().map(|(at, word)| (*at, *word)).collect();
        words.sort_unstable();
        let bits = |(at, word): (u64, u64)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
        };
        words.into_iter().flat_map(bits).collect()
    }
}

/// Places of regions by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// By number, as far as numbers are not much larger than there are regions; one more than the place, 0 for none.
    dense: Vec<u32>,
    /// Of the others.
    sparse: FxHashMap<u32, u32>,
    n: u32,
}

/// Numbers below this are places in a list, however few there are.
const MIN_DENSE: usize = 1 << 12;

impl Places {
    pub fn get(&self, id: u32) -> Option<u32> {
        match self.dense.get(id as usize) {
            Some(place) if *place > 0 => Some(place - 1),
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get(&id).copied(),
        }
    }

    /// Gives the next place to a number that has none; true if it was given now.
    pub fn get_or_add(&mut self, id: u32) -> (u32, bool) {
        if let Some(place) = self.get(id) {
            return (place, false);
        }
        let place = self.n;
        self.n += 1;
        if (id as usize) < MIN_DENSE.max(self.n as usize * 4) {
            if self.dense.len() <= id as usize {
                self.dense.resize(id as usize + 1, 0);
            }
            self.dense[id as usize] = place + 1;
        } else {
            self.sparse.insert(id, place);
        }
        (place, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    proptest! {
        #[test]
        fn they_are_maps(keys in prop::collection::vec(prop_oneof![0..300u64, any::<u64>()], 0..400)) {
            let (mut table, mut set, mut places) =
                (PageTable::<u32>::default(), PageSet::default(), Places::default());
            let (mut counts, mut seen, mut ids) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
            for key in keys {
                let count: &mut u32 = counts.entry(key).or_default();
                prop_assert_eq!(*table.entry(key), *count);
                *count += 1;
                *table.entry(key) += 1;
                prop_assert_eq!(set.insert(key), seen.insert(key));
                prop_assert_eq!(set.len(), seen.len() as u64);
                let (id, next) = (key as u32, ids.len() as u32);
                let is_new = !ids.contains_key(&id);
                let place = *ids.entry(id).or_insert(next);
                prop_assert_eq!(places.get_or_add(id), (place, is_new));
                prop_assert_eq!(places.get(id), Some(place));
            }
            prop_assert_eq!(set.to_sorted(), seen.into_iter().collect::<Vec<u64>>());
        }
    }
}

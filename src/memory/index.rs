//! Lookup tables by page, address and region number, for millions of keys.
//!
//! Touched pages are usually adjacent, so only page ranges are hashed, and the data of neighboring pages is stored
//! together. Region numbers mostly count up, so they are list indexes.
//!
//! Memory latency dominates the cost of lookups. Callers with many keys prefetch them first (`see`): independent reads of all
//! keys bring their data into the CPU cache.

use crate::base::hash::{self, HashMap};

/// Hashes keys evenly to 64 bits with a secret seed, so that untrusted keys cannot force collisions. (Avoids 128-bit products,
/// which are calls in WebAssembly.)
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Odd.
    factor: u64,
    start: u64,
}

impl Default for Mix {
    fn default() -> Mix {
        Mix { factor: hash::next_number() | 1, start: hash::next_number() }
    }
}

impl Mix {
    #[inline]
    pub fn of(self, key: u64) -> u64 {
        // The product only propagates differences to higher bits; the other steps bring them down again.
        let key = (key ^ self.start).wrapping_mul(self.factor);
        let key = (key ^ (key >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        key ^ (key >> 32)
    }
}

/// Minimum number of slots of a table.
const MIN_SLOTS: usize = 1 << 8;

/// A key and its number plus one; 0 for an empty slot.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    key: u64,
    number: u32,
}

/// Numbers keys from 0 in order of first appearance.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// Slots with linear probing. Their number is a power of two, with a load of at most two thirds.
    slots: Vec<Slot>,
    n: u32,
    /// The last key looked up; keys often repeat.
    last: Slot,
    mix: Mix,
}

impl Numbers {
    pub fn len(&self) -> usize {
        self.n as usize
    }

    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Number of a key, if known.
    #[inline]
    pub fn get(&self, key: u64) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        self.slots[self.place_of(key)].number.checked_sub(1)
    }

    /// Slot of a key, or a free slot for it. The table must have free slots.
    #[inline]
    fn place_of(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.mix.of(key) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.key == key || slot.number == 0 {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Number of a key, assigning the next one to a new key; true if it is new.
    #[inline]
    pub fn get_or_add(&mut self, key: u64) -> (u32, bool) {
        if self.last.key == key && self.last.number > 0 {
            return (self.last.number - 1, false);
        }
        if self.slots.len() < MIN_SLOTS || self.n as usize * 3 >= self.slots.len() * 2 {
            self.grow();
        }
        let at = self.place_of(key);
        let slot = &mut self.slots[at];
        let is_new = slot.number == 0;
        if is_new {
            self.n += 1;
            *slot = Slot { key, number: self.n };
        }
        self.last = *slot;
        (self.last.number - 1, is_new)
    }

    #[cold]
    fn grow(&mut self) {
        let n_slots = (self.slots.len() * 2).max(MIN_SLOTS);
        let before = std::mem::replace(&mut self.slots, vec![Slot::default(); n_slots]);
        for slot in before.into_iter().filter(|slot| slot.number > 0) {
            let at = self.place_of(slot.key);
            self.slots[at] = slot;
        }
    }
}

/// An address with its number.
#[derive(Clone, Copy, Default, Debug)]
struct Known {
    address: u64,
    /// Never 0 for a known address.
    number: u32,
}

impl Known {
    #[inline]
    fn is_free(self) -> bool {
        self.number == 0
    }
}

/// A number per address, stored next to it.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    /// Slots as in [`Numbers`].
    slots: Vec<Known>,
    n: usize,
    mix: Mix,
}

impl Addresses {
    /// Slot of an address, or a free slot for it. The table must have free slots.
    #[inline]
    fn place_of(&self, address: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.mix.of(address) as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.address == address || slot.is_free() {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Number of an address; 0 if unknown.
    #[inline]
    pub fn get(&self, address: u64) -> u32 {
        if self.slots.is_empty() {
            return 0;
        }
        self.slots[self.place_of(address)].number
    }

    /// Mutable number of an address. A caller that finds 0 must assign one.
    #[inline]
    pub fn entry(&mut self, address: u64) -> &mut u32 {
        if self.slots.len() < MIN_SLOTS || self.n * 3 >= self.slots.len() * 2 {
            self.grow();
        }
        let at = self.place_of(address);
        let slot = &mut self.slots[at];
        if slot.is_free() {
            self.n += 1;
            slot.address = address;
        }
        &mut slot.number
    }

    #[cold]
    fn grow(&mut self) {
        let n_slots = (self.slots.len() * 2).max(MIN_SLOTS);
        let before = std::mem::replace(&mut self.slots, vec![Known::default(); n_slots]);
        for slot in before.into_iter().filter(|slot| !slot.is_free()) {
            let at = self.place_of(slot.address);
            self.slots[at] = slot;
        }
    }
}

/// Pages per range.
const STRETCH: usize = 8;

/// A value per page, `T::default()` if not set. An isolated page takes the space of eight.
#[derive(Clone, Debug)]
pub struct PageTable<T> {
    stretches: Numbers,
    values: Vec<Stretch<T>>,
}

/// Adjacent pages, in one CPU cache line if they fit.
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(64))]
struct Stretch<T>([T; STRETCH]);

impl<T> Default for PageTable<T> {
    fn default() -> PageTable<T> {
        PageTable { stretches: Numbers::default(), values: Vec::new() }
    }
}

impl<T: Copy + Default> PageTable<T> {
    /// Mutable value of a page.
    #[inline]
    pub fn entry(&mut self, page: u64) -> &mut T {
        let (at, is_new) = self.stretches.get_or_add(page / STRETCH as u64);
        if is_new {
            self.values.push(Stretch::default());
        }
        &mut self.values[at as usize].0[(page % STRETCH as u64) as usize]
    }

    /// Calls `each` for all pages that may have a value, in no particular order.
    pub fn for_each(&self, mut each: impl FnMut(u64, T)) {
        for slot in self.stretches.slots.iter().filter(|slot| slot.number > 0) {
            let stretch = self.values.get(slot.number as usize - 1).copied().unwrap_or_default();
            for (at, value) in stretch.0.into_iter().enumerate() {
                each(slot.key * STRETCH as u64 + at as u64, value);
            }
        }
    }

    /// Value of a page.
    #[inline]
    pub fn see(&self, page: u64) -> T {
        let stretch = self.stretches.get(page / STRETCH as u64).and_then(|at| self.values.get(at as usize));
        stretch.map_or_else(T::default, |stretch| stretch.0[(page % STRETCH as u64) as usize])
    }
}

/// A set of pages.
#[derive(Clone, Debug, Default)]
pub struct PageSet {
    /// One bit per page, in words of 64: word number and bits; no bits for an empty slot. As in [`Numbers`].
    words: Vec<(u64, u64)>,
    n_words: usize,
    len: u64,
    mix: Mix,
}

impl PageSet {
    #[inline]
    fn place_of(&self, stretch: u64) -> usize {
        let mask = self.words.len() - 1;
        let mut at = self.mix.of(stretch) as usize & mask;
        loop {
            let (key, bits) = self.words[at];
            if key == stretch || bits == 0 {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    pub fn contains(&self, page: u64) -> bool {
        if self.words.is_empty() {
            return false;
        }
        let (_, bits) = self.words[self.place_of(page / 64)];
        bits >> (page % 64) & 1 == 1
    }

    /// Inserts a page; false if it was present.
    #[inline]
    pub fn insert(&mut self, page: u64) -> bool {
        if self.words.len() < MIN_SLOTS || self.n_words * 3 >= self.words.len() * 2 {
            self.grow();
        }
        let at = self.place_of(page / 64);
        let (key, word) = &mut self.words[at];
        let bit = 1 << (page % 64);
        let is_new = *word & bit == 0;
        self.n_words += usize::from(*word == 0);
        *key = page / 64;
        *word |= bit;
        self.len += u64::from(is_new);
        is_new
    }

    #[cold]
    fn grow(&mut self) {
        let n_words = (self.words.len() * 2).max(MIN_SLOTS);
        let before = std::mem::replace(&mut self.words, vec![(0, 0); n_words]);
        for (stretch, bits) in before.into_iter().filter(|(_, bits)| *bits > 0) {
            let at = self.place_of(stretch);
            self.words[at] = (stretch, bits);
        }
    }

    /// Adds the pages of another set.
    pub fn absorb(&mut self, mut other: PageSet) {
        if other.len > self.len {
            std::mem::swap(self, &mut other);
        }
        other.to_sorted().into_iter().for_each(|page| _ = self.insert(page));
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn clear(&mut self) {
        self.words.fill((0, 0));
        self.n_words = 0;
        self.len = 0;
    }

    /// All pages, ascending.
    pub fn to_sorted(&self) -> Vec<u64> {
        let mut words: Vec<(u64, u64)> = self.words.iter().copied().filter(|(_, word)| *word > 0).collect();
        words.sort_unstable();
        let bits = |(at, word): (u64, u64)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
        };
        words.into_iter().flat_map(bits).collect()
    }
}

/// Index of each region by its number.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// By region number, for numbers not much larger than the number of regions; the index plus one, 0 for none.
    dense: Vec<u32>,
    /// For larger numbers.
    sparse: HashMap<u32, u32>,
    n: u32,
}

/// Numbers below this are always list indexes.
const MIN_DENSE: usize = 1 << 12;

impl Places {
    #[inline]
    pub fn get(&self, id: u32) -> Option<u32> {
        match self.dense.get(id as usize) {
            Some(place) if *place > 0 => Some(place - 1),
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get(&id).copied(),
        }
    }

    /// Assigns the next index to a new number; true if it is new.
    #[inline]
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
            let (mut numbers, mut numbered) = (Numbers::default(), BTreeMap::new());
            let mut addresses = Addresses::default();
            let (mut counts, mut seen, mut ids) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
            for key in keys {
                let count: &mut u32 = counts.entry(key).or_default();
                prop_assert_eq!(table.see(key), *count);
                prop_assert_eq!(*table.entry(key), *count);
                prop_assert_eq!(numbers.get(key), numbered.get(&key).copied());
                let (is_new, next) = (!numbered.contains_key(&key), numbered.len() as u32);
                let number = *numbered.entry(key).or_insert(next);
                prop_assert_eq!(numbers.get_or_add(key), (number, is_new));
                prop_assert_eq!(addresses.get(key), if is_new { 0 } else { number + 1 });
                *addresses.entry(key) = number + 1;
                prop_assert_eq!(addresses.get(key), number + 1);
                *count += 1;
                *table.entry(key) += 1;
                prop_assert_eq!(set.contains(key), seen.contains(&key));
                prop_assert_eq!(set.insert(key), seen.insert(key));
                prop_assert!(set.contains(key));
                prop_assert_eq!(set.len(), seen.len() as u64);
                let (id, next) = (key as u32, ids.len() as u32);
                let is_new = !ids.contains_key(&id);
                let place = *ids.entry(id).or_insert(next);
                prop_assert_eq!(places.get_or_add(id), (place, is_new));
                prop_assert_eq!(places.get(id), Some(place));
            }
            let mut told = BTreeMap::new();
            table.for_each(|page, count| _ = (count > 0).then(|| told.insert(page, count)));
            prop_assert_eq!(told, counts);
            prop_assert_eq!(set.to_sorted(), seen.into_iter().collect::<Vec<u64>>());
        }
    }
}

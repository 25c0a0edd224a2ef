//! Looking things up by page, by address and by number of region, for tables with millions of them.
//!
//! Pages that are touched lie together, so a hash is made of each stretch of pages only, and what is known of a page lies
//! beside what is known of its neighbours. Numbers of regions mostly count up, so they are places in a list.
//!
//! Waiting for memory is most of what looking up costs. Whoever has many keys says so beforehand (`see`): one look at each, none of
//! which waits for another, brings what is known of them near the processor.

use crate::base::hash::{self, HashMap};

/// Spreads keys evenly over 64 bits, in a way that nobody knows who chooses the keys. (Products of 128 bits would be calls in
/// WebAssembly.)
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
        // The product spreads a difference upwards only, the other steps bring it down again.
        let key = (key ^ self.start).wrapping_mul(self.factor);
        let key = (key ^ (key >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        key ^ (key >> 32)
    }
}

/// Fewest places of a table.
const MIN_SLOTS: usize = 1 << 8;

/// A key and its number, one more than it is; 0 where there is none.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    key: u64,
    number: u32,
}

/// Numbers keys from 0 on, in the order in which they come.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// Places that a key is looked for in, one after the other. A power of two of them, at most two thirds of which are taken.
    slots: Vec<Slot>,
    n: u32,
    /// The last key that was asked for; keys often come several times in a row.
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

    /// Number of a key, if it has one.
    #[inline]
    pub fn get(&self, key: u64) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        self.slots[self.place_of(key)].number.checked_sub(1)
    }

    /// Where a key is, or would be. There are places, and some are free.
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

    /// Number of a key, the next one if it has none; true if it was given now.
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
    /// Never 0 of one that is known.
    number: u32,
}

impl Known {
    #[inline]
    fn is_free(self) -> bool {
        self.number == 0
    }
}

/// A number of each address, in one spot of memory with it.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    /// As in [`Numbers`].
    slots: Vec<Known>,
    n: usize,
    mix: Mix,
}

impl Addresses {
    /// Where an address is, or would be. There are places, and some are free.
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

    /// Number of an address; 0 if it has none.
    #[inline]
    pub fn get(&self, address: u64) -> u32 {
        if self.slots.is_empty() {
            return 0;
        }
        self.slots[self.place_of(address)].number
    }

    /// Number of an address, to be changed. Whoever finds it 0 gives it one.
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

/// Pages of a stretch.
const STRETCH: usize = 8;

/// Something of each page; what nothing was said of is `T::default()`. A page far from others takes the room of eight.
#[derive(Clone, Debug)]
pub struct PageTable<T> {
    stretches: Numbers,
    values: Vec<Stretch<T>>,
}

/// Pages that lie together, in one line of the processor's cache if there is room.
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(64))]
struct Stretch<T>([T; STRETCH]);

impl<T> Default for PageTable<T> {
    fn default() -> PageTable<T> {
        PageTable { stretches: Numbers::default(), values: Vec::new() }
    }
}

impl<T: Copy + Default> PageTable<T> {
    /// What is known of a page, to be changed.
    #[inline]
    pub fn entry(&mut self, page: u64) -> &mut T {
        let (at, is_new) = self.stretches.get_or_add(page / STRETCH as u64);
        if is_new {
            self.values.push(Stretch::default());
        }
        &mut self.values[at as usize].0[(page % STRETCH as u64) as usize]
    }

    /// Tells `each` of all pages of which something may be known, in no order.
    pub fn for_each(&self, mut each: impl FnMut(u64, T)) {
        for slot in self.stretches.slots.iter().filter(|slot| slot.number > 0) {
            let stretch = self.values.get(slot.number as usize - 1).copied().unwrap_or_default();
            for (at, value) in stretch.0.into_iter().enumerate() {
                each(slot.key * STRETCH as u64 + at as u64, value);
            }
        }
    }

    /// What is known of a page.
    #[inline]
    pub fn see(&self, page: u64) -> T {
        let stretch = self.stretches.get(page / STRETCH as u64).and_then(|at| self.values.get(at as usize));
        stretch.map_or_else(T::default, |stretch| stretch.0[(page % STRETCH as u64) as usize])
    }
}

/// Distinct pages.
#[derive(Clone, Debug, Default)]
pub struct PageSet {
    /// A bit a page, by stretches of 64: number and bits, no bits where there is none. As in [`Numbers`].
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

    /// False if it is in there already.
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

    /// Adds the pages of another.
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

    /// Ascending.
    pub fn to_sorted(&self) -> Vec<u64> {
        let mut words: Vec<(u64, u64)> = self.words.iter().copied().filter(|(_, word)| *word > 0).collect();
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
    sparse: HashMap<u32, u32>,
    n: u32,
}

/// Numbers below this are places in a list, however few there are.
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

    /// Gives the next place to a number that has none; true if it was given now.
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

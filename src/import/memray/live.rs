//! What was allocated where: live memory now and at the peak, and allocations that were freed at once.
//!
//! Definitions are memray's (`src/memray/_memray/snapshot.cpp`): the peak is the last moment with the most live bytes; an
//! allocation is temporary if its thread allocated at most once more before freeing it.

use crate::base::hash::HashMap;
use std::collections::BTreeMap;

/// Bytes and allocations.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Amount {
    pub bytes: u64,
    pub n: u64,
}

impl Amount {
    pub fn add(&mut self, bytes: u64, n: u64) {
        *self = Amount { bytes: self.bytes.saturating_add(bytes), n: self.n.saturating_add(n) };
    }

    fn take(&mut self, bytes: u64, n: u64) {
        *self = Amount { bytes: self.bytes.saturating_sub(bytes), n: self.n.saturating_sub(n) };
    }
}

/// Where memory is from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// Index of a thread.
    pub thread: u32,
    /// Node of the decoder's call tree.
    pub node: u32,
    /// Index of an allocator.
    pub allocator: u32,
}

/// Memory of one place.
#[derive(Clone, Copy, Default, Debug)]
struct Usage {
    now: Amount,
    /// Amount at the peak with the number `peak`; at all later ones it is `now`.
    at_peak: Amount,
    peak: u64,
    temporary: Amount,
}

/// Amounts of one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlaceAmounts {
    pub place: Place,
    pub at_peak: Amount,
    /// Not freed by the end.
    pub now: Amount,
    /// Freed at once.
    pub temporary: Amount,
}

/// One allocation: address, bytes, index of its place.
type Allocated = (u64, u64, u32);

/// Memory by place, in the order of the capture.
#[derive(Default)]
pub struct Live {
    places: Vec<Place>,
    usage: Vec<Usage>,
    number_of: HashMap<Place, u32>,
    /// Size and place, by address.
    by_address: HashMap<u64, (u64, u32)>,
    /// End and place of mapped memory, by start; they don't overlap.
    mapped: BTreeMap<u64, (u64, u32)>,
    /// The last two allocations of each thread, latest first.
    recent: HashMap<u64, [Option<Allocated>; 2]>,
    bytes: u64,
    peak_bytes: u64,
    peak_ms: i64,
    /// Number of the last peak so far.
    peak: u64,
    /// Frees of memory allocated before the capture began.
    pub n_unknown_frees: u64,
}

impl Live {
    /// Adds memory that the capture states, of a capture that states all of it.
    pub fn add_stated(&mut self, place: Place, at_peak: Amount, now: Amount) {
        self.places.push(place);
        self.usage.push(Usage { now, at_peak, ..Usage::default() });
    }

    /// Adds an allocation by thread `tid`, which ends what was allocated there before. Memory that is mapped is freed in ranges.
    pub fn allocate(&mut self, tid: u64, address: u64, size: u64, place: Place, is_mapped: bool, ms: i64) {
        let next = self.places.len() as u32;
        let number = *self.number_of.entry(place).or_insert(next);
        if number == next {
            self.places.push(place);
            self.usage.push(Usage::default());
        }
        if is_mapped {
            self.unmap(address, size);
            self.map(address, address.saturating_add(size), number);
        } else {
            if let Some((size, place)) = self.by_address.insert(address, (size, number)) {
                self.take(place, size, 1);
            }
            self.add(number, size, 1);
        }
        let recent = self.recent.entry(tid).or_default();
        recent[1] = recent[0].replace((address, size, number));
        self.look_for_peak(ms);
    }

    /// Ends the allocation at an address; mapped memory has `bytes`, and ends in ranges.
    pub fn free(&mut self, tid: u64, address: u64, bytes: Option<u64>, ms: i64) {
        let recent = self.recent.get(&tid).into_iter().flatten().flatten();
        let mut same =
            recent.filter(|(at, size, _)| *at == address && bytes.is_none_or(|bytes| bytes == *size));
        if let Some((_, size, place)) = same.next().copied() {
            self.usage[place as usize].temporary.add(size, 1);
        }
        let is_known = match bytes {
            Some(bytes) => self.unmap(address, bytes),
            None => match self.by_address.remove(&address) {
                Some((size, place)) => {
                    self.take(place, size, 1);
                    true
                }
                None => false,
            },
        };
        self.n_unknown_frees += u64::from(!is_known);
        self.look_for_peak(ms);
    }

    /// Adds mapped memory; none if it has no bytes.
    fn map(&mut self, start: u64, end: u64, place: u32) {
        if start < end {
            self.mapped.insert(start, (end, place));
            self.add(place, end - start, 1);
        }
    }

    /// Ends a range of mapped memory; what is left of each mapping on either side stays. Whether there was any.
    fn unmap(&mut self, start: u64, size: u64) -> bool {
        let end = start.saturating_add(size);
        if start == end {
            return false;
        }
        let before = self.mapped.range(..start).next_back().filter(|(_, (until, _))| *until > start);
        let within = self.mapped.range(start..end);
        let hit: Vec<u64> = before.into_iter().chain(within).map(|(at, _)| *at).collect();
        for at in &hit {
            let Some((until, place)) = self.mapped.remove(at) else { continue };
            self.take(place, until - at, 1);
            self.map(*at, start, place);
            self.map(end, until, place);
        }
        !hit.is_empty()
    }

    /// Usage of a place before a change.
    fn changed(&mut self, place: u32) -> &mut Usage {
        let usage = &mut self.usage[place as usize];
        if usage.peak != self.peak {
            (usage.at_peak, usage.peak) = (usage.now, self.peak);
        }
        usage
    }

    fn add(&mut self, place: u32, bytes: u64, n: u64) {
        self.changed(place).now.add(bytes, n);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn take(&mut self, place: u32, bytes: u64, n: u64) {
        self.changed(place).now.take(bytes, n);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    fn look_for_peak(&mut self, ms: i64) {
        if self.bytes >= self.peak_bytes {
            (self.peak_bytes, self.peak_ms, self.peak) = (self.bytes, ms, self.peak + 1);
        }
    }

    /// Timestamp of the peak.
    pub fn peak_ms(&self) -> i64 {
        self.peak_ms
    }

    /// Amounts of each place, in order of first appearance.
    pub fn places(&self) -> impl Iterator<Item = PlaceAmounts> + '_ {
        self.places.iter().zip(&self.usage).map(|(place, usage)| PlaceAmounts {
            place: *place,
            at_peak: if usage.peak == self.peak { usage.at_peak } else { usage.now },
            now: usage.now,
            temporary: usage.temporary,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(thread: u32, node: u32) -> Place {
        Place { thread, node, allocator: 0 }
    }

    /// Bytes and allocations at the peak, now and temporary, by place.
    fn amounts(live: &Live) -> Vec<[(u64, u64); 3]> {
        let pair = |amount: Amount| (amount.bytes, amount.n);
        live.places().map(|it| [pair(it.at_peak), pair(it.now), pair(it.temporary)]).collect()
    }

    #[test]
    fn the_peak_is_what_was_live_at_once() {
        let mut live = Live::default();
        live.allocate(7, 1, 100, place(0, 0), false, 5);
        live.allocate(8, 2, 50, place(1, 0), false, 6);
        live.free(7, 1, None, 7);
        live.allocate(7, 3, 40, place(0, 0), false, 8);
        live.free(7, 9, None, 9);
        assert_eq!(amounts(&live), [[(100, 1), (40, 1), (100, 1)], [(50, 1), (50, 1), (0, 0)]]);
        assert_eq!((live.peak_ms(), live.n_unknown_frees), (6, 1));
        // As much as before: the last one counts.
        live.allocate(7, 4, 60, place(0, 1), false, 10);
        assert_eq!(live.peak_ms(), 10);
        assert_eq!(amounts(&live)[0], [(40, 1), (40, 1), (100, 1)]);
    }

    #[test]
    fn mapped_memory_ends_in_ranges() {
        let mut live = Live::default();
        live.allocate(7, 1000, 300, place(0, 0), true, 1);
        live.allocate(7, 2000, 100, place(0, 1), true, 1);
        live.free(7, 1100, Some(50), 2);
        assert_eq!(amounts(&live)[0][1], (250, 2));
        // The end of one, all of another.
        live.free(7, 1200, Some(900), 3);
        assert_eq!(amounts(&live), [[(300, 1), (150, 2), (0, 0)], [(100, 1), (0, 0), (0, 0)]]);
        live.free(7, 5000, Some(10), 4);
        live.free(7, 0, Some(u64::MAX), 4);
        assert_eq!((amounts(&live)[0][1], live.n_unknown_frees), ((0, 0), 1));
        // Freed at once, but only as a whole.
        live.allocate(7, 1000, 300, place(0, 0), true, 5);
        live.free(7, 1000, Some(300), 6);
        assert_eq!(amounts(&live)[0][2], (300, 1));
    }

    #[test]
    fn an_allocation_is_temporary_if_at_most_one_followed_it() {
        let mut live = Live::default();
        for (address, node) in [(1, 0), (2, 1), (3, 2)] {
            live.allocate(7, address, 10, place(0, node), false, 1);
        }
        live.free(7, 1, None, 1);
        live.free(7, 2, None, 1);
        live.free(8, 3, None, 1);
        let temporary: Vec<u64> = live.places().map(|it| it.temporary.n).collect();
        assert_eq!(temporary, [0, 1, 0]);
    }
}

//! Live memory: allocations not freed yet, now and at the peak.

use crate::base::hash::HashMap;

/// Maximum number of separate threads and allocators; the last one stands for all others.
pub const MAX_THREADS: usize = 64;
const MAX_ALLOCATORS: usize = 32;

/// Bytes and allocations.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Amount {
    pub bytes: u64,
    pub n: u64,
}

/// Live memory by thread and allocator.
#[derive(Clone, Default)]
pub struct Amounts {
    /// By thread, then allocator; up to the last one with an amount.
    all: Vec<Amount>,
}

impl Amounts {
    fn of(&mut self, at: usize) -> &mut Amount {
        if self.all.len() <= at {
            self.all.resize(at + 1, Amount::default());
        }
        &mut self.all[at]
    }

    fn sum(&self, is: impl Fn(usize) -> bool) -> Amount {
        let some = self.all.iter().enumerate().filter(|(at, _)| is(*at)).map(|(_, amount)| amount);
        some.fold(Amount::default(), |sum, amount| Amount {
            bytes: sum.bytes.saturating_add(amount.bytes),
            n: sum.n + amount.n,
        })
    }

    /// Sum over all threads and allocators.
    pub fn total(&self) -> Amount {
        self.sum(|_| true)
    }

    /// Amount of a thread, by number.
    pub fn of_thread(&self, thread: usize) -> Amount {
        self.sum(|at| at / MAX_ALLOCATORS == thread)
    }

    /// Amount of an allocator, by number.
    pub fn of_allocator(&self, allocator: usize) -> Amount {
        self.sum(|at| at % MAX_ALLOCATORS == allocator)
    }
}

/// Live memory, now and at the peak.
#[derive(Default)]
pub struct Live {
    /// Size and place in [`Amounts`], by address.
    by_address: HashMap<u64, (u64, u32)>,
    now: Amounts,
    bytes: u64,
    peak_bytes: u64,
    peak_ms: i64,
    /// Amounts at the peak; unset while the peak is now.
    at_peak: Amounts,
    peak_is_now: bool,
    /// Frees of memory allocated before the capture began.
    pub n_unknown_frees: u64,
}

impl Live {
    /// Adds an allocation, which ends an earlier one at the same address.
    pub fn allocate(&mut self, address: u64, size: u64, thread: usize, allocator: usize, ms: i64) {
        let at = thread.min(MAX_THREADS) * MAX_ALLOCATORS + allocator.min(MAX_ALLOCATORS - 1);
        if let Some(before) = self.by_address.insert(address, (size, at as u32)) {
            self.take(before);
        }
        let amount = self.now.of(at);
        *amount = Amount { bytes: amount.bytes.saturating_add(size), n: amount.n + 1 };
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > self.peak_bytes {
            (self.peak_bytes, self.peak_ms, self.peak_is_now) = (self.bytes, ms, true);
        }
    }

    /// Ends the allocation at an address, or its first `bytes`: mappings may end in parts.
    pub fn free(&mut self, address: u64, bytes: Option<u64>) {
        let Some((size, at)) = self.by_address.remove(&address) else {
            self.n_unknown_frees += 1;
            return;
        };
        self.take((size, at));
        if let Some(bytes) = bytes.filter(|bytes| *bytes < size) {
            let rest = size - bytes;
            self.by_address.insert(address.saturating_add(bytes), (rest, at));
            let amount = self.now.of(at as usize);
            *amount = Amount { bytes: amount.bytes.saturating_add(rest), n: amount.n + 1 };
            self.bytes = self.bytes.saturating_add(rest);
        }
    }

    fn take(&mut self, (size, at): (u64, u32)) {
        // Copied only when memory leaves the peak, since it usually grows by many allocations in a row.
        if self.peak_is_now {
            (self.at_peak, self.peak_is_now) = (self.now.clone(), false);
        }
        let amount = self.now.of(at as usize);
        *amount = Amount { bytes: amount.bytes.saturating_sub(size), n: amount.n.saturating_sub(1) };
        self.bytes = self.bytes.saturating_sub(size);
    }

    /// Amounts at the peak, and its timestamp.
    pub fn peak(&self) -> (&Amounts, i64) {
        (if self.peak_is_now { &self.now } else { &self.at_peak }, self.peak_ms)
    }

    /// Live memory now.
    pub fn now(&self) -> Amount {
        self.now.total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_what_was_live_at_once() {
        let mut live = Live::default();
        live.allocate(1, 100, 0, 0, 5);
        live.allocate(2, 50, 1, 3, 6);
        live.free(1, None);
        live.allocate(3, 40, 0, 0, 7);
        live.free(9, None);
        let (peak, ms) = live.peak();
        assert_eq!((peak.total(), ms), (Amount { bytes: 150, n: 2 }, 6));
        assert_eq!(peak.of_thread(1), Amount { bytes: 50, n: 1 });
        assert_eq!(peak.of_allocator(0), Amount { bytes: 100, n: 1 });
        assert_eq!((live.now(), live.n_unknown_frees), (Amount { bytes: 90, n: 2 }, 1));
    }
}

//! Which worker gets the next range of a file, and when: the same rules for threads and for workers of the page.
//!
//! A worker has a few ranges ahead, so that it never waits for the joining thread. The number of ranges that are out or wait to be
//! joined is limited, as their rows are in memory.

use super::Import;
use super::part_scheduler::{Next, PartScheduler};
use super::parts::Part;
use std::ops::Range;

/// The ranges of a file in the hands of several workers.
pub struct HandOut {
    crew: PartScheduler,
    /// Ranges of each worker; `None` once it is lost.
    given: Vec<Option<Vec<Range<u64>>>>,
    max_ahead: usize,
    max_unjoined: usize,
}

impl HandOut {
    /// Hands out the ranges of `crew` to `n_workers`: at most `max_ahead` to each, and only while fewer than `max_unjoined` are out or
    /// wait to be joined.
    pub fn new(crew: PartScheduler, n_workers: usize, max_ahead: usize, max_unjoined: usize) -> HandOut {
        HandOut { crew, given: vec![Some(Vec::new()); n_workers], max_ahead, max_unjoined }
    }

    /// The next range for a worker, if it should get one now.
    pub fn give(&mut self, worker: usize) -> Option<Range<u64>> {
        if self.is_full() {
            return None;
        }
        let given = self.given.get_mut(worker)?.as_mut().filter(|given| given.len() < self.max_ahead)?;
        let range = self.crew.next_range()?;
        given.push(range.clone());
        Some(range)
    }

    /// The next range for the joining thread, while it waits for others.
    pub fn give_own(&mut self) -> Option<Range<u64>> {
        if self.is_full() { None } else { self.crew.next_range() }
    }

    /// Takes back a range of a worker, with its part; see [`PartScheduler::put_back`].
    pub fn take_back(&mut self, worker: usize, range: &Range<u64>, part: Option<Part>) {
        if let Some(Some(given)) = self.given.get_mut(worker) {
            given.retain(|other| other != range);
        }
        self.crew.put_back(range, part);
    }

    /// Takes back a range of the joining thread.
    pub fn take_back_own(&mut self, range: &Range<u64>, part: Option<Part>) {
        self.crew.put_back(range, part);
    }

    /// Takes back all ranges of a worker that is lost. It gets no more.
    pub fn lose(&mut self, worker: usize) {
        let lost = self.given.get_mut(worker).and_then(Option::take);
        for range in lost.into_iter().flatten() {
            self.crew.put_back(&range, None);
        }
    }

    /// Whether all workers are there and have nothing to do.
    pub fn are_idle(&self) -> bool {
        self.given.iter().all(|given| given.as_ref().is_some_and(Vec::is_empty))
    }

    /// Whether ranges are out, or wait to be joined.
    pub fn is_under_way(&self) -> bool {
        self.crew.n_unmerged() > 0
    }

    /// See [`PartScheduler::advance`].
    pub fn advance(&mut self, import: &mut Import) -> Next {
        self.crew.advance(import)
    }

    fn is_full(&self) -> bool {
        self.crew.n_unmerged() >= self.max_unjoined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_more_than_is_allowed() {
        // Ranges of 10 bytes.
        let mut out = HandOut::new(PartScheduler::new(0..100, 10), 2, 2, 5);
        let mut give = |worker| out.give(worker).map(|range| range.start);
        assert_eq!([give(0), give(0), give(0)], [Some(0), Some(10), None]);
        assert_eq!([give(1), give(1), give(1), give(7)], [Some(20), Some(30), None, None]);
        assert_eq!(out.give_own(), Some(40..50));
        // Five are out.
        assert_eq!(out.give_own(), None);
        out.take_back(0, &(10..20), None);
        assert!(!out.are_idle() && out.is_under_way());
        // It waits to be joined, so there is still no room.
        assert_eq!(out.give(0), None);
    }

    #[test]
    fn what_a_lost_worker_had_is_taken_back() {
        let mut out = HandOut::new(PartScheduler::new(0..100, 10), 2, 1, 9);
        let ranges = [out.give(0), out.give(1)];
        assert_eq!(ranges, [Some(0..10), Some(10..20)]);
        out.lose(0);
        assert_eq!(out.give(0), None);
        out.take_back(1, &(10..20), None);
        assert!(!out.are_idle(), "one is lost");
        assert_eq!(out.give(1), Some(20..30));
    }
}

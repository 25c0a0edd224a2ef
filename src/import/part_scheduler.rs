//! Scheduling of the parts of a file over several workers, and joining their results.
//!
//! The file is handed out in ranges, front to back, to idle workers. Parts come back in any order and are joined in file
//! order. This module starts no worker and reads no file; it only decides what to do next.

use super::Import;
use super::parts::Part;
use std::collections::VecDeque;
use std::ops::Range;

/// Next action of the joining thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next {
    /// Feed these bytes of the file to the import, then ask again.
    Feed(Range<u64>),
    /// Wait for the part of this range.
    Wait,
    /// Nothing is in flight: take a range, or finish if there is none.
    Idle,
}

/// A range that was handed out.
struct ScheduledRange {
    bytes: Range<u64>,
    state: State,
}

enum State {
    Out,
    Read(Part),
    /// The part was joined or rejected; the joining thread reads the rest.
    Rest,
}

/// Upper bound of the first range (up to its cut), so that there is something to show early.
const FIRST_BYTES: u64 = 4 << 20;

/// Scheduler for one file.
pub struct PartScheduler {
    /// Ranges not joined yet, in file order.
    ranges: VecDeque<ScheduledRange>,
    unshared: Range<u64>,
    range_bytes: u64,
    /// Offsets at which ranges end, ascending; empty if any offset works.
    cuts: Vec<u64>,
    /// Nothing has been handed out yet.
    is_first: bool,
}

impl PartScheduler {
    /// Schedules the bytes `rest` of a file.
    pub fn new(rest: Range<u64>, range_bytes: u64) -> PartScheduler {
        PartScheduler {
            ranges: VecDeque::new(),
            unshared: rest,
            range_bytes: range_bytes.max(1),
            cuts: Vec::new(),
            is_first: true,
        }
    }

    /// Makes ranges end at the next of these ascending offsets instead of at a fixed size.
    pub fn cut_at(mut self, cuts: Vec<u64>) -> PartScheduler {
        self.cuts = cuts;
        self
    }

    /// Hands out the next range; `None` if all are handed out.
    pub fn next_range(&mut self) -> Option<Range<u64>> {
        if self.unshared.is_empty() {
            return None;
        }
        let n_bytes = match std::mem::replace(&mut self.is_first, false) {
            true => self.range_bytes.min(FIRST_BYTES),
            false => self.range_bytes,
        };
        let end = self.unshared.start.saturating_add(n_bytes);
        let end = match self.cuts.is_empty() {
            true => end,
            false => {
                let at = self.cuts.partition_point(|cut| *cut < end);
                self.cuts.get(at).map_or(u64::MAX, |cut| end.max(*cut))
            }
        };
        let end = self.unshared.end.min(end);
        let bytes = self.unshared.start..end;
        self.unshared.start = end;
        self.ranges.push_back(ScheduledRange { bytes: bytes.clone(), state: State::Out });
        Some(bytes)
    }

    /// Number of ranges in flight or waiting to be joined.
    pub fn n_unmerged(&self) -> usize {
        self.ranges.len()
    }

    /// Takes back the range `bytes` and its part. `None` means the worker failed: the joining thread then reads the range
    /// itself, and reports the error.
    pub fn put_back(&mut self, bytes: &Range<u64>, part: Option<Part>) {
        let is_it = |range: &&mut ScheduledRange| range.bytes == *bytes && matches!(range.state, State::Out);
        if let Some(range) = self.ranges.iter_mut().find(is_it) {
            range.state = part.map_or(State::Rest, State::Read);
        }
    }

    /// Joins all parts that can be joined, and returns the next action.
    pub fn advance(&mut self, import: &mut Import) -> Next {
        loop {
            if import.has_given_up() {
                return Next::Idle;
            }
            let Some(range) = self.ranges.front_mut() else { return Next::Idle };
            let until = range.bytes.end;
            let position = import.position();
            match std::mem::replace(&mut range.state, State::Rest) {
                State::Out => {
                    range.state = State::Out;
                    return Next::Wait;
                }
                State::Read(part) if import.is_at_merge_point() && part.start == position => {
                    import.merge(part);
                }
                State::Read(part) if position < part.start && part.start < until => {
                    // The events in between belong to no part; reading them shows whether the part fits.
                    let upto = part.start + 1;
                    import.set_limit(part.start);
                    range.state = State::Read(part);
                    return Next::Feed(position..upto);
                }
                State::Read(_) => {}
                State::Rest if position < until => {
                    import.set_limit(u64::MAX);
                    return Next::Feed(position..until);
                }
                State::Rest => {
                    self.ranges.pop_front();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_end_where_records_start() {
        let shared = |cuts: &[u64]| {
            let mut scheduler = PartScheduler::new(10..100, 20).cut_at(cuts.to_vec());
            let ends: Vec<u64> =
                std::iter::from_fn(|| scheduler.next_range()).map(|range| range.end).collect();
            ends
        };
        assert_eq!(shared(&[]), [30, 50, 70, 90, 100]);
        assert_eq!(shared(&[4, 30, 45, 55, 60, 95]), [30, 55, 95, 100]);
        assert_eq!(shared(&[4]), [100]);
        // Offsets in a file can have any value.
        assert_eq!(shared(&[90, 40, 400, 3]).last(), Some(&100));
    }
}

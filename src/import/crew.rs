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
struct Stretch {
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
pub struct Crew {
    /// Ranges not joined yet, in file order.
    stretches: VecDeque<Stretch>,
    unshared: Range<u64>,
    stretch_bytes: u64,
    /// Offsets at which ranges end, ascending; empty if any offset works.
    cuts: Vec<u64>,
    /// Nothing has been handed out yet.
    is_first: bool,
}

impl Crew {
    /// Schedules the bytes `rest` of a file.
    pub fn new(rest: Range<u64>, stretch_bytes: u64) -> Crew {
        Crew {
            stretches: VecDeque::new(),
            unshared: rest,
            stretch_bytes: stretch_bytes.max(1),
            cuts: Vec::new(),
            is_first: true,
        }
    }

    /// Makes ranges end at the next of these ascending offsets instead of at a fixed size.
    pub fn cut_at(mut self, cuts: Vec<u64>) -> Crew {
        self.cuts = cuts;
        self
    }

    /// Hands out the next range; `None` if all are handed out.
    pub fn take(&mut self) -> Option<Range<u64>> {
        if self.unshared.is_empty() {
            return None;
        }
        let n_bytes = match std::mem::replace(&mut self.is_first, false) {
            true => self.stretch_bytes.min(FIRST_BYTES),
            false => self.stretch_bytes,
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
        self.stretches.push_back(Stretch { bytes: bytes.clone(), state: State::Out });
        Some(bytes)
    }

    /// Number of ranges in flight or waiting to be joined.
    pub fn n_unjoined(&self) -> usize {
        self.stretches.len()
    }

    /// Takes back the range `bytes` and its part. `None` means the worker failed: the joining thread then reads the range
    /// itself, and reports the error.
    pub fn put(&mut self, bytes: &Range<u64>, part: Option<Part>) {
        let is_it = |stretch: &&mut Stretch| stretch.bytes == *bytes && matches!(stretch.state, State::Out);
        if let Some(stretch) = self.stretches.iter_mut().find(is_it) {
            stretch.state = part.map_or(State::Rest, State::Read);
        }
    }

    /// Joins all parts that can be joined, and returns the next action.
    pub fn advance(&mut self, import: &mut Import) -> Next {
        loop {
            if import.has_given_up() {
                return Next::Idle;
            }
            let Some(stretch) = self.stretches.front_mut() else { return Next::Idle };
            let until = stretch.bytes.end;
            let position = import.position();
            match std::mem::replace(&mut stretch.state, State::Rest) {
                State::Out => {
                    stretch.state = State::Out;
                    return Next::Wait;
                }
                State::Read(part) if import.is_at_joint() && part.start == position => {
                    import.join(part);
                }
                State::Read(part) if position < part.start && part.start < until => {
                    // The events in between belong to no part; reading them shows whether the part fits.
                    let upto = part.start + 1;
                    import.set_limit(part.start);
                    stretch.state = State::Read(part);
                    return Next::Feed(position..upto);
                }
                State::Read(_) => {}
                State::Rest if position < until => {
                    import.set_limit(u64::MAX);
                    return Next::Feed(position..until);
                }
                State::Rest => {
                    self.stretches.pop_front();
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
            let mut crew = Crew::new(10..100, 20).cut_at(cuts.to_vec());
            let ends: Vec<u64> = std::iter::from_fn(|| crew.take()).map(|stretch| stretch.end).collect();
            ends
        };
        assert_eq!(shared(&[]), [30, 50, 70, 90, 100]);
        assert_eq!(shared(&[4, 30, 45, 55, 60, 95]), [30, 55, 95, 100]);
        assert_eq!(shared(&[4]), [100]);
        // Offsets in a file can have any value.
        assert_eq!(shared(&[90, 40, 400, 3]).last(), Some(&100));
    }
}

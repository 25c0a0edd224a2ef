//! Who reads which part of a file, and joining what comes back.
//!
//! The file is shared out in stretches, from front to back, to whoever has nothing to do. Parts come back in any order
//! and are joined in the order of the file. It starts no worker and reads no file: it says what is to be done next.

use super::Import;
use super::parts::Part;
use std::collections::VecDeque;
use std::ops::Range;

/// What the one who joins has to do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next {
    /// Feed the import with these bytes of the file, then ask again.
    Feed(Range<u64>),
    /// Wait for the part of this stretch.
    Wait,
    /// Nothing is out: take a stretch, or finish if there is none.
    Idle,
}

/// A stretch that was shared out.
struct Stretch {
    bytes: Range<u64>,
    state: State,
}

enum State {
    Out,
    Read(Part),
    /// The part is joined or was of no use; the rest is read by the one who joins.
    Rest,
}

/// The first stretch goes no further than this, but for its cut, so that there is soon something to show.
const FIRST_BYTES: u64 = 4 << 20;

/// Shares out one file.
pub struct Crew {
    /// Not joined yet, in the order of the file.
    stretches: VecDeque<Stretch>,
    unshared: Range<u64>,
    stretch_bytes: u64,
    /// Where stretches end, in order; anywhere if it is empty.
    cuts: Vec<u64>,
    /// Nothing has been shared out yet.
    is_first: bool,
}

impl Crew {
    /// Shares out the bytes `rest` of a file.
    pub fn new(rest: Range<u64>, stretch_bytes: u64) -> Crew {
        Crew {
            stretches: VecDeque::new(),
            unshared: rest,
            stretch_bytes: stretch_bytes.max(1),
            cuts: Vec::new(),
            is_first: true,
        }
    }

    /// Has stretches end at the next of these bytes, which are in order, instead of after just so many.
    pub fn cut_at(mut self, cuts: Vec<u64>) -> Crew {
        self.cuts = cuts;
        self
    }

    /// The next stretch for someone who has nothing to do. `None` if all are shared out.
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

    /// Stretches that are out, or wait to be joined.
    pub fn n_unjoined(&self) -> usize {
        self.stretches.len()
    }

    /// Takes back the stretch `bytes` with what was read of it; `None` if whoever was at it did not come to an end, in
    /// which case it is read by the one who joins. Then at least the reason is heard.
    pub fn put(&mut self, bytes: &Range<u64>, part: Option<Part>) {
        let is_it = |stretch: &&mut Stretch| stretch.bytes == *bytes && matches!(stretch.state, State::Out);
        if let Some(stretch) = self.stretches.iter_mut().find(is_it) {
            stretch.state = part.map_or(State::Rest, State::Read);
        }
    }

    /// Joins what can be joined, and says what is to be done then.
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
                    // The events between are no one's; whether the part fits shows when they are read.
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
        // A file may say anything of the places of its records.
        assert_eq!(shared(&[90, 40, 400, 3]).last(), Some(&100));
    }
}

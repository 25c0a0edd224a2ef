//! Running slices of a thread: at any time, the slice that started last and has not ended.
//!
//! ```text
//! [A       ]            1 2 3 4 5 6 7 8 9
//!      [B          ]    A A A B B B B B B
//! ```
//! A thread does one thing at a time, so these ranges add up to the time in which anything is open on it, even if slices
//! overlap.

/// Divides the time of one thread among its slices.
#[derive(Default)]
pub struct Sweep {
    /// Open slices and their ends, in order of start.
    open: Vec<(u32, u64)>,
    /// Time up to which all is divided.
    now: u64,
}

impl Sweep {
    /// Starts a slice. Slices come in order of start; times are nanoseconds from any origin.
    #[inline]
    pub fn start(&mut self, slice: u32, start: u64, end: u64, give: impl FnMut(u32, u64, u64)) {
        self.advance(start, give);
        self.open.push((slice, end));
    }

    /// Divides the time up to `ts`: calls `give` with a slice and a range (from, to) in which it ran.
    #[inline]
    pub fn advance(&mut self, ts: u64, mut give: impl FnMut(u32, u64, u64)) {
        while let Some((slice, end)) = self.open.pop_if(|(_, end)| *end <= ts) {
            if end > self.now {
                give(slice, self.now, end);
                self.now = end;
            }
        }
        if let Some((slice, _)) = self.open.last() {
            give(*slice, self.now, ts);
        }
        self.now = self.now.max(ts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_started_last_runs() {
        let mut stretches = Vec::new();
        let mut sweep = Sweep::default();
        let mut give = |slice, from, to| {
            if to > from {
                stretches.push((slice, from, to));
            }
        };
        sweep.start(0, 0, 10, &mut give);
        // Overlaps both the slice around it and the one after it.
        sweep.start(1, 4, 12, &mut give);
        sweep.start(2, 6, 8, &mut give);
        sweep.start(3, 20, 30, &mut give);
        sweep.advance(u64::MAX, &mut give);
        assert_eq!(stretches, [(0, 0, 4), (1, 4, 6), (2, 6, 8), (1, 8, 12), (3, 20, 30)]);
    }
}

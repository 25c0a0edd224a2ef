//! What a thread runs when: at any time the slice that was started last and has not ended.
//!
//! ```text
//! [A       ]            1 2 3 4 5 6 7 8 9
//!      [B          ]    A A A B B B B B B
//! ```
//! A thread does one thing at a time, so the stretches add up to the time in which anything is open on it, also where slices overlap.

/// Shares out the time of one thread among its slices.
#[derive(Default)]
pub struct Sweep {
    /// Slices and their ends, in order of start.
    open: Vec<(u32, u64)>,
    /// Time up to which all is shared out.
    now: u64,
}

impl Sweep {
    /// A slice starts. Slices come in order of their starts; times are nanoseconds from any one moment.
    #[inline]
    pub fn start(&mut self, slice: u32, start: u64, end: u64, give: impl FnMut(u32, u64, u64)) {
        self.advance(start, give);
        self.open.push((slice, end));
    }

    /// Shares out the time up to `ts`: `give` is told of a slice and the stretch, from and to, in which it ran.
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
        // Overlaps both what is around it and what comes after it.
        sweep.start(1, 4, 12, &mut give);
        sweep.start(2, 6, 8, &mut give);
        sweep.start(3, 20, 30, &mut give);
        sweep.advance(u64::MAX, &mut give);
        assert_eq!(stretches, [(0, 0, 4), (1, 4, 6), (2, 6, 8), (1, 8, 12), (3, 20, 30)]);
    }
}

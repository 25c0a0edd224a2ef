//! Throughput and remaining time, from points in time supplied by the caller.

use std::collections::VecDeque;

/// Age from which points are no longer considered.
const MEMORY_MS: f64 = 4_000.0;
/// Time before which an estimate is noise.
const SETTLE_MS: f64 = 400.0;
/// Fraction of the total (one part in 200) before which an estimate is noise.
const LEAST_PART: u64 = 200;

/// Tracks a growing amount.
#[derive(Clone, Debug, Default)]
pub struct Eta {
    /// Time in milliseconds and amount so far, oldest first.
    points: VecDeque<(f64, u64)>,
}

impl Eta {
    /// Records the amount `done` at `now_ms`. Going backwards in time or amount restarts it.
    pub fn note(&mut self, now_ms: f64, done: u64) {
        if self.points.back().is_some_and(|(at, amount)| now_ms < *at || done < *amount) {
            self.points.clear();
        }
        self.points.push_back((now_ms, done));
        // The oldest point stays until the next one is old enough too, so that a full span is always covered.
        while self.points.get(1).is_some_and(|(at, _)| now_ms - at >= MEMORY_MS) {
            self.points.pop_front();
        }
    }

    /// Amount per second over the last few seconds. `None` while it is too early.
    pub fn per_second(&self) -> Option<f64> {
        let ((start, from), (end, to)) = (self.points.front()?, self.points.back()?);
        let span_ms = end - start;
        (span_ms >= SETTLE_MS).then(|| (to - from) as f64 * 1000.0 / span_ms)
    }

    /// Whether enough of `total` is done for an estimate.
    fn has_begun(&self, total: u64) -> bool {
        self.points.back().is_some_and(|(_, done)| done.saturating_mul(LEAST_PART) >= total && *done > 0)
    }

    /// Amount per second, once enough of `total` is done for an estimate.
    pub fn per_second_of(&self, total: u64) -> Option<f64> {
        self.per_second().filter(|_| self.has_begun(total))
    }

    /// Seconds until `total` at this rate. `None` while it is too early, nothing moves, or `total` is passed.
    pub fn seconds_left(&self, total: u64) -> Option<f64> {
        let (_, done) = self.points.back().filter(|_| self.has_begun(total))?;
        let rate = self.per_second().filter(|rate| *rate > 0.0)?;
        let left = total.checked_sub(*done)?;
        Some(left as f64 / rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_time_left() {
        let mut eta = Eta::default();
        assert_eq!((eta.per_second(), eta.seconds_left(10)), (None, None));
        eta.note(1000.0, 0);
        eta.note(1100.0, 50);
        assert_eq!(eta.per_second(), None);
        eta.note(2000.0, 500);
        assert_eq!(eta.per_second(), Some(500.0));
        assert_eq!(eta.seconds_left(1500), Some(2.0));
        assert_eq!(eta.seconds_left(400), None);
    }

    #[test]
    fn the_first_bytes_say_nothing_of_the_rest() {
        let mut eta = Eta::default();
        eta.note(0.0, 0);
        eta.note(3_000.0, 80);
        assert_eq!((eta.per_second_of(100_000_000), eta.seconds_left(100_000_000)), (None, None));
        eta.note(3_500.0, 4_000_000);
        assert!(eta.per_second_of(100_000_000).is_some() && eta.seconds_left(100_000_000).is_some());
    }

    #[test]
    fn follows_a_change_of_rate_and_a_stall() {
        let mut eta = Eta::default();
        for step in 0..=20u64 {
            eta.note(step as f64 * 500.0, step * 1000);
        }
        assert_eq!(eta.per_second(), Some(2000.0));
        for step in 21..=40u64 {
            eta.note(step as f64 * 500.0, 20_000);
        }
        assert_eq!(eta.per_second(), Some(0.0));
        assert_eq!(eta.seconds_left(30_000), None);
        eta.note(0.0, 5);
        assert_eq!(eta.per_second(), None);
    }
}

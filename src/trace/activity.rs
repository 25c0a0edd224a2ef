//! When a trace has events at all: groups of events without long gaps.

use super::slices::{SliceTable, UNFINISHED};
use crate::base::strings::StringId;
use serde::{Deserialize, Serialize};

/// Shortest time without events that separates two groups, in nanoseconds.
pub const MIN_GAP_NS: i64 = 3600 * 1_000_000_000;
/// Most groups that are distinguished; a trace with more of them simply has many pauses.
const MAX_STRETCHES: usize = 64;

/// A group of events without long gaps, on the trace's clock in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stretch {
    pub start: i64,
    pub end: i64,
    /// Number of events.
    pub n: u64,
    /// Name of its first slice; `None` if it has no slice.
    pub name: Option<StringId>,
}

impl Stretch {
    fn absorb(&mut self, other: &Stretch) {
        self.end = self.end.max(other.end);
        self.n += other.n;
        self.name = self.name.or(other.name);
    }

    fn is_near(&self, later: &Stretch) -> bool {
        later.start.saturating_sub(self.end) < MIN_GAP_NS
    }
}

/// Groups of events, which may be added table by table and part by part.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Activity {
    /// In order of time, with long gaps between them.
    stretches: Vec<Stretch>,
    has_too_many: bool,
}

impl Activity {
    /// The groups in order of time; `None` if there are too many.
    pub fn stretches(&self) -> Option<&[Stretch]> {
        (!self.has_too_many).then_some(self.stretches.as_slice())
    }

    /// Adds slices, sorted by start.
    pub fn add_slices(&mut self, slices: &SliceTable) {
        let durations = slices.dur.iter();
        let all = slices.ts.iter().zip(&slices.name).zip(durations).map(|((ts, name), dur)| {
            let dur = match dur {
                UNFINISHED => 0,
                // A slice of hours counts as activity; one of years does not.
                dur => dur.min(MIN_GAP_NS),
            };
            Stretch { start: *ts, end: ts.saturating_add(dur), n: 1, name: Some(*name) }
        });
        self.add(all);
    }

    /// Adds points in time, sorted.
    pub fn add_points(&mut self, times: &[i64]) {
        self.add(times.iter().map(|ts| Stretch { start: *ts, end: *ts, n: 1, name: None }));
    }

    /// Adds sorted groups.
    fn add(&mut self, sorted: impl Iterator<Item = Stretch>) {
        if self.has_too_many {
            return;
        }
        let mut found: Vec<Stretch> = Vec::new();
        for stretch in sorted {
            match found.last_mut().filter(|last| last.is_near(&stretch)) {
                Some(last) => last.absorb(&stretch),
                None => found.push(stretch),
            }
            if found.len() > MAX_STRETCHES {
                return self.give_up();
            }
        }
        // Few by now, so they can be sorted into what is there.
        self.stretches.append(&mut found);
        self.stretches.sort_by_key(|stretch| stretch.start);
        let mut merged: Vec<Stretch> = Vec::new();
        for stretch in self.stretches.drain(..) {
            match merged.last_mut().filter(|last| last.is_near(&stretch)) {
                Some(last) => last.absorb(&stretch),
                None => merged.push(stretch),
            }
        }
        self.stretches = merged;
        if self.stretches.len() > MAX_STRETCHES {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.has_too_many = true;
        self.stretches.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_give_what_the_whole_gives() {
        let hour = MIN_GAP_NS;
        let times = [0, 5, 10 * hour, 10 * hour + 3, 90 * hour];
        let mut whole = Activity::default();
        whole.add_points(&times);
        let mut parts = Activity::default();
        for chosen in [[4, 1], [0, 2]] {
            let mut some: Vec<i64> = chosen.iter().map(|at| times[*at]).collect();
            some.sort_unstable();
            parts.add_points(&some);
        }
        parts.add_points(&times[3..4]);
        assert_eq!(parts, whole);
        let spans = |activity: &Activity| -> Vec<(i64, i64, u64)> {
            activity
                .stretches()
                .unwrap()
                .iter()
                .map(|stretch| (stretch.start, stretch.end, stretch.n))
                .collect()
        };
        assert_eq!(spans(&whole), [(0, 5, 2), (10 * hour, 10 * hour + 3, 2), (90 * hour, 90 * hour, 1)]);
    }

    #[test]
    fn a_trace_of_pauses_is_not_split() {
        let times: Vec<i64> = (0..=MAX_STRETCHES as i64).map(|i| i * 2 * MIN_GAP_NS).collect();
        let mut activity = Activity::default();
        activity.add_points(&times);
        assert_eq!(activity.stretches(), None);
    }
}

//! Sets of addresses as disjoint ranges.

use std::collections::BTreeMap;

/// Disjoint ranges: end by start.
#[derive(Clone, Default, Debug)]
pub struct Intervals {
    ends: BTreeMap<i64, i64>,
}

impl Intervals {
    /// In order of addresses.
    pub fn iter(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.ends.iter().map(|(low, high)| (*low, *high))
    }

    /// Adds a range, which becomes one with those that it overlaps; with `joins`, with those that it only touches, too.
    pub fn add(&mut self, (mut low, mut high): (i64, i64), joins: bool) {
        if low >= high {
            return;
        }
        let own = (low, high);
        let meets = |(start, end): &(i64, i64)| match joins {
            true => *start <= own.1 && *end >= own.0,
            false => *start < own.1 && *end > own.0,
        };
        // From the last range on: ranges are disjoint, so their ends are in order as well. One that starts at the end may not meet,
        // while the one before it does.
        loop {
            let last = self.ends.range(..=own.1).next_back();
            let before = self.ends.range(..own.1).next_back();
            let ranges = [last, before].into_iter().flatten().map(|(start, end)| (*start, *end));
            let Some((start, end)) = ranges.into_iter().find(meets) else { break };
            self.ends.remove(&start);
            (low, high) = (low.min(start), high.max(end));
        }
        self.ends.insert(low, high);
    }

    /// The range that contains all of another one.
    pub fn around(&self, (low, high): (i64, i64)) -> Option<(i64, i64)> {
        let (start, end) = self.ends.range(..=low).next_back()?;
        (*end >= high && *end > low).then_some((*start, *end))
    }

    /// Parts of a range that no range here covers.
    pub fn gaps(&self, (low, high): (i64, i64)) -> Vec<(i64, i64)> {
        let mut gaps = Vec::new();
        let first = self.ends.range(..=low).next_back().map_or(low, |(start, _)| *start);
        let mut at = low;
        for (start, end) in self.ends.range(first..high.max(first)) {
            if *start > at {
                gaps.push((at, *start));
            }
            at = at.max(*end);
        }
        if at < high {
            gaps.push((at, high));
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Equal to a set of single addresses.
        #[test]
        fn ranges_are_sets_of_addresses(
            ranges in prop::collection::vec((0i64..60, 0i64..12, any::<bool>()), 0..20),
            (low, length) in (0i64..60, 0i64..20),
        ) {
            let mut set = Intervals::default();
            let mut plain = [false; 80];
            for (low, length, joins) in ranges {
                set.add((low, low + length), joins);
                plain[low as usize..(low + length) as usize].fill(true);
                let mut own = [false; 80];
                let mut end = i64::MIN;
                for (low, high) in set.iter() {
                    prop_assert!(low >= end && low < high);
                    end = high;
                    own[low as usize..high as usize].fill(true);
                }
                prop_assert_eq!(own, plain);
            }
            let mut gaps = [false; 80];
            for (from, to) in set.gaps((low, low + length)) {
                prop_assert!(from < to);
                gaps[from as usize..to as usize].fill(true);
            }
            for at in low..low + length {
                prop_assert_eq!(gaps[at as usize], !plain[at as usize]);
            }
            prop_assert_eq!(gaps.iter().filter(|it| **it).count(),
                (low..low + length).filter(|at| !plain[*at as usize]).count());
        }
    }

    #[test]
    fn neighbors_join_only_if_told_to() {
        let mut set = Intervals::default();
        set.add((0, 10), false);
        set.add((10, 20), false);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(0, 10), (10, 20)]);
        assert_eq!((set.around((3, 10)), set.around((3, 11))), (Some((0, 10)), None));
        set.add((20, 30), true);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(0, 10), (10, 30)]);
        set.add((9, 11), false);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(0, 30)]);
    }
}

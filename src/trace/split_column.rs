//! Columns of integers whose upper bits hardly vary, such as ids, offsets and numbers of streams.
//!
//! ```text
//! 4,294,967,301 = 0x1_0000_0005     lower 32 bits: 5     upper bits: 1, an entry of a short list
//! ```

use serde::{Deserialize, Serialize};

/// Unsigned number that takes the lower bits of a value.
pub trait Low: Copy + Into<i64> {
    const BITS: u32;

    /// The lower bits of `value`.
    fn of(value: i64) -> Self;
}

impl Low for u32 {
    const BITS: u32 = 32;

    fn of(value: i64) -> u32 {
        value as u32
    }
}

impl Low for u8 {
    const BITS: u32 = 8;

    fn of(value: i64) -> u8 {
        value as u8
    }
}

/// Integers of 64 bits. Most take the size of `L` and a byte.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SplitColumn<L> {
    /// The lower bits.
    pub low: Vec<L>,
    /// Index of the upper bits in `highs`; 255 for values in `aside`.
    pub high: Vec<u8>,
    /// Distinct upper bits, in order of first appearance.
    pub highs: Vec<i64>,
    /// Values whose upper bits are not in `highs`, which is full. Sparse, sorted by row.
    pub aside: Vec<(u32, i64)>,
}

/// Marks a value that is stored apart.
const ASIDE: u8 = u8::MAX;

impl<L> Default for SplitColumn<L> {
    fn default() -> SplitColumn<L> {
        SplitColumn { low: Vec::new(), high: Vec::new(), highs: Vec::new(), aside: Vec::new() }
    }
}

/// Columns are equal if their values are.
impl<L: Low> PartialEq for SplitColumn<L> {
    fn eq(&self, other: &SplitColumn<L>) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<L: Low> Eq for SplitColumn<L> {}

impl<L: Low> SplitColumn<L> {
    pub fn len(&self) -> usize {
        self.low.len()
    }

    pub fn is_empty(&self) -> bool {
        self.low.is_empty()
    }

    pub fn push(&mut self, value: i64) {
        let high = self.index_of(value >> L::BITS);
        if high == ASIDE {
            self.aside.push((self.low.len() as u32, value));
        }
        self.low.push(L::of(value));
        self.high.push(high);
    }

    /// Index of upper bits in `highs`, to which they are added if there is room.
    fn index_of(&mut self, high: i64) -> u8 {
        // Neighbors are mostly alike.
        if let Some(last) = self.high.last().filter(|last| self.highs.get(usize::from(**last)) == Some(&high))
        {
            return *last;
        }
        match self.highs.iter().position(|known| *known == high) {
            Some(at) => at as u8,
            None if self.highs.len() < usize::from(ASIDE) => {
                self.highs.push(high);
                (self.highs.len() - 1) as u8
            }
            None => ASIDE,
        }
    }

    #[inline]
    pub fn get(&self, row: usize) -> i64 {
        let low: i64 = self.low[row].into();
        match self.high[row] {
            ASIDE => {
                let at = self.aside.binary_search_by_key(&(row as u32), |(row, _)| *row);
                // Always found if the column is valid.
                at.map_or(low, |at| self.aside[at].1)
            }
            high => self.highs[usize::from(high)] << L::BITS | low,
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = i64> + Clone {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Row of a value among `rows`, which are in ascending order as unsigned numbers.
    pub fn find(&self, value: u64, rows: std::ops::Range<usize>) -> Option<usize> {
        let (mut from, mut to) = (rows.start, rows.end.min(self.len()));
        while from < to {
            let middle = from + (to - from) / 2;
            match (self.get(middle) as u64).cmp(&value) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => to = middle,
            }
        }
        None
    }

    pub fn shrink_to_fit(&mut self) {
        self.low.shrink_to_fit();
        self.high.shrink_to_fit();
    }

    /// Whether every value is present.
    pub fn is_sound(&self) -> bool {
        let aside = (0..).zip(&self.high).filter(|(_, high)| **high == ASIDE).map(|(row, _)| row);
        self.high.len() == self.low.len()
            && self.high.iter().all(|high| *high == ASIDE || usize::from(*high) < self.highs.len())
            && aside.eq(self.aside.iter().map(|(row, _): &(u32, i64)| *row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = i64> {
        let ends = [-1, i64::MIN, i64::MAX, i64::from(i32::MIN), 0xFF, 0x100, 0xFFFF_FFFF, 0x1_0000_0000];
        prop_oneof![3 => 0..1000_i64, 2 => proptest::sample::select(ends.to_vec()), 1 => any::<i64>()]
    }

    fn check<L: Low>(values: &[i64]) {
        let mut column = SplitColumn::<L>::default();
        values.iter().for_each(|value| column.push(*value));
        assert!(column.is_sound());
        assert_eq!(column.iter().collect::<Vec<_>>(), values);
    }

    proptest! {
        /// Also if there are more upper bits than the list takes.
        #[test]
        fn values_come_back(values in prop::collection::vec(value(), 0..1500)) {
            check::<u32>(&values);
            check::<u8>(&values);
        }

        #[test]
        fn values_are_found(mut values in prop::collection::vec(any::<u64>(), 0..600), other in any::<u64>()) {
            values.sort_unstable();
            values.dedup();
            let mut column = SplitColumn::<u32>::default();
            values.iter().for_each(|value| column.push(*value as i64));
            for (row, value) in values.iter().enumerate() {
                prop_assert_eq!(column.find(*value, 0..values.len()), Some(row));
                prop_assert_eq!(column.find(*value, row + 1..values.len()), None);
            }
            prop_assert_eq!(column.find(other, 0..usize::MAX), values.binary_search(&other).ok());
        }
    }

    #[test]
    fn columns_that_point_nowhere_are_told() {
        let mut column = SplitColumn::<u32>::default();
        column.push(5);
        for change in [
            |column: &mut SplitColumn<u32>| column.highs.clear(),
            |column: &mut SplitColumn<u32>| column.high[0] = ASIDE,
            |column: &mut SplitColumn<u32>| column.high.clear(),
            |column: &mut SplitColumn<u32>| column.aside.push((0, 1)),
        ] {
            let mut changed = column.clone();
            change(&mut changed);
            assert!(column.is_sound() && !changed.is_sound());
        }
    }
}

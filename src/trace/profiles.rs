//! Sample counts by code location, without stacks or timestamps.
//!
//! The output of a sampling profiler that aggregates: for each location, how often it was the leaf of a stack and how often it
//! was anywhere on one. Call trees and timelines cannot be rebuilt from it.

use crate::base::strings::StringId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One run of a sampling profiler.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct ProfileRun {
    /// The run's own id; empty for records without one.
    pub run_id: String,
    /// The run has a header. Without it, mode and interval are unknown.
    pub has_meta: bool,
    /// Threads that were counted: `wall`, `cpu`, `gil`, `all`, `exception`, or the producer's number for another mode.
    pub mode: Option<String>,
    /// Requested microseconds between two samples of a thread.
    pub sample_interval_us: Option<u64>,
    /// The run has a closing record.
    pub complete: bool,
    /// Number of thread stacks, from the closing record.
    pub end_samples_total: Option<u64>,
    /// Number of thread stacks, from the last record of counts.
    pub agg_samples_total: Option<u64>,
    /// Distinct strings the run defines.
    pub n_strings: u64,
    /// Headers after the first.
    pub n_duplicate_meta: u64,
    pub n_end_records: u64,
    /// Records of an unsupported format version.
    pub n_unsupported_version: u64,
    /// The first such version, as written.
    pub unsupported_version: Option<String>,
    /// Records of counts of another kind or scope.
    pub n_ignored_agg: u64,
    /// Table entries that could not be used.
    pub n_skipped_entries: u64,
    pub frames: ProfileFrames,
}

/// Code locations with their counts, by ascending frame id.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct ProfileFrames {
    /// Frame id in the file; unique within the run.
    pub frame_id: Vec<u64>,
    /// [`StringId::NONE`] if undefined.
    pub path: Vec<StringId>,
    /// Qualified name; [`StringId::NONE`] if undefined.
    pub func: Vec<StringId>,
    /// Line from 1; 0 without source; missing without a frame.
    pub line: IntegerColumn,
    pub end_line: IntegerColumn,
    /// UTF-8 bytes into the line, from 0.
    pub col: IntegerColumn,
    /// Exclusive.
    pub end_col: IntegerColumn,
    /// Samples with this frame as the leaf.
    pub self_samples: Vec<u64>,
    /// Samples with this frame anywhere on the stack.
    pub cumulative: Vec<u64>,
    /// The location is defined. Otherwise there are only counts.
    pub has_frame: Vec<bool>,
    /// There are counts. Otherwise they read as 0.
    pub has_counts: Vec<bool>,
}

impl ProfileFrames {
    pub fn len(&self) -> usize {
        self.frame_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.frame_id.is_empty()
    }

    /// Whether all columns have the same number of rows; they may come from untrusted data.
    pub fn is_sound(&self) -> bool {
        let n_rows = self.len();
        let others = [
            self.path.len(),
            self.func.len(),
            self.line.len(),
            self.end_line.len(),
            self.col.len(),
            self.end_col.len(),
            self.self_samples.len(),
            self.cumulative.len(),
            self.has_frame.len(),
            self.has_counts.len(),
        ];
        others.iter().all(|len| *len == n_rows)
    }

    /// Adds a row with only an id.
    pub fn push(&mut self, frame_id: u64) {
        self.frame_id.push(frame_id);
        self.path.push(StringId::NONE);
        self.func.push(StringId::NONE);
        self.line.push(None);
        self.end_line.push(None);
        self.col.push(None);
        self.end_col.push(None);
        self.self_samples.push(0);
        self.cumulative.push(0);
        self.has_frame.push(false);
        self.has_counts.push(false);
    }

    /// Sorts rows by id. Returns the old row of each new one.
    pub fn sort_by_id(&mut self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        if self.frame_id.is_sorted() {
            return order;
        }
        order.sort_unstable_by_key(|row| self.frame_id[*row as usize]);
        permute(&mut self.frame_id, &order);
        permute(&mut self.path, &order);
        permute(&mut self.func, &order);
        permute(&mut self.self_samples, &order);
        permute(&mut self.cumulative, &order);
        permute(&mut self.has_frame, &order);
        permute(&mut self.has_counts, &order);
        for column in [&mut self.line, &mut self.end_line, &mut self.col, &mut self.end_col] {
            column.permute(&order);
        }
        order
    }
}

fn permute<T: Copy>(column: &mut Vec<T>, order: &[u32]) {
    *column = order.iter().map(|row| column[*row as usize]).collect();
}

/// Inconsistencies of a run, which are reported and never corrected.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ProfileChecks {
    /// Sum of self counts, if it is not the number of samples.
    pub sum_self_differs: Option<u128>,
    /// Totals of the last record of counts and of the closing record, if they differ.
    pub totals_differ: Option<(u64, u64)>,
    /// Frames with more self samples than total samples.
    pub n_self_over_cumulative: u64,
    /// Frames with more samples than the run.
    pub n_cumulative_over_total: u64,
}

impl ProfileRun {
    /// Sum of self counts; each stack has one leaf.
    pub fn sum_self(&self) -> u128 {
        self.frames.self_samples.iter().map(|count| u128::from(*count)).sum()
    }

    /// Number of thread stacks stated by the file: by its closing record, else by its last record of counts.
    pub fn stated_samples(&self) -> Option<u64> {
        self.end_samples_total.or(self.agg_samples_total)
    }

    /// Number of thread stacks: as stated, else the sum of self counts.
    pub fn samples(&self) -> u128 {
        self.stated_samples().map_or_else(|| self.sum_self(), u128::from)
    }

    /// Denominator of shares. If a damaged file states fewer samples than the sum of self counts, that sum is used.
    pub fn whole(&self) -> u128 {
        self.samples().max(self.sum_self())
    }

    /// Number of defined locations.
    pub fn n_frames(&self) -> u64 {
        count(&self.frames.has_frame)
    }

    /// Number of locations with counts.
    pub fn n_counted(&self) -> u64 {
        count(&self.frames.has_counts)
    }

    /// Number of defined locations without counts.
    pub fn n_frames_without_counts(&self) -> u64 {
        self.count_rows(|has_frame, has_counts| has_frame && !has_counts)
    }

    /// Number of undefined locations with counts.
    pub fn n_counts_without_frame(&self) -> u64 {
        self.count_rows(|has_frame, has_counts| !has_frame && has_counts)
    }

    fn count_rows(&self, wanted: impl Fn(bool, bool) -> bool) -> u64 {
        let rows = self.frames.has_frame.iter().zip(&self.frames.has_counts);
        rows.filter(|(has_frame, has_counts)| wanted(**has_frame, **has_counts)).count() as u64
    }

    pub fn checks(&self) -> ProfileChecks {
        let mut checks = ProfileChecks::default();
        let stated = self.stated_samples();
        if let Some(stated) = stated {
            let sum = self.sum_self();
            checks.sum_self_differs = (sum != u128::from(stated)).then_some(sum);
        }
        if let (Some(agg), Some(end)) = (self.agg_samples_total, self.end_samples_total) {
            checks.totals_differ = (agg != end).then_some((agg, end));
        }
        for (self_samples, cumulative) in self.frames.self_samples.iter().zip(&self.frames.cumulative) {
            checks.n_self_over_cumulative += u64::from(self_samples > cumulative);
            checks.n_cumulative_over_total += u64::from(stated.is_some_and(|stated| *cumulative > stated));
        }
        checks
    }
}

fn count(flags: &[bool]) -> u64 {
    flags.iter().filter(|flag| **flag).count() as u64
}

/// Optional integers of up to 64 bits, signed or not; four bytes for the usual small ones.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct IntegerColumn {
    /// The value, or one of the two marks.
    small: Vec<u32>,
    /// Values of the rows marked [`LARGE`].
    large: BTreeMap<u32, i128>,
}

const MISSING: u32 = u32::MAX;
const LARGE: u32 = u32::MAX - 1;

impl IntegerColumn {
    pub fn push(&mut self, value: Option<i128>) {
        self.small.push(MISSING);
        self.set(self.small.len() - 1, value);
    }

    /// Replaces the value of an existing row.
    pub fn set(&mut self, row: usize, value: Option<i128>) {
        let Some(cell) = self.small.get_mut(row) else { return };
        if *cell == LARGE {
            self.large.remove(&(row as u32));
        }
        *cell = match value {
            None => MISSING,
            Some(value) => match u32::try_from(value) {
                Ok(small) if small < LARGE => small,
                _ => {
                    self.large.insert(row as u32, value);
                    LARGE
                }
            },
        };
    }

    pub fn get(&self, row: usize) -> Option<i128> {
        match *self.small.get(row)? {
            MISSING => None,
            LARGE => self.large.get(&(row as u32)).copied(),
            small => Some(i128::from(small)),
        }
    }

    pub fn len(&self) -> usize {
        self.small.len()
    }

    pub fn is_empty(&self) -> bool {
        self.small.is_empty()
    }

    fn permute(&mut self, order: &[u32]) {
        let mut permuted = IntegerColumn::default();
        for row in order {
            permuted.push(self.get(*row as usize));
        }
        *self = permuted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_size_stay_exact() {
        let values = [
            None,
            Some(0),
            Some(i128::from(u32::MAX) - 2),
            Some(i128::from(u32::MAX) - 1),
            Some(i128::from(u32::MAX)),
            Some((1 << 53) + 1),
            Some(i128::from(u64::MAX)),
            Some(-1),
        ];
        let mut column = IntegerColumn::default();
        values.iter().for_each(|value| column.push(*value));
        let read = |column: &IntegerColumn| (0..column.len()).map(|row| column.get(row)).collect::<Vec<_>>();
        assert_eq!(read(&column), values);
        let order: Vec<u32> = (0..values.len() as u32).rev().collect();
        column.permute(&order);
        assert_eq!(read(&column), values.iter().rev().copied().collect::<Vec<_>>());
        column.set(0, Some(3));
        assert_eq!((column.get(0), column.get(99)), (Some(3), None));
    }

    #[test]
    fn rows_sort_by_id() {
        let mut frames = ProfileFrames::default();
        for id in [5, u64::MAX, 1] {
            frames.push(id);
            let row = frames.len() - 1;
            frames.self_samples[row] = id;
            frames.line.set(row, Some(i128::from(id)));
        }
        assert_eq!(frames.sort_by_id(), [2, 0, 1]);
        assert_eq!(frames.self_samples, [1, 5, u64::MAX]);
        assert_eq!(frames.line.get(2), Some(i128::from(u64::MAX)));
    }
}

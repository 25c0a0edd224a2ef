//! Sums over the frames of a run: by function, by file, by line, by package.
//!
//! Self counts add up exactly. Cumulative counts do not, since two frames of one function (file, …) can be on one
//! stack. Only bounds of the true count are known:
//!
//! ```text
//! largest cumulative of a frame ┐
//! sum of self (a stack has one  ├─ at least     true count     at most ─┬ sum of cumulative
//! leaf, so none counts twice)   ┘                                       └ all samples
//! ```

use super::places;
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::{StringId, StringTable};
use crate::trace::profiles::ProfileRun;
use std::hash::Hash;

/// Counts of one group of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Total<Key> {
    pub key: Key,
    /// Exact.
    pub self_samples: u128,
    /// Largest cumulative count of a frame.
    pub max_frame_cumulative: u64,
    /// Sum of the frames' cumulative counts; counts a stack once for each frame of the group on it.
    pub sum_cumulative: u128,
    pub n_frames: u64,
    /// Row of the frame with the smallest id.
    pub first_row: u32,
}

impl<Key> Total<Key> {
    /// Lower bound of the number of stacks with a frame of the group.
    pub fn cumulative_at_least(&self) -> u128 {
        let largest = u128::from(self.max_frame_cumulative);
        if self.n_frames == 1 { largest } else { largest.max(self.self_samples) }
    }

    /// Whether the lower bound is exact, given the total number of `samples`.
    pub fn is_exact(&self, samples: u128) -> bool {
        self.n_frames == 1 || self.cumulative_at_least() >= self.sum_cumulative.min(samples)
    }
}

/// A function: path and qualified name.
pub type FunctionKey = (StringId, StringId);

/// A line of a file; the line is missing for frames without a description. Frames without a source, which are all on line
/// 0 of the same path, are distinguished by their function.
pub type LineKey = (StringId, Option<i128>, StringId);

/// Totals by function.
pub fn functions(run: &ProfileRun) -> Vec<Total<FunctionKey>> {
    group(run, |row| (run.frames.path[row], run.frames.func[row]))
}

/// Totals by file.
pub fn files(run: &ProfileRun) -> Vec<Total<StringId>> {
    group(run, |row| run.frames.path[row])
}

/// Totals by line of a file.
pub fn lines(run: &ProfileRun) -> Vec<Total<LineKey>> {
    let key_of = |row: usize| {
        let line = run.frames.line.get(row);
        let func = if line.unwrap_or(0) == 0 { run.frames.func[row] } else { StringId::NONE };
        (run.frames.path[row], line, func)
    };
    let mut groups = ByLine::default();
    group_by(run, key_of, |key, next| groups.number_of(key, next))
}

/// Group numbers by line.
#[derive(Default)]
struct ByLine {
    /// Nearly all line numbers fit 32 bits and are keyed together with their path as one word, which saves memory.
    short: HashMap<u64, u32>,
    other: HashMap<LineKey, u32>,
}

impl ByLine {
    fn number_of(&mut self, key: LineKey, next: u32) -> u32 {
        match key.1.map(u32::try_from) {
            Some(Ok(line @ 1..)) => {
                *self.short.entry(u64::from(key.0.0) << 32 | u64::from(line)).or_insert(next)
            }
            _ => *self.other.entry(key).or_insert(next),
        }
    }
}

/// Totals by package, as far as paths show it.
pub fn packages<'a>(run: &ProfileRun, strings: &'a StringTable) -> Vec<Total<&'a str>> {
    let mut package_of: HashMap<StringId, &'a str> = HashMap::default();
    group(run, |row| {
        let path = run.frames.path[row];
        *package_of.entry(path).or_insert_with(|| places::package(strings.get_opt(path)))
    })
}

/// Totals by descending self count; ties in the order of the smallest frame id.
fn group<Key: Hash + Eq + Copy>(run: &ProfileRun, key_of: impl FnMut(usize) -> Key) -> Vec<Total<Key>> {
    let mut groups: HashMap<Key, u32> = HashMap::default();
    group_by(run, key_of, |key, next| *groups.entry(key).or_insert(next))
}

/// Like [`group`], but `number_of` returns the group number of a key: its second argument for a new key.
fn group_by<Key: Copy>(
    run: &ProfileRun,
    mut key_of: impl FnMut(usize) -> Key,
    mut number_of: impl FnMut(Key, u32) -> u32,
) -> Vec<Total<Key>> {
    let frames = &run.frames;
    let mut totals: Vec<Total<Key>> = Vec::new();
    // Rows are in order of frame id, so groups are in the order of their smallest id.
    for row in 0..frames.len() {
        let key = key_of(row);
        let group = number_of(key, totals.len() as u32) as usize;
        if group == totals.len() {
            let first_row = row as u32;
            totals.push(Total {
                key,
                self_samples: 0,
                max_frame_cumulative: 0,
                sum_cumulative: 0,
                n_frames: 0,
                first_row,
            });
        }
        let total = &mut totals[group];
        total.self_samples += u128::from(frames.self_samples[row]);
        total.max_frame_cumulative = total.max_frame_cumulative.max(frames.cumulative[row]);
        total.sum_cumulative += u128::from(frames.cumulative[row]);
        total.n_frames += 1;
    }
    // Sorts indexes, as the totals themselves are large.
    let mut order: Vec<u32> = (0..totals.len() as u32).collect();
    sort::by_key(&mut order, |at| std::cmp::Reverse(totals[*at as usize].self_samples));
    order.into_iter().map(|at| totals[at as usize]).collect()
}

/// Frame rows by descending self count, ties by id.
pub fn rows_by_self(run: &ProfileRun) -> Vec<u32> {
    rows_by(&run.frames.self_samples)
}

/// Frame rows by descending cumulative count, ties by id.
pub fn rows_by_cumulative(run: &ProfileRun) -> Vec<u32> {
    rows_by(&run.frames.cumulative)
}

fn rows_by(counts: &[u64]) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..counts.len() as u32).collect();
    sort::by_key(&mut rows, |row| std::cmp::Reverse(counts[*row as usize]));
    rows
}

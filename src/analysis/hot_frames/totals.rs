//! Sums over the frames of a run: by function, by file, by line, by package.
//!
//! Self counts add up exactly. Cumulative counts do not, since two frames of one function (file, …) can be on one
//! stack; the largest of them is what the sum surely reaches, and it is exact where there is only one frame.

use super::places;
use crate::base::strings::{StringId, StringTable};
use crate::trace::profiles::ProfileRun;
use std::collections::BTreeMap;

/// Counts of one group of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Total<Key> {
    pub key: Key,
    /// Exact.
    pub self_samples: u128,
    /// Largest over the frames: the group was on at least so many stacks.
    pub max_frame_cumulative: u64,
    pub n_frames: u64,
    /// Row of the frame with the smallest id.
    pub first_row: u32,
}

/// A function: path and qualified name.
pub type FunctionKey = (StringId, StringId);

/// A line of a file; the line is missing where only counts are known.
pub type LineKey = (StringId, Option<i128>);

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
    group(run, |row| (run.frames.path[row], run.frames.line.get(row)))
}

/// Totals by package, as far as paths tell it.
pub fn packages<'a>(run: &ProfileRun, strings: &'a StringTable) -> Vec<Total<&'a str>> {
    let mut package_of: BTreeMap<StringId, &'a str> = BTreeMap::new();
    group(run, |row| {
        let path = run.frames.path[row];
        *package_of.entry(path).or_insert_with(|| places::package(strings.get_opt(path)))
    })
}

/// By self descending; ties in the order of the smallest frame id.
fn group<Key: Ord + Copy>(run: &ProfileRun, mut key_of: impl FnMut(usize) -> Key) -> Vec<Total<Key>> {
    let frames = &run.frames;
    let mut group_of: BTreeMap<Key, usize> = BTreeMap::new();
    let mut totals: Vec<Total<Key>> = Vec::new();
    // Rows are in the order of ids, so groups come in the order of their smallest.
    for row in 0..frames.len() {
        let key = key_of(row);
        let group = *group_of.entry(key).or_insert(totals.len());
        if group == totals.len() {
            let first_row = row as u32;
            totals.push(Total { key, self_samples: 0, max_frame_cumulative: 0, n_frames: 0, first_row });
        }
        let total = &mut totals[group];
        total.self_samples += u128::from(frames.self_samples[row]);
        total.max_frame_cumulative = total.max_frame_cumulative.max(frames.cumulative[row]);
        total.n_frames += 1;
    }
    totals.sort_by_key(|total| std::cmp::Reverse(total.self_samples));
    totals
}

/// Rows of the frames by self descending, ties by id.
pub fn rows_by_self(run: &ProfileRun) -> Vec<u32> {
    rows_by(&run.frames.self_samples)
}

/// Rows of the frames by cumulative descending, ties by id.
pub fn rows_by_cumulative(run: &ProfileRun) -> Vec<u32> {
    rows_by(&run.frames.cumulative)
}

fn rows_by(counts: &[u64]) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..counts.len() as u32).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(counts[*row as usize]));
    rows
}

//! Stacks of open slices: depth, parent, overlap, and time a slice has to itself.
//!
//! ```text
//! [A                ]            finished: end known, stays until time passes it
//!    [B ...                      open: end not known yet
//!       [C   ]   [D       ]      D ends after A, in which it started: partial overlap
//! ```

use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::trace::Trace;
use crate::trace::slices::{SliceTable, UNFINISHED};
use crate::trace::tracks::TrackId;
use std::collections::BinaryHeap;

/// A slice on a stack.
#[derive(Clone, Copy)]
pub struct Entry {
    pub slice: u32,
    pub start: i64,
    /// Not meaningful while `open`.
    pub end: i64,
    pub open: bool,
    name: StringId,
    category: StringId,
}

/// How many entries are searched for a begin before an index is built.
const PLAIN_SEARCH: usize = 64;

/// Name and category, `None` standing for any.
type OpenKey = (Option<StringId>, Option<StringId>);

/// Positions of open entries by name and category. Closed ones are dropped when they are come upon.
#[derive(Default)]
struct OpenIndex {
    /// Invariant: positions ascend; each carries the slice that was there.
    by_key: HashMap<OpenKey, Vec<(u32, u32)>>,
}

impl OpenIndex {
    fn add(&mut self, position: u32, entry: &Entry) {
        let (name, category) = (Some(entry.name), Some(entry.category));
        for key in [(name, category), (name, None), (None, category), (None, None)] {
            self.by_key.entry(key).or_default().push((position, entry.slice));
        }
    }
}

/// The slices open on one track.
#[derive(Default)]
pub struct Stack {
    entries: Vec<Entry>,
    /// Positions of entries that were finished when pushed. Invariant: ascending.
    finished: Vec<u32>,
    /// Positions of entries that were finished later, with others above them.
    finished_late: BinaryHeap<u32>,
    /// Built when a plain search was too long for once.
    index: Option<OpenIndex>,
}

impl Stack {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn top(&self) -> Option<&Entry> {
        self.entries.last()
    }

    /// Slices still open, innermost last.
    pub fn open_slices(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().filter(|entry| entry.open).map(|entry| entry.slice)
    }

    fn innermost_finished(&self) -> Option<u32> {
        let late = self.finished_late.peek().copied();
        // `None` is less than any position.
        self.finished.last().copied().max(late)
    }

    fn truncate(&mut self, len: usize) {
        self.entries.truncate(len);
        while self.finished.last().is_some_and(|position| *position as usize >= len) {
            self.finished.pop();
        }
        while self.finished_late.peek().is_some_and(|position| *position as usize >= len) {
            self.finished_late.pop();
        }
    }

    /// Takes off what has ended by `ts`. `zero_length` says that a slice without length comes next: others without
    /// length at the same time then stay below it.
    ///
    /// A slice left open above a finished one is cut at its end, once time has passed that.
    #[inline]
    pub fn close(&mut self, ts: i64, zero_length: bool, slices: &mut SliceTable, cut: &mut Vec<u32>) {
        while let Some(position) = self.innermost_finished() {
            let Some(entry) = self.entries.get(position as usize).copied() else { return };
            if position as usize + 1 == self.entries.len() {
                let stays = entry.end == ts && zero_length && entry.start == entry.end;
                if entry.end > ts || stays {
                    return;
                }
                self.truncate(position as usize);
                continue;
            }
            // The top is open. Further down may be one that was finished late and has ended before this one.
            let late = self.finished_late.peek().filter(|_| entry.end >= ts);
            let position = late.map_or(position, |late| *late) as usize;
            let Some(end) = self.entries.get(position).map(|entry| entry.end) else { return };
            if end >= ts {
                return;
            }
            for above in &self.entries[position + 1..] {
                if above.open {
                    slices.dur.set(above.slice as usize, end.saturating_sub(above.start).max(0));
                    cut.push(above.slice);
                }
            }
            self.truncate(position);
        }
    }

    /// Whether a slice from `ts` to `end` would outlast the innermost finished slice it starts in by more than
    /// `tolerance` (nanoseconds). What was finished late has ended by now and contains nothing.
    #[inline]
    pub fn sticks_out(&self, ts: i64, end: i64, tolerance: i64) -> bool {
        self.end_around(ts).is_some_and(|around| end.saturating_sub(around) > tolerance)
    }

    /// End of the innermost finished slice around `ts`.
    #[inline]
    pub fn end_around(&self, ts: i64) -> Option<i64> {
        let around = self.finished.iter().rev().take(PLAIN_SEARCH);
        let mut ends =
            around.filter_map(|position| self.entries.get(*position as usize)).map(|entry| entry.end);
        ends.find(|around| *around > ts)
    }

    /// Adds a slice on top; without an `end` it is open.
    #[inline]
    pub fn push(&mut self, slice: u32, start: i64, end: Option<i64>, name: StringId, category: StringId) {
        let position = self.entries.len() as u32;
        let entry = Entry { slice, start, end: end.unwrap_or(i64::MAX), open: end.is_none(), name, category };
        if end.is_some() {
            self.finished.push(position);
        } else if let Some(index) = &mut self.index {
            index.add(position, &entry);
        }
        self.entries.push(entry);
    }

    /// Ends the innermost open slice that fits, and gives it with its start. `None` for a name or category fits any.
    pub fn end(&mut self, ts: i64, name: Option<StringId>, category: Option<StringId>) -> Option<(u32, i64)> {
        let position = self.find_open(name, category)?;
        let is_top = position + 1 == self.entries.len();
        let entry = self.entries.get_mut(position)?;
        entry.open = false;
        entry.end = ts;
        let found = (entry.slice, entry.start);
        if is_top {
            self.truncate(position);
        } else {
            self.finished_late.push(position as u32);
        }
        Some(found)
    }

    fn find_open(&mut self, name: Option<StringId>, category: Option<StringId>) -> Option<usize> {
        let fits = |entry: &Entry| {
            entry.open
                && name.is_none_or(|name| name == entry.name)
                && category.is_none_or(|category| category == entry.category)
        };
        let searched = self.entries.len().min(PLAIN_SEARCH);
        let found = self.entries.iter().rev().take(searched).position(fits);
        if let Some(from_top) = found {
            return Some(self.entries.len() - 1 - from_top);
        }
        if searched == self.entries.len() {
            return None;
        }
        let entries = &self.entries;
        let index = self.index.get_or_insert_with(|| {
            let mut index = OpenIndex::default();
            for (position, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.open) {
                index.add(position as u32, entry);
            }
            index
        });
        let positions = index.by_key.get_mut(&(name, category))?;
        while let Some((position, slice)) = positions.last() {
            let entry = entries.get(*position as usize);
            if entry.is_some_and(|entry| entry.open && entry.slice == *slice) {
                return Some(*position as usize);
            }
            positions.pop();
        }
        None
    }
}

/// A stack and the track its slices go to.
pub struct Lane {
    pub track: TrackId,
    pub stack: Stack,
}

impl Lane {
    pub fn new(track: TrackId) -> Lane {
        Lane { track, stack: Stack::default() }
    }
}

/// Fills [`SliceTable::self_ns`]: the time of each slice that no direct child covers.
pub fn compute_self_times(trace: &mut Trace) {
    let end_of_trace = trace.span().map_or(0, |(_, end)| end);
    let slices = &mut trace.slices;
    let n = slices.len();
    let length = |i: usize| match slices.dur.get(i) {
        UNFINISHED => end_of_trace.saturating_sub(slices.ts[i]).max(0),
        dur => dur,
    };
    let mut self_ns: Vec<i64> = (0..n).map(length).collect();
    // Children have greater numbers, so all of them have been taken off by the time their parent comes.
    for i in (0..n).rev() {
        self_ns[i] = self_ns[i].max(0);
        let Some(parent) = slices.parent[i].some() else { continue };
        let parent = parent.0 as usize;
        if slices.dur.get(i) == 0 || parent >= i {
            continue;
        }
        let start = slices.ts[i].max(slices.ts[parent]);
        let end = slices.end(i, end_of_trace).min(slices.end(parent, end_of_trace));
        self_ns[parent] = self_ns[parent].saturating_sub(end.saturating_sub(start).max(0));
    }
    slices.self_ns = self_ns.into_iter().collect();
}

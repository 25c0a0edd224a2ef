//! Sets of rows by position, as people select them: few ranges, however many rows.

use std::ops::Range;

/// Row positions as ranges.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct RowSet {
    /// Invariant: ascending, none empty, none touches the next.
    ranges: Vec<Range<u64>>,
}

impl RowSet {
    pub fn of(rows: Range<u64>) -> RowSet {
        let mut set = RowSet::default();
        set.insert(rows);
        set
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of rows.
    pub fn n_rows(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    pub fn contains(&self, row: u64) -> bool {
        self.ranges.iter().any(|range| range.contains(&row))
    }

    pub fn insert(&mut self, rows: Range<u64>) {
        if rows.is_empty() {
            return;
        }
        let (mut start, mut end) = (rows.start, rows.end);
        self.ranges.retain(|range| {
            let is_apart = range.end < start || end < range.start;
            if !is_apart {
                start = start.min(range.start);
                end = end.max(range.end);
            }
            is_apart
        });
        let at = self.ranges.partition_point(|range| range.start < start);
        self.ranges.insert(at, start..end);
    }

    pub fn remove(&mut self, row: u64) {
        if let Some(at) = self.ranges.iter().position(|range| range.contains(&row)) {
            let Range { start, end } = self.ranges.remove(at);
            let parts = [start..row, row + 1..end];
            self.ranges.splice(at..at, parts.into_iter().filter(|part| !part.is_empty()));
        }
    }

    /// Selects the row, or no longer.
    pub fn toggle(&mut self, row: u64) {
        match self.contains(row) {
            true => self.remove(row),
            false => self.insert(row..row.saturating_add(1)),
        }
    }

    /// As it stands in an address: `0,4-9`.
    pub fn to_text(&self) -> String {
        let part = |range: &Range<u64>| match range.end - 1 {
            last if last == range.start => last.to_string(),
            last => format!("{}-{last}", range.start),
        };
        self.ranges.iter().map(part).collect::<Vec<_>>().join(",")
    }

    /// Leaves out what is no row.
    pub fn parse(text: &str) -> RowSet {
        let mut set = RowSet::default();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            if let (Ok(first), Ok(last)) = (first.parse::<u64>(), last.parse::<u64>()) {
                set.insert(first..last.saturating_add(1));
            }
        }
        set
    }
}

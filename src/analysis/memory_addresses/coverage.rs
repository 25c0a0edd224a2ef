//! How much of each cell of a picture blocks cover: exact sums of bytes × time, whatever the number of blocks.

use super::super::memory_snapshot::allocations::N_TONES;
use crate::report::address_map::edge;

/// A grid: the rows of some bands, one band after the other, over common columns.
pub struct Coverage<T> {
    /// Start of each column, and the end of the last one.
    columns: Vec<i64>,
    bands: Vec<Rows>,
    /// By row and column.
    cells: Vec<Cell<T>>,
}

/// Rows of a band.
struct Rows {
    first: usize,
    /// First byte of each row, and the size of the band.
    starts: Vec<u64>,
}

/// A rectangle of bytes and time; each end is the first byte or nanosecond behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Area {
    pub band: u32,
    pub low: u64,
    pub high: u64,
    pub start: i64,
    pub end: i64,
}

/// What covers a cell.
#[derive(Clone)]
pub struct Cell<T> {
    /// Blocks that touch it.
    pub n: u64,
    /// Bytes × nanoseconds by number of a tone.
    pub covered: [u128; N_TONES],
    /// The largest block: its bytes × time in all, and what it is.
    pub largest: Option<(u128, T)>,
}

/// A cell with its place.
pub struct Placed<'a, T> {
    pub band: u32,
    pub row: u32,
    pub column: u32,
    pub cell: &'a Cell<T>,
    /// Bytes × nanoseconds.
    pub area: u128,
}

impl<T: Copy> Coverage<T> {
    /// `bands` are bytes and number of rows of each.
    pub fn new((start, end): (i64, i64), n_columns: u32, bands: &[(u64, u32)]) -> Coverage<T> {
        let columns: Vec<i64> = (0..=n_columns).map(|at| edge(start, end, at, n_columns)).collect();
        let mut first = 0;
        let mut rows = Vec::new();
        for (bytes, n_rows) in bands {
            let n_rows = (*n_rows).max(1);
            let at = |row: u32| (u128::from(*bytes) * u128::from(row) / u128::from(n_rows)) as u64;
            rows.push(Rows { first, starts: (0..=n_rows).map(at).collect() });
            first += n_rows as usize;
        }
        let none = Cell { n: 0, covered: [0; N_TONES], largest: None };
        Coverage { cells: vec![none; first * n_columns as usize], columns, bands: rows }
    }

    fn n_columns(&self) -> usize {
        self.columns.len() - 1
    }

    /// Whether a block is at least as high and as long as a cell.
    pub fn is_large(&self, area: &Area) -> bool {
        let Some(Rows { starts, .. }) = self.bands.get(area.band as usize) else { return false };
        let n_rows = starts.len() as u128 - 1;
        let bytes = u128::from(starts.last().copied().unwrap_or(0));
        let length = i128::from(area.end) - i128::from(area.start);
        let span = self.columns.last().zip(self.columns.first());
        let span = span.map_or(0, |(end, start)| i128::from(*end) - i128::from(*start));
        u128::from(area.high - area.low) * n_rows >= bytes && length * self.n_columns() as i128 >= span
    }

    /// Adds a block.
    pub fn add(&mut self, area: &Area, tone: usize, block: T) {
        let n_columns = self.n_columns();
        let Some(Rows { first, starts }) = self.bands.get(area.band as usize) else { return };
        let (rows, columns) =
            (places(starts, area.low, area.high), places(&self.columns, area.start, area.end));
        let size = size_of(area);
        for row in rows {
            let bytes = starts[row + 1].min(area.high).saturating_sub(starts[row].max(area.low));
            for column in columns.clone() {
                let (from, to) = (self.columns[column], self.columns[column + 1]);
                let length = i128::from(to.min(area.end)) - i128::from(from.max(area.start));
                let cell = &mut self.cells[(first + row) * n_columns + column];
                cell.n += 1;
                if let Some(covered) = cell.covered.get_mut(tone) {
                    *covered = covered.saturating_add(u128::from(bytes) * length.max(0) as u128);
                }
                // The first one wins ties.
                if cell.largest.is_none_or(|(before, _)| size > before) {
                    cell.largest = Some((size, block));
                }
            }
        }
    }

    /// Cells with blocks, in order.
    pub fn cells(&self) -> impl Iterator<Item = Placed<'_, T>> {
        let n_columns = self.n_columns();
        self.bands.iter().zip(0u32..).flat_map(move |(Rows { first, starts }, band)| {
            (0..starts.len() - 1).flat_map(move |row| {
                (0..n_columns).filter_map(move |column| {
                    let cell = &self.cells[(first + row) * n_columns + column];
                    let bytes = u128::from(starts[row + 1] - starts[row]);
                    let length = i128::from(self.columns[column + 1]) - i128::from(self.columns[column]);
                    let area = bytes * length.max(0) as u128;
                    let (row, column) = (row as u32, column as u32);
                    (cell.n > 0).then_some(Placed { band, row, column, cell, area })
                })
            })
        })
    }
}

/// Bytes × nanoseconds of a block.
pub fn size_of(area: &Area) -> u128 {
    let length = (i128::from(area.end) - i128::from(area.start)).max(0) as u128;
    u128::from(area.high.saturating_sub(area.low)).saturating_mul(length)
}

/// Parts between sorted edges that a range touches. An empty range touches the part it is in.
fn places<N: Ord + Copy>(edges: &[N], low: N, high: N) -> std::ops::Range<usize> {
    let n = edges.len() - 1;
    let first = edges.partition_point(|edge| *edge <= low).saturating_sub(1).min(n.saturating_sub(1));
    let end = edges.partition_point(|edge| *edge < high).min(n).max(first + 1);
    first..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Equal to painting every byte and nanosecond of every block.
        #[test]
        fn cells_are_those_of_a_painter_of_every_byte(
            (start, span, n_columns) in (-5i64..5, 1i64..24, 1u32..8),
            bands in prop::collection::vec((1u64..20, 1u32..6), 1..4),
            blocks in prop::collection::vec((0usize..4, 0u64..20, 0u64..20, 0i64..24, 0i64..24, 0usize..N_TONES), 0..12),
        ) {
            let end = start + span;
            let n_columns = n_columns.min(span as u32);
            let bands: Vec<(u64, u32)> = bands.into_iter().map(|(bytes, rows)| (bytes, rows.min(bytes as u32))).collect();
            let mut coverage = Coverage::new((start, end), n_columns, &bands);
            let mut areas = Vec::new();
            for (number, (band, low, height, from, length, tone)) in blocks.into_iter().enumerate() {
                let band = band % bands.len();
                let low = low % bands[band].0;
                let high = (low + height).min(bands[band].0);
                let from = start + from % span;
                let area = Area { band: band as u32, low, high, start: from, end: (from + length).min(end) };
                coverage.add(&area, tone, number);
                areas.push((area, tone));
            }
            let mut found = 0u128;
            for Placed { band, row, column, cell, area } in coverage.cells() {
                let (bytes, n_rows) = bands[band as usize];
                let rows = |row: u32| bytes * u64::from(row) / u64::from(n_rows);
                let columns = |column: u32| edge(start, end, column, n_columns);
                let (low, high) = (rows(row), rows(row + 1));
                let (from, to) = (columns(column), columns(column + 1));
                prop_assert_eq!(area, u128::from(high - low) * (to - from) as u128);
                let mut covered = [0u128; N_TONES];
                for (it, tone) in &areas {
                    for byte in (low..high).filter(|byte| it.band == band && (it.low..it.high).contains(byte)) {
                        let _ = byte;
                        covered[*tone] += (from..to).filter(|at| (it.start..it.end).contains(at)).count() as u128;
                    }
                }
                prop_assert_eq!(cell.covered, covered);
                found += covered.iter().sum::<u128>();
                let (size, number) = cell.largest.unwrap();
                prop_assert_eq!(size, size_of(&areas[number].0));
            }
            // No block is lost.
            prop_assert_eq!(found, areas.iter().map(|(area, _)| size_of(area)).sum::<u128>());
            let n: u64 = coverage.cells().map(|placed| placed.cell.n).sum();
            prop_assert!(n >= areas.len() as u64);
        }
    }
}

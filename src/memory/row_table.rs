//! Packed labelled rows, and sorting by time.

use super::kinds::Kind;
use super::metrics::{Row, RowSource};
use crate::base::steps::{self, pause};
use crate::base::{bitpack, progress};
use crate::trace::accesses::Op;

/// Integer fields of a row.
const LANES: usize = 4;

/// Rows in any order, packed with [`bitpack`].
#[derive(Clone, Debug, Default)]
pub struct RowTable {
    packed: Vec<u8>,
    n_packed: usize,
    open: Vec<Row>,
}

fn lane_of(row: &Row, lane: usize) -> i64 {
    match lane {
        0 => row.ts,
        1 => row.address as i64,
        2 => row.op as i64 | i64::from(row.kind.0) << 2,
        _ => row.region_id.into(),
    }
}

impl RowTable {
    pub fn push(&mut self, row: Row) {
        self.open.push(row);
        if self.open.len() == bitpack::BLOCK {
            for lane in 0..LANES {
                let mut values = [0; bitpack::BLOCK];
                values.iter_mut().zip(&self.open).for_each(|(value, row)| *value = lane_of(row, lane));
                bitpack::write_block(&values, &mut self.packed);
            }
            self.n_packed += self.open.len();
            self.open.clear();
        }
    }
}

impl RowSource for RowTable {
    async fn for_each_block(&self, each: &mut dyn FnMut(&[Row])) {
        let mut rest = self.packed.as_slice();
        // In a box, as it lives on while paused.
        let mut lanes = Box::new([[0i64; bitpack::BLOCK]; LANES]);
        let mut rows = Vec::with_capacity(bitpack::BLOCK);
        let mut n_told = 0;
        for _ in 0..self.n_packed / bitpack::BLOCK {
            for lane in lanes.iter_mut() {
                rest = bitpack::read_block(rest, lane).unwrap_or_default();
            }
            rows.clear();
            rows.extend((0..bitpack::BLOCK).map(|at| Row {
                ts: lanes[0][at],
                address: lanes[1][at] as u64,
                op: Op::ALL.get((lanes[2][at] & 3) as usize).copied().unwrap_or_default(),
                kind: Kind((lanes[2][at] >> 2) as u32),
                region_id: lanes[3][at] as u32,
            }));
            each(&rows);
            n_told += rows.len();
            progress::tell(n_told as f64 / self.n_rows() as f64);
            pause().await;
        }
        each(&self.open);
    }

    fn n_rows(&self) -> usize {
        self.n_packed + self.open.len()
    }
}

/// Limit on rows sorted at a time: 32 bytes each, plus half of that for sorting.
const WINDOW_ROWS: u64 = 1 << 23;
/// Bins of a time range for counting rows to find window boundaries.
const N_PARTS: u64 = 1 << 16;

/// Approximate share of the sorting time spent on finding windows.
const WINDOWS_SHARE: f64 = 0.4;

/// All rows in time order; ties stay in the order of `rows`. Each time window needs another pass over the rows,
/// and windows are limited to some million rows whatever the distribution, so that at most these are in memory unpacked.
pub async fn in_time_order(rows: &impl RowSource) -> RowTable {
    in_windows(rows, WINDOW_ROWS).await
}

async fn in_windows(rows: &impl RowSource, window_rows: u64) -> RowTable {
    let mut table = RowTable::default();
    let mut window = Vec::new();
    let windows = steps::within(0.0, WINDOWS_SHARE, windows(rows, window_rows)).await;
    let part = |at: usize| WINDOWS_SHARE + (1.0 - WINDOWS_SHARE) * at as f64 / windows.len() as f64;
    for (at, &(first, last)) in windows.iter().enumerate() {
        let go_through = async |each: &mut dyn FnMut(&[Row])| {
            steps::within(part(at), part(at + 1), rows.for_each_block(each)).await;
        };
        let is_inside = |row: &Row| first <= row.ts && row.ts <= last;
        if first == last {
            // A single timestamp: already in order, however many.
            go_through(&mut |rows| {
                rows.iter().filter(|row| is_inside(row)).for_each(|row| table.push(*row));
            })
            .await;
            continue;
        }
        go_through(&mut |rows| window.extend(rows.iter().filter(|row| is_inside(row)))).await;
        window.sort_by_key(|row: &Row| row.ts);
        window.drain(..).for_each(|row| table.push(row));
    }
    table
}

/// Time windows (first and last nanosecond) that cover all rows, ascending. Each contains at most `window_rows` rows, or a
/// single timestamp. A window with more is counted in bins and split, recursively.
async fn windows(rows: &impl RowSource, window_rows: u64) -> Vec<(i64, i64)> {
    let mut span: Option<(i64, i64)> = None;
    let mut n_rows = 0;
    rows.for_each_block(&mut |rows| {
        n_rows += rows.len() as u64;
        for row in rows {
            let (first, last) = span.unwrap_or((row.ts, row.ts));
            span = Some((first.min(row.ts), last.max(row.ts)));
        }
    })
    .await;
    let mut found = Vec::new();
    let mut too_full = Vec::new();
    match span {
        Some(span) if n_rows > window_rows && span.0 < span.1 => too_full.push(span),
        span => found.extend(span),
    }
    while let Some((first, last)) = too_full.pop() {
        let width = last.wrapping_sub(first) as u64 / N_PARTS + 1;
        let part_of = |ts: i64| ts.wrapping_sub(first) as u64 / width;
        let mut counts = vec![0u64; N_PARTS as usize];
        rows.for_each_block(&mut |rows| {
            for row in rows.iter().filter(|row| first <= row.ts && row.ts <= last) {
                if let Some(count) = counts.get_mut(part_of(row.ts) as usize) {
                    *count += 1;
                }
            }
        })
        .await;
        let start_of = |part: u64| i128::from(first) + i128::from(part) * i128::from(width);
        let (mut from, mut n) = (0, 0);
        let mut close = |from: u64, until: u64, n: u64| {
            // The last bin can end after the window.
            let at = |ns: i128| ns.min(i128::from(last)) as i64;
            let stretch = (at(start_of(from)), at(start_of(until) - 1));
            match n {
                0 => {}
                _ if n > window_rows && stretch.0 < stretch.1 => too_full.push(stretch),
                _ => found.push(stretch),
            }
        };
        for (part, count) in (0..).zip(counts) {
            if n + count > window_rows {
                close(from, part, n);
                (from, n) = (part, 0);
            }
            n += count;
        }
        close(from, N_PARTS, n);
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn windows_are_one_sort(times in prop::collection::vec(prop_oneof![0..4i64, any::<i64>()], 0..3000), window in 1..500u64) {
            let row = |(at, ts): (usize, &i64)| Row {
                ts: *ts,
                address: (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
                op: Op::ALL[at % 3],
                kind: Kind(at as u32 % 7),
                region_id: u32::MAX - at as u32,
            };
            let rows = List(times.iter().enumerate().map(row).collect());
            let mut sorted = rows.0.clone();
            sorted.sort_by_key(|row| row.ts);
            let mut found = Vec::new();
            let sorted_rows = steps::run(in_windows(&rows, window));
            steps::run(sorted_rows.for_each_block(&mut |rows| found.extend_from_slice(rows)));
            prop_assert_eq!(found, sorted);
            for (first, last) in steps::run(windows(&rows, window)) {
                let n = rows.0.iter().filter(|row| first <= row.ts && row.ts <= last).count();
                prop_assert!(n as u64 <= window || first == last);
            }
        }
    }

    struct List(Vec<Row>);

    impl RowSource for List {
        async fn for_each_block(&self, each: &mut dyn FnMut(&[Row])) {
            self.0.chunks(100).for_each(each);
        }

        fn n_rows(&self) -> usize {
            self.0.len()
        }
    }
}

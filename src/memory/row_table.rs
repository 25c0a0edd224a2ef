//! Labelled rows in few bytes, and in order of time.

use super::kinds::Kind;
use super::metrics::Row;
use crate::base::tight;
use crate::trace::accesses::Op;

/// Numbers of a row.
const LANES: usize = 4;

/// Rows in an order of their own, packed as [`tight`] packs integers.
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
        if self.open.len() == tight::BLOCK {
            for lane in 0..LANES {
                let mut values = [0; tight::BLOCK];
                values.iter_mut().zip(&self.open).for_each(|(value, row)| *value = lane_of(row, lane));
                tight::write_block(&values, &mut self.packed);
            }
            self.n_packed += self.open.len();
            self.open.clear();
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Row> + '_ {
        let mut rest = self.packed.as_slice();
        let mut lanes = [[0i64; tight::BLOCK]; LANES];
        let packed = (0..self.n_packed).map(move |at| {
            let at = at % tight::BLOCK;
            if at == 0 {
                for lane in &mut lanes {
                    rest = tight::read_block(rest, lane).unwrap_or_default();
                }
            }
            Row {
                ts: lanes[0][at],
                address: lanes[1][at] as u64,
                op: Op::ALL.get((lanes[2][at] & 3) as usize).copied().unwrap_or_default(),
                kind: Kind((lanes[2][at] >> 2) as u32),
                region_id: lanes[3][at] as u32,
            }
        });
        packed.chain(self.open.iter().copied())
    }
}

/// Rows that are sorted at a time: 32 bytes each.
const WINDOW_ROWS: u64 = 1 << 23;
/// Times that are looked at to find out where windows end.
const N_TIMES: usize = 1 << 16;

/// `n_rows` rows in order of time, those of one time in the order in which `rows` gives them. It gives them again for each window of
/// time, so that no more than the rows of one are held as they are.
pub fn in_time_order<I: Iterator<Item = Row>>(rows: impl Fn() -> I, n_rows: u64) -> RowTable {
    in_windows(rows, n_rows, WINDOW_ROWS)
}

fn in_windows<I: Iterator<Item = Row>>(rows: impl Fn() -> I, n_rows: u64, window_rows: u64) -> RowTable {
    let mut table = RowTable::default();
    let mut starts = window_starts(rows().map(|row| row.ts), n_rows, window_rows).into_iter().peekable();
    let mut window = Vec::new();
    while let Some(start) = starts.next() {
        let until = starts.peek().copied();
        let inside = rows().filter(|row| row.ts >= start && until.is_none_or(|until| row.ts < until));
        if until == start.checked_add(1) {
            // All of one time: they are in order, however many.
            inside.for_each(|row| table.push(row));
            continue;
        }
        window.extend(inside);
        window.sort_by_key(|row: &Row| row.ts);
        window.drain(..).for_each(|row| table.push(row));
    }
    table
}

/// First times of windows of about so many rows; a time that many rows have is a window of its own.
fn window_starts(times: impl Iterator<Item = i64>, n_rows: u64, window_rows: u64) -> Vec<i64> {
    let n_windows = n_rows.div_ceil(window_rows) as usize;
    let mut starts = vec![i64::MIN];
    if n_windows < 2 {
        return starts;
    }
    let step = (n_rows as usize).div_ceil(N_TIMES.max(n_windows * 4)).max(1);
    let mut sample: Vec<i64> = times.step_by(step).collect();
    sample.sort_unstable();
    for window in 1..n_windows {
        let at = window * sample.len() / n_windows;
        let Some(start) = sample.get(at).copied() else { break };
        starts.push(start);
        // The next window would start at the same time: it is taken out.
        if sample.get(at + sample.len() / n_windows) == Some(&start) {
            starts.extend(start.checked_add(1));
        }
    }
    starts.sort_unstable();
    starts.dedup();
    starts
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
            let rows = || times.iter().enumerate().map(row);
            let mut sorted: Vec<Row> = rows().collect();
            sorted.sort_by_key(|row| row.ts);
            prop_assert_eq!(in_windows(rows, times.len() as u64, window).iter().collect::<Vec<Row>>(), sorted);
        }
    }
}

//! Byte-packed integer columns, fast to write and read.
//!
//! Values are stored in blocks: the smallest value, and each offset from it in as few whole bytes as the largest needs; or the
//! same for the differences between neighbors, if these need fewer bytes.
//!
//! ```text
//! column: [number of rows][first lane: blocks][second lane: blocks]…
//! block:  [way: u8][smallest: i64][for differences: first value: i64][each value: width bytes]
//! way:    width in bytes, 0 to 8; differences: 16 more
//! ```
//! All numbers are little-endian. A row of several numbers has as many lanes.

/// Values per block.
pub const BLOCK: usize = 1024;
/// Added to the width of a block of differences.
const DIFFERENCES: u8 = 16;
/// Maximum numbers per row.
pub const MAX_LANES: usize = 3;

/// Row of one or a few numbers.
pub trait Cell: Copy {
    /// Numbers per row.
    const LANES: usize;

    /// Number in a lane.
    fn lane(self, lane: usize) -> i64;

    /// Row of these numbers; `None` if they are invalid.
    fn from_lanes(lanes: [i64; MAX_LANES]) -> Option<Self>;
}

impl Cell for i64 {
    const LANES: usize = 1;

    #[inline]
    fn lane(self, _: usize) -> i64 {
        self
    }

    #[inline]
    fn from_lanes([value, ..]: [i64; MAX_LANES]) -> Option<i64> {
        Some(value)
    }
}

/// Appends a column to `out`.
pub fn write<T: Cell>(rows: &[T], out: &mut Vec<u8>) {
    out.extend_from_slice(&(rows.len() as u64).to_le_bytes());
    for lane in 0..T::LANES {
        for block in rows.chunks(BLOCK) {
            let mut values = [0; BLOCK];
            for (value, row) in values.iter_mut().zip(block) {
                *value = row.lane(lane);
            }
            write_block(&mut values[..block.len()], out);
        }
    }
}

/// Minimum bytes of a block: its encoding and smallest number.
const MIN_BLOCK_BYTES: usize = 9;

/// Reads a column that takes all of `bytes`. `None` if invalid.
pub fn read<T: Cell>(bytes: &[u8]) -> Option<Vec<T>> {
    let (n_rows, first) = bytes.split_first_chunk::<8>()?;
    // No table has more rows.
    let n_rows = u32::try_from(u64::from_le_bytes(*n_rows)).ok()? as usize;
    // The row count may be forged, but each block takes some bytes.
    if n_rows.div_ceil(BLOCK).saturating_mul(MIN_BLOCK_BYTES) > first.len() {
        return None;
    }
    // Lanes are read in parallel, block by block.
    let mut lanes = [first; MAX_LANES];
    for lane in 1..T::LANES {
        lanes[lane] = skip(lanes[lane - 1], n_rows)?;
    }
    let mut rows = Vec::new();
    rows.try_reserve_exact(n_rows).ok()?;
    let mut values = [[0; BLOCK]; MAX_LANES];
    while rows.len() < n_rows {
        let n = BLOCK.min(n_rows - rows.len());
        for (lane, values) in lanes.iter_mut().zip(&mut values).take(T::LANES) {
            *lane = read_block(lane, &mut values[..n])?;
        }
        let row = |at: usize| T::from_lanes(std::array::from_fn(|lane| values[lane][at]));
        for row in (0..n).map(row) {
            rows.push(row?);
        }
    }
    lanes[T::LANES - 1].is_empty().then_some(rows)
}

/// Bytes after a lane of `n_rows` values.
fn skip(mut bytes: &[u8], n_rows: usize) -> Option<&[u8]> {
    let mut n_left = n_rows;
    while n_left > 0 {
        let n = BLOCK.min(n_left);
        bytes = skip_block(bytes, n)?;
        n_left -= n;
    }
    Some(bytes)
}

/// Bytes after a block of `n` values; `None` if invalid.
pub fn skip_block(bytes: &[u8], n: usize) -> Option<&[u8]> {
    let (way, _) = bytes.split_first()?;
    let head = if *way < DIFFERENCES { 9 } else { 17 };
    bytes.get(head + n * usize::from(*way % DIFFERENCES)..)
}

/// Bytes needed for numbers from 0 to `range`.
fn width_of(range: u64) -> u8 {
    ((u64::BITS - range.leading_zeros()).div_ceil(8)) as u8
}

/// Smallest value, and its distance to the largest.
fn range_of(values: impl Iterator<Item = i64>) -> (i64, u64) {
    let (min, max) = values.fold((i64::MAX, i64::MIN), |(min, max), value| (min.min(value), max.max(value)));
    (min, max.wrapping_sub(min) as u64)
}

/// Appends a block of at most [`BLOCK`] values to `out`; modifies `values`.
pub fn write_block(values: &mut [i64], out: &mut Vec<u8>) {
    let Some(first) = values.first().copied() else { return };
    let (min, range) = range_of(values.iter().copied());
    let differences = values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
    let (min_difference, difference_range) = range_of(differences);
    let (width, difference_width) = (width_of(range), width_of(difference_range));
    if values.len() > 1 && difference_width < width {
        out.push(DIFFERENCES + difference_width);
        out.extend_from_slice(&min_difference.to_le_bytes());
        out.extend_from_slice(&first.to_le_bytes());
        let mut before = first.wrapping_sub(min_difference);
        for value in values.iter_mut() {
            let difference = value.wrapping_sub(before);
            before = *value;
            *value = difference;
        }
        pack(values, min_difference, difference_width, out);
    } else {
        out.push(width);
        out.extend_from_slice(&min.to_le_bytes());
        pack(values, min, width, out);
    }
}

fn pack(values: &[i64], min: i64, width: u8, out: &mut Vec<u8>) {
    fn of_width<const W: usize>(values: &[i64], min: i64, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + values.len() * W, 0);
        for (place, value) in out[start..].as_chunks_mut::<W>().0.iter_mut().zip(values) {
            let above = value.wrapping_sub(min).to_le_bytes();
            place.copy_from_slice(&above[..W]);
        }
    }
    match width {
        0 => {}
        1 => of_width::<1>(values, min, out),
        2 => of_width::<2>(values, min, out),
        3 => of_width::<3>(values, min, out),
        4 => of_width::<4>(values, min, out),
        5 => of_width::<5>(values, min, out),
        6 => of_width::<6>(values, min, out),
        7 => of_width::<7>(values, min, out),
        _ => of_width::<8>(values, min, out),
    }
}

/// Fills `values` from a block of the same size made by [`write_block`]; returns the bytes after it. `None` if invalid.
pub fn read_block<'a>(bytes: &'a [u8], values: &mut [i64]) -> Option<&'a [u8]> {
    let (way, rest) = bytes.split_first()?;
    let (min, mut rest) = rest.split_first_chunk::<8>()?;
    let (min, width) = (i64::from_le_bytes(*min), usize::from(*way % DIFFERENCES));
    let mut first = None;
    if *way >= DIFFERENCES {
        let (value, behind) = rest.split_first_chunk::<8>()?;
        (first, rest) = (Some(i64::from_le_bytes(*value)), behind);
    }
    let (packed, behind) = rest.split_at_checked(width * values.len())?;
    unpack(packed, min, width, values)?;
    if let Some(first) = first {
        let mut value = first.wrapping_sub(*values.first()?);
        for difference in values {
            value = value.wrapping_add(*difference);
            *difference = value;
        }
    }
    Some(behind)
}

fn unpack(packed: &[u8], min: i64, width: usize, values: &mut [i64]) -> Option<()> {
    fn of_width<const W: usize>(packed: &[u8], min: i64, values: &mut [i64]) {
        for (value, bytes) in values.iter_mut().zip(packed.as_chunks::<W>().0) {
            let mut above = [0; 8];
            above[..W].copy_from_slice(bytes);
            *value = min.wrapping_add(i64::from_le_bytes(above));
        }
    }
    match width {
        0 => values.fill(min),
        1 => of_width::<1>(packed, min, values),
        2 => of_width::<2>(packed, min, values),
        3 => of_width::<3>(packed, min, values),
        4 => of_width::<4>(packed, min, values),
        5 => of_width::<5>(packed, min, values),
        6 => of_width::<6>(packed, min, values),
        7 => of_width::<7>(packed, min, values),
        8 => of_width::<8>(packed, min, values),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Cell for (i64, i64) {
        const LANES: usize = 2;

        fn lane(self, lane: usize) -> i64 {
            if lane == 0 { self.0 } else { self.1 }
        }

        fn from_lanes([a, b, _]: [i64; MAX_LANES]) -> Option<(i64, i64)> {
            Some((a, b))
        }
    }

    fn any_rows() -> impl Strategy<Value = Vec<(i64, i64)>> {
        let value = prop_oneof![0..9i64, -300..70_000i64, any::<i64>(), Just(i64::MIN), Just(i64::MAX)];
        let steady = (any::<i64>(), 0..5000i64, 0..3000usize)
            .prop_map(|(start, step, n)| (0..n).map(|i| (start.wrapping_add(i as i64 * step), 7)).collect());
        prop_oneof![proptest::collection::vec((value.clone(), value), 0..2500), steady]
    }

    proptest! {
        #[test]
        fn columns_come_back(rows in any_rows()) {
            let mut bytes = Vec::new();
            write(&rows, &mut bytes);
            prop_assert_eq!(read::<(i64, i64)>(&bytes), Some(rows));
        }

        #[test]
        fn anything_else_is_refused(rows in any_rows(), at in any::<prop::sample::Index>(), byte: u8) {
            let mut bytes = Vec::new();
            write(&rows, &mut bytes);
            let at = at.index(bytes.len());
            prop_assert_eq!(read::<(i64, i64)>(&bytes[..at]), None);
            bytes[at] = byte;
            let _ = read::<(i64, i64)>(&bytes);
        }
    }

    #[test]
    fn what_rises_evenly_takes_next_to_nothing() {
        let rows: Vec<(i64, i64)> = (0..4096).map(|i| ((1 << 50) + i * 1000, -1)).collect();
        let mut bytes = Vec::new();
        write(&rows, &mut bytes);
        assert_eq!(bytes.len(), 8 + 4 * 17 + 4 * 9);
    }
}

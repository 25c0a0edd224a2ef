//! Delta encodings: numbers as differences, texts by lengths and common prefixes.

use super::Error;
use super::hybrid::{unpack, unpack_short};
use super::thrift::{push_int, varint, zigzag};
use crate::base::protobuf::push_varint;

const DAMAGED: Error = Error::Damaged("delta encoding");

/// Maximum values per block of differences.
const MAX_BLOCK_VALUES: u64 = 1 << 20;

/// Appends the numbers at the start of `bytes` (`DELTA_BINARY_PACKED`), at most `max`; returns how many bytes they take.
pub fn read_ints(bytes: &[u8], max: usize, out: &mut Vec<i64>) -> Result<usize, Error> {
    let mut at = 0;
    let mut number = || -> Result<u64, Error> {
        let (value, n) = varint(bytes.get(at..).unwrap_or_default()).ok_or(DAMAGED)?;
        at += n;
        Ok(value)
    };
    let (block_values, n_minis, total) = (number()?, number()?, number()?);
    let mut value = zigzag(number()?);
    let total = usize::try_from(total).ok().filter(|total| *total <= max).ok_or(DAMAGED)?;
    if block_values > MAX_BLOCK_VALUES
        || n_minis == 0
        || block_values % n_minis != 0
        || n_minis > block_values
    {
        return Err(DAMAGED);
    }
    let (n_minis, mini_values) = (n_minis as usize, (block_values / n_minis) as usize);
    if total == 0 {
        return Ok(at);
    }
    out.push(value);
    let mut left = total - 1;
    while left > 0 {
        let (min, n) = varint(bytes.get(at..).unwrap_or_default()).ok_or(DAMAGED)?;
        let min = zigzag(min);
        at += n;
        let widths = bytes.get(at..).and_then(|rest| rest.get(..n_minis)).ok_or(DAMAGED)?;
        at += n_minis;
        for width in widths {
            if left == 0 {
                break;
            }
            let n_bytes = (usize::from(*width) * mini_values).div_ceil(8);
            let packed = bytes.get(at..).unwrap_or_default();
            let packed = &packed[..n_bytes.min(packed.len())];
            let n = mini_values.min(left);
            value = add_differences(packed, *width, n, (value, min), out)?;
            at += packed.len();
            left -= n;
        }
    }
    Ok(at)
}

/// Differences unpacked at a time, a multiple of eight.
const CHUNK: usize = 128;

/// Appends `n` numbers after `value`, each exceeding the previous one by `min` plus a packed number of `width` bits;
/// returns the last.
fn add_differences(
    packed: &[u8],
    width: u8,
    n: usize,
    (mut value, min): (i64, i64),
    out: &mut Vec<i64>,
) -> Result<i64, Error> {
    if n.checked_mul(width.into()).is_none_or(|bits| bits.div_ceil(8) > packed.len()) {
        return Err(DAMAGED);
    }
    let mut add = |difference: u64| {
        value = value.wrapping_add(min).wrapping_add(difference as i64);
        value
    };
    match width {
        0 => out.extend((0..n).map(|_| add(0))),
        1..=32 => {
            let mut differences = [0; CHUNK];
            for start in (0..n).step_by(CHUNK) {
                let differences = &mut differences[..CHUNK.min(n - start)];
                // Whole bytes, since chunks are groups of eight.
                let rest = packed.get(start / 8 * usize::from(width)..).unwrap_or_default();
                unpack_short(rest, width, differences);
                out.extend(differences.iter().map(|difference| add((*difference).into())));
            }
        }
        _ => unpack(packed, width, n, |difference| out.push(add(difference)))?,
    }
    Ok(value)
}

/// Differences per block written, and per miniblock, each with its own width.
const WRITTEN_BLOCK: usize = 128;
const WRITTEN_MINI: usize = 32;

/// Appends `values` as differences; see [`read_ints`].
pub fn write_ints(values: &[i64], out: &mut Vec<u8>) {
    let head = [WRITTEN_BLOCK as u64, (WRITTEN_BLOCK / WRITTEN_MINI) as u64, values.len() as u64];
    head.into_iter().for_each(|number| push_varint(number, out));
    push_int(values.first().copied().unwrap_or(0), out);
    let differences: Vec<i64> =
        values.array_windows().map(|[before, after]| after.wrapping_sub(*before)).collect();
    for block in differences.chunks(WRITTEN_BLOCK) {
        let min = block.iter().copied().min().unwrap_or(0);
        push_int(min, out);
        let above = |difference: &i64| difference.wrapping_sub(min) as u64;
        let width = |mini: &[i64]| 64 - mini.iter().fold(0, |all, it| all | above(it)).leading_zeros();
        let minis = || block.chunks(WRITTEN_MINI);
        out.extend(minis().map(|mini| width(mini) as u8));
        // Miniblocks after the last value have no bits.
        out.resize(out.len() + WRITTEN_BLOCK / WRITTEN_MINI - minis().len(), 0);
        for mini in minis() {
            let width = width(mini);
            let start = out.len();
            out.resize(start + WRITTEN_MINI * width as usize / 8, 0);
            let mut bits = 0u128;
            let (mut n_bits, mut at) = (0, start);
            for difference in mini {
                bits |= u128::from(above(difference)) << n_bits;
                n_bits += width;
                while n_bits >= 8 {
                    out[at] = bits as u8;
                    (bits, n_bits, at) = (bits >> 8, n_bits - 8, at + 1);
                }
            }
            if n_bits > 0 {
                out[at] = bits as u8;
            }
        }
    }
}

/// Reads lengths, then texts (`DELTA_LENGTH_BYTE_ARRAY`); returns the texts.
fn read_lengths<'a>(bytes: &'a [u8], max: usize) -> Result<Vec<&'a [u8]>, Error> {
    let mut lengths = Vec::new();
    let mut at = read_ints(bytes, max, &mut lengths)?;
    let mut texts: Vec<&'a [u8]> = Vec::with_capacity(lengths.len());
    for length in lengths {
        let length = usize::try_from(length).map_err(|_| DAMAGED)?;
        texts.push(bytes.get(at..).and_then(|rest| rest.get(..length)).ok_or(DAMAGED)?);
        at += length;
    }
    Ok(texts)
}

/// Reads texts with all their lengths first.
pub fn read_texts(bytes: &[u8], max: usize, mut push: impl FnMut(&[u8])) -> Result<(), Error> {
    read_lengths(bytes, max)?.into_iter().for_each(&mut push);
    Ok(())
}

/// Maximum ratio of prefix-coded texts to their encoded bytes,
const MAX_GROWTH: u64 = 256;
/// and a size that is always allowed.
const ALWAYS_ALLOWED_BYTES: u64 = 1 << 24;

/// Reads texts by the length of the prefix shared with the previous one, and the rest (`DELTA_BYTE_ARRAY`).
pub fn read_front_coded(bytes: &[u8], max: usize, mut push: impl FnMut(&[u8])) -> Result<(), Error> {
    let mut shared = Vec::new();
    let at = read_ints(bytes, max, &mut shared)?;
    let ends = read_lengths(bytes.get(at..).unwrap_or_default(), max)?;
    if ends.len() != shared.len() {
        return Err(DAMAGED);
    }
    // Shared prefixes can expand to any size.
    let max_bytes = (bytes.len() as u64).saturating_mul(MAX_GROWTH).max(ALWAYS_ALLOWED_BYTES);
    let mut n_bytes = 0u64;
    let mut text: Vec<u8> = Vec::new();
    for (n_shared, end) in shared.into_iter().zip(ends) {
        let n_shared = usize::try_from(n_shared).ok().filter(|n| *n <= text.len()).ok_or(DAMAGED)?;
        text.truncate(n_shared);
        text.extend_from_slice(end);
        n_bytes += text.len() as u64;
        if n_bytes > max_bytes {
            return Err(DAMAGED);
        }
        push(&text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_the_definition() {
        // 7, 5, 3, 1, 2, 3, 4, 5: first 7, then a block with a smallest difference of -2.
        let head = [128, 1, 4, 8, 14, 3, 2, 0, 0, 0];
        let differences: [u8; 7] = [0, 0, 0, 3, 3, 3, 3];
        let mut packed = [0u8; 8];
        for (i, value) in differences.iter().enumerate() {
            packed[i / 4] |= value << (2 * (i % 4));
        }
        let bytes = [&head[..], &packed].concat();
        let mut out = Vec::new();
        assert_eq!(read_ints(&bytes, 8, &mut out), Ok(bytes.len()));
        assert_eq!(out, [7, 5, 3, 1, 2, 3, 4, 5]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            steps in prop::collection::vec((any::<i64>(), 0u32..64), 0..700),
            start: i64,
        ) {
            let mut value = start;
            let step = |(step, shift): (i64, u32)| {
                value = value.wrapping_add(step >> shift);
                value
            };
            let values: Vec<i64> = steps.into_iter().map(step).collect();
            let (mut bytes, mut back) = (Vec::new(), Vec::new());
            write_ints(&values, &mut bytes);
            prop_assert_eq!(read_ints(&bytes, values.len(), &mut back), Ok(bytes.len()));
            prop_assert_eq!(back, values);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, max in 0usize..5000) {
            let mut out = Vec::new();
            let _ = read_ints(&bytes, max, &mut out);
            prop_assert!(out.len() <= max.max(1));
            let mut n = 0;
            let _ = read_texts(&bytes, max, |_| n += 1);
            let _ = read_front_coded(&bytes, max, |_| n += 1);
        }
    }
}

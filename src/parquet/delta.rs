//! Delta encodings: numbers as differences, texts by lengths and by what they share with the one before.

use super::Error;
use super::hybrid::unpack;
use super::thrift::{varint, zigzag};

const DAMAGED: Error = Error::Damaged("delta encoding");

/// A block of differences holds no more values than this.
const MAX_BLOCK_VALUES: u64 = 1 << 20;

/// Appends the numbers that `bytes` starts with (`DELTA_BINARY_PACKED`), at most `max` of them; gives how many bytes they take.
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
            unpack(packed, *width, n, |difference| {
                value = value.wrapping_add(min).wrapping_add(difference as i64);
                out.push(value);
            })?;
            at += packed.len();
            left -= n;
        }
    }
    Ok(at)
}

/// Lengths and then texts, one behind the other (`DELTA_LENGTH_BYTE_ARRAY`); gives how many bytes they take.
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

/// Texts with their lengths before them all.
pub fn read_texts(bytes: &[u8], max: usize, mut push: impl FnMut(&[u8])) -> Result<(), Error> {
    read_lengths(bytes, max)?.into_iter().for_each(&mut push);
    Ok(())
}

/// Texts by their beginnings may be so many times as long as what says them,
const MAX_GROWTH: u64 = 256;
/// and always so long.
const ALWAYS_ALLOWED_BYTES: u64 = 1 << 24;

/// Texts by how many bytes each has in common with the one before, and what follows those (`DELTA_BYTE_ARRAY`).
pub fn read_front_coded(bytes: &[u8], max: usize, mut push: impl FnMut(&[u8])) -> Result<(), Error> {
    let mut shared = Vec::new();
    let at = read_ints(bytes, max, &mut shared)?;
    let ends = read_lengths(bytes.get(at..).unwrap_or_default(), max)?;
    if ends.len() != shared.len() {
        return Err(DAMAGED);
    }
    // Beginnings that are shared can stand for any number of bytes.
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

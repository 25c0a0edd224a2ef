//! Runs and bit-packed numbers in turn (RLE / bit-packing hybrid): levels and numbers into a dictionary.

use super::Error;
use super::thrift::{push_varint, varint};

const DAMAGED: Error = Error::Damaged("runs of numbers");

/// Room for so many numbers is made beforehand, at most.
const MAX_RESERVED: usize = 1 << 20;

/// Numbers that follow each other.
pub enum Run<'a> {
    /// So many times the same.
    Same(u32, usize),
    Each(&'a [u32]),
}

/// Numbers that are unpacked at a time.
const CHUNK: usize = 1024;

/// Appends `n` numbers of `width` bits to `out`.
pub fn read(bytes: &[u8], width: u8, n: usize, out: &mut Vec<u32>) -> Result<(), Error> {
    out.reserve(n.min(MAX_RESERVED));
    for_each_run(bytes, width, n, |run| {
        match run {
            Run::Same(number, n) => out.resize(out.len() + n, number),
            Run::Each(numbers) => out.extend_from_slice(numbers),
        }
        Ok(())
    })
}

/// Tells `each` of `n` numbers of `width` bits.
pub fn for_each_run(
    mut bytes: &[u8],
    width: u8,
    n: usize,
    mut each: impl FnMut(Run<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    if width > 32 {
        return Err(DAMAGED);
    }
    let mut left = n;
    let mut numbers = [0; CHUNK];
    while left > 0 {
        let (head, n_head) = varint(bytes).ok_or(DAMAGED)?;
        bytes = &bytes[n_head..];
        if head & 1 == 1 {
            let n_groups = usize::try_from(head >> 1).map_err(|_| DAMAGED)?;
            let n_bytes = n_groups.checked_mul(usize::from(width)).ok_or(DAMAGED)?;
            let mut n_values = n_groups.saturating_mul(8).min(left);
            // The last group may be cut behind the last value that counts.
            let packed = &bytes[..n_bytes.min(bytes.len())];
            if n_values.saturating_mul(usize::from(width)).div_ceil(8) > packed.len() {
                return Err(DAMAGED);
            }
            left -= n_values;
            let mut rest = packed;
            while n_values > 0 {
                let n = n_values.min(CHUNK);
                unpack_short(rest, width, &mut numbers[..n]);
                each(Run::Each(&numbers[..n]))?;
                n_values -= n;
                // Whole bytes, but at the end.
                rest = rest.get(n / 8 * usize::from(width)..).unwrap_or_default();
            }
            bytes = &bytes[packed.len()..];
        } else {
            let n_bytes = usize::from(width).div_ceil(8);
            let value = bytes.get(..n_bytes).ok_or(DAMAGED)?;
            let value = value.iter().rev().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
            bytes = &bytes[n_bytes..];
            let n_run = usize::try_from(head >> 1).unwrap_or(usize::MAX).min(left);
            if n_run == 0 {
                return Err(DAMAGED);
            }
            left -= n_run;
            each(Run::Same(value, n_run))?;
        }
    }
    Ok(())
}

/// The value of all `n` numbers of one bit, if one run holds them.
pub fn single_run(bytes: &[u8], n: usize) -> Option<bool> {
    let (head, n_head) = varint(bytes)?;
    let is_whole = head & 1 == 0 && head >> 1 >= n as u64;
    is_whole.then(|| bytes.get(n_head).map(|byte| byte & 1 == 1)).flatten()
}

/// Takes numbers of `width` bits (up to 32) out of `packed`, in which they all are.
fn unpack_short(packed: &[u8], width: u8, out: &mut [u32]) {
    let width = usize::from(width);
    let mask = ((1u64 << width.min(32)) - 1) as u32;
    // Eight numbers are `width` whole bytes, and eight bytes hold all of a number wherever it starts in the first of them.
    let mut n_done = 0;
    for group in out.as_chunks_mut::<8>().0 {
        let Some(bytes) = packed.get(n_done * width..).and_then(|bytes| bytes.get(..width + 8)) else {
            break;
        };
        for (i, number) in group.iter_mut().enumerate() {
            let bit = i * width;
            let word = bytes.get(bit / 8..).and_then(|bytes| bytes.first_chunk::<8>()).copied();
            *number = (u64::from_le_bytes(word.unwrap_or_default()) >> (bit % 8)) as u32 & mask;
        }
        n_done += 1;
    }
    for (i, number) in out.iter_mut().enumerate().skip(n_done * 8) {
        let bit = i * width;
        let mut word = [0; 8];
        let bytes = packed.get(bit / 8..).unwrap_or_default();
        let n = bytes.len().min(8);
        word[..n].copy_from_slice(&bytes[..n]);
        *number = (u64::from_le_bytes(word) >> (bit % 8)) as u32 & mask;
    }
}

/// Takes `n` numbers of `width` bits (up to 64) out of `packed`, lowest bit first.
pub fn unpack(packed: &[u8], width: u8, n: usize, mut push: impl FnMut(u64)) -> Result<(), Error> {
    let width = usize::from(width);
    if width > 64 || n.checked_mul(width).is_none_or(|bits| bits.div_ceil(8) > packed.len()) {
        return Err(DAMAGED);
    }
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    if width <= 56 {
        // Eight bytes hold all of a value wherever it starts in the first of them.
        let n_bits = (packed.len() as u64).saturating_sub(8) * 8;
        let n_fast = n_bits.checked_div(width as u64).map_or(n, |fit| fit.min(n as u64) as usize);
        for i in 0..n_fast {
            let bit = i * width;
            let word =
                packed.get(bit / 8..).and_then(|rest| rest.first_chunk::<8>()).copied().unwrap_or_default();
            push(u64::from_le_bytes(word) >> (bit % 8) & mask);
        }
        return unpack_slowly(packed, width, n_fast..n, mask, push);
    }
    unpack_slowly(packed, width, 0..n, mask, push)
}

fn unpack_slowly(
    packed: &[u8],
    width: usize,
    values: std::ops::Range<usize>,
    mask: u64,
    mut push: impl FnMut(u64),
) -> Result<(), Error> {
    for i in values {
        let bit = i * width;
        let mut word = [0; 16];
        let rest = packed.get(bit / 8..).unwrap_or_default();
        let n = rest.len().min(16);
        word[..n].copy_from_slice(&rest[..n]);
        push((u128::from_le_bytes(word) >> (bit % 8)) as u64 & mask);
    }
    Ok(())
}

/// Bits that hold numbers up to `max`.
pub fn width_of(max: u32) -> u8 {
    (32 - max.leading_zeros()) as u8
}

/// Writes `values` of `width` bits each: runs of eight and more as such, the rest bit-packed.
pub fn write(values: &[u32], width: u8, out: &mut Vec<u8>) {
    let n_bytes = usize::from(width).div_ceil(8);
    let mut rest = values;
    let mut loose: &[u32] = &[];
    while let Some(first) = rest.first() {
        let n_run = rest.iter().take_while(|value| *value == first).count();
        // Numbers are packed in groups of eight, so a run begins behind a whole group.
        let n_fill = (8 - loose.len() % 8) % 8;
        if n_run >= 8 + n_fill {
            loose = &values[values.len() - rest.len() - loose.len()..][..loose.len() + n_fill];
            write_packed(loose, width, out);
            push_varint(((n_run - n_fill) as u64) << 1, out);
            out.extend_from_slice(&first.to_le_bytes()[..n_bytes]);
            loose = &[];
            rest = &rest[n_run..];
        } else {
            loose = &values[values.len() - rest.len() - loose.len()..][..loose.len() + n_run];
            rest = &rest[n_run..];
        }
    }
    write_packed(loose, width, out);
}

fn write_packed(values: &[u32], width: u8, out: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    push_varint((values.len().div_ceil(8) as u64) << 1 | 1, out);
    for group in values.chunks(8) {
        let mut word = [0u8; 32];
        for (i, value) in group.iter().enumerate() {
            for bit in 0..usize::from(width) {
                let at = i * usize::from(width) + bit;
                word[at / 8] |= ((value >> bit & 1) as u8) << (at % 8);
            }
        }
        out.extend_from_slice(&word[..usize::from(width)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            runs in prop::collection::vec((0u32..1 << 20, 1usize..40), 0..50),
            width in 20u8..=32,
        ) {
            let values: Vec<u32> = runs.iter().flat_map(|(value, n)| std::iter::repeat_n(*value, *n)).collect();
            let mut bytes = Vec::new();
            write(&values, width, &mut bytes);
            let mut back = Vec::new();
            read(&bytes, width, values.len(), &mut back).unwrap();
            prop_assert_eq!(values, back);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, width in 0u8..40, n in 0usize..1000) {
            let mut out = Vec::new();
            let _ = read(&bytes, width, n, &mut out);
            prop_assert!(out.len() <= n);
        }
    }
}

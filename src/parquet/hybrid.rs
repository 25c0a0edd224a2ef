//! RLE / bit-packing hybrid encoding: levels and dictionary indexes.

use super::Error;
use super::thrift::varint;
use crate::base::protobuf::push_varint;

const DAMAGED: Error = Error::Damaged("run-length encoding");

/// Consecutive numbers.
pub enum Run<'a> {
    /// The same number, this many times.
    Same(u32, usize),
    Each(&'a [u32]),
}

/// Numbers unpacked at a time.
const CHUNK: usize = 1024;

/// Fills `out` with numbers of `width` bits; returns the largest, 0 if empty.
pub fn read(mut bytes: &[u8], width: u8, mut out: &mut [u32]) -> Result<u32, Error> {
    let mut largest = 0;
    while !out.is_empty() {
        let (run, after) = next_run(bytes, width, out.len())?;
        bytes = after;
        let (room, rest) = out.split_at_mut(run.n.min(out.len()));
        match run.numbers {
            Numbers::Same(number) => {
                room.fill(number);
                largest = largest.max(number);
            }
            Numbers::Packed(packed) => {
                unpack_short(packed, width, room);
                largest = room.iter().fold(largest, |largest, number| largest.max(*number));
            }
        }
        out = rest;
    }
    Ok(largest)
}

/// A run as encoded.
struct PackedRun<'a> {
    n: usize,
    numbers: Numbers<'a>,
}

enum Numbers<'a> {
    Same(u32),
    /// Packed bytes, including all bytes after the run.
    Packed(&'a [u8]),
}

/// The run at the start of `bytes`, with up to `left` numbers, and the bytes after it.
#[inline]
fn next_run(bytes: &[u8], width: u8, left: usize) -> Result<(PackedRun<'_>, &[u8]), Error> {
    if width > 32 {
        return Err(DAMAGED);
    }
    // Usually one byte.
    let (head, bytes) = match bytes {
        [byte @ 0..128, rest @ ..] => (u64::from(*byte), rest),
        _ => {
            let (head, n_head) = varint(bytes).ok_or(DAMAGED)?;
            (head, &bytes[n_head..])
        }
    };
    if head & 1 == 1 {
        let n_groups = usize::try_from(head >> 1).map_err(|_| DAMAGED)?;
        let n_bytes = n_groups.checked_mul(usize::from(width)).ok_or(DAMAGED)?;
        let n = n_groups.saturating_mul(8).min(left);
        // The last group may be cut after the last value.
        let after = bytes.get(n_bytes..).unwrap_or_default();
        if n == 0 || n.saturating_mul(usize::from(width)).div_ceil(8) > bytes.len() {
            return Err(DAMAGED);
        }
        return Ok((PackedRun { n, numbers: Numbers::Packed(bytes) }, after));
    }
    let (value, after) = bytes.split_at_checked(usize::from(width).div_ceil(8)).ok_or(DAMAGED)?;
    let value = value.iter().rev().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
    let n = usize::try_from(head >> 1).unwrap_or(usize::MAX).min(left);
    if n == 0 { Err(DAMAGED) } else { Ok((PackedRun { n, numbers: Numbers::Same(value) }, after)) }
}

/// Calls `each` for runs of `n` numbers of `width` bits.
pub fn for_each_run(
    mut bytes: &[u8],
    width: u8,
    n: usize,
    mut each: impl FnMut(Run<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut left = n;
    let mut numbers = [0; CHUNK];
    while left > 0 {
        let (run, after) = next_run(bytes, width, left)?;
        bytes = after;
        left -= run.n;
        match run.numbers {
            Numbers::Same(number) => each(Run::Same(number, run.n))?,
            Numbers::Packed(mut rest) => {
                let mut n_values = run.n;
                while n_values > 0 {
                    let n = n_values.min(CHUNK);
                    unpack_short(rest, width, &mut numbers[..n]);
                    each(Run::Each(&numbers[..n]))?;
                    n_values -= n;
                    // Whole bytes, except at the end.
                    rest = rest.get(n / 8 * usize::from(width)..).unwrap_or_default();
                }
            }
        }
    }
    Ok(())
}

/// Value of all `n` one-bit numbers, if one run contains them.
pub fn single_run(bytes: &[u8], n: usize) -> Option<bool> {
    let (head, n_head) = varint(bytes)?;
    let is_whole = head & 1 == 0 && head >> 1 >= n as u64;
    is_whole.then(|| bytes.get(n_head).map(|byte| byte & 1 == 1)).flatten()
}

/// Bytes read for eight numbers: 32 bits each, plus what one number reads.
const GROUP_BYTES: usize = 40;

/// Unpacks numbers of `width` bits, eight at a time while there are enough bytes; returns how many groups.
fn unpack_groups(packed: &[u8], width: usize, out: &mut [u32]) -> usize {
    // Widths up to a million distinct values: with constant shifts, each number takes a few instructions.
    macro_rules! known {
        ($($known:literal)*) => {
            match width {
                $($known => unpack_groups_of(packed, $known, out),)*
                _ => unpack_groups_of(packed, width, out),
            }
        };
    }
    known!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20)
}

#[inline(always)]
fn unpack_groups_of(packed: &[u8], width: usize, out: &mut [u32]) -> usize {
    let mask = ((1u64 << width.min(32)) - 1) as u32;
    // Eight numbers are `width` whole bytes, and eight bytes contain any number from its first byte on.
    let mut n_done = 0;
    for group in out.as_chunks_mut::<8>().0 {
        let bytes = packed.get(n_done * width..).and_then(|bytes| bytes.first_chunk::<GROUP_BYTES>());
        let Some(bytes) = bytes else { break };
        for (i, number) in group.iter_mut().enumerate() {
            let bit = i * width;
            let at = bit / 8 % 32;
            let word = bytes[at..at + 8].first_chunk().copied().unwrap_or_default();
            *number = (u64::from_le_bytes(word) >> (bit % 8)) as u32 & mask;
        }
        n_done += 1;
    }
    n_done
}

/// Unpacks numbers of `width` bits (up to 32) from `packed`, which contains them all.
pub fn unpack_short(packed: &[u8], width: u8, out: &mut [u32]) {
    let width = usize::from(width);
    let n_done = unpack_groups(packed, width, out);
    for (at, rest) in out.chunks_mut(8).enumerate().skip(n_done) {
        // Near the end, padded with zeros.
        let mut bytes = [0; GROUP_BYTES];
        let left = packed.get(at * width..).unwrap_or_default();
        let n = left.len().min(GROUP_BYTES);
        bytes[..n].copy_from_slice(&left[..n]);
        let mut group = [0; 8];
        unpack_groups(&bytes, width, &mut group);
        rest.copy_from_slice(&group[..rest.len()]);
    }
}

/// Unpacks `n` numbers of `width` bits (up to 64), lowest bit first.
pub fn unpack(packed: &[u8], width: u8, n: usize, mut push: impl FnMut(u64)) -> Result<(), Error> {
    let width = usize::from(width);
    if width > 64 || n.checked_mul(width).is_none_or(|bits| bits.div_ceil(8) > packed.len()) {
        return Err(DAMAGED);
    }
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    if width <= 56 {
        // Eight bytes contain any value from its first byte on.
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

/// Bits needed for numbers up to `max`.
pub fn width_of(max: u32) -> u8 {
    (32 - max.leading_zeros()) as u8
}

/// Writes `values` of `width` bits: runs of at least eight as such, the rest bit-packed.
pub fn write(values: &[u32], width: u8, out: &mut Vec<u8>) {
    let n_bytes = usize::from(width).div_ceil(8);
    let mut rest = values;
    let mut loose: &[u32] = &[];
    while let Some(first) = rest.first() {
        let n_run = rest.iter().take_while(|value| *value == first).count();
        // Numbers are packed in groups of eight, so a run starts after a full group.
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
            let mut back = vec![0; values.len()];
            prop_assert_eq!(read(&bytes, width, &mut back).unwrap(), values.iter().copied().max().unwrap_or(0));
            prop_assert_eq!(&values, &back);
            back.clear();
            for_each_run(&bytes, width, values.len(), |run| {
                match run {
                    Run::Same(number, n) => back.resize(back.len() + n, number),
                    Run::Each(numbers) => back.extend_from_slice(numbers),
                }
                Ok(())
            })
            .unwrap();
            prop_assert_eq!(values, back);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, width in 0u8..40, n in 0usize..1000) {
            let mut out = vec![0; n];
            let is_read = read(&bytes, width, &mut out).is_ok();
            prop_assert_eq!(for_each_run(&bytes, width, n, |_| Ok(())).is_ok(), is_read);
        }
    }
}

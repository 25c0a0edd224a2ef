//! Blocks of integers as few bits: what there may be hundreds of millions of.
//!
//! Takes more time than [`mod@super::column`] and less room. Of a block stands how far each value is above the smallest, or above the start
//! of one of four stretches that the values lie in, or how far each is from its neighbour; divided by what all of that can be divided by
//! (times in microseconds, addresses of cache lines), in as few bits as the largest needs.
//!
//! ```text
//! block: [bits: u8][ways: u8][base: i64][factor: u64, if any][three more bases: i64, or first value: i64, if any][words: u64…]
//! ```
//! All numbers are little-endian.

/// Values of a block, at the most.
pub const BLOCK: usize = 1024;

/// Ways, as bits.
const FACTOR: u8 = 1;
const DIFFERENCES: u8 = 2;
const BASES: u8 = 4;

const N_BASES: usize = 4;
/// Bits that say which base a value is above.
const BASE_BITS: u32 = 2;
/// Below this many bits it is not worth looking for bases, or for a factor.
const MIN_BITS_FOR_BASES: u32 = 24;
const MIN_BITS_FOR_FACTOR: u32 = 6;

fn bits_of(range: u64) -> u32 {
    u64::BITS - range.leading_zeros()
}

/// Smallest, and how far the largest is above it.
fn range_of(values: &[i64]) -> (i64, u64) {
    // Several of each, as they do not wait for each other.
    let (mut min, mut max) = ([i64::MAX; LANES], [i64::MIN; LANES]);
    let (groups, rest) = values.as_chunks::<LANES>();
    for group in groups {
        for lane in 0..LANES {
            min[lane] = min[lane].min(group[lane]);
            max[lane] = max[lane].max(group[lane]);
        }
    }
    let all = min.iter().chain(rest).copied().min().unwrap_or(i64::MAX);
    let largest = max.iter().chain(rest).copied().max().unwrap_or(i64::MIN);
    (all, largest.wrapping_sub(all) as u64)
}

const LANES: usize = 4;

/// A number that values are divided by: a power of two times an odd one. Where it divides all of them, dividing is shifting and
/// multiplying, which takes a tenth of the time.
#[derive(Clone, Copy)]
struct Factor {
    shift: u32,
    odd: u64,
    /// What gives 1 if `odd` is multiplied by it, in 64 bits.
    inverse: u64,
}

impl Factor {
    fn new(shift: u32, odd: u64) -> Factor {
        // Right in the three lowest bits, then in twice as many each time.
        let inverse = (0..5).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))));
        Factor { shift, odd, inverse }
    }

    /// The largest that divides all of them; 1 of zeros.
    fn common(values: &[u64]) -> Factor {
        let all = values.iter().fold(0, |all, value| all | value);
        if all == 0 {
            return Factor::new(0, 1);
        }
        let shift = all.trailing_zeros();
        let first = values.iter().copied().find(|value| *value > 0).unwrap_or(1) >> shift;
        let mut factor = Factor::new(shift, first >> first.trailing_zeros());
        let mut from = 0;
        while factor.odd > 1 {
            let limit = u64::MAX / factor.odd;
            let divides = |value: &u64| (value >> shift).wrapping_mul(factor.inverse) <= limit;
            let Some(at) = values[from..].iter().position(|value| !divides(value)) else { break };
            from += at;
            let (mut a, mut b) = (factor.odd, values[from] >> shift);
            while b != 0 {
                (a, b) = (b, a % b);
            }
            factor = Factor::new(shift, a);
        }
        factor
    }

    fn value(self) -> u64 {
        self.odd << self.shift
    }

    fn divide(self, value: u64) -> u64 {
        (value >> self.shift).wrapping_mul(self.inverse)
    }
}

/// One in so many values is looked at to find out in which stretches they lie.
const SAMPLED: usize = 16;
/// A stretch may be so many bits longer than that of the sample.
const MAX_MORE_BITS: u32 = 2;

/// Starts of up to four stretches that the values lie in, and how many bits the longest needs. `values` are not empty.
fn bases_of(values: &[i64]) -> ([i64; N_BASES], u32) {
    let mut sorted = [0; BLOCK];
    let sorted = &mut sorted[..values.len()];
    if values.len() == BLOCK {
        // Sorting all of them would take longer than all the rest.
        let sample = &mut sorted[..BLOCK / SAMPLED];
        sample.iter_mut().zip(values.iter().step_by(SAMPLED)).for_each(|(sample, value)| *sample = *value);
        let (starts, of_sample) = widest_cuts(sample);
        let found = fitted(values, &starts);
        if found.1 <= of_sample + MAX_MORE_BITS {
            return found;
        }
    }
    sorted.copy_from_slice(values);
    widest_cuts(sorted)
}

/// What each stretch starts with if values are cut below these, ascending, and how many bits the longest needs.
fn fitted(values: &[i64], cuts: &[i64; N_BASES]) -> ([i64; N_BASES], u32) {
    let (mut min, mut max) = ([i64::MAX; N_BASES], [i64::MIN; N_BASES]);
    let [_, cuts @ ..] = *cuts;
    for value in values {
        let at = cuts.iter().map(|cut| usize::from(cut <= value)).sum::<usize>() % N_BASES;
        min[at] = min[at].min(*value);
        max[at] = max[at].max(*value);
    }
    let mut longest = 0;
    let mut base = min[0];
    for at in 0..N_BASES {
        if min[at] <= max[at] {
            longest = longest.max(max[at].wrapping_sub(min[at]) as u64);
            base = min[at];
        } else if at == 0 {
            // Bases are ascending, so nothing is above one of a stretch with no value.
            base = cuts[0];
        }
        min[at] = base;
    }
    (min, bits_of(longest))
}

/// Starts of the stretches that values lie in if they are cut where the gaps between them are widest, and how many bits the longest needs.
fn widest_cuts(sorted: &mut [i64]) -> ([i64; N_BASES], u32) {
    sorted.sort_unstable();
    let mut gaps = [(0u64, 0usize); N_BASES - 1];
    for (at, pair) in sorted.windows(2).enumerate() {
        let gap = (pair[1].wrapping_sub(pair[0]) as u64, at + 1);
        if gap.0 > gaps[0].0 {
            gaps[0] = gap;
            gaps.sort_unstable();
        }
    }
    let mut starts = [0, gaps[0].1, gaps[1].1, gaps[2].1];
    starts.sort_unstable();
    let mut bases = [sorted[0]; N_BASES];
    let mut longest = 0;
    for n in 0..N_BASES {
        let end = starts.get(n + 1).copied().unwrap_or(sorted.len()).max(starts[n] + 1);
        bases[n] = sorted[starts[n]];
        longest = longest.max(sorted[end - 1].wrapping_sub(bases[n]) as u64);
    }
    (bases, bits_of(longest))
}

/// Which of the ascending bases a value is above.
fn base_below(bases: &[i64; N_BASES], value: i64) -> usize {
    bases.iter().rposition(|base| *base <= value).unwrap_or(0)
}

/// Appends a block of [`BLOCK`] values or fewer to `out`; nothing of none.
pub fn write_block(values: &[i64], out: &mut Vec<u8>) {
    let values = &values[..values.len().min(BLOCK)];
    let Some(first) = values.first().copied() else { return };
    let (min, range) = range_of(values);
    if range == 0 {
        // Most columns of most blocks.
        return write_same(min, out);
    }
    let mut above = [0u64; BLOCK];
    let above = &mut above[..values.len()];
    for (above, [before, after]) in above[1..].iter_mut().zip(values.array_windows()) {
        *above = after.wrapping_sub(*before) as u64;
    }
    let (min_difference, difference_range) = range_of(bytemuck::must_cast_slice(&above[1..]));
    let mut more = [0; N_BASES];
    // The largest of `above`.
    let mut largest = range;
    let (mut ways, mut base, bits) = (0, min, bits_of(range));
    if values.len() > 1 && bits_of(difference_range) < bits {
        (ways, base, more[1]) = (DIFFERENCES, min_difference, first);
        largest = difference_range;
        above[1..].iter_mut().for_each(|above| *above = above.wrapping_sub(base as u64));
    } else {
        if bits >= MIN_BITS_FOR_BASES {
            let (bases, of_longest) = bases_of(values);
            if of_longest + BASE_BITS + 1 < bits {
                (ways, base, more) = (BASES, bases[0], bases);
            }
        }
        for (above, value) in above.iter_mut().zip(values) {
            let base = if ways == BASES { more[base_below(&more, *value)] } else { base };
            *above = value.wrapping_sub(base) as u64;
        }
        if ways == BASES {
            largest = above.iter().copied().max().unwrap_or(0);
        }
    }
    let factor =
        if bits_of(largest) < MIN_BITS_FOR_FACTOR { Factor::new(0, 1) } else { Factor::common(above) };
    if factor.value() > 1 {
        ways |= FACTOR;
        above.iter_mut().for_each(|above| *above = factor.divide(*above));
    }
    let mut bits = bits_of(factor.divide(largest));
    if ways & BASES > 0 {
        for (above, value) in above.iter_mut().zip(values) {
            *above = *above << BASE_BITS | base_below(&more, *value) as u64;
        }
        bits += BASE_BITS;
    }
    out.extend_from_slice(&[bits as u8, ways]);
    out.extend_from_slice(&base.to_le_bytes());
    if factor.value() > 1 {
        out.extend_from_slice(&factor.value().to_le_bytes());
    }
    let n_more = n_more(ways);
    more[1..1 + n_more].iter().for_each(|more| out.extend_from_slice(&more.to_le_bytes()));
    push_bits(above, bits, out);
}

/// Appends what [`write_block`] can read back as well, without looking at how values differ from their neighbours: for those in no order
/// that lie together. At most [`BLOCK`] of them.
pub fn write_unordered(values: &[i64], out: &mut Vec<u8>) {
    let values = &values[..values.len().min(BLOCK)];
    if values.is_empty() {
        return;
    }
    let (min, range) = range_of(values);
    if range == 0 {
        return write_same(min, out);
    }
    let mut above = [0u64; BLOCK];
    let above = &mut above[..values.len()];
    above.iter_mut().zip(values).for_each(|(above, value)| *above = value.wrapping_sub(min) as u64);
    let factor = if bits_of(range) < MIN_BITS_FOR_FACTOR { Factor::new(0, 1) } else { Factor::common(above) };
    let ways = if factor.value() > 1 { FACTOR } else { 0 };
    if ways > 0 {
        above.iter_mut().for_each(|above| *above = factor.divide(*above));
    }
    let bits = bits_of(factor.divide(range));
    out.extend_from_slice(&[bits as u8, ways]);
    out.extend_from_slice(&min.to_le_bytes());
    if ways > 0 {
        out.extend_from_slice(&factor.value().to_le_bytes());
    }
    push_bits(above, bits, out);
}

/// Appends what [`write_block`] appends if all values are `value`, however many.
pub fn write_same(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Numbers behind base and factor.
fn n_more(ways: u8) -> usize {
    if ways & BASES > 0 { N_BASES - 1 } else { usize::from(ways & DIFFERENCES > 0) }
}

fn push_bits(values: &[u64], bits: u32, out: &mut Vec<u8>) {
    if bits == 0 {
        return;
    }
    out.reserve((values.len() * bits as usize).div_ceil(64) * 8);
    let (mut word, mut n_bits) = (0u64, 0);
    for value in values {
        word |= value << n_bits;
        n_bits += bits;
        if n_bits >= u64::BITS {
            out.extend_from_slice(&word.to_le_bytes());
            n_bits -= u64::BITS;
            // Of a value that ended with the word nothing is left; shifting by 64 would leave all of it.
            word = if n_bits == 0 { 0 } else { value >> (bits - n_bits) };
        }
    }
    if n_bits > 0 {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

/// What stands at the start of a block.
struct Head {
    bits: u32,
    ways: u8,
    base: i64,
    factor: u64,
    more: [i64; N_BASES],
}

/// The head of a block, its words, and what lies behind it. `None` if `bytes` are something else.
fn open(bytes: &[u8], n: usize) -> Option<(Head, &[u8], &[u8])> {
    let ([bits, ways], rest) = bytes.split_first_chunk::<2>()?;
    let (base, mut rest) = rest.split_first_chunk::<8>()?;
    let mut number = || {
        let (number, behind) = rest.split_first_chunk::<8>()?;
        rest = behind;
        Some(i64::from_le_bytes(*number))
    };
    let factor = if ways & FACTOR > 0 { number()? as u64 } else { 1 };
    let base = i64::from_le_bytes(*base);
    let mut more = [base; N_BASES];
    for more in &mut more[1..1 + n_more(*ways)] {
        *more = number()?;
    }
    let bits = u32::from(*bits);
    if bits > u64::BITS || *ways > FACTOR + DIFFERENCES + BASES || n > BLOCK {
        return None;
    }
    let n_words = (n * bits as usize).div_ceil(64);
    let (words, behind) = rest.split_at_checked(n_words * 8)?;
    Some((Head { bits, ways: *ways, base, factor, more }, words, behind))
}

/// What lies behind a block of `n` values; `None` if `bytes` are something else.
pub fn skip_block(bytes: &[u8], n: usize) -> Option<&[u8]> {
    open(bytes, n).map(|(_, _, behind)| behind)
}

/// Fills `values` from the block that [`write_block`] made of as many; gives what lies behind it. `None` if it is none.
pub fn read_block<'a>(bytes: &'a [u8], values: &mut [i64]) -> Option<&'a [u8]> {
    let (head, packed, behind) = open(bytes, values.len())?;
    if head.bits == 0 {
        values.fill(head.base);
    } else {
        // One more than there are at most, so that each value may look at two.
        let mut words = [0u64; BLOCK + 1];
        for (word, bytes) in words.iter_mut().zip(packed.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        read_bits(&words, &head, values);
    }
    if head.ways & DIFFERENCES > 0 {
        let mut value = head.more[1].wrapping_sub(*values.first()?);
        for difference in values {
            value = value.wrapping_add(*difference);
            *difference = value;
        }
    }
    Some(behind)
}

fn read_bits(words: &[u64; BLOCK + 1], head: &Head, values: &mut [i64]) {
    let bits = head.bits as usize;
    let mask = u64::MAX >> (64 - bits);
    let raw = |at: usize| {
        let (low, shift) = (at * bits / 64, at * bits % 64);
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        // Shifted twice, as shifting by 64 at once would do nothing.
        (word(low) >> shift | word(low + 1) << 1 << (63 - shift)) & mask
    };
    if head.ways & BASES > 0 {
        for (at, value) in values.iter_mut().enumerate() {
            let raw = raw(at);
            let above = (raw >> BASE_BITS).wrapping_mul(head.factor);
            *value = head.more[raw as usize % N_BASES].wrapping_add(above as i64);
        }
    } else {
        for (at, value) in values.iter_mut().enumerate() {
            *value = head.base.wrapping_add(raw(at).wrapping_mul(head.factor) as i64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_values() -> impl Strategy<Value = Vec<i64>> {
        let edge = prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0), any::<i64>()];
        let places = (prop::collection::vec(any::<i64>(), 1..7), 0..40u32, 1..5000i64).prop_flat_map(
            |(bases, bits, factor)| {
                let value = (0..bases.len(), 0..1i64 << bits)
                    .prop_map(move |(base, above)| bases[base].wrapping_add(above.wrapping_mul(factor)));
                prop::collection::vec(value, 1..=BLOCK)
            },
        );
        let steps = (any::<i64>(), 1..3000i64, prop::collection::vec(0..200i64, 1..=BLOCK)).prop_map(
            |(start, factor, steps)| {
                let mut value = start;
                steps.iter().map(|step| (value = value.wrapping_add(step * factor), value).1).collect()
            },
        );
        prop_oneof![prop::collection::vec(edge, 1..=BLOCK), places, steps]
    }

    proptest! {
        #[test]
        fn blocks_come_back(first in any_values(), second in any_values()) {
            let mut bytes = Vec::new();
            write_block(&first, &mut bytes);
            let n_first = bytes.len();
            write_block(&second, &mut bytes);
            let mut values = vec![0; first.len()];
            let rest = read_block(&bytes, &mut values);
            prop_assert_eq!(rest, Some(&bytes[n_first..]));
            prop_assert_eq!(skip_block(&bytes, first.len()), rest);
            prop_assert_eq!(&values, &first);
            values.resize(second.len(), 0);
            prop_assert_eq!(read_block(&bytes[n_first..], &mut values), Some(&b""[..]));
            prop_assert_eq!(&values, &second);
        }

        #[test]
        fn anything_else_does_no_harm(values in any_values(), at: prop::sample::Index, byte: u8) {
            let mut bytes = Vec::new();
            write_block(&values, &mut bytes);
            let at = at.index(bytes.len());
            let mut out = vec![0; values.len()];
            prop_assert_eq!(read_block(&bytes[..at], &mut out), None);
            bytes[at] = byte;
            let _ = read_block(&bytes, &mut out);
        }
    }

    #[test]
    fn what_lies_together_takes_few_bits() {
        let len = |values: Vec<i64>| {
            let mut bytes = Vec::new();
            write_block(&values, &mut bytes);
            bytes.len()
        };
        // Microseconds as nanoseconds, up to 127 apart.
        let times = (0..1024).scan(1i64 << 50, |at, i| (*at += i * 37 % 128 * 1000, Some(*at)).1);
        assert_eq!(len(times.collect()), 26 + 7 * 128);
        // Every other line of 64 bytes in two stretches of 64 KiB that lie far apart: which one, and 9 bits.
        let lines = (0..1024).map(|i| (i % 2) << 44 | (i * 389 % 1024) << 6);
        assert_eq!(len(lines.collect()), 42 + 11 * 128);
        assert_eq!(len(vec![7; 1024]), 10);
    }
}

//! Bit-packed blocks of up to 1024 integers: frame-of-reference or delta, after dividing by a common factor.
//!
//! Smaller but slower than [`mod@super::bytepack`]. A block stores the distance of each value from the smallest, from the start
//! of one of up to four ranges that the values are in, or from its neighbor; divided by a common factor (times in
//! microseconds, addresses of cache lines), in as few bits as the largest needs.
//!
//! ```text
//! block: [bits: u8][ways: u8][base: i64][factor: u64, if any][three more bases: i64, or first value: i64, if any][words:
//! u64…]
//! ```
//! All numbers are little-endian.
//!
//! # Before you change this
//!
//! - Indexes in browsers and Tracedrop files contain these blocks. A new encoding needs a new bit in `ways`; what the old bits
//!   mean must stay.
//! - Blocks come from files, so [`read_block`] and [`skip_block`] must return `None`, not panic or overrun, for any bytes. Sums
//!   and products wrap.
//! - [`write_same`] and [`write_few`] are shortcuts: they must write the bytes that [`write_block`] would.
//! - Loops work on fixed numbers of lanes so that the compiler vectorizes them, natively and in wasm. Writing a block is most
//!   of the time of reading memory accesses; measure with `cargo bench --bench memory`.

use std::hint::black_box;

/// Maximum values per block.
pub const BLOCK: usize = 1024;

/// Encodings, as bits.
const FACTOR: u8 = 1;
const DIFFERENCES: u8 = 2;
const BASES: u8 = 4;

const N_BASES: usize = 4;
/// Bits for the base of a value.
const BASE_BITS: u32 = 2;
/// Widths below which looking for bases or a factor does not pay.
const MIN_BITS_FOR_BASES: u32 = 24;
const MIN_BITS_FOR_FACTOR: u32 = 6;

fn bits_of(range: u64) -> u32 {
    u64::BITS - range.leading_zeros()
}

/// Smallest value, and its distance to the largest.
fn range_of(values: &[i64]) -> (i64, u64) {
    // Several of each, since these do not depend on each other.
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

/// Divisor: a power of two times an odd number. If it divides all values, division becomes shift and multiplication, which
/// takes a tenth of the time.
#[derive(Clone, Copy)]
struct Factor {
    shift: u32,
    odd: u64,
    /// Multiplicative inverse of `odd` in 64 bits.
    inverse: u64,
}

impl Factor {
    fn new(shift: u32, odd: u64) -> Factor {
        // Correct in the three lowest bits, then in twice as many each step.
        let inverse = (0..5).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))));
        Factor { shift, odd, inverse }
    }

    /// Greatest common divisor; 1 if all are zero.
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
            let limit = factor.largest_quotient();
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

    /// Largest quotient of a division by `odd`. (The compiler would otherwise compare 128-bit products, which are calls in
    /// WebAssembly.)
    fn largest_quotient(self) -> u64 {
        black_box(u64::MAX / self.odd)
    }

    fn divide(self, value: u64) -> u64 {
        (value >> self.shift).wrapping_mul(self.inverse)
    }
}

/// Number of values that usually determine the factor of all.
const N_FOR_FACTOR: usize = 16;

/// Divides all values by their greatest common divisor, and returns it.
fn divide_all(values: &mut [u64]) -> Factor {
    let factor = Factor::common(&values[..values.len().min(N_FOR_FACTOR)]);
    let is_one = |factor: Factor| factor.value() == 1;
    let mut all = 0;
    let mut is_common = true;
    if !is_one(factor) {
        let limit = factor.largest_quotient();
        for value in &*values {
            all |= value;
            is_common &= (value >> factor.shift).wrapping_mul(factor.inverse) <= limit;
        }
        is_common &= all.trailing_zeros() >= factor.shift;
    }
    let factor = if is_common { factor } else { Factor::common(values) };
    if !is_one(factor) {
        values.iter_mut().for_each(|value| *value = factor.divide(*value));
    }
    factor
}

/// Starts of up to four ranges that the values are in, and the bits the longest needs; `which` gets the range of each value.
/// `values` are between `min` and `min + range`.
///
/// ```text
/// range    |# ##                                                #  #|     # has values; cut at the longest gap,
/// longest   |##  #  #|                                                    then the longest remaining range likewise
/// ```
fn bases_of(values: &[i64], min: i64, range: u64, which: &mut [u8]) -> ([i64; N_BASES], u32) {
    // A sample usually shows the gaps.
    let mut some = [0; BLOCK.div_ceil(ONE_OF)];
    let n_some = values.len().div_ceil(ONE_OF);
    let some = &mut some[..n_some];
    some.iter_mut().zip(values.iter().step_by(ONE_OF)).for_each(|(one, value)| *one = *value);
    let cuts = cuts_of(some, min, range);
    let (_, of_some) = fitted(some, &cuts, which);
    let found = fitted(values, &cuts, which);
    if found.1 <= of_some + 1 {
        return found;
    }
    fitted(values, &cuts_of(values, min, range), which)
}

/// One in this many values is sampled first. Values rarely alternate with this period.
const ONE_OF: usize = 7;

/// Starts of ranges.
fn cuts_of(values: &[i64], min: i64, range: u64) -> [i64; N_BASES] {
    // First and last value of each, ascending.
    let mut stretches = [(0, range); N_BASES];
    let mut n = 1;
    while n < N_BASES {
        let length = |at: &usize| stretches[*at].1 - stretches[*at].0;
        let longest = (0..n).max_by_key(length).unwrap_or(0);
        let (start, end) = stretches[longest];
        let shift = bits_of(end - start).saturating_sub(PART_BITS);
        // Which of 64 parts of it have values.
        let mut parts = 0u64;
        for value in values {
            let place = (value.wrapping_sub(min) as u64).wrapping_sub(start);
            parts |= u64::from(place <= end - start) << ((place >> shift) & ((1 << PART_BITS) - 1));
        }
        let Some((before, after)) = widest_gap(parts) else { break };
        stretches.copy_within(longest + 1..n, longest + 2);
        stretches[longest] = (start, start + ((before + 1) << shift) - 1);
        stretches[longest + 1] = (start + (after << shift), end);
        n += 1;
    }
    let last = stretches[n - 1].0;
    stretches[n..].fill((last, last));
    stretches.map(|(start, _)| min.wrapping_add(start as i64))
}

/// A range is split into 64 parts.
const PART_BITS: u32 = 6;

/// Bits around the longest run of zeros between two set bits.
fn widest_gap(parts: u64) -> Option<(u64, u64)> {
    let (mut rest, mut at) = (parts, 0);
    let mut widest = None;
    let mut width = 0;
    while rest != 0 {
        let (n_zeros, bit) = (rest.trailing_zeros(), at + rest.trailing_zeros());
        if at > 0 && n_zeros > width {
            (width, widest) = (n_zeros, Some((u64::from(at - 1), u64::from(bit))));
        }
        rest = rest >> n_zeros >> 1;
        at = bit + 1;
    }
    widest
}

/// Bases if values are split at these ascending cuts, and the bits the longest range needs; `which` gets the range of each
/// value.
fn fitted(values: &[i64], cuts: &[i64; N_BASES], which: &mut [u8]) -> ([i64; N_BASES], u32) {
    let (mut min, mut max) = ([i64::MAX; N_BASES], [i64::MIN; N_BASES]);
    for (value, which) in values.iter().zip(which) {
        let at = base_below(cuts, *value);
        *which = at as u8;
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
            // Bases are ascending, so no value uses the base of an empty range.
            base = cuts[0];
        }
        min[at] = base;
    }
    (min, bits_of(longest))
}

/// Index of the largest base not above a value, which is at least the first. Branchless, since values come in any order.
#[inline(always)]
fn base_below(bases: &[i64; N_BASES], value: i64) -> usize {
    let [_, bases @ ..] = *bases;
    bases.iter().map(|base| usize::from(*base <= value)).sum::<usize>() % N_BASES
}

/// Appends a block of at most [`BLOCK`] values to `out`; nothing if empty.
pub fn write_block(values: &[i64], out: &mut Vec<u8>) {
    let values = &values[..values.len().min(BLOCK)];
    let Some(first) = values.first().copied() else { return };
    let differing = values.iter().fold(0, |bits, value| bits | value ^ first) as u64;
    if differing == 0 {
        // Most columns of most blocks.
        return write_same(first, out);
    }
    if bits_of(differing) <= MAX_BITS_OF_FEW {
        // Few distinct values: only the common high bits are worth removing.
        let mut low = [0; BLOCK];
        low.iter_mut().zip(values).for_each(|(low, value)| *low = *value as u8 & MAX_FEW);
        return write_few(first & !i64::from(MAX_FEW), &low[..values.len()], out);
    }
    let mut above = [0u64; BLOCK];
    let above = &mut above[..values.len()];
    if let [_, second, third, ..] = *values
        && third.wrapping_sub(second) == second.wrapping_sub(first)
        && let Some(step) = common_step(values)
    {
        // Consecutive numbers.
        out.extend_from_slice(&[0, DIFFERENCES]);
        out.extend_from_slice(&step.to_le_bytes());
        return out.extend_from_slice(&first.to_le_bytes());
    }
    let differences = Differences::of(values, differing, above);
    let (min, range) = differences.range.unwrap_or_else(|| range_of(values));
    let mut more = [0; N_BASES];
    // Largest of `above`.
    let mut largest = range;
    // Base of each value.
    let mut which = [0; BLOCK];
    let (mut ways, mut base, bits) = (0, min, bits_of(range));
    if let Some((smallest, largest_above)) = differences.found.filter(|(_, range)| bits_of(*range) < bits) {
        (ways, base, more[1], largest) = (DIFFERENCES, smallest, first, largest_above);
        above[1..].iter_mut().for_each(|above| *above = above.wrapping_sub(base as u64));
    } else {
        if bits >= MIN_BITS_FOR_BASES {
            let (bases, of_longest) = bases_of(values, min, range, &mut which);
            if of_longest + BASE_BITS + 1 < bits {
                (ways, base, more) = (BASES, bases[0], bases);
            }
        }
        if ways == BASES {
            largest = 0;
            for ((above, which), value) in above.iter_mut().zip(which).zip(values) {
                *above = value.wrapping_sub(more[usize::from(which) % N_BASES]) as u64;
                largest = largest.max(*above);
            }
        } else {
            above.iter_mut().zip(values).for_each(|(above, value)| *above = value.wrapping_sub(base) as u64);
        }
    }
    let factor = if bits_of(largest) < MIN_BITS_FOR_FACTOR { Factor::new(0, 1) } else { divide_all(above) };
    if factor.value() > 1 {
        ways |= FACTOR;
    }
    let mut bits = bits_of(factor.divide(largest));
    if ways & BASES > 0 {
        for (above, which) in above.iter_mut().zip(which) {
            *above = *above << BASE_BITS | u64::from(which);
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

/// Differences checked per chunk.
const N_STEPS: usize = 64;

/// Common difference of all values, if equal.
fn common_step(values: &[i64]) -> Option<i64> {
    let step = values.get(1)?.wrapping_sub(*values.first()?);
    let is_other = |[before, after]: &[i64; 2]| after.wrapping_sub(*before) ^ step;
    // Chunk by chunk, since most others end in the first chunk.
    let is_common = (0..values.len()).step_by(N_STEPS).all(|at| {
        let part = &values[at..values.len().min(at + N_STEPS + 1)];
        part.array_windows().fold(0, |any, two| any | is_other(two)) == 0
    });
    is_common.then_some(step)
}

/// Values that differ in at most this many bits are not analyzed further.
const MAX_BITS_OF_FEW: u32 = 6;

/// Largest number of that many bits.
pub const MAX_FEW: u8 = (1 << MAX_BITS_OF_FEW) - 1;

/// Appends what [`write_block`] would for values made of `high`, whose lowest bits are 0, and each of `low`, up to
/// [`MAX_FEW`]. At most [`BLOCK`] values.
pub fn write_few(high: i64, low: &[u8], out: &mut Vec<u8>) {
    let low = &low[..low.len().min(BLOCK)];
    let Some(first) = low.first().copied() else { return };
    let differing = low.iter().fold(0, |bits, low| bits | low ^ first);
    let bits = u8::BITS - differing.leading_zeros();
    let mask = ((1u32 << bits) - 1) as u8;
    out.extend_from_slice(&[bits as u8, 0]);
    out.extend_from_slice(&(high | i64::from(first & !mask)).to_le_bytes());
    if bits == 0 {
        return;
    }
    let mut words = Words::default();
    let (groups, rest) = low.as_chunks::<8>();
    for group in groups {
        // Neighbors are merged: two, four, eight.
        let all = u64::from_le_bytes(*group) & (u64::from(mask) * 0x0101_0101_0101_0101);
        let all = all & 0x00FF_00FF_00FF_00FF | (all >> 8 & 0x00FF_00FF_00FF_00FF) << bits;
        let all = all & 0x0000_FFFF_0000_FFFF | (all >> 16 & 0x0000_FFFF_0000_FFFF) << (2 * bits);
        words.push(all & 0xFFFF_FFFF | all >> 32 << (4 * bits), 8 * bits);
    }
    rest.iter().for_each(|low| words.push(u64::from(low & mask), bits));
    words.finish(out);
}

/// Differences between neighbors.
struct Differences {
    /// Smallest difference, and its distance to the largest; `None` if they are not useful.
    found: Option<(i64, u64)>,
    /// Smallest value, and its distance to the largest, if differences reveal that.
    range: Option<(i64, u64)>,
}

/// Number of values that usually decide whether differences are useful.
const N_FOR_DIFFERENCES: usize = 65;

impl Differences {
    /// Puts the differences of `values`, which only differ in the bits of `differing`, into `all` from index 1 on, if they may
    /// be useful.
    fn of(values: &[i64], differing: u64, all: &mut [u64]) -> Differences {
        if values.len() < 2 {
            return Differences { found: None, range: None };
        }
        let mut fill = |n: usize| {
            for (above, [before, after]) in all[1..n].iter_mut().zip(values.array_windows()) {
                *above = after.wrapping_sub(*before) as u64;
            }
            range_of(bytemuck::must_cast_slice(&all[1..n]))
        };
        let (_, of_first) = fill(values.len().min(N_FOR_DIFFERENCES));
        // The bits that differ bound the distance of values.
        if bits_of(of_first) >= bits_of(differing) {
            return Differences { found: None, range: None };
        }
        let (smallest, largest_above) = fill(values.len());
        let is_ascending = smallest >= 0 && bits_of(differing) < u64::BITS - 1;
        let ends = values.first().copied().zip(values.last().copied()).filter(|_| is_ascending);
        Differences {
            found: Some((smallest, largest_above)),
            range: ends.map(|(first, last)| (first, last.wrapping_sub(first) as u64)),
        }
    }
}

/// Appends a block that is read like [`write_block`]'s, without trying differences: for unordered values that are close
/// together. At most [`BLOCK`] values.
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
    let factor = if bits_of(range) < MIN_BITS_FOR_FACTOR { Factor::new(0, 1) } else { divide_all(above) };
    let ways = if factor.value() > 1 { FACTOR } else { 0 };
    let bits = bits_of(factor.divide(range));
    out.extend_from_slice(&[bits as u8, ways]);
    out.extend_from_slice(&min.to_le_bytes());
    if ways > 0 {
        out.extend_from_slice(&factor.value().to_le_bytes());
    }
    push_bits(above, bits, out);
}

/// Appends what [`write_block`] would if all values are `value`, for any number of values.
pub fn write_same(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Numbers after base and factor.
fn n_more(ways: u8) -> usize {
    if ways & BASES > 0 { N_BASES - 1 } else { usize::from(ways & DIFFERENCES > 0) }
}

/// Appends the lowest `bits` bits of each value, the others being 0.
fn push_bits(values: &[u64], bits: u32, out: &mut Vec<u8>) {
    // Several values that fit in one word are merged first, without tracking word boundaries.
    match bits {
        0 => {}
        1..=8 => push_groups::<8>(values, bits, out),
        9..=16 => push_groups::<4>(values, bits, out),
        17..=32 => push_groups::<2>(values, bits, out),
        _ => push_groups::<1>(values, bits, out),
    }
}

fn push_groups<const N: usize>(values: &[u64], bits: u32, out: &mut Vec<u8>) {
    let mut words = Words::default();
    let (groups, rest) = values.as_chunks::<N>();
    for group in groups {
        words.push(group.iter().rev().fold(0, |all, value| all << (bits & 63) | value), bits * N as u32);
    }
    rest.iter().for_each(|value| words.push(*value, bits));
    words.finish(out);
}

/// Bit writer with room for a block.
struct Words {
    words: [u64; BLOCK + 1],
    n_words: usize,
    word: u64,
    n_bits: u32,
}

impl Default for Words {
    fn default() -> Words {
        Words { words: [0; BLOCK + 1], n_words: 0, word: 0, n_bits: 0 }
    }
}

impl Words {
    /// Appends `bits` bits (1 to 64) of `value`, the others being 0.
    #[inline(always)]
    fn push(&mut self, value: u64, bits: u32) {
        self.word |= value << self.n_bits;
        self.n_bits += bits;
        if self.n_bits >= u64::BITS {
            self.words[self.n_words % (BLOCK + 1)] = self.word.to_le();
            self.n_words += 1;
            self.n_bits -= u64::BITS;
            // If the value ended with the word, nothing is left; shifting by 64 would keep all of it.
            self.word = if self.n_bits == 0 { 0 } else { value >> (bits - self.n_bits) };
        }
    }

    fn finish(mut self, out: &mut Vec<u8>) {
        if self.n_bits > 0 {
            self.words[self.n_words % (BLOCK + 1)] = self.word.to_le();
            self.n_words += 1;
        }
        out.extend_from_slice(bytemuck::must_cast_slice(&self.words[..self.n_words.min(BLOCK + 1)]));
    }
}

/// Header of a block.
struct Head {
    bits: u32,
    ways: u8,
    base: i64,
    factor: u64,
    more: [i64; N_BASES],
}

/// Header of a block, its words, and the bytes after it. `None` if invalid.
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

/// Bytes after a block of `n` values; `None` if invalid.
pub fn skip_block(bytes: &[u8], n: usize) -> Option<&[u8]> {
    open(bytes, n).map(|(_, _, behind)| behind)
}

/// Fills `values` from a block of the same size made by [`write_block`]; returns the bytes after it. `None` if invalid.
pub fn read_block<'a>(bytes: &'a [u8], values: &mut [i64]) -> Option<&'a [u8]> {
    let (head, packed, behind) = open(bytes, values.len())?;
    if head.bits == 0 {
        values.fill(head.base);
    } else {
        read_bits(packed, &head, values);
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

fn read_bits(packed: &[u8], head: &Head, values: &mut [i64]) {
    // One extra word, so that each value can read a full one.
    let mut bytes = [0u8; MAX_PACKED_BYTES + 8];
    let n_bytes = packed.len().min(MAX_PACKED_BYTES);
    bytes[..n_bytes].copy_from_slice(&packed[..n_bytes]);
    let word = |bit: usize| {
        let at = bit / 8 % MAX_PACKED_BYTES;
        bytes[at..at + 8].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
    };
    let bits = head.bits as usize;
    let mask = u64::MAX >> (64 - bits);
    if bits <= MAX_BITS_OF_WORD {
        restore(head, values, |at| word(at * bits) >> (at * bits % 8) & mask);
    } else {
        // Shifted twice, since shifting by 64 at once would do nothing.
        let raw = |at: usize| {
            let shift = at * bits % 8;
            (word(at * bits) >> shift | word(at * bits + 8) >> 56 << 1 << (63 - shift)) & mask
        };
        restore(head, values, raw);
    }
}

/// Maximum bytes of a block.
const MAX_PACKED_BYTES: usize = BLOCK * 8;

/// Values of up to this many bits are within eight bytes from their first byte.
const MAX_BITS_OF_WORD: usize = 57;

/// Values whose bits `raw` returns.
#[inline(always)]
fn restore(head: &Head, values: &mut [i64], raw: impl Fn(usize) -> u64) {
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
        fn few_are_as_any(high in any::<i64>(), low in prop::collection::vec(0..=MAX_FEW, 1..=BLOCK), bits in 0..=MAX_FEW) {
            let high = high & !i64::from(MAX_FEW);
            let low: Vec<u8> = low.iter().map(|low| low & bits).collect();
            let (mut few, mut any) = (Vec::new(), Vec::new());
            write_few(high, &low, &mut few);
            let values: Vec<i64> = low.iter().map(|low| high | i64::from(*low)).collect();
            write_block(&values, &mut any);
            prop_assert_eq!(&few, &any);
            let mut back = vec![0; values.len()];
            prop_assert_eq!(read_block(&few, &mut back), Some(&b""[..]));
            prop_assert_eq!(back, values);
        }

        #[test]
        fn steps_take_no_room(first: i64, step: i64, n in 3..=BLOCK, other in any::<Option<(prop::sample::Index, i64)>>()) {
            let mut values: Vec<i64> = (0..n).map(|i| first.wrapping_add(step.wrapping_mul(i as i64))).collect();
            if let Some((at, value)) = other {
                values[at.index(n)] = value;
            }
            let mut bytes = Vec::new();
            write_block(&values, &mut bytes);
            prop_assert!(bytes.len() <= 18 || other.is_some());
            let mut back = vec![0; n];
            prop_assert_eq!(read_block(&bytes, &mut back), Some(&b""[..]));
            prop_assert_eq!(back, values);
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
        // Alternating 64-byte lines of two distant 64 KiB ranges: one bit for the range, and 9 bits.
        let lines = (0..1024).map(|i| (i % 2) << 44 | (i * 389 % 1024) << 6);
        assert_eq!(len(lines.collect()), 42 + 11 * 128);
        assert_eq!(len(vec![7; 1024]), 10);
    }
}

//! Huffman-coded literals, up to eleven bits per code.

use super::fse::{MAX_STATES, Shares, State};
use super::{Bits, Damaged, number, top};

const MAX_BITS: u32 = 11;
const N_ENTRIES: usize = 1 << MAX_BITS;
/// Maximum bits of the states for weights.
const MAX_WEIGHT_BITS: u32 = 6;
/// Codes per refill.
const N_PER_FILL: usize = 5;

/// Bit count and, in the upper byte, symbol of each code, indexed by the next eleven bits.
pub struct Table {
    entries: Box<[u16; N_ENTRIES]>,
    is_set: bool,
}

impl Default for Table {
    fn default() -> Table {
        Table { entries: Box::new([0; N_ENTRIES]), is_set: false }
    }
}

impl Table {
    /// Clears the table, as at the start of a frame.
    pub fn reset(&mut self) {
        self.is_set = false;
    }

    /// Reads the table at `at`; returns its end.
    pub fn read(&mut self, bytes: &[u8], at: usize) -> Result<usize, Damaged> {
        let mut weights = [0u8; 256];
        let head = number(bytes, at, 1)? as usize;
        let (n_weights, end) = match head.checked_sub(127) {
            Some(n) => {
                let packed = bytes.get(at + 1..).and_then(|rest| rest.get(..n.div_ceil(2))).ok_or(Damaged)?;
                for (pair, byte) in weights.chunks_mut(2).zip(packed) {
                    pair.copy_from_slice(&[byte >> 4, byte & 15]);
                }
                weights[n..].fill(0);
                (n, at + 1 + packed.len())
            }
            None => {
                let end = at + 1 + head;
                let packed = bytes.get(..end).ok_or(Damaged)?;
                (read_weights(packed, at + 1, &mut weights)?, end)
            }
        };
        self.set(&mut weights, n_weights)?;
        Ok(end)
    }

    /// Builds codes from weights; the weight of the last symbol follows from the others.
    fn set(&mut self, weights: &mut [u8; 256], n_weights: usize) -> Result<(), Damaged> {
        self.is_set = false;
        let mut n_of = [0usize; MAX_BITS as usize + 2];
        let mut sum = 0usize;
        for weight in &weights[..n_weights] {
            *n_of[..=MAX_BITS as usize].get_mut(usize::from(*weight)).ok_or(Damaged)? += 1;
            sum += (1 << *weight) >> 1;
        }
        let bits = sum.checked_ilog2().ok_or(Damaged)? + 1;
        let left = (1usize << bits) - sum;
        if bits > MAX_BITS || !left.is_power_of_two() {
            return Err(Damaged);
        }
        let last = left.ilog2() as usize + 1;
        *weights.get_mut(n_weights).ok_or(Damaged)? = last as u8;
        n_of[last] += 1;
        // Long codes first; each fills all entries that start with it.
        let wide = MAX_BITS - bits;
        let mut start_of = [0usize; MAX_BITS as usize + 2];
        let mut start = 0;
        for weight in 1..start_of.len() {
            start_of[weight] = start;
            start += n_of[weight] << (weight - 1);
        }
        for (symbol, weight) in weights[..=n_weights].iter().enumerate() {
            if *weight > 0 {
                let start = &mut start_of[usize::from(*weight)];
                let n = 1usize << (*weight - 1);
                let n_bits = (bits + 1) as u8 - *weight;
                let entries = self.entries.get_mut(*start << wide..(*start + n) << wide).ok_or(Damaged)?;
                entries.fill((symbol as u16) << 8 | u16::from(n_bits));
                *start += n;
            }
        }
        self.is_set = true;
        Ok(())
    }

    /// Fills `out` from the stream from `at` to the end of `bytes`.
    pub fn decode_one(&self, bytes: &[u8], at: usize, out: &mut [u8]) -> Result<(), Damaged> {
        if !self.is_set {
            return Err(Damaged);
        }
        let mut bits = Bits::new(bytes, at)?;
        self.rest(&mut bits, out)
    }

    /// Fills `out` from four streams, a quarter each, after the sizes of the first three.
    pub fn decode_four(&self, bytes: &[u8], at: usize, out: &mut [u8]) -> Result<(), Damaged> {
        if !self.is_set {
            return Err(Damaged);
        }
        let quarter = out.len().div_ceil(4);
        let mut ends = [at + 6, 0, 0, 0, bytes.len()];
        for stream in 0..3 {
            ends[stream + 1] = ends[stream] + number(bytes, at + 2 * stream, 2)? as usize;
        }
        let stream = |n: usize| Bits::new(bytes.get(..ends[n + 1]).ok_or(Damaged)?, ends[n]);
        let (mut a, mut b, mut c, mut d) = (stream(0)?, stream(1)?, stream(2)?, stream(3)?);
        let (first, rest) = out.split_at_mut_checked(quarter).ok_or(Damaged)?;
        let (second, rest) = rest.split_at_mut_checked(quarter).ok_or(Damaged)?;
        let (third, fourth) = rest.split_at_mut_checked(quarter).ok_or(Damaged)?;
        // All four at once: while one waits, the others proceed.
        let n_fills = fourth.len() / N_PER_FILL;
        let chunks = |out: &'_ mut [u8]| out.len().min(n_fills * N_PER_FILL);
        let n = chunks(fourth);
        let fills = first[..n].as_chunks_mut::<N_PER_FILL>().0.iter_mut();
        let fills = fills.zip(second[..n].as_chunks_mut::<N_PER_FILL>().0);
        let fills = fills.zip(third[..n].as_chunks_mut::<N_PER_FILL>().0);
        let fills = fills.zip(fourth[..n].as_chunks_mut::<N_PER_FILL>().0);
        for (((first, second), third), fourth) in fills {
            let mut words = [
                a.fill().ok_or(Damaged)?,
                b.fill().ok_or(Damaged)?,
                c.fill().ok_or(Damaged)?,
                d.fill().ok_or(Damaged)?,
            ];
            let mut taken = [0u32; 4];
            for i in 0..N_PER_FILL {
                first[i] = self.next(&mut words[0], &mut taken[0]);
                second[i] = self.next(&mut words[1], &mut taken[1]);
                third[i] = self.next(&mut words[2], &mut taken[2]);
                fourth[i] = self.next(&mut words[3], &mut taken[3]);
            }
            a.take(taken[0] & 0xFF);
            b.take(taken[1] & 0xFF);
            c.take(taken[2] & 0xFF);
            d.take(taken[3] & 0xFF);
        }
        self.rest(&mut a, &mut first[n..])?;
        self.rest(&mut b, &mut second[n..])?;
        self.rest(&mut c, &mut third[n..])?;
        self.rest(&mut d, &mut fourth[n..])
    }

    /// Fills `out` from the rest of a stream, which has to end with it.
    fn rest(&self, bits: &mut Bits<'_>, out: &mut [u8]) -> Result<(), Damaged> {
        for symbols in out.chunks_mut(N_PER_FILL) {
            let mut word = bits.fill().ok_or(Damaged)?;
            let mut taken = 0;
            for symbol in symbols {
                *symbol = self.next(&mut word, &mut taken);
            }
            bits.take(taken & 0xFF);
        }
        if bits.is_at_end() { Ok(()) } else { Err(Damaged) }
    }

    /// Reads the next symbol. Only the lowest byte of what is added to `taken` counts; it has room for the bits of one refill.
    #[inline(always)]
    fn next(&self, word: &mut u64, taken: &mut u32) -> u8 {
        let entry = self.entries[(*word >> (64 - MAX_BITS)) as usize];
        *word <<= entry & 63;
        *taken += u32::from(entry);
        (entry >> 8) as u8
    }
}

/// Reads weights from `at` to the end of `bytes`: a state table, and two alternating states. Returns their number.
fn read_weights(bytes: &[u8], at: usize, weights: &mut [u8; 256]) -> Result<usize, Damaged> {
    let (shares, at) = Shares::read(bytes, at, MAX_WEIGHT_BITS, 255)?;
    let states = shares.states()?;
    let mut bits = Bits::new(bytes, at)?;
    let mut start = || {
        let word = bits.fill().ok_or(Damaged)?;
        bits.take(shares.bits);
        Ok::<usize, Damaged>(top(word, shares.bits) as usize)
    };
    let mut numbers = [start()?, start()?];
    // One symbol is left for the last weight.
    let mut n = 0;
    let state = |number: usize| -> State { states[number % MAX_STATES] };
    loop {
        let turn = n % 2;
        let now = state(numbers[turn]);
        *weights[..255].get_mut(n).ok_or(Damaged)? = now.symbol;
        n += 1;
        let n_left = bits.at.checked_sub(bits.start).ok_or(Damaged)?;
        if n_left < usize::from(now.n_bits) {
            // The other state is the last.
            *weights[..255].get_mut(n).ok_or(Damaged)? = state(numbers[1 - turn]).symbol;
            return Ok(n + 1);
        }
        let word = bits.fill().ok_or(Damaged)?;
        bits.take(now.n_bits.into());
        numbers[turn] = usize::from(now.base) + top(word, now.n_bits.into()) as usize;
    }
}

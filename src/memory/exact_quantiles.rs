//! Exact quantiles of many numbers in little memory.
//!
//! Numbers are stored in order of arrival, packed as differences from the smallest in their block. Once there are many, runs of
//! them are sorted and delta-packed, in a third of the space. Zeros are only counted. Large sets are first binned by
//! their leading bits, so that a block takes few bits per number, and the bins narrow down the k-th smallest number. Within a bin,
//! few numbers are sorted; many are counted by their leading 16 bits, then those with the right prefix by the next 16, until few
//! remain.

use super::numbers::{between, quantile_place};
use crate::base::bitpack;

/// Limit on numbers unpacked and sorted at once.
const FEW: u64 = 1 << 18;
/// Block size while there is a single bin: there can be as many open blocks as pages.
const BLOCK: usize = 256;
/// Count from which numbers are binned, with an open block per bin.
const MIN_BINNED: u64 = 1 << 18;
/// Count from which the numbers of a bin are sorted.
const RUN: usize = 1 << 17;
/// Bits after the leading one that select the bin.
const BIN_BITS: u32 = 3;

/// Bin of a number above 0; monotonic.
#[inline]
fn bin_of(value: u64) -> usize {
    let power = value.checked_ilog2().unwrap_or(0);
    let behind = (value << (u64::BITS - 1 - power)) << 1 >> (u64::BITS - BIN_BITS);
    (power << BIN_BITS) as usize | behind as usize
}

const N_BINS: usize = (u64::BITS << BIN_BITS) as usize;

/// Unordered nonzero numbers.
#[derive(Clone, Debug, Default)]
struct Bin {
    /// Fewer than [`BLOCK`].
    open: Vec<i64>,
    /// Packed blocks in order of arrival, and the count of numbers in them.
    packed: Vec<u8>,
    n_packed: usize,
    runs: Vec<Run>,
    n: u64,
    max: u64,
}

/// Ascending numbers, packed in blocks of [`bitpack::BLOCK`]; the last can be smaller.
#[derive(Clone, Debug)]
struct Run {
    packed: Box<[u8]>,
    n: usize,
}

impl Bin {
    #[inline]
    fn add(&mut self, value: u64) {
        self.n += 1;
        self.max = self.max.max(value);
        self.open.push(value as i64);
        if self.open.len() == BLOCK {
            self.pack();
        }
    }

    fn pack(&mut self) {
        bitpack::write_unordered(&self.open, &mut self.packed);
        self.n_packed += self.open.len();
        self.open.clear();
        if self.n_packed >= RUN {
            self.sort();
        }
    }

    /// Sorts the blocks in order of arrival.
    #[cold]
    fn sort(&mut self) {
        let mut all = Vec::with_capacity(self.n_packed);
        self.for_each_unsorted(|value| all.push(value as i64));
        // Reinterpreted as signed, which preserves differences above 2^63.
        all.sort_unstable();
        let mut packed = Vec::new();
        all.chunks(bitpack::BLOCK).for_each(|block| bitpack::write_block(block, &mut packed));
        self.runs.push(Run { packed: packed.into(), n: all.len() });
        (self.packed, self.n_packed) = (Vec::new(), 0);
    }

    /// The numbers packed in order of arrival.
    fn for_each_unsorted(&self, mut each: impl FnMut(u64)) {
        let mut rest = self.packed.as_slice();
        let mut values = [0; BLOCK];
        while let Some(after) = bitpack::read_block(rest, &mut values) {
            values.iter().for_each(|value| each(*value as u64));
            rest = after;
        }
    }

    /// All numbers, in no particular order.
    fn for_each(&self, mut each: impl FnMut(u64)) {
        let mut values = [0; bitpack::BLOCK];
        for run in &self.runs {
            let mut rest = &*run.packed;
            for start in (0..run.n).step_by(bitpack::BLOCK) {
                let values = &mut values[..(run.n - start).min(bitpack::BLOCK)];
                let Some(after) = bitpack::read_block(rest, values) else { break };
                values.iter().for_each(|value| each(*value as u64));
                rest = after;
            }
        }
        self.for_each_unsorted(&mut each);
        self.open.iter().for_each(|value| each(*value as u64));
    }

    /// Adds all numbers of another set.
    fn absorb(&mut self, other: Bin) {
        if self.n == 0 {
            *self = other;
            return;
        }
        self.n += other.n - other.open.len() as u64;
        self.max = self.max.max(other.max);
        self.packed.extend_from_slice(&other.packed);
        self.n_packed += other.n_packed;
        self.runs.extend(other.runs);
        if self.n_packed >= RUN {
            self.sort();
        }
        other.open.into_iter().for_each(|value| self.add(value as u64));
    }

    /// The numbers at these 0-based ranks; ranks past the end give 0.
    fn at_places(&self, places: &[u64]) -> Vec<u64> {
        if places.is_empty() {
            return Vec::new();
        }
        if self.n > FEW {
            return self.find(places);
        }
        let mut all = Vec::with_capacity(self.n as usize);
        self.for_each(|value| all.push(value));
        all.sort_unstable();
        places.iter().map(|place| all.get(*place as usize).copied().unwrap_or(0)).collect()
    }

    /// Selection for many numbers.
    fn find(&self, places: &[u64]) -> Vec<u64> {
        // For each rank: the leading bits found so far, and the rank among numbers with the same prefix.
        let mut found: Vec<(u64, u64)> = places.iter().map(|place| (0, *place)).collect();
        let n_bits = u64::BITS - self.max.leading_zeros();
        let mut shift = n_bits;
        while shift > 0 {
            let known = distinct(found.iter().map(|(prefix, _)| *prefix));
            let n_new = shift.min(16);
            let behind = shift - n_new;
            let mask = (1 << n_new) - 1;
            let mut counts = vec![0u64; known.len() << n_new];
            if shift == n_bits {
                self.for_each(|value| counts[(value >> behind & mask) as usize] += 1);
            } else {
                self.for_each(|value| {
                    if let Some(at) = known.iter().position(|known| *known == value >> shift) {
                        counts[at << n_new | (value >> behind & mask) as usize] += 1;
                    }
                });
            }
            let mut n_left = 0;
            for (prefix, place) in &mut found {
                let at = known.iter().position(|known| known == prefix).unwrap_or(0);
                let mut low = 0u64;
                for count in &counts[at << n_new..(at + 1) << n_new] {
                    if *place < *count {
                        n_left += count;
                        break;
                    }
                    *place -= *count;
                    low += 1;
                }
                *prefix = *prefix << n_new | low.min(mask);
            }
            shift = behind;
            if n_left <= FEW && shift > 0 {
                return self.pick(&found, shift);
            }
        }
        found.into_iter().map(|(value, _)| value).collect()
    }

    /// Numbers with a known prefix (all but the last `shift` bits) and rank among those with the same prefix, which are few.
    fn pick(&self, found: &[(u64, u64)], shift: u32) -> Vec<u64> {
        let known = distinct(found.iter().map(|(prefix, _)| *prefix));
        let mut with: Vec<Vec<u64>> = vec![Vec::new(); known.len()];
        self.for_each(|value| {
            if let Some(at) = known.iter().position(|known| *known == value >> shift) {
                with[at].push(value);
            }
        });
        with.iter_mut().for_each(|values| values.sort_unstable());
        let value = |(prefix, place): &(u64, u64)| {
            let at = known.iter().position(|known| known == prefix)?;
            with.get(at)?.get(usize::try_from(*place).ok()?).copied()
        };
        found.iter().map(|found| value(found).unwrap_or(0)).collect()
    }
}

/// Unordered numbers.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    n_zeros: u64,
    /// Nonzero numbers, until there are bins.
    few: Bin,
    /// [`N_BINS`] bins, or none.
    bins: Vec<Bin>,
    n: u64,
    sum: u128,
}

impl Spread {
    #[inline]
    pub fn add(&mut self, value: u64) {
        if value == 0 {
            self.n_zeros += 1;
            return;
        }
        self.n += 1;
        self.sum += u128::from(value);
        match self.bins.get_mut(bin_of(value)) {
            Some(bin) => bin.add(value),
            None => {
                self.few.add(value);
                if self.few.n >= MIN_BINNED {
                    self.make_bins();
                }
            }
        }
    }

    #[cold]
    fn make_bins(&mut self) {
        let few = std::mem::take(&mut self.few);
        self.bins.resize_with(N_BINS, Bin::default);
        few.for_each(|value| self.bins[bin_of(value)].add(value));
    }

    /// Adds all numbers of another set.
    pub fn absorb(&mut self, mut other: Spread) {
        if self.bins.len() < other.bins.len() {
            std::mem::swap(self, &mut other);
        }
        self.n_zeros += other.n_zeros;
        // Without bins, numbers are added one by one, which also updates the sum.
        let n_few = other.few.n;
        let mut sum_few = 0;
        other.few.for_each(|value| {
            sum_few += u128::from(value);
            self.add(value);
        });
        self.n += other.n - n_few;
        self.sum += other.sum - sum_few;
        self.bins.iter_mut().zip(other.bins).for_each(|(bin, other)| bin.absorb(other));
    }

    pub fn len(&self) -> u64 {
        self.n_zeros + self.n
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Exact mean.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.len() as f64)
    }

    /// The numbers at these 0-based ranks; ranks past the end give 0.
    pub fn at_places(&self, places: &[u64]) -> Vec<u64> {
        let bins = if self.bins.is_empty() { std::slice::from_ref(&self.few) } else { &self.bins };
        let mut values = vec![0; places.len()];
        let mut n_before = self.n_zeros;
        for bin in bins {
            let inside = |place: &u64| place.checked_sub(n_before).filter(|place| *place < bin.n);
            let wanted: Vec<u64> = places.iter().filter_map(inside).collect();
            let mut found = bin.at_places(&wanted).into_iter();
            for (value, _) in values.iter_mut().zip(places).filter(|(_, place)| inside(place).is_some()) {
                *value = found.next().unwrap_or(0);
            }
            n_before += bin.n;
        }
        values
    }

    /// Quantiles with linear interpolation; `None` without numbers.
    pub fn quantiles<const N: usize>(&self, qs: [f64; N]) -> Option<[f64; N]> {
        if self.is_empty() {
            return None;
        }
        let places = qs.map(|q| quantile_place(self.len(), q));
        let wanted: Vec<u64> = places.iter().flat_map(|(before, after, _)| [*before, *after]).collect();
        let values = self.at_places(&wanted);
        let mut out = [0.0; N];
        for (i, (out, (.., t))) in out.iter_mut().zip(places).enumerate() {
            let (a, b) = (values[2 * i], values[2 * i + 1]);
            *out = between(a as f64, b as f64, (b - a) as f64, t);
        }
        Some(out)
    }

    /// Median.
    pub fn median(&self) -> Option<f64> {
        let n = self.len();
        let values = self.at_places(&[n.saturating_sub(1) / 2, n / 2]);
        (n > 0)
            .then(|| if n % 2 == 1 { values[1] as f64 } else { (values[0] as f64 + values[1] as f64) / 2.0 })
    }
}

/// Sorts and deduplicates.
fn distinct(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut all: Vec<u64> = values.collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_give_the_same() {
        let mut spread = Spread::default();
        let mut all = Vec::new();
        let mut state = 88_172_645_463_325_252u64;
        for i in 0..2 * MIN_BINNED + 5000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let value = if i % 3 == 0 { state } else { state % 1000 };
            let value = if i % 50 == 0 { 0 } else { value };
            spread.add(value);
            all.push(value);
        }
        all.sort_unstable();
        let places = [0, 1, 1000, all.len() / 20, all.len() / 2, all.len() - 2, all.len() - 1];
        let found = spread.at_places(&places.map(|place| place as u64));
        assert_eq!(found, places.map(|place| all[place]));
        let mut parts = [Spread::default(), Spread::default(), Spread::default()];
        (0..).zip(&all).for_each(|(i, value)| parts[i % 7 % 3].add(*value));
        let joined = parts.into_iter().fold(Spread::default(), |mut joined, part| {
            joined.absorb(part);
            joined
        });
        assert_eq!((joined.len(), joined.mean()), (spread.len(), spread.mean()));
        assert_eq!(joined.at_places(&places.map(|place| place as u64)), found);
        assert_eq!(spread.median(), Some((all[all.len() / 2 - 1] as f64 + all[all.len() / 2] as f64) / 2.0));
        assert_eq!(Spread::default().quantiles([0.5]), None);
        assert_eq!(Spread::default().median(), None);
    }
}

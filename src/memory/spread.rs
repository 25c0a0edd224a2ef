//! Many numbers of which exact quantiles are wanted, in little memory.
//!
//! Numbers are sorted a block at a time and packed as differences, mostly a byte or two each; of zeros only the number is kept. The k-th smallest of
//! few is found by sorting them all; of many by counting them by their leading 16 bits, then, of those with the right
//! ones, by the next 16, until they are few, so that two to five passes over the packed numbers find it, and others besides.

use super::numbers::{between, quantile_place};
use crate::base::tight;

/// As many as this are unpacked and sorted at once.
const FEW: u64 = 1 << 18;
/// Numbers of a block: there may be as many open blocks as there are pages.
const BLOCK: usize = 256;

/// Numbers in no order.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    n_zeros: u64,
    open: Vec<u64>,
    packed: Vec<u8>,
    n_blocks: usize,
    sum: u128,
    max: u64,
}

impl Spread {
    pub fn add(&mut self, value: u64) {
        if value == 0 {
            self.n_zeros += 1;
            return;
        }
        self.sum += u128::from(value);
        self.max = self.max.max(value);
        self.open.push(value);
        if self.open.len() == BLOCK {
            self.open.sort_unstable();
            let mut values = [0; BLOCK];
            for (value, open) in values.iter_mut().zip(self.open.drain(..)) {
                *value = open as i64;
            }
            tight::write_block(&values, &mut self.packed);
            self.n_blocks += 1;
        }
    }

    /// Adds all numbers of another.
    pub fn absorb(&mut self, other: Spread) {
        if self.n_blocks == 0 && self.open.is_empty() {
            let n_zeros = self.n_zeros;
            *self = other;
            self.n_zeros += n_zeros;
            return;
        }
        self.n_zeros += other.n_zeros;
        self.packed.extend_from_slice(&other.packed);
        self.n_blocks += other.n_blocks;
        let n_open = other.open.iter().map(|value| u128::from(*value)).sum::<u128>();
        self.sum += other.sum - n_open;
        self.max = self.max.max(other.max);
        other.open.into_iter().for_each(|value| self.add(value));
    }

    pub fn len(&self) -> u64 {
        self.n_zeros + (self.n_blocks * BLOCK + self.open.len()) as u64
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sum by number; exact.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.len() as f64)
    }

    /// All that are not 0, in no order.
    fn for_each(&self, mut each: impl FnMut(u64)) {
        let mut rest = self.packed.as_slice();
        let mut values = [0; BLOCK];
        while let Some(after) = tight::read_block(rest, &mut values) {
            values.iter().for_each(|value| each(*value as u64));
            rest = after;
        }
        self.open.iter().for_each(|value| each(*value));
    }

    /// The numbers at these places of the ascending order, each counted from 0; places past the end read as 0.
    pub fn at_places(&self, places: &[u64]) -> Vec<u64> {
        let others: Vec<u64> = places.iter().filter_map(|place| place.checked_sub(self.n_zeros)).collect();
        let mut others = self.among_others(&others).into_iter();
        let value = |place: &u64| if *place < self.n_zeros { 0 } else { others.next().unwrap_or(0) };
        places.iter().map(value).collect()
    }

    /// Those that are not 0, at these places among themselves.
    fn among_others(&self, places: &[u64]) -> Vec<u64> {
        if self.len() - self.n_zeros > FEW {
            return self.find(places);
        }
        if places.is_empty() {
            return Vec::new();
        }
        let mut all = Vec::with_capacity((self.len() - self.n_zeros) as usize);
        self.for_each(|value| all.push(value));
        all.sort_unstable();
        places.iter().map(|place| all.get(*place as usize).copied().unwrap_or(0)).collect()
    }

    /// The same of many.
    fn find(&self, places: &[u64]) -> Vec<u64> {
        // What is known of each: its leading bits, and its place among those that have the same.
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

    /// The numbers of which all but the last `shift` bits are known, and their places among those that have the same; these are few.
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

    /// Quantiles, linear between neighbours; nothing of nothing.
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

    /// The middle one, or the mean of the two in the middle.
    pub fn median(&self) -> Option<f64> {
        let n = self.len();
        let values = self.at_places(&[n.saturating_sub(1) / 2, n / 2]);
        (n > 0)
            .then(|| if n % 2 == 1 { values[1] as f64 } else { (values[0] as f64 + values[1] as f64) / 2.0 })
    }
}

/// Each of them once, ascending.
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
        for i in 0..FEW + 5000 {
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

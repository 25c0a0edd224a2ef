//! Many numbers of which exact quantiles are wanted, in little memory.
//!
//! Numbers are sorted a block at a time and packed as differences, mostly a byte or two each. The k-th smallest of
//! few is found by sorting them all; of many by counting them by their leading 16 bits, then, of those with the right
//! ones, by the next 16, so that four passes over the packed numbers find it.

use super::numbers::{between, quantile_place};
use crate::base::column;

/// As many as this are unpacked and sorted at once.
const FEW: u64 = 1 << 18;

/// Numbers in no order.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    open: Vec<u64>,
    packed: Vec<u8>,
    n_blocks: usize,
    sum: u128,
}

impl Spread {
    pub fn add(&mut self, value: u64) {
        self.sum += u128::from(value);
        self.open.push(value);
        if self.open.len() == column::BLOCK {
            self.open.sort_unstable();
            let mut values = [0; column::BLOCK];
            for (value, open) in values.iter_mut().zip(self.open.drain(..)) {
                *value = open as i64;
            }
            column::write_block(&mut values, &mut self.packed);
            self.n_blocks += 1;
        }
    }

    pub fn len(&self) -> u64 {
        (self.n_blocks * column::BLOCK + self.open.len()) as u64
    }

    pub fn is_empty(&self) -> bool {
        self.n_blocks == 0 && self.open.is_empty()
    }

    /// Sum by number; exact.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.len() as f64)
    }

    /// All of them, in no order.
    pub fn for_each(&self, mut each: impl FnMut(u64)) {
        let mut rest = self.packed.as_slice();
        let mut values = [0; column::BLOCK];
        while let Some(after) = column::read_block(rest, &mut values) {
            values.iter().for_each(|value| each(*value as u64));
            rest = after;
        }
        self.open.iter().for_each(|value| each(*value));
    }

    /// The numbers at these places of the ascending order, each counted from 0; places past the end read as 0.
    pub fn at_places(&self, places: &[u64]) -> Vec<u64> {
        if self.len() <= FEW {
            let mut all = Vec::with_capacity(self.len() as usize);
            self.for_each(|value| all.push(value));
            all.sort_unstable();
            return places.iter().map(|place| all.get(*place as usize).copied().unwrap_or(0)).collect();
        }
        places.iter().map(|place| self.find(*place)).collect()
    }

    /// One of many.
    fn find(&self, mut place: u64) -> u64 {
        let mut prefix = 0u64;
        for shift in [48u32, 32, 16, 0] {
            let mut counts = vec![0u64; 1 << 16];
            self.for_each(|value| {
                if shift == 48 || value >> (shift + 16) == prefix {
                    counts[(value >> shift & 0xffff) as usize] += 1;
                }
            });
            let mut low = 0u64;
            for count in counts {
                if place < count {
                    break;
                }
                place -= count;
                low += 1;
            }
            prefix = prefix << 16 | low.min(0xffff);
        }
        prefix
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
            spread.add(value);
            all.push(value);
        }
        all.sort_unstable();
        for place in [0, 1, 1000, all.len() / 2, all.len() - 2, all.len() - 1] {
            assert_eq!(spread.find(place as u64), all[place]);
        }
        assert_eq!(spread.median(), Some((all[all.len() / 2 - 1] as f64 + all[all.len() / 2] as f64) / 2.0));
        assert_eq!(Spread::default().quantiles([0.5]), None);
        assert_eq!(Spread::default().median(), None);
    }
}

//! Sums and quantiles with the operation order of numpy and pandas, so that results agree to the last digit.

/// Leaf size limit of a pairwise sum.
const LEAF: u64 = 128;

/// Streaming sum of a known number of values by numpy's pairwise scheme: up to 128 values in eight
/// lanes, more by halving. Memory is proportional to the depth of the halving.
#[derive(Clone, Debug)]
pub struct PairwiseSum {
    /// Unfinished halves, outermost first.
    pending: Vec<Half>,
    leaf: Leaf,
    total: f64,
}

#[derive(Clone, Copy, Debug)]
enum Half {
    /// The first half is being summed; the number of values in the second.
    First(u64),
    /// The sum of the first half; the second is being summed.
    Second(f64),
}

#[derive(Clone, Copy, Debug)]
struct Leaf {
    n: u64,
    seen: u64,
    lanes: [f64; 8],
    sum: f64,
}

impl Leaf {
    fn new(n: u64) -> Leaf {
        Leaf { n, seen: 0, lanes: [0.0; 8], sum: 0.0 }
    }

    fn add(&mut self, value: f64) {
        let in_lanes = if self.n < 8 { 0 } else { self.n - self.n % 8 };
        if self.seen < in_lanes {
            let lane = &mut self.lanes[(self.seen % 8) as usize];
            *lane = if self.seen < 8 { value } else { *lane + value };
        } else {
            self.sum += value;
        }
        self.seen += 1;
        if self.seen == in_lanes {
            let [a, b, c, d, e, f, g, h] = self.lanes;
            self.sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
        }
    }
}

impl PairwiseSum {
    /// Creates a sum of `n` values.
    pub fn new(n: u64) -> PairwiseSum {
        let mut sum = PairwiseSum { pending: Vec::new(), leaf: Leaf::new(0), total: 0.0 };
        sum.descend(n);
        sum
    }

    /// Starts over with `n` values.
    fn restart(&mut self, n: u64) {
        self.pending.clear();
        self.total = 0.0;
        self.descend(n);
    }

    fn descend(&mut self, mut n: u64) {
        while n > LEAF {
            let first = n / 2 - n / 2 % 8;
            self.pending.push(Half::First(n - first));
            n = first;
        }
        self.leaf = Leaf::new(n);
    }

    /// Adds the next value; values beyond the announced number are added at the end.
    pub fn add(&mut self, value: f64) {
        if self.leaf.seen >= self.leaf.n {
            self.total += value;
            return;
        }
        self.leaf.add(value);
        if self.leaf.seen < self.leaf.n {
            return;
        }
        let mut sum = self.leaf.sum;
        while let Some(half) = self.pending.pop() {
            match half {
                Half::First(n) => {
                    self.pending.push(Half::Second(sum));
                    self.descend(n);
                    return;
                }
                Half::Second(first) => sum += first,
            }
        }
        self.total = sum;
    }

    /// The sum, after the last value.
    pub fn total(&self) -> f64 {
        self.total
    }
}

/// Buffer size with which numpy converts integers to floats for a sum.
const BUFFER: u64 = 8192;

/// Streaming sum of a known number of integers, as in numpy's mean of an integer array: each buffer of
/// floats is summed pairwise, and these sums are added sequentially.
#[derive(Clone, Debug)]
pub struct IntegerSum {
    total: f64,
    buffer: PairwiseSum,
    /// Remaining values in the buffer and after it.
    n_in_buffer: u64,
    n_behind: u64,
}

impl IntegerSum {
    /// Creates a sum of `n` values.
    pub fn new(n: u64) -> IntegerSum {
        let n_in_buffer = n.min(BUFFER);
        let buffer = PairwiseSum::new(n_in_buffer);
        IntegerSum { total: 0.0, buffer, n_in_buffer, n_behind: n - n_in_buffer }
    }

    /// Adds the next value; values beyond the announced number are added at the end.
    pub fn add(&mut self, value: f64) {
        if self.n_in_buffer == 0 {
            self.total += value;
            return;
        }
        self.buffer.add(value);
        self.n_in_buffer -= 1;
        if self.n_in_buffer == 0 {
            self.total += self.buffer.total();
            self.n_in_buffer = self.n_behind.min(BUFFER);
            self.n_behind -= self.n_in_buffer;
            self.buffer.restart(self.n_in_buffer);
        }
    }

    /// The sum, after the last value.
    pub fn total(&self) -> f64 {
        self.total
    }
}

/// Mean by a pairwise sum; `None` for an empty list.
pub fn mean(values: &[f64]) -> Option<f64> {
    let mut sum = PairwiseSum::new(values.len() as u64);
    values.iter().for_each(|value| sum.add(*value));
    (!values.is_empty()).then(|| sum.total() / values.len() as f64)
}

/// Streaming mean by Kahan summation, as in pandas' group means.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupMean {
    sum: f64,
    compensation: f64,
    n: u64,
}

impl GroupMean {
    pub fn add(&mut self, value: f64) {
        let y = value - self.compensation;
        let t = self.sum + y;
        self.compensation = t - self.sum - y;
        if self.compensation.is_nan() {
            self.compensation = 0.0;
        }
        self.sum = t;
        self.n += 1;
    }

    /// The mean; `None` without values.
    pub fn mean(self) -> Option<f64> {
        (self.n > 0).then(|| self.sum / self.n as f64)
    }
}

/// Position of a quantile of `n` sorted values: the index before it, the one after it, and the fraction between them.
/// `q` is from 0 to 1.
pub fn quantile_place(n: u64, q: f64) -> (u64, u64, f64) {
    let last = n.saturating_sub(1);
    let h = last as f64 * q;
    let before = (h.floor() as u64).min(last);
    (before, (before + 1).min(last), h - before as f64)
}

/// Interpolates between `a` and `b`, which differ by `difference`, at `t` from 0 to 1.
pub fn between(a: f64, b: f64, difference: f64, t: f64) -> f64 {
    if t < 0.5 { a + difference * t } else { b - difference * (1.0 - t) }
}

/// Quantile of ascending values with linear interpolation; `None` for an empty list.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let (before, after, t) = quantile_place(sorted.len() as u64, q);
    let (a, b) = (*sorted.get(before as usize)?, *sorted.get(after as usize)?);
    Some(between(a, b, b - a, t))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Textbook recursion.
    fn pairwise(values: &[f64]) -> f64 {
        let n = values.len();
        if n < 8 {
            return values.iter().fold(0.0, |sum, value| sum + value);
        }
        if n <= 128 {
            let mut r: Vec<f64> = values[..8].to_vec();
            for (i, value) in values.iter().enumerate().take(n - n % 8).skip(8) {
                r[i % 8] += value;
            }
            let sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
            return values[n - n % 8..].iter().fold(sum, |sum, value| sum + value);
        }
        let half = n / 2 - n / 2 % 8;
        pairwise(&values[..half]) + pairwise(&values[half..])
    }

    #[test]
    fn sums_one_by_one_are_those_of_the_recursion() {
        let values: Vec<f64> = (0..5000u32).map(|i| f64::from(i.wrapping_mul(2_654_435_761)) / 7.3).collect();
        for n in (0..300).chain([1000, 1023, 4097, 5000]) {
            let mut sum = PairwiseSum::new(n as u64);
            values[..n].iter().for_each(|value| sum.add(*value));
            assert_eq!(sum.total().to_bits(), pairwise(&values[..n]).to_bits(), "{n}");
        }
    }

    #[test]
    fn sums_of_integers_are_those_of_buffers() {
        // Large enough that the order of additions affects the result.
        let integer = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 4;
        let values: Vec<f64> = (0..40_000).map(|i| integer(i) as f64).collect();
        let of_buffers = |values: &[f64]| values.chunks(8192).fold(0.0, |sum, part| sum + pairwise(part));
        for n in [0, 1, 7, 8, 129, 8191, 8192, 8193, 16_383, 16_384, 16_391, 25_000, 40_000] {
            let mut sum = IntegerSum::new(n as u64);
            values[..n].iter().for_each(|value| sum.add(*value));
            assert_eq!(sum.total().to_bits(), of_buffers(&values[..n]).to_bits(), "{n}");
        }
        let differs = |n: usize| of_buffers(&values[..n]).to_bits() != pairwise(&values[..n]).to_bits();
        assert!((8193..40_000).step_by(97).any(differs));
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0], 0.99), Some(3.0));
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), Some(3.0));
    }
}

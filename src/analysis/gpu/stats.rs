//! Sums and quantiles of durations, in whole nanoseconds.

/// Saturating sums, since durations in a damaged file may overflow.
pub trait SumNs: Iterator<Item = i64> + Sized {
    /// Exact below 292 years.
    fn sum_ns(self) -> i64 {
        self.fold(0, i64::saturating_add)
    }
}

impl<I: Iterator<Item = i64>> SumNs for I {}

/// Sorted durations with their total.
#[derive(Clone, Default, Debug)]
pub struct Durations {
    sorted: Vec<i64>,
    total: i64,
}

impl Durations {
    /// Takes durations in any order.
    pub fn new(mut durations: Vec<i64>) -> Durations {
        durations.sort_unstable();
        let total = durations.iter().copied().sum_ns();
        Durations { sorted: durations, total }
    }

    pub fn count(&self) -> u64 {
        self.sorted.len() as u64
    }

    /// Sum in nanoseconds.
    pub fn total(&self) -> i64 {
        self.total
    }

    /// Mean, rounded to the nearest nanosecond (half away from zero). `None` if empty.
    pub fn mean(&self) -> Option<i64> {
        let n = i64::try_from(self.sorted.len()).ok().filter(|n| *n > 0)?;
        Some((self.total.saturating_add(self.total.signum() * (n / 2))) / n)
    }

    /// Nearest-rank quantile: the smallest duration that at least `q` (0 to 1) of all do not exceed. Always one of the durations.
    /// `None` if empty.
    pub fn quantile(&self, q: f64) -> Option<i64> {
        let n = self.sorted.len();
        let rank = (q * n as f64).ceil() as usize;
        self.sorted.get(rank.clamp(1, n.max(1)) - 1).copied()
    }

    pub fn min(&self) -> Option<i64> {
        self.sorted.first().copied()
    }

    pub fn max(&self) -> Option<i64> {
        self.sorted.last().copied()
    }
}

/// Sample standard deviation (as in pandas), to the nearest nanosecond. `None` with fewer than two.
pub fn deviation(durations: &Durations) -> Option<i64> {
    let n = durations.sorted.len();
    if n < 2 {
        return None;
    }
    let mean = durations.sorted.iter().map(|dur| *dur as f64).sum::<f64>() / n as f64;
    let squares: f64 = durations.sorted.iter().map(|dur| (*dur as f64 - mean).powi(2)).sum();
    Some((squares / (n - 1) as f64).sqrt().round() as i64)
}

/// `part / whole`; `None` if `whole` is not positive.
pub fn share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A share from 0 to 1 as percent with one decimal, for sentences.
pub fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_members() {
        let of = |values: &[i64]| Durations::new(values.to_vec());
        let ten = of(&[10, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!((ten.quantile(0.5), ten.quantile(0.99), ten.quantile(0.0)), (Some(5), Some(10), Some(1)));
        assert_eq!((ten.mean(), ten.total(), ten.min(), ten.max()), (Some(6), 55, Some(1), Some(10)));
        assert_eq!(
            (of(&[]).mean(), of(&[]).quantile(0.5), of(&[i64::MAX, i64::MAX]).total()),
            (None, None, i64::MAX)
        );
    }
}

//! How long data is kept: from its write to its last read, without what is never read after being written.

use super::kv::KvBlocks;
use super::metrics::RegionMetrics;

/// How long the blocks or regions of one kind are kept. Those never read after being written are counted apart: as 0 ns they
/// would decide the median of a distribution with two peaks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Kept {
    /// Blocks or regions with a write in the trace, or regions whose first access stands for it.
    pub n: usize,
    /// Those never read after being written.
    pub n_never_read: usize,
    /// Nanoseconds from the write to the last read of the others, ascending.
    ns: Vec<i64>,
}

impl Kept {
    /// Blocks of the key/value cache; those without a store in the trace are left out.
    pub fn of_blocks(blocks: &KvBlocks) -> Kept {
        let written = blocks.lives().filter(|life| life.write_ns.is_some());
        Kept::of(written.map(|life| life.lifetime_ns()))
    }

    /// Regions.
    pub fn of_regions<'a>(regions: impl Iterator<Item = &'a RegionMetrics>) -> Kept {
        Kept::of(regions.map(RegionMetrics::kept_ns))
    }

    fn of(all: impl Iterator<Item = Option<i64>>) -> Kept {
        let mut kept = Kept::default();
        for one in all {
            kept.n += 1;
            match one {
                Some(ns) => kept.ns.push(ns),
                None => kept.n_never_read += 1,
            }
        }
        kept.ns.sort_unstable();
        kept
    }

    /// Number read after being written.
    pub fn n_read(&self) -> usize {
        self.ns.len()
    }

    /// Fraction never read after being written; `None` without any.
    pub fn never_read(&self) -> Option<f64> {
        (self.n > 0).then(|| self.n_never_read as f64 / self.n as f64)
    }

    /// Nearest-rank quantile of those read after being written; nanoseconds.
    pub fn quantile(&self, q: f64) -> Option<i64> {
        let rank = (q * self.ns.len() as f64).ceil() as usize;
        self.ns.get(rank.saturating_sub(1)).copied()
    }

    /// Nanoseconds of those read after being written, ascending.
    pub fn ns(&self) -> &[i64] {
        &self.ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_never_read_does_not_decide_the_median() {
        let all = [None, Some(30), None, Some(10), None, Some(20), Some(40)];
        let kept = Kept::of(all.into_iter());
        assert_eq!((kept.n, kept.n_never_read, kept.n_read()), (7, 3, 4));
        assert_eq!(kept.never_read(), Some(3.0 / 7.0));
        assert_eq!([0.5, 0.9, 0.99].map(|q| kept.quantile(q)), [Some(20), Some(40), Some(40)]);
        assert_eq!((Kept::default().quantile(0.5), Kept::default().never_read()), (None, None));
    }
}

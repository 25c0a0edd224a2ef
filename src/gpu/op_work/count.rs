//! Checked sums and products.

/// The product; `None` above 64 bits.
pub(super) fn times(factors: &[u64]) -> Option<u64> {
    if factors.contains(&0) {
        return Some(0);
    }
    factors.iter().try_fold(1, |product: u64, factor| product.checked_mul(*factor))
}

/// The sum; `None` above 64 bits or if a term is `None`.
pub(super) fn plus(terms: &[Option<u64>]) -> Option<u64> {
    terms.iter().try_fold(0, |sum: u64, term| sum.checked_add((*term)?))
}

/// Elements of a tensor with these dimensions: one if there are none. `None` for negative dimensions and above 64 bits.
pub(super) fn elements(dims: &[i64]) -> Option<u64> {
    let dims: Option<Vec<u64>> = dims.iter().map(|dim| u64::try_from(*dim).ok()).collect();
    times(&dims?)
}

/// A dimension, if not negative.
pub(super) fn dim(dims: &[i64], at: usize) -> Option<u64> {
    u64::try_from(*dims.get(at)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_none() {
        assert_eq!(times(&[1 << 40, 1 << 40]), None);
        assert_eq!(times(&[1 << 40, 1 << 40, 0]), Some(0));
        assert_eq!(times(&[]), Some(1));
        assert_eq!(plus(&[Some(u64::MAX), Some(1)]), None);
        assert_eq!(plus(&[Some(1), None]), None);
        assert_eq!(elements(&[2, -1]), None);
        assert_eq!(elements(&[]), Some(1));
        assert_eq!(dim(&[-5], 0), None);
    }
}

//! Time spans: unions, and the coverage of a window by several unions.

use super::stats::SumNs;

/// Half-open range of nanoseconds.
pub type Span = (i64, i64);

/// Union of `spans`, which are in order of start, as disjoint spans in order.
pub fn union(spans: impl Iterator<Item = Span>) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    spans.for_each(|span| add(&mut out, span));
    out
}

/// Adds a span; spans must be added in order of start.
pub fn add(union: &mut Vec<Span>, (start, end): Span) {
    match union.last_mut() {
        Some(last) if start <= last.1 => last.1 = last.1.max(end),
        _ => union.push((start, end)),
    }
}

/// Total time of disjoint spans, in nanoseconds.
pub fn total(spans: &[Span]) -> i64 {
    spans.iter().map(|(start, end)| end.saturating_sub(*start)).sum_ns()
}

/// Cuts `window` wherever a span of one of the `layers` starts or ends, and calls `each` with every piece in order and a bit mask
/// of the layers that cover it (bit 0 for the first). The pieces cover the window exactly once.
pub fn pieces<const N: usize>(layers: [&[Span]; N], window: Span, mut each: impl FnMut(Span, u32)) {
    let mut next: [usize; N] = layers.map(|layer| layer.partition_point(|span| span.1 <= window.0));
    let mut at = window.0;
    while at < window.1 {
        let mut mask = 0;
        let mut until = window.1;
        for (bit, layer) in layers.iter().enumerate() {
            while layer.get(next[bit]).is_some_and(|span| span.1 <= at) {
                next[bit] += 1;
            }
            match layer.get(next[bit]) {
                Some((start, end)) if *start <= at => {
                    mask |= 1 << bit;
                    until = until.min(*end);
                }
                Some((start, _)) => until = until.min(*start),
                None => {}
            }
        }
        each((at, until), mask);
        at = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unions_and_pieces() {
        let a = union([(0, 5), (2, 4), (5, 7), (9, 9), (10, 12)].into_iter());
        assert_eq!(a, [(0, 7), (9, 9), (10, 12)]);
        assert_eq!(total(&a), 9);
        let b = union([(3, 11)].into_iter());
        let mut got = Vec::new();
        pieces([&a, &b], (-1, 13), |span, mask| got.push((span, mask)));
        let whole: i64 = got.iter().map(|((start, end), _)| end - start).sum();
        assert_eq!(whole, 14);
        let with = |bits: u32| -> i64 {
            got.iter().filter(|(_, mask)| *mask == bits).map(|((start, end), _)| end - start).sum()
        };
        assert_eq!((with(0), with(1), with(2), with(3)), (2, 4, 3, 5));
    }
}

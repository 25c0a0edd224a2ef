//! Stable sorts of lists that are short, or sorted once, compiled once for all types of elements.
//!
//! The standard library's are faster, and compiled anew for each type and each order, with some 8 kB of machine code each: a sixth of
//! the workers' program. They are right where millions of rows are sorted, these for names, kernels, steps, files and labels.

use std::cmp::Ordering;

/// Sorts by `compare`, as [`slice::sort_by`] does.
pub fn by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut order = order(items.len(), &|a, b| compare(&items[a], &items[b]));
    arrange(items, &mut order);
}

/// Sorts by what `key` makes of an element, as [`slice::sort_by_key`] does.
pub fn by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    by(items, |a, b| key(a).cmp(&key(b)));
}

/// Sorts by what `key` makes of an element, once for each, as [`slice::sort_by_cached_key`] does.
pub fn by_cached_key<T, K: Ord>(items: &mut [T], key: impl FnMut(&T) -> K) {
    let keys: Vec<K> = items.iter().map(key).collect();
    let mut order = order(items.len(), &|a, b| keys[a].cmp(&keys[b]));
    arrange(items, &mut order);
}

/// Sorts numbers of rows by `compare`. As fast as the standard library, but for one indirect call per comparison.
pub fn rows(rows: &mut [u32], compare: impl Fn(u32, u32) -> Ordering) {
    rows_by(rows, &compare);
}

fn rows_by(rows: &mut [u32], compare: &dyn Fn(u32, u32) -> Ordering) {
    rows.sort_by(|a, b| compare(*a, *b));
}

/// Puts `items[order[i]]` at `i`. `order` holds each place once.
fn arrange<T>(items: &mut [T], order: &mut [usize]) {
    for start in 0..items.len() {
        // Follows a cycle of elements that take each other's places.
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut order[at], at);
            if from == start {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

/// The places of `n` elements in their order.
fn order(n: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}

#[cfg(test)]
mod tests {
    #[test]
    fn sorts_as_the_standard_library_does() {
        for n in 0_u64..200 {
            let mut items: Vec<(u64, u64)> = (0..n).map(|i| (i * i * 7919 % 31, i)).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|it| std::cmp::Reverse(it.0));
            super::by(&mut items, |a, b| b.0.cmp(&a.0));
            assert_eq!(items, expected);
            expected.sort_by_key(|item| item.0);
            super::by_key(&mut items, |item| item.0);
            assert_eq!(items, expected);
            expected.sort_by_cached_key(|item| item.1 % 7);
            super::by_cached_key(&mut items, |item| item.1 % 7);
            assert_eq!(items, expected);
            let mut rows: Vec<u32> = (0..n as u32).collect();
            super::rows(&mut rows, |a, b| items[b as usize].0.cmp(&items[a as usize].0));
            expected.sort_by_key(|item| std::cmp::Reverse(item.0));
            assert_eq!(rows.iter().map(|row| items[*row as usize]).collect::<Vec<_>>(), expected);
        }
    }
}

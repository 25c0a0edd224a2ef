//! Stable sorts of short lists, compiled once for all types of elements.
//!
//! The standard library's are compiled anew for each type and each order, with some 3 kB of machine code each. That is right
//! where many rows are sorted; the page sorts a few dozen files, labels or notes at a time.

use std::cmp::Ordering;

/// Sorts by `compare`, as [`slice::sort_by`] does.
pub fn by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    sort_numbers(&mut order, &|a, b| compare(&items[a], &items[b]));
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

/// Sorts by what `key` makes of an element, as [`slice::sort_by_key`] does.
pub fn by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    by(items, |a, b| key(a).cmp(&key(b)));
}

fn sort_numbers(numbers: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    numbers.sort_by(|a, b| compare(*a, *b));
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
        }
    }
}

//! Page ranges of known kind: tensors, mappings of model files, key/value buffers.

use super::settings::{self, Problem};
use crate::base::units::counted;
use crate::trace::accesses::PAGE_BITS;
use std::collections::BTreeMap;

/// An address range (end exclusive) and the kind of its content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressRange {
    pub addr_start: u64,
    pub addr_end: u64,
    /// Kind by its name in files.
    pub region_type: String,
}

/// Parses JSON: `[{"addr_start": …, "addr_end": …, "region_type": …}]`; other members are ignored. Addresses are numbers or
/// hexadecimal strings, as printed by collectors and in reports.
pub fn parse(json: &str) -> Result<Vec<AddressRange>, Problem> {
    let mut ranges = Vec::new();
    settings::for_each_object(json, |object| {
        let address = |name: &str| {
            object.address(name)?.ok_or_else(|| Problem::new(format!("a range is missing {name}")))
        };
        ranges.push(AddressRange {
            addr_start: address("addr_start")?,
            addr_end: address("addr_end")?,
            region_type: object
                .text("region_type")?
                .ok_or_else(|| Problem::new("a range is missing region_type"))?,
        });
        Ok(())
    })?;
    Ok(ranges)
}

/// A warning of ranges that end before they start; `None` if there are none.
pub fn inverted_warning(ranges: &[AddressRange]) -> Option<String> {
    let n = ranges.iter().filter(|range| range.addr_end < range.addr_start).count() as u64;
    let (its, label) = if n == 1 { ("its", "labels") } else { ("their", "label") };
    (n > 0).then(|| {
        let ranges = counted(n, "address range ends", "address ranges end");
        format!("{ranges} before {its} start and {label} only the page there, as in mrm-trace. Check addr_start and addr_end.")
    })
}

impl AddressRange {
    /// First and last page; at least one page.
    pub fn pages(&self) -> (u64, u64) {
        let end = self.addr_end.max(self.addr_start.saturating_add(1));
        (self.addr_start >> PAGE_BITS, (end - 1) >> PAGE_BITS)
    }
}

/// Marked pages as disjoint ranges.
#[derive(Clone, Debug)]
pub struct MarkedPages<T> {
    /// Last page and mark, keyed by first page.
    ranges: BTreeMap<u64, (u64, T)>,
    /// Last page of each gapless marked range, keyed by first page: a range marked repeatedly is visited as one.
    marked: BTreeMap<u64, u64>,
}

impl<T> Default for MarkedPages<T> {
    fn default() -> MarkedPages<T> {
        MarkedPages { ranges: BTreeMap::new(), marked: BTreeMap::new() }
    }
}

impl<T: Copy> MarkedPages<T> {
    /// Marks the pages that are not marked yet; returns their number.
    pub fn mark(&mut self, first: u64, last: u64, value: T) -> u64 {
        if first > last {
            return 0;
        }
        // Merge adjacent ranges, the one with the latest start first.
        let touching = self.marked.range(..=last.saturating_add(1)).rev();
        let touching: Vec<(u64, u64)> = touching
            .take_while(|(_, end)| end.saturating_add(1) >= first)
            .map(|(start, end)| (*start, *end))
            .collect();
        let mut whole = (first, last);
        let mut n = 0u64;
        // The gap after the range, up to the next one.
        let mut upto = Some(last);
        for (start, end) in touching {
            self.marked.remove(&start);
            whole = (whole.0.min(start), whole.1.max(end));
            if let Some(upto) = upto
                && let Some(from) = end.checked_add(1)
            {
                n = n.saturating_add(self.fill(from.max(first), upto, value));
            }
            upto = start.checked_sub(1).map(|before| before.min(last));
        }
        n = n.saturating_add(upto.map_or(0, |upto| self.fill(first, upto, value)));
        self.marked.insert(whole.0, whole.1);
        n
    }

    /// Marks pages, none of them marked before; returns their number.
    fn fill(&mut self, first: u64, last: u64, value: T) -> u64 {
        if first > last {
            return 0;
        }
        self.ranges.insert(first, (last, value));
        (last - first).saturating_add(1)
    }

    pub fn get(&self, page: u64) -> Option<T> {
        let (_, (end, value)) = self.ranges.range(..=page).next_back()?;
        (page <= *end).then_some(*value)
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn the_first_mark_counts(marks in prop::collection::vec((0..60u64, 0..20u64, any::<bool>()), 0..40)) {
            let (mut pages, mut plain) = (MarkedPages::default(), HashMap::new());
            for (number, (at, len, is_high)) in marks.into_iter().enumerate() {
                let first = if is_high { u64::MAX - at } else { at };
                let last = first.saturating_add(len);
                let n_before = plain.len();
                (first..=last).for_each(|page| {
                    plain.entry(page).or_insert(number);
                });
                prop_assert_eq!(pages.mark(first, last, number), (plain.len() - n_before) as u64);
            }
            for page in (0..90).chain(u64::MAX - 90..=u64::MAX) {
                prop_assert_eq!(pages.get(page), plain.get(&page).copied());
            }
        }
    }

    #[test]
    fn addresses_are_numbers_or_as_they_are_printed() {
        let range = |start: &str| {
            parse(&format!(r#"[{{"addr_start": {start}, "addr_end": 0, "region_type": "kv_cache"}}]"#))
        };
        for (start, address) in [
            ("4096", 4096),
            (r#""4096""#, 4096),
            (r#""0x1000""#, 4096),
            (r#""0X7F3a40e79300""#, 0x7f3a_40e7_9300),
            (r#""0xffffffffffffffff""#, u64::MAX),
        ] {
            assert_eq!(range(start).map(|ranges| ranges[0].addr_start), Ok(address), "{start}");
        }
        for start in
            [r#""0x""#, r#""0x+1""#, r#""7f3a40e79300""#, r#""0x10000000000000000""#, "-1", "[]", "\"\""]
        {
            let problem = range(start).unwrap_err().to_string();
            assert!(problem.starts_with("addr_start is not an address: "), "{start}: {problem}");
        }
    }

    #[test]
    fn marking_the_same_again_and_again_is_quick() {
        let mut pages = MarkedPages::default();
        for page in (0..200_000).step_by(2) {
            assert_eq!(pages.mark(page, page, 'a'), 1);
        }
        assert_eq!(pages.mark(0, 200_000, 'b'), 100_001);
        for _ in 0..100_000 {
            assert_eq!(pages.mark(0, 200_000, 'c'), 0);
        }
    }

    #[test]
    fn pages_are_marked_once() {
        let mut pages = MarkedPages::default();
        assert_eq!(pages.mark(10, 19, 'a'), 10);
        assert_eq!(pages.mark(15, 24, 'b'), 5);
        assert_eq!(pages.mark(0, 40, 'c'), 26);
        assert_eq!(pages.mark(0, 40, 'd'), 0);
        let at = |page| pages.get(page);
        assert_eq!(
            [at(9), at(10), at(19), at(20), at(25), at(41)].map(|c| c.unwrap_or('-')),
            ['c', 'a', 'a', 'b', 'c', '-']
        );
        assert_eq!(pages.mark(u64::MAX, u64::MAX, 'e'), 1);
        let range = AddressRange { addr_start: 4096, addr_end: 0, region_type: String::new() };
        assert_eq!(range.pages(), (1, 1));
        // The rule of mrm-trace; hardly what was meant.
        let empty = AddressRange { addr_end: 4096, ..range.clone() };
        assert_eq!(inverted_warning(std::slice::from_ref(&empty)), None);
        let warning = inverted_warning(&[range, empty]).unwrap();
        assert!(
            warning.starts_with("1 address range ends before its start and labels only the page"),
            "{warning}"
        );
    }
}

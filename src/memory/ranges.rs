//! Ranges of pages of which the kind is known beforehand: tensors, mappings of model files, key/value buffers.

use super::settings::{self, Problem};
use crate::trace::accesses::PAGE_BITS;
use std::collections::BTreeMap;

/// A range of addresses, its end not in it, and what it holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressRange {
    pub addr_start: u64,
    pub addr_end: u64,
    /// As files write it.
    pub region_type: String,
}

/// From JSON: `[{"addr_start": …, "addr_end": …, "region_type": …}]`; further members count for nothing.
pub fn parse(json: &str) -> Result<Vec<AddressRange>, Problem> {
    let mut ranges = Vec::new();
    settings::for_each_object(json, |object| {
        let address =
            |name: &str| object.unsigned(name)?.ok_or_else(|| Problem::new(format!("a range has no {name}")));
        ranges.push(AddressRange {
            addr_start: address("addr_start")?,
            addr_end: address("addr_end")?,
            region_type: object
                .text("region_type")?
                .ok_or_else(|| Problem::new("a range has no region_type"))?,
        });
        Ok(())
    })?;
    Ok(ranges)
}

impl AddressRange {
    /// First and last page; one at least.
    pub fn pages(&self) -> (u64, u64) {
        let end = self.addr_end.max(self.addr_start.saturating_add(1));
        (self.addr_start >> PAGE_BITS, (end - 1) >> PAGE_BITS)
    }
}

/// Pages that are marked, as ranges that do not overlap.
#[derive(Clone, Debug)]
pub struct MarkedPages<T> {
    /// Last page and mark, by the first page.
    ranges: BTreeMap<u64, (u64, T)>,
}

impl<T> Default for MarkedPages<T> {
    fn default() -> MarkedPages<T> {
        MarkedPages { ranges: BTreeMap::new() }
    }
}

impl<T: Copy> MarkedPages<T> {
    /// Marks those of the pages that are not marked yet; gives their number.
    pub fn mark(&mut self, first: u64, last: u64, value: T) -> u64 {
        // Gaps from the last one on: `upto` is the last page that may be in the next one.
        let mut gaps = Vec::new();
        let mut upto = Some(last).filter(|last| *last >= first);
        for (start, (end, _)) in self.ranges.range(..=last).rev().take_while(|(_, (end, _))| *end >= first) {
            if let Some(upto) = upto
                && *end < upto
            {
                gaps.push((end + 1, upto));
            }
            upto = start.checked_sub(1).filter(|upto| *upto >= first);
            if upto.is_none() {
                break;
            }
        }
        gaps.extend(upto.map(|upto| (first, upto)));
        let n = gaps.iter().map(|(first, last)| (last - first).saturating_add(1)).sum();
        self.ranges.extend(gaps.into_iter().map(|(first, last)| (first, (last, value))));
        n
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
    }
}

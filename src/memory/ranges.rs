//! Ranges of pages of which the kind is known beforehand: tensors, mappings of model files, key/value buffers.

use super::settings::{self, Problem};
use crate::trace::accesses::PAGE_BITS;

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
    /// First and last page, ascending.
    ranges: Vec<(u64, u64, T)>,
}

impl<T> Default for MarkedPages<T> {
    fn default() -> MarkedPages<T> {
        MarkedPages { ranges: Vec::new() }
    }
}

impl<T: Copy> MarkedPages<T> {
    /// Marks those of the pages that are not marked yet; gives their number.
    pub fn mark(&mut self, first: u64, last: u64, value: T) -> u64 {
        let mut gaps = Vec::new();
        let mut at = Some(first);
        for (start, end, _) in self.ranges.iter().filter(|(start, end, _)| *end >= first && *start <= last) {
            if let Some(from) = at
                && from < *start
            {
                gaps.push((from, start - 1, value));
            }
            at = end.checked_add(1);
        }
        if let Some(from) = at.filter(|from| *from <= last) {
            gaps.push((from, last, value));
        }
        let n = gaps.iter().map(|(first, last, _)| (last - first).saturating_add(1)).sum();
        self.ranges.extend(gaps);
        self.ranges.sort_unstable_by_key(|(start, ..)| *start);
        n
    }

    pub fn get(&self, page: u64) -> Option<T> {
        let at = self.ranges.partition_point(|(start, ..)| *start <= page).checked_sub(1)?;
        self.ranges.get(at).filter(|(_, end, _)| page <= *end).map(|(.., value)| *value)
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

//! Rows in columns, as readers of columnar files have them.

use super::model::Optional;
use super::packing::{
    ADDRESSES, BLOCK_ROWS, KINDS, LANES, OPTIONAL, POSITIONS, PRESENT, REGION_IDS, REGION_SHIFT, TIMES,
};
use crate::base::bitpack;
use crate::base::strings::StringId;
use std::sync::Arc;

/// One number per row.
#[derive(Clone, Debug)]
pub enum Numbers {
    /// The same for all rows.
    Same(i64),
    Each(Vec<i64>),
    /// Index of each row into distinct values.
    Codes(Vec<u32>, Vec<i64>),
    /// Like `Codes`, where values are ids of texts.
    Texts(Vec<StringId>, Vec<i64>),
}

impl Numbers {
    /// Number of a row; 0 past the end.
    pub fn get(&self, row: usize) -> i64 {
        match self {
            Numbers::Same(value) => Some(*value),
            Numbers::Each(values) => values.get(row).copied(),
            Numbers::Codes(..) | Numbers::Texts(..) => {
                self.coded().and_then(|(codes, meanings)| meanings.get(*codes.get(row)? as usize).copied())
            }
        }
        .unwrap_or(0)
    }

    /// Indexes and distinct values, if in that form.
    fn coded(&self) -> Option<(&[u32], &[i64])> {
        match self {
            Numbers::Same(_) | Numbers::Each(_) => None,
            Numbers::Codes(codes, meanings) => Some((codes, meanings)),
            Numbers::Texts(codes, meanings) => Some((bytemuck::must_cast_slice(codes), meanings)),
        }
    }

    /// Fills `out` with the numbers from row `start` on. Returns the common number instead if all are equal, else `None`.
    fn fill(&self, start: usize, out: &mut [i64]) -> Option<i64> {
        match self {
            Numbers::Same(value) => return Some(*value),
            Numbers::Each(values) => {
                match values.get(start..).and_then(|values| values.get(..out.len())) {
                    Some(values) => out.copy_from_slice(values),
                    // Cannot happen, since each row has a number.
                    None => out.fill(0),
                }
                return None;
            }
            Numbers::Codes(..) | Numbers::Texts(..) => {}
        }
        let (codes, meanings) = self.coded().unwrap_or_default();
        let codes = codes.get(start..).and_then(|codes| codes.get(..out.len())).unwrap_or_default();
        let first = codes.first().copied().unwrap_or(0);
        let (mut is_same, mut is_row) = (0, 0);
        for (at, code) in codes.iter().enumerate() {
            is_same |= code ^ first;
            is_row |= code ^ first.wrapping_add(at as u32);
        }
        if is_same == 0 {
            return Some(meanings.get(first as usize).copied().unwrap_or(0));
        }
        if is_row == 0
            && let Some(meanings) = meanings.get(first as usize..).and_then(|rest| rest.get(..out.len()))
        {
            // Distinct values in order of appearance.
            out.copy_from_slice(meanings);
            return None;
        }
        for (out, code) in out.iter_mut().zip(codes) {
            *out = meanings.get(*code as usize).copied().unwrap_or(0);
        }
        None
    }
}

/// Index into few distinct values that differ only in their lowest bits.
#[derive(Clone, Debug)]
struct Few {
    /// Common high bits.
    high: i64,
    /// Low bits, by the lowest eight bits of the index.
    low: Box<[u8; 256]>,
}

impl Few {
    fn of(numbers: &Numbers) -> Option<Few> {
        let (_, meanings) = numbers.coded()?;
        let mut low = Box::new([0; 256]);
        let high = meanings.first()? & !i64::from(bitpack::MAX_FEW);
        let above = |value: &i64| u8::try_from(value ^ high).ok().filter(|above| *above <= bitpack::MAX_FEW);
        // Any index may occur here, also one that no row has.
        for (low, value) in low.get_mut(..meanings.len())?.iter_mut().zip(meanings) {
            *low = above(value)?;
        }
        Some(Few { high, low })
    }

    /// Fills `out` with the low bits from row `start` on; `None` if there are not enough rows.
    fn fill(&self, numbers: &Numbers, start: usize, out: &mut [u8]) -> Option<()> {
        let codes = numbers.coded()?.0.get(start..)?.get(..out.len())?;
        out.iter_mut().zip(codes).for_each(|(out, code)| *out = self.low[usize::from(*code as u8)]);
        Some(())
    }
}

/// An optional number per row.
#[derive(Clone, Debug)]
struct Lane {
    numbers: Numbers,
    /// Rows that have a number, the others being 0; `None` if all have.
    valid: Option<Vec<bool>>,
    /// The numbers in compact form, if all rows have one and they allow it.
    few: Option<Few>,
}

impl Lane {
    const ZEROS: Lane = Lane { numbers: Numbers::Same(0), valid: None, few: None };

    fn new(numbers: Numbers, valid: Option<Vec<bool>>) -> Lane {
        let few = if valid.is_none() { Few::of(&numbers) } else { None };
        Lane { numbers, valid, few }
    }

    fn get(&self, row: usize) -> i64 {
        if self.is_valid(row) { self.numbers.get(row) } else { 0 }
    }

    fn is_valid(&self, row: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid.get(row).copied().unwrap_or(false))
    }

    /// See [`Numbers::fill`].
    fn fill(&self, start: usize, out: &mut [i64]) -> Option<i64> {
        let same = self.numbers.fill(start, out);
        let Some(valid) = &self.valid else { return same };
        if let Some(value) = same {
            out.fill(value);
        }
        for (out, is_valid) in out.iter_mut().zip(valid.get(start..).unwrap_or_default()) {
            *out &= -i64::from(*is_valid);
        }
        None
    }
}

/// Rows in columns, for readers that have them so; see [`Access`](super::Access) for the meaning.
#[derive(Clone, Debug)]
pub struct AccessColumns {
    pub(super) n_rows: usize,
    /// The first lane is the operation.
    lanes: [Lane; LANES],
    regions: Lane,
    /// Bits, as in the lane [`PRESENT`], of values present in all rows.
    in_all: i64,
}

impl AccessColumns {
    /// Creates rows of times, addresses and kinds, given as indexes of [`Op`](super::Op) and
    /// [`RegionType`](super::RegionType). Positions, region numbers
    /// and all optional values are 0 or missing until set.
    pub fn new(
        n_rows: usize,
        ts: Numbers,
        addresses: Numbers,
        ops: Numbers,
        regions: Numbers,
    ) -> AccessColumns {
        let mut lanes = [const { Lane::ZEROS }; LANES];
        for (lane, numbers) in [(KINDS, ops), (TIMES, ts), (ADDRESSES, addresses)] {
            lanes[lane] = Lane::new(numbers, None);
        }
        AccessColumns { n_rows, lanes, regions: Lane::new(regions, None), in_all: 0 }
    }

    pub fn set_samples(&mut self, samples: Numbers) {
        self.lanes[POSITIONS] = Lane::new(samples, None);
    }

    /// Sets region numbers; 0 for rows that `valid` excludes.
    pub fn set_region_ids(&mut self, ids: Numbers, valid: Option<Vec<bool>>) {
        self.lanes[REGION_IDS] = Lane::new(ids, valid);
    }

    /// Sets an optional value; `valid` says which rows have it, all if `None`. Texts are given by id.
    pub fn set(&mut self, which: Optional, numbers: Numbers, valid: Option<Vec<bool>>) {
        let bit = which as usize;
        self.in_all |= i64::from(valid.is_none()) << bit;
        self.lanes[OPTIONAL + bit] = Lane::new(numbers, valid);
    }

    /// Returns the number buffers for reuse.
    pub fn into_numbers(self) -> impl Iterator<Item = Numbers> {
        self.lanes.into_iter().chain([self.regions]).map(|lane| lane.numbers)
    }

    /// Optional values that only some rows have.
    fn partly_there(&self) -> impl Iterator<Item = (usize, &[bool])> {
        self.lanes[OPTIONAL..]
            .iter()
            .enumerate()
            .filter_map(|(bit, lane)| Some((bit, lane.valid.as_deref()?)))
    }

    pub(super) fn get(&self, lane: usize, row: usize) -> i64 {
        match lane {
            KINDS => self.lanes[KINDS].get(row) | self.regions.get(row) << REGION_SHIFT,
            PRESENT => self.lanes[OPTIONAL..].iter().enumerate().fold(self.in_all, |there, (bit, lane)| {
                there | i64::from(lane.valid.is_some() && lane.is_valid(row)) << bit
            }),
            _ => self.lanes[lane].get(row),
        }
    }

    /// See [`Numbers::fill`].
    pub(super) fn fill(&self, lane: usize, start: usize, out: &mut [i64]) -> Option<i64> {
        match lane {
            KINDS => {
                let mut regions = [0; BLOCK_ROWS];
                let regions = &mut regions[..out.len().min(BLOCK_ROWS)];
                match (self.lanes[KINDS].fill(start, out), self.regions.fill(start, regions)) {
                    (Some(op), Some(region)) => return Some(op | region << REGION_SHIFT),
                    (None, Some(region)) => out.iter_mut().for_each(|op| *op |= region << REGION_SHIFT),
                    (op, None) => {
                        if let Some(op) = op {
                            out.fill(op);
                        }
                        out.iter_mut().zip(regions).for_each(|(op, region)| *op |= *region << REGION_SHIFT);
                    }
                }
                None
            }
            PRESENT => {
                if self.partly_there().next().is_none() {
                    return Some(self.in_all);
                }
                out.fill(self.in_all);
                for (bit, valid) in self.partly_there() {
                    for (out, is_valid) in out.iter_mut().zip(valid.get(start..).unwrap_or_default()) {
                        *out |= i64::from(*is_valid) << bit;
                    }
                }
                None
            }
            _ => self.lanes[lane].fill(start, out),
        }
    }

    /// Like [`AccessColumns::fill`], as common high bits and the low bits of each row, if the numbers are in that form.
    fn fill_few(&self, lane: usize, start: usize, out: &mut [u8]) -> Option<i64> {
        let of = &self.lanes[lane];
        let few = of.few.as_ref()?;
        few.fill(&of.numbers, start, out)?;
        if lane != KINDS {
            return Some(few.high);
        }
        match (&self.regions.few, &self.regions.numbers) {
            // Operations and regions use separate bits.
            (_, Numbers::Same(region)) => {
                let region =
                    u8::try_from(region << REGION_SHIFT).ok().filter(|region| *region <= bitpack::MAX_FEW)?;
                out.iter_mut().for_each(|op| *op |= region);
                Some(few.high)
            }
            (Some(regions), numbers) => {
                let mut low = [0; BLOCK_ROWS];
                let low = &mut low[..out.len().min(BLOCK_ROWS)];
                regions.fill(numbers, start, low)?;
                out.iter_mut().zip(low).for_each(|(op, region)| *op |= *region << REGION_SHIFT);
                Some(few.high | regions.high << REGION_SHIFT)
            }
            _ => None,
        }
    }

    /// Packs the `n` rows of a block from `start` on.
    pub(super) fn pack(&self, start: usize, n: usize, packed: &mut Vec<u8>) -> Arc<[u8]> {
        packed.clear();
        let n = n.min(BLOCK_ROWS);
        let (mut values, mut low) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
        for lane in 0..LANES {
            if let Some(high) = self.fill_few(lane, start, &mut low[..n]) {
                bitpack::write_few(high, &low[..n], packed);
                continue;
            }
            match self.fill(lane, start, &mut values[..n]) {
                Some(value) => bitpack::write_same(value, packed),
                None => bitpack::write_block(&values[..n], packed),
            }
        }
        packed.as_slice().into()
    }
}

//! Address ranges of a device: its segments, whenever they were reserved, and blocks outside of them.
//!
//! A segment is known from the segments at the end or from the events that reserved or returned it. The ranges of an expandable
//! segment, which grows by parts, are one band. In a picture, the smallest bands are one, end to end.

use super::super::memory_snapshot::usage::Axis;
use super::intervals::Intervals;
use crate::base::sort;
use crate::report::address_map::Reserved;
use crate::trace::memory_snapshot::{Action, MemorySnapshot};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Bands of a picture, at most; further ones are one band.
const N_BANDS: usize = 24;
/// Blocks outside of all segments belong together if their gap is shorter: that of the smallest segments.
const ORPHAN_GAP: i64 = 2 << 20;

/// An address range, while it was reserved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reservation {
    pub low: i64,
    pub high: i64,
    pub start: i64,
    pub end: i64,
}

/// The ranges.
#[derive(Default)]
pub struct Ranges {
    /// In order of addresses.
    pub all: Vec<(i64, i64)>,
    pub reservations: Vec<Reservation>,
}

/// Parts that are reserved now: end and time of reservation by start.
#[derive(Default)]
struct Open {
    parts: BTreeMap<i64, (i64, i64)>,
    /// What was reserved at any time so far.
    known: Intervals,
    closed: Vec<Reservation>,
}

impl Open {
    fn reserve(&mut self, (low, high): (i64, i64), now: i64) {
        if low < high {
            // What is reserved twice was returned in between.
            self.release((low, high), now, now);
            self.parts.insert(low, (high, now));
            self.known.add((low, high), true);
        }
    }

    /// Ends what is reserved in a range. Parts that no event reserved were so from `first` on.
    fn release(&mut self, (low, high): (i64, i64), first: i64, now: i64) {
        let before = self.parts.range(..low).next_back().map(|(start, _)| *start);
        let from = before.unwrap_or(low);
        let met: Vec<(i64, i64, i64)> = self
            .parts
            .range(from..high.max(from))
            .map(|(start, (end, since))| (*start, *end, *since))
            .filter(|(_, end, _)| *end > low)
            .collect();
        for (start, end, since) in met {
            self.parts.remove(&start);
            if start < low {
                self.parts.insert(start, (low, since));
            }
            if end > high {
                self.parts.insert(high, (end, since));
            }
            self.closed.push(Reservation {
                low: start.max(low),
                high: end.min(high),
                start: since,
                end: now,
            });
        }
        for (low, high) in self.known.gaps((low, high)) {
            self.closed.push(Reservation { low, high, start: first, end: now });
        }
        self.known.add((low, high), true);
    }
}

impl Ranges {
    /// Those of a device.
    pub fn of(snapshot: &MemorySnapshot, number: usize, axis: &Axis) -> Ranges {
        let Some(device) = snapshot.devices.get(number) else { return Ranges::default() };
        let events = &device.events;
        let mut ranges = Intervals::default();
        let mut open = Open::default();
        for row in 0..events.len() {
            let (action, address, now) = (events.action[row], events.address[row], axis.at[row]);
            let range = (address, address.saturating_add(events.size[row].max(0)));
            match action {
                Action::SegmentAlloc | Action::SegmentMap => open.reserve(range, now),
                Action::SegmentFree | Action::SegmentUnmap => open.release(range, axis.start(), now),
                _ => continue,
            }
            ranges.add(range, matches!(action, Action::SegmentMap | Action::SegmentUnmap));
        }
        for segment in snapshot.segments_of(number) {
            let high = segment.address.saturating_add_unsigned(segment.total_size);
            let range = (segment.address, high);
            ranges.add(range, segment.is_expandable);
            for (low, high) in open.known.gaps(range) {
                open.parts.insert(low, (high, axis.start()));
            }
            open.known.add(range, true);
        }
        let mut outside = Intervals::default();
        snapshot.for_each_allocation(number, |it| {
            let high = it.address.saturating_add_unsigned(it.size.max(1));
            if ranges.around((it.address, high)).is_none() {
                outside.add((it.address, high), true);
            }
        });
        add_outside(&mut ranges, &outside);
        let left = open.parts.into_iter();
        open.closed.extend(left.map(|(low, (high, start))| Reservation {
            low,
            high,
            start,
            end: axis.end(),
        }));
        open.closed.retain(|it| it.low < it.high && it.start < it.end);
        open.closed.sort_unstable();
        Ranges { all: ranges.iter().collect(), reservations: open.closed }
    }
}

/// Adds the ranges of blocks outside of all segments, those close to each other as one.
fn add_outside(ranges: &mut Intervals, outside: &Intervals) {
    let mut joined: Option<(i64, i64)> = None;
    for (low, high) in outside.iter() {
        joined = Some(match joined {
            Some((start, end))
                if low.saturating_sub(end) < ORPHAN_GAP && ranges.gaps((end, low)) == [(end, low)] =>
            {
                (start, high)
            }
            Some(before) => {
                ranges.add(before, false);
                (low, high)
            }
            None => (low, high),
        });
    }
    joined.into_iter().for_each(|range| ranges.add(range, false));
}

/// Which band an address range is in, and where in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    low: i64,
    high: i64,
    band: u32,
    /// Byte of the band at which it starts.
    at: u64,
}

/// Bands of a picture and their address ranges.
pub struct Bands {
    /// In order of addresses.
    parts: Vec<Part>,
    pub bands: Vec<BandRange>,
    pub reservations: Vec<Reservation>,
}

/// One band.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BandRange {
    /// The lowest address.
    pub low: i64,
    pub bytes: u64,
    /// Address ranges in it.
    pub n: usize,
}

fn size((low, high): (i64, i64)) -> u64 {
    high.abs_diff(low)
}

impl Bands {
    pub fn new(ranges: Ranges) -> Bands {
        let mut by_size: Vec<(i64, i64)> = ranges.all.clone();
        sort::by_key(&mut by_size, |range| (Reverse(size(*range)), range.0));
        let n_own = if by_size.len() > N_BANDS { N_BANDS - 1 } else { by_size.len() };
        let least = by_size.get(n_own.wrapping_sub(1)).map(|range| (Reverse(size(*range)), range.0));
        let mut bands: Vec<BandRange> = Vec::new();
        let mut parts = Vec::new();
        let mut others = BandRange { low: 0, bytes: 0, n: 0 };
        for range in ranges.all {
            let (low, high) = range;
            if Some((Reverse(size(range)), low)) <= least {
                parts.push(Part { low, high, band: bands.len() as u32, at: 0 });
                bands.push(BandRange { low, bytes: size(range), n: 1 });
                continue;
            }
            if others.n == 0 {
                others.low = low;
            }
            parts.push(Part { low, high, band: n_own as u32, at: others.bytes });
            others.bytes = others.bytes.saturating_add(size(range));
            others.n += 1;
        }
        if others.n > 0 {
            bands.push(others);
        }
        Bands { parts, bands, reservations: ranges.reservations }
    }

    /// Band of an address range, and its first and last byte there, as far as one band has it.
    pub fn place(&self, low: i64, high: i64) -> Option<(u32, u64, u64)> {
        let at = self.parts.partition_point(|part| part.low <= low).checked_sub(1)?;
        let part = self.parts.get(at).filter(|part| low < part.high)?;
        let from = part.at.saturating_add(low.abs_diff(part.low));
        Some((part.band, from, from.saturating_add(high.min(part.high).abs_diff(low))))
    }

    /// Reservations of each band.
    pub fn reserved(&self) -> Vec<Vec<Reserved>> {
        let mut reserved = vec![Vec::new(); self.bands.len()];
        for it in &self.reservations {
            let first = self.parts.partition_point(|part| part.high <= it.low);
            for part in self.parts[first..].iter().take_while(|part| part.low < it.high) {
                let at = |address: i64| part.at.saturating_add(address.abs_diff(part.low));
                let (low, high) = (at(it.low.max(part.low)), at(it.high.min(part.high)));
                reserved[part.band as usize].push(Reserved { start: it.start, end: it.end, low, high });
            }
        }
        reserved
    }
}

//! The picture of one device, in one pass over its blocks.

use super::bands::{BandRange, Bands, Ranges};
use super::coverage::{Area, Coverage, Placed, size_of};
use crate::analysis::memory_snapshot::Snapshot;
use crate::analysis::memory_snapshot::allocations::{Palette, span};
use crate::analysis::memory_snapshot::places::{Choice, Place, Places, frame_label};
use crate::analysis::memory_snapshot::segments::{OutOfMemory, all_out_of_memory};
use crate::analysis::memory_snapshot::usage::Axis;
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::units::{Unit, counted, format_bytes, format_integer};
use crate::report::address_map::{AddressMap, Band, MapBlock, MapCell, Moment};
use crate::report::chart::Over;
use crate::trace::memory_snapshot::{Action, Lifetime};
use crate::trace::samples::StackId;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Columns of the grid, and its rows, roughly: each band has one more at most.
const N_COLUMNS: u32 = 128;
const N_ROWS: u32 = 64;
/// Marks of out-of-memory events side by side; closer ones are one.
const N_MARKS: u128 = 40;
/// Blocks with a rectangle of their own. Only blocks that overlap each other in a damaged file could be more.
const N_RECTANGLES: usize = 3_000;
/// Frames of a stack that are kept.
const N_FRAMES: usize = 48;

/// Sums over the blocks of an address range.
pub struct RangeSums {
    /// The lowest address.
    pub low: i64,
    pub bytes: u64,
    pub n_blocks: u64,
    /// Bytes × time: in all, reserved from the driver, and of blocks.
    pub area: u128,
    pub reserved: u128,
    pub used: u128,
    /// Most bytes of blocks at once.
    pub most: u64,
}

/// The picture and the numbers of a device.
pub struct Picture {
    pub device: usize,
    /// What areas are counted in, beside bytes.
    pub over: Over,
    pub n_blocks: u64,
    /// In order of addresses.
    pub ranges: Vec<RangeSums>,
    /// Blocks with a rectangle.
    pub blocks: Vec<Lifetime>,
    chart: Option<AddressMap>,
    n_bands: usize,
}

/// What identifies a block, in order of time.
type Key = (Option<usize>, i64);

impl Picture {
    /// `None` without blocks.
    pub fn new(snapshot: &Snapshot<'_>, number: usize) -> Option<Picture> {
        let axis = Axis::new(snapshot, number);
        let (start, end) = (axis.start(), axis.end().max(axis.start().saturating_add(1)));
        let ranges = Ranges::of(snapshot.snapshot, number, &axis);
        let mut sums = sums_of(snapshot, number, &axis, &ranges);
        let n_blocks: u64 = sums.iter().map(|range| range.n_blocks).sum();
        if n_blocks == 0 {
            return None;
        }
        for range in &mut sums {
            range.area = u128::from(range.bytes) * u128::from(end.abs_diff(start));
        }
        let bands = Bands::new(ranges);
        let rows = rows_of(&bands.bands);
        let n_columns = N_COLUMNS.min(u32::try_from(end.abs_diff(start)).unwrap_or(N_COLUMNS)).max(1);
        let sizes: Vec<(u64, u32)> =
            bands.bands.iter().map(|it| it.bytes).zip(rows.iter().copied()).collect();
        let mut coverage: Coverage<Lifetime> = Coverage::new((start, end), n_columns, &sizes);

        let palette = Palette::new(snapshot, number);
        let mut places = Places::new(snapshot.trace, Choice::Program);
        let area_of = |it: &Lifetime| {
            let high = it.address.saturating_add_unsigned(it.size);
            let (band, low, high) = bands.place(it.address, high)?;
            let (start, end) = span(&axis, it);
            Some(Area { band, low, high, start, end: end.max(start) })
        };
        // Largest rectangles: the smallest one comes first.
        let mut large: BTreeMap<(u128, Reverse<Key>), Lifetime> = BTreeMap::new();
        let mut has_others = false;
        snapshot.snapshot.for_each_allocation(number, |it| {
            let Some(area) = area_of(&it) else { return };
            let tone = palette.number(places.of(it.stack));
            has_others |= palette.is_other(tone);
            if !coverage.is_large(&area) {
                return coverage.add(&area, tone, it);
            }
            large.insert((size_of(&area), Reverse((it.start, it.address))), it);
            if large.len() > N_RECTANGLES
                && let Some((_, it)) = large.pop_first()
                && let Some(area) = area_of(&it)
            {
                coverage.add(&area, palette.number(places.of(it.stack)), it);
            }
        });
        let mut blocks: Vec<Lifetime> = large.into_values().collect();
        sort::by_key(&mut blocks, |it| (it.address, it.start));

        let mut texts = Texts::default();
        let mut to_block = |it: &Lifetime| {
            let area = area_of(it)?;
            let place: &Place = places.of(it.stack);
            Some(MapBlock {
                band: area.band,
                low: area.low,
                address: it.address,
                bytes: it.size,
                start: area.start,
                end: area.end,
                is_open: (it.start.is_none(), it.end.is_none()),
                name: texts.number(place.label()),
                tone: Palette::tone_of(palette.number(place)),
                stack: texts.stack(snapshot, it.stack),
            })
        };
        let drawn = blocks.iter().filter_map(&mut to_block).collect();
        let to_cell = |Placed { band, row, column, cell, area }: Placed<'_, Lifetime>| {
            let largest = to_block(&cell.largest?.1)?;
            let covered = cell.covered.iter().fold(0u128, |sum, it| sum.saturating_add(*it));
            let most = (0..cell.covered.len()).max_by_key(|tone| (cell.covered[*tone], Reverse(*tone)));
            let tone = match most.filter(|_| covered > 0) {
                Some(tone) => Palette::tone_of(tone),
                None => largest.tone,
            };
            // Blocks that overlap are more than all.
            let share = super::share(covered, area).unwrap_or(0.0).min(1.0);
            Some(MapCell { band, row, column, tone, share, n: cell.n, largest })
        };
        let cells = coverage.cells().filter_map(to_cell).collect();
        let reserved = bands.reserved();
        let to_band = |((range, n_rows), reserved): ((&BandRange, u32), _)| Band {
            label: band_label(range),
            bytes: range.bytes,
            n_rows,
            reserved,
        };
        let chart = AddressMap {
            over: axis.over,
            start,
            end,
            n_columns,
            bands: bands.bands.iter().zip(rows).zip(reserved).map(to_band).collect(),
            legend: palette.legend_with(has_others),
            texts: texts.all,
            stacks: texts.stacks,
            blocks: drawn,
            cells,
            moments: moments(snapshot, number, &axis),
        };
        let n_bands = chart.bands.len();
        Some(Picture {
            device: number,
            over: axis.over,
            n_blocks,
            ranges: sums,
            blocks,
            chart: Some(chart),
            n_bands,
        })
    }

    /// The chart; empty if it was taken before.
    pub fn chart(&mut self) -> AddressMap {
        self.chart.take().unwrap_or_else(|| AddressMap {
            over: Over::Time,
            start: 0,
            end: 1,
            n_columns: 1,
            bands: Vec::new(),
            legend: Vec::new(),
            texts: Vec::new(),
            stacks: Vec::new(),
            blocks: Vec::new(),
            cells: Vec::new(),
            moments: Vec::new(),
        })
    }

    pub fn caption(&self) -> String {
        let n_drawn = self.blocks.len() as u64;
        let mut text = format!(
            "{} of {} with a rectangle of their own, from allocation until the allocator has the memory again.",
            n_drawn,
            counted(self.n_blocks, "block", "blocks"),
        );
        if n_drawn < self.n_blocks {
            text.push_str(" Cells show how much of them all other blocks cover.");
        }
        text.push_str(" Gray: reserved, not in use.");
        let n_merged = (self.ranges.len() + 1).saturating_sub(self.n_bands);
        if n_merged > 1 {
            text.push_str(&format!(" The {n_merged} smallest address ranges are one, end to end."));
        }
        text
    }
}

/// Rows of each band, in proportion to its bytes.
fn rows_of(bands: &[BandRange]) -> Vec<u32> {
    let all = bands.iter().fold(0u128, |sum, band| sum + u128::from(band.bytes)).max(1);
    let rows = |band: &BandRange| {
        let rows = (u128::from(band.bytes) * u128::from(N_ROWS)).div_ceil(all) as u32;
        rows.clamp(1, u32::try_from(band.bytes.max(1)).unwrap_or(u32::MAX))
    };
    bands.iter().map(rows).collect()
}

fn band_label(range: &BandRange) -> String {
    let bytes = format_bytes(range.bytes);
    match range.n {
        1 => format!("{} {bytes}", format_integer(i128::from(range.low), Unit::Address)),
        n => format!("{n} others {bytes}"),
    }
}

/// Sums of each address range.
fn sums_of(snapshot: &Snapshot<'_>, number: usize, axis: &Axis, ranges: &Ranges) -> Vec<RangeSums> {
    let none = |(low, high): &(i64, i64)| RangeSums {
        low: *low,
        bytes: high.abs_diff(*low),
        n_blocks: 0,
        area: 0,
        reserved: 0,
        used: 0,
        most: 0,
    };
    let mut sums: Vec<RangeSums> = ranges.all.iter().map(none).collect();
    let at = |address: i64| ranges.all.partition_point(|range| range.0 <= address).checked_sub(1);
    let Some(device) = snapshot.snapshot.devices.get(number) else { return sums };
    let events = &device.events;
    // Bytes in use beyond those before the first event, which are known at the end, and the most of them.
    let mut change = vec![0i64; sums.len()];
    let mut most = vec![0i64; sums.len()];
    let mut before = vec![0i64; sums.len()];
    let mut next = 0;
    let mut allocate_up_to = |end: usize, change: &mut [i64]| {
        for row in next..end.max(next) {
            if events.action[row] == Action::Alloc
                && let Some(at) = at(events.address[row])
            {
                change[at] = change[at].saturating_add(events.size[row].max(0));
                most[at] = most[at].max(change[at]);
            }
        }
        next = end.max(next);
    };
    // Blocks come in order of their ends.
    snapshot.snapshot.for_each_allocation(number, |it| {
        allocate_up_to(it.end.unwrap_or(events.len()), &mut change);
        let Some(at) = at(it.address) else { return };
        let (start, end) = span(axis, &it);
        let own = &mut sums[at];
        own.n_blocks += 1;
        let length = u128::from(end.max(start).abs_diff(start));
        own.used = own.used.saturating_add(u128::from(it.size).saturating_mul(length));
        let bytes = i64::try_from(it.size).unwrap_or(i64::MAX);
        if it.start.is_none() {
            before[at] = before[at].saturating_add(bytes);
        }
        if it.end.is_some() {
            change[at] = change[at].saturating_sub(bytes);
        }
    });
    allocate_up_to(events.len(), &mut change);
    for (own, (most, before)) in sums.iter_mut().zip(most.into_iter().zip(before)) {
        own.most = u64::try_from(most.saturating_add(before)).unwrap_or(0);
    }
    for it in &ranges.reservations {
        if let Some(own) = at(it.low).and_then(|at| sums.get_mut(at)) {
            let bytes = u128::from(it.high.abs_diff(it.low));
            own.reserved = own.reserved.saturating_add(bytes * u128::from(it.end.abs_diff(it.start)));
        }
    }
    sums
}

/// The peak and the out-of-memory events. Those that are close to each other share a mark, where the first of them is.
fn moments(snapshot: &Snapshot<'_>, number: usize, axis: &Axis) -> Vec<Moment> {
    let Some(device) = snapshot.snapshot.devices.get(number) else { return Vec::new() };
    let peak = device.peak.event.map_or(axis.start(), |row| axis.at[row as usize]);
    let mut moments = vec![Moment {
        at: peak,
        name: "peak".to_string(),
        text: format!("Peak: {} active", format_bytes(device.peak.bytes)),
        is_bad: false,
    }];
    let all = all_out_of_memory(snapshot).into_iter().filter(|it| it.device == number);
    let bytes = |bytes: i64| format_bytes(u64::try_from(bytes).unwrap_or(0));
    let length = u128::from(axis.end().abs_diff(axis.start())).max(1);
    let mut of_mark: BTreeMap<u128, Vec<OutOfMemory>> = BTreeMap::new();
    for it in all {
        let after_start = u128::from(axis.at[it.row].abs_diff(axis.start()));
        of_mark.entry(after_start * N_MARKS / length).or_default().push(it);
    }
    moments.extend(of_mark.values().filter_map(|group| {
        let (first, largest) = (group.first()?, group.iter().max_by_key(|it| it.requested)?);
        let one = format!(
            "{} requested, {} free on the device, {} reserved but not active",
            bytes(largest.requested),
            bytes(largest.device_free),
            bytes(largest.unused())
        );
        let (name, text) = match group.len() {
            1 => ("out of memory".to_string(), format!("Out of memory: {one}")),
            n => (format!("{n}× out of memory"), format!("Out of memory {n} times. Largest request: {one}")),
        };
        Some(Moment { at: axis.at[first.row], name, text, is_bad: true })
    }));
    sort::by_key(&mut moments, |moment| moment.at);
    moments
}

/// Names and stacks, each once.
#[derive(Default)]
struct Texts {
    all: Vec<String>,
    number_of: HashMap<String, u32>,
    stacks: Vec<Vec<u32>>,
    stack_of: HashMap<StackId, u32>,
}

impl Texts {
    fn number(&mut self, text: String) -> u32 {
        if let Some(number) = self.number_of.get(&text) {
            return *number;
        }
        self.all.push(text.clone());
        let number = self.all.len() as u32 - 1;
        self.number_of.insert(text, number);
        number
    }

    fn stack(&mut self, snapshot: &Snapshot<'_>, stack: StackId) -> u32 {
        if let Some(number) = self.stack_of.get(&stack) {
            return *number;
        }
        let trace = snapshot.trace;
        let (mut frames, mut at) = (Vec::new(), stack);
        while at != StackId::NONE && frames.len() < N_FRAMES {
            let frame = trace.frames.get(trace.stacks.frame[at.0 as usize]);
            frames.push(self.number(frame_label(trace, frame)));
            at = trace.stacks.parent[at.0 as usize];
        }
        self.stacks.push(frames);
        let number = self.stacks.len() as u32 - 1;
        self.stack_of.insert(stack, number);
        number
    }
}

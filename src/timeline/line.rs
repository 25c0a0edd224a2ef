//! One row in a window of time, reduced to pixels.

use super::boxes::BoxTable;
use super::index::TimelineIndex;
use super::levels::{Level, Levels};
use super::numbers::RowNumbers;
use std::ops::Range;

/// A window of time: `n_pixels` pixels of 2^`bits` nanoseconds each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Window {
    /// Number of the first pixel, counted from the start of the trace.
    pub first_pixel: u64,
    /// A pixel has 2^`bits` nanoseconds; at most 62.
    pub bits: u32,
    pub n_pixels: u32,
}

impl Window {
    /// The window around a stretch of time, from the start of the trace, with pixels that are at most as long as the stretch
    /// divided by `n_pixels`, and `margin` times as much on both sides.
    pub fn around(start_ns: u64, end_ns: u64, n_pixels: u32, margin: f64) -> Window {
        let length = end_ns.saturating_sub(start_ns).max(1);
        let bits = (length / u64::from(n_pixels.max(1))).checked_ilog2().unwrap_or(0).min(62);
        let beside = (length as f64 * margin) as u64;
        let first_pixel = start_ns.saturating_sub(beside) >> bits;
        let last = end_ns.saturating_add(beside) >> bits;
        Window { first_pixel, bits, n_pixels: u32::try_from(last - first_pixel + 1).unwrap_or(u32::MAX) }
    }

    /// Nanoseconds of a pixel.
    pub fn pixel_ns(&self) -> u64 {
        1 << self.bits.min(62)
    }

    /// Start in nanoseconds from the start of the trace.
    pub fn start_ns(&self) -> u64 {
        self.first_pixel.saturating_mul(self.pixel_ns())
    }

    /// End in nanoseconds from the start of the trace.
    pub fn end_ns(&self) -> u64 {
        self.first_pixel.saturating_add(u64::from(self.n_pixels)).saturating_mul(self.pixel_ns())
    }
}

/// What is in one pixel of a row.
#[derive(Clone, Copy, Debug)]
pub struct Pixel {
    /// Number of the longest box that overlaps it, the first of several; [`Pixel::EMPTY`] if there is none.
    pub longest: u32,
    /// Number of boxes that overlap it.
    pub count: u32,
    /// Covered time in nanoseconds.
    pub covered_ns: u64,
    /// Length of the longest box; -1 if there is none. Beside the rest, as each box that is added needs all of a pixel.
    longest_ns: i64,
}

impl PartialEq for Pixel {
    fn eq(&self, other: &Pixel) -> bool {
        (self.longest, self.count, self.covered_ns) == (other.longest, other.count, other.covered_ns)
    }
}

impl Eq for Pixel {}

impl Pixel {
    /// Number of no box.
    pub const EMPTY: u32 = u32::MAX;

    /// A pixel without boxes.
    pub const NONE: Pixel = Pixel { longest: Pixel::EMPTY, count: 0, covered_ns: 0, longest_ns: -1 };
}

/// The pixels of one row in a window.
#[derive(Clone, Default, Debug)]
pub struct RowLine {
    pub pixels: Vec<Pixel>,
}

/// A row to be read: its boxes in order, and its levels.
#[derive(Clone, Copy)]
pub struct RowSource<'a> {
    /// Of its boxes, by start.
    pub numbers: RowNumbers<'a>,
    pub levels: &'a Levels,
    /// Start of the trace, on its clock.
    pub origin: i64,
}

impl RowSource<'_> {
    /// Start of the box at a position, in nanoseconds from the start of the trace.
    #[inline]
    pub fn at(&self, boxes: impl BoxTable, position: usize) -> u64 {
        boxes.start(self.numbers.at(position) as usize).wrapping_sub(self.origin) as u64
    }

    /// Position of the first box that starts at `ns` or later.
    pub fn lower_bound(&self, boxes: impl BoxTable, ns: u64) -> usize {
        let at = |id: u32| boxes.start(id as usize).wrapping_sub(self.origin) as u64;
        self.numbers.partition_point(|id| at(id) < ns)
    }

    /// The last of its boxes with a number below `id`: of those that start earlier, the only one that may reach beyond.
    pub fn last_before(&self, id: usize) -> Option<u32> {
        let before = self.numbers.partition_point(|other| (other as usize) < id).checked_sub(1)?;
        Some(self.numbers.at(before))
    }

    /// Number of the box at `ns`, and of the boxes that overlap the `around_ns` from there on. Of several, the longest.
    pub fn pick(&self, boxes: impl BoxTable, ns: u64, around_ns: u64) -> Option<(u32, u32)> {
        let from = self.lower_bound(boxes, ns);
        let to = self.lower_bound(boxes, ns.saturating_add(around_ns.max(1)));
        // The one before may reach into it; no other can.
        let before = from.checked_sub(1).filter(|before| {
            let length = boxes.length(self.numbers.at(*before) as usize) as u64;
            self.at(boxes, *before).saturating_add(length) > ns
        });
        let range = before.unwrap_or(from)..to;
        let longest = range.clone().rev().max_by_key(|at| boxes.length(self.numbers.at(*at) as usize))?;
        Some((self.numbers.at(longest), range.len() as u32))
    }
}

/// Boxes up to which a window is read box by box, all rows at once, for each row and pixel. In the order of the table this takes
/// a fraction of the time it takes in the order of a row.
const MAX_BOXES_PER_PIXEL: usize = 8;

/// Boxes that are looked up together.
const BATCH: usize = 16;

/// Reads rows in a window, in the order of `rows`. The number of steps depends on the pixels, not on the boxes.
pub fn read_rows<B: BoxTable>(
    index: &TimelineIndex,
    boxes: B,
    rows: &[usize],
    window: &Window,
    lines: &mut Vec<RowLine>,
) {
    let n = first_at(index, boxes, window.end_ns()) - first_at(index, boxes, window.start_ns());
    if n > rows.len() * window.n_pixels as usize * MAX_BOXES_PER_PIXEL {
        read_by_groups(index, boxes, rows, window, lines);
    } else {
        read_all_boxes(index, boxes, rows, window, lines);
    }
}

/// Like [`read_rows`], row by row.
pub fn read_by_groups<B: BoxTable>(
    index: &TimelineIndex,
    boxes: B,
    rows: &[usize],
    window: &Window,
    lines: &mut Vec<RowLine>,
) {
    lines.resize_with(rows.len(), RowLine::default);
    for (row, line) in rows.iter().zip(lines) {
        line.clear(window);
        line.read(&index.row(*row), boxes, window);
    }
}

/// Like [`read_rows`], looking at each box in the window.
pub fn read_all_boxes<B: BoxTable>(
    index: &TimelineIndex,
    boxes: B,
    rows: &[usize],
    window: &Window,
    lines: &mut Vec<RowLine>,
) {
    lines.resize_with(rows.len(), RowLine::default);
    let from = first_at(index, boxes, window.start_ns());
    let to = first_at(index, boxes, window.end_ns());
    for (row, line) in rows.iter().zip(lines.iter_mut()) {
        line.clear(window);
        if let Some(before) = index.row(*row).last_before(from) {
            line.add_box(index.origin, boxes, window, before);
        }
    }
    let lines_of_rows = index.by_place(rows);
    for id in from..to {
        if let Some(line) = lines.get_mut(lines_of_rows.of(boxes, id)) {
            line.add_box(index.origin, boxes, window, id as u32);
        }
    }
}

/// The first box of all that starts at `ns` from the start of the trace, or later.
pub fn first_at(index: &TimelineIndex, boxes: impl BoxTable, ns: u64) -> usize {
    let (mut low, mut high) = (0, boxes.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match (boxes.start(middle).wrapping_sub(index.origin) as u64) < ns {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

impl RowLine {
    fn clear(&mut self, window: &Window) {
        let n = window.n_pixels as usize;
        self.pixels.clear();
        self.pixels.resize(n, Pixel::NONE);
    }

    /// Reads an empty line by groups.
    fn read(&mut self, row: &RowSource<'_>, boxes: impl BoxTable, window: &Window) {
        let (from, to) = (window.start_ns(), window.end_ns());
        let mut position = row.lower_bound(boxes, from);
        if let Some(before) = position.checked_sub(1) {
            self.add_box(row.origin, boxes, window, row.numbers.at(before));
        }
        let none = Level::default();
        let level = row.levels.for_pixels(window.bits).unwrap_or(&none);
        let groups = &level.groups;
        let mut next = groups.partition_point(|group| (group.first as usize) < position);
        while position < row.numbers.len() {
            let alone_to = groups.get(next).map_or(row.numbers.len(), |group| group.first as usize);
            if position < alone_to {
                let batch = position..alone_to.min(position + BATCH);
                position = batch.end;
                if !self.add_batch(row, boxes, window, batch) {
                    break;
                }
                continue;
            }
            // All of its boxes start in one pixel.
            if level.interval(&groups[next]).0 >= to {
                break;
            }
            self.add_group(row, boxes, window, (level, next));
            position = groups[next].end() as usize;
            next += 1;
        }
    }

    /// Adds up to [`BATCH`] boxes. Returns whether all start before the end of the window. Boxes of a row are far from each other
    /// in their table: looked up first, the processor fetches several at a time.
    fn add_batch(
        &mut self,
        row: &RowSource<'_>,
        boxes: impl BoxTable,
        window: &Window,
        positions: Range<usize>,
    ) -> bool {
        let mut found = [(0_u32, 0_u64, 0_i64); BATCH];
        let found = &mut found[..positions.len()];
        for (position, (id, start, length)) in positions.zip(found.iter_mut()) {
            *id = row.numbers.at(position);
            *start = boxes.start(*id as usize).wrapping_sub(row.origin) as u64;
            *length = boxes.length(*id as usize);
        }
        let to = window.end_ns();
        for (id, start, length) in found.iter().copied() {
            if start >= to {
                return false;
            }
            self.cover(window, id, start, start.saturating_add(length as u64), length);
        }
        true
    }

    /// Adds a box to all pixels it overlaps. Returns whether it starts before the end of the window.
    #[inline]
    fn add_box(&mut self, origin: i64, boxes: impl BoxTable, window: &Window, id: u32) -> bool {
        let start = boxes.start(id as usize).wrapping_sub(origin) as u64;
        if start >= window.end_ns() {
            return false;
        }
        let length = boxes.length(id as usize);
        self.cover(window, id, start, start.saturating_add(length as u64), length);
        true
    }

    /// Adds what a box covers; one without a length is in the pixel of its start.
    #[inline]
    fn cover(&mut self, window: &Window, id: u32, start: u64, end: u64, length: i64) {
        let (bits, n) = (window.bits, self.pixels.len() as u64);
        // The last pixel that it is in: the one of its last nanosecond.
        let last = (end.max(start + 1) - 1) >> bits;
        if last < window.first_pixel {
            return;
        }
        let first = start >> bits;
        if first == last {
            // Nearly always, where there are many.
            let at = first.wrapping_sub(window.first_pixel);
            if at < n {
                self.add(at as usize, || id, length, 1, end.saturating_sub(start));
            }
            return;
        }
        let from = first.max(window.first_pixel);
        let to = last.min(window.first_pixel + n - 1);
        for pixel in from..=to {
            let pixel_start = pixel << bits;
            let covered = end.min(pixel_start + (1 << bits)).saturating_sub(start.max(pixel_start));
            self.add((pixel - window.first_pixel) as usize, || id, length, 1, covered);
        }
    }

    #[inline]
    fn add(&mut self, at: usize, id: impl FnOnce() -> u32, length: i64, count: u32, covered: u64) {
        let pixel = &mut self.pixels[at];
        pixel.count = pixel.count.saturating_add(count);
        pixel.covered_ns += covered;
        if length > pixel.longest_ns {
            pixel.longest_ns = length;
            pixel.longest = id();
        }
    }

    /// Adds group number `at` of a level, which starts in one pixel; its last box may reach beyond.
    #[inline]
    fn add_group(
        &mut self,
        row: &RowSource<'_>,
        boxes: impl BoxTable,
        window: &Window,
        (level, at): (&Level, usize),
    ) {
        let group = &level.groups[at];
        let last_id = || row.numbers.at(group.end() as usize - 1);
        let (interval_start, interval_end) = level.interval(group);
        let pixel = interval_start >> window.bits;
        let pixel_end = (pixel << window.bits) + (1 << window.bits);
        let beyond_interval = group.beyond_ns().unwrap_or_else(|| {
            let last_id = last_id() as usize;
            let start = boxes.start(last_id).wrapping_sub(row.origin) as u64;
            start.saturating_add(boxes.length(last_id) as u64).saturating_sub(interval_end)
        });
        let last_end = interval_end.saturating_add(beyond_interval);
        let beyond = last_end.saturating_sub(pixel_end);
        let longest_id = || row.numbers.at(group.longest() as usize);
        let longest_ns = group.longest_ns().unwrap_or_else(|| boxes.length(longest_id() as usize));
        let at_pixel = (pixel - window.first_pixel) as usize;
        let covered = level.inside_ns(at) + beyond_interval.saturating_sub(beyond);
        self.add(at_pixel, longest_id, longest_ns, group.count(), covered);
        if beyond > 0 {
            let last_id = last_id();
            self.cover(window, last_id, pixel_end, last_end, boxes.length(last_id as usize));
        }
    }
}

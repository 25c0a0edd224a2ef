//! Blocks of memory by address and time: a band for each address range, with rectangles and cells.

use super::axes::push_times;
use super::texts::first_words;
use super::{Chosen, DIGIT, Direction, FOOT, HEAD, LABEL, LETTER, RIGHT};
use crate::base::units::{Unit, format_bytes, format_ratio};
use crate::report::address_map::{AddressMap, Band, MapBlock, MapCell, Moment};
use crate::report::chart::{Over, Tone};
use crate::scene::{Anchor, Mark, Scene, axis};

/// Height of a row.
const ROW: f64 = 5.0;
/// Gap between bands.
const APART: f64 = 6.0;
/// Rectangles at least this wide and high are apart from the next ones.
const WIDE: f64 = 3.0;
const GAP: f64 = 0.75;
/// Opacity of reserved memory, and strengths of cells.
const RESERVED: f64 = 0.55;
const N_LEVELS: f64 = 5.0;
/// Radius of the dot of a moment, which a pointer can hit.
const DOT: f64 = 4.0;
/// Rows of labels, at least.
const LABEL_APART: f64 = 15.0;

/// Where things are.
struct Frame<'a> {
    map: &'a AddressMap,
    gutter: f64,
    plot: f64,
    /// Lower edge of each band.
    bases: Vec<f64>,
    top: f64,
    bottom: f64,
    labels: Vec<String>,
}

/// Something that can be chosen: its rectangle.
#[derive(Clone, Copy)]
struct Place {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Place {
    fn middle(&self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    fn contains(&self, (x, y): (f64, f64)) -> bool {
        (self.x..=self.x + self.width).contains(&x) && (self.y..=self.y + self.height).contains(&y)
    }
}

/// What a mark is of.
#[derive(Clone, Copy)]
enum Item<'a> {
    Cell(&'a MapCell),
    Block(&'a MapBlock),
    Moment(&'a Moment),
}

impl<'a> Frame<'a> {
    fn new(map: &'a AddressMap, width: f64) -> Frame<'a> {
        let room = width * 0.4;
        let shown = |band: &Band| first_words(&band.label, ((room - 12.0) / DIGIT) as usize);
        let labels: Vec<String> = map.bands.iter().map(shown).collect();
        let letters = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let gutter = (letters as f64 * DIGIT + 12.0).clamp(0.0, room);
        let top = HEAD + if map.moments.is_empty() { 0.0 } else { LABEL };
        let height = |band: &Band| f64::from(band.n_rows.clamp(1, 1_000)) * ROW;
        let bottom = top + map.bands.iter().map(|band| height(band) + APART).sum::<f64>();
        let mut base = bottom;
        let bases = map
            .bands
            .iter()
            .map(|band| {
                let here = base;
                base -= height(band) + APART;
                here
            })
            .collect();
        Frame { map, gutter, plot: width - gutter - RIGHT, bases, top, bottom, labels }
    }

    fn x_of(&self, at: i64) -> f64 {
        let span = (self.map.end as f64 - self.map.start as f64).max(1.0);
        self.gutter + ((at as f64 - self.map.start as f64) / span).clamp(0.0, 1.0) * self.plot
    }

    /// Position of a byte of a band.
    fn y_of(&self, band: u32, byte: u64) -> Option<f64> {
        let (own, base) = (self.map.bands.get(band as usize)?, self.bases.get(band as usize)?);
        let share = (byte as f64 / (own.bytes as f64).max(1.0)).clamp(0.0, 1.0);
        Some(base - share * f64::from(own.n_rows.clamp(1, 1_000)) * ROW)
    }

    /// Rectangle of bytes of a band over a time.
    fn place(&self, band: u32, (low, high): (u64, u64), (start, end): (i64, i64)) -> Option<Place> {
        let (x, y) = (self.x_of(start), self.y_of(band, high)?);
        let (width, height) = (self.x_of(end) - x, self.y_of(band, low)? - y);
        Some(Place { x, y, width: width.max(0.0), height: height.max(0.0) })
    }

    fn of(&self, item: Item<'_>) -> Option<Place> {
        match item {
            Item::Cell(cell) => {
                let band = self.map.bands.get(cell.band as usize)?;
                let rows = (band.row_start(cell.row), band.row_start(cell.row.saturating_add(1)));
                let next = cell.column.saturating_add(1);
                let columns = (self.map.column_start(cell.column), self.map.column_start(next));
                self.place(cell.band, rows, columns)
            }
            Item::Block(block) => {
                let high = block.low.saturating_add(block.bytes);
                self.place(block.band, (block.low, high), (block.start, block.end))
            }
            Item::Moment(moment) => {
                let (x, y) = (self.x_of(moment.at) - DOT, self.top - 2.0 * DOT);
                Some(Place { x, y, width: 2.0 * DOT, height: 2.0 * DOT })
            }
        }
    }

    /// From back to front.
    fn items(&self) -> impl DoubleEndedIterator<Item = Item<'a>> + use<'a> {
        let cells = self.map.cells.iter().map(Item::Cell);
        cells.chain(self.map.blocks.iter().map(Item::Block)).chain(self.map.moments.iter().map(Item::Moment))
    }

    fn time(&self, at: i64) -> String {
        match self.map.over {
            Over::Time => axis::label(at as f64, Unit::NsOffset),
            Over::Duration => axis::label(at as f64, Unit::Ns),
            // The first event is number 2 of the axis, because what is before it is number 1.
            Over::Number => format!("event {}", at.saturating_sub(2)),
        }
    }

    /// `before the start to 3.2 ms`.
    fn life(&self, block: &MapBlock) -> String {
        let start = if block.is_open.0 { "before the start".to_string() } else { self.time(block.start) };
        let end = if block.is_open.1 { "the end".to_string() } else { self.time(block.end) };
        format!("{start} to {end}")
    }

    fn title_of_block(&self, block: &MapBlock) -> String {
        let name = self.map.name_of(block);
        format!("{name}: {} at {:#x}, {}", format_bytes(block.bytes), block.address, self.life(block))
    }

    fn title(&self, item: Item<'_>) -> String {
        match item {
            Item::Block(block) => self.title_of_block(block),
            Item::Moment(moment) => format!("{}, at {}", moment.text, self.time(moment.at)),
            Item::Cell(cell) => {
                let from = self.map.column_start(cell.column);
                let to = self.map.column_start(cell.column.saturating_add(1));
                let place = format!(
                    "{}, row {}, {} to {}",
                    self.map.bands.get(cell.band as usize).map_or("", |band| &band.label),
                    cell.row.saturating_add(1),
                    self.time(from),
                    self.time(to),
                );
                let largest = self.title_of_block(&cell.largest);
                let covered = format_ratio(cell.share);
                match cell.n {
                    1 => format!("{place}: {covered} covered by {largest}"),
                    n => format!("{place}: {covered} covered by {n} blocks; the largest: {largest}"),
                }
            }
        }
    }

    fn chosen(&self, at: usize, item: Item<'_>) -> Option<Chosen> {
        let Place { x, y, width, height } = self.of(item)?;
        let block = match item {
            Item::Cell(cell) => Some(&cell.largest),
            Item::Block(block) => Some(block),
            Item::Moment(_) => None,
        };
        let stack = block.and_then(|block| self.map.stacks.get(block.stack as usize));
        let frame = |frame: &u32| self.map.texts.get(*frame as usize).cloned();
        let lines = stack.into_iter().flatten().filter_map(frame).collect();
        Some(Chosen { at: (0, at), x, y, width, height, title: self.title(item), lines })
    }
}

/// Bands from the bottom up, time from left to right.
pub(super) fn blocks_by_address(map: &AddressMap, width: f64) -> Scene {
    let frame = Frame::new(map, width);
    let mut scene =
        Scene { width, height: frame.bottom + FOOT, marks: Vec::new(), legend: map.legend.clone() };
    let right = width - RIGHT;
    let mut label_base = f64::MAX;
    for (number, (band, (base, label))) in
        (0u32..).zip(map.bands.iter().zip(frame.bases.iter().zip(&frame.labels)))
    {
        for it in &band.reserved {
            let Some(place) = frame.place(number, (it.low, it.high), (it.start, it.end)) else { continue };
            let Place { x, y, width, height } = place;
            let (tone, title) = (Tone::Idle, String::new());
            scene.marks.push(Mark::Cell { x, y, width, height, tone, strength: RESERVED, title });
        }
        scene.marks.push(Mark::Rule { from: (frame.gutter, *base), to: (right, *base), is_limit: false });
        if label_base - base >= LABEL_APART {
            label_base = *base;
            let (x, y, text) = (frame.gutter - 8.0, base - 1.0, label.clone());
            scene.marks.push(Mark::Text { x, y, anchor: Anchor::End, text });
        }
    }
    for item in frame.items() {
        let Some(Place { x, y, width, height }) = frame.of(item) else { continue };
        let title = frame.title(item);
        scene.marks.push(match item {
            Item::Cell(cell) => {
                let level = (cell.share * N_LEVELS).ceil().clamp(1.0, N_LEVELS);
                let strength = if cell.share.is_finite() { level / N_LEVELS } else { 1.0 / N_LEVELS };
                Mark::Cell { x, y, width, height, tone: cell.tone, strength, title }
            }
            Item::Block(block) => {
                let gap = |length: f64| if length >= WIDE { length - GAP } else { length };
                let (width, height) = (gap(width), gap(height));
                Mark::Rect { x, y, width, height, tone: block.tone, title }
            }
            Item::Moment(_) => continue,
        });
    }
    push_moments(&mut scene, &frame);
    match map.over {
        Over::Number => push_events(&mut scene, &frame),
        Over::Time | Over::Duration => {
            push_times(&mut scene, (map.start as f64, map.end as f64), frame.gutter, frame.bottom);
        }
    }
    scene
}

/// Lines at the moments with a dot above, and their names as far as there is room.
fn push_moments(scene: &mut Scene, frame: &Frame<'_>) {
    let mut free_from = frame.gutter;
    let places: Vec<f64> = frame.map.moments.iter().map(|moment| frame.x_of(moment.at)).collect();
    for (moment, x) in frame.map.moments.iter().zip(places.iter().copied()) {
        scene.marks.push(Mark::Rule { from: (x, frame.top), to: (x, frame.bottom), is_limit: true });
        let tone = if moment.is_bad { Tone::More } else { Tone::Less };
        let title = frame.title(Item::Moment(moment));
        scene.marks.push(Mark::Dot { x, y: frame.top - DOT, radius: DOT, tone, title });
        let needed = moment.name.chars().count() as f64 * LETTER + 8.0;
        let is_left = x + DOT + needed > scene.width;
        let from = if is_left { x - DOT - needed } else { x + DOT };
        // Other dots are not written over.
        let is_free = |other: &f64| *other == x || other + DOT <= from || other - DOT >= from + needed;
        if from >= free_from && places.iter().all(is_free) {
            let (x, anchor) =
                if is_left { (x - DOT - 4.0, Anchor::End) } else { (x + DOT + 4.0, Anchor::Start) };
            scene.marks.push(Mark::Text { x, y: frame.top - 1.0, anchor, text: moment.name.clone() });
            free_from = from + needed;
        }
    }
}

/// Axis of numbers of events.
fn push_events(scene: &mut Scene, frame: &Frame<'_>) {
    let (start, end) = (frame.map.start as f64, frame.map.end as f64);
    for tick in axis::between(start, end, ((frame.plot / 60.0) as usize).max(2)) {
        let x = frame.x_of(tick as i64);
        let text = (tick as i64).saturating_sub(2).max(0).to_string();
        scene.marks.push(Mark::Text { x, y: frame.bottom + 16.0, anchor: Anchor::Middle, text });
    }
}

/// What is at a position, the foremost first.
pub(super) fn at(map: &AddressMap, width: f64, position: (f64, f64)) -> Option<Chosen> {
    let frame = Frame::new(map, width);
    let items: Vec<Item<'_>> = frame.items().collect();
    let found = items
        .iter()
        .enumerate()
        .rev()
        .find(|(_, item)| frame.of(**item).is_some_and(|place| place.contains(position)));
    found.and_then(|(at, item)| frame.chosen(at, *item))
}

/// The next thing in a direction from one, or that one at the end; the largest block without one.
pub(super) fn next(map: &AddressMap, width: f64, from: Option<(usize, Direction)>) -> Option<Chosen> {
    let frame = Frame::new(map, width);
    let items: Vec<Item<'_>> = frame.items().collect();
    let places: Vec<Option<Place>> = items.iter().map(|item| frame.of(*item)).collect();
    let Some((from, direction)) = from else {
        let area = |at: &usize| match (items[*at], places[*at]) {
            (Item::Moment(_), _) | (_, None) => 0.0,
            (_, Some(place)) => place.width * place.height,
        };
        let largest = (0..items.len()).max_by(|a, b| area(a).total_cmp(&area(b)))?;
        return frame.chosen(largest, items[largest]);
    };
    let here = places.get(from).copied().flatten()?;
    let (x, y) = here.middle();
    // Along the direction first, then across it: what lies beside is nearer than what lies askew.
    let distance = |place: &Place| {
        let (other_x, other_y) = place.middle();
        let (along, across) = match direction {
            Direction::Left => (x - other_x, outside(y, place.y, place.height)),
            Direction::Right => (other_x - x, outside(y, place.y, place.height)),
            Direction::Up => (y - other_y, outside(x, place.x, place.width)),
            Direction::Down => (other_y - y, outside(x, place.x, place.width)),
        };
        (along > 1e-6).then_some(along + 8.0 * across)
    };
    let others = places.iter().enumerate().filter(|(at, _)| *at != from);
    let distances = others.filter_map(|(at, place)| Some((at, distance(place.as_ref()?)?)));
    let next = distances.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(from, |(at, _)| at);
    frame.chosen(next, items[next])
}

/// Distance of a position from a range.
fn outside(at: f64, start: f64, length: f64) -> f64 {
    (start - at).max(at - start - length).max(0.0)
}

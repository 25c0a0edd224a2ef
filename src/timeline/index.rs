//! Boxes in rows.

use super::boxes::BoxTable;
use super::levels::{Density, Levels, LevelsBuilder, MIN_ROW};
use super::line::RowSource;
use super::numbers::Numbers;
use crate::base::hash::HashMap;
use crate::base::steps;

/// Boxes between pauses.
const PAUSE_EVERY: usize = 1 << 16;

/// A row: boxes of one depth on one track; they never overlap.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Row {
    /// Its track in the trace; boxes of tracks beside it can be on its rows too, see [`BoxTable::tracks_beside`].
    pub track: u32,
    pub depth: u32,
    /// 0, or more where boxes of one depth overlap.
    pub lane: u32,
}

/// What the boxes of a row add up to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowSums {
    pub n: u32,
    /// Nanoseconds.
    pub covered_ns: u64,
}

/// Boxes in rows.
#[derive(Clone, Default)]
pub struct TimelineIndex {
    /// Start of the trace, on its clock.
    pub origin: i64,
    /// By track, depth and lane.
    pub rows: Vec<Row>,
    pub sums: Vec<RowSums>,
    /// By row, and one more: its first position in the order.
    first: Vec<u32>,
    /// Of boxes, each row by start.
    numbers: Numbers,
    /// By row.
    levels: Vec<Levels>,
    places: Places,
}

/// Where boxes belong: a place is a track and a depth, and mostly a single row.
#[derive(Clone, Default)]
struct Places {
    /// By track: the place of depth 0.
    first: Vec<u32>,
    /// By track: the one on whose rows its boxes are.
    shown_on: Vec<u32>,
    /// By place: the row of its lane 0; `u32::MAX` where there is none.
    row: Vec<u32>,
    /// By place: rows of further lanes.
    further: HashMap<u32, Vec<u32>>,
}

impl Places {
    fn new(boxes: impl BoxTable) -> Places {
        let mut n_depths: Vec<u32> = Vec::new();
        // By track: whether another box contains each of its boxes.
        let mut are_inside: Vec<bool> = Vec::new();
        for id in 0..boxes.len() {
            let (track, depth) = (boxes.track(id) as usize, boxes.depth(id));
            if track >= n_depths.len() {
                n_depths.resize(track + 1, 0);
                are_inside.resize(track + 1, true);
            }
            n_depths[track] = n_depths[track].max(depth.saturating_add(1));
            are_inside[track] &= depth > 0;
        }
        // What nothing contains would tear the stack beside it apart.
        let mut shown_on: Vec<u32> = (0..n_depths.len() as u32).collect();
        for (track, own_track) in boxes.tracks_beside() {
            let (at, own) = (track as usize, own_track as usize);
            if at.max(own) < n_depths.len() && are_inside[at] {
                n_depths[own] = n_depths[own].max(std::mem::take(&mut n_depths[at]));
                shown_on[at] = own_track;
            }
        }
        // The sum is not above the number of boxes: a depth has all those above it.
        let mut first = Vec::with_capacity(n_depths.len());
        let mut n = 0_usize;
        for depths in n_depths {
            first.push(n as u32);
            n += depths as usize;
        }
        let first = shown_on.iter().map(|track| first[*track as usize]).collect();
        Places { first, shown_on, row: vec![u32::MAX; n], further: HashMap::default() }
    }

    #[inline]
    fn of(&self, boxes: impl BoxTable, id: usize) -> u32 {
        self.first[boxes.track(id) as usize] + boxes.depth(id)
    }
}

/// What a row holds so far.
#[derive(Clone, Copy)]
struct Draft {
    row: Row,
    n: u32,
    covered_ns: u64,
    last_start: i64,
    last_end: i64,
}

/// Gives each box its row, in order of start.
struct Assigner<B> {
    boxes: B,
    places: Places,
    drafts: Vec<Draft>,
}

impl<B: BoxTable> Assigner<B> {
    /// Number of the row of a box, how many boxes it had before, and where the last of them started.
    #[inline]
    fn assign(&mut self, id: usize) -> (usize, u32, i64) {
        let place = self.places.of(self.boxes, id);
        let start = self.boxes.start(id);
        let row = self.places.row[place as usize];
        let row = match self.drafts.get(row as usize) {
            Some(draft) if draft.last_end <= start => row as usize,
            Some(_) => self.further_lane(place, id, start),
            None => {
                self.places.row[place as usize] = self.drafts.len() as u32;
                self.add_row(id, 0)
            }
        };
        let draft = &mut self.drafts[row];
        let (n_before, last_start) = (draft.n, draft.last_start);
        let length = self.boxes.length(id);
        draft.n += 1;
        draft.covered_ns = draft.covered_ns.saturating_add(length as u64);
        (draft.last_start, draft.last_end) = (start, start.saturating_add(length));
        (row, n_before, last_start)
    }

    fn add_row(&mut self, id: usize, lane: u32) -> usize {
        let track = self.places.shown_on[self.boxes.track(id) as usize];
        let row = Row { track, depth: self.boxes.depth(id), lane };
        self.drafts.push(Draft { row, n: 0, covered_ns: 0, last_start: i64::MIN, last_end: i64::MIN });
        self.drafts.len() - 1
    }

    /// The first lane that is free at `start`. In the second pass it finds the same ones as in the first.
    #[cold]
    fn further_lane(&mut self, place: u32, id: usize, start: i64) -> usize {
        let lanes = self.places.further.entry(place).or_default();
        let drafts = &self.drafts;
        if let Some(free) = lanes.iter().find(|lane| drafts[**lane as usize].last_end <= start) {
            return *free as usize;
        }
        lanes.push(drafts.len() as u32);
        let lane = lanes.len() as u32;
        self.add_row(id, lane)
    }

    /// The row of a box in the second pass: the same as in the first.
    #[inline]
    fn again(&mut self, id: usize) -> usize {
        if self.places.further.is_empty() {
            return self.places.row[self.places.of(self.boxes, id) as usize] as usize;
        }
        self.assign(id).0
    }

    /// Back to the first box; rows stay known.
    fn restart(&mut self) {
        for draft in &mut self.drafts {
            (draft.last_start, draft.last_end) = (i64::MIN, i64::MIN);
        }
    }
}

impl TimelineIndex {
    /// Index of boxes that start at `origin` or later: 2 bytes a box where those of a row are near each other in the table and 6 elsewhere, and about 2 for the levels of dense rows.
    pub fn new(boxes: impl BoxTable, origin: i64) -> TimelineIndex {
        steps::run(TimelineIndex::in_steps(boxes, origin))
    }

    /// [`TimelineIndex::new`] with pauses.
    pub async fn in_steps(boxes: impl BoxTable, origin: i64) -> TimelineIndex {
        let n = boxes.len();
        let mut assigner = Assigner { boxes, places: Places::new(boxes), drafts: Vec::new() };
        // First how many boxes each row has, and how dense they are.
        let mut densities: Vec<Option<Box<Density>>> = Vec::new();
        for id in 0..n {
            if id % PAUSE_EVERY == 0 {
                steps::pause().await;
            }
            let (row, n_before, last_start) = assigner.assign(id);
            if n_before >= MIN_ROW {
                if row >= densities.len() {
                    densities.resize_with(assigner.drafts.len(), || None);
                }
                let distance = boxes.start(id).wrapping_sub(last_start) as u64;
                densities[row].get_or_insert_default().add(distance);
            }
        }
        densities.resize_with(assigner.drafts.len(), || None);
        // Rows in the order in which they are shown.
        let mut by_place: Vec<u32> = (0..assigner.drafts.len() as u32).collect();
        by_place.sort_unstable_by_key(|row| assigner.drafts[*row as usize].row);
        let mut shown_at = vec![0_u32; by_place.len()];
        let mut first = Vec::with_capacity(by_place.len() + 1);
        let mut n_before = 0_u32;
        for (at, row) in by_place.iter().enumerate() {
            shown_at[*row as usize] = at as u32;
            first.push(n_before);
            n_before += assigner.drafts[*row as usize].n;
        }
        first.push(n_before);
        let builder = |(row, density): (usize, Option<Box<Density>>)| {
            let span = assigner.drafts[row].last_start.wrapping_sub(origin) as u64;
            density.map(|density| LevelsBuilder::new(&density, span))
        };
        let mut builders: Vec<Option<LevelsBuilder>> =
            densities.into_iter().enumerate().map(builder).collect();
        let rows = by_place.iter().map(|row| assigner.drafts[*row as usize].row).collect();
        let sums = |row: &u32| {
            let Draft { n, covered_ns, .. } = assigner.drafts[*row as usize];
            RowSums { n, covered_ns }
        };
        let sums = by_place.iter().map(sums).collect();
        // Then every box to its place.
        let mut numbers = Numbers::new(&first);
        let mut next: Vec<u32> = shown_at.iter().map(|at| first[*at as usize]).collect();
        assigner.restart();
        for id in 0..n {
            if id % PAUSE_EVERY == 0 {
                steps::pause().await;
            }
            let row = assigner.again(id);
            let at = &mut next[row];
            numbers.set(*at as usize, id as u32);
            *at += 1;
            if let Some(builder) = &mut builders[row] {
                builder.push(boxes.start(id).wrapping_sub(origin) as u64, boxes.length(id));
            }
        }
        numbers.shrink();
        let levels = by_place
            .iter()
            .map(|row| builders[*row as usize].take().map_or_else(Levels::default, LevelsBuilder::finish))
            .collect();
        let mut places = assigner.places;
        let lanes = places.further.values_mut().flatten();
        for row in places.row.iter_mut().filter(|row| **row != u32::MAX).chain(lanes) {
            *row = shown_at[*row as usize];
        }
        TimelineIndex { origin, rows, sums, first, numbers, levels, places }
    }

    /// The boxes of a row.
    pub fn row(&self, row: usize) -> RowSource<'_> {
        let range = self.first[row] as usize..self.first[row + 1] as usize;
        RowSource { numbers: self.numbers.row(range), levels: &self.levels[row], origin: self.origin }
    }

    /// Rows of a track.
    pub fn rows_of(&self, track: u32) -> std::ops::Range<usize> {
        self.rows.partition_point(|row| row.track < track)
            ..self.rows.partition_point(|row| row.track <= track)
    }

    /// The row that a box is on.
    pub fn row_of(&self, boxes: impl BoxTable, id: usize) -> usize {
        let place = self.places.of(boxes, id);
        self.lane_of(place, self.places.row[place as usize] as usize, id)
    }

    fn lane_of(&self, place: u32, row: usize, id: usize) -> usize {
        let Some(lanes) = self.places.further.get(&place) else { return row };
        let is_there = |lane: &&u32| self.row(**lane as usize).numbers.position_of(id as u32).is_some();
        lanes.iter().find(is_there).map_or(row, |lane| *lane as usize)
    }

    /// Finds positions in `rows` of boxes.
    pub fn by_place(&self, rows: &[usize]) -> PlacesOfRows<'_> {
        let mut at_of_row = vec![PlacesOfRows::NOWHERE; self.rows.len()];
        rows.iter().enumerate().for_each(|(at, row)| at_of_row[*row] = at as u32);
        let at = |(place, row): (usize, &u32)| match self.places.further.contains_key(&(place as u32)) {
            true => PlacesOfRows::LANES,
            false => at_of_row.get(*row as usize).copied().unwrap_or(PlacesOfRows::NOWHERE),
        };
        let at_of_place = self.places.row.iter().enumerate().map(at).collect();
        PlacesOfRows { index: self, at_of_place, at_of_row }
    }

    /// Position of a box in its row.
    pub fn position_of(&self, row: usize, id: usize) -> Option<usize> {
        self.row(row).numbers.position_of(id as u32)
    }

    /// Bytes in memory.
    pub fn n_bytes(&self) -> usize {
        let levels: usize = self.levels.iter().map(Levels::n_bytes).sum();
        let rows = self.rows.len() * (size_of::<Row>() + size_of::<u32>() + size_of::<Levels>());
        self.numbers.n_bytes() + levels + rows
    }
}

/// Positions among chosen rows, by place.
pub struct PlacesOfRows<'a> {
    index: &'a TimelineIndex,
    at_of_place: Vec<u32>,
    at_of_row: Vec<u32>,
}

impl PlacesOfRows<'_> {
    /// Not among those rows.
    const NOWHERE: u32 = u32::MAX;
    /// The place has several lanes.
    const LANES: u32 = u32::MAX - 1;

    /// Position of a box's row; beyond all of them if it is not among them.
    #[inline]
    pub fn of(&self, boxes: impl BoxTable, id: usize) -> usize {
        match self.at_of_place[self.index.places.of(boxes, id) as usize] {
            PlacesOfRows::LANES => self.at_of_row[self.index.row_of(boxes, id)] as usize,
            at => at as usize,
        }
    }
}

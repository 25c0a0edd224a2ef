//! Answers to questions.

use super::answers::{
    ARGUMENTS, At, BoxLink, BoxName, Bytes, COUNTER, CounterSums, Details, Found, LIT, Label, NameSums,
    Picture, RowName, START, SameName, Stretch, TimelineAnswer, TimelineAsk, Tracks,
};
use super::boxes::{BoxTable, SliceBoxes};
use super::colors::{Coloring, Groups};
use super::line::{Pixel, RowLine, Window, read_rows};
use super::search::Matches;
use super::tracks::{Content, Part, Timeline};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::trace::labels::shown;
use crate::trace::slices::{SliceId, UNFINISHED};
use crate::trace::{Run, Trace};
use std::ops::Range;

/// Pixels from which a box has a text, and an edge.
const LABEL_PIXELS: usize = 16;
const EDGE_PIXELS: usize = 3;
/// Names in a stretch, children of a box, arrows at it.
const MAX_NAMES: usize = 200;
const MAX_LINKS: usize = 12;
/// Rows in a picture, and pixels in a row: what a screen and its surroundings have.
const MAX_ROWS: usize = 400;
const MAX_PIXELS: u32 = 1 << 14;

impl Timeline {
    /// [`Timeline::answer_with`], without knowing operations or phases.
    pub fn answer(&self, run: &Run, ask: &TimelineAsk) -> TimelineAnswer {
        self.answer_with(run, ask, None)
    }

    /// Answers a question; `run` is the one that the timeline is of, and `groups` are what a picture is colored by.
    pub fn answer_with(&self, run: &Run, ask: &TimelineAsk, groups: Option<&Groups>) -> TimelineAnswer {
        match ask {
            // What has no load has no timeline either.
            TimelineAsk::Load => TimelineAnswer::Load(super::load::load_of(run).unwrap_or_default()),
            TimelineAsk::Tracks => TimelineAnswer::Tracks(self.tracks_view()),
            TimelineAsk::Picture { window, rows, lit, color_by } => {
                let coloring = Coloring::new(*color_by, groups);
                TimelineAnswer::Picture(self.picture(run, *window, rows, lit, coloring))
            }
            TimelineAsk::At { row, ns, around_ns } => TimelineAnswer::At(self.at(run, *row, *ns, *around_ns)),
            TimelineAsk::Details { of } => TimelineAnswer::Details(self.details(run, *of).map(Box::new)),
            TimelineAsk::SameName { of, is_back } => {
                TimelineAnswer::Found(self.same_name(run, *of, *is_back))
            }
            TimelineAsk::Beside { of, is_back } => TimelineAnswer::Found(self.beside(run, *of, *is_back)),
            TimelineAsk::Find { text, from, is_back } => {
                TimelineAnswer::Found(self.find(run, text, *from, *is_back))
            }
            TimelineAsk::Stretch { from_ns, to_ns } => {
                TimelineAnswer::Stretch(self.stretch(run, *from_ns, *to_ns))
            }
            TimelineAsk::Named { text } => TimelineAnswer::Named(self.named(run, text).map(Box::new)),
        }
    }

    fn tracks_view(&self) -> Tracks {
        Tracks {
            span_ns: self.span_ns,
            tracks: self.tracks.iter().map(|track| track.view.clone()).collect(),
            is_partial: self.is_partial,
            is_each_from_zero: self.is_each_from_zero,
            has_phases: false,
            start_ns: if self.is_each_from_zero { 0 } else { self.starts.first().copied().unwrap_or(0) },
            number: 0,
            so_far: None,
        }
    }

    fn part_row(&self, row: RowName) -> Option<(usize, usize)> {
        match &self.tracks.get(row.track as usize)?.content {
            Content::Rows { part, rows } => Some((*part, *rows.get(row.row as usize)?)),
            Content::Counter { .. } => None,
        }
    }

    /// What is drawn of rows in a window.
    fn picture(
        &self,
        run: &Run,
        window: Window,
        rows: &[RowName],
        lit: &str,
        coloring: Coloring<'_>,
    ) -> Picture {
        let window =
            Window { n_pixels: window.n_pixels.clamp(1, MAX_PIXELS), bits: window.bits.min(62), ..window };
        let n = window.n_pixels as usize;
        let rows = &rows[..rows.len().min(MAX_ROWS)];
        let mut painter = Painter {
            timeline: self,
            run,
            window,
            picture: Picture {
                window,
                rows: rows.to_vec(),
                colors: Bytes(vec![0; n * rows.len()]),
                covers: Bytes(vec![0; n * rows.len()]),
                labels: Vec::new(),
                names: Vec::new(),
                legend: Vec::new(),
            },
            names: HashMap::default(),
            coloring,
        };
        for (at, row) in rows.iter().enumerate() {
            let track = self.tracks.get(row.track as usize);
            if let Some(Content::Counter { points }) = track.map(|track| &track.content) {
                painter.paint_counter(at, points, self.tracks[row.track as usize].view.max);
            }
        }
        let mut lines: Vec<RowLine> = Vec::new();
        for (number, (at, rows)) in
            self.by_part(rows).into_iter().enumerate().filter(|(_, (at, _))| !at.is_empty())
        {
            self.read_lines(run, number, &rows, &window, &mut lines);
            for (at, line) in at.iter().zip(&lines) {
                painter.paint(*at, number, &line.pixels);
            }
            if !lit.is_empty() {
                painter.light(&at, number, &rows, lit);
            }
        }
        painter.picture.legend = painter.coloring.legend;
        painter.picture
    }

    /// Rows by part, as those of a part are read together: their positions in `rows`, and their numbers in the part's index.
    pub(super) fn by_part(&self, rows: &[RowName]) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut of_part = vec![(Vec::new(), Vec::new()); self.parts.len()];
        for (at, row) in rows.iter().enumerate() {
            if let Some((part, row)) = self.part_row(*row) {
                of_part[part].0.push(at);
                of_part[part].1.push(row);
            }
        }
        of_part
    }

    /// Pixels of rows of a part's index.
    pub(super) fn read_lines(
        &self,
        run: &Run,
        number: usize,
        rows: &[usize],
        window: &Window,
        lines: &mut Vec<RowLine>,
    ) {
        let part = &self.parts[number];
        match &part.own {
            Some(boxes) => read_rows(&part.index, boxes, rows, window, lines),
            None => read_rows(&part.index, SliceBoxes::new(&run.traces[part.trace]), rows, window, lines),
        }
    }

    fn at(&self, run: &Run, row: RowName, ns: u64, around_ns: u64) -> Option<At> {
        if let Content::Counter { points } = &self.tracks.get(row.track as usize)?.content {
            let next = points.partition_point(|point| point.0 <= ns.saturating_add(around_ns));
            let (start_ns, value) = *points.get(next.checked_sub(1)?)?;
            let name = self.tracks[row.track as usize].view.title.clone();
            let value = Some(value);
            return Some(At { of: None, name, start_ns, dur_ns: None, self_ns: None, count: 1, value });
        }
        let (number, row) = self.part_row(row)?;
        let part = &self.parts[number];
        let trace = &run.traces[part.trace];
        let source = part.index.row(row);
        let (id, count) = match &part.own {
            Some(boxes) => source.pick(boxes, ns, around_ns),
            None => source.pick(SliceBoxes::new(trace), ns, around_ns),
        }?;
        let BoxLink { of, name, start_ns, dur_ns, .. } = self.link(run, number, id as usize);
        let self_ns = match &part.own {
            None => Some(trace.slices.self_ns.get(id as usize) as u64),
            Some(_) => self.own_self_ns(part, id as usize),
        };
        Some(At { of: Some(of), name, start_ns, dur_ns, self_ns, count, value: None })
    }

    pub(super) fn link(&self, run: &Run, number: usize, id: usize) -> BoxLink {
        let part = &self.parts[number];
        let trace = &run.traces[part.trace];
        let (start, end) = part.span(trace, id);
        let (track, row) = part.shown_at[part.row_of(trace, id)];
        let is_open = part.own.is_none() && trace.slices.dur.get(id) == UNFINISHED;
        BoxLink {
            of: BoxName { part: number as u32, id: id as u32 },
            row: RowName { track, row },
            name: shown(trace.strings.get_opt(part.name(trace, id))).to_string(),
            start_ns: self.from_start(part, start),
            dur_ns: (!is_open).then(|| end.wrapping_sub(start) as u64),
        }
    }

    /// The part of a box that exists.
    fn part_of(&self, run: &Run, of: BoxName) -> Option<(usize, usize)> {
        let part = self.parts.get(of.part as usize)?;
        let id = of.id as usize;
        (id < part.len(&run.traces[part.trace])).then_some((of.part as usize, id))
    }

    /// Position of the trace and number of the slice that a box is; `None` if it is no slice.
    pub fn slice_of(&self, run: &Run, of: BoxName) -> Option<(usize, u32)> {
        let (number, id) = self.part_of(run, of)?;
        let part = &self.parts[number];
        part.own.is_none().then_some((part.trace, id as u32))
    }

    /// The box of a slice of a trace; `None` if it has none.
    pub fn link_to_slice(&self, run: &Run, trace: usize, slice: u32) -> Option<BoxLink> {
        let number = self.parts.iter().position(|part| part.trace == trace && part.own.is_none())?;
        let (number, id) = self.part_of(run, BoxName { part: number as u32, id: slice })?;
        Some(self.link(run, number, id))
    }

    pub(super) fn details(&self, run: &Run, of: BoxName) -> Option<Details> {
        let (number, id) = self.part_of(run, of)?;
        let link = self.link(run, number, id);
        let view = &self.tracks[link.row.track as usize].view;
        let mut details = Details {
            category: String::new(),
            self_ns: None,
            group: view.group.clone(),
            track: view.title.clone(),
            args: String::new(),
            parents: Vec::new(),
            children: Vec::new(),
            n_children: 0,
            from: Vec::new(),
            to: Vec::new(),
            same_name: self.same_name_sums(run, number, id),
            places: Vec::new(),
            link,
        };
        if self.parts[number].own.is_none() {
            self.add_slice_details(run, number, id, &mut details);
        } else {
            self.add_stack_details(run, number, id, &mut details);
        }
        Some(details)
    }

    fn add_slice_details(&self, run: &Run, number: usize, id: usize, details: &mut Details) {
        let trace = &run.traces[self.parts[number].trace];
        let slices = &trace.slices;
        let link = |slice: SliceId| self.link(run, number, slice.0 as usize);
        details.category = trace.strings.get_opt(slices.category[id]).unwrap_or_default().to_string();
        details.self_ns = Some(slices.self_ns.get(id).max(0) as u64);
        let mut args = Vec::new();
        trace.push_slice_args(id, &mut args);
        details.args = String::from_utf8_lossy(&args).into_owned();
        let mut parent = slices.parent[id];
        while let Some(known) = parent.some().filter(|_| details.parents.len() < MAX_LINKS) {
            details.parents.push(link(known));
            parent = slices.parent[known.0 as usize];
        }
        let boxes = SliceBoxes::new(trace);
        let end = boxes.end(id);
        let inside = (id + 1..slices.len()).take_while(|slice| slices.ts[*slice] <= end);
        let mut children: Vec<usize> =
            inside.filter(|slice| slices.parent[*slice].0 as usize == id).collect();
        details.n_children = children.len() as u64;
        sort::by_key(&mut children, |slice| std::cmp::Reverse(boxes.length(*slice)));
        children.truncate(MAX_LINKS);
        details.children = children.into_iter().map(|slice| self.link(run, number, slice)).collect();
        let flows = &trace.flows;
        for (from, to) in flows.from.iter().zip(&flows.to) {
            if to.0 as usize == id && details.from.len() < MAX_LINKS {
                details.from.push(link(*from));
            }
            if from.0 as usize == id && details.to.len() < MAX_LINKS {
                details.to.push(link(*to));
            }
        }
    }

    /// Calls around and in a call of a sampled stack.
    fn add_stack_details(&self, run: &Run, number: usize, id: usize, details: &mut Details) {
        let part = &self.parts[number];
        let Some(boxes) = part.own.as_ref().filter(|boxes| !boxes.parent.is_empty()) else { return };
        details.self_ns = self.own_self_ns(part, id);
        let mut parent = boxes.parent[id];
        while let Some(known) = parent.some().filter(|_| details.parents.len() < MAX_LINKS) {
            details.parents.push(self.link(run, number, known.0 as usize));
            parent = boxes.parent[known.0 as usize];
        }
        let mut children = self.own_children(part, id);
        details.n_children = children.len() as u64;
        sort::by_key(&mut children, |child| std::cmp::Reverse(boxes.length(*child)));
        children.truncate(MAX_LINKS);
        details.children = children.into_iter().map(|child| self.link(run, number, child)).collect();
    }

    /// Boxes directly in a box that is no slice, by start.
    fn own_children(&self, part: &Part, id: usize) -> Vec<usize> {
        let Some(boxes) = &part.own else { return Vec::new() };
        let (start, end) = (self.from_start(part, boxes.start(id)), boxes.end(id));
        let below = part.index.rows_of(boxes.track(id));
        let below = below.filter(|row| part.index.rows[*row].depth == boxes.depth(id) + 1);
        let children = below.flat_map(|row| {
            let source = part.index.row(row);
            let inside = source.numbers.iter_from(source.lower_bound(boxes, start)).map(|id| id as usize);
            inside.take_while(|inside| boxes.start(*inside) <= end)
        });
        children.filter(|child| boxes.parent.get(*child).is_some_and(|it| it.0 as usize == id)).collect()
    }

    /// Time of a box that is no slice without the boxes in it; `None` if it is of a kind that has none in it.
    fn own_self_ns(&self, part: &Part, id: usize) -> Option<u64> {
        let boxes = part.own.as_ref().filter(|boxes| !boxes.parent.is_empty())?;
        let inside = self.own_children(part, id);
        let inside: i64 = inside.into_iter().map(|child| boxes.length(child)).sum();
        Some(boxes.length(id).saturating_sub(inside).max(0) as u64)
    }

    fn same_name_sums(&self, run: &Run, number: usize, id: usize) -> SameName {
        let part = &self.parts[number];
        let trace = &run.traces[part.trace];
        let names = part.names(trace);
        let length = |id: usize| part.length(trace, id);
        let (name, own) = (names[id], length(id));
        let mut sums = SameName { min_ns: u64::MAX, ..SameName::default() };
        for other in (0..names.len()).filter(|other| names[*other] == name) {
            let ns = length(other);
            sums.count += 1;
            sums.number += u64::from(other <= id);
            sums.n_longer += u64::from(ns > own);
            sums.total_ns = sums.total_ns.saturating_add(ns);
            sums.min_ns = sums.min_ns.min(ns);
            sums.max_ns = sums.max_ns.max(ns);
        }
        sums
    }

    fn same_name(&self, run: &Run, of: BoxName, is_back: bool) -> Found {
        let Some((number, id)) = self.part_of(run, of) else { return Found::default() };
        let part = &self.parts[number];
        let names = part.names(&run.traces[part.trace]);
        let is_same = |other: &usize| names[*other] == names[id];
        let next = match is_back {
            true => (0..id).rev().find(is_same),
            false => (id + 1..names.len()).find(is_same),
        };
        let sums = self.same_name_sums(run, number, next.unwrap_or(id));
        Found {
            n: sums.count,
            number: sums.number,
            link: next.map(|next| self.link(run, number, next)),
            ..Found::default()
        }
    }

    fn beside(&self, run: &Run, of: BoxName, is_back: bool) -> Found {
        let Some((number, id)) = self.part_of(run, of) else { return Found::default() };
        let part = &self.parts[number];
        let row = part.row_of(&run.traces[part.trace], id);
        let numbers = part.index.row(row).numbers;
        let at = part.index.position_of(row, id);
        let next = at.and_then(|at| if is_back { at.checked_sub(1) } else { Some(at + 1) });
        let next = next.and_then(|next| numbers.get(next));
        Found {
            n: numbers.len() as u64,
            number: at.map_or(0, |at| at as u64 + 1),
            link: next.map(|next| self.link(run, number, next as usize)),
            ..Found::default()
        }
    }

    /// Searches names, categories or arguments; the order of hits is that of parts and of time.
    fn find(&self, run: &Run, text: &str, from: Option<BoxName>, is_back: bool) -> Found {
        if text.is_empty() || text == ARGUMENTS {
            return Found::default();
        }
        let left = match text.starts_with(ARGUMENTS) {
            true => self.search_arguments(run, text),
            false => Ok(0.0),
        };
        let mut found = match left {
            Ok(left) => Found { left, ..Found::default() },
            Err(problem) => return Found { problem, ..Found::default() },
        };
        // The number of hits up to the one that is looked for, and the hit.
        let (mut first, mut last, mut before, mut after) = (None, None, None, None);
        for (number, part) in self.parts.iter().enumerate() {
            let trace = &run.traces[part.trace];
            let matches = match self.matches(part.trace, trace, text) {
                Ok(matches) => matches,
                Err(problem) => return Found { problem, ..Found::default() },
            };
            matches.for_each(part, trace, |id| {
                found.n += 1;
                let hit = (found.n, number, id);
                first.get_or_insert(hit);
                last = Some(hit);
                let here = BoxName { part: number as u32, id: id as u32 };
                match from {
                    Some(from) if here < from => before = Some(hit),
                    Some(from) if here > from => {
                        after.get_or_insert(hit);
                    }
                    _ => {}
                }
            });
        }
        if found.left > 0.0 {
            // Only the next one forward is known before all are.
            (last, before) = (None, None);
            first = first.filter(|_| from.is_none());
        }
        // Past the end it starts over.
        let hit = if is_back { before.or(last) } else { after.or(first) };
        if let Some((at, number, id)) = hit {
            found.number = at;
            found.link = Some(self.link(run, number, id));
        }
        found
    }

    fn stretch(&self, run: &Run, from_ns: u64, to_ns: u64) -> Stretch {
        let mut stretch = Stretch { from_ns, to_ns, ..Stretch::default() };
        let mut sums: HashMap<String, RangeSums> = HashMap::default();
        for (number, part) in self.parts.iter().enumerate() {
            let trace = &run.traces[part.trace];
            match &part.own {
                Some(boxes) => {
                    let parents = (!boxes.parent.is_empty()).then_some(boxes.parent.as_slice());
                    self.add_stretch(number, trace, boxes, from_ns..to_ns, parents, &mut sums);
                }
                None => {
                    let parents = Some(trace.slices.parent.as_slice());
                    let boxes = SliceBoxes::new(trace);
                    self.add_stretch(number, trace, boxes, from_ns..to_ns, parents, &mut sums);
                }
            }
        }
        stretch.n = sums.values().map(|sums| sums.count).sum();
        let mut names: Vec<(String, RangeSums)> = sums.into_iter().collect();
        sort::by(&mut names, |(a_name, a), (b_name, b)| {
            b.total_ns.cmp(&a.total_ns).then_with(|| a_name.cmp(b_name))
        });
        stretch.n_more = names.len().saturating_sub(MAX_NAMES) as u64;
        names.truncate(MAX_NAMES);
        stretch.names = names
            .into_iter()
            .map(|(name, sums)| NameSums {
                name,
                count: sums.count,
                total_ns: sums.total_ns,
                self_ns: sums.self_ns.max(0) as u64,
                longest: self.link(run, sums.longest.0, sums.longest.1),
            })
            .collect();
        for track in &self.tracks {
            if let Content::Counter { points } = &track.content {
                stretch.counters.extend(counter_sums(&track.view.title, points, from_ns..to_ns));
            }
        }
        stretch.devices = super::load::devices_in(run, &self.starts, from_ns..to_ns);
        stretch
    }

    fn add_stretch<B: BoxTable>(
        &self,
        number: usize,
        trace: &Trace,
        boxes: B,
        range: Range<u64>,
        parents: Option<&[SliceId]>,
        sums: &mut HashMap<String, RangeSums>,
    ) {
        let part = &self.parts[number];
        let index = &part.index;
        let first = super::line::first_at(index, boxes, range.start);
        let end = super::line::first_at(index, boxes, range.end);
        let earlier = (0..index.rows.len()).filter_map(|row| index.row(row).last_before(first));
        let earlier = earlier.map(|id| id as usize);
        let reaches_in = |id: &usize| self.from_start(part, boxes.end(*id)) > range.start;
        let mut ids: Vec<usize> = earlier.filter(reaches_in).collect();
        ids.extend(first..end);
        let mut by_name: HashMap<StringId, RangeSums> = HashMap::default();
        let within = |id: usize| {
            let from = self.from_start(part, boxes.start(id)).max(range.start);
            self.from_start(part, boxes.end(id)).min(range.end).saturating_sub(from)
        };
        for id in ids {
            let ns = within(id);
            let sums = by_name.entry(boxes.name(id)).or_insert(RangeSums::new((number, id)));
            sums.add(&RangeSums {
                count: 1,
                total_ns: ns,
                self_ns: ns as i64,
                longest_ns: ns,
                longest: (number, id),
            });
            if let Some(parent) = parents.and_then(|parents| parents[id].some()) {
                // It reaches over its child, so it is in the range too.
                let sums = by_name.entry(boxes.name(parent.0 as usize));
                sums.or_insert(RangeSums::new((number, id))).self_ns -= ns as i64;
            }
        }
        // A parent that ends where the range starts may have a child there, of no length.
        for (name, of_name) in by_name.into_iter().filter(|(_, sums)| sums.count > 0) {
            let name = shown(trace.strings.get_opt(name)).to_string();
            sums.entry(name).or_insert(RangeSums::new(of_name.longest)).add(&of_name);
        }
    }
}

/// Boxes of one name in a range of time.
#[derive(Clone, Copy)]
struct RangeSums {
    count: u64,
    total_ns: u64,
    /// Negative while parents are known without themselves.
    self_ns: i64,
    longest_ns: u64,
    /// Part and number of the longest.
    longest: (usize, usize),
}

impl RangeSums {
    /// Nothing yet.
    fn new(longest: (usize, usize)) -> RangeSums {
        RangeSums { count: 0, total_ns: 0, self_ns: 0, longest_ns: 0, longest }
    }

    fn add(&mut self, other: &RangeSums) {
        self.count += other.count;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
        if other.longest_ns > self.longest_ns {
            (self.longest_ns, self.longest) = (other.longest_ns, other.longest);
        }
    }
}

/// A counter between two times; `None` if it has no value there.
fn counter_sums(name: &str, points: &[(u64, f64)], range: Range<u64>) -> Option<CounterSums> {
    let first = points.partition_point(|point| point.0 <= range.start).saturating_sub(1);
    let end = points.partition_point(|point| point.0 < range.end);
    let inside = points.get(first..end).filter(|inside| !inside.is_empty())?;
    let (mut min, mut max, mut sum, mut ns) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0);
    for (at, (from, value)) in inside.iter().enumerate() {
        let to = inside.get(at + 1).map_or(range.end, |next| next.0);
        let length = to.saturating_sub((*from).max(range.start)) as f64;
        (min, max) = (value.min(min), value.max(max));
        sum += value * length;
        ns += length;
    }
    let mean = if ns > 0.0 { sum / ns } else { inside[0].1 };
    Some(CounterSums { name: name.to_string(), min, mean, max })
}

/// A picture that is being painted.
struct Painter<'a> {
    timeline: &'a Timeline,
    run: &'a Run,
    window: Window,
    picture: Picture,
    /// By trace and text: its position among the names.
    names: HashMap<(usize, StringId), u32>,
    coloring: Coloring<'a>,
}

impl Painter<'_> {
    fn paint(&mut self, at: usize, number: usize, pixels: &[Pixel]) {
        let part = &self.timeline.parts[number];
        let trace = &self.run.traces[part.trace];
        let n = pixels.len();
        let whole = self.window.pixel_ns() as f64;
        let mut from = 0;
        for run in pixels.chunk_by(|a, b| a.longest == b.longest) {
            let (start, end) = (from, from + run.len());
            from = end;
            let id = run[0].longest;
            if id == Pixel::EMPTY {
                continue;
            }
            let name = part.name(trace, id as usize);
            let color = self.coloring.color(self.timeline, part, trace, id as usize);
            self.picture.colors.0[at * n..][start..end].fill(color);
            for (cover, pixel) in self.picture.covers.0[at * n..][start..end].iter_mut().zip(run) {
                *cover = (pixel.covered_ns as f64 / whole * 255.0).round() as u8;
            }
            if run.len() >= EDGE_PIXELS {
                self.picture.colors.0[at * n + start] |= START;
            }
            if run.len() >= LABEL_PIXELS {
                self.label(at, number, id as usize, name, color);
            }
        }
    }

    fn label(&mut self, at: usize, number: usize, id: usize, name: StringId, color: u8) {
        let part = &self.timeline.parts[number];
        let trace = &self.run.traces[part.trace];
        let (start, end) = part.span(trace, id);
        let names = &mut self.picture.names;
        let name = *self.names.entry((part.trace, name)).or_insert_with(|| {
            names.push(shown(trace.strings.get_opt(name)).chars().take(300).collect());
            names.len() as u32 - 1
        });
        self.picture.labels.push(Label {
            row: at as u32,
            of: BoxName { part: number as u32, id: id as u32 },
            start_ns: self.timeline.from_start(part, start),
            end_ns: self.timeline.from_start(part, end),
            name,
            color,
        });
    }

    /// Marks the pixels of boxes that a search for `text` finds.
    fn light(&mut self, at: &[usize], number: usize, rows: &[usize], text: &str) {
        let part = &self.timeline.parts[number];
        let trace = &self.run.traces[part.trace];
        // The search itself says what is wrong with the text.
        let Ok(matches) = self.timeline.matches(part.trace, trace, text) else { return };
        match &part.own {
            // Only slices have arguments.
            Some(_) if matches!(*matches, Matches::Slices(_)) => {}
            Some(boxes) => self.light_boxes(at, &part.index, boxes, rows, &matches),
            None => self.light_boxes(at, &part.index, SliceBoxes::new(trace), rows, &matches),
        }
    }

    fn light_boxes<B: BoxTable>(
        &mut self,
        at: &[usize],
        index: &super::TimelineIndex,
        boxes: B,
        rows: &[usize],
        matches: &Matches,
    ) {
        let n = self.window.n_pixels as usize;
        let window = self.window;
        let mut mark = |id: usize, place: usize| {
            if !matches.has_box(boxes, id) {
                return;
            }
            let start = boxes.start(id).wrapping_sub(index.origin) as u64;
            let last = (start.saturating_add((boxes.length(id) as u64).max(1)) - 1) >> window.bits;
            let first = (start >> window.bits).max(window.first_pixel);
            let last = last.min(window.first_pixel + window.n_pixels as u64 - 1);
            for pixel in first..=last {
                self.picture.colors.0[at[place] * n + (pixel - window.first_pixel) as usize] |= LIT;
            }
        };
        let first = super::line::first_at(index, boxes, window.start_ns());
        let end = super::line::first_at(index, boxes, window.end_ns());
        for (place, row) in rows.iter().enumerate() {
            if let Some(before) = index.row(*row).last_before(first) {
                mark(before as usize, place);
            }
        }
        let places = index.by_place(rows);
        for id in first..end {
            let place = places.of(boxes, id);
            if place < rows.len() {
                mark(id, place);
            }
        }
    }

    /// The largest value in each pixel, which lasts until the next one.
    fn paint_counter(&mut self, at: usize, points: &[(u64, f64)], max: f64) {
        let n = self.window.n_pixels as usize;
        let mut next = points.partition_point(|point| point.0 < self.window.start_ns());
        let mut value = next.checked_sub(1).map(|before| points[before].1);
        for pixel in 0..n {
            let end = (self.window.first_pixel + pixel as u64 + 1).saturating_mul(self.window.pixel_ns());
            let mut largest = value;
            while let Some((_, now)) = points.get(next).filter(|point| point.0 < end) {
                largest = Some(largest.map_or(*now, |largest| largest.max(*now)));
                value = Some(*now);
                next += 1;
            }
            if let Some(largest) = largest {
                let share = if max > 0.0 { (largest / max).clamp(0.0, 1.0) } else { 0.0 };
                self.picture.colors.0[at * n + pixel] = COUNTER;
                self.picture.covers.0[at * n + pixel] = (share * 255.0).round() as u8;
            }
        }
    }
}

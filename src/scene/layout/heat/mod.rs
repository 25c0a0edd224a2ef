//! Heat maps: cells by row and time, or by row and number, with a scale above them.

mod cells;
mod scale;

pub(super) use cells::{cell_at, next_cell};

use super::axes::{push_numbers, push_periods, push_times};
use super::texts::first_words;
use super::{DIGIT, FOOT, HEAD, LABEL, LETTER, RIGHT};
use crate::base::units::{Unit, format_float};
use crate::report::chart::{Grid, Heat, Over, Tone};
use crate::scene::{Anchor, Mark, Scene, axis};
use scale::{ScaleStep, push_scale, scale_of};
use std::ops::Range;

/// Row height where a map has few rows, so that each has its label; and where it has many.
const ROW: f64 = 15.0;
const LOW_ROW: f64 = 12.0;
/// Most rows that are of full height.
const MAX_FULL_ROWS: usize = 40;
/// Distance between labels.
const LABEL_STEP: f64 = 15.0;
/// Gap between rows that are not adjacent.
const APART: f64 = 6.0;
/// Minimum cell width; narrower cells are merged.
const MIN_CELL: f64 = 3.0;
const N_LEVELS: usize = 5;
/// Minimum share of one grid for a cell to get its color.
const MOST: f64 = 0.8;
/// Strength of cells without a difference.
const NEUTRAL: f64 = 0.4;

/// Where the cells of a map are.
struct Frame {
    /// Labels as far as there is room for them.
    labels: Vec<String>,
    /// Left of the cells, and their width together.
    gutter: f64,
    plot: f64,
    n_rows: usize,
    row_height: f64,
    n_columns: usize,
    /// Columns that are merged into a cell.
    every: usize,
    /// The smallest and the largest sum of a cell, without those that have no difference.
    least: f64,
    most: f64,
    scale: Vec<ScaleStep>,
    top: f64,
    bottom: f64,
}

impl Frame {
    fn new(heat: &Heat, width: f64) -> Frame {
        let n_rows = heat.labels.len();
        let room = width * 0.4;
        let shown = |label: &String| first_words(label, ((room - 12.0) / DIGIT) as usize);
        let labels: Vec<String> = heat.labels.iter().map(shown).collect();
        let letters = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let gutter = (letters as f64 * DIGIT + 12.0).clamp(0.0, room);
        let plot = width - gutter - RIGHT;
        let n_columns = heat.grids.iter().flat_map(|grid| &grid.rows).map(Vec::len).max().unwrap_or(0).max(1);
        // Counts of merged cells add up; other values don't.
        let every = match heat.over {
            Over::Number => 1,
            Over::Time | Over::Duration => ((MIN_CELL * n_columns as f64 / plot).ceil() as usize).max(1),
        };
        let n_apart = (0..n_rows).filter(|row| is_apart(heat, *row)).count();
        let mut frame = Frame {
            labels,
            gutter,
            plot,
            n_rows,
            row_height: if n_rows <= MAX_FULL_ROWS { ROW } else { LOW_ROW },
            n_columns,
            every,
            least: 0.0,
            most: 0.0,
            scale: Vec::new(),
            top: 0.0,
            bottom: 0.0,
        };
        let (least, most) = (0..n_rows)
            .flat_map(|row| frame.starts().map(move |at| (row, at)))
            .map(|(row, at)| graded(heat, &frame.counts(heat, row, at)))
            .filter(|value| *value > 0.0)
            .fold((f64::MAX, 0.0), |(least, most), value| (value.min(least), value.max(most)));
        if most > 0.0 {
            (frame.least, frame.most) = (least, most);
            frame.scale = scale_of(heat, least..=most, gutter, width);
        }
        let n_lines = frame.scale.last().map_or(0, |step| step.line + 1);
        let n_periods = if heat.periods.is_empty() { 0.0 } else { 1.0 };
        frame.top = HEAD + n_lines as f64 * LABEL + 8.0 + n_periods * LABEL;
        frame.bottom = frame.top + n_rows as f64 * frame.row_height + n_apart as f64 * APART;
        frame
    }

    /// First columns of the cells.
    fn starts(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.n_columns).step_by(self.every)
    }

    /// Columns of the cell from `at`.
    fn columns(&self, at: usize) -> Range<usize> {
        at..(at + self.every).min(self.n_columns)
    }

    /// Counts of each grid in the cell from `at`.
    fn counts(&self, heat: &Heat, row: usize, at: usize) -> Vec<f64> {
        let sum =
            |values: &[f64]| values.iter().filter(|value| value.is_finite() && **value > 0.0).sum::<f64>();
        let values = |grid: &'_ Grid| match grid.rows.get(row) {
            Some(values) => sum(values.get(at..(at + self.every).min(values.len())).unwrap_or_default()),
            None => 0.0,
        };
        heat.grids.iter().map(values).collect()
    }

    /// Lower edges of the rows, from the lowest row up.
    fn bases(&self, heat: &Heat) -> Vec<f64> {
        let mut base = self.bottom;
        (0..self.n_rows)
            .map(|row| {
                base -= if is_apart(heat, row) { APART } else { 0.0 };
                let here = base;
                base -= self.row_height;
                here
            })
            .collect()
    }

    /// Left edge and width of columns.
    fn extent(&self, columns: &Range<usize>) -> (f64, f64) {
        let step = self.plot / self.n_columns as f64;
        (self.gutter + columns.start as f64 * step, columns.len() as f64 * step)
    }
}

/// Sum of the counts that the scale is for.
fn graded(heat: &Heat, counts: &[f64]) -> f64 {
    heat.grids.iter().zip(counts).filter(|(grid, _)| !heat.is_neutral(grid)).map(|(_, count)| count).sum()
}

/// Strength of a cell whose largest possible sum is `most`.
fn strength(sum: f64, most: f64) -> f64 {
    let level = sum.ln_1p() / most.ln_1p().max(f64::MIN_POSITIVE) * N_LEVELS as f64;
    level.ceil().clamp(1.0, N_LEVELS as f64) / N_LEVELS as f64
}

fn is_apart(heat: &Heat, row: usize) -> bool {
    row > 0 && heat.is_apart.get(row).copied().unwrap_or(false)
}

/// Cells by row, from the bottom up, and time.
pub(super) fn heat_map(heat: &Heat, width: f64) -> Scene {
    let frame = Frame::new(heat, width);
    let (gutter, bottom) = (frame.gutter, frame.bottom);
    let legend: Vec<(String, Tone)> = match heat.over {
        Over::Number => heat.grids.iter().map(|grid| (grid.name.clone(), grid.tone)).collect(),
        Over::Time | Over::Duration => {
            let mostly = heat.grids.iter().map(|grid| (format!("mostly {}", grid.name), grid.tone));
            mostly.chain([heat.mixed.clone()]).collect()
        }
    };
    let mut scene = Scene { width, height: bottom + FOOT, marks: Vec::new(), legend };
    let span = heat.span.max(1) as f64;
    let mut label_base = f64::MAX;
    for (row, base) in frame.bases(heat).into_iter().enumerate() {
        if row == 0 || is_apart(heat, row) {
            let (from, to) = ((gutter, base), (width - RIGHT, base));
            scene.marks.push(Mark::Rule { from, to, is_limit: false });
        }
        if label_base - base >= LABEL_STEP {
            label_base = base;
            let text = frame.labels.get(row).cloned().unwrap_or_default();
            scene.marks.push(Mark::Text { x: gutter - 8.0, y: base - 3.0, anchor: Anchor::End, text });
        }
        for at in frame.starts() {
            let counts = frame.counts(heat, row, at);
            let all: f64 = counts.iter().sum();
            if all <= 0.0 {
                continue;
            }
            let graded = graded(heat, &counts);
            let main = heat.grids.iter().zip(&counts).find(|(_, count)| **count >= all * MOST);
            let (x, width) = frame.extent(&frame.columns(at));
            scene.marks.push(Mark::Cell {
                x,
                y: base - frame.row_height,
                width,
                height: frame.row_height,
                tone: main.map_or(heat.mixed.1, |(grid, _)| grid.tone),
                strength: if graded > 0.0 { strength(graded, frame.most) } else { NEUTRAL },
                title: title(heat, &frame, row, at, &counts),
            });
        }
    }
    let x_of = |ns: i64| gutter + ns as f64 / span * frame.plot;
    push_periods(&mut scene, &heat.periods, (gutter, frame.top - LABEL), bottom, x_of);
    match heat.over {
        Over::Number => push_numbers(&mut scene, heat.span, gutter, bottom),
        Over::Time | Over::Duration => push_times(&mut scene, (0.0, span), gutter, bottom),
    }
    push_scale(&mut scene, heat, frame.scale);
    scene
}

/// Text of the cell from column `at`: `rank 5 · #3 ProfilerStep#12: slower 6.0%`.
fn title(heat: &Heat, frame: &Frame, row: usize, at: usize, counts: &[f64]) -> String {
    let label = heat.labels.get(row).map_or("", String::as_str);
    let columns = frame.columns(at);
    let name = heat.names.get(at).filter(|name| !name.is_empty() && columns.len() == 1);
    let name = name.map(|name| format!(" {name}")).unwrap_or_default();
    let of_each: Vec<String> = heat
        .grids
        .iter()
        .zip(counts)
        .filter(|(_, count)| heat.over != Over::Number || **count > 0.0)
        .map(|(grid, count)| format!("{} {}", grid.name, format_float(*count, heat.unit)))
        .collect();
    let place = place(heat, frame.n_columns, columns);
    let mut title = format!("{label} · {place}{name}: {}", of_each.join(", "));
    // Of a bin of several, the one that has this value.
    if let Some((trace, source)) = heat.source((row, at)) {
        let number = format!("#{}", source.number);
        if trace.label != label || number != place {
            title.push_str(&format!(" ({} at {number})", trace.label));
        }
    }
    title
}

/// Text for the place of columns of a heat map, of `n` in all: a range of time, or of numbers.
fn place(heat: &Heat, n: usize, columns: Range<usize>) -> String {
    let span = heat.span.max(1);
    if heat.over != Over::Number {
        let time = |at: usize| axis::label(at as f64 / n as f64 * span as f64, Unit::NsOffset);
        return format!("{} to {}", time(columns.start), time(columns.end));
    }
    let n_before = |at: usize| (at as i128 * i128::from(span) + n as i128 - 1) / (n as i128).max(1);
    match (n_before(columns.start) + 1, n_before(columns.end)) {
        (first, last) if first < last => format!("#{first} to #{last}"),
        (first, _) => format!("#{first}"),
    }
}

//! Heat maps: cells by row and time, or by row and number, with a scale above them.

use super::axes::{push_numbers, push_periods, push_times};
use super::texts::first_words;
use super::{DIGIT, FOOT, HEAD, LABEL, LETTER, RIGHT};
use crate::base::units::{Unit, format_float};
use crate::report::chart::{Grid, Heat, Over, Tone};
use crate::scene::{Anchor, Mark, Scene, axis};
use std::ops::Range;

/// Cells by row, from the bottom up, and time.
pub(super) fn heat_map(heat: &Heat, width: f64) -> Scene {
    const ROW: f64 = 12.0;
    /// Gap between rows that are not adjacent.
    const APART: f64 = 6.0;
    /// Minimum cell width; narrower cells are merged.
    const MIN_CELL: f64 = 3.0;
    const LEVELS: f64 = 5.0;
    /// Minimum share of one grid for a cell to get its color.
    const MOST: f64 = 0.8;
    let n_rows = heat.labels.len();
    let room = width * 0.4;
    let shown = |label: &String| first_words(label, ((room - 12.0) / DIGIT) as usize);
    let shown: Vec<String> = heat.labels.iter().map(shown).collect();
    let letters = shown.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let gutter = (letters as f64 * DIGIT + 12.0).clamp(0.0, room);
    let plot = width - gutter - RIGHT;
    let n_times = heat.grids.iter().flat_map(|grid| &grid.rows).map(Vec::len).max().unwrap_or(0).max(1);
    // Counts of merged cells add up; other values don't.
    let every = match heat.over {
        Over::Number => 1,
        Over::Time | Over::Duration => ((MIN_CELL * n_times as f64 / plot).ceil() as usize).max(1),
    };
    let is_apart = |row: usize| row > 0 && heat.is_apart.get(row).copied().unwrap_or(false);
    let n_apart = (0..n_rows).filter(|row| is_apart(*row)).count();
    // Counts of each grid in the merged cells from `at`.
    let counts = |row: usize, at: usize| -> Vec<f64> {
        let sum =
            |values: &[f64]| values.iter().filter(|value| value.is_finite() && **value > 0.0).sum::<f64>();
        let values = |grid: &'_ Grid| match grid.rows.get(row) {
            Some(values) => sum(values.get(at..(at + every).min(values.len())).unwrap_or_default()),
            None => 0.0,
        };
        heat.grids.iter().map(values).collect()
    };
    let starts = || (0..n_times).step_by(every);
    let most = (0..n_rows)
        .flat_map(|row| starts().map(move |at| (row, at)))
        .map(|(row, at)| counts(row, at).iter().sum::<f64>())
        .fold(0.0, f64::max);
    let scale = if most > 0.0 { scale_of(heat, most, gutter, width, LEVELS as usize) } else { Vec::new() };
    let n_lines = scale.iter().map(|step| step.line).max().unwrap_or(0) + 1;
    let n_periods = if heat.periods.is_empty() { 0.0 } else { 1.0 };
    let top = HEAD + n_lines as f64 * LABEL + 8.0 + n_periods * LABEL;
    let bottom = top + n_rows as f64 * ROW + n_apart as f64 * APART;
    let legend: Vec<(String, Tone)> = match heat.over {
        Over::Number => heat.grids.iter().map(|grid| (grid.name.clone(), grid.tone)).collect(),
        Over::Time | Over::Duration => {
            let mostly = heat.grids.iter().map(|grid| (format!("mostly {}", grid.name), grid.tone));
            mostly.chain([heat.mixed.clone()]).collect()
        }
    };
    let mut scene = Scene { width, height: bottom + FOOT, marks: Vec::new(), legend };
    let span = heat.span.max(1) as f64;
    let step = plot / n_times as f64;
    let logarithm = most.ln_1p().max(f64::MIN_POSITIVE);
    let strength = |level: f64| level / LEVELS;
    let mut base = bottom;
    let mut label_base = f64::MAX;
    for row in 0..n_rows {
        if is_apart(row) {
            base -= APART;
        }
        if row == 0 || is_apart(row) {
            let (from, to) = ((gutter, base), (width - RIGHT, base));
            scene.marks.push(Mark::Rule { from, to, is_limit: false });
        }
        let label = heat.labels.get(row).map_or("", String::as_str);
        if label_base - base >= 15.0 {
            label_base = base;
            let text = shown.get(row).cloned().unwrap_or_default();
            scene.marks.push(Mark::Text { x: gutter - 8.0, y: base - 2.0, anchor: Anchor::End, text });
        }
        for at in starts() {
            let counts = counts(row, at);
            let all: f64 = counts.iter().sum();
            if all <= 0.0 {
                continue;
            }
            let level = (all.ln_1p() / logarithm * LEVELS).ceil().clamp(1.0, LEVELS);
            let main = heat.grids.iter().zip(&counts).find(|(_, count)| **count >= all * MOST);
            let end = (at + every).min(n_times);
            let of_each: Vec<String> = heat
                .grids
                .iter()
                .zip(&counts)
                .filter(|(_, count)| heat.over != Over::Number || **count > 0.0)
                .map(|(grid, count)| format!("{} {}", grid.name, format_float(*count, heat.unit)))
                .collect();
            scene.marks.push(Mark::Cell {
                x: gutter + at as f64 * step,
                y: base - ROW,
                width: (end - at) as f64 * step,
                height: ROW,
                tone: main.map_or(heat.mixed.1, |(grid, _)| grid.tone),
                strength: strength(level),
                title: format!("{label} · {}: {}", place(heat, n_times, at..end), of_each.join(", ")),
            });
        }
        base -= ROW;
    }
    let x_of = |ns: i64| gutter + ns as f64 / span * plot;
    push_periods(&mut scene, &heat.periods, (gutter, top - LABEL), bottom, x_of);
    match heat.over {
        Over::Number => push_numbers(&mut scene, heat.span, gutter, bottom),
        Over::Time | Over::Duration => push_times(&mut scene, (0.0, span), gutter, bottom),
    }
    push_scale(&mut scene, heat, scale);
    scene
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

/// An entry of the heat map scale: a text, after a cell of that strength if it has one.
struct ScaleStep {
    line: usize,
    x: f64,
    strength: Option<f64>,
    text: String,
}

/// Scale of a heat map, in as many lines as needed.
fn scale_of(heat: &Heat, most: f64, gutter: f64, width: f64, n_levels: usize) -> Vec<ScaleStep> {
    let x = gutter.min(width * 0.25);
    let text = match heat.over {
        Over::Number => format!("{}, up to", heat.what),
        Over::Time | Over::Duration => format!("{} per cell, up to", heat.what),
    };
    let mut at = x + text.chars().count() as f64 * LETTER + 10.0;
    let mut steps = vec![ScaleStep { line: 0, x, strength: None, text }];
    let (mut line, mut before) = (0, 0.0);
    for level in 1..=n_levels {
        let share = level as f64 / n_levels as f64;
        let count = (most.ln_1p() * share).exp_m1();
        let count = if heat.unit == Unit::Count { count.floor() } else { count }.min(most);
        // With few counts, the weakest strengths are unused.
        if count <= before {
            continue;
        }
        before = count;
        let text = format_float(count, heat.unit);
        let needed = 20.0 + text.chars().count() as f64 * LETTER;
        if at + needed > width {
            (line, at) = (line + 1, 0.0);
        }
        steps.push(ScaleStep { line, x: at, strength: Some(share), text });
        at += needed + 8.0;
    }
    steps
}

/// Draws the scale above the map.
fn push_scale(scene: &mut Scene, heat: &Heat, scale: Vec<ScaleStep>) {
    let tone = heat.grids.first().map_or(heat.mixed.1, |grid| grid.tone);
    for ScaleStep { line, x, strength, text } in scale {
        let y = HEAD + 10.0 + line as f64 * LABEL;
        let Some(strength) = strength else {
            scene.marks.push(Mark::Text { x, y, anchor: Anchor::Start, text });
            continue;
        };
        let (width, height, title) = (12.0, 12.0, String::new());
        scene.marks.push(Mark::Cell { x, y: y - 10.0, width, height, tone, strength, title });
        scene.marks.push(Mark::Text { x: x + 16.0, y, anchor: Anchor::Start, text });
    }
}

//! Layout of charts.

use super::{Anchor, Mark, Scene, axis};
use crate::base::units::{Unit, format_float};
use crate::report::chart::{
    Bars, Chart, Grid, Heat, Lines, Over, Part, Period, Plot, Points, Spans, Stretch, Threshold, Tone,
};

/// Height of the plot above the time axis.
const PLOT_HEIGHT: f64 = 200.0;
/// Space below it for axis texts.
const FOOT: f64 = 24.0;
/// Space above it, so that the text of the highest tick is not clipped.
const HEAD: f64 = 10.0;
/// Space for texts left of the plot.
const GUTTER: f64 = 72.0;
/// Space right of the plot, for half a text.
const RIGHT: f64 = 24.0;
/// A horizontal bar, and the space around it.
const LYING_BAR: f64 = 18.0;
const LYING_ROW: f64 = 26.0;
/// Height of a line of text.
const LABEL: f64 = 18.0;
/// Approximate width of a character.
const LETTER: f64 = 6.6;
/// Approximate width of a character in texts of mostly digits, which are wider.
const DIGIT: f64 = LETTER * 1.15;

/// Minimum ratio of smallest to largest value for an axis that doesn't start at 0.
const MOSTLY_THERE: f64 = 0.5;

/// Lays out a chart on `width` pixels. The number of marks is proportional to the chart's content.
pub fn layout(chart: &Chart, width: f64) -> Scene {
    let width = if width.is_finite() { width.clamp(240.0, 4000.0) } else { 800.0 };
    match &chart.plot {
        Plot::Bars(bars) if bars.is_strip => strip(bars, width),
        Plot::Bars(bars) => lying_bars(bars, &[], width),
        Plot::Lines(lines) => drawn_lines(lines, width),
        Plot::Heat(heat) => heat_map(heat, width),
        Plot::Points(points) => scatter(points, width),
        Plot::Spans(spans) => rows_of_spans(spans, width),
        Plot::Measured(measured) => lying_bars(&measured.bars, &measured.thresholds, width),
    }
}

/// Truncates a text to a number of characters.
fn cut(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters.max(2)) {
        Some(_) => {
            let end = text.char_indices().nth(letters.max(2) - 1).map_or(text.len(), |(end, _)| end);
            format!("{}…", &text[..end])
        }
        None => text.to_string(),
    }
}

/// The first words of a text that fit, or as much of the first word as fits.
fn first_words(text: &str, letters: usize) -> String {
    let end = text.char_indices().nth(letters).map(|(end, _)| end);
    match end.and_then(|end| text[..end].rfind(' ')) {
        Some(space) => text[..space].to_string(),
        None => cut(text, letters),
    }
}

fn title(bar: &str, part: &str, value: f64, unit: Unit) -> String {
    let value = format_float(value, unit);
    match (bar.is_empty(), part.is_empty()) {
        (true, true) => value,
        (true, false) => format!("{part}: {value}"),
        (false, true) => format!("{bar}: {value}"),
        (false, false) => format!("{bar} · {part}: {value}"),
    }
}

fn legend(bars: &Bars) -> Vec<(String, crate::report::chart::Tone)> {
    match bars.parts.as_slice() {
        [_] => Vec::new(),
        // Invisible parts need no legend.
        parts => {
            let is_drawn = |part: &&Part| part.values.iter().any(|value| *value > 0.0);
            parts.iter().filter(is_drawn).map(|part| (part.name.clone(), part.tone)).collect()
        }
    }
}

/// The longest bar.
fn longest(bars: &Bars) -> f64 {
    (0..bars.labels.len())
        .map(|at| bars.parts.iter().filter_map(|part| part.values.get(at)).sum::<f64>())
        .filter(|sum| sum.is_finite())
        .fold(0.0, f64::max)
}

/// Width of the gutter for row labels.
fn gutter_for(labels: &[String], width: f64) -> f64 {
    let letters = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    (letters as f64 * LETTER + 12.0).clamp(0.0, width * 0.3)
}

/// A label in that gutter, for the row at `top`.
fn row_label(label: &str, gutter: f64, top: f64) -> Mark {
    // Half a character more, so that rounding doesn't truncate the widest label.
    let text = cut(label, ((gutter - 12.0) / LETTER + 0.5) as usize);
    Mark::Text { x: gutter - 8.0, y: top + LYING_BAR * 0.7, anchor: Anchor::End, text }
}

fn lying_bars(bars: &Bars, thresholds: &[Threshold], width: f64) -> Scene {
    let gutter = gutter_for(&bars.labels, width);
    let plot = width - gutter - RIGHT;
    let thresholds =
        thresholds.iter().filter(|threshold| threshold.value.is_finite() && threshold.value > 0.0);
    let thresholds: Vec<&Threshold> = thresholds.collect();
    // The axis ends at the longest bar, so that it isn't half empty.
    let max = thresholds.iter().map(|threshold| threshold.value).fold(longest(bars), f64::max);
    let ticks = axis::linear(max, ((plot / 110.0) as usize).max(1), bars.unit);
    let max = max.max(f64::MIN_POSITIVE);
    // Names of lines are above the bars, one per row, as lines may be close to each other.
    let top = HEAD + thresholds.len() as f64 * LABEL;
    let bottom = top + bars.labels.len() as f64 * LYING_ROW;
    let mut scene = Scene { width, height: bottom + FOOT, marks: Vec::new(), legend: legend(bars) };
    for tick in ticks.iter().filter(|tick| **tick <= max) {
        let x = gutter + tick / max * plot;
        scene.marks.push(Mark::Rule { from: (x, top), to: (x, bottom), is_limit: false });
        let text = axis::label(*tick, bars.unit);
        scene.marks.push(Mark::Text { x, y: bottom + 16.0, anchor: Anchor::Middle, text });
    }
    for (at, label) in bars.labels.iter().enumerate() {
        let y = top + at as f64 * LYING_ROW + (LYING_ROW - LYING_BAR) / 2.0;
        scene.marks.push(row_label(label, gutter, y));
        let mut x = gutter;
        for part in &bars.parts {
            let Some(value) = part.values.get(at).filter(|value| value.is_finite() && **value > 0.0) else {
                continue;
            };
            let length = value / max * plot;
            scene.marks.push(Mark::Rect {
                x,
                y,
                width: length,
                height: LYING_BAR,
                tone: part.tone,
                title: title(label, &part.name, *value, bars.unit),
            });
            x += length;
        }
    }
    for (at, threshold) in thresholds.into_iter().enumerate() {
        let x = gutter + threshold.value / max * plot;
        let y = HEAD + (at + 1) as f64 * LABEL;
        scene.marks.push(Mark::Rule { from: (x, y - LABEL + 4.0), to: (x, bottom), is_limit: true });
        let (anchor, x) = if x > width / 2.0 { (Anchor::End, x - 6.0) } else { (Anchor::Start, x + 6.0) };
        let value = axis::label(threshold.value, bars.unit);
        let text = cut(&format!("{}: {value}", threshold.name), (width / 2.0 / LETTER) as usize);
        scene.marks.push(Mark::Text { x, y: y - 4.0, anchor, text });
    }
    scene
}

/// Draws ticks, grid and texts of a vertical axis; returns the function from value to position.
fn upright_axis(scene: &mut Scene, max: f64, unit: Unit) -> impl Fn(f64) -> f64 + use<> {
    axis_of_ticks(scene, axis::linear(max, 4, unit), unit)
}

/// Draws given ticks; the axis starts at the first one.
fn axis_of_ticks(scene: &mut Scene, ticks: Vec<f64>, unit: Unit) -> impl Fn(f64) -> f64 + use<> {
    let bottom = ticks.first().copied().unwrap_or(0.0);
    let top = ticks.last().copied().unwrap_or(0.0).max(bottom + f64::MIN_POSITIVE);
    let place = move |value: f64| {
        HEAD + PLOT_HEIGHT - ((value - bottom) / (top - bottom)).clamp(0.0, 1.0) * PLOT_HEIGHT
    };
    for tick in ticks {
        let y = place(tick);
        scene.marks.push(Mark::Rule { from: (GUTTER, y), to: (scene.width - RIGHT, y), is_limit: false });
        let text = axis::label(tick, unit);
        scene.marks.push(Mark::Text { x: GUTTER - 8.0, y: y + 4.0, anchor: Anchor::End, text });
    }
    place
}

fn strip(bars: &Bars, width: f64) -> Scene {
    let mut scene =
        Scene { width, height: HEAD + PLOT_HEIGHT + FOOT, marks: Vec::new(), legend: legend(bars) };
    let place = upright_axis(&mut scene, longest(bars), bars.unit);
    let n = bars.labels.len().max(1) as f64;
    let plot = width - GUTTER - RIGHT;
    let each = plot / n;
    // A gap between bars, if they are wide enough.
    let gap = if each > 6.0 { (each * 0.15).min(8.0) } else { 0.0 };
    for (at, label) in bars.labels.iter().enumerate() {
        let mut sum = 0.0;
        for part in &bars.parts {
            let Some(value) = part.values.get(at).filter(|value| value.is_finite() && **value > 0.0) else {
                continue;
            };
            let (from, to) = (place(sum), place(sum + value));
            sum += value;
            scene.marks.push(Mark::Rect {
                x: GUTTER + at as f64 * each + gap / 2.0,
                y: to,
                width: (each - gap).max(0.5),
                height: from - to,
                tone: part.tone,
                title: title(label, &part.name, *value, bars.unit),
            });
        }
    }
    let mut text = |at: usize, anchor| {
        let Some(label) = bars.labels.get(at) else { return };
        let x = match anchor {
            Anchor::Start => GUTTER,
            Anchor::Middle => GUTTER + (at as f64 + 0.5) * each,
            Anchor::End => width - RIGHT,
        };
        let text = cut(label, (plot / 3.0 / LETTER) as usize);
        scene.marks.push(Mark::Text { x, y: HEAD + PLOT_HEIGHT + 16.0, anchor, text });
    };
    match bars.labels.len() {
        0 => {}
        n if n <= 6 && plot / n as f64 > 60.0 => (0..n).for_each(|at| text(at, Anchor::Middle)),
        1 => text(0, Anchor::Middle),
        n => {
            // Without space for three texts, the description of the bars matters most.
            if plot > 480.0 {
                text(0, Anchor::Start);
                text(n - 1, Anchor::End);
            }
            let y = HEAD + PLOT_HEIGHT + 16.0;
            let what = format!("{} →", bars.what);
            scene.marks.push(Mark::Text { x: GUTTER + plot / 2.0, y, anchor: Anchor::Middle, text: what });
        }
    }
    scene
}

fn drawn_lines(lines: &Lines, width: f64) -> Scene {
    let is_log = lines.over == Over::Duration;
    let all = || lines.lines.iter().flat_map(|line| &line.points);
    let start = all().map(|point| point.0).min().unwrap_or(0);
    let end = all().map(|point| point.0).max().unwrap_or(1).max(start.saturating_add(1));
    let max = all().map(|point| point.1).filter(|value| value.is_finite()).fold(0.0, f64::max);
    let legend = match lines.lines.as_slice() {
        [_] => Vec::new(),
        lines => lines.iter().map(|line| (line.name.clone(), line.tone)).collect(),
    };
    let mut scene = Scene { width, height: HEAD + PLOT_HEIGHT + FOOT, marks: Vec::new(), legend };
    // If values vary little compared with their size, as with memory, the axis starts below the smallest.
    let min = all().map(|point| point.1).filter(|value| value.is_finite()).fold(max, f64::min);
    let begins_high = lines.unit == Unit::Bytes && min > MOSTLY_THERE * max && max > 0.0 && min < max;
    let ticks = match begins_high {
        true => axis::around(min, max, 4, lines.unit),
        false => axis::linear(max, 4, lines.unit),
    };
    let place = axis_of_ticks(&mut scene, ticks, lines.unit);
    let plot = width - GUTTER - RIGHT;
    let span = end.saturating_sub(start).max(1) as f64;
    let powers = axis::powers_of_ten(start.max(1) as f64, end.max(2) as f64);
    let log = |ns: f64| ns.max(1.0).log10();
    let (low, high) = (log(powers[0]), log(powers[powers.len() - 1]));
    let x_of = |ts: i64| match is_log {
        true => GUTTER + (log(ts as f64) - low) / (high - low).max(1.0) * plot,
        false => GUTTER + ts.saturating_sub(start) as f64 / span * plot,
    };
    let base = HEAD + PLOT_HEIGHT;
    for line in &lines.lines {
        let mut corners: Vec<(f64, f64)> = Vec::with_capacity(line.points.len() * 2);
        for (ts, value) in line.points.iter().filter(|point| point.1.is_finite()) {
            let (x, y) = (x_of(*ts), place(*value));
            // A value holds until the next.
            if let Some((_, before)) = corners.last().copied().filter(|_| lines.over != Over::Number) {
                corners.push((x, before));
            }
            corners.push((x, y));
        }
        // A filled area would suggest that the axis starts at 0.
        let base = (lines.lines.len() == 1 && !begins_high).then_some(base);
        scene.marks.push(Mark::Path { corners, tone: line.tone, base });
    }
    // Number texts are short.
    let room = if lines.over == Over::Time { 140.0 } else { 60.0 };
    let n_ticks = ((plot / room) as usize).max(2);
    let ticks = match is_log {
        true => {
            powers.iter().copied().step_by(powers.len().div_ceil(((plot / 80.0) as usize).max(2))).collect()
        }
        false => axis::between(start as f64, end as f64, n_ticks),
    };
    for tick in ticks {
        let x = x_of(tick as i64);
        scene.marks.push(Mark::Rule { from: (x, base), to: (x, base + 4.0), is_limit: false });
        let unit = match lines.over {
            Over::Time => Unit::NsOffset,
            Over::Duration => Unit::Ns,
            Over::Number => Unit::Count,
        };
        let text = axis::label(tick, unit);
        scene.marks.push(Mark::Text { x, y: base + 16.0, anchor: Anchor::Middle, text });
    }
    if lines.over == Over::Time && !lines.periods.is_empty() {
        scene.height += LABEL;
        scene.marks = scene.marks.into_iter().map(|mark| mark.moved(0.0, LABEL)).collect();
        push_periods(&mut scene, &lines.periods, (GUTTER, HEAD), base + LABEL, x_of);
    }
    scene
}

/// Starts and ends of periods, as lines from `top` to `bottom` with their names at the top if they fit; right of `left`, at
/// positions given by `x_of`.
fn push_periods(
    scene: &mut Scene,
    periods: &[Period],
    (left, top): (f64, f64),
    bottom: f64,
    x_of: impl Fn(i64) -> f64,
) {
    /// Minimum distance of lines.
    const APART: f64 = 2.0;
    const MIN_LETTERS: usize = 3;
    let right = scene.width - RIGHT;
    let x_of = |ns: i64| x_of(ns).clamp(left, right);
    let mut edges: Vec<f64> =
        periods.iter().flat_map(|period| [x_of(period.start), x_of(period.end)]).collect();
    edges.sort_by(f64::total_cmp);
    edges.dedup_by(|next, before| *next - *before < APART);
    for x in edges {
        scene.marks.push(Mark::Rule { from: (x, top), to: (x, bottom), is_limit: true });
    }
    // Names of overlapping periods would overlap.
    let mut free_from = left;
    for period in periods {
        let (from, to) = (x_of(period.start) + 4.0, x_of(period.end));
        let letters = ((to - from) / LETTER).max(0.0) as usize;
        if from < free_from || letters < MIN_LETTERS {
            continue;
        }
        free_from = to;
        let text = cut(&period.name, letters);
        scene.marks.push(Mark::Text { x: from, y: top + 10.0, anchor: Anchor::Start, text });
    }
}

/// Cells by row, from the bottom up, and time.
fn heat_map(heat: &Heat, width: f64) -> Scene {
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
    let every = ((MIN_CELL * n_times as f64 / plot).ceil() as usize).max(1);
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
    let mut legend: Vec<(String, Tone)> =
        heat.grids.iter().map(|grid| (format!("mostly {}", grid.name), grid.tone)).collect();
    legend.push(heat.mixed.clone());
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
                .map(|(grid, count)| format!("{} {}", grid.name, format_float(*count, Unit::Count)))
                .collect();
            let time = |at: usize| axis::label(at as f64 / n_times as f64 * span, Unit::NsOffset);
            scene.marks.push(Mark::Cell {
                x: gutter + at as f64 * step,
                y: base - ROW,
                width: (end - at) as f64 * step,
                height: ROW,
                tone: main.map_or(heat.mixed.1, |(grid, _)| grid.tone),
                strength: strength(level),
                title: format!("{label} · {} to {}: {}", time(at), time(end), of_each.join(", ")),
            });
        }
        base -= ROW;
    }
    let x_of = |ns: i64| gutter + ns as f64 / span * plot;
    push_periods(&mut scene, &heat.periods, (gutter, top - LABEL), bottom, x_of);
    push_times(&mut scene, (0.0, span), gutter, bottom);
    push_scale(&mut scene, heat, scale);
    scene
}

/// Time axis from the gutter to the right, below `bottom`.
fn push_times(scene: &mut Scene, (start, end): (f64, f64), gutter: f64, bottom: f64) {
    let plot = scene.width - gutter - RIGHT;
    // A single tick would only show 0 on a small screen.
    let n_ticks = ((plot / 140.0) as usize).max(2);
    for tick in axis::between(start, end, n_ticks) {
        let x = gutter + (tick - start) / (end - start).max(1.0) * plot;
        let text = axis::label(tick, Unit::NsOffset);
        scene.marks.push(Mark::Text { x, y: bottom + 16.0, anchor: Anchor::Middle, text });
    }
}

/// Rows from the top down, time from left to right.
fn rows_of_spans(spans: &Spans, width: f64) -> Scene {
    let gutter = gutter_for(&spans.labels, width);
    let plot = width - gutter - RIGHT;
    let start = spans.spans.iter().map(|span| span.start).min().unwrap_or(0) as f64;
    let end = (spans.spans.iter().map(Stretch::end).max().unwrap_or(0) as f64).max(start + 1.0);
    let bottom = HEAD + spans.labels.len() as f64 * LYING_ROW;
    let mut scene = Scene { width, height: bottom + FOOT, marks: Vec::new(), legend: spans.legend.clone() };
    let top_of = |row: usize| HEAD + row as f64 * LYING_ROW + (LYING_ROW - LYING_BAR) / 2.0;
    for (row, label) in spans.labels.iter().enumerate() {
        scene.marks.push(row_label(label, gutter, top_of(row)));
    }
    scene.marks.push(Mark::Rule { from: (gutter, bottom), to: (width - RIGHT, bottom), is_limit: false });
    for span in spans.spans.iter().filter(|span| (span.row as usize) < spans.labels.len()) {
        let x_of = |ns: i64| gutter + (ns as f64 - start) / (end - start) * plot;
        let length = x_of(span.end()) - x_of(span.start);
        // Adjacent spans of one color are separated by a gap, if there is space.
        let gap = if length > 3.0 { 0.75 } else { 0.0 };
        let meaning = spans.legend.iter().find(|(_, tone)| *tone == span.tone).map_or("", |(name, _)| name);
        scene.marks.push(Mark::Rect {
            x: x_of(span.start),
            y: top_of(span.row as usize),
            width: (length - gap).max(0.5),
            height: LYING_BAR,
            tone: span.tone,
            title: title(&span.name, meaning, span.dur.max(0) as f64, Unit::Ns),
        });
    }
    push_times(&mut scene, (start, end), gutter, bottom);
    scene
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
    let text = format!("{} per cell, up to", heat.what);
    let mut at = x + text.chars().count() as f64 * LETTER + 10.0;
    let mut steps = vec![ScaleStep { line: 0, x, strength: None, text }];
    let (mut line, mut before) = (0, 0.0);
    for level in 1..=n_levels {
        let share = level as f64 / n_levels as f64;
        let count = (most.ln_1p() * share).exp_m1().floor().min(most);
        // With few counts, the weakest strengths are unused.
        if count <= before {
            continue;
        }
        before = count;
        let text = format_float(count, Unit::Count);
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

fn scatter(points: &Points, width: f64) -> Scene {
    const HEIGHT: f64 = 320.0;
    // Texts such as `100 TFLOP/s` are long.
    const GUTTER: f64 = 96.0;
    // The slope starts far below the visible range.
    let tops = || points.limits.iter().filter_map(|limit| limit.corners.last()).map(|corner| corner.1);
    let positive = |value: &f64| value.is_finite() && *value > 0.0;
    let range = |values: &mut dyn Iterator<Item = f64>| {
        let (mut min, mut max) = (f64::MAX, 0.0f64);
        for value in values.filter(positive) {
            min = min.min(value);
            max = max.max(value);
        }
        if min > max { (1.0, 10.0) } else { (min, max) }
    };
    let x_range = range(&mut points.points.iter().map(|point| point.x));
    let y_range = range(&mut points.points.iter().map(|point| point.y).chain(tops()));
    let (x_ticks, y_ticks) =
        (axis::powers_of_ten(x_range.0, x_range.1), axis::powers_of_ten(y_range.0, y_range.1));
    let bottom = HEAD + LABEL + HEIGHT;
    let plot = width - GUTTER - RIGHT;
    let log = |value: f64, ticks: &[f64]| {
        let (first, last) = (ticks[0].log10(), ticks[ticks.len() - 1].log10());
        ((value.log10() - first) / (last - first)).clamp(0.0, 1.0)
    };
    let x_of = |value: f64| GUTTER + log(value, &x_ticks) * plot;
    let y_of = |value: f64| bottom - log(value, &y_ticks) * HEIGHT;
    let mut scene =
        Scene { width, height: bottom + FOOT + LABEL, marks: Vec::new(), legend: points.legend.clone() };
    let every = x_ticks.len().div_ceil(((plot / 80.0) as usize).max(2));
    for (at, tick) in x_ticks.iter().enumerate() {
        let x = x_of(*tick);
        scene.marks.push(Mark::Rule { from: (x, HEAD + LABEL), to: (x, bottom), is_limit: false });
        if at % every == 0 {
            let text = axis::label(*tick, points.x.unit);
            scene.marks.push(Mark::Text { x, y: bottom + 16.0, anchor: Anchor::Middle, text });
        }
    }
    for tick in &y_ticks {
        let y = y_of(*tick);
        scene.marks.push(Mark::Rule { from: (GUTTER, y), to: (width - RIGHT, y), is_limit: false });
        let text = axis::label(*tick, points.y.unit);
        scene.marks.push(Mark::Text { x: GUTTER - 8.0, y: y + 4.0, anchor: Anchor::End, text });
    }
    scene.marks.push(Mark::Text {
        x: 0.0,
        y: HEAD + 4.0,
        anchor: Anchor::Start,
        text: points.y.label.clone(),
    });
    let x = GUTTER + plot / 2.0;
    scene.marks.push(Mark::Text {
        x,
        y: bottom + FOOT + 10.0,
        anchor: Anchor::Middle,
        text: points.x.label.clone(),
    });
    // Positions of limit names, to avoid overlap.
    let mut names: Vec<f64> = Vec::new();
    for limit in &points.limits {
        for pair in limit.corners.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            if let Some((from, to)) = clip(start, end, (x_ticks[0], x_ticks[x_ticks.len() - 1]), y_ticks[0]) {
                let (from, to) = ((x_of(from.0), y_of(from.1)), (x_of(to.0), y_of(to.1)));
                scene.marks.push(Mark::Rule { from, to, is_limit: true });
            }
        }
        if let Some(last) = limit.corners.last() {
            let mut y = y_of(last.1) - 5.0;
            let is_taken = |y: f64| names.iter().any(|other| (other - y).abs() < LABEL * 0.75);
            if is_taken(y) {
                // Place it below its line.
                y += LABEL;
            }
            while is_taken(y) {
                y += LABEL * 0.75;
            }
            names.push(y);
            scene.marks.push(Mark::Text {
                x: width - RIGHT,
                y,
                anchor: Anchor::End,
                text: limit.name.clone(),
            });
        }
    }
    for point in points.points.iter().filter(|point| positive(&point.x) && positive(&point.y)) {
        let weight = if point.weight.is_finite() { point.weight.clamp(0.0, 1.0) } else { 0.0 };
        let values = format!(
            "{}: {}, {}",
            point.name,
            format_float(point.y, points.y.unit),
            axis::label(point.x, points.x.unit)
        );
        scene.marks.push(Mark::Dot {
            x: x_of(point.x),
            y: y_of(point.y),
            radius: 3.0 + 9.0 * weight.sqrt(),
            tone: point.tone,
            title: values,
        });
    }
    scene
}

/// The part of a non-decreasing line, straight on logarithmic axes, within `x` and above `bottom`.
fn clip(from: (f64, f64), to: (f64, f64), x: (f64, f64), bottom: f64) -> Option<((f64, f64), (f64, f64))> {
    let is_sound = from.0 > 0.0 && from.1 > 0.0 && to.0 > from.0 && to.1 > bottom;
    if !is_sound || to.0 <= x.0 || from.0 >= x.1 {
        return None;
    }
    let slope = (to.1.ln() - from.1.ln()) / (to.0.ln() - from.0.ln());
    let at = |x: f64| (x, (from.1.ln() + slope * (x.ln() - from.0.ln())).exp());
    // Where it crosses the bottom.
    let rises =
        if from.1 < bottom { (from.0.ln() + (bottom.ln() - from.1.ln()) / slope).exp() } else { from.0 };
    let start = rises.max(x.0);
    if start >= x.1 || start >= to.0 {
        return None;
    }
    let first = if start > from.0 { at(start) } else { from };
    Some((first, if to.0 > x.1 { at(x.1) } else { to }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::chart::{Axis, Limit, Line, Measured, Point, Tone};

    fn chart(plot: Plot) -> Chart {
        Chart { id: "c".into(), title: String::new(), caption: String::new(), plot }
    }

    fn bars(labels: &[&str], values: &[f64], is_strip: bool) -> Plot {
        Plot::Bars(Bars {
            labels: labels.iter().map(|label| (*label).to_string()).collect(),
            parts: vec![Part { name: "p".into(), tone: Tone::Computation, values: values.to_vec() }],
            unit: Unit::Ns,
            is_strip,
            what: "step".into(),
        })
    }

    fn heat(labels: Vec<String>, grids: Vec<Vec<Vec<f64>>>, span: i64) -> Plot {
        let grid = |rows| Grid { name: "reads".into(), tone: Tone::Other(0), rows };
        Plot::Heat(Heat {
            is_apart: vec![true; labels.len()],
            labels,
            grids: grids.into_iter().map(grid).collect(),
            mixed: ("both".into(), Tone::Other(3)),
            what: "accesses".into(),
            span,
            periods: Vec::new(),
        })
    }

    #[test]
    fn periods_are_marked_over_lines_and_cells() {
        let period = |name: &str, start, end| Period { name: name.into(), start, end };
        // The last period is too short for its name.
        let periods =
            vec![period("weight_load", -5, 40), period("generation", 40, 99), period("teardown", 99, 100)];
        let line = Line { name: "l".into(), tone: Tone::Other(0), points: vec![(0, 1.0), (100, 2.0)] };
        let mut lines = Lines::new(vec![line], Unit::Bytes, Over::Time);
        lines.periods.clone_from(&periods);
        let Plot::Heat(mut cells) = heat(vec!["a".into()], vec![vec![vec![1.0; 10]]], 100) else { return };
        cells.periods = periods;
        for plot in [Plot::Lines(lines), Plot::Heat(cells)] {
            let scene = layout(&chart(plot), 600.0);
            let edges = scene.marks.iter().filter(|mark| matches!(mark, Mark::Rule { is_limit: true, .. }));
            assert_eq!(edges.count(), 4);
            let has = |name: &str| {
                scene.marks.iter().any(|mark| matches!(mark, Mark::Text { text, .. } if text == name))
            };
            assert_eq!(["weight_load", "generation", "teardown"].map(has), [true, true, false]);
        }
    }

    #[test]
    fn cells_say_what_they_hold() {
        let grids = vec![vec![vec![9.0, 0.0], vec![1.0, 0.0]], vec![vec![1.0, 0.0], vec![1.0, 1000.0]]];
        let scene = layout(&chart(heat(vec!["a".into(), "b".into()], grids, 100)), 600.0);
        let cells: Vec<(f64, Tone, f64, &str)> = scene
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Cell { y, tone, strength, title, .. } if !title.is_empty() => {
                    Some((*y, *tone, *strength, title.as_str()))
                }
                _ => None,
            })
            .collect();
        let [a, b, c] = cells.as_slice() else { panic!("{cells:?}") };
        assert!(a.0 > b.0 && b.0 == c.0, "the first row is the lowest");
        assert_eq!((a.1, b.1, c.2), (Tone::Other(0), Tone::Other(3), 1.0));
        assert!(b.2 < a.2 && a.2 < c.2);
        assert_eq!(b.3, "b · 0 to 50 ns: reads 1, reads 1");
        assert_eq!(scene.legend.last().unwrap().0, "both");
    }

    #[test]
    fn what_cells_stand_for_is_whole_however_narrow() {
        let grids = vec![vec![vec![1.0, 900_000.0]]];
        for width in [220.0, 326.0, 900.0] {
            let scene = layout(&chart(heat(vec!["0x7f0000001000".into()], grids.clone(), 100)), width);
            let is_step = |mark: &&Mark| matches!(mark, Mark::Cell { title, .. } if title.is_empty());
            assert_eq!(scene.marks.iter().filter(is_step).count(), 5, "{width}");
            let cell_tops = scene.marks.iter().filter_map(|mark| match mark {
                Mark::Cell { y, height, title, .. } => Some((title.is_empty(), *y, y + height)),
                _ => None,
            });
            let (scale, cells): (Vec<_>, Vec<_>) = cell_tops.partition(|cell| cell.0);
            let end = scale.iter().map(|cell| cell.2).fold(0.0, f64::max);
            assert!(cells.iter().all(|cell| cell.1 >= end), "{width}: the map is below");
        }
    }

    #[test]
    fn labels_of_places_keep_their_first_words_where_there_is_little_room() {
        let labels = vec!["0x7f0000001000 76.0 KiB unknown".to_string(), "0x7f0000014000 4 KiB".to_string()];
        let grids = vec![vec![vec![1.0, 2.0], vec![3.0, 4.0]]];
        let texts = |width: f64| -> Vec<(f64, String)> {
            let scene = layout(&chart(heat(labels.clone(), grids.clone(), 1_000)), width);
            let is_label = |mark: &Mark| match mark {
                Mark::Text { x, text, anchor: Anchor::End, .. } => Some((*x, text.clone())),
                _ => None,
            };
            scene.marks.iter().filter_map(is_label).collect()
        };
        let of = |width| texts(width).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(of(330.0), ["0x7f0000001000", "0x7f0000014000"]);
        assert_eq!(of(800.0), labels);
        assert!(texts(330.0).iter().all(|(x, text)| text.len() as f64 * DIGIT <= *x));
        assert_eq!(first_words("abcdef ghi", 4), "abc…");
        assert_eq!(first_words("ab cd ef", 6), "ab cd");
    }

    #[test]
    fn everything_lies_inside_whatever_the_numbers() {
        let odd = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 5.0];
        let long = "x".repeat(500);
        let labels = [long.as_str(), "", "b", "c", "d", "e"];
        let line = |points| Line { name: "l".into(), tone: Tone::Other(9), points };
        let point = |x, y| Point { name: "p".into(), x, y, weight: f64::NAN, tone: Tone::Idle };
        let axis = |unit| Axis { label: "a".into(), unit };
        let threshold = |value| Threshold { name: long.clone(), value };
        let thresholds = odd.map(threshold).to_vec();
        let Plot::Bars(lying) = bars(&labels, &odd, false) else { return };
        let plots = [
            bars(&labels, &odd, true),
            bars(&labels, &odd, false),
            bars(&[], &[], true),
            bars(&[], &[], false),
            Plot::Lines(Lines::new(
                vec![line(vec![(0, f64::NAN), (5, 3.0), (9, -1.0)])],
                Unit::Bytes,
                Over::Time,
            )),
            Plot::Lines(Lines::new(Vec::new(), Unit::Count, Over::Number)),
            Plot::Lines(Lines::new(
                vec![line(vec![(0, 0.0), (5, f64::NAN), (i64::MAX, 1.0)]), line(vec![(7, 0.5)])],
                Unit::Ratio,
                Over::Duration,
            )),
            Plot::Lines(Lines::new(vec![line(vec![(i64::MAX, 1.0)])], Unit::Ratio, Over::Duration)),
            Plot::Lines(Lines::new(Vec::new(), Unit::Ratio, Over::Duration)),
            heat(
                vec!["0x1000".into(), long.clone(), String::new()],
                vec![
                    vec![vec![0.0, f64::NAN, -1.0, f64::INFINITY, 1e9], Vec::new()],
                    vec![vec![7.0; 5], vec![1e300; 9]],
                ],
                i64::MAX,
            ),
            heat(Vec::new(), Vec::new(), 0),
            Plot::Measured(Measured { bars: lying, thresholds }),
            Plot::Points(Points {
                points: odd.iter().flat_map(|x| odd.iter().map(move |y| point(*x, *y))).collect(),
                limits: vec![Limit { name: "l".into(), corners: vec![(1e-9, 1.0), (1.0, 1e9), (1e12, 1e9)] }],
                legend: Vec::new(),
                x: axis(Unit::Plain),
                y: axis(Unit::FlopsPerSecond),
            }),
        ];
        for plot in plots {
            for width in [f64::NAN, 0.0, 320.0, 1e9] {
                let scene = layout(&chart(plot.clone()), width);
                let fits = |x: f64, y: f64| {
                    x.is_finite()
                        && y.is_finite()
                        && (-1.0..=scene.width + 1.0).contains(&x)
                        && (-1.0..=scene.height + 1.0).contains(&y)
                };
                for mark in &scene.marks {
                    let is_inside = match mark {
                        Mark::Rect { x, y, width, height, .. } | Mark::Cell { x, y, width, height, .. } => {
                            fits(*x, *y) && fits(x + width, y + height)
                        }
                        Mark::Path { corners, .. } => corners.iter().all(|(x, y)| fits(*x, *y)),
                        Mark::Dot { x, y, .. } | Mark::Text { x, y, .. } => fits(*x, *y),
                        Mark::Rule { from, to, .. } => fits(from.0, from.1) && fits(to.0, to.1),
                    };
                    assert!(is_inside, "{mark:?} in {} x {}", scene.width, scene.height);
                }
            }
        }
    }

    #[test]
    fn limits_are_cut_where_they_leave_the_picture() {
        let near =
            |a: (f64, f64), b: (f64, f64)| (a.0 / b.0 - 1.0).abs() < 1e-9 && (a.1 / b.1 - 1.0).abs() < 1e-9;
        // y = 100 x, seen from x 0.1 and y 100 on.
        let (from, to) = clip((1e-6, 1e-4), (50.0, 5000.0), (0.1, 10.0), 100.0).unwrap();
        assert!(near(from, (1.0, 100.0)) && near(to, (10.0, 1000.0)), "{from:?} {to:?}");
        assert_eq!(clip((1e-6, 1e-4), (0.5, 50.0), (0.1, 10.0), 100.0), None);
        assert_eq!(clip((20.0, 1.0), (50.0, 1.0), (0.1, 10.0), 0.5), None);
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let scene = layout(&chart(bars(&["a", "b"], &[10.0, 5.0], false)), 600.0);
        let widths: Vec<f64> = scene
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Rect { width, .. } => Some(*width),
                _ => None,
            })
            .collect();
        assert!((widths[0] - 2.0 * widths[1]).abs() < 1e-9);
    }
}

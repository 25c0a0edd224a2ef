//! Lines over time, duration or a number.

use super::axes::{axis_of_ticks, push_periods};
use super::{FOOT, GUTTER, HEAD, LABEL, PLOT_HEIGHT, RIGHT};
use crate::base::units::Unit;
use crate::report::chart::{Lines, Over};
use crate::scene::{Anchor, Mark, Scene, axis};

/// Minimum ratio of smallest to largest value for an axis that doesn't start at 0.
const MOSTLY_THERE: f64 = 0.5;

/// First and last value of the x axis.
fn ends(lines: &Lines) -> (i64, i64) {
    let all = || lines.lines.iter().flat_map(|line| &line.points).map(|point| point.0);
    let start = all().min().unwrap_or(0);
    (start, all().max().unwrap_or(1).max(start.saturating_add(1)))
}

/// Nanoseconds at `x` of lines over time laid out on `width` pixels; beside them, of their nearer end. `None` for others.
pub(super) fn time_at(lines: &Lines, width: f64, x: f64) -> Option<i64> {
    let (start, end) = ends(lines);
    let share = ((x - GUTTER) / (width - GUTTER - RIGHT)).clamp(0.0, 1.0);
    (lines.over == Over::Time).then_some(start + (share * (end.saturating_sub(start)) as f64).round() as i64)
}

pub(super) fn drawn_lines(lines: &Lines, width: f64) -> Scene {
    let is_log = lines.over == Over::Duration;
    let all = || lines.lines.iter().flat_map(|line| &line.points);
    let (start, end) = ends(lines);
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
        // All durations are below the end of the axis, a power of ten: their share stays what it is at the longest.
        if let Some((_, last)) = corners.last().copied().filter(|_| is_log) {
            corners.push((GUTTER + plot, last));
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

//! Boxes over time, between two values.

use super::axes::axis_as_high_as;
use super::{FOOT, GUTTER, HEAD, RIGHT};
use crate::base::units::{Unit, format_float};
use crate::report::chart::{Boxes, Over};
use crate::scene::{Anchor, Mark, Scene, axis};

/// Height of the plot above the time axis: many boxes lie on top of each other.
const HEIGHT: f64 = 360.0;
/// Boxes at least this high are separated from those above by a gap.
const APART: f64 = 3.0;
const GAP: f64 = 0.75;

pub(super) fn boxes_over_time(boxes: &Boxes, width: f64) -> Scene {
    let is_drawable = |low: f64, high: f64| low.is_finite() && high.is_finite() && low >= 0.0 && high > low;
    let drawn = || boxes.boxes.iter().filter(|it| is_drawable(it.low, it.high) && it.end >= it.start);
    let start = drawn().map(|it| it.start).min().unwrap_or(0);
    let end = drawn().map(|it| it.end).max().unwrap_or(1).max(start.saturating_add(1));
    let max = drawn().map(|it| it.high).fold(0.0, f64::max);
    let mut scene =
        Scene { width, height: HEAD + HEIGHT + FOOT, marks: Vec::new(), legend: boxes.legend.clone() };
    let place = axis_as_high_as(HEIGHT, &mut scene, axis::linear(max, 4, boxes.unit), boxes.unit);
    let plot = width - GUTTER - RIGHT;
    let (from, span) = (start as f64, end as f64 - start as f64);
    let x_of = |at: f64| GUTTER + ((at - from) / span).clamp(0.0, 1.0) * plot;
    let unit = match boxes.over {
        Over::Time => Unit::NsOffset,
        Over::Duration => Unit::Ns,
        Over::Number => Unit::Count,
    };
    for it in drawn() {
        let (left, right) = (x_of(it.start as f64), x_of(it.end as f64));
        let (top, bottom) = (place(it.high), place(it.low));
        let gap = if bottom - top >= APART { GAP } else { 0.0 };
        scene.marks.push(Mark::Rect {
            x: left,
            y: top + gap,
            width: right - left,
            height: bottom - top - gap,
            tone: it.tone,
            title: format!(
                "{}: {}, {} to {}",
                it.name,
                format_float(it.high - it.low, boxes.unit),
                axis::label(it.start as f64, unit),
                axis::label(it.end as f64, unit),
            ),
        });
    }
    let base = HEAD + HEIGHT;
    // Number texts are short.
    let room = if boxes.over == Over::Number { 60.0 } else { 140.0 };
    for tick in axis::between(from, end as f64, ((plot / room) as usize).max(2)) {
        let x = x_of(tick);
        scene.marks.push(Mark::Rule { from: (x, base), to: (x, base + 4.0), is_limit: false });
        let text = axis::label(tick, unit);
        scene.marks.push(Mark::Text { x, y: base + 16.0, anchor: Anchor::Middle, text });
    }
    scene
}

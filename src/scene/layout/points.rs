//! Points and limits on logarithmic axes.

use super::{FOOT, HEAD, LABEL, RIGHT};
use crate::base::units::format_float;
use crate::report::chart::Points;
use crate::scene::{Anchor, Mark, Scene, axis};

pub(super) fn scatter(points: &Points, width: f64) -> Scene {
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
pub(super) fn clip(
    from: (f64, f64),
    to: (f64, f64),
    x: (f64, f64),
    bottom: f64,
) -> Option<((f64, f64), (f64, f64))> {
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

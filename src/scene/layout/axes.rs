//! Axes that several plots have, and periods marked on them.

use super::texts::cut;
use super::{GUTTER, HEAD, LETTER, PLOT_HEIGHT, RIGHT};
use crate::base::sort;
use crate::base::units::Unit;
use crate::report::chart::Period;
use crate::scene::{Anchor, Mark, Scene, axis};

/// Draws ticks, grid and texts of a vertical axis; returns the function from value to position.
pub(super) fn upright_axis(scene: &mut Scene, max: f64, unit: Unit) -> impl Fn(f64) -> f64 + use<> {
    axis_of_ticks(scene, axis::linear(max, 4, unit), unit)
}

/// Draws given ticks; the axis starts at the first one.
pub(super) fn axis_of_ticks(scene: &mut Scene, ticks: Vec<f64>, unit: Unit) -> impl Fn(f64) -> f64 + use<> {
    axis_as_high_as(PLOT_HEIGHT, scene, ticks, unit)
}

/// The same for a plot of another height.
pub(super) fn axis_as_high_as(
    height: f64,
    scene: &mut Scene,
    ticks: Vec<f64>,
    unit: Unit,
) -> impl Fn(f64) -> f64 + use<> {
    let bottom = ticks.first().copied().unwrap_or(0.0);
    let top = ticks.last().copied().unwrap_or(0.0).max(bottom + f64::MIN_POSITIVE);
    let place =
        move |value: f64| HEAD + height - ((value - bottom) / (top - bottom)).clamp(0.0, 1.0) * height;
    for tick in ticks {
        let y = place(tick);
        scene.marks.push(Mark::Rule { from: (GUTTER, y), to: (scene.width - RIGHT, y), is_limit: false });
        let text = axis::label(tick, unit);
        scene.marks.push(Mark::Text { x: GUTTER - 8.0, y: y + 4.0, anchor: Anchor::End, text });
    }
    place
}

/// Time axis from the gutter to the right, below `bottom`.
pub(super) fn push_times(scene: &mut Scene, (start, end): (f64, f64), gutter: f64, bottom: f64) {
    let plot = scene.width - gutter - RIGHT;
    // A single tick would only show 0 on a small screen.
    let n_ticks = ((plot / 140.0) as usize).max(2);
    for tick in axis::between(start, end, n_ticks) {
        let x = gutter + (tick - start) / (end - start).max(1.0) * plot;
        let text = axis::label(tick, Unit::NsOffset);
        scene.marks.push(Mark::Text { x, y: bottom + 16.0, anchor: Anchor::Middle, text });
    }
}

/// Axis of the numbers 1 to `n` in equal columns from the gutter to the right, below `bottom`.
pub(super) fn push_numbers(scene: &mut Scene, n: i64, gutter: f64, bottom: f64) {
    let plot = scene.width - gutter - RIGHT;
    let n = n.max(1);
    let every = (n as f64 * 60.0 / plot.max(1.0)).ceil().max(1.0) as i64;
    for number in (1..=n).step_by(usize::try_from(every).unwrap_or(usize::MAX)) {
        let x = gutter + (number as f64 - 0.5) / n as f64 * plot;
        let text = number.to_string();
        scene.marks.push(Mark::Text { x, y: bottom + 16.0, anchor: Anchor::Middle, text });
    }
}

/// Starts and ends of periods, as lines from `top` to `bottom` with their names at the top if they fit; right of `left`, at
/// positions given by `x_of`.
pub(super) fn push_periods(
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
    sort::by(&mut edges, f64::total_cmp);
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

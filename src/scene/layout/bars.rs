//! Bars: lying ones with labels at their left, to both sides of zero if they have negative values, and strips of upright ones.

use super::axes::upright_axis;
use super::texts::{cut, gutter_for, row_label, title};
use super::{FOOT, GUTTER, HEAD, LABEL, LETTER, LYING_BAR, LYING_ROW, PLOT_HEIGHT, RIGHT};
use crate::report::chart::{Bars, Part, Threshold, Tone};
use crate::scene::{Anchor, Mark, Scene, axis};

fn legend(bars: &Bars) -> Vec<(String, Tone)> {
    match bars.parts.as_slice() {
        [_] => Vec::new(),
        // Invisible parts need no legend.
        parts => {
            let is_drawn = |part: &&Part| part.values.iter().any(|value| *value != 0.0);
            parts.iter().filter(is_drawn).map(|part| (part.name.clone(), part.tone)).collect()
        }
    }
}

/// The longest bar, of the parts above zero times `sign`.
fn longest(bars: &Bars, sign: f64) -> f64 {
    let length = |at: usize| -> f64 {
        let values = bars.parts.iter().filter_map(|part| part.values.get(at));
        values.map(|value| (value * sign).max(0.0)).sum()
    };
    (0..bars.labels.len()).map(length).filter(|sum| sum.is_finite()).fold(0.0, f64::max)
}

pub(super) fn lying_bars(bars: &Bars, thresholds: &[Threshold], width: f64) -> Scene {
    let gutter = gutter_for(&bars.labels, width);
    let plot = width - gutter - RIGHT;
    let thresholds =
        thresholds.iter().filter(|threshold| threshold.value.is_finite() && threshold.value > 0.0);
    let thresholds: Vec<&Threshold> = thresholds.collect();
    // The axis ends at the longest bar of each side, so that it isn't half empty.
    let max = thresholds.iter().map(|threshold| threshold.value).fold(longest(bars, 1.0), f64::max);
    let low = longest(bars, -1.0);
    let span = (max + low).max(f64::MIN_POSITIVE);
    let n_ticks = (plot * max.max(low) / span / 110.0) as usize;
    let ticks = axis::linear(max.max(low), n_ticks.max(1), bars.unit);
    let zero = gutter + low / span * plot;
    // Names of lines are above the bars, one per row, as lines may be close to each other.
    let top = HEAD + thresholds.len() as f64 * LABEL;
    let bottom = top + bars.labels.len() as f64 * LYING_ROW;
    let mut scene = Scene { width, height: bottom + FOOT, marks: Vec::new(), legend: legend(bars) };
    let below = ticks.iter().rev().filter(|tick| **tick > 0.0 && **tick <= low).map(|tick| -tick);
    for tick in below.chain(ticks.iter().copied().filter(|tick| *tick <= max)) {
        let x = zero + tick / span * plot;
        scene.marks.push(Mark::Rule { from: (x, top), to: (x, bottom), is_limit: false });
        let sign = if tick < 0.0 { "−" } else { "" };
        let text = format!("{sign}{}", axis::label(tick.abs(), bars.unit));
        scene.marks.push(Mark::Text { x, y: bottom + 16.0, anchor: Anchor::Middle, text });
    }
    for (at, label) in bars.labels.iter().enumerate() {
        let y = top + at as f64 * LYING_ROW + (LYING_ROW - LYING_BAR) / 2.0;
        scene.marks.push(row_label(label, gutter, y));
        let (mut left, mut right) = (zero, zero);
        for part in &bars.parts {
            let Some(value) = part.values.get(at).filter(|value| value.is_finite() && **value != 0.0) else {
                continue;
            };
            let width = value.abs() / span * plot;
            let x = if *value < 0.0 { left - width } else { right };
            if *value < 0.0 {
                left = x
            } else {
                right = x + width
            }
            scene.marks.push(Mark::Rect {
                x,
                y,
                width,
                height: LYING_BAR,
                tone: part.tone,
                title: title(label, &part.name, value.abs(), bars.unit),
            });
        }
    }
    for (at, threshold) in thresholds.into_iter().enumerate() {
        let x = zero + threshold.value / span * plot;
        let y = HEAD + (at + 1) as f64 * LABEL;
        scene.marks.push(Mark::Rule { from: (x, y - LABEL + 4.0), to: (x, bottom), is_limit: true });
        let (anchor, x) = if x > width / 2.0 { (Anchor::End, x - 6.0) } else { (Anchor::Start, x + 6.0) };
        let value = axis::label(threshold.value, bars.unit);
        let text = cut(&format!("{}: {value}", threshold.name), (width / 2.0 / LETTER) as usize);
        scene.marks.push(Mark::Text { x, y: y - 4.0, anchor, text });
    }
    scene
}

pub(super) fn strip(bars: &Bars, width: f64) -> Scene {
    let mut scene =
        Scene { width, height: HEAD + PLOT_HEIGHT + FOOT, marks: Vec::new(), legend: legend(bars) };
    let place = upright_axis(&mut scene, longest(bars, 1.0), bars.unit);
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

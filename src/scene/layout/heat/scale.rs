//! Scale of a heat map: texts of the values that cells of each strength have at most.

use super::{HEAD, LABEL, LETTER, N_LEVELS, strength};
use crate::base::units::{Unit, format_float};
use crate::report::chart::{Heat, Over};
use crate::scene::{Anchor, Mark, Scene};
use std::ops::RangeInclusive;

/// Decimals of percentages, at most.
const MAX_DECIMALS: usize = 3;

/// An entry of the heat map scale: a text, after a cell of that strength if it has one.
pub(super) struct ScaleStep {
    pub line: usize,
    x: f64,
    strength: Option<f64>,
    text: String,
}

/// Scale of a heat map, in as many lines as needed. Strengths that no value of the `range` has are left out.
pub(super) fn scale_of(heat: &Heat, range: RangeInclusive<f64>, gutter: f64, width: f64) -> Vec<ScaleStep> {
    let x = gutter.min(width * 0.25);
    let text = match heat.over {
        Over::Number => format!("{}, up to", heat.what),
        Over::Time | Over::Duration => format!("{} per cell, up to", heat.what),
    };
    let mut at = x + text.chars().count() as f64 * LETTER + 10.0;
    let mut steps = vec![ScaleStep { line: 0, x, strength: None, text }];
    let mut line = 0;
    for (share, text) in levels(heat.unit, range) {
        let needed = 20.0 + text.chars().count() as f64 * LETTER;
        if at + needed > width {
            (line, at) = (line + 1, 0.0);
        }
        steps.push(ScaleStep { line, x: at, strength: Some(share), text });
        at += needed + 8.0;
    }
    steps
}

/// Strengths, and the texts of the largest values that have them. With few counts, the weakest strengths are unused.
fn levels(unit: Unit, range: RangeInclusive<f64>) -> Vec<(f64, String)> {
    let (least, most) = (strength(*range.start(), *range.end()), *range.end());
    let shares = (1..=N_LEVELS).map(|level| level as f64 / N_LEVELS as f64).filter(|share| *share >= least);
    let value = |share: f64| {
        let value = (most.ln_1p() * share).exp_m1();
        if unit == Unit::Count { value.floor() } else { value }.min(most)
    };
    let values: Vec<(f64, f64)> =
        shares.map(|share| (share, value(share))).filter(|(_, value)| *value > 0.0).collect();
    let texts = |text: &dyn Fn(f64) -> String| {
        let mut texts: Vec<(f64, String)> = Vec::new();
        for (share, value) in &values {
            let text = text(*value);
            match texts.last_mut().filter(|last| last.1 == text) {
                // Of equal values, counts have the first strength; of rounded ones, the last has that value.
                Some(last) if unit != Unit::Count => last.0 = *share,
                Some(_) => {}
                None => texts.push((*share, text)),
            }
        }
        texts
    };
    let plain = texts(&|value| format_float(value, unit));
    if unit != Unit::Ratio || plain.len() == values.len() {
        return plain;
    }
    let percent = |decimals: usize| texts(&|value| format!("{:.decimals$}%", value * 100.0));
    (2..=MAX_DECIMALS).map(percent).find(|texts| texts.len() == values.len()).unwrap_or(plain)
}

/// Draws the scale above the map.
pub(super) fn push_scale(scene: &mut Scene, heat: &Heat, scale: Vec<ScaleStep>) {
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

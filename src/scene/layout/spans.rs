//! Spans in rows over time.

use super::axes::push_times;
use super::flame;
use super::texts::{fitting, gutter_for, row_label, title};
use super::{FOOT, HEAD, LYING_BAR, LYING_ROW, RIGHT};
use crate::base::units::Unit;
use crate::report::chart::{Spans, Stretch};
use crate::scene::{Anchor, Mark, Scene};

/// Space above a row that belongs to the one before.
const GAP: f64 = 1.0;
/// Opacity of stretches without room for a name, among paler ones with names.
const SHORT_STRENGTH: f64 = 0.7;

/// Rows from the top down, time from left to right.
pub(super) fn rows_of_spans(spans: &Spans, width: f64) -> Scene {
    let gutter = gutter_for(&spans.labels, width);
    let plot = width - gutter - RIGHT;
    let start = spans.spans.iter().map(|span| span.start).min().unwrap_or(0) as f64;
    let end = (spans.spans.iter().map(Stretch::end).max().unwrap_or(0) as f64).max(start + 1.0);
    let apart = LYING_ROW - LYING_BAR;
    let mut bottom = HEAD - apart / 2.0;
    let mut tops = Vec::with_capacity(spans.labels.len());
    for label in &spans.labels {
        let is_close = spans.has_names && label.is_empty() && !tops.is_empty();
        let top = bottom + if is_close { GAP } else { apart };
        tops.push(top);
        bottom = top + LYING_BAR;
    }
    let bottom = bottom + apart / 2.0;
    let mut scene = Scene { width, height: bottom + FOOT, marks: Vec::new(), legend: spans.legend.clone() };
    for (label, top) in spans.labels.iter().zip(&tops) {
        scene.marks.push(row_label(label, gutter, *top));
    }
    scene.marks.push(Mark::Rule { from: (gutter, bottom), to: (width - RIGHT, bottom), is_limit: false });
    for span in &spans.spans {
        let Some(y) = tops.get(span.row as usize).copied() else { continue };
        let x_of = |ns: i64| gutter + (ns as f64 - start) / (end - start) * plot;
        let length = x_of(span.end()) - x_of(span.start);
        // Adjacent spans of one color are separated by a gap, if there is space.
        let gap = if length > 3.0 { 0.75 } else { 0.0 };
        let meaning = spans.legend.iter().find(|(_, tone)| *tone == span.tone).map_or("", |(name, _)| name);
        let title = title(&span.name, meaning, span.dur.max(0) as f64, Unit::Ns);
        let (x, width, height, tone) = (x_of(span.start), (length - gap).max(0.5), LYING_BAR, span.tone);
        if !spans.has_names {
            scene.marks.push(Mark::Rect { x, y, width, height, tone, title });
            continue;
        }
        let has_room = width >= flame::MIN_TEXT;
        let strength = if has_room { flame::STRENGTH } else { SHORT_STRENGTH };
        scene.marks.push(Mark::Cell { x, y, width, height, tone, strength, title });
        if has_room && !span.name.is_empty() {
            let text = fitting(&span.name, width - 8.0);
            scene.marks.push(Mark::Text { x: x + 4.0, y: y + 13.0, anchor: Anchor::Start, text });
        }
    }
    push_times(&mut scene, (start, end), gutter, bottom);
    scene
}

//! Spans in rows over time.

use super::axes::push_times;
use super::texts::{gutter_for, row_label, title};
use super::{FOOT, HEAD, LYING_BAR, LYING_ROW, RIGHT};
use crate::base::units::Unit;
use crate::report::chart::{Spans, Stretch};
use crate::scene::{Mark, Scene};

/// Rows from the top down, time from left to right.
pub(super) fn rows_of_spans(spans: &Spans, width: f64) -> Scene {
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

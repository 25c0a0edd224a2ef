//! Where everything of a chart lies.

use super::{Anchor, Mark, Scene, axis};
use crate::base::units::{Unit, format_float};
use crate::report::chart::{Bars, Chart, Heat, Lines, Over, Part, Plot, Points, Tone};

/// Height of what stands above the time axis.
const PLOT_HEIGHT: f64 = 200.0;
/// Below it: room for texts of the axis.
const FOOT: f64 = 24.0;
/// Above it, so that the text of the highest tick is not cut.
const HEAD: f64 = 10.0;
/// Room for texts left of the plot.
const GUTTER: f64 = 72.0;
/// Room right of the plot, for half a text.
const RIGHT: f64 = 24.0;
/// A bar that lies, and the space around it.
const LYING_BAR: f64 = 18.0;
const LYING_ROW: f64 = 26.0;
/// Width of a letter, near enough for leaving room.
const LETTER: f64 = 6.6;

/// Share of the largest value that the least has to be for an axis that does not begin at 0.
const MOSTLY_THERE: f64 = 0.5;

/// Lays out a chart on `width` pixels. The number of marks is in proportion to what the chart holds.
pub fn layout(chart: &Chart, width: f64) -> Scene {
    let width = if width.is_finite() { width.clamp(240.0, 4000.0) } else { 800.0 };
    match &chart.plot {
        Plot::Bars(bars) if bars.is_strip => strip(bars, width),
        Plot::Bars(bars) => lying_bars(bars, width),
        Plot::Lines(lines) => drawn_lines(lines, width),
        Plot::Heat(heat) => ridges(heat, width),
        Plot::Points(points) => scatter(points, width),
    }
}

/// Cuts a text to so many letters.
fn cut(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters.max(2)) {
        Some(_) => {
            let end = text.char_indices().nth(letters.max(2) - 1).map_or(text.len(), |(end, _)| end);
            format!("{}…", &text[..end])
        }
        None => text.to_string(),
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
        // What is nowhere to be seen needs no explanation.
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

fn lying_bars(bars: &Bars, width: f64) -> Scene {
    let letters = bars.labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let gutter = (letters as f64 * LETTER + 12.0).clamp(0.0, width * 0.3);
    let plot = width - gutter - RIGHT;
    let ticks = axis::linear(longest(bars), ((plot / 110.0) as usize).max(1), bars.unit);
    // The axis ends where the longest bar does, or it would be half empty.
    let max = longest(bars).max(f64::MIN_POSITIVE);
    let bottom = HEAD + bars.labels.len() as f64 * LYING_ROW;
    let mut scene = Scene { width, height: bottom + FOOT, marks: Vec::new(), legend: legend(bars) };
    for tick in ticks.iter().filter(|tick| **tick <= max) {
        let x = gutter + tick / max * plot;
        scene.marks.push(Mark::Rule { from: (x, HEAD), to: (x, bottom), is_limit: false });
        let text = axis::label(*tick, bars.unit);
        scene.marks.push(Mark::Text { x, y: bottom + 16.0, anchor: Anchor::Middle, text });
    }
    for (at, label) in bars.labels.iter().enumerate() {
        let y = HEAD + at as f64 * LYING_ROW + (LYING_ROW - LYING_BAR) / 2.0;
        // Half a letter more, so that a label that the gutter was made for is not cut by rounding.
        let text = cut(label, ((gutter - 12.0) / LETTER + 0.5) as usize);
        scene.marks.push(Mark::Text { x: gutter - 8.0, y: y + LYING_BAR * 0.7, anchor: Anchor::End, text });
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
    scene
}

/// Ticks, grid and their texts for a value that grows upwards; gives what a value's place is.
fn upright_axis(scene: &mut Scene, max: f64, unit: Unit) -> impl Fn(f64) -> f64 + use<> {
    axis_of_ticks(scene, axis::linear(max, 4, unit), unit)
}

/// The same for ticks, the first of which is where the axis begins.
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
    // A gap between bars that are wide enough to have one.
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
            // Where there is no room for three texts, what the bars are says most.
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
    // Memory in use hardly varies beside what is always there: then the axis begins below the least.
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
        // An area would say that it begins at 0.
        let base = (lines.lines.len() == 1 && !begins_high).then_some(base);
        scene.marks.push(Mark::Path { corners, tone: line.tone, base });
    }
    // Numbers are short.
    let room = if lines.over == Over::Time { 140.0 } else { 60.0 };
    let n_ticks = ((plot / room) as usize).max(1);
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
    scene
}

/// One ridge a row, its height by the logarithm of the values, so that single accesses are seen beside millions.
fn ridges(heat: &Heat, width: f64) -> Scene {
    const ROW: f64 = 20.0;
    let letters = heat.labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    // Digits are wider than most letters.
    let gutter = (letters as f64 * LETTER * 1.15 + 12.0).clamp(0.0, width * 0.4);
    let plot = width - gutter - RIGHT;
    let bottom = HEAD + heat.rows.len() as f64 * ROW;
    let mut scene = Scene { width, height: bottom + FOOT, marks: Vec::new(), legend: Vec::new() };
    let all = heat.rows.iter().flatten().copied().filter(|value| value.is_finite());
    let top = all.fold(0.0, f64::max).ln_1p().max(f64::MIN_POSITIVE);
    for (at, row) in heat.rows.iter().enumerate() {
        let base = HEAD + (at + 1) as f64 * ROW;
        scene.marks.push(Mark::Rule { from: (gutter, base), to: (width - RIGHT, base), is_limit: false });
        if let Some(label) = heat.labels.get(at) {
            let text = cut(label, ((gutter - 12.0) / LETTER) as usize);
            scene.marks.push(Mark::Text { x: gutter - 8.0, y: base - 4.0, anchor: Anchor::End, text });
        }
        let step = plot / row.len().max(1) as f64;
        let mut corners = Vec::with_capacity(row.len() * 2);
        for (column, value) in row.iter().enumerate() {
            let height = if value.is_finite() { value.max(0.0).ln_1p() / top * (ROW - 3.0) } else { 0.0 };
            let x = gutter + column as f64 * step;
            corners.push((x, base - height));
            corners.push((x + step, base - height));
        }
        scene.marks.push(Mark::Path { corners, tone: Tone::Other(0), base: Some(base) });
    }
    let n_ticks = ((plot / 140.0) as usize).max(1);
    let span = heat.span.max(1) as f64;
    for tick in axis::between(0.0, span, n_ticks) {
        let x = gutter + tick / span * plot;
        let text = axis::label(tick, Unit::NsOffset);
        scene.marks.push(Mark::Text { x, y: bottom + 16.0, anchor: Anchor::Middle, text });
    }
    scene
}

fn scatter(points: &Points, width: f64) -> Scene {
    const HEIGHT: f64 = 320.0;
    const LABEL: f64 = 18.0;
    // Texts such as `100 TFLOP/s` are long.
    const GUTTER: f64 = 96.0;
    // The slope comes from far below anything that is drawn.
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
    for limit in &points.limits {
        for pair in limit.corners.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            if let Some((from, to)) = clip(start, end, (x_ticks[0], x_ticks[x_ticks.len() - 1]), y_ticks[0]) {
                let (from, to) = ((x_of(from.0), y_of(from.1)), (x_of(to.0), y_of(to.1)));
                scene.marks.push(Mark::Rule { from, to, is_limit: true });
            }
        }
        if let Some(last) = limit.corners.last() {
            let y = y_of(last.1) - 5.0;
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

/// The part of a line, straight on logarithmic axes and not falling, that lies within `x` and above `bottom`.
fn clip(from: (f64, f64), to: (f64, f64), x: (f64, f64), bottom: f64) -> Option<((f64, f64), (f64, f64))> {
    let is_sound = from.0 > 0.0 && from.1 > 0.0 && to.0 > from.0 && to.1 > bottom;
    if !is_sound || to.0 <= x.0 || from.0 >= x.1 {
        return None;
    }
    let slope = (to.1.ln() - from.1.ln()) / (to.0.ln() - from.0.ln());
    let at = |x: f64| (x, (from.1.ln() + slope * (x.ln() - from.0.ln())).exp());
    // Where it rises above the bottom.
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
    use crate::report::chart::{Axis, Limit, Line, Point, Tone};

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

    #[test]
    fn everything_lies_inside_whatever_the_numbers() {
        let odd = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 5.0];
        let long = "x".repeat(500);
        let labels = [long.as_str(), "", "b", "c", "d", "e"];
        let line = |points| Line { name: "l".into(), tone: Tone::Other(9), points };
        let point = |x, y| Point { name: "p".into(), x, y, weight: f64::NAN, tone: Tone::Idle };
        let axis = |unit| Axis { label: "a".into(), unit };
        let plots = [
            bars(&labels, &odd, true),
            bars(&labels, &odd, false),
            bars(&[], &[], true),
            bars(&[], &[], false),
            Plot::Lines(Lines {
                lines: vec![line(vec![(0, f64::NAN), (5, 3.0), (9, -1.0)])],
                unit: Unit::Bytes,
                over: Over::Time,
            }),
            Plot::Lines(Lines { lines: Vec::new(), unit: Unit::Count, over: Over::Number }),
            Plot::Lines(Lines {
                lines: vec![line(vec![(0, 0.0), (5, f64::NAN), (i64::MAX, 1.0)]), line(vec![(7, 0.5)])],
                unit: Unit::Ratio,
                over: Over::Duration,
            }),
            Plot::Lines(Lines {
                lines: vec![line(vec![(i64::MAX, 1.0)])],
                unit: Unit::Ratio,
                over: Over::Duration,
            }),
            Plot::Lines(Lines { lines: Vec::new(), unit: Unit::Ratio, over: Over::Duration }),
            Plot::Heat(Heat {
                labels: vec!["0x1000".into()],
                rows: vec![vec![0.0, f64::NAN, -1.0, f64::INFINITY, 1e9], Vec::new()],
                span: i64::MAX,
                unit: Unit::Count,
            }),
            Plot::Heat(Heat { labels: Vec::new(), rows: Vec::new(), span: 0, unit: Unit::Count }),
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
                        Mark::Rect { x, y, width, height, .. } => fits(*x, *y) && fits(x + width, y + height),
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

//! Chart data: what to draw, not how. Every chart has a table with the same numbers.
//!
//! Charts are small whatever the trace: their makers merge what would fall on the same pixel ([`Bars::at_most`],
//! [`Line::at_most`]).

use super::address_map::AddressMap;
use crate::base::sort;
use crate::base::units::Unit;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A chart.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Chart {
    /// Stable name in snake case, unique in its report.
    pub id: Cow<'static, str>,
    pub title: String,
    /// How to read it; may be empty.
    pub caption: String,
    pub plot: Plot,
}

impl Chart {
    /// File name of the chart with that id: `operations_2` for `operations_chart_2`.
    pub fn name_of(id: &str) -> String {
        id.replacen("_chart", "", 1)
    }
}

/// Kinds of charts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Plot {
    Bars(Bars),
    Lines(Lines),
    Heat(Heat),
    Points(Points),
    /// Bars with threshold lines.
    Measured(Measured),
    Spans(Spans),
    Flame(Flame),
    Boxes(Boxes),
    Addresses(AddressMap),
}

/// Meaning of a color. The page chooses the actual colors, which are distinguishable with color vision deficiency.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Tone {
    Computation,
    Communication,
    Copies,
    Idle,
    /// Side A of a comparison.
    SideA,
    /// Side B of a comparison.
    SideB,
    /// Anything else, by number: phases, kinds, series.
    Other(u8),
    /// More in side B of a comparison.
    More,
    /// Less in side B of a comparison.
    Less,
}

/// Stacked bars.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Bars {
    /// One for each bar.
    pub labels: Vec<String>,
    pub parts: Vec<Part>,
    pub unit: Unit,
    /// Bars are side by side without labels, in a meaningful order such as time or size.
    pub is_strip: bool,
    /// Noun for a bar in a strip: `step`, `duration`.
    pub what: String,
}

/// One series of stacked bars.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Part {
    pub name: String,
    pub tone: Tone,
    /// One value per bar; below zero, to the left of it, only in lying bars.
    pub values: Vec<f64>,
}

/// Line chart.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Lines {
    pub lines: Vec<Line>,
    pub unit: Unit,
    pub over: Over,
    /// Named time ranges, for lines over time.
    pub periods: Vec<Period>,
}

impl Lines {
    /// Without periods.
    pub fn new(lines: Vec<Line>, unit: Unit, over: Over) -> Lines {
        Lines { lines, unit, over, periods: Vec::new() }
    }
}

/// A named time range, such as a phase of a run, marked behind the measured data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Period {
    pub name: String,
    /// Nanoseconds from the start of the trace.
    pub start: i64,
    pub end: i64,
}

/// X axis of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Over {
    /// Time: a value applies until the next one.
    Time,
    /// Durations on a logarithmic axis. A value applies until the next one.
    Duration,
    /// Ordinal numbers from 1, with nothing in between.
    Number,
}

/// One line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Line {
    pub name: String,
    pub tone: Tone,
    /// Nanoseconds from the start of the trace, ascending, and the value from then on; or an ordinal number and its value.
    pub points: Vec<(i64, f64)>,
}

/// Timeline: time ranges in rows, on a common axis.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spans {
    /// One for each row, from the top.
    pub labels: Vec<String>,
    /// Meaning of colors.
    pub legend: Vec<(String, Tone)>,
    pub spans: Vec<Stretch>,
    /// Names are in the stretches that have room for them, which are paler for that. Rows without a label are close below the
    /// one before.
    pub has_names: bool,
}

/// Boxes over time, each between two values: on top of each other, they fill an area.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Boxes {
    /// Of the values.
    pub unit: Unit,
    pub over: Over,
    /// Meaning of colors.
    pub legend: Vec<(String, Tone)>,
    /// From back to front. What moves up or down is several boxes of one name.
    pub boxes: Vec<ValueBox>,
}

/// A range of time and of values.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ValueBox {
    pub name: String,
    pub tone: Tone,
    /// As in [`Line::points`].
    pub start: i64,
    pub end: i64,
    /// Both at least 0.
    pub low: f64,
    pub high: f64,
}

/// Flame graph: stacks merged from the root, each box as wide as its weight, below its caller.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Flame {
    /// Callers come before what they call.
    pub boxes: Vec<FlameBox>,
    /// Weight of all stacks.
    pub total: f64,
    pub unit: Unit,
}

/// A frame on one path of callers.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FlameBox {
    /// Name of the frame; of frames too thin to show, how many they are.
    pub name: String,
    /// File or module, and line; may be empty.
    pub place: String,
    /// Where the box starts, in weight from the left.
    pub start: f64,
    /// Weight of all stacks through it.
    pub weight: f64,
    /// Weight of the stacks that end in it.
    pub own: f64,
    /// Number of callers on its path.
    pub depth: u32,
    /// Stands for several that are too thin to show.
    pub is_rest: bool,
    /// A search found it.
    pub is_hit: bool,
    /// In a difference: weights of A and of B.
    pub sides: Option<(f64, f64)>,
}

impl FlameBox {
    /// How much more B has than A, from −1 (only in A) to 1 (only in B), by the larger of both; `None` without sides.
    pub fn change(&self) -> Option<f64> {
        let (a, b) = self.sides?;
        let larger = a.max(b);
        Some(if larger > 0.0 { (b - a) / larger } else { 0.0 })
    }
}

/// One time range.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stretch {
    pub name: String,
    pub tone: Tone,
    /// Row number.
    pub row: u32,
    /// Nanoseconds from the start of the trace.
    pub start: i64,
    /// Nanoseconds; not negative.
    pub dur: i64,
}

impl Stretch {
    /// Nanoseconds from the start of the trace.
    pub fn end(&self) -> i64 {
        self.start.saturating_add(self.dur.max(0))
    }
}

impl Spans {
    /// Merges neighbors in a row if both are shorter than 1/`n` of the total time and closer than that to each
    /// other. A merged range is named after its first and last member, and has the tone with the most time.
    ///
    /// This leaves about `n` ranges per row at most.
    pub fn at_most(mut self, n: usize) -> Spans {
        let start = self.spans.iter().map(|span| span.start).min().unwrap_or(0);
        let end = self.spans.iter().map(Stretch::end).max().unwrap_or(0);
        let least = end.saturating_sub(start) / (n.max(1) as i64);
        sort::by_key(&mut self.spans, |span| (span.row, span.start, span.end()));
        let mut joined: Vec<Stretch> = Vec::new();
        // For the last merged range: time by tone, and the name of the last member.
        let mut tones: Vec<(Tone, i64)> = Vec::new();
        let mut last_name: Option<String> = None;
        let close = |last: Option<&mut Stretch>, tones: &mut Vec<(Tone, i64)>, name: &mut Option<String>| {
            let (Some(last), Some(name)) = (last, name.take()) else { return };
            // The first one wins ties.
            if let Some((tone, _)) = tones.iter().rev().max_by_key(|(_, ns)| *ns) {
                last.tone = *tone;
            }
            last.name = format!("{} … {name}", last.name);
        };
        for span in self.spans {
            if let Some(last) = joined.last_mut()
                && last.row == span.row
                && last.dur < least
                && span.dur < least
                && span.start.saturating_sub(last.end()) < least
            {
                match tones.iter_mut().find(|(tone, _)| *tone == span.tone) {
                    Some((_, ns)) => *ns = ns.saturating_add(span.dur),
                    None => tones.push((span.tone, span.dur)),
                }
                last.dur = span.end().max(last.end()).saturating_sub(last.start);
                last_name = Some(span.name);
                continue;
            }
            close(joined.last_mut(), &mut tones, &mut last_name);
            tones = vec![(span.tone, span.dur)];
            joined.push(span);
        }
        close(joined.last_mut(), &mut tones, &mut last_name);
        self.spans = joined;
        self
    }
}

/// Heat map by place and time: cell intensity is the logarithm of the count, cell color the kind with the highest
/// count. Over numbers, a cell has one value of one kind.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Heat {
    /// One per row, lowest row first.
    pub labels: Vec<String>,
    /// Whether a gap separates the row from the one below.
    pub is_apart: Vec<bool>,
    /// Counts by kind, over the same places and times.
    pub grids: Vec<Grid>,
    /// Name and tone of cells with high counts of several kinds.
    pub mixed: (String, Tone),
    /// Plural noun for the counted things; of values, their name.
    pub what: String,
    /// Of the values.
    pub unit: Unit,
    pub over: Over,
    /// Nanoseconds from the start of the first time bin to the end of the last; or how many numbers the columns stand for. Column
    /// `c` of `n` starts after number `c * span / n`, rounded up.
    pub span: i64,
    pub periods: Vec<Period>,
    /// Names of the columns; empty if they have none.
    pub names: Vec<String>,
    /// Other traces that the cells are of. Links and Tracedrop files don't have it.
    pub sources: Option<Sources>,
}

/// What the cells of a heat map are of, where that is in other traces.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sources {
    pub traces: Vec<SourceTrace>,
    /// One row per place, with one value per column; `None` where the trace is unknown.
    pub cells: Vec<Vec<Option<Source>>>,
}

/// A trace by its file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SourceTrace {
    /// How rows name it: `rank 3`.
    pub label: String,
    /// File name.
    pub file: String,
}

/// What a cell is of: a number of a trace, such as a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Source {
    /// Index into [`Sources::traces`].
    pub trace: u32,
    /// From 1.
    pub number: u32,
    /// Start in nanoseconds from the start of that trace, if known, and nanoseconds it took.
    pub time: Option<(i64, i64)>,
}

impl Heat {
    /// Whether the cells of a grid have no difference: all of them have one strength, and they are not in the scale.
    pub fn is_neutral(&self, grid: &Grid) -> bool {
        self.over == Over::Number && grid.tone == self.mixed.1
    }

    /// What the cell in a row and column is of, if that is in another trace.
    pub fn source(&self, (row, column): (usize, usize)) -> Option<(&SourceTrace, Source)> {
        let sources = self.sources.as_ref()?;
        let source = (*sources.cells.get(row)?.get(column)?)?;
        Some((sources.traces.get(source.trace as usize)?, source))
    }
}

/// Counts of one kind by place and time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Grid {
    pub name: String,
    pub tone: Tone,
    /// One row per place, with a value per equal time bin, not negative.
    pub rows: Vec<Vec<f64>>,
}

/// Horizontal bars with threshold lines.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measured {
    pub bars: Bars,
    pub thresholds: Vec<Threshold>,
}

/// A value to compare others with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Threshold {
    pub name: String,
    pub value: f64,
}

/// Scatter plot with logarithmic axes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Points {
    pub points: Vec<Point>,
    /// Upper limits, as corners from left to right.
    pub limits: Vec<Limit>,
    /// Meaning of point colors; empty if they have none.
    pub legend: Vec<(String, Tone)>,
    pub x: Axis,
    pub y: Axis,
}

/// One point.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Point {
    pub name: String,
    /// Both above 0.
    pub x: f64,
    pub y: f64,
    /// Size from 0 to 1.
    pub weight: f64,
    pub tone: Tone,
}

/// An upper limit, such as a roofline.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Limit {
    pub name: String,
    pub corners: Vec<(f64, f64)>,
}

/// Label and unit of an axis.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Axis {
    pub label: String,
    pub unit: Unit,
}

impl Bars {
    /// Merges neighbors until there are at most `n` bars; each bar becomes the mean of its members.
    pub fn at_most(mut self, n: usize) -> Bars {
        let every = self.labels.len().div_ceil(n.max(1));
        if every < 2 {
            return self;
        }
        self.labels = self
            .labels
            .chunks(every)
            .map(|labels| match labels {
                [one] => one.clone(),
                [first, .., last] => format!("{first} … {last}"),
                [] => String::new(),
            })
            .collect();
        for part in &mut self.parts {
            part.values = part
                .values
                .chunks(every)
                .map(|values| values.iter().sum::<f64>() / values.len() as f64)
                .collect();
        }
        self
    }
}

impl Line {
    /// Downsamples to the maximum of each of `n` equal time bins, if there are more points.
    pub fn at_most(mut self, n: usize) -> Line {
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else { return self };
        let (start, span) = (first.0, (last.0 - first.0).max(1) as i128);
        let end = *last;
        if self.points.len() <= n.max(2) {
            return self;
        }
        let mut out: Vec<(i64, f64)> = Vec::with_capacity(n + 2);
        let mut at = usize::MAX;
        // The value at the start of a bin counts in it too.
        let mut held = 0.0f64;
        for (ts, value) in &self.points {
            let stretch = (i128::from(*ts - start) * n as i128 / span) as usize;
            match out.last_mut() {
                Some(point) if stretch == at => point.1 = point.1.max(*value),
                _ => {
                    let from = start + (stretch as i128 * span / n as i128) as i64;
                    out.push((from, if from < *ts { value.max(held) } else { *value }));
                    at = stretch;
                }
            }
            held = *value;
        }
        out.push(end);
        self.points = out;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_too_short_to_be_seen_are_joined_with_their_neighbours() {
        let stretch =
            |name: &str, tone, row, start, dur| Stretch { name: name.into(), tone, row, start, dur };
        let (a, b) = (Tone::Other(0), Tone::Other(1));
        let spans = vec![
            stretch("long", a, 0, 0, 500),
            stretch("first", b, 0, 500, 2),
            stretch("second", a, 0, 503, 3),
            stretch("third", a, 0, 507, 1),
            // Too far away.
            stretch("alone", b, 0, 600, 1),
            stretch("other row", b, 1, 601, 1),
            stretch("end", a, 1, 900, 100),
        ];
        let spans =
            Spans { labels: vec!["x".into(), "y".into()], legend: Vec::new(), spans, has_names: false };
        let spans = spans.at_most(100);
        let wanted = vec![
            stretch("long", a, 0, 0, 500),
            stretch("first … third", a, 0, 500, 8),
            stretch("alone", b, 0, 600, 1),
            stretch("other row", b, 1, 601, 1),
            stretch("end", a, 1, 900, 100),
        ];
        assert_eq!(spans.spans, wanted);
    }

    #[test]
    fn charts_stay_small_and_keep_their_peaks() {
        let points: Vec<(i64, f64)> = (0..10_000).map(|i| (i * 10, f64::from((i == 7_777) as u8))).collect();
        let line = Line { name: String::new(), tone: Tone::Idle, points }.at_most(100);
        assert!(line.points.len() <= 102 && line.points.is_sorted_by_key(|point| point.0));
        assert_eq!(line.points.iter().map(|point| point.1).fold(0.0, f64::max), 1.0);
        let bars = Bars {
            labels: (0..10).map(|i| i.to_string()).collect(),
            parts: vec![Part {
                name: String::new(),
                tone: Tone::Idle,
                values: (0..10).map(f64::from).collect(),
            }],
            unit: Unit::Count,
            is_strip: true,
            what: String::new(),
        }
        .at_most(4);
        assert_eq!(bars.labels, ["0 … 2", "3 … 5", "6 … 8", "9"]);
        assert_eq!(bars.parts[0].values, [1.0, 4.0, 7.0, 9.0]);
    }
}

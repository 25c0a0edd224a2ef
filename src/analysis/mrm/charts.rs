//! Charts of the memory metrics.

use super::histograms::{self, Bin};
use super::tables::Source;
use super::trust;
use crate::analysis::timeline::texts;
use crate::base::units::Unit;
use crate::memory::suitability::Thresholds;
use crate::memory::summary::KindSummary;

use crate::report::chart::{Bars, Chart, Line, Lines, Measured, Over, Part, Plot, Threshold, Tone};
use crate::report::{Column, Content, Table};

/// Limit on the points of a curve.
const MAX_POINTS: usize = 200;

/// Limit on the kinds in a chart, as files can define any number.
const MAX_KINDS: usize = 12;

/// Colors of what is of all kinds, and of reads and writes: those of kinds stand for kinds only.
pub const PLAIN: Tone = Tone::Computation;
pub const READS: Tone = Tone::Copies;
pub const WRITES: Tone = Tone::Communication;

/// Color of the n-th kind.
pub fn tone(number: usize) -> Tone {
    Tone::Other(number as u8)
}

fn chart(id: &'static str, title: &str, caption: &str, plot: Plot) -> Chart {
    Chart { id: id.into(), title: title.to_string(), caption: caption.to_string(), plot }
}

/// All charts, in the order of the tables.
pub fn all(source: &Source<'_, '_>, thresholds: &Thresholds, intervals: Vec<Line>) -> Vec<Chart> {
    if source.kinds.is_empty() {
        return Vec::new();
    }
    let shown = source.kinds.get(..MAX_KINDS).unwrap_or(source.kinds);
    let source = &Source { view: source.view, kinds: shown };
    let mut charts = Vec::new();
    // Durations that the clock can't tell from 0 have no distribution.
    let clock = trust::clock_of(source.view);
    if source.view.metrics.regions.iter().any(|region| clock.can_tell(region.retention_ns())) {
        charts.push(retention(source));
        charts.extend(retention_histogram(source));
    }
    charts.push(written_once(source, thresholds));
    charts.push(mix(source));
    charts.push(working_set(source));
    charts.push(strides(source));
    charts.extend(stride_histogram(source));
    if !intervals.is_empty() {
        charts.push(intervals_chart(intervals));
    }
    charts
}

fn bars(source: &Source<'_, '_>, unit: Unit, parts: Vec<(&str, Tone, Vec<f64>)>) -> Bars {
    let part = |(name, tone, values): (&str, Tone, Vec<f64>)| Part { name: name.to_string(), tone, values };
    Bars {
        labels: source.kinds.iter().map(|row| source.view.kinds.name(row.kind).to_string()).collect(),
        parts: parts.into_iter().map(part).collect(),
        unit,
        is_strip: false,
        what: "kind".to_string(),
    }
}

fn values(source: &Source<'_, '_>, value: impl Fn(&KindSummary) -> f64) -> Vec<f64> {
    source.kinds.iter().map(value).collect()
}

/// CDF of retention over the regions of a kind.
fn retention(source: &Source<'_, '_>) -> Chart {
    let line = |(number, row): (usize, &KindSummary)| {
        let regions = source.view.metrics.regions.iter().filter(|region| region.kind == row.kind);
        let mut kept: Vec<i64> = regions.map(|region| region.retention_ns()).collect();
        kept.sort_unstable();
        Line {
            name: source.view.kinds.name(row.kind).to_string(),
            tone: tone(number),
            points: cumulative(&kept),
        }
    };
    let lines = source.kinds.iter().enumerate().map(line).collect();
    chart(
        "retention_chart",
        "Retention CDF (% of regions)",
        "Logarithmic time axis. Retention below 1 µs is plotted at 1 µs.",
        Plot::Lines(Lines::new(lines, Unit::Ratio, Over::Duration)),
    )
}

/// Histogram, each bin stacked by kind.
fn histogram<T: PartialEq>(source: &Source<'_, '_>, bins: &[Bin<T>], what: &str) -> Plot {
    let part = |(number, row): (usize, &KindSummary)| Part {
        name: source.view.kinds.name(row.kind).to_string(),
        tone: tone(number),
        values: bins.iter().map(|bin| bin.count_of(row.kind) as f64).collect(),
    };
    Plot::Bars(Bars {
        labels: bins.iter().map(|bin| bin.label.clone()).collect(),
        parts: source.kinds.iter().enumerate().map(part).collect(),
        unit: Unit::Count,
        is_strip: true,
        what: what.to_string(),
    })
}

fn retention_histogram(source: &Source<'_, '_>) -> Option<Chart> {
    let bins = histograms::retention(source.view);
    (!bins.is_empty()).then(|| {
        chart(
            "retention_histogram",
            "Regions by retention",
            "Logarithmic time axis; bins end at 1, 2 and 5 times each power of ten.",
            histogram(source, &bins, "retention"),
        )
    })
}

fn stride_histogram(source: &Source<'_, '_>) -> Option<Chart> {
    let bins = histograms::strides(source.view);
    (!bins.is_empty()).then(|| {
        chart(
            "stride_histogram",
            "Strides between accesses",
            "From each access to the next one in the same region. Backward strides are on the left, forward ones on the right. \
             Bin widths double with the distance from the center.",
            histogram(source, &bins, "stride"),
        )
    })
}

/// Smallest value on the logarithmic time axis; shorter durations are plotted here.
const LEAST_NS: i64 = 1_000;

/// CDF of durations as points of duration and share; `sorted` is ascending.
pub fn cumulative(sorted: &[i64]) -> Vec<(i64, f64)> {
    let n = sorted.len();
    let mut points: Vec<(i64, f64)> = Vec::new();
    let every = n.div_ceil(MAX_POINTS).max(1);
    for (at, value) in sorted.iter().enumerate() {
        let is_shown = at % every == 0 || at + 1 == n;
        let (ns, share) = ((*value).max(LEAST_NS), (at + 1) as f64 / n as f64);
        match points.last_mut() {
            Some(last) if last.0 == ns => last.1 = share,
            _ if is_shown => points.push((ns, share)),
            _ => {}
        }
    }
    // The curve rises from 0 at its first value.
    if let Some((ns, _)) = points.first().copied().filter(|first| first.0 > LEAST_NS) {
        points.insert(0, (ns, 0.0));
    }
    points
}

fn written_once(source: &Source<'_, '_>, thresholds: &Thresholds) -> Chart {
    let ratio = values(source, |row| row.write_once_ratio_mean.unwrap_or(0.0));
    let line = |name: &str, value| Threshold { name: name.to_string(), value };
    chart(
        "write_once_chart",
        "Write-once addresses by kind",
        "Mean over regions with stores; kinds without stores have no bar. The lines mark the write-once ratios for high and medium \
         suitability, which also needs long retention.",
        Plot::Measured(Measured {
            bars: bars(source, Unit::Ratio, vec![("written once", PLAIN, ratio)]),
            thresholds: vec![line("high", thresholds.high_ratio), line("medium", thresholds.medium_ratio)],
        }),
    )
}

fn mix(source: &Source<'_, '_>) -> Chart {
    chart(
        "read_write_chart",
        "Reads and writes",
        "",
        Plot::Bars(bars(
            source,
            Unit::Count,
            vec![
                ("reads", READS, values(source, |row| row.reads as f64)),
                ("writes", WRITES, values(source, |row| row.writes as f64)),
            ],
        )),
    )
}

fn working_set(source: &Source<'_, '_>) -> Chart {
    let bytes = values(source, |row| row.total_pages as f64 * 4096.0);
    chart(
        "working_set_chart",
        "Working set",
        "",
        Plot::Bars(bars(source, Unit::Bytes, vec![("touched", PLAIN, bytes)])),
    )
}

fn strides(source: &Source<'_, '_>) -> Chart {
    let share = values(source, |row| row.same_page_fraction);
    chart(
        "locality_chart",
        "Same-page accesses by kind",
        "% of accesses on the same page as the previous access to the region; mean over the regions of a kind.",
        Plot::Bars(bars(source, Unit::Ratio, vec![("same page", PLAIN, share)])),
    )
}

/// CDF of the inter-access intervals of each kind.
pub fn intervals(source: &Source<'_, '_>) -> Vec<Line> {
    const SHARES: [f64; 13] = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];
    let shown = source.kinds.get(..MAX_KINDS).unwrap_or(source.kinds);
    let mut lines = Vec::new();
    let mut n_others = 0;
    // Kinds without a region are not in the other charts.
    for kind in source.view.kinds.sorted() {
        let spread = source.view.metrics.intervals_of(kind);
        let Some(quantiles) = spread.and_then(|spread| spread.quantiles(SHARES)) else { continue };
        let number = shown.iter().position(|row| row.kind == kind).unwrap_or_else(|| {
            n_others += 1;
            shown.len() + n_others - 1
        });
        if number >= MAX_KINDS {
            continue;
        }
        let points = quantiles.iter().zip(SHARES).map(|(ns, share)| (*ns as i64, share));
        lines.push(Line {
            name: source.view.kinds.name(kind).to_string(),
            tone: tone(number),
            points: points.collect(),
        });
    }
    lines
}

fn intervals_chart(mut lines: Vec<Line>) -> Chart {
    for (ns, _) in lines.iter_mut().flat_map(|line| &mut line.points) {
        *ns = (*ns).max(LEAST_NS);
    }
    chart(
        "iai_chart",
        "Inter-access interval CDF (% of intervals)",
        "Time between accesses to the same address, from p1 to p99. Logarithmic time axis.",
        Plot::Lines(Lines::new(lines, Unit::Ratio, Over::Duration)),
    )
}

/// Data of the interval chart.
pub fn intervals_table(lines: &[Line]) -> Table {
    let points =
        || lines.iter().flat_map(|line| line.points.iter().map(|(ns, share)| (&line.name, *ns, *share)));
    let percent = |share: f64| Some((share * 100.0).round() as i64);
    Table::new(
        "iai_shares",
        "Inter-access interval CDF",
        vec![
            Column::key(
                "kind",
                "kind",
                Content::Plain,
                texts(points().map(|(kind, ..)| Some(kind.as_str()))),
            ),
            // Integers, so that they can be keys.
            Column::integer(
                "percent",
                "% of intervals",
                Unit::Plain,
                points().map(|point| percent(point.2)).collect(),
            )
            .as_key(),
            Column::integer(
                "ns",
                "interval at most",
                Unit::Ns,
                points().map(|point| Some(point.1)).collect(),
            ),
        ],
    )
    .caption("Data of the chart “Inter-access interval CDF”.")
    .not_compared()
}

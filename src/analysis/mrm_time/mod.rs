//! Memory accesses over time, by kind and by address range.

use super::mrm::charts::{PLAIN, READS, WRITES, tone};
use super::mrm::{append_part, trust};
use super::timeline::texts;
use super::{AnalysisInfo, Context, Group};
use crate::base::units::{Unit, format_bytes};
use crate::memory::index::PageSet;
use crate::memory::phase_spans::{PhaseSpan, phase_spans};
use crate::memory::{Kind, LabelledTrace};
use crate::report::chart::{Chart, Grid, Heat, Line, Lines, Over, Period, Plot};
use crate::report::{Column, Content, Report, Table};
use crate::trace::Run;
use crate::trace::accesses::{Op, PAGE_BITS};

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "mrm-time",
    title: "Memory over time",
    applies,
    run,
    group: Group::Memory,
    is_late: true,
};

/// Number of time bins.
pub const N_TIMES: usize = 120;
/// Limit on the kinds in a line chart.
const MAX_LINES: usize = 12;
/// Limit on the phases marked; with more, each phase name is merged into one range.
const MAX_PHASES: usize = 200;
/// Limit on the address ranges in the heat map.
const N_PLACES: usize = 32;

fn applies(run: &Run) -> bool {
    run.traces.iter().any(|trace| !trace.accesses.is_empty())
}

/// Totals of one time bin.
#[derive(Clone, Default)]
pub struct Stretch {
    pub reads: u64,
    pub writes: u64,
    /// Distinct pages touched in the bin.
    pub pages: u64,
    /// Pages of each kind touched for the first time in the bin.
    pub new_pages: Vec<u64>,
    /// Accesses by address range.
    places: Vec<Counts>,
}

/// Accesses to one address range.
#[derive(Clone, Copy, Default)]
struct Counts {
    all: u64,
    reads: u64,
    writes: u64,
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    for (number, view) in context.memory().iter().enumerate() {
        let mut part = Report::new(INFO.id, INFO.title);
        trust::tell_of_clock(view, &mut part);
        add_trace(view, &mut part);
        trust::mark(view.trace, &context.query.memory, &mut part);
        append_part(part, number, context.memory(), &mut report);
    }
    report
}

/// Touched address ranges, without the gaps between them.
struct Places {
    /// First and last page of each range, ascending.
    ranges: Vec<(u64, u64)>,
}

impl Places {
    /// Splits the touched pages (ascending) at the widest gaps, then halves the longest ranges until there
    /// are enough.
    fn new(pages: Vec<u64>) -> Places {
        let mut gaps: Vec<(u64, usize)> = pages
            .windows(2)
            .enumerate()
            .map(|(at, pair)| (pair[1] - pair[0], at + 1))
            .filter(|gap| gap.0 > 256)
            .collect();
        gaps.sort_unstable_by(|a, b| b.cmp(a));
        gaps.truncate(N_PLACES / 2 - 1);
        let mut cuts: Vec<usize> = gaps.into_iter().map(|(_, at)| at).collect();
        cuts.extend([0, pages.len()]);
        cuts.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = cuts
            .windows(2)
            .filter_map(|pair| {
                let inside = pages.get(pair[0]..pair[1])?;
                Some((*inside.first()?, *inside.last()?))
            })
            .collect();
        while ranges.len() < N_PLACES {
            let Some((at, (first, last))) =
                ranges.iter().copied().enumerate().max_by_key(|(_, (first, last))| last - first)
            else {
                break;
            };
            if last - first < 2 {
                break;
            }
            let middle = first + (last - first) / 2;
            ranges[at] = (first, middle);
            ranges.insert(at + 1, (middle + 1, last));
        }
        Places { ranges }
    }

    fn at(&self, page: u64) -> Option<usize> {
        self.ranges.partition_point(|(first, _)| *first <= page).checked_sub(1)
    }

    fn label(&self, at: usize) -> String {
        let Some((first, last)) = self.ranges.get(at) else { return String::new() };
        format!("{:#x} {}", first << PAGE_BITS, format_bytes((last - first + 1).saturating_mul(4096)))
    }
}

/// Accesses over time in equal bins.
pub struct OverTime {
    /// Memory kinds, ordered by name.
    pub kinds: Vec<Kind>,
    pub stretches: Vec<Stretch>,
    /// First timestamp and span, in nanoseconds.
    start: i64,
    span: i128,
    /// Accesses by address range and kind.
    place_kinds: Vec<u64>,
}

impl OverTime {
    /// Counts accesses in `n_times` bins; `None` for a trace without accesses.
    pub fn new(view: &LabelledTrace<'_>, n_times: usize) -> Option<OverTime> {
        OverTime::with_places(view, n_times, &Places { ranges: Vec::new() })
    }

    fn with_places(view: &LabelledTrace<'_>, n_times: usize, places: &Places) -> Option<OverTime> {
        let (start, end) = view.trace.accesses.span()?;
        let span = i128::from(end) - i128::from(start) + 1;
        let kinds = view.kinds.sorted();
        // Indexed by kind number.
        let mut numbers = vec![None; kinds.iter().map(|kind| kind.0 as usize + 1).max().unwrap_or(0)];
        kinds.iter().enumerate().for_each(|(at, kind)| numbers[kind.0 as usize] = Some(at));
        let empty = Stretch {
            new_pages: vec![0; kinds.len()],
            places: vec![Counts::default(); places.ranges.len()],
            ..Stretch::default()
        };
        let place_kinds = vec![0u64; places.ranges.len() * kinds.len()];
        let mut all = OverTime { kinds, stretches: vec![empty; n_times.max(1)], start, span, place_kinds };
        all.walk(view, &numbers, places);
        Some(all)
    }

    fn walk(&mut self, view: &LabelledTrace<'_>, numbers: &[Option<usize>], places: &Places) {
        let n_kinds = self.kinds.len();
        let mut in_stretch = (0, PageSet::default());
        let mut of_kinds = vec![PageSet::default(); n_kinds];
        let (mut at, mut end_of_stretch) = (0, self.end_of(0));
        view.for_each_in_time(|row| {
            while i128::from(row.ts) >= end_of_stretch && at < self.stretches.len() {
                at += 1;
                end_of_stretch = self.end_of(at);
            }
            let page = row.address >> PAGE_BITS;
            let Some(stretch) = self.stretches.get_mut(at) else { return };
            if in_stretch.0 != at {
                in_stretch.0 = at;
                in_stretch.1.clear();
            }
            match row.op {
                Op::Load => stretch.reads += 1,
                Op::Store => stretch.writes += 1,
                Op::Other => {}
            }
            stretch.pages += u64::from(in_stretch.1.insert(page));
            let number = numbers.get(row.kind.0 as usize).copied().flatten();
            if let Some(number) = number
                && of_kinds.get_mut(number).is_some_and(|pages| pages.insert(page))
                && let Some(new) = stretch.new_pages.get_mut(number)
            {
                *new += 1;
            }
            let Some(place) = places.at(page) else { return };
            if let Some(counts) = stretch.places.get_mut(place) {
                counts.all += 1;
                counts.reads += u64::from(row.op == Op::Load);
                counts.writes += u64::from(row.op == Op::Store);
            }
            if let Some(number) = number
                && let Some(n) = self.place_kinds.get_mut(place * n_kinds + number)
            {
                *n += 1;
            }
        });
    }

    /// End of a bin (exclusive). Rows come in time order, so comparing with it avoids a division per row.
    fn end_of(&self, at: usize) -> i128 {
        let n = self.stretches.len() as i128;
        i128::from(self.start) + ((at as i128 + 1) * self.span + n - 1) / n
    }

    /// Start of a bin in nanoseconds from the start of the trace.
    pub fn start_of(&self, at: usize) -> i64 {
        (at as i128 * self.span / self.stretches.len() as i128) as i64
    }
}

fn add_trace(view: &LabelledTrace<'_>, report: &mut Report) {
    let Some((start, end)) = view.trace.accesses.span() else { return };
    let places = Places::new(view.pages.to_sorted());
    let Some(over_time) = OverTime::with_places(view, N_TIMES, &places) else { return };
    let start_of = |at: usize| over_time.start_of(at);
    let OverTime { kinds, stretches, span, place_kinds, .. } = &over_time;
    // The most accessed kind of each address range; empty without accesses.
    let place_kinds: Vec<&str> = place_kinds
        .chunks(kinds.len().max(1))
        .map(|counts| {
            let most = counts.iter().zip(kinds).filter(|(n, _)| **n > 0).max_by_key(|(n, _)| **n);
            most.map_or("", |(_, kind)| view.kinds.name(*kind))
        })
        .collect();
    let spans = phase_spans(view, MAX_PHASES);
    let offset = |ns: i64| ns.saturating_sub(start);
    let period = |span: &PhaseSpan| Period {
        name: span.phase.clone(),
        start: offset(span.first),
        end: offset(span.last),
    };
    let periods: Vec<Period> = spans.iter().map(period).collect();
    let largest = stretches.iter().map(|stretch| stretch.pages).max().unwrap_or(0);
    let total = format_bytes(view.pages.len().saturating_mul(4096));
    if start == end {
        report.summary =
            format!("Total touched: {total}. All accesses have one timestamp, so nothing is over time.");
        report.table(places_table(&places, &place_kinds, stretches));
        return;
    }
    let bin = (span / N_TIMES as i128) as i64;
    report.summary = match trust::clock_of(view).can_tell(bin) {
        true => format!(
            "Peak working set: {} in a bin of {}. Total touched: {total}.",
            format_bytes(largest.saturating_mul(4096)),
            crate::base::units::format_ns(bin),
        ),
        false => format!("Total touched: {total}. Timestamps are too coarse for a peak working set."),
    };
    let (growth, growth_table) = growth(view, kinds, stretches, &start_of);
    let pictures = [
        growth,
        touched(stretches, &start_of, end.saturating_sub(start)),
        heat(&places, &place_kinds, stretches, end.saturating_sub(start)),
    ];
    for mut chart in pictures {
        match &mut chart.plot {
            Plot::Lines(lines) => lines.periods.clone_from(&periods),
            Plot::Heat(heat) => heat.periods.clone_from(&periods),
            _ => {}
        }
        report.chart(chart);
    }
    report.table(times(stretches, &start_of));
    report.table(growth_table);
    if !periods.is_empty() {
        report.table(phases_table(&periods));
    }
    report.table(places_table(&places, &place_kinds, stretches));
    report.table(cells_table(&places, stretches, &start_of));
}

/// Cumulative bytes touched by kind, as a chart and a table.
fn growth(
    view: &LabelledTrace<'_>,
    kinds: &[Kind],
    stretches: &[Stretch],
    start_of: &dyn Fn(usize) -> i64,
) -> (Chart, Table) {
    let mut lines: Vec<Line> = Vec::new();
    for (number, kind) in kinds.iter().enumerate() {
        if lines.len() >= MAX_LINES {
            break;
        }
        let mut sum = 0u64;
        let mut points = Vec::new();
        for (at, stretch) in stretches.iter().enumerate() {
            sum += stretch.new_pages.get(number).copied().unwrap_or(0);
            points.push((start_of(at), sum as f64 * 4096.0));
        }
        if sum > 0 {
            lines.push(Line { name: view.kinds.name(*kind).to_string(), tone: tone(lines.len()), points });
        }
    }
    let points = || {
        lines.iter().flat_map(|line| line.points.iter().map(|(start, bytes)| (&line.name, *start, *bytes)))
    };
    let table = Table::new(
        "touched_so_far",
        "Cumulative memory touched",
        vec![
            Column::key(
                "kind",
                "kind",
                Content::Plain,
                texts(points().map(|(kind, ..)| Some(kind.as_str()))),
            ),
            Column::integer("start", "from", Unit::NsOffset, points().map(|point| Some(point.1)).collect())
                .as_key(),
            Column::counts("bytes", "touched", Unit::Bytes, points().map(|point| point.2 as u64)),
        ],
    )
    .caption("Data of the chart “Cumulative memory touched”, at the end of each time bin.");
    let chart = Chart {
        id: "touched_by_kind".into(),
        title: "Cumulative memory touched".to_string(),
        caption: "Distinct pages touched so far, in bytes, by kind.".to_string(),
        plot: Plot::Lines(Lines::new(lines, Unit::Bytes, Over::Time)),
    };
    (chart, table)
}

fn touched(stretches: &[Stretch], start_of: &dyn Fn(usize) -> i64, end: i64) -> Chart {
    let mut points: Vec<(i64, f64)> = stretches
        .iter()
        .enumerate()
        .map(|(at, stretch)| (start_of(at), stretch.pages as f64 * 4096.0))
        .collect();
    if let Some((_, last)) = points.last().copied() {
        points.push((end, last));
    }
    Chart {
        id: "working_set_over_time".into(),
        title: "Working set over time".to_string(),
        caption: format!("Distinct pages touched in each of {N_TIMES} equal time bins, in bytes."),
        plot: Plot::Lines(Lines::new(
            vec![Line { name: "touched".to_string(), tone: PLAIN, points }],
            Unit::Bytes,
            Over::Time,
        )),
    }
}

fn heat(places: &Places, kinds: &[&str], stretches: &[Stretch], span: i64) -> Chart {
    let grid = |name: &str, tone, value: fn(&Counts) -> u64| Grid {
        name: name.to_string(),
        tone,
        rows: (0..places.ranges.len())
            .map(|place| {
                let counts = stretches.iter().filter_map(|stretch| stretch.places.get(place));
                counts.map(|counts| value(counts) as f64).collect()
            })
            .collect(),
    };
    let label = |(at, kind): (usize, &&str)| format!("{} {kind}", places.label(at)).trim_end().to_string();
    let adjoins = |at: usize| {
        let below = at.checked_sub(1).and_then(|below| places.ranges.get(below));
        below.zip(places.ranges.get(at)).is_some_and(|(below, own)| below.1 + 1 == own.0)
    };
    Chart {
        id: "heat".into(),
        title: "Accesses by address and time".to_string(),
        caption: "One row per address range, lowest at the bottom, with start address, size and most accessed kind. Gaps between \
                  rows are untouched memory. Color intensity: number of accesses, on a logarithmic scale."
            .to_string(),
        plot: Plot::Heat(Heat {
            labels: kinds.iter().enumerate().map(label).collect(),
            is_apart: (0..places.ranges.len()).map(|at| !adjoins(at)).collect(),
            grids: vec![
                grid("reads", READS, |counts| counts.all - counts.writes),
                grid("writes", WRITES, |counts| counts.writes),
            ],
            mixed: ("both".to_string(), PLAIN),
            what: "accesses".to_string(),
            unit: Unit::Count,
            over: Over::Time,
            span,
            periods: Vec::new(),
            names: Vec::new(),
            sources: None,
        }),
    }
}

fn times(stretches: &[Stretch], start_of: &dyn Fn(usize) -> i64) -> Table {
    let counts = |id, label: &str, unit, value: fn(&Stretch) -> u64| {
        Column::counts(id, label, unit, stretches.iter().map(value))
    };
    Table::new(
        "over_time",
        "Accesses by time bin",
        vec![
            Column::integer(
                "start",
                "from",
                Unit::NsOffset,
                (0..stretches.len()).map(|at| Some(start_of(at))).collect(),
            )
            .as_key(),
            counts("reads", "reads", Unit::Count, |row| row.reads),
            counts("writes", "writes", Unit::Count, |row| row.writes),
            counts("pages", "pages", Unit::Count, |row| row.pages),
            counts("bytes", "touched", Unit::Bytes, |row| row.pages.saturating_mul(4096)),
        ],
    )
    .sorted_by("start", false)
}

/// Phases marked in the charts.
fn phases_table(periods: &[Period]) -> Table {
    let times = |id, label: &str, unit, value: fn(&Period) -> i64| {
        Column::integer(id, label, unit, periods.iter().map(|period| Some(value(period))).collect())
    };
    Table::new(
        "phases",
        "Phases",
        vec![
            Column::key(
                "phase",
                "phase",
                Content::Plain,
                texts(periods.iter().map(|period| Some(period.name.as_str()))),
            ),
            times("start", "from", Unit::NsOffset, |period| period.start).as_key(),
            times("end", "to", Unit::NsOffset, |period| period.end),
            times("dur", "duration", Unit::Ns, |period| period.end.saturating_sub(period.start)),
        ],
    )
    .sorted_by("start", false)
    .caption("Phases are clipped to the trace.")
}

fn places_table(places: &Places, kinds: &[&str], stretches: &[Stretch]) -> Table {
    let sum = |value: fn(&Counts) -> u64| {
        (0..places.ranges.len()).map(move |place| {
            stretches.iter().filter_map(|stretch| stretch.places.get(place)).map(value).sum::<u64>()
        })
    };
    Table::new(
        "places",
        "Accesses by address range",
        vec![
            Column::key(
                "first_address",
                "from",
                Content::Plain,
                texts(places.ranges.iter().map(|(first, _)| Some(format!("{:#x}", first << PAGE_BITS)))),
            ),
            Column::counts(
                "bytes",
                "bytes",
                Unit::Bytes,
                places.ranges.iter().map(|(first, last)| (last - first + 1).saturating_mul(4096)),
            ),
            Column::text(
                "mostly",
                "main kind",
                Content::Plain,
                texts(kinds.iter().map(|kind| Some(*kind).filter(|kind| !kind.is_empty()))),
            ),
            Column::counts("reads", "reads", Unit::Count, sum(|counts| counts.reads)),
            Column::counts("writes", "writes", Unit::Count, sum(|counts| counts.writes)),
            Column::counts("accesses", "accesses", Unit::Count, sum(|counts| counts.all)).with_bar(),
        ],
    )
}

/// Data of the heat map.
fn cells_table(places: &Places, stretches: &[Stretch], start_of: &dyn Fn(usize) -> i64) -> Table {
    let cells: Vec<(usize, usize, Counts)> = (0..places.ranges.len())
        .flat_map(|place| {
            let times = stretches.iter().enumerate();
            times.filter_map(move |(at, stretch)| Some((place, at, *stretch.places.get(place)?)))
        })
        .filter(|(_, _, counts)| counts.all > 0)
        .collect();
    let first =
        |place: usize| places.ranges.get(place).map(|(first, _)| format!("{:#x}", first << PAGE_BITS));
    let counts = |id, label: &str, value: fn(&Counts) -> u64| {
        Column::counts(id, label, Unit::Count, cells.iter().map(|(_, _, counts)| value(counts)))
    };
    let starts = cells.iter().map(|(_, at, _)| Some(start_of(*at))).collect();
    Table::new(
        "cells",
        "Accesses by address range and time",
        vec![
            Column::key(
                "first_address",
                "start address",
                Content::Plain,
                texts(cells.iter().map(|cell| first(cell.0))),
            ),
            Column::integer("start", "from", Unit::NsOffset, starts).as_key(),
            counts("reads", "reads", |counts| counts.reads),
            counts("writes", "writes", |counts| counts.writes),
            counts("accesses", "accesses", |counts| counts.all),
        ],
    )
    .caption("Cells of the heat map “Accesses by address and time” with at least one access.")
}

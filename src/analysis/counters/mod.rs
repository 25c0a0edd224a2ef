//! Counters over time, one row per series: extremes and the time-weighted mean.
//!
//! ```text
//! 4      ┌──┐        mean = (1·3 + 4·1 + 2·6) / 10: a value applies until the next one of its series,
//! 2      │  └─────   the last one to the end of the trace
//! 1 ─────┘
//! ```

use super::timeline::{self, cut, integers, texts, with_left_out};
use super::{AnalysisInfo, Context, Group};
use crate::base::units::{Unit, counted};
use crate::report::{Column, Content, Report, Table};
use crate::trace::{Run, Trace};

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "counters", title: "Counters", applies, run, group: Group::Trace, is_late: false };

fn applies(run: &Run) -> bool {
    run.traces.iter().any(|trace| !trace.counter_series.is_empty())
}

#[derive(Clone, Copy)]
struct Series<'a> {
    trace: &'a Trace,
    index: usize,
    points: u64,
    first: f64,
    last: f64,
    min: f64,
    max: f64,
    /// Mean over `held_ns` so far.
    mean: f64,
    held_ns: f64,
    since: i64,
}

impl Series<'_> {
    fn add(&mut self, ts: i64, value: f64) {
        if self.points == 0 {
            self.first = value;
            self.min = value;
            self.max = value;
        } else {
            self.hold_until(ts);
            self.min = self.min.min(value);
            self.max = self.max.max(value);
        }
        self.points += 1;
        self.last = value;
        self.since = ts;
    }

    /// Weights the current value by the time up to `ts`. Uses a running mean, which cannot overflow where a sum would.
    fn hold_until(&mut self, ts: i64) {
        let ns = ts.saturating_sub(self.since).max(0) as f64;
        if ns > 0.0 {
            self.held_ns += ns;
            self.mean += (self.last - self.mean) * (ns / self.held_ns);
        }
    }
}

fn run(context: &Context<'_>) -> Report {
    let run = context.run;
    let mut report = Report::new(INFO.id, INFO.title);
    let mut rows: Vec<Series<'_>> = Vec::new();
    for trace in &run.traces {
        let base = rows.len();
        rows.extend((0..trace.counter_series.len()).map(|index| Series {
            trace,
            index,
            points: 0,
            first: 0.0,
            last: 0.0,
            min: 0.0,
            max: 0.0,
            mean: 0.0,
            held_ns: 0.0,
            since: 0,
        }));
        let counters = &trace.counters;
        for i in 0..counters.len() {
            if let Some(series) = rows.get_mut(base + counters.series[i] as usize) {
                series.add(counters.ts[i], counters.value[i]);
            }
        }
        let end = trace.reported().map_or(0, |(_, end)| end);
        rows[base..].iter_mut().filter(|series| series.points > 0).for_each(|series| series.hold_until(end));
    }
    // What others had in a chosen range was said before it, and may have been dropped while reading.
    rows.retain(|series| series.points > 0 || series.trace.part.is_none());
    let n_points: u64 = rows.iter().map(|series| series.points).sum();
    report.summary = format!(
        "{} series with {}.",
        crate::base::units::group_digits(rows.len() as i128),
        counted(n_points, "point", "points")
    );
    let n_left_out = cut(&mut rows);
    let text = |series: &Series<'_>, get: &dyn Fn(&Trace) -> crate::base::strings::StringId| {
        series.trace.strings.get_opt(get(series.trace)).map(str::to_string)
    };
    let float = |id, label: &str, get: &dyn Fn(&Series<'_>) -> Option<f64>| {
        Column::float(id, label, Unit::Plain, rows.iter().map(get).collect())
    };
    let known = |series: &Series<'_>, value: f64| (series.points > 0).then_some(value);
    let table = Table::new(
        "counters",
        "Counters",
        vec![
            Column::key(
                "process",
                "process", Content::Plain,
                texts(rows.iter().map(|series| {
                    let process = series.trace.counter_series.process[series.index];
                    Some(timeline::process_label(series.trace, process.0 as usize))
                })),
            ),
            Column::key(
                "name",
                "name", Content::Symbol,
                texts(
                    rows.iter().map(|series| text(series, &|trace| trace.counter_series.name[series.index])),
                ),
            ),
            Column::key(
                "id",
                "id", Content::Plain,
                texts(rows.iter().map(|series| text(series, &|trace| trace.counter_series.id[series.index]))),
            ),
            Column::key(
                "key",
                "series", Content::Plain,
                texts(
                    rows.iter().map(|series| text(series, &|trace| trace.counter_series.key[series.index])),
                ),
            ),
            integers("points", "points", Unit::Count, rows.iter().map(|series| series.points as i64)),
            float("first", "first", &|series| known(series, series.first)),
            float("last", "last", &|series| known(series, series.last)).by_row(),
            float("min", "min", &|series| known(series, series.min)).by_row(),
            float("max", "max", &|series| known(series, series.max)).by_row(),
            float("mean", "mean", &|series| (series.held_ns > 0.0).then_some(series.mean)).hint(
                "time-weighted; each value applies until the next one of its series, the last one to the end of the trace or of the chosen range",
            )
            .by_row(),
        ],
    )
    .caption("One row per series, that is, per argument of a counter.")
    .if_empty("The trace has no counters.");
    report.table(with_left_out(table, n_left_out));
    report
}

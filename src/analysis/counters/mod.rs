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
    /// In the reported time.
    points: u64,
    /// `None` before the first value, which may be one from before a chosen range.
    values: Option<Values>,
}

#[derive(Clone, Copy)]
struct Values {
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
    fn set(&mut self, ts: i64, value: f64) {
        match &mut self.values {
            Some(values) => values.set(ts, value),
            None => self.values = Some(Values::new(ts, value)),
        }
    }
}

impl Values {
    fn new(ts: i64, value: f64) -> Values {
        Values { first: value, last: value, min: value, max: value, mean: 0.0, held_ns: 0.0, since: ts }
    }

    fn set(&mut self, ts: i64, value: f64) {
        self.hold_until(ts);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
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
            values: None,
        }));
        let (start, end) = trace.reported().unwrap_or_default();
        for series in &mut rows[base..] {
            series.values = trace.counter_series.held(series.index).map(|value| Values::new(start, value));
        }
        let counters = &trace.counters;
        for i in 0..counters.len() {
            if let Some(series) = rows.get_mut(base + counters.series[i] as usize) {
                series.points += 1;
                series.set(counters.ts[i], counters.value[i]);
            }
        }
        rows[base..].iter_mut().filter_map(|series| series.values.as_mut()).for_each(|it| it.hold_until(end));
    }
    // Others have their first value after a chosen range.
    rows.retain(|series| series.values.is_some() || series.trace.part.is_none());
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
    let float = |id, label: &str, get: &dyn Fn(Values) -> Option<f64>| {
        Column::float(id, label, Unit::Plain, rows.iter().map(|series| get(series.values?)).collect())
    };
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
            float("first", "first", &|it| Some(it.first)),
            float("last", "last", &|it| Some(it.last)).by_row(),
            float("min", "min", &|it| Some(it.min)).by_row(),
            float("max", "max", &|it| Some(it.max)).by_row(),
            float("mean", "mean", &|it| (it.held_ns > 0.0).then_some(it.mean)).hint(
                "time-weighted; each value applies until the next one of its series, the last one to the end of the trace or of the chosen range. Values set before a range count from its start",
            )
            .by_row(),
        ],
    )
    .caption("One row per series, that is, per argument of a counter.")
    .if_empty("The trace has no counters.");
    report.table(with_left_out(table, n_left_out));
    report
}

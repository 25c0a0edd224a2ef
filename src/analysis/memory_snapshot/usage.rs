//! Memory over time: reserved, allocated and active bytes of each device.

use super::{Snapshot, label};
use crate::analysis::timeline::{integers, texts};
use crate::base::units::{Unit, format_ns};
use crate::report::chart::{Line, Lines, Over, Period, Plot, Tone};
use crate::report::{Chart, Column, Content, Table};
use crate::trace::memory_snapshot::Usage;

/// Points of a line at most, roughly.
const N_POINTS: usize = 600;

/// What a line shows of the memory in use.
type Value = fn(&Usage) -> f64;

/// The lines of a device: reserved, active and allocated bytes.
const LINES: [(&str, Value); 3] = [
    ("reserved", |it| it.reserved as f64),
    ("active", |it| it.active as f64),
    ("allocated", |it| it.allocated as f64),
];

/// The x axis of a device.
pub struct Axis {
    pub over: Over,
    /// Of each event: nanoseconds since the start, or its number from 2 on. Not descending.
    pub at: Vec<i64>,
}

impl Axis {
    pub fn new(snapshot: &Snapshot<'_>, number: usize) -> Axis {
        let times = match snapshot.snapshot.devices.get(number) {
            Some(device) => device.events.time_us.as_slice(),
            None => &[],
        };
        if times.iter().all(|time| snapshot.offset(*time).is_none()) {
            return Axis { over: Over::Number, at: (2..).take(times.len()).collect() };
        }
        // Times may go back by a few microseconds; the axis does not.
        let mut now = times.iter().find_map(|time| snapshot.offset(*time)).unwrap_or(0);
        let next = |time: &i64| {
            now = now.max(snapshot.offset(*time).unwrap_or(now));
            now
        };
        Axis { over: Over::Time, at: times.iter().map(next).collect() }
    }

    /// Where what is before the first event starts.
    pub fn start(&self) -> i64 {
        match self.over {
            Over::Number => 1,
            _ => self.at.first().copied().unwrap_or(0),
        }
    }

    pub fn end(&self) -> i64 {
        self.at.last().copied().unwrap_or(1)
    }
}

/// The lines of a device. Events share out among bins in their order; each bin is its maximum, so peaks stay.
fn lines(snapshot: &Snapshot<'_>, number: usize) -> Lines {
    let axis = Axis::new(snapshot, number);
    let per_bin = axis.at.len().div_ceil(N_POINTS).max(1);
    let mut points: [Vec<(i64, f64)>; LINES.len()] = Default::default();
    let mut bin = usize::MAX;
    snapshot.snapshot.replay(number, |row, usage| {
        let now = match row {
            Some(row) => axis.at[row],
            None if axis.over == Over::Time => return,
            None => axis.start(),
        };
        let own = row.unwrap_or(0) / per_bin;
        for ((_, get), points) in LINES.iter().zip(&mut points) {
            let value = get(&usage);
            match points.last_mut() {
                Some(last) if own == bin || last.0 == now => last.1 = last.1.max(value),
                _ => points.push((now, value)),
            }
        }
        bin = own;
    });
    let lines = LINES.iter().zip(points).zip(0..).map(|(((name, _), points), tone)| Line {
        name: name.to_string(),
        tone: Tone::Other(tone),
        points,
    });
    Lines::new(lines.collect(), Unit::Bytes, axis.over)
}

/// A chart for each device with events, with the number of the device.
///
/// The `moment` is in nanoseconds since the start.
pub fn charts(
    snapshot: &Snapshot<'_>,
    moment: Option<i64>,
    id: &dyn Fn(&str) -> String,
    title: &dyn Fn(&str) -> String,
) -> Vec<(usize, Chart)> {
    let with_events = snapshot.devices().filter(|(_, device)| !device.events.is_empty());
    with_events
        .map(|(number, _)| {
            let chart = Chart {
                id: id(&format!("usage_chart_gpu{number}")).into(),
                title: title(&format!("Memory over time, {}", label(number))),
                caption: "Reserved: taken from the driver. Active: in use, or freed but not reusable yet. Allocated: not freed by the program yet."
                    .to_string(),
                plot: Plot::Lines(with_moment(lines(snapshot, number), moment)),
            };
            (number, chart)
        })
        .collect()
}

/// Lines over time with a mark at the moment, up to the end.
fn with_moment(mut lines: Lines, moment: Option<i64>) -> Lines {
    let times = || lines.lines.iter().flat_map(|line| &line.points).map(|point| point.0);
    if let (Some(start), (Over::Time, Some(end))) = (moment, (lines.over, times().max()))
        && (0..=end).contains(&start)
    {
        lines.periods.push(Period { name: format_ns(start), start, end });
    }
    lines
}

/// The numbers of the charts: by time, and by event where events have no times.
pub fn table(snapshot: &Snapshot<'_>, id: String, title: String) -> Table {
    let mut rows: Vec<(String, Over, (i64, f64))> = Vec::new();
    for (number, _) in snapshot.devices().filter(|(_, device)| !device.events.is_empty()) {
        let Lines { lines, over, .. } = lines(snapshot, number);
        for line in lines {
            let name = format!("{}, {}", label(number), line.name);
            rows.extend(line.points.into_iter().map(|point| (name.clone(), over, point)));
        }
    }
    let is_by_event = |over: Over| over == Over::Number;
    let mut columns =
        vec![Column::key("memory", "memory", Content::Plain, texts(rows.iter().map(|row| Some(&row.0))))];
    if rows.is_empty() || rows.iter().any(|row| !is_by_event(row.1)) {
        let starts = rows.iter().map(|(_, over, (at, _))| (!is_by_event(*over)).then_some(*at));
        columns.push(Column::integer("start", "start", Unit::NsOffset, starts.collect()).as_key());
    }
    if rows.iter().any(|row| is_by_event(row.1)) {
        // See [`Axis::at`].
        let events = rows.iter().map(|(_, over, (at, _))| is_by_event(*over).then_some(at.saturating_sub(2)));
        columns.push(
            Column::integer("event", "event", Unit::Id, events.collect())
                .as_key()
                .hint("index in the file, counted from zero; negative before the first event"),
        );
    }
    columns.push(integers("bytes", "bytes", Unit::Bytes, rows.iter().map(|row| row.2.1 as i64)).with_bar());
    Table::new(id, title, columns)
        .caption("Up to some hundred points a line, each the maximum of its events.")
        .if_empty("No events.")
}

//! Memory over time: reserved, allocated and active bytes of each device.

use super::{Snapshot, label};
use crate::analysis::timeline::over_time;
use crate::base::units::Unit;
use crate::report::chart::{Line, Lines, Over, Plot, Tone};
use crate::report::{Chart, Table};
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

/// The lines of a device. Events share out among bins in their order; each bin is its maximum, so peaks stay.
fn lines(snapshot: &Snapshot<'_>, number: usize) -> Lines {
    let Some(device) = snapshot.snapshot.devices.get(number) else {
        return Lines::new(Vec::new(), Unit::Bytes, Over::Time);
    };
    let events = &device.events;
    let has_times = !events.is_empty() && events.time_us.iter().any(|time| snapshot.offset(*time).is_some());
    let per_bin = events.len().div_ceil(N_POINTS).max(1);
    let mut points: [Vec<(i64, f64)>; LINES.len()] = Default::default();
    // Times may go back by a few microseconds; the axis does not.
    let mut now = i64::MIN;
    let mut bin = usize::MAX;
    snapshot.snapshot.replay(number, |row, usage| {
        let at = match row {
            Some(row) if has_times => snapshot.offset(events.time_us[row]).unwrap_or(now),
            Some(row) => row as i64 + 2,
            None if has_times => return,
            None => 1,
        };
        now = now.max(at);
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
    let over = if has_times { Over::Time } else { Over::Number };
    Lines::new(lines.collect(), Unit::Bytes, over)
}

/// A chart for each device with events.
pub fn charts(
    snapshot: &Snapshot<'_>,
    id: &dyn Fn(&str) -> String,
    title: &dyn Fn(&str) -> String,
) -> Vec<Chart> {
    let with_events = snapshot.devices().filter(|(_, device)| !device.events.is_empty());
    with_events
        .map(|(number, _)| Chart {
            id: id(&format!("usage_chart_gpu{number}")).into(),
            title: title(&format!("Memory over time, {}", label(number))),
            caption: "Reserved from the driver; active: until the allocator has it again; allocated: until the program frees it."
                .to_string(),
            plot: Plot::Lines(lines(snapshot, number)),
        })
        .collect()
}

/// The numbers of the charts.
pub fn table(snapshot: &Snapshot<'_>, id: String, title: String) -> Table {
    let mut all = Lines::new(Vec::new(), Unit::Bytes, Over::Time);
    for (number, device) in snapshot.devices() {
        if device.events.is_empty() {
            continue;
        }
        all.lines.extend(
            lines(snapshot, number)
                .lines
                .into_iter()
                .map(|line| Line { name: format!("{}, {}", label(number), line.name), ..line }),
        );
    }
    over_time(id, title, &all, [("memory", "memory"), ("bytes", "bytes")])
        .caption("Up to some hundred points a line, each the maximum of its events.")
        .if_empty("No events.")
}

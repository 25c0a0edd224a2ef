//! Ranges that the program named, such as steps of a profiler, with the memory of their device.

use super::{Snapshot, device_column, signed};
use crate::analysis::findings::quoted;
use crate::analysis::timeline::{cut, texts, with_left_out};
use crate::base::sort;
use crate::base::units::{Unit, counted};
use crate::report::{Column, Content, Table};
use crate::trace::memory_snapshot::{Action, NO_TIME};

/// A named range of a device.
pub struct Range<'a> {
    pub device: usize,
    pub name: &'a str,
    /// Microseconds since the Unix epoch.
    start: i64,
    /// `None` if it was still open when the snapshot was taken, as the step in which memory ran out.
    pub end: Option<i64>,
    /// Active bytes before the first event in it, the most, and after the last one.
    pub active: Option<(u64, u64, u64)>,
    /// The last event in it, as an index into the events of the device.
    pub last_event: Option<usize>,
    /// Bytes allocated in it.
    allocated: u64,
}

/// Ranges without their memory, and the names of ends without a start: each end closes the last open start of its name and device.
fn pairs<'a>(snapshot: &Snapshot<'a>) -> (Vec<Range<'a>>, Vec<&'a str>) {
    let mut open: Vec<(i64, &'a str, i64)> = Vec::new();
    let mut ranges = Vec::new();
    let mut stray = Vec::new();
    let mut add = |(device, name, start): (i64, &'a str, i64), end: Option<i64>| {
        if let Ok(device) = usize::try_from(device) {
            ranges.push(Range { device, name, start, end, active: None, last_event: None, allocated: 0 });
        }
    };
    for it in snapshot.snapshot.annotations.iter().filter(|it| it.time_us != NO_TIME) {
        let name = snapshot.trace.strings.get_opt(it.name).unwrap_or_default();
        if it.is_start {
            open.push((it.device, name, it.time_us));
            continue;
        }
        match open.iter().rposition(|(device, own, _)| (*device, *own) == (it.device, name)) {
            Some(at) => add(open.remove(at), Some(it.time_us)),
            None => stray.push(name),
        }
    }
    open.into_iter().for_each(|start| add(start, None));
    (ranges, stray)
}

/// Ranges by device, in order of their starts.
pub fn ranges<'a>(snapshot: &Snapshot<'a>) -> Vec<Range<'a>> {
    let (mut ranges, _) = pairs(snapshot);
    // One pass over the events of a device, with the ranges by their start.
    sort::by_key(&mut ranges, |range| (range.device, range.start));
    for of_device in ranges.chunk_by_mut(|a, b| a.device == b.device) {
        add_usage(snapshot, of_device);
    }
    ranges
}

fn add_usage(snapshot: &Snapshot<'_>, ranges: &mut [Range<'_>]) {
    let number = ranges[0].device;
    let Some(device) = snapshot.snapshot.devices.get(number) else { return };
    let events = &device.events;
    let mut next = 0;
    let mut inside: Vec<usize> = Vec::new();
    let mut before = 0;
    snapshot.snapshot.replay(number, |row, usage| {
        let time = row.map_or(NO_TIME, |row| events.time_us[row]);
        if let (Some(row), true) = (row, time != NO_TIME) {
            while ranges.get(next).is_some_and(|range| range.start <= time) {
                inside.push(next);
                next += 1;
            }
            inside.retain(|at| ranges[*at].end.is_none_or(|end| end >= time));
            let is_alloc = events.action[row] == Action::Alloc;
            for at in &inside {
                let range = &mut ranges[*at];
                let (start, most, _) = range.active.unwrap_or((before, before, before));
                range.active = Some((start, most.max(usage.active), usage.active));
                range.last_event = Some(row);
                if is_alloc {
                    range.allocated = range.allocated.saturating_add(events.size[row].max(0) as u64);
                }
            }
        }
        before = usage.active;
    });
}

/// That ends have no start, so their ranges are missing; `None` if all have one.
pub fn stray_ends(snapshot: &Snapshot<'_>) -> Option<String> {
    let (_, stray) = pairs(snapshot);
    let first = stray.first()?;
    Some(format!(
        "{} no start in this file, so {} missing: first {}.",
        counted(stray.len() as u64, "end of an annotated range has", "ends of annotated ranges have"),
        if stray.len() == 1 { "the range is" } else { "their ranges are" },
        quoted(first),
    ))
}

/// The ranges; `None` without any.
pub fn table(snapshot: &Snapshot<'_>, id: String, title: String) -> Option<Table> {
    let mut rows = ranges(snapshot);
    if rows.is_empty() {
        return None;
    }
    let n_left_out = cut(&mut rows);
    let bytes = |id: &'static str, label: &str, get: &dyn Fn(&Range<'_>) -> Option<i64>| {
        Column::integer(id, label, Unit::Bytes, rows.iter().map(get).collect())
    };
    let active = |get: fn((u64, u64, u64)) -> u64| move |range: &Range<'_>| Some(signed(get(range.active?)));
    let table = Table::new(
        id,
        title,
        vec![
            device_column(rows.iter().map(|range| range.device)),
            Column::key("name", "name", Content::Symbol, texts(rows.iter().map(|range| Some(range.name)))),
            Column::integer(
                "start",
                "start",
                Unit::NsOffset,
                rows.iter().map(|range| snapshot.offset(range.start)).collect(),
            ),
            Column::integer(
                "duration",
                "duration",
                Unit::Ns,
                rows.iter()
                    .map(|range| Some(range.end?.saturating_sub(range.start).saturating_mul(1000)))
                    .collect(),
            )
            .hint("unknown without an end: still open when the snapshot was taken"),
            bytes("peak", "peak", &active(|(_, most, _)| most)).hint("most active bytes in it").with_bar(),
            bytes("active_before", "active before", &active(|(before, ..)| before)),
            bytes("active_after", "active after", &active(|(.., after)| after)),
            bytes("growth", "growth", &|range| {
                let (before, _, after) = range.active?;
                Some(signed(after).saturating_sub(signed(before)))
            })
            .hint("active after it less active before it"),
            bytes("allocated", "allocated", &|range| Some(signed(range.allocated))).hint("by events in it"),
        ],
    )
    .sorted_by("start", false)
    .caption("One row per range of external_annotations, such as a step of the profiler.")
    .not_compared();
    Some(with_left_out(table, n_left_out))
}

//! GPU memory snapshot: the peak and what lived then, what was never freed, fragmentation of the segments, out-of-memory events,
//! and memory over time; by device.
//!
//! Numbers are those of [`crate::trace::memory_snapshot`]. Whole stacks are in the functions by stack and in the flame graphs.

pub(super) mod allocations;
mod findings;
mod moment;
pub(super) mod places;
mod ranges;
pub(super) mod segments;
mod sites;
pub(super) mod usage;

use super::several::{name_notes, numbered, titled};
use super::timeline::{integers, texts};
use super::{AnalysisInfo, Context, Group, TableHandle};
use crate::base::sort;
use crate::base::units::{Unit, counted, format_bytes, format_ns, format_ratio};
use crate::report::{Column, Content, Facts, Mark, Report, Table};
use crate::trace::memory_snapshot::{Action, Device, MemorySnapshot, NO_TIME};
use crate::trace::samples::StackId;
use crate::trace::{Run, Trace};
use places::Choice;
use segments::Fragmentation;

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "memory-snapshot",
    title: "GPU memory snapshot",
    applies,
    run,
    group: Group::Summary,
    is_late: false,
};

/// Memory by code location; those of further snapshots end with a number.
const SITES: TableHandle = TableHandle { report: &INFO, id: "allocation_sites" };
/// The same by frames outside of PyTorch.
const PROGRAM_SITES: TableHandle = TableHandle { report: &INFO, id: "program_sites" };
/// Segments by pool.
const POOLS: TableHandle = TableHandle { report: &INFO, id: "pools" };
const OUT_OF_MEMORY: TableHandle = TableHandle { report: &INFO, id: "out_of_memory" };

pub(super) fn applies(run: &Run) -> bool {
    run.traces.iter().any(|trace| trace.memory_snapshot.is_some())
}

/// A snapshot with its trace.
pub(super) struct Snapshot<'a> {
    pub trace: &'a Trace,
    pub snapshot: &'a MemorySnapshot,
    /// Earliest time of an event or annotation, in microseconds since the Unix epoch.
    start_us: Option<i64>,
    /// By device, of the segments at the end.
    at_end: Vec<Fragmentation>,
}

impl<'a> Snapshot<'a> {
    pub fn new(trace: &'a Trace) -> Option<Snapshot<'a>> {
        let snapshot = trace.memory_snapshot.as_deref()?;
        let of_events = snapshot.devices.iter().flat_map(|device| &device.events.time_us);
        let of_annotations = snapshot.annotations.iter().map(|it| &it.time_us);
        let times = of_events.chain(of_annotations).copied();
        let start_us = times.filter(|time| *time != NO_TIME).min();
        let at_end = (0..snapshot.devices.len())
            .map(|device| Fragmentation::of(snapshot.segments_of(device)))
            .collect();
        Some(Snapshot { trace, snapshot, start_us, at_end })
    }

    /// Nanoseconds since the start; `None` without a time.
    pub fn offset(&self, time_us: i64) -> Option<i64> {
        let start = self.start_us.filter(|_| time_us != NO_TIME)?;
        Some(time_us.saturating_sub(start).saturating_mul(1000))
    }

    /// Devices with events or segments, with their numbers.
    pub fn devices(&self) -> impl Iterator<Item = (usize, &'a Device)> + '_ {
        let devices = self.snapshot.devices.iter().enumerate();
        devices.filter(|(number, device)| !device.events.is_empty() || self.at_end[*number].n_segments > 0)
    }

    /// The device with the highest peak; without events, with the most at the end.
    pub fn fullest(&self) -> Option<(usize, &'a Device)> {
        // The first one wins ties.
        self.devices().max_by_key(|(number, device)| (device.peak.bytes, std::cmp::Reverse(*number)))
    }
}

/// Calls `each` with device, stack and bytes of what is active after the last event up to `moment`, in nanoseconds since the start.
/// `None` if the trace is no snapshot with times.
pub fn active_at(trace: &Trace, moment: i64, each: impl FnMut(usize, StackId, u64)) -> Option<()> {
    moment::active_at(&Snapshot::new(trace)?, moment, each)
}

/// That a snapshot has no events, and what is unknown for that reason.
pub fn without_events(trace: &Trace) -> Option<String> {
    trace.memory_snapshot.as_deref().filter(|snapshot| !snapshot.has_events())?;
    Some(format!(
        "{} has no events: its peak, and what was allocated and freed, are unknown.",
        trace.source.file_name
    ))
}

/// Name of a device.
pub fn label(device: usize) -> String {
    format!("GPU {device}")
}

/// The column with which rows name their GPU.
pub(super) fn device_column(devices: impl Iterator<Item = usize>) -> Column {
    // GPUs are separate memories.
    Column::key("device", "device", Content::Plain, texts(devices.map(|device| Some(label(device))))).apart()
}

pub(super) fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// `part` / `whole`; `None` if there is no whole.
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let snapshots: Vec<Snapshot<'_>> = context.run.traces.iter().filter_map(Snapshot::new).collect();
    for (number, snapshot) in snapshots.iter().enumerate() {
        let n_before = report.blocks.len();
        let title = |title: &str| titled(title, snapshot.trace, snapshots.len());
        let id = |id: &str| numbered(id, number).into_owned();
        let sites = sites::by_place(snapshot, Choice::Program);
        if report.summary.is_empty() {
            report.summary = summary(snapshot, &sites);
        }
        // The picture that people know from PyTorch's own page comes first, of the GPU that was fullest.
        let fullest = snapshot.fullest().map(|(number, _)| number);
        let mut charts = usage::charts(snapshot, context.query.memory_at, &id, &title);
        sort::by_key(&mut charts, |(device, _)| Some(*device) != fullest);
        let mut charts = charts.into_iter();
        let first = charts.next().map(|(device, chart)| {
            report.chart(chart);
            device
        });
        if let Some(moment) = context.query.memory_at {
            match moment::table(snapshot, moment, id("active_at"), &title) {
                Some(table) => report.table(table),
                None => {
                    report.info("Events of this snapshot have no times, so memory at a moment is unknown.")
                }
            };
        }
        if let Some(findings) = findings::findings(snapshot, &sites, &id) {
            report.findings(findings);
        }
        if let Some(facts) = facts(snapshot, title("Memory")) {
            report.facts(facts);
        }
        notes(snapshot, &mut report);
        let allocations = |device: usize| allocations::chart(snapshot, device, &id, &title);
        first.and_then(allocations).into_iter().for_each(|chart| report.chart(chart));
        for (device, chart) in charts {
            report.chart(chart);
            allocations(device).into_iter().for_each(|chart| report.chart(chart));
        }
        report.table(devices(snapshot, id("devices"), title("Devices")));
        report.table(
            sites::table(
                snapshot,
                id(PROGRAM_SITES.id),
                title("Allocation sites outside of PyTorch"),
                &sites,
            )
            .caption("One row per device and innermost frame that isn't PyTorch's own."),
        );
        let innermost = sites::by_place(snapshot, Choice::Innermost);
        report.table(
            sites::table(snapshot, id(SITES.id), title("Allocation sites"), &innermost)
                .caption("One row per device and innermost Python frame; without one, per C++ function."),
        );
        if let Some(table) = sites::by_metadata(snapshot, id("metadata"), title("By user metadata")) {
            report.table(table);
        }
        report.table(segments::pools(snapshot, id(POOLS.id), title("Segments by pool")));
        report.table(segments::out_of_memory(snapshot, id(OUT_OF_MEMORY.id), title("Out-of-memory events")));
        if let Some(table) = ranges::table(snapshot, id("ranges"), title("Annotated ranges")) {
            report.table(table);
        }
        if let Some(note) = ranges::stray_ends(snapshot) {
            report.info(note);
        }
        report.table(segments::all(snapshot, id("segments"), title("Segments")));
        report.table(allocations::table(snapshot, id("allocations"), title("Largest allocations")));
        report.table(actions(snapshot, id("actions"), title("Events by action")));
        report.table(usage::table(snapshot, id("usage"), title("Memory over time")));
        name_notes(&mut report, n_before, snapshot.trace, snapshots.len());
    }
    report
}

fn summary(snapshot: &Snapshot<'_>, sites: &[sites::Site]) -> String {
    let Some((number, device)) = snapshot.fullest() else {
        return "The snapshot has no events and no segments.".to_string();
    };
    let when = match (device.peak.event, device.peak.time_us.and_then(|time| snapshot.offset(time))) {
        (None, _) => "before the first event".to_string(),
        (Some(_), Some(offset)) => format!("{} after the start of the recording", format_ns(offset)),
        (Some(row), None) => format!("at event {row}"),
    };
    let of_device = sites.iter().filter(|site| site.device == number);
    // Of equal ones the first, as in the findings.
    let most = of_device.rev().max_by_key(|site| site.at_peak.bytes).filter(|site| site.at_peak.bytes > 0);
    let most = most.and_then(|site| Some((site, ratio(site.at_peak.bytes, device.peak.bytes)?)));
    let most = most.map_or(String::new(), |(site, share)| {
        format!("; {} was allocated {}", format_ratio(share), site.place.phrase())
    });
    let peak = format_bytes(device.peak.bytes);
    if !snapshot.snapshot.has_events() {
        // Only the end is known.
        return format!(
            "GPU memory: {peak} on {} when the snapshot was taken; its peak was not recorded{most}.",
            label(number)
        );
    }
    format!("Peak GPU memory: {peak} on {}, {when}{most}.", label(number))
}

/// Facts about the fullest device.
fn facts(snapshot: &Snapshot<'_>, title: String) -> Option<Facts> {
    let (number, device) = snapshot.fullest()?;
    let end = &snapshot.at_end[number];
    let mut facts = Facts::new(title);
    let has_events = snapshot.snapshot.has_events();
    facts.push("device", "Device", label(number), Unit::None).hint(match has_events {
        true => "device with the highest peak",
        false => "device with the most active memory",
    });
    if has_events {
        facts
            .push("peak", "Peak", signed(device.peak.bytes), Unit::Bytes)
            .hint("most active bytes at once: from allocation until the allocator has the memory again");
        if let Some(offset) = device.peak.time_us.and_then(|time| snapshot.offset(time)) {
            facts
                .push("peak_after", "Time of peak", offset, Unit::Ns)
                .hint("since the first event or annotation");
        }
        let at_peak: u64 = device.uses.iter().map(|it| it.at_peak.n).sum();
        facts.push("peak_allocations", "Allocations at peak", at_peak, Unit::Count);
        facts
            .push("peak_allocated", "Peak allocated", signed(device.peak_allocated), Unit::Bytes)
            .hint("most allocated bytes at once: from allocation until the program frees the memory");
    }
    facts.push("at_end", "Active at end", signed(device.active_at_end), Unit::Bytes);
    if snapshot.snapshot.knows_reserved(number) {
        facts
            .push("reserved", "Reserved at end", signed(end.total), Unit::Bytes)
            .hint("segments that the allocator holds");
        facts
            .push("inactive", "Inactive at end", signed(end.inactive), Unit::Bytes)
            .hint("reserved, but in no active block");
    }
    let n_oom: usize = snapshot.devices().map(|(_, device)| n_of(device, Action::Oom)).sum();
    if n_oom > 0 {
        facts
            .push("out_of_memory", "Out-of-memory events", n_oom as u64, Unit::Count)
            .mark(Mark::Bad)
            .hint("on all GPUs");
    }
    Some(facts)
}

fn n_of(device: &Device, action: Action) -> usize {
    device.events.action.iter().filter(|own| **own == action).count()
}

fn notes(snapshot: &Snapshot<'_>, report: &mut Report) {
    let devices = || snapshot.devices();
    let has_segments = !snapshot.snapshot.segments.is_empty();
    let n_events: usize = devices().map(|(_, device)| device.events.len()).sum();
    if n_events == 0 {
        report.info(
            "The snapshot has no events, so it shows only what was live when it was taken. Call torch.cuda.memory._record_memory_history() first to record them.",
        );
    } else if snapshot.snapshot.is_cut {
        report.warning(
            "The file ends early, so the last events are missing. The peak is that of the events that are there; reserved memory over \
             time is the least that they need.",
        );
    } else if !has_segments {
        report.info(
            "The snapshot has no segments, so fragmentation is unknown. Reserved memory over time is the least that its events need.",
        );
    }
    let before = devices().fold(0u64, |sum, (_, device)| sum.saturating_add(device.live_before));
    if before > 0 && n_events > 0 {
        report.info(format!(
            "{} were allocated before the first event; their stacks are those of their free or of the snapshot. Start recording before the model is built to see what allocated them.",
            format_bytes(before)
        ));
    }
    if devices().count() > 1 {
        report.info("Devices are separate memories; their peaks are never added up.");
    }
    let without = devices().all(|(_, device)| device.uses.iter().all(|it| it.stack.0 == u32::MAX));
    if without && n_events > 0 {
        report.info(
            "No event has a stack. Record with torch.cuda.memory._record_memory_history(context=\"all\") to see what allocated.",
        );
    }
}

fn devices(snapshot: &Snapshot<'_>, id: String, title: String) -> Table {
    let rows: Vec<(usize, &Device)> = snapshot.devices().collect();
    let bytes = |id: &'static str, label: &str, get: &dyn Fn(usize, &Device) -> Option<u64>| {
        let bytes = rows.iter().map(|(number, device)| get(*number, device).map(signed));
        Column::integer(id, label, Unit::Bytes, bytes.collect())
    };
    // What only events tell.
    let has_events = snapshot.snapshot.has_events();
    let of_events = |id: &'static str, label: &str, get: &dyn Fn(&Device) -> u64| {
        bytes(id, label, &|_, device| has_events.then(|| get(device)))
    };
    let uses = |device: &Device, get: fn(&crate::trace::memory_snapshot::Use) -> u64| {
        device.uses.iter().fold(0u64, |sum, it| sum.saturating_add(get(it)))
    };
    let end = &snapshot.at_end;
    let at_end = |id: &'static str, label: &str, get: &dyn Fn(usize) -> u64| {
        bytes(id, label, &|number, _| snapshot.snapshot.knows_reserved(number).then(|| get(number)))
    };
    let peak_at = |device: &Device| device.peak.time_us.and_then(|time| snapshot.offset(time));
    Table::new(
        id,
        title,
        vec![
            device_column(rows.iter().map(|(number, _)| *number)),
            integers(
                "events",
                "events",
                Unit::Count,
                rows.iter().map(|(_, device)| signed(device.events.len() as u64)),
            ),
            of_events("peak", "peak", &|device| device.peak.bytes)
                .hint("most active bytes at once")
                .by_row()
                .with_bar(),
            Column::integer(
                "peak_event",
                "event of peak",
                Unit::Id,
                rows.iter()
                    .map(|(_, device)| has_events.then(|| device.peak.event.map_or(-1, signed)))
                    .collect(),
            )
            .hint("index in the file, counted from zero; negative before the first event"),
            Column::integer(
                "peak_at",
                "time of peak",
                Unit::NsOffset,
                rows.iter().map(|(_, device)| peak_at(device)).collect(),
            ),
            of_events("peak_allocated", "peak allocated", &|device| device.peak_allocated)
                .hint("most allocated bytes at once")
                .by_row(),
            of_events("live_before", "live before", &|device| device.live_before)
                .hint("live before the first event"),
            bytes("active_at_end", "active at end", &|_, device| Some(device.active_at_end)).by_row(),
            of_events("never_freed", "never freed", &|device| uses(device, |it| it.never_freed.bytes))
                .hint("allocated by an event and live at the end")
                .by_row(),
            of_events("allocated_total", "allocated in total", &|device| device.allocated_total.bytes)
                .by_row(),
            at_end("reserved", "reserved at end", &|number| end[number].total).by_row(),
            at_end("inactive", "inactive at end", &|number| end[number].inactive)
                .hint("reserved, but in no active block")
                .by_row(),
            Column::float(
                "inactive_share",
                "% inactive",
                Unit::Ratio,
                rows.iter().map(|(number, _)| ratio(end[*number].inactive, end[*number].total)).collect(),
            ),
            bytes("rounding", "rounding", &|number, _| end[number].rounding())
                .hint("active bytes beyond what was asked for")
                .by_row(),
        ],
    )
    .caption("One row per GPU.")
    .if_empty("The snapshot has no events and no segments.")
}

fn actions(snapshot: &Snapshot<'_>, id: String, title: String) -> Table {
    let rows: Vec<(usize, &str, u64)> = snapshot
        .devices()
        .flat_map(|(number, device)| {
            let text = |id| snapshot.trace.strings.get_opt(id).unwrap_or_default();
            device.counts.iter().map(move |(name, n)| (number, text(*name), *n))
        })
        .collect();
    let devices = texts(rows.iter().map(|(number, ..)| Some(label(*number))));
    Table::new(
        id,
        title,
        vec![
            Column::key("device", "device", Content::Plain, devices),
            Column::key("action", "action", Content::Plain, texts(rows.iter().map(|row| Some(row.1)))),
            Column::counts("events", "events", Unit::Count, rows.iter().map(|row| row.2)).adds_up(),
        ],
    )
    .caption(match snapshot.devices().map(|(_, it)| it.n_not_events + it.n_bad_values).sum::<u64>() {
        0 => String::new(),
        n => format!("Without {}.", counted(n, "skipped entry", "skipped entries")),
    })
    .if_empty("No events.")
}

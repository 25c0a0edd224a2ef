//! Allocations, from the instant events that the profiler writes with `profile_memory`.

use crate::analysis::gpu::facts::integer;
use crate::analysis::gpu::{GpuTrace, Kind, Lack, NamedTrace};
use crate::analysis::timeline::{self, cut, integers, texts, with_left_out};
use crate::base::hash::{HashMap, HashSet};
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::{Unit, format_bytes, format_ns};
use crate::report::chart::{Chart, Line, Lines, Over, Plot, Tone};
use crate::report::{Column, Content, Report, Table};
use crate::trace::Trace;
use crate::trace::builder::for_each_member;
use crate::trace::tracks::{Key, ProcessId};

/// Name of these instant events.
const NAME: &str = "[memory]";

/// An allocation or a free.
struct Change {
    slice: u32,
    ts: i64,
    /// Negative if freed.
    bytes: i64,
    /// 0 if not recorded.
    address: u64,
    /// The allocator's own total after the change.
    allocated: Option<u64>,
    reserved: Option<u64>,
}

/// Memory of one device in one process; each process has its own addresses and totals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Owner {
    /// PyTorch's number of the type: 0 is the CPU.
    kind: i64,
    id: i64,
    process: Option<ProcessId>,
}

impl Owner {
    /// Device name, with the process if several processes use a device of this number.
    fn label(self, gpu: &GpuTrace<'_>, owners: &[(Owner, Vec<Change>)]) -> String {
        let device = match self.kind {
            0 => "CPU".to_string(),
            1 | 6 => format!("GPU {}", self.id),
            kind => format!("device {} of type {kind}", self.id),
        };
        let process = self.process.filter(|_| self.number(owners).is_some());
        match process.and_then(|process| gpu.trace.processes.key.get(process.0 as usize)) {
            Some(Key::Number(pid)) => format!("{device}, process {pid}"),
            Some(Key::Text(pid) | Key::Digits(pid)) => {
                format!("{device}, process {}", gpu.trace.strings.get_opt(*pid).unwrap_or(""))
            }
            None => device,
        }
    }

    /// Index among the processes that use this device; `None` if it is the only one.
    fn number(self, owners: &[(Owner, Vec<Change>)]) -> Option<usize> {
        let alike = || owners.iter().filter(|(other, _)| (other.kind, other.id) == (self.kind, self.id));
        (alike().count() > 1).then(|| alike().position(|(other, _)| *other == self)).flatten()
    }
}

/// Adds tables on allocations, or a note that there are none.
pub fn add(named: &NamedTrace<'_, '_>, report: &mut Report) {
    let gpu = named.gpu;
    let owners = changes(gpu);
    if owners.is_empty() {
        let advice = gpu.advice(Lack::Allocations);
        report.info(format!("No allocations in this trace.{advice}"));
        return;
    }
    let summaries: Vec<(Owner, Summary)> =
        owners.iter().map(|(owner, changes)| (*owner, Summary::new(changes))).collect();
    if let Some((owner, summary)) =
        summaries.iter().filter(|(owner, _)| owner.kind != 0).max_by_key(|(_, summary)| summary.peak)
    {
        report.summary = format!(
            "{} Peak memory: {}{} on {}.",
            report.summary,
            if summary.is_exact { "" } else { "at least " },
            format_bytes(u64::try_from(summary.peak).unwrap_or(0)),
            owner.label(gpu, &owners)
        );
    }
    let over_time = over_time(named, &owners);
    if let Some((chart, _)) = &over_time {
        report.chart(chart.clone());
    }
    report.table(owner_table(named, &owners, &summaries));
    if let Some((_, table)) = over_time {
        report.table(table);
    }
    for ((owner, changes), (_, summary)) in owners.iter().zip(&summaries) {
        if owner.kind != 0 || owners.len() == 1 {
            report.table(live_table(named, (*owner, &owners), changes, summary));
        }
    }
}

/// Whether a trace has events of the allocator.
pub fn are_in(trace: &Trace) -> bool {
    trace.aggregated.is_none()
        && trace.strings.find(NAME).is_some_and(|name| trace.slices.name.contains(&name))
}

fn changes(gpu: &GpuTrace<'_>) -> Vec<(Owner, Vec<Change>)> {
    let trace = gpu.trace;
    let mut by_owner: HashMap<Owner, Vec<Change>> = HashMap::default();
    let Some(name) = trace.strings.find(NAME) else { return Vec::new() };
    for i in 0..trace.slices.len() {
        if trace.slices.name[i] != name {
            continue;
        }
        let Some(raw) = trace.args.get(trace.slices.args_of(i)) else { continue };
        let mut change = Change {
            slice: i as u32,
            ts: trace.slices.ts[i],
            bytes: 0,
            address: 0,
            allocated: None,
            reserved: None,
        };
        let mut owner = Owner { kind: 0, id: -1, process: gpu.process_of(i) };
        for_each_member(&raw, |key, value| {
            let number = || integer(value);
            let unsigned = || number().and_then(|number| u64::try_from(number).ok());
            match key.bytes {
                b"Bytes" => change.bytes = number().unwrap_or(0),
                b"Addr" => change.address = unsigned().unwrap_or(0),
                b"Device Type" => owner.kind = number().unwrap_or(0),
                b"Device Id" => owner.id = number().unwrap_or(-1),
                b"Total Allocated" => change.allocated = unsigned(),
                b"Total Reserved" => change.reserved = unsigned(),
                _ => {}
            }
        });
        by_owner.entry(owner).or_default().push(change);
    }
    let mut owners: Vec<(Owner, Vec<Change>)> = by_owner.into_iter().collect();
    sort::by_key(&mut owners, |(owner, _)| *owner);
    owners
}

/// Bytes in use over the changes of a device.
struct InUse {
    /// Before the first change.
    before: i64,
    /// After each change.
    after: Vec<i64>,
    /// Whether they follow the allocator's own totals. If not, they lack what is from before the recording and never freed in it.
    is_exact: bool,
}

impl InUse {
    fn of(changes: &[Change]) -> InUse {
        let total = |change: &Change| change.allocated.and_then(|bytes| i64::try_from(bytes).ok());
        let first = changes.iter().enumerate().find_map(|(i, change)| Some((i, total(change)?)));
        let before = match first {
            Some((first, total)) => {
                changes[..=first].iter().fold(total, |left, change| left.saturating_sub(change.bytes)).max(0)
            }
            None => freed_from_before(changes),
        };
        let mut now = before;
        let after = changes.iter().map(|change| {
            now = total(change).unwrap_or_else(|| now.saturating_add(change.bytes).max(0));
            now
        });
        InUse { before, after: after.collect(), is_exact: first.is_some() }
    }
}

/// Bytes that were in use before the first change, as far as frees show it: addresses that are freed before they are allocated, and at
/// least as much as keeps the sum from going below zero.
fn freed_from_before(changes: &[Change]) -> i64 {
    let mut seen: HashSet<u64> = HashSet::default();
    let mut freed = 0i64;
    let (mut sum, mut least) = (0i64, 0i64);
    for change in changes {
        let is_first = change.address != 0 && seen.insert(change.address);
        if is_first && change.bytes < 0 {
            freed = freed.saturating_sub(change.bytes);
        }
        sum = sum.saturating_add(change.bytes);
        least = least.min(sum);
    }
    freed.max(least.saturating_neg())
}

/// Totals over all changes of a device.
struct Summary {
    n_allocations: u64,
    n_frees: u64,
    allocated_bytes: i64,
    /// Peak bytes in use.
    peak: i64,
    /// Index of the change that reached the peak; `None` if it was before the first one.
    peak_at: Option<usize>,
    reserved: Option<u64>,
    end: i64,
    /// As in [`InUse`].
    is_exact: bool,
}

impl Summary {
    fn new(changes: &[Change]) -> Summary {
        let in_use = InUse::of(changes);
        let mut summary = Summary {
            n_allocations: 0,
            n_frees: 0,
            allocated_bytes: 0,
            peak: in_use.before,
            peak_at: None,
            reserved: None,
            end: in_use.before,
            is_exact: in_use.is_exact,
        };
        for (i, (change, after)) in changes.iter().zip(in_use.after).enumerate() {
            if change.bytes >= 0 {
                summary.n_allocations += 1;
                summary.allocated_bytes = summary.allocated_bytes.saturating_add(change.bytes);
            } else {
                summary.n_frees += 1;
            }
            if after > summary.peak {
                (summary.peak, summary.peak_at) = (after, Some(i));
            }
            summary.end = after;
            summary.reserved = summary.reserved.max(change.reserved);
        }
        summary
    }
}

/// Memory in use over time, as a chart and a table. `None` without GPU memory.
fn over_time(named: &NamedTrace<'_, '_>, owners: &[(Owner, Vec<Change>)]) -> Option<(Chart, Table)> {
    const MAX_POINTS: usize = 800;
    let start = named.gpu.trace.span().map_or(0, |(start, _)| start);
    let lines: Vec<Line> = owners
        .iter()
        .filter(|(owner, _)| owner.kind != 0)
        .take(6)
        .enumerate()
        .map(|(number, (owner, changes))| {
            let in_use = InUse::of(changes);
            // What was in use before the first change was so from the start of the trace.
            let before = (in_use.before > 0).then_some((0, in_use.before as f64));
            let at = |change: &Change| change.ts.saturating_sub(start);
            let after = changes.iter().zip(in_use.after).map(|(change, bytes)| (at(change), bytes as f64));
            Line {
                name: owner.label(named.gpu, owners),
                tone: Tone::Other(number as u8),
                points: before.into_iter().chain(after).collect(),
            }
            .at_most(MAX_POINTS)
        })
        .collect();
    if lines.is_empty() {
        return None;
    }
    let lines = Lines::new(lines, Unit::Bytes, Over::Time);
    let title = named.title("Memory over time");
    let columns = [("device", "device"), ("in_use", "in use")];
    let table = timeline::over_time(named.id("memory_over_time"), title.clone(), &lines, columns);
    let caption = String::new();
    Some((Chart { id: named.id("memory_chart"), title, caption, plot: Plot::Lines(lines) }, table))
}

fn owner_table(
    named: &NamedTrace<'_, '_>,
    owners: &[(Owner, Vec<Change>)],
    rows: &[(Owner, Summary)],
) -> Table {
    Table::new(
        named.id("allocations"),
        named.title("Allocations"),
        vec![
            Column::key("device", "device", Content::Plain, texts(rows.iter().map(|row| Some(row.0.label(named.gpu, owners))))),
            Column::counts("allocations", "allocations", Unit::Count, rows.iter().map(|row| row.1.n_allocations)),
            Column::counts("frees", "frees", Unit::Count, rows.iter().map(|row| row.1.n_frees)),
            integers("allocated", "total allocated", Unit::Bytes, rows.iter().map(|row| row.1.allocated_bytes)),
            integers("peak", "peak in use", Unit::Bytes, rows.iter().map(|row| row.1.peak)).with_bar(),
            Column::unsigned("reserved", "peak reserved", Unit::Bytes, rows.iter().map(|row| row.1.reserved).collect())
                .hint("reserved by the caching allocator"),
            integers("end", "in use at end", Unit::Bytes, rows.iter().map(|row| row.1.end)),
        ],
    )
    .caption(
        "From the profiler's allocation events. Memory in use is the allocator's own total. If that is not recorded, it is the sum \
         of changes, and of earlier allocations that were freed later. It misses those that were never freed.",
    )
}

/// Memory allocated during recording and live at the peak, by source.
fn live_table(
    named: &NamedTrace<'_, '_>,
    (owner, owners): (Owner, &[(Owner, Vec<Change>)]),
    changes: &[Change],
    summary: &Summary,
) -> Table {
    let gpu = named.gpu;
    let has_addresses = changes.iter().any(|change| change.address != 0);
    let mut live: HashMap<u64, &Change> = HashMap::default();
    for change in changes.iter().take(summary.peak_at.map_or(0, |at| at + 1)) {
        if change.bytes >= 0 {
            live.insert(change.address, change);
        } else {
            live.remove(&change.address);
        }
    }
    let mut by_source: HashMap<(StringId, StringId), (u64, i64)> = HashMap::default();
    let mut known = 0;
    if has_addresses {
        for change in live.values() {
            let name = |slice: Option<u32>| {
                slice.map_or(StringId::NONE, |slice| gpu.trace.slices.name[slice as usize])
            };
            let op = name(gpu.around(change.slice, |_, kind| kind == Kind::Op));
            let frame = name(gpu.around(change.slice, |_, kind| kind == Kind::Python));
            let (n, bytes) = by_source.entry((op, frame)).or_default();
            *n += 1;
            *bytes = bytes.saturating_add(change.bytes);
            known = i64::saturating_add(known, change.bytes);
        }
    }
    let mut rows: Vec<((StringId, StringId), (u64, i64))> = by_source.into_iter().collect();
    let text = |id: StringId| gpu.trace.strings.get_opt(id);
    sort::by(&mut rows, |a, b| (b.1.1, text(a.0.0), text(a.0.1)).cmp(&(a.1.1, text(b.0.0), text(b.0.1))));
    let n_left_out = cut(&mut rows);
    let start = gpu.trace.span().map_or(0, |(start, _)| start);
    let peak_at = summary.peak_at.and_then(|at| changes.get(at));
    let when = match peak_at.map(|change| change.ts.saturating_sub(start)) {
        Some(at) => format!("{} after the start of the trace", format_ns(at)),
        None => "before the first allocation event".to_string(),
    };
    let before = summary.peak.saturating_sub(known).max(0);
    let table = Table::new(
        named.id("live"),
        named.title(&format!("Live at peak: {}", owner.label(gpu, owners))),
        vec![
            Column::key("op", "operator", Content::Symbol, texts(rows.iter().map(|row| text(row.0.0)))),
            Column::key("frame", "Python frame", Content::Symbol, texts(rows.iter().map(|row| text(row.0.1)))),
            Column::counts("blocks", "blocks", Unit::Count, rows.iter().map(|row| row.1.0)),
            integers("bytes", "bytes", Unit::Bytes, rows.iter().map(|row| row.1.1)).with_bar(),
        ],
    )
    .caption(format!(
        "Blocks live at the peak of {}, {when}, by innermost operator and frame around the allocation. {} more have no recorded \
         allocation.",
        format_bytes(u64::try_from(summary.peak).unwrap_or(0)),
        format_bytes(u64::try_from(before).unwrap_or(0))
    ))
    .if_empty("No recorded allocation was live at the peak, or allocations have no addresses.");
    let mut table = with_left_out(table, n_left_out);
    if owner.id > 0 {
        table.id = format!("{}_gpu{}", table.id, owner.id).into();
    }
    if let Some(number @ 1..) = owner.number(owners) {
        table.id = format!("{}_process{}", table.id, number + 1).into();
    }
    table
}

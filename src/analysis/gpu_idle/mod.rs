//! Idle time: gaps on the GPU by cause, launch overhead and queue depth.

pub mod in_range;
mod launches;
mod meanwhile;
mod op_launches;
mod phases;
mod queue;

use super::gpu::captures;
use super::gpu::gaps::{self, Cause, Gap, NO_DEVICE_RECORD, Stretch};
use super::gpu::model::NONE;
use super::gpu::stats::{Durations, SumNs, percent, share};
use super::gpu::{GpuTrace, NamedTrace};
use super::gpu_kernels;
use super::timeline::{integers, texts};
use super::{AnalysisInfo, Context, Group, TableHandle};
use crate::base::sort;
use crate::base::units::{Unit, format_ns, group_digits};
use crate::report::{Column, Content, Report, Table};

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "gpu-idle",
    title: "Idle and launch",
    applies: gpu_kernels::applies,
    run,
    group: Group::Gpu,
    is_late: true,
};

/// Tables that findings read.
pub const IDLE: TableHandle = TableHandle { report: &INFO, id: "idle" };
pub const IDLE_BY_PHASE: TableHandle = TableHandle { report: &INFO, id: "idle_by_phase" };
pub const GAPS: TableHandle = TableHandle { report: &INFO, id: "gaps" };
pub const LAUNCHES: TableHandle = TableHandle { report: &INFO, id: "launches" };

/// Number of gaps listed.
const N_GAPS: usize = 50;

/// Hint for the part of a gap after its launch call.
const LATE_HINT: &str = "time in these gaps after a late launch call; up to the end of that call, the gap counts as waiting for \
                         the host";

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    NamedTrace::each(context.gpu(), &mut report, |named, report| add(named, report));
    report
}

fn add(named: &NamedTrace<'_, '_>, report: &mut Report) {
    let gpu = named.gpu;
    let by_device = gaps::of_devices(gpu);
    if report.summary.is_empty() {
        report.summary = captures::said_first(gpu.trace, gpu.vendor, summary(gpu, &by_device));
    }
    let labels: Vec<String> = (0..gpu.devices.len() as u32).map(|device| gpu.device_label(device)).collect();
    report.table(
        cause_table(named, IDLE.id, "GPU idle time", &labels, &by_device).caption(
            "Gaps in which no stream ran anything. A gap that begins before the launch call of the next kernel counts as waiting for \
             the host up to the end of that call. The rest is a gap between kernels if under 30 µs, else a stall on an event, \
             another stream or a resource. Gaps that may contain unrecorded kernels don't count as idle. Pages of unified memory migrate without \
             a launch, so gaps before them have a cause of their own.",
        ),
    );
    if gpu.streams.len() > 1 {
        let labels: Vec<String> =
            (0..gpu.streams.len() as u32).map(|stream| gpu.stream_of_device_label(stream)).collect();
        let by_stream = gaps::gaps(gpu, gpu.streams.len(), |work| work.stream as usize);
        report
            .table(cause_table(named, "idle_by_stream", "Idle time by stream", &labels, &by_stream).caption(
                "Gaps within each stream, regardless of other streams (HTA's idle time breakdown).",
            ));
    }
    if let Some(table) = phases::table(named, &by_device) {
        report.table(table);
    }
    report.table(gap_table(named, &by_device));
    for table in launches::tables(named) {
        report.table(table);
    }
    if let Some(table) = op_launches::table(named) {
        report.table(table);
    }
    let queues = queue::Queue::all(gpu);
    let over_time = queue::over_time(named, &queues);
    if let Some((chart, _)) = &over_time {
        report.chart(chart.clone());
    }
    report.table(queue::table(named, &queues));
    if let Some((_, table)) = over_time {
        report.table(table);
    }
}

fn summary(gpu: &GpuTrace<'_>, by_device: &[Vec<Gap>]) -> String {
    let is_idle = |gap: &&Gap| !gap.may_hide_work;
    let idle = by_device.iter().flatten().filter(is_idle).map(|gap| gap.ns(gpu)).sum_ns();
    let unrecorded = by_device.iter().flatten().filter(|gap| !is_idle(gap)).map(|gap| gap.ns(gpu)).sum_ns();
    if unrecorded > 0 {
        return format!(
            "Idle time is unknown: launches without a device record may have run during {} of it. At least {} is idle.",
            format_ns(unrecorded),
            format_ns(idle),
        );
    }
    let n_gpus = by_device.len();
    let who = match (n_gpus, gpu.hides_work()) {
        (0 | 1, true) => "As far as recorded, the GPU was".to_string(),
        (0 | 1, false) => "The GPU was".to_string(),
        (_, true) => format!("As far as recorded, {n_gpus} GPUs were"),
        (_, false) => format!("{n_gpus} GPUs were"),
    };
    let in_total = if n_gpus > 1 { " in total" } else { "" };
    let of = |causes: &[Cause]| {
        let stretches = by_device.iter().flatten().flat_map(|gap| gap.stretches(gpu));
        stretches.filter(|stretch| causes.contains(&stretch.cause)).map(|stretch| stretch.ns()).sum_ns()
    };
    let (host, unknown) = (of(&[Cause::Host]), of(&[Cause::Unknown, Cause::Clocks]));
    let (Some(host), Some(unknown)) = (share(host, idle), share(unknown, idle)) else {
        return format!("{who} never idle.");
    };
    let idle = format_ns(idle);
    let of_host = |at_least: &str| {
        format!("{at_least}{} of that is host-bound (next kernel not launched yet)", percent(host))
    };
    let causes = match (percent(unknown).as_str(), percent(host).as_str()) {
        ("0.0%", _) => of_host(""),
        ("100.0%", "0.0%") => "the cause is unknown".to_string(),
        (unknown, "0.0%") => format!("the cause of {unknown} of that is unknown"),
        (unknown, _) => format!("{}; the cause of {unknown} is unknown", of_host("at least ")),
    };
    format!("{who} idle for {idle}{in_total}; {causes}.")
}

/// Place, cause, stretches, idle time of the place, and number and time of stretches after a late launch.
type CauseRow<'a> = (&'a str, &'a str, Durations, i64, Option<(u64, i64)>);

fn cause_table(
    named: &NamedTrace<'_, '_>,
    id: &'static str,
    title: &str,
    labels: &[String],
    gaps: &[Vec<Gap>],
) -> Table {
    let gpu = named.gpu;
    let mut rows: Vec<CauseRow<'_>> = Vec::new();
    for (label, gaps) in labels.iter().zip(gaps) {
        // Gaps that may hide unrecorded kernels are excluded.
        let total: i64 = gaps.iter().filter(|gap| !gap.may_hide_work).map(|gap| gap.ns(gpu)).sum_ns();
        for of in by_cause(gpu, gaps.iter()) {
            rows.push((label, of.cause.name(), Durations::new(of.times), total, of.late));
        }
    }
    Table::new(
        named.id(id),
        named.title(title),
        vec![
            Column::key("where", "where", Content::Plain, texts(rows.iter().map(|row| Some(row.0)))),
            Column::key("cause", "cause", Content::Plain, texts(rows.iter().map(|row| Some(row.1)))),
            Column::counts("gaps", "gaps", Unit::Count, rows.iter().map(|row| row.2.count()))
                .hint("a gap split at its launch counts under both causes"),
            integers("time", "time", Unit::Ns, rows.iter().map(|row| row.2.total())).with_bar(),
            Column::float(
                "share",
                "% of idle",
                Unit::Ratio,
                rows.iter()
                    .map(|row| share(row.2.total(), row.3).filter(|_| row.1 != NO_DEVICE_RECORD))
                    .collect(),
            ),
            Column::integer(
                "after_late_launch",
                "after late launch",
                Unit::Ns,
                rows.iter().map(|row| Some(row.4?.1)).collect(),
            )
            .hint(LATE_HINT),
            Column::unsigned(
                "late_gaps",
                "gaps after late launch",
                Unit::Count,
                rows.iter().map(|row| Some(row.4?.0)).collect(),
            ),
            Column::integer("p50", "p50", Unit::Ns, rows.iter().map(|row| row.2.quantile(0.5)).collect()),
            Column::integer("p99", "p99", Unit::Ns, rows.iter().map(|row| row.2.quantile(0.99)).collect()),
            Column::integer("max", "longest", Unit::Ns, rows.iter().map(|row| row.2.max()).collect()),
        ],
    )
    .if_empty("No gaps.")
}

/// The stretches of one cause.
struct OfCause {
    cause: Cause,
    /// How long each is, in nanoseconds.
    times: Vec<i64>,
    /// Number and time of those after a late launch; `None` for causes that have none.
    late: Option<(u64, i64)>,
}

/// What `gaps` are made of, in one pass, as there may be hundreds of thousands. Causes without stretches are left out.
fn by_cause<'a>(gpu: &GpuTrace<'_>, gaps: impl Iterator<Item = &'a Gap>) -> Vec<OfCause> {
    let mut all = Cause::ALL.map(|cause| OfCause {
        cause,
        times: Vec::new(),
        late: matches!(cause, Cause::Kernel | Cause::OnGpu).then_some((0, 0)),
    });
    for stretch in gaps.flat_map(|gap| gap.stretches(gpu)) {
        let Some(of) = all.iter_mut().find(|of| of.cause == stretch.cause) else { continue };
        of.times.push(stretch.ns());
        if let Some((n, ns)) = of.late.as_mut().filter(|_| stretch.is_after_late_launch) {
            (*n, *ns) = (*n + 1, ns.saturating_add(stretch.ns()));
        }
    }
    all.into_iter().filter(|of| !of.times.is_empty()).collect()
}

/// The longest gaps, split by cause, with the next kernel and its launch.
fn gap_table(named: &NamedTrace<'_, '_>, by_device: &[Vec<Gap>]) -> Table {
    let gpu = named.gpu;
    let mut rows: Vec<Stretch> = by_device.iter().flatten().flat_map(|gap| gap.stretches(gpu)).collect();
    let n_all = rows.len();
    let longest_first = |stretch: &Stretch| (-stretch.ns(), stretch.span.0);
    if n_all > N_GAPS {
        rows.select_nth_unstable_by_key(N_GAPS, longest_first);
        rows.truncate(N_GAPS);
    }
    sort::by_key(&mut rows, longest_first);
    let start = gpu.trace.span().map_or(0, |(start, _)| start);
    let work = |number: u32| &gpu.work[number as usize];
    let name = |number: u32| gpu.shown_name(gpu.trace.slices.name[work(number).slice as usize]);
    let wrappers = gpu.wrappers();
    let meanwhile = |stretch: &Stretch| {
        let launch = work(stretch.gap.next).launch;
        let is_long = matches!(stretch.cause, Cause::Host | Cause::OnGpu);
        let slice = is_long.then(|| meanwhile::busiest(gpu, launch, stretch.span, &wrappers)).flatten()?;
        Some(gpu.name(slice).to_string())
    };
    let of_launch = |stretch: &Stretch, get: &dyn Fn(u32) -> Option<u32>| {
        let launch = work(stretch.gap.next).launch;
        (launch != NONE).then(|| get(launch)).flatten().map(|slice| gpu.name(slice).to_string())
    };
    let table = Table::new(
        named.id(GAPS.id),
        named.title("Longest gaps"),
        vec![
            Column::key(
                "device",
                "GPU",
                Content::Plain,
                texts(rows.iter().map(|row| {
                    Some(gpu.device_label(gpu.streams[work(row.gap.next).stream as usize].device))
                })),
            ),
            integers(
                "start",
                "start",
                Unit::NsOffset,
                rows.iter().map(|row| row.span.0.saturating_sub(start)),
            )
            .as_key(),
            integers("time", "time", Unit::Ns, rows.iter().map(Stretch::ns)).with_bar(),
            Column::text(
                "cause",
                "cause",
                Content::Plain,
                texts(rows.iter().map(|row| Some(row.cause.name()))),
            ),
            integers("gap", "full gap", Unit::Ns, rows.iter().map(|row| row.gap.ns(gpu)))
                .hint("including the other part, if the gap is split at the end of its launch call"),
            Column::text(
                "meanwhile",
                "CPU activity during gap",
                Content::Symbol,
                texts(rows.iter().map(meanwhile)),
            )
            .hint("slice with the most self time in a host-bound gap or a stall, on the launching thread; in a stall, a call that waits for the GPU may be what keeps it waiting"),
            Column::text(
                "next",
                "next kernel",
                Content::Symbol,
                texts(rows.iter().map(|row| name(row.gap.next))),
            ),
            Column::text(
                "op",
                "operator",
                Content::Symbol,
                texts(rows.iter().map(|row| of_launch(row, &|call| gpu.op_of(call)))),
            ),
            Column::text(
                "frame",
                "Python frame",
                Content::Symbol,
                texts(rows.iter().map(|row| of_launch(row, &|call| gpu.frame_of(call)))),
            ),
            Column::text(
                "previous",
                "previous kernel",
                Content::Symbol,
                texts(rows.iter().map(|row| name(row.gap.previous))),
            ),
        ],
    )
    .if_empty("No gaps.");
    if n_all > N_GAPS {
        return table.caption(format!("The {N_GAPS} longest of {}.", group_digits(n_all as i128)));
    }
    table
}

//! Why the GPU waits: gaps between work, how long launches take, how much is queued.

mod launches;
mod meanwhile;
mod op_launches;
mod phases;
mod queue;

use super::gpu::model::NONE;
use super::gpu::stats::{Durations, SumNs, share};
use super::gpu::{GpuTrace, Named, Work};
use super::gpu_kernels;
use super::timeline::{integers, texts};
use super::{AnalysisInfo, Context};
use crate::base::units::{Unit, format_ns, group_digits};
use crate::report::{Column, Report, Table};

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "gpu-idle",
    title: "Idle and launch",
    applies: gpu_kernels::applies,
    run,
    reference: None,
    is_late: true,
};

/// Gaps shorter than this are what one piece of work needs to follow another: the limit that HTA applies (it documents it
/// in nanoseconds, and applies it to microseconds).
const KERNEL_WAIT_NS: i64 = 30_000;

/// Longest lists of gaps.
const N_GAPS: usize = 50;

/// Why nothing ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cause {
    /// The next work was launched only after the one before had ended.
    Host,
    /// It had been launched, and followed within [`KERNEL_WAIT_NS`].
    Kernel,
    /// It had been launched, and waited longer: for an event, another stream, or a resource.
    Other,
    /// How it was launched is not recorded.
    Unknown,
    /// It starts before its own launch: clocks disagree.
    Clocks,
    /// Something was launched of which there is no record: it may have run then, so this is no idle time.
    NotRecorded,
}

const CAUSES: [Cause; 6] =
    [Cause::Host, Cause::Kernel, Cause::Other, Cause::Unknown, Cause::Clocks, Cause::NotRecorded];

impl Cause {
    fn name(self) -> &'static str {
        match self {
            Cause::Host => HOST,
            Cause::Kernel => BETWEEN_KERNELS,
            Cause::Other => OTHER,
            Cause::Unknown => UNKNOWN,
            Cause::Clocks => CLOCKS,
            Cause::NotRecorded => NO_DEVICE_RECORD,
        }
    }
}

/// Causes as tables name them.
pub const HOST: &str = "waiting for the host";
pub const BETWEEN_KERNELS: &str = "between kernels";
pub const OTHER: &str = "other";
pub const UNKNOWN: &str = "launch not recorded";
pub const CLOCKS: &str = "clocks disagree";
pub const NO_DEVICE_RECORD: &str = "work not recorded";

const UNTIL_LAUNCHED_HINT: &str = "of the time, until the call that launched the next work had ended; from then on that work waited \
                                   on the GPU, for an event, another stream or a resource";

/// Time in which nothing ran, before `next`. There may be hundreds of thousands, so they hold no more than they have to.
#[derive(Clone, Copy)]
struct Gap {
    /// Numbers of the work before and after.
    previous: u32,
    next: u32,
    cause: Cause,
}

impl Gap {
    fn start(&self, gpu: &GpuTrace<'_>) -> i64 {
        gpu.work[self.previous as usize].end
    }

    fn end(&self, gpu: &GpuTrace<'_>) -> i64 {
        gpu.work[self.next as usize].start
    }

    fn ns(&self, gpu: &GpuTrace<'_>) -> i64 {
        self.end(gpu).saturating_sub(self.start(gpu))
    }

    /// Of [`Cause::Host`]: nanoseconds until the call that launched `next` had ended. What is left it waited on the GPU.
    fn until_launched(&self, gpu: &GpuTrace<'_>) -> i64 {
        match self.cause {
            Cause::Host => {
                let launched = gpu.end_of(gpu.work[self.next as usize].launch);
                launched.min(self.end(gpu)).saturating_sub(self.start(gpu))
            }
            _ => 0,
        }
    }
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    Named::each(context.gpu(), &mut report, |named, report| add(named, report));
    report
}

fn add(named: &Named<'_, '_>, report: &mut Report) {
    let gpu = named.gpu;
    let of_device = |work: &Work| gpu.streams[work.stream as usize].device as usize;
    let of_stream = |work: &Work| work.stream as usize;
    let by_device = gaps(gpu, gpu.devices.len(), of_device);
    if report.summary.is_empty() {
        report.summary = summary(gpu, &by_device);
    }
    let labels: Vec<String> = (0..gpu.devices.len() as u32).map(|device| gpu.device_label(device)).collect();
    report.table(
        cause_table(named, "idle", "Idle time of the GPU", &labels, &by_device).caption(
            "Gaps in which no stream of the GPU had anything to run. It waited for the host where the next work was launched only \
             after everything before had ended; gaps of less than 30 µs before work that had been launched are what it takes \
             to go from one kernel to the next. Gaps in which launches without a device record may have run are no idle time.",
        ),
    );
    if gpu.streams.len() > 1 {
        let labels: Vec<String> = (0..gpu.streams.len())
            .map(|stream| {
                let device = gpu.streams[stream].device;
                format!("{}, stream {}", gpu.device_label(device), gpu.stream_label(stream as u32))
            })
            .collect();
        let by_stream = gaps(gpu, gpu.streams.len(), of_stream);
        report.table(
            cause_table(named, "idle_by_stream", "Idle time of streams", &labels, &by_stream)
                .caption("Gaps between work of one stream, whatever others did: HTA's idle time breakdown."),
        );
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
    let is_idle = |gap: &&Gap| gap.cause != Cause::NotRecorded;
    let idle = by_device.iter().flatten().filter(is_idle).map(|gap| gap.ns(gpu)).sum_ns();
    let unrecorded = by_device.iter().flatten().filter(|gap| !is_idle(gap)).map(|gap| gap.ns(gpu)).sum_ns();
    if unrecorded > 0 {
        return format!(
            "Idle time is unknown: launches without a device record may have run in {} between the first and the last kernel; {} is \
             surely idle.",
            format_ns(unrecorded),
            format_ns(idle),
        );
    }
    let host = by_device.iter().flatten().map(|gap| gap.until_launched(gpu)).sum_ns();
    match share(host, idle) {
        Some(share) => format!(
            "Nothing ran for {} between the first and the last work; for {:.1} % of that the next work had not been launched.",
            format_ns(idle),
            100.0 * share
        ),
        None => "Something ran from the first work to the last.".to_string(),
    }
}

/// Gaps of each of `n` groups of work: between the end of everything before and the next start.
fn gaps(gpu: &GpuTrace<'_>, n: usize, group: impl Fn(&Work) -> usize) -> Vec<Vec<Gap>> {
    let mut out: Vec<Vec<Gap>> = vec![Vec::new(); n];
    // The end of all so far, and which work ends there.
    let mut last: Vec<Option<(i64, u32)>> = vec![None; n];
    for (work, i) in gpu.work.iter().zip(0..) {
        let group = group(work);
        if let Some((end, previous)) = last[group]
            && work.start > end
        {
            let before = &gpu.work[previous as usize];
            out[group].push(Gap { previous, next: i, cause: cause(gpu, before, work, end) });
        }
        if last[group].is_none_or(|(end, _)| work.end > end) {
            last[group] = Some((work.end, i));
        }
    }
    out
}

fn cause(gpu: &GpuTrace<'_>, previous: &Work, next: &Work, idle_from: i64) -> Cause {
    let device = gpu.streams[next.stream as usize].device;
    if gpu.may_have_worked(device, previous, next) {
        Cause::NotRecorded
    } else if next.is_before_launch {
        Cause::Clocks
    } else if next.launch == NONE {
        Cause::Unknown
    } else if gpu.trace.slices.ts[next.launch as usize] > idle_from {
        Cause::Host
    } else if next.start.saturating_sub(idle_from) < KERNEL_WAIT_NS {
        Cause::Kernel
    } else {
        Cause::Other
    }
}

fn cause_table(
    named: &Named<'_, '_>,
    id: &'static str,
    title: &str,
    labels: &[String],
    gaps: &[Vec<Gap>],
) -> Table {
    let gpu = named.gpu;
    let mut rows: Vec<(&str, &str, Durations, i64, Option<i64>)> = Vec::new();
    for (label, gaps) in labels.iter().zip(gaps) {
        // What may have been work is no part of it.
        let total: i64 =
            gaps.iter().filter(|gap| gap.cause != Cause::NotRecorded).map(|gap| gap.ns(gpu)).sum_ns();
        for cause in CAUSES {
            let of_cause: Vec<i64> =
                gaps.iter().filter(|gap| gap.cause == cause).map(|gap| gap.ns(gpu)).collect();
            if !of_cause.is_empty() {
                let until_launched = gaps.iter().map(|gap| gap.until_launched(gpu)).sum_ns();
                let until_launched = Some(until_launched).filter(|_| cause == Cause::Host);
                rows.push((label, cause.name(), Durations::new(of_cause), total, until_launched));
            }
        }
    }
    Table::new(
        named.id(id),
        named.title(title),
        vec![
            Column::key("where", "where", texts(rows.iter().map(|row| Some(row.0)))),
            Column::key("cause", "cause", texts(rows.iter().map(|row| Some(row.1)))),
            Column::counts("gaps", "gaps", Unit::Count, rows.iter().map(|row| row.2.count())),
            integers("time", "time", Unit::Ns, rows.iter().map(|row| row.2.total())).with_bar(),
            Column::float(
                "share",
                "share of idle",
                Unit::Ratio,
                rows.iter()
                    .map(|row| share(row.2.total(), row.3).filter(|_| row.1 != NO_DEVICE_RECORD))
                    .collect(),
            ),
            Column::integer(
                "until_launched",
                "until launched",
                Unit::Ns,
                rows.iter().map(|row| row.4).collect(),
            )
            .hint(UNTIL_LAUNCHED_HINT),
            Column::integer("p50", "p50", Unit::Ns, rows.iter().map(|row| row.2.quantile(0.5)).collect()),
            Column::integer("p99", "p99", Unit::Ns, rows.iter().map(|row| row.2.quantile(0.99)).collect()),
            Column::integer("max", "longest", Unit::Ns, rows.iter().map(|row| row.2.max()).collect()),
        ],
    )
    .if_empty("There are no gaps.")
}

/// The longest gaps, with what came after them and who launched that.
fn gap_table(named: &Named<'_, '_>, by_device: &[Vec<Gap>]) -> Table {
    let gpu = named.gpu;
    let mut rows: Vec<&Gap> = by_device.iter().flatten().collect();
    let n_all = rows.len();
    let longest_first = |gap: &&Gap| (-gap.ns(gpu), gap.start(gpu));
    if n_all > N_GAPS {
        rows.select_nth_unstable_by_key(N_GAPS, longest_first);
        rows.truncate(N_GAPS);
    }
    rows.sort_by_key(longest_first);
    let start = gpu.trace.span().map_or(0, |(start, _)| start);
    let work = |number: u32| &gpu.work[number as usize];
    let name = |number: u32| gpu.shown_name(gpu.trace.slices.name[work(number).slice as usize]);
    let meanwhile = |gap: &Gap| {
        let launch = work(gap.next).launch;
        let end = gap.end(gpu);
        let until = if launch == NONE { end } else { end.min(gpu.end_of(launch)) };
        let slice = meanwhile::busiest(gpu, launch, (gap.start(gpu), until))?;
        Some(gpu.name(slice).to_string())
    };
    let of_launch = |gap: &Gap, get: &dyn Fn(u32) -> Option<u32>| {
        let launch = work(gap.next).launch;
        (launch != NONE).then(|| get(launch)).flatten().map(|slice| gpu.name(slice).to_string())
    };
    let table = Table::new(
        named.id("gaps"),
        named.title("Longest gaps"),
        vec![
            Column::key(
                "device",
                "GPU",
                texts(
                    rows.iter().map(|gap| {
                        Some(gpu.device_label(gpu.streams[work(gap.next).stream as usize].device))
                    }),
                ),
            ),
            integers(
                "start",
                "start",
                Unit::NsOffset,
                rows.iter().map(|gap| gap.start(gpu).saturating_sub(start)),
            )
            .as_key(),
            integers("time", "time", Unit::Ns, rows.iter().map(|gap| gap.ns(gpu))).with_bar(),
            Column::text("cause", "cause", texts(rows.iter().map(|gap| Some(gap.cause.name())))),
            Column::integer(
                "until_launched",
                "until launched",
                Unit::Ns,
                rows.iter().map(|gap| (gap.cause == Cause::Host).then(|| gap.until_launched(gpu))).collect(),
            )
            .hint(UNTIL_LAUNCHED_HINT),
            Column::text("meanwhile", "on the CPU meanwhile", texts(rows.iter().map(|gap| meanwhile(gap))))
                .hint("what took most of the gap for itself on the thread that launched what came next"),
            Column::text("next", "next on the GPU", texts(rows.iter().map(|gap| name(gap.next)))),
            Column::text(
                "op",
                "launched in operator",
                texts(rows.iter().map(|gap| of_launch(gap, &|call| gpu.op_of(call)))),
            ),
            Column::text(
                "frame",
                "from Python",
                texts(rows.iter().map(|gap| of_launch(gap, &|call| gpu.frame_of(call)))),
            ),
            Column::text("previous", "before", texts(rows.iter().map(|gap| name(gap.previous)))),
        ],
    )
    .if_empty("There are no gaps.");
    if n_all > N_GAPS {
        return table.caption(format!("The {N_GAPS} longest of {}.", group_digits(n_all as i128)));
    }
    table
}

//! Communication of one rank: collectives with message size, bandwidth and overlap with compute.

use super::gpu::alone::each_exposed;
use super::gpu::collective::Collective;
use super::gpu::parts::COMMUNICATION_RANK;
use super::gpu::spans::{self, Span};
use super::gpu::stats::{Durations, SumNs, share};
use super::gpu::{GpuTrace, NamedTrace, Work, is_of_gpu};
use super::gpu_kernels;
use super::timeline::{cut, integers, texts, with_left_out};
use super::{AnalysisInfo, Context, Group, TableHandle};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::units::{Unit, counted, format_ns};
use crate::report::{Column, Content, Report, Table};
use crate::trace::Trace;
use crate::trace::slices::SliceId;

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "gpu-communication",
    title: "Communication",
    // Which kernels communicate is up to the kernel rules; without any, there is no report.
    applies: gpu_kernels::applies,
    run,
    group: Group::Gpu,
    is_late: true,
};

/// Table that findings read.
pub const COLLECTIVES: TableHandle = TableHandle { report: &INFO, id: "collectives" };

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let mut all = Vec::new();
    NamedTrace::each(context.gpu(), &mut report, |named, report| all.push(add(named, report)));
    report.summary = summary(&all, context.gpu().len());
    report
}

/// Number of collectives, their time, and how much of it is hidden behind computation, in nanoseconds.
type Spent = (u64, i64, i64);

/// Time of all collectives of some of `n_traces`.
fn summary(all: &[Spent], n_traces: usize) -> String {
    let n: u64 = all.iter().map(|(n, ..)| n).sum();
    let total: i64 = all.iter().map(|(_, total, _)| *total).sum_ns();
    let hidden: i64 = all.iter().map(|(.., hidden)| *hidden).sum_ns();
    let files = match n_traces {
        1 => String::new(),
        n => format!(" in {n} files"),
    };
    format!(
        "{}{files} took {}; {:.1}% overlapped with compute.",
        counted(n, "collective", "collectives"),
        format_ns(total),
        100.0 * share(hidden, total).unwrap_or(0.0)
    )
}

/// A communication kernel.
pub struct CollectiveCall {
    pub slice: SliceId,
    /// Nanoseconds on the trace's clock.
    pub start: i64,
    /// Nanoseconds.
    pub dur: i64,
    pub collective: Collective,
}

/// Communication kernels by start, as the built-in kernel rules tell them from others.
pub fn calls(trace: &Trace) -> Vec<CollectiveCall> {
    if !is_of_gpu(trace) {
        return Vec::new();
    }
    let gpu = GpuTrace::new(trace);
    let call = |work: &Work| CollectiveCall {
        slice: SliceId(work.slice),
        start: work.start,
        dur: work.dur(),
        collective: Collective::of(&gpu, work),
    };
    gpu.work.iter().filter(|work| gpu.is_communication(work)).map(call).collect()
}

/// Sums of one collective, type, size and group.
struct Sums {
    collective: Collective,
    durations: Durations,
    hidden: i64,
    exposed: i64,
    /// Exposed time beyond the shortest of them, of each at most.
    excess: i64,
    streams: Vec<u32>,
}

/// Adds the collectives of a trace; returns what they took.
fn add(named: &NamedTrace<'_, '_>, report: &mut Report) -> Spent {
    let gpu = named.gpu;
    let mut rows = sums(gpu);
    if rows.is_empty() {
        return (0, 0, 0);
    }
    let total: i64 = rows.iter().map(|row| row.durations.total()).sum_ns();
    let hidden: i64 = rows.iter().map(|row| row.hidden).sum_ns();
    let n: u64 = rows.iter().map(|row| row.durations.count()).sum();
    let n_left_out = cut(&mut rows);
    report.table(with_left_out(table(named, &rows, total), n_left_out));
    let of = match gpu.devices.len() {
        0 | 1 => "Times are of this rank only".to_string(),
        n => format!("Times are summed over the {n} GPUs of this file"),
    };
    report.info(format!(
        "{of}. A long collective may mean that another rank was late; the shortest of its kind is closest to the link speed."
    ));
    (n, total, hidden)
}

/// Kernels of a collective: durations with their exposed part, the time hidden by computation, and streams.
type Found = (Vec<(i64, i64)>, i64, Vec<u32>);

fn sums(gpu: &GpuTrace<'_>) -> Vec<Sums> {
    let is_computing = |work: &Work| !gpu.is_communication(work) && !gpu.is_copy(work);
    let computing: Vec<Vec<Span>> =
        (0..gpu.devices.len() as u32).map(|device| gpu.busy(device, is_computing)).collect();
    let mut exposed: HashMap<u32, i64> = HashMap::default();
    each_exposed(gpu, COMMUNICATION_RANK, &mut |work, ns| {
        exposed.insert(work.slice, ns);
    });
    let mut found: HashMap<Collective, Found> = HashMap::default();
    for work in gpu.work.iter().filter(|work| gpu.is_communication(work)) {
        let device = gpu.streams[work.stream as usize].device as usize;
        let mut hidden = 0i64;
        spans::pieces([&computing[device][..]], (work.start, work.end), |(start, end), mask| {
            hidden = hidden.saturating_add(if mask != 0 { end.saturating_sub(start) } else { 0 });
        });
        let (times, all_hidden, streams) = found.entry(Collective::of(gpu, work)).or_default();
        times.push((work.dur(), exposed.get(&work.slice).copied().unwrap_or(0)));
        *all_hidden = all_hidden.saturating_add(hidden);
        if !streams.contains(&work.stream) {
            streams.push(work.stream);
        }
    }
    let mut rows: Vec<Sums> = found
        .into_iter()
        .map(|(collective, (times, hidden, streams))| {
            let durations = Durations::new(times.iter().map(|(ns, _)| *ns).collect());
            let min = durations.min().unwrap_or(0);
            Sums {
                collective,
                durations,
                hidden,
                exposed: times.iter().map(|(_, exposed)| *exposed).sum_ns(),
                excess: times.iter().map(|(ns, exposed)| ns.saturating_sub(min).min(*exposed)).sum_ns(),
                streams,
            }
        })
        .collect();
    sort::by(&mut rows, |a, b| {
        let key =
            |row: &Sums| (row.durations.total(), row.collective.name.clone(), row.collective.elements_in);
        // Ties must not depend on the order of the map.
        key(b).cmp(&key(a)).then_with(|| a.collective.cmp(&b.collective))
    });
    rows
}

fn table(named: &NamedTrace<'_, '_>, rows: &[Sums], total: i64) -> Table {
    let text = |get: &dyn Fn(&Collective) -> &str| {
        texts(rows.iter().map(|row| Some(get(&row.collective).to_string()).filter(|text| !text.is_empty())))
    };
    let bandwidth = |row: &Sums, ns: Option<i64>| {
        // Ranks may have nothing to send.
        let bytes = row.collective.message_bytes().filter(|bytes| *bytes > 0)? as f64;
        ns.filter(|ns| *ns > 0).map(|ns| bytes / (ns as f64 / 1e9))
    };
    let bus = |row: &Sums, ns: Option<i64>| Some(bandwidth(row, ns)? * row.collective.bus_factor()?);
    let streams = |row: &Sums| {
        let gpu = named.gpu;
        let label = |stream: &u32| match gpu.devices.len() {
            0 | 1 => gpu.stream_label(*stream),
            _ => gpu.stream_of_device_label(*stream),
        };
        let mut labels: Vec<String> = row.streams.iter().map(label).collect();
        labels.sort();
        labels.join(if gpu.devices.len() > 1 { "; " } else { ", " })
    };
    Table::new(
        named.id(COLLECTIVES.id),
        named.title("Collectives"),
        vec![
            Column::key("collective", "collective", Content::Argument, text(&|row| &row.name)),
            Column::key("dtype", "type", Content::Argument, text(&|row| &row.dtype)),
            Column::unsigned("message", "message", Unit::Bytes, rows.iter().map(|row| row.collective.message_bytes()).collect())
                .as_key()
                .hint("input size per rank; for all-gather, the output size"),
            Column::key("group", "group", Content::Argument, text(&|row| &row.group)),
            Column::unsigned("ranks", "ranks", Unit::Count, rows.iter().map(|row| row.collective.group_size).collect()).as_key(),
            Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.durations.count())).adds_up(),
            integers("total", "total", Unit::Ns, rows.iter().map(|row| row.durations.total())).with_bar().adds_up(),
            Column::float("share", "share", Unit::Ratio, rows.iter().map(|row| share(row.durations.total(), total)).collect()),
            Column::integer("min", "min", Unit::Ns, rows.iter().map(|row| row.durations.min()).collect()),
            Column::integer("p50", "p50", Unit::Ns, rows.iter().map(|row| row.durations.quantile(0.5)).collect()),
            Column::integer("max", "max", Unit::Ns, rows.iter().map(|row| row.durations.max()).collect()),
            Column::float("hidden", "overlap", Unit::Ratio, rows.iter().map(|row| share(row.hidden, row.durations.total())).collect())
                .hint("share of the time overlapped with compute on the same GPU"),
            integers("exposed", "exposed", Unit::Ns, rows.iter().map(|row| row.exposed))
                .hint("time not overlapped with compute; divided equally among collectives that ran at once")
                .adds_up(),
            integers("excess", "excess", Unit::Ns, rows.iter().map(|row| row.excess))
                .hint("exposed time of each collective beyond the shortest of its row"),
            Column::float("algorithm", "algorithm bandwidth", Unit::BytesPerSecond, rows.iter().map(|row| bandwidth(row, row.durations.quantile(0.5))).collect())
                .hint("message size divided by p50 duration"),
            Column::float("bus", "bus bandwidth", Unit::BytesPerSecond, rows.iter().map(|row| bus(row, row.durations.quantile(0.5))).collect())
                .hint("algorithm bandwidth × 2(n − 1)/n for all-reduce, × (n − 1)/n for reduce-scatter, all-gather and \
                       all-to-all"),
            Column::float("best_bus", "best bus bandwidth", Unit::BytesPerSecond, rows.iter().map(|row| bus(row, row.durations.min())).collect())
                .hint("at the min duration"),
            Column::text("streams", "streams", Content::Plain, texts(rows.iter().map(|row| Some(streams(row))))),
        ],
    )
    .sorted_by("total", true)
}

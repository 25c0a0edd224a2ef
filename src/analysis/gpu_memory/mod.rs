//! Memory: bandwidth of copies and fills; allocations over time, the peak, and blocks live at the peak.

mod allocations;
mod bandwidth;
mod rates;

use super::gpu::alone::each_exposed;
use super::gpu::parts::COPIES_RANK;
use super::gpu::stats::{Durations, SumNs, share};
use super::gpu::{self, Kind, NamedTrace};
use super::timeline::{cut, integers, texts, with_left_out};
use super::{AnalysisInfo, Context, Group, TableHandle};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::{Unit, counted, format_bytes, format_ns};
use crate::report::{Column, Content, Report, Table};
use crate::trace::links::LinkTable;

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "gpu-memory",
    title: "GPU memory",
    // Allocations are also recorded without a GPU.
    applies: |run| gpu::applies(run) || run.traces.iter().any(allocations::are_in),
    run,
    group: Group::Gpu,
    is_late: true,
};

/// Table that findings read.
pub const COPIES: TableHandle = TableHandle { report: &INFO, id: "copies" };

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let without_gpu: Vec<gpu::GpuTrace<'_>> = match gpu::applies(context.run) {
        true => Vec::new(),
        false => context
            .run
            .traces
            .iter()
            .filter(|trace| allocations::are_in(trace))
            .map(gpu::GpuTrace::new)
            .collect(),
    };
    let traces = if without_gpu.is_empty() { context.gpu() } else { &without_gpu };
    NamedTrace::each(traces, &mut report, |named, report| {
        let copies = copies(named);
        let total: i64 = copies.iter().map(|row| row.durations.total()).sum_ns();
        let bytes = copies.iter().filter_map(|row| row.bytes).reduce(u64::saturating_add);
        let are_all_known = copies.iter().all(|row| row.n_without_bytes == 0);
        if report.summary.is_empty() {
            let took = format_ns(total);
            report.summary = match bytes {
                _ if copies.is_empty() => "No copies recorded.".to_string(),
                Some(bytes) if are_all_known => {
                    format!("{} copied or filled in {took}.", format_bytes(bytes))
                }
                Some(bytes) => format!("At least {} copied or filled in {took}.", format_bytes(bytes)),
                None => format!("Copies and fills took {took}; their sizes are not recorded."),
            };
        }
        if !copies.is_empty() {
            report.table(copy_table(named, copies, total));
        }
        for table in rates::tables(named) {
            report.table(table);
        }
        if let Some((chart, table)) = bandwidth::over_time(named) {
            report.chart(chart);
            report.table(table);
        }
        allocations::add(named, report);
    });
    report
}

/// Copies or fills of one name.
struct Copies {
    name: StringId,
    durations: Durations,
    /// `None` if no event has a size.
    bytes: Option<u64>,
    n_without_bytes: u64,
    /// Time of those with a recorded size.
    timed: i64,
    /// Time without compute or communication; 0 for fills, which count as compute.
    exposed: i64,
}

fn copies(named: &NamedTrace<'_, '_>) -> Vec<Copies> {
    let gpu = named.gpu;
    let mut by_name: HashMap<StringId, (Vec<i64>, Option<u64>, u64, i64)> = HashMap::default();
    for work in gpu.work.iter().filter(|work| work.kind != Kind::Kernel || gpu.class(work).is_copy) {
        let name = gpu.trace.slices.name[work.slice as usize];
        let (durations, bytes, n_without, timed) = by_name.entry(name).or_default();
        durations.push(work.dur());
        let given = gpu.link_of(work).map(|link| link.bytes).filter(|bytes| *bytes != LinkTable::NONE);
        match given.and_then(|bytes| u64::try_from(bytes).ok()) {
            Some(more) => {
                *bytes = Some(bytes.unwrap_or(0).saturating_add(more));
                *timed = timed.saturating_add(work.dur());
            }
            None => *n_without += 1,
        }
    }
    let mut exposed: HashMap<StringId, i64> = HashMap::default();
    each_exposed(gpu, COPIES_RANK, &mut |work, ns| {
        let sum = exposed.entry(gpu.trace.slices.name[work.slice as usize]).or_default();
        *sum = sum.saturating_add(ns);
    });
    let mut rows: Vec<Copies> = by_name
        .into_iter()
        .map(|(name, (durations, bytes, n_without_bytes, timed))| Copies {
            name,
            durations: Durations::new(durations),
            bytes,
            n_without_bytes,
            timed,
            exposed: exposed.get(&name).copied().unwrap_or(0),
        })
        .collect();
    let text = |name: StringId| gpu.trace.strings.get_opt(name).unwrap_or("");
    sort::by(&mut rows, |a, b| (b.durations.total(), text(a.name)).cmp(&(a.durations.total(), text(b.name))));
    rows
}

fn copy_table(named: &NamedTrace<'_, '_>, mut rows: Vec<Copies>, total: i64) -> Table {
    let n_left_out = cut(&mut rows);
    let trace = named.gpu.trace;
    let bandwidth = |row: &Copies| {
        let bytes = row.bytes? as f64;
        (row.timed > 0).then(|| bytes / (row.timed as f64 / 1e9))
    };
    let mut table = Table::new(
        named.id(COPIES.id),
        named.title("Copies and fills"),
        vec![
            Column::key(
                "name",
                "name",
                Content::Symbol,
                texts(rows.iter().map(|row| trace.strings.get_opt(row.name))),
            ),
            Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.durations.count()))
                .adds_up(),
            Column::unsigned("bytes", "bytes", Unit::Bytes, rows.iter().map(|row| row.bytes).collect())
                .adds_up(),
            integers("total", "time", Unit::Ns, rows.iter().map(|row| row.durations.total()))
                .with_bar()
                .adds_up(),
            Column::float(
                "share",
                "share",
                Unit::Ratio,
                rows.iter().map(|row| share(row.durations.total(), total)).collect(),
            ),
            integers("exposed", "exposed", Unit::Ns, rows.iter().map(|row| row.exposed))
                .hint("time of copies not overlapped with compute or communication; divided equally among copies that ran at once")
                .adds_up(),
            Column::float(
                "bandwidth",
                "bandwidth",
                Unit::BytesPerSecond,
                rows.iter().map(bandwidth).collect(),
            )
            .hint("bytes divided by time, over copies with a recorded size"),
            Column::integer("mean", "mean", Unit::Ns, rows.iter().map(|row| row.durations.mean()).collect()),
            Column::integer("max", "max", Unit::Ns, rows.iter().map(|row| row.durations.max()).collect()),
        ],
    )
    .sorted_by("total", true);
    let n_without: u64 = rows.iter().map(|row| row.n_without_bytes).sum();
    if n_without > 0 {
        table = table.caption(format!(
            "{} no recorded size.",
            counted(n_without, "copy or fill has", "copies and fills have")
        ));
    }
    with_left_out(table, n_left_out)
}

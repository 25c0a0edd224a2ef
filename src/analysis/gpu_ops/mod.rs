//! Operators by the GPU time they caused, by name and by their inputs.

mod by_step;
mod shapes;

use super::gpu::model::NONE;
use super::gpu::spans::{self, Span};
use super::gpu::stats::{SumNs, share};
use super::gpu::{GpuTrace, Kind, Named};
use super::gpu_kernels;
use super::timeline::{cut, integers, texts, with_left_out};
use super::{AnalysisInfo, Context};
use crate::base::strings::StringId;
use crate::base::text::visible;
use crate::base::units::Unit;
use crate::gpu::peaks::Peaks;
use crate::report::{Column, Report, Table};
use rustc_hash::FxHashMap;
use shapes::Instance;

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "gpu-ops", title: "Operators", applies: gpu_kernels::applies, run, reference: None };

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    for named in Named::all(context.gpu()) {
        add(&named, &context.query.peaks, &mut report);
    }
    report
}

/// What launched work: an operator, or the call itself where there is none around it.
struct Launcher {
    slice: u32,
    spans: Vec<Span>,
    /// Name of its first work.
    kernel: StringId,
    step: u32,
}

/// Everything of operators of one name.
#[derive(Default)]
struct Sums {
    calls: u64,
    work: u64,
    direct: i64,
    subtree: i64,
    cpu_own: i64,
}

/// Names of operators that only pass a call on.
const PASS_THROUGH: &str = "execute";

/// The operator that work belongs to: the innermost one around its launch, but none that only passes calls on; the call
/// itself without one (TraceLens' launcher).
fn launcher(gpu: &GpuTrace<'_>, launch: u32, op: u32) -> u32 {
    let mut at = op;
    while at != NONE && gpu.name(at) == PASS_THROUGH {
        match gpu.op_of(at) {
            Some(outer) => at = outer,
            None => break,
        }
    }
    if at == NONE { launch } else { at }
}

fn add(named: &Named<'_, '_>, peaks: &str, report: &mut Report) {
    let gpu = named.gpu;
    let mut launchers: FxHashMap<u32, Launcher> = FxHashMap::default();
    let mut not_known = (0u64, 0i64);
    for work in &gpu.work {
        if work.launch == NONE && work.op == NONE {
            not_known = (not_known.0 + 1, not_known.1.saturating_add(work.dur()));
            continue;
        }
        let slice = launcher(gpu, work.launch, work.op);
        let launcher = launchers.entry(slice).or_insert_with(|| Launcher {
            slice,
            spans: Vec::new(),
            kernel: gpu.trace.slices.name[work.slice as usize],
            step: work.step,
        });
        launcher.spans.push((work.start, work.end));
    }
    let mut launchers: Vec<Launcher> = launchers.into_values().collect();
    launchers.sort_unstable_by_key(|launcher| launcher.slice);
    let (rows, instances) = sums(gpu, launchers);
    let mut rows: Vec<(StringId, Sums)> = rows.into_iter().collect();
    let text = |id: StringId| gpu.trace.strings.get_opt(id).unwrap_or("");
    rows.sort_by(|a, b| (b.1.direct, text(a.0)).cmp(&(a.1.direct, text(b.0))));
    let total: i64 = rows.iter().map(|row| row.1.direct).sum_ns();
    if report.summary.is_empty() {
        report.summary = match rows.first() {
            Some((name, sums)) => format!(
                "{} caused the most GPU time: {:.1} % of what is linked to an operator or call.",
                visible(text(*name)),
                100.0 * share(sums.direct, total).unwrap_or(0.0)
            ),
            None => "No work is linked to what launched it.".to_string(),
        };
    }
    let n_left_out = cut(&mut rows);
    let mut caption = "GPU time of an operator is the time in which any work of its own ran, added up over its calls; with everything \
                       below it, also that of operators it called. Work launched outside of any operator is listed by its call."
        .to_string();
    if not_known.0 > 0 {
        caption.push_str(&format!(
            " {} kernels, copies and fills ({}) are linked to nothing.",
            crate::base::units::group_digits(i128::from(not_known.0)),
            crate::base::units::format_ns(not_known.1)
        ));
    }
    let table = Table::new(
        named.id("ops"),
        named.title("Operators"),
        vec![
            Column::key("name", "operator", texts(rows.iter().map(|row| gpu.trace.strings.get_opt(row.0)))),
            integers("direct", "GPU time", Unit::Ns, rows.iter().map(|row| row.1.direct))
                .with_bar()
                .adds_up(),
            Column::float(
                "share",
                "share",
                Unit::Ratio,
                rows.iter().map(|row| share(row.1.direct, total)).collect(),
            ),
            integers("subtree", "with all below", Unit::Ns, rows.iter().map(|row| row.1.subtree)).by_row(),
            Column::counts("calls", "calls", Unit::Count, rows.iter().map(|row| row.1.calls))
                .hint("that launched work themselves")
                .adds_up(),
            Column::counts("work", "work", Unit::Count, rows.iter().map(|row| row.1.work))
                .hint("kernels, copies and fills")
                .adds_up(),
            integers(
                "mean",
                "GPU time, mean",
                Unit::Ns,
                rows.iter().map(|row| row.1.direct / row.1.calls.max(1) as i64),
            ),
            integers("cpu_own", "CPU own time", Unit::Ns, rows.iter().map(|row| row.1.cpu_own))
                .hint("of the calls that launched work")
                .adds_up(),
        ],
    )
    .sorted_by("direct", true)
    .caption(caption)
    .if_empty("No work is linked to what launched it.");
    report.table(with_left_out(table, n_left_out));
    for table in by_step::tables(named, &instances) {
        report.table(table);
    }
    let peaks = match Peaks::with(peaks) {
        Ok(peaks) => peaks,
        Err(problem) => {
            report.warning(format!("Your peaks do not count: {problem}"));
            Peaks::builtin()
        }
    };
    match shapes::blocks(named, &instances, &peaks) {
        Some((table, chart)) => {
            if let Some(chart) = chart {
                report.chart(chart);
            }
            report.table(table);
        }
        None => report.info(
            "Shapes are not in the trace: profile with record_shapes=True to see FLOPs, bytes and rooflines of operators.",
        ),
    }
}

/// Sums by name, of what launched work and of the operators around it.
fn sums(gpu: &GpuTrace<'_>, launchers: Vec<Launcher>) -> (FxHashMap<StringId, Sums>, Vec<Instance>) {
    let slices = &gpu.trace.slices;
    let mut by_name: FxHashMap<StringId, Sums> = FxHashMap::default();
    // Work of everything below each operator that launched something itself or has such below it.
    let mut below: FxHashMap<u32, Vec<Span>> = FxHashMap::default();
    let mut instances = Vec::with_capacity(launchers.len());
    for launcher in launchers {
        let spans = spans::union(launcher.spans.iter().copied());
        let sums = by_name.entry(slices.name[launcher.slice as usize]).or_default();
        sums.calls += 1;
        sums.work += launcher.spans.len() as u64;
        let busy = spans::total(&spans);
        sums.direct = sums.direct.saturating_add(busy);
        instances.push(Instance {
            slice: launcher.slice,
            busy,
            kernel: launcher.kernel,
            step: launcher.step,
        });
        sums.cpu_own = sums.cpu_own.saturating_add(slices.self_ns[launcher.slice as usize].max(0));
        let mut at = launcher.slice;
        below.entry(at).or_default().extend(&spans);
        while let Some(outer) = gpu.around(at, |_, kind| kind == Kind::Op) {
            below.entry(outer).or_default().extend(&spans);
            at = outer;
        }
    }
    for (slice, mut spans) in below {
        spans.sort_unstable();
        let total = spans::total(&spans::union(spans.into_iter()));
        let subtree = &mut by_name.entry(slices.name[slice as usize]).or_default().subtree;
        *subtree = subtree.saturating_add(total);
    }
    (by_name, instances)
}

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
use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::base::text::visible;
use crate::base::units::Unit;
use crate::gpu::peaks::Peaks;
use crate::report::{Column, Report, Table};
use shapes::Instance;

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "gpu-ops",
    title: "Operators",
    applies: gpu_kernels::applies,
    run,
    reference: None,
    is_late: true,
};

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    Named::each(context.gpu(), &mut report, |named, report| add(named, &context.query.peaks, report));
    report
}

/// Work, and what launched it: an operator, or the call itself where there is none around it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Launched {
    launcher: u32,
    /// Number of the work, which is in order of start.
    work: u32,
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
fn launcher(gpu: &GpuTrace<'_>, launch: u32, op: u32, pass_through: Option<StringId>) -> u32 {
    let mut at = op;
    while at != NONE && Some(gpu.trace.slices.name[at as usize]) == pass_through {
        match gpu.op_of(at) {
            Some(outer) => at = outer,
            None => break,
        }
    }
    if at == NONE { launch } else { at }
}

fn add(named: &Named<'_, '_>, peaks: &str, report: &mut Report) {
    let gpu = named.gpu;
    let mut launched: Vec<Launched> = Vec::with_capacity(gpu.work.len());
    let mut not_known = (0u64, 0i64);
    let pass_through = gpu.trace.strings.find(PASS_THROUGH);
    for (number, work) in (0..).zip(&gpu.work) {
        if work.launch == NONE && work.op == NONE {
            not_known = (not_known.0 + 1, not_known.1.saturating_add(work.dur()));
            continue;
        }
        launched.push(Launched { launcher: launcher(gpu, work.launch, work.op, pass_through), work: number });
    }
    launched.sort_unstable();
    let (rows, instances) = sums(gpu, &launched);
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

/// The time that spans cover which mostly come in order.
struct Covered {
    /// Start and end of the last piece.
    last: Span,
    /// Time of the pieces before it.
    ns: i64,
    /// One came that starts before the last piece, so it is not known.
    is_out_of_order: bool,
}

impl Covered {
    fn add(&mut self, (start, end): Span) {
        if start <= self.last.1 {
            self.is_out_of_order |= start < self.last.0;
            self.last.1 = self.last.1.max(end);
        } else {
            self.ns = self.ns.saturating_add(self.last.1.saturating_sub(self.last.0));
            self.last = (start, end);
        }
    }

    /// `None` if that is not known.
    fn total(&self) -> Option<i64> {
        (!self.is_out_of_order).then(|| self.ns.saturating_add(self.last.1.saturating_sub(self.last.0)))
    }
}

/// Sums by name, of what launched work and of the operators around it. `launched` is in order.
fn sums(gpu: &GpuTrace<'_>, launched: &[Launched]) -> (HashMap<StringId, Sums>, Vec<Instance>) {
    let slices = &gpu.trace.slices;
    let mut by_name: HashMap<StringId, Sums> = HashMap::default();
    // Work of everything below each operator that launched something itself or has such below it.
    let mut below: HashMap<u32, Covered> = HashMap::default();
    let mut instances = Vec::new();
    let mut spans: Vec<Span> = Vec::new();
    for of_launcher in launched.chunk_by(|a, b| a.launcher == b.launcher) {
        let (slice, first) = (of_launcher[0].launcher, &gpu.work[of_launcher[0].work as usize]);
        spans.clear();
        for launched in of_launcher {
            let work = &gpu.work[launched.work as usize];
            spans::add(&mut spans, (work.start, work.end));
        }
        let sums = by_name.entry(slices.name[slice as usize]).or_default();
        sums.calls += 1;
        sums.work += of_launcher.len() as u64;
        let busy = spans::total(&spans);
        sums.direct = sums.direct.saturating_add(busy);
        let kernel = slices.name[first.slice as usize];
        instances.push(Instance { slice, busy, kernel, step: first.step });
        sums.cpu_own = sums.cpu_own.saturating_add(slices.self_ns.get(slice as usize).max(0));
        for_each_around(gpu, slice, |op| {
            for span in &spans {
                let new = || Covered { last: *span, ns: 0, is_out_of_order: false };
                below.entry(op).or_insert_with(new).add(*span);
            }
        });
    }
    // Where several streams worked for one operator, or out of order, its spans are put in order first.
    let mut anew: HashMap<u32, Vec<Span>> = HashMap::default();
    anew.extend(
        below.iter().filter(|(_, covered)| covered.total().is_none()).map(|(op, _)| (*op, Vec::new())),
    );
    if !anew.is_empty() {
        for launched in launched {
            let work = &gpu.work[launched.work as usize];
            for_each_around(gpu, launched.launcher, |op| {
                if let Some(spans) = anew.get_mut(&op) {
                    spans.push((work.start, work.end));
                }
            });
        }
    }
    for (slice, covered) in below {
        let in_order = || {
            let mut spans = anew.remove(&slice).unwrap_or_default();
            spans.sort_unstable();
            spans::total(&spans::union(spans.into_iter()))
        };
        let total = covered.total().unwrap_or_else(in_order);
        let subtree = &mut by_name.entry(slices.name[slice as usize]).or_default().subtree;
        *subtree = subtree.saturating_add(total);
    }
    (by_name, instances)
}

/// Calls `each` with what launched work and with the operators around it, from inside out.
fn for_each_around(gpu: &GpuTrace<'_>, launcher: u32, mut each: impl FnMut(u32)) {
    each(launcher);
    let mut at = launcher;
    while let Some(outer) = gpu.around(at, |_, kind| kind == Kind::Op) {
        each(outer);
        at = outer;
    }
}

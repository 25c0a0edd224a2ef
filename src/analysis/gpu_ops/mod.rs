//! Operators by busy time, by name and by input shapes.

mod by_step;
mod shapes;

use super::gpu::model::NONE;
use super::gpu::spans::{self, Span};
use super::gpu::stats::{SumNs, share};
use super::gpu::{GpuTrace, Kind, Lack, NamedTrace, Work};
use super::gpu_kernels;
use super::timeline::{cut, integers, texts, with_left_out};
use super::{AnalysisInfo, Context, Group, TableHandle};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::text::visible;
use crate::base::units::{Unit, counted};
use crate::gpu::peaks::Peaks;
use crate::report::{Column, Content, Report, Table};
use shapes::Instance;

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "gpu-ops",
    title: "Operators",
    applies: gpu_kernels::applies,
    run,
    group: Group::Gpu,
    is_late: true,
};

/// Definition of the busy time of operators.
pub const BUSY_HINT: &str = "time in which its own kernels run, per call; overlap counts once";

/// Table that findings read.
pub const SHAPES: TableHandle = TableHandle { report: &INFO, id: "shapes" };

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    NamedTrace::each(context.gpu(), &mut report, |named, report| add(named, &context.query.peaks, report));
    report
}

/// A kernel or copy and its launcher: an operator, or the call itself if no operator encloses it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Launched {
    launcher: u32,
    /// Index into `work`, which is sorted by start.
    work: u32,
}

/// Sums over operators of one name.
#[derive(Default)]
struct Sums {
    calls: u64,
    work: u64,
    direct: i64,
    subtree: i64,
    cpu_own: i64,
}

/// Name of operators that only forward a call.
const PASS_THROUGH: &str = "execute";

/// The operator that a kernel belongs to: the innermost one around its launch that does more than forward calls; the call itself
/// if there is none (TraceLens' launcher).
fn launcher(gpu: &GpuTrace<'_>, launch: u32, op: u32, pass_through: Option<StringId>) -> u32 {
    let mut at = op;
    while at != NONE && Some(gpu.group_name(at as usize)) == pass_through {
        match gpu.op_of(at) {
            Some(outer) => at = outer,
            None => break,
        }
    }
    if at == NONE { launch } else { at }
}

fn add(named: &NamedTrace<'_, '_>, peaks: &str, report: &mut Report) {
    let gpu = named.gpu;
    let mut launched: Vec<Launched> = Vec::with_capacity(gpu.work.len());
    let mut not_known = (0u64, 0i64);
    let pass_through = gpu.trace.strings.find(PASS_THROUGH);
    let launcher = |work: &Work| {
        let is_known = work.launch != NONE || work.op != NONE;
        is_known.then(|| launcher(gpu, work.launch, work.op, pass_through))
    };
    for (number, work) in (0..).zip(&gpu.work) {
        match launcher(work) {
            Some(launcher) => launched.push(Launched { launcher, work: number }),
            None => not_known = (not_known.0 + 1, not_known.1.saturating_add(work.dur())),
        }
    }
    launched.sort_unstable();
    let (rows, instances) = sums(gpu, &launched);
    let mut rows: Vec<(StringId, Sums)> = rows.into_iter().collect();
    let text = |id: StringId| gpu.group_text(id).unwrap_or("");
    sort::by(&mut rows, |a, b| (b.1.direct, text(a.0)).cmp(&(a.1.direct, text(b.0))));
    let total: i64 = rows.iter().map(|row| row.1.direct).sum_ns();
    if report.summary.is_empty() {
        report.summary = match rows.first() {
            Some(_) if total <= 0 => "Kernels of operators take no time in this trace.".to_string(),
            Some((name, sums)) => format!(
                "{} accounts for {:.1}% of the busy time of all operators and calls.",
                visible(text(*name)),
                100.0 * share(sums.direct, total).unwrap_or(0.0)
            ),
            None => "No kernels are linked to their launches.".to_string(),
        };
    }
    let n_left_out = cut(&mut rows);
    let mut caption = "Busy time is the time in which an operator's own kernels run, summed over calls; inclusive adds the operators \
                       it called. Kernels launched outside any operator are listed by launch call."
        .to_string();
    if not_known.0 > 0 {
        caption.push_str(&format!(
            " {} not linked to any launch ({}).",
            counted(not_known.0, "kernel, copy or fill is", "kernels, copies and fills are"),
            crate::base::units::format_ns(not_known.1)
        ));
    }
    let table = Table::new(
        named.id("ops"),
        named.title("Operators"),
        vec![
            Column::key(
                "name",
                "operator",
                Content::Symbol,
                texts(rows.iter().map(|row| gpu.group_text(row.0))),
            ),
            integers("direct", "busy time", Unit::Ns, rows.iter().map(|row| row.1.direct))
                .with_bar()
                .hint(BUSY_HINT)
                .adds_up(),
            Column::float(
                "share",
                "share",
                Unit::Ratio,
                rows.iter().map(|row| share(row.1.direct, total)).collect(),
            ),
            integers("subtree", "inclusive", Unit::Ns, rows.iter().map(|row| row.1.subtree))
                .by_row()
                .hint("with the operators it called; of one that calls itself, the outermost calls count"),
            Column::counts("calls", "calls", Unit::Count, rows.iter().map(|row| row.1.calls))
                .hint("calls that launched kernels themselves")
                .adds_up(),
            Column::counts("work", "kernels", Unit::Count, rows.iter().map(|row| row.1.work))
                .hint("kernels, copies and fills")
                .adds_up(),
            integers(
                "mean",
                "busy time, mean",
                Unit::Ns,
                rows.iter().map(|row| row.1.direct / row.1.calls.max(1) as i64),
            ),
            integers("cpu_own", "CPU self time", Unit::Ns, rows.iter().map(|row| row.1.cpu_own))
                .hint("of the calls that launched kernels")
                .adds_up(),
        ],
    )
    .sorted_by("direct", true)
    .caption(caption)
    .if_empty("No kernels are linked to their launches.");
    report.table(with_left_out(table, n_left_out));
    for table in by_step::tables(named, &instances) {
        report.table(table);
    }
    let peaks = match Peaks::with(peaks) {
        Ok(peaks) => peaks,
        Err(problem) => {
            report.warning(format!("Custom peaks ignored: {problem}"));
            Peaks::builtin()
        }
    };
    match shapes::blocks(named, &instances, &launcher, &peaks) {
        Some((table, chart)) => {
            if let Some(chart) = chart {
                report.chart(chart);
            }
            report.table(table);
        }
        None => report.info(format!(
            "No shapes of inputs in this trace, so no FLOPs, bytes and roofline of operators.{}",
            gpu.advice(Lack::Shapes)
        )),
    }
}

/// Time covered by spans that mostly arrive in order.
struct Covered {
    /// Start and end of the last piece.
    last: Span,
    /// Time of the pieces before it.
    ns: i64,
    /// A span started before the last piece, so the total is unknown.
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

    /// `None` if unknown.
    fn total(&self) -> Option<i64> {
        (!self.is_out_of_order).then(|| self.ns.saturating_add(self.last.1.saturating_sub(self.last.0)))
    }
}

/// Sums by name, for launchers and the operators around them. `launched` is sorted.
fn sums(gpu: &GpuTrace<'_>, launched: &[Launched]) -> (HashMap<StringId, Sums>, Vec<Instance>) {
    let slices = &gpu.trace.slices;
    let mut by_name: HashMap<StringId, Sums> = HashMap::default();
    // Kernels below each operator, whether it launched them itself or not.
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
        let sums = by_name.entry(gpu.group_name(slice as usize)).or_default();
        sums.calls += 1;
        sums.work += of_launcher.len() as u64;
        let busy = spans::total(&spans);
        sums.direct = sums.direct.saturating_add(busy);
        let kernel = slices.name[first.slice as usize];
        instances.push(Instance { slice, busy, kernel, step: first.step });
        sums.cpu_own = sums.cpu_own.saturating_add(gpu.self_ns(slice as usize));
        for_each_around(gpu, slice, |op| {
            for span in &spans {
                let new = || Covered { last: *span, ns: 0, is_out_of_order: false };
                below.entry(op).or_insert_with(new).add(*span);
            }
        });
    }
    // With several streams or out-of-order kernels, the spans of an operator are sorted first.
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
        if is_in_its_own(gpu, slice) {
            continue;
        }
        let subtree = &mut by_name.entry(gpu.group_name(slice as usize)).or_default().subtree;
        *subtree = subtree.saturating_add(total);
    }
    // Of kernels that overlap, each call has its own time, also those within a call of the same operator.
    by_name.values_mut().for_each(|sums| sums.subtree = sums.subtree.max(sums.direct));
    (by_name, instances)
}

/// Whether an operator of the same name is around `op`, whose inclusive time has all of it (`aten::to` calls `aten::to`).
fn is_in_its_own(gpu: &GpuTrace<'_>, op: u32) -> bool {
    let name = gpu.group_name(op as usize);
    gpu.around(op, |outer, kind| kind == Kind::Op && gpu.group_name(outer) == name).is_some()
}

/// Calls `each` with a launcher and the operators around it, from inside out.
fn for_each_around(gpu: &GpuTrace<'_>, launcher: u32, mut each: impl FnMut(u32)) {
    each(launcher);
    let mut at = launcher;
    while let Some(outer) = gpu.around(at, |_, kind| kind == Kind::Op) {
        each(outer);
        at = outer;
    }
}

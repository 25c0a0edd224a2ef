//! Kernels and operations by the step that launched them, and by phase.

use crate::analysis::gpu::active::{ActiveSteps, per_step};
use crate::analysis::gpu::annotation::Phase;
use crate::analysis::gpu::stats::{Durations, SumNs, share};
use crate::analysis::gpu::{GpuTrace, Kind, NamedTrace, kernel_names};
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::Unit;
use crate::report::{Column, Content, Table};

/// Time of kernels and copies launched in steps, by name and whether it is a kernel.
pub fn times_of_names(gpu: &GpuTrace<'_>) -> HashMap<(StringId, bool), i64> {
    let mut times: HashMap<(StringId, bool), i64> = HashMap::default();
    for work in gpu.work.iter().filter(|work| gpu.step(work.step).is_some()) {
        let name = gpu.trace.slices.name[work.slice as usize];
        let time = times.entry((name, work.kind == Kind::Kernel)).or_default();
        *time = time.saturating_add(work.dur());
    }
    times
}

/// Kernels, copies and fills of one name in one phase.
struct InPhase {
    phase: Phase,
    name: StringId,
    class: u32,
    durations: Durations,
}

/// Kernels of each phase, by name; `None` if annotations name no phase.
pub fn kernels_by_phase(named: &NamedTrace<'_, '_>, steps: &ActiveSteps) -> Option<Table> {
    let gpu = named.gpu;
    let mut found: HashMap<(Phase, StringId, u32), Vec<i64>> = HashMap::default();
    for work in &gpu.work {
        let phase = gpu.annotation(work.step).map(|what| what.phase);
        if let Some(phase) = phase.filter(|phase| *phase != Phase::Unknown) {
            let name = gpu.trace.slices.name[work.slice as usize];
            found.entry((phase, name, work.class)).or_default().push(work.dur());
        }
    }
    if found.is_empty() {
        return None;
    }
    let mut rows: Vec<InPhase> = found
        .into_iter()
        .map(|((phase, name, class), durations)| InPhase {
            phase,
            name,
            class,
            durations: Durations::new(durations),
        })
        .collect();
    let text = |id: StringId| gpu.trace.strings.get_opt(id).unwrap_or("");
    sort::by(&mut rows, |a, b| {
        let key = |row: &InPhase| std::cmp::Reverse(row.durations.total());
        (a.phase, key(a), text(a.name), a.class).cmp(&(b.phase, key(b), text(b.name), b.class))
    });
    let mut totals: Vec<(Phase, i64)> = Vec::new();
    for chunk in rows.chunk_by(|a, b| a.phase == b.phase) {
        totals.push((chunk[0].phase, chunk.iter().map(|row| row.durations.total()).sum_ns()));
    }
    let total_of = |phase: Phase| totals.iter().find(|of| of.0 == phase).map_or(0, |of| of.1);
    let n_left_out = cut(&mut rows);
    let each = |get: &dyn Fn(&Durations) -> Option<i64>| {
        rows.iter().map(|row| get(&row.durations)).collect::<Vec<_>>()
    };
    let count_per_step = |row: &InPhase| {
        let n = steps.of_phase(row.phase);
        (n > 0).then(|| row.durations.count() as f64 / n as f64)
    };
    let mut table = Table::new(
        named.id("kernels_by_phase"),
        named.title("Kernels by phase"),
        vec![
            Column::key(
                "phase",
                "phase",
                Content::Plain,
                texts(rows.iter().map(|row| Some(row.phase.name()))),
            ),
            Column::key(
                "operation",
                "operation",
                Content::Plain,
                texts(rows.iter().map(|row| Some(&gpu.classes.get(row.class).operation))),
            ),
            Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.durations.count())),
            Column::float(
                "count_per_step",
                "count per step",
                Unit::Plain,
                rows.iter().map(count_per_step).collect(),
            ),
            integers("total", "total", Unit::Ns, rows.iter().map(|row| row.durations.total())).with_bar(),
            Column::integer(
                "per_step",
                "per step",
                Unit::Ns,
                rows.iter().map(|row| per_step(row.durations.total(), steps.of_phase(row.phase))).collect(),
            )
            .hint("total divided by the phase's steps with GPU activity"),
            Column::float(
                "share",
                "% of phase",
                Unit::Ratio,
                rows.iter().map(|row| share(row.durations.total(), total_of(row.phase))).collect(),
            ),
            Column::integer("mean", "mean", Unit::Ns, each(&Durations::mean)),
            Column::integer("p50", "p50", Unit::Ns, each(&|row| row.quantile(0.5))),
            Column::integer("p99", "p99", Unit::Ns, each(&|row| row.quantile(0.99))),
        ],
    );
    kernel_names::insert(
        &mut table.columns,
        1,
        ("name", "name"),
        rows.iter().map(|row| Some(text(row.name))),
    );
    let table = table.caption("A kernel belongs to the phase of the step that launched it.");
    Some(with_left_out(table, n_left_out))
}

/// An operation in one step.
struct InStep<'a> {
    step: u32,
    operation: &'a str,
    count: u64,
    total: i64,
    longest: i64,
    /// Total of all operations of the step.
    whole: i64,
}

/// Count, sum of durations and the longest of them.
type OfOperation = (u64, i64, i64);

/// Operations of each step; `None` if no step launched anything.
pub fn operations(named: &NamedTrace<'_, '_>) -> Option<Table> {
    let gpu = named.gpu;
    // Classes differ by family too.
    let mut names: Vec<&str> = Vec::new();
    let number_of: Vec<usize> = gpu
        .classes
        .all()
        .iter()
        .map(|class| {
            names.iter().position(|name| *name == class.operation).unwrap_or_else(|| {
                names.push(&class.operation);
                names.len() - 1
            })
        })
        .collect();
    let mut by_step: HashMap<u32, Vec<OfOperation>> = HashMap::default();
    for work in gpu.work.iter().filter(|work| gpu.step(work.step).is_some()) {
        let sums = by_step.entry(work.step).or_insert_with(|| vec![(0, 0, 0); names.len()]);
        let sums = &mut sums[number_of[work.class as usize]];
        *sums = (sums.0 + 1, sums.1.saturating_add(work.dur()), sums.2.max(work.dur()));
    }
    if by_step.is_empty() {
        return None;
    }
    let mut steps: Vec<(u32, Vec<OfOperation>)> = by_step.into_iter().collect();
    sort::by_key(&mut steps, |(step, _)| *step);
    let mut rows: Vec<InStep<'_>> = Vec::new();
    for (step, sums) in &steps {
        let whole = sums.iter().map(|of| of.1).sum_ns();
        let first = rows.len();
        let of_step = names.iter().zip(sums).filter(|(_, of)| of.0 > 0);
        rows.extend(of_step.map(|(operation, (count, total, longest))| InStep {
            step: *step,
            operation,
            count: *count,
            total: *total,
            longest: *longest,
            whole,
        }));
        sort::by(&mut rows[first..], |a, b| (b.total, a.operation).cmp(&(a.total, b.operation)));
    }
    let n_left_out = cut(&mut rows);
    let step_name = |row: &InStep<'_>| gpu.step(row.step).map(|step| gpu.name(step.slice));
    let phase = |row: &InStep<'_>| gpu.annotation(row.step).map(|what| what.phase.name());
    let table = Table::new(
        named.id("operations_by_step"),
        named.title("Operations by step"),
        vec![
            Column::counts("number", "step", Unit::Id, rows.iter().map(|row| u64::from(row.step) + 1))
                .as_key(),
            Column::text("step", "step name", Content::Plain, texts(rows.iter().map(step_name))),
            Column::text("phase", "phase", Content::Plain, texts(rows.iter().map(phase))),
            Column::key(
                "operation",
                "operation",
                Content::Plain,
                texts(rows.iter().map(|row| Some(row.operation))),
            ),
            Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.count)),
            integers("total", "total", Unit::Ns, rows.iter().map(|row| row.total)).with_bar(),
            Column::float(
                "share",
                "% of step",
                Unit::Ratio,
                rows.iter().map(|row| share(row.total, row.whole)).collect(),
            )
            .hint("of the step's total kernel duration"),
            Column::integer(
                "mean",
                "mean",
                Unit::Ns,
                rows.iter().map(|row| per_step(row.total, row.count)).collect(),
            ),
            integers("max", "max", Unit::Ns, rows.iter().map(|row| row.longest)),
        ],
    );
    let table = table.caption(
        "A kernel belongs to the step that launched it. Steps are numbered from 1, in order of start.",
    );
    Some(with_left_out(table, n_left_out))
}

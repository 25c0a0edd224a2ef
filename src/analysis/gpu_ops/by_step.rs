//! Operators by the step in which they launched kernels, and by phase.

use super::shapes::Instance;
use crate::analysis::gpu::active::{ActiveSteps, per_step};
use crate::analysis::gpu::annotation::Phase;
use crate::analysis::gpu::stats::{Durations, SumNs, share};
use crate::analysis::gpu::{GpuTrace, NamedTrace};
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::Unit;
use crate::report::{Column, Content, Table};

const CAPTION: &str = "An operator belongs to the step in which it launched its first kernel. Busy time is the time in which its \
                       own kernels run, summed over calls.";

/// Tables by phase, if annotations name phases, and by step, if there are steps.
pub fn tables(named: &NamedTrace<'_, '_>, instances: &[Instance]) -> Vec<Table> {
    [by_phase(named, instances), by_step(named, instances)].into_iter().flatten().collect()
}

fn by_phase(named: &NamedTrace<'_, '_>, instances: &[Instance]) -> Option<Table> {
    let gpu = named.gpu;
    let mut found: HashMap<(Phase, StringId), Vec<i64>> = HashMap::default();
    for instance in instances {
        let phase = gpu.annotation(instance.step).map(|what| what.phase);
        if let Some(phase) = phase.filter(|phase| *phase != Phase::Unknown) {
            found.entry((phase, name_of(gpu, instance))).or_default().push(instance.busy);
        }
    }
    if found.is_empty() {
        return None;
    }
    let steps = ActiveSteps::new(gpu);
    let mut rows: Vec<((Phase, StringId), Durations)> =
        found.into_iter().map(|(key, busy)| (key, Durations::new(busy))).collect();
    let text = |id: StringId| gpu.group_text(id).unwrap_or("");
    sort::by(&mut rows, |a, b| (a.0.0, b.1.total(), text(a.0.1)).cmp(&(b.0.0, a.1.total(), text(b.0.1))));
    let mut totals: Vec<(Phase, i64)> = Vec::new();
    for of_phase in rows.chunk_by(|a, b| a.0.0 == b.0.0) {
        totals.push((of_phase[0].0.0, of_phase.iter().map(|row| row.1.total()).sum_ns()));
    }
    let total_of = |phase: Phase| totals.iter().find(|of| of.0 == phase).map_or(0, |of| of.1);
    let n_left_out = cut(&mut rows);
    let each =
        |get: &dyn Fn(&Durations) -> Option<i64>| rows.iter().map(|row| get(&row.1)).collect::<Vec<_>>();
    let calls_per_step = |row: &((Phase, StringId), Durations)| {
        let n = steps.of_phase(row.0.0);
        (n > 0).then(|| row.1.count() as f64 / n as f64)
    };
    let table = Table::new(
        named.id("ops_by_phase"),
        named.title("Operators by phase"),
        vec![
            Column::key("phase", "phase", Content::Plain, texts(rows.iter().map(|row| Some(row.0.0.name())))),
            Column::key(
                "name",
                "operator",
                Content::Symbol,
                texts(rows.iter().map(|row| Some(text(row.0.1)))),
            ),
            Column::counts("calls", "calls", Unit::Count, rows.iter().map(|row| row.1.count())),
            Column::float(
                "calls_per_step",
                "calls per step",
                Unit::Plain,
                rows.iter().map(calls_per_step).collect(),
            ),
            integers("direct", "busy time", Unit::Ns, rows.iter().map(|row| row.1.total()))
                .hint(super::BUSY_HINT)
                .with_bar(),
            Column::integer(
                "per_step",
                "per step",
                Unit::Ns,
                rows.iter().map(|row| per_step(row.1.total(), steps.of_phase(row.0.0))).collect(),
            )
            .hint("total divided by the phase's steps with GPU activity"),
            Column::float(
                "share",
                "% of phase",
                Unit::Ratio,
                rows.iter().map(|row| share(row.1.total(), total_of(row.0.0))).collect(),
            ),
            Column::integer("mean", "mean", Unit::Ns, each(&Durations::mean)),
            Column::integer("p50", "p50", Unit::Ns, each(&|row| row.quantile(0.5))),
            Column::integer("p99", "p99", Unit::Ns, each(&|row| row.quantile(0.99))),
        ],
    );
    Some(with_left_out(table.caption(CAPTION), n_left_out))
}

fn name_of(gpu: &GpuTrace<'_>, instance: &Instance) -> StringId {
    gpu.group_name(instance.slice as usize)
}

fn by_step(named: &NamedTrace<'_, '_>, instances: &[Instance]) -> Option<Table> {
    let gpu = named.gpu;
    let mut found: HashMap<(u32, StringId), (u64, i64, i64)> = HashMap::default();
    for instance in instances.iter().filter(|instance| gpu.step(instance.step).is_some()) {
        let sums = found.entry((instance.step, name_of(gpu, instance))).or_default();
        *sums = (sums.0 + 1, sums.1.saturating_add(instance.busy), sums.2.max(instance.busy));
    }
    if found.is_empty() {
        return None;
    }
    let mut rows: Vec<(u32, StringId, (u64, i64, i64))> =
        found.into_iter().map(|((step, name), sums)| (step, name, sums)).collect();
    let text = |id: StringId| gpu.group_text(id).unwrap_or("");
    sort::by(&mut rows, |a, b| (a.0, b.2.1, text(a.1)).cmp(&(b.0, a.2.1, text(b.1))));
    let totals: Vec<(u32, i64)> = rows
        .chunk_by(|a, b| a.0 == b.0)
        .map(|of_step| (of_step[0].0, of_step.iter().map(|row| row.2.1).sum_ns()))
        .collect();
    let total_of = |step: u32| totals.binary_search_by_key(&step, |of| of.0).map_or(0, |at| totals[at].1);
    let n_left_out = cut(&mut rows);
    let table = Table::new(
        named.id("ops_by_step"),
        named.title("Operators by step"),
        vec![
            Column::counts("number", "step", Unit::Id, rows.iter().map(|row| u64::from(row.0) + 1)).as_key(),
            Column::text(
                "step",
                "step name",
                Content::Plain,
                texts(rows.iter().map(|row| gpu.step(row.0).map(|step| gpu.name(step.slice)))),
            ),
            Column::key("name", "operator", Content::Symbol, texts(rows.iter().map(|row| Some(text(row.1))))),
            Column::counts("calls", "calls", Unit::Count, rows.iter().map(|row| row.2.0)),
            integers("direct", "busy time", Unit::Ns, rows.iter().map(|row| row.2.1))
                .hint(super::BUSY_HINT)
                .with_bar(),
            Column::float(
                "share",
                "% of step",
                Unit::Ratio,
                rows.iter().map(|row| share(row.2.1, total_of(row.0))).collect(),
            ),
            Column::integer(
                "mean",
                "mean",
                Unit::Ns,
                rows.iter().map(|row| per_step(row.2.1, row.2.0)).collect(),
            ),
            integers("max", "max", Unit::Ns, rows.iter().map(|row| row.2.2)),
        ],
    );
    Some(with_left_out(table.caption(CAPTION), n_left_out))
}

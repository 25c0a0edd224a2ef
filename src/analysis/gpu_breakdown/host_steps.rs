//! Steps without recorded GPU activity: all steps of a trace without a GPU.

use crate::analysis::gpu::NamedTrace;
use crate::analysis::gpu::steps::Step;
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::units::{Unit, counted};
use crate::report::{Column, Content, Table};

/// One row per step whose number is not set in `has_work`, in order of time. `None` if all are set.
pub fn table(named: &NamedTrace<'_, '_>, has_work: &[bool]) -> Option<Table> {
    let gpu = named.gpu;
    let is_without = |number: &usize| !has_work.get(*number).copied().unwrap_or(false);
    let mut rows: Vec<&Step> =
        (0..gpu.steps.len()).filter(is_without).map(|number| &gpu.steps.steps[number]).collect();
    if rows.is_empty() {
        return None;
    }
    let n_left_out = cut(&mut rows);
    let start = gpu.trace.span().map_or(0, |(start, _)| start);
    let tokens = |get: &dyn Fn(&Step) -> Option<(u64, u64)>| {
        rows.iter().map(|step| get(step).map(|(_, tokens)| tokens)).collect::<Vec<_>>()
    };
    let n_missing = |step: &Step| {
        let from = gpu.silent.partition_point(|silent| silent.ts < step.start);
        let within = gpu.silent[from..].iter().take_while(|silent| silent.ts <= step.end);
        within.filter(|silent| silent.hides_work()).count() as u64
    };
    let missing: Vec<u64> = rows.iter().map(|step| n_missing(step)).collect();
    let caption = match gpu.n_of_unknown_step() {
        0 => "Steps without a recorded kernel or copy. Only their CPU time is known.".to_string(),
        n => format!(
            "Steps that no kernel or copy is linked to. Only their CPU time is known. {} of unknown launch may be theirs.",
            counted(n, "kernel or copy", "kernels and copies")
        ),
    };
    let mut table = Table::new(
        named.id(super::HOST_STEPS.id),
        named.title("Steps without GPU activity"),
        vec![
            Column::key(
                "step",
                "step",
                Content::Plain,
                texts(rows.iter().map(|step| Some(gpu.name(step.slice)))),
            ),
            Column::text(
                "phase",
                "phase",
                Content::Plain,
                texts(rows.iter().map(|step| Some(step.phase(gpu.trace)))),
            ),
            Column::unsigned(
                "prompt_tokens",
                "prompt tokens",
                Unit::Count,
                tokens(&|step| step.what.context),
            )
            .hint("prompt tokens processed, from the annotation"),
            Column::unsigned(
                "generated_tokens",
                "generated tokens",
                Unit::Count,
                tokens(&|step| step.what.generation),
            )
            .hint("tokens generated, from the annotation"),
            integers(
                "start",
                "start",
                Unit::NsOffset,
                rows.iter().map(|step| step.start.saturating_sub(start)),
            ),
            Column::integer(
                "cpu_time",
                "CPU time",
                Unit::Ns,
                rows.iter().map(|step| gpu.steps.cpu_ns(step)).collect(),
            )
            .with_bar()
            .hint("duration of the annotation on the CPU"),
        ],
    )
    .caption(caption);
    if missing.iter().any(|n| *n > 0) {
        table.columns.push(
            Column::counts("missing", "missing launches", Unit::Count, missing)
                .hint("kernel and graph launches in the step without a device record"),
        );
    }
    Some(with_left_out(table, n_left_out))
}

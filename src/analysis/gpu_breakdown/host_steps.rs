//! Steps of which a GPU is not known to have done anything: all of them where no GPU was recorded.

use crate::analysis::gpu::Named;
use crate::analysis::gpu::steps::Step;
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::units::Unit;
use crate::report::{Column, Table};

/// A row for each step that `has_work` does not hold (by its number), in order of time. `None` if it holds all.
pub fn table(named: &Named<'_, '_>, has_work: &[bool]) -> Option<Table> {
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
    let table = Table::new(
        named.id("host_steps"),
        named.title("Steps without work of a GPU"),
        vec![
            Column::key("step", "step", texts(rows.iter().map(|step| Some(gpu.name(step.slice))))),
            Column::text("phase", "phase", texts(rows.iter().map(|step| Some(step.what.phase.name())))),
            Column::unsigned("prompt_tokens", "prompt tokens", Unit::Count, tokens(&|step| step.what.context))
                .hint("tokens of prompts that the step reads, as its annotation says"),
            Column::unsigned(
                "generated_tokens",
                "generated tokens",
                Unit::Count,
                tokens(&|step| step.what.generation),
            )
            .hint("tokens that the step generates, as its annotation says"),
            integers("start", "start", Unit::NsOffset, rows.iter().map(|step| step.start.saturating_sub(start))),
            integers("cpu_time", "CPU time", Unit::Ns, rows.iter().map(|step| step.end.saturating_sub(step.start)))
                .with_bar()
                .hint("length of the range on the CPU"),
        ],
    )
    .caption("Steps in which no work was launched that the trace tells of, so all that is known of them is their range on the CPU.");
    Some(with_left_out(table, n_left_out))
}

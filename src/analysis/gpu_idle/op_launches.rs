//! Launches and launch delays by operator: HTA's launch statistics of ATen operators, for all operators and vendors.

use crate::analysis::gpu::model::NONE;
use crate::analysis::gpu::stats::{Durations, SumNs};
use crate::analysis::gpu::{NamedTrace, Work};
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::Unit;
use crate::report::{Column, Content, Table};

/// Number of names shown of a sequence.
const N_SHOWN: usize = 12;

/// Operators of one name that launch the same kernels in the same order.
struct Row {
    op: StringId,
    sequence: Vec<StringId>,
    /// From the start of the operator to its first launch.
    to_launch: Durations,
    /// From the start of that call to the start of its kernel.
    to_start: Durations,
    gpu: i64,
}

/// Times of operators with the same sequence.
#[derive(Default)]
struct Delays {
    /// See [`Row`].
    to_launch: Vec<i64>,
    to_start: Vec<i64>,
    gpu: i64,
}

/// One row per operator and sequence. `None` where no kernel has an operator. Kernels of graphs have none and are left out.
pub fn table(named: &NamedTrace<'_, '_>) -> Option<Table> {
    let gpu = named.gpu;
    let slices = &gpu.trace.slices;
    // Kernels and copies by operator, in order of launch.
    let mut by_op: Vec<(u32, i64, &Work)> = gpu
        .work
        .iter()
        .filter(|work| work.op != NONE && work.timed_launch() != NONE && !gpu.is_graph_launch(work.launch))
        .map(|work| (work.op, slices.ts[work.launch as usize], work))
        .collect();
    by_op.sort_by_key(|(op, ts, work)| (*op, *ts, work.start));
    let mut found: HashMap<(StringId, Vec<StringId>), Delays> = HashMap::default();
    for of_op in by_op.chunk_by(|a, b| a.0 == b.0) {
        let (op, called, first) = of_op[0];
        let sequence = of_op.iter().map(|(_, _, work)| slices.name[work.slice as usize]).collect();
        let delays = found.entry((gpu.group_name(op as usize), sequence)).or_default();
        delays.to_launch.push(called.saturating_sub(slices.ts[op as usize]));
        delays.to_start.push(first.start.saturating_sub(called).max(0));
        delays.gpu = delays.gpu.saturating_add(of_op.iter().map(|(_, _, work)| work.dur()).sum_ns());
    }
    if found.is_empty() {
        return None;
    }
    let mut rows: Vec<Row> = found
        .into_iter()
        .map(|((op, sequence), delays)| Row {
            op,
            sequence,
            to_launch: Durations::new(delays.to_launch),
            to_start: Durations::new(delays.to_start),
            gpu: delays.gpu,
        })
        .collect();
    let text = |id: StringId| gpu.shown_name(id).unwrap_or("");
    let names = |row: &Row| -> Vec<&str> { row.sequence.iter().map(|name| text(*name)).collect() };
    sort::by_cached_key(&mut rows, |row| {
        (std::cmp::Reverse(row.to_launch.count()), text(row.op).to_string(), names(row).join(" "))
    });
    let n_left_out = cut(&mut rows);
    let sequence = |row: &Row| {
        let all = names(row);
        let shown = all[..all.len().min(N_SHOWN)].join(" → ");
        match all.len().saturating_sub(N_SHOWN) {
            0 => shown,
            rest => format!("{shown} → {rest} more"),
        }
    };
    let table = Table::new(
        named.id("op_launches"),
        named.title("Launches by operator"),
        vec![
            Column::key("op", "operator", Content::Symbol, texts(rows.iter().map(|row| Some(text(row.op))))),
            Column::key("sequence", "launches", Content::Plain, texts(rows.iter().map(|row| Some(sequence(row))))),
            Column::counts("calls", "calls", Unit::Count, rows.iter().map(|row| row.to_launch.count())).with_bar(),
            Column::counts("work", "kernels per call", Unit::Count, rows.iter().map(|row| row.sequence.len() as u64))
                .hint("kernels, copies and fills"),
            Column::integer("to_launch", "time to launch, mean", Unit::Ns, rows.iter().map(|row| row.to_launch.mean()).collect())
                .hint("from the start of the operator to its first launch call"),
            Column::integer(
                "to_launch_p99",
                "time to launch, p99",
                Unit::Ns,
                rows.iter().map(|row| row.to_launch.quantile(0.99)).collect(),
            ),
            Column::integer("to_start", "launch to start, mean", Unit::Ns, rows.iter().map(|row| row.to_start.mean()).collect())
                .hint("from that call to the start of its kernel on the GPU; at least 0"),
            Column::integer(
                "to_start_p99",
                "launch to start, p99",
                Unit::Ns,
                rows.iter().map(|row| row.to_start.quantile(0.99)).collect(),
            ),
            integers("gpu_time", "kernel time", Unit::Ns, rows.iter().map(|row| row.gpu)).hint("sum of durations"),
        ],
    )
    .sorted_by("calls", true)
    .caption(
        "One row per operator (the innermost around each launch) and sequence of kernels. Time to launch is the operator's CPU \
         overhead before its first launch; launch to start is the call and the queue.",
    );
    Some(with_left_out(table, n_left_out))
}

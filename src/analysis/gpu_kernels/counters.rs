//! Hardware counters, which CUPTI's range profiler records instead of kernel times.
//!
//! Each `cuda_profiler_range` is one kernel without a link to its launch. If there are as many ranges as launch calls, they are
//! paired in order, as in HTA's `get_counter_data_with_operators`. Otherwise no launches are shown.

use crate::analysis::gpu::facts::integer;
use crate::analysis::gpu::model::NONE;
use crate::analysis::gpu::{GpuTrace, Kind, NamedTrace, kernel_names};
use crate::analysis::timeline::{cut, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::{Unit, counted};
use crate::report::{Column, Content, Report, Table};
use crate::trace::Trace;
use crate::trace::builder::for_each_member;

/// Category of these ranges.
const CATEGORY: &str = "cuda_profiler_range";

/// Maximum counters shown as columns.
const MAX_COUNTERS: usize = 64;

/// Whether a trace has ranges with counters.
pub fn are_in(trace: &Trace) -> bool {
    trace.strings.find(CATEGORY).is_some_and(|id| trace.slices.category.contains(&id))
}

/// Sum of a counter over ranges.
#[derive(Clone, Copy, Default)]
struct Sum {
    whole: u64,
    /// Sum of values that are not whole numbers.
    rest: f64,
}

/// Ranges of one kernel, launched by the same operators.
struct Row {
    kernel: StringId,
    /// The innermost and the outermost operator around the launch.
    inner: Option<StringId>,
    outer: Option<StringId>,
    n: u64,
    /// By number of the counter; `None` where no range has it.
    sums: Vec<Option<Sum>>,
}

/// One row per kernel and operator, one column per counter. `None` without counters.
pub fn table(named: &NamedTrace<'_, '_>, report: &mut Report) -> Option<Table> {
    let gpu = named.gpu;
    let trace = gpu.trace;
    let category = trace.strings.find(CATEGORY)?;
    let mut ranges: Vec<u32> =
        (0..trace.slices.len() as u32).filter(|i| trace.slices.category[*i as usize] == category).collect();
    if ranges.is_empty() {
        return None;
    }
    let place = |i: u32| (trace.slices.ts[i as usize], trace.slices.offset(i as usize));
    sort::rows(&mut ranges, |a, b| place(a).cmp(&place(b)));
    let launches = launches(gpu);
    let are_paired = launches.len() == ranges.len();
    if !are_paired {
        report.warning(format!(
            "The trace has {} but {}, so counters cannot be linked to their launches.",
            counted(ranges.len() as u64, "counter range", "counter ranges"),
            counted(launches.len() as u64, "launch call", "launch calls")
        ));
    }
    let mut counters: Vec<String> = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut numbers: HashMap<(StringId, Option<StringId>, Option<StringId>), usize> = HashMap::default();
    for (at, range) in ranges.iter().enumerate() {
        let launch = launches.get(at).filter(|_| are_paired);
        let (inner, outer) = launch.map_or((None, None), |launch| operators(gpu, *launch));
        let kernel = trace.slices.name[*range as usize];
        let number = *numbers.entry((kernel, inner, outer)).or_insert_with(|| {
            rows.push(Row { kernel, inner, outer, n: 0, sums: Vec::new() });
            rows.len() - 1
        });
        let row = &mut rows[number];
        row.n += 1;
        let Some(raw) = trace.args.get(trace.slices.args_of(*range as usize)) else { continue };
        for_each_member(&raw, |key, value| {
            let Ok(name) = std::str::from_utf8(key.bytes) else { return };
            let Some(number) = number_of(&mut counters, name) else { return };
            if row.sums.len() <= number {
                row.sums.resize(number + 1, None);
            }
            row.sums[number] = add(row.sums[number], value);
        });
    }
    let n_left_out = cut(&mut rows);
    let text = |id: Option<StringId>| id.and_then(|id| gpu.group_text(id));
    let mut columns = vec![
        Column::key("op", "operator", Content::Symbol, texts(rows.iter().map(|row| text(row.inner)))),
        Column::key(
            "outer_op",
            "outermost operator",
            Content::Plain,
            texts(rows.iter().map(|row| text(row.outer))),
        ),
        Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.n)),
    ];
    for (number, name) in counters.iter().enumerate() {
        let sum = |row: &Row| row.sums.get(number).copied().flatten();
        let is_whole = rows.iter().filter_map(sum).all(|sum| sum.rest == 0.0);
        let mut column = if is_whole {
            let values = rows.iter().map(|row| sum(row).map(|sum| sum.whole)).collect();
            Column::unsigned("counter", name, Unit::Count, values)
        } else {
            let values = rows.iter().map(|row| sum(row).map(|sum| sum.whole as f64 + sum.rest)).collect();
            Column::float("counter", name, Unit::Plain, values)
        };
        column.id = format!("counter_{}", number + 1).into();
        columns.push(column);
    }
    kernel_names::insert(
        &mut columns,
        0,
        ("kernel", "kernel"),
        rows.iter().map(|row| text(Some(row.kernel))),
    );
    let table = Table::new(named.id("kernel_counters"), named.title("Kernel counters"), columns).caption(
        "Sums of CUPTI hardware counters per kernel. Counting serializes and replays kernels, so their times are meaningless and \
         not shown.",
    );
    Some(with_left_out(table, n_left_out))
}

/// Calls that launch a kernel, in order of time.
fn launches(gpu: &GpuTrace<'_>) -> Vec<u32> {
    let slices = &gpu.trace.slices;
    let is_launch = |i: &u32| {
        gpu.kinds.get(slices.category[*i as usize]) == Kind::Call
            && gpu.name(*i).starts_with("cudaLaunchKernel")
    };
    (0..slices.len() as u32).filter(is_launch).collect()
}

/// Names of the innermost and the outermost operator around a call.
fn operators(gpu: &GpuTrace<'_>, call: u32) -> (Option<StringId>, Option<StringId>) {
    let name = |op: u32| gpu.group_name(op as usize);
    let inner = gpu.op_of(call);
    let mut outer = inner.unwrap_or(NONE);
    while let Some(around) = gpu.trace.slices.parent.get(outer as usize).and_then(|_| gpu.op_of(outer)) {
        outer = around;
    }
    (inner.map(name), inner.map(|_| name(outer)))
}

fn number_of(counters: &mut Vec<String>, name: &str) -> Option<usize> {
    if let Some(number) = counters.iter().position(|known| known == name) {
        return Some(number);
    }
    if counters.len() >= MAX_COUNTERS {
        return None;
    }
    counters.push(name.to_string());
    Some(counters.len() - 1)
}

fn add(sum: Option<Sum>, value: &[u8]) -> Option<Sum> {
    let Sum { whole, rest } = sum.unwrap_or_default();
    if let Some(count) = integer(value).and_then(|count| u64::try_from(count).ok()) {
        return Some(Sum { whole: whole.saturating_add(count), rest });
    }
    let text = std::str::from_utf8(value).ok()?.trim_matches('"');
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Some(Sum { whole, rest: rest + number }),
        _ => sum,
    }
}

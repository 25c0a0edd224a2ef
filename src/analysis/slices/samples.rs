//! Self and total weight by stack frame. A frame that occurs twice on a stack counts once in its total.

use crate::analysis::timeline::{cut, shown, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::text::visible;
use crate::base::units::{Unit, counted, format_ratio, group_digits};
use crate::report::{Column, Content, Report, Table};
use crate::trace::samples::StackId;
use crate::trace::{Run, Trace};

/// Totals of one frame.
struct Row<'a> {
    name: &'a str,
    module: Option<&'a str>,
    self_weight: f64,
    total_weight: f64,
    /// Samples with it on top.
    on_top: u64,
}

/// Totals of the frames of all samples, the largest self weight first, and the weight of the samples with a stack.
fn sums(run: &Run) -> (Vec<Row<'_>>, f64) {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut by_key: HashMap<(&str, Option<&str>), usize> = HashMap::default();
    let mut all = 0.0;
    for trace in &run.traces {
        add_trace_samples(trace, &mut rows, &mut by_key, &mut all);
    }
    sort::by(&mut rows, |a, b| {
        let by_weight =
            b.self_weight.total_cmp(&a.self_weight).then(b.total_weight.total_cmp(&a.total_weight));
        by_weight.then_with(|| (a.name, a.module).cmp(&(b.name, b.module)))
    });
    (rows, all)
}

/// `exp is hottest: 66.7% self (2 of 3 samples).` With weights from the file, only the share. `None` if no sample has a stack.
pub fn hottest(run: &Run) -> Option<String> {
    if run.traces.iter().all(|trace| trace.samples.is_empty()) {
        return None;
    }
    let (rows, all) = sums(run);
    let first = rows.first().filter(|row| row.self_weight > 0.0)?;
    let share = format_ratio(first.self_weight / all);
    let is_count = run.traces.iter().all(|trace| trace.samples.weight.iter().all(|weight| *weight == 1.0));
    let n = || rows.iter().map(|row| row.on_top).sum();
    let of = match is_count {
        true => format!(" ({} of {})", group_digits(first.on_top.into()), counted(n(), "sample", "samples")),
        false => String::new(),
    };
    Some(format!("{} is hottest: {share} self{of}.", visible(shown(Some(first.name)))))
}

/// Adds the table if there are samples.
pub fn add(report: &mut Report, run: &Run) {
    if run.traces.iter().all(|trace| trace.samples.is_empty()) {
        return;
    }
    let (mut rows, all) = sums(run);
    let n_left_out = cut(&mut rows);
    let share = |weight: f64| (all > 0.0).then(|| weight / all);
    let table = Table::new(
        "frames",
        "Samples by frame",
        vec![
            Column::key("frame", "frame", Content::Symbol, texts(rows.iter().map(|row| Some(row.name)))),
            Column::key("module", "module", Content::Symbol, texts(rows.iter().map(|row| row.module))),
            Column::counts("samples", "samples", Unit::Count, rows.iter().map(|row| row.on_top))
                .hint("samples with this frame on top")
                .adds_up(),
            Column::float(
                "self",
                "self",
                Unit::Plain,
                rows.iter().map(|row| Some(row.self_weight)).collect(),
            )
            .with_bar()
            .hint("weight of the samples with this frame on top")
            .by_row(),
            Column::float(
                "self_share",
                "self %",
                Unit::Ratio,
                rows.iter().map(|row| share(row.self_weight)).collect(),
            ),
            Column::float(
                "total",
                "total",
                Unit::Plain,
                rows.iter().map(|row| Some(row.total_weight)).collect(),
            )
            .hint("weight of the samples with this frame anywhere on the stack, counted once per sample")
            .by_row(),
            Column::float(
                "total_share",
                "total %",
                Unit::Ratio,
                rows.iter().map(|row| share(row.total_weight)).collect(),
            ),
        ],
    )
    .caption("Weights from the file; 1 if it has none.")
    .if_empty("The samples have no stacks.")
    .sorted_by("self", true);
    report.table(with_left_out(table, n_left_out));
}

fn add_trace_samples<'a>(
    trace: &'a Trace,
    rows: &mut Vec<Row<'a>>,
    by_key: &mut HashMap<(&'a str, Option<&'a str>), usize>,
    all: &mut f64,
) {
    let stacks = &trace.stacks;
    // Weight and sample count of each stack, then propagated to its parents, which have smaller numbers.
    let mut self_weight = vec![0.0; stacks.len()];
    let mut n_samples = vec![0u64; stacks.len()];
    for (stack, weight) in trace.samples.stack.iter().zip(&trace.samples.weight) {
        let weight = if weight.is_finite() { *weight } else { 0.0 };
        if let Some(sum) = self_weight.get_mut(stack.0 as usize) {
            *all += weight;
            *sum += weight;
            n_samples[stack.0 as usize] += 1;
        }
    }
    let row_of_frame: Vec<usize> = (0..trace.frames.len())
        .map(|frame| {
            let key = (
                trace.strings.get(trace.frames.name[frame]),
                trace.strings.get_opt(trace.frames.module[frame]),
            );
            *by_key.entry(key).or_insert_with(|| {
                let (name, module) = key;
                rows.push(Row { name, module, self_weight: 0.0, total_weight: 0.0, on_top: 0 });
                rows.len() - 1
            })
        })
        .collect();
    let row_of = |stack: usize| row_of_frame.get(stacks.frame[stack].0 as usize).copied();
    let mut total_weight = self_weight.clone();
    for stack in (0..stacks.len()).rev() {
        if let Some(row) = row_of(stack) {
            rows[row].self_weight += self_weight[stack];
            rows[row].on_top += n_samples[stack];
        }
        if let Some(parent) = usable_parent(stack, stacks.parent[stack]) {
            total_weight[parent] += total_weight[stack];
        }
    }
    // A stack node adds its weight to its frame unless the frame is already below it on the stack.
    // Walking the tree with one counter per frame detects that in one pass.
    let mut first_child = vec![u32::MAX; stacks.len()];
    let mut sibling = vec![u32::MAX; stacks.len()];
    let mut roots = Vec::new();
    for stack in (0..stacks.len()).rev() {
        match usable_parent(stack, stacks.parent[stack]) {
            Some(parent) => {
                sibling[stack] = first_child[parent];
                first_child[parent] = stack as u32;
            }
            None => roots.push(stack),
        }
    }
    let mut open = vec![0u32; rows.len()];
    let mut walk: Vec<(usize, bool)> = roots.into_iter().map(|root| (root, false)).collect();
    while let Some((stack, leave)) = walk.pop() {
        let row = row_of(stack);
        if leave {
            if let Some(row) = row {
                open[row] -= 1;
            }
            continue;
        }
        if let Some(row) = row {
            if open[row] == 0 {
                rows[row].total_weight += total_weight[stack];
            }
            open[row] += 1;
        }
        walk.push((stack, true));
        let mut child = first_child[stack];
        while child != u32::MAX {
            walk.push((child as usize, false));
            child = sibling[child as usize];
        }
    }
}

fn usable_parent(stack: usize, parent: StackId) -> Option<usize> {
    (parent != StackId::NONE && (parent.0 as usize) < stack).then_some(parent.0 as usize)
}

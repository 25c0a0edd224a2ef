//! Tables of operations, of kernels by name, and of kernels on both sides.

use super::side::{GpuSide, Slot, whole};
use super::steps::{Row, column_of, insert_phase, per, time_columns};
use super::{Pair, Sample, per_step};
use crate::analysis::gpu::kernel_names;
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::units::{Unit, counted};
use crate::compare::tables::ratio;
use crate::report::{Column, Content, Table};
use std::cmp::Reverse;

/// Maximum rows; further ones are counted as left out.
const MAX_ROWS: usize = 200_000;

/// Sorts rows by size of the difference per step, then of the totals.
fn sort(rows: &mut [Row]) {
    sort::by_cached_key(rows, |row| {
        let by_step = row.difference().unwrap_or(row.total_difference());
        (Reverse(by_step.unsigned_abs()), Reverse(row.total[0].max(row.total[1])), row.slot, row.name.clone())
    });
}

/// See [`Pair::operation_rows`].
pub fn operation_rows(pair: &Pair<'_>) -> Vec<Row> {
    let mut sums: HashMap<(Slot, &str), [(i64, u64); 2]> = HashMap::default();
    for number in [0, 1] {
        let side = pair.side(number);
        for sum in side.sums.iter().filter(|sum| pair.slots.contains(&sum.slot)) {
            let of = &mut sums.entry((sum.slot, operation_of(side, sum.name))).or_default()[number];
            *of = (of.0.saturating_add(sum.total), of.1 + sum.count);
        }
    }
    let mut rows: Vec<Row> = sums
        .into_iter()
        .map(|((slot, operation), [a, b])| Row {
            slot,
            name: operation.to_string(),
            total: [a.0, b.0],
            count: [a.1, b.1],
            n: [0, 1].map(|side| pair.n(side, slot)),
            samples: pair.samples(slot, |side, stretch| pair.of_operation(side, stretch, operation).0),
            count_per_step: pair
                .samples(slot, |side, stretch| pair.of_operation(side, stretch, operation).1 as i64)
                .map(|sample| sample.mean),
            ..Row::default()
        })
        .collect();
    sort(&mut rows);
    rows
}

/// The operation of a name.
pub fn operation_of(side: &GpuSide, name: u32) -> &str {
    side.names
        .get(name as usize)
        .and_then(|name| side.operations.get(name.operation as usize))
        .map_or("", String::as_str)
}

/// Columns of counts and mean durations.
fn count_columns(rows: &[&Row]) -> Vec<Column> {
    let mean = |row: &Row, side: usize| per_step(row.total[side], usize::try_from(row.count[side]).ok()?);
    let means = |side: usize| rows.iter().map(|row| mean(row, side)).collect::<Vec<_>>();
    let by_step = |side: usize| {
        let each =
            |row: &&Row| (row.n[side] > 0 && row.slot != Slot::Outside).then(|| row.count_per_step[side]);
        rows.iter().map(each).collect::<Vec<_>>()
    };
    let ratios = rows
        .iter()
        .map(|row| {
            ratio(
                i128::from(row.total[0]) * i128::from(row.count[1]),
                i128::from(row.total[1]) * i128::from(row.count[0]),
            )
        })
        .map(|ratio| ratio.filter(|ratio| *ratio > 0.0))
        .collect();
    let per = per(rows);
    vec![
        Column::counts("count_a", "A, count", Unit::Count, rows.iter().map(|row| row.count[0])).adds_up(),
        Column::counts("count_b", "B, count", Unit::Count, rows.iter().map(|row| row.count[1])).adds_up(),
        Column::float("count_per_step_a", &format!("A, count {per}"), Unit::Plain, by_step(0)),
        Column::float("count_per_step_b", &format!("B, count {per}"), Unit::Plain, by_step(1)),
        Column::integer("mean_a", "A, mean", Unit::Ns, means(0)),
        Column::integer("mean_b", "B, mean", Unit::Ns, means(1)),
        Column::float("ratio_of_means", "B / A, mean", Unit::Plain, ratios)
            .hint(&format!("ratio of mean kernel durations; the other ratio is of time {per}")),
    ]
}

/// Column of shares of the total difference.
fn share_column(rows: &[&Row]) -> Column {
    let whole: i128 = rows.iter().map(|row| i128::from(row.total_difference())).sum();
    let share = |row: &&Row| ratio(whole, i128::from(row.total_difference()));
    Column::float("of_difference", "% of difference", Unit::Ratio, rows.iter().map(share).collect())
        .hint("share of the difference of the totals; rows add up to 100%")
}

/// One row per phase and operation.
pub fn operations(pair: &Pair<'_>) -> Table {
    let all = pair.operation_rows();
    let rows: Vec<&Row> = all.iter().collect();
    let mut columns = vec![Column::key(
        "operation",
        "operation",
        Content::Plain,
        column_of(rows.iter().map(|row| row.name.as_str())),
    )];
    columns.extend(time_columns(&rows));
    columns.push(share_column(&rows));
    columns.extend(count_columns(&rows));
    insert_phase(&mut columns, rows.iter().map(|row| row.slot.name()));
    Table::new("operations", "Operations", columns)
        .caption(
            "Kernels grouped by operation, based on their names. Includes operations of one side only, so rows add up to the total \
             of each side. Overlapping kernels count multiple times, unlike in busy time.",
        )
        .if_empty("No GPU activity on either side.")
}

/// One row per phase and kernel name.
pub fn names(pair: &Pair<'_>) -> Table {
    /// Sums, and the name on each side.
    #[derive(Default, Clone, Copy)]
    struct NameSums {
        sums: [(i64, u64); 2],
        /// Those of the steps that numbers per step are of.
        per_step: [(i64, u64); 2],
        names: [Option<u32>; 2],
    }
    // Of each phase and side: all steps, and those that numbers per step are of.
    let n_of = |side, slot| (pair.n(side, slot), whole(pair.side(side).of_slot(slot)).count());
    let n_steps: HashMap<Slot, [(usize, usize); 2]> =
        pair.slots.iter().map(|slot| (*slot, [0, 1].map(|side| n_of(side, *slot)))).collect();
    let mut sums: HashMap<(Slot, &str, bool), NameSums> = HashMap::default();
    for number in [0, 1] {
        let side = pair.side(number);
        for sum in side.sums.iter().filter(|sum| pair.slots.contains(&sum.slot)) {
            let Some(name) = side.names.get(sum.name as usize) else { continue };
            let of = sums.entry((sum.slot, name.text.as_str(), name.is_kernel)).or_default();
            of.sums[number] = (of.sums[number].0.saturating_add(sum.total), of.sums[number].1 + sum.count);
            let leaves_out_cut = n_steps.get(&sum.slot).is_some_and(|n| n[number].1 < n[number].0);
            let (count, total) = sum.per_step(leaves_out_cut);
            of.per_step[number] =
                (of.per_step[number].0.saturating_add(total), of.per_step[number].1 + count);
            of.names[number] = Some(sum.name);
        }
    }
    let mut all: Vec<(Row, [Option<u32>; 2])> = sums
        .into_iter()
        .map(|((slot, text, _), of)| {
            let n_steps = n_steps.get(&slot).copied().unwrap_or_default();
            let per_step = [0, 1].map(|side: usize| {
                let (n_whole, (ns, count)) = (n_steps[side].1.max(1) as f64, of.per_step[side]);
                (ns as f64 / n_whole, count as f64 / n_whole)
            });
            let row = Row {
                slot,
                name: text.to_string(),
                total: of.sums.map(|sum| sum.0),
                count: of.sums.map(|sum| sum.1),
                n: n_steps.map(|(n, _)| n),
                // Times per kernel and step are not kept, so noise is unknown.
                samples: per_step.map(|(ns, _)| Sample { mean: ns, ..Sample::default() }),
                count_per_step: per_step.map(|(_, count)| count),
                ..Row::default()
            };
            (row, of.names)
        })
        .collect();
    sort::by_cached_key(&mut all, |(row, _)| {
        let by_step = row.difference().unwrap_or(row.total_difference());
        (Reverse(by_step.unsigned_abs()), Reverse(row.total[0].max(row.total[1])), row.slot, row.name.clone())
    });
    let n_left_out = all.len().saturating_sub(MAX_ROWS) as u64;
    all.truncate(MAX_ROWS);
    let rows: Vec<&Row> = all.iter().map(|(row, _)| row).collect();
    let of = |number: usize, names: &[Option<u32>; 2]| {
        names[number].and_then(|name| pair.side(number).names.get(name as usize))
    };
    let operation = |names: &[Option<u32>; 2]| {
        [0, 1]
            .into_iter()
            .find_map(|number| Some(operation_of(pair.side(number), names[number]?)))
            .unwrap_or("")
    };
    let launched = |number: usize, get: fn(&super::side::Name) -> &str| {
        let mut cells = crate::report::TextCells::default();
        for (_, names) in &all {
            cells.push(of(number, names).map(get).filter(|text| !text.is_empty()));
        }
        cells
    };
    let mut columns = vec![Column::key(
        "operation",
        "operation",
        Content::Plain,
        column_of(all.iter().map(|(_, names)| operation(names))),
    )];
    columns.extend(
        time_columns(&rows).into_iter().filter(|column| column.id != "noise" && column.id != "status"),
    );
    columns.push(share_column(&rows));
    columns.extend(count_columns(&rows));
    columns.extend([
        Column::text("op_a", "A, operator", Content::Symbol, launched(0, |name| &name.cpu_op))
            .hint("operator with the most launches"),
        Column::text("op_b", "B, operator", Content::Symbol, launched(1, |name| &name.cpu_op)),
        Column::text("frame_a", "A, frame", Content::Symbol, launched(0, |name| &name.frame))
            .hint("innermost Python frame with the most launches"),
        Column::text("frame_b", "B, frame", Content::Symbol, launched(1, |name| &name.frame)),
    ]);
    kernel_names::insert(&mut columns, 1, ("name", "kernel"), rows.iter().map(|row| Some(row.name.as_str())));
    insert_phase(&mut columns, rows.iter().map(|row| row.slot.name()));
    let mut table = Table::new("kernels", "Kernels", columns)
        .caption("One row per kernel and phase. For counterparts of kernels that are only on one side, see the table Aligned step.")
        .if_empty("No GPU activity on either side.");
    table.n_left_out = n_left_out;
    table
}

/// Nanoseconds and counts of both sides.
type Sums = [(i64, u64); 2];

/// Kernels with the same name on both sides: the same code, slower or faster.
pub fn same(pair: &Pair<'_>) -> Table {
    let mut sums: HashMap<&str, (Sums, &str)> = HashMap::default();
    for number in [0, 1] {
        let side = pair.side(number);
        for sum in side.sums.iter().filter(|sum| pair.slots.contains(&sum.slot)) {
            let Some(name) = side.names.get(sum.name as usize).filter(|name| name.is_kernel) else {
                continue;
            };
            let of = sums.entry(&name.text).or_insert(([(0, 0); 2], operation_of(side, sum.name)));
            of.0[number] = (of.0[number].0.saturating_add(sum.total), of.0[number].1 + sum.count);
        }
    }
    let mut rows: Vec<(&str, (Sums, &str))> =
        sums.into_iter().filter(|(_, (of, _))| of[0].1 > 0 && of[1].1 > 0).collect();
    let mean = |of: (i64, u64)| per_step(of.0, of.1 as usize).unwrap_or(0);
    // Difference of means times the count of A.
    let stake = |of: &Sums| mean(of[1]).saturating_sub(mean(of[0])).saturating_mul(of[0].1 as i64);
    sort::by_key(&mut rows, |(name, (of, _))| (Reverse(stake(of).unsigned_abs()), *name));
    let n_left_out = rows.len().saturating_sub(MAX_ROWS) as u64;
    rows.truncate(MAX_ROWS);
    let integers =
        |get: &dyn Fn(&Sums) -> i64| rows.iter().map(|row| Some(get(&row.1.0))).collect::<Vec<_>>();
    let mut columns = vec![
        Column::text("operation", "operation", Content::Plain, column_of(rows.iter().map(|row| row.1.1))),
        Column::integer("mean_a", "A, mean", Unit::Ns, integers(&|of| mean(of[0]))),
        Column::integer("mean_b", "B, mean", Unit::Ns, integers(&|of| mean(of[1]))),
        Column::integer(
            "mean_difference",
            "B − A, mean",
            Unit::Ns,
            integers(&|of| mean(of[1]).saturating_sub(mean(of[0]))),
        ),
        Column::float(
            "ratio_of_means",
            "B / A, mean",
            Unit::Plain,
            rows.iter()
                .map(|(_, (of, _))| {
                    ratio(
                        i128::from(of[0].0) * i128::from(of[1].1),
                        i128::from(of[1].0) * i128::from(of[0].1),
                    )
                })
                .collect(),
        ),
        Column::integer("stake", "B − A at A's count", Unit::Ns, integers(&stake))
            .with_bar()
            .hint("difference of means times A's count: the extra time for the same launches in B"),
        Column::counts("count_a", "A, count", Unit::Count, rows.iter().map(|row| row.1.0[0].1)),
        Column::counts("count_b", "B, count", Unit::Count, rows.iter().map(|row| row.1.0[1].1)),
    ];
    kernel_names::insert(&mut columns, 0, ("name", "kernel"), rows.iter().map(|row| Some(row.0)));
    let n = counted(rows.len() as u64, "kernel", "kernels");
    let slower = rows.iter().filter(|row| stake(&row.1.0) > 0).count();
    let faster = rows.iter().filter(|row| stake(&row.1.0) < 0).count();
    let mut table = Table::new("same_kernels", "Kernels on both sides", columns)
        .caption(format!(
            "{n} on both sides: B is slower in {slower}, faster in {faster}, by mean duration. Shapes may differ."
        ))
        .if_empty("No kernel names in common.");
    table.n_left_out = n_left_out;
    table
}

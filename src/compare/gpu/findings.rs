//! Fusion and kernel substitution, from aligned steps.
//!
//! Places where one side runs kernels that the other doesn't are only considered between two aligned pairs, or between one and the
//! start or end of the step, so that both sides are known to be at the same point. A trace doesn't show whether a neighbor was fused
//! with them, but a neighbor that is the same kernel on both sides was not.

use super::sequence::Aligned;
use super::steps::{column_of, insert_phase};
use crate::analysis::gpu::stats::SumNs;
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::units::Unit;
use crate::compare::align::Step;
use crate::report::{Column, Content, Table};
use std::cmp::Reverse;

/// Longer runs of kernels between two pairs mean different code, not fusion.
const MAX_RUN: usize = 8;
/// Maximum rows of each table.
const MAX_ROWS: usize = 2_000;

/// Places with the same pattern.
#[derive(Default)]
struct Block {
    times: u64,
    /// Nanoseconds of unpaired kernels on each side.
    alone: [i64; 2],
    /// The same including the pairs before and after.
    around: [i64; 2],
    /// Whether a neighbor differs between A and B, in all of the places.
    neighbour_differs: bool,
    /// Whether the step of a side may have run more kernels than were recorded.
    are_partial: [bool; 2],
    first_row: u64,
}

/// Key of a block: phase, operation before, operations only in A, operations only in B, operation after.
type BlockKey = (&'static str, String, String, String, String);

/// Places where one side runs kernels that the other doesn't.
pub fn blocks(all: &[Aligned<'_>]) -> Table {
    let mut groups: HashMap<BlockKey, Block> = HashMap::default();
    let mut row_before = 0u64;
    let (mut n_long, mut n_alone) = (0u64, 0u64);
    for aligned in all {
        let steps = &aligned.steps;
        let mut at = 0;
        while at < steps.len() {
            let run = steps[at..].iter().take_while(|step| !matches!(step, Step::Pair(..))).count();
            if run == 0 {
                at += 1;
                continue;
            }
            let pair = |at: Option<usize>| match steps.get(at?)? {
                Step::Pair(a, b) => Some((*a, *b)),
                _ => None,
            };
            let (before, after) = (pair(at.checked_sub(1)), pair(Some(at + run)));
            // The end of what was aligned is not the end of the step if kernels were left out.
            let is_bounded = after.is_some() || before.is_some() && aligned.n_left_out == 0;
            if is_bounded && run <= MAX_RUN {
                let place = Place { steps: &steps[at..at + run], before, after };
                place.add(aligned, row_before + at as u64 + 1, &mut groups);
            } else if run > MAX_RUN {
                n_long += 1;
            } else {
                n_alone += 1;
            }
            at += run;
        }
        row_before += steps.len() as u64;
    }
    let mut rows: Vec<(BlockKey, Block)> = groups.into_iter().collect();
    let stake = |block: &Block| block.alone[1].saturating_sub(block.alone[0]);
    sort::by(&mut rows, |a, b| {
        (Reverse(stake(&a.1).unsigned_abs()), &a.0).cmp(&(Reverse(stake(&b.1).unsigned_abs()), &b.0))
    });
    let n_left_out = rows.len().saturating_sub(MAX_ROWS) as u64;
    rows.truncate(MAX_ROWS);
    let numbers = |get: &dyn Fn(&Block) -> i64| rows.iter().map(|row| Some(get(&row.1))).collect::<Vec<_>>();
    // A side without kernels there has no time, not 0.
    let alone = |side: usize| -> Vec<Option<i64>> {
        let runs_any = |key: &BlockKey| !(if side == 0 { &key.2 } else { &key.3 }).is_empty();
        rows.iter().map(|(key, block)| runs_any(key).then_some(block.alone[side])).collect()
    };
    let mut columns = vec![
        Column::key("before", "after", Content::Symbol, column_of(rows.iter().map(|row| row.0.1.as_str()))),
        Column::key("only_a", "A runs", Content::Symbol, column_of(rows.iter().map(|row| row.0.2.as_str()))),
        Column::key("only_b", "B runs", Content::Symbol, column_of(rows.iter().map(|row| row.0.3.as_str()))),
        Column::key("after", "before", Content::Symbol, column_of(rows.iter().map(|row| row.0.4.as_str()))),
        Column::integer("alone_a", "A, kernels", Unit::Ns, alone(0)),
        Column::integer("alone_b", "B, kernels", Unit::Ns, alone(1)),
        Column::integer("stake", "B − A", Unit::Ns, numbers(&stake)).with_bar().hint("of these kernels only"),
        Column::text(
            "finding",
            "finding",
            Content::Plain,
            column_of(rows.iter().map(|row| finding(&row.0, &row.1))),
        ),
        Column::counts("times", "times", Unit::Count, rows.iter().map(|row| row.1.times))
            .hint("occurrences in the step"),
        Column::integer("around_a", "A, with neighbors", Unit::Ns, numbers(&|block| block.around[0])),
        Column::integer("around_b", "B, with neighbors", Unit::Ns, numbers(&|block| block.around[1])),
        Column::integer(
            "around",
            "B − A, with neighbors",
            Unit::Ns,
            numbers(&|block| block.around[1].saturating_sub(block.around[0])),
        )
        .hint(
            "includes neighbors that may have been fused; adjacent places share them, so rows don't add up",
        ),
        Column::counts("first_row", "first row", Unit::Id, rows.iter().map(|row| row.1.first_row))
            .hint("in the table Aligned step"),
    ];
    insert_phase(&mut columns, rows.iter().map(|row| row.0.0));
    let mut table = Table::new("fusion", "Fused, split and removed kernels", columns)
        .caption(
            "Places where one side runs kernels that the other doesn't, between aligned pairs of kernels or at the start or end \
             of the step.",
        )
        .if_empty(match (n_long, n_alone) {
            (0, 0) => "No unmatched kernels.".to_string(),
            (0, _) => "No aligned kernels beside the unmatched ones.".to_string(),
            _ => format!("Only runs of more than {MAX_RUN} unmatched kernels: different code, not fusion."),
        });
    table.n_left_out = n_left_out;
    table
}

fn finding(key: &BlockKey, block: &Block) -> &'static str {
    match (key.2.is_empty(), key.3.is_empty(), block.neighbour_differs) {
        (false, true, _) if block.are_partial[1] => "Not recorded or removed in B",
        (true, false, _) if block.are_partial[0] => "Not recorded in A or added in B",
        (false, true, true) => "Possibly fused in B or removed in B",
        (false, true, false) => "Removed in B (same neighbors)",
        (true, false, true) => "Possibly fused in A or added in B",
        (true, false, false) => "Added in B (same neighbors)",
        _ => "Replaced by other kernels",
    }
}

/// One place in a step.
struct Place<'a> {
    /// Unpaired kernels.
    steps: &'a [Step],
    /// The pairs around it; `None` at the start or end of the step.
    before: Option<(u32, u32)>,
    after: Option<(u32, u32)>,
}

impl Place<'_> {
    fn add(&self, aligned: &Aligned<'_>, row: u64, groups: &mut HashMap<BlockKey, Block>) {
        let mut operations: [Vec<&str>; 2] = [Vec::new(), Vec::new()];
        let mut alone = [0i64; 2];
        for step in self.steps {
            let (side, at) = match step {
                Step::OnlyA(at) => (0, *at),
                Step::OnlyB(at) => (1, *at),
                Step::Pair(..) => continue,
            };
            operations[side].push(aligned.operation(side, at));
            alone[side] = i64::saturating_add(alone[side], aligned.dur(side, at));
        }
        let [only_a, only_b] = operations.map(|names| names.join(" + "));
        let operation = |pair: Option<(u32, u32)>, edge: &str| {
            pair.map_or(edge, |(a, _)| aligned.operation(0, a)).to_string()
        };
        let before = operation(self.before, "(start)");
        let key = (aligned.slot.name(), before, only_a, only_b, operation(self.after, "(end)"));
        let differs =
            |pair: Option<(u32, u32)>| pair.is_some_and(|(a, b)| aligned.name(0, a) != aligned.name(1, b));
        let block = groups.entry(key).or_insert(Block {
            neighbour_differs: true,
            are_partial: aligned.are_partial,
            first_row: row,
            ..Block::default()
        });
        block.times += 1;
        block.neighbour_differs &= differs(self.before) || differs(self.after);
        for side in [0, 1] {
            let of = |pair: Option<(u32, u32)>| {
                pair.map_or(0, |pair| aligned.dur(side, if side == 0 { pair.0 } else { pair.1 }))
            };
            block.alone[side] = block.alone[side].saturating_add(alone[side]);
            block.around[side] =
                [block.around[side], alone[side], of(self.before), of(self.after)].into_iter().sum_ns();
        }
    }
}

/// Pairs of different kernels for the same operation.
pub fn choices(all: &[Aligned<'_>]) -> Table {
    /// Count, nanoseconds of each side, and the first row.
    type Sum = (u64, [i64; 2], u64);
    let mut groups: HashMap<(&'static str, &str, &str, &str), Sum> = HashMap::default();
    let mut row = 0u64;
    for aligned in all {
        for step in &aligned.steps {
            row += 1;
            let Step::Pair(a, b) = step else { continue };
            let (name_a, name_b) = (aligned.name(0, *a), aligned.name(1, *b));
            if name_a == name_b {
                continue;
            }
            let key = (aligned.slot.name(), aligned.operation(0, *a), name_a, name_b);
            let sum = groups.entry(key).or_insert((0, [0, 0], row));
            sum.0 += 1;
            sum.1[0] = i64::saturating_add(sum.1[0], aligned.dur(0, *a));
            sum.1[1] = i64::saturating_add(sum.1[1], aligned.dur(1, *b));
        }
    }
    let mut rows: Vec<_> = groups.into_iter().collect();
    let stake = |sum: &Sum| sum.1[1].saturating_sub(sum.1[0]);
    sort::by(&mut rows, |a, b| {
        (Reverse(stake(&a.1).unsigned_abs()), a.0).cmp(&(Reverse(stake(&b.1).unsigned_abs()), b.0))
    });
    let n_left_out = rows.len().saturating_sub(MAX_ROWS) as u64;
    rows.truncate(MAX_ROWS);
    let numbers = |get: &dyn Fn(&Sum) -> i64| rows.iter().map(|row| Some(get(&row.1))).collect::<Vec<_>>();
    let mut columns = vec![
        Column::key("operation", "operation", Content::Plain, column_of(rows.iter().map(|row| row.0.1))),
        Column::key("name_a", "A, kernel", Content::Symbol, column_of(rows.iter().map(|row| row.0.2))),
        Column::key("name_b", "B, kernel", Content::Symbol, column_of(rows.iter().map(|row| row.0.3))),
        Column::integer("total_a", "A", Unit::Ns, numbers(&|sum| sum.1[0])),
        Column::integer("total_b", "B", Unit::Ns, numbers(&|sum| sum.1[1])),
        Column::integer("stake", "B − A", Unit::Ns, numbers(&stake)).with_bar(),
        Column::counts("times", "times", Unit::Count, rows.iter().map(|row| row.1.0))
            .hint("occurrences in the step"),
        Column::counts("first_row", "first row", Unit::Id, rows.iter().map(|row| row.1.2))
            .hint("in the table Aligned step"),
    ];
    insert_phase(&mut columns, rows.iter().map(|row| row.0.0));
    let mut table = Table::new("choices", "Kernel substitutions", columns)
        .caption("Aligned pairs of different kernels for the same operation.")
        .if_empty("All aligned kernels are identical.");
    table.n_left_out = n_left_out;
    table
}

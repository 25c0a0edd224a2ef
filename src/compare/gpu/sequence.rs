//! A typical step of each side, aligned kernel by kernel.

use super::Pair;
use super::findings;
use super::kernels::operation_of;
use super::side::{GpuSide, Piece, Slot};
use super::steps::{column_of, insert_phase};
use crate::analysis::gpu::kernel_names::readable;
use crate::base::hash::HashMap;
use crate::base::units::{Unit, counted, group_digits};
use crate::compare::align::{Scores, Step, align};
use crate::report::{Column, Content, Report, Table, TextCells};
use serde::{Deserialize, Serialize};

/// Maximum rows of the aligned step shown; findings use all.
const MAX_ROWS: usize = 200_000;

/// Scores of pairs: the same kernel, one of the same family, one of the same operation. Others are never paired.
const SAME_NAME: i32 = 6;
const SAME_FAMILY: i32 = 3;
const SAME_OPERATION: i32 = 2;

/// A kernel for scoring: ids that are equal on both sides for equal texts.
#[derive(Clone, Copy)]
struct Kind {
    name: u32,
    family: u32,
    operation: u32,
}

struct Kinds {
    a: Vec<Kind>,
    b: Vec<Kind>,
}

impl Scores for Kinds {
    #[inline]
    fn pair(&self, a: usize, b: usize) -> Option<i32> {
        let (a, b) = (self.a[a], self.b[b]);
        if a.operation != b.operation {
            return None;
        }
        Some(if a.name == b.name {
            SAME_NAME
        } else if a.family == b.family && a.family != 0 {
            SAME_FAMILY
        } else {
            SAME_OPERATION
        })
    }
}

/// Two aligned steps.
pub struct Aligned<'a> {
    pub slot: Slot,
    pub sides: [&'a GpuSide; 2],
    pub pieces: [&'a [Piece]; 2],
    pub steps: Vec<Step>,
    /// Kernels beyond the maximum that were not aligned.
    pub n_left_out: u64,
    /// Whether launches of the step of a side have no device record.
    pub are_partial: [bool; 2],
}

impl<'a> Aligned<'a> {
    /// The typical steps of a phase. `None` if a side has none.
    fn new(pair: &'a Pair<'_>, slot: Slot) -> Option<Aligned<'a>> {
        let sides = [pair.side(0), pair.side(1)];
        let find = |side: &'a GpuSide| side.sequences.iter().find(|sequence| sequence.slot == slot);
        let (a, b) = (find(sides[0])?, find(sides[1])?);
        let mut texts: HashMap<&str, u32> = HashMap::default();
        // 0 stands for no text.
        texts.insert("", 0);
        let mut number = |text: &'a str| {
            let next = texts.len() as u32;
            *texts.entry(text).or_insert(next)
        };
        let mut kinds = |side: &'a GpuSide, pieces: &[Piece]| -> Vec<Kind> {
            let of_names: Vec<Kind> = side
                .names
                .iter()
                .map(|name| Kind {
                    name: number(&name.text),
                    family: number(&name.family),
                    operation: number(
                        side.operations.get(name.operation as usize).map_or("", String::as_str),
                    ),
                })
                .collect();
            let none = Kind { name: 0, family: 0, operation: 0 };
            pieces.iter().map(|piece| of_names.get(piece.name as usize).copied().unwrap_or(none)).collect()
        };
        let kinds = Kinds { a: kinds(sides[0], &a.pieces), b: kinds(sides[1], &b.pieces) };
        let are_same = kinds.a.len() == kinds.b.len()
            && kinds.a.iter().zip(&kinds.b).all(|(a, b)| a.name == b.name && a.operation == b.operation);
        let steps = if are_same {
            (0..kinds.a.len() as u32).map(|at| Step::Pair(at, at)).collect()
        } else {
            align(kinds.a.len(), kinds.b.len(), &kinds)
        };
        Some(Aligned {
            slot,
            sides,
            pieces: [&a.pieces, &b.pieces],
            steps,
            n_left_out: a.n_left_out + b.n_left_out,
            are_partial: [a.is_partial, b.is_partial],
        })
    }

    /// Kernel name at a place of a side.
    pub fn name(&self, side: usize, at: u32) -> &'a str {
        let name = self.pieces[side]
            .get(at as usize)
            .and_then(|piece| self.sides[side].names.get(piece.name as usize));
        name.map_or("", |name| name.text.as_str())
    }

    /// Operation at a place of a side.
    pub fn operation(&self, side: usize, at: u32) -> &'a str {
        self.pieces[side].get(at as usize).map_or("", |piece| operation_of(self.sides[side], piece.name))
    }

    /// Duration at a place of a side, in nanoseconds.
    pub fn dur(&self, side: usize, at: u32) -> i64 {
        self.pieces[side].get(at as usize).map_or(0, |piece| piece.dur)
    }
}

/// A typical step of A and of B, aligned kernel by kernel, with the place of each kernel in its trace.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AlignedStep {
    /// What the step is, for sentences: `decode step`.
    pub title: String,
    /// Names of kernels, readable.
    pub names: Vec<String>,
    pub kernels: Vec<AlignedKernel>,
}

/// A kernel, copy or fill of one side or of both. By side, A first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AlignedKernel {
    /// Index into [`AlignedStep::names`].
    pub names: [Option<u32>; 2],
    /// Nanoseconds from the start of the trace, and duration. `None` where only the other side has it.
    pub spans: [Option<(i64, i64)>; 2],
}

/// How a kernel of A compares with the aligned one of B.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It takes about as long.
    Same,
    /// It takes longer, or only B has it.
    More,
    /// It takes less, or only A has it.
    Less,
}

/// Changes below this share of the longer duration are none.
const SAME: f64 = 0.02;

impl AlignedKernel {
    pub fn change(&self) -> Change {
        match self.spans {
            [Some((_, a)), Some((_, b))] if ((b - a).abs() as f64) < SAME * a.max(b) as f64 => Change::Same,
            [Some((_, a)), Some((_, b))] if b < a => Change::Less,
            [Some(_), None] => Change::Less,
            _ => Change::More,
        }
    }
}

impl AlignedStep {
    /// By how much the kernels of B start later, in nanoseconds: the first ones that were aligned with each other. `None` without any.
    pub fn offset(&self) -> Option<i64> {
        self.kernels.iter().find_map(|kernel| match kernel.spans {
            [Some((a, _)), Some((b, _))] => Some(b.saturating_sub(a)),
            _ => None,
        })
    }

    fn of(aligned: &Aligned<'_>) -> AlignedStep {
        let (mut names, mut numbers) = (Vec::new(), HashMap::default());
        let kernels = aligned.steps.iter().map(|step| {
            let places = match step {
                Step::Pair(a, b) => [Some(*a), Some(*b)],
                Step::OnlyA(a) => [Some(*a), None],
                Step::OnlyB(b) => [None, Some(*b)],
            };
            let mut kernel = AlignedKernel { names: [None; 2], spans: [None; 2] };
            for (side, place) in places.into_iter().enumerate() {
                let Some(place) = place else { continue };
                let name = aligned.name(side, place);
                let number = *numbers.entry(name).or_insert_with(|| {
                    names.push(readable(name).to_string());
                    names.len() as u32 - 1
                });
                kernel.names[side] = Some(number);
                let piece = aligned.pieces[side].get(place as usize);
                kernel.spans[side] = piece.map(|piece| (piece.start, piece.dur));
            }
            kernel
        });
        let kernels = kernels.collect();
        AlignedStep { title: aligned.slot.one().to_string(), names, kernels }
    }
}

/// The aligned steps, those of the phase with the most time first. Empty if a side has several files, whose clocks differ.
pub(super) fn aligned_steps(pair: &Pair<'_>) -> Vec<AlignedStep> {
    let all = pair.slots.iter().filter_map(|slot| Aligned::new(pair, *slot));
    all.filter(|aligned| !aligned.steps.is_empty()).map(|aligned| AlignedStep::of(&aligned)).collect()
}

/// Report on aligned steps. `None` if no phase has steps on both sides.
pub(super) fn report(pair: &Pair<'_>) -> Option<Report> {
    let all: Vec<Aligned<'_>> = pair.slots.iter().filter_map(|slot| Aligned::new(pair, *slot)).collect();
    if all.iter().all(|aligned| aligned.steps.is_empty()) {
        return None;
    }
    let mut report = Report::new("compare-sequence", "Aligned kernels");
    let of = |is: fn(&Step) -> bool| -> u64 {
        all.iter().map(|aligned| aligned.steps.iter().filter(|step| is(step)).count() as u64).sum()
    };
    let pairs = of(|step| matches!(step, Step::Pair(..)));
    let (only_a, only_b) =
        (of(|step| matches!(step, Step::OnlyA(_))), of(|step| matches!(step, Step::OnlyB(_))));
    let same: u64 = all
        .iter()
        .flat_map(|aligned| aligned.steps.iter().map(move |step| (aligned, step)))
        .filter(
            |(aligned, step)| matches!(step, Step::Pair(a, b) if aligned.name(0, *a) == aligned.name(1, *b)),
        )
        .count() as u64;
    let number = |n: u64| group_digits(i128::from(n));
    report.summary = format!(
        "{} aligned; {} identical; {} only in A, {} only in B.",
        counted(pairs, "kernel", "kernels"),
        number(same),
        number(only_a),
        number(only_b)
    );
    let what = match all.iter().all(|aligned| aligned.slot == Slot::Whole) {
        true => "all of a GPU of each side",
        false => "the median step of each side",
    };
    report.info(format!(
        "Aligns {what} in launch order, including copies and fills. Only kernels of the same operation are paired."
    ));
    let n_left_out: u64 = all.iter().map(|aligned| aligned.n_left_out).sum();
    if n_left_out > 0 {
        report.warning(format!(
            "Steps are too long to align completely: {} not aligned.",
            counted(n_left_out, "kernel was", "kernels were")
        ));
    }
    for (side, letters) in [["A", "B"], ["B", "A"]].iter().enumerate() {
        if let Some(aligned) = all.iter().find(|aligned| aligned.are_partial[side]) {
            let ([letter, other], what) = (letters, aligned.slot.one());
            report.warning(format!(
                "Launches in the {what} of {letter} have no device record: kernels only in {other} may have run in {letter} too."
            ));
        }
    }
    report.table(findings::blocks(&all));
    report.table(findings::choices(&all));
    report.table(table(&all));
    Some(report)
}

fn table(all: &[Aligned<'_>]) -> Table {
    let rows: Vec<(&Aligned<'_>, Option<u32>, Option<u32>)> = all
        .iter()
        .flat_map(|aligned| {
            aligned.steps.iter().map(move |step| match step {
                Step::Pair(a, b) => (aligned, Some(*a), Some(*b)),
                Step::OnlyA(a) => (aligned, Some(*a), None),
                Step::OnlyB(b) => (aligned, None, Some(*b)),
            })
        })
        .collect();
    let n_left_out = rows.len().saturating_sub(MAX_ROWS) as u64;
    let rows = &rows[..rows.len().min(MAX_ROWS)];
    let status = |(aligned, a, b): &(&Aligned<'_>, Option<u32>, Option<u32>)| match (a, b) {
        (Some(a), Some(b)) if aligned.name(0, *a) == aligned.name(1, *b) => "= same kernel",
        (Some(_), Some(_)) => "≈ different kernel",
        (Some(_), None) => "▽ only in A",
        _ => "△ only in B",
    };
    let operation = |(aligned, a, b): &(&Aligned<'_>, Option<u32>, Option<u32>)| match (a, b) {
        (Some(a), _) => aligned.operation(0, *a).to_string(),
        (None, Some(b)) => aligned.operation(1, *b).to_string(),
        _ => String::new(),
    };
    let place =
        |side: usize, row: &(&Aligned<'_>, Option<u32>, Option<u32>)| if side == 0 { row.1 } else { row.2 };
    let names = |side: usize| {
        let mut cells = TextCells::default();
        for row in rows {
            cells.push(place(side, row).map(|at| readable(row.0.name(side, at))).as_deref());
        }
        cells
    };
    let durs = |side: usize| -> Vec<Option<i64>> {
        rows.iter().map(|row| place(side, row).map(|at| row.0.dur(side, at))).collect()
    };
    let (a, b) = (durs(0), durs(1));
    let difference =
        a.iter().zip(&b).map(|(a, b)| Some(b.unwrap_or(0).saturating_sub(a.unwrap_or(0)))).collect();
    let operations: Vec<String> = rows.iter().map(operation).collect();
    let mut columns = vec![
        Column::counts("row", "row", Unit::Id, 1..=rows.len() as u64).as_key(),
        Column::text(
            "operation",
            "operation",
            Content::Plain,
            column_of(operations.iter().map(String::as_str)),
        ),
        Column::integer("dur_a", "A", Unit::Ns, a).adds_up(),
        Column::integer("dur_b", "B", Unit::Ns, b).adds_up(),
        Column::integer("difference", "B − A", Unit::Ns, difference).with_bar().adds_up(),
        Column::text("status", "status", Content::Plain, column_of(rows.iter().map(status))),
        Column::text("name_a", "A, kernel", Content::Symbol, names(0)),
        Column::text("name_b", "B, kernel", Content::Symbol, names(1)),
    ];
    insert_phase(&mut columns, rows.iter().map(|row| row.0.slot.name()));
    let mut table =
        Table::new("sequence", "Aligned step", columns).if_empty("No phase has steps on both sides.");
    table.n_left_out = n_left_out;
    table
}

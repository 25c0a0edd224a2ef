//! Heat maps: ranks × steps, relative to the median of each step.

use super::runs::{Measure, RankOfRun, RunOfFleet};
use crate::base::units::{Unit, counted};
use crate::report::chart::{Chart, Grid, Heat, Over, Plot, Tone};

/// Larger maps are binned.
pub const MAX_ROWS: usize = 64;
pub const MAX_COLUMNS: usize = 96;

/// Cells closer to the median have a color of their own.
const NEAR: f64 = 0.01;

/// Least value of a cell: one of 0 would not be drawn, as if the rank had no such step.
const LEAST: f64 = 1e-9;

/// Map of a run; `number` tells it from those of other runs.
pub fn chart(run: &RunOfFleet<'_>, measure: Measure, number: usize, name: &str) -> Chart {
    let ranks: Vec<&RankOfRun<'_>> = run.ranks.iter().filter(|rank| !rank.steps.is_empty()).collect();
    let n_columns = run.steps.len().min(MAX_COLUMNS);
    let rows_per_bin = ranks.len().div_ceil(MAX_ROWS).max(1);
    let bins: Vec<&[&RankOfRun<'_>]> = ranks.chunks(rows_per_bin).collect();
    // The lowest row comes first.
    let values: Vec<Vec<Option<f64>>> =
        bins.iter().rev().map(|bin| row(run, measure, bin, n_columns)).collect();
    let grid = |name: &str, tone, is_in: fn(f64) -> bool| Grid {
        name: name.to_string(),
        tone,
        rows: values
            .iter()
            .map(|row| {
                row.iter()
                    .map(|over| over.filter(|over| is_in(*over)).map_or(0.0, |over| over.abs().max(LEAST)))
            })
            .map(Iterator::collect)
            .collect(),
    };
    let (id, title) = match measure {
        Measure::GpuTime => ("gpu_time", "GPU time by rank and step"),
        Measure::Computation => ("computation", "Computation by rank and step"),
    };
    Chart {
        id: if number == 0 {
            format!("{id}_chart").into()
        } else {
            format!("{id}_chart_{}", number + 1).into()
        },
        title: if name.is_empty() { title.to_string() } else { format!("{title}, {name}") },
        caption: caption(rows_per_bin, run.steps.len().div_ceil(n_columns.max(1))),
        plot: Plot::Heat(Heat {
            labels: bins.iter().rev().map(|bin| label(run, bin)).collect(),
            is_apart: vec![false; bins.len()],
            grids: vec![
                grid("slower", Tone::More, |over| over >= NEAR),
                grid("faster", Tone::Less, |over| over <= -NEAR),
                grid("within 1%", Tone::Idle, |over| over.abs() < NEAR),
            ],
            mixed: ("within 1%".to_string(), Tone::Idle),
            what: "difference from the median".to_string(),
            unit: Unit::Ratio,
            over: Over::Number,
            span: run.steps.len() as i64,
            periods: Vec::new(),
        }),
    }
}

fn caption(n_ranks: usize, n_steps: usize) -> String {
    let mut caption =
        "One row per rank, one column per step, relative to the median of the step over ranks. Steps are numbered as in the table."
            .to_string();
    if n_ranks > 1 || n_steps > 1 {
        caption.push_str(&format!(
            " A cell is the maximum of up to {} and {}.",
            counted(n_ranks as u64, "rank", "ranks"),
            counted(n_steps as u64, "step", "steps")
        ));
    }
    caption
}

fn label(run: &RunOfFleet<'_>, bin: &[&RankOfRun<'_>]) -> String {
    match bin {
        [] => String::new(),
        [one] => one.label(run),
        [first, .., last] => format!("{} … {}", first.label(run), last.label(run)),
    }
}

/// Largest difference from the median of the ranks of a bin, by column; `None` where none has a value.
fn row(run: &RunOfFleet<'_>, measure: Measure, bin: &[&RankOfRun<'_>], n_columns: usize) -> Vec<Option<f64>> {
    let mut row: Vec<Option<f64>> = vec![None; n_columns];
    for (step, of_rank) in bin.iter().flat_map(|rank| &rank.steps) {
        let column = step * n_columns / run.steps.len().max(1);
        let Some(over) = run.over_median(measure, (*step, of_rank)) else { continue };
        if let Some(cell) = row.get_mut(column) {
            *cell = Some(cell.map_or(over, |most| most.max(over)));
        }
    }
    row
}

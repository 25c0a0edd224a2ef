//! Heat maps: ranks × steps, relative to the median of each step.

use super::runs::{Measure, RankOfRun, RunOfFleet};
use crate::base::hash::HashMap;
use crate::base::units::{Unit, counted};
use crate::report::chart::{Chart, Grid, Heat, Over, Plot, Source, SourceTrace, Sources, Tone};
use crate::trace::fleet::StepRow;

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
    let cells: Vec<Vec<Option<Cell<'_>>>> =
        bins.iter().rev().map(|bin| row(run, measure, bin, n_columns)).collect();
    let value = |cell: &Option<Cell<'_>>, is_in: fn(f64) -> bool| {
        let over = cell.as_ref().map(|cell| cell.over).filter(|over| is_in(*over));
        over.map_or(0.0, |over| over.abs().max(LEAST))
    };
    let grid = |name: &str, tone, is_in: fn(f64) -> bool| Grid {
        name: name.to_string(),
        tone,
        rows: cells.iter().map(|row| row.iter().map(|cell| value(cell, is_in)).collect()).collect(),
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
        caption: caption(run, rows_per_bin, run.steps.len().div_ceil(n_columns.max(1))),
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
            names: names(run, n_columns),
            sources: sources(run, &ranks, &cells),
        }),
    }
}

/// Whether any cell of a map is off the median.
pub fn has_differences(chart: &Chart) -> bool {
    let Plot::Heat(heat) = &chart.plot else { return false };
    let off = heat.grids.iter().filter(|grid| !heat.is_neutral(grid));
    off.flat_map(|grid| &grid.rows).flatten().any(|value| *value > 0.0)
}

fn caption(run: &RunOfFleet<'_>, n_rows: usize, n_steps: usize) -> String {
    let (one, several) = if run.has_several_devices() { ("GPU", "GPUs") } else { ("rank", "ranks") };
    let mut caption = format!(
        "One row per {one}, one column per step, relative to the median of the step over {several}. Steps are numbered as in the \
         table."
    );
    if n_rows > 1 || n_steps > 1 {
        caption.push_str(&format!(
            " A cell is the maximum of up to {} and {}.",
            counted(n_rows as u64, one, several),
            counted(n_steps as u64, "step", "steps")
        ));
    }
    caption
}

fn label(run: &RunOfFleet<'_>, bin: &[&RankOfRun<'_>]) -> String {
    let with_device = run.has_several_devices();
    match bin {
        [] => String::new(),
        [one] => one.label(with_device),
        [first, .., last] => format!("{} … {}", first.label(with_device), last.label(with_device)),
    }
}

/// The largest difference in a bin from the median of its step, and where that is.
#[derive(Clone, Copy)]
struct Cell<'a> {
    over: f64,
    rank: &'a RankOfRun<'a>,
    /// From 0.
    step: usize,
    row: &'a StepRow,
}

/// Cells of the ranks of a bin, by column; `None` where none has a value.
fn row<'a>(
    run: &RunOfFleet<'a>,
    measure: Measure,
    bin: &[&'a RankOfRun<'a>],
    n_columns: usize,
) -> Vec<Option<Cell<'a>>> {
    let mut row: Vec<Option<Cell<'a>>> = vec![None; n_columns];
    for rank in bin {
        for (step, of_rank) in &rank.steps {
            let Some(over) = run.over_median(measure, (*step, of_rank)) else { continue };
            let column = step * n_columns / run.steps.len().max(1);
            // The first one wins ties.
            if let Some(cell) = row.get_mut(column)
                && cell.is_none_or(|cell| over > cell.over)
            {
                *cell = Some(Cell { over, rank, step: *step, row: of_rank });
            }
        }
    }
    row
}

/// Names of the steps of each column.
fn names(run: &RunOfFleet<'_>, n_columns: usize) -> Vec<String> {
    let n_steps = run.steps.len();
    let mut names: Vec<Vec<&str>> = vec![Vec::new(); n_columns];
    for (step, of_run) in run.steps.iter().enumerate() {
        if let Some(names) = names.get_mut(step * n_columns / n_steps.max(1)) {
            names.push(of_run.name);
        }
    }
    let name = |names: Vec<&str>| match &names[..] {
        [] => String::new(),
        [one] => (*one).to_string(),
        [first, .., last] => format!("{first} … {last}"),
    };
    names.into_iter().map(name).collect()
}

/// Traces of the cells: those of ranks whose file is known.
fn sources(
    run: &RunOfFleet<'_>,
    ranks: &[&RankOfRun<'_>],
    cells: &[Vec<Option<Cell<'_>>>],
) -> Option<Sources> {
    let mut numbers: HashMap<(Option<i64>, Option<&str>), u32> = HashMap::default();
    let mut traces = Vec::new();
    let with_device = run.has_several_devices();
    for rank in ranks {
        if let Some(file) = rank.file.and_then(|file| file.file) {
            numbers.insert((rank.rank, rank.device), traces.len() as u32);
            traces.push(SourceTrace { label: rank.label(with_device), file: file.to_string() });
        }
    }
    let source = |cell: &Option<Cell<'_>>| {
        let Cell { rank, step, row, .. } = (*cell)?;
        let trace = *numbers.get(&(rank.rank, rank.device))?;
        let time = row.start.map(|start| (start, row.gpu_time));
        Some(Source { trace, number: step as u32 + 1, time })
    };
    let cells = cells.iter().map(|row| row.iter().map(source).collect()).collect();
    (!traces.is_empty()).then_some(Sources { traces, cells })
}

//! Tables of ranks and of steps.

use super::RANKS;
use super::runs::{FileOf, Measure, RankOfRun, RunOfFleet, StepOfRun};
use crate::analysis::timeline::{cut, texts, with_left_out};
use crate::base::units::Unit;
use crate::report::{Column, Content, Table};
use crate::trace::fleet::StepRow;

/// Column of runs, if there are several.
fn run_column<'a>(runs: &[RunOfFleet<'_>], of_rows: impl Iterator<Item = Option<&'a str>>) -> Option<Column> {
    (runs.len() > 1).then(|| Column::key("run", "run", Content::Plain, texts(of_rows)))
}

/// One row per rank, or per GPU of a rank.
pub fn ranks(runs: &[RunOfFleet<'_>]) -> Table {
    let mut rows: Vec<(&RunOfFleet<'_>, &RankOfRun<'_>)> =
        runs.iter().flat_map(|run| run.ranks.iter().map(move |rank| (run, rank))).collect();
    let n_left_out = cut(&mut rows);
    let file = |get: fn(FileOf<'_>) -> Option<&str>| texts(rows.iter().map(|(_, rank)| get(rank.file?)));
    let time = |id: &'static str, label: &str, get: fn(&StepRow) -> Option<i64>| {
        Column::integer(id, label, Unit::Ns, rows.iter().map(|(_, rank)| rank.sum(get)).collect()).by_row()
    };
    let over = |id: &'static str, label: &str, measure| {
        Column::float(
            id,
            label,
            Unit::Ratio,
            rows.iter().map(|(_, rank)| rank.over_median(measure)).collect(),
        )
    };
    let mut columns: Vec<Column> =
        run_column(runs, rows.iter().map(|(run, _)| run.name)).into_iter().collect();
    columns.push(
        Column::integer("rank", "rank", Unit::Id, rows.iter().map(|(_, rank)| rank.rank).collect()).as_key(),
    );
    let has_several_devices = runs.iter().any(RunOfFleet::has_several_devices);
    if has_several_devices {
        let devices = texts(rows.iter().map(|(_, rank)| rank.device));
        columns.push(Column::key("device", "GPU", Content::Plain, devices));
    }
    columns.extend([
        Column::text("host", "host", Content::Plain, file(|file| file.host)),
        Column::text("file", "file", Content::Path, file(|file| file.file)),
        Column::counts("steps", "steps", Unit::Count, rows.iter().map(|(_, rank)| rank.steps.len() as u64)),
        time("gpu_time", "GPU time", |row| Some(row.gpu_time))
            .hint("wall time of its steps on the GPU")
            .with_bar(),
        over("over_median", "vs median", Measure::GpuTime)
            .hint("GPU time above the medians of the same steps over ranks"),
        time("computation", "computation", |row| row.computation),
        over("computation_over_median", "computation vs median", Measure::Computation)
            .hint("computation above the medians of the same steps over ranks"),
        time("exposed_communication", "exposed communication", |row| row.exposed_communication)
            .hint("communicating with no overlapping compute"),
        time("exposed_copies", "exposed copies", |row| row.exposed_copies)
            .hint("copying with no overlapping compute or communication"),
        time("idle", "idle", |row| row.idle),
        Column::text("grade", "grade", Content::Plain, file(|file| file.grade)).hint("trace detail, A to D"),
        Column::text("error", "error", Content::Plain, file(|file| file.error))
            .hint("why the file cannot be read"),
    ]);
    let table = Table::new(RANKS.id, "Ranks", columns)
        .caption(format!(
            "One row per {}. Times are sums over its steps.",
            if has_several_devices { "GPU" } else { "rank" }
        ))
        .if_empty("No files and no steps in the dataset.");
    with_left_out(table, n_left_out)
}

/// One row per step of a run.
pub fn steps(runs: &[RunOfFleet<'_>]) -> Table {
    let mut rows: Vec<(&RunOfFleet<'_>, i64, &StepOfRun<'_>)> = runs
        .iter()
        .flat_map(|run| (1..).zip(&run.steps).map(move |(number, step)| (run, number, step)))
        .collect();
    let n_left_out = cut(&mut rows);
    let median = |id: &'static str, label: &str, measure| {
        Column::float(id, label, Unit::Ns, rows.iter().map(|(.., step)| step.median(measure)).collect())
            .by_row()
    };
    let over = |step: &StepOfRun<'_>| {
        let median = step.median(Measure::GpuTime).filter(|median| *median > 0.0)?;
        Some(step.max as f64 / median - 1.0)
    };
    let mut columns: Vec<Column> =
        run_column(runs, rows.iter().map(|(run, ..)| run.name)).into_iter().collect();
    columns.extend([
        Column::integer("number", "#", Unit::Id, rows.iter().map(|(_, number, _)| Some(*number)).collect())
            .as_key(),
        Column::key("step", "step", Content::Plain, texts(rows.iter().map(|(.., step)| Some(step.name)))),
        Column::text("phase", "phase", Content::Plain, texts(rows.iter().map(|(.., step)| step.phase))),
        Column::counts("ranks", "ranks", Unit::Count, rows.iter().map(|(.., step)| step.n_ranks)),
        median("median", "median", Measure::GpuTime).hint("GPU time, over ranks").with_bar(),
        Column::integer("max", "max", Unit::Ns, rows.iter().map(|(.., step)| Some(step.max)).collect())
            .hint("longest GPU time")
            .by_row(),
        Column::float(
            "max_over_median",
            "max vs median",
            Unit::Ratio,
            rows.iter().map(|(.., step)| over(step)).collect(),
        ),
        Column::text(
            "slowest",
            "slowest",
            Content::Plain,
            texts(rows.iter().map(|(.., step)| step.slowest.as_deref())),
        )
        .hint("rank with the longest GPU time; empty if several have it"),
        median("median_computation", "median computation", Measure::Computation),
    ]);
    let table = Table::new("steps", "Steps", columns)
        .caption("One row per step, over ranks.")
        .if_empty("No steps in the dataset.");
    with_left_out(table, n_left_out)
}

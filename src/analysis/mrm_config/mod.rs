//! Experiment configuration for memory accesses: errors, and the planned runs.

use super::{AnalysisInfo, Context, Group};
use crate::base::json::Json;
use crate::base::units::{Unit, counted};
use crate::memory_config::{self, Config, Judged, PlannedRun};
use crate::report::{Column, Content, Facts, Report, Table, TextCells};
use crate::trace::{Run, Trace};

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "mrm-config",
    title: "Experiment configuration",
    applies,
    run,
    group: Group::Memory,
    is_late: false,
};

/// `id` of the format.
const FORMAT: &str = "memory-config";

/// Limit on the planned runs listed.
const MAX_RUNS: usize = 20_000;

fn configs(run: &Run) -> impl Iterator<Item = &Trace> {
    run.traces.iter().filter(|trace| trace.source.format == FORMAT)
}

fn applies(run: &Run) -> bool {
    configs(run).next().is_some()
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    for (number, trace) in configs(context.run).enumerate() {
        let mut part = Report::new(INFO.id, INFO.title);
        add(&memory_config::judge(&trace.text), &mut part);
        if number > 0 {
            super::mrm::number_blocks(&mut part, number, &trace.source.file_name);
        } else {
            report.summary = std::mem::take(&mut part.summary);
        }
        report.blocks.append(&mut part.blocks);
    }
    report
}

fn add(judged: &Judged, report: &mut Report) {
    let n_errors = judged.errors.len() as u64;
    report.summary = match &judged.config {
        Some(config) if n_errors == 0 => {
            let (all, n_counted) = config.n_runs();
            let warm_ups = counted(all - n_counted, "warm-up", "warm-ups");
            format!("Valid configuration: {} and {warm_ups}.", counted(n_counted, "run", "runs"))
        }
        _ => format!("Invalid configuration: {}.", counted(n_errors, "error", "errors")),
    };
    judged.warnings.iter().for_each(|warning| report.warning(format!("{warning}.")));
    if n_errors > 0 {
        report.table(errors(&judged.errors));
    }
    if let Some(config) = &judged.config {
        report.facts(facts(config));
        report.table(plan(config));
    } else {
        report.info("Fix the errors to see the planned runs.");
    }
}

fn errors(errors: &[String]) -> Table {
    let mut whats = TextCells::default();
    errors.iter().for_each(|error| whats.push(Some(error)));
    Table::new("errors", "Errors", vec![Column::key("error", "error", Content::Plain, whats)])
        .caption("Same output as tracedrop mrm validate.")
        .not_compared()
}

fn facts(config: &Config) -> Facts {
    let mut facts = Facts::new("Experiment");
    let text = |path: &str| config.values.at(path).and_then(Json::as_str).unwrap_or_default().to_string();
    let (all, n_counted) = config.n_runs();
    facts.push("experiment", "Experiment", text("experiment.name"), Unit::None);
    facts.push("runs", "Runs", n_counted, Unit::Count).hint("without warm-ups");
    facts.push("warm_ups", "Warm-ups", all - n_counted, Unit::Count);
    facts.push("base_dir", "Output directory", text("output.base_dir"), Unit::None);
    facts
}

fn plan(config: &Config) -> Table {
    let runs: Vec<PlannedRun> = config.plan().take(MAX_RUNS).collect();
    let texts = |text: fn(&PlannedRun) -> &str| {
        let mut cells = TextCells::default();
        runs.iter().for_each(|run| cells.push(Some(text(run))));
        cells
    };
    let counts = |id, label: &str, value: fn(&PlannedRun) -> u64| {
        Column::counts(id, label, Unit::Count, runs.iter().map(value))
    };
    let columns = vec![
        Column::key("run", "run", Content::Plain, texts(|run| &run.name))
            .hint("the start time is appended when the run starts"),
        Column::text("model", "model", Content::Plain, texts(|run| &run.model)),
        counts("context_length", "context", |run| run.context_length),
        counts("batch_size", "batch", |run| run.batch_size),
        counts("output_tokens", "output tokens", |run| run.output_tokens),
        Column::text(
            "kind",
            "kind",
            Content::Plain,
            texts(|run| if run.is_warm_up { "warm-up" } else { "repetition" }),
        ),
        Column::unsigned(
            "repetition",
            "repetition",
            Unit::Id,
            runs.iter().map(|run| (!run.is_warm_up).then_some(run.repetition)).collect(),
        ),
        Column::text("directory", "output directory", Content::Plain, texts(|run| &run.output_dir)),
    ];
    let (all, _) = config.n_runs();
    let table = Table::new("plan", "Planned runs", columns)
        .caption(
            "In execution order: by model, context, batch and output length; warm-ups before repetitions.",
        )
        .if_empty("The configuration has no runs.")
        .not_compared();
    super::timeline::with_left_out(table, all.saturating_sub(runs.len() as u64))
}

//! Several runs beside each other: a row a run, with the columns of mrm-trace's `manifest.csv`, and what runs of one model
//! and length of context have in common.

use super::{OneRun, thresholds_of};
use crate::analysis::Context;
use crate::analysis::mrm::kinds_of;
use crate::base::json::Json;
use crate::base::units::{Unit, counted};
use crate::memory::metrics::RegionMetrics;
use crate::memory::summary::KindSummary;
use crate::memory::telemetry::RunValidity;
use crate::memory_run::metadata;
use crate::memory_run::run_id::Settings;
use crate::report::{Column, Report, Table, TextCells};
use std::collections::BTreeMap;

/// Columns in their order: id, label, path in `metadata.json`. Those without a path come from elsewhere.
const COLUMNS: [(&str, &str, &str); 23] = [
    ("run_id", "run", ""),
    ("machine_id", "machine", "machine_id"),
    ("model_id", "model", "model.id"),
    ("collector", "collector", "collector.type"),
    ("context_length", "context", "generation.context_length"),
    ("batch_size", "batch", "generation.batch_size"),
    ("max_tokens_per_prompt", "output tokens", "generation.output_tokens"),
    ("rep", "repetition", "generation.rep_index"),
    ("run_validity", "validity", ""),
    ("peak_temp_c", "highest temperature (°C)", "thermal.peak_temp_c"),
    ("throttle_events", "times throttled", "thermal.throttle_events"),
    ("total_wall_s", "duration (s)", "timing.total_wall_duration_s"),
    ("avg_tok_per_s", "tokens per second", "generation.avg_tokens_per_second"),
    ("total_output_tokens", "tokens written", "generation.total_output_tokens"),
    ("retention_p99_s", "kept, p99 (s)", ""),
    ("write_once_ratio_mean", "written once", ""),
    ("working_set_pages_total", "pages", ""),
    ("cpu_model", "processor", "hardware.cpu_model"),
    ("cpu_freq_scaling_max_mhz", "highest frequency (MHz)", "hardware.cpu_freq_scaling_max_mhz"),
    ("os", "system", "software.os"),
    ("kernel", "kernel", "software.kernel"),
    ("has_prompt_outputs", "has prompts", ""),
    ("recorded_at", "recorded at", ""),
];

pub fn headline(runs: &[OneRun<'_>]) -> String {
    let n = runs.iter().filter(|run| is_contaminated(run)).count();
    let all = counted(runs.len() as u64, "run", "runs");
    match n {
        0 => format!("{all}, none of which is known to be contaminated."),
        n => format!(
            "{all}, {n} of which contaminated; those are listed and left out of what runs have in common."
        ),
    }
}

/// The runs, and what they have in common.
pub fn add(runs: &[OneRun<'_>], context: &Context<'_>, report: &mut Report) {
    let query = &context.query.memory;
    let kinds: Vec<Vec<KindSummary>> = runs
        .iter()
        .map(|run| match run.view {
            Some(view) => kinds_of(view, &thresholds_of(view.trace, query)),
            None => Vec::new(),
        })
        .collect();
    report.table(runs_table(runs, &kinds));
    report.table(groups_table(runs, &kinds));
}

/// What was written about a run, else what its name says: 0.1.0 writes down no settings.
fn at(run: &OneRun<'_>, path: &str) -> Option<String> {
    let told = run.directory.metadata.as_ref().and_then(|metadata| metadata.at(path));
    if let Some(told) = told.filter(|value| **value != Json::Null) {
        return Some(metadata::text_of(told));
    }
    let settings = Settings::of_run(&run.directory.run_id)?;
    match path {
        "model.id" => Some(settings.model),
        "generation.context_length" => Some(settings.context_length),
        "generation.batch_size" => Some(settings.batch_size),
        "generation.output_tokens" => Some(settings.output_tokens),
        "generation.rep_index" => settings.repetition,
        _ => None,
    }
    .map(str::to_string)
}

/// Columns of names, which are no numbers even where they look like some.
const NAMES: [&str; 6] = ["machine_id", "model_id", "collector", "cpu_model", "os", "kernel"];

/// A column of numbers if all cells that are there are such.
fn of_values(id: &'static str, label: &str, values: &[Option<String>]) -> Column {
    fn all<T: std::str::FromStr>(values: &[Option<String>]) -> Option<Vec<Option<T>>> {
        values.iter().map(|value| value.as_ref().map(|value| value.parse()).transpose().ok()).collect()
    }
    let is_finite = |values: &Vec<Option<f64>>| values.iter().flatten().all(|value| value.is_finite());
    if values.iter().any(Option::is_some) && !NAMES.contains(&id) {
        if let Some(integers) = all(values) {
            return Column::integer(id, label, Unit::Count, integers);
        }
        if let Some(floats) = all(values).filter(is_finite) {
            return Column::float(id, label, Unit::Plain, floats);
        }
    }
    let mut cells = TextCells::default();
    values.iter().for_each(|value| cells.push(value.as_deref()));
    Column::text(id, label, cells)
}

/// What was written about whether the run can be trusted, else what follows from the rest.
fn validity(run: &OneRun<'_>) -> Option<String> {
    let stored = run.directory.metadata.as_ref().and_then(metadata::validity).map(metadata::text_of);
    stored.or_else(|| Some(format!("{} (derived)", run.judgement?.name())))
}

fn is_contaminated(run: &OneRun<'_>) -> bool {
    run.judgement == Some(RunValidity::Contaminated)
}

/// As `round(x, 4)` of Python.
fn to_four_places(x: f64) -> f64 {
    format!("{x:.4}").parse().unwrap_or(x)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, sum) = values.fold((0u32, 0.0), |(n, sum), value| (n + 1, sum + value));
    (n > 0).then(|| sum / f64::from(n))
}

/// Mean over regions of the share of addresses that were stored to once.
fn write_once(run: &OneRun<'_>) -> Option<f64> {
    mean(run.view?.metrics.regions.iter().filter_map(RegionMetrics::write_once_ratio))
}

fn runs_table(runs: &[OneRun<'_>], kinds: &[Vec<KindSummary>]) -> Table {
    let columns = COLUMNS.iter().map(|(id, label, path)| {
        let text = |get: &dyn Fn(&OneRun<'_>) -> Option<String>| {
            let mut cells = TextCells::default();
            runs.iter().for_each(|run| cells.push(get(run).as_deref()));
            if *id == "run_id" { Column::key(id, label, cells) } else { Column::text(id, label, cells) }
        };
        let number = |values: Vec<Option<f64>>, unit: Unit| {
            Column::float(
                id,
                label,
                unit,
                values.into_iter().map(|value| value.map(to_four_places)).collect(),
            )
        };
        match *id {
            "run_id" => text(&|run| {
                let id = Some(run.directory.run_id.clone()).filter(|id| !id.is_empty());
                Some(id.unwrap_or_else(|| run.trace.source.file_name.clone()))
            }),
            "run_validity" => text(&validity),
            "retention_p99_s" => {
                let p99 = |kinds: &Vec<KindSummary>| mean(kinds.iter().map(|kind| kind.retention_p99_s));
                number(kinds.iter().map(p99).collect(), Unit::Plain)
            }
            "write_once_ratio_mean" => number(runs.iter().map(write_once).collect(), Unit::Ratio),
            "working_set_pages_total" => {
                let pages = |kinds: &Vec<KindSummary>| kinds.iter().map(|kind| kind.total_pages).sum::<u64>();
                let pages = kinds.iter().map(|kinds| i64::try_from(pages(kinds)).ok());
                Column::integer(id, label, Unit::Count, pages.collect())
            }
            "has_prompt_outputs" => {
                let has = |run: &OneRun<'_>| Some(run.directory.prompt_outputs.is_some());
                Column::bool(id, label, runs.iter().map(has).collect())
            }
            "recorded_at" => text(&|run| Some(run.directory.manifest.as_ref()?.created_at_utc.clone())),
            _ => of_values(id, label, &runs.iter().map(|run| at(run, path)).collect::<Vec<_>>()),
        }
    });
    Table::new("dataset", "Runs", columns.collect()).caption(
        "A row a run; figures of memory are means over kinds of memory, or over regions, and all pages.",
    )
}

/// Sums over the runs of a group, of one kind of memory.
#[derive(Default)]
struct Group {
    n_runs: i64,
    p50: f64,
    p99: f64,
    written_once: Vec<f64>,
    pages: u64,
}

fn groups_table(runs: &[OneRun<'_>], kinds: &[Vec<KindSummary>]) -> Table {
    let mut groups: BTreeMap<[String; 3], Group> = BTreeMap::new();
    for (run, kinds) in runs.iter().zip(kinds).filter(|(run, _)| !is_contaminated(run)) {
        let Some(view) = run.view else { continue };
        let of = |path: &str| at(run, path).unwrap_or_default();
        for kind in kinds {
            let name = view.kinds.name(kind.kind).to_string();
            let group = groups.entry([name, of("model.id"), of("generation.context_length")]).or_default();
            group.n_runs += 1;
            group.p50 += kind.retention_p50_s;
            group.p99 += kind.retention_p99_s;
            group.written_once.extend(kind.write_once_ratio_mean);
            group.pages += kind.total_pages;
        }
    }
    let contexts: Vec<Option<String>> =
        groups.keys().map(|key| Some(key[2].clone()).filter(|context| !context.is_empty())).collect();
    let key = |at: usize| groups.keys().map(|key| key[at].as_str()).collect::<TextCells>();
    let float = |id: &'static str, label: &str, unit: Unit, get: &dyn Fn(&Group) -> Option<f64>| {
        Column::float(id, label, unit, groups.values().map(get).collect())
    };
    Table::new(
        "dataset_groups",
        "What runs have in common",
        vec![
            Column::key("region_type", "kind", key(0)),
            Column::key("model_id", "model", key(1)),
            of_values("context_length", "context", &contexts).as_key(),
            Column::integer(
                "runs",
                "runs",
                Unit::Count,
                groups.values().map(|group| Some(group.n_runs)).collect(),
            ),
            float("retention_p50_s", "kept, p50 (s)", Unit::Plain, &|group| {
                Some(group.p50 / group.n_runs as f64)
            }),
            float("retention_p99_s", "kept, p99 (s)", Unit::Plain, &|group| {
                Some(group.p99 / group.n_runs as f64)
            }),
            float("write_once_ratio_mean", "written once", Unit::Ratio, &|group| {
                mean(group.written_once.iter().copied())
            }),
            float("pages", "pages", Unit::Plain, &|group| Some(group.pages as f64 / group.n_runs as f64)),
        ],
    )
    .caption("Means over runs of one kind of memory, model and length of context, without contaminated ones.")
    .if_empty("There is no run with accesses that is not contaminated.")
}

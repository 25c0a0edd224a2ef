//! Comparison of several runs: one row per run with the columns of mrm-trace's `manifest.csv`, and means over runs of the same
//! model and context length.

use super::OneRun;
use crate::analysis::Context;
use crate::analysis::mrm::kinds_of;
use crate::analysis::run_files::thresholds_of;
use crate::base::json::Json;
use crate::base::units::{Unit, counted};
use crate::memory::metrics::RegionMetrics;
use crate::memory::summary::KindSummary;
use crate::memory::telemetry::RunValidity;
use crate::memory_run::dataset::Dataset;
use crate::memory_run::run_id::Settings;
use crate::memory_run::{DATASET, DATASET_ABOVE, metadata};
use crate::report::{Column, Content, Report, Table, TextCells};
use std::collections::BTreeMap;

/// Columns in order: id, label, path in `metadata.json`. Columns without a path come from other sources.
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
    ("peak_temp_c", "peak temperature (°C)", "thermal.peak_temp_c"),
    ("throttle_events", "throttle events", "thermal.throttle_events"),
    ("total_wall_s", "duration (s)", "timing.total_wall_duration_s"),
    ("avg_tok_per_s", "tokens/s", "generation.avg_tokens_per_second"),
    ("total_output_tokens", "tokens generated", "generation.total_output_tokens"),
    ("retention_p99_s", "retention p99 (s)", ""),
    ("write_once_ratio_mean", "written once", ""),
    ("working_set_pages_total", "pages", ""),
    ("cpu_model", "CPU", "hardware.cpu_model"),
    ("cpu_freq_scaling_max_mhz", "max frequency (MHz)", "hardware.cpu_freq_scaling_max_mhz"),
    ("os", "OS", "software.os"),
    ("kernel", "kernel", "software.kernel"),
    ("has_prompt_outputs", "prompt outputs", ""),
    ("recorded_at", "recorded at", ""),
];

pub fn headline(runs: &[OneRun<'_>]) -> String {
    let n_of = |judgement| runs.iter().filter(|run| run.judgement == judgement).count();
    let all = counted(runs.len() as u64, "run", "runs");
    let n_contaminated = n_of(Some(RunValidity::Contaminated));
    if n_contaminated == 0 && n_of(Some(RunValidity::Clean)) == runs.len() {
        return format!("{all}, {} valid.", if runs.len() == 2 { "both" } else { "all" });
    }
    let others = [(n_of(Some(RunValidity::Marginal)), "marginal"), (n_of(None), "of unknown validity")];
    let others = others.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("; {n} {what}"));
    let others = others.collect::<String>();
    match n_contaminated {
        0 => format!("{all}, none known to be contaminated{others}."),
        n => format!(
            "{all}, {n} contaminated{others}. Contaminated runs are listed but excluded from the means."
        ),
    }
}

/// Adds the table of runs and the means by group.
pub fn add(runs: &[OneRun<'_>], context: &Context<'_>, report: &mut Report) {
    let query = &context.query.memory;
    let kinds: Vec<Vec<KindSummary>> = runs
        .iter()
        .map(|run| match run.view {
            Some(view) => kinds_of(view, &thresholds_of(view.trace, query)),
            None => Vec::new(),
        })
        .collect();
    let table = runs_table(runs, &kinds);
    let stored = stored(runs, &table, report);
    report.table(table);
    report.table(groups_table(runs, &kinds));
    stored.into_iter().for_each(|table| report.table(table));
}

/// Compares the dataset lists, if any, with the runs: one row per run, and one per field that differs.
fn stored(runs: &[OneRun<'_>], table: &Table, report: &mut Report) -> Vec<Table> {
    let files = runs.iter().flat_map(|run| &run.trace.sidecar_files);
    let mut lists = Vec::new();
    for file in files.filter(|file| file.name == DATASET_ABOVE) {
        let read = match &file.content {
            Some(content) => Dataset::read(content),
            None => Err("it is too large, or access was denied".to_string()),
        };
        match read {
            Ok(list) => lists.push(list),
            Err(problem) => report.warning(format!("Cannot parse {DATASET} of the dataset: {problem}.")),
        }
    }
    if lists.is_empty() { Vec::new() } else { stored_tables(&lists, table) }
}

fn stored_tables(lists: &[Dataset], table: &Table) -> Vec<Table> {
    let cell =
        |row: usize, id: &str| table.column(id).map_or(String::new(), |column| column.cells.get(row).plain());
    // Several machines can have a run of the same id.
    let is_run = |list: &Dataset, at: usize, row: usize| {
        let (listed, here) = (list.get(at, "machine_id").unwrap_or_default(), cell(row, "machine_id"));
        let is_machine = listed.is_empty() || here.is_empty() || listed == here;
        is_machine && list.get(at, "run_id").is_some_and(|listed| listed == cell(row, "run_id"))
    };
    let mut is_listed = vec![false; table.n_rows()];
    let mut verdicts: Vec<[String; 3]> = Vec::new();
    let mut differences: Vec<[String; 5]> = Vec::new();
    for (list, at) in lists.iter().flat_map(|list| (0..list.rows.len()).map(move |at| (list, at))) {
        let text = |id: &str| list.get(at, id).unwrap_or_default();
        let (id, machine) = (text("run_id").to_string(), text("machine_id").to_string());
        // Indistinguishable runs are matched in order, and a run can be in several lists.
        let find = |wanted: bool| {
            (0..table.n_rows()).find(|row| is_listed[*row] == wanted && is_run(list, at, *row))
        };
        let verdict = match find(false).or_else(|| find(true)) {
            None => "✗ run not found",
            Some(row) => {
                is_listed[row] = true;
                let before = differences.len();
                let fields = list.columns.iter().map(String::as_str);
                let compared = fields.filter(|id| !TAKEN_AGAIN.contains(id) && table.column(id).is_some());
                let differing = compared.filter(|id| !is_same(id, text(id), &cell(row, id)));
                differences.extend(differing.map(|field| {
                    let (there, here) = (text(field).to_string(), cell(row, field));
                    [id.clone(), machine.clone(), field.to_string(), there, here]
                }));
                if differences.len() == before { "✓ the same" } else { "✗ differs" }
            }
        };
        verdicts.push([id, machine, verdict.to_string()]);
    }
    for row in (0..table.n_rows()).filter(|row| !is_listed[*row]) {
        verdicts.push([cell(row, "run_id"), cell(row, "machine_id"), "? not listed".to_string()]);
    }
    let verdicts = Table::new(
        "dataset_stored",
        "Dataset list vs runs",
        vec![
            Column::key("run_id", "run", Content::Plain, of_rows(&verdicts, 0)),
            Column::key("machine_id", "machine", Content::Plain, of_rows(&verdicts, 1)),
            Column::text("agrees", "compared with the run", Content::Plain, of_rows(&verdicts, 2)),
        ],
    )
    .caption("Compares manifest.csv in the parent directory with the runs' metadata and traces.");
    if differences.is_empty() {
        return vec![verdicts];
    }
    let differences = Table::new(
        "dataset_differences",
        "Differences in the dataset list",
        vec![
            Column::key("run_id", "run", Content::Plain, of_rows(&differences, 0)),
            Column::key("machine_id", "machine", Content::Plain, of_rows(&differences, 1)),
            Column::key("field", "field", Content::Plain, of_rows(&differences, 2)),
            Column::text("listed", "in manifest.csv", Content::Plain, of_rows(&differences, 3)),
            Column::text("here", "run", Content::Plain, of_rows(&differences, 4)),
        ],
    );
    vec![verdicts, differences]
}

/// The column at `at`; empty text becomes a missing value.
fn of_rows<const N: usize>(rows: &[[String; N]], at: usize) -> TextCells {
    let mut cells = TextCells::default();
    rows.iter().for_each(|row| cells.push(Some(row[at].as_str()).filter(|text| !text.is_empty())));
    cells
}

/// Fields that the reference computes again when it writes its list.
const TAKEN_AGAIN: [&str; 1] = ["recorded_at"];

/// Whether a field of the list equals a cell: names exactly, numbers by value, booleans as Python writes them.
fn is_same(id: &str, listed: &str, here: &str) -> bool {
    // Derived values have a suffix.
    let here = here.strip_suffix(DERIVED).unwrap_or(here);
    if id == "run_id" || NAMES.contains(&id) {
        return listed == here;
    }
    match (listed.parse::<f64>(), here.parse::<f64>()) {
        (Ok(listed), Ok(here)) => listed == here || listed.is_nan() && here.is_nan(),
        _ => listed == here || [("True", "true"), ("False", "false")].contains(&(listed, here)),
    }
}

/// Suffix of a run validity that is derived rather than recorded.
const DERIVED: &str = " (derived)";

/// Metadata of a run at `path`, else the setting from the run name: mrm-trace 0.1.0 doesn't record settings.
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

/// Columns of names, which stay text even if they look like numbers.
const NAMES: [&str; 6] = ["machine_id", "model_id", "collector", "cpu_model", "os", "kernel"];

/// A numeric column if all present cells are numeric, else a text column.
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
    Column::text(id, label, Content::Plain, cells)
}

/// Recorded run validity, else the derived one.
fn validity(run: &OneRun<'_>) -> Option<String> {
    let stored = run.directory.metadata.as_ref().and_then(metadata::validity).map(metadata::text_of);
    stored.or_else(|| Some(format!("{}{DERIVED}", run.judgement?.name())))
}

fn is_contaminated(run: &OneRun<'_>) -> bool {
    run.judgement == Some(RunValidity::Contaminated)
}

/// Like Python's `round(x, 4)`.
fn to_four_places(x: f64) -> f64 {
    format!("{x:.4}").parse().unwrap_or(x)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, sum) = values.fold((0u32, 0.0), |(n, sum), value| (n + 1, sum + value));
    (n > 0).then(|| sum / f64::from(n))
}

/// Mean write-once ratio over regions.
fn write_once(run: &OneRun<'_>) -> Option<f64> {
    mean(run.view?.metrics.regions.iter().filter_map(RegionMetrics::write_once_ratio))
}

fn runs_table(runs: &[OneRun<'_>], kinds: &[Vec<KindSummary>]) -> Table {
    let columns = COLUMNS.iter().map(|(id, label, path)| {
        let text = |get: &dyn Fn(&OneRun<'_>) -> Option<String>| {
            let mut cells = TextCells::default();
            runs.iter().for_each(|run| cells.push(get(run).as_deref()));
            if *id == "run_id" {
                Column::key(id, label, Content::Plain, cells)
            } else {
                Column::text(id, label, Content::Plain, cells)
            }
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
    Table::new("dataset", "Runs", columns.collect())
        .caption("One row per run. Memory metrics are means over kinds or regions; pages are totals.")
}

/// Sums over the runs of a group for one memory kind.
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
        "Means over runs",
        vec![
            Column::key("region_type", "kind", Content::Plain, key(0)),
            Column::key("model_id", "model", Content::Plain, key(1)),
            of_values("context_length", "context", &contexts).as_key(),
            Column::integer(
                "runs",
                "runs",
                Unit::Count,
                groups.values().map(|group| Some(group.n_runs)).collect(),
            ),
            float("retention_p50_s", "retention p50 (s)", Unit::Plain, &|group| {
                Some(group.p50 / group.n_runs as f64)
            }),
            float("retention_p99_s", "retention p99 (s)", Unit::Plain, &|group| {
                Some(group.p99 / group.n_runs as f64)
            }),
            float("write_once_ratio_mean", "written once", Unit::Ratio, &|group| {
                mean(group.written_once.iter().copied())
            }),
            float("pages", "pages", Unit::Plain, &|group| Some(group.pages as f64 / group.n_runs as f64)),
        ],
    )
    .caption("By memory kind, model and context length, without contaminated runs.")
    .if_empty("No valid run with memory accesses.")
}

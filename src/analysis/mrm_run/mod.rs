//! The run directory of a trace: files compared with the manifest, metadata of the run, and stored metrics compared with
//! those computed from the trace.

mod dataset;

use super::memory_query::MemoryQuery;
use super::mrm::trust::{mark, run_validity};
use super::mrm::{kinds_of, number_blocks};
use super::run_files::{n_differing, phases_of, thresholds_of};
use super::{AnalysisInfo, Context, Group};
use crate::base::hash::HashMap;
use crate::base::json::Json;
use crate::base::text::visible;
use crate::base::units::{Unit, counted};
use crate::memory::summary::KindSummary;
use crate::memory::telemetry::RunValidity;
use crate::memory::{Kinds, LabelledTrace};
use crate::memory_run::manifest::{ListedFile, State};
use crate::memory_run::metrics::{Difference, MetricsRow};
use crate::memory_run::{METADATA, RunDirectory, metadata, of_directory, read_sidecar_files};
use crate::report::{Column, Content, Facts, Report, Table, TextCells};
use crate::trace::accesses::PAGE_BITS;
use crate::trace::sidecar_files::SidecarFile;
use crate::trace::{Run, Trace};

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "mrm-run",
    title: "Run directory",
    applies,
    run,
    group: Group::Summary,
    is_late: false,
};

fn applies(run: &Run) -> bool {
    run.traces.iter().any(|trace| !trace.sidecar_files.is_empty())
}

/// Whether there are several runs to compare.
pub fn has_several(run: &Run) -> bool {
    run.traces.iter().filter(|trace| !trace.sidecar_files.is_empty()).count() > 1
}

/// A run with the other files of its directory.
struct OneRun<'a> {
    trace: &'a Trace,
    directory: RunDirectory,
    /// `None` for a trace without accesses.
    view: Option<&'a LabelledTrace<'a>>,
    /// Run validity, recorded or derived.
    judgement: Option<RunValidity>,
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let in_runs = context.run.traces.iter().filter(|trace| !trace.sidecar_files.is_empty());
    let runs: Vec<OneRun<'_>> = in_runs
        .map(|trace| OneRun {
            trace,
            directory: read_sidecar_files(&trace.sidecar_files),
            view: context.memory().iter().find(|view| std::ptr::eq(view.trace, trace)),
            judgement: run_validity(trace, &context.query.memory).0,
        })
        .collect();
    if runs.len() > 1 {
        report.summary = dataset::headline(&runs);
        dataset::add(&runs, context, &mut report);
    }
    for (number, OneRun { trace, directory, view, .. }) in runs.iter().enumerate() {
        let mut part = Report::new(INFO.id, INFO.title);
        add_directory(directory, trace, &mut part);
        if let Some(view) = view {
            add_metrics(directory, view, context, &mut part);
        }
        add_rest(directory.metadata.as_ref(), &mut part);
        mark(trace, &context.query.memory, &mut part);
        if report.summary.is_empty() {
            report.summary = headline(directory);
        }
        if runs.len() > 1 {
            number_blocks(&mut part, number, &trace.source.file_name);
        }
        report.blocks.append(&mut part.blocks);
    }
    report
}

fn headline(directory: &RunDirectory) -> String {
    if directory.manifest.is_none() {
        return "No manifest to check the files against.".to_string();
    }
    let (n, n_differing) = (directory.checks.len(), n_differing(&directory.checks));
    let n_listed = directory.checks.iter().filter(|check| check.state != State::NotListed).count();
    let files = |n: usize| counted(n as u64, "file", "files");
    let n_unchecked = directory.checks.iter().filter(|check| check.state == State::Unchecked).count();
    let n_unread = directory.checks.iter().filter(|check| check.state == State::Unread).count();
    match (n_differing, n - n_listed) {
        (0, _) if n_unread > 0 => {
            format!("Cannot check {n_unread} of {}: not read to the end.", files(n_listed))
        }
        (0, _) if n_unchecked > 0 => {
            format!("Cannot check {n_unchecked} of {}: no checksum in the manifest.", files(n_listed))
        }
        (0, 0) if n_listed == 1 => "The file matches the manifest.".to_string(),
        (0, 0) => format!("All {} match the manifest.", files(n_listed)),
        (0, more) => {
            format!("All {} in the manifest match; {} not listed.", files(n_listed), files(more))
        }
        (1, _) => format!("1 of {} differs from the manifest.", files(n_listed)),
        (differing, _) => format!("{differing} of {} differ from the manifest.", files(n_listed)),
    }
}

fn state_name(state: State) -> &'static str {
    match state {
        State::Same => "✓ ok",
        State::Resized => "✗ size differs",
        State::Changed => "✗ changed",
        State::Unread => "? not read to the end",
        State::Missing => "✗ missing",
        State::NotListed => "? not listed",
        State::Unchecked => "? not checked",
    }
}

fn add_directory(directory: &RunDirectory, trace: &Trace, report: &mut Report) {
    if n_differing(&directory.checks) > 0 {
        report.warning("Files differ from the manifest: they may be damaged or belong to another run.");
    }
    for problem in &directory.problems {
        report.warning(format!("{}: {}.", problem.file, problem.what));
    }
    if let Some(problem) = directory.metadata.as_ref().and_then(|metadata| phases_of(metadata).1) {
        report.warning(format!("{METADATA}: {problem}."));
    }
    let named = directory.metadata.as_ref().and_then(|metadata| metadata.at("run_id")?.as_str());
    if let Some(other) = named.filter(|named| !named.is_empty() && *named != directory.run_id) {
        report
            .warning(format!("{METADATA} names another run: {}. It may belong to that run.", visible(other)));
    }
    let mut facts = Facts::new("Run");
    let run_id = Some(directory.run_id.clone()).filter(|id| !id.is_empty());
    facts.push("run_id", "Run", run_id.unwrap_or_else(|| "unknown".to_string()), Unit::None);
    for (path, name, value) in directory.metadata.iter().flat_map(metadata::known) {
        if path != "run_id" {
            facts.push(path, name, value, Unit::None);
        }
    }
    if let Some(manifest) = &directory.manifest {
        facts.push("created_at_utc", "Manifest created", manifest.created_at_utc.clone(), Unit::None);
    }
    report.facts(facts);
    report.table(files_table(directory, trace));
}

fn files_table(directory: &RunDirectory, trace: &Trace) -> Table {
    let there: HashMap<&str, &SidecarFile> =
        trace.sidecar_files.iter().map(|file| (file.name.as_str(), file)).collect();
    let find = |path: &str| there.get(path).copied();
    let files = directory.manifest.iter().flat_map(|manifest| &manifest.files);
    let in_manifest: HashMap<&str, &ListedFile> = files.map(|file| (file.path.as_str(), file)).collect();
    let listed = |path: &str| in_manifest.get(path).copied();
    // Without a manifest, files are only listed.
    let names: Vec<(&str, &str)> = match directory.manifest {
        Some(_) => {
            directory.checks.iter().map(|check| (check.path.as_str(), state_name(check.state))).collect()
        }
        None => of_directory(&trace.sidecar_files).map(|file| (file.name.as_str(), "–")).collect(),
    };
    let mut checksums = TextCells::default();
    names.iter().for_each(|(name, _)| checksums.push(find(name).map(|file| file.sha256.as_str())));
    Table::new(
        "files",
        "Files",
        vec![
            Column::key("path", "file", Content::Path, names.iter().map(|(name, _)| *name).collect()),
            Column::text(
                "state",
                "compared with the manifest",
                Content::Plain,
                names.iter().map(|(_, state)| *state).collect(),
            ),
            Column::integer(
                "size_bytes",
                "size",
                Unit::Bytes,
                names.iter().map(|(name, _)| find(name).map(|file| narrow(file.n_bytes))).collect(),
            ),
            Column::integer(
                "listed_bytes",
                "size in manifest",
                Unit::Bytes,
                names.iter().map(|(name, _)| listed(name)?.size_bytes.map(narrow)).collect(),
            ),
            Column::text("sha256", "SHA-256", Content::Plain, checksums),
        ],
    )
}

fn narrow(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Compares the stored metrics with those of the trace.
fn add_metrics(
    directory: &RunDirectory,
    view: &LabelledTrace<'_>,
    context: &Context<'_>,
    report: &mut Report,
) {
    let stored = &directory.metrics;
    if stored.is_empty() {
        return;
    }
    let computed: Vec<MetricsRow> = metrics_rows(view, &context.query.memory);
    let same = |row: &MetricsRow| computed.iter().find(|other| other.region_type == row.region_type);
    let verdicts: Vec<&str> = stored
        .iter()
        .map(|row| match same(row) {
            Some(other) if other == row => "✓ the same",
            Some(_) => "✗ differs",
            None => "✗ not in the trace",
        })
        .collect();
    let floats = |id: &'static str, label: &str, unit: Unit, get: fn(&MetricsRow) -> Option<f64>| {
        Column::float(id, label, unit, stored.iter().map(get).collect())
    };
    let is_lacking = |row: &MetricsRow| stored.iter().all(|other| other.region_type != row.region_type);
    if verdicts.iter().any(|verdict| verdict.starts_with('✗')) || computed.iter().any(is_lacking) {
        report.info(
            "Some stored metrics differ from those computed here. The run may have used other rules or thresholds, or another \
             version of mrm-trace.",
        );
    }
    report.table(
        Table::new(
            "stored_metrics",
            "Stored metrics",
            vec![
                Column::key(
                    "region_type",
                    "kind",
                    Content::Plain,
                    stored.iter().map(|row| row.region_type.as_str()).collect(),
                ),
                Column::text(
                    "agrees",
                    "compared with the trace",
                    Content::Plain,
                    verdicts.into_iter().collect(),
                ),
                floats("retention_p50_s", "retention p50 (s)", Unit::Plain, |row| row.retention_p50_s),
                floats("retention_p90_s", "retention p90 (s)", Unit::Plain, |row| row.retention_p90_s),
                floats("retention_p99_s", "retention p99 (s)", Unit::Plain, |row| row.retention_p99_s),
                floats("write_once_ratio_mean", "written once", Unit::Ratio, |row| row.write_once_ratio_mean),
                floats("reads_per_write_mean", "reads per write", Unit::Plain, |row| {
                    row.reads_per_write_mean
                }),
                floats("working_set_mb_total", "working set (MiB)", Unit::Plain, |row| {
                    row.working_set_mb_total
                }),
                Column::text(
                    "suitability",
                    "suitability",
                    Content::Plain,
                    stored.iter().map(|row| row.suitability.as_str()).collect(),
                ),
            ],
        )
        .caption("From metrics.csv. For metrics computed from the trace, see Memory by kind."),
    );
    report.table(differences_table(stored, &computed));
}

/// Stored metrics that differ from those of the trace, and kinds that only one of them has.
fn differences_table(stored: &[MetricsRow], computed: &[MetricsRow]) -> Table {
    let mut rows: Vec<(&str, Difference)> = Vec::new();
    let find = |rows: &'_ [MetricsRow], kind: &str| rows.iter().position(|row| row.region_type == kind);
    let only = |own: &str, other: &str| Difference {
        column: "region_type",
        own: own.to_string(),
        other: other.to_string(),
    };
    for row in stored {
        let kind = row.region_type.as_str();
        match find(computed, kind).and_then(|at| computed.get(at)) {
            Some(other) => rows.extend(row.differences(other).into_iter().map(|found| (kind, found))),
            None => rows.push((kind, only(kind, ""))),
        }
    }
    let missing = computed.iter().filter(|row| find(stored, &row.region_type).is_none());
    rows.extend(missing.map(|row| (row.region_type.as_str(), only("", &row.region_type))));
    Table::new(
        "metric_differences",
        "Differences in stored metrics",
        vec![
            Column::key("region_type", "kind", Content::Plain, rows.iter().map(|(kind, _)| *kind).collect()),
            Column::key(
                "column",
                "column",
                Content::Plain,
                rows.iter().map(|(_, found)| found.column).collect(),
            ),
            Column::text(
                "stored",
                "in metrics.csv",
                Content::Plain,
                rows.iter().map(|(_, found)| found.own.as_str()).collect(),
            ),
            Column::text(
                "computed",
                "from the trace",
                Content::Plain,
                rows.iter().map(|(_, found)| found.other.as_str()).collect(),
            ),
        ],
    )
    .if_empty("No differences.")
}

/// Metrics by kind in the layout of `metrics.csv`.
pub fn metrics_rows(view: &LabelledTrace<'_>, query: &MemoryQuery) -> Vec<MetricsRow> {
    kinds_of(view, &thresholds_of(view.trace, query))
        .iter()
        .map(|row| metrics_row(row, &view.kinds))
        .collect()
}

fn metrics_row(row: &KindSummary, kinds: &Kinds) -> MetricsRow {
    MetricsRow {
        region_type: kinds.name(row.kind).to_string(),
        n_regions: Some(row.n_regions),
        retention_p50_s: Some(row.retention_p50_s),
        retention_p90_s: Some(row.retention_p90_s),
        retention_p99_s: Some(row.retention_p99_s),
        retention_mean_s: Some(row.retention_mean_s),
        write_once_ratio_mean: row.write_once_ratio_mean,
        reads_per_write_mean: Some(row.reads_per_write_mean),
        working_set_mb_total: Some((row.total_pages << PAGE_BITS) as f64 / f64::from(1 << 20)),
        unique_pages_total: Some(row.total_pages),
        suitability: row.suitability.name().to_string(),
    }
}

/// Adds the remaining metadata, one row per value.
fn add_rest(metadata: Option<&Json>, report: &mut Report) {
    let Some(metadata) = metadata else { return };
    let mut leaves: Vec<(String, String)> = Vec::new();
    flatten(metadata, String::new(), &mut leaves);
    leaves.retain(|(path, _)| metadata::KNOWN.iter().all(|(known, _)| known != path));
    if leaves.is_empty() {
        return;
    }
    report.table(Table::new(
        "metadata",
        "Other metadata",
        vec![
            Column::key("key", "key", Content::Plain, leaves.iter().map(|(path, _)| path.as_str()).collect()),
            Column::text(
                "value",
                "value",
                Content::Value,
                leaves.iter().map(|(_, value)| value.as_str()).collect(),
            ),
        ],
    ));
}

/// Values by their paths: `phase_boundaries.0.phase`.
fn flatten(value: &Json, path: String, out: &mut Vec<(String, String)>) {
    let below = |name: &str| if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
    match value {
        Json::Object(members) if !members.is_empty() => {
            members.iter().for_each(|(name, value)| flatten(value, below(name), out));
        }
        Json::Array(values) if !values.is_empty() => {
            values.iter().enumerate().for_each(|(at, value)| flatten(value, below(&at.to_string()), out));
        }
        leaf => out.push((path, metadata::text_of(leaf))),
    }
}

//! Settings and metadata in the files beside a memory trace, and the labelled accesses that follow from them.

use super::memory_query::MemoryQuery;
use crate::base::json::Json;
use crate::base::steps;
use crate::memory::LabelledTrace;
use crate::memory::phases::{Boundary, Phases};
use crate::memory::ranges::{self, AddressRange};
use crate::memory::suitability::Thresholds;
use crate::memory_run::manifest::{FileCheck, State};
use crate::memory_run::metadata::{CHOICES, SUITABILITY};
use crate::memory_run::{KV_RANGES, METADATA};
use crate::trace::Trace;

/// Metadata of the run that a trace belongs to.
pub fn metadata_of(trace: &Trace) -> Option<Json> {
    let file = trace.sidecar_files.iter().find(|file| file.name == METADATA)?;
    Json::parse(file.content.as_deref()?)
}

/// Address ranges in the run directory, or the reason they cannot be parsed.
pub fn ranges_beside(trace: &Trace) -> Option<Result<Vec<AddressRange>, String>> {
    let file = trace.sidecar_files.iter().find(|file| file.name == KV_RANGES)?;
    let text = String::from_utf8_lossy(file.content.as_deref()?);
    Some(ranges::parse(&text).map_err(|problem| problem.to_string()))
}

/// Suitability thresholds: from the user, else those recorded with the run.
pub fn thresholds_of(trace: &Trace, query: &MemoryQuery) -> Thresholds {
    noted_thresholds(trace)
        .filter(|_| query.thresholds.trim().is_empty())
        .unwrap_or_else(|| query.thresholds())
}

/// Thresholds recorded with a run, if they differ from the defaults.
pub fn noted_thresholds(trace: &Trace) -> Option<Thresholds> {
    let metadata = metadata_of(trace)?;
    let noted = metadata.get(CHOICES)?.get(SUITABILITY)?;
    let number = |name: &str| noted.get(name)?.as_f64();
    Some(Thresholds {
        high_ratio: number("high_ratio")?,
        high_p99_s: number("high_p99_s")?,
        medium_ratio: number("medium_ratio")?,
        medium_p50_s: number("medium_p50_s")?,
    })
}

/// Labelled accesses of a trace. Phases and address ranges come from the run directory if the user sets
/// none.
pub fn view_of<'a>(trace: &'a Trace, query: &MemoryQuery) -> LabelledTrace<'a> {
    steps::run(view_in_steps(trace, query))
}

/// [`view_of`] in steps.
pub async fn view_in_steps<'a>(trace: &'a Trace, query: &MemoryQuery) -> LabelledTrace<'a> {
    let mut options = query.options();
    if options.phases.is_empty() {
        options.phases = metadata_of(trace).map(|metadata| phases_of(&metadata).0).unwrap_or_default();
    }
    if query.ranges.trim().is_empty()
        && let Some(Ok(ranges)) = ranges_beside(trace)
    {
        options.ranges = ranges;
    }
    Box::pin(LabelledTrace::in_steps(trace, &options)).await
}

/// Phase boundaries from the metadata, and the problem with them, if any. Invalid entries are ignored, the others
/// used.
pub fn phases_of(metadata: &Json) -> (Phases, Option<String>) {
    let told = match metadata.at("phase_boundaries") {
        // Missing phases are not an error.
        None | Some(Json::Null) => return (Phases::default(), None),
        Some(Json::Array(entries)) if entries.is_empty() => return (Phases::default(), None),
        Some(told) => told,
    };
    let problem = match Phases::parse(&told.to_python_text(0)) {
        Ok(phases) => match phases.first_inverted() {
            None => return (phases, None),
            Some(problem) => problem,
        },
        Err(problem) => problem,
    };
    // Events are only meaningful in pairs.
    let entries = told.as_array().unwrap_or_default();
    let one_by_one = entries.iter().filter(|entry| entry.get("event").is_none());
    let each = one_by_one.filter_map(|entry| Phases::parse(&format!("[{}]", entry.to_python_text(0))).ok());
    let boundaries: Vec<Boundary> = each
        .filter(|phases| phases.first_inverted().is_none())
        .flat_map(|phases| phases.boundaries)
        .collect();
    let what = match boundaries.len() {
        0 => format!("cannot use the phases: {problem}"),
        n => format!("ignored {} of {} phases: {problem}", entries.len().saturating_sub(n), entries.len()),
    };
    (Phases { boundaries, ..Phases::default() }, Some(what))
}

/// Number of files that differ from the manifest.
pub fn n_differing(checks: &[FileCheck]) -> usize {
    let differs =
        |check: &&FileCheck| matches!(check.state, State::Resized | State::Changed | State::Missing);
    checks.iter().filter(differs).count()
}

//! What Python sees of a document: a thin layer, on which `tracedrop/__init__.py` builds.

use crate::actor::{Actor, Held, State};
use crate::arrow;
use crate::cli::arguments::{Cli, Command, ReportArgs};
use crate::cli::read::Opened;
use crate::cli::{compare, export, mrm, now_ms, report};
use crate::tables;
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use std::path::PathBuf;
use std::sync::Arc;
use tracedrop::compare::limits::{Limit, Outcome};
use tracedrop::engine::Side;
use tracedrop::export::{EXPORTERS, Options, event_tables, json};

create_exception!(tracedrop, TracedropError, PyValueError, "What went wrong, where, and what to try.");

fn wrong(messages: &[String], else_: &str) -> PyErr {
    // Parsing issues come on the way to the reason, and are not it.
    let is_issue = |line: &str| {
        [": note: ", ": repaired: ", ": skipped: ", ":   also: "].iter().any(|word| line.contains(word))
    };
    let text = messages.iter().filter(|line| !is_issue(line));
    let text: Vec<&str> = text.map(|line| line.strip_prefix("tracedrop: ").unwrap_or(line)).collect();
    TracedropError::new_err(if text.is_empty() { else_.to_string() } else { text.join("\n") })
}

/// Arguments of the command, or its error message without the usage.
fn parsed(args: Vec<String>) -> PyResult<Command> {
    let command = args.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(" ");
    Cli::try_parse_from(args).map(|cli| cli.command).map_err(|error| {
        if let (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) =
            (error.kind(), error.get(ContextKind::InvalidArg))
        {
            let named = |option: &str| option.trim_start_matches('-').replace('-', "_");
            let similar = match error.get(ContextKind::SuggestedArg) {
                Some(ContextValue::String(similar)) => format!("did you mean '{}'? ", named(similar)),
                _ => String::new(),
            };
            let what =
                format!("no option '{}'; {similar}Options are those of `{command} --help`", named(option));
            return TracedropError::new_err(what);
        }
        let text = error.render().to_string();
        let said =
            text.split("Usage:").next().unwrap_or_default().split("For more").next().unwrap_or_default();
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        TracedropError::new_err(lines.join("\n").trim_start_matches("error: ").to_string())
    })
}

/// A table in memory, which Arrow consumers take as it is.
#[pyclass(frozen, module = "tracedrop._tracedrop")]
pub struct ArrowTable {
    table: Arc<arrow::Table>,
}

#[pymethods]
impl ArrowTable {
    #[getter]
    fn num_rows(&self) -> usize {
        self.table.n_rows()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.table.fields.iter().map(|field| field.name.clone()).collect()
    }

    /// Unit of each column, as in JSON.
    #[getter]
    fn units(&self) -> Vec<(String, String)> {
        let unit = |field: &arrow::Field| {
            let unit = field.metadata.iter().find(|(key, _)| key == "unit");
            (field.name.clone(), unit.map(|(_, unit)| unit.clone()).unwrap_or_default())
        };
        self.table.fields.iter().map(unit).collect()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, arrow::schema(&self.table), c"arrow_schema")
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore the request.
        let _ = requested_schema;
        PyCapsule::new_with_value(py, arrow::stream(self.table.clone()), c"arrow_array_stream")
    }
}

/// An open trace or comparison.
#[pyclass(frozen, module = "tracedrop._tracedrop")]
pub struct Document {
    actor: Arc<Actor>,
    /// Messages of the command: parsing issues and notes.
    #[pyo3(get)]
    messages: Vec<String>,
    /// The file, if there is one.
    path: Option<PathBuf>,
}

fn report_args(args: Vec<String>) -> PyResult<ReportArgs> {
    match parsed(args)? {
        Command::Report(args) => Ok(args),
        _ => Err(TracedropError::new_err("not the arguments of a report")),
    }
}

/// Side of a comparison from an open document.
fn side_of(state: &mut State) -> Result<Side, String> {
    match &mut state.held {
        Held::Session(session) => session.side().map_err(|error| error.to_string()),
        _ => Err("only traces can be compared, not reports without a trace or other comparisons".to_string()),
    }
}

#[pymethods]
impl Document {
    /// Opens files with the arguments of `tracedrop report`.
    #[staticmethod]
    #[pyo3(signature = (args, progress=None))]
    fn open(py: Python<'_>, args: Vec<String>, progress: Option<Bound<'_, PyAny>>) -> PyResult<Document> {
        let args = report_args(args)?;
        let path = match &args.files[..] {
            [path] if path.is_file() => Some(path.clone()),
            _ => None,
        };
        let actor = Actor::start()?;
        let (is_open, messages) = actor.ask(py, progress.as_ref(), move |state| {
            state.held = match report::open(&args) {
                Some(Opened::Session(session)) => Held::Session(session),
                Some(Opened::Linked(linked)) => Held::Linked(linked),
                None => Held::Nothing,
            };
            state.held.shown().is_some()
        })?;
        match is_open {
            true => Ok(Document { actor, messages, path }),
            false => Err(wrong(&messages, "nothing to report on")),
        }
    }

    /// Compares two open documents with the arguments of `tracedrop compare`.
    #[staticmethod]
    fn compare(py: Python<'_>, args: Vec<String>, a: &Document, b: &Document) -> PyResult<Document> {
        let Command::Compare(args) = parsed(args)? else {
            return Err(TracedropError::new_err("not the arguments of a comparison"));
        };
        let side = |of: &Document| of.actor.ask(py, None, side_of)?.0.map_err(TracedropError::new_err);
        let (a, b) = (side(a)?, side(b)?);
        let actor = Actor::start()?;
        let (made, messages) = actor.ask(py, None, move |state| {
            let Some(mut compared) = compare::compared(&args, a, b) else { return Ok(false) };
            let is_made = compare::narrowed(&args, &mut compared)?.is_ok();
            state.held = Held::Compared(Box::new(compared));
            Ok(is_made)
        })?;
        let is_made: bool = made.map_err(|message: String| TracedropError::new_err(message))?;
        match is_made {
            true => Ok(Document { actor, messages, path: None }),
            false => Err(wrong(&messages, "nothing to compare")),
        }
    }

    /// The document as the JSON of the command, with empty tables.
    fn describe(&self, py: Python<'_>) -> PyResult<String> {
        let (text, _) = self.actor.ask(py, None, |state| {
            let mut out = Vec::new();
            let options = Options { own_layout: true, without_rows: true, ..Options::default() };
            let Some(shown) = state.held.shown() else { return Ok(out) };
            shown.export(&json::INFO, &options, &mut out).map(|_| out)
        })?;
        Ok(String::from_utf8_lossy(&text?).into_owned())
    }

    /// Why it shows less than was asked for; `None` if it does not.
    fn shortfall(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.actor.ask(py, None, |state| state.held.shown().and_then(|shown| shown.shortfall()))?.0)
    }

    /// A table of a report, or of the parsing details for `"ledger"`, by its position.
    fn table(&self, py: Python<'_>, report: String, position: usize) -> PyResult<ArrowTable> {
        let name = format!("{report}, table {position}");
        let (found, _) = self.actor.ask(py, None, move |state| {
            let shown = state.held.shown()?;
            if report == "ledger" {
                let source = shown.export_source(&json::INFO, &Options::default()).ok()?;
                return source.ledger().tables().nth(position).map(tables::of_report);
            }
            let report = shown.reports().iter().find(|found| found.id == *report)?;
            report.tables().nth(position).map(tables::of_report)
        })?;
        let table = found.ok_or_else(|| PyKeyError::new_err(name))?;
        Ok(ArrowTable { table: Arc::new(table) })
    }

    /// A table of events.
    fn events(&self, py: Python<'_>, kind: String, with_args: bool) -> PyResult<ArrowTable> {
        let Some(table) = event_tables::find(&kind) else {
            let ids: Vec<&str> = event_tables::TABLES.iter().map(|table| table.id).collect();
            let what = format!("no events of kind '{kind}'; there are: {}", ids.join(", "));
            return Err(TracedropError::new_err(what));
        };
        let keep = self.actor.clone();
        let (made, _) = self.actor.ask(py, None, move |state| {
            let Held::Session(session) = &mut state.held else {
                return Err(
                    "a report without its trace, or a comparison, has no events; open the trace itself"
                        .to_string(),
                );
            };
            let run = session.shared_run().map_err(|error| error.to_string())?;
            if run.traces.iter().any(|trace| trace.aggregated.is_some()) {
                let what =
                    "the trace has more events than `hold`, so only totals and the longest slices were kept";
                return Err(format!("{what}; open it with a larger `hold`, or with `only` for a part of it"));
            }
            if !state.lent.iter().any(|lent| std::rc::Rc::ptr_eq(lent, &run)) {
                state.lent.push(run.clone());
            }
            Ok(tables::of_events(table, &run, with_args, keep))
        })?;
        Ok(ArrowTable { table: Arc::new(made.map_err(TracedropError::new_err)?) })
    }

    /// Exports with the arguments of `tracedrop export`; returns the bytes and what they lack.
    fn export<'py>(
        &self,
        py: Python<'py>,
        args: Vec<String>,
    ) -> PyResult<(Bound<'py, PyBytes>, Vec<String>)> {
        let Command::Export(args) = parsed(args)? else {
            return Err(TracedropError::new_err("not the arguments of an export"));
        };
        let path = self.path.clone();
        let (made, _) = self.actor.ask(py, None, move |state| {
            let Some(shown) = state.held.shown() else { return Err(String::new()) };
            let mut out = Vec::new();
            export::write_opened(&args, shown, path.as_deref(), &mut out).map(|left_out| (out, left_out.0))
        })?;
        let (bytes, left_out) = made.map_err(TracedropError::new_err)?;
        Ok((PyBytes::new(py, &bytes), left_out))
    }

    /// Writes a run directory, or an archive of one if the path ends in `.zip`.
    fn export_run(&self, py: Python<'_>, path: PathBuf, run_id: Option<String>) -> PyResult<()> {
        let name = path.display().to_string();
        let (is_written, messages) = self.actor.ask(py, None, move |state| {
            let Held::Session(session) = &state.held else { return false };
            let written = mrm::write_run(session, &name, Some(&path), run_id.as_deref(), now_ms());
            written.is_ok_and(|code| code == std::process::ExitCode::SUCCESS)
        })?;
        if is_written { Ok(()) } else { Err(wrong(&messages, "this trace cannot be a run directory")) }
    }

    /// Metrics of a comparison: name in limits, and meaning.
    fn metrics(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let (metrics, _) = self.actor.ask(py, None, |state| {
            let Held::Compared(compared) = &state.held else { return Vec::new() };
            let measures = &compared.comparison().measures;
            measures.iter().map(|measure| (measure.id.clone(), measure.what.clone())).collect()
        })?;
        Ok(metrics)
    }

    /// Checks limits of a comparison: text, `"ok"`, `"exceeded"` or `"unknown"`, and why.
    fn limits(&self, py: Python<'_>, limits: Vec<String>) -> PyResult<Vec<(String, &'static str, String)>> {
        let parsed: Result<Vec<Limit>, String> = limits.iter().map(|text| Limit::parse(text)).collect();
        let limits = parsed.map_err(TracedropError::new_err)?;
        let (checked, _) = self.actor.ask(py, None, move |state| {
            let Held::Compared(compared) = &state.held else { return Vec::new() };
            let check = |limit: Limit| match limit.check(compared.comparison()) {
                Ok(Outcome::Kept(why)) => (limit.text, "ok", why),
                Ok(Outcome::Passed(why)) => (limit.text, "exceeded", why),
                Err(why) => (limit.text, "unknown", why),
            };
            limits.into_iter().map(check).collect()
        })?;
        Ok(checked)
    }
}

/// Formats of exports: id and title.
#[pyfunction]
pub fn export_formats() -> Vec<(&'static str, &'static str)> {
    EXPORTERS.iter().map(|exporter| (exporter.id, exporter.title)).collect()
}

/// Kinds of events, each with what a row is.
#[pyfunction]
pub fn event_kinds() -> Vec<(&'static str, &'static str)> {
    event_tables::TABLES.iter().map(|table| (table.id, table.about)).collect()
}

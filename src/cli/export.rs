//! `tracedrop export`: a trace in another format.

use crate::cli::arguments::{ExportArgs, read_notes};
use crate::cli::place::{self, Place};
use crate::cli::{content, mrm, now_ms, output, read, usage};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use tracedrop::analysis::Query;
use tracedrop::base::text::visible;
use tracedrop::base::units::counted;
use tracedrop::engine::Shown;
use tracedrop::export::redact::Classes;
use tracedrop::export::{self, EXPORTERS, ExporterInfo, LeftOut, Options};
use tracedrop::import::FormatInfo;
use tracedrop::trace::cut::Cut;

pub fn run(args: &ExportArgs) -> io::Result<ExitCode> {
    let job = match job(args) {
        Ok(job) => job,
        Err(message) => return Ok(usage(message)),
    };
    if args.to == mrm::RUN_DIRECTORY {
        return export_run(args, job);
    }
    let Job { file, format, query, cut, redact } = job;
    let exporter = match exporter(args, &cut, &redact) {
        Ok(exporter) => exporter,
        Err(message) => return Ok(usage(message)),
    };
    let notes = match read_notes(args.notes.as_deref()) {
        Ok(notes) => notes,
        Err(message) => return Ok(usage(message)),
    };
    let Some(mut opened) = read::open_any(&file, format, query, &args.input, &[]) else {
        return Ok(ExitCode::from(1));
    };
    let session = opened.shown();
    if let Some(why) = problem(session, exporter) {
        say!("tracedrop: {}: {why}", output::shown(&args.file));
        return Ok(ExitCode::from(1));
    }
    let mut options = Options { now_ms: now_ms(), cut, redact, notes, ..Options::default() };
    options.with_index = args.with_index;
    let path = if let Place::Path(path) = &file { Some(path.as_path()) } else { None };
    add_checksum(session, exporter, path, &mut options);
    if args.preview {
        return list_outgoing(session, exporter, &options);
    }
    let left_out = match write(session, exporter, &options, args.output.as_deref()) {
        Ok(left_out) => left_out,
        Err(error) => match &args.output {
            Some(path) if output::is_of_output(&error) => {
                output::say_cannot_write(path, &error);
                return Ok(ExitCode::from(2));
            }
            _ => return Err(error),
        },
    };
    for what in &left_out.0 {
        say!("tracedrop: {}: note: not in the export: {what}", output::shown(&args.file));
    }
    Ok(ExitCode::SUCCESS)
}

/// Exports an open document as `args` say; their input options have no effect, and the output goes to `out`. `path` is its file, if
/// it has one. The error is a sentence.
pub fn write_opened(
    args: &ExportArgs,
    session: &mut dyn Shown,
    path: Option<&Path>,
    out: &mut dyn Write,
) -> Result<LeftOut, String> {
    let (cut, redact) = part(args);
    let exporter = exporter(args, &cut, &redact)?;
    let notes = read_notes(args.notes.as_deref())?;
    if let Some(why) = problem(session, exporter) {
        return Err(why);
    }
    let mut options = Options { now_ms: now_ms(), cut, redact, notes, ..Options::default() };
    options.with_index = args.with_index;
    add_checksum(session, exporter, path, &mut options);
    session.export(exporter, &options, out).map_err(|error| error.to_string())
}

/// Reason why a document cannot be exported like that.
fn problem(session: &dyn Shown, exporter: &ExporterInfo) -> Option<String> {
    let is_link = exporter.id == export::link::INFO.id;
    let is_possible = is_link || session.exporters().iter().any(|possible| possible.id == exporter.id);
    (!is_possible).then(|| session.why_not_exported(exporter))
}

/// Adds the checksum of the file, which lets a recipient check that they have the same one.
fn add_checksum(session: &dyn Shown, exporter: &ExporterInfo, path: Option<&Path>, options: &mut Options) {
    let is_link = exporter.id == export::link::INFO.id;
    let was_read = || session.document().is_some_and(|it| it.file.index.is_none() && it.link.is_none());
    if let Some(path) = path.filter(|_| (is_link || takes_index(exporter)) && was_read()) {
        options.link.sha256 = vec![content::sha256(path)];
    }
}

/// Part of the trace and classes of text to redact.
fn part(args: &ExportArgs) -> (Cut, Classes) {
    let cut = Cut { window: args.window, max_depth: args.max_depth };
    let mut redact = Classes::default();
    for class in &args.redact {
        if let Some(is_redacted) = redact.by_name(class) {
            *is_redacted = true;
        }
    }
    (cut, redact)
}

/// Trace to export, and which part of it.
struct Job {
    file: Place,
    /// Format to parse as; detected if `None`.
    format: Option<&'static FormatInfo>,
    query: Query,
    cut: Cut,
    redact: Classes,
}

/// Job that the arguments describe, or the error message.
fn job(args: &ExportArgs) -> Result<Job, String> {
    let format = args.input.format()?;
    let mut places = place::places(std::slice::from_ref(&args.file), args.input.quiet);
    let file = match (places.pop(), places.len()) {
        (Some(file), 0) => file,
        (_, n) => return Err(format!("the input contains {} traces; export one at a time", n + 1)),
    };
    if let Some(output) = &args.output
        && is_same_file(output, &args.file)
    {
        return Err("the output file is the input file".to_string());
    }
    let query = args.tables.query(Query::default().top)?;
    let (cut, redact) = part(args);
    Ok(Job { file, format, query, cut, redact })
}

/// Exports a run directory.
fn export_run(args: &ExportArgs, job: Job) -> io::Result<ExitCode> {
    if !job.cut.is_all() || !job.redact.is_none() || args.preview {
        let what = "--window, --max-depth, --redact and --preview do not apply to run directories";
        return Ok(usage(what.to_string()));
    }
    let Some(session) = read::open(&job.file, job.format, job.query, &args.input) else {
        return Ok(ExitCode::from(1));
    };
    mrm::write_run(&session, &job.file.shown(), args.output.as_deref(), args.run_id.as_deref(), now_ms())
}

/// Exporter for `--to`, or the error message if it does not exist or does not take the other arguments.
fn exporter(args: &ExportArgs, cut: &Cut, redact: &Classes) -> Result<&'static ExporterInfo, String> {
    if args.run_id.is_some() {
        return Err(format!("--run-id needs --to {}", mrm::RUN_DIRECTORY));
    }
    let Some(exporter) = export::find(&args.to) else {
        let mut ids: Vec<&str> = EXPORTERS.iter().map(|exporter| exporter.id).collect();
        ids.push(export::link::INFO.id);
        return Err(format!("unknown format '{}' for --to; supported: {}", args.to, ids.join(", ")));
    };
    if !cut.is_all() && !exporter.takes_part {
        return Err(format!(
            "--window and --max-depth do not apply to '{}', which has no events",
            exporter.id
        ));
    }
    if !redact.is_none() && (!exporter.can_redact || args.with_index) {
        return Err("an index contains the whole trace and cannot be redacted".to_string());
    }
    if args.with_index && !takes_index(exporter) {
        return Err(format!("--with-index needs --to {}", export::tracedrop_file::INFO.id));
    }
    if args.notes.is_some() && !exporter.takes_notes {
        return Err(format!("'{}' does not support notes", exporter.id));
    }
    Ok(exporter)
}

/// Whether the output may contain the index of the trace.
fn takes_index(exporter: &ExporterInfo) -> bool {
    exporter.id == export::tracedrop_file::INFO.id
}

/// Writes to a file, or to standard output if `None`. An existing file is only replaced once the output is complete.
fn write(
    session: &mut dyn Shown,
    exporter: &'static ExporterInfo,
    options: &Options,
    path: Option<&Path>,
) -> io::Result<LeftOut> {
    match path {
        Some(path) => {
            let mut file = output::Replacing::create(path)?;
            let left_out = session.export(exporter, options, &mut file)?;
            file.finish().map(|()| left_out)
        }
        None => {
            let mut out = io::BufWriter::new(output::stdout());
            let left_out = session.export(exporter, options, &mut out)?;
            out.flush()?;
            Ok(left_out)
        }
    }
}

/// Lists the texts of an export: kind, count, text.
fn list_outgoing(
    session: &mut dyn Shown,
    exporter: &ExporterInfo,
    options: &Options,
) -> io::Result<ExitCode> {
    let outgoing = session.outgoing(exporter, options)?;
    let mut out = io::BufWriter::new(output::stdout());
    for (sort, text, n) in &outgoing.texts {
        writeln!(out, "{}\t{n}\t{}", sort.name(), visible(text))?;
    }
    if outgoing.n_more > 0 {
        let more = counted(outgoing.n_more, "more text", "more texts");
        writeln!(out, "({more}, not listed: too many distinct texts)")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Whether both paths lead to the same file, following links.
fn is_same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let id = |path: &Path| std::fs::metadata(path).map(|file| (file.dev(), file.ino()));
        id(a).is_ok_and(|a| id(b).is_ok_and(|b| a == b))
    }
    #[cfg(not(unix))]
    {
        std::fs::canonicalize(a).is_ok_and(|a| std::fs::canonicalize(b).is_ok_and(|b| a == b))
    }
}

//! `tracedrop report`: reports on files, one by one or together.

use crate::cli::arguments::{Color, Format, ReportArgs, Show, read_notes};
use crate::cli::output::{self, LineEnd, terminal_width};
use crate::cli::place::{self, Place};
use crate::cli::read::{self, Opened};
use crate::cli::{pictures, usage, watch};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use tracedrop::analysis::{Query, gpu_breakdown, listed};
use tracedrop::base::text::visible;
use tracedrop::base::units::counted;
use tracedrop::engine::{Session, Shown};
use tracedrop::export::{Options, csv};
use tracedrop::import::FormatInfo;
use tracedrop::report::{Amounts, Notes, Report};

pub fn run(args: &ReportArgs) -> io::Result<ExitCode> {
    if args.list {
        return list_reports();
    }
    let Job { files, format, query, notes } = match job(args) {
        Ok(job) => job,
        Err(message) => return Ok(usage(message)),
    };
    if is_together(args) {
        let mut session = of_several(args, query);
        let all_are_read = read::add_all(&mut session, &files, format, &args.input);
        report_together(args, notes, session, all_are_read)
    } else {
        let wanted = reports_to_make(args);
        let open = |file: &Place| read::open_any(file, format, query.clone(), &args.input, &wanted);
        report_each(args, notes, &files, &open)
    }
}

/// Opens the files of `args` as one document, with the reports and rows that `args` want. `None`, with the reason as a message, if
/// there is nothing to show, or not everything that was asked for.
pub fn open(args: &ReportArgs) -> Option<Opened> {
    let job = job(args).map_err(|message| say!("{message}")).ok()?;
    let mut opened = if is_together(args) {
        let mut session = of_several(args, job.query);
        // One that cannot be read is left out, as the command does; the reason is a message.
        read::add_all(&mut session, &job.files, job.format, &args.input);
        if watch::is_stopped() {
            return None;
        }
        session.end_files().ok()?;
        session.finish_reports();
        Opened::Session(Box::new(session))
    } else {
        let [file] = &job.files[..] else {
            let names: Vec<String> = job.files.iter().map(Place::shown).collect();
            let what = "several traces: open one of them, or all as the ranks of one run, with `together`";
            say!("{what}: {}", names.join(", "));
            return None;
        };
        read::open_any(file, job.format, job.query, &args.input, &reports_to_make(args))?
    };
    keep_wanted(args, opened.shown(), "this trace").ok().map(|()| opened)
}

/// Whether all files are one document: asked for, or parts of fleet datasets.
fn is_together(args: &ReportArgs) -> bool {
    args.together || !args.files.is_empty() && args.files.iter().all(|path| place::is_dataset(path))
}

/// Ids of the reports to make; all if empty. The number of steps comes from one of them.
fn reports_to_make(args: &ReportArgs) -> Vec<String> {
    let mut wanted = args.report.clone();
    if !wanted.is_empty() && args.show == Show::PerStep {
        wanted.push(gpu_breakdown::INFO.id.to_string());
    }
    wanted
}

/// Session for all files of `args` together, with the reports to make.
fn of_several(args: &ReportArgs, query: Query) -> Session {
    let mut session = Session::of_several(query);
    let wanted = reports_to_make(args);
    if !wanted.is_empty() {
        session.make_only(wanted);
    }
    session
}

/// Files to report on, and how.
struct Job {
    files: Vec<Place>,
    /// Format to parse as; detected if `None`.
    format: Option<&'static FormatInfo>,
    query: Query,
    notes: Option<Notes>,
}

/// Job that the arguments describe, or the error message.
fn job(args: &ReportArgs) -> Result<Job, String> {
    if let Some(unknown) = args.report.iter().find(|id| !listed().iter().any(|report| report.0 == **id)) {
        return Err(format!("unknown report '{unknown}'; `tracedrop report --list` lists them"));
    }
    let format = args.input.format()?;
    if args.table.is_some() && !matches!(args.format, Format::Csv) {
        return Err("--table needs --format csv".to_string());
    }
    if let Some(message) = args.format.problem_with_output(args.output.is_some()) {
        return Err(message);
    }
    if args.files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        return Err("standard input can be read only once".to_string());
    }
    let files = place::places(&args.files, args.input.quiet);
    let query = args.tables.query(args.top)?;
    if args.output.is_none()
        && matches!(args.format, Format::Html | Format::Parquet | Format::Svg)
        && files.len() > 1
        && !is_together(args)
    {
        return Err("this format writes one document; pass one trace, or --together".to_string());
    }
    if matches!(args.format, Format::Parquet) && io::stdout().is_terminal() {
        return Err("will not write a zip archive to a terminal; redirect it to a file with >".to_string());
    }
    let notes = read_notes(args.notes.as_deref())?;
    if notes.is_some() && !args.format.exporter().takes_notes {
        return Err("--notes needs --format terminal, markdown, json or html".to_string());
    }
    Ok(Job { files, format, query, notes })
}

/// One report on all files, read into `session`. Unreadable files are named and left out before.
fn report_together(
    args: &ReportArgs,
    notes: Option<Notes>,
    mut session: Session,
    all_are_read: bool,
) -> io::Result<ExitCode> {
    // The reasons are on standard error already.
    if session.end_files().is_err() {
        return Ok(ExitCode::from(1));
    }
    session.finish_reports();
    if let Err(code) = keep_wanted(args, &mut session, "all traces") {
        return Ok(ExitCode::from(code));
    }
    let mut out = io::BufWriter::new(output::stdout());
    if let Some(message) = write_report(args, &notes, &mut session, None, &mut out)? {
        return Ok(usage(message));
    }
    out.flush()?;
    let shortfall = session.shortfall();
    if let Some(why) = &shortfall {
        say!("tracedrop: {why}");
    }
    let is_complete = all_are_read && shortfall.is_none();
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Exit code if a file gave nothing to report on.
const NOTHING: u8 = 1;
/// Exit code on wrong usage.
const WRONG: u8 = 2;

/// Drops unwanted reports and rows, and shows amounts as wanted. If none is left, the error is the exit code, after a message.
fn keep_wanted(args: &ReportArgs, session: &mut dyn Shown, name: &str) -> Result<(), u8> {
    // Totals are those of all rows.
    let bases = session.bases();
    let amounts = args.show.amounts();
    if amounts == Amounts::PerStep && bases.n_steps().is_none() {
        say!("tracedrop: {name}: --show per-step: the trace doesn't have several steps");
        return Err(NOTHING);
    }
    if !args.report.is_empty() {
        session.keep_reports(&|id| args.report.iter().any(|wanted| wanted == id));
        if session.reports().is_empty() {
            say!("tracedrop: {name}: no data for {}", args.report.join(", "));
            return Err(NOTHING);
        }
    }
    keep_rows(args.filter.as_deref(), session, name, args.input.quiet)?;
    if amounts != Amounts::Absolute {
        session.show_amounts(amounts, &bases);
    }
    Ok(())
}

/// Titles of tables in one message.
const MAX_TITLES: usize = 5;

/// Keeps only rows that match a filter, and says which tables that leaves out. If the filter is wrong or there is nothing to filter,
/// the error is the exit code, after a message.
pub fn keep_rows(
    filter: Option<&str>,
    session: &mut dyn Shown,
    name: &str,
    is_quiet: bool,
) -> Result<(), u8> {
    let Some(filter) = filter else { return Ok(()) };
    if session.reports().iter().all(|report| report.tables().next().is_none()) {
        say!("tracedrop: {name}: --where filters rows of tables, and the chosen reports have none");
        return Err(NOTHING);
    }
    match session.keep_rows(filter) {
        Ok(left_out) => {
            if !left_out.is_empty() && !is_quiet {
                let n_tables = counted(left_out.len() as u64, "table", "tables");
                let titles: Vec<String> =
                    left_out.iter().take(MAX_TITLES).map(|title| visible(title)).collect();
                let more = if left_out.len() > MAX_TITLES { ", …" } else { "" };
                let titles = titles.join(", ");
                say!(
                    "tracedrop: {name}: note: --where leaves out {n_tables} without its columns or units: {titles}{more}"
                );
            }
            Ok(())
        }
        Err(error) => {
            say!("tracedrop: {name}: --where: {}", error.what);
            say!("  {filter}");
            let column = |byte: usize| filter.get(..byte).map_or(0, |text| text.chars().count());
            let (from, to) = (column(error.at.start), column(error.at.end));
            say!("  {}{}", " ".repeat(from), "^".repeat((to - from).max(1)));
            Err(WRONG)
        }
    }
}

/// One report per file.
fn report_each(
    args: &ReportArgs,
    notes: Option<Notes>,
    files: &[Place],
    open: &dyn Fn(&Place) -> Option<Opened>,
) -> io::Result<ExitCode> {
    let mut out = io::BufWriter::new(output::stdout());
    let mut worst = 0;
    let several = files.len() > 1;
    // Several documents in a row are not valid JSON.
    let as_list = several && matches!(args.format, Format::Json);
    let as_csv = several && matches!(args.format, Format::Csv);
    // Of the last table in CSV.
    let mut header = String::new();
    let mut n_written = 0;
    for (n, file) in files.iter().enumerate() {
        let Some(mut opened) = open(file) else {
            worst = worst.max(NOTHING);
            continue;
        };
        let session = opened.shown();
        if let Err(code) = keep_wanted(args, session, &file.shown()) {
            worst = worst.max(code);
            continue;
        }
        if several && matches!(args.format, Format::Terminal) {
            writeln!(out, "{}==> {} <==", if n > 0 { "\n" } else { "" }, file.shown())?;
        }
        if as_list {
            out.write_all(if n_written == 0 { b"[\n" } else { b",\n" })?;
        }
        if as_csv && args.table.is_none() && n_written > 0 {
            out.write_all(b"\r\n")?;
        }
        let shown = file.shown();
        let in_stream = as_csv.then_some((shown.as_str(), &mut header));
        match write_report(args, &notes, session, in_stream, &mut out)? {
            None => n_written += 1,
            Some(message) if several => {
                say!("tracedrop: {shown}: {message}");
                worst = worst.max(WRONG);
                continue;
            }
            Some(message) => return Ok(usage(message)),
        }
        if let Some(why) = session.shortfall() {
            say!("tracedrop: {shown}: {why}");
            worst = worst.max(NOTHING);
        }
    }
    // What some file has is not asked for wrongly.
    let code = if n_written > 0 { worst.min(NOTHING) } else { worst };
    if as_list {
        out.write_all(if n_written == 0 { b"[]\n" } else { b"]\n" })?;
    }
    out.flush()?;
    Ok(ExitCode::from(code))
}

fn list_reports() -> io::Result<ExitCode> {
    let mut out = output::stdout();
    let reports = listed();
    let width = reports.iter().map(|report| report.0.len()).max().unwrap_or(0);
    for (id, title) in reports {
        writeln!(out, "{id:width$}  {title}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the reports of one session, or one table. The message if there is no such table. `in_stream`: name of the file, where those of
/// several go into one CSV, and the header of the table before.
fn write_report(
    args: &ReportArgs,
    notes: &Option<Notes>,
    session: &mut dyn Shown,
    in_stream: Option<(&str, &mut String)>,
    out: &mut dyn Write,
) -> io::Result<Option<String>> {
    let color =
        args.color == Color::Auto && io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let width = args.width.map_or_else(terminal_width, usize::from);
    let options = Options {
        width: width as u32,
        color,
        notes: notes.clone(),
        own_layout: args.filter.is_some() || args.show != Show::Absolute,
        ..Options::default()
    };
    if let Some(folder) = &args.output {
        // Charts of several files have the same names.
        let first = session.document().map(|document| document.file.name).unwrap_or_default();
        let prefix = if args.files.len() > 1 && !is_together(args) { first.as_str() } else { "" };
        return pictures::write(session.reports(), folder, prefix, args.input.quiet).map(|()| None);
    }
    let mut out = LineEnd { inner: out, last: b'\n' };
    match &args.table {
        Some(id) => {
            let Some(table) = session.table_by_id(id) else { return Ok(Some(no_table(session, id))) };
            let text = match in_stream {
                Some((file, header)) => csv::table_of_file(table, file, header),
                None => csv::table_csv(table, &(0..table.n_rows() as u32).collect::<Vec<_>>()),
            };
            out.write_all(text.as_bytes())?;
        }
        None => drop(session.export(args.format.exporter(), &options, &mut out)?),
    }
    if args.table.is_none() && matches!(args.format, Format::Json | Format::Csv) && !args.input.quiet {
        for undrawn in session.reports().iter().filter_map(Report::undrawn) {
            say!("tracedrop: note: {undrawn}");
        }
    }
    // The reference writes JSON without a final line end; a shell needs one.
    if out.last != b'\n' && args.format.exporter().is_text() {
        out.write_all(b"\n")?;
    }
    Ok(None)
}

fn no_table(session: &dyn Shown, id: &str) -> String {
    let ids: Vec<&str> =
        session.reports().iter().flat_map(|report| report.tables()).map(|table| table.id.as_ref()).collect();
    match &ids[..] {
        [] => format!("unknown table '{id}'; there are no tables in this report"),
        ids => format!("unknown table '{id}'; tables in this report: {}", ids.join(", ")),
    }
}

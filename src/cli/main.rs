//! The `tracedrop` command: the same library as the page, for local files.
//!
//! Reports and exports go to standard output, messages to standard error.
//! Exit codes: 0 on success; 1 if a file gave nothing to report on or violates a check; 2 on wrong usage; 3 if a comparison
//! exceeded a limit.

/// Prints a line to standard error. A closed pipe, as with `2>&1 | head`, is not a failure.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

mod compare;
mod content;
mod crew;
mod mrm;
mod output;
mod part;
mod pictures;
mod place;
mod read;

use clap::{Args, Parser, Subcommand, ValueEnum};
use place::Place;
use read::Opened;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;
use tracedrop::analysis::memory_query::MemoryQuery;
use tracedrop::analysis::{Query, listed};
use tracedrop::base::text::visible;
use tracedrop::base::units::counted;
use tracedrop::engine::{self, Session, Shown};
use tracedrop::export::redact::{CLASSES, Classes};
use tracedrop::export::{self, EXPORTERS, ExporterInfo, Options};
use tracedrop::gpu::{kernels, peaks};
use tracedrop::import::{FORMATS, memray, perf_text};
use tracedrop::memory::Rules;
use tracedrop::memory::telemetry::RuleSet;
use tracedrop::report::Notes;
use tracedrop::trace::cut::Cut;

/// See what's slow in a trace: reports, comparisons and exports.
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print reports on traces.
    Report(ReportArgs),
    /// Compare two traces, or two groups of traces.
    Compare(compare::CompareArgs),
    /// Convert a trace to another format.
    Export(ExportArgs),
    /// List supported input and output formats.
    Formats,
    /// Check and plan mrm-trace experiment configurations.
    Mrm {
        #[command(subcommand)]
        command: mrm::MrmCommand,
    },
    /// Print a built-in table: kernel classification rules, GPU peaks, or memory kind rules.
    Rules {
        #[arg(value_enum)]
        table: RuleTable,
    },
}

#[derive(Args)]
struct ReportArgs {
    /// Traces, plain or compressed (gzip, zstd, lz4); `-` for standard input, a folder or zip archive for all traces in it.
    #[arg(required_unless_present = "list", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print only this report, by id; repeatable.
    #[arg(long, value_name = "ID")]
    report: Vec<String>,
    /// Print only matching rows: words, 'self>1ms', 'name:/gemm/', 'phase=decode'; see docs/filter.md.
    #[arg(long = "where", value_name = "FILTER")]
    filter: Option<String>,
    #[command(flatten)]
    tables: ReportTables,
    /// List report ids.
    #[arg(long)]
    list: bool,
    /// Report on all files as one run (for instance the ranks of a distributed run), not on each file.
    #[arg(long)]
    together: bool,
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    /// Rows in lists of slowest and longest items; 0 drops the list of slowest forward passes.
    #[arg(long, value_name = "K", default_value_t = Query::default().top)]
    top: u32,
    /// Width of terminal output in columns [default: that of the terminal, else 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..))]
    width: Option<u16>,
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
    /// With `--format svg`: folder for the charts, one file each; created if missing.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// With `--format csv`: print only this table, by id, as plain CSV.
    #[arg(long, value_name = "ID")]
    table: Option<String>,
    /// Title and notes to include, as JSON: {"title", "notes": [{"text", "on": "whole"}]}; see docs/tracedrop-format.md.
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
    #[command(flatten)]
    input: InputArgs,
}

/// Custom tables and settings of reports.
#[derive(Args)]
struct ReportTables {
    /// Custom kernel rules, applied before the built-in ones; `tracedrop rules kernels` prints those.
    #[arg(long, value_name = "FILE")]
    kernel_rules: Option<PathBuf>,
    /// Peak FLOP/s and bandwidth of GPUs, applied before the built-in ones; `tracedrop rules peaks` prints those.
    #[arg(long, value_name = "FILE")]
    peaks: Option<PathBuf>,
    /// Range for the critical path, by part of its name: "ProfilerStep", "ProfilerStep @ 2" for the third match,
    /// "ProfilerStep @ 2..4" for three matches [default: the longest step].
    #[arg(long, value_name = "NAME")]
    path_of: Option<String>,
    /// Phases of a run, as JSON, for memory accesses: [{"phase", "start_ns", "end_ns"}], or engine events:
    /// [{"event": "generation_start", "wall_ns", "mono_ns"}]. With a clock other than the trace's:
    /// {"offset_ns", "clock": "wall" or "monotonic", "phases" or "events": [...]}.
    #[arg(long, value_name = "FILE")]
    phases: Option<PathBuf>,
    /// What to do with memory accesses of unknown kind.
    #[arg(long, value_enum, default_value_t = Unknown::Keep)]
    unknown: Unknown,
    /// Memory kind rules, as JSON, replacing the built-in ones; `tracedrop rules memory` prints those.
    #[arg(long, value_name = "FILE")]
    memory_rules: Option<PathBuf>,
    /// Address ranges and their kinds, as JSON: [{"addr_start", "addr_end", "region_type"}].
    #[arg(long, value_name = "FILE")]
    address_ranges: Option<PathBuf>,
    /// Thresholds of MRM suitability: ratio and seconds for high, then for medium.
    #[arg(long, value_name = "R,S,R,S")]
    suitability: Option<String>,
    /// Show passwords, tokens and keys instead of hiding them.
    #[arg(long)]
    show_secrets: bool,
    /// Rules for contaminated runs: those of mrm-trace 0.1.0 (seed), or of later versions.
    #[arg(long, value_enum, default_value_t = ValidityRules::Seed)]
    validity_rules: ValidityRules,
}

#[derive(Args)]
struct ExportArgs {
    /// The trace, or a zip archive with one; `-` for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Output format; see `tracedrop formats`.
    #[arg(long, value_name = "FORMAT")]
    to: String,
    /// Output file [default: standard output]; for `mrm-run` a folder, or a name ending in `.zip` for an archive.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// With `--to mrm-run`: run id [default: that of the trace, else the file name].
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
    /// Export only this time range: milliseconds from the start of the trace, or with a unit (`1.5s..2s`, `300us..`).
    #[arg(long, value_name = "START..END", value_parser = part::window)]
    window: Option<(i64, i64)>,
    /// Export only slices nested less than N levels deep.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_depth: Option<u32>,
    /// Replace these classes of text by placeholders: paths, hosts, symbols, arguments, prompts.
    #[arg(long, value_name = "CLASS,…", value_delimiter = ',', value_parser = CLASSES)]
    redact: Vec<String>,
    /// Title and notes to include, as JSON: {"title", "notes": [{"text", "on": "whole"}]}.
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
    /// With `--to tracedrop`: include the index of the trace, so that the file works without the trace.
    #[arg(long)]
    with_index: bool,
    /// Write nothing; list every text that would be exported, with its kind and count.
    #[arg(long, conflicts_with = "output")]
    preview: bool,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    tables: ReportTables,
}

#[derive(Args)]
pub struct InputArgs {
    /// Parse as this format instead of detecting it.
    #[arg(long = "from", value_name = "FORMAT")]
    from: Option<String>,
    /// Parse as `perf script` text, with this grammar.
    #[arg(long, value_enum, conflicts_with = "from", value_name = "GRAMMAR")]
    perf_grammar: Option<PerfGrammar>,
    /// Parse as a memray capture, with this source of timestamps for allocations, which have none.
    #[arg(long, value_enum, conflicts_with_all = ["from", "perf_grammar"], value_name = "CLOCK")]
    memray_clock: Option<MemrayClock>,
    /// Keep at most this many events in memory; beyond it totals stay exact, but only the longest slices are kept
    /// [default: no limit].
    #[arg(long, value_name = "EVENTS")]
    pub hold: Option<usize>,
    /// Report only on this time range: milliseconds from the start of the trace, or with a unit (`1.5s..2s`, `300us..`).
    #[arg(long, value_name = "START..END", value_parser = part::window)]
    pub only: Option<(i64, i64)>,
    /// Do not print parsing issues and notes.
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Terminal,
    #[value(alias = "md")]
    Markdown,
    Json,
    Csv,
    /// One self-contained web page that works offline.
    Html,
    /// One Parquet file per table, in a zip archive.
    Parquet,
    /// Chart of the first report, or of the one --report names; with `--output`, all charts as files in that folder.
    Svg,
}

/// Built-in tables, which options replace or extend.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RuleTable {
    /// Kernel names and their classes; for --kernel-rules.
    Kernels,
    /// GPUs and their peaks; for --peaks.
    Peaks,
    /// Memory accesses and their kinds; for --memory-rules.
    Memory,
}

/// Treatment of memory accesses of unknown kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Unknown {
    /// Label them unknown.
    Keep,
    /// Drop them.
    Skip,
    /// Stop at the first one.
    Error,
    /// Label them runtime.
    Runtime,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ValidityRules {
    Seed,
    Later,
}

/// Grammar of `perf script` lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum PerfGrammar {
    /// Any set of printed fields.
    Tolerant,
    /// As in mrm-trace 0.1.0.
    Seed,
}

/// Source of the timestamps of allocations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum MemrayClock {
    /// The last memory sample before each allocation.
    Records,
    /// All 0, as in mrm-trace 0.1.0.
    Seed,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Never,
}

impl Format {
    /// Error message if `--output` does not fit this format.
    fn is_without_place(self, has_folder: bool) -> Option<String> {
        let is_wrong = has_folder && self != Format::Svg;
        is_wrong
            .then(|| "--output needs --format svg; other formats are written to standard output".to_string())
    }

    fn exporter(self) -> &'static ExporterInfo {
        match self {
            Format::Terminal => &export::terminal::INFO,
            Format::Markdown => &export::markdown::INFO,
            Format::Json => &export::json::INFO,
            Format::Csv => &export::csv::INFO,
            Format::Parquet => &export::parquet::INFO,
            Format::Html => &export::html::INFO,
            Format::Svg => &export::svg::INFO,
        }
    }
}

/// Writer that remembers its last byte.
struct LineEnd<W> {
    inner: W,
    last: u8,
}

impl<W: Write> Write for LineEnd<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        if let Some(last) = bytes[..n].last() {
            self.last = *last;
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match &cli.command {
        Command::Report(args) => report(args),
        Command::Compare(args) => compare::run(args),
        Command::Export(args) => write_export(args),
        Command::Formats => formats(),
        Command::Mrm { command } => mrm::run(command),
        Command::Rules { table } => print_rules(*table),
    };
    // Flushed here, since an error on exit would be lost.
    match outcome.and_then(|code| output::stdout().flush().map(|()| code)) {
        Ok(code) => code,
        // A reader such as `head` that stops early is no error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            say!("tracedrop: {error}");
            ExitCode::from(if output::is_of_output(&error) { 2 } else { 1 })
        }
    }
}

/// Milliseconds since the Unix epoch; 0 if the clock is before it.
fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}

/// Prints a usage error the way clap does.
fn usage(message: String) -> ExitCode {
    say!("error: {message}\n\nFor more information, try '--help'.");
    ExitCode::from(2)
}

fn report(args: &ReportArgs) -> io::Result<ExitCode> {
    if args.list {
        return list_reports();
    }
    if let Some(unknown) = args.report.iter().find(|id| !listed().iter().any(|report| report.0 == **id)) {
        return Ok(usage(format!("unknown report '{unknown}'; `tracedrop report --list` lists them")));
    }
    let format = match args.input.format() {
        Ok(format) => format,
        Err(message) => return Ok(usage(message)),
    };
    if args.table.is_some() && !matches!(args.format, Format::Csv) {
        return Ok(usage("--table needs --format csv".to_string()));
    }
    if let Some(message) = args.format.is_without_place(args.output.is_some()) {
        return Ok(usage(message));
    }
    if args.files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        return Ok(usage("standard input can be read only once".to_string()));
    }
    let files = place::places(&args.files, args.input.quiet);
    let query = match args.tables.query(args.top) {
        Ok(query) => query,
        Err(message) => return Ok(usage(message)),
    };
    if args.output.is_none()
        && matches!(args.format, Format::Html | Format::Parquet | Format::Svg)
        && files.len() > 1
        && !args.together
    {
        let what = "this format writes one document; pass one trace, or --together";
        return Ok(usage(what.to_string()));
    }
    if matches!(args.format, Format::Parquet) && io::stdout().is_terminal() {
        return Ok(usage(
            "will not write a zip archive to a terminal; redirect it to a file with >".to_string(),
        ));
    }
    let notes = match read_notes(args.notes.as_deref()) {
        Ok(notes) => notes,
        Err(message) => return Ok(usage(message)),
    };
    if notes.is_some() && !args.format.exporter().takes_notes {
        return Ok(usage("--notes needs --format terminal, markdown, json or html".to_string()));
    }
    if args.together {
        let open = |file: &Place| read::open(file, format, query.clone(), &args.input);
        report_together(args, notes, &files, &open)
    } else {
        let open = |file: &Place| read::open_any(file, format, query.clone(), &args.input, &args.report);
        report_each(args, notes, &files, &open)
    }
}

/// Notes from a file, or the error message.
fn read_notes(path: Option<&Path>) -> Result<Option<Notes>, String> {
    let Some(path) = path else { return Ok(None) };
    let bytes = std::fs::read(path).map_err(|error| format!("--notes: {}: {error}", read::shown(path)))?;
    let notes = export::notes::of_file(&bytes);
    notes.map(Some).map_err(|why| format!("--notes: {}: {why}", read::shown(path)))
}

/// One report on all files. Unreadable files are named and left out.
fn report_together(
    args: &ReportArgs,
    notes: Option<Notes>,
    files: &[Place],
    open: &dyn Fn(&Place) -> Option<Session>,
) -> io::Result<ExitCode> {
    let sessions: Vec<Session> = files.iter().filter_map(open).collect();
    let n_read = sessions.len();
    if n_read == 0 {
        return Ok(ExitCode::from(1));
    }
    let mut session = Session::together(sessions).map_err(io::Error::other)?;
    if !keep_wanted(args, &mut session, "all traces") {
        return Ok(ExitCode::from(1));
    }
    let mut out = io::BufWriter::new(output::stdout());
    if let Some(wrong) = write_report(args, &notes, &mut session, &mut out)? {
        return Ok(wrong);
    }
    out.flush()?;
    let shortfall = session.shortfall();
    if let Some(why) = &shortfall {
        say!("tracedrop: {why}");
    }
    let is_complete = n_read == files.len() && shortfall.is_none();
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Drops unwanted reports. Prints a message and returns `false` if none is left.
fn keep_wanted(args: &ReportArgs, session: &mut dyn Shown, name: &str) -> bool {
    if !args.report.is_empty() {
        session.keep_reports(&|id| args.report.iter().any(|wanted| wanted == id));
        if session.reports().is_empty() {
            say!("tracedrop: {name}: no data for {}", args.report.join(", "));
            return false;
        }
    }
    keep_rows(args.filter.as_deref(), session, name)
}

/// Keeps only rows that match a filter. Prints a message and returns `false` if the filter is wrong.
pub fn keep_rows(filter: Option<&str>, session: &mut dyn Shown, name: &str) -> bool {
    let Some(filter) = filter else { return true };
    match session.keep_rows(filter) {
        Ok(()) => true,
        Err(error) => {
            say!("tracedrop: {name}: --where: {}", error.what);
            say!("  {filter}");
            let column = |byte: usize| filter.get(..byte).map_or(0, |text| text.chars().count());
            let (from, to) = (column(error.at.start), column(error.at.end));
            say!("  {}{}", " ".repeat(from), "^".repeat((to - from).max(1)));
            false
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
    let mut code = ExitCode::SUCCESS;
    let several = files.len() > 1;
    // Several documents in a row are not valid JSON.
    let as_list = several && matches!(args.format, Format::Json);
    let mut n_written = 0;
    for (n, file) in files.iter().enumerate() {
        let Some(mut opened) = open(file) else {
            code = ExitCode::from(1);
            continue;
        };
        let session = opened.shown();
        if !keep_wanted(args, session, &file.shown()) {
            code = ExitCode::from(1);
            continue;
        }
        if several && matches!(args.format, Format::Terminal) {
            writeln!(out, "{}==> {} <==", if n > 0 { "\n" } else { "" }, file.shown())?;
        }
        if as_list {
            out.write_all(if n_written == 0 { b"[\n" } else { b",\n" })?;
        }
        n_written += 1;
        if let Some(wrong) = write_report(args, &notes, session, &mut out)? {
            return Ok(wrong);
        }
        if let Some(why) = session.shortfall() {
            say!("tracedrop: {}: {why}", file.shown());
            code = ExitCode::from(1);
        }
    }
    if as_list {
        out.write_all(if n_written == 0 { b"[]\n" } else { b"]\n" })?;
    }
    out.flush()?;
    Ok(code)
}

impl ReportTables {
    /// The query, or the error message if a custom table cannot be read.
    fn query(&self, top: u32) -> Result<Query, String> {
        let text = |path: &Option<PathBuf>| match path {
            Some(path) => {
                std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
            }
            None => Ok(String::new()),
        };
        let unknown = match self.unknown {
            Unknown::Keep => "keep",
            Unknown::Skip => "skip",
            Unknown::Error => "error",
            Unknown::Runtime => "runtime",
        };
        let memory = MemoryQuery {
            phases: text(&self.phases)?,
            rules: text(&self.memory_rules)?,
            ranges: text(&self.address_ranges)?,
            unknown: unknown.to_string(),
            thresholds: self.suitability.clone().unwrap_or_default(),
            validity_rules: match self.validity_rules {
                ValidityRules::Seed => RuleSet::Seed,
                ValidityRules::Later => RuleSet::Later,
            },
        };
        if let Some((what, why)) = memory.problem_by_name() {
            let (option, file) = match what {
                "phases" => ("--phases", &self.phases),
                "rules" => ("--memory-rules", &self.memory_rules),
                "ranges" => ("--address-ranges", &self.address_ranges),
                "thresholds" => ("--suitability", &None),
                _ => (what, &None),
            };
            let file = file.as_ref().map(|path| format!("{}: ", read::shown(path))).unwrap_or_default();
            return Err(format!("{option}: {file}{why}"));
        }
        let query = Query {
            top,
            kernel_rules: text(&self.kernel_rules)?,
            peaks: text(&self.peaks)?,
            memory,
            path: self.path_of.clone().unwrap_or_default(),
            show_secrets: self.show_secrets,
        };
        // A custom table with errors is refused, not ignored.
        if let Err(problems) = kernels::Rules::builtin().with(&query.kernel_rules) {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return Err(format!("--kernel-rules: {}", problems.join("\n")));
        }
        peaks::Peaks::with(&query.peaks).map_err(|problem| format!("--peaks: {problem}"))?;
        Ok(query)
    }
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

fn print_rules(table: RuleTable) -> io::Result<ExitCode> {
    let text = match table {
        RuleTable::Kernels => kernels::BUILTIN.into(),
        RuleTable::Peaks => peaks::BUILTIN.into(),
        RuleTable::Memory => std::borrow::Cow::from(Rules::builtin_json()),
    };
    output::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the reports of one session, or one table. `Some` if there is no such table.
fn write_report(
    args: &ReportArgs,
    notes: &Option<Notes>,
    session: &mut dyn Shown,
    out: &mut dyn Write,
) -> io::Result<Option<ExitCode>> {
    let color =
        args.color == Color::Auto && io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let width = args.width.map_or_else(terminal_width, usize::from);
    let options = Options {
        width: width as u32,
        color,
        notes: notes.clone(),
        own_layout: args.filter.is_some(),
        ..Options::default()
    };
    if let Some(folder) = &args.output {
        // Charts of several files have the same names.
        let first = session.document().map(|document| document.file.name).unwrap_or_default();
        let prefix = if args.files.len() > 1 && !args.together { first.as_str() } else { "" };
        return pictures::write(session.reports(), folder, prefix, args.input.quiet).map(|()| None);
    }
    let mut out = LineEnd { inner: out, last: b'\n' };
    match &args.table {
        Some(id) => match session.table_csv(id) {
            Some(text) => out.write_all(text.as_bytes())?,
            None => return Ok(Some(usage(no_table(session, id)))),
        },
        None => drop(session.export(args.format.exporter(), &options, &mut out)?),
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
    format!("unknown table '{id}'; tables in this report: {}", ids.join(", "))
}

fn terminal_width() -> usize {
    match console::Term::stdout().size_checked() {
        Some((_, columns)) => usize::from(columns).max(40),
        None => 100,
    }
}

fn write_export(args: &ExportArgs) -> io::Result<ExitCode> {
    let format = match args.input.format() {
        Ok(format) => format,
        Err(message) => return Ok(usage(message)),
    };
    let mut places = place::places(std::slice::from_ref(&args.file), args.input.quiet);
    let file = match (places.pop(), places.len()) {
        (Some(file), 0) => file,
        (_, n) => {
            return Ok(usage(format!("the input contains {} traces; export one at a time", n + 1)));
        }
    };
    if let Some(output) = &args.output
        && is_same_file(output, &args.file)
    {
        return Ok(usage("the output file is the input file".to_string()));
    }
    let query = match args.tables.query(Query::default().top) {
        Ok(query) => query,
        Err(message) => return Ok(usage(message)),
    };
    let cut = Cut { window: args.window, max_depth: args.max_depth };
    let mut redact = Classes::default();
    for class in &args.redact {
        if let Some(is_redacted) = redact.by_name(class) {
            *is_redacted = true;
        }
    }
    if args.to == mrm::RUN_DIRECTORY {
        if !cut.is_all() || !redact.is_none() || args.preview {
            let what = "--window, --max-depth, --redact and --preview do not apply to run directories";
            return Ok(usage(what.to_string()));
        }
        let Some(session) = read::open(&file, format, query, &args.input) else {
            return Ok(ExitCode::from(1));
        };
        return mrm::write_run(
            &session,
            &file.shown(),
            args.output.as_deref(),
            args.run_id.as_deref(),
            now_ms(),
        );
    }
    if args.run_id.is_some() {
        return Ok(usage(format!("--run-id needs --to {}", mrm::RUN_DIRECTORY)));
    }
    let Some(exporter) = export::find(&args.to) else {
        let mut ids: Vec<&str> = EXPORTERS.iter().map(|exporter| exporter.id).collect();
        ids.push(export::link::INFO.id);
        return Ok(usage(format!("unknown format '{}' for --to; supported: {}", args.to, ids.join(", "))));
    };
    if !cut.is_all() && !exporter.takes_part {
        return Ok(usage(format!(
            "--window and --max-depth do not apply to '{}', which has no events",
            exporter.id
        )));
    }
    let takes_index = exporter.id == export::tracedrop_file::INFO.id;
    if !redact.is_none() && (!exporter.can_redact || args.with_index) {
        return Ok(usage("an index contains the whole trace and cannot be redacted".to_string()));
    }
    if args.with_index && !takes_index {
        return Ok(usage(format!("--with-index needs --to {}", export::tracedrop_file::INFO.id)));
    }
    if args.notes.is_some() && !exporter.takes_notes {
        return Ok(usage(format!("'{}' does not support notes", exporter.id)));
    }
    let notes = match read_notes(args.notes.as_deref()) {
        Ok(notes) => notes,
        Err(message) => return Ok(usage(message)),
    };
    let Some(mut opened) = read::open_any(&file, format, query, &args.input, &[]) else {
        return Ok(ExitCode::from(1));
    };
    let session = opened.shown();
    let is_link = exporter.id == export::link::INFO.id;
    if !is_link && session.exporters().iter().all(|possible| possible.id != exporter.id) {
        let why = session.why_not_exported(exporter);
        say!("tracedrop: {}: {why}", read::shown(&args.file));
        return Ok(ExitCode::from(1));
    }
    let mut options = Options { now_ms: now_ms(), cut, redact, notes, ..Options::default() };
    options.with_index = args.with_index;
    // Lets a recipient check that they have the same file.
    let was_read = session.document().is_some_and(|it| it.file.index.is_none() && it.link.is_none());
    if let (Place::Path(path), true) = (&file, was_read && (is_link || takes_index)) {
        options.link.sha256 = vec![read::sha256(path)];
    }
    if args.preview {
        return list_outgoing(session, exporter, &options);
    }
    let left_out = match &args.output {
        Some(path) => {
            let written = output::Replacing::create(path).and_then(|mut file| {
                let left_out = session.export(exporter, &options, &mut file)?;
                file.finish().map(|()| left_out)
            });
            match written {
                Ok(left_out) => left_out,
                Err(error) if output::is_of_output(&error) => {
                    output::say_cannot_write(path, &error);
                    return Ok(ExitCode::from(2));
                }
                Err(error) => return Err(error),
            }
        }
        None => {
            let mut out = io::BufWriter::new(output::stdout());
            let left_out = session.export(exporter, &options, &mut out)?;
            out.flush()?;
            left_out
        }
    };
    for what in &left_out.0 {
        say!("tracedrop: {}: note: not in the export: {what}", read::shown(&args.file));
    }
    Ok(ExitCode::SUCCESS)
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

fn formats() -> io::Result<ExitCode> {
    let mut out = output::stdout();
    writeln!(out, "Input formats (plain or compressed; detected by content):")?;
    for format in engine::formats() {
        writeln!(out, "  {:<16} {}; from {}", format.id, format.title, format.producers)?;
    }
    writeln!(out, "\nOutput formats (`tracedrop export --to ID`):")?;
    for exporter in EXPORTERS {
        let needs =
            if exporter.needs.is_empty() { String::new() } else { format!("; needs {}", exporter.needs) };
        writeln!(out, "  {:<16} {}{needs}", exporter.id, exporter.title)?;
    }
    writeln!(out, "  {:<16} {}", export::link::INFO.id, export::link::INFO.title)?;
    Ok(ExitCode::SUCCESS)
}

impl InputArgs {
    /// Format to parse as, or the error message if its name is unknown.
    fn format(&self) -> Result<Option<&'static tracedrop::import::FormatInfo>, String> {
        match self.perf_grammar {
            Some(PerfGrammar::Tolerant) => return Ok(Some(&perf_text::INFO)),
            Some(PerfGrammar::Seed) => return Ok(Some(&perf_text::SEED_INFO)),
            None => {}
        }
        match self.memray_clock {
            Some(MemrayClock::Records) => return Ok(Some(&memray::INFO)),
            Some(MemrayClock::Seed) => return Ok(Some(&memray::SEED_INFO)),
            None => {}
        }
        let Some(id) = &self.from else { return Ok(None) };
        match FORMATS.iter().find(|format| format.id == id) {
            Some(format) => Ok(Some(format)),
            None => {
                let ids: Vec<&str> = FORMATS.iter().map(|format| format.id).collect();
                Err(format!("unknown format '{id}' for --from; supported: {}", ids.join(", ")))
            }
        }
    }
}

//! The `tracedrop` command: the same library as the page, on files of this computer.
//!
//! Reports and exports go to standard output, everything about them to standard error.
//! Ends with 0; 1 when a file gave nothing to report on, or has in it what may not be there; 2 on wrong usage; 3 when a limit of a comparison was passed.

/// Says a line on standard error. That nobody reads it any more, as behind `2>&1 | head`, is no failure.
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
use tracedrop::engine::{self, Session, Shown};
use tracedrop::export::redact::{CLASSES, Classes};
use tracedrop::export::{self, EXPORTERS, ExporterInfo, Options};
use tracedrop::gpu::{kernels, peaks};
use tracedrop::import::{FORMATS, memray, perf_text};
use tracedrop::memory::Rules;
use tracedrop::memory::telemetry::RuleSet;
use tracedrop::report::Notes;
use tracedrop::trace::cut::Cut;

/// Reads traces and says what is slow.
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the reports of traces.
    Report(ReportArgs),
    /// Say what changed from one trace to another, or between two groups of traces.
    Compare(compare::CompareArgs),
    /// Write a trace in another format.
    Export(ExportArgs),
    /// List the formats that are read and written.
    Formats,
    /// Configurations of experiments on memory accesses.
    Mrm {
        #[command(subcommand)]
        command: mrm::MrmCommand,
    },
    /// Print a table that comes along: how kernels are classified, what GPUs can do, how kinds of memory are told.
    Rules {
        #[arg(value_enum)]
        table: RuleTable,
    },
}

#[derive(Args)]
struct ReportArgs {
    /// Traces, plain or packed with gzip or zstd; `-` is standard input, a folder or a zip archive stands for the traces in it.
    #[arg(required_unless_present = "list", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only this report, by its id; may be given several times.
    #[arg(long, value_name = "ID")]
    report: Vec<String>,
    /// Only rows that match, in all tables that have the columns it names: words, 'self>1ms', 'name:/gemm/', 'phase=decode'; see docs/filter.md.
    #[arg(long = "where", value_name = "FILTER")]
    filter: Option<String>,
    #[command(flatten)]
    tables: ReportTables,
    /// List the reports there are, by id.
    #[arg(long)]
    list: bool,
    /// One report on all files together, as on the ranks of a distributed run, instead of one on each.
    #[arg(long)]
    together: bool,
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    /// Length of the lists of slowest and longest; 0 leaves out the list of slowest forward passes.
    #[arg(long, value_name = "K", default_value_t = Query::default().top)]
    top: u32,
    /// Columns of the terminal layout [default: the terminal's, else 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..))]
    width: Option<u16>,
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
    /// With `--format svg`: the folder for the pictures, one file each; it is made if it is not there.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// With `--format csv`: only this table, by its id, as one plain CSV.
    #[arg(long, value_name = "ID")]
    table: Option<String>,
    /// A title and notes, as JSON: {"title", "notes": [{"text", "on": "whole"}]}; `docs/tracedrop-format.md` says more.
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
    #[command(flatten)]
    input: InputArgs,
}

/// Tables of one's own.
#[derive(Args)]
struct ReportTables {
    /// Rules for classes of GPU kernels, before those that come along; `tracedrop rules kernels` prints those.
    #[arg(long, value_name = "FILE")]
    kernel_rules: Option<PathBuf>,
    /// What GPUs can do, before what comes along; `tracedrop rules peaks` prints that.
    #[arg(long, value_name = "FILE")]
    peaks: Option<PathBuf>,
    /// Which range the critical path is of, by a part of its name: "ProfilerStep", "ProfilerStep @ 2" for the third one,
    /// "ProfilerStep @ 2..4" for three of them [default: the longest step].
    #[arg(long, value_name = "NAME")]
    path_of: Option<String>,
    /// When which phase of a run was, as JSON: [{"phase", "start_ns", "end_ns"}], or events of its engine:
    /// [{"event": "generation_start", "wall_ns", "mono_ns"}]. By another clock than the trace's:
    /// {"offset_ns", "clock": "wall" or "monotonic", "phases" or "events": [...]}. For accesses to memory.
    #[arg(long, value_name = "FILE")]
    phases: Option<PathBuf>,
    /// What becomes of accesses to memory of no known kind.
    #[arg(long, value_enum, default_value_t = Unknown::Keep)]
    unknown: Unknown,
    /// Rules for kinds of memory, as JSON, in place of those that come along; `tracedrop rules memory` prints those.
    #[arg(long, value_name = "FILE")]
    memory_rules: Option<PathBuf>,
    /// What ranges of addresses hold, as JSON: [{"addr_start", "addr_end", "region_type"}].
    #[arg(long, value_name = "FILE")]
    address_ranges: Option<PathBuf>,
    /// From where on data suits memory of managed retention: ratio and seconds for high, the same for medium.
    #[arg(long, value_name = "R,S,R,S")]
    suitability: Option<String>,
    /// Show passwords, tokens and keys that are in a trace, which are hidden otherwise.
    #[arg(long)]
    show_secrets: bool,
    /// Rules that tell whether a run was disturbed: those of mrm-trace 0.1.0, or of its later versions.
    #[arg(long, value_enum, default_value_t = ValidityRules::Seed)]
    validity_rules: ValidityRules,
}

#[derive(Args)]
struct ExportArgs {
    /// The trace, or a zip archive with one; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Format to write, see `tracedrop formats`.
    #[arg(long, value_name = "FORMAT")]
    to: String,
    /// File to write [default: standard output]; for `mrm-run` a folder, or a name that ends in `.zip` for an archive.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// With `--to mrm-run`: what the run is called [default: as in the trace, else after its file].
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
    /// Of a trace, only what touches this stretch: milliseconds from its start, or with a unit (`1.5s..2s`, `300us..`).
    #[arg(long, value_name = "START..END", value_parser = part::window)]
    window: Option<(i64, i64)>,
    /// Of a trace, only slices that are inside fewer than so many others.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_depth: Option<u32>,
    /// Take out what belongs to these classes, with tokens in its place: paths, hosts, symbols, arguments, prompts.
    #[arg(long, value_name = "CLASS,…", value_delimiter = ',', value_parser = CLASSES)]
    redact: Vec<String>,
    /// A title and notes that go along, as JSON: {"title", "notes": [{"text", "on": "whole"}]}.
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
    /// With `--to tracedrop`: all that was read of the trace goes along, so that it opens without the trace.
    #[arg(long)]
    with_index: bool,
    /// Write nothing; list the texts that would go out, each with what it looks like and how often it is there.
    #[arg(long, conflicts_with = "output")]
    preview: bool,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    tables: ReportTables,
}

#[derive(Args)]
pub struct InputArgs {
    /// Read as this format, whatever the content looks like.
    #[arg(long = "from", value_name = "FORMAT")]
    from: Option<String>,
    /// Read as text of perf script, by this grammar.
    #[arg(long, value_enum, conflicts_with = "from", value_name = "GRAMMAR")]
    perf_grammar: Option<PerfGrammar>,
    /// Read as a capture of memray, whose allocations have no times: by the records before them, or all 0 as in mrm-trace 0.1.0.
    #[arg(long, value_enum, conflicts_with_all = ["from", "perf_grammar"], value_name = "CLOCK")]
    memray_clock: Option<MemrayClock>,
    /// Keep at most so many events in memory; totals stay exact beyond, single slices but the longest are let go [default: no limit].
    #[arg(long, value_name = "EVENTS")]
    pub hold: Option<usize>,
    /// Report only on what touches this stretch of the trace's time: milliseconds from its start, or with a unit (`1.5s..2s`, `300us..`).
    #[arg(long, value_name = "START..END", value_parser = part::window)]
    pub only: Option<(i64, i64)>,
    /// Say nothing on standard error about what was skipped or repaired.
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
    /// One file that shows everything in a browser, without a network.
    Html,
    /// Each table as a Parquet file, all of them in a zip archive.
    Parquet,
    /// A picture of the first report, or of the one that --report names; with `--output` the pictures in all reports, a file each,
    /// into that folder.
    Svg,
}

/// Tables that can be read and extended.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RuleTable {
    /// Names of kernels to what they do; for --kernel-rules.
    Kernels,
    /// GPUs to their peaks; for --peaks.
    Peaks,
    /// Who touches memory when to its kind; for --memory-rules.
    Memory,
}

/// What becomes of accesses of no known kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Unknown {
    /// They are of kind unknown.
    Keep,
    /// They are left out.
    Skip,
    /// Labelling stops at the first one.
    Error,
    /// They are of kind runtime.
    Runtime,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ValidityRules {
    Seed,
    Later,
}

/// How lines of perf script are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum PerfGrammar {
    /// Whichever fields were printed.
    Tolerant,
    /// As mrm-trace 0.1.0 reads them.
    Seed,
}

/// Where allocations have their times from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum MemrayClock {
    /// The last measurement of memory before each.
    Records,
    /// Nowhere: all are 0.
    Seed,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Never,
}

impl Format {
    /// What is wrong with having a folder for pictures; `None` if nothing is.
    fn is_without_place(self, has_folder: bool) -> Option<String> {
        let is_wrong = has_folder && self != Format::Svg;
        is_wrong
            .then(|| "--output goes with --format svg; the other formats go to standard output".to_string())
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

/// Remembers the last byte that was written.
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
    // What is left of it is written now, as nobody would hear of a failure later.
    match outcome.and_then(|code| output::stdout().flush().map(|()| code)) {
        Ok(code) => code,
        // A reader such as `head` that has enough is no error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            say!("tracedrop: {error}");
            ExitCode::from(if output::is_of_output(&error) { 2 } else { 1 })
        }
    }
}

/// Milliseconds since the Unix epoch; 0 on a computer that does not know.
fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}

/// Says what was wrong with the call, as clap does.
fn usage(message: String) -> ExitCode {
    say!("error: {message}\n\nFor more information, try '--help'.");
    ExitCode::from(2)
}

fn report(args: &ReportArgs) -> io::Result<ExitCode> {
    if args.list {
        return list_reports();
    }
    if let Some(unknown) = args.report.iter().find(|id| !listed().iter().any(|report| report.0 == **id)) {
        return Ok(usage(format!("there is no report '{unknown}'; `tracedrop report --list` names them")));
    }
    let format = match args.input.format() {
        Ok(format) => format,
        Err(message) => return Ok(usage(message)),
    };
    if args.table.is_some() && !matches!(args.format, Format::Csv) {
        return Ok(usage("--table goes with --format csv".to_string()));
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
        let what =
            "several documents of that format do not fit into one stream; give one trace, or --together";
        return Ok(usage(what.to_string()));
    }
    if matches!(args.format, Format::Parquet) && io::stdout().is_terminal() {
        return Ok(usage("a zip archive is nothing for a terminal; send it to a file with >".to_string()));
    }
    let notes = match read_notes(args.notes.as_deref()) {
        Ok(notes) => notes,
        Err(message) => return Ok(usage(message)),
    };
    if notes.is_some() && !args.format.exporter().takes_notes {
        return Ok(usage("--notes goes with the formats terminal, markdown, json and html".to_string()));
    }
    if args.together {
        let open = |file: &Place| read::open(file, format, query.clone(), &args.input);
        report_together(args, notes, &files, &open)
    } else {
        let open = |file: &Place| read::open_any(file, format, query.clone(), &args.input, &args.report);
        report_each(args, notes, &files, &open)
    }
}

/// Notes of a file; a message if they can not be read.
fn read_notes(path: Option<&Path>) -> Result<Option<Notes>, String> {
    let Some(path) = path else { return Ok(None) };
    let bytes = std::fs::read(path).map_err(|error| format!("--notes: {}: {error}", read::shown(path)))?;
    let notes = export::notes::of_file(&bytes);
    notes.map(Some).map_err(|why| format!("--notes: {}: {why}", read::shown(path)))
}

/// One report on all files. What can not be read is said and left out.
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
    if !keep_wanted(args, &mut session, "the traces together") {
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

/// Lets go of the reports that were not asked for; says so and gives `false` if nothing is left.
fn keep_wanted(args: &ReportArgs, session: &mut dyn Shown, name: &str) -> bool {
    if !args.report.is_empty() {
        session.keep_reports(&|id| args.report.iter().any(|wanted| wanted == id));
        if session.reports().is_empty() {
            say!("tracedrop: {name}: holds nothing for {}", args.report.join(", "));
            return false;
        }
    }
    keep_rows(args.filter.as_deref(), session, name)
}

/// Leaves only rows that match a filter; says so and gives `false` if it cannot be used.
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

/// A report on each file, one after the other.
fn report_each(
    args: &ReportArgs,
    notes: Option<Notes>,
    files: &[Place],
    open: &dyn Fn(&Place) -> Option<Opened>,
) -> io::Result<ExitCode> {
    let mut out = io::BufWriter::new(output::stdout());
    let mut code = ExitCode::SUCCESS;
    let several = files.len() > 1;
    // Several documents in one stream would be no JSON.
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
    /// What is asked for; a message if a table of one's own can not be read.
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
        // Whoever gives a table wants it to count.
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

/// Writes the reports of one session, or the one table that is wanted. `Some` if there is no such table.
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
        // Of several files each has pictures of the same names.
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
    // The JSON of the reference ends without a line end; a shell wants one.
    if out.last != b'\n' && args.format.exporter().is_text() {
        out.write_all(b"\n")?;
    }
    Ok(None)
}

fn no_table(session: &dyn Shown, id: &str) -> String {
    let ids: Vec<&str> =
        session.reports().iter().flat_map(|report| report.tables()).map(|table| table.id.as_ref()).collect();
    format!("there is no table '{id}' in this report; there are: {}", ids.join(", "))
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
            return Ok(usage(format!("there are {} traces in it, and one is written at a time", n + 1)));
        }
    };
    if let Some(output) = &args.output
        && is_same_file(output, &args.file)
    {
        return Ok(usage("the output is the file that is read".to_string()));
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
            let what = "a run directory is written whole: --window, --max-depth, --redact and --preview do not go with it";
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
        return Ok(usage(format!("--run-id goes with --to {}", mrm::RUN_DIRECTORY)));
    }
    let Some(exporter) = export::find(&args.to) else {
        let mut ids: Vec<&str> = EXPORTERS.iter().map(|exporter| exporter.id).collect();
        ids.push(export::link::INFO.id);
        return Ok(usage(format!("unknown format '{}' for --to; there are: {}", args.to, ids.join(", "))));
    };
    if !cut.is_all() && !exporter.takes_part {
        return Ok(usage(format!(
            "--window and --max-depth leave out events, and '{}' has none",
            exporter.id
        )));
    }
    let takes_index = exporter.id == export::tracedrop_file::INFO.id;
    if !redact.is_none() && (!exporter.can_redact || args.with_index) {
        return Ok(usage("an index holds the whole trace; nothing can be taken out of it".to_string()));
    }
    if args.with_index && !takes_index {
        return Ok(usage(format!("--with-index goes with --to {}", export::tracedrop_file::INFO.id)));
    }
    if args.notes.is_some() && !exporter.takes_notes {
        return Ok(usage(format!("'{}' has no place for notes", exporter.id)));
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
    // By it whoever gets the report tells whether they have the file.
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

/// Lists the texts of an export: what each looks like, how often it is there, the text.
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
        writeln!(out, "({} further texts that there was no room to tell apart)", outgoing.n_more)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Whether both paths lead to one file, by whatever links.
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
    writeln!(out, "Read (plain, gzip or zstd, told by content):")?;
    for format in engine::formats() {
        writeln!(out, "  {:<16} {}; written by {}", format.id, format.title, format.producers)?;
    }
    writeln!(out, "\nWritten by `tracedrop export`:")?;
    for exporter in EXPORTERS {
        let needs =
            if exporter.needs.is_empty() { String::new() } else { format!("; needs {}", exporter.needs) };
        writeln!(out, "  {:<16} {}{needs}", exporter.id, exporter.title)?;
    }
    writeln!(out, "  {:<16} {}", export::link::INFO.id, export::link::INFO.title)?;
    Ok(ExitCode::SUCCESS)
}

impl InputArgs {
    /// The format to read as, or what is wrong with its name.
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
                Err(format!("unknown format '{id}' for --from; there are: {}", ids.join(", ")))
            }
        }
    }
}

//! `tracedrop compare`: reads both sides, prints what changed and checks limits.

use crate::cli::arguments::{Color, Format, InputArgs, ReportTables, report_id};
use crate::cli::output::{self, LineEnd, terminal_width};
use crate::cli::place::{self, Place};
use crate::cli::report::keep_rows;
use crate::cli::{pictures, read, usage};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;
use tracedrop::analysis::{flame, tracks};
use tracedrop::compare::gpu::MEASURES;
use tracedrop::compare::limits::{Limit, Outcome};
use tracedrop::compare::{CompareQuery, PhaseFilter};
use tracedrop::engine::{Compared, Session, Shown, Side};
use tracedrop::export::Options;

/// Exit code when a limit is exceeded.
const PASSED: u8 = 3;

#[derive(Args)]
pub struct CompareArgs {
    /// The two traces, A (baseline) and B; with --against, all traces of A. A folder stands for all traces in it.
    #[arg(required_unless_present = "list", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Traces of B, if A or B has several: repeats, or the ranks of a run.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    against: Vec<PathBuf>,
    /// Inference steps to compare in the GPU report.
    #[arg(long, value_enum, default_value_t = Phase::All)]
    phase: Phase,
    /// Exit with code 3 if this limit is exceeded, for instance 'gpu.per_step > 3%' or 'gpu.idle > 200us'; repeatable. Changes
    /// within noise never exceed a limit.
    #[arg(long, value_name = "LIMIT")]
    fail_on: Vec<String>,
    /// List the metrics that limits can use; with files, all metrics in these.
    #[arg(long)]
    list: bool,
    /// Print only this report, by id; repeatable. `timeline` and `flame-graph` are made only on request.
    #[arg(long, value_name = "ID", value_parser = report_id)]
    report: Vec<String>,
    /// Output format; markdown is a short pull request comment with collapsed tables.
    #[arg(long, value_enum, default_value_t = CompareFormat::Report(Format::Terminal))]
    format: CompareFormat,
    /// With `--format svg`: folder for the charts, one file each; created if missing.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print only matching rows; see docs/filter.md.
    #[arg(long = "where", value_name = "FILTER", allow_hyphen_values = true)]
    filter: Option<String>,
    #[command(flatten)]
    tables: ReportTables,
    /// Width of terminal output in columns [default: that of the terminal, else 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..))]
    width: Option<u16>,
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
    #[command(flatten)]
    input: InputArgs,
}

/// Output formats: those of reports, one for test runners, and one for flame graph tools.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CompareFormat {
    Report(Format),
    Junit,
    Folded,
}

impl ValueEnum for CompareFormat {
    fn value_variants<'a>() -> &'a [CompareFormat] {
        static ALL: LazyLock<Vec<CompareFormat>> = LazyLock::new(|| {
            let reports = Format::value_variants().iter().map(|format| CompareFormat::Report(*format));
            reports.chain([CompareFormat::Junit, CompareFormat::Folded]).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            CompareFormat::Report(format) => format.to_possible_value(),
            CompareFormat::Junit => Some(PossibleValue::new("junit").help(
                "Test report as JUnit XML: one test per --fail-on, which fails if the limit is exceeded",
            )),
            CompareFormat::Folded => Some(PossibleValue::new("folded").help(
                "Stacks with their weights in A and B, as difffolded.pl writes them for flamegraph.pl",
            )),
        }
    }
}

impl CompareFormat {
    /// The format of reports; JUnit and folded stacks have none.
    fn of_reports(self) -> Format {
        match self {
            CompareFormat::Report(format) => format,
            CompareFormat::Junit | CompareFormat::Folded => Format::Terminal,
        }
    }
}

impl CompareArgs {
    /// Whether the timelines are written: if asked for, and with all reports as a page.
    fn draws_timelines(&self) -> bool {
        match self.report.is_empty() {
            true => self.format == CompareFormat::Report(Format::Html),
            false => self.report.iter().any(|id| id == tracks::INFO.id),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Phase {
    /// All steps, each compared with its own kind.
    All,
    /// Prefill-only steps.
    Prefill,
    /// Decode-only steps.
    Decode,
}

/// Runs the subcommand.
pub fn run(args: &CompareArgs) -> io::Result<ExitCode> {
    let limits: Result<Vec<Limit>, String> = args.fail_on.iter().map(|text| Limit::parse(text)).collect();
    let limits = match limits {
        Ok(limits) => limits,
        Err(message) => return Ok(usage(format!("--fail-on: {message}"))),
    };
    if args.files.is_empty() && args.against.is_empty() {
        return list_measures();
    }
    if let Some(message) = args.format.of_reports().problem_with_output(args.output.is_some()) {
        return Ok(usage(message));
    }
    let (a, b) = match sides(args) {
        Ok(sides) => sides,
        Err(message) => return Ok(usage(message)),
    };
    let (Some(a), Some(b)) = (open_side(args, &a)?, open_side(args, &b)?) else {
        return Ok(ExitCode::from(1));
    };
    let Some(mut compared) = compared(args, a, b) else { return Ok(ExitCode::from(1)) };
    if args.list {
        return list_measures_of(&compared);
    }
    match narrowed(args, &mut compared) {
        Ok(Ok(())) => {}
        Ok(Err(code)) => return Ok(ExitCode::from(code)),
        Err(message) => return Ok(usage(message)),
    }
    match args.format {
        CompareFormat::Junit => write_junit(&limits, &compared)?,
        CompareFormat::Folded => {
            if !write_folded(args, &mut compared)? {
                return Ok(ExitCode::FAILURE);
            }
        }
        CompareFormat::Report(_) => write(args, &mut compared)?,
    }
    hold(&limits, &compared)
}

/// Compares B with A as `args` say. `None`, with the reason as a message, if they cannot be compared.
pub fn compared(args: &CompareArgs, a: Side, b: Side) -> Option<Compared> {
    let phase = match args.phase {
        Phase::All => PhaseFilter::All,
        Phase::Prefill => PhaseFilter::Prefill,
        Phase::Decode => PhaseFilter::Decode,
    };
    Compared::new(a, b, &CompareQuery { phase }).map_err(|problem| say!("tracedrop: {problem}")).ok()
}

/// Leaves the reports and rows that `args` want. The inner error is the exit code, with the reason as a message, if the filter is
/// wrong; the outer one an error message if a report is unknown.
pub fn narrowed(args: &CompareArgs, compared: &mut Compared) -> Result<Result<(), u8>, String> {
    match keep_wanted(&args.report, compared) {
        Some(message) => Err(message),
        None => Ok(keep_rows(args.filter.as_deref(), compared, "the comparison", args.input.quiet)),
    }
}

/// Drops unwanted reports. The message if one of them is unknown.
fn keep_wanted(wanted: &[String], compared: &mut Compared) -> Option<String> {
    if wanted.is_empty() {
        return None;
    }
    if wanted.iter().any(|id| id == tracks::INFO.id) {
        compared.add_timelines();
    }
    if wanted.iter().any(|id| id == flame::INFO.id) {
        compared.add_flame_graphs();
    }
    let known: Vec<String> = compared.reports().iter().map(|report| report.id.to_string()).collect();
    if let Some(unknown) = wanted.iter().find(|id| !known.contains(id)) {
        return Some(format!("--report: no '{unknown}' in this comparison, which has {}", known.join(", ")));
    }
    compared.keep_reports(&|id| wanted.iter().any(|wanted| wanted == id));
    None
}

/// Files of A and B, with folders expanded.
fn sides(args: &CompareArgs) -> Result<(Vec<Place>, Vec<Place>), String> {
    let all = args.files.iter().chain(&args.against);
    if all.filter(|file| file.as_os_str() == "-").count() > 1 {
        return Err("standard input can be read only once".to_string());
    }
    let open = |files: &[PathBuf]| place::places(files, args.input.quiet);
    match (&args.files[..], &args.against[..]) {
        ([a, b], []) => Ok((open(std::slice::from_ref(a)), open(std::slice::from_ref(b)))),
        (_, []) => Err("pass two traces, or the traces of A and then those of B after --against".to_string()),
        ([], _) => Err("A needs at least one trace before --against".to_string()),
        (a, b) => Ok((open(a), open(b))),
    }
}

/// Reads the files of one side. `None`, with the reason on standard error, if any of them cannot be read: without one of its
/// ranks a side would not be comparable.
fn open_side(args: &CompareArgs, files: &[Place]) -> io::Result<Option<Side>> {
    let format = match args.input.format() {
        Ok(format) => format,
        Err(message) => return Err(io::Error::other(message)),
    };
    let query = args.tables.query(tracedrop::analysis::Query::default().top).map_err(io::Error::other)?;
    let mut session = Session::of_several(query);
    if !read::add_all(&mut session, files, format, &args.input) {
        return Ok(None);
    }
    session.end_files().map_err(io::Error::other)?;
    session.finish_reports();
    let mut side = session.side().map_err(io::Error::other)?;
    if args.draws_timelines() {
        side.drawn = session.drawn().map_err(io::Error::other)?;
    }
    Ok(Some(side))
}

fn write(args: &CompareArgs, compared: &mut Compared) -> io::Result<()> {
    let color =
        args.color == Color::Auto && io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let width = args.width.map_or_else(terminal_width, usize::from);
    let options = Options { width: width as u32, color, ..Options::default() };
    if let Some(folder) = &args.output {
        return pictures::write(compared.reports(), folder, "", args.input.quiet);
    }
    let exporter = args.format.of_reports().exporter();
    let mut out = LineEnd { inner: io::BufWriter::new(output::stdout()), last: b'\n' };
    compared.export(exporter, &options, &mut out)?;
    if out.last != b'\n' && exporter.is_text() {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Writes folded stacks of the difference. False, with the reason as a message, if the sides have no stacks in common.
fn write_folded(args: &CompareArgs, compared: &mut Compared) -> io::Result<bool> {
    let mut out = io::BufWriter::new(output::stdout());
    let (titles, left_out) = compared.write_folded(&mut out)?;
    out.flush()?;
    for what in &left_out.0 {
        say!("tracedrop: note: not in this format: {what}");
    }
    match &titles[..] {
        [] => {
            say!("tracedrop: no stacks to compare: A and B need flame graphs of the same kind");
            return Ok(false);
        }
        [first, others @ ..] if !others.is_empty() && !args.input.quiet => {
            say!("tracedrop: wrote {first}; not in this format: {}", others.join(", "));
        }
        _ => {}
    }
    Ok(true)
}

/// Writes JUnit XML: a test for each limit, and one that the comparison was made.
fn write_junit(limits: &[Limit], compared: &Compared) -> io::Result<()> {
    let comparison = compared.comparison();
    let outcomes: Vec<_> = limits.iter().map(|limit| (&limit.text, limit.check(comparison))).collect();
    let count = |is_it: &dyn Fn(&Result<Outcome, String>) -> bool| {
        outcomes.iter().filter(|(_, outcome)| is_it(outcome)).count()
    };
    let n_failed = count(&|outcome| matches!(outcome, Ok(Outcome::Passed(_))));
    let n_errors = count(&|outcome| outcome.is_err());
    let mut out = io::BufWriter::new(output::stdout());
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    let n_tests = outcomes.len() + 1;
    let name = xml(&comparison.title);
    // Some readers want times and cannot do without; a test takes none of its own.
    let counts = format!("tests=\"{n_tests}\" failures=\"{n_failed}\" errors=\"{n_errors}\" time=\"0\"");
    writeln!(out, "<testsuites {counts}>\n<testsuite name=\"{name}\" {counts}>")?;
    let summaries = comparison.reports.iter().map(|report| report.summary.as_str());
    let summary: Vec<&str> = summaries.filter(|summary| !summary.is_empty()).collect();
    writeln!(
        out,
        "<testcase classname=\"tracedrop\" name=\"B vs A\" time=\"0\"><system-out>{}</system-out></testcase>",
        xml(&summary.join("\n"))
    )?;
    for (text, outcome) in &outcomes {
        write!(out, "<testcase classname=\"tracedrop\" name=\"{}\" time=\"0\">", xml(text))?;
        // GitLab shows the text of a failure, others its message.
        match outcome {
            Ok(Outcome::Kept(why)) => write!(out, "<system-out>{}</system-out>", xml(why))?,
            Ok(Outcome::Passed(why)) => {
                write!(out, "<failure type=\"limit\" message=\"{0}\">{0}</failure>", xml(why))?
            }
            Err(why) => write!(out, "<error type=\"metric\" message=\"{0}\">{0}</error>", xml(why))?,
        }
        writeln!(out, "</testcase>")?;
    }
    writeln!(out, "</testsuite>\n</testsuites>")?;
    out.flush()
}

/// Text escaped for XML; characters that XML cannot have become U+FFFD.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push_str(if letter == '\n' { "&#10;" } else { "&#9;" }),
            '\u{0}'..'\u{20}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

/// Prints the outcome of each limit to standard error.
fn hold(limits: &[Limit], compared: &Compared) -> io::Result<ExitCode> {
    let mut is_passed = false;
    for limit in limits {
        match limit.check(compared.comparison()) {
            Ok(Outcome::Kept(why)) => say!("tracedrop: ok: {} ({why})", limit.text),
            Ok(Outcome::Passed(why)) => {
                say!("tracedrop: exceeded: {} ({why})", limit.text);
                is_passed = true;
            }
            Err(message) if limit.no_data(compared.comparison()).is_some() => {
                say!("tracedrop: --fail-on: {message}");
                return Ok(ExitCode::from(1));
            }
            Err(message) => return Ok(usage(format!("--fail-on: {message}"))),
        }
    }
    Ok(if is_passed { ExitCode::from(PASSED) } else { ExitCode::SUCCESS })
}

fn list_measures() -> io::Result<ExitCode> {
    let mut out = output::stdout();
    let width = MEASURES.iter().map(|(id, _)| id.len()).max().unwrap_or(0).max(24);
    for (id, what) in MEASURES {
        writeln!(out, "{id:width$}  {what}")?;
    }
    for (id, what) in [
        ("gpu.PHASE", "wall time per step of a phase: gpu.decode, gpu.prefill, …"),
        ("gpu.op.OPERATION", "time of an operation per step: gpu.op.Attention, …"),
        ("REPORT.TABLE.COLUMN", "sum of a table column: slices.slices.self, …"),
    ] {
        writeln!(out, "{id:width$}  {what}")?;
    }
    writeln!(out, "\nPass two traces with --list to list all their metrics.")?;
    Ok(ExitCode::SUCCESS)
}

fn list_measures_of(compared: &Compared) -> io::Result<ExitCode> {
    let mut out = output::stdout();
    let measures = &compared.comparison().measures;
    let width = measures.iter().map(|measure| measure.id.len()).max().unwrap_or(0);
    for measure in measures {
        writeln!(out, "{:width$}  {}", measure.id, measure.what)?;
    }
    Ok(ExitCode::SUCCESS)
}

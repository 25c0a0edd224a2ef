//! The `tracedrop` command: the same library as the page, for local files.
//!
//! Reports and exports go to standard output, messages to standard error.
//! Exit codes: 0 on success; 1 if a file gave nothing to report on or violates a check; 2 on wrong usage; 3 if a comparison
//! exceeded a limit.
//!
//! A module and not a program, because the Python package has the command as well (`python/src/lib.rs`).

/// Prints a line to standard error, or passes it on; see [`watch`].
macro_rules! say {
    ($($text:tt)*) => { $crate::cli::watch::say(format_args!($($text)*)) };
}

mod agent;
pub mod arguments;
pub mod compare;
mod content;
mod crew;
pub mod export;
mod joined;
pub mod mrm;
mod output;
mod part;
mod pictures;
mod place;
pub mod read;
pub mod report;
pub mod watch;

use arguments::{Cli, Command, RuleTable};
use clap::Parser;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::SystemTime;
use tracedrop::engine;
use tracedrop::export::{EXPORTERS, link};
use tracedrop::gpu::{kernels, peaks};
use tracedrop::memory::Rules;

/// Message of a command without Python.
const NO_SQL: &str = "SQL and fleets need DuckDB, which this command does not contain. Install the Python package, whose command has it: \
                      pip install 'tracedrop[sql]', then for instance tracedrop sql FILE \"select …\"";

/// Runs the command; the first argument is its name. Wrong usage, `--help` and `--version` end the process.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = Cli::parse_from(args);
    let outcome = match &cli.command {
        Command::Report(args) => report::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Export(args) => export::run(args),
        Command::Mcp(args) => agent::mcp::run(args),
        Command::AgentGuide => {
            output::stdout().write_all(agent::GUIDE.as_bytes()).map(|()| ExitCode::SUCCESS)
        }
        Command::Check(args) => agent::check::run(args),
        // The Python package answers these itself.
        Command::Sql { .. } | Command::Fleet { .. } => Ok(usage(NO_SQL.to_string())),
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
pub fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}

/// Prints a usage error the way clap does.
fn usage(message: String) -> ExitCode {
    say!("error: {message}\n\nFor more information, try '--help'.");
    ExitCode::from(2)
}

fn formats() -> io::Result<ExitCode> {
    let mut out = output::stdout();
    writeln!(out, "Input formats (plain or compressed; detected by content):")?;
    for format in engine::formats() {
        writeln!(out, "  {:<18} {}; from {}", format.id, format.title, format.producers)?;
    }
    writeln!(out, "\nOutput formats (`tracedrop export --to ID`):")?;
    for exporter in EXPORTERS {
        let needs =
            if exporter.needs.is_empty() { String::new() } else { format!("; needs {}", exporter.needs) };
        writeln!(out, "  {:<18} {}{needs}", exporter.id, exporter.title)?;
    }
    writeln!(out, "  {:<18} {}", link::INFO.id, link::INFO.title)?;
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

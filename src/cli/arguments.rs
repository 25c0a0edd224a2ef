//! Arguments of the command, and what they mean to the library.

use crate::cli::agent::{check, mcp};
use crate::cli::{compare, mrm, output, part};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};
use tracedrop::analysis::Query;
use tracedrop::analysis::flame;
use tracedrop::analysis::memory_query::MemoryQuery;
use tracedrop::base::units::nanoseconds;
use tracedrop::export::redact::CLASSES;
use tracedrop::export::{self, ExporterInfo};
use tracedrop::gpu::{kernels, peaks};
use tracedrop::import::{FORMATS, FormatInfo, memray, perf_text};
use tracedrop::memory::telemetry::RuleSet;
use tracedrop::report::{Amounts, Notes};

/// See what's slow in a trace: reports, comparisons and exports.
#[derive(Parser)]
#[command(name = "tracedrop", version, about, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Print reports on traces.
    Report(ReportArgs),
    /// Compare two traces, or two groups of traces.
    Compare(compare::CompareArgs),
    /// Convert a trace to another format.
    Export(ExportArgs),
    /// Answer questions of agents about traces: a server of the Model Context Protocol on standard input and output.
    Mcp(mcp::McpArgs),
    /// Print how agents use this command, for their instructions.
    AgentGuide,
    /// Compare stated numbers, by id, with those of the files; exits with 1 if one differs.
    Check(check::CheckArgs),
    /// Run SQL over the tables of a trace, with DuckDB; in the command that `pip install 'tracedrop[sql]'` brings.
    Sql {
        #[arg(value_name = "FILE QUERY", num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Summaries of many traces as a Parquet dataset; in the command that `pip install 'tracedrop[sql]'` brings.
    Fleet {
        #[arg(value_name = "ARGUMENTS", num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
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

/// Id of a report; `flame` is short for the flame graph's.
pub fn report_id(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(if text == "flame" { flame::INFO.id } else { text }.to_string())
}

#[derive(Args)]
pub struct ReportArgs {
    /// Traces, plain or compressed (gzip, zstd, lz4); `-` for standard input, a folder or zip archive for all traces in it.
    #[arg(required_unless_present = "list", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print only this report, by id; repeatable.
    #[arg(long, value_name = "ID", value_parser = report_id)]
    pub report: Vec<String>,
    /// Print only matching rows: words, 'self>1ms', 'name:/gemm/', 'phase=decode'; see docs/filter.md.
    #[arg(long = "where", value_name = "FILTER", allow_hyphen_values = true)]
    pub filter: Option<String>,
    /// Columns that add up: as they are, as percent of their total, or divided by the number of steps.
    #[arg(long, value_enum, default_value_t = Show::Absolute)]
    pub show: Show,
    #[command(flatten)]
    pub tables: ReportTables,
    /// List report ids.
    #[arg(long)]
    pub list: bool,
    /// Report on all files as one run (for instance the ranks of a distributed run), not on each file. Always on for fleet
    /// datasets.
    #[arg(long)]
    pub together: bool,
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    pub format: Format,
    /// Rows in lists of slowest and longest items; 0 drops these lists.
    #[arg(long, value_name = "K", default_value_t = Query::default().top)]
    pub top: u32,
    /// Width of terminal output in columns [default: that of the terminal, else 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..))]
    pub width: Option<u16>,
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// With `--format svg`: folder for the charts, one file each; created if missing.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// With `--format csv`: print only this table, by id, as plain CSV.
    #[arg(long, value_name = "ID")]
    pub table: Option<String>,
    /// Title and notes to include, as JSON: {"title", "notes": [{"text", "on": "whole"}]}; see docs/tracedrop-format.md.
    #[arg(long, value_name = "FILE")]
    pub notes: Option<PathBuf>,
    #[command(flatten)]
    pub input: InputArgs,
}

/// Custom tables and settings of reports.
#[derive(Args)]
pub struct ReportTables {
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
    /// List the memory of CUDA memory snapshots at this moment: milliseconds from the start, or with a unit (`1.5s`).
    #[arg(long, value_name = "TIME", value_parser = nanoseconds, allow_hyphen_values = true)]
    memory_at: Option<i64>,
    /// Show passwords, tokens and keys instead of hiding them.
    #[arg(long)]
    show_secrets: bool,
    /// Rules for contaminated runs: those of mrm-trace 0.1.0 (seed), or of later versions.
    #[arg(long, value_enum, default_value_t = ValidityRules::Seed)]
    validity_rules: ValidityRules,
}

#[derive(Args)]
pub struct ExportArgs {
    /// The trace, or a zip archive with one; `-` for standard input.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Output format; see `tracedrop formats`.
    #[arg(long, value_name = "FORMAT")]
    pub to: String,
    /// Output file [default: standard output]; for `mrm-run` a folder, or a name ending in `.zip` for an archive.
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// With `--to mrm-run`: run id [default: that of the trace, else the file name].
    #[arg(long, value_name = "ID")]
    pub run_id: Option<String>,
    /// Export only this time range: milliseconds from the start of the trace, or with a unit (`1.5s..2s`, `300us..`).
    #[arg(long, value_name = "START..END", value_parser = part::window, allow_hyphen_values = true)]
    pub window: Option<(i64, i64)>,
    /// Export only slices nested less than N levels deep, and the outer N frames of stacks.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_depth: Option<u32>,
    /// Replace these classes of text with tokens: paths, hosts, symbols, arguments, prompts.
    #[arg(long, value_name = "CLASS,…", value_delimiter = ',', value_parser = CLASSES)]
    pub redact: Vec<String>,
    /// Title and notes to include, as JSON: {"title", "notes": [{"text", "on": "whole"}]}.
    #[arg(long, value_name = "FILE")]
    pub notes: Option<PathBuf>,
    /// With `--to tracedrop`: include the index of the trace, so that the file works without the trace.
    #[arg(long)]
    pub with_index: bool,
    /// Write nothing; list every text that would be exported, with its kind and count.
    #[arg(long, conflicts_with = "output")]
    pub preview: bool,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub tables: ReportTables,
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
    /// Keep at most this many events in memory; beyond that, totals stay exact, but only the longest slices are kept
    /// [default: no limit].
    #[arg(long, value_name = "EVENTS")]
    pub hold: Option<usize>,
    /// Report only on this time range: milliseconds from the start of the trace, or with a unit (`1.5s..2s`, `300us..`).
    #[arg(long, value_name = "START..END", value_parser = part::window, allow_hyphen_values = true)]
    pub only: Option<(i64, i64)>,
    /// Do not print parsing issues and notes.
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
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

/// How amounts in tables are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Show {
    Absolute,
    Percent,
    PerStep,
}

/// Built-in tables, which options replace or extend.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuleTable {
    /// Kernel names and their classes; for --kernel-rules.
    Kernels,
    /// GPUs and their peaks; for --peaks.
    Peaks,
    /// Memory accesses and their kinds; for --memory-rules.
    Memory,
}

/// Treatment of memory accesses of unknown kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Unknown {
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
pub enum ValidityRules {
    Seed,
    Later,
}

/// Grammar of `perf script` lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PerfGrammar {
    /// Any set of printed fields.
    Tolerant,
    /// As in mrm-trace 0.1.0.
    Seed,
}

/// Source of the timestamps of allocations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MemrayClock {
    /// The last memory sample before each allocation.
    Records,
    /// All 0, as in mrm-trace 0.1.0.
    Seed,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Never,
}

impl Show {
    pub fn amounts(self) -> Amounts {
        match self {
            Show::Absolute => Amounts::Absolute,
            Show::Percent => Amounts::Percent,
            Show::PerStep => Amounts::PerStep,
        }
    }
}

impl Format {
    /// Error message if `--output` does not fit this format.
    pub fn problem_with_output(self, has_folder: bool) -> Option<String> {
        let is_wrong = has_folder && self != Format::Svg;
        is_wrong
            .then(|| "--output needs --format svg; other formats are written to standard output".to_string())
    }

    pub fn exporter(self) -> &'static ExporterInfo {
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

impl ReportTables {
    /// The query, or the error message if a custom table cannot be read.
    pub fn query(&self, top: u32) -> Result<Query, String> {
        let query = Query {
            top,
            kernel_rules: text_of(&self.kernel_rules)?,
            peaks: text_of(&self.peaks)?,
            memory: self.memory_query()?,
            path: self.path_of.clone().unwrap_or_default(),
            show_secrets: self.show_secrets,
            memory_at: self.memory_at,
        };
        // A custom table with errors is refused, not ignored.
        if let Err(problems) = kernels::Rules::builtin().with(&query.kernel_rules) {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return Err(format!("--kernel-rules: {}", problems.join("\n")));
        }
        peaks::Peaks::with(&query.peaks).map_err(|problem| format!("--peaks: {problem}"))?;
        Ok(query)
    }

    /// Settings of memory reports, or the error message.
    fn memory_query(&self) -> Result<MemoryQuery, String> {
        let unknown = match self.unknown {
            // As without the option: a Tracedrop file then keeps the settings of its sender.
            Unknown::Keep => "",
            Unknown::Skip => "skip",
            Unknown::Error => "error",
            Unknown::Runtime => "runtime",
        };
        let memory = MemoryQuery {
            phases: text_of(&self.phases)?,
            rules: text_of(&self.memory_rules)?,
            ranges: text_of(&self.address_ranges)?,
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
            let file = file.as_ref().map(|path| format!("{}: ", output::shown(path))).unwrap_or_default();
            return Err(format!("{option}: {file}{why}"));
        }
        Ok(memory)
    }
}

/// Text of a file, without the byte order mark that editors on Windows write; empty if there is none.
fn text_of(path: &Option<PathBuf>) -> Result<String, String> {
    let Some(path) = path else { return Ok(String::new()) };
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text))
}

impl InputArgs {
    /// Format to parse as, or the error message if its name is unknown.
    pub fn format(&self) -> Result<Option<&'static FormatInfo>, String> {
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

/// Notes from a file, or the error message.
pub fn read_notes(path: Option<&Path>) -> Result<Option<Notes>, String> {
    let Some(path) = path else { return Ok(None) };
    let bytes = std::fs::read(path).map_err(|error| format!("--notes: {}: {error}", output::shown(path)))?;
    let notes = export::notes::of_file(&bytes);
    notes.map(Some).map_err(|why| format!("--notes: {}: {why}", output::shown(path)))
}

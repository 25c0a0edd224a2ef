//! `tracedrop mrm`: configurations of experiments; and run directories as an export.

use crate::read;
use clap::Subcommand;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tracedrop::base::text;
use tracedrop::engine::Session;
use tracedrop::export;
use tracedrop::memory_config::Config;

/// What `--to` calls a run directory.
pub const RUN_DIRECTORY: &str = "mrm-run";

#[derive(Subcommand)]
pub enum MrmCommand {
    /// Check a configuration of an experiment (YAML); ends with 1 if something is wrong with it.
    Validate {
        #[arg(value_name = "CONFIG")]
        config: PathBuf,
    },
    /// List the runs that a configuration asks for.
    Plan {
        #[arg(value_name = "CONFIG")]
        config: PathBuf,
    },
}

pub fn run(command: &MrmCommand) -> io::Result<ExitCode> {
    match command {
        MrmCommand::Validate { config } => validate(config),
        MrmCommand::Plan { config } => plan(config),
    }
}

/// The configuration in a file; says what is wrong with it otherwise.
fn open(path: &Path) -> Option<Config> {
    let name = read::shown(path);
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("tracedrop: {name}: cannot be opened: {error}");
            return None;
        }
    };
    match Config::read(&bytes) {
        Ok(config) => {
            for warning in config.warnings() {
                eprintln!("tracedrop: {name}: warning: {}", text::visible(&warning));
            }
            Some(config)
        }
        Err(error) => {
            for line in error.to_string().lines() {
                eprintln!("tracedrop: {name}: error: {}", text::visible(line));
            }
            None
        }
    }
}

/// Errors between fields, on standard error; whether there are any.
fn has_errors(config: &Config, path: &Path) -> bool {
    let errors = config.errors();
    for error in &errors {
        eprintln!("tracedrop: {}: error: {}", read::shown(path), text::visible(error));
    }
    !errors.is_empty()
}

fn validate(path: &Path) -> io::Result<ExitCode> {
    let Some(config) = open(path) else { return Ok(ExitCode::from(1)) };
    if has_errors(&config, path) {
        return Ok(ExitCode::from(1));
    }
    let (all, counted) = config.n_runs();
    writeln!(io::stdout(), "{}: valid; {counted} runs and {} warm-ups", read::shown(path), all - counted)?;
    Ok(ExitCode::SUCCESS)
}

fn plan(path: &Path) -> io::Result<ExitCode> {
    let Some(config) = open(path) else { return Ok(ExitCode::from(1)) };
    let code = if has_errors(&config, path) { ExitCode::from(1) } else { ExitCode::SUCCESS };
    let mut out = io::BufWriter::new(io::stdout().lock());
    writeln!(out, "model\tcontext\tbatch\toutput\twarm-up\trepetition\tdirectory")?;
    for run in config.plan() {
        writeln!(
            out,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}",
            text::visible(&run.model),
            run.context_length,
            run.batch_size,
            run.output_tokens,
            if run.is_warm_up { "yes" } else { "no" },
            run.repetition,
            text::visible(&run.output_dir)
        )?;
    }
    out.flush()?;
    Ok(code)
}

/// Writes the memory accesses of a session as a run directory.
pub fn write_run(
    session: &Session,
    file: &Path,
    output: Option<&Path>,
    run_id: Option<&str>,
    now_ms: u64,
) -> io::Result<ExitCode> {
    let name = read::shown(file);
    let Some(dir) = output else {
        return Ok(crate::usage(format!("--to {RUN_DIRECTORY} needs -o with a folder")));
    };
    let Some(trace) = session.run().traces.first() else { return Ok(ExitCode::from(1)) };
    let told = trace.source.metadata.iter().find(|(key, _)| key == "run_id").map(|(_, value)| value.as_str());
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let run_id = run_id.or(told).unwrap_or(&stem);
    let Some(run) = export::mrm_run::files(trace, &session.query().memory, run_id, now_ms) else {
        eprintln!("tracedrop: {name}: it holds no memory accesses");
        return Ok(ExitCode::from(1));
    };
    for note in &run.notes {
        eprintln!("tracedrop: {name}: note: {note}");
    }
    let files = run.files;
    let failed = |what: String| {
        eprintln!("tracedrop: {what}");
        Ok(ExitCode::from(2))
    };
    if let Err(error) = std::fs::create_dir_all(dir) {
        return failed(format!("cannot write {}: {error}", read::shown(dir)));
    }
    // A run is never mixed with another one.
    if files.iter().any(|(name, _)| dir.join(name).exists()) {
        return failed(format!("{} already holds a run", read::shown(dir)));
    }
    for (name, bytes) in files {
        let path = dir.join(name);
        if let Err(error) = std::fs::write(&path, bytes) {
            return failed(format!("cannot write {}: {error}", read::shown(&path)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

//! `tracedrop mrm`: experiment configurations; also writes run directories for `tracedrop export`.

use crate::cli::output;
use clap::Subcommand;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tracedrop::archive::ArchiveWriter;
use tracedrop::base::text;
use tracedrop::base::units::counted;
use tracedrop::engine::{Session, Shown, folder};
use tracedrop::export::{self, mrm_run::InArchive};
use tracedrop::memory_config::{self, Judged};
use tracedrop::memory_run::{self, FILES, Files};

/// Id of the run directory format for `--to`.
pub const RUN_DIRECTORY: &str = export::mrm_run::INFO.id;

#[derive(Subcommand)]
pub enum MrmCommand {
    /// Check an experiment configuration (YAML); exits with 1 if it has errors.
    Validate {
        #[arg(value_name = "CONFIG")]
        config: PathBuf,
    },
    /// List the runs of a configuration.
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

/// Checks a configuration file and prints its warnings and errors; `None` if the file cannot be read.
fn judged(path: &Path) -> Option<Judged> {
    let name = output::shown(path);
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            say!("tracedrop: {name}: cannot be opened: {error}");
            return None;
        }
    };
    let mut judged = memory_config::judge(&bytes);
    if let Some(config) = &judged.config {
        let base = Path::new(config.base_dir());
        if base.exists() && !base.is_dir() {
            judged.errors.push(format!("output.base_dir: {} exists and is not a folder", base.display()));
        }
    }
    for warning in &judged.warnings {
        say!("tracedrop: {name}: warning: {}", text::visible(warning));
    }
    for error in &judged.errors {
        say!("tracedrop: {name}: error: {}", text::visible(error));
    }
    Some(judged)
}

fn validate(path: &Path) -> io::Result<ExitCode> {
    let valid = judged(path).filter(|judged| judged.errors.is_empty()).and_then(|judged| judged.config);
    let Some(config) = valid else { return Ok(ExitCode::from(1)) };
    let (all, n) = config.n_runs();
    let (runs, warm_ups) = (counted(n, "run", "runs"), counted(all.saturating_sub(n), "warm-up", "warm-ups"));
    writeln!(output::stdout(), "{}: valid; {} and {}", output::shown(path), runs, warm_ups)?;
    Ok(ExitCode::SUCCESS)
}

fn plan(path: &Path) -> io::Result<ExitCode> {
    let Some(Judged { config: Some(config), errors, .. }) = judged(path) else {
        return Ok(ExitCode::from(1));
    };
    let code = if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) };
    let mut out = io::BufWriter::new(output::stdout());
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
            // Warm-ups have no number.
            if run.is_warm_up { String::new() } else { run.repetition.to_string() },
            text::visible(&run.output_dir)
        )?;
    }
    out.flush()?;
    Ok(code)
}

/// Writes the memory accesses of a session as a run directory, or as a zip archive of one if `output` ends in `.zip`.
pub fn write_run(
    session: &Session,
    name: &str,
    output: Option<&Path>,
    run_id: Option<&str>,
    now_ms: u64,
) -> io::Result<ExitCode> {
    let Some(output) = output else {
        let what = format!("--to {RUN_DIRECTORY} needs -o with a folder or a name ending in .zip");
        return Ok(crate::cli::usage(what));
    };
    let Some(trace) = session.run().traces.first() else { return Ok(ExitCode::from(1)) };
    if !export::mrm_run::applies_to(trace) {
        say!("tracedrop: {name}: no memory accesses in this trace");
        return Ok(ExitCode::from(1));
    }
    // The trace violates a check the user asked for (such as `--unknown error`), so no run is written.
    if let Some(why) = session.shortfall() {
        say!("tracedrop: {name}: nothing was written: {why}");
        return Ok(ExitCode::from(1));
    }
    let run_id = run_id.map_or_else(|| memory_run::run_id::run_id(trace), str::to_string);
    let figures = export::mrm_run::figures(session.reports(), 0);
    let names: Vec<String> = figures.iter().map(|(name, _)| name.clone()).collect();
    let is_archive = output.file_name().is_some_and(|name| folder::may_be_archive(&name.to_string_lossy()));
    let write = |files: &mut dyn Files| {
        export::mrm_run::write_run(trace, &session.query().memory, &run_id, now_ms, figures, files)
    };
    let written = match is_archive && !output.is_dir() {
        true => write_archive(output, &export::mrm_run::folder_name(&run_id), write, now_ms),
        false => write_folder(output, &names, write),
    };
    Ok(match written {
        Ok(notes) => {
            for note in &notes {
                say!("tracedrop: {name}: note: {note}");
            }
            ExitCode::SUCCESS
        }
        Err(what) => {
            say!("tracedrop: {what}");
            ExitCode::from(2)
        }
    })
}

/// Notes on what was written.
type Written = io::Result<Vec<String>>;

fn write_archive(
    path: &Path,
    folder: &str,
    write: impl FnOnce(&mut dyn Files) -> Written,
    now_ms: u64,
) -> Result<Vec<String>, String> {
    // An existing file is replaced only once the new one is complete, which may take long.
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".part");
    let unfinished = Path::new(&unfinished);
    let make = || {
        let out = io::BufWriter::new(std::fs::File::create(unfinished)?);
        let mut archive = ArchiveWriter::new(out, now_ms);
        let notes = write(&mut InArchive { archive: &mut archive, folder: folder.to_string() })?;
        archive.finish()?.flush()?;
        std::fs::rename(unfinished, path)?;
        Ok(notes)
    };
    make().map_err(|error: io::Error| {
        let _ = std::fs::remove_file(unfinished);
        format!("cannot write {}: {error}", output::shown(path))
    })
}

fn write_folder(
    dir: &Path,
    figures: &[String],
    write: impl FnOnce(&mut dyn Files) -> Written,
) -> Result<Vec<String>, String> {
    // Two runs are never mixed in one folder.
    if FILES.into_iter().chain(figures.iter().map(String::as_str)).any(|name| dir.join(name).exists()) {
        return Err(format!("{} already contains a run; choose another folder", output::shown(dir)));
    }
    let mut files = InFolder { dir, begun: Vec::new() };
    write(&mut files).map_err(|error| {
        let path = files.begun.last().map_or(dir, PathBuf::as_path);
        let what = format!("cannot write {}: {error}", output::shown(path));
        // A partial run is useless and would block the next try.
        for path in &files.begun {
            let _ = std::fs::remove_file(path);
        }
        what
    })
}

/// Writes the files of a run to a folder.
struct InFolder<'a> {
    dir: &'a Path,
    /// Files created so far, the last one possibly incomplete.
    begun: Vec<PathBuf>,
}

impl Files for InFolder<'_> {
    fn file(
        &mut self,
        path: &str,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let path = self.dir.join(path);
        self.begun.push(path.clone());
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        let mut out = io::BufWriter::new(std::fs::File::create(&path)?);
        write(&mut out)?;
        out.flush()
    }
}

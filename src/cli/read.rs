//! From a path to a finished session, with a progress bar and the ledger on standard error.

use crate::InputArgs;
use crate::content::FileContent;
use crate::crew;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::base::text;
use tracedrop::base::units::group_digits;
use tracedrop::engine::{self, Session, folder};
use tracedrop::import::FormatInfo;
use tracedrop::index::{self, Index};
use tracedrop::memory_run;
use tracedrop::trace::Severity;
use tracedrop::trace::args::Content;
use tracedrop::trace::beside::FileBeside;
use tracedrop::trace::ledger::Ledger;

/// What is read at a time.
pub const CHUNK_BYTES: u64 = 1 << 20;

/// Runs of a data set lie in folders by machine and model.
const MAX_DEPTH: usize = 4;

/// A path for messages; control characters in it do nothing.
pub fn shown(path: &Path) -> String {
    text::visible(&path.display().to_string())
}

/// `paths` with each folder replaced by the traces directly in it, in order of name; one without any stays, and so does the
/// directory of a run.
pub fn with_folders_opened(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let formats = engine::formats();
    for path in paths {
        if run_files(path).is_some() {
            files.push(path.clone());
            continue;
        }
        let mut inside: Vec<PathBuf> = std::fs::read_dir(path)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                path.is_file() && folder::may_be_trace(&name, &formats)
            })
            .collect();
        inside.extend(runs_below(path, MAX_DEPTH));
        inside.sort();
        if inside.is_empty() { files.push(path.clone()) } else { files.append(&mut inside) }
    }
    files
}

/// Directories of runs in the folder `path`, so many levels down.
fn runs_below(path: &Path, n_levels: usize) -> Vec<PathBuf> {
    let inside = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    // Links may lead round in circles.
    let folders = inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders
        .flat_map(|entry| {
            let folder = entry.path();
            match run_files(&folder) {
                Some(_) => vec![folder],
                None if n_levels > 1 => runs_below(&folder, n_levels - 1),
                None => Vec::new(),
            }
        })
        .collect()
}

/// Bare names of the files in the folder `path`, in their order, if it is the directory of a run.
fn run_files(path: &Path) -> Option<Vec<String>> {
    let inside = std::fs::read_dir(path).ok()?.filter_map(Result::ok);
    let files = inside.filter(|entry| entry.path().is_file());
    let mut names: Vec<String> =
        files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    folder::is_run(names.iter().map(String::as_str)).then_some(names)
}

/// Reads `path` whole, which is a file or the directory of a run. `None`, with the reason on standard error, if there is nothing to report on.
pub fn open(
    path: &Path,
    format: Option<&'static FormatInfo>,
    query: Query,
    args: &InputArgs,
) -> Option<Session> {
    let name = shown(path);
    let run = run_files(path);
    let folder = path;
    let path = if run.is_some() { &folder.join(folder::TRACE_OF_RUN) } else { folder };
    let complain = |what: &dyn std::fmt::Display| {
        eprintln!("tracedrop: {name}: {what}");
        None
    };
    let (mut input, size): (Box<dyn Read>, u64) = if path.as_os_str() == "-" {
        (Box::new(io::stdin().lock()), 0)
    } else {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return complain(&"is a directory without trace files");
            }
            Ok(metadata) => match File::open(path) {
                Ok(file) => (Box::new(file), if metadata.is_file() { metadata.len() } else { 0 }),
                Err(error) => return complain(&format!("cannot be opened: {error}")),
            },
            Err(error) => return complain(&format!("cannot be opened: {error}")),
        }
    };
    // A run is called as its directory, which has its name, while all their traces are called alike.
    let file_name = match folder.canonicalize().as_deref().unwrap_or(folder).file_name() {
        Some(file_name) if run.is_some() => file_name.to_string_lossy().into_owned(),
        _ => String::new(),
    };
    let file_name = match path.file_name() {
        _ if !file_name.is_empty() => file_name,
        Some(file_name) if path.as_os_str() != "-" => file_name.to_string_lossy().into_owned(),
        _ => "stdin".to_string(),
    };
    let content = FileContent::open(path).filter(|_| size > 0).map(Rc::new);
    let mut head = [0; index::MAGIC.len()];
    if let Some(content) = &content
        && content.read_at(0, &mut head).is_ok()
        && Index::sniff(&head)
    {
        let index = Index::open(content.clone());
        if let (Ok(index), false) = (&index, args.quiet) {
            let trace = text::visible(&index.head.source.file_name);
            eprintln!("tracedrop: {name}: note: this is the index of {trace}, which was not read");
        }
        let session = index.and_then(|index| Session::of_index(index, None, query));
        return session.map_or_else(|error| complain(&error), Some);
    }
    let mut session = Session::new(&file_name, size, format, query);
    if let Some(content) = content {
        session.can_read_again(content);
    }
    if let Some(names) = run {
        let others = names.into_iter().filter(|name| name != folder::TRACE_OF_RUN);
        let others = others.map(|name| {
            let path = folder.join(&name);
            let n_bytes = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
            if !folder::is_read_in_run(&name, n_bytes) {
                return FileBeside::unread(name, n_bytes);
            }
            match std::fs::read(&path) {
                Ok(content) => memory_run::file_beside(name, content),
                Err(error) => {
                    eprintln!("tracedrop: {} can not be read: {error}", shown(&path));
                    FileBeside::unread(name, n_bytes)
                }
            }
        });
        session.lies_in_run(folder::TRACE_OF_RUN, others.collect());
    }
    if let (Some(import), Some(n_events)) = (session.import(), args.hold) {
        import.hold_at_most(n_events);
    }
    let mut chunk = Vec::with_capacity(CHUNK_BYTES as usize);
    let bar = progress_bar(size, &file_name);
    let result = loop {
        match fill(&mut input, &mut chunk, CHUNK_BYTES) {
            Ok(false) => break session.finish(),
            Ok(true) => {
                session.feed(&chunk);
                bar.inc(chunk.len() as u64);
                if session.has_given_up() {
                    break session.finish();
                }
                if size >= crew::MIN_FILE_BYTES
                    && let Some(import) = session.import()
                    && let Some(parts) = import.parts()
                {
                    match crew::read_rest(path, size, import, parts, &|at| bar.set_position(at)) {
                        Ok(()) => break session.finish(),
                        Err(error) => break session.stop(&error.to_string()),
                    }
                }
            }
            Err(error) => break session.stop(&error.to_string()),
        }
    };
    bar.finish_and_clear();
    if let Err(error) = result {
        return complain(&error);
    }
    let trace = session.run().traces.first()?;
    if !args.quiet {
        tell(&name, &trace.ledger);
    }
    if let Some(why) = session.why_useless() {
        return complain(&why);
    }
    Some(session)
}

/// Puts the next bytes into `chunk`, `len` at most, in place of what is there; false at the end.
pub fn fill(input: &mut dyn Read, chunk: &mut Vec<u8>, len: u64) -> io::Result<bool> {
    chunk.clear();
    input.take(len).read_to_end(chunk)?;
    Ok(!chunk.is_empty())
}

/// On a terminal only, and only once reading takes noticeable time.
fn progress_bar(size: u64, file_name: &str) -> ProgressBar {
    let (bar, template) = if size > 0 {
        (ProgressBar::new(size), "{msg} [{wide_bar}] {bytes}/{total_bytes} {bytes_per_sec} {eta} left")
    } else {
        (ProgressBar::new_spinner(), "{msg} {spinner} {bytes} {bytes_per_sec}")
    };
    if !io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(text::visible(file_name));
    bar
}

/// What was skipped, repaired or odd.
fn tell(name: &str, ledger: &Ledger) {
    for issue in &ledger.issues {
        let word = match issue.kind.severity {
            Severity::Note => "note",
            Severity::Repaired => "repaired",
            Severity::Skipped => "skipped",
        };
        let place = match issue.first.line {
            Some(line) => format!("line {line} (byte {})", issue.first.byte),
            None => format!("byte {}", issue.first.byte),
        };
        let times = if issue.count > 1 {
            format!(", {} times, first", group_digits(issue.count.into()))
        } else {
            ",".to_string()
        };
        let example = if issue.example.is_empty() { String::new() } else { format!(": {}", issue.example) };
        eprintln!("tracedrop: {name}: {word}: {}{times} at {place}{example}", issue.kind.what);
    }
}

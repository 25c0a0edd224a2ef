//! Where a trace lies: in a file, in the directory of a run, or in an archive.

use crate::content::FileContent;
use crate::read::shown;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tracedrop::archive::{self, Entry, Packing};
use tracedrop::base::text;
use tracedrop::engine;
use tracedrop::engine::folder::{self, RunIn, Unpacking};
use tracedrop::export::tracedrop_file;
use tracedrop::memory_run;
use tracedrop::trace::args::Content;
use tracedrop::trace::beside::FileBeside;

/// Runs of a data set lie in folders by machine and model.
const MAX_DEPTH: usize = 4;

/// Packed tables are unpacked into memory up to this size.
const MAX_TABLE_BYTES: u64 = 4 << 30;

/// So many files of an archive are opened though their names say nothing.
const MAX_UNKNOWN: usize = 8;

/// What is read at a time.
const PIECE_BYTES: usize = 256 << 10;

/// Where a trace lies.
pub enum Place {
    /// A file, or the directory of a run.
    Path(PathBuf),
    /// The directory of the first run of a data set, and the list of its runs; more than one where data sets lie in each other.
    FirstRun(PathBuf, Vec<PathBuf>),
    Packed(Packed),
    /// An archive of which nothing can be had, and why.
    Useless(PathBuf, String),
}

/// A trace in an archive.
pub struct Packed {
    archive: PathBuf,
    content: Rc<FileContent>,
    trace: Entry,
    /// The run that it is the trace of.
    run: Option<Run>,
}

/// The directory of a run in an archive.
struct Run {
    name: String,
    folder: String,
    beside: Vec<Entry>,
}

/// A trace that is about to be read.
pub struct Input {
    pub reader: Box<dyn Read>,
    /// 0 if it is not known.
    pub n_bytes: u64,
    pub file_name: String,
    /// To read it again, if that can be done.
    pub content: Option<Rc<dyn Content>>,
    /// The file, where it is one of its own.
    pub path: Option<PathBuf>,
    /// The files beside it, if it is the trace of a run.
    pub beside: Option<Vec<FileBeside>>,
}

impl Place {
    /// For messages; control characters in it do nothing.
    pub fn shown(&self) -> String {
        match self {
            Place::Path(path) | Place::FirstRun(path, _) | Place::Useless(path, _) => shown(path),
            Place::Packed(packed) => {
                let inside = packed.run.as_ref().map_or(&packed.trace.path, |run| &run.folder);
                let slash = if inside.is_empty() { "" } else { "/" };
                format!("{}{slash}{}", shown(&packed.archive), text::visible(inside))
            }
        }
    }

    /// Opens it; a sentence fragment if that can not be done.
    pub fn input(&self, is_quiet: bool) -> Result<Input, String> {
        match self {
            Place::Path(path) => path_input(path),
            Place::FirstRun(path, lists) => {
                let mut input = path_input(path)?;
                let lists = lists.iter().map(|list| file_beside(list, memory_run::DATASET_ABOVE.to_string()));
                input.beside.get_or_insert_default().extend(lists);
                Ok(input)
            }
            Place::Packed(packed) => packed.input(is_quiet),
            Place::Useless(_, why) => Err(why.clone()),
        }
    }
}

/// What `paths` stand for: a folder and an archive for the traces directly in it, in order of name, and for the runs anywhere in
/// it; one without any stays, and so does the directory of a run.
pub fn places(paths: &[PathBuf], is_quiet: bool) -> Vec<Place> {
    let mut places = Vec::new();
    let formats = engine::formats();
    for path in paths {
        if run_files(path).is_some() {
            places.push(Place::Path(path.clone()));
            continue;
        }
        if let Some(inside) = in_archive(path, is_quiet) {
            places.extend(inside);
            continue;
        }
        let files = std::fs::read_dir(path).into_iter().flatten();
        let files: Vec<PathBuf> = files.filter_map(|entry| Some(entry.ok()?.path())).collect();
        let (files, tables) = folder::without_tables_of_runs(files, |path| path.to_str().unwrap_or_default());
        let mut inside: Vec<PathBuf> = files
            .into_iter()
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                path.is_file() && (folder::may_be_trace(&name, &formats) || folder::may_be_archive(&name))
            })
            .collect();
        let raw = raw_traces(path);
        if !tables.is_empty() && !raw.is_empty() && !is_quiet {
            say!(
                "tracedrop: {}: note: {WITHOUT_TRACE}; what lies in {} is read",
                shown(path),
                memory_run::RAW
            );
        }
        inside.extend(raw);
        inside.extend(runs_below(path, MAX_DEPTH));
        inside.sort();
        if inside.is_empty() && !tables.is_empty() {
            places.push(Place::Useless(path.clone(), WITHOUT_TRACE.to_string()));
        } else if inside.is_empty() {
            places.push(Place::Path(path.clone()));
        }
        let mut given: Vec<PathBuf> = Vec::new();
        let inside_of = path;
        for path in inside {
            match in_archive(&path, is_quiet) {
                Some(inside) => places.extend(inside),
                None => {
                    let mut lists = lists_above(inside_of, &path);
                    lists.retain(|list| !given.contains(list));
                    given.extend(lists.iter().cloned());
                    places.push(if lists.is_empty() {
                        Place::Path(path)
                    } else {
                        Place::FirstRun(path, lists)
                    });
                }
            }
        }
    }
    places
}

/// What is said of the directory of a run that has tables alone.
const WITHOUT_TRACE: &str = "is a run directory without trace.parquet";

/// The lists of data sets that the directory `run` of a run is in, no further up than the folder `top`; none if it is a file.
fn lists_above(top: &Path, run: &Path) -> Vec<PathBuf> {
    if run_files(run).is_none() {
        return Vec::new();
    }
    let folders = run.ancestors().skip(1).take_while(|folder| folder.starts_with(top));
    folders.map(|folder| folder.join(memory_run::DATASET)).filter(|list| list.is_file()).collect()
}

/// What was captured, where the folder `path` is the directory of a run that has only that.
fn raw_traces(path: &Path) -> Vec<PathBuf> {
    let raw = path.join(memory_run::RAW);
    memory_run::RAW_TRACES.map(|name| raw.join(name)).into_iter().filter(|path| path.is_file()).collect()
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
                None if !raw_traces(&folder).is_empty() => raw_traces(&folder),
                None if n_levels > 1 => runs_below(&folder, n_levels - 1),
                None => Vec::new(),
            }
        })
        .collect()
}

/// Names of the files in the folder `path`, in their order, with those of pictures behind their folder, if it is the directory of a run.
fn run_files(path: &Path) -> Option<Vec<String>> {
    let inside = std::fs::read_dir(path).ok()?.filter_map(Result::ok);
    let files = inside.filter(|entry| entry.path().is_file());
    let mut names: Vec<String> =
        files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    if !folder::is_run(names.iter().map(String::as_str)) {
        return None;
    }
    let figures = std::fs::read_dir(path.join(memory_run::FIGURES)).into_iter().flatten();
    let figures = figures.filter_map(Result::ok).filter(|entry| entry.path().is_file());
    names.extend(
        figures.map(|entry| format!("{}/{}", memory_run::FIGURES, entry.file_name().to_string_lossy())),
    );
    names.sort();
    Some(names)
}

/// The traces in the archive `path`; `None` if it is no archive.
fn in_archive(path: &Path, is_quiet: bool) -> Option<Vec<Place>> {
    let content = Rc::new(FileContent::open(path)?);
    let mut head = [0; 4];
    content.read_at(0, &mut head).ok().filter(|()| archive::is_archive(&head))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // What it holds is one thing.
    if tracedrop_file::is_one(&*content, &name) {
        return None;
    }
    let useless = |why: String| Some(vec![Place::Useless(path.to_path_buf(), why)]);
    let archive = match archive::list(&*content) {
        Ok(archive) => archive,
        Err(why) => return useless(why),
    };
    let left_out: Vec<String> =
        archive.left_out.iter().map(|file| format!("{}: {}", text::visible(&file.path), file.why)).collect();
    let stem = folder::archive_stem(&name).to_string();
    let (runs, others) = folder::runs_among(archive.files, |file| &file.path);
    let (others, tables) = folder::without_tables_of_runs(others, |file| &file.path);
    let formats = engine::formats();
    let packed = |trace, run| {
        Place::Packed(Packed { archive: path.to_path_buf(), content: content.clone(), trace, run })
    };
    let runs = runs.into_iter().map(|RunIn { folder, trace, beside }| {
        let name = folder.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(&stem).to_string();
        packed(trace, Some(Run { name, folder, beside }))
    });
    let bare = |file: &Entry| file.path.rsplit('/').next().unwrap_or_default().to_string();
    let (traces, unknown): (Vec<Entry>, Vec<Entry>) =
        others.into_iter().partition(|file| folder::may_be_trace(&bare(file), &formats));
    let mut places: Vec<Place> = runs.chain(traces.into_iter().map(|trace| packed(trace, None))).collect();
    if places.is_empty() && tables.is_empty() && unknown.len() <= MAX_UNKNOWN {
        // What they are is told by their content, in the refusal if they are no traces.
        let visible = unknown.into_iter().filter(|file| !bare(file).starts_with('.'));
        places.extend(visible.map(|trace| packed(trace, None)));
    }
    if places.is_empty() {
        let what = match tables.is_empty() {
            true => "there are no traces in this archive",
            false => {
                "there are no traces in this archive, but tables of a run directory without trace.parquet"
            }
        };
        return useless(if left_out.is_empty() {
            what.to_string()
        } else {
            format!("{what} that can be read: {}", left_out.join("; "))
        });
    }
    if !is_quiet {
        for file in left_out {
            say!("tracedrop: {}: note: left out: {file}", shown(path));
        }
        if archive.is_cut {
            say!("tracedrop: {}: note: only the first of its many files are looked at", shown(path));
        }
    }
    Some(places)
}

fn path_input(path: &Path) -> Result<Input, String> {
    let run = run_files(path);
    let folder = path;
    let path = if run.is_some() { &folder.join(folder::TRACE_OF_RUN) } else { folder };
    let cannot = |error: io::Error| format!("cannot be opened: {error}");
    let is_stdin = path.as_os_str() == "-";
    let (reader, n_bytes): (Box<dyn Read>, u64) = if is_stdin {
        (Box::new(io::stdin().lock()), 0)
    } else {
        let metadata = std::fs::metadata(path).map_err(cannot)?;
        if metadata.is_dir() {
            return Err("is a directory without trace files".to_string());
        }
        let file = std::fs::File::open(path).map_err(cannot)?;
        (Box::new(file), if metadata.is_file() { metadata.len() } else { 0 })
    };
    // A run is called as its directory, which has its name, while all their traces are called alike.
    let named = match run {
        Some(_) => folder.canonicalize().unwrap_or(folder.to_path_buf()),
        None => path.to_path_buf(),
    };
    let file_name = match named.file_name() {
        Some(file_name) if !is_stdin => file_name.to_string_lossy().into_owned(),
        _ => "stdin".to_string(),
    };
    let content = FileContent::open(path).filter(|_| n_bytes > 0);
    let content = content.map(|content| Rc::new(content) as Rc<dyn Content>);
    let beside = run.map(|names| beside_in(folder, names));
    Ok(Input { reader, n_bytes, file_name, content, path: Some(path.to_path_buf()), beside })
}

/// The files beside the trace in the folder of a run.
fn beside_in(folder: &Path, names: Vec<String>) -> Vec<FileBeside> {
    let others = names.into_iter().filter(|name| name != folder::TRACE_OF_RUN);
    others.map(|name| file_beside(&folder.join(&name), name)).collect()
}

/// The file `path` as one of that name beside a trace.
fn file_beside(path: &Path, name: String) -> FileBeside {
    let n_bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    if !folder::is_read_in_run(&name, n_bytes) {
        return FileBeside::unread(name, n_bytes);
    }
    match std::fs::read(path) {
        Ok(content) => memory_run::file_beside(name, content),
        Err(error) => {
            say!("tracedrop: {} can not be read: {error}", shown(path));
            FileBeside::unread(name, n_bytes)
        }
    }
}

impl Packed {
    fn input(&self, is_quiet: bool) -> Result<Input, String> {
        let bare = |path: &str| path.rsplit('/').next().unwrap_or_default().to_string();
        let name = bare(&self.trace.path);
        let file_name = self.run.as_ref().map_or(&name, |run| &run.name).clone();
        let beside = self.run.as_ref().map(|run| self.beside_in(run, is_quiet));
        let made = |content: Rc<dyn Content>| Input {
            reader: Box::new(Reading::new(content.clone())),
            n_bytes: content.n_bytes(),
            file_name: file_name.clone(),
            content: Some(content),
            path: None,
            beside: beside.clone(),
        };
        let part = || Part { whole: self.content.clone(), range: self.trace.range.clone() };
        if self.trace.packing == Packing::Stored {
            return Ok(made(Rc::new(part())));
        }
        match folder::unpacking(&name, self.trace.n_bytes) {
            Unpacking::Whole => Ok(made(Rc::new(self.whole(&self.trace)?))),
            Unpacking::TooLarge if self.trace.n_bytes <= MAX_TABLE_BYTES => {
                Ok(made(Rc::new(self.whole(&self.trace)?)))
            }
            Unpacking::TooLarge => Err(format!(
                "{name} is packed and has more than {} GiB unpacked; unpack the archive and open its folder",
                MAX_TABLE_BYTES >> 30
            )),
            Unpacking::AsGzip => {
                let (head, tail) = archive::gzip_ends(&self.trace).ok_or("it is not packed")?;
                let packed = Reading::new(Rc::new(part()));
                let n_bytes = part().n_bytes() + (head.len() + tail.len()) as u64;
                let reader = io::Cursor::new(head).chain(packed).chain(io::Cursor::new(tail));
                Ok(Input { reader: Box::new(reader), n_bytes, file_name, content: None, path: None, beside })
            }
        }
    }

    /// The files beside the trace of a run.
    fn beside_in(&self, run: &Run, is_quiet: bool) -> Vec<FileBeside> {
        let files = run.beside.iter().map(|entry| {
            let name = folder::name_in_run(&entry.path, &run.folder).to_string();
            if !folder::is_read_in_run(&name, entry.n_bytes) {
                return FileBeside::unread(name, entry.n_bytes);
            }
            match self.whole(entry) {
                Ok(content) => memory_run::file_beside(name, content),
                Err(why) => {
                    if !is_quiet {
                        say!("tracedrop: {} in {}: {why}", text::visible(&name), shown(&self.archive));
                    }
                    FileBeside::unread(name, entry.n_bytes)
                }
            }
        });
        files.collect()
    }

    /// All bytes of a file of the archive.
    fn whole(&self, entry: &Entry) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        archive::unpack(&*self.content, entry, &mut |piece| {
            out.try_reserve(piece.len()).map_err(|_| "it is larger than memory".to_string())?;
            out.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(out)
    }
}

/// A stretch of a file as content of its own.
struct Part {
    whole: Rc<FileContent>,
    range: Range<u64>,
}

impl Content for Part {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = self.range.start.saturating_add(offset);
        if start.saturating_add(out.len() as u64) > self.range.end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.whole.read_at(start, out)
    }

    fn n_bytes(&self) -> u64 {
        self.range.end - self.range.start
    }
}

/// Content from front to back.
struct Reading {
    content: Rc<dyn Content>,
    at: u64,
}

impl Reading {
    fn new(content: Rc<dyn Content>) -> Reading {
        Reading { content, at: 0 }
    }
}

impl Read for Reading {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = self.content.n_bytes().saturating_sub(self.at);
        let n = left.min(out.len().min(PIECE_BYTES) as u64) as usize;
        self.content.read_at(self.at, &mut out[..n])?;
        self.at += n as u64;
        Ok(n)
    }
}

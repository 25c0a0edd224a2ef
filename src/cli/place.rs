//! Locations of traces: files, run directories and archives.

use crate::cli::content::FileContent;
use crate::cli::joined::Joined;
use crate::cli::output::shown;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tracedrop::archive::{self, Entry, Packing};
use tracedrop::base::text;
use tracedrop::engine;
use tracedrop::engine::folder::{self, RunIn, TableFolder, Unpacking};
use tracedrop::export::tracedrop_file;
use tracedrop::memory_run;
use tracedrop::trace::args::Content;
use tracedrop::trace::sidecar_files::SidecarFile;

/// Folder levels searched for runs: datasets have folders for machine and model.
const MAX_DEPTH: usize = 4;

/// Folders that a note names.
const MAX_NAMED: usize = 5;

/// Largest compressed table that is decompressed into memory.
const MAX_TABLE_BYTES: u64 = 4 << 30;

/// Files of an archive that are opened although their names match no format.
const MAX_UNKNOWN: usize = 8;

/// Bytes per read.
const PIECE_BYTES: usize = 256 << 10;

/// Location of a trace.
pub enum Place {
    /// A file or a run directory.
    Path(PathBuf),
    /// The directory of the first run of a dataset, and the lists of its runs; several if datasets are nested.
    FirstRun(PathBuf, Vec<PathBuf>),
    Packed(Packed),
    /// An export of Nsight Systems in an archive.
    PackedTables(PackedTables),
    /// An archive without readable traces, and why.
    Useless(PathBuf, String),
}

/// A trace in an archive.
pub struct Packed {
    archive: PathBuf,
    content: Rc<FileContent>,
    trace: Entry,
    /// The run it belongs to.
    run: Option<Run>,
}

/// Tables in an archive that are read as one file.
pub struct PackedTables {
    archive: PathBuf,
    content: Rc<FileContent>,
    /// File name of the export.
    name: String,
    tables: Vec<Entry>,
}

/// A run directory in an archive.
struct Run {
    name: String,
    folder: String,
    sidecar_files: Vec<Entry>,
}

/// A trace ready to be read.
pub struct Input {
    pub reader: Box<dyn Read>,
    /// 0 if unknown.
    pub n_bytes: u64,
    pub file_name: String,
    /// Random access to the content, if possible.
    pub content: Option<Rc<dyn Content>>,
    /// The file, unless it is in an archive.
    pub path: Option<PathBuf>,
    /// The other files of its run directory, if it has one.
    pub sidecar_files: Option<Vec<SidecarFile>>,
}

impl Place {
    /// Path for messages, with control characters escaped.
    pub fn shown(&self) -> String {
        match self {
            Place::Path(path) | Place::FirstRun(path, _) | Place::Useless(path, _) => shown(path),
            Place::Packed(packed) => {
                let inside = packed.run.as_ref().map_or(&packed.trace.path, |run| &run.folder);
                let slash = if inside.is_empty() { "" } else { "/" };
                format!("{}{slash}{}", shown(&packed.archive), text::visible(inside))
            }
            Place::PackedTables(packed) => {
                format!("{}/{}", shown(&packed.archive), text::visible(&packed.name))
            }
        }
    }

    /// Opens the trace; the error is a sentence fragment.
    pub fn input(&self, is_quiet: bool) -> Result<Input, String> {
        match self {
            Place::Path(path) => path_input(path),
            Place::FirstRun(path, lists) => {
                let mut input = path_input(path)?;
                let lists =
                    lists.iter().map(|list| sidecar_file(list, memory_run::DATASET_ABOVE.to_string()));
                input.sidecar_files.get_or_insert_default().extend(lists);
                Ok(input)
            }
            Place::Packed(packed) => packed.input(is_quiet),
            Place::PackedTables(packed) => packed.input(),
            Place::Useless(_, why) => Err(why.clone()),
        }
    }

    /// Whether it is a text, and no trace.
    fn is_other_text(&self) -> bool {
        let name = match self {
            Place::Path(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            Place::Packed(packed) => packed.trace.path.clone(),
            _ => return false,
        };
        if !folder::may_be_other_text(&name) {
            return false;
        }
        let Ok(input) = self.input(true) else { return false };
        let mut head = Vec::new();
        let is_read = input.reader.take(folder::HEAD_BYTES as u64).read_to_end(&mut head).is_ok();
        is_read && folder::is_other_text(&name, &head)
    }
}

/// The traces of a folder or an archive, without texts beside them; all places if there are only texts.
fn without_texts(places: Vec<Place>, is_quiet: bool) -> Vec<Place> {
    let (texts, traces): (Vec<Place>, Vec<Place>) = places.into_iter().partition(Place::is_other_text);
    if traces.is_empty() {
        return texts;
    }
    for text in texts.iter().filter(|_| !is_quiet) {
        say!("tracedrop: {}: note: skipped: text, but not a supported trace", text.shown());
    }
    traces
}

/// Traces that `paths` stand for. A folder or archive stands for the traces directly in it, in order of name, and the runs anywhere
/// in it. Folders without traces and run directories stay as they are.
pub fn places(paths: &[PathBuf], is_quiet: bool) -> Vec<Place> {
    let mut places = Vec::new();
    let formats = engine::formats();
    for path in paths {
        if run_files(path).is_some() || tables_of_export(path).is_some() {
            places.push(Place::Path(path.clone()));
            continue;
        }
        if let Some(inside) = in_archive(path, is_quiet) {
            places.extend(without_texts(inside, is_quiet));
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
            say!("tracedrop: {}: note: {WITHOUT_TRACE}; reading {} instead", shown(path), memory_run::RAW);
        }
        inside.extend(raw);
        inside.extend(parts_below(path, &formats));
        inside.extend(runs_below(path, MAX_DEPTH));
        inside.sort();
        let unread = unread_below(path, &inside, &formats);
        if !unread.is_empty() && !is_quiet {
            let names = unread.join(", ");
            say!(
                "tracedrop: {}: note: folders in it are not read; name them to read them: {names}",
                shown(path)
            );
        }
        if inside.is_empty() && !tables.is_empty() {
            places.push(Place::Useless(path.clone(), WITHOUT_TRACE.to_string()));
        } else if inside.is_empty() {
            places.push(Place::Path(path.clone()));
        }
        let mut given: Vec<PathBuf> = Vec::new();
        let mut found = Vec::new();
        let inside_of = path;
        for path in inside {
            match in_archive(&path, is_quiet) {
                Some(inside) => found.extend(inside),
                None => {
                    let mut lists = lists_above(inside_of, &path);
                    lists.retain(|list| !given.contains(list));
                    given.extend(lists.iter().cloned());
                    found.push(if lists.is_empty() {
                        Place::Path(path)
                    } else {
                        Place::FirstRun(path, lists)
                    });
                }
            }
        }
        places.extend(without_texts(found, is_quiet));
    }
    places
}

/// Names of the folders directly in `path` with files that may be traces, where nothing in `read` lies; of many, the first ones.
fn unread_below(path: &Path, read: &[PathBuf], formats: &[engine::protocol::FormatView]) -> Vec<String> {
    let is_read = |folder: &Path| read.iter().any(|path| path.starts_with(folder));
    let is_unread = |folder: &PathBuf| {
        !is_read(folder) && !is_of_system(folder) && has_traces(folder, formats, MAX_DEPTH)
    };
    let mut folders: Vec<PathBuf> = folders_in(path).filter(is_unread).collect();
    folders.sort();
    let name = |folder: &PathBuf| folder.file_name().map(|name| text::visible(&name.to_string_lossy()));
    let mut names: Vec<String> = folders.iter().filter_map(name).collect();
    if names.len() > MAX_NAMED {
        names.truncate(MAX_NAMED);
        names.push(format!("and {} more", folders.len() - MAX_NAMED));
    }
    names
}

/// Folders in `path`. Links are skipped: they may form cycles.
fn folders_in(path: &Path) -> impl Iterator<Item = PathBuf> {
    let inside = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

/// Whether a folder belongs to the system, which starts the names of its own with a dot.
fn is_of_system(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// Whether a file in `folder`, at most `n_levels` down, may be a trace by its name.
fn has_traces(folder: &Path, formats: &[engine::protocol::FormatView], n_levels: usize) -> bool {
    let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let may_be_trace = |name: &str| folder::may_be_trace(name, formats) || folder::may_be_archive(name);
    let is_trace = |entry: std::fs::DirEntry| {
        may_be_trace(&entry.file_name().to_string_lossy()) && entry.path().is_file()
    };
    let is_below = |folder: PathBuf| !is_of_system(&folder) && has_traces(&folder, formats, n_levels - 1);
    files.into_iter().any(is_trace) || n_levels > 1 && folders_in(folder).any(is_below)
}

/// Message for a run directory that contains only tables.
const WITHOUT_TRACE: &str = "run directory without trace.parquet";

/// Dataset lists in the folders above the run directory `run`, up to `top`; none if `run` is a file.
fn lists_above(top: &Path, run: &Path) -> Vec<PathBuf> {
    if run_files(run).is_none() {
        return Vec::new();
    }
    let folders = run.ancestors().skip(1).take_while(|folder| folder.starts_with(top));
    folders.map(|folder| folder.join(memory_run::DATASET)).filter(|list| list.is_file()).collect()
}

/// Raw captures of the run directory `path`.
fn raw_traces(path: &Path) -> Vec<PathBuf> {
    let raw = path.join(memory_run::RAW);
    memory_run::RAW_TRACES.map(|name| raw.join(name)).into_iter().filter(|path| path.is_file()).collect()
}

/// Run directories and exports of tables in `path`, at most `n_levels` down.
fn runs_below(path: &Path, n_levels: usize) -> Vec<PathBuf> {
    folders_in(path)
        .flat_map(|folder| match run_files(&folder) {
            Some(_) => vec![folder],
            None if tables_of_export(&folder).is_some() => vec![folder],
            None if !raw_traces(&folder).is_empty() => raw_traces(&folder),
            None if n_levels > 1 => runs_below(&folder, n_levels - 1),
            None => Vec::new(),
        })
        .collect()
}

/// Whether `path` is the folder of a fleet dataset, or one of its tables.
pub fn is_dataset(path: &Path) -> bool {
    is_table(path) || !tables_in(path).is_empty()
}

/// Whether `path` is the folder of a table of a fleet dataset.
fn is_table(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    folder::is_table_of_dataset(&name) && path.is_dir()
}

/// Folders of the tables of the fleet dataset in `path`.
fn tables_in(path: &Path) -> Vec<PathBuf> {
    let inside = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    let is_table =
        |entry: &std::fs::DirEntry| folder::is_table_of_dataset(&entry.file_name().to_string_lossy());
    inside.filter(is_table).map(|entry| entry.path()).collect()
}

/// Parts of the fleet dataset in `path`, or of its table `path`.
fn parts_below(path: &Path, formats: &[engine::protocol::FormatView]) -> Vec<PathBuf> {
    let mut tables = tables_in(path);
    if tables.is_empty() && is_table(path) {
        tables.push(path.to_path_buf());
    }
    let entries = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let parts = tables.into_iter().flat_map(entries).flat_map(|run| entries(run.path()));
    let is_part = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.is_file() && folder::may_be_trace(&name, formats)
    };
    parts.map(|part| part.path()).filter(is_part).collect()
}

/// Path of a part of a fleet dataset with the folders of its table and run; `None` for other files.
fn name_of_part(path: &Path) -> Option<String> {
    let path = path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    folder::name_in_dataset(&path).map(str::to_string)
}

/// Sorted names of the tables in `path`; `None` unless it is an export of Nsight Systems.
fn tables_of_export(path: &Path) -> Option<Vec<String>> {
    let inside = std::fs::read_dir(path).ok()?.filter_map(Result::ok);
    let names = inside.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| folder::is_in_table_folder(name)).collect();
    names.sort();
    folder::is_table_folder(names.iter().map(String::as_str)).then_some(names)
}

/// Sorted file names of the run directory `path`, figures with their folder; `None` if `path` is not a run directory.
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

/// Traces in the archive `path`; `None` if it is not an archive.
fn in_archive(path: &Path, is_quiet: bool) -> Option<Vec<Place>> {
    let content = Rc::new(FileContent::open(path)?);
    let mut head = [0; 4];
    content.read_at(0, &mut head).ok().filter(|()| archive::is_archive(&head))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // A Tracedrop file is one item.
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
    let (exports, others) = folder::table_folders_among(archive.files, |file| &file.path);
    let (runs, others) = folder::runs_among(others, |file| &file.path);
    let (others, tables) = folder::without_tables_of_runs(others, |file| &file.path);
    let formats = engine::formats();
    let packed = |trace, run| {
        Place::Packed(Packed { archive: path.to_path_buf(), content: content.clone(), trace, run })
    };
    let runs = runs.into_iter().map(|RunIn { folder, trace, beside }| {
        let name = folder.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(&stem).to_string();
        packed(trace, Some(Run { name, folder, sidecar_files: beside }))
    });
    let bare = |file: &Entry| file.path.rsplit('/').next().unwrap_or_default().to_string();
    let (traces, unknown): (Vec<Entry>, Vec<Entry>) =
        others.into_iter().partition(|file| folder::may_be_trace(&bare(file), &formats));
    let exports = exports.into_iter().map(|TableFolder { folder, tables }| {
        let name = folder.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(&stem).to_string();
        Place::PackedTables(PackedTables {
            archive: path.to_path_buf(),
            content: content.clone(),
            name,
            tables,
        })
    });
    let mut places: Vec<Place> =
        runs.chain(exports).chain(traces.into_iter().map(|trace| packed(trace, None))).collect();
    if places.is_empty() && tables.is_empty() && unknown.len() <= MAX_UNKNOWN {
        // Opened by content; the refusal then names what they are.
        let visible = unknown.into_iter().filter(|file| !bare(file).starts_with('.'));
        places.extend(visible.map(|trace| packed(trace, None)));
    }
    if places.is_empty() {
        let what = match tables.is_empty() {
            true => "no traces in this archive",
            false => "no traces in this archive, only tables of a run directory without trace.parquet",
        };
        return useless(if left_out.is_empty() {
            what.to_string()
        } else {
            format!("{what}; skipped: {}", left_out.join("; "))
        });
    }
    if !is_quiet {
        for file in left_out {
            say!("tracedrop: {}: note: skipped: {file}", shown(path));
        }
        if archive.is_cut {
            say!(
                "tracedrop: {}: note: too many files; only the first ones were searched for traces",
                shown(path)
            );
        }
    }
    Some(places)
}

fn path_input(path: &Path) -> Result<Input, String> {
    if let Some(names) = tables_of_export(path) {
        return export_input(path, names);
    }
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
            return Err("no traces in this folder".to_string());
        }
        let file = std::fs::File::open(path).map_err(cannot)?;
        (Box::new(file), if metadata.is_file() { metadata.len() } else { 0 })
    };
    // A run takes the name of its directory: all traces are named trace.parquet.
    let named = match run {
        Some(_) => folder.canonicalize().unwrap_or(folder.to_path_buf()),
        None => path.to_path_buf(),
    };
    let file_name = match named.file_name() {
        Some(file_name) if !is_stdin => {
            let in_dataset = name_of_part(path).filter(|_| run.is_none());
            in_dataset.unwrap_or_else(|| file_name.to_string_lossy().into_owned())
        }
        _ => "stdin".to_string(),
    };
    let content = FileContent::open(path).filter(|_| n_bytes > 0);
    let content = content.map(|content| Rc::new(content) as Rc<dyn Content>);
    let sidecar_files = run.map(|names| sidecar_files_in(folder, names));
    Ok(Input { reader, n_bytes, file_name, content, path: Some(path.to_path_buf()), sidecar_files })
}

/// An export of Nsight Systems in the folder `path`, as one file.
fn export_input(path: &Path, names: Vec<String>) -> Result<Input, String> {
    let open = |name: String| {
        let content = FileContent::open(&path.join(&name)).ok_or(format!("{name} cannot be opened"))?;
        Ok::<_, String>((name, Box::new(content) as Box<dyn Content>))
    };
    let tables = names.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let named = path.canonicalize().unwrap_or(path.to_path_buf());
    let file_name = named.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(joined_input(file_name, tables))
}

fn joined_input(file_name: String, tables: Vec<(String, Box<dyn Content>)>) -> Input {
    let content: Rc<dyn Content> = Rc::new(Joined::tar(tables));
    Input {
        reader: Box::new(Reading::new(content.clone())),
        n_bytes: content.n_bytes(),
        file_name,
        content: Some(content),
        path: None,
        sidecar_files: None,
    }
}

/// The files next to the trace in a run directory.
fn sidecar_files_in(folder: &Path, names: Vec<String>) -> Vec<SidecarFile> {
    let others = names.into_iter().filter(|name| name != folder::TRACE_OF_RUN);
    others.map(|name| sidecar_file(&folder.join(&name), name)).collect()
}

/// The file `path`, under the given name, as a file next to a trace.
fn sidecar_file(path: &Path, name: String) -> SidecarFile {
    let n_bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    if !folder::is_read_in_run(&name, n_bytes) {
        return SidecarFile::unread(name, n_bytes);
    }
    match std::fs::read(path) {
        Ok(content) => memory_run::sidecar_file(name, content),
        Err(error) => {
            say!("tracedrop: {} cannot be read: {error}", shown(path));
            SidecarFile::unread(name, n_bytes)
        }
    }
}

impl Packed {
    fn input(&self, is_quiet: bool) -> Result<Input, String> {
        let bare = |path: &str| path.rsplit('/').next().unwrap_or_default().to_string();
        let name = bare(&self.trace.path);
        let file_name = self.run.as_ref().map_or(&name, |run| &run.name).clone();
        let sidecar_files = self.run.as_ref().map(|run| self.sidecar_files_in(run, is_quiet));
        let made = |content: Rc<dyn Content>| Input {
            reader: Box::new(Reading::new(content.clone())),
            n_bytes: content.n_bytes(),
            file_name: file_name.clone(),
            content: Some(content),
            path: None,
            sidecar_files: sidecar_files.clone(),
        };
        let part = || Part { whole: self.content.clone(), range: self.trace.range.clone() };
        if self.trace.packing == Packing::Stored {
            return Ok(made(Rc::new(part())));
        }
        match folder::unpacking(&name, self.trace.n_bytes) {
            Unpacking::Whole => Ok(made(Rc::new(unpacked(&self.content, &self.trace)?))),
            Unpacking::TooLarge if self.trace.n_bytes <= MAX_TABLE_BYTES => {
                Ok(made(Rc::new(unpacked(&self.content, &self.trace)?)))
            }
            Unpacking::TooLarge => Err(format!(
                "{name} has more than {} GiB decompressed; extract the archive and open its folder",
                MAX_TABLE_BYTES >> 30
            )),
            Unpacking::AsGzip => {
                let (head, tail) = archive::gzip_ends(&self.trace).ok_or("it is not compressed")?;
                let packed = Reading::new(Rc::new(part()));
                let n_bytes = part().n_bytes() + (head.len() + tail.len()) as u64;
                let reader = io::Cursor::new(head).chain(packed).chain(io::Cursor::new(tail));
                Ok(Input {
                    reader: Box::new(reader),
                    n_bytes,
                    file_name,
                    content: None,
                    path: None,
                    sidecar_files,
                })
            }
        }
    }

    /// The other files of a run directory.
    fn sidecar_files_in(&self, run: &Run, is_quiet: bool) -> Vec<SidecarFile> {
        let files = run.sidecar_files.iter().map(|entry| {
            let name = folder::name_in_run(&entry.path, &run.folder).to_string();
            if !folder::is_read_in_run(&name, entry.n_bytes) {
                return SidecarFile::unread(name, entry.n_bytes);
            }
            match unpacked(&self.content, entry) {
                Ok(content) => memory_run::sidecar_file(name, content),
                Err(why) => {
                    if !is_quiet {
                        say!("tracedrop: {} in {}: {why}", text::visible(&name), shown(&self.archive));
                    }
                    SidecarFile::unread(name, entry.n_bytes)
                }
            }
        });
        files.collect()
    }
}

impl PackedTables {
    fn input(&self) -> Result<Input, String> {
        let open = |entry: &Entry| {
            let name = entry.path.rsplit('/').next().unwrap_or_default().to_string();
            let content: Box<dyn Content> = match entry.packing == Packing::Stored {
                true => Box::new(Part { whole: self.content.clone(), range: entry.range.clone() }),
                false => Box::new(unpacked(&self.content, entry)?),
            };
            Ok((name, content))
        };
        let n_bytes = self.tables.iter().fold(0u64, |sum, entry| sum.saturating_add(entry.n_bytes));
        if n_bytes > MAX_TABLE_BYTES {
            return Err(format!(
                "{} has more than {} GiB decompressed; extract the archive and open its folder",
                text::visible(&self.name),
                MAX_TABLE_BYTES >> 30
            ));
        }
        let tables = self.tables.iter().map(open).collect::<Result<Vec<_>, String>>()?;
        Ok(joined_input(self.name.clone(), tables))
    }
}

/// Decompressed bytes of a file of an archive.
fn unpacked(archive: &FileContent, entry: &Entry) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    archive::unpack(archive, entry, &mut |piece| {
        out.try_reserve(piece.len()).map_err(|_| "it does not fit in memory".to_string())?;
        out.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(out)
}

/// Byte range of a file as content.
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

/// Sequential reader of content.
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

//! Run directories of mrm-trace 0.1.0 to 0.1.23: a memory trace with the files derived from it.
//!
//! Converts named bytes to a [`RunDirectory`] and back, without opening files. Parse failures go to
//! [`RunDirectory::problems`] and don't affect the other files.
//!
//! ```text
//! trace.parquet  region_map.parquet  kv_block_lifecycle.parquet  metrics.csv  metadata.json  manifest.json
//! ```

mod csv;
pub mod dataset;
pub mod manifest;
pub mod metadata;
pub mod metrics;
pub mod run_id;
pub mod schema;
pub mod tables;
pub mod trace_table;

use self::manifest::{Checksum, FileCheck, Fingerprint, Manifest};
use self::metrics::MetricsRow;
use self::schema::{Check, Kind};
use self::tables::{KvRow, RegionRow};
use crate::base::json::Json;
use crate::base::strings::StringTable;
use crate::base::units::counted;
use crate::parquet::ParquetFile;
use crate::trace::accesses::{Access, AccessTable};
use crate::trace::sidecar_files::SidecarFile;
use std::io::{self, Write};

pub const TRACE: &str = "trace.parquet";
pub const REGION_MAP: &str = "region_map.parquet";
pub const KV_BLOCKS: &str = "kv_block_lifecycle.parquet";
pub const METRICS: &str = "metrics.csv";
pub const METADATA: &str = "metadata.json";
pub const MANIFEST: &str = "manifest.json";
pub const PROMPT_OUTPUTS: &str = "prompt_outputs.json";
/// Address ranges written by engines; the file does not identify a run directory.
pub const KV_RANGES: &str = "kv_ranges.json";
/// The list of the runs in a dataset, in the parent directory; see [`dataset`].
pub const DATASET: &str = "manifest.csv";
/// Name of that list among the files of a run, which no file in the directory can have.
pub const DATASET_ABOVE: &str = "../manifest.csv";
/// Files that identify a run directory.
pub const FILES: [&str; 7] = [TRACE, REGION_MAP, KV_BLOCKS, METRICS, METADATA, MANIFEST, PROMPT_OUTPUTS];
/// Folder of the raw capture in a directory, and its possible file names.
pub const RAW: &str = "raw";
pub const RAW_TRACES: [&str; 2] = ["perf_script.txt", "memray.bin"];
/// Chart folder in directories written by earlier versions; charts are next to the tables now, as manifests list bare names.
pub const FIGURES: &str = "figures";

/// Parsed content of a run directory.
#[derive(Default)]
pub struct RunDirectory {
    pub run_id: String,
    /// Rows of the trace, in file order; `None` without a trace.
    pub accesses: Option<AccessTable>,
    /// Texts of the rows.
    pub strings: StringTable,
    pub regions: Vec<RegionRow>,
    pub kv_blocks: Vec<KvRow>,
    pub metrics: Vec<MetricsRow>,
    /// Known keys are in [`metadata::KNOWN`].
    pub metadata: Option<Json>,
    pub prompt_outputs: Option<Json>,
    pub manifest: Option<Manifest>,
    /// Check results of all files in the manifest and the directory; empty without a manifest.
    pub checks: Vec<FileCheck>,
    pub problems: Vec<Problem>,
}

/// A problem with a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    pub file: String,
    /// A sentence fragment.
    pub what: String,
}

/// Parses the files of a directory, keyed by bare name.
pub fn read(files: &[(&str, &[u8])]) -> RunDirectory {
    let mut run = RunDirectory::default();
    if let Some((_, bytes)) = files.iter().find(|(name, _)| *name == TRACE) {
        run.take_trace(bytes);
    }
    run.take_others(&|wanted| files.iter().find(|(name, _)| *name == wanted).map(|(_, bytes)| *bytes));
    if let Some(manifest) = &run.manifest {
        let files: Vec<Fingerprint<'_>> =
            files.iter().map(|(name, bytes)| Fingerprint::of(name, bytes)).collect();
        run.checks = manifest.check(&files);
    }
    run
}

/// Parses the other files of the directory once the trace has been read.
pub fn read_sidecar_files(files: &[SidecarFile]) -> RunDirectory {
    let mut run = RunDirectory::default();
    run.take_others(&|wanted| files.iter().find(|file| file.name == wanted)?.content.as_deref());
    if let Some(manifest) = &run.manifest {
        run.checks = check(manifest, files);
    }
    run
}

/// Checks the trace and the other files against the manifest; empty without one.
pub fn check_sidecar_files(files: &[SidecarFile]) -> Vec<FileCheck> {
    let content = files.iter().find(|file| file.name == MANIFEST).and_then(|file| file.content.as_deref());
    let Some(manifest) = content.and_then(|content| Manifest::read(content).ok()) else { return Vec::new() };
    check(&manifest, files)
}

/// The files directly in the directory.
pub fn of_directory(files: &[SidecarFile]) -> impl Iterator<Item = &SidecarFile> {
    files.iter().filter(|file| file.name != DATASET_ABOVE)
}

fn check(manifest: &Manifest, files: &[SidecarFile]) -> Vec<FileCheck> {
    manifest.check(&of_directory(files).map(Fingerprint::from).collect::<Vec<_>>())
}

impl RunDirectory {
    fn take_trace(&mut self, bytes: &[u8]) {
        let read = open(bytes, TRACE, Kind::Trace, &mut self.problems).and_then(|file| {
            let mut rows = AccessTable::default();
            let read = trace_table::read(&file, &mut self.strings, &mut rows);
            read.map(|info| (rows, info)).map_err(|error| error.to_string())
        });
        if let Some((rows, info)) = noted(read, TRACE, &mut self.problems) {
            if info.n_skipped > 0 {
                let rows = counted(info.n_skipped, "row", "rows");
                let what = format!("skipped {rows} without a timestamp, address or operation");
                self.problems.push(Problem { file: TRACE.to_string(), what });
            }
            if info.n_out_of_range > 0 {
                let numbers = counted(info.n_out_of_range, "number", "numbers");
                let what = format!("{numbers} out of range for the column, treated as missing");
                self.problems.push(Problem { file: TRACE.to_string(), what });
            }
            self.run_id = info.run_id.unwrap_or_default();
            self.accesses = Some(rows);
        }
    }

    fn take_others<'a>(&mut self, find: &dyn Fn(&str) -> Option<&'a [u8]>) {
        if let Some(bytes) = find(REGION_MAP) {
            let file = open(bytes, REGION_MAP, Kind::RegionMap, &mut self.problems);
            let read = file.and_then(|file| tables::read_regions(&file).map_err(|error| error.to_string()));
            self.regions = noted(read, REGION_MAP, &mut self.problems).unwrap_or_default();
        }
        if let Some(bytes) = find(KV_BLOCKS) {
            let file = open(bytes, KV_BLOCKS, Kind::KvBlocks, &mut self.problems);
            let read = file.and_then(|file| tables::read_kv_blocks(&file).map_err(|error| error.to_string()));
            self.kv_blocks = noted(read, KV_BLOCKS, &mut self.problems).unwrap_or_default();
        }
        if let Some(bytes) = find(METRICS) {
            self.metrics = noted(metrics::read(bytes), METRICS, &mut self.problems).unwrap_or_default();
        }
        let mut json = |name: &str| {
            let read = Json::parse(find(name)?).ok_or("not valid JSON".to_string());
            noted(read, name, &mut self.problems)
        };
        (self.metadata, self.prompt_outputs) = (json(METADATA), json(PROMPT_OUTPUTS));
        if let Some(bytes) = find(MANIFEST) {
            self.manifest = noted(Manifest::read(bytes), MANIFEST, &mut self.problems);
        }
        let told = self.manifest.as_ref().map(|manifest| manifest.run_id.as_str());
        let told = told.or(self.metadata.as_ref().and_then(|metadata| metadata.at("run_id")?.as_str()));
        if self.run_id.is_empty() {
            self.run_id = told.unwrap_or_default().to_string();
        }
    }
}

/// Larger files in the run directory are not parsed.
const MAX_BESIDE_BYTES: u64 = 256 << 20;
/// Limit on the size of other files, such as charts, for which a checksum is computed.
const MAX_CHECKED_BYTES: u64 = 16 << 20;

/// Names of the files that are parsed besides the trace.
const BESIDE: [&str; 7] = [REGION_MAP, KV_BLOCKS, METRICS, METADATA, MANIFEST, PROMPT_OUTPUTS, KV_RANGES];

/// Whether a file in the run directory is read: known files, and small ones for their checksums. Others are only
/// listed.
pub fn is_read(name: &str, n_bytes: u64) -> bool {
    n_bytes <= if BESIDE.contains(&name) { MAX_BESIDE_BYTES } else { MAX_CHECKED_BYTES }
}

/// A file read from the run directory. The content of unknown files is discarded.
pub fn sidecar_file(name: String, content: Vec<u8>) -> SidecarFile {
    let (n_bytes, sha256) = (content.len() as u64, manifest::sha256(&content));
    let content = (is_beside(&name) || name == DATASET_ABOVE).then_some(content);
    SidecarFile { name, n_bytes, sha256, content }
}

/// Whether files of these bare names form a run directory: a trace, and at least one other known file.
pub fn is_directory<'a>(names: impl Iterator<Item = &'a str> + Clone) -> bool {
    names.clone().any(|name| name == TRACE) && names.clone().any(|name| BESIDE.contains(&name))
}

/// Whether files of these bare names form a run directory without a trace.
pub fn is_without_trace<'a>(names: impl Iterator<Item = &'a str> + Clone) -> bool {
    names.clone().all(|name| name != TRACE) && names.filter(|name| is_beside(name)).count() > 1
}

/// Whether a file of that name is a known part of a run directory.
pub fn is_beside(name: &str) -> bool {
    BESIDE.contains(&name)
}

fn open<'a>(
    bytes: &'a [u8],
    name: &str,
    kind: Kind,
    problems: &mut Vec<Problem>,
) -> Result<ParquetFile<&'a [u8]>, String> {
    let file = ParquetFile::open(bytes).map_err(|error| error.to_string())?;
    match schema::check(kind, &file) {
        Check::Fits => Ok(file),
        Check::Missing(columns) => {
            let what = format!("missing columns: {}", columns.join(", "));
            problems.push(Problem { file: name.to_string(), what });
            Ok(file)
        }
        Check::Version(what) => Err(what),
    }
}

fn noted<T>(read: Result<T, String>, name: &str, problems: &mut Vec<Problem>) -> Option<T> {
    read.map_err(|what| problems.push(Problem { file: name.to_string(), what })).ok()
}

/// Content of a run directory to write: labelled rows and derived tables.
pub struct Contents<'a, R> {
    pub run_id: &'a str,
    /// Labelled rows of the trace; iterated twice.
    pub rows: R,
    /// Texts of the rows.
    pub strings: &'a StringTable,
    pub regions: &'a [RegionRow],
    pub kv_blocks: &'a [KvRow],
    /// In order of region type.
    pub metrics: &'a [MetricsRow],
    pub metadata: Option<&'a Json>,
    pub prompt_outputs: Option<&'a Json>,
    /// Charts by bare file name.
    pub figures: Vec<(String, Vec<u8>)>,
    /// Milliseconds since the Unix epoch.
    pub now_ms: u64,
}

/// Receives the files of a directory one by one.
pub trait Files {
    /// Receives the file with that path in the directory; `write` writes its bytes, and is called once.
    fn file(&mut self, path: &str, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>)
    -> io::Result<()>;
}

/// Files in memory, in order.
impl Files for Vec<(String, Vec<u8>)> {
    fn file(
        &mut self,
        path: &str,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        self.push((path.to_string(), bytes));
        Ok(())
    }
}

/// A writer that hashes its input.
struct Watched<'a> {
    out: &'a mut dyn Write,
    checksum: Checksum,
    n_bytes: u64,
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.checksum.take(&bytes[..n]);
        self.n_bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes the files of a directory to `files`, each with its path, the manifest last. At most one row group of the trace
/// is in memory at a time.
pub fn write<R: Fn() -> I, I: Iterator<Item = Access>>(
    contents: Contents<'_, R>,
    files: &mut dyn Files,
) -> io::Result<()> {
    let mut written = Vec::new();
    let mut add = |path: &str, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>| {
        files.file(path, &mut |out| {
            let mut out = Watched { out, checksum: Checksum::default(), n_bytes: 0 };
            write(&mut out)?;
            let Watched { checksum, n_bytes, .. } = out;
            written.push((path.to_string(), n_bytes, checksum.finish()));
            Ok(())
        })
    };
    add(TRACE, &mut |out| trace_table::write(contents.run_id, &contents.rows, contents.strings, out))?;
    let metadata = contents.metadata.map(|json| json.to_python_text(2));
    // The reference escapes non-ASCII characters in one file but not in the other.
    let prompts = contents.prompt_outputs.map(|json| json.to_python_text_unescaped(2));
    let tables = [
        (REGION_MAP, Some(tables::write_regions(contents.regions))),
        (KV_BLOCKS, Some(tables::write_kv_blocks(contents.kv_blocks))),
        (METRICS, Some(metrics::write(contents.metrics).into_bytes())),
        (METADATA, metadata.map(String::into_bytes)),
        (PROMPT_OUTPUTS, prompts.map(String::into_bytes)),
    ];
    let tables = tables.into_iter().filter_map(|(name, bytes)| Some((name.to_string(), bytes?)));
    for (path, bytes) in tables.chain(contents.figures) {
        add(&path, &mut |out| out.write_all(&bytes))?;
    }
    let fingerprints = written.iter().map(|(path, n_bytes, sha256): &(String, u64, String)| Fingerprint {
        path,
        n_bytes: *n_bytes,
        sha256: sha256.as_str().into(),
    });
    let manifest = Manifest::of(contents.run_id, contents.now_ms, fingerprints);
    files.file(MANIFEST, &mut |out| out.write_all(manifest.to_json().to_python_text(2).as_bytes()))
}

//! Run directories of mrm-trace 0.1.0 to 0.1.23: a trace of memory accesses with what was made of it, as files.
//!
//! From named bytes to a [`RunDirectory`] and back; no file is opened here. What can not be read is said in
//! [`RunDirectory::problems`] and does not keep the rest from being shown.
//!
//! ```text
//! trace.parquet  region_map.parquet  kv_block_lifecycle.parquet  metrics.csv  metadata.json  manifest.json
//! ```

mod csv;
pub mod dataset;
pub mod manifest;
pub mod metadata;
pub mod metrics;
pub mod ranges;
pub mod schema;
pub mod tables;
pub mod trace_table;

use self::manifest::{FileCheck, Manifest};
use self::metrics::MetricsRow;
use self::schema::{Check, Kind};
use self::tables::{KvRow, RegionRow};
use crate::base::json::Json;
use crate::base::strings::StringTable;
use crate::parquet::ParquetFile;
use crate::trace::accesses::{Access, AccessTable};

pub const TRACE: &str = "trace.parquet";
pub const REGION_MAP: &str = "region_map.parquet";
pub const KV_BLOCKS: &str = "kv_block_lifecycle.parquet";
pub const METRICS: &str = "metrics.csv";
pub const METADATA: &str = "metadata.json";
pub const MANIFEST: &str = "manifest.json";
pub const PROMPT_OUTPUTS: &str = "prompt_outputs.json";

/// What a directory holds.
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
    /// Each file of the manifest and of the directory; empty without a manifest.
    pub checks: Vec<FileCheck>,
    pub problems: Vec<Problem>,
}

/// Something that is wrong with a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    pub file: String,
    /// A sentence fragment.
    pub what: String,
}

/// Reads the files of a directory, each by its bare name.
pub fn read(files: &[(&str, &[u8])]) -> RunDirectory {
    let mut run = RunDirectory::default();
    let find = |name: &str| files.iter().find(|(other, _)| *other == name).map(|(_, bytes)| *bytes);
    if let Some(bytes) = find(TRACE) {
        let read = open(bytes, TRACE, Kind::Trace, &mut run.problems).and_then(|file| {
            let mut rows = AccessTable::default();
            let read = trace_table::read(&file, &mut run.strings, &mut rows);
            read.map(|info| (rows, info)).map_err(|error| error.to_string())
        });
        if let Some((rows, info)) = noted(read, TRACE, &mut run.problems) {
            if info.n_skipped > 0 {
                let what =
                    format!("{} rows have no time, address or operation and were left out", info.n_skipped);
                run.problems.push(Problem { file: TRACE.to_string(), what });
            }
            run.run_id = info.run_id.unwrap_or_default();
            run.accesses = Some(rows);
        }
    }
    if let Some(bytes) = find(REGION_MAP) {
        let file = open(bytes, REGION_MAP, Kind::RegionMap, &mut run.problems);
        let read = file.and_then(|file| tables::read_regions(&file).map_err(|error| error.to_string()));
        run.regions = noted(read, REGION_MAP, &mut run.problems).unwrap_or_default();
    }
    if let Some(bytes) = find(KV_BLOCKS) {
        let file = open(bytes, KV_BLOCKS, Kind::KvBlocks, &mut run.problems);
        let read = file.and_then(|file| tables::read_kv_blocks(&file).map_err(|error| error.to_string()));
        run.kv_blocks = noted(read, KV_BLOCKS, &mut run.problems).unwrap_or_default();
    }
    if let Some(bytes) = find(METRICS) {
        run.metrics = noted(metrics::read(bytes), METRICS, &mut run.problems).unwrap_or_default();
    }
    let mut json = |name: &str| {
        let read = Json::parse(find(name)?).ok_or("it is not JSON".to_string());
        noted(read, name, &mut run.problems)
    };
    (run.metadata, run.prompt_outputs) = (json(METADATA), json(PROMPT_OUTPUTS));
    if let Some(bytes) = find(MANIFEST) {
        run.manifest = noted(Manifest::read(bytes), MANIFEST, &mut run.problems);
    }
    if let Some(manifest) = &run.manifest {
        run.checks = manifest.check(files);
    }
    let told = run.manifest.as_ref().map(|manifest| manifest.run_id.as_str());
    let told = told.or(run.metadata.as_ref().and_then(|metadata| metadata.at("run_id")?.as_str()));
    if run.run_id.is_empty() {
        run.run_id = told.unwrap_or_default().to_string();
    }
    run
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
            let what = format!("columns are missing: {}", columns.join(", "));
            problems.push(Problem { file: name.to_string(), what });
            Ok(file)
        }
        Check::Version(what) => Err(what),
    }
}

fn noted<T>(read: Result<T, String>, name: &str, problems: &mut Vec<Problem>) -> Option<T> {
    read.map_err(|what| problems.push(Problem { file: name.to_string(), what })).ok()
}

/// What is written as a run directory: rows that have been labelled, and what was made of them.
pub struct Contents<'a, R> {
    pub run_id: &'a str,
    /// Gives the rows of the trace, labelled; they are gone through twice.
    pub rows: R,
    /// Texts of the rows.
    pub strings: &'a StringTable,
    pub regions: &'a [RegionRow],
    pub kv_blocks: &'a [KvRow],
    /// In order of region type.
    pub metrics: &'a [MetricsRow],
    pub metadata: Option<&'a Json>,
    pub prompt_outputs: Option<&'a Json>,
    /// Milliseconds since the Unix epoch.
    pub now_ms: u64,
}

/// The files of a directory, each with its bare name; the manifest is the last one.
pub fn write<R: Fn() -> I, I: Iterator<Item = Access>>(
    contents: Contents<'_, R>,
) -> Vec<(&'static str, Vec<u8>)> {
    let mut files = vec![
        (TRACE, trace_table::write(contents.run_id, contents.rows, contents.strings)),
        (REGION_MAP, tables::write_regions(contents.regions)),
        (KV_BLOCKS, tables::write_kv_blocks(contents.kv_blocks)),
        (METRICS, metrics::write(contents.metrics).into_bytes()),
    ];
    files.extend(contents.metadata.map(|json| (METADATA, json.to_python_text(2).into_bytes())));
    // The reference escapes what is not ASCII in the one file and not in the other.
    let prompts = contents.prompt_outputs.map(|json| json.to_python_text_unescaped(2).into_bytes());
    files.extend(prompts.map(|bytes| (PROMPT_OUTPUTS, bytes)));
    let named: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    let manifest = Manifest::of(contents.run_id, contents.now_ms, &named);
    files.push((MANIFEST, manifest.to_json().to_python_text(2).into_bytes()));
    files
}

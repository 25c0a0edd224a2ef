//! Fleet datasets: Parquet files that `tracedrop fleet add` writes, schema version 3; older ones have fewer columns and tables.
//!
//! ```text
//! fleet/table=steps/run=monday/part-4279a304fbfb71bc.parquet    rank, device, step, phase, start_ns, gpu_time_ns, …
//! ```
//! Each file is a part of one table; `runs`, `files` and `steps` are read, the rest is named in the ledger. Columns decide which
//! table it is. The run is not in the file, only in the name of its folder. The start of a Parquet file tells nothing about its
//! columns, so [`super::mrm_parquet`] opens the file and leaves it to [`read`]. Columns and units: `docs/tables.md`.

mod issues;
mod rows;

use super::{Confidence, FormatInfo, ImportError, mrm_parquet};
use crate::base::strings::StringId;
use crate::parquet::{ParquetFile, Source};
use crate::trace::fleet::{FleetPart, FleetRows};
use crate::trace::{Position, TraceBuilder};
use issues::NOT_SHOWN;

pub static INFO: FormatInfo = FormatInfo {
    id: "fleet-parquet",
    title: "Fleet dataset (Parquet)",
    producers: "tracedrop fleet add",
    extensions: &["parquet"],
    sniff: |_| Confidence::No,
    reader: mrm_parquet::INFO.reader,
    parts: None,
    has_events: false,
    issues: issues::ALL,
};

/// Key of the version in the metadata, and the newest version known.
const VERSION_KEY: &str = "schema_version";
const VERSION: u32 = 3;

/// Columns that only this table has, by name of the table.
const TABLES: [(&str, &[&str]); 9] = [
    ("steps", &["rank", "step", "gpu_time_ns"]),
    ("files", &["rank", "file", "sha256", "error"]),
    ("runs", &["build", "files", "unreadable"]),
    ("collective_durations", &["rank", "collective", "bucket"]),
    ("collectives", &["rank", "collective", "message_bytes"]),
    ("kernel_durations", &["rank", "name", "bucket"]),
    ("kernels", &["rank", "name", "operation", "total_ns"]),
    ("operations", &["rank", "operation", "total_ns"]),
    ("findings", &["rank", "kind", "time_ns", "text"]),
];

/// Table that a file is a part of; `None` if it is not of a fleet.
pub fn table_of<S: Source>(file: &ParquetFile<S>) -> Option<&'static str> {
    let has = |name: &&str| file.columns().iter().any(|column| column.name == **name);
    TABLES.iter().find(|(_, columns)| columns.iter().all(has)).map(|(table, _)| *table)
}

/// Reads a part of `table`.
pub fn read<S: Source>(
    file: &ParquetFile<S>,
    table: &'static str,
    out: &mut TraceBuilder,
) -> Result<(), ImportError> {
    let version = file.key_values().iter().find(|(key, _)| key == VERSION_KEY).map(|(_, value)| value);
    if let Some(version) = version.filter(|version| version.parse().is_ok_and(|number: u32| number > VERSION))
    {
        return Err(ImportError {
            code: "parquet-version",
            what: format!(
                "unsupported schema version {version} of a fleet dataset; expected {VERSION} at most"
            ),
            hint: "open it with a newer Tracedrop".to_string(),
        });
    }
    let trace = &mut out.trace;
    trace.source.format = INFO.id;
    trace.source.producer = file.created_by().map(str::to_string);
    trace.source.metadata.push(("table".to_string(), table.to_string()));
    trace.source.metadata.extend(version.map(|version| (VERSION_KEY.to_string(), version.clone())));
    let rows = match table {
        "steps" => FleetRows::Steps(rows::steps(file, trace)),
        "files" => FleetRows::Files(rows::files(file, trace)),
        "runs" => FleetRows::Runs(rows::runs(file, trace)),
        _ => {
            let n_bytes =
                (0..file.n_row_groups()).map(|group| file.bytes_of(group)).fold(0, u64::saturating_add);
            trace.ledger.leave_out(n_bytes);
            trace.ledger.file(
                &NOT_SHOWN,
                Position::NOWHERE,
                format!("{table}: {} rows", file.n_rows()).as_bytes(),
            );
            FleetRows::NotRead
        }
    };
    let path = trace.source.file_name.clone();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let run = folder.rsplit('/').next().and_then(|folder| folder.strip_prefix("run="));
    let run = run.map_or(StringId::NONE, |run| trace.strings.intern(run));
    let name = trace.strings.intern(name);
    trace.fleet = Some(Box::new(FleetPart { run, name, rows }));
    Ok(())
}

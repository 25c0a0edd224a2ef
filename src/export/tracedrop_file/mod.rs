//! A report as one file to hand on: its numbers, how it was looked at, what people wrote on it, its tables as Parquet, and, if
//! wished, all that was read of the trace.
//!
//! ```text
//! X.tracedrop     a zip archive
//!   report.json           as in a link (`link::content`), with many more rows
//!   notes.json            as in `notes`
//!   charts.json           the pictures, see [`charts`]
//!   tables/*.parquet      all rows of all tables, as the exporter `parquet` writes them
//!   index.tdx             the index, see [`crate::index`]; only if it was wished
//!   manifest.json         written last: what the file is, of which traces, and size and SHA-256 of all others
//! ```
//! `docs/tracedrop-format.md` describes it. It comes from anywhere: sizes are bounded before anything is unpacked, and what is
//! read is held against the manifest.

pub mod charts;
mod read;
mod write;

pub use read::{Refusal, TracedropFile, is_one, open};

use super::{ExporterInfo, LeftOut, always};

/// Ending of its name, without the dot.
pub const EXTENSION: &str = "tracedrop";
/// What `format` is in the manifest.
const FORMAT: &str = "tracedrop";
/// Number of the format that is written, and the highest that is read.
pub const VERSION: u64 = 1;

const MANIFEST: &str = "manifest.json";
const REPORT: &str = "report.json";
const NOTES: &str = "notes.json";
const CHARTS: &str = "charts.json";
const INDEX: &str = "index.tdx";
const TABLES: &str = "tables/";

/// Rows of each table in `report.json`; all of them are in the Parquet files.
pub const MAX_ROWS: u32 = 20_000;
/// Bytes of `report.json`. Where it would have more, tables have fewer rows.
pub const MAX_REPORT_BYTES: u64 = 16 << 20;
/// Bytes of `manifest.json`.
const MAX_MANIFEST_BYTES: u64 = 4 << 20;
/// Bytes of `notes.json`: more than as many notes as there may be take, whatever letters they are in.
const MAX_NOTES_BYTES: u64 = 32 << 20;
/// Bytes of `charts.json`: pictures are small whatever the trace.
const MAX_CHARTS_BYTES: u64 = 16 << 20;
/// Bytes of an index when it is unpacked.
pub const MAX_INDEX_BYTES: u64 = 2 << 30;

pub static INFO: ExporterInfo = ExporterInfo {
    id: "tracedrop",
    title: "Tracedrop file (report, notes and view)",
    extension: EXTENSION,
    media_type: "application/vnd.tracedrop",
    in_menu: false,
    needs: "",
    applies: always,
    write: |input, out| write::write(input, out).map(LeftOut::nothing),
    reference: None,
    takes_part: false,
    can_redact: true,
    takes_notes: true,
};

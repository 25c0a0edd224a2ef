//! A report as a single file for sharing: numbers, view settings, notes, tables as Parquet, and optionally the index of
//! the trace.
//!
//! ```text
//! X.tracedrop     a zip archive
//!   report.json           as in a link (`link::content`), with many more rows
//!   notes.json            as in `notes`
//!   charts.json           the charts, see [`charts`]
//!   tables/*.parquet      all rows of all tables, as the exporter `parquet` writes them
//!   index.tdx             the index, see [`crate::index`]; optional
//!   manifest.json         written last: format, source traces, and size and SHA-256 of all other members
//! ```
//! `docs/tracedrop-format.md` describes it. The file is untrusted input: sizes are checked before decompression, and members
//! are checked against the manifest.

mod address_map;
pub mod charts;
mod manifest;
mod read;
mod write;

pub use read::{Refusal, TracedropFile, is_one, open};

use super::{ExporterInfo, LeftOut, TextsIn, WriteFn, always};

/// File extension, without the dot.
pub const EXTENSION: &str = "tracedrop";
/// Value of `format` in the manifest.
const FORMAT: &str = "tracedrop";
/// Format version written, and the highest one read.
pub const VERSION: u64 = 1;

const MANIFEST: &str = "manifest.json";
const REPORT: &str = "report.json";
const NOTES: &str = "notes.json";
const CHARTS: &str = "charts.json";
const INDEX: &str = "index.tdx";
const TABLES: &str = "tables/";

/// Row limit of tables in `report.json`; the Parquet files have all rows.
pub const MAX_ROWS: u32 = 20_000;
/// Size limit of `report.json` in bytes. Beyond it, tables get fewer rows.
pub const MAX_REPORT_BYTES: u64 = 16 << 20;
/// Size limit of `manifest.json` in bytes.
const MAX_MANIFEST_BYTES: u64 = 4 << 20;
/// Size limit of `notes.json` in bytes: enough for the maximum number of notes in any script.
const MAX_NOTES_BYTES: u64 = 32 << 20;
/// Size limit of `charts.json` in bytes: charts are small whatever the trace.
const MAX_CHARTS_BYTES: u64 = 16 << 20;
/// Size limit of a decompressed index in bytes.
pub const MAX_INDEX_BYTES: u64 = 2 << 30;

pub static INFO: ExporterInfo = ExporterInfo {
    id: "tracedrop",
    title: "Tracedrop file (report, notes, view)",
    extension: EXTENSION,
    media_type: "application/vnd.tracedrop",
    in_menu: false,
    needs: "",
    applies: always,
    write: WriteFn::AtOnce(|input, out| write::write(input, out).map(LeftOut::nothing)),
    reference: None,
    converts: None,
    texts: TextsIn::TracedropFile,
    takes_part: false,
    can_redact: true,
    takes_notes: true,
};

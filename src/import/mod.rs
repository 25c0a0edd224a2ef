//! Readers: bytes to tables.
//!
//! A reader takes decompressed content in chunks cut anywhere and adds rows to a [`TraceBuilder`]. Readers open no files, know
//! no clock, and pair no records. [`Import`] combines decompression, detection and a reader; sessions, fuzz targets and
//! benchmarks use it.
//!
//! To add a format: a folder with `INFO` and a [`Reader`], and two lines here (its `mod`, its place in [`FORMATS`]).

pub mod address_ranges;
mod by_line;
pub mod chrome_trace;
pub mod detect;
pub mod fleet;
pub mod foreign;
pub mod hand_out;
mod importer;
mod kineto;
mod lent;
pub mod memory_config;
pub mod memory_snapshot;
pub mod memray;
pub mod mrm_parquet;
pub mod part_scheduler;
pub mod parts;
pub mod perf_text;
pub mod perfetto;
pub mod python_sampling;
pub mod sqlite_captures;
pub mod stacks;
pub mod sway;
pub mod unpack;
mod whole_text;
pub mod xplane;

pub use importer::issues::UNREADABLE;
pub use importer::{Import, ImportError, ImportProgress, MAX_EVENTS_32_BIT};

use crate::trace::args::Content;
use crate::trace::{IssueKind, TraceBuilder, builder, hidden};
use std::rc::Rc;

/// All formats; the first one wins if confidence is equal.
pub const FORMATS: &[&FormatInfo] = &[
    &chrome_trace::INFO,
    &sway::INFO,
    &python_sampling::INFO,
    &memray::INFO,
    &memray::SEED_INFO,
    &memory_snapshot::INFO,
    &mrm_parquet::INFO,
    &fleet::INFO,
    &perfetto::INFO,
    &xplane::INFO,
    &sqlite_captures::NSYS,
    &sqlite_captures::ROCPD,
    &sqlite_captures::parquet_folder::INFO,
    &stacks::perf::INFO,
    &perf_text::INFO,
    &perf_text::SEED_INFO,
    &memory_config::INFO,
    &address_ranges::INFO,
    &stacks::speedscope::INFO,
    &stacks::firefox::INFO,
    &stacks::pprof::INFO,
    &stacks::python_binary::INFO,
    &stacks::v8::CPU,
    &stacks::v8::HEAP,
    &stacks::folded::INFO,
];

/// Issue kind by code, of any format or shared.
pub fn issue_kind(code: &str) -> Option<&'static IssueKind> {
    let of_formats = FORMATS.iter().map(|format| format.issues);
    let shared = [importer::issues::ALL, unpack::issues::ALL, builder::issues::ALL, hidden::ALL];
    of_formats.chain(shared).flatten().copied().find(|kind| kind.code == code)
}

/// Static description of a format.
pub struct FormatInfo {
    /// Stable name in kebab case, as in `tracedrop formats`.
    pub id: &'static str,
    /// Display name: `Chrome Trace Event JSON`.
    pub title: &'static str,
    /// Tools that write it.
    pub producers: &'static str,
    /// Usual file name endings, without the dot. They only break ties.
    pub extensions: &'static [&'static str],
    /// Rates the start of the content (up to [`detect::HEAD_BYTES`], less only if the content is shorter).
    pub sniff: fn(head: &[u8]) -> Confidence,
    /// Creates a reader at the start of a file.
    pub reader: fn() -> Box<dyn Reader>,
    /// How several workers read it; `None` if it has to be read front to back.
    pub parts: Option<&'static parts::PartsInfo>,
    /// The format has events, samples or forward passes with times, so a time range can be chosen: see [`Import::hold_only`].
    pub has_events: bool,
    /// Parsing issues of the format.
    pub issues: &'static [&'static IssueKind],
}

/// Confidence of a format that content is its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Confidence {
    /// Not this format.
    No,
    /// Valid syntax, but no sign of the format.
    Possible,
    /// Some keywords of the format.
    Likely,
    /// Signature of the format.
    Certain,
}

/// Reader of one format: takes bytes, adds rows.
///
/// Chunks may be cut anywhere; the rows must not depend on where.
pub trait Reader {
    /// Offers random access to the file. The reader is fed all the same, and may use it when it is finished. Called before the
    /// first byte, and only if file offsets are content offsets.
    fn lend(&mut self, _content: Rc<dyn Content>) {}
    /// Feeds the next chunk of content. Issues go to the ledger; an error ends reading and keeps what was read.
    fn feed(&mut self, bytes: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError>;
    /// Ends the content, which may have been cut off.
    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError>;
    /// Adds rows not yet handed over to `out`, for a partial report; reading continues afterwards.
    fn snapshot(&self, _out: &mut TraceBuilder) {}
    /// `self`, if parts read by others can be joined.
    fn mergeable(&mut self) -> Option<&mut dyn parts::Mergeable> {
        None
    }
}

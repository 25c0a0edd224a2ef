//! Bytes to tables.
//!
//! A reader takes the decompressed content in chunks cut anywhere and adds rows to a [`TraceBuilder`].
//! No reader opens a file, knows the clock, or pairs one record with another.
//! [`Import`] puts unpacking, detection and a reader together; it is what sessions, fuzz targets and benches drive.
//!
//! Adding a format: a folder with `INFO` and a [`Reader`], and two lines here (its `mod`, its place in [`FORMATS`]).

pub mod address_ranges;
mod by_line;
pub mod chrome_trace;
pub mod crew;
pub mod detect;
mod drive;
pub mod foreign;
pub mod memory_config;
pub mod memray;
pub mod mrm_parquet;
pub mod parts;
pub mod perf_text;
pub mod python_sampling;
pub mod sway;
pub mod unpack;
mod whole_text;

pub use drive::issues::UNREADABLE;
pub use drive::{Import, ImportError, ImportProgress, MAX_EVENTS_32_BIT};

use crate::trace::args::Content;
use crate::trace::{IssueKind, TraceBuilder, builder, hidden};
use std::rc::Rc;

/// The formats, in the order in which equal confidence is settled.
pub const FORMATS: &[&FormatInfo] = &[
    &chrome_trace::INFO,
    &sway::INFO,
    &python_sampling::INFO,
    &memray::INFO,
    &memray::SEED_INFO,
    &mrm_parquet::INFO,
    &perf_text::INFO,
    &perf_text::SEED_INFO,
    &memory_config::INFO,
    &address_ranges::INFO,
];

/// The kind of oddity of that code, from wherever it may come.
pub fn issue_kind(code: &str) -> Option<&'static IssueKind> {
    let of_formats = FORMATS.iter().map(|format| format.issues);
    let shared = [drive::issues::ALL, unpack::issues::ALL, builder::issues::ALL, hidden::ALL];
    of_formats.chain(shared).flatten().copied().find(|kind| kind.code == code)
}

/// What is known of a format without reading a file.
pub struct FormatInfo {
    /// Stable name in kebab case, as in `tracedrop formats`.
    pub id: &'static str,
    /// For people: `Chrome Trace Event JSON`.
    pub title: &'static str,
    /// Tools that write it.
    pub producers: &'static str,
    /// Usual endings of file names, without the dot. They only break ties.
    pub extensions: &'static [&'static str],
    /// Judges the first bytes of the content (up to [`detect::HEAD_BYTES`]; less only if the content is shorter).
    pub sniff: fn(head: &[u8]) -> Confidence,
    /// A reader at the start of a file.
    pub reader: fn() -> Box<dyn Reader>,
    /// How it is read in parts, by several at once; `None` if it has to be read from front to back.
    pub parts: Option<&'static parts::PartsInfo>,
    /// What it holds are events on a timeline, of which a stretch can be chosen: see [`Import::hold_only`].
    pub has_events: bool,
    /// What can be wrong with a file of it.
    pub issues: &'static [&'static IssueKind],
}

/// How sure a format is that content is its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Confidence {
    /// Certainly not.
    No,
    /// The right syntax, but nothing that speaks for it.
    Possible,
    /// Some of its key words.
    Likely,
    /// Its own signature.
    Certain,
}

/// Reads one format: is given bytes, adds rows.
///
/// Chunks may be cut anywhere; the rows must not depend on where.
pub trait Reader {
    /// The file can be read at any place by `content`, for a reader that wants to. It is fed all the same, and reads when
    /// it is finished. Said before the first byte, and only where places in the file are places in the content.
    fn lend(&mut self, _content: Rc<dyn Content>) {}
    /// Takes the next chunk of content. Oddities go to the ledger; an error ends reading and keeps what was read.
    fn feed(&mut self, bytes: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError>;
    /// The content is over (or was cut off).
    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError>;
    /// Puts what has been read but not yet handed over into `out`, for a partial report; reading goes on afterwards.
    fn snapshot(&self, _out: &mut TraceBuilder) {}
    /// Itself, if parts that others have read can be joined to what it reads.
    fn joins(&mut self) -> Option<&mut dyn parts::Joins> {
        None
    }
}

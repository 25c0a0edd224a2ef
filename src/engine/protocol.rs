//! Messages between page and worker.
//!
//! A message is a [`Request`] or [`Response`] as postcard bytes, which preserve 64-bit integers and NaN. Files are attached to
//! requests, and finished exports to responses, as browser `Blob`s, which are passed by reference.
//!
//! Postcard encodes variants by position, so add new requests and responses at the end: `tests/browser/protocol.mjs` uses some of
//! the numbers, which the test below checks.

use crate::analysis::{Group, Query};
use crate::base::sort;
use crate::base::units::Unit;
use crate::compare::{CompareQuery, PhaseFilter};
use crate::import::UNREADABLE;
use crate::import::unpack::Packing;
use crate::report::view::{ColumnSum, TableQuery, TableRows};
use crate::report::{Amounts, Chart};
use crate::report::{Facts, Findings, Note, NoteLevel, Notes, Sort};
use serde::{Deserialize, Serialize};
use std::ops::Range;

pub use crate::analysis::flame::{
    Direction, FlameInfo, FlameQuery, FlameRow, FlameView, LabelKey, RowOrder, Scale, Widths,
};
pub use crate::compare::{AlignedKernel, AlignedStep, Change};
pub use crate::export::link::{LinkOptions, LinkedFile, LinkedSide, TableSpot};
pub use crate::export::redact::{Classes, Sort as TextSort};
pub use crate::stacks::graph::FrameClass;
pub use crate::stacks::merged::{By, LIBRARIES, StackQuery};
pub use crate::timeline::answers::{ColorBy, TimelineAnswer, TimelineAsk};
pub use crate::trace::cut::Cut;
use crate::trace::hidden;
use crate::trace::losses::Loss;

/// Page to worker. One worker serves one tab.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Parse the attached `Blob`s, one per file; several are combined into one run. Ports to helpers follow them.
    Open { files: Vec<OpenFile>, query: Query },
    /// Stop parsing, and report on what was parsed; stop exports and late reports.
    Stop,
    /// Recompute the reports.
    SetQuery(Query),
    /// A window of rows of one table.
    Rows { ticket: u32, ask: TableAsk, offset: u64, limit: u64 },
    /// All matching rows as text for the clipboard. Refused if the document no longer has the table.
    Copy { ticket: u32, ask: TableAsk, format: CopyFormat, amounts: Amounts },
    /// Export the report, or the trace.
    Export { ticket: u32, exporter: String },
    /// Help the worker behind the attached port, instead of any previous one.
    Help,
    /// The helper behind that port of [`Request::Open`] has ended.
    HelperLost { index: u32 },
    /// Open the cached index with this key, without its file.
    OpenKept { key: String, query: Query },
    /// Do not cache the file, although that was allowed when it was opened.
    KeepNothing,
    /// List the cached indexes.
    ListKept { ticket: u32 },
    /// Delete the cached index with this key, or all, and list the rest.
    Forget { ticket: u32, key: Option<String> },
    /// Return the data for a comparison.
    Side { ticket: u32 },
    /// Compare the data of two workers, A first, each from [`Response::Side`].
    Compare { sides: [Vec<u8>; 2], query: CompareQuery },
    /// Compare again: with another query, or with A and B swapped.
    CompareAgain { ticket: u32, query: CompareQuery, is_swapped: bool },
    /// List the files in the attached zip archive.
    ListArchive { ticket: u32 },
    /// Check the trace against these limits, see [`crate::compare::limits::hold`].
    Hold { ticket: u32, limits: String },
    /// Like [`Request::Export`], but partial or redacted.
    Share { ticket: u32, exporter: String, options: ShareOptions },
    /// Show the report of a link, given its fragment.
    OpenLink { fragment: String },
    /// Send the SHA-256 of the parsed files as [`Response::Digests`].
    WantDigests,
    /// Preview the texts of an export: those that contain `search`, up to `limit`.
    Preview { ticket: u32, exporter: String, options: ShareOptions, search: String, limit: u32 },
    /// Keep only what overlaps this time range: first and last nanosecond from `start_ns`, as in [`RangeView::start_ns`]. Ignored
    /// where that is not possible.
    HoldOnly { start_ns: i64, from_ns: i64, to_ns: i64 },
    /// Search the tables of all reports for rows that match `text`, in the language of filters.
    Search { ticket: u32, text: String },
    /// Sums over rows of one table, by position among those that match.
    Sums { ticket: u32, ask: TableAsk, rows: Vec<Range<u64>> },
    /// A question to the timeline; with `of`, only to the one with that number, and otherwise refused as [`OTHER_TIMELINE`].
    Timeline { ticket: u32, of: Option<u32>, ask: TimelineAsk },
    /// A flame graph.
    Flame { ticket: u32, query: Box<FlameQuery> },
    /// The aligned steps of a comparison.
    AlignedSteps { ticket: u32 },
    /// What is drawn of this trace's timeline in a comparison's export.
    Drawn { ticket: u32 },
    /// The same of A and of B, each from [`Response::Drawn`], for the exports of a comparison.
    Drawings { sides: [Vec<u8>; 2] },
}

/// Rows of one table that a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchHits {
    /// `id` and title of the report.
    pub report: String,
    pub report_title: String,
    /// `id` and title of the table.
    pub table: String,
    pub table_title: String,
    pub n_matching: u64,
    /// The first of them: what the row is called, and the filter that finds it.
    pub rows: Vec<(String, String)>,
}

/// Options of a partial or redacted export.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareOptions {
    pub cut: Cut,
    pub redact: Classes,
    pub link: LinkOptions,
    /// Notes; `None` for those of the document.
    pub notes: Option<Notes>,
    /// Include all trace data in a Tracedrop file.
    pub with_index: bool,
}

/// Preview of the texts in an export.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewView {
    /// Number of texts of each kind.
    pub sorts: Vec<(TextSort, u64)>,
    /// Number of texts that match the search.
    pub n_matching: u64,
    /// The first of them, each with its count.
    pub texts: Vec<(TextSort, String, u64)>,
    /// Number of texts beyond the limit of the preview.
    pub n_more: u64,
}

/// A file to parse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFile {
    pub name: String,
    /// `id` of the format to parse it as; `None` to detect it.
    pub format: Option<String>,
    /// How to cache it. Combined files are not cached.
    pub keep: Option<Keep>,
    /// Other files of its run directory, whose `Blob`s follow its own; usually empty.
    pub beside: Vec<NamedFile>,
    /// Keep only what overlaps this time range: first and last nanosecond from the start of the trace. Only for a single file.
    pub only: Option<(i64, i64)>,
}

/// A file whose `Blob` is attached to a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedFile {
    /// Its path in the run directory or in the archive.
    pub name: String,
    /// Its uncompressed size, which may differ from that of the `Blob`.
    pub n_bytes: u64,
}

/// Cache key of a file, to reopen it instantly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// Modification time of the file, in milliseconds since the Unix epoch.
    pub modified_ms: u64,
    /// Ignore the cached index; parse the file and cache that.
    pub afresh: bool,
}

/// From a worker that parses a file to its helper, through a port.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum HelperRequest {
    /// Prepare to parse parts of the attached `Blob`.
    Begin {
        /// [`crate::import::FormatInfo::id`].
        format: String,
    },
    /// Parse this part of the file.
    Read(Range<u64>),
    /// Decompress the attached `Blob`.
    Unpack(Packing),
    /// Return the memory of a consumed message.
    More,
}

/// From a helper to its worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum HelperResponse {
    /// A parsed part is attached, as written by [`crate::import::parts::Part::into_bytes`].
    Read(Range<u64>),
    /// The part could not be parsed.
    Lost(Range<u64>),
    /// Decompressed content is attached.
    Unpacked {
        /// Bytes of the file consumed for all content so far.
        file_bytes: u64,
        /// This is the end.
        is_over: bool,
        /// Code of an error in the compressed data, and its byte position in the file.
        problem: Option<(String, u64)>,
    },
    /// Reading the file failed.
    Unreadable {
        /// The browser's name of the error.
        name: String,
    },
}

/// A table by name, because positions change while reports are added.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TableId {
    /// `id` of the report.
    pub report: String,
    /// `id` of the table, unique in its report.
    pub table: String,
}

/// A query for one table. It uses names, because the document may change before it arrives.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TableAsk {
    pub table: TableId,
    /// The position of its sort column is used only if `sort_by` is `None`.
    pub query: TableQuery,
    /// `id` of the column to sort by; default order if there is no such column.
    pub sort_by: Option<String>,
}

impl TableAsk {
    /// Query for all rows of the table in the default order.
    pub fn whole(report: &str, table: &str) -> TableAsk {
        let table = TableId { report: report.to_string(), table: table.to_string() };
        TableAsk { table, query: TableQuery::default(), sort_by: None }
    }
}

/// Clipboard formats of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CopyFormat {
    Markdown,
    Csv,
    Tsv,
}

/// Worker to page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Response {
    /// The worker is running.
    Ready {
        formats: Vec<FormatView>,
        exporters: Vec<ExporterView>,
    },
    Progress(Progress),
    /// A document; during parsing, of what has been parsed so far.
    Document(Box<DocumentView>),
    /// There is nothing to show.
    Failed(Failure),
    Rows {
        ticket: u32,
        table: TableId,
        /// [`DocumentView::revision`] of the rows' document.
        revision: u32,
        rows: TableRows,
    },
    Copied {
        ticket: u32,
        table: TableId,
        /// [`DocumentView::revision`] of the text's document.
        revision: u32,
        text: String,
        n_rows: u64,
    },
    /// Progress of an export, in bytes written.
    ExportProgress {
        ticket: u32,
        bytes: u64,
    },
    /// The export is attached as a `Blob`.
    Exported {
        ticket: u32,
        file_name: String,
        bytes: u64,
        /// Descriptions of what the export lacks.
        left_out: Vec<String>,
    },
    /// The request with this ticket failed.
    Refused {
        ticket: u32,
        failure: Failure,
    },
    /// Cached indexes, newest first; `None` if there is no cache.
    Kept {
        ticket: u32,
        entries: Option<Vec<KeptView>>,
    },
    /// The cache has changed.
    KeptChanged,
    /// SHA-256 of each parsed file, hexadecimal, in the order of the document. `None` for files from an index, and for those that
    /// could not be read again.
    Digests(Vec<Option<String>>),
    /// The index does not match the file, or is damaged, and was deleted.
    Stale(Failure),
    /// Data for a comparison, opaque to the page.
    Side {
        ticket: u32,
        side: Vec<u8>,
    },
    /// Preview of the texts in an export.
    Preview {
        ticket: u32,
        preview: PreviewView,
    },
    /// Content of an archive; the `Blob`s of the files are attached.
    Archive {
        ticket: u32,
        files: Vec<NamedFile>,
        /// Files that cannot be extracted.
        left_out: Vec<LeftOutView>,
        /// The maximum number of files was exceeded.
        is_cut: bool,
    },
    /// Results of checking limits.
    Held {
        ticket: u32,
        budget: BudgetView,
    },
    /// For [`Request::Search`], in the order of the document.
    Searched {
        ticket: u32,
        hits: Vec<SearchHits>,
    },
    /// For [`Request::Sums`]: the columns that add up.
    Sums {
        ticket: u32,
        /// [`DocumentView::revision`] of the rows' document.
        revision: u32,
        sums: Vec<ColumnSum>,
    },
    /// A report of the partial document that was sent last; see [`DocumentView::add`].
    ReportAdded(Box<AddedReport>),
    /// For [`Request::Timeline`].
    Timeline {
        ticket: u32,
        answer: TimelineAnswer,
    },
    /// For [`Request::Flame`].
    Flame {
        ticket: u32,
        view: Box<FlameView>,
    },
    /// For [`Request::AlignedSteps`]; empty if there are none.
    AlignedSteps {
        ticket: u32,
        steps: Vec<AlignedStep>,
    },
    /// For [`Request::Drawn`], opaque to the page.
    Drawn {
        ticket: u32,
        drawn: Vec<u8>,
    },
}

/// A report that was made after the others were sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddedReport {
    /// [`DocumentView::revision`] with it.
    pub revision: u32,
    /// Its position among the reports.
    pub at: u32,
    pub report: ReportView,
}

/// Limits checked against a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetView {
    pub limits: Vec<LimitView>,
}

/// A limit and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitView {
    /// The limit as written.
    pub text: String,
    pub held: HeldView,
}

/// Result of a limit, with an explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeldView {
    Kept(String),
    Passed(String),
    /// It cannot be checked for this trace.
    Unknown(String),
}

impl BudgetView {
    /// Whether there are limits and all are met. A limit that cannot be checked is not met.
    pub fn is_kept(&self) -> bool {
        !self.limits.is_empty() && self.limits.iter().all(|limit| matches!(limit.held, HeldView::Kept(_)))
    }
}

/// A cached index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptView {
    /// For [`Request::OpenKept`] and [`Request::Forget`].
    pub key: String,
    pub file_name: String,
    pub file_bytes: u64,
    pub format_title: String,
    /// Time of writing, in milliseconds since the Unix epoch.
    pub made_ms: u64,
    /// Modification time of its file, in milliseconds since the Unix epoch; 0 if unknown.
    pub modified_ms: u64,
    /// Size of the index.
    pub index_bytes: u64,
}

/// Progress of parsing. The page, which has the clock, computes speed and time left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub file_bytes_read: u64,
    /// 0 if unknown.
    pub file_bytes: u64,
    pub content_bytes: u64,
    pub records: u64,
    /// Title of the format, once known.
    pub format: Option<String>,
    /// Current file of several; the numbers above cover all of them.
    pub file: Option<FileProgress>,
    /// Percentage of the reports that are built, if known.
    pub made_percent: Option<u8>,
    /// All bytes are parsed; reports are being built.
    pub finishing: bool,
}

/// One of several combined files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileProgress {
    pub name: String,
    /// From 1.
    pub number: u32,
    pub n_files: u32,
}

/// Code of a refusal: the question was to a timeline that another one has replaced, because more of the file is parsed.
pub const OTHER_TIMELINE: &str = "other-timeline";
/// [`Failure::code`] of requests refused because of an unusable index, after [`Response::Stale`].
pub const STALE: &str = "stale";

/// An error for the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub code: String,
    /// What went wrong, and where.
    pub what: String,
    /// What to try; may be empty.
    pub hint: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatView {
    pub id: String,
    pub title: String,
    pub producers: String,
    pub extensions: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExporterView {
    pub id: String,
    pub title: String,
    pub extension: String,
    /// It writes the events of a trace, and can be limited to a part.
    pub takes_part: bool,
    /// Its output can be redacted.
    pub can_redact: bool,
    /// It includes notes.
    pub takes_notes: bool,
    /// Its output for this document has a timeline that Perfetto can show.
    pub opens_in_perfetto: bool,
}

/// A document without the cells of its tables, which the page requests when it shows them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentView {
    /// Incremented whenever the reports change; answers contain their revision.
    pub revision: u32,
    /// The file; for several, their common properties and total size.
    pub file: FileView,
    /// Parsing details of all files.
    pub ledger: LedgerView,
    /// Each of several files; empty for a single one.
    pub files: Vec<FileAccount>,
    /// Skipped files.
    pub left_out: Vec<LeftOutView>,
    /// A and B of a comparison; `None` for a single run.
    pub sides: Option<SidesView>,
    pub reports: Vec<ReportView>,
    pub query: Query,
    /// Another will follow: parsing continues, or more reports are being built.
    pub partial: bool,
    /// Parsing is complete: these reports are final, even if others follow.
    pub is_read: bool,
    /// Exporters available for this file.
    pub exporters: Vec<ExporterView>,
    /// Unavailable exporters: title, and what they need.
    pub not_exported: Vec<(String, String)>,
    /// Nanoseconds from the first to the last timestamp; `None` if there is none, or if unknown.
    pub span_ns: Option<i64>,
    /// Number of steps of the trace, if it has several; see [`crate::report::amounts`].
    pub n_steps: Option<u64>,
    pub range: RangeView,
    /// The link of a report from a link; `None` for parsed files.
    pub link: Option<LinkView>,
    /// View of the sender, for a Tracedrop file with trace data.
    pub sent: Option<SentView>,
    /// There is a timeline to ask for.
    pub has_timeline: bool,
    /// There is a flame graph to ask for.
    pub has_stacks: bool,
}

impl DocumentView {
    /// Adds a report, if it follows this document directly: a document that missed one is replaced as a whole later.
    pub fn add(&mut self, added: AddedReport) -> bool {
        let AddedReport { revision, at, report } = added;
        let is_next = self.partial && revision == self.revision.wrapping_add(1);
        if is_next {
            let at = (at as usize).min(self.reports.len());
            self.reports.insert(at, report);
            self.revision = revision;
        }
        is_next
    }

    /// A table of a report.
    pub fn table(&self, report: &str, table: &str) -> Option<&TableView> {
        let report = self.reports.iter().find(|known| known.id == report)?;
        report.blocks.iter().find_map(|block| match block {
            BlockView::Table(known) if known.id == table => Some(known),
            _ => None,
        })
    }

    /// Distinct warnings about the trace as a whole (of the first report and of summaries), each with the `id` of the first report that has it.
    pub fn warnings(&self) -> Vec<(&str, &str)> {
        let mut warnings: Vec<(&str, &str)> = Vec::new();
        let is_about_all = |(at, report): &(usize, &ReportView)| *at == 0 || report.group == Group::Summary;
        for (_, report) in self.reports.iter().enumerate().filter(is_about_all) {
            for block in &report.blocks {
                if let BlockView::Note(Note { level: NoteLevel::Warning, text }) = block
                    && warnings.iter().all(|(_, known)| known != text)
                {
                    warnings.push((&report.id, text));
                }
            }
        }
        warnings
    }
}

/// The time range that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeView {
    /// Start of the parsed part on the trace's clock, if a range can be chosen during parsing.
    pub start_ns: Option<i64>,
    /// The chosen range: first and last nanosecond from that start.
    pub chosen: Option<(i64, i64)>,
    /// Parsing is complete, and the file can be parsed again for a range.
    pub again: bool,
    /// Range without the few events far away from all others, in nanoseconds from the start of the trace.
    pub without_far_away: Option<(i64, i64)>,
}

/// View and notes of the sender.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentView {
    /// `id` of the visible report.
    pub show: String,
    pub tables: Vec<TableSpot>,
    pub notes: Notes,
    /// Its files.
    pub files: Vec<LinkedFile>,
    /// Custom tables affected the numbers.
    pub own_tables: bool,
}

/// The link of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkView {
    /// Program that wrote it.
    pub by: String,
    pub files: Vec<LinkedFile>,
    /// `id` of the visible report.
    pub show: String,
    pub tables: Vec<TableSpot>,
    /// Custom tables affected the numbers, and are not in the link.
    pub own_tables: bool,
    /// Notes of the sender.
    pub notes: Notes,
    /// It came as a file, with complete tables.
    pub is_file: bool,
    /// Sentence on records that were skipped or repaired when the report was made, if any.
    pub parsed: Option<String>,
    /// Reason why the trace data in the file is unusable; a sentence fragment.
    pub problem: Option<String>,
    /// Passwords, tokens and keys that were in it, and are hidden.
    pub n_secrets: u64,
}

/// A and B of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SidesView {
    pub a: SideView,
    pub b: SideView,
    /// A and B were swapped since they were first compared.
    pub is_swapped: bool,
    /// Selected phase of steps.
    pub phase: PhaseFilter,
    /// Available phases, including all.
    pub phases: Vec<PhaseFilter>,
}

/// A or B of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideView {
    /// Short name of its files.
    pub label: String,
    /// All its files combined.
    pub all: FileAccount,
    pub n_files: u64,
    /// Number of skipped files.
    pub n_left_out: u64,
}

/// One of several files, with its parsing details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAccount {
    pub file: FileView,
    pub ledger: LedgerView,
}

/// A skipped file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutView {
    pub file_name: String,
    pub why: Failure,
}

/// Rank of a file in a distributed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankView {
    pub rank: i64,
    /// Number of ranks.
    pub world_size: Option<i64>,
}

/// Description of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileView {
    pub name: String,
    /// Size on disk in bytes; 0 if unknown.
    pub bytes: u64,
    pub format_id: String,
    pub format_title: String,
    pub producer: Option<String>,
    /// Outermost first.
    pub compression: Vec<String>,
    /// `None` if not stated, and for several files.
    pub rank: Option<RankView>,
    /// The index it was opened from; `None` if it was parsed.
    pub index: Option<IndexView>,
}

/// The index of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexView {
    /// When it was written, in milliseconds since the Unix epoch; 0 if unknown.
    pub made_ms: u64,
    /// The trace file is missing.
    pub is_alone: bool,
    /// Another version wrote it, so the reports were recomputed.
    pub is_of_other_version: bool,
}

/// Parsing details: records and bytes read = kept + repaired + skipped, and the issues.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LedgerView {
    pub file_bytes_read: u64,
    pub content_bytes: u64,
    /// Plural noun for records, such as "events".
    pub record_noun: String,
    pub kept: TallyView,
    pub repaired: TallyView,
    pub skipped: TallyView,
    /// Bytes between records.
    pub framing_bytes: u64,
    /// Bytes of unused text outside of records.
    pub unused_bytes: u64,
    pub issues: Vec<IssueView>,
}

impl LedgerView {
    /// Records read: kept + repaired + skipped.
    pub fn records(&self) -> u64 {
        self.kept.records + self.repaired.records + self.skipped.records
    }

    /// Sum of the bytes of records, between records, and unused. Equal to `content_bytes`.
    pub fn bytes(&self) -> u64 {
        self.kept.bytes + self.repaired.bytes + self.skipped.bytes + self.framing_bytes + self.unused_bytes
    }

    /// All records were kept unchanged, without issues.
    pub fn is_clean(&self) -> bool {
        self.issues.is_empty()
            && self.repaired.records == 0
            && self.skipped.records == 0
            && self.unused_bytes == 0
    }

    /// Whether passwords, tokens or keys were hidden.
    pub fn hides_secrets(&self) -> bool {
        self.issues.iter().any(|issue| issue.code == hidden::SECRET.code)
    }

    /// Issues with ignored bytes outside of skipped records: each kind once, in order of first occurrence.
    /// Empty if skipped records explain all such issues.
    pub fn unused(&self) -> Vec<&str> {
        let mut unused: Vec<&IssueView> =
            self.issues.iter().filter(|issue| issue.severity == SeverityView::Skipped).collect();
        let n_told = unused.iter().map(|issue| issue.count).fold(0, u64::saturating_add);
        if n_told <= self.skipped.records {
            return Vec::new();
        }
        sort::by_key(&mut unused, |issue| issue.first_byte);
        let mut whats: Vec<&str> = Vec::new();
        for issue in unused {
            if !whats.contains(&issue.what.as_str()) {
                whats.push(&issue.what);
            }
        }
        whats
    }

    /// Whether the file ends too early.
    pub fn is_truncated(&self) -> bool {
        self.has(Loss::Truncated)
    }

    /// Whether parts of the file can't be parsed.
    pub fn is_damaged(&self) -> bool {
        self.has(Loss::Damaged)
    }

    fn has(&self, loss: Loss) -> bool {
        self.issues.iter().any(|issue| Loss::of_code(&issue.code) == Some(loss))
    }

    /// The trace itself could not be parsed; only the other files of the run are shown.
    pub fn is_unreadable(&self) -> bool {
        self.issues.iter().any(|issue| issue.code == UNREADABLE.code)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TallyView {
    pub records: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SeverityView {
    Note,
    Repaired,
    Skipped,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueView {
    pub code: String,
    pub severity: SeverityView,
    pub what: String,
    pub hint: String,
    pub count: u64,
    pub first_byte: Option<u64>,
    pub first_line: Option<u64>,
    pub example: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportView {
    pub id: String,
    pub title: String,
    pub summary: String,
    pub group: Group,
    pub blocks: Vec<BlockView>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BlockView {
    Facts(Facts),
    Table(TableView),
    Note(Note),
    Findings(Findings),
    Chart(Chart),
}

/// A table without its cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableView {
    pub id: String,
    pub title: String,
    pub caption: String,
    pub empty: String,
    pub columns: Vec<ColumnView>,
    pub sort: Option<Sort>,
    pub n_rows: u64,
    pub n_left_out: u64,
    /// First rows in the default order, for display at once.
    pub first: TableRows,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnView {
    pub id: String,
    pub label: String,
    pub hint: String,
    pub unit: Unit,
    pub numeric: bool,
    pub key: bool,
    /// Its texts are names of events: functions, kernels, operators.
    pub is_symbol: bool,
    pub bar: bool,
    /// Sum over all rows; `None` if it doesn't add up.
    pub total: Option<f64>,
}

/// A message as bytes.
pub fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    // Serializing plain data into a growing buffer cannot fail.
    postcard::to_allocvec(message).unwrap_or_default()
}

/// A message from bytes; `None` if invalid.
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Value;

    #[test]
    fn numbers_arrive_as_they_left() {
        let rows = TableRows {
            n_matching: 1,
            offset: 0,
            rows: vec![vec![
                Value::Unsigned(u64::MAX),
                Value::Integer(i64::MIN),
                Value::Float(f64::INFINITY),
            ]],
            bar_ranges: vec![(-0.1, 0.1 + 0.2)],
            wrong: None,
        };
        let table = TableId { report: "slices".to_string(), table: "names".to_string() };
        let sent = Response::Rows { ticket: 7, table, revision: 3, rows: rows.clone() };
        match decode(&encode(&sent)) {
            Some(Response::Rows { ticket: 7, rows: got, .. }) => assert_eq!(got, rows),
            other => panic!("{other:?}"),
        }
        assert!(decode::<Request>(b"\xff\xff\xff").is_none());
    }

    /// `tests/browser/protocol.mjs` uses these numbers.
    #[test]
    fn variants_keep_their_numbers() {
        let ticket = 7;
        let open = Request::Open { files: Vec::new(), query: Query::default() };
        let (ask, format) = (TableAsk::whole("r", "t"), CopyFormat::Csv);
        let copy = Request::Copy { ticket, ask, format, amounts: Amounts::Absolute };
        let requests = [
            (open, 0),
            (copy, 4),
            (Request::Export { ticket, exporter: String::new() }, 5),
            (Request::Help, 6),
        ];
        for (request, number) in requests {
            assert_eq!(encode(&request)[0], number, "{request:?}");
        }
        let failure = || Failure { code: String::new(), what: String::new(), hint: String::new() };
        let (file_name, left_out) = (String::new(), Vec::new());
        let finishing = Progress { finishing: true, ..Progress::default() };
        let table = TableId { report: "r".to_string(), table: "t".to_string() };
        let responses = [
            (Response::Progress(finishing.clone()), 1),
            (Response::Failed(failure()), 3),
            (Response::Copied { ticket, table, revision: 0, text: String::new(), n_rows: 0 }, 5),
            (Response::Exported { ticket, file_name, bytes: 0, left_out }, 7),
            (Response::Refused { ticket, failure: failure() }, 8),
        ];
        for (response, number) in responses {
            assert_eq!(encode(&response)[0], number, "{response:?}");
        }
        // Its request for a file.
        let file =
            OpenFile { name: "a.json".to_string(), format: None, keep: None, beside: Vec::new(), only: None };
        let open = encode(&Request::Open { files: vec![file], query: Query::default() });
        assert_eq!(open, [&b"\x00\x01\x06a.json\x00\x00\x00\x00\x0a\x00\x00"[..], &[0; 9]].concat());
        // `finishing` is the last byte.
        assert_eq!(encode(&Response::Progress(finishing)).last(), Some(&1));
        assert_eq!(encode(&Response::Progress(Progress::default())).last(), Some(&0));
    }

    #[test]
    fn what_is_in_no_skipped_record_is_told() {
        let issue = |what: &str, severity, count, first_byte| IssueView {
            code: String::new(),
            severity,
            what: what.to_string(),
            hint: String::new(),
            count,
            first_byte: Some(first_byte),
            first_line: None,
            example: String::new(),
        };
        use SeverityView::{Note, Repaired, Skipped};
        let ledger = |n_skipped, issues: &[IssueView]| LedgerView {
            skipped: TallyView { records: n_skipped, bytes: 0 },
            issues: issues.to_vec(),
            ..LedgerView::default()
        };
        let (event, text) = (issue("event", Skipped, 3, 50), issue("text", Skipped, 1, 90));
        let others = [issue("note", Note, 9, 0), issue("repair", Repaired, 9, 0)];
        assert!(ledger(0, &others).unused().is_empty());
        assert!(ledger(3, std::slice::from_ref(&event)).unused().is_empty());
        assert_eq!(ledger(0, std::slice::from_ref(&text)).unused(), ["text"]);
        assert_eq!(ledger(3, &[text.clone(), event, text]).unused(), ["event", "text"]);
    }
}

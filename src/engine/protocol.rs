//! What crosses the boundary between page and worker, and nothing else does.
//!
//! A message is a [`Request`] or [`Response`] as postcard bytes, so that 64-bit integers and NaN arrive as they left.
//! A file goes beside a request, and a finished export beside a response, as a browser `Blob`, which is passed by
//! reference and not copied.
//!
//! Postcard writes variants as their position, so new requests and responses go to the end: `tests/browser/protocol.mjs` sends
//! and reads some of them by number, and the test below holds those numbers.

use crate::analysis::Query;
use crate::base::units::Unit;
use crate::compare::{CompareQuery, PhaseFilter};
use crate::import::UNREADABLE;
use crate::import::unpack::Packing;
use crate::report::Chart;
use crate::report::view::{TableQuery, TableRows};
use crate::report::{Facts, Findings, Note, NoteLevel, Notes, Sort};
use serde::{Deserialize, Serialize};
use std::ops::Range;

pub use crate::export::link::{LinkOptions, LinkedFile, LinkedSide, TableSpot};
pub use crate::export::redact::{Classes, Sort as TextSort};
pub use crate::trace::cut::Cut;
use crate::trace::hidden;

/// Page to worker. One worker serves one tab.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Read the `Blob`s that come with this message, one a file; several are read together, as one run. Ports behind them
    /// lead to workers that help.
    Open { files: Vec<OpenFile>, query: Query },
    /// Stop reading; report on what was read.
    Stop,
    /// Compute the reports again.
    SetQuery(Query),
    /// A window of rows of one table.
    Rows { ticket: u32, ask: TableAsk, offset: u64, limit: u64 },
    /// All rows that match, as text for the clipboard. Refused if the document no longer has the table.
    Copy { ticket: u32, ask: TableAsk, format: CopyFormat },
    /// The whole report, or the trace, in an exporter's format.
    Export { ticket: u32, exporter: String },
    /// Help the worker behind the port that comes with this message, and no other one any more.
    Help,
    /// The helper behind that port of [`Request::Open`] has ended.
    HelperLost { index: u32 },
    /// Open the index that the browser keeps under this key, without the file that it is of.
    OpenKept { key: String, query: Query },
    /// Keep no index of the file, though that was allowed when it was opened.
    KeepNothing,
    /// Which indexes does the browser keep?
    ListKept { ticket: u32 },
    /// Forget the index of this key, or all of them, and list those that are left.
    Forget { ticket: u32, key: Option<String> },
    /// What does this give to a comparison?
    Side { ticket: u32 },
    /// Compare what two workers gave, A first, each as [`Response::Side`] has it.
    Compare { sides: [Vec<u8>; 2], query: CompareQuery },
    /// Compare again: for another question, or with A as B and B as A.
    CompareAgain { ticket: u32, query: CompareQuery, is_swapped: bool },
    /// Which files are in the zip archive whose `Blob` comes with this message?
    ListArchive { ticket: u32 },
    /// Hold these limits against the trace, see [`crate::compare::limits::hold`].
    Hold { ticket: u32, limits: String },
    /// The same as [`Request::Export`], of a part or with something left out.
    Share { ticket: u32, exporter: String, options: ShareOptions },
    /// Show the report of a link: the part behind `#`.
    OpenLink { fragment: String },
    /// Tell the SHA-256 of the files that were read, as [`Response::Digests`].
    WantDigests,
    /// Which texts would go out? Those with `search` in them, so many of them at most.
    Preview { ticket: u32, exporter: String, options: ShareOptions, search: String, limit: u32 },
    /// Hold only what touches this stretch of time of what is read: its first and last nanosecond from `start_ns`, as
    /// [`RangeView::start_ns`] has it. Where that can not be, nothing happens.
    HoldOnly { start_ns: i64, from_ns: i64, to_ns: i64 },
}

/// What goes out, where it is not everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareOptions {
    pub cut: Cut,
    pub redact: Classes,
    pub link: LinkOptions,
    /// What someone wrote; `None` for what came with the document.
    pub notes: Option<Notes>,
    /// All that was read goes along, in a Tracedrop file.
    pub with_index: bool,
}

/// The texts that would go out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewView {
    /// What the texts look like, and how many there are of each sort.
    pub sorts: Vec<(TextSort, u64)>,
    /// Texts that hold what was looked for.
    pub n_matching: u64,
    /// The first of them, each with how often it is there.
    pub texts: Vec<(TextSort, String, u64)>,
    /// Texts that there was no room to tell apart.
    pub n_more: u64,
}

/// A file to be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFile {
    pub name: String,
    /// `id` of the format that it is read as, whatever its content looks like; `None` to go by that.
    pub format: Option<String>,
    /// Nothing is kept of files that are read together.
    pub keep: Option<Keep>,
    /// The other files in the directory of its run, whose `Blob`s come behind its own; mostly empty.
    pub beside: Vec<NamedFile>,
    /// Hold only what touches this stretch of time: first and last nanosecond from the start of the trace. Only of a file that
    /// is read by itself.
    pub only: Option<(i64, i64)>,
}

/// A file whose `Blob` goes beside a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedFile {
    /// Its path in the directory of its run, or in the archive.
    pub name: String,
    /// Its size; that of the `Blob` is another one where it is packed.
    pub n_bytes: u64,
}

/// For a file whose index may be kept in the browser, to open it at once the next time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// Time of the file's last change, in milliseconds since the Unix epoch.
    pub modified_ms: u64,
    /// Do not open what is kept; read the file and keep that.
    pub afresh: bool,
}

/// From a worker that reads a file to one that helps it, through a port between the two.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum HelperRequest {
    /// Get ready to read parts of the `Blob` that comes with this message.
    Begin {
        /// [`crate::import::FormatInfo::id`].
        format: String,
    },
    /// Read this stretch of the file.
    Read(Range<u64>),
    /// Unpack the `Blob` that comes with this message.
    Unpack(Packing),
    /// What was sent is used up; its memory comes back with this message.
    More,
}

/// From a helper to the worker that it helps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum HelperResponse {
    /// The part comes beside this message, as [`crate::import::parts::Part::into_bytes`] writes it.
    Read(Range<u64>),
    /// The stretch could not be read.
    Lost(Range<u64>),
    /// Content comes beside this message.
    Unpacked {
        /// Bytes of the file that have gone into all that was sent.
        file_bytes: u64,
        /// Nothing comes any more.
        is_over: bool,
        /// Code of what is wrong with the packed data, and the byte of the file.
        problem: Option<(String, u64)>,
    },
    /// The file can not be read on.
    Unreadable {
        /// What the browser calls the reason.
        name: String,
    },
}

/// A table by name. Positions would not do: reports are inserted while people click.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TableId {
    /// `id` of the report.
    pub report: String,
    /// `id` of the table, unique in its report.
    pub table: String,
}

/// A question about one table. It names everything, because the document may change before the question arrives.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TableAsk {
    pub table: TableId,
    /// The position of its sort column counts only while `sort_by` is `None`.
    pub query: TableQuery,
    /// `id` of the column to sort by; rows are in the table's own order if it has no such column.
    pub sort_by: Option<String>,
}

impl TableAsk {
    /// Asks for all rows of the table in its own order.
    pub fn whole(report: &str, table: &str) -> TableAsk {
        let table = TableId { report: report.to_string(), table: table.to_string() };
        TableAsk { table, query: TableQuery::default(), sort_by: None }
    }
}

/// Ways to put a table on the clipboard.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CopyFormat {
    Markdown,
    Csv,
    Tsv,
}

/// Worker to page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Response {
    /// The worker runs.
    Ready {
        formats: Vec<FormatView>,
        exporters: Vec<ExporterView>,
    },
    Progress(Progress),
    /// A report; while reading goes on, of what has been read so far.
    Document(Box<DocumentView>),
    /// There is nothing to show.
    Failed(Failure),
    Rows {
        ticket: u32,
        table: TableId,
        /// [`DocumentView::revision`] of the document that the rows are from.
        revision: u32,
        rows: TableRows,
    },
    Copied {
        ticket: u32,
        table: TableId,
        /// [`DocumentView::revision`] of the document that the text is from.
        revision: u32,
        text: String,
        n_rows: u64,
    },
    /// So many bytes of an export are written.
    ExportProgress {
        ticket: u32,
        bytes: u64,
    },
    /// The export comes as a `Blob` beside this message.
    Exported {
        ticket: u32,
        file_name: String,
        bytes: u64,
        /// What is not in it though it belongs there, each in words.
        left_out: Vec<String>,
    },
    /// What was asked for with this ticket could not be done.
    Refused {
        ticket: u32,
        failure: Failure,
    },
    /// What the browser keeps, the one written last at the top; `None` if it keeps nothing for this page.
    Kept {
        ticket: u32,
        entries: Option<Vec<KeptView>>,
    },
    /// An index was kept, or was not: there is something new to list.
    KeptChanged,
    /// The SHA-256 of each file that was read, in the order that the document has them in, as hexadecimal digits. `None` of what
    /// came from an index, and of what could not be read again.
    Digests(Vec<Option<String>>),
    /// The index does not fit the file, or is damaged; it is forgotten.
    Stale(Failure),
    /// What a comparison takes of this side, as bytes that mean nothing to the page.
    Side {
        ticket: u32,
        side: Vec<u8>,
    },
    /// The texts that would go out.
    Preview {
        ticket: u32,
        preview: PreviewView,
    },
    /// What is in an archive; the `Blob`s of the files come beside this message.
    Archive {
        ticket: u32,
        files: Vec<NamedFile>,
        /// Files that can not be had.
        left_out: Vec<LeftOutView>,
        /// There are more files than are looked at.
        is_cut: bool,
    },
    /// What became of the limits.
    Held {
        ticket: u32,
        budget: BudgetView,
    },
}

/// Limits that were held against a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetView {
    pub limits: Vec<LimitView>,
}

/// A limit and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitView {
    /// As it was written.
    pub text: String,
    pub held: HeldView,
}

/// What became of a limit, with the reason in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeldView {
    Kept(String),
    Passed(String),
    /// It can not be held against this trace.
    Unknown(String),
}

impl BudgetView {
    /// Whether there are limits and all of them are kept. One that nobody can tell is not kept.
    pub fn is_kept(&self) -> bool {
        !self.limits.is_empty() && self.limits.iter().all(|limit| matches!(limit.held, HeldView::Kept(_)))
    }
}

/// An index that the browser keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptView {
    /// For [`Request::OpenKept`] and [`Request::Forget`].
    pub key: String,
    pub file_name: String,
    pub file_bytes: u64,
    pub format_title: String,
    /// When it was written, in milliseconds since the Unix epoch.
    pub made_ms: u64,
    /// When its file was changed last, in milliseconds since the Unix epoch; 0 if that is not known.
    pub modified_ms: u64,
    /// Its own size.
    pub index_bytes: u64,
}

/// How far reading has come. Rate and time left are worked out by the page, which has the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub file_bytes_read: u64,
    /// 0 if unknown.
    pub file_bytes: u64,
    pub content_bytes: u64,
    pub records: u64,
    /// Title of the format, once known.
    pub format: Option<String>,
    /// Which of several files is being read; the numbers above are of all of them.
    pub file: Option<FileProgress>,
    /// How much of the reports is made, in percent, where that is known.
    pub made_percent: Option<u8>,
    /// All bytes are read; the reports are being made.
    pub finishing: bool,
}

/// One of several files that are read together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileProgress {
    pub name: String,
    /// From 1.
    pub number: u32,
    pub n_files: u32,
}

/// [`Failure::code`] of what was refused because its index is of no use: there was a [`Response::Stale`] before it.
pub const STALE: &str = "stale";

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub code: String,
    /// What and where.
    pub what: String,
    /// What to try; may be empty.
    pub hint: String,
}

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
    /// It writes the events of a trace, of which a part can be left out.
    pub takes_part: bool,
    /// Something can be taken out of what it writes.
    pub can_redact: bool,
    /// What people wrote goes along.
    pub takes_notes: bool,
    /// What it writes of this document has a timeline for Perfetto to show.
    pub opens_in_perfetto: bool,
}

/// A document without the cells of its tables, which the page asks for as it shows them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentView {
    /// Counts up whenever the reports change; answers say which one they are from.
    pub revision: u32,
    /// What was read; of several files, what they have in common and their sizes added up.
    pub file: FileView,
    /// The account of all files.
    pub ledger: LedgerView,
    /// Each of several files; empty where it is one.
    pub files: Vec<FileAccount>,
    /// What was to be read together with these, and could not.
    pub left_out: Vec<LeftOutView>,
    /// The sides that are held against each other; `None` of a single run.
    pub sides: Option<SidesView>,
    pub reports: Vec<ReportView>,
    pub query: Query,
    /// There will be another: reading goes on, or further reports are being made.
    pub partial: bool,
    /// All is read: what these reports say is final, also if others follow.
    pub is_read: bool,
    /// Exporters that have something to write for this file.
    pub exporters: Vec<ExporterView>,
    /// Exporters that have nothing to write for it, each by its title with what they need.
    pub not_exported: Vec<(String, String)>,
    /// Nanoseconds from the first to the last of anything; `None` if nothing has a time, or it is not known.
    pub span_ns: Option<i64>,
    pub range: RangeView,
    /// The link that this came with; `None` of anything that was read.
    pub link: Option<LinkView>,
    /// How someone looked at it who handed it on with all that was read; `None` of anything else.
    pub sent: Option<SentView>,
}

impl DocumentView {
    /// The warnings of all reports, each once, with the `id` of the first report that has it.
    pub fn warnings(&self) -> Vec<(&str, &str)> {
        let mut warnings: Vec<(&str, &str)> = Vec::new();
        for report in &self.reports {
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

/// Which stretch of a trace's time is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeView {
    /// Start of what has been read, on the trace's clock, where a stretch can be chosen as reading goes on.
    pub start_ns: Option<i64>,
    /// What was chosen: first and last nanosecond from that start.
    pub chosen: Option<(i64, i64)>,
    /// Reading is over, and the file can be read again with a stretch chosen.
    pub again: bool,
    /// The stretch without the few events that lie far away from all others, in nanoseconds from the start of the trace.
    pub without_far_away: Option<(i64, i64)>,
}

/// How someone looked at a report, and what they wrote on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentView {
    /// `id` of the report that showed.
    pub show: String,
    pub tables: Vec<TableSpot>,
    pub notes: Notes,
    /// The files that it is of.
    pub files: Vec<LinkedFile>,
    /// Tables of one's own took part in the numbers.
    pub own_tables: bool,
}

/// A link that a document comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkView {
    /// Which program wrote it.
    pub by: String,
    pub files: Vec<LinkedFile>,
    /// `id` of the report that showed.
    pub show: String,
    pub tables: Vec<TableSpot>,
    /// Tables of one's own took part in the numbers, and are not in the link.
    pub own_tables: bool,
    /// What someone wrote.
    pub notes: Notes,
    /// It came as a file, with the tables whole.
    pub is_file: bool,
    /// Why all that was read, which is in the file, is of no use; a sentence fragment.
    pub problem: Option<String>,
}

/// The sides of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SidesView {
    pub a: SideView,
    pub b: SideView,
    /// A and B have changed places since they were first compared.
    pub is_swapped: bool,
    /// Steps that count.
    pub phase: PhaseFilter,
    /// What there are steps of, and all.
    pub phases: Vec<PhaseFilter>,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideView {
    /// Names of its files, in short.
    pub label: String,
    /// All its files as one.
    pub all: FileAccount,
    pub n_files: u64,
    /// Files that were to be read with them, and could not.
    pub n_left_out: u64,
}

/// One of several files, with its own account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAccount {
    pub file: FileView,
    pub ledger: LedgerView,
}

/// A file that is not among those that were read together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutView {
    pub file_name: String,
    pub why: Failure,
}

/// What a file says of its place in a distributed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankView {
    pub rank: i64,
    /// Ranks of the run.
    pub world_size: Option<i64>,
}

/// What the file is.
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
    /// `None` if it does not say, and of several files.
    pub rank: Option<RankView>,
    /// The index that this comes from; `None` if the file was read.
    pub index: Option<IndexView>,
}

/// An index that a document comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexView {
    /// When it was written, in milliseconds since the Unix epoch; 0 if unknown.
    pub made_ms: u64,
    /// The trace's file is not at hand.
    pub is_alone: bool,
    /// Another version of the program has written it, and the reports were computed anew.
    pub is_of_other_version: bool,
}

/// The account: records and bytes read = kept + repaired + skipped, and the oddities.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LedgerView {
    pub file_bytes_read: u64,
    pub content_bytes: u64,
    /// What one record is called, in the plural.
    pub record_noun: String,
    pub kept: TallyView,
    pub repaired: TallyView,
    pub skipped: TallyView,
    /// Bytes between records.
    pub framing_bytes: u64,
    /// Bytes of text that belongs to no record and was not used.
    pub unused_bytes: u64,
    pub issues: Vec<IssueView>,
}

impl LedgerView {
    /// Records read: kept + repaired + skipped.
    pub fn records(&self) -> u64 {
        self.kept.records + self.repaired.records + self.skipped.records
    }

    /// Bytes accounted for: those of all records, those between them and those that were not used. Equal to `content_bytes`.
    pub fn bytes(&self) -> u64 {
        self.kept.bytes + self.repaired.bytes + self.skipped.bytes + self.framing_bytes + self.unused_bytes
    }

    /// Every record was kept as it stood and nothing was worth a remark.
    pub fn is_clean(&self) -> bool {
        self.issues.is_empty()
            && self.repaired.records == 0
            && self.skipped.records == 0
            && self.unused_bytes == 0
    }

    /// Passwords, tokens or keys were hidden.
    pub fn hides_secrets(&self) -> bool {
        self.issues.iter().any(|issue| issue.code == hidden::SECRET.code)
    }

    /// What became of bytes that are in no record that counts as skipped: what the matter is, each kind once, the first one met first.
    /// Empty where every oddity of that kind is a record skipped.
    pub fn unused(&self) -> Vec<&str> {
        let mut unused: Vec<&IssueView> =
            self.issues.iter().filter(|issue| issue.severity == SeverityView::Skipped).collect();
        let n_told = unused.iter().map(|issue| issue.count).fold(0, u64::saturating_add);
        if n_told <= self.skipped.records {
            return Vec::new();
        }
        unused.sort_by_key(|issue| issue.first_byte);
        let mut whats: Vec<&str> = Vec::new();
        for issue in unused {
            if !whats.contains(&issue.what.as_str()) {
                whats.push(&issue.what);
            }
        }
        whats
    }

    /// Its reader could make nothing of the file; there is only what lies beside it.
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
    /// The first rows in the table's own order, so that something shows at once.
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
    pub bar: bool,
}

/// A message as bytes.
pub fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    // Serialising plain data into a growing buffer has no way to fail.
    postcard::to_allocvec(message).unwrap_or_default()
}

/// A message from bytes; `None` if they are none.
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
            column_max: vec![0.1 + 0.2],
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

    /// `tests/browser/protocol.mjs` has these numbers.
    #[test]
    fn variants_keep_their_numbers() {
        let ticket = 7;
        let open = Request::Open { files: Vec::new(), query: Query::default() };
        let requests = [
            (open, 0),
            (Request::Copy { ticket, ask: TableAsk::whole("r", "t"), format: CopyFormat::Csv }, 4),
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
        // How it asks for a file.
        let file =
            OpenFile { name: "a.json".to_string(), format: None, keep: None, beside: Vec::new(), only: None };
        let open = encode(&Request::Open { files: vec![file], query: Query::default() });
        assert_eq!(open, [&b"\x00\x01\x06a.json\x00\x00\x00\x00\x0a\x00\x00"[..], &[0; 8]].concat());
        // That it is finishing stands last.
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

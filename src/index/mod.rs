//! Index: everything read from a trace in one file, to reopen it without reading the trace.
//!
//! An index contains the reports, ready to show, and all tables of the trace for later queries. Arguments of events stay in
//! the file of the trace, unless they could not be read from it again (compressed files).
//!
//! Layout: `sections`; one is the head (this module), the others are the tables (`tables`) as integer columns
//! ([`crate::base::bytepack`], memory accesses by [`crate::base::bitpack`]).
//!
//! An index with another [`LAYOUT`] is rejected. One written by another build is read, and its reports are recomputed.

mod identity;
mod sections;
mod tables;

pub use identity::Identity;
pub use sections::{DIGEST_BYTES, MAGIC, SectionWriter, TAIL_BYTES};

use crate::analysis::Query;
use crate::import::{self, FORMATS, ImportError, unpack::Packing};
use crate::report::{Report, Table};
use crate::trace::args::Content;
use crate::trace::ledger::{Issue, Ledger, NamedIssue, Tally};
use crate::trace::{SourceInfo, Trace};
use sections::{Nth, Section, SectionReader};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::rc::Rc;
use tables::Damaged;

/// Version of the layout of sections and tables. Increase it when one of them changes.
pub const LAYOUT: u32 = 23;

/// Hash of the sources this program was built from.
pub const SOURCES: &str = env!("TRACEDROP_SOURCES");

/// File name ending of an index, without the dot.
pub const EXTENSION: &str = "tdx";

/// Bytes read at the end of an index: the section list, and usually the head.
const END_BYTES: u64 = 512 << 10;

const HEAD: &str = "head";
const REPORTS: &str = "reports";

/// Metadata of an index, read before its tables.
#[derive(Clone, Debug)]
pub struct Head {
    /// [`SOURCES`] of the program that wrote it.
    pub sources: String,
    /// Time of writing in milliseconds since the Unix epoch; 0 if unknown.
    pub made_ms: u64,
    /// Identity of the file of the trace, if known.
    pub identity: Option<Identity>,
    pub source: SourceInfo,
    pub ledger: Ledger,
    /// All arguments of events are in the index; otherwise most are only in the file of the trace.
    pub has_args: bool,
    /// Whether a timeline has something to draw: [`Trace::has_times`].
    pub has_times: bool,
    /// Whether a flame graph has something to draw: [`Trace::has_stacks`].
    pub has_stacks: bool,
    /// Query that the reports answer.
    pub query: Query,
    /// Ids of exporters that apply.
    pub exporters: Vec<String>,
}

impl Head {
    /// Head for a trace that was read.
    pub fn of(
        trace: &Trace,
        query: Query,
        exporters: &[&'static str],
        identity: Option<Identity>,
        now_ms: u64,
    ) -> Head {
        Head {
            sources: SOURCES.to_string(),
            made_ms: now_ms,
            identity,
            source: trace.source.clone(),
            ledger: trace.ledger.clone(),
            // Memory accesses have no arguments.
            has_args: trace.args.keeps_all() || trace.accesses.is_expected(),
            has_times: trace.has_times(),
            has_stacks: trace.has_stacks(),
            query,
            exporters: exporters.iter().map(|id| id.to_string()).collect(),
        }
    }

    /// Whether this very build made the reports.
    pub fn is_of_this_program(&self) -> bool {
        self.sources == SOURCES
    }
}

/// [`Head`] with texts in place of build-specific values.
#[derive(Serialize, Deserialize)]
struct HeadOnDisk {
    layout: u32,
    sources: String,
    made_ms: u64,
    identity: Option<Identity>,
    file_name: String,
    format: String,
    producer: Option<String>,
    compression: Vec<Packing>,
    metadata: Vec<(String, String)>,
    record_kinds: Vec<(String, u64)>,
    file_bytes: u64,
    file_bytes_read: u64,
    content_bytes: u64,
    kept: Tally,
    repaired: Tally,
    skipped: Tally,
    unused_bytes: u64,
    record_noun: String,
    issues: Vec<NamedIssue>,
    has_args: bool,
    has_times: bool,
    has_stacks: bool,
    query: Query,
    exporters: Vec<String>,
}

/// Writes table section `number` of a trace into `out`, replacing its content, and returns the name of the section. `None`
/// after the last one.
pub fn section(trace: &Trace, number: usize, out: &mut Vec<u8>) -> Option<String> {
    out.clear();
    let mut nth = Nth::new(number, out);
    // Writing to memory cannot fail.
    let _ = tables::put(trace, &mut nth);
    nth.name
}

/// Section with the head, and its name.
pub fn head_section(head: Head) -> (String, Vec<u8>) {
    let Head { source, ledger, .. } = head;
    let on_disk = HeadOnDisk {
        layout: LAYOUT,
        sources: head.sources,
        made_ms: head.made_ms,
        identity: head.identity,
        file_name: source.file_name,
        format: source.format.to_string(),
        producer: source.producer,
        compression: source.compression.iter().filter_map(|name| Packing::named(name)).collect(),
        metadata: source.metadata,
        record_kinds: source.record_kinds,
        file_bytes: ledger.file_bytes,
        file_bytes_read: ledger.file_bytes_read,
        content_bytes: ledger.content_bytes,
        kept: ledger.kept,
        repaired: ledger.repaired,
        skipped: ledger.skipped,
        unused_bytes: ledger.unused_bytes,
        record_noun: ledger.record_noun.into_owned(),
        issues: ledger.issues.into_iter().map(NamedIssue::from).collect(),
        has_args: head.has_args,
        has_times: head.has_times,
        has_stacks: head.has_stacks,
        query: head.query,
        exporters: head.exporters,
    };
    // Serializing plain data to memory cannot fail.
    (HEAD.to_string(), postcard::to_allocvec(&on_disk).unwrap_or_default())
}

/// Section with the reports, and its name. Only the same build reads it, so it is not part of [`LAYOUT`].
pub fn reports_section(reports: &[Report]) -> (String, Vec<u8>) {
    (REPORTS.to_string(), postcard::to_allocvec(reports).unwrap_or_default())
}

fn read_head(bytes: &[u8]) -> Result<Head, ImportError> {
    match postcard::take_from_bytes::<u32>(bytes) {
        Ok((LAYOUT, _)) => {}
        Ok(_) => {
            return Err(ImportError {
                code: OTHER_VERSION,
                what: "the index was written by an incompatible version of Tracedrop".to_string(),
                hint: "open the trace itself".to_string(),
            });
        }
        Err(_) => return Err(damaged()),
    }
    let on_disk: HeadOnDisk = postcard::from_bytes(bytes).map_err(|_| damaged())?;
    let format = FORMATS.iter().find(|format| format.id == on_disk.format).ok_or_else(damaged)?;
    let issues = on_disk.issues.into_iter().map(|issue| issue.of_kind(import::issue_kind));
    let unused = Tally { records: 0, bytes: on_disk.unused_bytes };
    let tallies = [on_disk.kept, on_disk.repaired, on_disk.skipped, unused];
    let sum = |of: fn(&Tally) -> u64| tallies.iter().try_fold(0u64, |sum, tally| sum.checked_add(of(tally)));
    if sum(|tally| tally.records).is_none() || sum(|tally| tally.bytes).is_none() {
        return Err(damaged());
    }
    // For a fully read trace, everything is counted.
    let n_others = sum(|tally| tally.bytes).unwrap_or(0);
    Ok(Head {
        sources: on_disk.sources,
        made_ms: on_disk.made_ms,
        identity: on_disk.identity,
        source: SourceInfo {
            file_name: on_disk.file_name,
            format: format.id,
            producer: on_disk.producer,
            compression: on_disk.compression.into_iter().map(Packing::name).collect(),
            metadata: on_disk.metadata,
            record_kinds: on_disk.record_kinds,
        },
        ledger: Ledger {
            file_bytes: on_disk.file_bytes,
            file_bytes_read: on_disk.file_bytes_read,
            content_bytes: on_disk.content_bytes,
            kept: on_disk.kept,
            repaired: on_disk.repaired,
            skipped: on_disk.skipped,
            unused_bytes: on_disk.unused_bytes,
            framing_bytes: on_disk.content_bytes.saturating_sub(n_others),
            record_noun: on_disk.record_noun.into(),
            issues: issues.collect::<Option<Vec<Issue>>>().ok_or_else(damaged)?,
        },
        has_args: on_disk.has_args,
        has_times: on_disk.has_times,
        has_stacks: on_disk.has_stacks,
        query: on_disk.query,
        exporters: on_disk.exporters,
    })
}

/// Error code of a damaged index.
pub const DAMAGED: &str = "index-damaged";

/// Error code of an index that was deleted or moved after it was opened.
pub const GONE: &str = "index-gone";

/// Error code of an index with another [`LAYOUT`].
pub const OTHER_VERSION: &str = "index-version";

/// Error for a damaged index.
pub fn damaged() -> ImportError {
    ImportError {
        code: DAMAGED,
        what: "the index is damaged or incomplete".to_string(),
        hint: "copy it again, or open the original trace: it contains everything the index does".to_string(),
    }
}

/// Error for an index that can no longer be read.
fn gone() -> ImportError {
    ImportError {
        code: GONE,
        what: "the cached copy of this file is gone".to_string(),
        hint: "open reports stay; reopen the file for other reports, settings and trace exports".to_string(),
    }
}

/// An open index: its head is read, its tables are not.
pub struct Index {
    content: Rc<dyn Content>,
    sections: Vec<Section>,
    /// Its last bytes, which are read first.
    end: Vec<u8>,
    digest: Option<[u8; DIGEST_BYTES]>,
    pub head: Head,
}

impl Index {
    /// Whether content with this start is an index.
    pub fn sniff(head: &[u8]) -> bool {
        head.starts_with(&MAGIC)
    }

    /// Reads the head.
    ///
    /// Fails with [`DAMAGED`] if the content is not a complete index, [`OTHER_VERSION`] if it has another [`LAYOUT`], and
    /// `read-failed` if it cannot be read.
    pub fn open(content: Rc<dyn Content>) -> Result<Index, ImportError> {
        let n_bytes = content.n_bytes();
        let mut end = vec![0; n_bytes.min(END_BYTES) as usize];
        content.read_at(n_bytes - end.len() as u64, &mut end).map_err(|error| ImportError {
            code: "read-failed",
            what: format!("the index could not be read: {error}"),
            hint: "open the file again".to_string(),
        })?;
        let (list, tail) = end.split_last_chunk::<TAIL_BYTES>().ok_or_else(damaged)?;
        let (digest, rest) = tail.split_first_chunk::<DIGEST_BYTES>().ok_or_else(damaged)?;
        let number = |at: usize| rest[at..].first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let (list_bytes, hash) = (number(0), number(8));
        let start = usize::try_from(list_bytes).ok().and_then(|len| list.len().checked_sub(len));
        let list = &list[start.ok_or_else(damaged)?..];
        if rest[16..] != MAGIC || sections::hash(list) != hash {
            return Err(damaged());
        }
        let sections: Vec<Section> = postcard::from_bytes(list).map_err(|_| damaged())?;
        let reader =
            SectionReader { content: &*content, sections: &sections, end: &end, is_gone: Cell::default() };
        let head = read_head(&reader.bytes(HEAD).map_err(|Damaged| damaged())?)?;
        let digest = (*digest != [0; DIGEST_BYTES]).then_some(*digest);
        Ok(Index { content, sections, end, digest, head })
    }

    fn reader<'a>(&'a self, end: &'a [u8]) -> SectionReader<'a> {
        SectionReader { content: &*self.content, sections: &self.sections, end, is_gone: Cell::default() }
    }

    /// Reports. `None` if another build wrote them, or they are damaged: they have to be recomputed then.
    pub fn reports(&self) -> Option<Vec<Report>> {
        if !self.head.is_of_this_program() {
            return None;
        }
        let reader = self.reader(&self.end);
        let reports: Vec<Report> = postcard::from_bytes(&reader.bytes(REPORTS).ok()?).ok()?;
        let are_sound = reports.iter().flat_map(Report::tables).all(Table::is_sound);
        are_sound.then_some(reports)
    }

    /// SHA-256 of the file of the trace, if computed.
    pub fn digest(&self) -> Option<[u8; DIGEST_BYTES]> {
        self.digest
    }

    /// Reads all tables. Arguments missing from the index come from `again`, the file of the trace, if available.
    pub fn trace(&self, again: Option<Rc<dyn Content>>) -> Result<Trace, ImportError> {
        let mut reader = self.reader(&[]);
        let mut trace = Trace::default();
        trace.source = self.head.source.clone();
        trace.ledger = self.head.ledger.clone();
        if let Err(Damaged) = tables::fill(&mut trace, &mut reader) {
            return Err(if reader.is_gone.get() { gone() } else { damaged() });
        }
        if !tables::are_sound(&trace) {
            return Err(damaged());
        }
        match again {
            _ if self.head.has_args => {}
            Some(content) => trace.args.set_content(content),
            None => trace.args.set_missing(),
        }
        Ok(trace)
    }
}

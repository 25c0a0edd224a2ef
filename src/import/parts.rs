//! Reading one file in parts, by several workers.
//!
//! The middle of a JSON file does not show whether a bracket is inside a string. So the reader of a part guesses where a
//! record starts and reads on from there, as long as the input is regular. The reader of the whole file accepts the part only
//! if it reaches exactly the start of the part, in the state the part assumed. The result then equals that of sequential
//! reading. A part that does not fit is read again from the true position.
//!
//! ```text
//! whole  ──────────────┐ is here, outside any string, at the depth of events
//!                      ▼
//! part     . . .","ts":1},{"name":"next"  …  },{"name":"of the next part"
//!                         ▲ guessed start      ▲ first start after its share: the end
//! ```

use super::Reader;
use crate::base::strings::StringId;
use crate::trace::accesses::AccessTable;
use crate::trace::args::Content;
use crate::trace::ledger::{IssueKind, Ledger};
use crate::trace::{TraceBuilder, wire};
use std::rc::Rc;
use std::sync::Arc;

/// How a format is read in parts.
pub struct PartsInfo {
    /// Creates a reader, which may read several parts in turn.
    pub reader: fn() -> Box<dyn PartReader>,
    /// Minimum number of workers, including the joining one; with fewer, sequential reading is faster on the page. Threads
    /// have no such limit.
    pub min_readers: usize,
    /// Maximum size of a part in large files; a part runs on to the next record [start](Mergeable::starts) if that is known.
    pub max_bytes: u64,
}

/// Maximum size of a part of text: longer ones take much memory until they are joined.
pub const MAX_PART_BYTES: u64 = 16 << 20;

/// Reader of parts. Like a [`Reader`] it owns no input and is fed chunks cut anywhere.
pub trait PartReader {
    /// Offers random access to the whole file. Called before the first part.
    fn lend(&mut self, _content: Rc<dyn Content>) {}
    /// Starts a part: the next byte fed is at `from`; records that start before `until` belong to it.
    fn start(&mut self, from: u64, until: u64);
    /// Feeds the next chunk; false once no more is wanted.
    fn feed(&mut self, bytes: &[u8]) -> bool;
    /// Ends the part.
    fn finish(&mut self) -> Part;
}

/// Records that were read independently.
pub struct Part {
    /// Offset of its first record; [`u64::MAX`] if there is none.
    pub start: u64,
    /// Offset up to which everything was read.
    pub end: u64,
    /// Records, with their own numbering of texts and threads.
    pub rows: PartRows,
    /// State for the reader of the whole file, in a format of its own.
    pub notes: Vec<u8>,
}

/// The records of a part.
pub enum PartRows {
    /// Tables, if read in this program.
    Tables(Box<TraceBuilder>),
    /// Tables of another worker, encoded by [`wire`] from this offset on; accesses separately if they were sent unencoded.
    Bytes(Vec<u8>, usize, Option<Box<AccessTable>>),
}

impl PartRows {
    /// Adds the rows to `out`, which has `n_lines` lines before them (in formats that count lines). Returns false and changes
    /// nothing if they are invalid.
    pub fn merge_into(self, out: &mut TraceBuilder, kinds: &[&'static IssueKind], n_lines: u64) -> bool {
        self.merge_amended(out, kinds, n_lines, |_| {}).is_some()
    }

    /// Like [`PartRows::merge_into`], after `amend` has corrected the ledger (in line numbers of the part). Returns the id in
    /// `out` of each text of the part; `None`, and no change, if the rows are invalid.
    pub fn merge_amended(
        self,
        out: &mut TraceBuilder,
        kinds: &[&'static IssueKind],
        n_lines: u64,
        amend: impl FnOnce(&mut Ledger),
    ) -> Option<Vec<StringId>> {
        match self {
            PartRows::Tables(tables) => {
                let mut tables = tables.part_tables();
                amend(&mut tables.ledger);
                tables.ledger.count_lines_from(n_lines);
                Some(out.absorb(tables))
            }
            PartRows::Bytes(bytes, at, accesses) => {
                let bytes = Arc::new(bytes);
                let mut tables = wire::decode(&bytes, at, kinds)?;
                tables.accesses = accesses.map_or(tables.accesses, |accesses| *accesses);
                amend(&mut tables.ledger);
                tables.ledger.count_lines_from(n_lines);
                Some(out.absorb(tables))
            }
        }
    }
}

/// A part on its way to another thread.
pub struct SentPart {
    bytes: Vec<u8>,
    accesses: Option<Box<AccessTable>>,
}

const HEAD_BYTES: usize = 20;

impl Part {
    /// Number of records that made rows; 0 for parts of another worker.
    pub fn n_rows(&self) -> usize {
        match &self.rows {
            PartRows::Tables(tables) => {
                let trace = &tables.trace;
                tables.events.n_events() + trace.scoring_calls.len() + trace.accesses.len()
            }
            PartRows::Bytes(..) => 0,
        }
    }

    /// Encodes the part for another worker. Parts that came as a [`SentPart`] lose their accesses.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&self.start.to_le_bytes());
        out.extend_from_slice(&self.end.to_le_bytes());
        out.extend_from_slice(&(self.notes.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.notes);
        match self.rows {
            PartRows::Tables(tables) => wire::encode(&tables, &mut out),
            PartRows::Bytes(bytes, at, _) => out.extend_from_slice(bytes.get(at..).unwrap_or_default()),
        }
        out
    }

    /// Prepares the part for another thread of this program; accesses, usually most of the data, are not encoded.
    pub fn into_sent(mut self) -> SentPart {
        let accesses = match &mut self.rows {
            PartRows::Tables(tables) => Some(Box::new(std::mem::take(&mut tables.trace.accesses))),
            PartRows::Bytes(_, _, accesses) => accesses.take(),
        };
        SentPart { bytes: self.into_bytes(), accesses }
    }

    /// Inverse of [`Part::into_sent`].
    pub fn from_sent(sent: SentPart) -> Option<Part> {
        let mut part = Part::from_bytes(sent.bytes)?;
        if let PartRows::Bytes(_, _, accesses) = &mut part.rows {
            *accesses = sent.accesses;
        }
        Some(part)
    }

    /// Inverse of [`Part::into_bytes`]. `None` if the bytes are invalid; invalid rows show when they are joined.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Part> {
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
        let word = |at: usize| Some(u64::from_le_bytes(*head.get(at..)?.first_chunk()?));
        let (start, end) = (word(0)?, word(8)?);
        let notes_len = u32::from_le_bytes(*head.last_chunk()?) as usize;
        let notes = rest.get(..notes_len)?.to_vec();
        Some(Part { start, end, rows: PartRows::Bytes(bytes, HEAD_BYTES + notes_len, None), notes })
    }
}

/// Interface of a [`Reader`] whose file can be read in parts.
pub trait Mergeable: Reader {
    /// Whether others can find records of their own in the rest.
    fn is_splittable(&self) -> bool;
    /// Offset of the byte to feed next.
    fn wants(&self) -> u64;
    /// Stops before the first record that starts at or after `limit`, and consumes nothing more.
    fn set_limit(&mut self, limit: u64);
    /// Offsets of all records, ascending, if known: parts that start there read nothing twice.
    fn starts(&self) -> Vec<u64> {
        Vec::new()
    }
    /// Current position, if nothing is half read and a part that starts here would fit.
    fn merge_point(&self) -> Option<u64>;
    /// Joins `part`, which starts at the merge point. Returns false and changes nothing if its notes are invalid.
    fn merge(&mut self, part: Part, out: &mut TraceBuilder) -> bool;
}

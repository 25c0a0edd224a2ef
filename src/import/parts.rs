//! Reading one file in parts, by several at once.
//!
//! Nobody can tell by looking at the middle of a file whether a bracket stands inside a string.
//! So the reader of a part guesses where a record starts and reads on from there, keeping to what is regular; and the
//! reader of the whole takes the part only if it comes to stand, by itself, exactly where the part starts, in the state
//! that the part took for granted. What comes of it is then the same as if one had read it all; a part that does not fit is read
//! again from the true place.
//!
//! ```text
//! whole  ──────────────┐ stands here, outside any string, at the depth of events
//!                      ▼
//! part     . . .","ts":1},{"name":"next"  …  },{"name":"of the next part"
//!                         ▲ guessed start      ▲ first start behind its share: the end
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
    /// A reader of parts. It may read one after the other.
    pub reader: fn() -> Box<dyn PartReader>,
    /// Below so many who read, the one who joins included, reading from front to back is quicker on the page; threads have no such limit.
    pub min_readers: usize,
    /// Of large files parts are up to so long, and on to where the next record [starts](Joins::starts) if that is known.
    pub max_bytes: u64,
}

/// Longer parts of text take much memory until they are joined.
pub const MAX_PART_BYTES: u64 = 16 << 20;

/// Reads parts of a file. Like a [`Reader`] it owns no input and is given chunks cut anywhere.
pub trait PartReader {
    /// The whole file can be read at any place by `content`, for a reader that wants to. Said before the first part.
    fn lend(&mut self, _content: Rc<dyn Content>) {}
    /// Begins with a part: what is fed next lies at `from`; records that start before `until` belong to it.
    fn start(&mut self, from: u64, until: u64);
    /// Takes the next chunk; false once no more is wanted.
    fn feed(&mut self, bytes: &[u8]) -> bool;
    /// The part that was read.
    fn finish(&mut self) -> Part;
}

/// A stretch of records that was read by itself.
pub struct Part {
    /// Byte where its first record starts; [`u64::MAX`] if there is none.
    pub start: u64,
    /// Byte up to which everything is read.
    pub end: u64,
    /// The records, with numbers of their own for texts and threads.
    pub rows: PartRows,
    /// What the reader of the whole has to know besides, in the format's own way.
    pub notes: Vec<u8>,
}

/// The records of a part.
pub enum PartRows {
    /// As they were read here.
    Tables(Box<TraceBuilder>),
    /// As another worker has sent them, encoded by [`wire`], from this byte on; the accesses beside it where it could send them as they are.
    Bytes(Vec<u8>, usize, Option<Box<AccessTable>>),
}

impl PartRows {
    /// Adds them to `out`, before which there are `n_lines` lines, in formats that count them. False, and nothing happens, if
    /// they are not what they should be.
    pub fn join_to(self, out: &mut TraceBuilder, kinds: &[&'static IssueKind], n_lines: u64) -> bool {
        self.join_amended(out, kinds, n_lines, |_| {}).is_some()
    }

    /// The same, with an account that `amend` has put right, in the part's own numbers of lines. Gives the number in `out` of each
    /// text of the part; `None`, and nothing happens, if the rows are not what they should be.
    pub fn join_amended(
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
    /// Records in it, as far as they make rows. 0 if it comes from another worker.
    pub fn n_rows(&self) -> usize {
        match &self.rows {
            PartRows::Tables(tables) => {
                let trace = &tables.trace;
                tables.events.n_events() + trace.scoring_calls.len() + trace.accesses.len()
            }
            PartRows::Bytes(..) => 0,
        }
    }

    /// As bytes, for another worker. Of a part that has come as a [`SentPart`], without its accesses.
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

    /// For another thread of the same program: accesses, which are most of what there is where there are any, stay as they are.
    pub fn into_sent(mut self) -> SentPart {
        let accesses = match &mut self.rows {
            PartRows::Tables(tables) => Some(Box::new(std::mem::take(&mut tables.trace.accesses))),
            PartRows::Bytes(_, _, accesses) => accesses.take(),
        };
        SentPart { bytes: self.into_bytes(), accesses }
    }

    /// What [`Part::into_sent`] gave.
    pub fn from_sent(sent: SentPart) -> Option<Part> {
        let mut part = Part::from_bytes(sent.bytes)?;
        if let PartRows::Bytes(_, _, accesses) = &mut part.rows {
            *accesses = sent.accesses;
        }
        Some(part)
    }

    /// What [`Part::into_bytes`] wrote. `None` if it is something else; of the rows that shows when they are joined.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Part> {
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
        let word = |at: usize| Some(u64::from_le_bytes(*head.get(at..)?.first_chunk()?));
        let (start, end) = (word(0)?, word(8)?);
        let notes_len = u32::from_le_bytes(*head.last_chunk()?) as usize;
        let notes = rest.get(..notes_len)?.to_vec();
        Some(Part { start, end, rows: PartRows::Bytes(bytes, HEAD_BYTES + notes_len, None), notes })
    }
}

/// What a [`Reader`] has to know of itself for its file to be read in parts.
pub trait Joins: Reader {
    /// Whether others may find records of their own in what comes.
    fn is_splittable(&self) -> bool;
    /// Byte that it wants to be fed with next.
    fn wants(&self) -> u64;
    /// From now on it stops in front of the first record that starts at `limit` or behind it, and takes nothing more.
    fn set_limit(&mut self, limit: u64);
    /// Bytes at which records start, in order, where that is known of all records: parts that start there have nothing to read twice.
    fn starts(&self) -> Vec<u64> {
        Vec::new()
    }
    /// Where it stands, if nothing half read is before it and a part that starts there would fit.
    fn joint(&self) -> Option<u64>;
    /// Goes on behind `part`, which starts at its joint. False, and nothing happens, if its notes are not understood.
    fn join(&mut self, part: Part, out: &mut TraceBuilder) -> bool;
}

//! Reader for line-based formats whose lines stand alone, for whole files and parts.
//!
//! A format turns lines into rows ([`LineRows`]). Where lines refer to others, it also says what a part keeps until it is
//! joined. A line starts after every LF, whatever ends the others, so a part starts after its first LF and ends at the first
//! LF after its share. The reader of the whole file reads the tail, since only it knows which line is the last.

use super::parts::{Mergeable, Part, PartReader, PartRows};
use super::{ImportError, Reader};
use crate::base::lines::{Line, LineEnds, LineSplitter};
use crate::trace::{IssueKind, TraceBuilder};
use memchr::memchr;

/// Turns the lines of a format into rows. State between lines must not affect rows, so that a file can be read from any line
/// on, or must be something [`LineRows::join`] can merge.
pub trait LineRows {
    /// Longest line that is parsed; longer ones are only counted.
    const MAX_LINE_BYTES: usize;
    /// Line ends besides LF, which always ends a line.
    const LINE_ENDS: LineEnds = LineEnds::Universal;
    /// Plural noun for a record.
    const RECORD_NOUN: &'static str = "lines";
    /// Parsing issues of the format.
    const ISSUES: &'static [&'static IssueKind];

    /// Turns one line into rows or ledger entries. The caller counts blanks around a record and blank lines as framing; this
    /// function counts all other lines that are not records. `is_last` marks a line that the end of the file may have cut.
    fn read(&mut self, line: Line<'_>, is_last: bool, out: &mut TraceBuilder);

    /// Adds what the lines read so far say about the file as a whole.
    fn describe(&self, out: &mut TraceBuilder);

    /// Ends the file.
    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        self.describe(out);
        Ok(())
    }

    /// State of a part besides its rows, for [`LineRows::join`]. `None` if the reader of the whole file has to read the part
    /// again.
    fn notes(&mut self) -> Option<Vec<u8>> {
        Some(Vec::new())
    }

    /// Joins a part with these `rows` and `notes`, preceded by `n_lines` lines. Returns false and changes nothing if it
    /// cannot.
    fn merge(&mut self, rows: PartRows, notes: &[u8], n_lines: u64, out: &mut TraceBuilder) -> bool {
        notes.is_empty() && rows.merge_into(out, Self::ISSUES, n_lines)
    }
}

/// Passes a line to `rows` and counts the blanks in it that belong to no record.
fn read<R: LineRows>(rows: &mut R, line: Line<'_>, is_last: bool, out: &mut TraceBuilder) {
    let before = out.trace.ledger.accounted_bytes();
    rows.read(line, is_last, out);
    let ledger = &mut out.trace.ledger;
    let n_counted = ledger.accounted_bytes() - before;
    if n_counted < line.text_bytes {
        let n_left = line.text_bytes - n_counted;
        ledger.frame(n_left.min(n_blank_around(line.bytes)));
    }
}

/// Number of blanks at both ends of a line, plus a byte order mark at its start.
fn n_blank_around(line: &[u8]) -> u64 {
    let (mark, text) = match line.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => (BYTE_ORDER_MARK.len(), text),
        None => (0, line),
    };
    let text = String::from_utf8_lossy(text);
    let is_blank = |char: &char| char.is_whitespace() || matches!(char, '\u{1c}'..='\u{1f}');
    let n_front: usize = text.chars().take_while(is_blank).map(char::len_utf8).sum();
    let n_back: usize = text.chars().rev().take_while(is_blank).map(char::len_utf8).sum();
    (mark + (n_front + n_back).min(text.len())) as u64
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reader of a whole file.
pub struct LineReader<R> {
    lines: LineSplitter,
    rows: R,
    /// Offset of the next byte.
    at: u64,
    /// Offset at which reading stops.
    limit: u64,
}

impl<R: LineRows> LineReader<R> {
    /// Creates a reader at the start of a file.
    pub fn new(rows: R) -> LineReader<R> {
        LineReader { lines: LineSplitter::new(R::LINE_ENDS, R::MAX_LINE_BYTES), rows, at: 0, limit: u64::MAX }
    }
}

impl<R: LineRows> Reader for LineReader<R> {
    fn feed(&mut self, bytes: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError> {
        out.trace.ledger.record_noun = R::RECORD_NOUN.into();
        let rows = &mut self.rows;
        let taken = self.limit.saturating_sub(self.at).min(bytes.len() as u64) as usize;
        self.lines.feed(&bytes[..taken], |line| read(rows, line, false, out));
        out.trace.ledger.frame(self.lines.take_end_bytes());
        self.at += taken as u64;
        Ok(())
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        out.trace.ledger.record_noun = R::RECORD_NOUN.into();
        let rows = &mut self.rows;
        self.lines.finish(|line| read(rows, line, true, out));
        rows.finish(out)
    }

    fn snapshot(&self, out: &mut TraceBuilder) {
        self.rows.describe(out);
    }

    fn mergeable(&mut self) -> Option<&mut dyn Mergeable> {
        Some(self)
    }
}

impl<R: LineRows> Mergeable for LineReader<R> {
    fn is_splittable(&self) -> bool {
        true
    }

    fn wants(&self) -> u64 {
        self.at
    }

    /// Parts start after an LF, so no line is cut.
    fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    fn merge_point(&self) -> Option<u64> {
        self.lines.is_between_lines().then_some(self.at)
    }

    fn merge(&mut self, part: Part, out: &mut TraceBuilder) -> bool {
        let Some((n_lines, notes)) = part.notes.split_first_chunk() else { return false };
        let number = self.lines.line_number();
        let is_joined = self.rows.merge(part.rows, notes, number - 1, out);
        if is_joined {
            self.at = part.end;
            self.lines.go_on(part.end, number.saturating_add(u64::from_le_bytes(*n_lines)));
        }
        is_joined
    }
}

/// Start of a part that has no line or cannot be used.
const NOWHERE: u64 = u64::MAX;

/// Reader of parts of a file.
pub struct LinePart<R> {
    /// Creates the state at the start of a part.
    new_rows: fn() -> R,
    /// File offset of the next byte.
    at: u64,
    until: u64,
    /// Offset of the first line, once known.
    start: Option<u64>,
    is_over: bool,
    lines: LineSplitter,
    rows: R,
    out: TraceBuilder,
}

impl<R: LineRows> LinePart<R> {
    /// Creates a reader that starts each part with `new_rows()`.
    pub fn new(new_rows: fn() -> R) -> LinePart<R> {
        LinePart {
            new_rows,
            at: 0,
            until: 0,
            start: None,
            is_over: true,
            lines: LineSplitter::new(R::LINE_ENDS, R::MAX_LINE_BYTES),
            rows: new_rows(),
            out: TraceBuilder::default(),
        }
    }
}

impl<R: LineRows> PartReader for LinePart<R> {
    fn start(&mut self, from: u64, until: u64) {
        *self = LinePart { at: from, until, is_over: false, ..LinePart::new(self.new_rows) };
    }

    fn feed(&mut self, mut bytes: &[u8]) -> bool {
        if self.is_over {
            return false;
        }
        if self.start.is_none() {
            let Some(end) = memchr(b'\n', bytes) else {
                self.at += bytes.len() as u64;
                // The reader of the part before gets this far too.
                self.is_over = self.at >= self.until;
                return !self.is_over;
            };
            self.at += end as u64 + 1;
            bytes = &bytes[end + 1..];
            if self.at >= self.until {
                self.is_over = true;
                return false;
            }
            self.start = Some(self.at);
            self.lines.go_on(self.at, 1);
        }
        // A line that starts before the end of the part belongs to it, even if it ends after it.
        let own = (self.until - 1).saturating_sub(self.at).min(bytes.len() as u64) as usize;
        let end = memchr(b'\n', &bytes[own..]).map(|end| own + end + 1);
        let taken = &bytes[..end.unwrap_or(bytes.len())];
        let (rows, out) = (&mut self.rows, &mut self.out);
        self.lines.feed(taken, |line| read(rows, line, false, out));
        out.trace.ledger.frame(self.lines.take_end_bytes());
        self.at += taken.len() as u64;
        self.is_over = end.is_some();
        !self.is_over
    }

    fn finish(&mut self) -> Part {
        let out = std::mem::take(&mut self.out);
        self.is_over = true;
        let of_rows = self.rows.notes();
        let mut notes = (self.lines.line_number() - 1).to_le_bytes().to_vec();
        notes.extend_from_slice(of_rows.as_deref().unwrap_or_default());
        Part {
            start: self.start.filter(|_| of_rows.is_some()).unwrap_or(NOWHERE),
            end: self.lines.line_offset(),
            notes,
            rows: PartRows::Tables(Box::new(out)),
        }
    }
}

//! Files of lines that stand for themselves: one reader of them, whole or in parts, for all formats.
//!
//! A format says what it makes of a line ([`LineRows`]), and, where lines refer to others, what a part keeps until it is joined. A line starts behind every LF, whatever ends the others, so a part
//! starts behind the first one and ends behind another. What is left at the end of the file is read by the reader of
//! the whole, which knows a last line from others.

use super::parts::{Joins, Part, PartReader, PartRows};
use super::{ImportError, Reader};
use crate::base::lines::{Line, LineEnds, LineSplitter};
use crate::trace::{IssueKind, TraceBuilder};
use memchr::memchr;

/// What a format makes of its lines, and what it keeps between them: nothing that rows depend on, so that a file can be
/// read from any line on, or what [`LineRows::join`] can put together.
pub trait LineRows {
    /// A longer line is only counted.
    const MAX_LINE_BYTES: usize;
    /// What ends a line. LF does in any case.
    const LINE_ENDS: LineEnds = LineEnds::Universal;
    /// What a record is called, in the plural.
    const RECORD_NOUN: &'static str = "lines";
    /// What can be wrong.
    const ISSUES: &'static [&'static IssueKind];

    /// One line becomes rows, or an entry in the ledger. Blanks around a record, and blank lines, are counted as framing by whoever calls
    /// this; other lines that are no records are to be counted here. `is_last` is a line that may have been cut by the end of the file.
    fn read(&mut self, line: Line<'_>, is_last: bool, out: &mut TraceBuilder);

    /// Says what the lines that were read tell of the file, and hands over what is kept of them.
    fn describe(&self, out: &mut TraceBuilder);

    /// The file is over.
    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        self.describe(out);
        Ok(())
    }

    /// What is kept of a part besides its rows, for [`LineRows::join`]. `None` if the part has to be read again by the one who
    /// joins.
    fn notes(&mut self) -> Option<Vec<u8>> {
        Some(Vec::new())
    }

    /// Goes on behind the part of those `rows` and `notes`, before which there are `n_lines` lines. False, and nothing happens,
    /// if it can not.
    fn join(&mut self, rows: PartRows, notes: &[u8], n_lines: u64, out: &mut TraceBuilder) -> bool {
        notes.is_empty() && rows.join_to(out, Self::ISSUES, n_lines)
    }
}

/// Has `rows` read a line, and counts the blanks in it that belong to no record.
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

/// Blanks at both ends of a line, and a mark of the byte order at its start.
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

/// Reads a file from its start.
pub struct LineReader<R> {
    lines: LineSplitter,
    rows: R,
    /// Byte that comes next.
    at: u64,
    /// Nothing is taken from here on.
    limit: u64,
}

impl<R: LineRows> LineReader<R> {
    /// A reader at the start of a file.
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

    fn joins(&mut self) -> Option<&mut dyn Joins> {
        Some(self)
    }
}

impl<R: LineRows> Joins for LineReader<R> {
    fn is_splittable(&self) -> bool {
        true
    }

    fn wants(&self) -> u64 {
        self.at
    }

    /// Parts start behind an LF, so no line is cut.
    fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    fn joint(&self) -> Option<u64> {
        self.lines.is_between_lines().then_some(self.at)
    }

    fn join(&mut self, part: Part, out: &mut TraceBuilder) -> bool {
        let Some((n_lines, notes)) = part.notes.split_first_chunk() else { return false };
        let number = self.lines.line_number();
        let is_joined = self.rows.join(part.rows, notes, number - 1, out);
        if is_joined {
            self.at = part.end;
            self.lines.go_on(part.end, number.saturating_add(u64::from_le_bytes(*n_lines)));
        }
        is_joined
    }
}

/// Where a part starts in which there is no line, or that is of no use.
const NOWHERE: u64 = u64::MAX;

/// Reads parts of a file.
pub struct LinePart<R> {
    /// What a part starts with.
    new_rows: fn() -> R,
    /// Byte of the file that comes next.
    at: u64,
    until: u64,
    /// Where the first line starts, once that is known.
    start: Option<u64>,
    is_over: bool,
    lines: LineSplitter,
    rows: R,
    out: TraceBuilder,
}

impl<R: LineRows> LinePart<R> {
    /// A reader that starts each part with what `new_rows` gives.
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
                // Whoever is at the part before comes this far as well.
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
        // The line that starts before the end of the part, and ends behind it, is the last one.
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

//! A part of a file of lines, read by itself. See [`crate::import::parts`].
//!
//! A line starts behind every LF, whatever ends the others, so a part starts behind the first one and ends behind another.
//! What is left at the end of the file is read by the reader of the whole, which knows a last line from others.

use super::{MAX_LINE_BYTES, read_line};
use crate::base::lines::{LineEnds, LineSplitter};
use crate::base::strings::RecentStrings;
use crate::import::parts::{Part, PartReader, PartRows};
use crate::trace::TraceBuilder;
use memchr::memchr;

/// Where a part starts in which there is no line.
const NOWHERE: u64 = u64::MAX;

/// Reads parts of a file.
pub struct SwayPart {
    /// Byte of the file that comes next.
    at: u64,
    until: u64,
    /// Where the first line starts, once that is known.
    start: Option<u64>,
    is_over: bool,
    lines: LineSplitter,
    recent: RecentStrings,
    out: TraceBuilder,
}

impl Default for SwayPart {
    fn default() -> SwayPart {
        SwayPart {
            at: 0,
            until: 0,
            start: None,
            is_over: true,
            lines: LineSplitter::new(LineEnds::Universal, MAX_LINE_BYTES),
            recent: RecentStrings::default(),
            out: TraceBuilder::default(),
        }
    }
}

impl PartReader for SwayPart {
    fn start(&mut self, from: u64, until: u64) {
        *self = SwayPart { at: from, until, is_over: false, ..SwayPart::default() };
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
        let (recent, out) = (&mut self.recent, &mut self.out);
        self.lines.feed(taken, |line| read_line(line, false, recent, out));
        self.at += taken.len() as u64;
        self.is_over = end.is_some();
        !self.is_over
    }

    fn finish(&mut self) -> Part {
        let out = std::mem::take(&mut self.out);
        self.is_over = true;
        Part {
            start: self.start.unwrap_or(NOWHERE),
            end: self.lines.line_offset(),
            notes: (self.lines.line_number() - 1).to_le_bytes().to_vec(),
            rows: PartRows::Tables(Box::new(out)),
        }
    }
}

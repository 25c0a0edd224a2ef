//! Splitting of chunks cut anywhere into lines.
//!
//! Takes byte chunks in order and emits one line at a time with its offset and number. Lines are not interpreted; lines over a
//! size limit are reported, not stored.

use memchr::{memchr, memchr2};

/// Bytes that end a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineEnds {
    /// Only LF. A CR before it stays in the line.
    Lf,
    /// LF, CRLF and a lone CR ("universal newlines").
    Universal,
}

/// A line without its end.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The bytes of the line; for an over-long line only its beginning.
    pub bytes: &'a [u8],
    /// Offset in the (decompressed) file.
    pub offset: u64,
    /// Line number from 1.
    pub number: u64,
    /// Length in the file without its end, independent of chunk boundaries.
    pub text_bytes: u64,
    /// Length in the file including its end. The LF of a CRLF split between chunks is not included.
    pub file_bytes: u64,
    /// The line exceeded the limit; `bytes` has only its start.
    pub too_long: bool,
}

/// Bytes kept of an over-long line as an example.
const EXAMPLE_BYTES: usize = 256;

/// Splits a stream of chunks into lines.
#[derive(Clone)]
pub struct LineSplitter {
    ends: LineEnds,
    max_line_bytes: usize,
    carry: Vec<u8>,
    /// Bytes dropped from an over-long line so far, beyond `carry`.
    dropped: u64,
    line_offset: u64,
    number: u64,
    /// The last chunk ended with CR: an LF at the start of the next one belongs to it.
    after_cr: bool,
    /// Bytes of line ends since [`LineSplitter::take_end_bytes`].
    n_end_bytes: u64,
}

impl LineSplitter {
    /// Creates a splitter that truncates and marks lines longer than `max_line_bytes`.
    pub fn new(ends: LineEnds, max_line_bytes: usize) -> LineSplitter {
        LineSplitter {
            ends,
            max_line_bytes: max_line_bytes.max(EXAMPLE_BYTES),
            carry: Vec::new(),
            dropped: 0,
            line_offset: 0,
            number: 1,
            after_cr: false,
            n_end_bytes: 0,
        }
    }

    /// Takes the next chunk and calls `each` for every line that ends in it.
    pub fn feed(&mut self, mut chunk: &[u8], mut each: impl FnMut(Line<'_>)) {
        if self.after_cr && !chunk.is_empty() {
            self.after_cr = false;
            if chunk[0] == b'\n' {
                chunk = &chunk[1..];
                self.line_offset += 1;
                self.n_end_bytes += 1;
            }
        }
        while let Some((len, end)) = self.find_end(chunk) {
            let (head, rest) = chunk.split_at(len);
            self.emit(head, end, &mut each);
            chunk = &rest[end..];
            if chunk.is_empty() && end == 1 && rest[0] == b'\r' {
                self.after_cr = true;
            }
        }
        self.keep(chunk);
    }

    /// Bytes of line ends since the last call.
    pub fn take_end_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.n_end_bytes)
    }

    /// Offset of the next or current line.
    pub fn line_offset(&self) -> u64 {
        self.line_offset
    }

    /// Number of the next or current line.
    pub fn line_number(&self) -> u64 {
        self.number
    }

    /// Whether nothing of the next line has come yet, including an LF that may belong to a CR before it.
    pub fn is_between_lines(&self) -> bool {
        self.carry.is_empty() && self.dropped == 0 && !self.after_cr
    }

    /// Continues with line `number` at `offset`; earlier lines were read elsewhere.
    pub fn go_on(&mut self, offset: u64, number: u64) {
        (self.line_offset, self.number) = (offset, number);
    }

    /// Emits the last line, if the file does not end with a line end.
    pub fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        if !self.carry.is_empty() || self.dropped > 0 {
            self.emit(&[], 0, &mut each);
        }
    }

    /// Length of the line and of its end.
    #[inline]
    fn find_end(&self, chunk: &[u8]) -> Option<(usize, usize)> {
        match self.ends {
            LineEnds::Lf => memchr(b'\n', chunk).map(|at| (at, 1)),
            LineEnds::Universal => memchr2(b'\n', b'\r', chunk).map(|at| {
                let crlf = chunk[at] == b'\r' && chunk.get(at + 1) == Some(&b'\n');
                (at, 1 + usize::from(crlf))
            }),
        }
    }

    fn emit(&mut self, head: &[u8], end: usize, each: &mut impl FnMut(Line<'_>)) {
        let (bytes, file_bytes) = if self.carry.is_empty() && self.dropped == 0 {
            (head, head.len() + end)
        } else {
            self.keep(head);
            (&self.carry[..], self.carry.len() + self.dropped as usize + end)
        };
        let too_long = self.dropped > 0 || bytes.len() > self.max_line_bytes;
        let bytes = if too_long { &bytes[..bytes.len().min(EXAMPLE_BYTES)] } else { bytes };
        let file_bytes = file_bytes as u64;
        let text_bytes = file_bytes - end as u64;
        each(Line { bytes, offset: self.line_offset, number: self.number, text_bytes, file_bytes, too_long });
        self.line_offset += file_bytes;
        self.n_end_bytes += end as u64;
        self.number += 1;
        self.dropped = 0;
        self.carry.clear();
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.dropped > 0 || self.carry.len() + bytes.len() > self.max_line_bytes {
            let take = EXAMPLE_BYTES.saturating_sub(self.carry.len()).min(bytes.len());
            self.dropped += (self.carry.len().saturating_sub(EXAMPLE_BYTES) + bytes.len() - take) as u64;
            self.carry.truncate(EXAMPLE_BYTES);
            self.carry.shrink_to(EXAMPLE_BYTES);
            self.carry.extend_from_slice(&bytes[..take]);
        } else {
            self.carry.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(ends: LineEnds, text: &[u8], step: usize) -> Vec<(Vec<u8>, u64, u64)> {
        let mut lines = Vec::new();
        let mut splitter = LineSplitter::new(ends, 1 << 20);
        for chunk in text.chunks(step.max(1)) {
            splitter.feed(chunk, |line| lines.push((line.bytes.to_vec(), line.offset, line.number)));
        }
        splitter.finish(|line| lines.push((line.bytes.to_vec(), line.offset, line.number)));
        lines
    }

    #[test]
    fn any_cut_gives_the_same_lines() {
        let text = b"a\r\n\r\nbb\rccc\n\ndddd\r\r\nlast";
        for ends in [LineEnds::Lf, LineEnds::Universal] {
            let whole = split(ends, text, text.len());
            for step in 1..text.len() {
                assert_eq!(split(ends, text, step), whole, "{ends:?} {step}");
            }
        }
        let texts: Vec<Vec<u8>> =
            split(LineEnds::Universal, text, 3).into_iter().map(|line| line.0).collect();
        assert_eq!(texts, [&b"a"[..], b"", b"bb", b"ccc", b"", b"dddd", b"", b"last"]);
    }

    #[test]
    fn long_lines_are_cut_and_counted() {
        let mut splitter = LineSplitter::new(LineEnds::Lf, 1000);
        let mut seen = Vec::new();
        for _ in 0..100 {
            splitter.feed(&[b'x'; 77], |_| panic!("no end yet"));
        }
        splitter.feed(b"\nshort\n", |line| seen.push((line.bytes.len(), line.file_bytes, line.too_long)));
        assert_eq!(seen, [(EXAMPLE_BYTES, 7701, true), (5, 6, false)]);
    }
}

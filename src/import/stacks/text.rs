//! Text in UTF-8 or UTF-16, with or without a byte order mark, as UTF-8; in chunks cut anywhere.

use super::issues::{BYTE_ORDER_MARK, UTF16};
use crate::base::lines::{LineEnds, LineSplitter};
use crate::import::{ImportError, Reader};
use crate::trace::{Position, TraceBuilder};
use std::borrow::Cow;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    Utf8,
    Utf16 { is_big_endian: bool },
}

/// Bytes that decide about the encoding.
const DECIDING: usize = 64;
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

impl Encoding {
    /// Encoding of a text that starts with `head`, and the length of its byte order mark.
    fn of(head: &[u8]) -> (Encoding, usize) {
        match head {
            [0xef, 0xbb, 0xbf, ..] => return (Encoding::Utf8, UTF8_MARK.len()),
            [0xff, 0xfe, ..] => return (Encoding::Utf16 { is_big_endian: false }, 2),
            [0xfe, 0xff, ..] => return (Encoding::Utf16 { is_big_endian: true }, 2),
            _ => {}
        }
        let (pairs, _) = head[..head.len().min(DECIDING)].as_chunks::<2>();
        let n_zeros = |which: usize| pairs.iter().filter(|pair| pair[which] == 0).count();
        let (first, second) = (n_zeros(0), n_zeros(1));
        let is_half = |n: usize| n > 0 && n * 2 >= pairs.len();
        match () {
            () if is_half(second) && first == 0 => (Encoding::Utf16 { is_big_endian: false }, 0),
            () if is_half(first) && second == 0 => (Encoding::Utf16 { is_big_endian: true }, 0),
            () => (Encoding::Utf8, 0),
        }
    }

    /// Bytes that a decoded text has in the file.
    pub fn n_bytes(self, text: &[u8]) -> u64 {
        match self {
            Encoding::Utf8 => text.len() as u64,
            Encoding::Utf16 { .. } => {
                let text = String::from_utf8_lossy(text);
                text.chars().map(|c| c.len_utf16() as u64 * 2).sum()
            }
        }
    }
}

/// Start of a file as UTF-8, to recognize a format by.
pub fn decoded(head: &[u8]) -> Cow<'_, [u8]> {
    match Encoding::of(head) {
        (Encoding::Utf8, mark) => Cow::Borrowed(&head[mark..]),
        _ => {
            let (mut decoder, mut text) = (Decoder::default(), Vec::new());
            decoder.feed(head, &mut |piece| text.extend_from_slice(piece));
            decoder.finish(&mut |piece| text.extend_from_slice(piece));
            Cow::Owned(text)
        }
    }
}

/// Decoder of a stream.
#[derive(Default)]
pub struct Decoder {
    encoding: Option<Encoding>,
    /// The start of the text, until its encoding is known.
    head: Vec<u8>,
    /// Length of the byte order mark.
    pub n_mark: u64,
    /// First byte of a pair whose second has not come.
    half: Option<u8>,
    /// First surrogate of a pair whose second has not come.
    surrogate: Option<u16>,
    text: Vec<u8>,
}

impl Decoder {
    pub fn encoding(&self) -> Encoding {
        self.encoding.unwrap_or(Encoding::Utf8)
    }

    /// Decodes the next chunk.
    pub fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(&[u8])) {
        if self.encoding.is_some() {
            return self.decode(bytes, each);
        }
        self.head.extend_from_slice(bytes);
        if self.head.len() >= DECIDING {
            self.decide(each);
        }
    }

    /// Ends the text. Returns the number of bytes that are no text: half a pair.
    pub fn finish(&mut self, each: &mut dyn FnMut(&[u8])) -> u64 {
        if self.encoding.is_none() {
            self.decide(each);
        }
        if self.surrogate.take().is_some() {
            each("\u{fffd}".as_bytes());
        }
        u64::from(self.half.take().is_some())
    }

    fn decide(&mut self, each: &mut dyn FnMut(&[u8])) {
        let head = std::mem::take(&mut self.head);
        let (encoding, n_mark) = Encoding::of(&head);
        self.encoding = Some(encoding);
        self.n_mark = n_mark as u64;
        self.decode(&head[n_mark..], each);
    }

    /// Decodes bytes of the known encoding.
    fn decode(&mut self, bytes: &[u8], each: &mut dyn FnMut(&[u8])) {
        let Some(Encoding::Utf16 { is_big_endian }) = self.encoding else { return each(bytes) };
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        for byte in bytes {
            let Some(first) = self.half.take() else {
                self.half = Some(*byte);
                continue;
            };
            let pair = [first, *byte];
            let unit = if is_big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) };
            let first = self.surrogate.take();
            let is_second = (0xdc00..0xe000).contains(&unit);
            if let (Some(first), true) = (first, is_second) {
                let code = 0x10000 + ((u32::from(first) - 0xd800) << 10) + (u32::from(unit) - 0xdc00);
                push(char::from_u32(code), &mut text);
                continue;
            }
            if first.is_some() {
                push(None, &mut text);
            }
            if (0xd800..0xdc00).contains(&unit) {
                self.surrogate = Some(unit);
            } else {
                push(char::from_u32(u32::from(unit)), &mut text);
            }
        }
        each(&text);
        self.text = text;
    }
}

/// Adds a character, or the one for what is none.
fn push(c: Option<char>, text: &mut Vec<u8>) {
    text.extend_from_slice(c.unwrap_or('\u{fffd}').encode_utf8(&mut [0; 4]).as_bytes());
}

/// Line of a text.
pub struct TextLine<'a> {
    /// Without its end.
    pub text: &'a [u8],
    pub at: Position,
    /// Bytes in the file, without the line end.
    pub n_bytes: u64,
    pub is_too_long: bool,
}

/// What turns lines into rows. Each line is counted in the ledger, also an empty one.
pub trait TextLines {
    fn line(&mut self, line: TextLine<'_>, out: &mut TraceBuilder);
    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError>;
}

/// Longest line that is read.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// Reader of a text by lines, which end with LF.
pub struct TextReader<R> {
    decoder: Decoder,
    lines: LineSplitter,
    rows: R,
    /// Offset of the next line in the file.
    at: u64,
}

impl<R: TextLines> TextReader<R> {
    pub fn new(rows: R) -> TextReader<R> {
        let lines = LineSplitter::new(LineEnds::Lf, MAX_LINE_BYTES);
        TextReader { decoder: Decoder::default(), lines, rows, at: 0 }
    }

    fn pieces(&mut self, bytes: Option<&[u8]>, out: &mut TraceBuilder) {
        let TextReader { decoder, lines, rows, at } = self;
        let was_known = decoder.encoding.is_some();
        let mut pieces: Vec<u8> = Vec::new();
        // Nearly always the chunk itself.
        let whole = match (bytes, decoder.encoding) {
            (Some(bytes), Some(Encoding::Utf8)) => bytes,
            (Some(bytes), _) => {
                decoder.feed(bytes, &mut |piece| pieces.extend_from_slice(piece));
                &pieces
            }
            (None, _) => {
                let n_left = decoder.finish(&mut |piece| pieces.extend_from_slice(piece));
                out.trace.ledger.leave_out(n_left);
                &pieces
            }
        };
        if !was_known && decoder.encoding.is_some() {
            note_encoding(decoder, out);
            *at = decoder.n_mark;
        }
        let encoding = decoder.encoding();
        let mut each = |line: crate::base::lines::Line<'_>| {
            let n_bytes = match encoding {
                Encoding::Utf8 => line.text_bytes,
                _ if line.too_long => line.text_bytes * 2,
                _ => encoding.n_bytes(line.bytes),
            };
            let place = Position { byte: *at, line: Some(line.number) };
            let n_end = encoding.n_bytes(&b"\n"[..(line.file_bytes - line.text_bytes).min(1) as usize]);
            *at += n_bytes + n_end;
            out.trace.ledger.frame(n_end);
            rows.line(TextLine { text: line.bytes, at: place, n_bytes, is_too_long: line.too_long }, out);
        };
        lines.feed(whole, &mut each);
        if bytes.is_none() {
            lines.finish(&mut each);
        }
    }
}

/// Counts a byte order mark, and notes what is unusual about an encoding.
pub fn note_encoding(decoder: &Decoder, out: &mut TraceBuilder) {
    let start = Position { byte: 0, line: None };
    out.trace.ledger.frame(decoder.n_mark);
    match decoder.encoding() {
        Encoding::Utf8 if decoder.n_mark > 0 => out.trace.ledger.file(&BYTE_ORDER_MARK, start, b""),
        Encoding::Utf8 => {}
        Encoding::Utf16 { .. } => out.trace.ledger.file(&UTF16, start, b""),
    }
}

impl<R: TextLines> Reader for TextReader<R> {
    fn feed(&mut self, bytes: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError> {
        self.pieces(Some(bytes), out);
        Ok(())
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        self.pieces(None, out);
        self.rows.finish(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_however_it_is_cut() {
        let text = "main;größe;😃 1\nmain;b 2\n".repeat(9);
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
        for bytes in [
            text.as_bytes().to_vec(),
            marked(UTF8_MARK, text.as_bytes()),
            little.clone(),
            marked(b"\xff\xfe", &little),
            big.clone(),
            marked(b"\xfe\xff", &big),
        ] {
            assert_eq!(decoded(&bytes), text.as_bytes());
            for size in [1, 2, 3, 7, 1000] {
                let (mut decoder, mut read) = (Decoder::default(), Vec::new());
                for piece in bytes.chunks(size) {
                    decoder.feed(piece, &mut |piece| read.extend_from_slice(piece));
                }
                assert_eq!(decoder.finish(&mut |piece| read.extend_from_slice(piece)), 0);
                assert_eq!(read, text.as_bytes());
                assert_eq!(decoder.n_mark + decoder.encoding().n_bytes(&read), bytes.len() as u64);
            }
        }
        let lone = [0xd8, 0, 0xd8, 0, 0xdc, 0, 0, b'a', 7];
        let (mut decoder, mut read) = (Decoder::default(), Vec::new());
        decoder.feed(&marked(b"\xfe\xff", &lone), &mut |_| {});
        assert_eq!(decoder.finish(&mut |piece| read.extend_from_slice(piece)), 1);
        assert_eq!(String::from_utf8(read).unwrap(), "\u{fffd}\u{10000}a");
    }
}

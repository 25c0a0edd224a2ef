//! A report as a URL fragment: browsers don't send the part after `#` to servers.
//!
//! ```text
//! r1=  base64url of  [CRC-32 of all that follows: u32 LE][length of the content: u32 LE][content, packed with DEFLATE]
//! ```
//! The content is JSON (`content`). `docs/link-format.md` describes both. Version 1 is frozen, with test vectors in
//! `tests/data/link`. Another layout needs a new version number.

pub(super) mod content;
pub(super) mod json;
mod short;

pub use content::{LinkedFile, LinkedReport, LinkedSide, TableSpot};
pub use short::MAX_SHORT_FRAGMENT_BYTES;

use super::{ExporterInfo, LeftOut, TextsIn, WriteFn, always};
use crate::base::json::typed::Unreadable;
use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, Status};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::io;

/// Prefix of a fragment, after `#`.
pub const PREFIX: &str = "r1=";
/// Limit on the length of fragments, for writing and reading.
pub const MAX_FRAGMENT_BYTES: usize = 64 << 10;
/// Limit on the decompressed content in bytes.
pub const MAX_CONTENT_BYTES: usize = 1 << 20;
/// CRC and length.
const HEAD_BYTES: usize = 8;
const CRC_BYTES: usize = 4;

pub static INFO: ExporterInfo = ExporterInfo {
    id: "link",
    title: "Link with embedded report (the part after #)",
    extension: "link.txt",
    media_type: "text/plain; charset=utf-8",
    in_menu: false,
    needs: "",
    applies: always,
    write: WriteFn::AtOnce(|input, out| {
        let fragment = match input.options.link.is_short {
            true => short::encode_short(input),
            false => encode(&content::write(input)),
        };
        let fragment =
            fragment.map_err(|refusal| io::Error::new(io::ErrorKind::Unsupported, refusal.to_string()))?;
        out.write_all(fragment.as_bytes()).map(LeftOut::nothing)
    }),
    reference: None,
    converts: None,
    texts: TextsIn::Link,
    takes_part: false,
    can_redact: true,
    takes_notes: true,
};

/// Content selected for a link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LinkOptions {
    /// `id` of the selected report; `None` for the first one.
    pub report: Option<String>,
    /// Whether to include the other reports.
    pub all_reports: bool,
    /// Row limit of each table.
    pub rows: u32,
    /// Omits content until the fragment fits [`MAX_SHORT_FRAGMENT_BYTES`].
    pub is_short: bool,
    /// Sorting and filters of tables, where not default.
    pub tables: Vec<TableSpot>,
    /// SHA-256 of the source files in the order of their traces, as hexadecimal digits; empty, or `None` for a file, if
    /// unknown.
    pub sha256: Vec<Option<String>>,
    /// The source files of a comparison, which is not a run: files of both sides with known SHA-256, those of A
    /// first.
    pub files: Vec<LinkedFile>,
    /// Custom tables affected the numbers, regardless of the query.
    pub own_tables: bool,
    /// How many records the sender's program skipped or repaired, where there is no run that tells.
    pub parsed: String,
    /// Includes tables in default order and with all rows, ignoring sorting and filters.
    pub whole_tables: bool,
}

impl Default for LinkOptions {
    fn default() -> LinkOptions {
        LinkOptions {
            report: None,
            all_reports: false,
            rows: 10,
            is_short: false,
            tables: Vec::new(),
            sha256: Vec::new(),
            files: Vec::new(),
            own_tables: false,
            parsed: String::new(),
            whole_tables: false,
        }
    }
}

/// Reason why a link cannot be made or parsed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Length in bytes; see [`MAX_FRAGMENT_BYTES`].
    TooLong(usize),
    /// Unknown prefix, possibly of a later version.
    OtherVersion(String),
    /// Characters outside base64url, or too few.
    Garbled,
    /// Wrong checksum or length: part of the link is missing.
    Damaged,
    /// Claimed content size in bytes; see [`MAX_CONTENT_BYTES`].
    TooMuch(usize),
    /// Content that violates version 1; the problem.
    NoReport(Cow<'static, str>),
}

impl From<Unreadable> for Refusal {
    fn from(why: Unreadable) -> Refusal {
        // A link is one line that nobody edits, so the place in it helps nobody.
        let what = if why.is_syntax { "not valid JSON".into() } else { why.what.into() };
        Refusal::NoReport(what)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooLong(bytes) => write!(
                f,
                "the link has {bytes} characters; the limit is {MAX_FRAGMENT_BYTES}. Include fewer rows, or send a file instead"
            ),
            Refusal::OtherVersion(start) => {
                write!(f, "unknown link format '{start}'")
            }
            Refusal::Garbled => write!(f, "invalid characters in the link"),
            Refusal::Damaged => write!(f, "the link is incomplete or was changed"),
            Refusal::TooMuch(bytes) => {
                write!(f, "the link claims {bytes} bytes of content, which exceeds the limit")
            }
            Refusal::NoReport(what) => write!(f, "no valid report in the link ({what})"),
        }
    }
}

/// Content as a fragment, without `#`.
pub fn encode(content: &str) -> Result<String, Refusal> {
    if content.len() > MAX_CONTENT_BYTES {
        return Err(Refusal::TooMuch(content.len()));
    }
    let mut bytes = Vec::with_capacity(HEAD_BYTES + content.len() / 2 + 64);
    bytes.extend_from_slice(&[0; CRC_BYTES]);
    bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
    pack(content.as_bytes(), &mut bytes);
    seal(&mut bytes);
    let n_letters = PREFIX.len() + (bytes.len() * 4).div_ceil(3);
    if n_letters > MAX_FRAGMENT_BYTES {
        return Err(Refusal::TooLong(n_letters));
    }
    let mut out = PREFIX.to_string();
    push_base64url(&bytes, &mut out);
    Ok(out)
}

/// CRC-32 as in gzip and zip.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Fills in the checksum.
fn seal(bytes: &mut [u8]) {
    if let Some((crc, rest)) = bytes.split_at_mut_checked(CRC_BYTES) {
        crc.copy_from_slice(&crc32(rest).to_le_bytes());
    }
}

fn pack(content: &[u8], out: &mut Vec<u8>) {
    let mut packer = Compress::new(Compression::best(), false);
    loop {
        let at = packer.total_in() as usize;
        out.reserve(content.len().max(1024));
        match packer.compress_vec(&content[at..], out, FlushCompress::Finish) {
            Ok(Status::StreamEnd) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// Parses the report of a fragment, with or without a leading `#`.
pub fn read(fragment: &str) -> Result<LinkedReport, Refusal> {
    content::read(&decode(fragment)?)
}

/// Decodes the content of a fragment.
pub fn decode(fragment: &str) -> Result<Vec<u8>, Refusal> {
    let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
    if fragment.len() > MAX_FRAGMENT_BYTES {
        return Err(Refusal::TooLong(fragment.len()));
    }
    let Some(letters) = fragment.strip_prefix(PREFIX) else {
        let start = fragment.split_inclusive('=').next().unwrap_or_default();
        return Err(Refusal::OtherVersion(start.chars().take(8).collect()));
    };
    let bytes = from_base64url(letters).ok_or(Refusal::Garbled)?;
    let Some((head, packed)) = bytes.split_at_checked(HEAD_BYTES) else { return Err(Refusal::Damaged) };
    let word =
        |at: usize| head.iter().skip(at).take(4).rev().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
    let (crc, length) = (word(0), word(CRC_BYTES) as usize);
    if crc32(&bytes[CRC_BYTES..]) != crc {
        return Err(Refusal::Damaged);
    }
    if length > MAX_CONTENT_BYTES {
        return Err(Refusal::TooMuch(length));
    }
    let content = unpack(packed, length).ok_or(Refusal::Damaged)?;
    if content.len() == length { Ok(content) } else { Err(Refusal::Damaged) }
}

/// Decompresses at most one byte beyond `length`. `None` unless the input is one complete stream without trailing data.
fn unpack(packed: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut unpacker = Decompress::new(false);
    let mut out = Vec::with_capacity(length + 1);
    loop {
        let (before_in, before_out) = (unpacker.total_in(), unpacker.total_out());
        let status =
            unpacker.decompress_vec(&packed[before_in as usize..], &mut out, FlushDecompress::Finish).ok()?;
        if status == Status::StreamEnd {
            return (unpacker.total_in() as usize == packed.len()).then_some(out);
        }
        let is_stuck = unpacker.total_in() == before_in && unpacker.total_out() == before_out;
        if is_stuck || out.len() > length {
            return None;
        }
    }
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Base64url by RFC 4648, section 5, without padding.
fn push_base64url(bytes: &[u8], out: &mut String) {
    for chunk in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|at| u32::from(chunk.get(at).copied().unwrap_or(0)));
        let bits = a << 16 | b << 8 | c;
        for at in 0..=chunk.len() {
            out.push(char::from(LETTERS[(bits >> (18 - 6 * at) & 63) as usize]));
        }
    }
}

/// `None` for invalid characters and invalid endings. Padding is optional.
fn from_base64url(text: &str) -> Option<Vec<u8>> {
    let letters = text.trim_end_matches('=').as_bytes();
    let mut out = Vec::with_capacity(letters.len() / 4 * 3 + 3);
    for chunk in letters.chunks(4) {
        if chunk.len() == 1 {
            return None;
        }
        let mut bits = 0u32;
        for at in 0..4 {
            let value = match chunk.get(at) {
                Some(letter) => LETTERS.iter().position(|known| known == letter)? as u32,
                None => 0,
            };
            bits = bits << 6 | value;
        }
        let bytes = [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
        let (kept, rest) = bytes.split_at(chunk.len() - 1);
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        out.extend_from_slice(kept);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64url_without_padding() {
        for bytes in [&b""[..], b"f", b"fo", b"foo", b"\xfb\xff\xfe", &[0; 7]] {
            let mut text = String::new();
            push_base64url(bytes, &mut text);
            assert!(!text.contains(['+', '/', '=']), "{text}");
            assert_eq!(from_base64url(&text).as_deref(), Some(bytes), "{text}");
        }
        for bad in ["A", "A+", "AAAAA", "Zh", "é"] {
            assert_eq!(from_base64url(bad), None, "{bad}");
        }
    }

    #[test]
    fn content_comes_out_as_it_went_in_and_nothing_else_does() {
        let content = format!("{{\"x\":\"{}\"}}", "repeat ".repeat(3000));
        let fragment = encode(&content).unwrap();
        assert!(fragment.len() < 200, "{fragment}");
        assert_eq!(decode(&fragment).as_deref(), Ok(content.as_bytes()));
        assert_eq!(decode(&format!("#{fragment}")).as_deref(), Ok(content.as_bytes()));
        for cut in 0..fragment.len() {
            assert!(decode(&fragment[..cut]).is_err(), "{cut}");
        }
        for at in PREFIX.len()..fragment.len() {
            let mut changed = fragment.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert!(decode(std::str::from_utf8(&changed).unwrap()).is_err(), "{at}");
        }
        assert_eq!(decode("r2=AAAA"), Err(Refusal::OtherVersion("r2=".to_string())));
        assert_eq!(decode(&"A".repeat(70_000)), Err(Refusal::TooLong(70_000)));
    }

    #[test]
    fn what_says_too_little_or_too_much_of_itself_is_refused() {
        let made = |length: usize, content: &[u8]| {
            let mut bytes = vec![0; CRC_BYTES];
            bytes.extend_from_slice(&(length as u32).to_le_bytes());
            pack(content, &mut bytes);
            seal(&mut bytes);
            let mut text = PREFIX.to_string();
            push_base64url(&bytes, &mut text);
            text
        };
        let bomb = vec![b' '; 40 << 20];
        assert_eq!(decode(&made(bomb.len(), &bomb)), Err(Refusal::TooMuch(40 << 20)));
        assert_eq!(decode(&made(100, &bomb)), Err(Refusal::Damaged));
        assert_eq!(decode(&made(10, b"five!")), Err(Refusal::Damaged));
        assert_eq!(read(&made(5, b"five!")), Err(Refusal::NoReport("not valid JSON".into())));
    }
}

//! The first 100 bytes of a database.

use super::Error;
use std::borrow::Cow;

/// First bytes of every database.
pub const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Bytes of the header, before the B-tree page that shares page 1.
pub const HEADER_BYTES: usize = 100;

/// Least bytes of a page without its reserved ones.
const MIN_USABLE: u32 = 480;

/// Encoding of all texts of a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

impl Encoding {
    /// A text as UTF-8. What is invalid becomes U+FFFD, except in UTF-8, which is passed on as it is.
    pub fn to_utf8(self, text: &[u8]) -> Cow<'_, [u8]> {
        let unit = match self {
            Encoding::Utf8 => return Cow::Borrowed(text),
            Encoding::Utf16Le => u16::from_le_bytes,
            Encoding::Utf16Be => u16::from_be_bytes,
        };
        let (pairs, rest) = text.as_chunks::<2>();
        let units = pairs.iter().map(|pair| unit(*pair));
        let mut out: String =
            char::decode_utf16(units).map(|result| result.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        if !rest.is_empty() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
        Cow::Owned(out.into_bytes())
    }
}

/// Header of a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Bytes of a page: a power of two from 512 to 65,536.
    pub page_bytes: u32,
    /// Bytes of a page that the format uses; the rest is reserved for extensions.
    pub usable_bytes: u32,
    pub encoding: Encoding,
    /// The file was written in WAL mode, so a file ending in `-wal` next to it may hold newer rows.
    pub is_wal: bool,
    /// Number of pages, if the header states it.
    pub n_pages: Option<u32>,
}

impl Header {
    /// Reads the header from the start of a file.
    pub fn parse(head: &[u8]) -> Result<Header, Error> {
        let head = head.first_chunk::<HEADER_BYTES>().ok_or(Error::Damaged("shorter than its header"))?;
        if !head.starts_with(MAGIC) {
            return Err(Error::Damaged("header"));
        }
        let short = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let long = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let page_bytes = match short(16) {
            1 => 65_536,
            n if n.is_power_of_two() && n >= 512 => u32::from(n),
            _ => return Err(Error::Damaged("page size")),
        };
        let usable_bytes = page_bytes - u32::from(head[20]);
        if usable_bytes < MIN_USABLE {
            return Err(Error::Damaged("reserved bytes"));
        }
        if head[19] > 2 {
            return Err(Error::Unsupported("a newer version of the file format"));
        }
        let encoding = match long(56) {
            // A database without tables.
            0 | 1 => Encoding::Utf8,
            2 => Encoding::Utf16Le,
            3 => Encoding::Utf16Be,
            _ => return Err(Error::Damaged("text encoding")),
        };
        let n_pages = Some(long(28)).filter(|n| *n > 0 && long(24) == long(92));
        Ok(Header { page_bytes, usable_bytes, encoding, is_wal: head[18] == 2 || head[19] == 2, n_pages })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_utf8() {
        assert_eq!(Encoding::Utf16Le.to_utf8(b"a\0\xe9\0"), "aé".as_bytes());
        assert_eq!(Encoding::Utf16Be.to_utf8(b"\xd8\x3d\xde\x00"), "😀".as_bytes());
        // A lone surrogate, and half a unit.
        assert_eq!(Encoding::Utf16Le.to_utf8(b"\x3d\xd8a\0b"), "\u{fffd}a\u{fffd}".as_bytes());
        assert_eq!(Encoding::Utf8.to_utf8(b"\xff"), b"\xff".as_slice());
    }

    #[test]
    fn headers_are_checked() {
        let mut head = [0; HEADER_BYTES];
        head[..16].copy_from_slice(MAGIC);
        head[17] = 1;
        assert_eq!(Header::parse(&head).map(|header| header.page_bytes), Ok(65_536));
        head[20] = 255;
        assert_eq!(Header::parse(&head).map(|header| header.usable_bytes), Ok(65_281));
        (head[16], head[17]) = (2, 0);
        assert_eq!(Header::parse(&head), Err(Error::Damaged("reserved bytes")));
        head[17] = 1;
        assert_eq!(Header::parse(&head), Err(Error::Damaged("page size")));
        assert!(Header::parse(&head[..99]).is_err() && Header::parse(&[0; 100]).is_err());
    }
}

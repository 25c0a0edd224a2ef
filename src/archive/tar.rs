//! Tar archives without compression: which files are in one and where their bytes lie, and new ones around files.
//!
//! Layout (POSIX ustar): for each file a header of 512 bytes, then its bytes, padded to 512; two empty blocks at the end. Only
//! headers are read. Long names are those of GNU (type `L`) and of pax (`path` in type `x`).

use crate::trace::args::Content;
use std::ops::Range;

/// Headers and padding are multiples of this.
const BLOCK_BYTES: u64 = 512;

/// Most files that are listed.
const MAX_FILES: usize = 20_000;
/// Longest extended header that is read.
const MAX_EXTENDED_BYTES: u64 = 64 << 10;

/// A file in a tar archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TarEntry {
    /// With `/` between folders.
    pub path: String,
    /// Where its bytes are in the archive.
    pub range: Range<u64>,
}

/// Files of a tar archive.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct TarList {
    /// In order of the archive.
    pub files: Vec<TarEntry>,
    /// The archive ends inside a file or is damaged there; files after it are not listed.
    pub is_cut: bool,
}

/// Whether content that starts with `head` is a tar archive.
pub fn is_tar(head: &[u8]) -> bool {
    head.get(257..).is_some_and(|rest| rest.starts_with(b"ustar"))
}

/// Files of the archive in `content`. Reads a header per file.
pub fn list_tar(content: &(impl Content + ?Sized)) -> TarList {
    let mut list = TarList::default();
    let n_bytes = content.n_bytes();
    let mut at = 0u64;
    // Name in an extended header, for the next file.
    let mut long_name: Option<String> = None;
    loop {
        let mut block = [0; BLOCK_BYTES as usize];
        if content.read_at(at, &mut block).is_err() {
            // Some programs leave out the empty blocks at the end.
            list.is_cut = at != n_bytes;
            return list;
        }
        if block.iter().all(|byte| *byte == 0) {
            return list;
        }
        let Some(header) = Header::parse(&block) else {
            list.is_cut = true;
            return list;
        };
        let start = at + BLOCK_BYTES;
        let Some(end) = start.checked_add(header.n_bytes).filter(|end| *end <= n_bytes) else {
            list.is_cut = true;
            return list;
        };
        match header.kind {
            b'L' | b'x' if header.n_bytes <= MAX_EXTENDED_BYTES => {
                let mut text = vec![0; header.n_bytes as usize];
                if content.read_at(start, &mut text).is_err() {
                    list.is_cut = true;
                    return list;
                }
                long_name = if header.kind == b'L' { Some(text_of(&text)) } else { path_of_pax(&text) };
            }
            b'0' | 0 => {
                if list.files.len() == MAX_FILES {
                    list.is_cut = true;
                    return list;
                }
                let path = long_name.take().unwrap_or(header.path);
                list.files.push(TarEntry { path, range: start..end });
            }
            // Folders, links and others.
            _ => long_name = None,
        }
        let Some(next) = end.checked_next_multiple_of(BLOCK_BYTES) else { return list };
        at = next;
    }
}

/// A piece of a new archive.
pub enum Piece<T> {
    Bytes(Vec<u8>),
    /// All bytes of a file.
    File(T),
}

/// Pieces of an archive of files: path, size and content of each. Nothing is read or copied.
pub fn tar_of<T>(files: impl IntoIterator<Item = (String, u64, T)>) -> Vec<Piece<T>> {
    let mut pieces = Vec::new();
    let mut padding = Vec::new();
    for (path, n_bytes, file) in files {
        let mut between = std::mem::take(&mut padding);
        between.extend(header_of(&path, n_bytes));
        pieces.push(Piece::Bytes(between));
        pieces.push(Piece::File(file));
        padding.resize((n_bytes.next_multiple_of(BLOCK_BYTES) - n_bytes) as usize, 0);
    }
    padding.resize(padding.len() + 2 * BLOCK_BYTES as usize, 0);
    pieces.push(Piece::Bytes(padding));
    pieces
}

/// Header of a file. Paths over 100 bytes are cut in front.
fn header_of(path: &str, n_bytes: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK_BYTES as usize];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    let path = path.as_bytes();
    put(0, &path[path.len().saturating_sub(100)..]);
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    match n_bytes < 1 << 33 {
        true => put(124, format!("{n_bytes:011o}").as_bytes()),
        // GNU: a number in base 256, marked by its first bit.
        false => {
            put(124, &[0x80]);
            put(128, &n_bytes.to_be_bytes());
        }
    }
    put(136, b"00000000000");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum = checksum(&block);
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

struct Header {
    path: String,
    n_bytes: u64,
    kind: u8,
}

impl Header {
    /// `None` if the checksum is wrong.
    fn parse(block: &[u8]) -> Option<Header> {
        if octal(block.get(148..156)?)? != checksum(block) {
            return None;
        }
        let size = block.get(124..136)?;
        let n_bytes = match size.first()? & 0x80 {
            0 => octal(size)?,
            _ => u64::from_be_bytes(*size.get(4..)?.first_chunk()?),
        };
        let (name, prefix) = (text_of(block.get(..100)?), text_of(block.get(345..500)?));
        let is_posix = block.get(257..263)? == b"ustar\0";
        let path = if is_posix && !prefix.is_empty() { format!("{prefix}/{name}") } else { name };
        Some(Header { path, n_bytes, kind: *block.get(156)? })
    }
}

/// Sum of all bytes of a header, with blanks in place of the checksum.
fn checksum(block: &[u8]) -> u64 {
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    let own: u64 = block[148..156].iter().map(|byte| u64::from(*byte)).sum();
    sum - own + 8 * u64::from(b' ')
}

fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.trim_ascii_start();
    let end = digits.iter().position(|byte| matches!(byte, 0 | b' ')).unwrap_or(digits.len());
    u64::from_str_radix(std::str::from_utf8(&digits[..end]).ok()?, 8).ok()
}

fn text_of(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// `path` among the records `LENGTH KEY=VALUE\n` of pax.
fn path_of_pax(text: &[u8]) -> Option<String> {
    let mut rest = text;
    while let Some(blank) = rest.iter().position(|byte| *byte == b' ') {
        let length = std::str::from_utf8(&rest[..blank]).ok()?.parse::<usize>().ok()?;
        let record = rest.get(blank + 1..length)?;
        if let Some(path) = record.strip_prefix(b"path=") {
            return Some(text_of(path.strip_suffix(b"\n").unwrap_or(path)));
        }
        rest = &rest[length..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let files = files.iter().map(|(path, content)| (path.to_string(), content.len() as u64, *content));
        let mut bytes = Vec::new();
        for piece in tar_of(files) {
            match piece {
                Piece::Bytes(own) => bytes.extend(own),
                Piece::File(content) => bytes.extend_from_slice(content),
            }
        }
        bytes
    }

    #[test]
    fn files_are_listed_as_they_were_written() {
        let files: [(&str, &[u8]); 3] = [("a/é.parquet", b"PAR1"), ("b", &[7; 512]), ("c", b"")];
        let bytes = archive(&files);
        assert!(is_tar(&bytes) && bytes.len().is_multiple_of(512));
        let list = list_tar(&bytes);
        assert!(!list.is_cut);
        for (entry, (path, content)) in list.files.iter().zip(files) {
            let range = entry.range.start as usize..entry.range.end as usize;
            assert_eq!((entry.path.as_str(), &bytes[range]), (path, content));
        }
        assert_eq!(list.files.len(), files.len());
    }

    #[test]
    fn cut_and_damaged_archives_keep_what_comes_before() {
        let bytes = archive(&[("a", &[1; 600]), ("b", &[2; 600])]);
        for end in 0..bytes.len() {
            let list = list_tar(&bytes[..end].to_vec());
            assert_eq!(list.files.len(), usize::from(end >= 1112) + usize::from(end >= 2648), "{end}");
        }
        let mut damaged = bytes;
        damaged[1536 + 3] = b'x';
        let list = list_tar(&damaged);
        assert_eq!((list.files.len(), list.is_cut), (1, true));
    }

    #[test]
    fn long_names_and_large_sizes_are_read() {
        let long = format!("{}/StringIds.parquet", "folder".repeat(30));
        let pax = format!("path={long}\n");
        let record = format!("{} {pax}", pax.len() + 4);
        for (kind, text) in [(b'L', format!("{long}\0")), (b'x', record)] {
            let mut bytes = header_of("@", text.len() as u64);
            bytes[156] = kind;
            let sum = checksum(&bytes);
            bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            bytes.extend_from_slice(text.as_bytes());
            bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES as usize), 0);
            bytes.extend(archive(&[("cut", b"x")]));
            assert_eq!(list_tar(&bytes).files[0].path, long, "{}", char::from(kind));
        }
        let header = header_of("big", 1 << 40);
        assert_eq!(Header::parse(&header).map(|header| header.n_bytes), Some(1 << 40));
    }
}

//! The central directory of an archive.

use crate::base::sort;
use crate::trace::args::Content;
use rawzip::{CompressionMethod, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ReaderAt, ZipArchive, ZipLocator};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

/// More files of an archive are not looked at.
const MAX_FILES: usize = 4096;

/// What is in an archive.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Archive {
    /// In order of their paths, each path once.
    pub files: Vec<Entry>,
    /// Files that cannot be had.
    pub left_out: Vec<LeftOut>,
    /// There are more files than are looked at.
    pub is_cut: bool,
}

/// A file in an archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Names with `/` between them; none of them leads out of the archive.
    pub path: String,
    /// Bytes of the file, as the archive says.
    pub n_bytes: u64,
    pub packing: Packing,
    /// CRC-32 of the file.
    pub crc: u32,
    /// Where its bytes lie in the archive, packed or not.
    pub range: Range<u64>,
}

/// How a file lies in an archive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    Stored,
    Deflated,
}

/// A file that cannot be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftOut {
    pub path: String,
    /// A sentence fragment.
    pub why: String,
}

/// The content as the library reads it.
struct At<'a>(&'a dyn Content);

impl ReaderAt for At<'_> {
    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<usize> {
        let n = self.0.n_bytes().saturating_sub(offset).min(out.len() as u64) as usize;
        self.0.read_at(offset, &mut out[..n])?;
        Ok(n)
    }
}

/// Reads the central directory at the end. A sentence fragment if there is none.
pub fn list(content: &dyn Content) -> Result<Archive, String> {
    let damaged = |error: rawzip::Error| format!("the file list of the archive is damaged ({error})");
    let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let archive = ZipLocator::new()
        .locate_in_reader(At(content), &mut buffer, content.n_bytes())
        .map_err(|_| "the archive has no file list at its end; it may be incomplete, so copy it again")?;
    let mut found = Archive::default();
    let mut files: BTreeMap<String, Entry> = BTreeMap::new();
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().map_err(damaged)? {
        if entry.is_dir() {
            continue;
        }
        if files.len() + found.left_out.len() == MAX_FILES {
            found.is_cut = true;
            break;
        }
        let path = harmless(entry.file_path().as_bytes());
        let (flags, method) = (entry.flags(), entry.compression_method());
        let packing = match method {
            CompressionMethod::STORE => Some(Packing::Stored),
            CompressionMethod::DEFLATE => Some(Packing::Deflated),
            _ => None,
        };
        let why = if flags.is_encrypted() || method == CompressionMethod::AES {
            Some("it is encrypted".to_string())
        } else if packing.is_none() {
            Some(format!("its compression method ({method:?}) is not supported"))
        } else {
            None
        };
        let (Some(packing), None) = (packing, &why) else {
            found.left_out.push(LeftOut { path, why: why.unwrap_or_default() });
            continue;
        };
        match place(&archive, entry.wayfinder(), content.n_bytes()) {
            Some(range) => {
                let (n_bytes, crc) = (entry.uncompressed_size_hint(), entry.crc32());
                // The last one of a name is the one that counts.
                files.insert(path.clone(), Entry { path, n_bytes, packing, crc, range });
            }
            None => {
                found.left_out.push(LeftOut { path, why: "its entry in the archive is damaged".to_string() })
            }
        }
    }
    found.files = files.into_values().collect();
    leave_out_overlaps(&mut found);
    Ok(found)
}

/// Where the bytes of a file lie; `None` if that is nowhere in the archive.
fn place(
    archive: &ZipArchive<At<'_>>,
    way: rawzip::ZipArchiveEntryWayfinder,
    n_bytes: u64,
) -> Option<Range<u64>> {
    let (start, end) = archive.get_entry(way).ok()?.compressed_data_range();
    (start <= end && end <= n_bytes).then_some(start..end)
}

/// Files that share bytes are made up to unpack to more than any archive of that size could hold.
fn leave_out_overlaps(found: &mut Archive) {
    let mut order: Vec<usize> = (0..found.files.len()).collect();
    sort::by_key(&mut order, |at| (found.files[*at].range.start, *at));
    let mut end = 0;
    let mut lies_over = vec![false; found.files.len()];
    for at in order {
        let range = &found.files[at].range;
        lies_over[at] = range.start < end && !range.is_empty();
        end = end.max(range.end);
    }
    let mut at = 0;
    let left_out = &mut found.left_out;
    found.files.retain(|file| {
        at += 1;
        if lies_over[at - 1] {
            left_out.push(LeftOut {
                path: file.path.clone(),
                why: "it overlaps another file in the archive".to_string(),
            });
        }
        !lies_over[at - 1]
    });
}

/// A path without steps that lead up, or to a root.
fn harmless(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    let names = text.split(['/', '\\']).filter(|name| !matches!(*name, "" | "." | ".."));
    names.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_nowhere_else() {
        for (path, harmless_path) in [
            ("../../etc/x.json", "etc/x.json"),
            ("/abs/./dir//x", "abs/dir/x"),
            ("C:\\a\\..\\x", "C:/a/x"),
            ("..", ""),
        ] {
            assert_eq!(harmless(path.as_bytes()), harmless_path);
        }
    }
}

//! Sections of an index: named byte ranges with checksums, listed at the end of the file.
//!
//! ```text
//! [magic: 8][section]…[list of sections: postcard][tail: 56 bytes]
//! tail: [SHA-256 of the trace file, or zeros: 32][length of the list: u64][checksum of the list: u64][magic: 8]
//! ```
//! The list comes last, so an index can be written as it is made, and a truncated file is not an index.

use super::tables::{Damaged, Fill, Put};
use crate::base::bytepack::{self, Cell};
use crate::base::strings::StringTable;
use crate::trace::args::packed::{Groups, PackedObjects};
use crate::trace::args::{ArgsPlace, ArgsTable, Content};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use twox_hash::XxHash64;

/// Magic bytes at both ends of an index. No text starts like this.
pub const MAGIC: [u8; 8] = *b"\x89TDX\r\n\x1a\n";
/// Bytes after the section list.
pub const TAIL_BYTES: usize = 56;
/// Bytes of the SHA-256 in the tail.
pub const DIGEST_BYTES: usize = 32;
/// Texts are compressed in pieces of this size.
const PIECE_BYTES: usize = 4 << 20;

/// Place of a section.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Section {
    pub name: String,
    pub offset: u64,
    pub len: u64,
    pub hash: u64,
}

/// Checksum against damage, not tampering.
pub fn hash(bytes: &[u8]) -> u64 {
    XxHash64::oneshot(0, bytes)
}

/// Writes one section among those that [`super::tables::put`] visits.
pub struct Nth<'a> {
    pub want: usize,
    at: usize,
    pub name: Option<String>,
    out: &'a mut Vec<u8>,
}

impl<'a> Nth<'a> {
    /// Writes the bytes of section `want` to `out`.
    pub fn new(want: usize, out: &'a mut Vec<u8>) -> Nth<'a> {
        Nth { want, at: 0, name: None, out }
    }

    fn section(&mut self, name: impl FnOnce() -> String, write: impl FnOnce(&mut Vec<u8>)) {
        if self.at == self.want {
            self.name = Some(name());
            write(self.out);
        }
        self.at += 1;
    }

    /// Texts in order: their lengths, then compressed pieces.
    fn texts<'t>(
        &mut self,
        name: &str,
        n_bytes: usize,
        texts: impl Fn() -> Box<dyn Iterator<Item = &'t [u8]> + 't>,
    ) {
        self.section(
            || format!("{name}.len"),
            |out| bytepack::write(&texts().map(|text| text.len() as u64).collect::<Vec<u64>>(), out),
        );
        for piece in 0..n_bytes.div_ceil(PIECE_BYTES) {
            self.section(
                || format!("{name}.text.{piece}"),
                |out| {
                    let (start, end) = (piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES);
                    let mut raw = Vec::with_capacity(PIECE_BYTES);
                    let mut at = 0;
                    for text in texts() {
                        let from = start.clamp(at, at + text.len()) - at;
                        let to = end.clamp(at, at + text.len()) - at;
                        raw.extend_from_slice(&text[from..to]);
                        at += text.len();
                    }
                    out.extend_from_slice(&lz4_flex::compress_prepend_size(&raw));
                },
            );
        }
    }
}

impl Put for Nth<'_> {
    fn column<T: Cell>(&mut self, name: &str, rows: &[T]) -> Result<(), Damaged> {
        self.section(|| name.to_string(), |out| bytepack::write(rows, out));
        Ok(())
    }

    fn value<T: Serialize>(&mut self, name: &str, value: &T) -> Result<(), Damaged> {
        // Writing plain data to memory cannot fail.
        self.section(|| name.to_string(), |out| out.extend(postcard::to_allocvec(value).unwrap_or_default()));
        Ok(())
    }

    fn strings(&mut self, name: &str, strings: &StringTable) -> Result<(), Damaged> {
        self.texts(name, strings.n_bytes(), || Box::new(strings.all().map(str::as_bytes)));
        Ok(())
    }

    fn args(&mut self, name: &str, args: &ArgsTable) -> Result<(), Damaged> {
        let args = args.outgoing();
        let packed = args.packed();
        let [shapes, texts] = packed.dictionaries();
        self.strings(&format!("{name}.shapes"), shapes)?;
        self.strings(&format!("{name}.texts"), texts)?;
        let Groups { offset, block, start } = packed.groups();
        self.column(&format!("{name}.group_offset"), offset)?;
        self.column(&format!("{name}.group_block"), block)?;
        self.column(&format!("{name}.group_start"), start)?;
        self.texts(&format!("{name}.blocks"), packed.n_bytes(), || Box::new(packed.blocks()));
        self.section(
            || format!("{name}.place"),
            |out| {
                let places =
                    args.all_loose().map(|(offset, raw)| ArgsPlace { offset, len: raw.len() as u32 });
                bytepack::write(&places.collect::<Vec<ArgsPlace>>(), out);
            },
        );
        self.texts(name, args.n_loose_bytes(), || Box::new(args.all_loose().map(|(_, raw)| raw)));
        Ok(())
    }
}

/// Writes sections, then their list.
pub struct SectionWriter<W: Write> {
    out: W,
    at: u64,
    sections: Vec<Section>,
}

impl<W: Write> SectionWriter<W> {
    pub fn new(mut out: W) -> io::Result<SectionWriter<W>> {
        out.write_all(&MAGIC)?;
        Ok(SectionWriter { out, at: MAGIC.len() as u64, sections: Vec::new() })
    }

    pub fn write(&mut self, name: String, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        let len = bytes.len() as u64;
        self.sections.push(Section { name, offset: self.at, len, hash: hash(bytes) });
        self.at += len;
        Ok(())
    }

    /// Ends the index. Returns its size in bytes.
    pub fn finish(mut self, digest: Option<[u8; DIGEST_BYTES]>) -> io::Result<u64> {
        let list = postcard::to_allocvec(&self.sections).map_err(io::Error::other)?;
        self.out.write_all(&list)?;
        self.out.write_all(&digest.unwrap_or_default())?;
        self.out.write_all(&(list.len() as u64).to_le_bytes())?;
        self.out.write_all(&hash(&list).to_le_bytes())?;
        self.out.write_all(&MAGIC)?;
        self.out.flush()?;
        Ok(self.at + list.len() as u64 + TAIL_BYTES as u64)
    }
}

/// Reads sections by name.
pub struct SectionReader<'a> {
    pub content: &'a dyn Content,
    pub sections: &'a [Section],
    /// End of the content, which is read first.
    pub end: &'a [u8],
    /// The content could not be read.
    pub is_gone: std::cell::Cell<bool>,
}

impl SectionReader<'_> {
    /// Bytes of a section.
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, Damaged> {
        let section = self.sections.iter().find(|section| section.name == name).ok_or(Damaged)?;
        let n_bytes = self.content.n_bytes();
        if section.offset.checked_add(section.len).is_none_or(|end| end > n_bytes) {
            return Err(Damaged);
        }
        let mut bytes = vec![0; usize::try_from(section.len).map_err(|_| Damaged)?];
        let end_at = n_bytes - self.end.len() as u64;
        match section.offset.checked_sub(end_at) {
            Some(at) => bytes.copy_from_slice(&self.end[at as usize..][..section.len as usize]),
            None => self.content.read_at(section.offset, &mut bytes).map_err(|_| {
                self.is_gone.set(true);
                Damaged
            })?,
        }
        if hash(&bytes) == section.hash { Ok(bytes) } else { Err(Damaged) }
    }

    /// Emits the texts written by [`Nth::texts`].
    fn texts(
        &self,
        name: &str,
        mut take: impl FnMut(usize, &[u8]) -> Result<(), Damaged>,
    ) -> Result<(), Damaged> {
        let lens: Vec<u64> = bytepack::read(&self.bytes(&format!("{name}.len"))?).ok_or(Damaged)?;
        let (mut raw, mut at, mut piece) = (Vec::new(), 0, 0);
        for (i, len) in lens.into_iter().enumerate() {
            let len = usize::try_from(len).map_err(|_| Damaged)?;
            while raw.len() - at < len {
                raw.drain(..at);
                at = 0;
                let packed = self.bytes(&format!("{name}.text.{piece}"))?;
                let (size, packed) = lz4_flex::block::uncompressed_size(&packed).map_err(|_| Damaged)?;
                if size > PIECE_BYTES {
                    return Err(Damaged);
                }
                raw.extend(lz4_flex::decompress(packed, size).map_err(|_| Damaged)?);
                piece += 1;
            }
            take(i, &raw[at..at + len])?;
            at += len;
        }
        Ok(())
    }
}

impl Fill for SectionReader<'_> {
    fn column<T: Cell>(&mut self, name: &str, rows: &mut Vec<T>) -> Result<(), Damaged> {
        *rows = bytepack::read(&self.bytes(name)?).ok_or(Damaged)?;
        Ok(())
    }

    fn value<T: DeserializeOwned>(&mut self, name: &str, value: &mut T) -> Result<(), Damaged> {
        *value = postcard::from_bytes(&self.bytes(name)?).map_err(|_| Damaged)?;
        Ok(())
    }

    fn strings(&mut self, name: &str, strings: &mut StringTable) -> Result<(), Damaged> {
        self.texts(name, |i, text| {
            let id = strings.intern(std::str::from_utf8(text).map_err(|_| Damaged)?);
            // No duplicates, and the empty text comes first.
            if id.0 as usize == i { Ok(()) } else { Err(Damaged) }
        })
    }

    fn args(&mut self, name: &str, args: &mut ArgsTable) -> Result<(), Damaged> {
        let mut dictionaries = [StringTable::default(), StringTable::default()];
        self.strings(&format!("{name}.shapes"), &mut dictionaries[0])?;
        self.strings(&format!("{name}.texts"), &mut dictionaries[1])?;
        let mut groups = Groups::default();
        self.column(&format!("{name}.group_offset"), &mut groups.offset)?;
        self.column(&format!("{name}.group_block"), &mut groups.block)?;
        self.column(&format!("{name}.group_start"), &mut groups.start)?;
        let mut blocks = Vec::new();
        self.texts(&format!("{name}.blocks"), |_, block| {
            blocks.push(block.to_vec());
            Ok(())
        })?;
        args.set_packed(PackedObjects::of(dictionaries, groups, blocks).ok_or(Damaged)?);
        let places: Vec<ArgsPlace> = bytepack::read(&self.bytes(&format!("{name}.place"))?).ok_or(Damaged)?;
        if !places.is_sorted_by(|a, b| a.offset < b.offset) {
            return Err(Damaged);
        }
        self.texts(name, |i, raw| {
            args.keep_loose(places.get(i).ok_or(Damaged)?.offset, raw);
            Ok(())
        })
    }
}

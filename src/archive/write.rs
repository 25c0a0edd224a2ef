//! New archives.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use std::io::{self, Write};

/// How hard a new file is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// It lies in the archive as it is: what is packed already, or read where it lies.
    None,
    /// For files of many megabytes.
    Fast,
    Usual,
}

impl Effort {
    /// Tables are packed already and lie in an archive as they are, so that they can be read where they lie.
    pub fn of_file(path: &str) -> Effort {
        if path.ends_with(".parquet") { Effort::None } else { Effort::Usual }
    }
}

/// An archive that is written file by file.
pub struct ArchiveWriter<W> {
    archive: ZipArchiveWriter<W>,
    now_ms: u64,
}

impl<W: Write> ArchiveWriter<W> {
    /// `now_ms` is in milliseconds since the Unix epoch.
    pub fn new(out: W, now_ms: u64) -> ArchiveWriter<W> {
        ArchiveWriter { archive: ZipArchiveWriter::new(out), now_ms }
    }

    /// Adds a file whose bytes `write` writes.
    pub fn add(
        &mut self,
        path: &str,
        effort: Effort,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let method =
            if effort == Effort::None { CompressionMethod::STORE } else { CompressionMethod::DEFLATE };
        let (mut entry, config) = self
            .archive
            .new_file(path)
            .compression_method(method)
            .last_modified(UtcDateTime::from_unix((self.now_ms / 1000) as i64))
            .unix_permissions(0o644)
            .start()
            .map_err(io::Error::other)?;
        let descriptor = if effort == Effort::None {
            let mut writer = config.wrap(&mut entry);
            write(&mut writer)?;
            writer.finish().map_err(io::Error::other)?.1
        } else {
            let level = if effort == Effort::Fast { Compression::fast() } else { Compression::default() };
            let mut writer = config.wrap(DeflateEncoder::new(&mut entry, level));
            write(&mut writer)?;
            let (encoder, descriptor) = writer.finish().map_err(io::Error::other)?;
            encoder.finish()?;
            descriptor
        };
        entry.finish(descriptor).map_err(io::Error::other)?;
        Ok(())
    }

    /// Writes the central directory.
    pub fn finish(self) -> io::Result<W> {
        self.archive.finish().map_err(io::Error::other)
    }
}

/// Writes a new archive with `files`, each with its path. `now_ms` is in milliseconds since the Unix epoch.
pub fn write<'a, W: Write>(
    files: impl IntoIterator<Item = (String, &'a [u8])>,
    now_ms: u64,
    out: W,
) -> io::Result<W> {
    let mut archive = ArchiveWriter::new(out, now_ms);
    for (path, bytes) in files {
        archive.add(&path, Effort::of_file(&path), |out| out.write_all(bytes))?;
    }
    archive.finish()
}

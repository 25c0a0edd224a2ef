//! New archives.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use std::io::{self, Write};

/// Writes a new archive with `files`, each with its path. Tables are packed already and lie in it as they are, so that they can be
/// read where they lie. `now_ms` is in milliseconds since the Unix epoch.
pub fn write<'a, W: Write>(
    files: impl IntoIterator<Item = (String, &'a [u8])>,
    now_ms: u64,
    out: W,
) -> io::Result<W> {
    let mut archive = ZipArchiveWriter::new(out);
    for (path, bytes) in files {
        let is_packed = path.ends_with(".parquet");
        let method = if is_packed { CompressionMethod::STORE } else { CompressionMethod::DEFLATE };
        let (mut entry, config) = archive
            .new_file(path)
            .compression_method(method)
            .last_modified(UtcDateTime::from_unix((now_ms / 1000) as i64))
            .unix_permissions(0o644)
            .start()
            .map_err(io::Error::other)?;
        let descriptor = if is_packed {
            let mut writer = config.wrap(&mut entry);
            writer.write_all(bytes)?;
            writer.finish().map_err(io::Error::other)?.1
        } else {
            let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
            writer.write_all(bytes)?;
            let (encoder, descriptor) = writer.finish().map_err(io::Error::other)?;
            encoder.finish()?;
            descriptor
        };
        entry.finish(descriptor).map_err(io::Error::other)?;
    }
    archive.finish().map_err(io::Error::other)
}

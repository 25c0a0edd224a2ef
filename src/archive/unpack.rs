//! The bytes of a file in an archive.

use super::{Entry, Packing};
use crate::trace::args::Content;
use flate2::{Decompress, FlushDecompress, Status};

/// What is read, and unpacked, at a time.
const PIECE_BYTES: usize = 256 << 10;

/// Bytes in front of a file that [`gzip_ends`] makes.
pub const GZIP_HEAD_BYTES: usize = 10;

/// Gives the bytes of a file piece by piece. A sentence fragment if they are not what the archive says of them; it is stopped
/// as soon as they are more.
pub fn unpack(
    content: &dyn Content,
    entry: &Entry,
    out: &mut dyn FnMut(&[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let mut inflate = Decompress::new(false);
    let mut piece = vec![0; PIECE_BYTES];
    let mut unpacked = vec![0; PIECE_BYTES];
    let mut crc = flate2::Crc::new();
    let mut n_out = 0u64;
    let mut take = |bytes: &[u8]| {
        n_out += bytes.len() as u64;
        if n_out > entry.n_bytes {
            return Err("it is larger than the archive says".to_string());
        }
        crc.update(bytes);
        out(bytes)
    };
    let (mut at, mut is_over) = (entry.range.start, false);
    while at < entry.range.end && !is_over {
        let n = (entry.range.end - at).min(PIECE_BYTES as u64) as usize;
        content.read_at(at, &mut piece[..n]).map_err(|error| error.to_string())?;
        at += n as u64;
        if entry.packing == Packing::Stored {
            take(&piece[..n])?;
            continue;
        }
        let mut rest = &piece[..n];
        loop {
            let (n_in_before, n_out_before) = (inflate.total_in(), inflate.total_out());
            let status = inflate
                .decompress(rest, &mut unpacked, FlushDecompress::None)
                .map_err(|_| "its compressed data is damaged")?;
            let n_in = (inflate.total_in() - n_in_before) as usize;
            let n_new = (inflate.total_out() - n_out_before) as usize;
            rest = &rest[n_in..];
            take(&unpacked[..n_new])?;
            is_over = status == Status::StreamEnd;
            if is_over || (n_in == 0 && n_new == 0) {
                break;
            }
        }
    }
    if n_out != entry.n_bytes || crc.sum() != entry.crc {
        return Err("its checksum doesn't match".to_string());
    }
    Ok(())
}

/// What stands before and behind the packed bytes of a file when they are a gzip file. `None` if it is not packed.
pub fn gzip_ends(entry: &Entry) -> Option<([u8; GZIP_HEAD_BYTES], [u8; 8])> {
    let mut tail = [0; 8];
    tail[..4].copy_from_slice(&entry.crc.to_le_bytes());
    // The length counts modulo 2^32 there.
    tail[4..].copy_from_slice(&(entry.n_bytes as u32).to_le_bytes());
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    (entry.packing == Packing::Deflated).then_some((head, tail))
}

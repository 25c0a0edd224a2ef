//! Compression of pages.

use super::Error;
use crate::base::zstd;
use std::io::Read;

const DAMAGED: Error = Error::Damaged("compressed page");

/// Codec id of zstd in the footer.
pub const ZSTD: i32 = 6;

/// Maximum compression ratio accepted.
const MAX_RATIO: u64 = 1 << 15;
/// Maximum ratio for Snappy (three bytes become at most 64; for LZ4 one becomes 255), since memory for these is allocated in
/// advance.
const MAX_RATIO_SNAPPY: u64 = 32;
const MAX_RATIO_LZ4: u64 = 256;

/// Page decompressor that reuses memory.
#[derive(Default)]
pub struct Unpacker {
    zstd: zstd::Decoder,
    snappy: snap::raw::Decoder,
}

impl Unpacker {
    /// Decompresses `packed` to `n_bytes` bytes with the codec of that id (`CompressionCodec`).
    pub fn unpack(
        &mut self,
        codec: i64,
        packed: &[u8],
        n_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let max_ratio = match codec {
            1 => MAX_RATIO_SNAPPY,
            5 | 7 => MAX_RATIO_LZ4,
            _ => MAX_RATIO,
        };
        if n_bytes as u64 > max_ratio * packed.len() as u64 + 64 {
            return Err(DAMAGED);
        }
        if codec == i64::from(ZSTD) {
            // Old content is overwritten without zeroing.
            return self.zstd.unpack(packed, n_bytes, out).map_err(|_| DAMAGED);
        }
        out.clear();
        match codec {
            0 => out.extend_from_slice(packed),
            1 => {
                // The length comes first; it must agree with the footer.
                if snap::raw::decompress_len(packed).ok() != Some(n_bytes) {
                    return Err(DAMAGED);
                }
                out.resize(n_bytes, 0);
                self.snappy.decompress(packed, out).map_err(|_| DAMAGED)?;
            }
            2 => read_up_to(flate2::bufread::MultiGzDecoder::new(packed), n_bytes, out)?,
            4 => read_up_to(brotli_decompressor::Decompressor::new(packed, 1 << 14), n_bytes, out)?,
            5 => hadoop_lz4(packed, n_bytes, out)?,
            7 => lz4(packed, n_bytes, out)?,
            3 => return Err(Error::Unsupported("LZO".to_string())),
            other => return Err(Error::Unsupported(format!("compression {other}"))),
        }
        if out.len() == n_bytes { Ok(()) } else { Err(DAMAGED) }
    }
}

/// Compresses `content` with zstd.
pub fn pack_zstd(content: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(content, ruzstd::encoding::CompressionLevel::Fastest)
}

fn read_up_to(reader: impl Read, n_bytes: usize, out: &mut Vec<u8>) -> Result<(), Error> {
    out.reserve(n_bytes.min(1 << 22));
    // One more byte, to detect excess output.
    reader.take(n_bytes as u64 + 1).read_to_end(out).map_err(|_| DAMAGED)?;
    Ok(())
}

fn lz4(packed: &[u8], n_bytes: usize, out: &mut Vec<u8>) -> Result<(), Error> {
    out.resize(n_bytes, 0);
    let n = lz4_flex::block::decompress_into(packed, out).map_err(|_| DAMAGED)?;
    out.truncate(n);
    Ok(())
}

/// Decompresses Hadoop's LZ4: blocks with two big-endian lengths of four bytes; or one plain block, as others wrote under the
/// same id.
fn hadoop_lz4(packed: &[u8], n_bytes: usize, out: &mut Vec<u8>) -> Result<(), Error> {
    let mut rest = packed;
    while let Some((lengths, after)) = rest.split_first_chunk::<8>() {
        let [a, b, c, d, e, f, g, h] = lengths.map(u32::from);
        let (n_out, n_in) = (a << 24 | b << 16 | c << 8 | d, e << 24 | f << 16 | g << 8 | h);
        let Some((block, after)) = after.split_at_checked(n_in as usize) else { break };
        let start = out.len();
        let end = start.saturating_add(n_out as usize);
        if end > n_bytes {
            break;
        }
        out.resize(end, 0);
        if lz4_flex::block::decompress_into(block, &mut out[start..]).ok() != Some(n_out as usize) {
            break;
        }
        rest = after;
    }
    if rest.is_empty() && out.len() == n_bytes {
        return Ok(());
    }
    out.clear();
    lz4(packed, n_bytes, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_bytes_claim_no_room_for_many() {
        let mut out = Vec::new();
        for codec in [1, 5, 7] {
            assert!(Unpacker::default().unpack(codec, &[0x55; 40], 1 << 30, &mut out).is_err());
            assert!(out.capacity() < 1 << 20);
        }
        let packed = pack_zstd(&[7; 5000]);
        let mut unpacker = Unpacker::default();
        for _ in 0..2 {
            unpacker.unpack(ZSTD.into(), &packed, 5000, &mut out).unwrap();
            assert!(out == [7; 5000]);
            assert!(unpacker.unpack(ZSTD.into(), &packed, 4999, &mut out).is_err());
        }
    }
}

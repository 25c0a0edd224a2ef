//! Decompression of zstd (RFC 8878) from memory to memory.
//!
//! Matches are copied from earlier output, so no separate window is needed: two to four times as fast as streaming
//! decompression. Frames that need a dictionary and wrong checksums are rejected.
//!
//! ```text
//! frame: [magic][header][block]…[checksum, if any]
//! block: [last, kind, size: 3 bytes] and raw bytes, one repeated byte, or:
//!        [literals: raw, repeated, or Huffman, in one stream or four][sequences: FSE]
//! sequence: a number of literals, then a copy of a length from a distance
//! ```
//! Bit streams are read from their ends.

mod fse;
mod huffman;
mod sequences;

use self::sequences::{Repeats, Tables};
use std::hash::Hasher;
use twox_hash::XxHash64;

/// Error: not a zstd frame, or a damaged one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damaged;

const MAGIC: u32 = 0xFD2F_B528;
/// Magic number, ignoring the lowest four bits.
const SKIPPABLE_MAGIC: u32 = 0x184D_2A50;

/// Maximum decompressed size of a block.
const MAX_BLOCK_BYTES: usize = 128 << 10;

/// Bytes that copies may write past their end, since they copy whole steps.
const SLACK: usize = 2 * STEP;
const STEP: usize = 16;

/// Decompressor for a series of frames, which reuses memory.
#[derive(Default)]
pub struct Decoder {
    huffman: huffman::Table,
    tables: Tables,
    literals: Vec<u8>,
}

impl Decoder {
    /// Decompresses `packed`, consecutive frames with `n_bytes` of content, into `out`. Later bytes are ignored.
    pub fn unpack(&mut self, packed: &[u8], n_bytes: usize, out: &mut Vec<u8>) -> Result<(), Damaged> {
        let mut at = 0;
        let mut n_done = 0;
        loop {
            let (used, n_out) = self.frame(packed, at, n_done, n_bytes, out)?;
            at = used;
            n_done = n_out;
            if n_done == n_bytes || at >= packed.len() {
                break;
            }
        }
        // Reused memory is not zeroed again.
        out.truncate(n_done);
        if n_done == n_bytes { Ok(()) } else { Err(Damaged) }
    }

    /// Decompresses the frame at `at`, after `start` bytes of output; returns the ends of the frame and its output.
    fn frame(
        &mut self,
        packed: &[u8],
        at: usize,
        start: usize,
        n_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(usize, usize), Damaged> {
        let magic = number(packed, at, 4)? as u32;
        if magic & !15 == SKIPPABLE_MAGIC {
            let n_skipped = number(packed, at + 4, 4)? as usize;
            return Ok(((at + 8).saturating_add(n_skipped), start));
        }
        if magic != MAGIC {
            return Err(Damaged);
        }
        let descriptor = number(packed, at + 4, 1)? as u8;
        let is_single = descriptor & 1 << 5 > 0;
        let n_dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let n_size = match descriptor >> 6 {
            0 => usize::from(is_single),
            bits => 1 << bits,
        };
        let mut at = at + 5 + usize::from(!is_single);
        // A reserved bit, and a dictionary.
        if descriptor & 1 << 3 > 0 || number(packed, at, n_dictionary)? > 0 {
            return Err(Damaged);
        }
        at += n_dictionary + n_size;
        self.tables.reset();
        self.huffman.reset();
        let mut repeats = Repeats::default();
        let mut done = start;
        loop {
            let head = number(packed, at, 3)? as usize;
            at += 3;
            let n_block = head >> 3;
            let limit = n_bytes.min(done + MAX_BLOCK_BYTES);
            if out.len() < limit + SLACK {
                out.resize(limit + SLACK, 0);
            }
            match head >> 1 & 3 {
                0 => {
                    let bytes = packed.get(at..at + n_block).ok_or(Damaged)?;
                    out[..limit].get_mut(done..done + n_block).ok_or(Damaged)?.copy_from_slice(bytes);
                    (at, done) = (at + n_block, done + n_block);
                }
                1 => {
                    let byte = *packed.get(at).ok_or(Damaged)?;
                    out[..limit].get_mut(done..done + n_block).ok_or(Damaged)?.fill(byte);
                    (at, done) = (at + 1, done + n_block);
                }
                2 => {
                    let end = at + n_block;
                    let block = packed.get(..end).ok_or(Damaged)?;
                    let out = &mut out[..limit + SLACK];
                    done = self.block(block, at, start, done, out, &mut repeats)?;
                    at = end;
                }
                _ => return Err(Damaged),
            }
            if head & 1 == 1 {
                break;
            }
        }
        if descriptor & 1 << 2 > 0 {
            let mut hasher = XxHash64::with_seed(0);
            hasher.write(&out[start..done]);
            if number(packed, at, 4)? != hasher.finish() & 0xFFFF_FFFF {
                return Err(Damaged);
            }
            at += 4;
        }
        Ok((at, done))
    }

    /// Decompresses the block from `at` to the end of `packed`; returns the end of its output.
    fn block(
        &mut self,
        packed: &[u8],
        at: usize,
        frame_start: usize,
        done: usize,
        out: &mut [u8],
        repeats: &mut Repeats,
    ) -> Result<usize, Damaged> {
        let Decoder { huffman, tables, literals } = self;
        let first = number(packed, at, 1)?;
        let literal_bytes;
        let at = if first & 2 == 0 {
            // Raw, or one repeated byte.
            let n_head = [1, 2, 1, 3][(first >> 2 & 3) as usize];
            let n = (number(packed, at, n_head)? >> if n_head == 1 { 3 } else { 4 }) as usize;
            let at = at + n_head;
            if n > MAX_BLOCK_BYTES {
                return Err(Damaged);
            }
            if first & 1 == 0 {
                literal_bytes = packed.get(at..at + n).ok_or(Damaged)?;
                at + n
            } else {
                literals.clear();
                literals.resize(n, *packed.get(at).ok_or(Damaged)?);
                literal_bytes = literals.as_slice();
                at + 1
            }
        } else {
            let (n_head, bits) = [(3, 10), (3, 10), (4, 14), (5, 18)][(first >> 2 & 3) as usize];
            let head = number(packed, at, n_head)? >> 4;
            let (n, n_packed) = ((head & ((1 << bits) - 1)) as usize, (head >> bits) as usize);
            let (mut at, end) = (at + n_head, at + n_head + n_packed);
            let packed = packed.get(..end).ok_or(Damaged)?;
            if n > MAX_BLOCK_BYTES {
                return Err(Damaged);
            }
            if first & 1 == 0 {
                at = huffman.read(packed, at)?;
            }
            literals.resize(n, 0);
            if first >> 2 & 3 == 0 {
                huffman.decode_one(packed, at, literals)?;
            } else {
                huffman.decode_four(packed, at, literals)?;
            }
            literal_bytes = literals.as_slice();
            end
        };
        sequences::run(packed, at, literal_bytes, tables, repeats, frame_start, done, out)
    }
}

/// Little-endian number of up to eight bytes at `at`.
fn number(bytes: &[u8], at: usize, n: usize) -> Result<u64, Damaged> {
    let bytes = bytes.get(at..).and_then(|rest| rest.get(..n)).ok_or(Damaged)?;
    Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Bit reader from the end of a stream to its start. Each refill has at least 57 bits.
///
/// Invariant: there are at least eight bytes before the stream, as for all streams of a frame; bits before its start are
/// meaningless, which is detected at the end of the stream.
#[derive(Clone, Copy)]
struct Bits<'a> {
    bytes: &'a [u8],
    /// Bits up to the read position, counted from the start of `bytes`.
    at: usize,
    /// Bit at which the stream starts.
    start: usize,
}

impl<'a> Bits<'a> {
    /// Stream from byte `start` to the end of `bytes`, without the highest set bit and the zeros above it.
    fn new(bytes: &'a [u8], start: usize) -> Result<Bits<'a>, Damaged> {
        let last =
            *bytes.last().filter(|last| **last > 0 && start < bytes.len() && start >= 8).ok_or(Damaged)?;
        let at = bytes.len() * 8 - last.leading_zeros() as usize - 1;
        Ok(Bits { bytes, at, start: start * 8 })
    }

    /// Next bits, highest first. Zero if more was taken than available.
    #[inline(always)]
    fn fill(&self) -> Option<u64> {
        if self.at < self.start {
            return None;
        }
        let end = self.at.div_ceil(8);
        let word = self.bytes.get(end.wrapping_sub(8)..end)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*word) << (end * 8 - self.at))
    }

    /// Consumes `n` bits, at most one refill.
    #[inline(always)]
    fn take(&mut self, n: u32) {
        // Not below zero, since there are eight bytes before the start.
        self.at = self.at.wrapping_sub(n as usize);
    }

    fn is_at_end(&self) -> bool {
        self.at == self.start
    }
}

/// Highest `n` bits of a word, `n` up to 63.
#[inline(always)]
fn top(word: u64, n: u32) -> u64 {
    word >> 1 >> (63 - n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Read;

    /// Output of the streaming decoder.
    fn streamed(packed: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        ruzstd::decoding::StreamingDecoder::new(packed).ok()?.read_to_end(&mut out).ok()?;
        Some(out)
    }

    fn unpacked(packed: &[u8], n_bytes: usize) -> Option<Vec<u8>> {
        let mut out = vec![7; 300];
        Decoder::default().unpack(packed, n_bytes, &mut out).ok()?;
        Some(out)
    }

    /// Repeating texts, rising numbers, noise, runs.
    fn content() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..2000),
            prop::collection::vec(b'a'..b'f', 0..3000),
            (any::<u8>(), 0..70_000usize).prop_map(|(byte, n)| vec![byte; n]),
            (0..1u64 << 40, 1..5000u64, 1..20_000u64)
                .prop_map(|(from, step, n)| (0..n).flat_map(|i| (from + i * step).to_le_bytes()).collect()),
            (prop::collection::vec(any::<u8>(), 1..40), 1..400usize).prop_map(|(text, n)| text.repeat(n)),
        ];
        prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(content in content(), is_packed: bool) {
            let level = if is_packed { CompressionLevel::Fastest } else { CompressionLevel::Uncompressed };
            let packed = compress_to_vec(content.as_slice(), level);
            prop_assert!(unpacked(&packed, content.len()).as_ref() == Some(&content));
            prop_assert!(content.is_empty() || unpacked(&packed, content.len() - 1).is_none());
            prop_assert!(unpacked(&packed, content.len() + 1).is_none());
            let twice = [&packed[..], &[0x51, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 9, 9], &packed].concat();
            prop_assert!(unpacked(&twice, content.len() * 2) == Some(content.repeat(2)));
        }

        #[test]
        fn anything_else_does_no_harm(
            content in content(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            cut: prop::sample::Index,
        ) {
            let mut packed = compress_to_vec(content.as_slice(), CompressionLevel::Fastest);
            let _ = unpacked(&packed[..cut.index(packed.len())], content.len());
            for (at, byte) in changes {
                let at = at.index(packed.len());
                packed[at] = byte;
            }
            // Checksums decide.
            if let Some(found) = unpacked(&packed, content.len()) {
                prop_assert!(found == content || streamed(&packed).is_some_and(|other| other == found));
            }
        }
    }

    #[test]
    fn frames_of_the_reference_come_back() {
        let mut n_frames = 0;
        for entry in std::fs::read_dir("tests/zstd").unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "zst") {
                continue;
            }
            let packed = std::fs::read(&path).unwrap();
            let expected = streamed(&packed).unwrap();
            assert!(unpacked(&packed, expected.len()).as_ref() == Some(&expected), "{}", path.display());
            // Damaged data must give the output of the other decoder, or nothing.
            for at in (0..packed.len()).step_by(packed.len() / 40 + 1) {
                let mut damaged = packed.clone();
                damaged[at] ^= 1 << (at % 8);
                if let Some(found) = unpacked(&damaged, expected.len()) {
                    let other = streamed(&damaged);
                    assert!(other.is_none_or(|other| other == found), "{} at {at}", path.display());
                }
            }
            n_frames += 1;
        }
        assert!(n_frames > 0);
    }
}

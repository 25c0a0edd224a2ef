//! Decompression, detected by content: gzip (any number of members, also truncated), zstd and LZ4 frames.
//!
//! Takes the bytes of a file in chunks cut anywhere and emits pieces of bounded size, so that a small file with huge content
//! needs no more memory than any other. It never fails: damage is kept as [`Unpacker::problem`], and everything before it was
//! emitted.

mod lz4;

use self::lz4::Lz4;
use crate::trace::IssueKind;
use flate2::{Decompress, FlushDecompress, Status};
use issues::*;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use serde::{Deserialize, Serialize};

/// Compression format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Packing {
    Gzip,
    Zstd,
    Lz4,
}

impl Packing {
    const ALL: [Packing; 3] = [Packing::Gzip, Packing::Zstd, Packing::Lz4];

    pub fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
            Packing::Lz4 => "lz4",
        }
    }

    pub fn named(name: &str) -> Option<Packing> {
        Packing::ALL.into_iter().find(|packing| packing.name() == name)
    }

    /// Detects by the first four bytes. A skippable zstd frame counts as zstd.
    pub fn sniff(head: &[u8]) -> Option<Packing> {
        match head {
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Packing::Zstd),
            [a, b, c, d, ..] if [*a, *b, *c, *d] == lz4::MAGIC => Some(Packing::Lz4),
            _ => None,
        }
    }
}

pub mod issues {
    //! Parsing issues of compressed data.

    use crate::trace::ledger::issue_kinds;

    issue_kinds! {
        CUT_OFF = "packed-cut-off", Skipped,
            "the compressed data is truncated; everything before the cut was read",
            "check that the file was copied or downloaded completely";
        DAMAGED = "packed-damaged", Skipped,
            "the compressed data is damaged; reading stopped there",
            "try the original file, or a tool that recovers damaged archives";
        BAD_CHECKSUM = "packed-checksum", Note,
            "checksum mismatch in the compressed data; the content was read anyway",
            "the content may be damaged; try the original file";
        WINDOW_TOO_LARGE = "zstd-window-too-large", Skipped,
            "the zstd frame needs a window of more than 512 MiB",
            "decompress the file first, or compress it again without --ultra --long";
        TRAILING = "packed-trailing-bytes", Note,
            "bytes after the compressed data, ignored", "";
    }
}

/// Largest piece emitted.
const PIECE_BYTES: usize = 1 << 18;

/// Largest zstd window supported.
const MAX_WINDOW_BYTES: u64 = 512 << 20;

/// One layer of compression.
pub struct Unpacker {
    packing: Packing,
    codec: Codec,
    /// Compressed bytes consumed.
    consumed: u64,
    problem: Option<Problem>,
}

/// Problem and its offset in the compressed data.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    pub kind: &'static IssueKind,
    pub byte: u64,
}

enum Codec {
    Gzip(Gzip),
    Zstd(Box<Zstd>),
    Lz4(Box<Lz4>),
}

impl Unpacker {
    pub fn new(packing: Packing) -> Unpacker {
        let codec = match packing {
            Packing::Gzip => Codec::Gzip(Gzip {
                member: None,
                head: Vec::new(),
                any_member_done: false,
                piece: vec![0; PIECE_BYTES],
            }),
            Packing::Zstd => Codec::Zstd(Box::new(Zstd {
                decoder: FrameDecoder::new(),
                carry: Vec::new(),
                place: Place::Between,
                has_checksum: false,
                any_frame_done: false,
            })),
            Packing::Lz4 => Codec::Lz4(Box::default()),
        };
        Unpacker { packing, codec, consumed: 0, problem: None }
    }

    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// First problem so far.
    pub fn problem(&self) -> Option<Problem> {
        self.problem
    }

    /// Feeds compressed bytes; calls `emit` with pieces of content. An error of `emit` ends the call and is returned.
    pub fn feed<E>(&mut self, packed: &[u8], emit: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        if self.problem.is_some_and(|problem| problem.kind.code != BAD_CHECKSUM.code) {
            return Ok(());
        }
        let start = self.consumed;
        self.consumed += packed.len() as u64;
        let outcome = match &mut self.codec {
            Codec::Gzip(gzip) => gzip.feed(start, packed, emit)?,
            Codec::Zstd(zstd) => {
                let mut carry = std::mem::take(&mut zstd.carry);
                let outcome = feed_steps(start, &mut carry, packed, |rest| zstd.step(rest, emit))?;
                zstd.carry = carry;
                outcome
            }
            Codec::Lz4(lz4) => {
                let mut carry = std::mem::take(&mut lz4.carry);
                let outcome = feed_steps(start, &mut carry, packed, |rest| lz4.step(rest, emit))?;
                lz4.carry = carry;
                outcome
            }
        };
        if let Some((kind, byte)) = outcome {
            self.problem = Some(Problem { kind, byte });
            if kind.code == DAMAGED.code {
                return self.give_rest(emit);
            }
        }
        Ok(())
    }

    /// Emits output that was held back.
    fn give_rest<E>(&mut self, emit: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match &mut self.codec {
            Codec::Zstd(zstd) => zstd.give_rest(emit),
            Codec::Lz4(lz4) => lz4.give_rest(emit),
            Codec::Gzip(_) => Ok(()),
        }
    }

    /// Ends the file: emits what is left of truncated content. An error of `emit` is returned.
    pub fn finish<E>(&mut self, emit: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let inside = match &self.codec {
            Codec::Gzip(gzip) => gzip.member.is_some() || !gzip.head.is_empty() || !gzip.any_member_done,
            Codec::Zstd(zstd) => {
                zstd.place != Place::Between || !zstd.carry.is_empty() || !zstd.any_frame_done
            }
            Codec::Lz4(lz4) => !lz4.is_at_end(),
        };
        if inside && self.problem.is_none() {
            self.problem = Some(Problem { kind: &CUT_OFF, byte: self.consumed });
            return self.give_rest(emit);
        }
        Ok(())
    }
}

/// Problem and its file offset, which does not depend on chunk boundaries.
type Outcome = Option<(&'static IssueKind, u64)>;

struct Gzip {
    member: Option<Decompress>,
    /// First byte of a member whose second has not come yet.
    head: Vec<u8>,
    any_member_done: bool,
    piece: Vec<u8>,
}

impl Gzip {
    fn feed<E>(
        &mut self,
        start: u64,
        packed: &[u8],
        emit: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Outcome, E> {
        let joined;
        let mut packed = packed;
        let end = start + packed.len() as u64;
        if !self.head.is_empty() {
            joined = [&self.head[..], packed].concat();
            self.head.clear();
            packed = &joined;
        }
        while !packed.is_empty() {
            if self.member.is_none() {
                // Zero padding between and after members is common (tapes, block devices).
                if self.any_member_done {
                    let zeros = packed.iter().take_while(|byte| **byte == 0).count();
                    packed = &packed[zeros..];
                }
                let at = end - packed.len() as u64;
                match packed {
                    [] => break,
                    [0x1f] => {
                        self.head = vec![0x1f];
                        break;
                    }
                    [0x1f, 0x8b, ..] => self.member = Some(Decompress::new_gzip(15)),
                    _ if self.any_member_done => return Ok(Some((&TRAILING, at))),
                    _ => return Ok(Some((&DAMAGED, at))),
                }
            }
            let Some(member) = &mut self.member else { break };
            let (before_in, before_out) = (member.total_in(), member.total_out());
            let status = member.decompress(packed, &mut self.piece, FlushDecompress::None);
            let consumed = (member.total_in() - before_in) as usize;
            let produced = (member.total_out() - before_out) as usize;
            if produced > 0 {
                emit(&self.piece[..produced])?;
            }
            packed = &packed[consumed.min(packed.len())..];
            let at = end - packed.len() as u64;
            match status {
                Ok(Status::StreamEnd) => {
                    self.member = None;
                    self.any_member_done = true;
                }
                Ok(_) if consumed == 0 && produced == 0 => break,
                Ok(_) => {}
                Err(_) => {
                    self.member = None;
                    return Ok(Some((&DAMAGED, at)));
                }
            }
        }
        // The window may hold more output than fit, although all input is consumed.
        while let Some(member) = &mut self.member {
            let before = member.total_out();
            let status = member.decompress(&[], &mut self.piece, FlushDecompress::None);
            let produced = (member.total_out() - before) as usize;
            if produced > 0 {
                emit(&self.piece[..produced])?;
            }
            match status {
                Ok(Status::StreamEnd) => {
                    self.member = None;
                    self.any_member_done = true;
                }
                Ok(_) if produced > 0 => {}
                _ => break,
            }
        }
        Ok(None)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// Between frames.
    Between,
    /// Before a block of a frame.
    Block,
    /// This many bytes of a skippable frame are still to come.
    Skipping(u64),
}

/// Steps through `carry` (an incomplete rest) and `packed`, which starts at file offset `start`; the rest becomes the new
/// `carry`. Problems get the file offset of their header or block.
fn feed_steps<E>(
    start: u64,
    carry: &mut Vec<u8>,
    packed: &[u8],
    mut step: impl FnMut(&[u8]) -> Result<Step, E>,
) -> Result<Outcome, E> {
    let first = start - carry.len() as u64;
    let mut input = std::mem::take(carry);
    input.extend_from_slice(packed);
    let mut at = 0;
    let mut outcome = None;
    loop {
        match step(&input[at..])? {
            Step::Used(n) => at += n,
            Step::More => break,
            Step::Odd(n, kind) => {
                outcome = Some((kind, first + at as u64));
                at += n;
            }
            Step::Problem(kind) => return Ok(Some((kind, first + at as u64))),
        }
    }
    input.drain(..at);
    *carry = input;
    Ok(outcome)
}

struct Zstd {
    decoder: FrameDecoder,
    /// Compressed bytes of an incomplete header or block.
    carry: Vec<u8>,
    place: Place,
    has_checksum: bool,
    any_frame_done: bool,
}

impl Zstd {
    fn step<E>(&mut self, rest: &[u8], emit: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<Step, E> {
        match self.place {
            Place::Skipping(0) => {
                self.place = Place::Between;
                Ok(Step::Used(0))
            }
            Place::Skipping(left) => {
                let n = left.min(rest.len() as u64);
                if n == 0 {
                    return Ok(Step::More);
                }
                self.place = Place::Skipping(left - n);
                Ok(Step::Used(n as usize))
            }
            Place::Between => Ok(self.start_frame(rest)),
            Place::Block => self.block(rest, emit),
        }
    }

    fn start_frame(&mut self, rest: &[u8]) -> Step {
        let Some((magic, after)) = rest.split_first_chunk::<4>() else {
            return Step::More;
        };
        match magic {
            [0x50..=0x5f, 0x2a, 0x4d, 0x18] => match after.split_first_chunk::<4>() {
                Some((size, _)) => {
                    self.place = Place::Skipping(u64::from(u32::from_le_bytes(*size)));
                    Step::Used(8)
                }
                None => Step::More,
            },
            [0x28, 0xb5, 0x2f, 0xfd] => {
                let Some(header) = FrameHeader::read(after) else { return Step::More };
                if header.window_bytes > MAX_WINDOW_BYTES {
                    return Step::Problem(&WINDOW_TOO_LARGE);
                }
                match self.decoder.reset(rest) {
                    Ok(()) => {
                        self.place = Place::Block;
                        self.has_checksum = header.has_checksum;
                        Step::Used(4 + header.n_bytes)
                    }
                    Err(_) => Step::Problem(&DAMAGED),
                }
            }
            _ if self.any_frame_done => Step::Problem(&TRAILING),
            _ => Step::Problem(&DAMAGED),
        }
    }

    /// Emits what the decoder holds of a truncated frame: up to a window, which later blocks could have referred to.
    fn give_rest<E>(&mut self, emit: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        /// An empty last block, and a checksum.
        const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
        let end = &END[..if self.has_checksum { 7 } else { 3 }];
        if self.place == Place::Block
            && self.decoder.decode_blocks(end, BlockDecodingStrategy::UptoBlocks(1)).is_ok()
            && let Some(content) = self.decoder.collect().filter(|content| !content.is_empty())
        {
            emit(&content)?;
        }
        Ok(())
    }

    fn block<E>(&mut self, rest: &[u8], emit: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<Step, E> {
        let Some((header, _)) = rest.split_first_chunk::<3>() else {
            return Ok(Step::More);
        };
        let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let (last, kind, size) = (header & 1 == 1, header >> 1 & 3, (header >> 3) as usize);
        let checksum_bytes = if last && self.has_checksum { 4 } else { 0 };
        let len = 3 + if kind == 1 { 1 } else { size } + checksum_bytes;
        if size > 128 << 10 && kind != 1 {
            return Ok(Step::Problem(&DAMAGED));
        }
        if rest.len() < len {
            return Ok(Step::More);
        }
        if self.decoder.decode_blocks(&rest[..len], BlockDecodingStrategy::UptoBlocks(1)).is_err() {
            return Ok(Step::Problem(&DAMAGED));
        }
        if let Some(content) = self.decoder.collect().filter(|content| !content.is_empty()) {
            emit(&content)?;
        }
        if last {
            self.place = Place::Between;
            self.any_frame_done = true;
            let told = self.decoder.get_checksum_from_data();
            if told.is_some() && told != self.decoder.get_calculated_checksum() {
                return Ok(Step::Odd(len, &BAD_CHECKSUM));
            }
        }
        Ok(Step::Used(len))
    }
}

/// Part of a frame header needed before the decoder allocates memory.
struct FrameHeader {
    n_bytes: usize,
    window_bytes: u64,
    has_checksum: bool,
}

impl FrameHeader {
    /// Reads what follows the magic number; `None` if incomplete. RFC 8878, section 3.1.1.1.
    fn read(after: &[u8]) -> Option<FrameHeader> {
        let descriptor = *after.first()?;
        let single_segment = descriptor & 0x20 != 0;
        let dictionary_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let size_bytes = match descriptor >> 6 {
            0 => usize::from(single_segment),
            1 => 2,
            2 => 4,
            _ => 8,
        };
        let n_bytes = 1 + usize::from(!single_segment) + dictionary_bytes + size_bytes;
        let header = after.get(..n_bytes)?;
        let window_bytes = if single_segment {
            let mut size = [0; 8];
            size[..size_bytes].copy_from_slice(&header[n_bytes - size_bytes..]);
            u64::from_le_bytes(size) + if size_bytes == 2 { 256 } else { 0 }
        } else {
            let base = 1u64 << (10 + u32::from(header[1] >> 3));
            base + base / 8 * u64::from(header[1] & 7)
        };
        Some(FrameHeader { n_bytes, window_bytes, has_checksum: descriptor & 4 != 0 })
    }
}

enum Step {
    /// This many bytes are consumed.
    Used(usize),
    /// This many bytes are consumed, with an issue.
    Odd(usize, &'static IssueKind),
    /// Needs more input.
    More,
    /// Reading ends here.
    Problem(&'static IssueKind),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use twox_hash::XxHash32;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
    }

    /// A frame of linked blocks with a checksum.
    fn lz4(text: &[u8]) -> Vec<u8> {
        let header = [0x44, 0x40];
        let mut out = [&lz4::MAGIC[..], &header, &[(XxHash32::oneshot(0, &header) >> 8) as u8]].concat();
        for (n, block) in text.chunks(50_000).enumerate() {
            let before = &text[..n * 50_000];
            let window = &before[before.len().saturating_sub(65_536)..];
            let packed = lz4_flex::block::compress_with_dict(block, window);
            // Now and then a block that was stored uncompressed.
            let (bit, bytes) = if n % 4 == 3 { (1 << 31, block) } else { (0, &packed[..]) };
            out.extend_from_slice(&(bytes.len() as u32 | bit).to_le_bytes());
            out.extend_from_slice(bytes);
        }
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&XxHash32::oneshot(0, text).to_le_bytes());
        out
    }

    fn unpack(packing: Packing, packed: &[u8], step: usize) -> (Vec<u8>, Option<&'static str>) {
        let (out, problem) = unpack_at(packing, packed, step);
        (out, problem.map(|problem| problem.kind.code))
    }

    fn unpack_at(packing: Packing, packed: &[u8], step: usize) -> (Vec<u8>, Option<Problem>) {
        let mut out = Vec::new();
        let mut unpacker = Unpacker::new(packing);
        for chunk in packed.chunks(step) {
            let fed: Result<(), ()> = unpacker.feed(chunk, &mut |piece| {
                out.extend_from_slice(piece);
                Ok(())
            });
            fed.unwrap();
        }
        let finished: Result<(), ()> = unpacker.finish(&mut |piece| {
            out.extend_from_slice(piece);
            Ok(())
        });
        finished.unwrap();
        (out, unpacker.problem())
    }

    fn text() -> Vec<u8> {
        (0..60_000u32)
            .flat_map(|i| format!("{} {}\n", i, i.wrapping_mul(2_654_435_761)).into_bytes())
            .collect()
    }

    /// A truncated or damaged frame yields all blocks before the damage, although the decoder holds a window of them.
    #[test]
    fn nothing_before_a_cut_is_lost() {
        let text = text();
        for (name, packing, packed) in [
            ("zstd", Packing::Zstd, zstd(&text)),
            ("gzip", Packing::Gzip, gzip(&text)),
            ("lz4", Packing::Lz4, lz4(&text)),
        ] {
            for percent in [20, 50, 95] {
                let len = packed.len() * percent / 100;
                let (out, problem) = unpack_at(packing, &packed[..len], 10_000);
                assert!(text.starts_with(&out), "{name}");
                // Blocks have 128 KiB.
                let least = (text.len() * percent / 100).saturating_sub(300 << 10);
                assert!(out.len() >= least, "{name}: {} of {least}", out.len());
                assert_eq!(problem.map(|problem| problem.kind.code), Some(CUT_OFF.code), "{name}");
            }
        }
    }

    /// LZ4 blocks may be as large as whole captures, so the readable part of the last one matters.
    #[test]
    fn of_a_block_that_was_cut_there_is_what_came_before() {
        let text = &text()[..200_000];
        let packed = lz4(text);
        let mut before = 0;
        let last = packed.len() - 8;
        for len in (0..last).step_by(61).chain([last]) {
            let (out, problem) = unpack(Packing::Lz4, &packed[..len], packed.len());
            assert!(text.starts_with(&out) && out.len() >= before, "{len}: {} after {before}", out.len());
            assert_eq!(problem, Some(CUT_OFF.code));
            before = out.len();
        }
        assert_eq!(before, text.len());
        // A copy from before the start, or with offset 0, is damage and ends the block.
        let damaged = |sequence: &[u8]| {
            let head = &packed[..7];
            let block = [&100u32.to_le_bytes()[..], sequence].concat();
            unpack(Packing::Lz4, &[head, &block].concat(), 100).0
        };
        assert_eq!(damaged(&[0x24, b'a', b'b', 2, 0, 0]), b"ababababab");
        assert_eq!(damaged(&[0x24, b'a', b'b', 3, 0, 0]), b"ab");
        assert_eq!(damaged(&[0x24, b'a', b'b', 0, 0, 0]), b"ab");
        assert_eq!(damaged(&[[0x2f, b'a', b'b', 2, 0].as_slice(), &[255; 90]].concat()), b"ab");
    }

    #[test]
    fn members_frames_and_cuts() {
        let text = text();
        let twice = [&text[..], &text[..]].concat();
        let packers =
            [(Packing::Gzip, gzip as fn(&[u8]) -> Vec<u8>), (Packing::Zstd, zstd), (Packing::Lz4, lz4)];
        for (packing, pack) in packers {
            let one = pack(&text);
            let two = [&one[..], &one[..]].concat();
            for step in [1, 7, 4096, usize::MAX >> 1] {
                assert!(unpack(packing, &one, step) == (text.clone(), None), "{packing:?} {step}");
                assert!(unpack(packing, &two, step) == (twice.clone(), None), "{packing:?} {step}");
                let trailing = [&one[..], b"rubbish"].concat();
                assert!(unpack(packing, &trailing, step) == (text.clone(), Some(TRAILING.code)));
                let (got, problem) = unpack(packing, &one[..one.len() * 2 / 3], step);
                assert!(text.starts_with(&got) && got.len() > text.len() / 3);
                assert_eq!(problem, Some(CUT_OFF.code));
            }
            let mut damaged = one.clone();
            let middle = damaged.len() / 2;
            damaged[middle..middle + 40].fill(0xff);
            let broken =
                [damaged, [&one[..], &[0, 0], b"rubbish"].concat(), [&one[..], &[0x1f, 0, 0]].concat()];
            for file in &broken {
                let place =
                    |step| unpack_at(packing, file, step).1.map(|problem| (problem.kind.code, problem.byte));
                let whole = place(usize::MAX >> 1);
                assert!(whole.is_some());
                for step in [1, 7, 1000, 4096] {
                    assert_eq!(place(step), whole, "{packing:?} {step}");
                }
            }
        }
    }

    #[test]
    fn zero_padding_and_skippable_frames() {
        let text = b"hello";
        for (packing, packed) in [(Packing::Gzip, gzip(text)), (Packing::Lz4, lz4(text))] {
            assert_eq!(unpack(packing, &[&packed[..], &[0; 700]].concat(), 100), (text.to_vec(), None));
        }
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &zstd(text)].concat();
        assert_eq!(unpack(Packing::Zstd, &skippable, 2), (text.to_vec(), None));
        let huge_window = [0x28, 0xb5, 0x2f, 0xfd, 0, 0xf8, 0, 0, 0];
        assert_eq!(unpack(Packing::Zstd, &huge_window, 9), (Vec::new(), Some(WINDOW_TOO_LARGE.code)));
    }
}

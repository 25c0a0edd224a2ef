//! LZ4 frames (LZ4 frame format 1.6.4), any number in a row.

use super::issues::*;
use super::{PIECE_BYTES, Step};
use std::hash::Hasher;
use twox_hash::XxHash32;

pub const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// Distance a block may refer back into earlier blocks.
const WINDOW_BYTES: usize = 64 << 10;

/// Decoder of one file.
#[derive(Default)]
pub struct Lz4 {
    frame: Option<Frame>,
    /// Bytes of an incomplete header or block.
    pub carry: Vec<u8>,
    any_frame_done: bool,
    /// Buffer for one block, as large as the largest block size so far.
    block: Vec<u8>,
}

/// A frame whose header has been read.
struct Frame {
    linked: bool,
    has_block_checksums: bool,
    has_content_checksum: bool,
    max_block_bytes: usize,
    /// The last [`WINDOW_BYTES`] of content, for linked blocks.
    window: Vec<u8>,
    checksum: XxHash32,
}

impl Lz4 {
    /// Whether the file may end here.
    pub fn is_at_end(&self) -> bool {
        self.frame.is_none() && self.carry.is_empty() && self.any_frame_done
    }

    pub fn step<E>(&mut self, rest: &[u8], emit: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<Step, E> {
        match self.frame.take() {
            None => Ok(self.start_frame(rest)),
            Some(frame) => self.block(frame, rest, emit),
        }
    }

    fn start_frame(&mut self, rest: &[u8]) -> Step {
        if self.any_frame_done {
            // A memory-mapped file that was being written ends with zeros.
            let n_zeros = rest.iter().take_while(|byte| **byte == 0).count();
            if n_zeros > 0 {
                return Step::Used(n_zeros);
            }
        }
        let Some((magic, after)) = rest.split_first_chunk::<4>() else { return Step::More };
        if *magic != MAGIC {
            return Step::Problem(if self.any_frame_done { &TRAILING } else { &DAMAGED });
        }
        let [flags, sizes, ..] = *after else { return Step::More };
        let has = |bit: u8| flags & bit != 0;
        let has_dictionary = has(1);
        if flags >> 6 != 1 || has(2) || sizes & 0x8f != 0 || sizes >> 4 < 4 || has_dictionary {
            return Step::Problem(&DAMAGED);
        }
        let n_header = 2 + if has(8) { 8 } else { 0 };
        let (Some(header), Some(told)) = (after.get(..n_header), after.get(n_header)) else {
            return Step::More;
        };
        if (XxHash32::oneshot(0, header) >> 8) as u8 != *told {
            return Step::Problem(&DAMAGED);
        }
        self.frame = Some(Frame {
            linked: !has(0x20),
            has_block_checksums: has(0x10),
            has_content_checksum: has(4),
            max_block_bytes: 1 << (8 + 2 * (sizes >> 4)),
            window: Vec::new(),
            checksum: XxHash32::with_seed(0),
        });
        Step::Used(4 + n_header + 1)
    }

    fn block<E>(
        &mut self,
        mut frame: Frame,
        rest: &[u8],
        emit: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Step, E> {
        let Some((size, after)) = rest.split_first_chunk::<4>() else {
            self.frame = Some(frame);
            return Ok(Step::More);
        };
        let size = u32::from_le_bytes(*size);
        if size == 0 {
            return Ok(self.end_frame(frame, after));
        }
        let (is_plain, n_bytes) = (size >> 31 == 1, (size & 0x7fff_ffff) as usize);
        if n_bytes > frame.max_block_bytes {
            return Ok(Step::Problem(&DAMAGED));
        }
        let n_all = 4 + n_bytes + if frame.has_block_checksums { 4 } else { 0 };
        if rest.len() < n_all {
            self.frame = Some(frame);
            return Ok(Step::More);
        }
        let packed = &after[..n_bytes];
        let content = if is_plain {
            packed
        } else {
            if self.block.len() < frame.max_block_bytes {
                self.block.resize(frame.max_block_bytes, 0);
            }
            let unpacked = &mut self.block[..frame.max_block_bytes];
            let done = if frame.linked {
                lz4_flex::block::decompress_into_with_dict(packed, unpacked, &frame.window)
            } else {
                lz4_flex::block::decompress_into(packed, unpacked)
            };
            match done {
                Ok(n) => &unpacked[..n.min(unpacked.len())],
                Err(_) => return Ok(Step::Problem(&DAMAGED)),
            }
        };
        frame.take(content);
        self.frame = Some(frame);
        for piece in content.chunks(PIECE_BYTES) {
            emit(piece)?;
        }
        Ok(Step::Used(n_all))
    }

    /// Ends the file: emits what is left of an incomplete block.
    pub fn give_rest<E>(&mut self, emit: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let (Some(frame), Some((size, packed))) = (self.frame.take(), self.carry.split_first_chunk::<4>())
        else {
            return Ok(());
        };
        let size = u32::from_le_bytes(*size);
        let (is_plain, n_bytes) = (size >> 31 == 1, (size & 0x7fff_ffff) as usize);
        // Its checksum may follow.
        let packed = &packed[..packed.len().min(n_bytes)];
        if is_plain {
            return packed.chunks(PIECE_BYTES).try_for_each(emit);
        }
        start_of_block(packed, &frame).chunks(PIECE_BYTES).try_for_each(emit)
    }

    fn end_frame(&mut self, frame: Frame, after: &[u8]) -> Step {
        let mut n_bytes = 4;
        let mut is_right = true;
        if frame.has_content_checksum {
            let Some(told) = after.first_chunk::<4>() else {
                self.frame = Some(frame);
                return Step::More;
            };
            is_right = u32::from_le_bytes(*told) == frame.checksum.finish_32();
            n_bytes += 4;
        }
        self.any_frame_done = true;
        if is_right { Step::Used(n_bytes) } else { Step::Odd(n_bytes, &BAD_CHECKSUM) }
    }
}

/// Shortest copy.
const MIN_COPY: usize = 4;

/// Content of the start of a block (LZ4 block format): literals, then a copy of earlier bytes, and so on. Ends with the input,
/// or at the first invalid copy.
fn start_of_block(mut packed: &[u8], frame: &Frame) -> Vec<u8> {
    let mut out = frame.window.clone();
    let n_before = out.len();
    let max = n_before + frame.max_block_bytes;
    while let Some(token) = packed.split_off_first() {
        let Some(n_literals) = length(token >> 4, &mut packed) else { break };
        let (literals, after) = packed.split_at(n_literals.min(packed.len()));
        out.extend_from_slice(literals);
        let Some((offset, after)) = after.split_first_chunk::<2>() else { break };
        packed = after;
        let Some(n_copied) = length(token & 15, &mut packed) else { break };
        let offset = usize::from(u16::from_le_bytes(*offset));
        let Some(from) = out.len().checked_sub(offset).filter(|_| offset > 0) else { break };
        if out.len() + n_copied + MIN_COPY > max {
            break;
        }
        // A copy may overlap its own output.
        (from..from + n_copied + MIN_COPY).for_each(|at| out.push(out[at]));
    }
    out.split_off(n_before)
}

/// Length that starts in the token: 15 means that bytes follow that add to it, the last one below 255.
fn length(start: u8, packed: &mut &[u8]) -> Option<usize> {
    let mut length = usize::from(start);
    let mut goes_on = start == 15;
    while goes_on {
        let more = *packed.split_off_first()?;
        length += usize::from(more);
        goes_on = more == 255;
    }
    Some(length)
}

impl Frame {
    /// Keeps what later blocks and the checksum need of `content`.
    fn take(&mut self, content: &[u8]) {
        if self.has_content_checksum {
            self.checksum.write(content);
        }
        if self.linked {
            self.window.extend_from_slice(content);
            let n_old = self.window.len().saturating_sub(WINDOW_BYTES);
            self.window.drain(..n_old);
        }
    }
}

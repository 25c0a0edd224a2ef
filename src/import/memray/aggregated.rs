//! Records of aggregated captures (`memray run --aggregate`): memory by thread, stack and allocator as memray added it up.
//!
//! memray writes all of them when tracking ends: memory samples, thread names, memory maps, native frames, code objects (since
//! version 12), frames, stacks, sums. Layout: memray, `src/memray/_memray/record_writer.cpp`,
//! `AggregatingRecordWriter::writeTrailer`; that of versions 12 and 13 from captures and what `memray parse` prints of them.

use super::allocators::{NUMBERS, NUMBERS_V11, allocator};
use super::cursor::{Cursor, Stop};
use super::live::Amount;
use super::records::{FrameCode, Record, Sums, read_aside, read_code};

/// Reads the next record of an aggregated capture.
pub fn read<'a>(cursor: &mut Cursor<'a>, version: i32) -> Result<Record<'a>, Stop> {
    match (cursor.u8()?, version) {
        (1, _) => {
            let (ms, rss) = (cursor.i64()?, cursor.u64()?);
            // Live bytes then.
            cursor.u64()?;
            Ok(Record::MemoryAt { rss, ms })
        }
        (2, _) => read_sums(cursor, version),
        (3, 11) => Ok(Record::Stack { frame: cursor.u64()?, around: u64::from(cursor.u32()?) }),
        (3, _) => Ok(Record::Stack { frame: cursor.unsigned()?, around: cursor.unsigned()? }),
        (4, 11) => {
            let (id, function, file) = (cursor.u64()?, cursor.text()?, cursor.text()?);
            let line = i64::from(cursor.i32()?);
            cursor.flag()?;
            Ok(Record::Frame { id, code: FrameCode::Texts { function, file, line } })
        }
        (4, _) => {
            let (id, code, instruction) = (cursor.unsigned()?, cursor.unsigned()?, cursor.signed()?);
            cursor.flag()?;
            Ok(Record::Frame { id, code: FrameCode::Object { code, instruction } })
        }
        (14, 12..) => read_code(cursor),
        (15, _) => Ok(Record::End),
        (other, _) => read_aside(cursor, other),
    }
}

/// Reads a C structure: thread, allocator in eight bytes, native frame, stack, generation of the memory maps, allocations at the
/// peak and live at the end, bytes at the peak and live at the end.
fn read_sums<'a>(cursor: &mut Cursor<'a>, version: i32) -> Result<Record<'a>, Stop> {
    let tid = cursor.u64()?;
    let number = cursor.take(8)?[0];
    let names = if version == 11 { NUMBERS_V11 } else { NUMBERS };
    let allocator = allocator(number, names).filter(|it| !it.is_free).ok_or(Stop::Bad)?;
    cursor.u64()?;
    let stack = cursor.u64()?;
    cursor.u64()?;
    let (n_at_peak, n_now) = (cursor.u64()?, cursor.u64()?);
    let at_peak = Amount { bytes: cursor.u64()?, n: n_at_peak };
    let now = Amount { bytes: cursor.u64()?, n: n_now };
    Ok(Record::Sums { stack, sums: Sums { tid, allocator, at_peak, now } })
}

//! Records as stored in a capture, before deltas are resolved.

use super::allocators::{Allocator, NUMBERS, NUMBERS_V11, allocator};
use super::cursor::{Cursor, Stop};
use super::live::Amount;

/// One record; deltas are unresolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record<'a> {
    Allocation {
        pointer: Pointer,
        allocator: Allocator,
        size: u64,
    },
    /// A Python object was created or destroyed: not an allocation, but its pointer is remembered like one.
    Object {
        pointer: Pointer,
    },
    /// A function was entered: its id, or in version 11 the delta from the previous id; and where it is, as
    /// [`super::lines::line_at`] takes it, since version 12.
    Push {
        frame: Number,
        instruction: i64,
    },
    /// This many functions were left.
    Pop {
        n: usize,
    },
    /// Meaning of an id of [`Record::Push`].
    Code {
        id: Number,
        function: &'a [u8],
        file: &'a [u8],
        /// Delta from the line before.
        line: i64,
        /// Lines of the instructions; empty in version 11.
        table: &'a [u8],
    },
    /// Milliseconds since the start, and memory of the process in bytes.
    Memory {
        rss: u64,
        ms: u64,
    },
    /// The same of an aggregated capture, in milliseconds since the Unix epoch.
    MemoryAt {
        rss: u64,
        ms: i64,
    },
    /// Frame of an aggregated capture.
    Frame {
        id: u64,
        code: FrameCode<'a>,
    },
    /// Next stack of an aggregated capture: its innermost frame, and the number of the stack around it. The first one has number 1;
    /// 0 is around all.
    Stack {
        frame: u64,
        around: u64,
    },
    /// Memory of a stack, by number.
    Sums {
        stack: u64,
        sums: Sums,
    },
    Thread {
        tid: u64,
    },
    /// Name of the current thread.
    ThreadName {
        name: &'a [u8],
    },
    /// A record that is not used: native frames, memory maps.
    Aside,
    Padding,
    End,
}

/// What a frame of an aggregated capture is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameCode<'a> {
    /// In version 11.
    Texts { function: &'a [u8], file: &'a [u8], line: i64 },
    /// The id of a code object, and where it is, as [`super::lines::line_at`] takes it.
    Object { code: u64, instruction: i64 },
}

/// Memory that an aggregated capture states of a thread, an allocator and a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sums {
    pub tid: u64,
    pub allocator: Allocator,
    pub at_peak: Amount,
    /// Not freed by the end.
    pub now: Amount,
}

/// Address of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pointer {
    /// Delta from the previous address, in bytes.
    Bytes(i64),
    /// Delta from the previous address, in units of eight bytes; moves to the front of the recent ones.
    Words(i64),
    /// Index into the recent addresses.
    Recent(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    Plain(u64),
    Difference(i64),
}

/// Number of pointers remembered.
pub const N_RECENT: usize = 15;

/// Reads the next record of version 12 or 13.
pub fn read<'a>(cursor: &mut Cursor<'a>, native: bool) -> Result<Record<'a>, Stop> {
    let first = cursor.u8()?;
    if first & 0x80 != 0 {
        let pointer = read_pointer(cursor, first >> 3 & 15)?;
        let number = if first & 7 == 0 { cursor.u8()? } else { first & 7 };
        let allocator = allocator(number, NUMBERS).ok_or(Stop::Bad)?;
        if native && !allocator.is_simple_free() {
            cursor.signed()?;
        }
        let size = if allocator.is_simple_free() { 0 } else { cursor.unsigned()? };
        return Ok(Record::Allocation { pointer, allocator, size });
    }
    if first & 0x40 != 0 {
        let frame = Number::Plain(cursor.unsigned()?);
        return Ok(Record::Push { frame, instruction: cursor.signed()? });
    }
    if first & 0x20 != 0 {
        let pointer = read_pointer(cursor, first >> 1 & 15)?;
        if native && first & 1 != 0 {
            cursor.signed()?;
        }
        return Ok(Record::Object { pointer });
    }
    if first & 0x10 != 0 {
        return Ok(Record::Pop { n: usize::from(first & 15) + 1 });
    }
    match first {
        0 => Ok(Record::Padding),
        1 => Ok(Record::End),
        2 => read_memory(cursor),
        14 => read_code(cursor),
        other => read_aside(cursor, other),
    }
}

/// Reads a code object since version 12.
pub fn read_code<'a>(cursor: &mut Cursor<'a>) -> Result<Record<'a>, Stop> {
    let id = Number::Plain(cursor.unsigned()?);
    let (function, file, line) = (cursor.text()?, cursor.text()?, cursor.signed()?);
    let n_table = usize::try_from(cursor.unsigned()?).map_err(|_| Stop::Bad)?;
    Ok(Record::Code { id, function, file, line, table: cursor.take(n_table)? })
}

fn read_pointer(cursor: &mut Cursor<'_>, index: u8) -> Result<Pointer, Stop> {
    match usize::from(index) {
        N_RECENT => Ok(Pointer::Words(cursor.signed()?)),
        recent => Ok(Pointer::Recent(recent)),
    }
}

/// Reads the next record of version 11.
pub fn read_v11<'a>(cursor: &mut Cursor<'a>) -> Result<Record<'a>, Stop> {
    let first = cursor.u8()?;
    let (kind, flags) = (first & 15, first >> 4);
    match kind {
        0 => Ok(Record::End),
        1 | 2 => {
            let is_native = kind == 2;
            let allocator = allocator(flags, NUMBERS_V11).ok_or(Stop::Bad)?;
            let pointer = Pointer::Bytes(cursor.signed()?);
            let size = if allocator.is_simple_free() && !is_native { 0 } else { cursor.unsigned()? };
            if is_native {
                cursor.signed()?;
            }
            Ok(Record::Allocation { pointer, allocator, size })
        }
        3 => {
            let id = Number::Difference(cursor.signed()?);
            let (function, file, line) = (cursor.text()?, cursor.text()?, cursor.signed()?);
            Ok(Record::Code { id, function, file, line, table: &[] })
        }
        4 => Ok(Record::Push { frame: Number::Difference(cursor.signed()?), instruction: 0 }),
        9 => Ok(Record::Pop { n: usize::from(flags) + 1 }),
        11 => read_memory(cursor),
        other => read_aside(cursor, other),
    }
}

fn read_memory<'a>(cursor: &mut Cursor<'a>) -> Result<Record<'a>, Stop> {
    Ok(Record::Memory { rss: cursor.unsigned()?, ms: cursor.unsigned()? })
}

/// Reads a record that all versions and kinds of captures share.
pub fn read_aside<'a>(cursor: &mut Cursor<'a>, kind: u8) -> Result<Record<'a>, Stop> {
    match kind {
        5 => {
            cursor.signed()?;
            cursor.signed()?;
        }
        6 => {}
        7 => {
            cursor.text()?;
            let n = cursor.unsigned()?;
            cursor.u64()?;
            for _ in 0..n {
                if cursor.u8()? != 8 {
                    return Err(Stop::Bad);
                }
                cursor.u64()?;
                cursor.unsigned()?;
            }
        }
        10 => return Ok(Record::ThreadName { name: cursor.text()? }),
        12 => return Ok(Record::Thread { tid: cursor.u64()? }),
        _ => return Err(Stop::Bad),
    }
    Ok(Record::Aside)
}

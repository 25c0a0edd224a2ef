//! Lines of code objects, from the line tables of the Python version that ran.
//!
//! Table layouts: CPython, `Objects/locations.md` (3.11 and later), `Objects/lnotab_notes.txt` (3.10, and 3.9 and earlier).

/// Line at an instruction of a code object that starts in `first_line`. `version` is `sys.hexversion`. `None` if the table has
/// none for it.
pub fn line_at(version: i32, table: &[u8], instruction: i64, first_line: i64) -> Option<i64> {
    let instruction = u64::try_from(instruction).ok()?;
    if table.is_empty() {
        return None;
    }
    match version {
        0x030b_0000.. => by_location(table, instruction / 2, first_line),
        // Instructions have two bytes, and are counted in this version.
        0x030a_0000.. => by_step(table, instruction.saturating_mul(2), first_line, true),
        _ => by_step(table, instruction, first_line, false),
    }
}

/// Python 3.11 and later: entries of one or more bytes. The first one has the kind of the location and the number of code units.
fn by_location(table: &[u8], unit: u64, first_line: i64) -> Option<i64> {
    let (mut bytes, mut line, mut end) = (table.iter().copied(), first_line, 0u64);
    loop {
        let first = bytes.next().filter(|first| first & 0x80 != 0)?;
        match first >> 3 & 15 {
            // Columns only, or no location.
            0..=9 => drop(bytes.next()?),
            15 => {}
            kind @ 10..=12 => {
                line = line.saturating_add(i64::from(kind) - 10);
                bytes.nth(1)?;
            }
            kind => {
                line = line.saturating_add(signed(&mut bytes)?);
                // End line and both columns.
                for _ in 0..if kind == 14 { 3 } else { 0 } {
                    unsigned(&mut bytes)?;
                }
            }
        }
        end += u64::from(first & 7) + 1;
        if unit < end {
            return Some(line);
        }
    }
}

/// Six bits a byte, the lowest first.
fn unsigned(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let byte = bytes.next()?;
        value |= u64::from(byte & 63).checked_shl(shift)?;
        shift += 6;
        if byte & 64 == 0 {
            return Some(value);
        }
    }
}

/// The lowest bit is the sign.
fn signed(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let value = unsigned(bytes)?;
    let size = i64::try_from(value >> 1).ok()?;
    Some(if value & 1 == 0 { size } else { -size })
}

/// Before Python 3.11: pairs of a step in bytes of code and one in lines. In 3.10, a step in lines holds for the bytes before it.
fn by_step(table: &[u8], byte: u64, first_line: i64, is_310: bool) -> Option<i64> {
    let (mut line, mut at) = (first_line, 0u64);
    for pair in table.chunks_exact(2) {
        at += u64::from(pair[0]);
        let step = i64::from(pair[1] as i8);
        // The least step stands for no line.
        let step = if is_310 && step == -128 { 0 } else { step };
        if is_310 {
            line = line.saturating_add(step);
        }
        if at > byte {
            break;
        }
        if !is_310 {
            line = line.saturating_add(step);
        }
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layout_has_its_lines() {
        // Python 3.11, `def f():` in line 1 with statements in lines 2 and 4.
        let table = [0x80, 0, 0xd8 | 7, 4, 8, 0xf0 | 1, 4, 0, 5, 9];
        let lines: Vec<_> = (0..12).map(|unit| line_at(0x030b_00f0, &table, 2 * unit, 1)).collect();
        let wanted = [1, 2, 2, 2, 2, 2, 2, 2, 2, 4, 4].map(Some);
        assert_eq!(lines[..11], wanted);
        assert_eq!(lines[11], None);
        // The examples of `lnotab_notes.txt`: lines 1, 2 and 7 from bytes 0, 6 and 50.
        let table = [6, 1, 44, 5];
        for (byte, line) in [(0, 1), (5, 1), (6, 2), (49, 2), (50, 7), (90, 7)] {
            assert_eq!(line_at(0x0309_00f0, &table, byte, 1), Some(line));
        }
        let table = [6, 0, 44, 1, 10, 5];
        for (byte, line) in [(0, 1), (4, 1), (6, 2), (48, 2), (50, 7)] {
            assert_eq!(line_at(0x030a_00f0, &table, byte / 2, 1), Some(line));
        }
        assert_eq!(line_at(0x030b_00f0, &[], 0, 1), None);
        assert_eq!(line_at(0x030b_00f0, &[0xf0, 0xff, 0xff], 0, 1), None);
    }
}

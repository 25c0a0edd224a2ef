//! Leaf pages of tables: cells with rows.

use super::header::HEADER_BYTES;
use super::record::varint;
use super::{Header, PageNumber};

/// Type of a leaf page of a table, and of an interior page.
pub const LEAF: u8 = 13;
pub const INTERIOR: u8 = 5;

/// Offset of the B-tree header in a page: the first page begins with the header of the file.
pub fn start_of(page: PageNumber) -> usize {
    if page == 1 { HEADER_BYTES } else { 0 }
}

pub fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?)))
}

pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A cell of a leaf page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell<'a> {
    /// Offset of its entry in the list of cells of the page, in bytes. Ascending.
    pub at: usize,
    pub rowid: i64,
    /// Bytes of the record.
    pub n_payload: u64,
    /// The part of the record in this page.
    pub local: &'a [u8],
    /// First page of the rest; 0 if there is none.
    pub overflow: PageNumber,
    /// Bytes of the cell in this page.
    pub n_bytes: usize,
}

/// Cells of a page in order of their ids; `Err` with its offset for each that is damaged. `None` if the page is not a leaf of a table.
pub fn cells<'a>(
    page: &'a [u8],
    number: PageNumber,
    header: &Header,
) -> Option<impl Iterator<Item = Result<Cell<'a>, usize>>> {
    let start = start_of(number);
    if *page.get(start)? != LEAF {
        return None;
    }
    let page = page.get(..header.usable_bytes as usize)?;
    let n_cells = u16_at(page, start + 3)?;
    let first = start + 8;
    if first + 2 * n_cells > page.len() {
        return None;
    }
    let header = *header;
    Some((0..n_cells).map(move |i| {
        let at = first + 2 * i;
        cell(page, at, first + 2 * n_cells, &header).ok_or(at)
    }))
}

/// The cell that the entry at `at` points to; cells begin at `from`.
fn cell<'a>(page: &'a [u8], at: usize, from: usize, header: &Header) -> Option<Cell<'a>> {
    let start = u16_at(page, at).filter(|start| *start >= from)?;
    let mut end = start;
    let n_payload = varint(page, &mut end)?;
    let rowid = varint(page, &mut end)?.cast_signed();
    let n_local = local_bytes(n_payload, header.usable_bytes);
    let local = page.get(end..)?.get(..n_local)?;
    end += n_local;
    let mut overflow = 0;
    if n_local as u64 != n_payload {
        overflow = u32_at(page, end)?;
        end += 4;
    }
    Some(Cell { at, rowid, n_payload, local, overflow, n_bytes: end - start })
}

/// Bytes of a record of `n_payload` bytes that are in its leaf page, not in overflow pages.
fn local_bytes(n_payload: u64, usable: u32) -> usize {
    let usable = u64::from(usable);
    if n_payload <= usable - 35 {
        return n_payload as usize;
    }
    let min = (usable - 12) * 32 / 255 - 23;
    let local = min + (n_payload - min) % (usable - 4);
    (if local <= usable - 35 { local } else { min }) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_records_have_a_part_in_their_page() {
        assert_eq!((local_bytes(477, 512), local_bytes(478, 512)), (477, 39));
        // One more overflow page is saved if the rest fits.
        assert_eq!(local_bytes(39 + 508 + 100, 512), 139);
        assert_eq!(local_bytes(u64::MAX, 65_536) as u64 % 65_532, {
            let min = (65_536 - 12) * 32 / 255 - 23;
            let local = min + (u64::MAX - min) % 65_532;
            if local <= 65_501 { local } else { min }
        });
    }
}

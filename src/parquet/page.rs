//! Pages: a header, levels for null values, and the values.

use super::Error;
use super::codec::Unpacker;
use super::hybrid::{self, Run};
use super::thrift;

const DAMAGED: Error = Error::Damaged("page");

/// Maximum page size.
const MAX_PAGE_BYTES: usize = 1 << 30;

/// Maximum header size: some dozen bytes, or more with texts as minimum and maximum. Other readers have the same limit.
const MAX_HEADER_BYTES: usize = 16 << 20;
const MAX_HEADER_VALUES: usize = 1024;

/// Maximum rows to allocate in advance.
const MAX_RESERVED: usize = 1 << 20;

/// Kind and content of a page.
pub enum Page<'a> {
    /// Values referred to by index.
    Dictionary {
        n_values: usize,
        values: &'a [u8],
    },
    Data(DataPage<'a>),
    /// A kind without values.
    Other,
}

pub struct DataPage<'a> {
    /// Rows, with and without a value.
    pub n_rows: usize,
    pub encoding: i64,
    pub valid: Valid,
    /// Rows that have a value.
    pub n_valid: usize,
    pub values: &'a [u8],
}

/// Which rows have a value.
pub enum Valid {
    All,
    None,
    Some(Vec<bool>),
}

/// Reads the page at the start of `bytes`; `unpacked` is a buffer for its content. Also returns the bytes consumed. `max_rows`
/// is the number of rows still to come.
pub fn read<'a>(
    bytes: &'a [u8],
    codec: i64,
    optional: bool,
    max_rows: usize,
    unpacker: &mut Unpacker,
    unpacked: &'a mut Vec<u8>,
) -> Result<(Page<'a>, usize), Error> {
    let head = &bytes[..bytes.len().min(MAX_HEADER_BYTES)];
    let (header, n_header) = thrift::read(head, MAX_HEADER_VALUES)?;
    let size = |id: i16| {
        let size = header.int(id).and_then(|size| usize::try_from(size).ok());
        size.filter(|size| *size <= MAX_PAGE_BYTES).ok_or(DAMAGED)
    };
    let (n_unpacked, n_packed) = (size(2)?, size(3)?);
    let body = bytes.get(n_header..).and_then(|rest| rest.get(..n_packed)).ok_or(DAMAGED)?;
    let n_all = n_header + n_packed;
    let count = |value: Option<i64>| value.and_then(|n| usize::try_from(n).ok()).ok_or(DAMAGED);
    let rows =
        |value: Option<i64>| count(value).and_then(|n| if n <= max_rows { Ok(n) } else { Err(DAMAGED) });
    let page = match header.int(1) {
        Some(0) => {
            let data = header.fields(5).ok_or(DAMAGED)?;
            let n_rows = rows(data.int(1))?;
            let content = content(codec, body, n_unpacked, unpacker, unpacked)?;
            let (levels, values) = if optional {
                let (length, after) = content.split_first_chunk::<4>().ok_or(DAMAGED)?;
                after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(DAMAGED)?
            } else {
                (&[][..], content)
            };
            if optional && data.int(3) != Some(3) {
                return Err(Error::Unsupported("bit-packed levels".to_string()));
            }
            data_page(data.int(2), n_rows, levels, optional, values)?
        }
        Some(3) => {
            let data = header.fields(8).ok_or(DAMAGED)?;
            let n_rows = rows(data.int(1))?;
            let n_levels = count(data.int(5))?;
            // Repetition levels come first; flat columns have none.
            if data.int(6).unwrap_or(0) != 0 {
                return Err(DAMAGED);
            }
            let (levels, packed) = body.split_at_checked(n_levels).ok_or(DAMAGED)?;
            let values = match data.bool(7) {
                Some(false) => packed,
                // A page without values has nothing to decompress.
                _ if packed.is_empty() => packed,
                _ => {
                    let n_values = n_unpacked.checked_sub(n_levels).ok_or(DAMAGED)?;
                    content(codec, packed, n_values, unpacker, unpacked)?
                }
            };
            data_page(data.int(4), n_rows, levels, optional, values)?
        }
        Some(2) => {
            let dictionary = header.fields(7).ok_or(DAMAGED)?;
            let values = content(codec, body, n_unpacked, unpacker, unpacked)?;
            Page::Dictionary { n_values: count(dictionary.int(1))?, values }
        }
        _ => Page::Other,
    };
    Ok((page, n_all))
}

fn content<'a>(
    codec: i64,
    body: &'a [u8],
    n_unpacked: usize,
    unpacker: &mut Unpacker,
    unpacked: &'a mut Vec<u8>,
) -> Result<&'a [u8], Error> {
    if codec == 0 {
        return Ok(body);
    }
    unpacker.unpack(codec, body, n_unpacked, unpacked)?;
    Ok(unpacked)
}

fn data_page<'a>(
    encoding: Option<i64>,
    n_rows: usize,
    levels: &[u8],
    optional: bool,
    values: &'a [u8],
) -> Result<Page<'a>, Error> {
    let mut page =
        DataPage { n_rows, encoding: encoding.ok_or(DAMAGED)?, valid: Valid::All, n_valid: n_rows, values };
    if optional && n_rows > 0 {
        match hybrid::single_run(levels, n_rows) {
            Some(true) => {}
            Some(false) => {
                page.n_valid = 0;
                page.valid = Valid::None;
            }
            None => {
                let mut valid = Vec::with_capacity(n_rows.min(MAX_RESERVED));
                hybrid::for_each_run(levels, 1, n_rows, |run| {
                    match run {
                        Run::Same(level, n) => valid.resize(valid.len() + n, level == 1),
                        Run::Each(levels) => valid.extend(levels.iter().map(|level| *level == 1)),
                    }
                    Ok(())
                })?;
                page.n_valid = valid.iter().map(|valid| usize::from(*valid)).sum();
                page.valid = match page.n_valid {
                    0 => Valid::None,
                    n if n == n_rows => Valid::All,
                    _ => Valid::Some(valid),
                };
            }
        }
    }
    Ok(Page::Data(page))
}

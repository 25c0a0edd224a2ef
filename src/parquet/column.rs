//! The values of one column in one row group, page by page.

use super::codec::Unpacker;
use super::hybrid::Run;
use super::metadata::{Chunk, ColumnInfo, Kind, Physical};
use super::page::{self, DataPage, Page};
use super::values::{Column, Values};
use super::{Error, delta, hybrid, plain};
use crate::base::strings::{StringId, StringTable};

const DAMAGED: Error = Error::Damaged("column");

/// Room for so many values is made beforehand, at most.
const MAX_RESERVED: usize = 1 << 20;

/// Reads the column whose bytes are `bytes`.
pub fn read(
    bytes: &[u8],
    info: &ColumnInfo,
    chunk: &Chunk,
    n_rows: usize,
    room: &mut Room,
) -> Result<Column, Error> {
    let mut valid = Validity::default();
    let values = match info.kind {
        Kind::Other => return Err(Error::Unsupported(format!("the type of column '{}'", info.name))),
        Kind::Int { signed, .. } => {
            let mut ints =
                Ints { physical: info.physical, signed, dictionary: Vec::new(), values: Vec::new() };
            pages(bytes, info, chunk, n_rows, room, &mut valid, &mut ints)?;
            Values::Ints(ints.values)
        }
        Kind::Float { .. } => {
            let mut floats = Floats { physical: info.physical, dictionary: Vec::new(), values: Vec::new() };
            pages(bytes, info, chunk, n_rows, room, &mut valid, &mut floats)?;
            Values::Floats(floats.values)
        }
        Kind::Bool => {
            let mut bools = Bools::default();
            pages(bytes, info, chunk, n_rows, room, &mut valid, &mut bools)?;
            Values::Bools(bools.values)
        }
        Kind::Text => {
            let mut texts = Texts::default();
            pages(bytes, info, chunk, n_rows, room, &mut valid, &mut texts)?;
            Values::Texts(texts.values, texts.texts)
        }
        Kind::Null => {
            pages(bytes, info, chunk, n_rows, room, &mut valid, &mut Nothing::default())?;
            Values::Null
        }
    };
    let values = if valid.n_valid == 0 { Values::Null } else { values };
    Ok(Column { valid: valid.valid, values })
}

/// Memory that reading columns one after the other uses again.
#[derive(Default)]
pub struct Room {
    unpacker: Unpacker,
    unpacked: Vec<u8>,
}

/// Which rows of all pages so far have a value.
#[derive(Default)]
struct Validity {
    valid: Option<Vec<bool>>,
    n_rows: usize,
    n_valid: usize,
}

impl Validity {
    fn add(&mut self, page: &DataPage<'_>) {
        match (&mut self.valid, &page.valid) {
            (None, None) => {}
            (Some(all), None) => all.resize(all.len() + page.n_rows, true),
            (None, Some(some)) => {
                let mut all = vec![true; self.n_rows];
                all.extend_from_slice(some);
                self.valid = Some(all);
            }
            (Some(all), Some(some)) => all.extend_from_slice(some),
        }
        self.n_rows += page.n_rows;
        self.n_valid += page.n_valid;
    }
}

/// Values of one kind.
trait Decode {
    type Value: Copy;
    /// Stands where a row has no value.
    const NO_VALUE: Self::Value;

    /// Takes the dictionary.
    fn dictionary(&mut self, bytes: &[u8], n: usize) -> Result<(), Error>;
    /// Appends `n` values.
    fn values(&mut self, encoding: i64, bytes: &[u8], n: usize) -> Result<(), Error>;
    fn all(&mut self) -> &mut Vec<Self::Value>;
}

fn pages<D: Decode>(
    bytes: &[u8],
    info: &ColumnInfo,
    chunk: &Chunk,
    n_rows: usize,
    room: &mut Room,
    valid: &mut Validity,
    out: &mut D,
) -> Result<(), Error> {
    let mut rest = bytes;
    let Room { unpacker, unpacked } = room;
    // Growing step by step would copy the values again and again.
    out.all().reserve(n_rows.min(MAX_RESERVED));
    while valid.n_rows < n_rows {
        let left = n_rows - valid.n_rows;
        let (page, n_bytes) = page::read(rest, chunk.codec, info.optional, left, unpacker, unpacked)?;
        match page {
            Page::Dictionary { n_values, values } => out.dictionary(values, n_values)?,
            Page::Data(page) => {
                let before = out.all().len();
                if page.n_valid > 0 {
                    out.values(page.encoding, page.values, page.n_valid)?;
                    if out.all().len() != before + page.n_valid {
                        return Err(DAMAGED);
                    }
                }
                if let Some(rows) = &page.valid {
                    spread(out.all(), before, rows, D::NO_VALUE);
                }
                valid.add(&page);
            }
            Page::Other => {}
        }
        rest = &rest[n_bytes..];
    }
    Ok(())
}

/// Moves the values from `start` on to the rows that have one.
fn spread<T: Copy>(values: &mut Vec<T>, start: usize, rows: &[bool], no_value: T) {
    let mut from = values.len();
    values.resize(start + rows.len(), no_value);
    for (row, is_valid) in rows.iter().enumerate().rev() {
        let value = if *is_valid && from > start {
            from -= 1;
            values[from]
        } else {
            no_value
        };
        values[start + row] = value;
    }
}

/// Replaces numbers into a dictionary by its values.
fn look_up<T: Copy>(bytes: &[u8], n: usize, dictionary: &[T], out: &mut Vec<T>) -> Result<(), Error> {
    let (width, runs) = bytes.split_first().ok_or(DAMAGED)?;
    hybrid::for_each_run(runs, *width, n, |run| {
        match run {
            Run::Same(number, n) => {
                let value = *dictionary.get(number as usize).ok_or(DAMAGED)?;
                out.resize(out.len() + n, value);
            }
            Run::Each(numbers) => {
                // One look at all of them, so that the rest is a plain loop.
                let largest = numbers.iter().fold(0, |largest, number| largest.max(*number));
                let first = dictionary.first().filter(|_| (largest as usize) < dictionary.len());
                let first = first.ok_or(DAMAGED)?;
                out.extend(numbers.iter().map(|number| *dictionary.get(*number as usize).unwrap_or(first)));
            }
        }
        Ok(())
    })
}

fn unknown_encoding(encoding: i64) -> Error {
    Error::Unsupported(format!("encoding {encoding}"))
}

struct Ints {
    physical: Physical,
    signed: bool,
    dictionary: Vec<i64>,
    values: Vec<i64>,
}

impl Decode for Ints {
    type Value = i64;
    const NO_VALUE: i64 = 0;

    fn dictionary(&mut self, bytes: &[u8], n: usize) -> Result<(), Error> {
        self.dictionary.clear();
        plain::read_ints(bytes, self.physical, self.signed, n, &mut self.dictionary)
    }

    fn values(&mut self, encoding: i64, bytes: &[u8], n: usize) -> Result<(), Error> {
        match encoding {
            0 => plain::read_ints(bytes, self.physical, self.signed, n, &mut self.values),
            2 | 8 => look_up(bytes, n, &self.dictionary, &mut self.values),
            5 => {
                let start = self.values.len();
                delta::read_ints(bytes, n, &mut self.values)?;
                if self.physical == Physical::Int32 {
                    for value in &mut self.values[start..] {
                        *value = plain::widen(*value as i32, self.signed);
                    }
                }
                Ok(())
            }
            9 => {
                let width = if self.physical == Physical::Int32 { 4 } else { 8 };
                let joined = plain::join_bytes(bytes, width, n)?;
                plain::read_ints(&joined, self.physical, self.signed, n, &mut self.values)
            }
            other => Err(unknown_encoding(other)),
        }
    }

    fn all(&mut self) -> &mut Vec<i64> {
        &mut self.values
    }
}

struct Floats {
    physical: Physical,
    dictionary: Vec<f64>,
    values: Vec<f64>,
}

impl Decode for Floats {
    type Value = f64;
    const NO_VALUE: f64 = 0.0;

    fn dictionary(&mut self, bytes: &[u8], n: usize) -> Result<(), Error> {
        self.dictionary.clear();
        plain::read_floats(bytes, self.physical, n, &mut self.dictionary)
    }

    fn values(&mut self, encoding: i64, bytes: &[u8], n: usize) -> Result<(), Error> {
        match encoding {
            0 => plain::read_floats(bytes, self.physical, n, &mut self.values),
            2 | 8 => look_up(bytes, n, &self.dictionary, &mut self.values),
            9 => {
                let width = if self.physical == Physical::Float { 4 } else { 8 };
                let joined = plain::join_bytes(bytes, width, n)?;
                plain::read_floats(&joined, self.physical, n, &mut self.values)
            }
            other => Err(unknown_encoding(other)),
        }
    }

    fn all(&mut self) -> &mut Vec<f64> {
        &mut self.values
    }
}

#[derive(Default)]
struct Bools {
    values: Vec<bool>,
}

impl Decode for Bools {
    type Value = bool;
    const NO_VALUE: bool = false;

    fn dictionary(&mut self, _bytes: &[u8], _n: usize) -> Result<(), Error> {
        Err(DAMAGED)
    }

    fn values(&mut self, encoding: i64, bytes: &[u8], n: usize) -> Result<(), Error> {
        match encoding {
            0 => hybrid::unpack(bytes, 1, n, |bit| self.values.push(bit == 1)),
            3 => {
                let mut numbers = Vec::new();
                hybrid::read(bytes.get(4..).ok_or(DAMAGED)?, 1, n, &mut numbers)?;
                self.values.extend(numbers.into_iter().map(|bit| bit == 1));
                Ok(())
            }
            other => Err(unknown_encoding(other)),
        }
    }

    fn all(&mut self) -> &mut Vec<bool> {
        &mut self.values
    }
}

#[derive(Default)]
struct Texts {
    texts: StringTable,
    dictionary: Vec<StringId>,
    values: Vec<StringId>,
}

impl Decode for Texts {
    type Value = StringId;
    const NO_VALUE: StringId = StringId::EMPTY;

    fn dictionary(&mut self, bytes: &[u8], n: usize) -> Result<(), Error> {
        let Texts { texts, dictionary, .. } = self;
        dictionary.clear();
        plain::read_texts(bytes, n, |text| dictionary.push(intern(text, texts)))
    }

    fn values(&mut self, encoding: i64, bytes: &[u8], n: usize) -> Result<(), Error> {
        let Texts { texts, dictionary, values } = self;
        let push = |text: &[u8]| values.push(intern(text, texts));
        match encoding {
            0 => plain::read_texts(bytes, n, push),
            2 | 8 => look_up(bytes, n, dictionary, values),
            6 => delta::read_texts(bytes, n, push),
            7 => delta::read_front_coded(bytes, n, push),
            other => Err(unknown_encoding(other)),
        }
    }

    fn all(&mut self) -> &mut Vec<StringId> {
        &mut self.values
    }
}

fn intern(text: &[u8], texts: &mut StringTable) -> StringId {
    texts.intern(&String::from_utf8_lossy(text))
}

/// A column of nulls.
#[derive(Default)]
struct Nothing {
    /// Stays empty but for the nulls.
    values: Vec<()>,
}

impl Decode for Nothing {
    type Value = ();
    const NO_VALUE: () = ();

    fn dictionary(&mut self, _bytes: &[u8], _n: usize) -> Result<(), Error> {
        Ok(())
    }

    fn values(&mut self, _encoding: i64, _bytes: &[u8], _n: usize) -> Result<(), Error> {
        Err(DAMAGED)
    }

    fn all(&mut self) -> &mut Vec<()> {
        &mut self.values
    }
}

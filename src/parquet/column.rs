//! Values of one column in one row group, page by page.

use super::codec::Unpacker;
use super::hybrid::Run;
use super::metadata::{Chunk, ColumnInfo, Kind, Physical};
use super::page::{self, DataPage, Page, Valid};
use super::values::{Column, Memory, Values};
use super::{Error, delta, hybrid, plain};
use crate::base::strings::{StringId, StringTable};

const DAMAGED: Error = Error::Damaged("column");

/// Reads the column stored in `bytes`.
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
            let mut ints = Ints::new(info.physical, signed, room);
            pages(bytes, info, chunk, n_rows, room, &mut valid, &mut ints)?;
            if ints.codes.is_empty() {
                room.take_back(Memory::Codes(ints.codes));
                room.take_back(Memory::Ints(ints.dictionary));
                Values::Ints(ints.values)
            } else {
                room.take_back(Memory::Ints(ints.values));
                Values::Codes(ints.codes, ints.dictionary)
            }
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
            let mut texts = Texts { values: room.texts.pop().unwrap_or_default(), ..Texts::default() };
            pages(bytes, info, chunk, n_rows, room, &mut valid, &mut texts)?;
            Values::Texts(texts.values, texts.texts)
        }
        Kind::Null => {
            pages(bytes, info, chunk, n_rows, room, &mut valid, &mut Nothing::default())?;
            Values::Null
        }
    };
    Ok(match valid.n_valid {
        0 => Column::default(),
        _ => Column { valid: valid.valid, values },
    })
}

/// Reusable memory for reading columns.
#[derive(Default)]
pub struct Room {
    unpacker: Unpacker,
    unpacked: Vec<u8>,
    ints: Vec<Vec<i64>>,
    codes: Vec<Vec<u32>>,
    texts: Vec<Vec<StringId>>,
}

/// Maximum number of columns whose memory is kept.
const MAX_KEPT: usize = 32;

impl Room {
    /// Takes memory for later columns.
    pub fn take_back(&mut self, memory: Memory) {
        fn keep<T>(mut values: Vec<T>, kept: &mut Vec<Vec<T>>) {
            if values.capacity() > 0 && kept.len() < MAX_KEPT {
                values.clear();
                kept.push(values);
            }
        }
        match memory {
            Memory::Ints(ints) => keep(ints, &mut self.ints),
            Memory::Codes(codes) => keep(codes, &mut self.codes),
            Memory::Texts(texts) => keep(texts, &mut self.texts),
        }
    }
}

/// Which rows of all pages so far have a value.
#[derive(Default)]
struct Validity {
    /// Set once some rows have a value and some do not.
    valid: Option<Vec<bool>>,
    n_rows: usize,
    n_valid: usize,
}

impl Validity {
    fn add(&mut self, page: &DataPage<'_>) {
        let n_after = self.n_rows + page.n_rows;
        // A column without any value is not written.
        let is_plain = self.n_valid + page.n_valid == 0
            || self.n_valid == self.n_rows && matches!(page.valid, Valid::All);
        if !is_plain {
            let are_valid = self.n_valid > 0;
            let valid = self.valid.get_or_insert_with(|| vec![are_valid; self.n_rows]);
            match &page.valid {
                Valid::All => valid.resize(n_after, true),
                Valid::None => valid.resize(n_after, false),
                Valid::Some(some) => valid.extend_from_slice(some),
            }
        }
        self.n_rows = n_after;
        self.n_valid += page.n_valid;
    }
}

/// Decoder for one kind of values.
trait Decode {
    /// Reads the dictionary.
    fn dictionary(&mut self, bytes: &[u8], n: usize) -> Result<(), Error>;
    /// Appends `n` values.
    fn values(&mut self, encoding: i64, bytes: &[u8], n: usize) -> Result<(), Error>;
    /// Number of values so far.
    fn len(&self) -> usize;
    /// Moves the values from `start` on to the rows that have one.
    fn spread(&mut self, start: usize, rows: &[bool]);
    /// Appends `n` rows without a value; the first ones before any other.
    fn skip(&mut self, n: usize);
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
    let Room { unpacker, unpacked, .. } = room;
    while valid.n_rows < n_rows {
        let left = n_rows - valid.n_rows;
        let (page, n_bytes) = page::read(rest, chunk.codec, info.optional, left, unpacker, unpacked)?;
        match page {
            Page::Dictionary { n_values, values } => out.dictionary(values, n_values)?,
            Page::Data(page) => {
                // Without any values there is nothing to keep.
                if page.n_valid > 0 {
                    out.skip(valid.n_rows - out.len().min(valid.n_rows));
                    out.values(page.encoding, page.values, page.n_valid)?;
                    if out.len() != valid.n_rows + page.n_valid {
                        return Err(DAMAGED);
                    }
                    if let Valid::Some(rows) = &page.valid {
                        out.spread(valid.n_rows, rows);
                    }
                }
                valid.add(&page);
            }
            Page::Other => {}
        }
        rest = &rest[n_bytes..];
    }
    if valid.n_valid > 0 {
        out.skip(n_rows - out.len().min(n_rows));
    }
    Ok(())
}

/// Moves the values from `start` on to the rows that have one.
fn spread<T: Copy>(values: &mut Vec<T>, start: usize, rows: &[bool], no_value: T) {
    let mut from = values.len();
    values.resize(start + rows.len(), no_value);
    for (row, is_valid) in rows.iter().enumerate().rev() {
        // Branchless, since a branch would be unpredictable.
        from -= usize::from(*is_valid && from > start);
        let value = values.get(from).copied().unwrap_or(no_value);
        values[start + row] = if *is_valid { value } else { no_value };
    }
}

/// Replaces dictionary indexes by values.
fn look_up<T: Copy>(bytes: &[u8], n: usize, dictionary: &[T], out: &mut Vec<T>) -> Result<(), Error> {
    let (width, runs) = bytes.split_first().ok_or(DAMAGED)?;
    hybrid::for_each_run(runs, *width, n, |run| {
        match run {
            Run::Same(number, n) => {
                let value = *dictionary.get(number as usize).ok_or(DAMAGED)?;
                out.resize(out.len() + n, value);
            }
            Run::Each(numbers) => {
                // One check for all, so that the rest is a plain loop.
                let largest = numbers.iter().fold(0, |largest, number| largest.max(*number));
                let first = dictionary.first().filter(|_| (largest as usize) < dictionary.len());
                let first = first.ok_or(DAMAGED)?;
                out.extend(numbers.iter().map(|number| *dictionary.get(*number as usize).unwrap_or(first)));
            }
        }
        Ok(())
    })
}

/// Allocates `n` more values, at most the number of rows still to come.
fn room_for<T: Copy>(n: usize, value: T, out: &mut Vec<T>) -> &mut [T] {
    let start = out.len();
    out.resize(start + n, value);
    &mut out[start..]
}

/// Reads indexes into a dictionary of `n_dictionary` values.
fn read_codes(bytes: &[u8], n_dictionary: usize, out: &mut [u32]) -> Result<(), Error> {
    let (width, runs) = bytes.split_first().ok_or(DAMAGED)?;
    let largest = hybrid::read(runs, *width, out)?;
    if (largest as usize) < n_dictionary { Ok(()) } else { Err(DAMAGED) }
}

fn unknown_encoding(encoding: i64) -> Error {
    Error::Unsupported(format!("encoding {encoding}"))
}

/// Integers as dictionary indexes as long as all pages use a dictionary, then as plain values.
struct Ints {
    physical: Physical,
    signed: bool,
    dictionary: Vec<i64>,
    /// Either `codes` or `values` is empty.
    codes: Vec<u32>,
    values: Vec<i64>,
}

impl Ints {
    fn new(physical: Physical, signed: bool, room: &mut Room) -> Ints {
        Ints {
            physical,
            signed,
            dictionary: room.ints.pop().unwrap_or_default(),
            codes: room.codes.pop().unwrap_or_default(),
            values: room.ints.pop().unwrap_or_default(),
        }
    }

    /// Converts indexes to plain values.
    fn spell_out(&mut self) {
        let dictionary = &self.dictionary;
        let number = |code: &u32| dictionary.get(*code as usize).copied().unwrap_or(0);
        self.values.extend(self.codes.iter().map(number));
        self.codes.clear();
    }
}

impl Decode for Ints {
    fn dictionary(&mut self, bytes: &[u8], n: usize) -> Result<(), Error> {
        self.spell_out();
        self.dictionary.clear();
        plain::read_ints(bytes, self.physical, self.signed, n, &mut self.dictionary)
    }

    fn values(&mut self, encoding: i64, bytes: &[u8], n: usize) -> Result<(), Error> {
        if matches!(encoding, 2 | 8) {
            if self.values.is_empty() {
                return read_codes(bytes, self.dictionary.len(), room_for(n, 0, &mut self.codes));
            }
            return look_up(bytes, n, &self.dictionary, &mut self.values);
        }
        self.spell_out();
        match encoding {
            0 => plain::read_ints(bytes, self.physical, self.signed, n, &mut self.values),
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

    fn len(&self) -> usize {
        self.codes.len() + self.values.len()
    }

    fn spread(&mut self, start: usize, rows: &[bool]) {
        match self.codes.is_empty() {
            true => spread(&mut self.values, start, rows, 0),
            false => spread(&mut self.codes, start, rows, 0),
        }
    }

    fn skip(&mut self, n: usize) {
        // Until a dictionary is used, either form is possible.
        match self.values.is_empty() && !self.dictionary.is_empty() {
            true => self.codes.resize(self.codes.len() + n, 0),
            false => self.values.resize(self.values.len() + n, 0),
        }
    }
}

struct Floats {
    physical: Physical,
    dictionary: Vec<f64>,
    values: Vec<f64>,
}

impl Decode for Floats {
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

    fn len(&self) -> usize {
        self.values.len()
    }

    fn spread(&mut self, start: usize, rows: &[bool]) {
        spread(&mut self.values, start, rows, 0.0);
    }

    fn skip(&mut self, n: usize) {
        self.values.resize(self.values.len() + n, 0.0);
    }
}

#[derive(Default)]
struct Bools {
    values: Vec<bool>,
}

impl Decode for Bools {
    fn dictionary(&mut self, _bytes: &[u8], _n: usize) -> Result<(), Error> {
        Err(DAMAGED)
    }

    fn values(&mut self, encoding: i64, bytes: &[u8], n: usize) -> Result<(), Error> {
        match encoding {
            0 => hybrid::unpack(bytes, 1, n, |bit| self.values.push(bit == 1)),
            3 => {
                let mut numbers = vec![0; n];
                hybrid::read(bytes.get(4..).ok_or(DAMAGED)?, 1, &mut numbers)?;
                self.values.extend(numbers.into_iter().map(|bit| bit == 1));
                Ok(())
            }
            other => Err(unknown_encoding(other)),
        }
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn spread(&mut self, start: usize, rows: &[bool]) {
        spread(&mut self.values, start, rows, false);
    }

    fn skip(&mut self, n: usize) {
        self.values.resize(self.values.len() + n, false);
    }
}

#[derive(Default)]
struct Texts {
    texts: StringTable,
    dictionary: Vec<StringId>,
    /// Text ids are dictionary indexes plus one: the dictionary starts the column and has each text once, without the empty
    /// one.
    is_in_order: bool,
    values: Vec<StringId>,
}

impl Decode for Texts {
    fn dictionary(&mut self, bytes: &[u8], n: usize) -> Result<(), Error> {
        let Texts { texts, dictionary, is_in_order, .. } = self;
        dictionary.clear();
        plain::read_texts(bytes, n, |text| dictionary.push(intern(text, texts)))?;
        *is_in_order = dictionary.iter().enumerate().all(|(at, id)| id.0 as usize == at + 1);
        Ok(())
    }

    fn values(&mut self, encoding: i64, bytes: &[u8], n: usize) -> Result<(), Error> {
        let Texts { texts, dictionary, is_in_order, values } = self;
        let push = |text: &[u8]| values.push(intern(text, texts));
        match encoding {
            0 => plain::read_texts(bytes, n, push),
            2 | 8 => {
                let ids = room_for(n, StringId::EMPTY, values);
                read_codes(bytes, dictionary.len(), bytemuck::must_cast_slice_mut(ids))?;
                match is_in_order {
                    true => ids.iter_mut().for_each(|id| id.0 = id.0.wrapping_add(1)),
                    false => ids.iter_mut().for_each(|id| {
                        *id = dictionary.get(id.0 as usize).copied().unwrap_or(StringId::EMPTY);
                    }),
                }
                Ok(())
            }
            6 => delta::read_texts(bytes, n, push),
            7 => delta::read_front_coded(bytes, n, push),
            other => Err(unknown_encoding(other)),
        }
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn spread(&mut self, start: usize, rows: &[bool]) {
        spread(&mut self.values, start, rows, StringId::EMPTY);
    }

    fn skip(&mut self, n: usize) {
        self.values.resize(self.values.len() + n, StringId::EMPTY);
    }
}

fn intern(text: &[u8], texts: &mut StringTable) -> StringId {
    texts.intern(&String::from_utf8_lossy(text))
}

/// A column of nulls.
#[derive(Default)]
struct Nothing {
    /// Only counts nulls.
    values: Vec<()>,
}

impl Decode for Nothing {
    fn dictionary(&mut self, _bytes: &[u8], _n: usize) -> Result<(), Error> {
        Ok(())
    }

    fn values(&mut self, _encoding: i64, _bytes: &[u8], _n: usize) -> Result<(), Error> {
        Err(DAMAGED)
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn spread(&mut self, start: usize, rows: &[bool]) {
        spread(&mut self.values, start, rows, ());
    }

    fn skip(&mut self, n: usize) {
        self.values.resize(self.values.len() + n, ());
    }
}

#[cfg(test)]
mod tests {
    use super::super::thrift::Message;
    use super::*;
    use proptest::prelude::*;

    /// Rows of a page, and whether their values are dictionary indexes.
    type Rows = (Vec<Option<i64>>, bool);

    fn page(kind: i32, id: i16, header: Message, content: &[u8], out: &mut Vec<u8>) {
        let n_bytes = content.len() as i32;
        let header = Message::default().i32(1, kind).i32(2, n_bytes).i32(3, n_bytes).message(id, header);
        out.extend_from_slice(&header.finish());
        out.extend_from_slice(content);
    }

    /// Bytes of a column with these pages; `plain` encodes a value.
    fn column_of(pages: &[Rows], plain: impl Fn(i64) -> Vec<u8>) -> Vec<u8> {
        let mut distinct: Vec<i64> = pages.iter().flat_map(|(rows, _)| rows).flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let mut out = Vec::new();
        let dictionary = distinct.iter().flat_map(|value| plain(*value)).collect::<Vec<u8>>();
        page(2, 7, Message::default().i32(1, distinct.len() as i32).i32(2, 0), &dictionary, &mut out);
        for (rows, is_coded) in pages {
            let levels: Vec<u32> = rows.iter().map(|row| u32::from(row.is_some())).collect();
            let mut content = vec![0; 4];
            hybrid::write(&levels, 1, &mut content);
            let n_levels = content.len() as u32 - 4;
            content[..4].copy_from_slice(&n_levels.to_le_bytes());
            let values = rows.iter().flatten();
            if *is_coded {
                let codes: Vec<u32> =
                    values.map(|value| distinct.binary_search(value).unwrap() as u32).collect();
                let width = hybrid::width_of(distinct.len() as u32);
                content.push(width);
                hybrid::write(&codes, width, &mut content);
            } else {
                content.extend(values.flat_map(|value| plain(*value)));
            }
            let encoding = if *is_coded { 8 } else { 0 };
            let header = Message::default().i32(1, rows.len() as i32).i32(2, encoding).i32(3, 3).i32(4, 3);
            page(0, 5, header, &content, &mut out);
        }
        out
    }

    fn pages_of_rows() -> impl Strategy<Value = Vec<Rows>> {
        let rows = prop_oneof![
            prop::collection::vec(Just(None), 1..40),
            prop::collection::vec((0..9i64).prop_map(Some), 1..40),
            prop::collection::vec(prop::option::of(0..2000i64), 1..400),
        ];
        prop::collection::vec((rows, any::<bool>()), 1..6)
    }

    proptest! {
        #[test]
        fn pages_of_any_kind_are_one_column(columns in prop::collection::vec(pages_of_rows(), 1..4)) {
            // Memory is reused from one to the next.
            let mut room = Room::default();
            for pages in columns {
                let rows: Vec<Option<i64>> = pages.iter().flat_map(|(rows, _)| rows).copied().collect();
                let number = |value: i64| (value * 1_000_000_007).to_le_bytes().to_vec();
                let text = |value: i64| {
                    let text = format!("number {value}");
                    [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
                };
                for is_text in [false, true] {
                    let bytes = match is_text {
                        false => column_of(&pages, number),
                        true => column_of(&pages, text),
                    };
                    let (kind, physical) = match is_text {
                        false => (Kind::Int { bits: 64, signed: true }, Physical::Int64),
                        true => (Kind::Text, Physical::Bytes),
                    };
                    let info = ColumnInfo { name: String::new(), kind, optional: true, unit_ns: None, other_type: "", physical };
                    let n_bytes = bytes.len() as u64;
                    let chunk = Chunk { codec: 0, n_values: rows.len() as u64, start: 0, n_bytes };
                    let column = read(&bytes, &info, &chunk, rows.len(), &mut room).unwrap();
                    for (at, row) in rows.iter().enumerate() {
                        if is_text {
                            let text = row.map(|value| format!("number {value}"));
                            prop_assert_eq!(column.text(at), text.as_deref());
                        } else {
                            prop_assert_eq!(column.int(at), row.map(|value| value * 1_000_000_007));
                        }
                    }
                    prop_assert_eq!(column.valid.is_some(), rows.contains(&None) && rows.iter().any(Option::is_some));
                    let (ints, valid) = column.clone().spelled_out().into_ints(rows.len());
                    prop_assert!(is_text || valid.as_ref().is_none_or(|valid| valid.len() == ints.len()));
                    if let Values::Codes(codes, numbers) = column.values {
                        room.take_back(Memory::Codes(codes));
                        room.take_back(Memory::Ints(numbers));
                    } else if let Values::Ints(values) = column.values {
                        room.take_back(Memory::Ints(values));
                    }
                }
            }
        }
    }
}

//! Writing of files: row groups of columns with statistics, compressed with zstd.

use super::MAGIC;
use super::metadata::Kind;
use super::thrift::Message;
use super::values::{Column, Values};
use super::{codec, delta, hybrid};
use crate::base::hash::HashMap;
use crate::base::strings::{StringId, StringTable};
use std::borrow::Cow;

/// Maximum size of texts in statistics; longer ones are left out.
const MAX_STATISTIC_BYTES: usize = 128;

/// Column to write: booleans, unsigned integers of 8 to 64 bits, signed ones of 64, doubles, texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnSpec {
    pub name: Cow<'static, str>,
    pub kind: Kind,
}

impl Kind {
    /// Id of the physical type. Kinds that cannot be written become columns of nulls.
    fn physical(self) -> i32 {
        match self {
            Kind::Bool => 0,
            Kind::Int { bits: 64, .. } => 2,
            Kind::Int { .. } | Kind::Null | Kind::Other => 1,
            Kind::Float { .. } => 5,
            Kind::Text => 6,
        }
    }
}

impl ColumnSpec {
    pub const fn text(name: &'static str) -> ColumnSpec {
        ColumnSpec { name: Cow::Borrowed(name), kind: Kind::Text }
    }

    pub const fn uint(name: &'static str, bits: u8) -> ColumnSpec {
        ColumnSpec { name: Cow::Borrowed(name), kind: Kind::Int { bits, signed: false } }
    }

    /// Schema element.
    fn element(&self) -> Message {
        let element =
            Message::default().i32(1, self.kind.physical()).i32(3, 1).binary(4, self.name.as_bytes());
        let integer = |bits: u8, signed: bool| {
            Message::default().message(10, Message::default().i8(1, bits as i8).bool(2, signed))
        };
        match self.kind {
            Kind::Text => element.i32(6, 0).message(10, Message::default().message(1, Message::default())),
            Kind::Int { bits, signed: false } => {
                let converted = match bits {
                    8 => 11,
                    16 => 12,
                    32 => 13,
                    _ => 14,
                };
                element.i32(6, converted).message(10, integer(bits, false))
            }
            Kind::Int { signed: true, .. } => element.i32(6, 18).message(10, integer(64, true)),
            Kind::Float { .. } | Kind::Bool | Kind::Null | Kind::Other => element,
        }
    }
}

/// Writer of a file, front to back.
pub struct Writer {
    columns: Vec<ColumnSpec>,
    key_values: Vec<(String, String)>,
    out: Vec<u8>,
    /// Bytes already taken.
    n_taken: u64,
    row_groups: Vec<Message>,
    n_rows: u64,
}

impl Writer {
    pub fn new(columns: &[ColumnSpec], key_values: &[(&str, &str)]) -> Writer {
        let key_values = key_values.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Writer {
            columns: columns.to_vec(),
            key_values,
            out: MAGIC.to_vec(),
            n_taken: 0,
            row_groups: Vec::new(),
            n_rows: 0,
        }
    }

    /// Adds a row group of `n_rows` rows, with columns in the order of the specifications. A value that does not fit its
    /// column becomes null.
    pub fn row_group(&mut self, n_rows: usize, columns: &[Column]) {
        let start = self.at();
        let n_taken = self.n_taken;
        let mut n_unpacked = 0;
        let empty = Column::default();
        let chunks = self
            .columns
            .clone()
            .iter()
            .enumerate()
            .map(|(n, spec)| {
                let chunk = Chunk::of(spec.kind, columns.get(n).unwrap_or(&empty), n_rows);
                let (message, size) = chunk.write(spec, n_rows, n_taken, &mut self.out);
                n_unpacked += size;
                message
            })
            .collect();
        let n_bytes = self.at() - start;
        let group = Message::default()
            .messages(1, chunks)
            .i64(2, n_unpacked as i64)
            .i64(3, n_rows as i64)
            .i64(5, start as i64)
            .i64(6, n_bytes as i64);
        self.row_groups.push(group);
        self.n_rows += n_rows as u64;
    }

    /// Current file offset.
    fn at(&self) -> u64 {
        self.n_taken + self.out.len() as u64
    }

    /// Takes the bytes written so far, so that a large file need not fit in memory.
    pub fn take(&mut self) -> Vec<u8> {
        self.n_taken = self.at();
        std::mem::take(&mut self.out)
    }

    /// Ends the file and returns the rest of its bytes.
    pub fn finish(self) -> Vec<u8> {
        let Writer { columns, key_values, mut out, n_taken: _, row_groups, n_rows } = self;
        let root = Message::default().binary(4, b"schema").i32(5, columns.len() as i32);
        let schema = std::iter::once(root).chain(columns.iter().map(|column| column.element())).collect();
        let key_values = key_values
            .iter()
            .map(|(key, value)| Message::default().binary(1, key.as_bytes()).binary(2, value.as_bytes()))
            .collect();
        // Type-defined order; without it, statistics of unsigned numbers and texts are invalid.
        let orders = columns.iter().map(|_| Message::default().message(1, Message::default())).collect();
        let footer = Message::default()
            .i32(1, 2)
            .messages(2, schema)
            .i64(3, n_rows as i64)
            .messages(4, row_groups)
            .messages(5, key_values)
            .binary(6, concat!("tracedrop version ", env!("CARGO_PKG_VERSION")).as_bytes())
            .messages(7, orders)
            .finish();
        out.extend_from_slice(&footer);
        out.extend_from_slice(&(footer.len() as u32).to_le_bytes());
        out.extend_from_slice(MAGIC);
        out
    }
}

/// Values of the rows that have one.
fn present<T: Copy>(column: &Column, values: &[T], n_rows: usize) -> Vec<Option<T>> {
    (0..n_rows).map(|row| values.get(row).copied().filter(|_| column.is_valid(row))).collect()
}

/// Encoded column.
#[derive(Default)]
struct Chunk {
    /// 1 for rows that have a value.
    levels: Vec<u32>,
    dictionary: Vec<u8>,
    n_dictionary: usize,
    /// Dictionary indexes, plain values, or differences.
    body: Vec<u8>,
    has_differences: bool,
    bounds: Option<(Vec<u8>, Vec<u8>)>,
}

impl Chunk {
    fn of(kind: Kind, column: &Column, n_rows: usize) -> Chunk {
        match (kind, &column.values) {
            (Kind::Int { bits, signed: false }, Values::Ints(values)) => {
                Chunk::of_uints(bits, column, values, n_rows)
            }
            (Kind::Int { bits: 64, signed: true }, Values::Ints(values)) => {
                Chunk::of_ints(column, values, n_rows)
            }
            (Kind::Int { .. }, Values::Codes(..)) => Chunk::of(kind, &column.clone().spelled_out(), n_rows),
            (Kind::Float { .. }, Values::Floats(values)) => Chunk::of_doubles(column, values, n_rows),
            (Kind::Bool, Values::Bools(values)) => Chunk::of_bools(column, values, n_rows),
            (Kind::Text, Values::Texts(ids, texts)) => Chunk::of_texts(column, ids, texts, n_rows),
            _ => Chunk { levels: vec![0; n_rows], ..Chunk::default() },
        }
    }

    fn of_ints(column: &Column, values: &[i64], n_rows: usize) -> Chunk {
        let rows = present(column, values, n_rows);
        let bounds = rows.iter().flatten().min().zip(rows.iter().flatten().max());
        let bounds = bounds.map(|(min, max)| (min.to_le_bytes().to_vec(), max.to_le_bytes().to_vec()));
        let chunk = Chunk::encode(&rows, bounds, |value, out| out.extend_from_slice(&value.to_le_bytes()));
        chunk.with_differences(|| rows.iter().flatten().copied().collect())
    }

    /// Without bounds: readers disagree on the order of NaN and the two zeros.
    fn of_doubles(column: &Column, values: &[f64], n_rows: usize) -> Chunk {
        // Compared by bits, since NaN is not equal to itself.
        let bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
        let rows = present(column, &bits, n_rows);
        Chunk::encode(&rows, None, |value, out| out.extend_from_slice(&value.to_le_bytes()))
    }

    /// Eight per byte, first in the lowest bit.
    fn of_bools(column: &Column, values: &[bool], n_rows: usize) -> Chunk {
        let rows = present(column, values, n_rows);
        let mut body = Vec::new();
        for (number, value) in rows.iter().flatten().enumerate() {
            if number % 8 == 0 {
                body.push(0);
            }
            if let Some(last) = body.last_mut() {
                *last |= u8::from(*value) << (number % 8);
            }
        }
        let levels = rows.iter().map(|value| u32::from(value.is_some())).collect();
        Chunk { levels, body, ..Chunk::default() }
    }

    fn of_uints(bits: u8, column: &Column, values: &[i64], n_rows: usize) -> Chunk {
        let max = if bits == 64 { u64::MAX } else { (1u64 << bits) - 1 };
        let rows: Vec<Option<u64>> = present(column, values, n_rows)
            .into_iter()
            .map(|value| value.map(|value| value as u64).filter(|value| *value <= max))
            .collect();
        let width = if bits == 64 { 8 } else { 4 };
        let push = |value: u64, out: &mut Vec<u8>| out.extend_from_slice(&value.to_le_bytes()[..width]);
        let bytes = |value: u64| value.to_le_bytes()[..width].to_vec();
        let present = rows.iter().flatten();
        let bounds = present.clone().min().zip(present.max()).map(|(min, max)| (bytes(*min), bytes(*max)));
        let chunk = Chunk::encode(&rows, bounds, push);
        match bits {
            64 => chunk.with_differences(|| rows.iter().flatten().map(|value| *value as i64).collect()),
            _ => chunk,
        }
    }

    /// Uses differences for 64-bit numbers if they take at most half the bytes, as for times and positions. They also compress
    /// better and decompress many times faster, since zstd otherwise finds an earlier match in each number.
    fn with_differences(mut self, values: impl FnOnce() -> Vec<i64>) -> Chunk {
        if self.n_dictionary > 0 || self.body.is_empty() {
            return self;
        }
        let mut differences = Vec::new();
        delta::write_ints(&values(), &mut differences);
        if differences.len() * 2 <= self.body.len() {
            (self.body, self.has_differences) = (differences, true);
        }
        self
    }

    fn of_texts(column: &Column, ids: &[StringId], texts: &StringTable, n_rows: usize) -> Chunk {
        let rows = present(column, ids, n_rows);
        let push = |id: StringId, out: &mut Vec<u8>| {
            let text = texts.get(id).as_bytes();
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text);
        };
        let mut distinct: Vec<StringId> = rows.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let present = distinct.iter().map(|id| texts.get(*id).as_bytes());
        let bounds = present.clone().min().zip(present.max());
        let bounds = bounds.filter(|(min, max)| min.len().max(max.len()) <= MAX_STATISTIC_BYTES);
        Chunk::encode(&rows, bounds.map(|(min, max)| (min.to_vec(), max.to_vec())), push)
    }

    /// With a dictionary if values occur at least twice on average, else plain.
    fn encode<T: Copy + Eq + std::hash::Hash>(
        rows: &[Option<T>],
        bounds: Option<(Vec<u8>, Vec<u8>)>,
        push: impl Fn(T, &mut Vec<u8>),
    ) -> Chunk {
        let levels: Vec<u32> = rows.iter().map(|value| u32::from(value.is_some())).collect();
        let max_distinct = (rows.len() / 2).max(1);
        let mut number_of: HashMap<T, u32> = HashMap::default();
        let mut dictionary = Vec::new();
        let mut numbers = Vec::with_capacity(rows.len());
        for value in rows.iter().flatten() {
            let next = number_of.len() as u32;
            let number = *number_of.entry(*value).or_insert_with(|| {
                push(*value, &mut dictionary);
                next
            });
            numbers.push(number);
            if number_of.len() > max_distinct {
                break;
            }
        }
        let mut body = Vec::new();
        if number_of.len() > max_distinct {
            rows.iter().flatten().for_each(|value| push(*value, &mut body));
            return Chunk { levels, body, bounds, ..Chunk::default() };
        }
        if numbers.is_empty() {
            return Chunk { levels, bounds, ..Chunk::default() };
        }
        let width = hybrid::width_of((number_of.len() as u32).saturating_sub(1));
        body.push(width);
        hybrid::write(&numbers, width, &mut body);
        Chunk { levels, dictionary, n_dictionary: number_of.len(), body, bounds, ..Chunk::default() }
    }

    /// Appends its pages to `out`, after `n_before` bytes; returns its footer entry and its uncompressed size.
    fn write(self, spec: &ColumnSpec, n_rows: usize, n_before: u64, out: &mut Vec<u8>) -> (Message, u64) {
        let start = n_before + out.len() as u64;
        let mut n_unpacked = 0;
        let mut page = |kind: i32, id: i16, header: Message, content: &[u8]| {
            let packed = codec::pack_zstd(content);
            let header = Message::default()
                .i32(1, kind)
                .i32(2, content.len() as i32)
                .i32(3, packed.len() as i32)
                .message(id, header)
                .finish();
            n_unpacked += (header.len() + content.len()) as u64;
            out.extend_from_slice(&header);
            out.extend_from_slice(&packed);
            n_before + out.len() as u64
        };
        let has_dictionary = self.n_dictionary > 0;
        let mut first_page = start;
        if has_dictionary {
            let header = Message::default().i32(1, self.n_dictionary as i32).i32(2, 0);
            first_page = page(2, 7, header, &self.dictionary);
        }
        let mut content = vec![0; 4];
        hybrid::write(&self.levels, 1, &mut content);
        let n_levels = (content.len() - 4) as u32;
        content[..4].copy_from_slice(&n_levels.to_le_bytes());
        content.extend_from_slice(&self.body);
        let encoding = match (has_dictionary, self.has_differences) {
            (true, _) => 8,
            (false, true) => 5,
            (false, false) => 0,
        };
        let header = Message::default().i32(1, n_rows as i32).i32(2, encoding).i32(3, 3).i32(4, 3);
        page(0, 5, header, &content);
        let n_null = self.levels.iter().filter(|level| **level == 0).count();
        let mut statistics = Message::default().i64(3, n_null as i64);
        if let Some((min, max)) = &self.bounds {
            statistics = statistics.binary(5, max).binary(6, min);
        }
        let encodings: &[i32] = if has_dictionary { &[0, 3, 8] } else { &[encoding, 3] };
        let mut data = Message::default()
            .i32(1, spec.kind.physical())
            .ints(2, encodings)
            .binaries(3, &[spec.name.as_bytes()])
            .i32(4, codec::ZSTD)
            .i64(5, n_rows as i64)
            .i64(6, n_unpacked as i64)
            .i64(7, (n_before + out.len() as u64 - start) as i64)
            .i64(9, first_page as i64);
        if has_dictionary {
            data = data.i64(11, start as i64);
        }
        let data = data.message(12, statistics);
        (Message::default().i64(2, start as i64).message(3, data), n_unpacked)
    }
}

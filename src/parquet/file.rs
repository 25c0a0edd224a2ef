//! Parquet files with random access.

use super::column::{self, Room};
use super::metadata::{Chunk, ColumnInfo, Kind, Metadata};
use super::values::{Column, Memory};
use super::{Error, MAGIC};
use crate::base::source::Source;
use crate::base::threads::{self, n_threads};
use std::cell::RefCell;

/// Maximum footer size.
const MAX_FOOTER_BYTES: u64 = 64 << 20;

/// Maximum rows per byte of a file, plus some for small files. Tables of traces take at least a byte per row; a file that
/// claims a thousand times as many rows is forged to fill the memory.
const MAX_ROWS_PER_BYTE: u64 = 64;
const ALWAYS_ALLOWED_ROWS: u64 = 100_000;

/// Maximum rows per row group, which are all in memory at once. Writers make groups of a hundred thousand to a million.
const MAX_GROUP_ROWS: u64 = if usize::BITS == 32 { 8_000_000 } else { 64_000_000 };

/// A file whose footer has been read.
pub struct ParquetFile<S> {
    source: S,
    metadata: Metadata,
    /// Reusable memory, one per thread.
    rooms: RefCell<Vec<Room>>,
    /// Buffers of the columns read last.
    bytes: RefCell<Vec<Vec<u8>>>,
}

impl<S: Source> ParquetFile<S> {
    /// Reads the footer of `source`.
    pub fn open(source: S) -> Result<ParquetFile<S>, Error> {
        let n_bytes = source.n_bytes();
        let tail_start =
            n_bytes.checked_sub(8).filter(|start| *start >= 4).ok_or(Error::Damaged("file size"))?;
        let (mut tail, mut head) = ([0; 8], [0; 4]);
        read(&source, 0, &mut head)?;
        read(&source, tail_start, &mut tail)?;
        let [a, b, c, d, magic @ ..] = tail;
        if &magic == b"PARE" || &head == b"PARE" {
            return Err(Error::Unsupported("encryption".to_string()));
        }
        if &magic != MAGIC || &head != MAGIC {
            return Err(Error::Damaged("no footer; the copy may be incomplete"));
        }
        let n_footer = u64::from(u32::from_le_bytes([a, b, c, d]));
        let start = tail_start.checked_sub(n_footer).filter(|_| n_footer <= MAX_FOOTER_BYTES);
        let start = start.ok_or(Error::Damaged("footer size"))?;
        let mut footer = vec![0; n_footer as usize];
        read(&source, start, &mut footer)?;
        let metadata = Metadata::read(&footer)?;
        if metadata.n_rows > n_bytes.saturating_mul(MAX_ROWS_PER_BYTE).saturating_add(ALWAYS_ALLOWED_ROWS) {
            return Err(Error::Damaged("row count"));
        }
        if metadata.row_groups.iter().any(|group| group.n_rows > MAX_GROUP_ROWS) {
            return Err(Error::Unsupported(format!(
                "row groups of more than {} million rows",
                MAX_GROUP_ROWS / 1_000_000
            )));
        }
        // Columns must not overlap, or a small file could take forever.
        let chunks = metadata.row_groups.iter().flat_map(|group| &group.chunks);
        if chunks.fold(0u64, |sum, chunk| sum.saturating_add(chunk.n_bytes)) > n_bytes {
            return Err(Error::Damaged("column offsets"));
        }
        Ok(ParquetFile { source, metadata, rooms: RefCell::default(), bytes: RefCell::default() })
    }

    pub fn columns(&self) -> &[ColumnInfo] {
        &self.metadata.columns
    }

    /// Index of the readable column of that name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns().iter().position(|column| column.name == name && column.kind != Kind::Other)
    }

    pub fn n_rows(&self) -> u64 {
        self.metadata.n_rows
    }

    pub fn n_row_groups(&self) -> usize {
        self.metadata.row_groups.len()
    }

    /// Rows of a row group; 0 if it does not exist.
    pub fn rows_of(&self, group: usize) -> usize {
        let n_rows = self.metadata.row_groups.get(group).map_or(0, |group| group.n_rows);
        usize::try_from(n_rows).unwrap_or(0)
    }

    /// Compressed bytes of a row group.
    pub fn bytes_of(&self, group: usize) -> u64 {
        let chunks =
            self.metadata.row_groups.get(group).map(|group| group.chunks.as_slice()).unwrap_or_default();
        chunks.iter().fold(0, |sum: u64, chunk| sum.saturating_add(chunk.n_bytes))
    }

    /// Offset of a row group.
    pub fn start_of(&self, group: usize) -> u64 {
        let chunks =
            self.metadata.row_groups.get(group).map(|group| group.chunks.as_slice()).unwrap_or_default();
        chunks.iter().map(|chunk| chunk.start).min().unwrap_or(0)
    }

    /// End offset of a row group.
    pub fn end_of(&self, group: usize) -> u64 {
        let chunks =
            self.metadata.row_groups.get(group).map(|group| group.chunks.as_slice()).unwrap_or_default();
        chunks.iter().map(|chunk| chunk.start.saturating_add(chunk.n_bytes)).max().unwrap_or(0)
    }

    /// Source of the file.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Key-value metadata of the writer.
    pub fn key_values(&self) -> &[(String, String)] {
        &self.metadata.key_values
    }

    /// Program that wrote the file.
    pub fn created_by(&self) -> Option<&str> {
        self.metadata.created_by.as_deref()
    }

    /// Reads one column of one row group, without dictionary indexes.
    pub fn read_column(&self, group: usize, column: usize) -> Result<Column, Error> {
        let column = self.read_columns(group, &[column]).pop().unwrap_or(Err(NO_PLACE))?;
        Ok(column.spelled_out())
    }

    /// Reads columns of one row group, in parallel if there are threads. Returns a result per requested column. Memory of
    /// columns no longer needed can be reused: [`ParquetFile::take_back`].
    pub fn read_columns(&self, group: usize, columns: &[usize]) -> Vec<Result<Column, Error>> {
        let n_rows = self.rows_of(group);
        let n_threads = if n_rows < MIN_ROWS_FOR_THREADS { 1 } else { n_threads().min(columns.len()).max(1) };
        let (mut all_bytes, mut rooms) = (self.bytes.borrow_mut(), self.rooms.borrow_mut());
        let n_rooms = rooms.len().max(n_threads);
        rooms.resize_with(n_rooms, Room::default);
        // With one thread, the bytes of one column are in memory at a time.
        let n_at_a_time = if n_threads == 1 { 1 } else { columns.len() };
        let n_bytes = all_bytes.len().max(n_at_a_time);
        all_bytes.resize_with(n_bytes, Vec::new);
        let mut found = Vec::with_capacity(columns.len());
        for columns in columns.chunks(n_at_a_time) {
            let read = |(column, bytes): (&usize, &'_ mut Vec<u8>)| self.read_chunk(group, *column, bytes);
            let chunks: Vec<_> = columns.iter().zip(all_bytes.iter_mut()).map(read).collect();
            let chunks: Vec<_> = chunks.into_iter().zip(all_bytes.iter()).collect();
            let decode = |number: usize, room: &mut Room| match chunks.get(number) {
                Some((Ok((info, chunk, at_hand)), read)) => {
                    column::read(at_hand.unwrap_or(read), info, chunk, n_rows, room)
                }
                Some((Err(error), _)) => Err(error.clone()),
                None => Err(NO_PLACE),
            };
            found.append(&mut threads::map(columns.len(), &mut rooms[..n_threads], decode));
        }
        found
    }

    /// Takes back memory of columns, to be reused: allocating takes as long as filling it.
    pub fn take_back(&self, memory: impl IntoIterator<Item = Memory>) {
        let mut rooms = self.rooms.borrow_mut();
        let n_rooms = rooms.len().max(1);
        for (at, memory) in memory.into_iter().enumerate() {
            if let Some(room) = rooms.get_mut(at % n_rooms) {
                room.take_back(memory);
            }
        }
    }

    /// Describes a column chunk; reads its bytes into `bytes` unless they are in memory.
    fn read_chunk(
        &self,
        group: usize,
        column: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<(&ColumnInfo, &Chunk, Option<&[u8]>), Error> {
        let group_info = self.metadata.row_groups.get(group).ok_or(NO_PLACE)?;
        let (info, chunk) =
            self.metadata.columns.get(column).zip(group_info.chunks.get(column)).ok_or(NO_PLACE)?;
        let n_rows = self.rows_of(group);
        let end = chunk.start.checked_add(chunk.n_bytes).filter(|end| *end <= self.source.n_bytes());
        if end.is_none() || chunk.n_values != n_rows as u64 && info.kind != Kind::Other {
            return Err(NO_PLACE);
        }
        let n_bytes = usize::try_from(chunk.n_bytes).map_err(|_| NO_PLACE)?;
        if let Some(at_hand) = self.source.at_hand(chunk.start, n_bytes) {
            return Ok((info, chunk, Some(at_hand)));
        }
        let more = n_bytes.saturating_sub(bytes.len());
        bytes
            .try_reserve_exact(more)
            .map_err(|_| Error::Unsupported("a column larger than memory".to_string()))?;
        bytes.resize(n_bytes, 0);
        read(&self.source, chunk.start, bytes)?;
        Ok((info, chunk, None))
    }
}

const NO_PLACE: Error = Error::Damaged("column offset");

/// Minimum rows for using threads.
const MIN_ROWS_FOR_THREADS: usize = 1 << 15;

fn read(source: &impl Source, offset: u64, out: &mut [u8]) -> Result<(), Error> {
    source.read_at(offset, out).map_err(Error::Unreadable)
}

//! `region_map.parquet` and `kv_block_lifecycle.parquet`.

use super::schema::{VERSION, VERSION_KEY};
use crate::parquet::{Column, ColumnSpec, Error, ParquetFile, Source, Writer};

/// A run of neighbouring pages of one region type.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RegionRow {
    pub region_id: u64,
    pub region_type: String,
    /// First and last page.
    pub page_min: u64,
    pub page_max: u64,
    /// Times of the first and last access, in nanoseconds.
    pub first_seen_ns: u64,
    pub last_seen_ns: u64,
    pub access_count: u64,
}

/// A block of the cache of keys and values, from its first write on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KvRow {
    pub block_id: u64,
    pub address: u64,
    pub address_page: u64,
    pub write_ns: u64,
    /// 0 if it was never read.
    pub last_read_ns: u64,
    /// Time of eviction; `None` if it lived to the end.
    pub evict_ns: Option<u64>,
    pub total_reads: u64,
    pub lifetime_ns: u64,
}

const REGION_COLUMNS: [ColumnSpec; 7] = [
    ColumnSpec::uint("region_id", 32),
    ColumnSpec::text("region_type"),
    ColumnSpec::uint("page_min", 64),
    ColumnSpec::uint("page_max", 64),
    ColumnSpec::uint("first_seen_ns", 64),
    ColumnSpec::uint("last_seen_ns", 64),
    ColumnSpec::uint("access_count", 64),
];

const KV_COLUMNS: [ColumnSpec; 8] = [
    ColumnSpec::uint("block_id", 64),
    ColumnSpec::uint("address", 64),
    ColumnSpec::uint("address_page", 64),
    ColumnSpec::uint("write_ns", 64),
    ColumnSpec::uint("last_read_ns", 64),
    ColumnSpec::uint("evict_ns", 64),
    ColumnSpec::uint("total_reads", 64),
    ColumnSpec::uint("lifetime_ns", 64),
];

/// Columns of a row group by name; missing ones are null.
fn columns<S: Source, const N: usize>(
    file: &ParquetFile<S>,
    group: usize,
    specs: &[ColumnSpec; N],
) -> Result<Vec<Column>, Error> {
    let read = |spec: &ColumnSpec| match file.column(&spec.name) {
        Some(column) => file.read_column(group, column),
        None => Ok(Column::default()),
    };
    specs.iter().map(read).collect()
}

/// Reads `region_map.parquet`; missing numbers become 0.
pub fn read_regions<S: Source>(file: &ParquetFile<S>) -> Result<Vec<RegionRow>, Error> {
    let mut rows = Vec::new();
    for group in 0..file.n_row_groups() {
        let columns = columns(file, group, &REGION_COLUMNS)?;
        let number = |column: usize, row: usize| columns[column].int(row).unwrap_or(0) as u64;
        rows.extend((0..file.rows_of(group)).map(|row| RegionRow {
            region_id: number(0, row),
            region_type: columns[1].text(row).unwrap_or_default().to_string(),
            page_min: number(2, row),
            page_max: number(3, row),
            first_seen_ns: number(4, row),
            last_seen_ns: number(5, row),
            access_count: number(6, row),
        }));
    }
    Ok(rows)
}

/// Reads `kv_block_lifecycle.parquet`; missing numbers become 0, except for the eviction time.
pub fn read_kv_blocks<S: Source>(file: &ParquetFile<S>) -> Result<Vec<KvRow>, Error> {
    let mut rows = Vec::new();
    for group in 0..file.n_row_groups() {
        let columns = columns(file, group, &KV_COLUMNS)?;
        let number = |column: usize, row: usize| columns[column].int(row).unwrap_or(0) as u64;
        rows.extend((0..file.rows_of(group)).map(|row| KvRow {
            block_id: number(0, row),
            address: number(1, row),
            address_page: number(2, row),
            write_ns: number(3, row),
            last_read_ns: number(4, row),
            evict_ns: columns[5].int(row).map(|ns| ns as u64),
            total_reads: number(6, row),
            lifetime_ns: number(7, row),
        }));
    }
    Ok(rows)
}

fn ints<T>(rows: &[T], value: impl Fn(&T) -> u64) -> Column {
    Column::of_ints(rows.iter().map(|row| Some(value(row) as i64)))
}

fn file(specs: &[ColumnSpec], n_rows: usize, columns: &[Column]) -> Vec<u8> {
    let mut writer = Writer::new(specs, &[(VERSION_KEY, VERSION)]);
    if n_rows > 0 {
        writer.row_group(n_rows, columns);
    }
    writer.finish()
}

/// Writes `region_map.parquet`, even without rows.
pub fn write_regions(rows: &[RegionRow]) -> Vec<u8> {
    let columns = [
        ints(rows, |row| row.region_id),
        Column::of_texts(rows.iter().map(|row| Some(row.region_type.as_str()))),
        ints(rows, |row| row.page_min),
        ints(rows, |row| row.page_max),
        ints(rows, |row| row.first_seen_ns),
        ints(rows, |row| row.last_seen_ns),
        ints(rows, |row| row.access_count),
    ];
    file(&REGION_COLUMNS, rows.len(), &columns)
}

/// Writes `kv_block_lifecycle.parquet`, even without rows.
pub fn write_kv_blocks(rows: &[KvRow]) -> Vec<u8> {
    let columns = [
        ints(rows, |row| row.block_id),
        ints(rows, |row| row.address),
        ints(rows, |row| row.address_page),
        ints(rows, |row| row.write_ns),
        ints(rows, |row| row.last_read_ns),
        Column::of_ints(rows.iter().map(|row| row.evict_ns.map(|ns| ns as i64))),
        ints(rows, |row| row.total_reads),
        ints(rows, |row| row.lifetime_ns),
    ];
    file(&KV_COLUMNS, rows.len(), &columns)
}

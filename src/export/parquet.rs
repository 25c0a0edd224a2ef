//! Tables as Parquet files (zstd), for DuckDB, Polars and pandas: one file per table, with typed columns.
//!
//! Numbers are in the units of the JSON export: nanoseconds, bytes, fractions of 1. Columns are named by their ids. The
//! key-value metadata of a file has units, title and caption of the table, and the warnings of its report. The exporter writes
//! a zip archive.

use super::{ExporterInfo, Input, LeftOut, TextsIn, WriteFn, always};
use crate::archive;
use crate::base::hash::HashSet;
use crate::base::text::file_name;
use crate::parquet::{self, ColumnSpec, Values, Writer};
use crate::report::{Cells, Document, Table};
use std::io::{self, Write};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "parquet",
    title: "Parquet tables (zip)",
    extension: "parquet.zip",
    media_type: "application/zip",
    in_menu: true,
    needs: "",
    applies: always,
    write: WriteFn::AtOnce(|input, out| write(input, out).map(LeftOut::nothing)),
    reference: None,
    converts: None,
    texts: TextsIn::Document,
    takes_part: false,
    can_redact: true,
    takes_notes: false,
};

/// Rows per row group.
const GROUP_ROWS: usize = 1 << 20;

fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let files = files(input.document);
    let files = files.iter().map(|(name, bytes)| (name.clone(), bytes.as_slice()));
    archive::write(files, input.options.now_ms, out).map(drop)
}

/// The tables of all reports as files: `<report>.<table>.parquet` and its bytes.
pub fn files(document: &Document<'_>) -> Vec<(String, Vec<u8>)> {
    let mut taken: HashSet<String> = HashSet::default();
    let mut out = Vec::new();
    for report in document.reports.iter().chain([&document.ledger]) {
        let warning = report.warnings().collect::<Vec<_>>().join("\n");
        for table in report.tables() {
            let stem = format!("{}.{}", file_name(&report.id), file_name(&table.id));
            let mut name = format!("{stem}.parquet");
            // Ids are unique, but file names derived from them may not be.
            let mut number = 2;
            while !taken.insert(name.clone()) {
                name = format!("{stem}-{number}.parquet");
                number += 1;
            }
            out.push((name, table_file(table, &warning)));
        }
    }
    out
}

/// One table with the warnings of its report.
pub fn table_file(table: &Table, warning: &str) -> Vec<u8> {
    let specs: Vec<ColumnSpec> = table
        .columns
        .iter()
        .map(|column| ColumnSpec { name: column.id.clone(), kind: kind(&column.cells) })
        .collect();
    let units: Vec<(String, &str)> = table
        .columns
        .iter()
        .filter(|column| !column.unit.symbol().is_empty())
        .map(|column| (format!("tracedrop.unit.{}", column.id), column.unit.symbol()))
        .collect();
    let n_left_out = table.n_left_out.to_string();
    let mut told = vec![("tracedrop.title", table.title.as_str()), ("tracedrop.caption", &table.caption)];
    if table.n_left_out > 0 {
        told.push(("tracedrop.rows_left_out", &n_left_out));
    }
    if !warning.is_empty() {
        told.push(("tracedrop.warning", warning));
    }
    told.extend(units.iter().map(|(key, unit)| (key.as_str(), *unit)));
    let mut writer = Writer::new(&specs, &told);
    let n_rows = table.n_rows();
    let mut from = 0;
    while from < n_rows {
        let to = (from + GROUP_ROWS).min(n_rows);
        let columns: Vec<parquet::Column> =
            table.columns.iter().map(|column| rows(&column.cells, from, to)).collect();
        writer.row_group(to - from, &columns);
        from = to;
    }
    writer.finish()
}

fn kind(cells: &Cells) -> parquet::Kind {
    match cells {
        Cells::Text(_) => parquet::Kind::Text,
        Cells::Unsigned(_) => parquet::Kind::Int { bits: 64, signed: false },
        Cells::Integer(_) => parquet::Kind::Int { bits: 64, signed: true },
        Cells::Float(_) => parquet::Kind::Float { bits: 64 },
        Cells::Bool(_) => parquet::Kind::Bool,
    }
}

fn rows(cells: &Cells, from: usize, to: usize) -> parquet::Column {
    fn part<T: Copy + Default>(
        cells: &[Option<T>],
        from: usize,
        to: usize,
        values: fn(Vec<T>) -> Values,
    ) -> parquet::Column {
        let cells = cells.get(from..to).unwrap_or_default();
        let valid = cells.iter().map(Option::is_some).collect();
        parquet::Column {
            valid: Some(valid),
            values: values(cells.iter().map(|cell| cell.unwrap_or_default()).collect()),
        }
    }
    match cells {
        Cells::Text(texts) => parquet::Column::of_texts((from..to).map(|row| texts.get(row))),
        Cells::Unsigned(cells) => {
            let ints: Vec<Option<i64>> = cells.iter().map(|cell| cell.map(|value| value as i64)).collect();
            part(&ints, from, to, Values::Ints)
        }
        Cells::Integer(cells) => part(cells, from, to, Values::Ints),
        Cells::Float(cells) => part(cells, from, to, Values::Floats),
        Cells::Bool(cells) => part(cells, from, to, Values::Bools),
    }
}

//! Rows of the tables that are read.

use super::issues::{DAMAGED_GROUP, MISSING_COLUMNS, WITHOUT_STEP};
use crate::base::strings::{StringId, StringTable};
use crate::base::units::counted;
use crate::parquet::{Column, Error, ParquetFile, Source};
use crate::trace::fleet::{FileRow, RunRow, StepRow};
use crate::trace::{Position, Trace};

pub fn runs<S: Source>(file: &ParquetFile<S>, trace: &mut Trace) -> Vec<RunRow> {
    rows(file, trace, ["build", "files", "unreadable"], |[build, files, unreadable], row, strings| {
        Some(RunRow {
            build: text(build, row, strings),
            n_files: files.int(row),
            n_unreadable: unreadable.int(row),
        })
    })
}

pub fn files<S: Source>(file: &ParquetFile<S>, trace: &mut Trace) -> Vec<FileRow> {
    let names = ["rank", "host", "file", "grade", "error"];
    rows(file, trace, names, |[rank, host, file, grade, error], row, strings| {
        Some(FileRow {
            rank: rank.int(row),
            host: text(host, row, strings),
            file: text(file, row, strings),
            grade: text(grade, row, strings),
            error: text(error, row, strings),
        })
    })
}

pub fn steps<S: Source>(file: &ParquetFile<S>, trace: &mut Trace) -> Vec<StepRow> {
    let names = [
        "rank",
        "device",
        "step",
        "phase",
        "start_ns",
        "gpu_time_ns",
        "computation_ns",
        "exposed_communication_ns",
        "exposed_copies_ns",
        "idle_ns",
    ];
    rows(file, trace, names, |columns, row, strings| {
        let [rank, device, step, phase, start, gpu_time, computation, communication, copies, idle] = columns;
        let gpu_time = gpu_time.int(row).filter(|ns| *ns >= 0)?;
        Some(StepRow {
            rank: rank.int(row),
            device: text(device, row, strings),
            step: Some(text(step, row, strings)).filter(|step| !step.is_none())?,
            phase: text(phase, row, strings),
            start: start.int(row),
            gpu_time,
            computation: computation.int(row),
            exposed_communication: communication.int(row),
            exposed_copies: copies.int(row),
            idle: idle.int(row),
        })
    })
}

fn text(column: &Column, row: usize, strings: &mut StringTable) -> StringId {
    column.text(row).map_or(StringId::NONE, |text| strings.intern(text))
}

/// Rows of all groups, made by `row_of` from the columns `names`; `None` skips a row.
fn rows<S: Source, R, const N: usize>(
    file: &ParquetFile<S>,
    trace: &mut Trace,
    names: [&'static str; N],
    row_of: impl Fn(&[Column; N], usize, &mut StringTable) -> Option<R>,
) -> Vec<R> {
    let missing: Vec<&str> = names.into_iter().filter(|name| file.column(name).is_none()).collect();
    if !missing.is_empty() {
        trace.ledger.file(&MISSING_COLUMNS, Position::default(), missing.join(", ").as_bytes());
    }
    let mut rows = Vec::new();
    for group in 0..file.n_row_groups() {
        let at = Position { byte: file.start_of(group), line: None };
        let (n_rows, n_bytes) = (file.rows_of(group), file.bytes_of(group));
        let columns = match columns(file, group, names) {
            Ok(columns) => columns,
            Err(error) => {
                trace.ledger.skip_records(n_rows as u64, n_bytes);
                trace.ledger.file(&DAMAGED_GROUP, at, error.to_string().as_bytes());
                continue;
            }
        };
        let n_before = rows.len();
        rows.extend((0..n_rows).filter_map(|row| row_of(&columns, row, &mut trace.strings)));
        let n_kept = (rows.len() - n_before) as u64;
        let n_out = n_rows as u64 - n_kept;
        // The bytes of a group are divided between kept and skipped rows.
        let n_bytes_out = (u128::from(n_bytes) * u128::from(n_out) / (n_rows as u128).max(1)) as u64;
        trace.ledger.keep_records(n_kept, n_bytes - n_bytes_out);
        if n_out > 0 {
            trace.ledger.skip_records(n_out, n_bytes_out);
            trace.ledger.file(&WITHOUT_STEP, at, counted(n_out, "row", "rows").as_bytes());
        }
    }
    rows
}

/// Columns of a group; without values where the file lacks one.
fn columns<S: Source, const N: usize>(
    file: &ParquetFile<S>,
    group: usize,
    names: [&str; N],
) -> Result<[Column; N], Error> {
    let mut columns = std::array::from_fn(|_| Column::default());
    for (column, name) in columns.iter_mut().zip(names) {
        if let Some(number) = file.column(name) {
            *column = file.read_column(group, number)?;
        }
    }
    Ok(columns)
}

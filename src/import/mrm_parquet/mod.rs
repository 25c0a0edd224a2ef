//! `trace.parquet` of mrm-trace 0.1.0 to 0.1.23: labelled memory accesses, 18 columns.
//!
//! What a Parquet file holds is said at its end. Where the file can be read at any place, its bytes are let by and the row groups
//! are read one after the other when the last byte has come, so no more than one is in memory as it lies in the file; where it
//! can not (it was packed, or comes from a pipe), it is kept until then, up to `MAX_KEPT_BYTES`.
//! Columns and their meaning: [`crate::memory_run::trace_table`].

mod issues;

use self::issues::*;
use super::{Confidence, FormatInfo, ImportError, Reader};
use crate::memory_run::schema::{self, Check, Kind};
use crate::memory_run::trace_table::{self, TraceInfo};
use crate::parquet::{Error, MAGIC, ParquetFile, Source};
use crate::trace::args::Content;
use crate::trace::{Position, TraceBuilder};
use std::rc::Rc;

pub static INFO: FormatInfo = FormatInfo {
    id: "mrm-parquet",
    title: "Memory accesses (mrm-trace Parquet)",
    producers: "mrm-trace, tracedrop",
    extensions: &["parquet"],
    sniff: |head| if head.starts_with(MAGIC) { Confidence::Certain } else { Confidence::No },
    reader: || Box::new(ParquetReader::default()),
    parts: None,
    has_events: false,
    issues: issues::ALL,
};

/// A file that can not be read at any place is no larger than this.
const MAX_KEPT_BYTES: usize = if usize::BITS == 32 { 512 << 20 } else { 4 << 30 };

/// Columns without which rows mean nothing.
const NEEDED: [&str; 3] = ["timestamp_ns", "address", "op_type"];

#[derive(Default)]
struct ParquetReader {
    content: Option<Rc<dyn Content>>,
    kept: Vec<u8>,
    n_bytes: u64,
}

impl Source for Rc<dyn Content> {
    fn n_bytes(&self) -> u64 {
        (**self).n_bytes()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), String> {
        (**self).read_at(offset, out).map_err(|error| error.to_string())
    }
}

impl Reader for ParquetReader {
    fn lend(&mut self, content: Rc<dyn Content>) {
        self.content = Some(content);
    }

    fn feed(&mut self, bytes: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError> {
        out.trace.ledger.record_noun = "rows".into();
        self.n_bytes += bytes.len() as u64;
        if self.content.is_none() {
            if bytes.len() > MAX_KEPT_BYTES.saturating_sub(self.kept.len()) {
                return Err(too_large());
            }
            self.kept.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        out.trace.ledger.record_noun = "rows".into();
        match self.content.take() {
            Some(content) => read(content, out),
            None => read(std::mem::take(&mut self.kept).as_slice(), out),
        }
    }
}

fn read<S: Source>(source: S, out: &mut TraceBuilder) -> Result<(), ImportError> {
    let file = ParquetFile::open(source).map_err(refused)?;
    let start = Position::default();
    match schema::check(Kind::Trace, &file) {
        Check::Fits => {}
        Check::Missing(columns) => {
            if NEEDED.iter().any(|needed| columns.contains(needed)) {
                return Err(other_table(&file));
            }
            out.trace.ledger.file(&MISSING_COLUMNS, start, columns.join(", ").as_bytes());
        }
        Check::Version(what) => return Err(other_version(what)),
    }
    out.trace.accesses.set_expected();
    let extra: Vec<&str> = file
        .columns()
        .iter()
        .map(|column| column.name.as_str())
        .filter(|name| trace_table::COLUMNS.iter().all(|known| known.name != *name))
        .collect();
    if !extra.is_empty() {
        out.trace.ledger.file(&EXTRA_COLUMNS, start, extra.join(", ").as_bytes());
    }
    let mut info = TraceInfo::default();
    // Row groups of a file that is made up may lie over one another.
    let mut n_bytes_left = out.trace.ledger.content_bytes;
    for group in 0..file.n_row_groups() {
        let n_skipped = info.n_skipped;
        let trace = &mut out.trace;
        let n_before = trace.accesses.len();
        // Rows of a group lie by columns, so none has a place of its own.
        let at = Position { byte: file.start_of(group), line: None };
        let (n_rows, n_bytes) = (file.rows_of(group) as u64, file.bytes_of(group).min(n_bytes_left));
        n_bytes_left -= n_bytes;
        let read = trace_table::read_group(&file, group, &mut trace.strings, &mut trace.accesses, &mut info);
        if let Err(error) = read {
            trace.ledger.skip_records(n_rows, n_bytes);
            trace.ledger.file(&DAMAGED_GROUP, at, error.to_string().as_bytes());
            continue;
        }
        let n_kept = (trace.accesses.len() - n_before) as u64;
        let n_out = info.n_skipped - n_skipped;
        // The bytes of a group are shared out between rows that were kept and left out.
        let n_bytes_out = if n_rows > 0 {
            (u128::from(n_bytes) * u128::from(n_out) / u128::from(n_rows)) as u64
        } else {
            0
        };
        trace.ledger.keep_records(n_kept, if n_kept > 0 { n_bytes - n_bytes_out } else { 0 });
        if n_out > 0 {
            trace.ledger.skip_records(n_out, n_bytes_out);
            trace.ledger.file(&WITHOUT_ADDRESS, at, format!("{n_out} rows").as_bytes());
        }
    }
    if info.has_several_runs {
        out.trace.ledger.file(&SEVERAL_RUNS, start, b"");
    }
    let source = &mut out.trace.source;
    source.producer = file.created_by().map(str::to_string);
    source.metadata.extend(info.run_id.map(|run_id| ("run_id".to_string(), run_id)));
    let told = file.key_values().iter().filter(|(key, _)| key == schema::VERSION_KEY);
    source.metadata.extend(told.cloned());
    Ok(())
}

fn refused(error: Error) -> ImportError {
    let hint = match &error {
        Error::Unsupported(_) => "write it again with another library, for instance pyarrow",
        _ => "check that the file was copied completely and that its writer has finished",
    };
    ImportError { code: "parquet-unreadable", what: error.to_string(), hint: hint.to_string() }
}

fn other_version(what: String) -> ImportError {
    ImportError { code: "parquet-version", what, hint: "write it with a version that is read".to_string() }
}

fn other_table<S: Source>(file: &ParquetFile<S>) -> ImportError {
    let names: Vec<&str> = file.columns().iter().map(|column| column.name.as_str()).take(12).collect();
    ImportError {
        code: "parquet-other-table",
        what: format!(
            "this Parquet file is no trace of memory accesses; its columns are {}",
            names.join(", ")
        ),
        hint: "open the trace.parquet of a run".to_string(),
    }
}

fn too_large() -> ImportError {
    ImportError {
        code: "parquet-too-large",
        what: format!(
            "a Parquet file above {} MiB can not be read from a pipe or packed",
            MAX_KEPT_BYTES >> 20
        ),
        hint: "unpack it first, or open it from a disk".to_string(),
    }
}

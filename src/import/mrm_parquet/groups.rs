//! Row groups of a file, in order.

use super::ImportError;
use super::issues::*;
use super::part::Notes;
use super::partial_file::PartialFile;
use crate::base::units::counted;
use crate::memory_run::schema::{self, Check, Kind};
use crate::memory_run::trace_table::{self, TraceInfo};
use crate::parquet::{Error, ParquetFile, Source};
use crate::trace::{Position, TraceBuilder};

/// Required columns.
const NEEDED: [&str; 3] = ["timestamp_ns", "address", "op_type"];

/// Row groups with more rows are read by one worker: each worker holds all columns of its group, some 200 bytes per row.
const MAX_SHARED_ROWS: usize = 1 << 20;

/// Row groups larger than this are read column by column.
const MAX_HELD_BYTES: u64 = 32 << 20;

/// Memory-access trace that is being read by row groups.
pub struct Groups<S> {
    file: ParquetFile<S>,
    info: TraceInfo,
    missing_columns: Vec<&'static str>,
    /// The next group, and the first one.
    next: usize,
    first: usize,
}

impl<S: Source> Groups<S> {
    /// Opens a file; an error if it is another table, or not Parquet.
    pub fn open(source: S) -> Result<Groups<S>, ImportError> {
        Groups::of(open(source)?)
    }

    /// Groups of an open file; an error if it is another table.
    pub fn of(file: ParquetFile<S>) -> Result<Groups<S>, ImportError> {
        let missing_columns = match schema::check(Kind::Trace, &file) {
            Check::Fits => Vec::new(),
            Check::Missing(columns) if NEEDED.iter().any(|needed| columns.contains(needed)) => {
                return Err(other_table(&file, &columns));
            }
            Check::Missing(columns) => columns,
            Check::Version(what) => return Err(other_version(what)),
        };
        Ok(Groups { file, info: TraceInfo::default(), missing_columns, next: 0, first: 0 })
    }

    /// Reports issues of the columns.
    pub fn begin(&self, out: &mut TraceBuilder) {
        let start = Position::default();
        if !self.missing_columns.is_empty() {
            out.trace.ledger.file(&MISSING_COLUMNS, start, self.missing_columns.join(", ").as_bytes());
        }
        let odd = trace_table::odd_columns(&self.file);
        if !odd.is_empty() {
            let odd: Vec<String> = odd.iter().map(ToString::to_string).collect();
            out.trace.ledger.file(&ODD_COLUMNS, start, odd.join(", ").as_bytes());
        }
        out.trace.accesses.set_expected();
        let extra: Vec<&str> = self
            .file
            .columns()
            .iter()
            .map(|column| column.name.as_str())
            .filter(|name| trace_table::COLUMNS.iter().all(|known| known.name != *name))
            .collect();
        if !extra.is_empty() {
            out.trace.ledger.file(&EXTRA_COLUMNS, start, extra.join(", ").as_bytes());
        }
    }

    /// Whether workers can share the groups: rows have their own numbers and run, and groups are in order and not too large.
    pub fn can_be_shared(&self) -> bool {
        let groups = 0..self.file.n_row_groups();
        let has_columns = ["sample_id", "run_id"].iter().all(|name| self.file.column(name).is_some());
        groups.len() > 1
            && has_columns
            && groups.into_iter().all(|group| self.file.rows_of(group) <= MAX_SHARED_ROWS)
            && self.starts().is_sorted()
    }

    /// Offsets of the groups; ascending if they [can be shared](Groups::can_be_shared).
    pub fn starts(&self) -> Vec<u64> {
        (0..self.file.n_row_groups()).map(|group| self.file.start_of(group)).collect()
    }

    /// Moves to the first group that starts at or after `byte`.
    fn skip_to(&mut self, byte: u64) {
        while self.is_before(byte) {
            self.next += 1;
        }
    }

    /// Restarts with the first group that starts at or after `byte`.
    pub fn start_at(&mut self, byte: u64) {
        (self.next, self.info) = (0, TraceInfo::default());
        self.skip_to(byte);
        self.first = self.next;
    }

    /// Whether any group was read since the start.
    pub fn has_read(&self) -> bool {
        self.next > self.first
    }

    /// Whether the next group starts before `byte`.
    pub fn is_before(&self, byte: u64) -> bool {
        self.next < self.file.n_row_groups() && self.file.start_of(self.next) < byte
    }

    /// Skips to the end `byte` of a part read by another worker.
    pub fn go_on_behind(&mut self, byte: u64, notes: Notes) {
        self.skip_to(byte);
        self.info.n_skipped += notes.n_skipped;
        match (&self.info.run_id, notes.run_id) {
            (None, run_id) => self.info.run_id = run_id,
            (Some(own), Some(other)) => self.info.has_several_runs |= *own != other,
            (Some(_), None) => {}
        }
    }

    /// Reads all groups that start before `byte`.
    pub fn read_until(&mut self, byte: u64, out: &mut TraceBuilder) {
        while self.is_before(byte) {
            self.read_next(out);
        }
    }

    /// Reads one group.
    pub fn read_next(&mut self, out: &mut TraceBuilder) {
        let Groups { file, info, next, .. } = self;
        let group = *next;
        *next += 1;
        let (n_skipped, n_out_of_range) = (info.n_skipped, info.n_out_of_range);
        let trace = &mut out.trace;
        let n_before = trace.accesses.n_seen();
        // Rows are stored by column, so a row has no offset of its own.
        let at = Position { byte: file.start_of(group), line: None };
        let (n_rows, n_bytes) = (file.rows_of(group) as u64, file.bytes_of(group));
        let read = trace_table::read_group(file, group, &mut trace.strings, &mut trace.accesses, info);
        if let Err(error) = read {
            trace.ledger.skip_records(n_rows, n_bytes);
            trace.ledger.file(&DAMAGED_GROUP, at, error.to_string().as_bytes());
            return;
        }
        let n_missing = info.n_out_of_range - n_out_of_range;
        if n_missing > 0 {
            let what = counted(n_missing, "number", "numbers");
            trace.ledger.file(&OUT_OF_RANGE, at, what.as_bytes());
        }
        if let Some(op) = &info.other_op {
            trace.ledger.file(&OTHER_OPERATION, at, op.as_bytes());
        }
        let n_kept = trace.accesses.n_seen() - n_before;
        let n_out = info.n_skipped - n_skipped;
        // The bytes of a group are divided between kept and skipped rows.
        let n_bytes_out = if n_rows > 0 {
            (u128::from(n_bytes) * u128::from(n_out) / u128::from(n_rows)) as u64
        } else {
            0
        };
        trace.ledger.keep_records(n_kept, if n_kept > 0 { n_bytes - n_bytes_out } else { 0 });
        if n_out > 0 {
            trace.ledger.skip_records(n_out, n_bytes_out);
            // If all rows lack a value, the column type is usually the reason.
            let odd = trace_table::odd_columns(file);
            let why = odd.iter().find(|odd| NEEDED.contains(&odd.name));
            let why = why.map_or(String::new(), |odd| format!(": {odd}"));
            trace.ledger.file(&WITHOUT_ADDRESS, at, format!("{n_out} rows{why}").as_bytes());
        }
    }

    /// Offset after the next group, and the bytes from its start to there.
    fn end_of_next(&self) -> (u64, u64) {
        let (start, end) = (self.file.start_of(self.next), self.file.end_of(self.next));
        (end, end.saturating_sub(start))
    }

    /// Facts about the run from the groups read so far.
    pub fn info(&self) -> &TraceInfo {
        &self.info
    }

    /// Adds facts about the run and the file to the trace.
    pub fn describe(&self, out: &mut TraceBuilder) {
        if self.info.has_several_runs {
            out.trace.ledger.file(&SEVERAL_RUNS, Position::NOWHERE, b"");
        }
        let source = &mut out.trace.source;
        source.producer = self.file.created_by().map(str::to_string);
        source.metadata.extend(self.info.run_id.clone().map(|run_id| ("run_id".to_string(), run_id)));
        let told = self.file.key_values().iter().filter(|(key, _)| key == schema::VERSION_KEY);
        source.metadata.extend(told.cloned());
    }
}

impl<S: Source> Groups<PartialFile<S>> {
    /// Sets the offset of the byte fed next.
    pub fn feed_from(&mut self, byte: u64) {
        self.file.source_mut().start_at(byte);
    }

    /// Feeds the next bytes of the file, and reads the groups that are complete and start before `until`, as long as `each`
    /// returns true. Returns whether further groups need more bytes.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        until: u64,
        out: &mut TraceBuilder,
        each: impl Fn(&TraceInfo) -> bool,
    ) -> bool {
        self.file.source_mut().push(bytes);
        loop {
            let at = self.file.source_mut().end();
            let (end, n_bytes) = self.end_of_next();
            if !self.is_before(until) {
                return false;
            }
            // Column offsets in a file can have any value.
            if end > at && n_bytes <= MAX_HELD_BYTES {
                let start = self.file.start_of(self.next);
                self.file.source_mut().drop_before(start);
                return true;
            }
            self.read_next(out);
            if !each(&self.info) {
                return false;
            }
        }
    }
}

/// Reads the footer of a file.
pub fn open<S: Source>(source: S) -> Result<ParquetFile<S>, ImportError> {
    ParquetFile::open(source).map_err(refused)
}

fn refused(error: Error) -> ImportError {
    let hint = match &error {
        Error::Unsupported(_) => "write it with another library, for instance pyarrow",
        _ => "check that the file was copied completely and that its writer has finished",
    };
    ImportError { code: "parquet-unreadable", what: error.to_string(), hint: hint.to_string() }
}

fn other_version(what: String) -> ImportError {
    ImportError { code: "parquet-version", what, hint: "write it with a supported version".to_string() }
}

/// Error for a table that lacks the columns `missing`.
fn other_table<S: Source>(file: &ParquetFile<S>, missing: &[&str]) -> ImportError {
    // Written by the exports of tables.
    if file.key_values().iter().any(|(key, _)| key == "tracedrop.title") {
        return ImportError {
            code: "parquet-own-table",
            what: "this Parquet file is a table of a Tracedrop report, not a trace".to_string(),
            hint: "open the trace itself, or save the report as a .tracedrop file".to_string(),
        };
    }
    let (without, with): (Vec<&str>, Vec<&str>) = NEEDED.iter().partition(|needed| missing.contains(needed));
    // Other tables of a run have one of them too.
    let what = if with.len() < 2 {
        let names: Vec<&str> = file.columns().iter().map(|column| column.name.as_str()).take(12).collect();
        format!("this Parquet file is not a memory-access trace; its columns are {}", names.join(", "))
    } else {
        format!(
            "this Parquet file is not a memory-access trace: it has no {}",
            without.iter().map(|name| format!("column {name}")).collect::<Vec<_>>().join(" and no ")
        )
    };
    ImportError {
        code: "parquet-other-table",
        what,
        hint: format!("open the trace.parquet of a run, which has {}", NEEDED.join(", ")),
    }
}

//! Folders of Nsight Systems (`nsys export -t parquetdir`): a Parquet file per table, with the tables and columns of its SQLite
//! export.
//!
//! A reader takes one file, so page and command pass such a folder on as a tar archive ([`crate::archive::tar`]), without copying:
//! each file of the folder is a part of it. Archives that `tar` made of the folder can be read as well.
//!
//! ```text
//! report1_pqtdir/CUPTI_ACTIVITY_KIND_KERNEL.parquet    start, end, deviceId, …    int64, int32; null where nothing was recorded
//! report1_pqtdir/StringIds.parquet                     id, value
//! ```
//! Dictionaries are read first, from the lent file. Row groups of events are decoded once the bytes up to their end have come.

use super::issues::{DAMAGED_COLUMN, DAMAGED_TABLE, TRUNCATED_FOLDER};
use super::rows::{Row, Values};
use super::tables::Tables;
use super::{Capture, Opened, Plan, describe, nsys};
use crate::archive::tar::{self, TarEntry};
use crate::import::kineto::Place;
use crate::import::lent::{self, LentReader};
use crate::import::{Confidence, FormatInfo, ImportError};
use crate::parquet::{self, Kind, ParquetFile, Source};
use crate::sqlite::{Column, Table};
use crate::trace::args::Content;
use crate::trace::{Position, TraceBuilder};
use std::cell::{Cell, OnceCell};
use std::ops::Range;
use std::rc::Rc;

pub static INFO: FormatInfo = FormatInfo {
    id: "nsys-parquet",
    title: "Nsight Systems export (folder of Parquet tables)",
    producers: "nsys export -t parquetdir",
    extensions: &[],
    sniff,
    reader: || Box::new(LentReader::<Groups>::default()),
    parts: None,
    has_events: true,
    issues: &[],
};

/// Ending of the tables.
pub const ENDING: &str = ".parquet";

/// Name of the table in a file; `None` if Nsight Systems writes no such file.
pub fn table_of(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next().unwrap_or(path).strip_suffix(ENDING)?;
    nsys::is_known_table(name).then_some(name)
}

/// Whether files with these names are an export.
pub fn is_export<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
    names.any(|name| name.strip_suffix(ENDING).is_some_and(nsys::is_table))
}

/// Rates the begin of an archive by the names of its first files.
fn sniff(head: &[u8]) -> Confidence {
    let is_one = tar::is_tar(head)
        && tar::list_tar(&Head(head)).files.iter().any(|file| table_of(&file.path).is_some());
    if is_one { Confidence::Certain } else { Confidence::No }
}

/// The begin of an archive, as if the rest were there.
struct Head<'a>(&'a [u8]);

impl Content for Head<'_> {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.0.read_at(offset, out).map_err(std::io::Error::other)
    }

    fn n_bytes(&self) -> u64 {
        u64::MAX
    }
}

/// A file in the archive.
struct Section {
    archive: Rc<dyn Content>,
    range: Range<u64>,
}

impl Source for Section {
    fn n_bytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), String> {
        let at = self.range.start.saturating_add(offset);
        if at.saturating_add(out.len() as u64) > self.range.end {
            return Err("the file is truncated".to_string());
        }
        self.archive.read_at(at, out).map_err(|error| error.to_string())
    }
}

/// Columns of one row group, decoded when a row is first asked for one of them: of wide tables, few columns are used.
pub struct Group<'a> {
    file: &'a ParquetFile<Section>,
    number: usize,
    columns: Vec<OnceCell<parquet::Column>>,
    /// A column could not be decoded.
    is_damaged: &'a Cell<bool>,
}

impl<'a> Group<'a> {
    fn new(file: &'a ParquetFile<Section>, number: usize, is_damaged: &'a Cell<bool>) -> Group<'a> {
        let columns = file.columns().iter().map(|_| OnceCell::new()).collect();
        Group { file, number, columns, is_damaged }
    }

    /// A column of the group; without values if it is damaged.
    pub fn column(&self, at: usize) -> Option<&parquet::Column> {
        let column = self.columns.get(at)?.get_or_init(|| {
            self.file.read_column(self.number, at).unwrap_or_else(|_| {
                self.is_damaged.set(true);
                parquet::Column::default()
            })
        });
        Some(column)
    }
}

/// The tables of a folder.
struct Folder {
    tables: Vec<Table>,
    /// The file of each table, and where it starts.
    files: Vec<(ParquetFile<Section>, u64)>,
}

impl Folder {
    /// Opens all tables; those that cannot be opened are reported.
    fn open(archive: &Rc<dyn Content>, out: &mut TraceBuilder) -> Folder {
        let list = tar::list_tar(&**archive);
        let ledger = &mut out.trace.ledger;
        if list.is_cut {
            let end = list.files.last().map_or(0, |file| file.range.end);
            ledger.file(&TRUNCATED_FOLDER, Position { byte: end, line: None }, b"");
        }
        let mut folder = Folder { tables: Vec::new(), files: Vec::new() };
        for TarEntry { path, range } in list.files {
            // Other files may lie in the folder.
            let name = path.rsplit('/').next().unwrap_or(&path);
            let Some(name) = name.strip_suffix(ENDING) else {
                ledger.leave_out(range.end - range.start);
                continue;
            };
            let start = range.start;
            let n_bytes = range.end - range.start;
            match ParquetFile::open(Section { archive: archive.clone(), range }) {
                Ok(file) => {
                    let columns = file.columns().iter().enumerate();
                    let columns = columns
                        .filter(|(_, column)| column.kind != Kind::Other)
                        .map(|(at, column)| (column.name.clone(), Column::Stored(at)))
                        .collect();
                    // It has no root page.
                    folder.tables.push(Table { name: name.to_string(), root: 0, columns });
                    folder.files.push((file, start));
                }
                Err(error) => {
                    ledger.skip_records(0, n_bytes);
                    let example = format!("{name}: {error}");
                    ledger.file(&DAMAGED_TABLE, Position { byte: start, line: None }, example.as_bytes());
                }
            }
        }
        folder
    }
}

impl Tables for Folder {
    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn rows_of(
        &self,
        table: usize,
        out: &mut TraceBuilder,
        each: &mut dyn FnMut(&Row<'_>),
    ) -> Result<(), ImportError> {
        let Some((file, start)) = self.files.get(table) else { return Ok(()) };
        let mut rowid = 0;
        for number in 0..file.n_row_groups() {
            let is_damaged = Cell::new(false);
            let group = Group::new(file, number, &is_damaged);
            for at in 0..file.rows_of(number) {
                rowid += 1;
                each(&Row { rowid, values: Values::Group { group: &group, at } });
            }
            if is_damaged.get() {
                report_damage(self, table, start + file.start_of(number), out);
            }
        }
        Ok(())
    }
}

fn report_damage(folder: &Folder, table: usize, byte: u64, out: &mut TraceBuilder) {
    let name = folder.tables.get(table).map_or("", |table| table.name.as_str());
    out.trace.ledger.file(&DAMAGED_COLUMN, Position { byte, line: None }, name.as_bytes());
}

/// Row groups of a folder, in order of the archive.
struct Groups {
    /// Offset of the next byte.
    at: u64,
    folder: Folder,
    capture: Box<dyn Capture>,
    plans: Vec<Plan>,
    /// Rows of each table that are not shown.
    n_counted: Vec<u64>,
    /// Table, row group, and the id of its first row.
    next: (usize, usize, i64),
    /// Place after the last row: places ascend, though rows may have less than a byte.
    last_offset: u64,
}

impl lent::Opened for Groups {
    const RECORDS: &'static str = "rows";
    const FILES: &'static str = "tar archives of Parquet tables";
    const TOO_LARGE: &'static str = "sqlite-too-large";

    fn open(archive: &Rc<dyn Content>, out: &mut TraceBuilder) -> Result<Groups, ImportError> {
        let folder = Folder::open(archive, out);
        let Opened { capture, plans } = nsys::open(&folder, out)?;
        let n_counted = vec![0; plans.len()];
        Ok(Groups { at: 0, folder, capture, plans, n_counted, next: (0, 0, 1), last_offset: 0 })
    }

    fn feed(&mut self, bytes: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError> {
        self.at = self.at.saturating_add(bytes.len() as u64);
        self.read_until(self.at, out)
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        self.read_until(u64::MAX, out)?;
        self.snapshot(out);
        // Dictionaries, footers, headers of the archive.
        let ledger = &mut out.trace.ledger;
        ledger.frame(ledger.unaccounted_bytes());
        Ok(())
    }

    fn snapshot(&self, out: &mut TraceBuilder) {
        describe(&self.folder.tables, &self.n_counted, &*self.capture, out);
    }
}

impl Groups {
    /// Reads the row groups that end before `end`.
    fn read_until(&mut self, end: u64, out: &mut TraceBuilder) -> Result<(), ImportError> {
        loop {
            let (table, number, first) = self.next;
            let Some((file, start)) = self.folder.files.get(table) else { return Ok(()) };
            let plan = self.plans.get(table).copied().unwrap_or(Plan::Ignore);
            if number >= file.n_row_groups() || plan == Plan::Ignore {
                self.next = (table + 1, 0, 1);
                continue;
            }
            if start.saturating_add(file.end_of(number)) > end {
                return Ok(());
            }
            let n_rows = file.rows_of(number);
            self.next = (table, number + 1, first.saturating_add(n_rows as i64));
            match plan {
                Plan::Read(kind) => self.read(table, number, first, kind, out)?,
                _ => {
                    self.n_counted[table] += n_rows as u64;
                    out.trace.ledger.skip_records(n_rows as u64, file.bytes_of(number));
                }
            }
            if out.is_full() {
                out.spill();
            }
        }
    }

    /// Reads the row group `number` of a table; its first row has the id `first`.
    fn read(
        &mut self,
        table: usize,
        number: usize,
        first: i64,
        kind: usize,
        out: &mut TraceBuilder,
    ) -> Result<(), ImportError> {
        let Some((file, start)) = self.folder.files.get(table) else { return Ok(()) };
        let group_start = start.saturating_add(file.start_of(number));
        let (n_rows, n_bytes) = (file.rows_of(number), file.bytes_of(number));
        // The bytes of a group are divided among its rows.
        let share = |row: usize| (u128::from(n_bytes) * row as u128 / (n_rows as u128).max(1)) as u64;
        let is_damaged = Cell::new(false);
        let group = Group::new(file, number, &is_damaged);
        for at in 0..n_rows {
            let offset = group_start.saturating_add(share(at)).max(self.last_offset);
            self.last_offset = offset.saturating_add(1);
            let place = Place { offset, len: share(at + 1) - share(at) };
            let row =
                Row { rowid: first.saturating_add(at as i64), values: Values::Group { group: &group, at } };
            if self.capture.needs_others(kind, &row) {
                let capture = self.capture.as_mut();
                // Damage is reported where rows are taken.
                let mut aside = TraceBuilder::default();
                self.folder.rows_of(table, &mut aside, &mut |row| {
                    if capture.names_others(kind, row) {
                        capture.look_at(kind, row);
                    }
                })?;
                capture.looked_at_all(kind);
            }
            self.capture.row(kind, &row, place, out);
        }
        if is_damaged.get() {
            report_damage(&self.folder, table, group_start, out);
        }
        Ok(())
    }
}

//! SQLite captures: Nsight Systems (`nsys export -t sqlite`, 2025 and 2026), rocpd (`rocprofv3`, schemas 3 and 4) and RPD
//! (rocmProfileData). Tables of Nsight Systems may also come as Parquet files: [`parquet_folder`].
//!
//! In come pages of the database, out go events in the layout of Kineto, so that all GPU reports work on them. Schema, dictionaries
//! and the interior pages of B-trees are read first, from the lent file; the pages of events are decoded as they stream by, in order
//! of the file (`import::lent`).
//!
//! A capture names the whole environment of its programs. Only what events refer to goes to the trace, with versions, GPUs and
//! options.

mod call_chains;
mod devices;
mod issues;
mod names;
mod nsys;
mod nvtx;
pub mod parquet_folder;
mod rocpd;
mod rows;
mod rpd;
mod sampled;
mod tables;

use self::issues::*;
use self::rows::{Row, Values};
use self::tables::Tables;
use super::kineto::Place;
use super::lent::{self, LentReader};
use super::{Confidence, FormatInfo, ImportError};
use crate::base::units::counted;
use crate::sqlite::{Database, Error, MAGIC, PageNumber, Record, Table, leaf};
use crate::trace::args::Content;
use crate::trace::{Position, TraceBuilder};
use std::rc::Rc;

pub static NSYS: FormatInfo = FormatInfo {
    id: "nsys-sqlite",
    title: "Nsight Systems export (SQLite)",
    producers: "nsys export -t sqlite",
    extensions: &["sqlite"],
    sniff: |head| sniff(head, nsys::is_one),
    reader: || Box::new(LentReader::<Pages>::default()),
    parts: None,
    has_events: true,
    issues: issues::ALL,
};

pub static ROCPD: FormatInfo = FormatInfo {
    id: "rocpd",
    title: "ROCm profile (rocpd, RPD)",
    producers: "rocprofv3, rocprofiler-systems, rocmProfileData",
    extensions: &["db", "rpd"],
    sniff: |head| sniff(head, |text| text.contains("rocpd_")),
    reader: || Box::new(LentReader::<Pages>::default()),
    parts: None,
    has_events: true,
    issues: &[],
};

/// Names of tables that a refusal lists.
const MAX_NAMED_TABLES: usize = 8;

/// Rates content by the names of tables in its first pages. All databases are read; the schema decides then what they are.
fn sniff(head: &[u8], is_one: impl Fn(&str) -> bool) -> Confidence {
    if !head.starts_with(MAGIC) {
        return Confidence::No;
    }
    let mut text: String = head.iter().map(|byte| char::from(*byte)).collect();
    // UTF-16, roughly.
    text.retain(|char| char != '\0');
    if is_one(&text) { Confidence::Certain } else { Confidence::Likely }
}

/// Random access to the file of a capture.
type File = Database<Rc<dyn Content>>;

/// What to do with the rows of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plan {
    /// Nothing: a dictionary or other metadata.
    Ignore,
    /// They are events that are not shown.
    Count,
    /// They are events: kind of table, as the capture numbers it.
    Read(usize),
}

/// Maps the tables of a tool to events.
trait Capture {
    /// Takes a row of the table with [`Plan::Read`] of `kind`.
    fn row(&mut self, kind: usize, row: &Row<'_>, place: Place, out: &mut TraceBuilder);
    /// Whether names in the other rows of its table are needed before `row` is taken: then these are looked at first.
    fn needs_others(&self, _kind: usize, _row: &Row<'_>) -> bool {
        false
    }
    /// Whether a row may name others, by its first columns.
    fn names_others(&self, _kind: usize, _row: &Row<'_>) -> bool {
        false
    }
    /// Looks at a row that names others before its turn.
    fn look_at(&mut self, _kind: usize, _row: &Row<'_>) {}
    /// All rows of a table were looked at.
    fn looked_at_all(&mut self, _kind: usize) {}
    /// Adds what is known of the file so far.
    fn describe(&self, out: &mut TraceBuilder);
}

/// Opened capture with a plan for each table.
struct Opened {
    capture: Box<dyn Capture>,
    plans: Vec<Plan>,
}

impl Tables for File {
    fn tables(&self) -> &[Table] {
        Database::tables(self)
    }

    fn rows_of(
        &self,
        table: usize,
        out: &mut TraceBuilder,
        each: &mut dyn FnMut(&Row<'_>),
    ) -> Result<(), ImportError> {
        let Some(table) = Database::tables(self).get(table) else { return Ok(()) };
        let leaves = self.leaves(table.root).map_err(refuse)?;
        let encoding = self.header().encoding;
        let n_damaged = self.rows(&leaves.pages, |rowid, payload, record| {
            each(&Row { rowid, values: Values::Record { payload, record, encoding } });
        });
        for _ in 0..n_damaged.map_err(refuse)?.saturating_add(leaves.n_damaged) {
            out.trace.ledger.file(&DAMAGED_ROW, Position::NOWHERE, table.name.as_bytes());
        }
        Ok(())
    }
}

/// A file that is read page by page.
struct Pages {
    file: File,
    capture: Box<dyn Capture>,
    plans: Vec<Plan>,
    /// Number of the table of each page plus 1; 0 for none.
    owners: Vec<u16>,
    /// Rows of each table that are not shown.
    n_counted: Vec<u64>,
    /// The begin of the next page.
    rest: Vec<u8>,
    next: PageNumber,
    record: Record,
}

impl lent::Opened for Pages {
    const RECORDS: &'static str = "rows";
    const FILES: &'static str = "SQLite files";
    const TOO_LARGE: &'static str = "sqlite-too-large";

    /// Reads schema, dictionaries and interior pages.
    fn open(content: &Rc<dyn Content>, out: &mut TraceBuilder) -> Result<Pages, ImportError> {
        let n_bytes = content.n_bytes();
        let file = Database::open(content.clone()).map_err(refuse)?;
        let names: Vec<&str> = file.tables().iter().map(|table| table.name.as_str()).collect();
        let has = |is: &dyn Fn(&str) -> bool| names.iter().any(|name| is(name));
        if is_nvprof(&names) {
            return Err(ImportError {
                code: "unknown-format",
                what: "this is an nvprof database (.nvvp), which Tracedrop does not support".to_string(),
                hint: "record with `nsys profile` and export with `nsys export -t sqlite`".to_string(),
            });
        }
        let (format, opened) = if has(&nsys::is_table) {
            (&NSYS, nsys::open(&file, out)?)
        } else if has(&|name| name == "rocpd_op") && has(&|name| name == "rocpd_api") {
            (&ROCPD, rpd::open(&file, out)?)
        } else if has(&|name| name.starts_with("rocpd_kernel_dispatch") || name.starts_with("rocpd_metadata"))
        {
            (&ROCPD, rocpd::open(&file, out)?)
        } else {
            return Err(unknown(&names));
        };
        out.trace.source.format = format.id;
        let ledger = &mut out.trace.ledger;
        if file.header().is_wal {
            ledger.file(&WAL, Position::NOWHERE, b"");
        }
        if file.is_cut() || !n_bytes.is_multiple_of(u64::from(file.header().page_bytes)) {
            let example = format!(
                "{} of {} pages",
                file.n_pages(),
                file.header().n_pages.map_or("?".to_string(), |n| n.to_string())
            );
            ledger.file(&TRUNCATED, Position { byte: n_bytes, line: None }, example.as_bytes());
        }
        for _ in 0..file.schema_damage() {
            ledger.file(&DAMAGED_PAGE, Position::NOWHERE, b"sqlite_schema");
        }
        for name in file.unread() {
            ledger.file(&UNREAD_TABLE, Position::NOWHERE, name.as_bytes());
        }
        let owners = owners(&file, &opened.plans, out)?;
        let n_counted = vec![0; opened.plans.len()];
        Ok(Pages {
            capture: opened.capture,
            plans: opened.plans,
            file,
            owners,
            n_counted,
            rest: Vec::new(),
            next: 1,
            record: Record::default(),
        })
    }

    fn feed(&mut self, mut bytes: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError> {
        let page_bytes = self.file.header().page_bytes as usize;
        if !self.rest.is_empty() {
            let n = (page_bytes - self.rest.len()).min(bytes.len());
            let (head, after) = bytes.split_at(n);
            self.rest.extend_from_slice(head);
            bytes = after;
            if self.rest.len() < page_bytes {
                return Ok(());
            }
            let page = std::mem::take(&mut self.rest);
            self.page(&page, out)?;
            self.rest = page;
            self.rest.clear();
        }
        let mut pages = bytes.chunks_exact(page_bytes);
        for page in &mut pages {
            self.page(page, out)?;
        }
        self.rest.extend_from_slice(pages.remainder());
        Ok(())
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        self.snapshot(out);
        // Pages of tables that are not events, and what no table reaches.
        let ledger = &mut out.trace.ledger;
        ledger.frame(ledger.unaccounted_bytes());
        Ok(())
    }

    fn snapshot(&self, out: &mut TraceBuilder) {
        describe(self.file.tables(), &self.n_counted, &*self.capture, out);
    }
}

impl Pages {
    /// Takes the next page.
    fn page(&mut self, page: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError> {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        let owner = self.owners.get(number as usize).map_or(0, |owner| usize::from(*owner));
        let Some(table) = owner.checked_sub(1) else { return Ok(()) };
        let start = u64::from(number - 1) * page.len() as u64;
        let name = self.file.tables().get(table).map_or("", |table| table.name.as_str());
        let Some(cells) = leaf::cells(page, number, self.file.header()) else {
            out.trace.ledger.leave_out(page.len() as u64);
            out.trace.ledger.file(&DAMAGED_PAGE, Position { byte: start, line: None }, name.as_bytes());
            return Ok(());
        };
        let kind = match self.plans.get(table) {
            Some(Plan::Read(kind)) => *kind,
            _ => {
                let n_rows = cells.count() as u64;
                self.n_counted[table] += n_rows;
                out.trace.ledger.skip_records(n_rows, page.len() as u64);
                return Ok(());
            }
        };
        let encoding = self.file.header().encoding;
        for cell in cells {
            let at = match cell {
                Ok(cell) => cell.at,
                Err(at) => at,
            };
            let offset = start + at as u64;
            let mut place = Place { offset, len: 0 };
            let payload = match &cell {
                Ok(cell) => {
                    place.len =
                        (cell.n_bytes as u64).saturating_add(cell.n_payload - cell.local.len() as u64);
                    self.file.payload(cell).map_err(refuse)?
                }
                Err(_) => None,
            };
            match (payload, cell) {
                (Some(payload), Ok(cell)) if self.record.parse(&payload) => {
                    let values = Values::Record { payload: &payload, record: &self.record, encoding };
                    let row = Row { rowid: cell.rowid, values };
                    if self.capture.needs_others(kind, &row) {
                        look_at_all(&self.file, &self.owners, owner, self.capture.as_mut(), kind)?;
                    }
                    self.capture.row(kind, &row, place, out);
                }
                _ => {
                    let position = Position { byte: offset, line: None };
                    out.trace.ledger.skip_record(&DAMAGED_ROW, position, 0, name.as_bytes());
                }
            }
        }
        Ok(())
    }
}

/// Reports the numbers of rows by table that are not shown, and what is known of the file.
fn describe(tables: &[Table], n_counted: &[u64], capture: &dyn Capture, out: &mut TraceBuilder) {
    for (table, n) in tables.iter().zip(n_counted).filter(|(_, n)| **n > 0) {
        let example = format!("{}: {}", table.name, counted(*n, "row", "rows"));
        out.trace.ledger.file(&OTHER_TABLE, Position::NOWHERE, example.as_bytes());
    }
    capture.describe(out);
}

/// Shows a capture all rows that name others in the table with that number in `owners`. Damage is reported where they are taken.
fn look_at_all(
    file: &File,
    owners: &[u16],
    owner: usize,
    capture: &mut dyn Capture,
    kind: usize,
) -> Result<(), ImportError> {
    let pages = (0..).zip(owners).filter(|(_, own)| usize::from(**own) == owner);
    let pages: Vec<PageNumber> = pages.map(|(page, _)| page).collect();
    let encoding = file.header().encoding;
    let mut record = Record::default();
    let looked = file.payloads(&pages, |rowid, payload| {
        let row = Row { rowid, values: Values::Payload { payload, encoding } };
        if capture.names_others(kind, &row) && record.parse(payload) {
            capture
                .look_at(kind, &Row { rowid, values: Values::Record { payload, record: &record, encoding } });
        }
        true
    });
    looked.map_err(refuse)?;
    capture.looked_at_all(kind);
    Ok(())
}

/// The table of each leaf page of tables with events.
fn owners(file: &File, plans: &[Plan], out: &mut TraceBuilder) -> Result<Vec<u16>, ImportError> {
    let mut owners = vec![0; file.n_pages() as usize + 1];
    for (i, (table, plan)) in file.tables().iter().zip(plans).enumerate() {
        let Ok(owner) = u16::try_from(i + 1) else { break };
        if *plan == Plan::Ignore {
            continue;
        }
        let leaves = file.leaves(table.root).map_err(refuse)?;
        for page in leaves.pages {
            if let Some(own) = owners.get_mut(page as usize) {
                *own = owner;
            }
        }
        for _ in 0..leaves.n_damaged {
            out.trace.ledger.file(&DAMAGED_PAGE, Position::NOWHERE, table.name.as_bytes());
        }
    }
    Ok(owners)
}

fn refuse(error: Error) -> ImportError {
    ImportError {
        code: "unsupported",
        what: error.to_string(),
        hint: "copy or export it again, without encryption".to_string(),
    }
}

/// Whether tables are those of nvprof, which has activities of CUPTI too: its texts are in `StringTable`, those of Nsight Systems in
/// `StringIds`.
fn is_nvprof(names: &[&str]) -> bool {
    names.contains(&"StringTable")
        && !names.contains(&"StringIds")
        && names.iter().any(|name| name.starts_with("CUPTI_ACTIVITY_KIND_"))
}

fn unknown(names: &[&str]) -> ImportError {
    let mut tables = names.iter().take(MAX_NAMED_TABLES).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_NAMED_TABLES {
        tables.push_str(", …");
    }
    let tables = if tables.is_empty() { "none".to_string() } else { tables };
    ImportError {
        code: "unknown-format",
        what: format!(
            "this is an SQLite database, not a capture of Nsight Systems, rocpd or RPD (its tables: {tables})"
        ),
        hint: "export with `nsys export -t sqlite`, or record with rocprofv3".to_string(),
    }
}

//! `trace.parquet` of mrm-trace 0.1.0 to 0.1.23: labelled memory accesses, 18 columns.
//!
//! The metadata of a Parquet file is at its end. With random access, the bytes fed are ignored and the row groups are read in
//! order after the last byte, so that at most one is in memory. Without it (compressed files and pipes), the file is kept
//! until then, up to `MAX_KEPT_BYTES`. Several workers can share a file: a row group belongs to the part in which it starts,
//! and is decoded as soon as its bytes have come. Other tables: [`super::fleet`]. Columns and their meaning: [`crate::memory_run::trace_table`].

mod groups;
mod issues;
mod part;
mod partial_file;

use self::groups::Groups;
use self::part::{Notes, PARTS};
use super::parts::{Mergeable, Part};
use super::{Confidence, FormatInfo, ImportError, Reader, fleet};
use crate::parquet::{MAGIC, Source};
use crate::trace::TraceBuilder;
use crate::trace::args::Content;
use std::rc::Rc;

pub static INFO: FormatInfo = FormatInfo {
    id: "mrm-parquet",
    title: "Memory accesses (mrm-trace Parquet)",
    producers: "mrm-trace, tracedrop",
    extensions: &["parquet"],
    sniff: |head| if head.starts_with(MAGIC) { Confidence::Certain } else { Confidence::No },
    reader: || Box::new(ParquetReader::default()),
    parts: Some(&PARTS),
    has_events: false,
    issues: issues::ALL,
};

/// Largest file without random access.
const MAX_KEPT_BYTES: usize = if usize::BITS == 32 { 512 << 20 } else { 4 << 30 };

#[derive(Default)]
struct ParquetReader {
    content: Option<Rc<dyn Content>>,
    kept: Vec<u8>,
    /// Offset of the next byte.
    at: u64,
    /// Offset at which reading stops.
    limit: Option<u64>,
    /// The file, once it was opened to see whether workers can share it.
    groups: Option<Groups<Rc<dyn Content>>>,
    is_looked_at: bool,
    is_begun: bool,
}

impl ParquetReader {
    /// Opens the file and reports issues of its columns.
    fn begun(&mut self, out: &mut TraceBuilder) -> Option<&mut Groups<Rc<dyn Content>>> {
        let groups = self.groups.as_mut()?;
        if !std::mem::replace(&mut self.is_begun, true) {
            groups.begin(out);
        }
        Some(groups)
    }
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
        let left = self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.at));
        self.at += left.min(bytes.len() as u64);
        if self.content.is_none() {
            if bytes.len() > MAX_KEPT_BYTES.saturating_sub(self.kept.len()) {
                return Err(too_large());
            }
            self.kept.extend_from_slice(bytes);
        }
        if self.is_begun
            && let Some(groups) = &mut self.groups
        {
            // Workers could not read these.
            groups.read_until(self.at, out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        out.trace.ledger.record_noun = "rows".into();
        let read = if let Some(groups) = self.begun(out) {
            groups.read_until(u64::MAX, out);
            groups.describe(out);
            Ok(())
        } else {
            match self.content.take() {
                Some(content) => read(content, out),
                None => read(std::mem::take(&mut self.kept).as_slice(), out),
            }
        };
        // The footer gives the place of all rows; all other bytes are the footer, indexes and filters. Nothing is known about
        // a file that could not be read.
        if read.is_ok() {
            let ledger = &mut out.trace.ledger;
            ledger.frame(ledger.unaccounted_bytes());
        }
        read
    }

    fn snapshot(&self, out: &mut TraceBuilder) {
        if let Some(groups) = self.groups.as_ref().filter(|_| self.is_begun) {
            groups.describe(out);
        }
    }

    fn mergeable(&mut self) -> Option<&mut dyn Mergeable> {
        if self.groups.is_none() && !std::mem::replace(&mut self.is_looked_at, true) {
            // If the file cannot be opened, reading reports why.
            self.groups = self.content.clone().and_then(|content| Groups::open(content).ok());
        }
        self.content.is_some().then_some(self)
    }
}

impl Mergeable for ParquetReader {
    fn is_splittable(&self) -> bool {
        self.groups.as_ref().is_some_and(Groups::can_be_shared)
    }

    fn wants(&self) -> u64 {
        self.at
    }

    fn set_limit(&mut self, limit: u64) {
        self.limit = Some(limit);
    }

    fn starts(&self) -> Vec<u64> {
        self.groups.as_ref().map_or(Vec::new(), Groups::starts)
    }

    /// Row groups are read by offset, so reading never stands in the middle of one.
    fn merge_point(&self) -> Option<u64> {
        Some(self.at)
    }

    fn merge(&mut self, part: Part, out: &mut TraceBuilder) -> bool {
        let Some(notes) = Notes::from_bytes(&part.notes) else { return false };
        let Some(groups) = self.begun(out) else { return false };
        groups.read_until(part.start, out);
        // Parts without positions are rejected.
        out.trace.accesses.set_given_positions();
        let is_joined = part.rows.merge_into(out, issues::ALL, 0);
        if is_joined {
            groups.go_on_behind(part.end, notes);
            self.at = part.end;
        }
        is_joined
    }
}

fn read<S: Source>(source: S, out: &mut TraceBuilder) -> Result<(), ImportError> {
    let file = groups::open(source)?;
    if let Some(table) = fleet::table_of(&file) {
        return fleet::read(&file, table, out);
    }
    let mut groups = Groups::of(file)?;
    groups.begin(out);
    groups.read_until(u64::MAX, out);
    groups.describe(out);
    Ok(())
}

fn too_large() -> ImportError {
    ImportError {
        code: "parquet-too-large",
        what: format!(
            "Parquet files over {} MiB cannot be read from a pipe or compressed",
            MAX_KEPT_BYTES >> 20
        ),
        hint: "decompress it first, or open it from disk".to_string(),
    }
}

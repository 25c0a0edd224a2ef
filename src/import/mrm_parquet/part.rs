//! Parts of a file: row groups read by a worker and joined by another.

use super::groups::Groups;
use super::partial_file::PartialFile;
use crate::import::parts::{Part, PartReader, PartRows, PartsInfo};
use crate::memory_run::trace_table::TraceInfo;
use crate::trace::TraceBuilder;
use crate::trace::args::Content;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::rc::Rc;

pub static PARTS: PartsInfo = PartsInfo {
    reader: || Box::new(ParquetPart::default()),
    min_readers: 2,
    // Each part is a stream that takes time to start, and encoded rows take little memory.
    max_bytes: 64 << 20,
};

/// Start of a part that cannot be used.
const NOWHERE: u64 = u64::MAX;

/// State of a part besides its rows.
#[derive(Serialize, Deserialize)]
pub struct Notes {
    /// Run of all rows; `None` if there are no rows.
    pub run_id: Option<String>,
    /// Number of skipped rows.
    pub n_skipped: u64,
}

impl Notes {
    /// Decodes what [`ParquetPart`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Option<Notes> {
        postcard::from_bytes(bytes).ok()
    }
}

/// Reads the row groups that start in its part, from the bytes fed, and from the file where those end too early.
#[derive(Default)]
struct ParquetPart {
    content: Option<Rc<dyn Content>>,
    groups: Option<Groups<PartialFile<Rc<dyn Content>>>>,
    bytes: Range<u64>,
    out: TraceBuilder,
}

/// Whether the run of all rows is known; rows before the first one with a run id depend on what precedes the part.
fn names_run(info: &TraceInfo) -> bool {
    info.run_id.is_some()
}

impl PartReader for ParquetPart {
    fn lend(&mut self, content: Rc<dyn Content>) {
        self.content = Some(content);
    }

    fn start(&mut self, from: u64, until: u64) {
        self.bytes = from..until;
        self.out = TraceBuilder::default();
        if let Some(content) = self.content.take() {
            self.groups = Groups::open(PartialFile::new(content)).ok();
        }
        if let Some(groups) = &mut self.groups {
            groups.start_at(from);
            groups.feed_from(from);
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> bool {
        let ParquetPart { groups, bytes: Range { end, .. }, out, .. } = self;
        groups.as_mut().is_some_and(|groups| groups.feed(bytes, *end, out, names_run))
    }

    fn finish(&mut self) -> Part {
        let notes = self.notes();
        let out = std::mem::take(&mut self.out);
        let is_of_use = notes.is_some();
        Part {
            start: if is_of_use { self.bytes.start } else { NOWHERE },
            end: self.bytes.end,
            notes: notes.and_then(|notes| postcard::to_allocvec(&notes).ok()).unwrap_or_default(),
            rows: PartRows::Tables(Box::new(if is_of_use { out } else { TraceBuilder::default() })),
        }
    }
}

impl ParquetPart {
    /// `None` if the treatment of rows depends on rows before them.
    fn notes(&mut self) -> Option<Notes> {
        let groups = self.groups.as_mut()?;
        while groups.is_before(self.bytes.end) && (names_run(groups.info()) || !groups.has_read()) {
            groups.read_next(&mut self.out);
        }
        let info = groups.info();
        let is_alone = names_run(info) && !info.has_several_runs && info.n_numbered == 0;
        (is_alone || !groups.has_read())
            .then(|| Notes { run_id: info.run_id.clone(), n_skipped: info.n_skipped })
    }
}

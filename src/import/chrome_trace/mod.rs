//! Chrome Trace Event JSON, as written by Chrome, Perfetto, the PyTorch profiler, ferrum-bench and many others.
//!
//! ```json
//! {"traceEvents":[{"name":"step","cat":"cpu","ph":"X","ts":12.5,"dur":3,"pid":1,"tid":2,"args":{"n":1}}]}
//! ```
//! Bytes go through `container` (text around events) and `scanner` (one event) to `rows` (ids of texts and threads); the
//! builder pairs and nests events. Times are microseconds, parsed from their digits.
//!
//! Quirks: files are often unclosed or truncated; times and ids are numbers or texts; `args` may be anything.

mod carry;
mod container;
mod cursor;
mod digits;
mod event;
mod facts;
mod issues;
mod layouts;
pub(super) mod links;
mod part;
mod part_notes;
mod rows;
mod salvage;
mod scanner;
mod sniff;

use super::parts::{MAX_PART_BYTES, Mergeable, Part, PartsInfo};
use super::{FormatInfo, ImportError, Reader};
use crate::trace::TraceBuilder;
use container::Container;
use part_notes::PartNotes;

pub static INFO: FormatInfo = FormatInfo {
    id: "chrome-trace",
    title: "Chrome Trace Event JSON",
    producers: "Chrome, Perfetto, PyTorch profiler, ferrum-bench and many others",
    extensions: &["json", "trace", "jsonl", "ndjson"],
    sniff: sniff::sniff,
    reader: || Box::new(ChromeReader { container: Container::new() }),
    parts: Some(&PartsInfo {
        reader: || Box::new(part::ChromePart::default()),
        min_readers: 2,
        max_bytes: MAX_PART_BYTES,
    }),
    has_events: true,
    issues: issues::ALL,
};

struct ChromeReader {
    container: Container,
}

impl Reader for ChromeReader {
    fn feed(&mut self, bytes: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError> {
        out.trace.ledger.record_noun = "events".into();
        self.container.feed(bytes, out);
        Ok(())
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        out.trace.ledger.record_noun = "events".into();
        let result = self.container.finish(out);
        self.snapshot(out);
        result
    }

    fn snapshot(&self, out: &mut TraceBuilder) {
        self.container.facts.apply(&self.container.rows.seen, &mut out.trace.source);
    }

    fn mergeable(&mut self) -> Option<&mut dyn Mergeable> {
        Some(self)
    }
}

impl Mergeable for ChromeReader {
    fn is_splittable(&self) -> bool {
        self.container.is_among_events()
    }

    fn wants(&self) -> u64 {
        self.container.wants()
    }

    fn set_limit(&mut self, limit: u64) {
        self.container.limit = limit;
    }

    fn merge_point(&self) -> Option<u64> {
        self.container.merge_point()
    }

    fn merge(&mut self, part: Part, out: &mut TraceBuilder) -> bool {
        let Some(notes) = PartNotes::from_bytes(&part.notes) else { return false };
        let is_joined = self.container.fits(&notes) && part.rows.merge_into(out, issues::ALL, 0);
        if is_joined {
            self.container.continue_after_part(part.end, &notes);
        }
        is_joined
    }
}

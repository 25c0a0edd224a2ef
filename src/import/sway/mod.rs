//! Forward-pass traces of dlm-sway.

use super::{Confidence, FormatInfo, ImportError, Reader};
use crate::trace::TraceBuilder;

pub static INFO: FormatInfo = FormatInfo {
    id: "sway",
    title: "Forward-pass trace (dlm-sway JSONL)",
    producers: "dlm-sway",
    extensions: &["jsonl", "ndjson"],
    sniff: |_| Confidence::No,
    reader: || Box::new(Stub),
};

struct Stub;

impl Reader for Stub {
    fn feed(&mut self, _bytes: &[u8], _out: &mut TraceBuilder) -> Result<(), ImportError> {
        Ok(())
    }

    fn finish(&mut self, _out: &mut TraceBuilder) -> Result<(), ImportError> {
        Ok(())
    }
}

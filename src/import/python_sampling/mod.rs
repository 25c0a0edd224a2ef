//! JSONL of the sampling profiler in CPython 3.15 and later.

use super::{Confidence, FormatInfo, ImportError, Reader};
use crate::trace::TraceBuilder;

pub static INFO: FormatInfo = FormatInfo {
    id: "python-sampling",
    title: "Python sampling profile (JSONL)",
    producers: "CPython 3.15+ `python -m profiling.sampling`",
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

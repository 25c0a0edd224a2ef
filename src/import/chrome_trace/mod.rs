//! Chrome Trace Event JSON.

use super::{Confidence, FormatInfo, ImportError, Reader};
use crate::trace::TraceBuilder;

pub static INFO: FormatInfo = FormatInfo {
    id: "chrome-trace",
    title: "Chrome Trace Event JSON",
    producers: "Chrome, Perfetto, PyTorch profiler, ferrum-bench and many others",
    extensions: &["json", "trace", "jsonl", "ndjson"],
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

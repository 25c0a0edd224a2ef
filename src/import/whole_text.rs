//! Short companion files of traces, kept whole for a report to check them.

use super::{ImportError, Reader};
use crate::trace::TraceBuilder;

/// Largest file of this kind.
const MAX_BYTES: usize = 8 << 20;

/// Keeps all bytes.
#[derive(Default)]
pub struct WholeText {
    bytes: Vec<u8>,
}

impl Reader for WholeText {
    fn feed(&mut self, bytes: &[u8], _out: &mut TraceBuilder) -> Result<(), ImportError> {
        if bytes.len() > MAX_BYTES - self.bytes.len() {
            return Err(ImportError {
                code: "too-large",
                what: format!(
                    "the file is larger than {} MiB, the limit for files of this kind",
                    MAX_BYTES >> 20
                ),
                hint: "check that it is the right file".to_string(),
            });
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        let bytes = std::mem::take(&mut self.bytes);
        let ends = memchr::memchr_iter(b'\n', &bytes).count() as u64;
        let n_lines = ends + u64::from(!bytes.is_empty() && !bytes.ends_with(b"\n"));
        out.trace.ledger.record_noun = "lines".into();
        out.trace.ledger.keep_records(n_lines, bytes.len() as u64);
        out.trace.text = bytes;
        Ok(())
    }
}

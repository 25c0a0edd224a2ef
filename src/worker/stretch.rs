//! A part of a file on its way from the `Blob` to a parser of parts.

use crate::source::Source;
use std::ops::Range;
use tracedrop::import::parts::{Part, PartReader};
use wasm_bindgen::prelude::*;
use web_sys::Blob;

/// Bytes after a part within which its last record usually ends.
const OVERHANG_BYTES: u64 = 16 << 10;
/// Bytes per further read, where it does not.
const MORE_BYTES: u64 = 1 << 20;

/// A part whose bytes are already being read.
pub struct Stretch {
    pub range: Range<u64>,
    source: Source,
    is_begun: bool,
}

impl Stretch {
    /// Requests the first bytes.
    pub fn open(blob: &Blob, range: Range<u64>) -> Stretch {
        let source = Source::new(blob, range.start..range.end + OVERHANG_BYTES);
        Stretch { range, source, is_begun: false }
    }

    /// Feeds the next bytes to `reader`, through `buffer`; returns the parsed part at the end.
    pub async fn step(
        &mut self,
        blob: &Blob,
        reader: &mut dyn PartReader,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Part>, JsValue> {
        if !self.is_begun {
            self.is_begun = true;
            reader.start(self.range.start, self.range.end);
        }
        self.source.next(buffer).await?;
        if buffer.is_empty() {
            let at = self.source.at();
            if at >= blob.size() as u64 {
                return Ok(Some(reader.finish()));
            }
            self.source = Source::new(blob, at..at + MORE_BYTES);
            return Ok(None);
        }
        if reader.feed(buffer) {
            return Ok(None);
        }
        let part = reader.finish();
        // A stream read to its end releases its buffers.
        while self.source.end() - self.source.at() <= OVERHANG_BYTES && !buffer.is_empty() {
            self.source.next(buffer).await?;
        }
        Ok(Some(part))
    }
}

//! A stretch of a file on its way from the `Blob` to a reader of parts.

use crate::source::Source;
use std::ops::Range;
use tracedrop::import::parts::{Part, PartReader};
use wasm_bindgen::prelude::*;
use web_sys::Blob;

/// The last record of a stretch mostly ends within so many bytes behind it.
const OVERHANG_BYTES: u64 = 16 << 10;
/// Where it does not, so much is read at a time.
const MORE_BYTES: u64 = 1 << 20;

/// A stretch whose bytes are already on their way.
pub struct Stretch {
    pub range: Range<u64>,
    source: Source,
    is_begun: bool,
}

impl Stretch {
    /// Asks for the first bytes.
    pub fn open(blob: &Blob, range: Range<u64>) -> Stretch {
        let source = Source::new(blob, range.start..range.end + OVERHANG_BYTES);
        Stretch { range, source, is_begun: false }
    }

    /// Hands the next bytes to `reader`, through `buffer`; gives the part once it is read.
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
        // A stream that is read to its end gives back its buffers.
        while self.source.end() - self.source.at() <= OVERHANG_BYTES && !buffer.is_empty() {
            self.source.next(buffer).await?;
        }
        Ok(Some(part))
    }
}

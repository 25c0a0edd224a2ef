//! Random access to the file of a session: workers may block on reads.

use js_sys::{ArrayBuffer, Uint8Array};
use std::io;
use tracedrop::trace::args::Content;
use wasm_bindgen::prelude::*;
use web_sys::{Blob, FileReaderSync};

/// A `Blob` with synchronous reads.
pub struct BlobContent {
    blob: Blob,
    reader: FileReaderSync,
}

impl BlobContent {
    /// `None` if the browser has no synchronous reads.
    pub fn new(blob: &Blob) -> Option<BlobContent> {
        Some(BlobContent { blob: blob.clone(), reader: FileReaderSync::new().ok()? })
    }

    fn read(&self, offset: u64, end: u64) -> Result<ArrayBuffer, JsValue> {
        let slice = self.blob.slice_with_f64_and_f64(offset as f64, end as f64)?;
        self.reader.read_as_array_buffer(&slice)
    }
}

impl Content for BlobContent {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let buffer = self
            .read(offset, offset + out.len() as u64)
            .map_err(|error| io::Error::other(crate::read_error(&crate::error_name(&error))))?;
        let bytes = Uint8Array::new(&buffer);
        if bytes.length() as usize != out.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.copy_to(out);
        Ok(())
    }

    fn n_bytes(&self) -> u64 {
        self.blob.size() as u64
    }
}

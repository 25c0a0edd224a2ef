//! Files that are read in order once their schema, dictionaries or names are known, which may be anywhere in them.
//!
//! Those are read first, from the lent file. Without random access (compressed files, pipes), the file is kept in memory, up to
//! [`MAX_KEPT_BYTES`].

use super::{ImportError, Reader};
use crate::trace::TraceBuilder;
use crate::trace::args::Content;
use crate::trace::builder::Ways;
use std::rc::Rc;

/// Largest file without random access.
const MAX_KEPT_BYTES: usize = if usize::BITS == 32 { 512 << 20 } else { 4 << 30 };

/// Bytes read from memory between two looks at how many events there are.
const PIECE_BYTES: usize = 1 << 20;

/// A file whose dictionaries were read.
pub trait Opened: Sized + 'static {
    /// Records, in the plural.
    const RECORDS: &'static str;
    /// Such files, in the plural.
    const FILES: &'static str;
    /// Code of the error for files that are too large to be kept.
    const TOO_LARGE: &'static str;

    /// Reads what has to be known first.
    fn open(content: &Rc<dyn Content>, out: &mut TraceBuilder) -> Result<Self, ImportError>;
    /// Takes the next bytes of the file.
    fn feed(&mut self, bytes: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError>;
    /// The file is complete.
    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError>;
    /// Adds what is known so far.
    fn snapshot(&self, out: &mut TraceBuilder);
}

/// Reader of such files.
pub struct LentReader<T> {
    content: Option<Rc<dyn Content>>,
    /// The whole file, without random access.
    kept: Vec<u8>,
    opened: Option<T>,
}

impl<T> Default for LentReader<T> {
    fn default() -> LentReader<T> {
        LentReader { content: None, kept: Vec::new(), opened: None }
    }
}

impl<T: Opened> Reader for LentReader<T> {
    fn lend(&mut self, content: Rc<dyn Content>) {
        self.content = Some(content);
    }

    fn feed(&mut self, bytes: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError> {
        begin::<T>(out);
        if let Some(content) = self.content.take() {
            self.opened = Some(T::open(&content, out)?);
        }
        match &mut self.opened {
            Some(opened) => opened.feed(bytes, out),
            None if bytes.len() > MAX_KEPT_BYTES.saturating_sub(self.kept.len()) => Err(ImportError {
                code: T::TOO_LARGE,
                what: format!(
                    "{} over {} MiB cannot be read from a pipe or compressed",
                    T::FILES,
                    MAX_KEPT_BYTES >> 20
                ),
                hint: "decompress it first, or open it from disk".to_string(),
            }),
            None => {
                self.kept.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        begin::<T>(out);
        let opened = match &mut self.opened {
            Some(opened) => opened,
            None => {
                let kept = Rc::new(std::mem::take(&mut self.kept));
                let content: Rc<dyn Content> = kept.clone();
                let opened = self.opened.insert(T::open(&content, out)?);
                for bytes in kept.chunks(PIECE_BYTES) {
                    opened.feed(bytes, out)?;
                    if out.is_full() {
                        out.spill();
                    }
                }
                opened
            }
        };
        opened.finish(out)
    }

    fn snapshot(&self, out: &mut TraceBuilder) {
        if let Some(opened) = &self.opened {
            opened.snapshot(out);
        }
    }
}

fn begin<T: Opened>(out: &mut TraceBuilder) {
    out.trace.ledger.record_noun = T::RECORDS.into();
    // Ranges that are not ended last to the end of the trace.
    out.ways = Ways::Tracks;
}

//! The bytes of files: in order, and by position for the session behind them.

use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::SystemTime;
use tracedrop::base::text;
use tracedrop::trace::args::{CHANGED, Content};

/// Bytes per read.
pub const CHUNK_BYTES: u64 = 1 << 20;

/// A file on disk.
pub struct FileContent {
    file: RefCell<File>,
    /// Size and modification time when it was opened.
    opened: (u64, Option<SystemTime>),
}

impl FileContent {
    /// Opens a file; `None` if it can be read only once, such as a pipe.
    pub fn open(path: &Path) -> Option<FileContent> {
        // A pipe is never opened twice: its writer would take the first close for the last.
        std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(Metadata::is_file)?;
        let opened = (metadata.len(), metadata.modified().ok());
        Some(FileContent { file: RefCell::new(file), opened })
    }
}

impl Content for FileContent {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut file = self.file.borrow_mut();
        let metadata = file.metadata()?;
        // A file that only grew still has the bytes read before.
        let is_same = metadata.modified().ok() == self.opened.1 || metadata.len() > self.opened.0;
        if !is_same {
            return Err(io::Error::other(CHANGED));
        }
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(out)
    }

    fn n_bytes(&self) -> u64 {
        self.file.borrow().metadata().map_or(0, |metadata| metadata.len())
    }
}

/// SHA-256 of a file in hexadecimal. `None` if it is not a regular file or cannot be read again.
pub fn sha256(path: &Path) -> Option<String> {
    std::fs::metadata(path).ok().filter(Metadata::is_file)?;
    let mut file = File::open(path).ok()?;
    let mut hasher = Sha256::new();
    let mut chunk = Vec::new();
    while fill(&mut file, &mut chunk, CHUNK_BYTES).ok()? {
        hasher.update(&chunk);
    }
    Some(text::hex(&hasher.finalize()))
}

/// Replaces `chunk` by the next bytes, at most `len`; false at the end.
pub fn fill(input: &mut dyn Read, chunk: &mut Vec<u8>, len: u64) -> io::Result<bool> {
    chunk.clear();
    input.take(len).read_to_end(chunk)?;
    Ok(!chunk.is_empty())
}

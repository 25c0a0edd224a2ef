//! Random access to the file behind a session.

use std::cell::RefCell;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::SystemTime;
use tracedrop::trace::args::{CHANGED, Content};

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

//! The file behind a session, for what is read from it again.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use tracedrop::trace::args::Content;

pub struct FileContent {
    file: RefCell<File>,
    bytes: u64,
}

impl FileContent {
    /// `None` for what can only be read once, such as a pipe.
    pub fn open(path: &Path) -> Option<FileContent> {
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(|metadata| metadata.is_file())?;
        Some(FileContent { file: RefCell::new(file), bytes: metadata.len() })
    }
}

impl Content for FileContent {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut file = self.file.borrow_mut();
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(out)
    }

    fn n_bytes(&self) -> u64 {
        self.bytes
    }
}

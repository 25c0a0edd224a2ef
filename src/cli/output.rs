//! Outputs of the command: standard output, or a file that is replaced only once the new one is complete.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use tracedrop::base::text;

/// Path for messages, with control characters escaped.
pub fn shown(path: &Path) -> String {
    text::visible(&path.display().to_string())
}

/// Failure of the output itself, not of making its content.
#[derive(Debug)]
pub struct CannotWrite(io::Error);

impl fmt::Display for CannotWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write the output: {}", self.0)
    }
}

impl std::error::Error for CannotWrite {}

/// Marks an error as one of the output, keeping its kind.
pub fn cannot_write(error: io::Error) -> io::Error {
    match is_of_output(&error) {
        true => error,
        false => io::Error::new(error.kind(), CannotWrite(error)),
    }
}

/// Whether an error is one of the output.
pub fn is_of_output(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<CannotWrite>())
}

/// Writer that marks its errors as output errors.
pub struct Out<W>(W);

impl<W: Write> Write for Out<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(cannot_write)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(cannot_write)
    }
}

/// Standard output.
pub fn stdout() -> Out<StdoutLock<'static>> {
    Out(io::stdout().lock())
}

/// File written under a temporary name next to its target, so that a full disk or an interrupt leaves the target intact.
pub struct Replacing {
    out: Out<BufWriter<File>>,
    /// Temporary file and its target; `None` if the target is not a regular file (pipe, device).
    rename: Option<(PathBuf, PathBuf)>,
    is_done: bool,
}

impl Replacing {
    /// Starts writing the file `path`.
    pub fn create(path: &Path) -> io::Result<Replacing> {
        let out = |file| Out(BufWriter::new(file));
        // A link stays; its target is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let there = fs::metadata(&target).ok();
        if let Some(there) = &there
            && !there.is_file()
        {
            let file = fs::OpenOptions::new().write(true).open(&target).map_err(cannot_write)?;
            return Ok(Replacing { out: out(file), rename: None, is_done: false });
        }
        // A file that cannot be written must not be replaced either.
        if there.is_some() {
            fs::OpenOptions::new().append(true).open(&target).map_err(cannot_write)?;
        }
        let mut unfinished = target.as_os_str().to_owned();
        unfinished.push(format!(".{}.part", std::process::id()));
        let unfinished = PathBuf::from(unfinished);
        remove_when_interrupted(&unfinished);
        let file = File::create(&unfinished).map_err(cannot_write)?;
        if let Some(there) = there {
            // Permissions stay, where the system allows it.
            let _ = fs::set_permissions(&unfinished, there.permissions());
        }
        Ok(Replacing { out: out(file), rename: Some((unfinished, target)), is_done: false })
    }

    /// Completes the file and moves it to its target.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        if let Some((unfinished, target)) = &self.rename {
            fs::rename(unfinished, target).map_err(cannot_write)?;
        }
        self.is_done = true;
        Ok(())
    }
}

impl Write for Replacing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Replacing {
    fn drop(&mut self) {
        if let (Some((unfinished, _)), false) = (&self.rename, self.is_done) {
            let _ = fs::remove_file(unfinished);
        }
    }
}

/// Unfinished files of this process.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Exit code of a program that Ctrl-C ended, as shells report it.
const INTERRUPTED: i32 = 130;

/// Has Ctrl-C remove an unfinished file before it ends the process.
fn remove_when_interrupted(path: &Path) {
    static HANDLER: Once = Once::new();
    let unfinished = || UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    unfinished().push(path.to_path_buf());
    // Without a handler, Ctrl-C ends the process all the same; the unfinished file stays, beside an intact target.
    HANDLER.call_once(|| {
        let _ = ctrlc::set_handler(move || {
            // The lock is held until the end, so that no further file is created.
            for path in unfinished().iter() {
                let _ = fs::remove_file(path);
            }
            std::process::exit(INTERRUPTED);
        });
    });
}

/// Writes a whole file, replacing an existing one.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Replacing::create(path)?;
    file.write_all(bytes)?;
    file.finish()
}

/// Prints why an output could not be written.
pub fn say_cannot_write(path: &Path, error: &io::Error) {
    let why = match error.get_ref().and_then(|inner| inner.downcast_ref::<CannotWrite>()) {
        Some(CannotWrite(error)) => error.to_string(),
        None => error.to_string(),
    };
    say!("tracedrop: cannot write {}: {why}", shown(path));
}

/// Writer that remembers its last byte.
pub struct LineEnd<W> {
    pub inner: W,
    pub last: u8,
}

impl<W: Write> Write for LineEnd<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        if let Some(last) = bytes[..n].last() {
            self.last = *last;
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Width of the terminal in columns.
pub fn terminal_width() -> usize {
    match console::Term::stdout().size_checked() {
        Some((_, columns)) => usize::from(columns).max(40),
        None => 100,
    }
}

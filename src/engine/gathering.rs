//! Parsing several files one after the other and combining them.

use super::Session;
use super::protocol::{Failure, LeftOutView};
use crate::analysis::Query;
use crate::import::{ImportError, MAX_EVENTS_32_BIT};
use crate::trace::Trace;

/// Combines several files in one [`Session`], which exists from the first byte on and shows what has been parsed so far.
/// Unreadable files are recorded and skipped.
pub struct Gathering {
    /// Maximum events of all files, which stay in memory.
    max_events: Option<u64>,
}

impl Default for Gathering {
    fn default() -> Gathering {
        Gathering::new()
    }
}

impl Gathering {
    /// In a 32-bit program, all files together may have as many events as one.
    pub fn new() -> Gathering {
        Gathering { max_events: (usize::BITS == 32).then_some(MAX_EVENTS_32_BIT as u64) }
    }

    /// Maximum events of all files.
    pub fn hold_at_most(mut self, n_events: u64) -> Gathering {
        self.max_events = Some(n_events);
        self
    }

    /// Empty session for the files.
    pub fn start(&self, query: Query) -> Session {
        Session::of_several(query)
    }

    /// Starts a file: the next bytes fed to `so_far` belong to it. Fails if it has more events than fit next to the others. The
    /// same file may be started again.
    pub fn begin(&self, so_far: &mut Session, file_name: &str, file_bytes: u64) {
        so_far.leave_file();
        let n_events = |traces: &[Trace]| traces.iter().map(|trace| trace.ledger.n_records()).sum::<u64>();
        let n_before = n_events(&so_far.run().traces);
        let room = self.max_events.map(|max| max.saturating_sub(n_before) as usize);
        so_far.go_on_with(file_name, file_bytes, room);
    }

    /// Ends a file; `read` is the result of [`Session::finish`] or [`Session::stop`].
    pub fn end(&self, so_far: &mut Session, file_name: &str, read: Result<(), ImportError>) {
        match read.and_then(|()| so_far.why_useless().map_or(Ok(()), Err)) {
            Ok(()) => so_far.take_file(),
            Err(why) => {
                so_far.leave_file();
                self.leave_out(so_far, file_name, why.into());
            }
        }
    }

    /// Adds a parsed file, or records the error.
    pub fn add(&self, so_far: &mut Session, file_name: &str, read: Result<Session, ImportError>) {
        let useful = read.and_then(|session| session.why_useless().map_or(Ok(session), Err));
        if let Err(why) = useful.and_then(|session| so_far.take_session(session)) {
            self.leave_out(so_far, file_name, why.into());
        }
    }

    /// Records a skipped file.
    pub fn leave_out(&self, so_far: &mut Session, file_name: &str, why: Failure) {
        so_far.leave_out(LeftOutView { file_name: file_name.to_string(), why });
    }

    /// Ends all files and builds the cheap reports; [`Session::finish_reports`] builds the others. An error if nothing could be
    /// parsed; `so_far` is empty then.
    pub fn finish(self, so_far: &mut Session) -> Result<(), Failure> {
        so_far.end_several().map_err(nothing_read)
    }
}

/// Error with the reason for each file, if none could be parsed.
fn nothing_read(left_out: Vec<LeftOutView>) -> Failure {
    let of_each: Vec<String> =
        left_out.iter().map(|file| format!("{}: {}", file.file_name, file.why.what)).collect();
    let hint = left_out.into_iter().map(|file| file.why.hint).find(|hint| !hint.is_empty());
    Failure {
        code: "nothing-read".to_string(),
        what: format!("none of these files could be read: {}", of_each.join("; ")),
        hint: hint.unwrap_or_default(),
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Failure {
        Failure { code: error.code.to_string(), what: error.what, hint: error.hint }
    }
}

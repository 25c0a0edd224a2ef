//! Several files, read one after the other, to be put together.

use super::Session;
use super::protocol::{Failure, LeftOutView};
use crate::analysis::Query;
use crate::import::{ImportError, MAX_EVENTS_32_BIT};

/// Collects files that are read by whoever drives it. What can not be read is remembered and stops nothing.
pub struct Gathering {
    query: Query,
    /// Events that all files may have, as they stay in memory.
    max_events: Option<u64>,
    n_events: u64,
    sessions: Vec<Session>,
    left_out: Vec<LeftOutView>,
}

impl Gathering {
    /// Nothing is read yet. A 32-bit program has room for as many events of all files as of one.
    pub fn new(query: Query) -> Gathering {
        let max_events = (usize::BITS == 32).then_some(MAX_EVENTS_32_BIT as u64);
        Gathering { query, max_events, n_events: 0, sessions: Vec::new(), left_out: Vec::new() }
    }

    /// There is room for so many events of all files.
    pub fn hold_at_most(mut self, n_events: u64) -> Gathering {
        self.max_events = Some(n_events);
        self
    }

    /// What the next file is read with: it gives up where the file has more events than there is room for.
    pub fn begin(&self, file_name: &str, file_bytes: u64) -> Session {
        let room = self.max_events.map(|max| max.saturating_sub(self.n_events) as usize);
        Session::new(file_name, file_bytes, None, self.query.clone()).part_of_several(room)
    }

    /// Takes a file that was read to its end, or the reason why that could not be done.
    pub fn add(&mut self, file_name: &str, read: Result<Session, ImportError>) {
        let useful = read.and_then(|session| match session.why_useless() {
            Some(why) => Err(why),
            None => Ok(session),
        });
        match useful {
            Ok(session) => {
                let n_events: u64 = session.run().traces.iter().map(|trace| trace.ledger.n_records()).sum();
                self.n_events = self.n_events.saturating_add(n_events);
                self.sessions.push(session);
            }
            Err(why) => self.leave_out(file_name, why.into()),
        }
    }

    /// Remembers a file that is not among them.
    pub fn leave_out(&mut self, file_name: &str, why: Failure) {
        self.left_out.push(LeftOutView { file_name: file_name.to_string(), why });
    }

    /// All that was read as one, with the reports. An error if that is nothing.
    pub fn finish(self) -> Result<Session, Failure> {
        if self.sessions.is_empty() {
            return Err(nothing_read(self.left_out));
        }
        let mut session = Session::together(self.sessions)?;
        session.set_left_out(self.left_out);
        Ok(session)
    }
}

/// Why there is nothing at all: what was wrong with each.
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

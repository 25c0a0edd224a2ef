//! Parsing several files one after the other into one [`Session`], which shows what has been parsed so far. Unreadable files are
//! recorded and skipped.

use super::Session;
use super::protocol::{Failure, LeftOutView};
use super::session::{FileImport, Several};
use crate::analysis::Query;
use crate::import::{FormatInfo, Import, ImportError, MAX_EVENTS_32_BIT};

impl Session {
    /// Session for several files: [`Session::begin_file`], feed and finish it, [`Session::end_file`]; last
    /// [`Session::end_files`].
    ///
    /// In a 32-bit program, all files together may have as many events as one.
    pub fn of_several(query: Query) -> Session {
        let max_events = (usize::BITS == 32).then_some(MAX_EVENTS_32_BIT as u64);
        Session::at_first_of(Several { max_events, ..Several::default() }, query)
    }

    /// Limits the events of several files together.
    pub fn hold_at_most(mut self, n_events: u64) -> Session {
        if let Some((several, ..)) = self.several() {
            several.max_events = Some(n_events);
        }
        self
    }

    /// Starts a file of several: the next bytes belong to it. Finishing it fails if it has more events than fit next to the
    /// others. The same file may be started again. `format` disables detection.
    pub fn begin_file(&mut self, file_name: &str, file_bytes: u64, format: Option<&'static FormatInfo>) {
        self.drop_file();
        let Some((several, traces, _)) = self.several() else { return };
        let n_before = traces.iter().map(|trace| trace.ledger.n_records()).sum::<u64>();
        let mut import = Import::with_format(file_name, file_bytes, format);
        if let Some(max) = several.max_events {
            import.hold_at_most(max.saturating_sub(n_before) as usize);
        }
        import.leave_room_for_accesses(traces);
        several.is_format_given = format.is_some();
        several.current = Some(Box::new(FileImport::new(import, several.is_format_given)));
    }

    /// Ends a file of several; `read` is the result of [`Session::finish`] or [`Session::stop`].
    pub fn end_file(&mut self, file_name: &str, read: Result<(), ImportError>) {
        match read.and_then(|()| self.why_useless().map_or(Ok(()), Err)) {
            Ok(()) => self.keep_file(),
            Err(why) => {
                self.drop_file();
                self.leave_out(file_name, why.into());
            }
        }
    }

    /// Ends a finished file of several, even if nothing in it is usable.
    pub fn keep_file(&mut self) {
        if let Some((several, traces, _)) = self.several() {
            several.n_done = traces.len();
        }
    }

    /// Drops what was parsed of the current file of several.
    pub fn drop_file(&mut self) {
        if let Some((several, traces, _)) = self.several() {
            several.current = None;
            traces.truncate(several.n_done);
        }
    }

    /// Adds a parsed file to several, or records the error.
    pub fn add_session(&mut self, file_name: &str, read: Result<Session, Failure>) {
        let useful = read.and_then(|other| other.why_useless().map_or(Ok(other), |why| Err(why.into())));
        if let Err(why) = useful.and_then(|other| self.take_session(other)) {
            self.leave_out(file_name, why);
        }
    }

    /// Adds a parsed file to several, even if nothing in it is usable. Fails if its tables cannot be read from its index.
    pub fn take_session(&mut self, mut other: Session) -> Result<(), Failure> {
        other.load()?;
        self.drop_file();
        if let Some((_, traces, _)) = self.several() {
            traces.append(other.traces_mut());
        }
        self.keep_file();
        Ok(())
    }

    /// Records a skipped file.
    pub fn leave_out(&mut self, file_name: &str, why: Failure) {
        if let Some((.., left_out)) = self.several() {
            left_out.push(LeftOutView { file_name: file_name.to_string(), why });
        }
    }

    /// Ends several files; [`Session::step_reports`] or [`Session::finish_reports`] makes the reports. An error if nothing could be
    /// parsed; the session is empty then.
    pub fn end_files(&mut self) -> Result<(), Failure> {
        self.drop_file();
        if let Some((_, traces, left_out)) = self.several()
            && traces.is_empty()
        {
            return Err(nothing_read(std::mem::take(left_out)));
        }
        self.end_several();
        Ok(())
    }

    /// Combines parsed sessions as several files, with the query of the first. An error if the tables of one cannot be read from
    /// its index.
    pub fn together(sessions: Vec<Session>) -> Result<Session, Failure> {
        let query = sessions.first().map(|first| first.query().clone()).unwrap_or_default();
        let mut all = Session::of_several(query);
        for one in sessions {
            all.take_session(one)?;
        }
        all.end_several();
        all.finish_reports();
        Ok(all)
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

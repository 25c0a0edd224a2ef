//! When the page hears of what is read, and of how far it is.

use crate::reading::LARGE_BYTES;
use crate::{now_ms, post, post_document};
use tracedrop::base::progress;
use tracedrop::engine::Session;
use tracedrop::engine::protocol::{FileProgress, Progress, Response};
use tracedrop::import::ImportProgress;

/// Progress is told, and messages are let in, this often.
const PROGRESS_EVERY_MS: f64 = 80.0;
/// The first partial report is due after this time.
const FIRST_PARTIAL_MS: f64 = 60.0;
/// What the first one may cost.
const FIRST_COST_MS: f64 = 250.0;
/// Time between partial reports, at least.
const NEXT_PARTIAL_MS: f64 = 400.0;
/// What a partial report costs as long as none of a large part has been made, in milliseconds: of accesses to memory a row, else
/// a byte.
const COST_OF_ACCESS_MS: f64 = 4e-4;
const COST_OF_BYTE_MS: f64 = 3e-7;
/// The cost of those of smaller parts says nothing.
const LARGE_PART_BYTES: u64 = 32 << 20;
/// A partial report may take one part in this many of the time that has gone by since the one before, and of the time
/// that reading is going to take.
const PARTIAL_SHARE: f64 = 4.0;
const PARTIAL_SHARE_LEFT: f64 = 8.0;

/// Tells the page meanwhile how far `make` is, as far as that says so; `finishing` is all else there is to tell.
pub fn making<T>(finishing: Progress, make: impl FnOnce() -> T) -> T {
    post(&Response::Progress(finishing.clone()));
    telling(finishing, make)
}

/// The same where reports are made again, of what was read long ago: nothing is told where that is soon done.
pub fn making_again<T>(make: impl FnOnce() -> T) -> T {
    telling(Progress { finishing: true, ..Progress::default() }, make)
}

fn telling<T>(finishing: Progress, make: impl FnOnce() -> T) -> T {
    let mut last = now_ms();
    let each = move |share: f64| {
        let now = now_ms();
        if now - last >= PROGRESS_EVERY_MS {
            last = now;
            let made_percent = Some((share * 100.0) as u8);
            post(&Response::Progress(Progress { made_percent, ..finishing.clone() }));
        }
    };
    progress::listening(each, make)
}

/// Tells the page how reading goes, and now and then what has come of it.
pub struct Reporter {
    /// Of all files.
    file_bytes: u64,
    /// What is done with, of files before this one.
    before: ImportProgress,
    /// Which of several files this is.
    file: Option<FileProgress>,
    start: f64,
    last_progress: f64,
    /// When the next partial report is due.
    next_partial: f64,
    last_partial: f64,
    /// What the last one of a large part has cost, in milliseconds for each byte that was read.
    partial_cost: Option<f64>,
    /// There has been no partial report.
    is_first: bool,
}

impl Reporter {
    pub fn new(file_bytes: u64) -> Reporter {
        let now = now_ms();
        Reporter {
            file_bytes,
            before: ImportProgress::default(),
            file: None,
            start: now,
            last_progress: now,
            next_partial: now + FIRST_PARTIAL_MS,
            last_partial: now,
            partial_cost: None,
            is_first: true,
        }
    }

    /// From now on another file is read, of several.
    pub fn begin(&mut self, file: FileProgress) {
        self.file = Some(file);
        post(&Response::Progress(self.add_up(ImportProgress::default(), None, false)));
    }

    /// The file is done with, of `file_bytes` bytes.
    pub fn end(&mut self, read: ImportProgress, file_bytes: u64) {
        self.before = self.with_before(ImportProgress { file_bytes, ..read });
    }

    /// Whether the files that are done with are so large that some reports are shown while others are made.
    pub fn has_read_much(&self) -> bool {
        self.before.content_bytes >= LARGE_BYTES
    }

    /// All files are done with; tells of the reports that are made of them.
    pub fn finishing_all<T>(&self, make: impl FnOnce() -> T) -> T {
        making(self.add_up(ImportProgress::default(), None, true), make)
    }

    /// Whether a partial report is worth what it takes: soon after a file is opened, and where one would wait long.
    fn wants_partial(&self, now: f64, read: ImportProgress, is_of_accesses: bool) -> bool {
        // A partial report is on all files so far.
        let read = self.with_before(read);
        let cost = match self.partial_cost {
            Some(cost) => cost * read.content_bytes as f64,
            None if is_of_accesses => COST_OF_ACCESS_MS * read.records as f64,
            None => COST_OF_BYTE_MS * read.content_bytes as f64,
        };
        let bytes_left = self.file_bytes.saturating_sub(read.file_bytes) as f64;
        let left = bytes_left * (now - self.start) / (read.file_bytes as f64).max(1.0);
        // Something shows soon, though it may cost more than later ones may.
        let is_early = self.is_first && cost <= FIRST_COST_MS;
        let is_cheap = cost * PARTIAL_SHARE <= now - self.last_partial && cost * PARTIAL_SHARE_LEFT <= left;
        now >= self.next_partial && read.records > 0 && (is_early || is_cheap)
    }

    /// Whether the page was told of progress, and should be listened to.
    pub fn tell(&mut self, session: &mut Session) -> bool {
        let start = now_ms();
        let read = session.progress();
        let is_of_accesses = session.import().is_some_and(|import| import.is_of_accesses());
        let wants_partial = self.wants_partial(start, read, is_of_accesses);
        let due = wants_partial || start - self.last_progress >= PROGRESS_EVERY_MS;
        if due {
            self.last_progress = start;
            post(&Response::Progress(self.progress(session, false)));
        }
        if wants_partial {
            if session.make_partial() {
                post_document(session);
                self.is_first = false;
            }
            let end = now_ms();
            let n_bytes = self.with_before(read).content_bytes;
            if n_bytes >= LARGE_PART_BYTES {
                self.partial_cost = Some((end - start) / n_bytes as f64);
            }
            (self.last_partial, self.next_partial) = (end, end + NEXT_PARTIAL_MS);
        }
        due
    }

    /// The file is read; how it is told that reports are made of it, by [`making`].
    pub fn finishing(&self, session: &Session) -> Progress {
        self.progress(session, true)
    }

    fn progress(&self, session: &Session, finishing: bool) -> Progress {
        let format = session.format().map(|format| format.title.to_string());
        self.add_up(session.progress(), format, finishing)
    }

    fn with_before(&self, read: ImportProgress) -> ImportProgress {
        ImportProgress {
            file_bytes: self.before.file_bytes + read.file_bytes,
            content_bytes: self.before.content_bytes + read.content_bytes,
            records: self.before.records + read.records,
        }
    }

    fn add_up(&self, read: ImportProgress, format: Option<String>, finishing: bool) -> Progress {
        let read = self.with_before(read);
        Progress {
            file_bytes_read: read.file_bytes,
            file_bytes: self.file_bytes,
            content_bytes: read.content_bytes,
            records: read.records,
            format,
            file: self.file.clone(),
            finishing,
            made_percent: None,
        }
    }
}

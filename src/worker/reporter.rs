//! Timing of progress messages and partial reports.

use crate::reading::LARGE_BYTES;
use crate::{State, now_ms, post, post_document, schedule, timeline};
use std::cell::Cell;
use std::rc::Rc;
use tracedrop::base::progress;
use tracedrop::engine::Session;
use tracedrop::engine::protocol::{FileProgress, Progress, Response};
use tracedrop::import::ImportProgress;

/// Interval of progress messages, and of handling messages.
const PROGRESS_EVERY_MS: f64 = 80.0;
/// The first partial report is due after this time.
const FIRST_PARTIAL_MS: f64 = 60.0;
/// Time that the first one may take.
const FIRST_COST_MS: f64 = 250.0;
/// Minimum time between partial reports.
const NEXT_PARTIAL_MS: f64 = 400.0;
/// Estimated cost of a partial report before one of a large part was built, in milliseconds: per row of memory accesses, else per
/// byte.
const COST_OF_ACCESS_MS: f64 = 4e-4;
const COST_OF_BYTE_MS: f64 = 3e-7;
/// Costs for smaller parts are not representative.
const LARGE_PART_BYTES: u64 = 32 << 20;
/// A partial report may take at most 1 / this of the time since the previous one, and of the remaining parsing time.
const PARTIAL_SHARE: f64 = 4.0;
const PARTIAL_SHARE_LEFT: f64 = 8.0;
/// Timelines of what is parsed so far, if someone looks at them, may take this share of the parsing time together. So the next one
/// comes once there is this many times as much.
const TIMELINE_SHARE: f64 = 0.05;
const TIMELINE_GROWTH: u64 = 2;

/// Sends the progress of making reports, in steps.
#[derive(Clone)]
pub struct Making {
    /// The rest of the message.
    finishing: Progress,
    last_ms: Rc<Cell<f64>>,
    furthest: Rc<Cell<f64>>,
}

impl Making {
    /// After parsing; `finishing` is the rest of the message.
    pub fn new(finishing: Progress) -> Making {
        post(&Response::Progress(finishing.clone()));
        Making { finishing, last_ms: Rc::new(Cell::new(now_ms())), furthest: Rc::default() }
    }

    /// For reports that are made again after parsing: sends nothing if it is quick.
    pub fn again() -> Making {
        let finishing = Progress { finishing: true, ..Progress::default() };
        Making { finishing, last_ms: Rc::new(Cell::new(now_ms())), furthest: Rc::default() }
    }

    /// Runs a step.
    pub fn listen<T>(&self, step: impl FnOnce() -> T) -> T {
        let Making { finishing, last_ms, furthest } = self.clone();
        let each = move |share: f64| {
            let now = now_ms();
            if share > furthest.get() && now - last_ms.get() >= PROGRESS_EVERY_MS {
                furthest.set(share);
                last_ms.set(now);
                let made_percent = Some((share * 100.0) as u8);
                post(&Response::Progress(Progress { made_percent, ..finishing.clone() }));
            }
        };
        progress::listening(each, step)
    }
}

/// Sends progress and partial reports to the page.
pub struct Reporter {
    /// Bytes of all files.
    file_bytes: u64,
    /// Progress of completed files.
    before: ImportProgress,
    /// Current file of several.
    file: Option<FileProgress>,
    start: f64,
    last_progress: f64,
    /// Time at which the next partial report is due.
    next_partial: f64,
    last_partial: f64,
    /// Cost of the last one of a large part, in milliseconds per byte.
    partial_cost: Option<f64>,
    /// Content bytes of the last one.
    partial_bytes: u64,
    /// Milliseconds that went into timelines of those before the last one.
    timelines_ms: f64,
    /// Whether no partial report was sent yet.
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
            partial_bytes: 0,
            timelines_ms: 0.0,
            is_first: true,
        }
    }

    /// Starts another file of several.
    pub fn begin(&mut self, file: FileProgress) {
        self.file = Some(file);
        post(&Response::Progress(self.add_up(ImportProgress::default(), None, false)));
    }

    /// Ends the current file of `file_bytes` bytes.
    pub fn end(&mut self, read: ImportProgress, file_bytes: u64) {
        self.before = self.with_before(ImportProgress { file_bytes, ..read });
    }

    /// Share of all bytes that come before the end of the current file, which has `file_bytes`.
    pub fn share_after(&self, file_bytes: u64) -> f64 {
        ((self.before.file_bytes + file_bytes) as f64 / (self.file_bytes as f64).max(1.0)).min(1.0)
    }

    /// Whether the completed files are large enough to show some reports while others are built.
    pub fn has_read_much(&self) -> bool {
        self.before.content_bytes >= LARGE_BYTES
    }

    /// Progress message after parsing all files, for [`Making`].
    pub fn finishing_all(&self) -> Progress {
        self.add_up(ImportProgress::default(), None, true)
    }

    /// Whether a partial report is worth its cost: soon after opening a file, and during long parsing. `timeline_ms` is the cost of
    /// the timeline of the last one, if someone looks at it, so that there will be another.
    fn wants_partial(
        &self,
        now: f64,
        read: ImportProgress,
        is_of_accesses: bool,
        timeline_ms: Option<f64>,
    ) -> bool {
        // A partial report covers all files so far.
        let read = self.with_before(read);
        let cost = match self.partial_cost {
            Some(cost) => cost * read.content_bytes as f64,
            None if is_of_accesses => COST_OF_ACCESS_MS * read.records as f64,
            None => COST_OF_BYTE_MS * read.content_bytes as f64,
        };
        let bytes_left = self.file_bytes.saturating_sub(read.file_bytes) as f64;
        let left = bytes_left * (now - self.start) / (read.file_bytes as f64).max(1.0);
        // Show something soon, even if it costs more than later ones may.
        let is_early = self.is_first && cost <= FIRST_COST_MS;
        let is_cheap = cost * PARTIAL_SHARE <= now - self.last_partial && cost * PARTIAL_SHARE_LEFT <= left;
        let has_timeline = timeline_ms.is_none_or(|last_ms| {
            let next_ms = last_ms * read.content_bytes as f64 / (self.partial_bytes as f64).max(1.0);
            read.content_bytes >= TIMELINE_GROWTH * self.partial_bytes
                && self.timelines_ms + last_ms + next_ms <= TIMELINE_SHARE * (now - self.start + left)
        });
        now >= self.next_partial && read.records > 0 && (is_early || is_cheap) && has_timeline
    }

    /// Whether progress was sent, and messages should be handled.
    pub fn tell(&mut self, state: &State, session: &mut Session) -> bool {
        let start = now_ms();
        let read = session.progress();
        let import = session.import();
        let is_of_accesses = import.as_ref().is_some_and(|import| import.is_of_accesses());
        // Of more events than fit in memory there is no partial trace: the last one stays.
        let is_possible = import.is_some_and(|import| !import.is_spilling());
        let timeline_ms = state.timeline.borrow().cost_ms();
        // A timeline that is being made is of the last one.
        let wants_partial = is_possible
            && !schedule::is_at_timeline(state)
            && self.wants_partial(start, read, is_of_accesses, timeline_ms);
        let due = wants_partial || start - self.last_progress >= PROGRESS_EVERY_MS;
        if due {
            self.last_progress = start;
            post(&Response::Progress(self.progress(session, false)));
        }
        if wants_partial {
            let so_far = self.with_before(read);
            timeline::let_go(state, Some(self.share_after(read.file_bytes)));
            self.timelines_ms += timeline_ms.unwrap_or(0.0);
            self.partial_bytes = so_far.content_bytes;
            if session.make_partial() {
                post_document(session);
                self.is_first = false;
            }
            let end = now_ms();
            if so_far.content_bytes >= LARGE_PART_BYTES {
                self.partial_cost = Some((end - start) / so_far.content_bytes as f64);
            }
            (self.last_partial, self.next_partial) = (end, end + NEXT_PARTIAL_MS);
        }
        due
    }

    /// Progress message after parsing, for [`Making`].
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

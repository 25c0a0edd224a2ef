//! From the bytes of a file to a [`Trace`]: unpacking, detection and a reader behind one push interface.

use super::foreign::{self, Foreign};
use super::parts::{Joins, Part, PartsInfo};
use super::unpack::issues::TRAILING;
use super::unpack::{Packing, Problem, Unpacker};
use super::{Confidence, FormatInfo, Reader, detect};
use crate::base::text;
use crate::trace::args;
use crate::trace::builder::TimeRange;
use crate::trace::hidden::Known;
use crate::trace::ledger::Position;
use crate::trace::{SourceInfo, Trace, TraceBuilder};
use issues::{READ_STOPPED, SIZE_CHANGED, UNACCOUNTED, UNREADABLE};
use std::cell::RefCell;
use std::rc::Rc;

/// Why there is nothing to show for a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportError {
    /// Stable name in kebab case: `empty`, `unknown-format`, `no-events`, `unsupported`, `read-failed`, or the code of
    /// the oddity that left nothing to show.
    pub code: &'static str,
    /// What is wrong and where, lower case, no final dot.
    pub what: String,
    /// What to try.
    pub hint: String,
}

impl std::fmt::Display for ImportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for ImportError {}

/// How far an import has come.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ImportProgress {
    /// Bytes of the file taken.
    pub file_bytes: u64,
    /// Bytes of content after unpacking.
    pub content_bytes: u64,
    /// Records counted so far.
    pub records: u64,
}

pub mod issues {
    //! What can come between a file and its end.

    use crate::trace::ledger::issue_kinds;

    issue_kinds! {
        /// Reading stopped before the end of the file, for the reason in the example.
        READ_STOPPED = "read-stopped", Skipped,
            "reading stopped before the end of the file; the report covers what was read", "open the file again";
        /// A reader could make nothing of a file that lies beside others, for the reason in the example.
        UNREADABLE = "unreadable", Skipped,
            "the file could not be read; the reports cover what lies beside it", "write it again, or copy it from where it came from";
        /// Bytes that no reader has counted as a record, as framing or as left out.
        UNACCOUNTED = "bytes-unaccounted", Skipped,
            "bytes were neither part of a record nor recognized as framing; records in them are lost",
            "check the file around this place, and report this if the file is valid";
        /// The file had another size at its end than at its start.
        SIZE_CHANGED = "size-changed", Skipped,
            "the file changed its size while it was read; the report covers what was read",
            "wait until the tool that writes it has finished, then open it again";
    }
}

/// `code` of the error for a file without content.
const EMPTY: &str = "empty";

/// Compression around compression, deepest allowed. Real files have at most two layers.
const MAX_LAYERS: usize = 4;

/// A file that starts with more white space than this is given up.
const MAX_BLANK_BYTES: usize = 16 << 20;

/// Events that a 32-bit program holds. With everything that is made of them they take some 70 bytes each.
pub const MAX_EVENTS_32_BIT: usize = 28_000_000;
/// What a 32-bit program packs away of further ones, at most.
const MAX_PACKED_BYTES_32_BIT: usize = 1500 << 20;
/// Events of one thread that it puts together, at most.
const MAX_TOGETHER_32_BIT: u64 = MAX_EVENTS_32_BIT as u64;

/// Memory accesses that it holds, and what they take at most. With everything that is made of them they take about half as much again, and
/// more where they have to be put in order of time.
const MAX_ACCESSES_32_BIT: usize = 220_000_000;
const MAX_ACCESS_BYTES_32_BIT: usize = 1860 << 20;

/// Once so much has been read, the number of rows in the rest of the file can be guessed.
const RESERVE_AFTER_BYTES: u64 = 4 << 20;

/// One file being read: fed with its bytes in order, in chunks cut anywhere.
pub struct Import {
    file_name: String,
    file_bytes: u64,
    forced: Option<&'static FormatInfo>,
    /// The file, if it can be read again at any place.
    again: Option<Rc<dyn args::Content>>,
    /// Outermost first; a layer is `None` while it runs, and if it runs elsewhere.
    layers: Vec<Option<Unpacker>>,
    /// What is wrong with a layer that runs elsewhere.
    elsewhere: Option<(Packing, Problem)>,
    content: Content,
    builder: TraceBuilder,
    progress: ImportProgress,
    /// Room has been made for the rest of the file.
    reserved: bool,
    /// See [`Import::keep_unreadable`].
    keeps_unreadable: bool,
    problem: Option<ImportError>,
    /// Another kind of file that the content looks like.
    foreign: Option<&'static Foreign>,
    /// Which texts have been looked at for secrets.
    secrets: RefCell<Known>,
}

enum Content {
    /// Collecting the head of the current innermost layer, which starts with `n_blank` bytes of white space.
    Head {
        head: Vec<u8>,
        n_blank: usize,
    },
    Reading(&'static FormatInfo, Box<dyn Reader>),
    /// An error ended reading.
    Failed,
}

impl Content {
    fn no_head() -> Content {
        Content::Head { head: Vec::new(), n_blank: 0 }
    }
}

impl Import {
    /// Finds the format by content. `file_bytes` is 0 if unknown.
    pub fn new(file_name: &str, file_bytes: u64) -> Import {
        Import::with_format(file_name, file_bytes, None)
    }

    /// Reads as `format` if one is given, whatever the content looks like.
    pub fn with_format(file_name: &str, file_bytes: u64, format: Option<&'static FormatInfo>) -> Import {
        let source = SourceInfo { file_name: file_name.to_string(), ..SourceInfo::default() };
        let mut builder = TraceBuilder::new(source);
        if usize::BITS == 32 {
            builder.max_rows = Some(MAX_EVENTS_32_BIT);
            builder.trace.accesses.take_at_most(MAX_ACCESSES_32_BIT, MAX_ACCESS_BYTES_32_BIT);
        }
        Import {
            file_name: file_name.to_string(),
            file_bytes,
            forced: format,
            again: None,
            layers: Vec::new(),
            elsewhere: None,
            content: Content::no_head(),
            builder,
            progress: ImportProgress::default(),
            reserved: false,
            keeps_unreadable: false,
            problem: None,
            foreign: None,
            secrets: RefCell::default(),
        }
    }

    /// A file that its reader can make nothing of is an empty trace with the reason, as there is more to be shown beside it.
    pub fn keep_unreadable(&mut self) {
        self.keeps_unreadable = true;
    }

    /// The file can be read again by `content`. To be said before the first byte comes.
    pub fn can_read_again(&mut self, content: Rc<dyn args::Content>) {
        self.again = Some(content);
    }

    pub fn progress(&self) -> ImportProgress {
        let records = self.builder.trace.ledger.n_records();
        ImportProgress { records, ..self.progress }
    }

    /// The format, once it is known.
    pub fn format(&self) -> Option<&'static FormatInfo> {
        match &self.content {
            Content::Reading(format, _) => Some(format),
            _ => None,
        }
    }

    /// Whether what comes next makes no difference any more: the file is of no known format, or can not be read on.
    pub fn has_given_up(&self) -> bool {
        self.problem.is_some()
    }

    /// Takes the next chunk of the file.
    pub fn feed(&mut self, chunk: &[u8]) {
        if self.has_given_up() {
            return;
        }
        self.progress.file_bytes += chunk.len() as u64;
        if let Err(error) = self.push(0, chunk) {
            self.problem = Some(error);
        }
        if self.is_at_joint() {
            self.count_to_position();
        }
    }

    /// How the file can be read on in parts, by several at once: from [`Import::position`], until it ends. `None` if it can not.
    pub fn parts(&mut self) -> Option<&'static PartsInfo> {
        let is_plain = self.layers.is_empty() && !self.builder.trace.args.keeps_all();
        match &mut self.content {
            Content::Reading(format, reader) if is_plain && self.problem.is_none() => {
                reader.joins().filter(|joins| joins.is_splittable()).and(format.parts)
            }
            _ => None,
        }
    }

    fn joins(&mut self) -> Option<&mut dyn Joins> {
        match &mut self.content {
            // Places in what is packed are none in the file.
            Content::Reading(_, reader) if self.layers.is_empty() => reader.joins(),
            _ => None,
        }
    }

    /// Byte of the file that is to be fed next.
    pub fn position(&mut self) -> u64 {
        let fed = self.progress.file_bytes;
        self.joins().map_or(fed, |joins| joins.wants())
    }

    /// Where parts are best cut; empty if any place is as good. See [`parts::Joins::starts`](super::parts::Joins::starts).
    pub fn starts(&mut self) -> Vec<u64> {
        self.joins().map_or(Vec::new(), |joins| joins.starts())
    }

    /// Stops in front of the first record that starts at `limit` or behind it; what is fed from there on is not taken.
    pub fn set_limit(&mut self, limit: u64) {
        if let Some(joins) = self.joins() {
            joins.set_limit(limit);
        }
    }

    /// Whether it stands at a place where a part can be joined: by [`Import::set_limit`], or at the end of another part.
    pub fn is_at_joint(&mut self) -> bool {
        self.joins().is_some_and(|joins| joins.joint().is_some())
    }

    /// Goes on behind `part`. False, and nothing happens, if it does not start exactly where reading stands.
    pub fn join(&mut self, part: Part) -> bool {
        if self.has_given_up() {
            return false;
        }
        let Content::Reading(_, reader) = &mut self.content else { return false };
        let Some(joins) = reader.joins() else { return false };
        let is_joined = joins.joint() == Some(part.start) && joins.join(part, &mut self.builder);
        if is_joined {
            self.count_to_position();
            self.reserve();
            self.problem = self.fold_if_full().err();
        }
        is_joined
    }

    /// What was left to parts, or not taken because of the limit, changes how much has been read.
    fn count_to_position(&mut self) {
        if let Some(position) = self.joins().map(|joins| joins.wants()) {
            self.progress.file_bytes = position;
            self.progress.content_bytes = position;
            self.builder.trace.ledger.content_bytes = position;
        }
    }

    /// The outermost compression is undone by another, whose output comes by [`Import::feed_unpacked`]. To be said before
    /// the first byte comes.
    pub fn unpack_elsewhere(&mut self, packing: Packing) {
        self.builder.trace.source.compression.push(packing.name());
        self.layers.push(None);
    }

    /// Takes the next unpacked bytes; so far `file_bytes` of the file have gone into them.
    pub fn feed_unpacked(&mut self, bytes: &[u8], file_bytes: u64) {
        if self.has_given_up() {
            return;
        }
        self.progress.file_bytes = file_bytes;
        if let Err(error) = self.push(1, bytes) {
            self.problem = Some(error);
        }
    }

    /// Unpacking came to a problem.
    pub fn unpacking_failed(&mut self, packing: Packing, problem: Problem) {
        self.elsewhere = Some((packing, problem));
    }

    /// Passes bytes into layer `depth`; below the last layer lies the content.
    fn push(&mut self, depth: usize, bytes: &[u8]) -> Result<(), ImportError> {
        if depth < self.layers.len() {
            // The layer is taken out while it runs, so that what it emits can pass through `self`.
            let Some(mut layer) = self.layers[depth].take() else { return Ok(()) };
            let result = layer.feed(bytes, &mut |piece| self.push(depth + 1, piece));
            self.layers[depth] = Some(layer);
            return result;
        }
        match &mut self.content {
            Content::Head { head, n_blank } => {
                head.extend_from_slice(bytes);
                // White space says nothing: wait for more, within reason.
                *n_blank += head[*n_blank..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                let enough = *n_blank > MAX_BLANK_BYTES || head.len() - *n_blank >= detect::HEAD_BYTES;
                let packed =
                    head.len() >= 4 && self.layers.len() < MAX_LAYERS && Packing::sniff(head).is_some();
                if enough || packed { self.settle() } else { Ok(()) }
            }
            Content::Reading(_, reader) => {
                self.progress.content_bytes += bytes.len() as u64;
                self.builder.trace.ledger.content_bytes += bytes.len() as u64;
                reader.feed(bytes, &mut self.builder)?;
                self.reserve();
                self.fold_if_full()
            }
            Content::Failed => Ok(()),
        }
    }

    /// Makes room for the rest of the file, once it can be told how many rows that has.
    fn reserve(&mut self) {
        // What is packed gives no hint at how long it is.
        if !self.reserved && self.layers.is_empty() && self.progress.content_bytes >= RESERVE_AFTER_BYTES {
            self.reserved = true;
            self.builder.reserve_for(self.progress.content_bytes, self.file_bytes);
        }
    }

    /// The head is long enough, or the file is over: another layer, or a format.
    fn settle(&mut self) -> Result<(), ImportError> {
        let Content::Head { head, n_blank } = &mut self.content else { return Ok(()) };
        let head = std::mem::take(head);
        // However the content was cut, formats are shown the same of it.
        let shown = &head[..head.len().min(*n_blank + detect::HEAD_BYTES)];
        if self.layers.len() < MAX_LAYERS
            && let Some(packing) = Packing::sniff(&head)
        {
            self.builder.trace.source.compression.push(packing.name());
            self.layers.push(Some(Unpacker::new(packing)));
            self.content = Content::no_head();
            return self.push(self.layers.len() - 1, &head);
        }
        let format = match self.forced {
            Some(format) => format,
            None => {
                let detected = detect::detect(shown, &self.file_name);
                let is_certain = detected.is_some_and(|(_, confidence)| confidence == Confidence::Certain);
                self.foreign = if is_certain { None } else { foreign::find(shown) };
                // Where a format is fairly sure, it is tried first.
                let is_tried = |confidence| confidence > Confidence::Possible || self.foreign.is_none();
                match detected.filter(|(_, confidence)| is_tried(*confidence)) {
                    Some((format, _)) => format,
                    None => {
                        self.content = Content::Failed;
                        return Err(unknown_format(shown));
                    }
                }
            }
        };
        self.builder.trace.source.format = format.id;
        if !format.has_events {
            self.builder.hold_all();
        }
        // Places in packed content are none in the file.
        let mut reader = (format.reader)();
        if let Some(content) = self.again.take().filter(|_| self.layers.is_empty()) {
            reader.lend(content.clone());
            self.builder.trace.args.set_content(content);
        }
        self.content = Content::Reading(format, reader);
        self.push(self.layers.len(), &head)
    }

    /// More events than these are added up, and single ones given up; see [`crate::trace::folded`].
    pub fn hold_at_most(&mut self, n_events: usize) {
        self.builder.max_rows = Some(n_events);
    }

    /// Of more memory accesses than these, the first ones count.
    pub fn hold_at_most_accesses(&mut self, n_accesses: usize) {
        self.builder.trace.accesses.take_at_most(n_accesses, usize::MAX);
    }

    /// Memory is shared with the accesses of `others`.
    pub fn leave_room_for_accesses(&mut self, others: &[Trace]) {
        for other in others {
            self.builder.trace.accesses.leave_room_for(other.accesses.len(), other.accesses.n_bytes());
        }
    }

    /// Holds only what touches `range` from now on, and of what was read before. False, and nothing happens, if the format has no
    /// events, single ones have been given up, or that was said before.
    pub fn hold_only(&mut self, range: TimeRange) -> bool {
        let is_possible = self.can_hold_only();
        if is_possible {
            self.builder.hold_only(range);
        }
        is_possible
    }

    /// Whether [`Import::hold_only`] makes a difference, as far as is known.
    pub fn can_hold_only(&self) -> bool {
        self.format().is_none_or(|format| format.has_events)
            && !self.builder.is_folding()
            && self.builder.holds_all()
    }

    /// Whether it reads accesses to memory, of which reports take longer than of anything else.
    pub fn is_of_accesses(&self) -> bool {
        self.builder.trace.accesses.is_expected()
    }

    /// Whether there have been more events than are held, so that there is no partial trace to look at.
    pub fn is_folding(&self) -> bool {
        self.builder.is_folding()
    }

    fn fold_if_full(&mut self) -> Result<(), ImportError> {
        if self.builder.is_full() {
            self.builder.fold();
        }
        let fits = self.builder.n_packed_bytes() <= MAX_PACKED_BYTES_32_BIT
            && self.builder.n_held_together() <= MAX_TOGETHER_32_BIT;
        if usize::BITS > 32 || fits {
            return Ok(());
        }
        Err(ImportError {
            code: "too-many-events",
            what: "the file has more events than a page has memory for, though they were packed away"
                .to_string(),
            hint: "read it with the tracedrop command, which may use all memory of the computer".to_string(),
        })
    }

    /// A trace of what has been read so far. `None` while the format is not known, and once single events have been given up.
    pub fn snapshot(&self) -> Option<Trace> {
        if self.builder.is_folding() {
            return None;
        }
        let Content::Reading(_, reader) = &self.content else { return None };
        // Those that follow are not there yet, or are those of what the reader has not handed over.
        let n_strings = self.builder.trace.strings.len();
        let mut trace = self.builder.snapshot(|so_far| {
            reader.snapshot(so_far);
            let ledger = &mut so_far.trace.ledger;
            ledger.file_bytes = self.file_bytes;
            ledger.file_bytes_read = self.progress.file_bytes;
        });
        let mut secrets = self.secrets.borrow_mut();
        trace.hide_secrets_after(&mut secrets);
        secrets.keep(n_strings);
        Some(trace)
    }

    /// The file is over.
    pub fn finish(self) -> Result<Trace, ImportError> {
        self.end(None)
    }

    /// The file could not be read further (`why`, as a sentence fragment); what there is is kept.
    pub fn stop(self, why: &str) -> Result<Trace, ImportError> {
        self.end(Some(why))
    }

    fn end(self, why: Option<&str>) -> Result<Trace, ImportError> {
        let foreign = self.foreign.filter(|_| !self.keeps_unreadable && why.is_none());
        let ended = self.end_as_told(why);
        let is_of_use =
            ended.as_ref().is_ok_and(|trace| trace.ledger.kept.records + trace.ledger.repaired.records > 0);
        match foreign {
            Some(kind) if !is_of_use => Err(refused(kind)),
            _ => ended,
        }
    }

    fn end_as_told(mut self, why: Option<&str>) -> Result<Trace, ImportError> {
        if self.problem.is_none() {
            self.problem = self.drain().err();
        }
        let own = self.layers.iter().flatten().map(|layer| (layer.packing(), layer.problem()));
        let all = self.elsewhere.map(|(packing, problem)| (packing, Some(problem))).into_iter().chain(own);
        for (packing, problem) in all {
            if let Some(problem) = problem {
                let at = Position { byte: problem.byte, line: None };
                self.builder.trace.ledger.file(problem.kind, at, packing.name().as_bytes());
            }
        }
        let Content::Reading(_, reader) = &mut self.content else {
            let cause = self.problem.filter(|problem| why.is_none() || problem.code != EMPTY);
            return Err(cause.unwrap_or_else(|| nothing_read(&self.builder, why)));
        };
        let at = Position { byte: self.progress.content_bytes, line: None };
        let is_whole = self.problem.is_none() && why.is_none();
        if let Some(problem) = self.problem.take() {
            // A reader gave up. If it had something by then, that is shown with the reason.
            if self.builder.trace.ledger.n_records() == 0 {
                return Err(problem);
            }
            self.builder.trace.ledger.file(&READ_STOPPED, at, problem.to_string().as_bytes());
        } else if why.is_some() {
            // What is cut off here was cut by no fault of the file.
            reader.snapshot(&mut self.builder);
        } else if let Err(problem) = reader.finish(&mut self.builder) {
            if !self.keeps_unreadable {
                return Err(problem);
            }
            let ledger = &mut self.builder.trace.ledger;
            ledger.skip_records(0, ledger.unaccounted_bytes());
            ledger.file(&UNREADABLE, Position::default(), problem.what.as_bytes());
        }
        if let Some(why) = why {
            self.builder.trace.ledger.file(&READ_STOPPED, at, why.as_bytes());
        } else if is_whole && self.file_bytes > 0 && self.file_bytes != self.progress.file_bytes {
            let sizes = format!("{} bytes at first, {} read", self.file_bytes, self.progress.file_bytes);
            self.builder.trace.ledger.file(&SIZE_CHANGED, at, sizes.as_bytes());
        }
        let ledger = &mut self.builder.trace.ledger;
        ledger.file_bytes = self.file_bytes;
        ledger.file_bytes_read = self.progress.file_bytes;
        let n_lost = ledger.unaccounted_bytes();
        if n_lost > 0 {
            // Where reading stopped, these are what was waiting for more.
            ledger.leave_out(n_lost);
            if is_whole {
                ledger.file(&UNACCOUNTED, at, format!("{n_lost} bytes").as_bytes());
            }
        }
        let mut trace = self.builder.finish();
        trace.hide_secrets_after(&mut self.secrets.borrow_mut());
        Ok(trace)
    }

    /// What layers still hold, and content that was still waiting for its format to be known.
    fn drain(&mut self) -> Result<(), ImportError> {
        let mut depth = 0;
        loop {
            while depth < self.layers.len() {
                if let Some(mut layer) = self.layers[depth].take() {
                    let result = layer.finish(&mut |piece| self.push(depth + 1, piece));
                    self.layers[depth] = Some(layer);
                    result?;
                }
                depth += 1;
            }
            // Settling may reveal another layer, whose content then has a head of its own.
            let Content::Head { head, .. } = &self.content else { return Ok(()) };
            if head.is_empty() && !self.layers.is_empty() {
                return Ok(());
            }
            self.settle()?;
            if self.layers.len() == depth {
                return Ok(());
            }
        }
    }
}

fn unknown_format(head: &[u8]) -> ImportError {
    if head.is_empty() {
        return ImportError {
            code: EMPTY,
            what: "the file is empty (0 bytes)".to_string(),
            hint: "check that the tool that writes it has finished".to_string(),
        };
    }
    if let Some(kind) = foreign::find(head) {
        return refused(kind);
    }
    ImportError {
        code: "unknown-format",
        what: match detect::describe(head) {
            (what, true) => format!(
                "no trace format recognised; this looks like {what}; it starts with: {}",
                text::example(head, 40)
            ),
            (what, false) => format!("no trace format recognised; this looks like {what}"),
        },
        hint: "see the list of formats for what is read and which tools write it".to_string(),
    }
}

fn refused(kind: &Foreign) -> ImportError {
    let hint = match kind.instead {
        "" => "see the list of formats for what is read and which tools write it",
        instead => instead,
    };
    ImportError { code: "unknown-format", what: kind.refusal(), hint: hint.to_string() }
}

fn nothing_read(builder: &TraceBuilder, why: Option<&str>) -> ImportError {
    if let Some(issue) = builder.trace.ledger.issues.iter().find(|issue| issue.kind.code != TRAILING.code) {
        return ImportError {
            code: issue.kind.code,
            what: format!(
                "nothing could be read: {} ({}, byte {})",
                issue.kind.what, issue.example, issue.first.byte
            ),
            hint: issue.kind.hint.to_string(),
        };
    }
    match why {
        Some(why) => ImportError {
            code: "read-failed",
            what: format!("nothing could be read: {why}"),
            hint: "open the file again".to_string(),
        },
        None => match builder.trace.source.compression.last() {
            Some(packing) => ImportError {
                code: EMPTY,
                what: format!("what is packed in the file is empty (0 bytes inside {packing})"),
                hint: "check that the tool that writes it has finished".to_string(),
            },
            None => unknown_format(&[]),
        },
    }
}

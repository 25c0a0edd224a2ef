//! From the bytes of a file to a [`Trace`]: decompression, detection and a reader behind one push interface.

use super::foreign::{self, Foreign};
use super::parts::{Mergeable, Part, PartsInfo};
use super::unpack::issues::TRAILING;
use super::unpack::{Packing, Problem, Unpacker};
use super::{Confidence, FormatInfo, Reader, detect};
use crate::base::secrets;
use crate::base::text;
use crate::base::units::counted;
use crate::trace::args;
use crate::trace::builder::TimeRange;
use crate::trace::hidden::Known;
use crate::trace::ledger::Position;
use crate::trace::{SourceInfo, Trace, TraceBuilder};
use issues::{READ_STOPPED, SIZE_CHANGED, UNACCOUNTED, UNREADABLE};
use std::cell::RefCell;
use std::rc::Rc;

/// Reason why a file has nothing to show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportError {
    /// Stable name in kebab case: `empty`, `unknown-format`, `no-events`, `unsupported`, `read-failed`, or the code of the
    /// issue that left nothing to show.
    pub code: &'static str,
    /// Problem and place, lower case, no final dot.
    pub what: String,
    /// Advice for the user.
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

/// Progress of an import.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ImportProgress {
    /// Bytes of the file consumed.
    pub file_bytes: u64,
    /// Bytes of content after decompression.
    pub content_bytes: u64,
    /// Records counted so far.
    pub records: u64,
}

pub mod issues {
    //! Issues of reading a file as a whole.

    use crate::trace::ledger::issue_kinds;

    issue_kinds! {
        /// Reading stopped before the end of the file, for the reason in the example.
        READ_STOPPED = "read-stopped", Skipped,
            "reading stopped before the end of the file; the reports cover what was read", "open the file again";
        /// A file next to others could not be read, for the reason in the example.
        UNREADABLE = "unreadable", Skipped,
            "the file could not be read; the reports cover the files next to it", "write or copy it again";
        /// Bytes counted neither as a record nor as framing or unused.
        UNACCOUNTED = "bytes-unaccounted", Skipped,
            "unrecognized bytes: neither records nor framing; any records in them are lost",
            "check the file at this offset; if it is valid, please report a bug";
        /// The file changed size while it was read.
        SIZE_CHANGED = "size-changed", Skipped,
            "the file changed size while it was read; the reports cover what was read",
            "wait until the tool has finished writing it, then open it again";
    }
}

/// `code` of the error for a file without content.
const EMPTY: &str = "empty";

/// Maximum number of nested compressions. Real files have at most two.
const MAX_LAYERS: usize = 4;

/// White space at the start of a file after which it is rejected.
const MAX_BLANK_BYTES: usize = 16 << 20;

/// Maximum number of events in memory in a 32-bit program. With everything derived from them, an event takes some 70 bytes.
pub const MAX_EVENTS_32_BIT: usize = 28_000_000;
/// Maximum bytes for further events in compressed form in a 32-bit program.
const MAX_PACKED_BYTES_32_BIT: usize = 1500 << 20;
/// Maximum number of events of one thread that are joined in a 32-bit program.
const MAX_TOGETHER_32_BIT: u64 = MAX_EVENTS_32_BIT as u64;

/// Maximum number of memory accesses in a 32-bit program, and of their bytes. Derived data takes about half as much again,
/// more if accesses have to be sorted by time.
const MAX_ACCESSES_32_BIT: usize = 220_000_000;
const MAX_ACCESS_BYTES_32_BIT: usize = 1860 << 20;

/// Bytes read before the number of rows in the rest of the file is estimated.
const RESERVE_AFTER_BYTES: u64 = 4 << 20;

/// Import of one file: fed with its bytes in order, in chunks cut anywhere.
pub struct Import {
    file_name: String,
    file_bytes: u64,
    forced: Option<&'static FormatInfo>,
    /// Random access to the file, if available.
    again: Option<Rc<dyn args::Content>>,
    /// Compression layers, outermost first; `None` while a layer runs, or if it runs elsewhere.
    layers: Vec<Option<Unpacker>>,
    /// Problem of a layer that runs elsewhere.
    elsewhere: Option<(Packing, Problem)>,
    content: Content,
    builder: TraceBuilder,
    progress: ImportProgress,
    /// Memory was reserved for the rest of the file.
    reserved: bool,
    /// See [`Import::keep_unreadable`].
    keeps_unreadable: bool,
    problem: Option<ImportError>,
    /// Unsupported kind of file that the content looks like.
    foreign: Option<&'static Foreign>,
    /// Texts already searched for secrets.
    secrets: RefCell<Known>,
}

enum Content {
    /// Collecting the head of the innermost layer so far, which starts with `n_blank` bytes of white space.
    Head {
        head: Vec<u8>,
        n_blank: usize,
    },
    Reading(&'static FormatInfo, Box<dyn Reader>),
    /// Reading ended with an error.
    Failed,
}

impl Content {
    fn no_head() -> Content {
        Content::Head { head: Vec::new(), n_blank: 0 }
    }
}

impl Import {
    /// Creates an import that detects the format. `file_bytes` is 0 if unknown.
    pub fn new(file_name: &str, file_bytes: u64) -> Import {
        Import::with_format(file_name, file_bytes, None)
    }

    /// Creates an import for `format`, or one that detects it.
    pub fn with_format(file_name: &str, file_bytes: u64, format: Option<&'static FormatInfo>) -> Import {
        let source = SourceInfo { file_name: file_name.to_string(), ..SourceInfo::default() };
        let mut builder = TraceBuilder::new(source);
        if usize::BITS == 32 {
            builder.max_rows = Some(MAX_EVENTS_32_BIT);
            builder.trace.accesses.set_limits(MAX_ACCESSES_32_BIT, MAX_ACCESS_BYTES_32_BIT);
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

    /// Turns an unreadable file into an empty trace with the reason as an issue, for files that have others next to them.
    pub fn keep_unreadable(&mut self) {
        self.keeps_unreadable = true;
    }

    /// Sets random access to the file. Call before the first byte is fed.
    pub fn can_read_again(&mut self, content: Rc<dyn args::Content>) {
        self.again = Some(content);
    }

    pub fn progress(&self) -> ImportProgress {
        let records = self.builder.trace.ledger.n_records();
        ImportProgress { records, ..self.progress }
    }

    /// Format, once known.
    pub fn format(&self) -> Option<&'static FormatInfo> {
        match &self.content {
            Content::Reading(format, _) => Some(format),
            _ => None,
        }
    }

    /// Whether further bytes make no difference: the format is unknown, or reading has failed.
    pub fn has_given_up(&self) -> bool {
        self.problem.is_some()
    }

    /// Feeds the next chunk of the file.
    pub fn feed(&mut self, chunk: &[u8]) {
        if self.has_given_up() {
            return;
        }
        self.progress.file_bytes += chunk.len() as u64;
        if let Err(error) = self.push(0, chunk) {
            self.problem = Some(error);
        }
        if self.is_at_merge_point() {
            self.count_to_position();
        }
    }

    /// How several workers can read the rest of the file, from [`Import::position`] on. `None` if they cannot.
    pub fn parts(&mut self) -> Option<&'static PartsInfo> {
        let is_plain = self.layers.is_empty() && !self.builder.trace.args.keeps_all();
        match &mut self.content {
            Content::Reading(format, reader) if is_plain && self.problem.is_none() => {
                reader.mergeable().filter(|reader| reader.is_splittable()).and(format.parts)
            }
            _ => None,
        }
    }

    fn mergeable(&mut self) -> Option<&mut dyn Mergeable> {
        match &mut self.content {
            // Offsets in compressed data are not offsets in the file.
            Content::Reading(_, reader) if self.layers.is_empty() => reader.mergeable(),
            _ => None,
        }
    }

    /// File offset of the byte to feed next.
    pub fn position(&mut self) -> u64 {
        let fed = self.progress.file_bytes;
        self.mergeable().map_or(fed, |reader| reader.wants())
    }

    /// Offsets at which parts are best cut; empty if any offset works. See
    /// [`parts::Mergeable::starts`](super::parts::Mergeable::starts).
    pub fn starts(&mut self) -> Vec<u64> {
        self.mergeable().map_or(Vec::new(), |reader| reader.starts())
    }

    /// Stops before the first record that starts at or after `limit`; bytes from there on are not consumed.
    pub fn set_limit(&mut self, limit: u64) {
        if let Some(reader) = self.mergeable() {
            reader.set_limit(limit);
        }
    }

    /// Whether a part can be joined at the current position: at the limit, or at the end of another part.
    pub fn is_at_merge_point(&mut self) -> bool {
        self.mergeable().is_some_and(|reader| reader.merge_point().is_some())
    }

    /// Joins `part`. Returns false and changes nothing unless it starts exactly at the current position.
    pub fn merge(&mut self, part: Part) -> bool {
        if self.has_given_up() {
            return false;
        }
        let Content::Reading(_, reader) = &mut self.content else { return false };
        let Some(reader) = reader.mergeable() else { return false };
        let is_joined = reader.merge_point() == Some(part.start) && reader.merge(part, &mut self.builder);
        if is_joined {
            self.count_to_position();
            self.reserve();
            self.problem = self.fold_if_full().err();
        }
        is_joined
    }

    /// Parts and the limit change how much has been read.
    fn count_to_position(&mut self) {
        if let Some(position) = self.mergeable().map(|reader| reader.wants()) {
            self.progress.file_bytes = position;
            self.progress.content_bytes = position;
            self.builder.trace.ledger.content_bytes = position;
        }
    }

    /// Leaves the outermost decompression to another worker, whose output comes through [`Import::feed_unpacked`]. Call before
    /// the first byte is fed.
    pub fn unpack_elsewhere(&mut self, packing: Packing) {
        self.builder.trace.source.compression.push(packing.name());
        self.layers.push(None);
    }

    /// Feeds decompressed bytes; `file_bytes` of the file have gone into them so far.
    pub fn feed_unpacked(&mut self, bytes: &[u8], file_bytes: u64) {
        if self.has_given_up() {
            return;
        }
        self.progress.file_bytes = file_bytes;
        if let Err(error) = self.push(1, bytes) {
            self.problem = Some(error);
        }
    }

    /// Records a problem of the external decompression.
    pub fn unpacking_failed(&mut self, packing: Packing, problem: Problem) {
        self.elsewhere = Some((packing, problem));
    }

    /// Pushes bytes into layer `depth`; below the last layer is the content.
    fn push(&mut self, depth: usize, bytes: &[u8]) -> Result<(), ImportError> {
        if depth < self.layers.len() {
            // The layer is taken out while it runs, so that its output can pass through `self`.
            let Some(mut layer) = self.layers[depth].take() else { return Ok(()) };
            let result = layer.feed(bytes, &mut |piece| self.push(depth + 1, piece));
            self.layers[depth] = Some(layer);
            return result;
        }
        match &mut self.content {
            Content::Head { head, n_blank } => {
                head.extend_from_slice(bytes);
                // White space identifies no format: wait for more, up to a limit.
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

    /// Reserves memory for the rest of the file, once its number of rows can be estimated.
    fn reserve(&mut self) {
        // The decompressed size is not known in advance.
        if !self.reserved && self.layers.is_empty() && self.progress.content_bytes >= RESERVE_AFTER_BYTES {
            self.reserved = true;
            self.builder.reserve_for(self.progress.content_bytes, self.file_bytes);
        }
    }

    /// Decides on another layer or a format, once the head is long enough or the file ends.
    fn settle(&mut self) -> Result<(), ImportError> {
        let Content::Head { head, n_blank } = &mut self.content else { return Ok(()) };
        let head = std::mem::take(head);
        // Formats see the same head however the content was cut.
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
                // A format that is fairly certain is tried first.
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
        // Offsets in decompressed content are not offsets in the file.
        let mut reader = (format.reader)();
        if let Some(content) = self.again.take().filter(|_| self.layers.is_empty()) {
            reader.lend(content.clone());
            self.builder.trace.args.set_content(content);
        }
        self.content = Content::Reading(format, reader);
        self.push(self.layers.len(), &head)
    }

    /// Limits the events in memory; beyond it events are aggregated, see [`crate::trace::aggregated`].
    pub fn hold_at_most(&mut self, n_events: usize) {
        self.builder.max_rows = Some(n_events);
    }

    /// Limits memory accesses; only the first ones are kept.
    pub fn hold_at_most_accesses(&mut self, n_accesses: usize) {
        self.builder.trace.accesses.set_limits(n_accesses, usize::MAX);
    }

    /// Reduces the memory for accesses by what `others` take.
    pub fn leave_room_for_accesses(&mut self, others: &[Trace]) {
        for other in others {
            self.builder.trace.accesses.reserve_for_others(other.accesses.len(), other.accesses.n_bytes());
        }
    }

    /// Keeps only events that touch `range`, of the rest of the file and of what was read. Returns false and changes nothing
    /// if the format has no events, events are already aggregated, or a range was set before.
    pub fn hold_only(&mut self, range: TimeRange) -> bool {
        let is_possible = self.can_hold_only();
        if is_possible {
            self.builder.hold_only(range);
        }
        is_possible
    }

    /// Whether [`Import::hold_only`] has an effect, as far as known.
    pub fn can_hold_only(&self) -> bool {
        self.format().is_none_or(|format| format.has_events)
            && !self.builder.is_spilling()
            && self.builder.holds_all()
    }

    /// Whether the file contains memory accesses, whose reports take longest.
    pub fn is_of_accesses(&self) -> bool {
        self.builder.trace.accesses.is_expected()
    }

    /// Whether events are aggregated, so that there is no partial trace.
    pub fn is_spilling(&self) -> bool {
        self.builder.is_spilling()
    }

    fn fold_if_full(&mut self) -> Result<(), ImportError> {
        if self.builder.is_full() {
            self.builder.spill();
        }
        let fits = self.builder.n_packed_bytes() <= MAX_PACKED_BYTES_32_BIT
            && self.builder.n_held_together() <= MAX_TOGETHER_32_BIT;
        if usize::BITS > 32 || fits {
            return Ok(());
        }
        Err(ImportError {
            code: "too-many-events",
            what: "the file has more events than fit in the memory of a page, even compressed".to_string(),
            hint: "open it with the tracedrop command, which can use all of the computer's memory"
                .to_string(),
        })
    }

    /// Trace of what was read so far. `None` while the format is unknown, and once events are aggregated.
    pub fn snapshot(&self) -> Option<Trace> {
        if self.builder.is_spilling() {
            return None;
        }
        let Content::Reading(_, reader) = &self.content else { return None };
        // Later ids do not exist yet, or belong to rows the reader has not handed over.
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

    /// Ends the file.
    pub fn finish(self) -> Result<Trace, ImportError> {
        self.end(None)
    }

    /// Ends reading early for the reason `why` (a sentence fragment) and keeps what was read.
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
            // The reader failed. What it had read is shown with the reason.
            if self.builder.trace.ledger.n_records() == 0 {
                return Err(problem);
            }
            self.builder.trace.ledger.file(&READ_STOPPED, at, problem.to_string().as_bytes());
        } else if why.is_some() {
            // Records cut off here were cut by us, not by the file.
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
            let sizes = format!(
                "{} at first, {} read",
                counted(self.file_bytes, "byte", "bytes"),
                self.progress.file_bytes
            );
            self.builder.trace.ledger.file(&SIZE_CHANGED, at, sizes.as_bytes());
        }
        let ledger = &mut self.builder.trace.ledger;
        ledger.file_bytes = self.file_bytes;
        ledger.file_bytes_read = self.progress.file_bytes;
        let n_lost = ledger.unaccounted_bytes();
        if n_lost > 0 {
            // After an early stop, these are bytes that waited for more.
            ledger.leave_out(n_lost);
            if is_whole {
                ledger.file(&UNACCOUNTED, at, counted(n_lost, "byte", "bytes").as_bytes());
            }
        }
        let mut trace = self.builder.finish();
        trace.hide_secrets_after(&mut self.secrets.borrow_mut());
        Ok(trace)
    }

    /// Flushes the layers, and content that waited for its format.
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
            // Settling may reveal another layer, whose content has a head of its own.
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
            Some(what) => {
                format!("unrecognized trace format; looks like {what}; starts with: {}", start_of(head))
            }
            None => "binary file of an unknown format".to_string(),
        },
        hint: "see the supported formats, on the start page or with `tracedrop formats`".to_string(),
    }
}

/// The first letters of a file, without secrets.
fn start_of(head: &[u8]) -> String {
    let start = String::from_utf8_lossy(&head[..head.len().min(SEARCHED_BYTES)]);
    let without = secrets::hide_value("", &start).map(|without| without.text);
    text::example(without.as_deref().unwrap_or(&start).as_bytes(), 40)
}

/// Bytes of a file that are searched for secrets before its first letters are shown.
const SEARCHED_BYTES: usize = 1024;

fn refused(kind: &Foreign) -> ImportError {
    let hint = match kind.instead {
        "" => "see the supported formats, on the start page or with `tracedrop formats`",
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
                what: format!("the compressed content is empty (0 bytes inside {packing})"),
                hint: "check that the tool that writes it has finished".to_string(),
            },
            None => unknown_format(&[]),
        },
    }
}

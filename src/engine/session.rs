//! One file from its first byte to its reports.

use super::Side;
use super::protocol::{
    BudgetView, DocumentView, FileAccount, FileView, HeldView, IndexView, LeftOutView, LimitView, RangeView,
    RankView, SentView, TableAsk,
};
use super::shown::{RowOrder, Shown, TableRef};
use super::views::{exporter_views, ledger_view, not_exported, report_view, stem_of, together};
use crate::analysis::gpu::facts::RunFacts;
use crate::analysis::mrm;
use crate::analysis::overview::far_away::FarAway;
use crate::analysis::{self, AnalysisCache, Query};
use crate::compare::Digest;
use crate::compare::limits::{self, Held, Outcome};
use crate::export::redact::Outgoing;
use crate::export::{self, EXPORTERS, ExporterInfo, Input, LeftOut, Options};
use crate::filter::FilterError;
use crate::import::{FORMATS, FormatInfo, Import, ImportError, ImportProgress, UNREADABLE};
use crate::index::{self, Head, Identity, Index};
use crate::memory_run::manifest::Checksum;
use crate::report::Report;
use crate::report::view;
use crate::trace::args::Content;
use crate::trace::builder::TimeRange;
use crate::trace::builder::issues::OUTSIDE_RANGE;
use crate::trace::sidecar_files::SidecarFile;
use crate::trace::{Run, Severity, Trace};
use std::io::{self, Write};
use std::rc::Rc;

/// Handles one file: feed bytes, finish, then query.
pub struct Session {
    import: Option<Import>,
    run: Run,
    query: Query,
    reports: Vec<Report>,
    /// Ids of the requested reports; all if `None`.
    wanted: Option<Vec<String>>,
    partial: bool,
    /// Location of the tables, while only the reports have been requested.
    index: Option<Index>,
    /// The index it was opened from.
    index_view: Option<IndexView>,
    /// The file, to read arguments from it again.
    again: Option<Rc<dyn Content>>,
    /// Files of its run directory, and the checksum of the fed bytes.
    beside: Option<(Vec<SidecarFile>, Checksum)>,
    /// Number of completed traces, when several files are combined. They precede the trace of the current file, and there are only
    /// early reports until the last file is parsed.
    n_done: Option<usize>,
    /// Skipped files.
    left_out: Vec<LeftOutView>,
    /// View of the sender.
    sent: Option<SentView>,
    /// Row order of the last table, so that scrolling does not sort again.
    order: RowOrder,
    /// Intermediate results of reports, for later reports and for a comparison. A cache that can be recomputed.
    found: AnalysisCache,
    /// Unclassified access at which labeling stopped, as requested.
    unclassified: Option<String>,
    /// See [`Session::hold_only`].
    chosen: Option<(i64, i64)>,
    /// The format was given, so an empty file is not unexpected.
    is_format_given: bool,
}

/// Set of reports to build.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Cheap reports only; others will follow.
    Early,
    All,
}

impl Session {
    /// `file_bytes` is 0 if unknown; `format` disables detection.
    pub fn new(
        file_name: &str,
        file_bytes: u64,
        format: Option<&'static FormatInfo>,
        query: Query,
    ) -> Session {
        let import = Some(Import::with_format(file_name, file_bytes, format));
        Session { import, is_format_given: format.is_some(), ..Session::empty(query) }
    }

    fn empty(query: Query) -> Session {
        Session {
            import: None,
            run: Run::default(),
            query,
            reports: Vec::new(),
            wanted: None,
            partial: false,
            index: None,
            index_view: None,
            again: None,
            beside: None,
            n_done: None,
            left_out: Vec::new(),
            sent: None,
            order: RowOrder::default(),
            found: AnalysisCache::default(),
            unclassified: None,
            chosen: None,
            is_format_given: false,
        }
    }

    /// Session of a parsed file.
    pub fn of_trace(trace: Trace, query: Query) -> Session {
        let mut session = Session::empty(query);
        session.set_trace(trace, Extent::All);
        session
    }

    /// Empty session, to combine several files.
    pub(super) fn of_several(query: Query) -> Session {
        Session { n_done: Some(0), partial: true, ..Session::empty(query) }
    }

    /// Continues with another file. Gives up if it has more than `room` events. Drops the data of a previous file that was not
    /// added by [`Session::take_file`].
    pub(super) fn go_on_with(&mut self, file_name: &str, file_bytes: u64, room: Option<usize>) {
        self.leave_file();
        let mut import = Import::with_format(file_name, file_bytes, None);
        if let Some(room) = room {
            import.hold_at_most(room);
        }
        import.leave_room_for_accesses(&self.run.traces);
        self.import = Some(import);
    }

    /// Adds the last parsed file.
    pub(super) fn take_file(&mut self) {
        self.n_done = self.n_done.map(|_| self.run.traces.len());
    }

    /// Adds the files of another session. An error if they cannot be read from their index.
    pub(super) fn take_session(&mut self, mut other: Session) -> Result<(), ImportError> {
        other.load()?;
        self.leave_file();
        self.run.traces.append(&mut other.run.traces);
        self.take_file();
        Ok(())
    }

    /// Drops the last parsed file.
    pub(super) fn leave_file(&mut self) {
        (self.import, self.beside) = (None, None);
        self.run.traces.truncate(self.n_done.unwrap_or(0));
    }

    /// Records a skipped file.
    pub(super) fn leave_out(&mut self, left_out: LeftOutView) {
        self.left_out.push(left_out);
    }

    /// Ends all files and builds the cheap reports; [`Session::finish_reports`] builds the others. Returns the skipped files if
    /// there is nothing else.
    pub(super) fn end_several(&mut self) -> Result<(), Vec<LeftOutView>> {
        self.leave_file();
        self.n_done = None;
        if self.run.traces.is_empty() {
            return Err(std::mem::take(&mut self.left_out));
        }
        self.make_early_reports();
        Ok(())
    }

    /// Sets the view of the sender.
    pub(super) fn set_sent(&mut self, sent: SentView) {
        self.sent = Some(sent);
    }

    /// Export options, with the sender's notes unless others are given.
    fn options(&self, options: &Options) -> Options {
        let mut options = options.clone();
        if let Some(sent) = &self.sent {
            options.notes.get_or_insert_with(|| sent.notes.clone());
            options.link.own_tables |= sent.own_tables;
            if options.link.files.is_empty() {
                options.link.files = sent.files.clone();
            }
        }
        options
    }

    /// Combines parsed files: reports cover all of them, each has its parsing details. Uses the query of the first. An error if the
    /// tables of one cannot be read from its index.
    pub fn together(sessions: Vec<Session>) -> Result<Session, ImportError> {
        let mut session =
            Session::empty(sessions.first().map(|first| first.query.clone()).unwrap_or_default());
        for mut one in sessions {
            one.load()?;
            session.partial |= one.partial;
            session.run.traces.append(&mut one.run.traces);
        }
        session.make_reports();
        Ok(session)
    }

    /// Session from an index. `again` is the file itself, if available, for data that is not in the index.
    ///
    /// Tables are read on demand, which may fail.
    pub fn of_index(
        index: Index,
        again: Option<Rc<dyn Content>>,
        query: Query,
    ) -> Result<Session, ImportError> {
        let Head { source, ledger, .. } = &index.head;
        let mut session = Session::empty(query.clone());
        let mut trace = Trace::default();
        (trace.source, trace.ledger) = (source.clone(), ledger.clone());
        session.run = Run::single(trace);
        session.index_view = Some(IndexView {
            made_ms: index.head.made_ms,
            is_alone: again.is_none(),
            is_of_other_version: !index.head.is_of_this_program(),
        });
        session.again = again;
        let reports = if index.head.query == query { index.reports() } else { None };
        session.index = Some(index);
        match reports {
            Some(reports) => session.reports = reports,
            None => {
                session.load()?;
                session.make_reports();
            }
        }
        Ok(session)
    }

    /// Reads the tables from the index, unless already read.
    fn load(&mut self) -> Result<(), ImportError> {
        if let Some(index) = &self.index {
            let mut trace = index.trace(self.again.clone())?;
            // The index may have been written while secrets were shown.
            match self.query.show_secrets {
                true => trace.args.hide_secrets(false),
                false => trace.hide_secrets(),
            }
            self.run = Run::single(trace);
            self.index = None;
        }
        Ok(())
    }

    /// Whether an index would be complete: it is not if single slices were dropped.
    pub fn can_be_kept(&self) -> bool {
        let is_whole = |trace: &Trace| {
            trace.aggregated.is_none()
                && trace.sidecar_files.is_empty()
                && trace.text.is_empty()
                && trace.ledger.issue(OUTSIDE_RANGE.code).is_none()
        };
        let is_read = !self.partial && self.index.is_none() && !self.query.show_secrets;
        matches!(&self.run.traces[..], [trace] if is_read && is_whole(trace))
    }

    /// Section of an index by number. `None` after the last one.
    pub fn index_section(&self, number: usize, out: &mut Vec<u8>) -> Option<String> {
        index::section(self.run.traces.first()?, number, out)
    }

    /// The last two sections of an index. `None` if it cannot be written.
    pub fn index_end(&self, identity: Identity, now_ms: u64) -> Option<[(String, Vec<u8>); 2]> {
        let trace = self.run.traces.first().filter(|_| self.can_be_kept())?;
        let exporters: Vec<&str> = self.exporters().iter().map(|exporter| exporter.id).collect();
        let head = Head::of(trace, self.query.clone(), &exporters, Some(identity), now_ms);
        Some([index::reports_section(&self.reports), index::head_section(head)])
    }

    /// Provides `content` to read the file again, so that arguments need not stay in memory. Call it before feeding.
    pub fn can_read_again(&mut self, content: Rc<dyn Content>) {
        if let Some(import) = &mut self.import {
            import.can_read_again(content);
        }
    }

    /// Sets the run directory: the file is `own_name` in it, `others` are its other files by name. Call it before feeding.
    pub fn lies_in_run(&mut self, own_name: &str, others: Vec<SidecarFile>) {
        if let Some(import) = &mut self.import {
            import.keep_unreadable();
        }
        let own = SidecarFile { name: own_name.to_string(), ..SidecarFile::default() };
        self.beside = Some(([own].into_iter().chain(others).collect(), Checksum::default()));
    }

    /// Whether no other files of a run directory are shown.
    pub fn lies_alone(&self) -> bool {
        self.run.traces.iter().all(|trace| trace.sidecar_files.is_empty())
    }

    /// Takes the next bytes of the file.
    pub fn feed(&mut self, bytes: &[u8]) {
        if let Some((files, checksum)) = &mut self.beside {
            files[0].n_bytes += bytes.len() as u64;
            checksum.take(bytes);
        }
        if let Some(import) = &mut self.import {
            import.feed(bytes);
        }
    }

    /// The importer, until finished.
    pub fn import(&mut self) -> Option<&mut Import> {
        self.import.as_mut()
    }

    /// Whether more bytes would make no difference; [`Session::finish`] returns the reason.
    pub fn has_given_up(&self) -> bool {
        self.has_no_room() || self.import.as_ref().is_none_or(Import::has_given_up)
    }

    /// Whether the current file of several has more events than fit next to the others.
    fn has_no_room(&self) -> bool {
        self.n_done.is_some() && self.import.as_ref().is_some_and(Import::is_spilling)
    }

    /// Reason why a non-empty file has no usable content. An empty timeline (`[]`) is a valid trace, and so is a file without
    /// memory accesses if its format was given.
    pub fn why_useless(&self) -> Option<ImportError> {
        let [trace] = self.run.traces.get(self.n_done.unwrap_or(0)..)? else { return None };
        // An index always has content.
        let ledger = Some(&trace.ledger).filter(|_| self.index_view.is_none())?;
        let unreadable = ledger.issue(UNREADABLE.code);
        if self.is_format_given && trace.accesses.is_expected() && unreadable.is_none() {
            return None;
        }
        let is_useless = ledger.kept.records + ledger.repaired.records == 0
            && (ledger.skipped.records > 0 || ledger.content_bytes == 0 || unreadable.is_some());
        is_useless.then(|| {
            let noun = if ledger.record_noun.is_empty() { "records" } else { &ledger.record_noun };
            let skipped = ledger.issues.iter().find(|issue| issue.kind.severity == Severity::Skipped);
            let what = match (unreadable, skipped) {
                (Some(issue), _) => issue.example.clone(),
                (None, Some(issue)) => {
                    let place = match issue.first.line {
                        Some(line) => format!("line {line}"),
                        None => format!("byte {}", issue.first.byte),
                    };
                    format!("no usable {noun}: {} (first at {place})", issue.kind.what)
                }
                (None, None) => format!("no usable {noun}"),
            };
            ImportError { code: "nothing-usable", what, hint: String::new() }
        })
    }

    /// Progress of parsing.
    pub fn progress(&self) -> ImportProgress {
        self.import.as_ref().map(Import::progress).unwrap_or_default()
    }

    /// The format, once known and during parsing.
    pub fn format(&self) -> Option<&'static FormatInfo> {
        self.import.as_ref().and_then(Import::format)
    }

    /// Keeps only what overlaps a time range, also of what is already parsed: first and last nanosecond from `start_ns` on the
    /// trace's clock. False, without effect, if the format has no events, if there were too many to keep single ones, or if a
    /// range was set before.
    pub fn hold_only(&mut self, start_ns: i64, from_ns: i64, to_ns: i64) -> bool {
        let range = TimeRange::OnClock(start_ns.saturating_add(from_ns), start_ns.saturating_add(to_ns));
        let is_held = self.import.as_mut().is_some_and(|import| import.hold_only(range));
        if is_held {
            self.chosen = Some((from_ns, to_ns));
        }
        is_held
    }

    /// The same, relative to the start of the whole trace. Call it before feeding; no effect for formats without events.
    pub fn hold_only_from_start(&mut self, from_ns: i64, to_ns: i64) {
        if self.import.as_mut().is_some_and(|import| import.hold_only(TimeRange::FromStart(from_ns, to_ns))) {
            self.chosen = Some((from_ns, to_ns));
        }
    }

    fn range(&self) -> RangeView {
        let only = match self.run.traces.as_slice() {
            [trace] if self.import.is_none() && !self.partial && self.chosen.is_none() => Some(trace),
            _ => None,
        };
        let has_events =
            |trace: &&Trace| FORMATS.iter().any(|it| it.id == trace.source.format && it.has_events);
        let only = only.filter(has_events);
        RangeView {
            start_ns: self.choosable_from(),
            chosen: self.chosen,
            again: only.is_some(),
            without_far_away: only.and_then(FarAway::of).map(|far_away| far_away.stretch_without()),
        }
    }

    /// Start of the times of a range that can be chosen.
    fn choosable_from(&self) -> Option<i64> {
        if self.n_done.is_some() {
            return None;
        }
        self.import.as_ref().filter(|import| import.can_hold_only())?;
        self.run.traces.first().and_then(Trace::span).map(|(start, _)| start)
    }

    /// Builds reports of what has been parsed so far; false if there is nothing yet.
    pub fn make_partial(&mut self) -> bool {
        if self.import.as_ref().is_some_and(Import::is_spilling) {
            return false;
        }
        // Drop the previous one first.
        self.run.traces.truncate(self.n_done.unwrap_or(0));
        match self.import.as_ref().and_then(Import::snapshot) {
            Some(trace) => {
                self.set_trace(trace, Extent::Early);
                true
            }
            None => false,
        }
    }

    /// Ends the file and builds the reports.
    pub fn finish(&mut self) -> Result<(), ImportError> {
        self.end(Extent::All, Import::finish)
    }

    /// Stops parsing for the reason `why`, and builds reports of what was parsed.
    pub fn stop(&mut self, why: &str) -> Result<(), ImportError> {
        self.end(Extent::All, |import| import.stop(why))
    }

    /// Like [`Session::finish`], but builds only the cheap reports if others take long. Returns true if
    /// [`Session::finish_reports`] has to be called; until then the document counts as partial.
    pub fn finish_early(&mut self) -> Result<bool, ImportError> {
        self.end(Extent::Early, Import::finish)?;
        let has_more = analysis::has_late_reports(&self.run);
        if !has_more {
            self.finish_reports();
        }
        Ok(has_more)
    }

    /// Builds one of the reports missing after [`Session::finish_early`]; false once all are built.
    pub fn make_next_report(&mut self) -> bool {
        if !self.partial || self.import.is_some() || self.n_done.is_some() {
            return false;
        }
        self.order.changed();
        if analysis::add_late_report(&self.run, &self.query, &mut self.reports, &mut self.found) {
            return true;
        }
        self.reports = analysis::with_conclusions(&self.run, std::mem::take(&mut self.reports));
        self.partial = false;
        false
    }

    /// Builds all reports.
    pub fn finish_reports(&mut self) {
        while self.make_next_report() {}
    }

    fn end(
        &mut self,
        extent: Extent,
        end: impl FnOnce(Import) -> Result<Trace, ImportError>,
    ) -> Result<(), ImportError> {
        if self.has_no_room() {
            self.import = None;
            return Err(ImportError {
                code: "no-room",
                what: "not enough memory for its events in addition to those of the files before it".to_string(),
                hint: "open fewer files at once, or run tracedrop report --together, which can use all memory of the computer"
                    .to_string(),
            });
        }
        if let Some(import) = self.import.take() {
            // Drop the partial trace before building the complete one. For several files, keep the reports so far.
            self.run.traces.truncate(self.n_done.unwrap_or(0));
            if self.n_done.is_none() {
                self.reports = Vec::new();
            }
            let mut trace = end(import)?;
            if let Some((mut files, checksum)) = self.beside.take() {
                if files[0].n_bytes == trace.ledger.file_bytes {
                    files[0].sha256 = checksum.finish();
                } else {
                    // The rest of it is not parsed yet.
                    files[0].n_bytes = trace.ledger.file_bytes;
                }
                trace.sidecar_files = files;
                trace.hide_beside();
            }
            mrm::trust::file_issues(&mut trace);
            self.set_trace(trace, extent);
        }
        Ok(())
    }

    fn set_trace(&mut self, mut trace: Trace, extent: Extent) {
        if self.query.show_secrets {
            trace.show_secrets();
        }
        self.run.traces.truncate(self.n_done.unwrap_or(0));
        self.run.traces.push(trace);
        match extent {
            Extent::Early => self.make_early_reports(),
            // With several files, others follow.
            Extent::All if self.n_done.is_some() => {}
            Extent::All => {
                self.partial = false;
                self.make_reports();
            }
        }
    }

    fn make_early_reports(&mut self) {
        self.partial = true;
        self.order.changed();
        let (reports, found) = analysis::early_reports(&self.run, &self.query);
        self.reports = reports;
        self.unclassified = found.unclassified().map(ToString::to_string);
        // During parsing the next ones have more data.
        let is_over = self.import.is_none() && self.n_done.is_none();
        self.found = if is_over { found } else { AnalysisCache::default() };
    }

    /// Frees the intermediate results of the reports.
    pub fn forget_found(&mut self) {
        self.found = AnalysisCache::default();
    }

    /// Restricts the reports to these ids, for a file parsed completely.
    pub fn make_only(&mut self, wanted: Vec<String>) {
        self.wanted = Some(wanted);
    }

    fn make_reports(&mut self) {
        self.order.changed();
        self.found = AnalysisCache::default();
        let (reports, found) = analysis::reports_of(&self.run, &self.query, self.wanted.as_deref());
        self.reports = reports;
        self.unclassified = found.unclassified().map(ToString::to_string);
    }

    /// Recomputes the reports for another query. An error, without effect, if the tables cannot be read from the index.
    pub fn set_query(&mut self, query: Query) -> Result<(), ImportError> {
        if query != self.query {
            self.load()?;
            if query.show_secrets != self.query.show_secrets {
                for trace in &mut self.run.traces {
                    match query.show_secrets {
                        true => trace.show_secrets(),
                        false => trace.hide_secrets(),
                    }
                }
            }
            self.query = query;
            if self.n_done.is_some() {
                self.make_early_reports();
            } else {
                self.make_reports();
                // After parsing, all reports exist now.
                self.partial &= self.import.is_some();
            }
        }
        Ok(())
    }

    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Traces of the reports.
    pub fn run(&self) -> &Run {
        &self.run
    }

    fn file_view(&self, trace: &Trace) -> FileView {
        let source = &trace.source;
        let facts = RunFacts::new(trace);
        FileView {
            name: source.file_name.clone(),
            bytes: trace.ledger.file_bytes,
            format_id: source.format.to_string(),
            format_title: super::format_title(source.format),
            producer: source.producer.clone(),
            compression: source.compression.iter().map(|name| name.to_string()).collect(),
            rank: facts.rank.map(|rank| RankView { rank, world_size: facts.world_size }),
            index: self.index_view,
        }
    }

    /// Nanoseconds from the first to the last timestamp. `None` while the tables are only in an index.
    fn span_ns(&self) -> Option<i64> {
        if self.index.is_some() {
            return None;
        }
        let spans = self.run.traces.iter().filter_map(Trace::span);
        let (start, end) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        end.checked_sub(start)
    }

    /// Files with their parsing details.
    fn accounts(&self) -> Vec<FileAccount> {
        let account = |trace| FileAccount { file: self.file_view(trace), ledger: ledger_view(&trace.ledger) };
        self.run.traces.iter().map(account).collect()
    }

    /// Data for a comparison. An error if the tables cannot be read from the index.
    pub fn side(&mut self) -> Result<Side, ImportError> {
        self.load()?;
        let found = std::mem::take(&mut self.found);
        Ok(Side {
            digest: Digest::of(&mut self.run, &self.reports, &self.query, &super::format_title, found),
            accounts: self.accounts(),
            left_out: self.left_out.clone(),
        })
    }
}

impl Session {
    /// Checks limits, given as text. An error if the tables cannot be read from the index.
    pub fn hold(&mut self, limits: &str) -> Result<BudgetView, ImportError> {
        let held = limits::hold(&self.side()?.digest, limits);
        let view = |held: Held| LimitView {
            text: held.text,
            held: match held.outcome {
                Ok(Outcome::Kept(words)) => HeldView::Kept(words),
                Ok(Outcome::Passed(words)) => HeldView::Passed(words),
                Err(words) => HeldView::Unknown(words),
            },
        };
        Ok(BudgetView { limits: held.into_iter().map(view).collect() })
    }
}

impl Shown for Session {
    fn document(&self) -> Option<DocumentView> {
        let files = self.accounts();
        let all = together(&files)?;
        Some(DocumentView {
            revision: self.order.revision(),
            file: all.file,
            ledger: all.ledger,
            files: if files.len() == 1 { Vec::new() } else { files },
            left_out: self.left_out.clone(),
            sides: None,
            reports: self.reports.iter().map(report_view).collect(),
            query: self.query.clone(),
            partial: self.partial,
            is_read: self.import.is_none() && self.n_done.is_none(),
            exporters: exporter_views(&self.exporters()),
            not_exported: not_exported(&self.exporters()),
            span_ns: self.span_ns(),
            range: self.range(),
            link: None,
            sent: self.sent.clone(),
        })
    }

    fn table(&mut self, ask: &TableAsk) -> Option<TableRef<'_>> {
        self.order.table(&self.reports, ask)
    }

    fn revision(&self) -> u32 {
        self.order.revision()
    }

    fn outgoing(&mut self, exporter: &ExporterInfo, options: &Options) -> io::Result<Outgoing> {
        self.load().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.what))?;
        let document = analysis::document(&self.run, &self.reports, &super::format_title);
        let options = &self.options(options);
        let input = Input { run: &self.run, document: &document, query: &self.query, options };
        export::redact::outgoing(exporter, &input)
    }

    fn export(
        &mut self,
        exporter: &ExporterInfo,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<LeftOut> {
        self.load().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.what))?;
        if !(exporter.applies)(&self.run) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, self.why_not_exported(exporter)));
        }
        let document = analysis::document(&self.run, &self.reports, &super::format_title);
        let options = &self.options(options);
        let input = Input { run: &self.run, document: &document, query: &self.query, options };
        export::render(exporter, &input, out)
    }

    fn reports(&self) -> &[Report] {
        &self.reports
    }

    fn keep_rows(&mut self, filter: &str) -> Result<(), FilterError> {
        self.order.changed();
        view::keep_rows(&mut self.reports, filter)
    }

    fn keep_reports(&mut self, is_wanted: &dyn Fn(&str) -> bool) {
        self.reports.retain(|report| is_wanted(&report.id));
        self.order.changed();
    }

    fn shortfall(&self) -> Option<String> {
        let stopped = |it| format!("labeling stopped at an unclassified access: {it}");
        self.why_useless().map(|why| why.to_string()).or_else(|| self.unclassified.as_ref().map(stopped))
    }

    fn why_not_exported(&self, exporter: &ExporterInfo) -> String {
        if self.run.traces.iter().any(|trace| trace.aggregated.is_some()) {
            "the trace is too large to keep single events, so there are none to write".to_string()
        } else if self.run.traces.len() > 1 {
            "this format can contain only one trace; export the traces one by one".to_string()
        } else {
            let formats = self.run.traces.iter().map(|trace| super::format_title(trace.source.format));
            let formats: Vec<String> = formats.collect();
            let needs = if exporter.needs.is_empty() { "something to write" } else { exporter.needs };
            format!("{} needs {needs}; this file ({}) has none", exporter.title, formats.join(", "))
        }
    }

    fn exporters(&self) -> Vec<&'static ExporterInfo> {
        let has_something = |exporter: &&ExporterInfo| match &self.index {
            Some(index) => index.head.exporters.iter().any(|id| id == exporter.id),
            None => (exporter.applies)(&self.run),
        };
        EXPORTERS.iter().copied().filter(has_something).collect()
    }

    fn export_file_name(&self, exporter: &ExporterInfo) -> String {
        let names = self.run.traces.iter().map(|trace| trace.source.file_name.as_str());
        format!("{}.{}", stem_of(names), exporter.extension)
    }
}

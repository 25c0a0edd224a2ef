//! One file from its first byte to its reports.

use super::protocol::{
    AddedReport, BudgetView, DocumentView, Failure, FileAccount, FileView, HeldView, IndexView, LeftOutView,
    LimitView, RangeView, RankView, SentView,
};
use super::shown::{RowOrder, Shown};
use super::views::{exporter_views, ledger_view, not_exported, report_view, stem_of, together};
use super::{ExportSource, Side, export_source};
use crate::analysis::flame::{self, FlameQuery, FlameView};
use crate::analysis::gpu::facts::RunFacts;
use crate::analysis::mrm;
use crate::analysis::overview::far_away::FarAway;
use crate::analysis::report_builder::{Built, ReportBuilder};
use crate::analysis::tracks::Drawn;
use crate::analysis::{self, AnalysisCache, Context, Query, gpu_place, memory_timeline};
use crate::base::steps;
use crate::compare::Digest;
use crate::compare::limits::{self, Held, Outcome};
use crate::export::stacks::collapsed;
use crate::export::{self, EXPORTERS, ExporterInfo, Options};
use crate::import::{FORMATS, FormatInfo, Import, ImportError, ImportProgress, UNREADABLE};
use crate::index::{self, Head, Identity, Index};
use crate::memory_run::manifest::Checksum;
use crate::report::{Document, Report};
use crate::stacks::graph::StackGraph;
use crate::timeline::answers::Details;
use crate::timeline::{Timeline, of_run};
use crate::trace::args::Content;
use crate::trace::builder::TimeRange;
use crate::trace::builder::issues::OUTSIDE_RANGE;
use crate::trace::sidecar_files::SidecarFile;
use crate::trace::{Run, Severity, Trace};
use std::io;
use std::rc::{Rc, Weak};

/// From the first byte of a file, or of several, to reports and exports.
pub struct Session {
    stage: Stage,
    /// Traces of the reports, shared with exports and reports being made.
    run: Rc<Run>,
    /// Whether the traces show secrets.
    shows_secrets: bool,
    /// Settings of the reports; see also [`Session::set_query`].
    query: Query,
    reports: Rc<Vec<Report>>,
    /// Ids of the requested reports; all if `None`.
    wanted: Option<Vec<String>>,
    /// Skipped files.
    left_out: Vec<LeftOutView>,
    /// View of the sender.
    sent: Option<SentView>,
    /// Row order of the last table, so that scrolling does not sort again.
    order: RowOrder,
    /// Intermediate results of reports, for later reports and for a comparison. A cache that can be recomputed.
    found: AnalysisCache,
    /// `None` until someone asks for a flame graph.
    graphs: Option<Graphs>,
    /// Unclassified access at which labeling stopped, as requested.
    unclassified: Option<String>,
    /// See [`Session::hold_only`].
    chosen: Option<(i64, i64)>,
}

/// Stage of a session, with what only that stage has.
#[expect(
    clippy::large_enum_variant,
    reason = "a session has one stage, and most of its life is in the large one"
)]
enum Stage {
    /// One file is being parsed. Its trace is in [`Session::run`] once there is a partial report.
    One(Box<FileImport>),
    /// Several files are being parsed one after the other; see [`super::multi_file`].
    Several(Several),
    Done(Done),
}

/// A file being parsed.
pub(super) struct FileImport {
    import: Import,
    /// Files of its run directory, and the checksum of the fed bytes.
    beside: Option<(Vec<SidecarFile>, Checksum)>,
    /// The format was given, so an empty file is not unexpected.
    is_format_given: bool,
}

/// Several files being parsed. There are only early reports until the last file is parsed.
#[derive(Default)]
pub(super) struct Several {
    /// Number of completed traces, which precede the trace of the current file.
    pub(super) n_done: usize,
    pub(super) current: Option<Box<FileImport>>,
    /// The format of the current file was given.
    pub(super) is_format_given: bool,
    /// Maximum events of all files together.
    pub(super) max_events: Option<u64>,
}

/// Parsing is over, or there was nothing to parse.
#[derive(Default)]
struct Done {
    /// Reports that are being made.
    building: Option<Building>,
    /// Late reports were left out.
    is_cut_short: bool,
    is_format_given: bool,
    /// The index it was opened from.
    index: Option<OpenedIndex>,
}

/// Reports being made.
struct Building {
    builder: ReportBuilder,
    /// Those that are made, until they are shown.
    reports: Vec<Report>,
    /// The early ones are shown, and each later one is as soon as it is made.
    is_shown: bool,
    /// The complete reports for another query are shown until all of these are made.
    is_again: bool,
}

/// Result of [`Session::step_reports`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportStep {
    /// Nothing new to show.
    Nothing,
    /// The early reports have replaced all reports.
    Early,
    /// A report was added at this position.
    Added(usize),
    /// All reports are made now, and the document is complete.
    All,
    /// There was nothing to do.
    Idle,
}

/// The index behind a session.
struct OpenedIndex {
    view: IndexView,
    /// Location of the tables, while only the reports have been requested, and the file itself, if available.
    tables: Option<(Index, Option<Rc<dyn Content>>)>,
}

impl FileImport {
    pub(super) fn new(import: Import, is_format_given: bool) -> FileImport {
        FileImport { import, beside: None, is_format_given }
    }

    fn feed(&mut self, bytes: &[u8]) {
        if let Some((files, checksum)) = &mut self.beside {
            files[0].n_bytes += bytes.len() as u64;
            checksum.take(bytes);
        }
        self.import.feed(bytes);
    }

    /// The trace, after `end`.
    fn end(self, end: impl FnOnce(Import) -> Result<Trace, ImportError>) -> Result<Trace, ImportError> {
        let mut trace = end(self.import)?;
        if let Some((mut files, checksum)) = self.beside {
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
        Ok(trace)
    }
}

impl Session {
    /// Session for one file. `file_bytes` is 0 if unknown; `format` disables detection.
    pub fn new(
        file_name: &str,
        file_bytes: u64,
        format: Option<&'static FormatInfo>,
        query: Query,
    ) -> Session {
        let import = Import::with_format(file_name, file_bytes, format);
        let file = FileImport::new(import, format.is_some());
        Session::at(Stage::One(Box::new(file)), query)
    }

    /// Empty session for several files, to be combined.
    pub(super) fn at_first_of(several: Several, query: Query) -> Session {
        Session::at(Stage::Several(several), query)
    }

    fn at(stage: Stage, query: Query) -> Session {
        Session {
            stage,
            run: Rc::default(),
            shows_secrets: false,
            query,
            reports: Rc::default(),
            wanted: None,
            left_out: Vec::new(),
            sent: None,
            order: RowOrder::default(),
            found: AnalysisCache::default(),
            graphs: None,
            unclassified: None,
            chosen: None,
        }
    }

    /// Session of a parsed file.
    pub fn of_trace(trace: Trace, query: Query) -> Session {
        let mut session = Session::at(Stage::Done(Done::default()), query);
        session.set_trace(trace);
        session.build_reports(false);
        session.finish_reports();
        session
    }

    /// The file being parsed.
    fn file(&self) -> Option<&FileImport> {
        match &self.stage {
            Stage::One(file) => Some(file),
            Stage::Several(several) => several.current.as_deref(),
            Stage::Done(_) => None,
        }
    }

    fn file_mut(&mut self) -> Option<&mut FileImport> {
        match &mut self.stage {
            Stage::One(file) => Some(file),
            Stage::Several(several) => several.current.as_deref_mut(),
            Stage::Done(_) => None,
        }
    }

    /// Ends the stage of the file being parsed.
    fn take_file_import(&mut self) -> Option<FileImport> {
        match &mut self.stage {
            Stage::One(file) => {
                let done = Done { is_format_given: file.is_format_given, ..Done::default() };
                match std::mem::replace(&mut self.stage, Stage::Done(done)) {
                    Stage::One(file) => Some(*file),
                    _ => None,
                }
            }
            Stage::Several(several) => several.current.take().map(|file| *file),
            Stage::Done(_) => None,
        }
    }

    /// Number of traces that precede that of the current file.
    fn n_before(&self) -> usize {
        match &self.stage {
            Stage::Several(several) => several.n_done,
            Stage::One(_) | Stage::Done(_) => 0,
        }
    }

    /// Whether several files are still being parsed.
    fn is_at_several(&self) -> bool {
        matches!(self.stage, Stage::Several(_))
    }

    /// Whether more reports, or more of the traces, will follow.
    fn is_partial(&self) -> bool {
        match &self.stage {
            Stage::Done(done) => done.building.as_ref().is_some_and(|building| !building.is_again),
            Stage::One(_) | Stage::Several(_) => true,
        }
    }

    fn index(&self) -> Option<&OpenedIndex> {
        match &self.stage {
            Stage::Done(done) => done.index.as_ref(),
            Stage::One(_) | Stage::Several(_) => None,
        }
    }

    /// The index that still has the tables.
    fn unread_index(&self) -> Option<&Index> {
        self.index().and_then(|index| index.tables.as_ref()).map(|(index, _)| index)
    }

    /// Several files being parsed, and the rest of the session that belongs to them: traces and skipped files.
    pub(super) fn several(&mut self) -> Option<(&mut Several, &mut Vec<Trace>, &mut Vec<LeftOutView>)> {
        match &mut self.stage {
            Stage::Several(several) => {
                Some((several, &mut Rc::make_mut(&mut self.run).traces, &mut self.left_out))
            }
            Stage::One(_) | Stage::Done(_) => None,
        }
    }

    /// The traces, to change them. Copies them only while an export holds them, which the worker prevents.
    pub(super) fn traces_mut(&mut self) -> &mut Vec<Trace> {
        &mut Rc::make_mut(&mut self.run).traces
    }

    /// Ends parsing several files, and starts making the reports.
    pub(super) fn end_several(&mut self) {
        self.stage = Stage::Done(Done::default());
        self.build_reports(false);
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

    /// Session from an index. `again` is the file itself, if available, for data that is not in the index.
    ///
    /// Tables are read on demand, which may fail.
    pub fn of_index(
        index: Index,
        again: Option<Rc<dyn Content>>,
        query: Query,
    ) -> Result<Session, ImportError> {
        let Head { source, ledger, .. } = &index.head;
        let mut trace = Trace::default();
        (trace.source, trace.ledger) = (source.clone(), ledger.clone());
        let view = IndexView {
            made_ms: index.head.made_ms,
            is_alone: again.is_none(),
            is_of_other_version: !index.head.is_of_this_program(),
        };
        let reports = if index.head.query == query { index.reports() } else { None };
        let index = Some(OpenedIndex { view, tables: Some((index, again)) });
        let mut session = Session::at(Stage::Done(Done { index, ..Done::default() }), query);
        session.run = Rc::new(Run::single(trace));
        match reports {
            Some(reports) => session.reports = Rc::new(reports),
            None => {
                session.load()?;
                session.build_reports(false);
                session.finish_reports();
            }
        }
        Ok(session)
    }

    /// Reads the tables from the index, unless already read.
    pub(super) fn load(&mut self) -> Result<(), ImportError> {
        if let Stage::Done(Done { index: Some(OpenedIndex { tables, .. }), .. }) = &mut self.stage
            && let Some((index, again)) = tables
        {
            let mut trace = index.trace(again.clone())?;
            // The index may have been written while secrets were shown.
            match self.query.show_secrets {
                true => trace.args.hide_secrets(false),
                false => trace.hide_secrets(),
            }
            self.shows_secrets = self.query.show_secrets;
            self.run = Rc::new(Run::single(trace));
            *tables = None;
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
        let is_cut_short = matches!(&self.stage, Stage::Done(done) if done.is_cut_short);
        let shows_secrets = self.shows_secrets || self.query.show_secrets;
        let is_read = !self.is_partial() && !is_cut_short && self.unread_index().is_none() && !shows_secrets;
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
        if let Some(file) = self.file_mut() {
            file.import.can_read_again(content);
        }
    }

    /// Sets the run directory: the file is `own_name` in it, `others` are its other files by name. Call it before feeding.
    pub fn lies_in_run(&mut self, own_name: &str, others: Vec<SidecarFile>) {
        let Some(file) = self.file_mut() else { return };
        file.import.keep_unreadable();
        let own = SidecarFile { name: own_name.to_string(), ..SidecarFile::default() };
        file.beside = Some(([own].into_iter().chain(others).collect(), Checksum::default()));
    }

    /// Takes the next bytes of the file.
    pub fn feed(&mut self, bytes: &[u8]) {
        if let Some(file) = self.file_mut() {
            file.feed(bytes);
        }
    }

    /// The importer, until finished.
    pub fn import(&mut self) -> Option<&mut Import> {
        self.file_mut().map(|file| &mut file.import)
    }

    /// Whether more bytes would make no difference; [`Session::finish`] returns the reason.
    pub fn has_given_up(&self) -> bool {
        self.has_no_room() || self.file().is_none_or(|file| file.import.has_given_up())
    }

    /// Whether the current file of several has more events than fit next to the others.
    fn has_no_room(&self) -> bool {
        self.is_at_several() && self.file().is_some_and(|file| file.import.is_spilling())
    }

    /// Reason why a non-empty file has no usable content. An empty timeline (`[]`) is a valid trace, and so is a file without
    /// memory accesses if its format was given.
    pub fn why_useless(&self) -> Option<ImportError> {
        let [trace] = self.run.traces.get(self.n_before()..)? else { return None };
        // An index always has content.
        let ledger = Some(&trace.ledger).filter(|_| self.index().is_none())?;
        let unreadable = ledger.issue(UNREADABLE.code);
        let is_format_given = match &self.stage {
            Stage::One(file) => file.is_format_given,
            Stage::Several(several) => several.is_format_given,
            Stage::Done(done) => done.is_format_given,
        };
        if is_format_given && trace.accesses.is_expected() && unreadable.is_none() {
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
        self.file().map(|file| file.import.progress()).unwrap_or_default()
    }

    /// The format, once known and during parsing.
    pub fn format(&self) -> Option<&'static FormatInfo> {
        self.file().and_then(|file| file.import.format())
    }

    /// Keeps only what overlaps a time range, also of what is already parsed: first and last nanosecond from `start_ns` on the
    /// trace's clock. False, without effect, if the format has no events, if there were too many to keep single ones, or if a
    /// range was set before.
    pub fn hold_only(&mut self, start_ns: i64, from_ns: i64, to_ns: i64) -> bool {
        let range = TimeRange::OnClock(start_ns.saturating_add(from_ns), start_ns.saturating_add(to_ns));
        self.choose(range, (from_ns, to_ns))
    }

    /// The same, relative to the start of the whole trace. Call it before feeding; no effect for formats without events.
    pub fn hold_only_from_start(&mut self, from_ns: i64, to_ns: i64) {
        self.choose(TimeRange::FromStart(from_ns, to_ns), (from_ns, to_ns));
    }

    fn choose(&mut self, range: TimeRange, chosen: (i64, i64)) -> bool {
        let is_held = self.file_mut().is_some_and(|file| file.import.hold_only(range));
        // Several files have no common start, so they have no common range.
        if is_held && !self.is_at_several() {
            self.chosen = Some(chosen);
        }
        is_held
    }

    fn range(&self) -> RangeView {
        let only = match self.run.traces.as_slice() {
            [trace] if !self.is_partial() && self.chosen.is_none() => Some(trace),
            _ => None,
        };
        let has_times = |trace: &&Trace| {
            FORMATS.iter().any(|it| it.id == trace.source.format && it.has_events) && self.has_timeline()
        };
        let only = only.filter(has_times);
        RangeView {
            start_ns: self.choosable_from(),
            chosen: self.chosen,
            again: only.is_some(),
            without_far_away: only.and_then(FarAway::of).map(|far_away| far_away.stretch_without()),
        }
    }

    /// Start of the times of a range that can be chosen.
    fn choosable_from(&self) -> Option<i64> {
        let Stage::One(file) = &self.stage else { return None };
        if !file.import.can_hold_only() {
            return None;
        }
        self.run.traces.first().and_then(Trace::span).map(|(start, _)| start)
    }

    /// Builds reports of what has been parsed so far; false if there is nothing yet.
    pub fn make_partial(&mut self) -> bool {
        if self.file().is_some_and(|file| file.import.is_spilling()) {
            return false;
        }
        // Drop the previous one first.
        self.drop_current_trace();
        match self.file().and_then(|file| file.import.snapshot()) {
            Some(trace) => {
                self.set_trace(trace);
                self.make_early_reports();
                true
            }
            None => false,
        }
    }

    /// Ends the file and makes the reports.
    pub fn finish(&mut self) -> Result<(), ImportError> {
        self.finish_parsing()?;
        self.finish_reports();
        Ok(())
    }

    /// Stops parsing for the reason `why`, and makes reports of what was parsed.
    pub fn stop(&mut self, why: &str) -> Result<(), ImportError> {
        self.stop_parsing(why)?;
        self.finish_reports();
        Ok(())
    }

    /// [`Session::finish`] without the reports, which [`Session::step_reports`] makes.
    pub fn finish_parsing(&mut self) -> Result<(), ImportError> {
        self.end(Import::finish)
    }

    /// [`Session::stop`] without the reports.
    pub fn stop_parsing(&mut self, why: &str) -> Result<(), ImportError> {
        self.end(|import| import.stop(why))
    }

    /// Like [`Session::finish`], but makes only the cheap reports if others take long. Returns true if
    /// [`Session::finish_reports`] has to be called; until then the document counts as partial.
    pub fn finish_early(&mut self) -> Result<bool, ImportError> {
        self.finish_parsing()?;
        self.finish_early_reports();
        let has_more = self.n_late() > 0;
        if !has_more {
            self.finish_reports();
        }
        Ok(has_more)
    }

    /// Makes the cheap reports.
    pub fn finish_early_reports(&mut self) {
        while self.step_reports() == ReportStep::Nothing {}
    }

    /// Makes one of the reports missing after [`Session::finish_early`]; false once all are made.
    pub fn make_next_report(&mut self) -> bool {
        loop {
            match self.step_reports() {
                ReportStep::Nothing | ReportStep::Early => {}
                ReportStep::Added(_) => return true,
                ReportStep::All | ReportStep::Idle => return false,
            }
        }
    }

    /// Makes all reports.
    pub fn finish_reports(&mut self) {
        while self.step_reports() != ReportStep::Idle {}
    }

    /// Number of late reports that are not made yet.
    fn n_late(&self) -> usize {
        match &self.stage {
            Stage::Done(Done { building: Some(building), .. }) => building.builder.n_late(),
            _ => 0,
        }
    }

    /// Whether reports are being made.
    pub fn is_building(&self) -> bool {
        matches!(&self.stage, Stage::Done(Done { building: Some(_), .. }))
    }

    /// Makes the next report, or a part of what it needs: some milliseconds of work, if the report itself does not take longer.
    pub fn step_reports(&mut self) -> ReportStep {
        let Stage::Done(Done { building: slot, .. }) = &mut self.stage else { return ReportStep::Idle };
        let Some(building) = slot else { return ReportStep::Idle };
        let Building { builder, reports, is_shown, is_again } = building;
        if !*is_shown && !*is_again && builder.has_all_early() {
            *is_shown = true;
            self.reports = Rc::new(std::mem::take(reports));
            self.unclassified = builder.found().unclassified().map(ToString::to_string);
            self.order.changed();
            return ReportStep::Early;
        }
        let made = if *is_shown { Rc::make_mut(&mut self.reports) } else { &mut *reports };
        match builder.step(made) {
            Built::Report(at) if *is_shown => {
                self.order.changed();
                ReportStep::Added(at)
            }
            Built::Report(_) | Built::Nothing => ReportStep::Nothing,
            Built::All => {
                if !*is_shown {
                    self.reports = Rc::new(std::mem::take(reports));
                }
                if let Some(building) = slot.take() {
                    (self.query, self.found) = building.builder.into_results();
                }
                self.unclassified = self.found.unclassified().map(ToString::to_string);
                self.order.changed();
                ReportStep::All
            }
        }
    }

    /// Leaves out the late reports that are not made yet, or keeps the reports for the query before. True if that had an effect.
    /// [`Session::step_reports`] then completes the document.
    pub fn skip_reports(&mut self) -> bool {
        let Stage::Done(Done { building: slot, is_cut_short, .. }) = &mut self.stage else { return false };
        match slot {
            Some(building) if building.is_again => {
                *slot = None;
                self.show_secrets(self.query.show_secrets);
                true
            }
            Some(building) if building.is_shown && building.builder.n_late() > 0 => {
                building.builder.skip_late();
                *is_cut_short = true;
                true
            }
            _ => false,
        }
    }

    /// The report that [`ReportStep::Added`] is about.
    pub fn added_report(&self, at: usize) -> Option<AddedReport> {
        let report = report_view(self.reports.get(at)?);
        Some(AddedReport { revision: self.order.revision(), at: at as u32, report })
    }

    /// Starts making the reports; `is_again` if the ones before are complete.
    fn build_reports(&mut self, is_again: bool) {
        self.build_reports_for(self.query.clone(), is_again);
    }

    fn build_reports_for(&mut self, query: Query, is_again: bool) {
        self.found = AnalysisCache::default();
        let (run, wanted) = (self.run.clone(), self.wanted.clone());
        if let Stage::Done(done) = &mut self.stage {
            let builder = ReportBuilder::new(run, query, wanted);
            done.building = Some(Building { builder, reports: Vec::new(), is_shown: false, is_again });
            done.is_cut_short = false;
        }
    }

    fn end(&mut self, end: impl FnOnce(Import) -> Result<Trace, ImportError>) -> Result<(), ImportError> {
        let has_no_room = self.has_no_room();
        let Some(file) = self.take_file_import() else { return Ok(()) };
        if has_no_room {
            return Err(ImportError {
                code: "no-room",
                what: "not enough memory for its events in addition to those of the files before it".to_string(),
                hint: "open fewer files at once, or run tracedrop report --together, which can use all memory of the computer"
                    .to_string(),
            });
        }
        // Drop the partial trace before building the complete one. The reports so far stay until the new ones are made.
        self.drop_current_trace();
        match file.end(end) {
            Ok(trace) => {
                self.set_trace(trace);
                self.build_reports(false);
                Ok(())
            }
            Err(error) => {
                if !self.is_at_several() {
                    self.reports = Rc::default();
                }
                Err(error)
            }
        }
    }

    fn set_trace(&mut self, mut trace: Trace) {
        self.shows_secrets = self.query.show_secrets;
        if self.shows_secrets {
            trace.show_secrets();
        }
        self.drop_current_trace();
        self.traces_mut().push(trace);
    }

    /// Drops the trace of the current file, if there is one. An export may still hold it.
    fn drop_current_trace(&mut self) {
        match self.n_before() {
            0 => self.run = Rc::default(),
            n => self.traces_mut().truncate(n),
        }
    }

    /// Makes the cheap reports of what is parsed so far.
    fn make_early_reports(&mut self) {
        self.order.changed();
        // The next ones have more data, so they cannot use what was found.
        let (reports, found) = analysis::early_reports(&self.run, &self.query);
        self.reports = Rc::new(reports);
        self.unclassified = found.unclassified().map(ToString::to_string);
    }

    /// Frees the intermediate results of the reports.
    pub fn forget_found(&mut self) {
        self.found = AnalysisCache::default();
    }

    /// Restricts the reports to these ids, for a file parsed completely.
    pub fn make_only(&mut self, wanted: Vec<String>) {
        self.wanted = Some(wanted);
    }

    /// Makes the reports for another query. An error, without effect, if the tables cannot be read from the index.
    pub fn set_query(&mut self, query: Query) -> Result<(), ImportError> {
        self.start_query(query)?;
        self.finish_reports();
        Ok(())
    }

    /// [`Session::set_query`] without making the reports, instead of any being made for another query. Complete reports stay, with
    /// their query, until all new ones are made. During parsing, only the cheap reports are made, at once.
    pub fn start_query(&mut self, query: Query) -> Result<(), ImportError> {
        let is_complete = !self.is_partial();
        if query == self.query {
            if let Stage::Done(done) = &mut self.stage
                && is_complete
            {
                done.building = None;
            }
            self.show_secrets(query.show_secrets);
            return Ok(());
        }
        self.load()?;
        if let Stage::Done(done) = &mut self.stage {
            done.building = None;
        }
        self.show_secrets(query.show_secrets);
        match self.stage {
            Stage::One(_) | Stage::Several(_) => {
                self.query = query;
                self.make_early_reports();
            }
            Stage::Done(_) if is_complete => self.build_reports_for(query, true),
            Stage::Done(_) => {
                self.query = query;
                self.build_reports(false);
            }
        }
        Ok(())
    }

    fn show_secrets(&mut self, are_shown: bool) {
        if are_shown == self.shows_secrets || self.unread_index().is_some() {
            return;
        }
        self.shows_secrets = are_shown;
        for trace in self.traces_mut() {
            match are_shown {
                true => trace.show_secrets(),
                false => trace.hide_secrets(),
            }
        }
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
            index: self.index().map(|index| index.view),
        }
    }

    /// Nanoseconds from the first to the last timestamp. `None` while the tables are only in an index.
    fn span_ns(&self) -> Option<i64> {
        if self.unread_index().is_some() {
            return None;
        }
        let of_trace = |trace: &Trace| trace.span().or_else(|| trace.span_beside_events());
        let spans = self.run.traces.iter().filter_map(of_trace);
        let (start, end) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        end.checked_sub(start)
    }

    /// Whether a timeline has something to draw.
    fn has_timeline(&self) -> bool {
        match self.unread_index() {
            Some(index) => index.head.has_times,
            None => self.run.traces.iter().any(Trace::has_times),
        }
    }

    /// Whether a flame graph has something to draw.
    fn has_stacks(&self) -> bool {
        match self.unread_index() {
            Some(index) => index.head.has_stacks,
            None => analysis::flame::applies(&self.run),
        }
    }

    /// The graphs of the stacks, made when someone first asks. An error if the tables cannot be read from the index.
    fn graphs(&mut self) -> Result<&mut Graphs, ImportError> {
        self.load()?;
        let made = match self.graphs.take().filter(|made| self.are_of_shown(made)) {
            Some(made) => made,
            None => Graphs {
                of: Rc::downgrade(&self.run),
                query: self.query.clone(),
                graphs: flame::graphs(&Context::new(&self.run, &self.query)),
                cache: flame::Cache::default(),
            },
        };
        Ok(self.graphs.insert(made))
    }

    /// Whether graphs are of the traces and settings that show.
    fn are_of_shown(&self, made: &Graphs) -> bool {
        made.query == self.query && made.of.upgrade().is_some_and(|run| Rc::ptr_eq(&run, &self.run))
    }

    /// Makes the flame graph of stack profiles before someone asks: it is what they are opened for, and takes up to a third of a second.
    /// Other traces have their graphs on demand, as those take longer and more memory.
    pub fn look_ahead(&mut self) {
        let is_of_stacks =
            |trace: &Trace| !trace.stack_profiles.is_empty() && trace.stacks.len() <= MAX_STACKS_AHEAD;
        // Who asked already looks at a graph, whose stacks stay as they were merged for it.
        let is_made = self.graphs.as_ref().is_some_and(|made| self.are_of_shown(made));
        let is_read = !self.is_partial() && self.unread_index().is_none();
        if !is_made && is_read && self.run.traces.iter().all(is_of_stacks) {
            // What it lacks is said to whoever asks.
            drop(Shown::flame(self, &FlameQuery::default()));
        }
    }

    /// Lends the intermediate results of the reports to a job in steps; see [`Session::return_found`].
    pub fn lend_found(&mut self) -> AnalysisCache {
        std::mem::take(&mut self.found)
    }

    /// Takes back what was lent, unless the traces or the settings have changed since.
    pub fn return_found(&mut self, run: &Rc<Run>, query: &Query, found: AnalysisCache) {
        if Rc::ptr_eq(run, &self.run) && *query == self.query {
            self.found = found;
        }
    }

    /// The traces, for a timeline. An error if they cannot be read from the index.
    pub fn shared_run(&mut self) -> Result<Rc<Run>, ImportError> {
        self.load()?;
        Ok(self.run.clone())
    }

    /// The traces as a timeline draws them. An error if they cannot be read from the index.
    pub fn drawn_run(&mut self) -> Result<Rc<Run>, ImportError> {
        let run = self.shared_run()?;
        let found = self.lend_found();
        let (drawn, found) = steps::run(memory_timeline::drawn(&run, &self.query, found));
        self.found = found;
        Ok(drawn)
    }

    /// Adds to the details of a box of the timeline what it belongs to.
    pub fn add_places(&mut self, timeline: &Timeline, details: &mut Details) {
        let context = Context::from_cache(&self.run, &self.query, std::mem::take(&mut self.found));
        gpu_place::add_to(&context, timeline, details);
        self.found = context.into_cache();
    }

    /// Files with their parsing details.
    fn accounts(&self) -> Vec<FileAccount> {
        let account = |trace| FileAccount { file: self.file_view(trace), ledger: ledger_view(&trace.ledger) };
        self.run.traces.iter().map(account).collect()
    }

    /// Data for a comparison. An error if the tables cannot be read from the index.
    pub fn side(&mut self) -> Result<Side, ImportError> {
        self.finish_reports();
        self.load()?;
        // The GPU model of the reports serves both.
        let context = Context::from_cache(&self.run, &self.query, std::mem::take(&mut self.found));
        let graphs = flame::compared_graphs(&context);
        self.found = context.into_cache();
        let digest = self.digest()?;
        Ok(Side { digest, accounts: self.accounts(), left_out: self.left_out.clone(), graphs, drawn: None })
    }

    /// What is drawn of its timeline beside another one. `None` if nothing has a time. An error if the tables cannot be read from the
    /// index.
    pub fn drawn(&mut self) -> Result<Option<Drawn>, ImportError> {
        let run = self.drawn_run()?;
        Ok(of_run(&run).and_then(|timeline| Drawn::of(&run, &timeline, &self.reports)))
    }

    fn digest(&mut self) -> Result<Digest, ImportError> {
        self.finish_reports();
        self.load()?;
        let found = std::mem::take(&mut self.found);
        let run = Rc::make_mut(&mut self.run);
        Ok(Digest::of(run, &self.reports, &self.query, &super::format_title, found))
    }
}

impl Session {
    /// Checks limits, given as text. An error if the tables cannot be read from the index.
    pub fn hold(&mut self, limits: &str) -> Result<BudgetView, ImportError> {
        let held = limits::hold(&self.digest()?, limits);
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

/// Nodes of the stacks beyond which their graph is made on demand only.
const MAX_STACKS_AHEAD: usize = 10_000_000;

/// Graphs of stacks and what they were made of.
struct Graphs {
    of: Weak<Run>,
    query: Query,
    graphs: Vec<StackGraph>,
    cache: flame::Cache,
}

impl Shown for Session {
    fn flame(&mut self, query: &FlameQuery) -> Result<Option<FlameView>, Failure> {
        let Graphs { graphs, cache, .. } = self.graphs()?;
        flame::view(graphs, query, cache).map_err(super::shown::wrong_pattern)
    }

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
            partial: self.is_partial(),
            is_read: matches!(self.stage, Stage::Done(_)),
            exporters: exporter_views(&self.exporters()),
            not_exported: not_exported(&self.exporters()),
            span_ns: self.span_ns(),
            n_steps: self.n_steps(),
            range: self.range(),
            link: None,
            sent: self.sent.clone(),
            has_timeline: self.has_timeline(),
            has_stacks: self.has_stacks(),
        })
    }

    fn reports(&self) -> &[Report] {
        &self.reports
    }

    fn reports_mut(&mut self) -> (&mut Vec<Report>, &mut RowOrder) {
        (Rc::make_mut(&mut self.reports), &mut self.order)
    }

    fn revision(&self) -> u32 {
        self.order.revision()
    }

    fn export_source(&mut self, exporter: &ExporterInfo, options: &Options) -> io::Result<ExportSource> {
        self.load().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.what))?;
        self.check_exporter(exporter, &self.run)?;
        let has_pictures = exporter.id == export::html::INFO.id && self.wanted.is_none();
        let make_flame = export_source::flame_report(exporter, options).filter(|_| self.wanted.is_none());
        let flame = make_flame.and_then(|make| make(&self.graphs().ok()?.graphs));
        let mut reports = self.reports.clone();
        if let Some(mut flame) = flame {
            flame::warn(&mut flame, &self.run);
            Rc::make_mut(&mut reports).push(flame);
        }
        let document = analysis::document(&self.run, &self.reports, &super::format_title);
        let Document { title, source, ledger, .. } = document;
        Ok(ExportSource {
            run: self.run.clone(),
            reports,
            title,
            source,
            ledger,
            query: self.query.clone(),
            options: self.options(options),
            is_comment: false,
            has_timeline: has_pictures && self.has_timeline(),
        })
    }

    fn shortfall(&self) -> Option<String> {
        let stopped = |it| format!("labeling stopped at an unclassified access: {it}");
        self.why_useless().map(|why| why.to_string()).or_else(|| self.unclassified.as_ref().map(stopped))
    }

    fn why_not_exported(&self, exporter: &ExporterInfo) -> String {
        if self.run.traces.iter().any(|trace| trace.aggregated.is_some()) {
            "the trace is too large to keep individual events, so there are none to export".to_string()
        } else if self.run.traces.len() > 1 {
            "this format can contain only one trace; export the traces one by one".to_string()
        } else {
            let formats = self.run.traces.iter().map(|trace| super::format_title(trace.source.format));
            let formats: Vec<String> = formats.collect();
            let needs = if exporter.needs.is_empty() { "something to write" } else { exporter.needs };
            // Perfetto opens Chrome traces too, which have more kinds of events; neither has weighted stacks.
            let (chrome, firefox) = (&export::chrome_trace::INFO, &export::stacks::firefox::INFO);
            let samples = &collapsed::SAMPLES_INFO;
            let is_of_events =
                [chrome.id, export::chrome_trace::PACKED_INFO.id, "perfetto"].contains(&exporter.id);
            let instead = match is_of_events {
                true if exporter.id == "perfetto" && (chrome.applies)(&self.run) => {
                    format!(". Export a {}", chrome.title)
                }
                true if (firefox.applies)(&self.run) => format!(". Export as {}", firefox.title),
                _ if exporter.id == collapsed::INFO.id && (samples.applies)(&self.run) => {
                    format!(". Export as {} ({})", samples.title, samples.id)
                }
                _ => String::new(),
            };
            format!("{} needs {needs}; this file ({}) has none{instead}", exporter.title, formats.join(", "))
        }
    }

    fn exporters(&self) -> Vec<&'static ExporterInfo> {
        let has_something = |exporter: &&ExporterInfo| match self.unread_index() {
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

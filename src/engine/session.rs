//! One file from its first byte to its reports.

use super::protocol::{
    BlockView, ColumnView, CopyFormat, DocumentView, FileAccount, FileView, IndexView, IssueView, LedgerView,
    LeftOutView, RankView, ReportView, SeverityView, TableId, TableView, TallyView,
};
use crate::analysis::gpu::facts::RunFacts;
use crate::analysis::{self, Query};
use crate::export::{self, EXPORTERS, ExporterInfo, Input, Options};
use crate::import::{FormatInfo, Import, ImportError, ImportProgress};
use crate::index::{self, Head, Identity, Index};
use crate::report::view::{self, TableQuery, TableRows};
use crate::report::{Block, Report, Table};
use crate::trace::args::Content;
use crate::trace::ledger::{Ledger, Severity, Tally};
use crate::trace::{Run, Trace};
use std::io::{self, Write};
use std::rc::Rc;

/// Rows that go out with a document.
const FIRST_ROWS: u64 = 60;

/// Drives one file: feed bytes, finish, then ask.
pub struct Session {
    import: Option<Import>,
    run: Run,
    query: Query,
    reports: Vec<Report>,
    partial: bool,
    /// Where the tables are, while nobody has asked for more than the reports.
    index: Option<Index>,
    /// The index that this comes from.
    index_view: Option<IndexView>,
    /// The file, for arguments that are read from it again.
    again: Option<Rc<dyn Content>>,
    /// One of several files: no reports are made of it alone, and it is given up once it has more events than there is room
    /// for.
    is_part: bool,
    /// What was to be read together with this, and could not.
    left_out: Vec<LeftOutView>,
    /// Row order of the table looked at last, so that scrolling does not sort again.
    order: Option<(TableId, TableQuery, Vec<u32>)>,
}

/// A table of the current document.
pub struct TableRef<'a> {
    pub table: &'a Table,
    pub order: &'a [u32],
}

impl Session {
    /// `file_bytes` is 0 if unknown; with `format` the content is read as that, whatever it looks like.
    pub fn new(
        file_name: &str,
        file_bytes: u64,
        format: Option<&'static FormatInfo>,
        query: Query,
    ) -> Session {
        Session { import: Some(Import::with_format(file_name, file_bytes, format)), ..Session::empty(query) }
    }

    fn empty(query: Query) -> Session {
        Session {
            import: None,
            run: Run::default(),
            query,
            reports: Vec::new(),
            partial: false,
            index: None,
            index_view: None,
            again: None,
            is_part: false,
            left_out: Vec::new(),
            order: None,
        }
    }

    /// A file that is read already.
    pub fn of_trace(trace: Trace, query: Query) -> Session {
        let mut session = Session::empty(query);
        session.set_trace(trace, false);
        session
    }

    /// A file that is going to be put together with others: no reports are made of it alone. With `room`, it is given up once
    /// it has more events.
    pub(super) fn part_of_several(mut self, room: Option<usize>) -> Session {
        self.is_part = true;
        if let (Some(import), Some(room)) = (&mut self.import, room) {
            import.hold_at_most(room);
        }
        self
    }

    /// Says what was to be read together with this, and could not.
    pub(super) fn set_left_out(&mut self, left_out: Vec<LeftOutView>) {
        self.left_out = left_out;
    }

    /// Several files that are read already, in one: reports are on all of them, each with its own account of what was
    /// read. The question is that of the first. An error if the tables of one can not be read from its index.
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

    /// A file that was read before. `again` is that file, for what is not in the index, if it is at hand.
    ///
    /// Tables are read when they are needed, which may fail then.
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

    /// Reads the tables from the index, if that has not been done.
    pub(super) fn load_tables(&mut self) -> Result<(), ImportError> {
        self.load()
    }

    fn load(&mut self) -> Result<(), ImportError> {
        if let Some(index) = &self.index {
            self.run = Run::single(index.trace(self.again.clone())?);
            self.index = None;
        }
        Ok(())
    }

    /// Whether an index says all that is known: single slices that were given up can not be had from one.
    pub fn can_be_kept(&self) -> bool {
        let is_whole = !self.partial && self.index.is_none();
        matches!(&self.run.traces[..], [trace] if is_whole && trace.folded.is_none())
    }

    /// What an index of this file is written from: a section of its tables, by number. `None` behind the last one.
    pub fn index_section(&self, number: usize, out: &mut Vec<u8>) -> Option<String> {
        index::section(self.run.traces.first()?, number, out)
    }

    /// The last two sections of an index of this file. `None` if it can not be kept.
    pub fn index_end(&self, identity: Identity, now_ms: u64) -> Option<[(String, Vec<u8>); 2]> {
        let trace = self.run.traces.first().filter(|_| self.can_be_kept())?;
        let exporters: Vec<&str> = self.exporters().iter().map(|exporter| exporter.id).collect();
        let head = Head::of(trace, self.query.clone(), &exporters, Some(identity), now_ms);
        Some([index::reports_section(&self.reports), index::head_section(head)])
    }

    /// The file can be read again by `content`, so that arguments need not be held in memory. To be said before the
    /// first byte is fed.
    pub fn can_read_again(&mut self, content: Rc<dyn Content>) {
        if let Some(import) = &mut self.import {
            import.can_read_again(content);
        }
    }

    /// Takes the next bytes of the file.
    pub fn feed(&mut self, bytes: &[u8]) {
        if let Some(import) = &mut self.import {
            import.feed(bytes);
        }
    }

    /// What the file is read by, until it is finished.
    pub fn import(&mut self) -> Option<&mut Import> {
        self.import.as_mut()
    }

    /// Whether reading on makes no difference any more; [`Session::finish`] says why.
    pub fn has_given_up(&self) -> bool {
        self.has_no_room() || self.import.as_ref().is_none_or(Import::has_given_up)
    }

    /// Whether it is one of several files, and has more events than there is room for beside the others.
    fn has_no_room(&self) -> bool {
        self.is_part && self.import.as_ref().is_some_and(Import::is_folding)
    }

    /// Why a file that was read is of no use: nothing in it could be used, though there is something. An empty timeline
    /// (`[]`) is a trace all the same.
    pub fn why_useless(&self) -> Option<ImportError> {
        let [trace] = &self.run.traces[..] else { return None };
        // An index was made of something.
        let ledger = Some(&trace.ledger).filter(|_| self.index_view.is_none())?;
        let is_useless = ledger.kept.records + ledger.repaired.records == 0
            && (ledger.skipped.records > 0 || ledger.content_bytes == 0);
        is_useless.then(|| {
            let noun = if ledger.record_noun.is_empty() { "records" } else { &ledger.record_noun };
            ImportError { code: "nothing-usable", what: format!("no {noun} in it"), hint: String::new() }
        })
    }

    /// How far reading has come.
    pub fn progress(&self) -> ImportProgress {
        self.import.as_ref().map(Import::progress).unwrap_or_default()
    }

    /// The format, once it is known and while reading goes on.
    pub fn format(&self) -> Option<&'static FormatInfo> {
        self.import.as_ref().and_then(Import::format)
    }

    /// Makes reports of what has been read so far; false if there is nothing yet.
    pub fn make_partial(&mut self) -> bool {
        if self.import.as_ref().is_some_and(Import::is_folding) {
            return false;
        }
        // The one before is let go first.
        self.run = Run::default();
        match self.import.as_ref().and_then(Import::snapshot) {
            Some(trace) => {
                self.set_trace(trace, true);
                true
            }
            None => false,
        }
    }

    /// The file is over: makes the reports.
    pub fn finish(&mut self) -> Result<(), ImportError> {
        self.end(Import::finish)
    }

    /// The file can not or shall not be read further, for the reason `why`: makes reports of what was read.
    pub fn stop(&mut self, why: &str) -> Result<(), ImportError> {
        self.end(|import| import.stop(why))
    }

    fn end(&mut self, end: impl FnOnce(Import) -> Result<Trace, ImportError>) -> Result<(), ImportError> {
        if self.has_no_room() {
            self.import = None;
            return Err(ImportError {
                code: "no-room",
                what: "it has more events than there is memory for beside the files before it".to_string(),
                hint: "read fewer files together, or use tracedrop report --together, which may use all memory of the computer"
                    .to_string(),
            });
        }
        if let Some(import) = self.import.take() {
            // The partial trace is let go before the whole one is put together.
            self.run = Run::default();
            self.reports = Vec::new();
            let trace = end(import)?;
            self.set_trace(trace, false);
        }
        Ok(())
    }

    fn set_trace(&mut self, trace: Trace, partial: bool) {
        self.run = Run::single(trace);
        self.partial = partial;
        self.make_reports();
    }

    fn make_reports(&mut self) {
        self.order = None;
        if !self.is_part {
            self.reports = analysis::reports(&self.run, &self.query);
        }
    }

    /// Computes the reports again for another query. An error, and nothing happens, if the tables can not be read from
    /// the index.
    pub fn set_query(&mut self, query: Query) -> Result<(), ImportError> {
        if query != self.query {
            self.load()?;
            self.query = query;
            self.make_reports();
        }
        Ok(())
    }

    pub fn query(&self) -> &Query {
        &self.query
    }

    /// The traces behind the reports.
    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// Lets go of reports that nobody asked for, by their ids.
    pub fn keep_reports(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.reports.retain(|report| is_wanted(&report.id));
        self.order = None;
    }

    /// A table with its rows in the order of `query`. `None` if there is no such table.
    pub fn table(&mut self, id: TableId, query: &TableQuery) -> Option<TableRef<'_>> {
        let report = self.reports.get(id.report as usize)?;
        let Block::Table(table) = report.blocks.get(id.block as usize)? else { return None };
        let known = self.order.as_ref().is_some_and(|(of, with, _)| *of == id && with == query);
        if !known {
            self.order = Some((id, query.clone(), view::row_order(table, query)));
        }
        let (_, _, order) = self.order.as_ref()?;
        Some(TableRef { table, order })
    }

    /// A window of rows; empty if there is no such table.
    pub fn rows(&mut self, id: TableId, query: &TableQuery, offset: u64, limit: u64) -> TableRows {
        match self.table(id, query) {
            Some(TableRef { table, order }) => view::window(table, order, offset, limit),
            None => TableRows::default(),
        }
    }

    /// All rows that match, as text, and their number.
    pub fn copy(&mut self, id: TableId, query: &TableQuery, format: CopyFormat) -> (String, u64) {
        let Some(TableRef { table, order }) = self.table(id, query) else { return (String::new(), 0) };
        let text = match format {
            CopyFormat::Markdown => export::markdown::table_markdown(table, order),
            CopyFormat::Csv => export::csv::table_csv(table, order),
            CopyFormat::Tsv => export::csv::table_tsv(table, order),
        };
        (text, order.len() as u64)
    }

    /// The table of that id, in the first report that has one, as CSV in its own order.
    pub fn table_csv(&self, id: &str) -> Option<String> {
        let table = self.reports.iter().flat_map(Report::tables).find(|table| table.id == id)?;
        let order: Vec<u32> = (0..table.n_rows() as u32).collect();
        Some(export::csv::table_csv(table, &order))
    }

    /// Writes the reports or the trace in an exporter's format, chunk by chunk. An error of `out` is passed on;
    /// [`io::ErrorKind::InvalidData`] if the file or its index can not be read again, or is another one by now.
    pub fn export(
        &mut self,
        exporter: &ExporterInfo,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.load().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.what))?;
        if !(exporter.applies)(&self.run) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, self.why_not_exported()));
        }
        let document = analysis::document(&self.run, &self.reports, &super::format_title);
        let input = Input { run: &self.run, document: &document, query: &self.query, options };
        export::render(exporter, &input, out)
    }

    /// Whether an export that should have the arguments of events is without them, as they are nowhere to be had.
    pub fn exports_without_args(&self, exporter: &ExporterInfo) -> bool {
        let are_missing = match &self.index {
            Some(index) => self.again.is_none() && !index.head.has_args,
            None => self.run.traces.iter().any(|trace| trace.args.are_missing()),
        };
        are_missing && exporter.id == export::chrome_trace::INFO.id
    }

    /// Why an exporter has nothing to write.
    pub fn why_not_exported(&self) -> &'static str {
        if self.run.traces.iter().any(|trace| trace.folded.is_some()) {
            "the trace has more events than are held, so single ones are not there to be written"
        } else if self.run.traces.len() > 1 {
            "this format holds one trace, and these are several; export them one by one"
        } else {
            "there is nothing to write in this format"
        }
    }

    /// Proposed name of the file that an export goes into: the (first) trace's own, without its endings, and the exporter's.
    pub fn export_file_name(&self, exporter: &ExporterInfo) -> String {
        let name = self.run.traces.first().map_or("", |trace| trace.source.file_name.as_str());
        let endings = [".gz", ".zst", ".jsonl", ".ndjson", ".json", ".trace"];
        let stem = endings.iter().fold(name, |name, ending| name.strip_suffix(ending).unwrap_or(name));
        let stem = if stem.is_empty() { "trace" } else { stem };
        match self.run.traces.len() {
            0 | 1 => format!("{stem}.{}", exporter.extension),
            n => format!("{stem}-and-{}-more.{}", n - 1, exporter.extension),
        }
    }

    /// Exporters that have something to write.
    pub fn exporters(&self) -> Vec<&'static ExporterInfo> {
        let has_something = |exporter: &&ExporterInfo| match &self.index {
            Some(index) => index.head.exporters.iter().any(|id| id == exporter.id),
            None => (exporter.applies)(&self.run),
        };
        EXPORTERS.iter().copied().filter(has_something).collect()
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

    /// What the page shows. `None` before the first partial report.
    pub fn document(&self) -> Option<DocumentView> {
        let traces = &self.run.traces;
        let files: Vec<FileView> = traces.iter().map(|trace| self.file_view(trace)).collect();
        let file = files.iter().cloned().reduce(both_files)?;
        let accounts = traces.iter().map(|trace| ledger_view(&trace.ledger));
        Some(DocumentView {
            file,
            ledger: ledgers_view(traces.iter().map(|trace| &trace.ledger)),
            files: match traces.len() {
                1 => Vec::new(),
                _ => files
                    .into_iter()
                    .zip(accounts)
                    .map(|(file, ledger)| FileAccount { file, ledger })
                    .collect(),
            },
            left_out: self.left_out.clone(),
            reports: self.reports.iter().map(report_view).collect(),
            query: self.query.clone(),
            partial: self.partial,
            exporters: self
                .exporters()
                .into_iter()
                .filter(|exporter| exporter.in_menu)
                .map(super::exporter_view)
                .collect(),
        })
    }
}

/// What two files have in common, and their sizes added up.
fn both_files(mut a: FileView, b: FileView) -> FileView {
    a.name = format!("{}, {}", a.name, b.name);
    a.bytes = a.bytes.saturating_add(b.bytes);
    if a.format_title.split(", ").all(|title| title != b.format_title) {
        a.format_title = format!("{}, {}", a.format_title, b.format_title);
    }
    a.producer = a.producer.filter(|producer| Some(producer) == b.producer.as_ref());
    if a.compression != b.compression {
        a.compression = Vec::new();
    }
    a.rank = None;
    a
}

/// The account of all files; of several, added up.
fn ledgers_view<'a>(ledgers: impl Iterator<Item = &'a Ledger>) -> LedgerView {
    let add = |all: TallyView, one: TallyView| TallyView {
        records: all.records.saturating_add(one.records),
        bytes: all.bytes.saturating_add(one.bytes),
    };
    let views = ledgers.map(ledger_view);
    views
        .reduce(|mut all, one| {
            all.file_bytes_read = all.file_bytes_read.saturating_add(one.file_bytes_read);
            all.content_bytes = all.content_bytes.saturating_add(one.content_bytes);
            all.framing_bytes = all.framing_bytes.saturating_add(one.framing_bytes);
            all.kept = add(all.kept, one.kept);
            all.repaired = add(all.repaired, one.repaired);
            all.skipped = add(all.skipped, one.skipped);
            all.issues.extend(one.issues);
            all
        })
        .unwrap_or_else(|| ledger_view(&Ledger::default()))
}

fn ledger_view(ledger: &Ledger) -> LedgerView {
    let tally = |tally: Tally| TallyView { records: tally.records, bytes: tally.bytes };
    LedgerView {
        file_bytes_read: ledger.file_bytes_read,
        content_bytes: ledger.content_bytes,
        record_noun: ledger.record_noun.to_string(),
        kept: tally(ledger.kept),
        repaired: tally(ledger.repaired),
        skipped: tally(ledger.skipped),
        framing_bytes: ledger.framing_bytes(),
        issues: ledger
            .issues
            .iter()
            .map(|issue| IssueView {
                code: issue.kind.code.to_string(),
                severity: match issue.kind.severity {
                    Severity::Note => SeverityView::Note,
                    Severity::Repaired => SeverityView::Repaired,
                    Severity::Skipped => SeverityView::Skipped,
                },
                what: issue.kind.what.to_string(),
                hint: issue.kind.hint.to_string(),
                count: issue.count,
                first_byte: issue.first.byte,
                first_line: issue.first.line,
                example: issue.example.clone(),
            })
            .collect(),
    }
}

fn report_view(report: &Report) -> ReportView {
    let blocks = report.blocks.iter().map(|block| match block {
        Block::Facts(facts) => BlockView::Facts(facts.clone()),
        Block::Note(note) => BlockView::Note(note.clone()),
        Block::Findings(findings) => BlockView::Findings(findings.clone()),
        Block::Table(table) => BlockView::Table(table_view(table)),
        Block::Chart(chart) => BlockView::Chart(chart.clone()),
    });
    ReportView {
        id: report.id.to_string(),
        title: report.title.clone(),
        summary: report.summary.clone(),
        blocks: blocks.collect(),
    }
}

fn table_view(table: &Table) -> TableView {
    let n_first = (table.n_rows() as u64).min(FIRST_ROWS) as u32;
    let first = view::window(table, &(0..n_first).collect::<Vec<u32>>(), 0, FIRST_ROWS);
    TableView {
        id: table.id.to_string(),
        title: table.title.clone(),
        caption: table.caption.clone(),
        empty: table.empty.clone(),
        columns: table
            .columns
            .iter()
            .map(|column| ColumnView {
                id: column.id.to_string(),
                label: column.label.clone(),
                hint: column.hint.clone(),
                unit: column.unit,
                numeric: column.cells.is_numeric(),
                key: column.key,
                bar: column.bar,
            })
            .collect(),
        sort: table.sort,
        n_rows: table.n_rows() as u64,
        n_left_out: table.n_left_out,
        first: TableRows { n_matching: table.n_rows() as u64, ..first },
    }
}

//! Views of documents for the page: without cells of tables, which are requested when shown.

use super::protocol::{
    BlockView, ColumnView, ExporterView, FileAccount, FileView, IssueView, LedgerView, ReportView,
    SeverityView, TableView, TallyView,
};
use crate::analysis;
use crate::export::{EXPORTERS, ExporterInfo, chrome_trace};
use crate::report::view::{self, TableRows};
use crate::report::{Block, Content, Report, Table, amounts};
use crate::trace::ledger::{Ledger, Severity, Tally};

/// Rows sent with a document.
const FIRST_ROWS: u64 = 60;

/// Files combined: common properties, and the sum of their parsing details. `None` for no file.
pub(super) fn together(files: &[FileAccount]) -> Option<FileAccount> {
    files.iter().cloned().reduce(|a, b| FileAccount {
        file: both_files(a.file, b.file),
        ledger: both_ledgers(a.ledger, b.ledger),
    })
}

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

fn both_ledgers(mut a: LedgerView, b: LedgerView) -> LedgerView {
    let add = |all: TallyView, one: TallyView| TallyView {
        records: all.records.saturating_add(one.records),
        bytes: all.bytes.saturating_add(one.bytes),
    };
    a.file_bytes_read = a.file_bytes_read.saturating_add(b.file_bytes_read);
    a.content_bytes = a.content_bytes.saturating_add(b.content_bytes);
    a.framing_bytes = a.framing_bytes.saturating_add(b.framing_bytes);
    a.unused_bytes = a.unused_bytes.saturating_add(b.unused_bytes);
    a.kept = add(a.kept, b.kept);
    a.repaired = add(a.repaired, b.repaired);
    a.skipped = add(a.skipped, b.skipped);
    a.issues.extend(b.issues);
    a
}

/// Menu entries of `exporters`.
pub(super) fn exporter_views(exporters: &[&ExporterInfo]) -> Vec<ExporterView> {
    let has_times = exporters.iter().any(|exporter| exporter.id == chrome_trace::PACKED_INFO.id);
    let view = |exporter: &&ExporterInfo| ExporterView {
        opens_in_perfetto: exporter.id == chrome_trace::INFO.id && has_times,
        ..super::exporter_view(exporter)
    };
    exporters.iter().filter(|exporter| exporter.in_menu).map(view).collect()
}

/// Exporters missing from `exporters`, each with what it needs.
pub(super) fn not_exported(exporters: &[&ExporterInfo]) -> Vec<(String, String)> {
    let is_missing = |it: &&ExporterInfo| {
        it.in_menu && !it.needs.is_empty() && !exporters.iter().any(|exporter| exporter.id == it.id)
    };
    let missing = EXPORTERS.iter().copied().filter(is_missing);
    missing.map(|it| (it.title.to_string(), it.needs.to_string())).collect()
}

/// File name without extension for an export from files of these names: that of the first.
pub(super) fn stem_of<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let endings = [".gz", ".zst", ".lz4", ".jsonl", ".ndjson", ".json", ".trace"];
    let first = names.next().unwrap_or_default();
    let stem = endings.iter().fold(first, |name, ending| name.strip_suffix(ending).unwrap_or(name));
    let stem = if stem.is_empty() { "trace" } else { stem };
    match names.count() {
        0 => stem.to_string(),
        n => format!("{stem}-and-{n}-more"),
    }
}

pub(super) fn ledger_view(ledger: &Ledger) -> LedgerView {
    let tally = |tally: Tally| TallyView { records: tally.records, bytes: tally.bytes };
    LedgerView {
        file_bytes_read: ledger.file_bytes_read,
        content_bytes: ledger.content_bytes,
        record_noun: ledger.record_noun.to_string(),
        kept: tally(ledger.kept),
        repaired: tally(ledger.repaired),
        skipped: tally(ledger.skipped),
        framing_bytes: ledger.framing_bytes,
        unused_bytes: ledger.unused_bytes,
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
                first_byte: issue.first.known_byte(),
                first_line: issue.first.line,
                example: issue.example.clone(),
            })
            .collect(),
    }
}

pub(super) fn report_view(report: &Report) -> ReportView {
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
        group: analysis::group_of(&report.id),
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
                is_symbol: column.content == Content::Symbol,
                bar: column.bar,
                total: amounts::total(table, column),
            })
            .collect(),
        sort: table.sort,
        n_rows: table.n_rows() as u64,
        n_left_out: table.n_left_out,
        first: TableRows { n_matching: table.n_rows() as u64, ..first },
    }
}

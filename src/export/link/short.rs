//! A link short enough for mail and chat: omits content step by step until the report fits.
//!
//! The least important content goes first: explanations, then derived columns, the ends of long names, and tables, the
//! last ones first. The layout stays the same, and a note in each report lists what is omitted.

use super::content;
use super::{LinkOptions, Refusal, TableSpot, encode};
use crate::base::sort;
use crate::base::text;
use crate::base::units::counted;
use crate::export::{Input, Options};
use crate::report::view::{self, TableQuery};
use crate::report::{Block, Column, Document, Findings, Note, NoteLevel, Report, Sort, Table, Value};

/// Length limit of short fragments, so that the whole URL stays below about 2000 characters.
pub const MAX_SHORT_FRAGMENT_BYTES: usize = 1900;

/// Limit on columns that are neither keys nor drawn as bars.
const MAX_FURTHER_COLUMNS: usize = 4;
/// Length in characters to which texts are cut.
const LETTERS: [usize; 2] = [96, 64];
const FEW_LETTERS: usize = 48;
const FEW_FINDINGS: usize = 3;

/// How much of a report to include.
#[derive(Clone, Copy)]
struct Extent {
    has_captions: bool,
    /// Only the most important columns, with texts cut to this many characters.
    letters: Option<usize>,
    n_tables: usize,
    has_facts: bool,
    has_evidence: bool,
    n_findings: usize,
}

impl Extent {
    const WHOLE: Extent = Extent {
        has_captions: true,
        letters: None,
        n_tables: usize::MAX,
        has_facts: true,
        has_evidence: true,
        n_findings: usize::MAX,
    };

    /// Extents from everything to the minimum, for a report with this many tables. Tables that the user sorted or filtered are kept
    /// the longest.
    fn all(n_tables: usize, is_table_wanted: bool) -> Vec<Extent> {
        let cut = |n_tables: usize, letters: usize| Extent {
            has_captions: false,
            letters: Some(letters),
            n_tables,
            ..Extent::WHOLE
        };
        let mut all = vec![Extent::WHOLE, Extent { has_captions: false, ..Extent::WHOLE }];
        for n_tables in (1..=n_tables).rev() {
            all.extend(LETTERS.map(|letters| cut(n_tables, letters)));
        }
        all.push(Extent { has_facts: false, ..cut(1, LETTERS[1]) });
        if !is_table_wanted {
            all.push(cut(0, LETTERS[1]));
        }
        let least = Extent { has_facts: false, ..cut(usize::from(is_table_wanted), FEW_LETTERS) };
        let bare = Extent { has_evidence: false, ..least };
        all.extend([least, bare, Extent { n_findings: FEW_FINDINGS, ..bare }]);
        all
    }
}

/// The fragment with the most content that is short enough; the shortest one if none is.
pub(super) fn encode_short(input: &Input<'_>) -> Result<String, Refusal> {
    let options = &input.options.link;
    let mut made = Err(Refusal::NoReport("no reports".into()));
    let shown =
        |report: &&Report| options.all_reports || Some(report.id.as_ref()) == options.report.as_deref();
    let reports = input.document.reports;
    let report = reports.iter().find(shown).or(reports.first());
    let n_tables = report.map_or(0, |report| report.tables().count());
    let has_findings = report.is_some_and(|report| findings(report).any(|it| !it.findings.is_empty()));
    let is_table_wanted =
        !has_findings || report.is_some_and(|it| options.tables.iter().any(|spot| spot.report == it.id));
    for extent in Extent::all(n_tables, is_table_wanted) {
        made = encode(&write(input, extent));
        if made.as_ref().is_ok_and(|fragment| fragment.len() <= MAX_SHORT_FRAGMENT_BYTES) {
            break;
        }
    }
    made
}

/// Whether a report is named after a table, as `gpu-kernels` after `kernels`.
fn is_named_after(report: &Report, table: &Table) -> bool {
    report.title == table.title || report.id.rsplit('-').next() == Some(table.id.as_ref())
}

fn findings(report: &Report) -> impl Iterator<Item = &Findings> {
    report.blocks.iter().filter_map(|block| match block {
        Block::Findings(findings) => Some(findings),
        _ => None,
    })
}

/// The content at the given extent.
fn write(input: &Input<'_>, extent: Extent) -> String {
    if extent.letters.is_none() && extent.has_captions {
        return content::write(input);
    }
    let options = &input.options.link;
    let mut tables = Vec::new();
    let reports: Vec<Report> = input
        .document
        .reports
        .iter()
        .map(|report| cut_report(report, options, extent, &mut tables))
        .collect();
    // Its rows are already selected and sorted.
    let link = LinkOptions { tables, whole_tables: true, ..options.clone() };
    let options = Options { link, ..input.options.clone() };
    let document = Document {
        title: input.document.title.clone(),
        source: input.document.source.clone(),
        ledger: input.document.ledger.clone(),
        reports: &reports,
    };
    content::write(&Input { document: &document, options: &options, ..*input })
}

/// The reduced report; the views of its tables are added to `spots`.
fn cut_report(report: &Report, options: &LinkOptions, extent: Extent, spots: &mut Vec<TableSpot>) -> Report {
    let spot_of =
        |table: &Table| options.tables.iter().find(|spot| spot.report == report.id && spot.table == table.id);
    // Priority: tables that the user sorted or filtered, then the one the report is named after; empty tables last.
    let mut by_worth: Vec<&Table> = report.tables().collect();
    sort::by_key(&mut by_worth, |table| {
        (spot_of(table).is_none(), table.n_rows() == 0, !is_named_after(report, table))
    });
    let (kept, left) = by_worth.split_at(by_worth.len().min(extent.n_tables));
    let mut cut = Report { blocks: Vec::new(), ..report.clone() };
    let (mut n_columns_left, mut n_texts_cut, mut n_findings_left) = (0, 0, 0);
    for block in report.written_blocks() {
        match block {
            Block::Table(table) if kept.iter().any(|it| it.id == table.id) => {
                let spot = spot_of(table);
                let short = cut_table(table, spot, options, extent, &mut n_texts_cut);
                n_columns_left += table.columns.len() - short.columns.len();
                if let Some(spot) = spot {
                    // Already sorted if the order was not the default.
                    let sort = spot.query.sort.and(short.sort);
                    let query = TableQuery { sort, ..spot.query.clone() };
                    spots.push(TableSpot { query, chosen: None, ..spot.clone() });
                }
                cut.table(short);
            }
            Block::Table(_) => {}
            Block::Findings(findings) => {
                let short = cut_findings(findings, options, extent);
                n_findings_left += findings.findings.len() - short.findings.len();
                cut.findings(short);
            }
            Block::Facts(_) if !extent.has_facts => {}
            other => cut.blocks.push(other.clone()),
        }
    }
    let left_behind: Vec<String> = [
        Some("explanations".to_string()).filter(|_| !extent.has_captions),
        (n_findings_left > 0).then(|| counted(n_findings_left as u64, "finding", "findings")),
        (n_columns_left > 0).then(|| counted(n_columns_left as u64, "column", "columns")),
        (!left.is_empty()).then(|| counted(left.len() as u64, "table", "tables")),
        (n_texts_cut > 0).then(|| "the ends of long names".to_string()),
        Some("key figures".to_string()).filter(|_| !extent.has_facts),
    ]
    .into_iter()
    .flatten()
    .collect();
    let text = format!("Shortened for a link. Omitted: {}.", left_behind.join(", "));
    cut.blocks.insert(0, Block::Note(Note { level: NoteLevel::Info, text }));
    cut
}

/// The table with the included rows, in order, and the most important columns.
fn cut_table(
    table: &Table,
    spot: Option<&TableSpot>,
    options: &LinkOptions,
    extent: Extent,
    n_texts_cut: &mut usize,
) -> Table {
    let query = spot.map(|spot| spot.query.clone()).unwrap_or_default();
    let chosen = spot.and_then(|spot| spot.chosen.clone());
    let order = chosen.unwrap_or_else(|| view::row_order_or_all(table, &query));
    let rows = &order[..order.len().min(options.rows as usize)];
    let sort = query.sort.or(table.sort);
    let is_in_order = |at: usize| sort.is_some_and(|sort| sort.column as usize == at);
    let mut n_further = 0;
    let mut columns: Vec<(usize, Column)> = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let values = || rows.iter().map(|row| column.cells.get(*row as usize));
        if extent.letters.is_some() && !column.key && !column.bar && !is_in_order(at) {
            n_further += 1;
            if n_further > MAX_FURTHER_COLUMNS || values().all(|value| value == Value::Missing) {
                continue;
            }
        }
        let mut cells = content::like(&column.cells);
        for value in values() {
            content::push_cell(&mut cells, cut_value(value, extent, n_texts_cut));
        }
        columns.push((at, Column { cells, ..column.clone() }));
    }
    let sort = sort.and_then(|sort| {
        let column = columns.iter().position(|(at, _)| *at == sort.column as usize)?;
        Some(Sort { column: column as u32, ..sort })
    });
    Table {
        id: table.id.clone(),
        title: table.title.clone(),
        of: table.of.clone(),
        caption: if extent.has_captions { table.caption.clone() } else { String::new() },
        empty: table.empty.clone(),
        columns: columns.into_iter().map(|(_, column)| column).collect(),
        sort,
        n_left_out: (table.n_rows() - rows.len()) as u64 + table.n_left_out,
    }
}

fn cut_value(value: Value, extent: Extent, n_texts_cut: &mut usize) -> Value {
    match (value, extent.letters) {
        (Value::Text(whole), Some(letters)) => {
            let cut = text::shortened(&whole, letters);
            *n_texts_cut += usize::from(cut != whole);
            Value::Text(cut)
        }
        (value, _) => value,
    }
}

fn cut_findings(findings: &Findings, options: &LinkOptions, extent: Extent) -> Findings {
    let mut cut = findings.clone();
    if !extent.has_captions {
        cut.caption = String::new();
    }
    if extent.letters.is_some() {
        cut.findings.truncate(extent.n_findings.min(options.rows as usize));
    }
    if !extent.has_evidence {
        cut.findings.iter_mut().for_each(|finding| finding.evidence.clear());
    }
    cut
}

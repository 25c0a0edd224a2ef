//! Content of a link: conversion to and from JSON.
//!
//! ```text
//! { "by": "tracedrop 0.1.0", "title": …, "files": [{ name, bytes, sha256?, side? }], "parsed": …?, "top": 10, "own_tables": true?,
//!   "given_title": …?, "notes": [NOTE]?, "show": "gpu-kernels", "tables": [{ report, table, sort: [column, descending]?, filter }],
//!   "reports": [{ id, title, summary, blocks: [ { facts } | { table } | { findings } | { note } ] }] }
//! ```
//! NOTE is as in `export::notes`. Readers ignore unknown members. Values have the kind of their column; missing values are `null`.

use super::json::JsonWriter;
use super::{LinkOptions, Refusal};
use crate::analysis::{Query, ledger};
use crate::base::hash::HashSet;
use crate::base::json::Number;
use crate::base::json::typed::{self, First, Lenient, Raw};
use crate::base::sort;
use crate::base::units::Unit;
use crate::export::{Input, notes};
use crate::report::view::{self, TableQuery};
use crate::report::{
    Block, Cells, Column, Content, Fact, Facts, Finding, Findings, Note, NoteLevel, Notes, Report, Sort,
    Stakes, Table, Value,
};
use crate::trace::Trace;
use serde::{Deserialize, Serialize};

/// Limits beyond which content is rejected: rows of a table, items of any other list, columns of a table.
const MAX_ROWS: usize = 20_000;
const MAX_ITEMS: usize = 1_000;
/// Characters of [`LinkedReport::parsed`].
const MAX_PARSED: usize = 1_000;
const MAX_COLUMNS: usize = 200;

/// Side of a file in a comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum LinkedSide {
    A,
    B,
}

impl LinkedSide {
    /// Letter used in links.
    pub fn letter(self) -> &'static str {
        match self {
            LinkedSide::A => "a",
            LinkedSide::B => "b",
        }
    }

    fn of_letter(letter: &str) -> Option<LinkedSide> {
        [LinkedSide::A, LinkedSide::B].into_iter().find(|side| side.letter() == letter)
    }
}

/// A source file of a linked report.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LinkedFile {
    pub name: String,
    /// Size on disk; 0 if unknown.
    pub bytes: u64,
    /// Hexadecimal digits, if known.
    pub sha256: Option<String>,
    /// Set in comparisons, except by older versions.
    pub side: Option<LinkedSide>,
}

/// View of a table.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TableSpot {
    /// `id` of the report and of the table in it.
    pub report: String,
    pub table: String,
    pub query: TableQuery,
    /// Rows to include, if they were selected before redaction.
    #[serde(skip)]
    pub chosen: Option<Vec<u32>>,
}

/// A report from a link.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LinkedReport {
    /// Program that wrote it.
    pub by: String,
    pub title: String,
    /// In comparisons, files of A come first.
    pub files: Vec<LinkedFile>,
    /// How many records of the files were skipped or repaired, in words; empty if none was, or if unknown.
    pub parsed: String,
    /// Length of top lists.
    pub top: u32,
    /// Custom tables affected the numbers, and are not in the link.
    pub own_tables: bool,
    /// `id` of the selected report.
    pub show: String,
    pub tables: Vec<TableSpot>,
    /// User notes.
    pub notes: Notes,
    pub reports: Vec<Report>,
}

/// Letter of a value kind.
fn kind_of(cells: &Cells) -> &'static str {
    match cells {
        Cells::Text(_) => "t",
        Cells::Unsigned(_) => "u",
        Cells::Integer(_) => "i",
        Cells::Float(_) => "f",
        Cells::Bool(_) => "b",
    }
}

fn kind_of_value(value: &Value) -> &'static str {
    match value {
        Value::Missing | Value::Text(_) => "t",
        Value::Unsigned(_) => "u",
        Value::Integer(_) => "i",
        Value::Float(_) => "f",
        Value::Bool(_) => "b",
    }
}

/// The content selected by the options.
pub fn write(input: &Input<'_>) -> String {
    let options = &input.options.link;
    let reports = input.document.reports;
    let shown =
        options.report.as_deref().or(reports.first().map(|report| report.id.as_ref())).unwrap_or_default();
    let mut json = JsonWriter::default();
    json.object(|json| {
        json.member("by", concat!("tracedrop ", env!("CARGO_PKG_VERSION")));
        json.member("title", &input.document.title);
        // Notes on rows of omitted reports are omitted, too.
        let notes = input.notes();
        let notes = if options.all_reports { notes.clone() } else { notes.with_report(shown) };
        json.member("given_title", &notes.title);
        if let Some(list) = notes::list_json(&notes) {
            json.key("notes");
            json.json(&list);
        }
        json.key("files");
        json.list(files(input), |file, json| json.json(&typed::write(&FileContent::of(&file))));
        let parsed = ledger::skipped_or_repaired(input.run);
        json.member("parsed", parsed.as_deref().unwrap_or(&options.parsed));
        json.key("top");
        json.number(input.query.top);
        let Query { top, show_secrets, .. } = *input.query;
        let usual = Query { top, show_secrets, ..Query::default() };
        if options.own_tables || *input.query != usual {
            json.key("own_tables");
            json.number(true);
        }
        json.member("show", shown);
        write_spots(options, reports, json);
        json.key("reports");
        let goes_along = |report: &&Report| options.all_reports || report.id == shown;
        json.list(reports.iter().filter(goes_along), |report, json| write_report(report, options, json));
    });
    json.into_text()
}

/// The source files of the report, as far as known.
pub fn files(input: &Input<'_>) -> Vec<LinkedFile> {
    if !input.options.link.files.is_empty() {
        return input.options.link.files.clone();
    }
    let (traces, digests) = (&input.run.traces, &input.options.link.sha256);
    let file = |(at, trace): (usize, &Trace)| LinkedFile {
        name: trace.source.file_name.clone(),
        bytes: trace.ledger.file_bytes,
        sha256: digests.get(at).filter(|_| digests.len() == traces.len()).cloned().flatten(),
        side: None,
    };
    traces.iter().enumerate().map(file).collect()
}

/// Columns are referenced by id, as their positions can change between versions.
fn write_spots(options: &LinkOptions, reports: &[Report], json: &mut JsonWriter) {
    if options.tables.is_empty() {
        return;
    }
    json.key("tables");
    json.list(&options.tables, |spot, json| {
        json.object(|json| {
            json.member("report", &spot.report);
            json.member("table", &spot.table);
            let column = spot.query.sort.and_then(|sort| {
                let table = find(reports, &spot.report, &spot.table)?;
                Some((table.columns.get(sort.column as usize)?.id.as_ref(), sort.descending))
            });
            if let Some((column, descending)) = column {
                json.key("sort");
                json.list([()], |(), json| {
                    json.text(column);
                    json.number(descending);
                });
            }
            json.member("filter", &spot.query.filter);
        });
    });
}

fn find<'a>(reports: &'a [Report], report: &str, table: &str) -> Option<&'a Table> {
    let report = reports.iter().find(|known| known.id == report)?;
    report.tables().find(|known| known.id == table)
}

fn write_report(report: &Report, options: &LinkOptions, json: &mut JsonWriter) {
    json.object(|json| {
        json.member("id", &report.id);
        json.member("title", &report.title);
        json.member("summary", &report.summary);
        json.key("blocks");
        json.list(report.written_blocks(), |block, json| {
            json.object(|json| match block {
                Block::Facts(facts) => write_facts(facts, json),
                Block::Table(table) => write_table(table, &report.id, options, json),
                Block::Findings(findings) => write_findings(findings, json),
                Block::Note(note) => {
                    json.key("note");
                    json.object(|json| {
                        json.member("text", &note.text);
                        if note.level == NoteLevel::Warning {
                            json.key("warning");
                            json.number(true);
                        }
                    });
                }
                // Charts are left out, as tables have the same numbers.
                Block::Chart(_) => {}
            });
        });
    });
}

fn write_fact(fact: &Fact, json: &mut JsonWriter) {
    json.list([()], |(), json| {
        json.text(&fact.id);
        json.text(&fact.label);
        json.text(unit_name(fact.unit));
        json.text(kind_of_value(&fact.value));
        json.value(&fact.value);
    });
}

fn write_facts(facts: &Facts, json: &mut JsonWriter) {
    json.key("facts");
    json.object(|json| {
        json.member("title", &facts.title);
        json.key("list");
        json.list(&facts.facts, write_fact);
    });
}

fn write_findings(findings: &Findings, json: &mut JsonWriter) {
    json.key("findings");
    json.object(|json| {
        json.member("title", &findings.title);
        json.member("caption", &findings.caption);
        if findings.findings.is_empty() {
            json.member("empty", &findings.empty);
        }
        match findings.stakes {
            Stakes::Gain => {}
            Stakes::Difference => json.member("stakes", "difference"),
            Stakes::Spent => json.member("stakes", "spent"),
            Stakes::SelfTime => json.member("stakes", "self-time"),
            Stakes::Samples => json.member("stakes", "samples"),
        }
        json.key("list");
        json.list(&findings.findings, |finding, json| {
            json.object(|json| {
                json.member("id", &finding.id);
                json.member("text", &finding.text);
                if let Some(time) = finding.time {
                    json.key("ns");
                    json.number(time);
                }
                if let Some(share) = finding.share {
                    json.key("share");
                    json.value(&Value::Float(share));
                }
                if !finding.evidence.is_empty() {
                    json.key("evidence");
                    json.list(&finding.evidence, write_fact);
                }
            });
        });
    });
}

fn write_table(table: &Table, report: &str, options: &LinkOptions, json: &mut JsonWriter) {
    let is_here = |spot: &&TableSpot| spot.report == report && spot.table == table.id;
    let spot = options.tables.iter().find(is_here).filter(|_| !options.whole_tables);
    let query = spot.map(|spot| spot.query.clone()).unwrap_or_default();
    let chosen = spot.and_then(|spot| spot.chosen.clone());
    let order = chosen.unwrap_or_else(|| view::row_order_or_all(table, &query));
    let rows = &order[..order.len().min(options.rows as usize)];
    json.key("table");
    json.object(|json| {
        json.member("id", &table.id);
        json.member("title", &table.title);
        json.member("caption", &table.caption);
        if table.n_rows() == 0 {
            json.member("empty", &table.empty);
        }
        json.key("columns");
        json.list(&table.columns, |column, json| {
            json.list([()], |(), json| {
                json.text(&column.id);
                json.text(&column.label);
                json.text(unit_name(column.unit));
                json.text(kind_of(&column.cells));
                // Flags: key column, drawn as a bar.
                json.number(u8::from(column.key) + 2 * u8::from(column.bar));
            });
        });
        if let Some(sort) = query.sort.or(table.sort) {
            json.key("sort");
            json.list([()], |(), json| {
                json.number(sort.column);
                json.number(sort.descending);
            });
        }
        let n_left_out = (table.n_rows() - rows.len()) as u64 + table.n_left_out;
        if n_left_out > 0 {
            json.key("left_out");
            json.number(n_left_out);
        }
        json.key("rows");
        json.list(rows, |row, json| {
            json.list(&table.columns, |column, json| json.value(&column.cells.get(*row as usize)));
        });
    });
}

/// Names of units in a link; frozen, new ones are appended. Readers treat unknown names as no unit.
const UNITS: [(&str, Unit); 17] = [
    ("", Unit::None),
    ("count", Unit::Count),
    ("id", Unit::Id),
    ("bytes", Unit::Bytes),
    ("ns", Unit::Ns),
    ("at_ns", Unit::NsOffset),
    ("ms", Unit::Ms),
    ("s", Unit::Seconds),
    ("samples", Unit::Samples),
    ("ratio", Unit::Ratio),
    ("unix_s", Unit::UnixSeconds),
    ("plain", Unit::Plain),
    ("bytes/s", Unit::BytesPerSecond),
    ("flop", Unit::Flops),
    ("flop/s", Unit::FlopsPerSecond),
    ("clock_ns", Unit::NsClock),
    ("address", Unit::Address),
];

pub(in crate::export) fn unit_name(unit: Unit) -> &'static str {
    UNITS.iter().find(|(_, known)| *known == unit).map_or("plain", |(name, _)| name)
}

/// An unknown unit becomes no unit.
pub(in crate::export) fn unit_of(name: &str) -> Unit {
    UNITS.iter().find(|(known, _)| *known == name).map_or(Unit::Plain, |(_, unit)| *unit)
}

/// A report as it is in a link. Texts of another type count as missing.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct LinkContent<'a> {
    by: Lenient<String>,
    title: Lenient<String>,
    files: Option<Vec<FileContent>>,
    parsed: Lenient<String>,
    top: Lenient<Option<u64>>,
    own_tables: Lenient<bool>,
    #[serde(borrow)]
    given_title: Raw<'a>,
    #[serde(borrow)]
    notes: Raw<'a>,
    show: Lenient<String>,
    tables: Option<Vec<SpotContent>>,
    #[serde(borrow)]
    reports: Option<Vec<ReportContent<'a>>>,
}

/// A file, as in links and in the manifest of a Tracedrop file.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(in crate::export) struct FileContent {
    #[serde(skip_serializing_if = "Lenient::is_default")]
    name: Lenient<String>,
    bytes: Lenient<u64>,
    #[serde(skip_serializing_if = "Lenient::is_default")]
    sha256: Lenient<String>,
    #[serde(skip_serializing_if = "Lenient::is_default")]
    side: Lenient<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SpotContent {
    report: Lenient<String>,
    table: Lenient<String>,
    sort: Lenient<Option<(String, bool)>>,
    filter: Lenient<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ReportContent<'a> {
    id: Lenient<String>,
    title: Lenient<String>,
    summary: Lenient<String>,
    #[serde(borrow)]
    blocks: Option<Vec<BlockContent<'a>>>,
}

/// One of these; none in a block of a later version, which is skipped.
#[derive(Deserialize, Default)]
#[serde(default)]
struct BlockContent<'a> {
    #[serde(borrow)]
    facts: Option<FactsContent<'a>>,
    #[serde(borrow)]
    table: Option<TableContent<'a>>,
    #[serde(borrow)]
    findings: Option<FindingsContent<'a>>,
    note: Option<NoteContent>,
}

/// Id, label, unit, kind, value.
type FactContent<'a> = First<(String, String, String, String, Raw<'a>)>;

#[derive(Deserialize, Default)]
#[serde(default)]
struct FactsContent<'a> {
    title: Lenient<String>,
    #[serde(borrow)]
    list: Option<Vec<FactContent<'a>>>,
}

/// Id, label, unit, kind, marks.
type ColumnContent = First<(String, String, String, String, Option<u64>)>;

#[derive(Deserialize, Default)]
#[serde(default)]
struct TableContent<'a> {
    id: Lenient<String>,
    title: Lenient<String>,
    caption: Lenient<String>,
    empty: Lenient<String>,
    columns: Option<Vec<ColumnContent>>,
    sort: Lenient<Option<(u64, bool)>>,
    left_out: Lenient<u64>,
    /// Values as written: their kinds are those of the columns, and integers are exact.
    #[serde(borrow)]
    rows: Option<Vec<Vec<Raw<'a>>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct FindingsContent<'a> {
    title: Lenient<String>,
    caption: Lenient<String>,
    empty: Lenient<String>,
    stakes: Lenient<String>,
    #[serde(borrow)]
    list: Option<Vec<FindingContent<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct FindingContent<'a> {
    id: Lenient<String>,
    text: Lenient<String>,
    ns: Lenient<Option<i64>>,
    #[serde(borrow)]
    share: Raw<'a>,
    #[serde(borrow)]
    evidence: Option<Vec<FactContent<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct NoteContent {
    text: Lenient<String>,
    warning: Lenient<bool>,
}

impl FileContent {
    pub fn of(file: &LinkedFile) -> FileContent {
        FileContent {
            name: Lenient(file.name.clone()),
            bytes: Lenient(file.bytes),
            sha256: Lenient(file.sha256.clone().unwrap_or_default()),
            side: Lenient(file.side.map_or("", LinkedSide::letter).to_string()),
        }
    }

    fn file(self) -> LinkedFile {
        LinkedFile {
            name: self.name.0,
            bytes: self.bytes.0,
            sha256: Some(self.sha256.0).filter(|digest| !digest.is_empty()),
            side: LinkedSide::of_letter(&self.side.0),
        }
    }
}

/// A list within the length limit.
pub(in crate::export) fn short<T>(items: Option<Vec<T>>, max: usize) -> Result<Vec<T>, Refusal> {
    match items.unwrap_or_default() {
        items if items.len() > max => Err(Refusal::NoReport("a list is too long".into())),
        items => Ok(items),
    }
}

/// Checks that ids are unique, as views are keyed by them.
fn are_distinct<'a>(ids: impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
    let mut seen = HashSet::default();
    let mut ids = ids;
    if ids.all(|id| seen.insert(id)) { Ok(()) } else { Err(Refusal::NoReport("duplicate id".into())) }
}

/// Parses the content of a link.
pub fn read(content: &[u8]) -> Result<LinkedReport, Refusal> {
    report_of(typed::read(content)?)
}

/// The report of parsed content.
pub(in crate::export) fn report_of(content: LinkContent<'_>) -> Result<LinkedReport, Refusal> {
    if content.reports.is_none() {
        return Err(Refusal::NoReport("no reports".into()));
    }
    let reports = short(content.reports, MAX_ITEMS)?;
    let reports = reports.into_iter().map(read_report).collect::<Result<Vec<Report>, Refusal>>()?;
    are_distinct(reports.iter().map(|report| report.id.as_ref()))?;
    let mut files: Vec<LinkedFile> =
        short(content.files, MAX_ITEMS)?.into_iter().map(FileContent::file).collect();
    if files.iter().all(|file| file.side.is_some()) {
        sort::by_key(&mut files, |file| file.side);
    }
    let tables = short(content.tables, MAX_ITEMS)?;
    let tables = tables.into_iter().map(|spot| read_spot(spot, &reports)).collect();
    let top = content.top.0.unwrap_or_else(|| Query::default().top.into());
    Ok(LinkedReport {
        by: content.by.0,
        title: content.title.0,
        files,
        parsed: content.parsed.0.chars().take(MAX_PARSED).collect(),
        top: top.clamp(1, 1 << 20) as u32,
        own_tables: content.own_tables.0,
        show: content.show.0,
        tables,
        notes: notes::read_members(content.given_title, content.notes)
            .map_err(|why| Refusal::NoReport(why.into()))?,
        reports,
    })
}

/// Resolves the sort column in the table of the link; without that table, the default order stays.
fn read_spot(spot: SpotContent, reports: &[Report]) -> TableSpot {
    let (report, table) = (spot.report.0, spot.table.0);
    let sort = spot.sort.0.and_then(|(column, descending)| {
        let table = find(reports, &report, &table)?;
        let column = table.columns.iter().position(|known| known.id == column)?;
        Some(Sort { column: column as u32, descending })
    });
    TableSpot { report, table, query: TableQuery { sort, filter: spot.filter.0 }, chosen: None }
}

fn read_report(content: ReportContent<'_>) -> Result<Report, Refusal> {
    let mut report = Report {
        id: content.id.0.into(),
        title: content.title.0,
        summary: content.summary.0,
        blocks: Vec::new(),
    };
    for block in short(content.blocks, MAX_ITEMS)? {
        if let Some(facts) = block.facts {
            report.facts(Facts { title: facts.title.0, facts: read_facts(facts.list)? });
        } else if let Some(table) = block.table {
            // As it is: taken ids are refused below.
            report.blocks.push(Block::Table(read_table(table)?));
        } else if let Some(findings) = block.findings {
            report.findings(read_findings(findings)?);
        } else if let Some(note) = block.note {
            let level = if note.warning.0 { NoteLevel::Warning } else { NoteLevel::Info };
            report.blocks.push(Block::Note(Note { level, text: note.text.0 }));
        }
    }
    are_distinct(report.tables().map(|table| table.id.as_ref()))?;
    Ok(report)
}

fn read_value(kind: &str, raw: Raw<'_>) -> Result<Value, Refusal> {
    let wrong = || Refusal::NoReport("a value doesn't match the kind of its column".into());
    let literal = raw.literal();
    Ok(match (kind, literal) {
        (_, "null") => Value::Missing,
        ("t", _) => Value::Text(raw.text().ok_or_else(wrong)?),
        ("u", _) => Value::Unsigned(Number::as_u64(literal.as_bytes()).ok_or_else(wrong)?),
        ("i", _) => Value::Integer(Number::as_i64(literal.as_bytes()).ok_or_else(wrong)?),
        ("f", r#""NaN""#) => Value::Float(f64::NAN),
        ("f", r#""Infinity""#) => Value::Float(f64::INFINITY),
        ("f", r#""-Infinity""#) => Value::Float(f64::NEG_INFINITY),
        ("f", _) => Value::Float(Number::as_f64(literal.as_bytes()).ok_or_else(wrong)?),
        ("b", "true") => Value::Bool(true),
        ("b", "false") => Value::Bool(false),
        _ => return Err(wrong()),
    })
}

fn read_facts(facts: Option<Vec<FactContent<'_>>>) -> Result<Vec<Fact>, Refusal> {
    let read = |First((id, label, unit, kind, value)): FactContent<'_>| {
        let (value, unit, content) = (read_value(&kind, value)?, unit_of(&unit), content_of(&id));
        Ok(Fact { id, label, value, unit, hint: String::new(), mark: None, content })
    };
    short(facts, MAX_ITEMS)?.into_iter().map(read).collect()
}

fn read_findings(content: FindingsContent<'_>) -> Result<Findings, Refusal> {
    let read = |finding: FindingContent<'_>| {
        Ok(Finding {
            id: finding.id.0,
            text: finding.text.0,
            time: finding.ns.0,
            share: Number::as_f64(finding.share.literal().as_bytes()),
            evidence: read_facts(finding.evidence)?,
            // The rows may not be part of the link.
            rows: None,
        })
    };
    Ok(Findings {
        title: content.title.0,
        caption: content.caption.0,
        empty: content.empty.0,
        stakes: match &*content.stakes.0 {
            "difference" => Stakes::Difference,
            "spent" => Stakes::Spent,
            "self-time" => Stakes::SelfTime,
            "samples" => Stakes::Samples,
            _ => Stakes::Gain,
        },
        findings: short(content.list, MAX_ITEMS)?.into_iter().map(read).collect::<Result<_, Refusal>>()?,
    })
}

fn read_table(content: TableContent<'_>) -> Result<Table, Refusal> {
    let columns = short(content.columns, MAX_COLUMNS)?;
    let rows = short(content.rows, MAX_ROWS)?;
    if rows.iter().any(|row| row.len() != columns.len()) {
        return Err(Refusal::NoReport("a row doesn't match the number of columns".into()));
    }
    let mut made: Vec<Column> = Vec::new();
    for (at, First((id, label, unit, kind, marks))) in columns.into_iter().enumerate() {
        let unknown = || Refusal::NoReport("a column has an unknown kind".into());
        let mut cells = empty_cells(&kind).ok_or_else(unknown)?;
        for row in &rows {
            push_cell(&mut cells, read_value(&kind, row[at])?);
        }
        let marks = marks.unwrap_or(0);
        // Names in the table of metadata are no names of the traced program.
        let is_key_of_metadata = id == "name" && content.id.0.starts_with("metadata");
        let means = if is_key_of_metadata { Content::Plain } else { content_of(&id) };
        let mut column = Column::new("", &label, unit_of(&unit), means, cells);
        column.id = id.into();
        (column.key, column.bar) = (marks & 1 != 0, marks & 2 != 0);
        made.push(column);
    }
    let sort = content.sort.0.filter(|(column, _)| *column < made.len() as u64);
    let mut table = Table::new(content.id.0, content.title.0, made);
    table.caption = content.caption.0;
    table.empty = content.empty.0;
    table.sort = sort.map(|(column, descending)| Sort { column: column as u32, descending });
    // Bounded, so that sums with it can't overflow.
    table.n_left_out = content.left_out.0.min(1 << 53);
    Ok(table)
}

/// Content of columns and facts by id, as links don't store it; that of others is plain. `tests/link.rs` compares it with that
/// of the reports. An id with two meanings has the one that redacts more.
const CONTENTS: [(&str, Content); 33] = [
    ("name", Content::Symbol),
    ("function", Content::Symbol),
    ("frame", Content::Symbol),
    ("module", Content::Symbol),
    ("kernel", Content::Symbol),
    ("op", Content::Symbol),
    ("call", Content::Symbol),
    ("before", Content::Symbol),
    ("after", Content::Symbol),
    ("name_a", Content::Symbol),
    ("name_b", Content::Symbol),
    ("only_a", Content::Symbol),
    ("only_b", Content::Symbol),
    ("event", Content::Symbol),
    ("op_a", Content::Symbol),
    ("op_b", Content::Symbol),
    ("frame_a", Content::Symbol),
    ("frame_b", Content::Symbol),
    ("next", Content::Symbol),
    ("previous", Content::Symbol),
    ("callers", Content::Symbol),
    ("meanwhile", Content::Symbol),
    ("shapes", Content::Argument),
    ("types", Content::Argument),
    ("dtype", Content::Argument),
    ("group", Content::Argument),
    ("collective", Content::Argument),
    ("user_metadata", Content::Argument),
    ("args", Content::Record),
    ("example", Content::Record),
    ("value", Content::Value),
    ("file", Content::Path),
    ("path", Content::Path),
];

/// Content of a column or fact with this id.
fn content_of(id: &str) -> Content {
    CONTENTS.iter().find(|(known, _)| *known == id).map_or(Content::Plain, |(_, content)| *content)
}

fn empty_cells(kind: &str) -> Option<Cells> {
    Some(match kind {
        "t" => Cells::Text(Default::default()),
        "u" => Cells::Unsigned(Vec::new()),
        "i" => Cells::Integer(Vec::new()),
        "f" => Cells::Float(Vec::new()),
        "b" => Cells::Bool(Vec::new()),
        _ => return None,
    })
}

/// Empty cells of the same kind.
pub(super) fn like(cells: &Cells) -> Cells {
    empty_cells(kind_of(cells)).unwrap_or_else(|| Cells::Text(Default::default()))
}

/// Appends a value, which has the kind of the cells or is missing.
pub(super) fn push_cell(cells: &mut Cells, value: Value) {
    match (cells, value) {
        (Cells::Text(cells), Value::Text(text)) => cells.push(Some(&text)),
        (Cells::Text(cells), _) => cells.push(None),
        (Cells::Unsigned(cells), value) => {
            cells.push(if let Value::Unsigned(value) = value { Some(value) } else { None })
        }
        (Cells::Integer(cells), value) => {
            cells.push(if let Value::Integer(value) = value { Some(value) } else { None })
        }
        (Cells::Float(cells), value) => {
            cells.push(if let Value::Float(value) = value { Some(value) } else { None })
        }
        (Cells::Bool(cells), value) => {
            cells.push(if let Value::Bool(value) = value { Some(value) } else { None })
        }
    }
}

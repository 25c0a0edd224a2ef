//! Ids of numbers: `HANDLE/REPORT/TABLE/ROW/COLUMN`, `HANDLE/REPORT/fact/FACT`, `HANDLE/finding/KIND/VALUE`.
//!
//! They hang on content: the handle on the bytes of the file, the row on its key. So an id means the same number wherever it is
//! looked up.

use super::files::hash_of;
use super::text::listed;
use tracedrop::base::hash::HashMap;
use tracedrop::base::units::Unit;
use tracedrop::report::{Block, Cells, Column, Fact, Facts, Finding, Report, Stakes, Table, Value};

/// Part of an id that stands for the values of a report.
pub const FACT: &str = "fact";
/// Part of an id that stands for the findings.
pub const FINDING: &str = "finding";

/// A number and where it comes from.
pub struct Found<'a> {
    pub value: Value,
    pub unit: Unit,
    pub label: String,
    /// Definition; may be empty.
    pub hint: &'a str,
    pub of: Of<'a>,
}

/// What a number belongs to.
pub enum Of<'a> {
    Cell { report: &'a Report, table: &'a Table, row: usize },
    Fact(&'a Report, &'a Facts),
    Finding(&'a Finding),
}

/// Columns that name a row: the keys, else the texts.
fn names(table: &Table) -> Vec<&Column> {
    let keys: Vec<&Column> = table.columns.iter().filter(|column| column.key).collect();
    match keys.is_empty() {
        false => keys,
        true => table.columns.iter().filter(|column| matches!(column.cells, Cells::Text(_))).collect(),
    }
}

/// Numbers equal names from the second on: `total`, `total~2`.
#[derive(Default)]
struct Numbered(HashMap<String, usize>);

impl Numbered {
    fn next(&mut self, name: &str) -> String {
        let n = self.0.entry(name.to_string()).or_default();
        *n += 1;
        if *n == 1 { name.to_string() } else { format!("{name}~{n}") }
    }
}

/// Key of each row; equal ones have a number from the second on.
pub fn row_keys(table: &Table) -> Vec<String> {
    let names = names(table);
    let mut numbered = Numbered::default();
    let key = |row: usize| {
        let cells: Vec<String> = names.iter().map(|column| column.cells.get(row).plain()).collect();
        let text = if cells.is_empty() { row.to_string() } else { cells.join("\u{1f}") };
        hash_of(&text)
    };
    (0..table.n_rows()).map(|row| numbered.next(&key(row))).collect()
}

/// All findings with their names in ids: the kind, with a number from the second of a kind on.
pub fn findings(reports: &[Report]) -> Vec<(String, &Finding, &tracedrop::report::Findings)> {
    let mut numbered = Numbered::default();
    let blocks = reports.iter().flat_map(|report| &report.blocks).filter_map(|block| match block {
        Block::Findings(findings) => Some(findings),
        _ => None,
    });
    blocks
        .flat_map(|block| block.findings.iter().map(move |finding| (finding, block)))
        .map(|(finding, block)| (numbered.next(&finding.id), finding, block))
        .collect()
}

/// Lists of values of a report.
pub fn fact_blocks(report: &Report) -> impl Iterator<Item = &Facts> {
    report.blocks.iter().filter_map(|block| if let Block::Facts(facts) = block { Some(facts) } else { None })
}

/// Values of a report with their names in ids: those of further files or threads have a number, as findings do.
pub fn facts(report: &Report) -> impl Iterator<Item = (String, &Fact, &Facts)> {
    let mut numbered = Numbered::default();
    fact_blocks(report)
        .flat_map(|block| block.facts.iter().map(move |fact| (fact, block)))
        .map(move |(fact, block)| (numbered.next(&fact.id), fact, block))
}

/// The number of an id without its handle. The error says what part of it does not exist.
pub fn find<'a>(reports: &'a [Report], id: &[&str]) -> Result<Found<'a>, String> {
    match id {
        [FINDING, kind, value] => {
            let all = findings(reports);
            let there = || listed(all.iter().map(|(name, ..)| name));
            let found = all.iter().find(|(name, ..)| name == kind);
            let &(_, finding, block) =
                found.ok_or_else(|| format!("no finding '{kind}'; there are: {}", there()))?;
            let (value, unit, label, hint) = match *value {
                "time_ns" => {
                    let label = if block.stakes == Stakes::Difference { "B − A" } else { "time at stake" };
                    (finding.time.into(), Unit::Ns, label.to_string(), "")
                }
                "share" => {
                    let whole = match block.stakes {
                        Stakes::SelfTime => "self time",
                        Stakes::Samples => "samples",
                        _ => "the total time",
                    };
                    (finding.share.into(), Unit::Ratio, format!("share of {whole}"), "")
                }
                other => {
                    let fact = finding.evidence.iter().find(|fact| fact.id == other);
                    let fact = fact.ok_or_else(|| {
                        let ids = finding.evidence.iter().map(|fact| &*fact.id);
                        let there = listed(["time_ns", "share"].into_iter().chain(ids));
                        format!("no '{other}' in finding '{kind}'; there are: {there}")
                    })?;
                    (fact.value.clone(), fact.unit, fact.label.clone(), fact.hint.as_str())
                }
            };
            Ok(Found { value, unit, label, hint, of: Of::Finding(finding) })
        }
        [report, FACT, fact] => {
            let report = report_of(reports, report)?;
            let found = facts(report).find(|(name, ..)| name == fact);
            let (_, fact, block) = found.ok_or_else(|| {
                let there = listed(facts(report).map(|(name, ..)| name));
                format!("no value '{fact}' in report '{}'; there are: {there}", report.id)
            })?;
            let (value, label) = (fact.value.clone(), fact.label.clone());
            Ok(Found { value, unit: fact.unit, label, hint: &fact.hint, of: Of::Fact(report, block) })
        }
        [report, table, row, column] => {
            let report = report_of(reports, report)?;
            let table = table_of(report, table)?;
            let row = row_keys(table).iter().position(|key| key == row);
            let row = row.ok_or_else(|| {
                format!("no such row in table '{}'; ask table for its rows, which start with their ROW", table.id)
            })?;
            let column = column_of(table, column)?;
            let column = &table.columns[column];
            let value = column.cells.get(row);
            let (unit, label) = (column.unit, column.label.clone());
            Ok(Found { value, unit, label, hint: &column.hint, of: Of::Cell { report, table, row } })
        }
        _ => Err("an id is HANDLE/REPORT/TABLE/ROW/COLUMN, HANDLE/REPORT/fact/VALUE, HANDLE/finding/KIND/VALUE or \
                  HANDLE/window/RANGE/ROW/COLUMN"
            .to_string()),
    }
}

/// Whether traces can have this table: it is in the list for users.
pub fn is_documented(report: &str, table: &str) -> bool {
    let row = format!("| `\"{report}\".{table}` |");
    include_str!("../../../docs/tables.md").lines().any(|line| line.starts_with(&row))
}

pub fn report_of<'a>(reports: &'a [Report], id: &str) -> Result<&'a Report, String> {
    reports.iter().find(|report| report.id == id).ok_or_else(|| {
        format!("no report '{id}'; there are: {}", listed(reports.iter().map(|report| &*report.id)))
    })
}

pub fn table_of<'a>(report: &'a Report, id: &str) -> Result<&'a Table, String> {
    report.tables().find(|table| table.id == id).ok_or_else(|| {
        let there = listed(report.tables().map(|table| &*table.id));
        format!("no table '{id}' in report '{}'; there are: {there}", report.id)
    })
}

pub fn column_of(table: &Table, id: &str) -> Result<usize, String> {
    table.columns.iter().position(|column| column.id == id).ok_or_else(|| {
        let there = listed(table.columns.iter().map(|column| &*column.id));
        format!("no column '{id}' in table '{}'; there are: {there}", table.id)
    })
}

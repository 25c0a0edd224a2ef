//! Sides of comparisons, from files or assembled.

use crate::support::{data_dirs, import};
use std::path::{Path, PathBuf};
use tracedrop::analysis::{self, Query};
use tracedrop::compare::{CompareQuery, Comparison, Digest, compare};
use tracedrop::engine::format_title;
use tracedrop::report::{Block, Findings, Report, Table};
use tracedrop::trace::{Run, Trace};

/// Digest of the traces of one side.
pub fn digest(traces: Vec<Trace>) -> Digest {
    let (mut run, query) = (Run { traces }, Query::default());
    let reports = analysis::reports(&run, &query);
    Digest::of(&mut run, &reports, &query, &format_title, Default::default())
}

/// Digest of the content of one file.
pub fn digest_of(name: &str, content: &str) -> Digest {
    digest(vec![import(name, content.as_bytes(), None).unwrap()])
}

/// Compares with default options.
pub fn compared(a: &Digest, b: &Digest) -> Comparison {
    compare(a, b, &CompareQuery::default()).unwrap()
}

/// The table of a report.
pub fn table<'a>(comparison: &'a Comparison, report: &str, id: &str) -> &'a Table {
    let report = comparison.reports.iter().find(|known| known.id == report);
    report
        .and_then(|report| report.tables().find(|table| table.id == id))
        .unwrap_or_else(|| panic!("no {id}"))
}

/// Findings of a report.
pub fn lists(report: &Report) -> impl Iterator<Item = &Findings> {
    report.blocks.iter().filter_map(|block| match block {
        Block::Findings(findings) => Some(findings),
        _ => None,
    })
}

/// Findings of the GPU report, if any.
pub fn answer(comparison: &Comparison) -> Option<&Findings> {
    let report = comparison.reports.iter().find(|report| report.id == "compare-gpu")?;
    lists(report).next()
}

/// An integer cell of a table; 0 if missing.
pub fn number(table: &Table, row: usize, column: &str) -> i128 {
    let cell =
        table.column(column).unwrap_or_else(|| panic!("no {column} in {}", table.id)).cells.get(row).plain();
    if cell.is_empty() { 0 } else { cell.parse().unwrap() }
}

/// Sum of a column.
pub fn sum(table: &Table, column: &str) -> i128 {
    (0..table.n_rows()).map(|row| number(table, row, column)).sum()
}

/// A text cell of a table.
pub fn text(table: &Table, row: usize, column: &str) -> String {
    table.column(column).unwrap_or_else(|| panic!("no {column} in {}", table.id)).cells.get(row).plain()
}

/// Folders `golden/<tool>/` next to recordings, with the names of pairs in them: `<prefix>A--B<suffix>`.
pub fn golden_pairs(tool: &str, prefix: &str, suffix: &str) -> Vec<(PathBuf, Trace, Trace, String)> {
    let mut pairs = Vec::new();
    for dir in data_dirs("pytorch") {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(dir.join("golden").join(tool))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        entries.sort();
        for path in entries {
            let name = path.file_name().unwrap().to_str().unwrap();
            let middle = name.strip_prefix(prefix).and_then(|name| name.strip_suffix(suffix));
            let Some((a, b)) = middle.and_then(|middle| middle.split_once("--")) else { continue };
            let read = |name: &str| read(&dir.join(format!("{name}.json.gz")));
            pairs.push((path.clone(), read(a), read(b), format!("{a}--{b}")));
        }
    }
    assert!(!pairs.is_empty());
    pairs
}

/// A recording.
pub fn read(path: &Path) -> Trace {
    crate::gpu::golden::read(path).trace
}

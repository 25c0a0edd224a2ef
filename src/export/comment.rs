//! Reports on a comparison as a comment on a pull request: GitHub-flavoured Markdown that is short at first sight, with
//! tables folded and cut, so that it stays below what such a comment may have.

use super::markdown::{escape, write_table};
use crate::base::text;
use crate::base::units::group_digits;
use crate::report::{Block, Cells, Column, Document, Findings, NoteLevel, Report, Table, TextCells};
use std::io::{self, Write};

/// Rows of a table.
const MAX_ROWS: usize = 15;
/// Letters of a cell.
const MAX_LETTERS: usize = 72;
/// Columns of a table.
const MAX_COLUMNS: usize = 12;
/// Bytes of all of it; GitHub takes 65,536 letters.
const MAX_BYTES: usize = 60_000;

/// Writes the headline and the answer, then all tables, folded.
pub fn write(document: &Document<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    writeln!(text, "## {}", escape(&document.title))?;
    let mut left_out = 0;
    for report in document.reports {
        let mut part = Vec::new();
        write_report(report, &mut part)?;
        if text.len() + part.len() > MAX_BYTES {
            left_out += 1;
        } else {
            text.append(&mut part);
        }
    }
    if left_out > 0 {
        writeln!(text, "\n{left_out} more reports have no room in a comment.")?;
    }
    out.write_all(&text)
}

fn write_report(report: &Report, out: &mut Vec<u8>) -> io::Result<()> {
    writeln!(out, "\n### {}\n", escape(&report.title))?;
    if !report.summary.is_empty() {
        writeln!(out, "**{}**\n", escape(&report.summary))?;
    }
    for block in report.written_blocks() {
        match block {
            Block::Findings(findings) => write_findings(findings, out)?,
            Block::Table(table) => write_folded(table, out)?,
            Block::Note(note) if note.level == NoteLevel::Warning => {
                writeln!(out, "> **Warning:** {}\n", escape(&note.text))?;
            }
            Block::Note(note) => writeln!(out, "> {}\n", escape(&note.text))?,
            // The tables have all of it.
            Block::Facts(_) | Block::Chart(_) => {}
        }
    }
    Ok(())
}

/// Each line with the numbers it rests on.
fn write_findings(findings: &Findings, out: &mut Vec<u8>) -> io::Result<()> {
    for (i, finding) in findings.findings.iter().take(MAX_ROWS).enumerate() {
        write!(out, "{}. {}", i + 1, escape(&findings.line(finding)))?;
        for (i, fact) in finding.evidence.iter().enumerate() {
            let mark = if i == 0 { " –" } else { "," };
            write!(out, "{mark} {} {}", escape(&fact.label), escape(&fact.display()))?;
        }
        writeln!(out)?;
    }
    let more = findings.findings.len().saturating_sub(MAX_ROWS);
    if more > 0 {
        writeln!(out, "\n{} smaller changes are left out.", group_digits(more as i128))?;
    }
    writeln!(out, "\n{}\n", escape(&findings.caption))
}

fn write_folded(table: &Table, out: &mut Vec<u8>) -> io::Result<()> {
    let n_rows = table.n_rows();
    if n_rows == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "<details><summary>{} ({} rows)</summary>\n",
        escape(&table.title),
        group_digits(n_rows as i128)
    )?;
    let columns = table.columns.iter().take(MAX_COLUMNS).map(shortened).collect();
    let short = Table { columns, empty: String::new(), n_left_out: 0, sort: None, ..table.clone() };
    write_table(&short, 0..n_rows.min(MAX_ROWS) as u32, out)?;
    let more = n_rows as u64 - n_rows.min(MAX_ROWS) as u64 + table.n_left_out;
    if more > 0 {
        writeln!(out, "\n{} more rows are left out.", group_digits(i128::from(more)))?;
    }
    writeln!(out, "\n</details>\n")
}

/// Names of kernels may have thousands of letters.
fn shortened(column: &Column) -> Column {
    let Cells::Text(cells) = &column.cells else { return column.clone() };
    let mut short = TextCells::default();
    for row in 0..cells.len() {
        short.push(cells.get(row).map(|text| text::shortened(text, MAX_LETTERS)).as_deref());
    }
    Column { cells: Cells::Text(short), ..column.clone() }
}

//! Comparison reports as a pull request comment: GitHub-flavoured Markdown with a short visible part. Tables are
//! folded and cut to stay below the size limit of comments.

use super::markdown::{escape, write_table};
use crate::base::text;
use crate::base::units::{counted, group_digits};
use crate::report::{Block, Cells, Column, Document, Findings, NoteLevel, Report, Table, TextCells};
use std::io::{self, Write};

/// Row limit of a table.
const MAX_ROWS: usize = 15;
/// Character limit of a cell.
const MAX_LETTERS: usize = 72;
/// Column limit of a table.
const MAX_COLUMNS: usize = 12;
/// Size limit in bytes; GitHub accepts 65,536 characters.
const MAX_BYTES: usize = 60_000;

/// Writes the headline and the findings, then all tables, folded.
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
        let reports = if left_out == 1 { "report" } else { "reports" };
        writeln!(text, "\n{left_out} more {reports} omitted for length.")?;
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
            // The tables have the same numbers.
            Block::Facts(_) | Block::Chart(_) => {}
        }
    }
    if let Some(undrawn) = report.undrawn() {
        writeln!(out, "{}\n", escape(&undrawn))?;
    }
    Ok(())
}

/// Writes each finding with its evidence.
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
        let changes = if more == 1 { "change" } else { "changes" };
        writeln!(out, "\n{} smaller {changes} omitted.", group_digits(more as i128))?;
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
        "<details><summary>{} ({})</summary>\n",
        escape(&table.title),
        counted(n_rows as u64, "row", "rows")
    )?;
    let columns = table.columns.iter().take(MAX_COLUMNS).map(shortened).collect();
    let short = Table { columns, empty: String::new(), n_left_out: 0, sort: None, ..table.clone() };
    write_table(&short, 0..n_rows.min(MAX_ROWS) as u32, out)?;
    let more = n_rows as u64 - n_rows.min(MAX_ROWS) as u64 + table.n_left_out;
    if more > 0 {
        writeln!(out, "\n{} not shown.", counted(more, "more row", "more rows"))?;
    }
    writeln!(out, "\n</details>\n")
}

/// Truncates long cells, as kernel names can have thousands of characters.
fn shortened(column: &Column) -> Column {
    let Cells::Text(cells) = &column.cells else { return column.clone() };
    let mut short = TextCells::default();
    for row in 0..cells.len() {
        short.push(cells.get(row).map(|text| text::shortened(text, MAX_LETTERS)).as_deref());
    }
    Column { cells: Cells::Text(short), ..column.clone() }
}

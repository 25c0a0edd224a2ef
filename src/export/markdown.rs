//! Reports as GitHub-flavoured Markdown: numbers with separators and units.
//!
//! All text from files is escaped, so that it cannot break a table or become markup, a link or HTML.

use super::reference::TextFormat;
use super::{ExporterInfo, Input, LeftOut, TextsIn, WriteFn, always, notes};
use crate::base::text::push_visible;
use crate::base::units::counted;
use crate::report::{Block, Facts, Findings, NoteLevel, Report, Table, merged_files};
use std::io::{self, Write};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "markdown",
    title: "Markdown report",
    extension: "md",
    media_type: "text/markdown; charset=utf-8",
    in_menu: true,
    needs: "",
    applies: always,
    write: WriteFn::AtOnce(|input, out| write(input, out).map(LeftOut::nothing)),
    reference: Some(|_| TextFormat::Markdown),
    converts: None,
    texts: TextsIn::Document,
    takes_part: false,
    can_redact: true,
    takes_notes: true,
};

fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = input.document;
    writeln!(out, "# {}", escape(input.title()))?;
    for facts in &merged_files(&document.source) {
        write_facts(facts, out)?;
    }
    write_notes(input, out)?;
    for report in document.reports.iter().chain([&document.ledger]) {
        write_report(report, out)?;
    }
    Ok(())
}

fn write_notes(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let notes = input.notes();
    if notes.list.is_empty() {
        return Ok(());
    }
    let words = notes::words_of(input.document.reports);
    writeln!(out, "\n## Notes\n")?;
    for note in &notes.list {
        writeln!(out, "- **{}**", escape(&words(&note.on)))?;
        for line in note.text.lines().filter(|line| !line.trim().is_empty()) {
            writeln!(out, "  <br>{}", escape(line))?;
        }
    }
    Ok(())
}

fn write_report(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n## {}", escape(&report.title))?;
    if !report.summary.is_empty() {
        writeln!(out, "\n{}", escape(&report.summary))?;
    }
    for block in report.written_blocks() {
        match block {
            Block::Facts(facts) => write_facts(facts, out)?,
            // Charts are not written.
            Block::Chart(_) => {}
            Block::Note(note) => {
                let level = match note.level {
                    NoteLevel::Info => "Note",
                    NoteLevel::Warning => "Warning",
                };
                writeln!(out, "\n> **{level}:** {}", escape(&note.text))?;
            }
            Block::Findings(findings) => write_findings(findings, out)?,
            Block::Table(table) => {
                writeln!(out, "\n### {}", escape(&table.title))?;
                if !table.caption.is_empty() {
                    writeln!(out, "\n{}", escape(&table.caption))?;
                }
                writeln!(out)?;
                let rows = 0..table.n_rows() as u32;
                write_table(table, rows, out)?;
            }
        }
    }
    if let Some(undrawn) = report.undrawn() {
        writeln!(out, "\n{}", escape(&undrawn))?;
    }
    Ok(())
}

fn write_facts(facts: &Facts, out: &mut dyn Write) -> io::Result<()> {
    if facts.facts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n### {}\n", escape(&facts.title))?;
    for fact in &facts.facts {
        let sign = fact.mark.map_or(String::new(), |mark| format!("{} ", mark.sign()));
        write!(out, "- {}: {sign}{}", escape(&fact.label), escape(&fact.display()))?;
        if !fact.hint.is_empty() {
            write!(out, " ({})", escape(&fact.hint))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_findings(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n### {}", escape(&findings.title))?;
    if !findings.caption.is_empty() {
        writeln!(out, "\n{}", escape(&findings.caption))?;
    }
    writeln!(out)?;
    if findings.findings.is_empty() {
        return writeln!(out, "{}", escape(&findings.empty));
    }
    for (i, finding) in findings.findings.iter().enumerate() {
        write!(out, "{}. **{}**", i + 1, escape(&findings.line(finding)))?;
        for fact in finding.further_evidence(None) {
            write!(out, "; {}: {}", escape(&fact.label), escape(&fact.display()))?;
        }
        if let Some(rows) = &finding.rows {
            write!(out, " (see {})", escape(&rows.label))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes the given rows of a table, in that order.
pub fn write_table(
    table: &Table,
    order: impl IntoIterator<Item = u32>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut line = String::new();
    for column in &table.columns {
        line.push_str("| ");
        escape_into(&column.label, &mut line);
        line.push(' ');
    }
    line.push_str("|\n");
    for column in &table.columns {
        line.push_str(if column.cells.is_numeric() { "| ---: " } else { "| --- " });
    }
    line.push_str("|\n");
    out.write_all(line.as_bytes())?;
    let mut n_rows = 0;
    for row in order {
        if row as usize >= table.n_rows() {
            continue;
        }
        n_rows += 1;
        line.clear();
        for column in &table.columns {
            line.push_str("| ");
            escape_into(&column.display(row as usize), &mut line);
            line.push(' ');
        }
        line.push_str("|\n");
        out.write_all(line.as_bytes())?;
    }
    if n_rows == 0 && !table.empty.is_empty() {
        writeln!(out, "\n{}", escape(&table.empty))?;
    }
    if table.n_left_out > 0 {
        writeln!(out, "\n{} not shown.", counted(table.n_left_out, "more row", "more rows"))?;
    }
    Ok(())
}

/// One table in a given order, for copying.
pub fn table_markdown(table: &Table, order: &[u32]) -> String {
    let mut out = Vec::new();
    let _ = write_table(table, order.iter().copied(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Escapes `text` so that Markdown shows it literally.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    escape_into(text, &mut out);
    out
}

fn escape_into(text: &str, out: &mut String) {
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '~' | '&' | '$' => out.push('\\'),
            // At the start of a line these would begin a heading or a list.
            '#' | '+' | '-' | '=' if out.is_empty() => out.push('\\'),
            '.' | ')' if !out.is_empty() && out.bytes().all(|byte| byte.is_ascii_digit()) => out.push('\\'),
            // URLs would become links automatically.
            ':' if chars.peek() == Some(&'/') => out.push('\\'),
            '.' if matches!(before, 'w' | 'W') => out.push('\\'),
            '@' => out.push('\\'),
            _ => {}
        }
        if crate::base::text::is_control(c) {
            // Visible escapes start with a backslash, which is escaped itself.
            out.push('\\');
        }
        push_visible(c, out);
        before = c;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts() {
        assert_eq!(escape("a|b\\`*_<b>[x](y)\n"), "a\\|b\\\\\\`\\*\\_\\<b\\>\\[x\\](y)\\\\n");
        assert_eq!(escape("&lt; https://a www.b ~~c~~"), "\\&lt; https\\://a www\\.b \\~\\~c\\~\\~");
        assert_eq!(escape("- 1. x"), "\\- 1. x");
        assert_eq!(escape("12. x"), "12\\. x");
        assert_eq!(escape("\u{1b}[1m"), "\\\\x1b\\[1m");
    }
}

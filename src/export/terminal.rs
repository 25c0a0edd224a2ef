//! Reports as text of a given width, for the terminal.
//!
//! Control characters are shown escaped, never sent. Long tables are cut; omitted rows are counted below.

use super::reference::TextFormat;
use super::{ExporterInfo, Input, LeftOut, Options, TextsIn, WriteFn, always, notes};
use crate::base::text::visible;
use crate::base::units::counted;
use crate::report::{Block, Column, Facts, Findings, Mark, NoteLevel, Report, Table, merged_files};
use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "terminal",
    title: "Terminal text",
    extension: "txt",
    media_type: "text/plain; charset=utf-8",
    in_menu: false,
    needs: "",
    applies: always,
    write: WriteFn::AtOnce(|input, out| write(input, out).map(LeftOut::nothing)),
    reference: Some(|options| TextFormat::Terminal { width: options.width as usize }),
    converts: None,
    texts: TextsIn::Document,
    takes_part: false,
    can_redact: true,
    takes_notes: true,
};

const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const YELLOW: &str = "\u{1b}[33m";
const GREEN: &str = "\u{1b}[32m";
const RED: &str = "\u{1b}[31m";
const PLAIN: &str = "\u{1b}[0m";

fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = input.document;
    let mut terminal = Terminal { out, options: input.options.clone() };
    for facts in &merged_files(&document.source) {
        terminal.facts(facts)?;
    }
    terminal.notes(input)?;
    for report in document.reports.iter().chain([&document.ledger]) {
        terminal.report(report)?;
    }
    Ok(())
}

struct Terminal<'a> {
    out: &'a mut dyn Write,
    options: Options,
}

impl Terminal<'_> {
    fn styled(&mut self, style: &str, text: &str) -> io::Result<()> {
        if self.options.color {
            writeln!(self.out, "{style}{text}{PLAIN}")
        } else {
            writeln!(self.out, "{text}")
        }
    }

    /// Writes a paragraph, wrapped at spaces.
    fn paragraph(&mut self, style: &str, text: &str) -> io::Result<()> {
        let text = visible(text);
        let mut line = String::new();
        for word in text.split(' ') {
            if !line.is_empty() && line.width() + 1 + word.width() > self.options.width as usize {
                self.styled(style, &line)?;
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.styled(style, &line)
    }

    /// Writes the user's title and notes.
    fn notes(&mut self, input: &Input<'_>) -> io::Result<()> {
        let notes = input.notes();
        if notes.is_empty() {
            return Ok(());
        }
        writeln!(self.out)?;
        let title = if notes.title.is_empty() { "Notes" } else { &notes.title };
        self.styled(BOLD, &visible(title))?;
        let words = notes::words_of(input.document.reports);
        for note in &notes.list {
            self.paragraph(DIM, &words(&note.on))?;
            for line in note.text.lines() {
                self.paragraph("", line)?;
            }
        }
        Ok(())
    }

    fn report(&mut self, report: &Report) -> io::Result<()> {
        writeln!(self.out)?;
        let title = visible(&report.title);
        self.styled(BOLD, &title)?;
        self.styled(BOLD, &"=".repeat(title.width().min(self.options.width as usize)))?;
        if !report.summary.is_empty() {
            self.paragraph("", &report.summary)?;
        }
        for block in report.written_blocks() {
            writeln!(self.out)?;
            match block {
                Block::Facts(facts) => self.facts(facts)?,
                // Charts are not written.
                Block::Chart(_) => {}
                Block::Note(note) => match note.level {
                    NoteLevel::Info => self.paragraph(DIM, &format!("note: {}", note.text))?,
                    NoteLevel::Warning => self.paragraph(YELLOW, &format!("warning: {}", note.text))?,
                },
                Block::Findings(findings) => self.findings(findings, &report.title)?,
                Block::Table(table) => self.table(table, &report.title)?,
            }
        }
        if let Some(undrawn) = report.undrawn() {
            writeln!(self.out)?;
            self.paragraph(DIM, &undrawn)?;
        }
        Ok(())
    }

    fn facts(&mut self, facts: &Facts) -> io::Result<()> {
        if facts.facts.is_empty() {
            return Ok(());
        }
        self.styled(BOLD, &visible(&facts.title))?;
        let width = facts.facts.iter().map(|fact| visible(&fact.label).width()).max().unwrap_or(0);
        for fact in &facts.facts {
            let label = visible(&fact.label);
            let blanks = " ".repeat(width - label.width());
            let value = visible(&fact.display());
            let Some(mark) = fact.mark else {
                writeln!(self.out, "  {label}{blanks}  {value}")?;
                continue;
            };
            let style = match mark {
                _ if !self.options.color => "",
                Mark::Good => GREEN,
                Mark::Fair => YELLOW,
                Mark::Bad => RED,
                Mark::Plain => "",
            };
            let plain = if style.is_empty() { "" } else { PLAIN };
            write!(self.out, "  {label}{blanks}  {style}{} {value}{plain}", mark.sign())?;
            // A verdict needs its reason.
            if !fact.hint.is_empty() {
                write!(self.out, " ({})", visible(&fact.hint))?;
            }
            writeln!(self.out)?;
        }
        Ok(())
    }

    fn findings(&mut self, findings: &Findings, report_title: &str) -> io::Result<()> {
        if findings.title != report_title {
            self.styled(BOLD, &visible(&findings.title))?;
        }
        if findings.findings.is_empty() {
            return self.paragraph(DIM, &findings.empty);
        }
        for (i, finding) in findings.findings.iter().enumerate() {
            self.paragraph("", &format!("{}. {}", i + 1, findings.line(finding)))?;
            let mut parts: Vec<String> = Vec::new();
            for fact in finding.further_evidence(None) {
                parts.push(format!("{}: {}", fact.label, fact.display()));
            }
            if let Some(rows) = &finding.rows {
                parts.push(format!("see {}", rows.label));
            }
            if !parts.is_empty() {
                self.paragraph(DIM, &format!("   {}", parts.join("; ")))?;
            }
        }
        Ok(())
    }

    fn table(&mut self, table: &Table, report_title: &str) -> io::Result<()> {
        if table.title != report_title {
            self.styled(BOLD, &visible(&table.title))?;
        }
        if table.n_rows() == 0 {
            let empty = if table.empty.is_empty() { "(no rows)" } else { &table.empty };
            return self.paragraph(DIM, empty);
        }
        let n_rows = table.n_rows().min(self.options.max_rows as usize);
        let columns: Vec<Shown> = table.columns.iter().map(|column| Shown::new(column, n_rows)).collect();
        let (columns, left_out) = fit(columns, self.options.width as usize);
        let mut line = String::new();
        for column in &columns {
            push_cell(&column.label, column.width, column.right, &mut line);
        }
        self.styled(DIM, line.trim_end())?;
        for row in 0..n_rows {
            line.clear();
            for column in &columns {
                push_cell(&column.texts[row], column.width, column.right, &mut line);
            }
            writeln!(self.out, "{}", line.trim_end())?;
        }
        let n_more = (table.n_rows() - n_rows) as u64 + table.n_left_out;
        if n_more > 0 {
            self.styled(DIM, &format!("… {}", counted(n_more, "more row", "more rows")))?;
        }
        // What its numbers are, and what they leave out.
        if !table.caption.is_empty() {
            self.paragraph(DIM, &table.caption)?;
        }
        if !left_out.is_empty() {
            let labels: Vec<String> = left_out.into_iter().map(|column| column.label).collect();
            self.paragraph(DIM, &format!("… hidden columns: {}", labels.join(", ")))?;
        }
        Ok(())
    }
}

/// Layout of a column.
struct Shown {
    label: String,
    texts: Vec<String>,
    /// Key column.
    key: bool,
    right: bool,
    width: usize,
    /// Minimum width.
    least: usize,
}

impl Shown {
    fn new(column: &Column, n_rows: usize) -> Shown {
        let texts: Vec<String> = (0..n_rows).map(|row| visible(&column.display(row))).collect();
        let label = visible(&column.label);
        let width = texts.iter().map(|text| text.width()).max().unwrap_or(0).max(label.width());
        let right = column.cells.is_numeric();
        // Numbers must not be cut.
        let least = match (right, column.key) {
            (true, _) => width,
            (false, true) => width.min(28),
            (false, false) => width.min(label.width().max(12)),
        };
        Shown { label, texts, key: column.key, right, width, least }
    }
}

/// Hides columns from the right until the rest can fit `width`, but never the leading key columns; then cuts the widest
/// texts until everything fits.
fn fit(mut columns: Vec<Shown>, width: usize) -> (Vec<Shown>, Vec<Shown>) {
    let gaps = |columns: &[Shown]| columns.len().saturating_sub(1) * 2;
    let mut left_out = Vec::new();
    while columns.len() > 2
        && columns.iter().map(|column| column.least).sum::<usize>() + gaps(&columns) > width
    {
        let n_leading_keys = columns.iter().take_while(|column| column.key).count();
        if columns.len() <= n_leading_keys.max(1) {
            break;
        }
        left_out.extend(columns.pop());
    }
    let mut excess =
        (columns.iter().map(|column| column.width).sum::<usize>() + gaps(&columns)).saturating_sub(width);
    while excess > 0 {
        let cuttable = columns.iter_mut().filter(|column| !column.right && column.width > column.least);
        let Some(widest) = cuttable.max_by_key(|column| column.width) else { break };
        widest.width -= 1;
        excess -= 1;
    }
    left_out.reverse();
    (columns, left_out)
}

/// Appends one cell and the gap after it, cut with `…` if too long.
fn push_cell(text: &str, width: usize, right: bool, out: &mut String) {
    let text_width = text.width();
    if text_width > width {
        let mut used = 0;
        for c in text.chars() {
            let n = c.width().unwrap_or(0);
            if used + n + 1 > width {
                break;
            }
            used += n;
            out.push(c);
        }
        out.push('…');
        out.extend(std::iter::repeat_n(' ', width.saturating_sub(used + 1)));
    } else {
        let blanks = width - text_width;
        out.extend(std::iter::repeat_n(' ', if right { blanks } else { 0 }));
        out.push_str(text);
        out.extend(std::iter::repeat_n(' ', if right { 0 } else { blanks }));
    }
    out.push_str("  ");
}

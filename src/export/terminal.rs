//! Reports as text of a given width, for the terminal.
//!
//! Control characters are shown, never sent. Long tables are cut; what is left out is counted below.

use super::{ExporterInfo, Input, Options, always};
use crate::analysis::TextFormat;
use crate::base::text::visible;
use crate::base::units::group_digits;
use crate::report::{Block, Facts, NoteLevel, Report, Table};
use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "terminal",
    title: "Terminal text",
    extension: "txt",
    media_type: "text/plain; charset=utf-8",
    in_menu: false,
    applies: always,
    write,
    reference: Some(|options| TextFormat::Terminal { width: options.width as usize }),
};

const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const YELLOW: &str = "\u{1b}[33m";
const PLAIN: &str = "\u{1b}[0m";

fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = input.document;
    let mut terminal = Terminal { out, options: *input.options };
    for facts in &document.source {
        terminal.facts(facts)?;
    }
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

    /// A sentence, wrapped at blanks.
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

    fn report(&mut self, report: &Report) -> io::Result<()> {
        writeln!(self.out)?;
        let title = visible(&report.title);
        self.styled(BOLD, &title)?;
        self.styled(BOLD, &"=".repeat(title.width().min(self.options.width as usize)))?;
        if !report.summary.is_empty() {
            self.paragraph("", &report.summary)?;
        }
        for block in &report.blocks {
            writeln!(self.out)?;
            match block {
                Block::Facts(facts) => self.facts(facts)?,
                Block::Note(note) => match note.level {
                    NoteLevel::Info => self.paragraph(DIM, &format!("note: {}", note.text))?,
                    NoteLevel::Warning => self.paragraph(YELLOW, &format!("warning: {}", note.text))?,
                },
                Block::Table(table) => self.table(table)?,
            }
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
            writeln!(self.out, "  {label}{blanks}  {}", visible(&fact.value.display(fact.unit)))?;
        }
        Ok(())
    }

    fn table(&mut self, table: &Table) -> io::Result<()> {
        self.styled(BOLD, &visible(&table.title))?;
        if table.n_rows() == 0 {
            let empty = if table.empty.is_empty() { "(no rows)" } else { &table.empty };
            return self.paragraph(DIM, empty);
        }
        let n_rows = table.n_rows().min(self.options.max_rows as usize);
        let texts: Vec<Vec<String>> = table
            .columns
            .iter()
            .map(|column| {
                (0..n_rows).map(|row| visible(&column.cells.get(row).display(column.unit))).collect()
            })
            .collect();
        let widths = self.widths(table, &texts);
        let mut line = String::new();
        for (column, width) in table.columns.iter().zip(&widths) {
            push_cell(&visible(&column.label), *width, column.cells.is_numeric(), &mut line);
        }
        self.styled(DIM, line.trim_end())?;
        for row in 0..n_rows {
            line.clear();
            for (column, (texts, width)) in table.columns.iter().zip(texts.iter().zip(&widths)) {
                push_cell(&texts[row], *width, column.cells.is_numeric(), &mut line);
            }
            writeln!(self.out, "{}", line.trim_end())?;
        }
        let n_more = (table.n_rows() - n_rows) as u64 + table.n_left_out;
        if n_more > 0 {
            self.styled(DIM, &format!("… {} more rows", group_digits(i128::from(n_more))))?;
        }
        Ok(())
    }

    /// Widths of the columns: numbers are never cut, the widest texts give way until the line fits.
    fn widths(&self, table: &Table, texts: &[Vec<String>]) -> Vec<usize> {
        const LEAST: usize = 8;
        let natural = |(column, texts): (&crate::report::Column, &Vec<String>)| {
            texts.iter().map(|text| text.width()).max().unwrap_or(0).max(column.label.width())
        };
        let mut widths: Vec<usize> = table.columns.iter().zip(texts).map(natural).collect();
        loop {
            let total: usize = widths.iter().map(|width| width + 2).sum::<usize>().saturating_sub(2);
            let excess = total.saturating_sub(self.options.width as usize);
            let text_columns = (0..widths.len()).filter(|i| !table.columns[*i].cells.is_numeric());
            let Some(widest) = text_columns.max_by_key(|i| widths[*i]) else { return widths };
            if excess == 0 || widths[widest] <= LEAST {
                return widths;
            }
            let next = (0..widths.len())
                .filter(|i| !table.columns[*i].cells.is_numeric() && widths[*i] < widths[widest])
                .map(|i| widths[i])
                .max()
                .unwrap_or(LEAST);
            // Down to the next widest at most, and by one at least.
            let target = next.max(widths[widest].saturating_sub(excess)).max(LEAST);
            widths[widest] = target.min(widths[widest] - 1);
        }
    }
}

/// Appends one cell and the gap after it, cut with `…` where it is too long.
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

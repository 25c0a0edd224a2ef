//! Tables as CSV by RFC 4180 (CRLF) and as tab-separated text, for machines: plain numbers, units in the header.
//!
//! Spreadsheets evaluate a cell that starts with `=`, `+`, `-` or `@` as a formula, even after spaces.
//! A text cell that could be a formula gets a leading apostrophe, which marks it as text. Names that merely
//! start with a sign (`@property`, `-[NSView draw]`) stay unchanged, so that tables can be joined on them.
//! Numbers are never changed. Control characters become visible escapes.

use super::{ExporterInfo, Input, LeftOut, TextsIn, WriteFn, always};
use crate::base::text::{is_control, push_visible};
use crate::report::{Block, Cells, Column, Content, Findings, Report, RowsOf, Table, Value};
use std::borrow::Cow;
use std::io::{self, Write};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "csv",
    title: "CSV tables",
    extension: "csv",
    media_type: "text/csv; charset=utf-8",
    in_menu: true,
    needs: "",
    applies: always,
    write: WriteFn::AtOnce(|input, out| write(input, out).map(LeftOut::nothing)),
    reference: None,
    converts: None,
    texts: TextsIn::Document,
    takes_part: false,
    can_redact: true,
    takes_notes: false,
};

/// Writes sections separated by empty lines: title, header, rows.
fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = input.document;
    let mut sheet = Sheet { out, separator: b',', end: b"\r\n", n_sections: 0 };
    for facts in &document.source {
        sheet.section(&facts.title)?;
        sheet.facts(facts)?;
    }
    for report in document.reports.iter().chain([&document.ledger]) {
        sheet.report(report)?;
    }
    Ok(())
}

/// One table as CSV, rows in the given order.
pub fn table_csv(table: &Table, order: &[u32]) -> String {
    table_text(table, order, b',', b"\r\n")
}

/// One of the tables of several files that go into one CSV: its first column, `file`, says which file a row is of. The header is left
/// out where it is `header`, that of the table before; otherwise an empty line comes before it.
pub fn table_of_file(table: &Table, file: &str, header: &mut String) -> String {
    // Tables of source code have a column of that name.
    let id = if table.column("file").is_some() { "trace_file" } else { "file" };
    let files = (0..table.n_rows()).map(|_| file).collect();
    let mut columns = vec![Column::key(id, "file", Content::Plain, files)];
    columns.extend(table.columns.iter().cloned());
    let order: Vec<u32> = (0..table.n_rows() as u32).collect();
    let text = table_csv(&Table { columns, ..table.clone() }, &order);
    let (own, rows) = text.split_once("\r\n").unwrap_or((&text, ""));
    if own == header {
        return rows.to_string();
    }
    let is_first = header.is_empty();
    *header = own.to_string();
    if is_first { text } else { format!("\r\n{text}") }
}

/// One table as tab-separated text, for pasting into a spreadsheet.
pub fn table_tsv(table: &Table, order: &[u32]) -> String {
    table_text(table, order, b'\t', b"\n")
}

fn table_text(table: &Table, order: &[u32], separator: u8, end: &'static [u8]) -> String {
    let mut out = Vec::new();
    let mut sheet = Sheet { out: &mut out, separator, end, n_sections: 0 };
    // Writing to memory does not fail.
    let _ = sheet.table(table, order.iter().copied());
    String::from_utf8_lossy(&out).into_owned()
}

struct Sheet<'a> {
    out: &'a mut dyn Write,
    separator: u8,
    end: &'static [u8],
    n_sections: usize,
}

impl Sheet<'_> {
    fn report(&mut self, report: &Report) -> io::Result<()> {
        for block in report.written_blocks() {
            match block {
                Block::Facts(facts) => {
                    self.section(&format!("{}: {}", report.title, facts.title))?;
                    self.facts(facts)?;
                }
                // Charts are not written.
                Block::Chart(_) => {}
                Block::Note(note) => {
                    self.section(&format!("{}: note", report.title))?;
                    self.line(&[Cow::Borrowed("note")])?;
                    self.line(&[guard(&note.text)])?;
                }
                Block::Findings(findings) => {
                    self.section(&format!("{}: {}", report.title, findings.title))?;
                    self.findings(findings)?;
                }
                Block::Table(table) => {
                    self.section(&format!("{}: {}", report.title, table.title))?;
                    self.table(table, 0..table.n_rows() as u32)?;
                    if table.n_left_out > 0 {
                        let rows = if table.n_left_out == 1 { "row" } else { "rows" };
                        self.line(&[Cow::Owned(format!("({} more {rows} not shown)", table.n_left_out))])?;
                    }
                }
            }
        }
        Ok(())
    }

    fn section(&mut self, title: &str) -> io::Result<()> {
        if self.n_sections > 0 {
            self.out.write_all(self.end)?;
        }
        self.n_sections += 1;
        self.line(&[guard(title)])
    }

    fn facts(&mut self, facts: &crate::report::Facts) -> io::Result<()> {
        self.line(&[Cow::Borrowed("name"), Cow::Borrowed("value"), Cow::Borrowed("unit")])?;
        for fact in &facts.facts {
            self.line(&[
                Cow::Borrowed(&fact.id),
                value_text(&fact.value),
                Cow::Borrowed(fact.unit.symbol()),
            ])?;
        }
        Ok(())
    }

    fn findings(&mut self, findings: &Findings) -> io::Result<()> {
        let names = ["finding", "text", "time (ns)", "share", "report", "table", "filter"];
        self.line(&names.map(Cow::Borrowed))?;
        for finding in &findings.findings {
            let rows = finding.rows.as_ref();
            let text = |get: fn(&RowsOf) -> &String| rows.map_or(Cow::Borrowed(""), |rows| guard(get(rows)));
            let time = finding.time.map_or(Value::Missing, Value::Integer);
            let share = finding.share.map_or(Value::Missing, Value::Float);
            self.line(&[
                guard(&finding.id),
                guard(&findings.line(finding)),
                value_text(&time),
                value_text(&share),
                text(|rows| &rows.report),
                text(|rows| &rows.table),
                text(|rows| &rows.filter),
            ])?;
        }
        Ok(())
    }

    fn table(&mut self, table: &Table, order: impl IntoIterator<Item = u32>) -> io::Result<()> {
        let header: Vec<Cow<'_, str>> = table.columns.iter().map(|column| header(column)).collect();
        self.line(&header)?;
        let mut cells = Vec::with_capacity(table.columns.len());
        for row in order {
            let row = row as usize;
            if row >= table.n_rows() {
                continue;
            }
            cells.clear();
            cells.extend(table.columns.iter().map(|column| match &column.cells {
                Cells::Text(cells) => guard(cells.get(row).unwrap_or("")),
                cells => Cow::Owned(cells.get(row).plain()),
            }));
            self.line(&cells)?;
        }
        Ok(())
    }

    fn line(&mut self, cells: &[Cow<'_, str>]) -> io::Result<()> {
        for (i, cell) in cells.iter().enumerate() {
            if i > 0 {
                self.out.write_all(&[self.separator])?;
            }
            let bytes = cell.as_bytes();
            let special = |byte: &u8| *byte == self.separator || matches!(byte, b'"' | b'\n' | b'\r' | b'\t');
            if bytes.iter().any(special) {
                self.out.write_all(b"\"")?;
                for (i, part) in cell.split('"').enumerate() {
                    self.out.write_all(if i > 0 { b"\"\"" } else { b"" })?;
                    self.out.write_all(part.as_bytes())?;
                }
                self.out.write_all(b"\"")?;
            } else {
                self.out.write_all(bytes)?;
            }
        }
        self.out.write_all(self.end)
    }
}

fn header(column: &Column) -> Cow<'_, str> {
    match column.cells.is_numeric() {
        true => column.unit.with_symbol(&column.id),
        false => Cow::Borrowed(&column.id),
    }
}

fn value_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Text(text) => guard(text),
        value => Cow::Owned(value.plain()),
    }
}

/// Text safe for spreadsheets, with control characters made visible except for tabs and line ends, which are quoted.
fn guard(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| is_control(c) && !matches!(c, '\t' | '\n' | '\r');
    let text = match text.contains(is_odd) {
        true => {
            let mut out = String::with_capacity(text.len() + 8);
            for c in text.chars() {
                if is_odd(c) { push_visible(c, &mut out) } else { out.push(c) }
            }
            Cow::Owned(out)
        }
        false => Cow::Borrowed(text),
    };
    if is_formula(&text) { Cow::Owned(format!("'{text}")) } else { text }
}

/// Whether a spreadsheet would evaluate a cell, also after spaces and with full-width signs, which some accept.
fn is_formula(text: &str) -> bool {
    let is_blank = |c: char| c.is_whitespace() || c == '\u{3000}';
    let bare = text.trim_start_matches(is_blank);
    let mut chars = bare.chars();
    match chars.next() {
        Some('=' | '＝') => true,
        // Names can start like this and are kept as long as they call nothing: `-[NSView draw]`, `@property`, `+load`.
        Some('+' | '-' | '@' | '＋' | '－' | '＠') => {
            let rest = chars.as_str();
            let is_number = rest.parse::<f64>().is_ok();
            let is_name = rest.trim_start_matches(['+', '-', '@']).starts_with(|c: char| {
                c.is_alphabetic() || matches!(c, '_' | '[' | '<' | '/' | '.' | ':' | '>')
            });
            let is_bare = bare.len() == text.len();
            let calls_nothing = !rest.contains(['(', '|', '!', '=']);
            let is_plain = rest.is_empty() || is_number || is_name && is_bare && calls_nothing;
            !is_plain
        }
        _ => text.starts_with(['\t', '\r']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_guarded_and_names_stay() {
        for text in [
            "=1+1",
            " =1+1",
            "\t=cmd|'/c'!A1",
            "\u{3000}=1",
            "＝HYPERLINK(1)",
            "+1+1",
            "-2+3|x",
            "@SUM(A1)",
            "－(1)",
            "-x(1)",
            "\r@x",
        ] {
            assert_eq!(guard(text), format!("'{text}"));
        }
        for text in [
            "@property",
            "-[NSView draw]",
            "+load",
            "-1",
            "+5",
            "-",
            "--api-key",
            "a=b",
            "1+1",
            "",
            "@plt",
            "-O2 x",
        ] {
            assert_eq!(guard(text), text);
        }
        assert_eq!(guard("a\u{1b}[31m\u{7}\0\u{202e}b\tc"), "a\\x1b[31m\\x07\\x00\\u{202e}b\tc");
    }
}

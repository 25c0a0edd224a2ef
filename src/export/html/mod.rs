//! Reports as a single HTML file. It is readable without scripts; a built-in script sorts and filters. Its content security
//! policy blocks all network access, so that it is safe to open from a disk or a mail attachment.
//!
//! All text from files is escaped. The policy allows only the style and the script with the listed checksums.

use super::{ExporterInfo, Input, LeftOut, TextsIn, WriteFn, always, notes};
use crate::base::text;
use crate::base::units::group_digits;
use crate::report::{
    Block, Chart, Facts, Findings, NoteLevel, Notes, Report, Table, Value, cell_text, merged_files,
};
use crate::scene::{layout, svg, tone_name};
use sha2::{Digest, Sha256};
use std::io::{self, Write};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "html",
    title: "HTML report (single file)",
    extension: "html",
    media_type: "text/html; charset=utf-8",
    in_menu: true,
    needs: "",
    applies: always,
    write: WriteFn::AtOnce(|input, out| write(input, out).map(LeftOut::nothing)),
    reference: None,
    converts: None,
    texts: TextsIn::Document,
    takes_part: false,
    can_redact: true,
    takes_notes: true,
};

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// Row limit of a table; the rest is counted below it.
const MAX_ROWS: usize = 1000;
/// Size in bytes of all tables, beyond which further tables are cut to [`FEW_ROWS`].
const MAX_TABLE_BYTES: usize = 16 << 20;
const FEW_ROWS: usize = 25;
/// Additional rows of a table that are included because of their notes.
const MAX_MARKED_ROWS: usize = 1_000;
/// Limits in characters on the text of a cell, in full and without hovering.
const MAX_LETTERS: usize = 2000;
const LETTERS_THAT_SHOW: usize = 60;
/// Width of charts in CSS pixels.
const CHART_WIDTH: f64 = 1000.0;

fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = input.document;
    let mut page = Page { text: String::new(), out, n_table_bytes: 0, notes: input.notes() };
    let title = input.title();
    page.head(title);
    page.raw("<header><h1>");
    page.escaped(title);
    page.raw("</h1>\n");
    for file in &merged_files(&document.source) {
        page.file(file, title);
    }
    page.raw("</header>\n<nav aria-label=\"Reports\"><ul>");
    let reports: Vec<&Report> = document.reports.iter().chain([&document.ledger]).collect();
    if !input.notes().list.is_empty() {
        page.raw("<li><a href=\"#notes\">Notes</a></li>");
    }
    for report in &reports {
        page.raw("<li><a href=\"#");
        page.escaped(&report.id);
        page.raw("\">");
        page.escaped(&report.title);
        page.raw("</a></li>");
    }
    page.raw("</ul></nav>\n<main>\n");
    page.notes(document.reports);
    for report in &reports {
        page.report(report)?;
    }
    page.raw("</main>\n<footer><p>Made by Tracedrop ");
    page.raw(env!("CARGO_PKG_VERSION"));
    page.raw(". This page makes no network requests.</p></footer>\n<script>");
    page.raw(SCRIPT);
    page.raw("</script>\n</body>\n</html>\n");
    page.flush()
}

struct Page<'a> {
    text: String,
    out: &'a mut dyn Write,
    n_table_bytes: usize,
    notes: &'a Notes,
}

/// `sha256-…` source for the policy.
fn source_hash(content: &str) -> String {
    format!("'sha256-{}'", base64(&Sha256::digest(content.as_bytes())))
}

/// Base64 by RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|at| u32::from(chunk.get(at).copied().unwrap_or(0)));
        let bits = a << 16 | b << 8 | c;
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

impl Page<'_> {
    fn raw(&mut self, html: &str) {
        self.text.push_str(html);
    }

    fn escaped(&mut self, text: &str) {
        svg::push_text(&text::visible(text), &mut self.text);
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }

    fn head(&mut self, title: &str) {
        self.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        self.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; connect-src 'none'; base-uri 'none'; form-action 'none'; style-src ");
        self.raw(&source_hash(STYLE));
        self.raw("; script-src ");
        self.raw(&source_hash(SCRIPT));
        self.raw("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
        self.escaped(title);
        self.raw("</title>\n<style>");
        self.raw(STYLE);
        self.raw("</style>\n</head>\n<body>\n");
    }

    fn paragraph(&mut self, class: &str, text: &str) {
        if !text.is_empty() {
            self.raw("<p class=\"");
            self.raw(class);
            self.raw("\">");
            self.escaped(text);
            self.raw("</p>\n");
        }
    }

    fn heading(&mut self, level: u8, text: &str) {
        self.raw(&format!("<h{level}>"));
        self.escaped(text);
        self.raw(&format!("</h{level}>\n"));
    }

    /// User notes, each with a link to its row.
    fn notes(&mut self, reports: &[Report]) {
        if self.notes.list.is_empty() {
            return;
        }
        let words = notes::words_of(reports);
        let places = first_rows(self.notes, reports);
        self.raw("<section>\n<h2 id=\"notes\">Notes</h2>\n<ol class=\"notes\">\n");
        for (number, note) in self.notes.list.iter().enumerate() {
            self.raw(&format!("<li id=\"note-{}\">", number + 1));
            for line in note.text.lines() {
                self.paragraph("", line);
            }
            self.raw("<p class=\"soft\">On ");
            match places.get(number).and_then(Option::as_ref) {
                Some((report, table, row)) => {
                    self.raw("<a href=\"#");
                    self.row_id(report, table, *row);
                    self.raw("\">");
                    self.escaped(&words(&note.on));
                    self.raw("</a>");
                }
                None => self.escaped(&words(&note.on)),
            }
            self.raw("</p></li>\n");
        }
        self.raw("</ol>\n</section>\n");
    }

    fn row_id(&mut self, report: &str, table: &str, row: usize) {
        self.escaped(&format!("{report}.{table}.row-{row}"));
    }

    /// Links from a row to its notes.
    fn marks(&mut self, notes: &[usize]) {
        for number in notes {
            let number = number + 1;
            self.raw(&format!("<a class=\"mark\" href=\"#note-{number}\">Note {number}</a> "));
        }
    }

    fn report(&mut self, report: &Report) -> io::Result<()> {
        self.raw("<section>\n<h2 id=\"");
        self.escaped(&report.id);
        self.raw("\">");
        self.escaped(&report.title);
        self.raw("</h2>\n");
        self.paragraph("lead", &report.summary);
        for block in &report.blocks {
            match block {
                Block::Facts(facts) => self.facts(facts, &report.title),
                Block::Note(note) => {
                    let is_warning = note.level == NoteLevel::Warning;
                    self.paragraph(if is_warning { "note warning" } else { "note" }, &note.text);
                }
                Block::Findings(findings) => self.findings(findings),
                Block::Chart(chart) => self.chart(chart),
                Block::Table(table) => self.table(table, &report.id)?,
            }
            self.flush()?;
        }
        self.raw("</section>\n");
        Ok(())
    }

    /// `level` is the heading level: facts are under the page title or under a report title.
    /// Facts on a file in one line: the reader came for the answer below them.
    fn file(&mut self, facts: &Facts, known_title: &str) {
        self.raw("<p class=\"soft\">");
        let mut parts: Vec<String> = Vec::new();
        if facts.title != known_title {
            self.raw("<strong>");
            self.escaped(&facts.title);
            self.raw("</strong> ");
        }
        for fact in &facts.facts {
            let text = fact.display();
            // The title of a comparison's file is `A: name`.
            if !facts.title.ends_with(&text) {
                parts.push(text);
            }
        }
        self.escaped(&parts.join(" · "));
        self.raw("</p>\n");
    }

    fn facts(&mut self, facts: &Facts, known_title: &str) {
        if facts.facts.is_empty() {
            return;
        }
        if facts.title != known_title {
            self.heading(3, &facts.title);
        }
        self.raw("<dl class=\"facts\">");
        for fact in &facts.facts {
            self.raw("<div><dt>");
            self.escaped(&fact.label);
            match fact.mark {
                Some(mark) => {
                    self.raw(&format!("</dt><dd class=\"judged-{}\">{} ", mark.name(), mark.sign()))
                }
                None => self.raw("</dt><dd>"),
            }
            self.escaped(&fact.display());
            self.raw("</dd>");
            if !fact.hint.is_empty() {
                self.raw("<dd class=\"hint\">");
                self.escaped(&fact.hint);
                self.raw("</dd>");
            }
            self.raw("</div>");
        }
        self.raw("</dl>\n");
    }

    fn findings(&mut self, findings: &Findings) {
        self.heading(3, &findings.title);
        self.paragraph("soft", &findings.caption);
        if findings.findings.is_empty() {
            return self.paragraph("", &findings.empty);
        }
        self.raw("<ol class=\"findings\">");
        for finding in &findings.findings {
            self.raw("<li>");
            self.escaped(&findings.line(finding));
            self.raw("<br><span class=\"soft\">");
            for (at, fact) in finding.further_evidence(None).enumerate() {
                self.raw(if at > 0 { " · " } else { "" });
                self.escaped(&fact.label);
                self.raw(" ");
                self.escaped(&fact.display());
            }
            self.raw("</span>");
            if let Some(rows) = &finding.rows {
                self.raw(" <a class=\"soft\" href=\"#");
                self.escaped(&rows.report);
                self.raw(".");
                self.escaped(&rows.table);
                self.raw("\">");
                self.escaped(&rows.label);
                self.raw("</a>");
            }
            self.raw("</li>\n");
        }
        self.raw("</ol>\n");
    }

    fn chart(&mut self, chart: &Chart) {
        let scene = layout(chart, CHART_WIDTH);
        self.heading(3, &chart.title);
        self.paragraph("soft", &chart.caption);
        // Scrollable in narrow windows, also by keyboard.
        self.raw("<figure tabindex=\"0\">");
        if !scene.legend.is_empty() {
            self.raw("<ul class=\"legend\">");
            for (name, tone) in &scene.legend {
                self.raw("<li><svg viewBox=\"0 0 12 12\" aria-hidden=\"true\"><rect width=\"12\" height=\"12\" class=\"");
                self.raw(&tone_name(*tone));
                self.raw("\"/></svg> ");
                self.escaped(name);
                self.raw("</li>");
            }
            self.raw("</ul>");
        }
        svg::write_in_page(&scene, &chart.title, &mut self.text);
        self.raw("</figure>\n");
    }

    fn table(&mut self, table: &Table, report: &str) -> io::Result<()> {
        self.raw("<h3 id=\"");
        self.escaped(report);
        self.raw(".");
        self.escaped(&table.id);
        self.raw("\">");
        self.escaped(&table.title);
        self.raw("</h3>\n");
        self.paragraph("soft", &table.caption);
        let n_rows = table.n_rows();
        if n_rows == 0 {
            self.paragraph("", if table.empty.is_empty() { "No rows." } else { &table.empty });
            return Ok(());
        }
        // Scrollable, also by keyboard.
        self.raw("<div class=\"frame\" tabindex=\"0\" role=\"region\" aria-label=\"");
        self.escaped(&table.title);
        self.raw("\"><table><thead><tr>");
        for (at, column) in table.columns.iter().enumerate() {
            self.raw("<th scope=\"col\"");
            if let Some(sort) = table.sort.filter(|sort| sort.column as usize == at) {
                let order = if sort.descending { "descending" } else { "ascending" };
                self.raw(&format!(" aria-sort=\"{order}\""));
            }
            self.raw(if column.cells.is_numeric() { " class=\"number\"" } else { "" });
            if !column.hint.is_empty() {
                self.raw(" title=\"");
                self.escaped(&column.hint);
                self.raw("\"");
            }
            self.raw(">");
            self.escaped(&column.label);
            self.raw("</th>");
        }
        self.raw("</tr></thead><tbody>\n");
        let marks = self.notes.on_table(report, table);
        let mut marks = marks.iter().peekable();
        let (mut n_shown, mut n_marked) = (0, 0);
        for row in 0..n_rows {
            // Both are ascending.
            let notes = marks.next_if(|(marked, _)| *marked == row).map_or(&[][..], |(_, notes)| notes);
            let is_cut = row >= MAX_ROWS || (self.n_table_bytes > MAX_TABLE_BYTES && row >= FEW_ROWS);
            n_marked += usize::from(is_cut && !notes.is_empty());
            // Rows with notes are included, unless a single note is on very many.
            if is_cut && (notes.is_empty() || n_marked > MAX_MARKED_ROWS) {
                continue;
            }
            n_shown += 1;
            self.flush()?;
            self.raw("<tr");
            if !notes.is_empty() {
                self.raw(" id=\"");
                self.row_id(report, &table.id, row);
                self.raw("\"");
            }
            self.raw(">");
            for (at, column) in table.columns.iter().enumerate() {
                let is_marked = at == 0 && !notes.is_empty();
                let value = column.cells.get(row);
                let text = text::shortened(&cell_text(&value, column.unit, &column.label), MAX_LETTERS);
                if matches!(value, Value::Text(_)) {
                    self.raw("<td class=\"text\"");
                    if is_marked {
                        // Sort by the plain text, without the note links.
                        self.raw(" data-v=\"");
                        self.escaped(&text);
                        self.raw("\"");
                    }
                    if text.len() > LETTERS_THAT_SHOW {
                        self.raw(" title=\"");
                        self.escaped(&text);
                        self.raw("\"");
                    }
                    self.raw(">");
                } else if column.cells.is_numeric() {
                    self.raw("<td class=\"number\" data-v=\"");
                    self.escaped(&value.plain());
                    self.raw("\">");
                } else {
                    self.raw("<td>");
                }
                if is_marked {
                    self.marks(notes);
                }
                self.escaped(&text);
                self.raw("</td>");
            }
            self.raw("</tr>\n");
            self.n_table_bytes += self.text.len();
        }
        self.raw("</tbody></table></div>\n");
        let n_left_out = (n_rows - n_shown) as u64 + table.n_left_out;
        if n_left_out > 0 {
            let n = group_digits(i128::from(n_left_out));
            self.paragraph(
                "left-out",
                &format!("{n} more {} not shown.", if n_left_out == 1 { "row" } else { "rows" }),
            );
        }
        Ok(())
    }
}

/// Report, table and number of the first row of each note.
fn first_rows(notes: &Notes, reports: &[Report]) -> Vec<Option<(String, String, usize)>> {
    let mut places = vec![None; notes.list.len()];
    for (report, table) in reports.iter().flat_map(|report| report.tables().map(move |table| (report, table)))
    {
        for (row, on_it) in notes.on_table(&report.id, table) {
            for number in on_it {
                places[number].get_or_insert((report.id.to_string(), table.id.to_string(), row));
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_in_rfc_4648() {
        for (text, wanted) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(text.as_bytes()), wanted);
        }
    }

    #[test]
    fn style_and_script_end_nothing_early() {
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</"));
    }
}

//! A report as an SVG image, for a wiki, a README or a mail. It has no style sheets or URLs, and no scripts but that of flame
//! graphs; all text is escaped and cut to fit.
//!
//! The image shows the first report. `tracedrop report --report ID --format svg` selects another.

use super::{ExporterInfo, Input, LeftOut, TextsIn, WriteFn, always};
use crate::base::text::{shortened, visible};
use crate::base::units::counted;
use crate::report::chart::Plot;
use crate::report::{Block, Chart, Facts, Findings, NoteLevel, Report, Table};
use crate::scene::{layout, svg};
use std::fmt::Write as _;
use std::io::{self, Write};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "svg",
    title: "SVG image of the first report",
    extension: "svg",
    media_type: "image/svg+xml",
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

/// Lengths in CSS pixels.
const WIDTH: f64 = 800.0;
const MARGIN: f64 = 24.0;
const INNER: f64 = WIDTH - 2.0 * MARGIN;
/// Upper bound on the typical width of a character.
const LETTER: f64 = 6.6;
const LINE: f64 = 18.0;

/// Limits by kind of block.
const MAX_FACTS: usize = 9;
const MAX_FINDINGS: usize = 5;
const MAX_CHARTS: usize = 2;
const MAX_TABLES: usize = 1;
const MAX_ROWS: usize = 10;
const MAX_COLUMNS: usize = 5;
const MAX_LINES: usize = 4;

const INK: &str = "#16202c";
const SOFT: &str = "#4f5c6b";
const RULE: &str = "#e0e5eb";

fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = input.document;
    let title = if document.title.is_empty() { "Trace" } else { &document.title };
    let report = document.reports.first().unwrap_or(&document.ledger);
    let mut picture = Picture { marks: String::new(), y: MARGIN };
    picture.heading(&report.title, 20.0);
    picture.line(title, SOFT, "");
    picture.space(6.0);
    picture.report(report);
    picture.space(6.0);
    let more = document.reports.len().saturating_sub(1);
    let more = match more {
        0 => String::new(),
        n => format!("; {} not shown", counted(n as u64, "more report", "more reports")),
    };
    picture.line(&format!("Made by Tracedrop{more}"), SOFT, "");
    let height = (picture.y + MARGIN - LINE / 2.0).ceil();
    let mut head = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        head,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img" font-family="system-ui, sans-serif" font-size="12"><title>"#
    );
    svg::push_text(&visible(&format!("{}: {title}", report.title)), &mut head);
    head.push_str(r##"</title><rect width="100%" height="100%" fill="#ffffff"/>"##);
    head.push('\n');
    out.write_all(head.as_bytes())?;
    if report.charts().any(svg::is_interactive) {
        svg::push_script(&mut picture.marks);
    }
    out.write_all(picture.marks.as_bytes())?;
    out.write_all(b"</svg>\n")
}

/// An image that grows from top to bottom.
struct Picture {
    marks: String,
    /// Position of the next line.
    y: f64,
}

impl Picture {
    fn space(&mut self, px: f64) {
        self.y += px;
    }

    fn text(&mut self, x: f64, y: f64, color: &str, attributes: &str, text: &str) {
        let _ = write!(self.marks, r#"<text x="{x:.1}" y="{y:.1}" fill="{color}"{attributes}>"#);
        svg::push_text(&visible(text), &mut self.marks);
        self.marks.push_str("</text>\n");
    }

    /// Adds a text on its own line, cut to fit.
    fn line(&mut self, text: &str, color: &str, attributes: &str) {
        self.y += LINE;
        let text = shortened(text, (INNER / LETTER) as usize);
        self.text(MARGIN, self.y - 4.0, color, attributes, &text);
    }

    fn heading(&mut self, text: &str, px: f64) {
        self.y += px + 6.0;
        let text = shortened(text, (INNER / (px * 0.6)) as usize);
        let attributes = format!(r#" font-size="{px}" font-weight="600""#);
        self.text(MARGIN, self.y - 6.0, INK, &attributes, &text);
    }

    /// Adds a text on as many lines as needed, up to a limit.
    fn paragraph(&mut self, text: &str, color: &str) {
        let room = (INNER / LETTER) as usize;
        let mut lines = vec![String::new()];
        for word in text.split_whitespace() {
            let last = lines.len() - 1;
            if lines[last].is_empty() {
                lines[last].push_str(word);
            } else if lines[last].chars().count() + 1 + word.chars().count() <= room {
                lines[last].push(' ');
                lines[last].push_str(word);
            } else {
                lines.push(word.to_string());
            }
        }
        let is_cut = lines.len() > MAX_LINES;
        lines.truncate(MAX_LINES);
        if is_cut && let Some(last) = lines.last_mut() {
            last.push_str(" …");
        }
        lines.iter().filter(|line| !line.is_empty()).for_each(|line| self.line(line, color, ""));
    }

    fn report(&mut self, report: &Report) {
        self.paragraph(&report.summary, INK);
        let (mut n_charts, mut n_tables) = (0, 0);
        for block in &report.blocks {
            match block {
                Block::Facts(facts) => self.facts(facts),
                Block::Findings(findings) => self.findings(findings),
                Block::Note(note) if note.level == NoteLevel::Warning => {
                    self.paragraph(&format!("Warning: {}", note.text), SOFT);
                }
                Block::Chart(chart) if n_charts < MAX_CHARTS => {
                    n_charts += 1;
                    self.chart(chart);
                }
                Block::Table(table) if n_tables < MAX_TABLES && table.n_rows() > 0 => {
                    n_tables += 1;
                    self.table(table);
                }
                Block::Note(_) | Block::Chart(_) | Block::Table(_) => {}
            }
        }
    }

    /// Facts in three columns.
    fn facts(&mut self, facts: &Facts) {
        const COLUMNS: usize = 3;
        let width = INNER / COLUMNS as f64;
        let room = (width / LETTER) as usize - 2;
        self.space(8.0);
        let shown = &facts.facts[..facts.facts.len().min(MAX_FACTS)];
        for row in shown.chunks(COLUMNS) {
            self.y += 2.0 * LINE + 6.0;
            for (at, fact) in row.iter().enumerate() {
                let x = MARGIN + width * at as f64;
                self.text(x, self.y - LINE - 6.0, SOFT, "", &shortened(&fact.label, room));
                let value = shortened(&fact.display(), room * 3 / 4);
                self.text(x, self.y - 6.0, INK, r#" font-size="15" font-weight="600""#, &value);
            }
        }
    }

    fn findings(&mut self, findings: &Findings) {
        self.heading(&findings.title, 14.0);
        if findings.findings.is_empty() {
            self.paragraph(&findings.empty, SOFT);
        }
        for (at, finding) in findings.findings.iter().take(MAX_FINDINGS).enumerate() {
            self.paragraph(&format!("{}. {}", at + 1, findings.line(finding)), INK);
            self.space(4.0);
        }
    }

    fn chart(&mut self, chart: &Chart) {
        let scene = layout(chart, INNER);
        self.heading(&chart.title, 14.0);
        // Nothing else says what widths and colors are.
        if matches!(chart.plot, Plot::Flame(_)) {
            self.paragraph(&chart.caption, SOFT);
        }
        if !scene.legend.is_empty() {
            self.y += LINE;
            let mut x = MARGIN;
            for (name, tone) in &scene.legend {
                let name = shortened(name, 28);
                let _ = write!(
                    self.marks,
                    r#"<rect x="{x:.1}" y="{:.1}" width="10" height="10" fill="{}"/>"#,
                    self.y - 13.0,
                    svg::color(*tone).0
                );
                self.text(x + 15.0, self.y - 4.0, SOFT, "", &name);
                x += 30.0 + name.chars().count() as f64 * LETTER;
                if x > WIDTH - MARGIN - 120.0 {
                    break;
                }
            }
        }
        self.space(4.0);
        let _ = write!(self.marks, r#"<g transform="translate({MARGIN} {:.1})">"#, self.y);
        svg::write(&scene, chart, &mut self.marks);
        self.marks.push_str("</g>\n");
        self.y += scene.height + 4.0;
    }

    /// The first rows and columns, with keys wider than numbers.
    fn table(&mut self, table: &Table) {
        self.heading(&table.title, 14.0);
        let columns = &table.columns[..table.columns.len().min(MAX_COLUMNS)];
        let weight = |is_numeric: bool| if is_numeric { 1.0 } else { 2.5 };
        let all: f64 = columns.iter().map(|column| weight(column.cells.is_numeric())).sum();
        let mut x = MARGIN;
        let top = self.y;
        let n_rows = table.n_rows().min(MAX_ROWS);
        for column in columns {
            let is_numeric = column.cells.is_numeric();
            let width = INNER * weight(is_numeric) / all;
            let room = ((width / LETTER) as usize).saturating_sub(2);
            let (at, anchor) = if is_numeric { (x + width - 8.0, r#" text-anchor="end""#) } else { (x, "") };
            self.text(at, top + LINE - 4.0, SOFT, anchor, &shortened(&column.label, room));
            for row in 0..n_rows {
                let value = shortened(&column.display(row), room);
                self.text(at, top + LINE * (row + 2) as f64 - 4.0, INK, anchor, &value);
            }
            x += width;
        }
        for row in 0..=n_rows {
            let y = top + LINE * (row + 1) as f64;
            let _ = writeln!(
                self.marks,
                r#"<line x1="{MARGIN}" y1="{y:.1}" x2="{:.1}" y2="{y:.1}" stroke="{RULE}"/>"#,
                WIDTH - MARGIN
            );
        }
        self.y = top + LINE * (n_rows + 1) as f64;
        let more = table.n_rows() as u64 + table.n_left_out - n_rows as u64;
        if more > 0 {
            self.line(&format!("and {}", counted(more, "more row", "more rows")), SOFT, "");
        }
    }
}

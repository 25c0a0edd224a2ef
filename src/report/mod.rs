//! Reports as typed blocks with units. Independent of traces and browsers.
//!
//! Sorting, filtering, copying, comparing and exporting are implemented once, over the columns of a [`Table`].

pub mod address_map;
pub mod amounts;
pub mod chart;
pub mod document;
pub mod facts;
pub mod findings;
pub mod notes;
pub mod of_file;
pub mod scroll;
pub mod table;
pub mod value;
pub mod view;

pub use amounts::Amounts;
pub use chart::Chart;
pub use document::Document;
pub use facts::{Fact, Facts, Mark, merged_files};
pub use findings::{Finding, Findings, RowsOf, Stakes};
pub use notes::{Anchor, Notes, Remark};
pub use table::{Cells, Column, Compared, Content, Sort, Table, TextCells, cell_text};
pub use value::Value;

use crate::base::sort;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// One report: a title and blocks in display order.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// `id` of the analysis.
    pub id: Cow<'static, str>,
    pub title: String,
    /// One-sentence summary, shown as the headline; may be empty.
    pub summary: String,
    pub blocks: Vec<Block>,
}

/// A part of a report.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Block {
    Facts(Facts),
    Table(Table),
    Note(Note),
    Findings(Findings),
    Chart(Chart),
}

/// Severity of a note.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum NoteLevel {
    /// Helps to interpret the numbers.
    Info,
    /// The numbers can be misleading without it.
    Warning,
}

/// A sentence or two.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Note {
    pub level: NoteLevel,
    pub text: String,
}

impl Report {
    pub fn new(id: &'static str, title: impl Into<String>) -> Report {
        Report { id: id.into(), title: title.into(), ..Report::default() }
    }

    /// Whether it shows or warns of anything: facts and remarks on nothing but empty tables are no content.
    pub fn has_content(&self) -> bool {
        let has_tables = self.tables().next().is_some();
        self.blocks.iter().any(|block| match block {
            Block::Table(table) => table.n_rows() > 0,
            Block::Facts(_) => !has_tables,
            Block::Note(note) => note.level == NoteLevel::Warning,
            Block::Findings(_) | Block::Chart(_) => true,
        })
    }

    /// Moves the warnings, in their order, before everything else: they limit what can be concluded from the rest.
    pub fn lead_with_warnings(&mut self) {
        let is_warning = |block: &Block| matches!(block, Block::Note(Note { level: NoteLevel::Warning, .. }));
        // Stable.
        sort::by_key(&mut self.blocks, |block| !is_warning(block));
    }

    /// Names the links of findings to tables of this report by the table alone: who reads it knows where they are.
    pub fn name_own_tables(&mut self) {
        let titles: Vec<(String, String)> =
            self.tables().map(|table| (table.id.to_string(), table.title.clone())).collect();
        for block in &mut self.blocks {
            let Block::Findings(findings) = block else { continue };
            for rows in findings.findings.iter_mut().filter_map(|finding| finding.rows.as_mut()) {
                let own = titles.iter().find(|(id, _)| *id == rows.table);
                if let Some((_, title)) = own.filter(|_| rows.report == self.id) {
                    rows.label.clone_from(title);
                }
            }
        }
    }

    pub fn info(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Note(Note { level: NoteLevel::Info, text: text.into() }));
    }

    pub fn warning(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Note(Note { level: NoteLevel::Warning, text: text.into() }));
    }

    pub fn facts(&mut self, facts: Facts) {
        self.blocks.push(Block::Facts(facts));
    }

    pub fn findings(&mut self, findings: Findings) {
        self.blocks.push(Block::Findings(findings));
    }

    /// Adds a table. If its id is taken, by the same table of another file, it gets a number: `metadata_2`, `metadata_3`.
    pub fn table(&mut self, mut table: Table) {
        let is_numbered = |other: &Table| {
            other.id.strip_prefix(&*table.id).is_some_and(|rest| {
                rest.strip_prefix('_').map_or(rest.is_empty(), |number| number.parse::<u64>().is_ok())
            })
        };
        if self.tables().any(|other| other.id == table.id) {
            // Starts behind those that have a number: runs may have a thousand files.
            let mut number = 1 + self.tables().filter(|other| is_numbered(other)).count();
            let mut id = format!("{}_{number}", table.id);
            while self.tables().any(|other| other.id == id) {
                number += 1;
                id = format!("{}_{number}", table.id);
            }
            table.id = id.into();
        }
        self.blocks.push(Block::Table(table));
    }

    pub fn chart(&mut self, chart: Chart) {
        self.blocks.push(Block::Chart(chart));
    }

    /// All blocks except charts, whose numbers are in tables, for text exports.
    pub fn written_blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| !matches!(block, Block::Chart(_)))
    }

    /// Which flame graphs text exports leave out, since no table has all of their numbers. `None` without any.
    pub fn undrawn(&self) -> Option<String> {
        let is_flame = |chart: &&Chart| matches!(chart.plot, chart::Plot::Flame(_));
        let titles: Vec<&str> = self.charts().filter(is_flame).map(|chart| chart.title.as_str()).collect();
        let (graphs, them) = if titles.len() == 1 { ("Flame graph", "it") } else { ("Flame graphs", "them") };
        (!titles.is_empty()).then(|| {
            format!("{graphs} not drawn here: {}. Export as HTML or SVG to see {them}.", titles.join("; "))
        })
    }

    /// The warnings, in display order.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Note(Note { level: NoteLevel::Warning, text }) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The charts, in display order.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Chart(chart) => Some(chart),
            _ => None,
        })
    }

    /// The tables, in display order.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        })
    }

    /// Its tables, to be changed.
    pub fn tables_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        self.blocks.iter_mut().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        })
    }
}

//! User annotations of a report: a custom title, and notes on rows, events, time ranges, or the whole trace.
//!
//! Plain data, independent of the page. A note on a row refers to the row's key values, not to its position, so that it stays
//! with the row after sorting, filtering, or reading the trace again. It applies to all rows with the same key.

use super::table::Table;
use super::value::Value;
use crate::base::units::{Unit, format_ns};
use crate::base::{secrets, text};
use crate::filter::exactly;
use serde::{Deserialize, Serialize};

/// Limit on the number of notes.
pub const MAX_NOTES: usize = 500;
/// Limits in characters on a note and on a title.
pub const MAX_TEXT_CHARS: usize = 4000;
pub const MAX_TITLE_CHARS: usize = 200;
/// Limit in characters on a cell in the description of a row: kernel names can have thousands.
const MAX_CELL_CHARS: usize = 120;
/// Limit on the key cells of a row.
const MAX_KEY_CELLS: usize = 64;

/// Title and notes of the user.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Notes {
    /// Custom title; empty for the default, the file names.
    pub title: String,
    pub list: Vec<Remark>,
}

/// One note.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Remark {
    pub on: Anchor,
    /// Text; may have several lines.
    pub text: String,
}

/// Target of a note.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Anchor {
    #[default]
    Whole,
    /// A table row, by ids of report and table and the key of the row; see [`row_key`].
    Row { report: String, table: String, key: Vec<KeyCell> },
    /// A time range in nanoseconds from the start of the trace, both ends inclusive.
    Range { from_ns: i64, to_ns: i64 },
    /// An event by name and start, in nanoseconds from the start of the trace.
    Event { name: String, at_ns: i64 },
}

/// `id` of a column, and its value formatted by [`Value::plain`].
pub type KeyCell = (String, String);

/// Properties of a column other than its cells.
#[derive(Clone, Copy, Debug)]
pub struct KeyColumn<'a> {
    pub id: &'a str,
    pub unit: Unit,
    pub is_key: bool,
}

/// Id of the column with a row's start on the timeline.
const START: &str = "start";

impl KeyColumn<'_> {
    fn is_start(&self) -> bool {
        self.id == START && self.unit == Unit::NsOffset
    }
}

/// Key of a row: its cells in key columns, and its start on the timeline, if any. All cells if the table has
/// neither.
pub fn row_key(columns: &[KeyColumn<'_>], value: &dyn Fn(usize) -> Value) -> Vec<KeyCell> {
    let names = |column: &KeyColumn<'_>| column.is_key || column.is_start();
    let takes_all = !columns.iter().any(names);
    let cells = columns.iter().enumerate().filter(|(_, column)| takes_all || names(column));
    cells.take(MAX_KEY_CELLS).map(|(at, column)| (column.id.to_string(), value(at).plain())).collect()
}

/// The event of a row: its first name, and its start. `None` for rows that are not events.
pub fn row_event(columns: &[KeyColumn<'_>], value: &dyn Fn(usize) -> Value) -> Option<(String, i64)> {
    let start = columns.iter().position(KeyColumn::is_start)?;
    let at_ns = match value(start) {
        Value::Unsigned(ns) => i64::try_from(ns).ok()?,
        Value::Integer(ns) => ns,
        _ => return None,
    };
    let is_name = |column: &KeyColumn<'_>| column.is_key || column.id == "name";
    let names = columns.iter().enumerate().filter(|(_, column)| is_name(column));
    names.map(|(at, _)| value(at)).find_map(|value| match value {
        Value::Text(name) => Some((name, at_ns)),
        _ => None,
    })
}

/// The columns of a table, for [`row_key`].
pub fn key_columns(table: &Table) -> Vec<KeyColumn<'_>> {
    let column = |column| {
        let super::Column { id, unit, key, .. }: &super::Column = column;
        KeyColumn { id, unit: *unit, is_key: *key }
    };
    table.columns.iter().map(column).collect()
}

/// Title of a table, and the units of its columns by id, for display.
pub struct TableWords {
    pub title: String,
    pub units: Vec<(String, Unit)>,
}

impl Notes {
    /// Whether there is neither a title nor a note.
    pub fn is_empty(&self) -> bool {
        self.title.is_empty() && self.list.is_empty()
    }

    /// The notes without the passwords, tokens and keys in what someone wrote, and how many there were; `None` if there are none.
    pub fn without_secrets(&self) -> Option<(Notes, u64)> {
        let (mut notes, mut n) = (self.clone(), 0);
        let texts = notes.list.iter_mut().map(|note| &mut note.text);
        for text in texts.chain([&mut notes.title]) {
            if let Some(without) = secrets::hide(text) {
                (*text, n) = (without.text, n + without.n);
            }
        }
        (n > 0).then_some((notes, n))
    }

    /// Difference to `others`: the number of additional notes, and whether there is a different title.
    pub fn beyond(&self, others: &Notes) -> (usize, bool) {
        let n_new = self.list.iter().filter(|note| !others.list.contains(note)).count();
        (n_new, !self.title.is_empty() && self.title != others.title)
    }

    /// All notes except those on rows of other reports.
    pub fn with_report(&self, id: &str) -> Notes {
        let mut notes = self.clone();
        notes.list.retain(|note| match &note.on {
            Anchor::Row { report, .. } => report == id,
            _ => true,
        });
        notes
    }

    /// Normalizes to the limits: trims and truncates texts, and drops empty notes.
    pub fn tidied(mut self) -> Notes {
        self.title = cut(self.title.trim(), MAX_TITLE_CHARS);
        for note in &mut self.list {
            note.text = cut(note.text.trim(), MAX_TEXT_CHARS);
            match &mut note.on {
                Anchor::Range { from_ns, to_ns } => {
                    (*from_ns, *to_ns) = (*from_ns.min(to_ns), *to_ns.max(from_ns))
                }
                Anchor::Row { key, .. } => key.truncate(MAX_KEY_CELLS),
                _ => {}
            }
        }
        self.list.retain(|note| !note.text.is_empty());
        self.list.truncate(MAX_NOTES);
        self
    }

    /// Numbers of the notes on a row, or on its event.
    pub fn on_row(
        &self,
        report: &str,
        table: &str,
        key: &[KeyCell],
        event: Option<&(String, i64)>,
    ) -> Vec<usize> {
        let is_here = |note: &Remark| match &note.on {
            Anchor::Row { report: of, table: in_table, key: with } => {
                of == report && in_table == table && with == key
            }
            Anchor::Event { name, at_ns } => event.is_some_and(|event| event.0 == *name && event.1 == *at_ns),
            Anchor::Whole | Anchor::Range { .. } => false,
        };
        let here = self.list.iter().enumerate().filter(|(_, note)| is_here(note));
        here.map(|(number, _)| number).collect()
    }

    /// Whether any row of that table can have a note.
    pub fn may_be_in(&self, report: &str, table: &str) -> bool {
        self.list.iter().any(|note| match &note.on {
            Anchor::Row { report: of, table: in_table, .. } => of == report && in_table == table,
            Anchor::Event { .. } => true,
            Anchor::Whole | Anchor::Range { .. } => false,
        })
    }

    /// Rows of a table with notes, and the numbers of those notes.
    pub fn on_table(&self, report: &str, table: &Table) -> Vec<(usize, Vec<usize>)> {
        let columns = key_columns(table);
        // Computing keys for every row is only worth it for tables with notes.
        let has_events = columns.iter().any(KeyColumn::is_start);
        let any = |is_it: &dyn Fn(&Anchor) -> bool| self.list.iter().any(|note| is_it(&note.on));
        let on_rows = any(
            &|on| matches!(on, Anchor::Row { report: of, table: in_table, .. } if of == report && *in_table == table.id),
        );
        let on_events = has_events && any(&|on| matches!(on, Anchor::Event { .. }));
        if !on_rows && !on_events {
            return Vec::new();
        }
        let rows = (0..table.n_rows()).map(|row| {
            let value =
                |at: usize| table.columns.get(at).map_or(Value::Missing, |column| column.cells.get(row));
            let event = if on_events { row_event(&columns, &value) } else { None };
            let key = if on_rows { row_key(&columns, &value) } else { Vec::new() };
            (row, self.on_row(report, &table.id, &key, event.as_ref()))
        });
        rows.filter(|(_, notes)| !notes.is_empty()).collect()
    }

    /// Merges the notes of others: notes that are new, and the title if there is none. Returns the number of
    /// notes beyond the limit.
    pub fn take_in(&mut self, others: &Notes) -> usize {
        if self.title.is_empty() {
            self.title = others.title.clone();
        }
        let new: Vec<Remark> = others.list.iter().filter(|note| !self.list.contains(note)).cloned().collect();
        self.list.extend(new);
        let n_left_out = self.list.len().saturating_sub(MAX_NOTES);
        self.list.truncate(MAX_NOTES);
        n_left_out
    }
}

impl Anchor {
    /// Description of the target. `find` looks up tables by ids of report and table.
    pub fn words(&self, find: &dyn Fn(&str, &str) -> Option<TableWords>) -> String {
        match self {
            Anchor::Whole => "the whole trace".to_string(),
            Anchor::Range { from_ns, to_ns } => format!("{} to {}", format_ns(*from_ns), format_ns(*to_ns)),
            Anchor::Event { name, at_ns } => {
                format!("{} at {}", text::shortened(name, MAX_CELL_CHARS), format_ns(*at_ns))
            }
            Anchor::Row { report, table, key } => {
                let table_words = find(report, table);
                let (title, units) = match &table_words {
                    Some(words) => (words.title.as_str(), words.units.as_slice()),
                    None => (table.as_str(), [].as_slice()),
                };
                let cell = |(id, value): &KeyCell| {
                    let unit = units.iter().find(|(known, _)| known == id).map(|(_, unit)| *unit);
                    match (unit, value.parse::<i64>()) {
                        (Some(Unit::NsOffset), Ok(ns)) => format!("at {}", format_ns(ns)),
                        _ => text::shortened(value, MAX_CELL_CHARS),
                    }
                };
                let cells: Vec<String> = key.iter().map(cell).filter(|text| !text.is_empty()).collect();
                format!("{title}: {}", cells.join(" · "))
            }
        }
    }

    /// Filter text that finds the row; `is_searched` selects the columns that filters search. Empty for other targets.
    pub fn filter(&self, is_searched: &dyn Fn(&str) -> bool) -> String {
        match self {
            Anchor::Row { key, .. } => {
                let cells = key.iter().filter(|(id, _)| is_searched(id));
                cells.map(|(_, value)| exactly(value)).collect::<Vec<_>>().join(" ")
            }
            Anchor::Event { name, .. } => exactly(name),
            Anchor::Whole | Anchor::Range { .. } => String::new(),
        }
    }
}

/// Table lookup for [`Anchor::words`] in `reports`.
pub fn words_in(reports: &[super::Report]) -> impl Fn(&str, &str) -> Option<TableWords> {
    move |report, table| {
        let report = reports.iter().find(|known| known.id == report)?;
        let table = report.tables().find(|known| known.id == table)?;
        let units = table.columns.iter().map(|column| (column.id.to_string(), column.unit));
        Some(TableWords { title: table.title.clone(), units: units.collect() })
    }
}

fn cut(text: &str, max_chars: usize) -> String {
    let cut: String = text.chars().take(max_chars).collect();
    cut.trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Column, Content, Report};

    fn table() -> Table {
        let names = ["mm", "add", "mm"];
        Table::new(
            "longest",
            "Longest slices",
            vec![
                Column::key("name", "name", Content::Symbol, names.into_iter().collect()),
                Column::integer("start", "start", Unit::NsOffset, vec![Some(5), Some(7), Some(9)]),
                Column::unsigned("dur", "duration", Unit::Ns, vec![Some(3), Some(2), Some(1)]),
            ],
        )
    }

    fn on_row(table: &Table, row: usize) -> Anchor {
        let columns = key_columns(table);
        let key = row_key(&columns, &|at| table.columns[at].cells.get(row));
        Anchor::Row { report: "r".to_string(), table: table.id.to_string(), key }
    }

    #[test]
    fn notes_find_their_rows() {
        let table = table();
        let event = Anchor::Event { name: "mm".to_string(), at_ns: 5 };
        let note = |on| Remark { on, text: "why?".to_string() };
        let notes = Notes {
            title: String::new(),
            list: vec![note(on_row(&table, 2)), note(event), note(Anchor::Whole)],
        };
        assert_eq!(notes.on_table("r", &table), [(0, vec![1]), (2, vec![0])]);
        assert_eq!(notes.on_table("other", &table), [(0, vec![1])]);
        let on_rows_alone = Notes { title: String::new(), list: vec![note(on_row(&table, 2))] };
        assert_eq!(on_rows_alone.on_table("r", &table), [(2, vec![0])]);
        assert_eq!(on_rows_alone.on_table("other", &table), []);
        let mut report = Report::new("r", "R");
        report.table(table.clone());
        let reports = [report];
        assert_eq!(on_row(&table, 2).words(&words_in(&reports)), "Longest slices: mm · at 9 ns");
        assert_eq!(on_row(&table, 2).words(&|_, _| None), "longest: mm · 9");
        // Rows of a table without key columns are identified by all cells.
        let unnamed =
            Table::new("t", "T", vec![Column::unsigned("n", "n", Unit::Count, vec![Some(1), Some(2)])]);
        assert_eq!(
            row_key(&key_columns(&unnamed), &|at| unnamed.columns[at].cells.get(1)),
            [("n".to_string(), "2".to_string())]
        );
    }

    #[test]
    fn what_others_have_not_is_counted() {
        let note = |text: &str, on| Remark { on, text: text.to_string() };
        let (here, there) = (note("a", on_row(&table(), 1)), note("b", Anchor::Whole));
        let own = Notes { title: "T".to_string(), list: vec![here.clone(), there.clone()] };
        assert_eq!(own.beyond(&Notes::default()), (2, true));
        assert_eq!(own.beyond(&own), (0, false));
        assert_eq!(own.beyond(&own.with_report("other")), (1, false));
        assert_eq!(own.with_report("other").list, [there]);
        assert_eq!(own.with_report("r"), own);
        assert_eq!(Notes::default().beyond(&own), (0, false));
    }

    #[test]
    fn limits_hold_and_nothing_comes_twice() {
        let note = |text: &str, on| Remark { on, text: text.to_string() };
        let mut notes = Notes {
            title: format!(" {} ", "é".repeat(300)),
            list: vec![
                note("  ", Anchor::Whole),
                note(&"x".repeat(9000), Anchor::Range { from_ns: 9, to_ns: 3 }),
            ],
        }
        .tidied();
        assert_eq!(notes.title.chars().count(), MAX_TITLE_CHARS);
        assert_eq!(notes.list.len(), 1);
        assert_eq!(
            (notes.list[0].text.len(), &notes.list[0].on),
            (MAX_TEXT_CHARS, &Anchor::Range { from_ns: 3, to_ns: 9 })
        );
        let others = notes.clone();
        assert_eq!(notes.take_in(&others), 0);
        assert_eq!(notes, others);
        let list = (0..MAX_NOTES).map(|n| note(&n.to_string(), Anchor::Whole)).collect();
        assert_eq!(notes.take_in(&Notes { title: String::new(), list }), 1);
        assert_eq!(notes.list.len(), MAX_NOTES);
    }
}

//! Tables with typed columns.

use super::value::Value;
use crate::base::units::Unit;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A table of columns with equal length.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Table {
    /// Stable snake-case name, unique in its report; repeated tables have a number.
    pub id: Cow<'static, str>,
    pub title: String,
    /// What its amounts are of, if the report has tables of one kind whose amounts must not be added: a kind of weight. Else empty.
    pub of: String,
    /// Explanation of rows and counts; may be empty.
    pub caption: String,
    /// Text instead of an empty table, with the reason.
    pub empty: String,
    pub columns: Vec<Column>,
    /// Current order of the rows.
    pub sort: Option<Sort>,
    /// Number of rows left out of a very long table.
    pub n_left_out: u64,
}

/// Order by one column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sort {
    /// Index of the column.
    pub column: u32,
    pub descending: bool,
}

/// One column.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Column {
    /// Stable name in snake case, unique in its table.
    pub id: Cow<'static, str>,
    pub label: String,
    /// Explanation of the values; may be empty.
    pub hint: String,
    pub unit: Unit,
    /// Rows of two tables match by their key columns.
    pub key: bool,
    /// Whether to draw a bar for each value, relative to the largest in the column.
    pub bar: bool,
    /// How comparisons of two tables treat the values.
    pub compared: Compared,
    pub content: Content,
    pub cells: Cells,
}

/// Meaning of a column's texts, which decides how they are redacted. Numbers are [`Content::Plain`].
///
/// Redaction also finds names of code, paths, hosts and prompts in plain texts, but only as far as it knows their names or
/// recognizes their form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Content {
    /// Texts of Tracedrop, and texts of a trace without a better description.
    Plain,
    /// Names of code: functions, kernels, operators, events.
    Symbol,
    /// Values of event arguments: shapes, types, process groups.
    Argument,
    /// Arguments or records as they are in the file.
    Record,
    /// Values whose meaning is the name or key in their row.
    Value,
    /// Files, folders and libraries, whatever their form: `Makefile`, `libm`.
    Path,
}

/// Treatment of a column's values in a comparison of two tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Compared {
    /// Not compared: means, quantiles, shares.
    #[default]
    Not,
    /// Subtracts values of rows with the same key and shows texts side by side; the column has no total.
    ByRow,
    /// Like `ByRow`, and the rows are exhaustive, so that their sum is a total.
    AddsUp,
    /// Of a key: rows with different values are of different things, whose amounts must not be added: the memory of two GPUs.
    Apart,
    /// Whether values are exact, or lower bounds: those of the columns before that are compared by row.
    Exactness,
}

/// The values of a column.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Cells {
    Text(TextCells),
    Unsigned(Vec<Option<u64>>),
    Integer(Vec<Option<i64>>),
    Float(Vec<Option<f64>>),
    Bool(Vec<Option<bool>>),
}

/// Byte range of a text in the arena.
type Range = (usize, usize);

/// Text cells in one arena. Names and paths repeat in long columns, so recent ones are
/// deduplicated.
#[derive(Clone, Debug, Default)]
pub struct TextCells {
    arena: String,
    /// Byte range of each cell; [`MISSING`] for none.
    ranges: Vec<Range>,
    /// Recent texts in the slots given by [`slot_of`]; empty in short columns.
    recent: Vec<Range>,
}

const MISSING: Range = (usize::MAX, usize::MAX);
/// Shorter columns don't deduplicate.
const MIN_REMEMBERED: usize = 64;
/// A power of two.
const N_RECENT: usize = 1024;

/// Slot of a text, hashed from its length and both ends, where names usually differ.
fn slot_of(text: &[u8]) -> usize {
    let word = |bytes: Option<&[u8; 8]>| bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let (head, tail) = match text.len() {
        8.. => (word(text.first_chunk()), word(text.last_chunk())),
        _ => (text.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0),
    };
    let mixed = (head ^ tail.rotate_left(29) ^ text.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - N_RECENT.ilog2())) as usize
}

impl PartialEq for TextCells {
    fn eq(&self, other: &TextCells) -> bool {
        self.len() == other.len() && (0..self.len()).all(|row| self.get(row) == other.get(row))
    }
}

impl TextCells {
    pub fn push(&mut self, text: Option<&str>) {
        let range = text.map_or(MISSING, |text| self.place(text));
        self.ranges.push(range);
    }

    /// Stores a text; returns its range.
    fn place(&mut self, text: &str) -> Range {
        if self.ranges.len() < MIN_REMEMBERED {
            return self.append(text);
        }
        if self.recent.is_empty() {
            self.recent = vec![(0, 0); N_RECENT];
        }
        let slot = slot_of(text.as_bytes());
        let (start, end) = self.recent[slot];
        if self.arena.as_bytes()[start..end] == *text.as_bytes() {
            return (start, end);
        }
        let range = self.append(text);
        self.recent[slot] = range;
        range
    }

    fn append(&mut self, text: &str) -> Range {
        let start = self.arena.len();
        self.arena.push_str(text);
        (start, self.arena.len())
    }

    pub fn get(&self, row: usize) -> Option<&str> {
        match self.ranges[row] {
            MISSING => None,
            (start, end) => Some(&self.arena[start..end]),
        }
    }

    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

/// Serializes as a list of optional texts, independent of the arena layout.
impl Serialize for TextCells {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.len()).map(|row| self.get(row)))
    }
}

impl<'de> Deserialize<'de> for TextCells {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TextCells, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = TextCells;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of texts")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<TextCells, A::Error> {
                let mut cells = TextCells::default();
                while let Some(text) = texts.next_element::<Option<&str>>()? {
                    cells.push(text);
                }
                Ok(cells)
            }
        }
        deserializer.deserialize_seq(Texts)
    }
}

impl<'a> FromIterator<&'a str> for TextCells {
    fn from_iter<I: IntoIterator<Item = &'a str>>(texts: I) -> TextCells {
        let mut cells = TextCells::default();
        texts.into_iter().for_each(|text| cells.push(Some(text)));
        cells
    }
}

impl<'a> FromIterator<Option<&'a str>> for TextCells {
    fn from_iter<I: IntoIterator<Item = Option<&'a str>>>(texts: I) -> TextCells {
        let mut cells = TextCells::default();
        texts.into_iter().for_each(|text| cells.push(text));
        cells
    }
}

impl Cells {
    pub fn len(&self) -> usize {
        match self {
            Cells::Text(cells) => cells.len(),
            Cells::Unsigned(cells) => cells.len(),
            Cells::Integer(cells) => cells.len(),
            Cells::Float(cells) => cells.len(),
            Cells::Bool(cells) => cells.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, row: usize) -> Value {
        match self {
            Cells::Text(cells) => cells.get(row).into(),
            Cells::Unsigned(cells) => cells[row].into(),
            Cells::Integer(cells) => cells[row].into(),
            Cells::Float(cells) => cells[row].into(),
            Cells::Bool(cells) => cells[row].into(),
        }
    }

    /// The cells of these rows, in that order.
    fn with_rows(&self, rows: &[u32]) -> Cells {
        fn pick<T: Copy>(cells: &[Option<T>], rows: &[u32]) -> Vec<Option<T>> {
            rows.iter().map(|row| cells[*row as usize]).collect()
        }
        match self {
            Cells::Text(cells) => {
                let mut picked = TextCells::default();
                rows.iter().for_each(|row| picked.push(cells.get(*row as usize)));
                Cells::Text(picked)
            }
            Cells::Unsigned(cells) => Cells::Unsigned(pick(cells, rows)),
            Cells::Integer(cells) => Cells::Integer(pick(cells, rows)),
            Cells::Float(cells) => Cells::Float(pick(cells, rows)),
            Cells::Bool(cells) => Cells::Bool(pick(cells, rows)),
        }
    }

    /// Whether cells are right-aligned numbers.
    pub fn is_numeric(&self) -> bool {
        !matches!(self, Cells::Text(_) | Cells::Bool(_))
    }
}

/// Display text of a cell of the column with that label. Differences such as `B − A` have a sign if they are above 0 too.
pub fn cell_text(value: &Value, unit: Unit, label: &str) -> String {
    let text = value.display(unit);
    let is_more = label.contains(" − ") && value.as_f64().is_some_and(|number| number > 0.0);
    if is_more { format!("+{text}") } else { text }
}

impl Column {
    /// Display text of a cell.
    pub fn display(&self, row: usize) -> String {
        cell_text(&self.cells.get(row), self.unit, &self.label)
    }

    /// A text column that is part of the row key.
    pub fn key(id: &'static str, label: &str, content: Content, cells: TextCells) -> Column {
        Column { key: true, ..Column::text(id, label, content, cells) }
    }

    pub fn text(id: &'static str, label: &str, content: Content, cells: TextCells) -> Column {
        Column::new(id, label, Unit::None, content, Cells::Text(cells))
    }

    pub fn unsigned(id: &'static str, label: &str, unit: Unit, values: Vec<Option<u64>>) -> Column {
        Column::new(id, label, unit, Content::Plain, Cells::Unsigned(values))
    }

    pub fn counts(
        id: &'static str,
        label: &str,
        unit: Unit,
        values: impl IntoIterator<Item = u64>,
    ) -> Column {
        Column::unsigned(id, label, unit, values.into_iter().map(Some).collect())
    }

    pub fn integer(id: &'static str, label: &str, unit: Unit, values: Vec<Option<i64>>) -> Column {
        Column::new(id, label, unit, Content::Plain, Cells::Integer(values))
    }

    pub fn float(id: &'static str, label: &str, unit: Unit, values: Vec<Option<f64>>) -> Column {
        Column::new(id, label, unit, Content::Plain, Cells::Float(values))
    }

    pub fn bool(id: &'static str, label: &str, values: Vec<Option<bool>>) -> Column {
        Column::new(id, label, Unit::None, Content::Plain, Cells::Bool(values))
    }

    /// A column of any kind. `content` matters for text cells only.
    pub fn new(
        id: impl Into<Cow<'static, str>>,
        label: &str,
        unit: Unit,
        content: Content,
        cells: Cells,
    ) -> Column {
        Column {
            id: id.into(),
            label: label.to_string(),
            hint: String::new(),
            unit,
            key: false,
            bar: false,
            compared: Compared::Not,
            content,
            cells,
        }
    }

    pub fn hint(mut self, hint: &str) -> Column {
        self.hint = hint.to_string();
        self
    }

    pub fn with_bar(mut self) -> Column {
        self.bar = true;
        self
    }

    /// Marks a column whose values add up to a total; see [`Compared::AddsUp`]. Integers or milliseconds.
    pub fn adds_up(mut self) -> Column {
        self.compared = Compared::AddsUp;
        self
    }

    /// Marks a column whose values can be subtracted row by row; see [`Compared::ByRow`].
    pub fn by_row(mut self) -> Column {
        self.compared = Compared::ByRow;
        self
    }

    /// Marks a column that says which lower bounds are exact; see [`Compared::Exactness`].
    pub fn exactness(mut self) -> Column {
        self.compared = Compared::Exactness;
        self
    }

    /// Marks a key whose values are compared apart; see [`Compared::Apart`].
    pub fn apart(mut self) -> Column {
        self.compared = Compared::Apart;
        self
    }

    /// Marks a column that is part of the row key.
    pub fn as_key(mut self) -> Column {
        self.key = true;
        self
    }
}

impl Table {
    pub fn new(id: impl Into<Cow<'static, str>>, title: impl Into<String>, columns: Vec<Column>) -> Table {
        debug_assert!(columns.windows(2).all(|pair| pair[0].cells.len() == pair[1].cells.len()));
        Table { id: id.into(), title: title.into(), columns, ..Table::default() }
    }

    /// Declares that rows are sorted by column `id`.
    pub fn sorted_by(mut self, id: &str, descending: bool) -> Table {
        let column = self.columns.iter().position(|column| column.id == id);
        self.sort = column.map(|column| Sort { column: column as u32, descending });
        self
    }

    pub fn caption(mut self, caption: impl Into<String>) -> Table {
        self.caption = caption.into();
        self
    }

    /// Says what the amounts are of; see [`Table::of`].
    pub fn of(mut self, of: impl Into<String>) -> Table {
        self.of = of.into();
        self
    }

    /// Whether the amounts of its rows add up: not if they are of several things; see [`Compared::Apart`].
    pub fn has_totals(&self) -> bool {
        let apart = self.columns.iter().filter(|column| column.compared == Compared::Apart);
        apart
            .map(|column| &column.cells)
            .all(|cells| (1..cells.len()).all(|row| cells.get(row) == cells.get(0)))
    }

    /// Excludes all columns from comparisons; see [`Compared::Not`].
    pub fn not_compared(mut self) -> Table {
        self.columns.iter_mut().for_each(|column| column.compared = Compared::Not);
        self
    }

    /// Sets the text shown instead of an empty table.
    pub fn if_empty(mut self, text: impl Into<String>) -> Table {
        self.empty = text.into();
        self
    }

    /// Whether invariants hold: columns of equal length, sorted by one of them.
    pub fn is_sound(&self) -> bool {
        self.columns.iter().all(|column| column.cells.len() == self.n_rows())
            && self.sort.is_none_or(|sort| (sort.column as usize) < self.columns.len())
    }

    pub fn n_rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// The same table with these of its rows, in that order.
    pub fn with_rows(&self, rows: &[u32]) -> Table {
        let columns = self
            .columns
            .iter()
            .map(|column| Column { cells: column.cells.with_rows(rows), ..column.clone() });
        Table { columns: columns.collect(), ..self.clone() }
    }

    pub fn column(&self, id: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn texts_come_back_as_they_were(
            texts in proptest::collection::vec(proptest::option::of("[a-cé]{0,12}"), 0..300),
        ) {
            let cells: TextCells = texts.iter().map(Option::as_deref).collect();
            prop_assert_eq!(cells.len(), texts.len());
            for (row, text) in texts.iter().enumerate() {
                prop_assert_eq!(cells.get(row), text.as_deref());
            }
        }
    }

    #[test]
    fn differences_have_a_sign() {
        let column =
            |label| Column::integer("x", label, Unit::Ns, vec![Some(76_250), Some(-500), Some(0), None]);
        let shown = |label| (0..4).map(|row| column(label).display(row)).collect::<Vec<_>>();
        assert_eq!(shown("B − A, per step"), ["+76.25 µs", "−500 ns", "0 ns", "–"]);
        assert_eq!(shown("B, per step"), ["76.25 µs", "−500 ns", "0 ns", "–"]);
    }

    #[test]
    fn names_that_come_again_are_there_once() {
        let names: Vec<String> = (0..20).map(|number| format!("/srv/app/module_{number}.py")).collect();
        let cells: TextCells = (0..10_000).map(|row| names[row % names.len()].as_str()).collect();
        assert!(cells.arena.len() < 100 * names[0].len());
        assert!((0..10_000).all(|row| cells.get(row) == Some(names[row % names.len()].as_str())));
        // The arena layout makes no difference.
        let again: TextCells = (0..10_000).map(|row| cells.get(row)).collect();
        assert_eq!(cells, again);
    }
}

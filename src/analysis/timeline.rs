//! Helpers shared by the reports on slices: extent of a trace, names across traces, columns.

use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::report::chart::Lines;
use crate::report::{Cells, Column, Content, Table, TextCells};
use crate::trace::{Run, Trace};

pub use crate::trace::labels::{key_text, process_label, shown, thread_label};

/// Row limit of tables; the rest is counted in [`Table::n_left_out`].
pub const MAX_ROWS: usize = 200_000;

/// Whether any trace of the run has rows on a time axis.
pub fn applies(run: &Run) -> bool {
    run.traces.iter().any(|trace| trace.extent().is_some())
}

/// Numbers that identify equal texts across the traces of a run.
#[derive(Default)]
pub struct Names<'a> {
    ids: HashMap<Option<&'a str>, u32>,
    texts: Vec<Option<&'a str>>,
    /// By string number of the current trace; `u32::MAX` where not yet looked up.
    current: Vec<u32>,
}

impl<'a> Names<'a> {
    /// Starts the next trace.
    pub fn start(&mut self, trace: &Trace) {
        self.current.clear();
        self.current.resize(trace.strings.len() + 1, u32::MAX);
    }

    /// The number of `id` of the trace that was started last.
    #[inline]
    pub fn get(&mut self, trace: &'a Trace, id: StringId) -> u32 {
        // The last slot stands for "no text".
        let slot = (id.0 as usize).min(self.current.len() - 1);
        match self.current[slot] {
            u32::MAX => self.look_up(trace, id, slot),
            number => number,
        }
    }

    fn look_up(&mut self, trace: &'a Trace, id: StringId, slot: usize) -> u32 {
        let number = self.number(trace.strings.get_opt(id));
        self.current[slot] = number;
        number
    }

    /// The number of a text.
    pub fn of_text(&mut self, text: &'a str) -> u32 {
        self.number(Some(text))
    }

    fn number(&mut self, text: Option<&'a str>) -> u32 {
        let next = self.texts.len() as u32;
        let number = *self.ids.entry(text).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        number
    }

    pub fn text(&self, number: u32) -> Option<&'a str> {
        self.texts.get(number as usize).copied().flatten()
    }
}

/// Builds a text column row by row.
pub fn texts<T: AsRef<str>>(cells: impl IntoIterator<Item = Option<T>>) -> TextCells {
    let mut column = TextCells::default();
    for cell in cells {
        column.push(cell.as_ref().map(AsRef::as_ref));
    }
    column
}

/// A column of signed integers without missing values.
pub fn integers(
    id: &'static str,
    label: &str,
    unit: crate::base::units::Unit,
    values: impl IntoIterator<Item = i64>,
) -> Column {
    Column::new(id, label, unit, Content::Plain, Cells::Integer(values.into_iter().map(Some).collect()))
}

/// The data of a line chart over time, one row per point: `name` is the column of line names, `value` the column of values,
/// which are integers.
pub fn over_time(
    id: impl Into<std::borrow::Cow<'static, str>>,
    title: String,
    lines: &Lines,
    [name, value]: [(&'static str, &str); 2],
) -> Table {
    let rows = || lines.lines.iter().flat_map(|line| line.points.iter().map(move |point| (line, point)));
    Table::new(
        id,
        title,
        vec![
            Column::key(name.0, name.1, Content::Plain, texts(rows().map(|row| Some(row.0.name.as_str())))),
            integers("start", "start", crate::base::units::Unit::NsOffset, rows().map(|row| row.1.0))
                .as_key(),
            integers(value.0, value.1, lines.unit, rows().map(|row| row.1.1 as i64)).with_bar(),
        ],
    )
    .caption("Each value applies until the next one. In long traces, it is the maximum of its time bin.")
}

/// Truncates `rows` to [`MAX_ROWS`]; returns how many were dropped.
pub fn cut<T>(rows: &mut Vec<T>) -> u64 {
    let left_out = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    left_out as u64
}

/// Records in the table how many rows [`cut`] dropped.
pub fn with_left_out(mut table: Table, n_left_out: u64) -> Table {
    table.n_left_out = n_left_out;
    table
}

//! Which columns of a table show, how wide they are, and what a click on one sorts by.

use tracedrop::engine::protocol::{ColumnView, TableView};
use tracedrop::report::amounts::{Amounts, Basis, Scale};
use tracedrop::report::{Sort, cell_text};

/// Text columns are at most this wide, but for the one that grows; longer text loses its middle.
const MAX_TEXT_CHARS: usize = 28;
const MIN_CHARS: usize = 5;
/// Room for the arrow that shows the order.
const SORT_CHARS: usize = 3;
/// Numbers of later rows may be a little longer than those of the first.
const SPARE_CHARS: usize = 2;
/// Width of the column with the menus of rows.
pub const ACTIONS_REM: f64 = 2.0;
/// Width of a digit in pixels, of the padding of a cell, and the least that a growing column takes in characters.
const CHAR_PX: f64 = 7.8;
const CELL_PX: f64 = 26.0;
const LEAST_GROWN_CHARS: usize = 30;
/// Columns of a table in its own order that show however narrow it is; it scrolls sideways then.
const MIN_COLUMNS: usize = 3;
/// Pixels of 1 rem, about.
const PX_PER_REM: f64 = 16.0;

/// Places of the columns that fit into `room_px`, in their order, with that of the sort among them.
fn fitting(columns: &[ColumnView], chars: &[usize], sorted: Option<u32>, room_px: f64) -> Vec<usize> {
    let width = |at: usize| {
        let most = if columns[at].numeric { usize::MAX } else { LEAST_GROWN_CHARS };
        chars.get(at).copied().unwrap_or(0).min(most) as f64 * CHAR_PX + CELL_PX
    };
    let mut left = room_px - ACTIONS_REM * PX_PER_REM;
    let sorted = sorted.map(|at| at as usize).filter(|at| *at < columns.len());
    if let Some(at) = sorted {
        left -= width(at);
    }
    // With the sorted column beside the first one, a narrow table says what matters.
    let n_always = if sorted.is_some_and(|at| at > 0) { 1 } else { MIN_COLUMNS };
    let mut is_full = false;
    let fits = |at: &usize| {
        if Some(*at) == sorted {
            return true;
        }
        left -= width(*at);
        is_full |= left < 0.0 && *at >= n_always;
        !is_full
    };
    (0..columns.len()).filter(fits).collect()
}

/// Places of the columns that show: those that are chosen, else those that fit into `room_px`.
pub fn visible_columns(
    table: &TableView,
    scales: &[Scale],
    chosen: Option<&[String]>,
    sort: Option<Sort>,
    room_px: f64,
) -> Vec<usize> {
    let all = 0..table.columns.len();
    match chosen {
        Some(chosen) => all.filter(|at| chosen.contains(&table.columns[*at].id)).collect(),
        None if room_px > 0.0 => {
            let sorted = sort.or(table.sort).map(|sort| sort.column);
            fitting(&table.columns, &column_chars(table, scales), sorted, room_px)
        }
        None => all.collect(),
    }
}

pub fn same_columns(a: &[ColumnView], b: &[ColumnView]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.id == b.id)
}

/// How each column of a table is shown.
pub fn scales(table: &TableView, amounts: Amounts, n_steps: Option<u64>) -> Vec<Scale> {
    let is_whole = table.n_left_out == 0;
    let basis = |column: &ColumnView| Basis { total: column.total, is_whole, n_steps };
    table.columns.iter().map(|column| amounts.scale(basis(column))).collect()
}

/// The ways to show amounts that change a column; empty if none does, or if there is nothing to share a total.
pub fn amounts_of(table: &TableView, n_steps: Option<u64>) -> Vec<Amounts> {
    let changes =
        |amounts: &Amounts| scales(table, *amounts, n_steps).iter().any(|scale| *scale != Scale::AsIs);
    let mut offered: Vec<Amounts> = Amounts::ALL.into_iter().filter(changes).collect();
    if table.n_rows < 2 || offered.is_empty() {
        return Vec::new();
    }
    offered.insert(0, Amounts::Absolute);
    offered
}

/// Where a click on a column's header leads: one direction, the other one, the table's own order.
/// Numbers start with the largest, text with the first of the alphabet.
pub fn next_sort(now: Option<Sort>, own: Option<Sort>, column: u32, numeric: bool) -> Option<Sort> {
    let shown = now.or(own).filter(|sort| sort.column == column);
    match (now, shown) {
        // In the table's own order already: turn it.
        (None, Some(own)) => Some(Sort { column, descending: !own.descending }),
        (Some(now), Some(_)) if now.descending == numeric && own.is_none_or(|own| own.column != column) => {
            Some(Sort { column, descending: !now.descending })
        }
        (Some(_), Some(_)) => None,
        (_, None) => Some(Sort { column, descending: numeric }),
    }
}

/// Width of each column in characters, from its label and its first rows.
pub fn column_chars(table: &TableView, scales: &[Scale]) -> Vec<usize> {
    let scale = |at: usize| scales.get(at).copied().unwrap_or(Scale::AsIs);
    (0..table.columns.len()).map(|at| chars_of(table, at, scale(at))).collect()
}

/// Width in CSS: of one column, or the least of the one that grows. `--grow` says what fits the screen, and `--first` what
/// leaves room for a number beside the first column, which stays where it is while the others scroll.
pub fn column_width(at: usize, chars: usize, numeric: bool, grows: bool) -> String {
    let chars = if numeric || grows { chars } else { chars.min(MAX_TEXT_CHARS) };
    match (at, grows) {
        (0, true) => format!("calc(min({chars}ch, var(--grow), var(--first)) + var(--cell-gap))"),
        (0, false) => format!("calc(min({chars}ch, var(--first)) + var(--cell-gap))"),
        (_, true) => format!("calc(min({chars}ch, var(--grow)) + var(--cell-gap))"),
        (_, false) => format!("calc({chars}ch + var(--cell-gap))"),
    }
}

fn chars_of(table: &TableView, at: usize, scale: Scale) -> usize {
    let Some(column) = table.columns.get(at) else { return MIN_CHARS };
    let values = table.first.rows.iter().filter_map(|row| row.get(at));
    let longest = values
        .map(|value| cell_text(&scale.value(value), scale.unit(column.unit), &column.label).chars().count())
        .max()
        .unwrap_or(0);
    let longest = if column.numeric { longest + SPARE_CHARS } else { longest };
    longest.max(scale.label(&column.label).chars().count() + SORT_CHARS).max(MIN_CHARS)
}

/// The column that takes what room is left: the widest one of text.
pub fn growing_column(table: &TableView, chars: &[usize]) -> Option<usize> {
    (0..table.columns.len())
        .filter(|at| !table.columns[*at].numeric)
        .max_by_key(|at| (chars.get(*at).copied(), std::cmp::Reverse(*at)))
}

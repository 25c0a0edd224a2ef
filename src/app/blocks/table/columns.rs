//! Which columns of a table show, how wide they are, and what a click on one sorts by.

use tracedrop::engine::protocol::{ColumnView, TableView};
use tracedrop::report::amounts::{Amounts, Basis, Scale, has_share};
use tracedrop::report::{Sort, cell_text};

/// Text columns are at most this wide in characters while there is no room to spare; longer text loses its middle.
const MAX_TEXT_CHARS: usize = 28;
/// The same in a narrow box, so that numbers fit beside it.
const MAX_NARROW_CHARS: usize = 15;
/// A box below this width in pixels is narrow: a phone's.
const NARROW_PX: f64 = 560.0;
/// Text columns are at most this wide in characters where there is room.
const MAX_ROOMY_CHARS: usize = 90;
const MIN_CHARS: usize = 5;
/// Room for the arrow that shows the order.
const SORT_CHARS: usize = 3;
/// Numbers of later rows may be a little longer than those of the first.
const SPARE_CHARS: usize = 2;
/// Width of the column with the menus of rows.
pub const ACTIONS_REM: f64 = 2.0;
/// Columns of a table in its own order that show however narrow it is; it scrolls sideways then.
const MIN_COLUMNS: usize = 2;

/// The box of a table, in pixels. Its width is 0 until it is laid out.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Room {
    pub width: f64,
    /// Width of a digit (`1ch`).
    pub digit: f64,
    /// What a cell has besides its characters (`--cell-gap`).
    pub gap: f64,
    /// Width of the column with the menus of rows.
    pub actions: f64,
}

impl Room {
    pub fn is_narrow(&self) -> bool {
        self.width > 0.0 && self.width < NARROW_PX
    }

    /// Characters that a column gets while there is no room to spare.
    fn chars(&self, chars: usize, numeric: bool) -> usize {
        match numeric {
            true => chars,
            false => chars.min(if self.is_narrow() { MAX_NARROW_CHARS } else { MAX_TEXT_CHARS }),
        }
    }

    fn px(&self, chars: usize) -> f64 {
        chars as f64 * self.digit + self.gap
    }
}

/// Places of the columns that fit into the room, in their order, with that of the sort among them.
fn fitting(columns: &[ColumnView], chars: &[usize], sorted: Option<u32>, room: Room) -> Vec<usize> {
    let width = |at: usize| room.px(room.chars(chars.get(at).copied().unwrap_or(0), columns[at].numeric));
    let mut left = room.width - room.actions;
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
        // Numbers beside the name say more than further texts.
        if room.is_narrow() && *at > 0 && !columns[*at].numeric {
            return false;
        }
        left -= width(*at);
        is_full |= left < 0.0 && *at >= n_always;
        !is_full
    };
    (0..columns.len()).filter(fits).collect()
}

/// Places of the columns that show: those that are chosen, else those that fit into the room.
pub fn visible_columns(
    table: &TableView,
    scales: &[Scale],
    chosen: Option<&[String]>,
    sort: Option<Sort>,
    room: Room,
) -> Vec<usize> {
    let all = 0..table.columns.len();
    match chosen {
        Some(chosen) => all.filter(|at| chosen.contains(&table.columns[*at].id)).collect(),
        None if room.width > 0.0 => {
            let sorted = sort.or(table.sort).map(|sort| sort.column);
            fitting(&table.columns, &column_chars(table, scales), sorted, room)
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
    let labels = || table.columns.iter().map(|column| column.label.as_str());
    let basis = |column: &ColumnView| Basis {
        total: column.total,
        is_whole,
        n_steps,
        has_share: has_share(&column.label, labels()),
    };
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

/// Width in CSS of each visible column, and whether it takes what room is left. Where all text fits in full, no column does, so
/// that all share what is left.
pub fn column_widths(
    columns: &[ColumnView],
    chars: &[usize],
    visible: &[usize],
    room: Room,
) -> Vec<(String, bool)> {
    let of = |at: usize| {
        (chars.get(at).copied().unwrap_or(MIN_CHARS), columns.get(at).is_some_and(|it| it.numeric))
    };
    let roomy = |at: usize| match of(at) {
        (chars, true) => chars,
        (chars, false) => chars.min(MAX_ROOMY_CHARS),
    };
    let is_roomy = room.actions + visible.iter().map(|at| room.px(roomy(*at))).sum::<f64>() <= room.width;
    let growing = (!is_roomy).then(|| growing_column(columns, chars, visible)).flatten();
    let width = |at: usize| {
        let chars = match (is_roomy, of(at)) {
            (true, _) => roomy(at),
            (false, (chars, numeric)) => room.chars(chars, numeric),
        };
        (format!("calc({chars}ch + var(--cell-gap))"), growing == Some(at))
    };
    visible.iter().map(|at| width(*at)).collect()
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
fn growing_column(columns: &[ColumnView], chars: &[usize], visible: &[usize]) -> Option<usize> {
    let texts = visible.iter().copied().filter(|at| columns.get(*at).is_some_and(|column| !column.numeric));
    texts.max_by_key(|at| (chars.get(*at).copied(), std::cmp::Reverse(*at)))
}

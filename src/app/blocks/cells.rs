//! How wide a table's columns are and what stands in its cells.

use crate::app::widgets::Number;
use leptos::prelude::*;
use tracedrop::base::text;
use tracedrop::engine::protocol::{ColumnView, TableView};
use tracedrop::report::Value;

/// Text columns are at most this wide, but for the one that grows; longer text loses its middle.
const MAX_TEXT_CHARS: usize = 28;
const MIN_CHARS: usize = 5;
/// Room for the arrow that shows the order.
const SORT_CHARS: usize = 3;
/// Numbers of later rows may be a little longer than those of the first.
const SPARE_CHARS: usize = 2;
/// Text longer than this keeps its end when there is not enough room.
const KEEP_END_CHARS: usize = 20;
const END_CHARS: usize = 9;

/// Text out of a file as it may be shown.
pub fn text_of(text: &str) -> String {
    text::visible(text)
}

/// Width of each column in characters, from its label and its first rows.
pub fn column_chars(table: &TableView) -> Vec<usize> {
    (0..table.columns.len()).map(|at| chars_of(table, at)).collect()
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

fn chars_of(table: &TableView, at: usize) -> usize {
    let Some(column) = table.columns.get(at) else { return MIN_CHARS };
    let values = table.first.rows.iter().filter_map(|row| row.get(at));
    let longest = values.map(|value| value.display(column.unit).chars().count()).max().unwrap_or(0);
    let longest = if column.numeric { longest + SPARE_CHARS } else { longest };
    longest.max(column.label.chars().count() + SORT_CHARS).max(MIN_CHARS)
}

/// The column that takes what room is left: the widest one of text.
pub fn growing_column(table: &TableView, chars: &[usize]) -> Option<usize> {
    (0..table.columns.len())
        .filter(|at| !table.columns[*at].numeric)
        .max_by_key(|at| (chars.get(*at).copied(), std::cmp::Reverse(*at)))
}

/// One cell, of the column at that place. `max` is the largest value of the column, for its bar; `mark` stands at its end.
pub fn cell_view(
    at: usize,
    column: &ColumnView,
    value: Option<&Value>,
    max: f64,
    mark: Option<AnyView>,
) -> AnyView {
    let index = (at + 1).to_string();
    let Some(value) = value else { return view! { <td aria-colindex=index>{mark}</td> }.into_any() };
    match value {
        Value::Missing => view! {
            <td class="cell-missing" class:cell-number=column.numeric aria-colindex=index>
                {value.display(column.unit)}
                {mark}
            </td>
        }
        .into_any(),
        Value::Text(text) => text_cell(index, &text_of(text), mark),
        value if column.bar => {
            let share = bar_share(value, max);
            view! {
                <td class="cell-number cell-bar" style=("--share", share.to_string()) aria-colindex=index>
                    <Number text=value.display(column.unit) />
                    {mark}
                </td>
            }
            .into_any()
        }
        value => view! {
            <td class:cell-number=column.numeric aria-colindex=index>
                <Number text=value.display(column.unit) />
                {mark}
            </td>
        }
        .into_any(),
    }
}

/// Length of a bar, from 0 to 1.
fn bar_share(value: &Value, max: f64) -> f64 {
    let share = value.as_f64().unwrap_or(0.0) / max;
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
}

fn text_cell(index: String, text: &str, mark: Option<AnyView>) -> AnyView {
    let n_chars = text.chars().count();
    if n_chars <= KEEP_END_CHARS {
        return view! { <td class="cell-text" aria-colindex=index><bdi>{text.to_string()}</bdi> {mark}</td> }
            .into_any();
    }
    let cut = text.char_indices().nth(n_chars - END_CHARS).map_or(text.len(), |(at, _)| at);
    let (start, end) = text.split_at(cut);
    view! {
        <td class="cell-text" title=text.to_string() aria-colindex=index>
            <bdi class="cell-long">
                <span class="cell-start">{start.to_string()}</span>
                <span class="cell-end">{end.to_string()}</span>
            </bdi>
            {mark}
        </td>
    }
    .into_any()
}

//! What keys and the menu of a row do.

use super::state::State;
use crate::app::annotations::row_anchors;
use crate::app::browser;
use crate::app::state::has_place;
use crate::app::view_state::RowSet;
use crate::app::words::words;
use leptos::ev::KeyboardEvent;
use leptos::html;
use leptos::prelude::*;
use tracedrop::report::Value;
use tracedrop::report::scroll::Scroll;

/// Rows that page up and down move; not more than are drawn beyond the visible ones.
const PAGE_ROWS: u64 = 10;

pub fn focus_row(frame: NodeRef<html::Div>, row: u64) {
    if let Some(frame) = frame.get_untracked() {
        browser::focus_inside(&frame, &format!("tr[aria-rowindex='{}']", row + 2));
    }
}

/// What a key does on a row that has the focus; false if nothing.
pub fn press_on_row(state: State, frame: NodeRef<html::Div>, row: u64, event: &KeyboardEvent) -> bool {
    if event.alt_key() || event.ctrl_key() || event.meta_key() {
        return false;
    }
    let n_rows = state.rows.with_untracked(|rows| rows.n_matching);
    let to = match event.key().as_str() {
        "ArrowDown" => (row + 1).min(n_rows.saturating_sub(1)),
        "ArrowUp" => row.saturating_sub(1),
        "PageDown" => (row + PAGE_ROWS).min(n_rows.saturating_sub(1)),
        "PageUp" => row.saturating_sub(PAGE_ROWS),
        "Home" => 0,
        "End" => n_rows.saturating_sub(1),
        " " => {
            state.select_row(row, true, event.shift_key());
            return true;
        }
        "Enter" => {
            let at =
                frame.get_untracked().and_then(|frame| browser::spot_of_focus(&frame)).unwrap_or_default();
            state.menu.set(Some((row, at)));
            return true;
        }
        "Escape" if state.selected.with_untracked(|rows| !rows.is_empty()) => {
            state.select(RowSet::default());
            return true;
        }
        _ => return false,
    };
    if event.shift_key() {
        state.select_on_the_way(row, to);
    }
    lead_to_row(state, frame, to);
    true
}

/// Focuses a row that may be far from the visible ones.
fn lead_to_row(state: State, frame: NodeRef<html::Div>, row: u64) {
    if state.scroll.with_untracked(Scroll::drawn).contains(&row) {
        return focus_row(frame, row);
    }
    // Only the first and the last row are ever that far.
    let top = if row == 0 { 0.0 } else { state.scroll.with_untracked(Scroll::space_px) };
    state.scroll.update(|scroll| scroll.move_to(top));
    if let Some(frame) = frame.get_untracked() {
        browser::scroll_to(&frame, top);
    }
    state.ask(false);
    browser::after(0, move || focus_row(frame, row));
}

/// Actions of the menu of a row.
const COPY_ROW: &str = "copy-row";
const COPY_NAME: &str = "copy-name";
const FILTER: &str = "filter";
const NOTE: &str = "note";
const TIMELINE: &str = "timeline";
const TRACE: &str = "trace";

/// Report whose rows may name the file of a trace in a column, and that column.
const FLEET: (&str, &str) = ("fleet", "file");

/// What can be done with a row.
pub fn row_actions(state: State, can_filter: bool) -> Vec<(&'static str, &'static str)> {
    let words = &words().table;
    let mut items = vec![(COPY_ROW, words.copy_row), (COPY_NAME, words.copy_name)];
    if can_filter {
        items.push((FILTER, words.filter_by_row));
    }
    let has_place = state.table.with(|it| it.as_ref().is_some_and(|it| has_place(&it.columns)));
    if has_place && state.tab.has_timeline() {
        items.push((TIMELINE, words.show_in_timeline));
    }
    let has_file = state
        .table
        .with(|it| it.as_ref().is_some_and(|it| it.columns.iter().any(|column| column.id == FLEET.1)));
    if has_file && state.report.with_value(|report| report == FLEET.0) && state.tab.app.embed.is_none() {
        items.push((TRACE, words.open_trace));
    }
    if state.tab.app.embed.is_none() {
        items.push((NOTE, words.note_on_row));
    }
    items
}

pub fn act_on_row(state: State, row: u64, action: &str) {
    let (Some(table), Some(values)) = (state.table.get_untracked(), state.values_of(row)) else { return };
    let app = state.tab.app;
    let copy = move |text: String| {
        browser::copy_text(text, move |copied| match copied {
            true => app.say((words().table.copied)(1)),
            false => app.alert(words().table.not_copied.to_string()),
        });
    };
    match action {
        COPY_ROW => {
            let cells: Vec<String> = state
                .shown_values(&values)
                .iter()
                .map(|value| value.plain().replace(['\t', '\n', '\r'], " "))
                .collect();
            copy(cells.join("\t"));
        }
        COPY_NAME => {
            let at = table.columns.iter().position(|column| column.key).unwrap_or(0);
            copy(values.get(at).map(Value::plain).unwrap_or_default());
        }
        FILTER => {
            let anchors = row_anchors(&state.report.get_value(), &table.id, &table.columns, &values);
            let is_searched = |id: &str| {
                table.columns.iter().any(|column| column.id == id && (column.key || !column.numeric))
            };
            state.filter_by(anchors.row.filter(&is_searched));
        }
        TIMELINE => {
            state.tab.show_rows_in_timeline(&table.columns, &[values]);
        }
        TRACE => {
            let at = table.columns.iter().position(|column| column.id == FLEET.1);
            app.want_trace(at.and_then(|at| values.get(at)).map(Value::plain).unwrap_or_default(), None);
        }
        _ => state.write_on(Some(row)),
    }
}

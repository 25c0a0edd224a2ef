//! What is below the filter of a table: what is wrong with it, and columns to filter by.

use super::state::State;
use crate::app::erased::{Show, memo};
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::html;
use leptos::prelude::*;
use tracedrop::engine::protocol::ColumnView;
use tracedrop::report::view::WrongFilter;

/// Columns that the last word begins, each with what the whole filter would be.
fn suggestions(state: State, typed: &str) -> Vec<(String, String)> {
    let start = typed.rfind([' ', '|']).map_or(0, |at| at + 1);
    let (before, word) = typed.split_at(start);
    let (sign, word) = if let Some(rest) = word.strip_prefix('-') { ("-", rest) } else { ("", word) };
    if word.is_empty() || word.contains([':', '<', '>', '=', '"', '/']) {
        return Vec::new();
    }
    let word = word.to_lowercase();
    let is_it = |column: &&ColumnView| {
        column.id.to_lowercase().starts_with(&word) || column.label.to_lowercase().starts_with(&word)
    };
    state.table.with(|table| {
        let columns = table.iter().flat_map(|table| &table.columns).filter(is_it);
        let whole = |column: &ColumnView| {
            let test = format!("{}{}", column.id, if column.numeric { ">" } else { ":" });
            (test.clone(), format!("{before}{sign}{test}"))
        };
        columns.map(whole).collect()
    })
}

/// What is wrong with the filter, below its box.
#[component]
pub fn FilterHelp(state: State, field: NodeRef<html::Input>, filter: Callback<String>) -> impl IntoView {
    let choose = move |text: String| {
        filter.run(text);
        if let Some(field) = field.get_untracked() {
            let _ = field.focus();
        }
    };
    let wrong = move || {
        state.filter.with(|filter| filter.problem().cloned()).map(|WrongFilter { from, to, what }| {
            let typed = state.query.with_untracked(|query| query.filter.clone());
            let part = typed.get(from as usize..to as usize).unwrap_or_default().to_string();
            view! {
                <Icon shape=Shape::Alert />
                <span>
                    <code><bdi>{part}</bdi></code> " " {what} " "
                    <button type="button" class="link" on:click=move |_| choose(String::new())>
                        {words().table.clear_filter}
                    </button>
                </span>
            }
        })
    };
    let offered = memo(move || suggestions(state, &state.typed.get()));
    view! {
        <p class="filter-wrong" role="status">{wrong}</p>
        <Show when=move || offered.with(|offered| !offered.is_empty())>
            <p class="filter-offers">
                <span class="off-screen">{words().table.filter_columns}</span>
                {move || {
                    offered
                        .get()
                        .into_iter()
                        .map(|(label, text)| {
                            view! { <button type="button" class="chip" on:click=move |_| choose(text.clone())>{label}</button> }
                        })
                        .collect_view()
                }}
            </p>
        </Show>
    }
}

//! The header of a column: sorts by it, and explains it.

use super::state::State;
use crate::app::browser;
use crate::app::erased::memo;
use crate::app::state::{Tip, app};
use crate::app::widgets::{Icon, Shape};
use leptos::html;
use leptos::prelude::*;

#[component]
pub fn HeaderCell(
    state: State,
    at: u32,
    label: String,
    hint: String,
    numeric: bool,
    /// The colour of the side that the column is of.
    side: Option<&'static str>,
) -> impl IntoView {
    let own = move || state.table.with(|table| table.as_ref().and_then(|table| table.sort));
    let order = memo(move || {
        let sort = state.query.with(|query| query.sort).or_else(own);
        sort.filter(|sort| sort.column == at).map(|sort| sort.descending)
    });
    let button = NodeRef::<html::Button>::new();
    let has_hint = !hint.is_empty();
    let shown_hint = hint.clone();
    let explain = move || {
        if let (true, Some(button)) = (has_hint, button.get_untracked()) {
            app().tip.set(Some(Tip { text: shown_hint.clone(), at: browser::spot_below(&button) }));
        }
    };
    let explain_too = explain.clone();
    let hush = move || app().tip.set(None);
    view! {
        <th
            scope="col"
            aria-colindex=(at + 1).to_string()
            class=side.unwrap_or_default()
            class:cell-number=numeric
            aria-sort=move || match order.get() {
                Some(true) => "descending",
                Some(false) => "ascending",
                None => "none",
            }
        >
            <button
                type="button"
                class="sort"
                class:sort-hint=has_hint
                aria-description=has_hint.then(|| hint.clone())
                node_ref=button
                on:click=move |_| state.sort_by(at)
                on:mouseenter=move |_| explain()
                on:focus=move |_| explain_too()
                on:mouseleave=move |_| hush()
                on:blur=move |_| hush()
            >
                <span class="sort-label">{label}</span>
                {move || {
                    let shape = match order.get() {
                        Some(true) => Shape::Descending,
                        Some(false) => Shape::Ascending,
                        None => Shape::Sort,
                    };
                    view! { <span class="sort-arrow" class:sort-on=order.get().is_some()><Icon shape /></span> }
                }}
            </button>
        </th>
    }
}

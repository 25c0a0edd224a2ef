//! Where someone puts lines before a table that comes along.

use crate::app::browser;
use crate::app::own_table::OwnTable;
use crate::app::state::Tab;
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::analysis::Query;

/// A place to write lines, closed until someone opens it.
#[component]
pub fn OwnTableEditor(tab: Tab, table: OwnTable, #[prop(into)] query: Signal<Query>) -> impl IntoView {
    let draft = RwSignal::new(query.with_untracked(|query| table.text_of(query)));
    let in_use = Memo::new(move |_| query.with(|query| table.text_of(query)));
    let is_changed = move || draft.with(|draft| in_use.with(|in_use| draft != in_use));
    let apply = move |text: String| {
        browser::remember(table.key(), (!text.trim().is_empty()).then_some(text.as_str()));
        tab.set_query(table.put(query.get_untracked(), text));
    };
    view! {
        <details class="own-table" open=in_use.with_untracked(|text| !text.is_empty())>
            <summary>{table.title()}</summary>
            <label>
                <span>{table.explanation()}</span>
                <textarea
                    rows="5"
                    spellcheck="false"
                    placeholder=table.example()
                    prop:value=move || draft.get()
                    on:input:target=move |event| draft.set(event.target().value())
                ></textarea>
            </label>
            <div class="own-table-actions">
                <button class="button" disabled=move || !is_changed() on:click=move |_| apply(draft.get_untracked())>
                    {words().own_apply}
                </button>
                <button
                    class="button"
                    disabled=move || draft.with(String::is_empty) && in_use.with(String::is_empty)
                    on:click=move |_| {
                        draft.set(String::new());
                        apply(String::new());
                    }
                >
                    {words().own_clear}
                </button>
            </div>
        </details>
    }
}

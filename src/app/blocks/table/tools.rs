//! The line above a table: number of rows, how amounts are shown, filter, note, columns, copy.

use super::columns::amounts_of;
use super::filter_help::FilterHelp;
use super::state::{FilterState, State};
use crate::app::browser;
use crate::app::client::Answer;
use crate::app::erased::{Show, memo};
use crate::app::state::app;
use crate::app::widgets::{Icon, Menu, MenuItem, SearchField, Shape};
use crate::app::words::words;
use leptos::ev::KeyboardEvent;
use leptos::html;
use leptos::prelude::*;
use tracedrop::engine::protocol::{ColumnView, CopyFormat, Request};
use tracedrop::report::Amounts;

/// Typing pauses this long before rows are filtered.
const TYPING_MS: u32 = 140;

/// Filter, count and copy.
#[component]
pub fn TableTools(state: State, n_rows: Memo<u64>, long: Memo<bool>, title: Memo<String>) -> impl IntoView {
    let typed = state.typed;
    let field = NodeRef::<html::Input>::new();
    let pause = browser::Pause::new();
    let filter = move |text: String| {
        typed.set(text.clone());
        pause.start(TYPING_MS, move || state.filter_by(text));
    };
    let press = move |event: KeyboardEvent| {
        if event.key() == "Escape" {
            if typed.with_untracked(String::is_empty) {
                browser::blur();
            } else {
                filter(String::new());
            }
            event.prevent_default();
            event.stop_propagation();
        }
    };
    let filtered = memo(move || state.query.with(|query| !query.filter.trim().is_empty()));
    let n_matching = memo(move || state.rows.with(|rows| rows.n_matching));
    let copy = Callback::new(move |format: String| {
        let format = match format.as_str() {
            "markdown" => CopyFormat::Markdown,
            "csv" => CopyFormat::Csv,
            _ => CopyFormat::Tsv,
        };
        let Some(ask) = state.asking(state.usable_query()) else { return };
        let app = app();
        let amounts = state.amounts.get_untracked();
        state.tab.ask(
            move |ticket| Request::Copy { ticket, ask, format, amounts },
            move |answer| match answer {
                Answer::Copied { text, n_rows } => browser::copy_text(text, move |copied| match copied {
                    true => app.say((words().table.copied)(n_rows)),
                    false => app.alert(words().table.not_copied.to_string()),
                }),
                Answer::Refused(failure) => app.alert((words().export.refused)(&failure.what, &failure.hint)),
                _ => {}
            },
        );
    });
    let n_columns =
        memo(move || state.table.with(|table| table.as_ref().map_or(0, |table| table.columns.len())));
    let columns = Signal::derive(move || {
        let visible = state.visible.get();
        state.table.with(|table| {
            let columns = table.iter().flat_map(|table| table.columns.iter().enumerate());
            let item = |(at, column): (usize, &ColumnView)| MenuItem {
                id: column.id.clone(),
                label: column.label.clone(),
                checked: Some(visible.contains(&at)),
                ..MenuItem::default()
            };
            columns.map(item).collect::<Vec<_>>()
        })
    });
    let formats = words().table.copy_formats.map(|(id, label, detail)| MenuItem {
        id: id.to_string(),
        label: label.to_string(),
        detail: detail.to_string(),
        ..MenuItem::default()
    });
    view! {
        <div class="table-tools">
            <p class="table-count" role="status">
                {move || (words().table.rows_of)(filtered.get().then(|| n_matching.get()), n_rows.get())}
            </p>
            <AmountsSwitch state title />
            <Show when=move || long.get()>
                <SearchField
                    label=Signal::derive(move || (words().table.filter_table)(&title.get()))
                    placeholder=words().table.filter
                    text=typed
                    on_text=filter
                    on_key=press
                    key="/"
                    is_wrong=Signal::derive(move || state.filter.with(FilterState::is_wrong))
                    node_ref=field
                />
            </Show>
            <Show when=move || state.tab.app.embed.is_none()>
                <button
                    type="button"
                    class="button button-icon"
                    aria-label=move || (words().notes.write_on_table)(&title.get())
                    title=move || (words().notes.write_on_table)(&title.get())
                    on:click=move |_| state.write_on(None)
                >
                    <Icon shape=Shape::Note />
                </button>
            </Show>
            <Show when=move || { n_columns.get() > 1 }>
                <Menu
                    label=Signal::derive(move || (words().table.choose_columns)(&title.get()))
                    shape=Shape::Columns
                    icon_only=true
                    is_choice_of_many=true
                    items=columns
                    on_pick=Callback::new(move |id: String| state.toggle_column(&id))
                />
            </Show>
            <Menu
                label=Signal::derive(move || (words().table.copy_table)(&title.get()))
                shape=Shape::Copy
                icon_only=true
                items=Signal::stored(formats.to_vec())
                on_pick=copy
            />
            <Show when=move || long.get()>
                <FilterHelp state field filter=Callback::new(filter) />
            </Show>
        </div>
    }
}

/// Shows amounts as they are, as percent of their total, or per step.
#[component]
fn AmountsSwitch(state: State, title: Memo<String>) -> impl IntoView {
    let offered = memo(move || {
        state.table.with(|table| {
            table.as_ref().map(|table| amounts_of(table, state.n_steps.get())).unwrap_or_default()
        })
    });
    let button = move |amounts: Amounts| {
        let (label, hint) = (words().table.amounts_as)(amounts);
        view! {
            <button
                type="button"
                class="switch-choice"
                title=hint
                aria-pressed=move || (state.amounts.get() == amounts).to_string()
                on:click=move |_| state.show_amounts(amounts)
            >
                {label}
            </button>
        }
    };
    view! {
        <Show when=move || offered.with(|offered| !offered.is_empty())>
            <div class="switch" role="group" aria-label=move || (words().table.amounts)(&title.get())>
                {move || offered.get().into_iter().map(button).collect_view()}
            </div>
        </Show>
    }
}

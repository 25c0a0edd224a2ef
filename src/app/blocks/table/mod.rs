//! A table of any length: asks the worker for the rows that show, sorted and filtered there.

mod cells;
mod columns;
mod filter_help;
mod header_cell;
mod row_actions;
mod row_menu;
mod rows;
mod selected_rows;
mod state;
mod tools;

use crate::app::browser;
use crate::app::erased::{Show, effect, memo};
use crate::app::state::{FULL_ROWS, Tab};
use crate::app::view_state::RowSet;
use crate::app::words::words;
use columns::{Room, same_columns, visible_columns};
use leptos::html;
use leptos::prelude::*;
use rows::Rows;
use selected_rows::SelectedRows;
use state::{FilterState, State};
use std::sync::Arc;
use tools::TableTools;
use tracedrop::engine::protocol::TableView;
use tracedrop::report::scroll::Scroll;
use tracedrop::report::view::TableRows;

/// Height of a row, as `--row` in the style sheets.
const ROW_REM: f64 = 1.875;

#[component]
pub fn TableBlock(
    tab: Tab,
    /// `id` of the report it stands in.
    report: StoredValue<String>,
    table: Memo<Option<Arc<TableView>>>,
) -> impl IntoView {
    let first = table.get_untracked();
    let n_first = first.as_ref().map_or(0, |table| table.n_rows);
    let row_px = ROW_REM * browser::root_font_px();
    let sides = memo(move || {
        tab.document.with(|document| {
            let sides = document.as_ref()?.sides.as_ref()?;
            Some([sides.a.label.clone(), sides.b.label.clone()])
        })
    });
    let look = memo(move || {
        let id = table.with(|table| table.as_ref().map(|table| table.id.clone()))?;
        tab.app.view.with(|view| report.with_value(|report| view.tab(tab.id)?.look(report, &id).cloned()))
    });
    let query =
        memo(move || look.with(|look| look.as_ref().map(|look| look.query.clone()).unwrap_or_default()));
    let chosen = memo(move || look.with(|look| look.as_ref().and_then(|look| look.columns.clone())));
    let amounts = memo(move || look.with(|look| look.as_ref().map(|look| look.amounts).unwrap_or_default()));
    let n_steps =
        memo(move || tab.document.with(|document| document.as_ref().and_then(|document| document.n_steps)));
    let scales = memo(move || {
        table.with(|table| {
            table
                .as_ref()
                .map(|table| columns::scales(table, amounts.get(), n_steps.get()))
                .unwrap_or_default()
        })
    });
    let typed = RwSignal::new(query.with_untracked(|query| query.filter.clone()));
    let room = RwSignal::new(Room::default());
    let visible = memo(move || {
        let sort = query.with(|query| query.sort);
        table.with(|table| {
            let of = |table: &Arc<TableView>| {
                scales.with(|scales| {
                    chosen.with(|chosen| visible_columns(table, scales, chosen.as_deref(), sort, room.get()))
                })
            };
            table.as_ref().map(of).unwrap_or_default()
        })
    });
    let state = State {
        tab,
        report,
        sides,
        table,
        typed,
        query,
        rows: RwSignal::new(Arc::new(first.map_or_else(TableRows::default, |table| table.first.clone()))),
        scroll: RwSignal::new(Scroll::new(n_first, row_px, FULL_ROWS as f64 * row_px)),
        stale: RwSignal::new(false),
        filter: RwSignal::new(FilterState::Usable(String::new())),
        is_open: RwSignal::new(false),
        room,
        visible,
        amounts,
        n_steps,
        scales,
        selected: memo(move || {
            look.with(|look| look.as_ref().map(|look| look.rows.clone()).unwrap_or_default())
        }),
        current: RwSignal::new(0),
        range_start: RwSignal::new(0),
        menu: RwSignal::new(None),
        asked: StoredValue::new(None),
        again: StoredValue::new(false),
        landing: RwSignal::new(None),
    };
    let mut before: Option<Arc<TableView>> = None;
    effect(move || {
        let now = table.get();
        if let (Some(before), Some(now)) = (&before, &now)
            && !same_columns(&before.columns, &now.columns)
        {
            state.move_sort(&before.columns, &now.columns);
        }
        // Positions are of the rows that were there.
        if let (Some(before), Some(now)) = (&before, &now)
            && before != now
            && before.n_rows != now.n_rows
        {
            state.select(RowSet::default());
        }
        let query = state.query.get();
        // A filter is judged anew once it is another one.
        if let FilterState::Wrong { filter, before, .. } = state.filter.get_untracked()
            && filter != query.filter
        {
            state.filter.set(FilterState::Usable(before));
        }
        if let Some(table) = &now {
            state.refresh(table, &query);
        }
        before = now;
    });
    // Rows that came before their document.
    let revision =
        memo(move || tab.document.with(|document| document.as_ref().map(|document| document.revision)));
    effect(move || {
        revision.track();
        if state.stale.get_untracked() {
            state.ask(true);
        }
    });
    // Back and Forward, and what leads to rows, change the filter as well.
    effect(move || {
        let filter = query.with(|query| query.filter.clone());
        if typed.with_untracked(|typed| *typed != filter) {
            typed.set(filter);
        }
    });
    let n_rows = memo(move || table.with(|table| table.as_ref().map_or(0, |table| table.n_rows)));
    let long = memo(move || n_rows.get() > FULL_ROWS);
    let head = NodeRef::<html::H3>::new();
    effect(move || {
        // Its filter is set already, see [`Tab::lead_to`].
        let is_meant = tab.led_to.with(|rows| {
            rows.as_ref().is_some_and(|rows| {
                let is_this = |table: &Arc<TableView>| table.id == rows.table;
                report.with_value(|report| *report == rows.report)
                    && table.with_untracked(|table| table.as_ref().is_some_and(is_this))
            })
        });
        if let (true, Some(head)) = (is_meant, head.get()) {
            state.landing.set(tab.led_to.get_untracked().map(|rows| rows.filter));
            tab.led_to.set(None);
            browser::lead_to(&head);
        }
    });
    let text = move |of: fn(&TableView) -> &String| {
        table.with(|table| table.as_ref().map(|table| of(table).clone()).unwrap_or_default())
    };
    let title = memo(move || text(|table| &table.title));
    let caption = memo(move || text(|table| &table.caption));
    let empty = memo(move || text(|table| &table.empty));
    let left_out = memo(move || table.with(|table| table.as_ref().map_or(0, |table| table.n_left_out)));
    view! {
        <section class="table">
            <div class="table-head">
                <div class="table-titles">
                    <h3 node_ref=head tabindex="-1">
                        {title}
                    </h3>
                    <Show when=move || caption.with(|caption| !caption.is_empty())>
                        <p class="table-caption">{caption}</p>
                    </Show>
                </div>
                <Show when=move || n_rows.get() != 0>
                    <TableTools state n_rows long title />
                </Show>
            </div>
            <Show
                when=move || n_rows.get() != 0
                fallback=move || {
                    view! {
                        <p class="empty">
                            {move || empty.with(|text| if text.is_empty() { words().table.no_rows.to_string() } else { text.clone() })}
                        </p>
                    }
                }
            >
                <Rows state long title />
                <SelectedRows tab table scales selected=state.selected ask=Callback::new(move |()| state.asking(state.usable_query())) />
            </Show>
            <Show when=move || left_out.get() != 0>
                <p class="table-left-out">{move || (words().table.rows_left_out)(left_out.get())}</p>
            </Show>
        </section>
    }
}

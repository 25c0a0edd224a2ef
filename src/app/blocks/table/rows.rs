//! The box with the rows of a table.

use super::cells::cell_view;
use super::columns::{ACTIONS_REM, Room, column_chars, column_widths};
use super::header_cell::HeaderCell;
use super::row_actions::{act_on_row, focus_row, press_on_row, row_actions};
use super::row_menu::RowMenu;
use super::state::State;
use crate::app::annotations::Writing;
use crate::app::browser::{self, Local, Resizing};
use crate::app::erased::{For, Show, effect, effect_again, memo};
use crate::app::state::{FULL_ROWS, app};
use crate::app::view_state::RowSet;
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::html;
use leptos::prelude::*;
use tracedrop::base::text;
use tracedrop::engine::protocol::ColumnView;
use tracedrop::report::Value;
use tracedrop::report::amounts::Scale;
use tracedrop::report::scroll::Scroll;

/// As `--cell-gap` in the style sheets, for usual and narrow boxes.
const CELL_GAP_REM: f64 = 1.6;
const NARROW_GAP_REM: f64 = 0.8;

/// The box with the rows.
#[component]
pub fn Rows(state: State, long: Memo<bool>, title: Memo<String>) -> impl IntoView {
    let frame = NodeRef::<html::Div>::new();
    let head = NodeRef::<html::Thead>::new();
    let space = NodeRef::<html::Div>::new();
    let resizing: Local<Vec<Resizing>> = StoredValue::new_local(Vec::new());
    // There are columns beyond the right edge.
    let has_more = RwSignal::new(false);
    let look_right = move || {
        let more = frame.try_get_untracked().flatten().is_some_and(|frame| browser::has_more_right(&frame));
        if has_more.try_get_untracked().is_some_and(|before| before != more) {
            has_more.set(more);
        }
    };
    let measure = move || {
        if let Some(frame) = frame.try_get_untracked().flatten() {
            let width = browser::width_of(&frame);
            // A hidden one has no width.
            if width > 0.0
                && state.room.try_get_untracked().is_some_and(|before| (before.width - width).abs() >= 1.0)
            {
                state.room.set(room_of(width, |is_narrow| {
                    browser::set_class(&frame, "table-narrow", is_narrow);
                    browser::digit_px(&frame)
                }));
            }
        }
        look_right();
        let (Some(frame), Some(head)) =
            (frame.try_get_untracked().flatten(), head.try_get_untracked().flatten())
        else {
            return;
        };
        // A table that stands in full is as high as its rows.
        let screen_px = browser::size_of(&frame) - browser::size_of(&head);
        if long.get_untracked() && screen_px > 0.0 {
            state.scroll.update(|scroll| {
                let n_rows = scroll.n_rows();
                scroll.resize(n_rows, screen_px);
            });
            state.ask(false);
        }
    };
    frame.on_load(move |frame| {
        // It is measured as soon as it has been laid out.
        resizing.update_value(|resizing| resizing.push(browser::on_resize(&frame, measure)));
    });
    // Columns that come and go change its width.
    space.on_load(move |space| {
        resizing.update_value(|resizing| resizing.push(browser::on_resize(&space, look_right)));
    });
    // What led here meant one row, see [`Tab::lead_to`]: it is selected, and has the focus.
    effect(move || {
        let Some(filter) = state.landing.get() else { return };
        let is_there = !long.get() || !state.stale.get() && state.query.with(|query| query.filter == filter);
        if !is_there {
            return;
        }
        // Once: who looks at other rows later is not led back.
        state.landing.set(None);
        let found = move |values: &[Value]| {
            let at = state.rows.with_untracked(|rows| rows.rows.iter().position(|row| row == values));
            // A filtered table has only that row.
            let row = if long.get_untracked() { Some(0) } else { at.map(|at| at as u64) };
            let Some(row) = row else { return };
            state.select(RowSet::of(row..row + 1));
            state.current.set(row);
            browser::after(0, move || focus_row(frame, row));
        };
        state.ask_for_only(filter, found);
    });
    // Another order or filter starts at the top.
    effect_again(move |again| {
        state.query.track();
        if let (true, Some(frame)) = (again, frame.get_untracked()) {
            browser::scroll_to(&frame, 0.0);
        }
    });
    let drawn = memo(move || match long.get() {
        true => state.scroll.with(Scroll::drawn),
        false => 0..state.rows.with(|rows| rows.n_matching),
    });
    let n_matching = memo(move || state.rows.with(|rows| rows.n_matching));
    let columns = memo(move || {
        state.table.with(|table| table.as_ref().map(|table| table.columns.clone()).unwrap_or_default())
    });
    let visible = state.visible;
    let numbered = move || {
        // Sides that swap leave the columns as they are.
        state.sides.track();
        let scales = state.scales.get();
        columns.with(|columns| {
            let column = |at: usize| {
                let column = columns.get(at)?.clone();
                let label =
                    scales.get(at).map_or_else(|| column.label.clone(), |scale| scale.label(&column.label));
                Some((at, ColumnView { label, ..column }))
            };
            visible.get().into_iter().filter_map(column).collect::<Vec<_>>()
        })
    };
    // As wide as the first rows of the first report need it: columns do not jump while numbers come in.
    let widths = Memo::new(move |before: Option<&Vec<usize>>| {
        state.table.with(|table| {
            let Some(table) = table else { return Default::default() };
            let mut chars = state.scales.with(|scales| column_chars(table, scales));
            if let Some(before) = before.filter(|before| before.len() == chars.len()) {
                chars.iter_mut().zip(before).for_each(|(chars, before)| *chars = (*chars).max(*before));
            }
            chars
        })
    });
    // The width of each column in CSS, and whether it grows.
    let css_widths = memo(move || {
        let room = state.room.get();
        widths.with(|chars| {
            columns.with(|columns| visible.with(|visible| column_widths(columns, chars, visible, room)))
        })
    });
    // The row by which Tab gets in among the rows.
    let is_way_in = move |row: u64| {
        let current = state.current.get();
        drawn.with(|drawn| if drawn.contains(&current) { row == current } else { row == drawn.start })
    };
    let open_all = move || {
        state.is_open.update(|is_open| *is_open = !*is_open);
        browser::after(0, move || {
            measure();
            if let Some(frame) = frame.try_get_untracked().flatten() {
                let _ = frame.focus();
            }
        });
    };
    let total = move || {
        css_widths.with(|widths| {
            let widths: Vec<&str> = widths.iter().map(|(width, _)| width.as_str()).collect();
            format!("calc({} + {ACTIONS_REM}rem)", widths.join(" + "))
        })
    };
    view! {
        <div
            class="table-frame"
            class:table-long=move || long.get()
            class:table-more=move || has_more.get()
            class:table-open=move || state.is_open.get()
            class:table-stale=move || state.stale.get()
            role="region"
            tabindex="0"
            aria-label=move || (words().table.rows_region)(&title.get())
            node_ref=frame
            on:scroll=move |_| {
                app().tip.set(None);
                look_right();
                if let (true, Some(frame)) = (long.get_untracked(), frame.get_untracked()) {
                    let top = browser::scroll_top_of(&frame);
                    state.scroll.update(|scroll| scroll.move_to(top));
                    // A row with the focus that scrolls away is removed.
                    let is_gone = !state.scroll.with_untracked(Scroll::drawn).contains(&state.current.get_untracked());
                    if is_gone && browser::focused_inside_as(&frame, "tr") {
                        let _ = frame.focus();
                    }
                    state.ask(false);
                }
            }
        >
            <div
                class="table-space"
                node_ref=space
                style:min-width=total
                style=(
                    "--rows-height",
                    move || if long.get() { format!("{}px", state.scroll.with(Scroll::space_px)) } else { String::new() },
                )
            >
                <table
                    role="grid"
                    aria-multiselectable="true"
                    aria-rowcount=move || (n_matching.get() + 1).to_string()
                    aria-colcount=move || columns.with(Vec::len).to_string()
                    aria-label=move || title.get()
                    aria-busy=move || state.stale.get().to_string()
                    style:top=move || {
                        match long.get() {
                            true => format!("{}px", state.scroll.with(|scroll| scroll.row_px(drawn.get().start))),
                            false => String::new(),
                        }
                    }
                >
                    <colgroup>
                        {move || {
                            css_widths
                                .get()
                                .into_iter()
                                .map(|(width, grows)| {
                                    view! { <col style:width=if grows { "auto".to_string() } else { width } /> }
                                })
                                .collect_view()
                        }}
                        <col style:width=format!("{ACTIONS_REM}rem") />
                    </colgroup>
                    <thead node_ref=head>
                        <tr aria-rowindex="1">
                            <For
                                each=numbered
                                key=move |(at, column)| (*at, column.id.clone(), column.label.clone(), state.side_of(&column.id))
                                children=move |(at, column)| {
                                    let side = state.side_of(&column.id);
                                    let hint = match &side {
                                        Some((_, name)) if column.hint.is_empty() => name.clone(),
                                        _ => column.hint,
                                    };
                                    view! {
                                        <HeaderCell
                                            state
                                            at=at as u32
                                            label=column.label
                                            hint
                                            numeric=column.numeric
                                            side=side.map(|(class, _)| class)
                                        />
                                    }
                                }
                            />
                            <td class="row-actions"></td>
                        </tr>
                    </thead>
                    <tbody>
                        <For each=move || drawn.get() key=|row| *row let:row>
                            <tr
                                aria-rowindex=(row + 2).to_string()
                                aria-selected=move || state.selected.with(|rows| rows.contains(row)).to_string()
                                class:row-odd=row % 2 == 1
                                tabindex=move || if is_way_in(row) { "0" } else { "-1" }
                                on:focus=move |_| {
                                    state.current.set(row);
                                    state.inspect(row);
                                }
                                on:mousedown=move |event| {
                                    // Not text from there to here.
                                    if event.shift_key() {
                                        event.prevent_default();
                                    }
                                }
                                on:click=move |event| {
                                    if !browser::is_on_control(&event) && !browser::has_selected_text() {
                                        state.select_row(row, event.ctrl_key() || event.meta_key(), event.shift_key());
                                    }
                                }
                                on:contextmenu=move |event| {
                                    if !browser::has_selected_text() {
                                        event.prevent_default();
                                        state.menu.set(Some((row, browser::spot_of(&event))));
                                    }
                                }
                                on:keydown=move |event| {
                                    if !browser::is_on_control(&event) && press_on_row(state, frame, row, &event) {
                                        event.prevent_default();
                                        event.stop_propagation();
                                    }
                                }
                            >
                                {move || row_view(state, &columns, &visible, row)}
                                <td class="row-actions">
                                    <button
                                        type="button"
                                        class="row-actions-open"
                                        tabindex="-1"
                                        aria-haspopup="menu"
                                        aria-label=words().table.row_menu
                                        title=words().table.row_menu
                                        on:click=move |event| state.menu.set(Some((row, browser::spot_of(&event))))
                                    >
                                        "⋯"
                                    </button>
                                </td>
                            </tr>
                        </For>
                    </tbody>
                </table>
            </div>
            <Show when=move || n_matching.get() == 0>
                <p class="empty table-none">{words().table.nothing_matches}</p>
            </Show>
        </div>
        <RowMenu
            open=state.menu
            items=Signal::derive(move || row_actions(state, long.get()))
            on_pick=Callback::new(move |(row, id)| act_on_row(state, row, id))
            on_leave=Callback::new(move |row| focus_row(frame, row))
        />
        <Show when=move || long.get() && (n_matching.get() > FULL_ROWS || state.is_open.get())>
            <button type="button" class="link table-all" aria-expanded=move || state.is_open.get().to_string() on:click=move |_| open_all()>
                {move || match state.is_open.get() {
                    true => words().table.show_fewer.to_string(),
                    false => (words().table.show_all)(n_matching.get()),
                }}
            </button>
        </Show>
    }
}

fn row_view(state: State, columns: &Memo<Vec<ColumnView>>, visible: &Memo<Vec<usize>>, row: u64) -> AnyView {
    state.rows.with(|rows| {
        let values = row.checked_sub(rows.offset).and_then(|at| rows.rows.get(usize::try_from(at).ok()?));
        let visible = visible.get();
        let scales = state.scales.get();
        columns.with(|columns| match values {
            Some(values) => visible
                .iter()
                .filter_map(|at| Some((*at, columns.get(*at)?)))
                .map(|(at, column)| {
                    let mark =
                        (Some(&at) == visible.first()).then(|| mark_view(state, columns, values)).flatten();
                    let bars = rows.bar_ranges.get(at).copied().unwrap_or_default();
                    let scale = scales.get(at).copied().unwrap_or(Scale::AsIs);
                    cell_view(at, column, scale, values.get(at), bars, mark)
                })
                .collect_view()
                .into_any(),
            // On its way.
            None => visible
                .iter()
                .map(|at| {
                    view! { <td class="cell-waiting" aria-colindex=(at + 1).to_string()><span></span></td> }
                })
                .collect_view()
                .into_any(),
        })
    })
}

/// The mark of a row that someone wrote on, which leads to the note.
fn mark_view(state: State, columns: &[ColumnView], values: &[Value]) -> Option<AnyView> {
    if state.tab.app.embed.is_some() {
        return None;
    }
    let (number, text) = state.notes_on(columns, values)?;
    let label = (words().notes.mark)(&text::visible(&text));
    let title = label.clone();
    let mark = view! {
        <button
            type="button"
            class="row-note"
            aria-label=label
            title=title
            on:click=move |_| state.tab.writing.set(Some(Writing::Old(number)))
        >
            <Icon shape=Shape::Note />
        </button>
    };
    Some(mark.into_any())
}

/// The room of a box that wide. `set_narrow` says whether it is a phone's, with smaller text, and returns the width of a digit.
fn room_of(width: f64, set_narrow: impl FnOnce(bool) -> f64) -> Room {
    let rem = browser::root_font_px();
    let mut room = Room { width, digit: 0.0, gap: CELL_GAP_REM * rem, actions: ACTIONS_REM * rem };
    if room.is_narrow() {
        room.gap = NARROW_GAP_REM * rem;
    }
    room.digit = set_narrow(room.is_narrow());
    room
}

//! The menu of a table's row, at the pointer or below the row.

use crate::app::browser::{self, Spot};
use crate::app::erased::{Show, effect};
use crate::app::words::words;
use leptos::html;
use leptos::prelude::*;

const ITEMS: &str = "[role=menuitem]";

#[component]
pub fn RowMenu(
    /// The row, and where the menu opens.
    open: RwSignal<Option<(u64, Spot)>>,
    /// Id and label of each action.
    items: Signal<Vec<(&'static str, &'static str)>>,
    on_pick: Callback<(u64, &'static str)>,
    /// Called with the row once the menu is closed by a key or an action.
    on_leave: Callback<u64>,
) -> impl IntoView {
    let menu = NodeRef::<html::Div>::new();
    effect(move || {
        if let Some(menu) = menu.get() {
            if let Some((_, at)) = open.get_untracked() {
                browser::keep_in_window(&menu, (at.y, at.y));
            }
            browser::focus_sibling(&menu, ITEMS, i32::MIN);
        }
    });
    let leave = move || {
        if let Some((row, _)) = open.get_untracked() {
            open.set(None);
            on_leave.run(row);
        }
    };
    let move_focus = move |step: i32| {
        if let Some(menu) = menu.get_untracked() {
            browser::focus_sibling(&menu, ITEMS, step);
        }
    };
    let place = move |of: fn(&Spot) -> String| move || open.get().map(|(_, at)| of(&at)).unwrap_or_default();
    view! {
        <Show when=move || open.with(Option::is_some)>
            <div
                class="menu-list row-menu"
                role="menu"
                aria-label=words().table.row_menu
                style:left=place(|at| format!("min({}px, 100vw - 14rem)", at.x))
                style=("--y", place(|at| format!("{}px", at.y)))
                node_ref=menu
                on:focusout=move |_| {
                    browser::after(0, move || {
                        if let Some(menu) = menu.try_get_untracked().flatten()
                            && !browser::focused_inside(&menu)
                        {
                            let _ = open.try_set(None);
                        }
                    });
                }
                on:keydown=move |event| {
                    match event.key().as_str() {
                        "ArrowDown" => move_focus(1),
                        "ArrowUp" => move_focus(-1),
                        "Home" => move_focus(i32::MIN),
                        "End" => move_focus(i32::MAX),
                        "Escape" | "Tab" => leave(),
                        _ => return,
                    }
                    event.prevent_default();
                    event.stop_propagation();
                }
            >
                {move || {
                    let item = |(id, label): (&'static str, &'static str)| {
                        view! {
                            <button
                                type="button"
                                class="menu-item"
                                role="menuitem"
                                tabindex="-1"
                                on:click=move |_| {
                                    if let Some((row, _)) = open.get_untracked() {
                                        leave();
                                        on_pick.run((row, id));
                                    }
                                }
                            >
                                <span class="menu-label">{label}</span>
                            </button>
                        }
                    };
                    items.get().into_iter().map(item).collect_view()
                }}
            </div>
        </Show>
    }
}

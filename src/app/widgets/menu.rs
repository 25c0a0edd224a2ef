//! A button with a menu: arrows, Home and End move, Escape and Tab close, the focus goes back to the button.

use super::icon::{Icon, Shape};
use crate::app::browser;
use crate::app::erased::{Show, effect};
use leptos::html;
use leptos::prelude::*;

/// Item of a menu.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct MenuItem {
    pub id: String,
    pub label: String,
    /// Short explanation next to the label; may be empty.
    pub detail: String,
    /// `Some` for a radio item.
    pub checked: Option<bool>,
    /// It cannot be chosen; `detail` says why.
    pub unavailable: bool,
}

const ITEMS: &str = "[role^=menuitem]";

#[component]
pub fn Menu(
    #[prop(into)] label: Signal<String>,
    shape: Shape,
    /// Shows only the icon; screen readers still read the label.
    #[prop(optional)]
    icon_only: bool,
    /// Several items can be checked at once.
    #[prop(optional)]
    is_choice_of_many: bool,
    /// The key that opens it from anywhere in the panel.
    #[prop(optional)]
    key: Option<&'static str>,
    #[prop(into)] items: Signal<Vec<MenuItem>>,
    #[prop(into)] on_pick: Callback<String>,
) -> impl IntoView {
    let open = RwSignal::new(false);
    let menu = NodeRef::<html::Div>::new();
    let button = NodeRef::<html::Button>::new();
    let close = move |give_back_focus: bool| {
        open.set(false);
        if let (true, Some(button)) = (give_back_focus, button.get_untracked()) {
            let _ = button.focus();
        }
    };
    // Item to focus when it opens: the first or the last.
    let first = StoredValue::new(i32::MIN);
    let show = move |step: i32| {
        first.set_value(step);
        open.set(true);
    };
    effect(move || {
        // As soon as the menu exists, so that it gets the next key, however fast it comes.
        if let Some(menu) = menu.get() {
            if let Some(button) = button.get_untracked() {
                browser::keep_in_window(&menu, browser::edges_of(&button));
            }
            browser::focus_sibling(&menu, ITEMS, first.get_value());
        }
    });
    let move_focus = move |step: i32| {
        if let Some(menu) = menu.get_untracked() {
            browser::focus_sibling(&menu, ITEMS, step);
        }
    };
    view! {
        <div
            class="menu"
            on:focusout=move |_| {
                // Check a moment later: between two items nothing has the focus.
                browser::after(0, move || {
                    if let Some(menu) = menu.try_get_untracked().flatten()
                        && !browser::focused_inside(&menu)
                    {
                        let _ = open.try_set(false);
                    }
                });
            }
        >
            <button
                type="button"
                class="button"
                class:button-icon=icon_only
                node_ref=button
                aria-haspopup="menu"
                aria-expanded=move || open.get().to_string()
                aria-label=move || icon_only.then(|| label.get())
                title=move || icon_only.then(|| label.get())
                data-key=key
                on:click=move |_| if open.get_untracked() { close(true) } else { show(i32::MIN) }
                on:keydown=move |event| {
                    let step = match event.key().as_str() {
                        "ArrowDown" => i32::MIN,
                        "ArrowUp" => i32::MAX,
                        _ => return,
                    };
                    event.prevent_default();
                    show(step);
                }
            >
                <Icon shape />
                {(!icon_only).then(|| view! { <span>{move || label.get()}</span> <Icon shape=Shape::Chevron /> })}
            </button>
            <Show when=move || open.get()>
                <div
                    class="menu-list"
                    role="menu"
                    aria-label=move || label.get()
                    node_ref=menu
                    on:keydown=move |event| {
                        match event.key().as_str() {
                            "ArrowDown" => move_focus(1),
                            "ArrowUp" => move_focus(-1),
                            "Home" => move_focus(i32::MIN),
                            "End" => move_focus(i32::MAX),
                            "Escape" => close(true),
                            "Tab" => return close(true),
                            _ => return,
                        }
                        event.prevent_default();
                        event.stop_propagation();
                    }
                >
                    {move || {
                        items
                            .get()
                            .into_iter()
                            .map(|item| {
                                let id = item.id;
                                view! {
                                    <button
                                        type="button"
                                        class="menu-item"
                                        tabindex="-1"
                                        role=match (item.checked, is_choice_of_many) {
                                            (None, _) => "menuitem",
                                            (Some(_), true) => "menuitemcheckbox",
                                            (Some(_), false) => "menuitemradio",
                                        }
                                        aria-checked=item.checked.map(|checked| checked.to_string())
                                        aria-disabled=item.unavailable.then_some("true")
                                        on:click=move |_| {
                                            if item.unavailable {
                                                return;
                                            }
                                            close(true);
                                            on_pick.run(id.clone());
                                        }
                                    >
                                        {item
                                            .checked
                                            .map(|checked| {
                                                view! {
                                                    <span class="menu-check">
                                                        {checked.then(|| view! { <Icon shape=Shape::Check /> })}
                                                    </span>
                                                }
                                            })}
                                        <span class="menu-label">{item.label}</span>
                                        <span class="menu-detail">{item.detail}</span>
                                    </button>
                                }
                            })
                            .collect_view()
                    }}
                </div>
            </Show>
        </div>
    }
}

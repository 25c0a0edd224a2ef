//! The strip at the top: name, tabs, opening, theme, keys.

use crate::app::browser::{self, Dropped, Theme};
use crate::app::erased::{For, Show, effect, memo};
use crate::app::state::{Phase, Tab, app};
use crate::app::widgets::{Icon, Menu, MenuItem, Shape};
use crate::app::words::words;
use leptos::html;
use leptos::prelude::*;

#[component]
pub fn Header() -> impl IntoView {
    let app = app();
    let input = NodeRef::<html::Input>::new();
    let folder_input = NodeRef::<html::Input>::new();
    let ways = Signal::derive(move || app.ways_to_open());
    let open_by = Callback::new(move |id: String| app.open_by(&id));
    let themes = Signal::derive(move || {
        Theme::ALL
            .iter()
            .map(|theme| MenuItem {
                id: theme.id().to_string(),
                label: (words().header.theme)(*theme).to_string(),
                detail: String::new(),
                checked: Some(app.theme.get() == *theme),
                ..MenuItem::default()
            })
            .collect::<Vec<_>>()
    });
    let choose_theme = Callback::new(move |id: String| {
        if let Some(theme) = Theme::ALL.into_iter().find(|theme| theme.id() == id) {
            app.choose_theme(theme);
        }
    });
    view! {
        <header class="header">
            <button
                type="button"
                class="brand"
                aria-current=move || app.active.get().is_none().then_some("page")
                title=words().header.to_start
                on:click=move |_| app.show(None)
            >
                <svg class="brand-mark" viewBox="0 0 24 24" aria-hidden="true">
                    <path d="M4 6h16M7 12h10M10 18h4" />
                </svg>
                <span>"Tracedrop"</span>
            </button>
            <TabStrip />
            <div class="header-tools">
                <input
                    type="file"
                    multiple
                    hidden
                    aria-hidden="true"
                    tabindex="-1"
                    node_ref=input
                    data-testid="file-input"
                    on:change=move |_| {
                        if let Some(input) = input.get_untracked() {
                            let files = browser::picked(&input);
                            if !files.is_empty() {
                                app.take(Dropped { files, ..Dropped::default() });
                            }
                        }
                    }
                />
                <input
                    type="file"
                    prop:webkitdirectory=true
                    hidden
                    aria-hidden="true"
                    tabindex="-1"
                    node_ref=folder_input
                    data-key="f"
                    data-testid="folder-input"
                    on:change=move |_| {
                        let folder = folder_input.get_untracked().and_then(|input| browser::picked_folder(&input));
                        if let Some(folder) = folder {
                            app.open_folder(folder);
                        }
                    }
                />
                <button
                    type="button"
                    class="button header-open"
                    data-key="o"
                    on:click=move |_| {
                        if let Some(input) = input.get_untracked() {
                            input.click();
                        }
                    }
                >
                    <Icon shape=Shape::Plus />
                    <span>{words().header.open}</span>
                </button>
                <Menu
                    label=Signal::stored(words().files.open_menu.to_string())
                    shape=Shape::Folder
                    icon_only=true
                    items=ways
                    on_pick=open_by
                />
                <Menu
                    label=Signal::stored(words().header.theme_menu.to_string())
                    shape=Shape::Theme
                    icon_only=true
                    items=themes
                    on_pick=choose_theme
                />
                <button
                    type="button"
                    class="button button-icon header-keys"
                    aria-label=words().keys.keys_title
                    title=words().keys.keys_title
                    on:click=move |_| app.keys.set(true)
                >
                    <Icon shape=Shape::Keys />
                </button>
            </div>
        </header>
    }
}

const TABS: &str = "[role=tab]";

#[component]
fn TabStrip() -> impl IntoView {
    let app = app();
    let strip = NodeRef::<html::Div>::new();
    // The strip follows the choice when it has the focus, whichever key or click made it.
    effect(move || {
        app.active.track();
        app.tabs.track();
        browser::after(0, move || {
            if let Some(strip) = strip.try_get_untracked().flatten() {
                // Not from a button that closes one of them.
                if browser::focused_inside_as(&strip, TABS) {
                    browser::focus_inside(&strip, "[aria-selected=true]");
                }
                browser::reveal(&strip, "[aria-selected=true]");
            }
        });
    });
    view! {
        <Show when=move || app.tabs.with(|tabs| !tabs.is_empty()) fallback=|| view! { <div class="tabs"></div> }>
            <div
                class="tabs"
                role="tablist"
                aria-label=words().header.open_files
                node_ref=strip
                on:keydown=move |event| {
                    let Some(strip) = strip.get_untracked() else { return };
                    if event.ctrl_key() || event.alt_key() || event.meta_key() {
                        return;
                    }
                    match event.key().as_str() {
                        "ArrowRight" => browser::focus_sibling(&strip, TABS, 1),
                        "ArrowLeft" => browser::focus_sibling(&strip, TABS, -1),
                        "Home" => browser::focus_sibling(&strip, TABS, i32::MIN),
                        "End" => browser::focus_sibling(&strip, TABS, i32::MAX),
                        _ => return,
                    }
                    event.prevent_default();
                    event.stop_propagation();
                }
            >
                <For each=move || app.tabs.get() key=|tab| tab.id let:tab>
                    <TabButton tab strip />
                </For>
            </div>
        </Show>
    }
}

/// Characters at the end of a name that stay when there is too little room for all of it.
const END_CHARS: usize = 5;
/// Longer endings of a file's name are more than its format.
const MAX_ENDING: usize = 10;

/// A name in three: its start, its end, and what follows the dots there, `.json.gz`.
fn cut(label: &str) -> (&str, &str, &str) {
    let mut stem = label;
    while let Some((before, ending)) = stem.rsplit_once('.') {
        let is_format = (1..=MAX_ENDING).contains(&ending.len())
            && (ending.bytes().all(|byte| byte.is_ascii_alphabetic()) || ["lz4", "bz2"].contains(&ending))
            && !before.is_empty();
        if !is_format {
            break;
        }
        stem = before;
    }
    let at_end = stem.char_indices().rev().nth(END_CHARS - 1).map_or(0, |(at, _)| at);
    // A short name is all end, and one with two names in it has no end of its own.
    let at_end = if label.contains('↔') { stem.len() } else { at_end };
    (&stem[..at_end], &stem[at_end..], &label[stem.len()..])
}

#[component]
fn TabButton(tab: Tab, strip: NodeRef<html::Div>) -> impl IntoView {
    let app = app();
    let id = tab.id;
    let selected = memo(move || app.active.get() == Some(id));
    // With the start screen in front no tab is selected; the first one is then the way in for the Tab key.
    let reachable = memo(move || match app.active.get() {
        Some(active) => active == id,
        None => app.tabs.with(|tabs| tabs.first().is_some_and(|first| first.id == id)),
    });
    let state = move || {
        tab.run.phase.with(|phase| match phase {
            Phase::Reading | Phase::Stopping => Some(("tab-busy", words().header.tab_reading)),
            Phase::Failed(_) | Phase::Died(_) => Some(("tab-bad", words().header.tab_problem)),
            Phase::Waiting | Phase::Done => None,
        })
    };
    let close = move || {
        app.close(id);
        browser::after(0, move || {
            let inside = strip.try_get_untracked().flatten();
            if let Some(strip) = inside {
                browser::focus_inside(&strip, "[aria-selected=true]");
            } else {
                browser::focus_first(".brand");
            }
        });
    };
    view! {
        <button
            type="button"
            class="tab"
            role="tab"
            id=format!("tab-{id}")
            aria-controls=format!("panel-{id}")
            aria-selected=move || selected.get().to_string()
            aria-keyshortcuts="Delete"
            tabindex=move || if reachable.get() { "0" } else { "-1" }
            title=move || tab.label()
            // Its parts would be read apart.
            aria-label=move || match state() {
                Some((_, words)) => format!("{words} {}", tab.label()),
                None => tab.label(),
            }
            on:click=move |_| app.show(Some(id))
            on:focus=move |_| {
                // Arrows show the tab they reach; a click does so anyway.
                if app.active.get_untracked().is_some() {
                    app.show(Some(id));
                }
            }
            on:keydown=move |event| {
                if event.key() == "Delete" || event.key() == "Backspace" {
                    event.prevent_default();
                    close();
                }
            }
            on:auxclick=move |event| {
                if event.button() == 1 {
                    event.prevent_default();
                    close();
                }
            }
        >
            {move || {
                state()
                    .map(|(class, words)| {
                        view! { <span class=format!("tab-state {class}")><span class="off-screen">{words}</span></span> }
                    })
            }}
            <Show when=move || tab.is_comparison()>
                <Icon shape=Shape::Swap />
            </Show>
            <bdi class="tab-name tab-cut">{move || {
                let label = tab.label();
                let (start, end, ending) = cut(&label);
                view! {
                    <span class="tab-start">{start.to_string()}</span>
                    <span class="tab-end">{end.to_string()}</span>
                    <span class="tab-ending">{ending.to_string()}</span>
                }
            }}</bdi>
            // For the pointer; keys have Delete and the button in the panel.
            <span
                class="tab-close"
                aria-hidden="true"
                title=(words().header.close_tab)(tab.shows())
                on:click=move |event| {
                    event.stop_propagation();
                    close();
                }
            >
                <Icon shape=Shape::Close />
            </span>
        </button>
    }
}

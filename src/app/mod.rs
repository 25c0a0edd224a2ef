//! The Leptos page: shows what workers answer.
//!
//! Signals go down, callbacks go up. The page itself parses and computes nothing: that is done by the worker and the
//! library. All texts are in [`words`], all uses of browser APIs in [`browser`].

mod annotations;
mod archives;
mod blocks;
mod browser;
mod client;
mod compare_tabs;
mod custom_rules;
mod embed;
mod erased;
mod file_groups;
mod helper_pool;
mod link_matching;
mod ranges;
mod recent_files;
mod rest;
mod screens;
mod shortcuts;
mod state;
mod times;
mod view_state;
mod widgets;
mod words;

use crate::app::erased::{For, effect, memo};
use browser::Dropped;
use embed::Embed;
use leptos::prelude::*;
use screens::{
    ClosingDialog, DropOverlay, FrameScreen, Header, KeysDialog, NewerNotice, Panel, PrivacyScreen,
    SearchDialog, StartScreen,
};
use state::App as State;
use widgets::{Tips, Toasts};
use words::words;

/// The whole page.
#[component]
pub fn App() -> impl IntoView {
    let app = State::new();
    provide_context(app);
    app.warm_up();
    browser::on_system_theme(move || app.theme.notify());
    let remembers = app.embed.is_none();
    effect(move || browser::apply_theme(app.theme.get(), remembers));
    effect(move || {
        let name = app.active.get().and_then(|id| app.tab(id)).map(|tab| tab.label());
        browser::set_title(&(words().page.page_title)(name.as_deref()));
    });
    match app.embed {
        Some(embed) => view! { <Frame app embed /> }.into_any(),
        None => view! { <WholePage app /> }.into_any(),
    }
}

/// The embedded page: one trace of the host, without controls to open another.
#[component]
fn Frame(app: State, embed: Embed) -> impl IntoView {
    // A dropped file must not navigate the frame.
    browser::on_drag(|_| {}, |_| {});
    app.serve_host(embed);
    view! {
        <main id="main" tabindex="-1">
            <FrameScreen embed />
            <For each=move || app.tabs.get() key=|tab| tab.id let:tab>
                <Panel tab />
            </For>
        </main>
        <Toasts />
        <Tips />
    }
}

/// The standalone page.
#[component]
fn WholePage(app: State) -> impl IntoView {
    browser::on_drag(
        move |half| {
            if app.hover.get_untracked() != half {
                app.hover.set(half);
                if half.is_some() {
                    app.expect_file();
                }
            }
        },
        move |dropped| app.take(dropped),
    );
    browser::on_choosing(move || app.expect_file());
    browser::on_paste(
        words().opening.pasted_name,
        move |text| app.open_pasted_link(text),
        move |files| match files.is_empty() {
            true => app.alert(words().opening.nothing_pasted.to_string()),
            false => app.take(Dropped { files, ..Dropped::default() }),
        },
    );
    shortcuts::listen(app);
    let would_lose = memo(move || app.tabs.with(|tabs| tabs.iter().any(|tab| tab.would_lose_notes())));
    effect(move || browser::ask_before_leaving(would_lose.get()));
    app.follow_history();
    app.remember_open_files();
    browser::copy_names_whole();
    app.open_what_came_along();
    app.open_links();

    view! {
        <a class="skip-link" href="#main">{words().page.skip_to_content}</a>
        <Header />
        <NewerNotice />
        <main id="main" tabindex="-1">
            <StartScreen />
            <PrivacyScreen />
            <For each=move || app.tabs.get() key=|tab| tab.id let:tab>
                <Panel tab />
            </For>
            <DropOverlay />
        </main>
        <Toasts />
        <Tips />
        <KeysDialog />
        <SearchDialog />
        <ClosingDialog />
    }
}

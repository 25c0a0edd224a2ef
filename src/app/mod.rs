//! The Leptos page: shows what workers answer.
//!
//! Signals go down, callbacks come up. It reads no files and computes nothing: those are the worker's and the
//! library's. All words are in [`words`], all use of the browser's interfaces in [`browser`].

mod against;
mod blocks;
mod browser;
mod client;
mod landing;
mod own_table;
mod pool;
mod screens;
mod shelf;
mod shortcuts;
mod state;
mod together;
mod widgets;
mod words;

use leptos::prelude::*;
use screens::{DropOverlay, Header, KeysDialog, Panel, StartScreen};
use state::App as State;
use widgets::{Tips, Toasts};
use words::words;

/// The whole page.
#[component]
pub fn App() -> impl IntoView {
    let app = State::new();
    provide_context(app);
    app.warm_up();
    browser::on_drag(
        move |half| {
            if app.hover.get_untracked() != half {
                app.hover.set(half);
            }
        },
        move |dropped| app.take(dropped),
    );
    browser::on_paste(words().pasted_name, move |files| match files.is_empty() {
        true => app.alert(words().nothing_pasted.to_string()),
        false => app.open(files),
    });
    browser::on_system_theme(move || app.theme.notify());
    Effect::new(move |_| browser::apply_theme(app.theme.get()));
    Effect::new(move |_| {
        let name = app.active.get().and_then(|id| app.tab(id)).map(|tab| tab.name.get());
        browser::set_title(&(words().page_title)(name.as_deref()));
    });
    shortcuts::listen(app);
    app.open_links();

    view! {
        <a class="skip-link" href="#main">{words().skip_to_content}</a>
        <Header />
        <main id="main" tabindex="-1">
            <StartScreen />
            <For each=move || app.tabs.get() key=|tab| tab.id let:tab>
                <Panel tab />
            </For>
            <DropOverlay />
        </main>
        <Toasts />
        <Tips />
        <KeysDialog />
    }
}

//! Says that a newer version of the page is ready, and waits for a word.

use crate::app::browser;
use crate::app::erased::Show;
use crate::app::state::app;
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::prelude::*;

/// The element is always there, so that what comes into it is read out.
#[component]
pub fn NewerNotice() -> impl IntoView {
    let app = app();
    let newer = RwSignal::new(false);
    browser::when_newer(move || newer.set(true));
    let later = move || {
        newer.set(false);
        // The button that was pressed is gone.
        browser::after(0, || browser::catch_focus(&[".brand"]));
    };
    let about = move || (words().newer.newer_about)(app.tabs.with(Vec::len));
    view! {
        <div role="status">
            <Show when=move || newer.get()>
                <div class="newer">
                    <Icon shape=Shape::Info />
                    <span class="newer-text"><strong>{words().newer.newer_title}</strong> " " {about}</span>
                    <span class="newer-actions">
                        <button type="button" class="button" on:click=move |_| browser::take_newer()>{words().newer.newer_take}</button>
                        <button type="button" class="button button-quiet" on:click=move |_| later()>{words().newer.newer_later}</button>
                    </span>
                </div>
            </Show>
        </div>
    }
}

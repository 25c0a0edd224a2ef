//! Says that files may be let go, while they are held over the page.

use crate::app::state::app;
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::prelude::*;

#[component]
pub fn DropOverlay() -> impl IntoView {
    let app = app();
    view! {
        <Show when=move || app.hover.get()>
            <div class="drop-overlay" data-testid="drop-overlay">
                <div class="drop-overlay-frame">
                    <Icon shape=Shape::ArrowDown />
                    <p class="drop-overlay-title">{words().let_go}</p>
                    <p>{words().stays_here}</p>
                </div>
            </div>
        </Show>
    }
}

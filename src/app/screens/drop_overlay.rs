//! Shows what dropping will do, while files are dragged over the page.

use crate::app::browser::Half;
use crate::app::erased::Show;
use crate::app::state::app;
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::prelude::*;

#[component]
pub fn DropOverlay() -> impl IntoView {
    let app = app();
    // Files dropped on the lower half are compared with the visible one.
    let name = move || app.may_be_side().map(|tab| tab.label());
    let is_over = move |half| app.hover.get() == Some(half) || (half == Half::Upper && name().is_none());
    view! {
        <Show when=move || app.hover.with(Option::is_some)>
            <div class="drop-overlay" data-testid="drop-overlay">
                <div class="drop-overlay-frame" class:drop-overlay-over=move || is_over(Half::Upper)>
                    <Icon shape=Shape::ArrowDown />
                    <p class="drop-overlay-title">{words().drop.let_go}</p>
                    <p>{words().start.stays_here}</p>
                </div>
                {move || {
                    name()
                        .map(|name| {
                            view! {
                                <div class="drop-overlay-frame" class:drop-overlay-over=move || is_over(Half::Lower)>
                                    <Icon shape=Shape::Swap />
                                    <p class="drop-overlay-title">{words().drop.let_go_to_compare}</p>
                                    <p><bdi>{(words().drop.compared_with)(&name)}</bdi></p>
                                </div>
                            }
                        })
                }}
            </div>
        </Show>
    }
}

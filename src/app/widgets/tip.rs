//! Explanations next to the element with the focus or the pointer.

use crate::app::state::{Tip, app};
use leptos::prelude::*;

/// The visible explanation. Screen readers get it through `aria-describedby`.
#[component]
pub fn Tips() -> impl IntoView {
    let tip = app().tip;
    move || {
        tip.get().map(|Tip { text, at }| {
            view! {
                <div
                    class="tip"
                    aria-hidden="true"
                    style=("--x", format!("{}px", at.x))
                    style=("--y", format!("{}px", at.y))
                >
                    {text}
                </div>
            }
        })
    }
}

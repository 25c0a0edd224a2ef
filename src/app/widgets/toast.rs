//! Short messages at the edge of the page.

use super::icon::{Icon, Shape};
use crate::app::erased::For;
use crate::app::state::{Toast, app};
use crate::app::words::words;
use leptos::prelude::*;

/// Both lists always exist, so that screen readers read new entries.
#[component]
pub fn Toasts() -> impl IntoView {
    let toasts = app().toasts;
    let list = move |alert: bool| {
        let those = move || toasts.get().into_iter().filter(|toast| toast.alert == alert).collect::<Vec<_>>();
        view! {
            <For
                each=those
                key=|toast| toast.id
                let:toast
            >
                <ToastView toast />
            </For>
        }
    };
    view! {
        <div class="toasts">
            <div class="toast-list" role="status">
                {list(false)}
            </div>
            <div class="toast-list" role="alert">
                {list(true)}
            </div>
        </div>
    }
}

#[component]
fn ToastView(toast: Toast) -> impl IntoView {
    let app = app();
    let Toast { id, text, alert, reopens } = toast;
    view! {
        <div class="toast" class:toast-alert=alert>
            <Icon shape=if alert { Shape::Alert } else { Shape::Check } />
            <span class="toast-text">{text}</span>
            {reopens
                .map(|tab| {
                    let press = move |_| {
                        app.dismiss(id);
                        app.reopen(Some(tab));
                    };
                    view! { <button type="button" class="link" on:click=press>{words().header.reopen}</button> }
                })}
            <button
                type="button"
                class="button button-icon button-quiet"
                aria-label=words().header.dismiss
                on:click=move |_| app.dismiss(id)
            >
                <Icon shape=Shape::Close />
            </button>
        </div>
    }
}

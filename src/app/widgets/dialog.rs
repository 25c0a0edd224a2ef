//! Modal dialog with a title and a close button; Escape and a click outside close it too.

use super::icon::{Icon, Shape};
use crate::app::browser;
use crate::app::erased::effect;
use crate::app::words::words;
use leptos::html;
use leptos::prelude::*;

#[component]
pub fn Dialog(
    #[prop(into)] open: Signal<bool>,
    /// Called on every attempt to close it. It stays open if `open` is still true afterwards.
    #[prop(into)]
    on_close: Callback<()>,
    /// Id of the heading, which names the dialog.
    #[prop(into)]
    title_id: String,
    #[prop(into)] title: Signal<String>,
    /// Additional class.
    #[prop(optional)]
    class: &'static str,
    children: Children,
) -> impl IntoView {
    let labelled_by = title_id.clone();
    let dialog = NodeRef::<html::Dialog>::new();
    effect(move || {
        let open = open.get();
        if let Some(dialog) = dialog.get() {
            browser::show_dialog(&dialog, open);
        }
    });
    view! {
        <dialog
            class=format!("dialog {class}")
            aria-labelledby=labelled_by
            node_ref=dialog
            on:cancel=move |event: leptos::ev::Event| {
                event.prevent_default();
                on_close.run(());
            }
            on:close=move |_| {
                on_close.run(());
                // Browsers close it without asking when Escape is pressed twice in a row.
                if let (true, Some(dialog)) = (open.get_untracked(), dialog.get_untracked()) {
                    browser::show_dialog(&dialog, true);
                }
            }
            on:click=move |event| {
                // A click outside hits the backdrop, which counts as the dialog itself.
                if dialog.get_untracked().is_some_and(|dialog| browser::is_target(&event, &dialog)) {
                    on_close.run(());
                }
            }
        >
            <div class="dialog-body">
                <div class="dialog-head">
                    <h2 id=title_id>{title}</h2>
                    <button
                        type="button"
                        class="button button-icon button-quiet"
                        aria-label=words().header.close
                        on:click=move |_| on_close.run(())
                    >
                        <Icon shape=Shape::Close />
                    </button>
                </div>
                {children()}
            </div>
        </dialog>
    }
}

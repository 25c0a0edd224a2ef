//! All keys.

use crate::app::browser;
use crate::app::state::app;
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::html;
use leptos::prelude::*;

#[component]
pub fn KeysDialog() -> impl IntoView {
    let app = app();
    let dialog = NodeRef::<html::Dialog>::new();
    Effect::new(move |_| {
        let open = app.keys.get();
        if let Some(dialog) = dialog.get() {
            browser::show_dialog(&dialog, open);
        }
    });
    view! {
        <dialog
            class="dialog"
            aria-labelledby="keys-title"
            node_ref=dialog
            on:close=move |_| app.keys.set(false)
            on:click=move |event| {
                // A click beside the dialog is one on its backdrop, which counts as the dialog itself.
                if dialog.get_untracked().is_some_and(|dialog| browser::is_target(&event, &dialog)) {
                    app.keys.set(false);
                }
            }
        >
            <div class="dialog-body">
                <div class="dialog-head">
                    <h2 id="keys-title">{words().keys_title}</h2>
                    <button
                        type="button"
                        class="button button-icon button-quiet"
                        aria-label=words().close
                        on:click=move |_| app.keys.set(false)
                    >
                        <Icon shape=Shape::Close />
                    </button>
                </div>
                <div class="keys">
                    {words()
                        .keys
                        .iter()
                        .map(|(title, keys)| {
                            view! {
                                <section>
                                    <h3>{*title}</h3>
                                    <dl>
                                        {keys
                                            .iter()
                                            .map(|(names, what)| {
                                                view! {
                                                    <div>
                                                        <dt>{names.iter().map(|name| view! { <kbd>{*name}</kbd> }).collect_view()}</dt>
                                                        <dd>{*what}</dd>
                                                    </div>
                                                }
                                            })
                                            .collect_view()}
                                    </dl>
                                </section>
                            }
                        })
                        .collect_view()}
                </div>
            </div>
        </dialog>
    }
}

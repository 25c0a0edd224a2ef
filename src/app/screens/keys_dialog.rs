//! All keys.

use crate::app::state::app;
use crate::app::widgets::Dialog;
use crate::app::words::{KeyGroup, words};
use leptos::prelude::*;

#[component]
pub fn KeysDialog() -> impl IntoView {
    let app = app();
    view! {
        <Dialog
            open=app.keys
            on_close=move |_: ()| app.keys.set(false)
            title_id="keys-title"
            title=Signal::stored(words().keys.keys_title.to_string())
        >
            <p class="keys-first">{words().keys.keys_first}</p>
            <div class="keys">
                {words()
                    .keys.keys
                    .iter()
                    .map(|KeyGroup { title, keys, .. }| {
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
        </Dialog>
    }
}

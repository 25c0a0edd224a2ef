//! Files that were opened before, and what the browser keeps of them.

use crate::app::browser;
use crate::app::erased::{For, Show, effect, memo};
use crate::app::state::app;
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::engine::protocol::KeptView;

/// The list, where there is something in it. The choice to keep nothing stands apart: see [`KeepChoice`].
#[component]
pub fn KeptFiles() -> impl IntoView {
    let app = app();
    let shelf = app.services.recent_files;
    let entries = move || shelf.entries.get().unwrap_or_default();
    let n_of_name = move |name: &str| {
        shelf.entries.with_untracked(|entries| {
            entries.iter().flatten().filter(|entry| entry.file_name == name).count()
        })
    };
    let is_empty = memo(move || entries().is_empty());
    let asks = RwSignal::new(false);
    // What was pressed to forget a file goes with it.
    let is_forgetting = StoredValue::new(false);
    effect(move || {
        shelf.entries.track();
        asks.set(false);
        if is_forgetting.get_value() {
            is_forgetting.set_value(false);
            browser::after(0, || browser::catch_focus(&["[data-testid=kept] .button-icon", ".brand"]));
        }
    });
    let ask = move |is_asked: bool| {
        asks.set(is_asked);
        browser::after(0, || {
            browser::catch_focus(&["[data-testid=forget-all]", ".start-section-head .link"])
        });
    };
    let forget_some = move |key: Option<String>| {
        is_forgetting.set_value(true);
        app.forget(key);
    };
    let entry_view = move |entry: KeptView| {
        let (key, name) = (entry.key.clone(), entry.file_name.clone());
        let about = (words().start.kept_about)(&entry, &browser::local_time(entry.made_ms));
        // A file that was written anew has an index of its own, and there are many files of one name.
        let changed = (n_of_name(&entry.file_name) > 1 && entry.modified_ms > 0)
            .then(|| (words().start.kept_changed)(&browser::local_time(entry.modified_ms)));
        let forget = (words().start.forget)(&name);
        let hint = forget.clone();
        view! {
            <li class="kept">
                <button type="button" class="sample" on:click=move |_| app.open_kept(entry.clone())>
                    <span class="sample-title"><bdi>{name}</bdi></span>
                    <span class="sample-about">{about}</span>
                    {changed.map(|changed| view! { <span class="sample-about">{changed}</span> })}
                </button>
                <button
                    type="button"
                    class="button button-icon"
                    aria-label=forget
                    title=hint
                    on:click=move |_| forget_some(Some(key.clone()))
                >
                    <Icon shape=Shape::Close />
                </button>
            </li>
        }
    };
    view! {
        <Show when=move || !is_empty.get()>
            <section class="start-section" aria-labelledby="kept-title">
                <div class="start-section-head">
                    <h2 id="kept-title">{words().start.kept_title}</h2>
                    <Show
                        when=move || asks.get()
                        fallback=move || {
                            view! {
                                <button type="button" class="link" on:click=move |_| ask(true)>
                                    {words().start.forget_all}
                                </button>
                            }
                        }
                    >
                        <span class="kept-question" role="group" aria-label=words().start.forget_all>
                            <button type="button" class="link" data-testid="forget-all" on:click=move |_| forget_some(None)>
                                {move || (words().start.forget_all_of)(entries().len())}
                            </button>
                            <button type="button" class="link" on:click=move |_| ask(false)>{words().start.keep_them}</button>
                        </span>
                    </Show>
                </div>
                <ul class="samples" data-testid="kept">
                    <For each=entries key=move |entry| (entry.key.clone(), entry.made_ms, n_of_name(&entry.file_name)) let:entry>
                        {entry_view(entry)}
                    </For>
                </ul>
            </section>
        </Show>
    }
}

/// Whether indexes are kept.
#[component]
pub fn KeepChoice() -> impl IntoView {
    let app = app();
    let shelf = app.services.recent_files;
    let can_keep = memo(move || shelf.entries.with(Option::is_some));
    view! {
        <Show when=move || can_keep.get()>
            <label class="keep">
                <input
                    type="checkbox"
                    prop:checked=move || shelf.keeps.get()
                    on:change:target=move |event| app.set_keeps(event.target().checked())
                />
                <span>
                    <strong>{words().start.keep}</strong>
                    " "
                    {words().start.keep_hint}
                </span>
            </label>
        </Show>
    }
}

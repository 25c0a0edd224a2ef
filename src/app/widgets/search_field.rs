//! A field to search or filter by.

use super::icon::{Icon, Shape};
use leptos::ev::KeyboardEvent;
use leptos::html;
use leptos::prelude::*;

#[component]
pub fn SearchField(
    /// What it searches, for screen readers.
    #[prop(into)]
    label: Signal<String>,
    placeholder: &'static str,
    #[prop(into)] text: Signal<String>,
    /// Called with the text after each change.
    #[prop(into)]
    on_text: Callback<String>,
    /// Called with each key before the field takes it.
    #[prop(optional, into)]
    on_key: Option<Callback<KeyboardEvent>>,
    /// The key that leads here from anywhere in the panel; it stands in the field.
    #[prop(optional)]
    key: Option<&'static str>,
    /// The text cannot be used.
    #[prop(optional, into)]
    is_wrong: Signal<bool>,
    /// Additional class.
    #[prop(optional)]
    class: &'static str,
    #[prop(optional)] node_ref: NodeRef<html::Input>,
) -> impl IntoView {
    view! {
        <label class=format!("field {class}") class:field-wrong=move || is_wrong.get()>
            <Icon shape=Shape::Search />
            <input
                type="search"
                placeholder=placeholder
                aria-label=move || label.get()
                autocomplete="off"
                spellcheck="false"
                data-key=key
                node_ref=node_ref
                aria-invalid=move || is_wrong.get().then_some("true")
                prop:value=move || text.get()
                on:input:target=move |event| on_text.run(event.target().value())
                on:keydown=move |event| {
                    if let Some(on_key) = on_key {
                        on_key.run(event);
                    }
                }
            />
            {key.map(|key| view! { <kbd class="field-key" aria-hidden="true">{key}</kbd> })}
        </label>
    }
}

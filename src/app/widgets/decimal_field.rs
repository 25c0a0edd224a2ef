//! Labeled field for a decimal number.

use leptos::prelude::*;

#[component]
pub fn DecimalField(label: &'static str, value: RwSignal<String>, invalid: Signal<bool>) -> impl IntoView {
    view! {
        <label>
            <span>{label}</span>
            <input
                type="text"
                inputmode="decimal"
                autocomplete="off"
                aria-invalid=move || invalid.get().to_string()
                prop:value=move || value.get()
                on:input:target=move |event| value.set(event.target().value())
            />
        </label>
    }
}

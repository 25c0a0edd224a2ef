//! A number with its unit in a fainter color.

use leptos::prelude::*;

/// Splits `12.35 µs` and `100.0%` into digits and unit; letters at the end of `0x7f3c` are digits.
fn split_unit(text: &str) -> (&str, &str) {
    if text.starts_with("0x") {
        return (text, "");
    }
    let end = text.rfind(|c: char| c.is_ascii_digit()).map_or(text.len(), |at| at + 1);
    text.split_at(end)
}

#[component]
pub fn Number(#[prop(into)] text: String) -> impl IntoView {
    let (digits, unit) = split_unit(&text);
    let unit = (!unit.is_empty()).then(|| view! { <span class="unit">{unit.to_string()}</span> });
    view! { {digits.to_string()} {unit} }
}

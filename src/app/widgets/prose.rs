//! Sentences with names in them, set as code.

use leptos::prelude::*;

/// Text between two backticks becomes code; a backtick without a second one stays.
pub fn prose(text: &str) -> impl IntoView + use<> {
    let parts: Vec<String> = text.split('`').map(str::to_string).collect();
    let n_parts = parts.len();
    let part = |(at, part): (usize, String)| {
        // The last part is behind a backtick that is never closed if their number is even.
        let is_code = at % 2 == 1 && at + 1 < n_parts;
        let is_open = at % 2 == 1 && at + 1 == n_parts;
        match (is_code, is_open) {
            (true, _) => view! { <code>{part}</code> }.into_any(),
            (_, true) => format!("`{part}").into_any(),
            _ => part.into_any(),
        }
    };
    parts.into_iter().enumerate().map(part).collect_view()
}

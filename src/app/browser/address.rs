//! The address of the page, whose fragment may contain a report.

use super::listeners::listen;
use leptos::ev;
use leptos::prelude::window;
use wasm_bindgen::JsValue;

/// The fragment, without `#`.
pub fn fragment() -> String {
    let hash = window().location().hash().unwrap_or_default();
    hash.strip_prefix('#').unwrap_or(&hash).to_string()
}

/// The page's address with `fragment`; for a page opened from disk only `#` and the fragment, because its address is useless to
/// others and names folders.
pub fn address_with(fragment: &str) -> String {
    let address = window().location().href().unwrap_or_default();
    if !address.starts_with("http") {
        return format!("#{fragment}");
    }
    let own = address.split('#').next().unwrap_or_default();
    format!("{own}#{fragment}")
}

/// Calls `act` when the fragment changes.
pub fn on_fragment(act: impl Fn() + 'static) {
    listen(&window(), ev::hashchange, move |_| act());
}

/// The address with `fragment`, which may be empty; the search, which says how the page shows, stays.
fn own_address(fragment: &str) -> String {
    let address = window().location().href().unwrap_or_default();
    let own = address.split('#').next().unwrap_or_default();
    if fragment.is_empty() { own.to_string() } else { format!("{own}#{fragment}") }
}

/// A new entry in the browser's history. Where a page may have none, as in some frames, nothing happens.
pub fn push_fragment(fragment: &str) {
    if let Ok(history) = window().history() {
        let _ = history.push_state_with_url(&JsValue::NULL, "", Some(&own_address(fragment)));
    }
}

/// The entry that shows gets another address.
pub fn replace_fragment(fragment: &str) {
    if let Ok(history) = window().history() {
        let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&own_address(fragment)));
    }
}

/// Calls `act` when someone has gone back or forward.
pub fn on_history(act: impl Fn() + 'static) {
    listen(&window(), ev::popstate, move |_| act());
}

thread_local! {
    static LOAD_ID: String = format!("{:x}", js_sys::Date::now() as u64);
}

/// Tells this load of the page from others in the browser's history.
pub fn load_id() -> String {
    LOAD_ID.with(String::clone)
}

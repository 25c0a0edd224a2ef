//! Settings stored across visits. Without storage they are lost, with no other effect.

use leptos::prelude::window;
use web_sys::Storage;

/// Browsers without storage throw here.
fn storage() -> Option<Storage> {
    window().local_storage().ok().flatten()
}

/// Stored value of `name`.
pub fn remembered(name: &str) -> Option<String> {
    storage()?.get_item(name).ok().flatten()
}

/// Stores `value`, or removes the stored one.
pub fn remember(name: &str, value: Option<&str>) {
    if let Some(storage) = storage() {
        let _ = match value {
            Some(value) => storage.set_item(name, value),
            None => storage.remove_item(name),
        };
    }
}

const SESSION: &str = "tracedrop-open";

/// Names of the files that were open when this tab of the browser was loaded anew. They are forgotten with the tab.
pub fn session_names() -> Vec<String> {
    let storage = window().session_storage().ok().flatten();
    let names = storage.and_then(|storage| storage.get_item(SESSION).ok().flatten());
    names.map(|names| names.lines().map(str::to_string).collect()).unwrap_or_default()
}

pub fn remember_session(names: &[String]) {
    if let Some(storage) = window().session_storage().ok().flatten() {
        let _ = match names {
            [] => storage.remove_item(SESSION),
            names => storage.set_item(SESSION, &names.join("\n")),
        };
    }
}

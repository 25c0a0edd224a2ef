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

/// Name and address of each file that was open when this tab of the browser was loaded anew. They are forgotten with the tab.
pub fn session_files() -> Vec<(String, String)> {
    let storage = window().session_storage().ok().flatten();
    let text = storage.and_then(|storage| storage.get_item(SESSION).ok().flatten()).unwrap_or_default();
    let file = |line: &str| {
        // No address has a tab in it.
        let (name, address) = line.rsplit_once('\t').unwrap_or((line, ""));
        (name.to_string(), address.to_string())
    };
    text.lines().map(file).collect()
}

pub fn remember_session(files: &[(String, String)]) {
    if let Some(storage) = window().session_storage().ok().flatten() {
        let lines: Vec<String> = files.iter().map(|(name, address)| format!("{name}\t{address}")).collect();
        let _ = match files {
            [] => storage.remove_item(SESSION),
            _ => storage.set_item(SESSION, &lines.join("\n")),
        };
    }
}

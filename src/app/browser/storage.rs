//! The few choices that are remembered from visit to visit. Browsers that keep nothing forget them, and that is all.

use leptos::prelude::window;
use web_sys::Storage;

/// Browsers that keep nothing throw here.
fn storage() -> Option<Storage> {
    window().local_storage().ok().flatten()
}

/// What was remembered under `name`.
pub fn remembered(name: &str) -> Option<String> {
    storage()?.get_item(name).ok().flatten()
}

/// Remembers `value`, or forgets what was there.
pub fn remember(name: &str, value: Option<&str>) {
    if let Some(storage) = storage() {
        let _ = match value {
            Some(value) => storage.set_item(name, value),
            None => storage.remove_item(name),
        };
    }
}

//! Keyboard shortcuts.

use super::listeners::listen;
use leptos::ev;
use leptos::prelude::{document, window};
use wasm_bindgen::JsCast;
use web_sys::{Element, EventTarget, HtmlInputElement};

/// Whether typing in this element enters text.
pub fn takes_text(target: &EventTarget) -> bool {
    let Some(element) = target.dyn_ref::<Element>() else { return false };
    if let Some(input) = element.dyn_ref::<HtmlInputElement>() {
        return !matches!(input.type_().as_str(), "button" | "checkbox" | "radio" | "file");
    }
    matches!(element.tag_name().as_str(), "TEXTAREA" | "SELECT") || element.has_attribute("contenteditable")
}

/// Calls `act` with the names (`KeyboardEvent.key`) of keys pressed outside of fields, menus and dialogs and without Ctrl, Alt or Meta.
/// `act` returns whether it used the key.
pub fn on_key(act: impl Fn(&str) -> bool + 'static) {
    listen(&window(), ev::keydown, move |event| {
        let busy = event.ctrl_key()
            || event.alt_key()
            || event.meta_key()
            || event.is_composing()
            || event.default_prevented()
            || event.target().is_some_and(|target| takes_text(&target))
            || document().query_selector("dialog[open], [role=menu]").ok().flatten().is_some();
        if !busy && act(&event.key()) {
            event.prevent_default();
        }
    });
}

/// Calls `act` when someone presses Ctrl-K, or Command-K, wherever the focus is.
pub fn on_search_key(act: impl Fn() + 'static) {
    listen(&window(), ev::keydown, move |event| {
        let is_it = (event.ctrl_key() || event.meta_key()) && !event.alt_key() && !event.shift_key();
        if is_it && event.key().eq_ignore_ascii_case("k") && !event.is_composing() {
            event.prevent_default();
            act();
        }
    });
}

/// Presses a key on the first element that matches, and on nothing around it. Whether the element has used the key.
pub fn give_key(selector: &str, key: &str) -> bool {
    let element = document().query_selector(selector).ok().flatten();
    let init = web_sys::KeyboardEventInit::new();
    init.set_key(key);
    init.set_cancelable(true);
    let event = web_sys::KeyboardEvent::new_with_keyboard_event_init_dict("keydown", &init).ok();
    // An element that has used a key has prevented what the browser does with it.
    element.zip(event).is_some_and(|(element, event)| element.dispatch_event(&event) == Ok(false))
}

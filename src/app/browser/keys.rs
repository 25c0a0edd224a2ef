//! Keys that work anywhere in the page.

use leptos::ev;
use leptos::prelude::{document, window_event_listener};
use wasm_bindgen::JsCast;
use web_sys::{Element, EventTarget, HtmlInputElement};

/// Whether typing here writes text.
pub fn takes_text(target: &EventTarget) -> bool {
    let Some(element) = target.dyn_ref::<Element>() else { return false };
    if let Some(input) = element.dyn_ref::<HtmlInputElement>() {
        return !matches!(input.type_().as_str(), "button" | "checkbox" | "radio" | "file");
    }
    matches!(element.tag_name().as_str(), "TEXTAREA" | "SELECT") || element.has_attribute("contenteditable")
}

/// Calls `act` with the names (`KeyboardEvent.key`) of keys pressed outside of fields, menus and dialogs and without Ctrl, Alt or Meta.
/// It says whether the key meant something.
pub fn on_key(act: impl Fn(&str) -> bool + 'static) {
    window_event_listener(ev::keydown, move |event| {
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

//! Event listeners, removed with what they serve.

use gloo::events::{EventListener, EventListenerOptions};
use leptos::ev::EventDescriptor;
use leptos::prelude::{StoredValue, untrack};
use wasm_bindgen::JsCast;
use web_sys::EventTarget;

/// Calls `act` on each `event` of `target` until the result is dropped. `act` may prevent the browser's default.
pub(super) fn listener<E>(
    target: &EventTarget,
    event: E,
    mut act: impl FnMut(&E::EventType) + 'static,
) -> EventListener
where
    E: EventDescriptor,
    E::EventType: JsCast,
{
    // By default Gloo promises the browser not to prevent anything.
    let options = EventListenerOptions::enable_prevent_default();
    EventListener::new_with_options(target, event.name(), options, move |event| {
        untrack(|| act(event.unchecked_ref()));
    })
}

/// Calls `act` on each `event` of `target` as long as the current component exists. Call it while that is built: handlers and
/// timers belong to no component, and effects end what they started when they run again.
pub(super) fn listen<E>(target: &EventTarget, event: E, act: impl FnMut(&E::EventType) + 'static)
where
    E: EventDescriptor,
    E::EventType: JsCast,
{
    keep(listener(target, event, act));
}

/// Drops `value` with the current component.
pub(super) fn keep<T: 'static>(value: T) {
    StoredValue::new_local(value);
}

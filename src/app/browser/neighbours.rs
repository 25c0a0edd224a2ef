//! Other pages of the same origin.

use super::listeners::listener;
use gloo::events::EventListener;
use leptos::ev;
use wasm_bindgen::JsValue;
use web_sys::BroadcastChannel;

/// A channel between pages on one subject. Messages have no content: they only signal a change.
pub struct Neighbours {
    channel: BroadcastChannel,
    _listener: EventListener,
}

impl Neighbours {
    /// Calls `on_change` on every message until the result is dropped. `None` where the browser does not allow channels.
    pub fn on_change(subject: &str, mut on_change: impl FnMut() + 'static) -> Option<Neighbours> {
        let channel = BroadcastChannel::new(subject).ok()?;
        let listener = listener(&channel, ev::message, move |_| on_change());
        Some(Neighbours { channel, _listener: listener })
    }

    /// Notifies the other pages.
    pub fn tell(&self) {
        // An empty message only fails on a closed channel, and this one is never closed.
        let _ = self.channel.post_message(&JsValue::NULL);
    }
}

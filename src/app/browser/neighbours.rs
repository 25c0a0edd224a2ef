//! Other pages of the same origin.

use wasm_bindgen::prelude::*;
use web_sys::BroadcastChannel;

/// A channel between pages on one subject. Messages have no content: they only signal a change.
#[derive(Clone)]
pub struct Neighbours(BroadcastChannel);

impl Neighbours {
    /// Calls `on_change` on every message. `None` where the browser does not allow channels.
    pub fn on_change(subject: &str, mut on_change: impl FnMut() + 'static) -> Option<Neighbours> {
        let channel = BroadcastChannel::new(subject).ok()?;
        let on_message = Closure::<dyn FnMut(JsValue)>::new(move |_| on_change());
        // Keep the listener for the life of the page.
        channel.set_onmessage(Some(on_message.into_js_value().unchecked_ref()));
        Some(Neighbours(channel))
    }

    /// Notifies the other pages.
    pub fn tell(&self) {
        // An empty message only fails on a closed channel, and this one is never closed.
        let _ = self.0.post_message(&JsValue::NULL);
    }
}

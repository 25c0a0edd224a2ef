//! Other pages of this host that show the same.

use wasm_bindgen::prelude::*;
use web_sys::BroadcastChannel;

/// All pages that speak of one subject. What they say to each other has no content: that something changed is all.
#[derive(Clone)]
pub struct Neighbours(BroadcastChannel);

impl Neighbours {
    /// Calls `on_change` whenever another page tells of a change. `None` where a page may have no neighbours.
    pub fn on_change(subject: &str, mut on_change: impl FnMut() + 'static) -> Option<Neighbours> {
        let channel = BroadcastChannel::new(subject).ok()?;
        let on_message = Closure::<dyn FnMut(JsValue)>::new(move |_| on_change());
        // The page listens as long as it lives.
        channel.set_onmessage(Some(on_message.into_js_value().unchecked_ref()));
        Some(Neighbours(channel))
    }

    /// Tells all others.
    pub fn tell(&self) {
        // Nothing can go wrong with a message of nothing but a channel that is closed, and this one never is.
        let _ = self.0.post_message(&JsValue::NULL);
    }
}

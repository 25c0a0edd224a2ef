//! Messages between workers, through a port.

use js_sys::{Array, ArrayBuffer, Uint8Array};
use serde::{Serialize, de::DeserializeOwned};
use tracedrop::engine::protocol;
use wasm_bindgen::prelude::*;
use web_sys::{MessageEvent, MessagePort};

/// Sends `message` with an attachment. Buffers are transferred, not copied.
pub fn send<T: Serialize>(port: &MessagePort, message: &T, attachment: &JsValue) -> Result<(), JsValue> {
    let bytes = Uint8Array::from(protocol::encode(message).as_slice());
    let transfer = match attachment.dyn_ref::<Uint8Array>() {
        Some(array) => Array::of1(&array.buffer()),
        None if attachment.has_type::<ArrayBuffer>() => Array::of1(attachment),
        None => Array::new(),
    };
    port.post_message_with_transferable(&Array::of2(&bytes, attachment), &transfer)
}

/// Decoded message. `None` if invalid.
pub fn received<T: DeserializeOwned>(event: &MessageEvent) -> Option<(T, JsValue)> {
    let data: Array = event.data().dyn_into().ok()?;
    let message = protocol::decode(&Uint8Array::new(&data.get(0)).to_vec())?;
    Some((message, data.get(1)))
}

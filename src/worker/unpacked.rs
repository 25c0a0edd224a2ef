//! Content of a compressed file, decompressed by another worker.

use crate::port;
use crate::wake::Wake;
use js_sys::Uint8Array;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use tracedrop::engine::protocol::{HelperRequest, HelperResponse};
use tracedrop::import::unpack::Packing;
use wasm_bindgen::prelude::*;
use web_sys::{Blob, MessageEvent, MessagePort};

/// A helper is of no use for smaller files.
pub const MIN_FILE_BYTES: u64 = 1 << 20;

/// Content from the decompressing worker.
pub struct Unpacked {
    port: MessagePort,
    arrived: Rc<Arrived>,
    /// Message handler of the port.
    _on_message: Closure<dyn FnMut(MessageEvent)>,
}

#[derive(Default)]
struct Arrived {
    messages: RefCell<VecDeque<(HelperResponse, Uint8Array)>>,
    is_lost: Cell<bool>,
    is_over: Cell<bool>,
    wake: Wake,
}

impl Unpacked {
    /// Makes the worker behind `port` decompress `blob`. The port stays open.
    pub fn start(port: MessagePort, blob: &Blob, packing: Packing) -> Unpacked {
        let arrived = Rc::new(Arrived::default());
        let hears = arrived.clone();
        let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            if let Some((response, content)) = port::received(&event) {
                let content = content.dyn_into().unwrap_or_else(|_| Uint8Array::new_with_length(0));
                hears.messages.borrow_mut().push_back((response, content));
                hears.wake.wake();
            }
        });
        port.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        let unpacked = Unpacked { port, arrived, _on_message: on_message };
        unpacked.post(&HelperRequest::Unpack(packing), blob);
        unpacked
    }

    fn post(&self, request: &HelperRequest, attachment: &JsValue) {
        if port::send(&self.port, request, attachment).is_err() {
            self.lose();
        }
    }

    /// Marks the worker as lost.
    pub fn lose(&self) {
        self.arrived.is_lost.set(true);
        self.arrived.wake.wake();
    }

    /// Whether all content has arrived.
    pub fn is_over(&self) -> bool {
        self.arrived.is_over.get()
    }

    /// Ends waiting.
    pub fn wake(&self) {
        self.arrived.wake.wake();
    }

    /// Reads the next content into `buffer`. `None` if the worker is lost, or after [`Unpacked::wake`].
    pub async fn next(&self, buffer: &mut Vec<u8>) -> Option<HelperResponse> {
        if self.arrived.messages.borrow().is_empty() && !self.arrived.is_lost.get() {
            self.arrived.wake.wait().await;
        }
        let (response, content) = self.arrived.messages.borrow_mut().pop_front()?;
        buffer.resize(content.length() as usize, 0);
        content.copy_to(buffer);
        self.arrived.is_over.set(matches!(response, HelperResponse::Unpacked { is_over: true, .. }));
        self.post(&HelperRequest::More, &content.buffer());
        Some(response)
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        self.port.set_onmessage(None);
    }
}

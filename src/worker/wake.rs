//! Waiting for a message.

use js_sys::{Function, Promise};
use std::cell::RefCell;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// Signal with one waiter. The waiter checks the state itself before and after waiting.
#[derive(Default)]
pub struct Wake {
    resolve: RefCell<Option<Function>>,
}

impl Wake {
    /// Waits for [`Wake::wake`].
    pub async fn wait(&self) {
        let promise = Promise::new(&mut |resolve, _| *self.resolve.borrow_mut() = Some(resolve));
        let _ = JsFuture::from(promise).await;
    }

    /// Wakes the waiter, if any.
    pub fn wake(&self) {
        let resolve = self.resolve.borrow_mut().take();
        if let Some(resolve) = resolve {
            let _ = resolve.call0(&JsValue::NULL);
        }
    }
}

//! Waiting for something that a message brings.

use js_sys::{Function, Promise};
use std::cell::RefCell;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// One waits, others wake it. Whoever waits looks by itself at what has come, before it waits and after.
#[derive(Default)]
pub struct Wake {
    resolve: RefCell<Option<Function>>,
}

impl Wake {
    /// Comes back when somebody calls [`Wake::wake`].
    pub async fn wait(&self) {
        let promise = Promise::new(&mut |resolve, _| *self.resolve.borrow_mut() = Some(resolve));
        let _ = JsFuture::from(promise).await;
    }

    /// Ends the waiting, if there is any.
    pub fn wake(&self) {
        let resolve = self.resolve.borrow_mut().take();
        if let Some(resolve) = resolve {
            let _ = resolve.call0(&JsValue::NULL);
        }
    }
}

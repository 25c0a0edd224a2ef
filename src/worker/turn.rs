//! Mutual exclusion for writing and deleting indexes, across all pages of this origin.
//!
//! Uses Web Locks, which are released when their worker ends. Without them, or where a page may not use them, there is no waiting:
//! the file system itself rejects conflicting access.

use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// Name of the lock, shared by all pages of the origin, like the cache.
const NAME: &str = "tracedrop-indexes";

/// Exclusive right to write and delete, until dropped.
pub struct Turn {
    release: Option<Function>,
}

impl Turn {
    /// Waits for the lock.
    pub async fn wait() -> Turn {
        Turn { release: Turn::ask(false).await.dyn_into().ok() }
    }

    /// `None` if the lock is taken.
    pub async fn if_free() -> Option<Turn> {
        let answer = Turn::ask(true).await;
        (!answer.is_null()).then(|| Turn { release: answer.dyn_into().ok() })
    }

    /// Function that releases the lock; null if it was not available at once; undefined without Web Locks.
    async fn ask(now_or_never: bool) -> JsValue {
        let asked = Promise::new(&mut |answer, _| {
            let refused = answer.clone();
            if Turn::request(now_or_never, answer).is_err() {
                let _ = refused.call0(&JsValue::UNDEFINED);
            }
        });
        JsFuture::from(asked).await.unwrap_or(JsValue::UNDEFINED)
    }

    fn request(now_or_never: bool, answer: Function) -> Result<(), JsValue> {
        let locks = Reflect::get(crate::scope().navigator().as_ref(), &"locks".into())?;
        let request: Function = Reflect::get(&locks, &"request".into())?.dyn_into()?;
        let options = js_sys::Object::new();
        Reflect::set(&options, &"ifAvailable".into(), &now_or_never.into())?;
        let refused = answer.clone();
        let on_granted = Closure::once_into_js(move |lock: JsValue| {
            if lock.is_null() {
                let _ = answer.call1(&JsValue::UNDEFINED, &lock);
                return JsValue::UNDEFINED;
            }
            // The lock is released when this promise resolves.
            Promise::new(&mut |release, _| {
                let _ = answer.call1(&JsValue::UNDEFINED, &release);
            })
            .into()
        });
        let held: Promise = request.call3(&locks, &NAME.into(), &options, &on_granted)?.dyn_into()?;
        // Frames with an opaque origin are rejected.
        let on_refused = Closure::once_into_js(move |_: JsValue| {
            let _ = refused.call0(&JsValue::UNDEFINED);
        });
        Reflect::get(&held, &"catch".into())?.dyn_into::<Function>()?.call1(&held, &on_refused)?;
        Ok(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(release) = &self.release {
            let _ = release.call0(&JsValue::UNDEFINED);
        }
    }
}

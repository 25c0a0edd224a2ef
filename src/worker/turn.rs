//! One at a time: what writes and removes indexes takes turns, with all other pages of this host.
//!
//! Locks of the browser (Web Locks) do that; they end with the worker that holds one. Without them, or where a page may not
//! ask for one, nobody waits: the file system itself refuses what would do harm.

use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// All pages of one host share it, as they share what is kept.
const NAME: &str = "tracedrop-indexes";

/// Nobody else writes or removes until this is dropped.
pub struct Turn {
    release: Option<Function>,
}

impl Turn {
    /// Waits until it is ours.
    pub async fn wait() -> Turn {
        Turn { release: Turn::ask(false).await.dyn_into().ok() }
    }

    /// `None` if it is somebody's just now.
    pub async fn if_free() -> Option<Turn> {
        let answer = Turn::ask(true).await;
        (!answer.is_null()).then(|| Turn { release: answer.dyn_into().ok() })
    }

    /// What ends the turn; null if it was to be had now or never, and is not; undefined without locks.
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
            // It is held until this promise is fulfilled.
            Promise::new(&mut |release, _| {
                let _ = answer.call1(&JsValue::UNDEFINED, &release);
            })
            .into()
        });
        let held: Promise = request.call3(&locks, &NAME.into(), &options, &on_granted)?.dyn_into()?;
        // Frames without an origin of their own are refused.
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

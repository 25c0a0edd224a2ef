//! Handles of dropped files: with one, a file opens again without a dialog, once the browser has asked the user.
//!
//! They live in IndexedDB, the only storage that takes them, by the name of the file. Browsers without them, or without storage,
//! have none, with no other effect.

use super::files::{Picked, picked_file};
use js_sys::{Array, Function, JsString, Promise, Reflect};
use leptos::prelude::window;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{IdbDatabase, IdbObjectStore, IdbRequest, IdbTransactionMode};

const DATABASE: &str = "tracedrop-files";
const STORE: &str = "handles";
/// Once there are more, all are forgotten: the store must not grow for years.
const MAX_HANDLES: u32 = 200;

/// A dropped file's handle, which the browser is asked for while the event lasts.
#[derive(Debug)]
pub struct PendingHandle {
    pub name: String,
    handle: Promise,
}

impl PendingHandle {
    /// `None` in a browser without handles.
    pub(super) fn of(item: &JsValue, name: String) -> Option<PendingHandle> {
        Some(PendingHandle { name, handle: call(item, "getAsFileSystemHandle", &[])? })
    }
}

/// Result of a method that returns a promise. `None` without that method.
fn call(of: &JsValue, method: &str, arguments: &[JsValue]) -> Option<Promise> {
    let method: Function = Reflect::get(of, &method.into()).ok()?.dyn_into().ok()?;
    let arguments: Array = arguments.iter().collect();
    method.apply(of, &arguments).ok()?.dyn_into().ok()
}

/// Result of a request. `None` if it failed.
async fn result_of(request: &IdbRequest) -> Option<JsValue> {
    let settled = Promise::new(&mut |resolve, _| {
        request.set_onsuccess(Some(&resolve));
        request.set_onerror(Some(&resolve));
    });
    JsFuture::from(settled).await.ok()?;
    request.result().ok()
}

async fn database() -> Option<IdbDatabase> {
    let open = window().indexed_db().ok().flatten()?.open(DATABASE).ok()?;
    let request = open.clone();
    let make = Closure::once_into_js(move || {
        let database = request.result().ok().and_then(|it| it.dyn_into::<IdbDatabase>().ok());
        database.map(|database| database.create_object_store(STORE).is_ok())
    });
    open.set_onupgradeneeded(Some(make.unchecked_ref()));
    result_of(&open).await?.dyn_into().ok()
}

async fn store(mode: IdbTransactionMode) -> Option<IdbObjectStore> {
    database().await?.transaction_with_str_and_mode(STORE, mode).ok()?.object_store(STORE).ok()
}

/// Keeps a handle, instead of the one that was kept under that name.
pub async fn keep_handle(pending: PendingHandle) -> Option<()> {
    let handle = JsFuture::from(pending.handle).await.ok().filter(|handle| !handle.is_null())?;
    let store = store(IdbTransactionMode::Readwrite).await?;
    let n = result_of(&store.count().ok()?).await?.as_f64()?;
    if n >= f64::from(MAX_HANDLES) {
        result_of(&store.clear().ok()?).await?;
    }
    result_of(&store.put_with_key(&handle, &pending.name.as_str().into()).ok()?).await?;
    Some(())
}

/// Names of the files with a handle.
pub async fn handle_names() -> Vec<String> {
    let names = async { result_of(&store(IdbTransactionMode::Readonly).await?.get_all_keys().ok()?).await };
    let Some(names) = names.await.and_then(|names| names.dyn_into::<Array>().ok()) else {
        return Vec::new();
    };
    names.iter().filter_map(|name| name.dyn_into::<JsString>().ok()).map(String::from).collect()
}

/// The file as it is now. The browser may ask for leave, for which a key or button must have been pressed right before. `None` if
/// that is refused, or if the file is gone.
pub async fn file_by_handle(name: &str) -> Option<Picked> {
    let store = store(IdbTransactionMode::Readonly).await?;
    let handle = result_of(&store.get(&name.into()).ok()?).await.filter(|handle| !handle.is_undefined())?;
    // Files of the page itself need no leave, and have no such method in some browsers.
    if let Some(leave) = call(&handle, "requestPermission", &[]) {
        let leave = JsFuture::from(leave).await.ok()?;
        if leave.as_string().is_some_and(|leave| leave != "granted") {
            return None;
        }
    }
    JsFuture::from(call(&handle, "getFile", &[])?).await.ok()?.dyn_into().ok().map(picked_file)
}

/// Forgets the handle of that name, or all of them.
pub async fn forget_handles(name: Option<&str>) -> Option<()> {
    let store = store(IdbTransactionMode::Readwrite).await?;
    let request = match name {
        Some(name) => store.delete(&name.into()),
        None => store.clear(),
    };
    result_of(&request.ok()?).await.map(|_| ())
}

//! Files given at the start of the page: opened or shared with the installed page, or named in a frame's address.

use super::files::{Picked, picked_file};
use super::start::given;
use js_sys::{Array, Function, Promise, Reflect};
use leptos::prelude::window;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::File;

/// Files from `www/boot.js`, or the reason why there are none.
pub fn given_files() -> Result<Vec<Picked>, String> {
    let Ok(given) = given() else { return Ok(Vec::new()) };
    let get = |key: &str| Reflect::get(&given, &key.into()).unwrap_or(JsValue::UNDEFINED);
    match get("lost").as_string() {
        Some(lost) if !lost.is_empty() => Err(lost),
        _ => Ok(files_of(get("given"))),
    }
}

fn files_of(list: JsValue) -> Vec<Picked> {
    let Ok(list) = list.dyn_into::<Array>() else { return Vec::new() };
    list.iter().filter_map(|file| file.dyn_into::<File>().ok()).map(picked_file).collect()
}

/// Calls `take` with files that the system opens with the installed page, now or later, and with the number of unreadable
/// ones.
pub fn on_launch(take: impl Fn(Vec<Picked>, usize) + Clone + 'static) {
    // Not in `web-sys` yet, and only where pages can be installed.
    let queue = Reflect::get(&window(), &"launchQueue".into()).unwrap_or(JsValue::UNDEFINED);
    let Ok(consume) = Reflect::get(&queue, &"setConsumer".into()).and_then(|it| it.dyn_into::<Function>())
    else {
        return;
    };
    let consumer = Closure::<dyn FnMut(JsValue)>::new(move |launch: JsValue| {
        let handles = Reflect::get(&launch, &"files".into()).ok().and_then(|it| it.dyn_into::<Array>().ok());
        let Some(handles) = handles.filter(|handles| handles.length() > 0) else { return };
        let take = take.clone();
        spawn_local(async move {
            let mut files = Vec::new();
            for handle in handles.iter() {
                files.extend(file_of(&handle).await);
            }
            let n_lost = handles.length() as usize - files.len();
            take(files, n_lost);
        });
    });
    // Keep the listener for the life of the page.
    let _ = consume.call1(&queue, &consumer.into_js_value());
}

async fn file_of(handle: &JsValue) -> Option<Picked> {
    let get: Function = Reflect::get(handle, &"getFile".into()).ok()?.dyn_into().ok()?;
    let promise: Promise = get.call0(handle).ok()?.dyn_into().ok()?;
    JsFuture::from(promise).await.ok()?.dyn_into().ok().map(picked_file)
}

//! What `www/boot.js` hands to the page.

use super::Blob;
use js_sys::{Array, Function, Reflect};
use leptos::prelude::window;
use wasm_bindgen::{JsCast, JsValue, closure::Closure};

/// A trace that comes with the page.
#[derive(Clone, Debug)]
pub struct Sample {
    pub title: String,
    pub description: String,
    pub name: String,
    pub blob: Blob,
}

/// `globalThis.tracedrop`.
pub fn given() -> Result<JsValue, JsValue> {
    Reflect::get(&js_sys::global(), &"tracedrop".into())
}

fn text(of: &JsValue, key: &str) -> String {
    Reflect::get(of, &key.into()).ok().and_then(|value| value.as_string()).unwrap_or_default()
}

pub fn version() -> String {
    given().map(|given| text(&given, "version")).unwrap_or_default()
}

/// Which build of the site this is: SHA-256 as hexadecimal digits.
pub fn build() -> String {
    given().map(|given| text(&given, "build")).unwrap_or_default()
}

/// Whether the browser keeps the site, so that it starts without a network.
pub fn is_kept_offline() -> bool {
    given().and_then(|given| Reflect::get(&given, &"keptOffline".into())).is_ok_and(|kept| kept.is_truthy())
}

fn call(name: &str, argument: &JsValue) {
    let Ok(given) = given() else { return };
    if let Some(function) =
        Reflect::get(&given, &name.into()).ok().and_then(|it| it.dyn_into::<Function>().ok())
    {
        // These functions throw nothing.
        let _ = function.call1(&given, argument);
    }
}

/// Calls `tell` when a newer build of the site is ready to take over.
pub fn when_newer(tell: impl Fn() + 'static) {
    // The page listens as long as it lives.
    call("whenNewer", &Closure::<dyn FnMut()>::new(tell).into_js_value());
}

/// Loads the page again, with the newer build.
pub fn take_newer() {
    call("takeNewer", &JsValue::UNDEFINED);
}

pub fn samples() -> Vec<Sample> {
    let list = given().and_then(|given| Reflect::get(&given, &"samples".into()));
    let Some(list) = list.ok().and_then(|list| list.dyn_into::<Array>().ok()) else { return Vec::new() };
    list.iter()
        .filter_map(|sample| {
            Some(Sample {
                title: text(&sample, "title"),
                description: text(&sample, "description"),
                name: text(&sample, "name"),
                blob: Reflect::get(&sample, &"blob".into()).ok()?.dyn_into().ok()?,
            })
        })
        .collect()
}

/// Milliseconds since the page was loaded.
pub fn now_ms() -> f64 {
    window().performance().map_or(0.0, |performance| performance.now())
}

/// Day and time of a moment on this computer's clock, `ms` milliseconds after the Unix epoch.
pub fn local_time(ms: u64) -> String {
    let options = js_sys::Object::new();
    for (name, value) in [("dateStyle", "medium"), ("timeStyle", "short")] {
        // A plain object takes any member.
        let _ = js_sys::Reflect::set(&options, &name.into(), &value.into());
    }
    js_sys::Date::new(&(ms as f64).into()).to_locale_string("en-GB", &options).into()
}

//! Interface to `www/boot.js`.

use super::Blob;
use js_sys::{Array, Function, Reflect};
use leptos::prelude::window;
use wasm_bindgen::{JsCast, JsValue, closure::Closure};

/// A sample trace.
#[derive(Clone, Debug)]
pub struct Sample {
    pub title: String,
    /// The number that its report leads with.
    pub answer: String,
    pub description: String,
    /// Percent that parts of it take, for a picture.
    pub parts: Vec<f64>,
    /// Tones of the parts, as in its report; empty for series without a meaning of their own.
    pub tones: Vec<String>,
    /// Names and contents of its files; two of a comparison.
    pub files: Vec<(String, Blob)>,
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

/// SHA-256 of the build, hexadecimal.
pub fn build() -> String {
    given().map(|given| text(&given, "build")).unwrap_or_default()
}

/// Whether the browser has cached the site for offline use.
pub fn is_kept_offline() -> bool {
    given().and_then(|given| Reflect::get(&given, &"keptOffline".into())).is_ok_and(|kept| kept.is_truthy())
}

fn call(name: &str, argument: &JsValue) {
    let Ok(given) = given() else { return };
    if let Some(function) =
        Reflect::get(&given, &name.into()).ok().and_then(|it| it.dyn_into::<Function>().ok())
    {
        // These functions don't throw.
        let _ = function.call1(&given, argument);
    }
}

/// Calls `tell` when a newer build is ready to take over.
pub fn when_newer(tell: impl Fn() + 'static) {
    // Keep the callback for the life of the page.
    call("whenNewer", &Closure::<dyn FnMut()>::new(tell).into_js_value());
}

/// Reloads the page with the newer build.
pub fn take_newer() {
    call("takeNewer", &JsValue::UNDEFINED);
}

pub fn samples() -> Vec<Sample> {
    let list = given().and_then(|given| Reflect::get(&given, &"samples".into()));
    let Some(list) = list.ok().and_then(|list| list.dyn_into::<Array>().ok()) else { return Vec::new() };
    list.iter()
        .filter_map(|sample| {
            let member = |name: &str| Reflect::get(&sample, &name.into()).ok();
            let members =
                |name: &str| member(name).and_then(|list| list.dyn_into::<Array>().ok()).unwrap_or_default();
            let first = (text(&sample, "name"), member("blob")?.dyn_into().ok()?);
            let others = members("also").into_iter().zip(members("others"));
            let other = |(name, blob): (JsValue, JsValue)| Some((name.as_string()?, blob.dyn_into().ok()?));
            Some(Sample {
                title: text(&sample, "title"),
                answer: text(&sample, "answer"),
                description: text(&sample, "description"),
                parts: members("parts").iter().filter_map(|part| part.as_f64()).collect(),
                tones: members("tones").iter().filter_map(|tone| tone.as_string()).collect(),
                files: std::iter::once(first).chain(others.filter_map(other)).collect(),
            })
        })
        .collect()
}

/// Milliseconds since the page was loaded.
pub fn now_ms() -> f64 {
    window().performance().map_or(0.0, |performance| performance.now())
}

/// Local date and time, `ms` milliseconds after the Unix epoch.
pub fn local_time(ms: u64) -> String {
    let options = js_sys::Object::new();
    for (name, value) in [("dateStyle", "medium"), ("timeStyle", "short")] {
        // Setting a member of a plain object cannot fail.
        let _ = js_sys::Reflect::set(&options, &name.into(), &value.into());
    }
    js_sys::Date::new(&(ms as f64).into()).to_locale_string("en-GB", &options).into()
}

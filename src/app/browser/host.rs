//! The host page of an embedded page: parameters in the address, and messages both ways, as described in `docs/embed.md`.

use super::Blob;
use super::files::Picked;
use super::place::Resizing;
use js_sys::{Array, Object, Reflect};
use leptos::prelude::{document, window, window_event_listener_untyped};
use wasm_bindgen::prelude::*;
use web_sys::{MessageEvent, UrlSearchParams};

/// Parameters in the address of a frame.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Asked {
    /// Theme id.
    pub theme: Option<String>,
    /// Id of the only report to show.
    pub report: Option<String>,
    /// `badge` to show only the badge.
    pub show: Option<String>,
}

/// Message from the host.
#[derive(Clone, Debug)]
pub enum FromHost {
    /// Show these files instead of the current ones; several are combined.
    Open(Vec<Picked>),
    /// Show the report of this id; `None` for all of them.
    Report(Option<String>),
    Theme(String),
    /// Check the trace against these limits.
    Limits(String),
    /// Invalid message, with the reason.
    Unknown(String),
}

/// Value in a message to the host: text, number, or list of objects of such values.
#[derive(Clone, Debug)]
pub enum Told {
    Text(String),
    Number(f64),
    List(Vec<Vec<(&'static str, Told)>>),
}

/// Version of the messages, part of each message.
const VERSION: f64 = 1.0;
const KEY: &str = "tracedrop";

/// Parameters in the address; `None` if the page is not embedded.
///
/// They are in the query string, or in the fragment, which survives servers that redirect without the query string.
pub fn asked() -> Option<Asked> {
    let location = window().location();
    let hash = location.hash().unwrap_or_default();
    let parts = [location.search().unwrap_or_default(), hash.trim_start_matches('#').to_string()];
    parts.iter().find_map(|part| {
        let asked = UrlSearchParams::new_with_str(part).ok()?;
        let get = |name: &str| asked.get(name).filter(|value| !value.is_empty());
        (get("mode").as_deref() == Some("embed")).then(|| Asked {
            theme: get("theme"),
            report: get("report"),
            show: get("show"),
        })
    })
}

/// Marks the root element as embedded, with what is shown, for the style sheets.
pub fn mark_as_frame(show: Option<&str>) {
    if let Some(root) = document().document_element() {
        let _ = root.set_attribute("data-mode", "embed");
        let _ = root.set_attribute("data-show", show.unwrap_or("all"));
    }
}

/// The host page; `None` if there is none.
fn host() -> Option<web_sys::Window> {
    let host = window().parent().ok().flatten()?;
    (!Object::is(&host, &window())).then_some(host)
}

/// Calls `take` with each message of the host page. Ignores messages from others and messages not meant for Tracedrop.
pub fn on_host(take: impl Fn(FromHost) + 'static) {
    let Some(host) = host() else { return };
    let listener = window_event_listener_untyped("message", move |event| {
        let Ok(event) = event.dyn_into::<MessageEvent>() else { return };
        if event.source().is_none_or(|source| !Object::is(&source, &host)) {
            return;
        }
        let data = event.data();
        if !data.is_object() {
            return;
        }
        match field(&data, KEY).as_f64() {
            Some(VERSION) => take(read(&data)),
            Some(version) => take(FromHost::Unknown(format!("unknown message version {version}"))),
            None => {}
        }
    });
    // Keep the listener for the life of the frame.
    std::mem::forget(listener);
}

fn field(of: &JsValue, name: &str) -> JsValue {
    Reflect::get(of, &name.into()).unwrap_or(JsValue::UNDEFINED)
}

fn read(data: &JsValue) -> FromHost {
    let text = |name: &str| field(data, name).as_string();
    let wrong = |why: &str| FromHost::Unknown(why.to_string());
    match text("type").as_deref() {
        Some("open") => {
            let Ok(files) = field(data, "files").dyn_into::<Array>() else {
                return wrong("open needs files: a list");
            };
            let picked: Option<Vec<Picked>> = files.iter().map(|file| file_of(&file)).collect();
            match picked {
                Some(files) if !files.is_empty() => FromHost::Open(files),
                _ => wrong(
                    "each file needs a name, and data: a Blob, an ArrayBuffer, a view of one, or a string",
                ),
            }
        }
        Some("report") => FromHost::Report(text("report").filter(|id| !id.is_empty())),
        Some("theme") => text("theme").map_or_else(|| wrong("theme needs theme: a string"), FromHost::Theme),
        Some("limits") => {
            text("limits").map_or_else(|| wrong("limits needs limits: a string"), FromHost::Limits)
        }
        Some(other) => FromHost::Unknown(format!("unknown message type {other}")),
        None => wrong("a message needs a type"),
    }
}

fn file_of(file: &JsValue) -> Option<Picked> {
    if !file.is_object() {
        return None;
    }
    let name = field(file, "name").as_string().filter(|name| !name.is_empty())?;
    let data = field(file, "data");
    let is_bytes = data.is_instance_of::<js_sys::ArrayBuffer>() || js_sys::ArrayBuffer::is_view(&data);
    let blob = match data.dyn_into::<Blob>() {
        Ok(blob) => blob,
        Err(data) if is_bytes || data.is_string() => {
            Blob::new_with_u8_array_sequence(&Array::of1(&data)).ok()?
        }
        Err(_) => return None,
    };
    Some(Picked::of_blob(name, blob))
}

/// Sends a message about the host's own content to the host. An embedded page shows nothing else, so any host may receive it.
pub fn tell_host(kind: &str, values: Vec<(&'static str, Told)>) {
    let Some(host) = host() else { return };
    let message = object(values);
    for (key, value) in [(KEY, JsValue::from(VERSION)), ("type", kind.into())] {
        // Setting a member of a plain object cannot fail.
        let _ = Reflect::set(&message, &key.into(), &value);
    }
    // The host may be gone.
    let _ = host.post_message(&message, "*");
}

fn object(values: Vec<(&'static str, Told)>) -> Object {
    let made = Object::new();
    for (key, value) in values {
        let value = match value {
            Told::Text(text) => text.into(),
            Told::Number(number) => number.into(),
            Told::List(list) => list.into_iter().map(object).collect::<Array>().into(),
        };
        let _ = Reflect::set(&made, &key.into(), &value);
    }
    made
}

/// Calls `act` with the height of the page in pixels, now and on every change.
pub fn on_height(act: impl Fn(f64) + 'static) {
    let Some(body) = document().body() else { return };
    let last = std::cell::Cell::new(0.0);
    let measured = body.clone();
    let watch: Resizing = super::place::on_resize(&body, move || {
        let height = measured.get_bounding_client_rect().height().ceil();
        if last.replace(height) != height {
            act(height);
        }
    });
    // Keep the observer for the life of the frame.
    std::mem::forget(watch);
}

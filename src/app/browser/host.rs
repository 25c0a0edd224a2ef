//! The host page of an embedded page: parameters in the address, and messages both ways, as described in `docs/embed.md`.

use super::Blob;
use super::files::Picked;
use super::host_messages::{
    Addressed, CheckLimits, GivenFile, Open, ShowReport, ShowTheme, ToHost, Typed, VERSION,
};
use super::listeners::{keep, listen};
use super::place::on_resize;
use js_sys::{Array, Object};
use leptos::ev;
use leptos::prelude::{document, window};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;
use web_sys::UrlSearchParams;

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

/// Calls `take` with each message of the host page, as long as the current component exists. Ignores messages from others and
/// messages not meant for Tracedrop.
pub fn on_host(take: impl Fn(FromHost) + 'static) {
    let Some(host) = host() else { return };
    listen(&window(), ev::message, move |event| {
        if event.source().is_none_or(|source| !Object::is(&source, &host)) {
            return;
        }
        let data = event.data();
        if !data.is_object() {
            return;
        }
        match parsed(&data) {
            Some(Addressed { tracedrop }) if tracedrop == f64::from(VERSION) => take(read(&data)),
            Some(Addressed { tracedrop }) => {
                take(FromHost::Unknown(format!("unknown message version {tracedrop}")));
            }
            None => {}
        }
    });
}

/// The value, if it has the members of the type, and they have theirs.
fn parsed<T: DeserializeOwned>(data: &JsValue) -> Option<T> {
    serde_wasm_bindgen::from_value(data.clone()).ok()
}

fn read(data: &JsValue) -> FromHost {
    let wrong = |why: &str| FromHost::Unknown(why.to_string());
    let Some(Typed { kind }) = parsed(data) else { return wrong("a message needs a type") };
    match kind.as_str() {
        "open" => {
            let files = parsed::<Open>(data).map(|open| open.files).filter(|files| !files.is_empty());
            let picked = files.and_then(|files| files.into_iter().map(file_of).collect());
            picked.map_or_else(
                || {
                    wrong(
                        "open needs files: a list, each with a name, and data: a Blob, an ArrayBuffer, a view of one, or a string",
                    )
                },
                FromHost::Open,
            )
        }
        "report" => {
            let ShowReport { report } = parsed(data).unwrap_or_default();
            FromHost::Report(report.filter(|id| !id.is_empty()))
        }
        "theme" => parsed(data).map_or_else(
            || wrong("theme needs theme: a string"),
            |ShowTheme { theme }| FromHost::Theme(theme),
        ),
        "limits" => parsed(data).map_or_else(
            || wrong("limits needs limits: a string"),
            |CheckLimits { limits }| FromHost::Limits(limits),
        ),
        other => FromHost::Unknown(format!("unknown message type {other}")),
    }
}

fn file_of(GivenFile { name, data }: GivenFile) -> Option<Picked> {
    if name.is_empty() {
        return None;
    }
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

/// A message with what makes it one.
#[derive(Serialize)]
struct Envelope {
    tracedrop: u32,
    #[serde(flatten)]
    message: ToHost,
}

/// Sends a message about the host's own content to the host. An embedded page shows nothing else, so any host may receive it.
pub fn tell_host(message: ToHost) {
    let Some(host) = host() else { return };
    let envelope = Envelope { tracedrop: VERSION, message };
    // Plain objects; the default makes a `Map` of flattened members.
    let plain = serde_wasm_bindgen::Serializer::new().serialize_maps_as_objects(true);
    if let Ok(message) = envelope.serialize(&plain) {
        // The host may be gone.
        let _ = host.post_message(&message, "*");
    }
}

/// Calls `act` with the height of the page in pixels, now and on every change, as long as the current component exists.
pub fn on_height(act: impl Fn(f64) + 'static) {
    let Some(body) = document().body() else { return };
    let last = std::cell::Cell::new(0.0);
    let measured = body.clone();
    keep(on_resize(&body, move || {
        let height = measured.get_bounding_client_rect().height().ceil();
        if last.replace(height) != height {
            act(height);
        }
    }));
}

//! Passing a trace to Perfetto's page by its message protocol: `PING` until it answers `PONG`, then the trace.
//!
//! `www/boot.js` opens the window, only at that address and only after a click.

use super::Blob;
use super::listeners::listener;
use gloo::events::EventListener;
use gloo::timers::callback::Interval;
use js_sys::{Array, Function, Reflect};
use leptos::ev;
use leptos::prelude::window;
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::Window;

/// The only target of traces.
pub const PERFETTO: &str = "https://ui.perfetto.dev";

/// Interval of pings: the other page listens only once it has started.
const PING_EVERY_MS: u32 = 100;
/// Maximum time to wait for an answer.
const MAX_PINGS: u32 = 300;

/// Result of passing a trace on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandedOver {
    Done,
    /// The browser blocked the window.
    Blocked,
    /// The other page did not answer, or was closed.
    NoAnswer,
    /// The trace could not be read or sent.
    Failed,
    /// Cancelled: nothing was sent.
    Dropped,
}

/// Listener and timer, dropped at the end.
struct Call {
    _answers: EventListener,
    _pings: Interval,
}

/// Opens Perfetto and passes `blob` to it, unless `is_wanted` turns false. Call it from a click. Calls `done` once with the result.
pub fn hand_over(
    blob: &Blob,
    title: &str,
    is_wanted: impl Fn() -> bool + 'static,
    done: impl FnOnce(HandedOver) + 'static,
) {
    let Some(perfetto) = open() else { return done(HandedOver::Blocked) };
    let (blob, title) = (blob.clone(), title.to_string());
    spawn_local(async move {
        // Read the blob while the other page starts.
        match JsFuture::from(blob.array_buffer()).await {
            Ok(buffer) => call(perfetto, buffer, &title, is_wanted, done),
            Err(_) => done(if is_wanted() { HandedOver::Failed } else { HandedOver::Dropped }),
        }
    });
}

fn open() -> Option<Window> {
    let given = super::start::given().ok()?;
    let open: Function = Reflect::get(&given, &"openPerfetto".into()).ok()?.dyn_into().ok()?;
    let opened = open.call0(&given).ok()?;
    // `instanceof` does not recognize a window of another origin.
    (!opened.is_null() && !opened.is_undefined()).then(|| opened.unchecked_into())
}

/// Pings until there is an answer.
fn call(
    perfetto: Window,
    buffer: JsValue,
    title: &str,
    is_wanted: impl Fn() -> bool + 'static,
    done: impl FnOnce(HandedOver) + 'static,
) {
    let is_wanted = Rc::new(is_wanted);
    let running: Rc<RefCell<Option<Call>>> = Rc::default();
    let done = Rc::new(RefCell::new(Some(done)));
    let finish = {
        let running = running.clone();
        move |how: HandedOver| {
            // Either may be what runs at the moment: its closure stays until it returns.
            drop(running.take());
            if let Some(done) = done.borrow_mut().take() {
                done(how);
            }
        }
    };
    let message = trace_message(&buffer, title);
    let answers = {
        let (perfetto, finish, is_wanted) = (perfetto.clone(), finish.clone(), is_wanted.clone());
        listener(&window(), ev::message, move |event| {
            if event.origin() != PERFETTO || event.data().as_string().as_deref() != Some("PONG") {
                return;
            }
            if !is_wanted() {
                return finish(HandedOver::Dropped);
            }
            let sent = perfetto.post_message_with_transfer(&message, PERFETTO, &Array::of1(&buffer));
            finish(if sent.is_ok() { HandedOver::Done } else { HandedOver::Failed });
        })
    };
    let pings = {
        let mut n_pings = 0;
        Interval::new(PING_EVERY_MS, move || {
            if !is_wanted() {
                return finish(HandedOver::Dropped);
            }
            n_pings += 1;
            let is_closed = perfetto.closed().unwrap_or(true);
            if is_closed || n_pings > MAX_PINGS {
                return finish(HandedOver::NoAnswer);
            }
            // Until its page has loaded, the window has another origin and the message is dropped.
            let _ = perfetto.post_message(&"PING".into(), PERFETTO);
        })
    };
    running.replace(Some(Call { _answers: answers, _pings: pings }));
}

/// Message to Perfetto.
#[derive(Serialize)]
struct TraceMessage<'a> {
    perfetto: TraceOfMessage<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TraceOfMessage<'a> {
    #[serde(with = "serde_wasm_bindgen::preserve")]
    buffer: JsValue,
    title: &'a str,
    file_name: &'a str,
}

fn trace_message(buffer: &JsValue, title: &str) -> JsValue {
    let perfetto = TraceOfMessage { buffer: buffer.clone(), title, file_name: title };
    // Fails for no value of this type.
    serde_wasm_bindgen::to_value(&TraceMessage { perfetto }).unwrap_or_default()
}

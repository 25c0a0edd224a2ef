//! Handing a trace to Perfetto's page, by the messages that it takes: `PING` until it says `PONG`, then the trace.
//!
//! The window is opened by `www/boot.js`, at that one address and only after a click.

use super::Blob;
use js_sys::{Array, Function, Object, Reflect};
use leptos::prelude::window;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{MessageEvent, Window};

/// Where the trace goes, and nowhere else.
pub const PERFETTO: &str = "https://ui.perfetto.dev";

/// Between two calls to the other page, which listens only once it has started.
const PING_EVERY_MS: i32 = 100;
/// It is not waited for any longer.
const MAX_PINGS: u32 = 300;

/// How handing over ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandedOver {
    Done,
    /// The browser let no window be opened.
    Blocked,
    /// The other page did not answer, or was closed.
    NoAnswer,
    /// The trace could not be read or sent.
    Failed,
    /// It is not wanted any more: nothing was sent.
    Dropped,
}

/// What is given up when it is over.
struct Call {
    on_message: Closure<dyn FnMut(MessageEvent)>,
    on_tick: Closure<dyn FnMut()>,
    timer: i32,
}

/// Opens Perfetto and hands `blob` over to it, as long as `is_wanted`. To be called from a click. `done` is told once how it
/// ended.
pub fn hand_over(
    blob: &Blob,
    title: &str,
    is_wanted: impl Fn() -> bool + 'static,
    done: impl FnOnce(HandedOver) + 'static,
) {
    let Some(perfetto) = open() else { return done(HandedOver::Blocked) };
    let (blob, title) = (blob.clone(), title.to_string());
    spawn_local(async move {
        // The other page starts meanwhile.
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
    // A window of another origin is not told to be one by `instanceof`.
    (!opened.is_null() && !opened.is_undefined()).then(|| opened.unchecked_into())
}

/// Calls until there is an answer.
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
            if let Some(call) = running.borrow_mut().take() {
                window().clear_interval_with_handle(call.timer);
                let listener = call.on_message.as_ref().unchecked_ref();
                let _ = window().remove_event_listener_with_callback("message", listener);
                // They may be running just now.
                super::after(0, move || drop((call.on_message, call.on_tick)));
            }
            if let Some(done) = done.borrow_mut().take() {
                done(how);
            }
        }
    };
    let message = trace_message(&buffer, title);
    let on_message = {
        let (perfetto, finish, is_wanted) = (perfetto.clone(), finish.clone(), is_wanted.clone());
        Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
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
    let on_tick = {
        let mut n_pings = 0;
        Closure::<dyn FnMut()>::new(move || {
            if !is_wanted() {
                return finish(HandedOver::Dropped);
            }
            n_pings += 1;
            let is_closed = perfetto.closed().unwrap_or(true);
            if is_closed || n_pings > MAX_PINGS {
                return finish(HandedOver::NoAnswer);
            }
            // Until its page has come the window is of another origin, and the message goes nowhere.
            let _ = perfetto.post_message(&"PING".into(), PERFETTO);
        })
    };
    let _ = window().add_event_listener_with_callback("message", on_message.as_ref().unchecked_ref());
    let timer = window().set_interval_with_callback_and_timeout_and_arguments_0(
        on_tick.as_ref().unchecked_ref(),
        PING_EVERY_MS,
    );
    *running.borrow_mut() = Some(Call { on_message, on_tick, timer: timer.unwrap_or_default() });
}

/// `{ perfetto: { buffer, title, fileName } }`.
fn trace_message(buffer: &JsValue, title: &str) -> Object {
    let (message, trace) = (Object::new(), Object::new());
    // Plain objects take any member.
    let _ = Reflect::set(&trace, &"buffer".into(), buffer);
    let _ = Reflect::set(&trace, &"title".into(), &title.into());
    let _ = Reflect::set(&trace, &"fileName".into(), &title.into());
    let _ = Reflect::set(&message, &"perfetto".into(), &trace);
    message
}

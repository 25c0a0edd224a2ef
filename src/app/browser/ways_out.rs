//! Ways in which a page could send data away, tried for real. The outcome comes from the browser itself: the error it throws, and
//! the policy directive it names.

use super::listeners::listener;
use super::timers::after;
use gloo::events::EventListener;
use js_sys::{Array, Function, Object, Promise, Reflect, Uint8Array, WebAssembly};
use leptos::ev;
use leptos::prelude::{document, window};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{
    Element, EventSource, EventTarget, FontFace, HtmlElement, HtmlFormElement, HtmlImageElement, RequestInit,
    RequestMode, Url, WebSocket, Worker, XmlHttpRequest,
};

/// One way to send data, or to fetch an address that contains data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WayOut {
    Fetch,
    Xhr,
    WebSocket,
    EventSource,
    Beacon,
    Image,
    Frame,
    Form,
    Script,
    Style,
    Font,
    Worker,
    FetchInWorker,
    Wasm,
    WebRtc,
    ServiceWorker,
    Window,
}

impl WayOut {
    pub const ALL: [WayOut; 17] = [
        WayOut::Fetch,
        WayOut::Xhr,
        WayOut::WebSocket,
        WayOut::EventSource,
        WayOut::Beacon,
        WayOut::Image,
        WayOut::Frame,
        WayOut::Form,
        WayOut::Script,
        WayOut::Style,
        WayOut::Font,
        WayOut::Worker,
        WayOut::FetchInWorker,
        WayOut::Wasm,
        WayOut::WebRtc,
        WayOut::ServiceWorker,
        WayOut::Window,
    ];
}

/// Outcome of an attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The browser blocked it, naming this policy directive.
    Policy(String),
    /// The call threw this error before anything was sent.
    Thrown(String),
    /// The API does not exist in this page.
    Absent,
    /// It failed without a policy violation: something may have been sent.
    Failed(String),
    /// It worked, or nothing blocked it.
    Through,
}

impl Outcome {
    pub fn is_refused(&self) -> bool {
        matches!(self, Outcome::Policy(_) | Outcome::Thrown(_) | Outcome::Absent)
    }
}

/// Time within which the browser reports a violation after a failed call.
const REPORT_MS: u32 = 300;
/// Attempts not blocked by then count as having got through.
const PATIENCE_MS: u32 = 2_500;
const STEP_MS: u32 = 20;

/// Body of the requests.
const BODY: &str = "tracedrop tries to get out";

/// `(module (import "m" "f" (func)) (func (export "g") call 0))`
const CALLING_MODULE: &[u8] = &[
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, // magic, version
    1, 4, 1, 0x60, 0, 0, // one type: nothing to nothing
    2, 7, 1, 1, 0x6d, 1, 0x66, 0, 0, // import "m" "f" of that type
    3, 2, 1, 0, // one function of that type
    7, 5, 1, 1, 0x67, 0, 1, // export "g": the second function
    10, 6, 1, 4, 0, 0x10, 0, 0x0b, // which calls the first one
];

/// Outcome of an attempt so far; the first event decides.
#[derive(Clone, Default)]
struct Seen(Rc<RefCell<Option<Outcome>>>);

impl Seen {
    fn tell(&self, outcome: Outcome) {
        let mut seen = self.0.borrow_mut();
        // A violation explains a failure; nothing revokes that something got through.
        let is_better = match &*seen {
            None => true,
            Some(Outcome::Failed(_)) => !matches!(outcome, Outcome::Failed(_)),
            Some(_) => false,
        };
        if is_better {
            *seen = Some(outcome);
        }
    }

    fn get(&self) -> Option<Outcome> {
        self.0.borrow().clone()
    }

    fn when(&self, promise: Promise) {
        let seen = self.clone();
        spawn_local(async move {
            seen.tell(match JsFuture::from(promise).await {
                Ok(_) => Outcome::Through,
                Err(error) => Outcome::Failed(words_of(&error)),
            });
        });
    }
}

/// An attempt, whose listeners end with it.
#[derive(Default)]
struct Attempt {
    seen: Seen,
    listeners: Vec<EventListener>,
}

impl Attempt {
    /// Listens for an event that means `outcome`.
    fn on(&mut self, target: &EventTarget, event: &'static str, outcome: Outcome) {
        let seen = self.seen.clone();
        self.listeners.push(EventListener::once(target, event, move |_| seen.tell(outcome)));
    }
}

/// Things to remove after an attempt.
enum Trace {
    Nothing,
    Elements(Vec<Element>),
    Socket(WebSocket),
    Source(EventSource),
    Worker(Worker, Option<String>),
}

impl Drop for Trace {
    fn drop(&mut self) {
        match self {
            Trace::Nothing => {}
            Trace::Elements(elements) => elements.iter().for_each(Element::remove),
            Trace::Socket(socket) => drop(socket.close()),
            Trace::Source(source) => source.close(),
            Trace::Worker(worker, script) => {
                worker.terminate();
                if let Some(script) = script {
                    let _ = Url::revoke_object_url(script);
                }
            }
        }
    }
}

/// The page's own server, with a name of no file.
pub fn own_address() -> String {
    let base = document().base_uri().ok().flatten().unwrap_or_default();
    Url::new_with_base("./way-out", &base).map(|url| url.href()).unwrap_or_default()
}

/// `address` in normalized form; `None` if it is not a web address.
pub fn web_address(address: &str) -> Option<String> {
    let url = Url::new(address.trim()).ok()?;
    matches!(url.protocol().as_str(), "http:" | "https:").then(|| url.href())
}

/// Tries `way` to `address` and returns the outcome.
pub async fn try_way_out(way: WayOut, address: &str) -> Outcome {
    let mut attempt = Attempt::default();
    let seen = attempt.seen.clone();
    let told = seen.clone();
    let origin = Url::new(address).map(|url| url.origin()).unwrap_or_default();
    let host = origin.split_once("://").map_or(String::new(), |(_, host)| host.to_string());
    attempt.listeners.push(listener(&document(), ev::securitypolicyviolation, move |event| {
        // Only violations of this attempt: others may occur meanwhile.
        if event.blocked_uri().contains(&host) {
            told.tell(Outcome::Policy(event.effective_directive()));
        }
    }));
    // Removed at the end.
    let _trace = start(way, address, &mut attempt).unwrap_or_else(|error| {
        seen.tell(if error.is_undefined() { Outcome::Absent } else { Outcome::Thrown(words_of(&error)) });
        Trace::Nothing
    });
    let mut waited = 0;
    loop {
        match seen.get() {
            Some(Outcome::Failed(_)) if waited < PATIENCE_MS - REPORT_MS => {
                waited = PATIENCE_MS - REPORT_MS;
            }
            Some(outcome @ Outcome::Failed(_)) if waited >= PATIENCE_MS => return outcome,
            None if waited >= PATIENCE_MS => return Outcome::Through,
            Some(Outcome::Failed(_)) | None => {}
            Some(outcome) => return outcome,
        }
        sleep(STEP_MS).await;
        waited += STEP_MS;
    }
}

/// Starts an attempt. The error `undefined` means that the API does not exist.
fn start(way: WayOut, address: &str, attempt: &mut Attempt) -> Result<Trace, JsValue> {
    Ok(match way {
        WayOut::Fetch => {
            attempt.seen.when(fetch(address));
            Trace::Nothing
        }
        WayOut::Xhr => {
            let request = XmlHttpRequest::new()?;
            attempt.on(&request, "load", Outcome::Through);
            attempt.on(&request, "error", Outcome::Failed(String::new()));
            request.open("POST", address)?;
            request.send_with_opt_str(Some(BODY))?;
            Trace::Nothing
        }
        WayOut::WebSocket => {
            let socket = WebSocket::new(&address.replacen("http", "ws", 1))?;
            attempt.on(&socket, "open", Outcome::Through);
            attempt.on(&socket, "error", Outcome::Failed(String::new()));
            Trace::Socket(socket)
        }
        WayOut::EventSource => {
            let source = EventSource::new(address)?;
            attempt.on(&source, "open", Outcome::Through);
            attempt.on(&source, "error", Outcome::Failed(String::new()));
            Trace::Source(source)
        }
        WayOut::Beacon => {
            // It returns true even if it is blocked a moment later.
            if !window().navigator().send_beacon_with_opt_str(address, Some(BODY))? {
                attempt.seen.tell(Outcome::Failed(String::new()));
            }
            Trace::Nothing
        }
        WayOut::Image => {
            let image = HtmlImageElement::new()?;
            attempt.on(&image, "load", Outcome::Through);
            attempt.on(&image, "error", Outcome::Failed(String::new()));
            image.set_src(address);
            Trace::Elements(vec![image.into()])
        }
        WayOut::Frame => Trace::Elements(vec![add("iframe", &[("src", address)])?]),
        WayOut::Form => {
            const NAME: &str = "way-out";
            let frame = add("iframe", &[("name", NAME)])?;
            let form = add("form", &[("action", address), ("method", "post"), ("target", NAME)])?;
            form.unchecked_ref::<HtmlFormElement>().submit()?;
            Trace::Elements(vec![frame, form])
        }
        WayOut::Script => loaded(attempt, add("script", &[("src", address)])?),
        WayOut::Style => loaded(attempt, add("link", &[("rel", "stylesheet"), ("href", address)])?),
        WayOut::Font => {
            attempt.seen.when(FontFace::new_with_str("Way Out", &format!("url({address:?})"))?.load()?);
            Trace::Nothing
        }
        WayOut::Worker => {
            let worker = Worker::new(address)?;
            attempt.on(&worker, "error", Outcome::Failed(String::new()));
            Trace::Worker(worker, None)
        }
        WayOut::FetchInWorker => {
            // Violations are reported where the request was made, so the worker forwards them.
            let script = format!(
                "addEventListener('securitypolicyviolation', (event) => postMessage(['policy', event.effectiveDirective]));\
                 fetch({}, {{ method: 'POST', mode: 'no-cors', body: 'x' }})\
                 .then(() => postMessage(['through', '']), (error) => postMessage(['failed', error.message]));",
                js_sys::JSON::stringify(&address.into())?
            );
            let blob = web_sys::Blob::new_with_str_sequence(&Array::of1(&script.into()))?;
            let script = Url::create_object_url_with_blob(&blob)?;
            let worker = Worker::new(&script)?;
            let told = attempt.seen.clone();
            attempt.listeners.push(listener(&worker, ev::message, move |event| {
                let Ok(said) = event.data().dyn_into::<Array>() else { return };
                let words = said.get(1).as_string().unwrap_or_default();
                told.tell(match said.get(0).as_string().as_deref() {
                    Some("policy") => Outcome::Policy(words),
                    Some("through") => Outcome::Through,
                    _ => Outcome::Failed(words),
                });
            }));
            Trace::Worker(worker, Some(script))
        }
        WayOut::Wasm => {
            let (address, told) = (address.to_string(), attempt.seen.clone());
            let call = Closure::once_into_js(move || told.when(fetch(&address)));
            let (imports, functions) = (Object::new(), Object::new());
            Reflect::set(&functions, &"f".into(), &call)?;
            Reflect::set(&imports, &"m".into(), &functions)?;
            let module = WebAssembly::Module::new(&Uint8Array::from(CALLING_MODULE).into())?;
            let instance = WebAssembly::Instance::new(&module, &imports)?;
            Reflect::get(&instance.exports(), &"g".into())?.dyn_into::<Function>()?.call0(&JsValue::NULL)?;
            Trace::Nothing
        }
        WayOut::WebRtc => absent(&window(), "RTCPeerConnection")?,
        WayOut::ServiceWorker => absent(&window().navigator(), "serviceWorker")?,
        WayOut::Window => {
            if window().open_with_url_and_target(address, "_blank")?.is_none() {
                attempt.seen.tell(Outcome::Absent);
            }
            Trace::Nothing
        }
    })
}

fn fetch(address: &str) -> Promise {
    let options = RequestInit::new();
    options.set_method("POST");
    options.set_mode(RequestMode::NoCors);
    options.set_body(&BODY.into());
    window().fetch_with_str_and_init(address, &options)
}

/// An API that the page removes, because no policy covers it.
fn absent(of: &JsValue, name: &str) -> Result<Trace, JsValue> {
    match Reflect::get(of, &name.into())?.is_undefined() {
        true => Err(JsValue::UNDEFINED),
        false => Ok(Trace::Nothing),
    }
}

/// Adds a hidden element to the page.
fn add(tag: &str, attributes: &[(&str, &str)]) -> Result<Element, JsValue> {
    let element = document().create_element(tag)?;
    for (name, value) in attributes {
        element.set_attribute(name, value)?;
    }
    if let Some(element) = element.dyn_ref::<HtmlElement>() {
        element.set_hidden(true);
    }
    let body = document().body().ok_or(JsValue::NULL)?;
    body.append_child(&element)?;
    Ok(element)
}

fn loaded(attempt: &mut Attempt, element: Element) -> Trace {
    attempt.on(&element, "load", Outcome::Through);
    attempt.on(&element, "error", Outcome::Failed(String::new()));
    Trace::Elements(vec![element])
}

fn words_of(error: &JsValue) -> String {
    match error.dyn_ref::<js_sys::Error>() {
        Some(error) => format!("{}: {}", String::from(error.name()), String::from(error.message())),
        None => Reflect::get(error, &"message".into())
            .ok()
            .and_then(|message| message.as_string())
            .unwrap_or_else(|| format!("{error:?}")),
    }
}

async fn sleep(ms: u32) {
    let promise = Promise::new(&mut |done, _| {
        after(ms, move || drop(done.call0(&JsValue::NULL)));
    });
    // Such a promise never rejects.
    let _ = JsFuture::from(promise).await;
}

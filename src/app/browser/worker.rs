//! A worker and its messages as bytes.

use super::Blob;
use super::listeners::listener;
use gloo::events::EventListener;
use js_sys::{Array, Function, Reflect, Uint8Array};
use leptos::ev;
use leptos::prelude::window;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use web_sys::{ErrorEvent, Event, MessageChannel, MessagePort, Worker};

/// Message port between workers.
pub type Port = MessagePort;

/// Attachments of a message.
pub type Attached = Vec<Blob>;

/// A running worker, terminated on drop.
pub struct WorkerHandle {
    worker: Worker,
    _listeners: [EventListener; 3],
}

impl WorkerHandle {
    /// Starts a worker. Calls `on_death` with the reason when it crashes.
    pub fn start(
        on_message: impl Fn(Vec<u8>, Attached) + 'static,
        on_death: impl Fn(String) + 'static,
    ) -> Result<WorkerHandle, String> {
        let worker = start_worker().map_err(|error| text_of(&error))?;
        let on_message = listener(&worker, ev::message, move |event| {
            let Ok(data) = event.data().dyn_into::<Array>() else { return };
            let Ok(bytes) = data.get(0).dyn_into::<Uint8Array>() else { return };
            let attached = data.iter().skip(1).filter_map(|beside| beside.dyn_into().ok());
            on_message(bytes.to_vec(), attached.collect());
        });
        let on_death = Rc::new(move |event: &Event| {
            event.prevent_default();
            on_death(event.dyn_ref::<ErrorEvent>().map(ErrorEvent::message).unwrap_or_default());
        });
        let on_unreadable = on_death.clone();
        // Not `ev::error`: a worker that cannot be loaded gets an `Event` without a message.
        let on_error = listener(&worker, ev::Custom::<Event>::new("error"), move |event| on_death(event));
        let on_unreadable = listener(&worker, ev::messageerror, move |event| on_unreadable(event));
        Ok(WorkerHandle { worker, _listeners: [on_message, on_error, on_unreadable] })
    }

    /// Sends `bytes` with `Blob`s and ports attached. The ports are transferred.
    pub fn post(&self, bytes: &[u8], blobs: &[Blob], ports: Vec<Port>) -> Result<(), String> {
        let message = Array::of1(&Uint8Array::from(bytes));
        for blob in blobs {
            message.push(blob);
        }
        let transfer = Array::new();
        for port in ports {
            message.push(&port);
            transfer.push(&port);
        }
        self.worker.post_message_with_transfer(&message, &transfer).map_err(|error| text_of(&error))
    }
}

impl Drop for WorkerHandle {
    fn drop(&mut self) {
        self.worker.terminate();
    }
}

/// A pair of connected ports. `None` if the browser has none.
pub fn channel() -> Option<(Port, Port)> {
    let channel = MessageChannel::new().ok()?;
    Some((channel.port1(), channel.port2()))
}

/// Number of workers that can run in parallel on this computer.
pub fn n_processors() -> usize {
    window().navigator().hardware_concurrency().max(1.0) as usize
}

fn start_worker() -> Result<Worker, JsValue> {
    let given = super::start::given()?;
    let start: Function = Reflect::get(&given, &"startWorker".into())?.dyn_into()?;
    start.call0(&given)?.dyn_into()
}

fn text_of(error: &JsValue) -> String {
    match error.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => error.as_string().unwrap_or_default(),
    }
}

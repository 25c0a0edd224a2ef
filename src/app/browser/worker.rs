//! A worker and its messages as bytes.

use super::Blob;
use js_sys::{Array, Function, Reflect, Uint8Array};
use leptos::prelude::window;
use wasm_bindgen::prelude::*;
use web_sys::{ErrorEvent, Event, MessageChannel, MessageEvent, MessagePort, Worker};

/// Message port between workers.
pub type Port = MessagePort;

/// Attachments of a message.
pub type Attached = Vec<Blob>;

/// A running worker, terminated on drop.
pub struct WorkerHandle {
    worker: Worker,
    on_message: Closure<dyn FnMut(MessageEvent)>,
    on_death: Closure<dyn FnMut(Event)>,
}

impl WorkerHandle {
    /// Starts a worker. Calls `on_death` with the reason when it crashes.
    pub fn start(
        on_message: impl Fn(Vec<u8>, Attached) + 'static,
        on_death: impl Fn(String) + 'static,
    ) -> Result<WorkerHandle, String> {
        let worker = start_worker().map_err(|error| text_of(&error))?;
        let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            let Ok(data) = event.data().dyn_into::<Array>() else { return };
            let Ok(bytes) = data.get(0).dyn_into::<Uint8Array>() else { return };
            let attached = data.iter().skip(1).filter_map(|beside| beside.dyn_into().ok());
            on_message(bytes.to_vec(), attached.collect());
        });
        let on_death = Closure::<dyn FnMut(Event)>::new(move |event: Event| {
            event.prevent_default();
            on_death(event.dyn_ref::<ErrorEvent>().map(ErrorEvent::message).unwrap_or_default());
        });
        worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        worker.set_onerror(Some(on_death.as_ref().unchecked_ref()));
        worker.set_onmessageerror(Some(on_death.as_ref().unchecked_ref()));
        Ok(WorkerHandle { worker, on_message, on_death })
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
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.set_onmessageerror(None);
        self.worker.terminate();
        // Named to show why they are kept: the worker calls them until now.
        let _ = (&self.on_message, &self.on_death);
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

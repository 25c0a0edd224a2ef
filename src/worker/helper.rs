//! A worker that reads stretches of a file for another one, which joins them.

use crate::scope;
use crate::stretch::Stretch;
use js_sys::{Array, ArrayBuffer, Uint8Array};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use tracedrop::engine::protocol::{self, HelperRequest, HelperResponse};
use tracedrop::import::FORMATS;
use tracedrop::import::parts::PartReader;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, MessageEvent, MessagePort};

/// The file at hand.
struct Job {
    blob: Blob,
    /// Taken while a stretch is read.
    reader: RefCell<Option<Box<dyn PartReader>>>,
    waiting: RefCell<VecDeque<Stretch>>,
    /// Memory that came back from the one who joins.
    spent: RefCell<Option<ArrayBuffer>>,
}

/// Serves whoever is behind a port. Dropping it ends that.
pub struct Helper {
    port: MessagePort,
    /// Called by the port for as long as this lives.
    _on_message: Closure<dyn FnMut(MessageEvent)>,
    is_over: Rc<Cell<bool>>,
}

impl Helper {
    pub fn new(port: MessagePort) -> Helper {
        let job: RefCell<Option<Rc<Job>>> = RefCell::default();
        let is_over = Rc::new(Cell::new(false));
        let (answers, over) = (port.clone(), is_over.clone());
        let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            let Ok(data) = event.data().dyn_into::<Array>() else { return };
            match protocol::decode(&Uint8Array::new(&data.get(0)).to_vec()) {
                Some(HelperRequest::Begin { format }) => {
                    let parts =
                        FORMATS.iter().find(|known| known.id == format).and_then(|format| format.parts);
                    *job.borrow_mut() = parts.zip(data.get(1).dyn_into().ok()).map(|(parts, blob)| {
                        let reader = RefCell::new(Some((parts.reader)()));
                        Rc::new(Job { blob, reader, waiting: RefCell::default(), spent: RefCell::default() })
                    });
                }
                Some(HelperRequest::Read(range)) => match &*job.borrow() {
                    Some(job) => {
                        if let Ok(spent) = data.get(1).dyn_into() {
                            *job.spent.borrow_mut() = Some(spent);
                        }
                        job.waiting.borrow_mut().push_back(Stretch::open(&job.blob, range));
                        if let Some(reader) = job.reader.borrow_mut().take() {
                            spawn_local(work(job.clone(), reader, answers.clone(), over.clone()));
                        }
                    }
                    None => post(&answers, &HelperResponse::Lost(range), None),
                },
                None => {}
            }
        });
        port.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        Helper { port, _on_message: on_message, is_over }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.is_over.set(true);
        self.port.set_onmessage(None);
        self.port.close();
    }
}

/// Reads all stretches that wait.
async fn work(job: Rc<Job>, mut reader: Box<dyn PartReader>, port: MessagePort, over: Rc<Cell<bool>>) {
    let mut buffer = Vec::new();
    loop {
        let next = job.waiting.borrow_mut().pop_front();
        let Some(mut stretch) = next else { break };
        let result = loop {
            match stretch.step(&job.blob, reader.as_mut(), &mut buffer).await {
                Ok(None) if over.get() => return,
                Ok(None) => {}
                Ok(Some(part)) => break Some(part),
                // Whoever joins will read it, and hear of the error that way.
                Err(_) => break None,
            }
        };
        match result {
            Some(part) => {
                let part = in_memory(&part.into_bytes(), job.spent.borrow_mut().take());
                post(&port, &HelperResponse::Read(stretch.range), Some(&part));
            }
            None => post(&port, &HelperResponse::Lost(stretch.range), None),
        }
    }
    *job.reader.borrow_mut() = Some(reader);
}

/// `bytes` outside this worker's own memory, in `spent` if there is room.
fn in_memory(bytes: &[u8], spent: Option<ArrayBuffer>) -> Uint8Array {
    let len = bytes.len() as u32;
    let buffer = match spent {
        Some(spent) if spent.byte_length() >= len => spent,
        // A little more, so that it is of use for the next one.
        _ => ArrayBuffer::new(len + len / 4),
    };
    let array = Uint8Array::new_with_byte_offset_and_length(&buffer, 0, len);
    array.copy_from(bytes);
    array
}

fn post(port: &MessagePort, response: &HelperResponse, part: Option<&Uint8Array>) {
    let message = Array::of1(&Uint8Array::from(protocol::encode(response).as_slice()));
    let transfer = Array::new();
    if let Some(part) = part {
        transfer.push(&part.buffer());
        message.push(part);
    }
    if port.post_message_with_transferable(&message, &transfer).is_err() {
        // Without an answer the other one would wait for good.
        scope().close();
    }
}

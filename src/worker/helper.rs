//! A worker that helps another one: parses parts of its file, which the other joins, or decompresses it.

use crate::content::BlobContent;
use crate::source::Source;
use crate::stretch::Stretch;
use crate::wake::Wake;
use crate::{error_name, port};
use js_sys::{ArrayBuffer, Uint8Array};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use tracedrop::engine::protocol::{HelperRequest, HelperResponse};
use tracedrop::import::FORMATS;
use tracedrop::import::parts::{PartReader, PartsInfo};
use tracedrop::import::unpack::{Packing, Unpacker};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, MessageEvent, MessagePort};

/// Approximate size of messages with decompressed content.
const UNPACKED_BYTES: usize = 1 << 20;
/// Maximum number of unconsumed messages.
const UNPACKED_AHEAD: usize = 4;
/// Maximum compressed bytes per step: gzip may expand them a thousand times, zstd thirty thousand times.
const GZIP_STEP: usize = 16 << 10;
const ZSTD_STEP: usize = 4 << 10;
/// Output of a step above which the next steps are smaller.
const MAX_STEP_BYTES: usize = 4 << 20;

/// The current file.
struct Job {
    blob: Blob,
    /// Taken while a part is parsed.
    reader: RefCell<Option<Box<dyn PartReader>>>,
    waiting: RefCell<VecDeque<Stretch>>,
    /// Buffers returned by the joining worker.
    spent: RefCell<Option<ArrayBuffer>>,
}

/// Serves the worker behind a port, until dropped.
pub struct Helper {
    port: MessagePort,
    /// Message handler of the port.
    _on_message: Closure<dyn FnMut(MessageEvent)>,
    is_over: Rc<Cell<bool>>,
    unpacking: Unpacking,
}

/// Sender of decompressed content, if any.
type Unpacking = Rc<RefCell<Option<Rc<Sender>>>>;

impl Helper {
    pub fn new(port: MessagePort) -> Helper {
        let job: RefCell<Option<Rc<Job>>> = RefCell::default();
        let unpacking = Unpacking::default();
        let sends = unpacking.clone();
        let is_over = Rc::new(Cell::new(false));
        let (answers, over) = (port.clone(), is_over.clone());
        let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            let Some((request, attachment)) = port::received(&event) else { return };
            match request {
                HelperRequest::Begin { format } => {
                    let parts =
                        FORMATS.iter().find(|known| known.id == format).and_then(|format| format.parts);
                    *job.borrow_mut() = parts.zip(attachment.dyn_into().ok()).map(|(parts, blob)| {
                        let reader = RefCell::new(Some(part_reader(parts, &blob)));
                        Rc::new(Job { blob, reader, waiting: RefCell::default(), spent: RefCell::default() })
                    });
                }
                HelperRequest::Read(range) => match &*job.borrow() {
                    Some(job) => {
                        if let Ok(spent) = attachment.dyn_into() {
                            *job.spent.borrow_mut() = Some(spent);
                        }
                        job.waiting.borrow_mut().push_back(Stretch::open(&job.blob, range));
                        if let Some(reader) = job.reader.borrow_mut().take() {
                            spawn_local(work(job.clone(), reader, answers.clone(), over.clone()));
                        }
                    }
                    None => post(&answers, &HelperResponse::Lost(range), None),
                },
                HelperRequest::Unpack(packing) => {
                    if let Ok(blob) = attachment.dyn_into::<Blob>() {
                        let sender = Sender::new(answers.clone(), over.clone());
                        *sends.borrow_mut() = Some(sender.clone());
                        spawn_local(unpack(blob, packing, sender));
                    }
                }
                HelperRequest::More => {
                    if let Some(sender) = &*sends.borrow() {
                        sender.goes_on(attachment.dyn_into().ok());
                    }
                }
            }
        });
        port.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        Helper { port, _on_message: on_message, is_over, unpacking }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.is_over.set(true);
        if let Some(sender) = self.unpacking.borrow_mut().take() {
            // It notices that the receiver is gone.
            sender.goes_on(None);
        }
        self.port.set_onmessage(None);
        self.port.close();
    }
}

/// Parser of parts of the file `blob`.
pub fn part_reader(parts: &PartsInfo, blob: &Blob) -> Box<dyn PartReader> {
    let mut reader = (parts.reader)();
    if let Some(content) = BlobContent::new(blob) {
        reader.lend(Rc::new(content));
    }
    reader
}

/// Parses all queued parts.
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
                // The joining worker will read it and get the error.
                Err(_) => break None,
            }
        };
        match result {
            Some(part) => {
                let part = in_memory(&part.into_bytes(), job.spent.borrow_mut().take());
                post(&port, &HelperResponse::Read(stretch.range), Some(part));
            }
            None => post(&port, &HelperResponse::Lost(stretch.range), None),
        }
    }
    *job.reader.borrow_mut() = Some(reader);
}

/// Sends decompressed content, at most [`UNPACKED_AHEAD`] messages ahead.
struct Sender {
    port: MessagePort,
    is_over: Rc<Cell<bool>>,
    n_ahead: Cell<usize>,
    spent: RefCell<Vec<ArrayBuffer>>,
    wake: Wake,
}

impl Sender {
    fn new(port: MessagePort, is_over: Rc<Cell<bool>>) -> Rc<Sender> {
        let (n_ahead, spent) = (Cell::new(0), RefCell::default());
        Rc::new(Sender { port, is_over, n_ahead, spent, wake: Wake::default() })
    }

    /// Counts a consumed message.
    fn goes_on(&self, spent: Option<ArrayBuffer>) {
        self.n_ahead.set(self.n_ahead.get().saturating_sub(1));
        self.spent.borrow_mut().extend(spent);
        self.wake.wake();
    }

    /// Sends `content` once allowed. False if the receiver is gone.
    async fn send(&self, content: &mut Vec<u8>, response: &HelperResponse) -> bool {
        while self.n_ahead.get() >= UNPACKED_AHEAD && !self.is_over.get() {
            self.wake.wait().await;
        }
        if self.is_over.get() {
            return false;
        }
        let spent = self.spent.borrow_mut().pop();
        post(&self.port, response, Some(in_memory(content, spent)));
        self.n_ahead.set(self.n_ahead.get() + 1);
        content.clear();
        true
    }
}

/// Decompresses a whole file.
async fn unpack(blob: Blob, packing: Packing, sender: Rc<Sender>) {
    let mut source = Source::new(&blob, 0..blob.size() as u64);
    let mut unpacker = Unpacker::new(packing);
    let (mut packed, mut content) = (Vec::new(), Vec::with_capacity(UNPACKED_BYTES));
    let mut file_bytes = 0;
    let max_step = match packing {
        Packing::Gzip => GZIP_STEP,
        // Blocks of at most a few megabytes, as in zstd.
        Packing::Zstd | Packing::Lz4 => ZSTD_STEP,
    };
    let mut step = max_step;
    loop {
        if let Err(error) = source.next(&mut packed).await {
            let response = HelperResponse::Unreadable { name: error_name(&error) };
            sender.send(&mut content, &response).await;
            return;
        }
        if packed.is_empty() {
            break;
        }
        // In small steps, because the output may be much larger.
        let mut rest = packed.as_slice();
        while !rest.is_empty() {
            let (some, after) = rest.split_at(step.min(rest.len()));
            rest = after;
            let kept = unpacker.feed(some, &mut |piece| {
                content.extend_from_slice(piece);
                Ok::<(), std::convert::Infallible>(())
            });
            kept.unwrap_or_default();
            file_bytes += some.len() as u64;
            step = if content.len() > MAX_STEP_BYTES { step.div_ceil(16) } else { (step * 2).min(max_step) };
            if content.len() >= UNPACKED_BYTES {
                let response = HelperResponse::Unpacked { file_bytes, is_over: false, problem: None };
                if !sender.send(&mut content, &response).await {
                    return;
                }
            }
        }
    }
    let kept = unpacker.finish(&mut |piece| {
        content.extend_from_slice(piece);
        Ok::<(), std::convert::Infallible>(())
    });
    kept.unwrap_or_default();
    let problem = unpacker.problem().map(|problem| (problem.kind.code.to_string(), problem.byte));
    sender.send(&mut content, &HelperResponse::Unpacked { file_bytes, is_over: true, problem }).await;
}

/// Copies `bytes` to a transferable buffer, into `spent` if large enough.
fn in_memory(bytes: &[u8], spent: Option<ArrayBuffer>) -> Uint8Array {
    let len = bytes.len() as u32;
    let buffer = match spent {
        Some(spent) if spent.byte_length() >= len => spent,
        // A little larger, so that it can be reused.
        _ => ArrayBuffer::new(len + len / 4),
    };
    let array = Uint8Array::new_with_byte_offset_and_length(&buffer, 0, len);
    array.copy_from(bytes);
    array
}

fn post(port: &MessagePort, response: &HelperResponse, content: Option<Uint8Array>) {
    if port::send(port, response, &content.map_or(JsValue::UNDEFINED, JsValue::from)).is_err() {
        // Without an answer the other worker would wait forever; the page forwards an error.
        wasm_bindgen::throw_str("could not send an answer to another worker");
    }
}

//! The bytes of a file in order, read ahead from a `Blob`.
//!
//! A BYOB stream is fastest; if a browser has none, or if it stalls, the rest is read in slices. The content of the bytes does not
//! matter here.
//!
//! By default a read returns the available data, usually 64 KiB. Requesting a minimum size reduces the number of reads to a
//! sixteenth and halves the time. Browsers without that option return less at a time.

use js_sys::{Array, ArrayBuffer, Function, Object, Promise, Reflect, Uint8Array};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::ops::Range;
use std::pin::pin;
use std::task::Poll;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, DedicatedWorkerGlobalScope, ReadableStreamByobReader};

/// Size of the buffers that the stream fills.
const VIEW_BYTES: u32 = 1 << 20;
/// Buffers being filled while another is in use.
const VIEWS_AHEAD: usize = 2;
/// Buffers kept for streams to come.
const MAX_SPARE: usize = 3 * VIEWS_AHEAD;
/// Timeout after which a stalled stream is abandoned.
pub const PATIENCE_MS: i32 = 10_000;
/// Slices below 4 MiB are slow in Chromium.
const SLICE_BYTES: u64 = 16 << 20;
/// Slices requested ahead of the current one.
const SLICES_AHEAD: usize = 2;

/// A file, or a part of it, being read front to back.
pub struct Source {
    blob: Blob,
    /// End position.
    end: u64,
    /// Position of the next bytes.
    at: u64,
    way: Way,
}

enum Way {
    Stream(Stream),
    Slices {
        /// First byte not requested yet.
        asked: u64,
        ahead: VecDeque<JsFuture>,
    },
}

impl Source {
    /// Starts reading the bytes `range` of `blob`.
    pub fn new(blob: &Blob, range: Range<u64>) -> Source {
        let (start, end) = (range.start, range.end.min(blob.size() as u64));
        let part = blob.slice_with_f64_and_f64(start as f64, end as f64);
        let stream = part.ok().and_then(|part| Stream::open(&part));
        let way = stream.map_or_else(|| Way::slices(start), Way::Stream);
        Source { blob: blob.clone(), end, at: start, way }
    }

    /// End position.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Position of the next bytes.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Replaces the content of `buffer` by the next bytes; empty at the end.
    pub async fn next(&mut self, buffer: &mut Vec<u8>) -> Result<(), JsValue> {
        if self.at >= self.end {
            buffer.clear();
            return Ok(());
        }
        if let Way::Stream(stream) = &mut self.way {
            if stream.next(buffer).await.is_some() {
                self.at += buffer.len() as u64;
                stream.is_over = self.at == self.end;
                return Ok(());
            }
            // If the file is the problem, the slice returns the error.
            self.way = Way::slices(self.at);
        }
        if let Way::Slices { asked, ahead } = &mut self.way {
            while ahead.len() < SLICES_AHEAD && *asked < self.end {
                let end = (*asked + SLICE_BYTES).min(self.end);
                let slice = self.blob.slice_with_f64_and_f64(*asked as f64, end as f64)?;
                ahead.push_back(JsFuture::from(slice.array_buffer()));
                *asked = end;
            }
            let Some(next) = ahead.pop_front() else {
                buffer.clear();
                return Ok(());
            };
            let array = Uint8Array::new(&next.await?.unchecked_into::<ArrayBuffer>());
            copy(&array, buffer);
            self.at += buffer.len() as u64;
            if buffer.is_empty() || (ahead.is_empty() && self.at < *asked) {
                return Err(js_sys::Error::new("a slice of the file was shorter than requested").into());
            }
        }
        Ok(())
    }
}

impl Way {
    fn slices(from: u64) -> Way {
        Way::Slices { asked: from, ahead: VecDeque::new() }
    }
}

#[wasm_bindgen]
extern "C" {
    /// [`ReadableStreamByobReader`] with a minimum size in `read`.
    type FillingReader;

    #[wasm_bindgen(method)]
    fn read(this: &FillingReader, view: &Uint8Array, options: &Object) -> Promise;
}

/// Options for a read of at least `n_bytes`, or up to the end.
fn fill(n_bytes: u32) -> Object {
    let options = Object::new();
    // Setting a member of a new object cannot fail.
    let _ = Reflect::set(&options, &"min".into(), &n_bytes.into());
    options
}

/// Pending reads of a stream. It owns the reader, because Chromium collects a reader that only its reads reference.
struct Stream {
    reader: ReadableStreamByobReader,
    reads: VecDeque<Promise>,
    /// Whether the stream has ended.
    is_over: bool,
}

thread_local! {
    /// Buffers of ended streams, for reuse, because allocating is expensive.
    static SPARE: RefCell<Vec<ArrayBuffer>> = RefCell::default();
    /// Takes the buffer from the result of a read.
    static RECLAIM: Closure<dyn FnMut(JsValue)> = Closure::new(|result: JsValue| {
        let value = Reflect::get(&result, &"value".into()).ok();
        if let Some(array) = value.and_then(|value| value.dyn_into::<Uint8Array>().ok()) {
            SPARE.with_borrow_mut(|spare| {
                if spare.len() < MAX_SPARE && array.buffer().byte_length() == VIEW_BYTES {
                    spare.push(array.buffer());
                }
            });
        }
    });
}

impl Stream {
    /// `None` if the browser has no such streams.
    fn open(blob: &Blob) -> Option<Stream> {
        let reader = ReadableStreamByobReader::new(&blob.stream()).ok()?;
        let mut stream = Stream { reader, reads: VecDeque::new(), is_over: false };
        for _ in 0..VIEWS_AHEAD {
            let spare = SPARE.with_borrow_mut(Vec::pop);
            stream.read_into(&spare.unwrap_or_else(|| ArrayBuffer::new(VIEW_BYTES)));
        }
        Some(stream)
    }

    fn read_into(&mut self, buffer: &ArrayBuffer) {
        let view = Uint8Array::new(buffer);
        let read = self.reader.unchecked_ref::<FillingReader>().read(&view, &fill(view.length()));
        forgive(&read);
        self.reads.push_back(read);
    }

    /// `None` at the end or on a stall.
    async fn next(&mut self, buffer: &mut Vec<u8>) -> Option<()> {
        let read = self.reads.pop_front()?;
        let (timeout, timer) = timeout(PATIENCE_MS)?;
        let result = JsFuture::from(Promise::race(&Array::of2(&read, &timeout))).await;
        scope().clear_timeout_with_handle(timer);
        let value = Reflect::get(&result.ok()?, &"value".into()).ok()?;
        let array: Uint8Array = value.dyn_into().ok()?;
        if array.length() == 0 {
            return None;
        }
        copy(&array, buffer);
        self.read_into(&array.buffer());
        Some(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.is_over {
            RECLAIM.with(|reclaim| {
                for read in &self.reads {
                    forgive(&read.then(reclaim));
                }
            });
        } else {
            forgive(&self.reader.cancel());
        }
    }
}

/// Marks a promise as handled: when a stream fails, all its reads reject.
fn forgive(promise: &Promise) {
    thread_local! {
        static IGNORE: Closure<dyn FnMut(JsValue)> = Closure::new(|_| {});
    }
    IGNORE.with(|ignore| {
        let _ = promise.catch(ignore);
    });
}

/// Replaces the content of `buffer` by bytes of the browser.
fn copy(array: &Uint8Array, buffer: &mut Vec<u8>) {
    // Only growth costs filling with zeros.
    buffer.resize(array.length() as usize, 0);
    array.copy_to(buffer);
}

fn scope() -> DedicatedWorkerGlobalScope {
    js_sys::global().unchecked_into()
}

/// Promise that resolves after a delay, with its timer.
fn timeout(ms: i32) -> Option<(Promise, i32)> {
    let mut timer = None;
    let promise = Promise::new(&mut |resolve: Function, _: Function| {
        timer = scope().set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, ms).ok();
    });
    timer.map(|timer| (promise, timer))
}

/// Reads all bytes of a small file.
pub async fn whole(blob: &Blob) -> Result<Vec<u8>, JsValue> {
    let buffer = JsFuture::from(blob.array_buffer()).await?;
    Ok(Uint8Array::new(&buffer).to_vec())
}

/// Waits.
pub async fn wait(ms: i32) {
    if let Some((promise, _)) = timeout(ms) {
        let _ = JsFuture::from(promise).await;
    }
}

/// Result of `work`, or `None` after `ms`.
pub async fn within<T>(ms: i32, work: impl Future<Output = T>) -> Option<T> {
    let (mut work, mut late) = (pin!(work), pin!(wait(ms)));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => late.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// Yields to messages of the page.
pub async fn breathe() {
    let promise = Promise::new(&mut |resolve: Function, _: Function| {
        // A timer waits for at least 4 ms; a message arrives at once.
        let sent = web_sys::MessageChannel::new().and_then(|channel| {
            channel.port1().set_onmessage(Some(&resolve));
            channel.port2().post_message(&JsValue::NULL)
        });
        if sent.is_err() {
            let _ = resolve.call0(&JsValue::NULL);
        }
    });
    let _ = JsFuture::from(promise).await;
}

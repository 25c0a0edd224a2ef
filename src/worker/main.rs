//! The message loop around [`Session`]: one worker serves one file. What it decides is when the page hears of it.
//!
//! Hands the bytes of the file to the session as they come in; now and then messages of the page are answered, so that
//! a table can be sorted while reading goes on.

mod content;
mod source;

use content::BlobContent;
use js_sys::{Array, Reflect, Uint8Array};
use source::Source;
use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::engine::protocol::{self, Failure, Progress, Request, Response};
use tracedrop::engine::{self, Session};
use tracedrop::export::{self, Options};
use tracedrop::import::ImportError;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, BlobPropertyBag, DedicatedWorkerGlobalScope, MessageEvent};

/// Progress is told, and messages are let in, this often.
const PROGRESS_EVERY_MS: f64 = 80.0;
/// The first partial report is due after this time.
const FIRST_PARTIAL_MS: f64 = 60.0;
/// Time between partial reports, at least.
const NEXT_PARTIAL_MS: f64 = 1500.0;
/// Partial reports may take one part in this many of the time.
const PARTIAL_SHARE: f64 = 12.0;
/// A worker that has nothing to do for so long gets ready for its file.
const WARM_UP_AFTER_MS: i32 = 150;
/// Exports are handed to the browser in pieces of this size, which it may keep on disk.
const EXPORT_PIECE_BYTES: usize = 4 << 20;

/// What the messages act on.
#[derive(Default)]
struct State {
    session: RefCell<Option<Session>>,
    /// The page asked to stop reading.
    stop: Cell<bool>,
    /// The page has asked for something.
    wanted: Cell<bool>,
}

fn main() {
    let state = Rc::new(State::default());
    spawn_local(warm_up(state.clone()));
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        state.wanted.set(true);
        let data: Array = match event.data().dyn_into() {
            Ok(data) => data,
            Err(_) => return,
        };
        let bytes = Uint8Array::new(&data.get(0)).to_vec();
        if let Some(request) = protocol::decode::<Request>(&bytes) {
            answer(&state, request, data.get(1).dyn_into().ok());
        }
    });
    scope().set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
    post(&Response::Ready { formats: engine::formats(), exporters: engine::exporters() });
}

/// Has the browser compile what reading takes, while nothing is asked for.
async fn warm_up(state: Rc<State>) {
    source::wait(WARM_UP_AFTER_MS).await;
    let mut steps = engine::warm_up::steps();
    while !state.wanted.get() && steps.next().is_some() {
        source::breathe().await;
    }
}

fn scope() -> DedicatedWorkerGlobalScope {
    js_sys::global().unchecked_into()
}

fn now_ms() -> f64 {
    scope().performance().map_or(0.0, |performance| performance.now())
}

/// Sends a message; its bytes are handed over, not copied.
fn post(response: &Response) {
    post_with(response, &JsValue::UNDEFINED);
}

fn post_with(response: &Response, attachment: &JsValue) {
    let bytes = Uint8Array::from(protocol::encode(response).as_slice());
    let message = Array::of2(&bytes, attachment);
    // Posting plain bytes and a Blob has no way to fail but for a page that is gone.
    let _ = scope().post_message_with_transfer(&message, &Array::of1(&bytes.buffer()));
}

fn failure(error: ImportError) -> Failure {
    Failure { code: error.code.to_string(), what: error.what, hint: error.hint }
}

fn answer(state: &Rc<State>, request: Request, blob: Option<Blob>) {
    match request {
        Request::Open { file_name, query } => match blob {
            Some(blob) => spawn_local(read(state.clone(), blob, file_name, query)),
            None => post(&Response::Failed(Failure {
                code: "no-file".to_string(),
                what: "there was no file to read".to_string(),
                hint: "choose it again".to_string(),
            })),
        },
        Request::Stop => state.stop.set(true),
        Request::SetQuery(query) => {
            if let Some(session) = state.session.borrow_mut().as_mut() {
                session.set_query(query);
                post_document(session);
            }
        }
        Request::Rows { ticket, table, query, offset, limit } => {
            if let Some(session) = state.session.borrow_mut().as_mut() {
                let rows = session.rows(table, &query, offset, limit);
                post(&Response::Rows { ticket, table, rows });
            }
        }
        Request::Copy { ticket, table, query, format } => {
            if let Some(session) = state.session.borrow_mut().as_mut() {
                let (text, n_rows) = session.copy(table, &query, format);
                post(&Response::Copied { ticket, text, n_rows });
            }
        }
        Request::Export { ticket, exporter } => {
            if let Some(session) = state.session.borrow_mut().as_mut() {
                export(session, ticket, &exporter);
            }
        }
    }
}

fn post_document(session: &Session) {
    if let Some(document) = session.document() {
        post(&Response::Document(Box::new(document)));
    }
}

/// Reads the whole file.
async fn read(state: Rc<State>, blob: Blob, file_name: String, query: Query) {
    let content = BlobContent::new(&blob);
    let mut source = Source::new(blob);
    let mut session = Session::new(&file_name, source.n_bytes(), None, query);
    if let Some(content) = content {
        session.can_read_again(Rc::new(content));
    }
    *state.session.borrow_mut() = Some(session);
    let mut progress = Reporter::new(source.n_bytes());
    let mut buffer = Vec::new();
    let mut broken = None;
    while !state.stop.get() {
        match source.next(&mut buffer).await {
            Ok(()) if buffer.is_empty() => break,
            Ok(()) => {}
            Err(error) => {
                broken = Some(error);
                break;
            }
        }
        let (told, over) = match state.session.borrow_mut().as_mut() {
            Some(session) => {
                session.feed(&buffer);
                (progress.tell(session), session.has_given_up())
            }
            None => (false, true),
        };
        if over {
            break;
        }
        if told {
            source::breathe().await;
        }
    }
    drop((source, buffer));
    let mut guard = state.session.borrow_mut();
    let Some(session) = guard.as_mut() else { return };
    progress.finishing(session);
    let result = match broken {
        Some(error) => session.stop(&read_error(&error)),
        None if state.stop.get() => session.stop("it was stopped by hand"),
        None => session.finish(),
    };
    match result {
        Ok(()) => post_document(session),
        Err(error) => post(&Response::Failed(failure(error))),
    }
}

/// What the browser says when a file can not be read, in words that help.
fn read_error(error: &JsValue) -> String {
    let name = Reflect::get(error, &"name".into()).ok().and_then(|name| name.as_string()).unwrap_or_default();
    match name.as_str() {
        "NotReadableError" => {
            "the browser could no longer read the file: it was changed, moved, or is a folder".to_string()
        }
        "NotFoundError" => "the file is no longer there, or is a folder".to_string(),
        "SecurityError" => "the browser does not allow this file to be read".to_string(),
        _ => format!("the browser could not read the file ({name})"),
    }
}

/// Tells the page how reading goes, and now and then what has come of it.
struct Reporter {
    file_bytes: u64,
    last_progress: f64,
    /// When the next partial report is due.
    next_partial: f64,
}

impl Reporter {
    fn new(file_bytes: u64) -> Reporter {
        let now = now_ms();
        Reporter { file_bytes, last_progress: now, next_partial: now + FIRST_PARTIAL_MS }
    }

    /// Whether the page was told of progress, and should be listened to.
    fn tell(&mut self, session: &mut Session) -> bool {
        let start = now_ms();
        if start >= self.next_partial {
            if session.make_partial() {
                post_document(session);
            }
            let end = now_ms();
            self.next_partial = end + ((end - start) * PARTIAL_SHARE).max(NEXT_PARTIAL_MS);
        }
        let due = start - self.last_progress >= PROGRESS_EVERY_MS;
        if due {
            self.last_progress = start;
            post(&Response::Progress(self.progress(session, false)));
        }
        due
    }

    fn finishing(&self, session: &Session) {
        post(&Response::Progress(self.progress(session, true)));
    }

    fn progress(&self, session: &Session, finishing: bool) -> Progress {
        let progress = session.progress();
        Progress {
            file_bytes_read: progress.file_bytes,
            file_bytes: self.file_bytes,
            content_bytes: progress.content_bytes,
            records: progress.records,
            format: session.format().map(|format| format.title.to_string()),
            finishing,
        }
    }
}

/// Writes an export into a `Blob`, which is sent to the page by reference.
fn export(session: &Session, ticket: u32, id: &str) {
    let refuse = |code: &str, what: String, hint: &str| {
        let failure = Failure { code: code.to_string(), what, hint: hint.to_string() };
        post(&Response::Refused { ticket, failure });
    };
    let Some(exporter) = export::find(id) else {
        return refuse("unknown-exporter", format!("there is no exporter named {id}"), "");
    };
    let mut parts = BlobParts { ticket, parts: Array::new(), piece: Vec::new(), bytes: 0 };
    let too_large = "close other tabs, or export with the tracedrop command";
    if let Err(error) = session.export(exporter, &Options::default(), &mut parts).and_then(|()| parts.flush())
    {
        let hint = if error.kind() == io::ErrorKind::InvalidData { "open the file again" } else { too_large };
        return refuse("export-failed", error.to_string(), hint);
    }
    let options = BlobPropertyBag::new();
    options.set_type(exporter.media_type);
    match Blob::new_with_blob_sequence_and_options(&parts.parts, &options) {
        Ok(blob) => {
            let file_name = session.export_file_name(exporter);
            post_with(&Response::Exported { ticket, file_name, bytes: parts.bytes }, blob.as_ref());
        }
        Err(_) => {
            let what = format!("the browser could not hold the export of {} bytes", parts.bytes);
            refuse("export-too-large", what, too_large);
        }
    }
}

/// Takes an export piece by piece, so that it never stands in this worker's memory as a whole.
struct BlobParts {
    ticket: u32,
    parts: Array,
    piece: Vec<u8>,
    bytes: u64,
}

impl Write for BlobParts {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= EXPORT_PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let array = Array::of1(&Uint8Array::from(self.piece.as_slice()));
        let part = Blob::new_with_u8_array_sequence(&array)
            .map_err(|_| io::Error::other("the browser has no room for the export"))?;
        self.parts.push(&part);
        self.bytes += self.piece.len() as u64;
        self.piece.clear();
        post(&Response::ExportProgress { ticket: self.ticket, bytes: self.bytes });
        Ok(())
    }
}

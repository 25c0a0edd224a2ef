//! The message loop around [`Session`]: one worker serves one file. What it decides is when the page hears of it.
//!
//! Hands the bytes of the file to the session as they come in; now and then messages of the page are answered, so that
//! a table can be sorted while reading goes on.

mod content;
mod crew;
mod helper;
mod index;
mod kept;
mod port;
mod source;
mod stretch;
mod unpacked;
mod wake;

use content::BlobContent;
use crew::Helpers;
use helper::Helper;
use index::Opened;
use js_sys::{Array, Reflect, Uint8Array};
use source::Source;
use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::rc::Rc;
use stretch::Stretch;
use tracedrop::analysis::Query;
use tracedrop::engine::protocol::{self, Failure, HelperResponse, Keep, Progress, Request, Response};
use tracedrop::engine::{self, Session};
use tracedrop::export::{self, Options};
use tracedrop::import::crew::Next;
use tracedrop::import::parts::PartsInfo;
use tracedrop::import::unpack::{self, Packing};
use tracedrop::import::{Import, ImportError, ImportProgress};
use unpacked::Unpacked;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, BlobPropertyBag, DedicatedWorkerGlobalScope, MessageEvent, MessagePort};

/// Progress is told, and messages are let in, this often.
const PROGRESS_EVERY_MS: f64 = 80.0;
/// The first partial report is due after this time.
const FIRST_PARTIAL_MS: f64 = 60.0;
/// Time between partial reports, at least.
const NEXT_PARTIAL_MS: f64 = 400.0;
/// What a partial report costs as long as none of a large part has been made, in milliseconds a byte.
const PARTIAL_COST_MS: f64 = 3e-7;
/// The cost of those of smaller parts says nothing.
const LARGE_PART_BYTES: u64 = 32 << 20;
/// A partial report may take one part in this many of the time that has gone by since the one before, and of the time
/// that reading is going to take.
const PARTIAL_SHARE: f64 = 4.0;
const PARTIAL_SHARE_LEFT: f64 = 8.0;
/// A worker that has nothing to do for so long gets ready for its file.
const WARM_UP_AFTER_MS: i32 = 150;
/// So much is looked at to tell how a file is packed.
const SNIFF_BYTES: u64 = 16;
/// Exports are handed to the browser in pieces of this size, which it may keep on disk.
const EXPORT_PIECE_BYTES: usize = 4 << 20;

/// What the messages act on.
#[derive(Default)]
struct State {
    session: RefCell<Option<Session>>,
    /// The page asked to stop reading.
    stop: Cell<bool>,
    /// Who helps with reading.
    helpers: RefCell<Option<Rc<Helpers>>>,
    /// Those of them that have ended, by the number of their port.
    lost: RefCell<Vec<usize>>,
    /// Who unpacks the file.
    unpacked: RefCell<Option<Rc<Unpacked>>>,
    /// Whom this one helps.
    helper: RefCell<Option<Helper>>,
    /// The page has asked for something.
    wanted: Cell<bool>,
    /// Someone has chosen that nothing is to be kept.
    keeps_nothing: Cell<bool>,
}

impl State {
    /// Whoever is lost is not waited for.
    fn tell_of_losses(&self) {
        for index in self.lost.borrow().iter() {
            if let Some(helpers) = self.helpers.borrow().as_ref() {
                helpers.lose(*index);
            }
            // Only the first one unpacks.
            if let Some(unpacked) = self.unpacked.borrow().as_ref().filter(|_| *index == 0) {
                unpacked.lose();
            }
        }
    }
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
            answer(&state, request, &data);
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

/// What comes beside the request starts at the second place of `data`.
fn answer(state: &Rc<State>, request: Request, data: &Array) {
    match request {
        Request::Open { file_name, query, keep } => match data.get(1).dyn_into::<Blob>() {
            Ok(blob) => {
                let ports = data.iter().skip(2).filter_map(|port| port.dyn_into().ok()).collect();
                spawn_local(open(state.clone(), blob, ports, file_name, query, keep));
            }
            Err(_) => post(&Response::Failed(Failure {
                code: "no-file".to_string(),
                what: "there was no file to read".to_string(),
                hint: "choose it again".to_string(),
            })),
        },
        Request::OpenKept { key, query } => spawn_local(open_kept(state.clone(), key, query)),
        Request::ListKept { ticket } => spawn_local(async move {
            post(&Response::Kept { ticket, entries: kept::list().await });
        }),
        Request::Forget { ticket, key } => spawn_local(async move {
            kept::forget(key.as_deref()).await;
            post(&Response::Kept { ticket, entries: kept::list().await });
        }),
        Request::KeepNothing => state.keeps_nothing.set(true),
        Request::Stop => {
            state.stop.set(true);
            if let Some(helpers) = state.helpers.borrow().as_ref() {
                helpers.wake();
            }
            if let Some(unpacked) = state.unpacked.borrow().as_ref() {
                unpacked.wake();
            }
        }
        Request::Help => {
            *state.helper.borrow_mut() = data.get(1).dyn_into().ok().map(Helper::new);
        }
        Request::HelperLost { index } => {
            // They may not have been given anything to do yet.
            state.lost.borrow_mut().push(index as usize);
            state.tell_of_losses();
        }
        Request::SetQuery(query) => {
            if let Some(session) = state.session.borrow_mut().as_mut() {
                match session.set_query(query) {
                    Ok(()) => post_document(session),
                    Err(error) => post(&Response::Stale(failure(error))),
                }
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

/// Opens the file from its index, or reads it and keeps one.
async fn open(
    state: Rc<State>,
    blob: Blob,
    ports: Vec<MessagePort>,
    file_name: String,
    query: Query,
    keep: Option<Keep>,
) {
    match index::open(&blob, &file_name, query.clone(), keep).await {
        Some(Opened::Index(session)) => show(&state, session.map(|session| *session).map_err(failure)),
        Some(Opened::Kept(session, identity, digest)) => {
            show(&state, Ok(*session));
            if let Some(keep) = keep {
                let key = kept::key(blob.size() as u64, keep.modified_ms);
                index::verify(&blob, &key, identity, digest).await;
            }
        }
        None => {
            let is_whole = read(state.clone(), &blob, ports, file_name, query).await;
            if let Some(keep) = keep.filter(|_| is_whole) {
                index::keep(&state, &blob, keep).await;
            }
        }
    }
}

/// Opens an index that was kept, without its file.
async fn open_kept(state: Rc<State>, key: String, query: Query) {
    show(&state, index::open_kept(&key, query).await);
}

/// Shows what did not have to be read.
fn show(state: &State, session: Result<Session, Failure>) {
    match session {
        Ok(session) => {
            post_document(&session);
            *state.session.borrow_mut() = Some(session);
        }
        Err(failure) => post(&Response::Failed(failure)),
    }
}

/// Reads the whole file. False if something came between.
async fn read(
    state: Rc<State>,
    blob: &Blob,
    ports: Vec<MessagePort>,
    file_name: String,
    query: Query,
) -> bool {
    let mut progress = Reporter::new(blob.size() as u64);
    let begin = || {
        let mut session = Session::new(&file_name, blob.size() as u64, None, query.clone());
        if let Some(content) = BlobContent::new(blob) {
            session.can_read_again(Rc::new(content));
        }
        *state.session.borrow_mut() = Some(session);
    };
    begin();
    let packing = if ports.is_empty() { None } else { packing(blob).await };
    let result = match packing {
        Some(packing) => match read_unpacked(&state, blob, packing, ports, &mut progress).await {
            Some(result) => result,
            // The one who unpacked is lost: once more, alone.
            None => {
                begin();
                read_alone(&state, blob, false, &mut progress).await.map(drop)
            }
        },
        None => match read_alone(&state, blob, !ports.is_empty(), &mut progress).await {
            Ok(Some(parts)) => read_with(&state, blob, ports, parts, &mut progress).await,
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        },
    };
    *state.helpers.borrow_mut() = None;
    *state.unpacked.borrow_mut() = None;
    let mut guard = state.session.borrow_mut();
    let Some(session) = guard.as_mut() else { return false };
    progress.finishing(session);
    let is_whole = result.is_ok() && !state.stop.get();
    let result = match result {
        Err(error) => session.stop(&read_error(&error_name(&error))),
        Ok(()) if state.stop.get() => session.stop("it was stopped by hand"),
        Ok(()) => session.finish(),
    };
    match result {
        Ok(()) => {
            post_document(session);
            is_whole
        }
        Err(error) => {
            post(&Response::Failed(failure(error)));
            false
        }
    }
}

/// Feeds the session and tells the page of it; false if no more is wanted.
async fn feed(state: &State, bytes: &[u8], progress: &mut Reporter) -> bool {
    with_import(state, |import| import.feed(bytes));
    tell(state, progress).await
}

/// Tells the page how far it is, if it is time to; false if no more is wanted.
async fn tell(state: &State, progress: &mut Reporter) -> bool {
    let (told, over) = match state.session.borrow_mut().as_mut() {
        Some(session) => (progress.tell(session), session.has_given_up()),
        None => (false, true),
    };
    if told {
        source::breathe().await;
    }
    !over && !state.stop.get()
}

/// How the file is packed, if another worker is worth being told to unpack it.
async fn packing(blob: &Blob) -> Option<Packing> {
    if (blob.size() as u64) < unpacked::MIN_FILE_BYTES {
        return None;
    }
    let mut head = Vec::new();
    Source::new(blob, 0..SNIFF_BYTES).next(&mut head).await.ok()?;
    Packing::sniff(&head)
}

/// Reads what another worker unpacks. `None` if that one is lost.
async fn read_unpacked(
    state: &State,
    blob: &Blob,
    packing: Packing,
    ports: Vec<MessagePort>,
    progress: &mut Reporter,
) -> Option<Result<(), JsValue>> {
    let unpacked = Rc::new(Unpacked::start(ports.into_iter().next()?, blob, packing));
    *state.unpacked.borrow_mut() = Some(unpacked.clone());
    state.tell_of_losses();
    with_import(state, |import| import.unpack_elsewhere(packing));
    let mut buffer = Vec::new();
    while !state.stop.get() {
        let (file_bytes, is_over, problem) = match unpacked.next(&mut buffer).await {
            Some(HelperResponse::Unpacked { file_bytes, is_over, problem }) => (file_bytes, is_over, problem),
            Some(HelperResponse::Unreadable { name }) => {
                with_import(state, |import| import.feed_unpacked(&buffer, import.progress().file_bytes));
                return Some(Err(named_error(&name)));
            }
            Some(_) => continue,
            None if state.stop.get() => break,
            None => return None,
        };
        with_import(state, |import| {
            import.feed_unpacked(&buffer, file_bytes);
            if let Some((code, byte)) = problem
                && let Some(kind) = unpack::issues::ALL.iter().find(|kind| kind.code == code)
            {
                import.unpacking_failed(packing, unpack::Problem { kind, byte });
            }
        });
        if is_over || !tell(state, progress).await {
            break;
        }
    }
    Some(Ok(()))
}

/// Reads the file from front to back; if there are helpers, up to where they can be of use.
async fn read_alone(
    state: &State,
    blob: &Blob,
    has_helpers: bool,
    progress: &mut Reporter,
) -> Result<Option<&'static PartsInfo>, JsValue> {
    let n_bytes = blob.size() as u64;
    let is_large = has_helpers && n_bytes >= crew::MIN_FILE_BYTES;
    let mut source = Source::new(blob, 0..n_bytes);
    let mut buffer = Vec::new();
    loop {
        source.next(&mut buffer).await?;
        if buffer.is_empty() || !feed(state, &buffer, progress).await {
            return Ok(None);
        }
        if is_large && let Some(parts) = with_import(state, Import::parts).flatten() {
            return Ok(Some(parts));
        }
    }
}

/// Reads the rest of the file together with the workers behind `ports`.
async fn read_with(
    state: &State,
    blob: &Blob,
    ports: Vec<MessagePort>,
    parts: &'static PartsInfo,
    progress: &mut Reporter,
) -> Result<(), JsValue> {
    let n_bytes = blob.size() as u64;
    let Some(Some((rest, format))) = with_import(state, |import| {
        let rest = import.position()..n_bytes;
        import.format().map(|format| (rest, format))
    }) else {
        return Ok(());
    };
    let helpers = Helpers::start(ports, blob, rest, format);
    *state.helpers.borrow_mut() = Some(helpers.clone());
    state.tell_of_losses();
    let mut reader = (parts.reader)();
    let mut buffer = Vec::new();
    let mut own: Option<Stretch> = None;
    let mut ahead: Option<Stretch> = None;
    while !state.stop.get() {
        let Some(next) = with_import(state, |import| helpers.advance(import)) else { return Ok(()) };
        if let Next::Feed(range) = next {
            let upto = range.end;
            let mut source = Source::new(blob, range);
            loop {
                source.next(&mut buffer).await?;
                if buffer.is_empty() && source.at() < upto {
                    // The file has become shorter, which the import notices.
                    return Ok(());
                }
                if buffer.is_empty() {
                    break;
                }
                if !feed(state, &buffer, progress).await {
                    return Ok(());
                }
                if with_import(state, Import::is_at_joint) == Some(true) {
                    break;
                }
            }
            continue;
        }
        // While others read, so does this one.
        let open = || helpers.take().map(|range| Stretch::open(blob, range));
        own = own.or_else(|| ahead.take()).or_else(open);
        match &mut own {
            Some(stretch) => {
                if ahead.is_none() {
                    ahead = open();
                }
                match stretch.step(blob, reader.as_mut(), &mut buffer).await {
                    Ok(None) => {}
                    Ok(Some(part)) => {
                        helpers.put(&stretch.range, Some(part));
                        own = None;
                    }
                    // It is read from front to back then, which says what is wrong.
                    Err(_) => {
                        helpers.put(&stretch.range, None);
                        own = None;
                    }
                }
            }
            None if next == Next::Wait => helpers.wait().await,
            None => return Ok(()),
        }
        if !tell(state, progress).await {
            return Ok(());
        }
    }
    Ok(())
}

/// Does something with what the file is read by; `None` if it is read no more.
fn with_import<T>(state: &State, work: impl FnOnce(&mut Import) -> T) -> Option<T> {
    state.session.borrow_mut().as_mut().and_then(Session::import).map(work)
}

/// What the browser calls an error.
fn error_name(error: &JsValue) -> String {
    Reflect::get(error, &"name".into()).ok().and_then(|name| name.as_string()).unwrap_or_default()
}

/// An error of that name, as another worker has met it.
fn named_error(name: &str) -> JsValue {
    let error = js_sys::Error::new("");
    error.set_name(name);
    error.into()
}

/// What the browser says when a file can not be read, in words that help.
fn read_error(name: &str) -> String {
    match name {
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
    start: f64,
    last_progress: f64,
    /// When the next partial report is due.
    next_partial: f64,
    last_partial: f64,
    /// What the last one has cost, in milliseconds for each byte that was read.
    partial_cost: f64,
}

impl Reporter {
    fn new(file_bytes: u64) -> Reporter {
        let now = now_ms();
        Reporter {
            file_bytes,
            start: now,
            last_progress: now,
            next_partial: now + FIRST_PARTIAL_MS,
            last_partial: now,
            partial_cost: PARTIAL_COST_MS,
        }
    }

    /// Whether a partial report is worth what it takes: soon after a file is opened, and where one would wait long.
    fn wants_partial(&self, now: f64, read: ImportProgress) -> bool {
        let cost = self.partial_cost * read.content_bytes as f64;
        let bytes_left = self.file_bytes.saturating_sub(read.file_bytes) as f64;
        let left = bytes_left * (now - self.start) / (read.file_bytes as f64).max(1.0);
        now >= self.next_partial
            && cost * PARTIAL_SHARE <= now - self.last_partial
            && cost * PARTIAL_SHARE_LEFT <= left
    }

    /// Whether the page was told of progress, and should be listened to.
    fn tell(&mut self, session: &mut Session) -> bool {
        let start = now_ms();
        let read = session.progress();
        let wants_partial = self.wants_partial(start, read);
        let due = wants_partial || start - self.last_progress >= PROGRESS_EVERY_MS;
        if due {
            self.last_progress = start;
            post(&Response::Progress(self.progress(session, false)));
        }
        if wants_partial {
            if session.make_partial() {
                post_document(session);
            }
            let end = now_ms();
            if read.content_bytes >= LARGE_PART_BYTES {
                self.partial_cost = (end - start) / read.content_bytes as f64;
            }
            (self.last_partial, self.next_partial) = (end, end + NEXT_PARTIAL_MS);
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
fn export(session: &mut Session, ticket: u32, id: &str) {
    let refuse = |code: &str, what: String, hint: &str| {
        let failure = Failure { code: code.to_string(), what, hint: hint.to_string() };
        post(&Response::Refused { ticket, failure });
    };
    let Some(exporter) = export::find(id) else {
        return refuse("unknown-exporter", format!("there is no exporter named {id}"), "");
    };
    let mut parts = BlobParts { ticket, parts: Array::new(), piece: Vec::new(), bytes: 0 };
    let options = Options { now_ms: js_sys::Date::now() as u64, ..Options::default() };
    let too_large = "close other tabs, or export with the tracedrop command";
    if let Err(error) = session.export(exporter, &options, &mut parts).and_then(|()| parts.flush()) {
        let hint = match error.kind() {
            io::ErrorKind::InvalidData => "open the file again",
            io::ErrorKind::Unsupported => "",
            _ => too_large,
        };
        return refuse("export-failed", error.to_string(), hint);
    }
    let options = BlobPropertyBag::new();
    options.set_type(exporter.media_type);
    match Blob::new_with_blob_sequence_and_options(&parts.parts, &options) {
        Ok(blob) => {
            let file_name = session.export_file_name(exporter);
            let without_args = session.exports_without_args(exporter);
            let response = Response::Exported { ticket, file_name, bytes: parts.bytes, without_args };
            post_with(&response, blob.as_ref());
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

//! The message loop around [`Session`]: one worker serves one tab.
//!
//! Feeds the bytes of files to the session as they arrive (`reading`), and answers messages of the page in between, so that a
//! table can be sorted during parsing.

mod archive;
mod content;
mod crew;
mod export;
mod gather;
mod helper;
mod index;
mod kept;
mod port;
mod reading;
mod reporter;
mod schedule;
mod source;
mod stretch;
mod timeline;
mod turn;
mod unpacked;
mod wake;

use crew::Helpers;
use helper::Helper;
use index::Opened;
use js_sys::{Array, Reflect, Uint8Array};
use reading::Ports;
use reporter::Reporter;
use schedule::Schedule;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::base::hash;
use tracedrop::base::steps::pause;
use tracedrop::compare::CompareQuery;
use tracedrop::engine::folder::{TRACE_OF_RUN, is_read_in_run};
use tracedrop::engine::protocol::{
    self, Failure, FlameQuery, Keep, NamedFile, OpenFile, Request, Response, ShareOptions,
};
use tracedrop::engine::schedule::JobKind;
use tracedrop::engine::{self, Compared, HandedOn, Linked, Session, Shown, Side, search_report};
use tracedrop::export::redact::Outgoing;
use tracedrop::import::{FORMATS, FormatInfo};
use tracedrop::memory_run;
use tracedrop::trace::sidecar_files::SidecarFile;
use unpacked::Unpacked;
use wake::Wake;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, DedicatedWorkerGlobalScope, MessageEvent};

/// Idle time after which a worker warms up for its file.
const WARM_UP_AFTER_MS: i32 = 150;
/// See [`forget_found`].
const FOUND_FOR_MS: i32 = 20_000;
/// State of the worker.
#[derive(Default)]
struct State {
    session: RefCell<Option<Session>>,
    /// The comparison, if it shows one.
    compared: RefCell<Option<Compared>>,
    /// The report from a link, if it shows one.
    linked: RefCell<Option<Linked>>,
    /// Texts of the export in the preview.
    outgoing: RefCell<Option<(String, ShareOptions, Outgoing)>>,
    /// Parsed files, in the order of their traces; `None` for a trace from an index among them.
    blobs: RefCell<Vec<Option<Blob>>>,
    /// Whether their SHA-256 is being computed.
    computes_digests: Cell<bool>,
    /// Whether the page asked to stop parsing.
    stop: Cell<bool>,
    /// Helpers of this worker.
    helpers: RefCell<Option<Rc<Helpers>>>,
    /// Port numbers of helpers that have ended.
    lost: RefCell<Vec<usize>>,
    /// Decompressed content from a helper.
    unpacked: RefCell<Option<Rc<Unpacked>>>,
    /// The worker that this one helps.
    helper: RefCell<Option<Helper>>,
    /// Whether the page has sent a request.
    wanted: Cell<bool>,
    /// Whether caching was switched off.
    keeps_nothing: Cell<bool>,
    schedule: Schedule,
    /// Whether reports are shown before all are made.
    shows_early: Cell<bool>,
    /// Signals that reports were made.
    reports_made: Wake,
    timeline: RefCell<timeline::Cached>,
}

impl State {
    /// Stops waiting for a lost helper.
    fn tell_of_losses(&self) {
        for index in self.lost.borrow().iter() {
            if let Some(helpers) = self.helpers.borrow().as_ref() {
                helpers.lose(*index);
            }
            // Only the first one decompresses.
            if let Some(unpacked) = self.unpacked.borrow().as_ref().filter(|_| *index == 0) {
                unpacked.lose();
            }
        }
    }
}

fn main() {
    // WebAssembly has no source of randomness.
    hash::set_random(js_sys::Math::random().to_bits() ^ js_sys::Math::random().to_bits().rotate_left(32));
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

/// Warms up the parsing code while idle. Not in quick builds: their pages open a small file for a test and end. Tests of the optimized
/// site (`make test-dist`) have it.
async fn warm_up(state: Rc<State>) {
    if option_env!("TRACEDROP_QUICK").is_some() {
        return;
    }
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

/// Sends a message; its bytes are transferred, not copied.
fn post(response: &Response) {
    post_with(response, &JsValue::UNDEFINED);
}

fn post_with(response: &Response, attachment: &JsValue) {
    post_with_all(response, &Array::of1(attachment));
}

fn post_with_all(response: &Response, attachments: &Array) {
    let bytes = Uint8Array::from(protocol::encode(response).as_slice());
    let message = Array::of1(&bytes).concat(attachments);
    // Posting plain bytes and a Blob only fails if the page is gone.
    let _ = scope().post_message_with_transfer(&message, &Array::of1(&bytes.buffer()));
}

/// An unexpected failure.
fn failed(code: &str, what: &str, hint: &str) -> Response {
    Response::Failed(failure(code, what, hint))
}

fn failure(code: &str, what: &str, hint: &str) -> Failure {
    Failure { code: code.to_string(), what: what.to_string(), hint: hint.to_string() }
}

/// Attachments of the request start at index 1 of `data`.
fn answer(state: &Rc<State>, request: Request, data: &Array) {
    match request {
        Request::Open { files, query } => open(state.clone(), files, query, data),
        Request::Side { ticket } => side(state, ticket),
        Request::Hold { ticket, limits } => hold(state, ticket, limits),
        Request::Compare { sides, query } => compare(state, &sides, &query),
        Request::CompareAgain { ticket, query, is_swapped } => {
            compare_again(state, ticket, &query, is_swapped);
        }
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
            schedule::cancel_exports(state);
            if let Some(session) = state.session.borrow_mut().as_mut() {
                // The job that makes them completes the document.
                session.skip_reports();
            }
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
            // They may not have any work yet.
            state.lost.borrow_mut().push(index as usize);
            state.tell_of_losses();
        }
        Request::HoldOnly { start_ns, from_ns, to_ns } => {
            if let Some(so_far) = timeline::so_far(state) {
                timeline::let_go(state, Some(so_far));
            }
            if let Some(session) = state.session.borrow_mut().as_mut()
                && session.hold_only(start_ns, from_ns, to_ns)
                && session.make_partial()
            {
                post_document(session);
            }
        }
        Request::SetQuery(query) => set_query(state, query),
        Request::Rows { ticket, ask, offset, limit } => answer_later(state, ticket, move |shown| {
            let rows = shown.rows(&ask, offset, limit);
            let (table, revision) = (ask.table, shown.revision());
            post(&Response::Rows { ticket, table, revision, rows });
        }),
        Request::Sums { ticket, ask, rows } => answer_later(state, ticket, move |shown| {
            let sums = shown.sums(&ask, &rows);
            post(&Response::Sums { ticket, revision: shown.revision(), sums });
        }),
        Request::Timeline { ticket, of, ask } => {
            let answer = timeline::answer(state.clone(), ticket, of, ask);
            schedule::add(state, JobKind::Timeline, Some(ticket), answer);
        }
        Request::Flame { ticket, query } => {
            schedule::add(state, JobKind::Answer, Some(ticket), flame(state.clone(), ticket, query));
        }
        Request::AlignedSteps { ticket } => answer_later(state, ticket, move |shown| {
            post(&Response::AlignedSteps { ticket, steps: shown.aligned_steps() });
        }),
        Request::Drawn { ticket } => {
            schedule::add(state, JobKind::Export, Some(ticket), timeline::draw(state.clone(), ticket));
        }
        Request::Drawings { sides } => timeline::set_drawings(state, &sides),
        Request::Search { ticket, text } => {
            schedule::add(state, JobKind::Answer, Some(ticket), search(state.clone(), ticket, text));
        }
        Request::Copy { ticket, ask, format, amounts } => answer_later(state, ticket, move |shown| {
            let copied = shown.copy(&ask, format, amounts);
            let (table, revision) = (ask.table, shown.revision());
            post(&match copied {
                Some((text, n_rows)) => Response::Copied { ticket, table, revision, text, n_rows },
                None => {
                    let what = "this table is no longer in the report";
                    Response::Refused { ticket, failure: failure("no-table", what, "copy another table") }
                }
            });
        }),
        Request::ListArchive { ticket } => archive::list(ticket, data.get(1).dyn_ref()),
        Request::Export { ticket, exporter } => {
            export::start(state, ticket, exporter, ShareOptions::default());
        }
        Request::OpenLink { fragment } => open_link(state, &fragment),
        Request::WantDigests => {
            if !state.computes_digests.replace(true) {
                let state = state.clone();
                spawn_local(async move {
                    let blobs = state.blobs.borrow().clone();
                    index::tell_digests(&blobs).await;
                    state.computes_digests.set(false);
                });
            }
        }
        Request::Preview { ticket, exporter, options, search, limit } => {
            export::preview(state, ticket, exporter, options, search, limit);
        }
        Request::Share { ticket, exporter, options } => {
            export::start(state, ticket, exporter, options);
        }
    }
}

/// Runs `act` on the current document, if there is one.
fn with_shown<T>(state: &State, act: impl FnOnce(&mut dyn Shown) -> T) -> Option<T> {
    if let Some(linked) = state.linked.borrow_mut().as_mut() {
        Some(act(linked))
    } else if let Some(compared) = state.compared.borrow_mut().as_mut() {
        Some(act(compared))
    } else {
        state.session.borrow_mut().as_mut().map(|session| act(session))
    }
}

/// Answers from the current document as soon as a running job pauses.
fn answer_later(state: &Rc<State>, ticket: u32, act: impl FnOnce(&mut dyn Shown) + 'static) {
    let later = state.clone();
    schedule::add(state, JobKind::Answer, Some(ticket), async move {
        with_shown(&later, act);
    });
}

/// Makes the reports for another query, instead of those being made.
fn set_query(state: &Rc<State>, query: Query) {
    let changes_secrets = match state.session.borrow().as_ref() {
        Some(session) => session.query().show_secrets != query.show_secrets,
        None => return,
    };
    schedule::cancel_reports(state);
    if changes_secrets {
        // The traces change, and nobody should get half an export with secrets.
        schedule::cancel_exports(state);
    }
    let again = state.clone();
    schedule::add(state, JobKind::Reports, None, async move {
        let started = again.session.borrow_mut().as_mut().map(|session| session.start_query(query));
        match started {
            Some(Ok(())) => schedule::reports_again(again).await,
            Some(Err(error)) => {
                post(&Response::Stale(error.into()));
                again.reports_made.wake();
            }
            None => {}
        }
    });
}

/// Answers with a flame graph.
async fn flame(state: Rc<State>, ticket: u32, query: Box<FlameQuery>) {
    let answer = with_shown(&state, |shown| shown.flame(&query));
    post(&match answer {
        Some(Ok(Some(view))) => Response::Flame { ticket, view: Box::new(view) },
        Some(Err(failure)) => Response::Refused { ticket, failure },
        _ => {
            let what = "this trace has no stacks with any weight";
            Response::Refused { ticket, failure: failure("no-stacks", what, "") }
        }
    });
}

/// Answers with the rows of all tables that match `text`. A step is a report.
async fn search(state: Rc<State>, ticket: u32, text: String) {
    let ids = with_shown(&state, |shown| shown.reports().iter().map(|report| report.id.clone()).collect());
    let ids: Vec<_> = ids.unwrap_or_default();
    let mut hits = Vec::new();
    for id in ids {
        // It may be gone by now.
        with_shown(&state, |shown| {
            let report = shown.reports().iter().find(|report| report.id == id);
            hits.extend(report.map(|report| search_report(report, &text)).unwrap_or_default());
        });
        pause().await;
    }
    post(&Response::Searched { ticket, hits });
}

fn post_document(shown: &dyn Shown) {
    if let Some(document) = shown.document() {
        post(&Response::Document(Box::new(document)));
    }
}

/// Opens the files whose `Blob`s start at index 1 of `data`.
fn open(state: Rc<State>, files: Vec<OpenFile>, query: Query, data: &Array) {
    let mut beside = data.iter().skip(1);
    let mut blob = || beside.next().and_then(|blob| blob.dyn_into::<Blob>().ok());
    let mut given: Vec<Given> = Vec::new();
    for OpenFile { name, format, keep, beside, only } in files {
        let Some(own) = blob() else { break };
        let beside = beside.into_iter().filter_map(|named| Some((named, blob()?))).collect();
        let format = format.and_then(|id| FORMATS.iter().find(|format| format.id == id).copied());
        given.push(Given { name, format, keep, blob: own, beside, only });
    }
    let ports = Ports::new(beside.filter_map(|port| port.dyn_into().ok()).collect());
    match given.pop() {
        None => post(&failed("no-file", "no file arrived", "choose it again")),
        Some(file) if given.is_empty() => {
            spawn_local(open_one(state, file, ports, query));
        }
        Some(last) => {
            given.push(last);
            spawn_local(gather::open(state, given, ports, query));
        }
    }
}

/// Shows the report from a link.
fn open_link(state: &State, fragment: &str) {
    match Linked::open(fragment) {
        Ok(linked) => show_linked(state, linked),
        Err(refusal) => {
            let hint = "ask for the link again, and copy all of it";
            post(&failed("bad-link", &refusal.to_string(), hint));
        }
    }
}

fn show_linked(state: &State, linked: Linked) {
    post_document(&linked);
    *state.linked.borrow_mut() = Some(linked);
}

/// Sends this trace's data for a comparison.
fn side(state: &Rc<State>, ticket: u32) {
    let whole = schedule::with_whole(state.clone(), Session::side);
    schedule::add(state, JobKind::Export, Some(ticket), async move {
        let side = match whole.await {
            Some(side) => side.map_err(|error| {
                let failure = Failure::from(error);
                post(&Response::Stale(failure.clone()));
                Failure { code: protocol::STALE.to_string(), ..failure }
            }),
            None => Err(failure(
                "not-read",
                "the trace to compare with is not parsed yet",
                "try again when it is",
            )),
        };
        post(&match side {
            Ok(side) => Response::Side { ticket, side: protocol::encode(&side) },
            Err(failure) => Response::Refused { ticket, failure },
        });
    });
}

/// Checks limits against this trace.
fn hold(state: &Rc<State>, ticket: u32, limits: String) {
    let whole = schedule::with_whole(state.clone(), move |session| session.hold(&limits));
    schedule::add(state, JobKind::Export, Some(ticket), async move {
        let budget = match whole.await {
            Some(budget) => budget.map_err(Failure::from),
            None => Err(failure(
                "not-read",
                "the trace is not parsed yet, so its limits cannot be checked",
                "try again when it is",
            )),
        };
        post(&match budget {
            Ok(budget) => Response::Held { ticket, budget },
            Err(failure) => Response::Refused { ticket, failure },
        });
    });
}

/// Compares the data of two other workers.
fn compare(state: &State, sides: &[Vec<u8>; 2], query: &CompareQuery) {
    let [a, b] = sides.each_ref().map(|side| protocol::decode::<Side>(side));
    let (Some(a), Some(b)) = (a, b) else {
        let what = "the data of A or B did not arrive";
        return post(&Response::Failed(failure("bad-side", what, "compare them again")));
    };
    match Compared::new(a, b, query) {
        Ok(compared) => {
            post_document(&compared);
            *state.compared.borrow_mut() = Some(compared);
        }
        Err(problem) => post(&Response::Failed(problem.into())),
    }
}

fn compare_again(state: &State, ticket: u32, query: &CompareQuery, is_swapped: bool) {
    if let Some(compared) = state.compared.borrow_mut().as_mut() {
        match compared.again(query, is_swapped) {
            Ok(()) => post_document(compared),
            Err(problem) => post(&Response::Refused { ticket, failure: problem.into() }),
        }
    }
}

/// A file to parse, with the other files of its run directory.
struct Given {
    name: String,
    /// Format to parse it as, if not detected.
    format: Option<&'static FormatInfo>,
    keep: Option<Keep>,
    blob: Blob,
    beside: Vec<(NamedFile, Blob)>,
    /// Time range to keep, in nanoseconds from the start of the trace; `None` for all.
    only: Option<(i64, i64)>,
}

impl Given {
    /// Other files of the run directory; reads those of known kinds.
    async fn read_sidecar_files(&self) -> Vec<SidecarFile> {
        let mut files = Vec::new();
        for (NamedFile { name, n_bytes }, blob) in &self.beside {
            let n_bytes = *n_bytes;
            let content = match is_read_in_run(name, n_bytes) {
                true => source::within(source::PATIENCE_MS, source::whole(blob)).await.and_then(Result::ok),
                false => None,
            };
            files.push(match content {
                Some(content) => memory_run::sidecar_file(name.clone(), content),
                None => SidecarFile::unread(name.clone(), n_bytes),
            });
        }
        files
    }
}

/// Adds the other files of the run directory to the session.
fn in_run(session: &mut Session, beside: &[SidecarFile]) {
    if !beside.is_empty() {
        session.lies_in_run(TRACE_OF_RUN, beside.to_vec());
    }
}

/// Opens the file from its index, or parses it and caches one.
async fn open_one(state: Rc<State>, file: Given, ports: Ports, query: Query) {
    let beside = file.read_sidecar_files().await;
    let Given { name, format, keep, blob, only, .. } = file;
    *state.blobs.borrow_mut() = vec![Some(blob.clone())];
    match index::open(&blob, &name, query.clone(), keep).await {
        Some(Opened::File(opened)) => match opened {
            Ok(engine::Opened::Index(session) | engine::Opened::HandedOn(HandedOn::Session(session))) => {
                show(&state, Ok(*session));
            }
            Ok(engine::Opened::HandedOn(HandedOn::Linked(linked))) => show_linked(&state, *linked),
            Err(failure) => post(&Response::Failed(failure)),
        },
        Some(Opened::Kept(session, identity, digest)) => {
            show(&state, Ok(*session));
            if let Some(keep) = keep {
                let key = kept::key(blob.size() as u64, keep.modified_ms);
                index::verify(&blob, &key, identity, digest).await;
            }
        }
        None => {
            let is_whole = read_one(state.clone(), &blob, ports, (&name, format, only), beside, query).await;
            if let Some(keep) = keep.filter(|_| is_whole) {
                index::keep(&state, &blob, keep).await;
            }
        }
    }
}

/// Parses the whole file and shows it. False if interrupted.
async fn read_one(
    state: Rc<State>,
    blob: &Blob,
    mut ports: Ports,
    (name, format, only): (&str, Option<&'static FormatInfo>, Option<(i64, i64)>),
    beside: Vec<SidecarFile>,
    query: Query,
) -> bool {
    let n_bytes = blob.size() as u64;
    let mut reporter = Reporter::new(n_bytes);
    let begin = |session: &mut Option<Session>| {
        let session = session.insert(Session::new(name, n_bytes, format, query.clone()));
        in_run(session, &beside);
        if let Some((from_ns, to_ns)) = only {
            session.hold_only_from_start(from_ns, to_ns);
        }
    };
    let result = reading::read(&state, blob, &mut ports, &begin, &mut reporter).await;
    drop(ports);
    let is_whole = result.is_ok() && !state.stop.get();
    let Some(finishing) = state.session.borrow().as_ref().map(|session| reporter.finishing(session)) else {
        return false;
    };
    match reading::end_in_steps(&state, result, finishing).await {
        Ok(()) => {
            spawn_local(forget_found(state.clone()));
            is_whole
        }
        Err(error) => {
            post(&Response::Failed(error.into()));
            false
        }
    }
}

/// Keeps intermediate results for as long as the page may need to request a comparison of files opened together.
async fn forget_found(state: Rc<State>) {
    source::wait(FOUND_FOR_MS).await;
    if let Some(session) = state.session.borrow_mut().as_mut() {
        session.forget_found();
    }
}

/// Opens a cached index, without its file.
async fn open_kept(state: Rc<State>, key: String, query: Query) {
    show(&state, index::open_kept(&key, query).await);
}

/// Shows a document that did not have to be parsed.
fn show(state: &State, session: Result<Session, Failure>) {
    match session {
        Ok(session) => {
            post_document(&session);
            *state.session.borrow_mut() = Some(session);
        }
        Err(failure) => post(&Response::Failed(failure)),
    }
}

/// The browser's name of an error.
fn error_name(error: &JsValue) -> String {
    Reflect::get(error, &"name".into()).ok().and_then(|name| name.as_string()).unwrap_or_default()
}

/// Explanation of a browser error on reading a file.
fn read_error(name: &str) -> String {
    match name {
        "NotReadableError" => {
            "the browser could no longer read the file: it was changed or moved, or it is a folder"
                .to_string()
        }
        "NotFoundError" => "the file is no longer there, or it is a folder".to_string(),
        "SecurityError" => "the browser does not allow reading this file".to_string(),
        _ => format!("the browser could not read the file ({name})"),
    }
}

//! Parses one file into the session: alone, with helpers that parse parts of it, or from a helper that decompresses it.

use crate::content::BlobContent;
use crate::crew::{self, Helpers};
use crate::helper::part_reader;
use crate::reporter::{Making, Reporter};
use crate::source::{self, Source};
use crate::stretch::Stretch;
use crate::unpacked::{self, Unpacked};
use crate::{State, error_name, read_error, schedule, timeline};
use std::rc::Rc;
use tracedrop::engine::Session;
use tracedrop::engine::protocol::{HelperResponse, Progress};
use tracedrop::import::part_scheduler::Next;
use tracedrop::import::parts::PartsInfo;
use tracedrop::import::unpack::{self, Packing};
use tracedrop::import::{Import, ImportError};
use wasm_bindgen::prelude::*;
use web_sys::{Blob, MessagePort};

/// Bytes needed to detect compression.
const SNIFF_BYTES: u64 = 16;

/// Ports to helpers, closed on drop.
#[derive(Default)]
pub struct Ports(Vec<MessagePort>);

impl Ports {
    pub fn new(ports: Vec<MessagePort>) -> Ports {
        Ports(ports)
    }
}

impl Drop for Ports {
    fn drop(&mut self) {
        self.0.iter().for_each(MessagePort::close);
    }
}

/// Parses the file into [`State::session`], which `begin` prepares (more than once, if parsing has to restart). An error if the
/// browser fails to read; the session may stop early.
///
/// Helpers ready for another file stay in `ports`; others are dropped.
pub async fn read(
    state: &State,
    blob: &Blob,
    ports: &mut Ports,
    begin: &dyn Fn(&mut Option<Session>),
    progress: &mut Reporter,
) -> Result<(), JsValue> {
    let begin = || {
        let mut session = state.session.borrow_mut();
        begin(&mut session);
        if let (Some(session), Some(content)) = (session.as_mut(), BlobContent::new(blob)) {
            session.can_read_again(Rc::new(content));
        }
    };
    begin();
    let packing = if ports.0.is_empty() { None } else { packing(blob).await };
    let result = match packing {
        Some(packing) => match read_unpacked(state, blob, packing, &ports.0, progress).await {
            Some(result) => result,
            // The decompressing helper is lost: start again, alone.
            None => {
                begin();
                read_alone(state, blob, 1, progress).await.map(drop)
            }
        },
        None => match read_alone(state, blob, ports.0.len() + 1, progress).await {
            Ok(Some(parts)) => read_with(state, blob, ports.0.clone(), parts, progress).await,
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        },
    };
    let helpers = state.helpers.borrow_mut().take();
    let unpacked = state.unpacked.borrow_mut().take();
    // Late messages for this file would be taken for messages of the next.
    if !helpers.is_none_or(|helpers| helpers.are_idle())
        || !unpacked.is_none_or(|unpacked| unpacked.is_over())
    {
        *ports = Ports::default();
    }
    result
}

/// Ends the file of `session` after [`read`] returned `result`. If others follow, `so_far` is the share of the bytes up to its end.
pub fn end(
    state: &State,
    session: &mut Session,
    result: Result<(), JsValue>,
    so_far: Option<f64>,
) -> Result<(), ImportError> {
    timeline::let_go(state, so_far);
    match result {
        Err(error) => session.stop_parsing(&read_error(&error_name(&error))),
        Ok(()) if state.stop.get() => session.stop_parsing("stopped by the user"),
        Ok(()) => session.finish_parsing(),
    }
}

/// The same for [`State::session`], then makes its reports. For a large trace whose reports take long, shows some reports before
/// the others are made.
///
/// `finishing` is the progress to report meanwhile.
pub async fn end_in_steps(
    state: &Rc<State>,
    result: Result<(), JsValue>,
    finishing: Progress,
) -> Result<(), ImportError> {
    let making = Making::new(finishing);
    let is_large = match state.session.borrow_mut().as_mut() {
        Some(session) => {
            let is_large = session.progress().content_bytes >= LARGE_BYTES;
            end(state, session, result, None)?;
            is_large
        }
        None => return Ok(()),
    };
    schedule::make_reports(state, making, is_large, FOR_ROWS_MS).await;
    Ok(())
}

/// Content size from which some reports are shown while others are built.
pub const LARGE_BYTES: u64 = 64 << 20;
/// Time for the page to render a document and request visible rows.
pub const FOR_ROWS_MS: i32 = 100;

/// Feeds the session and reports progress; false to stop.
async fn feed(state: &State, bytes: &[u8], progress: &mut Reporter) -> bool {
    if let Some(session) = state.session.borrow_mut().as_mut() {
        session.feed(bytes);
    }
    tell(state, progress).await
}

/// Reports progress if due; false to stop.
async fn tell(state: &State, progress: &mut Reporter) -> bool {
    let (told, over) = match state.session.borrow_mut().as_mut() {
        Some(session) => (progress.tell(state, session), session.has_given_up()),
        None => (false, true),
    };
    if told {
        source::breathe().await;
    }
    !over && !state.stop.get()
}

/// Compression of the file, if it pays to decompress it in a helper.
async fn packing(blob: &Blob) -> Option<Packing> {
    if (blob.size() as u64) < unpacked::MIN_FILE_BYTES {
        return None;
    }
    let mut head = Vec::new();
    Source::new(blob, 0..SNIFF_BYTES).next(&mut head).await.ok()?;
    Packing::sniff(&head)
}

/// Parses what a helper decompresses. `None` if the helper is lost.
async fn read_unpacked(
    state: &State,
    blob: &Blob,
    packing: Packing,
    ports: &[MessagePort],
    progress: &mut Reporter,
) -> Option<Result<(), JsValue>> {
    let unpacked = Rc::new(Unpacked::start(ports.first()?.clone(), blob, packing));
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

/// Parses the file front to back; with helpers, only up to where they can take over.
async fn read_alone(
    state: &State,
    blob: &Blob,
    n_readers: usize,
    progress: &mut Reporter,
) -> Result<Option<&'static PartsInfo>, JsValue> {
    let n_bytes = blob.size() as u64;
    let is_large = n_bytes >= crew::MIN_FILE_BYTES;
    let mut source = Source::new(blob, 0..n_bytes);
    let mut buffer = Vec::new();
    loop {
        source.next(&mut buffer).await?;
        if buffer.is_empty() || !feed(state, &buffer, progress).await {
            return Ok(None);
        }
        if is_large
            && let Some(parts) = with_import(state, Import::parts).flatten()
            && n_readers >= parts.min_readers
        {
            return Ok(Some(parts));
        }
    }
}

/// Parses the rest of the file together with the workers behind `ports`.
async fn read_with(
    state: &State,
    blob: &Blob,
    ports: Vec<MessagePort>,
    parts: &'static PartsInfo,
    progress: &mut Reporter,
) -> Result<(), JsValue> {
    let n_bytes = blob.size() as u64;
    let Some(Some((rest, format, cuts))) = with_import(state, |import| {
        let (rest, cuts) = (import.position()..n_bytes, import.starts());
        import.format().map(|format| (rest, format, cuts))
    }) else {
        return Ok(());
    };
    let helpers = Helpers::start(ports, blob, rest, format, parts, cuts);
    *state.helpers.borrow_mut() = Some(helpers.clone());
    state.tell_of_losses();
    let mut reader = part_reader(parts, blob);
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
                    // The file has shrunk, which the importer notices.
                    return Ok(());
                }
                if buffer.is_empty() {
                    break;
                }
                if !feed(state, &buffer, progress).await {
                    return Ok(());
                }
                if with_import(state, Import::is_at_merge_point) == Some(true) {
                    break;
                }
            }
            continue;
        }
        // Parse a part here while the helpers work.
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
                    // Parsing it front to back reports the error.
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

/// Runs `act` on the importer; `None` if parsing has ended.
fn with_import<T>(state: &State, work: impl FnOnce(&mut Import) -> T) -> Option<T> {
    state.session.borrow_mut().as_mut().and_then(Session::import).map(work)
}

/// Error of that name, from another worker.
fn named_error(name: &str) -> JsValue {
    let error = js_sys::Error::new("");
    error.set_name(name);
    error.into()
}

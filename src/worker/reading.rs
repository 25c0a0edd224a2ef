//! Reads one file into the session: alone, with workers that read parts of it, or from one that unpacks it.

use crate::content::BlobContent;
use crate::crew::{self, Helpers};
use crate::helper::part_reader;
use crate::reporter::{self, Reporter};
use crate::source::{self, Source};
use crate::stretch::Stretch;
use crate::unpacked::{self, Unpacked};
use crate::{State, error_name, post_document, read_error};
use std::rc::Rc;
use tracedrop::engine::Session;
use tracedrop::engine::protocol::{HelperResponse, Progress};
use tracedrop::import::crew::Next;
use tracedrop::import::parts::PartsInfo;
use tracedrop::import::unpack::{self, Packing};
use tracedrop::import::{Import, ImportError};
use wasm_bindgen::prelude::*;
use web_sys::{Blob, MessagePort};

/// So much is looked at to tell how a file is packed.
const SNIFF_BYTES: u64 = 16;

/// Ways to workers that help. They are closed when this is dropped.
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

/// Reads all bytes of the file into [`State::session`], which `begin` makes ready for it (more than once, if reading has to start
/// anew). An error if the browser can not read on; the session may want no more before all is read.
///
/// Helpers that are ready for another file stay in `ports`, else they are let go.
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
            // The one who unpacked is lost: once more, alone.
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
    // What still comes of this file would be taken for what comes of the next.
    if !helpers.is_none_or(|helpers| helpers.are_idle())
        || !unpacked.is_none_or(|unpacked| unpacked.is_over())
    {
        *ports = Ports::default();
    }
    result
}

/// Makes of `session` what there is to make of it, after [`read`] gave `result`.
pub fn end(state: &State, session: &mut Session, result: Result<(), JsValue>) -> Result<(), ImportError> {
    match result {
        Err(error) => session.stop(&read_error(&error_name(&error))),
        Ok(()) if state.stop.get() => session.stop("it was stopped by hand"),
        Ok(()) => session.finish(),
    }
}

/// The same for [`State::session`]. Of a large trace that took no harm, and whose reports take long, some are shown before the
/// others are made, and the page gets the time to ask for their rows.
///
/// `finishing` is what is told of progress meanwhile.
pub async fn end_in_steps(
    state: &State,
    result: Result<(), JsValue>,
    finishing: Progress,
) -> Result<(), ImportError> {
    match state.session.borrow_mut().as_mut() {
        Some(session)
            if result.is_ok() && !state.stop.get() && session.progress().content_bytes >= LARGE_BYTES =>
        {
            if !reporter::making(finishing, || session.finish_early())? {
                return Ok(());
            }
            post_document(session);
        }
        Some(session) => return reporter::making(finishing, || end(state, session, result)),
        None => return Ok(()),
    }
    finish_reports(state).await;
    Ok(())
}

/// Makes the reports that are missing one by one, and lets messages in between: who scrolls in those that are there does not wait
/// for all. The last document is left to the caller to post.
pub async fn finish_reports(state: &State) {
    source::wait(FOR_ROWS_MS).await;
    loop {
        match state.session.borrow_mut().as_mut() {
            Some(session) => {
                if !session.make_next_report() {
                    return;
                }
                post_document(session);
            }
            None => return,
        }
        source::breathe().await;
    }
}

/// Of content of so many bytes some reports are shown while others are made.
pub const LARGE_BYTES: u64 = 64 << 20;
/// The page draws a document and asks for the rows that it shows.
const FOR_ROWS_MS: i32 = 100;

/// Feeds the session and tells the page of it; false if no more is wanted.
async fn feed(state: &State, bytes: &[u8], progress: &mut Reporter) -> bool {
    if let Some(session) = state.session.borrow_mut().as_mut() {
        session.feed(bytes);
    }
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

/// Reads the file from front to back; if there are helpers, up to where they can be of use.
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

/// Reads the rest of the file together with the workers behind `ports`.
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

/// An error of that name, as another worker has met it.
fn named_error(name: &str) -> JsValue {
    let error = js_sys::Error::new("");
    error.set_name(name);
    error.into()
}

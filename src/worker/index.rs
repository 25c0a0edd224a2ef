//! Opens files from their indexes, and caches an index of a parsed file after the page has its report.

use crate::archive;
use crate::content::BlobContent;
use crate::kept::{self, Place};
use crate::source::{self, Source};
use crate::turn::Turn;
use crate::{State, now_ms, post};
use sha2::{Digest, Sha256};
use std::io;
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::archive::Entry;
use tracedrop::base::text;
use tracedrop::engine::protocol::{Failure, Keep, Response};
use tracedrop::engine::{self, Session};
use tracedrop::index::{DIGEST_BYTES, Identity, SectionWriter};
use tracedrop::trace::args::Content;
use web_sys::Blob;

/// Timeout of storage: in some browsers it never responds.
const STORAGE_MS: i32 = 4_000;
/// Delay after which the page has rendered the report.
const KEEP_AFTER_MS: i32 = 400;
/// Interval of handling messages of the page.
const BREATHE_EVERY_MS: f64 = 30.0;
/// Maximum number of older indexes deleted for a new one.
const MAX_FORGOTTEN: usize = 16;

/// Alternatives to parsing a file.
pub enum Opened {
    /// The file itself is an index or a Tracedrop file.
    File(Result<engine::Opened, Failure>),
    /// Its cached index, with the SHA-256 of the indexed file.
    Kept(Box<Session>, Identity, Option<[u8; DIGEST_BYTES]>),
}

/// Opens the file without parsing it: from its own bytes, or from its cached index. `None` if it has to be parsed.
pub async fn open(blob: &Blob, file_name: &str, query: Query, keep: Option<Keep>) -> Option<Opened> {
    let content = Rc::new(BlobContent::new(blob)?);
    let unpack = |entry: &Entry| {
        let index = archive::unpacked(&content, entry)?;
        let content = BlobContent::new(&index).ok_or("the browser cannot read it again")?;
        Ok(Rc::new(content) as Rc<dyn Content>)
    };
    // The page shows a Tracedrop file with the query of its sender.
    let shared: Rc<dyn Content> = content.clone();
    if let Some(opened) = engine::open(&shared, file_name, &query, None, unpack) {
        return Some(Opened::File(opened));
    }
    let keep = keep.filter(|keep| !keep.afresh)?;
    let key = kept::key(content.n_bytes(), keep.modified_ms);
    let mut index = source::within(STORAGE_MS, kept::find(&key)).await??;
    let identity = Identity::of(&*content, keep.modified_ms).ok()?;
    if index.head.identity != Some(identity) {
        return None;
    }
    // The file may have been renamed.
    index.head.source.file_name = file_name.to_string();
    let digest = index.digest();
    let session = Session::of_index(index, Some(content), query).ok()?;
    Some(Opened::Kept(Box::new(session), identity, digest))
}

/// Opens the cached index with that key, without its file.
pub async fn open_kept(key: &str, query: Query) -> Result<Session, Failure> {
    let failure = |code: &str, what: &str| Failure {
        code: code.to_string(),
        what: what.to_string(),
        hint: "open the file itself".to_string(),
    };
    let index = match source::within(STORAGE_MS, kept::find(key)).await {
        Some(Some(index)) => index,
        Some(None) => {
            return Err(failure("index-gone", "this file is no longer in the browser's cache"));
        }
        None => return Err(failure("no-storage", "the browser's storage does not respond")),
    };
    Session::of_index(index, None, query).map_err(Failure::from)
}

/// Caches an index of `blob`, then its SHA-256.
pub async fn keep(state: &State, blob: &Blob, keep: Keep) {
    source::wait(KEEP_AFTER_MS).await;
    if state.keeps_nothing.get() || !state.session.borrow().as_ref().is_some_and(Session::can_be_kept) {
        return;
    }
    let Some(content) = BlobContent::new(blob) else { return };
    let Ok(identity) = Identity::of(&content, keep.modified_ms) else { return };
    let key = kept::key(identity.file_bytes, keep.modified_ms);
    let turn = Turn::wait().await;
    kept::make_room(&turn, &key).await;
    for _ in 0..MAX_FORGOTTEN {
        // There is no cache.
        let Some(mut place) = Place::open(&key).await else { break };
        let result = write(state, &mut place, identity).await;
        drop(place);
        let Err(error) = result else { break };
        kept::forget_in(&turn, Some(&key)).await;
        // Delete an older one for it, unless it cannot be cached anyway.
        if error.kind() != io::ErrorKind::StorageFull || !kept::forget_oldest(&turn, &key).await {
            break;
        }
    }
    drop(turn);
    post(&Response::KeptChanged);
    verify(blob, &key, identity, None).await;
}

/// Writes the index section by section. It is valid once its last byte is written.
async fn write(state: &State, place: &mut Place, identity: Identity) -> io::Result<()> {
    place.clear()?;
    let mut writer = SectionWriter::new(place)?;
    let mut bytes = Vec::new();
    let mut number = 0;
    let with_session =
        |ask: &mut dyn FnMut(&Session) -> Option<String>| state.session.borrow().as_ref().and_then(ask);
    while let Some(name) = with_session(&mut |session| session.index_section(number, &mut bytes)) {
        writer.write(name, &bytes)?;
        number += 1;
        source::breathe().await;
        if state.keeps_nothing.get() {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
    let wall_ms = js_sys::Date::now() as u64;
    let end = state.session.borrow().as_ref().and_then(|session| session.index_end(identity, wall_ms));
    for (name, bytes) in end.ok_or(io::ErrorKind::Other)? {
        writer.write(name, &bytes)?;
    }
    writer.finish(None).map(drop)
}

/// Computes the file's SHA-256, sends it to the page, and adds it to the index. If it differs from `expected`, the index belongs
/// to another file: notifies the page and deletes the index.
pub async fn verify(blob: &Blob, key: &str, identity: Identity, expected: Option<[u8; DIGEST_BYTES]>) {
    let Some(digest) = digest(blob).await else { return };
    if expected.is_some_and(|expected| expected != digest) {
        kept::forget(Some(key)).await;
        post(&Response::Stale(Failure {
            code: "index-stale".to_string(),
            what: "the file changed since it was cached, although its size and modification time did not"
                .to_string(),
            hint: "open the file again".to_string(),
        }));
        return;
    }
    post_digests(vec![Some(digest)]);
    let _turn = Turn::wait().await;
    // By now the index may belong to another file of the same size and time.
    let is_there = kept::find(key).await.is_some_and(|index| index.head.identity == Some(identity));
    if expected.is_none()
        && is_there
        && let Some(mut place) = Place::open_existing(key).await
    {
        // The index is usable without it.
        let _ = place.put_digest(&digest);
    }
}

/// Computes the SHA-256 of files, one after the other, and sends them to the page.
pub async fn tell_digests(blobs: &[Option<Blob>]) {
    let mut digests = Vec::with_capacity(blobs.len());
    for blob in blobs {
        digests.push(match blob {
            Some(blob) => digest(blob).await,
            None => None,
        });
    }
    post_digests(digests);
}

fn post_digests(digests: Vec<Option<[u8; DIGEST_BYTES]>>) {
    let in_digits = |digest: Option<[u8; DIGEST_BYTES]>| digest.map(|digest| text::hex(&digest));
    post(&Response::Digests(digests.into_iter().map(in_digits).collect()));
}

async fn digest(blob: &Blob) -> Option<[u8; DIGEST_BYTES]> {
    let mut hasher = Sha256::new();
    let mut source = Source::new(blob, 0..blob.size() as u64);
    let mut buffer = Vec::new();
    let mut last = now_ms();
    loop {
        source.next(&mut buffer).await.ok()?;
        if buffer.is_empty() {
            return Some(hasher.finalize().into());
        }
        hasher.update(&buffer);
        if now_ms() - last >= BREATHE_EVERY_MS {
            source::breathe().await;
            last = now_ms();
        }
    }
}

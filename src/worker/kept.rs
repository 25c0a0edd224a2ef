//! The cache of indexes, in the browser's private file system (OPFS): one file each.
//!
//! Without OPFS (a page from disk, a frame without storage, some private windows), nothing is cached, with no other effect.
//! Incomplete files, and those of other builds, are deleted when found. Tabs share the cache: reading never waits, writing and
//! deleting takes a [`Turn`].

use crate::content::BlobContent;
use crate::turn::Turn;
use js_sys::{AsyncIterator, IteratorNext, Reflect};
use std::cmp::Reverse;
use std::io::{self, Write};
use std::rc::Rc;
use tracedrop::base::sort;
use tracedrop::engine;
use tracedrop::engine::protocol::KeptView;
use tracedrop::index::{DAMAGED, DIGEST_BYTES, EXTENSION, Index, OTHER_VERSION, TAIL_BYTES};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Blob, File, FileSystemDirectoryHandle, FileSystemFileHandle, FileSystemGetDirectoryOptions,
    FileSystemGetFileOptions, FileSystemReadWriteOptions, FileSystemSyncAccessHandle, StorageManager,
};

/// Pages of the same origin share this folder.
const FOLDER: &str = "tracedrop-indexes";
/// Approximate size limit of the cache, in bytes.
const MAX_KEPT_BYTES: u64 = 2 << 30;

/// Cache key of a file: files of the same size and time replace each other.
pub fn key(file_bytes: u64, modified_ms: u64) -> String {
    format!("{file_bytes:x}-{modified_ms:x}.{EXTENSION}")
}

/// Folder of indexes. `None` if there is none, or without storage.
async fn folder(create: bool) -> Option<FileSystemDirectoryHandle> {
    let storage = Reflect::get(crate::scope().navigator().as_ref(), &"storage".into()).ok()?;
    let storage: StorageManager = storage.dyn_into().ok()?;
    if !has(&storage, "getDirectory") {
        return None;
    }
    let root: FileSystemDirectoryHandle =
        JsFuture::from(storage.get_directory()).await.ok()?.dyn_into().ok()?;
    let options = FileSystemGetDirectoryOptions::new();
    options.set_create(create);
    let folder = JsFuture::from(root.get_directory_handle_with_options(FOLDER, &options)).await;
    folder.ok()?.dyn_into().ok()
}

/// Whether a method exists: browsers differ, and calling a missing method ends the worker.
fn has(object: &JsValue, method: &str) -> bool {
    Reflect::get(object, &method.into()).is_ok_and(|method| method.is_function())
}

async fn handle(folder: &FileSystemDirectoryHandle, key: &str, create: bool) -> Option<FileSystemFileHandle> {
    let options = FileSystemGetFileOptions::new();
    options.set_create(create);
    JsFuture::from(folder.get_file_handle_with_options(key, &options)).await.ok()?.dyn_into().ok()
}

/// Opens the index with that key. `None` if there is no usable one.
pub async fn find(key: &str) -> Option<Index> {
    let folder = folder(false).await?;
    let handle = handle(&folder, key, false).await?;
    match open(&handle).await {
        Found::Index(index, _) => Some(*index),
        Found::Useless | Found::Unknown => None,
    }
}

/// Kind of a file in the cache.
enum Found {
    /// An index, and its size.
    Index(Box<Index>, u64),
    /// Damaged, incomplete, or written by another program.
    Useless,
    /// Temporarily unreadable.
    Unknown,
}

async fn open(handle: &FileSystemFileHandle) -> Found {
    let file = JsFuture::from(handle.get_file()).await.ok().and_then(|file| file.dyn_into::<File>().ok());
    let Some(blob) = file.map(Blob::from) else { return Found::Unknown };
    let Some(content) = BlobContent::new(&blob) else { return Found::Unknown };
    match Index::open(Rc::new(content)) {
        Ok(index) if index.head.is_of_this_program() => Found::Index(Box::new(index), blob.size() as u64),
        Err(error) if error.code != DAMAGED && error.code != OTHER_VERSION => Found::Unknown,
        _ => Found::Useless,
    }
}

/// Cached indexes, newest first. `None` without storage.
pub async fn list() -> Option<Vec<KeptView>> {
    // Leave unusable files for later if another tab is writing.
    list_in(Turn::if_free().await.as_ref()).await
}

/// The same; deletes unusable files in `turn`.
async fn list_in(turn: Option<&Turn>) -> Option<Vec<KeptView>> {
    let folder = folder(true).await?;
    let mut entries = Vec::new();
    for key in keys(&folder).await {
        let Some(handle) = handle(&folder, &key, false).await else { continue };
        match open(&handle).await {
            Found::Index(index, index_bytes) => entries.push(KeptView {
                key,
                file_name: index.head.source.file_name,
                file_bytes: index.head.ledger.file_bytes,
                format_title: engine::format_title(index.head.source.format),
                made_ms: index.head.made_ms,
                modified_ms: index.head.identity.map_or(0, |identity| identity.modified_ms),
                index_bytes,
            }),
            Found::Useless if turn.is_some() => remove_useless(&folder, &key).await,
            Found::Useless | Found::Unknown => {}
        }
    }
    sort::by_key(&mut entries, |entry| Reverse(entry.made_ms));
    Some(entries)
}

async fn keys(folder: &FileSystemDirectoryHandle) -> Vec<String> {
    let mut keys = Vec::new();
    let iterator: AsyncIterator = folder.keys();
    while let Ok(next) = iterator.next()
        && let Ok(next) = JsFuture::from(next).await
    {
        let next: IteratorNext = next.unchecked_into();
        if next.done() {
            break;
        }
        // Leave other files alone.
        keys.extend(next.value().as_string().filter(|key| key.ends_with(&format!(".{EXTENSION}"))));
    }
    keys
}

async fn remove(folder: &FileSystemDirectoryHandle, key: &str) {
    // Files that cannot be deleted now are deleted later.
    let _ = JsFuture::from(folder.remove_entry(key)).await;
}

/// Deletes an unusable file, unless another tab is writing it: without Web Locks a turn is not exclusive.
async fn remove_useless(folder: &FileSystemDirectoryHandle, key: &str) {
    if Place::open_existing(key).await.is_some() {
        remove(folder, key).await;
    }
}

/// Deletes the index with that key, or all, once no other tab is writing.
pub async fn forget(key: Option<&str>) {
    forget_in(&Turn::wait().await, key).await;
}

/// The same, inside a turn.
pub async fn forget_in(_: &Turn, key: Option<&str>) {
    let Some(folder) = folder(false).await else { return };
    match key {
        Some(key) => remove(&folder, key).await,
        None => {
            for key in keys(&folder).await {
                remove(&folder, &key).await;
            }
        }
    }
}

/// Deletes the oldest index except `but`. False if there is no other.
pub async fn forget_oldest(turn: &Turn, but: &str) -> bool {
    let Some(entries) = list_in(Some(turn)).await else { return false };
    match entries.iter().rfind(|entry| entry.key != but) {
        Some(oldest) => {
            forget_in(turn, Some(&oldest.key)).await;
            true
        }
        None => false,
    }
}

/// Deletes the oldest indexes until there is room for `but`.
pub async fn make_room(turn: &Turn, but: &str) {
    let Some(entries) = list_in(Some(turn)).await else { return };
    let mut n_bytes = 0;
    for entry in entries.iter().filter(|entry| entry.key != but) {
        n_bytes += entry.index_bytes;
        if n_bytes > MAX_KEPT_BYTES {
            forget_in(turn, Some(&entry.key)).await;
        }
    }
}

/// An index being written. Until dropped, no one else can write or delete it.
pub struct Place {
    handle: FileSystemSyncAccessHandle,
    at: f64,
}

impl Place {
    /// `None` without storage, or if another tab is writing it.
    pub async fn open(key: &str) -> Option<Place> {
        Place::open_with(key, true).await
    }

    /// The same for an existing index.
    pub async fn open_existing(key: &str) -> Option<Place> {
        Place::open_with(key, false).await
    }

    async fn open_with(key: &str, create: bool) -> Option<Place> {
        let folder = folder(create).await?;
        let handle = handle(&folder, key, create).await?;
        if !has(&handle, "createSyncAccessHandle") {
            return None;
        }
        let handle = JsFuture::from(handle.create_sync_access_handle()).await.ok()?;
        Some(Place { handle: handle.dyn_into().ok()?, at: 0.0 })
    }

    /// Truncates the file.
    pub fn clear(&self) -> io::Result<()> {
        self.handle.truncate_with_u32(0).map_err(io_error)
    }

    /// Adds the SHA-256 of the trace file to an existing index.
    pub fn put_digest(&mut self, digest: &[u8; DIGEST_BYTES]) -> io::Result<()> {
        let size = self.handle.get_size().map_err(io_error)?;
        if size < TAIL_BYTES as f64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at = size - TAIL_BYTES as f64;
        self.write_all(digest)?;
        self.flush()
    }
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let options = FileSystemReadWriteOptions::new();
        options.set_at(self.at);
        let n = self.handle.write_with_u8_array_and_options(bytes, &options).map_err(io_error)?;
        // When storage is full, Chromium throws, but in private windows it returns the error number as a byte count.
        if n > bytes.len() as f64 || (n <= 0.0 && !bytes.is_empty()) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.at += n;
        Ok(n as usize)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.handle.flush().map_err(io_error)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.handle.close();
    }
}

fn io_error(error: JsValue) -> io::Error {
    match crate::error_name(&error).as_str() {
        "QuotaExceededError" => io::ErrorKind::StorageFull.into(),
        name => io::Error::other(name.to_string()),
    }
}

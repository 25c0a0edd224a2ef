//! Files in (dropped, picked, pasted) and out (downloads).

use super::Blob;
use super::folders::{self, Folder};
use super::handles::PendingHandle;
use super::listeners::listen;
use super::place::window_px;
use super::timers::after;
use js_sys::{Array, Uint8Array};
use leptos::ev;
use leptos::prelude::{document, window};
use tracedrop::engine::folder::{Piece, tar_of};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{
    BlobPropertyBag, DataTransfer, DragEvent, File, FileList, FileSystemEntry, HtmlAnchorElement,
    HtmlElement, HtmlInputElement, Url,
};

/// A chosen file.
#[derive(Clone, Debug)]
pub struct Picked {
    pub name: String,
    /// Path including the opened folder; the file name if it was opened on its own.
    pub path: String,
    pub blob: Blob,
    /// Uncompressed size if `blob` is compressed, else `None`.
    pub unpacked_bytes: Option<u64>,
    /// Modification time of a file on disk, in milliseconds since the Unix epoch; `None` for other sources.
    pub modified_ms: Option<u64>,
    /// The other files of its run directory, if opened as such; else empty.
    pub beside: Vec<Picked>,
    /// Address ranges opened with it.
    pub ranges: Option<Ranges>,
}

/// A list of address ranges for a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ranges {
    /// File name.
    pub name: String,
    pub text: String,
}

/// Content of a drop.
#[derive(Debug, Default)]
pub struct Dropped {
    pub files: Vec<Picked>,
    pub folders: Vec<Folder>,
    pub half: Half,
    /// Of the files that were dropped by themselves.
    pub handles: Vec<PendingHandle>,
}

/// Upper or lower half of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Half {
    #[default]
    Upper,
    Lower,
}

impl Picked {
    /// A file outside of any folder.
    pub fn of_blob(name: String, blob: Blob) -> Picked {
        Picked {
            path: name.clone(),
            name,
            blob,
            unpacked_bytes: None,
            modified_ms: None,
            beside: Vec::new(),
            ranges: None,
        }
    }

    /// A tar archive of files, without copying them. `None` if the browser cannot make it.
    pub fn tar(name: String, files: Vec<Picked>) -> Option<Picked> {
        let modified_ms = files.iter().filter_map(|file| file.modified_ms).max();
        let files = files.into_iter().map(|file| (file.name.clone(), file.n_bytes(), file.blob));
        let parts = Array::new();
        for piece in tar_of(files) {
            match piece {
                Piece::Bytes(bytes) => parts.push(&Uint8Array::from(bytes.as_slice())),
                Piece::File(blob) => parts.push(&blob),
            };
        }
        let blob = Blob::new_with_blob_sequence(&parts).ok()?;
        Some(Picked { modified_ms, ..Picked::of_blob(name, blob) })
    }

    /// Size of the file.
    pub fn n_bytes(&self) -> u64 {
        self.unpacked_bytes.unwrap_or(self.blob.size() as u64)
    }
}

pub(super) fn picked_file(file: File) -> Picked {
    let name = file.name();
    Picked {
        path: folders::path_of(&file).unwrap_or_else(|| name.clone()),
        name,
        modified_ms: Some(file.last_modified() as u64),
        blob: file.into(),
        unpacked_bytes: None,
        beside: Vec::new(),
        ranges: None,
    }
}

pub(super) fn list(files: Option<FileList>) -> Vec<Picked> {
    let Some(files) = files else { return Vec::new() };
    (0..files.length()).filter_map(|at| files.item(at)).map(picked_file).collect()
}

/// Files chosen in `input`. Clears the input, so that choosing the same file again fires an event.
pub fn picked(input: &HtmlInputElement) -> Vec<Picked> {
    let files = list(input.files());
    input.set_value("");
    files
}

/// Dropped files and folders; folders still have to be walked. The browser drops the data after the event.
fn dropped(data: &DataTransfer, half: Half) -> (Dropped, Vec<FileSystemEntry>) {
    let (mut dropped, mut folders) = (Dropped { half, ..Dropped::default() }, Vec::new());
    let items = data.items();
    for item in (0..items.length()).filter_map(|at| items.get(at)).filter(|item| item.kind() == "file") {
        match item.webkit_get_as_entry().ok().flatten().filter(FileSystemEntry::is_directory) {
            Some(folder) => folders.push(folder),
            None => {
                let Some(file) = item.get_as_file().ok().flatten().map(picked_file) else { continue };
                dropped.handles.extend(PendingHandle::of(&item, file.name.clone()));
                dropped.files.push(file);
            }
        }
    }
    (dropped, folders)
}

fn has_files(event: &DragEvent) -> Option<DataTransfer> {
    event.data_transfer().filter(|data| data.types().includes(&"Files".into(), 0))
}

/// Half of the window under the pointer.
fn half_of(event: &DragEvent) -> Half {
    if f64::from(event.client_y()) > window_px() / 2.0 { Half::Lower } else { Half::Upper }
}

/// Calls `act` when the file dialog is about to open.
pub fn on_choosing(act: impl Fn() + 'static) {
    listen(&window(), ev::click, move |event| {
        let input = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok());
        if input.is_some_and(|input| input.type_() == "file") {
            act();
        }
    });
}

/// Takes files dragged over the page: `hover` gets the half under the pointer.
pub fn on_drag(hover: impl Fn(Option<Half>) + Clone + 'static, drop: impl Fn(Dropped) + Clone + 'static) {
    let over = hover.clone();
    listen(&window(), ev::dragover, move |event| {
        if let Some(data) = has_files(event) {
            event.prevent_default();
            data.set_drop_effect("copy");
            over(Some(half_of(event)));
        }
    });
    let leave = hover.clone();
    listen(&window(), ev::dragleave, move |event| {
        // Moving between elements also fires `dragleave`; leaving the window has no related target.
        if event.related_target().is_none() {
            leave(None);
        }
    });
    listen(&window(), ev::drop, move |event| {
        hover(None);
        if let Some(data) = has_files(event) {
            event.prevent_default();
            let (mut dropped, folders) = dropped(&data, half_of(event));
            let drop = drop.clone();
            spawn_local(async move {
                for folder in folders {
                    dropped.folders.push(folders::walk(folder).await);
                }
                drop(dropped);
            });
        }
    });
}

/// Takes files and text pasted outside of fields. Pasted text becomes a file named `text_name`, unless `take` handles the text
/// itself.
pub fn on_paste(
    text_name: &'static str,
    take: impl Fn(&str) -> bool + 'static,
    paste: impl Fn(Vec<Picked>) + 'static,
) {
    listen(&window(), ev::paste, move |event| {
        if event.target().is_some_and(|target| super::keys::takes_text(&target)) {
            return;
        }
        let Some(data) = event.clipboard_data() else { return };
        event.prevent_default();
        let files = list(data.files());
        if !files.is_empty() {
            return paste(files);
        }
        let text = data.get_data("text/plain").unwrap_or_default();
        if take(&text) {
            return;
        }
        let blob = Blob::new_with_str_sequence(&Array::of1(&JsValue::from(text.as_str())));
        match blob {
            Ok(blob) if !text.is_empty() => paste(vec![Picked::of_blob(text_name.to_string(), blob)]),
            _ => paste(Vec::new()),
        }
    });
}

/// Downloads a text as `name`.
pub fn download_text(name: &str, text: &str, media_type: &str) {
    let options = BlobPropertyBag::new();
    options.set_type(media_type);
    let parts = Array::of1(&JsValue::from(text));
    if let Ok(blob) = Blob::new_with_str_sequence_and_options(&parts, &options) {
        download(name, &blob);
    }
}

/// Text of `blob`; `None` if it cannot be read.
pub fn text_of_blob(blob: &Blob, done: impl FnOnce(Option<String>) + 'static) {
    let text = blob.text();
    spawn_local(async move {
        done(JsFuture::from(text).await.ok().and_then(|text| text.as_string()));
    });
}

/// First `n_bytes` of `blobs` as texts; empty for those that cannot be read.
pub fn heads_of_blobs(blobs: Vec<Blob>, n_bytes: u32, done: impl FnOnce(Vec<String>) + 'static) {
    spawn_local(async move {
        let mut heads = Vec::new();
        for blob in blobs {
            let head = match blob.slice_with_i32_and_i32(0, n_bytes as i32) {
                Ok(head) => JsFuture::from(head.text()).await.ok().and_then(|text| text.as_string()),
                Err(_) => None,
            };
            heads.push(head.unwrap_or_default());
        }
        done(heads);
    });
}

/// Downloads `blob` as `name`.
pub fn download(name: &str, blob: &Blob) {
    let Ok(address) = Url::create_object_url_with_blob(blob) else { return };
    if let Ok(link) = document().create_element("a").map(JsCast::unchecked_into::<HtmlAnchorElement>) {
        link.set_href(&address);
        link.set_download(name);
        let hidden: &HtmlElement = &link;
        hidden.set_hidden(true);
        // Firefox requires the link to be in the page.
        let _ = document().body().map(|body| body.append_child(&link));
        link.click();
        link.remove();
    }
    // The browser uses the address after this task.
    after(60_000, move || drop(Url::revoke_object_url(&address)));
}

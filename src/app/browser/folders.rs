//! Chosen or dropped folders, walked recursively.

use super::files::{Picked, list, picked_file};
use js_sys::{Array, Promise, Reflect};
use tracedrop::base::sort;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    File, FileSystemDirectoryEntry, FileSystemDirectoryReader, FileSystemEntry, FileSystemFileEntry,
    HtmlInputElement,
};

/// Maximum number of files of a folder.
const MAX_FILES: usize = 4096;

/// A folder with all its files, recursively, ordered by path.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    pub name: String,
    pub files: Vec<Picked>,
    /// Names of entries that the browser could not read.
    pub unreadable: Vec<String>,
    /// The maximum was exceeded.
    pub is_cut: bool,
}

/// The folder chosen in `input`, which is then cleared. `None` if it is empty.
pub fn picked_folder(input: &HtmlInputElement) -> Option<Folder> {
    let mut files = list(input.files());
    input.set_value("");
    let name = files.first()?.path.split('/').next().unwrap_or_default().to_string();
    sort::by(&mut files, |a, b| a.path.cmp(&b.path));
    let is_cut = files.len() > MAX_FILES;
    files.truncate(MAX_FILES);
    Some(Folder { name, files, unreadable: Vec::new(), is_cut })
}

/// Path of a file including the name of the chosen folder.
pub fn path_of(file: &File) -> Option<String> {
    let path = Reflect::get(file, &"webkitRelativePath".into()).ok()?.as_string()?;
    Some(path).filter(|path| !path.is_empty())
}

/// Everything in the folder `entry`.
pub async fn walk(entry: FileSystemEntry) -> Folder {
    let mut folder = Folder { name: entry.name(), ..Folder::default() };
    let mut waiting = vec![(entry, String::new())];
    while let Some((entry, path)) = waiting.pop() {
        let path = if path.is_empty() { entry.name() } else { format!("{path}/{}", entry.name()) };
        if entry.is_directory() {
            match entries_of(entry.unchecked_ref()).await {
                Ok(inside) => waiting.extend(inside.into_iter().map(|entry| (entry, path.clone()))),
                Err(_) => folder.unreadable.push(path),
            }
            continue;
        }
        if folder.files.len() == MAX_FILES {
            folder.is_cut = true;
            break;
        }
        match file_of(entry.unchecked_ref()).await {
            Ok(file) => folder.files.push(Picked { path, ..picked_file(file) }),
            Err(_) => folder.unreadable.push(path),
        }
    }
    sort::by(&mut folder.files, |a, b| a.path.cmp(&b.path));
    folder
}

async fn entries_of(folder: &FileSystemDirectoryEntry) -> Result<Vec<FileSystemEntry>, JsValue> {
    let reader: FileSystemDirectoryReader = folder.create_reader();
    let mut entries = Vec::new();
    loop {
        // Entries come in batches of 100; an empty batch ends them.
        let some = JsFuture::from(Promise::new(&mut |then, fail| {
            if let Err(error) = reader.read_entries_with_callback_and_callback(&then, &fail) {
                let _ = fail.call1(&JsValue::UNDEFINED, &error);
            }
        }));
        let some: Array = some.await?.unchecked_into();
        if some.length() == 0 {
            return Ok(entries);
        }
        entries.extend(some.iter().map(JsCast::unchecked_into));
    }
}

async fn file_of(entry: &FileSystemFileEntry) -> Result<File, JsValue> {
    let file = Promise::new(&mut |then, fail| entry.file_with_callback_and_callback(&then, &fail));
    JsFuture::from(file).await.map(JsCast::unchecked_into)
}

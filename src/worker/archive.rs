//! Files in a zip archive as `Blob`s: stored files are slices of the archive, compressed ones are decompressed if necessary.

use crate::content::BlobContent;
use crate::export::BlobParts;
use crate::{failure, post, post_with_all};
use js_sys::{Array, Uint8Array};
use std::io::Write;
use std::ops::Range;
use tracedrop::archive::{self, Entry, LeftOut, Packing};
use tracedrop::engine;
use tracedrop::engine::folder::{self, Unpacking};
use tracedrop::engine::protocol::{Failure, FormatView, LeftOutView, NamedFile, Response};
use tracedrop::export::tracedrop_file;
use tracedrop::trace::args::Content;
use wasm_bindgen::prelude::*;
use web_sys::Blob;

/// Maximum bytes decompressed from one archive; the browser may keep them on disk.
const MAX_UNPACKED_BYTES: u64 = 2 << 30;

/// Answers with the files in the archive `blob`.
pub fn list(ticket: u32, blob: Option<&Blob>) {
    match files_of(blob) {
        Ok(files) => files.post(ticket),
        Err(failure) => post(&Response::Refused { ticket, failure }),
    }
}

/// Files of an archive, and their `Blob`s.
#[derive(Default)]
struct Files {
    named: Vec<NamedFile>,
    blobs: Array,
    left_out: Vec<LeftOutView>,
    is_cut: bool,
}

impl Files {
    fn leave_out(&mut self, path: String, why: String) {
        let hint = "unpack the archive and open the folder";
        self.left_out.push(LeftOutView { file_name: path, why: failure("in-archive", &why, hint) });
    }

    fn post(self, ticket: u32) {
        let Files { named, blobs, left_out, is_cut } = self;
        post_with_all(&Response::Archive { ticket, files: named, left_out, is_cut }, &blobs);
    }
}

fn files_of(blob: Option<&Blob>) -> Result<Files, Failure> {
    let no_archive = || failure("no-archive", "not a zip archive", "");
    let (content, blob) =
        blob.and_then(|blob| Some((BlobContent::new(blob)?, blob))).ok_or_else(no_archive)?;
    let mut head = [0; 4];
    content.read_at(0, &mut head).ok().filter(|()| archive::is_archive(&head)).ok_or_else(no_archive)?;
    // A Tracedrop file is opened as a whole.
    if tracedrop_file::is_one(&content, "") {
        return Err(no_archive());
    }
    let listed = archive::list(&content).map_err(|why| failure("archive", &why, "copy it again"))?;
    let mut files = Files { is_cut: listed.is_cut, ..Files::default() };
    for LeftOut { path, why } in listed.left_out {
        files.leave_out(path, why);
    }
    let formats = engine::formats();
    let mut n_left = MAX_UNPACKED_BYTES;
    for entry in listed.files {
        match had(&content, blob, &entry, &formats, &mut n_left) {
            Ok(blob) => {
                files.blobs.push(&blob);
                files.named.push(NamedFile { name: entry.path, n_bytes: entry.n_bytes });
            }
            Err(why) => files.leave_out(entry.path, why),
        }
    }
    Ok(files)
}

/// `Blob` of a file, or an error as a sentence fragment. Subtracts decompressed bytes from `n_left`.
fn had(
    content: &BlobContent,
    whole: &Blob,
    entry: &Entry,
    formats: &[FormatView],
    n_left: &mut u64,
) -> Result<Blob, String> {
    let name = entry.path.rsplit('/').next().unwrap_or_default();
    // Unused files only have to exist.
    let is_wanted = folder::may_be_trace(name, formats) || folder::is_read_in_run(name, entry.n_bytes);
    if entry.packing == Packing::Stored || !is_wanted {
        return part_of(whole, &entry.range);
    }
    match folder::unpacking(name, entry.n_bytes) {
        Unpacking::Whole if entry.n_bytes <= *n_left => {
            *n_left -= entry.n_bytes;
            unpacked(content, entry)
        }
        Unpacking::AsGzip => gzip(whole, entry),
        _ => Err("too large to unpack in the browser".to_string()),
    }
}

/// Bytes of a file, which the browser may keep on disk.
pub fn unpacked(content: &BlobContent, entry: &Entry) -> Result<Blob, String> {
    let mut parts = BlobParts::new(None);
    let no_room = |_: std::io::Error| "the browser is out of storage for it".to_string();
    archive::unpack(content, entry, &mut |piece| parts.write_all(piece).map_err(no_room))?;
    parts.flush().map_err(no_room)?;
    parts.blob("").map_err(|_| "the browser is out of storage for it".to_string())
}

/// The file as a gzip file, without copying its bytes.
fn gzip(whole: &Blob, entry: &Entry) -> Result<Blob, String> {
    let (head, tail) = archive::gzip_ends(entry).ok_or("it is not compressed")?;
    let packed = part_of(whole, &entry.range)?;
    let parts = Array::new();
    parts.push(&Uint8Array::from(head.as_slice()));
    parts.push(&packed);
    parts.push(&Uint8Array::from(tail.as_slice()));
    Blob::new_with_blob_sequence(&parts).map_err(|_| "the browser is out of storage for it".to_string())
}

fn part_of(whole: &Blob, range: &Range<u64>) -> Result<Blob, String> {
    let slice: Result<Blob, JsValue> = whole.slice_with_f64_and_f64(range.start as f64, range.end as f64);
    slice.map_err(|error| crate::read_error(&crate::error_name(&error)))
}

//! Exports to `Blob`s, which are sent to the page by reference, and previews of the texts in them.

use crate::{State, failure, post, post_with, schedule, with_shown};
use js_sys::{Array, Uint8Array};
use std::io::{self, Write};
use std::rc::Rc;
use tracedrop::engine::ExportSource;
use tracedrop::engine::protocol::{PreviewView, Response, ShareOptions};
use tracedrop::engine::schedule::JobKind;
use tracedrop::export::{self, ExporterInfo, Options};
use wasm_bindgen::prelude::*;
use web_sys::{Blob, BlobPropertyBag};

/// Size of the pieces of an export, which the browser may keep on disk.
const EXPORT_PIECE_BYTES: usize = 4 << 20;

fn export_options(what: ShareOptions) -> Options {
    let ShareOptions { cut, redact, link, notes, with_index } = what;
    let now_ms = js_sys::Date::now() as u64;
    Options { now_ms, cut, redact, link, notes, with_index, ..Options::default() }
}

fn refuse(ticket: u32, code: &str, what: &str, hint: &str) {
    post(&Response::Refused { ticket, failure: failure(code, what, hint) });
}

/// Adds a job that lists the texts of an export, unless they are cached from the preview before.
pub fn preview(
    state: &Rc<State>,
    ticket: u32,
    exporter: String,
    options: ShareOptions,
    search: String,
    limit: u32,
) {
    if !show_preview(state, ticket, (&exporter, &options), &search, limit) {
        let job = list_texts(state.clone(), ticket, exporter, options, search, limit);
        schedule::add(state, JobKind::Export, Some(ticket), job);
    }
}

/// Answers from the cache; false if that has another export.
fn show_preview(
    state: &State,
    ticket: u32,
    (exporter, options): (&str, &ShareOptions),
    search: &str,
    limit: u32,
) -> bool {
    match state.outgoing.borrow().as_ref() {
        Some((of, with, outgoing)) if of == exporter && with == options => {
            let preview = PreviewView {
                sorts: outgoing.sorts(),
                n_matching: outgoing.matching(search).count() as u64,
                texts: outgoing.matching(search).take(limit as usize).cloned().collect(),
                n_more: outgoing.n_more,
            };
            post(&Response::Preview { ticket, preview });
            true
        }
        _ => false,
    }
}

async fn list_texts(
    state: Rc<State>,
    ticket: u32,
    exporter: String,
    options: ShareOptions,
    search: String,
    limit: u32,
) {
    // An earlier job may have listed them.
    if show_preview(&state, ticket, (&exporter, &options), &search, limit) {
        return;
    }
    *state.outgoing.borrow_mut() = None;
    let refuse = |what: &str| refuse(ticket, "no-preview", what, "");
    let Some(found) = export::find(&exporter) else {
        return refuse(&format!("unknown exporter {exporter}"));
    };
    let outgoing = match source(&state, found, &export_options(options.clone())) {
        Some(Ok((source, _))) => source.outgoing(found).await,
        Some(Err(error)) => Err(error),
        None => return refuse("there is nothing to preview yet"),
    };
    match outgoing {
        Ok(outgoing) => {
            *state.outgoing.borrow_mut() = Some((exporter.clone(), options.clone(), outgoing));
            show_preview(&state, ticket, (&exporter, &options), &search, limit);
        }
        Err(error) => refuse(&error.to_string()),
    }
}

/// What an export of the current document is made from, and its file name; `None` without a document.
fn source(
    state: &State,
    exporter: &ExporterInfo,
    options: &Options,
) -> Option<io::Result<(ExportSource, String)>> {
    with_shown(state, |shown| {
        let file_name = shown.export_file_name(exporter);
        shown.export_source(exporter, options).map(|source| (source, file_name))
    })
}

/// Adds a job that writes an export.
pub fn start(state: &Rc<State>, ticket: u32, exporter: String, what: ShareOptions) {
    let job = write(state.clone(), ticket, exporter, what);
    schedule::add(state, JobKind::Export, Some(ticket), job);
}

async fn write(state: Rc<State>, ticket: u32, exporter: String, what: ShareOptions) {
    let Some(exporter) = export::find(&exporter) else {
        return refuse(ticket, "unknown-exporter", &format!("unknown exporter {exporter}"), "");
    };
    let mut parts = BlobParts::new(Some(ticket));
    let options = export_options(what);
    let too_large = "close other tabs, or export with the tracedrop command";
    let (written, file_name) = match source(&state, exporter, &options) {
        Some(Ok((source, file_name))) => (source.write(exporter, &mut parts).await, file_name),
        Some(Err(error)) => (Err(error), String::new()),
        None => return,
    };
    let left_out = match written.and_then(|left_out| parts.flush().map(|()| left_out)) {
        Ok(left_out) => left_out.0,
        Err(error) => {
            let hint = match error.kind() {
                io::ErrorKind::InvalidData => "open the file again",
                io::ErrorKind::Unsupported => "",
                _ => too_large,
            };
            return refuse(ticket, "export-failed", &error.to_string(), hint);
        }
    };
    match parts.blob(exporter.media_type) {
        Ok(blob) => {
            // A redacted export must not reveal the name.
            let file_name = match options.redact.is_none() {
                true => file_name,
                false => format!("trace.{}", exporter.extension),
            };
            let response = Response::Exported { ticket, file_name, bytes: parts.bytes, left_out };
            post_with(&response, blob.as_ref());
        }
        Err(_) => {
            let what = format!("the browser has too little memory for the export ({} bytes)", parts.bytes);
            refuse(ticket, "export-too-large", &what, too_large);
        }
    }
}

/// Collects bytes in pieces, so that they are never in this worker's memory as a whole.
pub struct BlobParts {
    /// Ticket of the export, for progress messages.
    ticket: Option<u32>,
    parts: Array,
    piece: Vec<u8>,
    bytes: u64,
}

impl BlobParts {
    pub fn new(ticket: Option<u32>) -> BlobParts {
        BlobParts { ticket, parts: Array::new(), piece: Vec::new(), bytes: 0 }
    }

    /// The flushed bytes.
    pub fn blob(&self, media_type: &str) -> Result<Blob, JsValue> {
        let options = BlobPropertyBag::new();
        options.set_type(media_type);
        Blob::new_with_blob_sequence_and_options(&self.parts, &options)
    }
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
            .map_err(|_| io::Error::other("the browser has too little memory for the export"))?;
        self.parts.push(&part);
        self.bytes += self.piece.len() as u64;
        self.piece.clear();
        if let Some(ticket) = self.ticket {
            post(&Response::ExportProgress { ticket, bytes: self.bytes });
        }
        Ok(())
    }
}

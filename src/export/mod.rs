//! Exporters of reports and traces.
//!
//! Takes a [`Document`] (or the [`Run`] itself, for traces) and streams it to any sink.
//! It computes nothing: exports show the same as the page.
//!
//! Adding an exporter: a file with `INFO`, and two lines here (its `mod`, its place in [`EXPORTERS`]).

pub mod chrome_trace;
pub mod comment;
pub mod csv;
pub mod event_tables;
pub mod html;
pub mod index;
pub mod json;
pub mod link;
pub mod markdown;
pub mod mrm_run;
pub mod notes;
pub mod parquet;
pub mod perfetto;
pub mod redact;
pub mod reference;
pub mod stacks;
pub mod svg;
pub mod terminal;
pub mod tracedrop_file;

use crate::analysis::Query;
use crate::base::steps::{self, Steps, pause};
use crate::base::units::counted;
use crate::report::{Document, Notes};
use crate::trace::cut::{self, Cut};
use crate::trace::{Run, Trace};
use redact::{Redacted, Redactor};
use reference::TextFormat;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// The exporters, in menu order.
pub const EXPORTERS: &[&ExporterInfo] = &[
    &markdown::INFO,
    &html::INFO,
    &svg::INFO,
    &json::INFO,
    &csv::INFO,
    &parquet::INFO,
    &perfetto::INFO,
    &chrome_trace::INFO,
    &chrome_trace::PACKED_INFO,
    &stacks::speedscope::INFO,
    &stacks::firefox::INFO,
    &stacks::pprof::INFO,
    &stacks::collapsed::INFO,
    &stacks::collapsed::SAMPLES_INFO,
    &mrm_run::INFO,
    &index::INFO,
    &tracedrop_file::INFO,
    &terminal::INFO,
];

/// Description of an exporter.
pub struct ExporterInfo {
    /// Stable name in kebab case.
    pub id: &'static str,
    pub title: &'static str,
    /// File extension, without the leading dot; may contain dots.
    pub extension: &'static str,
    pub media_type: &'static str,
    /// Whether the page offers it; the terminal layout is not offered.
    pub in_menu: bool,
    /// Required data, as a noun phrase; empty if none.
    pub needs: &'static str,
    /// Whether there is anything to export.
    pub applies: fn(&Run) -> bool,
    /// Writes the export, without reference layouts; see [`render`].
    pub write: WriteFn,
    /// Format of the [reference output](mod@reference) that replaces this one, if there is one for the run.
    pub reference: Option<fn(&Options) -> TextFormat>,
    /// Converts traces that it can't write as they are to ones that can be cut and redacted like any other.
    pub converts: Option<Conversion>,
    /// Where its texts are found, for the preview of exported text.
    pub texts: TextsIn,
    /// Whether it writes events and can be limited to a part of the trace.
    pub takes_part: bool,
    /// Whether its output can be redacted.
    pub can_redact: bool,
    /// Whether it writes user notes.
    pub takes_notes: bool,
}

impl ExporterInfo {
    /// Whether its output is text.
    pub fn is_text(&self) -> bool {
        self.media_type.starts_with("text/") || self.media_type.starts_with("application/json")
    }
}

/// Returns the traces and whether each was converted; `None` if none was.
pub type Conversion = for<'a> fn(&'a Run, &'a Query) -> Steps<'a, Option<(Run, Vec<bool>)>>;

/// Where the texts of an export are found.
#[derive(Clone, Copy)]
pub enum TextsIn {
    /// In the document, which is written as JSON.
    Document,
    /// In the export, which is JSON.
    Json,
    /// In the JSON of another exporter, which writes the same texts.
    JsonOf(&'static ExporterInfo),
    /// In the export, whose lines are stacks: frames separated by semicolons, with a weight at the end.
    Stacks,
    /// In the content of a link.
    Link,
    /// In the document, the charts, and what else is in a [`tracedrop_file`].
    TracedropFile,
}

/// How an exporter writes.
#[derive(Clone, Copy)]
pub enum WriteFn {
    /// In one go: it takes about as long as the reports that it writes, not as the trace.
    AtOnce(fn(&Input<'_>, &mut dyn Write) -> io::Result<LeftOut>),
    /// In steps, as it goes through the trace.
    InSteps(InSteps),
}

type InSteps = for<'a> fn(&'a Input<'a>, &'a mut dyn Write) -> Steps<'a, io::Result<LeftOut>>;

impl WriteFn {
    /// Writes `input`, in steps if it has any.
    pub async fn call(self, input: &Input<'_>, out: &mut dyn Write) -> io::Result<LeftOut> {
        match self {
            WriteFn::AtOnce(write) => write(input, out),
            WriteFn::InSteps(write) => write(input, out).await,
        }
    }
}

/// Data missing from an export, as noun phrases: `1,345 memory regions`. Empty if complete.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct LeftOut(pub Vec<String>);

impl LeftOut {
    /// Result of a complete export.
    pub(crate) fn nothing((): ()) -> LeftOut {
        LeftOut::default()
    }
}

/// Input of an exporter.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// What is exported.
    pub run: &'a Run,
    /// The same traces as they were before they were cut and redacted.
    pub whole: &'a Run,
    pub document: &'a Document<'a>,
    pub query: &'a Query,
    pub options: &'a Options,
}

impl<'a> Input<'a> {
    /// All of `run`.
    pub fn new(
        run: &'a Run,
        document: &'a Document<'a>,
        query: &'a Query,
        options: &'a Options,
    ) -> Input<'a> {
        Input { run, whole: run, document, query, options }
    }

    /// User notes.
    pub fn notes(&self) -> &'a Notes {
        self.options.notes.as_ref().unwrap_or(&notes::NONE)
    }

    /// Title: set by the user, else the file names.
    pub fn title(&self) -> &'a str {
        [self.notes().title.as_str(), self.document.title.as_str(), "Trace"]
            .into_iter()
            .find(|title| !title.is_empty())
            .unwrap_or_default()
    }
}

/// User options; each exporter uses some of them.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// Columns of the terminal.
    pub width: u32,
    /// Color in the terminal.
    pub color: bool,
    /// Row limit of tables in the terminal; the rest is counted below.
    pub max_rows: u32,
    /// Flows in a trace made from calls: `None` writes up to [`chrome_trace::MAX_CALL_FLOWS`].
    pub flows: Option<bool>,
    /// Tracedrop's own layout, also for reports that have the layout of a reference tool.
    pub own_layout: bool,
    /// JSON with empty tables, for a program that has their rows already.
    pub without_rows: bool,
    /// Current time in milliseconds since the Unix epoch; 0 if unknown.
    pub now_ms: u64,
    /// Part of the trace to write, for exporters with [`ExporterInfo::takes_part`].
    pub cut: Cut,
    /// Classes to redact.
    pub redact: redact::Classes,
    /// Options of a link.
    pub link: link::LinkOptions,
    /// User notes, for exporters with [`ExporterInfo::takes_notes`]; `None` for those of the document.
    pub notes: Option<Notes>,
    /// Whether to include the index in a [`tracedrop_file`].
    pub with_index: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            width: 100,
            color: false,
            max_rows: 40,
            flows: None,
            own_layout: false,
            without_rows: false,
            now_ms: 0,
            cut: Cut::default(),
            redact: redact::Classes::default(),
            link: link::LinkOptions::default(),
            notes: None,
            with_index: false,
        }
    }
}

/// The exporter of that `id`: one of [`EXPORTERS`], or a link, which is not a file and can be refused.
pub fn find(id: &str) -> Option<&'static ExporterInfo> {
    EXPORTERS.iter().copied().chain([&link::INFO]).find(|exporter| exporter.id == id)
}

/// Writes `input` with `exporter`. If a report has a byte-for-byte reference layout, only that text
/// is written.
pub fn render(exporter: &ExporterInfo, input: &Input<'_>, out: &mut dyn Write) -> io::Result<LeftOut> {
    steps::run(render_in_steps(exporter, input, out))
}

/// [`render`] in steps. Cutting and redacting a trace is one step each, as they build another trace.
pub async fn render_in_steps(
    exporter: &ExporterInfo,
    input: &Input<'_>,
    out: &mut dyn Write,
) -> io::Result<LeftOut> {
    let n_hidden = || input.run.traces.iter().map(|trace| trace.args.take_n_hidden()).sum::<u64>();
    n_hidden();
    // Notes may quote an argument or a command.
    let are_hidden = exporter.takes_notes && !input.query.show_secrets;
    let without = are_hidden.then(|| input.notes().without_secrets()).flatten();
    let n_in_notes = without.as_ref().map_or(0, |(_, n)| *n);
    let options = without.map(|(notes, _)| Options { notes: Some(notes), ..input.options.clone() });
    let input = &Input { options: options.as_ref().unwrap_or(input.options), ..*input };
    let mut left_out = Box::pin(render_all(exporter, input, out)).await?;
    if n_in_notes > 0 {
        left_out.0.push(counted(
            n_in_notes,
            "password, token or key in notes",
            "passwords, tokens and keys in notes",
        ));
    }
    match n_hidden() {
        0 => {}
        n => left_out.0.push(counted(
            n,
            "password, token or key in arguments",
            "passwords, tokens and keys in arguments",
        )),
    }
    Ok(left_out)
}

async fn render_all(exporter: &ExporterInfo, input: &Input<'_>, out: &mut dyn Write) -> io::Result<LeftOut> {
    let Options { cut, redact: classes, .. } = input.options;
    let converted = match exporter.converts {
        Some(convert) => convert(input.run, input.query).await,
        None => None,
    };
    let (all, are_made) = match &converted {
        Some((run, are_made)) => (run, are_made.as_slice()),
        None => (input.run, &[][..]),
    };
    let cut = if exporter.takes_part { *cut } else { Cut::default() };
    if cut.is_all() && classes.is_none() {
        // Reference layouts cannot contain notes.
        let has_notes = exporter.takes_notes && !input.notes().is_empty();
        if let Some(text) = reference_text(exporter, input).filter(|_| !has_notes) {
            return out.write_all(text.as_bytes()).map(LeftOut::nothing);
        }
        return exporter.write.call(&Input { run: all, whole: all, ..*input }, out).await;
    }
    if !classes.is_none() && !exporter.can_redact {
        let why = "it contains the whole trace and cannot be redacted";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    if !classes.is_none() && input.options.with_index {
        let why = "the index contains the whole trace and cannot be redacted; write the file without it";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    let n_without_times: usize = match cut.window {
        Some(_) => all.traces.iter().map(cut::profiles::n_without_times).sum(),
        None => 0,
    };
    if n_without_times > 0 && all.traces.iter().all(has_no_times) {
        let why = "a time range needs times; this profile has none";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    let mut left_out = render_part(exporter, input, (all, are_made), &cut, out).await?;
    if n_without_times > 0 {
        left_out.0.push(counted(n_without_times as u64, "profile without times", "profiles without times"));
    }
    Ok(left_out)
}

/// Whether no part of a trace has a time.
fn has_no_times(trace: &Trace) -> bool {
    trace.extent().is_none() && trace.span_beside_events().is_none()
}

/// Writes traces; for each, the export states whether it was converted, cut or redacted.
async fn render_part(
    exporter: &ExporterInfo,
    input: &Input<'_>,
    (all, are_made): (&Run, &[bool]),
    cut: &Cut,
    out: &mut dyn Write,
) -> io::Result<LeftOut> {
    let classes = &input.options.redact;
    let redactor = Rc::new(RefCell::new(Redactor::new(*classes)));
    let part = |(number, trace): (usize, &Trace)| {
        let part = if cut.is_all() { Trace::clone(trace) } else { cut.of(trace) };
        if classes.is_none() {
            return part;
        }
        // Memory timelines are named after memory kinds, which are not symbols.
        let is_made = are_made.get(number).is_some_and(|is_made| *is_made);
        redactor.borrow_mut().classes.symbols = classes.symbols && !is_made;
        let part = redact::redacted(&part, *classes, &redactor);
        redactor.borrow_mut().classes.symbols = classes.symbols;
        part
    };
    let mut run = Run::default();
    for (number, trace) in all.traces.iter().enumerate() {
        run.traces.push(part((number, trace)));
        pause().await;
    }
    if classes.is_none() {
        return exporter.write.call(&Input { run: &run, whole: all, ..*input }, out).await;
    }
    let redacted = Redacted::new(input.document, input.run, input.notes(), &mut redactor.borrow_mut());
    let mut options = redact::options(input.options, input.document, &mut redactor.borrow_mut());
    options.notes = Some(redacted.notes().clone());
    let document = redacted.document();
    let input = Input { run: &run, whole: all, document: &document, query: input.query, options: &options };
    exporter.write.call(&input, out).await
}

fn reference_text(exporter: &ExporterInfo, input: &Input<'_>) -> Option<String> {
    let format = exporter.reference.filter(|_| !input.options.own_layout)?(input.options);
    reference::text(input, format)
}

/// [`render`] into memory.
pub fn to_bytes(exporter: &ExporterInfo, input: &Input<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    // Writing to memory does not fail.
    let _ = render(exporter, input, &mut out);
    out
}

/// `applies` of exporters without requirements.
fn always(_run: &Run) -> bool {
    true
}

//! Reports and traces to bytes.
//!
//! Takes a [`Document`] (or the [`Run`] itself, for traces) and writes it piece by piece to any sink.
//! It computes nothing: what is exported is what the page shows.
//!
//! Adding an exporter: a file with `INFO`, and two lines here (its `mod`, its place in [`EXPORTERS`]).

pub mod chrome_trace;
pub mod comment;
pub mod csv;
pub mod html;
pub mod index;
pub mod json;
pub mod link;
pub mod markdown;
pub mod mrm_run;
pub mod notes;
pub mod parquet;
pub mod redact;
pub mod stacks;
pub mod svg;
pub mod terminal;
pub mod tracedrop_file;

use crate::analysis::{ANALYSES, Query, TextFormat};
use crate::base::units::counted;
use crate::report::{Document, Notes};
use crate::trace::cut::Cut;
use crate::trace::{Run, Trace};
use redact::{Redacted, Redactor};
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// The exporters, in the order of the page's menu.
pub const EXPORTERS: &[&ExporterInfo] = &[
    &markdown::INFO,
    &html::INFO,
    &svg::INFO,
    &json::INFO,
    &csv::INFO,
    &parquet::INFO,
    &chrome_trace::INFO,
    &chrome_trace::PACKED_INFO,
    &stacks::speedscope::INFO,
    &stacks::firefox::INFO,
    &stacks::collapsed::INFO,
    &stacks::collapsed::SAMPLES_INFO,
    &mrm_run::INFO,
    &index::INFO,
    &tracedrop_file::INFO,
    &terminal::INFO,
];

/// What is known of an exporter without running it.
pub struct ExporterInfo {
    /// Stable name in kebab case.
    pub id: &'static str,
    pub title: &'static str,
    /// Ending of the file, without the dot; may hold dots.
    pub extension: &'static str,
    pub media_type: &'static str,
    /// Offered on the page; the terminal layout is not.
    pub in_menu: bool,
    /// There has to be something of this kind, in words; empty if it takes anything.
    pub needs: &'static str,
    /// Whether there is anything to export.
    pub applies: fn(&Run) -> bool,
    /// Writes it all, without reference layouts; see [`render`].
    pub write: fn(&Input<'_>, &mut dyn Write) -> io::Result<LeftOut>,
    /// Which layout of a reference tool stands in for it, where an analysis has one.
    pub reference: Option<fn(&Options) -> TextFormat>,
    /// Writes the events of a trace, of which a part can be left out.
    pub takes_part: bool,
    /// Something can be taken out of what it writes.
    pub can_redact: bool,
    /// Writes what people noted.
    pub takes_notes: bool,
}

impl ExporterInfo {
    /// Whether what it writes are lines of text.
    pub fn is_text(&self) -> bool {
        self.media_type.starts_with("text/") || self.media_type.starts_with("application/json")
    }
}

/// What is not in a written file though it belongs there, each in words: `1,345 regions of memory`. Empty if all of it is.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct LeftOut(pub Vec<String>);

impl LeftOut {
    /// Of an exporter that writes all there is.
    pub(crate) fn nothing((): ()) -> LeftOut {
        LeftOut::default()
    }
}

/// What an exporter is given.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    pub run: &'a Run,
    pub document: &'a Document<'a>,
    pub query: &'a Query,
    pub options: &'a Options,
}

impl<'a> Input<'a> {
    /// What someone wrote on what is exported.
    pub fn notes(&self) -> &'a Notes {
        self.options.notes.as_ref().unwrap_or(&notes::NONE)
    }

    /// What the whole is called: by the person, else after its files.
    pub fn title(&self) -> &'a str {
        [self.notes().title.as_str(), self.document.title.as_str(), "Trace"]
            .into_iter()
            .find(|title| !title.is_empty())
            .unwrap_or_default()
    }
}

/// What the person chose; each exporter uses a part.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// Columns of the terminal.
    pub width: u32,
    /// Colour in the terminal.
    pub color: bool,
    /// Rows of a table in the terminal; what is left out is counted below it.
    pub max_rows: u32,
    /// Arrows in a trace that is made from calls: `None` writes them up to [`chrome_trace::MAX_CALL_FLOWS`].
    pub flows: Option<bool>,
    /// As Tracedrop lays it out, also where a report has the layout of the tool it comes from.
    pub own_layout: bool,
    /// What time it is, in milliseconds since the Unix epoch; 0 if that is not known.
    pub now_ms: u64,
    /// The part of a trace that is written, by exporters for which [`ExporterInfo::takes_part`] holds.
    pub cut: Cut,
    /// What is taken out.
    pub redact: redact::Classes,
    /// What goes into a link.
    pub link: link::LinkOptions,
    /// What someone wrote, for exporters with [`ExporterInfo::takes_notes`]; `None` for what came with the document.
    pub notes: Option<Notes>,
    /// The index goes along in a [`tracedrop_file`].
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
            now_ms: 0,
            cut: Cut::default(),
            redact: redact::Classes::default(),
            link: link::LinkOptions::default(),
            notes: None,
            with_index: false,
        }
    }
}

/// The exporter of that `id`: one of [`EXPORTERS`], or a link, which is no file and may be refused.
pub fn find(id: &str) -> Option<&'static ExporterInfo> {
    EXPORTERS.iter().copied().chain([&link::INFO]).find(|exporter| exporter.id == id)
}

/// Writes `input` with `exporter`. Where a report is laid out byte for byte as by the tool it comes from,
/// that text alone is written.
pub fn render(exporter: &ExporterInfo, input: &Input<'_>, out: &mut dyn Write) -> io::Result<LeftOut> {
    let n_hidden = || input.run.traces.iter().map(|trace| trace.args.take_n_hidden()).sum::<u64>();
    n_hidden();
    let mut left_out = render_all(exporter, input, out)?;
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

fn render_all(exporter: &ExporterInfo, input: &Input<'_>, out: &mut dyn Write) -> io::Result<LeftOut> {
    let Options { cut, redact: classes, .. } = input.options;
    let timelines = chrome_trace::is_one(exporter)
        .then(|| chrome_trace::with_timelines(input.run, &input.query.memory))
        .flatten();
    let (all, are_made) = match &timelines {
        Some((run, are_made)) => (run, are_made.as_slice()),
        None => (input.run, &[][..]),
    };
    let cut = if exporter.takes_part { *cut } else { Cut::default() };
    if cut.is_all() && classes.is_none() {
        // The layouts of other tools have no place for notes.
        let has_notes = exporter.takes_notes && !input.notes().is_empty();
        if let Some(text) = reference_text(exporter, input).filter(|_| !has_notes) {
            return out.write_all(text.as_bytes()).map(LeftOut::nothing);
        }
        return (exporter.write)(&Input { run: all, ..*input }, out);
    }
    if !classes.is_none() && !exporter.can_redact {
        let why = "it holds the whole trace, and nothing can be taken out of it";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    if !classes.is_none() && input.options.with_index {
        let why =
            "an index holds the whole trace, and nothing can be taken out of it; write the file without it";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    let redactor = Rc::new(RefCell::new(Redactor::new(*classes)));
    let part = |(number, trace): (usize, &Trace)| {
        let part = if cut.is_all() { Trace::clone(trace) } else { cut.of(trace) };
        if classes.is_none() {
            return part;
        }
        // What timelines are made of is called after kinds of memory, which are no names of code.
        let is_made = are_made.get(number).is_some_and(|is_made| *is_made);
        redactor.borrow_mut().classes.symbols = classes.symbols && !is_made;
        let part = redact::redacted(&part, *classes, &redactor);
        redactor.borrow_mut().classes.symbols = classes.symbols;
        part
    };
    let run = Run { traces: all.traces.iter().enumerate().map(part).collect() };
    if classes.is_none() {
        return (exporter.write)(&Input { run: &run, ..*input }, out);
    }
    let redacted = Redacted::new(input.document, input.run, input.notes(), &mut redactor.borrow_mut());
    let mut options = redact::options(input.options, input.document, &mut redactor.borrow_mut());
    options.notes = Some(redacted.notes().clone());
    (exporter.write)(
        &Input { run: &run, document: &redacted.document(), query: input.query, options: &options },
        out,
    )
}

fn reference_text(exporter: &ExporterInfo, input: &Input<'_>) -> Option<String> {
    let format = exporter.reference.filter(|_| !input.options.own_layout)?(input.options);
    ANALYSES
        .iter()
        .filter(|analysis| (analysis.applies)(input.run))
        .filter(|analysis| input.document.reports.iter().any(|report| report.id == analysis.id))
        .filter_map(|analysis| analysis.reference)
        .find_map(|layout| layout(input.run, input.query, format))
}

/// [`render`] into memory.
pub fn to_bytes(exporter: &ExporterInfo, input: &Input<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    // Writing to memory does not fail.
    let _ = render(exporter, input, &mut out);
    out
}

/// For exporters that always have something to write.
fn always(_run: &Run) -> bool {
    true
}

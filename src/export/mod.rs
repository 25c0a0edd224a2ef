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
pub mod markdown;
pub mod mrm_run;
pub mod stacks;
pub mod terminal;

use crate::analysis::{ANALYSES, Query, TextFormat};
use crate::report::Document;
use crate::trace::Run;
use crate::trace::cut::Cut;
use std::io::{self, Write};

/// The exporters, in the order of the page's menu.
pub const EXPORTERS: &[&ExporterInfo] = &[
    &markdown::INFO,
    &html::INFO,
    &json::INFO,
    &csv::INFO,
    &chrome_trace::INFO,
    &chrome_trace::PACKED_INFO,
    &stacks::speedscope::INFO,
    &stacks::firefox::INFO,
    &stacks::collapsed::INFO,
    &stacks::collapsed::SAMPLES_INFO,
    &index::INFO,
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
    /// Whether there is anything to export.
    pub applies: fn(&Run) -> bool,
    /// Writes it all, without reference layouts; see [`render`].
    pub write: fn(&Input<'_>, &mut dyn Write) -> io::Result<()>,
    /// Which layout of a reference tool stands in for it, where an analysis has one.
    pub reference: Option<fn(&Options) -> TextFormat>,
}

/// What an exporter is given.
pub struct Input<'a> {
    pub run: &'a Run,
    pub document: &'a Document<'a>,
    pub query: &'a Query,
    pub options: &'a Options,
}

/// What the person chose; each exporter uses a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// Columns of the terminal.
    pub width: u32,
    /// Colour in the terminal.
    pub color: bool,
    /// Rows of a table in the terminal; what is left out is counted below it.
    pub max_rows: u32,
    /// Arrows in a trace that is made from calls: `None` writes them up to [`chrome_trace::MAX_CALL_FLOWS`].
    pub flows: Option<bool>,
    /// What time it is, in milliseconds since the Unix epoch; 0 if that is not known.
    pub now_ms: u64,
    /// The part of a trace that is written, by exporters for which [`ExporterInfo::takes_part`] holds.
    pub cut: Cut,
}

impl Default for Options {
    fn default() -> Options {
        Options { width: 100, color: false, max_rows: 40, flows: None, now_ms: 0, cut: Cut::default() }
    }
}

/// The exporter of that `id`.
pub fn find(id: &str) -> Option<&'static ExporterInfo> {
    EXPORTERS.iter().copied().find(|exporter| exporter.id == id)
}

/// Writes `input` with `exporter`. Where a report is laid out byte for byte as by the tool it comes from,
/// that text alone is written.
pub fn render(exporter: &ExporterInfo, input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    if let Some(text) = reference_text(exporter, input) {
        return out.write_all(text.as_bytes());
    }
    if input.options.cut.is_all() || !exporter.takes_part() {
        return (exporter.write)(input, out);
    }
    let traces = input.run.traces.iter().map(|trace| input.options.cut.of(trace));
    let part = Run { traces: traces.collect() };
    (exporter.write)(&Input { run: &part, ..*input }, out)
}

impl ExporterInfo {
    /// Whether it writes the events of a trace, of which a part can be left out.
    pub fn takes_part(&self) -> bool {
        let of_events = [
            &chrome_trace::INFO,
            &chrome_trace::PACKED_INFO,
            &stacks::speedscope::INFO,
            &stacks::firefox::INFO,
            &stacks::collapsed::INFO,
            &stacks::collapsed::SAMPLES_INFO,
        ];
        of_events.iter().any(|exporter| exporter.id == self.id)
    }
}

fn reference_text(exporter: &ExporterInfo, input: &Input<'_>) -> Option<String> {
    let format = exporter.reference?(input.options);
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

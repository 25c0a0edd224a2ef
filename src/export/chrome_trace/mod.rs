//! Any trace as Chrome Trace Event JSON, for Perfetto, `chrome://tracing` and for this library.
//!
//! The file is streamed while the columns are walked, without a second copy of the trace.
//! Reading it back gives the same slices, counters, flows and samples, and writing that again gives the same bytes.
//!
//! Changes:
//! - Pids and tids that readers misinterpret (text, 0, negative, beyond 32 bits, one tid in two processes)
//!   get free numbers; `metadata.tracedrop.renumbered` records the originals, which are restored when the file is read back.
//! - Times that are negative, or too large for nanosecond precision in doubles, are relative to the start of the
//!   trace; `metadata.tracedrop.origin_ns` records that start.
//! - Slices that partly overlap others on the same thread go to separate threads, `name (overlap 2)`.
//! - States without an end are written up to the end of the trace, and marked, so that they are read back without one.
//! - Legacy async events are written as `b` and `e`; all async identities get new ids.
//! - Arguments become strict JSON.
//!
//! Memory accesses are written as regions by kind and block lifetimes, see [`memory_timeline`], and scoring backend calls as threads by
//! view, see `calls`. Sample counts without timestamps never get an invented time axis: their file contains metadata and one
//! counter.

mod calls;
mod ids;
mod profiles;
mod tracks;
mod writer;

pub use calls::MAX_CALL_FLOWS;

use super::{ExporterInfo, Input, LeftOut, Options, TextsIn, WriteFn};
use crate::analysis::{AnalysisCache, Query, gpu, memory_timeline};
use crate::base::hash::HashSet;
use crate::base::json::{Number, unescape_to_string};
use crate::base::steps::{self, Steps, pause};
use crate::base::units::counted;
use crate::trace::args::ArgsTable;
use crate::trace::builder::{OWN_FACT, for_each_member};
use crate::trace::{Run, Trace};
use flate2::Compression;
use flate2::write::GzEncoder;
pub(super) use ids::RenumberedNotes;
use std::io::{self, Write};
use writer::Writer;

pub const INFO: ExporterInfo = ExporterInfo {
    id: "chrome-trace",
    title: "Chrome trace (for Perfetto)",
    extension: "trace.json",
    media_type: "application/json",
    in_menu: true,
    needs: "slices, counters, memory accesses, forward passes or samples (not those of stack profiles)",
    applies,
    write: WriteFn::InSteps(|input, out| Steps::new(write_checked(input, out))),
    reference: None,
    converts: Some(|run, query| Steps::new(with_timelines(run, query))),
    texts: TextsIn::Json,
    takes_part: true,
    can_redact: true,
    takes_notes: false,
};

/// The same compressed with gzip, for Perfetto.
pub const PACKED_INFO: ExporterInfo = ExporterInfo {
    id: "chrome-trace-gz",
    title: "Chrome trace (gzip)",
    extension: "trace.json.gz",
    media_type: "application/gzip",
    in_menu: false,
    needs: "slices, counters, memory accesses, forward passes or samples with times (not those of stack profiles)",
    applies: has_times,
    write: WriteFn::InSteps(|input, out| {
        Steps::new(async move {
            let mut packer = GzEncoder::new(out, Compression::fast());
            let left_out = write_checked(input, &mut packer).await?;
            packer.finish().map(|_| left_out)
        })
    }),
    reference: None,
    converts: Some(|run, query| Steps::new(with_timelines(run, query))),
    texts: TextsIn::JsonOf(&INFO),
    takes_part: true,
    can_redact: true,
    takes_notes: false,
};

/// Not for a memory trace without accesses, which would give an empty file.
fn applies(run: &Run) -> bool {
    let has_events = |trace: &Trace| {
        (!trace.accesses.is_expected() && trace.stack_profiles.is_empty())
            || memory_timeline::applies_to(trace)
            || !trace.slices.is_empty()
            || !trace.counters.is_empty()
    };
    run.traces.iter().any(has_events) && run.traces.iter().all(|trace| trace.aggregated.is_none())
}

/// Whether the run has anything with a timestamp. Sample counts without timestamps become one counter value at 0, which
/// preserves them but shows nothing on a timeline.
fn has_times(run: &Run) -> bool {
    applies(run) && !run.traces.iter().all(|trace| trace.slices.is_empty() && !trace.profiles.is_empty())
}

/// Converts memory accesses to timelines, so that they can be cut and redacted like events. Returns the traces and whether
/// each was converted; `None` if there are no memory accesses.
async fn with_timelines(run: &Run, query: &Query) -> Option<(Run, Vec<bool>)> {
    memory_timeline::converted_in_steps(run, query, AnalysisCache::default()).await.0
}

/// [`write`] to `out`. Also fails if arguments cannot be read any more.
async fn write_checked(input: &Input<'_>, out: &mut dyn Write) -> io::Result<LeftOut> {
    let mut result: io::Result<()> = Ok(());
    let args = || input.run.traces.iter().map(|trace| &trace.args);
    // Discard earlier problems, which are not from this export.
    args().for_each(|args| drop(args.take_problem()));
    let mut sink = |bytes: &[u8]| {
        if result.is_ok() && !args().any(ArgsTable::has_problem) {
            result = out.write_all(bytes);
        }
    };
    let left_out = write_in_steps(input.run, input.options, &mut sink).await;
    result?;
    match args().find_map(ArgsTable::take_problem) {
        Some(why) => Err(io::Error::new(io::ErrorKind::InvalidData, format!("arguments are missing: {why}"))),
        None => Ok(left_out),
    }
}

/// Beyond this many nanoseconds, readers that store microseconds as doubles lose nanosecond precision.
const EXACT_NS: i64 = 1 << 53;

/// JSON note in a file without event arguments.
const ARGUMENTS_MISSING: &str = "\"left out: only the original trace contains them\"";

/// Writes the whole file in chunks of about 256 KiB; returns what is left out.
pub fn write(run: &Run, options: &Options, sink: &mut dyn FnMut(&[u8])) -> LeftOut {
    steps::run(write_in_steps(run, options, sink))
}

/// [`write`] in steps of about a chunk.
async fn write_in_steps(run: &Run, options: &Options, sink: &mut dyn FnMut(&[u8])) -> LeftOut {
    let mut w = Writer::new(sink);
    w.raw("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    let mut facts = OwnFacts::before(run);
    let origin = origin(run);
    facts.origin_ns = facts.origin_ns.saturating_add(origin);
    let mut numbers = ids::Numbers::reserve(run);
    let mut states = Vec::with_capacity(run.traces.len());
    let mut first_stack = 1;
    for trace in &run.traces {
        let state = tracks::Layout::new(trace, origin, first_stack, &mut numbers, &mut facts.renumbered);
        first_stack += trace.stacks.len() as u64;
        state.write_names(&mut w);
        states.push(state);
        pause().await;
    }
    for (trace, state) in run.traces.iter().zip(&mut states) {
        state.write_events(&mut w, &mut facts).await;
        facts.calls_left_out += calls::write(trace, options, &mut numbers, &mut w, &mut facts.notes);
        profiles::write(trace, &mut numbers, &mut w, &mut facts.notes);
    }
    w.raw("\n]");
    tracks::write_samples(&states, &mut w).await;
    facts.are_args_missing = run.traces.iter().any(|trace| trace.args.are_missing());
    if facts.are_args_missing {
        facts.notes.push(("arguments", ARGUMENTS_MISSING.to_string()));
    }
    write_metadata(run, &facts, &mut w);
    w.raw("}\n");
    w.finish();
    facts.left_out()
}

/// Facts about the export, recorded in the file.
#[derive(Default)]
struct OwnFacts {
    /// Subtracted from all times.
    origin_ns: i64,
    renumbered: RenumberedNotes,
    /// Entries omitted from the list of an earlier export.
    renumbered_left_out: u64,
    /// Flows that could not be written.
    flows_left_out: u64,
    /// Non-finite counter values.
    values_left_out: u64,
    /// Memory regions and block lifetimes beyond the limits.
    regions_left_out: u64,
    blocks_left_out: u64,
    calls_left_out: calls::CallsLeftOut,
    /// Event arguments are only in the original trace.
    are_args_missing: bool,
    /// Additional members: name and JSON value.
    notes: Vec<(&'static str, String)>,
    /// Those of an earlier export.
    notes_before: Vec<(String, String)>,
}

impl OwnFacts {
    /// Facts recorded by the earlier export from which the traces were read, and what of their format has to be stated. Without
    /// renumbered processes and threads, as these are determined again.
    fn before(run: &Run) -> OwnFacts {
        let mut all = OwnFacts::default();
        for (n, source) in run.traces.iter().map(|trace| &trace.source).enumerate() {
            let Some((_, own)) = source.metadata.iter().find(|(name, _)| name == OWN_FACT) else { continue };
            for_each_member(own.as_bytes(), |name, value| {
                let count = Number::as_u64(value).unwrap_or(0);
                match name.bytes {
                    // Several files have no common origin.
                    b"origin_ns" if n == 0 => all.origin_ns = Number::as_i64(value).unwrap_or(0),
                    b"origin_ns" | b"renumbered" => {}
                    b"flows_left_out" => all.flows_left_out = all.flows_left_out.saturating_add(count),
                    b"values_left_out" => all.values_left_out = all.values_left_out.saturating_add(count),
                    b"regions_left_out" => all.regions_left_out = all.regions_left_out.saturating_add(count),
                    b"blocks_left_out" => all.blocks_left_out = all.blocks_left_out.saturating_add(count),
                    b"renumbered_left_out" => {
                        all.renumbered_left_out = all.renumbered_left_out.saturating_add(count);
                    }
                    _ => {
                        let value = String::from_utf8_lossy(value).into_owned();
                        all.notes_before.push((unescape_to_string(name), value));
                    }
                }
            });
        }
        if run.traces.iter().any(|trace| gpu::has_work(trace) && gpu::has_gpu_categories(&trace.source)) {
            all.notes.push((gpu::GPU_CATEGORIES, "true".to_string()));
        }
        all
    }

    /// Whether there is nothing to record beyond what an earlier export did.
    fn is_empty(&self) -> bool {
        self.origin_ns == 0
            && self.renumbered.is_empty()
            && self.renumbered_left_out == 0
            && self.flows_left_out == 0
            && self.values_left_out == 0
            && self.regions_left_out == 0
            && self.blocks_left_out == 0
            && self.notes.is_empty()
    }

    /// Description of what is not in the file, for the user.
    fn left_out(&self) -> LeftOut {
        let calls = self.calls_left_out;
        let counts = [
            ("the ", self.regions_left_out, "least accessed memory region", "least accessed memory regions"),
            (
                "the ",
                self.blocks_left_out,
                "least accessed KV block lifetime",
                "least accessed KV block lifetimes",
            ),
            ("", self.flows_left_out, "flow that couldn't be placed", "flows that couldn't be placed"),
            ("", self.values_left_out, "non-finite counter value", "non-finite counter values"),
            ("", calls.no_time, "call without a valid timestamp", "calls without a valid timestamp"),
            ("", calls.no_duration, "call without a valid duration", "calls without a valid duration"),
            ("", calls.overlapping, "call during many others", "calls during many others"),
        ];
        let counts = counts.iter().filter(|(_, n, ..)| *n > 0);
        let counts = counts.map(|(before, n, one, many)| format!("{before}{}", counted(*n, one, many)));
        let args = self
            .are_args_missing
            .then(|| "event arguments, which only the original trace contains".to_string());
        LeftOut(counts.chain(args).collect())
    }
}

/// Members whose own members readers list separately: `otherData.version`.
const NESTED: [&str; 2] = ["otherData", "metadata"];

/// Members that are not metadata, or are written before it.
const TAKEN: [&str; 6] =
    ["traceEvents", "stackFrames", "samples", "displayTimeUnit", "metadata", "otherData"];

/// Size limit of the list of renumbered ids in bytes; the rest is counted.
const MAX_RENUMBERED_BYTES: usize = 32 << 10;

/// Origin of all times: 0 wherever possible.
fn origin(run: &Run) -> i64 {
    let spans = run.traces.iter().filter_map(Trace::span);
    let Some((start, end)) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { return 0 };
    let hard = start < 0 || end > EXACT_NS;
    if hard && end.checked_sub(start).is_some() { start } else { 0 }
}

/// Writes the files' metadata, then our own. A file written by Tracedrop keeps its recorded origin.
fn write_metadata(run: &Run, facts: &OwnFacts, w: &mut Writer<'_>) {
    let mut seen: HashSet<&str> = HashSet::default();
    let metadata: Vec<(&str, &str)> = run
        .traces
        .iter()
        .flat_map(|trace| &trace.source.metadata)
        .filter(|(name, _)| seen.insert(name))
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let inner = |name: &str, nested: &str| name.strip_prefix(nested)?.strip_prefix('.').map(str::len);
    for (name, value) in &metadata {
        if TAKEN.contains(name) || NESTED.iter().any(|nested| inner(name, nested).is_some()) {
            continue;
        }
        w.raw(",\n");
        write_fact(name, value, w);
    }
    for nested in NESTED {
        let mut is_open = false;
        let mut open = |w: &mut Writer<'_>| {
            if std::mem::replace(&mut is_open, true) {
                return w.raw(",\n");
            }
            w.raw(",\n");
            w.string(nested);
            w.raw(":{");
        };
        for (name, value) in metadata.iter().filter(|(name, _)| *name != OWN_FACT) {
            if let Some(len) = inner(name, nested) {
                open(w);
                write_fact(&name[name.len() - len..], value, w);
            }
        }
        if nested == "metadata" {
            // Metadata with the name of another member is still metadata.
            for (name, value) in metadata.iter().filter(|(name, _)| TAKEN.contains(name)) {
                let known = *name == "displayTimeUnit";
                if !known && !metadata.iter().any(|(other, _)| other.strip_prefix("metadata.") == Some(name))
                {
                    open(w);
                    write_fact(name, value, w);
                }
            }
            let own = metadata.iter().find(|(name, _)| *name == OWN_FACT);
            if !facts.is_empty() {
                open(w);
                w.raw("\"tracedrop\":");
                write_own(facts, w);
            } else if let Some((_, value)) = own {
                open(w);
                write_fact("tracedrop", value, w);
            }
        }
        if is_open {
            w.raw("}");
        }
    }
}

fn write_fact(name: &str, value: &str, w: &mut Writer<'_>) {
    w.string(name);
    w.raw(":");
    w.json_or_text(value);
    w.pass_on();
}

/// What an export in another format states about itself, as JSON: what earlier exports said, and the ids it changed. `None` if there
/// is nothing to say.
pub(super) fn own_fact(run: &Run, renumbered: RenumberedNotes) -> Option<String> {
    let facts = OwnFacts { renumbered, ..OwnFacts::before(run) };
    if facts.is_empty() && facts.notes_before.is_empty() {
        return None;
    }
    let mut bytes = Vec::new();
    let mut sink = |chunk: &[u8]| bytes.extend_from_slice(chunk);
    let mut w = Writer::new(&mut sink);
    write_own(&facts, &mut w);
    w.finish();
    String::from_utf8(bytes).ok()
}

fn write_own(facts: &OwnFacts, w: &mut Writer<'_>) {
    w.raw("{\"origin_ns\":");
    w.integer(facts.origin_ns);
    for (name, n) in [
        ("flows_left_out", facts.flows_left_out),
        ("values_left_out", facts.values_left_out),
        ("regions_left_out", facts.regions_left_out),
        ("blocks_left_out", facts.blocks_left_out),
    ] {
        if n > 0 {
            w.raw(",");
            w.string(name);
            w.raw(":");
            w.unsigned(n);
        }
    }
    for (name, value) in &facts.notes {
        w.raw(",");
        w.string(name);
        w.raw(":");
        w.raw(value);
    }
    for (i, (name, value)) in facts.notes_before.iter().enumerate() {
        let is_new = facts.notes.iter().all(|(other, _)| other != name);
        if is_new && facts.notes_before[..i].iter().all(|(other, _)| other != name) {
            w.raw(",");
            write_fact(name, value, w);
        }
    }
    let mut n_left_out = facts.renumbered_left_out;
    if !facts.renumbered.is_empty() {
        w.raw(",\"renumbered\":[");
        let mut n_bytes = 0;
        let mut n_written = 0;
        for entry in facts.renumbered.iter() {
            n_bytes += entry.len();
            if n_bytes > MAX_RENUMBERED_BYTES {
                break;
            }
            w.raw(if n_written > 0 { "," } else { "" });
            n_written += 1;
            w.raw(entry);
        }
        w.raw("]");
        n_left_out = n_left_out.saturating_add((facts.renumbered.len() - n_written) as u64);
    }
    if n_left_out > 0 {
        w.raw(",\"renumbered_left_out\":");
        w.unsigned(n_left_out);
    }
    w.raw("}");
}

//! Any trace as a Perfetto trace, for Perfetto's page and trace processor, and for this library.
//!
//! Each track has a sequence of its own with its interned texts and a clock that counts from one event to the next, so most
//! events take some 20 bytes. Slices are written in order of time, each end when it is due, so memory holds open slices and texts
//! only. Slices that overlap others on their track, or have more than 511 around them, are on sibling tracks, since Perfetto would drop
//! them.
//!
//! Reading it back gives the same slices, arguments, counters and arrows. Changes:
//! - Async slices, states and instants of processes are on tracks of their own, whose sibling merge keys say what they are, so that
//!   they come back as such. Legacy async slices come back as async slices.
//! - States are events of Perfetto's state tracks. Overlapping ones are on siblings.
//! - Ids that are texts, or that two processes have, get free numbers. Metadata of Tracedrop's own has the originals, which are
//!   restored when the file is read back.
//! - Negative times: all times are relative to the first one.
//! - Metadata is an event, `tracedrop_metadata`, at the start.
//! - Ranks of one run are on one clock.
//! - Steps, phases and notes are on tracks that are marked as Tracedrop's own (`own`); they do not come back as events.

mod arguments;
mod own;
mod ranks;
mod sequence;
mod tracks;

use super::chrome_trace;
use super::{ExporterInfo, Input, LeftOut, TextsIn, WriteFn};
use crate::analysis::gpu;
use crate::base::json::write::push_string;
use crate::base::protobuf::PushFields;
use crate::base::sort;
use crate::base::steps::{Steps, pause};
use crate::base::units::counted;
use crate::trace::args::ArgsTable;
use crate::trace::builder::{METADATA_EVENT, OWN_FACT};
use crate::trace::labels::shown;
use crate::trace::slices::{SliceId, SliceKind};
use crate::trace::{Run, Trace};
use sequence::Sequence;
use std::io::{self, Write};
use tracks::{Layout, Numbers};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "perfetto",
    title: "Perfetto trace",
    extension: "pftrace",
    media_type: "application/octet-stream",
    in_menu: true,
    needs: "slices, counters or memory accesses",
    applies,
    write: WriteFn::InSteps(|input, out| Steps::new(write(input, out))),
    reference: None,
    converts: chrome_trace::INFO.converts,
    texts: TextsIn::JsonOf(&TEXTS),
    takes_part: true,
    can_redact: true,
    takes_notes: true,
};

/// The same texts as JSON, to be listed: those of a Chrome trace, and of Tracedrop's own tracks.
static TEXTS: ExporterInfo = ExporterInfo {
    media_type: "application/json",
    write: WriteFn::InSteps(|input, out| {
        Steps::new(async move {
            let left_out = chrome_trace::INFO.write.call(input, out).await?;
            let mut quoted = Vec::new();
            for text in own::texts(input) {
                quoted.push(b',');
                push_string(&text, &mut quoted);
            }
            out.write_all(&quoted)?;
            Ok(left_out)
        })
    }),
    takes_notes: true,
    ..chrome_trace::INFO
};

/// Bytes that are passed on at once.
const CHUNK_BYTES: usize = 256 << 10;

/// Name of the track for metadata.
const METADATA_TRACK: &str = "Metadata";

/// Fields of an event.
mod field {
    pub const CATEGORY_IIDS: u64 = 3;
    pub const ANNOTATION: u64 = 4;
    pub const TYPE: u64 = 9;
    pub const NAME_IID: u64 = 10;
    pub const CATEGORY: u64 = 22;
    pub const NAME: u64 = 23;
    pub const COUNTER_VALUE: u64 = 30;
    pub const DOUBLE_COUNTER_VALUE: u64 = 44;
    pub const FLOW_IDS: u64 = 47;
    pub const TERMINATING_FLOW_IDS: u64 = 48;
}

/// Types of events.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;
const STATE: u64 = 5;

/// Forward passes are no events, so they would give an empty file; a Chrome trace has them.
fn applies(run: &Run) -> bool {
    (chrome_trace::PACKED_INFO.applies)(run) && run.traces.iter().any(|trace| trace.scoring_calls.is_empty())
}

/// Output in chunks.
struct Sink<'a> {
    buffer: Vec<u8>,
    out: &'a mut dyn Write,
}

impl Sink<'_> {
    /// Passes on a full buffer, and ends a step.
    async fn pass_on(&mut self, run: &Run) -> io::Result<()> {
        if self.buffer.len() < CHUNK_BYTES {
            return Ok(());
        }
        check_args(run)?;
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        pause().await;
        Ok(())
    }
}

/// An error if arguments cannot be read any more.
fn check_args(run: &Run) -> io::Result<()> {
    match run.traces.iter().find_map(|trace| trace.args.take_problem()) {
        Some(why) => Err(io::Error::new(io::ErrorKind::InvalidData, format!("arguments are missing: {why}"))),
        None => Ok(()),
    }
}

async fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<LeftOut> {
    let run = input.run;
    // Discard earlier problems, which are not from this export.
    run.traces.iter().for_each(|trace| drop(trace.args.take_problem()));
    let mut sink = Sink { buffer: Vec::with_capacity(CHUNK_BYTES * 2), out };
    let mut numbers = Numbers::reserve(run);
    let (placed, n_unaligned) = ranks::place(input.whole, input.query);
    let start_of = |run: &Run, span_of: fn(&Trace) -> Option<(i64, i64)>| {
        let starts = run.traces.iter().zip(&placed);
        starts.filter_map(|(trace, at)| Some(span_of(trace)?.0.saturating_add(at.shift))).min().unwrap_or(0)
    };
    let start = start_of(input.whole, Trace::span);
    // Times of a packet are not negative.
    let origin = start.min(0);
    tracks::describe_root(&mut sink.buffer);
    let mut metadata = Metadata::new(start_of(run, Trace::extent).saturating_sub(origin));
    let facts = run.traces.iter().flat_map(|trace| &trace.source.metadata);
    // What earlier exports said of themselves comes with what this one does.
    let facts: Vec<(&str, &str)> = facts
        .filter(|(name, _)| name != OWN_FACT)
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    metadata.write(&facts, &mut numbers, &mut sink.buffer);
    let gpus = input.whole.traces.iter().zip(&placed).filter(|(trace, _)| gpu::is_of_gpu(trace));
    let gpus = gpus.map(|(trace, at)| {
        let start = trace.span().map_or(0, |(start, _)| start).saturating_add(at.shift);
        own::Origin { start: start.saturating_sub(origin), rank: at.rank }
    });
    let gpus: Vec<own::Origin> = gpus.collect();
    own::write(input, &gpus, start.saturating_sub(origin), &mut numbers, &mut sink.buffer);
    let (mut n_flows, mut n_values, mut n_samples, mut n_objects, mut n_named) = (0u64, 0u64, 0, 0, 0);
    for (trace, at) in run.traces.iter().zip(&placed) {
        let origin = origin.saturating_sub(at.shift);
        let layout = Layout::new(trace, at.rank, origin, &mut numbers, &mut sink.buffer);
        let mut writer = Slices { trace, layout, origin, n_flows, args: Vec::new() };
        writer.write(run, &mut numbers, &mut sink).await?;
        n_flows = writer.n_flows;
        n_values += write_counters(run, trace, &writer.layout, origin, &mut numbers, &mut sink).await?;
        n_samples += trace.samples.len() as u64;
        n_objects += trace.objects.len() as u64;
        let names = trace.flows.name.iter().zip(&trace.flows.category);
        n_named += names.filter(|(name, category)| !name.is_none() || !category.is_none()).count() as u64;
    }
    let renumbered = std::mem::take(&mut numbers.renumbered);
    if let Some(own) = chrome_trace::own_fact(run, renumbered) {
        metadata.write(&[(OWN_FACT, &own)], &mut numbers, &mut sink.buffer);
    }
    check_args(run)?;
    sink.out.write_all(&sink.buffer)?;
    let counts = [
        (n_unaligned, "clock offset of a rank", "clock offsets of ranks"),
        (n_values, "non-finite counter value", "non-finite counter values"),
        (n_samples, "sample of call stacks", "samples of call stacks"),
        (n_objects, "object or marker", "objects and markers"),
        // Arrows have a number in this format, and nothing else.
        (n_named, "name of an arrow", "names of arrows"),
    ];
    let counts = counts.iter().filter(|(n, ..)| *n > 0).map(|(n, one, many)| counted(*n, one, many));
    let are_missing = run.traces.iter().any(|trace| ArgsTable::are_missing(&trace.args));
    let args = are_missing.then(|| "event arguments, which only the original trace contains".to_string());
    Ok(LeftOut(counts.chain(args).collect()))
}

/// Metadata of the files, as events at the start.
struct Metadata {
    ts: i64,
    /// `None` before the first event.
    sequence: Option<Sequence>,
}

impl Metadata {
    fn new(ts: i64) -> Metadata {
        Metadata { ts, sequence: None }
    }

    /// Writes names and values as one event, if there are any.
    fn write(&mut self, facts: &[(&str, &str)], numbers: &mut Numbers, out: &mut Vec<u8>) {
        if facts.is_empty() {
            return;
        }
        let sequence = self.sequence.get_or_insert_with(|| {
            let uuid = numbers.new_track();
            tracks::describe_global(uuid, METADATA_TRACK, out);
            numbers.new_sequence(uuid)
        });
        sequence.push_event(self.ts, out, |_, out| {
            out.number(field::TYPE, INSTANT);
            out.bytes(field::NAME, METADATA_EVENT.as_bytes());
            for (name, value) in facts {
                out.message(field::ANNOTATION, |out| {
                    out.bytes(10, name.as_bytes());
                    out.bytes(6, value.as_bytes());
                });
            }
        });
    }
}

/// Slices of a trace.
struct Slices<'a> {
    trace: &'a Trace,
    layout: Layout,
    /// Subtracted from all times.
    origin: i64,
    /// Arrows of the traces before.
    n_flows: u64,
    /// Buffer for arguments.
    args: Vec<u8>,
}

impl Slices<'_> {
    async fn write(&mut self, run: &Run, numbers: &mut Numbers, sink: &mut Sink<'_>) -> io::Result<()> {
        let trace = self.trace;
        let flows = &trace.flows;
        let by = |ends: &[SliceId]| {
            let mut order: Vec<u32> = (0..ends.len() as u32).collect();
            sort::rows(&mut order, |a, b| ends[a as usize].cmp(&ends[b as usize]));
            order
        };
        // Of two slices that start together, the one that is written first has the start of the arrow.
        let ends = || flows.from.iter().zip(&flows.to);
        let from: Vec<SliceId> = ends().map(|(from, to)| *from.min(to)).collect();
        let to: Vec<SliceId> = ends().map(|(from, to)| *from.max(to)).collect();
        let (by_from, by_to) = (by(&from), by(&to));
        let (mut next_from, mut next_to) = (0, 0);
        let mut ids: Vec<(u64, u64)> = Vec::new();
        for slice in 0..trace.slices.len() as u32 {
            ids.clear();
            let mut take = |order: &[u32], next: &mut usize, ends: &[SliceId], field: u64| {
                while let Some(flow) = order.get(*next).filter(|flow| ends[**flow as usize].0 <= slice) {
                    ids.push((field, self.n_flows + u64::from(*flow) + 1));
                    *next += 1;
                }
            };
            take(&by_from, &mut next_from, &from, field::FLOW_IDS);
            take(&by_to, &mut next_to, &to, field::TERMINATING_FLOW_IDS);
            self.slice(slice, &ids, numbers, &mut sink.buffer);
            sink.pass_on(run).await?;
        }
        self.n_flows += flows.len() as u64;
        self.layout.close_all(trace, &mut sink.buffer);
        Ok(())
    }

    fn slice(&mut self, slice: u32, flows: &[(u64, u64)], numbers: &mut Numbers, out: &mut Vec<u8>) {
        let (trace, origin) = (self.trace, self.origin);
        let (slices, strings) = (&trace.slices, &trace.strings);
        let i = slice as usize;
        self.args.clear();
        trace.push_slice_args(i, &mut self.args);
        let is_instant = matches!(slices.kind[i], SliceKind::Instant | SliceKind::AsyncInstant);
        let is_state = self.layout.has_states(slices.track[i]);
        let lane = self.layout.open(trace, SliceId(slice), numbers, out);
        if is_instant {
            lane.drop_last();
        }
        let sequence = &mut lane.sequence;
        let name = strings.get(slices.name[i]);
        // A state without a name would only end the one before it.
        let name = if is_state { shown(Some(name)) } else { name };
        let name = (!name.is_empty()).then(|| sequence.name(slices.name[i], name));
        let category = strings.get_opt(slices.category[i]);
        let category = category.map(|text| sequence.category(slices.category[i], text));
        arguments::intern_names(&self.args, sequence);
        let args = &self.args;
        sequence.push_event(slices.ts[i].saturating_sub(origin), out, |sequence, out| {
            let kind = match is_instant {
                _ if is_state => STATE,
                true => INSTANT,
                false => BEGIN,
            };
            out.number(field::TYPE, kind);
            if let Some(iid) = name {
                out.number(field::NAME_IID, iid);
            }
            if let Some(iid) = category {
                out.number(field::CATEGORY_IIDS, iid);
            }
            arguments::push_members(args, field::ANNOTATION, sequence, out);
            for (field, id) in flows {
                out.fixed(*field, *id);
            }
        });
    }
}

fn push_end(
    sequence: &mut Sequence,
    name: Option<(crate::base::strings::StringId, &str)>,
    ts: i64,
    out: &mut Vec<u8>,
) {
    let name = name.filter(|(_, text)| !text.is_empty()).map(|(id, text)| sequence.name(id, text));
    sequence.push_event(ts, out, |_, out| {
        out.number(field::TYPE, END);
        if let Some(iid) = name {
            out.number(field::NAME_IID, iid);
        }
    });
}

/// Ends a state that no other follows.
fn push_state_end(sequence: &mut Sequence, ts: i64, out: &mut Vec<u8>) {
    sequence.push_event(ts, out, |_, out| out.number(field::TYPE, STATE));
}

/// Writes all counters; returns how many values are not finite and left out.
async fn write_counters(
    run: &Run,
    trace: &Trace,
    layout: &Layout,
    origin: i64,
    numbers: &mut Numbers,
    sink: &mut Sink<'_>,
) -> io::Result<u64> {
    let (table, strings) = (&trace.counter_series, &trace.strings);
    let mut sequences = Vec::with_capacity(table.len());
    for series in 0..table.len() {
        let uuid = numbers.new_track();
        let parent = layout.process(table.process[series].0 as usize);
        let (name, unit) =
            (strings.get(table.name[series]), strings.get_opt(table.key[series]).unwrap_or_default());
        let id = strings.get_opt(table.id[series]);
        tracks::describe_counter(uuid, parent, (name, id), unit, &mut sink.buffer);
        sequences.push(numbers.new_sequence(uuid));
    }
    let counters = &trace.counters;
    let mut n_left_out = 0;
    for row in 0..counters.len() {
        let value = counters.value[row];
        let Some(sequence) = sequences.get_mut(counters.series[row] as usize) else { continue };
        if !value.is_finite() {
            n_left_out += 1;
            continue;
        }
        let is_whole =
            value == value.trunc() && value.abs() < 1e15 && (value != 0.0 || value.is_sign_positive());
        sequence.push_event(counters.ts[row].saturating_sub(origin), &mut sink.buffer, |_, out| {
            out.number(field::TYPE, COUNTER);
            match is_whole {
                true => out.number(field::COUNTER_VALUE, value as i64 as u64),
                false => out.fixed(field::DOUBLE_COUNTER_VALUE, value.to_bits()),
            }
        });
        sink.pass_on(run).await?;
    }
    Ok(n_left_out)
}

//! pprof's profile: a protocol buffer in gzip, which `go tool pprof`, Pyroscope, Grafana and Polar Signals read.
//!
//! The graphs of the flame graph are its kinds of samples, the first one the default. As pprof has it, there is one sample for a stack
//! of a thread, with a value for each graph. Frames are locations without addresses, each with a function; a sample without a stack
//! has none. Threads are labels.

use super::{is_whole, last_digits_of, may_be_rounded};
use crate::analysis::flame;
use crate::analysis::{Context, Query};
use crate::base::hash::HashMap;
use crate::base::protobuf::{PushFields, push_varint};
use crate::base::sort;
use crate::base::steps::{Steps, pause};
use crate::base::units::{Unit, counted};
use crate::export::{ExporterInfo, Input, LeftOut, TextsIn, WriteFn};
use crate::stacks::graph::{GraphFrame, NO_LINE, NO_TEXT, ROOT, StackGraph};
use crate::trace::stack_profiles::pprof_facts;
use crate::trace::{Run, Trace};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "pprof",
    title: "pprof",
    extension: "pb.gz",
    media_type: "application/octet-stream",
    in_menu: true,
    needs: "slices, or samples with stacks",
    applies: |run| is_whole(run) && flame::applies(run),
    write: WriteFn::InSteps(|input, out| Steps::new(async move { write(input, out).await })),
    reference: None,
    converts: None,
    // Names, files and threads are the same there.
    texts: TextsIn::JsonOf(&super::speedscope::INFO),
    takes_part: true,
    can_redact: true,
    takes_notes: false,
};

/// Start of the comment of each export; the version follows.
const OWN_COMMENT: &str = "Tracedrop ";

/// Samples per step.
const SAMPLES_A_STEP: usize = 4096;

/// Field numbers of `Profile`.
mod fields {
    pub const SAMPLE_TYPE: u64 = 1;
    pub const SAMPLE: u64 = 2;
    pub const LOCATION: u64 = 4;
    pub const FUNCTION: u64 = 5;
    pub const STRING: u64 = 6;
    pub const TIME_NANOS: u64 = 9;
    pub const DURATION_NANOS: u64 = 10;
    pub const PERIOD_TYPE: u64 = 11;
    pub const PERIOD: u64 = 12;
    pub const COMMENT: u64 = 13;
    pub const DEFAULT_SAMPLE_TYPE: u64 = 14;
}

/// Texts of the profile; the first one is empty, as the format has it.
struct Texts {
    list: Vec<String>,
    known: HashMap<String, u64>,
}

impl Texts {
    fn new() -> Texts {
        let mut texts = Texts { list: Vec::new(), known: HashMap::default() };
        texts.get("");
        texts
    }

    fn get(&mut self, text: &str) -> u64 {
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let number = self.list.len() as u64;
        self.list.push(text.to_string());
        self.known.insert(text.to_string(), number);
        number
    }
}

/// Appends a number; 0, which a missing field has, is not written.
fn push_number(field: u64, value: u64, out: &mut Vec<u8>) {
    if value != 0 {
        out.number(field, value);
    }
}

/// A type of values: its name and its unit.
fn value_type(name: u64, unit: u64) -> Vec<u8> {
    let mut message = Vec::new();
    push_number(1, name, &mut message);
    push_number(2, unit, &mut message);
    message
}

/// What the format calls a unit.
fn unit_of(graph: &StackGraph) -> &str {
    match graph.unit {
        Unit::Ns => "nanoseconds",
        Unit::Bytes => "bytes",
        _ if !graph.other_unit.is_empty() => &graph.other_unit,
        _ => "count",
    }
}

async fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<LeftOut> {
    let query = Query::default();
    let graphs = flame::whole_graphs(&Context::new(input.run, &query));
    pause().await;
    let mut out = GzEncoder::new(out, Compression::default());
    let mut texts = Texts::new();
    let mut whole = Vec::new();
    for (at, graph) in graphs.iter().enumerate() {
        let name = texts.get(graph.title.trim_start_matches("Stacks by "));
        if at == 0 {
            // Without it, readers open the last one.
            push_number(fields::DEFAULT_SAMPLE_TYPE, name, &mut whole);
        }
        whole.bytes(fields::SAMPLE_TYPE, &value_type(name, texts.get(unit_of(graph))));
    }
    push_number(fields::COMMENT, texts.get(&[OWN_COMMENT, env!("CARGO_PKG_VERSION")].concat()), &mut whole);
    let mut left_out = push_facts(input.run, &mut texts, &mut whole);
    let mut places = Places::default();
    let mut samples = Samples::default();
    let has_threads = graphs.iter().any(|graph| graph.threads.len() > 1);
    for (at, graph) in graphs.iter().enumerate() {
        // Location of each frame.
        let ids: Vec<u64> = graph.frames.iter().map(|frame| places.get(graph, frame, &mut texts)).collect();
        let threads: Vec<u64> =
            graph.threads.iter().map(|name| if has_threads { texts.get(name) } else { 0 }).collect();
        // Callers come first.
        let mut stacks: Vec<u32> = Vec::with_capacity(graph.parent.len());
        for (parent, frame) in graph.parent.iter().zip(&graph.node_frame) {
            let around = if *parent == ROOT { ROOT } else { stacks[*parent as usize] };
            stacks.push(samples.stack(around, ids[*frame as usize]));
        }
        pause().await;
        for own in &graph.own {
            let stack = if own.node == ROOT { ROOT } else { stacks[own.node as usize] };
            let thread = threads.get(own.thread as usize).copied().unwrap_or(0);
            samples.add(stack, thread, at as u32, own.weight);
        }
        pause().await;
    }
    samples.sort();
    let thread_key = texts.get("thread");
    let (mut n_rounded, mut n_too_large, mut n_large) = (0u64, 0u64, 0u64);
    let (mut message, mut packed, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (number, (stack, thread, weights)) in samples.in_order().enumerate() {
        if number % SAMPLES_A_STEP == 0 {
            pause().await;
        }
        message.clear();
        packed.clear();
        // From the last call.
        let mut node = stack;
        while let Some((parent, location)) = samples.stacks.get(node as usize) {
            push_varint(*location, &mut packed);
            node = *parent;
        }
        message.bytes(1, &packed);
        values.clear();
        values.resize(graphs.len(), 0.0);
        for of in weights {
            values[of.graph as usize] += of.weight;
        }
        packed.clear();
        for weight in &values {
            n_rounded += u64::from(weight.fract() != 0.0);
            let is_too_large = *weight >= i64::MAX as f64 || *weight < i64::MIN as f64;
            n_too_large += u64::from(is_too_large);
            n_large += u64::from(!is_too_large && may_be_rounded(*weight));
            push_varint(weight.round() as i64 as u64, &mut packed);
        }
        message.bytes(2, &packed);
        if thread != 0 {
            let mut label = Vec::new();
            push_number(1, thread_key, &mut label);
            push_number(2, thread, &mut label);
            message.bytes(3, &label);
        }
        whole.bytes(fields::SAMPLE, &message);
        if whole.len() > 1 << 18 {
            out.write_all(&whole)?;
            whole.clear();
        }
    }
    places.write(&mut whole);
    for text in &texts.list {
        whole.bytes(fields::STRING, text.as_bytes());
    }
    out.write_all(&whole)?;
    out.finish()?;
    if n_rounded > 0 {
        left_out.push(format!("fractions of {}", counted(n_rounded, "weight", "weights")));
    }
    if n_too_large > 0 {
        let weights = counted(n_too_large, "weight", "weights");
        left_out.push(format!("the part of {weights} beyond 64 bits"));
    }
    left_out.extend(last_digits_of(n_large));
    if flame::lacks_slices(input.run) {
        left_out.push("slices by thread".to_string());
    }
    Ok(LeftOut(left_out))
}

/// Appends what is known of the recording: when it began, how long it took, and the period of the profiler. Returns what is left out.
/// Only one file has these numbers: several have them each.
fn push_facts(run: &Run, texts: &mut Texts, out: &mut Vec<u8>) -> Vec<String> {
    let mut left_out = Vec::new();
    let facts = |trace: &Trace| match trace.source.format {
        "pprof" => trace.source.metadata.clone(),
        _ => Vec::new(),
    };
    let all: Vec<(String, String)> = run.traces.iter().flat_map(facts).collect();
    let fact = |name: &str| all.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let number = |name: &str| fact(name).and_then(|value| value.parse::<i64>().ok());
    if let [trace] = run.traces.as_slice() {
        let duration = number(pprof_facts::DURATION).or_else(|| flame::recorded_ns(trace));
        for (field, value) in [
            (fields::TIME_NANOS, number(pprof_facts::TIME)),
            (fields::DURATION_NANOS, duration),
            (fields::PERIOD, number(pprof_facts::PERIOD)),
        ] {
            push_number(field, value.unwrap_or(0) as u64, out);
        }
        if let Some((name, unit)) = fact(pprof_facts::PERIOD_TYPE).and_then(pprof_facts::name_and_unit) {
            out.bytes(fields::PERIOD_TYPE, &value_type(texts.get(name), texts.get(unit)));
        }
    } else if [pprof_facts::TIME, pprof_facts::DURATION, pprof_facts::PERIOD]
        .into_iter()
        .any(|name| fact(name).is_some())
    {
        left_out.push("time, duration and period of each file".to_string());
    }
    let labels = all.iter().filter(|(name, _)| name == pprof_facts::LABELS);
    left_out.extend(labels.map(|(_, keys)| format!("labels of samples: {keys}")));
    let is_foreign =
        |(name, text): &&(String, String)| name == pprof_facts::COMMENT && !text.starts_with(OWN_COMMENT);
    let n_comments = all.iter().filter(is_foreign).count() as u64;
    if n_comments > 0 {
        left_out.push(counted(n_comments, "comment", "comments"));
    }
    left_out
}

/// Weight of a sample in a graph.
#[derive(Clone, Copy)]
struct OfGraph {
    /// Index into [`Samples::rows`].
    row: u32,
    graph: u32,
    weight: f64,
}

/// The samples of all graphs, one for each stack of a thread.
#[derive(Default)]
struct Samples {
    /// By stack: the stack of its callers, or [`ROOT`], and the location of its last call.
    stacks: Vec<(u32, u64)>,
    by_call: HashMap<(u32, u64), u32>,
    /// Stack, or [`ROOT`] without one, and text of the thread.
    rows: Vec<(u32, u64)>,
    by_row: HashMap<(u32, u64), u32>,
    weights: Vec<OfGraph>,
}

impl Samples {
    /// The stack of a call in the stack around it.
    fn stack(&mut self, around: u32, location: u64) -> u32 {
        let next = self.stacks.len() as u32;
        let stack = *self.by_call.entry((around, location)).or_insert(next);
        if stack == next {
            self.stacks.push((around, location));
        }
        stack
    }

    fn add(&mut self, stack: u32, thread: u64, graph: u32, weight: f64) {
        let next = self.rows.len() as u32;
        let row = *self.by_row.entry((stack, thread)).or_insert(next);
        if row == next {
            self.rows.push((stack, thread));
        }
        self.weights.push(OfGraph { row, graph, weight });
    }

    /// Puts the weights of a sample next to each other.
    fn sort(&mut self) {
        sort::by_key(&mut self.weights, |of| (of.row, of.graph));
    }

    /// Stack, thread and weights of each sample, once they are sorted.
    fn in_order(&self) -> impl Iterator<Item = (u32, u64, &[OfGraph])> {
        let groups = self.weights.chunk_by(|a, b| a.row == b.row);
        self.rows.iter().zip(groups).map(|((stack, thread), weights)| (*stack, *thread, weights))
    }
}

/// Functions and locations, numbered from 1.
#[derive(Default)]
struct Places {
    /// By name and file.
    functions: HashMap<(u64, u64), u64>,
    /// By function and line.
    locations: HashMap<(u64, u64), u64>,
    messages: Vec<u8>,
}

impl Places {
    fn get(&mut self, graph: &StackGraph, frame: &GraphFrame, texts: &mut Texts) -> u64 {
        let name = texts.get(graph.text(frame.name));
        let file = if frame.file == NO_TEXT { frame.module } else { frame.file };
        let file = texts.get(graph.text(file));
        let next = self.functions.len() as u64 + 1;
        let function = *self.functions.entry((name, file)).or_insert(next);
        if function == next {
            let mut message = Vec::new();
            push_number(1, function, &mut message);
            push_number(2, name, &mut message);
            push_number(3, name, &mut message);
            push_number(4, file, &mut message);
            self.messages.bytes(fields::FUNCTION, &message);
        }
        let line = if frame.line == NO_LINE { 0 } else { frame.line.max(0) as u64 };
        let next = self.locations.len() as u64 + 1;
        let location = *self.locations.entry((function, line)).or_insert(next);
        if location == next {
            let mut of_line = Vec::new();
            push_number(1, function, &mut of_line);
            push_number(2, line, &mut of_line);
            let mut message = Vec::new();
            push_number(1, location, &mut message);
            message.bytes(4, &of_line);
            self.messages.bytes(fields::LOCATION, &message);
        }
        location
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.messages);
    }
}

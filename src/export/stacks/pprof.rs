//! pprof's profile: a protocol buffer in gzip, which `go tool pprof`, Pyroscope, Grafana and Polar Signals read.
//!
//! The graphs of the flame graph are its kinds of samples, the first one the default: a stack has a value for its own graph and 0
//! for the others. Frames are locations without addresses, each with a function; a sample without a stack has none. Threads are
//! labels.

use super::{is_whole, last_digits_of, may_be_rounded};
use crate::analysis::flame;
use crate::analysis::{Context, Query};
use crate::base::hash::HashMap;
use crate::base::protobuf::{PushFields, push_varint};
use crate::base::steps::{Steps, pause};
use crate::base::units::{Unit, counted};
use crate::export::{ExporterInfo, Input, LeftOut, TextsIn, WriteFn};
use crate::stacks::graph::{GraphFrame, NO_LINE, NO_TEXT, ROOT, StackGraph};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "pprof",
    title: "pprof",
    extension: "pb.gz",
    media_type: "application/octet-stream",
    in_menu: true,
    needs: "stacks",
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

/// Samples per step.
const SAMPLES_A_STEP: usize = 4096;

/// Field numbers of `Profile`.
mod fields {
    pub const SAMPLE_TYPE: u64 = 1;
    pub const SAMPLE: u64 = 2;
    pub const LOCATION: u64 = 4;
    pub const FUNCTION: u64 = 5;
    pub const STRING: u64 = 6;
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

/// What the format calls a unit.
fn unit_of(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "nanoseconds",
        Unit::Bytes => "bytes",
        _ => "count",
    }
}

async fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<LeftOut> {
    let query = Query::default();
    let graphs = flame::whole_graphs(&Context::new(input.run, &query));
    pause().await;
    let mut out = GzEncoder::new(out, Compression::default());
    let mut texts = Texts::new();
    let mut message = Vec::new();
    let mut whole = Vec::new();
    for (at, graph) in graphs.iter().enumerate() {
        message.clear();
        let name = texts.get(graph.title.trim_start_matches("Stacks by "));
        if at == 0 {
            // Without it, readers open the last one.
            push_number(fields::DEFAULT_SAMPLE_TYPE, name, &mut whole);
        }
        push_number(1, name, &mut message);
        push_number(2, texts.get(unit_of(graph.unit)), &mut message);
        whole.bytes(fields::SAMPLE_TYPE, &message);
    }
    push_number(fields::COMMENT, texts.get(concat!("Tracedrop ", env!("CARGO_PKG_VERSION"))), &mut whole);
    let mut places = Places::default();
    let (mut n_rounded, mut n_too_large, mut n_large) = (0u64, 0u64, 0u64);
    for (at, graph) in graphs.iter().enumerate() {
        // Location of each frame.
        let ids: Vec<u64> = graph.frames.iter().map(|frame| places.get(graph, frame, &mut texts)).collect();
        let thread_key = texts.get("thread");
        let threads: Vec<u64> = graph.threads.iter().map(|name| texts.get(name)).collect();
        for (number, own) in graph.own.iter().enumerate() {
            if number % SAMPLES_A_STEP == 0 {
                pause().await;
            }
            n_rounded += u64::from(own.weight.fract() != 0.0);
            let is_too_large = own.weight >= i64::MAX as f64 || own.weight < i64::MIN as f64;
            n_too_large += u64::from(is_too_large);
            n_large += u64::from(!is_too_large && may_be_rounded(own.weight));
            message.clear();
            let mut packed = Vec::new();
            let mut node = own.node;
            // From the last call.
            while node != ROOT {
                push_varint(ids[graph.node_frame[node as usize] as usize], &mut packed);
                node = graph.parent[node as usize];
            }
            message.bytes(1, &packed);
            packed.clear();
            for other in 0..graphs.len() {
                let value = if other == at { own.weight.round() as i64 } else { 0 };
                push_varint(value as u64, &mut packed);
            }
            message.bytes(2, &packed);
            if let Some(thread) = threads.get(own.thread as usize).filter(|_| threads.len() > 1) {
                let mut label = Vec::new();
                push_number(1, thread_key, &mut label);
                push_number(2, *thread, &mut label);
                message.bytes(3, &label);
            }
            whole.bytes(fields::SAMPLE, &message);
            if whole.len() > 1 << 18 {
                out.write_all(&whole)?;
                whole.clear();
            }
        }
    }
    places.write(&mut whole);
    for text in &texts.list {
        whole.bytes(fields::STRING, text.as_bytes());
    }
    out.write_all(&whole)?;
    out.finish()?;
    let mut left_out = LeftOut::default();
    if n_rounded > 0 {
        left_out.0.push(format!("fractions of {}", counted(n_rounded, "weight", "weights")));
    }
    if n_too_large > 0 {
        let weights = counted(n_too_large, "weight", "weights");
        left_out.0.push(format!("the part of {weights} beyond 64 bits"));
    }
    left_out.0.extend(last_digits_of(n_large));
    if flame::lacks_slices(input.run) {
        left_out.0.push("slices by thread".to_string());
    }
    Ok(left_out)
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

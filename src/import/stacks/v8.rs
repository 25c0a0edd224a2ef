//! V8's profiles: `.cpuprofile` (samples with times, over a tree of nodes) and `.heapprofile` (live bytes, a tree).
//!
//! Lines and columns count from 0 there, and say where a function begins.

use super::issues::*;
use super::json::{Document, JsonReader, Shape, Texts, amount, skip_sample};
use super::{Below, MISSING, StackRows, note, push_sample};
use crate::base::hash::HashMap;
use crate::base::json::tape::Item;
use crate::base::strings::StringId;
use crate::import::{Confidence, FormatInfo, ImportError};
use crate::trace::TraceBuilder;
use crate::trace::samples::{Frame, NO_LINE, StackId};
use crate::trace::stack_profiles::{Amount, StackProfile};

pub static CPU: FormatInfo = FormatInfo {
    id: "cpuprofile",
    title: "V8 CPU profile (.cpuprofile)",
    producers: "Chrome DevTools, Node.js, Deno, VS Code",
    extensions: &["cpuprofile", "json"],
    sniff: sniff_cpu,
    reader: || Box::new(JsonReader::new(build_cpu)),
    parts: None,
    has_events: true,
    issues: super::issues::ALL,
};

pub static HEAP: FormatInfo = FormatInfo {
    id: "heapprofile",
    title: "V8 heap profile (.heapprofile)",
    producers: "Chrome DevTools, Node.js",
    extensions: &["heapprofile", "json"],
    sniff: sniff_heap,
    reader: || Box::new(JsonReader::new(build_heap)),
    parts: None,
    has_events: false,
    issues: super::issues::ALL,
};

fn sniff_cpu(head: &[u8]) -> Confidence {
    let Some(shape) = Shape::of(head) else { return Confidence::No };
    let has_samples = ["samples", "timeDeltas", "startTime"].into_iter().any(|key| shape.has(key));
    match () {
        () if shape.has("nodes") && shape.mentions("\"callFrame\"") => Confidence::Certain,
        () if shape.has("nodes") && has_samples => Confidence::Likely,
        () if is_heap(&shape) => Confidence::No,
        () if shape.has_in("head", "functionName") || shape.has("head") && shape.mentions("\"hitCount\"") => {
            Confidence::Certain
        }
        () => Confidence::No,
    }
}

fn is_heap(shape: &Shape) -> bool {
    shape.has("head") && shape.mentions("\"selfSize\"")
}

fn sniff_heap(head: &[u8]) -> Confidence {
    match Shape::of(head) {
        Some(shape) if is_heap(&shape) => Confidence::Certain,
        _ => Confidence::No,
    }
}

/// Frames of nodes by what describes them.
struct CallFrames<'a> {
    texts: &'a mut Texts,
    missing: StringId,
    v8: StringId,
    /// Lines and columns of the file start at this.
    first_line: i64,
}

/// Name of the node around all others, which is no frame.
const ROOT: &str = "(root)";

impl<'a> CallFrames<'a> {
    fn new(texts: &'a mut Texts, first_line: i64, out: &mut TraceBuilder) -> CallFrames<'a> {
        let strings = &mut out.trace.strings;
        CallFrames { texts, missing: strings.intern(MISSING), v8: strings.intern("V8"), first_line }
    }

    fn missing(&self) -> Frame {
        Frame::named(self.missing)
    }

    fn get(&mut self, call_frame: Option<Item<'_>>, out: &mut TraceBuilder) -> Frame {
        let Some(item) = call_frame.filter(|item| item.is_object()) else { return self.missing() };
        let name = item.get("functionName").and_then(Item::text).unwrap_or_default();
        let url = item.get("url").and_then(Item::text).unwrap_or_default();
        let number = |key: &str| {
            let number = item.get(key).and_then(Item::whole).filter(|number| *number >= self.first_line);
            number.map_or(NO_LINE, |number| number.saturating_add(1 - self.first_line))
        };
        let line = number("lineNumber");
        let file = if url.is_empty() { StringId::NONE } else { self.texts.id(item.get("url"), out) };
        let is_special = url.is_empty() && name.starts_with('(');
        let name = match name {
            "" if url.is_empty() => out.trace.strings.intern("(anonymous)"),
            "" => {
                let file = url.rsplit(['/', '\\']).next().unwrap_or(url);
                let place = if line == NO_LINE { file.to_string() } else { format!("{file}:{line}") };
                out.trace.strings.intern(&format!("(anonymous {place})"))
            }
            _ => self.texts.id(item.get("functionName"), out),
        };
        let category = if is_special { self.v8 } else { StringId::NONE };
        Frame { file, line, column: number("columnNumber"), category, ..Frame::named(name) }
    }
}

/// A node of the tree of a CPU profile.
struct Node {
    id: i64,
    frame: Frame,
    is_root: bool,
    hits: Option<Amount>,
}

/// Nodes, and what each is below of.
#[derive(Default)]
struct Nodes {
    nodes: Vec<Node>,
    by_id: HashMap<i64, usize>,
    /// Parent and child ids.
    children: Vec<(usize, i64)>,
    parents: Vec<Option<i64>>,
}

impl Nodes {
    fn add(&mut self, node: Node, parent: Option<i64>, out: &mut TraceBuilder) -> usize {
        let number = self.nodes.len();
        if self.by_id.insert(node.id, number).is_some() {
            note(out, &DUPLICATE_ID, &node.id.to_string());
        }
        self.nodes.push(node);
        self.parents.push(parent);
        number
    }

    /// Nodes with hits, and these; of nodes with the same id, the last one counts.
    fn hits(&self) -> impl Iterator<Item = (usize, Amount)> {
        let last = self.nodes.iter().enumerate().filter(|(row, node)| self.by_id.get(&node.id) == Some(row));
        last.filter_map(|(row, node)| Some((row, node.hits.filter(|hits| *hits != Amount::ZERO)?)))
    }

    /// What each node is on top of.
    fn below(&self, out: &mut TraceBuilder) -> Vec<Below> {
        let mut below = vec![Below::Nothing; self.nodes.len()];
        for (node, parent) in self.parents.iter().enumerate() {
            if let Some(parent) = parent {
                below[node] = self.by_id.get(parent).map_or(Below::Missing, |parent| Below::Row(*parent));
            }
        }
        for (parent, child) in &self.children {
            let Some(child) = self.by_id.get(child) else {
                note(out, &DANGLING_ID, &child.to_string());
                continue;
            };
            match below[*child] {
                Below::Nothing => below[*child] = Below::Row(*parent),
                Below::Row(other) if other == *parent => {}
                _ => note(out, &TWO_PARENTS, ""),
            }
        }
        below
    }
}

fn build_cpu(mut document: Document<'_>, out: &mut TraceBuilder) -> Result<(), ImportError> {
    let root = document.root;
    let is_tree = root.get("nodes").is_none() && root.get("head").is_some();
    let mut nodes = Nodes::default();
    match is_tree {
        true => read_tree(root, &mut document.texts, &mut nodes, out),
        false => read_nodes(root, &mut document.texts, &mut nodes, out),
    }
    let mut rows = StackRows::new(nodes.below(out));
    let mut frame_of = |row: usize, _: &mut TraceBuilder| {
        let node = nodes.nodes.get(row)?;
        (!node.is_root).then_some(node.frame)
    };
    let mut stack_of = |row: usize, out: &mut TraceBuilder| {
        let stack = rows.stack(row, &mut frame_of, out);
        match &nodes.nodes[row] {
            node if node.is_root => out.stack(StackId::NONE, node.frame),
            _ => stack,
        }
    };
    let mut profile = StackProfile::new(StringId::NONE);
    profile.kind = out.trace.strings.intern("cpuprofile");
    let samples = root.get("samples");
    let n_samples = samples.into_iter().flat_map(Item::items).count();
    let hits: Vec<(usize, Amount)> = if n_samples == 0 { nodes.hits().collect() } else { Vec::new() };
    if !hits.is_empty() {
        note(out, &NO_SAMPLES, "");
        profile.unit = out.trace.strings.intern("samples");
        for (row, hits) in hits {
            let stack = stack_of(row, out);
            push_sample(&mut profile, stack, hits, out);
        }
        out.trace.stack_profiles.push(profile);
        return Ok(());
    }
    profile.unit = out.trace.strings.intern("microseconds");
    let clock =
        if is_tree { clock_of_tree(root, n_samples, out) } else { clock_of_nodes(root, n_samples, out) };
    let missing = Frame::named(out.trace.strings.intern(MISSING));
    for (sample, number) in samples.into_iter().flat_map(Item::items).zip(0..clock.n_samples) {
        let stack = match sample.whole() {
            Some(id) => match nodes.by_id.get(&id) {
                Some(row) => stack_of(*row, out),
                None => {
                    note(out, &DANGLING_ID, &id.to_string());
                    out.stack(StackId::NONE, missing)
                }
            },
            None => {
                note(out, &IGNORED_VALUE, "a sample");
                StackId::NONE
            }
        };
        push_sample(&mut profile, stack, clock.weight(number), out);
        if let Some(time) = clock.time(number) {
            profile.time.push(time);
        }
    }
    if clock.is_timed() {
        profile.time_unit = profile.unit;
    } else {
        profile.unit = out.trace.strings.intern("samples");
    }
    profile.span = clock.span;
    out.trace.stack_profiles.push(profile);
    Ok(())
}

/// The form of today: a list of nodes.
fn read_nodes(root: Item<'_>, texts: &mut Texts, nodes: &mut Nodes, out: &mut TraceBuilder) {
    let mut frames = CallFrames::new(texts, 0, out);
    for item in root.get("nodes").into_iter().flat_map(Item::items) {
        let Some(id) = item.get("id").and_then(Item::whole) else {
            note(out, &BAD_VALUE, "a node");
            continue;
        };
        let call_frame = item.get("callFrame");
        let frame = frames.get(call_frame, out);
        let is_root =
            call_frame.and_then(|frame| frame.get("functionName")).and_then(Item::text) == Some(ROOT);
        let node = Node { id, frame, is_root, hits: item.get("hitCount").and_then(amount) };
        let number = nodes.add(node, item.get("parent").and_then(Item::whole), out);
        for child in item.get("children").into_iter().flat_map(Item::items) {
            match child.whole() {
                Some(child) => nodes.children.push((number, child)),
                None => note(out, &IGNORED_VALUE, "a child of a node"),
            }
        }
    }
}

/// The form of v8-profiler: a tree of objects, with lines from 1.
fn read_tree(root: Item<'_>, texts: &mut Texts, nodes: &mut Nodes, out: &mut TraceBuilder) {
    let mut frames = CallFrames::new(texts, 1, out);
    let mut left: Vec<(Item<'_>, Option<i64>)> =
        root.get("head").map(|head| (head, None)).into_iter().collect();
    while let Some((item, parent)) = left.pop() {
        let Some(id) = item.get("id").and_then(Item::whole) else {
            note(out, &BAD_VALUE, "a node");
            continue;
        };
        let is_root = item.get("functionName").and_then(Item::text) == Some(ROOT);
        let frame = frames.get(Some(item), out);
        let hits = item.get("hitCount").and_then(amount);
        nodes.add(Node { id, frame, is_root, hits }, parent, out);
        let first = left.len();
        left.extend(item.get("children").into_iter().flat_map(Item::items).map(|child| (child, Some(id))));
        left[first..].reverse();
    }
}

/// When samples were taken.
#[derive(Default)]
struct Clock {
    n_samples: usize,
    times: Vec<Amount>,
    /// How long the last sample lasted; of all samples, if there are no times.
    last: Amount,
    span: Option<(Amount, Amount)>,
}

impl Clock {
    fn is_timed(&self) -> bool {
        self.n_samples == 0 || !self.times.is_empty()
    }

    fn time(&self, sample: usize) -> Option<Amount> {
        self.times.get(sample).copied()
    }

    fn weight(&self, sample: usize) -> Amount {
        match (self.times.get(sample), self.times.get(sample + 1)) {
            (Some(time), Some(next)) if sample + 1 < self.n_samples => next.minus(*time),
            _ => self.last,
        }
    }

    /// Completes a clock whose times are known, with the file's own end.
    fn ended(mut self, start: Option<Amount>, end: Option<Amount>, out: &mut TraceBuilder) -> Clock {
        self.n_samples = self.n_samples.min(self.times.len());
        self.times.truncate(self.n_samples);
        let (Some(first), Some(last)) = (self.times.first().copied(), self.times.last().copied()) else {
            self.span = start.zip(end);
            return self;
        };
        let end = end.filter(|end| {
            let is_after = *end >= last;
            if !is_after {
                note(out, &END_BEFORE_LAST, &end.to_string());
            }
            is_after
        });
        self.last = match end {
            Some(end) => end.minus(last),
            None => divided(last.minus(first), self.n_samples.saturating_sub(1)),
        };
        self.span = Some((start.unwrap_or(first), end.unwrap_or(last)));
        self
    }
}

/// A part of an amount, as far as decimal places go.
fn divided(amount: Amount, n: usize) -> Amount {
    const PLACES: u8 = 12;
    let digits = amount.at(PLACES.max(amount.places));
    let places = PLACES.max(amount.places);
    match digits {
        Some(digits) if n > 0 => {
            Amount::with_exponent(digits / n as i128, -i32::from(places)).unwrap_or_default()
        }
        _ => Amount::ZERO,
    }
}

fn clock_of_nodes(root: Item<'_>, n_samples: usize, out: &mut TraceBuilder) -> Clock {
    let number = |key: &str| root.get(key).and_then(amount);
    let (start, end) = (number("startTime"), number("endTime"));
    let deltas = root.get("timeDeltas").filter(|deltas| deltas.is_array());
    let n_deltas = deltas.into_iter().flat_map(Item::items).count();
    let mut clock = Clock { n_samples, ..Clock::default() };
    if n_deltas == 0 && n_samples > 0 {
        let Some((start, end)) = start.zip(end).filter(|(start, end)| end >= start) else {
            note(out, &COUNTED, "");
            clock.last = Amount::ONE;
            return clock;
        };
        note(out, &NO_TIMES, "");
        let each = divided(end.minus(start), n_samples);
        let mut at = start;
        for _ in 0..n_samples {
            clock.times.push(at);
            at = at.plus(each);
        }
        return clock.ended(Some(start), Some(end), out);
    }
    if n_deltas != n_samples && n_deltas != n_samples + 1 {
        note(out, &LENGTH_MISMATCH, "samples and timeDeltas");
    }
    let mut sum = start.unwrap_or_default();
    let mut latest = sum;
    let mut closing = None;
    for (delta, number) in deltas.into_iter().flat_map(Item::items).zip(0..=n_samples) {
        match amount(delta) {
            Some(delta) => {
                if delta.is_negative() {
                    note(out, &NON_MONOTONIC, &delta.to_string());
                }
                sum = sum.plus(delta);
            }
            None => note(out, &BAD_TIME, ""),
        }
        latest = latest.max(sum);
        if number < n_samples { clock.times.push(latest) } else { closing = Some(latest) }
    }
    let mut clock = clock.ended(start, closing.or(end), out);
    // The file's own end is what it says, also where one more interval ended the last sample.
    if let (Some((_, at)), Some(end)) = (&mut clock.span, end) {
        *at = end.max(*at);
    }
    clock
}

fn clock_of_tree(root: Item<'_>, n_samples: usize, out: &mut TraceBuilder) -> Clock {
    let mut clock = Clock { n_samples, ..Clock::default() };
    let mut n_times = 0;
    for time in root.get("timestamps").into_iter().flat_map(Item::items) {
        n_times += 1;
        let last = clock.times.last().copied();
        match amount(time) {
            Some(time) => {
                if last.is_some_and(|last| time < last) {
                    note(out, &NON_MONOTONIC, &time.to_string());
                }
                clock.times.push(last.map_or(time, |last| last.max(time)));
            }
            None => {
                note(out, &BAD_TIME, "");
                clock.times.push(last.unwrap_or_default());
            }
        }
    }
    if n_times == 0 && n_samples > 0 {
        note(out, &COUNTED, "");
        clock.last = Amount::ONE;
        return clock;
    }
    if n_times != n_samples && n_times != n_samples + 1 {
        note(out, &LENGTH_MISMATCH, "samples and timestamps");
    }
    // Whole seconds here, so only an end that is late enough says something.
    let micros = |seconds: Amount| Amount::with_exponent(seconds.digits, 6 - i32::from(seconds.places));
    let last = clock.times[..n_samples.min(n_times)].last().copied();
    let closing = clock.times.get(n_samples).copied();
    let end = root.get("endTime").and_then(amount).and_then(micros).filter(|end| Some(*end) >= last);
    clock.ended(None, closing.or(end), out)
}

fn build_heap(mut document: Document<'_>, out: &mut TraceBuilder) -> Result<(), ImportError> {
    let mut frames = CallFrames::new(&mut document.texts, 0, out);
    let mut profile = StackProfile::new(out.trace.strings.intern("bytes"));
    profile.kind = out.trace.strings.intern("heapprofile");
    let head = document.root.get("head");
    let mut left: Vec<(Item<'_>, StackId)> = head.map(|head| (head, StackId::NONE)).into_iter().collect();
    while let Some((item, below)) = left.pop() {
        if !item.is_object() {
            skip_sample(out, "a node");
            continue;
        }
        let call_frame = item.get("callFrame");
        let frame = frames.get(call_frame, out);
        let stack = out.stack(below, frame);
        match item.get("selfSize").and_then(amount) {
            Some(Amount::ZERO) => {}
            Some(size) => push_sample(&mut profile, stack, size, out),
            None => skip_sample(out, "a node"),
        }
        let name = call_frame.and_then(|frame| frame.get("functionName")).and_then(Item::text);
        let below = if name == Some(ROOT) && below == StackId::NONE { StackId::NONE } else { stack };
        let first = left.len();
        left.extend(item.get("children").into_iter().flat_map(Item::items).map(|child| (child, below)));
        left[first..].reverse();
    }
    out.trace.stack_profiles.push(profile);
    Ok(())
}

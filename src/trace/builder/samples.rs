//! Stack samples: named frames with parents, profiles in chunks, and separate sample lists.

use super::TraceBuilder;
use super::issues::{PROFILE_NODE, PROFILE_SAMPLE, PROFILE_START, UNKNOWN_FRAME};
use super::members::{as_string, find_member, for_each_element, for_each_member, number_text};
use super::pairing::Walk;
use crate::base::children::ChildIndex;
use crate::base::hash::HashMap;
use crate::base::json::{Number, unescape_to_string};
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::time::parse_ns;
use crate::trace::Trace;
use crate::trace::args::ArgsPlace;
use crate::trace::events::{EventKey, NamedFrame};
use crate::trace::ledger::Position;
use crate::trace::samples::{Frame, FrameId, StackId};
use crate::trace::tracks::{Key, ProcessId, ThreadId};

/// Interned frames and stacks.
#[derive(Clone, Default)]
pub struct StackInterner {
    frames: HashMap<Frame, FrameId>,
    stacks: ChildIndex,
    by_frame_name: HashMap<StringId, StackId>,
}

impl StackInterner {
    /// Stack of a frame on top of `below`.
    fn stack(&mut self, trace: &mut Trace, below: StackId, name: StringId, module: StringId) -> StackId {
        self.stack_of(trace, below, Frame { module, ..Frame::named(name) })
    }

    fn stack_of(&mut self, trace: &mut Trace, below: StackId, frame: Frame) -> StackId {
        let frame = self.frame(trace, frame);
        self.stack_on(trace, below, frame)
    }

    fn frame(&mut self, trace: &mut Trace, frame: Frame) -> FrameId {
        *self.frames.entry(frame).or_insert_with(|| trace.frames.push(frame))
    }

    fn stack_on(&mut self, trace: &mut Trace, StackId(below): StackId, frame: FrameId) -> StackId {
        let next = trace.stacks.len() as u32;
        let stack = self.stacks.child(below, frame.0, next);
        if stack == next {
            trace.stacks.frame.push(frame);
            trace.stacks.parent.push(StackId(below));
        }
        StackId(stack)
    }
}

impl TraceBuilder {
    /// Stack of `frame` on top of `below`, added if new.
    pub fn stack(&mut self, below: StackId, frame: Frame) -> StackId {
        self.interner.stack_of(&mut self.trace, below, frame)
    }

    /// Number of a frame, added if new.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        self.interner.frame(&mut self.trace, frame)
    }

    /// [`TraceBuilder::stack`] with the number of the frame.
    pub fn stack_on(&mut self, below: StackId, frame: FrameId) -> StackId {
        self.interner.stack_on(&mut self.trace, below, frame)
    }
}

/// Adds the frames of a raw `stackFrames` object.
pub fn add_named_frames(builder: &mut TraceBuilder, raw: &[u8]) {
    let mut frames: Vec<(String, &[u8])> = Vec::new();
    for_each_member(raw, |key, value| frames.push((unescape_to_string(key), value)));
    for (id, value) in frames {
        add_named_frame(builder, &id, value);
    }
}

/// Adds one frame: its id and raw object with `name`, `category` and `parent`.
pub fn add_named_frame(builder: &mut TraceBuilder, id: &str, raw: &[u8]) {
    let strings = &mut builder.trace.strings;
    let mut frame = NamedFrame { name: StringId::EMPTY, module: StringId::NONE, parent: StringId::NONE };
    for_each_member(raw, |key, value| {
        let text = match as_string(value) {
            Some(text) => unescape_to_string(text),
            None if key.bytes == b"parent" && Number::as_f64(value).is_some() => {
                String::from_utf8_lossy(value).into_owned()
            }
            None => return,
        };
        match key.bytes {
            b"name" => frame.name = strings.intern(&text),
            b"category" => frame.module = strings.intern(&text),
            b"parent" => frame.parent = strings.intern(&text),
            _ => {}
        }
    });
    let id = strings.intern(id);
    builder.named_frames.insert(id, frame);
}

/// Stack that ends with the frame of this name; [`StackId::NONE`] if there is none.
pub(super) fn stack_of_frame(builder: &mut TraceBuilder, frame: StringId) -> StackId {
    let mut chain = Vec::new();
    let mut below = StackId::NONE;
    let mut id = frame;
    while !id.is_none() {
        if let Some(known) = builder.interner.by_frame_name.get(&id) {
            below = *known;
            break;
        }
        let Some(named) = builder.named_frames.get(&id).copied() else { break };
        // A cycle of parents ends here with a root.
        builder.interner.by_frame_name.insert(id, StackId::NONE);
        chain.push((id, named));
        id = named.parent;
    }
    for (id, named) in chain.into_iter().rev() {
        below = builder.interner.stack(&mut builder.trace, below, named.name, named.module);
        builder.interner.by_frame_name.insert(id, below);
    }
    below
}

/// Stack of a raw array of frames, leaf first.
pub(super) fn stack_of_list(builder: &mut TraceBuilder, list: ArgsPlace) -> StackId {
    let mut names = Vec::new();
    if let Some(raw) = builder.trace.args.kept(list) {
        for_each_element(&raw, |value| {
            names.push(match as_string(value) {
                Some(text) => unescape_to_string(text),
                None => String::from_utf8_lossy(value).into_owned(),
            });
        });
    }
    let mut below = StackId::NONE;
    for name in names.iter().rev() {
        let name = builder.trace.strings.intern(name);
        below = builder.interner.stack(&mut builder.trace, below, name, StringId::NONE);
    }
    below
}

/// Profile that comes in chunks.
struct Profile {
    thread: ThreadId,
    /// Time of the last sample.
    ts: i64,
    nodes: HashMap<i64, StackId>,
    /// Parents by child, in the legacy form.
    parents: HashMap<i64, i64>,
}

#[derive(Default)]
pub(super) struct Sampler {
    profiles: HashMap<(ProcessId, EventKey), Profile>,
}

impl Sampler {
    /// Handles `P`: one sample, or a part of a profile.
    pub fn event(&mut self, walk: &mut Walk<'_>, i: u32) {
        let name = walk.event(i).name;
        let id = walk.events.id_of(i).key;
        let text = walk.builder.trace.strings.get(name);
        if id != EventKey::None && (text == "Profile" || text == "ProfileChunk") {
            let is_start = text == "Profile";
            let raw = walk.builder.trace.args.kept(walk.place(i).args()).unwrap_or_default().into_owned();
            let data = find_member(&raw, "data").unwrap_or_default();
            let key = (walk.process_of(i), id);
            return if is_start { self.start(walk, i, key, data) } else { self.chunk(walk, i, key, data) };
        }
        let (frame, list) = walk
            .events
            .extra_of(i)
            .map_or((StringId::NONE, ArgsPlace::NONE), |extra| (extra.start_frame, extra.stack));
        let stack = if list.is_none() {
            stack_of_frame(walk.builder, frame)
        } else {
            stack_of_list(walk.builder, list)
        };
        if !frame.is_none() && stack == StackId::NONE {
            walk.note(i, &UNKNOWN_FRAME);
        }
        let (ts, thread) = (walk.event(i).ts, walk.event(i).thread);
        push(walk.trace(), ts, thread, stack, 1.0, name);
    }

    fn start(&mut self, walk: &mut Walk<'_>, i: u32, key: (ProcessId, EventKey), data: &[u8]) {
        let start = find_member(data, "startTime").and_then(|raw| parse_ns(number_text(raw), 6));
        let ts = start.unwrap_or(walk.event(i).ts);
        let thread = walk.event(i).thread;
        let (nodes, parents) = (HashMap::default(), HashMap::default());
        self.profiles.insert(key, Profile { thread, ts, nodes, parents });
        self.chunk(walk, i, key, data);
    }

    fn chunk(&mut self, walk: &mut Walk<'_>, i: u32, key: (ProcessId, EventKey), data: &[u8]) {
        let Some(profile) = self.profiles.get_mut(&key) else {
            return walk.drop_event(i, &PROFILE_START);
        };
        let cpu_profile = find_member(data, "cpuProfile").unwrap_or(b"");
        let (mut n_lost_nodes, mut n_lost_samples) = (0, 0);
        if let Some(nodes) = find_member(cpu_profile, "nodes") {
            for_each_element(nodes, |node| n_lost_nodes += u32::from(!profile.add_node(walk.builder, node)));
        }
        let mut samples = Vec::new();
        if let Some(list) = find_member(cpu_profile, "samples") {
            for_each_element(list, |sample| samples.push(Number::as_i64(number_text(sample))));
        }
        let mut deltas = Vec::new();
        let list = find_member(data, "timeDeltas").or_else(|| find_member(cpu_profile, "timeDeltas"));
        if let Some(list) = list {
            for_each_element(list, |delta| deltas.push(parse_ns(number_text(delta), 6).unwrap_or(0)));
        }
        let thread = profile.thread;
        for (sample, delta) in samples.iter().zip(deltas.iter().chain(std::iter::repeat(&0))) {
            profile.ts = profile.ts.saturating_add(*delta);
            match sample.and_then(|node| profile.nodes.get(&node)) {
                Some(stack) => push(walk.trace(), profile.ts, thread, *stack, 1.0, StringId::NONE),
                None => n_lost_samples += 1,
            }
        }
        for _ in 0..n_lost_nodes {
            walk.note(i, &PROFILE_NODE);
        }
        for _ in 0..n_lost_samples {
            walk.note(i, &PROFILE_SAMPLE);
        }
    }
}

impl Profile {
    /// Adds a node; false if its parent is missing.
    fn add_node(&mut self, builder: &mut TraceBuilder, node: &[u8]) -> bool {
        let number = |raw: Option<&[u8]>| raw.and_then(|raw| Number::as_i64(number_text(raw)));
        let Some(id) = number(find_member(node, "id")) else { return false };
        if let Some(children) = find_member(node, "children") {
            for_each_element(children, |child| {
                if let Some(child) = number(Some(child)) {
                    self.parents.insert(child, id);
                }
            });
        }
        let parent = number(find_member(node, "parent")).or_else(|| self.parents.get(&id).copied());
        let below = match parent {
            None => StackId::NONE,
            Some(parent) => match self.nodes.get(&parent) {
                Some(stack) => *stack,
                None => return false,
            },
        };
        let call = find_member(node, "callFrame").unwrap_or(node);
        let text = |name: &str| {
            let raw = find_member(call, name)?;
            Some(unescape_to_string(as_string(raw)?)).filter(|text| !text.is_empty())
        };
        let strings = &mut builder.trace.strings;
        let name = strings.intern(text("functionName").as_deref().unwrap_or("(anonymous)"));
        let module = text("url").map_or(StringId::NONE, |url| strings.intern(&url));
        let stack = builder.interner.stack(&mut builder.trace, below, name, module);
        self.nodes.insert(id, stack);
        true
    }
}

fn push(trace: &mut Trace, ts: i64, thread: ThreadId, stack: StackId, weight: f64, name: StringId) {
    let samples = &mut trace.samples;
    samples.ts.push(ts);
    samples.thread.push(thread);
    samples.stack.push(stack);
    samples.weight.push(weight);
    samples.name.push(name);
}

/// Adds the listed samples, and sorts all by time.
pub(super) fn finish(builder: &mut TraceBuilder) {
    let listed = std::mem::take(&mut builder.listed_samples);
    if !listed.is_empty() {
        // Samples mostly have no process: they belong to the first thread with that key.
        let mut by_key: HashMap<Key, ThreadId> = HashMap::default();
        for (index, key) in builder.trace.threads.key.iter().enumerate() {
            by_key.entry(*key).or_insert(ThreadId(index as u32));
        }
        for sample in listed {
            let stack = stack_of_frame(builder, sample.frame);
            if !sample.frame.is_none() && stack == StackId::NONE {
                let at = Position { byte: sample.offset, line: None };
                let frame = builder.trace.strings.get(sample.frame).to_string();
                builder.trace.ledger.file(&UNKNOWN_FRAME, at, frame.as_bytes());
            }
            let thread = match (sample.process, by_key.get(&sample.thread_key)) {
                (Some(process), _) => builder.thread(process, sample.thread_key),
                (None, Some(thread)) => *thread,
                (None, None) => {
                    let process = builder.process(Key::Number(0));
                    builder.thread(process, sample.thread_key)
                }
            };
            by_key.entry(sample.thread_key).or_insert(thread);
            push(&mut builder.trace, sample.ts, thread, stack, sample.weight, sample.name);
        }
    }
    let samples = &mut builder.trace.samples;
    if !samples.ts.is_sorted() {
        let mut order: Vec<u32> = (0..samples.ts.len() as u32).collect();
        sort::rows(&mut order, |a, b| samples.ts[a as usize].cmp(&samples.ts[b as usize]));
        samples.ts = order.iter().map(|row| samples.ts[*row as usize]).collect();
        samples.thread = order.iter().map(|row| samples.thread[*row as usize]).collect();
        samples.stack = order.iter().map(|row| samples.stack[*row as usize]).collect();
        samples.weight = order.iter().map(|row| samples.weight[*row as usize]).collect();
        samples.name = order.iter().map(|row| samples.name[*row as usize]).collect();
    }
}

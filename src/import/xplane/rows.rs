//! From pieces to events of the builder, in the layout of Kineto.

use super::issues::*;
use super::names::Plane;
use super::stats::{self, Stat, detail, triple};
use crate::base::hash::{HashMap, HashSet};
use crate::base::json::write::push_string;
use crate::base::protobuf::{Fields, Value};
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::counted;
use crate::import::kineto::{Args, Events, GpuFacts, NewRow, Place, put_gpus};
use crate::trace::events::Phase;
use crate::trace::tracks::{Key, ProcessId, ThreadId};
use crate::trace::{Position, TraceBuilder};
use std::borrow::Cow;

/// Shown for names that are not in the file.
const MISSING_NAME: &str = "(missing)";
const PS_PER_NS: i128 = 1000;
/// Largest size of events that wait for the name and the start of their line.
const MAX_HELD_BYTES: usize = 64 << 20;
/// Names of aggregated events that are listed.
const MAX_AGGREGATED: usize = 1000;
/// Facts that are listed.
const MAX_FACTS: usize = 2000;
/// Registers of a thread that no GPU has: ROCm profilers until 2024 wrote uninitialized memory.
const MAX_REGISTERS: u64 = 1024;
/// Launch configuration of a kernel.
const LAUNCH: [&str; 2] = ["grid", "block"];
/// Arguments that are added to kernels and calls; stats of these names are called otherwise.
const RESERVED: &[&str] = &["correlation", "device", "stream", "bytes"];

/// What a plane stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum PlaneKind {
    /// A GPU of this number.
    Gpu(i64),
    Tpu,
    Host,
    #[default]
    Other,
}

impl PlaneKind {
    fn of(name: &str) -> PlaneKind {
        let number = name.strip_prefix("/device:GPU:").and_then(|number| number.parse().ok());
        match number {
            Some(number) if number >= 0 => PlaneKind::Gpu(number),
            _ if name.starts_with("/device:TPU:") => PlaneKind::Tpu,
            _ if name.starts_with("/host:") => PlaneKind::Host,
            _ => PlaneKind::Other,
        }
    }
}

/// What a line stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Role {
    /// A stream of a GPU of this number.
    Stream(i64),
    /// Operations of a TPU; those with others inside are control flow.
    Ops,
    /// A thread of the host.
    Host,
    /// Lines derived from others, and all else.
    #[default]
    Other,
}

impl Role {
    fn of(plane: PlaneKind, name: &str) -> Role {
        let stream = |name: &str| {
            let digits = name.strip_prefix("Stream #")?;
            let end = digits.find(|char: char| !char.is_ascii_digit()).unwrap_or(digits.len());
            digits[..end].parse().ok()
        };
        match plane {
            PlaneKind::Gpu(_) => stream(name).map_or(Role::Other, Role::Stream),
            PlaneKind::Tpu if name == "XLA Ops" => Role::Ops,
            PlaneKind::Host => Role::Host,
            _ => Role::Other,
        }
    }
}

/// The line that is being read.
#[derive(Default)]
struct Line {
    id: u64,
    name: Option<String>,
    display_name: String,
    timestamp_ns: Option<i64>,
    /// Events that wait for name and start: their places, and their bytes one after the other.
    held: Vec<(Place, usize)>,
    held_bytes: Vec<u8>,
    /// Set once events are taken.
    on: Option<(Role, ThreadId)>,
    /// An operation of a TPU, until the next one that takes time shows whether it is inside; and those without duration since.
    pending: Vec<Operation>,
}

/// An operation of a TPU: its bytes, their place, and its start and end in picoseconds.
struct Operation {
    bytes: Vec<u8>,
    place: Place,
    span: (i128, i128),
}

/// An event as it is in the file.
#[derive(Clone, Copy, Default)]
struct Parsed {
    id: u64,
    offset_ps: i64,
    duration_ps: i64,
    /// Number of events that this one stands for; it has no time then.
    n_occurrences: Option<u64>,
    is_broken: bool,
}

impl Parsed {
    fn of(message: &[u8]) -> Parsed {
        let mut parsed = Parsed::default();
        let mut fields = Fields::new(message);
        for (number, value) in fields.by_ref() {
            let Value::Number(value) = value else { continue };
            match number {
                1 => parsed.id = value,
                2 => {
                    parsed.offset_ps = value as i64;
                    parsed.n_occurrences = None;
                }
                3 => parsed.duration_ps = value as i64,
                5 => parsed.n_occurrences = Some(value),
                _ => {}
            }
        }
        parsed.is_broken = fields.is_broken;
        parsed
    }
}

/// Stats that decide what an event is.
#[derive(Default)]
struct Found {
    correlation: Option<u64>,
    kernel: Option<String>,
    copy: Option<String>,
    fill: Option<String>,
    /// Allocations and residency of memory, which take no time of the GPU.
    is_memory: bool,
    step: Option<u64>,
    group: Option<u64>,
    /// Whether grid and block are stats of their own.
    has_launch: [bool; 2],
}

/// Aggregated events of one name on one line.
struct Aggregated {
    plane: String,
    line: String,
    name: StringId,
    n: u64,
    duration_ps: i128,
}

/// A step of the host: number, start and end in nanoseconds.
#[derive(Clone, Copy)]
struct Step {
    process: ProcessId,
    number: u64,
    start: i64,
    end: i64,
}

#[derive(Default)]
pub struct Rows {
    planes: Vec<Plane>,
    /// Index of the next plane.
    next_plane: usize,
    kind: PlaneKind,
    process: Option<ProcessId>,
    line: Line,
    keys: HashSet<(Option<ProcessId>, Key)>,
    args: Args,
    events: Events,
    /// Ids of the stats of an event.
    seen: Vec<u64>,
    aggregated: Vec<Aggregated>,
    aggregated_by_name: HashMap<(usize, String, StringId), usize>,
    host_steps: Vec<Step>,
    /// Span of the events of each group, by process and group.
    groups: HashMap<(ProcessId, u64), (i64, i64)>,
    has_step_lines: bool,
    facts: Vec<(String, String)>,
}

impl Rows {
    pub fn new(planes: Vec<Plane>, out: &mut TraceBuilder) -> Rows {
        let mut rows = Rows { planes, ..Rows::default() };
        rows.describe_planes(out);
        rows
    }

    /// Facts and notes on planes, from their stats.
    fn describe_planes(&mut self, out: &mut TraceBuilder) {
        let ledger = &mut out.trace.ledger;
        let mut gpus = Vec::new();
        for plane in &self.planes {
            let name_of = |id: u64| {
                plane.stat(id).map_or(Cow::Borrowed(MISSING_NAME), |name| String::from_utf8_lossy(name))
            };
            for (id, of, n) in &plane.bytes {
                let of = if of.is_empty() {
                    Cow::Borrowed(plane.name.as_str())
                } else {
                    String::from_utf8_lossy(of)
                };
                let example = format!("{} of {of}: {}", name_of(*id), counted(*n as u64, "byte", "bytes"));
                ledger.file(&BYTES, Position::NOWHERE, example.as_bytes());
            }
            let mut own: Vec<(Cow<'_, str>, Stat<'_>)> = Vec::new();
            for stat in &plane.own {
                let (id, value, _) = stats::parse(stat);
                let value = match value {
                    Stat::Ref(id) => Stat::Text(plane.stat(id).unwrap_or(MISSING_NAME.as_bytes())),
                    value => value,
                };
                own.push((name_of(id), value));
            }
            for (name, value) in own.iter().take(MAX_FACTS.saturating_sub(self.facts.len())) {
                let name = match &**name {
                    // They have folders and addresses, and are redacted like names of hosts.
                    "profile_options" => "host profile_options".to_string(),
                    name if plane.name == "Task Environment" => name.to_string(),
                    name => format!("{}: {name}", plane.name),
                };
                self.facts.push((name, value.shown()));
            }
            if let PlaneKind::Gpu(number) = PlaneKind::of(&plane.name) {
                gpus.extend(gpu_facts(number, &own));
            }
        }
        sort::by_key(&mut gpus, |gpu| gpu.id);
        put_gpus(&gpus, out);
    }

    pub fn begin_plane(&mut self) {
        let plane = self.planes.get(self.next_plane);
        self.kind = plane.map_or(PlaneKind::Other, |plane| PlaneKind::of(&plane.name));
        self.process = None;
    }

    pub fn end_plane(&mut self) {
        // Names are not needed any more.
        if let Some(plane) = self.planes.get_mut(self.next_plane) {
            *plane = Plane { name: std::mem::take(&mut plane.name), ..Plane::default() };
        }
        self.next_plane += 1;
    }

    fn plane_name(&self) -> &str {
        self.planes.get(self.next_plane).map_or("", |plane| &plane.name)
    }

    pub fn begin_line(&mut self) {
        self.line = Line::default();
    }

    /// Takes a field of a line.
    pub fn line_field(&mut self, number: u64, value: Value<'_>, place: Place, out: &mut TraceBuilder) {
        if let (4, Value::Bytes(event)) = (number, value) {
            if self.line.on.is_some() || self.line.name.is_some() && self.line.timestamp_ns.is_some() {
                return self.event(event, place, out);
            }
            self.line.held.push((place, event.len()));
            self.line.held_bytes.extend_from_slice(event);
            if self.line.held_bytes.len() > MAX_HELD_BYTES {
                self.take_held(out);
            }
            return;
        }
        out.trace.ledger.frame(place.len);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match (number, value) {
            (1, Value::Number(id)) => self.line.id = id,
            (11, Value::Bytes(name)) => self.line.display_name = text(name),
            (2 | 3, _) if self.line.on.is_some() => {
                out.trace.ledger.file(&LATE_LINE, place.position(), b"");
            }
            (2, Value::Bytes(name)) => self.line.name = Some(text(name)),
            (3, Value::Number(ns)) => self.line.timestamp_ns = Some(ns as i64),
            _ => {}
        }
    }

    pub fn end_line(&mut self, out: &mut TraceBuilder) {
        self.take_held(out);
        self.take_pending(None, out);
        // It comes behind the events.
        if let Some((_, thread)) = self.line.on
            && !self.line.display_name.is_empty()
        {
            out.trace.threads.name[thread.0 as usize] = out.trace.strings.intern(&self.line.display_name);
        }
        self.line = Line::default();
    }

    fn take_held(&mut self, out: &mut TraceBuilder) {
        let bytes = std::mem::take(&mut self.line.held_bytes);
        let mut at = 0;
        for (place, len) in std::mem::take(&mut self.line.held) {
            if let Some(event) = bytes.get(at..at + len) {
                self.event(event, place, out);
            }
            at += len;
        }
    }

    /// Role and thread of the line.
    fn on(&mut self, out: &mut TraceBuilder) -> (Role, ThreadId) {
        if let Some(on) = self.line.on {
            return on;
        }
        let process = self.process(out);
        let name = self.line.name.clone().unwrap_or_default();
        let role = Role::of(self.kind, &name);
        let key = match role {
            Role::Stream(number) => Key::Number(number),
            _ => match i64::try_from(self.line.id) {
                Ok(id) => Key::Number(id),
                Err(_) => Key::Digits(out.trace.strings.intern(&self.line.id.to_string())),
            },
        };
        let shown = if name.is_empty() { self.line.display_name.clone() } else { name.clone() };
        let key = self.free_key(Some(process), key, &shown, out);
        let thread = out.trace.threads.push(process, key);
        if !shown.is_empty() {
            out.trace.threads.name[thread.0 as usize] = out.trace.strings.intern(&shown);
        }
        self.has_step_lines |= name == "Steps" && matches!(self.kind, PlaneKind::Gpu(_) | PlaneKind::Tpu);
        self.line.on = Some((role, thread));
        (role, thread)
    }

    fn process(&mut self, out: &mut TraceBuilder) -> ProcessId {
        if let Some(process) = self.process {
            return process;
        }
        let name = self.plane_name().to_string();
        let text = out.trace.strings.intern(&name);
        let key = match self.kind {
            PlaneKind::Gpu(number) => Key::Number(number),
            _ => Key::Text(text),
        };
        let key = self.free_key(None, key, &name, out);
        let process = out.trace.processes.push(key);
        out.trace.processes.name[process.0 as usize] = text;
        self.process = Some(process);
        process
    }

    /// `key`, or one of the name if it is taken.
    fn free_key(&mut self, of: Option<ProcessId>, key: Key, name: &str, out: &mut TraceBuilder) -> Key {
        if self.keys.insert((of, key)) {
            return key;
        }
        let mut number = 2u64;
        loop {
            let key = Key::Text(out.trace.strings.intern(&format!("{name} #{number}")));
            if self.keys.insert((of, key)) {
                return key;
            }
            number += 1;
        }
    }

    /// Takes an event.
    fn event(&mut self, message: &[u8], place: Place, out: &mut TraceBuilder) {
        let parsed = Parsed::of(message);
        if parsed.is_broken {
            out.trace.ledger.file(&DAMAGED_EVENT, place.position(), message);
        }
        if let Some(n) = parsed.n_occurrences {
            return self.aggregated(&parsed, n, place, out);
        }
        let (role, _) = self.on(out);
        if role != Role::Ops {
            return self.push_event(message, place, true, out);
        }
        let start = i128::from(parsed.offset_ps);
        let span = (start, start + i128::from(parsed.duration_ps));
        // What takes no time leaves the time to the operation around it.
        let is_within = self.line.pending.first().is_some_and(|before| span.0 <= before.span.1);
        if span.0 < span.1 || !is_within {
            self.take_pending(Some(span), out);
        }
        self.line.pending.push(Operation { bytes: message.to_vec(), place, span });
    }

    /// Adds the operations that waited for the next one, which has that span. Lines are in order of start, and what is around
    /// others comes first.
    fn take_pending(&mut self, next: Option<(i128, i128)>, out: &mut TraceBuilder) {
        for Operation { bytes, place, span: (start, end) } in std::mem::take(&mut self.line.pending) {
            let is_around = next.is_some_and(|next| start <= next.0 && next.0 < end && next.1 <= end);
            self.push_event(&bytes, place, !is_around, out);
        }
    }

    /// Counts an event that stands for several.
    fn aggregated(&mut self, parsed: &Parsed, n: u64, place: Place, out: &mut TraceBuilder) {
        let (name, _) = self.name_of(parsed.id, place, out);
        let line = match &self.line.name {
            Some(name) if !name.is_empty() => name,
            _ => &self.line.display_name,
        };
        let example = format!("{}: {n} × {}", line, out.trace.strings.get(name));
        out.trace.ledger.skip_record(&AGGREGATED, place.position(), place.len, example.as_bytes());
        let key = (self.next_plane, line.clone(), name);
        let at = match self.aggregated_by_name.get(&key) {
            Some(at) => *at,
            None if self.aggregated.len() == MAX_AGGREGATED => {
                return out.trace.ledger.file(&AGGREGATED_MORE, place.position(), b"");
            }
            None => {
                let plane = self.plane_name().to_string();
                self.aggregated.push(Aggregated { plane, line: line.clone(), name, n: 0, duration_ps: 0 });
                self.aggregated_by_name.insert(key, self.aggregated.len() - 1);
                self.aggregated.len() - 1
            }
        };
        let all = &mut self.aggregated[at];
        all.n = all.n.saturating_add(n);
        all.duration_ps += i128::from(parsed.duration_ps);
    }

    /// Name of the events of an id, and the whole text of an operation of HLO, with the first event that has it.
    fn name_of(&mut self, id: u64, place: Place, out: &mut TraceBuilder) -> (StringId, Option<Box<[u8]>>) {
        let names = self.planes.get_mut(self.next_plane).and_then(|plane| plane.events.get_mut(&id));
        let Some(names) = names else {
            out.trace.ledger.file(&MISSING, place.position(), format!("event {id}").as_bytes());
            return (out.trace.strings.intern(MISSING_NAME), None);
        };
        if let Some(shown) = names.shown {
            return (shown, None);
        }
        // TPUs have the whole instruction as the name: `%fusion.1 = f32[8]{0} fusion(…)`.
        let is_text = names.name.starts_with(b"%")
            && !names.display_name.is_empty()
            && memchr::memmem::find(&names.name, b" = ").is_some();
        let text = if is_text { &names.display_name } else { &names.name };
        let shown = out.trace.strings.intern_bytes(text);
        names.shown = Some(shown);
        (shown, is_text.then(|| names.name.clone()))
    }

    /// Adds an event to the trace, and counts it. `is_leaf`: it takes time of its device.
    fn push_event(&mut self, message: &[u8], place: Place, is_leaf: bool, out: &mut TraceBuilder) {
        let parsed = Parsed::of(message);
        let ledger = &mut out.trace.ledger;
        if parsed.duration_ps < 0 {
            return ledger.skip_record(&NEGATIVE, place.position(), place.len, b"");
        }
        let line_ns = self.line.timestamp_ns.unwrap_or(0);
        let start_ps = i128::from(line_ns) * PS_PER_NS + i128::from(parsed.offset_ps);
        let end_ps = start_ps + i128::from(parsed.duration_ps);
        let (Some(start), Some(end)) = (rounded(start_ps), rounded(end_ps)) else {
            return ledger.skip_record(&BAD_TIME, place.position(), place.len, b"");
        };
        // Both ends are rounded, so what was inside of another event or behind it still is.
        let Some(dur) = end.checked_sub(start) else {
            return ledger.skip_record(&BAD_TIME, place.position(), place.len, b"");
        };
        let (role, thread) = self.on(out);
        let (name, text) = self.name_of(parsed.id, place, out);
        self.args.clear();
        let found = self.stats(message, &parsed, place, out);
        if start_ps % PS_PER_NS != 0 || end_ps % PS_PER_NS != 0 {
            out.trace.ledger.file(&ROUNDED, place.position(), b"");
            self.args.int("offset_ps", Some(parsed.offset_ps));
            self.args.int("duration_ps", Some(parsed.duration_ps));
        }
        if let Some(text) = text {
            self.args.text("long_name", &text);
        }
        let category = category(role, is_leaf, out.trace.strings.get(name), &found);
        self.kineto(role, category, dur, &found);
        if let Some(process) = self.process {
            match (role, found.step, found.group) {
                (Role::Host, Some(number), _) => {
                    self.host_steps.push(Step { process, number, start, end });
                }
                (Role::Stream(_), _, Some(group)) => {
                    let span = self.groups.entry((process, group)).or_insert((start, end));
                    *span = (span.0.min(start), span.1.max(end));
                }
                _ => {}
            }
        }
        let is_instant = parsed.duration_ps == 0 && !matches!(role, Role::Stream(_) | Role::Ops);
        let phase = if is_instant { Phase::Instant } else { Phase::Complete };
        out.trace.ledger.keep(place.len);
        let row = NewRow { phase, ts: start, dur, thread, name, category, extra: None, place };
        self.events.push(row, &mut self.args, &NO_ROOM, out);
    }

    /// Writes the stats of an event, and of all events of its name, as arguments.
    fn stats(&mut self, message: &[u8], parsed: &Parsed, place: Place, out: &mut TraceBuilder) -> Found {
        let mut found = Found::default();
        let none = Plane::default();
        let plane = self.planes.get(self.next_plane).unwrap_or(&none);
        self.seen.clear();
        let own =
            Fields::new(message).filter(|(number, _)| *number == 4).filter_map(|(_, value)| value.bytes());
        let shared = plane.events.get(&parsed.id).map_or(&[][..], |names| names.stats.as_slice());
        for (stat, is_own) in own.map(|stat| (stat, true)).chain(shared.iter().map(|stat| (&**stat, false))) {
            let (id, value, is_sound) = stats::parse(stat);
            if !is_sound {
                out.trace.ledger.file(&DAMAGED_EVENT, place.position(), stat);
            }
            // A stat of the event itself counts. Of several, the first one is shown.
            if self.seen.contains(&id) {
                continue;
            }
            self.seen.push(id);
            let name = match plane.stat(id) {
                Some(name) => String::from_utf8_lossy(name),
                None => {
                    out.trace.ledger.file(&MISSING, place.position(), format!("stat {id}").as_bytes());
                    Cow::Owned(format!("{MISSING_NAME} {id}"))
                }
            };
            let value = match value {
                Stat::Ref(id) => match plane.stat(id) {
                    Some(text) => Stat::Text(text),
                    None => {
                        out.trace.ledger.file(&MISSING, place.position(), format!("text {id}").as_bytes());
                        Stat::Text(MISSING_NAME.as_bytes())
                    }
                },
                value => value,
            };
            if let Stat::Bytes(_) = value
                && is_own
            {
                let example = format!("{name}: {}", value.shown());
                out.trace.ledger.file(&BYTES, place.position(), example.as_bytes());
            }
            let text = || Some(value.shown());
            match &*name {
                "correlation_id" => found.correlation = value.positive(),
                "kernel_details" => found.kernel = text(),
                "memcpy_details" => found.copy = text(),
                "memset_details" => found.fill = text(),
                "memalloc_details" | "memfree_details" | "memory_residency_details" => found.is_memory = true,
                "step_num" => found.step = value.number(),
                "group_id" => found.group = value.number(),
                _ => {}
            }
            let at = LAUNCH.iter().position(|own| *own == name);
            match at.and_then(|at| Some((at, triple(&value.shown())?))) {
                Some((at, list)) => {
                    found.has_launch[at] = true;
                    self.args.list(&name, Some(list));
                }
                None if at.is_some() || RESERVED.contains(&&*name) => {
                    value.put(&format!("stat {name}"), &mut self.args);
                }
                None => value.put(&name, &mut self.args),
            }
        }
        found
    }

    /// Adds arguments by which reports know kernels, copies and calls.
    fn kineto(&mut self, role: Role, category: &str, dur: i64, found: &Found) {
        let args = &mut self.args;
        let is_work = matches!(category, "kernel" | "gpu_memcpy" | "gpu_memset");
        let is_call = matches!(category, "cuda_runtime" | "cuda_driver");
        if !is_work && !is_call {
            return;
        }
        if let Some(id) = found.correlation {
            args.unsigned("correlation", id);
        }
        if let (Role::Stream(stream), PlaneKind::Gpu(device)) = (role, self.kind) {
            args.int("device", Some(device));
            args.int("stream", Some(stream));
        }
        if let Some(details) = &found.kernel {
            for (name, is_known) in LAUNCH.iter().zip(found.has_launch) {
                if let Some(list) = detail(details, name).and_then(triple).filter(|_| !is_known) {
                    args.list(name, Some(list));
                }
            }
            let number = |name: &str| detail(details, name).and_then(|number| number.parse::<u64>().ok());
            let memory = || number("static_shared")?.checked_add(number("dynamic_shared")?);
            if let Some(registers) = number("regs").filter(|registers| *registers <= MAX_REGISTERS) {
                args.unsigned("registers per thread", registers);
                if let Some(memory) = memory() {
                    args.unsigned("shared memory", memory);
                }
            }
        }
        let details = found.copy.as_ref().or(found.fill.as_ref());
        let bytes = details.and_then(|text| detail(text, "size").or_else(|| detail(text, "num_bytes")));
        if let Some(bytes) = bytes.and_then(|bytes| bytes.parse::<u64>().ok()).filter(|bytes| *bytes > 0) {
            args.unsigned("bytes", bytes);
            if is_work && found.copy.is_some() && dur > 0 {
                args.float("memory bandwidth (GB/s)", bytes as f64 / dur as f64);
            }
        }
    }

    /// Adds a fact, such as the name of a host.
    pub fn fact(&mut self, name: &str, value: &[u8]) {
        if self.facts.len() < MAX_FACTS {
            self.facts.push((name.to_string(), String::from_utf8_lossy(value).into_owned()));
        }
    }

    /// Adds what is known so far.
    pub fn snapshot(&self, out: &mut TraceBuilder) {
        out.trace.source.metadata.extend_from_slice(&self.facts);
    }

    /// Adds what is known once all is read. `end`: offset of the end of the content.
    pub fn finish(&mut self, end: u64, out: &mut TraceBuilder) {
        self.put_steps(end, out);
        out.trace.source.metadata.append(&mut self.facts);
        if self.aggregated.is_empty() {
            return;
        }
        let mut json = b"[".to_vec();
        for all in &self.aggregated {
            json.extend_from_slice(if json.len() > 1 { b",{" } else { b"{" });
            let name = out.trace.strings.get(all.name);
            for (key, text) in [("plane", all.plane.as_str()), ("line", &all.line), ("name", name)] {
                push_string(key, &mut json);
                json.push(b':');
                push_string(text, &mut json);
                json.push(b',');
            }
            json.extend_from_slice(
                format!("\"count\":{},\"duration_ps\":{}}}", all.n, all.duration_ps).as_bytes(),
            );
        }
        json.push(b']');
        let text = String::from_utf8_lossy(&json).into_owned();
        out.trace.source.metadata.push(("aggregated_events".to_string(), text));
    }

    /// Adds a line `Steps` of step annotations of the host, or else of groups of GPUs, if no device has such a line.
    fn put_steps(&mut self, end: u64, out: &mut TraceBuilder) {
        if self.has_step_lines {
            return;
        }
        let mut steps = std::mem::take(&mut self.host_steps);
        if steps.is_empty() {
            let of_group = |((process, number), (start, end)): (&(ProcessId, u64), &(i64, i64))| Step {
                process: *process,
                number: *number,
                start: *start,
                end: *end,
            };
            steps.extend(self.groups.iter().map(of_group));
        }
        sort::by_key(&mut steps, |step| (step.process, step.start, step.number, step.end));
        let mut on: Option<(ProcessId, ThreadId)> = None;
        let steps_name = out.trace.strings.intern("Steps");
        for (i, step) in steps.iter().enumerate() {
            let thread = match on {
                Some((process, thread)) if process == step.process => thread,
                _ => {
                    let key = self.free_key(Some(step.process), Key::Text(steps_name), "Steps", out);
                    let thread = out.trace.threads.push(step.process, key);
                    out.trace.threads.name[thread.0 as usize] = steps_name;
                    on = Some((step.process, thread));
                    thread
                }
            };
            let name = out.trace.strings.intern(&step.number.to_string());
            let dur = step.end.saturating_sub(step.start);
            let place = Place { offset: end.saturating_add(i as u64), len: 0 };
            self.args.clear();
            let phase = Phase::Complete;
            let row = NewRow { phase, ts: step.start, dur, thread, name, category: "", extra: None, place };
            self.events.push(row, &mut self.args, &NO_ROOM, out);
        }
    }
}

/// Nanoseconds of picoseconds, to the nearest, half up.
fn rounded(ps: i128) -> Option<i64> {
    i64::try_from((ps + PS_PER_NS / 2).div_euclid(PS_PER_NS)).ok()
}

/// Category of an event, by which everything else knows what it is: those of Kineto, or none.
fn category(role: Role, is_leaf: bool, name: &str, found: &Found) -> &'static str {
    let starts = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    match role {
        Role::Stream(_) => match () {
            () if found.copy.is_some()
                || found.kernel.is_none() && starts(&["Memcpy", "CopyDevice", "CopyHost"]) =>
            {
                "gpu_memcpy"
            }
            () if found.fill.is_some() || found.kernel.is_none() && starts(&["Memset"]) => "gpu_memset",
            () if found.is_memory => "",
            () => "kernel",
        },
        Role::Ops if is_leaf => "kernel",
        // `cuLaunchKernel` is of the driver, `cudaLaunchKernel` and `cublasCreate` are not.
        Role::Host if found.correlation.is_some() => {
            let after = name.strip_prefix("cu").and_then(|rest| rest.chars().next());
            if after.is_some_and(|char| char.is_ascii_uppercase()) { "cuda_driver" } else { "cuda_runtime" }
        }
        Role::Host if found.step.is_some() => "user_annotation",
        Role::Host if name.starts_with('$') => "python_function",
        _ => "",
    }
}

/// Architecture of a GPU, from the version that its driver reports. ROCm writes the first digits of the name there: 9 and 4 for gfx940
/// to gfx942.
fn architecture(is_amd: bool, version: Option<(i64, i64)>) -> String {
    match version {
        Some((major, minor)) if is_amd => format!(", gfx{major}{minor}x"),
        Some((major, minor)) => format!(", compute capability {major}.{minor}"),
        None => String::new(),
    }
}

/// What the stats of its plane say about a GPU.
fn gpu_facts(id: i64, stats: &[(Cow<'_, str>, Stat<'_>)]) -> Option<GpuFacts> {
    let get = |name: &str| stats.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
    let number = |name: &str| get(name).and_then(Stat::positive).and_then(|value| i64::try_from(value).ok());
    let vendor = get("device_vendor")?.shown();
    let is_amd = vendor.eq_ignore_ascii_case("AMD");
    let vendor = if vendor.eq_ignore_ascii_case("Nvidia") { "NVIDIA".to_string() } else { vendor };
    let version = number("compute_cap_major").map(|major| (major, number("compute_cap_minor").unwrap_or(0)));
    let name = match get("device_type_string") {
        Some(name) => format!("{vendor} {}", name.shown()),
        None => format!("{vendor} GPU{}", architecture(is_amd, version)),
    };
    Some(GpuFacts {
        id: Some(id),
        name,
        memory_bytes: number("memory_size"),
        n_sms: number("core_count"),
        warp_size: if is_amd { 64 } else { 32 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picoseconds_are_rounded_once() {
        let cases = [(0, 0), (499, 0), (500, 1), (1499, 1), (1500, 2), (-1, 0), (-500, 0), (-501, -1)];
        assert!(cases.iter().all(|(ps, ns)| rounded(*ps) == Some(*ns)));
        assert_eq!(rounded(i128::from(i64::MAX) * 1000 + 500), None);
    }

    #[test]
    fn architectures_are_named_as_the_vendor_does() {
        assert_eq!(architecture(true, Some((9, 4))), ", gfx94x");
        assert_eq!(architecture(false, Some((9, 0))), ", compute capability 9.0");
        assert_eq!(architecture(true, None), "");
    }

    #[test]
    fn roles_of_lines() {
        let gpu = PlaneKind::of("/device:GPU:3");
        assert_eq!(gpu, PlaneKind::Gpu(3));
        assert_eq!(Role::of(gpu, "Stream #17(Kernel,MemcpyD2D)"), Role::Stream(17));
        assert_eq!(Role::of(gpu, "XLA Ops"), Role::Other);
        let tpu = PlaneKind::of("/device:TPU:0");
        assert_eq!((Role::of(tpu, "XLA Ops"), Role::of(tpu, "Async XLA Ops")), (Role::Ops, Role::Other));
        assert_eq!(PlaneKind::of("/device:CUSTOM:x"), PlaneKind::Other);
    }

    #[test]
    fn calls_of_the_driver_are_told_apart() {
        let found = Found { correlation: Some(1), ..Found::default() };
        let of = |name| category(Role::Host, true, name, &found);
        assert_eq!((of("cuLaunchKernel"), of("cudaLaunchKernel")), ("cuda_driver", "cuda_runtime"));
        assert_eq!(of("hipModuleLaunchKernel"), "cuda_runtime");
    }
}

//! State of one writer: interned texts, defaults, and what is counted from one packet to the next.

use crate::base::hash::HashMap;
use crate::base::protobuf::{Fields, Value, key};
use crate::base::strings::{StringId, StringTable};
use crate::trace::TraceBuilder;
use crate::trace::samples::{Frame, NO_LINE, StackId};

/// Shown for texts that the trace does not have.
pub const MISSING: &str = "(missing)";

/// Values by interning id. The first value of an id stays.
pub struct Interned<T> {
    /// Values of the ids from 1 on, as long as they come in order.
    dense: Vec<T>,
    rest: HashMap<u64, T>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Interned { dense: Vec::new(), rest: HashMap::default() }
    }
}

impl<T> Interned<T> {
    fn insert(&mut self, iid: u64, value: impl FnOnce() -> T) {
        if iid == self.dense.len() as u64 + 1 && !self.rest.contains_key(&iid) {
            self.dense.push(value());
        } else if self.get(iid).is_none() {
            self.rest.insert(iid, value());
        }
    }

    pub fn get(&self, iid: u64) -> Option<&T> {
        let dense = iid.checked_sub(1).and_then(|at| self.dense.get(usize::try_from(at).ok()?));
        dense.or_else(|| self.rest.get(&iid))
    }

    fn clear(&mut self) {
        self.dense.clear();
        self.rest.clear();
    }
}

/// Defaults of track events.
#[derive(Default, Clone)]
pub struct Defaults {
    pub clock: Option<u32>,
    pub track: Option<u64>,
    pub counters: Vec<u64>,
    pub double_counters: Vec<u64>,
}

/// A frame by ids; 0 for none.
#[derive(Clone, Copy, Default)]
struct FrameIds {
    function: u64,
    mapping: u64,
    /// Address in the mapping.
    address: u64,
    source_path: u64,
    line: Option<i64>,
}

#[derive(Default)]
pub struct Sequence {
    /// Counted from 1.
    pub number: u32,
    /// Nothing was lost since the state was cleared.
    pub is_valid: bool,
    pub names: Interned<StringId>,
    pub categories: Interned<StringId>,
    pub argument_names: Interned<StringId>,
    pub texts: Interned<Box<[u8]>>,
    functions: Interned<StringId>,
    frames: Interned<FrameIds>,
    /// Parts of the path of each mapping.
    mappings: Interned<Vec<u64>>,
    mapping_paths: Interned<StringId>,
    source_paths: Interned<StringId>,
    /// Frames of each call stack, root first.
    stacks: Interned<Vec<u64>>,
    /// Call stacks that were looked up.
    known_stacks: HashMap<u64, StackId>,
    /// How often ids got new meanings.
    pub n_cleared: u32,
    pub defaults: Defaults,
    /// Process and thread of events of older writers, and whether an own packet said so.
    pub ids: Option<(i64, i64)>,
    pub has_thread_packet: bool,
    /// Microseconds that deltas are added to.
    pub reference_us: Option<i64>,
    /// Sums of incremental counters, by track.
    pub sums: HashMap<u32, f64>,
}

impl Sequence {
    pub fn new(number: u32) -> Sequence {
        Sequence { number, ..Sequence::default() }
    }

    /// Drops what the writer no longer refers to.
    pub fn clear(&mut self) {
        self.is_valid = true;
        self.names.clear();
        self.categories.clear();
        self.argument_names.clear();
        self.texts.clear();
        self.functions.clear();
        self.frames.clear();
        self.mappings.clear();
        self.mapping_paths.clear();
        self.source_paths.clear();
        self.stacks.clear();
        self.known_stacks.clear();
        self.n_cleared += 1;
        self.defaults = Defaults::default();
        self.sums.clear();
    }

    /// Takes `TracePacketDefaults`.
    pub fn set_defaults(&mut self, message: &[u8]) {
        let mut defaults = Defaults::default();
        let mut fields = Fields::new(message);
        while let Some((field, value)) = fields.next_keyed() {
            match (field, value) {
                (key, Value::Number(clock)) if key == key::varint(58) => defaults.clock = Some(clock as u32),
                (key, Value::Bytes(of_events)) if key == key::bytes(11) => {
                    let mut fields = Fields::new(of_events);
                    while let Some((field, value)) = fields.next_keyed() {
                        match field {
                            key if key == key::varint(11) => defaults.track = value.number(),
                            key if key >> 3 == 31 => value.numbers(|uuid| defaults.counters.push(uuid)),
                            key if key >> 3 == 45 => {
                                value.numbers(|uuid| defaults.double_counters.push(uuid));
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        self.defaults = defaults;
    }

    /// Takes `InternedData`.
    pub fn intern(&mut self, message: &[u8], strings: &mut StringTable) {
        for (number, value) in Fields::new(message) {
            let Value::Bytes(entry) = value else { continue };
            match number {
                1 => insert(&mut self.categories, entry, 2, |text| strings.intern_bytes(text)),
                2 => insert(&mut self.names, entry, 2, |text| strings.intern_bytes(text)),
                3 => insert(&mut self.argument_names, entry, 2, |text| strings.intern_bytes(text)),
                5 => insert(&mut self.functions, entry, 2, |text| strings.intern_bytes(text)),
                29 => insert(&mut self.texts, entry, 2, Box::from),
                6 => {
                    let (mut iid, mut frame) = (0, FrameIds::default());
                    for (number, value) in Fields::new(entry) {
                        match (number, value) {
                            (1, Value::Number(number)) => iid = number,
                            (2, Value::Number(number)) => frame.function = number,
                            (3, Value::Number(number)) => frame.mapping = number,
                            (4, Value::Number(number)) => frame.address = number,
                            (5, Value::Number(number)) => frame.source_path = number,
                            (6, Value::Number(number)) => frame.line = i64::try_from(number).ok(),
                            _ => {}
                        }
                    }
                    self.frames.insert(iid, || frame);
                }
                7 => {
                    let (iid, frames) = list(entry, 2);
                    self.stacks.insert(iid, || frames);
                }
                17 => insert(&mut self.mapping_paths, entry, 2, |text| strings.intern_bytes(text)),
                18 => insert(&mut self.source_paths, entry, 2, |text| strings.intern_bytes(text)),
                19 => {
                    let (iid, parts) = list(entry, 7);
                    self.mappings.insert(iid, || parts);
                }
                _ => {}
            }
        }
    }

    /// Names of the functions of a call stack, root first.
    pub fn stack<'a>(
        &'a self,
        iid: u64,
        strings: &'a StringTable,
    ) -> Option<impl DoubleEndedIterator<Item = &'a str>> {
        let name = |frame: &u64| {
            let function = self.frames.get(*frame).and_then(|frame| self.functions.get(frame.function));
            function.map_or(MISSING, |name| strings.get(*name))
        };
        Some(self.stacks.get(iid)?.iter().map(name))
    }
}

impl Sequence {
    /// A call stack as one of the trace; `None` if it was not in the trace.
    pub fn call_stack(&mut self, iid: u64, out: &mut TraceBuilder) -> Option<StackId> {
        if let Some(known) = self.known_stacks.get(&iid) {
            return Some(*known);
        }
        let mut stack = StackId::NONE;
        for frame in self.stacks.get(iid)? {
            let frame = self.frame(*frame, &mut out.trace.strings);
            stack = out.stack(stack, frame);
        }
        self.known_stacks.insert(iid, stack);
        Some(stack)
    }

    /// A frame. Without a function it is an address in its module.
    fn frame(&self, iid: u64, strings: &mut StringTable) -> Frame {
        let Some(ids) = self.frames.get(iid) else { return Frame::named(strings.intern(MISSING)) };
        let mut path = String::new();
        for part in self.mappings.get(ids.mapping).into_iter().flatten() {
            let part = self.mapping_paths.get(*part).map_or("", |part| strings.get(*part));
            if !path.is_empty() || !part.starts_with(['/', '[']) {
                path.push('/');
            }
            path.push_str(part);
        }
        let name = self.functions.get(ids.function).copied().filter(|name| *name != StringId::EMPTY);
        let name = name.unwrap_or_else(|| match path.rsplit('/').next() {
            Some(module) if !module.is_empty() => strings.intern(&format!("{module}+{:#x}", ids.address)),
            _ => strings.intern(MISSING),
        });
        Frame {
            module: if path.is_empty() { StringId::NONE } else { strings.intern(&path) },
            file: self.source_paths.get(ids.source_path).copied().unwrap_or(StringId::NONE),
            line: ids.line.filter(|line| *line > 0).unwrap_or(NO_LINE),
            ..Frame::named(name)
        }
    }
}

/// Id of an entry, and the numbers in field `field`.
fn list(entry: &[u8], field: u64) -> (u64, Vec<u64>) {
    let (mut iid, mut list) = (0, Vec::new());
    for (number, value) in Fields::new(entry) {
        match number {
            1 => iid = value.number().unwrap_or_default(),
            _ if number == field => value.numbers(|number| list.push(number)),
            _ => {}
        }
    }
    (iid, list)
}

/// Adds an entry with an id and a text in field `field`.
fn insert<'a, T>(table: &mut Interned<T>, entry: &'a [u8], field: u64, value: impl FnOnce(&'a [u8]) -> T) {
    let (mut iid, mut text) = (0, &[][..]);
    let mut fields = Fields::new(entry);
    while let Some((found, value)) = fields.next_keyed() {
        match value {
            Value::Number(number) if found == key::varint(1) => iid = number,
            Value::Bytes(bytes) if found == key::bytes(field) => text = bytes,
            _ => {}
        }
    }
    table.insert(iid, || value(text));
}

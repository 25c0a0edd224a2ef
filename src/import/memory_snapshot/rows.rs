//! Elements of a pickle's lists as rows of a [`MemorySnapshot`].
//!
//! Texts and stacks are numbers of the reader's own tables here; the reader maps them to those of the trace at the end.

use super::heap::{Heap, Reference, Role, Value};
use super::issues::*;
use crate::base::strings::{StringId, StringTable};
use crate::trace::memory_snapshot::{
    Action, Annotation, Block, BlockState, Event, MemorySnapshot, NO_TIME, Segment,
};
use crate::trace::samples::StackId;
use crate::trace::{IssueKind, Ledger, Position};
use std::ops::Range;

/// Rows so far.
pub struct Rows {
    pub snapshot: MemorySnapshot,
    /// Records and issues so far.
    pub ledger: Ledger,
    keys: Keys,
    actions: [(StringId, Action); Action::NAMED.len()],
}

macro_rules! keys {
    ($($name:ident),*) => {
        /// Numbers of the texts that have a meaning.
        struct Keys { $($name: StringId),* }

        impl Keys {
            fn new(strings: &mut StringTable) -> Keys {
                Keys { $($name: strings.intern(stringify!($name))),* }
            }
        }
    };
}

keys! {
    action, addr, device_free, size, stream, time_us, frames, user_metadata,
    device, address, total_size, allocated_size, active_size, requested_size, segment_type, segment_pool_id,
    is_expandable, blocks, state, history, real_size,
    stage, name, allocator_settings
}

/// Most devices.
const MAX_DEVICES: u32 = 4096;
/// Most settings of the allocator.
const MAX_SETTINGS: usize = 256;

type Pairs<'a> = &'a [(StringId, Value)];

/// The value of a key; the last one counts.
fn get(pairs: Pairs<'_>, key: StringId) -> Option<Value> {
    pairs.iter().rev().find(|(it, _)| *it == key).map(|(_, value)| *value)
}

fn int(pairs: Pairs<'_>, key: StringId) -> Option<i64> {
    get(pairs, key)?.int()
}

fn bytes(pairs: Pairs<'_>, key: StringId) -> Option<u64> {
    int(pairs, key).and_then(|value| u64::try_from(value).ok())
}

/// Number of the stack that a value is.
fn stack(value: Option<Value>) -> StackId {
    match value {
        Some(Value::Ref(Reference::Stack(number))) => StackId(number),
        _ => StackId::NONE,
    }
}

impl Rows {
    pub fn new(strings: &mut StringTable) -> Rows {
        Rows {
            snapshot: MemorySnapshot::default(),
            ledger: Ledger::default(),
            keys: Keys::new(strings),
            actions: Action::NAMED.map(|(name, action)| (strings.intern(name), action)),
        }
    }

    /// Notes that a device has a list of events.
    pub fn has_device(&mut self, device: u32) {
        let devices = &mut self.snapshot.devices;
        while devices.len() <= device as usize && device < MAX_DEVICES {
            devices.push(Default::default());
        }
    }

    /// Takes an element of a list; `range` is where it stands in the file.
    pub fn take(&mut self, role: Role, value: Value, range: Range<u64>, heap: &Heap, strings: &StringTable) {
        let pairs = heap.dict(value);
        match role {
            Role::Events(device) => self.event(device, value, pairs, range, strings),
            Role::Segments => self.segment(value, pairs, range, heap, strings),
            Role::Annotations => self.annotation(value, pairs, range, strings),
            Role::Plain | Role::Traces => {}
        }
    }

    fn event(
        &mut self,
        device: u32,
        value: Value,
        pairs: Option<Pairs<'_>>,
        range: Range<u64>,
        strings: &StringTable,
    ) {
        self.has_device(device);
        let Some(of_device) = self.snapshot.devices.get_mut(device as usize) else { return };
        let keys = &self.keys;
        let mut event = Event {
            action: Action::Skipped,
            address: 0,
            size: 0,
            stream: 0,
            time_us: NO_TIME,
            stack: StackId::NONE,
            metadata: StringId::NONE,
        };
        let name = pairs.and_then(|pairs| get(pairs, keys.action)).and_then(Value::text);
        let (Some(pairs), Some(name)) = (pairs, name) else {
            of_device.n_not_events += 1;
            of_device.events.push(event);
            let example = pairs.map_or_else(|| told(value, strings), |_| "no action".to_string());
            return skip(&mut self.ledger, &NOT_AN_EVENT, range, &example);
        };
        let action =
            self.actions.iter().find(|(text, _)| *text == name).map_or(Action::Other, |(_, action)| *action);
        let (mut address, mut free, mut size) = (None, None, None);
        for (key, value) in pairs {
            match *key {
                key if key == keys.addr => address = Some(*value),
                key if key == keys.device_free => free = Some(*value),
                key if key == keys.size => size = Some(*value),
                key if key == keys.stream => event.stream = value.int().unwrap_or(0),
                key if key == keys.time_us => event.time_us = value.int().unwrap_or(NO_TIME),
                key if key == keys.frames => event.stack = stack(Some(*value)),
                key if key == keys.user_metadata => {
                    let text = value.text().filter(|id| !strings.get(*id).is_empty());
                    event.metadata = text.unwrap_or(StringId::NONE);
                }
                _ => {}
            }
        }
        let is_oom = action == Action::Oom;
        let address = if is_oom { free.or(address) } else { address };
        // Marks need neither.
        let is_mark = matches!(action, Action::Snapshot | Action::WorkspaceSnapshot | Action::Other);
        let number = |value: Option<Value>, may_lack: bool| match value {
            Some(value) => value.int(),
            None => may_lack.then_some(0),
        };
        let (Some(address), Some(size)) =
            (number(address, is_mark || is_oom), number(size, is_mark).filter(|size| *size >= 0 || is_mark))
        else {
            of_device.n_bad_values += 1;
            of_device.events.push(event);
            return skip(&mut self.ledger, &BAD_VALUE, range, strings.get(name));
        };
        (event.action, event.address, event.size) = (action, address, size);
        of_device.events.push(event);
        match of_device.counts.iter_mut().find(|(text, _)| *text == name) {
            Some((_, n)) => *n += 1,
            None => of_device.counts.push((name, 1)),
        }
        self.ledger.keep(range.end - range.start);
        if action == Action::Other {
            let at = Position { byte: range.start, line: None };
            self.ledger.file(&UNKNOWN_ACTION, at, strings.get(name).as_bytes());
        }
    }

    fn segment(
        &mut self,
        value: Value,
        pairs: Option<Pairs<'_>>,
        range: Range<u64>,
        heap: &Heap,
        strings: &StringTable,
    ) {
        let keys = &self.keys;
        let device = pairs.map(|pairs| int(pairs, keys.device).unwrap_or(0));
        let device = device.and_then(|it| u32::try_from(it).ok()).filter(|it| *it < MAX_DEVICES);
        let (Some(pairs), Some(device)) = (pairs, device) else {
            return skip(&mut self.ledger, &NOT_A_SEGMENT, range, &told(value, strings));
        };
        let address = int(pairs, keys.address).unwrap_or(0);
        let pool = get(pairs, keys.segment_pool_id).and_then(|pool| match heap.elements(pool)? {
            [first, second] => Some((first.int()?, second.int()?)),
            _ => None,
        });
        let at = Position { byte: range.start, line: None };
        let (mut blocks, mut next) = (Vec::new(), address);
        for block in get(pairs, keys.blocks).and_then(|blocks| heap.elements(blocks)).unwrap_or_default() {
            let Some(pairs) = heap.dict(*block) else {
                self.ledger.file(&NOT_A_SEGMENT, at, told(*block, strings).as_bytes());
                continue;
            };
            let size = bytes(pairs, keys.size).unwrap_or(0);
            let state = get(pairs, keys.state).and_then(Value::text).map_or("", |id| strings.get(id));
            let state = match state {
                "active_allocated" => BlockState::Active,
                "active_awaiting_free" | "active_pending_free" => BlockState::AwaitingFree,
                "inactive" => BlockState::Inactive,
                other => {
                    self.ledger.file(&UNKNOWN_STATE, at, other.as_bytes());
                    BlockState::Inactive
                }
            };
            let address = int(pairs, keys.address).unwrap_or(next);
            next = address.saturating_add_unsigned(size);
            // PyTorch before 2.1 has what is live first in the history of the block (`_block_extra_legacy` in `_memory_viz.py`).
            let history = get(pairs, keys.history).and_then(|history| heap.elements(history)?.first());
            let live = history.and_then(|live| heap.dict(*live)).unwrap_or_default();
            let requested = bytes(pairs, keys.requested_size);
            blocks.push(Block {
                address,
                size,
                requested_size: requested.or_else(|| bytes(live, keys.real_size)).unwrap_or(0),
                state,
                stack: stack(get(pairs, keys.frames).or_else(|| get(live, keys.frames))),
            });
        }
        let sum = |is_in: fn(&Block) -> bool, size: fn(&Block) -> u64| {
            blocks.iter().filter(|it| is_in(it)).fold(0u64, |sum, it| sum.saturating_add(size(it)))
        };
        let or_sum = |key: StringId, is_in: fn(&Block) -> bool, size: fn(&Block) -> u64| {
            bytes(pairs, key).unwrap_or_else(|| sum(is_in, size))
        };
        let is_active = |it: &Block| it.state != BlockState::Inactive;
        let segment = Segment {
            device,
            address,
            total_size: or_sum(keys.total_size, |_| true, |it| it.size),
            allocated_size: or_sum(keys.allocated_size, |it| it.state == BlockState::Active, |it| it.size),
            active_size: or_sum(keys.active_size, is_active, |it| it.size),
            requested_size: or_sum(keys.requested_size, is_active, |it| it.requested_size),
            stream: int(pairs, keys.stream).unwrap_or(0),
            kind: get(pairs, keys.segment_type).and_then(Value::text).unwrap_or(StringId::NONE),
            pool: pool.unwrap_or((0, 0)),
            is_expandable: get(pairs, keys.is_expandable) == Some(Value::Bool(true)),
            stack: stack(get(pairs, keys.frames)),
            blocks,
        };
        self.snapshot.segments.push(segment);
        self.ledger.keep(range.end - range.start);
    }

    fn annotation(
        &mut self,
        value: Value,
        pairs: Option<Pairs<'_>>,
        range: Range<u64>,
        strings: &StringTable,
    ) {
        let keys = &self.keys;
        let annotation = pairs.and_then(|pairs| {
            let stage = strings.get(get(pairs, keys.stage)?.text()?);
            Some(Annotation {
                is_start: stage == "START",
                name: get(pairs, keys.name)?.text()?,
                device: int(pairs, keys.device).unwrap_or(0),
                time_us: int(pairs, keys.time_us).unwrap_or(NO_TIME),
            })
        });
        match annotation {
            Some(annotation) => {
                self.snapshot.annotations.push(annotation);
                self.ledger.keep(range.end - range.start);
            }
            None => skip(&mut self.ledger, &NOT_AN_ANNOTATION, range, &told(value, strings)),
        }
    }

    /// Takes the pairs of the outermost dict.
    pub fn finish(&mut self, pairs: Pairs<'_>, heap: &Heap, strings: &mut StringTable) {
        self.snapshot.keys = pairs.iter().map(|(key, _)| *key).collect();
        let settings = get(pairs, self.keys.allocator_settings).and_then(|value| heap.dict(value));
        for (key, value) in settings.unwrap_or_default().iter().take(MAX_SETTINGS) {
            match heap.dict(*value) {
                Some(pairs) => {
                    for (inner, value) in pairs.iter().take(MAX_SETTINGS) {
                        let name = format!("{}.{}", strings.get(*key), strings.get(*inner));
                        let value = told(*value, strings);
                        let setting = (strings.intern(&name), strings.intern(&value));
                        self.snapshot.settings.push(setting);
                    }
                }
                None => {
                    let value = told(*value, strings);
                    self.snapshot.settings.push((*key, strings.intern(&value)));
                }
            }
        }
    }
}

fn skip(ledger: &mut Ledger, kind: &'static IssueKind, range: Range<u64>, example: &str) {
    let at = Position { byte: range.start, line: None };
    ledger.skip_record(kind, at, range.end.saturating_sub(range.start), example.as_bytes());
}

/// A value as text.
fn told(value: Value, strings: &StringTable) -> String {
    match value {
        Value::None => "None".to_string(),
        Value::Bool(true) => "True".to_string(),
        Value::Bool(false) => "False".to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Ref(Reference::Text(id)) => strings.get(id).to_string(),
        Value::Ref(Reference::Opaque(name)) => match strings.get_opt(name) {
            Some(name) => format!("<{name}>"),
            None => "<bytes>".to_string(),
        },
        Value::Ref(_) => "…".to_string(),
    }
}

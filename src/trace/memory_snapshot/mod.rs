//! Snapshots of a GPU memory allocator: its events, and its segments with their blocks at the end.
//!
//! An allocator reserves *segments* from the driver and hands out *blocks* of them. Memory is *allocated* until the program frees
//! it, and *active* until the allocator has it again, which is later where another stream still uses it. Everything is by device;
//! sums over devices are never made here. Sizes are bytes. Definitions are those of PyTorch (`torch/cuda/_memory_viz.py`,
//! `c10/cuda/CUDACachingAllocator.h`).

mod live;

pub use live::Lifetime;

use super::samples::StackId;
use crate::base::strings::StringId;
use serde::{Deserialize, Serialize};

/// Time of an event without one.
pub const NO_TIME: i64 = i64::MIN;

/// A snapshot.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct MemorySnapshot {
    /// By number of the device.
    pub devices: Vec<Device>,
    /// In file order.
    pub segments: Vec<Segment>,
    pub annotations: Vec<Annotation>,
    /// Keys of the outermost dict, in file order.
    pub keys: Vec<StringId>,
    /// Settings of the allocator: name and value.
    pub settings: Vec<(StringId, StringId)>,
    /// The file ends early, so events may be missing between the last one and the segments, which are of the end.
    pub is_cut: bool,
}

/// Meaning of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Action {
    /// Memory is handed out; the size is what was asked for.
    Alloc,
    /// The program frees it.
    FreeRequested,
    /// The allocator has it again.
    FreeCompleted,
    /// Both at once, in old snapshots.
    Free,
    /// A segment is reserved from the driver.
    SegmentAlloc,
    /// A segment is returned to the driver.
    SegmentFree,
    /// A part of an expandable segment is reserved.
    SegmentMap,
    /// A part of an expandable segment is returned.
    SegmentUnmap,
    /// Out of memory: the address is the memory that was free on the device, the size what was asked for.
    Oom,
    Snapshot,
    WorkspaceSnapshot,
    /// An action of another name, not interpreted.
    Other,
    /// An entry that is no event, or has no valid address or size. It keeps its place so that indexes are those of the file.
    Skipped,
}

impl Action {
    pub const NAMED: [(&'static str, Action); 11] = [
        ("alloc", Action::Alloc),
        ("free_requested", Action::FreeRequested),
        ("free_completed", Action::FreeCompleted),
        ("free", Action::Free),
        ("segment_alloc", Action::SegmentAlloc),
        ("segment_free", Action::SegmentFree),
        ("segment_map", Action::SegmentMap),
        ("segment_unmap", Action::SegmentUnmap),
        ("oom", Action::Oom),
        ("snapshot", Action::Snapshot),
        ("workspace_snapshot", Action::WorkspaceSnapshot),
    ];

    /// Name in the file; `None` for those without a fixed one.
    pub fn name(self) -> Option<&'static str> {
        Action::NAMED.iter().find(|(_, action)| *action == self).map(|(name, _)| *name)
    }

    /// Whether it frees memory that was handed out.
    pub fn is_free(self) -> bool {
        matches!(self, Action::FreeRequested | Action::FreeCompleted | Action::Free)
    }
}

/// Events of a device in file order, which is the order in which they happened; one row for each entry of the list.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct EventColumns {
    pub action: Vec<Action>,
    pub address: Vec<i64>,
    pub size: Vec<i64>,
    pub stream: Vec<i64>,
    /// Microseconds since the Unix epoch; [`NO_TIME`] if not given. Not always ascending.
    pub time_us: Vec<i64>,
    pub stack: Vec<StackId>,
    /// Text that the program attached; [`StringId::NONE`] without one.
    pub metadata: Vec<StringId>,
}

/// One row of [`EventColumns`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    pub action: Action,
    pub address: i64,
    pub size: i64,
    pub stream: i64,
    pub time_us: i64,
    pub stack: StackId,
    pub metadata: StringId,
}

impl EventColumns {
    pub fn push(&mut self, event: Event) {
        self.action.push(event.action);
        self.address.push(event.address);
        self.size.push(event.size);
        self.stream.push(event.stream);
        self.time_us.push(event.time_us);
        self.stack.push(event.stack);
        self.metadata.push(event.metadata);
    }

    pub fn get(&self, row: usize) -> Event {
        Event {
            action: self.action[row],
            address: self.address[row],
            size: self.size[row],
            stream: self.stream[row],
            time_us: self.time_us[row],
            stack: self.stack[row],
            metadata: self.metadata[row],
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        (0..self.len()).map(|row| self.get(row))
    }

    pub fn len(&self) -> usize {
        self.action.len()
    }

    pub fn is_empty(&self) -> bool {
        self.action.is_empty()
    }

    fn is_sound(&self, is_stack: &impl Fn(&StackId) -> bool, is_text: &impl Fn(&StringId) -> bool) -> bool {
        let n = self.len();
        [self.address.len(), self.size.len(), self.stream.len(), self.time_us.len()] == [n; 4]
            && [self.stack.len(), self.metadata.len()] == [n; 2]
            && self.stack.iter().all(is_stack)
            && self.metadata.iter().all(is_text)
    }
}

/// One device: its events, and what they add up to.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Device {
    pub events: EventColumns,
    /// Events by the name of their action, in order of first appearance; without skipped entries.
    pub counts: Vec<(StringId, u64)>,
    /// Entries that are no events.
    pub n_not_events: u64,
    /// Events without a valid address or size.
    pub n_bad_values: u64,
    /// Memory handed out where something was live.
    pub n_alloc_over_live: u64,
    /// Frees of what is not live.
    pub n_free_of_unknown: u64,
    /// Bytes live before the first event.
    pub live_before: u64,
    pub peak: Peak,
    /// Most bytes allocated at once.
    pub peak_allocated: u64,
    /// Bytes active after the last event.
    pub active_at_end: u64,
    /// Bytes that were allocated by events in total, and how often.
    pub allocated_total: Amount,
    /// By stack and attached text, in order of first appearance.
    pub uses: Vec<Use>,
    /// Reserved bytes before the first event, so that they are the sum of the segments at the end.
    pub reserved_at_start: i64,
    /// Segments or events are missing, so `reserved_at_start` is the least that the events need.
    pub is_reserved_least: bool,
}

/// When the most bytes are active.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Peak {
    pub bytes: u64,
    /// First event that reaches it, as an index into the events; `None` before the first event.
    pub event: Option<u64>,
    /// Microseconds since the Unix epoch.
    pub time_us: Option<i64>,
}

/// Bytes and allocations.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Amount {
    pub bytes: u64,
    pub n: u64,
}

impl Amount {
    pub fn add(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.n += 1;
    }

    pub fn plus(self, other: Amount) -> Amount {
        Amount { bytes: self.bytes.saturating_add(other.bytes), n: self.n.saturating_add(other.n) }
    }
}

/// Memory by the stack that allocated it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Use {
    pub stack: StackId,
    /// Text that the program attached to the event; [`StringId::NONE`] without one.
    pub metadata: StringId,
    pub at_peak: Amount,
    /// Allocated by an event and live after the last one.
    pub never_freed: Amount,
    /// Live before the first event and after the last one.
    pub left_from_before: Amount,
    /// Allocated by events.
    pub allocated: Amount,
}

impl Use {
    /// Live after the last event.
    pub fn at_end(&self) -> Amount {
        self.never_freed.plus(self.left_from_before)
    }
}

/// Memory reserved from the driver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Segment {
    pub device: u32,
    pub address: i64,
    pub total_size: u64,
    /// As the allocator states it, else by blocks: handed out and not freed by the program.
    pub allocated_size: u64,
    /// Likewise: handed out and not back yet.
    pub active_size: u64,
    /// Likewise: what was asked for.
    pub requested_size: u64,
    pub stream: i64,
    /// `large` or `small`.
    pub kind: StringId,
    /// Pool: 0, 0 is the default one, others belong to CUDA graphs or the program.
    pub pool: (i64, i64),
    pub is_expandable: bool,
    pub stack: StackId,
    pub blocks: Vec<Block>,
}

/// State of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum BlockState {
    Active,
    /// Freed by the program, still used by a stream.
    AwaitingFree,
    Inactive,
}

/// Part of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Block {
    pub address: i64,
    pub size: u64,
    pub requested_size: u64,
    pub state: BlockState,
    pub stack: StackId,
}

impl Segment {
    /// What was asked for; `None` if the file doesn't have it, as in PyTorch before 2.1: no active block was asked for with 0 bytes.
    pub fn requested(&self) -> Option<u64> {
        (self.requested_size > 0 || self.active_size == 0).then_some(self.requested_size)
    }

    /// Whether its blocks are known: they fill it.
    pub fn has_blocks(&self) -> bool {
        self.blocks.iter().fold(0u64, |sum, it| sum.saturating_add(it.size)) >= self.total_size
    }

    /// Inactive blocks: their bytes, their number and the largest one.
    pub fn inactive(&self) -> (u64, u64, u64) {
        let sizes = self.blocks.iter().filter(|block| block.state == BlockState::Inactive).map(|it| it.size);
        sizes.fold((0, 0, 0), |(sum, n, largest), size| (size.saturating_add(sum), n + 1, size.max(largest)))
    }
}

/// Start or end of a range that the program named.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Annotation {
    pub is_start: bool,
    pub name: StringId,
    pub device: i64,
    /// Microseconds since the Unix epoch; [`NO_TIME`] if not given.
    pub time_us: i64,
}

impl MemorySnapshot {
    /// Whether no stack or text is out of bounds, and columns are of one length: it may come from untrusted data.
    pub fn is_sound(&self, n_stacks: usize, n_strings: usize) -> bool {
        let is_stack = |id: &StackId| *id == StackId::NONE || (id.0 as usize) < n_stacks;
        let is_text = |id: &StringId| id.is_none() || (id.0 as usize) < n_strings;
        self.devices.iter().all(|device| {
            device.events.is_sound(&is_stack, &is_text)
                && device.uses.iter().all(|it| is_stack(&it.stack) && is_text(&it.metadata))
                && device.counts.iter().all(|(name, _)| is_text(name))
                && device.peak.event.is_none_or(|row| (row as usize) < device.events.len())
        }) && self.segments.iter().all(|segment| {
            is_text(&segment.kind)
                && is_stack(&segment.stack)
                && segment.blocks.iter().all(|block| is_stack(&block.stack))
        }) && self.annotations.iter().all(|it| is_text(&it.name))
            && self.keys.iter().all(is_text)
            && self.settings.iter().all(|(name, value)| is_text(name) && is_text(value))
    }

    /// Calls `each` with every text.
    pub fn for_each_text(&mut self, mut each: impl FnMut(&mut StringId)) {
        for device in &mut self.devices {
            device.events.metadata.iter_mut().for_each(&mut each);
            device.counts.iter_mut().for_each(|(name, _)| each(name));
            device.uses.iter_mut().for_each(|it| each(&mut it.metadata));
        }
        self.segments.iter_mut().for_each(|it| each(&mut it.kind));
        self.annotations.iter_mut().for_each(|it| each(&mut it.name));
        self.keys.iter_mut().for_each(&mut each);
        for (name, value) in &mut self.settings {
            each(name);
            each(value);
        }
    }

    /// Calls `each` with every stack.
    pub fn for_each_stack(&mut self, mut each: impl FnMut(&mut StackId)) {
        for device in &mut self.devices {
            device.events.stack.iter_mut().for_each(&mut each);
            device.uses.iter_mut().for_each(|it| each(&mut it.stack));
        }
        for segment in &mut self.segments {
            each(&mut segment.stack);
            segment.blocks.iter_mut().for_each(|it| each(&mut it.stack));
        }
    }

    /// Whether any device has events. Without, no history was recorded, so only what was live at the end is known: the peak, what
    /// was live before and what was allocated are not.
    pub fn has_events(&self) -> bool {
        self.devices.iter().any(|device| !device.events.is_empty())
    }

    /// Whether several devices have memory in use at some time.
    pub fn has_several_devices(&self) -> bool {
        self.devices.iter().filter(|device| !device.uses.is_empty()).nth(1).is_some()
    }

    /// Whether the segments of a device say what is reserved at the end.
    pub fn knows_reserved(&self, number: usize) -> bool {
        let has_segments = self.segments_of(number).next().is_some();
        has_segments || self.devices.get(number).is_none_or(|device| !device.is_reserved_least)
    }

    /// Segments of a device.
    pub fn segments_of(&self, device: usize) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(move |segment| segment.device as usize == device)
    }
}

/// Bytes of a device at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    pub active: u64,
    /// Least bytes of the blocks that are active: the allocator rounds up what is asked for.
    pub in_blocks: u64,
    pub allocated: u64,
    /// Reserved from the driver.
    pub reserved: i64,
}

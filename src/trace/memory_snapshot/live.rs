//! What was live when, from the events of a device in their order.
//!
//! ```text
//!        alloc    free_requested   free_completed
//! active   ├────────────┼────────────────┤
//! allocated├────────────┤
//! ```
//!
//! The history is a ring buffer whose oldest events are gone. Live before its first event is what is freed without having been
//! allocated in it, and what the segments have at the end without any event.

use super::{
    Action, Amount, Block, BlockState, Device, EventColumns, MemorySnapshot, NO_TIME, Peak, Segment, Usage,
    Use,
};
use crate::base::hash::{HashMap, HashSet};
use crate::base::sort;
use crate::base::strings::StringId;
use crate::trace::samples::StackId;

/// Memory that is live.
#[derive(Clone, Copy)]
struct Allocation {
    size: u64,
    stack: StackId,
    metadata: StringId,
    /// Event that allocated it; `None` before the first event.
    start: Option<usize>,
    /// The program freed it.
    is_freed: bool,
}

/// An allocation, and how long it is active.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lifetime {
    pub address: i64,
    pub size: u64,
    /// As in [`Use`].
    pub stack: StackId,
    /// Event that allocated it; `None` before the first event.
    pub start: Option<usize>,
    /// Event that gave it back to the allocator; `None` if it is active after the last one.
    pub end: Option<usize>,
}

impl Lifetime {
    fn new(address: i64, it: &Allocation, end: Option<usize>) -> Lifetime {
        Lifetime { address, size: it.size, stack: it.stack, start: it.start, end }
    }

    /// Whether it is active right after an event; before the first one with `None`.
    pub fn is_active_after(&self, event: Option<usize>) -> bool {
        // `None` is less than any event.
        self.start <= event && self.end.is_none_or(|end| Some(end) > event)
    }
}

/// State of a device between two events.
#[derive(Default)]
struct Live {
    by_address: HashMap<i64, Allocation>,
    active: u64,
    /// As in [`Usage`].
    in_blocks: u64,
    allocated: u64,
}

/// Sizes of blocks are multiples of this, in bytes.
const BLOCK_UNIT: u64 = 512;

/// Least size of the block of an allocation.
fn in_block(size: u64) -> u64 {
    size.checked_next_multiple_of(BLOCK_UNIT).unwrap_or(size)
}

impl Live {
    fn add(&mut self, address: i64, it: Allocation) {
        self.active = self.active.saturating_add(it.size);
        self.in_blocks = self.in_blocks.saturating_add(in_block(it.size));
        if !it.is_freed {
            self.allocated = self.allocated.saturating_add(it.size);
        }
        self.by_address.insert(address, it);
    }

    /// Ends an allocation; whether there was one.
    fn end(&mut self, address: i64) -> bool {
        let Some(it) = self.by_address.remove(&address) else { return false };
        self.active = self.active.saturating_sub(it.size);
        self.in_blocks = self.in_blocks.saturating_sub(in_block(it.size));
        if !it.is_freed {
            self.allocated = self.allocated.saturating_sub(it.size);
        }
        true
    }

    fn usage(&self, reserved: i64) -> Usage {
        let Live { active, in_blocks, allocated, .. } = *self;
        Usage { active, in_blocks, allocated, reserved }
    }

    /// The program frees an allocation; whether there was one that it had not freed.
    fn request(&mut self, address: i64) -> bool {
        match self.by_address.get_mut(&address).filter(|it| !it.is_freed) {
            Some(it) => {
                it.is_freed = true;
                self.allocated = self.allocated.saturating_sub(it.size);
                true
            }
            None => false,
        }
    }
}

impl MemorySnapshot {
    /// Adds what the events of each device add up to. Devices that only segments name are added.
    pub fn add_up(&mut self) {
        let MemorySnapshot { devices, segments, is_cut, .. } = self;
        if let Some(last) = segments.iter().map(|segment| segment.device as usize).max() {
            while devices.len() <= last {
                devices.push(Device::default());
            }
        }
        for (number, device) in devices.iter_mut().enumerate() {
            let own: Vec<&Segment> = segments.iter().filter(|it| it.device as usize == number).collect();
            add_up_device(device, &own, *is_cut);
        }
    }

    /// Calls `each` with the usage before the first event of a device, and with the index of each event and the usage after it.
    pub fn replay(&self, number: usize, mut each: impl FnMut(Option<usize>, Usage)) {
        let Some(device) = self.devices.get(number) else { return };
        let own: Vec<&Segment> = self.segments_of(number).collect();
        let mut live = before_first_event(&device.events, of_the_end(&own, self.is_cut));
        let mut reserved = device.reserved_at_start;
        each(None, live.usage(reserved));
        for row in 0..device.events.len() {
            apply(&mut live, &device.events, row);
            reserved = reserved.saturating_add(change_of_reserved(&device.events, row));
            each(Some(row), live.usage(reserved));
        }
    }

    /// Calls `each` with every allocation of a device: in order of their ends, then those active after the last event, by address.
    pub fn for_each_allocation(&self, number: usize, mut each: impl FnMut(Lifetime)) {
        let Some(device) = self.devices.get(number) else { return };
        let events = &device.events;
        let own: Vec<&Segment> = self.segments_of(number).collect();
        let mut live = before_first_event(events, of_the_end(&own, self.is_cut));
        for row in 0..events.len() {
            let address = events.address[row];
            let ends = matches!(events.action[row], Action::Alloc | Action::FreeCompleted | Action::Free);
            if let Some(it) = live.by_address.get(&address).filter(|_| ends) {
                each(Lifetime::new(address, it, Some(row)));
            }
            apply(&mut live, events, row);
        }
        let mut left: Vec<Lifetime> =
            live.by_address.iter().map(|(address, it)| Lifetime::new(*address, it, None)).collect();
        sort::by_key(&mut left, |it| it.address);
        left.into_iter().for_each(each);
    }
}

/// Bytes that an event reserves from the driver, below 0 if it returns them.
fn change_of_reserved(events: &EventColumns, row: usize) -> i64 {
    match events.action[row] {
        Action::SegmentAlloc | Action::SegmentMap => events.size[row],
        Action::SegmentFree | Action::SegmentUnmap => events.size[row].saturating_neg(),
        _ => 0,
    }
}

fn add_up_device(device: &mut Device, segments: &[&Segment], is_cut: bool) {
    let before = before_first_event(&device.events, of_the_end(segments, is_cut));
    let (mut balance, mut least) = (0_i64, bytes(before.in_blocks));
    device.live_before = before.active;
    let uses = &mut Uses::default();
    let at_start: Vec<(i64, Allocation)> = before.by_address.iter().map(|(at, it)| (*at, *it)).collect();

    let mut peak = Peak { bytes: before.active, event: None, time_us: None };
    let mut peak_allocated = before.allocated;
    let (mut n_over, mut n_unknown) = (0, 0);
    let mut live = before;
    for row in 0..device.events.len() {
        match apply(&mut live, &device.events, row) {
            Oddity::None => {}
            Oddity::AllocOverLive => n_over += 1,
            Oddity::FreeOfUnknown => n_unknown += 1,
        }
        balance = balance.saturating_add(change_of_reserved(&device.events, row));
        least = least.max(bytes(live.in_blocks).saturating_sub(balance));
        if live.active > peak.bytes {
            let time = device.events.time_us[row];
            let time_us = (time != NO_TIME).then_some(time);
            peak = Peak { bytes: live.active, event: Some(row as u64), time_us };
        }
        peak_allocated = peak_allocated.max(live.allocated);
        if device.events.action[row] == Action::Alloc {
            let event = device.events.get(row);
            uses.get(event.stack, event.metadata).allocated.add(event.size.max(0) as u64);
        }
    }
    for it in live.by_address.values() {
        let own = uses.get(it.stack, it.metadata);
        if it.start.is_none() { own.left_from_before.add(it.size) } else { own.never_freed.add(it.size) }
    }
    device.active_at_end = live.active;

    // Once more up to the peak, to see what lived then.
    let mut live = Live::default();
    at_start.into_iter().for_each(|(at, it)| live.add(at, it));
    let n_events = peak.event.map_or(0, |row| row as usize + 1);
    for row in 0..n_events {
        apply(&mut live, &device.events, row);
    }
    for it in live.by_address.values() {
        uses.get(it.stack, it.metadata).at_peak.add(it.size);
    }
    (device.n_alloc_over_live, device.n_free_of_unknown) = (n_over, n_unknown);
    (device.peak, device.peak_allocated) = (peak, peak_allocated);
    device.uses = uses.in_order();
    device.allocated_total = device.uses.iter().fold(Amount::default(), |sum, it| sum.plus(it.allocated));

    let reserved = segments.iter().fold(0i64, |sum, it| sum.saturating_add_unsigned(it.total_size));
    let start = reserved.saturating_sub(balance);
    device.is_reserved_least = is_cut || (segments.is_empty() && (device.active_at_end > 0 || start < least));
    device.reserved_at_start = if device.is_reserved_least { least } else { start };
}

fn bytes(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The segments after the last event; none if events are missing between, which may have allocated what is in them.
fn of_the_end<'a, 'b>(segments: &'a [&'b Segment], is_cut: bool) -> &'a [&'b Segment] {
    if is_cut { &[] } else { segments }
}

enum Oddity {
    None,
    AllocOverLive,
    FreeOfUnknown,
}

/// Applies an event.
fn apply(live: &mut Live, events: &EventColumns, row: usize) -> Oddity {
    let address = events.address[row];
    let is_known = match events.action[row] {
        Action::Alloc => {
            let was_live = live.end(address);
            live.add(
                address,
                Allocation {
                    size: events.size[row].max(0) as u64,
                    stack: events.stack[row],
                    metadata: events.metadata[row],
                    start: Some(row),
                    is_freed: false,
                },
            );
            return if was_live { Oddity::AllocOverLive } else { Oddity::None };
        }
        Action::FreeRequested => live.request(address),
        Action::FreeCompleted | Action::Free => live.end(address),
        _ => return Oddity::None,
    };
    if is_known { Oddity::None } else { Oddity::FreeOfUnknown }
}

fn before_first_event(events: &EventColumns, segments: &[&Segment]) -> Live {
    let mut live = Live::default();
    let mut seen: HashSet<i64> = HashSet::default();
    for row in 0..events.len() {
        let (action, address) = (events.action[row], events.address[row]);
        // What is allocated first was not there before, so its later frees do not count either.
        let is_first = (action == Action::Alloc || action.is_free()) && seen.insert(address);
        if !is_first || action == Action::Alloc {
            continue;
        }
        let it = Allocation {
            size: events.size[row].max(0) as u64,
            stack: events.stack[row],
            metadata: events.metadata[row],
            start: None,
            is_freed: action == Action::FreeCompleted,
        };
        live.add(address, it);
    }
    let is_live = |block: &&Block| block.state != BlockState::Inactive;
    for block in segments.iter().flat_map(|segment| &segment.blocks).filter(is_live) {
        if seen.insert(block.address) {
            let it = Allocation {
                size: if block.requested_size == 0 { block.size } else { block.requested_size },
                stack: block.stack,
                metadata: StringId::NONE,
                start: None,
                is_freed: block.state == BlockState::AwaitingFree,
            };
            live.add(block.address, it);
        }
    }
    live
}

/// Memory by stack and attached text.
#[derive(Default)]
struct Uses {
    rows: Vec<Use>,
    number_of: HashMap<(StackId, StringId), usize>,
}

impl Uses {
    fn get(&mut self, stack: StackId, metadata: StringId) -> &mut Use {
        let number = *self.number_of.entry((stack, metadata)).or_insert_with(|| {
            let none = Amount::default();
            self.rows.push(Use {
                stack,
                metadata,
                at_peak: none,
                never_freed: none,
                left_from_before: none,
                allocated: none,
            });
            self.rows.len() - 1
        });
        &mut self.rows[number]
    }

    /// By stack and text, whatever the order of the maps.
    fn in_order(&mut self) -> Vec<Use> {
        let mut rows = std::mem::take(&mut self.rows);
        sort::by_key(&mut rows, |it| (it.stack.0, it.metadata.0));
        rows
    }
}

//! Events as they stand in a file, before begins are paired with ends.

use super::args::ArgsId;
use super::tracks::ThreadId;
use crate::base::strings::StringId;

/// What an event says, named after the phases of the Trace Event Format, which has the most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Phase {
    /// `X`
    Complete,
    /// `B`
    Begin,
    /// `E`
    End,
    /// `i`, `I`, `R`
    Instant,
    /// `b`
    AsyncBegin,
    /// `n`
    AsyncInstant,
    /// `e`
    AsyncEnd,
    /// `S`
    LegacyStart,
    /// `T` without a duration
    LegacyStepInto,
    /// `p`
    LegacyStepPast,
    /// `F`
    LegacyFinish,
    /// `T` with a duration
    ThreadState,
    /// `C`
    Counter,
    /// `s`
    FlowStart,
    /// `t`
    FlowStep,
    /// `f`
    FlowEnd,
    /// `P`
    Sample,
    /// `M`
    Metadata,
    /// `N`
    ObjectCreated,
    /// `O`
    ObjectSnapshot,
    /// `D`
    ObjectDestroyed,
    /// `v`
    ProcessMemoryDump,
    /// `V`
    GlobalMemoryDump,
    /// `c`
    ClockSync,
}

/// What else is known of an event, one bit each.
pub mod flag {
    /// The event names its process.
    pub const HAS_PID: u8 = 1;
    /// The event names its thread.
    pub const HAS_TID: u8 = 1 << 1;
    /// An instant of its process.
    pub const PROCESS_SCOPE: u8 = 1 << 2;
    /// An instant of the whole trace.
    pub const GLOBAL_SCOPE: u8 = 1 << 3;
    /// A flow end binds to the slice around it, not to the next one.
    pub const BIND_ENCLOSING: u8 = 1 << 4;
    /// An arrow of the event's `bind_id` ends here.
    pub const FLOW_IN: u8 = 1 << 5;
    /// An arrow of the event's `bind_id` starts here.
    pub const FLOW_OUT: u8 = 1 << 6;
    /// Reading has changed something in the event, and its record counts as repaired.
    pub const REPAIRED: u8 = 1 << 7;
}

/// An id as written; `1` and `"0x1"` differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum EventKey {
    #[default]
    None,
    Int(i64),
    Text(StringId),
}

/// Members that few events have.
#[derive(Clone, Debug)]
pub struct EventExtra {
    pub id: EventKey,
    /// The id counts within its process only.
    pub id_is_local: bool,
    pub scope: StringId,
    pub bind_id: EventKey,
    /// Names of stack frames at the start and at the end.
    pub start_frame: StringId,
    pub end_frame: StringId,
    /// Raw JSON array of frames, leaf first.
    pub stack: ArgsId,
}

impl Default for EventExtra {
    fn default() -> Self {
        EventExtra {
            id: EventKey::None,
            id_is_local: false,
            scope: StringId::NONE,
            bind_id: EventKey::None,
            start_frame: StringId::NONE,
            end_frame: StringId::NONE,
            stack: ArgsId::NONE,
        }
    }
}

/// [`EventTable::extra`] of an event without rare members.
pub const NO_EXTRA: u32 = u32::MAX;

/// Raw timeline events in file order.
#[derive(Clone, Default)]
pub struct EventTable {
    /// Nanoseconds on the trace's own clock.
    pub ts: Vec<i64>,
    /// Nanoseconds, not negative; 0 where the phase has none.
    pub dur: Vec<i64>,
    pub phase: Vec<Phase>,
    /// Bits of [`flag`].
    pub flags: Vec<u8>,
    pub thread: Vec<ThreadId>,
    /// [`StringId::EMPTY`] if it has none.
    pub name: Vec<StringId>,
    /// [`StringId::NONE`] if it has none.
    pub category: Vec<StringId>,
    pub args: Vec<ArgsId>,
    /// Byte in the decompressed file where the event starts.
    pub offset: Vec<u64>,
    /// Bytes of the event in the file.
    pub len: Vec<u32>,
    /// Index into `extras`, or [`NO_EXTRA`].
    pub extra: Vec<u32>,
    pub extras: Vec<EventExtra>,
    /// Sparse, sorted by event: CPU time of the thread, and CPU duration if given.
    pub thread_time: Vec<(u32, i64, Option<i64>)>,
}

/// One row of an [`EventTable`].
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub ts: i64,
    pub dur: i64,
    pub phase: Phase,
    pub flags: u8,
    pub thread: ThreadId,
    pub name: StringId,
    pub category: StringId,
    pub args: ArgsId,
    pub offset: u64,
    pub len: u32,
}

impl EventTable {
    pub fn n_events(&self) -> usize {
        self.ts.len()
    }

    /// Makes room for `n` more events.
    pub fn reserve_exact(&mut self, n: usize) {
        self.ts.reserve_exact(n);
        self.dur.reserve_exact(n);
        self.phase.reserve_exact(n);
        self.flags.reserve_exact(n);
        self.thread.reserve_exact(n);
        self.name.reserve_exact(n);
        self.category.reserve_exact(n);
        self.args.reserve_exact(n);
        self.offset.reserve_exact(n);
        self.len.reserve_exact(n);
        self.extra.reserve_exact(n);
    }

    /// Adds an event; gives its index.
    #[inline]
    pub fn push(&mut self, event: Event, extra: Option<EventExtra>) -> u32 {
        self.ts.push(event.ts);
        self.dur.push(event.dur);
        self.phase.push(event.phase);
        self.flags.push(event.flags);
        self.thread.push(event.thread);
        self.name.push(event.name);
        self.category.push(event.category);
        self.args.push(event.args);
        self.offset.push(event.offset);
        self.len.push(event.len);
        match extra {
            None => self.extra.push(NO_EXTRA),
            Some(extra) => {
                self.extra.push(self.extras.len() as u32);
                self.extras.push(extra);
            }
        }
        self.ts.len() as u32 - 1
    }

    /// The rare members of an event.
    #[inline]
    pub fn extra_of(&self, index: usize) -> Option<&EventExtra> {
        self.extras.get(*self.extra.get(index)? as usize)
    }

    /// CPU time of the thread, and CPU duration if given.
    #[inline]
    pub fn thread_time_of(&self, index: u32) -> Option<(i64, Option<i64>)> {
        if self.thread_time.is_empty() {
            return None;
        }
        let at = self.thread_time.binary_search_by_key(&index, |row| row.0).ok()?;
        self.thread_time.get(at).map(|row| (row.1, row.2))
    }
}

/// A stack frame as a file names it, before parents are resolved.
#[derive(Clone, Copy, Debug)]
pub struct NamedFrame {
    pub name: StringId,
    pub module: StringId,
    /// Name of the parent frame; [`StringId::NONE`] at the root.
    pub parent: StringId,
}

/// A sample from a list apart from the events.
#[derive(Clone, Copy, Debug)]
pub struct ListedSample {
    pub ts: i64,
    pub process: Option<super::tracks::ProcessId>,
    pub thread_key: super::tracks::Key,
    pub name: StringId,
    pub frame: StringId,
    pub weight: f64,
    pub offset: u64,
    pub len: u32,
}

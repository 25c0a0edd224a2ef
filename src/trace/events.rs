//! Events as in the file, before begins are paired with ends.

use super::args::ArgsPlace;
use super::tracks::ThreadId;
use crate::base::strings::StringId;
use bytemuck::{CheckedBitPattern, NoUninit};
use serde::{Deserialize, Serialize};

/// Kind of an event, named after the phases of the Trace Event Format, which has the most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, NoUninit, CheckedBitPattern)]
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

impl Phase {
    /// The phase with the highest number.
    pub const LAST: Phase = Phase::ClockSync;

    /// Whether pairing needs the arguments.
    pub fn needs_args(self) -> bool {
        matches!(
            self,
            Phase::Counter | Phase::Metadata | Phase::LegacyStepInto | Phase::LegacyStepPast | Phase::Sample
        )
    }
}

/// Flags of an event, one bit each.
pub mod flag {
    /// The event names its process.
    pub const HAS_PID: u16 = 1;
    /// The event names its thread.
    pub const HAS_TID: u16 = 1 << 1;
    /// Instant of its process.
    pub const PROCESS_SCOPE: u16 = 1 << 2;
    /// Instant of the whole trace.
    pub const GLOBAL_SCOPE: u16 = 1 << 3;
    /// A flow end binds to the enclosing slice, not to the next one.
    pub const BIND_ENCLOSING: u16 = 1 << 4;
    /// An arrow of the event's `bind_id` ends here.
    pub const FLOW_IN: u16 = 1 << 5;
    /// An arrow of the event's `bind_id` starts here.
    pub const FLOW_OUT: u16 = 1 << 6;
    /// The event was changed while reading, and its record counts as repaired.
    pub const REPAIRED: u16 = 1 << 7;
    /// The id is an integer, global to the trace, and stored in [`super::Event::dur`].
    pub const INT_ID: u16 = 1 << 8;
    /// The duration is missing or invalid, and counts as 0.
    pub const NO_DURATION: u16 = 1 << 9;

    /// All flags.
    pub const ALL: u16 = (NO_DURATION << 1) - 1;
}

/// An id as written; `1` and `"0x1"` differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
pub enum EventKey {
    #[default]
    None,
    Int(i64),
    Text(StringId),
    /// A number that [`EventKey::Int`] cannot represent, as written: beyond 64 bits, or with a fraction.
    Digits(StringId),
}

/// An id and its scope.
#[derive(Clone, Copy, Debug)]
pub struct EventId {
    pub key: EventKey,
    /// The id is local to its process.
    pub is_local: bool,
    /// [`StringId::NONE`] if it has none.
    pub scope: StringId,
}

impl EventId {
    /// Id of an event with these flags, duration and rare members.
    pub fn of(flags: u16, dur: i64, extra: Option<&EventExtra>) -> EventId {
        if flags & flag::INT_ID != 0 {
            return EventId { key: EventKey::Int(dur), is_local: false, scope: StringId::NONE };
        }
        match extra {
            Some(extra) => EventId { key: extra.id, is_local: extra.id_is_local, scope: extra.scope },
            None => EventId { key: EventKey::None, is_local: false, scope: StringId::NONE },
        }
    }
}

/// Members that few events have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EventExtra {
    pub id: EventKey,
    /// The id is local to its process.
    pub id_is_local: bool,
    pub scope: StringId,
    pub bind_id: EventKey,
    /// Names of stack frames at the start and at the end.
    pub start_frame: StringId,
    pub end_frame: StringId,
    /// Raw JSON array of frames, leaf first.
    pub stack: ArgsPlace,
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
            stack: ArgsPlace::NONE,
        }
    }
}

/// [`Event::extra`] of an event without rare members.
pub const NO_EXTRA: u32 = u32::MAX;

/// One event of an [`EventTable`](super::event_table::EventTable) at full size. Plain numbers without padding, so that events
/// can be sent between workers as bytes.
#[derive(Clone, Copy, Debug, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub struct Event {
    /// Nanoseconds on the trace's own clock.
    pub ts: i64,
    /// Nanoseconds, not negative; 0 if the phase has none. Holds the id instead with [`flag::INT_ID`].
    pub dur: i64,
    /// Offset of the event in the decompressed file.
    pub offset: u64,
    /// Bytes of the event in the file.
    pub len: u32,
    /// Bytes from the start of the event to its arguments, and their length; 0 if there are none.
    pub args_at: u32,
    pub args_len: u32,
    pub thread: ThreadId,
    /// [`StringId::EMPTY`] if it has none.
    pub name: StringId,
    /// [`StringId::NONE`] if it has none.
    pub category: StringId,
    /// Index into [`EventTable::extras`](super::event_table::EventTable::extras), or [`NO_EXTRA`].
    pub extra: u32,
    pub phase: Phase,
    /// Explicit padding.
    pub unused: u8,
    /// Bits of [`flag`].
    pub flags: u16,
}

impl Event {
    /// Place of its arguments.
    pub fn args(&self) -> ArgsPlace {
        ArgsPlace { offset: self.offset + u64::from(self.args_at), len: self.args_len }
    }
}

/// Stack frame as in the file, before parents are resolved.
#[derive(Clone, Copy, Debug)]
pub struct NamedFrame {
    pub name: StringId,
    pub module: StringId,
    /// Name of the parent frame; [`StringId::NONE`] at the root.
    pub parent: StringId,
}

/// Sample from a separate list.
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

//! Events as they stand in a file, before begins are paired with ends.

use super::args::ArgsPlace;
use super::tracks::ThreadId;
use crate::base::strings::StringId;
use bytemuck::{CheckedBitPattern, NoUninit};
use serde::{Deserialize, Serialize};

/// What an event says, named after the phases of the Trace Event Format, which has the most.
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
    /// Whether pairing looks into the arguments.
    pub fn needs_args(self) -> bool {
        matches!(
            self,
            Phase::Counter | Phase::Metadata | Phase::LegacyStepInto | Phase::LegacyStepPast | Phase::Sample
        )
    }
}

/// What else is known of an event, one bit each.
pub mod flag {
    /// The event names its process.
    pub const HAS_PID: u16 = 1;
    /// The event names its thread.
    pub const HAS_TID: u16 = 1 << 1;
    /// An instant of its process.
    pub const PROCESS_SCOPE: u16 = 1 << 2;
    /// An instant of the whole trace.
    pub const GLOBAL_SCOPE: u16 = 1 << 3;
    /// A flow end binds to the slice around it, not to the next one.
    pub const BIND_ENCLOSING: u16 = 1 << 4;
    /// An arrow of the event's `bind_id` ends here.
    pub const FLOW_IN: u16 = 1 << 5;
    /// An arrow of the event's `bind_id` starts here.
    pub const FLOW_OUT: u16 = 1 << 6;
    /// Reading has changed something in the event, and its record counts as repaired.
    pub const REPAIRED: u16 = 1 << 7;
    /// The id is a whole number, counts for the whole trace, and stands in [`super::Event::dur`].
    pub const INT_ID: u16 = 1 << 8;
    /// The duration is missing or makes no sense, and counts as 0.
    pub const NO_DURATION: u16 = 1 << 9;
}

/// An id as written; `1` and `"0x1"` differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
pub enum EventKey {
    #[default]
    None,
    Int(i64),
    Text(StringId),
}

/// An id and within what it counts.
#[derive(Clone, Copy, Debug)]
pub struct EventId {
    pub key: EventKey,
    /// It counts within its process only.
    pub is_local: bool,
    /// [`StringId::NONE`] if it has none.
    pub scope: StringId,
}

/// Members that few events have.
#[derive(Clone, Debug, Serialize, Deserialize)]
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

/// One event of an [`EventTable`]. Made of plain numbers without gaps, so that events can go from worker to worker as bytes.
#[derive(Clone, Copy, Debug, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub struct Event {
    /// Nanoseconds on the trace's own clock.
    pub ts: i64,
    /// Nanoseconds, not negative; 0 where the phase has none, or the id ([`flag::INT_ID`]).
    pub dur: i64,
    /// Byte in the decompressed file where the event starts.
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
    /// Index into [`EventTable::extras`], or [`NO_EXTRA`].
    pub extra: u32,
    pub phase: Phase,
    /// Fills the gap there would be.
    pub unused: u8,
    /// Bits of [`flag`].
    pub flags: u16,
}

/// The part of an [`Event`] that pairing goes by.
#[derive(Clone, Copy, Debug)]
pub struct EventRow {
    pub ts: i64,
    pub dur: i64,
    pub thread: ThreadId,
    pub name: StringId,
    pub extra: u32,
    pub phase: Phase,
    pub flags: u16,
}

/// The part of an [`Event`] that is mostly only handed on.
#[derive(Clone, Copy, Debug)]
pub struct EventPlace {
    pub offset: u64,
    pub len: u32,
    pub args_at: u32,
    pub args_len: u32,
    pub category: StringId,
}

impl EventPlace {
    /// Where its arguments are.
    pub fn args(&self) -> ArgsPlace {
        ArgsPlace { offset: self.offset + u64::from(self.args_at), len: self.args_len }
    }
}

/// Raw timeline events in file order.
///
/// Rows, not columns: pairing goes through them in the order of time and needs most of a row. They are parted in two, so that one
/// half is gone before what the other says is copied: a large trace needs most memory just then.
#[derive(Clone, Default)]
pub struct EventTable {
    pub rows: Vec<EventRow>,
    /// As many as [`EventTable::rows`].
    pub places: Vec<EventPlace>,
    pub extras: Vec<EventExtra>,
    /// Sparse, sorted by event: CPU time of the thread, and CPU duration if given.
    pub thread_time: Vec<(u32, i64, Option<i64>)>,
}

impl EventTable {
    pub fn n_events(&self) -> usize {
        self.rows.len()
    }

    /// Makes room for `n` more events.
    pub fn reserve_exact(&mut self, n: usize) {
        self.rows.reserve_exact(n);
        self.places.reserve_exact(n);
    }

    /// Makes room for `n` more events, and some beyond.
    pub fn reserve(&mut self, n: usize) {
        self.rows.reserve(n);
        self.places.reserve(n);
    }

    /// All events, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Event> {
        self.rows.iter().zip(&self.places).map(|(row, place)| Event {
            ts: row.ts,
            dur: row.dur,
            offset: place.offset,
            len: place.len,
            args_at: place.args_at,
            args_len: place.args_len,
            thread: row.thread,
            name: row.name,
            category: place.category,
            extra: row.extra,
            phase: row.phase,
            unused: 0,
            flags: row.flags,
        })
    }

    /// Adds an event whose rare members, if it has any, are there already.
    #[inline]
    pub fn add(&mut self, event: Event) {
        let Event {
            ts,
            dur,
            offset,
            len,
            args_at,
            args_len,
            thread,
            name,
            category,
            extra,
            phase,
            flags,
            ..
        } = event;
        self.rows.push(EventRow { ts, dur, thread, name, extra, phase, flags });
        self.places.push(EventPlace { offset, len, args_at, args_len, category });
    }

    /// Adds an event; gives its index.
    #[inline]
    pub fn push(&mut self, mut event: Event, extra: Option<EventExtra>) -> u32 {
        if let Some(extra) = extra {
            event.extra = self.extras.len() as u32;
            self.extras.push(extra);
        }
        self.add(event);
        self.rows.len() as u32 - 1
    }

    /// The rare members of an event.
    #[inline]
    pub fn extra_of(&self, index: usize) -> Option<&EventExtra> {
        self.extras.get(self.rows.get(index)?.extra as usize)
    }

    /// The id of an event. Mostly it is a plain number and stands in its row.
    #[inline]
    pub fn id_of(&self, index: usize) -> EventId {
        let event = &self.rows[index];
        if event.flags & flag::INT_ID != 0 {
            return EventId { key: EventKey::Int(event.dur), is_local: false, scope: StringId::NONE };
        }
        match self.extras.get(event.extra as usize) {
            Some(extra) => EventId { key: extra.id, is_local: extra.id_is_local, scope: extra.scope },
            None => EventId { key: EventKey::None, is_local: false, scope: StringId::NONE },
        }
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

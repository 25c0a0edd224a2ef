//! Time spans on a track, with their nesting.
//!
//! ```text
//! depth 0  [A                    ]   [D  ]
//! depth 1     [B      ]  [C ]              parent of B and C is A
//! ```
//! Intervals are half-open: closed on the left, open on the right. Instants are slices of duration 0.

use super::args::ArgsPlace;
use super::compact_columns::{Depths, Durations, Nanoseconds, Places};
use super::samples::StackId;
use super::tracks::TrackId;
use crate::base::strings::StringId;
use bytemuck::{Pod, Zeroable};

pub use super::compact_columns::UNFINISHED;

/// Row of a [`SliceTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Pod, Zeroable)]
#[repr(transparent)]
pub struct SliceId(pub u32);

impl SliceId {
    /// No slice: the parent of a top-level slice.
    pub const NONE: SliceId = SliceId(u32::MAX);

    pub fn some(self) -> Option<SliceId> {
        (self != SliceId::NONE).then_some(self)
    }
}

/// Origin of a slice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SliceKind {
    /// Written with start and duration.
    Complete,
    /// Written as begin and end.
    BeginEnd,
    /// A point in time.
    Instant,
    /// Async begin and end.
    Async,
    /// Async instant.
    AsyncInstant,
    /// Legacy async form: the whole from start to finish.
    LegacyAsync,
    /// Legacy async form: one step.
    LegacyStep,
    /// State of a thread.
    State,
}

impl SliceKind {
    /// All kinds, in order.
    pub const ALL: [SliceKind; 8] = [
        SliceKind::Complete,
        SliceKind::BeginEnd,
        SliceKind::Instant,
        SliceKind::Async,
        SliceKind::AsyncInstant,
        SliceKind::LegacyAsync,
        SliceKind::LegacyStep,
        SliceKind::State,
    ];
}

/// Classes of slices, which are never summed together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    Thread,
    Async,
    State,
    Instant,
    /// Summarizes other slices; see [`super::summaries`]. No kind of slice implies it.
    Summary,
}

impl Class {
    #[inline]
    pub fn of(kind: SliceKind) -> Class {
        match kind {
            SliceKind::Complete | SliceKind::BeginEnd => Class::Thread,
            SliceKind::Async | SliceKind::LegacyAsync | SliceKind::LegacyStep => Class::Async,
            SliceKind::State => Class::State,
            SliceKind::Instant | SliceKind::AsyncInstant => Class::Instant,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Class::Thread => "thread",
            Class::Async => "async",
            Class::State => "state",
            Class::Instant => "instant",
            Class::Summary => "summary",
        }
    }
}

/// Slices sorted by start; at equal starts parents come before their children.
///
/// Invariant: the parent of a slice has a smaller number.
#[derive(Clone, Default)]
pub struct SliceTable {
    /// Nanoseconds on the trace's own clock; may be negative.
    pub ts: Vec<i64>,
    /// Nanoseconds; [`UNFINISHED`] if the slice has no end.
    pub dur: Durations,
    /// Nanoseconds in which the slice itself ran: neither a direct child did nor, on a thread, an overlapping slice that
    /// started later. An unfinished slice ends with the trace. Self times of a thread add up to the time in which anything is
    /// open on it.
    pub self_ns: Nanoseconds,
    /// [`StringId::EMPTY`] if it has none.
    pub name: Vec<StringId>,
    /// [`StringId::NONE`] if it has none; a comma list stays one text.
    pub category: Vec<StringId>,
    pub track: Vec<TrackId>,
    pub kind: Vec<SliceKind>,
    /// Number of enclosing slices: the parent, its parent, and so on.
    pub depth: Depths,
    /// Shortest slice of the same thread or async id that contains it entirely, on any track.
    pub parent: Vec<SliceId>,
    /// Place of its (first) event, and of the arguments of its begin event.
    pub places: Places,
    /// Sparse, sorted by slice: arguments of the end event, which override those of the begin event.
    pub end_args: Vec<(SliceId, ArgsPlace)>,
    /// Sparse, sorted by slice: call stacks at the start and at the end; [`StackId::NONE`] where not given.
    pub stacks: Vec<(SliceId, StackId, StackId)>,
    /// Sparse, sorted: slices whose duration is missing or invalid, and counts as 0.
    pub no_duration: Vec<SliceId>,
    /// Sparse, sorted by slice: CPU time of the thread at the start, and CPU duration, in nanoseconds.
    pub thread_time: Vec<(SliceId, i64, i64)>,
}

impl SliceTable {
    pub fn len(&self) -> usize {
        self.ts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ts.is_empty()
    }

    /// Offset of its (first) event in the decompressed file.
    #[inline]
    pub fn offset(&self, index: usize) -> u64 {
        self.places.offset(index)
    }

    /// Place of the arguments of its begin event.
    pub fn args_of(&self, index: usize) -> ArgsPlace {
        self.places.args(index)
    }

    /// End on the trace's clock; unfinished slices end at `trace_end`.
    pub fn end(&self, index: usize, trace_end: i64) -> i64 {
        match self.dur.get(index) {
            UNFINISHED => trace_end.max(self.ts[index]),
            dur => self.ts[index].saturating_add(dur),
        }
    }

    /// Nanoseconds from start to end, which may exceed 64 bits; unfinished slices end at `trace_end`.
    #[inline]
    pub fn length(&self, index: usize, trace_end: i64) -> i64 {
        match self.dur.get(index) {
            UNFINISHED => trace_end.saturating_sub(self.ts[index]).max(0),
            dur => dur,
        }
    }
}

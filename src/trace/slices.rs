//! Spans of time on a track, with their nesting.
//!
//! ```text
//! depth 0  [A                    ]   [D  ]
//! depth 1     [B      ]  [C ]              parent of B and C is A
//! ```
//! Intervals are closed on the left and open on the right. Instants are slices of length 0.

use super::args::ArgsPlace;
use super::narrow::{Depths, Durations, Nanoseconds, Places};
use super::samples::StackId;
use super::tracks::TrackId;
use crate::base::strings::StringId;

/// Number of a slice in a [`SliceTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SliceId(pub u32);

impl SliceId {
    /// No slice: a parent of a top-level slice.
    pub const NONE: SliceId = SliceId(u32::MAX);

    pub fn some(self) -> Option<SliceId> {
        (self != SliceId::NONE).then_some(self)
    }
}

/// How a slice came about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SliceKind {
    /// Written with start and duration.
    Complete,
    /// Written as begin and end.
    BeginEnd,
    /// A point in time.
    Instant,
    /// Asynchronous begin and end.
    Async,
    /// An asynchronous point in time.
    AsyncInstant,
    /// Older asynchronous form: the whole from start to finish.
    LegacyAsync,
    /// Older asynchronous form: one step.
    LegacyStep,
    /// State of a thread.
    State,
}

impl SliceKind {
    /// All of them, in order.
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

/// Classes of slices that are never added up together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    Thread,
    Async,
    State,
    Instant,
    /// Sums up others; see [`super::summaries`]. No kind of slice is it by itself.
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

/// Duration of a slice whose end is not in the file.
pub const UNFINISHED: i64 = -1;

/// Slices sorted by start; at equal starts parents come before their children.
///
/// Invariant: the parent of a slice has a smaller number.
#[derive(Clone, Default)]
pub struct SliceTable {
    /// Nanoseconds on the trace's own clock; may be negative.
    pub ts: Vec<i64>,
    /// Nanoseconds; [`UNFINISHED`] if the file does not say when it ended.
    pub dur: Durations,
    /// Nanoseconds in which the slice itself ran: no direct child did and, on a thread, no slice that started later and overlaps
    /// it. An unfinished slice ends with the trace. Those of a thread add up to the time in which anything is open on it.
    pub self_ns: Nanoseconds,
    /// [`StringId::EMPTY`] if it has none.
    pub name: Vec<StringId>,
    /// [`StringId::NONE`] if it has none; a comma list stays one text.
    pub category: Vec<StringId>,
    pub track: Vec<TrackId>,
    pub kind: Vec<SliceKind>,
    /// Slices around it: its parent, the parent of that, and so on.
    pub depth: Depths,
    /// The shortest slice of the same thread or asynchronous identity that holds it whole, on whatever track.
    pub parent: Vec<SliceId>,
    /// Where its (first) event stands, and the arguments of the event that began it.
    pub places: Places,
    /// Sparse, sorted by slice: arguments of the end event, which win over those of the begin for equal keys.
    pub end_args: Vec<(SliceId, ArgsPlace)>,
    /// Sparse, sorted by slice: call stacks at the start and at the end; [`StackId::NONE`] where not given.
    pub stacks: Vec<(SliceId, StackId, StackId)>,
    /// Sparse, sorted: slices whose duration is missing or makes no sense, and counts as 0.
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

    /// Byte in the decompressed file where its (first) event starts.
    #[inline]
    pub fn offset(&self, index: usize) -> u64 {
        self.places.offset(index)
    }

    /// Where the arguments of the event that began a slice are.
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

    /// Nanoseconds from start to end, which may lie beyond the last time that 64 bits hold; unfinished slices end at `trace_end`.
    #[inline]
    pub fn length(&self, index: usize, trace_end: i64) -> i64 {
        match self.dur.get(index) {
            UNFINISHED => trace_end.saturating_sub(self.ts[index]).max(0),
            dur => dur,
        }
    }
}

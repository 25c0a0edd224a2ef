//! Tables of boxes: anything with a start, a length and a name.

use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::trace::Trace;
use crate::trace::slices::SliceId;
use crate::trace::tracks::{ThreadId, TrackKind};

/// Tracks of a thread that are shown among the boxes of its own one. Further ones are below: many slices that overlap are no
/// single stack, and would tear that of the thread apart.
const MAX_BESIDE: usize = 4;

/// Boxes by number, sorted by start.
pub trait BoxTable: Copy {
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Nanoseconds on the trace's clock.
    fn start(&self, id: usize) -> i64;

    /// Nanoseconds, not negative.
    fn length(&self, id: usize) -> i64;

    fn name(&self, id: usize) -> StringId;

    /// `None` for what has none.
    fn category(&self, _id: usize) -> Option<StringId> {
        None
    }

    /// Number of its track.
    fn track(&self, id: usize) -> u32;

    /// Number of boxes around it, of its track and of the one that it is beside.
    fn depth(&self, id: usize) -> u32;

    /// Tracks of boxes that overlap those of another track without nesting, and that track. Where its boxes contain all of them,
    /// they are on its rows, each below what contains it.
    fn tracks_beside(&self) -> Vec<(u32, u32)> {
        Vec::new()
    }

    /// Nanoseconds on the trace's clock.
    fn end(&self, id: usize) -> i64 {
        self.start(id).saturating_add(self.length(id))
    }
}

/// The slices of a trace. One without an end lasts to the end of the trace.
#[derive(Clone, Copy)]
pub struct SliceBoxes<'a> {
    trace: &'a Trace,
    trace_end: i64,
}

impl<'a> SliceBoxes<'a> {
    pub fn new(trace: &'a Trace) -> SliceBoxes<'a> {
        SliceBoxes { trace, trace_end: trace.span().map_or(0, |(_, end)| end) }
    }
}

impl BoxTable for SliceBoxes<'_> {
    fn len(&self) -> usize {
        self.trace.slices.len()
    }

    #[inline]
    fn start(&self, id: usize) -> i64 {
        self.trace.slices.ts[id]
    }

    #[inline]
    fn length(&self, id: usize) -> i64 {
        self.trace.slices.length(id, self.trace_end).max(0)
    }

    #[inline]
    fn name(&self, id: usize) -> StringId {
        self.trace.slices.name[id]
    }

    #[inline]
    fn category(&self, id: usize) -> Option<StringId> {
        self.trace.slices.category.get(id).copied()
    }

    #[inline]
    fn track(&self, id: usize) -> u32 {
        self.trace.slices.track[id].0
    }

    #[inline]
    fn depth(&self, id: usize) -> u32 {
        self.trace.slices.depth.get(id)
    }

    fn tracks_beside(&self) -> Vec<(u32, u32)> {
        let tracks = &self.trace.tracks;
        let of_kind = |kind: TrackKind| {
            let all = tracks.kind.iter().zip(&tracks.thread).zip(0_u32..);
            all.filter_map(move |((own, thread), track)| {
                thread.filter(|_| *own == kind).map(|it| (it, track))
            })
        };
        // By thread: its own track, and how many are beside it.
        let mut own: HashMap<ThreadId, (u32, usize)> = HashMap::default();
        for (thread, track) in of_kind(TrackKind::Thread) {
            own.entry(thread).or_insert((track, 0));
        }
        let beside = of_kind(TrackKind::ThreadOverflow).filter_map(|(thread, track)| {
            let (own_track, n) = own.get_mut(&thread)?;
            *n += 1;
            (*n <= MAX_BESIDE).then_some((track, *own_track))
        });
        beside.collect()
    }
}

/// Boxes that are no slices of the trace, sorted by start: forward passes, samples, phases.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Boxes {
    /// Nanoseconds on the trace's clock.
    pub start: Vec<i64>,
    /// Nanoseconds, not negative.
    pub length: Vec<i64>,
    /// Texts of the trace.
    pub name: Vec<StringId>,
    pub track: Vec<u32>,
    pub depth: Vec<u32>,
    /// The box directly around each; empty if none is in another.
    pub parent: Vec<SliceId>,
}

impl Boxes {
    /// Adds a box that starts no earlier than the last one.
    pub fn push(&mut self, start: i64, length: i64, name: StringId, (track, depth): (u32, u32)) {
        self.start.push(start);
        self.length.push(length.max(0));
        self.name.push(name);
        self.track.push(track);
        self.depth.push(depth);
    }
}

impl BoxTable for &Boxes {
    fn len(&self) -> usize {
        self.start.len()
    }

    #[inline]
    fn start(&self, id: usize) -> i64 {
        self.start[id]
    }

    #[inline]
    fn length(&self, id: usize) -> i64 {
        self.length[id]
    }

    #[inline]
    fn name(&self, id: usize) -> StringId {
        self.name[id]
    }

    #[inline]
    fn track(&self, id: usize) -> u32 {
        self.track[id]
    }

    #[inline]
    fn depth(&self, id: usize) -> u32 {
        self.depth[id]
    }
}

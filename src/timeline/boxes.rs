//! Tables of boxes: anything with a start, a length and a name.

use crate::base::strings::StringId;
use crate::trace::Trace;
use crate::trace::slices::SliceId;

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

    /// Number of boxes of its track around it.
    fn depth(&self, id: usize) -> u32;

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

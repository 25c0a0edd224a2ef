//! Stack samples over time: frames, a prefix tree of stacks, and the samples themselves.

use super::tracks::ThreadId;
use crate::base::strings::StringId;

/// Row of a [`FrameTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameId(pub u32);

/// Row of a [`StackTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StackId(pub u32);

impl StackId {
    /// The empty stack.
    pub const NONE: StackId = StackId(u32::MAX);
}

/// Code locations.
#[derive(Clone, Default)]
pub struct FrameTable {
    pub name: Vec<StringId>,
    /// Module, category or file; [`StringId::NONE`] if not given.
    pub module: Vec<StringId>,
}

impl FrameTable {
    pub fn len(&self) -> usize {
        self.name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.name.is_empty()
    }
}

/// Prefix tree of stacks: a frame on top of another stack.
#[derive(Clone, Default)]
pub struct StackTable {
    pub frame: Vec<FrameId>,
    /// Stack below; [`StackId::NONE`] at the root. Invariant: less than its own id.
    pub parent: Vec<StackId>,
}

impl StackTable {
    pub fn len(&self) -> usize {
        self.frame.len()
    }

    pub fn is_empty(&self) -> bool {
        self.frame.is_empty()
    }
}

/// Samples sorted by time.
#[derive(Clone, Default)]
pub struct SampleTable {
    /// Nanoseconds on the trace's own clock.
    pub ts: Vec<i64>,
    pub thread: Vec<ThreadId>,
    pub stack: Vec<StackId>,
    /// Weight; 1 if not given.
    pub weight: Vec<f64>,
    /// Event name; [`StringId::NONE`] if not given.
    pub name: Vec<StringId>,
}

impl SampleTable {
    pub fn len(&self) -> usize {
        self.ts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ts.is_empty()
    }
}

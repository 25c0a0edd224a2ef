//! Stack samples over time: frames, a prefix tree of stacks, and the samples themselves.

use super::tracks::ThreadId;
use crate::base::strings::StringId;
use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// Row of a [`FrameTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameId(pub u32);

/// Row of a [`StackTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Pod, Zeroable, Serialize, Deserialize)]
#[repr(transparent)]
pub struct StackId(pub u32);

impl StackId {
    /// The empty stack.
    pub const NONE: StackId = StackId(u32::MAX);
}

/// One code location.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    pub name: StringId,
    pub module: StringId,
    pub file: StringId,
    pub line: i64,
    pub column: i64,
    pub category: StringId,
}

/// Line or column of a frame without one.
pub const NO_LINE: i64 = i64::MIN;

impl Frame {
    /// A frame that has only a name.
    pub fn named(name: StringId) -> Frame {
        let none = StringId::NONE;
        Frame { name, module: none, file: none, line: NO_LINE, column: NO_LINE, category: none }
    }

    /// What makes frames one function: its name, and its file or else its module.
    pub fn function(&self) -> (StringId, StringId) {
        (self.name, self.file.some().unwrap_or(self.module))
    }
}

/// Code locations.
#[derive(Clone, Default)]
pub struct FrameTable {
    pub name: Vec<StringId>,
    /// Module (library, package), or the category of a frame in a Chrome trace; [`StringId::NONE`] if not given.
    pub module: Vec<StringId>,
    /// Source file; [`StringId::NONE`] if not given.
    pub file: Vec<StringId>,
    /// Line from 1; [`NO_LINE`] if not given.
    pub line: Vec<i64>,
    /// Column from 1; [`NO_LINE`] if not given.
    pub column: Vec<i64>,
    /// Kind of code, as the file has it: `kernel`, `inlined`, `JavaScript`; [`StringId::NONE`] if not given.
    pub category: Vec<StringId>,
}

impl FrameTable {
    pub fn push(&mut self, frame: Frame) -> FrameId {
        self.name.push(frame.name);
        self.module.push(frame.module);
        self.file.push(frame.file);
        self.line.push(frame.line);
        self.column.push(frame.column);
        self.category.push(frame.category);
        FrameId(self.name.len() as u32 - 1)
    }

    pub fn get(&self, frame: FrameId) -> Frame {
        let row = frame.0 as usize;
        Frame {
            name: self.name[row],
            module: self.module[row],
            file: self.file[row],
            line: self.line[row],
            column: self.column[row],
            category: self.category[row],
        }
    }

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

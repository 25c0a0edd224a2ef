//! Frames and stacks of a snapshot, each kept once.

use crate::base::hash::HashMap;
use crate::base::strings::{StringId, StringTable};
use crate::trace::samples::{Frame, FrameId, FrameTable, NO_LINE, StackId, StackTable};

/// A frame: file, name and line.
type Place = (StringId, StringId, i64);

/// Distinct frames and stacks.
#[derive(Default)]
pub struct Stacks {
    frames: Vec<Place>,
    frame_numbers: HashMap<Place, u32>,
    /// Frames of all stacks, innermost first, one stack behind the other.
    members: Vec<u32>,
    /// End of each stack in `members`.
    ends: Vec<usize>,
    stack_numbers: HashMap<Box<[u32]>, u32>,
    /// The stack being made.
    now: Vec<u32>,
}

impl Stacks {
    /// Number of a frame.
    pub fn frame(&mut self, file: StringId, name: StringId, line: Option<i64>) -> u32 {
        let place = (file, name, line.unwrap_or(NO_LINE));
        let next = self.frames.len() as u32;
        let number = *self.frame_numbers.entry(place).or_insert(next);
        if number == next {
            self.frames.push(place);
        }
        number
    }

    /// Starts a stack.
    pub fn begin(&mut self) {
        self.now.clear();
    }

    /// Adds the next frame of the stack, from the innermost on.
    pub fn add(&mut self, frame: u32) {
        self.now.push(frame);
    }

    /// Ends the stack; its number.
    pub fn finish(&mut self) -> u32 {
        if let Some(number) = self.stack_numbers.get(self.now.as_slice()) {
            return *number;
        }
        let number = self.ends.len() as u32;
        self.members.extend_from_slice(&self.now);
        self.ends.push(self.members.len());
        self.stack_numbers.insert(self.now.as_slice().into(), number);
        number
    }

    /// Adds all to the tables of a trace; returns the stack of each number. `text` maps texts to those of the trace.
    pub fn add_to(
        &self,
        mut text: impl FnMut(StringId) -> StringId,
        frames: &mut FrameTable,
        stacks: &mut StackTable,
    ) -> Vec<StackId> {
        let of_trace: Vec<FrameId> = self
            .frames
            .iter()
            .map(|(file, name, line)| {
                let line = if *line == 0 { NO_LINE } else { *line };
                frames.push(Frame { file: text(*file), line, ..Frame::named(text(*name)) })
            })
            .collect();
        let mut children: HashMap<(StackId, u32), StackId> = HashMap::default();
        let mut start = 0;
        let mut numbers = Vec::with_capacity(self.ends.len());
        for end in &self.ends {
            let mut parent = StackId::NONE;
            for frame in self.members[start..*end].iter().rev() {
                parent = *children.entry((parent, *frame)).or_insert_with(|| {
                    stacks.frame.push(of_trace[*frame as usize]);
                    stacks.parent.push(parent);
                    StackId(stacks.frame.len() as u32 - 1)
                });
            }
            start = *end;
            numbers.push(parent);
        }
        numbers
    }
}

/// Maps texts of one table to another, each once.
pub struct TextMap<'a> {
    pub from: &'a StringTable,
    pub to: &'a mut StringTable,
    pub known: HashMap<StringId, StringId>,
}

impl TextMap<'_> {
    pub fn get(&mut self, id: StringId) -> StringId {
        let Some(text) = self.from.get_opt(id) else { return id };
        *self.known.entry(id).or_insert_with(|| self.to.intern(text))
    }
}

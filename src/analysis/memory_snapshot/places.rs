//! Code locations of allocations: one frame of each stack.
//!
//! Stacks of Python alone end with the code that allocated. Those with C++ frames (`stacks="all"`, the default) end with the
//! recorder and the allocator, which are the same for every allocation:
//!
//! ```text
//! torch::unwind::unwind()          recorder
//! …DeviceCachingAllocator::malloc  allocator
//! at::_ops::add_Tensor::call       operator
//! forward (model.py:10)            innermost Python frame
//! _PyEval_EvalFrameDefault         interpreter
//! ```

use crate::base::hash::HashMap;
use crate::base::text::visible;
use crate::gpu::names;
use crate::stacks::NO_STACK;
use crate::trace::Trace;
use crate::trace::samples::{Frame, NO_LINE, StackId};

/// Which frame names an allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The innermost Python frame; without one, the node of the backward pass, else the innermost frame that is neither recorder
    /// nor allocator.
    Innermost,
    /// The innermost frame outside of PyTorch.
    Program,
}

/// A code location.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// In parentheses if there is no such frame: [`NO_STACK`] and others.
    pub function: String,
    /// May be empty.
    pub file: String,
    pub line: Option<i64>,
}

const ONLY_PYTORCH: &str = "(only PyTorch)";
const BACKWARD: &str = "(backward pass)";

/// Start of the frame that runs a node of the backward pass.
const NODE_CALL: &str = "torch::autograd::Node::operator()";

impl Place {
    fn without_frame(function: &str) -> Place {
        Place { function: function.to_string(), file: String::new(), line: None }
    }

    /// `forward (model.py:10)`.
    pub fn label(&self) -> String {
        let file = self.file.rsplit(['/', '\\']).next().unwrap_or_default();
        match (file, self.line) {
            ("" | "??", _) => self.function.clone(),
            (file, Some(line)) => format!("{} ({file}:{line})", self.function),
            (file, None) => format!("{} ({file})", self.function),
        }
    }

    /// Where something was allocated, for a sentence: `in “forward” (model.py:10)`.
    pub fn phrase(&self) -> String {
        match self.function.as_str() {
            NO_STACK => "without a stack".to_string(),
            ONLY_PYTORCH => "by PyTorch alone".to_string(),
            BACKWARD => "in the backward pass".to_string(),
            function => {
                let label = self.label();
                let place = label.strip_prefix(function).unwrap_or_default();
                format!("in {}{}", crate::analysis::findings::quoted(function), visible(place))
            }
        }
    }
}

/// Code locations of a trace's stacks, each looked up once.
pub struct Places<'a> {
    trace: &'a Trace,
    choice: Choice,
    all: Vec<Place>,
    number_of: HashMap<Place, usize>,
    by_stack: HashMap<StackId, usize>,
}

impl<'a> Places<'a> {
    pub fn new(trace: &'a Trace, choice: Choice) -> Places<'a> {
        Places { trace, choice, all: Vec::new(), number_of: HashMap::default(), by_stack: HashMap::default() }
    }

    /// Number of the code location of a stack.
    pub fn number(&mut self, stack: StackId) -> usize {
        if let Some(number) = self.by_stack.get(&stack) {
            return *number;
        }
        let place = place_of(self.trace, stack, self.choice);
        let next = self.all.len();
        let number = *self.number_of.entry(place.clone()).or_insert(next);
        if number == next {
            self.all.push(place);
        }
        self.by_stack.insert(stack, number);
        number
    }

    pub fn get(&self, number: usize) -> &Place {
        &self.all[number]
    }

    /// The code location of a stack.
    pub fn of(&mut self, stack: StackId) -> &Place {
        let number = self.number(stack);
        self.get(number)
    }
}

/// A frame as [`Place::label`] has it.
pub fn frame_label(trace: &Trace, frame: Frame) -> String {
    to_place(trace, frame).label()
}

fn to_place(trace: &Trace, frame: Frame) -> Place {
    let text = |id| trace.strings.get_opt(id).unwrap_or_default();
    let (name, file) = (text(frame.name), text(frame.file));
    let function = if is_python(file) { name.to_string() } else { names::split(name).qualified() };
    Place {
        function: if function.is_empty() { name.to_string() } else { function },
        file: file.to_string(),
        line: Some(frame.line).filter(|line| *line != NO_LINE),
    }
}

fn place_of(trace: &Trace, stack: StackId, choice: Choice) -> Place {
    let text = |id| trace.strings.get_opt(id).unwrap_or_default();
    let mut frames: Vec<Frame> = Vec::new();
    let mut at = stack;
    while at != StackId::NONE {
        frames.push(trace.frames.get(trace.stacks.frame[at.0 as usize]));
        at = trace.stacks.parent[at.0 as usize];
    }
    if frames.is_empty() {
        return Place::without_frame(NO_STACK);
    }
    let node_call = frames.iter().position(|frame| text(frame.name).starts_with(NODE_CALL));
    let found = match choice {
        Choice::Program => frames.iter().find(|frame| is_of_program(text(frame.file))),
        Choice::Innermost => frames
            .iter()
            .find(|frame| is_python(text(frame.file)))
            .or_else(|| frames.get(node_call?.checked_sub(1)?))
            .or_else(|| frames.iter().find(|frame| !is_recorder(text(frame.name))))
            .or(frames.first()),
    };
    match found {
        Some(frame) => to_place(trace, *frame),
        None if node_call.is_some() => Place::without_frame(BACKWARD),
        None => Place::without_frame(ONLY_PYTORCH),
    }
}

fn is_python(file: &str) -> bool {
    // `<string>` and `<frozen …>` are code without a file.
    file.ends_with(".py") || file.starts_with('<')
}

/// Whether a C++ function records the stack, or is a part of the allocator.
fn is_recorder(name: &str) -> bool {
    [
        "torch::unwind::",
        "torch::CapturedTraceback::",
        "gather_with_cpp",
        "CachingAllocator",
        "at::detail::empty_",
        "at::native::empty_",
    ]
    .iter()
    .any(|part| name.contains(part))
}

/// Whether a frame is outside of PyTorch and of its C++ code: the file shows that.
fn is_of_program(file: &str) -> bool {
    let is_torch =
        ["/torch/", "\\torch\\", "/c10/", "/aten/", "torch/csrc"].iter().any(|part| file.contains(part));
    let is_native = [".cpp", ".cu", ".h", ".hpp", ".cc", ".c", ".so"].iter().any(|end| file.ends_with(end));
    !is_torch && !is_native && !matches!(file, "" | "??")
}

//! From bytes to allocations with their threads, timestamps and stacks.

use super::aggregated;
use super::allocators::Allocator;
use super::cursor::{Cursor, Stop};
use super::header::{Header, MAGIC, VERSIONS};
use super::lines::line_at;
use super::records::{FrameCode, N_RECENT, Number, Pointer, Record, Sums, read, read_v11};
use crate::base::hash::HashMap;
use crate::base::strings::{StringId, StringTable};

/// Maximum size of a record.
const MAX_RECORD_BYTES: usize = 64 << 20;
/// An incomplete record up to this size is retried on every push, a larger one each time it has doubled.
const TRY_AT_ONCE_BYTES: usize = 4096;

/// A stack frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    pub function: StringId,
    pub file: StringId,
    /// Current line; `None` if the line table has none.
    pub line: Option<i64>,
}

/// A code object.
struct Code {
    function: StringId,
    file: StringId,
    first_line: i64,
    /// Lines of the instructions. `None` in version 11, where each line has a code object of its own.
    table: Option<Box<[u8]>>,
}

/// Node of a [`CallTree`]; [`NO_STACK`] is around all.
pub type NodeId = u32;
pub const NO_STACK: NodeId = u32::MAX;

/// Distinct stacks. Parents come before their children.
#[derive(Default)]
pub struct CallTree {
    /// Index into the frames; `u32::MAX` for code that the capture does not define.
    frame: Vec<u32>,
    parent: Vec<NodeId>,
    children: HashMap<(NodeId, u32), NodeId>,
}

impl CallTree {
    fn child(&mut self, parent: NodeId, frame: u32) -> NodeId {
        let next = self.frame.len() as NodeId;
        let node = *self.children.entry((parent, frame)).or_insert(next);
        if node == next {
            self.frame.push(frame);
            self.parent.push(parent);
        }
        node
    }

    pub fn len(&self) -> usize {
        self.frame.len()
    }

    pub fn is_empty(&self) -> bool {
        self.frame.is_empty()
    }

    /// The node below; [`NO_STACK`] for the outermost.
    pub fn parent(&self, node: NodeId) -> NodeId {
        self.parent.get(node as usize).copied().unwrap_or(NO_STACK)
    }
}

/// One allocation or deallocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allocation {
    pub tid: u64,
    pub address: u64,
    /// Bytes; 0 if the function does not state them.
    pub size: u64,
    pub allocator: Allocator,
    /// Timestamp of the last memory sample before, in milliseconds since the Unix epoch.
    pub ms: i64,
}

/// Next item of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// More bytes are needed.
    More,
    /// The header has been read.
    Header,
    /// Not a capture, or one of this unsupported version.
    Version(Option<i32>),
    Allocation(Allocation),
    /// Memory of a stack in an aggregated capture, with the node of the stack.
    Sums {
        node: NodeId,
        sums: Sums,
    },
    /// A memory sample: timestamp and memory of the process in bytes.
    Memory {
        ms: i64,
        rss: u64,
    },
    /// Name of a thread.
    ThreadName {
        tid: u64,
        name: StringId,
    },
    /// A record that only affects later ones, and its issue if it has one.
    Other(Option<Oddity>),
    /// Zeros after the last record.
    Padding,
    /// End of the capture.
    End,
    /// Invalid record.
    Bad,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Oddity {
    UnknownFrame,
    Underflow,
}

/// Decoder that is pushed bytes cut anywhere and asked for the next item.
#[derive(Default)]
pub struct Decoder {
    header: Option<Header>,
    buffer: Vec<u8>,
    /// Index of the first unread byte of the buffer.
    at: usize,
    /// Offset of the buffer in the capture.
    offset: u64,
    /// Bytes needed before an incomplete record is retried.
    wanted: usize,
    start: u64,
    state: State,
}

/// State that records refer to.
#[derive(Default)]
struct State {
    ms: i64,
    tid: u64,
    address: i64,
    recent: [u64; N_RECENT],
    codes: Vec<Code>,
    /// Index into `codes`.
    code_by_id: HashMap<u64, u32>,
    frames: Vec<Frame>,
    frame_numbers: HashMap<Frame, u32>,
    /// Index into `frames`, by index of a code object and instruction.
    frame_at: HashMap<(u32, i64), u32>,
    frame_id: i64,
    line: i64,
    tree: CallTree,
    /// Index into `frames`, and node of the tree, of each function that a thread is in. Those of memray itself have no node.
    stacks: HashMap<u64, Vec<(u32, NodeId)>>,
    /// Index into `frames`, by id of a frame of an aggregated capture.
    stated_frames: HashMap<u64, u32>,
    /// Stacks of an aggregated capture, from number 1.
    stated_stacks: Vec<StatedStack>,
    in_padding: bool,
}

/// A stack of an aggregated capture.
#[derive(Clone, Copy)]
struct StatedStack {
    n_frames: u64,
    /// Node of the whole stack.
    node: NodeId,
    /// Node of the stack without the frames of memray itself, which those of the main thread have.
    node_on_main: NodeId,
}

/// Around the stacks that have one frame.
const NO_FRAMES: StatedStack = StatedStack { n_frames: 0, node: NO_STACK, node_on_main: NO_STACK };

impl Decoder {
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Appends the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.at);
        self.offset += self.at as u64;
        self.at = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Ends the input: what is left is tried once more.
    pub fn finish(&mut self) {
        self.wanted = 0;
    }

    /// Start and end offset of the last record.
    pub fn last_record(&self) -> (u64, u64) {
        (self.start, self.offset + self.at as u64)
    }

    /// Bytes that belong to no record so far.
    pub fn rest(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    /// Decodes the next item; texts go to `strings`.
    pub fn next(&mut self, strings: &mut StringTable) -> Next {
        let Decoder { header, buffer, at, offset, wanted, start, state } = self;
        let rest = buffer.get(*at..).unwrap_or_default();
        if rest.is_empty() || rest.len() < *wanted {
            return Next::More;
        }
        let mut cursor = Cursor::new(rest);
        let read = match header {
            None => read_header(&mut cursor, header, state),
            Some(header) => state.read(&mut cursor, header, strings),
        };
        match read {
            Ok(next) => {
                *start = *offset + *at as u64;
                *at += cursor.position();
                *wanted = 0;
                next
            }
            Err(Stop::More) if rest.len() < MAX_RECORD_BYTES => {
                *wanted = if rest.len() < TRY_AT_ONCE_BYTES { 0 } else { 2 * rest.len() };
                Next::More
            }
            Err(_) => Next::Bad,
        }
    }

    /// Stack of a thread, innermost frame first, without the frames of memray itself.
    pub fn stack(&self, tid: u64) -> impl Iterator<Item = Option<Frame>> + '_ {
        let stack = self.state.stacks.get(&tid).map(Vec::as_slice).unwrap_or_default();
        let n_skipped = match &self.header {
            Some(header) if header.main_tid == tid => {
                usize::try_from(header.skipped_frames).unwrap_or(usize::MAX)
            }
            _ => 0,
        };
        let shown = stack.get(n_skipped..).unwrap_or_default();
        shown.iter().rev().map(|(frame, _)| self.state.frames.get(*frame as usize).copied())
    }

    /// Node of the stack that [`Decoder::stack`] tells.
    pub fn node(&self, tid: u64) -> NodeId {
        self.state.stacks.get(&tid).and_then(|stack| stack.last()).map_or(NO_STACK, |(_, node)| *node)
    }

    /// All stacks so far.
    pub fn tree(&self) -> &CallTree {
        &self.state.tree
    }

    /// Innermost frame of a node; `None` if the capture does not define it.
    pub fn frame(&self, node: NodeId) -> Option<Frame> {
        let number = self.state.tree.frame.get(node as usize)?;
        self.state.frames.get(*number as usize).copied()
    }
}

fn read_header(
    cursor: &mut Cursor<'_>,
    header: &mut Option<Header>,
    state: &mut State,
) -> Result<Next, Stop> {
    if cursor.take(MAGIC.len())? != MAGIC {
        return Ok(Next::Version(None));
    }
    let version = cursor.i32()?;
    if !VERSIONS.contains(&version) {
        return Ok(Next::Version(Some(version)));
    }
    let read = Header::read(version, cursor)?;
    state.ms = read.start_ms;
    *header = Some(read);
    Ok(Next::Header)
}

impl State {
    fn read(
        &mut self,
        cursor: &mut Cursor<'_>,
        header: &Header,
        strings: &mut StringTable,
    ) -> Result<Next, Stop> {
        let record = match header.version {
            version if header.is_aggregated() => aggregated::read(cursor, version)?,
            11 => read_v11(cursor)?,
            _ => read(cursor, header.native_traces)?,
        };
        if self.in_padding && record != Record::Padding {
            return Err(Stop::Bad);
        }
        let text = |bytes: &[u8], strings: &mut StringTable| strings.intern(&String::from_utf8_lossy(bytes));
        Ok(match record {
            Record::Allocation { pointer, allocator, size } => {
                let address = self.address(pointer);
                Next::Allocation(Allocation { tid: self.tid, address, size, allocator, ms: self.ms })
            }
            Record::Object { pointer } => {
                self.address(pointer);
                Next::Other(None)
            }
            Record::Push { frame, instruction } => {
                let id = self.frame_id(frame);
                let code = self.code_by_id.get(&id).copied();
                let frame = code.map_or(u32::MAX, |code| self.frame_of(code, instruction, header));
                let stack = self.stacks.entry(self.tid).or_default();
                let is_own = header.main_tid == self.tid && (stack.len() as u64) < header.skipped_frames;
                let around = stack.last().map_or(NO_STACK, |(_, node)| *node);
                stack.push((frame, if is_own { NO_STACK } else { self.tree.child(around, frame) }));
                Next::Other(code.is_none().then_some(Oddity::UnknownFrame))
            }
            Record::Pop { n } => {
                let stack = self.stacks.entry(self.tid).or_default();
                let left = stack.len().checked_sub(n);
                stack.truncate(left.unwrap_or(0));
                Next::Other(left.is_none().then_some(Oddity::Underflow))
            }
            Record::Code { id, function, file, line, table } => {
                let is_v11 = matches!(id, Number::Difference(_));
                let id = self.frame_id(id);
                self.line = self.line.wrapping_add(line);
                self.code_by_id.insert(id, self.codes.len() as u32);
                self.codes.push(Code {
                    function: text(function, strings),
                    file: text(file, strings),
                    first_line: self.line,
                    table: (!is_v11).then(|| table.into()),
                });
                Next::Other(None)
            }
            Record::Memory { rss, ms } => {
                self.ms = header.start_ms.saturating_add_unsigned(ms);
                Next::Memory { ms: self.ms, rss }
            }
            Record::MemoryAt { rss, ms } => {
                self.ms = ms;
                Next::Memory { ms, rss }
            }
            Record::Frame { id, code } => {
                let frame = match code {
                    FrameCode::Texts { function, file, line } => {
                        let (function, file) = (text(function, strings), text(file, strings));
                        Some(self.number_of(Frame { function, file, line: Some(line) }))
                    }
                    FrameCode::Object { code, instruction } => {
                        let code = self.code_by_id.get(&code).copied();
                        code.map(|code| self.frame_of(code, instruction, header))
                    }
                };
                self.stated_frames.insert(id, frame.unwrap_or(u32::MAX));
                Next::Other(frame.is_none().then_some(Oddity::UnknownFrame))
            }
            Record::Stack { frame, around } => {
                let frame = self.stated_frames.get(&frame).copied();
                let number = frame.unwrap_or(u32::MAX);
                let StatedStack { n_frames, node, node_on_main } = self.stated_stack(around)?;
                let is_own = n_frames < header.skipped_frames;
                let stack = StatedStack {
                    n_frames: n_frames + 1,
                    node: self.tree.child(node, number),
                    node_on_main: if is_own { NO_STACK } else { self.tree.child(node_on_main, number) },
                };
                self.stated_stacks.push(stack);
                Next::Other(frame.is_none().then_some(Oddity::UnknownFrame))
            }
            Record::Sums { stack, sums } => {
                let stack = self.stated_stack(stack)?;
                let node = if sums.tid == header.main_tid { stack.node_on_main } else { stack.node };
                Next::Sums { node, sums }
            }
            Record::Thread { tid } => {
                self.tid = tid;
                Next::Other(None)
            }
            Record::ThreadName { name } => {
                let name = strings.intern(&String::from_utf8_lossy(name));
                Next::ThreadName { tid: self.tid, name }
            }
            Record::Aside => Next::Other(None),
            Record::Padding => {
                self.in_padding = true;
                Next::Padding
            }
            Record::End => Next::End,
        })
    }

    /// Number of the frame at an instruction of a code object.
    fn frame_of(&mut self, code: u32, instruction: i64, header: &Header) -> u32 {
        if let Some(known) = self.frame_at.get(&(code, instruction)) {
            return *known;
        }
        let Some(Code { function, file, first_line, table }) = self.codes.get(code as usize) else {
            return u32::MAX;
        };
        let line = match table {
            None => Some(*first_line),
            Some(table) => line_at(header.python_version.unwrap_or(0), table, instruction, *first_line),
        };
        let number = self.number_of(Frame { function: *function, file: *file, line });
        self.frame_at.insert((code, instruction), number);
        number
    }

    /// Number of a frame, which is new or not.
    fn number_of(&mut self, frame: Frame) -> u32 {
        let next = self.frames.len() as u32;
        let number = *self.frame_numbers.entry(frame).or_insert(next);
        if number == next {
            self.frames.push(frame);
        }
        number
    }

    /// A stack of an aggregated capture by its number.
    fn stated_stack(&self, number: u64) -> Result<StatedStack, Stop> {
        let Some(at) = number.checked_sub(1) else { return Ok(NO_FRAMES) };
        let at = usize::try_from(at).map_err(|_| Stop::Bad)?;
        self.stated_stacks.get(at).copied().ok_or(Stop::Bad)
    }

    /// Address of a record, remembered for later ones.
    fn address(&mut self, pointer: Pointer) -> u64 {
        match pointer {
            Pointer::Bytes(difference) => {
                self.address = self.address.wrapping_add(difference);
                self.address as u64
            }
            Pointer::Words(difference) => {
                self.address = self.address.wrapping_add(difference);
                let address = (self.address as u64) << 3;
                self.recent.rotate_right(1);
                self.recent[0] = address;
                address
            }
            Pointer::Recent(index) => self.recent.get(index).copied().unwrap_or(0),
        }
    }

    fn frame_id(&mut self, number: Number) -> u64 {
        match number {
            Number::Plain(id) => id,
            Number::Difference(difference) => {
                self.frame_id = self.frame_id.wrapping_add(difference);
                self.frame_id as u64
            }
        }
    }
}

//! A machine for pickles that runs nothing: it knows dicts, lists, tuples, texts and numbers, and only names everything else.
//!
//! A pickle is a program for a stack machine (`pickletools` in Python's library describes each opcode). Classes and calls of
//! functions become [`Reference::Opaque`] values. Elements of the lists that matter are handed to [`Rows`] while the list is
//! being built, so memory does not grow with their number. There is no recursion, and no size in the file sizes anything here.

use super::heap::{FrameKeys, Heap, Memo, Object, Reference, Role, Value};
use super::rows::Rows;
use super::stacks::Stacks;
use crate::base::strings::{StringId, StringTable};

/// Why an opcode was not executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Halt {
    /// It is incomplete: more bytes are needed.
    More,
    /// The pickle ends here.
    Stop,
    Bad(Problem),
}

/// Why reading stopped before the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Problem {
    Opcode(u8),
    /// A number or text is invalid.
    Operand(u8),
    /// An opcode takes more values than there are.
    Underflow,
    /// A value of the memo that is not there.
    Memo,
    /// More values at once than this program holds.
    TooMany,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::Opcode(byte) => write!(f, "unknown opcode {byte:02x}"),
            Problem::Operand(byte) => write!(f, "invalid operand of opcode {byte:02x}"),
            Problem::Underflow => f.write_str("opcode takes more values than there are"),
            Problem::Memo => f.write_str("reference to a value that was not stored"),
            Problem::TooMany => f.write_str("too many values at once"),
        }
    }
}

/// State of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum State {
    #[default]
    Running,
    /// The pickle is complete.
    Stopped,
    Broken(Problem),
}

/// A value on the stack, and the offset of the opcode that put it there.
#[derive(Clone, Copy)]
struct Entry {
    value: Value,
    at: u64,
}

/// A list that is drained, on the stack.
#[derive(Clone, Copy)]
struct Open {
    /// Its index on the stack.
    position: usize,
    /// Number of marks when it was made.
    n_marks: usize,
}

/// Most values on the stack.
const MAX_STACK: usize = 1 << 22;
/// Longer texts are left out.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Elements of a drained list that may be on the stack until the first of them are taken. Python writes 1000 at a time.
const MAX_WAITING: usize = 4096;
/// Values that stay then: the last one may be incomplete, and short tuples are made of values without a mark.
const MIN_WAITING: usize = 16;
/// Most devices.
const MAX_DEVICES: usize = 4096;

/// Keys of the outermost dict.
struct RootKeys {
    segments: StringId,
    traces: StringId,
    annotations: StringId,
    /// Keys that any segment has.
    of_segment: [StringId; 2],
}

/// The machine. It is pushed bytes cut anywhere.
pub struct Machine {
    pub strings: StringTable,
    pub stacks: Stacks,
    pub rows: Rows,
    pub state: State,
    /// Values that were not built: how many, the first place, and the name of the class there.
    pub opaque: (u64, Option<(u64, StringId)>),
    heap: Heap,
    memo: Memo,
    frame_keys: FrameKeys,
    root_keys: RootKeys,
    stack: Vec<Entry>,
    marks: Vec<usize>,
    open: Option<Open>,
    /// Bytes that were not executed yet.
    buffer: Vec<u8>,
    /// Offset of the next opcode.
    position: u64,
    /// Bytes of a long operand still to be skipped.
    skip: u64,
    /// A list of segments or events was found.
    has_lists: bool,
}

impl Default for Machine {
    fn default() -> Machine {
        let mut strings = StringTable::default();
        let frame_keys = FrameKeys {
            filename: strings.intern("filename"),
            line: strings.intern("line"),
            name: strings.intern("name"),
        };
        let root_keys = RootKeys {
            segments: strings.intern("segments"),
            traces: strings.intern("device_traces"),
            annotations: strings.intern("external_annotations"),
            of_segment: ["total_size", "segment_type"].map(|key| strings.intern(key)),
        };
        Machine {
            rows: Rows::new(&mut strings),
            strings,
            stacks: Stacks::default(),
            state: State::Running,
            opaque: (0, None),
            heap: Heap::default(),
            memo: Memo::default(),
            frame_keys,
            root_keys,
            stack: Vec::new(),
            marks: Vec::new(),
            open: None,
            buffer: Vec::new(),
            position: 0,
            skip: 0,
            has_lists: false,
        }
    }
}

/// Operands of an opcode.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Halt> {
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.get(..n)).ok_or(Halt::More)?;
        self.at += n;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Halt> {
        self.take(N)?.try_into().map_err(|_| Halt::More)
    }

    fn u8(&mut self) -> Result<u8, Halt> {
        Ok(self.array::<1>()?[0])
    }

    fn u16(&mut self) -> Result<u16, Halt> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, Halt> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, Halt> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A line without its end, in protocol 0.
    fn line(&mut self, op: u8) -> Result<&'a [u8], Halt> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match memchr::memchr(b'\n', rest) {
            Some(end) => {
                self.at += end + 1;
                Ok(rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]))
            }
            None if rest.len() > MAX_TEXT_BYTES => Err(Halt::Bad(Problem::Operand(op))),
            None => Err(Halt::More),
        }
    }

    fn number(&mut self, op: u8) -> Result<Option<i64>, Halt> {
        let line = self.line(op)?;
        let text = std::str::from_utf8(line).map_err(|_| Halt::Bad(Problem::Operand(op)))?;
        Ok(text.trim_end_matches('L').parse().ok())
    }
}

type Done = Result<(), Halt>;

impl Machine {
    /// Executes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.state != State::Running {
            return;
        }
        if self.buffer.is_empty() {
            let n = self.run(bytes);
            self.buffer.extend_from_slice(bytes.get(n..).unwrap_or_default());
        } else {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.extend_from_slice(bytes);
            let n = self.run(&buffer);
            buffer.drain(..n);
            self.buffer = buffer;
        }
    }

    /// Texts, stacks and rows; everything else is dropped.
    pub fn into_parts(self) -> (StringTable, Stacks, Rows) {
        (self.strings, self.stacks, self.rows)
    }

    /// Offset behind the last opcode that was executed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether the outermost dict has a list of segments or of events, or the outermost list has segments.
    pub fn is_snapshot(&self) -> bool {
        self.has_lists || self.begins_with_segment()
    }

    /// Whether the first value in the outermost list is a segment, perhaps one whose pairs are still on the stack.
    fn begins_with_segment(&self) -> bool {
        let [_, first, rest @ ..] = &self.stack[..] else { return false };
        let Some(Object::List(_, Role::Segments)) = self.object(0) else { return false };
        let pairs = self.heap.dict(first.value).unwrap_or_default();
        let has = |key: &StringId| {
            pairs.iter().any(|(own, _)| own == key)
                || rest.iter().any(|entry| entry.value.text() == Some(*key))
        };
        self.root_keys.of_segment.iter().all(has)
    }

    /// Executes whole opcodes; returns their length.
    fn run(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        loop {
            if self.skip > 0 {
                let n = self.skip.min((bytes.len() - at) as u64);
                self.skip -= n;
                self.position += n;
                at += n as usize;
            }
            let rest = bytes.get(at..).unwrap_or_default();
            if rest.is_empty() {
                return at;
            }
            let mut input = Input { bytes: rest, at: 0 };
            let done = self.step(&mut input);
            match done {
                Err(Halt::More) => return at,
                Err(Halt::Bad(problem)) => {
                    self.state = State::Broken(problem);
                    return at;
                }
                Ok(()) | Err(Halt::Stop) => {}
            }
            at += input.at;
            self.position += input.at as u64;
            if done.is_err() {
                self.state = State::Stopped;
                return at;
            }
        }
    }

    /// Executes one opcode. Operands come first, so that an incomplete one changes nothing.
    fn step(&mut self, input: &mut Input<'_>) -> Done {
        let op = input.u8()?;
        match op {
            // Containers.
            b'}' => self.push_object(Object::Dict(Vec::new())),
            b']' => self.push_list(Vec::new()),
            b')' => self.push_object(Object::Tuple(Vec::new())),
            b'(' => {
                self.marks.push(self.stack.len());
                if self.marks.len() > MAX_STACK { Err(Halt::Bad(Problem::TooMany)) } else { Ok(()) }
            }
            b'u' => {
                let mark = self.pop_mark()?;
                self.set_items(mark)
            }
            b's' => self.set_items(self.below(2)?),
            b'e' => {
                let mark = self.pop_mark()?;
                self.append(mark)
            }
            b'a' => self.append(self.below(1)?),
            b'd' => {
                let mark = self.pop_mark()?;
                let pairs = self.pairs(mark);
                self.stack.truncate(mark);
                self.push_object(Object::Dict(pairs))
            }
            b'l' => {
                let mark = self.pop_mark()?;
                let values = self.take_values(mark);
                self.push_list(values)
            }
            b't' => {
                let mark = self.pop_mark()?;
                let values = self.take_values(mark);
                self.push_object(Object::Tuple(values))
            }
            0x85..=0x87 => {
                let start = self.below(usize::from(op - 0x84))?;
                let values = self.take_values(start);
                self.push_object(Object::Tuple(values))
            }
            // Numbers and other plain values.
            b'K' => {
                let value = input.u8()?;
                self.push(Value::Int(i64::from(value)))
            }
            b'M' => {
                let value = input.u16()?;
                self.push(Value::Int(i64::from(value)))
            }
            b'J' => {
                let value = i32::from_le_bytes(input.array()?);
                self.push(Value::Int(i64::from(value)))
            }
            0x8a => {
                let n = usize::from(input.u8()?);
                let bytes = input.take(n)?;
                self.push_long(bytes)
            }
            0x8b => {
                let n = i32::from_le_bytes(input.array()?);
                let n = u64::try_from(n).map_err(|_| Halt::Bad(Problem::Operand(op)))?;
                if n <= 255 {
                    let bytes = input.take(n as usize)?;
                    self.push_long(bytes)
                } else {
                    self.push_opaque(StringId::NONE, Some(n))
                }
            }
            b'G' => {
                let value = f64::from_be_bytes(input.array()?);
                self.push(Value::Float(value))
            }
            b'N' => self.push(Value::None),
            0x88 | 0x89 => self.push(Value::Bool(op == 0x88)),
            // Texts and bytes.
            0x8c => {
                let n = u64::from(input.u8()?);
                self.push_text(input, n)
            }
            b'X' => {
                let n = u64::from(input.u32()?);
                self.push_text(input, n)
            }
            0x8d => {
                let n = input.u64()?;
                self.push_text(input, n)
            }
            // Texts of Python 2.
            b'U' => {
                let n = u64::from(input.u8()?);
                self.push_text(input, n)
            }
            b'T' => {
                let n = u64::from(input.u32()?);
                self.push_text(input, n)
            }
            b'C' => {
                let n = u64::from(input.u8()?);
                self.push_opaque(StringId::NONE, Some(n))
            }
            b'B' => {
                let n = u64::from(input.u32()?);
                self.push_opaque(StringId::NONE, Some(n))
            }
            0x8e | 0x96 => {
                let n = input.u64()?;
                self.push_opaque(StringId::NONE, Some(n))
            }
            // Lines of protocol 0.
            b'I' => match input.number(op)? {
                Some(value) => {
                    let is_flag = matches!(input.bytes.get(1..3), Some(b"00" | b"01"));
                    self.push(if is_flag { Value::Bool(value == 1) } else { Value::Int(value) })
                }
                None => self.push_opaque(StringId::NONE, None),
            },
            b'L' => match input.number(op)? {
                Some(value) => self.push(Value::Int(value)),
                None => self.push_opaque(StringId::NONE, None),
            },
            b'F' => {
                let line = input.line(op)?;
                let number = std::str::from_utf8(line).ok().and_then(|text| text.trim().parse().ok());
                self.push(number.map_or(Value::None, Value::Float))
            }
            b'V' => {
                let line = input.line(op)?;
                let text = unescaped(line);
                let id = self.strings.intern(&text);
                self.push(Value::Ref(Reference::Text(id)))
            }
            b'S' => {
                let line = input.line(op)?;
                let inside = line.get(1..line.len().saturating_sub(1)).unwrap_or_default();
                let id = self.strings.intern_bytes(inside);
                self.push(Value::Ref(Reference::Text(id)))
            }
            // Memo.
            0x94 => {
                let slot = self.memo.next();
                self.store(slot)
            }
            b'q' => {
                let slot = u32::from(input.u8()?);
                self.store(slot)
            }
            b'r' => {
                let slot = input.u32()?;
                self.store(slot)
            }
            b'p' => {
                let slot = slot_of(input.number(op)?)?;
                self.store(slot)
            }
            b'h' => {
                let slot = u32::from(input.u8()?);
                self.fetch(slot)
            }
            b'j' => {
                let slot = input.u32()?;
                self.fetch(slot)
            }
            b'g' => {
                let slot = slot_of(input.number(op)?)?;
                self.fetch(slot)
            }
            // Stack.
            b'0' => {
                // Python's own machine drops a mark as well.
                if self.marks.last() == Some(&self.stack.len()) {
                    self.marks.pop();
                    return Ok(());
                }
                let start = self.below(1)?;
                self.truncate(start);
                Ok(())
            }
            b'1' => {
                let mark = self.pop_mark()?;
                self.truncate(mark);
                Ok(())
            }
            b'2' => {
                let top = self.stack.last().ok_or(Halt::Bad(Problem::Underflow))?.value;
                self.push(top)
            }
            // Sets are not used by snapshots.
            0x8f => self.push_opaque(StringId::NONE, None),
            0x90 => {
                let mark = self.pop_mark()?;
                self.truncate(mark);
                Ok(())
            }
            0x91 => {
                let mark = self.pop_mark()?;
                self.truncate(mark);
                self.push_opaque(StringId::NONE, None)
            }
            // Classes and functions: named, never used.
            b'c' => {
                let (module, name) = (input.line(op)?, input.line(op)?);
                let name = self.class(&String::from_utf8_lossy(module), &String::from_utf8_lossy(name));
                self.push(Value::Ref(Reference::Opaque(name)))
            }
            0x93 => {
                let start = self.below(2)?;
                let text = |at: usize| self.stack[at].value.text().map_or("?", |id| self.strings.get(id));
                let (module, name) = (text(start).to_string(), text(start + 1).to_string());
                let name = self.class(&module, &name);
                self.truncate(start);
                self.push(Value::Ref(Reference::Opaque(name)))
            }
            b'R' | 0x81 => self.call(2),
            0x92 => self.call(3),
            b'b' => {
                let start = self.below(1)?;
                self.truncate(start);
                Ok(())
            }
            b'i' => {
                let (module, name) = (input.line(op)?, input.line(op)?);
                let name = self.class(&String::from_utf8_lossy(module), &String::from_utf8_lossy(name));
                let mark = self.pop_mark()?;
                self.truncate(mark);
                self.push_opaque(name, None)
            }
            b'o' => {
                let mark = self.pop_mark()?;
                let name = self.stack.get(mark).map_or(StringId::NONE, |entry| class_of(entry.value));
                self.truncate(mark);
                self.push_opaque(name, None)
            }
            b'P' => {
                input.line(op)?;
                self.push_named("persistent id")
            }
            b'Q' => {
                let start = self.below(1)?;
                self.truncate(start);
                self.push_named("persistent id")
            }
            0x82..=0x84 => {
                input.take([1, 2, 4][usize::from(op - 0x82)])?;
                self.push_named("extension")
            }
            0x97 => self.push_opaque(StringId::NONE, None),
            0x98 => Ok(()),
            // Frames only group opcodes.
            0x80 => input.take(1).map(drop),
            0x95 => input.take(8).map(drop),
            b'.' => {
                self.finish_lists();
                Err(Halt::Stop)
            }
            other => Err(Halt::Bad(Problem::Opcode(other))),
        }
    }

    fn push_named(&mut self, name: &'static str) -> Done {
        let name = self.strings.intern(name);
        self.push_opaque(name, None)
    }

    fn class(&mut self, module: &str, name: &str) -> StringId {
        self.strings.intern(&format!("{module}.{name}"))
    }

    /// Index of the `n`th value from the top, above the last mark.
    fn below(&self, n: usize) -> Result<usize, Halt> {
        let start = self.stack.len().checked_sub(n).ok_or(Halt::Bad(Problem::Underflow))?;
        match self.marks.last() {
            Some(mark) if *mark > start => Err(Halt::Bad(Problem::Underflow)),
            _ => Ok(start),
        }
    }

    /// Index of the first value above the last mark, which is removed.
    fn pop_mark(&mut self) -> Result<usize, Halt> {
        self.marks.pop().ok_or(Halt::Bad(Problem::Underflow))
    }

    /// Drops the values from an index on.
    fn truncate(&mut self, start: usize) {
        self.stack.truncate(start);
        if self.open.is_some_and(|open| open.position >= start) {
            self.close();
        }
    }

    fn push(&mut self, value: Value) -> Done {
        if let Some(open) = self.open {
            if self.stack.len() == open.position + 1
                && self.marks.len() == open.n_marks
                && value.text().is_some()
            {
                // The key after the list.
                self.close();
            } else if self.stack.len() > open.position + MAX_WAITING
                && self.marks.len() == open.n_marks + 1
                && self.marks.last() == Some(&(open.position + 1))
            {
                self.drain(open.position, open.position + 1, self.stack.len() - MIN_WAITING);
                let objects = self.stack[open.position + 1..].iter().filter_map(|it| inner(it.value));
                let least = objects.min().unwrap_or(self.heap.next_inner());
                self.drop_below(least);
            }
        }
        if self.stack.len() >= MAX_STACK {
            return Err(Halt::Bad(Problem::TooMany));
        }
        self.stack.push(Entry { value, at: self.position });
        Ok(())
    }

    fn push_object(&mut self, object: Object) -> Done {
        let is_inner = self.open.is_some();
        self.add_object(object, is_inner)
    }

    fn add_object(&mut self, object: Object, is_inner: bool) -> Done {
        let number = self.heap.add(object, is_inner).ok_or(Halt::Bad(Problem::TooMany))?;
        self.push(Value::Ref(Reference::Object(number)))
    }

    /// Pushes a list with these values; its place says what they mean.
    fn push_list(&mut self, values: Vec<Value>) -> Done {
        let role = self.role_of_list();
        if role == Role::Plain {
            let values = values.iter().map(|value| self.kept(*value)).collect();
            return self.push_object(Object::List(values, role));
        }
        self.close();
        // The outermost list may be of anything.
        self.has_lists |= role != Role::Annotations && !self.stack.is_empty();
        if let Role::Events(device) = role {
            self.rows.has_device(device);
        }
        let is_drained = role.is_drained();
        // In protocols 0 and 1, a list may come after its elements.
        let at = self.position;
        for value in values.iter().filter(|_| is_drained) {
            self.rows.take(role, *value, at..at, &self.heap, &self.strings);
        }
        self.add_object(Object::List(if is_drained { Vec::new() } else { values }, role), false)?;
        if is_drained {
            self.open = Some(Open { position: self.stack.len() - 1, n_marks: self.marks.len() });
        }
        Ok(())
    }

    /// Meaning of a list that would be pushed now.
    fn role_of_list(&self) -> Role {
        let Some(top) = self.stack.last() else {
            return if self.marks.is_empty() { Role::Segments } else { Role::Plain };
        };
        let n = self.stack.len();
        let is_of_root = match self.marks[..] {
            [] => n == 2,
            [1] => n.is_multiple_of(2),
            _ => false,
        };
        if is_of_root
            && let Some(key) = top.value.text()
            && matches!(self.object(0), Some(Object::Dict(_)))
        {
            return match key {
                key if key == self.root_keys.segments => Role::Segments,
                key if key == self.root_keys.traces => Role::Traces,
                key if key == self.root_keys.annotations => Role::Annotations,
                _ => Role::Plain,
            };
        }
        // An element of the list below the mark, or of the list on top.
        let traces = |at: usize| match self.object(at) {
            Some(Object::List(values, Role::Traces)) => Some(values.len()),
            _ => None,
        };
        let in_marked = self.marks.last().and_then(|mark| {
            let n_before = traces(mark.checked_sub(1)?)?;
            let is_next = *mark == n
                || matches!(self.object(n - 1), Some(Object::List(_, Role::Events(_))))
                || !matches!(top.value, Value::Ref(Reference::Object(_)));
            is_next.then_some(n_before + n - mark)
        });
        let is_above_mark = self.marks.last().is_none_or(|mark| *mark < n);
        let number = in_marked.or_else(|| traces(n - 1).filter(|_| is_above_mark));
        match number {
            Some(number) if number < MAX_DEVICES => Role::Events(number as u32),
            _ => Role::Plain,
        }
    }

    /// The container at an index of the stack.
    fn object(&self, at: usize) -> Option<&Object> {
        match self.stack.get(at)?.value {
            Value::Ref(Reference::Object(number)) => self.heap.get(number),
            _ => None,
        }
    }

    fn push_text(&mut self, input: &mut Input<'_>, n: u64) -> Done {
        match usize::try_from(n).ok().filter(|n| *n <= MAX_TEXT_BYTES) {
            Some(n) => {
                let bytes = input.take(n)?;
                let id = match std::str::from_utf8(bytes) {
                    Ok(text) => self.strings.intern(text),
                    Err(_) => self.strings.intern(&String::from_utf8_lossy(bytes)),
                };
                self.push(Value::Ref(Reference::Text(id)))
            }
            None => self.push_opaque(StringId::NONE, Some(n)),
        }
    }

    /// Pushes a value that is not built. `n_bytes` of it follow and are skipped.
    fn push_opaque(&mut self, name: StringId, n_bytes: Option<u64>) -> Done {
        self.skip = n_bytes.unwrap_or(0);
        if !name.is_none() {
            self.opaque.0 += 1;
            self.opaque.1.get_or_insert((self.position, name));
        }
        self.push(Value::Ref(Reference::Opaque(name)))
    }

    /// Pushes an integer in two's complement, least byte first.
    fn push_long(&mut self, bytes: &[u8]) -> Done {
        let is_negative = bytes.last().is_some_and(|byte| *byte >= 0x80);
        let fill = if is_negative { 0xff } else { 0 };
        let (low, high) = bytes.split_at(bytes.len().min(8));
        let mut word = [fill; 8];
        word[..low.len()].copy_from_slice(low);
        let value = i64::from_le_bytes(word);
        let fits = high.iter().all(|byte| *byte == fill) && (value < 0) == is_negative;
        if fits { self.push(Value::Int(value)) } else { self.push_opaque(StringId::NONE, None) }
    }

    /// Replaces a class and its arguments by a value that is not built.
    fn call(&mut self, n: usize) -> Done {
        let start = self.below(n)?;
        let name = class_of(self.stack[start].value);
        self.truncate(start);
        self.push_opaque(name, None)
    }

    fn kept(&mut self, value: Value) -> Value {
        self.heap.keep(value, &self.frame_keys, &mut self.stacks)
    }

    fn take_values(&mut self, start: usize) -> Vec<Value> {
        let values = self.stack.get(start..).unwrap_or_default().iter().map(|entry| entry.value).collect();
        self.stack.truncate(start);
        values
    }

    /// Keys and values from an index on.
    fn pairs(&mut self, start: usize) -> Vec<(StringId, Value)> {
        let n = self.stack.len().saturating_sub(start) / 2;
        let mut pairs = Vec::with_capacity(n);
        for pair in 0..n {
            let (key, value) = (self.stack[start + 2 * pair].value, self.stack[start + 2 * pair + 1].value);
            let value = self.kept(value);
            if let Some(key) = key.text() {
                pairs.push((key, value));
            }
        }
        pairs
    }

    /// Adds the pairs from an index on to the dict below.
    fn set_items(&mut self, start: usize) -> Done {
        let target = start.checked_sub(1).ok_or(Halt::Bad(Problem::Underflow))?;
        if start == 1 {
            self.close();
        }
        let mut pairs = self.pairs(start);
        self.stack.truncate(start);
        if let Value::Ref(Reference::Object(number)) = self.stack[target].value
            && let Some(Object::Dict(own)) = self.heap.get_mut(number)
        {
            if own.is_empty() { *own = pairs } else { own.append(&mut pairs) }
        }
        Ok(())
    }

    /// Adds the values from an index on to the list below.
    fn append(&mut self, start: usize) -> Done {
        let target = start.checked_sub(1).ok_or(Halt::Bad(Problem::Underflow))?;
        let role = match self.object(target) {
            Some(Object::List(_, role)) => *role,
            _ => {
                self.truncate(start);
                return Ok(());
            }
        };
        if role.is_drained() {
            self.drain(target, start, self.stack.len());
            if self.open.is_some_and(|open| open.position == target) {
                self.drop_below(self.heap.next_inner());
            }
            return Ok(());
        }
        if role == Role::Traces {
            self.close();
        }
        let values: Vec<Value> = (start..self.stack.len()).map(|at| self.stack[at].value).collect();
        let values: Vec<Value> = values.into_iter().map(|value| self.kept(value)).collect();
        self.truncate(start);
        if let Value::Ref(Reference::Object(number)) = self.stack[target].value
            && let Some(Object::List(own, _)) = self.heap.get_mut(number)
        {
            if own.is_empty() { *own = values } else { own.extend(values) }
        }
        Ok(())
    }

    /// Hands the values of a range to the rows and removes them; they are elements of the list at `target`.
    fn drain(&mut self, target: usize, start: usize, end: usize) {
        let Some(Object::List(_, role)) = self.object(target) else { return };
        let role = *role;
        self.has_lists = self.is_snapshot();
        for at in start..end {
            let entry = self.stack[at];
            let next = self.stack.get(at + 1).map_or(self.position, |next| next.at);
            self.rows.take(role, entry.value, entry.at..next, &self.heap, &self.strings);
        }
        self.stack.drain(start..end);
    }

    fn drop_below(&mut self, number: u32) {
        self.heap.drop_below(number, &mut self.memo, &self.frame_keys, &mut self.stacks);
    }

    /// Ends the list that is drained.
    fn close(&mut self) {
        if self.open.take().is_some() {
            self.drop_below(self.heap.next_inner());
        }
    }

    fn store(&mut self, slot: u32) -> Done {
        let value = self.stack.last().ok_or(Halt::Bad(Problem::Underflow))?.value;
        let reference = match value {
            Value::Ref(reference) => reference,
            // Numbers are never stored.
            _ => Reference::Gone,
        };
        if self.memo.set(slot, reference) { Ok(()) } else { Err(Halt::Bad(Problem::TooMany)) }
    }

    fn fetch(&mut self, slot: u32) -> Done {
        let reference = self.memo.get(slot).ok_or(Halt::Bad(Problem::Memo))?;
        self.push(Value::Ref(reference))
    }

    /// Takes what is whole where a pickle was cut off; the offset from which on nothing was used.
    pub fn cut(&mut self) -> u64 {
        let Some(open) = self.open.filter(|open| open.position < self.stack.len()) else {
            self.finish_lists();
            return self.position;
        };
        let start = open.position + 1;
        let mut end = start;
        if self.marks.get(open.n_marks) == Some(&start) {
            end = match self.marks.get(open.n_marks + 1) {
                // The value below the next mark is being built.
                Some(mark) => mark.saturating_sub(1).max(start),
                None => self.stack.len(),
            };
            let is_empty = |entry: &Entry| match entry.value {
                Value::Ref(Reference::Object(number)) => {
                    matches!(self.heap.get(number), Some(Object::Dict(pairs)) if pairs.is_empty())
                }
                _ => false,
            };
            if end == self.stack.len() && self.stack.last().is_some_and(is_empty) {
                end = end.saturating_sub(1).max(start);
            }
        }
        let from = self.stack.get(end).map_or(self.position, |entry| entry.at);
        self.drain(open.position, start, end);
        self.finish_lists();
        from
    }

    /// Takes the keys of the outermost dict, and the settings, at the end.
    fn finish_lists(&mut self) {
        self.close();
        let mut pairs: Vec<(StringId, Value)> = match self.object(0) {
            Some(Object::Dict(pairs)) => pairs.clone(),
            _ => return,
        };
        // Those of a dict that was cut off.
        let rest = self.stack.get(1..).unwrap_or_default();
        if self.marks.first().is_none_or(|mark| *mark == 1) {
            let inner = self.marks.get(1).map_or(rest.len(), |mark| mark.saturating_sub(1).min(rest.len()));
            for pair in rest[..inner].chunks(2) {
                if let Some(key) = pair[0].value.text() {
                    pairs.push((key, pair.get(1).map_or(Value::None, |entry| entry.value)));
                }
            }
        }
        self.rows.finish(&pairs, &self.heap, &mut self.strings);
    }
}

/// Name of an opaque value.
fn class_of(value: Value) -> StringId {
    match value {
        Value::Ref(Reference::Opaque(name)) => name,
        _ => StringId::NONE,
    }
}

fn inner(value: Value) -> Option<u32> {
    match value {
        Value::Ref(Reference::Object(number)) if Heap::is_inner(number) => Some(number),
        _ => None,
    }
}

fn slot_of(number: Option<i64>) -> Result<u32, Halt> {
    number.and_then(|number| u32::try_from(number).ok()).ok_or(Halt::Bad(Problem::Memo))
}

/// Text with `\uXXXX` and `\UXXXXXXXX` as characters; other bytes are Latin-1.
fn unescaped(line: &[u8]) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let [first, after @ ..] = rest {
        let n = match rest {
            [b'\\', b'u', ..] => 4,
            [b'\\', b'U', ..] => 8,
            _ => 0,
        };
        let digits = rest.get(2..2 + n).filter(|_| n > 0).and_then(|it| std::str::from_utf8(it).ok());
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                rest = rest.get(2 + n..).unwrap_or_default();
            }
            None => {
                text.push(char::from(*first));
                rest = after;
            }
        }
    }
    text
}

//! Values of a pickle: what is on its stack, in its memo and in its containers.
//!
//! Frames and stacks are recognized when they are put into something, and are numbers from then on. Containers of elements that
//! are pushed to columns one by one (events, segments) live in a queue that is emptied with them; so memory is that of a few
//! elements, however many there are. A number of a container that is gone is never used again.

use super::stacks::Stacks;
use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use std::collections::VecDeque;

/// A value that is referred to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reference {
    Text(StringId),
    /// A container in the [`Heap`].
    Object(u32),
    /// A frame of [`Stacks`].
    Frame(u32),
    /// A stack of [`Stacks`].
    Stack(u32),
    /// A value that is not built, such as an instance of a class, with its name; [`StringId::NONE`] for bytes.
    Opaque(StringId),
    /// A container whose content is in columns already.
    Gone,
}

/// A value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Ref(Reference),
}

impl Value {
    pub fn text(self) -> Option<StringId> {
        match self {
            Value::Ref(Reference::Text(id)) => Some(id),
            _ => None,
        }
    }

    pub fn int(self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(value),
            _ => None,
        }
    }
}

/// Meaning of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Keeps its elements.
    Plain,
    /// `device_traces`: keeps its elements, which are lists of events.
    Traces,
    /// Events of a device; they go to columns.
    Events(u32),
    /// `segments`; they go to columns.
    Segments,
    /// `external_annotations`; they go to columns.
    Annotations,
}

impl Role {
    /// Whether elements go to columns.
    pub fn is_drained(self) -> bool {
        !matches!(self, Role::Plain | Role::Traces)
    }
}

/// A container.
pub enum Object {
    /// In file order; keys that are no texts are left out.
    Dict(Vec<(StringId, Value)>),
    List(Vec<Value>, Role),
    Tuple(Vec<Value>),
    /// A frame or stack.
    Known(Reference),
}

/// Containers.
#[derive(Default)]
pub struct Heap {
    /// Those that stay.
    outer: Vec<Object>,
    /// Those of elements that go to columns.
    inner: VecDeque<Object>,
    /// Number of containers that left `inner`.
    n_gone: u32,
}

/// Bit of numbers of `inner`.
const INNER: u32 = 1 << 31;
/// Most containers of `inner`, also of those that left it.
const MAX_INNER: u32 = INNER - 1;
/// Most containers that stay; snapshots have a few.
const MAX_OUTER: u32 = 1 << 22;

/// Texts of keys that have a meaning.
pub struct FrameKeys {
    pub filename: StringId,
    pub line: StringId,
    pub name: StringId,
}

impl Heap {
    /// Adds a container; `None` if there are too many.
    pub fn add(&mut self, object: Object, is_inner: bool) -> Option<u32> {
        let (number, limit) = match is_inner {
            true => (self.next_inner(), MAX_INNER),
            false => (self.outer.len() as u32, MAX_OUTER),
        };
        if number & !INNER >= limit {
            return None;
        }
        match is_inner {
            true => self.inner.push_back(object),
            false => self.outer.push(object),
        }
        Some(number)
    }

    /// Number of the next container of `inner`.
    pub fn next_inner(&self) -> u32 {
        self.n_gone.wrapping_add(self.inner.len() as u32) | INNER
    }

    pub fn is_inner(number: u32) -> bool {
        number & INNER != 0
    }

    /// The container; `None` if it is gone.
    pub fn get(&self, number: u32) -> Option<&Object> {
        match Heap::is_inner(number) {
            true => self.inner.get((number & !INNER).checked_sub(self.n_gone)? as usize),
            false => self.outer.get(number as usize),
        }
    }

    pub fn get_mut(&mut self, number: u32) -> Option<&mut Object> {
        match Heap::is_inner(number) {
            true => self.inner.get_mut((number & !INNER).checked_sub(self.n_gone)? as usize),
            false => self.outer.get_mut(number as usize),
        }
    }

    /// Drops containers of `inner` below a number. References of the memo to them are replaced first.
    pub fn drop_below(&mut self, number: u32, memo: &mut Memo, keys: &FrameKeys, stacks: &mut Stacks) {
        let n = (number & !INNER).saturating_sub(self.n_gone) as usize;
        if n == 0 {
            return;
        }
        let recent = std::mem::take(&mut memo.recent);
        for slot in recent {
            match memo.get(slot) {
                Some(Reference::Object(it)) if Heap::is_inner(it) && it < number => {
                    memo.replace(slot, self.known(it, keys, stacks).unwrap_or(Reference::Gone));
                }
                Some(Reference::Object(_)) => memo.recent.push(slot),
                _ => {}
            }
        }
        self.inner.drain(..n.min(self.inner.len()));
        self.n_gone += n as u32;
    }

    /// The frame or stack that a container is.
    pub fn known(&mut self, number: u32, keys: &FrameKeys, stacks: &mut Stacks) -> Option<Reference> {
        let known = match self.get(number)? {
            Object::Known(known) => return Some(*known),
            Object::Dict(pairs) => Reference::Frame(frame(pairs, keys, stacks)?),
            Object::List(values, Role::Plain) if !values.is_empty() => {
                let frame = |value: &Value| match value {
                    Value::Ref(Reference::Frame(frame)) => Some(*frame),
                    _ => None,
                };
                stacks.begin();
                values.iter().try_for_each(|value| frame(value).map(|frame| stacks.add(frame)))?;
                Reference::Stack(stacks.finish())
            }
            _ => return None,
        };
        *self.get_mut(number)? = Object::Known(known);
        Some(known)
    }

    /// A value to put into a container: a frame or a stack as such.
    pub fn keep(&mut self, value: Value, keys: &FrameKeys, stacks: &mut Stacks) -> Value {
        match value {
            Value::Ref(Reference::Object(number)) => {
                self.known(number, keys, stacks).map_or(value, Value::Ref)
            }
            _ => value,
        }
    }

    /// Pairs of a dict.
    pub fn dict(&self, value: Value) -> Option<&[(StringId, Value)]> {
        let Value::Ref(Reference::Object(number)) = value else { return None };
        match self.get(number)? {
            Object::Dict(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// Elements of a list or tuple.
    pub fn elements(&self, value: Value) -> Option<&[Value]> {
        let Value::Ref(Reference::Object(number)) = value else { return None };
        match self.get(number)? {
            Object::List(values, _) | Object::Tuple(values) => Some(values),
            _ => None,
        }
    }
}

/// The frame that a dict is.
fn frame(pairs: &[(StringId, Value)], keys: &FrameKeys, stacks: &mut Stacks) -> Option<u32> {
    let get = |key: StringId| pairs.iter().rev().find(|(it, _)| *it == key).map(|(_, value)| *value);
    let (file, name) = (get(keys.filename)?.text()?, get(keys.name)?.text()?);
    Some(stacks.frame(file, name, get(keys.line).and_then(Value::int)))
}

/// Values that a pickle numbers in order to fetch them again.
#[derive(Default)]
pub struct Memo {
    slots: Vec<Reference>,
    /// Slots out of order.
    sparse: HashMap<u32, Reference>,
    /// Slots that refer to containers since some were dropped.
    recent: Vec<u32>,
}

/// Most values in a memo.
const MAX_MEMO: usize = 1 << 28;

impl Memo {
    pub fn get(&self, slot: u32) -> Option<Reference> {
        self.slots.get(slot as usize).or_else(|| self.sparse.get(&slot)).copied()
    }

    /// Number of the next slot without one.
    pub fn next(&self) -> u32 {
        (self.slots.len() + self.sparse.len()) as u32
    }

    fn replace(&mut self, slot: u32, value: Reference) {
        match self.slots.get_mut(slot as usize) {
            Some(own) => *own = value,
            None => drop(self.sparse.insert(slot, value)),
        }
    }

    /// Sets a slot; whether there was room.
    pub fn set(&mut self, slot: u32, value: Reference) -> bool {
        if matches!(value, Reference::Object(number) if Heap::is_inner(number)) {
            self.recent.push(slot);
        }
        if slot as usize == self.slots.len() {
            self.slots.push(value);
        } else {
            self.replace(slot, value);
        }
        self.slots.len() + self.sparse.len() <= MAX_MEMO
    }
}

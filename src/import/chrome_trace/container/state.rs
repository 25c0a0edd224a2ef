//! Where in the file the reader stands.

use super::skip::SkipScan;
use crate::import::chrome_trace::salvage::ListKind;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Start,
    /// Between `[` and `]`.
    List(List),
    /// Events in a row without brackets.
    Lines,
    /// In the top-level object.
    Object,
    /// In `stackFrames`.
    Frames,
    /// Skipping a value that is too large.
    Skipping(Skipping),
    /// After broken syntax, looking for the next element.
    Resync(Resync),
    /// After the end of the list or the top-level object.
    End(AfterEnd),
}

/// An open list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct List {
    pub kind: ListKind,
    /// The list is a member of the top-level object.
    pub in_object: bool,
    pub comma: Comma,
}

/// Text since the last element of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comma {
    AtStart,
    None,
    One,
    /// Stray text.
    Stray,
}

/// A value that is skipped piece by piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Skipping {
    pub scan: SkipScan,
    /// File offset of the value.
    pub start: u64,
    pub enclosing: Enclosing,
}

/// An element that is broken and whose end is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resync {
    /// File offset of the element.
    pub start: u64,
    /// An event may start at the next `{`.
    pub ready: bool,
    pub enclosing: Enclosing,
}

/// Text after the end. An event there means that the list was closed too early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterEnd {
    /// An event may start here.
    Element,
    /// In a line of text.
    Text,
    /// More JSON, which is ignored.
    Json,
}

/// What an element or member is in: the state to return to after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enclosing {
    List { kind: ListKind, in_object: bool },
    Lines,
    Object,
    Frames,
}

impl Enclosing {
    /// State after the element.
    pub fn after_element(self) -> State {
        self.state(Comma::None)
    }

    /// State before an event that is read whatever precedes it.
    pub fn before_event(self) -> State {
        self.state(Comma::One)
    }

    fn state(self, comma: Comma) -> State {
        match self {
            Enclosing::List { kind, in_object } => State::List(List { kind, in_object, comma }),
            Enclosing::Lines => State::Lines,
            Enclosing::Object => State::Object,
            Enclosing::Frames => State::Frames,
        }
    }

    /// Whether it contains events or samples, not members.
    pub fn has_elements(self) -> bool {
        matches!(self, Enclosing::List { .. } | Enclosing::Lines)
    }

    /// Whether it is a list in the top-level object, so that a member may follow.
    pub fn is_list_in_object(self) -> bool {
        matches!(self, Enclosing::List { in_object: true, .. })
    }
}

/// Bracket of the file that is still open at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unclosed {
    Object,
    List,
}

impl State {
    /// The outermost bracket that is open, if any.
    pub fn unclosed(self) -> Option<Unclosed> {
        let enclosing = match self {
            State::List(List { kind, in_object, .. }) => Enclosing::List { kind, in_object },
            State::Skipping(Skipping { enclosing, .. }) => enclosing,
            State::Resync(Resync { enclosing: enclosing @ Enclosing::List { .. }, .. }) => enclosing,
            State::Object | State::Frames => Enclosing::Object,
            State::Start | State::Lines | State::Resync(_) | State::End(_) => return None,
        };
        match enclosing {
            Enclosing::List { in_object: false, .. } => Some(Unclosed::List),
            Enclosing::Lines => None,
            _ => Some(Unclosed::Object),
        }
    }
}

/// Result of a step.
pub enum Step {
    /// Continue at this offset of the bytes.
    At(usize),
    /// More bytes are needed from this offset on.
    NeedMore(usize),
}

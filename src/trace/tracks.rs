//! Processes, their threads, and the tracks that slices are on.

use crate::base::strings::StringId;
use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// Row of a [`ProcessTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ProcessId(pub u32);

/// Row of a [`ThreadTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Pod, Zeroable)]
#[repr(transparent)]
pub struct ThreadId(pub u32);

/// A thread with all of its lanes, or a track that belongs to no thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    Thread(ThreadId),
    Track(TrackId),
}

/// Row of a [`TrackTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Pod, Zeroable)]
#[repr(transparent)]
pub struct TrackId(pub u32);

/// Process or thread id as in the file; `7` and `"7"` differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Key {
    Number(i64),
    Text(StringId),
    /// A number that [`Key::Number`] cannot represent, as written: beyond 64 bits, or with a fraction.
    Digits(StringId),
}

/// Processes in order of first appearance.
#[derive(Clone, Default)]
pub struct ProcessTable {
    pub key: Vec<Key>,
    /// [`StringId::NONE`] if not given.
    pub name: Vec<StringId>,
    pub labels: Vec<StringId>,
    pub sort_index: Vec<Option<i32>>,
}

impl ProcessTable {
    pub fn push(&mut self, key: Key) -> ProcessId {
        self.key.push(key);
        self.name.push(StringId::NONE);
        self.labels.push(StringId::NONE);
        self.sort_index.push(None);
        ProcessId(self.key.len() as u32 - 1)
    }

    /// Takes a process away. Those after it have ids that are one less.
    pub fn remove(&mut self, process: ProcessId) {
        let at = process.0 as usize;
        if at < self.key.len() {
            self.key.remove(at);
            self.name.remove(at);
            self.labels.remove(at);
            self.sort_index.remove(at);
        }
    }

    pub fn len(&self) -> usize {
        self.key.len()
    }

    pub fn is_empty(&self) -> bool {
        self.key.is_empty()
    }
}

/// Threads in order of first appearance; equal keys in different processes are distinct threads.
#[derive(Clone, Default)]
pub struct ThreadTable {
    pub process: Vec<ProcessId>,
    pub key: Vec<Key>,
    /// [`StringId::NONE`] if not given.
    pub name: Vec<StringId>,
    pub sort_index: Vec<Option<i32>>,
    /// The thread whose overlapping slices the file shows as this one: exports of Tracedrop cannot write them otherwise. Its
    /// slices are on tracks of that thread.
    pub overlap_of: Vec<Option<ThreadId>>,
}

impl ThreadTable {
    pub fn push(&mut self, process: ProcessId, key: Key) -> ThreadId {
        self.process.push(process);
        self.key.push(key);
        self.name.push(StringId::NONE);
        self.sort_index.push(None);
        self.overlap_of.push(None);
        ThreadId(self.key.len() as u32 - 1)
    }

    pub fn len(&self) -> usize {
        self.key.len()
    }

    pub fn is_empty(&self) -> bool {
        self.key.is_empty()
    }
}

/// Kind of a track.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TrackKind {
    /// Slices of a thread, properly nested.
    Thread,
    /// Slices of a thread that partially overlap one on the thread's own track.
    ThreadOverflow,
    /// States of a thread (running, sleeping).
    ThreadState,
    /// Instants of a process.
    ProcessInstants,
    /// Instants of the whole trace.
    GlobalInstants,
    /// Async slices with global ids: those with one first name that do not overlap in time. The track's process is that of the
    /// first event.
    AsyncGlobal,
    /// Async slices with process-local ids.
    AsyncProcess,
    /// Legacy async begin, steps and end.
    AsyncLegacy,
}

impl TrackKind {
    /// All kinds, in order.
    pub const ALL: [TrackKind; 8] = [
        TrackKind::Thread,
        TrackKind::ThreadOverflow,
        TrackKind::ThreadState,
        TrackKind::ProcessInstants,
        TrackKind::GlobalInstants,
        TrackKind::AsyncGlobal,
        TrackKind::AsyncProcess,
        TrackKind::AsyncLegacy,
    ];
}

/// Tracks in order of first appearance.
#[derive(Clone, Default)]
pub struct TrackTable {
    pub kind: Vec<TrackKind>,
    /// Name of the first event for async tracks; else [`StringId::NONE`].
    pub name: Vec<StringId>,
    pub process: Vec<Option<ProcessId>>,
    pub thread: Vec<Option<ThreadId>>,
    /// The thread the file shows the track as, if it is another; see [`ThreadTable::overlap_of`].
    pub shown_as: Vec<Option<ThreadId>>,
}

impl TrackTable {
    pub fn push(
        &mut self,
        kind: TrackKind,
        name: StringId,
        process: Option<ProcessId>,
        thread: Option<ThreadId>,
    ) -> TrackId {
        self.kind.push(kind);
        self.name.push(name);
        self.process.push(process);
        self.thread.push(thread);
        self.shown_as.push(None);
        TrackId(self.kind.len() as u32 - 1)
    }

    /// Where the slices of a track run: overlapping slices of a thread are in lanes, each with a track of its own.
    pub fn place(&self, track: TrackId) -> Place {
        let thread = self.thread.get(track.0 as usize).copied().flatten();
        thread.map_or(Place::Track(track), Place::Thread)
    }

    /// Process of a track, its own or that of its thread.
    pub fn process_of(&self, track: TrackId, threads: &ThreadTable) -> Option<ProcessId> {
        let track = track.0 as usize;
        self.process.get(track).copied().flatten().or_else(|| {
            let thread = self.thread.get(track).copied().flatten()?;
            threads.process.get(thread.0 as usize).copied()
        })
    }

    pub fn len(&self) -> usize {
        self.kind.len()
    }

    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }
}

//! Object lifetime events (created, snapshot, destroyed), and other markers that are not slices.

use super::args::ArgsPlace;
use super::tracks::ProcessId;
use crate::base::strings::StringId;

/// Kind of a marker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ObjectEvent {
    Created,
    Snapshot,
    Destroyed,
    /// Memory dump of a process.
    ProcessMemoryDump,
    /// Memory dump of the whole system.
    GlobalMemoryDump,
    /// Clock synchronization.
    ClockSync,
}

impl ObjectEvent {
    /// All kinds, in order.
    pub const ALL: [ObjectEvent; 6] = [
        ObjectEvent::Created,
        ObjectEvent::Snapshot,
        ObjectEvent::Destroyed,
        ObjectEvent::ProcessMemoryDump,
        ObjectEvent::GlobalMemoryDump,
        ObjectEvent::ClockSync,
    ];
}

/// Markers sorted by time.
#[derive(Clone, Default)]
pub struct ObjectTable {
    pub event: Vec<ObjectEvent>,
    /// Nanoseconds on the trace's own clock.
    pub ts: Vec<i64>,
    pub process: Vec<ProcessId>,
    pub name: Vec<StringId>,
    /// Id as text; [`StringId::NONE`] if it has none.
    pub id: Vec<StringId>,
    pub args: Vec<ArgsPlace>,
}

impl ObjectTable {
    pub fn len(&self) -> usize {
        self.event.len()
    }

    pub fn is_empty(&self) -> bool {
        self.event.is_empty()
    }
}

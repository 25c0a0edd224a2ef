//! Restores the original ids of processes and threads that Tracedrop exports had to change.
//!
//! Other readers misinterpret pid 0 and text ids, so an export writes free numbers instead and stores the originals in its
//! metadata. In GPU traces the pid is the number of the GPU, so without this, GPU 0 would have another number after reimport.

use super::TraceBuilder;
use crate::base::hash::{HashMap, HashSet};
use crate::base::json::Json;
use crate::base::strings::StringTable;
use crate::trace::SourceInfo;
use crate::trace::tracks::Key;

/// Metadata entry in which Tracedrop exports state how they were made.
pub const OWN_FACT: &str = "metadata.tracedrop";

/// Original ids by the ids in an export.
#[derive(Default)]
pub struct Renumbered {
    pids: HashMap<i64, Json>,
    tids: HashMap<(i64, i64), Json>,
}

impl Renumbered {
    /// Reads them from the metadata; empty for files that Tracedrop did not write.
    pub fn of(source: &SourceInfo) -> Renumbered {
        let mut all = Renumbered::default();
        let own = source.metadata.iter().find(|(name, _)| name == OWN_FACT);
        let own = own.and_then(|(_, value)| Json::parse(value.as_bytes()));
        let list = own.as_ref().and_then(|own| own.get("renumbered")).and_then(Json::as_array);
        for entry in list.unwrap_or_default() {
            let (Some(pid), Some(was)) = (entry.get("pid").and_then(Json::as_i64), entry.get("was")) else {
                continue;
            };
            match entry.get("tid") {
                None => drop(all.pids.insert(pid, was.clone())),
                Some(tid) => {
                    if let Some(tid) = tid.as_i64() {
                        all.tids.insert((pid, tid), was.clone());
                    }
                }
            }
        }
        all
    }

    /// Original id of a process.
    pub fn process(&self, key: Key) -> Option<&Json> {
        self.pids.get(&number(key)?)
    }

    /// Original id of a thread, by the key of its process and its own.
    pub fn thread(&self, process: Key, key: Key) -> Option<&Json> {
        self.tids.get(&(number(process)?, number(key)?))
    }

    fn is_empty(&self) -> bool {
        self.pids.is_empty() && self.tids.is_empty()
    }
}

fn number(key: Key) -> Option<i64> {
    match key {
        Key::Number(number) => Some(number),
        Key::Text(_) | Key::Digits(_) => None,
    }
}

fn key_of(was: &Json, strings: &mut StringTable) -> Option<Key> {
    match was {
        Json::String(text) => Some(Key::Text(strings.intern(text))),
        Json::Number(digits) => {
            let number = was.as_i64().map(Key::Number);
            Some(number.unwrap_or_else(|| Key::Digits(strings.intern(digits))))
        }
        _ => None,
    }
}

/// Restores the original keys of processes and threads. It comes last, since the file refers to them by the new ones.
///
/// A key that is taken stays with its owner: an export may contain several traces, each with a process 0.
pub(super) fn undo(builder: &mut TraceBuilder) {
    let renumbered = Renumbered::of(&builder.trace.source);
    if renumbered.is_empty() {
        return;
    }
    let trace = &mut builder.trace;
    let written = trace.processes.key.clone();
    let mut taken: HashSet<Key> = written.iter().copied().collect();
    for key in &mut trace.processes.key {
        let was = renumbered.process(*key).and_then(|was| key_of(was, &mut trace.strings));
        if let Some(was) = was.filter(|was| taken.insert(*was)) {
            *key = was;
        }
    }
    let threads = &mut trace.threads;
    let mut taken: HashSet<_> = threads.process.iter().copied().zip(threads.key.iter().copied()).collect();
    for (process, key) in threads.process.iter().zip(&mut threads.key) {
        let Some(pid) = written.get(process.0 as usize) else { continue };
        let was = renumbered.thread(*pid, *key).and_then(|was| key_of(was, &mut trace.strings));
        if let Some(was) = was.filter(|was| taken.insert((*process, *was))) {
            *key = was;
        }
    }
}

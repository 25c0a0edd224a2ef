//! Processes and threads that our own exports had to give other numbers get back those that they had.
//!
//! Readers take pid 0 and text for something else than they are, so an export writes free numbers instead, and says in its
//! metadata what they were. In traces of GPUs the pid is the number of the GPU, so without this, GPU 0 would be another one
//! after reading an export.

use super::TraceBuilder;
use crate::base::hash::{HashMap, HashSet};
use crate::base::json::Json;
use crate::base::strings::StringTable;
use crate::trace::SourceInfo;
use crate::trace::tracks::Key;

/// The fact of a file in which our exports say how they were made.
pub const OWN_FACT: &str = "metadata.tracedrop";

/// What the processes and threads of an export were, by the numbers that it gave them.
#[derive(Default)]
pub struct Renumbered {
    pids: HashMap<i64, Json>,
    tids: HashMap<(i64, i64), Json>,
}

impl Renumbered {
    /// As a file says of itself; empty for all that we did not write.
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

    /// What the process of that key was.
    pub fn process(&self, key: Key) -> Option<&Json> {
        self.pids.get(&number(key)?)
    }

    /// What the thread of that key was, in the process of that key.
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

/// Gives processes and threads the keys that they had before an export. It comes last, as the file names them by those that it
/// gave them.
///
/// A key that another one has stays that one's: an export may hold several traces, each with a process 0.
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

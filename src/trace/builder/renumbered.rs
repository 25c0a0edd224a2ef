//! Restores the original ids of processes and threads that Tracedrop exports had to change.
//!
//! Other readers misinterpret pid 0 and text ids, so an export writes free numbers instead and stores the originals in its
//! metadata. In GPU traces the pid is the number of the GPU, so without this, GPU 0 would have another number after reimport.

use super::TraceBuilder;
use crate::base::hash::{HashMap, HashSet};
use crate::base::json::typed::{self, Lenient, Raw};
use crate::base::json::{Number, is_number};
use crate::base::strings::StringTable;
use crate::trace::SourceInfo;
use crate::trace::tracks::Key;
use serde::Deserialize;

/// Metadata entry in which Tracedrop exports state how they were made.
pub const OWN_FACT: &str = "metadata.tracedrop";

/// Original ids by the ids in an export.
#[derive(Default)]
pub struct Renumbered {
    pids: HashMap<i64, Option<OriginalId>>,
    tids: HashMap<(i64, i64), Option<OriginalId>>,
}

/// An id that an export had to change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OriginalId {
    Text(String),
    /// Digits as written, since ids may have any number of them.
    Number(String),
}

/// The part of the metadata entry that is read here.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Own<'a> {
    #[serde(borrow)]
    renumbered: Raw<'a>,
}

/// A process, or a thread if it has a `tid`.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry<'a> {
    pid: Lenient<Option<i64>>,
    #[serde(borrow)]
    tid: Raw<'a>,
    #[serde(borrow)]
    was: Raw<'a>,
}

impl OriginalId {
    fn of(was: Raw<'_>) -> Option<OriginalId> {
        let digits = was.literal();
        let number = || is_number(digits.as_bytes()).then(|| OriginalId::Number(digits.to_string()));
        was.text().map(OriginalId::Text).or_else(number)
    }
}

impl Renumbered {
    /// Reads them from the metadata; empty for files that Tracedrop did not write.
    pub fn of(source: &SourceInfo) -> Renumbered {
        let mut all = Renumbered::default();
        let own = source.metadata.iter().find(|(name, _)| name == OWN_FACT);
        let own: Option<Own<'_>> = own.and_then(|(_, value)| typed::read(value.as_bytes()).ok());
        let list = own.unwrap_or_default().renumbered.list().unwrap_or_default();
        for entry in list {
            let Ok(entry) = typed::read::<Entry<'_>>(entry.literal().as_bytes()) else { continue };
            let Some(pid) = entry.pid.0.filter(|_| !entry.was.is_missing()) else { continue };
            // The last entry counts, also one without a usable id.
            let was = OriginalId::of(entry.was);
            if entry.tid.is_missing() {
                all.pids.insert(pid, was);
            } else if let Some(tid) = Number::as_i64(entry.tid.literal().as_bytes()) {
                all.tids.insert((pid, tid), was);
            }
        }
        all
    }

    /// Original id of a process.
    pub fn process(&self, key: Key) -> Option<&OriginalId> {
        self.pids.get(&number(key)?)?.as_ref()
    }

    /// Original id of a thread, by the key of its process and its own.
    pub fn thread(&self, process: Key, key: Key) -> Option<&OriginalId> {
        self.tids.get(&(number(process)?, number(key)?))?.as_ref()
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

fn key_of(was: &OriginalId, strings: &mut StringTable) -> Key {
    match was {
        OriginalId::Text(text) => Key::Text(strings.intern(text)),
        OriginalId::Number(digits) => match Number::as_i64(digits.as_bytes()) {
            Some(number) => Key::Number(number),
            None => Key::Digits(strings.intern(digits)),
        },
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
        let was = renumbered.process(*key).map(|was| key_of(was, &mut trace.strings));
        if let Some(was) = was.filter(|was| taken.insert(*was)) {
            *key = was;
        }
    }
    let threads = &mut trace.threads;
    let mut taken: HashSet<_> = threads.process.iter().copied().zip(threads.key.iter().copied()).collect();
    for (process, key) in threads.process.iter().zip(&mut threads.key) {
        let Some(pid) = written.get(process.0 as usize) else { continue };
        let was = renumbered.thread(*pid, *key).map(|was| key_of(was, &mut trace.strings));
        if let Some(was) = was.filter(|was| taken.insert((*process, *was))) {
            *key = was;
        }
    }
}

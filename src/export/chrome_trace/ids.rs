//! Numbers for processes and threads that every reader interprets correctly.

use crate::base::hash::HashSet;
use crate::trace::builder::{OriginalId, Renumbered};
use crate::trace::tracks::Key;
use crate::trace::{Run, Trace};

/// Pids and tids in use, over all traces of a run.
#[derive(Default)]
pub struct Numbers {
    pids: Pool,
    tids: Pool,
}

#[derive(Default)]
struct Pool {
    /// Numbers used by keys of the traces, which must not be assigned to others.
    reserved: HashSet<u64>,
    /// Reserved numbers already assigned to their first owner.
    given: HashSet<u64>,
    last_free: u64,
}

impl Pool {
    /// The key's own number, if valid and still free.
    fn keep(&mut self, key: Key) -> Option<u64> {
        valid(key).filter(|number| self.given.insert(*number))
    }

    /// The next unused number, from 1.
    fn free(&mut self) -> u64 {
        loop {
            self.last_free += 1;
            if !self.reserved.contains(&self.last_free) {
                return self.last_free;
            }
        }
    }
}

/// 0 means "none" or "main thread" to some readers, and Perfetto keeps 32 bits.
fn valid(key: Key) -> Option<u64> {
    match key {
        Key::Number(number @ 1..=0xffff_ffff) => Some(number as u64),
        _ => None,
    }
}

impl Numbers {
    /// Reserves all numbers that the traces use.
    pub fn reserve(run: &Run) -> Numbers {
        let mut numbers = Numbers::default();
        for trace in &run.traces {
            numbers.pids.reserved.extend(trace.processes.key.iter().filter_map(|key| valid(*key)));
            numbers.tids.reserved.extend(trace.threads.key.iter().filter_map(|key| valid(*key)));
        }
        numbers
    }

    pub fn new_pid(&mut self) -> u64 {
        self.pids.free()
    }

    pub fn new_tid(&mut self) -> u64 {
        self.tids.free()
    }

    /// Pids of a trace's processes, in order. `was` has the originals from before an earlier export.
    pub fn pids(&mut self, trace: &Trace, was: &Renumbered, notes: &mut RenumberedNotes) -> Vec<u64> {
        let keys = trace.processes.key.iter();
        keys.map(|key| {
            let pid = self.pids.keep(*key).unwrap_or_else(|| self.pids.free());
            notes.process(trace, *key, pid as i64, was);
            pid
        })
        .collect()
    }

    /// Tids of a trace's threads, assigned in `order`, which is also the order of writing, so that they stay the same when
    /// the file is read and written again.
    pub fn tids(
        &mut self,
        trace: &Trace,
        order: impl Iterator<Item = usize>,
        pids: &[u64],
        was: &Renumbered,
        notes: &mut RenumberedNotes,
    ) -> Vec<u64> {
        let mut tids = vec![0; trace.threads.len()];
        for thread in order {
            let (process, key) = (trace.threads.process[thread].0 as usize, trace.threads.key[thread]);
            let tid = self.tids.keep(key).unwrap_or_else(|| self.tids.free());
            if let (Some(process), Some(pid)) = (trace.processes.key.get(process), pids.get(process)) {
                notes.thread(trace, (*process, key), (*pid as i64, tid as i64), was);
            }
            tids[thread] = tid;
        }
        tids
    }
}

/// Original ids of renumbered processes and threads as JSON objects.
#[derive(Default)]
pub struct RenumberedNotes {
    pids: Vec<String>,
    tids: Vec<String>,
}

impl RenumberedNotes {
    /// Notes a process whose number is not its `key`. `was` has the originals from before an earlier export.
    pub fn process(&mut self, trace: &Trace, key: Key, pid: i64, was: &Renumbered) {
        let is_other = key != Key::Number(pid);
        let was = was.process(key).map(was_json).or_else(|| is_other.then(|| key_json(trace, key)));
        self.pids.extend(was.map(|was| format!("{{\"pid\":{pid},\"was\":{was}}}")));
    }

    /// Notes a thread whose number is not its key. The keys and numbers are those of its process and its own.
    pub fn thread(
        &mut self,
        trace: &Trace,
        (process, key): (Key, Key),
        (pid, tid): (i64, i64),
        was: &Renumbered,
    ) {
        let is_other = key != Key::Number(tid);
        let was = was.thread(process, key).map(was_json).or_else(|| is_other.then(|| key_json(trace, key)));
        self.tids.extend(was.map(|was| format!("{{\"pid\":{pid},\"tid\":{tid},\"was\":{was}}}")));
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn len(&self) -> usize {
        self.pids.len() + self.tids.len()
    }

    /// Processes first, as the last of many threads may be left out.
    pub fn iter(&self) -> impl Iterator<Item = &String> {
        self.pids.iter().chain(&self.tids)
    }
}

/// An id recorded by an earlier export.
fn was_json(was: &OriginalId) -> String {
    match was {
        OriginalId::Text(text) => text_json(text),
        OriginalId::Number(digits) => digits.clone(),
    }
}

fn key_json(trace: &Trace, key: Key) -> String {
    match key {
        Key::Number(number) => number.to_string(),
        Key::Text(text) => text_json(trace.strings.get(text)),
        Key::Digits(digits) => trace.strings.get(digits).to_string(),
    }
}

fn text_json(text: &str) -> String {
    let mut out = Vec::new();
    crate::base::json::write::push_string(text, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

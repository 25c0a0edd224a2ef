//! Numbers for processes and threads that every reader takes for what they are.

use crate::trace::tracks::Key;
use crate::trace::{Run, Trace};
use rustc_hash::FxHashSet;

/// Pids and tids in use, over all traces of a run.
#[derive(Default)]
pub struct Numbers {
    pids: Pool,
    tids: Pool,
}

#[derive(Default)]
struct Pool {
    /// Numbers that a key of some trace has, so that no made-up one takes them.
    reserved: FxHashSet<u64>,
    /// Reserved numbers that have been given to their first owner.
    given: FxHashSet<u64>,
    last_free: u64,
}

impl Pool {
    /// The key's own number if it is valid and still free.
    fn keep(&mut self, key: Key) -> Option<u64> {
        valid(key).filter(|number| self.given.insert(*number))
    }

    /// The next number that nobody has, from 1.
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
    /// Sees to it that made-up numbers differ from all that the traces use.
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

    /// Pids of a trace's processes, in their order.
    pub fn pids(&mut self, trace: &Trace, renumbered: &mut Vec<String>) -> Vec<u64> {
        trace
            .processes
            .key
            .iter()
            .map(|key| {
                self.pids.keep(*key).unwrap_or_else(|| {
                    let pid = self.pids.free();
                    renumbered.push(format!("{{\"pid\":{pid},\"was\":{}}}", key_json(trace, *key)));
                    pid
                })
            })
            .collect()
    }

    /// Tids of a trace's threads, in their order.
    pub fn tids(&mut self, trace: &Trace, pids: &[u64], renumbered: &mut Vec<String>) -> Vec<u64> {
        let keys = trace.threads.key.iter().zip(&trace.threads.process);
        keys.map(|(key, process)| {
            self.tids.keep(*key).unwrap_or_else(|| {
                let tid = self.tids.free();
                let pid = pids.get(process.0 as usize).copied().unwrap_or(0);
                renumbered.push(format!("{{\"pid\":{pid},\"tid\":{tid},\"was\":{}}}", key_json(trace, *key)));
                tid
            })
        })
        .collect()
    }
}

fn key_json(trace: &Trace, key: Key) -> String {
    match key {
        Key::Number(number) => number.to_string(),
        Key::Text(text) => {
            let mut out = Vec::new();
            crate::base::json::write::push_string(trace.strings.get(text), &mut out);
            String::from_utf8_lossy(&out).into_owned()
        }
    }
}

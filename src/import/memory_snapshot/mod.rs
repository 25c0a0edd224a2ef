//! CUDA memory snapshots of PyTorch 2.0 to 2.12: `torch.cuda.memory._dump_snapshot("x.pickle")`, or the dump of the C++ side when
//! memory runs out. A pickle of the bare list of segments, which `torch.cuda.memory_snapshot()` returns, is one without events.
//!
//! A snapshot is a pickle of one dict:
//!
//! ```text
//! {"segments": [{"device": 0, "address": …, "total_size": …, "blocks": [{"size": …, "state": "active_allocated", …}]}],
//!  "device_traces": [[{"action": "alloc", "addr": …, "size": …, "stream": 0, "time_us": …, "frames": […]}, …]],
//!  "allocator_settings": {…}, "external_annotations": [{"stage": "START", "name": …, …}]}
//! ```
//!
//! In come its bytes, out go the columns of [`crate::trace::memory_snapshot`] and stack profiles by device. The pickle is read by
//! a machine of its own (`pickle`), which executes nothing and takes events while their list is being built. Layout: PyTorch,
//! `torch/csrc/cuda/memory_snapshot.cpp` and `torch/cuda/memory.py`; pickles: `pickletools` in Python's library.

mod heap;
mod issues;
mod pickle;
mod profiles;
mod rows;
mod stacks;

use self::issues::*;
use self::pickle::{Machine, State};
use self::stacks::TextMap;
use super::{Confidence, FormatInfo, ImportError, Reader};
use crate::base::hash::HashMap;
use crate::trace::ledger::Issue;
use crate::trace::samples::StackId;
use crate::trace::{IssueKind, Position, TraceBuilder};

pub static INFO: FormatInfo = FormatInfo {
    id: "memory-snapshot",
    title: "CUDA memory snapshot",
    producers: "torch.cuda.memory._dump_snapshot",
    extensions: &["pickle", "pkl"],
    sniff,
    reader: || Box::new(SnapshotReader::default()),
    parts: None,
    has_events: false,
    issues: issues::ALL,
};

/// Rates content by the keys of the outermost dict, or those of the first segment in the outermost list.
fn sniff(head: &[u8]) -> Confidence {
    // Protocols 2 to 5, 0 and 1.
    if !matches!(head, [0x80, 2..=5, ..] | [b'(', b'd' | b'l', ..] | [b'}' | b']', b'q', ..]) {
        return Confidence::No;
    }
    let mut machine = Machine::default();
    machine.feed(head);
    if machine.is_snapshot() { Confidence::Certain } else { Confidence::No }
}

#[derive(Default)]
struct SnapshotReader {
    machine: Machine,
    n_bytes: u64,
}

impl Reader for SnapshotReader {
    fn feed(&mut self, bytes: &[u8], _out: &mut TraceBuilder) -> Result<(), ImportError> {
        self.n_bytes += bytes.len() as u64;
        self.machine.feed(bytes);
        Ok(())
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        let mut machine = std::mem::take(&mut self.machine);
        if !machine.is_snapshot() {
            return Err(no_snapshot());
        }
        let state = machine.state;
        let end = match state {
            State::Stopped => machine.position(),
            State::Running | State::Broken(_) => machine.cut(),
        };
        machine.rows.snapshot.is_cut = !matches!(state, State::Stopped);
        let ledger = &mut machine.rows.ledger;
        let rest = self.n_bytes.saturating_sub(end);
        let at = Position { byte: end, line: None };
        match state {
            State::Stopped if rest == 0 => {}
            State::Stopped => {
                ledger.leave_out(rest);
                ledger.file(&TRAILING, at, b"");
            }
            State::Running => ledger.skip_record(&CUT, at, rest, b""),
            State::Broken(problem) => {
                let at = Position { byte: machine.position(), line: None };
                machine.rows.ledger.skip_record(&DAMAGED, at, rest, problem.to_string().as_bytes());
            }
        }
        let ledger = &mut machine.rows.ledger;
        if let (n @ 1.., Some((byte, name))) = machine.opaque {
            let example = machine.strings.get(name).to_string();
            file(ledger, &OPAQUE, n, Position { byte, line: None }, &example);
        }
        ledger.frame(self.n_bytes.saturating_sub(ledger.accounted_bytes()));
        add(machine, out);
        Ok(())
    }
}

/// Reports `n` issues of a kind.
fn file(ledger: &mut crate::trace::Ledger, kind: &'static IssueKind, n: u64, at: Position, example: &str) {
    if n > 0 {
        let issue = Issue::new(kind, at, example.as_bytes());
        ledger.issues.push(Issue { count: n, ..issue });
    }
}

/// Adds what was read to a trace.
fn add(machine: Machine, out: &mut TraceBuilder) {
    let trace = &mut out.trace;
    let (strings, stacks, mut rows) = machine.into_parts();
    rows.snapshot.add_up();
    for (number, device) in rows.snapshot.devices.iter().enumerate() {
        let example = format!("GPU {number}");
        let ledger = &mut rows.ledger;
        // Counts of several devices add up.
        let mut file = |kind: &'static IssueKind, n: u64| match ledger
            .issues
            .iter_mut()
            .find(|issue| issue.kind.code == kind.code)
        {
            Some(issue) => issue.count += n,
            None => file(ledger, kind, n, Position::NOWHERE, &example),
        };
        file(&ALLOC_OVER_LIVE, device.n_alloc_over_live);
        file(&FREE_OF_UNKNOWN, device.n_free_of_unknown);
    }
    let mut texts = TextMap { from: &strings, to: &mut trace.strings, known: HashMap::default() };
    let numbers = stacks.add_to(|id| texts.get(id), &mut trace.frames, &mut trace.stacks);
    let mut snapshot = rows.snapshot;
    snapshot.for_each_text(|id| *id = texts.get(*id));
    snapshot.for_each_stack(|id| *id = numbers.get(id.0 as usize).copied().unwrap_or(StackId::NONE));

    trace.ledger.record_noun = "entries".into();
    trace.ledger.absorb(rows.ledger);
    let source = &mut trace.source;
    source.producer = Some("PyTorch".to_string());
    let mut kinds: Vec<(String, u64)> = Vec::new();
    let mut count = |name: &str, n: u64| match kinds.iter_mut().find(|(own, _)| own == name) {
        Some((_, own)) => *own += n,
        None if n > 0 => kinds.push((name.to_string(), n)),
        None => {}
    };
    for (name, n) in snapshot.devices.iter().flat_map(|device| &device.counts) {
        count(trace.strings.get(*name), *n);
    }
    count("segments", snapshot.segments.len() as u64);
    count("annotations", snapshot.annotations.len() as u64);
    source.record_kinds = kinds;
    let text = |id| trace.strings.get(id).to_string();
    source.metadata.extend(snapshot.settings.iter().map(|(name, value)| (text(*name), text(*value))));
    profiles::add_profiles(&snapshot, trace);
    trace.memory_snapshot = Some(Box::new(snapshot));
}

fn no_snapshot() -> ImportError {
    ImportError {
        code: "memory-snapshot-none",
        what: "a pickle, but no memory snapshot: its outermost dict has neither segments nor device_traces, and \
               it is no list of segments"
            .to_string(),
        hint: "write one with torch.cuda.memory._dump_snapshot".to_string(),
    }
}

//! Samples of CPU profilers: `PerfSample`, one per packet, and `StreamingProfilePacket`, which has many.

use super::clocks::{Clock, Clocks, Converted, MONOTONIC};
use super::issues::*;
use super::rows::Place;
use super::sequence::{MISSING, Sequence};
use super::tracks::Tracks;
use crate::base::hash::{HashMap, HashSet};
use crate::base::protobuf::Fields;
use crate::base::strings::StringId;
use crate::trace::samples::{Frame, StackId};
use crate::trace::tracks::ThreadId;
use crate::trace::{IssueKind, TraceBuilder};

const NS_PER_US: i64 = 1000;
/// Most samples that are kept; each takes 28 bytes.
const MAX_SAMPLES: usize = if usize::BITS == 32 { 12_000_000 } else { u32::MAX as usize };

/// A sample whose clock nothing relates to that of the trace, so far.
struct Untimed {
    clock: Clock,
    row: u32,
    place: Place,
    /// It is all that its packet has.
    is_packet: bool,
}

/// A message with samples.
#[derive(Clone, Copy)]
pub struct Sampled<'a> {
    pub message: &'a [u8],
    pub machine: u32,
    pub place: Place,
}

#[derive(Default)]
pub struct Samples {
    untimed: Vec<Untimed>,
}

impl Samples {
    /// Takes a `PerfSample`.
    pub fn perf(
        &mut self,
        Sampled { message, machine, place }: Sampled<'_>,
        time: Option<Converted>,
        sequence: &mut Sequence,
        tracks: &mut Tracks,
        out: &mut TraceBuilder,
    ) -> Result<(), &'static IssueKind> {
        let (mut pid, mut tid, mut stack) = (0, None, None);
        for (number, value) in Fields::new(message) {
            match (number, value.number()) {
                (2, Some(number)) => pid = i64::from(number as u32),
                (3, Some(number)) => tid = Some(i64::from(number as u32)),
                (4, Some(number)) => stack = Some(number).filter(|iid| *iid != 0),
                // The profiler says what it does not have.
                (17 | 18, Some(_)) => return Err(&LOST_SAMPLES),
                _ => {}
            }
        }
        let time = time.ok_or(&NO_TIMESTAMP)?.known()?;
        let thread = tracks.thread_of_ids(machine, pid, tid.unwrap_or(pid), out);
        let stack = stack.map_or(StackId::NONE, |iid| stack_of(iid, sequence, place, out));
        self.push(time, thread, stack, (place, true), out)
    }

    /// Takes a `StreamingProfilePacket`. Its times are added to those of the events of its sequence.
    pub fn streamed(
        &mut self,
        Sampled { message, machine, place }: Sampled<'_>,
        sequence: &mut Sequence,
        clocks: &mut Clocks,
        tracks: &mut Tracks,
        out: &mut TraceBuilder,
    ) -> Result<(), &'static IssueKind> {
        let (mut stacks, mut deltas) = (Vec::new(), Vec::new());
        for (number, value) in Fields::new(message) {
            match number {
                1 => value.numbers(|iid| stacks.push(iid)),
                2 => value.numbers(|delta| deltas.push(delta as i64)),
                _ => {}
            }
        }
        let thread = match sequence.ids {
            Some((pid, tid)) => tracks.thread_of_ids(machine, pid, tid, out),
            None => {
                let track = tracks.track(machine, 0, place.offset);
                tracks.thread_of(track, StringId::NONE, out)
            }
        };
        let mut result = Err(&NO_SAMPLES);
        for (at, delta) in deltas.iter().enumerate() {
            let Some(reference) = &mut sequence.reference_us else { return Err(&NO_REFERENCE) };
            *reference = reference.saturating_add(*delta);
            let us = *reference;
            let Some(iid) = stacks.get(at) else { continue };
            let ns = us.checked_mul(NS_PER_US).filter(|ns| *ns >= 0).ok_or(&BAD_TIMESTAMP);
            let time = ns.and_then(|ns| clocks.convert_ns(ns, Clock::new(MONOTONIC, 0)).known());
            let stack = stack_of(*iid, sequence, place, out);
            let added = time.and_then(|time| self.push(time, thread, stack, (place, false), out));
            match (added, &result) {
                (Ok(()), _) => result = Ok(()),
                // The packet counts as skipped if all of its samples are.
                (Err(kind), Err(_)) => result = Err(kind),
                (Err(kind), Ok(())) => out.trace.ledger.file(kind, place.position(), b""),
            }
        }
        result
    }

    fn push(
        &mut self,
        (ts, late): (i64, Option<Clock>),
        thread: ThreadId,
        stack: StackId,
        (place, is_packet): (Place, bool),
        out: &mut TraceBuilder,
    ) -> Result<(), &'static IssueKind> {
        let samples = &mut out.trace.samples;
        if samples.len() >= MAX_SAMPLES {
            return Err(&MANY_SAMPLES);
        }
        if let Some(clock) = late {
            self.untimed.push(Untimed { clock, row: samples.len() as u32, place, is_packet });
        }
        samples.ts.push(ts);
        samples.thread.push(thread);
        samples.stack.push(stack);
        samples.weight.push(1.0);
        samples.name.push(StringId::NONE);
        Ok(())
    }

    /// Converts times of clocks that were unknown, skips samples whose clock still is, and gives threads that turned out to be
    /// others their samples.
    pub fn finish(
        &mut self,
        clocks: &mut Clocks,
        aliases: &HashMap<ThreadId, ThreadId>,
        out: &mut TraceBuilder,
    ) {
        let mut dropped: HashSet<u32> = HashSet::default();
        for Untimed { clock, row, place, is_packet } in std::mem::take(&mut self.untimed) {
            let Some(time) = out.trace.samples.ts.get_mut(row as usize) else { continue };
            match clocks.convert_late(*time, clock) {
                Converted::Time(converted) => *time = converted,
                _ => {
                    out.trace.ledger.file(&UNKNOWN_CLOCK, place.position(), b"");
                    if is_packet {
                        out.trace.ledger.kept_to_skipped(place.len);
                    }
                    dropped.insert(row);
                }
            }
        }
        let samples = &mut out.trace.samples;
        if !aliases.is_empty() {
            for thread in &mut samples.thread {
                *thread = aliases.get(thread).copied().unwrap_or(*thread);
            }
        }
        if !dropped.is_empty() {
            let is_kept = |row: &usize| !dropped.contains(&(*row as u32));
            let rows: Vec<usize> = (0..samples.len()).filter(is_kept).collect();
            samples.ts = rows.iter().map(|row| samples.ts[*row]).collect();
            samples.thread = rows.iter().map(|row| samples.thread[*row]).collect();
            samples.stack = rows.iter().map(|row| samples.stack[*row]).collect();
            samples.weight = rows.iter().map(|row| samples.weight[*row]).collect();
            samples.name = rows.iter().map(|row| samples.name[*row]).collect();
        }
    }
}

/// A call stack of a sequence; one that the trace does not have is a frame that says so.
pub fn stack_of(iid: u64, sequence: &mut Sequence, place: Place, out: &mut TraceBuilder) -> StackId {
    sequence.call_stack(iid, out).unwrap_or_else(|| {
        out.trace.ledger.file(&MISSING_INTERNED, place.position(), iid.to_string().as_bytes());
        let name = out.trace.strings.intern(MISSING);
        out.stack(StackId::NONE, Frame::named(name))
    })
}

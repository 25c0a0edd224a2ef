//! Calls on tracks of their own, beside the threads that made them, as PyTorch's CUPTI monitor writes them.
//!
//! ```text
//! thread 4711        [aten::mm             ]  [aten::add  ]
//! CUDA runtime 4711     [cudaLaunchKernel]       [cudaLau…]
//! ```
//! A call belongs to the innermost slice that holds it on the thread of its process that is in an operator. If two threads are,
//! nothing says which of them made the call, and it stays without.

use super::kind::{Kind, Kinds};
use super::spans::{self, Span};
use crate::base::hash::HashMap;
use crate::trace::Trace;
use crate::trace::links::CALL_TRACKS;
use crate::trace::slices::SliceId;
use crate::trace::tracks::{Place, ProcessId, TrackId};

/// Whether a track is for calls only.
fn is_for_calls(trace: &Trace, track: TrackId) -> bool {
    let Place::Thread(thread) = trace.tracks.place(track) else { return false };
    let name = trace.threads.name.get(thread.0 as usize).and_then(|name| trace.strings.get_opt(*name));
    name.is_some_and(|name| CALL_TRACKS.iter().any(|start| name.starts_with(start)))
}

/// The slice around each call on such a track, by call.
pub fn slices_around(trace: &Trace, kinds: &Kinds) -> HashMap<u32, u32> {
    let slices = &trace.slices;
    let mut around: HashMap<u32, u32> = HashMap::default();
    let tracks: Vec<Option<ProcessId>> = (0..trace.tracks.len() as u32)
        .map(TrackId)
        .map(|track| trace.tracks.process_of(track, &trace.threads).filter(|_| is_for_calls(trace, track)))
        .collect();
    if tracks.iter().all(Option::is_none) {
        return around;
    }
    let process_of = |slice: usize| trace.tracks.process_of(slices.track[slice], &trace.threads);
    let is_op = |slice: &usize| kinds.get(slices.category[*slice]) == Kind::Op;
    let end_of = |slice: usize| slices.ts[slice].saturating_add(slices.dur.get(slice).max(0));
    // Last slice of each other track of a process; slices are in order of start.
    let mut last: HashMap<ProcessId, Vec<(TrackId, u32)>> = HashMap::default();
    for slice in 0..slices.len() {
        let track = slices.track[slice];
        let Some(process) = tracks[track.0 as usize] else {
            if let (Place::Thread(_), Some(process)) = (trace.tracks.place(track), process_of(slice)) {
                let last = last.entry(process).or_default();
                match last.iter_mut().find(|(known, _)| *known == track) {
                    Some((_, last)) => *last = slice as u32,
                    None => last.push((track, slice as u32)),
                }
            }
            continue;
        };
        if slices.parent[slice].some().is_some() {
            continue;
        }
        let innermost = |mut at: u32| {
            while end_of(at as usize) < end_of(slice) {
                at = slices.parent[at as usize].some().map(|SliceId(outer)| outer)?;
            }
            Some(at)
        };
        let of_threads = || {
            let threads = last.get(&process)?;
            let holding: Vec<u32> = threads.iter().filter_map(|(_, last)| innermost(*last)).collect();
            let in_op = holding.iter().filter(|at| {
                let mut outer = Some(**at);
                while let Some(at) = outer.filter(|at| !is_op(&(*at as usize))) {
                    outer = slices.parent[at as usize].some().map(|SliceId(outer)| outer);
                }
                outer.is_some()
            });
            // A thread that waits for another one has annotations open, but no operator.
            match in_op.copied().collect::<Vec<u32>>().as_slice() {
                [one] => Some(*one),
                [] => holding.first().copied().filter(|_| holding.len() == 1),
                _ => None,
            }
        };
        if let Some(found) = of_threads() {
            around.insert(slice as u32, found);
        }
    }
    around
}

/// Time that each slice spent in calls on such tracks, in nanoseconds. `around` has the slice around each call.
pub fn time_in_calls(trace: &Trace, around: &HashMap<u32, u32>) -> HashMap<u32, i64> {
    let slices = &trace.slices;
    let span_of = |call: u32| {
        let start = slices.ts[call as usize];
        (start, start.saturating_add(slices.dur.get(call as usize).max(0)))
    };
    let mut calls: Vec<(u32, Span)> = around.iter().map(|(call, around)| (*around, span_of(*call))).collect();
    calls.sort_unstable();
    // Calls of the driver, on another track, lie in those of the runtime.
    let time = |calls: &[(u32, Span)]| spans::total(&spans::union(calls.iter().map(|(_, span)| *span)));
    calls.chunk_by(|a, b| a.0 == b.0).filter_map(|of| Some((of.first()?.0, time(of)))).collect()
}

//! Numbers of processes and threads, and the order of writing.

use super::super::ids::{Numbers, RenumberedNotes};
use crate::base::hash::HashSet;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::trace::Trace;
use crate::trace::builder::Renumbered;
use crate::trace::slices::{SliceKind, UNFINISHED};
use crate::trace::tracks::TrackKind;

/// A trace with its numbers and its order of writing.
pub struct Layout<'a> {
    pub(super) trace: &'a Trace,
    pub(super) origin: i64,
    /// Number of the first stack in `stackFrames`, where stacks of all traces are numbered from 1.
    pub(super) first_stack: u64,
    pub(super) pids: Vec<u64>,
    pub(super) tids: Vec<u64>,
    /// Threads process by process.
    pub(super) thread_order: Vec<u32>,
    /// By process: its first thread; `u32::MAX` if none.
    pub(super) main_threads: Vec<u32>,
    /// By thread: its overflow tracks with the tid each gets.
    pub(super) lanes: Vec<Vec<(u32, u64)>>,
    /// The tid of slices that flows can bind to.
    pub(super) tid_of_track: Vec<Option<u64>>,
    /// By thread: its own tracks, states first.
    pub(super) own_tracks: Vec<Vec<u32>>,
    /// Slices outlived by a child: begin and end events can express that, a duration cannot.
    pub(super) outlived: HashSet<u32>,
    /// Slices grouped by track, in order of writing.
    pub(super) order: Vec<u32>,
    /// By track: start of its slices in `order`; one extra entry at the end.
    pub(super) starts: Vec<u32>,
}

impl<'a> Layout<'a> {
    pub fn new(
        trace: &'a Trace,
        origin: i64,
        first_stack: u64,
        numbers: &mut Numbers,
        renumbered: &mut RenumberedNotes,
    ) -> Layout<'a> {
        let was = Renumbered::of(&trace.source);
        let pids = numbers.pids(trace, &was, renumbered);
        let are_stand_ins = trace.stand_ins(false);
        let (mut thread_order, overlaps): (Vec<u32>, Vec<u32>) = (0..trace.threads.len() as u32)
            .filter(|thread| !are_stand_ins[*thread as usize])
            .partition(|thread| trace.threads.overlap_of[*thread as usize].is_none());
        sort::by_key(&mut thread_order, |thread| trace.threads.process[*thread as usize]);
        let all_threads = thread_order.iter().chain(&overlaps).map(|thread| *thread as usize);
        let tids = numbers.tids(trace, all_threads, &pids, &was, renumbered);
        let mut main_threads = vec![u32::MAX; pids.len()];
        for (thread, process) in trace.threads.process.iter().enumerate().rev() {
            if !are_stand_ins[thread]
                && let Some(main) = main_threads.get_mut(process.0 as usize)
            {
                *main = thread as u32;
            }
        }
        let mut lanes = vec![Vec::new(); trace.threads.len()];
        let mut own_tracks = vec![Vec::new(); trace.threads.len()];
        let mut tid_of_track = vec![None; trace.tracks.len()];
        for (track, tid_of_track) in tid_of_track.iter_mut().enumerate() {
            let Some(thread) = trace.tracks.thread[track].map(|thread| thread.0 as usize) else { continue };
            match trace.tracks.kind[track] {
                TrackKind::ThreadOverflow if thread < lanes.len() => {
                    let known = trace.tracks.shown_as[track].and_then(|thread| tids.get(thread.0 as usize));
                    let tid = known.copied().unwrap_or_else(|| numbers.new_tid());
                    *tid_of_track = Some(tid);
                    lanes[thread].push((track as u32, tid));
                }
                TrackKind::ThreadState if thread < lanes.len() => own_tracks[thread].insert(0, track as u32),
                TrackKind::Thread if thread < lanes.len() => {
                    *tid_of_track = Some(tids[thread]);
                    own_tracks[thread].push(track as u32);
                }
                _ => {}
            }
        }
        let (starts, order) = order_by_track(trace);
        let outlived = outlived(trace);
        Layout {
            trace,
            origin,
            first_stack,
            pids,
            tids,
            thread_order,
            main_threads,
            lanes,
            own_tracks,
            tid_of_track,
            outlived,
            order,
            starts,
        }
    }

    pub(super) fn text(&self, id: StringId) -> Option<&'a str> {
        self.trace.strings.get_opt(id)
    }

    pub(super) fn pid(&self, process: usize) -> u64 {
        self.pids.get(process).or(self.pids.first()).copied().unwrap_or(1)
    }

    /// The first thread of a process, for events without a thread: without a tid, readers would invent
    /// a main thread.
    pub(super) fn main_tid(&self, process: usize) -> Option<u64> {
        let thread = *self.main_threads.get(process).or(self.main_threads.first())?;
        self.tids.get(thread as usize).copied()
    }

    pub(super) fn time(&self, ts: i64) -> i64 {
        ts.saturating_sub(self.origin)
    }

    pub(super) fn process_of_thread(&self, thread: usize) -> usize {
        self.trace.threads.process.get(thread).map_or(usize::MAX, |process| process.0 as usize)
    }

    /// Process of a track, directly or through its thread.
    pub(super) fn process_of(&self, track: usize) -> usize {
        let tracks = &self.trace.tracks;
        let thread = tracks.thread.get(track).copied().flatten();
        let process = tracks.process.get(track).copied().flatten();
        match (process, thread) {
            (Some(process), _) => process.0 as usize,
            (None, Some(thread)) => self.process_of_thread(thread.0 as usize),
            (None, None) => 0,
        }
    }

    pub(super) fn slices_of(&self, track: usize) -> &[u32] {
        let range = self.starts[track] as usize..self.starts[track + 1] as usize;
        &self.order[range]
    }

    /// The tid under which a track's slices are written, if it is a thread's.
    pub(super) fn tid_of(&self, track: usize) -> Option<u64> {
        self.tid_of_track.get(track).copied().flatten()
    }
}

/// Slices outlasted by others on their track that start inside them; these are written as begin and end.
fn outlived(trace: &Trace) -> HashSet<u32> {
    let slices = &trace.slices;
    let mut found = HashSet::default();
    // By track: open slices and their ends. Outlasted slices are removed.
    let mut open: Vec<Vec<(u32, i64)>> = vec![Vec::new(); trace.tracks.len()];
    for slice in 0..slices.len() {
        let Some(open) = open.get_mut(slices.track[slice].0 as usize) else { continue };
        let ts = slices.ts[slice];
        while open.pop_if(|(_, end)| *end <= ts).is_some() {}
        let end = match slices.dur.get(slice) {
            UNFINISHED => i64::MAX,
            dur => ts.saturating_add(dur),
        };
        while let Some((around, _)) = open.pop_if(|(_, around)| *around < end && end != i64::MAX) {
            if slices.kind[around as usize] == SliceKind::BeginEnd {
                found.insert(around);
            }
        }
        open.push((slice as u32, end));
    }
    found
}

/// Slice numbers by track, each track in order of writing.
fn order_by_track(trace: &Trace) -> (Vec<u32>, Vec<u32>) {
    let slices = &trace.slices;
    let mut starts = vec![0u32; trace.tracks.len() + 1];
    for track in &slices.track {
        if let Some(n) = starts.get_mut(track.0 as usize + 1) {
            *n += 1;
        }
    }
    for track in 1..starts.len() {
        starts[track] += starts[track - 1];
    }
    let mut next = starts.clone();
    let mut order = vec![0u32; starts.last().copied().unwrap_or(0) as usize];
    for (slice, track) in slices.track.iter().enumerate() {
        if (track.0 as usize) < trace.tracks.len() {
            order[next[track.0 as usize] as usize] = slice as u32;
            next[track.0 as usize] += 1;
        }
    }
    let key = |slice: &u32| {
        let i = *slice as usize;
        (slices.ts[i], slices.depth.get(i), slices.dur.get(i) != 0, *slice)
    };
    for track in 0..trace.tracks.len() {
        order[starts[track] as usize..starts[track + 1] as usize].sort_by_key(key);
    }
    (starts, order)
}

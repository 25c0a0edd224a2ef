//! Slices and instants of threads.

use super::super::writer::Writer;
use super::flows::Bound;
use super::layout::Layout;
use crate::base::hash::HashMap;
use crate::trace::builder::UNFINISHED_STATE;
use crate::trace::slices::{SliceKind, UNFINISHED};
use crate::trace::tracks::TrackKind;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Writing progress of one tid of a thread.
struct TrackWalk<'a> {
    /// Still to be written.
    slices: &'a [u32],
    pid: u64,
    tid: u64,
    /// Thread states, which are written in a special form.
    is_state: bool,
    /// Slices written as B whose E is pending, outermost first.
    open: Vec<usize>,
    /// Start of the last instant or unfinished slice written.
    loose_at: Option<i64>,
}

impl Layout<'_> {
    /// Writes the slices and instants of all threads by start, which is close to file order, as arguments are read again
    /// from the file.
    pub(super) async fn write_threads(&self, bound: &HashMap<u32, Bound>, w: &mut Writer<'_>) {
        let mut walks: Vec<TrackWalk<'_>> = Vec::new();
        for thread in self.thread_order.iter().map(|thread| *thread as usize) {
            let pid = self.pid(self.process_of_thread(thread));
            let own = self.own_tracks[thread].iter().map(|track| (*track, self.tids[thread]));
            for (track, tid) in own.chain(self.lanes[thread].iter().copied()) {
                let (track, slices) = (track as usize, self.slices_of(track as usize));
                let is_state = self.trace.tracks.kind[track] == TrackKind::ThreadState;
                walks.push(TrackWalk { slices, pid, tid, is_state, open: Vec::new(), loose_at: None });
            }
        }
        let start =
            |walk: &TrackWalk<'_>| walk.slices.first().map(|slice| self.trace.slices.ts[*slice as usize]);
        let mut next: BinaryHeap<Reverse<(i64, usize)>> =
            walks.iter().enumerate().filter_map(|(i, walk)| Some(Reverse((start(walk)?, i)))).collect();
        while let Some(Reverse((_, i))) = next.pop() {
            let walk = &mut walks[i];
            let [slice, rest @ ..] = walk.slices else { continue };
            walk.slices = rest;
            if walk.is_state {
                self.write_state(*slice as usize, walk, w);
            } else {
                self.write_nested(*slice as usize, walk, bound, w);
            }
            next.extend(start(walk).map(|ts| Reverse((ts, i))));
            w.pause().await;
        }
        for walk in &mut walks {
            while let Some(last) = walk.open.pop() {
                self.write_end(last, walk.pid, walk.tid, w);
            }
        }
    }

    fn write_state(&self, slice: usize, walk: &TrackWalk<'_>, w: &mut Writer<'_>) {
        self.open_slice(slice, "T", walk.pid, Some(walk.tid), w);
        self.duration(slice, w);
        if self.trace.slices.dur.get(slice) == UNFINISHED {
            w.raw(",");
            w.string(UNFINISHED_STATE);
            w.raw(":true");
        }
        self.write_args(slice, w);
        w.close();
    }

    /// Writes the next slice or instant of one tid, after the pending ends before it.
    fn write_nested(
        &self,
        slice: usize,
        walk: &mut TrackWalk<'_>,
        bound: &HashMap<u32, Bound>,
        w: &mut Writer<'_>,
    ) {
        let slices = &self.trace.slices;
        let (pid, tid, ts) = (walk.pid, walk.tid, slices.ts[slice]);
        while let Some(last) = walk.open.last().copied() {
            if slices.ts[last].saturating_add(slices.dur.get(last)) > ts {
                break;
            }
            self.write_end(last, pid, tid, w);
            walk.open.pop();
        }
        match (slices.kind[slice], slices.dur.get(slice)) {
            (SliceKind::Instant | SliceKind::AsyncInstant, _) => {
                self.open_slice(slice, "i", pid, Some(tid), w);
                w.raw(",\"s\":\"t\"");
                walk.loose_at = Some(ts);
            }
            (_, UNFINISHED) => {
                self.open_slice(slice, "B", pid, Some(tid), w);
                self.thread_time(slice, w);
                walk.loose_at = Some(ts);
            }
            (_, dur) if dur > 0 && (walk.loose_at == Some(ts) || self.outlived.contains(&(slice as u32))) => {
                self.open_slice(slice, "B", pid, Some(tid), w);
                self.thread_time(slice, w);
                self.write_stacks(slice, w);
                self.write_bound(slice, bound, w);
                self.write_begin_args(slice, w);
                w.close();
                walk.open.push(slice);
                return;
            }
            (_, dur) => {
                self.open_slice(slice, "X", pid, Some(tid), w);
                self.duration(slice, w);
                self.thread_time(slice, w);
                if dur == 0 {
                    walk.loose_at = Some(ts);
                }
            }
        }
        self.write_stacks(slice, w);
        self.write_bound(slice, bound, w);
        self.write_args(slice, w);
        w.close();
    }

    fn write_end(&self, slice: usize, pid: u64, tid: u64, w: &mut Writer<'_>) {
        let slices = &self.trace.slices;
        w.open(self.trace.strings.get(slices.name[slice]), self.text(slices.category[slice]), "E");
        w.time(self.time(slices.ts[slice].saturating_add(slices.dur.get(slice))));
        w.place(pid, Some(tid));
        if let Some((ts, dur)) = self.thread_time_of(slice) {
            w.raw(",\"tts\":");
            w.micros(ts.saturating_add(dur));
        }
        self.write_end_args(slice, w);
        w.close();
    }
}

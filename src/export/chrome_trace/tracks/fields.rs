//! Fields that events of slices have in common.

use super::super::writer::Writer;
use super::flows::Bound;
use super::layout::Layout;
use crate::base::hash::HashMap;
use crate::base::json::write::{push_merged, push_value};
use crate::trace::args::ArgsPlace;
use crate::trace::samples::StackId;
use crate::trace::slices::UNFINISHED;

impl Layout<'_> {
    pub(super) fn open_slice(
        &self,
        slice: usize,
        phase: &str,
        pid: u64,
        tid: Option<u64>,
        w: &mut Writer<'_>,
    ) {
        let slices = &self.trace.slices;
        w.open(self.trace.strings.get(slices.name[slice]), self.text(slices.category[slice]), phase);
        w.time(self.time(slices.ts[slice]));
        w.place(pid, tid);
    }

    /// States always have a duration, so an unfinished one gets that up to the end of the trace.
    pub(super) fn duration(&self, slice: usize, w: &mut Writer<'_>) {
        let end = self.trace.span().map_or(0, |(_, end)| end);
        w.raw(",\"dur\":");
        w.micros(self.trace.slices.length(slice, end));
    }

    pub(super) fn thread_time_of(&self, slice: usize) -> Option<(i64, i64)> {
        let times = &self.trace.slices.thread_time;
        let at = times.binary_search_by_key(&(slice as u32), |(slice, ..)| slice.0).ok()?;
        Some((times[at].1, times[at].2))
    }

    pub(super) fn thread_time(&self, slice: usize, w: &mut Writer<'_>) {
        if let Some((ts, dur)) = self.thread_time_of(slice) {
            w.raw(",\"tts\":");
            w.micros(ts);
            if self.trace.slices.dur.get(slice) != UNFINISHED {
                w.raw(",\"tdur\":");
                w.micros(dur);
            }
        }
    }

    /// Writes call stacks at start and end, by their numbers in `stackFrames`.
    pub(super) fn write_stacks(&self, slice: usize, w: &mut Writer<'_>) {
        let stacks = &self.trace.slices.stacks;
        let Ok(at) = stacks.binary_search_by_key(&(slice as u32), |(slice, ..)| slice.0) else { return };
        for (key, stack) in [(",\"sf\":", stacks[at].1), (",\"esf\":", stacks[at].2)] {
            if stack != StackId::NONE {
                w.raw(key);
                w.unsigned(self.first_stack + u64::from(stack.0));
            }
        }
    }

    pub(super) fn write_bound(&self, slice: usize, bound: &HashMap<u32, Bound>, w: &mut Writer<'_>) {
        let Some(bound) = bound.get(&(slice as u32)) else { return };
        w.raw(",\"bind_id\":");
        w.hex(bound.id);
        if bound.inward {
            w.raw(",\"flow_in\":true");
        }
        if bound.out {
            w.raw(",\"flow_out\":true");
        }
    }

    /// Writes the merged arguments of begin and end.
    pub(super) fn write_args(&self, slice: usize, w: &mut Writer<'_>) {
        let begin = self.trace.args.get(self.trace.slices.args_of(slice));
        match (begin, self.trace.slice_end_args(slice)) {
            (None, None) => {}
            (Some(args), None) | (None, Some(args)) => {
                w.raw(",\"args\":");
                push_value(&args, &mut w.buffer);
            }
            (Some(begin), Some(end)) => {
                w.raw(",\"args\":");
                push_merged(&begin, &end, &mut w.buffer);
            }
        }
    }

    pub(super) fn write_begin_args(&self, slice: usize, w: &mut Writer<'_>) {
        self.write_raw_args(self.trace.slices.args_of(slice), w);
    }

    pub(super) fn write_end_args(&self, slice: usize, w: &mut Writer<'_>) {
        if let Some(args) = self.trace.slice_end_args(slice) {
            w.raw(",\"args\":");
            push_value(&args, &mut w.buffer);
        }
    }

    pub(super) fn write_raw_args(&self, args: ArgsPlace, w: &mut Writer<'_>) {
        if let Some(args) = self.trace.args.get(args) {
            w.raw(",\"args\":");
            push_value(&args, &mut w.buffer);
        }
    }
}

//! What a trace says of stacks, for tools that draw flame graphs: collapsed stacks, speedscope, Firefox Profiler.
//!
//! Slices become stacks by their nesting on a track:
//!
//! ```text
//! A [              ]     opens A, B; A;B has 5 to itself, then B closes; A goes on alone
//!   [B  ]
//! ```
//! Self times are those of the reports: what no direct child covers. An unfinished slice ends with the trace.
//! Samples keep their own stacks, and counts by place, which have none, are stacks of one frame.

pub mod collapsed;
pub mod firefox;
pub mod speedscope;

use crate::analysis::timeline::{process_label, shown, thread_label};
use crate::base::json::write::{push_f64, push_string};
use crate::trace::profiles::ProfileRun;
use crate::trace::samples::{FrameId, StackId};
use crate::trace::slices::Class;
use crate::trace::tracks::{ThreadId, TrackKind};
use crate::trace::{Run, Trace};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Bytes gathered before they are handed on.
const CHUNK_BYTES: usize = 256 << 10;

/// The samples of each thread, in their order.
fn samples_by_thread(trace: &Trace) -> BTreeMap<ThreadId, Vec<usize>> {
    let mut rows: BTreeMap<ThreadId, Vec<usize>> = BTreeMap::new();
    for (row, thread) in trace.samples.thread.iter().enumerate() {
        rows.entry(*thread).or_default().push(row);
    }
    rows
}

/// Text and JSON as bytes, handed on in pieces.
struct Out<'a> {
    buffer: Vec<u8>,
    out: &'a mut dyn Write,
}

impl<'a> Out<'a> {
    fn new(out: &'a mut dyn Write) -> Out<'a> {
        Out { buffer: Vec::with_capacity(CHUNK_BYTES + 4096), out }
    }

    fn raw(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    fn string(&mut self, text: &str) {
        push_string(text, &mut self.buffer);
    }

    fn integer(&mut self, value: i64) {
        // Writing to memory does not fail.
        let _ = write!(self.buffer, "{value}");
    }

    fn float(&mut self, value: f64) {
        push_f64(value, &mut self.buffer);
    }

    /// Nanoseconds as milliseconds, every digit of them.
    fn millis(&mut self, ns: i64) {
        let sign = if ns < 0 { "-" } else { "" };
        let ns = ns.unsigned_abs();
        let (whole, rest) = (ns / 1_000_000, ns % 1_000_000);
        let _ = write!(self.buffer, "{sign}{whole}");
        if rest > 0 {
            let digits = format!("{rest:06}");
            let _ = write!(self.buffer, ".{}", digits.trim_end_matches('0'));
        }
    }

    /// Hands on what has been gathered if it is enough.
    fn pass_on(&mut self) -> io::Result<()> {
        if self.buffer.len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Whether every slice is there to be written.
fn is_whole(run: &Run) -> bool {
    run.traces.iter().all(|trace| trace.folded.is_none())
}

/// Whether there are slices of threads.
fn has_thread_slices(run: &Run) -> bool {
    let is_of_thread = |trace: &Trace| trace.slices.kind.iter().any(|kind| Class::of(*kind) == Class::Thread);
    is_whole(run) && run.traces.iter().any(is_of_thread)
}

/// Whether there are slices that take time, of whatever kind.
fn has_slices(run: &Run) -> bool {
    let takes_time = |trace: &Trace| trace.slices.kind.iter().any(|kind| Class::of(*kind) != Class::Instant);
    is_whole(run) && run.traces.iter().any(takes_time)
}

/// Whether there are samples, with stacks or as counts.
fn has_samples(run: &Run) -> bool {
    let counts = |trace: &Trace| trace.profiles.iter().any(|profile| !profile.frames.is_empty());
    is_whole(run) && run.traces.iter().any(|trace| !trace.samples.is_empty() || counts(trace))
}

/// First and last time of anything in a run.
fn span(run: &Run) -> (i64, i64) {
    let spans = run.traces.iter().filter_map(Trace::span);
    spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0, 0))
}

/// What happens on a track, in order of time.
#[derive(Clone, Copy)]
enum Step {
    /// A slice starts, inside those that are open.
    Open(usize),
    /// The innermost open slice has the time from `start` on to itself, `len` nanoseconds.
    Alone { start: i64, len: i64 },
    /// The innermost open slice ends.
    Close { end: i64 },
}

/// A slice that is open in [`walk`].
struct OpenSlice {
    slice: u32,
    end: i64,
    /// No child covers it from here on, as far as is known.
    alone_from: i64,
}

/// Tells what happens on a track whose `slices` are in the order of their table. Instants are stepped over.
///
/// A child may outlast its parent, where a file rounds times: then both have the time that they have in the reports, and
/// the last steps of the child come a little too late.
fn walk(trace: &Trace, slices: &[u32], mut see: impl FnMut(Step) -> io::Result<()>) -> io::Result<()> {
    let table = &trace.slices;
    let end_of_trace = trace.span().map_or(0, |(_, end)| end);
    let mut open: Vec<OpenSlice> = Vec::new();
    let close = |closed: OpenSlice, see: &mut dyn FnMut(Step) -> io::Result<()>| {
        let len = closed.end.saturating_sub(closed.alone_from);
        if len > 0 {
            see(Step::Alone { start: closed.alone_from, len })?;
        }
        see(Step::Close { end: closed.end })
    };
    for slice in slices.iter().copied() {
        let i = slice as usize;
        if Class::of(table.kind[i]) == Class::Instant {
            continue;
        }
        let (ts, end) = (table.ts[i], table.end(i, end_of_trace).max(table.ts[i]));
        let parent = timed_parent(trace, i);
        while let Some(last) = open.pop_if(|last| Some(last.slice) != parent) {
            close(last, &mut see)?;
        }
        if let Some(around) = open.last_mut().filter(|_| table.dur.get(i) != 0) {
            let len = ts.saturating_sub(around.alone_from);
            if len > 0 {
                see(Step::Alone { start: around.alone_from, len })?;
            }
            around.alone_from = around.alone_from.max(end.min(around.end));
        }
        see(Step::Open(i))?;
        open.push(OpenSlice { slice, end, alone_from: ts });
    }
    while let Some(last) = open.pop() {
        close(last, &mut see)?;
    }
    Ok(())
}

/// The innermost slice around another that is no instant.
fn timed_parent(trace: &Trace, slice: usize) -> Option<u32> {
    let table = &trace.slices;
    let mut parent = table.parent[slice].some()?;
    while Class::of(*table.kind.get(parent.0 as usize)?) == Class::Instant {
        parent = table.parent[parent.0 as usize].some()?;
    }
    Some(parent.0)
}

/// Slices of each track, in the order of their table.
struct ByTrack {
    order: Vec<u32>,
    /// By track: where its slices start in `order`; one more at the end.
    starts: Vec<u32>,
}

impl ByTrack {
    fn new(trace: &Trace) -> ByTrack {
        let n_tracks = trace.tracks.len();
        let mut starts = vec![0u32; n_tracks + 1];
        let known = || trace.slices.track.iter().map(|track| track.0 as usize).enumerate();
        for (_, track) in known().filter(|(_, track)| *track < n_tracks) {
            starts[track + 1] += 1;
        }
        for track in 1..starts.len() {
            starts[track] += starts[track - 1];
        }
        let mut next = starts.clone();
        let mut order = vec![0u32; starts.last().copied().unwrap_or(0) as usize];
        for (slice, track) in known().filter(|(_, track)| *track < n_tracks) {
            order[next[track] as usize] = slice as u32;
            next[track] += 1;
        }
        ByTrack { order, starts }
    }

    fn of(&self, track: usize) -> &[u32] {
        &self.order[self.starts[track] as usize..self.starts[track + 1] as usize]
    }

    /// Whether anything on the track takes time.
    fn takes_time(&self, trace: &Trace, track: usize) -> bool {
        self.of(track).iter().any(|slice| Class::of(trace.slices.kind[*slice as usize]) != Class::Instant)
    }
}

/// `file: ` where a run has several, as their processes may have the same names.
fn file_prefix(run: &Run, trace: &Trace) -> String {
    if run.traces.len() > 1 { format!("{}: ", trace.source.file_name) } else { String::new() }
}

/// Process and thread for people: `python (71) / worker (72)`.
fn thread_path(trace: &Trace, thread: usize) -> String {
    let process = trace.threads.process.get(thread).map(|process| process_label(trace, process.0 as usize));
    match process.filter(|label| !label.is_empty()) {
        Some(process) => format!("{process} / {}", thread_label(trace, thread)),
        None => thread_label(trace, thread),
    }
}

/// A track for people: its thread, or its process and what is asynchronous there; with what it is if it is not the
/// thread's own.
fn track_path(trace: &Trace, track: usize) -> String {
    let tracks = &trace.tracks;
    if let Some(thread) = tracks.thread[track] {
        let path = thread_path(trace, thread.0 as usize);
        return match tracks.kind[track] {
            TrackKind::ThreadOverflow => format!("{path} (overlapping)"),
            TrackKind::ThreadState => format!("{path} (states)"),
            _ => path,
        };
    }
    let process = tracks.process[track].map(|process| process_label(trace, process.0 as usize));
    let name = trace.strings.get(tracks.name[track]);
    match process.filter(|label| !label.is_empty()) {
        Some(process) => format!("{process} / async: {name}"),
        None => format!("async: {name}"),
    }
}

/// Frames of a stack, the root first.
fn stack_frames(trace: &Trace, stack: StackId) -> Vec<FrameId> {
    let stacks = &trace.stacks;
    let mut frames = Vec::new();
    let mut at = stack;
    while let Some(frame) = stacks.frame.get(at.0 as usize) {
        frames.push(*frame);
        at = stacks.parent[at.0 as usize];
    }
    frames.reverse();
    frames
}

fn frame_name(trace: &Trace, frame: FrameId) -> &str {
    shown(trace.frames.name.get(frame.0 as usize).and_then(|name| trace.strings.get_opt(*name)))
}

/// What a run of a sampling profiler is called among `n_runs`.
fn profile_name(profile: &ProfileRun, number: usize, n_runs: usize) -> String {
    match (n_runs, profile.run_id.as_str()) {
        (1, "") => "samples".to_string(),
        (_, "") => format!("run {number}"),
        (1, id) => format!("run {id}"),
        (_, id) => format!("run {number} {id}"),
    }
}

/// A place of a sampling profile: `function (path:line)`.
fn place_name(trace: &Trace, profile: &ProfileRun, row: usize) -> String {
    let text = |id| trace.strings.get_opt(id).filter(|text| !text.is_empty());
    let frames = &profile.frames;
    let func = text(frames.func[row]).unwrap_or("[unknown]");
    let line = frames.line.get(row).filter(|line| *line > 0);
    match (text(frames.path[row]), line) {
        (Some(path), Some(line)) => format!("{func} ({path}:{line})"),
        (Some(path), None) => format!("{func} ({path})"),
        (None, _) if frames.has_frame[row] => func.to_string(),
        // Only its counts are in the file.
        (None, _) => format!("frame {}", frames.frame_id[row]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_keep_every_nanosecond() {
        let mut sink = Vec::new();
        let mut out = Out::new(&mut sink);
        for ns in [0, 1, -1, 1_500_000, 999_999, -2_000_001, i64::MAX] {
            out.millis(ns);
            out.raw(" ");
        }
        let text = String::from_utf8_lossy(&out.buffer);
        assert_eq!(text, "0 0.000001 -0.000001 1.5 0.999999 -2.000001 9223372036854.775807 ");
    }
}

//! Stacks for flame graph tools: collapsed stacks, speedscope, Firefox Profiler.
//!
//! Slices become stacks through their parents, with all lanes of a thread combined:
//!
//! ```text
//! A [              ]     opens A, B; self time of A;B is 5, then B closes; A continues alone
//!   [B  ]
//! ```
//! Self times are those of the reports: where slices overlap, time goes to the one that started last. An unfinished slice
//! ends with the trace.
//! Samples keep their stacks; counts by code location, which have none, become stacks of one frame.

pub mod collapsed;
pub mod firefox;
pub mod pprof;
pub mod speedscope;

use crate::analysis::stack_functions::{NO_UNIT, Weight};
use crate::analysis::timeline::{process_label, shown, thread_label};
use crate::base::hash::HashMap;
use crate::base::json::write::{push_f64, push_string};
use crate::base::strings::StringId;
use crate::base::units::counted;
use crate::export::LeftOut;
use crate::trace::profiles::ProfileRun;
use crate::trace::samples::{FrameId, NO_LINE, StackId};
use crate::trace::slices::Class;
use crate::trace::stack_profiles::{StackProfile, firefox_facts};
use crate::trace::tracks::{ThreadId, TrackKind};
use crate::trace::{Run, Trace};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Buffer size in bytes before a flush.
const CHUNK_BYTES: usize = 256 << 10;

/// The samples of each thread, in order.
fn samples_by_thread(trace: &Trace) -> BTreeMap<ThreadId, Vec<usize>> {
    let mut rows: BTreeMap<ThreadId, Vec<usize>> = BTreeMap::new();
    for (row, thread) in trace.samples.thread.iter().enumerate() {
        rows.entry(*thread).or_default().push(row);
    }
    rows
}

/// Buffered writer for text and JSON.
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

    /// Writes nanoseconds as milliseconds, with all digits.
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

    /// Flushes the buffer if it is full.
    fn pass_on(&mut self) -> io::Result<()> {
        if self.buffer.len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Whether all slices are in memory.
fn is_whole(run: &Run) -> bool {
    run.traces.iter().all(|trace| trace.aggregated.is_none())
}

/// Whether there are thread slices.
fn has_thread_slices(run: &Run) -> bool {
    let is_of_thread = |trace: &Trace| trace.slices.kind.iter().any(|kind| Class::of(*kind) == Class::Thread);
    is_whole(run) && run.traces.iter().any(is_of_thread)
}

/// Whether there are slices with a duration, of any kind.
fn has_slices(run: &Run) -> bool {
    let takes_time = |trace: &Trace| trace.slices.kind.iter().any(|kind| Class::of(*kind) != Class::Instant);
    is_whole(run) && run.traces.iter().any(takes_time)
}

/// Whether there are samples, with stacks or as counts.
fn has_samples(run: &Run) -> bool {
    let counts = |trace: &Trace| trace.profiles.iter().any(|profile| !profile.frames.is_empty());
    let has = |trace: &Trace| !trace.samples.is_empty() || !trace.stack_profiles.is_empty() || counts(trace);
    is_whole(run) && run.traces.iter().any(has)
}

/// A stack profile with what to call it.
struct Profile<'a> {
    profile: &'a StackProfile,
    /// Thread, and what is weighed if the file has several weights.
    name: String,
    thread: String,
    unit: &'a str,
    /// Whether it is of the weight that shows first.
    is_first: bool,
    /// Whether it is of the first weight whose unit is written like that: other programs add up what has one unit.
    is_first_of_unit: bool,
}

/// The stack profiles of a trace, weight by weight. `written` is how a format writes a unit.
fn profiles(trace: &Trace, written: fn(&str) -> &str) -> Vec<Profile<'_>> {
    let weights = Weight::all(trace);
    let several = weights.len() > 1;
    let mut all = Vec::new();
    for (number, weight) in weights.iter().enumerate() {
        let is_first_of_unit = is_first_of_unit(number, &weights, written);
        let is_first = is_first(number, &weights);
        for thread in weight.threads() {
            let label = thread.label();
            for profile in &thread.profiles {
                // A GPU is the thread.
                let name =
                    if several { format!("{label}, {}", weight.name_of_kind()) } else { label.clone() };
                let unit = trace.strings.get_opt(profile.unit).unwrap_or("none");
                let thread = label.clone();
                all.push(Profile { profile, name, thread, unit, is_first, is_first_of_unit });
            }
        }
    }
    all
}

/// What is missing where only some weights of stack profiles are written.
fn other_weights(run: &Run, is_written: impl Fn(usize, &[Weight<'_>]) -> bool) -> LeftOut {
    let mut missing = Vec::new();
    for trace in &run.traces {
        let weights = Weight::all(trace);
        let others = (0..weights.len()).filter(|number| !is_written(*number, &weights));
        let mut names: Vec<String> =
            others.map(|number| format!("weights {}", weights[number].which())).collect();
        // GPUs have the same ones.
        names.dedup();
        missing.append(&mut names);
    }
    LeftOut(missing)
}

/// What is missing where each unit, as it is written, has its first weight only, and units that the format lacks are those of
/// counts.
fn other_weights_of_units(run: &Run, written: fn(&str) -> &str) -> LeftOut {
    let is_written = |number: usize, weights: &[Weight<'_>]| is_first_of_unit(number, weights, written);
    let mut missing = other_weights(run, is_written);
    for trace in &run.traces {
        let weights = Weight::all(trace);
        let lacks = |unit: &&str| {
            !matches!(*unit, NO_UNIT | "samples" | "count" | "events") && written(unit) == written(NO_UNIT)
        };
        let units = (0..weights.len())
            .filter(|number| is_written(*number, &weights))
            .map(|number| weights[number].unit());
        let mut names: Vec<String> = units.filter(lacks).map(|unit| format!("the unit {unit}")).collect();
        names.dedup();
        missing.0.append(&mut names);
    }
    missing
}

/// Whether a weight may have lost digits as a double: 2^53 and more.
fn may_be_rounded(weight: f64) -> bool {
    weight.abs() >= 9_007_199_254_740_992.0
}

/// What is missing of weights that [`may_be_rounded`].
fn last_digits_of(n_weights: u64) -> Option<String> {
    (n_weights > 0).then(|| {
        let weights = counted(n_weights, "weight", "weights");
        format!("the last digits of {weights} of 2^53 or more")
    })
}

/// Markers and counters of Firefox profiles, which are no stacks and were not kept.
fn beside_stacks(run: &Run) -> Vec<String> {
    let of_profiles = run.traces.iter().filter(|trace| !trace.stack_profiles.is_empty());
    let facts = of_profiles.flat_map(|trace| &trace.source.metadata);
    let are_beside = |name: &str| name == firefox_facts::MARKERS || name == firefox_facts::COUNTERS;
    facts.filter(|(name, _)| are_beside(name)).map(|(name, names)| format!("{name}: {names}")).collect()
}

/// Whether it is the weight that shows first, of any GPU: GPUs are threads of their own.
fn is_first(number: usize, weights: &[Weight<'_>]) -> bool {
    weights[number].is_of_kind(&weights[0])
}

/// Whether no weight of another kind before writes its unit in the same way.
fn is_first_of_unit(number: usize, weights: &[Weight<'_>], written: fn(&str) -> &str) -> bool {
    let weight = &weights[number];
    let own = written(weight.unit());
    weights[..number].iter().all(|before| before.is_of_kind(weight) || written(before.unit()) != own)
}

/// A code location as other formats write it.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Place {
    name: String,
    /// File, or else module.
    file: Option<String>,
    /// From 1.
    line: Option<i64>,
    column: Option<i64>,
}

fn place_of(trace: &Trace, frame: FrameId) -> Place {
    let it = trace.frames.get(frame);
    let text = |id: StringId| trace.strings.get_opt(id).filter(|text| !text.is_empty()).map(str::to_string);
    let number = |number: i64| (number != NO_LINE).then_some(number);
    Place {
        name: shown(text(it.name).as_deref()).to_string(),
        file: text(it.file).or_else(|| text(it.module)),
        line: number(it.line),
        column: number(it.column),
    }
}

/// First and last time of a run, or of the chosen range.
fn span(run: &Run) -> (i64, i64) {
    let spans = run.traces.iter().filter_map(Trace::reported);
    spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0, 0))
}

/// Events of a thread or track, in time order.
#[derive(Clone, Copy)]
enum Step {
    /// A slice starts, or continues after one that overlaps it, inside those that are open.
    Open { slice: usize, at: i64 },
    /// The innermost open slice runs from `start` on, `len` nanoseconds.
    Alone { start: i64, len: i64 },
    /// The innermost open slice ends, or is interrupted by one that overlaps it.
    Close { at: i64 },
}

/// The current stack of [`walk`].
struct Shown<'a, F> {
    trace: &'a Trace,
    by_track: &'a ByTrack,
    /// Open slices, outermost first, and the position of each.
    open: Vec<u32>,
    places: HashMap<u32, usize>,
    see: F,
}

impl<F: FnMut(Step) -> io::Result<()>> Shown<'_, F> {
    /// Closes all but the outermost `n` slices.
    fn close(&mut self, n: usize, at: i64) -> io::Result<()> {
        while self.open.len() > n
            && let Some(slice) = self.open.pop()
        {
            self.places.remove(&slice);
            (self.see)(Step::Close { at })?;
        }
        Ok(())
    }

    /// Changes the stack to that of `slice`.
    fn show(&mut self, slice: u32, at: i64) -> io::Result<()> {
        let mut missing = Vec::new();
        let mut around = Some(slice);
        let mut n_common = 0;
        while let Some(slice) = around {
            if let Some(place) = self.places.get(&slice) {
                n_common = place + 1;
                break;
            }
            missing.push(slice);
            around = self.by_track.timed_parent(self.trace, slice as usize);
        }
        self.close(n_common, at)?;
        for slice in missing.into_iter().rev() {
            self.places.insert(slice, self.open.len());
            self.open.push(slice);
            (self.see)(Step::Open { slice: slice as usize, at })?;
        }
        Ok(())
    }

    /// `slice` runs from `start` to `end`.
    fn run(&mut self, slice: u32, start: i64, end: i64) -> io::Result<()> {
        if end <= start {
            return Ok(());
        }
        self.show(slice, start)?;
        (self.see)(Step::Alone { start, len: end.saturating_sub(start) })
    }
}

/// Emits the events of a thread or track whose slices are in table order. Skips instants.
///
/// The running slice is always the one that started last and has not ended, as in the self times of the reports; its parents
/// enclose it. Of a part of a trace, only the time in its range: slices that ran outside of it may be missing.
fn walk(
    trace: &Trace,
    by_track: &ByTrack,
    track: usize,
    see: impl FnMut(Step) -> io::Result<()>,
) -> io::Result<()> {
    let table = &trace.slices;
    let end_of_trace = trace.span().map_or(0, |(_, end)| end);
    let mut shown = Shown { trace, by_track, open: Vec::new(), places: HashMap::default(), see };
    // Open slices and their ends, in order of start.
    let mut open: Vec<(u32, i64)> = Vec::new();
    let mut now = i64::MIN;
    let (from, to) = trace.part.map_or((i64::MIN, i64::MAX), |part| part.range);
    let slices = by_track.of(track).iter().copied();
    let timed = slices.filter(|slice| Class::of(table.kind[*slice as usize]) != Class::Instant);
    for next in timed.map(Some).chain([None]) {
        let ts = next.map_or(to, |slice| table.ts[slice as usize].max(from).min(to));
        while let Some((slice, end)) = open.pop_if(|(_, end)| *end <= ts) {
            shown.run(slice, now, end)?;
            now = now.max(end);
        }
        match open.last() {
            Some((slice, _)) => shown.run(*slice, now, ts)?,
            // The open slices have ended by now.
            None => shown.close(0, now)?,
        }
        if let Some(slice) = next {
            now = now.max(ts);
            shown.show(slice, ts)?;
            open.push((slice, table.end(slice as usize, end_of_trace).min(to).max(ts)));
        }
    }
    Ok(())
}

/// Slices by track, in table order. All lanes of a thread are grouped under the first lane.
struct ByTrack {
    order: Vec<u32>,
    /// By track: start of its slices in `order`; one extra entry at the end.
    starts: Vec<u32>,
    /// By track: the track that its slices are grouped under.
    leads: Vec<usize>,
}

impl ByTrack {
    fn new(trace: &Trace) -> ByTrack {
        let n_tracks = trace.tracks.len();
        let mut lead_of: HashMap<ThreadId, usize> = HashMap::default();
        let mut leads: Vec<usize> = (0..n_tracks).collect();
        for kind in [TrackKind::Thread, TrackKind::ThreadOverflow] {
            for track in (0..n_tracks).filter(|track| trace.tracks.kind[*track] == kind) {
                if let Some(thread) = trace.tracks.thread[track] {
                    leads[track] = *lead_of.entry(thread).or_insert(track);
                }
            }
        }
        let mut starts = vec![0u32; n_tracks + 1];
        let known = || {
            let tracks = trace.slices.track.iter().enumerate();
            tracks.filter_map(|(slice, track)| Some((slice, *leads.get(track.0 as usize)?)))
        };
        for (_, track) in known() {
            starts[track + 1] += 1;
        }
        for track in 1..starts.len() {
            starts[track] += starts[track - 1];
        }
        let mut next = starts.clone();
        let mut order = vec![0u32; starts.last().copied().unwrap_or(0) as usize];
        for (slice, track) in known() {
            order[next[track] as usize] = slice as u32;
            next[track] += 1;
        }
        ByTrack { order, starts, leads }
    }

    fn of(&self, track: usize) -> &[u32] {
        &self.order[self.starts[track] as usize..self.starts[track + 1] as usize]
    }

    /// Whether anything on the track takes time.
    fn takes_time(&self, trace: &Trace, track: usize) -> bool {
        self.of(track).iter().any(|slice| Class::of(trace.slices.kind[*slice as usize]) != Class::Instant)
    }

    fn lead(&self, trace: &Trace, slice: usize) -> Option<usize> {
        self.leads.get(trace.slices.track[slice].0 as usize).copied()
    }

    /// The innermost enclosing slice that is not an instant, on the same track or thread.
    fn timed_parent(&self, trace: &Trace, slice: usize) -> Option<u32> {
        let table = &trace.slices;
        let mut parent = table.parent[slice].some()?;
        while Class::of(*table.kind.get(parent.0 as usize)?) == Class::Instant {
            parent = table.parent[parent.0 as usize].some()?;
        }
        (self.lead(trace, parent.0 as usize) == self.lead(trace, slice)).then_some(parent.0)
    }
}

/// `file: ` if the run has several files, as their processes can have the same names.
fn file_prefix(run: &Run, trace: &Trace) -> String {
    if run.traces.len() > 1 { format!("{}: ", trace.source.file_name) } else { String::new() }
}

/// Display name of a thread: `python (71) / worker (72)`.
fn thread_path(trace: &Trace, thread: usize) -> String {
    let process = trace.threads.process.get(thread).map(|process| process_label(trace, process.0 as usize));
    match process.filter(|label| !label.is_empty()) {
        Some(process) => format!("{process} / {}", thread_label(trace, thread)),
        None => thread_label(trace, thread),
    }
}

/// Display name of a track: its thread, or its process and async name; with the kind of track if it is not the
/// thread's own.
fn track_path(trace: &Trace, track: usize) -> String {
    let tracks = &trace.tracks;
    if let Some(thread) = tracks.thread[track] {
        let path = thread_path(trace, thread.0 as usize);
        return match tracks.kind[track] {
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

/// Display name of a sampling profile among `n_runs`.
fn profile_name(profile: &ProfileRun, number: usize, n_runs: usize) -> String {
    match (n_runs, profile.run_id.as_str()) {
        (1, "") => "samples".to_string(),
        (_, "") => format!("run {number}"),
        (1, id) => format!("run {id}"),
        (_, id) => format!("run {number} {id}"),
    }
}

/// A code location in a sampling profile, without a column: those of the profile count bytes.
fn place_of_row(trace: &Trace, profile: &ProfileRun, row: usize) -> Place {
    let text = |id| trace.strings.get_opt(id).filter(|text| !text.is_empty());
    let frames = &profile.frames;
    let file = text(frames.path[row]).map(str::to_string);
    let name = match &file {
        // The file has only counts for it.
        None if !frames.has_frame[row] => format!("frame {}", frames.frame_id[row]),
        _ => text(frames.func[row]).unwrap_or("[unknown]").to_string(),
    };
    let line = frames.line.get(row).filter(|line| *line > 0 && file.is_some());
    Place { name, file, line: line.and_then(|line| i64::try_from(line).ok()), column: None }
}

/// Its display name: `function (path:line)`.
fn place_name(trace: &Trace, profile: &ProfileRun, row: usize) -> String {
    let Place { name, file, line, .. } = place_of_row(trace, profile, row);
    match (file, line) {
        (Some(path), Some(line)) => format!("{name} ({path}:{line})"),
        (Some(path), None) => format!("{name} ({path})"),
        (None, _) => name,
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

//! Sampled stacks as boxes: a call that is on the stack of a thread in samples one after the other is one box.
//!
//! ```text
//! samples   a   ab  ab  abc a   ·   ·   ·   ad     (· no sample)
//! depth 0   [a                  ]           [a  ]
//! depth 1       [b          ]               [d  ]
//! depth 2               [c  ]
//! ```
//! A sample lasts until the next one of its thread, or as long as it weighs where the weight is a time on the same clock, as in
//! speedscope and V8. After a longer pause than [`MAX_INTERVALS`] usual ones nobody knows what ran, so it lasts a usual one. An
//! interval is usual if nine of ten are no longer: the median says little, because some profilers take samples in bursts.
//! Calls of one function at one place are one, whatever their lines, as in the tables.

use super::boxes::Boxes;
use crate::base::hash::HashMap;
use crate::base::steps;
use crate::base::strings::StringId;
use crate::trace::Trace;
use crate::trace::labels::{numbered_thread, thread_title, with_number};
use crate::trace::samples::StackId;
use crate::trace::slices::SliceId;
use crate::trace::stack_profiles::{StackProfile, namesakes};
use crate::trace::tracks::ProcessId;

/// Usual intervals after which the next sample says nothing about the last one.
const MAX_INTERVALS: i64 = 5;
/// Boxes of a trace. With more, the innermost calls are left out.
const MAX_BOXES: usize = 1 << 22;
/// Calls of a stack; those further in are left out.
const MAX_DEPTH: u32 = 2_000;
/// Samples between pauses.
const PAUSE_EVERY: usize = 1 << 14;
/// Function of V8's profiles in which nothing runs.
const IDLE: &str = "(idle)";

/// A track of samples.
#[derive(Default)]
pub(super) struct SampledThread {
    pub process: Option<ProcessId>,
    pub title: String,
    /// By time.
    samples: Vec<Sample>,
}

/// One sample, in nanoseconds on the trace's clock.
#[derive(Clone, Copy)]
struct Sample {
    ts: i64,
    /// Where it ends: of no sample after the start of the next one.
    end: i64,
    stack: StackId,
}

/// Of a sample whose end only the others tell.
const UNTIL_NEXT: i64 = i64::MAX;

impl SampledThread {
    /// Puts the samples in order, and sets their ends.
    fn finish(&mut self) {
        let samples = &mut self.samples;
        if !samples.is_sorted_by_key(|sample| sample.ts) {
            samples.sort_by_key(|sample| sample.ts);
        }
        let usual_ns = usual_interval(samples);
        for at in 0..samples.len() {
            let next = samples.get(at + 1).map(|next| next.ts);
            let Sample { ts, end, .. } = samples[at];
            let is_near = |next: &i64| next.saturating_sub(ts) <= usual_ns.saturating_mul(MAX_INTERVALS);
            samples[at].end = match end {
                UNTIL_NEXT => next.filter(is_near).unwrap_or(ts.saturating_add(usual_ns)),
                end => next.map_or(end, |next| end.min(next)).max(ts),
            };
        }
    }

    /// First and last time.
    fn span(&self) -> Option<(i64, i64)> {
        Some((self.samples.first()?.ts, self.samples.last()?.end))
    }
}

/// The distance between samples of a thread, which are in order, that nine of ten don't exceed; 1 without any.
fn usual_interval(samples: &[Sample]) -> i64 {
    let distances = samples.windows(2).map(|pair| pair[1].ts.saturating_sub(pair[0].ts));
    let mut distances: Vec<i64> = distances.filter(|ns| *ns > 0).collect();
    let place = distances.len().saturating_sub(1) * 9 / 10;
    if distances.is_empty() { 1 } else { *distances.select_nth_unstable(place).1 }
}

/// Samples beside events, a track for each thread.
pub(super) fn of_samples(trace: &Trace) -> Vec<SampledThread> {
    let table = &trace.samples;
    if trace.frames.is_empty() {
        return Vec::new();
    }
    let mut threads: Vec<SampledThread> = Vec::new();
    let mut numbers: HashMap<u32, usize> = HashMap::default();
    for row in 0..table.len() {
        let thread = table.thread[row].0;
        let number = *numbers.entry(thread).or_insert_with(|| {
            threads.push(SampledThread {
                process: trace.threads.process.get(thread as usize).copied(),
                title: format!("{} (samples)", thread_title(trace, thread as usize)),
                samples: Vec::new(),
            });
            threads.len() - 1
        });
        let sample = Sample { ts: table.ts[row], end: UNTIL_NEXT, stack: table.stack[row] };
        threads[number].samples.push(sample);
    }
    threads.iter_mut().for_each(SampledThread::finish);
    threads
}

/// Stack profiles with times, a track for each thread and event.
pub(super) fn of_profiles(trace: &Trace) -> Vec<SampledThread> {
    let mut threads: Vec<SampledThread> = Vec::new();
    let mut numbers = HashMap::default();
    let namesakes = namesakes(trace.stack_profiles.iter());
    for (profile, namesake) in trace.stack_profiles.iter().zip(namesakes) {
        let Some(exponent) = profile.exponent_of_times(&trace.strings) else { continue };
        let ids = (profile.process_id, profile.thread_id);
        let key = (profile.event, ids, profile.thread, profile.name, namesake);
        let number = *numbers.entry(key).or_insert_with(|| {
            threads
                .push(SampledThread { title: title(trace, profile, namesake), ..SampledThread::default() });
            threads.len() - 1
        });
        let is_lasting = profile.unit == profile.time_unit;
        let samples = (0..profile.len()).filter_map(|row| {
            let ts = profile.nanoseconds_of(row, exponent)?;
            let end = match is_lasting {
                // The end is rounded once, so that the next sample starts there.
                true => profile.time_of(row)?.plus(profile.weight.get(row)?).nanoseconds(exponent)?,
                false => UNTIL_NEXT,
            };
            Some(Sample { ts, end, stack: profile.stack[row] })
        });
        threads[number].samples.extend(samples);
    }
    threads.retain(|thread| !thread.samples.is_empty());
    threads.iter_mut().for_each(SampledThread::finish);
    threads
}

/// The thread, as in the tables, and the event if there are several.
fn title(trace: &Trace, profile: &StackProfile, namesake: u32) -> String {
    let text = |id: StringId| trace.strings.get_opt(id).filter(|text| !text.is_empty());
    let name = with_number(text(profile.thread).or_else(|| text(profile.name)), namesake);
    let label = numbered_thread(name.as_deref(), text(profile.thread_id), text(profile.process_id));
    let has_others = trace.stack_profiles.iter().any(|other| other.event != profile.event);
    match text(profile.event).filter(|_| has_others) {
        Some(event) => format!("{label} · {event}"),
        None => label,
    }
}

/// First and last time of stack profiles, on the trace's clock.
pub(super) fn span_of_profiles(trace: &Trace) -> Option<(i64, i64)> {
    let spans = of_profiles(trace);
    let spans = spans.iter().filter_map(SampledThread::span);
    spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// When the busiest thread of the stack profiles had a stack.
pub(super) fn busiest_of_profiles(trace: &Trace) -> Vec<(i64, i64)> {
    let mut calls = Calls::new(trace);
    let mut is_busy = |sample: &&Sample| {
        let outermost = calls.outermost(sample.stack);
        outermost.is_some_and(|name| trace.strings.get_opt(name) != Some(IDLE))
    };
    let mut busy = |thread: &SampledThread| -> Vec<(i64, i64)> {
        let of_busy = thread.samples.iter().filter(&mut is_busy);
        of_busy.map(|sample| (sample.ts, sample.end)).collect()
    };
    let all = of_profiles(trace);
    let all = all.iter().map(&mut busy);
    all.max_by_key(|spans| spans.iter().map(|(from, to)| to.abs_diff(*from)).sum::<u64>()).unwrap_or_default()
}

/// Tree of calls: a function called by the functions around it. The root stands for no call.
struct Calls<'a> {
    trace: &'a Trace,
    parent: Vec<u32>,
    /// Number of calls from the outermost one, 0 for the root.
    depth: Vec<u32>,
    name: Vec<StringId>,
    by_key: HashMap<(u32, (StringId, StringId)), u32>,
    /// By stack; [`Calls::UNKNOWN`] for those not looked up yet.
    of_stack: Vec<u32>,
    /// Stacks on the way to the root.
    path: Vec<StackId>,
    /// Some stack has more than [`MAX_DEPTH`] calls.
    is_cut: bool,
}

impl<'a> Calls<'a> {
    const ROOT: u32 = 0;
    const UNKNOWN: u32 = u32::MAX;

    fn new(trace: &'a Trace) -> Calls<'a> {
        Calls {
            trace,
            parent: vec![Calls::ROOT],
            depth: vec![0],
            name: vec![StringId::NONE],
            by_key: HashMap::default(),
            of_stack: vec![Calls::UNKNOWN; trace.stacks.len()],
            path: Vec::new(),
            is_cut: false,
        }
    }

    /// The innermost call of a stack.
    fn of(&mut self, stack: StackId) -> u32 {
        let stacks = &self.trace.stacks;
        let mut at = stack;
        while at != StackId::NONE && self.of_stack[at.0 as usize] == Calls::UNKNOWN {
            self.path.push(at);
            at = stacks.parent[at.0 as usize];
        }
        let mut call = if at == StackId::NONE { Calls::ROOT } else { self.of_stack[at.0 as usize] };
        while let Some(StackId(stack)) = self.path.pop() {
            let frame = self.trace.frames.get(stacks.frame[stack as usize]);
            call = self.child(call, frame.function());
            self.of_stack[stack as usize] = call;
        }
        call
    }

    fn child(&mut self, parent: u32, function: (StringId, StringId)) -> u32 {
        let depth = self.depth[parent as usize];
        if depth == MAX_DEPTH {
            self.is_cut = true;
            return parent;
        }
        *self.by_key.entry((parent, function)).or_insert_with(|| {
            self.parent.push(parent);
            self.depth.push(depth + 1);
            self.name.push(function.0);
            self.name.len() as u32 - 1
        })
    }

    /// Name of the outermost function of a stack; `None` if it has none.
    fn outermost(&mut self, stack: StackId) -> Option<StringId> {
        let mut call = self.of(stack);
        while self.depth[call as usize] > 1 {
            call = self.parent[call as usize];
        }
        (call != Calls::ROOT).then(|| self.name[call as usize])
    }
}

/// A call from its first sample to the end of its last one.
#[derive(Clone, Copy)]
struct Call {
    start: i64,
    length: i64,
    /// Number in the order of tracks, and of openings on a track: those around it come first.
    number: u32,
    name: StringId,
    track: u32,
    /// From 0.
    depth: u32,
}

/// Calls of the threads, by start. Each has the number of the box around it. Titles say how many calls of a stack are left, if there
/// are too many.
pub(super) async fn boxes(trace: &Trace, threads: &mut [SampledThread]) -> Boxes {
    let mut calls = Calls::new(trace);
    let mut found = Found { calls: Vec::new(), max_depth: MAX_DEPTH, most: MAX_BOXES, n_opened: 0 };
    for (track, thread) in threads.iter().enumerate() {
        add_thread(thread, track as u32, &mut calls, &mut found).await;
    }
    if found.max_depth < MAX_DEPTH || calls.is_cut {
        let what = if found.max_depth == 1 { "call" } else { "calls" };
        let cut = |thread: &mut SampledThread| {
            thread.title = format!("{}, outermost {} {what}", thread.title, found.max_depth);
        };
        threads.iter_mut().for_each(cut);
    }
    found.into_boxes()
}

async fn add_thread(thread: &SampledThread, track: u32, calls: &mut Calls<'_>, found: &mut Found) {
    // The calls that are open, from the outermost one, with their starts and numbers.
    let mut open: Vec<(u32, i64, u32)> = Vec::new();
    let mut until = i64::MIN;
    for (at, sample) in thread.samples.iter().enumerate() {
        if at % PAUSE_EVERY == 0 {
            steps::pause().await;
        }
        if sample.ts > until {
            found.close(&mut open, 0, until, track, calls);
        }
        let call = calls.of(sample.stack);
        let mut same = call;
        while same != Calls::ROOT
            && open.get(calls.depth[same as usize] as usize - 1).is_none_or(|open| open.0 != same)
        {
            same = calls.parent[same as usize];
        }
        let n_same = calls.depth[same as usize] as usize;
        found.close(&mut open, n_same, sample.ts, track, calls);
        let mut inner = call;
        while inner != same {
            open.push((inner, sample.ts, 0));
            inner = calls.parent[inner as usize];
        }
        open[n_same..].reverse();
        for opened in &mut open[n_same..] {
            opened.2 = found.n_opened;
            found.n_opened = found.n_opened.wrapping_add(1);
        }
        until = sample.end;
    }
    found.close(&mut open, 0, until, track, calls);
}

/// Calls that were found.
struct Found {
    calls: Vec<Call>,
    /// Those further in are left out.
    max_depth: u32,
    /// Number above which further ones are left out.
    most: usize,
    n_opened: u32,
}

impl Found {
    /// Ends the open calls beyond the first `n_left`.
    fn close(
        &mut self,
        open: &mut Vec<(u32, i64, u32)>,
        n_left: usize,
        end: i64,
        track: u32,
        calls: &Calls<'_>,
    ) {
        for (depth, (call, start, number)) in (n_left as u32..).zip(open.drain(n_left..)) {
            if depth >= self.max_depth {
                break;
            }
            let length = end.saturating_sub(start).max(0);
            let name = calls.name[call as usize];
            self.calls.push(Call { start, length, number, name, track, depth });
        }
        if self.calls.len() > self.most && self.max_depth > 1 {
            self.leave_out();
        }
    }

    /// Leaves out the innermost calls, so that half as many as there may be are left.
    fn leave_out(&mut self) {
        let mut n_by_depth = vec![0_usize; self.max_depth as usize];
        self.calls.iter().for_each(|call| n_by_depth[call.depth as usize] += 1);
        let mut n = 0;
        let fits = |n_here: &&usize| {
            n += **n_here;
            n <= self.most / 2
        };
        self.max_depth = (n_by_depth.iter().take_while(fits).count() as u32).max(1);
        self.calls.retain(|call| call.depth < self.max_depth);
    }

    fn into_boxes(mut self) -> Boxes {
        self.calls.sort_unstable_by_key(|call| (call.start, call.number));
        let mut boxes = Boxes::default();
        // By track and depth: the last box.
        let mut last: Vec<Vec<u32>> = Vec::new();
        for (id, Call { start, length, name, track, depth, .. }) in self.calls.into_iter().enumerate() {
            let (track, depth) = (track as usize, depth as usize);
            if last.len() <= track {
                last.resize(track + 1, Vec::new());
            }
            last[track].truncate(depth);
            let parent = last[track].last().copied();
            last[track].push(id as u32);
            boxes.push(start, length, name, (track as u32, depth as u32));
            boxes.parent.push(parent.map_or(SliceId::NONE, SliceId));
        }
        boxes
    }
}

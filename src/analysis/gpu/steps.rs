//! Steps of a server or a training loop: annotations on the CPU with a step name, and lines `Steps` of XProf (JAX, TensorFlow).

use super::annotation::{Annotation, Phase, unknown_word};
use super::kind::{Kind, Kinds};
use super::spans::Span;
use crate::base::hash::{HashMap, HashSet};
use crate::base::strings::StringId;
use crate::gpu::phases::PhaseRule;
use crate::trace::Trace;
use crate::trace::builder::find_member;
use crate::trace::emit_nvtx;
use crate::trace::slices::{SliceId, UNFINISHED};
use crate::trace::tracks::{ProcessId, TrackId};

/// One step.
#[derive(Clone, Debug)]
pub struct Step {
    /// The annotation on the CPU, or the slice of a line `Steps`.
    pub slice: u32,
    pub name: StringId,
    pub what: Annotation,
    /// Time range on the CPU, or on the devices that recorded it, in nanoseconds on the trace's clock.
    pub start: i64,
    pub end: i64,
    /// Its end was not recorded: `end` is where the next one begins, or the end of the trace.
    pub is_open: bool,
    pub process: Option<ProcessId>,
    track: TrackId,
}

impl Step {
    /// Phase for display; the word of the annotation if no rule matches it.
    pub fn phase<'a>(&self, trace: &'a Trace) -> &'a str {
        let word = match self.what.phase {
            Phase::Unknown => {
                let name = trace.strings.get_opt(self.name).unwrap_or("");
                unknown_word(emit_nvtx::operator(name).unwrap_or(name))
            }
            _ => None,
        };
        word.unwrap_or(self.what.phase.name())
    }
}

/// All steps of a trace, in order of start.
#[derive(Default, Debug)]
pub struct Steps {
    pub steps: Vec<Step>,
    /// Number of graph capture annotations.
    pub n_captures: usize,
    /// Whether all steps are of one process that calls no GPU. The process of a call is then ignored: some files have annotations in
    /// a process of their own.
    are_beside_calls: bool,
    /// Whether steps of one process overlap: those of several threads that work on their own.
    overlap: bool,
    /// Steps that devices recorded themselves, by device, in order of start: when the device was in them, and the index of each.
    of_devices: StepsOfDevices,
}

fn is_device(trace: &Trace, process: ProcessId) -> bool {
    let name = trace.processes.name.get(process.0 as usize);
    name.and_then(|name| trace.strings.get_opt(*name)).is_some_and(|name| name.starts_with("/device:"))
}

/// Tracks of lines `Steps` of XProf, which are of devices or of the host.
fn lines_of_steps(trace: &Trace) -> HashSet<TrackId> {
    let text = |id: StringId| trace.strings.get_opt(id).unwrap_or("");
    let is_line = |track: &TrackId| {
        let Some(thread) = trace.tracks.thread[track.0 as usize] else { return false };
        let name = trace.threads.name.get(thread.0 as usize).map_or("", |name| text(*name));
        let process = trace.threads.process.get(thread.0 as usize);
        let process = process.and_then(|process| trace.processes.name.get(process.0 as usize));
        let process = process.map_or("", |name| text(*name));
        name == "Steps" && (process.starts_with("/device:") || process.starts_with("/host:"))
    };
    (0..trace.tracks.len() as u32).map(TrackId).filter(is_line).collect()
}

/// The step that a range of this kind and name marks, if it does.
fn step_of(kind: Kind, name: &str, phases: &[PhaseRule]) -> Option<Annotation> {
    let text = emit_nvtx::operator(name).unwrap_or(name);
    // Until 2022, annotations had the category of operators.
    let may_be = kind == Kind::Annotation || text.starts_with("ProfilerStep#");
    may_be.then(|| Annotation::parse(text, phases)).flatten()
}

/// Names of ranges that mark steps, and of annotations around such: they say when something was done, but not what. Those of
/// StepTraceAnnotation (JAX) have any name, and the number of their step in an argument.
pub fn wrappers(trace: &Trace, kinds: &Kinds, phases: &[PhaseRule]) -> HashSet<StringId> {
    let slices = &trace.slices;
    let mut known: HashMap<StringId, bool> = HashMap::default();
    let mut wrappers = HashSet::default();
    let may_have_numbers = !lines_of_steps(trace).is_empty();
    let has_number = |slice: usize| {
        let raw = trace.args.get(slices.args_of(slice));
        raw.is_some_and(|raw| find_member(&raw, "step_num").is_some())
    };
    for i in 0..slices.len() {
        let (kind, name) = (kinds.get(slices.category[i]), slices.name[i]);
        if !matches!(kind, Kind::Annotation | Kind::Op) {
            continue;
        }
        let marks_step = || {
            trace.strings.get_opt(name).is_some_and(|text| step_of(kind, text, phases).is_some())
                || may_have_numbers && kind == Kind::Annotation && has_number(i)
        };
        if !*known.entry(name).or_insert_with(marks_step) {
            continue;
        }
        wrappers.insert(name);
        let mut at = slices.parent[i].some();
        while let Some(outer) = at.map(|SliceId(outer)| outer as usize) {
            if kinds.get(slices.category[outer]) == Kind::Annotation {
                wrappers.insert(slices.name[outer]);
            }
            at = slices.parent[outer].some();
        }
    }
    wrappers
}

/// No step.
pub const NO_STEP: u32 = u32::MAX;

impl Steps {
    /// Finds the steps. Of nested steps, those with a known phase are kept, and of these the outer ones.
    pub fn new(trace: &Trace, kinds: &Kinds, phases: &[PhaseRule]) -> Steps {
        let slices = &trace.slices;
        let mut known: HashMap<StringId, Option<Annotation>> = HashMap::default();
        let mut steps: Vec<Step> = Vec::new();
        let mut n_captures = 0;
        let lines = lines_of_steps(trace);
        for i in 0..slices.len() {
            let kind = kinds.get(slices.category[i]);
            let name = slices.name[i];
            let is_of_line = !lines.is_empty() && lines.contains(&slices.track[i]);
            // Until 2022, annotations had the category of operators.
            if !matches!(kind, Kind::Annotation | Kind::Op) && !is_of_line {
                continue;
            }
            let of_line = is_of_line.then(|| Annotation::of_line(trace.strings.get(name))).flatten();
            let what = of_line.or_else(|| {
                *known.entry(name).or_insert_with(|| step_of(kind, trace.strings.get(name), phases))
            });
            if what.is_none() && kind == Kind::Annotation {
                n_captures += usize::from(super::annotation::is_capture(trace.strings.get(name)));
            }
            if let Some(what) = what {
                let process = trace.tracks.process_of(slices.track[i], &trace.threads);
                let (start, track) = (slices.ts[i], slices.track[i]);
                let is_open = slices.dur.get(i) == UNFINISHED;
                let trace_end = if is_open { trace.extent().map_or(start, |(_, end)| end) } else { start };
                let end = slices.end(i, trace_end);
                steps.push(Step { slice: i as u32, name, what, start, end, is_open, process, track });
            }
        }
        close_open(&mut steps);
        let steps = choose(steps);
        let are_of_one_process = steps.windows(2).all(|pair| pair[0].process == pair[1].process);
        let makes_calls = |process: Option<ProcessId>| {
            let is_call = |i: &usize| kinds.get(slices.category[*i]) == Kind::Call;
            let mut calls = (0..slices.len()).filter(is_call);
            calls.any(|i| trace.tracks.process_of(slices.track[i], &trace.threads) == process)
        };
        let are_beside_calls =
            are_of_one_process && !steps.first().is_some_and(|step| makes_calls(step.process));
        let overlap = any_overlap(&steps);
        let of_lines = steps.iter().filter(|step| lines.contains(&slices.track[step.slice as usize]));
        let devices = of_lines.filter_map(|step| step.process).filter(|process| is_device(trace, *process));
        let devices: HashSet<ProcessId> = devices.collect();
        let (steps, of_devices) = join(steps, &devices);
        Steps { steps, n_captures, are_beside_calls, overlap, of_devices }
    }

    /// Whether `process` is a device that recorded steps of its own.
    pub fn has_device(&self, process: ProcessId) -> bool {
        self.of_devices.contains_key(&process)
    }

    /// Whether a step is an annotation on the CPU: a device may have recorded it.
    pub fn is_on_cpu(&self, step: &Step) -> bool {
        !step.process.is_some_and(|process| self.has_device(process))
    }

    /// Duration of the annotation of a step on the CPU, in nanoseconds; `None` if a device recorded the step, or its end is missing.
    pub fn cpu_ns(&self, step: &Step) -> Option<i64> {
        (self.is_on_cpu(step) && !step.is_open).then(|| step.end.saturating_sub(step.start))
    }

    pub fn len(&self) -> usize {
        self.steps.len()
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The step of a call at `ts` on a track of `process`; [`NO_STEP`] if none. Where several threads of a process have steps of
    /// their own, it is that of the track, or else the one that began last.
    pub fn at(&self, ts: i64, process: Option<ProcessId>, track: Option<TrackId>) -> u32 {
        if let Some(own) = process.and_then(|process| self.of_devices.get(&process)) {
            let behind = own.partition_point(|((start, _), _)| *start <= ts);
            let holds = |((start, end), _): &&(Span, u32)| ts < *end || ts == *start;
            let found = own[..behind].iter().rev().take(MAX_PROCESSES).find(holds);
            return found.map_or(NO_STEP, |(_, step)| *step);
        }
        let behind = self.steps.partition_point(|step| step.start <= ts);
        let mut found = NO_STEP;
        // Steps of other processes may lie between those of one process.
        for (i, step) in self.steps[..behind].iter().enumerate().rev().take(MAX_PROCESSES) {
            if !self.are_beside_calls && step.process != process {
                continue;
            }
            let holds = ts < step.end || step.start == ts;
            if !self.overlap || holds && Some(step.track) == track {
                return if holds { i as u32 } else { NO_STEP };
            }
            if holds && found == NO_STEP {
                found = i as u32;
            }
        }
        found
    }
}

/// By device: when it was in which step.
type StepsOfDevices = HashMap<ProcessId, Vec<(Span, u32)>>;

/// Joins the steps of one number that several devices recorded: it is one step, however many GPUs work on it. Also returns when each
/// device was in which step.
fn join(steps: Vec<Step>, devices: &HashSet<ProcessId>) -> (Vec<Step>, StepsOfDevices) {
    let mut joined: Vec<Step> = Vec::with_capacity(steps.len());
    let mut of_devices = StepsOfDevices::default();
    // The last step of each name, and the devices that it has.
    let mut last: HashMap<StringId, (u32, HashSet<ProcessId>)> = HashMap::default();
    for step in steps {
        let Some(process) = step.process.filter(|process| devices.contains(process)) else {
            joined.push(step);
            continue;
        };
        let span = (step.start, step.end);
        // A device that has the number again begins another step.
        let known = last.get_mut(&step.name).filter(|(_, of)| !of.contains(&process));
        let at = match known {
            Some((at, of)) => {
                of.insert(process);
                let step = &mut joined[*at as usize];
                step.end = step.end.max(span.1);
                *at
            }
            None => {
                let at = joined.len() as u32;
                last.insert(step.name, (at, HashSet::from_iter([process])));
                joined.push(step);
                at
            }
        };
        of_devices.entry(process).or_default().push((span, at));
    }
    (joined, of_devices)
}

/// Whether steps of one process overlap.
fn any_overlap(steps: &[Step]) -> bool {
    let mut ends: HashMap<Option<ProcessId>, i64> = HashMap::default();
    steps.iter().any(|step| {
        let end = ends.entry(step.process).or_insert(i64::MIN);
        let overlaps = step.start < *end;
        *end = (*end).max(step.end);
        overlaps
    })
}

/// Maximum steps of other processes to skip.
const MAX_PROCESSES: usize = 64;

/// Ends steps whose end is missing where the next one begins that says as much, on the same track.
fn close_open(steps: &mut [Step]) {
    // By track, and whether the phase is known: the next start, and the first one after that.
    let mut starts: HashMap<(TrackId, bool), (i64, Option<i64>)> = HashMap::default();
    for step in steps.iter_mut().rev() {
        let next = starts.entry((step.track, says(step))).or_insert((i64::MAX, None));
        if next.0 > step.start {
            *next = (step.start, Some(next.0));
        }
        if step.is_open {
            step.end = next.1.map_or(step.end, |next| step.end.min(next));
        }
    }
}

/// Whether the phase of a step is known.
fn says(step: &Step) -> bool {
    step.what.phase != Phase::Unknown
}

/// Reduces nested steps to one level.
fn choose(steps: Vec<Step>) -> Vec<Step> {
    // Annotations of a loop around steps of a server carry less information.
    let mut holds_better = vec![false; steps.len()];
    let mut open: Vec<usize> = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        open.retain(|outer| steps[*outer].end > step.start);
        if says(step) {
            for outer in &open {
                let around = &steps[*outer];
                holds_better[*outer] |=
                    !says(around) && around.process == step.process && around.end >= step.end;
            }
        }
        open.push(i);
    }
    let mut chosen: Vec<Step> = Vec::new();
    for (step, holds_better) in steps.into_iter().zip(holds_better) {
        if holds_better {
            continue;
        }
        let before =
            || (0..chosen.len()).rev().take(MAX_PROCESSES).filter(|at| chosen[*at].process == step.process);
        // By rounding, what is nested may last longer than what is around it.
        let holds = |at: &usize| {
            let around = &chosen[*at];
            let shared = around.end.min(step.end).saturating_sub(step.start);
            step.start < around.end
                && (step.end <= around.end
                    || around.track == step.track && shared > step.end.saturating_sub(step.start) / 2)
        };
        if let Some(around) = before().find(holds) {
            // Takes over more precise token counts.
            let around = &mut chosen[around];
            if around.what.context.is_none()
                && step.what.context.is_some()
                && step.what.phase == around.what.phase
            {
                around.what = step.what;
            }
            continue;
        }
        // One thread does one thing after another: rounding makes steps overlap that follow each other.
        if let Some(last) = before().find(|at| chosen[*at].track == step.track) {
            chosen[last].end = chosen[last].end.min(step.start);
        }
        chosen.push(step);
    }
    chosen
}

//! Breakdown of GPU time: every nanosecond of a window belongs to exactly one part.

use super::class::Class;
use super::kind::Kind;
use super::model::{GpuTrace, NONE, Work, is_copy};
use super::spans::{self, Span};
use super::steps::NO_STEP;
use crate::base::hash::HashMap;
use crate::report::chart::{Part, Tone};
use std::cmp::Reverse;

/// Parts of a window, in nanoseconds. `computation + exposed_communication + exposed_copies + idle + unrecorded = total`.
/// As in TraceLens' `gpu_timeline`, kernels and fills count first, communication only without compute, and copies only without
/// compute or communication. HTA's "compute" excludes fills: [`Parts::kernels_only`].
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Parts {
    pub total: i64,
    /// Non-communication kernels, and fills.
    pub computation: i64,
    pub exposed_communication: i64,
    pub exposed_copies: i64,
    /// Nothing running.
    pub idle: i64,
    /// Nothing recorded, but launches without a device record may have run.
    pub unrecorded: i64,
    /// Communication, overlapped or not.
    pub communication: i64,
    /// Communication overlapped with compute.
    pub hidden_communication: i64,
    /// Copies, overlapped or not.
    pub copies: i64,
    /// Non-communication kernels, without fills.
    pub kernels_only: i64,
}

impl Parts {
    /// Time with anything running.
    pub fn busy(&self) -> i64 {
        self.total.saturating_sub(self.idle).saturating_sub(self.unrecorded)
    }

    /// Adds an interval in which all layers in `mask` run.
    fn count(&mut self, ns: i64, mask: u32) {
        let add = |sum: &mut i64, counts: bool| *sum = sum.saturating_add(if counts { ns } else { 0 });
        add(&mut self.total, true);
        let has = |bits: u32| mask & bits != 0;
        let part = match deciding(mask) {
            COMPUTATION => &mut self.computation,
            COMMUNICATION => &mut self.exposed_communication,
            COPIES => &mut self.exposed_copies,
            UNRECORDED => &mut self.unrecorded,
            _ => &mut self.idle,
        };
        add(part, true);
        add(&mut self.kernels_only, has(KERNELS));
        add(&mut self.communication, has(COMMUNICATION));
        add(&mut self.hidden_communication, has(COMMUNICATION) && has(COMPUTATION));
        add(&mut self.copies, has(COPIES));
    }

    pub fn add(&mut self, other: &Parts) {
        let add = |sum: &mut i64, ns: i64| *sum = sum.saturating_add(ns);
        add(&mut self.total, other.total);
        add(&mut self.computation, other.computation);
        add(&mut self.exposed_communication, other.exposed_communication);
        add(&mut self.exposed_copies, other.exposed_copies);
        add(&mut self.idle, other.idle);
        add(&mut self.unrecorded, other.unrecorded);
        add(&mut self.communication, other.communication);
        add(&mut self.hidden_communication, other.hidden_communication);
        add(&mut self.copies, other.copies);
        add(&mut self.kernels_only, other.kernels_only);
    }
}

/// Bar parts that add up to the total, one bar per row.
pub fn chart_parts<'a>(rows: impl Iterator<Item = &'a Parts> + Clone) -> Vec<Part> {
    let part = |name: &str, tone, get: fn(&Parts) -> i64| Part {
        name: name.to_string(),
        tone,
        values: rows.clone().map(|parts| get(parts) as f64).collect(),
    };
    let mut all = vec![
        part("computation", Tone::Computation, |parts| parts.computation),
        part("exposed communication", Tone::Communication, |parts| parts.exposed_communication),
        part("exposed copies", Tone::Copies, |parts| parts.exposed_copies),
        part("idle", Tone::Idle, |parts| parts.idle),
    ];
    if rows.clone().any(|parts| parts.unrecorded > 0) {
        all.push(part(NOT_RECORDED, Tone::Other(5), |parts| parts.unrecorded));
    }
    all
}

/// Activity of a device over time.
pub struct Activity {
    kernels: Vec<Span>,
    fills: Vec<Span>,
    communication: Vec<Span>,
    copies: Vec<Span>,
    /// Gaps in which unrecorded kernels may have run.
    unrecorded: Vec<Span>,
    /// From the start of its first kernel or copy to the end of its last.
    pub window: Option<Span>,
}

const KERNELS: u32 = 1;
const FILLS: u32 = 1 << 1;
const COMMUNICATION: u32 = 1 << 2;
const COPIES: u32 = 1 << 3;
const UNRECORDED: u32 = 1 << 4;
const COMPUTATION: u32 = KERNELS | FILLS;
const N_LAYERS: u32 = 5;

/// The layer that determines the part; 0 if nothing runs.
fn deciding(mask: u32) -> u32 {
    [COMPUTATION, COMMUNICATION, COPIES, UNRECORDED].into_iter().find(|bits| mask & bits != 0).unwrap_or(0)
}

/// Layer of a kernel, copy or fill.
fn layer_of(kind: Kind, class: &Class) -> u32 {
    if is_copy(kind, class) {
        COPIES
    } else if kind == Kind::Fill {
        FILLS
    } else if class.is_communication {
        COMMUNICATION
    } else {
        KERNELS
    }
}

/// Ranks of communication and of copies: see [`rank`].
pub const COMMUNICATION_RANK: u8 = 1;
pub const COPIES_RANK: u8 = 2;

/// Rank of a work among those that run at the same moment: 0 for computation, which decides what the moment counts as.
pub fn rank(gpu: &GpuTrace<'_>, work: &Work) -> u8 {
    match layer_of(work.kind, gpu.class(work)) {
        COPIES => COPIES_RANK,
        COMMUNICATION => COMMUNICATION_RANK,
        _ => 0,
    }
}

impl Activity {
    /// Activity of one device.
    pub fn new(gpu: &GpuTrace<'_>, device: u32) -> Activity {
        Activity::of_some(gpu, device, |_| true)
    }

    /// Activity of the kernels and copies of one device that satisfy `is`.
    pub fn of_some(gpu: &GpuTrace<'_>, device: u32, is: impl Fn(&Work) -> bool) -> Activity {
        let of_device =
            gpu.work.iter().filter(|work| gpu.streams[work.stream as usize].device == device && is(work));
        let activity =
            Activity::of(of_device.map(|work| ((work.start, work.end), work.kind, gpu.class(work))));
        Activity { unrecorded: unrecorded(gpu, device), ..activity }
    }

    /// Activity of the kernels and copies of one device that may be of steps, and of those launched outside of them. `None` if there
    /// are none outside.
    pub fn in_steps_and_outside(gpu: &GpuTrace<'_>, device: u32) -> Option<[Activity; 2]> {
        let outside = Activity::of_some(gpu, device, |work| gpu.is_outside_steps(work));
        outside.window?;
        Some([Activity::of_some(gpu, device, |work| !gpu.is_outside_steps(work)), outside])
    }

    /// Activity of kernels and copies with kind and class, in order of start.
    pub fn of<'a>(work: impl Iterator<Item = (Span, Kind, &'a Class)>) -> Activity {
        let mut layers: [Vec<Span>; 4] = Default::default();
        for (span, kind, class) in work {
            spans::add(&mut layers[layer_of(kind, class).trailing_zeros() as usize], span);
        }
        let start = layers.iter().filter_map(|layer| layer.first()).map(|span| span.0).min();
        let end = layers.iter().filter_map(|layer| layer.last()).map(|span| span.1).max();
        let [kernels, fills, communication, copies] = layers;
        Activity { kernels, fills, communication, copies, unrecorded: Vec::new(), window: start.zip(end) }
    }

    fn layers(&self) -> [&[Span]; N_LAYERS as usize] {
        [&self.kernels, &self.fills, &self.communication, &self.copies, &self.unrecorded]
    }

    /// Time breakdown of `window`.
    pub fn parts(&self, window: Span) -> Parts {
        let mut parts = Parts::default();
        spans::pieces(self.layers(), window, |(start, end), mask| {
            parts.count(end.saturating_sub(start), mask)
        });
        parts
    }

    /// Time breakdown of `window` together with `other`: own time including idle, and time of `other` alone. An interval belongs to
    /// the activity that determines its part.
    pub fn parts_beside(&self, other: &Activity, window: Span) -> [Parts; 2] {
        let [a, b, c, d, u] = self.layers();
        let [e, f, g, h, v] = other.layers();
        let mut parts = [Parts::default(); 2];
        spans::pieces([a, b, c, d, u, e, f, g, h, v], window, |(start, end), mask| {
            let (own, others) = (mask & ((1 << N_LAYERS) - 1), mask >> N_LAYERS);
            let deciding = deciding(own | others);
            let is_others = deciding != 0 && own & deciding == 0;
            parts[usize::from(is_others)].count(end.saturating_sub(start), own | others);
        });
        parts
    }
}

/// Name of the part in which unrecorded kernels may have run.
pub const NOT_RECORDED: &str = "not recorded";

/// Gaps of a device in which unrecorded kernels may have run.
fn unrecorded(gpu: &GpuTrace<'_>, device: u32) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut last: Option<&Work> = None;
    if !gpu.hides_work() {
        return spans;
    }
    for work in gpu.work.iter().filter(|work| gpu.streams[work.stream as usize].device == device) {
        if let Some(last) = last
            && work.start > last.end
            && gpu.may_have_worked(device, last, work)
        {
            spans.push((last.end, work.start));
        }
        if last.is_none_or(|last| work.end > last.end) {
            last = Some(work);
        }
    }
    spans
}

/// Pseudo-step for kernels launched outside steps.
pub const OUTSIDE_STEPS: u32 = NO_STEP - 1;

/// The extent of a step, for captions.
pub const STEP_EXTENT: &str = "On a GPU, a step starts with the first kernel or copy on the stream that computes most of it, and \
                               lasts until the next step starts";

/// GPU time of a step: from its start to that of the next step, see [`STEP_EXTENT`].
#[derive(Clone, Copy, Debug)]
pub struct StepWindow {
    /// [`NO_STEP`] for the time before the first step, or [`OUTSIDE_STEPS`].
    pub step: u32,
    pub device: u32,
    pub window: Span,
    /// Whether all launches that determine the step's time have device records.
    pub is_complete: bool,
    /// Kernel and graph launches in the step without a device record.
    pub n_missing: u64,
    /// Whether it is the last step of the device: it ends with the last activity, so idle time at its end is missing.
    pub is_cut: bool,
}

impl StepWindow {
    /// A window without a following step.
    pub fn whole(step: u32, device: u32, window: Span) -> StepWindow {
        StepWindow { step, device, window, is_complete: true, n_missing: 0, is_cut: false }
    }

    /// Start in nanoseconds; `None` for [`OUTSIDE_STEPS`], which is spread over the trace.
    pub fn start(&self) -> Option<i64> {
        (self.step != OUTSIDE_STEPS).then_some(self.window.0)
    }
}

/// Start of a step on a device: its first kernel or copy on the stream that computes most of it. A stream runs in launch order, so
/// that is not before the previous step on the same stream. A copy on a stream of its own may run one step ahead.
#[derive(Clone, Copy)]
struct StepStart {
    /// Nanoseconds on the trace's clock.
    start: i64,
    /// Start of its launch call; its own where the launch isn't recorded.
    launched: i64,
}

/// Kernels and copies of a step on one stream.
struct OnStream {
    first: StepStart,
    /// Kernels and fills without communication, in nanoseconds.
    computation: i64,
    has_kernel: bool,
}

/// Start of each step on a device; `None` if nothing of it ran there. Without computation, kernels count before copies.
fn step_starts(gpu: &GpuTrace<'_>, device: u32) -> Vec<Option<StepStart>> {
    let mut streams: HashMap<(u32, u32), OnStream> = HashMap::default();
    for work in gpu.work.iter().filter(|work| gpu.streams[work.stream as usize].device == device) {
        if gpu.step(work.step).is_none() {
            continue;
        }
        // `work` is in order of start.
        let of = streams.entry((work.step, work.stream)).or_insert_with(|| {
            let launched = match work.launch {
                NONE => work.start,
                launch => gpu.trace.slices.ts[launch as usize],
            };
            OnStream { first: StepStart { start: work.start, launched }, computation: 0, has_kernel: false }
        });
        of.has_kernel |= !gpu.is_copy(work);
        if rank(gpu, work) == 0 {
            of.computation = of.computation.saturating_add(work.dur());
        }
    }
    let mut most = vec![None; gpu.steps.len()];
    for ((step, stream), of) in streams {
        let key = (of.computation, of.has_kernel, Reverse(of.first.start), Reverse(stream));
        let most: &mut Option<(_, StepStart)> = &mut most[step as usize];
        if most.as_ref().is_none_or(|(known, _)| key > *known) {
            *most = Some((key, of.first));
        }
    }
    most.into_iter().map(|most| most.map(|(_, first)| first)).collect()
}

/// The last one of `windows`, which are in order, that starts by `at`, in nanoseconds on the trace's clock; `None` before the first.
pub fn window_at(windows: &[StepWindow], at: i64) -> Option<&StepWindow> {
    windows.partition_point(|step| step.window.0 <= at).checked_sub(1).and_then(|at| windows.get(at))
}

/// Windows of all steps of a device, in order; together they cover the window of the device. Empty without activity in any step.
pub fn step_windows(gpu: &GpuTrace<'_>, device: u32, whole: Span) -> Vec<StepWindow> {
    let first = step_starts(gpu, device);
    let mut starts: Vec<(i64, u32)> =
        first.iter().zip(0..).filter_map(|(first, step)| Some(((*first)?.start, step))).collect();
    starts.sort_unstable();
    let n_missing = |step: u32| {
        let window = gpu.step(step).map(|step| (step.start, step.end));
        window.map_or(0, |(start, end)| gpu.hidden_launches(device, start, end).count() as u64)
    };
    let is_complete = |step: Option<u32>, next: Option<u32>, (start, end): Span| {
        let from = step.and_then(|step| gpu.step(step)).map_or(i64::MIN, |step| step.start);
        let until = next.and_then(|next| first[next as usize]).map_or(i64::MAX, |first| first.launched);
        gpu.hidden_launches(device, from, until).next().is_none()
            && !gpu.may_have_worked_before(device, end)
            && !gpu.may_have_been_unfinished(device, (start, end))
    };
    let mut windows = Vec::with_capacity(starts.len() + 1);
    if let Some((start, _)) = starts.first()
        && *start > whole.0
    {
        let is_complete = is_complete(None, starts.first().map(|(_, step)| *step), (whole.0, *start));
        windows.push(StepWindow {
            step: NO_STEP,
            device,
            window: (whole.0, *start),
            is_complete,
            n_missing: 0,
            is_cut: false,
        });
    }
    for (i, (start, step)) in starts.iter().enumerate() {
        let end = starts.get(i + 1).map_or(whole.1, |(next, _)| *next);
        let is_complete = is_complete(Some(*step), starts.get(i + 1).map(|(_, step)| *step), (*start, end));
        windows.push(StepWindow {
            step: *step,
            device,
            window: (*start, end),
            is_complete,
            n_missing: n_missing(*step),
            is_cut: i + 1 == starts.len(),
        });
    }
    windows
}

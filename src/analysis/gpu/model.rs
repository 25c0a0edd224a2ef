//! GPU activity of one trace, linked to its launches.

use super::annotation::Annotation;
use super::class::{Class, ClassId, Classes};
use super::facts::{RunFacts, Vendor};
use super::kind::{Kind, Kinds};
use super::launched::{Launches, Recorded, Silence, Silent};
use super::operator_ranges::OperatorRanges;
use super::scope::{self, CLOCK_SLACK_NS, Candidate, Driver, HostId, Votes};
use super::spans::{self, Span};
use super::steps::{self, NO_STEP, Step, Steps};
use super::tensor::Tensor;
use crate::base::hash::{HashMap, HashSet};
use crate::base::json::Number;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::counted;
use crate::trace::Trace;
use crate::trace::builder::for_each_member;
use crate::trace::builder::issues::OUTSIDE_RANGE;
use crate::trace::emit_nvtx;
use crate::trace::labels::gpu_label;
use crate::trace::links::{Link, LinkTable};
use crate::trace::slices::{SliceId, SliceKind, UNFINISHED};
use crate::trace::tracks::{Key, ProcessId};
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// A kernel, a copy or a fill.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub slice: u32,
    /// Nanoseconds on the trace's clock.
    pub start: i64,
    pub end: i64,
    pub kind: Kind,
    pub class: ClassId,
    /// Index into [`GpuModel::streams`].
    pub stream: u32,
    /// The call that launched it; [`NONE`] if that is not recorded.
    pub launch: u32,
    /// The innermost operator around that call; [`NONE`] if there is none.
    pub op: u32,
    /// Index into the steps; [`NO_STEP`] if none.
    pub step: u32,
    /// Row of its link; [`NONE`] if it has none.
    pub link: u32,
    /// Whether it starts before its launch call (clock skew), so the time between them is meaningless.
    pub is_before_launch: bool,
}

impl Work {
    /// Nanoseconds.
    pub fn dur(&self) -> i64 {
        self.end.saturating_sub(self.start)
    }

    /// The launch call, if the time between the two is meaningful; else [`NONE`].
    pub fn timed_launch(&self) -> u32 {
        if self.is_before_launch { NONE } else { self.launch }
    }
}

/// Number of calls after the last one to check before a binary search.
const CALLS_NEAR: usize = 16;

/// No slice, no row.
pub const NONE: u32 = u32::MAX;

/// Process of the GPU, number, and place among the streams of that number.
type StreamKey = (ProcessId, Option<i64>, u32);

/// A stream of a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stream {
    /// Index into [`GpuModel::devices`].
    pub device: u32,
    /// Stream number; `None` if not recorded.
    pub number: Option<i64>,
    /// Its place among the streams of that number, counted from 1: programs that share a GPU number their streams on their own.
    pub alike: u32,
}

/// A kernel, copy or fill whose end is missing, as in a file that was cut off. How long it ran is unknown, so it is no [`Work`].
#[derive(Clone, Copy, Debug)]
pub struct Unfinished {
    pub slice: u32,
    /// Row of its link; [`NONE`] if it has none.
    pub link: u32,
    /// Its stream; `None` if nothing on it has an end.
    pub stream: Option<u32>,
    /// Its device; `None` if nothing on it has an end.
    device: Option<u32>,
}

/// A GPU as the file numbers it.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    pub process: ProcessId,
    pub number: Option<i64>,
}

/// A call of the runtime or driver.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub correlation: i64,
    pub slice: u32,
    /// The program that made it.
    pub host: HostId,
    /// Whether another call of the program has the same correlation id and is not nested with it.
    pub is_ambiguous: bool,
}

/// Most operators whose arguments are looked at for their External ids.
const MAX_STATED: usize = 20_000;

/// Issue of files that don't say which process launched a kernel or copy. Its correlation id may then be that of several calls.
const NO_PROCESS: &str = "capture-no-process";

/// Kernels and copies whose correlation id is that of several calls.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ambiguous {
    /// Calls of several processes.
    pub of_processes: u64,
    /// Calls of one process, one after the other.
    pub of_one: u64,
    /// Calls of a process that the file doesn't name.
    pub of_nobody: u64,
}

impl Ambiguous {
    /// All of them.
    pub fn n(self) -> u64 {
        self.of_processes.saturating_add(self.of_one).saturating_add(self.of_nobody)
    }

    /// What each text of [`Ambiguous::told`] contains.
    pub const WORD: &str = "correlation id";

    /// What those on calls of several processes contain.
    pub const SEVERAL: &str = "used by several processes";

    /// `2 kernels and copies have a correlation id used by several processes`, and the same of one process, as far as they occur.
    pub fn told(self) -> impl Iterator<Item = String> {
        let parts = [
            (self.of_processes, Ambiguous::SEVERAL),
            (self.of_one, "of several calls of one process"),
            (self.of_nobody, "of a process that the file doesn't name"),
        ];
        parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, whose)| {
            let have = counted(n, "kernel or copy has", "kernels and copies have");
            format!("{have} a {} {whose}", Ambiguous::WORD)
        })
    }
}

/// A trace with its GPU model.
pub struct GpuTrace<'a> {
    pub trace: &'a Trace,
    model: GpuModel,
}

/// GPU model of a trace. Can be kept and reused as long as the trace doesn't change.
pub struct GpuModel {
    pub kinds: Kinds,
    pub facts: RunFacts,
    pub vendor: Vendor,
    pub devices: Vec<Device>,
    pub streams: Vec<Stream>,
    /// In order of start.
    pub work: Vec<Work>,
    /// In order of start.
    pub unfinished: Vec<Unfinished>,
    /// By [`GpuModel::devices`]: times in which [`GpuModel::unfinished`] may have run, each from its start to that of the next
    /// kernel or copy on its stream. Disjoint, in order.
    unfinished_spans: Vec<Vec<Span>>,
    /// Programs that made calls, in order of their first one.
    pub hosts: Vec<ProcessId>,
    /// Host program of each of [`GpuModel::devices`].
    pub drivers: Vec<Driver>,
    /// In order of correlation, and of [`Call::host`] among equal ones.
    pub calls: Vec<Call>,
    /// Kernels and copies whose correlation id matches several calls, so they are not linked.
    pub ambiguous: Ambiguous,
    /// Slices around calls on tracks of their own, by call: see [`super::beside`].
    around_calls: HashMap<u32, u32>,
    /// Time that slices spent in these calls, in nanoseconds, by slice.
    time_beside: HashMap<u32, i64>,
    /// Launches without a timed device record, in order of time.
    pub silent: Vec<Silent>,
    /// Of each of [`GpuModel::devices`], the time from which launches without a device record may have run although they come after
    /// the last recorded launch; `i64::MAX` where there are none. Nanoseconds on the trace's clock.
    unknown_from: Vec<i64>,
    /// Counts of kernel and graph launches.
    pub recorded: Recorded,
    pub steps: Steps,
    pub classes: Classes,
    operator_ranges: OperatorRanges,
    /// Names of calls that launch a whole graph.
    graph_launches: Vec<StringId>,
    /// First inputs of operators, by name and signature of all inputs: see [`super::collective`].
    pub(super) tensors: RefCell<HashMap<(StringId, u64), Option<Tensor>>>,
}

impl Deref for GpuTrace<'_> {
    type Target = GpuModel;

    fn deref(&self) -> &GpuModel {
        &self.model
    }
}

impl DerefMut for GpuTrace<'_> {
    fn deref_mut(&mut self) -> &mut GpuModel {
        &mut self.model
    }
}

impl<'a> GpuTrace<'a> {
    /// Reuses the model of the same trace with the same rules.
    pub fn from_cache(trace: &'a Trace, model: GpuModel) -> GpuTrace<'a> {
        GpuTrace { trace, model }
    }

    /// The model, for reuse with the same trace.
    pub fn into_model(self) -> GpuModel {
        self.model
    }

    /// Whether the arguments that reports need were kept while parsing: true for slices of a single event (`X`).
    pub fn is_marked(&self, slice: usize) -> bool {
        self.trace.slices.kind[slice] == SliceKind::Complete
    }

    /// Arguments of a slice, see [`ArgsTable::get_marked`].
    ///
    /// [`ArgsTable::get_marked`]: crate::trace::args::ArgsTable::get_marked
    pub fn marked_args(&self, slice: usize) -> Option<Cow<'a, [u8]>> {
        let (args, place) = (&self.trace.args, self.trace.slices.args_of(slice));
        if self.is_marked(slice) { args.get_marked(place) } else { args.get(place) }
    }

    /// Builds the model with one pass over the slices. Time and memory are linear in the number of calls and kernels.
    pub fn new(trace: &'a Trace) -> GpuTrace<'a> {
        GpuTrace::with_rules(trace, "")
    }

    /// Builds the model with custom kernel rules before the builtin ones.
    pub fn with_rules(trace: &'a Trace, kernel_rules: &str) -> GpuTrace<'a> {
        let kinds = Kinds::of(trace);
        let classes = Classes::new(kernel_rules);
        let steps = Steps::new(trace, &kinds, classes.phases());
        let facts = RunFacts::new(trace);
        let operator_ranges = OperatorRanges::new(trace, &kinds, classes.phases());
        let model = GpuModel {
            kinds,
            operator_ranges,
            facts,
            vendor: Vendor::Unknown,
            devices: Vec::new(),
            streams: Vec::new(),
            work: Vec::new(),
            unfinished: Vec::new(),
            unfinished_spans: Vec::new(),
            hosts: Vec::new(),
            drivers: Vec::new(),
            calls: Vec::new(),
            ambiguous: Ambiguous::default(),
            around_calls: HashMap::default(),
            time_beside: HashMap::default(),
            silent: Vec::new(),
            unknown_from: Vec::new(),
            recorded: Recorded::default(),
            steps,
            classes,
            graph_launches: Vec::new(),
            tensors: RefCell::default(),
        };
        let mut gpu = GpuTrace { trace, model };
        gpu.around_calls = super::beside::slices_around(trace, &gpu.kinds);
        gpu.time_beside = super::beside::time_in_calls(trace, &gpu.around_calls);
        gpu.collect();
        gpu.link();
        gpu.find_silent();
        gpu.vendor = gpu.find_vendor();
        gpu
    }

    /// Collects kernels, copies and calls.
    fn collect(&mut self) {
        let trace = self.trace;
        let slices = &trace.slices;
        let mut near = 0;
        let mut streams: HashMap<StreamKey, u32> = HashMap::default();
        let mut unfinished: Vec<(Unfinished, StreamKey)> = Vec::new();
        let mut devices: HashMap<ProcessId, u32> = HashMap::default();
        let mut call_names: HashSet<StringId> = HashSet::default();
        let mut hosts: HashMap<ProcessId, HostId> = HashMap::default();
        let n_of =
            |is: fn(Kind) -> bool| slices.category.iter().filter(|id| is(self.kinds.get(**id))).count();
        let (n_work, n_calls) = (n_of(Kind::is_gpu_work), n_of(|kind| kind == Kind::Call));
        self.work.reserve_exact(n_work);
        self.calls.reserve_exact(n_calls);
        for i in 0..slices.len() {
            let kind = self.kinds.get(slices.category[i]);
            if kind != Kind::Call && !kind.is_gpu_work() {
                continue;
            }
            let row = trace.links.find(slices.offset(i), near);
            near = row.unwrap_or(near);
            if kind == Kind::Call {
                let correlation = row.map_or(LinkTable::NONE, |row| trace.links.correlation.get(row));
                // 0 stands for none.
                if correlation != LinkTable::NONE && correlation != 0 {
                    let name = slices.name[i];
                    if call_names.insert(name) && self.name(i as u32).contains("GraphLaunch") {
                        self.graph_launches.push(name);
                    }
                    let Some((process, _)) = self.thread_of(i) else { continue };
                    let next = HostId::try_from(self.hosts.len()).unwrap_or(HostId::MAX);
                    let host = *hosts.entry(process).or_insert_with(|| {
                        self.hosts.push(process);
                        next
                    });
                    self.calls.push(Call { correlation, slice: i as u32, host, is_ambiguous: false });
                }
                continue;
            }
            let Some((process, key)) = self.thread_of(i) else { continue };
            let given =
                row.map(|row| trace.links.stream(row)).filter(|stream| *stream != LinkTable::NO_STREAM);
            let (own, alike) = stream_number(trace, key);
            let number = given.map(i64::from).or(own);
            let of = (process, number, alike);
            let link = row.map_or(NONE, |row| row as u32);
            if slices.dur.get(i) == UNFINISHED {
                unfinished.push((Unfinished { slice: i as u32, link, stream: None, device: None }, of));
                continue;
            }
            let stream = *streams.entry(of).or_insert_with(|| {
                let device = *devices.entry(process).or_insert_with(|| {
                    self.devices.push(Device { process, number: scope::gpu_number(trace, process) });
                    self.devices.len() as u32 - 1
                });
                self.streams.push(Stream { device, number, alike });
                self.streams.len() as u32 - 1
            });
            let class = self.classes.of(trace, slices.name[i], kind);
            let start = slices.ts[i];
            self.work.push(Work {
                slice: i as u32,
                start,
                end: start.saturating_add(slices.dur.get(i).max(0)),
                kind,
                class,
                stream,
                launch: NONE,
                op: NONE,
                step: NO_STEP,
                link,
                is_before_launch: false,
            });
        }
        let places = self.sort_devices();
        devices.values_mut().for_each(|device| *device = places[*device as usize]);
        let on = |(one, of): (Unfinished, StreamKey)| Unfinished {
            stream: streams.get(&of).copied(),
            device: devices.get(&of.0).copied(),
            ..one
        };
        self.unfinished = unfinished.into_iter().map(on).collect();
        self.unfinished_spans = self.find_unfinished_spans();
        self.calls.sort_unstable_by_key(|call| (call.correlation, call.host, call.slice));
        // Of nested calls with one correlation id (a driver call in a runtime call), the outer one is kept.
        self.calls.dedup_by(|later, first| {
            let is_same = (later.correlation, later.host) == (first.correlation, first.host);
            let start = slices.ts[later.slice as usize];
            let first_end =
                slices.ts[first.slice as usize].saturating_add(slices.dur.get(first.slice as usize).max(0));
            first.is_ambiguous |= is_same && start > first_end;
            is_same
        });
        self.calls.shrink_to_fit();
    }

    /// Orders the devices by number, those of one number by their first kernel or copy. Returns the new place of each.
    fn sort_devices(&mut self) -> Vec<u32> {
        let number = |device: u32| self.devices[device as usize].number;
        let mut order: Vec<u32> = (0..self.devices.len() as u32).collect();
        sort::by(&mut order, |a, b| {
            let key = |device: u32| (number(device).is_none(), number(device), device);
            key(*a).cmp(&key(*b))
        });
        let mut places = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(device, place)| places[*device as usize] = place);
        self.devices = order.iter().map(|device| self.devices[*device as usize]).collect();
        self.streams.iter_mut().for_each(|stream| stream.device = places[stream.device as usize]);
        places
    }

    /// See [`GpuModel::unfinished_spans`].
    fn find_unfinished_spans(&self) -> Vec<Vec<Span>> {
        let mut spans: Vec<Vec<Span>> = vec![Vec::new(); self.devices.len()];
        let mut next = vec![i64::MAX; self.streams.len()];
        let mut later = self.work.iter().rev().peekable();
        for Unfinished { slice, stream, device, .. } in self.unfinished.iter().rev() {
            let start = self.trace.slices.ts[*slice as usize];
            while let Some(work) = later.next_if(|work| work.start >= start) {
                next[work.stream as usize] = work.start;
            }
            if let Some(device) = device {
                // Alone on its stream, it may run to the end.
                let end = stream.map_or(i64::MAX, |stream| next[stream as usize]);
                spans[*device as usize].push((start, end));
            }
        }
        spans.into_iter().map(|spans| spans::union(spans.into_iter().rev())).collect()
    }

    /// Host program of each GPU.
    fn find_drivers(&self) -> Vec<Driver> {
        let gpus: Vec<ProcessId> = self.devices.iter().map(|device| device.process).collect();
        let mut votes = vec![Votes::new(self.hosts.len()); gpus.len()];
        if self.hosts.len() > 1 {
            let slices = &self.trace.slices;
            let mut candidates = Vec::new();
            for work in &self.work {
                let Some(link) = self.link_of(work) else { continue };
                let offset = slices.offset(work.slice as usize);
                candidates.clear();
                candidates.extend(self.calls_of(link.correlation).iter().map(|call| Candidate {
                    host: call.host,
                    is_possible: !self.is_before(work, call.slice),
                    distance: {
                        let call = slices.offset(call.slice as usize);
                        (call > offset, call.abs_diff(offset))
                    },
                }));
                votes[self.streams[work.stream as usize].device as usize].add(&candidates);
            }
        }
        scope::drivers(self.trace, &self.hosts, &gpus, &votes)
    }

    /// Whether a kernel starts before `call` by more than rounding.
    fn is_before(&self, work: &Work, call: u32) -> bool {
        work.start.saturating_add(CLOCK_SLACK_NS) < self.trace.slices.ts[call as usize]
    }

    /// All calls of a correlation id, at most one per program.
    fn calls_of(&self, correlation: i64) -> &[Call] {
        if correlation == LinkTable::NONE || correlation == 0 {
            return &[];
        }
        let from = self.calls.partition_point(|call| call.correlation < correlation);
        let n = self.calls[from..].iter().take_while(|call| call.correlation == correlation).count();
        &self.calls[from..from + n]
    }

    /// Process and key of a slice's thread.
    pub fn thread_of(&self, slice: usize) -> Option<(ProcessId, Key)> {
        let track = self.trace.slices.track[slice].0 as usize;
        let thread = self.trace.tracks.thread.get(track).copied().flatten()?.0 as usize;
        Some((*self.trace.threads.process.get(thread)?, *self.trace.threads.key.get(thread)?))
    }

    /// The process of a slice's thread.
    pub fn process_of(&self, slice: usize) -> Option<ProcessId> {
        self.thread_of(slice).map(|(process, _)| process)
    }

    /// Links kernels and copies to calls, operators and steps.
    fn link(&mut self) {
        self.drivers = self.find_drivers();
        let ops_by_external = self.ops_by_external_id();
        let mut work = std::mem::take(&mut self.work);
        // Kernels of a graph come one after the other and share their launch.
        let mut last = (NONE, NONE, NO_STEP);
        let (mut near, mut ambiguous) = (0, Ambiguous::default());
        for work in &mut work {
            let Some(link) = self.link_of(work) else { continue };
            let driver = self.driver_of(work);
            let found = self.call_near(driver, link.correlation, &mut near);
            ambiguous.of_processes += u64::from(found == Linked::OfProcesses);
            ambiguous.of_one += u64::from(found == Linked::OfOne);
            if let Linked::To(call) = found {
                if last.0 != call {
                    last = (call, self.op_of(call).unwrap_or(NONE), self.step_of(call));
                }
                (work.launch, work.op, work.step) = last;
                work.is_before_launch = self.is_before(work, call);
            } else if link.external != link.correlation
                && let Some(Some(op)) = ops_by_external.get(&(self.program_of(driver), link.external))
            {
                work.op = *op;
                work.step = self.step_of(*op);
            }
        }
        ambiguous.of_nobody = self.trace.ledger.count_of(NO_PROCESS);
        self.steps_of_annotations(&mut work);
        self.steps_of_devices(&mut work);
        self.work = work;
        self.ambiguous = ambiguous;
    }

    /// Finds launches without a timed device record.
    fn find_silent(&mut self) {
        let trace = self.trace;
        let slices = &trace.slices;
        let mut kinds: HashMap<StringId, Option<Launches>> = HashMap::default();
        let has_work: HashSet<u32> = self.work.iter().map(|work| work.launch).collect();
        let links = &trace.links;
        let mut untimed: Vec<i64> =
            links.untimed.iter().map(|(row, _)| links.correlation.get(*row as usize)).collect();
        let unfinished = self.unfinished.iter().filter(|unfinished| unfinished.link != NONE);
        untimed.extend(unfinished.map(|unfinished| links.correlation.get(unfinished.link as usize)));
        untimed.sort_unstable();
        let captures = self.captures();
        // In a time range of a trace, kernels of the last launches lie after its end.
        let is_part = trace.ledger.issue(OUTSIDE_RANGE.code).is_some();
        let launched = |work: &Work| (work.launch != NONE).then(|| slices.ts[work.launch as usize]);
        let last_launch = self.work.iter().filter_map(launched).max().unwrap_or(i64::MIN);
        let mut silent = Vec::new();
        let mut recorded = Recorded::default();
        for call in &self.calls {
            let name = slices.name[call.slice as usize];
            let launches =
                *kinds.entry(name).or_insert_with(|| trace.strings.get_opt(name).and_then(Launches::of));
            let Some(launches) = launches else { continue };
            let ts = slices.ts[call.slice as usize];
            // For ambiguous calls, the one with the kernel is unknown.
            let has_work = has_work.contains(&call.slice) || call.is_ambiguous;
            let is_captured = || {
                let of_host = captures.iter().filter(|(host, _)| *host == call.host);
                of_host.into_iter().any(|(_, (start, end))| *start <= ts && ts <= *end)
            };
            let why = match has_work {
                true => None,
                false if untimed.binary_search(&call.correlation).is_ok() => Some(Silence::Untimed),
                false if is_captured() => Some(Silence::Captured),
                false if is_part && ts > last_launch => Some(Silence::Outside),
                false => Some(Silence::NoRecord),
            };
            if launches.is_work() && !matches!(why, Some(Silence::Captured | Silence::Outside)) {
                recorded.n_launches += 1;
                recorded.n_recorded += u64::from(why != Some(Silence::NoRecord));
            }
            if let Some(why) = why {
                silent.push(Silent { slice: call.slice, host: call.host, launches, why, ts });
            }
        }
        // Ambiguous launches are not linked but not missing either.
        if self.ambiguous.n() > 0 {
            silent.retain(|silent| silent.why != Silence::NoRecord);
            recorded.n_recorded = recorded.n_launches;
        }
        silent.sort_unstable_by_key(|silent| (silent.ts, silent.slice));
        (self.silent, self.recorded) = (silent, recorded);
        self.unknown_from =
            (0..self.devices.len() as u32).map(|device| self.find_unknown_from(device)).collect();
    }

    /// See [`GpuModel::unknown_from`]. A stream runs in launch order, so launches after the last recorded one can't have run before
    /// their stream was done with what is recorded. Which stream that is isn't in the trace: it may be the one that was done first.
    fn find_unknown_from(&self, device: u32) -> i64 {
        let mut last_launch = i64::MIN;
        let mut done = vec![i64::MIN; self.streams.len()];
        for work in self.work.iter().filter(|work| self.streams[work.stream as usize].device == device) {
            last_launch = last_launch.max(self.launched_at(work));
            let done = &mut done[work.stream as usize];
            *done = (*done).max(work.end);
        }
        let first = self.hidden_launches(device, last_launch, i64::MAX).next().map(|silent| silent.ts);
        let first_done = done.into_iter().filter(|done| *done != i64::MIN).min();
        let launched = first.zip(first_done).map_or(i64::MAX, |(launched, done)| launched.max(done));
        let open = self.unfinished_spans[device as usize].last().filter(|(_, end)| *end == i64::MAX);
        open.map_or(launched, |(start, _)| launched.min(*start))
    }

    /// Whether kernels whose end is missing may have run on `device` in `span`.
    pub fn may_have_been_unfinished(&self, device: u32, (from, to): Span) -> bool {
        let spans = self.unfinished_spans.get(device as usize).map_or(&[][..], Vec::as_slice);
        let at = spans.partition_point(|(_, end)| *end <= from);
        spans.get(at).is_some_and(|(start, _)| *start < to)
    }

    /// Whether unrecorded kernels may have run on `device` before `end`, after everything that was recorded on their stream.
    pub fn may_have_worked_before(&self, device: u32, end: i64) -> bool {
        self.unknown_from.get(device as usize).is_some_and(|from| end > *from)
    }

    /// Start of the launch of a kernel or copy; its own start where the launch isn't recorded or the clocks disagree.
    fn launched_at(&self, work: &Work) -> i64 {
        match work.launch {
            NONE => work.start,
            launch => self.trace.slices.ts[launch as usize].min(work.start),
        }
    }

    /// Graph captures of each program: from the call that begins a capture to the one that ends it, and annotations that mark
    /// captures.
    fn captures(&self) -> Vec<(HostId, Span)> {
        let (trace, slices) = (self.trace, &self.trace.slices);
        let host_of = |slice: usize| {
            let (process, _) = self.thread_of(slice)?;
            self.hosts.iter().position(|host| *host == process).map(|host| host as HostId)
        };
        let mut marks: HashMap<StringId, Option<Mark>> = HashMap::default();
        let mut captures: Vec<(HostId, Span)> = Vec::new();
        let mut open: Vec<(HostId, i64)> = Vec::new();
        for i in 0..slices.len() {
            let kind = self.kinds.get(slices.category[i]);
            if !matches!(kind, Kind::Call | Kind::Annotation) {
                continue;
            }
            let name = slices.name[i];
            let mark = *marks.entry(name).or_insert_with(|| Mark::of(kind, trace.strings.get_opt(name)?));
            let (Some(mark), Some(host)) = (mark, host_of(i)) else { continue };
            let (ts, end) = (slices.ts[i], self.end_of(i as u32));
            match mark {
                Mark::Begin => open.push((host, ts)),
                Mark::End => {
                    if let Some(at) = open.iter().rposition(|(of, _)| *of == host) {
                        captures.push((host, (open.remove(at).1, end)));
                    }
                }
                Mark::Range => captures.push((host, (ts, end))),
            }
        }
        captures.extend(open.into_iter().map(|(host, from)| (host, (from, i64::MAX))));
        captures
    }

    /// Whether anything ran on a GPU that the trace does not show.
    pub fn hides_work(&self) -> bool {
        !self.unfinished.is_empty() || self.silent.iter().any(Silent::hides_work)
    }

    /// Launches without a device record that may have run on `device`, called from `from` to `to` (nanoseconds, inclusive).
    pub fn hidden_launches(&self, device: u32, from: i64, to: i64) -> impl Iterator<Item = &Silent> {
        let driver = self.driver_of_device(device);
        let start = self.silent.partition_point(|silent| silent.ts < from);
        let within = self.silent[start..].iter().take_while(move |silent| silent.ts <= to);
        within.filter(move |silent| {
            silent.hides_work() && (driver == Driver::Unknown || driver == Driver::One(silent.host))
        })
    }

    /// Whether unrecorded kernels may have run between two kernels of a device: there is a launch without a device record between
    /// their launches, and kernels run in launch order; or it comes after all recorded ones, and another stream was done before; or a
    /// kernel without an end began before.
    pub fn may_have_worked(&self, device: u32, previous: &Work, next: &Work) -> bool {
        if self.may_have_been_unfinished(device, (previous.end, next.start)) {
            return true;
        }
        if self.silent.is_empty() {
            return false;
        }
        let (from, to) = (self.launched_at(previous), self.launched_at(next));
        self.may_have_worked_before(device, next.start)
            || self.hidden_launches(device, from, to).next().is_some()
    }

    fn driver_of(&self, work: &Work) -> Driver {
        self.driver_of_device(self.streams[work.stream as usize].device)
    }

    /// Host program of a device.
    pub fn driver_of_device(&self, device: u32) -> Driver {
        self.drivers.get(device as usize).copied().unwrap_or(Driver::Unknown)
    }

    /// The program whose External ids the kernels of a driver have; `None` if unknown. Where only one program made calls, kernels may
    /// still be of another one, whose calls are missing.
    fn program_of(&self, driver: Driver) -> Option<ProcessId> {
        match driver {
            Driver::One(host) if self.hosts.len() > 1 => self.hosts.get(usize::from(host)).copied(),
            _ => None,
        }
    }

    /// The operator of each External id of kernels without a recorded launch, by program: the operator that states the id, or else
    /// the one around a call that does. Under an unknown program, of all programs. `None` if several operators have the id.
    fn ops_by_external_id(&self) -> HashMap<(Option<ProcessId>, i64), Option<u32>> {
        let (trace, links) = (self.trace, &self.trace.links);
        let mut near = 0;
        let mut wanted: HashSet<i64> = HashSet::default();
        for work in &self.work {
            // In profilers of 2022 and 2023 it is a copy of the correlation id.
            if let Some(link) = self.link_of(work)
                && link.external > 0
                && link.external != link.correlation
                && self.call_near(self.driver_of(work), link.correlation, &mut near) == Linked::No
            {
                wanted.insert(link.external);
            }
        }
        let mut ops = HashMap::default();
        if wanted.is_empty() {
            return ops;
        }
        let mut add = |process: ProcessId, external: i64, op: u32| {
            for program in [Some(process), None] {
                let known = ops.entry((program, external)).or_insert(Some(op));
                if *known != Some(op) {
                    *known = None;
                }
            }
        };
        let mut stated: HashSet<(ProcessId, i64)> = HashSet::default();
        // Nothing of these arguments is shown.
        trace.args.without_counting(|| {
            let ops =
                (0..trace.slices.len()).filter(|i| self.kinds.get(trace.slices.category[*i]) == Kind::Op);
            // Each may be a read of the file. With more, only ids of calls are known.
            let is_cheap = ops.clone().nth(MAX_STATED).is_none();
            for i in ops.filter(|_| is_cheap) {
                if let Some(external) = self.stated_external_id(i)
                    && wanted.contains(&external)
                    && let Some(process) = self.process_of(i)
                {
                    stated.insert((process, external));
                    add(process, external, i as u32);
                }
            }
        });
        for call in &self.calls {
            let row = links.find(trace.slices.offset(call.slice as usize), 0);
            let external = row.map_or(LinkTable::NONE, |row| links.external(row));
            if external != call.correlation
                && wanted.contains(&external)
                && let Some(process) = self.hosts.get(usize::from(call.host)).copied()
                && !stated.contains(&(process, external))
                && let Some(op) = self.op_of(call.slice)
            {
                add(process, external, op);
            }
        }
        ops
    }

    /// The External id in the arguments of an operator.
    fn stated_external_id(&self, slice: usize) -> Option<i64> {
        let raw = self.trace.args.get(self.trace.slices.args_of(slice))?;
        let mut id = None;
        for_each_member(&raw, |key, value| {
            if matches!(key.bytes, b"External id" | b"external id") {
                id = Number::as_i64_or_text(value);
            }
        });
        id
    }

    /// Assigns steps that devices recorded themselves (XProf).
    fn steps_of_devices(&self, work: &mut [Work]) {
        for work in work {
            let device = self.streams[work.stream as usize].device;
            let process = self.devices[device as usize].process;
            if self.steps.has_device(process) {
                work.step = self.steps.at(work.start, Some(process), None);
            }
        }
    }

    /// Assigns steps to kernels without a recorded call that lie in a step annotation on the GPU.
    fn steps_of_annotations(&self, work: &mut [Work]) {
        if self.steps.is_empty() || !self.kinds.has(|kind| kind == Kind::GpuAnnotation) {
            return;
        }
        if work.iter().all(|work| work.step != NO_STEP) {
            return;
        }
        let trace = self.trace;
        let slices = &trace.slices;
        let mut by_id: HashMap<(StringId, i64), u32> = HashMap::default();
        for (i, step) in self.steps.steps.iter().enumerate() {
            by_id.insert((step.name, self.external_of(step.slice)), i as u32);
        }
        // Annotations of each stream, in order of start.
        let mut ranges: HashMap<u32, Vec<(Span, u32)>> = HashMap::default();
        let streams: HashMap<crate::trace::tracks::TrackId, u32> =
            work.iter().map(|work| (slices.track[work.slice as usize], work.stream)).collect();
        for i in 0..slices.len() {
            if self.kinds.get(slices.category[i]) != Kind::GpuAnnotation {
                continue;
            }
            let name = slices.name[i];
            let step = by_id.get(&(name, self.external_of(i as u32)));
            if let (Some(step), Some(stream)) = (step, streams.get(&slices.track[i])) {
                let span = (slices.ts[i], slices.ts[i].saturating_add(slices.dur.get(i).max(0)));
                ranges.entry(*stream).or_default().push((span, *step));
            }
        }
        for work in work.iter_mut().filter(|work| work.step == NO_STEP && work.launch == NONE) {
            let Some(ranges) = ranges.get(&work.stream) else { continue };
            let behind = ranges.partition_point(|((start, _), _)| *start <= work.start);
            if let Some(((_, end), step)) = ranges[..behind].last()
                && work.end <= *end
            {
                work.step = *step;
            }
        }
    }

    fn external_of(&self, slice: u32) -> i64 {
        let links = &self.trace.links;
        links
            .find(self.trace.slices.offset(slice as usize), 0)
            .map_or(LinkTable::NONE, |row| links.external(row))
    }

    fn find_vendor(&self) -> Vendor {
        let slices = &self.trace.slices;
        let name = |slice: u32| self.trace.strings.get(slices.name[slice as usize]);
        let calls = self.calls.iter().take(1000).map(|call| name(call.slice));
        let kernels = self.work.iter().take(1000).map(|work| name(work.slice));
        self.facts.vendor(calls, kernels)
    }

    /// Link data from the arguments of a kernel or copy.
    pub fn link_of(&self, work: &Work) -> Option<Link> {
        (work.link != NONE).then(|| self.trace.links.get(work.link as usize))
    }

    /// The call of a correlation id, for an event on a device.
    pub fn call(&self, device: Option<u32>, correlation: i64) -> Option<u32> {
        let driver = device.map_or(Driver::Unknown, |device| self.driver_of_device(device));
        match self.call_near(driver, correlation, &mut 0) {
            Linked::To(call) => Some(call),
            Linked::No | Linked::OfProcesses | Linked::OfOne => None,
        }
    }

    /// The call of a correlation id. `near` is the index of the last hit, as kernels mostly run in launch order.
    fn call_near(&self, driver: Driver, correlation: i64, near: &mut usize) -> Linked {
        if correlation == LinkTable::NONE || correlation == 0 {
            return Linked::No;
        }
        if self.hosts.len() > 1 {
            let mut calls = self.calls_of(correlation).iter();
            let own = match driver {
                Driver::One(host) => calls.find(|call| call.host == host),
                Driver::Unknown => calls.next(),
            };
            return match (own, driver) {
                (None, _) => Linked::No,
                (Some(_), Driver::Unknown) if calls.next().is_some() => Linked::OfProcesses,
                (Some(own), _) => Linked::of(own),
            };
        }
        let next = self.calls.get(*near..).unwrap_or_default().iter().take(CALLS_NEAR);
        let ahead = next.take_while(|call| call.correlation <= correlation).count();
        *near = match ahead {
            1.. if self.calls[*near + ahead - 1].correlation == correlation => *near + ahead - 1,
            _ => match self.calls.binary_search_by_key(&correlation, |call| call.correlation) {
                Ok(at) => at,
                Err(_) => return Linked::No,
            },
        };
        Linked::of(&self.calls[*near])
    }

    /// The kind of a slice. Ranges of `emit_nvtx` are operators.
    #[inline]
    pub fn kind_of(&self, slice: usize) -> Kind {
        let slices = &self.trace.slices;
        match self.kinds.get(slices.category[slice]) {
            Kind::Annotation if self.operator_ranges.is_operator(slices.name[slice]) => Kind::Op,
            kind => kind,
        }
    }

    /// The name by which reports group a slice: that of all slices of an operator or annotation of `emit_nvtx`, otherwise its own.
    #[inline]
    pub fn group_name(&self, slice: usize) -> StringId {
        let name = self.trace.slices.name[slice];
        self.operator_ranges.first_of(name).unwrap_or(name)
    }

    /// The innermost slice around `slice` on its thread that satisfies `is`, excluding `slice` itself.
    pub fn around(&self, slice: u32, is: impl Fn(usize, Kind) -> bool) -> Option<u32> {
        let mut at = self.parent_of(slice);
        while let Some(outer) = at {
            if is(outer as usize, self.kind_of(outer as usize)) {
                return Some(outer);
            }
            at = self.parent_of(outer);
        }
        None
    }

    /// The slice directly around `slice`: on its thread, or on the one that made it if it is a call on a track of its own.
    pub fn parent_of(&self, slice: u32) -> Option<u32> {
        let parent = self.trace.slices.parent.get(slice as usize)?.some().map(|SliceId(parent)| parent);
        parent.or_else(|| self.around_calls.get(&slice).copied())
    }

    /// Time that a slice took itself, in nanoseconds: also without the calls in it that are on tracks of their own.
    pub fn self_ns(&self, slice: usize) -> i64 {
        let beside = self.time_beside.get(&(slice as u32)).copied().unwrap_or(0);
        self.trace.slices.self_ns.get(slice).saturating_sub(beside).max(0)
    }

    /// The innermost operator around a call.
    pub fn op_of(&self, call: u32) -> Option<u32> {
        self.around(call, |_, kind| kind == Kind::Op)
    }

    /// The innermost Python frame around a call.
    pub fn frame_of(&self, call: u32) -> Option<u32> {
        self.around(call, |_, kind| kind == Kind::Python)
    }

    /// The innermost module (`nn.Module: …`) around a call.
    pub fn module_of(&self, call: u32) -> Option<u32> {
        self.around(call, |i, kind| kind == Kind::Python && self.name(i as u32).starts_with("nn.Module: "))
    }

    /// Whether a kernel or copy is of no step. That is unknown where its launch and operator are, unless the device recorded its
    /// steps itself.
    pub fn is_outside_steps(&self, work: &Work) -> bool {
        let device = self.streams[work.stream as usize].device;
        let is_known = work.launch != NONE
            || work.op != NONE
            || self.steps.has_device(self.devices[device as usize].process);
        work.step == NO_STEP && is_known
    }

    /// Number of kernels and copies that may be of a step or not: nothing says so.
    pub fn n_of_unknown_step(&self) -> u64 {
        let is_unknown =
            |work: &&Work| work.step == NO_STEP && !self.is_outside_steps(work) && !self.is_migration(work);
        self.work.iter().filter(is_unknown).count() as u64
    }

    /// Whether the copies of annotations on GPUs mark steps.
    pub fn has_steps_on_gpu(&self) -> bool {
        let slices = &self.trace.slices;
        let is_on_gpu = |i: &usize| self.kinds.get(slices.category[*i]) == Kind::GpuAnnotation;
        let names: HashSet<StringId> = (0..slices.len()).filter(is_on_gpu).map(|i| slices.name[i]).collect();
        let text = |name: &StringId| self.trace.strings.get_opt(*name);
        names.iter().filter_map(text).any(|name| Annotation::parse(name, self.classes.phases()).is_some())
    }

    /// The step in which a call was made, on any thread of its process.
    fn step_of(&self, call: u32) -> u32 {
        if self.steps.is_empty() {
            return NO_STEP;
        }
        let process = self.thread_of(call as usize).map(|(process, _)| process);
        let slices = &self.trace.slices;
        self.steps.at(slices.ts[call as usize], process, Some(slices.track[call as usize]))
    }

    /// End of a slice, in nanoseconds on the trace's clock.
    pub fn end_of(&self, slice: u32) -> i64 {
        let slices = &self.trace.slices;
        slices.ts[slice as usize].saturating_add(slices.dur.get(slice as usize).max(0))
    }

    /// Name of a slice as in [`GpuTrace::group_text`]; empty if it has none.
    pub fn name(&self, slice: u32) -> &'a str {
        self.group_text(self.trace.slices.name[slice as usize]).unwrap_or("")
    }

    /// Text of a name, without the arguments of operators and annotations of `emit_nvtx`.
    pub fn group_text(&self, name: StringId) -> Option<&'a str> {
        let text = self.trace.strings.get_opt(name)?;
        let operator = self.operator_ranges.first_of(name).and_then(|_| emit_nvtx::operator(text));
        Some(operator.unwrap_or(text))
    }

    /// Shapes of the inputs of an operator of `emit_nvtx`, as JSON like the `Input Dims` of Kineto; `None` for other slices, and if
    /// they were not recorded.
    pub fn sizes_of(&self, slice: u32) -> Option<&'a str> {
        let name = self.trace.slices.name[slice as usize];
        self.operator_ranges.first_of(name)?;
        emit_nvtx::sizes(self.trace.strings.get_opt(name)?)
    }

    /// A name as shown in reports: as in [`GpuTrace::group_text`], and demangled for kernels.
    pub fn shown_name(&self, name: StringId) -> Option<&str> {
        self.classes.demangled(name).or_else(|| self.group_text(name))
    }

    /// The class of a kernel, copy or fill.
    pub fn class(&self, work: &Work) -> &Class {
        self.classes.get(work.class)
    }

    /// A step by index.
    pub fn step(&self, number: u32) -> Option<&Step> {
        self.steps.steps.get(number as usize)
    }

    /// Names of ranges that say when something was done, but not what: see [`steps::wrappers`].
    pub fn wrappers(&self) -> HashSet<StringId> {
        steps::wrappers(self.trace, &self.kinds, self.classes.phases())
    }

    /// The annotation of a step.
    pub fn annotation(&self, number: u32) -> Option<&Annotation> {
        self.step(number).map(|step| &step.what)
    }

    /// Whether a call launches a graph.
    pub fn is_graph_launch(&self, call: u32) -> bool {
        self.graph_launches.contains(&self.trace.slices.name[call as usize])
    }

    /// Name of a device.
    pub fn device_label(&self, device: u32) -> String {
        let label = |device: &Device| gpu_label(self.trace, device.process);
        let Some(own) = self.devices.get(device as usize) else { return "GPU".to_string() };
        let text = label(own);
        // Devices with equal names are numbered.
        let alike = |other: &&Device| label(other) == text;
        match self.devices.iter().filter(alike).count() {
            0 | 1 => text,
            _ => format!("{text} #{}", self.devices[..device as usize].iter().filter(alike).count() + 1),
        }
    }

    /// Name of a stream.
    pub fn stream_label(&self, stream: u32) -> String {
        match self.streams.get(stream as usize) {
            Some(Stream { number: Some(number), alike: ..=1, .. }) => number.to_string(),
            Some(Stream { number: Some(number), alike, .. }) => format!("{number} #{alike}"),
            _ => "?".to_string(),
        }
    }

    /// Name of a stream with its device: `GPU 1, stream 7`.
    pub fn stream_of_device_label(&self, stream: u32) -> String {
        let device = self.streams.get(stream as usize).map_or(u32::MAX, |stream| stream.device);
        format!("{}, stream {}", self.device_label(device), self.stream_label(stream))
    }

    /// Whether times are so far apart or so long that sums may saturate.
    pub fn has_impossible_times(&self) -> bool {
        let of_work: i128 = self.work.iter().map(|work| i128::from(work.dur())).sum();
        let of_trace =
            self.trace.extent().map_or(0, |(start, end)| i128::from(end).saturating_sub(i128::from(start)));
        // Sums cover several streams and devices.
        of_work.max(of_trace) > i128::from(i64::MAX / 8)
    }

    /// Busy time of kernels and copies of a device that satisfy `is`, as disjoint spans.
    pub fn busy(&self, device: u32, is: impl Fn(&Work) -> bool) -> Vec<Span> {
        let of_device = |work: &&Work| self.streams[work.stream as usize].device == device;
        spans::union(
            self.work.iter().filter(of_device).filter(|work| is(work)).map(|work| (work.start, work.end)),
        )
    }

    /// Whether it communicates with other GPUs.
    pub fn is_communication(&self, work: &Work) -> bool {
        self.class(work).is_communication
    }

    /// Whether it migrates pages of unified memory: the driver does so when they are accessed, so no call launches it.
    pub fn is_migration(&self, work: &Work) -> bool {
        work.launch == NONE && work.kind == Kind::Copy && is_migration(self.name(work.slice))
    }

    /// Whether it is a copy, by a copy engine or as a runtime kernel.
    pub fn is_copy(&self, work: &Work) -> bool {
        is_copy(work.kind, self.class(work))
    }
}

/// Marker of a graph capture.
#[derive(Clone, Copy)]
enum Mark {
    Begin,
    End,
    /// The capture spans the slice.
    Range,
}

impl Mark {
    fn of(kind: Kind, name: &str) -> Option<Mark> {
        match kind {
            Kind::Call if name.contains("StreamBeginCapture") => Some(Mark::Begin),
            Kind::Call if name.contains("StreamEndCapture") => Some(Mark::End),
            Kind::Annotation if super::annotation::is_capture(name) => Some(Mark::Range),
            _ => None,
        }
    }
}

/// Result of looking up a correlation id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Linked {
    /// No such call.
    No,
    To(u32),
    /// Calls of several processes match.
    OfProcesses,
    /// Several calls of one process match.
    OfOne,
}

impl Linked {
    fn of(call: &Call) -> Linked {
        if call.is_ambiguous { Linked::OfOne } else { Linked::To(call.slice) }
    }
}

/// Whether a copy of this name migrates pages of unified memory.
pub fn is_migration(name: &str) -> bool {
    name.starts_with("Memcpy Unified ")
}

/// See [`GpuTrace::is_copy`].
pub fn is_copy(kind: Kind, class: &Class) -> bool {
    kind == Kind::Copy || (kind == Kind::Kernel && class.is_copy)
}

/// 7 and 1 of `stream 7`, as old profilers name the thread, and 7 and 2 of `stream 7 #2` or `stream 7 waits #2`, the stream of that
/// number of a second program: see [`Stream`].
pub fn stream_number(trace: &Trace, key: Key) -> (Option<i64>, u32) {
    match key {
        Key::Number(number) => (Some(number), 1),
        Key::Text(id) => {
            let text = trace.strings.get(id).trim();
            let Some(rest) = text.strip_prefix("stream ").map(str::trim) else { return (None, 1) };
            let (number, alike) = match rest.rsplit_once(" #") {
                Some((number, alike)) => (number, alike.parse().unwrap_or(1)),
                None => (rest, 1),
            };
            (number.parse().ok(), alike)
        }
        Key::Digits(_) => (None, 1),
    }
}

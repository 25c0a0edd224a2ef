//! Which tracks a run has, in the order in which they are shown.
//!
//! ```text
//! part 0: slices of the first trace   → a track per thread, async name, kind of instant
//! part 1: its forward passes          → a track per view
//! part 2: its samples                 → a track per thread
//! part 3: slices of the second trace …
//! ```
//! Tracks that belong together stay together: processes by their sort index and then as in the file, and in a process the busiest
//! thread first. A thread's overlapping slices are further rows of its track.

use super::answers::{TrackSort, TrackView, color_of};
use super::arguments::LastArgumentSearch;
use super::boxes::{BoxTable, Boxes, SliceBoxes};
use super::index::TimelineIndex;
use super::load::work_slices;
use super::sampled::{self, SampledThread};
use super::search::LastSearch;
use crate::base::hash::{HashMap, HashSet};
use crate::base::sort;
use crate::base::steps;
use crate::base::strings::StringId;
use crate::trace::labels::{gpu_label, process_title, shown, thread_title};
use crate::trace::tracks::{Place, ProcessId, ThreadId, TrackKind};
use crate::trace::{Run, Trace};

/// Boxes of one kind of a trace.
pub struct Part {
    /// Number of its trace.
    pub trace: usize,
    /// `None` for the slices of the trace.
    pub own: Option<Boxes>,
    pub index: TimelineIndex,
    /// By row of the index: its track, and its row there.
    pub shown_at: Vec<(u32, u32)>,
}

/// One track.
pub struct Track {
    pub view: TrackView,
    pub content: Content,
}

/// What a track draws.
pub enum Content {
    /// Rows of a part's index, from the top.
    Rows { part: usize, rows: Vec<usize> },
    /// Points of a counter by time: nanoseconds from the start of the timeline, and the value from then on.
    Counter { points: Vec<(u64, f64)> },
}

/// The time axis of a run.
pub(super) struct Clock {
    /// By trace: the time on its clock at which the timeline starts.
    pub(super) starts: Vec<i64>,
    pub(super) span_ns: u64,
    pub(super) is_each_from_zero: bool,
}

impl Clock {
    /// `None` if nothing has a time.
    pub(super) fn of(run: &Run) -> Option<Clock> {
        let spans: Vec<Option<(i64, i64)>> = run.traces.iter().map(span_of).collect();
        let known = || spans.iter().flatten().copied();
        let first = known().map(|span| span.0).min()?;
        let last = known().map(|span| span.1).max()?;
        // Recordings of one run overlap; those of other clocks rarely do.
        let latest_start = known().map(|span| span.0).max()?;
        let earliest_end = known().map(|span| span.1).min()?;
        let is_each_from_zero = latest_start > earliest_end;
        let starts = match is_each_from_zero {
            true => spans.iter().map(|span| span.map_or(0, |span| span.0)).collect(),
            false => vec![first; spans.len()],
        };
        let longest = known().map(|(start, end)| end.wrapping_sub(start) as u64).max()?;
        let span_ns = if is_each_from_zero { longest } else { last.wrapping_sub(first) as u64 };
        Some(Clock { starts, span_ns: span_ns.max(1), is_each_from_zero })
    }
}

/// Lanes of many things beside each other, such as regions of memory, up to which they are all in view at first.
const MAX_OPEN_LANES: usize = 8;

/// All tracks of a run.
pub struct Timeline {
    pub parts: Vec<Part>,
    pub tracks: Vec<Track>,
    /// By trace: the time on its clock at which the timeline starts.
    pub starts: Vec<i64>,
    pub span_ns: u64,
    /// The time that busy shares are of: less than all where only a part of the trace was read.
    busy_span_ns: u64,
    /// The traces have no clock in common, so each starts at 0.
    pub is_each_from_zero: bool,
    pub is_partial: bool,
    /// By trace and text: its color.
    colors: Vec<Vec<u8>>,
    pub(super) last_search: LastSearch,
    pub(super) last_argument_search: LastArgumentSearch,
}

impl Timeline {
    /// The timeline of a run; `None` if nothing in it has a time.
    pub async fn in_steps(run: &Run) -> Option<Timeline> {
        let clock = Clock::of(run)?;
        let mut timeline = Timeline {
            parts: Vec::new(),
            tracks: Vec::new(),
            starts: clock.starts,
            span_ns: clock.span_ns,
            busy_span_ns: parts_ns(run).unwrap_or(clock.span_ns).max(1),
            is_each_from_zero: clock.is_each_from_zero,
            is_partial: run.traces.iter().any(|trace| trace.aggregated.is_some()),
            colors: run.traces.iter().map(colors_of).collect(),
            last_search: LastSearch::default(),
            last_argument_search: LastArgumentSearch::default(),
        };
        for (number, trace) in run.traces.iter().enumerate() {
            let file = (run.traces.len() > 1).then_some(trace.source.file_name.as_str());
            let process = |slice: usize| trace.tracks.process_of(trace.slices.track[slice], &trace.threads);
            let gpus = work_slices(trace).filter_map(process).collect();
            let groups = GroupNames { trace, file, gpus };
            timeline.add_slices(number, trace, &groups).await;
            timeline.add_own(number, &groups, calls(trace), TrackSort::Calls).await;
            for threads in [sampled::of_samples(trace), sampled::of_profiles(trace)] {
                let stacks = stacks(trace, threads).await;
                timeline.add_own(number, &groups, stacks, TrackSort::Stacks).await;
            }
            timeline.add_counters(number, trace, &groups);
            steps::pause().await;
        }
        if timeline.tracks.is_empty() {
            return None;
        }
        Some(timeline)
    }

    /// Color of a text of a trace, from 1.
    #[inline]
    pub fn color(&self, trace: usize, name: StringId) -> u8 {
        self.colors[trace].get(name.0 as usize).copied().unwrap_or(1)
    }

    /// Start of a part's boxes, in nanoseconds from the start of the timeline.
    pub fn from_start(&self, part: &Part, on_clock: i64) -> u64 {
        on_clock.wrapping_sub(self.starts[part.trace]) as u64
    }

    async fn add_slices(&mut self, number: usize, trace: &Trace, groups: &GroupNames<'_>) {
        if trace.slices.is_empty() {
            return;
        }
        let index = TimelineIndex::in_steps(SliceBoxes::new(trace), self.starts[number]).await;
        // Rows that one track shows: those of a thread, of a name of async slices in a process, of instants.
        let mut rows_of: Vec<(Shown, Vec<usize>)> = Vec::new();
        let mut at: HashMap<Shown, usize> = HashMap::default();
        for (row, it) in index.rows.iter().enumerate() {
            let shown = Shown::of(trace, it.track);
            let place = *at.entry(shown).or_insert_with(|| {
                rows_of.push((shown, Vec::new()));
                rows_of.len() - 1
            });
            rows_of[place].1.push(row);
        }
        let work_ns = work_ns(trace);
        let mut tracks: Vec<(Option<ProcessId>, Order, Track)> = Vec::new();
        let mut with_devices: HashSet<Option<ProcessId>> = HashSet::default();
        for (number_in_file, (shown, mut rows)) in rows_of.into_iter().enumerate() {
            // A thread's own slices, then its overlapping ones, then its states.
            sort::by_key(&mut rows, |row| {
                (index.rows[*row].track, index.rows[*row].depth, index.rows[*row].lane)
            });
            let process = shown.process(trace);
            let is_device = work_ns.contains_key(&shown);
            let view = TrackView {
                group: groups.of(process),
                title: shown.title(trace),
                sort: shown.sort(trace),
                is_device,
                is_folded: trace.joins_namesakes && rows.len() > MAX_OPEN_LANES,
                ..self.of_rows(&index, &rows)
            };
            let view = match work_ns.get(&shown) {
                // Annotations around kernels are no work.
                Some((_, ns)) => TrackView { busy: self.busy_share(*ns), ..view },
                None => view,
            };
            let busy = view.busy;
            if is_device {
                with_devices.insert(process);
            }
            let order = Order {
                has_no_device: true,
                is_no_device: !is_device,
                process: process.map_or((i64::MIN, 0), |process| {
                    let sort_index = trace.processes.sort_index.get(process.0 as usize).copied().flatten();
                    (i64::from(sort_index.unwrap_or(0)), process.0)
                }),
                thread: shown.sort_index(trace),
                idle: (busy * -1e9) as i64,
                number: number_in_file,
            };
            let track = Track { view, content: Content::Rows { part: self.parts.len(), rows } };
            tracks.push((process, order, track));
        }
        for (process, order, _) in &mut tracks {
            // What is of no process stays at the top.
            order.has_no_device = process.is_some() && !with_devices.contains(process);
        }
        sort::by_key(&mut tracks, |(_, order, _)| *order);
        let tracks = tracks.into_iter().map(|(.., track)| track).collect();
        self.add_part(number, None, index, tracks);
    }

    async fn add_own(&mut self, number: usize, groups: &GroupNames<'_>, own: Option<Own>, sort: TrackSort) {
        let Some((boxes, titles)) = own else { return };
        let index = TimelineIndex::in_steps(&boxes, self.starts[number]).await;
        let mut tracks = Vec::new();
        for (track, (process, title)) in titles.into_iter().enumerate() {
            let rows: Vec<usize> = index.rows_of(track as u32).collect();
            let view = TrackView { group: groups.of(process), title, sort, ..self.of_rows(&index, &rows) };
            tracks.push(Track { view, content: Content::Rows { part: self.parts.len(), rows } });
        }
        sort::by(&mut tracks, |a, b| b.view.busy.total_cmp(&a.view.busy));
        self.add_part(number, Some(boxes), index, tracks);
    }

    /// What rows of a track say of it.
    fn of_rows(&self, index: &TimelineIndex, rows: &[usize]) -> TrackView {
        let sums = |row: &usize| index.sums[*row];
        let busiest = rows.iter().map(|row| sums(row).covered_ns).max().unwrap_or(0);
        TrackView {
            group: String::new(),
            title: String::new(),
            sort: TrackSort::Thread,
            is_device: false,
            is_folded: false,
            n_rows: rows.len() as u32,
            n_boxes: rows.iter().map(|row| u64::from(sums(row).n)).sum(),
            busy: self.busy_share(busiest),
            max: 0.0,
        }
    }

    fn busy_share(&self, ns: u64) -> f64 {
        (ns as f64 / self.busy_span_ns as f64).min(1.0)
    }

    fn add_part(&mut self, trace: usize, own: Option<Boxes>, index: TimelineIndex, tracks: Vec<Track>) {
        let mut shown_at = vec![(0, 0); index.rows.len()];
        for (track, number) in tracks.iter().zip(self.tracks.len() as u32..) {
            if let Content::Rows { rows, .. } = &track.content {
                rows.iter().zip(0..).for_each(|(row, at)| shown_at[*row] = (number, at));
            }
        }
        self.parts.push(Part { trace, own, index, shown_at });
        self.tracks.extend(tracks);
    }

    fn add_counters(&mut self, number: usize, trace: &Trace, groups: &GroupNames<'_>) {
        let mut points: Vec<Vec<(u64, f64)>> = vec![Vec::new(); trace.counter_series.len()];
        let counters = &trace.counters;
        for ((ts, series), value) in counters.ts.iter().zip(&counters.series).zip(&counters.value) {
            if let Some(points) = points.get_mut(*series as usize).filter(|_| value.is_finite()) {
                points.push((ts.wrapping_sub(self.starts[number]) as u64, *value));
            }
        }
        for (series, points) in points.into_iter().enumerate().filter(|(_, points)| !points.is_empty()) {
            let table = &trace.counter_series;
            let text = |id: StringId| trace.strings.get_opt(id).filter(|text| !text.is_empty());
            let (name, key) = (text(table.name[series]), text(table.key[series]));
            let title = match (name, key) {
                (Some(name), Some(key)) if name != key => format!("{name}: {key}"),
                (name, key) => name.or(key).unwrap_or("counter").to_string(),
            };
            let view = TrackView {
                group: groups.of(table.process.get(series).copied()),
                title,
                sort: TrackSort::Counter,
                is_device: false,
                is_folded: false,
                n_rows: 1,
                n_boxes: points.len() as u64,
                busy: 0.0,
                max: points.iter().map(|point| point.1).fold(0.0, f64::max),
            };
            self.tracks.push(Track { view, content: Content::Counter { points } });
        }
    }
}

impl Part {
    /// Start and end of a box on the trace's clock.
    pub fn span(&self, trace: &Trace, id: usize) -> (i64, i64) {
        match &self.own {
            Some(boxes) => (boxes.start(id), boxes.end(id)),
            None => {
                let boxes = SliceBoxes::new(trace);
                (boxes.start(id), boxes.end(id))
            }
        }
    }

    /// Length of a box in nanoseconds, also where its end is beyond the last time there is.
    pub fn length(&self, trace: &Trace, id: usize) -> u64 {
        let length = match &self.own {
            Some(boxes) => boxes.length(id),
            None => SliceBoxes::new(trace).length(id),
        };
        length.max(0) as u64
    }

    pub fn len(&self, trace: &Trace) -> usize {
        self.own.as_ref().map_or(trace.slices.len(), |boxes| boxes.start.len())
    }

    pub fn name(&self, trace: &Trace, id: usize) -> StringId {
        self.own.as_ref().map_or_else(|| trace.slices.name[id], |boxes| boxes.name[id])
    }

    /// By box.
    pub fn names<'a>(&'a self, trace: &'a Trace) -> &'a [StringId] {
        self.own.as_ref().map_or(&trace.slices.name, |boxes| &boxes.name)
    }

    /// By box; none has one that is no slice.
    pub fn categories<'a>(&self, trace: &'a Trace) -> &'a [StringId] {
        if self.own.is_some() { &[] } else { &trace.slices.category }
    }

    /// Row of a box in the index.
    pub fn row_of(&self, trace: &Trace, id: usize) -> usize {
        match &self.own {
            Some(boxes) => self.index.row_of(boxes, id),
            None => self.index.row_of(SliceBoxes::new(trace), id),
        }
    }
}

/// Order of tracks in a trace. Devices come first: their tracks are flat and what most people look for, while threads above them may
/// be deeper than a screen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    has_no_device: bool,
    process: (i64, u32),
    is_no_device: bool,
    thread: i64,
    idle: i64,
    number: usize,
}

/// What a track stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Shown {
    Place(Place),
    /// Async slices of one name, in a process or anywhere.
    Async(StringId, Option<ProcessId>),
}

impl Shown {
    fn of(trace: &Trace, track: u32) -> Shown {
        let (tracks, at) = (&trace.tracks, track as usize);
        let id = crate::trace::tracks::TrackId(track);
        match tracks.kind.get(at) {
            Some(TrackKind::AsyncGlobal | TrackKind::AsyncProcess | TrackKind::AsyncLegacy) => {
                Shown::Async(tracks.name[at], tracks.process_of(id, &trace.threads))
            }
            _ => match tracks.place(id) {
                Place::Thread(thread) if trace.joins_namesakes => {
                    Shown::Place(Place::Thread(first_of_name(trace, thread)))
                }
                place => Shown::Place(place),
            },
        }
    }

    fn process(self, trace: &Trace) -> Option<ProcessId> {
        match self {
            Shown::Async(_, process) => process,
            Shown::Place(Place::Thread(thread)) => trace.threads.process.get(thread.0 as usize).copied(),
            Shown::Place(Place::Track(track)) => trace.tracks.process_of(track, &trace.threads),
        }
    }

    fn kind(self, trace: &Trace) -> Option<TrackKind> {
        match self {
            Shown::Place(Place::Track(track)) => trace.tracks.kind.get(track.0 as usize).copied(),
            _ => None,
        }
    }

    fn title(self, trace: &Trace) -> String {
        match self {
            Shown::Async(name, _) => shown(trace.strings.get_opt(name)).to_string(),
            Shown::Place(Place::Thread(thread)) if trace.joins_namesakes => {
                shown(trace.strings.get_opt(trace.threads.name[thread.0 as usize])).to_string()
            }
            Shown::Place(Place::Thread(thread)) => thread_title(trace, thread.0 as usize),
            Shown::Place(Place::Track(_)) => match self.kind(trace) {
                Some(TrackKind::GlobalInstants) => "Instants of the trace".to_string(),
                Some(TrackKind::ProcessInstants) => "Instants of the process".to_string(),
                _ => "No thread".to_string(),
            },
        }
    }

    fn sort(self, trace: &Trace) -> TrackSort {
        match self {
            Shown::Async(..) => TrackSort::Async,
            _ => match self.kind(trace) {
                Some(TrackKind::GlobalInstants | TrackKind::ProcessInstants) => TrackSort::Instants,
                _ => TrackSort::Thread,
            },
        }
    }

    fn sort_index(self, trace: &Trace) -> i64 {
        match self {
            Shown::Place(Place::Thread(thread)) => {
                let index = trace.threads.sort_index.get(thread.0 as usize).copied().flatten();
                index.map_or(0, i64::from)
            }
            // Below the threads of their process.
            _ => i64::MAX,
        }
    }
}

/// The first thread of its process with the name of `thread`.
fn first_of_name(trace: &Trace, thread: ThreadId) -> ThreadId {
    let threads = &trace.threads;
    let of = |at: usize| (threads.process[at], threads.name[at]);
    let own = of(thread.0 as usize);
    (0..thread.0).map(ThreadId).find(|other| of(other.0 as usize) == own).unwrap_or(thread)
}

/// What stands above the tracks of the processes of a trace.
pub(super) struct GroupNames<'a> {
    pub(super) trace: &'a Trace,
    /// Name of the file, if there are several.
    pub(super) file: Option<&'a str>,
    /// Processes with kernels, copies or fills.
    pub(super) gpus: HashSet<ProcessId>,
}

impl GroupNames<'_> {
    /// `GPU 0 · python3 (0)`, or `GPU 0` as in reports if it has no name, after the name of the file.
    pub(super) fn of(&self, process: Option<ProcessId>) -> String {
        let process = process.map(|process| self.of_process(process));
        match (self.file, process) {
            (Some(file), Some(process)) if !process.is_empty() => format!("{file} · {process}"),
            (Some(file), _) => file.to_string(),
            (None, process) => process.unwrap_or_default(),
        }
    }

    fn of_process(&self, process: ProcessId) -> String {
        let text = |of: &[StringId]| {
            let id = of.get(process.0 as usize)?;
            self.trace.strings.get_opt(*id).filter(|text| !text.is_empty())
        };
        let processes = &self.trace.processes;
        // What the process is, where its name does not say it: `GPU 0`.
        let labels = text(&processes.labels);
        if labels.is_none() && text(&processes.name).is_none() && self.gpus.contains(&process) {
            return gpu_label(self.trace, process);
        }
        let title = process_title(self.trace, process.0 as usize);
        match labels {
            Some(labels) if !title.contains(labels) => format!("{labels} · {title}"),
            _ => title,
        }
    }
}

/// By what is shown as one track: time at which the last kernel, copy or fill ends, and nanoseconds in which there is any.
fn work_ns(trace: &Trace) -> HashMap<Shown, (i64, u64)> {
    let boxes = SliceBoxes::new(trace);
    let mut by_track: HashMap<Shown, (i64, u64)> = HashMap::default();
    for slice in work_slices(trace) {
        let (start, end) = (boxes.start(slice), boxes.end(slice));
        let (covered_to, ns) = by_track.entry(Shown::of(trace, boxes.track(slice))).or_insert((i64::MIN, 0));
        *ns = ns.saturating_add(end.saturating_sub(start.max(*covered_to)).max(0) as u64);
        *covered_to = end.max(*covered_to);
    }
    by_track
}

/// Length of the longest part, if all traces are parts of others.
fn parts_ns(run: &Run) -> Option<u64> {
    let length = |trace: &Trace| {
        trace.part?;
        let calls = || trace.scoring_calls.span();
        let extent = trace.extent().or_else(|| sampled::span_of_profiles(trace)).or_else(calls);
        extent.map(|(start, end)| end.wrapping_sub(start) as u64)
    };
    run.traces.iter().map(length).reduce(|a, b| Some(a?.max(b?)))?
}

/// First and last time on the trace's clock, of forward passes, stack profiles and memory accesses too.
pub(super) fn span_of(trace: &Trace) -> Option<(i64, i64)> {
    // A part of a trace is on the clock of the whole.
    let events = trace.extent().and_then(|_| trace.span());
    let whole = trace.part.and_then(|part| part.whole);
    let others = sampled::span_of_profiles(trace).into_iter().chain(trace.scoring_calls.span());
    let others = others.map(|own| whole.unwrap_or(own));
    let all = events.into_iter().chain(others).chain(trace.accesses.span());
    all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Tracks of boxes that are no slices: process and title.
type Own = (Boxes, Vec<(Option<ProcessId>, String)>);

/// Forward passes and lookups, a track for each view, named after their probes.
fn calls(trace: &Trace) -> Option<Own> {
    let table = &trace.scoring_calls;
    let mut rows: Vec<(i64, i64, usize)> =
        (0..table.len()).filter_map(|row| table.span_of(row).map(|span| (span.0, span.1, row))).collect();
    rows.sort_unstable();
    let mut views: HashMap<StringId, u32> = HashMap::default();
    let (mut boxes, mut titles) = (Boxes::default(), Vec::new());
    for (start, end, row) in rows {
        let view = table.view_id[row];
        let track = *views.entry(view).or_insert_with(|| {
            titles.push((None, shown(trace.strings.get_opt(view)).to_string()));
            titles.len() as u32 - 1
        });
        let name = if table.probe[row].is_none() { table.op[row] } else { table.probe[row] };
        boxes.push(start, end.saturating_sub(start), name, (track, 0));
    }
    (!titles.is_empty()).then_some((boxes, titles))
}

/// Call stacks of threads as samples saw them.
async fn stacks(trace: &Trace, mut threads: Vec<SampledThread>) -> Option<Own> {
    if threads.is_empty() {
        return None;
    }
    let boxes = sampled::boxes(trace, &mut threads).await;
    let titles = threads.into_iter().map(|thread| (thread.process, thread.title)).collect();
    (!boxes.start.is_empty()).then_some((boxes, titles))
}

/// Colors of all texts, by number. Names that differ in digits only, such as steps, have one color.
fn colors_of(trace: &Trace) -> Vec<u8> {
    trace.strings.all().map(color_of).collect()
}

/// [`Timeline::in_steps`], at once.
pub fn of_run(run: &Run) -> Option<Timeline> {
    steps::run(Timeline::in_steps(run))
}

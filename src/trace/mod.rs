//! The data model of a trace: one file per table, each table a struct of columns.
//!
//! Readers add rows to a [`TraceBuilder`] as they are in the file. [`TraceBuilder::finish`] sorts them, pairs begins with
//! ends, computes depths and parents, and reports what it could not use in the [`Ledger`], in one place for all formats. A
//! finished [`Trace`] does not change. No table knows a file format or a view.

pub mod accesses;
pub mod activity;
pub mod aggregated;
pub mod args;
pub mod builder;
pub mod compact_columns;
pub mod counters;
pub mod cut;
pub mod emit_nvtx;
pub mod event_table;
pub mod events;
pub mod fleet;
pub mod flows;
pub mod hidden;
pub mod labels;
pub mod ledger;
pub mod links;
pub mod losses;
pub mod memory_snapshot;
pub mod merge;
pub mod objects;
pub mod profiles;
pub mod samples;
pub mod scoring_calls;
pub mod sidecar_files;
pub mod slices;
pub mod split_column;
pub mod stack_profiles;
pub mod summaries;
pub mod sums;
pub mod sweep;
pub mod tracks;
pub mod wire;

pub use builder::TraceBuilder;
pub use ledger::{IssueKind, Ledger, Position, Severity};

use crate::base::json::write;
use crate::base::strings::{StringId, StringTable};
use std::borrow::Cow;
use std::cell::OnceCell;

/// A finished trace.
#[derive(Clone, Default)]
pub struct Trace {
    pub source: SourceInfo,
    pub ledger: Ledger,
    pub strings: StringTable,
    pub processes: tracks::ProcessTable,
    pub threads: tracks::ThreadTable,
    pub tracks: tracks::TrackTable,
    /// Sorted by start time.
    pub slices: slices::SliceTable,
    pub counter_series: counters::CounterSeriesTable,
    /// Sorted by time.
    pub counters: counters::CounterTable,
    pub flows: flows::FlowTable,
    pub objects: objects::ObjectTable,
    pub frames: samples::FrameTable,
    pub stacks: samples::StackTable,
    /// Sorted by time.
    pub samples: samples::SampleTable,
    pub args: args::ArgsTable,
    /// Memory accesses, in file order.
    pub accesses: accesses::AccessTable,
    /// In file order.
    pub links: links::LinkTable,
    /// In file order.
    pub signatures: links::SignatureTable,
    /// In file order.
    pub scoring_calls: scoring_calls::ScoringCallTable,
    /// Python sampling runs, in order of first appearance.
    pub profiles: Vec<profiles::ProfileRun>,
    /// Weighted stacks, in file order.
    pub stack_profiles: Vec<stack_profiles::StackProfile>,
    /// Snapshot of a GPU memory allocator.
    pub memory_snapshot: Option<Box<memory_snapshot::MemorySnapshot>>,
    /// Part of a fleet dataset.
    pub fleet: Option<Box<fleet::FleetPart>>,
    /// Files of the run directory of the trace, including its own; empty if it is not in one.
    pub sidecar_files: Vec<sidecar_files::SidecarFile>,
    /// Content of a short companion file, which is not a trace; else empty. The format says what it is.
    pub text: Vec<u8>,
    /// Aggregates of slices that did not fit in memory. [`Trace::slices`] then has only the longest ones.
    pub aggregated: Option<Box<aggregated::Aggregated>>,
    /// Secrets hidden in the texts above.
    pub hidden: hidden::Hidden,
    /// Of a trace that was cut to a time range.
    pub part: Option<TimePart>,
    /// Threads of one name in a process are lanes of one track: of traces that are made for a timeline.
    pub joins_namesakes: bool,
    /// See [`Trace::extent`].
    extent: OnceCell<Option<(i64, i64)>>,
    /// See [`Trace::span_beside_events`].
    span_beside_events: OnceCell<Option<(i64, i64)>>,
    /// See [`Trace::slice_categories`].
    slice_categories: OnceCell<Vec<StringId>>,
}

impl Trace {
    /// First and last time of anything on the trace's clock, in nanoseconds; `None` if nothing has a time. Times are shown from
    /// this start, and slices without an end last to this end; so it is that of the whole trace, also of a part of it.
    pub fn span(&self) -> Option<(i64, i64)> {
        self.part.map_or_else(|| self.extent(), |part| part.whole)
    }

    /// The time that reports are about: [`Trace::span`], or the chosen range within it. `None` if nothing is in it.
    pub fn reported(&self) -> Option<(i64, i64)> {
        let Some(TimePart { whole, range }) = self.part else { return self.extent() };
        let (start, end) = whole?;
        let (from, to) = (start.max(range.0), end.min(range.1));
        (from <= to).then_some((from, to))
    }

    /// First and last time of what is in the tables: that of a part may be longer than its range, as slices reach into it. Computed
    /// once, so only valid for a finished trace.
    pub fn extent(&self) -> Option<(i64, i64)> {
        *self.extent.get_or_init(|| {
            let slices = &self.slices;
            let (mut start, mut end) = (i64::MAX, i64::MIN);
            for (ts, dur) in slices.ts.iter().zip(slices.dur.iter()) {
                start = start.min(*ts);
                end = end.max(ts.saturating_add(dur.max(0)));
            }
            for ts in [&self.counters.ts, &self.samples.ts, &self.objects.ts].into_iter().flatten() {
                start = start.min(*ts);
                end = end.max(*ts);
            }
            (start <= end).then_some((start, end))
        })
    }

    /// First and last time of what is no event: [`cut::span_beside_events`]. Computed once, so only valid for a finished trace.
    pub fn span_beside_events(&self) -> Option<(i64, i64)> {
        *self.span_beside_events.get_or_init(|| cut::span_beside_events(self))
    }

    /// The categories that slices have, each once, in order of their first slice. Computed once, so only valid for a finished
    /// trace: each report asks for them to find out whether it applies, and a trace may have tens of millions of slices.
    pub fn slice_categories(&self) -> &[StringId] {
        self.slice_categories.get_or_init(|| {
            let mut is_known = vec![false; self.strings.len()];
            let mut found = Vec::new();
            let mut last = StringId::NONE;
            for category in &self.slices.category {
                // Adjacent slices mostly have the same category.
                if *category == last || category.is_none() {
                    continue;
                }
                last = *category;
                if !std::mem::replace(&mut is_known[category.0 as usize], true) {
                    found.push(*category);
                }
            }
            found
        })
    }

    /// By thread: whether it only stood for another track while the file was read. It has a text for an id, no name of its own, and
    /// nothing is on it. Main threads are none unless `with_main`: Chrome traces need one for what they say of the process.
    pub fn stand_ins(&self, with_main: bool) -> Vec<bool> {
        let threads = &self.threads;
        let is_main = |thread: usize| {
            self.processes.key.get(threads.process[thread].0 as usize) == Some(&threads.key[thread])
        };
        let is_unnamed = |thread: usize| {
            matches!(threads.key[thread], tracks::Key::Text(_))
                && (threads.name[thread].is_none() || threads.overlap_of[thread].is_some())
                && (with_main || !is_main(thread))
        };
        let mut are: Vec<bool> = (0..threads.len()).map(is_unnamed).collect();
        let of_tracks = self.tracks.thread.iter().chain(&self.tracks.shown_as).flatten();
        for thread in of_tracks.chain(&self.samples.thread) {
            if let Some(it) = are.get_mut(thread.0 as usize) {
                *it = false;
            }
        }
        are
    }

    /// Whether anything has a place in time that can be drawn: slices, counters, sampled stacks, stack profiles, scoring
    /// calls or memory accesses.
    pub fn has_times(&self) -> bool {
        let has_stacks = !self.samples.is_empty() && !self.frames.is_empty();
        !self.slices.is_empty()
            || !self.counters.is_empty()
            || has_stacks
            || !self.scoring_calls.is_empty()
            || !self.accesses.is_empty()
            || self.has_timed_profiles()
    }

    /// Whether some stack profile can be drawn over time.
    fn has_timed_profiles(&self) -> bool {
        self.stack_profiles.iter().any(|it| !it.is_empty() && it.exponent_of_times(&self.strings).is_some())
    }

    /// Whether there is a flame graph to draw: slices within each other, or sampled stacks.
    pub fn has_stacks(&self) -> bool {
        let has_samples = !self.samples.is_empty() && !self.frames.is_empty();
        !self.slices.is_empty() || has_samples || !self.stack_profiles.is_empty()
    }

    /// Sets an extent known from elsewhere.
    fn set_extent(&mut self, extent: Option<(i64, i64)>) {
        self.extent = OnceCell::from(extent);
    }

    /// Clears the extent and the categories, to compute them again.
    fn forget_computed(&mut self) {
        self.extent = OnceCell::new();
        self.forget_slice_categories();
    }

    /// Whoever gives texts other ids calls this. The extent stays: that of a trace too large for memory is not in its tables.
    pub fn forget_slice_categories(&mut self) {
        self.slice_categories = OnceCell::new();
    }

    /// Appends the arguments of a slice as one strict JSON object, with those of its end merged in; nothing if it has none.
    pub fn push_slice_args(&self, slice: usize, out: &mut Vec<u8>) {
        let begin = self.args.get(self.slices.args_of(slice));
        match (begin, self.slice_end_args(slice)) {
            (None, None) => {}
            (Some(args), None) | (None, Some(args)) => write::push_value(&args, out),
            (Some(begin), Some(end)) => write::push_merged(&begin, &end, out),
        }
    }

    /// Raw arguments of the event that ended a slice.
    pub fn slice_end_args(&self, slice: usize) -> Option<Cow<'_, [u8]>> {
        let ends = &self.slices.end_args;
        let at = ends.binary_search_by_key(&(slice as u32), |(slice, _)| slice.0).ok()?;
        self.args.get(ends[at].1)
    }
}

/// A chosen time range, and the trace that it is of. Times are nanoseconds on the trace's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimePart {
    /// [`Trace::span`] of the whole trace.
    pub whole: Option<(i64, i64)>,
    /// First and last time; may reach beyond the trace.
    pub range: (i64, i64),
}

/// Facts about the file.
#[derive(Clone, Default, Debug)]
pub struct SourceInfo {
    /// Name of the file as given; not a path.
    pub file_name: String,
    /// `id` of its format.
    pub format: &'static str,
    /// Tool that wrote the file, if its content shows that, with the version where known.
    pub producer: Option<String>,
    /// Compression found around the content, outermost first: `gzip`, `zstd`.
    pub compression: Vec<&'static str>,
    /// Facts from the file's own metadata, in file order: name and text (JSON values as written).
    pub metadata: Vec<(String, String)>,
    /// Number of records by kind as the format names them (phase, record type), in a fixed order.
    pub record_kinds: Vec<(String, u64)>,
}

/// One or more traces opened together; a single file is a run of one.
#[derive(Clone, Default)]
pub struct Run {
    pub traces: Vec<Trace>,
}

impl Run {
    pub fn single(trace: Trace) -> Run {
        Run { traces: vec![trace] }
    }
}

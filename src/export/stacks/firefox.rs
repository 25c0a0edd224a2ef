//! The processed profile format of the Firefox Profiler, version 58, which later versions read and upgrade.
//!
//! One thread per track: each interval of self time becomes a sample weighted by its milliseconds, as in that format's
//! tracing profiles. Idle time becomes a sample without a stack. Instants, states and async slices become markers.
//! Times are from the start of the run with nanosecond precision; counters and flows are left out.
//! Samples of the file get separate threads, with the weights of the file; those without times are all at time 0. The format can say
//! that nothing has a time, but not that of one thread among others.

use super::{ByTrack, Out, Step, file_prefix, has_samples, has_slices, samples_by_thread, span, walk};
use super::{Place, beside_stacks, place_of_row, profile_name};
use super::{Profile, other_weights_of_units, place_of, profiles};
use crate::analysis::timeline::{process_label, shown, thread_label};
use crate::base::hash::{HashMap, HashSet};
use crate::base::sort;
use crate::base::steps::{Steps, pause};
use crate::base::strings::StringId;
use crate::base::units::counted;
use crate::export::{ExporterInfo, Input, LeftOut, TextsIn, WriteFn};
use crate::trace::profiles::ProfileRun;
use crate::trace::samples::{FrameId, StackId};
use crate::trace::slices::{Class, UNFINISHED};
use crate::trace::stack_profiles::{Amount, StackProfile, firefox_facts, nanoseconds_exponent};
use crate::trace::tracks::{ThreadId, TrackKind};
use crate::trace::{Run, Trace};
use std::io::{self, Write};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "firefox",
    title: "Firefox Profiler",
    extension: "firefox.json",
    media_type: "application/json",
    in_menu: true,
    needs: "slices with a duration, or samples",
    applies: |run| has_slices(run) || has_samples(run),
    write: WriteFn::InSteps(|input, out| {
        Steps::new(async move {
            let mut missing = write(input, out).await?.words();
            missing.append(&mut other_weights_of_units(input.run, kind_of).0);
            missing.append(&mut beside_stacks(input.run));
            Ok(LeftOut(missing))
        })
    }),
    reference: None,
    converts: None,
    texts: TextsIn::Json,
    takes_part: true,
    can_redact: true,
    takes_notes: false,
};

/// Version of the format written.
const VERSION: u32 = 58;
/// Matching version of the browser's own format.
const GECKO_VERSION: u32 = 31;

/// Colors of the format, used in rotation; grey means no category.
const COLORS: [&str; 9] =
    ["blue", "green", "orange", "purple", "yellow", "lightblue", "magenta", "brown", "lightred"];
/// Number of categories with a separate entry; later ones share the last entry.
const MAX_CATEGORIES: usize = 60;

/// Data shared by all threads.
struct Shared {
    texts: Vec<String>,
    by_text: HashMap<String, u32>,
    /// Texts of the files.
    sources: Vec<u32>,
    by_source: HashMap<u32, u32>,
    categories: Vec<String>,
    by_category: HashMap<String, u32>,
}

impl Shared {
    fn new() -> Shared {
        Shared {
            texts: Vec::new(),
            by_text: HashMap::default(),
            sources: Vec::new(),
            by_source: HashMap::default(),
            categories: vec!["Other".to_string()],
            by_category: HashMap::default(),
        }
    }

    fn text(&mut self, text: &str) -> u32 {
        if let Some(known) = self.by_text.get(text) {
            return *known;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_string());
        self.by_text.insert(text.to_string(), number);
        number
    }

    /// Number of a file.
    fn source(&mut self, file: &str) -> u32 {
        let text = self.text(file);
        let next = self.sources.len() as u32;
        let number = *self.by_source.entry(text).or_insert(next);
        if number == next {
            self.sources.push(text);
        }
        number
    }

    /// Category number; 0 means none.
    fn category(&mut self, category: Option<&str>) -> u32 {
        let Some(category) = category.filter(|category| !category.is_empty()) else { return 0 };
        if let Some(known) = self.by_category.get(category) {
            return *known;
        }
        let mut number = self.categories.len();
        if number > MAX_CATEGORIES {
            number = MAX_CATEGORIES;
        } else {
            let name = if number == MAX_CATEGORIES { "other categories" } else { category };
            self.categories.push(name.to_string());
        }
        self.by_category.insert(category.to_string(), number as u32);
        number as u32
    }
}

/// Source of a thread in the profile.
struct Entry {
    name: String,
    process_name: String,
    pid: String,
    tid: String,
    is_main: bool,
    /// Its slices become samples.
    track: Option<usize>,
    /// Tracks whose slices become markers; of [`Entry::track`], only instants do.
    marker_tracks: Vec<usize>,
}

/// A frame: its text and category, and where the code is, if that is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Frame {
    text: u32,
    category: u32,
    source: Option<u32>,
    line: Option<i64>,
    column: Option<i64>,
}

/// Stacks of one thread.
#[derive(Default)]
struct Stacks {
    frames: Vec<Frame>,
    by_frame: HashMap<Frame, u32>,
    /// Frame and parent stack.
    stacks: Vec<(u32, Option<u32>)>,
    by_stack: HashMap<(u32, Option<u32>), u32>,
}

impl Stacks {
    fn frame(&mut self, text: u32, category: u32) -> u32 {
        self.placed(Frame { text, category, source: None, line: None, column: None })
    }

    fn placed(&mut self, frame: Frame) -> u32 {
        let next = self.frames.len() as u32;
        let number = *self.by_frame.entry(frame).or_insert(next);
        if number == next {
            self.frames.push(frame);
        }
        number
    }

    fn stack(&mut self, frame: u32, around: Option<u32>) -> u32 {
        let next = self.stacks.len() as u32;
        let number = *self.by_stack.entry((frame, around)).or_insert(next);
        if number == next {
            self.stacks.push((frame, around));
        }
        number
    }
}

/// Cache of texts and categories by their numbers in one trace.
#[derive(Default)]
struct Known {
    texts: HashMap<StringId, u32>,
    categories: HashMap<StringId, u32>,
}

impl Known {
    fn text(&mut self, trace: &Trace, id: StringId, shared: &mut Shared) -> u32 {
        *self.texts.entry(id).or_insert_with(|| shared.text(shown(trace.strings.get_opt(id))))
    }

    fn category(&mut self, trace: &Trace, id: StringId, shared: &mut Shared) -> u32 {
        *self.categories.entry(id).or_insert_with(|| shared.category(trace.strings.get_opt(id)))
    }
}

/// What is known of the times of the threads written so far.
#[derive(Default)]
struct Times {
    /// Milliseconds from the start to the end.
    end: Amount,
    n_threads_with: u64,
    n_threads_without: u64,
    /// Samples without a time in threads with times.
    n_samples_without: u64,
}

impl Times {
    /// What the format cannot say about them.
    fn words(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.n_threads_with > 0 && self.n_threads_without > 0 {
            let threads = counted(self.n_threads_without, "thread, which has", "threads, which have");
            missing.push(format!("times of {threads} none (all samples at 0)"));
        }
        if self.n_samples_without > 0 {
            let samples = counted(self.n_samples_without, "sample, which has", "samples, which have");
            missing.push(format!("times of {samples} none (written with the time of the sample before)"));
        }
        missing
    }
}

async fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<Times> {
    let (run, mut out) = (input.run, Out::new(out));
    let mut shared = Shared::new();
    let mut times = Times::default();
    let (start, end) = span(run);
    // Without zeros at the end.
    times.end = Amount { digits: i128::from(end) - i128::from(start), places: 6 }.plus(Amount::ZERO);
    let mut is_first = true;
    let mut separate = |out: &mut Out<'_>| {
        out.raw(if std::mem::take(&mut is_first) { "\n" } else { ",\n" });
    };
    out.raw("{\"libs\":[],\"threads\":[");
    for (number, trace) in run.traces.iter().enumerate() {
        let by_track = ByTrack::new(trace);
        let mut known = Known::default();
        for entry in entries(run, trace, number, &by_track) {
            separate(&mut out);
            times.n_threads_with += 1;
            write_thread(run, trace, &entry, &by_track, &mut known, &mut shared, &mut out)?;
            pause().await;
        }
        for (thread, rows) in samples_by_thread(trace) {
            separate(&mut out);
            times.n_threads_with += 1;
            write_samples(run, trace, number, (thread, &rows), &mut shared, &mut out)?;
            pause().await;
        }
        let start = times.start_of_profiles(trace);
        let of_units = profiles(trace, kind_of).into_iter().filter(|it| it.is_first_of_unit);
        for (at, of) in of_units.enumerate() {
            separate(&mut out);
            write_profile(run, trace, (number, at), &of, (start, &mut times), &mut shared, &mut out)?;
            pause().await;
        }
        for (at, profile) in trace.profiles.iter().enumerate() {
            separate(&mut out);
            times.n_threads_without += 1;
            write_counts(run, trace, (number, at), profile, &mut shared, &mut out)?;
        }
    }
    out.raw("\n],\n\"shared\":{\"stringArray\":[");
    for (i, text) in shared.texts.iter().enumerate() {
        out.raw(if i > 0 { "," } else { "" });
        out.string(text);
        out.pass_on()?;
    }
    out.raw("],\"sources\":{");
    column("uuid", &shared.sources, &mut out, |_, out| out.raw("null"))?;
    column("filename", &shared.sources, &mut out, |text, out| out.integer(i64::from(*text)))?;
    length(shared.sources.len(), &mut out);
    out.raw("},\n\"meta\":");
    write_meta(input, &shared, &times, &mut out);
    out.raw("}\n");
    out.flush()?;
    Ok(times)
}

fn write_meta(input: &Input<'_>, shared: &Shared, times: &Times, out: &mut Out<'_>) {
    out.raw("{\"version\":");
    out.integer(i64::from(GECKO_VERSION));
    out.raw(",\"preprocessedProfileVersion\":");
    out.integer(i64::from(VERSION));
    out.raw(",\"interval\":1,\"startTime\":0,\"profilingStartTime\":0,\"profilingEndTime\":");
    out.raw(&times.end.to_string());
    out.raw(",\"processType\":0,\"stackwalk\":0,\"debug\":false,\"product\":");
    out.string(&input.document.title);
    out.raw(",\"importedFrom\":\"Tracedrop\",\"symbolicated\":true,\"symbolicationNotSupported\":true,");
    out.raw(
        "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,\"keepProfileThreadOrder\":true,",
    );
    // The format's other unit stands for an axis that is no time.
    out.raw("\"sampleUnits\":{\"time\":\"");
    out.raw(if times.n_threads_with > 0 { "ms" } else { "bytes" });
    out.raw("\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},");
    out.raw("\"markerSchema\":[{\"name\":\"Event\",\"display\":[\"marker-chart\",\"marker-table\"],");
    out.raw(
        "\"chartLabel\":\"{marker.name}\",\"tableLabel\":\"{marker.name}\",\"fields\":[]}],\"categories\":[",
    );
    for (i, name) in shared.categories.iter().enumerate() {
        out.raw(if i > 0 { ",{\"name\":" } else { "{\"name\":" });
        out.string(name);
        out.raw(",\"color\":\"");
        out.raw(if i == 0 { "grey" } else { COLORS[(i - 1) % COLORS.len()] });
        out.raw("\",\"subcategories\":[\"Other\"]}");
    }
    out.raw("]}");
}

/// A process id that is unique across traces.
fn pid(run: &Run, number: usize, process: Option<usize>) -> String {
    let process = process.map_or(firefox_facts::NO_PROCESS.to_string(), |process| process.to_string());
    if run.traces.len() > 1 { format!("{number}-{process}") } else { process }
}

/// Sources of threads, process by process.
fn entries(run: &Run, trace: &Trace, number: usize, by_track: &ByTrack) -> Vec<Entry> {
    let (tracks, prefix) = (&trace.tracks, file_prefix(run, trace));
    let process_of = |track: usize| {
        tracks.process_of(crate::trace::tracks::TrackId(track as u32), &trace.threads).map(|id| id.0 as usize)
    };
    let process_name = |process: Option<usize>| {
        let label = process.map(|process| process_label(trace, process)).unwrap_or_default();
        format!("{prefix}{label}")
    };
    let mut entries: Vec<(Option<usize>, Entry)> = Vec::new();
    let mut of_thread: HashMap<u32, usize> = HashMap::default();
    let mut of_process: HashMap<Option<usize>, usize> = HashMap::default();
    for track in (0..tracks.len()).filter(|track| !by_track.of(*track).is_empty()) {
        let process = process_of(track);
        let mut add = |name: String, tid: String| {
            let (process_name, pid) = (process_name(process), pid(run, number, process));
            let marker_tracks = Vec::new();
            let entry = Entry { name, process_name, pid, tid, is_main: false, track: None, marker_tracks };
            entries.push((process, entry));
            entries.len() - 1
        };
        match (tracks.kind[track], tracks.thread[track]) {
            (kind, Some(thread)) => {
                let entry = *of_thread
                    .entry(thread.0)
                    .or_insert_with(|| add(thread_label(trace, thread.0 as usize), thread.0.to_string()));
                match kind {
                    TrackKind::Thread | TrackKind::ThreadOverflow => entries[entry].1.track = Some(track),
                    _ => entries[entry].1.marker_tracks.push(track),
                }
            }
            (_, None) => {
                let entry = *of_process
                    .entry(process)
                    .or_insert_with(|| add("async and process-wide".to_string(), format!("async-{track}")));
                entries[entry].1.marker_tracks.push(track);
            }
        }
    }
    sort::by_key(&mut entries, |(process, _)| process.map_or(usize::MAX, |process| process));
    // The profiler represents a process by its main thread.
    let mut has_main = HashSet::default();
    for (process, entry) in &mut entries {
        entry.is_main = has_main.insert(*process);
    }
    entries.into_iter().map(|(_, entry)| entry).collect()
}

/// Writes the members of a thread that precede its tables.
fn write_head(entry: &Entry, out: &mut Out<'_>) {
    out.raw("{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,");
    out.raw("\"unregisterTime\":null,\"pausedRanges\":[],\"showMarkersInTimeline\":true,\"name\":");
    out.string(&entry.name);
    out.raw(",\"isMainThread\":");
    out.raw(if entry.is_main { "true" } else { "false" });
    out.raw(",\"processName\":");
    out.string(&entry.process_name);
    out.raw(",\"pid\":");
    out.string(&entry.pid);
    out.raw(",\"tid\":");
    out.string(&entry.tid);
}

/// Writes an array with one value per row.
fn column<T>(
    name: &str,
    rows: impl IntoIterator<Item = T>,
    out: &mut Out<'_>,
    mut write: impl FnMut(T, &mut Out<'_>),
) -> io::Result<()> {
    out.raw("\"");
    out.raw(name);
    out.raw("\":[");
    for (i, row) in rows.into_iter().enumerate() {
        out.raw(if i > 0 { "," } else { "" });
        write(row, out);
        out.pass_on()?;
    }
    out.raw("],");
    Ok(())
}

fn integer_or_null(value: Option<u32>, out: &mut Out<'_>) {
    match value {
        Some(value) => out.integer(i64::from(value)),
        None => out.raw("null"),
    }
}

/// Writes `"length":n}`, the end of every table.
fn length(n: usize, out: &mut Out<'_>) {
    out.raw("\"length\":");
    out.integer(n as i64);
    out.raw("}");
}

/// Writes stacks, frames, functions and the empty tables; ends the thread.
fn write_stacks(stacks: &Stacks, out: &mut Out<'_>) -> io::Result<()> {
    out.raw(",\"stackTable\":{");
    column("frame", &stacks.stacks, out, |(frame, _), out| out.integer(i64::from(*frame)))?;
    column("prefix", &stacks.stacks, out, |(_, around), out| integer_or_null(*around, out))?;
    length(stacks.stacks.len(), out);
    let frames = &stacks.frames;
    out.raw(",\"frameTable\":{");
    for (name, value) in [("address", "-1"), ("inlineDepth", "0"), ("subcategory", "0")] {
        column(name, frames, out, |_, out| out.raw(value))?;
    }
    column("category", frames, out, |frame, out| out.integer(i64::from(frame.category)))?;
    column("func", 0..frames.len(), out, |func, out| out.integer(func as i64))?;
    for name in ["nativeSymbol", "innerWindowID"] {
        column(name, frames, out, |_, out| out.raw("null"))?;
    }
    let number = |number: Option<i64>, out: &mut Out<'_>| match number {
        Some(number) => out.integer(number),
        None => out.raw("null"),
    };
    column("line", frames, out, |frame, out| number(frame.line, out))?;
    column("column", frames, out, |frame, out| number(frame.column, out))?;
    length(frames.len(), out);
    out.raw(",\"funcTable\":{");
    column("name", frames, out, |frame, out| out.integer(i64::from(frame.text)))?;
    column("source", frames, out, |frame, out| integer_or_null(frame.source, out))?;
    for (name, value) in [
        ("isJS", "false"),
        ("relevantForJS", "false"),
        ("resource", "-1"),
        ("lineNumber", "null"),
        ("columnNumber", "null"),
    ] {
        column(name, frames, out, |_, out| out.raw(value))?;
    }
    length(frames.len(), out);
    out.raw(",\"resourceTable\":{\"lib\":[],\"name\":[],\"host\":[],\"type\":[],\"length\":0}");
    out.raw(
        ",\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],\"length\":0}}",
    );
    out.pass_on()
}

const NO_MARKERS: &str = ",\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],\"category\":[],\"length\":0}";

fn write_thread(
    run: &Run,
    trace: &Trace,
    entry: &Entry,
    by_track: &ByTrack,
    known: &mut Known,
    shared: &mut Shared,
    out: &mut Out<'_>,
) -> io::Result<()> {
    let mut stacks = Stacks::default();
    let (origin, _) = span(run);
    write_head(entry, out);
    out.raw(",\"samples\":{\"weightType\":\"tracing-ms\",");
    let mut n_samples = 0;
    for name in ["stack", "time", "weight"] {
        out.raw("\"");
        out.raw(name);
        out.raw("\":[");
        n_samples = 0;
        for_each_sample(
            trace,
            (by_track, entry.track),
            origin,
            &mut stacks,
            known,
            shared,
            &mut |stack, start, len| {
                out.raw(if n_samples > 0 { "," } else { "" });
                n_samples += 1;
                match name {
                    "stack" => integer_or_null(stack, out),
                    "time" => out.millis(start.saturating_sub(origin)),
                    _ => out.millis(len),
                }
                out.pass_on()
            },
        )?;
        out.raw("],");
    }
    length(n_samples, out);
    let instants = entry.track.map(|track| by_track.of(track)).unwrap_or_default().iter();
    let instants = instants.filter(|slice| Class::of(trace.slices.kind[**slice as usize]) == Class::Instant);
    let others = entry.marker_tracks.iter().flat_map(|track| by_track.of(*track));
    let markers: Vec<usize> = instants.chain(others).map(|slice| *slice as usize).collect();
    write_markers(trace, origin, &markers, known, shared, out)?;
    write_stacks(&stacks, out)
}

/// Calls back for all samples in time order: stack, start, duration in nanoseconds.
fn for_each_sample(
    trace: &Trace,
    (by_track, track): (&ByTrack, Option<usize>),
    origin: i64,
    stacks: &mut Stacks,
    known: &mut Known,
    shared: &mut Shared,
    see: &mut dyn FnMut(Option<u32>, i64, i64) -> io::Result<()>,
) -> io::Result<()> {
    let mut open: Vec<u32> = Vec::new();
    let mut last = origin;
    // Idle from here on.
    let mut idle_from = Some(origin);
    let Some(track) = track else { return Ok(()) };
    walk(trace, by_track, track, |step| match step {
        Step::Open { slice, at } => {
            if let Some(from) = idle_from.take().filter(|from| *from < at) {
                see(None, from.max(last), 0)?;
            }
            let text = known.text(trace, trace.slices.name[slice], shared);
            let category = known.category(trace, trace.slices.category[slice], shared);
            let frame = stacks.frame(text, category);
            open.push(stacks.stack(frame, open.last().copied()));
            Ok(())
        }
        Step::Alone { start, len } => {
            last = last.max(start);
            see(open.last().copied(), last, len)
        }
        Step::Close { at } => {
            open.pop();
            if open.is_empty() {
                idle_from = Some(at);
            }
            Ok(())
        }
    })?;
    match idle_from {
        Some(from) if from > origin => see(None, from.max(last), 0),
        _ => Ok(()),
    }
}

fn write_markers(
    trace: &Trace,
    origin: i64,
    markers: &[usize],
    known: &mut Known,
    shared: &mut Shared,
    out: &mut Out<'_>,
) -> io::Result<()> {
    let slices = &trace.slices;
    let is_instant = |slice: usize| Class::of(slices.kind[slice]) == Class::Instant;
    out.raw(",\"markers\":{");
    column("data", markers, out, |_, out| out.raw("{\"type\":\"Event\"}"))?;
    column("name", markers, out, |slice, out| {
        out.integer(i64::from(known.text(trace, slices.name[*slice], shared)));
    })?;
    column("category", markers, out, |slice, out| {
        out.integer(i64::from(known.category(trace, slices.category[*slice], shared)));
    })?;
    column("startTime", markers, out, |slice, out| out.millis(slices.ts[*slice].saturating_sub(origin)))?;
    column("endTime", markers, out, |slice, out| match slices.dur.get(*slice) {
        _ if is_instant(*slice) => out.raw("null"),
        UNFINISHED => out.raw("null"),
        dur => out.millis(slices.ts[*slice].saturating_add(dur).saturating_sub(origin)),
    })?;
    // Marker phase: instant, interval, or interval start.
    column("phase", markers, out, |slice, out| match slices.dur.get(*slice) {
        _ if is_instant(*slice) => out.raw("0"),
        UNFINISHED => out.raw("2"),
        _ => out.raw("1"),
    })?;
    length(markers.len(), out);
    Ok(())
}

fn write_samples(
    run: &Run,
    trace: &Trace,
    number: usize,
    (thread, rows): (ThreadId, &[usize]),
    shared: &mut Shared,
    out: &mut Out<'_>,
) -> io::Result<()> {
    let process = trace.threads.process.get(thread.0 as usize).map(|process| process.0 as usize);
    let label = process.map(|process| process_label(trace, process)).unwrap_or_default();
    let entry = Entry {
        name: format!("{} (samples)", thread_label(trace, thread.0 as usize)),
        process_name: format!("{}{label}", file_prefix(run, trace)),
        pid: pid(run, number, process),
        tid: format!("{}-samples", thread.0),
        is_main: false,
        track: None,
        marker_tracks: Vec::new(),
    };
    let (samples, (origin, _)) = (&trace.samples, span(run));
    let rows = || rows.iter().copied();
    let mut stacks = Stacks::default();
    let mut known: HashMap<StackId, Option<u32>> = HashMap::default();
    known.insert(StackId::NONE, None);
    write_head(&entry, out);
    out.raw(",\"samples\":{\"weightType\":\"samples\",");
    column("stack", rows(), out, |row, out| {
        let stack = stack_of(trace, samples.stack[row], &mut stacks, &mut known, |frame| {
            // The module is also the color.
            sampled_frame(trace, frame, trace.frames.get(frame).module, shared)
        });
        integer_or_null(stack, out);
    })?;
    column("time", rows(), out, |row, out| out.millis(samples.ts[row].saturating_sub(origin)))?;
    column("weight", rows(), out, |row, out| {
        out.float(if samples.weight[row].is_finite() { samples.weight[row] } else { 0.0 });
    })?;
    length(rows().count(), out);
    out.raw(NO_MARKERS);
    write_stacks(&stacks, out)
}

/// Maps a stack of the trace to the thread's own table; `frame_of` makes its frames.
fn stack_of(
    trace: &Trace,
    stack: StackId,
    stacks: &mut Stacks,
    known: &mut HashMap<StackId, Option<u32>>,
    mut frame_of: impl FnMut(FrameId) -> Frame,
) -> Option<u32> {
    let mut missing: Vec<(StackId, FrameId)> = Vec::new();
    let mut at = stack;
    while !known.contains_key(&at) {
        let Some(frame) = trace.stacks.frame.get(at.0 as usize) else { break };
        missing.push((at, *frame));
        at = trace.stacks.parent[at.0 as usize];
    }
    let mut around = known.get(&at).copied().flatten();
    while let Some((id, frame)) = missing.pop() {
        let frame = stacks.placed(frame_of(frame));
        around = Some(stacks.stack(frame, around));
        known.insert(id, around);
    }
    around
}

/// Which of the format's three kinds of weights a unit is.
fn kind_of(unit: &str) -> &str {
    match unit {
        "bytes" => "bytes",
        unit if nanoseconds_exponent(unit).is_some() => "tracing-ms",
        _ => "samples",
    }
}

/// An amount times 10^`scale`; as it is if that is too large.
fn scaled(amount: Amount, scale: i32) -> Amount {
    if scale == 0 {
        return amount;
    }
    Amount::with_exponent(amount.digits, scale - i32::from(amount.places)).unwrap_or(amount)
}

/// 10^this milliseconds are one in the unit of a profile's times; `None` without times.
fn time_scale(trace: &Trace, profile: &StackProfile) -> Option<i32> {
    profile.time_exponent(&trace.strings).map(|exponent| i32::from(exponent) - 6)
}

impl Times {
    /// Start of the profiles of a trace, in milliseconds on their common axis; their end counts from there.
    fn start_of_profiles(&mut self, trace: &Trace) -> Amount {
        let span = |profile: &StackProfile| {
            let (scale, (start, end)) = (time_scale(trace, profile)?, profile.span_of_file()?);
            Some((scaled(start, scale), scaled(end, scale)))
        };
        let spans = trace.stack_profiles.iter().filter_map(span);
        let whole = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let Some((start, end)) = whole else { return Amount::ZERO };
        self.end = self.end.max(end.minus(start));
        start
    }
}

/// A stack profile as a thread. Times count from `start`; a sample without one has that of the sample before.
fn write_profile(
    run: &Run,
    trace: &Trace,
    (number, at): (usize, usize),
    of: &Profile<'_>,
    (start, times): (Amount, &mut Times),
    shared: &mut Shared,
    out: &mut Out<'_>,
) -> io::Result<()> {
    let profile = of.profile;
    let text = |id: StringId| trace.strings.get_opt(id).filter(|text| !text.is_empty());
    let name = text(profile.thread).or_else(|| text(profile.name)).unwrap_or(&of.name);
    let own_tid = text(profile.thread_id).filter(|_| of.is_first);
    let entry = Entry {
        name: if of.is_first { name.to_string() } else { of.name.clone() },
        process_name: trace.source.file_name.clone(),
        pid: match text(profile.process_id) {
            Some(id) if run.traces.len() == 1 => id.to_string(),
            _ => pid(run, number, None),
        },
        tid: own_tid.map_or_else(|| format!("{}{at}", firefox_facts::NO_THREAD), str::to_string),
        is_main: at == 0,
        track: None,
        marker_tracks: Vec::new(),
    };
    let kind = kind_of(of.unit);
    // Times are milliseconds.
    let scale = nanoseconds_exponent(of.unit).map_or(0, |exponent| i32::from(exponent) - 6);
    let time_scale = time_scale(trace, profile);
    match time_scale {
        Some(_) => times.n_threads_with += 1,
        None if profile.is_empty() => {}
        None => times.n_threads_without += 1,
    }
    let mut stacks = Stacks::default();
    let mut known: HashMap<StackId, Option<u32>> = HashMap::default();
    known.insert(StackId::NONE, None);
    write_head(&entry, out);
    out.raw(",\"samples\":{\"weightType\":\"");
    out.raw(kind);
    out.raw("\",");
    column("stack", &profile.stack, out, |stack, out| {
        let stack = stack_of(trace, *stack, &mut stacks, &mut known, |frame| {
            sampled_frame(trace, frame, trace.frames.get(frame).category, shared)
        });
        integer_or_null(stack, out);
    })?;
    let mut last = Amount::ZERO;
    column("time", 0..profile.len(), out, |row, out| {
        if let Some(scale) = time_scale {
            match profile.time_of(row) {
                Some(time) => last = scaled(time, scale).minus(start),
                None => times.n_samples_without += 1,
            }
        }
        out.raw(&last.to_string());
    })?;
    column("weight", 0..profile.len(), out, |row, out| {
        let weight = profile.weight.get(row).unwrap_or(Amount::ZERO);
        out.raw(&scaled(weight, scale).to_string());
    })?;
    length(profile.len(), out);
    out.raw(NO_MARKERS);
    write_stacks(&stacks, out)
}

/// A sampled frame, with its file or module and its line.
fn sampled_frame(trace: &Trace, frame: FrameId, category: StringId, shared: &mut Shared) -> Frame {
    let category = shared.category(trace.strings.get_opt(category));
    placed(&place_of(trace, frame), category, shared)
}

fn placed(place: &Place, category: u32, shared: &mut Shared) -> Frame {
    let source = place.file.as_deref().map(|file| shared.source(file));
    Frame { text: shared.text(&place.name), category, source, line: place.line, column: place.column }
}

fn write_counts(
    run: &Run,
    trace: &Trace,
    (number, at): (usize, usize),
    profile: &ProfileRun,
    shared: &mut Shared,
    out: &mut Out<'_>,
) -> io::Result<()> {
    let entry = Entry {
        name: profile_name(profile, at + 1, trace.profiles.len()),
        process_name: trace.source.file_name.clone(),
        pid: pid(run, number, None),
        tid: format!("{}{at}", firefox_facts::NO_THREAD),
        is_main: at == 0,
        track: None,
        marker_tracks: Vec::new(),
    };
    let counts = &profile.frames.self_samples;
    let rows = || (0..counts.len()).filter(|row| counts[*row] > 0);
    let mut stacks = Stacks::default();
    write_head(&entry, out);
    out.raw(",\"samples\":{\"weightType\":\"samples\",");
    column("stack", rows(), out, |row, out| {
        let frame = stacks.placed(placed(&place_of_row(trace, profile, row), 0, shared));
        out.integer(i64::from(stacks.stack(frame, None)));
    })?;
    column("time", rows(), out, |_, out| out.raw("0"))?;
    column("weight", rows(), out, |row, out| out.raw(&counts[row].to_string()))?;
    length(rows().count(), out);
    out.raw(NO_MARKERS);
    write_stacks(&stacks, out)
}

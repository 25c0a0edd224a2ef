//! The events of a trace as tables of columns, for programs that compute with them: Python and SQL.
//!
//! [`TABLES`] says which tables and columns there are, with units; `docs/tables.md` is made from it. Columns that a trace has in
//! memory are borrowed. Times are integer nanoseconds on the trace's own clock.

use crate::analysis::gpu::collective::Collective;
use crate::analysis::gpu_communication;
use crate::base::strings::StringId;
use crate::base::units::Unit;
use crate::trace::Trace;
use crate::trace::accesses::{Op, Wanted};
use crate::trace::labels::{process_label, thread_label};
use crate::trace::samples::NO_LINE;
use crate::trace::scoring_calls::ProbeKind;
use crate::trace::slices::{SliceId, SliceKind, UNFINISHED};
use crate::trace::stack_profiles::StackProfile;
use crate::trace::tracks::TrackKind;
use std::borrow::Cow;

/// A table of events.
pub struct EventTable {
    pub id: &'static str,
    /// One sentence: what a row is, and the order of the rows.
    pub about: &'static str,
    pub columns: &'static [EventColumn],
    make: for<'a> fn(&'a Trace) -> Vec<Data<'a>>,
}

/// A column of such a table.
pub struct EventColumn {
    pub id: &'static str,
    pub unit: Unit,
    /// Meaning, and when it is missing.
    pub about: &'static str,
}

/// Values of a column, and which of them are there.
pub struct Data<'a> {
    pub values: Values<'a>,
    /// `None` if no value is missing. Missing [`Values::Names`] are [`StringId::NONE`] instead.
    pub valid: Option<Vec<bool>>,
}

/// Values by type.
pub enum Values<'a> {
    Unsigned32(Cow<'a, [u32]>),
    Unsigned(Cow<'a, [u64]>),
    Integer(Cow<'a, [i64]>),
    Float(Cow<'a, [f64]>),
    /// Texts of the trace, by their number in [`Trace::strings`].
    Names(Cow<'a, [StringId]>),
    /// Texts by their position in a list without duplicates.
    Words(Vec<u32>, Vec<String>),
}

impl<'a> Data<'a> {
    fn all(values: Values<'a>) -> Data<'a> {
        Data { values, valid: None }
    }

    fn names(ids: &'a [StringId]) -> Data<'a> {
        Data::all(Values::Names(Cow::Borrowed(ids)))
    }

    fn made_names(ids: impl Iterator<Item = StringId>) -> Data<'a> {
        Data::all(Values::Names(ids.collect()))
    }

    fn times(ns: &'a [i64]) -> Data<'a> {
        Data::all(Values::Integer(Cow::Borrowed(ns)))
    }

    fn rows(n: usize) -> Data<'a> {
        Data::all(Values::Unsigned32((0..n as u32).collect()))
    }

    /// Row numbers; `u32::MAX` is none.
    fn links(ids: &'a [u32]) -> Data<'a> {
        let has_none = ids.contains(&u32::MAX);
        let valid = has_none.then(|| ids.iter().map(|id| *id != u32::MAX).collect());
        Data { values: Values::Unsigned32(Cow::Borrowed(ids)), valid }
    }

    fn integers(cells: impl Iterator<Item = Option<i64>>) -> Data<'a> {
        let (values, valid) = split(cells);
        Data { values: Values::Integer(values.into()), valid }
    }

    fn unsigned(cells: impl Iterator<Item = Option<u64>>) -> Data<'a> {
        let (values, valid) = split(cells);
        Data { values: Values::Unsigned(values.into()), valid }
    }

    fn words(codes: impl Iterator<Item = Option<u32>>, words: Vec<String>) -> Data<'a> {
        let (values, valid) = split(codes);
        Data { values: Values::Words(values, words), valid }
    }

    /// Texts by position in a list that may have duplicates.
    fn labels(codes: impl Iterator<Item = Option<u32>>, labels: impl Iterator<Item = String>) -> Data<'a> {
        let mut words: Vec<String> = Vec::new();
        let mut known = crate::base::hash::HashMap::default();
        let mut code_of = |label: String| {
            *known.entry(label).or_insert_with_key(|label| {
                words.push(label.clone());
                words.len() as u32 - 1
            })
        };
        let code_of: Vec<u32> = labels.map(&mut code_of).collect();
        Data::words(codes.map(|code| code_of.get(code? as usize).copied()), words)
    }

    pub fn len(&self) -> usize {
        match &self.values {
            Values::Unsigned32(values) => values.len(),
            Values::Unsigned(values) => values.len(),
            Values::Integer(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Names(values) => values.len(),
            Values::Words(codes, _) => codes.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn split<T: Default>(cells: impl Iterator<Item = Option<T>>) -> (Vec<T>, Option<Vec<bool>>) {
    let (mut values, mut valid) = (Vec::new(), Vec::new());
    for cell in cells {
        valid.push(cell.is_some());
        values.push(cell.unwrap_or_default());
    }
    let is_whole = valid.iter().all(|is_there| *is_there);
    (values, (!is_whole).then_some(valid))
}

impl EventTable {
    /// Columns of a trace, as many as [`EventTable::columns`], of equal length.
    pub fn of<'a>(&self, trace: &'a Trace) -> Vec<Data<'a>> {
        (self.make)(trace)
    }
}

/// The table of that id.
pub fn find(id: &str) -> Option<&'static EventTable> {
    TABLES.iter().find(|table| table.id == id)
}

const fn column(id: &'static str, unit: Unit, about: &'static str) -> EventColumn {
    EventColumn { id, unit, about }
}

const TS: EventColumn = column("ts", Unit::NsClock, "time on the trace's own clock");
const PROCESS: EventColumn =
    column("process", Unit::None, "name and id of the process; missing if it belongs to none");
const THREAD: EventColumn =
    column("thread", Unit::None, "name and id of the thread or GPU stream; missing if it belongs to none");

/// The tables, in the order in which they are listed.
pub const TABLES: &[EventTable] = &[
    EventTable {
        id: "slices",
        about: "One row per slice (kernel, operator, call, span), instants included, by start.",
        columns: &[
            column("id", Unit::Id, "row number, which `parent`, `from` and `to` refer to"),
            column("ts", Unit::NsClock, "start on the trace's own clock"),
            column("dur", Unit::Ns, "duration; missing if the slice has no end, 0 for instants"),
            column("self", Unit::Ns, "time in which no slice within it ran"),
            column("name", Unit::None, "name"),
            column("category", Unit::None, "category; missing if it has none"),
            column(
                "kind",
                Unit::None,
                "how it was written: complete, begin_end, instant, async, async_instant, legacy_async, legacy_step, state",
            ),
            column("depth", Unit::Count, "number of slices around it"),
            column("parent", Unit::Id, "`id` of the slice around it; missing at the top"),
            column("track", Unit::Id, "`id` in `tracks`"),
            PROCESS,
            THREAD,
            column("offset", Unit::Bytes, "position of its event in the decompressed file"),
        ],
        make: slices,
    },
    EventTable {
        id: "instants",
        about: "One row per instant, by time; the same rows are in `slices`, with their `id`.",
        columns: &[
            column("id", Unit::Id, "`id` in `slices`"),
            TS,
            column("name", Unit::None, "name"),
            column("category", Unit::None, "category; missing if it has none"),
            column("track", Unit::Id, "`id` in `tracks`"),
            PROCESS,
            THREAD,
        ],
        make: instants,
    },
    EventTable {
        id: "counters",
        about: "One row per value of a counter, by time; a value is valid until the next one of its series.",
        columns: &[
            TS,
            column("value", Unit::Plain, "value, in the unit of the counter"),
            column("name", Unit::None, "name of the counter"),
            column("key", Unit::None, "series of the counter: key of its argument"),
            column("counter_id", Unit::None, "id of the counter; missing if it has none"),
            PROCESS,
        ],
        make: counters,
    },
    EventTable {
        id: "flows",
        about: "One row per arrow between slices, such as a launch and its kernel.",
        columns: &[
            column("from", Unit::Id, "`id` of the earlier slice"),
            column("to", Unit::Id, "`id` of the later slice"),
            column("name", Unit::None, "name; missing for arrows given by `bind_id`"),
            column("category", Unit::None, "category; missing for arrows given by `bind_id`"),
        ],
        make: flows,
    },
    EventTable {
        id: "collective_calls",
        about: "One row per communication kernel of a GPU, by start; the same rows are in `slices`.",
        columns: &[
            column("id", Unit::Id, "`id` in `slices`"),
            column("ts", Unit::NsClock, "start on the trace's own clock"),
            column("dur", Unit::Ns, "duration"),
            column(
                "collective",
                Unit::None,
                "allreduce, _allgather_base, …; from the kernel name if not recorded",
            ),
            column("dtype", Unit::None, "type of the elements; missing if not recorded"),
            column(
                "message",
                Unit::Bytes,
                "input size per rank; for all-gather, the output size; missing if not recorded",
            ),
            column("group", Unit::None, "process group; missing if not recorded"),
            column("ranks", Unit::Count, "ranks in the group; missing if not recorded"),
            column("track", Unit::Id, "`id` in `tracks`"),
            PROCESS,
            THREAD,
        ],
        make: collective_calls,
    },
    EventTable {
        id: "scoring_calls",
        about: "One row per scoring call of a forward-pass trace, in file order.",
        columns: &[
            column(
                "ended",
                Unit::NsClock,
                "end since 1970, to the microsecond; missing if the file has no valid time",
            ),
            column(
                "dur",
                Unit::Ns,
                "duration, of the lookup for a hit; missing if the file has no valid one",
            ),
            column("probe", Unit::None, "probe; missing if it has none"),
            column("view", Unit::None, "state of the model: base, ft, a scaled or a randomized one"),
            column(
                "op",
                Unit::None,
                "backend operation: next_token_dist, rolling_logprob, logprob_of or others",
            ),
            column("prompt", Unit::None, "digest of the scored prompt"),
            column(
                "top_k",
                Unit::Count,
                "tokens requested; 0 for operations without; missing beyond 64 bits",
            ),
            column("cache", Unit::None, "hit or miss"),
            column("offset", Unit::Bytes, "position of its record in the decompressed file"),
        ],
        make: scoring_calls,
    },
    EventTable {
        id: "samples",
        about: "One row per sample of a call stack, by time.",
        columns: &[
            TS,
            column("weight", Unit::Samples, "weight; 1 if the file gives none"),
            column("stack", Unit::Id, "`id` in `stacks`; missing if the stack is empty"),
            column("name", Unit::None, "name of the event; missing if not given"),
            PROCESS,
            THREAD,
        ],
        make: samples,
    },
    EventTable {
        id: "stack_samples",
        about: "One row per weighted stack of a stack profile, in file order.",
        columns: &[
            column("profile", Unit::None, "name of its profile"),
            column("stack", Unit::Id, "`id` in `stacks`; missing if the stack is empty"),
            column("weight", Unit::Plain, "weight, in `unit`"),
            column("unit", Unit::None, "unit of the weight as the file has it"),
        ],
        make: stack_samples,
    },
    EventTable {
        id: "stacks",
        about: "One row per call stack: a frame on another stack.",
        columns: &[
            column("id", Unit::Id, "row number, which `stack` and `parent` refer to"),
            column("parent", Unit::Id, "`id` of the stack below; missing at the root"),
            column("name", Unit::None, "function of the top frame"),
            column("module", Unit::None, "its library or package; missing if not given"),
            column("file", Unit::None, "its source file; missing if not given"),
            column("line", Unit::Id, "its line from 1; missing if not given"),
        ],
        make: stacks,
    },
    EventTable {
        id: "accesses",
        about: "One row per memory access, in file order.",
        columns: &[
            column("ts", Unit::NsClock, "time on the clock of the capture"),
            column("address", Unit::Address, "address of the data"),
            column("op", Unit::None, "load, store, or another text of the file"),
            column("region", Unit::None, "kind of memory as the file labels it; missing if it does not"),
            column(
                "region_id",
                Unit::Id,
                "number of the region; missing if the file does not label accesses",
            ),
            column("phase", Unit::None, "phase of the run; missing if not given"),
            column("symbol", Unit::None, "function that made the access; missing if not given"),
            column("dso", Unit::None, "its object file; missing if not given"),
            column("cache_level", Unit::None, "L1, L2, L3, L4, LFB or DRAM; missing if not given"),
            column("latency", Unit::Count, "weight that perf gives: CPU cycles; missing if not given"),
            column("cpu", Unit::Id, "CPU; missing if not given"),
            column("thread_id", Unit::Id, "thread; missing if not given"),
            column("token_index", Unit::Id, "index of the generated token; missing if not given"),
            column("context_tokens", Unit::Count, "tokens in the context; missing if not given"),
        ],
        make: accesses,
    },
    EventTable {
        id: "tracks",
        about: "One row per track: a thread, a GPU stream, or what else slices are on.",
        columns: &[
            column("id", Unit::Id, "row number, which `track` refers to"),
            column(
                "kind",
                Unit::None,
                "thread, thread_overflow, thread_state, process_instants, global_instants, async_global, async_process, async_legacy",
            ),
            column("name", Unit::None, "name of an asynchronous track; missing for others"),
            PROCESS,
            THREAD,
        ],
        make: tracks,
    },
];

/// Process of each track, by number.
fn processes_of(trace: &Trace) -> Vec<Option<u32>> {
    let tracks = &trace.tracks;
    let of_thread = |thread: Option<crate::trace::tracks::ThreadId>| {
        thread.and_then(|thread| trace.threads.process.get(thread.0 as usize)).map(|process| process.0)
    };
    let of_track = |track: usize| {
        tracks.process[track].map(|process| process.0).or_else(|| of_thread(tracks.thread[track]))
    };
    (0..tracks.len()).map(of_track).collect()
}

fn process_column<'a>(trace: &'a Trace, processes: impl Iterator<Item = Option<u32>>) -> Data<'a> {
    Data::labels(processes, (0..trace.processes.len()).map(|process| process_label(trace, process)))
}

fn thread_column<'a>(trace: &'a Trace, threads: impl Iterator<Item = Option<u32>>) -> Data<'a> {
    Data::labels(threads, (0..trace.threads.len()).map(|thread| thread_label(trace, thread)))
}

/// Process and thread of rows by their track.
fn places<'a>(trace: &'a Trace, rows: &dyn Fn() -> Box<dyn Iterator<Item = u32> + 'a>) -> [Data<'a>; 2] {
    let processes = processes_of(trace);
    let threads = &trace.tracks.thread;
    let process = rows().map(|track| processes.get(track as usize).copied().flatten());
    let thread = rows().map(|track| threads.get(track as usize).copied().flatten().map(|thread| thread.0));
    [process_column(trace, process), thread_column(trace, thread)]
}

fn kind_name(kind: SliceKind) -> &'static str {
    match kind {
        SliceKind::Complete => "complete",
        SliceKind::BeginEnd => "begin_end",
        SliceKind::Instant => "instant",
        SliceKind::Async => "async",
        SliceKind::AsyncInstant => "async_instant",
        SliceKind::LegacyAsync => "legacy_async",
        SliceKind::LegacyStep => "legacy_step",
        SliceKind::State => "state",
    }
}

fn track_kind_name(kind: TrackKind) -> &'static str {
    match kind {
        TrackKind::Thread => "thread",
        TrackKind::ThreadOverflow => "thread_overflow",
        TrackKind::ThreadState => "thread_state",
        TrackKind::ProcessInstants => "process_instants",
        TrackKind::GlobalInstants => "global_instants",
        TrackKind::AsyncGlobal => "async_global",
        TrackKind::AsyncProcess => "async_process",
        TrackKind::AsyncLegacy => "async_legacy",
    }
}

fn slices(trace: &Trace) -> Vec<Data<'_>> {
    let slices = &trace.slices;
    let n = slices.len();
    let tracks: &[u32] = bytemuck::cast_slice(&slices.track);
    let [process, thread] = places(trace, &|| Box::new(tracks.iter().copied()));
    let kinds = slices.kind.iter().map(|kind| Some(*kind as u32));
    let kind_names = SliceKind::ALL.into_iter().map(|kind| kind_name(kind).to_string()).collect();
    vec![
        Data::rows(n),
        Data::times(&slices.ts),
        Data::integers(slices.dur.iter().map(|ns| (ns != UNFINISHED).then_some(ns))),
        Data::integers((0..n).map(|row| Some(slices.self_ns.get(row)))),
        Data::names(&slices.name),
        Data::names(&slices.category),
        Data::words(kinds, kind_names),
        Data::all(Values::Unsigned32(slices.depth.iter().collect())),
        Data::links(bytemuck::cast_slice::<SliceId, u32>(&slices.parent)),
        Data::all(Values::Unsigned32(Cow::Borrowed(tracks))),
        process,
        thread,
        Data::unsigned((0..n).map(|row| Some(slices.offset(row)))),
    ]
}

fn instants(trace: &Trace) -> Vec<Data<'_>> {
    let slices = &trace.slices;
    let is_instant = |kind: SliceKind| matches!(kind, SliceKind::Instant | SliceKind::AsyncInstant);
    let ids: Vec<u32> =
        (0..).zip(&slices.kind).filter(|(_, kind)| is_instant(**kind)).map(|(id, _)| id).collect();
    let tracks: Vec<u32> = ids.iter().map(|id| slices.track[*id as usize].0).collect();
    let [process, thread] = places(trace, &|| Box::new(tracks.clone().into_iter()));
    let rows = || ids.iter().map(|id| *id as usize);
    vec![
        Data::all(Values::Unsigned32(ids.clone().into())),
        Data::all(Values::Integer(rows().map(|row| slices.ts[row]).collect())),
        Data::made_names(rows().map(|row| slices.name[row])),
        Data::made_names(rows().map(|row| slices.category[row])),
        Data::all(Values::Unsigned32(tracks.into())),
        process,
        thread,
    ]
}

fn counters(trace: &Trace) -> Vec<Data<'_>> {
    let (counters, series) = (&trace.counters, &trace.counter_series);
    let text = |texts: &[StringId]| {
        let of_row = |series: &u32| texts.get(*series as usize).copied().unwrap_or(StringId::NONE);
        Data::made_names(counters.series.iter().map(of_row))
    };
    let process = counters.series.iter().map(|of| series.process.get(*of as usize).map(|process| process.0));
    vec![
        Data::times(&counters.ts),
        Data::all(Values::Float(Cow::Borrowed(&counters.value))),
        text(&series.name),
        text(&series.key),
        text(&series.id),
        process_column(trace, process),
    ]
}

fn flows(trace: &Trace) -> Vec<Data<'_>> {
    let flows = &trace.flows;
    vec![
        Data::links(bytemuck::cast_slice::<SliceId, u32>(&flows.from)),
        Data::links(bytemuck::cast_slice::<SliceId, u32>(&flows.to)),
        Data::names(&flows.name),
        Data::names(&flows.category),
    ]
}

fn collective_calls(trace: &Trace) -> Vec<Data<'_>> {
    let calls = gpu_communication::calls(trace);
    let text = |get: fn(&Collective) -> &str| {
        let texts = || calls.iter().map(|call| get(&call.collective));
        let codes = (0u32..).zip(texts()).map(|(code, text)| (!text.is_empty()).then_some(code));
        Data::labels(codes, texts().map(str::to_string))
    };
    let tracks: Vec<u32> = calls
        .iter()
        .map(|call| trace.slices.track.get(call.slice.0 as usize).map_or(u32::MAX, |track| track.0))
        .collect();
    let [process, thread] = places(trace, &|| Box::new(tracks.clone().into_iter()));
    vec![
        Data::all(Values::Unsigned32(calls.iter().map(|call| call.slice.0).collect())),
        Data::all(Values::Integer(calls.iter().map(|call| call.start).collect())),
        Data::all(Values::Integer(calls.iter().map(|call| call.dur).collect())),
        text(|collective| &collective.name),
        text(|collective| &collective.dtype),
        Data::unsigned(calls.iter().map(|call| call.collective.message_bytes())),
        text(|collective| &collective.group),
        Data::unsigned(calls.iter().map(|call| call.collective.group_size)),
        Data::all(Values::Unsigned32(tracks.into())),
        process,
        thread,
    ]
}

/// `value` times `scale` as whole nanoseconds; `None` if it is no number or beyond 64 bits.
fn whole_ns(value: f64, scale: f64) -> Option<i64> {
    let ns = (value * scale).round();
    (ns.abs() < i64::MAX as f64).then_some(ns as i64)
}

fn scoring_calls(trace: &Trace) -> Vec<Data<'_>> {
    let calls = &trace.scoring_calls;
    let has_probe = |row: usize| calls.probe_kind[row] != ProbeKind::Null;
    let probe = |row: usize| if has_probe(row) { calls.probe[row] } else { StringId::NONE };
    let top_k = |row: usize| calls.wide_top_k(row).is_none().then_some(calls.top_k[row]);
    vec![
        Data::integers(calls.ts.iter().map(|seconds| whole_ns(*seconds, 1e9))),
        Data::integers(calls.wall_ms.iter().map(|ms| whole_ns(*ms, 1e6))),
        Data::made_names((0..calls.len()).map(probe)),
        Data::names(&calls.view_id),
        Data::names(&calls.op),
        Data::names(&calls.prompt_hash),
        Data::integers((0..calls.len()).map(top_k)),
        Data::words(
            calls.hit.iter().map(|is_hit| Some(u32::from(*is_hit))),
            vec!["miss".to_string(), "hit".to_string()],
        ),
        Data::all(Values::Unsigned(Cow::Borrowed(&calls.offset))),
    ]
}

fn samples(trace: &Trace) -> Vec<Data<'_>> {
    let samples = &trace.samples;
    let threads = || samples.thread.iter().map(|thread| thread.0);
    let process = threads().map(|thread| trace.threads.process.get(thread as usize).map(|process| process.0));
    vec![
        Data::times(&samples.ts),
        Data::all(Values::Float(Cow::Borrowed(&samples.weight))),
        Data::links(bytemuck::cast_slice(&samples.stack)),
        Data::names(&samples.name),
        process_column(trace, process),
        thread_column(trace, threads().map(Some)),
    ]
}

fn stack_samples(trace: &Trace) -> Vec<Data<'_>> {
    let profiles = || trace.stack_profiles.iter();
    let each = |text: fn(&StackProfile) -> StringId| {
        Data::made_names(
            profiles().flat_map(move |profile| std::iter::repeat_n(text(profile), profile.len())),
        )
    };
    let stacks = profiles().flat_map(|profile| profile.stack.iter().map(|stack| stack.0));
    let (stacks, valid) = split(stacks.map(|stack| (stack != u32::MAX).then_some(stack)));
    let weights = profiles().flat_map(|profile| {
        (0..profile.len()).map(|row| profile.weight.get(row).map(|weight| weight.to_f64()))
    });
    let (weights, are_there) = split(weights);
    vec![
        each(|profile| profile.name),
        Data { values: Values::Unsigned32(stacks.into()), valid },
        Data { values: Values::Float(weights.into()), valid: are_there },
        each(|profile| profile.unit),
    ]
}

fn stacks(trace: &Trace) -> Vec<Data<'_>> {
    let (stacks, frames) = (&trace.stacks, &trace.frames);
    let rows = || stacks.frame.iter().map(|frame| frame.0 as usize);
    let text = |texts: &[StringId]| {
        Data::made_names(rows().map(|row| texts.get(row).copied().unwrap_or(StringId::NONE)))
    };
    let line = rows().map(|row| frames.line.get(row).copied().filter(|line| *line != NO_LINE));
    vec![
        Data::rows(stacks.len()),
        Data::links(bytemuck::cast_slice(&stacks.parent)),
        text(&frames.name),
        text(&frames.module),
        text(&frames.file),
        Data::integers(line),
    ]
}

fn accesses(trace: &Trace) -> Vec<Data<'_>> {
    let n = trace.accesses.len();
    let is_labelled = trace.accesses.is_labelled();
    let (mut ts, mut address) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let (mut ops, mut regions) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let (mut op_words, mut region_words): (Vec<String>, Vec<String>) = Default::default();
    let mut region_ids = Vec::with_capacity(n);
    let mut texts: [Vec<StringId>; 4] = Default::default();
    let mut latency = Vec::with_capacity(n);
    let mut numbers: [Vec<Option<i64>>; 4] = Default::default();
    let code = |words: &mut Vec<String>, text: &str| match words.iter().position(|word| word == text) {
        Some(at) => at as u32,
        None => {
            words.push(text.to_string());
            words.len() as u32 - 1
        }
    };
    let mut blocks = trace.accesses.blocks(Wanted::ALL);
    while let Some(rows) = blocks.next_rows() {
        for row in (0..rows.len()).map(|row| rows.access(row)) {
            ts.push(row.ts);
            address.push(row.address);
            let op = match row.op {
                Op::Load => "load",
                Op::Store => "store",
                Op::Other => row.op_text.map_or("", |text| trace.strings.get(text)),
            };
            ops.push(Some(code(&mut op_words, op)));
            let region = row.region.name().or_else(|| row.region_text.map(|text| trace.strings.get(text)));
            let region = region.filter(|_| is_labelled);
            regions.push(region.map(|region| code(&mut region_words, region)));
            region_ids.push(is_labelled.then_some(row.region_id));
            let none = StringId::NONE;
            for (column, text) in texts.iter_mut().zip([row.phase, row.symbol, row.dso, row.cache_level]) {
                column.push(text.unwrap_or(none));
            }
            latency.push(row.latency);
            let values = [row.cpu.map(i64::from), row.thread, row.token_index, row.context_tokens];
            for (column, value) in numbers.iter_mut().zip(values) {
                column.push(value);
            }
        }
    }
    let (region_ids, has_region_id) = split(region_ids.into_iter());
    let name = |column: &mut Vec<StringId>| Data::all(Values::Names(std::mem::take(column).into()));
    let [phase, symbol, dso, cache_level] = &mut texts;
    let [cpu, thread, token, context] = numbers;
    vec![
        Data::all(Values::Integer(ts.into())),
        Data::all(Values::Unsigned(address.into())),
        Data::words(ops.into_iter(), op_words),
        Data::words(regions.into_iter(), region_words),
        Data { values: Values::Unsigned32(region_ids.into()), valid: has_region_id },
        name(phase),
        name(symbol),
        name(dso),
        name(cache_level),
        Data::unsigned(latency.into_iter()),
        Data::integers(cpu.into_iter()),
        Data::integers(thread.into_iter()),
        Data::integers(token.into_iter()),
        Data::integers(context.into_iter()),
    ]
}

fn tracks(trace: &Trace) -> Vec<Data<'_>> {
    let tracks = &trace.tracks;
    let kinds = tracks.kind.iter().map(|kind| Some(*kind as u32));
    let names = TrackKind::ALL.into_iter().map(|kind| track_kind_name(kind).to_string()).collect();
    vec![
        Data::rows(tracks.len()),
        Data::words(kinds, names),
        Data::names(&tracks.name),
        process_column(trace, processes_of(trace).into_iter()),
        thread_column(trace, tracks.thread.iter().map(|thread| thread.map(|thread| thread.0))),
    ]
}

//! Streams of GPUs on threads that Chrome traces cannot tell from others.
//!
//! The PyTorch profiler writes GPUs as processes, whose ids are small numbers, and streams as threads. Two collide with others:
//!
//! - Stream 0 of GPU 2: a thread 0 is the main thread of its process, whose id is that of the process (as in Perfetto). So it is
//!   one thread with stream 2.
//! - Stream 7 of GPU 7, where the program is process 7 with main thread 7, as in containers; or stream 0 of GPU 1 beside process 1.
//!
//! What runs on one thread counts as nested, so kernels would be children of each other or of operators. The stream in the arguments
//! tells them apart.

use super::TraceBuilder;
use super::metadata::text_of_member;
use super::nesting::OpenBegins;
use crate::base::hash::{HashMap, HashSet};
use crate::base::strings::StringId;
use crate::trace::event_table::{EventRow, EventTable};
use crate::trace::events::{EventKey, Phase, flag};
use crate::trace::links::{CALL_CATEGORIES, LinkTable, OPERATOR_CATEGORIES};
use crate::trace::tracks::{Key, ThreadId};
use std::collections::BTreeSet;

/// The default stream of CUDA and HIP.
const DEFAULT_STREAM: i32 = 0;
/// Categories of annotations that the profiler repeats on GPUs.
const GPU_ANNOTATIONS: &[&str] = &["gpu_user_annotation"];
/// Categories of frames of programs.
const FRAME_CATEGORIES: &[&str] = &["python_function"];
/// Process ids from here on are those of programs only.
const MAX_GPUS: i64 = 1024;

/// What a thread has.
#[derive(Default)]
struct Seen {
    /// It has the number of its process, which is not 0.
    is_main: bool,
    /// Calls, operators and frames of a program.
    is_of_program: bool,
    /// Streams of device work.
    streams: BTreeSet<i32>,
}

/// Events that have to move to a thread of their own.
#[derive(Default)]
pub(super) struct Moves(Vec<(u32, ThreadId)>);

impl Moves {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn apply(&self, events: &mut EventTable) {
        for (event, thread) in &self.0 {
            let row = events.rows.get(*event);
            events.rows.replace(*event, EventRow { thread: *thread, ..row });
        }
    }
}

/// Events of the wrong thread. Adds the threads they belong to.
pub(super) fn find(builder: &mut TraceBuilder, events: &EventTable) -> Moves {
    let mut seen = possible_threads(builder);
    if seen.is_empty() {
        return Moves::default();
    }
    let of_program = ids_of(builder, &[CALL_CATEGORIES, OPERATOR_CATEGORIES, FRAME_CATEGORIES].concat());
    // Links take long to find, and most such threads are just streams.
    let is_of_program = |index: u32| of_program.contains(&events.places.get(index).category);
    for (row, index) in of_threads(events, &seen) {
        if is_of_program(index)
            && matches!(row.phase, Phase::Complete | Phase::Begin)
            && let Some(seen) = seen.get_mut(&row.thread)
        {
            seen.is_of_program = true;
        }
    }
    seen.retain(|_, seen| seen.is_main || seen.is_of_program);
    if seen.is_empty() {
        return Moves::default();
    }
    let links = &builder.trace.links;
    let mut near = 0;
    for (row, index) in of_threads(events, &seen) {
        if let Of::Stream(stream) = stream_of(events, (index, row), &of_program, links, &mut near)
            && let Some(seen) = seen.get_mut(&row.thread)
        {
            seen.streams.insert(stream);
        }
    }
    let mut wrong: HashMap<(ThreadId, i32), ThreadId> = HashMap::default();
    let mut threads: Vec<(ThreadId, Seen)> = seen.into_iter().collect();
    threads.sort_by_key(|(thread, _)| *thread);
    for (thread, seen) in threads {
        for stream in seen.streams.iter().copied() {
            let is_joined = seen.is_main && stream == DEFAULT_STREAM && seen.streams.len() > 1;
            if seen.is_of_program || is_joined {
                let own = add_stream(builder, thread, stream, seen.is_of_program);
                wrong.extend(own.map(|own| ((thread, stream), own)));
            }
        }
    }
    if wrong.is_empty() {
        return Moves::default();
    }
    Moves(Mover::new(builder, events, &wrong, &of_program).moves())
}

/// Finds what belongs to threads that are taken apart.
struct Mover<'a> {
    builder: &'a TraceBuilder,
    events: &'a EventTable,
    /// The threads of streams that are now on others, by where they are and their number.
    wrong: &'a HashMap<(ThreadId, i32), ThreadId>,
    of_program: &'a [StringId],
    thread_name: Option<StringId>,
    gpu_annotations: Vec<StringId>,
    /// Streams by the threads they are on and the times at which work starts there; `None` where that of several streams does.
    starts: HashMap<(ThreadId, i64), Option<i32>>,
    /// The same by correlation id.
    starts_of: HashMap<(ThreadId, i64, i64), i32>,
    moves: Vec<(u32, ThreadId)>,
}

impl<'a> Mover<'a> {
    fn new(
        builder: &'a TraceBuilder,
        events: &'a EventTable,
        wrong: &'a HashMap<(ThreadId, i32), ThreadId>,
        of_program: &'a [StringId],
    ) -> Mover<'a> {
        Mover {
            builder,
            events,
            wrong,
            of_program,
            thread_name: builder.trace.strings.find("thread_name"),
            gpu_annotations: ids_of(builder, GPU_ANNOTATIONS),
            starts: HashMap::default(),
            starts_of: HashMap::default(),
            moves: Vec::new(),
        }
    }

    fn moves(mut self) -> Vec<(u32, ThreadId)> {
        let links = &self.builder.trace.links;
        let threads: HashSet<ThreadId> = self.wrong.keys().map(|(thread, _)| *thread).collect();
        let mut near = 0;
        let mut others = Vec::new();
        for (row, index) in self.events.rows.iter().zip(0..) {
            if !threads.contains(&row.thread) {
                continue;
            }
            match stream_of(self.events, (index, row), self.of_program, links, &mut near) {
                Of::Stream(stream) => {
                    let correlation = links.get(near).correlation;
                    let only = self.starts.entry((row.thread, row.ts)).or_insert(Some(stream));
                    *only = only.filter(|only| *only == stream);
                    self.starts_of.insert((row.thread, row.ts, correlation), stream);
                    self.move_to(index, row.thread, stream);
                }
                Of::Program => {}
                Of::Other => others.push(index),
            }
        }
        for index in others {
            let row = self.events.rows.get(index);
            let stream = self.stream_beside(index, row);
            if let Some(stream) = stream {
                self.move_to(index, row.thread, stream);
            }
        }
        self.move_ends(&threads);
        self.moves
    }

    fn move_to(&mut self, event: u32, thread: ThreadId, stream: i32) {
        self.moves.extend(self.wrong.get(&(thread, stream)).map(|own| (event, *own)));
    }

    /// The stream of an event that does not name it.
    fn stream_beside(&self, index: u32, row: EventRow) -> Option<i32> {
        let only = || self.starts.get(&(row.thread, row.ts)).copied().flatten();
        match row.phase {
            Phase::Metadata if Some(row.name) == self.thread_name => {
                let name = text_of_member(&self.builder.trace, self.events.places.get(index).args(), "name");
                name.and_then(|name| number_of_stream(&name))
            }
            // Arrows from launches end where the work starts, and have its id.
            Phase::FlowStep | Phase::FlowEnd => {
                let id = match self.events.extras.get(row.extra as usize).map(|extra| extra.id) {
                    Some(EventKey::Int(id)) => Some(id),
                    _ => (row.flags & flag::INT_ID != 0).then_some(row.dur),
                };
                self.starts_of.get(&(row.thread, row.ts, id?)).copied()
            }
            // They start with the first work in them.
            Phase::Complete | Phase::Begin => {
                let is_on_gpu = self.gpu_annotations.contains(&self.events.places.get(index).category);
                is_on_gpu.then(|| only().or_else(|| self.number_of(row.thread))).flatten()
            }
            _ => None,
        }
    }

    fn number_of(&self, thread: ThreadId) -> Option<i32> {
        match self.builder.trace.threads.key.get(thread.0 as usize)? {
            Key::Number(number) => i32::try_from(*number).ok(),
            Key::Text(_) | Key::Digits(_) => None,
        }
    }

    /// Ends go where their begins went.
    fn move_ends(&mut self, threads: &HashSet<ThreadId>) {
        let moved: HashMap<u32, ThreadId> = self.moves.iter().copied().collect();
        let rows = &self.events.rows;
        let is_of_pair = |index: &u32| {
            matches!(rows.phase(*index), Phase::Begin | Phase::End)
                && threads.contains(&rows.get(*index).thread)
        };
        let mut order: Vec<u32> = (0..rows.len() as u32).filter(is_of_pair).collect();
        order.sort_by_key(|index| rows.ts[*index as usize]);
        let mut open: HashMap<ThreadId, OpenBegins> = HashMap::default();
        for index in order {
            let row = rows.get(index);
            let (open, category) =
                (open.entry(row.thread).or_default(), self.events.places.get(index).category);
            if row.phase == Phase::Begin {
                open.push(index, row.name, category);
                continue;
            }
            // What runs on two threads is not nested, so ends that say what they end are believed first.
            let name = Some(row.name).filter(|name| *name != StringId::EMPTY);
            let begin = open.take(name, category.some()).or_else(|| open.take(None, None));
            let thread = begin.and_then(|begin| moved.get(&begin));
            self.moves.extend(thread.map(|thread| (index, *thread)));
        }
    }
}

/// The events of some threads, with their numbers.
fn of_threads<'a>(
    events: &'a EventTable,
    threads: &HashMap<ThreadId, Seen>,
) -> impl Iterator<Item = (EventRow, u32)> + use<'a> {
    let n_threads = threads.keys().map(|thread| thread.0 as usize + 1).max().unwrap_or(0);
    let mut wanted = vec![false; n_threads];
    threads.keys().for_each(|thread| wanted[thread.0 as usize] = true);
    let is_wanted = move |thread: ThreadId| wanted.get(thread.0 as usize).copied().unwrap_or(false);
    events.rows.iter().zip(0..).filter(move |(row, _)| is_wanted(row.thread))
}

/// Threads that could be such: with the number of a stream, or main threads where work is on stream 0, in a process with the number
/// of a GPU.
fn possible_threads(builder: &TraceBuilder) -> HashMap<ThreadId, Seen> {
    let (threads, processes, links) =
        (&builder.trace.threads, &builder.trace.processes, &builder.trace.links);
    let mut streams: HashSet<i64> = HashSet::default();
    let mut last = None;
    for row in 0..links.len() {
        let stream = links.stream(row);
        if last != Some(stream) {
            last = Some(stream);
            streams.insert(i64::from(stream));
        }
    }
    let possible = |thread: usize| {
        let process = processes.key.get(threads.process[thread].0 as usize);
        let (Key::Number(key), Some(Key::Number(process))) = (threads.key[thread], process) else {
            return None;
        };
        let is_main = key == *process && key != 0;
        let has_stream = streams.contains(&key) || is_main && streams.contains(&DEFAULT_STREAM.into());
        let is_possible = (0..MAX_GPUS).contains(process) && has_stream;
        let seen = Seen { is_main, ..Seen::default() };
        is_possible.then_some((ThreadId(thread as u32), seen))
    };
    (0..threads.len()).filter_map(possible).collect()
}

fn ids_of(builder: &TraceBuilder, categories: &[&str]) -> Vec<StringId> {
    categories.iter().filter_map(|category| builder.trace.strings.find(category)).collect()
}

/// What an event is of.
enum Of {
    /// A call, an operator or a frame of a program.
    Program,
    /// Work on a stream.
    Stream(i32),
    Other,
}

/// `near` is where the last link was found.
#[inline]
fn stream_of(
    events: &EventTable,
    (index, row): (u32, EventRow),
    of_program: &[StringId],
    links: &LinkTable,
    near: &mut usize,
) -> Of {
    if !matches!(row.phase, Phase::Complete | Phase::Begin) {
        return Of::Other;
    }
    let place = events.places.get(index);
    if of_program.contains(&place.category) {
        return Of::Program;
    }
    let Some(link) = links.find(place.offset, *near) else { return Of::Other };
    *near = link;
    match links.stream(link) {
        LinkTable::NO_STREAM => Of::Other,
        stream => Of::Stream(stream),
    }
}

/// `stream 7 ` as the PyTorch profiler names threads.
fn number_of_stream(name: &str) -> Option<i32> {
    name.trim().strip_prefix("stream ")?.trim().parse().ok()
}

/// A thread of the process of `of`. Where that is a program, number and name of the thread may be taken.
fn add_stream(
    builder: &mut TraceBuilder,
    of: ThreadId,
    stream: i32,
    is_of_program: bool,
) -> Option<ThreadId> {
    let process = *builder.trace.threads.process.get(of.0 as usize)?;
    let name = builder.trace.strings.intern(&format!("stream {stream}"));
    let key = if is_of_program { Key::Text(name) } else { Key::Number(i64::from(stream)) };
    let thread = builder.thread(process, key);
    builder.trace.threads.name[thread.0 as usize] = name;
    Some(thread)
}

//! Streams of GPUs on threads that Chrome traces cannot tell from others.
//!
//! The PyTorch profiler writes GPUs as processes, whose ids are small numbers, and streams as threads. Two collide with others:
//!
//! - Stream 0 of GPU 2: a thread 0 is the main thread of its process, whose id is that of the process (as in Perfetto). So it is
//!   one thread with stream 2.
//! - Stream 7 of GPU 7, where the program is process 7 with main thread 7, as in containers.
//!
//! What runs on one thread counts as nested, so kernels would be children of each other or of operators. The stream in the arguments
//! tells them apart.

use super::TraceBuilder;
use super::metadata::text_of_member;
use crate::base::hash::{HashMap, HashSet};
use crate::base::strings::StringId;
use crate::trace::event_table::{EventRow, EventTable};
use crate::trace::events::Phase;
use crate::trace::links::{CALL_CATEGORIES, LinkTable, OPERATOR_CATEGORIES};
use crate::trace::tracks::{Key, ThreadId};

/// The default stream of CUDA and HIP.
const DEFAULT_STREAM: i32 = 0;
/// Process ids from here on are those of programs only.
const MAX_GPUS: i64 = 1024;

/// What a thread has.
#[derive(Default)]
struct Seen {
    /// It has the number of its process, which is not 0.
    is_main: bool,
    /// Calls and operators of a program.
    is_of_program: bool,
    /// Streams of device work, in order of first appearance.
    streams: Vec<i32>,
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
    let of_program = ids_of(builder, &[CALL_CATEGORIES, OPERATOR_CATEGORIES].concat());
    let links = &builder.trace.links;
    let mut near = 0;
    for (row, index) in events.rows.iter().zip(0..) {
        let Some(seen) = seen.get_mut(&row.thread) else { continue };
        match stream_of(events, (index, row), &of_program, links, &mut near) {
            Of::Program => seen.is_of_program = true,
            Of::Stream(stream) if !seen.streams.contains(&stream) => seen.streams.push(stream),
            Of::Stream(_) | Of::Other => {}
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
    let thread_name = builder.trace.strings.find("thread_name");
    let links = &builder.trace.links;
    let mut near = 0;
    let mut moves = Vec::new();
    for (row, index) in events.rows.iter().zip(0..) {
        if !wrong.keys().any(|(thread, _)| *thread == row.thread) {
            continue;
        }
        let stream = match row.phase {
            Phase::Metadata if Some(row.name) == thread_name => {
                let name = text_of_member(&builder.trace, events.places.get(index).args(), "name");
                name.and_then(|name| number_of_stream(&name))
            }
            _ => match stream_of(events, (index, row), &of_program, links, &mut near) {
                Of::Stream(stream) => Some(stream),
                Of::Program | Of::Other => None,
            },
        };
        let own = stream.and_then(|stream| wrong.get(&(row.thread, stream)));
        moves.extend(own.map(|own| (index, *own)));
    }
    Moves(moves)
}

/// Threads that could be such: with the number of a stream, in a process with the number of a GPU.
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
        let is_possible = (0..MAX_GPUS).contains(process) && streams.contains(&key);
        let seen = Seen { is_main: key == *process && key != 0, ..Seen::default() };
        is_possible.then_some((ThreadId(thread as u32), seen))
    };
    (0..threads.len()).filter_map(possible).collect()
}

fn ids_of(builder: &TraceBuilder, categories: &[&str]) -> Vec<StringId> {
    categories.iter().filter_map(|category| builder.trace.strings.find(category)).collect()
}

/// What an event is of.
enum Of {
    /// A call or an operator of a program.
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

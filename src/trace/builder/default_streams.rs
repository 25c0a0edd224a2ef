//! Stream 0 of a GPU, which Chrome traces cannot tell from the stream with the number of the GPU.
//!
//! The PyTorch profiler writes GPUs as processes and streams as threads. A thread 0 is the main thread of its process, whose id
//! is that of the process (as in Perfetto), so streams 0 and 2 of GPU 2 are one thread. Their work may overlap, so that slices
//! of one would count as children of the other. The stream in the arguments tells them apart.

use super::TraceBuilder;
use super::metadata::text_of_member;
use crate::base::hash::HashMap;
use crate::trace::event_table::{EventRow, EventTable};
use crate::trace::events::Phase;
use crate::trace::tracks::{Key, ThreadId};

/// The default stream of CUDA and HIP.
const DEFAULT_STREAM: i32 = 0;

/// Whether a thread has work of either stream.
#[derive(Clone, Copy, Default)]
struct Streams {
    default: bool,
    own: bool,
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

/// Events of stream 0 on threads that also have work of the stream with the thread's number. Adds the threads they belong to,
/// with key 0.
pub(super) fn find(builder: &mut TraceBuilder, events: &EventTable) -> Moves {
    let numbers = numbers_of_threads(builder);
    if numbers.is_empty() {
        return Moves::default();
    }
    let links = &builder.trace.links;
    let name = builder.trace.strings.find("thread_name");
    let mut streams: HashMap<ThreadId, Streams> = HashMap::default();
    let mut of_default = Vec::new();
    let mut near = 0;
    for (row, index) in events.rows.iter().zip(0..) {
        let Some(number) = numbers.get(&row.thread) else { continue };
        let place = events.places.get(index);
        if row.phase == Phase::Metadata {
            if Some(row.name) == name
                && text_of_member(&builder.trace, place.args(), "name").is_some_and(|name| is_default(&name))
            {
                of_default.push((index, row.thread));
            }
            continue;
        }
        let Some(link) = links.find(place.offset, near) else { continue };
        near = link;
        let seen = streams.entry(row.thread).or_default();
        match links.stream(link) {
            DEFAULT_STREAM => {
                seen.default = true;
                of_default.push((index, row.thread));
            }
            stream if stream == *number => seen.own = true,
            _ => {}
        }
    }
    streams.retain(|_, streams| streams.default && streams.own);
    let mut threads: Vec<ThreadId> = streams.into_keys().collect();
    threads.sort_unstable();
    let others: HashMap<ThreadId, ThreadId> =
        threads.into_iter().filter_map(|thread| Some((thread, add_default(builder, thread)?))).collect();
    let moved = of_default.into_iter().filter_map(|(event, thread)| Some((event, *others.get(&thread)?)));
    Moves(moved.collect())
}

/// Main threads that could be such, with their numbers; none if no work is on the default stream.
fn numbers_of_threads(builder: &TraceBuilder) -> HashMap<ThreadId, i32> {
    let (threads, processes, links) =
        (&builder.trace.threads, &builder.trace.processes, &builder.trace.links);
    let has = |number: i32| (0..links.len()).any(|row| links.stream(row) == number);
    if !has(DEFAULT_STREAM) {
        return HashMap::default();
    }
    let number_of =
        |thread: usize| match (threads.key[thread], processes.key.get(threads.process[thread].0 as usize)) {
            (Key::Number(key), Some(Key::Number(process))) if key == *process => {
                i32::try_from(key).ok().filter(|number| *number > DEFAULT_STREAM && has(*number))
            }
            _ => None,
        };
    (0..threads.len()).filter_map(|thread| Some((ThreadId(thread as u32), number_of(thread)?))).collect()
}

/// The name the PyTorch profiler gives the default stream.
fn is_default(name: &str) -> bool {
    name.trim().strip_prefix("stream ").and_then(|number| number.trim().parse().ok()) == Some(DEFAULT_STREAM)
}

fn add_default(builder: &mut TraceBuilder, of: ThreadId) -> Option<ThreadId> {
    let process = *builder.trace.threads.process.get(of.0 as usize)?;
    let thread = builder.thread(process, Key::Number(i64::from(DEFAULT_STREAM)));
    let name = builder.trace.strings.intern("stream 0");
    builder.trace.threads.name[thread.0 as usize] = name;
    Some(thread)
}

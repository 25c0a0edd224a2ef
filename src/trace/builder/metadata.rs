//! Metadata events: names, order and labels of processes and threads, facts about the machine.

use super::TraceBuilder;
use super::issues::METADATA_VALUE;
use super::members::{as_string, find_member, for_each_member, number_text};
use super::pairing::Walk;
use super::samples::add_named_frames;
use crate::base::hash::HashSet;
use crate::base::json::{Number, unescape_to_string};
use crate::trace::Trace;
use crate::trace::args::ArgsPlace;
use crate::trace::event_table::EventTable;
use crate::trace::events::Phase;
use crate::trace::tracks::{Key, ThreadId};

/// Maximum number of facts from metadata events.
const MAX_FACTS: usize = 200;
/// Maximum bytes of one such fact.
const MAX_FACT_BYTES: usize = 4096;

/// Metadata event by which Tracedrop exports mark a thread that contains overlapping slices of another; its argument `of` is
/// the id of the other.
pub const OVERLAP_EVENT: &str = "tracedrop_overlap";

/// Event by which Perfetto traces of Tracedrop have the metadata of the file, one argument each.
pub const METADATA_EVENT: &str = "tracedrop_metadata";

/// Member by which Chrome traces of Tracedrop mark a thread state without an end.
pub const UNFINISHED_STATE: &str = "tracedrop_unfinished";

/// Start of the sibling merge key of tracks that Tracedrop adds to a Perfetto trace: what is on them was not recorded.
pub const OWN_TRACK: &str = "tracedrop_own";
/// The key of those with notes.
pub const OWN_NOTES: &str = "tracedrop_own:Notes";

/// Starts of the sibling merge keys by which Perfetto traces of Tracedrop tell what a track is that is no thread: states of the
/// thread above, async slices with global and with process-local ids, instants of a process or of the whole trace, and a series of a
/// counter. A colon and a name follow: that of the track, since Perfetto shows siblings of one key as one row, or the id of the
/// counter.
pub const STATES_TRACK: &str = "tracedrop_states";
pub const ASYNC_TRACK: &str = "tracedrop_async";
pub const LOCAL_ASYNC_TRACK: &str = "tracedrop_local_async";
pub const INSTANTS_TRACK: &str = "tracedrop_instants";
pub const SERIES_TRACK: &str = "tracedrop_series";

/// Fills [`crate::trace::tracks::ThreadTable::overlap_of`].
pub(super) fn find_overlaps(builder: &mut TraceBuilder, events: &EventTable) {
    let Some(name) = builder.trace.strings.find(OVERLAP_EVENT) else { return };
    let mut pairs: Vec<(ThreadId, ThreadId)> = Vec::new();
    let all = events.rows.iter().zip(0..);
    for (event, index) in all.filter(|(event, _)| event.phase == Phase::Metadata && event.name == name) {
        let place = events.places.get(index);
        let raw = builder.trace.args.kept(place.args());
        let of = raw.as_deref().and_then(|raw| find_member(raw, "of"));
        let of = of.and_then(|raw| Number::as_i64(number_text(raw))).map(Key::Number);
        let process = builder.trace.threads.process.get(event.thread.0 as usize).copied();
        let of = process.zip(of).and_then(|key| builder.thread_ids.get(&key)).copied();
        pairs.extend(of.filter(|of| *of != event.thread).map(|of| (event.thread, of)));
    }
    // No chains: a thread shown as part of another has no slices of its own.
    let parts: HashSet<ThreadId> = pairs.iter().map(|(part, _)| *part).collect();
    for (part, of) in pairs.into_iter().filter(|(_, of)| !parts.contains(of)) {
        builder.trace.threads.overlap_of[part.0 as usize] = Some(of);
    }
}

pub(super) fn event(walk: &mut Walk<'_>, i: u32) {
    let event = walk.event(i);
    let (args, thread) = (walk.place(i).args(), event.thread.0 as usize);
    let process = walk.process_of(i).0 as usize;
    let trace = &mut walk.builder.trace;
    let name = trace.strings.get(event.name).to_string();
    let ok = match name.as_str() {
        OVERLAP_EVENT => trace.threads.overlap_of[thread].is_some(),
        // A name that only Tracedrop gave.
        "thread_name" if trace.threads.overlap_of[thread].is_some() => true,
        "process_name" | "thread_name" | "process_labels" => {
            let member = if name == "process_labels" { "labels" } else { "name" };
            let text = text_of_member(&walk.builder.trace, args, member);
            let trace = &mut walk.builder.trace;
            match text {
                Some(text) => {
                    let text = trace.strings.intern(&text);
                    match name.as_str() {
                        "process_name" => trace.processes.name[process] = text,
                        "thread_name" => trace.threads.name[thread] = text,
                        _ => trace.processes.labels[process] = text,
                    }
                    true
                }
                None => false,
            }
        }
        "process_sort_index" | "thread_sort_index" => {
            let raw = trace.args.kept(args).unwrap_or_default().into_owned();
            match find_member(&raw, "sort_index").and_then(|raw| Number::as_f64(number_text(raw))) {
                Some(value) => {
                    let index = Some(value as i64 as i32);
                    if name == "process_sort_index" {
                        trace.processes.sort_index[process] = index;
                    } else {
                        trace.threads.sort_index[thread] = index;
                    }
                    true
                }
                None => false,
            }
        }
        "stackFrames" => {
            let raw = trace.args.kept(args).unwrap_or_default().into_owned();
            let frames = find_member(&raw, "stackFrames");
            if let Some(frames) = frames {
                add_named_frames(walk.builder, frames);
            }
            frames.is_some()
        }
        _ => {
            let facts = &mut trace.source.metadata;
            if let Some(raw) = trace.args.kept(args) {
                for_each_member(&raw, |key, value| {
                    if facts.len() < MAX_FACTS && value.len() <= MAX_FACT_BYTES {
                        let text = match as_string(value) {
                            Some(text) => unescape_to_string(text),
                            None => String::from_utf8_lossy(value).into_owned(),
                        };
                        let key = unescape_to_string(key);
                        let row = (format!("{name}.{key}"), text);
                        // Repeating it for each process adds nothing.
                        if !facts.contains(&row) {
                            facts.push(row);
                        }
                    }
                });
            }
            true
        }
    };
    if !ok {
        walk.drop_event(i, &METADATA_VALUE);
    }
}

/// Text of a member of the arguments of an event; `None` if there is none or it is empty.
pub(super) fn text_of_member(trace: &Trace, args: ArgsPlace, member: &str) -> Option<String> {
    let raw = trace.args.kept(args)?;
    let text = unescape_to_string(as_string(find_member(&raw, member)?)?);
    (!text.is_empty()).then_some(text)
}

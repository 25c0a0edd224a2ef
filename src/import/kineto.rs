//! Events of other profilers in the layout of Kineto, by which all GPU reports know them: categories, names of arguments, and
//! metadata on GPUs.

use super::chrome_trace::links::{Linked, LinkedCategories, taken_of};
use crate::base::hash::HashMap;
use crate::base::json::write::{push_f64, push_string};
use crate::base::strings::StringId;
use crate::trace::events::{Event, EventExtra, NO_EXTRA, Phase, flag};
use crate::trace::tracks::ThreadId;
use crate::trace::{IssueKind, Position, TraceBuilder};
use std::fmt::Display;
use std::io::Write;

/// Most memory that all arguments take, which cannot be read again from the file.
const MAX_ARGS_BYTES: usize = if usize::BITS == 32 { 512 << 20 } else { 64 << 30 };

/// Place of a record in the content.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where it starts. Different for all records.
    pub offset: u64,
    /// Its own bytes: 0 if they are counted elsewhere.
    pub len: u64,
}

impl Place {
    pub fn position(self) -> Position {
        Position { byte: self.offset, line: None }
    }
}

/// An event to be added.
pub struct NewRow {
    pub phase: Phase,
    /// Nanoseconds.
    pub ts: i64,
    pub dur: i64,
    pub thread: ThreadId,
    pub name: StringId,
    /// A category of Kineto; empty for none.
    pub category: &'static str,
    pub extra: Option<EventExtra>,
    pub place: Place,
}

/// Adds events to a trace.
#[derive(Default)]
pub struct Events {
    linked: LinkedCategories,
    categories: HashMap<&'static str, StringId>,
    /// The last one: that of the next event, mostly.
    last: Option<(&'static str, StringId)>,
}

impl Events {
    /// Adds an event with its arguments, and takes them; `no_room` is reported if they are left out, since there are too many.
    pub fn push(
        &mut self,
        new: NewRow,
        args: &mut Args,
        no_room: &'static IssueKind,
        out: &mut TraceBuilder,
    ) {
        let NewRow { phase, ts, dur, thread, name, category, extra, place } = new;
        let category = match category {
            "" => StringId::NONE,
            text => match self.last {
                Some((last, id)) if std::ptr::eq(last, text) => id,
                _ => {
                    let id = *self.categories.entry(text).or_insert_with(|| out.trace.strings.intern(text));
                    self.last = Some((text, id));
                    id
                }
            },
        };
        let mut args_len = 0;
        if let Some(json) = args.take().filter(|_| !out.is_spilling()) {
            let linked = self.linked.get(category, &out.trace.strings);
            if linked != Linked::No {
                let taken = taken_of(linked, json);
                if let Some(link) = taken.link {
                    out.trace.links.push(place.offset, link);
                }
                if let Some(signature) = taken.signature {
                    out.trace.signatures.push(place.offset, signature);
                }
            }
            if out.trace.args.n_kept_bytes() > MAX_ARGS_BYTES {
                out.trace.ledger.file(no_room, place.position(), b"");
            } else {
                out.trace.args.keep(place.offset + 1, json);
                args_len = u32::try_from(json.len()).unwrap_or(u32::MAX);
            }
        }
        args.clear();
        let row = Event {
            ts,
            dur,
            offset: place.offset,
            len: u32::try_from(place.len).unwrap_or(u32::MAX),
            args_at: u32::from(args_len > 0),
            args_len,
            thread,
            name,
            category,
            extra: NO_EXTRA,
            phase,
            unused: 0,
            flags: flag::HAS_PID | flag::HAS_TID,
        };
        out.events.push(row, extra);
    }
}

/// Arguments of one event as JSON.
#[derive(Default)]
pub struct Args {
    json: Vec<u8>,
}

impl Args {
    pub fn clear(&mut self) {
        self.json.clear();
    }

    /// The object, until [`Args::clear`]; `None` if it is empty.
    pub fn take(&mut self) -> Option<&[u8]> {
        if self.json.is_empty() {
            return None;
        }
        self.json.push(b'}');
        Some(&self.json)
    }

    fn key(&mut self, name: &str) -> &mut Vec<u8> {
        self.json.push(if self.json.is_empty() { b'{' } else { b',' });
        push_string(name, &mut self.json);
        self.json.push(b':');
        &mut self.json
    }

    /// Something that is written as in JSON.
    fn plain(&mut self, name: &str, value: impl Display) {
        // Writing to memory cannot fail.
        let _ = write!(self.key(name), "{value}");
    }

    fn integer(&mut self, name: &str, value: impl itoa::Integer) {
        self.key(name).extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    pub fn int(&mut self, name: &str, value: Option<i64>) {
        if let Some(value) = value {
            self.integer(name, value);
        }
    }

    pub fn unsigned(&mut self, name: &str, value: u64) {
        self.integer(name, value);
    }

    /// An address in memory, as text: its bits are no number.
    pub fn address(&mut self, name: &str, value: Option<i64>) {
        if let Some(value) = value {
            self.plain(name, format_args!("\"{value:#x}\""));
        }
    }

    pub fn null(&mut self, name: &str) {
        self.plain(name, "null");
    }

    pub fn float(&mut self, name: &str, value: f64) {
        push_f64(value, self.key(name));
    }

    /// A text as UTF-8, which may be invalid.
    pub fn text(&mut self, name: &str, value: &[u8]) {
        push_string(&String::from_utf8_lossy(value), self.key(name));
    }

    /// A list of three integers, as grids and blocks have.
    pub fn list<T: itoa::Integer + Copy>(&mut self, name: &str, value: Option<[T; 3]>) {
        let Some(numbers) = value else { return };
        let json = self.key(name);
        let mut before: &[u8] = b"[";
        for number in numbers {
            json.extend_from_slice(before);
            json.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
            before = b", ";
        }
        json.push(b']');
    }

    /// The id that links a call and what it launched, which is different in all processes of the trace. 0 and null are none.
    pub fn correlation(&mut self, id: Option<i64>) {
        self.int("correlation", id.filter(|id| *id != 0));
    }

    /// Size of a copy, and the bandwidth that follows from its duration.
    pub fn bytes(&mut self, bytes: Option<i64>, start: Option<i64>, end: Option<i64>) {
        self.int("bytes", bytes);
        if let (Some(bytes), Some(start), Some(end)) = (bytes, start, end)
            && bytes > 0
            && let Some(ns) = end.checked_sub(start).filter(|ns| *ns > 0)
        {
            self.float("memory bandwidth (GB/s)", bytes as f64 / ns as f64);
        }
    }
}

/// Facts on a GPU, as Kineto writes them.
pub struct GpuFacts {
    /// The number by which the GPU is shown; `None` if no such GPU is shown, or it is unknown which.
    pub id: Option<i64>,
    pub name: String,
    pub memory_bytes: Option<i64>,
    pub n_sms: Option<i64>,
    pub warp_size: i64,
}

/// Adds `deviceProperties` to the metadata of the trace.
pub fn put_gpus(gpus: &[GpuFacts], out: &mut TraceBuilder) {
    if gpus.is_empty() {
        return;
    }
    let mut json = b"[".to_vec();
    for gpu in gpus {
        if json.len() > 1 {
            json.push(b',');
        }
        let mut args = Args::default();
        args.int("id", gpu.id);
        args.text("name", gpu.name.as_bytes());
        args.int("totalGlobalMem", gpu.memory_bytes);
        args.int("numSms", gpu.n_sms);
        args.int("warpSize", Some(gpu.warp_size));
        json.extend_from_slice(args.take().unwrap_or_default());
    }
    json.push(b']');
    let text = String::from_utf8_lossy(&json).into_owned();
    out.trace.source.metadata.push(("deviceProperties".to_string(), text));
}

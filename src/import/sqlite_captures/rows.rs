//! Rows of tables, and the events they become.

use super::issues::{NEGATIVE, NO_ROOM, NO_TIME};
use super::parquet_folder::Group;
use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::import::kineto::{Args, Events, NewRow, Place};
use crate::sqlite::{Column, Encoding, Record, Value, value_at};
use crate::trace::events::{EventExtra, EventKey, Phase};
use crate::trace::slices::UNFINISHED;
use crate::trace::tracks::{Key, ProcessId, ThreadId};
use crate::trace::{IssueKind, TraceBuilder};
use std::borrow::Cow;

/// A column of a table, if the table has it. Columns differ by version, writer and options.
pub type Col = Option<Column>;

/// A row of a table.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub rowid: i64,
    pub values: Values<'a>,
}

/// Where the values of a row are.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    /// A record of a database, with the encoding of its texts.
    Record { payload: &'a [u8], record: &'a Record, encoding: Encoding },
    /// The same, without the places of the values: cheaper for the first column or two.
    Payload { payload: &'a [u8], encoding: Encoding },
    /// Row `at` of a row group of a Parquet table.
    Group { group: &'a Group<'a>, at: usize },
}

impl<'a> Values<'a> {
    /// Value in a column of a database; `None` if the row is older than the column, null in Parquet tables.
    fn stored(self, column: usize) -> Option<Value<'a>> {
        match self {
            Values::Record { payload, record, .. } => record.get(payload, column),
            Values::Payload { payload, .. } => value_at(payload, column),
            Values::Group { .. } => Some(Value::Null),
        }
    }
}

impl<'a> Row<'a> {
    /// Value in a column of a database.
    fn value(&self, column: Column) -> Value<'a> {
        match column {
            Column::RowId => Value::Int(self.rowid),
            Column::Stored(at) => self.values.stored(at).unwrap_or(Value::Null),
            Column::Defaulted(at, default) => self.values.stored(at).unwrap_or(Value::Int(default)),
        }
    }

    pub fn int(&self, column: Col) -> Option<i64> {
        match (column?, self.values) {
            // Nearly all values that are asked for.
            (Column::Stored(at), Values::Record { payload, record, .. }) => record.int(payload, at),
            (Column::Stored(at), Values::Group { group, at: row }) => group.column(at)?.int(row),
            (column, _) => self.value(column).as_int(),
        }
    }

    /// A number of any type.
    pub fn number(&self, column: Col) -> Option<f64> {
        match (column?, self.values) {
            (Column::Stored(at), Values::Group { group, at: row }) => group.column(at)?.number(row),
            (column, _) => match self.value(column) {
                Value::Real(value) => Some(value),
                value => value.as_int().map(|value| value as f64),
            },
        }
    }

    /// A text as UTF-8, which may be invalid.
    pub fn text(&self, column: Col) -> Option<Cow<'a, [u8]>> {
        match (column?, self.values) {
            (Column::Stored(at), Values::Group { group, at: row }) => {
                Some(Cow::Borrowed(group.column(at)?.text(row)?.as_bytes()))
            }
            (_, Values::Group { .. }) => None,
            (column, Values::Record { encoding, .. } | Values::Payload { encoding, .. }) => {
                match self.value(column) {
                    Value::Text(text) => Some(encoding.to_utf8(text)),
                    _ => None,
                }
            }
        }
    }

    /// Whether a value is bytes without a meaning.
    pub fn is_blob(&self, column: Col) -> bool {
        column.is_some_and(|column| matches!(self.value(column), Value::Blob(_)))
    }

    /// Three integers; `None` unless all are there.
    pub fn triple(&self, columns: [Col; 3]) -> Option<[i64; 3]> {
        let [x, y, z] = columns.map(|column| self.int(column));
        Some([x?, y?, z?])
    }
}

/// An event to be added. Its arguments are those of [`Rows::args`].
pub struct NewEvent {
    pub thread: ThreadId,
    pub name: StringId,
    /// A category of Kineto, by which everything else knows what an event is.
    pub category: &'static str,
    /// Nanoseconds.
    pub start: Option<i64>,
    pub end: Option<i64>,
}

/// Adds events to a trace.
#[derive(Default)]
pub struct Rows {
    events: Events,
    pub args: Args,
    /// Kept rows by kind, in order of first appearance.
    kinds: Vec<(String, u64)>,
    next_async: i64,
}

impl Rows {
    /// Adds a slice, and counts its row. Takes the arguments.
    pub fn slice(&mut self, kind: usize, new: &NewEvent, place: Place, out: &mut TraceBuilder) {
        let (Some(start), Some(end)) = (new.start, new.end) else {
            return self.skip(&NO_TIME, place, out);
        };
        let Some(dur) = end.checked_sub(start).filter(|dur| *dur >= 0) else {
            return self.skip(&NEGATIVE, place, out);
        };
        self.push(Phase::Complete, dur, start, new, None, place, out);
        self.kept(kind, place, out);
    }

    /// Adds a slice that lasts to the end of the trace, and counts its row.
    pub fn open_slice(&mut self, kind: usize, new: &NewEvent, place: Place, out: &mut TraceBuilder) {
        let Some(start) = new.start else { return self.skip(&NO_TIME, place, out) };
        self.push(Phase::Begin, 0, start, new, None, place, out);
        self.kept(kind, place, out);
    }

    /// Adds an instant, and counts its row.
    pub fn instant(&mut self, kind: usize, new: &NewEvent, place: Place, out: &mut TraceBuilder) {
        let Some(start) = new.start else { return self.skip(&NO_TIME, place, out) };
        self.push(Phase::Instant, 0, start, new, None, place, out);
        self.kept(kind, place, out);
    }

    /// Adds a state of a thread that lasts until its next one, and counts its row.
    pub fn state(&mut self, kind: usize, new: &NewEvent, place: Place, out: &mut TraceBuilder) {
        let Some(start) = new.start else { return self.skip(&NO_TIME, place, out) };
        self.push(Phase::ThreadState, UNFINISHED, start, new, None, place, out);
        self.kept(kind, place, out);
    }

    /// Adds a slice that begins on one thread and ends on another, and counts its row.
    pub fn crossing(
        &mut self,
        kind: usize,
        new: &NewEvent,
        end_thread: ThreadId,
        place: Place,
        out: &mut TraceBuilder,
    ) {
        let (Some(start), Some(end)) = (new.start, new.end) else {
            return self.skip(&NO_TIME, place, out);
        };
        if end < start {
            return self.skip(&NEGATIVE, place, out);
        }
        self.next_async += 1;
        let extra = || Some(EventExtra { id: EventKey::Int(self.next_async), ..EventExtra::default() });
        let (begin, finish) = (extra(), extra());
        self.push(Phase::AsyncBegin, 0, start, new, begin, place, out);
        let last = NewEvent { thread: end_thread, start: None, end: None, ..*new };
        self.push(Phase::AsyncEnd, 0, end, &last, finish, Place { len: 0, ..place }, out);
        self.kept(kind, place, out);
    }

    pub fn skip(&mut self, why: &'static IssueKind, place: Place, out: &mut TraceBuilder) {
        self.args.clear();
        out.trace.ledger.skip_record(why, place.position(), place.len, b"");
    }

    /// Names a kind of rows; returns its index.
    pub fn add_kind(&mut self, name: &str) -> usize {
        match self.kinds.iter().position(|(own, _)| own == name) {
            Some(at) => at,
            None => {
                self.kinds.push((name.to_string(), 0));
                self.kinds.len() - 1
            }
        }
    }

    /// Counts a row that was used.
    pub fn kept(&mut self, kind: usize, place: Place, out: &mut TraceBuilder) {
        out.trace.ledger.keep(place.len);
        if let Some((_, n)) = self.kinds.get_mut(kind) {
            *n += 1;
        }
    }

    /// Kept rows by kind.
    pub fn record_kinds(&self) -> Vec<(String, u64)> {
        self.kinds.iter().filter(|(_, n)| *n > 0).cloned().collect()
    }

    #[expect(clippy::too_many_arguments, reason = "parts of one event")]
    fn push(
        &mut self,
        phase: Phase,
        dur: i64,
        ts: i64,
        new: &NewEvent,
        extra: Option<EventExtra>,
        place: Place,
        out: &mut TraceBuilder,
    ) {
        let NewEvent { thread, name, category, .. } = *new;
        let row = NewRow { phase, ts, dur, thread, name, category, extra, place };
        self.events.push(row, &mut self.args, &NO_ROOM, out);
    }
}

/// Ids that count anew in each scope (a process, a capture), made different in the whole trace. Those of the first scope stay.
#[derive(Default)]
pub struct Scopes {
    numbers: HashMap<i64, i64>,
}

impl Scopes {
    pub fn id(&mut self, scope: i64, id: Option<i64>) -> Option<i64> {
        let next = self.numbers.len() as i64;
        let number = *self.numbers.entry(scope).or_insert(next);
        id.filter(|id| *id != 0).map(|id| id ^ number << 32)
    }
}

/// GPU, scope, number and kind of a stream.
type Stream = (ProcessId, i64, i64, &'static str);

/// GPUs of a capture, each a process as in profiles of Kineto, with a thread for each stream.
#[derive(Default)]
pub struct Gpus {
    processes: HashMap<(i64, i64), ProcessId>,
    /// GPUs known only by a process and its number for them.
    unknown: HashMap<(Option<i64>, Option<i64>), ProcessId>,
    streams: HashMap<Stream, ThreadId>,
    /// The last one: that of the next row, often.
    last: Option<(Stream, ThreadId)>,
    /// Scopes that have streams of a number on a GPU.
    scopes: HashMap<(ProcessId, i64), HashMap<i64, usize>>,
    hosts: HashMap<i64, i64>,
}

impl Gpus {
    /// The process of GPU `number` of `host`.
    pub fn process(&mut self, host: i64, number: i64, out: &mut TraceBuilder) -> ProcessId {
        if let Some(process) = self.processes.get(&(host, number)) {
            return *process;
        }
        let next = self.hosts.len() as i64;
        let host_number = *self.hosts.entry(host).or_insert(next);
        let strings = &mut out.trace.strings;
        let (key, name) = match host_number {
            0 => (Key::Number(number), strings.intern(&format!("GPU {number}"))),
            // The form in which tools write ranks that they merge.
            _ => (
                Key::Text(strings.intern(&format!("[node {host_number}] {number}"))),
                strings.intern(&format!("[node {host_number}] GPU {number}")),
            ),
        };
        let process = out.trace.processes.push(key);
        out.trace.processes.name[process.0 as usize] = name;
        self.processes.insert((host, number), process);
        process
    }

    /// The process of a GPU that is known only as device `number` of the process with that id, if at all.
    pub fn unknown(&mut self, pid: Option<i64>, number: Option<i64>, out: &mut TraceBuilder) -> ProcessId {
        if let Some(process) = self.unknown.get(&(pid, number)) {
            return *process;
        }
        let gpu = number.map_or("unknown GPU".to_string(), |number| format!("GPU {number}"));
        let text = match pid {
            Some(pid) => format!("{gpu} of process {pid}"),
            None => format!("{gpu} of an unknown process"),
        };
        let name = out.trace.strings.intern(&text);
        let process = out.trace.processes.push(Key::Text(name));
        out.trace.processes.name[process.0 as usize] = name;
        self.unknown.insert((pid, number), process);
        process
    }

    /// The thread of a stream of a GPU; streams of one number in several scopes (processes, contexts) are different ones. `kind` is
    /// what to add to its name. A `number` of -1 is none.
    pub fn stream(
        &mut self,
        gpu: ProcessId,
        scope: i64,
        number: i64,
        kind: &'static str,
        out: &mut TraceBuilder,
    ) -> ThreadId {
        let stream = (gpu, scope, number, kind);
        if let Some((last, thread)) = self.last
            && (last.0, last.1, last.2) == (gpu, scope, number)
            && std::ptr::eq(last.3, kind)
        {
            return thread;
        }
        if let Some(thread) = self.streams.get(&stream) {
            self.last = Some((stream, *thread));
            return *thread;
        }
        let scopes = self.scopes.entry((gpu, number)).or_default();
        let next = scopes.len();
        let at = *scopes.entry(scope).or_insert(next);
        let text = match (number, kind) {
            // A stream whose number is unknown has kernels, too.
            (-1, kind) if !kind.is_empty() => format!("{} without a stream", kind.trim_start()),
            _ => format!("stream {number}{kind}"),
        };
        let text = if at == 0 { text } else { format!("{text} #{}", at + 1) };
        let name = out.trace.strings.intern(&text);
        let is_plain = kind.is_empty() && at == 0;
        let thread =
            out.trace.threads.push(gpu, if is_plain { Key::Number(number) } else { Key::Text(name) });
        out.trace.threads.name[thread.0 as usize] = name;
        self.streams.insert(stream, thread);
        thread
    }
}

/// The last part of a path: folders may name people.
pub fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or(path)
}

//! rocpd databases: `rocprofv3` and rocprofiler-systems (schemas 3.0.0 to 4.1.0 of rocprofiler-sdk, 2025 and 2026).
//!
//! Names of tables end in `_<guid>`, one for each capture in the file; names without it are views, or the tables of older files.
//! Process and thread ids are rows of `rocpd_info_process` and `rocpd_info_thread`. Where something ran is in columns of its table
//! (schema 3), or in `rocpd_track` (schema 4). A dispatch and the call that launched it have the same `correlation_id` in
//! `rocpd_event`, in one capture.
//!
//! `grid_size` counts work items: thread blocks are `grid_size / workgroup_size`. Times are nanoseconds on one clock.

use super::issues::{COMPRESSED, NO_AGENT, NO_TIME};
use super::names::{IdMap, Names, missing};
use super::rows::{Col, Gpus, NewEvent, Row, Rows, Scopes, base_name};
use super::tables::Tables;
use super::{Capture, Opened, Plan};
use crate::base::hash::HashMap;
use crate::base::json::{RawStr, unescape_to_string};
use crate::base::sort;
use crate::import::ImportError;
use crate::import::kineto::{GpuFacts, Place, put_gpus};
use crate::sqlite::Table;
use crate::trace::builder::for_each_member;
use crate::trace::tracks::{Key, ProcessId, ThreadId};
use crate::trace::{Position, TraceBuilder};

/// Tables, without `rocpd_` and suffix. Longer names come before those they begin with.
const TABLES: &[&str] = &[
    "metadata",
    "string",
    "info_node",
    "info_process",
    "info_thread",
    "info_agent",
    "info_queue",
    "info_stream",
    "info_code_object",
    "info_kernel_symbol",
    "info_category",
    "info_pmc",
    "track",
    "event",
    "arg",
    "region",
    "sample",
    "kernel_dispatch",
    "memory_copy",
    "memory_allocate",
    "pmc_event",
];

/// Most captures of one file that are read; there is one for each process of a run.
const MAX_CAPTURES: usize = 2000;

/// Kinds of tables with events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Kernel,
    Copy,
    Region,
}

/// Columns of all tables with events.
struct Columns {
    start: Col,
    end: Col,
    node: Col,
    pid: Col,
    tid: Col,
    track: Col,
    agent: Col,
    queue: Col,
    stream: Col,
    name: Col,
    event: Col,
    size: Col,
    target: Col,
    source: Col,
    workgroup: [Col; 3],
    grid: [Col; 3],
    group_memory: Col,
    private_memory: Col,
}

impl Columns {
    fn of(table: &Table) -> Columns {
        let column = |name: &str| table.column(name);
        Columns {
            start: column("start"),
            end: column("end"),
            node: column("nid"),
            pid: column("pid"),
            tid: column("tid"),
            track: column("track_id"),
            agent: column("agent_id"),
            queue: column("queue_id"),
            stream: column("stream_id"),
            name: column("kernel_id").or(column("name_id")),
            event: column("event_id"),
            size: column("size"),
            target: column("dst_agent_id"),
            source: column("src_agent_id"),
            workgroup: ["workgroup_size_x", "workgroup_size_y", "workgroup_size_z"].map(column),
            grid: ["grid_size_x", "grid_size_y", "grid_size_z"].map(column),
            group_memory: column("group_segment_size"),
            private_memory: column("private_segment_size"),
        }
    }
}

/// Where something ran: ids of rows.
#[derive(Clone, Copy, Default)]
struct Where {
    node: Option<i64>,
    pid: Option<i64>,
    tid: Option<i64>,
    agent: Option<i64>,
    queue: Option<i64>,
    stream: Option<i64>,
}

struct Agent {
    is_gpu: bool,
    /// Number of the GPU among GPUs.
    number: i64,
    /// Number among all agents.
    absolute: i64,
    name: String,
}

/// What `rocpd_event` has of an event.
#[derive(Clone, Copy)]
struct Event {
    correlation: i64,
    category: i64,
}

/// A capture: the tables of one suffix.
#[derive(Default)]
struct One {
    suffix: String,
    strings: Names,
    kernels: Names,
    categories: HashMap<i64, String>,
    agents: HashMap<i64, Agent>,
    /// Number and name.
    processes: HashMap<i64, (i64, Vec<u8>)>,
    threads: HashMap<i64, (i64, Vec<u8>)>,
    /// Hash of the machine.
    nodes: HashMap<i64, i64>,
    tracks: IdMap<Where>,
    events: IdMap<Event>,
    /// Texts of markers by event.
    messages: HashMap<i64, Vec<u8>>,
    version: Option<String>,
}

struct EventTable {
    kind: Kind,
    columns: Columns,
    capture: usize,
    rows_kind: usize,
}

#[derive(Default)]
struct Rocpd {
    captures: Vec<One>,
    tables: Vec<EventTable>,
    rows: Rows,
    gpus: Gpus,
    scopes: Scopes,
    processes: HashMap<(usize, Option<i64>), ProcessId>,
    threads: HashMap<(usize, Option<i64>, Option<i64>), ThreadId>,
}

/// Table and suffix of a name.
fn parts(name: &str) -> Option<(&'static str, &str)> {
    let rest = name.strip_prefix("rocpd_")?;
    let found = TABLES.iter().filter_map(|table| Some((*table, rest.strip_prefix(table)?)));
    found
        .filter(|(_, suffix)| suffix.is_empty() || suffix.starts_with('_'))
        .max_by_key(|(table, _)| table.len())
}

/// Reads the dictionaries.
pub fn open(file: &dyn Tables, out: &mut TraceBuilder) -> Result<Opened, ImportError> {
    let mut rocpd = Rocpd::default();
    let mut plans = Vec::new();
    for (i, table) in file.tables().iter().enumerate() {
        let Some((base, suffix)) = parts(&table.name) else {
            plans.push(if table.name.starts_with("sqlite_") { Plan::Ignore } else { Plan::Count });
            continue;
        };
        let capture = match rocpd.captures.iter().position(|one| one.suffix == suffix) {
            Some(at) => at,
            None if rocpd.captures.len() >= MAX_CAPTURES => {
                plans.push(Plan::Count);
                continue;
            }
            None => {
                rocpd.captures.push(One { suffix: suffix.to_string(), ..One::default() });
                rocpd.captures.len() - 1
            }
        };
        let kind = match base {
            "kernel_dispatch" => Kind::Kernel,
            "memory_copy" => Kind::Copy,
            "region" => Kind::Region,
            "memory_allocate" | "sample" | "pmc_event" => {
                plans.push(Plan::Count);
                continue;
            }
            _ => {
                rocpd.captures[capture].read(base, file, i, out)?;
                plans.push(Plan::Ignore);
                continue;
            }
        };
        let rows_kind = rocpd.rows.add_kind(&format!("rocpd_{base}"));
        rocpd.tables.push(EventTable { kind, columns: Columns::of(table), capture, rows_kind });
        plans.push(Plan::Read(rocpd.tables.len() - 1));
    }
    let agents = rocpd.captures.iter().flat_map(|one| one.agents.values());
    let mut gpus: Vec<GpuFacts> = agents
        .filter(|agent| agent.is_gpu)
        .map(|agent| GpuFacts {
            id: Some(agent.number),
            name: agent.name.clone(),
            memory_bytes: None,
            n_sms: None,
            warp_size: 64,
        })
        .collect();
    sort::by(&mut gpus, |a, b| (a.id, &a.name).cmp(&(b.id, &b.name)));
    gpus.dedup_by(|a, b| (a.id, &a.name) == (b.id, &b.name));
    // On machines with different GPUs, one number stands for several models.
    for alike in gpus.chunk_by_mut(|a, b| a.id == b.id).filter(|alike| alike.len() > 1) {
        alike.iter_mut().for_each(|gpu| gpu.id = None);
    }
    put_gpus(&gpus, out);
    if let Some(version) = rocpd.captures.iter().find_map(|one| one.version.clone()) {
        out.trace.source.metadata.push(("schema_version".to_string(), version));
    }
    Ok(Opened { capture: Box::new(rocpd), plans })
}

impl One {
    /// Reads a dictionary.
    fn read(
        &mut self,
        base: &str,
        file: &dyn Tables,
        table: usize,
        out: &mut TraceBuilder,
    ) -> Result<(), ImportError> {
        let Some(columns) = file.tables().get(table) else { return Ok(()) };
        let col = |name: &str| columns.column(name);
        let id = col("id");
        let mut n_compressed = 0u64;
        match base {
            "metadata" => {
                let (tag, value) = (col("tag"), col("value"));
                file.each_row(table, out, |row| {
                    if row.text(tag).is_some_and(|tag| &*tag == b"schema_version") {
                        self.version =
                            row.text(value).map(|value| String::from_utf8_lossy(&value).into_owned());
                    }
                })?;
            }
            "string" => {
                let text = col("string");
                file.each_row(table, out, |row| match (row.int(id), row.text(text)) {
                    (Some(id), Some(text)) => self.strings.insert(id, &text),
                    (Some(_), None) if row.is_blob(text) => n_compressed += 1,
                    _ => {}
                })?;
            }
            "info_kernel_symbol" => {
                let (shown, name) = (col("display_name"), col("kernel_name"));
                file.each_row(table, out, |row| {
                    let shown = row.text(shown).filter(|shown| !shown.is_empty());
                    if let (Some(id), Some(name)) = (row.int(id), shown.or_else(|| row.text(name))) {
                        self.kernels.insert(id, name.strip_suffix(b".kd").unwrap_or(&name));
                    }
                })?;
            }
            "info_category" => {
                let name = col("name");
                file.each_row(table, out, |row| {
                    if let (Some(id), Some(name)) = (row.int(id), row.text(name)) {
                        self.categories.insert(id, String::from_utf8_lossy(&name).into_owned());
                    }
                })?;
            }
            "info_node" => {
                let names = ["machine_id", "hostname"].map(col);
                file.each_row(table, out, |row| {
                    let text: Vec<u8> = names
                        .iter()
                        .filter_map(|name| row.text(*name))
                        .flat_map(|text| [b"/".to_vec(), text.into_owned()].concat())
                        .collect();
                    if let Some(id) = row.int(id) {
                        // Machines only have to differ; they are never shown.
                        let hash = twox_hash::XxHash64::oneshot(0, &text);
                        self.nodes.insert(id, hash.cast_signed());
                    }
                })?;
            }
            "info_process" | "info_thread" => {
                let is_process = base == "info_process";
                let number = if is_process { col("pid") } else { col("tid") };
                let name = if is_process { col("command") } else { col("name") };
                let numbers = if is_process { &mut self.processes } else { &mut self.threads };
                file.each_row(table, out, |row| {
                    let name = row.text(name).unwrap_or_default();
                    // Options of a command may be secrets.
                    let program = name.split(|byte| *byte == b' ').next().unwrap_or_default();
                    let name = if is_process { base_name(program) } else { &name };
                    if let Some(id) = row.int(id) {
                        numbers.insert(id, (row.int(number).unwrap_or(id), name.to_vec()));
                    }
                })?;
            }
            "info_agent" => {
                let (kind, absolute, number) = (col("type"), col("absolute_index"), col("type_index"));
                let names = ["product_name", "user_name", "model_name", "name"].map(col);
                file.each_row(table, out, |row| {
                    let Some(id) = row.int(id) else { return };
                    let name = names.iter().find_map(|name| row.text(*name).filter(|name| !name.is_empty()));
                    let absolute = row.int(absolute).unwrap_or(id);
                    self.agents.insert(
                        id,
                        Agent {
                            is_gpu: row.text(kind).is_none_or(|kind| &*kind == b"GPU"),
                            number: row.int(number).unwrap_or(absolute),
                            absolute,
                            name: String::from_utf8_lossy(&name.unwrap_or_default()).into_owned(),
                        },
                    );
                })?;
            }
            "track" => {
                // In schema 4, pid and ppid of a track are ids of rows, as elsewhere.
                let [node, pid, tid, agent, queue, stream] =
                    ["nid", "pid", "tid", "agent_id", "queue_id", "stream_id"].map(col);
                file.each_row(table, out, |row| {
                    let Some(id) = row.int(id) else { return };
                    let place = Where {
                        node: row.int(node),
                        pid: row.int(pid),
                        tid: row.int(tid),
                        agent: row.int(agent),
                        queue: row.int(queue),
                        stream: row.int(stream),
                    };
                    self.tracks.insert(id, place);
                })?;
            }
            "event" => {
                let (correlation, category, data) =
                    (col("correlation_id"), col("category_id"), col("extdata"));
                file.each_row(table, out, |row| {
                    let Some(id) = row.int(id) else { return };
                    let event = Event {
                        correlation: row.int(correlation).unwrap_or(0),
                        category: row.int(category).unwrap_or(0),
                    };
                    self.events.insert(id, event);
                    let Some(data) =
                        row.text(data).filter(|data| memchr::memmem::find(data, b"\"message\"").is_some())
                    else {
                        return;
                    };
                    for_each_member(&data, |key, value| {
                        if key.bytes == b"message"
                            && let Some(text) =
                                value.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""))
                            && !text.is_empty()
                        {
                            let text = RawStr { bytes: text, escaped: text.contains(&b'\\') };
                            self.messages.insert(id, unescape_to_string(text).into_bytes());
                        }
                    });
                })?;
            }
            _ => {}
        }
        for _ in 0..n_compressed {
            out.trace.ledger.file(&COMPRESSED, Position::NOWHERE, b"rocpd_string");
        }
        Ok(())
    }

    fn category(&self, event: Option<&Event>) -> String {
        let Some(id) = event.map(|event| event.category) else { return String::new() };
        // A table of its own in schema 4.
        let named = self.categories.get(&id).cloned();
        let named =
            named.or_else(|| self.strings.get(id).map(|text| String::from_utf8_lossy(text).into_owned()));
        named.unwrap_or_default().to_ascii_lowercase()
    }
}

/// Category of Kineto for a region.
fn category_of(category: &str, name: &str) -> &'static str {
    match category {
        _ if category.contains("marker") || category.contains("roctx") => "user_annotation",
        _ if category.starts_with("hip") => "cuda_runtime",
        _ if category.starts_with("hsa") => "cuda_driver",
        _ if category.starts_with("rccl") => "rccl",
        _ if name.starts_with("hip") => "cuda_runtime",
        _ if name.starts_with("hsa_") => "cuda_driver",
        "" => "user_annotation",
        _ => "other",
    }
}

/// Name of a copy as Kineto has it.
pub fn copy_name(name: &str) -> String {
    let known = [
        ("HOST_TO_DEVICE", "HtoD"),
        ("DEVICE_TO_HOST", "DtoH"),
        ("DEVICE_TO_DEVICE", "DtoD"),
        ("HOST_TO_HOST", "HtoH"),
        ("HostToDevice", "HtoD"),
        ("DeviceToHost", "DtoH"),
        ("DeviceToDevice", "DtoD"),
        ("HostToHost", "HtoH"),
        ("PeerToPeer", "PtoP"),
    ];
    match known.iter().find(|(end, _)| name.ends_with(end)) {
        Some((_, short)) => format!("Memcpy {short}"),
        None => format!("Memcpy ({name})"),
    }
}

impl Rocpd {
    fn process(&mut self, capture: usize, id: Option<i64>, out: &mut TraceBuilder) -> ProcessId {
        if let Some(process) = self.processes.get(&(capture, id)) {
            return *process;
        }
        let (number, name) = id
            .map(|id| self.captures[capture].processes.get(&id).cloned().unwrap_or((id, Vec::new())))
            .unwrap_or_default();
        let process = out.trace.processes.push(Key::Number(number));
        if !name.is_empty() {
            out.trace.processes.name[process.0 as usize] = out.trace.strings.intern_bytes(&name);
        }
        self.processes.insert((capture, id), process);
        process
    }

    fn thread(
        &mut self,
        capture: usize,
        pid: Option<i64>,
        tid: Option<i64>,
        out: &mut TraceBuilder,
    ) -> ThreadId {
        if let Some(thread) = self.threads.get(&(capture, pid, tid)) {
            return *thread;
        }
        let process = self.process(capture, pid, out);
        let (number, name) = tid
            .map(|tid| self.captures[capture].threads.get(&tid).cloned().unwrap_or((tid, Vec::new())))
            .unwrap_or_default();
        let thread = out.trace.threads.push(process, Key::Number(number));
        if !name.is_empty() {
            out.trace.threads.name[thread.0 as usize] = out.trace.strings.intern_bytes(&name);
        }
        self.threads.insert((capture, pid, tid), thread);
        thread
    }
}

impl Capture for Rocpd {
    fn row(&mut self, table: usize, row: &Row<'_>, place: Place, out: &mut TraceBuilder) {
        let EventTable { kind, columns, capture, rows_kind } = &self.tables[table];
        let (kind, capture, rows_kind) = (*kind, *capture, *rows_kind);
        let (start, end) = (row.int(columns.start), row.int(columns.end));
        if start.is_none() || end.is_none() {
            return self.rows.skip(&NO_TIME, place, out);
        }
        let one = &mut self.captures[capture];
        let of_track =
            row.int(columns.track).and_then(|track| one.tracks.get(track).copied()).unwrap_or_default();
        let at = Where {
            node: row.int(columns.node).or(of_track.node),
            pid: row.int(columns.pid).or(of_track.pid),
            tid: row.int(columns.tid).or(of_track.tid),
            agent: row.int(columns.agent).or(of_track.agent),
            queue: row.int(columns.queue).or(of_track.queue),
            stream: row.int(columns.stream).or(of_track.stream),
        };
        let event_id = row.int(columns.event);
        let event = event_id.and_then(|id| one.events.get(id)).copied();
        let correlation = self.scopes.id(capture as i64, event.map(|event| event.correlation));
        let name_id = row.int(columns.name);
        if kind == Kind::Region {
            let name = one.strings.intern(name_id, place.offset, out);
            let category = category_of(&one.category(event.as_ref()), out.trace.strings.get(name));
            let message =
                event_id.and_then(|id| one.messages.get(&id)).filter(|_| category == "user_annotation");
            let name = message.map_or(name, |text| out.trace.strings.intern_bytes(text));
            if category != "user_annotation" {
                self.rows.args.correlation(correlation);
            }
            let thread = self.thread(capture, at.pid, at.tid, out);
            return self.rows.slice(rows_kind, &NewEvent { thread, name, category, start, end }, place, out);
        }
        // Of a copy, one end may be a CPU.
        let ends = [at.agent, row.int(columns.target), row.int(columns.source)].into_iter().flatten();
        let agents = ends.filter_map(|id| one.agents.get(&id));
        let agent = agents.clone().find(|agent| agent.is_gpu).or_else(|| agents.clone().next());
        let number = agent.map(|agent| agent.number);
        let absolute = agent.map(|agent| agent.absolute);
        let pid = at.pid.map(|id| one.processes.get(&id).map_or(id, |(pid, _)| *pid));
        let node = at.node.and_then(|node| one.nodes.get(&node).copied()).unwrap_or(0);
        let args = &mut self.rows.args;
        args.int("device", number);
        args.int("agent", absolute);
        args.int("stream", at.stream.or(at.queue));
        args.int("queue", at.queue);
        args.correlation(correlation);
        let (name, category) = match kind {
            Kind::Kernel => {
                let (items, group) = (row.triple(columns.grid), row.triple(columns.workgroup));
                let blocks = items.zip(group).map(|(items, group)| {
                    // The last block may not be full.
                    let of = |i: usize| {
                        let (items, group) = (items[i].max(0), group[i].max(1));
                        items / group + i64::from(items % group != 0)
                    };
                    [of(0), of(1), of(2)]
                });
                args.list("grid", blocks);
                args.list("block", group);
                args.list("work items", items);
                args.int("shared memory", row.int(columns.group_memory));
                args.int("private memory", row.int(columns.private_memory));
                (one.kernels.intern(name_id, place.offset, out), "kernel")
            }
            Kind::Copy | Kind::Region => {
                args.bytes(row.int(columns.size), start, end);
                let name = name_id.and_then(|id| one.strings.get(id)).map(String::from_utf8_lossy);
                let name = match name {
                    Some(name) => out.trace.strings.intern(&copy_name(&name)),
                    None => missing(name_id, place.offset, out),
                };
                (name, "gpu_memcpy")
            }
        };
        let gpu = match number {
            Some(number) => self.gpus.process(node, number, out),
            None => {
                out.trace.ledger.file(&NO_AGENT, place.position(), b"");
                self.gpus.unknown(pid, None, out)
            }
        };
        let scope = (capture as i64) << 32 ^ at.pid.unwrap_or(0);
        let thread = self.gpus.stream(gpu, scope, at.stream.or(at.queue).unwrap_or(-1), "", out);
        self.rows.slice(rows_kind, &NewEvent { thread, name, category, start, end }, place, out);
    }

    fn describe(&self, out: &mut TraceBuilder) {
        out.trace.source.producer = Some("rocprofiler-sdk (rocpd)".to_string());
        out.trace.source.record_kinds = self.rows.record_kinds();
    }
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn tables_are_told_by_name() {
        assert_eq!(parts("rocpd_info_kernel_symbol_00a"), Some(("info_kernel_symbol", "_00a")));
        assert_eq!(parts("rocpd_event"), Some(("event", "")));
        assert_eq!(parts("rocpd_pmc_event_1"), Some(("pmc_event", "_1")));
        assert_eq!((parts("rocpd_events"), parts("x")), (None, None));
    }
}

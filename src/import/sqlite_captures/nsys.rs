//! Nsight Systems: `nsys export -t sqlite` (schemas 3.24 and 3.25 of 2025.5 and 2026.2).
//!
//! Tables exist only if something was recorded, without indexes; columns are documented in comments of their statements. Times are
//! nanoseconds since the start of the session. A `globalTid` has hardware and VM in its upper bits, the process id in bits 24 to 47,
//! and the thread id in bits 0 to 23; a `globalPid` has thread id 0.
//!
//! A call and what it launched have the same `correlationId` and the same process: ids count anew in each.
//! With `--cuda-graph-trace=graph`, a launch of a graph is one row of `CUPTI_ACTIVITY_KIND_GRAPH_TRACE`, and its kernels have none.

use super::call_chains::CallChains;
use super::devices::{Devices, pid_of};
use super::issues::{
    NO_DEVICE, NO_PROCESS, NO_TIME, NO_VALUE, TOO_MANY_SAMPLES, TOO_MANY_VALUES, WHOLE_GRAPH,
};
use super::names::{Names, Shown};
use super::nvtx::{self, Group, Name, NvtxNames};
use super::rows::{Col, Gpus, NewEvent, Row, Rows, Scopes, base_name};
use super::sampled::{GpuMetrics, NicMetrics, ThreadStates};
use super::tables::Tables;
use super::{Capture, Opened, Plan};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::{RecentStrings, StringId};
use crate::import::ImportError;
use crate::import::kineto::{GpuFacts, Place, put_gpus};
use crate::sqlite::Table;
use crate::trace::TraceBuilder;
use crate::trace::samples::StackId;
use crate::trace::tracks::{Key, ProcessId, ThreadId};

/// Whether texts of the first pages name tables of Nsight Systems.
pub fn is_one(text: &str) -> bool {
    ["CUPTI_ACTIVITY_KIND_", "NVTX_EVENTS", "META_DATA_EXPORT", "TARGET_INFO_"]
        .iter()
        .any(|name| text.contains(name))
}

/// Whether only Nsight Systems has a table of this name.
pub fn is_table(name: &str) -> bool {
    name.starts_with("CUPTI_ACTIVITY_KIND_")
        || ["NVTX_EVENTS", "META_DATA_EXPORT", "TARGET_INFO_GPU", "OSRT_API"].contains(&name)
}

/// Whether Nsight Systems writes a table of this name, with events or metadata.
pub fn is_known_table(name: &str) -> bool {
    is_table(name) || is_dictionary(name) || TABLES.iter().any(|(own, _)| *own == name)
}

/// Whether rows of a table are no events: other tables refer to them, or they are metadata.
fn is_dictionary(name: &str) -> bool {
    DICTIONARIES.contains(&name)
        || DICTIONARY_STARTS.iter().any(|start| name.starts_with(start))
        || name.ends_with("CALLCHAINS")
}

/// Tables that only other tables refer to, and metadata.
const DICTIONARIES: &[&str] = &[
    "StringIds",
    "ThreadNames",
    "PROCESSES",
    "ProcessStreams",
    "CUDA_GRAPH_EVENTS",
    "CUDA_GRAPH_NODE_EVENTS",
    "OSRT_FILE_ACCESS_DESCRIPTORS",
    "DIAGNOSTIC_EVENT",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
];
const DICTIONARY_STARTS: &[&str] =
    &["ENUM_", "META_DATA_", "TARGET_INFO_", "ANALYSIS_", "NVTX_PAYLOAD_", "EXPORT_", "sqlite_", "_nsysai_"];

/// Kinds of tables with events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Kernel,
    Copy,
    Fill,
    Graph,
    Call,
    Sync,
    Range,
    System,
    Overhead,
    Metric,
    NicMetric,
    Switch,
    Sample,
    CpuFault,
    GpuFault,
}

const TABLES: &[(&str, Kind)] = &[
    ("CUPTI_ACTIVITY_KIND_KERNEL", Kind::Kernel),
    ("CUPTI_ACTIVITY_KIND_MEMCPY", Kind::Copy),
    ("CUPTI_ACTIVITY_KIND_MEMSET", Kind::Fill),
    ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", Kind::Graph),
    ("CUPTI_ACTIVITY_KIND_RUNTIME", Kind::Call),
    ("CUPTI_ACTIVITY_KIND_DRIVER", Kind::Call),
    ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", Kind::Sync),
    ("NVTX_EVENTS", Kind::Range),
    ("OSRT_API", Kind::System),
    ("PROFILER_OVERHEAD", Kind::Overhead),
    ("CUPTI_ACTIVITY_KIND_OVERHEAD", Kind::Overhead),
    ("GPU_METRICS", Kind::Metric),
    ("SCHED_EVENTS", Kind::Switch),
    ("NET_NIC_METRIC", Kind::NicMetric),
    ("COMPOSITE_EVENTS", Kind::Sample),
    ("CUDA_UM_CPU_PAGE_FAULT_EVENTS", Kind::CpuFault),
    ("CUDA_UM_GPU_PAGE_FAULT_EVENTS", Kind::GpuFault),
];

/// Most CPU samples that are kept; each takes 28 bytes.
const MAX_SAMPLES: usize = if usize::BITS == 32 { 8_000_000 } else { 4 << 30 };

/// Thread of page faults of unified memory, in the process or on the GPU that had them.
const UNIFIED_MEMORY: &str = "Unified memory";

/// Kinds of copies, by `copyKind`, as Kineto shortens them; other kinds are those of `ENUM_CUDA_MEMCPY_OPER`.
const COPIES: &[(i64, &str)] = &[
    (0, "Unknown"),
    (1, "HtoD"),
    (2, "DtoH"),
    (3, "HtoA"),
    (4, "AtoH"),
    (5, "AtoA"),
    (6, "AtoD"),
    (7, "DtoA"),
    (8, "DtoD"),
    (9, "HtoH"),
    (10, "PtoP"),
    (11, "Unified HtoD"),
    (12, "Unified DtoH"),
    (13, "Unified DtoD"),
];

/// Kinds of memory, by `srcKind`, `dstKind` and `memKind`, as Kineto names them.
const MEMORY: &[&str] =
    &["Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"];

/// Waits by `syncType`, as Kineto names them.
const SYNCS: &[(i64, &str)] =
    &[(1, "Event Sync"), (2, "Stream Wait Event"), (3, "Stream Sync"), (4, "Context Sync")];

/// Options of the recording that are shown. All others may name people, machines and folders.
const OPTIONS: &[&str] = &["CUDA_GRAPH_TRACE_OPTIONS:MODE", "CUDA_TRACE_SCOPE"];

/// The stream of a wait for a whole context: `CUPTI_SYNCHRONIZATION_INVALID_VALUE`.
const NO_STREAM: i64 = u32::MAX as i64;

/// Column with the start of the session in nanoseconds since the Unix epoch, and the name of that fact.
const SESSION_START: &str = "utcEpochNs";

/// Columns of all tables with events.
#[derive(Default)]
struct Columns {
    start: Col,
    end: Col,
    device: Col,
    context: Col,
    stream: Col,
    correlation: Col,
    global_pid: Col,
    global_tid: Col,
    end_global_tid: Col,
    id: Col,
    /// `demangledName`, `nameId`, `textId` or `CpuInstruction`.
    name: Col,
    module: Col,
    short_name: Col,
    text: Col,
    bytes: Col,
    /// `copyKind`, `syncType`, `eventType` or `overheadType`.
    kind: Col,
    source: Col,
    target: Col,
    memory: Col,
    value: Col,
    grid: [Col; 3],
    block: [Col; 3],
    registers: Col,
    static_memory: Col,
    dynamic_memory: Col,
    graph: Col,
    graph_node: Col,
    domain: Col,
    category: Col,
    result: Col,
    metric_type: Col,
    metric: Col,
    /// `globalId`, `portId`, `metricsListId` and `metricsIdx` of a metric of a network adapter.
    nic_metric: [Col; 4],
    cpu: Col,
    is_in: Col,
    state: Col,
    /// `virtualAddress` or `address`.
    address: Col,
    /// `migrationCause` or `faultAccessType`.
    cause: Col,
    n_faults: Col,
    program_counter: Col,
}

impl Columns {
    fn of(table: &Table) -> Columns {
        let column = |name: &str| table.column(name);
        let either = |names: &[&str]| names.iter().find_map(|name| table.column(name));
        Columns {
            start: either(&["start", "timestamp"]),
            end: column("end"),
            device: column("deviceId"),
            context: column("contextId"),
            stream: column("streamId"),
            correlation: column("correlationId"),
            global_pid: column("globalPid"),
            global_tid: column("globalTid"),
            end_global_tid: column("endGlobalTid"),
            id: column("id"),
            name: either(&["demangledName", "nameId", "textId", "shortName", "CpuInstruction"]),
            module: column("module"),
            short_name: column("shortName"),
            text: column("text"),
            bytes: column("bytes"),
            kind: either(&["copyKind", "syncType", "eventType", "overheadType"]),
            source: column("srcKind"),
            target: column("dstKind"),
            memory: column("memKind"),
            value: column("value"),
            grid: ["gridX", "gridY", "gridZ"].map(column),
            block: ["blockX", "blockY", "blockZ"].map(column),
            registers: column("registersPerThread"),
            static_memory: column("staticSharedMemory"),
            dynamic_memory: column("dynamicSharedMemory"),
            graph: column("graphId"),
            graph_node: column("graphNodeId"),
            domain: column("domainId"),
            category: column("category"),
            result: column("returnValue"),
            metric_type: column("typeId"),
            metric: column("metricId"),
            cpu: column("cpu"),
            is_in: column("isSchedIn"),
            state: column("threadState"),
            nic_metric: ["globalId", "portId", "metricsListId", "metricsIdx"].map(column),
            address: either(&["virtualAddress", "address"]),
            cause: either(&["migrationCause", "faultAccessType"]),
            n_faults: column("numberOfPageFaults"),
            program_counter: column("originalFaultPc"),
        }
    }
}

/// A table with events: its kind, its columns, and its number among kinds of rows.
struct EventTable {
    kind: Kind,
    columns: Columns,
    rows_kind: usize,
}

#[derive(Default)]
struct Nsys {
    tables: Vec<EventTable>,
    rows: Rows,
    names: Names,
    /// Names of ranges.
    recent: RecentStrings,
    nvtx: NvtxNames,
    /// Labels by table of an enumeration and id.
    copy_labels: HashMap<i64, String>,
    overheads: HashMap<i64, String>,
    migrations: HashMap<i64, String>,
    accesses: HashMap<i64, String>,
    /// Names of threads by `globalTid`, and of processes by `globalPid`.
    thread_names: HashMap<i64, i64>,
    process_names: HashMap<i64, Vec<u8>>,
    processes: HashMap<Option<i64>, ProcessId>,
    threads: HashMap<(Option<i64>, bool), ThreadId>,
    devices: Devices,
    gpus: Gpus,
    scopes: Scopes,
    metrics: GpuMetrics,
    nic_metrics: NicMetrics,
    states: ThreadStates,
    call_chains: CallChains,
    /// Threads of page faults.
    faults: HashMap<ProcessId, ThreadId>,
    producer: Option<String>,
}

/// A `globalTid` without its thread.
fn process_of(global: i64) -> i64 {
    global & !0xff_ffff
}

/// Reads the dictionaries.
pub fn open(file: &dyn Tables, out: &mut TraceBuilder) -> Result<Opened, ImportError> {
    let mut nsys = Nsys::default();
    let find = |name: &str| file.table_named(name);
    let col = |table: usize, name: &str| file.column(table, name);
    if let Some(table) = find("StringIds") {
        let (id, value) = (col(table, "id"), col(table, "value"));
        let names = &mut nsys.names;
        file.each_row(table, out, |row| {
            if let (Some(id), Some(text)) = (row.int(id), row.text(value)) {
                names.insert(id, &text);
            }
        })?;
    }
    for (name, label, labels) in [
        ("ENUM_CUDA_MEMCPY_OPER", "label", &mut nsys.copy_labels),
        ("ENUM_CUPTI_OVERHEAD_TYPE", "label", &mut nsys.overheads),
        ("ENUM_CUDA_UNIF_MEM_MIGRATION", "label", &mut nsys.migrations),
        ("ENUM_CUDA_UNIF_MEM_ACCESS_TYPE", "label", &mut nsys.accesses),
    ] {
        let Some(table) = find(name) else { continue };
        let (id, label) = (col(table, "id"), col(table, label).or(col(table, "name")));
        file.each_row(table, out, |row| {
            if let (Some(id), Some(label)) = (row.int(id), row.text(label)) {
                labels.insert(id, String::from_utf8_lossy(&label).into_owned());
            }
        })?;
    }
    if let Some(table) = find("ThreadNames") {
        let (name, thread) = (col(table, "nameId"), col(table, "globalTid"));
        let mut last: HashMap<i64, i64> = HashMap::default();
        let names = &mut nsys.thread_names;
        file.each_row(table, out, |row| {
            if let (Some(thread), Some(name)) = (row.int(thread), row.int(name)) {
                // A thread may be renamed; the last name counts.
                let last = last.entry(thread).or_insert(row.rowid);
                if *last <= row.rowid {
                    *last = row.rowid;
                    names.insert(thread, name);
                }
            }
        })?;
    }
    if let Some(table) = find("PROCESSES") {
        let (name, process) = (col(table, "name"), col(table, "globalPid"));
        let names = &mut nsys.process_names;
        file.each_row(table, out, |row| {
            if let (Some(process), Some(name)) = (row.int(process), row.text(name)) {
                names.insert(process_of(process), base_name(&name).to_vec());
            }
        })?;
    }
    nsys.devices = Devices::read(file, out)?;
    nsys.metrics = GpuMetrics::read(file, out)?;
    nsys.nic_metrics = NicMetrics::read(file, out)?;
    nsys.states = ThreadStates::read(file, out)?;
    nsys.call_chains = CallChains::read(file, out)?;
    read_gpus(file, find("TARGET_INFO_GPU"), &nsys.devices, out)?;
    let mut facts = Vec::new();
    let mut product = None;
    if let Some(table) = find("META_DATA_EXPORT") {
        let (name, value) = (col(table, "name"), col(table, "value"));
        file.each_row(table, out, |row| {
            let (Some(name), Some(value)) = (row.text(name), row.text(value)) else { return };
            let value = String::from_utf8_lossy(&value).into_owned();
            match &*name {
                b"EXPORT_PRODUCT_VERSION" => product = Some(value),
                b"EXPORT_SCHEMA_VERSION" => facts.push(("EXPORT_SCHEMA_VERSION".to_string(), value)),
                _ => {}
            }
        })?;
    }
    // Times count from the start of the session. Those of other ranks have their own.
    if let Some(table) = find("TARGET_INFO_SESSION_START_TIME") {
        let start = col(table, SESSION_START);
        file.each_row(table, out, |row| {
            facts.extend(row.int(start).map(|ns| (SESSION_START.to_string(), ns.to_string())));
        })?;
    }
    if let Some(table) = find("META_DATA_CAPTURE") {
        let (name, value) = (col(table, "name"), col(table, "value"));
        file.each_row(table, out, |row| {
            let (Some(name), Some(value)) = (row.text(name), row.text(value)) else { return };
            if let Some(option) = OPTIONS.iter().find(|option| option.as_bytes() == &*name) {
                facts.push(((*option).to_string(), String::from_utf8_lossy(&value).into_owned()));
            }
        })?;
    }
    out.trace.source.metadata.extend(facts);
    nsys.producer = Some(match product {
        Some(version) => format!("Nsight Systems {version}"),
        None => "Nsight Systems".to_string(),
    });
    // Kinds of rows are listed in one order, whatever that of the tables.
    for (name, _) in TABLES {
        nsys.rows.add_kind(name);
    }
    let mut plans = Vec::new();
    for table in file.tables() {
        let name = table.name.as_str();
        plans.push(if let Some((_, kind)) = TABLES.iter().find(|(own, _)| *own == name) {
            let rows_kind = nsys.rows.add_kind(name);
            nsys.tables.push(EventTable { kind: *kind, columns: Columns::of(table), rows_kind });
            Plan::Read(nsys.tables.len() - 1)
        } else if is_dictionary(name) {
            Plan::Ignore
        } else {
            Plan::Count
        });
    }
    Ok(Opened { capture: Box::new(nsys), plans })
}

fn read_gpus(
    file: &dyn Tables,
    table: Option<usize>,
    devices: &Devices,
    out: &mut TraceBuilder,
) -> Result<(), ImportError> {
    let Some(table) = table else { return Ok(()) };
    let col = |name: &str| file.column(table, name);
    let (id, name, memory, sms) = (col("id"), col("name"), col("totalMemory"), col("smCount"));
    let mut gpus = Vec::new();
    file.each_row(table, out, |row| {
        let Some(id) = row.int(id) else { return };
        let name = row.text(name).map(|name| String::from_utf8_lossy(&name).into_owned());
        gpus.push(GpuFacts {
            // Without devices, GPUs have the numbers of the programs, as far as is known.
            id: if devices.is_empty() { Some(id) } else { devices.shown_gpu(id) },
            name: name.unwrap_or_default(),
            memory_bytes: row.int(memory),
            n_sms: row.int(sms),
            warp_size: 32,
        });
    })?;
    sort::by_key(&mut gpus, |gpu| gpu.id);
    put_gpus(&gpus, out);
    Ok(())
}

/// Name of the kind of memory in a column; `None` if it is unknown.
fn memory(row: &Row<'_>, column: Col) -> Option<&'static str> {
    MEMORY.get(usize::try_from(row.int(column)?).ok()?).copied()
}

impl Nsys {
    /// Host thread of a `globalTid`.
    fn thread(&mut self, global: Option<i64>, is_overhead: bool, out: &mut TraceBuilder) -> ThreadId {
        if let Some(thread) = self.threads.get(&(global, is_overhead)) {
            return *thread;
        }
        let process = self.process(global.map(process_of), out);
        let strings = &mut out.trace.strings;
        let (key, name) = match global {
            _ if is_overhead => {
                let text = match global {
                    Some(global) => format!("profiler overhead of {}", global & 0xff_ffff),
                    None => "profiler overhead".to_string(),
                };
                (Key::Text(strings.intern(&text)), Some(strings.intern(&text)))
            }
            Some(global) => {
                let name = self.thread_names.get(&global).and_then(|name| self.names.get(*name));
                (Key::Number(global & 0xff_ffff), name.map(|name| strings.intern_bytes(name)))
            }
            None => {
                let text = strings.intern("Unknown threads");
                (Key::Text(text), Some(text))
            }
        };
        let thread = out.trace.threads.push(process, key);
        if let Some(name) = name {
            out.trace.threads.name[thread.0 as usize] = name;
        }
        self.threads.insert((global, is_overhead), thread);
        thread
    }

    /// Process of a `globalPid`.
    fn process(&mut self, global: Option<i64>, out: &mut TraceBuilder) -> ProcessId {
        if let Some(process) = self.processes.get(&global) {
            return *process;
        }
        let strings = &mut out.trace.strings;
        let (key, name) = match global {
            Some(global) => {
                let name = self.process_names.get(&global).map(|name| strings.intern_bytes(name));
                (Key::Number(pid_of(global)), name)
            }
            None => {
                let text = strings.intern("Unknown process");
                (Key::Text(text), Some(text))
            }
        };
        let process = out.trace.processes.push(key);
        if let Some(name) = name {
            out.trace.processes.name[process.0 as usize] = name;
        }
        self.processes.insert(global, process);
        process
    }

    /// The process that stands for the GPU that is `device` of the process of a `globalPid`.
    fn gpu(&mut self, global: Option<i64>, device: Option<i64>, out: &mut TraceBuilder) -> ProcessId {
        let number = device.and_then(|device| self.devices.shown(global, device));
        match number {
            Some(number) => self.gpus.process(0, number, out),
            None => self.gpus.unknown(global.map(pid_of), device, out),
        }
    }

    /// Thread of the stream of a row; adds its place to the arguments.
    fn on_gpu(
        &mut self,
        table: usize,
        kind: &'static str,
        row: &Row<'_>,
        place: Place,
        out: &mut TraceBuilder,
    ) -> ThreadId {
        let columns = &self.tables[table].columns;
        let device = row.int(columns.device);
        let stream = row.int(columns.stream).filter(|stream| *stream != NO_STREAM);
        if device.is_none() {
            out.trace.ledger.file(&NO_DEVICE, place.position(), b"");
        }
        let context = row.int(columns.context);
        let global = row.int(columns.global_pid).map(process_of);
        let correlation = row.int(columns.correlation);
        let args = &mut self.rows.args;
        args.int("device", device);
        args.int("context", context);
        args.int("stream", stream);
        match global {
            Some(global) => args.correlation(self.scopes.id(global, correlation)),
            // Another process may have the same id.
            None => out.trace.ledger.file(&NO_PROCESS, place.position(), b""),
        }
        let gpu = self.gpu(global, device, out);
        let scope = global.unwrap_or(0) ^ context.unwrap_or(0);
        self.gpus.stream(gpu, scope, stream.unwrap_or(-1), kind, out)
    }

    fn copy_name(&self, row: &Row<'_>, columns: &Columns) -> String {
        let kind = row.int(columns.kind);
        let known =
            COPIES.iter().find(|(number, _)| Some(*number) == kind).map(|(_, name)| (*name).to_string());
        let known = known.or_else(|| self.copy_labels.get(&kind?).cloned());
        let mut name = match (known, kind) {
            (Some(known), _) => format!("Memcpy {known}"),
            (None, Some(kind)) => format!("Memcpy kind {kind}"),
            (None, None) => "Memcpy".to_string(),
        };
        if let (Some(source), Some(target)) = (memory(row, columns.source), memory(row, columns.target)) {
            name.push_str(&format!(" ({source} -> {target})"));
        }
        name
    }

    /// Type of a row of NVTX.
    fn nvtx_type(columns: &Columns, row: &Row<'_>) -> i64 {
        row.int(columns.kind).unwrap_or(nvtx::event::PUSH_POP)
    }

    /// Type of a row of NVTX, and its domain and category.
    fn nvtx_row(columns: &Columns, row: &Row<'_>) -> (i64, Group) {
        let number = |column| row.int(column).unwrap_or(0);
        let group = Group {
            process: row.int(columns.global_tid).map(process_of),
            domain: number(columns.domain),
            category: number(columns.category),
        };
        (Nsys::nvtx_type(columns, row), group)
    }

    /// Type, domain and category of a range or mark; takes the names of domains and categories, and is `None` for all other rows.
    fn nvtx_event(&mut self, table: usize, row: &Row<'_>) -> Option<(i64, Group)> {
        let columns = &self.tables[table].columns;
        let (kind, group) = Nsys::nvtx_row(columns, row);
        if nvtx::event::is_shown(kind) {
            return Some((kind, group));
        }
        let text = row.text(columns.text).map(|text| Name::Text(text.into_owned()));
        if let Some(name) = text.or_else(|| row.int(columns.name).map(Name::Id)) {
            self.nvtx.insert(kind, group, name);
        }
        None
    }

    /// A range or mark of NVTX.
    fn range(&mut self, table: usize, row: &Row<'_>, place: Place, out: &mut TraceBuilder) {
        let rows_kind = self.tables[table].rows_kind;
        let Some((kind, group)) = self.nvtx_event(table, row) else {
            return self.rows.kept(rows_kind, place, out);
        };
        let columns = &self.tables[table].columns;
        let (start, end) = (row.int(columns.start), row.int(columns.end));
        let name = match row.text(columns.text) {
            Some(text) => self
                .recent
                .intern_bytes(&text, &mut out.trace.strings)
                .unwrap_or_else(|| out.trace.strings.intern_bytes(&text)),
            None => self.names.intern(row.int(columns.name), place.offset, out),
        };
        let (global, last) = (row.int(columns.global_tid), row.int(columns.end_global_tid));
        self.nvtx.put(group, &self.names, &mut self.rows.args);
        let thread = self.thread(global, false, out);
        let new = NewEvent { thread, name, category: "user_annotation", start, end };
        match (kind, end, last) {
            (nvtx::event::MARK, ..) => self.rows.instant(rows_kind, &new, place, out),
            (_, None, _) => self.rows.open_slice(rows_kind, &new, place, out),
            (nvtx::event::START_END, _, Some(last)) if Some(last) != global => {
                let last = self.thread(Some(last), false, out);
                self.rows.crossing(rows_kind, &new, last, place, out);
            }
            _ => self.rows.slice(rows_kind, &new, place, out),
        }
    }
}

impl Nsys {
    /// A value of a counter of a GPU.
    fn metric(&mut self, table: usize, row: &Row<'_>, place: Place, out: &mut TraceBuilder) {
        let EventTable { columns, rows_kind, .. } = &self.tables[table];
        let metric = row.int(columns.metric_type).zip(row.int(columns.metric));
        let value = row.number(columns.value).filter(|value| value.is_finite());
        let (Some(metric), Some(ts), Some(value)) = (metric, row.int(columns.start), value) else {
            return self.rows.skip(&NO_VALUE, place, out);
        };
        match self.metrics.add(metric, ts, value, &self.devices, &mut self.gpus, out) {
            true => self.rows.kept(*rows_kind, place, out),
            false => self.rows.skip(&TOO_MANY_VALUES, place, out),
        }
    }

    /// A value of a counter of a network adapter.
    fn nic_metric(&mut self, table: usize, row: &Row<'_>, place: Place, out: &mut TraceBuilder) {
        let EventTable { columns, rows_kind, .. } = &self.tables[table];
        let [global, port, list, index] = columns.nic_metric.map(|column| row.int(column));
        let metric = global.zip(list).zip(index);
        let value = row.number(columns.value).filter(|value| value.is_finite());
        let (Some(((global, list), index)), Some(ts), Some(value)) = (metric, row.int(columns.start), value)
        else {
            return self.rows.skip(&NO_VALUE, place, out);
        };
        match self.nic_metrics.add((global, port.unwrap_or(0), list, index), ts, value, out) {
            true => self.rows.kept(*rows_kind, place, out),
            false => self.rows.skip(&TOO_MANY_VALUES, place, out),
        }
    }

    /// What a CPU executed at one moment.
    fn sample(&mut self, table: usize, row: &Row<'_>, place: Place, out: &mut TraceBuilder) {
        let EventTable { columns, rows_kind, .. } = &self.tables[table];
        let (rows_kind, id, global) = (*rows_kind, row.int(columns.id), row.int(columns.global_tid));
        let Some(ts) = row.int(columns.start) else { return self.rows.skip(&NO_TIME, place, out) };
        if out.trace.samples.len() >= MAX_SAMPLES {
            return self.rows.skip(&TOO_MANY_SAMPLES, place, out);
        }
        let thread = self.thread(global, false, out);
        let stack =
            id.map_or(StackId::NONE, |id| self.call_chains.stack(id, &mut self.names, place.offset, out));
        let samples = &mut out.trace.samples;
        samples.ts.push(ts);
        samples.thread.push(thread);
        samples.stack.push(stack);
        samples.weight.push(1.0);
        samples.name.push(StringId::NONE);
        self.rows.kept(rows_kind, place, out);
    }

    /// A page fault of unified memory: of a CPU, which is a moment, or those of a GPU on one page.
    fn page_fault(
        &mut self,
        table: usize,
        is_gpu: bool,
        row: &Row<'_>,
        place: Place,
        out: &mut TraceBuilder,
    ) {
        let EventTable { columns, rows_kind, .. } = &self.tables[table];
        let rows_kind = *rows_kind;
        let (start, end) = (row.int(columns.start), row.int(columns.end));
        let (device, global) = (row.int(columns.device), row.int(columns.global_pid).map(process_of));
        let function = row.int(columns.name).and_then(|id| self.names.get(id));
        let module = row.int(columns.module).and_then(|id| self.names.get(id)).map(base_name);
        let access = row.int(columns.cause).and_then(|access| self.accesses.get(&access));
        let name = match (is_gpu, access) {
            (true, Some(access)) => format!("GPU page faults ({access})"),
            (true, None) => "GPU page faults".to_string(),
            (false, _) => "CPU page fault".to_string(),
        };
        let args = &mut self.rows.args;
        args.int("device", device);
        args.address("address", row.int(columns.address));
        args.int("page faults", row.int(columns.n_faults));
        args.address("program counter", row.int(columns.program_counter));
        for (name, text) in [("function", function), ("module", module)] {
            if let Some(text) = text {
                args.text(name, text);
            }
        }
        let process = match is_gpu {
            true => self.gpu(global, device, out),
            false => self.process(global, out),
        };
        let text = out.trace.strings.intern(UNIFIED_MEMORY);
        let thread = *self.faults.entry(process).or_insert_with(|| {
            let thread = out.trace.threads.push(process, Key::Text(text));
            out.trace.threads.name[thread.0 as usize] = text;
            thread
        });
        let name = out.trace.strings.intern(&name);
        let new = NewEvent { thread, name, category: "unified_memory", start, end };
        match is_gpu {
            true => self.rows.slice(rows_kind, &new, place, out),
            false => self.rows.instant(rows_kind, &new, place, out),
        }
    }

    /// The state of a thread from a switch on.
    fn switch(&mut self, table: usize, row: &Row<'_>, place: Place, out: &mut TraceBuilder) {
        let EventTable { columns, rows_kind, .. } = &self.tables[table];
        let rows_kind = *rows_kind;
        let name = self.states.name(row.int(columns.is_in), row.int(columns.state));
        let name = out.trace.strings.intern(name);
        let (start, cpu, global) =
            (row.int(columns.start), row.int(columns.cpu), row.int(columns.global_tid));
        self.rows.args.int("cpu", cpu);
        let thread = self.thread(global, false, out);
        let new = NewEvent { thread, name, category: "sched", start, end: None };
        self.rows.state(rows_kind, &new, place, out);
    }
}

impl Capture for Nsys {
    fn row(&mut self, table: usize, row: &Row<'_>, place: Place, out: &mut TraceBuilder) {
        let EventTable { kind, columns, rows_kind } = &self.tables[table];
        let (kind, rows_kind) = (*kind, *rows_kind);
        match kind {
            Kind::Range => return self.range(table, row, place, out),
            Kind::Metric => return self.metric(table, row, place, out),
            Kind::NicMetric => return self.nic_metric(table, row, place, out),
            Kind::Switch => return self.switch(table, row, place, out),
            Kind::Sample => return self.sample(table, row, place, out),
            Kind::CpuFault | Kind::GpuFault => {
                return self.page_fault(table, kind == Kind::GpuFault, row, place, out);
            }
            _ => {}
        }
        let (start, end) = (row.int(columns.start), row.int(columns.end));
        if start.is_none() || end.is_none() {
            return self.rows.skip(&NO_TIME, place, out);
        }
        let (thread, name, category): (ThreadId, StringId, &'static str) = match kind {
            Kind::Kernel => {
                let id = row.int(columns.name).or_else(|| row.int(columns.short_name));
                let name = self.names.intern(id, place.offset, out);
                let thread = self.on_gpu(table, "", row, place, out);
                let columns = &self.tables[table].columns;
                let args = &mut self.rows.args;
                args.list("grid", row.triple(columns.grid));
                args.list("block", row.triple(columns.block));
                args.int("registers per thread", row.int(columns.registers));
                let shared = [columns.static_memory, columns.dynamic_memory].map(|column| row.int(column));
                let sum = shared.iter().flatten().fold(0i64, |sum, bytes| sum.saturating_add(*bytes));
                args.int("shared memory", shared.iter().any(Option::is_some).then_some(sum));
                args.int("graph id", row.int(columns.graph).filter(|id| *id != 0));
                args.int("graph node id", row.int(columns.graph_node).filter(|id| *id != 0));
                if let Some(short) = row.int(columns.short_name).and_then(|id| self.names.get(id)) {
                    args.text("short name", short);
                }
                (thread, name, "kernel")
            }
            Kind::Copy => {
                let name = self.copy_name(row, columns);
                let bytes = row.int(columns.bytes);
                let (cause, address) = (row.int(columns.cause), row.int(columns.address));
                let thread = self.on_gpu(table, "", row, place, out);
                let args = &mut self.rows.args;
                args.bytes(bytes, start, end);
                // Only pages of unified memory that migrate have them.
                if let Some(cause) = cause.filter(|_| name.contains("Unified")) {
                    match self.migrations.get(&cause) {
                        Some(label) => args.text("migration cause", label.as_bytes()),
                        None => args.int("migration cause", Some(cause)),
                    }
                    args.address("address", address);
                }
                (thread, out.trace.strings.intern(&name), "gpu_memcpy")
            }
            Kind::Fill => {
                let (bytes, value) = (row.int(columns.bytes), row.int(columns.value));
                let name = format!("Memset ({})", memory(row, columns.memory).unwrap_or("Unknown"));
                let thread = self.on_gpu(table, "", row, place, out);
                self.rows.args.bytes(bytes, start, end);
                self.rows.args.int("value", value);
                (thread, out.trace.strings.intern(&name), "gpu_memset")
            }
            Kind::Graph => {
                let graph = row.int(columns.graph);
                out.trace.ledger.file(&WHOLE_GRAPH, place.position(), b"");
                let name = graph.map_or("CUDA graph".to_string(), |graph| format!("CUDA graph {graph}"));
                let thread = self.on_gpu(table, "", row, place, out);
                self.rows.args.int("graph id", graph);
                (thread, out.trace.strings.intern(&name), "kernel")
            }
            Kind::Sync => {
                let kind = row.int(columns.kind);
                let known = SYNCS.iter().find(|(number, _)| Some(*number) == kind).map(|(_, name)| *name);
                let thread = self.on_gpu(table, " waits", row, place, out);
                (thread, out.trace.strings.intern(known.unwrap_or("Sync")), "cuda_sync")
            }
            Kind::Call => {
                let (id, global) = (row.int(columns.name), row.int(columns.global_tid));
                let (correlation, result) = (row.int(columns.correlation), row.int(columns.result));
                let name = self.names.intern_as(id, place.offset, out, Shown::Call);
                let is_driver = out
                    .trace
                    .strings
                    .get(name)
                    .strip_prefix("cu")
                    .is_some_and(|rest| rest.starts_with(char::is_uppercase));
                if let Some(global) = global {
                    self.rows.args.correlation(self.scopes.id(process_of(global), correlation));
                }
                self.rows.args.int("return value", result.filter(|result| *result != 0));
                (
                    self.thread(global, false, out),
                    name,
                    if is_driver { "cuda_driver" } else { "cuda_runtime" },
                )
            }
            Kind::System | Kind::Overhead => {
                let (id, global) = (row.int(columns.name), row.int(columns.global_tid));
                let label = row.int(columns.kind).and_then(|kind| self.overheads.get(&kind));
                let is_overhead = kind == Kind::Overhead;
                let name = match label.filter(|_| is_overhead && id.is_none()) {
                    Some(label) => out.trace.strings.intern(label),
                    None => self.names.intern(id, place.offset, out),
                };
                let thread = self.thread(global, is_overhead, out);
                (thread, name, if is_overhead { "overhead" } else { "os_runtime" })
            }
            Kind::Range
            | Kind::Metric
            | Kind::NicMetric
            | Kind::Switch
            | Kind::Sample
            | Kind::CpuFault
            | Kind::GpuFault => return,
        };
        self.rows.slice(rows_kind, &NewEvent { thread, name, category, start, end }, place, out);
    }

    fn needs_others(&self, table: usize, row: &Row<'_>) -> bool {
        let EventTable { kind, columns, .. } = &self.tables[table];
        if *kind != Kind::Range || !self.nvtx.is_incomplete() {
            return false;
        }
        let (kind, group) = Nsys::nvtx_row(columns, row);
        nvtx::event::is_shown(kind) && self.nvtx.lacks(group)
    }

    fn names_others(&self, table: usize, row: &Row<'_>) -> bool {
        !nvtx::event::is_shown(Nsys::nvtx_type(&self.tables[table].columns, row))
    }

    fn look_at(&mut self, table: usize, row: &Row<'_>) {
        self.nvtx_event(table, row);
    }

    fn looked_at_all(&mut self, _table: usize) {
        self.nvtx.complete();
    }

    fn describe(&self, out: &mut TraceBuilder) {
        out.trace.source.producer.clone_from(&self.producer);
        out.trace.source.record_kinds = self.rows.record_kinds();
    }
}

//! RPD databases of rocmProfileData (`.rpd`): `rocpd_op` on GPUs, `rocpd_api` on threads, and `rocpd_api_ops`, which call launched
//! which operation.
//!
//! The description of an operation is the name of its kernel, its type `KernelExecution`, `CopyDeviceToHost` and others. Times are
//! nanoseconds. User ranges are calls named `UserMarker` whose arguments are the text.

use super::issues::{NO_DEVICE, NO_TIME};
use super::names::{IdMap, Names};
use super::rocpd::copy_name;
use super::rows::{Col, Gpus, NewEvent, Row, Rows};
use super::tables::Tables;
use super::{Capture, Opened, Plan};
use crate::base::hash::HashMap;
use crate::import::ImportError;
use crate::import::kineto::Place;
use crate::trace::TraceBuilder;
use crate::trace::tracks::{Key, ProcessId, ThreadId};

/// Tables that only other tables refer to, and metadata.
const DICTIONARIES: &[&str] =
    &["rocpd_string", "rocpd_api_ops", "rocpd_metadata", "rocpd_kernelapi", "rocpd_copyapi"];

/// Kinds of tables with events.
const OPS: usize = 0;
const CALLS: usize = 1;

#[derive(Default)]
struct Columns {
    id: Col,
    start: Col,
    end: Col,
    gpu: Col,
    queue: Col,
    description: Col,
    kind: Col,
    pid: Col,
    tid: Col,
    name: Col,
    args: Col,
}

#[derive(Default)]
struct Rpd {
    columns: [Columns; 2],
    rows: Rows,
    strings: Names,
    /// The first call of each operation, with the id of the row that says so.
    calls: IdMap<(i64, i64)>,
    /// Bytes of copies, by call.
    sizes: HashMap<i64, i64>,
    gpus: Gpus,
    processes: HashMap<i64, ProcessId>,
    threads: HashMap<(i64, i64), ThreadId>,
}

/// Reads the dictionaries.
pub fn open(file: &dyn Tables, out: &mut TraceBuilder) -> Result<Opened, ImportError> {
    let mut rpd = Rpd::default();
    let find = |name: &str| file.table_named(name);
    let col = |table: usize, name: &str| file.column(table, name);
    if let Some(table) = find("rocpd_string") {
        let (id, text) = (col(table, "id"), col(table, "string"));
        file.each_row(table, out, |row| {
            if let (Some(id), Some(text)) = (row.int(id), row.text(text)) {
                rpd.strings.insert(id, &text);
            }
        })?;
    }
    if let Some(table) = find("rocpd_api_ops") {
        let (call, op) = (col(table, "api_id"), col(table, "op_id"));
        file.each_row(table, out, |row| {
            let (Some(call), Some(op)) = (row.int(call), row.int(op)) else { return };
            if rpd.calls.get(op).is_none_or(|(rowid, _)| *rowid > row.rowid) {
                rpd.calls.insert(op, (row.rowid, call));
            }
        })?;
    }
    if let Some(table) = find("rocpd_copyapi") {
        let (call, size) = (col(table, "api_ptr_id"), col(table, "size"));
        file.each_row(table, out, |row| {
            if let (Some(call), Some(size)) = (row.int(call), row.int(size)) {
                rpd.sizes.insert(call, size);
            }
        })?;
    }
    let mut plans = Vec::new();
    for table in file.tables() {
        let column = |name: &str| table.column(name);
        let kind = match table.name.as_str() {
            "rocpd_op" => OPS,
            "rocpd_api" => CALLS,
            name => {
                let is_dictionary = DICTIONARIES.contains(&name) || name.starts_with("sqlite_");
                plans.push(if is_dictionary { Plan::Ignore } else { Plan::Count });
                continue;
            }
        };
        rpd.columns[kind] = Columns {
            id: column("id"),
            start: column("start"),
            end: column("end"),
            gpu: column("gpuId"),
            queue: column("queueId"),
            description: column("description_id"),
            kind: column("opType_id"),
            pid: column("pid"),
            tid: column("tid"),
            name: column("apiName_id"),
            args: column("args_id"),
        };
        plans.push(Plan::Read(kind));
    }
    // In the order of their numbers.
    rpd.rows.add_kind("rocpd_op");
    rpd.rows.add_kind("rocpd_api");
    Ok(Opened { capture: Box::new(rpd), plans })
}

impl Rpd {
    fn thread(&mut self, pid: i64, tid: i64, out: &mut TraceBuilder) -> ThreadId {
        let process =
            *self.processes.entry(pid).or_insert_with(|| out.trace.processes.push(Key::Number(pid)));
        *self.threads.entry((pid, tid)).or_insert_with(|| out.trace.threads.push(process, Key::Number(tid)))
    }

    fn op(&mut self, row: &Row<'_>, place: Place, out: &mut TraceBuilder) {
        let columns = &self.columns[OPS];
        let (start, end) = (row.int(columns.start), row.int(columns.end));
        let kind_id = row.int(columns.kind);
        let description = row.int(columns.description);
        let (gpu, queue) = (row.int(columns.gpu), row.int(columns.queue));
        let call = row.int(columns.id).and_then(|id| self.calls.get(id)).map(|(_, call)| *call);
        let kind =
            kind_id.and_then(|id| self.strings.get(id)).map(String::from_utf8_lossy).unwrap_or_default();
        let is_named = description.is_some_and(|id| self.strings.get(id).is_none_or(|text| !text.is_empty()));
        let category = match &*kind {
            _ if kind.starts_with("Copy") => "gpu_memcpy",
            _ if kind.starts_with("Fill") => "gpu_memset",
            _ if kind.contains("Barrier") || kind.contains("Marker") => "gpu_op",
            _ => "kernel",
        };
        let copied = copy_name(&kind);
        let name = match category {
            "gpu_memcpy" => out.trace.strings.intern(&copied),
            "gpu_memset" => out.trace.strings.intern("Memset (Device)"),
            _ if is_named => self.strings.intern(description, place.offset, out),
            _ => self.strings.intern(kind_id, place.offset, out),
        };
        let args = &mut self.rows.args;
        args.int("device", gpu);
        args.int("stream", queue);
        args.correlation(call);
        if category == "gpu_memcpy" {
            args.bytes(call.and_then(|call| self.sizes.get(&call)).copied(), start, end);
        }
        let gpu = match gpu {
            Some(number) => self.gpus.process(0, number, out),
            None => {
                out.trace.ledger.file(&NO_DEVICE, place.position(), b"");
                self.gpus.unknown(None, None, out)
            }
        };
        let thread = self.gpus.stream(gpu, 0, queue.unwrap_or(-1), "", out);
        self.rows.slice(OPS, &NewEvent { thread, name, category, start, end }, place, out);
    }

    fn call(&mut self, row: &Row<'_>, place: Place, out: &mut TraceBuilder) {
        let columns = &self.columns[CALLS];
        let (start, end) = (row.int(columns.start), row.int(columns.end));
        let (pid, tid) = (row.int(columns.pid).unwrap_or(0), row.int(columns.tid).unwrap_or(0));
        let (id, name_id, args_id) = (row.int(columns.id), row.int(columns.name), row.int(columns.args));
        let is_marker = name_id.and_then(|id| self.strings.get(id)) == Some(b"UserMarker");
        let text = args_id.and_then(|id| self.strings.get(id)).filter(|text| !text.is_empty());
        let (name, category) = match text {
            Some(text) if is_marker => (out.trace.strings.intern_bytes(text), "user_annotation"),
            text => {
                if let Some(text) = text {
                    self.rows.args.text("arguments", text);
                }
                (self.strings.intern(name_id, place.offset, out), "cuda_runtime")
            }
        };
        if !is_marker {
            self.rows.args.correlation(id);
        }
        let thread = self.thread(pid, tid, out);
        self.rows.slice(CALLS, &NewEvent { thread, name, category, start, end }, place, out);
    }
}

impl Capture for Rpd {
    fn row(&mut self, kind: usize, row: &Row<'_>, place: Place, out: &mut TraceBuilder) {
        let columns = &self.columns[kind];
        if row.int(columns.start).is_none() || row.int(columns.end).is_none() {
            return self.rows.skip(&NO_TIME, place, out);
        }
        match kind {
            OPS => self.op(row, place, out),
            _ => self.call(row, place, out),
        }
    }

    fn describe(&self, out: &mut TraceBuilder) {
        out.trace.source.producer = Some("rocmProfileData (RPD)".to_string());
        out.trace.source.record_kinds = self.rows.record_kinds();
    }
}
